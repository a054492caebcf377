package types

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Roots, exponentials and logarithms. Each chooses the display scale of its result as Postgres
// does, from an estimate of the result's magnitude, computes with guard digits beyond it, and
// rounds once.

// guardDigits is how many digits more than wanted are computed.
const guardDigits = 12

// log10e is the decimal logarithm of e, with the digits that Postgres uses in its estimates.
const log10e = 0.434294481903252

// apdContext makes an apd context of at least the given number of significant digits.
func apdContext(digits int) *apd.Context {
	return &apd.Context{
		Precision:   uint32(max(digits, minSigDigits) + guardDigits),
		MaxExponent: apd.MaxExponent,
		MinExponent: apd.MinExponent,
		Rounding:    apd.RoundHalfUp,
	}
}

// toApd gives a finite d as an apd.Decimal, which the caller must not modify.
func (d Decimal) toApd() *apd.Decimal {
	if d.big != nil {
		return d.big
	}
	return apd.New(d.coef, -int32(d.scale))
}

// fromApd rounds a finite apd.Decimal to a display scale.
func fromApd(x *apd.Decimal, scale int) (Decimal, error) {
	var c, p apd.BigInt
	c.Set(&x.Coeff)
	if x.Negative {
		c.Neg(&c)
	}
	switch k := int(x.Exponent) + scale; {
	case k > 0:
		c.Mul(&c, bigPow10(&p, k))
	case k < 0:
		if -k > int(x.NumDigits())+1 {
			c.SetInt64(0)
		} else {
			divRound(&c, -k, true)
		}
	}
	return checked(&c, scale)
}

func clampScale(s int) int { return min(max(s, 0), maxResultScale) }

// Sqrt gives the square root.
func (d Decimal) Sqrt() (Decimal, error) {
	switch {
	case d.form == NaN || d.form == Infinite:
		return d, nil
	case d.Sign() < 0:
		return Decimal{}, sqlerr.Newf(sqlerr.InvalidPowerArgument, "cannot take square root of a negative number")
	}
	w, _ := d.weight()
	scale := clampScale(max(minSigDigits-(w*2+1), int(d.scale)))
	// The integer root at one digit more than wanted, then rounding, is exact: a root that is
	// not an integer cannot lie on the rounding boundary.
	var c, p apd.BigInt
	d.signed(&c)
	k := 2*(scale+1) - int(d.scale)
	if k < 0 {
		divRound(&c, -k, false)
	} else {
		c.Mul(&c, bigPow10(&p, k))
	}
	c.Sqrt(&c)
	divRound(&c, 1, true)
	return checked(&c, scale)
}

// expApd sets r to e^x with a number of significant digits. The series of apd gives up beyond a
// thousand terms; for many digits it gets a smaller argument, e^x = (e^(x/10^k))^(10^k).
func expApd(r, x *apd.Decimal, digits int) error {
	if digits < 1500 {
		_, err := apdContext(digits).Exp(r, x)
		return err
	}
	const k = 8
	ctx := apdContext(digits + 2*k)
	small := apd.Decimal{Form: x.Form, Negative: x.Negative, Exponent: x.Exponent - k}
	small.Coeff.Set(&x.Coeff)
	if _, err := ctx.Exp(r, &small); err != nil {
		return err
	}
	_, err := ctx.Pow(r, r, apd.New(pow10[k], 0))
	return err
}

// Exp gives e to the power of d.
func (d Decimal) Exp() (Decimal, error) {
	switch d.form {
	case NaN, Infinite:
		return d, nil
	case NegInfinite:
		return Decimal{}, nil
	}
	x := d.approx()
	val := min(max(x*log10e, -2000), 2000)
	scale := clampScale(max(minSigDigits-int(val), int(d.scale)))
	if math.Abs(x) >= 6000 {
		if x > 0 {
			return Decimal{}, errNumericOverflow
		}
		return Decimal{scale: int16(scale)}, nil
	}
	var r apd.Decimal
	if err := expApd(&r, d.toApd(), scale+max(int(x*log10e), 0)+2); err != nil {
		return Decimal{}, errNumericOverflow
	}
	return fromApd(&r, scale)
}

// lnWeight estimates the decimal position of the first digit of ln(d), for d > 0.
func (d Decimal) lnWeight() int {
	if d.Cmp(NewDecimal(9, 1)) >= 0 && d.Cmp(NewDecimal(11, 1)) <= 0 {
		x := d.Sub(NewDecimal(1, 0))
		if x.IsZero() {
			return 0
		}
		w, first := x.weight()
		return w*4 + int(math.Log10(float64(first)))
	}
	w, _ := d.weight()
	w *= 4
	// The first eight digits, in groups of four, say enough.
	f, n := d.leading(2)
	w -= 4 * (n - 1)
	return int(math.Log10(math.Abs(math.Log(f) + float64(w)*2.302585092994046)))
}

