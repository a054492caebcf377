package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// values binds VALUES as a query.
func (b *Binder) values(s *scope, v *ast.Values) *Query {
	s.q.clause = "VALUES"
	rows := make([][]scalar.Expr, len(v.Rows))
	for i, r := range v.Rows {
		if len(r) != len(v.Rows[0]) {
			pos := v.Pos
			if len(r) > 0 {
				pos = r[0].Position()
			}
			fail(sqlerr.SyntaxError, pos, "VALUES lists must all be the same length")
		}
		for _, e := range r {
			if _, ok := e.(*ast.Default); ok {
				fail(sqlerr.SyntaxError, e.Position(), "DEFAULT is not allowed in this context")
			}
			rows[i] = append(rows[i], b.expr(s, e))
		}
	}
	out := &Query{}
	node := &logical.Values{Rows: rows}
	for c := range rows[0] {
		var ts []types.Type
		for _, r := range rows {
			ts = append(ts, r[c].Type())
		}
		t, at, err := b.cfg.Registry.CommonType("VALUES", ts)
		if err != nil {
			check(err, leftmost(v.Rows[at][c]))
		}
		if len(rows) == 1 && ts[0].Kind == types.Unknown {
			t = ts[0]
		}
		for i := range rows {
			rows[i][c] = b.cast(rows[i][c], t, fn.Implicit, v.Rows[i][c].Position())
		}
		name := columnN(c)
		id := b.Meta.New(name, t)
		node.Out = append(node.Out, id)
		out.Cols = append(out.Cols, OutCol{name, id})
	}
	out.Node = node
	return out
}

func columnN(i int) string { return "column" + itoa(i+1) }

// resolveUnknown makes text of the query's columns that are still unknown literals.
func (b *Binder) resolveUnknown(q *Query) {
	for _, c := range q.Cols {
		if b.Meta.Type(c.ID).Kind == types.Unknown {
			q.Node = b.retype(q.Node, c.ID, types.T(types.Text))
		}
	}
}

// retype casts the unknown literal column id, wherever below n it is computed, to type t.
func (b *Binder) retype(n logical.Node, id logical.ColID, t types.Type) logical.Node {
	b.Meta.Info(id).Type = t
	return b.retypeAt(n, id, t)
}

func (b *Binder) retypeAt(n logical.Node, id logical.ColID, t types.Type) logical.Node {
	switch x := n.(type) {
	case *logical.Project:
		for i, e := range x.Exprs {
			if e.ID != id {
				continue
			}
			if c, ok := e.Expr.(*scalar.Column); ok && c.Index == id {
				es := append([]logical.ProjCol(nil), x.Exprs...)
				es[i].Expr = b.Meta.Ref(id)
				return &logical.Project{In: b.retypeAt(x.In, id, t), Exprs: es}
			}
			es := append([]logical.ProjCol(nil), x.Exprs...)
			es[i].Expr = b.cast(e.Expr, t, fn.Implicit, e.Expr.Position())
			return &logical.Project{In: x.In, Exprs: es}
		}
	case *logical.Values:
		for i, c := range x.Out {
			if c != id {
				continue
			}
			v := &logical.Values{Out: x.Out}
			for _, r := range x.Rows {
				row := append([]scalar.Expr(nil), r...)
				row[i] = b.cast(row[i], t, fn.Implicit, row[i].Position())
				v.Rows = append(v.Rows, row)
			}
			return v
		}
	case *logical.UnionAll:
		for i, c := range x.Out {
			if c != id {
				continue
			}
			u := *x
			u.Ins = append([]logical.Node(nil), x.Ins...)
			for k := range u.Ins {
				if b.Meta.Type(x.Map[k][i]).Kind == types.Unknown {
					u.Ins[k] = b.retype(u.Ins[k], x.Map[k][i], t)
				}
			}
			return &u
		}
	}
	ins := n.Inputs()
	for i, in := range ins {
		if logical.OutSet(in).Has(id) {
			nins := append([]logical.Node(nil), ins...)
			nins[i] = b.retypeAt(in, id, t)
			return n.WithInputs(nins)
		}
	}
	return n
}

