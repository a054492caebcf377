package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
)

// A part of a stream plan that several nodes read is a fragment of its own, which sends its rows to each of them. Until the plan
// is cut a fork stands in its place at each of these.

// fork reads a part of the plan that others read too; it does not get out of this package.
type fork struct {
	plan.Props
	in plan.Node
}

func (f *fork) Inputs() []plan.Node { return []plan.Node{f.in} }

// fork builds a node with several parents, once, and a fork for one of them.
func (b *builder) fork(n logical.Node, need logical.ColSet) built {
	x, ok := b.common[n]
	if !ok {
		x = b.own(n, need)
		if b.common == nil {
			b.common = map[logical.Node]built{}
		}
		b.common[n] = x
	}
	p := *x.node.Properties()
	p.Cols = slices.Clone(p.Cols)
	return built{&fork{Props: p, in: x.node}, slices.Clone(x.cols)}
}

// fork distributes the part of a plan that a fork reads, once, and gives an exchange from it. What of the part is not
// distributed by columns comes by its key.
func (d *distributor) fork(n *fork) plan.Node {
	part, ok := d.forked[n.in]
	if !ok {
		if d.forked == nil {
			d.forked, d.parts = map[plan.Node]plan.Node{}, map[plan.Node]int{}
		}
		part = d.node(n.in)
		d.forked[n.in] = part
	}
	p := n.Props
	have := part.Properties()
	if p.Dist = have.Dist; p.Dist.Kind == plan.Any {
		if p.Dist = hash(everyColumn(part)); have.HasKey && len(have.Key) > 0 {
			p.Dist = hash(have.Key)
		}
	}
	return &exchange{Props: p, in: part}
}

// isForked tells whether a node is the root of a part with several consumers.
func (d *distributor) isForked(n plan.Node) bool {
	for _, part := range d.forked {
		if part == n {
			return true
		}
	}
	return false
}
