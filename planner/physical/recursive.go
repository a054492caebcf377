package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/sqlerr"
)

// recursive builds a recursive query.
func (b *builder) recursive(n *logical.Recursive) built {
	step := n.Step
	if !n.All && (b.stream || n.Multi) {
		step = b.undistinct(step, n.ID)
	}
	step = leftmost(step, n.ID)
	bad := nonlinear(step, n.ID, n.Multi && !n.All)
	if n.Multi && bad != "" {
		panic(failure{sqlerr.New(sqlerr.InvalidRecursion, n.MultiPos, "recursive reference to query \"%s\" must not appear more than once", n.Name).
			WithDetail("Its recursive term has %s.", bad)})
	}
	if b.stream {
		if bad != "" {
			unsupported(n.Pos, bad+" in the recursive term of a materialized view or sink")
		}
		step = prop.WithRising(step, n.ID, prop.AppendOnly(n))
	}
	out := &plan.Recursive{ID: n.ID, Name: n.Name, All: n.All, Ordinal: n.Ord != 0}
	out.Linear = bad == "" && logical.References(step, n.ID) == 1
	b.loops++
	defer func() { b.loops-- }()
	out.Full = n.Multi && nonlinear(step, n.ID, false) != ""
	out.Base = b.arrange(b.node(n.Base, logical.SetOf(n.BaseMap...)), n.BaseMap, n.Out).node
	out.Step = b.arrange(b.node(step, logical.SetOf(n.StepMap...)), n.StepMap, n.Out).node
	cols := n.Cols()
	out.Props = b.props(n, cols)
	return built{out, cols}
}

// undistinct takes DISTINCT off the way from the recursive references to the root of the step of a UNION, which makes
// its rows distinct itself.
func (b *builder) undistinct(n logical.Node, id int) logical.Node {
	if logical.References(n, id) == 0 {
		return n
	}
	switch t := n.(type) {
	case *logical.Filter, *logical.Project, *logical.Hop, *logical.ProjectSet, *logical.UnionAll:
		var ins []logical.Node
		for _, in := range n.Inputs() {
			ins = append(ins, b.undistinct(in, id))
		}
		return n.WithInputs(ins)
	case *logical.Join:
		l, r := t.L, t.R
		if t.Kind == logical.Semi && logical.References(r, id) > 0 {
			// A join of distinct rows may have become one.
			in := &logical.Join{Kind: logical.Inner, L: b.undistinct(l, id), R: b.undistinct(r, id), On: t.On}
			return b.only(in, l.Cols())
		}
		if t.Kind != logical.Right && t.Kind != logical.Full {
			l = b.undistinct(l, id)
		}
		if t.Kind == logical.Inner || t.Kind == logical.Right {
			r = b.undistinct(r, id)
		}
		return n.WithInputs([]logical.Node{l, r})
	case *logical.Agg:
		if len(t.Aggs) > 0 || len(t.Keys) == 0 {
			return n
		}
		return b.only(b.undistinct(t.In, id), t.Keys)
	}
	return n
}

// only gives some columns of n.
func (b *builder) only(n logical.Node, cols []logical.ColID) logical.Node {
	p := &logical.Project{In: n}
	for _, c := range cols {
		p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: b.Meta.Ref(c)})
	}
	return p
}

// leftmost puts the recursive reference on the left side of joins, where the kind of the join allows it.
func leftmost(n logical.Node, id int) logical.Node {
	if logical.References(n, id) == 0 {
		return n
	}
	ins := n.Inputs()
	nins := make([]logical.Node, len(ins))
	for i, in := range ins {
		nins[i] = leftmost(in, id)
	}
	if len(ins) > 0 {
		n = n.WithInputs(nins)
	}
	j, ok := n.(*logical.Join)
	if !ok || logical.References(j.L, id) > 0 {
		return n
	}
	switch j.Kind {
	case logical.Inner:
		return &logical.Join{Kind: logical.Inner, L: j.R, R: j.L, On: j.On}
	case logical.Right:
		return &logical.Join{Kind: logical.Left, L: j.R, R: j.L, On: j.On}
	}
	return n
}

