package flow

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/storage"
)

// TestRandomCoordinatorDeaths kills the coordinator all the time, anywhere, while random writes, barriers, checkpoints, creations and
// drops of views and restarts go on, and another goroutine compares every view with its query. Nobody gets an error, and no
// actor stops. In every other round jobs fail as well: then only those are started again. One seed again:
//
//	go test ./exec/flow -run TestRandomCoordinatorDeaths -flow.seed=N -flow.rounds=1
func TestRandomCoordinatorDeaths(t *testing.T) {
	rounds := 8
	if os.Getenv("WEIR_SOAK") != "" {
		rounds = 500
	}
	if *roundsFlag > 0 {
		rounds = *roundsFlag
	}
	var deaths atomic.Int64
	for i := range rounds {
		seed := *seedFlag + int64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var f *faults
			if seed%2 == 1 {
				f = &faults{}
			}
			w := randomGraph(t, seed, 60, f, &deaths)
			if f == nil {
				checkReport(t, w.rt)
			}
		})
	}
	t.Logf("%d coordinators died", deaths.Load())
	if deaths.Load() < int64(rounds)*10 {
		t.Errorf("only %d coordinators died", deaths.Load())
	}
}

// killer kills coordinators; each one when it has seen the last one die.
type killer struct{ stop, done chan struct{} }

func startKiller(rt *Runtime, seed int64, deaths *atomic.Int64) *killer {
	rng := rand.New(rand.NewSource(seed))
	k := &killer{make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(k.done)
		for {
			before := rt.coordinators.Load()
			// Looking on disturbs nobody.
			rt.Actors()
			rt.Checkpoints()
			rt.KillCoordinator(1 + rng.Intn(60))
			// Idle coordinators do nothing: give them something to die over.
			for rt.coordinators.Load() == before {
				select {
				case <-k.stop:
					return
				default:
					if rt.Wait(context.Background(), rt.Open()) != nil {
						return
					}
				}
			}
			deaths.Add(1)
		}
	}()
	return k
}

func (k *killer) quit() { close(k.stop) }

// wait is called when the runtime has been stopped.
func (k *killer) wait() { <-k.done }

// checkReport compares what the worker would tell a coordinator with the actors that there are.
func checkReport(t *testing.T, rt *Runtime) {
	t.Helper()
	var live, reported []ActorID
	rt.inject.Lock()
	for id := range rt.live {
		live = append(live, id)
	}
	rt.inject.Unlock()
	r := rt.Reported()
	for _, a := range r.Actors {
		if !a.State.Terminal() {
			reported = append(reported, a.Actor)
		}
		if a.State == checkpoint.ActorRunning && (a.Attempt == 0 || a.Number != 1 || a.Start.IsZero()) {
			t.Errorf("report %+v", a)
		}
	}
	slices.Sort(live)
	if !slices.Equal(live, reported) {
		t.Errorf("actors %v, reported %v", live, reported)
	}
}

// TestReportedPositions: at a checkpoint the report has the channels between actors, with the same position at both ends.
func TestReportedPositions(t *testing.T) {
	w := quiet(t)
	w.deploy(hookedJob(7, 2, func(int) (*Node, error) {
		return &Node{Op: &hooked{}, Name: "pass", In: []*Node{{}}}, nil
	}))
	w.write(insert(1))
	w.durable(w.rt.Open())
	out := map[string]checkpoint.ChannelPosition{}
	ins := 0
	r := w.rt.Reported()
	for _, a := range r.Actors {
		for _, p := range a.Outputs {
			out[fmt.Sprint(a.Actor, "-", p.Peer)] = p
		}
	}
	for _, a := range r.Actors {
		for _, p := range a.Inputs {
			ins++
			o := out[fmt.Sprint(p.Peer, "-", a.Actor)]
			if o.Seq != p.Seq || o.Epoch != p.Epoch || o.Generation != p.Generation {
				t.Errorf("channel %d to %d: written to %+v, read to %+v", p.Peer, a.Actor, o, p)
			}
		}
	}
	if ins != 4 {
		t.Errorf("%d channels, want 4", ins)
	}
}

// savedOp notes which checkpoints it hears of.
type savedOp struct {
	hooked
	mu    sync.Mutex
	heard []storage.Epoch
	more  chan struct{}
}

func (s *savedOp) CheckpointSaved(e storage.Epoch) error {
	s.mu.Lock()
	s.heard = append(s.heard, e)
	s.mu.Unlock()
	s.more <- struct{}{}
	return nil
}

// TestCheckpointSaved: an operator hears of a checkpoint once it is durable, not of epochs, in order, also when the coordinator
// dies in between.
func TestCheckpointSaved(t *testing.T) {
	w := quiet(t)
	op := &savedOp{more: make(chan struct{}, 100)}
	w.deploy(hookedJob(7, 1, func(int) (*Node, error) {
		return &Node{Op: op, Name: "sink", In: []*Node{{}}}, nil
	}))
	var want []storage.Epoch
	for k := range int64(5) {
		w.write(insert(k))
		w.await(w.rt.Written())
		w.durable(w.rt.Open())
		<-op.more
		want = append(want, storage.Epoch(w.rt.Marks().Durable))
		before := w.rt.coordinators.Load()
		w.rt.KillCoordinator(1)
		for w.rt.coordinators.Load() == before {
			w.await(w.rt.Open())
		}
	}
	w.durable(w.rt.Open())
	op.mu.Lock()
	defer op.mu.Unlock()
	if got := op.heard[:5]; !slices.Equal(got, want) {
		t.Errorf("heard of %v, want %v", got, want)
	}
	if !slices.IsSorted(op.heard) {
		t.Errorf("heard of %v", op.heard)
	}
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestStuckBarrier: a barrier that does not come through for ten seconds is logged with the actor that it waits for.
func TestStuckBarrier(t *testing.T) {
	store, err := storage.Open(storage.Config{Dir: "db", FS: storage.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var log lockedBuffer
	clock := newFakeClock()
	stuck := make(chan checkpoint.Stuck, 1)
	rt := NewRuntime(context.Background(), Config{
		Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)), Clock: clock,
		Checkpoint: checkpoint.Config{BarrierInterval: time.Hour, CheckpointInterval: time.Hour},
		Failed:     func(f Failure) { t.Errorf("failure %+v", f) },
	})
	rt.Start(checkpoint.Events{Stuck: func(s checkpoint.Stuck) { stuck <- s }})
	w := &world{t: t, store: store, rt: rt, rows: map[int64][2]int64{}}
	release := make(chan struct{})
	entered := make(chan struct{})
	first := true
	w.deploy(w.tableJob(), hookedJob(7, 1, func(int) (*Node, error) {
		return &Node{Op: &hooked{barrier: func(context.Context) error {
			if first {
				first = false
				close(entered)
				<-release
			}
			return nil
		}}, Name: "slow", In: []*Node{{}}}, nil
	}))
	<-entered
	clock.advance(10 * time.Second)
	<-stuck
	close(release)
	w.await(rt.Open())
	rt.Stop()
	line := log.String()
	if !strings.Contains(line, `msg="barrier stuck" epoch=1`) || !strings.Contains(line, "j7 fragment 0 actor 2") {
		t.Errorf("log:\n%s", line)
	}
}

var _ exec.Operator = (*savedOp)(nil)
