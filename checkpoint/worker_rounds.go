package checkpoint

import (
	"fmt"
	"slices"
	"time"
)

// startCheckpoint starts a barrier. One that was started already is passed over; one that leaves a gap is
// too, and the report makes the coordinator send what is missing.
func (w *Worker) startCheckpoint(m StartCheckpoint, now time.Time) error {
	if !w.current(m.Term, m.Txid) {
		return nil
	}
	if m.Epoch <= w.started {
		if m.Kind == KindEpoch {
			w.noCheckpoint(m.Epoch)
		}
		return nil
	}
	if m.Epoch != w.started+1 {
		w.report()
		return nil
	}
	w.started = m.Epoch
	if slices.ContainsFunc(w.over, func(a CheckpointAborted) bool { return a.Epoch == m.Epoch && a.Term == m.Term }) {
		m.Kind = KindEpoch
	}
	w.over = slices.DeleteFunc(w.over, func(a CheckpointAborted) bool { return a.Epoch <= m.Epoch || a.Term < m.Term })
	if m.Kind != KindEpoch {
		// Input that only a plain barrier is behind must still be said if it has not been heard: a checkpoint has to follow.
		w.dirty = false
	}
	w.lastMutation = max(w.lastMutation, m.MutationID)
	w.rounds = append(w.rounds, RoundReport{
		Epoch: m.Epoch, Kind: m.Kind, MutationID: m.MutationID, Mutation: m.Mutation, Add: m.Add, Remove: m.Remove,
	})
	for _, p := range m.Add {
		if p.Worker != w.cfg.Worker || w.byID[p.Actor] != nil {
			continue
		}
		x := w.create(p.Actor, p.Source, m.Epoch)
		x.Passed = m.Epoch - 1
		w.toActor(x.Actor, RestoreInstanceState{
			Actor: x.Actor, Attempt: x.Attempt, Number: x.Number, Txid: w.txid,
		})
		w.begin(x, now)
	}
	// Those for which it is the last barrier still get it.
	w.toActor(0, InitiateCheckpoint{Actors: w.sourceActors(), Epoch: m.Epoch, Kind: m.Kind, Mutation: m.Mutation})
	for _, a := range m.Remove {
		if x := w.byID[a]; x != nil {
			x.Last = m.Epoch
			w.sources = nil
		}
	}
	early, ends := w.early, w.ends
	w.early, w.ends = nil, nil
	for _, m := range early {
		if err := w.storeState(m, now); err != nil {
			return err
		}
	}
	for _, m := range ends {
		if err := w.ended(m, now); err != nil {
			return err
		}
	}
	return nil
}

// sourceActors lists the sources that take part in the next barrier. The slice is not changed later.
func (w *Worker) sourceActors() []ActorID {
	if w.sources != nil {
		return w.sources
	}
	w.sources = []ActorID{}
	for _, x := range w.actors {
		if x.Source && !x.State.Terminal() && !x.forgotten && (x.Last == 0 || x.Last > w.started) {
			w.sources = append(w.sources, x.Actor)
		}
	}
	return w.sources
}

// execution finds an execution; attempt 0 is the present one of the actor.
func (w *Worker) execution(a ActorID, attempt AttemptID) *execution {
	x := w.byID[a]
	if x == nil || attempt != 0 && x.Attempt != attempt {
		return nil
	}
	return x
}

// storeState notes that an actor has passed a barrier, and passes on what it hands over.
func (w *Worker) storeState(m StoreInstanceState, now time.Time) error {
	x := w.execution(m.Actor, m.Attempt)
	if x == nil || x.forgotten || x.State.Terminal() || w.phase != WorkerRunning {
		// It belongs to an execution that is being stopped.
		return nil
	}
	if m.Epoch > w.started {
		w.early = append(w.early, m)
		return nil
	}
	if m.Epoch != x.Passed+1 {
		return fmt.Errorf("checkpoint: actor %d passed barrier %d after %d", m.Actor, m.Epoch, x.Passed)
	}
	if x.Last != 0 && m.Epoch > x.Last {
		return fmt.Errorf("checkpoint: actor %d passed barrier %d, its last was %d", m.Actor, m.Epoch, x.Last)
	}
	x.Passed = m.Epoch
	if m.Inputs != nil || m.Outputs != nil {
		x.Inputs, x.Outputs = m.Inputs, m.Outputs
	}
	pending := false
	if m.State != nil {
		s := *m.State
		s.Actor, s.Epoch = m.Actor, m.Epoch
		x.States = append(x.States, s)
		if s.Native == nil && s.Location == "" && len(s.Inline) > w.cfg.InlineLimit {
			pending = true
			x.saving = append(x.saving, m.Epoch)
			w.unanswered++
			w.save(x, m.Epoch, now)
		}
		w.stored(x, m.Epoch, &x.States[len(x.States)-1], pending)
		return nil
	}
	w.stored(x, m.Epoch, nil, false)
	return nil
}

