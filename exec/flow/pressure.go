package flow

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/storage"
)

// Input is let in no faster than it can be worked off and written:
//
//  1. What has changed and no checkpoint has written yet cannot be evicted: dirty entries of operators,
//     sealed deltas, changes of arrangements. From an eighth of the memory on a checkpoint is demanded at
//     once, from a quarter on sources and writers wait for it.
//  2. The inbox of a table has no bound of its own, since it is filled by the log's goroutine, which must
//     not wait. So writers wait, before they submit to the log, while too many rows are in it.
//
//  3. Writers also wait while a job that their tables feed has not passed an epoch that is older than maxLag. What has been
//     acknowledged and is in no checkpoint has to be done again after a crash, so this bounds the time of a
//     recovery, as it bounds how long a read may have to wait. Who writes to tables that what is late does not depend on goes on.
//
// Nobody waits for ever: a checkpoint that was demanded when the wait began ends it, whatever the counters
// say, so that one that is wrong costs speed and nothing else. A checkpoint that cannot be written, because
// the disk is full, does hold up the sources until there is room; writers get an error.

const (
	// pressurePoll is how often who waits looks again.
	pressurePoll = 2 * time.Millisecond
	// backlogRows and backlogChunks bound what waits in the inbox of a table before its writers wait.
	backlogRows   = 1 << 17
	backlogChunks = 1 << 12
	// maxLag is how far the dataflow may be behind before writers wait.
	maxLag = time.Second
)

// injection is when the barrier of an epoch was injected.
type injection struct {
	epoch storage.Epoch
	at    time.Time
}

// pressure is what Runtime knows of memory.
type pressure struct {
	memory *exec.Memory // nil: no bound
	store  *storage.Store
	// sealed is about the memory of deltas that are on their way into a checkpoint.
	sealed atomic.Int64
	// demanded is the checkpoint that was asked for last because of memory.
	demanded atomic.Uint64
	// waits counts how often input had to wait.
	waits atomic.Int64
}

// deltaBytes is about the memory of a sealed delta.
func deltaBytes(d *storage.Delta) int64 { return d.Bytes() + int64(d.Len())*48 }

// NewMemory makes the Memory of a runtime's operators, limited to limit bytes together with what the store
// has not written.
func NewMemory(limit int64, store *storage.Store) *exec.Memory {
	return exec.NewMemory(exec.MemoryConfig{Limit: limit, Other: store.Unwritten})
}

// unwritten is what only a checkpoint makes less.
func (p *pressure) unwritten() int64 {
	return p.memory.Dirty() + p.store.Unwritten() + p.sealed.Load()
}

// room tells whether more input may come in, as far as memory is concerned.
func (r *Runtime) room() bool {
	p := &r.pressure
	if p.memory == nil {
		return true
	}
	n, limit := p.unwritten(), p.memory.Limit()
	if n <= limit/4 {
		return true
	}
	d := r.driver()
	durable := uint64(d.Marks().Durable)
	asked := p.demanded.Load()
	if asked <= durable {
		open := uint64(r.Open())
		if p.demanded.CompareAndSwap(asked, open) {
			d.Send(checkpoint.CheckpointDemand{Epoch: checkpoint.Epoch(open)})
		}
		// What was to be written has been written, or there was no pressure until now.
		return n <= limit/2 || asked > 0
	}
	return n <= limit/2
}

// Room tells whether a backfill may read on, as far as memory is concerned. It is not for jobs that checkpoints wait for.
func (r *Runtime) Room() bool { return r.room() }

// BarrierWhenRoom asks for a barrier as soon as there is room, unless ctx ends before.
func (r *Runtime) BarrierWhenRoom(ctx context.Context) {
	r.wg.Go(func() {
		for !r.room() {
			expired, stop := r.cfg.Clock.NewTimer(pressurePoll)
			select {
			case <-expired:
			case <-ctx.Done():
				stop()
				return
			case <-r.ctx.Done():
				stop()
				return
			}
		}
		r.RequestBarrier()
	})
}

