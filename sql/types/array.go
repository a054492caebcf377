package types

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// An array value is encoded as: the element kind (a byte; see appendKind), the number of dimensions (a byte),
// for each dimension its length (uvarint) and lower bound (varint), then the elements in
// row-major order as AppendDatum writes them. An empty array has no dimensions. A record is the
// number of fields (uvarint), then for each field kind, element kind (bytes), modifier (varint)
// and value.

// MaxDims is the largest number of dimensions of an array.
const MaxDims = 6

// Dim is one dimension of an array.
type Dim struct {
	Len int
	// Lower is the subscript of the first element, usually 1.
	Lower int
}

// ArrayValue is a decoded array.
type ArrayValue struct {
	Elem Kind
	// Dims is empty for an empty array; else the product of the lengths is len(Elems).
	Dims  []Dim
	Elems []Datum
}

// MakeArray encodes a one-dimensional array with lower bound 1.
func MakeArray(elem Kind, elems []Datum) string {
	a := ArrayValue{Elem: elem, Elems: elems}
	if len(elems) > 0 {
		a.Dims = []Dim{{len(elems), 1}}
	}
	return a.Encode()
}

// Encode gives the array's PhysStr value.
func (a ArrayValue) Encode() string {
	b := append(appendKind(make([]byte, 0, 8+len(a.Elems)*8), a.Elem), byte(len(a.Dims)))
	for _, d := range a.Dims {
		b = binary.AppendUvarint(b, uint64(d.Len))
		b = binary.AppendVarint(b, int64(d.Lower))
	}
	for _, e := range a.Elems {
		b = AppendDatum(b, a.Elem, e)
	}
	return string(b)
}

// arrayHeader reads all but the elements of an encoded array.
func arrayHeader(s string) (elem Kind, dims []Dim, n int, rest string, err error) {
	elem, s, ok := cutKind(s)
	if !ok || s == "" || s[0] > MaxDims {
		return 0, nil, 0, "", errDatumBytes
	}
	nd := int(s[0])
	s = s[1:]
	if nd > 0 {
		n = 1
		dims = make([]Dim, nd)
	}
	for i := range dims {
		l, s1, ok1 := uvarint(s)
		lo, s2, ok2 := varint(s1)
		// Every element takes a byte at least, which bounds the product.
		if !ok1 || !ok2 || l == 0 || l > uint64(len(s)) || !fits32(lo) {
			return 0, nil, 0, "", errDatumBytes
		}
		n *= int(l)
		s = s2
		dims[i] = Dim{int(l), int(lo)}
		if n > len(s) {
			return 0, nil, 0, "", errDatumBytes
		}
	}
	return elem, dims, n, s, nil
}

// DecodeArray decodes an array's PhysStr value.
func DecodeArray(s string) (ArrayValue, error) {
	elem, dims, n, s, err := arrayHeader(s)
	if err != nil {
		return ArrayValue{}, err
	}
	a := ArrayValue{Elem: elem, Dims: dims, Elems: make([]Datum, n)}
	for i := range a.Elems {
		if a.Elems[i], s, err = DecodeDatum(s, elem); err != nil {
			return ArrayValue{}, err
		}
	}
	if s != "" {
		return ArrayValue{}, errDatumBytes
	}
	return a, nil
}

// Index gives the offset in Elems of the element at the subscripts, and false if there is none.
func (a ArrayValue) Index(subs []int) (int, bool) {
	if len(subs) != len(a.Dims) || len(subs) == 0 {
		return 0, false
	}
	at := 0
	for i, d := range a.Dims {
		k := subs[i] - d.Lower
		if k < 0 || k >= d.Len {
			return 0, false
		}
		at = at*d.Len + k
	}
	return at, true
}

// EncodeRecord gives the PhysStr value of a row.
func EncodeRecord(ts []Type, vals []Datum) string {
	b := binary.AppendUvarint(make([]byte, 0, 16+len(vals)*12), uint64(len(vals)))
	for i, v := range vals {
		b = appendKind(appendKind(b, ts[i].Kind), ts[i].Elem)
		b = binary.AppendVarint(b, int64(ts[i].Mod))
		b = AppendDatum(b, ts[i].Kind, v)
	}
	return string(b)
}

// DecodeRecord decodes a record's PhysStr value.
func DecodeRecord(s string) ([]Type, []Datum, error) {
	n, s, ok := uvarint(s)
	if !ok || n > uint64(len(s)) {
		return nil, nil, errDatumBytes
	}
	ts, vals := make([]Type, n), make([]Datum, n)
	for i := range ts {
		kind, rest, ok1 := cutKind(s)
		elem, rest, ok2 := cutKind(rest)
		mod, rest, ok3 := varint(rest)
		if !ok1 || !ok2 || !ok3 || !fits32(mod) {
			return nil, nil, errDatumBytes
		}
		ts[i] = Type{Kind: kind, Elem: elem, Mod: int32(mod)}
		var err error
		if vals[i], s, err = DecodeDatum(rest, ts[i].Kind); err != nil {
			return nil, nil, err
		}
	}
	if s != "" {
		return nil, nil, errDatumBytes
	}
	return ts, vals, nil
}

