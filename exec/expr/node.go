package expr

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// node is a compiled expression.
type node interface {
	// eval computes the rows of sel, all if it is nil. The result belongs to the node (or to the
	// chunk) and is valid until the node's next eval.
	eval(st *state, sel []int32) (*vec.Vector, error)
	info() *nodeInfo
}

// nodeInfo is what a parent wants to know of a node.
type nodeInfo struct {
	typ types.Type
	// canFail: some row may give an error. lazy: it must not (canFail, volatile) or had better
	// not (expensive) be evaluated for rows that do not need it.
	canFail, lazy bool
	// con is the value of a constant node, else nil.
	con *types.Datum
}

func (n *nodeInfo) info() *nodeInfo { return n }

// state is one evaluation.
type state struct {
	in       *vec.Chunk
	n        int
	env      *exec.Env
	rowError func(*vec.Chunk, int, error) error
	// failed has the rows that were reported.
	failed vec.Bitmap
	// text is env for package types.
	text types.Env
}

// tenv gives the environment of text forms.
func (st *state) tenv() *types.Env {
	if st.env != nil {
		st.text.TimeZone, st.text.Names, st.text.Types, st.text.Now = st.env.Location, st.env.Names, st.env.Types, types.FromGoTime(st.env.Now)
		st.text.DateOrder, st.text.DateStyle, st.text.IntervalStyle = st.env.DateOrder, st.env.DateStyle, st.env.IntervalStyle
	}
	return &st.text
}

func (st *state) begin(env *exec.Env, rowError func(*vec.Chunk, int, error) error, in *vec.Chunk) {
	st.in, st.n, st.env, st.rowError = in, in.Len(), env, rowError
	st.failed = st.failed[:0]
}

// fail reports that row i failed and makes it NULL in out. It returns the error that ends the
// evaluation, if RowError says so.
func (st *state) fail(out *vec.Vector, i int, err error) error {
	if !st.failed.Get(i) {
		if st.rowError == nil {
			return err
		}
		if err := st.rowError(st.in, i, err); err != nil {
			return err
		}
		st.failed.Set(i)
	}
	out.SetNull(i)
	return nil
}

// rows calls f for every row of sel, or all, until it gives an error.
func (st *state) rows(sel []int32, f func(i int) error) error {
	if sel == nil {
		for i := range st.n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	for _, i := range sel {
		if err := f(int(i)); err != nil {
			return err
		}
	}
	return nil
}

// column reads a column of the chunk. The type of the node may be another one of the same
// representation; then out is a view with that type.
type column struct {
	nodeInfo
	index int
	out   vec.Vector
}

func (c *column) eval(st *state, _ []int32) (*vec.Vector, error) {
	v := st.in.Cols[c.index]
	if v.Type.Kind != c.typ.Kind {
		c.out = *v
		c.out.Type = c.typ
		return &c.out, nil
	}
	return v, nil
}

// relabel gives the values of x another type of the same representation.
type relabel struct {
	nodeInfo
	x   node
	out vec.Vector
}

func newRelabel(t types.Type, x node) node {
	n := &relabel{nodeInfo: *x.info(), x: x}
	n.typ = t
	return n
}

func (n *relabel) eval(st *state, sel []int32) (*vec.Vector, error) {
	v, err := n.x.eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out = *v
	n.out.Type = n.typ
	return &n.out, nil
}

// constant is the same value for every row. all is as long as the longest chunk seen; out is the
// part that the present chunk needs.
type constant struct {
	nodeInfo
	all, out vec.Vector
}

func newConstant(t types.Type, d types.Datum) *constant {
	c := &constant{nodeInfo: nodeInfo{typ: t, con: &d}}
	c.all.Type, c.out.Type = t, t
	return c
}

func (c *constant) eval(st *state, _ []int32) (*vec.Vector, error) {
	n := st.n
	if have := c.all.Len(); have < n {
		c.all.AppendRepeat(*c.con, n-have)
	}
	if c.out.Len() != n {
		c.out.Bool, c.out.Int, c.out.Float = prefix(c.all.Bool, n), prefix(c.all.Int, n), prefix(c.all.Float, n)
		c.out.Str, c.out.Dec, c.out.Span = prefix(c.all.Str, n), prefix(c.all.Dec, n), prefix(c.all.Span, n)
		if !c.con.Valid {
			c.out.Nulls = c.out.Nulls[:0]
			setFirst(&c.out.Nulls, n)
		}
	}
	return &c.out, nil
}

func prefix[T any](s []T, n int) []T {
	if s == nil {
		return nil
	}
	return s[:n]
}
