package expr

import (
	"slices"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

var boolType = types.T(types.Bool)

// junction is AND (and) or OR of several arguments. The value that decides is false for AND, true
// for OR: a row with a decided argument needs no later ones.
type junction struct {
	nodeInfo
	and  bool
	args []node
	out  vec.Vector
	sel  []int32
	bufs [2][]int32 // selections of filter
}

func (c *compiler) logic(es []scalar.Expr, and bool) (node, error) {
	args, err := c.compileAll(es)
	if err != nil {
		return nil, err
	}
	// Constants: the deciding value is the result, the other one does not matter.
	kept := args[:0]
	for _, a := range args {
		switch d := a.info().con; {
		case d == nil || !d.Valid:
			kept = append(kept, a)
		case d.Bool() != and:
			return newConstant(boolType, types.DBool(!and)), nil
		}
	}
	switch {
	case len(kept) == 0:
		return newConstant(boolType, types.DBool(and)), nil
	case len(kept) == 1, !slices.ContainsFunc(kept, func(a node) bool { return !isNullConst(a) }):
		return kept[0], nil
	}
	args = kept
	n := &junction{nodeInfo: infoOf(boolType, args...), and: and, args: args}
	n.out.Type = boolType
	return n, nil
}

// infoOf makes the info of a node from its arguments.
func infoOf(t types.Type, args ...node) nodeInfo {
	in := nodeInfo{typ: t}
	for _, a := range args {
		in.canFail = in.canFail || a.info().canFail
		in.lazy = in.lazy || a.info().lazy
	}
	return in
}

func (n *junction) eval(st *state, sel []int32) (*vec.Vector, error) {
	v, err := n.args[0].eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	copy(n.out.Bool, v.Bool)
	orInto(&n.out.Nulls, v.Nulls)
	for _, a := range n.args[1:] {
		open := sel
		if a.info().lazy {
			n.sel = n.undecided(st, sel)
			if len(n.sel) == 0 {
				continue
			}
			open = n.sel
		}
		v, err := a.eval(st, open)
		if err != nil {
			return nil, err
		}
		if a.info().lazy {
			n.mergeSel(v, open)
		} else {
			n.merge(v)
		}
	}
	return &n.out, nil
}

// undecided lists the rows of sel whose result does not stand yet: NULL, or not the deciding value.
func (n *junction) undecided(st *state, sel []int32) []int32 {
	dst := n.sel[:0]
	b, nulls, and := n.out.Bool, n.out.Nulls, n.and
	if sel == nil {
		for i, x := range b[:st.n] {
			if x == and || nulls.Get(i) {
				dst = append(dst, int32(i))
			}
		}
		return dst
	}
	for _, i := range sel {
		if b[i] == and || nulls.Get(int(i)) {
			dst = append(dst, i)
		}
	}
	return dst
}

// merge combines all rows with v. A decided row is not NULL.
func (n *junction) merge(v *vec.Vector) {
	x, y := n.out.Bool, v.Bool[:len(n.out.Bool)]
	if len(n.out.Nulls) == 0 && len(v.Nulls) == 0 {
		if n.and {
			for i := range x {
				x[i] = x[i] && y[i]
			}
		} else {
			for i := range x {
				x[i] = x[i] || y[i]
			}
		}
		return
	}
	for i := range x {
		n.mergeRow(v, i)
	}
}

func (n *junction) mergeSel(v *vec.Vector, sel []int32) {
	for _, i := range sel {
		n.mergeRow(v, int(i))
	}
}

func (n *junction) mergeRow(v *vec.Vector, i int) {
	xn, yn := n.out.Nulls.Get(i), v.Nulls.Get(i)
	x, y := n.out.Bool[i], v.Bool[i]
	switch {
	case !xn && x != n.and: // decided already
	case !yn && y != n.and:
		n.out.Bool[i] = y
		if xn {
			clearRow(n.out.Nulls, i)
		}
	case yn && !xn:
		n.out.Nulls.Set(i)
	}
}

// filterNode is implemented by nodes with a quicker way to a selection than by a vector of bools.
type filterNode interface {
	// filter appends the rows of sel (nil: all) for which the node is true.
	filter(st *state, sel, dst []int32) ([]int32, error)
}

// filter appends the rows of sel (nil: all) for which n is true.
func filter(n node, st *state, sel, dst []int32) ([]int32, error) {
	if f, ok := n.(filterNode); ok {
		return f.filter(st, sel, dst)
	}
	v, err := n.eval(st, sel)
	if err != nil {
		return nil, err
	}
	return appendTrue(dst, v, st.n, sel), nil
}

// appendTrue appends the rows of sel, or of all n, where v is true.
func appendTrue(dst []int32, v *vec.Vector, n int, sel []int32) []int32 {
	dst, out := room(dst, n, sel)
	k := 0
	if sel == nil {
		for i, x := range v.Bool[:n] {
			out[k] = int32(i)
			if x {
				k++
			}
		}
	} else {
		for _, i := range sel {
			out[k] = i
			if v.Bool[i] {
				k++
			}
		}
	}
	return dropNulls(dst[:len(dst)+k], k, v.Nulls)
}

// room grows dst so that a row more than can be selected may be written behind it without a check.
func room(dst []int32, n int, sel []int32) (_, out []int32) {
	if sel != nil {
		n = len(sel)
	}
	if need := len(dst) + n + 1; cap(dst) < need {
		grown := make([]int32, len(dst), need)
		copy(grown, dst)
		dst = grown
	}
	return dst, dst[len(dst) : len(dst)+n+1]
}

// dropNulls removes NULL rows from the last k of dst.
func dropNulls(dst []int32, k int, nulls vec.Bitmap) []int32 {
	if len(nulls) == 0 {
		return dst
	}
	from := len(dst) - k
	kept := dst[:from]
	for _, i := range dst[from:] {
		if !nulls.Get(int(i)) {
			kept = append(kept, i)
		}
	}
	return kept
}

// filter narrows the selection with each argument of an AND: a row that is not true after one
// cannot become true.
func (n *junction) filter(st *state, sel, dst []int32) ([]int32, error) {
	if !n.and {
		v, err := n.eval(st, sel)
		if err != nil {
			return nil, err
		}
		return appendTrue(dst, v, st.n, sel), nil
	}
	last := len(n.args) - 1
	for i, a := range n.args {
		if i == last {
			return filter(a, st, sel, dst)
		}
		// Each argument writes where its selection does not lie: two buffers in turn.
		buf := &n.bufs[i&1]
		s, err := filter(a, st, sel, (*buf)[:0])
		if err != nil {
			return nil, err
		}
		*buf = s
		if len(s) == 0 {
			return dst, nil
		}
		sel = s
	}
	return dst, nil
}

// not is three-valued negation.
type not struct {
	nodeInfo
	x   node
	out vec.Vector
}

func newNot(x node) node {
	n := &not{nodeInfo: infoOf(boolType, x), x: x}
	n.out.Type = boolType
	return n
}

func (n *not) eval(st *state, sel []int32) (*vec.Vector, error) {
	v, err := n.x.eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	for i, b := range v.Bool[:st.n] {
		n.out.Bool[i] = !b
	}
	orInto(&n.out.Nulls, v.Nulls)
	return &n.out, nil
}

// isNull is IS NULL, or with not IS NOT NULL. A row value is neither as long as its fields differ.
type isNull struct {
	nodeInfo
	x   node
	not bool
	out vec.Vector
}

func newIsNull(x node, not bool) node {
	n := &isNull{nodeInfo: infoOf(boolType, x), x: x, not: not}
	n.out.Type = boolType
	return n
}

func (n *isNull) eval(st *state, sel []int32) (*vec.Vector, error) {
	v, err := n.x.eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	if n.x.info().typ.Kind.IsRow() {
		return &n.out, n.records(st, v, sel)
	}
	out := n.out.Bool
	if len(v.Nulls) == 0 {
		for i := range out {
			out[i] = n.not
		}
		return &n.out, nil
	}
	for i := range out {
		out[i] = v.Nulls.Get(i) != n.not
	}
	return &n.out, nil
}

// isBool is IS [NOT] TRUE or FALSE.
type isBool struct {
	nodeInfo
	x        node
	val, not bool
	out      vec.Vector
}

func newIsBool(x node, val, not bool) node {
	n := &isBool{nodeInfo: infoOf(boolType, x), x: x, val: val, not: not}
	n.out.Type = boolType
	return n
}

func (n *isBool) eval(st *state, sel []int32) (*vec.Vector, error) {
	v, err := n.x.eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	for i, b := range v.Bool[:st.n] {
		n.out.Bool[i] = (b == n.val && !v.Nulls.Get(i)) != n.not
	}
	return &n.out, nil
}

// distinct is IS DISTINCT FROM, or with not IS NOT DISTINCT FROM.
type distinct struct {
	nodeInfo
	l, r node
	not  bool
	out  vec.Vector
}

func newDistinct(l, r node, not bool) node {
	n := &distinct{nodeInfo: infoOf(boolType, l, r), l: l, r: r, not: not}
	n.out.Type = boolType
	return n
}

func (n *distinct) eval(st *state, sel []int32) (*vec.Vector, error) {
	l, err := n.l.eval(st, sel)
	if err != nil {
		return nil, err
	}
	r, err := n.r.eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	return &n.out, st.rows(sel, func(i int) error {
		n.out.Bool[i] = equalAt(l, i, r, i) == n.not
		return nil
	})
}
