package copyfmt

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Field is one field of a row. A NULL field has no Value; Quoted tells that it was quoted (CSV), so that
// an empty string is none by mistake. Value is valid until the next row is read.
type Field struct {
	Value  []byte
	Null   bool
	Quoted bool
}

// Reader reads rows.
type Reader struct {
	o    Options
	in   *bufio.Reader
	line int
	buf  []byte // the present line, without its end
	flat []byte // unescaped values
	// fields are the present row's.
	fields []Field
	done   bool
}

// NewReader reads rows from in.
func NewReader(in io.Reader, o Options) *Reader {
	return &Reader{o: o, in: bufio.NewReaderSize(in, 64<<10)}
}

// Line is the number of the line on which the present row began, from 1.
func (r *Reader) Line() int { return r.line }

// Text is the present line, for error messages.
func (r *Reader) Text() []byte { return r.buf }

// Next reads a row; io.EOF after the last.
func (r *Reader) Next() ([]Field, error) {
	if r.done {
		return nil, io.EOF
	}
	r.line++
	if err := r.readLine(); err != nil {
		return nil, err
	}
	if string(r.buf) == `\.` {
		r.done = true
		// The rest belongs to nobody.
		_, err := io.Copy(io.Discard, r.in)
		return nil, errors.Join(err, io.EOF)
	}
	r.fields, r.flat = r.fields[:0], r.flat[:0]
	if r.o.CSV {
		return r.fields, r.csv()
	}
	return r.fields, r.text()
}

// readLine puts the next line into buf. The line ends \n, \r\n and \r count.
func (r *Reader) readLine() error {
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case err == nil:
			r.buf = r.buf[:len(r.buf)-1]
			if n := len(r.buf); n > 0 && r.buf[n-1] == '\r' {
				r.buf = r.buf[:n-1]
			}
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			r.done = true
			if len(r.buf) == 0 {
				return io.EOF
			}
			return nil
		default:
			return err
		}
	}
}

// text splits a line in text format. A backslash at the end of the line continues it.
func (r *Reader) text() error {
	for {
		n := 0
		for k := len(r.buf) - 1; k >= 0 && r.buf[k] == '\\'; k-- {
			n++
		}
		if n%2 == 0 {
			break
		}
		first := append([]byte(nil), r.buf...)
		r.line++
		err := r.readLine()
		if errors.Is(err, io.EOF) {
			r.buf = first
			break
		}
		if err != nil {
			return err
		}
		// The escaped line end stands for itself.
		r.buf = append(append(first, '\n'), r.buf...)
	}
	line := r.buf
	for {
		end := 0
		escaped := false
		for end < len(line) && line[end] != r.o.Delim {
			if line[end] == '\\' && end+1 < len(line) {
				escaped = true
				end++
			}
			end++
		}
		end = min(end, len(line))
		raw := line[:end]
		f := Field{Value: raw}
		if string(raw) == r.o.Null {
			f = Field{Null: true}
		} else if escaped {
			f.Value = r.unescape(raw)
		}
		r.fields = append(r.fields, f)
		if end == len(line) {
			return nil
		}
		line = line[end+1:]
	}
}

// unescape resolves the backslash sequences of text format.
func (r *Reader) unescape(raw []byte) []byte {
	at := len(r.flat)
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' || i+1 == len(raw) {
			r.flat = append(r.flat, c)
			continue
		}
		i++
		switch c = raw[i]; {
		case c == 'b':
			c = '\b'
		case c == 'f':
			c = '\f'
		case c == 'n':
			c = '\n'
		case c == 'r':
			c = '\r'
		case c == 't':
			c = '\t'
		case c == 'v':
			c = '\v'
		case c >= '0' && c <= '7':
			v := c - '0'
			for n := 1; n < 3 && i+1 < len(raw) && raw[i+1] >= '0' && raw[i+1] <= '7'; n++ {
				i++
				v = v<<3 | (raw[i] - '0')
			}
			c = v
		case c == 'x' && i+1 < len(raw) && hex(raw[i+1]) >= 0:
			v := 0
			for n := 0; n < 2 && i+1 < len(raw) && hex(raw[i+1]) >= 0; n++ {
				i++
				v = v<<4 | hex(raw[i])
			}
			c = byte(v)
		}
		r.flat = append(r.flat, c)
	}
	return r.flat[at:]
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// csv splits a record; a quoted field may go on over several lines.
func (r *Reader) csv() error {
	i := 0
	for {
		at := len(r.flat)
		quoted, plain := false, true
		start := i
		for i < len(r.buf) && r.buf[i] != r.o.Delim {
			if r.buf[i] != r.o.Quote {
				if !plain {
					r.flat = append(r.flat, r.buf[i])
				}
				i++
				continue
			}
			if plain {
				r.flat = append(r.flat, r.buf[start:i]...)
				plain = false
			}
			quoted = true
			var err error
			if i, err = r.quoted(i + 1); err != nil {
				return err
			}
		}
		f := Field{Quoted: quoted}
		if plain {
			f.Value = r.buf[start:i]
		} else {
			f.Value = r.flat[at:]
		}
		if !quoted && bytes.Equal(f.Value, []byte(r.o.Null)) {
			f.Value, f.Null = nil, true
		}
		r.fields = append(r.fields, f)
		if i >= len(r.buf) {
			return nil
		}
		i++
	}
}

// quoted reads inside quotes from buf[i] and gives the place after the closing quote.
func (r *Reader) quoted(i int) (int, error) {
	for {
		for i < len(r.buf) {
			c := r.buf[i]
			if c == r.o.Escape && i+1 < len(r.buf) && (r.buf[i+1] == r.o.Quote || r.buf[i+1] == r.o.Escape) {
				r.flat = append(r.flat, r.buf[i+1])
				i += 2
				continue
			}
			if c == r.o.Quote {
				return i + 1, nil
			}
			r.flat = append(r.flat, c)
			i++
		}
		if r.done {
			return 0, sqlerr.Newf(sqlerr.BadCopyFileFormat, "unterminated CSV quoted field")
		}
		// The field goes on in the next line. Values of this row that are parts of buf are
		// copied first.
		for k := range r.fields {
			r.fields[k].Value = append([]byte(nil), r.fields[k].Value...)
		}
		r.flat = append(r.flat, '\n')
		if err := r.readLine(); err != nil {
			if errors.Is(err, io.EOF) {
				return 0, sqlerr.Newf(sqlerr.BadCopyFileFormat, "unterminated CSV quoted field")
			}
			return 0, err
		}
		i = 0
	}
}
