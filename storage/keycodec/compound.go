package keycodec

import (
	"encoding/binary"
	"strings"

	"github.com/weirdb/weir/sql/types"
)

// Ranks of JSON values in order. The empty array at the top sorts before everything, as in
// PostgreSQL.
const (
	jsonTopEmpty = 0x01 + iota
	jsonNull
	jsonString
	jsonNumber
	jsonFalse
	jsonTrue
	jsonArray
	jsonObject
)

// Marks of elements of arrays and fields of records: the end sorts first, NULL last.
const (
	elemEnd   = 0x01
	elemValue = 0x02
	elemNull  = 0x03
)

// maxDepth bounds the nesting of what is decoded; it is above what types allows to be built.
const maxDepth = 10000

// AppendJSON appends a jsonb value, given as its canonical text.
func AppendJSON(dst []byte, s string, desc bool) []byte {
	start := len(dst)
	if s == "[]" {
		dst = append(dst, jsonTopEmpty)
	} else {
		dst, _ = appendJSON(dst, s)
	}
	return complement(dst, start, desc)
}

// appendJSON appends the value at the start of canonical text and gives what follows it.
func appendJSON(dst []byte, s string) ([]byte, string) {
	if s == "" {
		return append(dst, jsonNull), ""
	}
	switch s[0] {
	case '"':
		end := stringEnd(s)
		text, _ := types.JSONText(s[:end])
		return AppendString(append(dst, jsonString), text, false), s[end:]
	case 't':
		return append(dst, jsonTrue), s[len("true"):]
	case 'f':
		return append(dst, jsonFalse), s[len("false"):]
	case 'n':
		return append(dst, jsonNull), s[len("null"):]
	case '[', '{':
		return appendContainer(dst, s)
	}
	end := strings.IndexAny(s, ",]}")
	if end < 0 {
		end = len(s)
	}
	d, _ := types.JSONNumber(s[:end])
	return AppendDecimal(append(dst, jsonNumber), d, false), s[end:]
}

