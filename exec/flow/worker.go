package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/storage"
)

// localWorker is the name of the only worker of a process.
const localWorker checkpoint.WorkerID = "local"

// CheckpointSaved is implemented by operators that have something to do when a checkpoint is globally consistent and
// durable: a sink commits what it has prepared up to it. It is called by the actor's goroutine, between two other
// calls, with growing epochs, and perhaps not for each of them: the last one holds for all before. It is not called
// for the checkpoint that the operator was restored from; that one is saved.
type CheckpointSaved interface {
	CheckpointSaved(epoch storage.Epoch) error
}

// worker is the part of a runtime that plays the worker's role (docs/protocol.md): the coordinator's messages reach the
// runtime through it, and what actors report goes through it to the coordinator. What it remembers is what a new
// coordinator finds out when the one before has died: neither actors nor writers notice that.
type worker struct {
	rt *Runtime
	// registered is closed when the store has given a generation.
	registered chan struct{}
	// mu guards m: actors report at the same time. It is nil before the start.
	mu sync.Mutex
	m  *checkpoint.Worker
}

func newWorker(rt *Runtime) *worker { return &worker{rt: rt, registered: make(chan struct{})} }

// work is what the worker's machine wants done that must not be done under its lock.
type work struct {
	initiate *checkpoint.InitiateCheckpoint
	saved    *checkpoint.InstanceCheckpointSaved
}

// start asks the store for a generation.
func (w *worker) start(d *checkpoint.Driver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.rt.cfg.Clock.Now()
	w.m = checkpoint.NewWorker(checkpoint.WorkerConfig{Worker: localWorker, Incarnation: d.Incarnation()})
	w.perform(w.m.Start(now), now, nil)
}

func (w *worker) generation() checkpoint.Generation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.m.Generation()
}

// Deliver implements checkpoint.Host.
func (w *worker) Deliver(m checkpoint.Message) {
	var do work
	w.mu.Lock()
	before := w.m.Generation()
	w.step(m, w.rt.cfg.Clock.Now(), &do)
	if before == 0 && w.m.Generation() != 0 {
		close(w.registered)
	}
	w.mu.Unlock()
	if i := do.initiate; i != nil {
		w.rt.cfg.History.begin(storage.Epoch(i.Epoch), i.Kind, w.rt.cfg.Clock.Now())
		w.rt.initiate(i.Epoch, i.Kind != checkpoint.KindEpoch, i.Mutation)
	}
	if s := do.saved; s != nil {
		w.rt.checkpointSaved(s.Actors, storage.Epoch(s.Epoch))
	}
}

// passed tells the coordinator that an actor has passed a barrier, and gives it the dirty state at a checkpoint.
func (w *worker) passed(m checkpoint.StoreInstanceState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step(m, time.Time{}, nil)
}

// ended tells the coordinator that an actor has passed its last barrier and is done. An actor that fails is not the
// coordinator's affair: the runtime ends as a whole, or the actor is lost with its region.
func (w *worker) ended(a ActorID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step(checkpoint.InstanceEnded{Actor: a, State: checkpoint.ActorFinished}, time.Time{}, nil)
}

// step lets the machine take a message and passes on what it sends. Nothing is lost within a process, so its timers are of
// no use.
func (w *worker) step(m checkpoint.Message, now time.Time, do *work) {
	actions, err := w.m.Step(m, now)
	if err != nil {
		w.rt.fail(nil, err)
		return
	}
	w.perform(actions, now, do)
}

func (w *worker) perform(actions []checkpoint.Action, now time.Time, do *work) {
	var stopped []checkpoint.StopInstance
	for _, a := range actions {
		s, ok := a.(checkpoint.Send)
		if !ok {
			continue
		}
		switch m := s.Message.(type) {
		case checkpoint.InitiateCheckpoint:
			do.initiate = &m
		case checkpoint.InstanceCheckpointSaved:
			do.saved = &m
		case checkpoint.StopInstance:
			stopped = append(stopped, m)
		case checkpoint.RestoreInstanceState, checkpoint.StartInstanceProcessing:
			// Actors come with the mutation, and read their state from the store when they need it.
		case checkpoint.WorkerReport:
			// Whether the open epoch has input the coordinator before knew, perhaps.
			m.Dirty = true
			w.rt.driver().Send(m)
		default:
			w.rt.driver().Send(m)
		}
	}
	for _, s := range stopped {
		// It has left the graph. That its goroutine ends, and when, is the business of who took it out.
		w.step(checkpoint.InstanceEnded{Actor: s.Actor, Attempt: s.Attempt, State: checkpoint.ActorCanceled}, now, do)
	}
}

