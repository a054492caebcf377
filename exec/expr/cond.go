package expr

import (
	"slices"
	"sort"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// caseNode is the searched CASE. Every row passes through the conditions until one is true; the
// result of an arm is computed for the rows that chose it.
type caseNode struct {
	nodeInfo
	whens []whenNode
	els   node
	out   vec.Vector
	hit   []int32
	rest  [2][]int32
}

type whenNode struct{ cond, result node }

func (c *compiler) compileCase(e *scalar.Case) (node, error) {
	n := &caseNode{}
	var all []node
	for _, w := range e.Whens {
		ns, err := c.compileAll([]scalar.Expr{w.Cond, w.Result})
		if err != nil {
			return nil, err
		}
		// A constant condition is decided here.
		if d := ns[0].info().con; d != nil {
			if !d.Bool() {
				continue
			}
			n.els = ns[1]
			break
		}
		n.whens = append(n.whens, whenNode{ns[0], ns[1]})
		all = append(all, ns...)
	}
	switch {
	case n.els != nil:
	case e.Else == nil:
		n.els = newConstant(e.T, types.Null)
	default:
		var err error
		if n.els, err = c.compile(e.Else); err != nil {
			return nil, err
		}
	}
	if len(n.whens) == 0 {
		return n.els, nil
	}
	n.nodeInfo = infoOf(e.T, append(all, n.els)...)
	n.out.Type = e.T
	return n, nil
}

func (n *caseNode) eval(st *state, sel []int32) (*vec.Vector, error) {
	n.out.Resize(st.n)
	open := sel
	for k, w := range n.whens {
		cond, err := w.cond.eval(st, open)
		if err != nil {
			return nil, err
		}
		// The remaining rows go to the buffer that the present ones are not in.
		n.hit, n.rest[k&1] = splitTrue(cond, st.n, open, n.hit[:0], n.rest[k&1][:0])
		if len(n.hit) > 0 {
			if err := n.arm(st, w.result, n.hit); err != nil {
				return nil, err
			}
		}
		open = n.rest[k&1]
		if len(open) == 0 {
			return &n.out, nil
		}
	}
	return &n.out, n.arm(st, n.els, open)
}

// arm computes result for the rows of sel (nil: all) and copies them to the output.
func (n *caseNode) arm(st *state, result node, sel []int32) error {
	v, err := result.eval(st, sel)
	if err != nil {
		return err
	}
	copyRows(&n.out, v, st.n, sel)
	return nil
}

// splitTrue divides the rows of sel (nil: all n) into those where v is true and the others.
func splitTrue(v *vec.Vector, n int, sel, yes, no []int32) (_, _ []int32) {
	if sel == nil {
		for i, x := range v.Bool[:n] {
			if x && !v.Nulls.Get(i) {
				yes = append(yes, int32(i))
			} else {
				no = append(no, int32(i))
			}
		}
		return yes, no
	}
	for _, i := range sel {
		if v.Bool[i] && !v.Nulls.Get(int(i)) {
			yes = append(yes, i)
		} else {
			no = append(no, i)
		}
	}
	return yes, no
}

// copyRows copies the rows of sel (nil: all n) from src to dst, which both have n rows. NULL bits of
// these rows must be clear in dst.
func copyRows(dst, src *vec.Vector, n int, sel []int32) {
	switch dst.Type.Phys() {
	case types.PhysBool:
		scatter(dst.Bool, src.Bool, sel)
	case types.PhysInt:
		scatter(dst.Int, src.Int, sel)
	case types.PhysFloat:
		scatter(dst.Float, src.Float, sel)
	case types.PhysStr:
		scatter(dst.Str, src.Str, sel)
	case types.PhysDec:
		scatter(dst.Dec, src.Dec, sel)
	case types.PhysInterval:
		scatter(dst.Span, src.Span, sel)
	}
	if len(src.Nulls) == 0 {
		return
	}
	if sel == nil {
		orInto(&dst.Nulls, src.Nulls)
		return
	}
	for _, i := range sel {
		if src.Nulls.Get(int(i)) {
			dst.Nulls.Set(int(i))
		}
	}
}

func scatter[T any](dst, src []T, sel []int32) {
	if sel == nil {
		copy(dst, src)
		return
	}
	for _, i := range sel {
		dst[i] = src[i]
	}
}

// coalesce is the first argument that is not NULL.
type coalesce struct {
	nodeInfo
	args []node
	out  vec.Vector
	bufs [2][]int32
}

func newCoalesce(t types.Type, args []node) node {
	// Nothing after a constant is ever needed, and a constant NULL never is.
	var kept []node
	for i, a := range args {
		if isNullConst(a) && (i < len(args)-1 || len(kept) > 0) {
			continue
		}
		kept = append(kept, a)
		if a.info().con != nil {
			break
		}
	}
	args = kept
	if len(args) == 1 {
		return newRelabel(t, args[0])
	}
	n := &coalesce{nodeInfo: infoOf(t, args...), args: args}
	n.out.Type = t
	return n
}

func (n *coalesce) eval(st *state, sel []int32) (*vec.Vector, error) {
	n.out.Resize(st.n)
	open := sel
	for k, a := range n.args {
		v, err := a.eval(st, open)
		if err != nil {
			return nil, err
		}
		copyRows(&n.out, v, st.n, open)
		if len(v.Nulls) == 0 || k == len(n.args)-1 {
			break
		}
		rest := n.bufs[k&1][:0]
		if open == nil {
			for i := range st.n {
				if v.Nulls.Get(i) {
					rest = append(rest, int32(i))
				}
			}
		} else {
			for _, i := range open {
				if v.Nulls.Get(int(i)) {
					rest = append(rest, i)
				}
			}
		}
		n.bufs[k&1] = rest
		if len(rest) == 0 {
			break
		}
		for _, i := range rest {
			clearRow(n.out.Nulls, int(i))
		}
		open = rest
	}
	return &n.out, nil
}

// minMax is GREATEST or LEAST.
type minMax struct {
	nodeInfo
	args  []node
	least bool
	out   vec.Vector
}

func newMinMax(t types.Type, args []node, least bool) node {
	n := &minMax{nodeInfo: infoOf(t, args...), args: args, least: least}
	n.out.Type = t
	return n
}

func (n *minMax) eval(st *state, sel []int32) (*vec.Vector, error) {
	v, err := n.args[0].eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	copyRows(&n.out, v, st.n, nil)
	one := make([]int32, 1)
	for _, a := range n.args[1:] {
		v, err := a.eval(st, sel)
		if err != nil {
			return nil, err
		}
		err = st.rows(sel, func(i int) error {
			if v.Nulls.Get(i) {
				return nil
			}
			if !n.out.Nulls.Get(i) {
				c := compareAt(v, i, &n.out, i)
				if c == 0 || (c < 0) != n.least {
					return nil
				}
			}
			clearRow(n.out.Nulls, i)
			one[0] = int32(i)
			copyRows(&n.out, v, st.n, one)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return &n.out, nil
}

// inSet is X IN (constants): a set made once.
type inSet struct {
	nodeInfo
	x       node
	not     bool
	empty   bool // an empty list: false even for NULL
	hasNull bool // the list has a NULL: what is not found is unknown
	ints    map[int64]struct{}
	strs    map[string]struct{}
	sorted  []types.Datum // for types whose equality is not that of Go
	out     vec.Vector
}

// compileIn makes a set of a list of constants, and else an OR of comparisons, which is lazy.
func (c *compiler) compileIn(e *scalar.In) (node, error) {
	x, err := c.compile(e.X)
	if err != nil {
		return nil, err
	}
	list, err := c.compileAll(e.List)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(n node) bool { return n.info().con == nil }) {
		return newInList(x, list, e.Not), nil
	}
	vals := make([]types.Datum, len(list))
	for i, l := range list {
		vals[i] = *l.info().con
	}
	return newInSet(x, vals, e.Not), nil
}

func newInSet(x node, vals []types.Datum, not bool) node {
	n := &inSet{nodeInfo: infoOf(boolType, x), x: x, not: not}
	n.out.Type = boolType
	t := x.info().typ
	hash := t.Phys() == types.PhysInt || byteEqual(t.Kind)
	for _, d := range vals {
		switch {
		case !d.Valid:
			n.hasNull = true
		case !hash:
			n.sorted = append(n.sorted, d)
		case t.Phys() == types.PhysInt:
			if n.ints == nil {
				n.ints = map[int64]struct{}{}
			}
			n.ints[d.I] = struct{}{}
		default:
			if n.strs == nil {
				n.strs = map[string]struct{}{}
			}
			n.strs[d.S] = struct{}{}
		}
	}
	slices.SortFunc(n.sorted, func(a, b types.Datum) int { return types.Compare(t, a, b) })
	n.empty = len(vals) == 0
	return n
}

// byteEqual tells whether equality of a type held in strings is equality of the bytes.
func byteEqual(k types.Kind) bool {
	switch k {
	case types.Text, types.Varchar, types.Name, types.QChar, types.Bytea, types.UUID:
		return true
	}
	return false
}

func (n *inSet) eval(st *state, sel []int32) (*vec.Vector, error) {
	v, err := n.x.eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	orInto(&n.out.Nulls, v.Nulls)
	if n.empty {
		n.out.Nulls = n.out.Nulls[:0]
	}
	t := n.x.info().typ
	return &n.out, st.rows(sel, func(i int) error {
		if n.out.Nulls.Get(i) {
			return nil
		}
		found := false
		switch {
		case n.ints != nil:
			_, found = n.ints[v.Int[i]]
		case n.strs != nil:
			_, found = n.strs[v.Str[i]]
		case n.sorted != nil:
			d := v.Datum(i)
			k := sort.Search(len(n.sorted), func(k int) bool { return types.Compare(t, n.sorted[k], d) >= 0 })
			found = k < len(n.sorted) && types.Compare(t, n.sorted[k], d) == 0
		}
		n.out.Bool[i] = found != n.not
		if !found && n.hasNull {
			n.out.Nulls.Set(i)
		}
		return nil
	})
}

// inList is X IN (expressions). An element is evaluated for the rows that no earlier one equals.
type inList struct {
	nodeInfo
	x    node
	list []node
	not  bool
	out  vec.Vector
	bufs [2][]int32
}

func newInList(x node, list []node, not bool) node {
	n := &inList{nodeInfo: infoOf(boolType, append(slices.Clone(list), x)...), x: x, list: list, not: not}
	n.out.Type = boolType
	return n
}

func (n *inList) eval(st *state, sel []int32) (*vec.Vector, error) {
	x, err := n.x.eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	orInto(&n.out.Nulls, x.Nulls)
	for i := range n.out.Bool {
		n.out.Bool[i] = n.not
	}
	open := sel
	for k, l := range n.list {
		v, err := l.eval(st, open)
		if err != nil {
			return nil, err
		}
		rest := n.bufs[k&1][:0]
		err = st.rows(open, func(i int) error {
			switch {
			case x.Nulls.Get(i):
			case v.Nulls.Get(i):
				n.out.Nulls.Set(i)
				rest = append(rest, int32(i))
			case compareAt(x, i, v, i) == 0:
				n.out.Bool[i] = !n.not
				clearRow(n.out.Nulls, i)
			default:
				rest = append(rest, int32(i))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		n.bufs[k&1] = rest
		if len(rest) == 0 {
			break
		}
		open = rest
	}
	return &n.out, nil
}
