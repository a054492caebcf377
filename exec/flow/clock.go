package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Time enters the dataflow here and nowhere else: a barrier carries the time of its epoch, which is read from the clock
// when the barrier is injected. Operators see no other time, so what they give is a function of the barriers and
// the rows.
//
// Epochs are not made because time passes, but because somebody is due: an operator says from when on it has something to do
// (exec.Context.Due). At that time the timekeeper asks for a barrier, and a read that must be fresh does so without
// waiting for the timekeeper.

// TimeSource is the clock that epochs get their times from. Times are timestamptz values.
type TimeSource interface {
	Now() int64
	// Until is how long it takes until the clock shows t; false if it does not go by itself.
	Until(t int64) (time.Duration, bool)
}

// MachineTime is the machine's clock.
type MachineTime struct{}

// Now gives the time of the machine.
func (MachineTime) Now() int64 { return types.FromGoTime(time.Now()) }

// Until is the difference to now.
func (c MachineTime) Until(t int64) (time.Duration, bool) {
	d := t - c.Now()
	if d > int64(time.Hour/time.Microsecond) {
		// The machine's clock may be set meanwhile.
		return time.Hour, true
	}
	return time.Duration(d) * time.Microsecond, true
}

// ErrTimeDependent is why the clock cannot go back.
var ErrTimeDependent = errors.New("flow: there are jobs that depend on time")

// epochTimeKey is where the time of the checkpoint's epoch is kept.
var epochTimeKey = []byte("epoch time")

// timekeeper is the part of a Runtime that knows the time.
type timekeeper struct {
	src TimeSource
	// mu guards dues.
	mu   sync.Mutex
	dues map[*due]struct{}
	// next is the smallest of dues.
	next atomic.Int64
	// wake tells the timekeeper's goroutine that next or the clock has changed (capacity 1).
	wake chan struct{}

	// last is the time of the newest epoch, times those of the newest epochs. Guarded by Runtime.inject.
	last  int64
	times []epochTime
}

type epochTime struct {
	epoch storage.Epoch
	time  int64
}

// keptTimes is for how many epochs the time is remembered.
const keptTimes = 1024

// due is when an operator is due.
type due struct {
	at int64
	k  *timekeeper
}

func (k *timekeeper) init(src TimeSource, store *storage.Store) error {
	if k.src = src; src == nil {
		k.src = MachineTime{}
	}
	k.dues, k.wake, k.last = map[*due]struct{}{}, make(chan struct{}, 1), math.MinInt64
	k.next.Store(exec.NeverDue)
	b, ok, err := store.Meta(epochTimeKey)
	if err != nil || !ok {
		return err
	}
	if len(b) != 8 {
		return fmt.Errorf("flow: the time of the checkpoint has %d bytes", len(b))
	}
	k.last = int64(binary.BigEndian.Uint64(b))
	return nil
}

// metaOf is what a checkpoint keeps of the time of its epoch.
func metaOf(t int64) storage.MetaOp {
	return storage.MetaOp{Key: epochTimeKey, Value: binary.BigEndian.AppendUint64(nil, uint64(t))}
}

// tick gives an epoch its time. Runtime.inject is held.
func (k *timekeeper) tick(e storage.Epoch) int64 {
	k.last = max(k.last, k.src.Now())
	if len(k.times) == 2*keptTimes {
		k.times = slices.Delete(k.times, 0, keptTimes)
	}
	k.times = append(k.times, epochTime{e, k.last})
	return k.last
}

// register adds an operator; it is due at once.
func (k *timekeeper) register() *due {
	d := &due{at: math.MinInt64, k: k}
	k.mu.Lock()
	k.dues[d] = struct{}{}
	k.mu.Unlock()
	k.update()
	return d
}

// set says when the operator is due.
func (d *due) set(at int64) {
	if d.at == at {
		return
	}
	d.k.mu.Lock()
	d.at = at
	d.k.mu.Unlock()
	d.k.update()
}

