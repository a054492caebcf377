package expr

import (
	"math"
	"math/bits"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Integer kernels work on int64 whatever the width. The loops compute every row and gather the
// bits that tell of an overflow; only if there are any, the rows are looked at one by one.

var errDivZero = sqlerr.Newf(sqlerr.DivisionByZero, "division by zero")

// rangeError is the overflow error of an integer type.
func rangeError(k types.Kind) error {
	return sqlerr.Newf(sqlerr.NumericValueOutOfRange, "%s out of range", k)
}

// intLimits gives the smallest and largest value of an integer kind.
func intLimits(k types.Kind) (lo, hi int64) {
	switch k {
	case types.Int2:
		return math.MinInt16, math.MaxInt16
	case types.Int4:
		return math.MinInt32, math.MaxInt32
	default:
		return math.MinInt64, math.MaxInt64
	}
}

type arith uint8

const (
	opAdd arith = iota
	opSub
	opMul
	opDiv
	opMod
)

var arithOps = []struct {
	name string
	op   arith
}{{"+", opAdd}, {"-", opSub}, {"*", opMul}, {"/", opDiv}, {"%", opMod}}

// intArith is +, -, *, / or % of integers, with a result of kind k.
type intArith struct {
	callNode
	op     arith
	lo, hi int64
	// The constant side if there is one; its node is not evaluated.
	lcon, rcon bool
	con        int64
}

func intArithFactory(op arith) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		n := &intArith{callNode: newCallNode(call, args), op: op}
		n.lo, n.hi = intLimits(call.Fn.Ret.Kind)
		if d := args[1].info().con; d != nil && d.Valid {
			n.rcon, n.con = true, d.I
		} else if d := args[0].info().con; d != nil && d.Valid {
			n.lcon, n.con = true, d.I
		}
		// Division by a constant other than 0 and -1 cannot fail.
		if (op == opDiv || op == opMod) && n.rcon && n.con != 0 && n.con != -1 {
			in := infoOf(call.T, args...)
			n.canFail, n.lazy = in.canFail, in.lazy
		}
		return n, nil
	}
}

func (n *intArith) eval(st *state, sel []int32) (*vec.Vector, error) {
	var l, r []int64
	n.out.Nulls = n.out.Nulls[:0]
	n.out.Resize(st.n)
	if !n.lcon {
		v, err := n.args[0].eval(st, sel)
		if err != nil {
			return nil, err
		}
		l = v.Int[:st.n]
		orInto(&n.out.Nulls, v.Nulls)
	}
	if !n.rcon {
		v, err := n.args[1].eval(st, sel)
		if err != nil {
			return nil, err
		}
		r = v.Int[:st.n]
		orInto(&n.out.Nulls, v.Nulls)
	}
	if n.loop(n.out.Int, l, r) {
		return &n.out, nil
	}
	// The slow way, for the rows that count.
	return &n.out, st.rows(sel, func(i int) error {
		if n.out.Nulls.Get(i) {
			return nil
		}
		a, b := n.con, n.con
		if !n.lcon {
			a = l[i]
		}
		if !n.rcon {
			b = r[i]
		}
		x, err := n.exact(a, b)
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		n.out.Int[i] = x
		return nil
	})
}

// exact computes one row.
func (n *intArith) exact(a, b int64) (int64, error) {
	var r int64
	ok := true
	switch n.op {
	case opAdd:
		r = a + b
		ok = (a^r)&(b^r) >= 0
	case opSub:
		r = a - b
		ok = (a^b)&(a^r) >= 0
	case opMul:
		r, ok = mulInt64(a, b)
	case opDiv:
		if b == 0 {
			return 0, errDivZero
		}
		if b == -1 {
			r, ok = -a, a != math.MinInt64
		} else {
			r = a / b
		}
	case opMod:
		if b == 0 {
			return 0, errDivZero
		}
		if b != -1 {
			r = a % b
		}
	}
	if !ok || r < n.lo || r > n.hi {
		return 0, rangeError(n.fn.Ret.Kind)
	}
	return r, nil
}

func mulInt64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if a < 0 {
		hi -= uint64(b)
	}
	if b < 0 {
		hi -= uint64(a)
	}
	return int64(lo), hi == uint64(int64(lo)>>63)
}