func (w *Worker) stored(x *execution, e Epoch, s *StateRef, pending bool) {
	m := InstanceStateStored{
		Worker: w.cfg.Worker, Generation: w.generation, Txid: w.txid, Actor: x.Actor, Attempt: x.Attempt, Epoch: e, Pending: pending,
	}
	if s != nil && !pending {
		c := *s
		m.State = &c
	}
	w.toCoordinator(m)
}

func (x *execution) state(e Epoch) *StateRef {
	for i := range x.States {
		if x.States[i].Epoch == e {
			return &x.States[i]
		}
	}
	return nil
}

func (w *Worker) save(x *execution, e Epoch, now time.Time) {
	w.again(now)
	if s := x.state(e); s != nil {
		w.toStore(SaveInstanceState{Worker: w.cfg.Worker, Generation: w.generation, Txid: w.txid, State: *s})
	}
}

func (w *Worker) stateSaved(m SaveInstanceStateResponse) {
	x := w.byID[m.Actor]
	if m.Worker != w.cfg.Worker || m.Txid != w.txid || x == nil {
		return
	}
	i := slices.Index(x.saving, m.Epoch)
	if i < 0 {
		return
	}
	switch m.Status {
	case StatusOK:
		x.saving = slices.Delete(x.saving, i, i+1)
		w.unanswered--
		s := x.state(m.Epoch)
		s.Location, s.Inline = m.Location, nil
		w.stored(x, m.Epoch, s, false)
	case StatusFenced:
		w.fence()
	}
	// Any other failure: it is tried again.
}

// fence ends this life: the store knows a later one.
func (w *Worker) fence() {
	w.fenced = true
	for _, x := range w.actors {
		if !x.State.Terminal() && !x.stopping {
			w.toActor(x.Actor, StopInstance{Actor: x.Actor, Attempt: x.Attempt})
		}
	}
}

// prune forgets rounds that no coordinator will ask for.
func (w *Worker) prune() {
	if len(w.rounds) == 0 || w.rounds[0].Epoch > w.completed {
		return
	}
	w.rounds = slices.DeleteFunc(w.rounds, func(r RoundReport) bool {
		return r.Epoch <= w.completed && (r.Kind == KindEpoch || r.Epoch <= w.saved)
	})
}

func (w *Worker) checkpointSaved(m CheckpointSaved) {
	if !w.current(m.Term, m.Txid) || m.Epoch <= w.saved || m.Epoch > w.started {
		return
	}
	w.saved = m.Epoch
	w.completed = max(w.completed, m.Epoch)
	w.prune()
	var actors []ActorID
	for _, x := range slices.Clone(w.actors) {
		if x.forgotten {
			continue
		}
		x.States = slices.DeleteFunc(x.States, func(s StateRef) bool { return s.Epoch <= m.Epoch })
		n := len(x.saving)
		x.saving = slices.DeleteFunc(x.saving, func(e Epoch) bool { return e <= m.Epoch })
		w.unanswered -= n - len(x.saving)
		if x.State == ActorRunning || x.State == ActorFinished {
			// One that has finished may have prepared something at its last barrier.
			actors = append(actors, x.Actor)
		}
		w.removeIfDone(x)
	}
	w.toActor(0, InstanceCheckpointSaved{Actors: actors, Epoch: m.Epoch})
}

func (w *Worker) aborted(m CheckpointAborted) {
	if !w.current(m.Term, m.Txid) {
		return
	}
	if m.Epoch > w.started && !slices.Contains(w.over, m) {
		w.over = append(w.over, m)
	}
	w.noCheckpoint(m.Epoch)
}

// noCheckpoint makes a plain epoch of a round: if its report still called it a checkpoint, a coordinator that takes
// over would record it, without the actors for whose sake it was given up.
func (w *Worker) noCheckpoint(e Epoch) {
	for i := range w.rounds {
		if w.rounds[i].Epoch == e {
			w.rounds[i].Kind = KindEpoch
		}
	}
	w.prune()
}

