package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
)

// Distinct removes duplicate removal where there are no duplicates, and checks for a single row where
// there cannot be two.
func Distinct(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		switch n := n.(type) {
		case *logical.Agg:
			if len(n.Aggs) == 0 && len(n.Keys) > 0 && prop.Unique(n.In, logical.SetOf(n.Keys...)) {
				return &logical.Project{In: n.In, Exprs: e.passAll(n.Keys)}
			}
		case *logical.Max1Row:
			if prop.Unique(n.In, logical.SetOf(n.GroupBy...)) {
				return n.In
			}
		}
		return n
	})
}
