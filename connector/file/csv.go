package file

import (
	"bytes"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/sqlerr"
)

// csvOptions are COPY's.
type csvOptions struct {
	// header skips the first line; match also compares it with the columns' names.
	header, match            bool
	delimiter, quote, escape byte
	null                     string
}

func parseCSVOptions(opts []connector.Option) (*csvOptions, error) {
	p := connector.Parse("ENCODE CSV", opts)
	o := &csvOptions{}
	for _, opt := range opts {
		if opt.Name == "header" && opt.Value == "match" {
			o.header, o.match = p.Has("header"), true
		}
	}
	if !o.match {
		o.header = p.Bool("header", false)
	}
	o.delimiter = p.Byte("delimiter", ',')
	o.quote = p.Byte("quote", '"')
	o.escape = p.Byte("escape", o.quote)
	o.null = p.Text("null", "")
	switch {
	case o.delimiter == '\n' || o.delimiter == '\r':
		p.Fail("delimiter", "COPY delimiter cannot be newline or carriage return")
	case o.delimiter == o.quote:
		p.Fail("delimiter", "COPY delimiter and quote must be different")
	case bytes.IndexByte([]byte(o.null), '\n') >= 0 || bytes.IndexByte([]byte(o.null), '\r') >= 0:
		p.Fail("null", "COPY null representation cannot use newline or carriage return")
	case bytes.IndexByte([]byte(o.null), o.delimiter) >= 0:
		p.Fail("null", "COPY delimiter must not appear in the NULL specification")
	case bytes.IndexByte([]byte(o.null), o.quote) >= 0:
		p.Fail("null", "CSV quote character must not appear in the NULL specification")
	}
	return o, p.Done()
}

// csvDecoder is the decoder of CSV.
type csvDecoder struct {
	o      *csvOptions
	schema []exec.Column
	cols   *columns
	// header says that the next record is the header.
	header bool
	// special marks the bytes that end or interrupt an unquoted field.
	special [256]bool
	scratch []byte
}

func newCSVDecoder(o *csvOptions, schema []exec.Column, atStart bool) *csvDecoder {
	d := &csvDecoder{o: o, schema: schema, header: o.header && atStart}
	for _, c := range []byte{o.delimiter, o.quote, '\n', '\r', 0} {
		d.special[c] = true
	}
	for c := 0x80; c < 0x100; c++ {
		d.special[c] = true // to be checked as UTF-8
	}
	return d
}

func (d *csvDecoder) use(c *columns) { d.cols = c }

// decode reads one record.
func (d *csvDecoder) decode(b []byte, final bool, row int) (int, int64, bool, error) {
	pos, lines := 0, int64(0)
	for field := 0; ; field++ {
		f, next, err := d.field(b, pos, final)
		if err != nil {
			return 0, 0, false, err
		}
		lines += f.lines
		switch {
		case d.header:
			err = d.checkHeader(f, field)
		case field >= len(d.schema):
			err = sqlerr.Newf(sqlerr.BadCopyFileFormat, "extra data after last expected column")
		default:
			err = d.put(f, field, row)
		}
		if err != nil {
			// The record may go on behind b, and the error must not depend on where b ends. But what
			// was read of it is wrong in any case.
			return 0, 0, false, err
		}
		pos = next
		if !f.last {
			continue
		}
		if d.header {
			if d.o.match && field+1 != len(d.schema) {
				return 0, 0, false, sqlerr.Newf(sqlerr.BadCopyFileFormat,
					"wrong number of fields in header line: got %d, expected %d", field+1, len(d.schema))
			}
			d.header = false
			return pos, lines, false, nil
		}
		if field+1 < len(d.schema) {
			return 0, 0, false, sqlerr.Newf(sqlerr.BadCopyFileFormat, "missing data for column %q", d.schema[field+1].Name)
		}
		return pos, lines, true, nil
	}
}

func (d *csvDecoder) put(f csvField, field, row int) error {
	si := d.cols.slotOf[field]
	if si < 0 {
		return nil
	}
	s := &d.cols.slots[si]
	if !f.quoted && string(f.text) == d.o.null {
		s.v.SetNull(row)
		return nil
	}
	s.clearNull(row) // of an attempt that was incomplete
	return d.cols.setText(s, row, f.text)
}

