package copyfmt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/weirdb/weir/sql/sqlerr"
)

// signature begins data in binary format; flags and the length of an extension follow, four bytes each.
const signature = "PGCOPY\n\xff\r\n\x00"

// AppendBinaryHeader appends what begins data in binary format.
func AppendBinaryHeader(dst []byte) []byte {
	return append(append(dst, signature...), 0, 0, 0, 0, 0, 0, 0, 0)
}

// AppendBinaryRow appends a row in binary format. A nil value is NULL.
func AppendBinaryRow(dst []byte, values [][]byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(values)))
	for _, v := range values {
		if v == nil {
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...)
	}
	return dst
}

// AppendBinaryTrailer appends what ends data in binary format.
func AppendBinaryTrailer(dst []byte) []byte { return append(dst, 0xff, 0xff) }

// BinaryReader reads rows in binary format.
type BinaryReader struct {
	in      *bufio.Reader
	columns int
	row     int
	field   int
	begun   bool
	done    bool
	flat    []byte
	fields  []Field
}

// NewBinaryReader reads rows of a number of columns from in.
func NewBinaryReader(in io.Reader, columns int) *BinaryReader {
	return &BinaryReader{in: bufio.NewReaderSize(in, 64<<10), columns: columns, field: -1}
}

// Line is the number of the present row, from 1; 0 in the header.
func (r *BinaryReader) Line() int { return r.row }

// Field is the field of the present row in which an error of Next is, -1 if in none.
func (r *BinaryReader) Field() int { return r.field }

// Next reads a row; io.EOF after the last. Errors in the data are 22P04, worded as PostgreSQL's.
func (r *BinaryReader) Next() ([]Field, error) {
	if r.done {
		return nil, io.EOF
	}
	if !r.begun {
		if err := r.header(); err != nil {
			return nil, err
		}
		r.begun = true
	}
	r.row++
	r.field = -1
	var head [2]byte
	if err := r.full(head[:], io.EOF); err != nil {
		// Also without a trailer, as in PostgreSQL.
		r.done = errors.Is(err, io.EOF)
		return nil, err
	}
	n := int(int16(binary.BigEndian.Uint16(head[:])))
	if n == -1 {
		r.done = true
		if _, err := r.in.ReadByte(); err == nil {
			return nil, sqlerr.Newf(sqlerr.BadCopyFileFormat, "received copy data after EOF marker")
		} else if !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, io.EOF
	}
	if n != r.columns {
		return nil, sqlerr.Newf(sqlerr.BadCopyFileFormat, "row field count is %d, expected %d", n, r.columns)
	}
	r.fields, r.flat = r.fields[:0], r.flat[:0]
	for r.field = range n {
		f, err := r.value()
		if err != nil {
			return nil, err
		}
		r.fields = append(r.fields, f)
	}
	r.field = -1
	return r.fields, nil
}

// header reads what is before the first row.
func (r *BinaryReader) header() error {
	bad := func(msg string) error { return sqlerr.Newf(sqlerr.BadCopyFileFormat, "%s", msg) }
	buf := make([]byte, len(signature))
	if err := r.full(buf, bad("COPY file signature not recognized")); err != nil {
		return err
	}
	if string(buf) != signature {
		return bad("COPY file signature not recognized")
	}
	if err := r.full(buf[:4], bad("invalid COPY file header (missing flags)")); err != nil {
		return err
	}
	switch flags := binary.BigEndian.Uint32(buf); {
	case flags&(1<<16) != 0:
		return bad("invalid COPY file header (WITH OIDS)")
	case flags>>16 != 0:
		return bad("unrecognized critical flags in COPY file header")
	}
	if err := r.full(buf[:4], bad("invalid COPY file header (missing length)")); err != nil {
		return err
	}
	ext := int32(binary.BigEndian.Uint32(buf))
	if ext < 0 {
		return bad("invalid COPY file header (missing length)")
	}
	if _, err := io.CopyN(io.Discard, r.in, int64(ext)); err != nil {
		return ended(err, bad("invalid COPY file header (wrong length)"))
	}
	return nil
}

// value reads a field. What it allocates grows with the data that is there, not with the size that a client claims.
func (r *BinaryReader) value() (Field, error) {
	short := sqlerr.Newf(sqlerr.BadCopyFileFormat, "unexpected EOF in COPY data")
	var head [4]byte
	if err := r.full(head[:], short); err != nil {
		return Field{}, err
	}
	n := int(int32(binary.BigEndian.Uint32(head[:])))
	switch {
	case n == -1:
		return Field{Null: true}, nil
	case n < 0:
		return Field{}, sqlerr.Newf(sqlerr.BadCopyFileFormat, "invalid field size")
	}
	const most = 1 << 20
	at := len(r.flat)
	for n > 0 {
		part := min(n, most)
		from := len(r.flat)
		r.flat = append(r.flat, make([]byte, part)...)
		if err := r.full(r.flat[from:], short); err != nil {
			return Field{}, err
		}
		n -= part
	}
	return Field{Value: r.flat[at:len(r.flat):len(r.flat)]}, nil
}

// full fills b; where the data ends before that the error is short.
func (r *BinaryReader) full(b []byte, short error) error {
	_, err := io.ReadFull(r.in, b)
	return ended(err, short)
}

func ended(err, short error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return short
	}
	return err
}
