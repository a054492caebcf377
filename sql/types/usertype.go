package types

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Types that users make have a Kind of their own, made of their oid: an enum's has enumBit, that of a composite type,
// which may be the row type of a relation, compositeBit. The oid of the array over a type follows from its own, so that
// oids are stable and nothing needs to be looked up to tell a client what it gets. A domain has no kind: its values are
// those of its base type.
//
// What a type is called, which labels and which attributes it has is in the catalog and comes by Env.Types.
//
// The value of an enum is the position of its label, an integer. The labels of a new enum are EnumGap apart; one that is added
// between two gets the middle. So values compare, hash, and sort in stored keys as integers, and adding or
// renaming a label changes no value.
const (
	enumBit      Kind = 1 << 30
	compositeBit Kind = 1 << 31
	oidMask      Kind = 1<<30 - 1

	// ArrayOIDBit makes the oid of the array over a type of the type's oid.
	ArrayOIDBit uint32 = 1 << 28
	// RowOIDBit makes the oid of a relation's row type of the relation's oid.
	RowOIDBit uint32 = 1 << 29
)

// EnumGap is how far the labels of a new enum are apart.
const EnumGap int64 = 1 << 40

// EnumKind gives the kind of the enum with an oid.
func EnumKind(oid uint32) Kind { return enumBit | Kind(oid) }

// CompositeKind gives the kind of the composite type with an oid.
func CompositeKind(oid uint32) Kind { return compositeBit | Kind(oid) }

// IsEnum says whether k is an enum.
func (k Kind) IsEnum() bool { return k&enumBit != 0 }

// IsComposite says whether k is a composite type, not the anonymous Record.
func (k Kind) IsComposite() bool { return k&compositeBit != 0 }

// IsUser says whether k is that of a type that somebody made.
func (k Kind) IsUser() bool { return k >= enumBit }

// IsRow says whether values of k are rows: composite types and Record.
func (k Kind) IsRow() bool { return k == Record || k.IsComposite() }

// UserKind gives the kind of the enum or composite type that has values of t, or is the element of an array; 0 if t is
// none of them.
func (t Type) UserKind() Kind {
	switch {
	case t.Kind.IsUser():
		return t.Kind
	case t.Kind == Array && t.Elem.IsUser():
		return t.Elem
	}
	return Unknown
}

var (
	enumInfo      = kindInfo{len: 4, category: 'E', align: 'i'}
	compositeInfo = kindInfo{len: -1, category: 'C', align: 'd'}
)

// info is what the catalogs say of a kind, without names and oids if it is a user's.
func (k Kind) info() *kindInfo {
	switch {
	case k.IsEnum():
		return &enumInfo
	case k.IsComposite():
		return &compositeInfo
	}
	return &kinds[k]
}

// UserType describes an enum or a composite type. It does not change.
type UserType struct {
	Kind Kind
	// Schema and Name are its name.
	Schema, Name string
	// Labels are those of an enum, in their order.
	Labels []EnumLabel
	// Attrs are the columns of a composite type.
	Attrs []Attr
}

// EnumLabel is a value of an enum.
type EnumLabel struct {
	OID uint32
	// Name is its text.
	Name string
	// Pos is its position, which is the value as it is stored; labels are in the order of their positions.
	Pos int64
}

// Attr is a column of a composite type.
type Attr struct {
	Name string
	Type Type
}

// UserTypes knows the types that users made.
type UserTypes interface {
	// UserType describes a type; nil if there is none of that kind.
	UserType(k Kind) *UserType
	// UserTypeByOID finds a type by its oid; nil if there is none.
	UserTypeByOID(oid uint32) *UserType
	// UserTypeName is the name of a type as format_type gives it, qualified and quoted where that is needed.
	UserTypeName(k Kind) string
}

