package sim

import (
	"errors"
	"sort"
	"time"

	"github.com/weirdb/weir/checkpoint"
)

// coordProc is one life of a coordinator.
type coordProc struct {
	w    *world
	c    *checkpoint.Coordinator
	box  mailbox
	dead bool
}

// workerProc is one life of a worker, with its actors.
type workerProc struct {
	w    *world
	no   int
	id   checkpoint.WorkerID
	m    *checkpoint.Worker
	box  mailbox
	dead bool
	// lost: others take it for dead.
	lost  bool
	execs map[checkpoint.ActorID]*exec
}

// storeProc is one life of the store.
type storeProc struct {
	w    *world
	k    *checkpoint.Keeper
	box  mailbox
	dead bool
}

// mailbox lets a machine take one message after the other, and its timer.
type mailbox struct {
	queue []checkpoint.Message
	busy  bool
	timer int64
}

// take steps a machine, and does what it wants before it steps again.
func (b *mailbox) take(w *world, m checkpoint.Message, step func(checkpoint.Message, time.Time) ([]checkpoint.Action, error), act func(checkpoint.Action), who string) {
	b.queue = append(b.queue, m)
	if b.busy {
		return
	}
	b.busy = true
	for len(b.queue) > 0 && w.err == nil {
		m := b.queue[0]
		b.queue = b.queue[1:]
		as, err := step(m, w.time())
		if err != nil {
			w.fail("%s: %v", who, err)
			break
		}
		for _, a := range append([]checkpoint.Action(nil), as...) {
			act(a)
		}
	}
	b.busy = false
}

// setTimer arranges for a tick.
func (b *mailbox) setTimer(w *world, at time.Time, tick func()) {
	if at.IsZero() {
		b.timer = 0
		return
	}
	t := max(w.at(at), w.now)
	b.timer = t
	w.after(t-w.now, func() {
		if b.timer == t {
			b.timer = 0
			tick()
		}
	})
}

func (w *world) nextIncarnation() uint64 {
	w.incarnation++
	return w.incarnation
}

const ms = time.Millisecond

func (w *world) startCoordinator() {
	cfg := checkpoint.CoordinatorConfig{
		Config: checkpoint.Config{
			BarrierInterval: 10 * ms, CheckpointInterval: 35 * ms, MaxInFlight: 4, MaxCheckpoints: w.plan.checkpoints,
			CheckpointTimeout: time.Duration(w.plan.timeout) * time.Microsecond,
		},
		Incarnation: w.nextIncarnation(), Resend: 40 * ms, ReconcileTimeout: 120 * ms, RestoreTimeout: time.Duration(w.plan.restoreTimeout) * ms,
		WorkerTimeout: 200 * ms, LocalFailover: w.plan.local, RestoreDelay: 5 * ms, MaxRestoreDelay: 80 * ms, Keep: w.plan.keep, StuckAfter: time.Second,
	}
	for i := range w.plan.workers {
		cfg.Workers = append(cfg.Workers, workerID(i))
	}
	p := &coordProc{w: w, c: checkpoint.NewCoordinator(cfg)}
	w.coord = p
	w.say("coordinator starts")
	if w.local != nil && w.local.region != nil {
		// It must begin no checkpoint without the region.
		w.local.region.held = false
		p.take(checkpoint.Hold{On: true})
	}
	if w.local != nil {
		for _, m := range w.local.owed {
			p.take(m)
		}
	}
	for _, a := range append([]checkpoint.Action(nil), p.c.Start(w.time())...) {
		p.act(a)
	}
}

func workerID(i int) checkpoint.WorkerID { return checkpoint.WorkerID(rune('a' + i)) }

func (p *coordProc) take(m checkpoint.Message) {
	if p.dead {
		return
	}
	p.box.take(p.w, m, p.c.Step, p.act, "coordinator")
	if p == p.w.coord && !p.box.busy {
		p.w.local.look()
	}
	if c := p.c.Core(); c != nil && (c.Durable() > c.Completed() || c.Completed() > c.Injected()) {
		p.w.fail("I1: durable %d, completed %d, injected %d", c.Durable(), c.Completed(), c.Injected())
	}
}

