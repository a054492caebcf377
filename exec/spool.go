package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// TempFile is a file that ends with its user: Close deletes it.
type TempFile interface {
	io.WriterAt
	io.ReaderAt
	io.Closer
}

// Spool keeps chunks in a temporary file, in streams of one kind of rows each, which are read in the order in which they
// were written, as often as one likes. The file is made when it is first needed. It is used by one goroutine.
type Spool struct {
	ctx  *Context
	file TempFile
	// block is about how many bytes of a stream are written at once.
	block   int
	end     int64
	streams []spoolStream
	buf     []byte
}

type spoolStream struct {
	types []types.Type
	// wait are rows that are yet to be written.
	wait *vec.Chunk
	// size is about how many bytes they take.
	size   int
	blocks []spoolBlock
	rows   int64
}

type spoolBlock struct {
	off    int64
	length int
}

// SpoolBlock is about how many bytes of a stream are written, and read, at once; less if the whole may have little.
const SpoolBlock = 64 << 10

// NewSpool makes an empty Spool. The context's Temp must not be nil.
func NewSpool(ctx *Context) *Spool {
	// Some dozens of streams are written at the same time.
	return &Spool{ctx: ctx, block: int(max(min(ctx.SpillOver/256, SpoolBlock), SpoolBlock/16))}
}

// Stream adds an empty stream for rows of these types, and gives its number, from 0.
func (s *Spool) Stream(ts []types.Type) int {
	s.streams = append(s.streams, spoolStream{types: ts})
	return len(s.streams) - 1
}

// Write appends the rows of c to a stream.
func (s *Spool) Write(stream int, c *vec.Chunk) error {
	step := s.step(c, nil)
	for lo := 0; lo < c.Len(); lo += step {
		st, err := s.room(stream, c)
		if err != nil {
			return err
		}
		hi := min(lo+step, c.Len())
		st.wait.AppendRange(c, lo, hi)
		if err := s.wrote(st, hi-lo); err != nil {
			return err
		}
	}
	return nil
}

// WriteRows appends some rows of c to a stream.
func (s *Spool) WriteRows(stream int, c *vec.Chunk, rows []int32) error {
	if len(rows) == 0 {
		return nil
	}
	step := s.step(c, rows)
	for len(rows) > 0 {
		st, err := s.room(stream, c)
		if err != nil {
			return err
		}
		n := min(step, len(rows))
		st.wait.AppendSel(c, rows[:n])
		if err := s.wrote(st, n); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// step is how many rows of c may come together: blocks of wide rows are not to be larger than others. rows are the ones in question,
// nil all.
func (s *Spool) step(c *vec.Chunk, rows []int32) int {
	n, size := c.Len(), 1
	if rows != nil {
		n = len(rows)
	}
	for _, v := range c.Cols {
		size += 16 * n
		if v.Type.Phys() != types.PhysStr || v.Len() == 0 {
			continue
		}
		if rows == nil {
			for _, x := range v.Str {
				size += len(x)
			}
			continue
		}
		for _, r := range rows {
			size += len(v.Str[r])
		}
	}
	return max(1, s.block*n/size)
}

// room makes ready for rows of c.
func (s *Spool) room(stream int, c *vec.Chunk) (*spoolStream, error) {
	st := &s.streams[stream]
	if st.wait != nil && st.wait.Len() > 0 {
		// A column that nobody asked for has no values, in all rows of a block.
		for k, v := range st.wait.Cols {
			if (v.Len() > 0) != (c.Cols[k].Len() > 0) {
				if err := s.flush(st); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	if st.wait == nil {
		st.wait = vec.NewChunk(st.types, 0)
	}
	return st, nil
}

// wrote counts the last rows of what waits.
func (s *Spool) wrote(st *spoolStream, rows int) error {
	st.rows += int64(rows)
	for _, v := range st.wait.Cols {
		n := v.Len()
		if n == 0 {
			continue
		}
		st.size += 16 * rows
		if v.Type.Phys() == types.PhysStr {
			for _, x := range v.Str[n-rows:] {
				st.size += len(x)
			}
		}
	}
	if st.size < s.block && st.wait.Len() < 4*vec.ChunkSize {
		return nil
	}
	return s.flush(st)
}

// Flush writes what waits of a stream to the file.
func (s *Spool) Flush(stream int) error { return s.flush(&s.streams[stream]) }

// flush writes what waits.
func (s *Spool) flush(st *spoolStream) error {
	if st.wait == nil || st.wait.Len() == 0 {
		return nil
	}
	if s.file == nil {
		var err error
		if s.file, err = s.ctx.Temp(); err != nil {
			return spoolError(err)
		}
	}
	s.buf = vec.EncodeChunk(s.buf[:0], st.wait)
	if _, err := s.file.WriteAt(s.buf, s.end); err != nil {
		return spoolError(err)
	}
	st.blocks = append(st.blocks, spoolBlock{s.end, len(s.buf)})
	s.end += int64(len(s.buf))
	if cap(s.buf) > 4*SpoolBlock {
		s.buf = nil
	}
	// Strings that were written must not be held.
	st.wait, st.size = nil, 0
	return nil
}

func spoolError(err error) error {
	code := sqlerr.IOError
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = sqlerr.DiskFull
	}
	return sqlerr.Newf(code, "temporary file: %v", err).WithHint("A query that does not fit into its part of --memory-limit needs room in the data directory.")
}

// Block is about how many bytes of a stream are written, and read, at once.
func (s *Spool) Block() int64 { return int64(s.block) }

// Rows counts the rows of a stream.
func (s *Spool) Rows(stream int) int64 { return s.streams[stream].rows }

// Bytes is the size of the file.
func (s *Spool) Bytes() int64 { return s.end }

// Held is about how many bytes of memory there are for what is yet to be written.
func (s *Spool) Held() int64 {
	n := int64(cap(s.buf))
	for i := range s.streams {
		st := &s.streams[i]
		n += 2 * int64(st.size)
		n += int64(cap(st.blocks)) * 16
	}
	return n
}

// Read gives a reader of a stream, to which nothing may be written any more.
func (s *Spool) Read(stream int) *SpoolReader { return &SpoolReader{s: s, stream: stream} }

// Each calls fn for the chunks of a stream, which are valid during the call, until it fails.
func (s *Spool) Each(stream int, fn func(*vec.Chunk) error) error {
	r := s.Read(stream)
	for {
		c, err := r.Next()
		if err != nil || c == nil {
			return err
		}
		if err := fn(c); err != nil {
			return err
		}
	}
}

// SpoolReader reads a stream of a Spool.
type SpoolReader struct {
	s      *Spool
	stream int
	at     int
}

// Next gives the next chunk, which is the caller's, nil at the end.
func (r *SpoolReader) Next() (*vec.Chunk, error) {
	if ctx := r.s.ctx.Ctx; ctx != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	st := &r.s.streams[r.stream]
	if r.at == len(st.blocks) {
		r.at++
		if st.wait != nil && st.wait.Len() > 0 {
			return st.wait.Clone(), nil
		}
	}
	if r.at > len(st.blocks) {
		return nil, nil
	}
	b := st.blocks[r.at]
	r.at++
	// A buffer of its own: the strings of the chunk will point into it.
	buf := make([]byte, b.length)
	if _, err := r.s.file.ReadAt(buf, b.off); err != nil {
		return nil, spoolError(err)
	}
	c, err := vec.DecodeChunk(buf, st.types)
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	return c, nil
}

// Close deletes the file.
func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file, s.streams = nil, nil
	return f.Close()
}
