package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

func sortPlacements(ps []Placement) {
	slices.SortFunc(ps, func(a, b Placement) int { return cmp.Compare(a.Actor, b.Actor) })
}

// epochs lets Core take a message, and turns what it wants into messages.
func (c *Coordinator) epochs(m Message, now time.Time) error {
	as, err := c.core.Step(m, now)
	if err != nil {
		return err
	}
	c.carryOut(as, now)
	return nil
}

func (c *Coordinator) carryOut(as []Action, now time.Time) {
	for _, a := range as {
		switch a := a.(type) {
		case Inject:
			c.inject(a, now)
		case Complete:
			// Readers first: they wait.
			c.do(a)
			c.broadcast(EpochCompleted{Term: c.term, Txid: c.txid, Epoch: a.Epoch})
			c.pruneRounds()
		case Commit:
			c.record(a, now)
		case Durable:
			c.failures = 0
			c.broadcast(CheckpointSaved{Term: c.term, Txid: c.txid, Epoch: a.Epoch})
			c.do(a)
			c.pruneRounds()
			maps.DeleteFunc(c.execs, func(_ ActorID, x *execView) bool {
				return x.State == ActorFinished && x.Last != 0 && x.Last <= a.Epoch
			})
			c.clean()
			c.finishIfDone()
		case Aborted:
			for i := range c.rounds {
				if c.rounds[i].start.Epoch == a.Epoch {
					c.rounds[i].start.Kind = KindEpoch
				}
			}
			c.broadcast(CheckpointAborted{Term: c.term, Txid: c.txid, Epoch: a.Epoch, Reason: a.Reason})
			c.do(a)
		case SetTimer:
			c.coreAt = a.At
		default:
			c.do(a)
		}
	}
}

func (c *Coordinator) inject(a Inject, now time.Time) {
	m := StartCheckpoint{Term: c.term, Txid: c.txid, Epoch: a.Epoch, Mutation: a.Mutation}
	switch {
	case a.Savepoint:
		m.Kind = KindSavepoint
	case a.Checkpoint:
		m.Kind = KindCheckpoint
	}
	if a.Change != nil {
		m.MutationID, m.Remove = a.Change.ID, a.Change.Remove
		m.Add = c.placements(*a.Change)
		c.applyMutation(m, now)
	}
	c.rounds = append(c.rounds, coordRound{start: m, since: now, graph: c.graph, lastMutation: c.mutated})
	c.broadcast(m)
	if c.watchAt.IsZero() {
		c.watchAt = now.Add(c.cfg.StuckAfter)
	}
}

// placements says where the actors of a mutation live.
func (c *Coordinator) placements(m Mutate) []Placement {
	var ps []Placement
	for _, a := range m.Add {
		if c.core.lost[a] {
			continue
		}
		p := Placement{Actor: a, Worker: c.workers[0].id}
		if i := slices.IndexFunc(m.Place, func(p Placement) bool { return p.Actor == a }); i >= 0 {
			p = m.Place[i]
		}
		ps = append(ps, p)
	}
	return ps
}

// applyMutation changes the graph behind a barrier.
func (c *Coordinator) applyMutation(m StartCheckpoint, now time.Time) {
	c.mutated = max(c.mutated, m.MutationID)
	graph := slices.Clone(c.graph)
	for _, p := range m.Add {
		graph = append(graph, p)
		c.execs[p.Actor] = &execView{
			ActorReport: ActorReport{Actor: p.Actor, State: ActorRunning, Source: p.Source, First: m.Epoch, Number: 1, Start: now}, worker: p.Worker,
		}
	}
	graph = slices.DeleteFunc(graph, func(p Placement) bool { return slices.Contains(m.Remove, p.Actor) })
	sortPlacements(graph)
	c.graph = graph
	for _, a := range m.Remove {
		if x := c.execs[a]; x != nil {
			x.Last = m.Epoch
		}
	}
}

// pruneRounds forgets barriers that are over.
func (c *Coordinator) pruneRounds() {
	c.rounds = slices.DeleteFunc(c.rounds, func(r coordRound) bool {
		return r.start.Epoch <= c.core.completed && (r.start.Kind == KindEpoch || r.start.Epoch <= c.core.durable)
	})
}

