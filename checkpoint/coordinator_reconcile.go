package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// reported takes a worker's report, in any state.
func (c *Coordinator) reported(m WorkerReport, now time.Time) error {
	w := c.worker(m.Worker)
	if w == nil || m.Generation < w.generation || c.state == CoordinatorStarting {
		return nil
	}
	if m.Term > c.term {
		c.become(CoordinatorDeposed, fmt.Sprintf("worker %s knows term %d", m.Worker, m.Term))
		return nil
	}
	if m.Term != c.term {
		// It does not know this coordinator yet, or the report has been on its way for long.
		c.toWorker(w.id, Reconcile{Term: c.term})
		if m.Generation == w.generation {
			return nil
		}
	}
	if m.Generation > w.generation {
		hadOne := w.generation != 0
		w.generation, w.alive, w.report = m.Generation, true, nil
		if hadOne {
			c.reset(fmt.Sprintf("worker %s has been started again", w.id), now)
		}
	}
	w.alive, w.heard = true, now
	switch c.state {
	case CoordinatorReconciling:
		if m.Term != c.term || w.report != nil {
			return nil
		}
		w.report = &m
		for _, w := range c.workers {
			if w.report == nil {
				return nil
			}
		}
		return c.decide(now)
	case CoordinatorFailing:
		c.tryAttempt(now)
	case CoordinatorRunning:
		if m.Term == c.term {
			return c.heal(w, m, now)
		}
	case CoordinatorFinished:
		for _, a := range m.Actors {
			c.acknowledge(w.id, a.State, a.Attempt)
		}
		c.healFinished(w, m)
	}
	return nil
}

// healFinished tells a worker of actors that have all finished what it does not know: that the last checkpoint is saved, so that they can
// commit what they have prepared.
func (c *Coordinator) healFinished(w *workerView, m WorkerReport) {
	if len(c.list) == 0 || c.list[0].Txid != m.Txid || m.Txid != c.txid || m.Saved >= c.list[0].Epoch {
		return
	}
	last := c.list[0].Epoch
	for e := m.Started + 1; e <= min(last, m.Started+healAtOnce); e++ {
		// It has no actor in it any more.
		c.toWorker(w.id, StartCheckpoint{Term: c.term, Txid: c.txid, Epoch: e})
	}
	c.toWorker(w.id, CheckpointSaved{Term: c.term, Txid: c.txid, Epoch: last})
}

// decide ends RECONCILING. First everything but the states of the executions is rebuilt, then the states are
// applied as transitions; docs/protocol.md, S18, has the rules.
func (c *Coordinator) decide(now time.Time) error {
	failing := ""
	idle := true
	for _, w := range c.workers {
		switch {
		case w.report == nil:
			w.alive, idle = false, false
			failing = cmp.Or(failing, fmt.Sprintf("worker %s has not reported", w.id))
			continue
		case w.report.Phase != WorkerRunning:
			failing = cmp.Or(failing, fmt.Sprintf("worker %s is %s", w.id, w.report.Phase))
		case w.report.Txid != c.txid:
			failing = cmp.Or(failing, fmt.Sprintf("worker %s is in attempt %s, the newest is %s", w.id, w.report.Txid, c.txid))
		}
		idle = idle && w.report.Phase == WorkerIdle
	}
	switch {
	case idle:
		// Nothing has ever run: there is nothing to reconcile.
		c.newAttempt(now)
		return nil
	case failing != "":
		c.fail(failing, now)
		return nil
	}
	lost := c.earlyLost()
	ends := c.rebuildExecutions(lost)
	running := 0
	for _, x := range c.execs {
		if x.Last == 0 {
			running++
		}
	}
	actors := running
	for _, e := range ends {
		if c.execs[e.Actor].Last != 0 && e.State == ActorFinished {
			continue
		}
		running--
		if e.State != ActorFinished {
			c.do(ActorDied{Worker: e.Worker, Actor: e.Actor, Attempt: e.Attempt, Txid: e.Txid, Detail: e.Detail})
			failing = cmp.Or(failing, fmt.Sprintf("actor %d has %s: %s", e.Actor, e.State, e.Detail))
		}
	}
	if failing != "" {
		// Local failover does not help here: who decided on it may be gone as well.
		c.fail(failing, now)
		return nil
	}
	if running == 0 && actors > 0 && !c.unsavedInReports() {
		for _, e := range ends {
			c.acknowledge(e.Worker, e.State, e.Attempt)
		}
		c.become(CoordinatorFinished, "all actors have finished")
		return nil
	}
	c.resume(lost, now)
	for _, e := range ends {
		c.acknowledge(e.Worker, e.State, e.Attempt)
		if err := c.transition(e, now); err != nil {
			return err
		}
	}
	return nil
}

