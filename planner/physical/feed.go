package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
)

// feed lets scans below the left side of a join, whose rows the join needs only if they have a partner, read by the keys of the right side:
// what other systems call an index nested-loop join, decided when the right side is complete.
func (b *builder) feed(j *plan.HashJoin) {
	switch {
	case b.stream, j.Kind != plan.Inner && j.Kind != plan.Semi && j.Kind != plan.Right:
		return
	}
	f := &plan.Feed{}
	var cols []int
	for i := range j.LeftKeys {
		if !j.NullSafe[i] {
			f.Cols = append(f.Cols, j.RightKeys[i])
			cols = append(cols, j.LeftKeys[i])
		}
	}
	if b.drive(j.L, cols, f) {
		j.Feed = f
	}
}

// drive finds the scans below n that give the columns cols of n (-1: it is no column of n), of which only rows with the values of
// a feed are needed. It tells whether one can use that.
func (b *builder) drive(n plan.Node, cols []int, f *plan.Feed) bool {
	if !slices.ContainsFunc(cols, func(c int) bool { return c >= 0 }) {
		return false
	}
	mapped := func(to func(c int) int) []int {
		out := make([]int, len(cols))
		for i, c := range cols {
			if out[i] = -1; c >= 0 {
				out[i] = to(c)
			}
		}
		return out
	}
	switch n := n.(type) {
	case *plan.Filter:
		return b.drive(n.In, cols, f)
	case *plan.Project:
		return b.drive(n.In, mapped(func(c int) int {
			if col, ok := n.Exprs[c].(*scalar.Column); ok {
				return col.Index
			}
			return -1
		}), f)
	case *plan.HashAgg:
		// Groups with other keys are not needed, and so none of their rows.
		return b.drive(n.In, mapped(func(c int) int {
			if c < len(n.Keys) {
				return n.Keys[c]
			}
			return -1
		}), f)
	case *plan.HashJoin:
		width := len(n.L.Properties().Cols)
		used := false
		if n.Kind != plan.Right && n.Kind != plan.Full {
			used = b.drive(n.L, mapped(func(c int) int {
				if at := n.Output[c]; at < width {
					return at
				}
				return -1
			}), f)
		}
		if n.Kind == plan.Inner || n.Kind == plan.Right {
			used = b.drive(n.R, mapped(func(c int) int { return max(-1, n.Output[c]-width) }), f) || used
		}
		return used
	case *plan.Scan:
		return b.driveScan(n, cols, f)
	}
	return false
}

// driveScan lets a scan of a whole relation use the arrangement whose key begins with most of cols.
func (b *builder) driveScan(s *plan.Scan, cols []int, f *plan.Feed) bool {
	if !s.Access.Full() || s.Base != nil || s.Rel.Kind != catalog.Table && s.Rel.Kind != catalog.MatView {
		return false
	}
	feed := plan.ScanFeed{Feed: f, Rel: s.Rel, Cols: s.Cols, Keys: leading(s.Rel, s.Cols, cols)}
	if b.Indexes != nil {
		for _, ix := range b.Indexes(s.Rel) {
			read, ok := columnsIn(ix.Rel, s.Rel, s.Cols)
			if !ok || len(ix.Where) > 0 {
				continue
			}
			if keys := leading(ix.Rel, read, cols); len(keys) > len(feed.Keys) {
				feed.Rel, feed.Cols, feed.Keys = ix.Rel, read, keys
			}
		}
	}
	if len(feed.Keys) == 0 {
		return false
	}
	b.use(feed.Rel)
	s.Feeds = append(s.Feeds, feed)
	return true
}

// leading gives, for the first columns of the key of rel, which of cols they are: columns of a scan that reads the columns read of rel.
func leading(rel *catalog.Relation, read, cols []int) (keys []int) {
	for _, k := range rel.Key {
		at := slices.IndexFunc(cols, func(c int) bool { return c >= 0 && read[c] == k.Col })
		if at < 0 {
			break
		}
		keys = append(keys, at)
	}
	return keys
}
