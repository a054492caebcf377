package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

func noAlignment(e storage.Epoch) AlignmentStats { return AlignmentStats{Epoch: e} }

// A History tells what became of each checkpoint, and forgets the oldest.
func TestHistory(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(100, 0).Add(time.Duration(ms) * time.Millisecond) }
	h := NewHistory()
	h.begin(1, checkpoint.KindCheckpoint, at(0))
	h.begin(2, checkpoint.KindEpoch, at(1))
	h.begin(3, checkpoint.KindCheckpoint, at(2))
	h.begin(4, checkpoint.KindSavepoint, at(3))
	h.passed(1, ActorName{ID: 7, Name: "v", Fragment: 1})
	h.passed(1, ActorName{ID: 8, Name: "v", Fragment: 2})
	h.completed(1, func(e storage.Epoch) AlignmentStats { return AlignmentStats{Epoch: e, Aligned: 5, Buffered: 6} })
	h.written(1, 1000)
	h.saved(1, at(10))
	h.aborted(3, "an actor was lost", at(12))
	h.completed(4, noAlignment)
	h.failed(4, errors.New("disk full"), at(15))
	h.begin(5, checkpoint.KindEpoch, at(16))
	check := func(want string) {
		t.Helper()
		var lines []string
		for _, r := range h.records(at(20)) {
			lines = append(lines, strings.TrimSpace(strings.Join([]string{
				r.Kind.String(), string(r.State), r.Duration.String(), r.Slowest.String(), r.Problem,
			}, "|")))
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	check(`checkpoint|committed|10ms|v fragment 2 actor 8|
checkpoint|aborted|10ms||an actor was lost
savepoint|failed|12ms||disk full
epoch|in flight|4ms||`)
	h.begin(6, checkpoint.KindCheckpoint, at(17))
	h.completed(5, noAlignment)
	h.completed(6, noAlignment)
	h.saved(6, at(19))
	check(`checkpoint|committed|10ms|v fragment 2 actor 8|
checkpoint|aborted|10ms||an actor was lost
savepoint|committed|16ms||
checkpoint|committed|2ms||`)
	want := CheckpointTotals{
		Committed: 3, Failed: 1, Aborted: 1, Bytes: 1000, Time: 28 * time.Millisecond, Last: 2 * time.Millisecond, Aligned: 5, Buffered: 6,
	}
	if got, n := h.Totals(); got != want || n != 0 {
		t.Errorf("%+v with %d in flight, want %+v", got, n, want)
	}
	h.begin(7, checkpoint.KindCheckpoint, at(20))
	h.ended(at(21))
	if rs := h.records(at(30)); rs[len(rs)-1].State != CheckpointAborted || rs[len(rs)-1].Duration != time.Millisecond {
		t.Errorf("%+v", rs[len(rs)-1])
	}
	for e := storage.Epoch(8); e < 300; e++ {
		h.begin(e, checkpoint.KindCheckpoint, at(30))
	}
	h.completed(300, noAlignment)
	if rs := h.records(at(40)); len(rs) != keptCheckpoints || rs[0].Epoch != 200 {
		t.Errorf("%d records, %+v", len(rs), rs[0])
	}
}

// A barrier that is held up, and who waits for what, can be seen from outside.
func TestSeenFromOutside(t *testing.T) {
	store, err := storage.Open(storage.Config{Dir: "db", FS: storage.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	clock := newFakeClock()
	rt := NewRuntime(context.Background(), Config{
		Store: store, Logger: slog.New(slog.DiscardHandler), Clock: clock, QueueChunks: 1,
		Checkpoint: checkpoint.Config{BarrierInterval: time.Hour, CheckpointInterval: time.Hour},
		Failed:     func(f Failure) { t.Errorf("failure %+v", f) },
	})
	rt.Start(checkpoint.Events{})
	w := &world{t: t, store: store, rt: rt, rows: map[int64][2]int64{}}
	entered, release := make(chan struct{}), make(chan struct{})
	hold := false
	w.deploy(w.tableJob(), hookedJob(7, 1, func(int) (*Node, error) {
		return &Node{Op: &hooked{barrier: func(context.Context) error {
			if hold {
				hold = false
				close(entered)
				<-release
			}
			return nil
		}}, Name: "slow", In: []*Node{{}}}, nil
	}))
	over := hookedJob(8, 1, func(int) (*Node, error) { return &Node{Op: &hooked{}, Name: "over", In: []*Node{{}}}, nil })
	over.Fragments[0].Inputs[0].Job = 7
	w.deploy(over)
	w.durable(rt.Open())
	hold = true
	e := rt.Open()
	done := make(chan error, 1)
	go func() { done <- rt.WaitDurable(context.Background(), e) }()
	<-entered
	clock.advance(3 * time.Second)
	var stuck CheckpointRecord
	for _, c := range rt.Checkpoints() {
		if c.Epoch == e {
			stuck = c
		}
	}
	if stuck.State != CheckpointInFlight || stuck.Kind != checkpoint.KindCheckpoint || stuck.Duration != 3*time.Second ||
		len(stuck.Waiting) != 4 || stuck.Waiting[0].String() != "j7 fragment 0 actor 2" || stuck.Waiting[3].Job != 8 {
		t.Errorf("%+v", stuck)
	}
	var waits []string
	for _, a := range rt.Actors() {
		waits = append(waits, a.WaitsFor)
	}
	barrier := fmt.Sprintf("barrier %d of ", e)
	if want := []string{
		"input", "", barrier + "j7 fragment 0 actor 2", barrier + "j7 fragment 1 actor 3", barrier + "j8 fragment 0 actor 4",
	}; !slices.Equal(waits, want) {
		t.Errorf("%q, want %q", waits, want)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, c := range rt.Checkpoints() {
		if c.Epoch == e && (c.State != CheckpointCommitted || c.Slowest.Job != 8) {
			t.Errorf("%+v", c)
		}
	}
	rt.Stop()
}

// An actor that has no room for its output says where.
func TestWaitsForRoom(t *testing.T) {
	b := newInbox(2, 1)
	b.producers = []ActorID{5, 6}
	chunk := func() *parcel {
		c := vec.NewChunk(tableTypes, 1)
		c.AppendRow([]types.Datum{types.DInt(1), types.DInt(2), types.DInt(3)}, 1)
		return &parcel{chunk: c}
	}
	if err := b.put(message{slot: 1, chunk: chunk()}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- b.put(message{slot: 1, chunk: chunk()}) }()
	for {
		if _, _, blocked := b.load(); len(blocked) == 1 && blocked[0] == 1 {
			break
		}
	}
	b.release(1, 1)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if chunks, bytes, blocked := b.load(); chunks != 1 || bytes == 0 || blocked != nil {
		t.Errorf("%d chunks, %d bytes, %v", chunks, bytes, blocked)
	}
}
