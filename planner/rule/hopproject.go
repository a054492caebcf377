package rule

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
)

// HopProject computes what an aggregate by windows needs before the rows are put into windows,
//
//	agg(project(hop(X))) -> agg(hop(project(X)))
//
// if the projection passes the windows on as they are: a row is in several of them.
func HopProject(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		if a, ok := n.(*logical.Agg); ok {
			if r := e.hopProject(a); r != nil {
				return r
			}
		}
		return n
	})
}

func (e *Env) hopProject(a *logical.Agg) logical.Node {
	p, ok := a.In.(*logical.Project)
	if !ok {
		return nil
	}
	hop, ok := p.In.(*logical.Hop)
	if !ok {
		return nil
	}
	below := &logical.Project{In: hop.In}
	hasTime := false
	names := map[logical.ColID]logical.ColID{} // other numbers of the window's columns
	for _, x := range p.Exprs {
		if c, ok := x.Expr.(*scalar.Column); ok && (c.Index == hop.Start || c.Index == hop.End) {
			names[x.ID] = c.Index
			continue
		}
		used := logical.ColsOf(x.Expr)
		if used.Has(hop.Start) || used.Has(hop.End) || logical.Volatile(x.Expr) {
			return nil
		}
		hasTime = hasTime || x.ID == hop.Time
		below.Exprs = append(below.Exprs, x)
	}
	if !hasTime {
		below.Exprs = append(below.Exprs, logical.ProjCol{ID: hop.Time, Expr: e.Meta.Ref(hop.Time)})
	}
	for _, g := range a.Aggs {
		other := func(c logical.ColID) bool { return names[c] != 0 && names[c] != c }
		if slices.ContainsFunc(g.Args, other) || other(g.Filter) || slices.ContainsFunc(g.OrderBy, func(o logical.Order) bool { return other(o.Col) }) {
			return nil
		}
	}
	h := *hop
	h.In = below
	out := &logical.Agg{In: &h, Aggs: a.Aggs}
	top := &logical.Project{In: out}
	renamed := false
	for _, k := range a.Keys {
		own := k
		if w, ok := names[k]; ok {
			own = w
		}
		renamed = renamed || own != k
		if !slices.Contains(out.Keys, own) {
			out.Keys = append(out.Keys, own)
		}
		top.Exprs = append(top.Exprs, logical.ProjCol{ID: k, Expr: e.Meta.Ref(own)})
	}
	if !renamed {
		return out
	}
	for _, g := range a.Aggs {
		top.Exprs = append(top.Exprs, logical.ProjCol{ID: g.ID, Expr: e.Meta.Ref(g.ID)})
	}
	return top
}
