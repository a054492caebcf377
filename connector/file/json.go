package file

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// The JSON decoder goes over each line once, without building a tree: it knows which members are
// needed, checks the syntax of the others and skips them. Objects of one file mostly have the same
// members in the same order, so the decoder remembers the last order and compares the key that
// stands there with the one that it expects, before it looks at the key's letters.

// maxDepth bounds nesting.
const maxDepth = 10_000

// jsonDecoder is the decoder of JSON lines.
type jsonDecoder struct {
	cols *columns
	// slots finds the needed columns by name.
	slots map[string]int
	// expect is the keys of the last line in their order.
	expect []expectedKey
	// stamp says for each slot in which line (a running number) it got a value.
	stamp   []uint64
	line    uint64
	scratch []byte
}

// expectedKey is a key as it stands in a line, with its quotes, and its slot or -1.
type expectedKey struct {
	raw  string
	slot int
}

func newJSONDecoder() *jsonDecoder { return &jsonDecoder{} }

func (d *jsonDecoder) use(c *columns) {
	d.cols = c
	d.slots = make(map[string]int, len(c.slots))
	for i, s := range c.slots {
		d.slots[s.name] = i
	}
	d.expect = d.expect[:0]
	d.stamp = make([]uint64, len(c.slots))
	d.line = 0
}

// decode reads one line.
func (d *jsonDecoder) decode(b []byte, final bool, row int) (int, int64, bool, error) {
	n := bytes.IndexByte(b, '\n')
	lines := int64(1)
	line := b
	switch {
	case n >= 0:
		line = b[:n]
		n++
	case final:
		n = len(b)
		lines = 0
	default:
		return 0, 0, false, errIncomplete
	}
	i := skipBlank(line, 0)
	if i == len(line) {
		return n, lines, false, nil
	}
	if err := d.object(line, i, row); err != nil {
		return 0, 0, false, err
	}
	return n, lines, true, nil
}

// Classes of bytes within strings.
const (
	plainByte = iota
	endByte   // the closing quote
	escapeByte
	controlByte
	wideByte // not ASCII
)

var stringClass = func() (t [256]uint8) {
	for i := range t {
		switch {
		case i == '"':
			t[i] = endByte
		case i == '\\':
			t[i] = escapeByte
		case i < 0x20:
			t[i] = controlByte
		case i >= 0x80:
			t[i] = wideByte
		}
	}
	return t
}()

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// badJSON is the error for a line that breaks at byte i.
func badJSON(b []byte, i int) error {
	e := sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type json")
	if i >= len(b) {
		return e.WithDetail("The input string ended unexpectedly.")
	}
	r, size := utf8.DecodeRune(b[i:])
	if r == utf8.RuneError && size == 1 {
		return e.WithDetail("Byte %d (0x%02x) is unexpected.", i+1, b[i])
	}
	return e.WithDetail("Character %q at byte %d is unexpected.", r, i+1)
}

// object reads the object at b[i:], which is the whole rest of the line.
func (d *jsonDecoder) object(b []byte, i, row int) error {
	if b[i] != '{' {
		end, err := skipValue(b, i, 0)
		if err == nil && skipBlank(b, end) == len(b) {
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "the line is not a JSON object")
		}
		if err == nil {
			err = badJSON(b, skipBlank(b, end))
		}
		return err
	}
	d.line++
	i = skipBlank(b, i+1)
	got := 0
	for nth := 0; ; nth++ {
		if i >= len(b) {
			return badJSON(b, i)
		}
		if b[i] == '}' && nth == 0 {
			i++
			break
		}
		s, end, err := d.key(b, i, nth)
		if err != nil {
			return err
		}
		i = skipBlank(b, end)
		if i >= len(b) || b[i] != ':' {
			return badJSON(b, i)
		}
		i = skipBlank(b, i+1)
		if s < 0 {
			i, err = skipValue(b, i, 0)
		} else {
			if d.stamp[s] == d.line {
				d.cols.slots[s].clearNull(row) // of two members of one name the last counts
			} else {
				d.stamp[s] = d.line
				got++
			}
			i, err = d.value(b, i, &d.cols.slots[s], row)
		}
		if err != nil {
			return err
		}
		if i < len(b) && b[i] == ',' {
			i = skipBlank(b, i+1)
			continue
		}
		i = skipBlank(b, i)
		if i < len(b) && b[i] == ',' {
			i = skipBlank(b, i+1)
			continue
		}
		if i < len(b) && b[i] == '}' {
			i++
			break
		}
		return badJSON(b, i)
	}
	if i = skipBlank(b, i); i != len(b) {
		return badJSON(b, i)
	}
	if got < len(d.stamp) {
		for s, at := range d.stamp {
			if at != d.line {
				d.cols.slots[s].v.SetNull(row)
			}
		}
	}
	return nil
}

