package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// MaxJoin rewrites the join of X with the maximum (or minimum) per group of the same X,
//
//	X join (select k, max(c) from X group by k) m on X.k = m.k and X.c = m.max
//
// which looks for the rows that have their group's maximum, to a TopN of one row WITH TIES per group. (X.c >=
// m.max says the same.) Other conditions of the join are applied afterwards: the columns of the
// group equal those of the row.
func MaxJoin(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		j, ok := n.(*logical.Join)
		if !ok || j.Kind != logical.Inner {
			return n
		}
		if r := e.maxJoin(j.L, j.R, j); r != nil {
			return r
		}
		if r := e.maxJoin(j.R, j.L, j); r != nil {
			return r
		}
		return n
	})
}

// extremum is an aggregation with one max or min over a plan; cols are the output columns of
// the side of the join that it is, each a key or the extremum.
type extremum struct {
	agg  *logical.Agg
	max  bool
	arg  logical.ColID
	cols map[logical.ColID]logical.ColID
}

// asExtremum sees through projections that only pass or rename.
func (e *Env) asExtremum(y logical.Node) *extremum {
	cols := map[logical.ColID]logical.ColID{}
	for _, c := range y.Cols() {
		cols[c] = c
	}
	for {
		p, ok := y.(*logical.Project)
		if !ok {
			break
		}
		for c, below := range cols {
			found := false
			for _, x := range p.Exprs {
				if x.ID == below {
					if ref, isCol := x.Expr.(*scalar.Column); isCol {
						cols[c], found = ref.Index, true
					}
				}
			}
			if !found {
				return nil
			}
		}
		y = p.In
	}
	agg, ok := y.(*logical.Agg)
	if !ok || len(agg.Aggs) != 1 || len(agg.Keys) == 0 {
		return nil
	}
	a := agg.Aggs[0]
	if a.Fn.Name != "max" && a.Fn.Name != "min" || len(a.Args) != 1 || a.Filter != 0 {
		return nil
	}
	// Of equal values of other types (1.0 and 1.00, 0.0 and -0.0) the aggregate keeps any one.
	if t := e.Meta.Type(a.Args[0]); t.Phys() != types.PhysInt && t.Kind != types.Text {
		return nil
	}
	if e.Meta.Type(a.ID) != e.Meta.Type(a.Args[0]) {
		return nil
	}
	return &extremum{agg: agg, max: a.Fn.Name == "max", arg: a.Args[0], cols: cols}
}

// relation splits a comparison of a column of xs with an expression that has none; the operator is as
// seen from the column.
func relation(p scalar.Expr, xs logical.ColSet) (col logical.ColID, op string, other scalar.Expr, ok bool) {
	c, isCall := p.(*scalar.Call)
	if !isCall || len(c.Args) != 2 || c.Fn.Args[0] != c.Fn.Args[1] {
		return 0, "", nil, false
	}
	op = c.Fn.Name
	l, r := c.Args[0], c.Args[1]
	lc, isCol := l.(*scalar.Column)
	if !isCol || !xs.Has(lc.Index) {
		mirror := map[string]string{"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
		if op, isCol = mirror[op]; !isCol {
			return 0, "", nil, false
		}
		l, r = r, l
		if lc, isCol = l.(*scalar.Column); !isCol || !xs.Has(lc.Index) {
			return 0, "", nil, false
		}
	}
	if logical.ColsOf(r).Meets(xs) {
		return 0, "", nil, false
	}
	return lc.Index, op, r, true
}

func (e *Env) maxJoin(x, y logical.Node, j *logical.Join) logical.Node {
	ex := e.asExtremum(y)
	if ex == nil {
		return nil
	}
	m := map[logical.ColID]logical.ColID{}
	if !same(x, ex.agg.In, m) {
		return nil
	}
	xs := logical.OutSet(x)
	// mate is the column of x that equals a key or, in the rows looked for, the extremum.
	mate := map[logical.ColID]logical.ColID{}
	for _, k := range append(append([]logical.ColID(nil), ex.agg.Keys...), ex.arg) {
		id, ok := m[k]
		if !ok || !xs.Has(id) {
			return nil
		}
		mate[k] = id
	}
	mate[ex.agg.Aggs[0].ID] = mate[ex.arg]
	below := func(c logical.ColID) logical.ColID { return ex.cols[c] }
	matched := map[logical.ColID]bool{}
	var rest []scalar.Expr
	for _, p := range j.On {
		c, op, other, ok := relation(p, xs)
		oc, isCol := other.(*scalar.Column)
		if ok && isCol && mate[below(oc.Index)] == c {
			isMax := below(oc.Index) == ex.agg.Aggs[0].ID
			if op == "=" || isMax && (ex.max && op == ">=" || !ex.max && op == "<=") {
				matched[below(oc.Index)] = true
				continue
			}
		}
		rest = append(rest, p)
	}
	if !matched[ex.agg.Aggs[0].ID] {
		return nil
	}
	for _, k := range ex.agg.Keys {
		if !matched[k] {
			return nil
		}
	}
	top := e.topWithTies(x, ex, mate)
	out := &logical.Project{In: top, Exprs: e.passAll(x.Cols())}
	for _, c := range y.Cols() {
		out.Exprs = append(out.Exprs, logical.ProjCol{ID: c, Expr: e.Meta.Ref(mate[below(c)])})
	}
	return filter(out, rest)
}

// topWithTies keeps the rows of x that have the extremum of their group.
func (e *Env) topWithTies(x logical.Node, ex *extremum, mate map[logical.ColID]logical.ColID) logical.Node {
	nn := prop.NotNull(x)
	var preds []scalar.Expr
	group := []logical.ColID{}
	for _, k := range ex.agg.Keys {
		group = append(group, mate[k])
	}
	value := mate[ex.arg]
	// Equality is never true of NULL.
	for _, c := range append(append([]logical.ColID(nil), group...), value) {
		if !nn.Has(c) {
			preds = append(preds, &scalar.IsNull{Node: scalar.Node{T: types.T(types.Bool), Pos: -1}, X: e.Meta.Ref(c), Not: true})
		}
	}
	top := &logical.TopN{In: filter(x, preds), GroupBy: dedupCols(group), Order: []logical.Order{{Col: value, Desc: ex.max}}}
	top.Limit, top.WithTies = int8Const(1), true
	return top
}

func dedupCols(ids []logical.ColID) []logical.ColID {
	seen := logical.ColSet{}
	var out []logical.ColID
	for _, c := range ids {
		if !seen.Has(c) {
			seen.Add(c)
			out = append(out, c)
		}
	}
	return out
}
