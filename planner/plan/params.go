package plan

import (
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Bind gives a copy of a batch plan in which every parameter $n is the constant values[n-1]. What has no
// parameters is shared with b. The error is 42P02 if a value is missing.
func Bind(b *Batch, values []types.Datum) (*Batch, error) {
	bd := &binder{values: values, nodes: map[Node]Node{}}
	c := *b
	c.Root = bd.node(b.Root)
	if b.Point != nil {
		p := *b.Point
		p.Key, p.Exprs = bd.list(p.Key), bd.list(p.Exprs)
		p.Filter = bd.expr(p.Filter)
		c.Point = &p
	}
	return &c, bd.err
}

// BindDML is Bind for a DML plan.
func BindDML(d *DML, values []types.Datum) (*DML, error) {
	q, err := Bind(d.Query, values)
	if err != nil {
		return nil, err
	}
	bd := &binder{values: values}
	c := *d
	c.Query = q
	c.Returning = bd.list(d.Returning)
	if d.Conflict != nil {
		k := *d.Conflict
		k.Where = bd.expr(k.Where)
		k.Set = make([]Assign, len(d.Conflict.Set))
		for i, a := range d.Conflict.Set {
			k.Set[i] = Assign{Col: a.Col, Expr: bd.expr(a.Expr)}
		}
		c.Conflict = &k
	}
	return &c, bd.err
}

// binder replaces parameters.
type binder struct {
	values []types.Datum
	// nodes remembers copies, so that a shared node stays shared.
	nodes map[Node]Node
	err   error
}

func (b *binder) expr(e scalar.Expr) scalar.Expr {
	if e == nil {
		return nil
	}
	return scalar.Map(e, func(e scalar.Expr) scalar.Expr {
		p, ok := e.(*scalar.Param)
		if !ok {
			return e
		}
		if p.N < 1 || p.N > len(b.values) {
			b.err = sqlerr.New(sqlerr.UndefinedParameter, p.Pos, "there is no parameter $%d", p.N)
			return e
		}
		return &scalar.Const{Node: p.Node, Val: b.values[p.N-1]}
	})
}

func (b *binder) list(es []scalar.Expr) []scalar.Expr {
	if es == nil {
		return nil
	}
	out := make([]scalar.Expr, len(es))
	for i, e := range es {
		out[i] = b.expr(e)
	}
	return out
}

func (b *binder) endpoint(e *Endpoint) *Endpoint {
	if e == nil {
		return nil
	}
	return &Endpoint{Val: b.expr(e.Val), Inclusive: e.Inclusive}
}

func (b *binder) node(n Node) Node {
	if c, ok := b.nodes[n]; ok {
		return c
	}
	c := b.rebuild(n)
	b.nodes[n] = c
	return c
}

func (b *binder) rebuild(n Node) Node {
	switch n := n.(type) {
	case *Filter:
		c := *n
		c.In, c.Pred = b.node(n.In), b.expr(n.Pred)
		return &c
	case *Project:
		c := *n
		c.In, c.Exprs = b.node(n.In), b.list(n.Exprs)
		return &c
	case *HashAgg:
		c := *n
		c.In = b.node(n.In)
		return &c
	case *HashJoin:
		c := *n
		c.L, c.R, c.Residual = b.node(n.L), b.node(n.R), b.expr(n.Residual)
		return &c
	case *TopN:
		c := *n
		c.In, c.Limit, c.Offset = b.node(n.In), b.expr(n.Limit), b.expr(n.Offset)
		return &c
	case *Hop:
		c := *n
		c.In = b.node(n.In)
		return &c
	case *UnionAll:
		c := *n
		c.Ins = make([]Node, len(n.Ins))
		for i, in := range n.Ins {
			c.Ins[i] = b.node(in)
		}
		return &c
	case *Values:
		c := *n
		c.Rows = make([][]scalar.Expr, len(n.Rows))
		for i, r := range n.Rows {
			c.Rows[i] = b.list(r)
		}
		return &c
	case *Max1Row:
		c := *n
		c.In = b.node(n.In)
		return &c
	case *ProjectSet:
		c := *n
		c.In = b.node(n.In)
		c.Funcs = make([]SetFunc, len(n.Funcs))
		for i, f := range n.Funcs {
			c.Funcs[i] = SetFunc{Fn: f.Fn, Args: b.list(f.Args), Types: f.Types}
		}
		return &c
	case *Scan:
		c := *n
		c.Access = Access{Prefix: b.list(n.Access.Prefix), Lo: b.endpoint(n.Access.Lo), Hi: b.endpoint(n.Access.Hi)}
		if n.Access.Points != nil {
			c.Access.Points = make([][]scalar.Expr, len(n.Access.Points))
			for i, p := range n.Access.Points {
				c.Access.Points[i] = b.list(p)
			}
		}
		return &c
	case *Sort:
		c := *n
		c.In = b.node(n.In)
		return &c
	case *Limit:
		c := *n
		c.In, c.Limit, c.Offset = b.node(n.In), b.expr(n.Limit), b.expr(n.Offset)
		return &c
	}
	return n
}