// Label gives the text of a position, and false if there is no label.
func (t *UserType) Label(pos int64) (string, bool) {
	lo, hi := 0, len(t.Labels)
	for lo < hi {
		mid := (lo + hi) / 2
		if t.Labels[mid].Pos < pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(t.Labels) && t.Labels[lo].Pos == pos {
		return t.Labels[lo].Name, true
	}
	return "", false
}

// Position gives the position of a label, and false if there is none.
func (t *UserType) Position(label string) (int64, bool) {
	for i := range t.Labels {
		if t.Labels[i].Name == label {
			return t.Labels[i].Pos, true
		}
	}
	return 0, false
}

func (e *Env) userType(k Kind) *UserType {
	if e == nil || e.Types == nil {
		return nil
	}
	return e.Types.UserType(k)
}

// fieldNames gives the names of the n fields of values of a composite type, f1, f2 and so on if the type is not known.
func (e *Env) fieldNames(k Kind, n int) []string {
	names := make([]string, n)
	u := e.userType(k)
	for i := range names {
		if names[i] = "f" + strconv.Itoa(i+1); u != nil && i < len(u.Attrs) {
			names[i] = u.Attrs[i].Name
		}
	}
	return names
}

// TypeByOID is TypeByOID that knows the types of users.
func (e *Env) TypeByOID(oid uint32) (Type, bool) {
	if t, ok := TypeByOID(oid, -1); ok {
		return t, true
	}
	if e == nil || e.Types == nil {
		return Type{}, false
	}
	if u := e.Types.UserTypeByOID(oid); u != nil {
		return T(u.Kind), true
	}
	if oid&ArrayOIDBit != 0 {
		if u := e.Types.UserTypeByOID(oid &^ ArrayOIDBit); u != nil {
			return ArrayOf(u.Kind), true
		}
	}
	return Type{}, false
}

// userKindByte begins the stored form of the kind of a user's type; four bytes follow. All others are one byte.
const userKindByte = 0xff

// AppendKind appends the stored form of a kind: a byte, five for types of users.
func AppendKind(dst []byte, k Kind) []byte { return appendKind(dst, k) }

func appendKind(dst []byte, k Kind) []byte {
	if k.IsUser() {
		return binary.BigEndian.AppendUint32(append(dst, userKindByte), uint32(k))
	}
	return append(dst, byte(k))
}

// CutKind reads what AppendKind wrote at the start of s and gives the rest.
func CutKind(s string) (k Kind, rest string, ok bool) { return cutKind(s) }

func cutKind(s string) (k Kind, rest string, ok bool) {
	switch {
	case s == "":
		return 0, "", false
	case int(s[0]) < NumKinds:
		return Kind(s[0]), s[1:], true
	case s[0] != userKindByte || len(s) < 5:
		return 0, "", false
	}
	k = Kind(s[1])<<24 | Kind(s[2])<<16 | Kind(s[3])<<8 | Kind(s[4])
	return k, s[5:], k.IsUser()
}

// The names of users' types are not known everywhere where a message names a type, and their labels not everywhere where it
// has a value. There a mark stands for them, which ResolveMarks replaces before anybody sees the text.
const (
	markStart, markEnd = '\x02', '\x03'

	markType  = 't' // the name as format_type gives it
	markName  = 'n' // the bare name
	markLabel = 'v' // the text of an enum's value
)

func nameMark(what byte, k Kind) string {
	return string(markStart) + string(what) + strconv.FormatUint(uint64(k), 10) + string(markEnd)
}

// ResolveMarks puts names and labels where String, Name and the text of values without an Env put marks.
func ResolveMarks(s string, known UserTypes) string {
	if strings.IndexByte(s, markStart) < 0 || known == nil {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, markStart)
		n := -1
		if i >= 0 {
			n = strings.IndexByte(s[i:], markEnd)
		}
		if n < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		mark := s[i : i+n+1]
		if text, ok := resolveMark(mark[1:n], known); ok {
			b.WriteString(text)
		} else {
			b.WriteString(mark[:1])
			n = 0
		}
		s = s[i+n+1:]
	}
}

func resolveMark(mark string, known UserTypes) (string, bool) {
	if mark == "" {
		return "", false
	}
	num, value, _ := strings.Cut(mark[1:], ":")
	k, err := strconv.ParseUint(num, 10, 32)
	if err != nil {
		return "", false
	}
	u := known.UserType(Kind(k))
	if u == nil {
		return "???", true
	}
	switch mark[0] {
	case markType:
		return known.UserTypeName(u.Kind), true
	case markName:
		return u.Name, true
	case markLabel:
		pos, err := strconv.ParseInt(value, 10, 64)
		if label, ok := u.Label(pos); ok && err == nil {
			return label, true
		}
		return value, true
	}
	return "", false
}

// appendEnum appends the label of a value.
func appendEnum(dst []byte, k Kind, pos int64, env *Env) []byte {
	if u := env.userType(k); u != nil {
		if label, ok := u.Label(pos); ok {
			return append(dst, label...)
		}
		return strconv.AppendInt(dst, pos, 10)
	}
	dst = append(dst, markStart, markLabel)
	dst = strconv.AppendUint(dst, uint64(k), 10)
	dst = strconv.AppendInt(append(dst, ':'), pos, 10)
	return append(dst, markEnd)
}

