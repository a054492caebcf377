package rule

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// SessionPanes aggregates the rows of sessions in two steps. Instead of
//
//	agg(session(X, t, gap)) by keys, window
//
// the rows are first aggregated by pane, the tumbling window of the length of the gap. Rows of one pane are less than a gap
// apart, so that they are in one session; what is between the first and the last of them is put into sessions as a whole:
//
//	agg(session(agg(tumble(X, t, gap)) by partition, pane start, first to last, gap)) by keys, window
//
// A session that grows then changes a row of each of its panes, and not each of its rows, and that is also all that is kept. It applies when
// the keys are columns of the partition and the window, every aggregate is a count, or a sum that is exact in any order, and there
// is no watermark below, by which what has ended could be forgotten.
func SessionPanes(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		if a, ok := n.(*logical.Agg); ok {
			if r := e.sessionPanes(a); r != nil {
				return r
			}
		}
		return n
	})
}

func (e *Env) sessionPanes(a *logical.Agg) logical.Node {
	s, ok := a.In.(*logical.Session)
	if !ok || s.Last != 0 || hasWatermarks(s.In) {
		return nil
	}
	window := false
	for _, k := range a.Keys {
		switch {
		case k == s.Start || k == s.End:
			window = true
		case !slices.Contains(s.Partition, k):
			return nil
		}
	}
	if !window {
		return nil
	}
	t := e.Meta.Type(s.Time)
	pane := &logical.Hop{
		In: s.In, Time: s.Time, Size: s.Gap, Slide: s.Gap, Start: e.Meta.New("pane_start", t), End: e.Meta.New("pane_end", t),
	}
	first := &logical.Agg{In: pane, Keys: append(slices.Clone(s.Partition), pane.Start)}
	bounds := [2]logical.ColID{}
	for i, name := range []string{"min", "max"} {
		res, err := e.Registry.ResolveFunc(name, []types.Type{t}, fn.CallOptions{})
		if err != nil || res.Fn.Kind != fn.Aggregate || res.Ret != t {
			return nil
		}
		bounds[i] = e.Meta.New("pane_"+name, t)
		first.Aggs = append(first.Aggs, logical.AggCol{ID: bounds[i], Fn: res.Fn, Args: []logical.ColID{s.Time}})
	}
	second := &logical.Agg{Keys: a.Keys}
	out := e.passAll(a.Keys)
	for _, g := range a.Aggs {
		part, whole, x := e.splitAgg(g, s.Start, s.End)
		if x == nil {
			return nil
		}
		first.Aggs = append(first.Aggs, part)
		second.Aggs = append(second.Aggs, whole)
		out = append(out, logical.ProjCol{ID: g.ID, Expr: x})
	}
	second.In = &logical.Session{
		In: first, Partition: s.Partition, Time: bounds[0], Last: bounds[1], Gap: s.Gap, Start: s.Start, End: s.End,
	}
	return &logical.Project{In: second, Exprs: out}
}

// hasWatermarks says whether a relation below n gives watermarks.
func hasWatermarks(n logical.Node) bool {
	if s, ok := n.(*logical.Scan); ok {
		return s.Rel.Watermark != nil || len(s.Rel.Watermarks) > 0
	}
	return slices.ContainsFunc(n.Inputs(), hasWatermarks)
}
