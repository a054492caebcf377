package types

import (
	"math/bits"

	"github.com/cockroachdb/apd/v3"
)

// addScaled gives a + b * 10^k, and false if that does not fit an int64.
func addScaled(a, b int64, k int) (int64, bool) {
	if k > 0 {
		if k >= len(pow10) {
			if b != 0 {
				return 0, false
			}
			return a, true
		}
		m, ok := mul64(b, pow10[k])
		if !ok {
			return 0, false
		}
		b = m
	}
	s := a + b
	return s, (a^s)&(b^s) >= 0
}

// mul64 gives a * b, and false if that does not fit an int64.
func mul64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(abs64(a), abs64(b))
	if hi != 0 || lo > 1<<63-1 {
		return 0, false
	}
	if a^b < 0 {
		return -int64(lo), true
	}
	return int64(lo), true
}

// Neg gives -d.
func (d Decimal) Neg() Decimal {
	switch d.form {
	case Infinite:
		return DecNegInf
	case NegInfinite:
		return DecInf
	case NaN:
		return d
	}
	if d.big == nil && d.coef != -1<<63 {
		d.coef = -d.coef
		return d
	}
	var c apd.BigInt
	d.signed(&c)
	return fromBig(c.Neg(&c), int(d.scale))
}

// Abs gives the absolute value.
func (d Decimal) Abs() Decimal {
	if d.Sign() < 0 {
		return d.Neg()
	}
	return d
}

// Add gives d + e, with the larger of the display scales. Infinities of opposite sign give NaN.
func (d Decimal) Add(e Decimal) Decimal {
	if d.big == nil && e.big == nil && d.form|e.form == Finite {
		if d.scale < e.scale {
			d, e = e, d
		}
		if s, ok := addScaled(d.coef, e.coef, int(d.scale-e.scale)); ok {
			return Decimal{coef: s, scale: d.scale}
		}
	}
	return d.addSlow(e)
}

func (d Decimal) addSlow(e Decimal) Decimal {
	switch {
	case d.form == NaN || e.form == NaN:
		return DecNaN
	case d.form != Finite && e.form != Finite && d.form != e.form:
		return DecNaN
	case d.form != Finite:
		return d
	case e.form != Finite:
		return e
	}
	var a, b apd.BigInt
	scale := alignBig(d, e, &a, &b)
	return fromBig(a.Add(&a, &b), scale)
}

// alignBig sets a and b to the coefficients of finite d and e at their larger scale.
func alignBig(d, e Decimal, a, b *apd.BigInt) int {
	var p apd.BigInt
	d.signed(a)
	e.signed(b)
	switch k := int(d.scale) - int(e.scale); {
	case k > 0:
		b.Mul(b, bigPow10(&p, k))
	case k < 0:
		a.Mul(a, bigPow10(&p, -k))
	}
	return int(max(d.scale, e.scale))
}

// Sub gives d - e, with the larger of the display scales.
func (d Decimal) Sub(e Decimal) Decimal { return d.Add(e.Neg()) }

// Mul gives d * e, whose display scale is the sum of theirs. Infinity times zero is NaN.
func (d Decimal) Mul(e Decimal) (Decimal, error) {
	scale := int(d.scale) + int(e.scale)
	if d.big == nil && e.big == nil && d.form|e.form == Finite && scale <= maxScale {
		if m, ok := mul64(d.coef, e.coef); ok {
			return Decimal{coef: m, scale: int16(scale)}, nil
		}
	}
	if d.form|e.form != Finite {
		switch s := d.Sign() * e.Sign(); {
		case d.form == NaN || e.form == NaN || s == 0:
			return DecNaN, nil
		case s > 0:
			return DecInf, nil
		}
		return DecNegInf, nil
	}
	var a, b apd.BigInt
	a.Mul(d.signed(&a), e.signed(&b))
	if scale > maxScale {
		divRound(&a, scale-maxScale, true)
		scale = maxScale
	}
	return checked(&a, scale)
}

// divRound divides c by 10^k, rounding half away from zero or towards zero.
func divRound(c *apd.BigInt, k int, round bool) {
	var p apd.BigInt
	divRoundBy(c, bigPow10(&p, k), round)
}

// divRoundBy divides c by q > 0, rounding half away from zero or towards zero.
func divRoundBy(c, q *apd.BigInt, round bool) {
	var r apd.BigInt
	sign := c.Sign()
	c.QuoRem(c, q, &r)
	if !round {
		return
	}
	r.Abs(&r)
	if r.Add(&r, &r).Cmp(q) >= 0 {
		var one apd.BigInt
		c.Add(c, one.SetInt64(int64(sign)))
	}
}

