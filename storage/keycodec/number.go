package keycodec

import (
	"math"
	"math/bits"
	"strings"

	"github.com/weirdb/weir/sql/types"
)

// Classes of a numeric, in order.
const (
	decNegInf   = 0x10
	decNegative = 0x20
	decZero     = 0x30
	decPositive = 0x40
	decInf      = 0x50
	decNaN      = 0x60
)

// A finite numeric other than zero is 0.d1d2..dn * 10^e with d1 and dn not zero. Its exponent is 3
// bytes with this bias; e lies between -16382 and 131072. The digits follow in pairs, each as
// pair+1, with a zero for a missing last digit, and end with 0x00. Equal values have equal n and
// e, and a number that goes on is greater than its prefix, as 0x00 sorts below every pair.
const (
	expBias   = 1 << 22
	minExp    = -16382
	maxExp    = 131072
	maxDigits = 131072 + 16383
)

// AppendDecimal appends a numeric. Values that differ in their display scale only give the same
// key.
func AppendDecimal(dst []byte, d types.Decimal, desc bool) []byte {
	start := len(dst)
	coef, scale, small := d.Small()
	switch {
	case small && coef == 0:
		dst = append(dst, decZero)
	case small:
		dst = appendSmall(dst, coef, scale)
	default:
		switch d.Form() {
		case types.NaN:
			dst = append(dst, decNaN)
		case types.Infinite:
			dst = append(dst, decInf)
		case types.NegInfinite:
			dst = append(dst, decNegInf)
		default:
			dst = appendBig(dst, d)
		}
	}
	return complement(dst, start, desc)
}

func appendExp(dst []byte, neg bool, e int) []byte {
	class := byte(decPositive)
	if neg {
		class = decNegative
	}
	u := uint32(e + expBias)
	return append(dst, class, byte(u>>16), byte(u>>8), byte(u))
}

func appendSmall(dst []byte, coef int64, scale int) []byte {
	u := uint64(coef)
	if coef < 0 {
		u = -u
	}
	for u%10000 == 0 {
		u, scale = u/10000, scale-4
	}
	for u%10 == 0 {
		u, scale = u/10, scale-1
	}
	// Pairs come out last first.
	var pairs [12]byte
	digits := countDigits(u)
	n := digits
	i := len(pairs) - 1
	pairs[i] = 0
	if n%2 != 0 {
		i--
		pairs[i] = byte(u%10)*10 + 1
		u, n = u/10, n-1
	}
	for ; n > 0; n -= 2 {
		i--
		pairs[i] = byte(u%100) + 1
		u /= 100
	}
	start := len(dst)
	dst = appendExp(dst, coef < 0, digits-scale)
	dst = append(dst, pairs[i:]...)
	return complement(dst, start+1, coef < 0)
}

// pow10 holds the powers of ten of a uint64.
var pow10 = [...]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

// countDigits gives the number of decimal digits of u, which is not 0.
func countDigits(u uint64) int {
	n := bits.Len64(u) * 1233 >> 12 // log10, or one less
	if u >= pow10[n] {
		n++
	}
	return n
}

func appendBig(dst []byte, d types.Decimal) []byte {
	text := d.String()
	neg := strings.HasPrefix(text, "-")
	if neg {
		text = text[1:]
	}
	whole, frac, _ := strings.Cut(text, ".")
	all := whole + frac
	digits := strings.TrimLeft(all, "0")
	e := len(whole) - (len(all) - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return append(dst, decZero)
	}
	start := len(dst)
	dst = appendExp(dst, neg, e)
	for i := 0; i < len(digits); i += 2 {
		p := (digits[i] - '0') * 10
		if i+1 < len(digits) {
			p += digits[i+1] - '0'
		}
		dst = append(dst, p+1)
	}
	return complement(append(dst, 0), start+1, neg)
}

