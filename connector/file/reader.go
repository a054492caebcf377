package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
)

// readSize is how much is read at once.
const readSize = 256 << 10

// maxRecord bounds what a record without end may cost.
const maxRecord = 256 << 20

// errIncomplete says that a record goes on behind the bytes at hand.
var errIncomplete = errors.New("incomplete record")

// decoder turns records into rows.
type decoder interface {
	// decode reads the record at the start of b into row of the columns and gives its length with
	// its end of line, and whether it is a row at all (not blank, not a header). lines is the number
	// of line ends in it. final says that nothing follows b. It gives errIncomplete, and may then
	// have written to the row, if !final and the record does not end in b.
	decode(b []byte, final bool, row int) (n int, lines int64, isRow bool, err error)
	// use says where the rows go from now on.
	use(c *columns)
}

// reader implements exec.Reader on a file.
//
// buf[pos:end] is not decoded yet; buf[0] is byte base of the file. Invariant: the tailSize bytes
// before pos, or all that there are in the file, are in buf.
type reader struct {
	src      *source
	f        *os.File
	dec      decoder
	cols     columns
	buf      []byte
	pos, end int
	base     int64
	lines    int64 // before pos
	rows     int64 // before pos
	inode    uint64
	// atEnd says that the last read found the end of the file, which then had this time and size.
	atEnd   bool
	seen    time.Time
	ended   bool  // a source without follow is through
	err     error // given for ever
	ready   chan struct{}
	watcher *watcher
}

func openReader(s *source, off []byte, cols []int) (_ exec.Reader, err error) {
	var o offset
	if off != nil {
		if o, err = decodeOffset(off); err != nil {
			return nil, err
		}
	}
	f, err := s.openFile()
	if err != nil {
		return nil, err
	}
	r := &reader{src: s, f: f, ready: make(chan struct{}, 1), lines: o.lines, rows: o.rows, ended: o.ended}
	defer func() {
		if err != nil {
			_ = r.Close() // the first error is the one to tell
		}
	}()
	if s.follow {
		r.watcher = newWatcher(s.file, s.clock, r.ready)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, s.ioError("stat", err)
	}
	r.inode = inodeOf(st)
	if off != nil {
		if err := r.resume(o, st); err != nil {
			return nil, err
		}
	}
	if s.csv != nil {
		r.dec = newCSVDecoder(s.csv, s.cols, o.bytes == 0)
	} else {
		r.dec = newJSONDecoder()
	}
	r.cols.init(s.cols)
	r.SetColumns(cols)
	return r, nil
}

// resume checks that the file is still the one that o belongs to and goes there.
func (r *reader) resume(o offset, st os.FileInfo) error {
	if o.inode != 0 && r.inode != o.inode {
		return r.src.changed("was replaced by another file")
	}
	if st.Size() < o.bytes {
		return r.src.changed("has shrunk from at least %d to %d bytes", o.bytes, st.Size())
	}
	n := min(o.bytes, tailSize)
	r.base = o.bytes - n
	r.buf = make([]byte, n+int64(r.src.readSize))
	if _, err := r.f.ReadAt(r.buf[:n], r.base); err != nil {
		return r.src.ioError("read", err)
	}
	r.pos, r.end = int(n), int(n)
	if checksum(r.buf[:n]) != o.sum {
		return r.src.changed("was changed before byte %d", o.bytes)
	}
	return nil
}

// changed is the error for a file that did something else than grow.
func (s *source) changed(format string, args ...any) error {
	return sqlerr.Newf(sqlerr.IOError, "file %q %s", s.path, fmt.Sprintf(format, args...)).
		WithHint("A source file may only grow. Drop and create the source to read the file from its start.")
}

// Next decodes rows.
func (r *reader) Next(dst *vec.Chunk, maxRows int) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	r.cols.begin(dst, maxRows)
	row := 0
	for row < maxRows && !r.ended {
		n, lines, isRow, err := r.step(row)
		if err != nil {
			r.cols.finish(dst, row)
			if err == exec.ErrNoData {
				break
			}
			// Rows before the bad one are good; the error comes with the next call.
			r.err = err
			break
		}
		r.pos += n
		r.lines += lines
		if isRow {
			row++
			r.rows++
		}
	}
	r.cols.finish(dst, row)
	switch {
	case row > 0:
		return row, nil
	case r.err != nil:
		return 0, r.err
	case r.ended:
		return 0, io.EOF
	}
	return 0, exec.ErrNoData
}

// step decodes the next record, reading as much of the file as that takes. It sets ended at the end.
func (r *reader) step(row int) (n int, lines int64, isRow bool, err error) {
	for {
		final := false
		if r.pos < r.end {
			n, lines, isRow, err = r.dec.decode(r.buf[r.pos:r.end], false, row)
			if err != errIncomplete {
				return n, lines, isRow, r.rowError(err)
			}
		}
		more, err := r.fill()
		if err != nil {
			return 0, 0, false, err
		}
		final = !more && !r.src.follow
		switch {
		case more:
			continue
		case !final:
			return 0, 0, false, exec.ErrNoData
		case r.pos == r.end:
			r.ended = true
			return 0, 0, false, nil
		}
		n, lines, isRow, err = r.dec.decode(r.buf[r.pos:r.end], true, row)
		return n, lines, isRow, r.rowError(err)
	}
}

