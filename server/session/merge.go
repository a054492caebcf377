package session

import (
	"context"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/sqlerr"
)

// merge runs MERGE: first everything goes that goes or changes, and then what is new comes, in the order of the rows.
func (w *write) merge(ctx context.Context) error {
	if err := w.t.writes.Lock(ctx, w.tab, false); err != nil {
		return err
	}
	rows, err := w.collect(ctx)
	if err != nil || rows.Len() == 0 {
		return err
	}
	n := len(w.tab.Types())
	action := rows.Cols[0]
	old, fresh := columns(rows, 1, 1+n), columns(rows, 1+n, 1+2*n)
	// keys are those of the rows that are updated.
	var updated, deleted, inserted []int32
	seen := map[string]bool{}
	var keys [][]byte
	for i := range rows.Len() {
		if action.IsNull(i) {
			continue
		}
		a := w.d.Actions[action.Int[i]]
		switch a {
		case plan.MergeNothing:
			continue
		case plan.MergeInsert:
			inserted = append(inserted, int32(i))
			w.count++
			continue
		}
		key := w.tab.Key(nil, old, i)
		if seen[string(key)] {
			return sqlerr.Newf(sqlerr.CardinalityViolation, "MERGE command cannot affect row a second time").
				WithHint("Ensure that not more than one source row matches any one target row.")
		}
		seen[string(key)] = true
		if a == plan.MergeUpdate {
			updated = append(updated, int32(i))
		} else {
			deleted = append(deleted, int32(i))
		}
	}
	pick := func(c *vec.Chunk, sel []int32) *vec.Chunk {
		out := vec.NewChunk(w.tab.Types(), len(sel))
		out.AppendSel(c, sel)
		return out
	}
	changed, err := w.generate(pick(fresh, updated))
	if err != nil {
		return err
	}
	// The rows of both are locked before one goes.
	if err := w.t.writes.LockRows(ctx, w.tab, pick(old, updated), changed); err != nil {
		return err
	}
	if err := w.lock(ctx, old, nil, deleted); err != nil {
		return err
	}
	for _, i := range deleted {
		ok, err := w.takeOne(old, int(i))
		if err != nil {
			return err
		}
		if ok {
			w.count++
		}
	}
	var kept []int32
	for n, i := range updated {
		ok, err := w.takeOne(old, int(i))
		if err != nil {
			return err
		}
		if ok {
			w.count++
			kept, keys = append(kept, int32(n)), append(keys, w.tab.Key(nil, old, int(i)))
		}
	}
	if len(kept) < len(updated) {
		changed = pick(changed, kept)
	}
	come := pick(fresh, inserted)
	if len(w.d.Auto) > 0 && come.Len() > 0 {
		come, err = w.complete(come)
	} else {
		come, err = w.generate(come)
	}
	if err != nil {
		return err
	}
	for _, c := range []*vec.Chunk{changed, come} {
		if err := w.check(c); err != nil {
			return err
		}
	}
	if come, err = w.inTime(ctx, come); err != nil {
		return err
	}
	if come.Len() > 0 {
		if err := w.t.writes.Prepare(ctx, w.tab, come); err != nil {
			return err
		}
	}
	for i, key := range keys {
		clash, err := w.t.writes.Replace(w.tab, key, changed, i)
		if err == nil && clash != nil {
			err = clash.Err
		}
		if err != nil {
			return err
		}
	}
	for i := range come.Len() {
		clash, err := w.t.writes.Insert(w.tab, come, i)
		if err == nil && clash != nil {
			err = clash.Err
		}
		if err != nil {
			return err
		}
	}
	return nil
}
