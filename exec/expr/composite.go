package expr

import (
	"slices"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// compareAt orders two values that are not NULL. Values that are encoded in strings are compared
// by what they encode.
func compareAt(v *vec.Vector, i int, w *vec.Vector, j int) int {
	if encoded(v.Type.Kind) {
		return types.Compare(v.Type, v.Datum(i), w.Datum(j))
	}
	return vec.CompareAt(v, i, w, j)
}

// equalAt tells whether two values are not distinct.
func equalAt(v *vec.Vector, i int, w *vec.Vector, j int) bool {
	if encoded(v.Type.Kind) {
		if vn, wn := v.Nulls.Get(i), w.Nulls.Get(j); vn || wn {
			return vn == wn
		}
		return types.Compare(v.Type, v.Datum(i), w.Datum(j)) == 0
	}
	return vec.EqualAt(v, i, w, j)
}

func encoded(k types.Kind) bool {
	return k == types.Jsonb || k == types.Array || k.IsRow()
}

// anyAll is L op ANY (array), or with all L op ALL (array): the elements of a row's array are a
// chunk to which the operator is applied.
type anyAll struct {
	nodeInfo
	l, r  node
	all   bool
	op    *Evaluator
	chunk *vec.Chunk
	out   vec.Vector
}

func (c *compiler) compileAnyAll(e *scalar.AnyAll) (node, error) {
	args, err := c.compileAll([]scalar.Expr{e.L, e.R})
	if err != nil {
		return nil, err
	}
	lt, et := e.L.Type(), e.R.Type().ElemType()
	// x = ANY (constant array) is x IN (its elements).
	if d := args[1].info().con; d != nil && d.Valid && !e.All && e.Op.Name == "=" && lt.Kind == et.Kind {
		arr, err := types.DecodeArray(d.S)
		if err != nil {
			return nil, err
		}
		return newInSet(args[0], arr.Elems, false), nil
	}
	n := &anyAll{nodeInfo: infoOf(boolType, args...), l: args[0], r: args[1], all: e.All}
	n.out.Type = boolType
	n.op, err = Compile(&scalar.Call{
		Node: scalar.Node{T: boolType, Pos: e.Pos}, Fn: e.Op,
		Args: []scalar.Expr{
			&scalar.Column{Node: scalar.Node{T: lt}}, &scalar.Column{Node: scalar.Node{T: et}, Index: 1},
		},
	}, nil)
	if err != nil {
		return nil, err
	}
	n.canFail = n.canFail || n.op.CanFail()
	n.lazy = true
	n.chunk = vec.NewChunk([]types.Type{lt, et}, 16)
	return n, nil
}

func (n *anyAll) eval(st *state, sel []int32) (*vec.Vector, error) {
	l, err := n.l.eval(st, sel)
	if err != nil {
		return nil, err
	}
	r, err := n.r.eval(st, sel)
	if err != nil {
		return nil, err
	}
	n.out.Resize(st.n)
	ctx := &EvalContext{Env: st.env}
	return &n.out, st.rows(sel, func(i int) error {
		if r.Nulls.Get(i) {
			n.out.Nulls.Set(i)
			return nil
		}
		arr, err := types.DecodeArray(r.Str[i])
		if err != nil {
			return err
		}
		n.chunk.Reset()
		n.chunk.Cols[0].AppendRepeat(l.Datum(i), len(arr.Elems))
		for _, d := range arr.Elems {
			n.chunk.Cols[1].AppendDatum(d)
		}
		n.chunk.SetLen(len(arr.Elems))
		v, err := n.op.Eval(ctx, n.chunk)
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		null := false
		n.out.Bool[i] = n.all
		for k, b := range v.Bool[:len(arr.Elems)] {
			if v.Nulls.Get(k) {
				null = true
			} else if b != n.all {
				n.out.Bool[i] = b
				return nil
			}
		}
		if null {
			n.out.Nulls.Set(i)
		}
		return nil
	})
}

// gatherNode makes one value of the values of several nodes: ARRAY[...] and ROW(...).
type gatherNode struct {
	nodeInfo
	args []node
	f    func(vals []types.Datum) (types.Datum, error)
	argv []*vec.Vector
	buf  []types.Datum
	out  vec.Vector
}

func newGather(t types.Type, args []node, f func([]types.Datum) (types.Datum, error)) *gatherNode {
	n := &gatherNode{nodeInfo: infoOf(t, args...), args: args, f: f}
	n.argv, n.buf = make([]*vec.Vector, len(args)), make([]types.Datum, len(args))
	n.out.Type = t
	return n
}

func (n *gatherNode) eval(st *state, sel []int32) (*vec.Vector, error) {
	for k, a := range n.args {
		v, err := a.eval(st, sel)
		if err != nil {
			return nil, err
		}
		n.argv[k] = v
	}
	n.out.Resize(st.n)
	return &n.out, st.rows(sel, func(i int) error {
		for k, v := range n.argv {
			n.buf[k] = v.Datum(i)
		}
		d, err := n.f(n.buf)
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		put(&n.out, i, d)
		return nil
	})
}

func (c *compiler) compileMakeRow(e *scalar.MakeRow) (node, error) {
	args, err := c.compileAll(e.Elems)
	if err != nil {
		return nil, err
	}
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.info().typ
	}
	return fold(newGather(e.T, args, func(vals []types.Datum) (types.Datum, error) {
		return types.DStr(types.EncodeRecord(ts, vals)), nil
	}), args), nil
}