// Reported is what the worker tells a new coordinator: the actors, what they have passed and handed over.
func (r *Runtime) Reported() checkpoint.WorkerReport {
	r.worker.mu.Lock()
	defer r.worker.mu.Unlock()
	return r.worker.m.Report()
}

// KillCoordinator lets the coordinator die after so many steps from now, at least 1, in the middle of whatever it is
// doing then. Another one takes over; actors, readers and writers go on. It is for tests.
func (r *Runtime) KillCoordinator(after int) { r.driver().Kill(after) }

// barrierPace lets barriers go on while some job takes long: after a minute some 350 are in flight, and the next read that needs one waits
// 350 ms for it.
const barrierPace = time.Millisecond

// coordinatorConfig is that of the runtime's coordinators.
func (r *Runtime) coordinatorConfig() checkpoint.CoordinatorConfig {
	epochs := r.cfg.Checkpoint
	if epochs.Pace == 0 {
		epochs.Pace = barrierPace
	}
	return checkpoint.CoordinatorConfig{
		Config: epochs, Workers: []checkpoint.WorkerID{localWorker},
		// The list has what can be restored within this process; what storage retains besides is taken when it is opened.
		Keep: 1, StuckAfter: r.cfg.StuckAfter,
		// Who is told of a failing actor is the runtime, which decides what follows.
		LocalFailover: true,
	}
}

// coordinatorEvents adds to the owner's events what the runtime has to do and to log.
func (r *Runtime) coordinatorEvents(ev checkpoint.Events) checkpoint.Events {
	completed := ev.Completed
	ev.Completed = func(e checkpoint.Epoch) {
		r.cfg.Store.SetCompleted(storage.Epoch(e))
		r.arrived(storage.Epoch(e))
		r.cfg.History.completed(storage.Epoch(e), r.AlignmentStats)
		if completed != nil {
			completed(e)
		}
	}
	durable, failed := ev.Durable, ev.CommitFailed
	ev.Durable = func(e checkpoint.Epoch) {
		r.cfg.History.saved(storage.Epoch(e), r.cfg.Clock.Now())
		if durable != nil {
			durable(e)
		}
	}
	ev.CommitFailed = func(e checkpoint.Epoch, err error) {
		r.cfg.History.failed(storage.Epoch(e), err, r.cfg.Clock.Now())
		if failed != nil {
			failed(e, err)
		}
	}
	ev.Gone, ev.Held = r.gone, r.held
	ev.Violation = func(err error) { r.fail(nil, err) }
	state, died, stuck, aborted := ev.State, ev.Died, ev.Stuck, ev.Aborted
	ev.State = func(s checkpoint.StateChanged) {
		r.cfg.Logger.Debug("coordinator state", "event", "coordinator_state", "from", s.From.String(), "to", s.To.String(), "attempt", s.Txid.String(), "reason", s.Reason)
		if state != nil {
			state(s)
		}
	}
	ev.Died = func(cause any) {
		r.coordinators.Add(1)
		r.cfg.Logger.Warn("coordinator died, another one takes over", "event", "coordinator_died", "cause", fmt.Sprint(cause))
		if died != nil {
			died(cause)
		}
	}
	ev.Stuck = func(s checkpoint.Stuck) {
		r.cfg.Logger.Warn("barrier stuck", "epoch", uint64(s.Epoch), "since", s.Since, "waiting", strings.Join(r.actorNames(s.Waiting), ", "), "event", "barrier_stuck")
		if stuck != nil {
			stuck(s)
		}
	}
	ev.Aborted = func(a checkpoint.Aborted) {
		r.cfg.Logger.Info("checkpoint aborted", "event", "checkpoint_aborted", "epoch", uint64(a.Epoch), "reason", a.Reason, "waiting", strings.Join(r.actorNames(a.Waiting), ", "))
		r.cfg.History.aborted(storage.Epoch(a.Epoch), a.Reason, r.cfg.Clock.Now())
		if aborted != nil {
			aborted(a)
		}
	}
	return ev
}