func malformedArray(s, detail string, args ...any) error {
	return sqlerr.Newf(sqlerr.InvalidTextRepresentation, "malformed array literal: \"%s\"", s).WithDetail(detail, args...)
}

// arrayParser reads the braces and elements of an array literal.
type arrayParser struct {
	whole string
	s     string
	pos   int
	elem  Type
	env   *Env
	// lens has the length of each dimension, -1 until its first sub-array is closed.
	lens  []int
	elems []Datum
	// leaf is the depth at which elements stand, 0 until the first is read.
	leaf int
	// ragged says that elements stand at different depths; reported if nothing else is wrong.
	ragged bool
}

// ParseArrayText reads Postgres's array literal, e.g. {1,NULL,"a b"}, {{1,2},{3,4}} or
// [0:1]={7,8}, applying the type's modifier to the elements.
func ParseArrayText(t Type, s string, env *Env) (Datum, error) {
	p := arrayParser{whole: s, s: s, elem: t.ElemType(), env: env}
	explicit, err := p.bounds()
	if err != nil {
		return Null, err
	}
	p.space()
	if p.pos >= len(s) || s[p.pos] != '{' {
		if explicit != nil {
			return Null, malformedArray(s, "Array contents must start with \"{\".")
		}
		return Null, malformedArray(s, "Array value must start with \"{\" or dimension information.")
	}
	p.whole = s[p.pos:] // errors in the contents quote the contents only
	if err := p.level(1); err != nil {
		return Null, err
	}
	p.space()
	if p.pos < len(s) {
		return Null, malformedArray(p.whole, "Junk after closing right brace.")
	}
	if p.ragged {
		return Null, malformedArray(p.whole, "Multidimensional arrays must have sub-arrays with matching dimensions.")
	}
	a := ArrayValue{Elem: t.Elem, Elems: p.elems}
	if len(p.elems) == 0 {
		if explicit != nil {
			return Null, malformedArray(s, "Specified array dimensions do not match array contents.")
		}
		return DStr(a.Encode()), nil
	}
	for _, n := range p.lens {
		a.Dims = append(a.Dims, Dim{n, 1})
	}
	if explicit != nil {
		if len(explicit) != len(a.Dims) {
			return Null, malformedArray(s, "Specified array dimensions do not match array contents.")
		}
		for i, d := range explicit {
			if d.Len != a.Dims[i].Len {
				return Null, malformedArray(s, "Specified array dimensions do not match array contents.")
			}
		}
		a.Dims = explicit
	}
	return DStr(a.Encode()), nil
}

func (p *arrayParser) space() {
	for p.pos < len(p.s) && isSpace(p.s[p.pos]) {
		p.pos++
	}
}