func (d *csvDecoder) checkHeader(f csvField, field int) error {
	if !d.o.match || field >= len(d.schema) {
		return nil
	}
	want := d.schema[field].Name
	if !f.quoted && string(f.text) == d.o.null {
		return sqlerr.Newf(sqlerr.BadCopyFileFormat,
			"column name mismatch in header line field %d: got null value (\"%s\"), expected \"%s\"", field+1, d.o.null, want)
	}
	if string(f.text) != want {
		return sqlerr.Newf(sqlerr.BadCopyFileFormat,
			"column name mismatch in header line field %d: got \"%s\", expected \"%s\"", field+1, f.text, want)
	}
	return nil
}

// csvField is one field.
type csvField struct {
	text []byte
	// quoted says that the field had a quote somewhere, so that it is not NULL.
	quoted bool
	// last says that the record ends here; lines is the number of line ends in the field and behind.
	last  bool
	lines int64
}

// field reads the field at b[i:] and gives where the next begins. Quotes may begin and end anywhere in
// a field, as in PostgreSQL.
func (d *csvDecoder) field(b []byte, i int, final bool) (f csvField, next int, err error) {
	start := i
	wide := false
	// Until the first quote the text is a part of b.
	for i < len(b) {
		c := b[i]
		if !d.special[c] {
			i++
			continue
		}
		switch {
		case c == d.o.delimiter:
			f.text = b[start:i]
			return f, i + 1, checkField(f.text, wide)
		case c == d.o.quote:
			return d.quotedField(b, start, i, final)
		case c == '\n':
			f.text, f.last, f.lines = b[start:i], true, 1
			return f, i + 1, checkField(f.text, wide)
		case c == '\r':
			n, err := d.carriageReturn(b, i, final)
			if err != nil {
				return f, 0, err
			}
			f.text, f.last, f.lines = b[start:i], true, 1
			return f, i + n, checkField(f.text, wide)
		default:
			wide = true
			i++
		}
	}
	if !final {
		return f, 0, errIncomplete
	}
	f.text, f.last = b[start:], true
	return f, len(b), checkField(f.text, wide)
}

// carriageReturn gives the length of the line end that starts with the carriage return at b[i].
func (d *csvDecoder) carriageReturn(b []byte, i int, final bool) (int, error) {
	switch {
	case i+1 < len(b) && b[i+1] == '\n':
		return 2, nil
	case i+1 == len(b) && final:
		return 1, nil
	case i+1 == len(b):
		return 0, errIncomplete
	}
	return 0, sqlerr.Newf(sqlerr.BadCopyFileFormat, "unquoted carriage return found in data").
		WithHint("Use quoted CSV field to represent carriage return.")
}

func checkField(b []byte, wide bool) error {
	if !wide {
		return nil
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return sqlerr.Newf(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00")
	}
	return checkText(b)
}

// quotedField goes on with a field that starts at start and has its first quote at i.
func (d *csvDecoder) quotedField(b []byte, start, i int, final bool) (f csvField, next int, err error) {
	out := append(d.scratch[:0], b[start:i]...)
	f.quoted = true
	inside := false
	for {
		if i == len(b) {
			switch {
			case !final:
				d.scratch = out
				return f, 0, errIncomplete
			case inside:
				return f, 0, sqlerr.Newf(sqlerr.BadCopyFileFormat, "unterminated CSV quoted field")
			}
			f.last = true
			break
		}
		c := b[i]
		if inside {
			if c == d.o.escape {
				if i+1 == len(b) && !final {
					d.scratch = out
					return f, 0, errIncomplete
				}
				if i+1 < len(b) && (b[i+1] == d.o.quote || b[i+1] == d.o.escape) {
					out = append(out, b[i+1])
					i += 2
					continue
				}
			}
			if c == d.o.quote {
				inside = false
				i++
				continue
			}
			if c == '\n' {
				f.lines++
			}
			out = append(out, c)
			i++
			continue
		}
		if c == d.o.quote {
			inside = true
			i++
			continue
		}
		if c == d.o.delimiter {
			i++
			break
		}
		if c == '\n' {
			f.last = true
			f.lines++
			i++
			break
		}
		if c == '\r' {
			n, err := d.carriageReturn(b, i, final)
			if err != nil {
				d.scratch = out
				return f, 0, err
			}
			f.last = true
			f.lines++
			i += n
			break
		}
		out = append(out, c)
		i++
	}
	d.scratch = out
	f.text = out
	return f, i, checkField(out, true)
}