// weight gives the position of the first digit of a finite d in base 10000 and that digit; both
// are 0 for zero.
func (d Decimal) weight() (weight, first int) {
	if d.IsZero() {
		return 0, 0
	}
	n := d.numDigits()
	top := n - 1 - int(d.scale) // the power of ten of the first decimal digit
	weight = floorDiv(top, 4)
	lead := top - weight*4 + 1 // how many decimal digits the first base-10000 digit covers
	if d.big == nil {
		u := abs64(d.coef)
		if lead >= n {
			return weight, int(u) * int(pow10[lead-n])
		}
		if n-lead >= len(pow10) {
			return weight, int(u / 1e9 / uint64(pow10[n-lead-9]))
		}
		return weight, int(u / uint64(pow10[n-lead]))
	}
	var c, p apd.BigInt
	c.Quo(&d.big.Coeff, bigPow10(&p, n-lead))
	return weight, int(c.Int64())
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// divScale chooses the display scale of d / e: enough digits that the quotient has at least 16
// significant ones (counted in groups of four, as Postgres does), and no fewer than either input.
func divScale(d, e Decimal) int {
	w1, f1 := d.weight()
	w2, f2 := e.weight()
	w := w1 - w2
	if f1 <= f2 {
		w--
	}
	s := max(minSigDigits-w*4, int(d.scale), int(e.scale), 0)
	return min(s, maxResultScale)
}

// Div gives d / e, rounded half away from zero at the display scale that Postgres chooses.
func (d Decimal) Div(e Decimal) (Decimal, error) {
	if d.form|e.form != Finite {
		switch {
		case d.form == NaN || e.form == NaN:
			return DecNaN, nil
		case d.form != Finite && e.form != Finite:
			return DecNaN, nil
		case d.form == Finite:
			return Decimal{}, nil
		case e.Sign() == 0:
			return Decimal{}, errDivisionByZero
		case e.Sign() < 0:
			return d.Neg(), nil
		}
		return d, nil
	}
	if e.IsZero() {
		return Decimal{}, errDivisionByZero
	}
	return d.divTo(e, divScale(d, e), true)
}

// divTo gives d / e at a display scale, for finite d and e and e not zero.
func (d Decimal) divTo(e Decimal, scale int, round bool) (Decimal, error) {
	k := scale + int(e.scale) - int(d.scale)
	if d.big == nil && e.big == nil && k >= 0 && k < len(pow10) {
		a, b := abs64(d.coef), abs64(e.coef)
		hi, lo := bits.Mul64(a, uint64(pow10[k]))
		if hi < b {
			q, r := bits.Div64(hi, lo, b)
			if round && r >= b-r && q != 1<<64-1 {
				q++
			}
			if q < 1<<63 {
				c := int64(q)
				if d.coef^e.coef < 0 {
					c = -c
				}
				return Decimal{coef: c, scale: int16(scale)}, nil
			}
		}
	}
	var a, b, p apd.BigInt
	d.signed(&a)
	e.signed(&b)
	if k >= 0 {
		a.Mul(&a, bigPow10(&p, k))
	} else {
		b.Mul(&b, bigPow10(&p, -k))
	}
	if b.Sign() < 0 {
		a.Neg(&a)
		b.Neg(&b)
	}
	divRoundBy(&a, &b, round)
	return checked(&a, scale)
}

// DivTrunc gives the integer quotient of d / e, truncated towards zero, as Postgres's div().
func (d Decimal) DivTrunc(e Decimal) (Decimal, error) {
	if d.form|e.form != Finite || e.IsZero() {
		return d.Div(e)
	}
	return d.divTo(e, 0, false)
}

// Mod gives the remainder of d / e, with the sign of d and the larger of the display scales.
func (d Decimal) Mod(e Decimal) (Decimal, error) {
	switch {
	case d.form == NaN || e.form == NaN:
		return DecNaN, nil
	case e.form != Finite && d.form == Finite:
		return d, nil
	case e.IsZero():
		return Decimal{}, errDivisionByZero
	case d.form != Finite:
		return DecNaN, nil
	}
	if d.big == nil && e.big == nil && d.scale == e.scale && e.coef != -1 {
		return Decimal{coef: d.coef % e.coef, scale: d.scale}, nil
	}
	var a, b apd.BigInt
	scale := alignBig(d, e, &a, &b)
	return fromBig(a.Rem(&a, &b), scale), nil
}

// Cmp orders decimals by value: -Infinity, the numbers, Infinity, NaN. It gives -1, 0 or 1.
func (d Decimal) Cmp(e Decimal) int {
	if d.big == nil && e.big == nil && d.form|e.form == Finite && d.scale == e.scale {
		switch {
		case d.coef < e.coef:
			return -1
		case d.coef > e.coef:
			return 1
		}
		return 0
	}
	return d.cmpSlow(e)
}

// rank orders the forms.
func (f DecimalForm) rank() int {
	switch f {
	case NegInfinite:
		return -1
	case Infinite:
		return 1
	case NaN:
		return 2
	}
	return 0
}

func (d Decimal) cmpSlow(e Decimal) int {
	if d.form|e.form != Finite {
		return cmpInt(int64(d.form.rank()), int64(e.form.rank()))
	}
	s := d.Sign()
	if c := cmpInt(int64(s), int64(e.Sign())); c != 0 || s == 0 {
		return c
	}
	// Values of different magnitude need no common scale.
	if c := cmpInt(int64(d.intDigits()), int64(e.intDigits())); c != 0 {
		return c * s
	}
	if d.big == nil && e.big == nil {
		k := int(d.scale) - int(e.scale)
		if k > 0 && k < len(pow10) {
			if m, ok := mul64(e.coef, pow10[k]); ok {
				return cmpInt(d.coef, m)
			}
		} else if k < 0 && -k < len(pow10) {
			if m, ok := mul64(d.coef, pow10[-k]); ok {
				return cmpInt(m, e.coef)
			}
		}
	}
	var a, b apd.BigInt
	alignBig(d, e, &a, &b)
	return a.Cmp(&b)
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Equal says whether d and e are the same value: 1.0 equals 1.00, NaN equals NaN.
func (d Decimal) Equal(e Decimal) bool { return d.Cmp(e) == 0 }

// Trim gives the equal value with the smallest display scale.
func (d Decimal) Trim() Decimal {
	if d.form != Finite || d.scale == 0 {
		return d
	}
	if d.big == nil {
		if d.coef == 0 {
			return Decimal{}
		}
		for d.scale >= 4 && d.coef%10000 == 0 {
			d.coef, d.scale = d.coef/10000, d.scale-4
		}
		for d.scale > 0 && d.coef%10 == 0 {
			d.coef, d.scale = d.coef/10, d.scale-1
		}
		return d
	}
	var c, q, r, p apd.BigInt
	d.signed(&c)
	scale := int(d.scale)
	for step := 1024; step > 0; step /= 2 {
		bigPow10(&p, step)
		for scale >= step {
			q.QuoRem(&c, &p, &r)
			if r.Sign() != 0 {
				break
			}
			c.Set(&q)
			scale -= step
		}
	}
	return fromBig(&c, scale)
}

// Hash gives a hash of the value: equal Decimals have equal hashes whatever their display scale.
func (d Decimal) Hash() uint64 {
	if d.form != Finite {
		return mix(uint64(d.form), 0x9e3779b97f4a7c15)
	}
	d = d.Trim()
	if d.big == nil {
		return mix(uint64(d.coef), uint64(d.scale)+0x8ebc6af09c88c6e3)
	}
	h := HashString(string(d.big.Coeff.Bytes()))
	if d.big.Negative {
		h = ^h
	}
	return mix(h, uint64(d.scale)+0x589965cc75374cc3)
}

// rescale gives d with n digits after the point (n may be negative, then the display scale is 0),
// rounded half away from zero or cut.
func (d Decimal) rescale(n int, round bool) Decimal {
	if d.form != Finite {
		return d
	}
	k := n - int(d.scale)
	if k == 0 {
		return d
	}
	if d.big == nil {
		switch {
		case d.coef == 0:
			return Decimal{scale: int16(max(n, 0))}
		case k > 0 && k < len(pow10):
			if m, ok := mul64(d.coef, pow10[k]); ok {
				return Decimal{coef: m, scale: int16(n)}
			}
		case k < 0 && n >= 0 && -k < len(pow10):
			p := pow10[-k]
			q, r := d.coef/p, d.coef%p
			if round && abs64(r) >= uint64(p)-abs64(r) {
				if d.coef < 0 {
					q--
				} else {
					q++
				}
			}
			return Decimal{coef: q, scale: int16(n)}
		}
	}
	var c, p apd.BigInt
	d.signed(&c)
	if k > 0 {
		c.Mul(&c, bigPow10(&p, k))
	} else {
		if -k > d.numDigits()+1 {
			return Decimal{scale: int16(max(n, 0))}
		}
		divRound(&c, -k, round)
		if n < 0 {
			c.Mul(&c, bigPow10(&p, -n))
			n = 0
		}
	}
	return fromBig(&c, n)
}

// Round rounds to n digits after the point, half away from zero; a negative n rounds before it.
func (d Decimal) Round(n int) Decimal { return d.rescale(min(max(n, -2000), 2000), true) }

// Trunc cuts to n digits after the point, towards zero.
func (d Decimal) Trunc(n int) Decimal { return d.rescale(min(max(n, -2000), 2000), false) }

// Ceil gives the smallest integer that is not less than d.
func (d Decimal) Ceil() Decimal {
	t := d.rescale(0, false)
	if d.form == Finite && d.Cmp(t) > 0 {
		return t.Add(NewDecimal(1, 0))
	}
	return t
}

// Floor gives the largest integer that is not greater than d.
func (d Decimal) Floor() Decimal {
	t := d.rescale(0, false)
	if d.form == Finite && d.Cmp(t) < 0 {
		return t.Sub(NewDecimal(1, 0))
	}
	return t
}
