package pgwire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Encoding is a client encoding of one byte a character. Everything above this package is UTF-8: texts of the client are converted when they
// are read, and what it is sent when it is written. Encodings of several bytes a character are not supported.
type Encoding struct {
	// Name is PostgreSQL's, Number what pg_char_to_encoding gives.
	Name   string
	Number int
	table  *charmap.Charmap
}

// encodings are all of them, with other names that PostgreSQL takes.
var encodings = []struct {
	Encoding
	others string
}{
	{Encoding{"LATIN1", 8, charmap.ISO8859_1}, "iso88591"},
	{Encoding{"LATIN2", 9, charmap.ISO8859_2}, "iso88592"},
	{Encoding{"LATIN3", 10, charmap.ISO8859_3}, "iso88593"},
	{Encoding{"LATIN4", 11, charmap.ISO8859_4}, "iso88594"},
	{Encoding{"LATIN5", 12, charmap.ISO8859_9}, "iso88599"},
	{Encoding{"LATIN6", 13, charmap.ISO8859_10}, "iso885910"},
	{Encoding{"LATIN7", 14, charmap.ISO8859_13}, "iso885913"},
	{Encoding{"LATIN8", 15, charmap.ISO8859_14}, "iso885914"},
	{Encoding{"LATIN9", 16, charmap.ISO8859_15}, "iso885915"},
	{Encoding{"LATIN10", 17, charmap.ISO8859_16}, "iso885916"},
	{Encoding{"WIN1256", 18, charmap.Windows1256}, "windows1256"},
	{Encoding{"WIN1258", 19, charmap.Windows1258}, "windows1258 abc tcvn tcvn5712 vscii"},
	{Encoding{"WIN866", 20, charmap.CodePage866}, "alt windows866"},
	{Encoding{"WIN874", 21, charmap.Windows874}, "windows874"},
	{Encoding{"KOI8R", 22, charmap.KOI8R}, "koi8"},
	{Encoding{"WIN1251", 23, charmap.Windows1251}, "windows1251 win"},
	{Encoding{"WIN1252", 24, charmap.Windows1252}, "windows1252"},
	{Encoding{"ISO_8859_5", 25, charmap.ISO8859_5}, "iso88595"},
	{Encoding{"ISO_8859_6", 26, charmap.ISO8859_6}, "iso88596"},
	{Encoding{"ISO_8859_7", 27, charmap.ISO8859_7}, "iso88597"},
	{Encoding{"ISO_8859_8", 28, charmap.ISO8859_8}, "iso88598"},
	{Encoding{"WIN1250", 29, charmap.Windows1250}, "windows1250"},
	{Encoding{"WIN1253", 30, charmap.Windows1253}, "windows1253"},
	{Encoding{"WIN1254", 31, charmap.Windows1254}, "windows1254"},
	{Encoding{"WIN1255", 32, charmap.Windows1255}, "windows1255"},
	{Encoding{"WIN1257", 33, charmap.Windows1257}, "windows1257"},
	{Encoding{"KOI8U", 34, charmap.KOI8U}, ""},
}

// FindEncoding finds an encoding by any of its names; case and punctuation do not count. UTF8 and SQL_ASCII, in which
// nothing is converted, are encodings too. Nil: it is none, or not supported.
func FindEncoding(name string) *Encoding {
	key := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name)
	switch key {
	case "utf8", "unicode":
		return &Encoding{Name: "UTF8", Number: 6}
	case "sqlascii":
		return &Encoding{Name: "SQL_ASCII"}
	}
	for i := range encodings {
		e := &encodings[i]
		if key == strings.ToLower(strings.ReplaceAll(e.Name, "_", "")) {
			return &e.Encoding
		}
		for o := range strings.FieldsSeq(e.others) {
			if o == key {
				return &e.Encoding
			}
		}
	}
	return nil
}

// setEncoding takes what the client is told of client_encoding.
func (c *conn) setEncoding(name string) {
	c.enc = nil
	if e := FindEncoding(name); e != nil && e.table != nil {
		c.enc = e
	}
	c.rows.enc = c.enc
}

func ascii(b []byte) bool {
	for _, x := range b {
		if x >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// decode gives b, in the encoding, as UTF-8. A nil encoding is UTF-8, which is checked.
func (e *Encoding) decode(b []byte) ([]byte, error) {
	if e == nil {
		return b, checkUTF8(b)
	}
	if ascii(b) {
		return b, nil
	}
	return e.appendDecoded(make([]byte, 0, len(b)+len(b)/2), b)
}

// appendDecoded appends b, in the encoding, as UTF-8. A byte gives at most three.
func (e *Encoding) appendDecoded(dst, b []byte) ([]byte, error) {
	for _, x := range b {
		r := e.table.DecodeByte(x)
		if r == utf8.RuneError {
			return dst, sqlerr.Newf(sqlerr.UntranslatableCharacter,
				"character with byte sequence 0x%02x in encoding \"%s\" has no equivalent in encoding \"UTF8\"", x, e.Name)
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, nil
}

// encodeTail brings b[from:], which is UTF-8, into the encoding, in place: it gets no longer.
func (e *Encoding) encodeTail(b []byte, from int) ([]byte, error) {
	if e == nil || ascii(b[from:]) {
		return b, nil
	}
	w := from
	for i := from; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		x, ok := e.table.EncodeRune(r)
		if !ok {
			var seq strings.Builder
			for _, c := range b[i : i+n] {
				fmt.Fprintf(&seq, " 0x%02x", c)
			}
			return b, sqlerr.Newf(sqlerr.UntranslatableCharacter,
				"character with byte sequence%s in encoding \"UTF8\" has no equivalent in encoding \"%s\"", seq.String(), e.Name)
		}
		b[w] = x
		w++
		i += n
	}
	return b[:w], nil
}

// message gives a text for an error or notice in the encoding; what it lacks becomes a question mark.
func (e *Encoding) message(s string) string {
	s = clean(s)
	if e == nil || ascii([]byte(s)) {
		return s
	}
	var out []byte
	for _, r := range s {
		x, ok := e.table.EncodeRune(r)
		if !ok {
			x = '?'
		}
		out = append(out, x)
	}
	return string(out)
}

// texts are the types whose binary form is text.
func isText(oid uint32) bool {
	switch oid {
	case 18, 19, 25, 114, 142, 194, 705, 1042, 1043, 2275, 3802, 4072:
		return true
	}
	return false
}

// rawColumns tells which columns have values that are no text; nil: none.
func rawColumns(cols []Column) []bool {
	var raw []bool
	for i, c := range cols {
		if c.Format == Binary && !isText(c.TypeOID) {
			if raw == nil {
				raw = make([]bool, len(cols))
			}
			raw[i] = true
		}
	}
	return raw
}

// convert brings the value that was written last into the client's encoding.
func (w *RowWriter) convert() {
	if k := w.n - 1; k < len(w.raw) && w.raw[k] || w.failed != nil {
		return
	}
	w.buf, w.failed = w.enc.encodeTail(w.buf, w.val+4)
}
