package types

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
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
	if p.esc {
		raw, err := unescapeJSON(nil, p.s[p.start+1:p.pos-1])
		if err != nil {
			return err
		}
		p.out = AppendJSONString(p.out, string(raw))
	} else {
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
	if !ordered {
		p.out = orderMembers(p.out, begin, members)
	}
	p.out = append(p.out, '}')
	return p.next()
}

// orderMembers rewrites the object that starts at begin with its members in order, and of members
// with one key the last.
func orderMembers(out []byte, begin int, members []member) []byte {
	sort.SliceStable(members, func(i, j int) bool {
		return compareJSONKeys(out[members[i].keyAt:members[i].keyEnd], out[members[j].keyAt:members[j].keyEnd]) < 0
	})
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

// compareJSONKeys orders two quoted keys as jsonb stores them: shorter first, then bytewise.
func compareJSONKeys[S string | []byte](a, b S) int {
	x, y := jsonUnquote(string(a)), jsonUnquote(string(b))
	if len(x) != len(y) {
		return cmpInt(int64(len(x)), int64(len(y)))
	}
	return strings.Compare(x, y)
}

// jsonUnquote gives the characters of a canonical JSON string.
func jsonUnquote(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1]
	}
	b, err := unescapeJSON(nil, s[1:len(s)-1])
	if err != nil {
		// Cannot happen: canonical text has valid escapes only.
		return s
	}
	return string(b)
}