// rowError adds where in the file it happened.
func (r *reader) rowError(err error) error {
	if err == nil {
		return nil
	}
	e := *sqlerr.From(err)
	where := fmt.Sprintf("file %q, line %d", r.src.path, r.lines+1)
	var fe *fieldError
	if errors.As(err, &fe) {
		where += fmt.Sprintf(", column %q", fe.column)
	}
	e.Message = where + ": " + e.Message
	return &e
}

// fill reads more of the file behind end and tells whether there was any.
func (r *reader) fill() (bool, error) {
	if r.atEnd {
		if grown, err := r.recheck(); err != nil || !grown {
			return false, err
		}
	}
	// Half a piece at least, so that little is moved for much that is read.
	room := max(r.src.readSize/2, 1)
	if keep := max(r.pos-tailSize, 0); keep > 0 && len(r.buf)-r.end < room {
		copy(r.buf, r.buf[keep:r.end])
		r.base += int64(keep)
		r.pos -= keep
		r.end -= keep
	}
	if len(r.buf)-r.end < room {
		if r.end-r.pos > maxRecord {
			return false, r.rowError(sqlerr.Newf(sqlerr.ProgramLimitExceeded, "record is longer than %d bytes", maxRecord))
		}
		grown := make([]byte, max(2*len(r.buf), r.src.readSize))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	n, err := r.f.ReadAt(r.buf[r.end:min(len(r.buf), r.end+r.src.readSize)], r.base+int64(r.end))
	r.end += n
	if err != nil && err != io.EOF {
		return false, r.src.ioError("read", err)
	}
	if n > 0 {
		return true, nil
	}
	return false, r.reachedEnd()
}

// reachedEnd checks, when there is nothing more to read, that the file is what it was.
func (r *reader) reachedEnd() error {
	st, err := r.f.Stat()
	if err != nil {
		return r.src.ioError("stat", err)
	}
	if size := r.base + int64(r.end); st.Size() < size {
		return r.src.changed("has shrunk from at least %d to %d bytes", size, st.Size())
	}
	if r.src.follow {
		if err := r.checkPath(st); err != nil {
			return err
		}
	}
	r.atEnd, r.seen = true, st.ModTime()
	return nil
}

// checkPath finds out whether the path still names the open file.
func (r *reader) checkPath(open os.FileInfo) error {
	now, err := os.Stat(r.src.file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return r.src.changed("was removed")
	case err != nil:
		return r.src.ioError("stat", err)
	case !os.SameFile(now, open):
		return r.src.changed("was replaced by another file")
	}
	return nil
}

// recheck looks at a file that was read to its end before: whether there is more, and whether what was
// read last is still there.
func (r *reader) recheck() (grown bool, err error) {
	st, err := r.f.Stat()
	if err != nil {
		return false, r.src.ioError("stat", err)
	}
	size := r.base + int64(r.end)
	if st.Size() < size {
		return false, r.src.changed("has shrunk from at least %d to %d bytes", size, st.Size())
	}
	if st.Size() == size && st.ModTime().Equal(r.seen) {
		return false, r.checkPath(st)
	}
	want := r.buf[max(r.end-tailSize, 0):r.end]
	var tail [tailSize]byte
	if _, err := r.f.ReadAt(tail[:len(want)], size-int64(len(want))); err != nil && err != io.EOF {
		return false, r.src.ioError("read", err)
	}
	if !bytes.Equal(tail[:len(want)], want) {
		return false, r.src.changed("was changed before byte %d", size)
	}
	if st.Size() == size {
		r.seen = st.ModTime()
		return false, r.checkPath(st)
	}
	r.atEnd = false
	return true, nil
}

func (r *reader) Ready() <-chan struct{} { return r.ready }

func (r *reader) Offset() []byte {
	return offset{
		bytes: r.base + int64(r.pos), lines: r.lines, rows: r.rows, inode: r.inode,
		sum: checksum(r.buf[max(r.pos-tailSize, 0):r.pos]), ended: r.ended,
	}.encode()
}

func (r *reader) OffsetRows() int64 { return r.rows }

// SetColumns may be called before each Next, so it does nothing for the columns that it has.
func (r *reader) SetColumns(cols []int) {
	if r.cols.set && slices.Equal(cols, r.cols.needed) {
		return
	}
	r.cols.need(cols)
	r.dec.use(&r.cols)
}

// Close stops following and closes the file.
func (r *reader) Close() error {
	var err error
	if r.watcher != nil {
		err = r.watcher.Close()
		r.watcher = nil
	}
	return errors.Join(err, r.f.Close())
}
