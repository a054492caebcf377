package pgwire

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/weirdb/weir/sql/sqlerr"
)

// ResultWriter takes the result of one statement. It is valid during the call that it was given
// to. It buffers: a client sees what was written when the buffer is full, on Flush, or when pgwire
// ends the group of statements. While a row is open, only Notice may be called.
type ResultWriter interface {
	// Columns announces a result set. In the simple protocol it sends RowDescription; in the
	// extended protocol, where Describe does that, it does nothing.
	Columns(cols []Column)
	// Rows takes the rows of the result set.
	Rows() *RowWriter
	// Notice sends a notice at once, between what was written before and what comes later; while
	// a row is open it waits for the end of the statement.
	Notice(n *Notice)
	// Flush sends everything written so far. Results that grow slowly call it.
	Flush() error
	// CopyIn starts COPY FROM STDIN. The reader gives the client's data until it ends with
	// io.EOF; its error is 57014 if the client gave up. What a statement leaves unread when it
	// succeeds is read and dropped.
	CopyIn(format Format, columns int) (io.Reader, error)
	// CopyOut starts COPY TO STDOUT. The data ends when the statement returns without an error.
	CopyOut(format Format, columns int) (CopyWriter, error)
}

// CopyWriter takes the data of COPY TO STDOUT.
type CopyWriter interface {
	// Write sends p as one message. PostgreSQL sends one row (with its line end) a message, and
	// some clients rely on it. It fails like RowWriter.EndRow.
	io.Writer
	// Begin gives a buffer to append one message's data to, without copying; End takes the buffer
	// back and sends it. Nothing else may be written in between.
	Begin() []byte
	End(b []byte) error
}

// RowWriter encodes rows straight into a connection's output buffer, without allocation:
//
//	rows.BeginRow()
//	rows.EndValue(strconv.AppendInt(rows.BeginValue(), 42, 10))
//	rows.Null()
//	err := rows.EndRow()
//
// The values of a row come in column order, in the format of their column. The zero RowWriter
// collects the messages in memory; Bytes gives them.
type RowWriter struct {
	// buf is the output buffer: whole messages, then the open row if there is one.
	buf []byte
	// limit is the length from which EndRow calls spill.
	limit int
	// row and val are where the open row and the open value start in buf. row is 0 outside a
	// row: inside it is the offset plus one.
	row, val int
	// n counts the values of the open row.
	n int
	// count counts the finished rows of the result.
	count int64
	// spill writes out buf; nil keeps it.
	spill func() error
	// enc is the client's encoding, nil for UTF-8; raw are the columns that are no text, and failed is what is wrong with a value
	// that was to be converted.
	enc    *Encoding
	raw    []bool
	failed error
}

// BeginRow opens a row.
func (w *RowWriter) BeginRow() {
	w.row = len(w.buf) + 1
	w.n = 0
	w.buf = append(w.buf, 'D', 0, 0, 0, 0, 0, 0)
}

// Null writes NULL.
func (w *RowWriter) Null() {
	w.n++
	w.buf = append(w.buf, 0xff, 0xff, 0xff, 0xff)
}

// BeginValue opens a value: its bytes are to be appended to the slice that it gives.
func (w *RowWriter) BeginValue() []byte {
	w.n++
	w.val = len(w.buf)
	return append(w.buf, 0, 0, 0, 0)
}

// EndValue closes the value; b is what BeginValue gave, with the value's bytes appended.
func (w *RowWriter) EndValue(b []byte) {
	w.buf = b
	if w.enc != nil {
		w.convert()
	}
	binary.BigEndian.PutUint32(w.buf[w.val:], uint32(len(w.buf)-w.val-4))
}

// Value writes a whole value.
func (w *RowWriter) Value(v []byte) {
	if w.enc != nil {
		w.EndValue(append(w.BeginValue(), v...))
		return
	}
	w.n++
	w.buf = append(binary.BigEndian.AppendUint32(w.buf, uint32(len(v))), v...)
}

// String writes a whole value.
func (w *RowWriter) String(v string) {
	if w.enc != nil {
		w.EndValue(append(w.BeginValue(), v...))
		return
	}
	w.n++
	w.buf = append(binary.BigEndian.AppendUint32(w.buf, uint32(len(v))), v...)
}

// EndRow closes the row. From time to time it writes to the client, and waits as long as the
// client takes; it fails when the statement was cancelled (with the error to report), when the
// client is gone, and when the row is too large for a message. The statement should return the
// error.
func (w *RowWriter) EndRow() error {
	start := w.row - 1
	if err := w.failed; err != nil {
		w.failed = nil
		w.abandonRow()
		return err
	}
	if len(w.buf)-start > math.MaxInt32 || w.n > math.MaxInt16 {
		w.abandonRow()
		return sqlerr.Newf(sqlerr.ProgramLimitExceeded, "row of %d columns is too large to be sent", w.n)
	}
	binary.BigEndian.PutUint32(w.buf[start+1:], uint32(len(w.buf)-start-1))
	binary.BigEndian.PutUint16(w.buf[start+5:], uint16(w.n))
	w.row = 0
	w.count++
	if len(w.buf) < w.limit || w.spill == nil {
		return nil
	}
	return w.spill()
}

// Count is the number of finished rows of the current result.
func (w *RowWriter) Count() int64 { return w.count }

// Bytes gives the DataRow messages that a RowWriter without a connection has collected, and
// forgets them. The slice is valid until the next row.
func (w *RowWriter) Bytes() []byte {
	b := w.buf
	w.buf = w.buf[:0]
	return b
}

// abandonRow drops a row that was opened and not closed.
func (w *RowWriter) abandonRow() {
	if w.row != 0 {
		w.buf = w.buf[:w.row-1]
		w.row = 0
	}
}
