package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/types"
)

// An aggregate by overlapping windows is worked out from panes, the tumbling windows of the slide's length,
// if a window is made of whole panes and the aggregates can be combined.

// paned tells whether n is such an aggregate.
func (b *builder) paned(n *logical.Agg) bool {
	hop, ok := n.In.(*logical.Hop)
	if !ok {
		return false
	}
	window := func(c logical.ColID) bool { return c == hop.Start || c == hop.End }
	size, slide := micros(hop.Size), micros(hop.Slide)
	return !hop.Cumulate && slide > 0 && size > slide && size%slide == 0 && slices.ContainsFunc(n.Keys, window) &&
		!slices.ContainsFunc(n.Aggs, func(a logical.AggCol) bool {
			return slices.ContainsFunc(a.Args, window) || window(a.Filter) || !b.combines(&a)
		})
}

func micros(s types.Span) int64 { return int64(s.Days)*86_400_000_000 + s.Micros }

// combines tells whether the result of an aggregate over several panes follows from those of the panes. Sums of
// floats do not: they are rounded.
func (b *builder) combines(a *logical.AggCol) bool {
	if len(a.OrderBy) > 0 || len(a.Args) > 1 {
		return false
	}
	switch a.Fn.Name {
	case "min", "max":
		return b.Meta.Type(a.ID).Kind != types.Array
	case "bool_and", "every", "bool_or", "bit_and", "bit_or":
		return true
	}
	if a.Distinct {
		return false
	}
	switch a.Fn.Name {
	case "count", "bit_xor":
		return true
	case "sum", "avg":
		switch b.Meta.Type(a.Args[0]).Kind {
		case types.Int2, types.Int4, types.Int8, types.Numeric:
			return true
		}
	}
	return false
}

func (b *builder) hopAgg(n *logical.Agg) built {
	hop := n.In.(*logical.Hop)
	used := logical.SetOf(hop.Time)
	var keys []logical.ColID
	for _, k := range n.Keys {
		if k != hop.Start && k != hop.End {
			keys = append(keys, k)
			used.Add(k)
		}
	}
	for _, a := range n.Aggs {
		used.AddSet(logical.SetOf(a.Args...))
		if a.Filter != 0 {
			used.Add(a.Filter)
		}
	}
	in := b.node(hop.In, used)
	in = b.narrow(in, used, hop.In)
	out := &plan.HopAgg{In: in.node, TimeCol: in.pos(hop.Time), Size: hop.Size, Slide: hop.Slide, Offset: hop.Offset,
		Keys: in.positions(keys), Aggs: b.aggs(n.Aggs, in), AppendOnlyIn: in.node.Properties().AppendOnly}
	cols := append(slices.Clone(keys), hop.Start, hop.End)
	for _, a := range n.Aggs {
		cols = append(cols, a.ID)
	}
	out.Props = b.props(n, cols)
	return built{out, cols}
}
