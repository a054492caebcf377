package types

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

func invalidSyntax(typeName, s string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", typeName, s)
}

// parseInt reads a decimal integer of the given width with blanks around it.
func parseInt(s string, bitSize int, k Kind) (int64, error) {
	t := s
	if t == "" || isSpace(t[0]) || isSpace(t[len(t)-1]) {
		t = trimSpace(t)
	}
	neg, i := false, 0
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		i = 1
	}
	if i == len(t) {
		return 0, invalidSyntax(kinds[k].sqlName, s)
	}
	tooLarge := func() (int64, error) {
		return 0, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, kinds[k].sqlName)
	}
	limit := uint64(1) << (bitSize - 1)
	var u uint64
	for ; i < len(t); i++ {
		c := t[i] - '0'
		if c > 9 {
			return 0, invalidSyntax(kinds[k].sqlName, s)
		}
		// Too large is said before what follows is looked at.
		if u > limit/10 {
			return tooLarge()
		}
		if u = u*10 + uint64(c); u > limit {
			return tooLarge()
		}
	}
	if !neg && u == limit {
		return tooLarge()
	}
	if neg {
		return -int64(u), nil
	}
	return int64(u), nil
}

// parseOid reads an oid: an unsigned 32-bit number; like Postgres it takes negative ones as their
// unsigned bit pattern.
func parseOid(s string) (int64, error) {
	t := trimSpace(s)
	v, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		if e := strings.TrimLeft(t, "+-"); isDigits(e) {
			return 0, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value \"%s\" is out of range for type oid", s)
		}
		return 0, invalidSyntax("oid", s)
	}
	if v > math.MaxUint32 || v < math.MinInt32 {
		return 0, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value \"%s\" is out of range for type oid", s)
	}
	return int64(uint32(v)), nil
}

// parseFloat reads a float4 (bitSize 32) or float8: decimal or hexadecimal, NaN, infinities.
func parseFloat(s string, bitSize int) (float64, error) {
	name := "double precision"
	if bitSize == 32 {
		name = "real"
	}
	t := trimSpace(s)
	if t == "" || strings.IndexByte(t, '_') >= 0 {
		return 0, invalidSyntax(name, s)
	}
	f, err := strconv.ParseFloat(t, bitSize)
	if err != nil {
		if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
			return 0, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", t, name)
		}
		// Hexadecimal without the exponent that Go insists on.
		h := strings.TrimLeft(t, "+-")
		if len(h) > 2 && (h[:2] == "0x" || h[:2] == "0X") && len(t)-len(h) < 2 && !strings.ContainsAny(h, "pP") {
			if f, err = strconv.ParseFloat(t+"p0", bitSize); err == nil {
				return f, nil
			}
		}
		return 0, invalidSyntax(name, s)
	}
	if f == 0 && strings.ContainsAny(mantissaOf(t), "123456789abcdefABCDEF") {
		return 0, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", t, name)
	}
	return f, nil
}

// mantissaOf cuts sign, prefix and exponent off a number's text.
func mantissaOf(t string) string {
	t = strings.TrimLeft(t, "+-")
	if len(t) > 1 && t[1]|0x20 == 'x' {
		t, _, _ = strings.Cut(strings.ToLower(t[2:]), "p")
		return t
	}
	t, _, _ = strings.Cut(strings.ToLower(t), "e")
	return t
}

// avoidMidpoint lengthens the shortest text of f if that lies exactly half way to a neighbour of f.
// Such a text reads back as f only by the rule that ties go to the even one, on which Postgres
// does not rely. It takes an integer beyond the exact ones to be half way.
func avoidMidpoint(text []byte, f float64, bitSize int) []byte {
	x := bytes.IndexByte(text, 'e')
	digits := x - 1 // after the first
	if text[0] == '-' {
		digits--
	}
	if digits > 0 {
		digits-- // the point
	}
	var exact, gap, v big.Rat
	exact.SetFloat64(f)
	for ; digits < 17; digits++ {
		if _, ok := v.SetString(string(text)); !ok {
			return text
		}
		c := v.Cmp(&exact)
		if c == 0 {
			return text
		}
		var next float64
		if bitSize == 32 {
			next = float64(math.Nextafter32(float32(f), float32(math.Inf(c))))
		} else {
			next = math.Nextafter(f, math.Inf(c))
		}
		if math.IsInf(next, 0) {
			return text
		}
		gap.SetFloat64(next)
		gap.Add(&gap, &exact).Quo(&gap, big.NewRat(2, 1))
		if v.Cmp(&gap) != 0 {
			return text
		}
		text = strconv.AppendFloat(text[:0], f, 'e', digits+1, bitSize)
	}
	return text
}

// AppendFloat appends the shortest text that reads back as f, in Postgres's layout: plain digits
// for exponents from -5 to 14 (float8) or to 5 (float4), scientific otherwise.
func AppendFloat(dst []byte, f float64, bitSize int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, '0')
	}
	top, exact := 15, float64(1<<52)
	if bitSize == 32 {
		top, exact = 6, 1<<23
	}
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], f, 'e', -1, bitSize)
	if math.Abs(f) >= exact && math.Abs(f) < 1e40 {
		e = avoidMidpoint(e, f, bitSize)
	}
	x := len(e) - 1
	for e[x] != 'e' {
		x--
	}
	exp, _ := strconv.Atoi(string(e[x+1:]))
	if exp < -4 || exp >= top {
		return append(dst, e...)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, bitSize)
}
