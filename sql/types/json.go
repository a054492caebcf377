package types

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// A json value is the text that came in, checked and otherwise untouched: blanks, the order of members and
// members of the same name stay. The operators walk over that text.

// CheckJSON tells whether s is JSON, with Postgres's errors (22P02). Escapes are checked for their form only.
func CheckJSON(s string) error {
	p := jsonParser{s: s, raw: true}
	if err := p.next(); err != nil {
		return err
	}
	if err := p.value(0); err != nil {
		return err
	}
	if p.tok != jtEnd {
		return p.unexpected("Expected end of input, but found \"%s\".")
	}
	return nil
}

// checkEscapeForms is what CheckJSON checks in strings.
func checkEscapeForms(s string) error {
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			return nil
		}
		if s[i] != '\\' {
			continue
		}
		if i++; i >= len(s) {
			return nil
		}
		if s[i] != 'u' {
			if strings.IndexByte(`"\/bfnrt`, s[i]) < 0 {
				_, err := unescapeJSON(nil, s[i-1:])
				return err
			}
			continue
		}
		for range 4 {
			i++
			if i >= len(s) || !isHex(s[i]) {
				return jsonError("\"\\u\" must be followed by four hexadecimal digits.")
			}
		}
	}
	return nil
}

func isHex(c byte) bool {
	_, ok := unhex(c)
	return ok
}

func rawBlank(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// RawTrim drops the blanks around a json value.
func RawTrim(s string) string { return strings.Trim(s, " \t\n\r") }

// RawTypeof is json_typeof.
func RawTypeof(s string) string { return JSONTypeof(RawTrim(s)) }

// rawEach calls f with the key (quoted, empty in arrays) and value of each member of an object or element of an
// array, without the blanks around them, until f gives false.
func rawEach(s string, f func(key, value string) bool) {
	s = RawTrim(s)
	if s == "" || s[0] != '{' && s[0] != '[' {
		return
	}
	object := s[0] == '{'
	for i := rawBlank(s, 1); i < len(s)-1; i = rawBlank(s, i+1) {
		key := ""
		if object {
			end := jsonSkip(s, i)
			key = s[i:end]
			i = rawBlank(s, rawBlank(s, end)+1) // the colon
		}
		end := jsonSkip(s, i)
		if !f(key, strings.TrimRight(s[i:end], " \t\n\r")) {
			return
		}
		if i = rawBlank(s, end); i >= len(s)-1 {
			return
		}
	}
}

// RawMembers gives the members of an object or the elements of an array, in order, with their text as it is.
func RawMembers(s string) ([]JSONMember, error) {
	var out []JSONMember
	var err error
	rawEach(s, func(k, v string) bool {
		if k != "" {
			if k, err = rawUnquote(k); err != nil {
				return false
			}
		}
		out = append(out, JSONMember{k, v})
		return true
	})
	return out, err
}

func rawUnquote(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1], nil
	}
	b, err := unescapeJSON(nil, s[1:len(s)-1])
	return string(b), err
}

// RawField gives the member of an object, of several the last: json -> text.
func RawField(s, key string) (value string, ok bool, err error) {
	if err := checkRawStrings(s); err != nil {
		return "", false, err
	}
	if s = RawTrim(s); s[0] != '{' {
		return "", false, nil
	}
	rawEach(s, func(k, v string) bool {
		var name string
		if name, err = rawUnquote(k); err != nil {
			return false
		}
		if name == key {
			value, ok = v, true
		}
		return true
	})
	return value, ok && err == nil, err
}

// checkRawStrings gives the error of the first string in s whose escapes stand for no text. The operators look at all of them.
func checkRawStrings(s string) error {
	if !strings.Contains(s, `\u`) {
		return nil
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		end := jsonSkip(s, i)
		if _, err := rawUnquote(s[i:end]); err != nil {
			return err
		}
		i = end - 1
	}
	return nil
}