// ended notes the end of an execution, and tells the coordinator until it is acknowledged.
func (w *Worker) ended(m InstanceEnded, now time.Time) error {
	x := w.execution(m.Actor, m.Attempt)
	if x == nil || x.State.Terminal() {
		return nil
	}
	if !m.State.Terminal() {
		return fmt.Errorf("checkpoint: actor %d ended in state %s", m.Actor, m.State)
	}
	if m.State == ActorFinished && slices.ContainsFunc(w.early, func(s StoreInstanceState) bool { return s.Actor == m.Actor }) {
		w.ends = append(w.ends, m)
		return nil
	}
	x.State, x.Detail = m.State, m.Detail
	w.sources = nil
	switch {
	case x.forgotten && w.phase == WorkerRestoring && x.txid != w.txid:
		w.recreate(now)
	case x.forgotten:
		w.remove(x)
	case w.phase == WorkerRestoring || w.phase == WorkerRestored:
		w.unanswered++
		w.sendEnd(x, now)
		if w.phase == WorkerRestoring {
			w.giveUp(StatusFailed, fmt.Sprintf("actor %d ended: %s", x.Actor, x.Detail))
		}
	default:
		w.unanswered++
		w.sendEnd(x, now)
	}
	return nil
}

func (w *Worker) sendEnd(x *execution, now time.Time) {
	w.again(now)
	w.toCoordinator(UpdateActorState{
		Worker: w.cfg.Worker, Generation: w.generation, Txid: x.txid, Actor: x.Actor, Attempt: x.Attempt, State: x.State, Detail: x.Detail,
		Passed: x.Passed,
	})
}

func (w *Worker) acknowledged(m AckActorState) {
	if !w.newer(m.Term) {
		return
	}
	for _, a := range m.Attempts {
		i := slices.IndexFunc(w.actors, func(x *execution) bool { return x.Attempt == a })
		if i < 0 || !w.actors[i].State.Terminal() || w.actors[i].forgotten || w.actors[i].acked {
			continue
		}
		x := w.actors[i]
		x.acked = true
		w.unanswered--
		w.removeIfDone(x)
	}
}

// removeIfDone forgets an execution that has left the graph and of which nobody needs anything any more: what it handed over
// last may have to be told to another coordinator until it is saved. One that has finished and is of the graph is reported until the
// next attempt: that all have finished can only be known from all.
func (w *Worker) removeIfDone(x *execution) {
	if x.acked && len(x.States) == 0 && x.Last != 0 {
		w.remove(x)
	}
}

func (w *Worker) remove(x *execution) {
	i := slices.Index(w.actors, x)
	w.actors = slices.Delete(w.actors, i, i+1)
	delete(w.byID, x.Actor)
	// It has left the graph for good; a restore counts from 1 again if it brings the actor back.
	delete(w.numbers, x.Actor)
	w.sources = nil
}

// forget takes actors out of the graph at once.
func (w *Worker) forget(actors []ActorID) {
	for _, a := range actors {
		x := w.byID[a]
		if x == nil || x.forgotten || x.txid != w.txid {
			continue
		}
		w.drop(x)
		w.sources = nil
		for i := range w.rounds {
			// Its state is gone: if this coordinator dies, the next one cannot record that checkpoint, and the message
			// that it is aborted may come later than this one.
			if r := &w.rounds[i]; x.First <= r.Epoch && (x.Last == 0 || r.Epoch <= x.Last) {
				r.Kind = KindEpoch
			}
		}
		w.prune()
		if x.State.Terminal() {
			w.remove(x)
			continue
		}
		if !x.stopping {
			x.stopping = true
			w.toActor(a, StopInstance{Actor: a, Attempt: x.Attempt})
		}
	}
}

// report tells the coordinator everything.
func (w *Worker) report() {
	w.toCoordinator(w.Report())
}

// Report is what the worker would tell a coordinator now.
func (w *Worker) Report() WorkerReport {
	r := WorkerReport{
		Term: w.term, Worker: w.cfg.Worker, Generation: w.generation, Phase: w.phase, Txid: w.txid, Checkpoint: w.restored,
		Started: w.started, Completed: w.completed, Saved: w.saved, LastMutation: w.lastMutation, Dirty: w.dirty,
		Rounds: slices.Clone(w.rounds),
	}
	for _, x := range w.actors {
		if x.forgotten {
			continue
		}
		a := x.ActorReport
		a.States = nil
		for _, s := range x.States {
			if slices.Contains(x.saving, s.Epoch) {
				// On its way to the store.
				s.Inline = nil
			}
			a.States = append(a.States, s)
		}
		r.Actors = append(r.Actors, a)
	}
	return r
}
