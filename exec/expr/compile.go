package expr

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// compiler is the state of one Compile.
type compiler struct {
	cols []scalar.Column
}

func (c *compiler) compile(e scalar.Expr) (node, error) {
	switch e := e.(type) {
	case *scalar.Column:
		if !slices.ContainsFunc(c.cols, func(o scalar.Column) bool { return o.Index == e.Index }) {
			c.cols = append(c.cols, *e)
		}
		return &column{nodeInfo: nodeInfo{typ: e.T}, index: e.Index}, nil
	case *scalar.Const:
		return newConstant(e.T, e.Val), nil
	case *scalar.Param:
		return nil, sqlerr.New(sqlerr.UndefinedParameter, e.Pos, "there is no parameter $%d", e.N)
	case *scalar.Call:
		return c.compileCall(e)
	case *scalar.And:
		return c.logic(e.Args, true)
	case *scalar.Or:
		return c.logic(e.Args, false)
	case *scalar.Not:
		return compile1(c, e.X, newNot)
	case *scalar.IsNull:
		return compile1(c, e.X, func(x node) node { return newIsNull(x, e.Not) })
	case *scalar.IsBool:
		return compile1(c, e.X, func(x node) node { return newIsBool(x, e.Val, e.Not) })
	case *scalar.Distinct:
		args, err := c.compileAll([]scalar.Expr{e.L, e.R})
		if err != nil {
			return nil, err
		}
		return fold(newDistinct(args[0], args[1], e.Not), args), nil
	case *scalar.Case:
		return c.compileCase(e)
	case *scalar.Coalesce:
		args, err := c.compileAll(e.Args)
		if err != nil {
			return nil, err
		}
		return newCoalesce(e.T, args), nil
	case *scalar.MinMax:
		args, err := c.compileAll(e.Args)
		if err != nil {
			return nil, err
		}
		return fold(newMinMax(e.T, args, e.Least), args), nil
	case *scalar.In:
		return c.compileIn(e)
	case *scalar.AnyAll:
		return c.compileAnyAll(e)
	case *scalar.MakeArray:
		return c.compileMakeArray(e)
	case *scalar.MakeRow:
		return c.compileMakeRow(e)
	}
	return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "expressions of kind %T are not supported here", e)
}

func compile1(c *compiler, x scalar.Expr, f func(node) node) (node, error) {
	n, err := c.compile(x)
	if err != nil {
		return nil, err
	}
	return fold(f(n), []node{n}), nil
}

func (c *compiler) compileAll(es []scalar.Expr) ([]node, error) {
	ns := make([]node, len(es))
	for i, e := range es {
		n, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		ns[i] = n
	}
	return ns, nil
}

func (c *compiler) compileCall(e *scalar.Call) (node, error) {
	f := kernels()[e.Fn.ID]
	if e.Fn.Catalog {
		f = datums(callCatalog)
	}
	if e.Fn.Impl != nil {
		f = datums(func(x *genCall, args []types.Datum) (types.Datum, error) { return x.fn.Impl(args) })
	}
	if f == nil {
		return nil, sqlerr.New(sqlerr.FeatureNotSupported, e.Pos, "function %s is not supported here", e.Fn.ID)
	}
	args, err := c.compileAll(e.Args)
	if err != nil {
		return nil, err
	}
	if n := len(e.Fn.Args); len(args) != n && !(e.Fn.Variadic && len(args) >= n-1) {
		return nil, fmt.Errorf("expr: %s with %d arguments", e.Fn.ID, len(args))
	}
	if e.Fn.Strict && !e.Fn.Variadic && slices.ContainsFunc(args, isNullConst) {
		return newConstant(e.T, types.Null), nil
	}
	n, err := f(c, e, args)
	if err != nil {
		return nil, err
	}
	if e.Fn.Volatility != fn.Immutable || e.Fn.Impl != nil {
		return n, nil
	}
	return fold(n, args), nil
}

func isNullConst(n node) bool { d := n.info().con; return d != nil && !d.Valid }

// fold computes a node whose value depends on its arguments only, if these are constants. One that
// fails is left to the rows, of which there may be none that need it.
func fold(n node, args []node) node {
	if slices.ContainsFunc(args, func(a node) bool { return a.info().con == nil }) {
		return n
	}
	var st state
	var one vec.Chunk
	one.SetLen(1)
	st.begin(nil, nil, &one)
	v, err := n.eval(&st, nil)
	if err != nil {
		return n
	}
	return newConstant(n.info().typ, v.Datum(0))
}