// actorNames names actors for people, in order of their ids.
func (r *Runtime) actorNames(ids []ActorID) []string {
	r.inject.Lock()
	defer r.inject.Unlock()
	var names []string
	for _, id := range slices.Sorted(slices.Values(ids)) {
		name := fmt.Sprintf("actor %d", id)
		if a := r.live[id]; a != nil {
			name = fmt.Sprintf("%s fragment %d actor %d", a.job.job.Name, a.frag.ID, id)
		}
		names = append(names, name)
	}
	return names
}

// mutateMessage asks the coordinator for the barrier of a mutation.
func mutateMessage(m *Mutation, ckpt bool) checkpoint.Mutate {
	msg := checkpoint.Mutate{Mutation: m, Checkpoint: ckpt}
	for _, a := range m.start {
		msg.Add = append(msg.Add, a.id)
		if len(a.frag.Inputs) == 0 {
			msg.Place = append(msg.Place, checkpoint.Placement{Actor: a.id, Worker: localWorker, Source: true})
		}
	}
	for id := range m.remove {
		msg.Remove = append(msg.Remove, id)
	}
	slices.Sort(msg.Remove)
	return msg
}

// checkpointSaved tells the actors that want to know.
func (r *Runtime) checkpointSaved(ids []ActorID, e storage.Epoch) {
	r.inject.Lock()
	defer r.inject.Unlock()
	for _, id := range ids {
		if a := r.live[id]; a != nil && a.commits.Load() {
			// A closed inbox means that the actor is stopping.
			_ = a.in.put(message{saved: e})
		}
	}
}

// saved tells the operators of an actor that a checkpoint is durable.
func (a *actor) saved(e storage.Epoch) error {
	for _, op := range a.chain.ops {
		if s, ok := op.(CheckpointSaved); ok {
			if err := s.CheckpointSaved(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// report tells the worker that the barrier has been passed, with the dirty state at a checkpoint. The state of an actor
// that ends here is of no use to anybody, unless the mutation says so.
func (a *actor) report(b exec.Barrier) {
	keep := true
	if m, _ := b.Mutation.(*Mutation); m != nil && m.removes(a.id) {
		a.last, keep = true, m.save.Keep
	}
	m := checkpoint.StoreInstanceState{Actor: a.id, Epoch: checkpoint.Epoch(b.Epoch)}
	if b.Checkpoint {
		var ds []*storage.Delta
		for _, t := range a.tables {
			if d := t.Seal(); d != nil && keep {
				ds = append(ds, d)
				a.rt.pressure.sealed.Add(deltaBytes(d))
			}
		}
		if len(ds) > 0 {
			m.State = &checkpoint.StateRef{Native: ds}
		}
		m.Inputs, m.Outputs = a.positions()
	}
	a.rt.aligned.add(b.Epoch, a.id, a.gate.ch.Stats())
	if b.Checkpoint {
		a.rt.cfg.History.passed(b.Epoch, a.name())
	}
	a.passed.Store(uint64(b.Epoch))
	a.rt.frontiers.passed(a, b.Epoch)
	a.rt.worker.passed(m)
}

// positions says how far the actor's channels have been read and written.
func (a *actor) positions() (in, out []checkpoint.ChannelPosition) {
	at := func(peer ActorID, p channel.Position) checkpoint.ChannelPosition {
		return checkpoint.ChannelPosition{
			Peer: peer, Generation: checkpoint.Generation(p.Generation), Epoch: checkpoint.Epoch(p.Version), Seq: uint64(p.Seq),
		}
	}
	switch {
	case a.loop != nil:
		for slot, p := range a.loop.at {
			in = append(in, at(a.in.producers[slot], p))
		}
	case len(a.frag.Inputs) > 0:
		for slot, p := range a.gate.ch.State() {
			in = append(in, at(a.in.producers[slot], p))
		}
	}
	for _, e := range a.disp.edges {
		for i := range e.targets {
			out = append(out, at(e.targets[i].to, e.targets[i].stamp.Position()))
		}
	}
	return in, out
}

// deltasOf are the deltas that actors handed over, in the order of the states.
func deltasOf(states []checkpoint.StateRef) ([]*storage.Delta, error) {
	var out []*storage.Delta
	for _, s := range states {
		ds, ok := s.Native.([]*storage.Delta)
		if !ok {
			return nil, errors.New("flow: a checkpoint has a state that no actor of this process handed over")
		}
		out = append(out, ds...)
	}
	return out, nil
}