func (p *coordProc) act(a checkpoint.Action) {
	w := p.w
	switch a := a.(type) {
	case checkpoint.Send:
		w.post(checkpoint.Party{Role: checkpoint.RoleCoordinator}, a.To, a.Message)
	case checkpoint.SetTimer:
		p.box.setTimer(w, a.At, func() { p.take(checkpoint.Tick{}) })
	case checkpoint.StateChanged:
		w.say("coordinator: %s -> %s (%s) attempt %s", a.From, a.To, a.Reason, a.Txid)
		w.note(uint64(a.From), uint64(a.To), uint64(a.Txid))
		// When all workers have been started again the next coordinator goes on with the start-up.
		again := a.From == checkpoint.CoordinatorReconciling && a.To == checkpoint.CoordinatorRestoring
		if p == w.coord && (a.To == checkpoint.CoordinatorFailing || again) {
			w.local.global()
		}
		if p == w.coord && a.From == checkpoint.CoordinatorReconciling && a.To == checkpoint.CoordinatorRunning {
			w.after(0, w.local.taken)
		}
		switch {
		case a.To == checkpoint.CoordinatorRestoring:
			w.res.Restores++
		case a.To == checkpoint.CoordinatorFinished:
			w.res.Finished++
			if a.From == checkpoint.CoordinatorReconciling {
				w.res.FinishedLate++
			}
		case a.From == checkpoint.CoordinatorReconciling && a.To == checkpoint.CoordinatorRunning:
			w.res.Reconciled++
		case a.To == checkpoint.CoordinatorRunning:
			for i := range w.workers {
				if !w.restored[restoredKey{workerID(i), a.Txid}] {
					w.fail("I12: attempt %s begins, and worker %s has not restored under it", a.Txid, workerID(i))
				}
			}
		}
		if a.To == checkpoint.CoordinatorDeposed && p == w.coord {
			w.say("the coordinator was deposed, another one is started")
			w.crashCoordinator(1000)
		}
	case checkpoint.FellBack:
		w.say("coordinator: falls back from checkpoint %d to %d: %s", a.From, a.To, a.Reason)
		if !w.plan.corrupt {
			w.fail("the store lost checkpoint %d: %s", a.From, a.Reason)
		}
		if a.To > 0 {
			w.fellBack = true
			w.res.Fallbacks++
			clear(w.check.pos)
		}
	case checkpoint.Complete:
		w.say("coordinator: epoch %d is complete", a.Epoch)
		w.note(1, uint64(a.Epoch))
	case checkpoint.Durable:
		w.say("coordinator: checkpoint %d is durable", a.Epoch)
		w.note(2, uint64(a.Epoch))
	case checkpoint.Aborted:
		w.res.Aborted++
		w.say("coordinator: checkpoint %d is aborted: %s", a.Epoch, a.Reason)
	case checkpoint.ActorDied:
		w.say("coordinator: actor %d died: %s", a.Actor, a.Detail)
		if w.plan.local && p == w.coord && p.c.State() == checkpoint.CoordinatorRunning && a.Txid == p.c.Txid() {
			w.local.died(a.Actor)
		}
	case checkpoint.Held, checkpoint.Gone, checkpoint.Forgotten:
		if p == w.coord {
			w.local.answered(a)
		}
	case checkpoint.Yielded:
		w.say("coordinator: what was meant for attempt %s is refused", a.Version)
	case checkpoint.CommitFailed:
		w.say("coordinator: checkpoint %d could not be recorded: %v", a.Epoch, a.Err)
	case checkpoint.Cleaned:
		w.say("coordinator: checkpoints %v are gone", a.Checkpoints)
	case checkpoint.Stuck:
		w.say("coordinator: barrier %d is stuck, it waits for %v", a.Epoch, a.Waiting)
	}
}

func (w *world) startWorker(no int) {
	cfg := checkpoint.WorkerConfig{
		Worker: workerID(no), Incarnation: w.nextIncarnation(), Resend: 40 * ms, ReportInterval: 50 * ms, InlineLimit: w.plan.inline,
	}
	for _, a := range w.graph.actors {
		if a.worker == no {
			cfg.Actors = append(cfg.Actors, checkpoint.HostedActor{Actor: a.id, Source: a.role == sourceRole})
		}
	}
	p := &workerProc{w: w, no: no, id: cfg.Worker, m: checkpoint.NewWorker(cfg), execs: map[checkpoint.ActorID]*exec{}}
	w.workers[no] = p
	w.say("worker %s starts", p.id)
	for _, a := range append([]checkpoint.Action(nil), p.m.Start(w.time())...) {
		p.act(a)
	}
}

func (p *workerProc) party() checkpoint.Party {
	return checkpoint.Party{Role: checkpoint.RoleWorker, Worker: p.id}
}

func (p *workerProc) take(m checkpoint.Message) {
	if p.dead {
		return
	}
	p.box.take(p.w, m, p.m.Step, p.act, "worker "+string(p.id))
	if p.m.Fenced() && !p.dead && !p.lost {
		p.w.say("worker %s is fenced, another one is started", p.id)
		p.kill()
		p.w.workers[p.no] = nil
		p.w.after(1000, func() {
			if p.w.workers[p.no] == nil {
				p.w.startWorker(p.no)
			}
		})
		return
	}
	if p.m.Saved() > p.m.Completed() || p.m.Completed() > p.m.Started() {
		p.w.fail("I1: worker %s: saved %d, completed %d, started %d", p.id, p.m.Saved(), p.m.Completed(), p.m.Started())
	}
}

func (p *workerProc) act(a checkpoint.Action) {
	switch a := a.(type) {
	case checkpoint.Send:
		if a.To.Role == checkpoint.RoleActor {
			p.toActor(a.Message)
			return
		}
		p.w.post(p.party(), a.To, a.Message)
	case checkpoint.SetTimer:
		p.box.setTimer(p.w, a.At, func() { p.take(checkpoint.Tick{}) })
	}
}