// leading gives the first base-10000 digits of |d| as a number, at most max of them and no
// trailing zero digits, and how many these are.
func (d Decimal) leading(max int) (f float64, n int) {
	w, _ := d.weight()
	t := d.Abs().Trim()
	// Digits of value below 10000^(w-max+1) are cut.
	cut := t.Trunc(-(w - max + 1) * 4)
	if cut.IsZero() {
		return 0, 1
	}
	last := w - max + 1
	for n = max; n > 1; n-- {
		r := cut.Trunc(-(last + 1) * 4)
		if !r.Equal(cut) {
			break
		}
		last++
	}
	// Shift so that the last of these digits has weight 0.
	var c, p apd.BigInt
	cut.signed(&c)
	if k := int(cut.scale) + last*4; k > 0 {
		c.Quo(&c, bigPow10(&p, k))
	} else {
		c.Mul(&c, bigPow10(&p, -k))
	}
	b := fromBig(&c, 0)
	return b.approx(), n
}

// ln computes the natural logarithm of d > 0 to at least the given number of decimals.
func (d Decimal) ln(decimals int) (*apd.Decimal, error) {
	r := new(apd.Decimal)
	if d.Equal(NewDecimal(1, 0)) {
		return r, nil
	}
	if _, err := apdContext(decimals+8).Ln(r, d.toApd()); err != nil {
		return nil, errNumericOverflow
	}
	return r, nil
}

// checkLog rejects what has no logarithm.
func (d Decimal) checkLog() error {
	switch s := d.Sign(); {
	case d.form == NaN:
	case s < 0:
		return sqlerr.Newf(sqlerr.InvalidLogArgument, "cannot take logarithm of a negative number")
	case s == 0:
		return sqlerr.Newf(sqlerr.InvalidLogArgument, "cannot take logarithm of zero")
	}
	return nil
}

// Ln gives the natural logarithm.
func (d Decimal) Ln() (Decimal, error) {
	if err := d.checkLog(); err != nil || d.form != Finite {
		return d, err
	}
	scale := clampScale(max(minSigDigits-d.lnWeight(), int(d.scale)))
	r, err := d.ln(scale)
	if err != nil {
		return Decimal{}, err
	}
	return fromApd(r, scale)
}

// Log gives the logarithm of d to a base.
func (d Decimal) Log(base Decimal) (Decimal, error) {
	if d.form == NaN || base.form == NaN {
		return DecNaN, nil
	}
	if err := base.checkLog(); err != nil {
		return Decimal{}, err
	}
	if err := d.checkLog(); err != nil {
		return Decimal{}, err
	}
	switch {
	case base.form != Finite && d.form != Finite:
		return DecNaN, nil
	case base.form != Finite:
		return Decimal{}, nil
	case d.form != Finite:
		return d, nil
	}
	bw, dw := base.lnWeight(), d.lnWeight()
	scale := clampScale(max(minSigDigits-(dw-bw), int(base.scale), int(d.scale)))
	digits := scale + max(dw-bw, 0) + 8
	lb, err := base.ln(digits - min(bw, 0))
	if err != nil {
		return Decimal{}, err
	}
	if lb.IsZero() {
		return Decimal{}, errDivisionByZero
	}
	ln, err := d.ln(digits - min(dw, 0))
	if err != nil {
		return Decimal{}, err
	}
	var r apd.Decimal
	if _, err := apdContext(digits).Quo(&r, ln, lb); err != nil {
		return Decimal{}, errNumericOverflow
	}
	return fromApd(&r, scale)
}

// isInt says whether a finite d has no fraction.
func (d Decimal) isInt() bool { return d.Trim().scale == 0 }

