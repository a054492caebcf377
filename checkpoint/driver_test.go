package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// oneHost is a worker whose actors pass every barrier at once. slow ones wait until they are let go.
type oneHost struct {
	d *Driver
	w *Worker

	mu        sync.Mutex
	actors    []ActorID
	slow      map[ActorID]bool
	waiting   map[ActorID][]Epoch
	kinds     map[Epoch]Kind
	mutations []string
	saved     []Epoch
	handed    []StateRef
	err       error
}

func (h *oneHost) start() {
	h.w = NewWorker(WorkerConfig{Worker: "w", Incarnation: h.d.Incarnation()})
	h.w.Start(time.Time{})
	h.d.Send(RegisterWorker{Worker: "w", Incarnation: h.d.Incarnation()})
}

func (h *oneHost) Deliver(m Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.step(m)
}

func (h *oneHost) step(m Message) {
	as, err := h.w.Step(m, time.Time{})
	if err != nil {
		h.err = errors.Join(h.err, err)
		return
	}
	for _, a := range slices.Clone(as) {
		s, ok := a.(Send)
		if !ok {
			continue
		}
		switch m := s.Message.(type) {
		case InitiateCheckpoint:
			h.initiate(m)
		case InstanceCheckpointSaved:
			h.saved = append(h.saved, m.Epoch)
		case StopInstance:
			h.step(InstanceEnded{Actor: m.Actor, State: ActorCanceled})
		case RegisterWorker, RestoreInstanceState, StartInstanceProcessing:
		default:
			h.d.Send(m)
		}
	}
}

func (h *oneHost) initiate(m InitiateCheckpoint) {
	h.kinds[m.Epoch] = m.Kind
	mut, _ := m.Mutation.(*hostMutation)
	if mut != nil {
		h.mutations = append(h.mutations, mut.name)
		h.actors = append(h.actors, mut.add...)
	}
	for _, a := range h.actors {
		if h.slow[a] {
			h.waiting[a] = append(h.waiting[a], m.Epoch)
		} else {
			h.pass(a, m.Epoch)
		}
	}
	if mut != nil {
		h.actors = slices.DeleteFunc(h.actors, func(a ActorID) bool { return slices.Contains(mut.remove, a) })
	}
}

func (h *oneHost) pass(a ActorID, e Epoch) {
	m := StoreInstanceState{Actor: a, Epoch: e}
	if h.kinds[e] != KindEpoch {
		m.State = &StateRef{Native: fmt.Sprintf("%d@%d", a, e)}
		h.handed = append(h.handed, StateRef{Actor: a, Epoch: e, Native: m.State.Native})
	}
	h.step(m)
}

// letGo lets a slow actor pass what it has put off.
func (h *oneHost) letGo(a ActorID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slow[a] = false
	for _, e := range h.waiting[a] {
		h.pass(a, e)
	}
	h.waiting[a] = nil
}

type hostMutation struct {
	name        string
	add, remove []ActorID
}

func (m *hostMutation) message() Mutate {
	return Mutate{Mutation: m, Add: m.add, Remove: m.remove}
}

// oneStore notes what is committed; the first commit fails, and while it is held none comes to an end.
type oneStore struct {
	hold      sync.Mutex
	mu        sync.Mutex
	tries     int
	committed []Epoch
	states    []string
}

func (s *oneStore) Commit(_ context.Context, e Epoch, states []StateRef, _ KeeperState) error {
	s.hold.Lock()
	defer s.hold.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries++; s.tries == 1 {
		return errors.New("disk full")
	}
	s.committed = append(s.committed, e)
	for _, st := range states {
		s.states = append(s.states, st.Native.(string))
	}
	return nil
}

// fastClock lets short timers fire at once, so that nothing is waited for, and long ones never.
type fastClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fastClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fastClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= time.Second {
		c.now = c.now.Add(d)
		ch <- c.now
	}
	return ch, func() {}
}

// TestCoordinatorDiesAnywhere runs one story of everything that clients can ask for, once for each point at which the coordinator
// can die in it: after so many steps, counted from the beginning of each chapter. Nobody gets an error; each mutation takes effect once, each state is in one checkpoint, epochs complete and
// checkpoints become durable in order, and every question has one answer.
func TestCoordinatorDiesAnywhere(t *testing.T) {
	for chapter := range 8 {
		for at := 1; at <= 25; at++ {
			died, err := dieAt(chapter, at)
			if err != nil {
				t.Fatalf("chapter %d, died at %d: %v", chapter, at, err)
			}
			if !died {
				t.Errorf("chapter %d is over before step %d", chapter, at)
			}
		}
	}
}

