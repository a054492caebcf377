package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// HostedActor is an actor that a worker hosts from its beginning.
type HostedActor struct {
	Actor ActorID
	// Source: it has no inputs inside the graph, and the worker starts its barriers.
	Source bool
}

// WorkerConfig is what a worker is made with.
type WorkerConfig struct {
	Worker WorkerID
	// Incarnation is a number that no other life of this worker uses.
	Incarnation uint64
	// Actors are those that live from the beginning, before any checkpoint and mutation.
	Actors []HostedActor
	// Resend is the time after which a request without an answer is repeated. 0 means a second.
	Resend time.Duration
	// ReportInterval is the time between signs of life. 0: none.
	ReportInterval time.Duration
	// InlineLimit is the largest state, in bytes, that goes to the coordinator; a larger one goes to
	// the store. Those by reference always go inline.
	InlineLimit int
}

// Worker is the machine of the worker's role: it does what the coordinator says with the actors that it
// hosts, and remembers what the next coordinator has to know. It does no I/O and reads no clock.
//
// Its actions are Send, to the coordinator, the store and its actors, and SetTimer.
type Worker struct {
	cfg        WorkerConfig
	generation Generation
	// fenced: the store knows a later life of this worker. It does nothing any more.
	fenced bool
	// term is the largest of a coordinator that was heard of, txid the largest attempt.
	term  Term
	txid  RestoreTxid
	phase Phase
	// restore is the attempt under way in WorkerRestoring; failed: it has been answered with an error.
	restore RestoreTopologyState
	failed  bool
	// restored is the checkpoint of the newest attempt that came to an end.
	restored Epoch
	// Invariant: saved <= completed <= started.
	started, completed, saved Epoch
	lastMutation              uint64
	dirty                     bool
	// rounds are as in WorkerReport.
	rounds []RoundReport
	// actors are in order of their ids; byID finds them.
	actors []*execution
	byID   map[ActorID]*execution
	// sources are the actors whose barriers this worker starts, by id; nil: to be made again.
	sources []ActorID
	// numbers counts the executions of each actor.
	numbers  map[ActorID]uint32
	attempts uint32
	// early are actors' words about barriers that have overtaken StartCheckpoint on their way through the
	// channels, in order for each actor.
	early []StoreInstanceState
	// ends are those of actors that have finished at such a barrier: first they have to be known to have passed it.
	ends []InstanceEnded
	// over are checkpoints that were aborted before their start was heard of: the abort has overtaken it. Another
	// coordinator may give their number to one of its own.
	over []CheckpointAborted

	// unanswered counts the executions with a request that may have to be repeated.
	unanswered int
	resendAt   time.Time
	reportAt   time.Time
	timer      time.Time
	actions    []Action
}

// execution is one execution of an actor.
type execution struct {
	ActorReport
	txid RestoreTxid
	// asked: GetInstanceState has no answer yet.
	asked bool
	// stopping: StopInstance was sent.
	stopping bool
	// acked: the coordinator knows that it has ended.
	acked bool
	// forgotten: it has left the graph; it is kept until it has ended only.
	forgotten bool
	// saving are the states that the store has not confirmed; they are in States too.
	saving []Epoch
}

// defaultResend is the time between repetitions if none is configured.
const defaultResend = time.Second

// NewWorker makes a worker, and Start its first actions.
func NewWorker(cfg WorkerConfig) *Worker {
	if cfg.Resend <= 0 {
		cfg.Resend = defaultResend
	}
	cfg.Actors = slices.Clone(cfg.Actors)
	slices.SortFunc(cfg.Actors, func(a, b HostedActor) int { return cmp.Compare(a.Actor, b.Actor) })
	return &Worker{cfg: cfg, byID: map[ActorID]*execution{}, numbers: map[ActorID]uint32{}}
}

// Start asks the store for a generation.
func (w *Worker) Start(now time.Time) []Action {
	w.actions = w.actions[:0]
	w.register(now)
	w.setTimer(now)
	return w.actions
}

// Phase is what the worker is doing.
func (w *Worker) Phase() Phase { return w.phase }

// Generation is the number of this life, 0 before the store has given it.
func (w *Worker) Generation() Generation { return w.generation }

