package types

import (
	"encoding/binary"
	"math"

	"github.com/weirdb/weir/sql/sqlerr"
)

var errDatumBytes = sqlerr.Newf(sqlerr.DataCorrupted, "invalid encoding of a value")

// AppendDatum appends a self-delimiting storage form of a value of kind k, NULL included: a flag
// byte, then what its representation needs. It is exact: floats keep their bits, numerics their
// display scale. The bytes do not sort like the values.
func AppendDatum(dst []byte, k Kind, d Datum) []byte {
	if !d.Valid {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch k.Phys() {
	case PhysBool:
		return append(dst, byte(d.I&1))
	case PhysInt:
		return binary.AppendVarint(dst, d.I)
	case PhysFloat:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(d.F))
	case PhysDec:
		return d.Dec.AppendBinary(dst)
	case PhysInterval:
		dst = binary.AppendVarint(dst, int64(d.Span.Months))
		dst = binary.AppendVarint(dst, int64(d.Span.Days))
		return binary.AppendVarint(dst, d.Span.Micros)
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.S)))
	return append(dst, d.S...)
}

// DecodeDatum reads what AppendDatum wrote at the start of s and gives the rest. Strings share
// the memory of s.
func DecodeDatum(s string, k Kind) (Datum, string, error) {
	if s == "" {
		return Null, "", errDatumBytes
	}
	flag := s[0]
	s = s[1:]
	switch flag {
	case 0:
		return Null, s, nil
	case 1:
	default:
		return Null, "", errDatumBytes
	}
	switch k.Phys() {
	case PhysBool:
		if s == "" || s[0] > 1 {
			return Null, "", errDatumBytes
		}
		return DBool(s[0] == 1), s[1:], nil
	case PhysInt:
		v, s, ok := varint(s)
		if !ok {
			return Null, "", errDatumBytes
		}
		return DInt(v), s, nil
	case PhysFloat:
		if len(s) < 8 {
			return Null, "", errDatumBytes
		}
		return DFloat(math.Float64frombits(load64(s))), s[8:], nil
	case PhysDec:
		d, rest, err := DecodeDecimal([]byte(s))
		if err != nil {
			return Null, "", err
		}
		return DDec(d), s[len(s)-len(rest):], nil
	case PhysInterval:
		m, s, ok1 := varint(s)
		d, s, ok2 := varint(s)
		us, s, ok3 := varint(s)
		if !ok1 || !ok2 || !ok3 || !fits32(m) || !fits32(d) {
			return Null, "", errDatumBytes
		}
		return DSpan(Span{int32(m), int32(d), us}), s, nil
	}
	n, s, ok := uvarint(s)
	if !ok || n > uint64(len(s)) {
		return Null, "", errDatumBytes
	}
	return DStr(s[:n]), s[n:], nil
}

// uvarint reads an unsigned varint at the start of s.
func uvarint(s string) (uint64, string, bool) {
	var v uint64
	for i := 0; i < len(s) && i < 10; i++ {
		c := s[i]
		if c < 0x80 {
			if i == 9 && c > 1 {
				return 0, s, false
			}
			return v | uint64(c)<<(7*i), s[i+1:], true
		}
		v |= uint64(c&0x7f) << (7 * i)
	}
	return 0, s, false
}

func varint(s string) (int64, string, bool) {
	u, rest, ok := uvarint(s)
	return int64(u>>1) ^ -int64(u&1), rest, ok
}
