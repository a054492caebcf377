package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
)

// lock builds the locking of rows, in its order.
func (b *builder) lock(n *logical.Lock, need logical.ColSet) built {
	if b.stream {
		unsupported(sqlerr.NoPos, "FOR "+n.Rels[0].Strength.String()+" in a query that is kept up to date")
	}
	used := n.Used()
	used.AddSet(need)
	in := b.node(n.In, used)
	if len(n.Order) > 0 {
		in = b.sorted(in, &logical.TopN{In: n.In, Order: n.Order})
	}
	out := &plan.Lock{Props: *in.node.Properties(), In: in.node, OrderBy: in.order(n.Order)}
	for _, r := range n.Rels {
		out.Rels = append(out.Rels, plan.LockRel{Rel: r.Rel, Cols: in.positions(r.Cols), Strength: r.Strength, NoWait: r.NoWait, SkipLocked: r.SkipLocked})
	}
	return built{out, in.cols}
}

// lockIn finds the Lock below projections whose rows come in an order, nil if there is none.
func (b *builder) lockIn(x built, os []logical.Order) *plan.Lock {
	if b.stream {
		return nil
	}
	want := x.order(os)
	n := x.node
	for {
		switch p := n.(type) {
		case *plan.Project:
			next := slices.Clone(want)
			for i, w := range want {
				c, ok := p.Exprs[w.Col].(*scalar.Column)
				if !ok {
					return nil
				}
				next[i].Col = c.Index
			}
			want, n = next, p.In
			continue
		case *plan.Limit:
			n = p.In
			continue
		case *plan.Lock:
			if len(want) <= len(p.OrderBy) && slices.Equal(want, p.OrderBy[:len(want)]) {
				return p
			}
		}
		return nil
	}
}
