package types

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// A jsonb value is kept as its canonical text, which is what Postgres prints: one blank after ':'
// and ',', keys ordered by length and then by bytes, of equal keys the last, numbers as numerics
// with all their digits, strings with the fewest escapes. So output costs nothing, and a value
// has one text but for trailing zeros of numbers; comparing and hashing go by value.
//
// Parsing is one pass that appends the canonical text to a buffer and notes where the members of
// an object lie; only an object whose members come out of order or twice is rewritten.

// maxJSONDepth bounds the nesting, since parsing recurses.
const maxJSONDepth = 6000

// ParseJSON reads JSON text and gives its canonical form. Errors are Postgres's (22P02).
func ParseJSON(s string) (string, error) {
	p := jsonParser{s: s, out: make([]byte, 0, len(s)+len(s)/8)}
	if err := p.next(); err != nil {
		return "", err
	}
	if err := p.value(0); err != nil {
		return "", err
	}
	if p.tok != jtEnd {
		return "", p.unexpected("Expected end of input, but found \"%s\".")
	}
	return string(p.out), nil
}

type jsonToken uint8

const (
	jtEnd jsonToken = iota
	jtPunct
	jtString
	jtNumber
	jtTrue
	jtFalse
	jtNull
)

type jsonParser struct {
	s string
	// start and pos delimit the current token.
	start, pos int
	tok        jsonToken
	// esc says that the current string token has an escape or a byte that needs one.
	esc bool
	out []byte
	// raw: for the json type, which keeps its text: only the syntax is checked.
	raw bool
}

// member is where a member of an object lies in the output.
type member struct{ keyAt, keyEnd, end int }

func jsonError(format string, args ...any) error {
	return sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type json").WithDetail(format, args...)
}

// unexpected makes the error for the current token, which the format quotes.
func (p *jsonParser) unexpected(format string) error {
	if p.tok == jtEnd {
		return jsonError("The input string ended unexpectedly.")
	}
	return jsonError(format, p.s[p.start:p.pos])
}

func (p *jsonParser) next() error {
	i := p.pos
	for i < len(p.s) && (p.s[i] == ' ' || p.s[i] == '\t' || p.s[i] == '\n' || p.s[i] == '\r') {
		i++
	}
	p.start = i
	if i >= len(p.s) {
		p.pos, p.tok = i, jtEnd
		return nil
	}
	switch c := p.s[i]; {
	case c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':':
		p.pos, p.tok = i+1, jtPunct
		return nil
	case c == '"':
		p.tok = jtString
		return p.lexString()
	case c == '-' || isDigit(c):
		p.tok = jtNumber
		return p.lexNumber()
	}
	for i < len(p.s) && jsonWordChar(p.s[i]) {
		i++
	}
	if i == p.start {
		_, n := utf8.DecodeRuneInString(p.s[i:])
		return jsonError("Token \"%s\" is invalid.", p.s[i:i+n])
	}
	p.pos = i
	switch p.s[p.start:i] {
	case "true":
		p.tok = jtTrue
	case "false":
		p.tok = jtFalse
	case "null":
		p.tok = jtNull
	default:
		return jsonError("Token \"%s\" is invalid.", p.s[p.start:i])
	}
	return nil
}

func jsonWordChar(c byte) bool { return isAlpha(c) || isDigit(c) || c == '_' || c >= 0x80 }

func (p *jsonParser) lexNumber() error {
	i, bad := p.start, false
	digits := func() {
		j := i
		for i < len(p.s) && isDigit(p.s[i]) {
			i++
		}
		bad = bad || i == j
	}
	if p.s[i] == '-' {
		i++
	}
	if i < len(p.s) && p.s[i] == '0' {
		i++
	} else {
		digits()
	}
	if i < len(p.s) && p.s[i] == '.' {
		i++
		digits()
	}
	if i < len(p.s) && p.s[i]|0x20 == 'e' {
		i++
		if i < len(p.s) && (p.s[i] == '+' || p.s[i] == '-') {
			i++
		}
		digits()
	}
	for i < len(p.s) && jsonWordChar(p.s[i]) {
		i++
		bad = true
	}
	p.pos = i
	if bad {
		return jsonError("Token \"%s\" is invalid.", p.s[p.start:i])
	}
	return nil
}