// unsavedInReports tells whether something that was handed over is in no recorded checkpoint.
func (c *Coordinator) unsavedInReports() bool {
	if c.recording != nil {
		return true
	}
	durable := c.durableFromList()
	for _, w := range c.workers {
		for _, a := range w.report.Actors {
			if slices.ContainsFunc(a.States, func(s StateRef) bool { return s.Epoch > durable }) {
				return true
			}
		}
	}
	return false
}

// earlyLost are the actors that were lost under the coordinator before, as far as this one was told.
func (c *Coordinator) earlyLost() map[ActorID]bool {
	c.early = slices.DeleteFunc(c.early, func(m Lost) bool {
		if m.Version != 0 && m.Version != c.txid {
			c.do(Yielded{Version: m.Version})
			return true
		}
		return false
	})
	lost := map[ActorID]bool{}
	for _, m := range c.early {
		for _, a := range m.Actors {
			lost[a] = true
		}
	}
	return lost
}

// rebuildExecutions makes the table of executions, all of them as if they were running, and lists the ends that are to
// be applied to it, in order of the actors. Those that are lost are not in it.
func (c *Coordinator) rebuildExecutions(lost map[ActorID]bool) (ends []UpdateActorState) {
	clear(c.execs)
	for _, w := range c.workers {
		for _, a := range w.report.Actors {
			if lost[a.Actor] {
				continue
			}
			if a.State.Terminal() {
				ends = append(ends, endOf(w.report, a))
			}
			a.State = ActorRunning
			c.execs[a.Actor] = &execView{ActorReport: a, worker: w.id}
		}
	}
	slices.SortFunc(ends, func(a, b UpdateActorState) int { return cmp.Compare(a.Actor, b.Actor) })
	return ends
}

func endOf(r *WorkerReport, a ActorReport) UpdateActorState {
	return UpdateActorState{
		Worker: r.Worker, Generation: r.Generation, Txid: r.Txid, Actor: a.Actor, Attempt: a.Attempt, State: a.State,
		Detail: a.Detail, Passed: a.Passed,
	}
}

// resume makes of the reports what the coordinator before knew of the epochs, and goes on from there without those that
// are lost.
func (c *Coordinator) resume(lost map[ActorID]bool, now time.Time) {
	st := coreState{durable: c.durableFromList(), holds: c.holds}
	byEpoch := map[Epoch]RoundReport{}
	for _, w := range c.workers {
		r := w.report
		st.injected = max(st.injected, r.Started)
		st.completed = max(st.completed, r.Completed)
		st.dirty = st.dirty || r.Dirty
		c.mutated = max(c.mutated, r.LastMutation)
		st.durable = max(st.durable, r.Saved)
		for _, b := range r.Rounds {
			// One worker may have heard that it is no checkpoint any more, another not.
			if old, ok := byEpoch[b.Epoch]; !ok || b.Kind < old.Kind {
				byEpoch[b.Epoch] = b
			}
		}
	}
	c.noCheckpointAnyMore(byEpoch)
	if r := c.recording; r != nil && r.Checkpoint.Epoch <= st.durable {
		// A worker has been told that it is saved.
		c.list = slices.Insert(c.list, 0, r.Checkpoint)
		c.recording = nil
	}
	if c.recording != nil {
		st.recording = c.recording.Checkpoint.Epoch
	}
	c.parent = st.durable
	c.withoutLost(byEpoch, lost, st.recording)
	if st.recording > st.durable {
		// A worker that has forgotten a lost actor since takes it for none.
		b := byEpoch[st.recording]
		b.Epoch, b.Kind = st.recording, max(b.Kind, KindCheckpoint)
		byEpoch[st.recording] = b
	}
	st.completed = max(st.completed, st.durable)
	st.injected = max(st.injected, st.completed)
	c.accepted = c.mutated
	c.addUnknown(byEpoch)

	epochs := c.epochsOf(byEpoch, st.durable)
	c.rounds = nil
	last := c.mutated
	for i := len(epochs) - 1; i >= 0; i-- {
		b := byEpoch[epochs[i]]
		c.rounds = append(c.rounds, coordRound{
			start: StartCheckpoint{
				Term: c.term, Txid: c.txid, Epoch: b.Epoch, Kind: b.Kind, MutationID: b.MutationID, Mutation: b.Mutation, Add: b.Add, Remove: b.Remove,
			},
			since: now, graph: c.graphAt(b.Epoch), lastMutation: last,
		})
		if b.MutationID > 0 {
			last = b.MutationID - 1
		}
	}
	slices.Reverse(c.rounds)
	for _, e := range epochs {
		st.rounds = append(st.rounds, c.roundState(byEpoch[e]))
	}
	c.graph = c.graphAt(st.injected)
	for _, p := range c.graph {
		st.actors = append(st.actors, p.Actor)
	}

	c.become(CoordinatorRunning, "reconciled")
	for _, w := range c.workers {
		w.heard = now
		for _, r := range c.rounds {
			if r.start.Epoch > w.report.Started {
				c.toWorker(w.id, r.start)
			}
		}
		if w.report.Saved < st.durable {
			c.toWorker(w.id, CheckpointSaved{Term: c.term, Txid: c.txid, Epoch: st.durable})
		}
	}
	core, actions := resumeCore(c.cfg.Config, st, now)
	c.core = core
	c.watchAt = now.Add(c.cfg.StuckAfter)
	if c.recording != nil {
		c.resendAt = now.Add(c.cfg.Resend)
	}
	for _, m := range c.early {
		for _, a := range m.Actors {
			core.lost[a] = true
		}
		c.do(Gone{Actors: m.Actors, Completed: st.completed, Saved: max(st.durable, st.recording)})
	}
	c.carryOut(actions, now)
	for _, m := range c.early {
		c.forget(m.Actors)
	}
	c.early = nil
	for _, w := range c.workers {
		if w.report.Completed < c.core.completed {
			c.toWorker(w.id, EpochCompleted{Term: c.term, Txid: c.txid, Epoch: c.core.completed})
		}
	}
	c.pruneRounds()
	for _, w := range c.workers {
		w.report = nil
	}
}

