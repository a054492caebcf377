package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// subQuery binds a query inside an expression of scope s.
func (b *Binder) subQuery(s *scope, q *ast.Select, pos int) *Query {
	if s.q != nil && s.q.noSubquery != "" {
		fail(sqlerr.FeatureNotSupported, pos, "%s", s.q.noSubquery)
	}
	sub := b.query(s, q)
	b.resolveUnknown(sub)
	return sub
}

func (b *Binder) subquery(s *scope, e *ast.Subquery) scalar.Expr {
	sub := b.subQuery(s, e.Query, e.Pos)
	if e.Exists {
		return &logical.Subquery{Node: node(types.Bool, e.Pos), Kind: logical.SubExists, Plan: sub.Node}
	}
	if len(sub.Cols) != 1 {
		fail(sqlerr.SyntaxError, e.Pos, "subquery must return only one column")
	}
	id := sub.Cols[0].ID
	return &logical.Subquery{Node: scalar.Node{T: b.Meta.Type(id), Pos: e.Pos}, Kind: logical.SubScalar, Plan: sub.Node, Col: id}
}

func (b *Binder) arrayQuery(s *scope, e *ast.ArrayQuery) scalar.Expr {
	sub := b.subQuery(s, e.Query, e.Pos)
	if len(sub.Cols) != 1 {
		fail(sqlerr.SyntaxError, e.Pos, "subquery must return only one column")
	}
	id := sub.Cols[0].ID
	t := b.Meta.Type(id)
	if t.Kind != types.Array {
		t = types.Type{Kind: types.Array, Elem: t.Kind, Mod: -1}
	}
	return &logical.Subquery{Node: scalar.Node{T: t, Pos: e.Pos}, Kind: logical.SubArray, Plan: sub.Node, Col: id, Order: sub.Order}
}

// rowSubquery is (a, b) op (query): the query's only row is compared.
func (b *Binder) rowSubquery(s *scope, op string, l *ast.Row, q *ast.Select, pos int) scalar.Expr {
	sub := b.subQuery(s, q, pos)
	b.countColumns(len(l.Elems), len(sub.Cols), pos)
	ls, rs := make([]scalar.Expr, len(l.Elems)), make([]scalar.Expr, len(l.Elems))
	for i := range l.Elems {
		ls[i] = b.expr(s, l.Elems[i])
		rs[i] = b.Meta.RefAt(sub.Cols[i].ID, pos)
	}
	// The comparison is computed as a column of the query, so that it has one value or none.
	pred := b.rowOp(op, ls, rs, pos)
	id := b.Meta.New("compared", types.T(types.Bool))
	p := &logical.Project{In: sub.Node, Exprs: []logical.ProjCol{{ID: id, Expr: pred}}}
	return &logical.Subquery{Node: node(types.Bool, pos), Kind: logical.SubScalar, Plan: p, Col: id}
}

func (b *Binder) countColumns(want, have, pos int) {
	switch {
	case have > want:
		fail(sqlerr.SyntaxError, pos, "subquery has too many columns")
	case have < want:
		fail(sqlerr.SyntaxError, pos, "subquery has too few columns")
	}
}

// quantified is x op ANY|ALL (query), and IN.
func (b *Binder) quantified(s *scope, x ast.Expr, op string, q *ast.Select, all, not, isIn bool, pos int) scalar.Expr {
	sub := b.subQuery(s, q, pos)
	var ls []scalar.Expr
	if r, ok := x.(*ast.Row); ok {
		for _, e := range r.Elems {
			ls = append(ls, b.expr(s, e))
		}
	} else {
		ls = []scalar.Expr{b.expr(s, x)}
	}
	b.countColumns(len(ls), len(sub.Cols), pos)
	rs := make([]scalar.Expr, len(ls))
	for i := range rs {
		rs[i] = b.Meta.RefAt(sub.Cols[i].ID, pos)
	}
	pred := b.rowOp(op, ls, rs, pos)
	if pred.Type().Kind != types.Bool {
		fail(sqlerr.WrongObjectType, pos, "operator %s must return type boolean, not type %s", op, pred.Type())
	}
	if all {
		pred = negate(b, pred, pos)
	}
	var out scalar.Expr = &logical.Subquery{Node: node(types.Bool, pos), Kind: logical.SubAny, Plan: sub.Node, Pred: pred}
	if all != not {
		out = &scalar.Not{Node: node(types.Bool, pos), X: out}
	}
	return out
}

// negate is NOT pred, by the negated operator where there is one.
func negate(b *Binder, pred scalar.Expr, pos int) scalar.Expr {
	neg := map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	if c, ok := pred.(*scalar.Call); ok {
		if n, ok := neg[c.Fn.Name]; ok {
			if res, err := b.cfg.Registry.ResolveOperator(n, c.Fn.Args[0], c.Fn.Args[1]); err == nil &&
				res.Args[0] == c.Fn.Args[0] && res.Args[1] == c.Fn.Args[1] {
				return &scalar.Call{Node: c.Node, Fn: res.Fn, Args: c.Args}
			}
		}
	}
	return &scalar.Not{Node: node(types.Bool, pos), X: pred}
}