// setOp binds UNION, INTERSECT and EXCEPT.
func (b *Binder) setOp(s *scope, o *ast.SetOp) *Query {
	l := b.query(s.parent, o.L)
	r := b.query(s.parent, o.R)
	word := map[ast.SetOpKind]string{ast.Union: "UNION", ast.Intersect: "INTERSECT", ast.Except: "EXCEPT"}[o.Op]
	if len(l.Cols) != len(r.Cols) {
		fail(sqlerr.SyntaxError, targetPos(o.R, 0), "each %s query must have the same number of columns", word)
	}
	lc, rc := make([]logical.ColID, len(l.Cols)), make([]logical.ColID, len(l.Cols))
	ts := make([]types.Type, len(l.Cols))
	for i := range l.Cols {
		lt, rt := b.Meta.Type(l.Cols[i].ID), b.Meta.Type(r.Cols[i].ID)
		t, _, err := b.cfg.Registry.CommonType(word, []types.Type{lt, rt})
		if err != nil {
			check(err, targetPos(o.R, i))
		}
		ts[i] = t
	}
	b.unify(l, ts, lc)
	b.unify(r, ts, rc)
	out := &Query{}
	ids := make([]logical.ColID, len(ts))
	for i := range ts {
		ids[i] = b.Meta.New(l.Cols[i].Name, ts[i])
		out.Cols = append(out.Cols, OutCol{l.Cols[i].Name, ids[i]})
	}
	if o.Op != ast.Union || !o.All {
		for i := range ts {
			b.needEquality(ts[i], targetPos(o.L, i))
		}
	}
	union := func(ins []logical.Node, maps [][]logical.ColID) logical.Node {
		return &logical.UnionAll{Ins: ins, Out: ids, Map: maps}
	}
	if o.Op == ast.Union {
		node := union([]logical.Node{l.Node, r.Node}, [][]logical.ColID{lc, rc})
		if !o.All {
			node = b.distinct(node, ids)
		}
		out.Node = node
		return out
	}
	kind := logical.Semi
	if o.Op == ast.Except {
		kind = logical.Anti
	}
	left := union([]logical.Node{l.Node}, [][]logical.ColID{lc})
	right, keys := r.Node, rc
	join := &logical.Join{Kind: kind}
	if o.All {
		// Equal rows are numbered on both sides: the nth of the left meets the nth of the right.
		ln, rn := b.Meta.New("n", types.T(types.Int8)), b.Meta.New("n", types.T(types.Int8))
		left = &logical.TopN{In: left, GroupBy: ids, Rank: ln}
		ru := make([]logical.ColID, len(rc))
		for i := range rc {
			ru[i] = b.Meta.New(r.Cols[i].Name, ts[i])
		}
		right = &logical.UnionAll{Ins: []logical.Node{right}, Out: ru, Map: [][]logical.ColID{rc}}
		right = &logical.TopN{In: right, GroupBy: ru, Rank: rn}
		keys = ru
		join.On = append(join.On, logical.NotDistinct(b.Meta.Ref(ln), b.Meta.Ref(rn)))
	} else {
		left = b.distinct(left, ids)
	}
	for i := range ids {
		join.On = append(join.On, logical.NotDistinct(b.Meta.Ref(ids[i]), b.Meta.Ref(keys[i])))
	}
	join.L, join.R = left, right
	out.Node = join
	if o.All {
		out.Node = &logical.Project{In: join, Exprs: b.passCols(ids)}
	}
	return out
}

func (b *Binder) passCols(ids []logical.ColID) []logical.ProjCol {
	var es []logical.ProjCol
	for _, id := range ids {
		es = append(es, logical.ProjCol{ID: id, Expr: b.Meta.Ref(id)})
	}
	return es
}

func (b *Binder) distinct(n logical.Node, ids []logical.ColID) logical.Node {
	if len(ids) == 0 {
		return &logical.TopN{In: n, Limits: logical.Limits{Limit: intConst(1)}}
	}
	return &logical.Agg{In: n, Keys: ids}
}

// unify casts the columns of q to ts and says in cols which ones they are then.
func (b *Binder) unify(q *Query, ts []types.Type, cols []logical.ColID) {
	var more []logical.ProjCol
	for i, c := range q.Cols {
		t := b.Meta.Type(c.ID)
		if t.Kind == types.Unknown {
			q.Node = b.retype(q.Node, c.ID, ts[i])
			t = ts[i]
		}
		cols[i] = c.ID
		if t != ts[i] {
			id := b.Meta.New(c.Name, ts[i])
			more = append(more, logical.ProjCol{ID: id, Expr: b.cast(b.Meta.Ref(c.ID), ts[i], fn.Implicit, sqlerr.NoPos)})
			cols[i] = id
		}
	}
	if len(more) > 0 {
		q.Node = b.extend(q.Node, more)
	}
}

// targetPos is the position of output column i of q, for errors.
func targetPos(q *ast.Select, i int) int {
	switch body := q.Body.(type) {
	case *ast.SelectCore:
		if i < len(body.Targets) {
			return leftmost(body.Targets[i].Expr)
		}
	case *ast.Values:
		if len(body.Rows) > 0 && i < len(body.Rows[0]) {
			return leftmost(body.Rows[0][i])
		}
	case *ast.SetOp:
		return targetPos(body.L, i)
	case *ast.Select:
		return targetPos(body, i)
	}
	return q.Pos
}
