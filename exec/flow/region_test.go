package flow

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/storage"
)

// faults makes operators panic on demand.
type faults struct {
	mu sync.Mutex
	// job panics when its operators have been called another left times; 0: nobody does.
	job  JobID
	left int
	hits atomic.Int64
}

func (f *faults) arm(job JobID, left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.job, f.left = job, left
}

func (f *faults) call(job JobID, actor ActorID, operator string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job != job {
		return
	}
	if f.left--; f.left < 0 {
		f.job = 0
		f.hits.Add(1)
		panic(fmt.Sprintf("injected into %s of actor %d", operator, actor))
	}
}

func (v *view) fail() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = true
}

func (v *view) hasFailed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

// pend remembers a view that is being created.
func (w *world) pend(v *view) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(slices.DeleteFunc(w.pending, func(o *view) bool { return slices.Contains(w.views, o) }), v)
}

// withdrawFailed drops the views whose jobs were lost before they were complete.
func (w *world) withdrawFailed(pending []*view) []*view {
	for _, v := range pending {
		if v.hasFailed() {
			gone := w.drop(v, pending)
			return w.withdrawFailed(slices.DeleteFunc(pending, func(o *view) bool { return slices.Contains(gone, o) }))
		}
	}
	return pending
}

func (w *world) hasView(id JobID) bool {
	return slices.ContainsFunc(w.views, func(v *view) bool { return v.ID == id })
}

// failover restarts regions, in a goroutine that ends with the runtime.
func (w *world) failover() func(Failure, []failover.Job) ([]JobID, func(*Region), bool) {
	if w.cfg.fault == nil {
		return nil
	}
	w.regions, w.repaired = make(chan *Region, 1000), make(chan struct{})
	regions := w.regions
	strategy, err := failover.Parse(failover.Region)
	w.must(err)
	return func(f Failure, g []failover.Job) ([]JobID, func(*Region), bool) {
		jobs, all := strategy.Region(g, failover.JobID(f.Job))
		if all {
			return nil, nil, false
		}
		ids := make([]JobID, len(jobs))
		for i, j := range jobs {
			ids[i] = JobID(j)
		}
		return ids, func(g *Region) { regions <- g }, true
	}
}

// repair is what the owner of a runtime does about regions.
func (w *world) repair(rt *Runtime) {
	defer close(w.repaired)
	var open []*Region
	next := func() bool {
		select {
		case g := <-w.regions:
			open = append(open, g)
			return true
		default:
			return false
		}
	}
	for {
		if len(open) == 0 {
			select {
			case g := <-w.regions:
				open = append(open, g)
			case <-rt.ctx.Done():
				return
			}
		}
		for i := 0; i < len(open); i++ {
			if open[i].Await(rt.ctx) != nil {
				return
			}
			next()
		}
		waits, e, err := w.redeploy(rt, open)
		if err != nil {
			if !errors.Is(err, ErrRestarting) && rt.ctx.Err() == nil {
				w.t.Errorf("%v: redeploy: %v", w.cfg, err)
				return
			}
			select {
			case g := <-w.regions:
				open = append(open, g)
			case <-rt.ctx.Done():
				return
			}
			continue
		}
		again := false
		for _, v := range waits {
			if again {
				break
			}
			select {
			case <-v.prog.done:
				e = max(e, v.prog.epoch)
			case <-v.gone:
			case g := <-w.regions:
				open = append(open, g)
				again = true
			case <-rt.ctx.Done():
				return
			}
		}
		if again || rt.Wait(rt.ctx, e) == nil && next() {
			continue
		}
		if rt.ctx.Err() != nil {
			return
		}
		for _, g := range open {
			g.Back(e)
		}
		for _, g := range open {
			g.Release()
		}
		open = nil
	}
}

// decided waits until it is known what becomes of a save that is under way.
func (v *view) decided() {
	v.saving.Lock()
	defer v.saving.Unlock()
}

// redeploy starts the jobs of regions again that do not run, and gives the views that catch up.
func (w *world) redeploy(rt *Runtime, open []*Region) ([]*view, storage.Epoch, error) {
	w.mu.RLock()
	pending := slices.Clone(w.pending)
	w.mu.RUnlock()
	for _, v := range pending {
		if slices.ContainsFunc(open, func(g *Region) bool { return g.Has(v.ID) }) {
			v.decided()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	region := map[JobID]bool{}
	var waits []*view
	var jobs []*Job
	var back []func()
	lost := func(id JobID) bool {
		return slices.ContainsFunc(open, func(g *Region) bool { return g.Has(id) })
	}
	dead := func(id JobID) bool {
		d := rt.job(id)
		return d == nil || d.dead.Load()
	}
	for _, s := range w.sources {
		if lost(s.jobID()) && dead(s.jobID()) {
			region[s.jobID()] = true
			jobs = append(jobs, sourceJob(s))
		}
	}
	for _, v := range w.pending {
		if lost(v.ID) && !w.hasView(v.ID) {
			v.fail()
		}
	}
	for _, v := range w.views { // an input comes before what is over it
		if !lost(v.ID) {
			continue
		}
		waits = append(waits, v)
		if !dead(v.ID) {
			continue
		}
		region[v.ID] = true
		old := v.prog
		v.prog, v.region = &progress{done: make(chan struct{})}, region
		back = append(back, func() { v.prog = old })
		w.store.Arrangement(storage.TableID(v.ID)).Reset()
		j := v.job()
		if region[v.Over] {
			close(v.prog.done)
		} else {
			v.prog.left = j.Fragments[0].Parallel
		}
		jobs = append(jobs, j)
	}
	e, err := rt.Redeploy(rt.ctx, Save{}, open, jobs...)
	if err != nil {
		for _, f := range back {
			f()
		}
		return nil, 0, err
	}
	w.restarts.Add(int64(len(jobs)))
	for _, v := range waits {
		v.prog.mu.Lock()
		v.prog.epoch = max(v.prog.epoch, e)
		v.prog.mu.Unlock()
	}
	return waits, e, nil
}

// Views and sources fail in random operators, in the middle of everything else that a graph goes through: only
// what depends on them is started again, and every view is its query at every epoch that can be read. One seed
// again:
//
//	go test ./exec/flow -run TestRandomFailures -flow.seed=N -flow.rounds=1
func TestRandomFailures(t *testing.T) {
	rounds := 8
	if *roundsFlag > 0 {
		rounds = *roundsFlag
	}
	var restarts int64
	for i := range rounds {
		seed := *seedFlag + int64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := &faults{}
			w := randomGraph(t, seed, 120, f, nil)
			restarts += w.restarts.Load()
			t.Logf("%d faults, %d jobs started again", f.hits.Load(), w.restarts.Load())
		})
	}
	if restarts == 0 {
		t.Error("nothing was started again")
	}
}

