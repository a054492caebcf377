package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Host is the worker in this process.
type Host interface {
	// Deliver gives the worker a message of the coordinator. It must not block. What the worker answers
	// comes by Send.
	Deliver(m Message)
}

// Store makes checkpoints durable.
type Store interface {
	// Commit writes the checkpoint of epoch atomically. states are what the actors handed over since the one
	// before, oldest first. keeper, what the store's role is to remember, is part of it.
	Commit(ctx context.Context, epoch Epoch, states []StateRef, keeper KeeperState) error
}

// Clock is the driver's time.
type Clock interface {
	Now() time.Time
	// NewTimer gives a channel that receives once after d, and a function that stops it.
	NewTimer(d time.Duration) (<-chan time.Time, func())
}

// SystemClock is the real time.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// NewTimer is time.NewTimer.
func (SystemClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Events are called by the driver's goroutine, in order; they must be quick. Nil ones are left out.
type Events struct {
	// Completed: every epoch up to e is completed. Called before waiters of e are woken.
	Completed func(e Epoch)
	// Durable: the checkpoint of e is committed.
	Durable func(e Epoch)
	// CommitFailed: the checkpoint of e could not be written; it will be tried again.
	CommitFailed func(e Epoch, err error)
	// Gone: actors were lost, and are out of every epoch after completed and every checkpoint after saved.
	Gone func(actors []ActorID, completed, saved Epoch)
	// Held: the durable epoch stands still, see Hold.
	Held func(durable Epoch)
	// Aborted: an epoch that was to be a checkpoint will be none.
	Aborted func(a Aborted)
	// Stuck: a barrier has been in flight for long.
	Stuck func(s Stuck)
	// State: the coordinator does something else from now on.
	State func(s StateChanged)
	// Died: the coordinator has died, why, and another one takes over. It cannot be a protocol that was
	// broken, which would happen to the next one again.
	Died func(cause any)
	// Violation: a message broke the protocol, or coordinators die one after the other; the dataflow
	// must be recovered.
	Violation func(err error)
}

// ErrStopped is what waiters get when the driver ends before their epoch.
var ErrStopped = errors.New("the dataflow was stopped")

// DriverConfig is what a driver is made with.
type DriverConfig struct {
	// Coordinator is the configuration of each of its coordinators. It has one worker; Incarnation is
	// the driver's affair.
	Coordinator CoordinatorConfig
	// Restored is the checkpoint from which the store goes on, and Keeper what was committed with it; the zero value if it
	// has none.
	Restored Epoch
	Keeper   KeeperState
	Host     Host
	Store    Store
	Clock    Clock
	Events   Events
}

// Driver runs coordinators and a Keeper, and plays the clients, within one process: it owns the goroutine in which they
// step, and starts another Coordinator when one dies. The mailbox, the waiters, and what
// clients have asked for and not got yet belong to the driver, so they outlive the coordinators; what has
// happened in the graph is found out from the worker's report.
type Driver struct {
	cfg DriverConfig
	// The rest up to mu belongs to the present coordinator's goroutine.
	//
	// queue is what was in the mailbox. The first message stays until it is worked off entirely: if the coordinator
	// dies over it, the next one gets it again. batch is where queue begins, spare the one before, for reuse.
	queue, batch, spare []Message
	// own are messages of the driver to the present coordinator, which come first; refused are those that
	// it does not take yet and that nothing else remembers.
	own, refused []Message
	// keeper plays the store's role, and this driver is its medium: incarnation is one that it has never heard of.
	keeper      *Keeper
	incarnation uint64
	// What clients want and do not have yet: epochs, a checkpoint, mutations, losses, holds. heldOwed counts the holds
	// without an answer.
	demanded, ckptDemanded Epoch
	savepoint              bool
	mutations              []Mutate
	lost                   []lostCall
	// dead are all actors that were lost: a mutation that adds one of them comes too late.
	dead            map[ActorID]bool
	lastMutation    uint64
	holds, heldOwed int
	// started: the worker has begun to work.
	started bool
	// deaths counts coordinators that died of themselves since the last checkpoint.
	deaths int

	mu     sync.Mutex
	inbox  []Message
	wake   chan struct{} // capacity 1: there is something in inbox
	waits  []waiter
	marks  Marks
	ended  bool
	dirty  atomic.Bool // InputArrived was sent since the last injection
	commit sync.WaitGroup
	// fuse: after so many steps and actions the coordinator dies; 0: never.
	fuse atomic.Int64
}

// lostCall is a Lost that a later coordinator has to be told of: the worker is not known to have heard of it.
type lostCall struct {
	Lost
	// answered: there was a Gone for it.
	answered bool
}

// Marks are the three marks of the protocol at one moment.
type Marks struct{ Injected, Completed, Durable Epoch }

type waiter struct {
	epoch   Epoch
	durable bool
	done    chan error // capacity 1
}

// NewDriver makes a driver; Run starts it.
func NewDriver(cfg DriverConfig) *Driver {
	st := cfg.Keeper.clone()
	// Actors come with mutations, which are counted anew, and their states are below the store.
	st.Checkpoints = nil
	if cfg.Restored > 0 {
		st.Checkpoints = []CheckpointInfo{{Epoch: cfg.Restored, Kind: KindCheckpoint}}
	}
	d := &Driver{
		cfg: cfg, keeper: NewKeeper(st, nil), dead: map[ActorID]bool{}, wake: make(chan struct{}, 1), marks: Marks{cfg.Restored, cfg.Restored, cfg.Restored},
	}
	for _, i := range st.Coordinators {
		d.incarnation = max(d.incarnation, i)
	}
	for _, w := range st.Workers {
		for _, i := range w.Incarnations {
			d.incarnation = max(d.incarnation, i)
		}
	}
	d.incarnation++
	return d
}

// Incarnation is one that the store has not heard of, for the worker.
func (d *Driver) Incarnation() uint64 { return d.incarnation }

// Send puts a message into the driver's mailbox. It never blocks.
func (d *Driver) Send(m Message) {
	d.mu.Lock()
	d.inbox = append(d.inbox, m)
	first := len(d.inbox) == 1
	d.mu.Unlock()
	if first {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

// InputArrived tells the coordinator that the open epoch has input. Cheap when it knows already.
func (d *Driver) InputArrived() {
	if !d.dirty.Load() && d.dirty.CompareAndSwap(false, true) {
		d.Send(InputArrived{})
	}
}

// Kill lets the present coordinator die after so many steps and actions from now, at least 1: between two messages, or
// between two things that it wants done for one. Another one takes over.
func (d *Driver) Kill(after int) {
	d.fuse.Store(int64(max(1, after)))
	d.Send(RetryLater{}) // so that there is a next step
}

// Marks gives the present marks.
func (d *Driver) Marks() Marks {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.marks
}

// Wait demands and awaits the completion of epoch.
func (d *Driver) Wait(ctx context.Context, epoch Epoch) error {
	return d.wait(ctx, epoch, false, Demand{Epoch: epoch})
}

// WaitDurable awaits a checkpoint of epoch or a later one, and demands it.
func (d *Driver) WaitDurable(ctx context.Context, epoch Epoch) error {
	return d.wait(ctx, epoch, true, CheckpointDemand{Epoch: epoch})
}

func (d *Driver) wait(ctx context.Context, epoch Epoch, durable bool, demand Message) error {
	d.mu.Lock()
	if d.marks.reached(epoch, durable) {
		d.mu.Unlock()
		return nil
	}
	if d.ended {
		d.mu.Unlock()
		return ErrStopped
	}
	w := waiter{epoch: epoch, durable: durable, done: make(chan error, 1)}
	d.waits = append(d.waits, w)
	d.mu.Unlock()
	d.Send(demand)
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		d.forget(w)
		return ctx.Err()
	}
}

func (m Marks) reached(e Epoch, durable bool) bool {
	if durable {
		return m.Durable >= e
	}
	return m.Completed >= e
}

func (d *Driver) forget(w waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.waits {
		if d.waits[i].done == w.done {
			d.waits = append(d.waits[:i], d.waits[i+1:]...)
			return
		}
	}
}

// maxDeaths is how many coordinators may die between two checkpoints.
const maxDeaths = 5

// Run runs coordinators, one after the other, until ctx ends; then it awaits a running commit and fails all
// waiters.
func (d *Driver) Run(ctx context.Context) {
	defer func() {
		d.commit.Wait()
		d.end()
	}()
	for life := uint64(1); ; life++ {
		done := make(chan any, 1)
		go func() {
			var cause any = errKilled
			defer func() {
				if r := recover(); r != nil {
					cause = r
				}
				done <- cause
			}()
			l := newLife(d, life)
			defer l.stop()
			l.run(ctx)
			cause = nil
		}()
		cause := <-done
		if cause == nil {
			return
		}
		d.fuse.Store(0)
		if cause != any(errKilled) {
			d.deaths++
		}
		if d.deaths > maxDeaths {
			d.violation(fmt.Errorf("checkpoint: coordinators die one after the other: %v", cause))
			<-ctx.Done()
			return
		}
		if d.cfg.Events.Died != nil {
			d.cfg.Events.Died(cause)
		}
	}
}

// errKilled is why a coordinator died that Kill has ended.
var errKilled = errors.New("killed")

func (d *Driver) violation(err error) {
	if d.cfg.Events.Violation != nil {
		d.cfg.Events.Violation(err)
	}
}

// life is one coordinator in its goroutine.
type life struct {
	d      *Driver
	c      *Coordinator
	timerC <-chan time.Time
	cancel func()
	// resumed: it has begun to take calls, and gets what clients still want when its step is done.
	resumed bool
}

func newLife(d *Driver, number uint64) *life {
	cfg := d.cfg.Coordinator
	cfg.Incarnation = d.incarnation + number
	return &life{d: d, c: NewCoordinator(cfg), cancel: func() {}}
}

func (l *life) stop() { l.cancel() }

func (l *life) run(ctx context.Context) {
	d := l.d
	d.own, d.refused = nil, nil
	if len(d.queue) > 0 {
		switch d.queue[0].(type) {
		case Hold, Lost:
			// It is remembered, and comes again from there.
			d.pop()
		}
	}
	for range d.holds {
		d.own = append(d.own, Hold{On: true})
	}
	for _, m := range d.lost {
		d.own = append(d.own, m.Lost)
	}
	for _, a := range slices.Clone(l.c.Start(d.cfg.Clock.Now())) {
		l.act(ctx, a)
	}
	for {
		switch {
		case len(d.own) > 0:
			m := d.own[0]
			d.own = d.own[1:]
			l.step(ctx, m)
		case len(d.queue) > 0:
			d.queue[0] = d.count(d.queue[0])
			switch m := d.queue[0].(type) {
			case Persisted, RegisterWorker:
				d.store(ctx, m)
			default:
				l.step(ctx, m)
			}
			d.pop()
		case d.fetch():
		default:
			select {
			case <-ctx.Done():
				return
			case <-d.wake:
			case <-l.timerC:
				l.timerC = nil
				l.step(ctx, Tick{})
			}
		}
	}
}

// fetch empties the mailbox into the queue; false if it was empty.
func (d *Driver) fetch() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.inbox) == 0 {
		return false
	}
	d.queue, d.inbox = d.inbox, d.spare[:0]
	d.batch, d.spare = d.queue, nil
	return true
}