// Power gives d to the power of e.
func (d Decimal) Power(e Decimal) (Decimal, error) {
	one := NewDecimal(1, 0)
	if d.form|e.form != Finite {
		return d.powerSpecial(e)
	}
	if d.Sign() == 0 && e.Sign() < 0 {
		return Decimal{}, sqlerr.Newf(sqlerr.InvalidPowerArgument, "zero raised to a negative power is undefined")
	}
	if d.Sign() < 0 && !e.isInt() {
		return Decimal{}, sqlerr.Newf(sqlerr.InvalidPowerArgument, "a negative number raised to a non-integer power yields a complex result")
	}
	if t := e.Trim(); t.big == nil && t.scale == 0 && fits32(t.coef) {
		return d.powerInt(int(t.coef))
	}
	if d.IsZero() {
		return Decimal{scale: minSigDigits}, nil
	}
	neg := false
	base := d
	if d.Sign() < 0 {
		base = d.Abs()
		half, err := e.Mod(NewDecimal(2, 0))
		neg = err == nil && !half.IsZero()
	}
	low, err := base.ln(max(8-base.lnWeight(), 0))
	if err != nil {
		return Decimal{}, err
	}
	var prod apd.Decimal
	if _, err := apdContext(24).Mul(&prod, low, e.toApd()); err != nil {
		return Decimal{}, errNumericOverflow
	}
	val, ferr := prod.Float64()
	if ferr != nil || math.Abs(val) > 6020 {
		if !prod.Negative {
			return Decimal{}, errNumericOverflow
		}
		return Decimal{scale: maxResultScale}, nil
	}
	val *= log10e
	scale := clampScale(max(minSigDigits-int(val), int(base.scale), int(e.scale)))
	if base.Equal(one) {
		r := one.rescale(scale, true)
		if neg {
			r = r.Neg()
		}
		return r, nil
	}
	digits := scale + max(int(val), 0) + 8
	ln, err := base.ln(digits + e.numDigits() - min(base.lnWeight(), 0))
	if err != nil {
		return Decimal{}, err
	}
	ctx := apdContext(digits + e.numDigits() + 8)
	if _, err := ctx.Mul(&prod, ln, e.toApd()); err != nil {
		return Decimal{}, errNumericOverflow
	}
	var r apd.Decimal
	if err := expApd(&r, &prod, digits); err != nil {
		return Decimal{}, errNumericOverflow
	}
	r.Negative = neg
	return fromApd(&r, scale)
}

// powerInt gives d to an integer power.
func (d Decimal) powerInt(n int) (Decimal, error) {
	f := 0.0
	if !d.IsZero() {
		w, _ := d.weight()
		lead, k := d.leading(4)
		f = float64(n) * (math.Log10(lead) + float64((w-k+1)*4))
	}
	if f > (math.MaxInt16+1)*4 {
		return Decimal{}, errNumericOverflow
	}
	scale := clampScale(max(minSigDigits, int(d.scale)))
	if f+1 < -float64(scale) {
		return Decimal{scale: int16(scale)}, nil
	}
	switch n {
	case 0:
		return NewDecimal(1, 0).rescale(scale, true), nil
	case 1:
		return d.rescale(scale, true), nil
	case -1:
		return NewDecimal(1, 0).divTo(d, scale, true)
	case 2:
		m, err := d.Mul(d)
		return m.rescale(scale, true), err
	}
	if d.IsZero() {
		return Decimal{scale: int16(scale)}, nil
	}
	digits := scale + max(int(f), 0) + 8
	var r apd.Decimal
	exp := apd.New(int64(n), 0)
	if d.Abs().Trim().Equal(NewDecimal(1, 0)) {
		r.SetInt64(1)
		r.Negative = d.Sign() < 0 && n%2 != 0
	} else if _, err := apdContext(digits).Pow(&r, d.Trim().toApd(), exp); err != nil {
		return Decimal{}, errNumericOverflow
	}
	return fromApd(&r, scale)
}

// powerSpecial is Power where an operand is NaN or infinite.
func (d Decimal) powerSpecial(e Decimal) (Decimal, error) {
	one := NewDecimal(1, 0)
	switch {
	// 1 to anything and anything to 0 are 1, even for NaN.
	case d.form == Finite && d.Equal(one), e.form == Finite && e.IsZero():
		return one, nil
	case d.form == NaN || e.form == NaN:
		return DecNaN, nil
	case d.Sign() == 0 && e.Sign() < 0:
		return Decimal{}, sqlerr.Newf(sqlerr.InvalidPowerArgument, "zero raised to a negative power is undefined")
	case d.Sign() < 0 && e.form == Finite && !e.isInt():
		return Decimal{}, sqlerr.Newf(sqlerr.InvalidPowerArgument, "a negative number raised to a non-integer power yields a complex result")
	}
	if e.form != Finite {
		abs := d.Abs()
		switch c := abs.Cmp(one); {
		case c == 0:
			return one, nil
		case (c > 0) == (e.form == Infinite):
			return DecInf, nil
		}
		return Decimal{}, nil
	}
	// The base is infinite.
	if e.Sign() < 0 {
		return Decimal{}, nil
	}
	if d.form == NegInfinite {
		half, err := e.Mod(NewDecimal(2, 0))
		if err == nil && !half.IsZero() {
			return DecNegInf, nil
		}
	}
	return DecInf, nil
}