// noCheckpointAnyMore makes plain epochs of the rounds that a worker was told to start as checkpoints and does not list,
// though it has not heard that they are saved: for it they are over, and what it handed over for them may be gone.
func (c *Coordinator) noCheckpointAnyMore(byEpoch map[Epoch]RoundReport) {
	for e, b := range byEpoch {
		for _, w := range c.workers {
			r := w.report
			listed := slices.ContainsFunc(r.Rounds, func(x RoundReport) bool { return x.Epoch == e })
			if r.Started >= e && r.Saved < e && !listed {
				b.Kind = KindEpoch
				byEpoch[e] = b
			}
		}
	}
}

// withoutLost takes lost actors out of the rounds, and makes plain epochs of all checkpoints behind recording: which of
// them the actors were to be in cannot be told from the reports of workers that have forgotten them, and what is recorded
// without them does not fit what was started in their place from an older checkpoint.
func (c *Coordinator) withoutLost(byEpoch map[Epoch]RoundReport, lost map[ActorID]bool, recording Epoch) {
	if len(lost) == 0 {
		return
	}
	for e, b := range byEpoch {
		b.Add = slices.DeleteFunc(slices.Clone(b.Add), func(p Placement) bool { return lost[p.Actor] })
		if e > recording {
			b.Kind = KindEpoch
		}
		byEpoch[e] = b
	}
}

// durableFromList is the newest checkpoint that belongs to the running graph.
func (c *Coordinator) durableFromList() Epoch {
	for _, i := range c.list {
		if i.Txid == c.txid {
			return i.Epoch
		}
	}
	for _, w := range c.workers {
		// Nothing was saved since the restore.
		return w.report.Checkpoint
	}
	return 0
}

// addUnknown adds the executions of mutations that the workers they are for have not heard of.
func (c *Coordinator) addUnknown(byEpoch map[Epoch]RoundReport) {
	for e, b := range byEpoch {
		for _, p := range b.Add {
			w := c.worker(p.Worker)
			if c.execs[p.Actor] == nil && w != nil && w.report.Started < e {
				c.execs[p.Actor] = &execView{
					ActorReport: ActorReport{Actor: p.Actor, State: ActorRunning, Source: p.Source, First: e, Passed: e - 1}, worker: p.Worker,
				}
			}
		}
	}
	for e, b := range byEpoch {
		for _, a := range b.Remove {
			if x := c.execs[a]; x != nil {
				x.Last = e
			}
		}
	}
}

// epochsOf lists the rounds after durable that have to be looked at, oldest first. States that were handed over
// at a barrier that is over and is no checkpoint any more get a round of their own.
func (c *Coordinator) epochsOf(byEpoch map[Epoch]RoundReport, durable Epoch) []Epoch {
	for _, x := range c.execs {
		for _, s := range x.States {
			if _, ok := byEpoch[s.Epoch]; !ok {
				byEpoch[s.Epoch] = RoundReport{Epoch: s.Epoch}
			}
		}
	}
	var epochs []Epoch
	for e := range byEpoch {
		if e > durable {
			epochs = append(epochs, e)
		}
	}
	slices.Sort(epochs)
	return epochs
}

// graphAt are the actors that go on behind the barrier of e.
func (c *Coordinator) graphAt(e Epoch) []Placement {
	var g []Placement
	for _, x := range c.execs {
		if x.First <= e && (x.Last == 0 || x.Last > e) {
			g = append(g, Placement{Actor: x.Actor, Worker: x.worker, Source: x.Source})
		}
	}
	sortPlacements(g)
	return g
}

