package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// The job of a view that is created in the background goes on after a restart where its last checkpoint left it. How far its leaves
// are is part of its state (flow.TableBackfill), and which state tables it has is metadata beside the catalog, under its
// id: it is written once the operators have opened them, and goes in the checkpoint that completes or withdraws the job. Without
// it, or if the job cannot run on what it has, filling begins again from nothing.

const fillingPrefix = "filling/"

func fillingKey(id catalog.ID) []byte { return fmt.Appendf(nil, "%s%d", fillingPrefix, id) }

// notFilling says of a relation that nothing of it is to be kept, if something is.
func (i *Incarnation) notFilling(id catalog.ID) []storage.MetaOp {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.filling[id] == nil {
		return nil
	}
	return []storage.MetaOp{{Key: fillingKey(id), Delete: true}}
}

// keepFilling lets a restart go on with a job that was deployed. If that cannot be saved, filling goes on all the same.
func (i *Incarnation) keepFilling(ctx context.Context, f *fill) error {
	if f.shares {
		// What such a join has seen of the relation that it shares is not part of its state.
		return nil
	}
	if err := i.RT.Wait(ctx, f.epoch); err != nil {
		return err
	}
	state := f.ids.all()
	val, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("filling: %w", err)
	}
	i.mu.Lock()
	i.filling[f.rel.ID] = state
	i.mu.Unlock()
	save := flow.Save{Meta: []storage.MetaOp{{Key: fillingKey(f.rel.ID), Value: val}}, Needs: []flow.JobID{flow.JobID(f.rel.ID)}}
	err = i.RT.Save(ctx, save)
	f.prog.kept.Store(err == nil)
	if err != nil && ctx.Err() == nil && i.Ctx.Err() == nil {
		i.e.cfg.Logger.Info("a restart would fill a view again from the start", "event", "filling_not_kept", "relation", f.rel.Name, "error", err)
		return nil
	}
	return err
}

// lostFilling says of jobs that have failed that their state is nothing to go on with. They are withdrawn, but that takes a checkpoint, and
// there may be another one before it.
func (i *Incarnation) lostFilling(jobs []catalog.ID) {
	var ops []storage.MetaOp
	for _, id := range jobs {
		ops = append(ops, i.notFilling(id)...)
	}
	if len(ops) == 0 {
		return
	}
	if err := i.Store.SaveMeta(ops); err != nil && i.Ctx.Err() == nil {
		i.e.cfg.Logger.Warn("a view that fails while it is created", "event", "filling_kept", "error", err)
	}
}

// loadFilling reads what keepFilling has written.
func (i *Incarnation) loadFilling() error {
	cat := i.Catalog()
	var gone []storage.MetaOp
	err := i.Store.ScanMeta([]byte(fillingPrefix), func(k, v []byte) error {
		id, err := strconv.ParseUint(string(k[len(fillingPrefix):]), 10, 32)
		if err != nil {
			return fmt.Errorf("metadata %q: %w", k, err)
		}
		if cat.Pending[catalog.ID(id)] == nil {
			gone = append(gone, storage.MetaOp{Key: fillingKey(catalog.ID(id)), Delete: true})
			return nil
		}
		var state map[string]uint32
		if err := json.Unmarshal(v, &state); err != nil {
			return fmt.Errorf("metadata %q: %w", k, err)
		}
		i.filling[catalog.ID(id)] = state
		for _, t := range state {
			i.nextID = max(i.nextID, catalog.ID(t)+1)
		}
		return nil
	})
	if err == nil && len(gone) > 0 {
		err = i.Store.SaveMeta(gone)
	}
	return err
}

// forgetFilling makes filling begin again, before jobs run.
func (i *Incarnation) forgetFilling(rel *catalog.Relation, why error) error {
	i.e.cfg.Logger.Warn("a view that is created in the background is filled again from the start", "event", "filling_again",
		"relation", rel.Name, "error", why)
	return i.Store.SaveMeta(i.notFilling(rel.ID))
}

// goOnFilling builds the jobs that go on, and gives the state of those that cannot, which is to be dropped.
func (i *Incarnation) goOnFilling(running map[catalog.ID]bool) (jobs []*flow.Job, drop []storage.TableID, err error) {
	cat := i.Catalog()
	for _, id := range slices.Sorted(maps.Keys(i.filling)) {
		rel := cat.Pending[id]
		f, job, err := i.goOnJob(cat, rel, running)
		if err == nil {
			i.goOn[id] = f
			jobs = append(jobs, job)
			continue
		}
		if err := i.forgetFilling(rel, err); err != nil {
			return nil, nil, err
		}
		drop = append(drop, storage.TableID(rel.Rows()))
		for _, t := range i.filling[id] {
			drop = append(drop, storage.TableID(t))
		}
	}
	return jobs, drop, nil
}

func (i *Incarnation) goOnJob(cat *catalog.Catalog, rel *catalog.Relation, running map[catalog.ID]bool) (*fill, *flow.Job, error) {
	stream, err := i.PlanStream(cat, rel)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range stream.Relations {
		if !running[r.ID] {
			return nil, nil, fmt.Errorf("%s does not run", r.Name)
		}
	}
	f := &fill{rel: rel, ids: &stateIDs{rel: rel.Name, ids: i.filling[rel.ID]}, made: []catalog.ID{rel.ID}, prog: newProgress()}
	reads := map[catalog.ID]int{}
	job, err := i.buildStream(rel, stream, f.ids, leaves{prog: f.prog, reads: reads, durable: true, shares: &f.shares})
	if err != nil {
		return nil, nil, err
	}
	if f.shares {
		return nil, nil, errors.New("it shares the rows of a relation now")
	}
	f.prog.all()
	f.prog.kept.Store(true)
	f.estimate = func() int64 { return i.estimate(i.Ctx, stream, reads) }
	return f, job, nil
}
