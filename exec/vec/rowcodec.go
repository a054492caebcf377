package vec

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"github.com/weirdb/weir/sql/types"
)

// Row codec: the value encoding of rows in state tables and operator arenas. Exact (the display
// scale of a numeric, the three fields of an interval and the sign of a zero survive), compact, not
// order-preserving. The types are not in the bytes: the reader must know them.
//
//	row      = nulls value*              a value for each column that is not NULL
//	nulls    = ceil(columns/8) bytes     bit i%8 of byte i/8: column i is NULL
//	bool     = 1 byte
//	int      = zigzag varint
//	float    = 8 bytes, little endian bits
//	string   = uvarint length, bytes
//	interval = three zigzag varints: months, days, microseconds
//	numeric  = types.Decimal.AppendBinary

// ErrCorruptRow is what decoding gives for bytes that EncodeRow cannot have made.
var ErrCorruptRow = errors.New("corrupt row encoding")

// EncodeRow appends the encoding of row i of the columns to dst.
func EncodeRow(dst []byte, cols []*Vector, i int) []byte {
	at := len(dst)
	for n := (len(cols) + 7) / 8; n > 0; n-- {
		dst = append(dst, 0)
	}
	for k, v := range cols {
		if v.Nulls.Get(i) {
			dst[at+k>>3] |= 1 << (k & 7)
			continue
		}
		dst = EncodeValue(dst, v, i)
	}
	return dst
}

// EncodeValue appends the encoding of value i of v, which is not NULL.
func EncodeValue(dst []byte, v *Vector, i int) []byte {
	switch v.Type.Phys() {
	case types.PhysBool:
		if v.Bool[i] {
			return append(dst, 1)
		}
		return append(dst, 0)
	case types.PhysInt:
		return binary.AppendVarint(dst, v.Int[i])
	case types.PhysFloat:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float[i]))
	case types.PhysStr:
		s := v.Str[i]
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		return append(dst, s...)
	case types.PhysDec:
		return v.Dec[i].AppendBinary(dst)
	default:
		s := v.Span[i]
		dst = binary.AppendVarint(dst, int64(s.Months))
		dst = binary.AppendVarint(dst, int64(s.Days))
		return binary.AppendVarint(dst, s.Micros)
	}
}

// EncodeDatums appends the row encoding of Datums of the given types.
func EncodeDatums(dst []byte, ts []types.Type, row []types.Datum) []byte {
	at := len(dst)
	for n := (len(row) + 7) / 8; n > 0; n-- {
		dst = append(dst, 0)
	}
	for k, d := range row {
		if !d.Valid {
			dst[at+k>>3] |= 1 << (k & 7)
			continue
		}
		switch ts[k].Phys() {
		case types.PhysBool:
			dst = append(dst, byte(d.I))
		case types.PhysInt:
			dst = binary.AppendVarint(dst, d.I)
		case types.PhysFloat:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(d.F))
		case types.PhysStr:
			dst = binary.AppendUvarint(dst, uint64(len(d.S)))
			dst = append(dst, d.S...)
		case types.PhysDec:
			dst = d.Dec.AppendBinary(dst)
		default:
			dst = binary.AppendVarint(dst, int64(d.Span.Months))
			dst = binary.AppendVarint(dst, int64(d.Span.Days))
			dst = binary.AppendVarint(dst, d.Span.Micros)
		}
	}
	return dst
}

// DecodeRow appends the row that b begins with to the columns, one value each, and gives the rest of
// b. Strings are copied. After an error the columns may have different lengths.
func DecodeRow(b []byte, cols []*Vector) (rest []byte, err error) {
	return decodeRow(b, cols, false)
}

// DecodeRowShared is DecodeRow without copying strings: they point into b, which must never change.
func DecodeRowShared(b []byte, cols []*Vector) (rest []byte, err error) {
	return decodeRow(b, cols, true)
}