// Admit waits until a write to the given tables may be submitted to the log. Who writes to none does not
// wait: reads end with a commit too. If it would wait for a checkpoint for which the disk has no room, that is an error, SQLSTATE 53100.
func (r *Runtime) Admit(ctx context.Context, jobs []JobID) error {
	if len(jobs) == 0 {
		return nil
	}
	return r.admit(ctx, func() bool {
		ok := r.room() && !r.lags(jobs)
		for _, j := range jobs {
			ok = ok && !r.backlogged(j)
		}
		return ok
	})
}

// AdmitWork waits until there is room for what a statement that writes is going to hold in memory. It is for statements that have no locks yet.
func (r *Runtime) AdmitWork(ctx context.Context) error { return r.admit(ctx, r.room) }

// admit waits until ready.
func (r *Runtime) admit(ctx context.Context, ready func() bool) error {
	waited := false
	for {
		if ready() {
			return nil
		}
		if !r.room() {
			// Only a checkpoint helps, and there is no room for one.
			if err := r.cfg.Store.CheckRoom(); err != nil {
				return err
			}
		}
		if !waited {
			waited = true
			r.pressure.waits.Add(1)
		}
		expired, stop := r.cfg.Clock.NewTimer(pressurePoll)
		select {
		case <-expired:
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		case <-r.ctx.Done():
			stop()
			return checkpoint.ErrStopped
		}
	}
}

// lags tells whether an epoch has been on its way for too long to what some tables feed.
func (r *Runtime) lags(tables []JobID) bool {
	var late storage.Epoch
	r.inject.Lock()
	if len(r.onWay) > 0 {
		now := r.cfg.Clock.Now()
		for _, i := range r.onWay {
			if now.Sub(i.at) <= maxLag {
				break
			}
			late = i.epoch
		}
	}
	r.inject.Unlock()
	if late == 0 {
		return false
	}
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	for id := range r.above(tables) {
		for _, as := range r.jobs[id].actors {
			for _, a := range as {
				if from := a.from.Load(); from != 0 && from <= uint64(late) && a.passed.Load() < uint64(late) {
					return true
				}
			}
		}
	}
	return false
}

// above gives jobs that are deployed and all that they feed, with jobsMu held.
func (r *Runtime) above(ids []JobID) map[JobID]bool {
	set := map[JobID]bool{}
	for _, id := range ids {
		set[id] = r.jobs[id] != nil
	}
	for grown := true; grown; {
		grown = false
		for id, d := range r.jobs {
			if set[id] || d.dead.Load() {
				continue
			}
			for _, f := range d.job.Fragments {
				for _, in := range f.Inputs {
					if set[in.Job] && in.Job != id {
						set[id], grown = true, true
					}
				}
			}
		}
	}
	for id, in := range set {
		if !in {
			delete(set, id)
		}
	}
	return set
}

// arrived notes that all epochs up to e are complete.
func (r *Runtime) arrived(e storage.Epoch) {
	r.inject.Lock()
	defer r.inject.Unlock()
	n := 0
	for n < len(r.onWay) && r.onWay[n].epoch <= e {
		n++
	}
	r.onWay = append(r.onWay[:0], r.onWay[n:]...)
}

// backlogged tells whether too much waits in the inbox of a table.
func (r *Runtime) backlogged(job JobID) bool {
	r.inject.Lock()
	a := r.tables[job]
	r.inject.Unlock()
	if a == nil {
		return false
	}
	chunks, rows := a.in.waiting()
	return chunks > backlogChunks || rows > backlogRows
}

// Waits counts how often a source or a writer had to wait because there was too much to work off or to
// write.
func (r *Runtime) Waits() int64 { return r.pressure.waits.Load() }

// Held is how many bytes operators hold in memory, 0 if their memory has no bound.
func (r *Runtime) Held() int64 {
	if r.pressure.memory == nil {
		return 0
	}
	return r.pressure.memory.Used() - r.pressure.store.Unwritten()
}
