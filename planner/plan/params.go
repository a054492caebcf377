package plan

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Params are the values of $1, $2, ..., each of the type that the statement was bound with.
type Params []types.Datum

// Expr gives e with constants in the place of its parameters; e itself if it has none.
func (v Params) Expr(e scalar.Expr) scalar.Expr {
	if e == nil || len(v) == 0 {
		return e
	}
	return logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
		if p, ok := x.(*scalar.Param); ok && p.N <= len(v) {
			return &scalar.Const{Node: p.Node, Val: v[p.N-1]}
		}
		return nil
	})
}

func (v Params) list(es []scalar.Expr) []scalar.Expr {
	if es == nil {
		return nil
	}
	out := make([]scalar.Expr, len(es))
	for i, e := range es {
		out[i] = v.Expr(e)
	}
	return out
}

// WithParams gives a copy of the plan for one execution. A point read copies nothing but its
// expressions with parameters.
func (b *Batch) WithParams(v Params) *Batch {
	if len(v) == 0 {
		return b
	}
	c := *b
	if b.Point != nil {
		p := *b.Point
		p.Key, p.Filter, p.Exprs = v.list(p.Key), v.Expr(p.Filter), v.list(p.Exprs)
		c.Point = &p
	}
	c.Root = v.node(b.Root)
	return &c
}

// WithParams gives a copy of the plan for one execution.
func (d *DML) WithParams(v Params) *DML {
	if len(v) == 0 {
		return d
	}
	c := *d
	c.Query = d.Query.WithParams(v)
	c.Returning = v.list(d.Returning)
	c.With = v.Modifying(d.With)
	if d.Conflict != nil {
		x := *d.Conflict
		x.Where = v.Expr(x.Where)
		x.Set = append([]Assign(nil), x.Set...)
		for i := range x.Set {
			x.Set[i].Expr = v.Expr(x.Set[i].Expr)
		}
		c.Conflict = &x
	}
	return &c
}

// Modifying gives copies of statements in WITH for one execution.
func (v Params) Modifying(ms []Modifying) []Modifying {
	var out []Modifying
	for _, m := range ms {
		out = append(out, Modifying{m.WithParams(v), m.Rel})
	}
	return out
}

func (v Params) endpoint(e *Endpoint) *Endpoint {
	if e == nil {
		return nil
	}
	return &Endpoint{Val: v.Expr(e.Val), Inclusive: e.Inclusive}
}

func (v Params) node(n Node) Node {
	switch n := n.(type) {
	case *Filter:
		c := *n
		c.In, c.Pred = v.node(n.In), v.Expr(n.Pred)
		return &c
	case *Project:
		c := *n
		c.In, c.Exprs = v.node(n.In), v.list(n.Exprs)
		return &c
	case *HashAgg:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *HashJoin:
		c := *n
		c.L, c.R, c.Residual = v.node(n.L), v.node(n.R), v.Expr(n.Residual)
		return &c
	case *TopN:
		c := *n
		c.In, c.Limit, c.Offset = v.node(n.In), v.Expr(n.Limit), v.Expr(n.Offset)
		return &c
	case *Window:
		c := *n
		c.In = v.node(n.In)
		c.Calls = append([]WindowCall(nil), n.Calls...)
		for i := range c.Calls {
			k := &c.Calls[i]
			k.Frame, k.Consts = k.Frame.MapFrame(v.Expr), append([]scalar.Expr(nil), k.Consts...)
			for j, e := range k.Consts {
				if e != nil {
					k.Consts[j] = v.Expr(e)
				}
			}
		}
		return &c
	case *Limit:
		c := *n
		c.In, c.Limit, c.Offset = v.node(n.In), v.Expr(n.Limit), v.Expr(n.Offset)
		return &c
	case *Sort:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *Hop:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *Session:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *ProcTime:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *Watermark:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *HopAgg:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *Lock:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *Max1Row:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *Consolidate:
		c := *n
		c.In = v.node(n.In)
		return &c
	case *UnionAll:
		c := *n
		c.Ins = make([]Node, len(n.Ins))
		for i, in := range n.Ins {
			c.Ins[i] = v.node(in)
		}
		return &c
	case *ProjectSet:
		c := *n
		c.In = v.node(n.In)
		c.Funcs = append([]SetFunc(nil), n.Funcs...)
		for i := range c.Funcs {
			c.Funcs[i].Args = v.list(c.Funcs[i].Args)
		}
		return &c
	case *Recursive:
		c := *n
		c.Base, c.Step = v.node(n.Base), v.node(n.Step)
		return &c
	case *Values:
		c := *n
		c.Rows = make([][]scalar.Expr, len(n.Rows))
		for i, r := range n.Rows {
			c.Rows[i] = v.list(r)
		}
		return &c
	case *Scan:
		c := *n
		a := &c.Access
		a.Prefix, a.Lo, a.Hi = v.list(a.Prefix), v.endpoint(a.Lo), v.endpoint(a.Hi)
		if a.Points != nil {
			a.Points = make([][]scalar.Expr, len(n.Access.Points))
			for i, p := range n.Access.Points {
				a.Points[i] = v.list(p)
			}
		}
		return &c
	}
	return n
}
