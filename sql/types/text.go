package types

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Env is what text input and output of values depends on besides the value and the type. A nil
// *Env means UTC, month before day, time 0.
type Env struct {
	// TimeZone is the session's zone; nil is UTC.
	TimeZone *time.Location
	// Now is the current time that 'now' and 'today' mean, as a timestamptz.
	Now int64
	// DateOrder reads ambiguous dates.
	DateOrder DateOrder
	// DateStyle and IntervalStyle are how values are written; IntervalSQL also reads signs in its way.
	DateStyle     DateStyle
	IntervalStyle IntervalStyle
	// Names resolves the names of reg* types; nil knows types only.
	Names ObjectNames
	// Types describes the types that users made; nil knows none.
	Types UserTypes
}

// ObjectNames translates between catalog objects and their oids for the reg* types. Names come as
// written, possibly quoted and qualified.
type ObjectNames interface {
	// ObjectOID gives the oid of the named object of a reg* kind.
	ObjectOID(k Kind, name string) (oid uint32, err error)
	// ObjectName gives the text of an oid, and false if there is no such object.
	ObjectName(k Kind, oid uint32) (name string, ok bool)
}

func (e *Env) zone() *time.Location {
	if e == nil || e.TimeZone == nil {
		return time.UTC
	}
	return e.TimeZone
}

func (e *Env) now() int64 {
	if e == nil {
		return 0
	}
	return e.Now
}

func (e *Env) order() DateOrder {
	if e == nil {
		return MDY
	}
	return e.DateOrder
}

// ParseText reads a value of t from its text form, as a literal, COPY or a parameter gives it, and
// applies the type's modifier as an implicit cast would: text that is too long for varchar(n) is
// an error. Errors are Postgres's.
func ParseText(t Type, s string, env *Env) (Datum, error) {
	d, err := parseText(t, s, env)
	if err != nil || t.Mod < 0 || t.Kind == Array {
		return d, err
	}
	return ApplyTypmod(t, d, false)
}

// parseText is ParseText without the modifier, except for what the fields of an interval mean.
func parseText(t Type, s string, env *Env) (Datum, error) {
	switch t.Kind {
	case Bool:
		b, err := ParseBool(s)
		return DBool(b), err
	case Int2:
		return intDatum(parseInt(s, 16, Int2))
	case Int4:
		return intDatum(parseInt(s, 32, Int4))
	case Int8:
		return intDatum(parseInt(s, 64, Int8))
	case Oid, Xid:
		return intDatum(parseOid(s))
	case Regclass, Regtype, Regproc, Regnamespace, Regrole:
		return intDatum(parseReg(t.Kind, s, env))
	case Float4, Float8:
		f, err := parseFloat(s, int(kinds[t.Kind].len)*8)
		if err != nil {
			return Null, err
		}
		return DFloat(f), nil
	case Numeric:
		d, err := ParseDecimal(s)
		if err != nil {
			return Null, err
		}
		return DDec(d), nil
	case Text, Varchar, Char, Unknown, NodeTree, Aclitem, Inet:
		if err := checkUTF8(s); err != nil {
			return Null, err
		}
		return DStr(s), nil
	case Name:
		if err := checkUTF8(s); err != nil {
			return Null, err
		}
		return DStr(clipName(s)), nil
	case QChar:
		return DStr(parseQChar(s)), nil
	case Bytea:
		b, err := ParseBytea(s)
		if err != nil {
			return Null, err
		}
		return DStr(b), nil
	case Date:
		return intDatum(ParseDate(s, env))
	case Time:
		return intDatum(ParseTime(s, env))
	case Timestamp:
		return intDatum(ParseTimestamp(s, env))
	case Timestamptz:
		return intDatum(ParseTimestamptz(s, env))
	case Interval:
		v, err := ParseInterval(s, t)
		if err != nil {
			return Null, err
		}
		if env != nil && env.IntervalStyle == IntervalSQL {
			v = negateSQL(s, v)
		}
		return DSpan(v), nil
	case UUID:
		u, err := ParseUUID(s)
		if err != nil {
			return Null, err
		}
		return DStr(u), nil
	case Json:
		if err := checkUTF8(s); err != nil {
			return Null, err
		}
		return DStr(s), CheckJSON(s)
	case Jsonpath:
		p, err := ParseJSONPath(s)
		if err != nil {
			return Null, err
		}
		return DStr(p.String()), nil
	case Jsonb:
		j, err := ParseJSON(s)
		if err != nil {
			return Null, err
		}
		return DStr(j), nil
	case Array:
		if t.IsVector() {
			return parseVector(t, s, env)
		}
		return ParseArrayText(t, s, env)
	case Void:
		return DStr(""), nil
	case Record:
		return Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "input of anonymous composite types is not implemented")
	}
	if t.Kind.IsUser() {
		return parseUserText(t, s, env)
	}
	return Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot accept a value of type %s", t.Kind.Name())
}