// Fenced tells whether there is a later life of the worker. This one does nothing any more; whoever runs it ends it, and
// starts another if it is the one that should live.
func (w *Worker) Fenced() bool { return w.fenced }

// Txid is the newest attempt that it has heard of.
func (w *Worker) Txid() RestoreTxid { return w.txid }

// Started, Completed and Saved are the newest epochs whose barrier was started here, or that this worker knows
// to be complete and saved.
func (w *Worker) Started() Epoch { return w.started }

// Completed is the newest epoch that is known to be complete.
func (w *Worker) Completed() Epoch { return w.completed }

// Saved is the newest checkpoint that is known to be saved.
func (w *Worker) Saved() Epoch { return w.saved }

// Step takes one message at time now and returns what to do. The result is valid until the next Step. An
// error means that an actor broke the protocol, and changes nothing; what comes from far away is never an
// error but passed over.
func (w *Worker) Step(m Message, now time.Time) ([]Action, error) {
	w.actions = w.actions[:0]
	if w.fenced {
		return nil, nil
	}
	var err error
	switch m := m.(type) {
	case Tick:
		w.timer = time.Time{}
		w.tick(now)
	case RegisterWorkerResponse:
		w.registered(m, now)
	case Reconcile:
		if w.newer(m.Term) {
			w.report()
		}
	case RestoreTopologyState:
		w.restoreTopology(m, now)
	case GetInstanceStateResponse:
		w.gotState(m)
	case RestoreInstanceStateResponse:
		w.instanceRestored(m)
	case StartProcessing:
		w.startProcessing(m, now)
	case StartCheckpoint:
		err = w.startCheckpoint(m, now)
	case StoreInstanceState:
		err = w.storeState(m, now)
	case SaveInstanceStateResponse:
		w.stateSaved(m)
	case EpochCompleted:
		if w.current(m.Term, m.Txid) && m.Epoch <= w.started {
			w.completed = max(w.completed, m.Epoch)
			w.prune()
		}
	case CheckpointSaved:
		w.checkpointSaved(m)
	case CheckpointAborted:
		w.aborted(m)
	case InstanceEnded:
		err = w.ended(m, now)
	case AckActorState:
		w.acknowledged(m)
	case ForgetActors:
		// One of an attempt that is over is about others of the same ids.
		if w.newer(m.Term) && m.Txid == w.txid {
			w.forget(m.Actors)
			// The report is the answer.
			w.report()
		}
	case InputArrived:
		w.dirty = true
		w.toCoordinator(InputArrived{})
	case RetryLater:
		if w.newer(m.Term) {
			// A report has everything that was refused.
			w.reportAt = now.Add(m.After)
		}
	default:
		err = fmt.Errorf("checkpoint: worker %s: a message %T is not for workers", w.cfg.Worker, m)
	}
	if err != nil {
		return nil, err
	}
	w.setTimer(now)
	return w.actions, nil
}

func (w *Worker) send(to Party, m Message) { w.actions = append(w.actions, Send{to, m}) }

func (w *Worker) toCoordinator(m Message) { w.send(Party{Role: RoleCoordinator}, m) }
func (w *Worker) toStore(m Message)       { w.send(Party{Role: RoleStore}, m) }
func (w *Worker) toActor(a ActorID, m Message) {
	w.send(Party{Role: RoleActor, Worker: w.cfg.Worker, Actor: a}, m)
}

// newer takes the term of a coordinator; false: it is one of the past.
func (w *Worker) newer(t Term) bool {
	if t < w.term || w.phase == WorkerRegistering {
		return false
	}
	w.term = t
	return true
}

// current tells whether a message belongs to the attempt that is running here.
func (w *Worker) current(t Term, x RestoreTxid) bool {
	return w.newer(t) && x == w.txid && w.phase == WorkerRunning
}

func (w *Worker) register(now time.Time) {
	w.toStore(RegisterWorker{Worker: w.cfg.Worker, Incarnation: w.cfg.Incarnation})
	w.resendAt = now.Add(w.cfg.Resend)
}

