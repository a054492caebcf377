package flow

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/storage"
)

// A read waits for what it reads, and for nothing else:
//
//  1. The frontier of a job is the newest epoch that all of its actors have passed: its arrangement has a version of that epoch,
//     and everything that feeds it has passed the epoch before. Tables are sealed when a barrier is injected.
//  2. A read of some relations is at one epoch, the smallest of their frontiers, once that is not before the epochs that it must
//     not be older than: the newest with an acknowledged write, and the newest at which anybody has read.
//     The second is what keeps time from going back between reads of different relations: who has seen the rows of a source
//     at an epoch finds, in whatever he reads next, at least what belongs to them.
//  3. So an epoch that is complete nowhere else, because a loop iterates or some view is slow, does not hold up reads of the others.
//     Versions after the completed epoch are kept until it comes, so that a read of a fast and a slow
//     relation finds the older version of the fast one.
//
// The coordinator's completed epoch is the smallest frontier of all, and is what checkpoints and changes of the graph wait for.

// frontiers is who waits for jobs to pass epochs.
type frontiers struct {
	// seen is the newest epoch of a strict read, shown that of any read.
	seen, shown atomic.Uint64
	// injected is the newest epoch whose barrier has entered the graph.
	injected atomic.Uint64
	// waiting counts the waits, so that nobody has to look when there are none.
	waiting atomic.Int32
	mu      sync.Mutex
	// waits are those of each actor; those for an injection have none.
	waits map[*actor][]*reaching
}

// reaching waits until so many actors have passed an epoch, or one of them is gone; then done is closed.
type reaching struct {
	epoch   uint64
	missing int
	// at are the actors that it waits for, or has waited for.
	at   []*actor
	done chan struct{}
	over bool
}

func (w *reaching) end() {
	if !w.over {
		w.over = true
		close(w.done)
	}
}

func raise(to *atomic.Uint64, e uint64) {
	for {
		old := to.Load()
		if old >= e || to.CompareAndSwap(old, e) {
			return
		}
	}
}

// passed notes that an actor, or with nil the injection, has come to an epoch.
func (f *frontiers) passed(a *actor, e storage.Epoch) {
	if f.waiting.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ws := f.waits[a]
	kept := ws[:0]
	for _, w := range ws {
		if w.over || w.epoch > uint64(e) {
			kept = append(kept, w)
			continue
		}
		if w.missing--; w.missing == 0 {
			w.end()
		}
	}
	clear(ws[len(kept):])
	if f.waits[a] = kept; len(kept) == 0 {
		delete(f.waits, a)
	}
}

// gone wakes who waits for actors that will pass nothing more: they have to look again.
func (f *frontiers) gone(as ...*actor) {
	if f.waiting.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range as {
		for _, w := range f.waits[a] {
			w.end()
		}
		delete(f.waits, a)
	}
}

// gone is frontiers.gone for all actors of a job.
func (d *deployed) gone(f *frontiers) {
	for _, as := range d.actors {
		f.gone(as...)
	}
}

// forget ends a wait.
func (f *frontiers) forget(w *reaching) {
	f.waiting.Add(-1)
	f.mu.Lock()
	defer f.mu.Unlock()
	w.end()
	for _, a := range w.at {
		ws := f.waits[a]
		kept := ws[:0]
		for _, o := range ws {
			if o != w {
				kept = append(kept, o)
			}
		}
		clear(ws[len(kept):])
		if f.waits[a] = kept; len(kept) == 0 {
			delete(f.waits, a)
		}
	}
}

// await begins to wait until jobs have passed an epoch; nil: they have.
func (r *Runtime) await(e storage.Epoch, ids []JobID) (*reaching, error) {
	f := &r.frontiers
	w := &reaching{epoch: uint64(e), done: make(chan struct{})}
	// Counted first: who passes the epoch after it was looked at, looks for waits after this.
	f.waiting.Add(1)
	f.mu.Lock()
	err := func() error {
		add := func(a *actor) {
			w.missing++
			w.at = append(w.at, a)
			if f.waits == nil {
				f.waits = map[*actor][]*reaching{}
			}
			f.waits[a] = append(f.waits[a], w)
		}
		if f.injected.Load() < w.epoch {
			add(nil)
		}
		r.jobsMu.RLock()
		defer r.jobsMu.RUnlock()
		for _, id := range ids {
			d := r.jobs[id]
			if d == nil {
				continue
			}
			if d.dead.Load() {
				return fmt.Errorf("flow: job %s: %w", d.job.Name, ErrRestarting)
			}
			for k, as := range d.actors {
				if d.job.Fragments[k].Table != nil {
					continue
				}
				for _, a := range as {
					if a.passed.Load() < w.epoch {
						add(a)
					}
				}
			}
		}
		return nil
	}()
	waits := w.missing > 0
	f.mu.Unlock()
	if err != nil || !waits {
		f.forget(w)
		return nil, err
	}
	return w, nil
}