// loop computes all rows into dst; false means that some row, perhaps one that does not count,
// went wrong. A missing side is the constant.
func (n *intArith) loop(dst, l, r []int64) bool {
	wide := n.hi == math.MaxInt64
	c := n.con
	switch n.op {
	case opAdd:
		switch {
		case l == nil:
			return addConst(dst, r, c, n.lo, n.hi, wide)
		case r == nil:
			return addConst(dst, l, c, n.lo, n.hi, wide)
		}
		return addVec(dst, l, r, n.lo, n.hi, wide)
	case opSub:
		switch {
		case l == nil:
			return subFrom(dst, c, r, n.lo, n.hi, wide)
		case r == nil && c != math.MinInt64:
			return addConst(dst, l, -c, n.lo, n.hi, wide)
		case r == nil:
			return false
		}
		return subVec(dst, l, r, n.lo, n.hi, wide)
	case opMul:
		switch {
		case l == nil:
			return mulConst(dst, r, c, n.lo, n.hi)
		case r == nil:
			return mulConst(dst, l, c, n.lo, n.hi)
		}
		return mulVec(dst, l, r, n.lo, n.hi)
	case opDiv:
		if r == nil {
			if c == 0 || c == -1 {
				return false
			}
			for i, a := range l {
				dst[i] = a / c
			}
			return true
		}
	case opMod:
		if r == nil {
			if c == 0 || c == -1 {
				return false
			}
			for i, a := range l {
				dst[i] = a % c
			}
			return true
		}
	}
	return n.divLoop(dst, l, r)
}

// divLoop divides by a vector, leaving out the divisors that need care.
func (n *intArith) divLoop(dst, l, r []int64) bool {
	ok := true
	for i, b := range r {
		if b == 0 || b == -1 {
			ok = false
			continue
		}
		a := n.con
		if l != nil {
			a = l[i]
		}
		if n.op == opDiv {
			dst[i] = a / b
		} else {
			dst[i] = a % b
		}
	}
	return ok
}

// outside has its sign bit set if x is not in lo..hi (of a type narrower than int64).
func outside(x, lo, hi int64) int64 { return (x - lo) | (hi - x) }

func addVec(dst, l, r []int64, lo, hi int64, wide bool) bool {
	var bad int64
	dst, r = dst[:len(l)], r[:len(l)]
	if wide {
		for i, a := range l {
			b := r[i]
			x := a + b
			dst[i] = x
			bad |= (a ^ x) & (b ^ x)
		}
		return bad >= 0
	}
	for i, a := range l {
		x := a + r[i]
		dst[i] = x
		bad |= outside(x, lo, hi)
	}
	return bad >= 0
}

func addConst(dst, l []int64, c, lo, hi int64, wide bool) bool {
	var bad int64
	dst = dst[:len(l)]
	if wide {
		for i, a := range l {
			x := a + c
			dst[i] = x
			bad |= (a ^ x) & (c ^ x)
		}
		return bad >= 0
	}
	for i, a := range l {
		x := a + c
		dst[i] = x
		bad |= outside(x, lo, hi)
	}
	return bad >= 0
}

func subVec(dst, l, r []int64, lo, hi int64, wide bool) bool {
	var bad int64
	dst, r = dst[:len(l)], r[:len(l)]
	if wide {
		for i, a := range l {
			b := r[i]
			x := a - b
			dst[i] = x
			bad |= (a ^ b) & (a ^ x)
		}
		return bad >= 0
	}
	for i, a := range l {
		x := a - r[i]
		dst[i] = x
		bad |= outside(x, lo, hi)
	}
	return bad >= 0
}

func subFrom(dst []int64, c int64, r []int64, lo, hi int64, wide bool) bool {
	var bad int64
	dst = dst[:len(r)]
	for i, b := range r {
		x := c - b
		dst[i] = x
		bad |= (c ^ b) & (c ^ x)
		if !wide {
			bad |= outside(x, lo, hi)
		}
	}
	return bad >= 0
}