func (w *Worker) registered(m RegisterWorkerResponse, now time.Time) {
	if w.phase != WorkerRegistering || m.Worker != w.cfg.Worker || m.Incarnation != w.cfg.Incarnation {
		return
	}
	switch m.Status {
	case StatusOK:
		w.generation, w.phase = m.Generation, WorkerIdle
		w.report()
		if w.cfg.ReportInterval > 0 {
			w.reportAt = now.Add(w.cfg.ReportInterval)
		}
	case StatusFenced:
		w.fenced = true
	}
}

// tick repeats what has no answer.
func (w *Worker) tick(now time.Time) {
	if !w.resendAt.IsZero() && !now.Before(w.resendAt) {
		w.resendAt = time.Time{}
		if w.phase == WorkerRegistering {
			w.register(now)
			return
		}
		for _, x := range w.actors {
			if x.asked {
				w.ask(x, now)
			}
			for _, e := range x.saving {
				w.save(x, e, now)
			}
			if x.State.Terminal() && !x.forgotten && !x.acked {
				w.sendEnd(x, now)
			}
		}
	}
	if !w.reportAt.IsZero() && !now.Before(w.reportAt) {
		w.reportAt = time.Time{}
		if w.cfg.ReportInterval > 0 {
			w.reportAt = now.Add(w.cfg.ReportInterval)
		}
		w.report()
	}
}

// again makes sure that a request is repeated if it gets no answer.
func (w *Worker) again(now time.Time) {
	if w.resendAt.IsZero() {
		w.resendAt = now.Add(w.cfg.Resend)
	}
}

func (w *Worker) setTimer(now time.Time) {
	if w.unanswered == 0 && w.phase != WorkerRegistering {
		w.resendAt = time.Time{}
	}
	t := w.resendAt
	if t.IsZero() || !w.reportAt.IsZero() && w.reportAt.Before(t) {
		t = w.reportAt
	}
	if !t.Equal(w.timer) {
		w.timer = t
		w.actions = append(w.actions, SetTimer{At: t})
	}
}

// restoreTopology begins an attempt: every execution of the one before is stopped first.
func (w *Worker) restoreTopology(m RestoreTopologyState, now time.Time) {
	if !w.newer(m.Term) || m.Txid < w.txid || m.Generation < w.generation {
		return
	}
	if m.Generation > w.generation {
		// A later life has registered, perhaps one that was begun before this one.
		w.fence()
		return
	}
	if m.Txid == w.txid {
		if w.phase == WorkerRestored || w.phase == WorkerRunning {
			// The answer was lost.
			w.respond(StatusOK, "")
		}
		return
	}
	w.txid, w.restore, w.phase, w.failed = m.Txid, m, WorkerRestoring, false
	w.started, w.completed, w.saved = max(m.Base, m.Checkpoint), max(m.Base, m.Checkpoint), m.Checkpoint
	w.rounds, w.early, w.ends, w.over, w.dirty, w.lastMutation = nil, nil, nil, nil, false, m.LastMutation
	for _, x := range w.actors {
		// The coordinator goes back, so it needs to know nothing of what was.
		w.drop(x)
		if !x.State.Terminal() && !x.stopping {
			x.stopping = true
			w.toActor(x.Actor, StopInstance{Actor: x.Actor, Attempt: x.Attempt})
		}
	}
	w.recreate(now)
}

// drop takes away what an execution has to tell and to ask.
func (w *Worker) drop(x *execution) {
	if x.asked {
		x.asked = false
		w.unanswered--
	}
	w.unanswered -= len(x.saving)
	if x.State.Terminal() && !x.forgotten && !x.acked {
		w.unanswered--
	}
	x.saving, x.States = nil, nil
	x.forgotten = true
}

// recreate goes on with an attempt when all executions have ended: the termination futures, joined.
func (w *Worker) recreate(now time.Time) {
	for _, x := range w.actors {
		if !x.State.Terminal() {
			return
		}
	}
	w.actors, w.sources = nil, nil
	clear(w.byID)
	if w.restore.Checkpoint == 0 {
		for _, h := range w.cfg.Actors {
			w.create(h.Actor, h.Source, 0)
		}
	}
	for _, p := range w.restore.Actors {
		if p.Worker == w.cfg.Worker && w.byID[p.Actor] == nil {
			w.create(p.Actor, p.Source, 0)
		}
	}
	for _, x := range w.actors {
		if w.restore.Checkpoint == 0 {
			w.give(x, nil)
			continue
		}
		x.asked = true
		w.unanswered++
		w.ask(x, now)
	}
	w.allRestored()
}

