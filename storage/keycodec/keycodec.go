// Package keycodec turns SQL values into bytes that sort as SQL sorts the values, so that keys of
// a table can be compared, searched and scanned by range without being decoded.
//
// Two keys are equal exactly when SQL calls the values equal, and bytes.Compare orders them as
// types.Compare does. A key therefore forgets what equality ignores: the display scale of a
// numeric, the sign of a zero, the trailing blanks of a char(n), the fields of an interval. A row
// keeps the full values; a decoded key is an equal value, not always the same one.
//
// A key of several columns is the concatenation of the columns' encodings: none is a proper
// prefix of another of the same type, so that columns do not run into each other.
//
// # Encodings, ascending
//
//	NULL       one byte: 0x00 to sort first, 0x02 to sort last; a value follows a byte 0x01
//	bool       0x00 or 0x01
//	integers   8 bytes big endian, sign bit flipped
//	floats     8 bytes big endian: sign bit flipped if positive, all bits if negative; one zero,
//	           one NaN, which is greater than infinity
//	strings    the bytes, each 0x00 followed by 0xff, then 0x00 0x01; char(n) without trailing
//	           blanks
//	numeric    class (-inf, negative, zero, positive, inf, NaN), then for a number 0.d1d2.. * 10^e
//	           the exponent e and the digits in pairs, complemented if negative
//	interval   whole days of the canonical length, then microseconds of the last day
//	jsonb      rank of the type, then the value; containers with their size first
//	arrays     elements, each after a byte 0x02, or 0x03 for NULL, then 0x01, dimensions, bounds
//	records    fields like elements, each with its type, then 0x01
//
// Descending, every byte of a value is complemented. The NULL byte is not: where NULLs go is
// chosen for itself.
//
// AppendDatum and DecodeDatum do all of it for one value. The functions per representation leave
// out the NULL byte; loops over columns use them with AppendNull and AppendNotNull.
package keycodec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

const (
	nullFirst = 0x00
	notNull   = 0x01
	nullLast  = 0x02

	escape     = 0x00 // in strings
	escaped00  = 0xff // after escape: a zero byte
	terminator = 0x01 // after escape: the end
)

func malformed(format string, args ...any) error {
	return sqlerr.Newf(sqlerr.DataCorrupted, "malformed key: %s", fmt.Sprintf(format, args...))
}

// complement flips the bytes from start on if desc is set.
func complement(dst []byte, start int, desc bool) []byte {
	if desc {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// mask is what an encoded byte is xored with.
func mask(desc bool) byte {
	if desc {
		return 0xff
	}
	return 0
}

// AppendNull appends a NULL that sorts before or after all values.
func AppendNull(dst []byte, nullsFirst bool) []byte {
	if nullsFirst {
		return append(dst, nullFirst)
	}
	return append(dst, nullLast)
}

// AppendNotNull appends the byte that precedes a value which could have been NULL.
func AppendNotNull(dst []byte) []byte { return append(dst, notNull) }

// DecodeNull reads what AppendNull or AppendNotNull wrote.
func DecodeNull(b []byte) (null bool, rest []byte, err error) {
	if len(b) == 0 {
		return false, nil, malformed("no NULL byte")
	}
	switch b[0] {
	case notNull:
		return false, b[1:], nil
	case nullFirst, nullLast:
		return true, b[1:], nil
	}
	return false, nil, malformed("NULL byte %#x", b[0])
}

// AppendBool appends a bool.
func AppendBool(dst []byte, v, desc bool) []byte {
	var c byte
	if v {
		c = 1
	}
	return append(dst, c^mask(desc))
}

// DecodeBool reads what AppendBool wrote.
func DecodeBool(b []byte, desc bool) (v bool, rest []byte, err error) {
	if len(b) == 0 || b[0]^mask(desc) > 1 {
		return false, nil, malformed("bool")
	}
	return b[0]^mask(desc) == 1, b[1:], nil
}

// AppendInt appends an integer.
func AppendInt(dst []byte, v int64, desc bool) []byte {
	u := uint64(v) ^ 1<<63
	if desc {
		u = ^u
	}
	return binary.BigEndian.AppendUint64(dst, u)
}

// DecodeInt reads what AppendInt wrote.
func DecodeInt(b []byte, desc bool) (v int64, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, malformed("integer of %d bytes", len(b))
	}
	u := binary.BigEndian.Uint64(b)
	if desc {
		u = ^u
	}
	return int64(u ^ 1<<63), b[8:], nil
}

// AppendFloat appends a float: -0 as 0, every NaN as the same.
func AppendFloat(dst []byte, v float64, desc bool) []byte {
	if v == 0 {
		v = 0 // -0
	} else if v != v {
		v = math.NaN()
	}
	u := math.Float64bits(v)
	if u>>63 != 0 {
		u = ^u
	} else {
		u |= 1 << 63
	}
	if desc {
		u = ^u
	}
	return binary.BigEndian.AppendUint64(dst, u)
}

// DecodeFloat reads what AppendFloat wrote.
func DecodeFloat(b []byte, desc bool) (v float64, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, malformed("float of %d bytes", len(b))
	}
	u := binary.BigEndian.Uint64(b)
	if desc {
		u = ^u
	}
	if u>>63 != 0 {
		u &^= 1 << 63
	} else {
		u = ^u
	}
	return math.Float64frombits(u), b[8:], nil
}