func (c *Coordinator) mutate(m Mutate, now time.Time) error {
	if !c.running(Party{Role: RoleClient}) {
		return nil
	}
	if m.Version != 0 && m.Version != c.txid {
		c.do(Yielded{Version: m.Version})
		return nil
	}
	if m.ID != 0 {
		if m.ID <= c.accepted {
			return nil
		}
		c.accepted = m.ID
	}
	return c.epochs(m, now)
}

// lost takes actors out of the graph. A coordinator that has not decided yet must hear of them before it does: their
// worker may still report them, or may have failed with them.
func (c *Coordinator) lost(m Lost, now time.Time) error {
	if c.state == CoordinatorStarting || c.state == CoordinatorReconciling {
		c.early = append(c.early, m)
		return nil
	}
	if !c.running(Party{Role: RoleClient}) {
		return nil
	}
	if m.Version != 0 && m.Version != c.txid {
		c.do(Yielded{Version: m.Version})
		return nil
	}
	if err := c.epochs(m, now); err != nil {
		return err
	}
	graph := slices.Clone(c.graph)
	c.graph = slices.DeleteFunc(graph, func(p Placement) bool { return slices.Contains(m.Actors, p.Actor) })
	for _, a := range m.Actors {
		delete(c.execs, a)
	}
	c.forget(m.Actors)
	return nil
}

// forget tells the workers of lost actors, behind the aborts: a worker that forgot a member of a checkpoint, and did not
// know that it is none any more, would let the next coordinator record it. Their reports say whether they have heard.
func (c *Coordinator) forget(lost []ActorID) {
	f := &forgetting{actors: slices.Sorted(slices.Values(lost)), injected: c.core.injected}
	for _, w := range c.workers {
		f.workers = append(f.workers, w.id)
	}
	c.forgetting = append(c.forgetting, f)
	c.broadcast(ForgetActors{Term: c.term, Txid: c.txid, Actors: f.actors})
}

// hasForgotten notes which losses a worker's report shows that it has heard of.
func (c *Coordinator) hasForgotten(m WorkerReport) {
	c.forgetting = slices.DeleteFunc(c.forgetting, func(f *forgetting) bool {
		if m.Started < f.injected || slices.ContainsFunc(m.Actors, func(a ActorReport) bool { return slices.Contains(f.actors, a.Actor) }) {
			return false
		}
		f.workers = slices.DeleteFunc(f.workers, func(w WorkerID) bool { return w == m.Worker })
		if len(f.workers) > 0 {
			return false
		}
		c.do(Forgotten{Actors: f.actors})
		return true
	})
}

// hold is taken in every state: a coordinator that takes over must not begin what is not to be begun.
func (c *Coordinator) hold(m Hold, now time.Time) error {
	if c.state != CoordinatorRunning {
		if m.On {
			c.holds++
		} else {
			c.holds = max(0, c.holds-1)
		}
		return nil
	}
	if err := c.epochs(m, now); err != nil {
		return err
	}
	c.holds = c.core.holds
	return nil
}

// instanceStored takes what an actor has passed and handed over.
func (c *Coordinator) instanceStored(m InstanceStateStored, now time.Time) error {
	w := c.known(m.Worker, m.Generation, now)
	if c.state != CoordinatorRunning {
		if w != nil || c.state == CoordinatorReconciling {
			c.running(Party{Role: RoleWorker, Worker: m.Worker})
		}
		return nil
	}
	if w == nil || m.Txid != c.txid {
		return nil
	}
	return c.passed(m.Actor, m.Epoch, m.State, m.Pending, now)
}

// passed takes one passed barrier; what is known already is passed over.
func (c *Coordinator) passed(a ActorID, e Epoch, s *StateRef, pending bool, now time.Time) error {
	var state any
	if s != nil {
		state = *s
	}
	if c.core.awaits(a, e) {
		return c.epochs(Collected{Actor: a, Epoch: e, State: state, Pending: pending}, now)
	}
	if state != nil && c.core.awaitsState(a, e) {
		return c.epochs(Stored{Actor: a, Epoch: e, State: state}, now)
	}
	return nil
}