// RawElem gives an element of an array; a negative index counts from the end: json -> int.
func RawElem(s string, index int64) (value string, ok bool) {
	if s = RawTrim(s); s[0] != '[' {
		return "", false
	}
	if index < 0 {
		n := int64(0)
		rawEach(s, func(_, _ string) bool { n++; return true })
		index += n
	}
	at := int64(0)
	rawEach(s, func(_, v string) bool {
		if at == index {
			value, ok = v, true
			return false
		}
		at++
		return true
	})
	return value, ok
}

// RawPath follows a path of names and numbers: json #> text[].
func RawPath(s string, path []string) (string, bool, error) {
	s = RawTrim(s)
	for _, p := range path {
		ok := false
		var err error
		switch s[0] {
		case '{':
			s, ok, err = RawField(s, p)
		case '[':
			i, numErr := strconv.ParseInt(strings.TrimLeft(p, " \t\n\r\v\f"), 10, 32)
			if numErr == nil {
				s, ok = RawElem(s, i)
			}
		}
		if !ok || err != nil {
			return "", false, err
		}
	}
	return s, true, nil
}

// RawText gives what ->> gives for a value; ok is false for null.
func RawText(s string) (text string, ok bool, err error) {
	switch s[0] {
	case '"':
		text, err = rawUnquote(s)
		return text, err == nil, err
	case 'n':
		return "", false, nil
	}
	return s, true, nil
}

// RawLength is json_array_length.
func RawLength(s string) (int64, error) {
	switch RawTypeof(s) {
	case "array":
	case "object":
		return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot get array length of a non-array")
	default:
		return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot get array length of a scalar")
	}
	n := int64(0)
	rawEach(s, func(_, _ string) bool { n++; return true })
	return n, nil
}

// RawStripNulls drops members that are null, and all blanks.
func RawStripNulls(s string) (string, error) {
	b, err := appendStripped(nil, RawTrim(s))
	return string(b), err
}

