package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
)

// Merge removes projections that do nothing and merges a projection into the one above it, unless an
// expression would be computed more than once by that. Filters above each other become one, and joins with
// a single row without columns nothing.
func Merge(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		switch n := n.(type) {
		case *logical.Project:
			return e.mergeProject(n)
		case *logical.Filter:
			if in, ok := n.In.(*logical.Filter); ok {
				return &logical.Filter{In: in.In, Preds: append(append([]scalar.Expr(nil), in.Preds...), n.Preds...)}
			}
		case *logical.Join:
			// A join with SELECT without FROM.
			switch {
			case n.Kind == logical.Inner && isOneRow(n.R):
				return filter(n.L, n.On)
			case n.Kind == logical.Inner && isOneRow(n.L):
				return filter(n.R, n.On)
			case n.Kind == logical.Left && isOneRow(n.R):
				return n.L
			}
		}
		return n
	})
}

// isOneRow: one row without columns.
func isOneRow(n logical.Node) bool {
	v, ok := n.(*logical.Values)
	return ok && len(v.Rows) == 1 && len(v.Out) == 0
}

func (e *Env) mergeProject(n *logical.Project) logical.Node {
	if in, ok := n.In.(*logical.Project); ok && mergeable(n, in) {
		m := map[logical.ColID]scalar.Expr{}
		for _, x := range in.Exprs {
			m[x.ID] = x.Expr
		}
		out := &logical.Project{In: in.In}
		for _, x := range n.Exprs {
			out.Exprs = append(out.Exprs, logical.ProjCol{ID: x.ID, Expr: logical.ReplaceCols(x.Expr, m)})
		}
		return e.mergeProject(out)
	}
	// A projection that passes exactly its input.
	have := n.In.Cols()
	if len(have) == len(n.Exprs) {
		same := true
		for i, x := range n.Exprs {
			same = same && passes(x) && x.ID == have[i]
		}
		if same {
			return n.In
		}
	}
	return n
}

// mergeable: every computed column of in is used at most once, or costs nothing.
func mergeable(n, in *logical.Project) bool {
	uses := map[logical.ColID]int{}
	for _, x := range n.Exprs {
		logical.WalkExpr(x.Expr, func(y scalar.Expr) bool {
			if c, ok := y.(*scalar.Column); ok {
				uses[c.Index]++
			}
			return true
		})
	}
	for _, x := range in.Exprs {
		switch x.Expr.(type) {
		case *scalar.Column, *scalar.Const, *scalar.Param:
			continue
		}
		if uses[x.ID] > 1 || logical.Volatile(x.Expr) {
			return false
		}
	}
	return true
}
