package rule

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// WindowEnd leaves out the end of a window where its start says the same:
//
//	X join Y on X.start = Y.start and X.end = Y.end  ->  X join Y on X.start = Y.start
//	agg(X) by k, start, end                          ->  project(agg(X) by k, start; start + size as end)
//
// if both windows have the same size. Keys get shorter, of groups, of joins and of the view itself.
func WindowEnd(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		switch n := n.(type) {
		case *logical.Join:
			return windowEndJoin(n)
		case *logical.Agg:
			if r := e.windowEndAgg(n); r != nil {
				return r
			}
		}
		return n
	})
}

// windowEnd says of a column that it is start + size.
type windowEnd struct {
	start logical.ColID
	size  types.Span
}

// windowEnds lists the columns of n that are ends of windows whose start n has too.
func windowEnds(n logical.Node) map[logical.ColID]windowEnd {
	out := map[logical.ColID]windowEnd{}
	switch n := n.(type) {
	case *logical.Hop:
		if !n.Cumulate {
			out[n.End] = windowEnd{n.Start, n.Size}
		}
	case *logical.Filter:
		return windowEnds(n.In)
	case *logical.Agg:
		for c, w := range windowEnds(n.In) {
			if slices.Contains(n.Keys, c) && slices.Contains(n.Keys, w.start) {
				out[c] = w
			}
		}
	case *logical.Project:
		in := windowEnds(n.In)
		for _, x := range n.Exprs {
			w, ok := windowEndOf(x.Expr, in)
			if !ok {
				continue
			}
			for _, y := range n.Exprs {
				if c, ok := y.Expr.(*scalar.Column); ok && c.Index == w.start {
					out[x.ID] = windowEnd{y.ID, w.size}
					break
				}
			}
		}
	}
	return out
}

// windowEndOf recognizes an end that is passed on, and one that was made from the start by this rule.
func windowEndOf(x scalar.Expr, in map[logical.ColID]windowEnd) (windowEnd, bool) {
	switch x := x.(type) {
	case *scalar.Column:
		w, ok := in[x.Index]
		return w, ok
	case *scalar.Call:
		if x.Fn.Name != "+" || len(x.Args) != 2 || x.T.Kind != types.Timestamp {
			break
		}
		c, ok := x.Args[0].(*scalar.Column)
		k, isConst := x.Args[1].(*scalar.Const)
		if ok && isConst && k.Val.Valid && k.T.Kind == types.Interval {
			return windowEnd{c.Index, k.Val.Span}, true
		}
	}
	return windowEnd{}, false
}

func windowEndJoin(j *logical.Join) logical.Node {
	// Pairs of equal columns, left and right.
	type pair struct{ l, r logical.ColID }
	ls := logical.OutSet(j.L)
	pairOf := func(p scalar.Expr) (pair, bool) {
		a, b, ok := prop.Equality(p)
		if !ok {
			return pair{}, false
		}
		x, ok := a.(*scalar.Column)
		y, isCol := b.(*scalar.Column)
		if !ok || !isCol || ls.Has(x.Index) == ls.Has(y.Index) {
			return pair{}, false
		}
		if ls.Has(x.Index) {
			return pair{x.Index, y.Index}, true
		}
		return pair{y.Index, x.Index}, true
	}
	pairs := map[pair]bool{}
	for _, p := range j.On {
		if q, ok := pairOf(p); ok {
			pairs[q] = true
		}
	}
	if len(pairs) < 2 {
		return j
	}
	l, r := windowEnds(j.L), windowEnds(j.R)
	var on []scalar.Expr
	for _, p := range j.On {
		if q, ok := pairOf(p); ok {
			a, isEnd := l[q.l]
			b, both := r[q.r]
			if isEnd && both && a.size == b.size && pairs[pair{a.start, b.start}] {
				continue
			}
		}
		on = append(on, p)
	}
	if len(on) == len(j.On) {
		return j
	}
	out := *j
	out.On = on
	return &out
}

func (e *Env) windowEndAgg(a *logical.Agg) logical.Node {
	if h, ok := a.In.(*logical.Hop); ok && h.Size != h.Slide {
		return nil // worked out from panes, if possible
	}
	ends := windowEnds(a.In)
	out := &logical.Agg{In: a.In, Aggs: a.Aggs}
	top := &logical.Project{In: out}
	for _, k := range a.Keys {
		w, ok := ends[k]
		if !ok || !slices.Contains(a.Keys, w.start) || e.Meta.Type(k).Kind != types.Timestamp || e.Meta.Type(w.start).Kind != types.Timestamp {
			out.Keys = append(out.Keys, k)
			top.Exprs = append(top.Exprs, logical.ProjCol{ID: k, Expr: e.Meta.Ref(k)})
			continue
		}
		interval := types.T(types.Interval)
		plus, err := e.Registry.ResolveOperator("+", e.Meta.Type(w.start), interval)
		if err != nil {
			return nil
		}
		size := &scalar.Const{Node: scalar.Node{T: interval, Pos: -1}, Val: types.DSpan(w.size)}
		x := &scalar.Call{Node: scalar.Node{T: e.Meta.Type(k), Pos: -1}, Fn: plus.Fn, Args: []scalar.Expr{e.Meta.Ref(w.start), size}}
		top.Exprs = append(top.Exprs, logical.ProjCol{ID: k, Expr: x})
	}
	if len(out.Keys) == len(a.Keys) {
		return nil
	}
	for _, g := range a.Aggs {
		top.Exprs = append(top.Exprs, logical.ProjCol{ID: g.ID, Expr: e.Meta.Ref(g.ID)})
	}
	return top
}