func intDatum(v int64, err error) (Datum, error) {
	if err != nil {
		return Null, err
	}
	return DInt(v), nil
}

// AppendText appends the text form of a value that is not NULL, as Postgres prints it. Dates, times and intervals are in the
// styles of env.
func AppendText(dst []byte, t Type, d Datum, env *Env) []byte {
	switch t.Kind {
	case Bool:
		if d.I != 0 {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case Int2, Int4, Int8, Oid, Xid:
		return appendInt(dst, d.I)
	case Regclass, Regtype, Regproc, Regnamespace, Regrole:
		return appendReg(dst, t.Kind, uint32(d.I), env)
	case Float4:
		return AppendFloat(dst, d.F, 32)
	case Float8:
		return AppendFloat(dst, d.F, 64)
	case Numeric:
		return d.Dec.AppendText(dst)
	case Date:
		if out, ok := appendStyled(dst, t, d, env); ok {
			return out
		}
		return AppendDate(dst, d.I)
	case Time:
		return AppendTime(dst, d.I)
	case Timestamp:
		if out, ok := appendStyled(dst, t, d, env); ok {
			return out
		}
		return AppendTimestamp(dst, d.I)
	case Timestamptz:
		if out, ok := appendStyled(dst, t, d, env); ok {
			return out
		}
		return AppendTimestamptz(dst, d.I, env.zone())
	case Interval:
		if out, ok := appendStyled(dst, t, d, env); ok {
			return out
		}
		return AppendInterval(dst, d.Span)
	case Bytea:
		return appendHex(append(dst, '\\', 'x'), d.S)
	case UUID:
		return AppendUUID(dst, d.S)
	case Array:
		if t.IsVector() {
			return appendVectorText(dst, t, d.S, env)
		}
		return appendArrayText(dst, t, d.S, env)
	case Record:
		return appendRecordText(dst, d.S, env)
	case QChar:
		return appendQChar(dst, d.S)
	}
	switch {
	case t.Kind.IsEnum():
		return appendEnum(dst, t.Kind, d.I, env)
	case t.Kind.IsComposite():
		return appendRecordText(dst, d.S, env)
	}
	return append(dst, d.S...)
}

// Format gives the text form of a value that is not NULL.
func Format(t Type, d Datum, env *Env) string {
	switch t.Kind {
	case Text, Varchar, Char, Name, Jsonb, Json, Jsonpath, Aclitem, NodeTree, Inet, Unknown:
		return d.S
	}
	var buf [64]byte
	return string(AppendText(buf[:0], t, d, env))
}

// ParseBool reads a boolean: true, false, yes, no, on, off, 1, 0 or an unambiguous beginning of
// one, in any case, with blanks around.
func ParseBool(s string) (bool, error) {
	t := strings.ToLower(trimSpace(s))
	switch n := len(t); {
	case n == 0:
	case t == "1":
		return true, nil
	case t == "0":
		return false, nil
	case n <= 4 && "true"[:n] == t, n <= 3 && "yes"[:n] == t, t == "on":
		return true, nil
	case n <= 5 && "false"[:n] == t, n <= 2 && "no"[:n] == t, n >= 2 && n <= 3 && "off"[:n] == t:
		return false, nil
	}
	return false, invalidSyntax("boolean", s)
}

func checkUTF8(s string) error {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return nil
	}
	b := []byte{0}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				b = []byte(s[i : i+min(badSeqLen(s[i]), len(s)-i)])
				break
			}
		} else if r == 0 {
			break
		}
	}
	msg := make([]byte, 0, 32)
	for i, c := range b {
		if i > 0 {
			msg = append(msg, ' ')
		}
		msg = appendHex(append(msg, "0x"...), string([]byte{c}))
	}
	return sqlerr.Newf(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": %s", msg)
}

// badSeqLen is how many bytes a sequence that starts with c would have.
func badSeqLen(c byte) int {
	switch {
	case c&0xe0 == 0xc0:
		return 2
	case c&0xf0 == 0xe0:
		return 3
	case c&0xf8 == 0xf0:
		return 4
	}
	return 1
}

