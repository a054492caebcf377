package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// CoordinatorState is what the coordinator is doing; docs/protocol.md has the transitions.
type CoordinatorState uint8

// The states of the coordinator.
const (
	// CoordinatorStarting: it has no term yet.
	CoordinatorStarting CoordinatorState = iota
	// CoordinatorReconciling: it collects reports to find out what its predecessor left.
	CoordinatorReconciling
	// CoordinatorRestoring: an attempt to bring all workers to one checkpoint is under way.
	CoordinatorRestoring
	// CoordinatorRunning: epochs and checkpoints go on.
	CoordinatorRunning
	// CoordinatorFailing: it waits until another attempt makes sense.
	CoordinatorFailing
	// CoordinatorFinished: all actors have finished.
	CoordinatorFinished
	// CoordinatorDeposed: there is a later coordinator, and this one does nothing any more.
	CoordinatorDeposed
)

func (s CoordinatorState) String() string {
	switch s {
	case CoordinatorStarting:
		return "STARTING"
	case CoordinatorReconciling:
		return "RECONCILING"
	case CoordinatorRestoring:
		return "RESTORING"
	case CoordinatorRunning:
		return "RUNNING"
	case CoordinatorFailing:
		return "FAILING"
	case CoordinatorFinished:
		return "FINISHED"
	case CoordinatorDeposed:
		return "DEPOSED"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// CoordinatorConfig is what a coordinator is made with.
type CoordinatorConfig struct {
	// Config has the timing of epochs.
	Config
	// Incarnation is a number that no other life of a coordinator uses.
	Incarnation uint64
	// Workers are all that take part.
	Workers []WorkerID
	// Resend is the time after which a request without an answer is repeated. 0 means a second.
	Resend time.Duration
	// ReconcileTimeout is how long reports are waited for. 0 means 10 seconds.
	ReconcileTimeout time.Duration
	// RestoreTimeout is how long an attempt may take. 0 means a minute.
	RestoreTimeout time.Duration
	// WorkerTimeout is how long a worker may say nothing. 0: for ever.
	WorkerTimeout time.Duration
	// RestoreDelay is the pause before an attempt after a failure; it doubles with each failure in a row, up
	// to MaxRestoreDelay. 0 and 0 mean no pause before the first, and 30 seconds.
	RestoreDelay, MaxRestoreDelay time.Duration
	// Keep is how many checkpoints are kept, savepoints not counted. 0 means 1; less: the store
	// decides by itself.
	Keep int
	// StuckAfter is how long a barrier may be in flight until it is called stuck. 0 means 10 seconds.
	StuckAfter time.Duration
	// LocalFailover: the failure of an actor is only given out, as ActorDied, and somebody else decides
	// what follows: Lost and Mutate, or ResetTopologyState.
	LocalFailover bool
}

// What the coordinator gives out besides messages. None of them needs an answer.
type (
	// StateChanged announces what the coordinator does from now on, and why.
	StateChanged struct {
		From, To CoordinatorState
		Txid     RestoreTxid
		Reason   string
	}
	// FellBack announces that a checkpoint cannot be read and an older one will be restored; To is 0 if
	// there is none, and then nothing is restored until one can be read.
	FellBack struct {
		From, To Epoch
		Reason   string
	}
	// ActorDied announces the end of an execution that was neither asked for nor the end of its work.
	ActorDied struct {
		Worker  WorkerID
		Actor   ActorID
		Attempt AttemptID
		Txid    RestoreTxid
		Detail  string
	}
	// Stuck announces, once for each barrier, that it has been in flight for a long time; Waiting are
	// the actors that it waits for.
	Stuck struct {
		Epoch   Epoch
		Since   time.Time
		Waiting []ActorID
	}
	// Cleaned announces the checkpoints that the store has removed.
	Cleaned struct{ Checkpoints []Epoch }
	// Yielded announces that a message of local failover came too late: it was made for an attempt that
	// is over.
	Yielded struct{ Version RestoreTxid }
	// Forgotten announces that no worker has an execution of lost actors any more, so that no later coordinator can take
	// them for living: whoever said Lost need not say it to that one.
	Forgotten struct{ Actors []ActorID }
)

func (StateChanged) action() {}
func (FellBack) action()     {}
func (ActorDied) action()    {}
func (Stuck) action()        {}
func (Cleaned) action()      {}
func (Yielded) action()      {}
func (Forgotten) action()    {}

// Coordinator is the machine of the coordinator's role. Core is the part of it that knows epochs; what is
// here knows workers, attempts, and lives of the coordinator. It does no I/O and reads no clock.
//
// Its actions are Send, SetTimer, the announcements of Core that are for its surroundings (Complete, Durable,
// CommitFailed, Aborted, Gone, Held), and its own.
type Coordinator struct {
	cfg   CoordinatorConfig
	state CoordinatorState
	term  Term
	// txid is the newest attempt, of this coordinator or the one that it took over.
	txid    RestoreTxid
	attempt uint32
	// list are the consistent checkpoints, newest first; bad are those that could not be read.
	list []CheckpointInfo
	bad  []Epoch
	// workers are in order of their ids.
	workers []*workerView
	// execs are the executions that take part, and those that have ended and are not yet known to be
	// acknowledged.
	execs map[ActorID]*execView

	// Of the attempt in RESTORING: target is the checkpoint, its epoch 0 for none; listed: it is known.
	target CheckpointInfo
	listed bool

	// Of RUNNING.
	core *Core
	// graph are the actors after the newest barrier, by id. The slice is never changed in place.
	graph []Placement
	// rounds are the barriers in flight, and the checkpoints that are not saved, oldest first.
	rounds []coordRound
	// parent is the newest checkpoint that was restored or saved.
	parent Epoch
	// mutated is the newest mutation that has entered the graph, accepted the newest that will.
	mutated, accepted uint64
	// recording is the checkpoint that the store is asked to record; inherited: the coordinator before asked, and only
	// the epoch is known.
	recording *RecordCheckpoint
	inherited bool

	holds    int
	failures int
	// early are the losses that were told before the state of the graph was known.
	early []Lost
	// forgetting are lost actors that some worker may still have.
	forgetting []*forgetting

	// deadline ends RECONCILING, RESTORING and the pause of FAILING. resendAt, watchAt and coreAt are when to
	// repeat, when to look for a stuck barrier, and what Core asked for. Zero: never.
	deadline, resendAt, watchAt, coreAt time.Time
	stuck                               Epoch
	timer                               time.Time
	actions                             []Action
}

// workerView is what the coordinator knows of a worker.
type workerView struct {
	id         WorkerID
	generation Generation
	// alive: this generation has been heard of and was not given up.
	alive bool
	// report is the newest one in RECONCILING.
	report *WorkerReport
	// restored: it has answered the attempt under way.
	restored bool
	actors   []Placement
	heard    time.Time
}

// forgetting is a loss of which not every worker is known to have heard.
type forgetting struct {
	actors []ActorID
	// injected is the newest barrier when they were lost: a worker that has started it creates none of them later.
	injected Epoch
	workers  []WorkerID
}

// execView is what the coordinator knows of an execution.
type execView struct {
	ActorReport
	worker WorkerID
}

// coordRound is a barrier as it was sent to the workers, and the graph behind it.
type coordRound struct {
	start        StartCheckpoint
	since        time.Time
	graph        []Placement
	lastMutation uint64
}

// NewCoordinator makes a coordinator; Start gives its first actions.
func NewCoordinator(cfg CoordinatorConfig) *Coordinator {
	orElse := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	orElse(&cfg.Resend, defaultResend)
	orElse(&cfg.ReconcileTimeout, 10*time.Second)
	orElse(&cfg.RestoreTimeout, time.Minute)
	orElse(&cfg.MaxRestoreDelay, 30*time.Second)
	orElse(&cfg.StuckAfter, 10*time.Second)
	if cfg.Keep == 0 {
		cfg.Keep = 1
	}
	c := &Coordinator{cfg: cfg, execs: map[ActorID]*execView{}}
	for _, w := range cfg.Workers {
		c.workers = append(c.workers, &workerView{id: w})
	}
	slices.SortFunc(c.workers, func(a, b *workerView) int { return cmp.Compare(a.id, b.id) })
	return c
}

// Start asks the store for a term.
func (c *Coordinator) Start(now time.Time) []Action {
	c.actions = c.actions[:0]
	c.register(now)
	c.setTimer()
	return c.actions
}

// State is what the coordinator is doing.
func (c *Coordinator) State() CoordinatorState { return c.state }

// Term is its number, 0 before the store has given it.
func (c *Coordinator) Term() Term { return c.term }

// Txid is the newest attempt.
func (c *Coordinator) Txid() RestoreTxid { return c.txid }

// Core is the machine of the epochs, for looking at; nil unless RUNNING.
func (c *Coordinator) Core() *Core { return c.core }

// Checkpoints are the consistent ones as far as this coordinator knows, newest first.
func (c *Coordinator) Checkpoints() []CheckpointInfo { return c.list }

// Executions lists what is known of the executions, in order of their actors.
func (c *Coordinator) Executions() []ActorReport {
	out := make([]ActorReport, 0, len(c.execs))
	for _, x := range c.execs {
		out = append(out, x.ActorReport)
	}
	slices.SortFunc(out, func(a, b ActorReport) int { return cmp.Compare(a.Actor, b.Actor) })
	return out
}

func (c *Coordinator) do(a Action)              { c.actions = append(c.actions, a) }
func (c *Coordinator) send(to Party, m Message) { c.do(Send{to, m}) }
func (c *Coordinator) toStore(m Message)        { c.send(Party{Role: RoleStore}, m) }
func (c *Coordinator) toWorker(w WorkerID, m Message) {
	c.send(Party{Role: RoleWorker, Worker: w}, m)
}

func (c *Coordinator) broadcast(m Message) {
	for _, w := range c.workers {
		c.toWorker(w.id, m)
	}
}

func (c *Coordinator) worker(id WorkerID) *workerView {
	for _, w := range c.workers {
		if w.id == id {
			return w
		}
	}
	return nil
}

// known finds the worker of a message, if it is of its newest generation.
func (c *Coordinator) known(id WorkerID, g Generation, now time.Time) *workerView {
	w := c.worker(id)
	if w == nil || g != w.generation {
		return nil
	}
	w.heard = now
	return w
}

func (c *Coordinator) become(s CoordinatorState, reason string) {
	if c.state == s {
		return
	}
	c.do(StateChanged{From: c.state, To: s, Txid: c.txid, Reason: reason})
	c.state = s
	c.deadline, c.resendAt, c.watchAt, c.coreAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// Step takes one message at time now and returns what to do. The result is valid until the next Step. An
// error means that a client or the store in this process broke the protocol, and changes nothing; what
// comes from far away is never an error but passed over.
func (c *Coordinator) Step(m Message, now time.Time) ([]Action, error) {
	c.actions = c.actions[:0]
	if c.state == CoordinatorDeposed {
		return nil, nil
	}
	var err error
	switch m := m.(type) {
	case InstanceStateStored:
		err = c.instanceStored(m, now)
	case InputArrived, Demand, CheckpointDemand, Abort:
		if c.running(Party{Role: RoleClient}) {
			err = c.epochs(m, now)
		}
	case Mutate:
		err = c.mutate(m, now)
	case Lost:
		err = c.lost(m, now)
	case Hold:
		err = c.hold(m, now)
	case Tick:
		c.timer = time.Time{}
		err = c.tick(now)
	case CheckpointRecorded:
		err = c.recorded(m, now)
	case WorkerReport:
		err = c.reported(m, now)
	case RegisterCoordinatorResponse:
		if m.Incarnation == c.cfg.Incarnation {
			c.registered(m, now)
			err = c.inheritedRecorded(m, now)
		}
	case CheckpointList:
		c.gotList(m, now)
	case RestoreTopologyStateResponse:
		c.restoredBy(m, now)
	case ResetTopologyState:
		c.resetAsked(m, now)
	case UpdateActorState:
		err = c.actorState(m, now)
	case CleanResponse:
		c.cleaned(m)
	case RetryLater:
		// Nobody tells a coordinator to wait.
	default:
		err = fmt.Errorf("checkpoint: a message %T is not for the coordinator", m)
	}
	if err != nil {
		return nil, err
	}
	c.setTimer()
	return c.actions, nil
}

// running tells whether calls are taken; otherwise the caller is told to come again.
func (c *Coordinator) running(from Party) bool {
	if c.state == CoordinatorRunning {
		return true
	}
	c.send(from, RetryLater{Term: c.term, After: c.cfg.Resend})
	return false
}

func (c *Coordinator) register(now time.Time) {
	c.toStore(RegisterCoordinator{Incarnation: c.cfg.Incarnation})
	c.resendAt = now.Add(c.cfg.Resend)
}

func (c *Coordinator) registered(m RegisterCoordinatorResponse, now time.Time) {
	if c.state != CoordinatorStarting {
		return
	}
	switch m.Status {
	case StatusOK:
		c.term, c.list, c.txid = m.Term, m.Checkpoints, m.Txid
		if m.InProgress > 0 {
			c.inherited = true
			c.recording = &RecordCheckpoint{Term: c.term, Checkpoint: CheckpointInfo{Epoch: m.InProgress, Txid: m.Txid}}
		}
		c.become(CoordinatorReconciling, "")
		c.deadline = now.Add(c.cfg.ReconcileTimeout)
		c.askReports(now)
	case StatusFenced:
		c.become(CoordinatorDeposed, m.Detail)
	}
}

// askReports asks those workers for a report that have not given one.
func (c *Coordinator) askReports(now time.Time) {
	for _, w := range c.workers {
		if w.report == nil {
			c.toWorker(w.id, Reconcile{Term: c.term})
		}
	}
	c.resendAt = now.Add(c.cfg.Resend)
}

func (c *Coordinator) tick(now time.Time) error {
	due := func(t *time.Time) bool {
		if t.IsZero() || now.Before(*t) {
			return false
		}
		*t = time.Time{}
		return true
	}
	switch c.state {
	case CoordinatorStarting:
		if due(&c.resendAt) {
			c.register(now)
		}
	case CoordinatorReconciling:
		if due(&c.deadline) {
			return c.decide(now)
		}
		if due(&c.resendAt) {
			c.askReports(now)
		}
	case CoordinatorRestoring:
		c.loseSilent(now)
		switch {
		case c.state != CoordinatorRestoring:
		case due(&c.deadline):
			c.fail("the attempt took too long", now)
		case due(&c.resendAt):
			c.resendRestore(now)
		}
	case CoordinatorFailing:
		if due(&c.deadline) || due(&c.resendAt) {
			c.tryAttempt(now)
		}
	case CoordinatorRunning:
		if due(&c.resendAt) {
			c.resendRecord(now)
		}
		if due(&c.watchAt) {
			c.watch(now)
		}
		if due(&c.coreAt) {
			if err := c.epochs(Tick{}, now); err != nil {
				return err
			}
		}
		c.loseSilent(now)
	}
	return nil
}

// loseSilent gives up workers that have said nothing for too long.
func (c *Coordinator) loseSilent(now time.Time) {
	if c.cfg.WorkerTimeout <= 0 {
		return
	}
	for _, w := range c.workers {
		if w.alive && !now.Before(w.heard.Add(c.cfg.WorkerTimeout)) {
			w.alive = false
			c.reset(fmt.Sprintf("worker %s says nothing", w.id), now)
		}
	}
}

func (c *Coordinator) setTimer() {
	var t time.Time
	for _, u := range [...]time.Time{c.deadline, c.resendAt, c.watchAt, c.coreAt} {
		if !u.IsZero() && (t.IsZero() || u.Before(t)) {
			t = u
		}
	}
	if c.cfg.WorkerTimeout > 0 && (c.state == CoordinatorRunning || c.state == CoordinatorRestoring) {
		for _, w := range c.workers {
			if u := w.heard.Add(c.cfg.WorkerTimeout); w.alive && (t.IsZero() || u.Before(t)) {
				t = u
			}
		}
	}
	if !t.Equal(c.timer) {
		c.timer = t
		c.do(SetTimer{At: t})
	}
}
