package build

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// BatchLeaves opens the leaves of batch plans on a snapshot.
type BatchLeaves interface {
	Scan(n *plan.Scan) (batch.Leaf, error)
	Source(n *plan.SourceScan) (batch.Leaf, error)
}

// RowLocker are BatchLeaves that can lock rows.
type RowLocker interface {
	// Lock gives what locks the rows of tables that a row of the input of n comes from: false if it is to be left out.
	Lock(n *plan.Lock) (func(ctx *exec.Context, c *vec.Chunk, i int) (bool, error), error)
}

// KeyedLeaves are BatchLeaves that can read rows by keys that are known only when the query runs.
type KeyedLeaves interface {
	// MostKeys is up to how many keys it is cheaper to look up than to read all rows of a relation.
	MostKeys(rel *catalog.Relation) int
	// ScanKeys is Scan of the rows with keys of f, which it reads when it is run; nil: they must all be read.
	ScanKeys(n *plan.Scan, f *plan.ScanFeed, keys *batch.KeySet) (batch.Leaf, error)
}

// Batch builds the tree of a batch plan without parameters.
func Batch(n plan.Node, leaves BatchLeaves, env *exec.Env) (*batch.Node, error) {
	return ObservedBatch(n, leaves, env, nil)
}

// ObservedBatch is Batch with a place where each node tells what it did; nil: none.
func ObservedBatch(n plan.Node, leaves BatchLeaves, env *exec.Env, stats func(plan.Node) *batch.Stats) (*batch.Node, error) {
	return (&batchBuilder{leaves: leaves, env: env, stats: stats}).node(n)
}

// batchBuilder builds trees; in the step of a recursive query it knows the working rows.
type batchBuilder struct {
	leaves  BatchLeaves
	env     *exec.Env
	stats   func(plan.Node) *batch.Stats
	working map[int]batch.Leaf
	// feeds are the keys of the joins above.
	feeds map[*plan.Feed]*batch.KeySet
	// once, inside a step whose tree is built for each round, has the parts that are the same every time.
	once map[plan.Node]*batch.Node
}

func (b *batchBuilder) node(n plan.Node) (*batch.Node, error) {
	out, err := b.bare(n)
	if err == nil && b.stats != nil {
		out.Stats = b.stats(n)
	}
	return out, err
}

func (b *batchBuilder) bare(n plan.Node) (*batch.Node, error) {
	if b.once != nil && !b.works(n) {
		k := b.once[n]
		if k == nil {
			outside := *b
			outside.once = nil
			in, err := outside.node(n)
			if err != nil {
				return nil, err
			}
			k = &batch.Node{Leaf: batch.Once(in)}
			b.once[n] = k
		}
		return k, nil
	}
	switch n := n.(type) {
	case *plan.Scan:
		l, err := b.leaves.Scan(n)
		if err == nil && len(n.Feeds) > 0 {
			l, err = b.fed(n, l)
		}
		return &batch.Node{Leaf: l}, err
	case *plan.SourceScan:
		l, err := b.leaves.Source(n)
		return &batch.Node{Leaf: l}, err
	case *plan.Recursive:
		return b.recursive(n)
	case *plan.Working:
		l := b.working[n.ID]
		if l == nil {
			return nil, fmt.Errorf("working rows of %s outside of its step", n.Name)
		}
		return &batch.Node{Leaf: l}, nil
	}
	if l, ok := n.(*plan.Lock); ok {
		return b.lock(l)
	}
	if a, ok := n.(*plan.HashAgg); ok {
		if out, err := b.distinct(a); out != nil || err != nil {
			return out, err
		}
	}
	o, err := operator(n, b.env, true)
	if err != nil {
		return nil, err
	}
	out := &batch.Node{Op: o}
	join, isJoin := n.(*plan.HashJoin)
	out.BuildLast = isJoin
	var keys *batch.KeySet
	if isJoin {
		keys = b.keysOf(join)
	}
	// In the step of a loop whose rounds go through one tree, what is caused by a row has to come out before the next round.
	if b.once != nil || len(b.working) == 0 || !b.works(n) {
		out.Spill = b.spill(n, o)
	}
	for _, in := range n.Inputs() {
		c, err := b.node(in)
		if err != nil {
			return nil, err
		}
		out.In = append(out.In, c)
	}
	if keys != nil {
		out.In[1].Keys = keys
	}
	return out, nil
}

func (b *batchBuilder) lock(n *plan.Lock) (*batch.Node, error) {
	l, ok := b.leaves.(RowLocker)
	if !ok {
		return nil, fmt.Errorf("rows of %s cannot be locked here", n.Rels[0].Rel.Name)
	}
	f, err := l.Lock(n)
	if err != nil {
		return nil, err
	}
	o, err := op.NewPick(op.PickConfig{In: n.In.Properties().Types(), Each: n.Each, Keep: f})
	if err != nil {
		return nil, err
	}
	in, err := b.node(n.In)
	return &batch.Node{Op: o, In: []*batch.Node{in}}, err
}