// clipName cuts an identifier to 63 bytes at a character boundary.
func clipName(s string) string {
	if len(s) < 64 {
		return s
	}
	n := 63
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func parseQChar(s string) string {
	if len(s) == 4 && s[0] == '\\' && isOctal(s[1]) && isOctal(s[2]) && isOctal(s[3]) {
		c := (s[1]-'0')<<6 | (s[2]-'0')<<3 | (s[3] - '0')
		if c == 0 {
			return ""
		}
		return string([]byte{c})
	}
	if s == "" || s[0] == 0 {
		return ""
	}
	return s[:1]
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func appendQChar(dst []byte, s string) []byte {
	if s == "" || s[0] == 0 {
		return dst
	}
	if c := s[0]; c >= 0x80 {
		return append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
	}
	return append(dst, s[0])
}

const hexDigits = "0123456789abcdef"

func appendHex(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = append(dst, hexDigits[s[i]>>4], hexDigits[s[i]&15])
	}
	return dst
}

func unhex(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// ParseBytea reads a bytea in hexadecimal (\x...) or escape form.
func ParseBytea(s string) (string, error) {
	if strings.HasPrefix(s, `\x`) {
		return parseByteaHex(s[2:])
	}
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		switch {
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
		case i+1 < len(s) && s[i+1] == '\\':
			b.WriteByte('\\')
			i++
		default:
			return "", sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return b.String(), nil
}

func parseByteaHex(s string) (string, error) {
	b := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			continue
		}
		hi, err := hexDigit(s, i)
		if err != nil {
			return "", err
		}
		i++
		if i >= len(s) {
			return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		lo, err := hexDigit(s, i)
		if err != nil {
			return "", err
		}
		b = append(b, hi<<4|lo)
	}
	return string(b), nil
}

func hexDigit(s string, i int) (byte, error) {
	v, ok := unhex(s[i])
	if ok {
		return v, nil
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", s[i:i+n])
}

// ParseUUID reads a uuid in any of Postgres's forms: 32 hexadecimal digits, hyphens after any
// group of four, optional braces. The result is the 16 bytes.
func ParseUUID(s string) (string, error) {
	t := s
	if strings.HasPrefix(t, "{") {
		if !strings.HasSuffix(t, "}") {
			return "", invalidSyntax("uuid", s)
		}
		t = t[1 : len(t)-1]
	}
	var out [16]byte
	for i := range out {
		if i > 0 && i%2 == 0 && t != "" && t[0] == '-' {
			t = t[1:]
		}
		if len(t) < 2 {
			return "", invalidSyntax("uuid", s)
		}
		hi, ok1 := unhex(t[0])
		lo, ok2 := unhex(t[1])
		if !ok1 || !ok2 {
			return "", invalidSyntax("uuid", s)
		}
		out[i] = hi<<4 | lo
		t = t[2:]
	}
	if t != "" {
		return "", invalidSyntax("uuid", s)
	}
	return string(out[:]), nil
}

// AppendUUID appends the canonical form of 16 bytes.
func AppendUUID(dst []byte, u string) []byte {
	for i := range len(u) {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[u[i]>>4], hexDigits[u[i]&15])
	}
	return dst
}

// parseReg reads a reg* value: a number, "-" for none, or a name.
func parseReg(k Kind, s string, env *Env) (int64, error) {
	if s == "-" {
		return 0, nil
	}
	if isDigits(s) {
		return parseOid(s)
	}
	if env != nil && env.Names != nil {
		oid, err := env.Names.ObjectOID(k, s)
		return int64(oid), err
	}
	switch k {
	case Regtype:
		t, err := FromName(s, nil, "", 0)
		return int64(t.OID()), err
	case Regclass:
		return 0, sqlerr.Newf(sqlerr.UndefinedTable, "relation \"%s\" does not exist", s)
	case Regnamespace:
		return 0, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", s)
	case Regrole:
		return 0, sqlerr.Newf(sqlerr.UndefinedObject, "role \"%s\" does not exist", s)
	}
	return 0, sqlerr.Newf(sqlerr.UndefinedFunction, "function \"%s\" does not exist", s)
}

func appendReg(dst []byte, k Kind, oid uint32, env *Env) []byte {
	if oid == 0 {
		return append(dst, '-')
	}
	if env != nil && env.Names != nil {
		if name, ok := env.Names.ObjectName(k, oid); ok {
			return append(dst, name...)
		}
	}
	if k == Regtype {
		if t, ok := TypeByOID(oid, -1); ok {
			if t.Kind == Char {
				return append(dst, "character"...)
			}
			return append(dst, t.String()...)
		}
	}
	return appendUint(dst, uint64(oid))
}
