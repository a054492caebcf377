package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
)

// A join keeps the rows of both sides by join key. Where a side is a table or materialized view, whose rows are kept
// already, and the join key is its key or the beginning of it, the join reads them there. That saves the copy, and reading all
// of it when the job is new; it costs a read of the relation when a key is first asked for. It is always worth it, so
// there is no choice to be made, only conditions to be met:
//
//   - between the relation and the join there are filters and projections alone, of expressions that cannot fail, and the
//     join keys are columns;
//   - the join keys are the first columns of the relation's key, or have all of it among them; or they are the first columns of the key
//     of an index without a condition that may be taken, which then stands for the relation;
//   - the relation has no watermarks: joins forget rows by them, which an arrangement does not;
//   - the join is not part of a loop, whose rounds have no versions.
//
// With plan.ShareCheap also those under which a new job is not filled more slowly: the side is found by its whole key, and need not be read
// to drive the join, because its rows do not show without a match, and the other side is kept by the join.

// origin finds the relation that keeps a side, and where the columns cols of its output come from; nil if it is
// no relation's.
func origin(n plan.Node, cols []int) (scan *plan.TableScan, ords []int, steps []plan.Node) {
	at := slices.Clone(cols)
	for {
		switch x := n.(type) {
		case *plan.Filter:
			if unsteady(x.Pred) {
				return nil, nil, nil
			}
			steps = append(steps, x)
			n = x.In
		case *plan.Project:
			for i, c := range at {
				col, ok := x.Exprs[c].(*scalar.Column)
				if !ok {
					return nil, nil, nil
				}
				at[i] = col.Index
			}
			if slices.ContainsFunc(x.Exprs, unsteady) {
				return nil, nil, nil
			}
			steps = append(steps, x)
			n = x.In
		case *plan.TableScan:
			r := x.Rel
			if x.Shared != nil || r.Kind != catalog.Table && r.Kind != catalog.MatView || r.Watermark != nil || len(r.Watermarks) > 0 {
				return nil, nil, nil
			}
			for i, c := range at {
				at[i] = x.Cols[c]
			}
			slices.Reverse(steps)
			return x, at, steps
		default:
			return nil, nil, nil
		}
	}
}

// unsteady tells whether an expression may fail, or depends on more than the row: what fails is told once for each row that
// comes or goes, and not each time that a row is read.
func unsteady(e scalar.Expr) bool {
	bad := prop.Clock(e)
	logical.WalkExpr(e, func(x scalar.Expr) bool {
		if c, ok := x.(*scalar.Call); ok && (c.Fn.CanFail || c.Fn.Volatility != fn.Immutable) {
			bad = true
		}
		return !bad
	})
	return bad
}

// keyOrder gives for the first columns of a relation's key the one of ords that it is, as long as there is one.
func keyOrder(r *catalog.Relation, ords []int) []int {
	var order []int
	for _, k := range r.Key {
		at := slices.Index(ords, k.Col)
		if at < 0 {
			break
		}
		order = append(order, at)
	}
	return order
}

// share marks the sides of a join that need not be kept.
func (b *builder) share(n *plan.HashJoin) {
	if !b.stream || b.Share == plan.ShareNone || b.loops > 0 || len(n.LeftKeys) == 0 {
		return
	}
	outer := [2]bool{
		slices.Contains([]plan.JoinKind{plan.Left, plan.Full, plan.Semi, plan.Anti}, n.Kind),
		n.Kind == plan.Right || n.Kind == plan.Full,
	}
	all := b.Share == plan.ShareAll
	if all || !outer[1] {
		n.RightShared = b.shared(n.R, n.RightKeys, !all)
	}
	if all || !outer[0] && n.RightShared == nil {
		n.LeftShared = b.shared(n.L, n.LeftKeys, !all)
	}
	for i, sh := range []*plan.Shared{n.LeftShared, n.RightShared} {
		if sh == nil {
			continue
		}
		// Of two sides one must bring the rows.
		sh.Drive = outer[i] || i == 0 && n.RightShared != nil && !outer[1]
		sh.Scan.Shared.Drive = sh.Drive
	}
}

// shared tells how a side with these keys is read from its relation; nil: it is not. whole: only by its whole key.
func (b *builder) shared(side plan.Node, keys []int, whole bool) *plan.Shared {
	scan, ords, steps := origin(side, keys)
	if scan == nil {
		return nil
	}
	order := keyOrder(scan.Rel, ords)
	unique := len(order) == len(scan.Rel.Key)
	if whole && !unique {
		return nil
	}
	if len(order) != len(keys) && !unique || len(order) == 0 {
		if order, ords = b.sharedIndex(scan, ords); order == nil {
			return nil
		}
		unique = false
	}
	scan.Shared = &plan.SharedScan{Hash: ords}
	return &plan.Shared{Scan: scan, Steps: steps, Keys: order, Unique: unique}
}

// sharedIndex lets a scan read an index that keeps its rows under the join keys, of which it gives what keyOrder does, and the ordinals; nil
// if there is none. The scan of a relation that is not named in the query has none: who drops that relation does not ask.
func (b *builder) sharedIndex(scan *plan.TableScan, ords []int) (order, at []int) {
	if scan.Taken || b.KeyIndexes == nil {
		return nil, nil
	}
	for _, ix := range b.KeyIndexes(scan.Rel) {
		at, ok := inIndex(ix, scan.Rel, ords)
		cols, all := inIndex(ix, scan.Rel, scan.Cols)
		if !ok || !all {
			continue
		}
		if order := keyOrder(ix, at); len(order) == len(ords) {
			b.use(ix)
			b.taken = append(b.taken, ix)
			scan.Rel, scan.Cols = ix, cols
			return order, at
		}
	}
	return nil, nil
}

// inIndex finds columns of a relation in an index of it.
func inIndex(ix, rel *catalog.Relation, ords []int) ([]int, bool) {
	out := make([]int, len(ords))
	for i, o := range ords {
		at := ix.ColumnIndex(rel.Columns[o].Name)
		if at < 0 || ix.Columns[at].Type != rel.Columns[o].Type {
			return nil, false
		}
		out[i] = at
	}
	return out, true
}