func (c *Coordinator) record(a Commit, now time.Time) {
	m := RecordCheckpoint{Term: c.term, Checkpoint: CheckpointInfo{
		Epoch: a.Epoch, Kind: KindCheckpoint, Txid: c.txid, Parent: c.parent,
	}}
	if a.Savepoint {
		m.Checkpoint.Kind = KindSavepoint
	}
	for _, s := range a.States {
		m.Checkpoint.States = append(m.Checkpoint.States, s.(StateRef))
	}
	for _, r := range c.rounds {
		if r.start.Epoch == a.Epoch {
			m.Checkpoint.Actors, m.Checkpoint.LastMutation = r.graph, r.lastMutation
		}
	}
	c.recording, c.inherited = &m, false
	c.toStore(m)
	c.resendAt = now.Add(c.cfg.Resend)
}

// resendRecord repeats the request to record. A store in the same process that takes its time gets it more than
// once, and answers each; only the first answer counts.
func (c *Coordinator) resendRecord(now time.Time) {
	switch {
	case c.recording == nil:
		return
	case c.inherited:
		// Only the store knows all of it. The answer to a registration says how far it is.
		c.toStore(RegisterCoordinator{Incarnation: c.cfg.Incarnation})
	default:
		c.toStore(*c.recording)
	}
	c.resendAt = now.Add(c.cfg.Resend)
}

// inheritedRecorded takes from the answer to a repeated registration what has become of a checkpoint that the coordinator
// before wanted to be recorded.
func (c *Coordinator) inheritedRecorded(m RegisterCoordinatorResponse, now time.Time) error {
	if c.state != CoordinatorRunning || c.recording == nil || !c.inherited || m.Status != StatusOK || m.InProgress != 0 {
		return nil
	}
	e := c.recording.Checkpoint.Epoch
	r := CheckpointRecorded{Term: c.term, Txid: c.txid, Epoch: e, Status: StatusFailed, Detail: "it was not recorded"}
	if slices.ContainsFunc(m.Checkpoints, func(i CheckpointInfo) bool { return i.Epoch == e }) {
		r.Status, r.Detail = StatusOK, ""
	}
	return c.recorded(r, now)
}

func (c *Coordinator) recorded(m CheckpointRecorded, now time.Time) error {
	r := c.recording
	if c.state == CoordinatorReconciling && r != nil && m.Epoch == r.Checkpoint.Epoch {
		// It was begun by the coordinator before, and has come to an end before the reports are here.
		c.recording = nil
		if m.Status == StatusOK {
			c.list = slices.Insert(c.list, 0, r.Checkpoint)
		}
		return nil
	}
	if c.state != CoordinatorRunning || r == nil || m.Epoch != r.Checkpoint.Epoch || m.Txid != c.txid {
		return nil
	}
	if m.Status == StatusFenced {
		if m.Term == c.term {
			c.become(CoordinatorDeposed, m.Detail)
		}
		return nil
	}
	inherited := c.inherited
	c.recording, c.inherited, c.resendAt = nil, false, time.Time{}
	done := Committed{Epoch: m.Epoch, GiveUp: inherited}
	if m.Status == StatusOK {
		info := r.Checkpoint
		info.States = nil
		c.list = slices.Insert(c.list, 0, info)
		if c.cfg.Keep < 0 {
			c.list = c.list[:1]
		}
		c.parent = m.Epoch
	} else if done.Err = m.Cause; done.Err == nil {
		done.Err = fmt.Errorf("checkpoint %d: %s", m.Epoch, m.Detail)
	}
	return c.epochs(done, now)
}

// clean asks the store to forget what is not to be kept.
func (c *Coordinator) clean() {
	if c.cfg.Keep < 0 {
		return
	}
	kept := 0
	for i, info := range c.list {
		if info.Kind == KindSavepoint || slices.Contains(c.bad, info.Epoch) {
			continue
		}
		if kept++; kept < c.cfg.Keep {
			continue
		}
		for _, older := range c.list[i+1:] {
			if older.Kind != KindSavepoint {
				c.toStore(Clean{Term: c.term, OldestPreserved: info.Epoch})
				return
			}
		}
		return
	}
}