func (w *Worker) create(a ActorID, source bool, first Epoch) *execution {
	w.attempts++
	w.numbers[a]++
	x := &execution{ActorReport: ActorReport{
		Actor: a, Attempt: AttemptID(uint64(w.generation)<<32 | uint64(w.attempts)), Number: w.numbers[a],
		Source: source, First: first, Passed: w.started,
	}, txid: w.txid}
	i, _ := slices.BinarySearchFunc(w.actors, a, func(x *execution, a ActorID) int { return cmp.Compare(x.Actor, a) })
	w.actors = slices.Insert(w.actors, i, x)
	w.byID[a] = x
	w.sources = nil
	return x
}

func (w *Worker) ask(x *execution, now time.Time) {
	w.again(now)
	w.toStore(GetInstanceState{
		Worker: w.cfg.Worker, Generation: w.generation, Txid: w.txid, Actor: x.Actor, Checkpoint: w.restore.Checkpoint,
	})
}

func (w *Worker) give(x *execution, states []StateRef) {
	w.toActor(x.Actor, RestoreInstanceState{
		Actor: x.Actor, Attempt: x.Attempt, Number: x.Number, Txid: w.txid, Checkpoint: w.restore.Checkpoint, States: states,
	})
}

func (w *Worker) gotState(m GetInstanceStateResponse) {
	x := w.byID[m.Actor]
	if m.Txid != w.txid || m.Worker != w.cfg.Worker || x == nil || !x.asked || w.failed {
		return
	}
	x.asked = false
	w.unanswered--
	if m.Status != StatusOK {
		w.giveUp(m.Status, fmt.Sprintf("state of actor %d: %s", m.Actor, m.Detail))
		return
	}
	w.give(x, m.States)
}

func (w *Worker) instanceRestored(m RestoreInstanceStateResponse) {
	x := w.execution(m.Actor, m.Attempt)
	if x == nil || x.State != ActorCreated || w.phase != WorkerRestoring || w.failed || x.forgotten {
		return
	}
	if m.Status != StatusOK {
		w.giveUp(m.Status, fmt.Sprintf("actor %d: %s", m.Actor, m.Detail))
		return
	}
	x.State = ActorRestored
	w.allRestored()
}

// giveUp answers an attempt with an error. What it has made so far stays until the next one.
func (w *Worker) giveUp(s Status, detail string) {
	if !w.failed {
		w.failed = true
		w.respond(s, detail)
	}
}

func (w *Worker) allRestored() {
	for _, x := range w.actors {
		if x.State != ActorRestored {
			return
		}
	}
	w.phase, w.restored = WorkerRestored, w.restore.Checkpoint
	w.respond(StatusOK, "")
}

func (w *Worker) respond(s Status, detail string) {
	m := RestoreTopologyStateResponse{
		Worker: w.cfg.Worker, Generation: w.generation, Txid: w.txid, Checkpoint: w.restore.Checkpoint, Status: s, Detail: detail,
	}
	if s == StatusOK {
		for _, x := range w.actors {
			m.Actors = append(m.Actors, Placement{x.Actor, w.cfg.Worker, x.Source})
		}
	}
	w.toCoordinator(m)
}

func (w *Worker) startProcessing(m StartProcessing, now time.Time) {
	if !w.newer(m.Term) || m.Txid != w.txid || w.phase != WorkerRestored {
		return
	}
	w.phase = WorkerRunning
	for _, x := range w.actors {
		if x.State == ActorRestored {
			w.begin(x, now)
		}
	}
}

func (w *Worker) begin(x *execution, now time.Time) {
	x.State, x.ActorReport.Start = ActorRunning, now
	w.toActor(x.Actor, StartInstanceProcessing{Actor: x.Actor, Attempt: x.Attempt})
}
