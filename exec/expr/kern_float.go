package expr

import (
	"math"
	"math/rand/v2"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

var (
	errOverflow  = sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value out of range: overflow")
	errUnderflow = sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value out of range: underflow")
	errRange     = sqlerr.Newf(sqlerr.NumericValueOutOfRange, "input is out of range")
)

// floatArith is +, -, * or / of floats; single rounds results to float4.
type floatArith struct {
	callNode
	op     arith
	single bool
}

func floatArithFactory(op arith, single bool) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		return &floatArith{newCallNode(call, args), op, single}, nil
	}
}

func (n *floatArith) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	l, r := n.argv[0].Float[:st.n], n.argv[1].Float[:st.n]
	out := n.out.Float
	if n.loop(out, l, r) {
		return &n.out, nil
	}
	return &n.out, st.rows(sel, func(i int) error {
		if n.out.Nulls.Get(i) {
			return nil
		}
		x, err := n.exact(l[i], r[i])
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		out[i] = x
		return nil
	})
}

// loop computes all rows; false means that some result needs to be looked at.
func (n *floatArith) loop(dst, l, r []float64) bool {
	// x-x is 0 for finite x and NaN otherwise, and so is every sum of it.
	odd := 0.0
	zero := false // some result is 0 though it should not be
	dst, r = dst[:len(l)], r[:len(l)]
	switch n.op {
	case opAdd:
		for i, a := range l {
			x := a + r[i]
			dst[i] = x
			odd += x - x
		}
	case opSub:
		for i, a := range l {
			x := a - r[i]
			dst[i] = x
			odd += x - x
		}
	case opMul:
		for i, a := range l {
			b := r[i]
			x := a * b
			dst[i] = x
			odd += x - x
			if x == 0 && a != 0 && b != 0 {
				zero = true
			}
		}
	case opDiv:
		for i, a := range l {
			x := a / r[i]
			dst[i] = x
			odd += x - x
			if x == 0 && a != 0 {
				zero = true
			}
		}
	}
	if n.single {
		for i, x := range dst {
			y := float64(float32(x))
			dst[i] = y
			odd += y - y
			if y == 0 && x != 0 {
				zero = true
			}
		}
	}
	return odd == 0 && !zero
}

func (n *floatArith) exact(a, b float64) (float64, error) {
	var x float64
	mayUnderflow := false
	switch n.op {
	case opAdd:
		x = a + b
	case opSub:
		x = a - b
	case opMul:
		x = a * b
		mayUnderflow = a != 0 && b != 0
	case opDiv:
		if b == 0 && !math.IsNaN(a) {
			return 0, errDivZero
		}
		x = a / b
		mayUnderflow = a != 0 && !math.IsInf(b, 0)
	}
	if n.single {
		x = float64(float32(x))
	}
	switch {
	case math.IsInf(x, 0) && !math.IsInf(a, 0) && (n.op == opDiv || !math.IsInf(b, 0)):
		return 0, errOverflow
	case x == 0 && mayUnderflow:
		return 0, errUnderflow
	}
	return x, nil
}

// checked gives a function of one float that must not turn a finite number into an infinity.
func checked(f func(float64) float64) factory {
	return unaryErr(func(a float64) (float64, error) {
		x := f(a)
		if math.IsInf(x, 0) && !math.IsInf(a, 0) {
			return 0, errOverflow
		}
		return x, nil
	})
}

// trig is a function that has no value at the infinities.
func trig(f func(float64) float64) factory {
	return unaryErr(func(a float64) (float64, error) {
		if math.IsInf(a, 0) {
			return 0, errRange
		}
		x := f(a)
		if math.IsInf(x, 0) {
			return x, nil
		}
		return x, nil
	})
}

// within is a function defined between lo and hi only.
func within(lo, hi float64, f func(float64) float64) factory {
	return unaryErr(func(a float64) (float64, error) {
		if a < lo || a > hi {
			return 0, errRange
		}
		return f(a), nil
	})
}

// roundFloat rounds half to even.
func roundFloat(a float64) float64 { return math.RoundToEven(a) }

func signFloat(a float64) float64 {
	switch {
	case a > 0:
		return 1
	case a < 0:
		return -1
	}
	return 0
}

func sqrtFloat(a float64) (float64, error) {
	if a < 0 {
		return 0, sqlerr.Newf(sqlerr.InvalidPowerArgument, "cannot take square root of a negative number")
	}
	return math.Sqrt(a), nil
}

