package expr

import (
	"cmp"
	"math"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// cmpOp is a comparison operator.
type cmpOp uint8

const (
	opEq cmpOp = iota
	opNe
	opLt
	opLe
	opGt
	opGe
)

var cmpOps = []struct {
	name string
	op   cmpOp
}{{"=", opEq}, {"<>", opNe}, {"<", opLt}, {"<=", opLe}, {">", opGt}, {">=", opGe}}

// mirrored is the operator with its sides exchanged.
var mirrored = [...]cmpOp{opEq: opEq, opNe: opNe, opLt: opGt, opLe: opGe, opGt: opLt, opGe: opLe}

// holds[op][c+1] is the result for a three-way comparison c.
var holds = [...][3]bool{
	opEq: {false, true, false}, opNe: {true, false, true},
	opLt: {true, false, false}, opLe: {true, true, false},
	opGt: {false, false, true}, opGe: {false, true, true},
}

// comparison compares two columns, or a column and a constant (then on the right).
type comparison[T value] struct {
	callNode
	op cmpOp
	// con is the right side if isCon.
	con   T
	isCon bool
	vv    func(op cmpOp, dst []bool, l, r []T)
	vc    func(op cmpOp, dst []bool, l []T, c T)
}

// compareFactory makes comparisons of types held as T. conv gives the constant from its Datum.
func compareFactory[T value](op cmpOp, conv func(types.Datum) T, vv func(cmpOp, []bool, []T, []T), vc func(cmpOp, []bool, []T, T)) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		n := &comparison[T]{callNode: newCallNode(call, args), op: op, vv: vv, vc: vc}
		if d := args[1].info().con; d != nil && d.Valid {
			n.isCon, n.con = true, conv(*d)
		} else if d := args[0].info().con; d != nil && d.Valid {
			n.isCon, n.con, n.op = true, conv(*d), mirrored[op]
			n.args = []node{args[1]}
		}
		return n, nil
	}
}

func (n *comparison[T]) eval(st *state, sel []int32) (*vec.Vector, error) {
	l, err := n.args[0].eval(st, sel)
	if err != nil {
		return nil, err
	}
	return n.finish(st, sel, l)
}

// finish compares the left side, which is evaluated, with the right one.
func (n *comparison[T]) finish(st *state, sel []int32, l *vec.Vector) (*vec.Vector, error) {
	n.out.Resize(st.n)
	orInto(&n.out.Nulls, l.Nulls)
	if n.isCon {
		n.vc(n.op, n.out.Bool, values[T](l)[:st.n], n.con)
		return &n.out, nil
	}
	r, err := n.args[1].eval(st, sel)
	if err != nil {
		return nil, err
	}
	orInto(&n.out.Nulls, r.Nulls)
	n.vv(n.op, n.out.Bool, values[T](l)[:st.n], values[T](r)[:st.n])
	return &n.out, nil
}

// filter writes the selection without the detour of a bool vector for what the loops of integers can do.
func (n *comparison[T]) filter(st *state, sel, dst []int32) ([]int32, error) {
	l, err := n.args[0].eval(st, sel)
	if err != nil {
		return nil, err
	}
	if ints, ok := any(values[T](l)).([]int64); ok && n.isCon {
		c := any(n.con).(int64)
		dst, out := room(dst, st.n, sel)
		k := selectInts(n.op, out, ints[:st.n], c, sel)
		return dropNulls(dst[:len(dst)+k], k, l.Nulls), nil
	}
	v, err := n.finish(st, sel, l)
	if err != nil {
		return nil, err
	}
	return appendTrue(dst, v, st.n, sel), nil
}

// selectInts writes the rows for which "x op c" to out and gives their number.
func selectInts(op cmpOp, out []int32, xs []int64, c int64, sel []int32) int {
	// Every comparison is one with a closed range.
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	not := false
	switch op {
	case opEq:
		lo, hi = c, c
	case opNe:
		lo, hi, not = c, c, true
	case opLt:
		if c == math.MinInt64 {
			return 0
		}
		hi = c - 1
	case opLe:
		hi = c
	case opGt:
		if c == math.MaxInt64 {
			return 0
		}
		lo = c + 1
	case opGe:
		lo = c
	}
	// x is in lo..hi if and only if x-lo, unsigned, is not above hi-lo.
	width := uint64(hi) - uint64(lo)
	k := 0
	switch {
	case sel != nil:
		for _, i := range sel {
			out[k] = i
			if (uint64(xs[i])-uint64(lo) <= width) != not {
				k++
			}
		}
	case not:
		for i, x := range xs {
			out[k] = int32(i)
			if x != c {
				k++
			}
		}
	default:
		for i, x := range xs {
			out[k] = int32(i)
			if uint64(x)-uint64(lo) <= width {
				k++
			}
		}
	}
	return k
}