// key reads the nth key of the line at b[i:] and gives its slot or -1.
func (d *jsonDecoder) key(b []byte, i, nth int) (s, end int, err error) {
	if nth < len(d.expect) {
		k := &d.expect[nth]
		if end := i + len(k.raw); end <= len(b) && string(b[i:end]) == k.raw {
			return k.slot, end, nil
		}
	}
	if b[i] != '"' {
		return 0, 0, badJSON(b, i)
	}
	end, escaped, err := scanString(b, i)
	if err != nil {
		return 0, 0, err
	}
	name := b[i+1 : end-1]
	if escaped {
		// Names with \u0000 are no column's; they need not be refused.
		if name, err = d.unescape(name, false); err != nil {
			return 0, 0, err
		}
	}
	s, ok := d.slots[string(name)]
	if !ok {
		s = -1
	}
	k := expectedKey{string(b[i:end]), s}
	if nth < len(d.expect) {
		d.expect[nth] = k
	} else if nth == len(d.expect) && nth < 1000 {
		d.expect = append(d.expect, k)
	}
	return s, end, nil
}

// value reads the value at b[i:] into a column and gives its end.
func (d *jsonDecoder) value(b []byte, i int, s *slot, row int) (int, error) {
	if i >= len(b) {
		return 0, badJSON(b, i)
	}
	switch c := b[i]; {
	case c == '"':
		end, escaped, err := scanString(b, i)
		if err != nil {
			return 0, err
		}
		text := b[i+1 : end-1]
		if s.t.Kind == types.Jsonb {
			return end, d.cols.setText(s, row, b[i:end])
		}
		if escaped {
			if text, err = d.unescape(text, true); err != nil {
				return 0, &fieldError{s.name, err}
			}
		}
		return end, d.cols.setText(s, row, text)
	case c == '-' || '0' <= c && c <= '9':
		end, err := skipNumber(b, i)
		if err != nil {
			return 0, err
		}
		switch s.t.Kind {
		case types.Timestamp, types.Timestamptz, types.Date:
			return end, d.cols.setMillis(s, row, b[i:end])
		}
		return end, d.cols.setText(s, row, b[i:end])
	case c == 'n':
		end, err := skipWord(b, i, "null")
		if err == nil {
			s.v.SetNull(row)
		}
		return end, err
	default:
		end, err := skipValue(b, i, 0)
		if err != nil {
			return 0, err
		}
		return end, d.cols.setText(s, row, b[i:end])
	}
}

// scanString gives the end of the string literal at b[i:], behind its quote, and whether it has
// escapes, which are checked.
func scanString(b []byte, i int) (end int, escaped bool, err error) {
	start := i
	wide := false
	for i++; ; i++ {
		for i < len(b) && stringClass[b[i]] == plainByte {
			i++
		}
		if i >= len(b) {
			return 0, false, badJSON(b, i)
		}
		switch stringClass[b[i]] {
		case endByte:
			if wide {
				if err := checkText(b[start:i]); err != nil {
					return 0, false, err
				}
			}
			return i + 1, escaped, nil
		case escapeByte:
			escaped = true
			if i++; i >= len(b) {
				return 0, false, badJSON(b, i)
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i >= len(b) || hexDigit(b[i]) < 0 {
						return 0, false, badJSON(b, i)
					}
				}
			default:
				return 0, false, badJSON(b, i)
			}
		case controlByte:
			return 0, false, badJSON(b, i)
		case wideByte:
			wide = true
		}
	}
}

func hexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// unescape gives the text of the inside of a string literal that scanString has checked. The result is
// valid until the next call. A zero character and a lone surrogate, which text cannot hold, are errors
// if strict.
func (d *jsonDecoder) unescape(b []byte, strict bool) ([]byte, error) {
	out := d.scratch[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(b[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if i+6 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
					pair = utf16.DecodeRune(r, hex4(b[i+3:]))
				}
				if pair != utf8.RuneError {
					i += 6
				} else if strict {
					return nil, sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type json").
						WithDetail("Unicode surrogates must come in pairs, high before low.")
				}
				r = pair
			}
			if r == 0 && strict {
				return nil, sqlerr.Newf(sqlerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
					WithDetail("\\u0000 cannot be converted to text.")
			}
			out = utf8.AppendRune(out, r)
		default: // a quote, a slash or a backslash
			out = append(out, b[i])
		}
	}
	d.scratch = out
	return out, nil
}

func hex4(b []byte) rune {
	r := rune(0)
	for _, c := range b[:4] {
		r = r<<4 | hexDigit(c)
	}
	return r
}

func skipWord(b []byte, i int, word string) (int, error) {
	for k := range len(word) {
		if i+k >= len(b) || b[i+k] != word[k] {
			return 0, badJSON(b, min(i+k, len(b)))
		}
	}
	return i + len(word), nil
}

// skipNumber gives the end of the number at b[i:].
func skipNumber(b []byte, i int) (int, error) {
	digits := func(i int) (int, error) {
		if i >= len(b) || b[i]-'0' > 9 {
			return 0, badJSON(b, i)
		}
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i, nil
	}
	if b[i] == '-' {
		i++
	}
	var err error
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, err = digits(i); err != nil {
		return 0, err
	}
	if i < len(b) && b[i] == '.' {
		if i, err = digits(i + 1); err != nil {
			return 0, err
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i, err = digits(i); err != nil {
			return 0, err
		}
	}
	return i, nil
}

// skipValue checks the value at b[i:] and gives its end.
func skipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return 0, badJSON(b, i)
	}
	switch c := b[i]; c {
	case '"':
		end, _, err := scanString(b, i)
		return end, err
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	case '{', '[':
		if depth == maxDepth {
			return 0, sqlerr.Newf(sqlerr.StatementTooComplex, "JSON is nested more than %d levels deep", maxDepth)
		}
		return skipNested(b, i, depth)
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return skipNumber(b, i)
		}
		return 0, badJSON(b, i)
	}
}

// skipNested is skipValue for objects and arrays.
func skipNested(b []byte, i, depth int) (int, error) {
	isObject := b[i] == '{'
	closing := byte(']')
	if isObject {
		closing = '}'
	}
	i = skipBlank(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1, nil
	}
	for {
		var err error
		if isObject {
			if i >= len(b) || b[i] != '"' {
				return 0, badJSON(b, i)
			}
			if i, _, err = scanString(b, i); err != nil {
				return 0, err
			}
			if i = skipBlank(b, i); i >= len(b) || b[i] != ':' {
				return 0, badJSON(b, i)
			}
			i = skipBlank(b, i+1)
		}
		if i, err = skipValue(b, i, depth+1); err != nil {
			return 0, err
		}
		i = skipBlank(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = skipBlank(b, i+1)
		case i < len(b) && b[i] == closing:
			return i + 1, nil
		default:
			return 0, badJSON(b, i)
		}
	}
}