// AppendString appends a string of bytes. For char(n) cut off the trailing blanks before (see
// TrimBlanks).
func AppendString[S string | []byte](dst []byte, s S, desc bool) []byte {
	start := len(dst)
	if i := indexZero(s); i < 0 { // the rule
		dst = append(dst, s...)
	} else {
		for ; i >= 0; i = indexZero(s) {
			dst = append(dst, s[:i]...)
			dst = append(dst, escape, escaped00)
			s = s[i+1:]
		}
		dst = append(dst, s...)
	}
	return complement(append(dst, escape, terminator), start, desc)
}

func indexZero[S string | []byte](s S) int {
	switch s := any(s).(type) {
	case string:
		return strings.IndexByte(s, 0)
	case []byte:
		return bytes.IndexByte(s, 0)
	}
	return -1
}

// DecodeString appends to dst the string that AppendString wrote.
func DecodeString(dst, b []byte, desc bool) (s, rest []byte, err error) {
	m := mask(desc)
	start := len(dst)
	for {
		i := bytes.IndexByte(b, escape^m)
		if i < 0 || i+1 >= len(b) {
			return nil, nil, malformed("string without end")
		}
		dst = append(dst, b[:i]...)
		switch b[i+1] ^ m {
		case terminator:
			return complement(dst, start, desc), b[i+2:], nil
		case escaped00:
			dst = append(dst, m) // 0x00 after the complement
			b = b[i+2:]
		default:
			return nil, nil, malformed("byte %#x after a zero byte", b[i+1]^m)
		}
	}
}

// TrimBlanks gives a char(n) value without the trailing blanks, which do not count in comparisons.
func TrimBlanks(s string) string { return strings.TrimRight(s, " ") }

// PrefixEnd gives the smallest key greater than all keys that begin with prefix, or nil if there
// is none.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// AppendDatum appends a value of type t, or NULL.
func AppendDatum(dst []byte, t types.Type, d types.Datum, desc, nullsFirst bool) []byte {
	if !d.Valid {
		return AppendNull(dst, nullsFirst)
	}
	return appendValue(append(dst, notNull), t, d, desc)
}

func appendValue(dst []byte, t types.Type, d types.Datum, desc bool) []byte {
	switch t.Phys() {
	case types.PhysBool:
		return AppendBool(dst, d.I != 0, desc)
	case types.PhysInt:
		return AppendInt(dst, d.I, desc)
	case types.PhysFloat:
		return AppendFloat(dst, d.F, desc)
	case types.PhysDec:
		return AppendDecimal(dst, d.Dec, desc)
	case types.PhysInterval:
		return AppendSpan(dst, d.Span, desc)
	}
	switch t.Kind {
	case types.Char:
		return AppendString(dst, TrimBlanks(d.S), desc)
	case types.Jsonb:
		return AppendJSON(dst, d.S, desc)
	case types.Array:
		return appendArray(dst, d.S, desc)
	case types.Record:
		return appendRecord(dst, d.S, desc)
	}
	if t.Kind.IsComposite() {
		return appendRecord(dst, d.S, desc)
	}
	return AppendString(dst, d.S, desc)
}

// DecodeDatum reads what AppendDatum wrote. The value is equal to the one that was written and of
// type t; it shares no memory with b.
func DecodeDatum(b []byte, t types.Type, desc bool) (d types.Datum, rest []byte, err error) {
	null, b, err := DecodeNull(b)
	if err != nil || null {
		return types.Null, b, err
	}
	return decodeValue(b, t, desc, 0)
}

func decodeValue(b []byte, t types.Type, desc bool, depth int) (d types.Datum, rest []byte, err error) {
	d.Valid = true
	switch t.Phys() {
	case types.PhysBool:
		var v bool
		if v, rest, err = DecodeBool(b, desc); err == nil {
			d = types.DBool(v)
		}
		return d, rest, err
	case types.PhysInt:
		d.I, rest, err = DecodeInt(b, desc)
		return d, rest, err
	case types.PhysFloat:
		d.F, rest, err = DecodeFloat(b, desc)
		return d, rest, err
	case types.PhysDec:
		d.Dec, rest, err = DecodeDecimal(b, desc)
		return d, rest, err
	case types.PhysInterval:
		d.Span, rest, err = DecodeSpan(b, desc)
		return d, rest, err
	}
	switch t.Kind {
	case types.Jsonb:
		d.S, rest, err = DecodeJSON(b, desc)
		return d, rest, err
	case types.Array:
		return undoDesc(b, desc, func(b []byte) (types.Datum, []byte, error) { return decodeArray(b, depth) })
	case types.Record:
		return undoDesc(b, desc, func(b []byte) (types.Datum, []byte, error) { return decodeRecord(b, depth) })
	}
	if t.Kind.IsComposite() {
		return undoDesc(b, desc, func(b []byte) (types.Datum, []byte, error) { return decodeRecord(b, depth) })
	}
	s, rest, err := DecodeString(nil, b, desc)
	d.S = string(s)
	return d, rest, err
}

// undoDesc decodes a value whose ascending form fn decodes.
func undoDesc[T any](b []byte, desc bool, fn func(b []byte) (T, []byte, error)) (v T, rest []byte, err error) {
	if !desc {
		return fn(b)
	}
	c := complement(append([]byte(nil), b...), 0, true)
	v, left, err := fn(c)
	if err != nil {
		return v, nil, err
	}
	return v, b[len(b)-len(left):], nil
}
