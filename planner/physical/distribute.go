package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/scalar"
)

// exchange marks a cut while the plan is distributed; it does not get out of this file.
type exchange struct {
	plan.Props
	in plan.Node
}

func (x *exchange) Inputs() []plan.Node { return []plan.Node{x.in} }

// distribute says of each node how its rows lie on the actors, puts exchanges where an operator
// needs them otherwise, and cuts there. With parallelism 1 there is one fragment.
func distribute(root plan.Node, par int) []*plan.Fragment {
	d := &distributor{par: par}
	root = d.node(root)
	d.cut(root)
	return d.frags
}

type distributor struct {
	par   int
	frags []*plan.Fragment
	// working is how the rows of a recursive query lie, heads the fragment of its head, by its ID.
	working map[int]plan.Dist
	heads   map[int]int
	// forked has, for parts of the plan with several consumers, the distributed part, parts the fragment of each of these.
	forked map[plan.Node]plan.Node
	parts  map[plan.Node]int
}

var single = plan.Dist{Kind: plan.Single}

func hash(cols []int) plan.Dist {
	if len(cols) == 0 {
		return single
	}
	return plan.Dist{Kind: plan.Hash, Cols: slices.Clone(cols)}
}

func (d *distributor) require(n plan.Node, want plan.Dist) plan.Node {
	have := n.Properties().Dist
	if d.par == 1 || have.Kind == want.Kind && (want.Kind != plan.Hash || slices.Equal(have.Cols, want.Cols)) {
		return n
	}
	p := *n.Properties()
	p.Dist = want
	if x, ok := n.(*exchange); ok && d.isForked(x.in) {
		n = x.in
	}
	return &exchange{Props: p, in: n}
}

// ordered makes sure that of the rows with one key the old one goes before the new one comes, for
// consumers that keep rows by key.
func (d *distributor) ordered(n plan.Node) plan.Node {
	if d.par == 1 || !scrambled(n) {
		return n
	}
	p := *n.Properties()
	return &plan.Consolidate{Props: p, In: n}
}

// scrambled tells whether rows with one key may come from several actors, in any order within an
// epoch. Aggregates do not care, and emit the changes of a group from one actor.
func scrambled(n plan.Node) bool {
	switch n := n.(type) {
	case *exchange:
		p := n.in.Properties()
		if p.AppendOnly || !p.HasKey {
			return false
		}
		return scrambled(n.in) || p.Dist.Kind != plan.Single && !groupable(p.Dist, p.Key)
	case *plan.HashAgg, *plan.HopAgg, *plan.TopN, *plan.Window, *plan.Session, *plan.WindowClose, *plan.Consolidate, *plan.Recursive, *plan.Working:
		return false
	}
	return slices.ContainsFunc(n.Inputs(), scrambled)
}

// groupable: rows that agree on cols are on one actor already.
func groupable(have plan.Dist, cols []int) bool {
	if have.Kind == plan.Single {
		return false
	}
	if have.Kind != plan.Hash {
		return false
	}
	for _, c := range have.Cols {
		if !slices.Contains(cols, c) {
			return false
		}
	}
	return true
}