// distinct makes an aggregate whose calls are all over the same distinct values of two: one that finds the values, each of which is a
// group that can be divided from the others, and one over those. nil: it is another aggregate.
func (b *batchBuilder) distinct(n *plan.HashAgg) (*batch.Node, error) {
	if len(n.Aggs) == 0 || b.once != nil || len(b.working) > 0 {
		return nil, nil
	}
	in := n.In.Properties().Types()
	args := n.Aggs[0].Args
	outer := op.HashAggConfig{AppendOnlyIn: true}
	for i := range n.Keys {
		outer.Keys = append(outer.Keys, i)
	}
	outer.Aggs = aggs(n.Aggs)
	for i, a := range n.Aggs {
		exact := a.Fn.Name == "count"
		if a.Fn.Name == "sum" || a.Fn.Name == "avg" {
			// Sums of floats depend on the order.
			exact = len(a.Args) == 1 && (in[a.Args[0]].Phys() == types.PhysInt || in[a.Args[0]].Kind == types.Numeric)
		}
		if !a.Distinct || !exact || len(a.Args) == 0 || a.Filter >= 0 || len(a.OrderBy) > 0 || !slices.Equal(a.Args, args) {
			return nil, nil
		}
		outer.Aggs[i].Distinct, outer.Aggs[i].Args = false, nil
		for k := range args {
			outer.Aggs[i].Args = append(outer.Aggs[i].Args, len(n.Keys)+k)
		}
	}
	inner := op.HashAggConfig{In: in, Keys: append(slices.Clone(n.Keys), args...), AppendOnlyIn: n.AppendOnlyIn}
	for _, k := range inner.Keys {
		outer.In = append(outer.In, in[k])
	}
	values, err := op.NewHashAgg(inner)
	if err != nil {
		return nil, err
	}
	over, err := op.NewHashAgg(outer)
	if err != nil {
		return nil, err
	}
	c, err := b.node(n.In)
	if err != nil {
		return nil, err
	}
	return &batch.Node{Op: over, In: []*batch.Node{{Op: values, In: []*batch.Node{c}}}}, nil
}

// spill tells how the work of an operator can be divided; nil: it cannot, or the operator does that itself.
func (b *batchBuilder) spill(n plan.Node, o exec.Operator) *batch.Spill {
	var keys [][]int
	switch n := n.(type) {
	case *plan.HashAgg:
		if a, ok := o.(*op.HashAgg); !ok || !a.Fixed() {
			keys = [][]int{n.Keys}
		}
	case *plan.HashJoin:
		keys = [][]int{n.LeftKeys, n.RightKeys}
	case *plan.TopN:
		keys = [][]int{n.GroupBy}
	case *plan.Window:
		keys = [][]int{n.PartitionBy}
	}
	if t, ok := n.(*plan.TopN); ok && len(t.GroupBy) == 0 && !t.RankOutput && !t.WithTies {
		return &batch.Spill{Instead: func() (exec.Operator, exec.Operator, error) { return sortedTop(t, b.env) }}
	}
	if len(keys) == 0 || len(keys[0]) == 0 {
		return nil
	}
	s := &batch.Spill{Keys: keys, New: func() (exec.Operator, error) { return operator(n, b.env, true) }}
	for _, in := range n.Inputs() {
		s.In = append(s.In, in.Properties().Types())
	}
	return s
}

// sortedTop is a top-n without groups for more rows than there is memory for: all are sorted, and the first ones taken.
func sortedTop(n *plan.TopN, env *exec.Env) (exec.Operator, exec.Operator, error) {
	in := n.In.Properties().Types()
	limit, offset, err := limits(n.Limit, n.Offset, env)
	if err != nil {
		return nil, nil, err
	}
	// The order is that of the top-n: ties are broken by the other columns.
	order := sortKeys(n.OrderBy)
	for c := range in {
		if !slices.ContainsFunc(order, func(k op.SortKey) bool { return k.Col == c }) && (n.RowKey == nil || slices.Contains(n.RowKey, c)) {
			order = append(order, op.SortKey{Col: c})
		}
	}
	s, err := op.NewSort(op.SortConfig{In: in, OrderBy: order})
	if err != nil {
		return nil, nil, err
	}
	l, err := op.NewLimit(op.LimitConfig{In: in, Limit: limit, Offset: offset})
	return s, l, err
}

func (b *batchBuilder) recursive(n *plan.Recursive) (*batch.Node, error) {
	base, err := b.node(n.Base)
	if err != nil {
		return nil, err
	}
	ts := n.Base.Properties().Types()
	l := &batch.Loop{Types: ts, Base: base, Linear: n.Linear, Full: n.Full}
	if !n.All {
		l.Seen = func() batch.Set { return op.NewRowSet(ts) }
	}
	in := &batchBuilder{leaves: b.leaves, env: b.env, stats: b.stats, working: map[int]batch.Leaf{}}
	for id, w := range b.working {
		in.working[id] = w
	}
	if !n.Linear {
		in.once = map[plan.Node]*batch.Node{}
	}
	l.Step = func(work batch.Leaf) (*batch.Node, error) {
		in.working[n.ID] = work
		return in.node(n.Step)
	}
	return &batch.Node{Loop: l}, nil
}

// works tells whether a tree reads working rows that change from round to round.
func (b *batchBuilder) works(n plan.Node) bool {
	if w, ok := n.(*plan.Working); ok {
		return b.working[w.ID] != nil
	}
	for _, in := range n.Inputs() {
		if b.works(in) {
			return true
		}
	}
	return false
}