func (d *Driver) pop() {
	d.queue[0] = nil
	if d.queue = d.queue[1:]; len(d.queue) == 0 {
		d.spare = d.batch[:0]
	}
}

// count remembers what clients have asked for, so that it can be asked for again, and numbers mutations.
func (d *Driver) count(m Message) Message {
	switch m := m.(type) {
	case Demand:
		d.demanded = max(d.demanded, m.Epoch)
	case CheckpointDemand:
		e := m.Epoch
		if e == 0 {
			e = d.marks.Injected + 1
		}
		d.ckptDemanded = max(d.ckptDemanded, e)
		d.savepoint = d.savepoint || m.Savepoint
	case Mutate:
		if m.ID == 0 {
			d.lastMutation++
			m.ID = d.lastMutation
			m.Add = d.living(m.Add)
			d.mutations = append(d.mutations, m)
		}
		return m
	case Lost:
		d.lost = append(d.lost, lostCall{Lost: m})
		for _, a := range m.Actors {
			d.dead[a] = true
		}
		for i := range d.mutations {
			d.mutations[i].Add = d.living(d.mutations[i].Add)
		}
	case Hold:
		if m.On {
			d.holds++
			d.heldOwed++
		} else if d.holds > 0 {
			d.holds--
			d.heldOwed = min(d.heldOwed, d.holds)
		}
	}
	return m
}