func (d *distributor) node(n plan.Node) plan.Node {
	switch n := n.(type) {
	case *plan.SourceScan:
		n.Dist = single
		if idle := n.Rel.Watermark != nil && n.Rel.Watermark.Idle > 0; n.Rel.Splits >= d.par && d.par > 1 && !idle {
			// Who tells which splits are idle must see all of them.
			n.Dist = plan.Dist{Kind: plan.Any}
		}
	case *plan.TableScan, *plan.Values:
		n.Properties().Dist = single
	case *fork:
		return d.fork(n)
	case *plan.Filter:
		n.In = d.node(n.In)
		n.Dist = n.In.Properties().Dist
	case *plan.Lookup:
		n.In = d.node(n.In)
		n.Dist = n.In.Properties().Dist
		if n.Dist.Kind == plan.Hash {
			if cols, ok := within(n.Dist.Cols, n.Output); ok {
				n.Dist = hash(cols)
			} else {
				n.Dist = plan.Dist{Kind: plan.Any}
			}
		}
	case *plan.TemporalFilter:
		// What it keeps of a key is the row that came last.
		n.In = d.ordered(d.node(n.In))
		n.Dist = n.In.Properties().Dist
	case *plan.Project:
		n.In = d.node(n.In)
		n.Dist = throughProject(n.In.Properties().Dist, n.Exprs)
	case *plan.Hop:
		n.In = d.node(n.In)
		n.Dist = n.In.Properties().Dist
	case *plan.ProcTime:
		n.In = d.node(n.In)
		n.Dist = n.In.Properties().Dist
	case *plan.ProjectSet:
		n.In = d.node(n.In)
		n.Dist = n.In.Properties().Dist
	case *plan.HashAgg:
		n.In = d.node(n.In)
		n.InDist = n.Keys
		if h := n.In.Properties().Dist; d.par > 1 && len(n.Keys) > 0 && groupable(h, n.Keys) {
			n.InDist = h.Cols
		} else {
			n.In = d.require(n.In, hash(n.Keys))
		}
		n.Dist = single
		if len(n.Keys) > 0 && d.par > 1 {
			var cols []int
			for _, c := range n.InDist {
				cols = append(cols, slices.Index(n.Keys, c))
			}
			n.Dist = hash(cols)
		}
	case *plan.HopAgg:
		n.In = d.node(n.In)
		n.InDist = n.Keys
		if h := n.In.Properties().Dist; d.par > 1 && len(n.Keys) > 0 && groupable(h, n.Keys) {
			n.InDist = h.Cols
		} else {
			n.In = d.require(n.In, hash(n.Keys))
		}
		n.Dist = single
		if len(n.Keys) > 0 && d.par > 1 {
			cols, _ := within(n.InDist, n.Keys)
			n.Dist = hash(cols)
		}
	case *plan.TopN:
		n.In = d.node(n.In)
		n.InDist = n.GroupBy
		if h := n.In.Properties().Dist; d.par > 1 && len(n.GroupBy) > 0 && groupable(h, n.GroupBy) {
			n.InDist = h.Cols
		} else {
			n.In = d.require(n.In, hash(n.GroupBy))
		}
		n.In = d.ordered(n.In)
		n.Dist = single
		if d.par > 1 {
			n.Dist = hash(n.InDist)
		}
	case *plan.Watermark:
		n.In = d.node(n.In)
		n.Dist = n.In.Properties().Dist
	case *plan.WindowClose:
		n.In = d.require(d.node(n.In), hash(n.InDist))
		n.Dist = n.In.Properties().Dist
	case *plan.Session:
		n.In = d.node(n.In)
		n.InDist = n.Partition
		if h := n.In.Properties().Dist; d.par > 1 && len(n.Partition) > 0 && groupable(h, n.Partition) {
			n.InDist = h.Cols
		} else {
			n.In = d.require(n.In, hash(n.Partition))
		}
		n.Dist = single
		if d.par > 1 {
			n.Dist = hash(n.InDist)
		}
	case *plan.Window:
		n.In = d.node(n.In)
		n.InDist = n.PartitionBy
		if h := n.In.Properties().Dist; d.par > 1 && len(n.PartitionBy) > 0 && groupable(h, n.PartitionBy) {
			n.InDist = h.Cols
		} else {
			n.In = d.require(n.In, hash(n.PartitionBy))
		}
		n.In = d.ordered(n.In)
		n.Dist = single
		if d.par > 1 {
			n.Dist = hash(n.InDist)
		}
	case *plan.Max1Row:
		n.In = d.ordered(d.require(d.node(n.In), hash(n.GroupBy)))
		n.Dist = n.In.Properties().Dist
	case *plan.HashJoin:
		n.L = d.side(n.L, n.LeftKeys, n.LeftShared)
		n.R = d.side(n.R, n.RightKeys, n.RightShared)
		n.LeftDist, n.RightDist = n.LeftKeys, n.RightKeys
		n.Dist = single
		if d.par > 1 && len(n.LeftKeys) > 0 {
			n.Dist = plan.Dist{Kind: plan.Any}
			keys := n.LeftKeys
			if n.Kind == plan.Right {
				keys = nil
				for _, k := range n.RightKeys {
					keys = append(keys, k+len(n.L.Properties().Cols))
				}
			}
			if n.Kind != plan.Full {
				if cols, ok := within(keys, n.Output); ok {
					n.Dist = hash(cols)
				}
			}
		}
	case *plan.UnionAll:
		for i := range n.Ins {
			n.Ins[i] = d.node(n.Ins[i])
		}
		n.Dist = single
		if d.par > 1 {
			same := true
			first := n.Ins[0].Properties().Dist
			for _, in := range n.Ins {
				h := in.Properties().Dist
				same = same && h.Kind == first.Kind && slices.Equal(h.Cols, first.Cols)
			}
			n.Dist = first
			if !same {
				// Equal rows go to one actor, so that a row and its retraction keep their order.
				all := make([]int, len(n.Ins[0].Properties().Cols))
				for i := range all {
					all[i] = i
				}
				for i := range n.Ins {
					n.Ins[i] = d.require(n.Ins[i], hash(all))
				}
				n.Dist = hash(all)
			}
		}
	case *plan.Recursive:
		d.loop(n)
	case *plan.Working:
		n.Dist = d.working[n.ID]
	case *plan.Materialize:
		n.In = d.ordered(d.require(d.node(n.In), hash(n.InDist)))
		n.Dist = n.In.Properties().Dist
	case *plan.Sink:
		if n.In = d.node(n.In); n.Ordered {
			n.In = d.ordered(d.require(n.In, single))
		}
		n.Dist = n.In.Properties().Dist
	}
	return n
}

