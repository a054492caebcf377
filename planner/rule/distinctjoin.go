package rule

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// DistinctJoin turns the join with distinct rows that are looked up by all of their columns,
//
//	X join (select distinct k from Y) on X.a = k  ->  X semi join Y on X.a = k
//
// into one that only asks whether there is one: each row of X meets at most one. The columns k are X's, so they must be
// of types whose equal values are the same. It applies to rows Y that never go; of others a semi join would
// have to count more than the distinct rows.
func DistinctJoin(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		j, ok := n.(*logical.Join)
		if !ok || j.Kind != logical.Inner {
			return n
		}
		if r := e.distinctJoin(j, j.L, j.R); r != nil {
			return r
		}
		if r := e.distinctJoin(j, j.R, j.L); r != nil {
			return r
		}
		return n
	})
}

func (e *Env) distinctJoin(j *logical.Join, x, y logical.Node) logical.Node {
	// below is the column of the aggregate for each column of y.
	below := map[logical.ColID]logical.ColID{}
	for _, c := range y.Cols() {
		below[c] = c
	}
	in := y
	for {
		p, ok := in.(*logical.Project)
		if !ok {
			break
		}
		names := map[logical.ColID]logical.ColID{}
		for _, c := range p.Exprs {
			col, ok := c.Expr.(*scalar.Column)
			if !ok {
				return nil
			}
			names[c.ID] = col.Index
		}
		for c, b := range below {
			below[c] = names[b]
		}
		in = p.In
	}
	agg, ok := in.(*logical.Agg)
	if !ok || len(agg.Aggs) > 0 || len(agg.Keys) == 0 || !prop.AppendOnly(agg.In) {
		return nil
	}
	xs := logical.OutSet(x)
	same := map[logical.ColID]scalar.Expr{} // the column of x for each key
	joins := map[int]bool{}
	for i, p := range j.On {
		l, r, ok := prop.Equality(p)
		if !ok {
			continue
		}
		a, ok := l.(*scalar.Column)
		b, isCol := r.(*scalar.Column)
		if !ok || !isCol {
			continue
		}
		if !xs.Has(a.Index) {
			a, b = b, a
		}
		k, ofY := below[b.Index]
		if xs.Has(a.Index) && ofY && same[k] == nil && a.T == b.T && exact(a.T) {
			same[k], joins[i] = a, true
		}
	}
	if slices.ContainsFunc(agg.Keys, func(k logical.ColID) bool { return same[k] == nil }) {
		return nil
	}
	out := &logical.Join{Kind: logical.Semi, L: x, R: agg.In}
	ofY, ofX := map[logical.ColID]scalar.Expr{}, map[logical.ColID]scalar.Expr{}
	for c, k := range below {
		ofY[c], ofX[c] = e.Meta.Ref(k), same[k]
	}
	for i, p := range j.On {
		m := ofX
		if joins[i] {
			m = ofY
		}
		out.On = append(out.On, logical.ReplaceCols(p, m))
	}
	top := &logical.Project{In: out, Exprs: e.passAll(x.Cols())}
	for _, c := range y.Cols() {
		top.Exprs = append(top.Exprs, logical.ProjCol{ID: c, Expr: ofX[c]})
	}
	return top
}

// exact tells whether equal values of a type are the same to the last bit.
func exact(t types.Type) bool {
	switch t.Kind {
	case types.Bool, types.Int2, types.Int4, types.Int8, types.Date, types.Time, types.Timestamp, types.Timestamptz, types.Text:
		return true
	}
	return false
}
