package plan

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// StateEstimate is what a node of a stream plan is expected to keep.
type StateEstimate struct {
	// Out is the number of rows that come out of the node, as far as they stay.
	Out float64
	// Rows and Bytes are what it keeps; 0: nothing.
	Rows, Bytes float64
	// Grows says why the state has no bound, empty if it has one.
	Grows string
}

// Guesses where there are no statistics: the part of rows that passes a condition, the part that are different values of
// columns that are no key, and how many elements a set-returning function gives.
const (
	guessPass     = 1.0 / 3
	guessDistinct = 1.0 / 10
	guessSet      = 10
	// rowOverhead is what a kept row takes besides its columns.
	rowOverhead = 48
)

// EstimateState predicts the state of every node of a plan from the number of rows of the relations that it reads.
func (s *Stream) EstimateState(rows func(*catalog.Relation) float64) map[Node]StateEstimate {
	e := estimator{rows: rows, out: map[Node]StateEstimate{}, fragments: map[int]Node{}}
	for _, f := range s.Fragments {
		e.fragments[f.ID] = f.Root
	}
	for _, f := range s.Fragments {
		e.node(f.Root)
	}
	return e.out
}

type estimator struct {
	rows      func(*catalog.Relation) float64
	out       map[Node]StateEstimate
	fragments map[int]Node
}

func rowWidth(p *Props) float64 {
	n := float64(rowOverhead)
	for _, c := range p.Cols {
		switch c.Type.Phys() {
		case types.PhysStr:
			n += 24
		case types.PhysDec, types.PhysInterval:
			n += 16
		default:
			n += 8
		}
	}
	return n
}

// unbounded tells which source a node's rows come from without end; "" if they do not.
func (e *estimator) unbounded(n Node) string {
	switch n := n.(type) {
	case *SourceScan:
		return n.Rel.Name
	case *TableScan:
		if n.Rel.AppendOnly && n.Rel.HasConnector() {
			return n.Rel.Name
		}
		return ""
	case *TemporalFilter:
		return "" // rows leave as time passes
	case *TopN:
		if len(n.GroupBy) == 0 {
			return ""
		}
	case *HashAgg:
		if len(n.Keys) == 0 {
			return ""
		}
	case *Receive:
		if r := e.fragments[n.From]; r != nil && !n.Loop {
			return e.unbounded(r)
		}
		return ""
	}
	for _, in := range n.Inputs() {
		if s := e.unbounded(in); s != "" {
			return s
		}
	}
	return ""
}

// distinct guesses how many different values some columns have.
func distinct(rows float64, cols []int, p *Props) float64 {
	if len(cols) == 0 {
		return 1
	}
	if p.HasKey {
		has := map[int]bool{}
		for _, c := range cols {
			has[c] = true
		}
		all := true
		for _, k := range p.Key {
			all = all && has[k]
		}
		if all {
			return rows
		}
	}
	return max(1, rows*guessDistinct)
}

func (e *estimator) node(n Node) StateEstimate {
	if s, ok := e.out[n]; ok {
		return s
	}
	e.out[n] = StateEstimate{} // what a loop sends back
	var in []StateEstimate
	for _, x := range n.Inputs() {
		in = append(in, e.node(x))
	}
	s := e.estimate(n, in)
	if s.Rows > 0 {
		if from := e.unbounded(n); from != "" && s.Grows == "" && e.growing(n) {
			s.Grows = fmt.Sprintf("it grows with source %q", from)
		}
	}
	e.out[n] = s
	return s
}

// growing tells whether the state of a node grows with its input.
func (e *estimator) growing(n Node) bool {
	switch n := n.(type) {
	case *HashAgg:
		return len(n.Keys) > 0
	case *TopN:
		return len(n.GroupBy) > 0
	}
	return true
}

func (e *estimator) estimate(n Node, in []StateEstimate) StateEstimate {
	keep := func(out, rows float64, of *Props) StateEstimate {
		return StateEstimate{Out: out, Rows: rows, Bytes: rows * rowWidth(of)}
	}
	switch n := n.(type) {
	case *SourceScan:
		return StateEstimate{Out: e.rows(n.Rel)}
	case *TableScan:
		return StateEstimate{Out: e.rows(n.Rel)}
	case *Receive:
		if r := e.fragments[n.From]; r != nil && !n.Loop {
			return StateEstimate{Out: e.node(r).Out}
		}
		return StateEstimate{}
	case *Filter:
		return StateEstimate{Out: in[0].Out * guessPass}
	case *TemporalFilter:
		return keep(in[0].Out*guessPass, in[0].Out, n.Properties())
	case *HashAgg:
		p := n.Inputs()[0].Properties()
		g := distinct(in[0].Out, n.Keys, p)
		s := keep(g, g, n.Properties())
		var sets [][]int
		for _, a := range n.Aggs {
			switch {
			case a.Distinct && len(a.Args) > 0 && !distinctIsNoop(a):
				// One table for all calls over the same arguments, whatever their filters.
				if slices.ContainsFunc(sets, func(s []int) bool { return slices.Equal(s, a.Args) }) {
					continue
				}
				sets = append(sets, a.Args)
				fallthrough
			case !p.AppendOnly && keepsInputs(a):
				// The values are kept as well.
				s.Rows += in[0].Out
				s.Bytes += in[0].Out * (rowOverhead + 16)
			}
		}
		return s
	case *HashJoin:
		l, r := n.L.Properties(), n.R.Properties()
		out := max(in[0].Out, in[1].Out)
		if len(n.LeftKeys) == 0 {
			out = in[0].Out * in[1].Out * guessPass
		}
		switch n.Kind {
		case Semi, Anti:
			out = in[0].Out * guessPass
		}
		s := StateEstimate{Out: out}
		if n.LeftShared == nil {
			s.Rows, s.Bytes = in[0].Out, in[0].Out*rowWidth(l)
		}
		if n.RightShared == nil {
			s.Rows, s.Bytes = s.Rows+in[1].Out, s.Bytes+in[1].Out*rowWidth(r)
		}
		return s
	case *TopN:
		p := n.Inputs()[0].Properties()
		g := distinct(in[0].Out, n.GroupBy, p)
		kept := in[0].Out
		if p.AppendOnly && n.Limit != nil {
			kept = min(kept, g*100)
		}
		return keep(min(in[0].Out, g*10), kept, p)
	case *Session, *Window, *Max1Row, *HopAgg:
		return keep(in[0].Out, in[0].Out, n.Properties())
	case *ProjectSet:
		return StateEstimate{Out: in[0].Out * guessSet}
	case *UnionAll:
		out := 0.0
		for _, x := range in {
			out += x.Out
		}
		return StateEstimate{Out: out}
	case *Values:
		return StateEstimate{Out: float64(len(n.Rows))}
	case *LoopHead, *Materialize:
		return keep(in[0].Out, in[0].Out, n.Properties())
	}
	if len(in) == 0 {
		return StateEstimate{}
	}
	return StateEstimate{Out: in[0].Out}
}

// distinctIsNoop: these give the same with and without DISTINCT, and keep no values for it.
func distinctIsNoop(a Agg) bool {
	switch a.Fn.Name {
	case "min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or":
		return true
	}
	return false
}

// keepsInputs tells whether an aggregate must know all of its input to take a row back.
func keepsInputs(a Agg) bool {
	switch a.Fn.Name {
	case "count", "sum", "avg", "bool_and", "bool_or", "every", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp":
		return false
	}
	return true
}
