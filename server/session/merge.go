package session

import (
	"context"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/sqlerr"
)

// merge runs MERGE: first everything goes that goes or changes, and then what is new comes, in the order of the rows.
func (w *write) merge(ctx context.Context) error {
	if err := w.t.writes.Lock(ctx, w.tab, true); err != nil {
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
	var updated, inserted []int32
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
		if w.t.snap != nil || w.s.mod != nil {
			same, err := w.unchanged(key, old, i)
			if err != nil {
				return err
			}
			if !same && w.t.snap == nil {
				continue // another part of the statement has changed it
			}
			if !same {
				return sqlerr.Newf(sqlerr.SerializationFailure, "could not serialize access due to concurrent update")
			}
		}
		ok, err := w.t.writes.Delete(w.tab, old, i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		w.count++
		if a == plan.MergeUpdate {
			updated, keys = append(updated, int32(i)), append(keys, key)
		}
	}
	pick := func(sel []int32) *vec.Chunk {
		c := vec.NewChunk(w.tab.Types(), len(sel))
		c.AppendSel(fresh, sel)
		return c
	}
	changed, err := w.generate(pick(updated))
	if err != nil {
		return err
	}
	come := pick(inserted)
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
