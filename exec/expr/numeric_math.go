package expr

import (
	"math"

	"github.com/cockroachdb/apd/v3"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Transcendental functions of numeric. Postgres chooses the scale of a result so that it has about 16
// significant digits, by estimates that this file repeats; the value is computed with guard digits
// and rounded to that scale.

const (
	minSigDigits  = 16
	maxScale      = 1000
	maxResultSize = 2000
	guard         = 12
)

var (
	errNumericOverflow = sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
	errZeroNegPower    = sqlerr.Newf(sqlerr.InvalidPowerArgument, "zero raised to a negative power is undefined")
	errComplexPower    = sqlerr.Newf(sqlerr.InvalidPowerArgument,
		"a negative number raised to a non-integer power yields a complex result")
)

func toApd(d types.Decimal) *apd.Decimal {
	a, _, err := apd.NewFromString(d.String())
	if err != nil {
		panic("expr: a numeric does not read back: " + d.String())
	}
	return a
}

// fromApd rounds to scale digits after the point.
func fromApd(a *apd.Decimal, scale int) (types.Decimal, error) {
	d, err := types.ParseDecimal(a.Text('f'))
	if err != nil {
		return d, err
	}
	return d.Round(scale), nil
}

// bound limits a display scale.
func bound(scale int, ds ...types.Decimal) int {
	for _, d := range ds {
		scale = max(scale, d.Scale())
	}
	return min(max(scale, 0), maxScale)
}

// exponent10 is the exponent of the first significant digit: 3 for 1234.
func exponent10(a *apd.Decimal) int { return int(a.NumDigits()) + int(a.Exponent) - 1 }

// weight is the exponent of the first digit in base 10000, Postgres's base.
func weight(a *apd.Decimal) int { return floorDiv(exponent10(a), 4) }

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func apdContext(digits int) *apd.Context {
	c := apd.BaseContext.WithPrecision(uint32(max(digits, 1)))
	c.MaxExponent, c.MinExponent = 100000, -100000
	c.Traps = 0
	return c
}

func sqrtDecimal(d types.Decimal) (types.Decimal, error) {
	switch d.Form() {
	case types.NaN, types.Infinite:
		return d, nil
	}
	if d.Sign() < 0 {
		return d, sqlerr.Newf(sqlerr.InvalidPowerArgument, "cannot take square root of a negative number")
	}
	// A zero counts as having weight 0.
	a, sweight := toApd(d), 1
	if !d.IsZero() {
		sweight = (weight(a)+1)*2 - 1
	}
	scale := bound(minSigDigits-sweight, d)
	var x apd.Decimal
	if _, err := apdContext(scale+max(exponent10(a)/2, 0)+guard).Sqrt(&x, a); err != nil {
		return d, err
	}
	return fromApd(&x, scale)
}

func expDecimal(d types.Decimal) (types.Decimal, error) {
	switch d.Form() {
	case types.NaN, types.Infinite:
		return d, nil
	case types.NegInfinite:
		return types.NewDecimal(0, 0), nil
	}
	f, err := d.ToFloat64()
	if err != nil {
		return d, err
	}
	return expApd(toApd(d), f, d)
}

// expApd is e to the power of a, which is about f; ds give the least scale.
func expApd(a *apd.Decimal, f float64, ds ...types.Decimal) (types.Decimal, error) {
	if math.Abs(f) >= maxResultSize*3 {
		if f > 0 {
			return types.Decimal{}, errNumericOverflow
		}
		return types.NewDecimal(0, bound(maxScale)), nil
	}
	digits := f * math.Log10E
	digits = min(max(digits, -maxResultSize), maxResultSize)
	scale := bound(minSigDigits-int(digits), ds...)
	var x apd.Decimal
	if _, err := apdContext(max(scale+int(digits)+guard, guard)).Exp(&x, a); err != nil {
		return types.Decimal{}, err
	}
	return fromApd(&x, scale)
}

// lnWeight estimates the exponent of the first digit of the logarithm of a positive number.
func lnWeight(a *apd.Decimal) int {
	lo, hi := apd.New(9, -1), apd.New(11, -1)
	if a.Cmp(lo) >= 0 && a.Cmp(hi) <= 0 {
		var x apd.Decimal
		if _, err := apdContext(int(a.NumDigits())+10).Sub(&x, a, apd.New(1, 0)); err != nil || x.IsZero() {
			return 0
		}
		// The first digit in base 10000 decides, as in Postgres.
		return weight(&x)*4 + int(math.Log10(leading(&x, 4)))
	}
	ln := math.Log(leading(a, 8)) + float64(weight(a)*4-4)*math.Ln10
	return int(math.Log10(math.Abs(ln)))
}

// leading gives the first one or two digits in base 10000 (digits 4 or 8) as a number.
func leading(a *apd.Decimal, digits int) float64 {
	f, err := new(apd.Decimal).Abs(a).Float64()
	if err != nil {
		return 1
	}
	return math.Trunc(f / math.Pow10(weight(a)*4-(digits-4)))
}

func checkLog(d types.Decimal) error {
	switch {
	case d.IsNaN():
		return nil
	case d.Sign() == 0:
		return sqlerr.Newf(sqlerr.InvalidLogArgument, "cannot take logarithm of zero")
	case d.Sign() < 0:
		return sqlerr.Newf(sqlerr.InvalidLogArgument, "cannot take logarithm of a negative number")
	}
	return nil
}

func lnDecimal(d types.Decimal) (types.Decimal, error) {
	if err := checkLog(d); err != nil || !d.IsFinite() {
		return d, err
	}
	a := toApd(d)
	w := lnWeight(a)
	scale := bound(minSigDigits-w, d)
	x, err := lnApd(a, scale+max(w, 0)+guard)
	if err != nil {
		return d, err
	}
	return fromApd(x, scale)
}

func lnApd(a *apd.Decimal, digits int) (*apd.Decimal, error) {
	var x apd.Decimal
	_, err := apdContext(digits+4).Ln(&x, a)
	return &x, err
}

func logDecimal(base, d types.Decimal) (types.Decimal, error) {
	if base.IsNaN() || d.IsNaN() {
		return types.DecNaN, nil
	}
	for _, x := range []types.Decimal{base, d} {
		if err := checkLog(x); err != nil {
			return d, err
		}
	}
	switch {
	case !base.IsFinite() && !d.IsFinite():
		return types.DecNaN, nil
	case !base.IsFinite():
		return types.NewDecimal(0, 0), nil
	case !d.IsFinite():
		return d, nil
	}
	b, a := toApd(base), toApd(d)
	wb, wa := lnWeight(b), lnWeight(a)
	scale := bound(minSigDigits-(wa-wb), base, d)
	digits := scale + max(wa-wb, 0) + guard + 8
	lb, err := lnApd(b, digits+max(wb, 0))
	if err != nil {
		return d, err
	}
	la, err := lnApd(a, digits+max(wa, 0))
	if err != nil {
		return d, err
	}
	if lb.IsZero() {
		return d, errDivZero
	}
	var x apd.Decimal
	if _, err := apdContext(digits).Quo(&x, la, lb); err != nil {
		return d, err
	}
	return fromApd(&x, scale)
}

func isInteger(d types.Decimal) bool { return d.IsFinite() && d.Trunc(0).Cmp(d) == 0 }

func powDecimal(base, e types.Decimal) (types.Decimal, error) {
	one := types.NewDecimal(1, 0)
	if !base.IsFinite() || !e.IsFinite() {
		return powSpecial(base, e)
	}
	switch {
	case base.IsZero() && e.Sign() < 0:
		return base, errZeroNegPower
	case base.Sign() < 0 && !isInteger(e):
		return base, errComplexPower
	}
	if isInteger(e) {
		if n, err := e.Int64(types.Int4); err == nil {
			return powInt(base, n)
		}
	}
	if base.IsZero() {
		return types.NewDecimal(0, minSigDigits), nil
	}
	neg := false
	if base.Sign() < 0 {
		two := types.NewDecimal(2, 0)
		m, err := e.Mod(two)
		if err != nil {
			return base, err
		}
		neg, base = !m.IsZero(), base.Abs()
	}
	if base.Cmp(one) == 0 {
		return one.Round(bound(minSigDigits, base, e)), nil
	}
	a := toApd(base)
	w := lnWeight(a)
	x, err := lnApd(a, 60+max(w, 0)+e.Scale())
	if err != nil {
		return base, err
	}
	f, err := x.Float64()
	if err != nil {
		return base, err
	}
	ef, err := e.ToFloat64()
	if err != nil {
		return base, err
	}
	if f *= ef; math.Abs(f) > maxResultSize*3.01 {
		if f > 0 {
			return base, errNumericOverflow
		}
		return types.NewDecimal(0, 0).Round(maxScale), nil
	}
	// The logarithm needs as many digits as the result and those before the point.
	digits := minSigDigits + int(math.Abs(f)*math.Log10E) + base.Scale() + e.Scale() + 2*guard
	if x, err = lnApd(a, digits); err != nil {
		return base, err
	}
	if _, err := apdContext(digits+guard).Mul(x, x, toApd(e)); err != nil {
		return base, err
	}
	r, err := expApd(x, f, base, e)
	if neg {
		r = r.Neg()
	}
	return r, err
}

// powInt is an integer power, which has at least 16 digits after the point.
func powInt(base types.Decimal, n int64) (types.Decimal, error) {
	scale := bound(minSigDigits, base)
	if base.IsZero() {
		if n == 0 {
			return types.NewDecimal(1, 0).Round(scale), nil
		}
		return types.NewDecimal(0, scale), nil
	}
	a := toApd(base)
	size := float64(n) * (math.Log10(leading(a, 8)) + float64(weight(a)*4-4))
	if size > 131072 {
		return base, errNumericOverflow
	}
	if size+1 < -float64(scale) {
		return types.NewDecimal(0, scale), nil
	}
	var x apd.Decimal
	ctx := apdContext(int(max(size, 0)) + scale + guard + 8)
	if _, err := ctx.Pow(&x, a, apd.New(n, 0)); err != nil {
		return base, err
	}
	return fromApd(&x, scale)
}

// powSpecial handles NaN and the infinities, by POSIX's rules as Postgres does.
func powSpecial(base, e types.Decimal) (types.Decimal, error) {
	one, zero := types.NewDecimal(1, 0), types.NewDecimal(0, 0)
	switch {
	case base.IsNaN():
		if e.IsFinite() && e.IsZero() {
			return one, nil
		}
		return types.DecNaN, nil
	case e.IsNaN():
		if base.IsFinite() && base.Cmp(one) == 0 {
			return one, nil
		}
		return types.DecNaN, nil
	}
	if base.IsFinite() && base.Cmp(one) == 0 || e.IsFinite() && e.IsZero() {
		return one, nil
	}
	if base.IsFinite() && base.IsZero() {
		if e.Sign() < 0 {
			return base, errZeroNegPower
		}
		return zero, nil
	}
	if !e.IsFinite() {
		c := base.Abs().Cmp(one)
		switch {
		case c == 0:
			return one, nil
		case (c > 0) == (e.Sign() > 0):
			return types.DecInf, nil
		}
		return zero, nil
	}
	switch {
	case base.Form() == types.Infinite && e.Sign() > 0:
		return types.DecInf, nil
	case base.Form() == types.Infinite:
		return zero, nil
	case !isInteger(e):
		return base, errComplexPower
	case e.Sign() < 0:
		return zero, nil
	}
	if m, err := e.Mod(types.NewDecimal(2, 0)); err != nil || !m.IsZero() {
		return types.DecNegInf, err
	}
	return types.DecInf, nil
}
