package checkpoint

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Dataflow is what the driver needs of the running graph.
type Dataflow interface {
	// Inject sends the barrier to every root actor and opens the next epoch. It must not block: the
	// channels from the coordinator are unbounded.
	Inject(epoch Epoch, checkpoint bool, mutation any)
}

// Store makes checkpoints durable.
type Store interface {
	// Commit writes the checkpoint of epoch atomically. states are what the actors handed over.
	Commit(ctx context.Context, epoch Epoch, states []any) error
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
	// Violation: a message broke the protocol; the dataflow must be recovered.
	Violation func(err error)
}

// ErrStopped is what waiters get when the driver ends before their epoch.
var ErrStopped = errors.New("the dataflow was stopped")

// Driver runs a Core: it owns the goroutine in which the Core steps.
type Driver struct {
	core  *Core
	flow  Dataflow
	store Store
	clock Clock
	ev    Events

	mu     sync.Mutex
	inbox  []Message
	spare  []Message     // the last inbox, for reuse; Run's own
	wake   chan struct{} // capacity 1: there is something in inbox
	waits  []waiter
	marks  Marks
	ended  bool
	dirty  atomic.Bool // InputArrived was sent since the last injection
	commit sync.WaitGroup
}

// Marks are the three marks of the protocol at one moment.
type Marks struct{ Injected, Completed, Durable Epoch }

type waiter struct {
	epoch   Epoch
	durable bool
	done    chan error // capacity 1
}

// NewDriver makes a driver; Run starts it.
func NewDriver(core *Core, flow Dataflow, store Store, clock Clock, ev Events) *Driver {
	return &Driver{
		core: core, flow: flow, store: store, clock: clock, ev: ev, wake: make(chan struct{}, 1),
		marks: Marks{core.Injected(), core.Completed(), core.Durable()},
	}
}

// Send puts a message into the driver's mailbox. It never blocks.
func (d *Driver) Send(m Message) {
	d.mu.Lock()
	d.inbox = append(d.inbox, m)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// InputArrived tells the coordinator that the open epoch has input. Cheap when it knows already.
func (d *Driver) InputArrived() {
	if !d.dirty.Load() && d.dirty.CompareAndSwap(false, true) {
		d.Send(InputArrived{})
	}
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

// Run steps the core until ctx ends; then it awaits a running commit and fails all waiters.
func (d *Driver) Run(ctx context.Context) {
	var timerC <-chan time.Time
	stop := func() {}
	defer func() {
		stop()
		d.commit.Wait()
		d.end()
	}()
	for {
		d.mu.Lock()
		msgs := d.inbox
		d.inbox = d.spare[:0]
		d.mu.Unlock()
		d.spare = msgs
		for _, m := range msgs {
			timerC, stop = d.step(ctx, m, timerC, stop)
		}
		if len(msgs) > 0 {
			clear(msgs)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-timerC:
			timerC = nil
			timerC, stop = d.step(ctx, Tick{}, timerC, stop)
		}
	}
}

func (d *Driver) step(ctx context.Context, m Message, timerC <-chan time.Time, stop func()) (<-chan time.Time, func()) {
	now := d.clock.Now()
	actions, err := d.core.Step(m, now)
	if err != nil {
		if d.ev.Violation != nil {
			d.ev.Violation(err)
		}
		return timerC, stop
	}
	for _, a := range actions {
		switch a := a.(type) {
		case Inject:
			// Cleared first: input that arrives while the barrier is being injected belongs to
			// this epoch or the next; a report too many is harmless, a missing one is not.
			d.dirty.Store(false)
			d.flow.Inject(a.Epoch, a.Checkpoint, a.Mutation)
			d.setMarks(func(m *Marks) { m.Injected = a.Epoch })
		case Complete:
			if d.ev.Completed != nil {
				d.ev.Completed(a.Epoch)
			}
			d.setMarks(func(m *Marks) { m.Completed = a.Epoch })
		case Commit:
			d.commit.Go(func() {
				err := d.store.Commit(ctx, a.Epoch, a.States)
				d.Send(Committed{Epoch: a.Epoch, Err: err})
			})
		case Durable:
			if d.ev.Durable != nil {
				d.ev.Durable(a.Epoch)
			}
			d.setMarks(func(m *Marks) { m.Durable = a.Epoch })
		case CommitFailed:
			if d.ev.CommitFailed != nil {
				d.ev.CommitFailed(a.Epoch, a.Err)
			}
		case Gone:
			if d.ev.Gone != nil {
				d.ev.Gone(a.Actors, a.Completed, a.Saved)
			}
		case Held:
			if d.ev.Held != nil {
				d.ev.Held(a.Durable)
			}
		case SetTimer:
			stop()
			timerC, stop = nil, func() {}
			if !a.At.IsZero() {
				timerC, stop = d.clock.NewTimer(a.At.Sub(now))
			}
		}
	}
	return timerC, stop
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