// living leaves out the actors that were lost.
func (d *Driver) living(actors []ActorID) []ActorID {
	return slices.DeleteFunc(slices.Clone(actors), func(a ActorID) bool { return d.dead[a] })
}

// step lets the coordinator take a message.
func (l *life) step(ctx context.Context, m Message) {
	d := l.d
	l.burn()
	actions, err := l.c.Step(m, d.cfg.Clock.Now())
	if err != nil {
		d.violation(err)
		return
	}
	for _, a := range actions {
		if s, ok := a.(Send); ok {
			if _, ok := s.Message.(RetryLater); ok {
				d.refuse(m)
				continue
			}
		}
		l.burn()
		l.act(ctx, a)
	}
	if l.resumed {
		l.resumed = false
		l.resume()
	}
}

// refuse keeps a message that the coordinator does not take yet. What actors say is in the report that the
// coordinator waits for, and what clients want is remembered.
func (d *Driver) refuse(m Message) {
	switch m.(type) {
	case Abort, ResetTopologyState:
		d.refused = append(d.refused, m)
	}
}

// resume tells a coordinator that takes calls everything that clients do not have yet, and the clients what they have
// by what it knows.
func (l *life) resume() {
	d := l.d
	if core := l.c.Core(); core != nil {
		d.completed(core.Completed())
		d.saved(core.Durable())
	}
	for _, m := range d.mutations {
		d.own = append(d.own, m)
	}
	if d.demanded > d.marks.Completed {
		d.own = append(d.own, Demand{Epoch: d.demanded})
	}
	if d.ckptDemanded > d.marks.Durable {
		d.own = append(d.own, CheckpointDemand{Epoch: d.ckptDemanded, Savepoint: d.savepoint})
	}
	d.own = append(d.own, d.refused...)
	d.refused = nil
}