// DecodeDecimal reads what AppendDecimal wrote. The value has the smallest display scale.
func DecodeDecimal(b []byte, desc bool) (d types.Decimal, rest []byte, err error) {
	if len(b) == 0 {
		return d, nil, malformed("no numeric")
	}
	m := mask(desc)
	class := b[0] ^ m
	switch class {
	case decNegInf:
		return types.DecNegInf, b[1:], nil
	case decInf:
		return types.DecInf, b[1:], nil
	case decNaN:
		return types.DecNaN, b[1:], nil
	case decZero:
		return d, b[1:], nil
	case decNegative:
		m = ^m
	case decPositive:
	default:
		return d, nil, malformed("numeric class %#x", class)
	}
	if len(b) < 4 {
		return d, nil, malformed("numeric without exponent")
	}
	e := int(uint32(b[1]^m)<<16|uint32(b[2]^m)<<8|uint32(b[3]^m)) - expBias
	b = b[4:]
	var buf [48]byte
	digits := buf[:0]
	for i, c := range b {
		c ^= m
		if c == 0 {
			rest = b[i+1:]
			break
		}
		if c > 100 || len(digits) > maxDigits {
			return d, nil, malformed("numeric digits %#x", c)
		}
		digits = append(digits, '0'+(c-1)/10, '0'+(c-1)%10)
	}
	if rest == nil {
		return d, nil, malformed("numeric without end")
	}
	n := len(digits)
	if n > 0 && digits[n-1] == '0' {
		n--
	}
	if n == 0 || digits[0] == '0' || digits[n-1] == '0' || e < minExp || e > maxExp || n-e > -minExp+1 {
		return d, nil, malformed("numeric is not normal")
	}
	digits = digits[:n]
	if e <= 18 && n <= 18 && n-e <= 16383 {
		return smallDecimal(digits, e, class == decNegative), rest, nil
	}
	var text strings.Builder
	if class == decNegative {
		text.WriteByte('-')
	}
	switch {
	case e <= 0:
		text.WriteString("0.")
		text.WriteString(strings.Repeat("0", -e))
		text.Write(digits)
	case n <= e:
		text.Write(digits)
		text.WriteString(strings.Repeat("0", e-n))
	default:
		text.Write(digits[:e])
		text.WriteByte('.')
		text.Write(digits[e:])
	}
	if d, err = types.ParseDecimal(text.String()); err != nil {
		return d, nil, malformed("numeric: %v", err)
	}
	return d, rest, nil
}

// smallDecimal makes a Decimal of at most 18 digits before and after.
func smallDecimal(digits []byte, e int, neg bool) types.Decimal {
	var v int64
	for _, c := range digits {
		v = v*10 + int64(c-'0')
	}
	scale := len(digits) - e
	for ; scale < 0; scale++ {
		v *= 10
	}
	if neg {
		v = -v
	}
	return types.NewDecimal(v, scale)
}

const (
	microsPerDay = 24 * 60 * 60 * 1000 * 1000
	dayBias      = 1 << 39
)

// AppendSpan appends an interval by its canonical length: a month is 30 days, a day 24 hours.
func AppendSpan(dst []byte, v types.Span, desc bool) []byte {
	start := len(dst)
	days := int64(v.Months)*30 + int64(v.Days)
	q, r := v.Micros/microsPerDay, v.Micros%microsPerDay
	if r < 0 {
		q, r = q-1, r+microsPerDay
	}
	dst = append40(dst, uint64(days+q+dayBias))
	dst = append40(dst, uint64(r))
	return complement(dst, start, desc)
}

func append40(dst []byte, u uint64) []byte {
	return append(dst, byte(u>>32), byte(u>>24), byte(u>>16), byte(u>>8), byte(u))
}

func get40(b []byte, m byte) uint64 {
	return uint64(b[0]^m)<<32 | uint64(b[1]^m)<<24 | uint64(b[2]^m)<<16 | uint64(b[3]^m)<<8 | uint64(b[4]^m)
}

// DecodeSpan reads what AppendSpan wrote. The value has days and microseconds, and months only if
// there are too many days.
func DecodeSpan(b []byte, desc bool) (v types.Span, rest []byte, err error) {
	if len(b) < 10 {
		return v, nil, malformed("interval of %d bytes", len(b))
	}
	days := int64(get40(b, mask(desc))) - dayBias
	micros := int64(get40(b[5:], mask(desc)))
	if micros >= microsPerDay {
		return v, nil, malformed("interval with %d microseconds in a day", micros)
	}
	if days < math.MinInt32 || days > math.MaxInt32 {
		v.Months = int32(max(min(days/30, math.MaxInt32), math.MinInt32))
		days -= int64(v.Months) * 30
	}
	v.Days = int32(max(min(days, math.MaxInt32), math.MinInt32))
	// What is left over comes from the microseconds of the original, and fits them again; the
	// product may wrap, and the sum then wraps back.
	over := days - int64(v.Days)
	v.Micros = over*microsPerDay + micros
	if over < math.MinInt64/microsPerDay-1 || over > math.MaxInt64/microsPerDay || (over < 0) != (v.Micros < 0) {
		return v, nil, malformed("interval of %d days", days)
	}
	return v, b[10:], nil
}