// sortedExecs are the executions that live here, in order.
func (p *workerProc) sortedExecs() []*exec {
	var xs []*exec
	for _, x := range p.execs {
		xs = append(xs, x)
	}
	sort.Slice(xs, func(i, j int) bool { return xs[i].spec.id < xs[j].spec.id })
	return xs
}

// exec finds the execution of an actor.
func (p *workerProc) exec(id checkpoint.ActorID) *exec {
	if x := p.execs[id%idsOfARun]; x != nil && x.actor == id {
		return x
	}
	return nil
}

// kill ends a worker with its actors.
func (p *workerProc) kill() {
	p.dead = true
	for _, x := range p.execs {
		x.dead = true
	}
}

// toActor is what a worker says to its actors: a call, which is never lost.
func (p *workerProc) toActor(m checkpoint.Message) {
	switch m := m.(type) {
	case checkpoint.RestoreInstanceState:
		x, err := p.restore(m)
		r := checkpoint.RestoreInstanceStateResponse{Actor: m.Actor, Attempt: m.Attempt}
		if err != nil {
			p.w.fail("actor %d: %v", m.Actor, err)
			return
		}
		if old := p.execs[x.spec.id]; old != nil {
			// One that has finished is there until another one comes.
			old.dead = true
		}
		p.execs[x.spec.id] = x
		p.take(r)
	case checkpoint.StartInstanceProcessing:
		if x := p.exec(m.Actor); x != nil && x.attempt == m.Attempt {
			x.start()
		}
	case checkpoint.StopInstance:
		if x := p.exec(m.Actor); x != nil && x.attempt == m.Attempt {
			x.dead = true
			delete(p.execs, x.spec.id)
		}
		p.take(checkpoint.InstanceEnded{Actor: m.Actor, Attempt: m.Attempt, State: checkpoint.ActorCanceled})
	case checkpoint.InitiateCheckpoint:
		for _, id := range m.Actors {
			if x := p.exec(id); x != nil {
				x.initiate(m.Epoch, m.Kind, m.Mutation)
			}
		}
	case checkpoint.InstanceCheckpointSaved:
		for _, id := range m.Actors {
			if x := p.exec(id); x != nil {
				x.saved(m.Epoch)
			}
		}
	default:
		p.w.fail("worker %s: a message %T for actors", p.id, m)
	}
}

func (w *world) startStore() {
	p := &storeProc{w: w, k: checkpoint.NewKeeper(w.medium.state, w.medium.locations())}
	w.store = p
	w.say("store starts")
	for _, a := range append([]checkpoint.Action(nil), p.k.Start(w.time())...) {
		p.act(a)
	}
}

func (p *storeProc) take(m checkpoint.Message) {
	if !p.dead {
		p.box.take(p.w, m, p.k.Step, p.act, "store")
	}
}

func (p *storeProc) act(a checkpoint.Action) {
	w := p.w
	// done answers later, unless the store dies before; what it wrote may be on the medium or not.
	done := func(write func() error, answer func(error) checkpoint.Message) {
		d := int64(w.rng.between(5, 2*w.plan.controlDelay+5))
		at := int64(w.rng.n(int(d)))
		var err error
		w.after(at, func() {
			if p.dead && w.rng.one(2) {
				return
			}
			err = write()
		})
		w.after(d, func() { p.take(answer(err)) })
	}
	switch a := a.(type) {
	case checkpoint.Send:
		w.post(checkpoint.Party{Role: checkpoint.RoleStore}, a.To, a.Message)
	case checkpoint.PersistNumbers:
		done(func() error {
			if p.locked() {
				return errLocked
			}
			return w.medium.persistNumbers(a.Numbers)
		}, func(err error) checkpoint.Message { return checkpoint.Persisted{Err: err} })
	case checkpoint.PersistList:
		done(func() error {
			if p.locked() {
				return errLocked
			}
			return w.medium.persistList(w, a.Checkpoints)
		}, func(err error) checkpoint.Message { return checkpoint.Persisted{List: true, Err: err} })
	case checkpoint.WriteBlob:
		done(func() error { return w.medium.write(w, a.Location, a.Data) },
			func(err error) checkpoint.Message { return checkpoint.BlobWritten{Location: a.Location, Err: err} })
	case checkpoint.ReadBlobs:
		w.after(int64(w.rng.between(5, w.plan.controlDelay+5)), func() {
			data, err := w.medium.read(a.Locations)
			p.take(checkpoint.BlobsRead{Request: a.Request, Data: data, Err: err})
		})
	case checkpoint.DeleteBlobs:
		w.medium.remove(w, a.Locations)
	}
}

var errLocked = errors.New("locked")

// locked: two stores never write at the same time, since the one that lives has locked the medium.
func (p *storeProc) locked() bool { return p != p.w.store && p.w.store != nil }