// burn lets the coordinator die when its time has come.
func (l *life) burn() {
	if l.d.fuse.Load() > 0 && l.d.fuse.Add(-1) == 0 {
		panic(errKilled)
	}
}

// act does what the coordinator wants done.
func (l *life) act(ctx context.Context, a Action) {
	d, ev := l.d, &l.d.cfg.Events
	switch a := a.(type) {
	case Send:
		switch a.To.Role {
		case RoleStore:
			d.store(ctx, a.Message)
		case RoleWorker:
			d.toHost(a.Message)
		}
	case Complete:
		d.completed(a.Epoch)
	case Durable:
		d.saved(a.Epoch)
	case CommitFailed:
		if ev.CommitFailed != nil {
			ev.CommitFailed(a.Epoch, a.Err)
		}
	case Gone:
		for i := range d.lost {
			if l := &d.lost[i]; !l.answered && slices.Equal(l.Actors, a.Actors) {
				l.answered = true
				if ev.Gone != nil {
					ev.Gone(a.Actors, a.Completed, a.Saved)
				}
				break
			}
		}
	case Forgotten:
		d.lost = slices.DeleteFunc(d.lost, func(c lostCall) bool {
			return c.answered && slices.Equal(slices.Sorted(slices.Values(c.Actors)), a.Actors)
		})
	case Held:
		// A new coordinator answers all holds again.
		if d.heldOwed > 0 {
			d.heldOwed--
			if ev.Held != nil {
				ev.Held(a.Durable)
			}
		}
	case Aborted:
		if ev.Aborted != nil {
			ev.Aborted(a)
		}
	case Stuck:
		if ev.Stuck != nil {
			ev.Stuck(a)
		}
	case StateChanged:
		if ev.State != nil {
			ev.State(a)
		}
		l.changed(a)
	case SetTimer:
		l.cancel()
		l.timerC, l.cancel = nil, func() {}
		if !a.At.IsZero() {
			l.timerC, l.cancel = d.cfg.Clock.NewTimer(max(0, a.At.Sub(d.cfg.Clock.Now())))
		}
	}
}