// appendContainer appends the number of members and then the members, with their keys in an
// object.
func appendContainer(dst []byte, s string) ([]byte, string) {
	object := s[0] == '{'
	if object {
		dst = append(dst, jsonObject)
	} else {
		dst = append(dst, jsonArray)
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	n := uint32(0)
	for s = s[1:]; s != "" && s[0] != ']' && s[0] != '}'; n++ {
		s = strings.TrimLeft(s, ", ")
		if object && s != "" {
			end := stringEnd(s)
			key, _ := types.JSONText(s[:end])
			dst = AppendString(dst, key, false)
			s = strings.TrimLeft(s[end:], ": ")
		}
		dst, s = appendJSON(dst, s)
	}
	binary.BigEndian.PutUint32(dst[at:], n)
	return dst, s[min(1, len(s)):]
}

// stringEnd gives the offset after the quoted string at the start of s.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// DecodeJSON reads what AppendJSON wrote and gives canonical text.
func DecodeJSON(b []byte, desc bool) (s string, rest []byte, err error) {
	out, rest, err := undoDesc(b, desc, func(b []byte) ([]byte, []byte, error) {
		if len(b) > 0 && b[0] == jsonTopEmpty {
			return []byte("[]"), b[1:], nil
		}
		return decodeJSON(nil, b, 0)
	})
	return string(out), rest, err
}

func decodeJSON(out, b []byte, depth int) (text, rest []byte, err error) {
	if len(b) == 0 || depth > maxDepth {
		return nil, nil, malformed("jsonb")
	}
	rank := b[0]
	b = b[1:]
	switch rank {
	case jsonNull:
		return append(out, "null"...), b, nil
	case jsonFalse:
		return append(out, "false"...), b, nil
	case jsonTrue:
		return append(out, "true"...), b, nil
	case jsonString:
		s, rest, err := DecodeString(nil, b, false)
		if err != nil {
			return nil, nil, err
		}
		return types.AppendJSONString(out, string(s)), rest, nil
	case jsonNumber:
		d, rest, err := DecodeDecimal(b, false)
		if err != nil {
			return nil, nil, err
		}
		if !d.IsFinite() {
			return nil, nil, malformed("jsonb number")
		}
		return d.AppendText(out), rest, nil
	case jsonArray, jsonObject:
		return decodeContainer(out, b, rank == jsonObject, depth)
	}
	return nil, nil, malformed("jsonb rank %#x", rank)
}

func decodeContainer(out, b []byte, object bool, depth int) (text, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, malformed("jsonb container")
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	brackets := "[]"
	if object {
		brackets = "{}"
	}
	out = append(out, brackets[0])
	for i := range n {
		if i > 0 {
			out = append(out, ", "...)
		}
		if object {
			var key []byte
			if key, b, err = DecodeString(nil, b, false); err != nil {
				return nil, nil, err
			}
			out = append(types.AppendJSONString(out, string(key)), ": "...)
		}
		if out, b, err = decodeJSON(out, b, depth+1); err != nil {
			return nil, nil, err
		}
	}
	return append(out, brackets[1]), b, nil
}

func appendElem(dst []byte, t types.Type, d types.Datum) []byte {
	if !d.Valid {
		return append(dst, elemNull)
	}
	return appendValue(append(dst, elemValue), t, d, false)
}

// appendArray appends the elements, then the dimensions and bounds, which only decide between
// arrays with the same elements.
func appendArray(dst []byte, s string, desc bool) []byte {
	start := len(dst)
	a, err := types.DecodeArray(s)
	if err != nil {
		// Not an array of this project's making; order it by its bytes, as types.Compare does.
		return AppendString(append(dst, elemEnd^mask(desc)), s, desc)
	}
	dst = appendKind(dst, a.Elem) // the same for all arrays of a type
	for _, e := range a.Elems {
		dst = appendElem(dst, types.T(a.Elem), e)
	}
	dst = append(dst, elemEnd, byte(len(a.Dims)))
	for _, d := range a.Dims {
		dst = binary.BigEndian.AppendUint32(dst, uint32(d.Len))
	}
	for _, d := range a.Dims {
		dst = binary.BigEndian.AppendUint32(dst, uint32(int32(d.Lower))^1<<31)
	}
	return complement(dst, start, desc)
}

// appendKind appends the kind of an array's elements. Its first byte is above elemEnd.
func appendKind(dst []byte, k types.Kind) []byte {
	if k.IsUser() {
		return types.AppendKind(dst, k)
	}
	return append(dst, byte(k)+elemEnd+1)
}

func decodeKind(b []byte) (k types.Kind, rest []byte, err error) {
	if b[0] != 0xff {
		if k = types.Kind(b[0] - elemEnd - 1); int(k) >= types.NumKinds {
			return k, nil, malformed("kind %d", k)
		}
		return k, b[1:], nil
	}
	k, _, ok := types.CutKind(string(b[:min(len(b), 5)]))
	if !ok {
		return k, nil, malformed("kind of a type")
	}
	return k, b[5:], nil
}

func decodeArray(b []byte, depth int) (d types.Datum, rest []byte, err error) {
	if len(b) == 0 || depth > maxDepth {
		return d, nil, malformed("array")
	}
	if b[0] == elemEnd {
		s, rest, err := DecodeString(nil, b[1:], false)
		return types.DStr(string(s)), rest, err
	}
	var a types.ArrayValue
	if a.Elem, b, err = decodeKind(b); err != nil || a.Elem == types.Array {
		return d, nil, malformed("array of kind %d", a.Elem)
	}
	for {
		e, rest, end, err := decodeElem(b, types.T(a.Elem), depth)
		if err != nil {
			return d, nil, err
		}
		b = rest
		if end {
			break
		}
		a.Elems = append(a.Elems, e)
	}
	if len(b) == 0 || b[0] > types.MaxDims || len(b) < 1+8*int(b[0]) {
		return d, nil, malformed("array dimensions")
	}
	n := int(b[0])
	b = b[1:]
	count := 1
	for i := range n {
		l := binary.BigEndian.Uint32(b[4*i:])
		lower := int32(binary.BigEndian.Uint32(b[4*(n+i):]) ^ 1<<31)
		if l == 0 || int64(l) > int64(len(a.Elems)) || count > len(a.Elems) {
			return d, nil, malformed("array length")
		}
		count *= int(l)
		a.Dims = append(a.Dims, types.Dim{Len: int(l), Lower: int(lower)})
	}
	if n == 0 {
		count = 0
	}
	if count != len(a.Elems) {
		return d, nil, malformed("array of %d elements with room for %d", len(a.Elems), count)
	}
	return types.DStr(a.Encode()), b[8*n:], nil
}

// decodeElem reads an element or the end mark.
func decodeElem(b []byte, t types.Type, depth int) (d types.Datum, rest []byte, end bool, err error) {
	if len(b) == 0 {
		return d, nil, false, malformed("no end of elements")
	}
	switch b[0] {
	case elemEnd:
		return d, b[1:], true, nil
	case elemNull:
		return d, b[1:], false, nil
	case elemValue:
		d, rest, err = decodeValue(b[1:], t, false, depth+1)
		return d, rest, false, err
	}
	return d, nil, false, malformed("element mark %#x", b[0])
}

// appendRecord appends the fields with their types, which a record value carries with it.
func appendRecord(dst []byte, s string, desc bool) []byte {
	start := len(dst)
	ts, vals, err := types.DecodeRecord(s)
	if err != nil {
		return AppendString(append(dst, elemNull^mask(desc)), s, desc)
	}
	for i, v := range vals {
		dst = types.AppendKind(types.AppendKind(append(dst, elemValue), ts[i].Kind), ts[i].Elem)
		dst = appendElem(dst, ts[i], v)
	}
	return complement(append(dst, elemEnd), start, desc)
}

func decodeRecord(b []byte, depth int) (d types.Datum, rest []byte, err error) {
	if depth > maxDepth {
		return d, nil, malformed("record nested too deeply")
	}
	if len(b) > 0 && b[0] == elemNull {
		s, rest, err := DecodeString(nil, b[1:], false)
		return types.DStr(string(s)), rest, err
	}
	var ts []types.Type
	var vals []types.Datum
	for len(b) > 0 && b[0] == elemValue {
		kind, rest, ok1 := types.CutKind(string(b[1:min(len(b), 11)]))
		elem, rest, ok2 := types.CutKind(rest)
		if !ok1 || !ok2 {
			return d, nil, malformed("record field")
		}
		t := types.Type{Kind: kind, Elem: elem, Mod: -1}
		v, b2, end, err := decodeElem(b[min(len(b), 11)-len(rest):], t, depth)
		if err != nil || end {
			return d, nil, malformed("record field value: %v", err)
		}
		ts, vals, b = append(ts, t), append(vals, v), b2
	}
	if len(b) == 0 || b[0] != elemEnd {
		return d, nil, malformed("record without end")
	}
	return types.DStr(types.EncodeRecord(ts, vals)), b[1:], nil
}
