package sim

import (
	"slices"

	"github.com/weirdb/weir/checkpoint"
)

// post sends a control message: it may take any time, come twice, or never.
func (w *world) post(from, to checkpoint.Party, m checkpoint.Message) {
	if w.cfg.Bug == EarlyCommit {
		if s, ok := m.(checkpoint.InstanceStateStored); ok {
			s.Pending = false
			m = s
		}
	}
	if r, ok := m.(checkpoint.RestoreTopologyStateResponse); ok && r.Status == checkpoint.StatusOK {
		w.restored[restoredKey{r.Worker, r.Txid}] = true
	}
	if s, ok := m.(checkpoint.StartCheckpoint); ok && s.Mutation != nil {
		w.local.injected(s)
		w.carries(s)
	}
	if r, ok := m.(checkpoint.WorkerReport); ok && w.cfg.Bug == ForgetEnds {
		r.Actors = slices.Clone(r.Actors)
		for i := range r.Actors {
			if r.Actors[i].State == checkpoint.ActorFinished {
				r.Actors[i].States = nil
			}
		}
		m = r
	}
	copies := 1
	if !w.calm {
		if w.plan.lose > 0 && w.rng.one(w.plan.lose) || w.now < w.cut {
			w.res.Lost++
			w.say("lost: %v to %v: %T", from, to, m)
			return
		}
		if w.plan.repeat > 0 && w.rng.one(w.plan.repeat) {
			copies = 2
			w.res.Repeated++
		}
	}
	for range copies {
		d := int64(w.rng.n(w.plan.controlDelay) + 1)
		if !w.calm && w.rng.one(w.plan.stray) {
			d *= int64(w.rng.between(2, 60))
		}
		w.after(d, func() { w.deliver(from, to, m) })
	}
}

func (w *world) deliver(from, to checkpoint.Party, m checkpoint.Message) {
	if w.cfg.Trace && from.Role != checkpoint.RoleClient {
		if _, often := m.(checkpoint.InputArrived); !often {
			w.say("%v to %v: %s", from, to, describe(m))
		}
	}
	switch to.Role {
	case checkpoint.RoleCoordinator:
		for _, p := range w.gone {
			if w.rng.one(2) {
				p.take(m)
			}
		}
		if w.coord == nil {
			return
		}
		if r, ok := m.(checkpoint.RestoreTopologyStateResponse); ok && w.cfg.Bug == LateRestore {
			r.Txid = w.coord.c.Txid()
			m = r
		}
		w.coord.take(m)
	case checkpoint.RoleStore:
		if w.store != nil {
			w.store.take(m)
		}
	case checkpoint.RoleWorker:
		for _, p := range w.lost {
			if p.id == to.Worker && w.rng.one(2) {
				p.take(m)
			}
		}
		for _, p := range w.workers {
			if p != nil && p.id == to.Worker {
				p.take(m)
			}
		}
	}
}