// orderedVec compares columns of integers or strings.
func orderedVec[T int64 | string](op cmpOp, dst []bool, l, r []T) {
	dst, r = dst[:len(l)], r[:len(l)]
	switch op {
	case opEq:
		for i, x := range l {
			dst[i] = x == r[i]
		}
	case opNe:
		for i, x := range l {
			dst[i] = x != r[i]
		}
	case opLt:
		for i, x := range l {
			dst[i] = x < r[i]
		}
	case opLe:
		for i, x := range l {
			dst[i] = x <= r[i]
		}
	case opGt:
		for i, x := range l {
			dst[i] = x > r[i]
		}
	case opGe:
		for i, x := range l {
			dst[i] = x >= r[i]
		}
	}
}

// orderedConst compares a column with a constant.
func orderedConst[T int64 | string](op cmpOp, dst []bool, l []T, c T) {
	dst = dst[:len(l)]
	switch op {
	case opEq:
		for i, x := range l {
			dst[i] = x == c
		}
	case opNe:
		for i, x := range l {
			dst[i] = x != c
		}
	case opLt:
		for i, x := range l {
			dst[i] = x < c
		}
	case opLe:
		for i, x := range l {
			dst[i] = x <= c
		}
	case opGt:
		for i, x := range l {
			dst[i] = x > c
		}
	case opGe:
		for i, x := range l {
			dst[i] = x >= c
		}
	}
}

// cmpVec and cmpConst compare by a three-way function.
func cmpVec[T any](f func(a, b T) int) func(op cmpOp, dst []bool, l, r []T) {
	return func(op cmpOp, dst []bool, l, r []T) {
		tab := &holds[op]
		for i, x := range l {
			dst[i] = tab[f(x, r[i])+1]
		}
	}
}

func cmpConst[T any](f func(a, b T) int) func(op cmpOp, dst []bool, l []T, c T) {
	return func(op cmpOp, dst []bool, l []T, c T) {
		tab := &holds[op]
		for i, x := range l {
			dst[i] = tab[f(x, c)+1]
		}
	}
}

// cmpFloat orders as Postgres does: NaN is equal to itself and above everything.
func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	}
	return -1
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func cmpBpchar(a, b string) int { return strings.Compare(trimBlanks(a), trimBlanks(b)) }

