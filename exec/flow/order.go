package flow

import (
	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/storage"
)

// A job with Lookups joins a row with what a relation holds at the end of the epoch in which the row comes. For what is written
// to tables that is made exact: a write that may change such a relation is never in an epoch with an earlier write whose
// rows look it up, since the epoch is ended in between. So the result depends on the order of the log alone, and
// is the same when the log is applied again after a crash, in other epochs.
//
// A region that restarts alone catches up with the difference of its inputs, in which the order is lost: jobs with Lookups,
// and those that feed them, restart with everything else, from the log.

// order is the part of a Runtime that keeps writes apart. It is guarded by Runtime.inject.
type order struct {
	// looked are the tables below relations that are looked up, lookers those whose rows look them up.
	looked, lookers map[JobID]bool
	// came: the open epoch has a write to one of the lookers.
	came bool
}

// reorder finds the tables that the jobs of the living actors make looked and lookers.
func (r *Runtime) reorder() {
	r.order.looked, r.order.lookers = nil, nil
	jobs := map[JobID]*deployed{}
	for _, a := range r.live {
		if !a.job.leaves.Load() {
			jobs[a.job.id()] = a.job
		}
	}
	for _, d := range jobs {
		if len(d.job.Lookups) == 0 {
			continue
		}
		if r.order.looked == nil {
			r.order.looked, r.order.lookers = map[JobID]bool{}, map[JobID]bool{}
		}
		lookups := map[JobID]int{}
		for _, id := range d.job.Lookups {
			lookups[id]++
			below(jobs, id, r.order.looked)
		}
		for _, f := range d.job.Fragments {
			for _, in := range f.Inputs {
				if lookups[in.Job] > 0 {
					lookups[in.Job]-- // of the inputs from a job, so many are for looking up
				} else if in.Job != d.id() {
					below(jobs, in.Job, r.order.lookers)
				}
			}
		}
	}
}

// below adds id and all jobs that feed it to set.
func below(jobs map[JobID]*deployed, id JobID, set map[JobID]bool) {
	if set[id] {
		return
	}
	set[id] = true
	d := jobs[id]
	if d == nil {
		return
	}
	for _, f := range d.job.Fragments {
		for _, in := range f.Inputs {
			if in.Job != id {
				below(jobs, in.Job, set)
			}
		}
	}
}

// writeInOrder ends the open epoch if a write must not be in it, and waits for that. Runtime.inject is held, and given up
// meanwhile.
func (r *Runtime) writeInOrder(ws []TableWrite) error {
	o := &r.order
	if o.looked == nil {
		return nil
	}
	touches := func(set map[JobID]bool) bool {
		for _, w := range ws {
			if set[w.Job] {
				return true
			}
		}
		return false
	}
	if touches(o.looked) {
		for o.came {
			e, next := r.open, r.opened
			r.inject.Unlock()
			r.driver().Send(checkpoint.Demand{Epoch: checkpoint.Epoch(e)})
			var err error
			select {
			case <-next:
			case <-r.ctx.Done():
				err = checkpoint.ErrStopped
			}
			r.inject.Lock()
			if err != nil {
				return err
			}
		}
	}
	o.came = o.came || touches(o.lookers)
	return nil
}

// openNext opens the epoch after e. Runtime.inject is held.
func (r *Runtime) openNext(e storage.Epoch) {
	r.open = e + 1
	r.frontiers.injected.Store(uint64(e))
	r.frontiers.passed(nil, e)
	r.order.came = false
	close(r.opened)
	r.opened = make(chan struct{})
}

// withOrder gives the jobs whose order must be kept the strategy that keeps it.
func withOrder(g []failover.Job, lookups map[failover.JobID]bool) {
	at := map[failover.JobID]int{}
	for i, j := range g {
		at[j.ID] = i
	}
	var mark func(id failover.JobID)
	seen := map[failover.JobID]bool{}
	mark = func(id failover.JobID) {
		i, ok := at[id]
		if !ok || seen[id] {
			return
		}
		seen[id] = true
		g[i].Strategy = failover.All
		for _, in := range g[i].Inputs {
			mark(in)
		}
	}
	for _, j := range g {
		if lookups[j.ID] {
			mark(j.ID)
		}
	}
}
