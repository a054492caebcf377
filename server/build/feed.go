package build

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/types"
)

// keysOf makes what collects the keys of a join's right side for scans on the left; nil: none of them would look them up.
func (b *batchBuilder) keysOf(n *plan.HashJoin) *batch.KeySet {
	leaves, ok := b.leaves.(KeyedLeaves)
	if n.Feed == nil || !ok || b.once != nil || len(b.working) > 0 {
		return nil
	}
	most := 0
	for _, f := range scanFeeds(n.L, n.Feed) {
		most = max(most, leaves.MostKeys(f.Rel))
	}
	if most == 0 {
		return nil
	}
	all := n.R.Properties().Types()
	ts := make([]types.Type, len(n.Feed.Cols))
	for i, c := range n.Feed.Cols {
		ts[i] = all[c]
	}
	k := batch.NewKeySet(n.Feed.Cols, ts, most)
	if b.feeds == nil {
		b.feeds = map[*plan.Feed]*batch.KeySet{}
	}
	b.feeds[n.Feed] = k
	return k
}

// scanFeeds lists the uses of a feed below n.
func scanFeeds(n plan.Node, feed *plan.Feed) (out []*plan.ScanFeed) {
	if s, ok := n.(*plan.Scan); ok {
		for i := range s.Feeds {
			if s.Feeds[i].Feed == feed {
				out = append(out, &s.Feeds[i])
			}
		}
	}
	for _, in := range n.Inputs() {
		out = append(out, scanFeeds(in, feed)...)
	}
	return out
}

// fed is a scan that reads by the fewest keys that a join above has, or by all if those are few for no join.
func (b *batchBuilder) fed(n *plan.Scan, all batch.Leaf) (batch.Leaf, error) {
	type way struct {
		keys *batch.KeySet
		most int
		leaf batch.Leaf
	}
	var ways []way
	for i := range n.Feeds {
		f := &n.Feeds[i]
		keys := b.feeds[f.Feed]
		if keys == nil {
			continue
		}
		leaves := b.leaves.(KeyedLeaves) // or there were no keys
		l, err := leaves.ScanKeys(n, f, keys)
		if err != nil {
			return nil, err
		}
		if l != nil {
			ways = append(ways, way{keys, leaves.MostKeys(f.Rel), l})
		}
	}
	if len(ways) == 0 {
		return all, nil
	}
	return batch.LeafFunc(func(ctx *exec.Context, out func(*vec.Chunk) error) error {
		best, fewest := all, -1
		for _, w := range ways {
			if n := w.keys.Len(); n >= 0 && n <= w.most && (fewest < 0 || n < fewest) {
				best, fewest = w.leaf, n
			}
		}
		return best.Run(ctx, out)
	}), nil
}
