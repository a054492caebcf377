package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// How the sink writes each row exactly once.
//
// The file has only committed rows. What comes between two checkpoints (a transaction) is collected in a file
// beside it, named after the place in the file where it belongs:
//
//		<path>.pending-<offset>
//
//	 1. Rows are appended to the pending file.
//	 2. At the checkpoint's barrier it is synced (Prepare), and its offset, length and checksum become part of
//	    the checkpoint.
//	 3. When the checkpoint is durable, its bytes are written into the file at that offset, which is synced, and
//	    the pending file is removed (Commit). Doing so again changes nothing.
//	 4. A writer that starts from a checkpoint commits again what that has prepared, cuts off what lies
//	    behind it, and removes other pending files: they belong to rows that will come again (Recover).
//
// So a pending file is there as long as a checkpoint that needs it may be recovered to.
const pendingInfix = ".pending-"

// sinkFlush is how many bytes are collected in memory.
const sinkFlush = 64 << 10

// sink is the sink of one file.
type sink struct {
	path string
	// changes: each row says whether it was inserted or deleted, in a first column of this name; "": rows
	// can only be inserted.
	op  string
	csv *csvOptions // nil: JSON
	mu  sync.Mutex
	// taken: there is a writer.
	taken bool
}

// NewSink makes a sink of one file. Options: path (required); type, append-only or changes (default
// append-only, which a query whose rows change does not allow); op_column (default op), the first column of
// type changes: insert or delete. ENCODE JSON has no options, ENCODE CSV those of COPY.
func NewSink(cfg connector.Config) (exec.Sink, error) {
	p := connector.Parse(`connector "file"`, cfg.Options)
	s := &sink{path: p.Required("path")}
	kind := p.OneOf("type", "append-only", "append-only", "changes")
	op := p.Text("op_column", "op")
	if kind == "changes" {
		s.op = op
	} else if p.Has("op_column") {
		p.Fail("op_column", "op_column needs type = 'changes'")
	}
	if kind == "append-only" && !cfg.AppendOnly {
		p.Fail("type", "a query whose rows change needs a sink of type 'changes'")
	}
	if err := p.Done(); err != nil {
		return nil, err
	}
	s.path = inDir(cfg.Dir, s.path)
	var err error
	if s.csv, err = parseEncoding(cfg); err != nil {
		return nil, err
	}
	for _, c := range cfg.Columns {
		if s.op != "" && c.Name == s.op {
			return nil, sqlerr.Newf(sqlerr.DuplicateColumn, "column %q is one of the query's", s.op).
				WithHint("Give the sink another op_column.")
		}
	}
	if cfg.Restored {
		return s, nil
	}
	for _, other := range cfg.Others {
		if path := sinkPath(other, cfg.Dir); path != "" && sameFile(path, s.path) {
			return nil, sqlerr.Newf(sqlerr.ObjectInUse, "file %q is written by another sink", s.path)
		}
	}
	if cfg.Reserved != "" && inside(cfg.Reserved, s.path) {
		return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "file %q is in the server's data directory", s.path)
	}
	st, err := os.Stat(s.path)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return nil, sqlerr.Newf(sqlerr.DuplicateFile, "%q exists and is not a regular file", s.path)
	case err == nil && st.Size() > 0:
		return nil, sqlerr.Newf(sqlerr.DuplicateFile, "file %q exists and is not empty", s.path)
	case err == nil:
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(s.path)); err != nil {
			return nil, fileError(s.path, err)
		}
	default:
		return nil, fileError(s.path, err)
	}
	return s, nil
}