// trimBlanks removes the padding of a char(n).
func trimBlanks(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// floatVec and floatConst are cmpVec and cmpConst with the function inlined.
func floatVec(op cmpOp, dst []bool, l, r []float64) {
	tab := &holds[op]
	dst, r = dst[:len(l)], r[:len(l)]
	for i, x := range l {
		y := r[i]
		c := 1
		if x < y {
			c = 0
		} else if x > y {
			c = 2
		} else if x != y {
			c = cmpFloat(x, y) + 1
		}
		dst[i] = tab[c]
	}
}

func floatConst(op cmpOp, dst []bool, l []float64, y float64) {
	tab := &holds[op]
	dst = dst[:len(l)]
	for i, x := range l {
		c := 1
		if x < y {
			c = 0
		} else if x > y {
			c = 2
		} else if x != y {
			c = cmpFloat(x, y) + 1
		}
		dst[i] = tab[c]
	}
}

// compareAny compares values that are encoded in strings: jsonb, arrays, records.
func compareAny(op cmpOp) factory {
	return datums(func(x *genCall, args []types.Datum) (types.Datum, error) {
		return types.DBool(holds[op][types.Compare(x.types[0], args[0], args[1])+1]), nil
	})
}

func addCompareKernels(t table) {
	byInt := [][2]types.Kind{{types.Int2, types.Int4}, {types.Int2, types.Int8}, {types.Int4, types.Int8}}
	for _, k := range []types.Kind{
		types.Int2, types.Int4, types.Int8, types.Date, types.Time, types.Timestamp, types.Timestamptz, types.Oid, types.AnyEnum,
	} {
		byInt = append(byInt, [2]types.Kind{k, k})
	}
	byStr := [][2]types.Kind{
		{types.Text, types.Text}, {types.Bytea, types.Bytea}, {types.UUID, types.UUID}, {types.Name, types.Name},
		{types.QChar, types.QChar}, {types.Name, types.Text},
	}
	byFloat := [][2]types.Kind{
		{types.Float4, types.Float4}, {types.Float8, types.Float8}, {types.Float4, types.Float8},
	}
	both := func(name string, p [2]types.Kind, f factory) {
		t.add(name+"("+p[0].Name()+","+p[1].Name()+")", f)
		if p[0] != p[1] {
			t.add(name+"("+p[1].Name()+","+p[0].Name()+")", f)
		}
	}
	for _, o := range cmpOps {
		ints := compareFactory(o.op, func(d types.Datum) int64 { return d.I }, orderedVec[int64], orderedConst[int64])
		strs := compareFactory(o.op, func(d types.Datum) string { return d.S }, orderedVec[string], orderedConst[string])
		floats := compareFactory(o.op, func(d types.Datum) float64 { return d.F }, floatVec, floatConst)
		for _, p := range byInt {
			both(o.name, p, ints)
		}
		for _, p := range byStr {
			both(o.name, p, strs)
		}
		for _, p := range byFloat {
			both(o.name, p, floats)
		}
		t.add(o.name+"(bool,bool)", compareFactory(o.op, types.Datum.Bool, cmpVec(cmpBool), cmpConst(cmpBool)))
		t.add(o.name+"(bpchar,bpchar)", compareFactory(o.op, func(d types.Datum) string { return d.S }, cmpVec(cmpBpchar), cmpConst(cmpBpchar)))
		t.add(o.name+"(numeric,numeric)", compareFactory(o.op, func(d types.Datum) types.Decimal { return d.Dec }, decimalVec, decimalConst))
		t.add(o.name+"(interval,interval)", compareFactory(o.op, func(d types.Datum) types.Span { return d.Span }, cmpVec(cmpSpan), cmpConst(cmpSpan)))
		for _, k := range []string{"jsonb", "anyarray", "record"} {
			t.add(o.name+"("+k+","+k+")", compareAny(o.op))
		}
	}
	for _, o := range cmpOps[2:] {
		t.add("~"+o.name+"~(text,text)", compareFactory(o.op, func(d types.Datum) string { return d.S }, orderedVec[string], orderedConst[string]))
		t.add("~"+o.name+"~(bpchar,bpchar)", compareFactory(o.op, func(d types.Datum) string { return d.S }, cmpVec(cmpBpchar), cmpConst(cmpBpchar)))
	}
}

// cmpSpan orders intervals by their canonical length.
func cmpSpan(a, b types.Span) int {
	return types.Compare(types.T(types.Interval), types.DSpan(a), types.DSpan(b))
}

// decimalVec and decimalConst compare coefficients if the scales agree, as they do in a column of
// numeric(p,s).
func decimalVec(op cmpOp, dst []bool, l, r []types.Decimal) {
	tab := &holds[op]
	for i := range l {
		dst[i] = tab[cmpDecimal(&l[i], &r[i])+1]
	}
}

func decimalConst(op cmpOp, dst []bool, l []types.Decimal, c types.Decimal) {
	tab := &holds[op]
	for i := range l {
		dst[i] = tab[cmpDecimal(&l[i], &c)+1]
	}
}

func cmpDecimal(a, b *types.Decimal) int {
	x, xs, ok1 := a.Small()
	y, ys, ok2 := b.Small()
	switch {
	case !ok1 || !ok2:
		return a.Cmp(*b)
	case xs < ys:
		p, ok := scaleUp(x, ys-xs)
		if !ok {
			return cmp.Compare(x, 0) // it is beyond every int64 on its side
		}
		x = p
	case xs > ys:
		p, ok := scaleUp(y, xs-ys)
		if !ok {
			return cmp.Compare(0, y)
		}
		y = p
	}
	return cmp.Compare(x, y)
}