func (c *Coordinator) cleaned(m CleanResponse) {
	if m.Term != c.term || m.Status != StatusOK || len(m.Cleaned) == 0 {
		return
	}
	c.list = slices.DeleteFunc(slices.Clone(c.list), func(i CheckpointInfo) bool { return slices.Contains(m.Cleaned, i.Epoch) })
	c.bad = slices.DeleteFunc(c.bad, func(e Epoch) bool { return slices.Contains(m.Cleaned, e) })
	c.do(Cleaned{Checkpoints: m.Cleaned})
}

// watch looks for a barrier that does not come through.
func (c *Coordinator) watch(now time.Time) {
	e, waiting := c.core.Waiting()
	if e == 0 {
		return
	}
	since := now
	for _, r := range c.rounds {
		if r.start.Epoch == e {
			since = r.since
		}
	}
	at := since.Add(c.cfg.StuckAfter)
	if now.Before(at) {
		c.watchAt = at
		return
	}
	if c.stuck != e {
		c.stuck = e
		c.do(Stuck{Epoch: e, Since: since, Waiting: waiting})
	}
	c.watchAt = now.Add(c.cfg.StuckAfter)
}

// actorState takes the end of an execution.
func (c *Coordinator) actorState(m UpdateActorState, now time.Time) error {
	w := c.known(m.Worker, m.Generation, now)
	switch c.state {
	case CoordinatorReconciling, CoordinatorStarting:
		c.running(Party{Role: RoleWorker, Worker: m.Worker})
		return nil
	}
	if w == nil {
		return nil
	}
	c.acknowledge(w.id, m.State, m.Attempt)
	if m.Txid != c.txid {
		return nil
	}
	if c.state == CoordinatorRestoring {
		if m.State != ActorFinished {
			c.fail(fmt.Sprintf("actor %d: %s", m.Actor, m.Detail), now)
		}
		return nil
	}
	return c.transition(m, now)
}

// acknowledge lets a worker forget an execution that has finished. A failure is acknowledged by what is done
// about it, ForgetActors or RestoreTopologyState: until then the next coordinator has to hear of it too.
func (c *Coordinator) acknowledge(w WorkerID, s ActorState, a AttemptID) {
	if s == ActorFinished {
		c.toWorker(w, AckActorState{Term: c.term, Attempts: []AttemptID{a}})
	}
}

// transition is the end of an execution while RUNNING, told by its worker or found in a report.
func (c *Coordinator) transition(m UpdateActorState, now time.Time) error {
	x := c.execs[m.Actor]
	if c.state != CoordinatorRunning || x == nil || x.State.Terminal() {
		return nil
	}
	if m.State == ActorFinished && x.Last != 0 {
		// It was taken out of the graph; if its last report is late, it is still awaited. It is known until what it handed over is saved: a
		// worker that was told to forget it, for a report from before its end, would not store that any more.
		x.State = m.State
		return nil
	}
	x.State, x.Detail = m.State, m.Detail
	if m.State != ActorFinished {
		c.do(ActorDied{Worker: m.Worker, Actor: m.Actor, Attempt: m.Attempt, Txid: m.Txid, Detail: m.Detail})
		if !c.cfg.LocalFailover {
			c.fail(fmt.Sprintf("actor %d: %s", m.Actor, m.Detail), now)
		}
		return nil
	}
	// It stays in the graph: until all have finished, all that began together are restored together.
	c.core.finish(m.Actor, m.Passed)
	if err := c.epochs(nothing{}, now); err != nil {
		return err
	}
	c.finishIfDone()
	return nil
}

// finishIfDone ends the work when all actors have finished, and what they handed over last is in a recorded checkpoint: before that a failure
// would have to bring them back.
func (c *Coordinator) finishIfDone() {
	if c.state != CoordinatorRunning || c.core.underWay() {
		return
	}
	finished := 0
	for _, x := range c.execs {
		switch {
		case x.State != ActorFinished:
			return
		case x.Last == 0:
			finished++
		}
	}
	if finished == 0 {
		return
	}
	c.become(CoordinatorFinished, "all actors have finished")
}