// sinkPath gives the file of a file sink with these options, "" if they are those of another connector.
func sinkPath(options []connector.Option, dir string) string {
	path, ours := "", false
	for _, o := range options {
		switch o.Name {
		case "connector":
			ours = o.Value == "file"
		case "path":
			path = o.Value
		}
	}
	if !ours || path == "" {
		return ""
	}
	if dir != "" && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// inside tells whether a file, which need not exist yet, is in a directory or below it.
func inside(dir, path string) bool {
	real := func(p string) string {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			p = r
		}
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		return p
	}
	if _, err := os.Lstat(path); err == nil {
		path = real(path)
	} else {
		path = filepath.Join(real(filepath.Dir(path)), filepath.Base(path))
	}
	rel, err := filepath.Rel(real(dir), path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// sameFile tells whether two paths lead to one file, which need not exist yet.
func sameFile(a, b string) bool {
	if sa, err := os.Stat(a); err == nil {
		if sb, err := os.Stat(b); err == nil {
			return os.SameFile(sa, sb)
		}
	}
	da, err := os.Stat(filepath.Dir(a))
	if err != nil {
		return false
	}
	db, err := os.Stat(filepath.Dir(b))
	return err == nil && os.SameFile(da, db) && filepath.Base(a) == filepath.Base(b)
}

// fileError gives an error about the sink's file its SQLSTATE.
func fileError(path string, err error) error {
	code := sqlerr.IOError
	switch {
	case errors.Is(err, os.ErrNotExist):
		code = sqlerr.UndefinedFile
	case errors.Is(err, os.ErrPermission):
		code = sqlerr.InsufficientPrivilege
	case errors.Is(err, syscall.ENOSPC):
		code = sqlerr.DiskFull
	}
	e := sqlerr.Newf(code, "file sink %q: %s", path, err)
	e.Cause = err
	return e
}

// Open makes the writer; there can be one at a time.
func (s *sink) Open(_ context.Context, cols []exec.Column) (exec.SinkWriter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken {
		return nil, fmt.Errorf("file sink %q has a writer", s.path)
	}
	s.taken = true
	return &sinkWriter{sink: s, cols: cols}, nil
}

// sinkWriter writes the rows of a sink.
type sinkWriter struct {
	sink *sink
	cols []exec.Column
	buf  []byte
	row  []byte
	// total is the length of the file once everything that is prepared is committed.
	total int64
	// pending takes the transaction that is open; nil: nothing was written yet. size and crc are what is in
	// it.
	pending *os.File
	size    int64
	crc     uint32
}

var sinkCRC = crc32.MakeTable(crc32.Castagnoli)

// sinkTx is a prepared transaction.
type sinkTx struct {
	Offset, Length int64
	CRC            uint32
}

func (w *sinkWriter) pendingPath(offset int64) string {
	return w.sink.path + pendingInfix + strconv.FormatInt(offset, 10)
}

// Write appends the rows to the transaction.
func (w *sinkWriter) Write(c *vec.Chunk) error {
	if w.total == 0 && w.size == 0 && len(w.buf) == 0 && c.Len() > 0 {
		w.header()
	}
	for i := range c.Len() {
		d := c.Diff(i)
		if d < 0 && w.sink.op == "" {
			return sqlerr.Newf(sqlerr.DataException, "file sink %q takes no deletions", w.sink.path)
		}
		op := "insert"
		if d < 0 {
			op, d = "delete", -d
		}
		if err := w.encode(op, c, i); err != nil {
			return err
		}
		for range d {
			w.buf = append(w.buf, w.row...)
		}
		if len(w.buf) >= sinkFlush {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// header begins a CSV file.
func (w *sinkWriter) header() {
	if w.sink.csv == nil || !w.sink.csv.header {
		return
	}
	sep := false
	if w.sink.op != "" {
		w.buf, sep = w.sink.csv.append(w.buf, w.sink.op), true
	}
	for _, c := range w.cols {
		if sep {
			w.buf = append(w.buf, w.sink.csv.delimiter)
		}
		w.buf, sep = w.sink.csv.append(w.buf, c.Name), true
	}
	w.buf = append(w.buf, '\n')
}

// encode makes w.row the line of row i.
func (w *sinkWriter) encode(op string, c *vec.Chunk, i int) error {
	b := w.row[:0]
	var env types.Env
	if o := w.sink.csv; o != nil {
		if w.sink.op != "" {
			b = append(o.append(b, op), o.delimiter)
		}
		for j, col := range w.cols {
			if j > 0 {
				b = append(b, o.delimiter)
			}
			if d := c.Cols[j].Datum(i); !d.Valid {
				b = append(b, o.null...)
			} else {
				b = o.append(b, string(types.AppendText(nil, col.Type, d, &env)))
			}
		}
		w.row = append(b, '\n')
		return nil
	}
	b = append(b, '{')
	if w.sink.op != "" {
		b = append(types.AppendJSONString(b, w.sink.op), ':')
		b = types.AppendJSONString(b, op)
	}
	for j, col := range w.cols {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(types.AppendJSONString(b, col.Name), ':')
		v, err := types.JSONFromDatum(col.Type, c.Cols[j].Datum(i), &env)
		if err != nil {
			return err
		}
		b = append(b, v...)
	}
	w.row = append(b, '}', '\n')
	return nil
}

// append writes a field that is not NULL.
func (o *csvOptions) append(dst []byte, v string) []byte {
	if v != o.null && v != `\.` && !strings.ContainsAny(v, string([]byte{o.delimiter, o.quote, '\n', '\r'})) {
		return append(dst, v...)
	}
	dst = append(dst, o.quote)
	for i := range len(v) {
		if v[i] == o.quote || v[i] == o.escape {
			dst = append(dst, o.escape)
		}
		dst = append(dst, v[i])
	}
	return append(dst, o.quote)
}

// flush moves what is collected to the pending file.
func (w *sinkWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	path := w.pendingPath(w.total)
	if w.pending == nil {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
		if err != nil {
			return fileError(path, err)
		}
		w.pending = f
	}
	if _, err := w.pending.WriteAt(w.buf, w.size); err != nil {
		return fileError(path, err)
	}
	w.size += int64(len(w.buf))
	w.crc = crc32.Update(w.crc, sinkCRC, w.buf)
	w.buf = w.buf[:0]
	return nil
}

// Barrier does nothing: rows are prepared at checkpoints.
func (w *sinkWriter) Barrier(storage.Epoch, bool) error { return nil }

// Prepare makes the transaction durable.
func (w *sinkWriter) Prepare() (handle []byte, err error) {
	if err := w.flush(); err != nil || w.pending == nil {
		return nil, err
	}
	path := w.pendingPath(w.total)
	err = w.pending.Sync()
	if cerr := w.pending.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncDir(path)
	}
	if err != nil {
		return nil, fileError(path, err)
	}
	handle, err = json.Marshal(sinkTx{Offset: w.total, Length: w.size, CRC: w.crc})
	w.total += w.size
	w.pending, w.size, w.crc = nil, 0, 0
	return handle, err
}

// Commit writes a prepared transaction into the file. It may be called again.
func (w *sinkWriter) Commit(handle []byte) error {
	var tx sinkTx
	if err := json.Unmarshal(handle, &tx); err != nil {
		return fmt.Errorf("file sink %q: transaction: %w", w.sink.path, err)
	}
	path := w.pendingPath(tx.Offset)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		st, err := os.Stat(w.sink.path)
		if err != nil {
			return fileError(w.sink.path, err)
		}
		if st.Size() < tx.Offset+tx.Length {
			return fileError(w.sink.path, fmt.Errorf("the file has %d bytes, and %d had been committed", st.Size(), tx.Offset+tx.Length))
		}
		return nil // committed already
	}
	if err != nil {
		return fileError(path, err)
	}
	if int64(len(data)) != tx.Length || crc32.Checksum(data, sinkCRC) != tx.CRC {
		return fileError(path, errors.New("it is not what was prepared"))
	}
	f, err := os.OpenFile(w.sink.path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return fileError(w.sink.path, err)
	}
	err = writeAt(f, data, tx.Offset)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && tx.Offset == 0 {
		err = syncDir(w.sink.path)
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return fileError(w.sink.path, err)
	}
	return nil
}

// writeAt makes data the content of f at off, which must not be behind its end.
func writeAt(f *os.File, data []byte, off int64) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() < off {
		return fmt.Errorf("the file has %d bytes, and %d had been committed", st.Size(), off)
	}
	// A reader that follows the file must not see it shrink or change: what is there of a first attempt stays.
	if have := min(st.Size()-off, int64(len(data))); have > 0 {
		old := make([]byte, have)
		if _, err := f.ReadAt(old, off); err != nil && err != io.EOF {
			return err
		}
		if bytes.Equal(old, data[:have]) {
			data, off = data[have:], off+have
		}
	}
	if _, err := f.WriteAt(data, off); err != nil {
		return err
	}
	return f.Sync()
}

// Recover begins with what a checkpoint has prepared, oldest first: it is committed, and nothing else stays.
func (w *sinkWriter) Recover(handles [][]byte) error {
	for _, h := range handles {
		if err := w.Commit(h); err != nil {
			return err
		}
		var tx sinkTx
		if err := json.Unmarshal(h, &tx); err != nil {
			return err
		}
		w.total = tx.Offset + tx.Length
	}
	if st, err := os.Stat(w.sink.path); err == nil && st.Size() > w.total {
		if err := os.Truncate(w.sink.path, w.total); err != nil {
			return fileError(w.sink.path, err)
		}
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fileError(w.sink.path, err)
	}
	dir, base := filepath.Split(w.sink.path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fileError(dir, err)
	}
	for _, e := range entries {
		num, ok := strings.CutPrefix(e.Name(), base+pendingInfix)
		if _, err := strconv.ParseInt(num, 10, 64); !ok || err != nil {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fileError(e.Name(), err)
		}
	}
	return nil
}

// Close gives up the writer. What is prepared and not committed stays for the next one.
func (w *sinkWriter) Close() error {
	w.sink.mu.Lock()
	w.sink.taken = false
	w.sink.mu.Unlock()
	if w.pending == nil {
		return nil
	}
	err := w.pending.Close()
	w.pending = nil
	return err
}

func syncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
