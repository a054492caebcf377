package flow

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/storage"
)

// pressed is a runtime with the table, whose operators may have so much memory, and which makes a checkpoint
// only when it is asked for.
func pressed(t *testing.T, memory int64) *world {
	return pressedWithClock(t, memory, checkpoint.SystemClock{})
}

func pressedWithClock(t *testing.T, memory int64, clock checkpoint.Clock) *world {
	store, err := storage.Open(storage.Config{Dir: "db", FS: storage.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Store: store, Logger: slog.New(slog.DiscardHandler), Clock: clock,
		Checkpoint: checkpoint.Config{BarrierInterval: time.Millisecond, CheckpointInterval: time.Hour},
		Failed:     func(f Failure) { t.Errorf("failure %+v", f) },
	}
	if memory > 0 {
		cfg.Memory = NewMemory(memory, store)
	}
	w := &world{t: t, store: store, rows: map[int64][2]int64{}, rt: NewRuntime(context.Background(), cfg)}
	w.rt.Start(checkpoint.Events{})
	t.Cleanup(func() {
		w.rt.Stop()
		w.must(store.Close())
	})
	w.deploy(w.tableJob())
	return w
}

// A writer waits before it writes while a view of the table does not follow, and can be cancelled.
func TestWriterWaitsForView(t *testing.T) {
	w := pressed(t, 0)
	block := make(chan struct{})
	w.deploy(hookedJob(7, 1, func(int) (*Node, error) {
		return &Node{Op: &hooked{chunk: func(context.Context) error { <-block; return nil }}, Name: "slow", In: []*Node{{}}}, nil
	}))
	jobs := []JobID{tableID}
	w.must(w.rt.Admit(context.Background(), jobs))
	for k := range int64(backlogChunks + 100) {
		w.write(insert(k))
	}
	ctx, cancel := context.WithCancel(context.Background())
	admitted := make(chan error, 2)
	go func() { admitted <- w.rt.Admit(ctx, jobs) }()
	for w.rt.Waits() < 1 {
		runtime.Gosched()
	}
	cancel()
	if err := <-admitted; !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	go func() { admitted <- w.rt.Admit(context.Background(), jobs) }()
	for w.rt.Waits() < 2 {
		runtime.Gosched()
	}
	close(block)
	w.must(<-admitted)
}

// What is not written yet is written when it is too much, and not only when the next checkpoint is due.
func TestMemoryDemandsCheckpoints(t *testing.T) {
	w := pressed(t, 1<<20)
	before := w.store.Checkpoint().Epoch
	for k := int64(0); w.store.Checkpoint().Epoch < before+3; k++ {
		w.must(w.rt.Admit(context.Background(), []JobID{tableID}))
		w.write(insert(k))
		if n := w.store.Unwritten(); n > 1<<20 {
			t.Fatalf("%d bytes are not written", n)
		}
	}
	w.must(w.rt.WaitDurable(context.Background(), w.rt.Open()))
	if n := w.store.Unwritten(); n != 0 {
		t.Errorf("%d bytes left", n)
	}
}

// A writer waits while an epoch takes very long: what it would write had to be done again after a crash.
func TestWriterWaitsForEpoch(t *testing.T) {
	clock := newFakeClock()
	w := pressedWithClock(t, 0, clock)
	block := make(chan struct{})
	w.deploy(hookedJob(7, 1, func(int) (*Node, error) {
		return &Node{Op: &hooked{chunk: func(context.Context) error { <-block; return nil }}, Name: "slow", In: []*Node{{}}}, nil
	}))
	w.write(insert(1))
	e := w.rt.Open()
	w.rt.RequestBarrier()
	for w.rt.Open() == e {
		runtime.Gosched()
	}
	w.must(w.rt.Admit(context.Background(), []JobID{tableID}))
	clock.advance(maxLag + 1)
	w.must(w.rt.Admit(context.Background(), nil)) // a read
	admitted := make(chan error, 1)
	go func() { admitted <- w.rt.Admit(context.Background(), []JobID{tableID}) }()
	for w.rt.Waits() < 1 {
		runtime.Gosched()
	}
	close(block)
	for {
		select {
		case err := <-admitted:
			w.must(err)
			return
		default:
			clock.advance(pressurePoll)
			runtime.Gosched()
		}
	}
}