func logFloat(f func(float64) float64) func(float64) (float64, error) {
	return func(a float64) (float64, error) {
		switch {
		case a == 0:
			return 0, sqlerr.Newf(sqlerr.InvalidLogArgument, "cannot take logarithm of zero")
		case a < 0:
			return 0, sqlerr.Newf(sqlerr.InvalidLogArgument, "cannot take logarithm of a negative number")
		}
		return f(a), nil
	}
}

func expFloat(a float64) (float64, error) {
	x := math.Exp(a)
	switch {
	case math.IsInf(x, 1) && !math.IsInf(a, 1):
		return 0, errOverflow
	case x == 0 && !math.IsInf(a, -1):
		return 0, errUnderflow
	}
	return x, nil
}

func powFloat(a, b float64) (float64, error) {
	switch {
	case a == 0 && b < 0:
		return 0, sqlerr.Newf(sqlerr.InvalidPowerArgument, "zero raised to a negative power is undefined")
	case a < 0 && math.Floor(b) != b && !math.IsInf(b, 0) && !math.IsNaN(b):
		return 0, sqlerr.Newf(sqlerr.InvalidPowerArgument, "a negative number raised to a non-integer power yields a complex result")
	}
	x := math.Pow(a, b)
	if !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		switch {
		case math.IsInf(x, 0):
			return 0, errOverflow
		case x == 0 && a != 0:
			return 0, errUnderflow
		}
	}
	return x, nil
}

// In degrees, multiples of 30 and 45 degrees must come out exactly.

// degree is a variable, so that constants are multiplied with it as everything else is.
var degree = math.Pi / 180

func sind(a float64) float64 {
	a = math.Mod(a, 360)
	sign := 1.0
	if a < 0 {
		a, sign = -a, -sign
	}
	if a > 180 {
		a, sign = 360-a, -sign
	}
	if a > 90 {
		a = 180 - a
	}
	return sign * sindQuadrant(a)
}

func cosd(a float64) float64 {
	a = math.Abs(math.Mod(a, 360))
	sign := 1.0
	if a > 180 {
		a = 360 - a
	}
	if a > 90 {
		a, sign = 180-a, -1
	}
	return sign * cosdQuadrant(a)
}

// sindQuadrant and cosdQuadrant scale so that 30 and 60 degrees give exactly one half.
func sindQuadrant(a float64) float64 {
	if a <= 30 {
		return math.Sin(a*degree) / math.Sin(30*degree) / 2
	}
	return cosdQuadrant2(90 - a)
}

func cosdQuadrant(a float64) float64 {
	if a <= 60 {
		return cosdQuadrant2(a)
	}
	return math.Sin((90-a)*degree) / math.Sin(30*degree) / 2
}

func cosdQuadrant2(a float64) float64 {
	return 1 - (1-math.Cos(a*degree))/(1-math.Cos(60*degree))/2
}

func tand(a float64) float64 {
	a = math.Mod(a, 360)
	sign := 1.0
	if a < 0 {
		a, sign = -a, -sign
	}
	if a > 180 {
		a, sign = 360-a, -sign
	}
	if a > 90 {
		a, sign = 180-a, -sign
	}
	x := sign * (sindQuadrant(a) / cosdQuadrant(a) / (sindQuadrant(45) / cosdQuadrant(45)))
	if x == 0 {
		return 0
	}
	return x
}

func cotd(a float64) float64 {
	a = math.Mod(a, 360)
	sign := 1.0
	if a < 0 {
		a, sign = -a, -sign
	}
	if a > 180 {
		a, sign = 360-a, -sign
	}
	if a > 90 {
		a, sign = 180-a, -sign
	}
	x := sign * (cosdQuadrant(a) / sindQuadrant(a) / (cosdQuadrant(45) / sindQuadrant(45)))
	if x == 0 {
		return 0
	}
	return x
}

func asind(a float64) float64 {
	if a < 0 {
		return -asindQuadrant(-a)
	}
	return asindQuadrant(a)
}

func asindQuadrant(a float64) float64 {
	if a <= 0.5 {
		return math.Asin(a) / math.Asin(0.5) * 30
	}
	return 90 - math.Acos(a)/math.Acos(0.5)*60
}

func acosd(a float64) float64 {
	if a < 0 {
		return 90 + asindQuadrant(-a)
	}
	if a <= 0.5 {
		return 90 - math.Asin(a)/math.Asin(0.5)*30
	}
	return math.Acos(a) / math.Acos(0.5) * 60
}

func atand(a float64) float64 { return math.Atan(a) / math.Atan(1) * 45 }

