package types

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Decimal is the value of a numeric: exact, of any precision, with NaN and the infinities, and
// with a display scale, as in Postgres. Small values (the rule) live in coef and need no
// allocation; larger ones point to an immutable apd.Decimal. The zero Decimal is 0.
type Decimal struct {
	// big holds the value when coef cannot; it is never modified once set. Invariant:
	// a value that fits coef with form Finite has big == nil.
	big *apd.Decimal
	// coef is the value times 10^scale when big is nil and form is Finite.
	coef int64
	// scale is the display scale, digits after the point; 0 <= scale <= 16383.
	scale int16
	form  DecimalForm
}

// DecimalForm says whether a Decimal is a number, infinite or NaN.
type DecimalForm uint8

// The forms of a Decimal.
const (
	Finite DecimalForm = iota
	Infinite
	NegInfinite
	NaN
)

// NewDecimal gives coef * 10^-scale.
func NewDecimal(coef int64, scale int) Decimal { return Decimal{coef: coef, scale: int16(scale)} }

// Small gives the coefficient and scale of a Decimal that fits them, the fast path of kernels:
// value = coef * 10^-scale.
func (d Decimal) Small() (coef int64, scale int, ok bool) {
	return d.coef, int(d.scale), d.big == nil && d.form == Finite
}

// Limits of numeric, as in Postgres.
const (
	// maxIntDigits is the largest number of digits before the point.
	maxIntDigits = 131072
	// maxScale is the largest display scale.
	maxScale = 16383
	// minSigDigits is the number of significant digits that a quotient, root or logarithm has
	// at least.
	minSigDigits = 16
	// maxResultScale is the largest display scale that a quotient, root or logarithm gets.
	maxResultScale = 1000
)

// DecNaN, DecInf and DecNegInf are the special values.
var (
	DecNaN    = Decimal{form: NaN}
	DecInf    = Decimal{form: Infinite}
	DecNegInf = Decimal{form: NegInfinite}
)

var errNumericOverflow = sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value overflows numeric format")

var errDivisionByZero = sqlerr.Newf(sqlerr.DivisionByZero, "division by zero")

// pow10 holds the powers of ten that fit an int64.
var pow10 = [19]int64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// bigPow10 sets z to 10^n.
func bigPow10(z *apd.BigInt, n int) *apd.BigInt {
	if n < len(pow10) {
		return z.SetInt64(pow10[n])
	}
	var e apd.BigInt
	return z.Exp(z.SetInt64(10), e.SetInt64(int64(n)), nil)
}

// fromBig gives c * 10^-scale; it keeps a copy of c.
func fromBig(c *apd.BigInt, scale int) Decimal {
	if c.IsInt64() {
		return Decimal{coef: c.Int64(), scale: int16(scale)}
	}
	b := &apd.Decimal{Exponent: int32(-scale)}
	b.Coeff.Abs(c)
	b.Negative = c.Sign() < 0
	return Decimal{big: b, scale: int16(scale)}
}

// checked is fromBig with Postgres's limits on the number of digits.
func checked(c *apd.BigInt, scale int) (Decimal, error) {
	d := fromBig(c, scale)
	if d.big != nil && c.BitLen() > 400000 && d.intDigits() > maxIntDigits {
		return Decimal{}, errNumericOverflow
	}
	return d, nil
}

// signed sets z to the signed coefficient of a finite d.
func (d Decimal) signed(z *apd.BigInt) *apd.BigInt {
	if d.big == nil {
		return z.SetInt64(d.coef)
	}
	z.Set(&d.big.Coeff)
	if d.big.Negative {
		z.Neg(z)
	}
	return z
}

// numDigits is the number of decimal digits of the coefficient of a finite d; 0 has one.
func (d Decimal) numDigits() int {
	if d.big != nil {
		return int(d.big.NumDigits())
	}
	return digits64(abs64(d.coef))
}

// intDigits is the number of digits before the point, 0 or less for values below 1.
func (d Decimal) intDigits() int { return d.numDigits() - int(d.scale) }

