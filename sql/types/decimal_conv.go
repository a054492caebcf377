package types

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/cockroachdb/apd/v3"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Int64 rounds d half away from zero to an integer of kind k (Int2, Int4 or Int8).
func (d Decimal) Int64(k Kind) (int64, error) {
	switch d.form {
	case NaN:
		return 0, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot convert NaN to %s", k)
	case Infinite, NegInfinite:
		return 0, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot convert infinity to %s", k)
	}
	r := d.rescale(0, true)
	if r.big != nil || !fitsInt(r.coef, k) {
		return 0, outOfRange(k)
	}
	return r.coef, nil
}

// fitsInt says whether v is in the range of an integer kind.
func fitsInt(v int64, k Kind) bool {
	switch k {
	case Int2:
		return v == int64(int16(v))
	case Int4:
		return v == int64(int32(v))
	}
	return true
}

// outOfRange is Postgres's error of an arithmetic result that does not fit its type.
func outOfRange(k Kind) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.NumericValueOutOfRange, "%s out of range", k)
}

// FromFloat64 converts a float8: 15 significant digits, as Postgres keeps.
func FromFloat64(f float64) Decimal { return fromFloat(f, 15, 64) }

// FromFloat32 converts a float4: 6 significant digits, as Postgres keeps.
func FromFloat32(f float32) Decimal { return fromFloat(float64(f), 6, 32) }

func fromFloat(f float64, digits, bitSize int) Decimal {
	switch {
	case math.IsNaN(f):
		return DecNaN
	case math.IsInf(f, 1):
		return DecInf
	case math.IsInf(f, -1):
		return DecNegInf
	}
	var buf [32]byte
	d, err := ParseDecimal(string(strconv.AppendFloat(buf[:0], f, 'g', digits, bitSize)))
	if err != nil {
		// Cannot happen: the text of a finite float is a numeric within the limits.
		return DecNaN
	}
	return d
}

// ToFloat64 converts to the nearest float8; a value beyond its range is an error.
func (d Decimal) ToFloat64() (float64, error) {
	f := d.approx()
	if d.form == Finite && (math.IsInf(f, 0) || f == 0 && !d.IsZero()) {
		return 0, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "\"%s\" is out of range for type double precision", d)
	}
	return f, nil
}

// ToFloat32 converts to the nearest float4; a value beyond its range is an error.
func (d Decimal) ToFloat32() (float32, error) {
	if d.form != Finite {
		return float32(d.approx()), nil
	}
	f, err := strconv.ParseFloat(d.String(), 32)
	if err != nil || f == 0 && !d.IsZero() {
		return 0, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "\"%s\" is out of range for type real", d)
	}
	return float32(f), nil
}

// approx converts to the nearest float64, infinite where the value is beyond its range.
func (d Decimal) approx() float64 {
	switch d.form {
	case NaN:
		return math.NaN()
	case Infinite:
		return math.Inf(1)
	case NegInfinite:
		return math.Inf(-1)
	}
	// Both operands are exact and the division rounds once: the result is the nearest.
	if d.big == nil && abs64(d.coef) < 1<<53 && d.scale < 16 {
		return float64(d.coef) / float64(pow10[d.scale])
	}
	var buf [48]byte
	f, _ := strconv.ParseFloat(string(d.AppendText(buf[:0])), 64)
	return f
}

// ApplyTypmod fits d into numeric(precision, scale): rounds to scale, and fails if more than
// precision digits would be needed.
func (d Decimal) ApplyTypmod(precision, scale int) (Decimal, error) {
	switch d.form {
	case NaN:
		return d, nil
	case Infinite, NegInfinite:
		return d, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d cannot hold an infinite value.", precision, scale)
	}
	r := d.rescale(scale, true)
	room := precision - scale
	if !r.IsZero() && r.intDigits() > room {
		limit := "1"
		if room != 0 {
			limit = "10^" + strconv.Itoa(room)
		}
		return d, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d must round to an absolute value less than %s.", precision, scale, limit)
	}
	return r, nil
}

// The kinds of the storage encoding, in the low two bits of its first number.
const (
	decSpecial = iota
	decSmall
	decBigPos
	decBigNeg
)

// AppendBinary appends the storage form of d, exact including the display scale: a uvarint
// scale<<2|kind, then a varint coefficient, or its length and big-endian bytes. The encoding is
// self-delimiting; its byte order means nothing.
func (d Decimal) AppendBinary(dst []byte) []byte {
	switch {
	case d.form != Finite:
		return binary.AppendUvarint(dst, uint64(d.form)<<2|decSpecial)
	case d.big == nil:
		dst = binary.AppendUvarint(dst, uint64(d.scale)<<2|decSmall)
		return binary.AppendVarint(dst, d.coef)
	}
	kind := uint64(decBigPos)
	if d.big.Negative {
		kind = decBigNeg
	}
	dst = binary.AppendUvarint(dst, uint64(d.scale)<<2|kind)
	b := d.big.Coeff.Bytes()
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

var errDecimalBytes = sqlerr.Newf(sqlerr.DataCorrupted, "invalid encoding of a numeric")

// SkipDecimal gives the rest of b behind what AppendBinary wrote at its start. It checks only what it needs for that.
func SkipDecimal(b []byte) ([]byte, error) {
	h, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errDecimalBytes
	}
	b = b[n:]
	switch h & 3 {
	case decSpecial:
		return b, nil
	case decSmall:
		for i, c := range b {
			if c < 0x80 {
				return b[i+1:], nil
			}
		}
		return nil, errDecimalBytes
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, errDecimalBytes
	}
	return b[n+int(size):], nil
}

// DecodeDecimal reads what AppendBinary wrote at the start of b and gives the rest. Bytes that no
// Decimal encodes to are an error (XX001).
func DecodeDecimal(b []byte) (Decimal, []byte, error) {
	h, n := binary.Uvarint(b)
	if n <= 0 || h>>2 > maxScale {
		return Decimal{}, nil, errDecimalBytes
	}
	b = b[n:]
	scale := int(h >> 2)
	switch h & 3 {
	case decSpecial:
		if f := DecimalForm(scale); scale >= int(Infinite) && scale <= int(NaN) {
			return Decimal{form: f}, b, nil
		}
		return Decimal{}, nil, errDecimalBytes
	case decSmall:
		c, n := binary.Varint(b)
		if n <= 0 {
			return Decimal{}, nil, errDecimalBytes
		}
		return Decimal{coef: c, scale: int16(scale)}, b[n:], nil
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return Decimal{}, nil, errDecimalBytes
	}
	b = b[n:]
	var c apd.BigInt
	c.SetBytes(b[:size])
	if h&3 == decBigNeg {
		c.Neg(&c)
	}
	d := fromBig(&c, scale)
	if d.big == nil || size == 0 || b[0] == 0 {
		return Decimal{}, nil, errDecimalBytes
	}
	return d, b[size:], nil
}