func dieAt(chapter, at int) (died bool, err error) {
	var mu sync.Mutex
	var completed, durable []Epoch
	var gone, held, deaths int
	var violation error
	heldC, goneC := make(chan struct{}, 10), make(chan struct{}, 10)
	h := &oneHost{slow: map[ActorID]bool{}, waiting: map[ActorID][]Epoch{}, kinds: map[Epoch]Kind{}}
	store := &oneStore{}
	locked := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	h.d = NewDriver(DriverConfig{
		Coordinator: CoordinatorConfig{
			Config: Config{BarrierInterval: time.Hour, CheckpointInterval: time.Hour}, Workers: []WorkerID{"w"}, Keep: -1,
			LocalFailover: true, Resend: time.Minute,
		},
		Host: h, Store: store, Clock: &fastClock{now: time.Unix(0, 0)},
		Events: Events{
			Completed: func(e Epoch) { locked(func() { completed = append(completed, e) }) },
			Durable:   func(e Epoch) { locked(func() { durable = append(durable, e) }) },
			Gone:      func([]ActorID, Epoch, Epoch) { locked(func() { gone++ }); goneC <- struct{}{} },
			Held:      func(Epoch) { locked(func() { held++ }); heldC <- struct{}{} },
			Died:      func(any) { locked(func() { deaths++ }) },
			Violation: func(err error) { locked(func() { violation = errors.Join(violation, err) }) },
		},
	})
	d := h.d
	begin := func(n int) {
		if n == chapter {
			d.Kill(at)
		}
	}
	begin(0)
	h.start()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	run := make(chan struct{})
	go func() {
		defer close(run)
		d.Run(ctx)
	}()
	story := func() error {
		d.Send((&hostMutation{name: "one", add: []ActorID{1, 2}}).message())
		if err := d.Wait(ctx, 1); err != nil {
			return err
		}
		begin(1)
		d.InputArrived()
		if err := d.WaitDurable(ctx, 2); err != nil {
			return err
		}
		begin(2)
		d.Send((&hostMutation{name: "two", add: []ActorID{3}}).message())
		h.mu.Lock()
		h.slow[2] = true
		h.mu.Unlock()
		d.Send(CheckpointDemand{Epoch: d.Marks().Injected + 1})
		d.Send((&hostMutation{name: "three", add: []ActorID{4}, remove: []ActorID{1}}).message())
		begin(3)
		d.Send(Hold{On: true})
		d.Send(Lost{Actors: []ActorID{3}})
		if err := heard(ctx, goneC); err != nil {
			return err
		}
		begin(4)
		h.letGo(2)
		if err := heard(ctx, heldC); err != nil {
			return err
		}
		begin(5)
		if err := d.Wait(ctx, d.Marks().Injected+1); err != nil {
			return err
		}
		d.Send(Hold{})
		if err := d.WaitDurable(ctx, d.Marks().Injected+1); err != nil {
			return err
		}
		// Two checkpoints wait for the store when it happens.
		store.hold.Lock()
		e := d.Marks().Injected
		for i := range 2 {
			d.Send(CheckpointDemand{Epoch: e + Epoch(i) + 1})
			if err := d.Wait(ctx, e+Epoch(i)+1); err != nil {
				store.hold.Unlock()
				return err
			}
		}
		begin(6)
		var err error
		for i := range 10 {
			err = errors.Join(err, d.Wait(ctx, e+Epoch(i)+3))
		}
		store.hold.Unlock()
		if err != nil {
			return err
		}
		begin(7)
		for range 20 {
			// As many steps as it takes.
			if chapter < 7 {
				break
			}
			if err := d.WaitDurable(ctx, d.Marks().Injected+1); err != nil {
				return err
			}
		}
		return nil
	}
	err = story()
	cancel()
	<-run
	marks := d.Marks()
	err = errors.Join(err, violation, h.err)
	if err != nil {
		return false, err
	}
	for i, e := range completed {
		if e != Epoch(i+1) {
			return false, fmt.Errorf("completed %v", completed)
		}
	}
	if !slices.IsSorted(durable) || len(slices.Compact(slices.Clone(durable))) != len(durable) || marks.Durable != durable[len(durable)-1] {
		return false, fmt.Errorf("durable %v, marks %+v", durable, marks)
	}
	if !slices.Equal(h.mutations, []string{"one", "two", "three"}) {
		return false, fmt.Errorf("mutations %v", h.mutations)
	}
	if gone != 1 || held != 1 {
		return false, fmt.Errorf("gone %d, held %d", gone, held)
	}
	if !slices.IsSorted(store.committed) || !slices.IsSorted(h.saved) {
		return false, fmt.Errorf("committed %v, told %v", store.committed, h.saved)
	}
	slices.Sort(store.states)
	if len(slices.Compact(slices.Clone(store.states))) != len(store.states) {
		return false, fmt.Errorf("states %v", store.states)
	}
	for _, s := range h.handed {
		if s.Actor != 3 && s.Epoch <= marks.Durable && !slices.Contains(store.states, s.Native.(string)) {
			return false, fmt.Errorf("state %v is in no checkpoint: %v", s.Native, store.states)
		}
	}
	return deaths > 0, nil
}

func heard(ctx context.Context, c chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
