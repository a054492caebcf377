package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// fakeClock stands still until it is advanced.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*fakeTimer]bool
}

type fakeTimer struct {
	at time.Time
	c  chan time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Unix(1000, 0), timers: map[*fakeTimer]bool{}}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &fakeTimer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	c.timers[t] = true
	c.fire()
	return t.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

func (c *fakeClock) fire() {
	for t := range c.timers {
		if !t.at.After(c.now) {
			delete(c.timers, t)
			t.c <- c.now
		}
	}
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.fire()
}

// until waits for a condition that other goroutines bring about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("never: " + what)
		}
	}
}

func (s *fakeSource) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.told)
}

// A split that fails stands still, is told of once, and goes on where it was when it works again; the
// others go on meanwhile. Also when it cannot even be opened at a start.
func TestFailingSplit(t *testing.T) {
	cfg := worldConfig{parallel: 1, chunk: 4, queue: 1, portion: 10, barrier: time.Millisecond, ckpt: time.Hour, sources: 1, splits: 3}
	w := newWorld(t, cfg)
	s := w.sources[0].(*fakeSource)
	w.finish(w.create("rows", s.id))
	w.finish(w.create("srcagg", s.id))
	rows := func() int {
		w.await(w.rt.Open())
		snap, err := w.store.Latest()
		w.must(err)
		defer snap.Release()
		return len(fill(t, snap.Table(100), tableTypes))
	}
	fail := func(split int, err error) {
		s.change(split, func() { s.broken[split] = err })
	}
	s.add(0, 10)
	s.add(1, 10)
	until(t, "20 rows", func() bool { return rows() == 20 })
	fail(1, errors.New("cable cut"))
	s.add(1, 5)
	s.add(0, 5)
	until(t, "25 rows", func() bool { return rows() == 25 })
	until(t, "split 1 failed", func() bool { return len(s.heard()) > 0 })
	w.durable(w.rt.Open())
	w.check()

	// A restart while it fails: the position is kept though there is no reader.
	w.stop()
	w.start()
	until(t, "split 1 failed again", func() bool { return len(s.heard()) > 1 })
	s.add(2, 3)
	until(t, "28 rows", func() bool { return rows() == 28 })
	w.durable(w.rt.Open())
	w.check()
	w.stop()
	fail(1, nil)
	w.start()
	until(t, "33 rows", func() bool { return rows() == 33 })
	w.check()
	if got, want := fmt.Sprint(s.heard()), "[1: cable cut 1: cable cut]"; got != want {
		t.Errorf("told %v, want %v", got, want)
	}
}

// A failed split is tried again later and later, and it is told only when something changes.
func TestFailedSplitIsTriedAgain(t *testing.T) {
	clock := newFakeClock()
	s := newFakeSource(10, 1)
	s.broken[0] = errors.New("no such host")
	w := newWorldWithClock(t, clock)
	w.sources = []testSource{s}
	keep := hookedJob(7, 1, func(int) (*Node, error) { return &Node{Op: &hooked{}, In: []*Node{{}}}, nil })
	keep.Fragments[0].Inputs[0] = Input{Job: s.id, Fragment: 0}
	w.deploy(sourceJob(s), keep)
	// due tells whether somebody is due in so long; the coordinator has timers as well.
	due := func(in time.Duration) bool {
		clock.mu.Lock()
		defer clock.mu.Unlock()
		for tm := range clock.timers {
			if tm.at.Sub(clock.now) == in {
				return true
			}
		}
		return false
	}
	opened := func(n int, pause time.Duration) {
		t.Helper()
		until(t, fmt.Sprintf("opened %d times", n), func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.opened == n
		})
		// The timer is set after the attempt.
		until(t, "timer", func() bool { return due(pause) })
	}
	pauses := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}
	opened(1, time.Second)
	for i, pause := range pauses[:8] {
		clock.advance(pause*time.Second - 1)
		if !due(1) {
			t.Fatalf("attempt %d before its time", i+2)
		}
		clock.advance(1)
		opened(i+2, pauses[i+1]*time.Second)
	}
	s.change(0, func() { s.broken[0] = errors.New("permission denied") })
	clock.advance(time.Minute)
	opened(10, time.Minute)
	s.change(0, func() { s.broken[0] = nil })
	clock.advance(time.Minute)
	until(t, "it works", func() bool { return len(s.heard()) == 3 })
	if got, want := fmt.Sprint(s.heard()), "[0: no such host 0: permission denied 0: <nil>]"; got != want {
		t.Errorf("told %v, want %v", got, want)
	}
	// And when it fails for the first time again, the pause is short again.
	s.change(0, func() { s.broken[0] = errors.New("gone") })
	until(t, "it failed", func() bool { return len(s.heard()) == 4 })
	until(t, "timer", func() bool { return due(time.Second) })
}

// A snapshot that is open can ask how far a source was at its epoch, however long ago that is.
func TestPositionsOfPinnedEpochs(t *testing.T) {
	w := newWorld(t, worldConfig{parallel: 1, chunk: 4, queue: 1, portion: 10, barrier: time.Millisecond, ckpt: time.Hour, sources: 1, splits: 2})
	s := w.sources[0].(*fakeSource)
	w.finish(w.create("rows", s.id))
	at := func(n int64) bool {
		w.await(w.rt.Open())
		ps, ok := w.rt.SourcePositions(s.id, w.store.Completed())
		return ok && ps[0].Rows+ps[1].Rows == n
	}
	s.add(0, 5)
	until(t, "5 rows", func() bool { return at(5) })
	snap, err := w.store.Latest()
	w.must(err)
	s.add(1, 6)
	until(t, "11 rows", func() bool { return at(11) })
	for range 20 {
		w.await(w.rt.Open())
	}
	ps, ok := w.rt.SourcePositions(s.id, snap.Epoch())
	if !ok || ps[0].Rows != 5 || ps[1].Rows != 0 {
		t.Errorf("at the snapshot: %+v %t", ps, ok)
	}
	snap.Release()
	w.await(w.rt.Open())
	w.await(w.rt.Open())
	d := w.rt.job(s.id).sources
	d.mu.Lock()
	defer d.mu.Unlock()
	for split, ps := range d.by {
		if len(ps) > 4 {
			t.Errorf("split %d: %d positions are kept", split, len(ps))
		}
	}
	if _, ok := w.rt.SourcePositions(999, 1); ok {
		t.Error("positions of a job that does not run")
	}
}

// A source that nobody reads from stands still.
func TestSourceWithoutReaders(t *testing.T) {
	w := newWorld(t, worldConfig{parallel: 1, chunk: 4, queue: 1, portion: 10, barrier: time.Millisecond, ckpt: time.Hour, sources: 1, splits: 1})
	s := w.sources[0].(*fakeSource)
	s.add(0, 100)
	for range 5 {
		w.await(w.rt.Open())
	}
	if ps, ok := w.rt.SourcePositions(s.id, w.store.Completed()); !ok || ps[0].Rows != 0 {
		t.Errorf("positions %v %t", ps, ok)
	}
	v := w.finish(w.create("rows", s.id))
	until(t, "all rows", func() bool {
		w.await(w.rt.Open())
		ps, _ := w.rt.SourcePositions(s.id, w.store.Completed())
		return ps[0].Rows == 100
	})
	w.check()
	if _, err := w.rt.Remove(context.Background(), Save{}, v.ID); err != nil {
		t.Fatal(err)
	}
}