func abs64(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func digits64(u uint64) int {
	n := 1
	for n < len(pow10) && u >= uint64(pow10[n]) {
		n++
	}
	if n == len(pow10) && u >= 1e19 {
		n++
	}
	return n
}

// Scale gives the display scale: the digits printed after the point.
func (d Decimal) Scale() int { return int(d.scale) }

// Form says whether d is a finite number.
func (d Decimal) Form() DecimalForm { return d.form }

// IsNaN says whether d is NaN.
func (d Decimal) IsNaN() bool { return d.form == NaN }

// IsFinite says whether d is neither NaN nor infinite.
func (d Decimal) IsFinite() bool { return d.form == Finite }

// Sign gives -1, 0 or 1; NaN counts as 1, being the largest value.
func (d Decimal) Sign() int {
	switch d.form {
	case Infinite, NaN:
		return 1
	case NegInfinite:
		return -1
	}
	if d.big != nil {
		return d.big.Sign()
	}
	switch {
	case d.coef < 0:
		return -1
	case d.coef > 0:
		return 1
	}
	return 0
}

// IsZero says whether d is 0, of any display scale.
func (d Decimal) IsZero() bool { return d.form == Finite && d.big == nil && d.coef == 0 }

// ParseDecimal reads Postgres's text form of a numeric: digits with an optional point and
// exponent, "NaN", "Infinity", "inf" with a sign, any case, blanks around. The display scale is
// the number of digits after the point.
func ParseDecimal(s string) (Decimal, error) {
	syntax := func() (Decimal, error) {
		return Decimal{}, sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type numeric: \"%s\"", s)
	}
	t := trimSpace(s)
	if t == "" {
		return syntax()
	}
	i, neg := 0, false
	if t[0] == '+' || t[0] == '-' {
		neg = t[0] == '-'
		i++
	}
	if i < len(t) && (t[i]|0x20 == 'n' || t[i]|0x20 == 'i') {
		switch strings.ToLower(t[i:]) {
		case "nan":
			if i == 0 {
				return DecNaN, nil
			}
		case "inf", "infinity":
			if neg {
				return DecNegInf, nil
			}
			return DecInf, nil
		}
		return syntax()
	}
	start := i
	var u uint64
	sig, frac, seen := 0, 0, false // significant digits in u, digits after the point
	point := -1
	for ; i < len(t); i++ {
		c := t[i]
		if c >= '0' && c <= '9' {
			seen = true
			if point >= 0 {
				frac++
			}
			if sig > 0 || c != '0' {
				sig++
				if sig <= 18 {
					u = u*10 + uint64(c-'0')
				}
			}
			continue
		}
		if c == '.' && point < 0 {
			point = i
			continue
		}
		break
	}
	if !seen {
		return syntax()
	}
	mantissa, exp := t[start:i], 0
	if i < len(t) {
		if t[i]|0x20 != 'e' {
			return syntax()
		}
		e, err := strconv.Atoi(t[i+1:])
		if err != nil {
			if !isDigits(strings.TrimLeft(t[i+1:], "+-")) {
				return syntax()
			}
			return Decimal{}, errNumericOverflow
		}
		exp = e
	}
	scale := frac - exp // of the written coefficient; negative means zeros to append
	if sig <= 18 && scale >= 0 && scale <= maxScale {
		c := int64(u)
		if neg {
			c = -c
		}
		return Decimal{coef: c, scale: int16(scale)}, nil
	}
	switch {
	case sig-scale > maxIntDigits && sig > 0, scale > maxScale:
		return Decimal{}, errNumericOverflow
	case sig == 0:
		return Decimal{scale: int16(max(scale, 0))}, nil
	}
	var c, p apd.BigInt
	if _, ok := c.SetString(strings.Replace(mantissa, ".", "", 1), 10); !ok {
		return syntax()
	}
	if scale < 0 {
		c.Mul(&c, bigPow10(&p, -scale))
		scale = 0
	}
	if neg {
		c.Neg(&c)
	}
	return fromBig(&c, scale), nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// trimSpace cuts the blanks that C's isspace knows from both ends.
func trimSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// String gives Postgres's text form: all digits of the display scale, "NaN", "Infinity".
func (d Decimal) String() string {
	var buf [48]byte
	return string(d.AppendText(buf[:0]))
}

// AppendText appends what String gives.
func (d Decimal) AppendText(dst []byte) []byte {
	switch d.form {
	case NaN:
		return append(dst, "NaN"...)
	case Infinite:
		return append(dst, "Infinity"...)
	case NegInfinite:
		return append(dst, "-Infinity"...)
	}
	if d.Sign() < 0 {
		dst = append(dst, '-')
	}
	start := len(dst)
	if d.big == nil {
		dst = strconv.AppendUint(dst, abs64(d.coef), 10)
	} else {
		dst = d.big.Coeff.Append(dst, 10)
	}
	scale := int(d.scale)
	if scale == 0 {
		return dst
	}
	if n := len(dst) - start; n <= scale {
		// Zeros in front, so that at least one digit stands before the point.
		pad := scale + 1 - n
		for range pad {
			dst = append(dst, '0')
		}
		copy(dst[start+pad:], dst[start:start+n])
		for i := range pad {
			dst[start+i] = '0'
		}
	}
	dst = append(dst, 0)
	point := len(dst) - 1 - scale
	copy(dst[point+1:], dst[point:len(dst)-1])
	dst[point] = '.'
	return dst
}