func decodeRow(b []byte, cols []*Vector, shared bool) ([]byte, error) {
	head := (len(cols) + 7) / 8
	if len(b) < head {
		return nil, ErrCorruptRow
	}
	nulls := b[:head]
	b = b[head:]
	for k, v := range cols {
		if nulls[k>>3]&(1<<(k&7)) != 0 {
			v.AppendNull()
			continue
		}
		switch v.Type.Phys() {
		case types.PhysInt:
			// One-byte values are common enough for a path of their own.
			if len(b) > 0 && b[0] < 0x80 {
				v.Int = append(v.Int, int64(b[0]>>1)^-int64(b[0]&1))
				b = b[1:]
				continue
			}
			x, n := binary.Varint(b)
			if n <= 0 {
				return nil, ErrCorruptRow
			}
			v.Int = append(v.Int, x)
			b = b[n:]
		case types.PhysStr:
			s, rest, err := decodeString(b, shared)
			if err != nil {
				return nil, err
			}
			v.Str = append(v.Str, s)
			b = rest
		default:
			d, rest, err := decodeDatum(b, v.Type, shared)
			if err != nil {
				return nil, err
			}
			v.AppendDatum(d)
			b = rest
		}
	}
	return b, nil
}

// DecodeDatums decodes the row that b begins with into Datums, appended to dst.
func DecodeDatums(dst []types.Datum, ts []types.Type, b []byte) (row []types.Datum, rest []byte, err error) {
	head := (len(ts) + 7) / 8
	if len(b) < head {
		return dst, nil, ErrCorruptRow
	}
	nulls := b[:head]
	b = b[head:]
	for k, t := range ts {
		if nulls[k>>3]&(1<<(k&7)) != 0 {
			dst = append(dst, types.Null)
			continue
		}
		var d types.Datum
		if d, b, err = decodeDatum(b, t, false); err != nil {
			return dst, nil, err
		}
		dst = append(dst, d)
	}
	return dst, b, nil
}

func decodeDatum(b []byte, t types.Type, shared bool) (types.Datum, []byte, error) {
	switch t.Phys() {
	case types.PhysBool:
		if len(b) < 1 || b[0] > 1 {
			return types.Null, nil, ErrCorruptRow
		}
		return types.DBool(b[0] == 1), b[1:], nil
	case types.PhysInt:
		x, n := binary.Varint(b)
		if n <= 0 {
			return types.Null, nil, ErrCorruptRow
		}
		return types.DInt(x), b[n:], nil
	case types.PhysFloat:
		if len(b) < 8 {
			return types.Null, nil, ErrCorruptRow
		}
		return types.DFloat(math.Float64frombits(binary.LittleEndian.Uint64(b))), b[8:], nil
	case types.PhysStr:
		s, rest, err := decodeString(b, shared)
		return types.DStr(s), rest, err
	case types.PhysDec:
		d, rest, err := types.DecodeDecimal(b)
		if err != nil {
			return types.Null, nil, ErrCorruptRow
		}
		return types.DDec(d), rest, nil
	default:
		var f [3]int64
		for i := range f {
			x, n := binary.Varint(b)
			if n <= 0 {
				return types.Null, nil, ErrCorruptRow
			}
			f[i], b = x, b[n:]
		}
		if int64(int32(f[0])) != f[0] || int64(int32(f[1])) != f[1] {
			return types.Null, nil, ErrCorruptRow
		}
		return types.DSpan(types.Span{Months: int32(f[0]), Days: int32(f[1]), Micros: f[2]}), b, nil
	}
}

func decodeString(b []byte, shared bool) (string, []byte, error) {
	n, h := binary.Uvarint(b)
	if h <= 0 || n > uint64(len(b)-h) {
		return "", nil, ErrCorruptRow
	}
	raw := b[h : h+int(n)]
	b = b[h+int(n):]
	if !shared {
		return string(raw), b, nil
	}
	return unsafe.String(unsafe.SliceData(raw), len(raw)), b, nil
}
