package rule

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Panes computes aggregates over overlapping windows, without further keys, in two steps. Instead of
//
//	agg(hop(X, t, size, slide)) by window
//
// the rows are first aggregated by pane, the tumbling window of length slide, and the panes' results, which
// are few, go into the windows:
//
//	agg(hop(agg(tumble(X, t, slide)) by pane start, size, slide)) by window
//
// Windows share panes, so that one actor must work them all out; this leaves it little to do. (With further keys
// plan.HopAgg does both steps.) It applies when size is a multiple of slide and every aggregate is a count, or a
// sum that is exact in any order. ("No Pane, No Gain", Li et al., SIGMOD Record 2005.)
func Panes(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		if a, ok := n.(*logical.Agg); ok {
			if r := e.panes(a); r != nil {
				return r
			}
		}
		return n
	})
}

// sumInt8 adds up the int8 results of panes to an int8: SQL's sum(int8) is a numeric, since it must hold sums
// that the aggregate over the rows themselves, whose result this is, does not promise to hold.
var sumInt8 = &fn.Func{
	ID: "sum(int8) as int8", Name: "sum", Kind: fn.Aggregate, Args: []types.Type{types.T(types.Int8)}, Ret: types.T(types.Int8), Direct: -1,
}

func windowMicros(s types.Span) int64 { return int64(s.Days)*86_400_000_000 + s.Micros }

func (e *Env) panes(a *logical.Agg) logical.Node {
	hop, ok := a.In.(*logical.Hop)
	if !ok || len(a.Aggs) == 0 {
		return nil
	}
	size, slide := windowMicros(hop.Size), windowMicros(hop.Slide)
	further := func(k logical.ColID) bool { return k != hop.Start && k != hop.End }
	if hop.Cumulate || slide <= 0 || size <= slide || size%slide != 0 || len(a.Keys) == 0 || slices.ContainsFunc(a.Keys, further) {
		return nil
	}
	pane := &logical.Hop{In: hop.In, Time: hop.Time, Size: hop.Slide, Slide: hop.Slide, Offset: hop.Offset}
	timeType := e.Meta.Type(hop.Time)
	pane.Start, pane.End = e.Meta.New("pane_start", timeType), e.Meta.New("pane_end", timeType)
	first, second := &logical.Agg{In: pane, Keys: []logical.ColID{pane.Start}}, &logical.Agg{Keys: a.Keys}
	out := e.passAll(a.Keys)
	for _, g := range a.Aggs {
		part, whole, x := e.splitAgg(g, hop.Start, hop.End)
		if x == nil {
			return nil
		}
		first.Aggs = append(first.Aggs, part)
		second.Aggs = append(second.Aggs, whole)
		out = append(out, logical.ProjCol{ID: g.ID, Expr: x})
	}
	second.In = &logical.Hop{
		In: first, Time: pane.Start, Size: hop.Size, Slide: hop.Slide, Offset: hop.Offset, Start: hop.Start, End: hop.End,
	}
	return &logical.Project{In: second, Exprs: out}
}

// splitAgg gives the aggregate of a pane, that of the panes' results, and the expression for the final
// result; nil if it cannot be split.
func (e *Env) splitAgg(g logical.AggCol, start, end logical.ColID) (part, whole logical.AggCol, x scalar.Expr) {
	if g.Distinct || len(g.OrderBy) > 0 || len(g.Args) > 1 ||
		slices.Contains(g.Args, start) || slices.Contains(g.Args, end) || g.Filter == start || g.Filter == end {
		return part, whole, nil
	}
	switch {
	case g.Fn.Name == "count":
	case g.Fn.Name == "sum" && len(g.Args) == 1:
		switch e.Meta.Type(g.Args[0]).Kind {
		case types.Int2, types.Int4, types.Int8, types.Numeric:
		default:
			return part, whole, nil
		}
	default:
		return part, whole, nil
	}
	want := e.Meta.Type(g.ID)
	part = g
	part.ID = e.Meta.New("pane_"+g.Fn.Name, want)
	if want.Kind == types.Int8 {
		whole = logical.AggCol{ID: e.Meta.New(g.Fn.Name, want), Fn: sumInt8, Args: []logical.ColID{part.ID}}
		return part, whole, e.Meta.Ref(whole.ID)
	}
	res, err := e.Registry.ResolveFunc("sum", []types.Type{want}, fn.CallOptions{})
	if err != nil || res.Fn.Kind != fn.Aggregate {
		return part, whole, nil
	}
	whole = logical.AggCol{ID: e.Meta.New("sum", res.Ret), Fn: res.Fn, Args: []logical.ColID{part.ID}}
	x = e.Meta.Ref(whole.ID)
	steps, err := e.Registry.ResolveCast(x.Type(), want, fn.Explicit)
	if err != nil {
		return part, whole, nil
	}
	for _, st := range steps {
		if st.Fn == nil || len(st.Fn.Args) != 1 {
			return part, whole, nil
		}
		x = &scalar.Call{Node: scalar.Node{T: st.To, Pos: -1}, Fn: st.Fn, Args: []scalar.Expr{x}}
	}
	return part, whole, x
}
