package flow

import (
	"context"
	"math"
	"testing"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// dueOp is an operator without inputs that is due a while after its first barrier.
type dueOp struct {
	ctx  *exec.Context
	out  exec.Output
	wait int64
	at   int64
	last int64
	// came gets the times of the barriers at which it was due.
	came chan int64
	back chan [2]int64
}

func (d *dueOp) Schema() []types.Type { return []types.Type{types.T(types.Int8)} }
func (d *dueOp) Open(ctx *exec.Context, out exec.Output) error {
	d.ctx, d.out, d.last = ctx, out, math.MinInt64
	ctx.Due(exec.NeverDue)
	return nil
}
func (d *dueOp) Chunk(int, *vec.Chunk) error         { return nil }
func (d *dueOp) Watermark(int, exec.Watermark) error { return nil }
func (d *dueOp) Close()                              {}
func (d *dueOp) Barrier(b exec.Barrier) error {
	if b.Time < d.last {
		d.back <- [2]int64{d.last, b.Time}
	}
	d.last = b.Time
	switch {
	case d.at == 0:
		d.at = b.Time + d.wait
	case b.Time >= d.at:
		d.came <- b.Time
		d.at = b.Time + d.wait
	}
	d.ctx.Due(d.at)
	return d.out.Barrier(b)
}

func dueJob(op *dueOp) *Job {
	return &Job{
		ID: 1, Name: "due", StateID: func(string) storage.TableID { return 1 }, Env: &exec.Env{},
		Fragments: []*Fragment{{Parallel: 1, Types: op.Schema(), Root: func(int) (*Node, error) { return &Node{Op: op, Name: "due"}, nil }}},
	}
}

// TestDue: barriers come when an operator is due, though nothing else asks for any.
func TestDue(t *testing.T) {
	w := newWorldWithClock(t, checkpoint.SystemClock{})
	op := &dueOp{wait: 20_000, came: make(chan int64, 100), back: make(chan [2]int64, 1)}
	if _, err := w.rt.Deploy(context.Background(), Save{}, dueJob(op)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case <-op.came:
		case b := <-op.back:
			t.Fatalf("time went from %d to %d", b[0], b[1])
		case f := <-w.failure:
			t.Fatal(f.Err)
		}
	}
	if err := w.rt.ClockSet(); err != nil {
		t.Fatal(err)
	}
}

// TestWaitFresh: a read that must be fresh makes an epoch if somebody is due, whatever the timekeeper does.
func TestWaitFresh(t *testing.T) {
	w := newWorldWithClock(t, checkpoint.SystemClock{})
	op := &dueOp{wait: 0, came: make(chan int64, 1000), back: make(chan [2]int64, 1)}
	deployed, err := w.rt.Deploy(context.Background(), Save{}, dueJob(op))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.rt.Wait(context.Background(), deployed); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now := MachineTime{}.Now()
		if err := w.rt.WaitFresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		if e := w.store.Completed(); w.rt.EpochTime(e) < now {
			t.Fatalf("epoch %d is of %d, the read began at %d", e, w.rt.EpochTime(e), now)
		}
	}
}
