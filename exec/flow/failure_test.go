package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// hooked is an operator that passes everything on, except where a hook says otherwise.
type hooked struct {
	open, chunk, barrier, after func(ctx context.Context) error

	ctx    *exec.Context
	out    exec.Output
	closed *atomic.Int32
}

func (h *hooked) call(f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(h.ctx.Ctx)
}

func (h *hooked) Schema() []types.Type { return tableTypes }
func (h *hooked) Open(ctx *exec.Context, out exec.Output) error {
	h.ctx, h.out = ctx, out
	return h.call(h.open)
}

func (h *hooked) Chunk(_ int, c *vec.Chunk) error {
	if err := h.call(h.chunk); err != nil {
		return err
	}
	return h.out.Chunk(c)
}
func (h *hooked) Watermark(_ int, w exec.Watermark) error { return h.out.Watermark(w) }
func (h *hooked) Barrier(b exec.Barrier) error {
	if err := h.call(h.barrier); err != nil {
		return err
	}
	return h.out.Barrier(b)
}
func (h *hooked) AfterBarrier(exec.Barrier) error { return h.call(h.after) }

func (h *hooked) Close() {
	if h.closed != nil {
		h.closed.Add(1)
	}
}

// hookedJob reads the table through operators of two fragments, the first of which is hooked.
func hookedJob(id JobID, parallel int, root func(i int) (*Node, error)) *Job {
	return &Job{
		ID: id, Name: fmt.Sprintf("j%d", id), StateID: func(string) storage.TableID { return storage.TableID(id) },
		Fragments: []*Fragment{
			{ID: 0, Parallel: parallel, Types: tableTypes, Root: root, Inputs: []Input{
				{Job: tableID, Fragment: -1, Dist: Dist{Kind: ToHash, Cols: []int{0}}},
			}},
			{ID: 1, Parallel: 1, Types: tableTypes, Inputs: []Input{{Job: id, Fragment: 0}}, Root: func(int) (*Node, error) {
				return &Node{Op: &hooked{}, Name: "pass", In: []*Node{{}}}, nil
			}},
		},
	}
}

func quiet(t *testing.T) *world {
	return newWorld(t, worldConfig{parallel: 2, chunk: 4, queue: 1, portion: 10, barrier: time.Millisecond, ckpt: time.Hour})
}

func (w *world) deploy(js ...*Job) storage.Epoch {
	w.t.Helper()
	e, err := w.rt.Deploy(context.Background(), Save{}, js...)
	w.must(err)
	return e
}

func insert(k int64) []rowWrite { return []rowWrite{{K: k, New: &[2]int64{1, 2}}} }

// An operator that fails or panics, anywhere, ends the runtime: it is reported once, with the job, who
// waits is told, and every operator is closed.
func TestFailingOperator(t *testing.T) {
	bad := errors.New("bad operator")
	fails := func(context.Context) error { return bad }
	panics := func(context.Context) error { panic(bad) }
	cases := map[string]func(h *hooked) error{
		"open":          func(h *hooked) error { h.open = fails; return nil },
		"open panics":   func(h *hooked) error { h.open = panics; return nil },
		"chunk":         func(h *hooked) error { h.chunk = fails; return nil },
		"chunk panics":  func(h *hooked) error { h.chunk = panics; return nil },
		"barrier":       func(h *hooked) error { h.barrier = fails; return nil },
		"barrier panic": func(h *hooked) error { h.barrier = panics; return nil },
		"after barrier": func(h *hooked) error { h.after = fails; return nil },
		"root":          func(*hooked) error { return bad },
	}
	for name, set := range cases {
		t.Run(name, func(t *testing.T) {
			w := quiet(t)
			var closed atomic.Int32
			_, err := w.rt.Deploy(context.Background(), Save{}, hookedJob(7, 3, func(i int) (*Node, error) {
				good := &Node{Op: &hooked{closed: &closed}, Name: "good", In: []*Node{{}}}
				if i != 1 {
					return good, nil
				}
				h := &hooked{closed: &closed}
				if err := set(h); err != nil {
					return nil, err
				}
				// The failing one is opened after the good one, which must be closed nevertheless.
				return &Node{Op: good.Op, Name: "good", In: []*Node{{Op: h, Name: "bad", In: []*Node{{}}}}}, nil
			}))
			if err != nil && !errors.Is(err, checkpoint.ErrStopped) {
				t.Fatal(err)
			}
			for k := range int64(50) {
				if err := w.rt.Write(0, []TableWrite{tableWrite(insert(k))}); err != nil {
					break
				}
			}
			if err := w.rt.Wait(context.Background(), w.rt.Open()); !errors.Is(err, checkpoint.ErrStopped) {
				t.Errorf("wait: %v", err)
			}
			f := <-w.failure
			if f.Job != 7 || !strings.Contains(f.Err.Error(), "bad operator") {
				t.Errorf("failure %+v", f)
			}
			if !strings.Contains(name, "panic") && !errors.Is(f.Err, bad) {
				t.Errorf("the error is not wrapped: %v", f.Err)
			}
			w.rt.Stop()
			want := int32(4)
			switch name {
			case "root":
				want = 2
			case "open", "open panics":
				want = 3
			}
			if n := closed.Load(); n != want {
				t.Errorf("%d operators closed, want %d", n, want)
			}
			select {
			case f := <-w.failure:
				t.Errorf("second failure %+v", f)
			default:
			}
			if _, err := w.rt.Deploy(context.Background(), Save{}, hookedJob(8, 1, nil)); !errors.Is(err, checkpoint.ErrStopped) {
				t.Errorf("deploy after the failure: %v", err)
			}
		})
	}
}