// mulVec multiplies; factors that do not fit 32 bits are left to the slow way unless their product does.
func mulVec(dst, l, r []int64, lo, hi int64) bool {
	var bad int64
	dst, r = dst[:len(l)], r[:len(l)]
	for i, a := range l {
		b := r[i]
		x := a * b
		dst[i] = x
		bad |= (a ^ int64(int32(a))) | (b ^ int64(int32(b)))
		if x < lo || x > hi {
			bad = 1
		}
	}
	if bad == 0 {
		return true
	}
	for i, a := range l {
		x, ok := mulInt64(a, r[i])
		if !ok || x < lo || x > hi {
			return false
		}
		dst[i] = x
	}
	return true
}

func mulConst(dst, l []int64, c, lo, hi int64) bool {
	// a is safe if it is within the limits divided by c.
	if c == 0 {
		clear(dst)
		return true
	}
	if c == -1 {
		return subFrom(dst, 0, l, lo, hi, hi == math.MaxInt64)
	}
	lim := min(hi/c, lo/c)
	top := max(hi/c, lo/c)
	var bad bool
	dst = dst[:len(l)]
	for i, a := range l {
		dst[i] = a * c
		bad = bad || a < lim || a > top
	}
	return !bad
}

// intUnary are the operators and functions of one integer that can overflow.
func intUnary(f func(a, lo, hi int64) (int64, bool)) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		lo, hi := intLimits(call.Fn.Ret.Kind)
		return unaryErr(func(a int64) (int64, error) {
			r, ok := f(a, lo, hi)
			if !ok {
				return 0, rangeError(call.Fn.Ret.Kind)
			}
			return r, nil
		})(c, call, args)
	}
}

func absInt(a, lo, _ int64) (int64, bool) {
	if a < 0 {
		return -a, a != lo
	}
	return a, true
}

// shift computes shifts as Postgres does: the distance counts modulo the width of the type.
func shift(k types.Kind, left bool) func(a, n int64) int64 {
	width := uint(64)
	switch k {
	case types.Int2:
		width = 32 // an int2 is shifted as an int4 and cut
	case types.Int4:
		width = 32
	}
	return func(a, n int64) int64 {
		d := uint(n) & (width - 1)
		if !left {
			return a >> d
		}
		a <<= d
		switch k {
		case types.Int2:
			return int64(int16(a))
		case types.Int4:
			return int64(int32(a))
		}
		return a
	}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func addIntKernels(t table) {
	ints := []types.Kind{types.Int2, types.Int4, types.Int8}
	for _, a := range ints {
		an := a.Name()
		for _, b := range ints {
			for _, o := range arithOps {
				if o.op == opMod && a != b {
					continue
				}
				t.add(o.name+"("+an+","+b.Name()+")", intArithFactory(o.op))
			}
		}
		t.add("mod("+an+","+an+")", intArithFactory(opMod))
		t.add("+("+an+")", identity)
		t.add("-("+an+")", intUnary(func(a, lo, _ int64) (int64, bool) { return -a, a != lo }))
		t.add("@("+an+")", intUnary(absInt))
		t.add("abs("+an+")", intUnary(absInt))
		t.add("&("+an+","+an+")", binary(func(a, b int64) int64 { return a & b }))
		t.add("|("+an+","+an+")", binary(func(a, b int64) int64 { return a | b }))
		t.add("#("+an+","+an+")", binary(func(a, b int64) int64 { return a ^ b }))
		t.add("~("+an+")", unary(func(a int64) int64 { return ^a }))
		t.add("<<("+an+",int4)", binary(shift(a, true)))
		t.add(">>("+an+",int4)", binary(shift(a, false)))
	}
	for _, k := range ints[1:] {
		_, hi := intLimits(k)
		args := "(" + k.Name() + "," + k.Name() + ")"
		t.add("gcd"+args, binaryErr(func(a, b int64) (int64, error) {
			g := gcd(magnitude(a), magnitude(b))
			if g > uint64(hi) {
				return 0, rangeError(k)
			}
			return int64(g), nil
		}))
		t.add("lcm"+args, binaryErr(func(a, b int64) (int64, error) {
			if a == 0 || b == 0 {
				return 0, nil
			}
			x, y := magnitude(a), magnitude(b)
			h, l := bits.Mul64(x/gcd(x, y), y)
			if h != 0 || l > uint64(hi) {
				return 0, rangeError(k)
			}
			return int64(l), nil
		}))
	}
}

// identity gives the argument itself.
func identity(_ *compiler, call *scalar.Call, args []node) (node, error) { return args[0], nil }
