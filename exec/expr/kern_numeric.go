package expr

import (
	"math"
	"math/bits"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// decArith is +, - or * of numerics. Operands that fit an int64 are computed in place, without an
// allocation; the rest is left to the methods of Decimal.
type decArith struct {
	callNode
	op arith
}

func decArithFactory(op arith) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		return &decArith{newCallNode(call, args), op}, nil
	}
}

func (n *decArith) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	l, r, out := n.argv[0].Dec[:st.n], n.argv[1].Dec[:st.n], n.out.Dec
	if sel != nil {
		for _, i := range sel {
			if err := n.row(st, int(i), &l[i], &r[i], &out[i]); err != nil {
				return nil, err
			}
		}
		return &n.out, nil
	}
	if n.op == opMul {
		for i := range l {
			x, xs, ok1 := l[i].Small()
			y, ys, ok2 := r[i].Small()
			if p, ok := mulSmall(x, y); ok && ok1 && ok2 && xs+ys <= maxSmallScale {
				out[i] = types.NewDecimal(p, xs+ys)
			} else if err := n.row(st, i, &l[i], &r[i], &out[i]); err != nil {
				return nil, err
			}
		}
		return &n.out, nil
	}
	for i := range l {
		if err := n.row(st, i, &l[i], &r[i], &out[i]); err != nil {
			return nil, err
		}
	}
	return &n.out, nil
}

// maxSmallScale keeps products of long fractions to the methods of Decimal, which know the limit.
const maxSmallScale = 1000

// mulSmall multiplies if the product fits. The smallest int64 counts as not fitting.
func mulSmall(a, b int64) (int64, bool) {
	if int64(int32(a)) == a && int64(int32(b)) == b {
		return a * b, true
	}
	p, ok := mulInt64(a, b)
	return p, ok && p != math.MinInt64
}

// pow10 has the powers of ten that fit an int64.
var pow10 = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// scaleUp gives x times 10^n if it fits. A zero always does.
func scaleUp(x int64, n int) (int64, bool) {
	if n >= len(pow10) {
		return 0, x == 0
	}
	return mulSmall(x, pow10[n])
}

// align gives two small coefficients the same scale.
func align(x int64, xs int, y int64, ys int) (_, _ int64, scale int, ok bool) {
	ok = true
	switch {
	case xs < ys:
		x, ok = scaleUp(x, ys-xs)
		xs = ys
	case xs > ys:
		y, ok = scaleUp(y, xs-ys)
	}
	return x, y, xs, ok
}

func (n *decArith) row(st *state, i int, a, b, out *types.Decimal) error {
	x, xs, ok1 := a.Small()
	y, ys, ok2 := b.Small()
	small := ok1 && ok2
	switch n.op {
	case opAdd:
		if small {
			x, y, scale, ok := align(x, xs, y, ys)
			if s := x + y; ok && (x^s)&(y^s) >= 0 && s != math.MinInt64 {
				*out = types.NewDecimal(s, scale)
				return nil
			}
		}
		*out = a.Add(*b)
	case opSub:
		if small {
			x, y, scale, ok := align(x, xs, y, ys)
			if s := x - y; ok && (x^y)&(x^s) >= 0 && s != math.MinInt64 {
				*out = types.NewDecimal(s, scale)
				return nil
			}
		}
		*out = a.Sub(*b)
	case opMul:
		if small && xs+ys <= maxSmallScale {
			if p, ok := mulSmall(x, y); ok {
				*out = types.NewDecimal(p, xs+ys)
				return nil
			}
		}
		if n.out.Nulls.Get(i) {
			return nil
		}
		p, err := a.Mul(*b)
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		*out = p
	}
	return nil
}

// decUnary wraps a method of Decimal.
func decUnary(f func(types.Decimal) types.Decimal) factory { return unary(f) }

func signDecimal(d types.Decimal) types.Decimal {
	if d.IsNaN() {
		return d
	}
	return types.NewDecimal(int64(d.Sign()), 0)
}

func minScale(d types.Decimal) int { return d.Trim().Scale() }

func gcdDecimal(a, b types.Decimal) (types.Decimal, error) {
	if !a.IsFinite() || !b.IsFinite() {
		return types.DecNaN, nil
	}
	scale := max(a.Scale(), b.Scale())
	x, y := a.Abs(), b.Abs()
	for !y.IsZero() {
		m, err := x.Mod(y)
		if err != nil {
			return x, err
		}
		x, y = y, m
	}
	return x.Round(scale), nil
}

func lcmDecimal(a, b types.Decimal) (types.Decimal, error) {
	if !a.IsFinite() || !b.IsFinite() {
		return types.DecNaN, nil
	}
	scale := max(a.Scale(), b.Scale())
	if a.IsZero() || b.IsZero() {
		return types.NewDecimal(0, scale), nil
	}
	g, err := gcdDecimal(a, b)
	if err != nil {
		return g, err
	}
	q, err := a.DivTrunc(g)
	if err != nil {
		return q, err
	}
	p, err := q.Mul(b)
	if err != nil {
		return p, err
	}
	return p.Abs().Round(scale), nil
}