// Reach demands an epoch, and waits until jobs have passed it. Jobs that are not deployed are left out; if one is being
// restarted the error wraps ErrRestarting.
func (r *Runtime) Reach(ctx context.Context, e storage.Epoch, ids ...JobID) error {
	for {
		r.jobsMu.RLock()
		now, err := r.frontier(ids)
		r.jobsMu.RUnlock()
		if err != nil || now >= e {
			return err
		}
		w, err := r.await(e, ids)
		if w == nil {
			return err
		}
		if r.frontiers.injected.Load() < uint64(e) {
			r.driver().Send(checkpoint.Demand{Epoch: checkpoint.Epoch(e)})
		}
		select {
		case <-w.done:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-r.ctx.Done():
			err = checkpoint.ErrStopped
		}
		r.frontiers.forget(w)
		if err != nil {
			return err
		}
	}
}

// frontier is the newest epoch that all of the jobs have passed, with jobsMu held.
func (r *Runtime) frontier(ids []JobID) (storage.Epoch, error) {
	e := r.frontiers.injected.Load()
	for _, id := range ids {
		d := r.jobs[id]
		if d == nil {
			continue
		}
		if d.dead.Load() {
			return 0, fmt.Errorf("flow: job %s: %w", d.job.Name, ErrRestarting)
		}
		for k, as := range d.actors {
			if d.job.Fragments[k].Table != nil {
				continue
			}
			for _, a := range as {
				e = min(e, a.passed.Load())
			}
		}
	}
	return storage.Epoch(e), nil
}

// ReadEpoch gives an epoch at which what the jobs keep can be read, all of it. It is at or after the completed one; a fresh one has every
// write that was acknowledged before the call, what the passing of time changes up to the call, and whatever a fresh read
// before has shown. A snapshot at it must be taken at once, since it may be over soon: then the next call
// gives a later one. If a job is being restarted after a failure the error wraps ErrRestarting.
func (r *Runtime) ReadEpoch(ctx context.Context, fresh bool, ids []JobID) (storage.Epoch, error) {
	var target storage.Epoch
	reach := func(e storage.Epoch) error {
		target = max(target, e, storage.Epoch(r.frontiers.seen.Load()))
		return r.Reach(ctx, target, ids...)
	}
	if fresh {
		if err := r.freshen(reach); err != nil {
			return 0, err
		}
	}
	for {
		e, again, err := r.readAt(target, fresh, ids)
		if err != nil || e != 0 {
			return e, err
		}
		target = max(target, again)
		if err := r.Reach(ctx, target, ids...); err != nil {
			return 0, err
		}
	}
}

// readAt gives the epoch of a read, or with 0 one that has to be reached first.
func (r *Runtime) readAt(target storage.Epoch, fresh bool, ids []JobID) (e, again storage.Epoch, err error) {
	// A job that fails is marked as dead under this lock: what it has shown by then is known to who restarts it.
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	if e, err = r.frontier(ids); err != nil {
		return 0, 0, err
	}
	// A job that does not take part in the completed epoch yet has nothing to be read before.
	e = max(e, r.cfg.Store.Completed())
	if e < target {
		return 0, target, nil
	}
	if again, err = r.gapAt(e, ids); err != nil || again != 0 {
		return 0, again, err
	}
	if fresh {
		raise(&r.frontiers.seen, uint64(e))
	}
	raise(&r.frontiers.shown, uint64(e))
	return e, 0, nil
}

// Show says that an epoch that a job has passed is about to be shown to somebody: what is read later is not older. If it is false the
// job has failed, and it must not be shown.
func (r *Runtime) Show(id JobID, e storage.Epoch) bool {
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	if d := r.jobs[id]; d == nil || d.dead.Load() {
		return false
	}
	raise(&r.frontiers.seen, uint64(e))
	raise(&r.frontiers.shown, uint64(e))
	return true
}

// Passed is the newest epoch that all of the jobs have passed, 0 if one is being restarted.
func (r *Runtime) Passed(ids ...JobID) storage.Epoch {
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	e, err := r.frontier(ids)
	if err != nil {
		return 0
	}
	return e
}

// gapAt gives the epoch from which on jobs have versions again, 0 if they have one of e.
func (r *Runtime) gapAt(e storage.Epoch, ids []JobID) (storage.Epoch, error) {
	r.regionsMu.Lock()
	defer r.regionsMu.Unlock()
	for _, id := range ids {
		for _, p := range r.gaps[id] {
			switch {
			case !p.has(e):
			case p.to == 0:
				return 0, fmt.Errorf("flow: job %d: %w", id, ErrRestarting)
			default:
				return p.to, nil
			}
		}
	}
	return 0, nil
}
