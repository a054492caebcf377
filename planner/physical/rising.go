package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Rising rows: a count over rows that never go can only grow. A top-n by such a count need not remember
// the rows beyond its limit: one of them gets there only by a change, and with a change it comes again.

// growth is what is known of how the rows of a node change. Its rows never go (at the end of an epoch), but
// a row may be replaced; then the old one goes first.
type growth struct {
	// fixed are the columns that keep their value when the row is replaced.
	fixed []bool
	// grows are numeric columns that are never NULL nor negative, and at least as large after the
	// replacement.
	grows []bool
}

// growthOf gives nil if rows of n may go, or nothing is known.
func growthOf(n plan.Node) *growth {
	width := len(n.Properties().Cols)
	g := &growth{fixed: make([]bool, width), grows: make([]bool, width)}
	if n.Properties().AppendOnly {
		for i := range g.fixed {
			g.fixed[i] = true
		}
		return g
	}
	switch n := n.(type) {
	case *plan.Filter:
		in := growthOf(n.In)
		if in == nil || !onlyFixed(n.Pred, in) {
			return nil
		}
		return in
	case *plan.Project:
		in := growthOf(n.In)
		if in == nil {
			return nil
		}
		for i, e := range n.Exprs {
			g.fixed[i] = onlyFixed(e, in)
			g.grows[i] = growing(e, in)
		}
		return g
	case *plan.Hop:
		in := growthOf(n.In)
		if in == nil || !in.fixed[n.TimeCol] {
			return nil
		}
		copy(g.fixed, in.fixed)
		copy(g.grows, in.grows)
		for i := len(in.fixed); i < width; i++ {
			g.fixed[i] = true
		}
		return g
	case *plan.HashAgg:
		in := growthOf(n.In)
		if in == nil || slices.ContainsFunc(n.Keys, func(k int) bool { return !in.fixed[k] }) {
			return nil
		}
		for i := range n.Keys {
			g.fixed[i] = true
		}
		for i, a := range n.Aggs {
			g.grows[len(n.Keys)+i] = aggGrows(&a, in)
		}
		return g
	case *plan.HopAgg:
		in := growthOf(n.In)
		if in == nil || !in.fixed[n.TimeCol] || slices.ContainsFunc(n.Keys, func(k int) bool { return !in.fixed[k] }) {
			return nil
		}
		first := len(n.Keys) + 2
		for i := range first {
			g.fixed[i] = true
		}
		for i, a := range n.Aggs {
			g.grows[first+i] = aggGrows(&a, in)
		}
		return g
	}
	return nil
}

func aggGrows(a *plan.Agg, in *growth) bool {
	if a.Distinct || a.Filter >= 0 || len(a.OrderBy) > 0 {
		return false
	}
	switch a.Fn.Name {
	case "count":
		return !slices.ContainsFunc(a.Args, func(c int) bool { return !in.fixed[c] && !in.grows[c] })
	case "sum", "max":
		return len(a.Args) == 1 && in.grows[a.Args[0]] && exactNumber(a.Type)
	}
	return false
}

func exactNumber(t types.Type) bool {
	switch t.Kind {
	case types.Int2, types.Int4, types.Int8, types.Numeric:
		return true
	}
	return false
}

// growing tells whether e is a column that grows, or a cast of one to a large exact number.
func growing(e scalar.Expr, in *growth) bool {
	switch e := e.(type) {
	case *scalar.Column:
		return in.grows[e.Index]
	case *scalar.Call:
		// A smaller type could overflow, and the value become NULL.
		return e.Fn.Kind == fn.Cast && len(e.Args) == 1 && (e.T.Kind == types.Int8 || e.T.Kind == types.Numeric) &&
			growing(e.Args[0], in)
	}
	return false
}

// onlyFixed tells whether e depends on columns that keep their values.
func onlyFixed(e scalar.Expr, in *growth) bool {
	ok := true
	logical.WalkExpr(e, func(x scalar.Expr) bool {
		switch x := x.(type) {
		case *scalar.Column:
			ok = ok && in.fixed[x.Index]
		case *scalar.Call:
			ok = ok && x.Fn.Volatility == fn.Immutable
		}
		return ok
	})
	return ok
}

// risesIn tells whether the input of t rises as TopN.RisingIn promises.
func risesIn(t *plan.TopN) bool {
	if t.AppendOnlyIn {
		return false // better still
	}
	in := growthOf(t.In)
	if in == nil {
		return false
	}
	notFixed := func(c int) bool { return !in.fixed[c] }
	if slices.ContainsFunc(t.GroupBy, notFixed) || slices.ContainsFunc(t.RowKey, notFixed) {
		return false
	}
	return !slices.ContainsFunc(t.OrderBy, func(k plan.SortKey) bool {
		return !in.fixed[k.Col] && !(in.grows[k.Col] && k.Desc)
	})
}