func parseUserText(t Type, s string, env *Env) (Datum, error) {
	u := env.userType(t.Kind)
	if u == nil {
		return Null, sqlerr.Newf(sqlerr.UndefinedObject, "type with OID %d does not exist", t.Kind.OID())
	}
	if t.Kind.IsComposite() {
		return parseComposite(u, s, env)
	}
	pos, ok := u.Position(s)
	if !ok {
		if err := checkUTF8(s); err != nil {
			return Null, err
		}
		return Null, sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input value for enum %s: \"%s\"", u.Name, s)
	}
	return DInt(pos), nil
}

func parseUserBinary(t Type, b []byte, env *Env) (Datum, error) {
	if t.Kind.IsEnum() {
		return parseUserText(t, string(b), env)
	}
	u := env.userType(t.Kind)
	if u == nil {
		return Null, sqlerr.Newf(sqlerr.UndefinedObject, "type with OID %d does not exist", t.Kind.OID())
	}
	be := binary.BigEndian
	if len(b) < 4 {
		return Null, shortBinary()
	}
	n := int(int32(be.Uint32(b)))
	b = b[4:]
	if n != len(u.Attrs) {
		return Null, sqlerr.Newf(sqlerr.DatatypeMismatch, "wrong number of columns: %d, expected %d", n, len(u.Attrs))
	}
	vals := make([]Datum, n)
	for i, a := range u.Attrs {
		if len(b) < 8 {
			return Null, shortBinary()
		}
		if oid := be.Uint32(b); oid != a.Type.OID() {
			return Null, sqlerr.Newf(sqlerr.DatatypeMismatch, "binary data has type %d (%s) instead of expected %d (%s) in record column %d",
				oid, env.oidName(oid), a.Type.OID(), a.Type, i+1)
		}
		d, rest, err := env.parseSizedBinary(a.Type, b[4:])
		if err != nil {
			return Null, err
		}
		vals[i], b = d, rest
	}
	if len(b) != 0 {
		return Null, badBinary()
	}
	return DStr(u.Row(vals)), nil
}

// Row gives the value of a composite type with these fields.
func (t *UserType) Row(vals []Datum) string {
	ts := make([]Type, len(t.Attrs))
	for i, a := range t.Attrs {
		ts[i] = a.Type
	}
	return EncodeRecord(ts, vals)
}

func malformedRecord(s, detail string) error {
	return sqlerr.Newf(sqlerr.InvalidTextRepresentation, "malformed record literal: \"%s\"", s).WithDetail("%s", detail)
}

// parseComposite reads "(1,\"a b\",)": a field without any character is NULL.
func parseComposite(u *UserType, s string, env *Env) (Datum, error) {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	if i >= len(s) || s[i] != '(' {
		return Null, malformedRecord(s, "Missing left parenthesis.")
	}
	i++
	vals := make([]Datum, len(u.Attrs))
	var field []byte
	for k, a := range u.Attrs {
		if k > 0 {
			if i >= len(s) || s[i] != ',' {
				return Null, malformedRecord(s, "Too few columns.")
			}
			i++
		}
		if i < len(s) && (s[i] == ',' || s[i] == ')') {
			continue
		}
		field = field[:0]
		for quoted := false; ; i++ {
			if i >= len(s) {
				return Null, malformedRecord(s, "Unexpected end of input.")
			}
			c := s[i]
			if !quoted && (c == ',' || c == ')') {
				break
			}
			switch {
			case c == '\\':
				if i++; i >= len(s) {
					return Null, malformedRecord(s, "Unexpected end of input.")
				}
				field = append(field, s[i])
			case c != '"':
				field = append(field, c)
			case quoted && i+1 < len(s) && s[i+1] == '"':
				i++
				field = append(field, '"')
			default:
				quoted = !quoted
			}
		}
		d, err := ParseText(a.Type, string(field), env)
		if err != nil {
			return Null, err
		}
		vals[k] = d
	}
	if len(u.Attrs) == 0 && i < len(s) && s[i] != ')' || i < len(s) && s[i] == ',' {
		return Null, malformedRecord(s, "Too many columns.")
	}
	if i >= len(s) {
		return Null, malformedRecord(s, "Unexpected end of input.")
	}
	for i++; i < len(s) && isSpace(s[i]); i++ {
	}
	if i < len(s) {
		return Null, malformedRecord(s, "Junk after right parenthesis.")
	}
	return DStr(u.Row(vals)), nil
}

// DomainViolation is the error of a value that a domain refuses; without the name of a constraint, because it is NULL.
func DomainViolation(domain, constraint string) *sqlerr.Error {
	if constraint == "" {
		return sqlerr.Newf(sqlerr.NotNullViolation, "domain %s does not allow null values", domain)
	}
	e := sqlerr.Newf(sqlerr.CheckViolation, "value for domain %s violates check constraint \"%s\"", domain, constraint)
	e.Constraint = constraint
	return e
}
