package flow

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/weirdb/weir/storage"
)

// snapshot pins in turn the newest complete epoch, the newest that everything has come to, and one that is not before what is
// written by now. While something restarts it is the first.
func (w *world) snapshot() *storage.Snapshot {
	w.t.Helper()
	turn := w.reads.Add(1) % 4
	if turn < 2 {
		snap, err := w.store.Latest()
		w.must(err)
		return snap
	}
	ids := []JobID{tableID}
	for _, v := range w.views {
		ids = append(ids, v.ID)
	}
	for _, s := range w.sources {
		ids = append(ids, s.jobID())
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		written, shown := w.rt.Written(), storage.Epoch(w.shown.Load())
		e, err := w.rt.ReadEpoch(ctx, turn == 3, ids)
		if err == nil {
			if turn == 3 && (e < written || e < shown) {
				w.t.Errorf("%v: a read at epoch %d, %d is written and %d was read", w.cfg, e, written, shown)
			}
			var snap *storage.Snapshot
			if snap, err = w.store.SnapshotAt(e); err == nil {
				if turn == 3 {
					raise(&w.shown, uint64(e))
				}
				return snap
			}
		}
		switch {
		case errors.Is(err, storage.ErrEpochGone):
			continue
		case !errors.Is(err, ErrRestarting):
			w.must(err)
		}
		snap, err := w.store.Latest()
		w.must(err)
		return snap
	}
}

// A job that stands still holds up reads of what it keeps, and of nothing else; a read of several relations is at an epoch that all of them
// have come to, and none is at an older one than one that has ended.
func TestReadsGoByFrontiers(t *testing.T) {
	// A slow consumer holds up its producers when its queue is full: it is not here.
	w := newWorld(t, worldConfig{parallel: 2, chunk: 4, queue: 100, portion: 10, barrier: 1 << 40, ckpt: 1 << 40})
	fast := w.finish(w.create("agg", tableID))
	block, ctx := make(chan struct{}), context.Background()
	w.deploy(hookedJob(7, 1, func(int) (*Node, error) {
		return &Node{Op: &hooked{chunk: func(context.Context) error { <-block; return nil }}, Name: "slow", In: []*Node{{}}}, nil
	}))
	all, quick := []JobID{tableID, fast.ID, 7}, []JobID{tableID, fast.ID}
	read := func(fresh bool, ids []JobID) storage.Epoch {
		t.Helper()
		e, err := w.rt.ReadEpoch(ctx, fresh, ids)
		w.must(err)
		snap, err := w.store.SnapshotAt(e)
		w.must(err)
		snap.Release()
		return e
	}
	var last storage.Epoch
	for k := range int64(50) {
		w.write(insert(k))
		e := read(true, quick)
		if e < w.rt.Written() || e <= last {
			t.Fatalf("a read at %d, after one at %d; %d is written", e, last, w.rt.Written())
		}
		last = e
	}
	if m := w.rt.Marks(); storage.Epoch(m.Completed) > last-50 {
		t.Errorf("%+v, and something stands still since 50 epochs", m)
	}
	if e := read(false, all); e > last-50 {
		t.Errorf("a read of everything at %d", e)
	}
	slow := make(chan storage.Epoch, 1)
	go func() {
		e, err := w.rt.ReadEpoch(ctx, true, all)
		if err != nil {
			t.Error(err)
		}
		slow <- e
	}()
	stopped, cancel := context.WithCancelCause(ctx)
	waits := make(chan error, 1)
	go func() {
		_, err := w.rt.ReadEpoch(stopped, true, []JobID{7})
		waits <- err
	}()
	for w.rt.frontiers.waiting.Load() < 2 {
		runtime.Gosched()
	}
	select {
	case e := <-slow:
		t.Fatalf("a read of what stands still at %d", e)
	default:
	}
	why := errors.New("cancelled")
	cancel(why)
	if err := <-waits; !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	close(block)
	if e := <-slow; e < last {
		t.Errorf("a read at %d after one at %d", e, last)
	}
	if n := w.rt.frontiers.waiting.Load(); n != 0 {
		t.Errorf("%d waits are left", n)
	}
	w.await(w.rt.Open())
	w.check()
}
