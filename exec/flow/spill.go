package flow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

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
	s.buf = encodeChunk(s.buf[:0], m.chunk.chunk)
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
	c, err := decodeChunk(buf, rec.types)
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

// encodeChunk appends a chunk to dst: the number of rows, whether there are diffs, for each column whether it has
// values (those that nobody asked for have none), and the rows.
func encodeChunk(dst []byte, c *vec.Chunk) []byte {
	dst = binary.AppendUvarint(dst, uint64(c.Len()))
	if c.Diffs != nil {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	cols := make([]*vec.Vector, 0, len(c.Cols))
	for _, v := range c.Cols {
		if v.Len() > 0 {
			dst = append(dst, 1)
			cols = append(cols, v)
		} else {
			dst = append(dst, 0)
		}
	}
	for i := range c.Len() {
		if c.Diffs != nil {
			dst = binary.AppendVarint(dst, c.Diffs[i])
		}
		dst = vec.EncodeRow(dst, cols, i)
	}
	return dst
}

var errCorruptChunk = errors.New("corrupt chunk")

// decodeChunk is the inverse of encodeChunk for a chunk of these types. It keeps b.
func decodeChunk(b []byte, ts []types.Type) (*vec.Chunk, error) {
	rows, n := binary.Uvarint(b)
	if n <= 0 || len(b) < n+1+len(ts) || rows > uint64(len(b))<<8 {
		return nil, errCorruptChunk
	}
	diffs := b[n] == 1
	given := b[n+1 : n+1+len(ts)]
	b = b[n+1+len(ts):]
	c := vec.NewChunk(ts, 0)
	var cols []*vec.Vector
	for k, v := range c.Cols {
		if given[k] == 1 {
			c.Cols[k] = vec.NewVector(ts[k], int(rows))
			cols = append(cols, c.Cols[k])
		} else {
			c.Cols[k] = v
		}
	}
	if diffs {
		c.Diffs = slices.Grow(c.Diffs, int(rows))
	}
	for range rows {
		if diffs {
			d, n := binary.Varint(b)
			if n <= 0 {
				return nil, errCorruptChunk
			}
			c.Diffs = append(c.Diffs, d)
			b = b[n:]
		}
		var err error
		if b, err = vec.DecodeRowShared(b, cols); err != nil {
			return nil, err
		}
	}
	if len(b) != 0 {
		return nil, errCorruptChunk
	}
	c.SetLen(int(rows))
	return c, nil
}