// lexString finds the end of a string and checks its characters, not its escapes.
func (p *jsonParser) lexString() error {
	p.esc = false
	for i := p.start + 1; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			p.pos = i + 1
			if p.esc {
				return p.checkEscapes()
			}
			return nil
		case c == '\\':
			p.esc = true
			i++
		case c < ' ':
			return jsonError("Character with value 0x%02x must be escaped.", c)
		}
	}
	if p.esc {
		p.pos = len(p.s)
		if err := p.checkEscapes(); err != nil {
			return err
		}
	}
	return jsonError("Token \"%s\" is invalid.", p.s[p.start:])
}

// checkEscapes reports the first wrong escape of the current string token.
func (p *jsonParser) checkEscapes() error {
	if p.raw {
		return checkEscapeForms(p.s[p.start+1 : p.pos])
	}
	_, err := unescapeJSON(nil, p.s[p.start+1:p.pos])
	return err
}

// unescapeJSON appends the characters of the inside of a JSON string; it stops at a bare quote.
func unescapeJSON(dst []byte, s string) ([]byte, error) {
	high := rune(-1)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			break
		}
		if c != '\\' {
			if high >= 0 {
				return nil, jsonError("Unicode low surrogate must follow a high surrogate.")
			}
			dst = append(dst, c)
			continue
		}
		i++
		if i >= len(s) {
			break
		}
		if s[i] != 'u' {
			if high >= 0 {
				return nil, jsonError("Unicode low surrogate must follow a high surrogate.")
			}
			k := strings.IndexByte(`"\/bfnrt`, s[i])
			if k < 0 {
				_, n := utf8.DecodeRuneInString(s[i:])
				return nil, jsonError("Escape sequence \"\\%s\" is invalid.", s[i:i+n])
			}
			dst = append(dst, "\"\\/\b\f\n\r\t"[k])
			continue
		}
		r := rune(0)
		for range 4 {
			i++
			v, ok := byte(0), false
			if i < len(s) {
				v, ok = unhex(s[i])
			}
			if !ok {
				return nil, jsonError("\"\\u\" must be followed by four hexadecimal digits.")
			}
			r = r<<4 | rune(v)
		}
		switch {
		case r >= 0xd800 && r < 0xdc00:
			if high >= 0 {
				return nil, jsonError("Unicode high surrogate must not follow a high surrogate.")
			}
			high = r
			continue
		case r >= 0xdc00 && r < 0xe000:
			if high < 0 {
				return nil, jsonError("Unicode low surrogate must follow a high surrogate.")
			}
			r = 0x10000 + (high-0xd800)<<10 + r - 0xdc00
			high = -1
		case high >= 0:
			return nil, jsonError("Unicode low surrogate must follow a high surrogate.")
		case r == 0:
			return nil, sqlerr.Newf(sqlerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
				WithDetail("\\u0000 cannot be converted to text.")
		}
		dst = utf8.AppendRune(dst, r)
	}
	if high >= 0 {
		return nil, jsonError("Unicode low surrogate must follow a high surrogate.")
	}
	return dst, nil
}

// AppendJSONString appends s as a JSON string with the escapes that jsonb prints.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// str appends the current string token and moves on.
func (p *jsonParser) str() error {
	switch {
	case p.raw:
	case p.esc:
		raw, err := unescapeJSON(nil, p.s[p.start+1:p.pos-1])
		if err != nil {
			return err
		}
		p.out = AppendJSONString(p.out, string(raw))
	default:
		p.out = append(p.out, p.s[p.start:p.pos]...)
	}
	return p.next()
}

func (p *jsonParser) value(depth int) error {
	if depth > maxJSONDepth {
		return sqlerr.Newf(sqlerr.StatementTooComplex, "stack depth limit exceeded")
	}
	switch p.tok {
	case jtString:
		return p.str()
	case jtNumber:
		if err := p.number(); err != nil {
			return err
		}
		return p.next()
	case jtTrue, jtFalse, jtNull:
		p.out = append(p.out, p.s[p.start:p.pos]...)
		return p.next()
	case jtPunct:
		switch p.s[p.start] {
		case '{':
			return p.object(depth)
		case '[':
			return p.array(depth)
		}
	}
	return p.unexpected("Expected JSON value, but found \"%s\".")
}