// nonlinear names what stands between the recursive reference and the root of the step that does not work a row
// at a time, "" if there is nothing: then the rows of a step over two sets are those over each of them. With several,
// joins of recursive references are let through: then more rows still lead to more rows, and fewer to fewer.
func nonlinear(n logical.Node, id int, several bool) string {
	switch n := n.(type) {
	case *logical.Working:
		return ""
	case *logical.Filter, *logical.Project, *logical.Hop, *logical.ProjectSet:
		return nonlinear(n.Inputs()[0], id, several)
	case *logical.UnionAll:
		for _, in := range n.Ins {
			if logical.References(in, id) == 0 {
				return "UNION with a term that has no recursive reference"
			}
			if bad := nonlinear(in, id, several); bad != "" {
				return bad
			}
		}
		return ""
	case *logical.Join:
		l, r := logical.References(n.L, id), logical.References(n.R, id)
		switch {
		case l > 0 && r > 0 && several && n.Kind == logical.Inner:
			if bad := nonlinear(n.L, id, several); bad != "" {
				return bad
			}
			return nonlinear(n.R, id, several)
		case l > 0 && r > 0:
			return "a recursive reference that is used more than once"
		case r > 0:
			return "the recursive reference in a subquery or on the nullable side of a join"
		}
		return nonlinear(n.L, id, several)
	case *logical.Agg:
		if len(n.Aggs) == 0 {
			return "DISTINCT or GROUP BY"
		}
		return "an aggregate over the recursive reference"
	case *logical.TopN:
		return "LIMIT, OFFSET or DISTINCT ON"
	case *logical.Window:
		return "a window function"
	case *logical.Session:
		return "SESSION"
	case *logical.Recursive:
		return "a recursive query over the recursive reference"
	}
	return "a subquery over the recursive reference"
}

// everyColumn lists the columns of a node.
func everyColumn(n plan.Node) []int {
	all := make([]int, len(n.Properties().Cols))
	for i := range all {
		all[i] = i
	}
	return all
}

// loop distributes a recursive query: equal rows are on one actor. What comes in and what comes back is sent there
// in any case, so that the loop has fragments of its own.
func (d *distributor) loop(n *plan.Recursive) {
	want := single
	if d.par > 1 {
		want = hash(everyColumn(n.Base))
	}
	send := func(in plan.Node) plan.Node {
		p := *in.Properties()
		p.Dist = want
		return &exchange{Props: p, in: in}
	}
	if d.working == nil {
		d.working = map[int]plan.Dist{}
	}
	d.working[n.ID] = want
	n.Base, n.Step = send(d.node(n.Base)), send(d.node(n.Step))
	n.Dist = want
}

// cutLoop makes the fragments of a recursive query and gives the number of its head:
//
//	base -> head -> step -> (back to) head, and head -> consumer
func (d *distributor) cutLoop(n *plan.Recursive) int {
	base, step := n.Base.(*exchange), n.Step.(*exchange)
	from := d.cut(base.in)
	head := &plan.LoopHead{Props: n.Props, In: &plan.Receive{Props: base.Props, From: from}, Name: n.Name, All: n.All, Ordinal: n.Ordinal}
	f := &plan.Fragment{ID: len(d.frags), Root: head, Parallel: 1}
	if d.par > 1 && n.Dist.Kind != plan.Single {
		f.Parallel = d.par
	}
	d.frags = append(d.frags, f)
	d.frags[from].Sends = append(d.frags[from].Sends, plan.Send{To: f.ID, Dist: base.Dist})
	if d.heads == nil {
		d.heads = map[int]int{}
	}
	d.heads[n.ID] = f.ID
	tail := d.cut(step.in)
	head.Feedback = tail
	d.frags[tail].Sends = append(d.frags[tail].Sends, plan.Send{To: f.ID, Dist: step.Dist, Feedback: true})
	// Whatever lies between head and tail is in the loop.
	inLoop := []int{f.ID}
	for _, g := range d.frags[f.ID+1 : tail+1] {
		if markLoop(g.Root, inLoop) {
			inLoop = append(inLoop, g.ID)
		}
	}
	return f.ID
}

// markLoop marks what a fragment receives from the fragments of a loop, and tells whether there is anything.
func markLoop(n plan.Node, inLoop []int) bool {
	if r, ok := n.(*plan.Receive); ok {
		if r.Loop = r.Loop || r.Working && slices.Contains(inLoop, r.From) || !r.Working && slices.Contains(inLoop[1:], r.From); r.Loop {
			return slices.Contains(inLoop, r.From)
		}
		return false
	}
	found := false
	for _, in := range n.Inputs() {
		if markLoop(in, inLoop) {
			found = true
		}
	}
	return found
}
