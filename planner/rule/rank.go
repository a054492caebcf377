package rule

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// RankToTopN turns a filter row_number() <= k into a TopN of k rows per partition, which numbers them, and
// rank() <= k into a TopN WITH TIES below the window: the ranks of the rows that are left are the same.
func RankToTopN(_ *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		f, ok := n.(*logical.Filter)
		if !ok {
			return n
		}
		w, ok := f.In.(*logical.Window)
		if !ok {
			return n
		}
		for i, c := range w.Calls {
			if c.Fn.Name != "row_number" {
				continue
			}
			if top, rest := limitRank(f, w, c.ID); top != nil {
				// The rank is pruned if nothing uses it.
				top.Rank = c.ID
				if len(w.Calls) > 1 {
					// The other calls look at all rows.
					others := *w
					others.Calls = slices.Delete(slices.Clone(w.Calls), i, i+1)
					top.In = &others
				}
				return filter(top, rest)
			}
		}
		if c := w.Only(); c != nil && c.Fn.Name == "rank" {
			if t, ok := w.In.(*logical.TopN); ok && t.WithTies {
				return n // by this rule
			}
			if top, rest := limitRank(f, w, c.ID); top != nil && len(w.Order) > 0 {
				top.WithTies = true
				ranked := *w
				ranked.In = top
				return filter(&ranked, rest)
			}
		}
		return n
	})
}

// limitRank makes the TopN of a filter on a rank; the conditions that are not about its upper
// bound are left over.
func limitRank(f *logical.Filter, w *logical.Window, rank logical.ColID) (*logical.TopN, []scalar.Expr) {
	limit := int64(-1)
	var rest []scalar.Expr
	for _, p := range f.Preds {
		if k, keep, ok := upperBound(p, rank); ok {
			if limit < 0 || k < limit {
				limit = k
			}
			if keep {
				rest = append(rest, p)
			}
			continue
		}
		rest = append(rest, p)
	}
	if limit < 0 {
		return nil, nil
	}
	top := &logical.TopN{In: w.In, GroupBy: w.Partition, Order: w.Order, RowKey: w.RowKey}
	top.Limit = int8Const(limit)
	return top, rest
}

func int8Const(n int64) scalar.Expr {
	return &scalar.Const{Node: scalar.Node{T: types.T(types.Int8), Pos: -1}, Val: types.DInt(n)}
}

// upperBound matches rank <= k, rank < k, rank = k and their mirror images; k is an integer constant. keep: the
// condition says more than the bound.
func upperBound(p scalar.Expr, rank logical.ColID) (bound int64, keep, ok bool) {
	c, ok := p.(*scalar.Call)
	if !ok || len(c.Args) != 2 {
		return 0, false, false
	}
	op := c.Fn.Name
	l, r := stripCast(c.Args[0]), stripCast(c.Args[1])
	if _, isCol := l.(*scalar.Column); !isCol {
		mirror := map[string]string{">=": "<=", ">": "<", "=": "="}
		l, r = r, l
		if op, ok = mirror[op]; !ok {
			return 0, false, false
		}
	}
	col, isCol := l.(*scalar.Column)
	k, isConst := r.(*scalar.Const)
	if !isCol || !isConst || !k.Val.Valid || !k.T.Kind.IsInteger() || col.Index != rank {
		return 0, false, false
	}
	switch op {
	case "<=":
		return max(k.Val.I, 0), false, true
	case "<":
		return max(k.Val.I-1, 0), false, true
	case "=":
		return max(k.Val.I, 0), k.Val.I != 1, true
	}
	return 0, false, false
}

// stripCast removes casts to a wider integer type.
func stripCast(x scalar.Expr) scalar.Expr {
	for {
		c, ok := x.(*scalar.Call)
		if !ok || c.Fn.Kind != fn.Cast || len(c.Args) != 1 || !c.T.Kind.IsInteger() ||
			!c.Args[0].Type().Kind.IsInteger() || c.T.Kind < c.Args[0].Type().Kind {
			return x
		}
		x = c.Args[0]
	}
}