func widthBucketFloat(x, lo, hi float64, n int64) (int64, error) {
	switch {
	case n <= 0:
		return 0, sqlerr.Newf(sqlerr.InvalidWidthBucketArgument, "count must be greater than zero")
	case math.IsNaN(x) || math.IsNaN(lo) || math.IsNaN(hi):
		return 0, sqlerr.Newf(sqlerr.InvalidWidthBucketArgument, "operand, lower bound, and upper bound cannot be NaN")
	case math.IsInf(lo, 0) || math.IsInf(hi, 0):
		return 0, sqlerr.Newf(sqlerr.InvalidWidthBucketArgument, "lower and upper bounds must be finite")
	case lo == hi:
		return 0, sqlerr.Newf(sqlerr.InvalidWidthBucketArgument, "lower bound cannot equal upper bound")
	}
	down := lo > hi
	if down {
		x, lo, hi = -x, -lo, -hi
	}
	switch {
	case x < lo:
		return 0, nil
	case x >= hi:
		if n == math.MaxInt32 {
			return 0, rangeError(types.Int4)
		}
		return n + 1, nil
	}
	w := hi - lo
	var q float64
	if math.IsInf(w, 0) {
		q = (x/2 - lo/2) / (hi/2 - lo/2)
	} else {
		q = (x - lo) / w
	}
	return min(int64(float64(n)*q), n-1) + 1, nil
}

func addFloatKernels(t table) {
	for _, o := range arithOps[:4] {
		t.add(o.name+"(float4,float4)", floatArithFactory(o.op, true))
		for _, p := range []string{"(float8,float8)", "(float4,float8)", "(float8,float4)"} {
			t.add(o.name+p, floatArithFactory(o.op, false))
		}
	}
	for _, k := range []string{"float4", "float8"} {
		t.add("+("+k+")", identity)
		t.add("-("+k+")", unary(func(a float64) float64 { return -a }))
		t.add("@("+k+")", unary(math.Abs))
		t.add("abs("+k+")", unary(math.Abs))
	}
	one := func(name string, f func(float64) float64) { t.add(name+"(float8)", unary(f)) }
	one("ceil", math.Ceil)
	one("ceiling", math.Ceil)
	one("floor", math.Floor)
	one("sign", signFloat)
	one("round", roundFloat)
	one("trunc", math.Trunc)
	one("cbrt", math.Cbrt)
	one("||/", math.Cbrt)
	one("atan", math.Atan)
	one("atand", atand)
	one("sinh", math.Sinh)
	one("cosh", math.Cosh)
	one("tanh", math.Tanh)
	one("asinh", math.Asinh)
	errs := func(name string, f func(float64) (float64, error)) { t.add(name+"(float8)", unaryErr(f)) }
	errs("|/", sqrtFloat)
	errs("sqrt", sqrtFloat)
	errs("exp", expFloat)
	errs("ln", logFloat(math.Log))
	errs("log", logFloat(math.Log10))
	errs("log10", logFloat(math.Log10))
	t.add("degrees(float8)", checked(func(a float64) float64 { return a / degree }))
	t.add("radians(float8)", checked(func(a float64) float64 { return a * degree }))
	for name, f := range map[string]func(float64) float64{
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "cot": func(a float64) float64 { return 1 / math.Tan(a) },
		"sind": sind, "cosd": cosd, "tand": tand, "cotd": cotd,
	} {
		t.add(name+"(float8)", trig(f))
	}
	t.add("asin(float8)", within(-1, 1, math.Asin))
	t.add("acos(float8)", within(-1, 1, math.Acos))
	t.add("asind(float8)", within(-1, 1, asind))
	t.add("acosd(float8)", within(-1, 1, acosd))
	t.add("acosh(float8)", within(1, math.Inf(1), math.Acosh))
	t.add("atanh(float8)", within(-1, 1, math.Atanh))
	t.add("atan2(float8,float8)", binary(math.Atan2))
	t.add("atan2d(float8,float8)", binary(func(a, b float64) float64 { return math.Atan2(a, b) / math.Atan(1) * 45 }))
	for _, name := range []string{"^", "power", "pow"} {
		t.add(name+"(float8,float8)", binaryErr(powFloat))
	}
	t.add("pi()", nullary(func(*state) (float64, error) { return math.Pi, nil }))
	t.add("random()", nullary(func(*state) (float64, error) { return rand.Float64(), nil }))
	t.add("width_bucket(float8,float8,float8,int4)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		b, err := widthBucketFloat(a[0].F, a[1].F, a[2].F, a[3].I)
		return types.DInt(b), err
	}))
}