func (c *Coordinator) roundState(b RoundReport) roundState {
	r := roundState{epoch: b.Epoch, kind: b.Kind}
	for _, x := range c.execs {
		if x.First > b.Epoch || x.Last != 0 && x.Last < b.Epoch {
			continue
		}
		if x.Passed < b.Epoch {
			r.missing = append(r.missing, x.Actor)
			continue
		}
		r.passed = append(r.passed, x.Actor)
		for _, s := range x.States {
			if s.Epoch == b.Epoch {
				r.states = append(r.states, handed{x.Actor, s.Epoch, s.orPending()})
			}
		}
	}
	slices.Sort(r.passed)
	slices.Sort(r.missing)
	slices.SortFunc(r.states, func(a, b handed) int { return cmp.Compare(a.actor, b.actor) })
	return r
}

// orPending is the state, nil if it is still on its way to the store.
func (s StateRef) orPending() any {
	if s.Inline == nil && s.Location == "" && s.Native == nil {
		return nil
	}
	return s
}

// healAtOnce bounds the barriers that are sent again for one report; the next report gets the rest.
const healAtOnce = 64

// heal takes a report while RUNNING: each part of it stands for the message that may have been lost, and what
// the worker does not know yet is sent again.
func (c *Coordinator) heal(w *workerView, m WorkerReport, now time.Time) error {
	if m.Txid != c.txid {
		// Told before it had heard of the attempt; it has answered that one since.
		return nil
	}
	switch m.Phase {
	case WorkerRunning:
	case WorkerRestored:
		c.toWorker(w.id, StartProcessing{Term: c.term, Txid: c.txid, Checkpoint: c.target.Epoch})
		return nil
	default:
		return nil
	}
	if m.Dirty && m.Started == c.core.injected {
		if err := c.epochs(InputArrived{}, now); err != nil {
			return err
		}
	}
	var unknown []ActorID
	for _, a := range m.Actors {
		if c.execs[a.Actor] == nil && a.State != ActorFinished && a.First <= c.core.injected {
			unknown = append(unknown, a.Actor)
			continue
		}
		if err := c.healActor(w, m, a, now); err != nil || c.state != CoordinatorRunning {
			return err
		}
	}
	if len(unknown) > 0 {
		c.toWorker(w.id, ForgetActors{Term: c.term, Txid: c.txid, Actors: unknown})
	}
	c.hasForgotten(m)
	// A report that has been on its way for long asks for much that is known by now.
	for e := m.Started + 1; e <= min(c.core.injected, m.Started+healAtOnce); e++ {
		i := slices.IndexFunc(c.rounds, func(r coordRound) bool { return r.start.Epoch == e })
		if i >= 0 {
			c.toWorker(w.id, c.rounds[i].start)
			continue
		}
		// It completed without this worker, which has no actor in it.
		c.toWorker(w.id, StartCheckpoint{Term: c.term, Txid: c.txid, Epoch: e})
	}
	if m.Completed < c.core.completed {
		c.toWorker(w.id, EpochCompleted{Term: c.term, Txid: c.txid, Epoch: c.core.completed})
	}
	if m.Saved < c.core.durable {
		c.toWorker(w.id, CheckpointSaved{Term: c.term, Txid: c.txid, Epoch: c.core.durable})
	}
	return nil
}

func (c *Coordinator) healActor(w *workerView, m WorkerReport, a ActorReport, now time.Time) error {
	x := c.execs[a.Actor]
	switch {
	case x == nil && a.State == ActorFinished:
		c.acknowledge(w.id, a.State, a.Attempt)
	case x != nil:
		x.Attempt, x.Number, x.Start, x.Passed, x.Inputs, x.Outputs = a.Attempt, a.Number, a.Start, a.Passed, a.Inputs, a.Outputs
	}
	for _, e := range c.core.awaited(a.Actor, a.Passed) {
		var state *StateRef
		pending := false
		for i := range a.States {
			if a.States[i].Epoch == e {
				state, pending = &a.States[i], a.States[i].orPending() == nil
			}
		}
		if pending {
			state = nil
		}
		if err := c.passed(a.Actor, e, state, pending, now); err != nil {
			return err
		}
	}
	for i := range a.States {
		if s := a.States[i]; s.orPending() != nil && c.core.awaitsState(a.Actor, s.Epoch) {
			if err := c.passed(a.Actor, s.Epoch, &s, false, now); err != nil {
				return err
			}
		}
	}
	if x != nil && a.State.Terminal() {
		c.acknowledge(w.id, a.State, a.Attempt)
		return c.transition(endOf(&m, a), now)
	}
	return nil
}