// jsonSkip gives the offset after the value that starts at i in canonical text.
func jsonSkip(s string, i int) int {
	switch s[i] {
	case '"':
		for i++; i < len(s); i++ {
			if s[i] == '\\' {
				i++
			} else if s[i] == '"' {
				return i + 1
			}
		}
		return i
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				i = jsonSkip(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' {
		i++
	}
	return i
}

// jsonEach calls f with the key (quoted, empty in arrays) and value of each member of an object
// or element of an array until f gives false. Scalars have no members.
func jsonEach(s string, f func(key, value string) bool) {
	if len(s) <= 2 || s[0] != '{' && s[0] != '[' {
		return
	}
	for i := 1; i < len(s); {
		key := ""
		if s[0] == '{' {
			end := jsonSkip(s, i)
			key = s[i:end]
			i = end + 2
		}
		end := jsonSkip(s, i)
		if !f(key, s[i:end]) {
			return
		}
		i = end + 2
	}
}

// jsonLen is the number of members or elements.
func jsonLen(s string) int {
	n := 0
	jsonEach(s, func(_, _ string) bool { n++; return true })
	return n
}

// JSONTypeof gives what jsonb_typeof does: object, array, string, number, boolean or null.
func JSONTypeof(s string) string {
	switch s[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// jsonRank orders the types of JSON values.
func jsonRank(s string) int {
	switch s[0] {
	case 'n':
		return 0
	case '"':
		return 1
	case 't', 'f':
		return 3
	case '[':
		return 4
	case '{':
		return 5
	}
	return 2
}

// CompareJSON orders canonical jsonb values as Postgres does: null, strings, numbers, booleans,
// arrays, objects; containers by size first. An empty array at the top comes before scalars.
func CompareJSON(a, b string) int {
	if a == b {
		return 0
	}
	ra, rb := jsonRank(a), jsonRank(b)
	if ra < 4 && rb == 4 && b == "[]" {
		return 1
	}
	if rb < 4 && ra == 4 && a == "[]" {
		return -1
	}
	return compareJSONValue(a, b)
}

func compareJSONValue(a, b string) int {
	ra, rb := jsonRank(a), jsonRank(b)
	if ra != rb {
		return cmpInt(int64(ra), int64(rb))
	}
	switch ra {
	case 1:
		return strings.Compare(jsonUnquote(a), jsonUnquote(b))
	case 2:
		return jsonNumber(a).Cmp(jsonNumber(b))
	case 3:
		return cmpInt(int64(a[0]), int64(b[0])) // false, true
	case 4, 5:
		if c := cmpInt(int64(jsonLen(a)), int64(jsonLen(b))); c != 0 {
			return c
		}
		var keys, vals []string
		jsonEach(b, func(k, v string) bool {
			keys, vals = append(keys, k), append(vals, v)
			return true
		})
		i, c := 0, 0
		jsonEach(a, func(k, v string) bool {
			if k != keys[i] {
				c = strings.Compare(jsonUnquote(k), jsonUnquote(keys[i]))
			} else {
				c = compareJSONValue(v, vals[i])
			}
			i++
			return c == 0
		})
		return c
	}
	return 0
}

// jsonNumber reads a number of canonical text.
func jsonNumber(s string) Decimal {
	d, err := ParseDecimal(s)
	if err != nil {
		// Cannot happen: canonical numbers are numerics.
		return DecNaN
	}
	return d
}

// HashJSON hashes a canonical jsonb value so that values that compare equal hash equal.
func HashJSON(s string) uint64 {
	switch jsonRank(s) {
	case 2:
		return mix(jsonNumber(s).Hash(), 2)
	case 4, 5:
		h := uint64(s[0])
		jsonEach(s, func(k, v string) bool {
			h = mix(h, HashString(k))
			h = mix(h, HashJSON(v))
			return true
		})
		return h
	}
	return mix(HashString(s), 1)
}

// JSONText gives what ->> gives for a value: the characters of a string, the text of anything
// else; ok is false for null, which becomes NULL.
func JSONText(s string) (string, bool) {
	switch s[0] {
	case '"':
		return jsonUnquote(s), true
	case 'n':
		return "", false
	}
	return s, true
}

// JSONNumber gives the value of a JSON number; ok is false for any other type.
func JSONNumber(s string) (Decimal, bool) {
	if jsonRank(s) != 2 {
		return Decimal{}, false
	}
	return jsonNumber(s), true
}

// JSONFromDatum converts a SQL value as to_jsonb does: NULL to null, numbers and booleans to
// themselves, jsonb unchanged, arrays and records to arrays and objects, all else to a string.
func JSONFromDatum(t Type, d Datum, env *Env) (string, error) {
	b, err := appendJSONDatum(nil, t, d, env)
	return string(b), err
}

func appendJSONDatum(dst []byte, t Type, d Datum, env *Env) ([]byte, error) {
	if !d.Valid {
		return append(dst, "null"...), nil
	}
	switch t.Kind {
	case Bool:
		return strconv.AppendBool(dst, d.I != 0), nil
	case Int2, Int4, Int8:
		return appendInt(dst, d.I), nil
	case Float4, Float8, Numeric:
		text := Format(t, d, env)
		num, err := ParseDecimal(text)
		if err != nil || !num.IsFinite() {
			return AppendJSONString(dst, text), nil
		}
		return num.AppendText(dst), nil
	case Jsonb:
		return append(dst, d.S...), nil
	case Timestamp, Timestamptz:
		text := Format(t, d, env)
		if !IsInfinite(d.I) {
			// JSON dates are ISO 8601 proper: a T, and minutes in every offset.
			text = strings.Replace(text, " ", "T", 1)
			if t.Kind == Timestamptz {
				body, bc := strings.CutSuffix(text, " BC")
				if c := body[len(body)-3]; c == '+' || c == '-' {
					body += ":00"
				}
				if bc {
					body += " BC"
				}
				text = body
			}
		}
		return AppendJSONString(dst, text), nil
	case Array:
		return appendJSONArray(dst, d.S, env)
	case Record:
		ts, vs, err := DecodeRecord(d.S)
		if err != nil {
			return nil, err
		}
		var pairs []string
		for i := range ts {
			v, err := JSONFromDatum(ts[i], vs[i], env)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, fmt.Sprintf("f%d", i+1), v)
		}
		return append(dst, JSONObject(pairs)...), nil
	}
	return AppendJSONString(dst, Format(t, d, env)), nil
}

// JSONObject builds an object from keys (plain) and values (canonical) in turn.
func JSONObject(pairs []string) string {
	out := []byte{'{'}
	members := make([]member, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			out = append(out, ", "...)
		}
		m := member{keyAt: len(out)}
		out = AppendJSONString(out, pairs[i])
		m.keyEnd = len(out)
		out = append(append(out, ": "...), pairs[i+1]...)
		m.end = len(out)
		members = append(members, m)
	}
	return string(append(orderMembers(out, 0, members), '}'))
}

// JSONArray builds an array from canonical values.
func JSONArray(elems []string) string { return "[" + strings.Join(elems, ", ") + "]" }
