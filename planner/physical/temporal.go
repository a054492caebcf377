package physical

import (
	"cmp"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
)

// timeBounds divides conditions into those that do not depend on time, and the bounds that the others are.
func (b *builder) timeBounds(preds []scalar.Expr) (rest []scalar.Expr, bounds []prop.TimeBound) {
	for _, p := range preds {
		if !prop.Clock(p) {
			rest = append(rest, p)
			continue
		}
		bs, ok := prop.TimeBounds(b.Registry, p, b.Zoned)
		if !ok {
			panic("physical: a condition depends on time and is no bound")
		}
		bounds = append(bounds, bs...)
	}
	// Upper bounds first: they let rows come, and none go, so that what follows may have an append-only input.
	slices.SortStableFunc(bounds, func(x, y prop.TimeBound) int {
		rank := func(t prop.TimeBound) int {
			if t.Upper {
				return 0
			}
			return 1
		}
		return cmp.Compare(rank(x), rank(y))
	})
	return rest, bounds
}

// temporal puts filters for the bounds of n on its other conditions.
func (b *builder) temporal(n *logical.Filter, in built, bounds []prop.TimeBound) built {
	for _, t := range bounds {
		p := in.node.Properties()
		f := &plan.TemporalFilter{
			Props: b.props(n, in.cols), In: in.node, Value: expr(t.Value, in.cols), Bound: t.Bound,
			Upper: t.Upper, Inclusive: t.Inclusive, Slack: t.Slack, AppendOnlyIn: p.AppendOnly,
		}
		if p.HasKey {
			f.RowKey = p.Key
		}
		f.AppendOnly = p.AppendOnly && t.Upper && !t.Slack
		in = built{f, in.cols}
	}
	return in
}