// An actor that gives up because the context has ended does not leave its producer waiting for room.
func TestStopAfterContextEnds(t *testing.T) {
	store, err := storage.Open(storage.Config{Dir: "db", FS: storage.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithCancel(context.Background())
	rt := NewRuntime(ctx, Config{
		Store: store, Logger: slog.New(slog.DiscardHandler), QueueChunks: 1,
		Failed: func(f Failure) { t.Errorf("failure %+v", f) },
	})
	rt.Start(checkpoint.Events{})
	w := &world{t: t, store: store, rt: rt}
	stuck := make(chan struct{})
	var once sync.Once
	w.deploy(w.tableJob(), hookedJob(7, 1, func(int) (*Node, error) {
		return &Node{Op: &hooked{chunk: func(ctx context.Context) error {
			once.Do(func() { close(stuck) })
			<-ctx.Done()
			return ctx.Err()
		}}, In: []*Node{{}}}, nil
	}))
	for k := range int64(10) {
		w.must(rt.Write(0, []TableWrite{tableWrite(insert(k))}))
	}
	<-stuck
	cancel()
	// The actor ends; only then is the runtime stopped.
	for {
		rt.inject.Lock()
		n := len(rt.live)
		rt.inject.Unlock()
		if n < 3 {
			break
		}
	}
	rt.Stop()
}

// fullFS is a file system that may have no room left.
type fullFS struct {
	storage.FS
	full atomic.Bool
}

func (fs *fullFS) GetDiskUsage(string) (storage.DiskUsage, error) {
	if fs.full.Load() {
		return storage.DiskUsage{}, nil
	}
	return storage.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40}, nil
}

// What a checkpoint should have saved is part of the next one that can be written, and the log position
// is that of the checkpoint that was written.
func TestCheckpointThatCannotBeWritten(t *testing.T) {
	fs := &fullFS{FS: storage.MemFS()}
	open := func() *storage.Store {
		s, err := storage.Open(storage.Config{Dir: "db", FS: fs, ReserveBytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	store := open()
	clock := newFakeClock()
	failed := make(chan checkpoint.Epoch, 100)
	rt := NewRuntime(context.Background(), Config{
		Store: store, Logger: slog.New(slog.DiscardHandler), Clock: clock,
		Checkpoint: checkpoint.Config{BarrierInterval: 1 << 20 * time.Hour, CheckpointInterval: 1 << 20 * time.Hour},
		Failed:     func(f Failure) { t.Errorf("failure %+v", f) },
	})
	rt.Start(checkpoint.Events{CommitFailed: func(e checkpoint.Epoch, err error) {
		failed <- e
	}})
	w := &world{t: t, store: store, rt: rt, rows: map[int64][2]int64{}}
	w.deploy(w.tableJob())
	w.write(insert(1))
	fs.full.Store(true)
	of := func(key string) Save {
		return Save{Meta: []storage.MetaOp{{Key: []byte(key), Value: []byte("x")}}}
	}
	// until lets the time go on until something has ended.
	until := func(f func() error) error {
		done := make(chan error, 1)
		go func() { done <- f() }()
		for {
			select {
			case err := <-done:
				return err
			case <-failed:
			default:
				runtime.Gosched()
			}
			clock.advance(time.Second)
		}
	}
	w.must(rt.SaveLater(t.Context(), of("a")))
	<-failed
	w.write(insert(2))
	// The second one waits behind the first, which is tried again and fails again.
	w.must(rt.SaveLater(t.Context(), of("b")))
	last := rt.Open() - 1
	clock.advance(time.Second)
	<-failed
	// Who waits is told, and nothing of his is saved later.
	if err := until(func() error { return rt.Save(t.Context(), of("c")) }); sqlerr.From(err).Code != sqlerr.DiskFull {
		t.Errorf("saving on a full disk: %v", err)
	}
	// Who is cancelled first neither.
	ctx, cancel := context.WithCancelCause(t.Context())
	cancelled := errors.New("cancelled")
	cancel(cancelled)
	if err := rt.Save(ctx, of("d")); !errors.Is(err, cancelled) && !errors.Is(err, context.Canceled) {
		t.Errorf("saving for nobody: %v", err)
	}
	if hasMeta(t, store, "a") || hasMeta(t, store, "b") {
		t.Fatal("a failed checkpoint has saved something")
	}
	fs.full.Store(false)
	w.write(insert(3))
	w.must(until(func() error { return rt.WaitDurable(t.Context(), last) }))
	rt.inject.Lock()
	if len(rt.saves) > 0 || len(rt.logAt) > 0 {
		t.Errorf("left over: %v %v", rt.saves, rt.logAt)
	}
	rt.inject.Unlock()
	rt.Stop()
	w.must(store.Close())
	store = open()
	defer store.Close()
	if !hasMeta(t, store, "a") || !hasMeta(t, store, "b") {
		t.Error("metadata was lost")
	}
	if hasMeta(t, store, "c") || hasMeta(t, store, "d") {
		t.Error("what was refused was saved")
	}
	if p := store.Checkpoint().LogPos; p != 2 {
		t.Errorf("log position %d, want 2: the third write came after the checkpoint", p)
	}
	if rows := fill(t, mustVersion(t, store), tableTypes); len(rows) != 2 {
		t.Errorf("rows %v", rows)
	}
}

func hasMeta(t *testing.T, s *storage.Store, key string) bool {
	_, ok, err := s.Meta([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func mustVersion(t *testing.T, s *storage.Store) *storage.Version {
	snap, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(snap.Release)
	return snap.Table(tableID)
}

// Changes of the graph that make no sense are refused and change nothing.
func TestRefusedChanges(t *testing.T) {
	w := quiet(t)
	ctx := context.Background()
	pass := func(int) (*Node, error) { return &Node{Op: &hooked{}, In: []*Node{{}}}, nil }
	w.deploy(hookedJob(7, 2, pass))
	over := hookedJob(8, 2, pass)
	over.Fragments[0].Inputs[0].Job = 7
	w.deploy(over)
	orphan := hookedJob(10, 1, pass)
	orphan.Fragments[0].Inputs[0].Job = 99
	peers := hookedJob(10, 3, pass)
	peers.Fragments[0].Inputs[0].Job = 8
	peers.Fragments[0].Inputs[0].Dist.Kind = ToPeer
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, f := range map[string]func() error{
		"deployed already": func() error { _, err := w.rt.Deploy(ctx, Save{}, hookedJob(7, 1, pass)); return err },
		"job 99 is not running": func() error {
			// The first of the two is not deployed either.
			_, err := w.rt.Deploy(ctx, Save{}, hookedJob(9, 1, pass), orphan)
			return err
		},
		"0 actors":      func() error { _, err := w.rt.Deploy(ctx, Save{}, hookedJob(9, 0, pass)); return err },
		"producers for": func() error { _, err := w.rt.Deploy(ctx, Save{}, peers); return err },
		"j8 reads from": func() error { _, err := w.rt.Remove(ctx, Save{}, 7); return err },
		"canceled":      func() error { _, err := w.rt.Remove(cancelled, Save{}, 8); return err },
		"not running":   func() error { return w.rt.Write(0, []TableWrite{{Job: 50}, tableWrite(insert(1))}) },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, jobs := w.rt.Running(); jobs != 3 || !w.rt.Has(8) || w.rt.Has(9) || w.rt.Has(10) {
		t.Errorf("%d jobs", jobs)
	}
	// The write that names a table that is not there has reached the one that is.
	w.await(w.rt.Written())
	if rows := fill(t, mustVersion(t, w.store), tableTypes); len(rows) != 1 {
		t.Errorf("rows %v", rows)
	}
	// Removed actors end and are forgotten.
	if _, err := w.rt.Remove(ctx, Save{}, 8, 7, 12345); err != nil {
		t.Fatal(err)
	}
	w.await(w.rt.Open())
	for {
		w.rt.inject.Lock()
		n := len(w.rt.live)
		w.rt.inject.Unlock()
		if n == 1 {
			break
		}
	}
	unstarted := NewRuntime(ctx, Config{Store: w.store, Logger: slog.New(slog.DiscardHandler)})
	defer unstarted.Stop()
	if _, err := unstarted.Deploy(ctx, Save{}, w.tableJob()); !errors.Is(err, errNotStarted) {
		t.Error(err)
	}
}
