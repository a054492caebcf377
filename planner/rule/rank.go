package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// RankToTopN turns row_number() into TopN: with a filter <= k on it one of k rows per partition,
// else one without limit that only numbers the rows.
func RankToTopN(_ *Env, n logical.Node) logical.Node {
	n = up(n, func(n logical.Node) logical.Node {
		f, ok := n.(*logical.Filter)
		if !ok {
			return n
		}
		w, ok := f.In.(*logical.Window)
		if !ok || w.Fn.Name != "row_number" {
			return n
		}
		top, rest := limitRank(f, w)
		if top == nil {
			return n
		}
		// The rank is pruned if nothing uses it.
		top.Rank = w.Out
		return filter(top, rest)
	})
	return up(n, func(n logical.Node) logical.Node {
		if w, ok := n.(*logical.Window); ok && w.Fn.Name == "row_number" {
			return &logical.TopN{In: w.In, GroupBy: w.Partition, Order: w.Order, Rank: w.Out}
		}
		return n
	})
}

// rankToTies turns rank() <= k into a TopN WITH TIES if nothing else uses the rank; nil if not.
func rankToTies(f *logical.Filter, need logical.ColSet) logical.Node {
	w, ok := f.In.(*logical.Window)
	if !ok || w.Fn.Name != "rank" || need.Has(w.Out) {
		return nil
	}
	top, rest := limitRank(f, w)
	if top == nil || logical.ColsOf(rest...).Has(w.Out) {
		return nil
	}
	top.WithTies = true
	return filter(top, rest)
}

// limitRank makes the TopN of a filter on a rank; the conditions that are not about its upper
// bound are left over.
func limitRank(f *logical.Filter, w *logical.Window) (*logical.TopN, []scalar.Expr) {
	limit := int64(-1)
	var rest []scalar.Expr
	for _, p := range f.Preds {
		if k, ok := upperBound(p, w.Out); ok {
			if limit < 0 || k < limit {
				limit = k
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

// upperBound matches rank <= k, rank < k, rank = 1 and their mirror images; k is an integer constant.
func upperBound(p scalar.Expr, rank logical.ColID) (int64, bool) {
	c, ok := p.(*scalar.Call)
	if !ok || len(c.Args) != 2 {
		return 0, false
	}
	op := c.Fn.Name
	l, r := stripCast(c.Args[0]), stripCast(c.Args[1])
	if _, isCol := l.(*scalar.Column); !isCol {
		mirror := map[string]string{">=": "<=", ">": "<", "=": "="}
		l, r = r, l
		if op, ok = mirror[op]; !ok {
			return 0, false
		}
	}
	col, isCol := l.(*scalar.Column)
	k, isConst := r.(*scalar.Const)
	if !isCol || !isConst || !k.Val.Valid || !k.T.Kind.IsInteger() || col.Index != rank {
		return 0, false
	}
	switch op {
	case "<=":
		return max(k.Val.I, 0), true
	case "<":
		return max(k.Val.I-1, 0), true
	case "=":
		if k.Val.I == 1 {
			return 1, true
		}
	}
	return 0, false
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