// forget removes an operator.
func (d *due) forget() {
	d.k.mu.Lock()
	delete(d.k.dues, d)
	d.k.mu.Unlock()
	d.k.update()
}

func (k *timekeeper) update() {
	k.mu.Lock()
	next := int64(exec.NeverDue)
	for d := range k.dues {
		next = min(next, d.at)
	}
	old := k.next.Swap(next)
	k.mu.Unlock()
	if next != old {
		k.nudge()
	}
}

func (k *timekeeper) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// keepTime asks for barriers when somebody is due, until the runtime ends.
func (r *Runtime) keepTime() {
	k := &r.time
	for {
		next := k.next.Load()
		var expired <-chan time.Time
		stop := func() {}
		if next != exec.NeverDue {
			now := k.src.Now()
			if next <= now {
				// Operators are due by the second, so that is how long the next one takes at least. (It also bounds what
				// barriers cost that are late because the dataflow is.)
				r.RequestBarrier()
				next = now + 1_000_000
			}
			if d, ok := k.src.Until(next); ok {
				expired, stop = r.cfg.Clock.NewTimer(max(d, time.Millisecond))
			}
		}
		select {
		case <-expired:
		case <-k.wake:
		case <-r.ctx.Done():
			stop()
			return
		}
		stop()
	}
}

// ClockSet tells the runtime that its TimeSource was set. Back it may go only while no job depends on time: the error is
// ErrTimeDependent then, and the time of epochs stands still until the clock has come to it.
func (r *Runtime) ClockSet() error {
	k := &r.time
	r.inject.Lock()
	defer r.inject.Unlock()
	defer k.nudge()
	now := k.src.Now()
	if now >= k.last {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.dues) > 0 {
		return ErrTimeDependent
	}
	k.last = now
	return nil
}

// Time is the time of the newest epoch, or that of the clock if it is later: a read that begins now sees all views at this
// second or later.
func (r *Runtime) Time() int64 {
	r.inject.Lock()
	defer r.inject.Unlock()
	return max(r.time.last, r.time.src.Now())
}

// EpochTime is the time that the barrier of an epoch had, as far as that is remembered; of older epochs, and those before
// the restart, the oldest that is known.
func (r *Runtime) EpochTime(e storage.Epoch) int64 {
	r.inject.Lock()
	defer r.inject.Unlock()
	ts := r.time.times
	i, ok := slices.BinarySearchFunc(ts, e, func(t epochTime, e storage.Epoch) int {
		switch {
		case t.epoch < e:
			return -1
		case t.epoch > e:
			return 1
		}
		return 0
	})
	switch {
	case ok:
		return ts[i].time
	case i > 0:
		return ts[i-1].time
	case len(ts) > 0:
		return ts[0].time
	}
	return r.time.last
}

// WaitFresh demands and awaits an epoch in which every write is that was acknowledged before the call, and what the
// passing of time changes in jobs up to the call.
func (r *Runtime) WaitFresh(ctx context.Context) error {
	return r.freshen(func(e storage.Epoch) error { return r.Wait(ctx, e) })
}

// freshen is WaitFresh with another way of waiting for an epoch.
func (r *Runtime) freshen(wait func(storage.Epoch) error) error {
	now := r.time.src.Now()
	for {
		late := r.time.next.Load() <= now
		r.inject.Lock()
		e := max(r.written, r.dueIn)
		if late {
			e = r.open
		}
		r.inject.Unlock()
		if err := wait(e); err != nil {
			return err
		}
		if late {
			return nil
		}
		// Rows that were on their way when the call began may be due already, or have been, in an epoch that is not complete.
		r.inject.Lock()
		in := r.dueIn
		r.inject.Unlock()
		if r.time.next.Load() > now {
			if in <= e {
				return nil
			}
			return wait(in)
		}
	}
}