// number appends a number as numeric prints it; plain ones are that already.
func (p *jsonParser) number() error {
	text := p.s[p.start:p.pos]
	if p.raw {
		return nil
	}
	if !strings.ContainsAny(text, "eE") && text[0] != '-' && len(text) < 1000 {
		p.out = append(p.out, text...)
		return nil
	}
	d, err := ParseDecimal(text)
	if err != nil {
		return err
	}
	p.out = d.AppendText(p.out)
	return nil
}

// punct says whether the current token is the punctuation c.
func (p *jsonParser) punct(c byte) bool { return p.tok == jtPunct && p.s[p.start] == c }

func (p *jsonParser) array(depth int) error {
	p.out = append(p.out, '[')
	if err := p.next(); err != nil {
		return err
	}
	if p.punct(']') {
		p.out = append(p.out, ']')
		return p.next()
	}
	for {
		if err := p.value(depth + 1); err != nil {
			return err
		}
		switch {
		case p.punct(','):
			p.out = append(p.out, ", "...)
		case p.punct(']'):
			p.out = append(p.out, ']')
			return p.next()
		default:
			return p.unexpected("Expected \",\" or \"]\", but found \"%s\".")
		}
		if err := p.next(); err != nil {
			return err
		}
	}
}

func (p *jsonParser) object(depth int) error {
	begin := len(p.out)
	p.out = append(p.out, '{')
	if err := p.next(); err != nil {
		return err
	}
	if p.punct('}') {
		p.out = append(p.out, '}')
		return p.next()
	}
	if p.tok != jtString {
		return p.unexpected("Expected string or \"}\", but found \"%s\".")
	}
	var few [16]member
	members := few[:0]
	ordered := true
	for {
		if p.tok != jtString {
			return p.unexpected("Expected string, but found \"%s\".")
		}
		m := member{keyAt: len(p.out)}
		if err := p.str(); err != nil {
			return err
		}
		m.keyEnd = len(p.out)
		if !p.punct(':') {
			return p.unexpected("Expected \":\", but found \"%s\".")
		}
		p.out = append(p.out, ": "...)
		if err := p.next(); err != nil {
			return err
		}
		if err := p.value(depth + 1); err != nil {
			return err
		}
		m.end = len(p.out)
		if n := len(members); n > 0 && ordered {
			ordered = compareJSONKeys(p.out[members[n-1].keyAt:members[n-1].keyEnd], p.out[m.keyAt:m.keyEnd]) < 0
		}
		members = append(members, m)
		if p.punct('}') {
			break
		}
		if !p.punct(',') {
			return p.unexpected("Expected \",\" or \"}\", but found \"%s\".")
		}
		p.out = append(p.out, ", "...)
		if err := p.next(); err != nil {
			return err
		}
	}
	if !ordered && !p.raw {
		p.out = orderMembers(p.out, begin, members)
	}
	p.out = append(p.out, '}')
	return p.next()
}

// orderMembers rewrites the object that starts at begin with its members in order, and of members
// with one key the last.
func orderMembers(out []byte, begin int, members []member) []byte {
	cmp := func(a, b member) int {
		return compareJSONKeys(out[a.keyAt:a.keyEnd], out[b.keyAt:b.keyEnd])
	}
	if len(members) > 32 {
		slices.SortStableFunc(members, cmp)
	} else {
		// By insertion: objects are small, and mostly in order.
		for i := 1; i < len(members); i++ {
			for j := i; j > 0 && cmp(members[j-1], members[j]) > 0; j-- {
				members[j-1], members[j] = members[j], members[j-1]
			}
		}
	}
	body := append([]byte(nil), out[begin:]...)
	out = append(out[:begin], '{')
	first := true
	for i, m := range members {
		if i+1 < len(members) {
			n := members[i+1]
			if bytes.Equal(body[m.keyAt-begin:m.keyEnd-begin], body[n.keyAt-begin:n.keyEnd-begin]) {
				continue
			}
		}
		if !first {
			out = append(out, ", "...)
		}
		first = false
		out = append(out, body[m.keyAt-begin:m.end-begin]...)
	}
	return out
}