// A job that fails again while it is about to be back is not read: the end of the first restart, which knows nothing of
// the second failure yet, must not cover it up.
func TestFailureBeforeBack(t *testing.T) {
	w := quiet(t)
	v := w.finish(w.create("agg", tableID))
	fails := func(completed storage.Epoch) *Region {
		g := &Region{rt: w.rt, jobs: []*deployed{w.rt.job(v.ID)}, completed: completed}
		w.rt.missing(g)
		return g
	}
	readable := func(from, to storage.Epoch) (got []storage.Epoch) {
		for e := from; e <= to; e++ {
			if w.rt.Readable(v.ID, e) {
				got = append(got, e)
			}
		}
		return got
	}
	expect := func(when string, want ...storage.Epoch) {
		t.Helper()
		if got := readable(1005, 1016); !slices.Equal(got, want) {
			t.Errorf("%s: readable at %v, want %v", when, got, want)
		}
	}
	first := fails(1005)
	expect("after the first failure", 1005)
	second := fails(1009)
	expect("after the second", 1005)
	first.Back(1008)
	expect("after the first restart", 1005, 1008, 1009)
	second.Back(1012)
	expect("after the second restart", 1005, 1008, 1009, 1012, 1013, 1014, 1015, 1016)
	third, fourth := fails(1012), fails(1014)
	third.GiveUp()
	w.rt.Back(1014, v.ID)
	expect("resumed, and failed again meanwhile", 1005, 1008, 1009, 1012, 1014)
	fourth.Back(1016)
	expect("at the end", 1005, 1008, 1009, 1012, 1014, 1016)
}

// armRandom makes some job fail soon.
func (w *world) armRandom(rng *rand.Rand, f *faults) {
	var ids []JobID
	for _, v := range w.views {
		ids = append(ids, v.ID)
	}
	for _, v := range w.pending {
		ids = append(ids, v.ID)
	}
	for _, s := range w.sources {
		ids = append(ids, s.jobID())
	}
	if len(ids) > 0 {
		f.arm(ids[rng.Intn(len(ids))], rng.Intn(40))
	}
}

// Each life of the runtime and each restart of a region has a generation of its own, and an actor keeps its name as a producer: what a
// zombie sends is dropped and counted, and changes nothing.
func TestZombiesAreFenced(t *testing.T) {
	f := &faults{}
	w := newWorld(t, worldConfig{
		parallel: 2, chunk: 4, queue: 4, portion: 10, barrier: time.Millisecond, ckpt: 5 * time.Millisecond, fault: f.call,
	})
	v := w.finish(w.create("agg", tableID))
	w.write(insert(1))
	w.durable(w.rt.Written())
	actors := func() (from, to *actor) {
		d := w.rt.job(v.ID)
		last := len(d.actors) - 1
		return d.actors[last-1][0], d.actors[last][0]
	}
	before, _ := actors()
	f.arm(v.ID, 0)
	w.write(insert(2))
	for f.hits.Load() == 0 || w.restarts.Load() == 0 {
		w.await(w.rt.Open())
	}
	w.check()
	after, to := actors()
	if before == after || after.gen <= before.gen || after.as != before.as {
		t.Fatalf("generation %d of producer %d follows %d of %d", after.gen, after.as, before.gen, before.as)
	}
	zombie := message{head: channel.Header{Producer: before.as, Generation: before.gen, Version: 1, Seq: 1}, mark: &exec.Watermark{}}
	w.must(to.in.put(zombie))
	w.write(insert(3))
	w.await(w.rt.Written())
	w.check()
	if totals, _ := w.rt.cfg.History.Totals(); totals.Dropped != (channel.Dropped{Fenced: 1}) {
		t.Errorf("dropped %+v", totals.Dropped)
	}
	w.durable(w.rt.Open())
	w.stop()
	w.start()
	if again, _ := actors(); again.gen>>regionBits <= after.gen>>regionBits {
		t.Errorf("generation %x after a restart, %x before", again.gen, after.gen)
	}
	w.check()
}