func appendStripped(dst []byte, s string) ([]byte, error) {
	switch s[0] {
	case '{', '[':
	case '"':
		t, err := rawUnquote(s)
		return AppendJSONString(dst, t), err
	default:
		return append(dst, s...), nil
	}
	var err error
	dst = append(dst, s[0])
	first := true
	rawEach(s, func(k, v string) bool {
		if k != "" && v == "null" {
			return true
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if k != "" {
			var name string
			if name, err = rawUnquote(k); err != nil {
				return false
			}
			dst = append(AppendJSONString(dst, name), ':')
		}
		dst, err = appendStripped(dst, v)
		return err == nil
	})
	return append(dst, s[len(s)-1]), err
}

// AppendJSONText appends a SQL value as to_json gives it: without blanks between members. With pretty, line
// ends separate the outermost ones.
func AppendJSONText(dst []byte, t Type, d Datum, pretty bool, env *Env) ([]byte, error) {
	if !d.Valid {
		return append(dst, "null"...), nil
	}
	sep := ","
	if pretty {
		sep = ",\n "
	}
	switch t.Kind {
	case Json, Jsonb:
		return append(dst, d.S...), nil
	case Float4, Float8, Numeric:
		text := jsonFormat(t, d, env)
		if c := text[len(text)-1]; c == 'N' || c == 'y' { // NaN, Infinity
			return AppendJSONString(dst, text), nil
		}
		return append(dst, text...), nil
	case Array:
		a, err := DecodeArray(d.S)
		if err != nil {
			return nil, err
		}
		if len(a.Elems) == 0 {
			return append(dst, "[]"...), nil
		}
		dst, _, err = appendJSONDims(dst, a, 0, 0, sep, env)
		return dst, err
	case Record:
		ts, vs, err := DecodeRecord(d.S)
		if err != nil {
			return nil, err
		}
		return AppendJSONRow(dst, nil, ts, vs, pretty, env)
	}
	if t.Kind.IsComposite() {
		ts, vs, err := DecodeRecord(d.S)
		if err != nil {
			return nil, err
		}
		return AppendJSONRow(dst, env.fieldNames(t.Kind, len(ts)), ts, vs, pretty, env)
	}
	return appendJSONDatum(dst, t, d, env)
}

// appendJSONDims appends one level of an array whose elements begin at.
func appendJSONDims(dst []byte, a ArrayValue, level, at int, sep string, env *Env) ([]byte, int, error) {
	dst = append(dst, '[')
	var err error
	for i := range a.Dims[level].Len {
		if i > 0 {
			dst = append(dst, sep...)
		}
		if level+1 < len(a.Dims) {
			dst, at, err = appendJSONDims(dst, a, level+1, at, ",", env)
		} else {
			dst, err = AppendJSONText(dst, T(a.Elem), a.Elems[at], false, env)
			at++
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return append(dst, ']'), at, nil
}

// AppendJSONRow appends a row as row_to_json gives it; without names the fields are f1, f2 and so on.
func AppendJSONRow(dst []byte, names []string, ts []Type, vs []Datum, pretty bool, env *Env) ([]byte, error) {
	dst = append(dst, '{')
	var err error
	for i := range ts {
		if i > 0 {
			if dst = append(dst, ','); pretty {
				dst = append(dst, "\n "...)
			}
		}
		name := "f" + strconv.Itoa(i+1)
		if names != nil {
			name = names[i]
		}
		dst = append(AppendJSONString(dst, name), ':')
		if dst, err = AppendJSONText(dst, ts[i], vs[i], false, env); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// JSONToType converts a json value (or with raw false a jsonb one) to a column of type t, as json_to_record does. key is the
// name of the column, for errors.
func JSONToType(t Type, s, key string, raw bool, env *Env) (Datum, error) {
	switch {
	case s == "null" && t.Kind != Json && t.Kind != Jsonb, s == "null":
		return Null, nil
	case t.Kind == Array && s[0] == '[':
		a := ArrayValue{Elem: t.Elem}
		if err := a.fromJSON(t.ElemType(), s, key, 0, raw, env); err != nil {
			return Null, err
		}
		if len(a.Elems) == 0 {
			a.Dims = nil
		}
		return DStr(a.Encode()), nil
	case t.Kind == Array && s[0] != '"':
		return Null, sqlerr.Newf(sqlerr.InvalidTextRepresentation, "expected JSON array").
			WithHint("See the value of key \"%s\".", key)
	case t.Kind == Json:
		return DStr(s), nil
	case t.Kind == Jsonb:
		j, err := ParseJSON(s)
		return DStr(j), err
	}
	text, _, err := RawText(s)
	if err != nil {
		return Null, err
	}
	return ParseText(t, text, env)
}

// fromJSON adds the elements of one level of a JSON array.
func (a *ArrayValue) fromJSON(elem Type, s, key string, level int, raw bool, env *Env) error {
	n := 0
	if level == len(a.Dims) {
		if level == MaxDims {
			return tooManyDims(level + 1)
		}
		rawEach(s, func(_, _ string) bool { n++; return true })
		a.Dims = append(a.Dims, Dim{n, 1})
		n = 0
	}
	malformed := sqlerr.Newf(sqlerr.InvalidTextRepresentation, "malformed JSON array").
		WithDetail("Multidimensional arrays must have sub-arrays with matching dimensions.")
	var err error
	rawEach(s, func(_, v string) bool {
		n++
		deeper := v[0] == '[' && elem.Kind != Json && elem.Kind != Jsonb
		switch {
		case deeper && level+1 == len(a.Dims) && len(a.Elems) > 0, !deeper && level+1 < len(a.Dims):
			err = malformed
		case deeper:
			err = a.fromJSON(elem, v, key, level+1, raw, env)
		default:
			var d Datum
			if d, err = JSONToType(elem, v, key, raw, env); err == nil {
				a.Elems = append(a.Elems, d)
			}
		}
		return err == nil
	})
	if err == nil && n != a.Dims[level].Len {
		err = malformed
	}
	return err
}