// bounds reads the optional [lower:upper]... = before the contents.
func (p *arrayParser) bounds() ([]Dim, error) {
	var dims []Dim
	for {
		p.space()
		if p.pos >= len(p.s) || p.s[p.pos] != '[' {
			break
		}
		if len(dims) == MaxDims {
			return nil, tooManyDims(MaxDims + 1)
		}
		p.pos++
		lower, upper := int64(1), int64(0)
		v, ok := p.bound()
		if !ok {
			return nil, malformedArray(p.whole, "\"[\" must introduce explicitly-specified array dimensions.")
		}
		upper = v
		if p.pos < len(p.s) && p.s[p.pos] == ':' {
			p.pos++
			lower = v
			if upper, ok = p.bound(); !ok {
				return nil, malformedArray(p.whole, "Missing array dimension value.")
			}
		}
		if p.pos >= len(p.s) || p.s[p.pos] != ']' {
			return nil, malformedArray(p.whole, "Missing \"]\" after array dimensions.")
		}
		p.pos++
		if upper < lower {
			return nil, sqlerr.Newf("2202E", "upper bound cannot be less than lower bound")
		}
		if !fits32(lower) || !fits32(upper) || upper-lower+1 > 1<<27 {
			return nil, sqlerr.Newf(sqlerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", 1<<27-1)
		}
		dims = append(dims, Dim{int(upper - lower + 1), int(lower)})
	}
	if dims == nil {
		return nil, nil
	}
	if p.pos >= len(p.s) || p.s[p.pos] != '=' {
		return nil, malformedArray(p.whole, "Missing \"=\" after array dimensions.")
	}
	p.pos++
	return dims, nil
}

func (p *arrayParser) bound() (int64, bool) {
	neg := false
	if p.pos < len(p.s) && (p.s[p.pos] == '-' || p.s[p.pos] == '+') {
		neg = p.s[p.pos] == '-'
		p.pos++
	}
	v, rest, ok := leadingInt(p.s[p.pos:])
	p.pos = len(p.s) - len(rest)
	if neg {
		v = -v
	}
	return v, ok
}

func tooManyDims(n int) error {
	return sqlerr.Newf(sqlerr.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (%d)", n, MaxDims)
}

// level reads a braced list at a depth from 1; the current character is its brace.
func (p *arrayParser) level(depth int) error {
	if depth > MaxDims {
		return tooManyDims(depth)
	}
	if len(p.lens) < depth {
		p.lens = append(p.lens, -1)
	}
	p.pos++
	n := 0
	leaf := false // whether this list has elements rather than lists
	for {
		p.space()
		if p.pos >= len(p.s) {
			return malformedArray(p.whole, "Unexpected end of input.")
		}
		c := p.s[p.pos]
		switch {
		case c == '}' && n == 0 && depth == 1:
			p.pos++
			p.lens[0] = 0
			return nil
		case c == '}' || c == ',':
			return malformedArray(p.whole, "Unexpected \"%c\" character.", c)
		case c == '{' && n > 0 && leaf:
			return malformedArray(p.whole, "Unexpected \"%c\" character.", c)
		case c == '{':
			p.ragged = p.ragged || p.leaf != 0 && depth >= p.leaf
			if err := p.level(depth + 1); err != nil {
				return err
			}
		case n > 0 && !leaf:
			return malformedArray(p.whole, "Unexpected array element.")
		default:
			leaf = true
			if p.leaf == 0 {
				p.leaf = depth
			}
			p.ragged = p.ragged || p.leaf != depth || len(p.lens) > depth
			if err := p.element(); err != nil {
				return err
			}
		}
		n++
		p.space()
		if p.pos >= len(p.s) {
			return malformedArray(p.whole, "Unexpected end of input.")
		}
		switch c := p.s[p.pos]; c {
		case ',':
			p.pos++
		case '}':
			p.pos++
			if p.lens[depth-1] >= 0 && p.lens[depth-1] != n {
				return malformedArray(p.whole, "Multidimensional arrays must have sub-arrays with matching dimensions.")
			}
			p.lens[depth-1] = n
			return nil
		case '{', '\\':
			return malformedArray(p.whole, "Unexpected \"%c\" character.", c)
		default:
			return malformedArray(p.whole, "Unexpected array element.")
		}
	}
}

// element reads one element, quoted or not.
func (p *arrayParser) element() error {
	var b strings.Builder
	quoted := p.s[p.pos] == '"'
	plain := true // no quotes and no escapes, so that NULL means NULL
	if quoted {
		plain = false
		p.pos++
		for {
			if p.pos >= len(p.s) {
				return malformedArray(p.whole, "Unexpected end of input.")
			}
			c := p.s[p.pos]
			p.pos++
			if c == '"' {
				break
			}
			if c == '\\' {
				if p.pos >= len(p.s) {
					return malformedArray(p.whole, "Unexpected end of input.")
				}
				c = p.s[p.pos]
				p.pos++
			}
			b.WriteByte(c)
		}
	} else {
		blanks := 0 // trailing blanks that are not escaped do not count
	loop:
		for {
			if p.pos >= len(p.s) {
				return malformedArray(p.whole, "Unexpected end of input.")
			}
			c := p.s[p.pos]
			switch {
			case c == ',' || c == '}':
				break loop
			case c == '{':
				return malformedArray(p.whole, "Unexpected \"%c\" character.", c)
			case c == '"':
				return malformedArray(p.whole, "Unexpected array element.")
			case c == '\\':
				plain = false
				p.pos++
				if p.pos >= len(p.s) {
					return malformedArray(p.whole, "Unexpected end of input.")
				}
				c = p.s[p.pos]
				blanks = 0
			case isSpace(c):
				blanks++
			default:
				blanks = 0
			}
			b.WriteByte(c)
			p.pos++
		}
		text := b.String()
		text = text[:len(text)-blanks]
		b.Reset()
		b.WriteString(text)
	}
	text := b.String()
	if plain && strings.EqualFold(text, "null") {
		p.elems = append(p.elems, Null)
		return nil
	}
	d, err := ParseText(p.elem, text, p.env)
	if err != nil {
		return err
	}
	p.elems = append(p.elems, d)
	return nil
}

// appendArrayText appends the literal of an encoded array.
func appendArrayText(dst []byte, t Type, s string, env *Env) []byte {
	a, err := DecodeArray(s)
	if err != nil || len(a.Dims) == 0 {
		return append(dst, "{}"...)
	}
	custom := false
	for _, d := range a.Dims {
		custom = custom || d.Lower != 1
	}
	if custom {
		for _, d := range a.Dims {
			dst = appendInt(append(dst, '['), int64(d.Lower))
			dst = appendInt(append(dst, ':'), int64(d.Lower+d.Len-1))
			dst = append(dst, ']')
		}
		dst = append(dst, '=')
	}
	et := T(a.Elem)
	var tmp []byte
	at := 0
	var level func(depth int)
	level = func(depth int) {
		dst = append(dst, '{')
		for i := range a.Dims[depth].Len {
			if i > 0 {
				dst = append(dst, ',')
			}
			if depth+1 < len(a.Dims) {
				level(depth + 1)
				continue
			}
			e := a.Elems[at]
			at++
			if !e.Valid {
				dst = append(dst, "NULL"...)
				continue
			}
			tmp = AppendText(tmp[:0], et, e, env)
			dst = appendQuotedElem(dst, tmp)
		}
		dst = append(dst, '}')
	}
	level(0)
	return dst
}

// appendQuotedElem appends the text of an element, in quotes if it could be misread.
func appendQuotedElem(dst, text []byte) []byte {
	quote := len(text) == 0 || len(text) == 4 && strings.EqualFold(string(text), "null")
	for _, c := range text {
		if c == '"' || c == '\\' || c == '{' || c == '}' || c == ',' || isSpace(c) {
			quote = true
		}
	}
	if !quote {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// appendRecordText appends a row as (a,"b c",).
func appendRecordText(dst []byte, s string, env *Env) []byte {
	ts, vals, err := DecodeRecord(s)
	if err != nil {
		return append(dst, "()"...)
	}
	dst = append(dst, '(')
	var tmp []byte
	for i, v := range vals {
		if i > 0 {
			dst = append(dst, ',')
		}
		if !v.Valid {
			continue
		}
		tmp = AppendText(tmp[:0], ts[i], v, env)
		quote := len(tmp) == 0
		for _, c := range tmp {
			if c == '"' || c == '\\' || c == '(' || c == ')' || c == ',' || isSpace(c) {
				quote = true
			}
		}
		if !quote {
			dst = append(dst, tmp...)
			continue
		}
		dst = append(dst, '"')
		for _, c := range tmp {
			if c == '"' || c == '\\' {
				dst = append(dst, c)
			}
			dst = append(dst, c)
		}
		dst = append(dst, '"')
	}
	return append(dst, ')')
}

// appendJSONArray appends an array as nested JSON arrays.
func appendJSONArray(dst []byte, s string, env *Env) ([]byte, error) {
	a, err := DecodeArray(s)
	if err != nil {
		return nil, err
	}
	if len(a.Dims) == 0 {
		return append(dst, "[]"...), nil
	}
	at := 0
	var level func(depth int) error
	level = func(depth int) error {
		dst = append(dst, '[')
		for i := range a.Dims[depth].Len {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			var err error
			if depth+1 < len(a.Dims) {
				err = level(depth + 1)
			} else {
				dst, err = appendJSONDatum(dst, T(a.Elem), a.Elems[at], env)
				at++
			}
			if err != nil {
				return err
			}
		}
		dst = append(dst, ']')
		return nil
	}
	err = level(0)
	return dst, err
}

// JoinArrays makes of arrays of the same dimensions, with their encoding, one with a dimension more in front.
func JoinArrays(elem Kind, arrays []Datum) (string, error) {
	out := ArrayValue{Elem: elem}
	for i, d := range arrays {
		if !d.Valid {
			return "", sqlerr.Newf(sqlerr.NullValueNotAllowed, "cannot accumulate null arrays")
		}
		a, err := DecodeArray(d.S)
		if err != nil {
			return "", err
		}
		switch {
		case len(a.Dims) == 0:
			return "", sqlerr.Newf(sqlerr.ArraySubscriptError, "cannot accumulate empty arrays")
		case i == 0 && len(a.Dims) == MaxDims:
			return "", tooManyDims(len(a.Dims) + 1)
		case i == 0:
			out.Dims = append([]Dim{{len(arrays), 1}}, a.Dims...)
		case !slices.Equal(a.Dims, out.Dims[1:]):
			return "", sqlerr.Newf(sqlerr.ArraySubscriptError, "cannot accumulate arrays of different dimensionality")
		}
		out.Elems = append(out.Elems, a.Elems...)
	}
	return out.Encode(), nil
}
