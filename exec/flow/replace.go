package flow

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/storage"
)

// A job that takes the place of another one is built beside it under an id of its own, while both run. Replace then takes the
// old one out with one barrier, and gives the new one its id. Nothing that the new job does depends on the id that it has.

// Replace takes jobs out of the graph with one barrier, whose epoch it gives, and then lets others go on under their ids: by
// has for each id to be given away the id of the running job that gets it. gone are further jobs that go. What save
// holds is part of the checkpoint of the barrier. Whoever reads from a job that goes must go as well; those that
// read from a job that gets another id are told. As for Remove, ids that are not deployed are left out of those that go.
func (r *Runtime) Replace(ctx context.Context, save Save, by map[JobID]JobID, gone ...JobID) (storage.Epoch, error) {
	return r.ReplaceAside(ctx, save, by, nil, gone...)
}

// ReplaceAside is Replace, where some of the jobs whose ids are given away do not go, but go on under the ids that aside has for them: jobs
// that stay may read from those.
func (r *Runtime) ReplaceAside(ctx context.Context, save Save, by, aside map[JobID]JobID, gone ...JobID) (storage.Epoch, error) {
	r.graph.Lock()
	defer r.graph.Unlock()
	for id, next := range by {
		if r.job(next) == nil {
			return 0, fmt.Errorf("flow: job %d cannot take the place of job %d: %w", next, id, ErrRestarting)
		}
	}
	ids := slices.DeleteFunc(slices.Concat(slices.Sorted(maps.Keys(by)), gone), func(id JobID) bool { _, stays := aside[id]; return stays })
	for id := range aside {
		if r.job(id) == nil {
			return 0, fmt.Errorf("flow: job %d does not run: %w", id, ErrRestarting)
		}
	}
	e, err := r.remove(ctx, save, ids)
	if err != nil {
		return e, err
	}
	renamed := make(map[JobID]JobID, len(by))
	for id, next := range by {
		renamed[next] = id
	}
	r.rename(aside)
	r.rename(renamed)
	return e, nil
}

// rename gives running jobs other ids, which nobody has; the graph is locked.
func (r *Runtime) rename(ids map[JobID]JobID) {
	r.jobsMu.Lock()
	defer r.jobsMu.Unlock()
	r.inject.Lock()
	defer r.inject.Unlock()
	for _, d := range r.jobs {
		for _, f := range d.job.Fragments {
			for k := range f.Inputs {
				if id, ok := ids[f.Inputs[k].Job]; ok {
					f.Inputs[k].Job = id
				}
			}
		}
		for k, id := range d.job.Lookups {
			if id, ok := ids[id]; ok {
				d.job.Lookups[k] = id
			}
		}
	}
	for old, id := range ids {
		d := r.jobs[old]
		delete(r.jobs, old)
		d.now.Store(uint32(id))
		r.jobs[id] = d
		if a := r.tables[old]; a != nil {
			delete(r.tables, old)
			r.tables[id] = a
		}
	}
	moved := map[producerKey]channel.ProducerID{}
	maps.DeleteFunc(r.producers, func(k producerKey, p channel.ProducerID) bool {
		id, ok := ids[k.job]
		if ok {
			k.job = id
			moved[k] = p
		}
		return ok
	})
	maps.Copy(r.producers, moved)
	r.reorder()
}

// GiveUp ends the runtime as a failure that is no job's does: what was asked of it is half done, and another one, which
// begins at the last checkpoint, is to put it right.
func (r *Runtime) GiveUp(err error) { r.fail(nil, err) }