func (c *compiler) compileMakeArray(e *scalar.MakeArray) (node, error) {
	args, err := c.compileAll(e.Elems)
	if err != nil {
		return nil, err
	}
	elem := e.T.Elem
	if len(args) == 0 || args[0].info().typ.Kind != types.Array {
		return fold(newGather(e.T, args, func(vals []types.Datum) (types.Datum, error) {
			return types.DStr(types.MakeArray(elem, vals)), nil
		}), args), nil
	}
	n := newGather(e.T, args, func(vals []types.Datum) (types.Datum, error) { return stackArrays(elem, vals) })
	n.canFail, n.lazy = true, true
	return fold(n, args), nil
}

// stackArrays makes an array of one dimension more than its parts, which must agree in theirs.
func stackArrays(elem types.Kind, vals []types.Datum) (types.Datum, error) {
	mismatch := sqlerr.Newf(sqlerr.ArraySubscriptError,
		"multidimensional arrays must have array expressions with matching dimensions")
	out := types.ArrayValue{Elem: elem}
	empty := 0
	for i, v := range vals {
		if !v.Valid {
			empty++
			continue
		}
		a, err := types.DecodeArray(v.S)
		if err != nil {
			return types.Null, err
		}
		if len(a.Dims) == 0 {
			empty++
			continue
		}
		if i == 0 || out.Dims == nil {
			out.Dims = append([]types.Dim{{Len: len(vals), Lower: 1}}, a.Dims...)
		} else if !slices.Equal(out.Dims[1:], a.Dims) {
			return types.Null, mismatch
		}
		out.Elems = append(out.Elems, a.Elems...)
	}
	switch {
	case empty == len(vals):
		return types.DStr(types.ArrayValue{Elem: elem}.Encode()), nil
	case empty > 0:
		return types.Null, mismatch
	case len(out.Dims) > types.MaxDims:
		return types.Null, sqlerr.Newf(sqlerr.ProgramLimitExceeded,
			"number of array dimensions (%d) exceeds the maximum allowed (%d)", len(out.Dims), types.MaxDims)
	}
	return types.DStr(out.Encode()), nil
}

// records is IS [NOT] NULL of row values: true if all fields are (not) NULL.
func (n *isNull) records(st *state, v *vec.Vector, sel []int32) error {
	return st.rows(sel, func(i int) error {
		if v.Nulls.Get(i) {
			n.out.Bool[i] = !n.not
			return nil
		}
		_, vals, err := types.DecodeRecord(v.Str[i])
		if err != nil {
			return err
		}
		n.out.Bool[i] = !slices.ContainsFunc(vals, func(d types.Datum) bool { return d.Valid != n.not })
		return nil
	})
}
