package flow

import (
	"errors"
	"fmt"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// spill keeps chunks that arrived early in a temporary file, one for each actor. It is made when it is first needed
// and used again from its beginning whenever everything in it has been read.
type spill struct {
	open func() (*storage.TempFile, error)
	// report is told when the disk does not take a chunk, and with nil when it does again.
	report func(error)
	// limit bounds the file; beyond it the producers wait.
	limit int64

	file   *storage.TempFile
	end    int64
	recs   []spilled
	buf    []byte
	failed bool
}

// spilled is a message whose chunk is in the file.
type spilled struct {
	m      message // without its chunk
	off    int64
	length int
	types  []types.Type
}

// keptSpill is how large a file may be that is kept for the next time.
const keptSpill = 16 << 20

var errSpillFull = errors.New("flow: the spill file has reached its limit")

// Write implements channel.Spill. It takes over the message's reference to its parcel.
func (s *spill) Write(m message) (int64, error) {
	s.buf = vec.EncodeChunk(s.buf[:0], m.chunk.chunk)
	err := s.write()
	if failed := err != nil; failed != s.failed {
		// The limit is reached by slow consumers, and nothing is wrong then.
		if s.failed = failed; s.report != nil && !errors.Is(err, errSpillFull) {
			s.report(err)
		}
	}
	if err != nil {
		return 0, err
	}
	rec := spilled{m: m, off: s.end, length: len(s.buf), types: m.chunk.chunk.Types()}
	rec.m.chunk = nil
	s.recs = append(s.recs, rec)
	s.end += int64(len(s.buf))
	m.chunk.release()
	return int64(len(s.recs) - 1), nil
}

func (s *spill) write() error {
	if s.end+int64(len(s.buf)) > s.limit {
		return errSpillFull
	}
	if s.file == nil {
		var err error
		if s.file, err = s.open(); err != nil {
			return err
		}
	}
	_, err := s.file.WriteAt(s.buf, s.end)
	return err
}

// Read implements channel.Spill.
func (s *spill) Read(ref int64) (message, error) {
	rec := &s.recs[ref]
	// A buffer of its own: the strings of the chunk will point into it.
	buf := make([]byte, rec.length)
	if _, err := s.file.ReadAt(buf, rec.off); err != nil {
		return message{}, fmt.Errorf("spill file: %w", err)
	}
	c, err := vec.DecodeChunk(buf, rec.types)
	if err != nil {
		return message{}, fmt.Errorf("spill file: %w", err)
	}
	m := rec.m
	m.chunk = &parcel{chunk: c}
	m.chunk.refs.Store(1)
	return m, nil
}

// Reset implements channel.Spill.
func (s *spill) Reset() {
	clear(s.recs)
	s.recs = s.recs[:0]
	if s.end > keptSpill {
		s.close()
		s.recs, s.buf = nil, nil
	}
	s.end = 0
}

func (s *spill) close() {
	if s.file == nil {
		return
	}
	if err := s.file.Close(); err != nil && s.report != nil {
		s.report(err)
	}
	s.file = nil
}