func (l *life) changed(s StateChanged) {
	switch s.To {
	case CoordinatorRunning:
		l.resumed = true
	case CoordinatorFailing, CoordinatorFinished, CoordinatorDeposed:
		if s.To == CoordinatorFailing && !l.d.started {
			// A coordinator has died before it could let the worker work: there is another attempt.
			return
		}
		// Within one process there is nothing to go back to: that is the business of who owns the
		// dataflow.
		l.d.violation(fmt.Errorf("checkpoint: the coordinator is %s: %s", s.To, s.Reason))
	}
}

// toHost delivers a message to the worker.
func (d *Driver) toHost(m Message) {
	defer func() {
		if r := recover(); r != nil {
			// No coordinator can know what the worker has done of it.
			d.violation(fmt.Errorf("checkpoint: the worker, at %T: %v\n%s", m, r, debug.Stack()))
		}
	}()
	s, ok := m.(StartCheckpoint)
	if !ok {
		d.cfg.Host.Deliver(m)
		if _, ok := m.(StartProcessing); ok {
			d.started = true
		}
		return
	}
	// Cleared first: input that arrives while the barrier is being injected belongs to this epoch or the
	// next; a report too many is harmless, a missing one is not.
	d.dirty.Store(false)
	d.cfg.Host.Deliver(m)
	d.mutations = slices.DeleteFunc(d.mutations, func(m Mutate) bool { return m.ID <= s.MutationID })
	d.setMarks(func(m *Marks) { m.Injected = max(m.Injected, s.Epoch) })
}

// completed and saved move a mark. A coordinator that takes over may say again what the one before has said.
func (d *Driver) completed(e Epoch) {
	if e <= d.marks.Completed {
		return
	}
	if d.cfg.Events.Completed != nil {
		d.cfg.Events.Completed(e)
	}
	d.setMarks(func(m *Marks) { m.Completed = e })
}

func (d *Driver) saved(e Epoch) {
	if e <= d.marks.Durable {
		return
	}
	if d.cfg.Events.Durable != nil {
		d.cfg.Events.Durable(e)
	}
	d.setMarks(func(m *Marks) { m.Durable = e })
	if e >= d.ckptDemanded {
		d.savepoint = false
	}
	d.deaths = 0
}

// store lets the Keeper take a message. What survives the process is written with checkpoints; numbers that are given
// meanwhile are for parties that do not survive it either.
func (d *Driver) store(ctx context.Context, m Message) {
	actions, err := d.keeper.Step(m, d.cfg.Clock.Now())
	if err != nil {
		d.violation(err)
		return
	}
	for _, a := range slices.Clone(actions) {
		switch a := a.(type) {
		case Send:
			if a.To.Role == RoleWorker {
				d.toHost(a.Message)
			} else {
				d.own = append(d.own, a.Message)
			}
		case PersistNumbers:
			d.store(ctx, Persisted{})
		case PersistList:
			d.persistList(ctx, a.Checkpoints)
		}
	}
}

// persistList commits the newest checkpoint of a list, unless only older ones have been taken off it.
func (d *Driver) persistList(ctx context.Context, list []CheckpointInfo) {
	was := d.keeper.State()
	if len(list) == 0 || len(was.Checkpoints) > 0 && was.Checkpoints[0].Epoch >= list[0].Epoch {
		d.store(ctx, Persisted{List: true})
		return
	}
	st := KeeperState{KeeperNumbers: was.KeeperNumbers, Checkpoints: slices.Clone(list)}
	c := st.Checkpoints[0]
	for i := range st.Checkpoints {
		st.Checkpoints[i].States = nil
	}
	d.commit.Go(func() {
		d.Send(Persisted{List: true, Err: d.cfg.Store.Commit(ctx, c.Epoch, c.States, st)})
	})
}

// setMarks changes the marks and wakes who waited for them.
func (d *Driver) setMarks(f func(*Marks)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.marks)
	kept := d.waits[:0]
	for _, w := range d.waits {
		if d.marks.reached(w.epoch, w.durable) {
			w.done <- nil
		} else {
			kept = append(kept, w)
		}
	}
	d.waits = kept
}

func (d *Driver) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	for _, w := range d.waits {
		w.done <- ErrStopped
	}
	d.waits = nil
}
