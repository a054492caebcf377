package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// remove drops a relation that was just made, and that nothing depends on.
func (i *Incarnation) remove(ctx context.Context, id catalog.ID) error {
	rel := i.Catalog().RelationByID(id)
	if rel == nil {
		return nil
	}
	locks := table.NewTx()
	tables, err := i.lockDropped(ctx, locks, []*catalog.Relation{rel})
	if err != nil {
		return err
	}
	gone, _ := i.Catalog().Left(append(i.Catalog().Owned(id), rel))
	return i.drop(ctx, gone, nil, locks, tables)
}

// lockDropped takes the tables among relations that are to be dropped, and those whose foreign keys or indexes go with them. It
// gives the former. If there is an error, it has released what locks has.
func (i *Incarnation) lockDropped(ctx context.Context, locks *table.Tx, rels []*catalog.Relation) ([]*table.Table, error) {
	cat := i.Catalog()
	dropped := map[catalog.ID]bool{}
	touched := map[catalog.ID]bool{}
	for _, r := range rels {
		dropped[r.ID], touched[r.ID] = true, true
		if r.Kind == catalog.Index && r.Index.Table != 0 {
			touched[r.Parent] = true
		}
		for _, f := range r.ForeignKeys {
			touched[f.Ref] = true
		}
		for _, f := range slices.Concat(cat.Referrers(r.ID), cat.Referrers(r.Parent)) {
			touched[f.Table.ID] = true
		}
	}
	var tables []*table.Table
	// By id, as everybody who wants several: two drops cannot meet, since there is one at a time.
	for _, id := range slices.Sorted(maps.Keys(touched)) {
		t := i.Table(id)
		if r := cat.RelationByID(id); t == nil || r == nil || r.HasConnector() {
			continue
		}
		if err := locks.LockWhole(ctx, t); err != nil {
			locks.Release()
			return nil, i.explain(err)
		}
		if dropped[id] {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// dropEnforced takes what relations that are to be dropped enforce in other tables, or with them, out of force, and out of the catalog. It gives
// the arrangements that go with it. The tables are locked.
func (i *Incarnation) dropEnforced(c *catalog.Catalog, rels []*catalog.Relation) (drop []storage.TableID, apply func()) {
	var do []func()
	gone := map[catalog.ID]bool{}
	for _, r := range rels {
		gone[r.ID] = true
	}
	for _, r := range rels {
		of := i.Table(r.ID)
		if r.Kind == catalog.Index && r.Index.Table != 0 && !gone[r.Parent] {
			if of = i.Table(r.Parent); of != nil {
				do = append(do, func() { i.detach(of, storage.TableID(r.Index.Table)) })
			}
		}
		if of == nil {
			continue
		}
		for _, f := range of.ForeignKeys() {
			if r.Kind == catalog.Table && !gone[f.Def.Ref] {
				do = append(do, f.Unlink)
			}
		}
		for _, f := range of.Referrers() {
			if gone[f.Child.Rel.ID] || r.Kind == catalog.Index && f.Target() != storage.TableID(r.Index.Table) {
				continue
			}
			id := storage.TableID(f.Def.Table)
			drop = append(drop, id)
			do = append(do, func() { f.Unlink(); i.detach(f.Child, id) })
			if child := c.Relations[f.Child.Rel.ID]; child != nil {
				n := *child
				n.ForeignKeys = slices.DeleteFunc(slices.Clone(n.ForeignKeys), func(k catalog.ForeignKey) bool { return k.ID == f.Def.ID })
				c.Put(&n)
			}
		}
	}
	return drop, func() {
		for _, f := range do {
			f()
		}
	}
}

// DropLater drops a relation that was just made, and is not to be there after all. It does not wait for that, which on a full disk takes
// until there is room; the catalog, which the caller has locked, stays locked meanwhile.
func (i *Incarnation) DropLater(id catalog.ID) {
	release := i.keepDDL()
	i.wg.Go(func() {
		defer release()
		if err := i.remove(i.Ctx, id); err != nil && i.Ctx.Err() == nil {
			i.e.cfg.Logger.Warn("a relation that was not completed stays", "event", "definition_stays", "relation", uint32(id), "error", err)
		}
	})
}

// Drop removes relations, which must be everything that depends on one of them. It waits for the
// transactions that have locks on the tables, until ctx ends. also changes the catalog together with it.
//
// Relations whose rows others take lose their names only, and what has none goes when nobody takes its rows.
func (i *Incarnation) Drop(ctx context.Context, rels []*catalog.Relation, also ...func(c *catalog.Catalog)) error {
	rels, kept := i.Catalog().Left(rels)
	if len(kept) > 0 {
		also = append(also, func(c *catalog.Catalog) {
			for _, r := range kept {
				c.Put(r.Unnamed(r.ID))
			}
		})
	}
	if len(rels) == 0 {
		return i.loseNames(ctx, kept, also)
	}
	if err := i.awaitJobs(ctx, rels); err != nil {
		return err
	}
	locks := table.NewTx()
	tables, err := i.lockDropped(ctx, locks, rels)
	if err != nil {
		return err
	}
	return i.finish(ctx, func() error { return i.drop(i.Ctx, rels, kept, locks, tables, also...) }, nil)
}

// drop does what Drop does, and releases the locks. What is kept loses its name by also.
func (i *Incarnation) drop(ctx context.Context, rels, kept []*catalog.Relation, locks *table.Tx, tables []*table.Table, also ...func(c *catalog.Catalog)) error {
	defer locks.Release()
	var jobs []flow.JobID
	var drop []storage.TableID
	var ids []catalog.ID
	var unforce func()
	c := i.edit(func(c *catalog.Catalog) {
		var more []storage.TableID
		more, unforce = i.dropEnforced(c, rels)
		drop = append(drop, more...)
		for _, r := range rels {
			c.Remove(r.ID)
			ids = append(ids, r.ID)
			jobs = append(jobs, flow.JobID(r.ID))
			drop = append(drop, table.Tables(r)...)
		}
		for _, change := range also {
			change(c)
		}
		unread, idle := i.unreadSources(c)
		drop, jobs = append(drop, unread...), append(jobs, idle...)
	})
	op, err := encodeCatalog(c)
	if err != nil {
		return err
	}
	i.setDropping(ids, true)
	retired, err := i.retireSinks(rels)
	undone := func(err error) error {
		i.setDropping(ids, false)
		for _, r := range rels {
			stays := hasJob(r.Kind) && i.e.Stalled(i.Catalog(), r.ID) == nil
			retired = retired || stays && !i.RT.Has(flow.JobID(r.ID))
		}
		if retired && i.Ctx.Err() == nil {
			// What stays does not run: sinks that have stopped, or what was not put back after a failure.
			i.RT.GiveUp(err)
			return ErrRestarted
		}
		return i.explain(err)
	}
	if err != nil {
		return undone(err)
	}
	restarting := i.restarting()
	meta := append(i.fresh(ids...), op)
	if restarting {
		// What the dropped relations leave behind goes with the next checkpoint, or with the next start.
		if err := i.saveNow(meta...); err != nil {
			return undone(err)
		}
	}
	subJobs, subTables := i.endSubscriptions(slices.Concat(jobs, jobIDs(kept)), i.droppedUnder)
	jobs, drop = append(jobs, subJobs...), append(drop, subTables...)
	save, wait := flow.Save{Meta: meta, Drop: drop}, i.RT.WaitDurable
	if restarting {
		save.Meta, wait = nil, i.RT.Wait
	}
	unforce()
	e, err := i.RT.Remove(i.Ctx, save, jobs...)
	if err != nil {
		// Constraints are not in force any more, the catalog may say that they are gone, and subscriptions have ended.
		retired = true
		return undone(err)
	}
	for _, t := range tables {
		t.Drop()
	}
	if err := wait(ctx, e); err != nil {
		return i.explain(err)
	}
	i.publishCatalog(c)
	i.forget(ids...)
	for _, id := range ids {
		i.e.step(failover.Forget{Jobs: []failover.JobID{failover.JobID(id)}})
	}
	for _, r := range rels {
		i.errs.forget(r)
	}
	err = i.try("forget sequences")
	if err == nil {
		err = i.seqs.Retain(func(id catalog.ID) bool { return c.RelationByID(id) != nil })
	}
	if err != nil && i.Ctx.Err() == nil {
		// They are gone all the same. What stays is found by the next drop, or the next start.
		i.e.cfg.Logger.Warn("sequences of dropped tables stay", "event", "sequences_stay", "error", err)
	}
	return nil
}

func (i *Incarnation) setDropping(ids []catalog.ID, on bool) {
	i.placing.Lock()
	defer i.placing.Unlock()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		if on {
			i.dropping[id] = true
		} else {
			delete(i.dropping, id)
		}
	}
}