func factorial(n int64) (types.Decimal, error) {
	switch {
	case n < 0:
		return types.Decimal{}, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "factorial of a negative number is undefined")
	case n > 32177:
		return types.Decimal{}, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
	}
	r := types.NewDecimal(1, 0)
	for i := int64(2); i <= n; i++ {
		// Small factors are collected so that the long product is multiplied less often.
		f := i
		for i < n {
			h, l := bits.Mul64(uint64(f), uint64(i+1))
			if h != 0 || l > 1<<62 {
				break
			}
			f, i = int64(l), i+1
		}
		var err error
		if r, err = r.Mul(types.NewDecimal(f, 0)); err != nil {
			return r, err
		}
	}
	return r, nil
}

func widthBucketDecimal(x, lo, hi types.Decimal, n int64) (int64, error) {
	switch {
	case n <= 0:
		return 0, sqlerr.Newf(sqlerr.InvalidWidthBucketArgument, "count must be greater than zero")
	case x.IsNaN() || lo.IsNaN() || hi.IsNaN():
		return 0, sqlerr.Newf(sqlerr.InvalidWidthBucketArgument, "operand, lower bound, and upper bound cannot be NaN")
	case !lo.IsFinite() || !hi.IsFinite():
		return 0, sqlerr.Newf(sqlerr.InvalidWidthBucketArgument, "lower and upper bounds must be finite")
	case lo.Cmp(hi) == 0:
		return 0, sqlerr.Newf(sqlerr.InvalidWidthBucketArgument, "lower bound cannot equal upper bound")
	}
	if lo.Cmp(hi) > 0 {
		x, lo, hi = x.Neg(), lo.Neg(), hi.Neg()
	}
	switch {
	case x.Cmp(lo) < 0:
		return 0, nil
	case x.Cmp(hi) >= 0:
		if n == math.MaxInt32 {
			return 0, rangeError(types.Int4)
		}
		return n + 1, nil
	}
	p, err := x.Sub(lo).Mul(types.NewDecimal(n, 0))
	if err != nil {
		return 0, err
	}
	q, err := p.DivTrunc(hi.Sub(lo))
	if err != nil {
		return 0, err
	}
	b, err := q.Int64(types.Int4)
	return b + 1, err
}

func addNumericKernels(t table) {
	t.add("+(numeric,numeric)", decArithFactory(opAdd))
	t.add("-(numeric,numeric)", decArithFactory(opSub))
	t.add("*(numeric,numeric)", decArithFactory(opMul))
	t.add("/(numeric,numeric)", binaryErr(types.Decimal.Div))
	t.add("%(numeric,numeric)", binaryErr(types.Decimal.Mod))
	t.add("mod(numeric,numeric)", binaryErr(types.Decimal.Mod))
	t.add("div(numeric,numeric)", binaryErr(types.Decimal.DivTrunc))
	t.add("+(numeric)", identity)
	one := func(name string, f func(types.Decimal) types.Decimal) { t.add(name+"(numeric)", decUnary(f)) }
	one("-", types.Decimal.Neg)
	one("@", types.Decimal.Abs)
	one("abs", types.Decimal.Abs)
	one("ceil", types.Decimal.Ceil)
	one("ceiling", types.Decimal.Ceil)
	one("floor", types.Decimal.Floor)
	one("sign", signDecimal)
	one("round", func(d types.Decimal) types.Decimal { return d.Round(0) })
	one("trunc", func(d types.Decimal) types.Decimal { return d.Trunc(0) })
	one("trim_scale", types.Decimal.Trim)
	t.add("round(numeric,int4)", binaryErr(func(d types.Decimal, n int64) (types.Decimal, error) { return d.Round(int(n)), nil }))
	t.add("trunc(numeric,int4)", binaryErr(func(d types.Decimal, n int64) (types.Decimal, error) { return d.Trunc(int(n)), nil }))
	scaleOf := func(f func(types.Decimal) int) factory {
		return datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
			if !a[0].Dec.IsFinite() {
				return types.Null, nil
			}
			return types.DInt(int64(f(a[0].Dec))), nil
		})
	}
	t.add("scale(numeric)", scaleOf(types.Decimal.Scale))
	t.add("min_scale(numeric)", scaleOf(minScale))
	t.add("gcd(numeric,numeric)", binaryErr(gcdDecimal))
	t.add("lcm(numeric,numeric)", binaryErr(lcmDecimal))
	t.add("factorial(int8)", unaryErr(factorial))
	t.add("sqrt(numeric)", unaryErr(types.Decimal.Sqrt))
	t.add("exp(numeric)", unaryErr(types.Decimal.Exp))
	t.add("ln(numeric)", unaryErr(types.Decimal.Ln))
	log10 := unaryErr(func(d types.Decimal) (types.Decimal, error) { return d.Log(types.NewDecimal(10, 0)) })
	t.add("log(numeric)", log10)
	t.add("log10(numeric)", log10)
	t.add("log(numeric,numeric)", binaryErr(func(base, d types.Decimal) (types.Decimal, error) { return d.Log(base) }))
	for _, name := range []string{"^", "power", "pow"} {
		t.add(name+"(numeric,numeric)", binaryErr(types.Decimal.Power))
	}
	t.add("width_bucket(numeric,numeric,numeric,int4)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		b, err := widthBucketDecimal(a[0].Dec, a[1].Dec, a[2].Dec, a[3].I)
		return types.DInt(b), err
	}))
}