// side distributes an input of a join by its keys. One that is shared comes from the relation like that, in the join's own
// fragment.
func (d *distributor) side(n plan.Node, keys []int, sh *plan.Shared) plan.Node {
	if sh == nil {
		return d.ordered(d.require(d.node(n), hash(keys)))
	}
	have := single
	if d.par > 1 {
		have = hash(keys)
	}
	n.Properties().Dist = have
	for i := len(sh.Steps) - 1; i >= 0; i-- {
		in := sh.Steps[i].Inputs()[0]
		if p, ok := sh.Steps[i].(*plan.Project); ok && d.par > 1 {
			cols := make([]int, len(have.Cols))
			for k, c := range have.Cols {
				cols[k] = p.Exprs[c].(*scalar.Column).Index
			}
			have = hash(cols)
		}
		in.Properties().Dist = have
	}
	return n
}

func within(keys, output []int) ([]int, bool) {
	var cols []int
	for _, k := range keys {
		at := slices.Index(output, k)
		if at < 0 {
			return nil, false
		}
		cols = append(cols, at)
	}
	return cols, true
}

func throughProject(h plan.Dist, exprs []scalar.Expr) plan.Dist {
	if h.Kind != plan.Hash {
		return h
	}
	var cols []int
	for _, c := range h.Cols {
		at := slices.IndexFunc(exprs, func(e scalar.Expr) bool {
			x, ok := e.(*scalar.Column)
			return ok && x.Index == c
		})
		if at < 0 {
			return plan.Dist{Kind: plan.Any}
		}
		cols = append(cols, at)
	}
	return hash(cols)
}

// cut makes a fragment of the tree under root, after those that it receives from, and gives its
// number.
func (d *distributor) cut(root plan.Node) int {
	switch n := root.(type) {
	case *plan.Recursive:
		return d.cutLoop(n)
	case *plan.Working:
		return d.heads[n.ID]
	}
	if id, ok := d.parts[root]; ok {
		return id
	}
	part := root
	f := &plan.Fragment{Parallel: 1}
	if root.Properties().Dist.Kind != plan.Single && d.par > 1 {
		f.Parallel = d.par
	}
	type edge struct {
		from int
		dist plan.Dist
	}
	var edges []edge
	f.Root = d.replace(root, func(x *exchange) plan.Node {
		from := d.cut(x.in)
		edges = append(edges, edge{from, x.Dist})
		_, working := x.in.(*plan.Working)
		return &plan.Receive{Props: x.Props, From: from, Working: working}
	})
	f.ID = len(d.frags)
	d.frags = append(d.frags, f)
	if d.isForked(part) {
		d.parts[part] = f.ID
	}
	for _, e := range edges {
		d.frags[e.from].Sends = append(d.frags[e.from].Sends, plan.Send{To: f.ID, Dist: e.dist})
	}
	return f.ID
}

// replace puts something else in the place of the exchanges nearest to the root.
func (d *distributor) replace(n plan.Node, f func(*exchange) plan.Node) plan.Node {
	switch n := n.(type) {
	case *exchange:
		return f(n)
	case *plan.Recursive, *plan.Working:
		return f(&exchange{Props: *n.Properties(), in: n})
	}
	switch n := n.(type) {
	case *plan.Filter:
		n.In = d.replace(n.In, f)
	case *plan.Lookup:
		n.In = d.replace(n.In, f)
	case *plan.TemporalFilter:
		n.In = d.replace(n.In, f)
	case *plan.Project:
		n.In = d.replace(n.In, f)
	case *plan.Hop:
		n.In = d.replace(n.In, f)
	case *plan.ProcTime:
		n.In = d.replace(n.In, f)
	case *plan.ProjectSet:
		n.In = d.replace(n.In, f)
	case *plan.HashAgg:
		n.In = d.replace(n.In, f)
	case *plan.HopAgg:
		n.In = d.replace(n.In, f)
	case *plan.Session:
		n.In = d.replace(n.In, f)
	case *plan.Watermark:
		n.In = d.replace(n.In, f)
	case *plan.WindowClose:
		n.In = d.replace(n.In, f)
	case *plan.TopN:
		n.In = d.replace(n.In, f)
	case *plan.Window:
		n.In = d.replace(n.In, f)
	case *plan.Max1Row:
		n.In = d.replace(n.In, f)
	case *plan.Consolidate:
		n.In = d.replace(n.In, f)
	case *plan.HashJoin:
		n.L, n.R = d.replace(n.L, f), d.replace(n.R, f)
	case *plan.UnionAll:
		for i := range n.Ins {
			n.Ins[i] = d.replace(n.Ins[i], f)
		}
	case *plan.Materialize:
		n.In = d.replace(n.In, f)
	case *plan.Sink:
		n.In = d.replace(n.In, f)
	}
	return n
}
