package flow

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seedFlag   = flag.Int64("flow.seed", 0, "seed of the first random graph")
	roundsFlag = flag.Int("flow.rounds", 0, "number of random graphs, 0 for the usual number")
)

// TestRandomGraphs runs random writes, barriers, checkpoints, creations and drops of views, and restarts,
// while another goroutine compares every view with its query all the time. One seed again:
//
//	go test ./exec/flow -run TestRandomGraphs -flow.seed=N -flow.rounds=1
func TestRandomGraphs(t *testing.T) {
	rounds := 30
	if *roundsFlag > 0 {
		rounds = *roundsFlag
	}
	resumed := int64(0)
	for i := range rounds {
		seed := *seedFlag + int64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { resumed += randomGraph(t, seed, 60, nil, nil).resumed.Load() })
	}
	if rounds >= 30 && resumed == 0 {
		t.Error("no view went on after a restart where it was")
	}
}

// randomGraph takes a graph through random steps; with f, jobs fail meanwhile, and with kill, which counts them,
// coordinators die.
func randomGraph(t *testing.T, seed int64, steps int, f *faults, kill *atomic.Int64) *world {
	rng := rand.New(rand.NewSource(seed))
	var fault func(JobID, ActorID, string)
	if f != nil {
		fault = f.call
	}
	w := newWorld(t, worldConfig{
		fault: fault, kill: kill,
		seed: seed, parallel: 1 + rng.Intn(3), chunk: []int{1, 3, 1024}[rng.Intn(3)], queue: 1 + rng.Intn(3),
		portion: 1 + rng.Intn(20), barrier: time.Duration(1+rng.Intn(20)) * time.Millisecond,
		ckpt: time.Duration(1+rng.Intn(40)) * time.Millisecond, sources: rng.Intn(3), splits: 1 + rng.Intn(3), nexmark: rng.Intn(2) * rng.Intn(2000),
		// Little room for what arrives early, so that some of it is spilled and some held back.
		alignment: Alignment(seed % 4 / 3), early: seed % 3 * 100, spill: seed % 5 * 300,
	})
	stopReader := w.reader()
	defer func() { stopReader() }()
	keys := 20 + rng.Intn(100)
	var pending []*view
	for range steps {
		if f != nil && rng.Intn(6) == 0 {
			w.armRandom(rng, f)
		}
		switch n := rng.Intn(20); {
		case n < 8:
			w.write(w.randomWrites(rng, 1+rng.Intn(20), keys))
		case n < 10:
			if len(w.sources) > 0 {
				if s, ok := w.sources[rng.Intn(len(w.sources))].(*fakeSource); ok {
					s.add(rng.Intn(s.splits), rng.Int63n(30))
				}
			}
		case n < 12:
			w.await(w.rt.Written())
			w.check()
		case n == 12:
			w.rt.RequestBarrier()
		case n == 13:
			w.durable(w.rt.Open())
		case n < 17:
			if len(pending)+len(w.views) < 8 {
				pending = append(pending, w.randomView(rng))
			}
		case n == 17:
			if all := slices.Concat(w.views, pending); len(all) > 0 {
				gone := w.drop(all[rng.Intn(len(all))], pending)
				pending = slices.DeleteFunc(pending, func(v *view) bool { return slices.Contains(gone, v) })
			}
		case n == 18 && rng.Intn(2) == 0:
			stopReader()
			w.stop()
			w.start()
			pending = slices.Clone(w.pending)
			stopReader = w.reader()
			w.check()
		default:
			pending = slices.DeleteFunc(pending, w.created)
			pending = w.withdrawFailed(pending)
		}
	}
	if f != nil {
		f.arm(0, 0)
	}
	for len(pending) > 0 {
		pending = slices.DeleteFunc(pending, w.created)
		pending = w.withdrawFailed(pending)
		w.await(w.rt.Open())
	}
	for _, v := range w.views {
		for !w.rt.Readable(v.ID, w.store.Completed()) {
			w.await(w.rt.Open())
		}
	}
	w.durable(w.rt.Open())
	w.check()
	return w
}

func (w *world) randomView(rng *rand.Rand) *view {
	if n := len(w.sources); n > 0 && rng.Intn(2) == 0 {
		return w.create([]string{"rows", "srcagg"}[rng.Intn(2)], w.sources[rng.Intn(n)].jobID())
	}
	over := JobID(tableID)
	for _, v := range w.views {
		if v.Kind == "filter" && rng.Intn(2) == 0 {
			over = v.ID
		}
	}
	return w.create([]string{"filter", "agg"}[rng.Intn(2)], over)
}

// reader compares all the time until stop is called.
func (w *world) reader() (stop func()) {
	var once sync.Once
	quit := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-w.rt.ctx.Done():
				return
			default:
				w.compare()
			}
		}
	}()
	return func() {
		once.Do(func() { close(quit) })
		<-done
	}
}

// Operators are counted: rows exactly, and time without that of their consumers.
func TestOperators(t *testing.T) {
	w := quiet(t)
	v := w.finish(w.create("agg", tableID))
	for k := range int64(100) {
		w.write(insert(k))
	}
	w.await(w.rt.Written())
	got := map[string]OperatorInfo{}
	for _, o := range w.rt.Operators() {
		if o.Job == v.ID {
			got[fmt.Sprintf("%d/%s", o.Fragment, o.Name)] = o
		}
	}
	agg, keep := got["1/agg"], got["1/keep"]
	if agg.Actors != 2 || agg.RowsIn != 100 || agg.RowsOut == 0 || keep.RowsIn != agg.RowsOut {
		t.Errorf("%+v", got)
	}
	for name, o := range got {
		if o.Busy <= 0 || o.Busy > patience {
			t.Errorf("%s was busy for %v", name, o.Busy)
		}
	}
}
