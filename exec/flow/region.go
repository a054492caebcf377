package flow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/storage"
)

// A local restart, step by step; the rest of the graph runs on during all of it:
//
//  1. An actor fails. Failover says which jobs that concerns, and they are dead from now on: nothing can
//     be attached to them, their inboxes are closed, what is sent to them is dropped, their contexts end.
//  2. The coordinator is told: first that checkpoints are to be held, so that the durable epoch stands still,
//     then that the actors are lost, so that no epoch waits for them.
//  3. When all of the actors have ended (their termination futures are joined), and no checkpoint is being
//     made, the state of the region is taken back to the last checkpoint. Operators do that by opening
//     their state tables again; arrangements are reset by the owner.
//  4. Redeploy starts the jobs with one barrier, which also takes away the edges that led to the old
//     actors. Where they read from outside, catch-up operators emit what happened between the checkpoint and
//     that barrier, portion by portion, while epochs go on.
//  5. When they have caught up, Release lets checkpoints go on.

// ErrRestarting is wrapped by the error for a job that was to read from one that is being restarted.
var ErrRestarting = errors.New("the job is being restarted after a failure")

// Region is jobs that were stopped together after a failure.
type Region struct {
	Failure Failure
	rt      *Runtime
	jobs    []*deployed
	actors  []ActorID
	// gone is closed when the coordinator has taken the actors out, held when the durable epoch stands
	// still, stopped when all actors have ended.
	gone, held, stopped chan struct{}
	// completed and shown are valid once gone is closed: the newest epoch that was complete with the region, and the newest
	// at which somebody has read.
	completed, shown storage.Epoch
	// replaced is guarded by rt.graph, released by rt.regionsMu.
	replaced, released bool
}

// Jobs lists the jobs of the region.
func (g *Region) Jobs() []JobID {
	ids := make([]JobID, len(g.jobs))
	for i, d := range g.jobs {
		ids[i] = d.id()
	}
	return ids
}

// Has tells whether a job is part of the region.
func (g *Region) Has(id JobID) bool {
	return slices.ContainsFunc(g.jobs, func(d *deployed) bool { return d.id() == id })
}

// Gone is closed once no epoch waits for the region any more; Completed is then the newest epoch that was
// completed with it.
func (g *Region) Gone() <-chan struct{} { return g.gone }

// Completed is the newest epoch that the region took part in, valid once Gone is closed.
func (g *Region) Completed() storage.Epoch { return g.completed }

// Await waits until all actors of the region have ended and the durable epoch stands still, which it does until
// Release.
func (g *Region) Await(ctx context.Context) error {
	for _, c := range []chan struct{}{g.gone, g.stopped, g.held} {
		select {
		case <-c:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-g.rt.ctx.Done():
			return checkpoint.ErrStopped
		}
	}
	return nil
}

// Ended tells whether all actors have ended.
func (g *Region) Ended() bool {
	select {
	case <-g.stopped:
		return true
	default:
		return false
	}
}

// Release lets checkpoints go on, as far as this region is concerned. It may be called again.
func (g *Region) Release() {
	g.rt.regionsMu.Lock()
	done := g.released
	g.released = true
	if !done {
		g.rt.holds = slices.DeleteFunc(g.rt.holds, func(h *Region) bool { return h == g })
	}
	g.rt.regionsMu.Unlock()
	if !done {
		g.rt.driver().Send(checkpoint.Hold{})
	}
}

// Read tells how many rows of each split a source job of the region had delivered by Completed, or by a later epoch at which
// somebody has read.
func (g *Region) Read(id JobID) []int64 {
	for _, d := range g.jobs {
		if d.id() != id || d.sources == nil {
			continue
		}
		rows := make([]int64, d.job.Fragments[0].Source.Source.Splits())
		for split := range rows {
			at, _ := d.sources.at(split, max(g.completed, g.shown))
			rows[split] = at.Rows
		}
		return rows
	}
	return nil
}

// SetFailover changes the strategy of a job.
func (r *Runtime) SetFailover(id JobID, name string) {
	r.jobsMu.Lock()
	defer r.jobsMu.Unlock()
	if d := r.jobs[id]; d != nil {
		d.failover = name
	}
}

// graphLocked describes the jobs, those that are dead among them, for a strategy.
func (r *Runtime) graphLocked() []failover.Job {
	g := make([]failover.Job, 0, len(r.jobs)+len(r.leaving))
	lookups := map[failover.JobID]bool{}
	all := slices.Collect(maps.Values(r.jobs))
	for d := range r.leaving {
		if r.jobs[d.id()] == nil {
			all = append(all, d)
		}
	}
	for _, d := range all {
		id := d.id()
		j := failover.Job{ID: failover.JobID(id), Replayable: d.job.Replayable, Strategy: d.failover}
		for _, f := range d.job.Fragments {
			if f.Table != nil {
				j.Vital, j.Replayable = true, true
			}
			for _, in := range f.Inputs {
				if in.Job != id {
					j.Inputs = append(j.Inputs, failover.JobID(in.Job))
				}
			}
		}
		if len(d.job.Lookups) > 0 || d.job.Timed {
			lookups[j.ID] = true
		}
		g = append(g, j)
	}
	withOrder(g, lookups)
	slices.SortFunc(g, func(a, b failover.Job) int { return int(int64(a.ID) - int64(b.ID)) })
	return g
}

// failLocal stops the region of a failed actor; false if that is everything.
func (r *Runtime) failLocal(a *actor, err error) bool {
	g := &Region{
		rt: r, Failure: failureOf(a, err), gone: make(chan struct{}), held: make(chan struct{}), stopped: make(chan struct{}),
	}
	r.jobsMu.Lock()
	if a.job.dead.Load() {
		// It was stopped, or another of its actors came first.
		r.jobsMu.Unlock()
		return true
	}
	if r.cfg.Failover == nil || r.jobs[a.job.id()] != a.job && !r.leaving[a.job] {
		r.jobsMu.Unlock()
		return false
	}
	ids, started, local := r.cfg.Failover(g.Failure, r.graphLocked())
	if !local {
		r.jobsMu.Unlock()
		return false
	}
	add := func(d *deployed) {
		if d != nil && !d.dead.Load() {
			g.jobs = append(g.jobs, d)
			d.dead.Store(true)
		}
	}
	for _, id := range ids {
		add(r.jobs[id])
	}
	for d := range r.leaving {
		if slices.Contains(ids, d.id()) {
			add(d)
		}
	}
	r.jobsMu.Unlock()
	r.stopRegion(g)
	started(g)
	return true
}

// stopRegion ends the actors of dead jobs and tells the coordinator.
func (r *Runtime) stopRegion(g *Region) {
	r.inject.Lock()
	for _, d := range g.jobs {
		for _, as := range d.actors {
			for _, a := range as {
				g.actors = append(g.actors, a.id)
				a.in.die()
				a.loop.die()
			}
		}
	}
	r.roots = slices.DeleteFunc(r.roots, func(a *actor) bool { return a.job.dead.Load() })
	// Whoever is started from now on sees that its job is dead.
	r.inject.Unlock()
	for _, d := range g.jobs {
		d.cancel()
		d.gone(&r.frontiers)
	}
	r.wg.Go(func() {
		for _, d := range g.jobs {
			d.running.Wait()
		}
		close(g.stopped)
	})
	r.regionsMu.Lock()
	for _, id := range g.actors {
		r.regions[id] = g
	}
	r.holds = append(r.holds, g)
	// Held first: losing actors may ask for a checkpoint.
	r.driver().Send(checkpoint.Hold{On: true})
	r.driver().Send(checkpoint.Lost{Actors: g.actors})
	r.regionsMu.Unlock()
}

// gone hears from the coordinator that actors are out of every epoch after completed, and every checkpoint
// after saved.
func (r *Runtime) gone(actors []checkpoint.ActorID, completed, saved checkpoint.Epoch) {
	r.regionsMu.Lock()
	var g *Region
	for _, id := range actors {
		g = r.regions[id]
		delete(r.regions, id)
	}
	r.regionsMu.Unlock()
	if g == nil {
		return
	}
	g.completed, g.shown = storage.Epoch(completed), storage.Epoch(r.frontiers.shown.Load())
	r.missing(g)
	for _, d := range g.jobs {
		if d.sources != nil {
			// Its reader will be back at the checkpoint; how far it was counts for epochs that are complete.
			d.sources.trim(max(g.completed, g.shown))
		}
	}
	r.inject.Lock()
	r.saves = slices.DeleteFunc(r.saves, func(s epochSave) bool {
		// The checkpoint of saved has their state.
		drop := s.epoch > storage.Epoch(saved) && s.without()
		if drop {
			s.lost()
		}
		return drop
	})
	r.inject.Unlock()
	close(g.gone)
}

// gap is the epochs after from and before to, which is 0 while that is not known. A job that fails again before it
// is back has a gap for each failure, so that the end of one says nothing about the other.
type gap struct {
	from, to storage.Epoch
	// region is whose failure it is: nil for jobs that are Absent, or whose region was given up.
	region *Region
}

func (p gap) has(e storage.Epoch) bool {
	return (e > p.from || p.from == 0) && (p.to == 0 || e < p.to)
}

// missing notes that the jobs of a region have no versions of the epochs from now on.
func (r *Runtime) missing(g *Region) {
	r.regionsMu.Lock()
	defer r.regionsMu.Unlock()
	oldest := r.cfg.Store.Oldest()
	for _, d := range g.jobs {
		gs := slices.DeleteFunc(r.gaps[d.id()], func(p gap) bool { return p.to != 0 && p.to <= oldest })
		r.gaps[d.id()] = append(gs, gap{from: g.completed, region: g})
	}
}

// Absent says that jobs have no version of any epoch, until Back says from when they have.
func (r *Runtime) Absent(ids ...JobID) {
	r.regionsMu.Lock()
	defer r.regionsMu.Unlock()
	for _, id := range ids {
		r.gaps[id] = []gap{{}}
	}
}

// Since says that what new jobs keep is complete from an epoch on: a snapshot of an earlier one does not have it.
func (r *Runtime) Since(e storage.Epoch, ids ...JobID) {
	r.regionsMu.Lock()
	defer r.regionsMu.Unlock()
	oldest := r.cfg.Store.Oldest()
	maps.DeleteFunc(r.gaps, func(id JobID, gs []gap) bool {
		return !slices.ContainsFunc(gs, func(p gap) bool { return p.to == 0 || p.to > oldest })
	})
	for _, id := range ids {
		r.gaps[id] = append(r.gaps[id], gap{to: e})
	}
}

// Readable tells whether a job took part in a completed epoch: if not, what it keeps has no version of it.
func (r *Runtime) Readable(id JobID, e storage.Epoch) bool {
	r.regionsMu.Lock()
	defer r.regionsMu.Unlock()
	for _, p := range r.gaps[id] {
		if p.has(e) {
			return false
		}
	}
	return true
}

// Back says that jobs that were Absent, or given up, have versions again, from an epoch on.
func (r *Runtime) Back(e storage.Epoch, ids ...JobID) { r.back(nil, e, ids) }

// Back says that the jobs of the region have versions again, from an epoch on; one that has failed again meanwhile
// is part of another region, which has its own word on that. For a job that is gone for good, and so read
// by nobody, that is any epoch.
func (g *Region) Back(e storage.Epoch) { g.rt.back(g, e, g.Jobs()) }

func (r *Runtime) back(g *Region, e storage.Epoch, ids []JobID) {
	r.regionsMu.Lock()
	defer r.regionsMu.Unlock()
	for _, id := range ids {
		for k, p := range r.gaps[id] {
			if p.region == g && p.to == 0 {
				r.gaps[id][k].to = e
			}
		}
	}
}

// GiveUp says that the jobs of the region do not come back with it: they have no versions until Runtime.Back says
// from when they have.
func (g *Region) GiveUp() {
	g.rt.regionsMu.Lock()
	defer g.rt.regionsMu.Unlock()
	for _, id := range g.Jobs() {
		for k, p := range g.rt.gaps[id] {
			if p.region == g {
				g.rt.gaps[id][k].region = nil
			}
		}
	}
}

// held hears from the coordinator that the durable epoch stands still; who asks first is answered first.
func (r *Runtime) held(checkpoint.Epoch) {
	r.regionsMu.Lock()
	defer r.regionsMu.Unlock()
	if len(r.holds) > 0 {
		close(r.holds[0].held)
		r.holds = r.holds[1:]
	}
}

// Redeploy puts jobs, if any, in the place of stopped regions, with one barrier, and gives its epoch; what save
// holds is part of the next checkpoint. The jobs must have been made for the state of the last checkpoint
// or for none, and see everything that the others of them send. If there is an error the regions are as they
// were.
func (r *Runtime) Redeploy(ctx context.Context, save Save, gs []*Region, jobs ...*Job) (storage.Epoch, error) {
	r.graph.Lock()
	defer r.graph.Unlock()
	m := &Mutation{
		addEdges: map[ActorID][]*edge{}, removeEdges: map[edgeID]bool{}, together: map[*deployed]bool{}, sources: map[JobID]*positions{}, save: save,
		injected: make(chan storage.Epoch, 1),
	}
	old := map[JobID]*deployed{}
	if len(gs) > 0 {
		// What is left of the actors before, whoever hears it, is of a generation that is over.
		r.gen++
	}
	for _, g := range gs {
		if g.replaced {
			continue
		}
		for _, d := range g.jobs {
			for _, e := range d.edges {
				m.removeEdges[e] = true
			}
			if d.sources != nil {
				m.sources[d.id()] = d.sources
			}
			if r.job(d.id()) == d {
				old[d.id()] = d
				r.setJob(d.id(), nil)
			}
		}
	}
	undo := func(added []JobID) {
		r.withdraw(added)
		for id, d := range old {
			r.setJob(id, d)
		}
	}
	var added []JobID
	for _, j := range jobs {
		if err := r.build(j, m); err != nil {
			undo(added)
			return 0, err
		}
		added = append(added, j.ID)
	}
	e, err := r.mutate(ctx, m, !save.empty())
	if err != nil {
		undo(added)
		return 0, err
	}
	for _, g := range gs {
		g.replaced = true
	}
	return e, nil
}

// CommittedPosition tells where a split of a running source job stood at the last checkpoint.
func (r *Runtime) CommittedPosition(id JobID, split int) (SplitPosition, error) {
	d := r.job(id)
	if d == nil || d.sources == nil {
		return SplitPosition{}, fmt.Errorf("flow: job %d is no running source", id)
	}
	t, err := r.cfg.Store.StateTable(offsetsTable(d.job, d.job.Fragments[0]))
	if err != nil {
		return SplitPosition{}, err
	}
	val, ok, err := t.Get(splitKey(split))
	if err != nil || !ok {
		return SplitPosition{Split: split}, err
	}
	return decodePosition(split, val)
}

// offsetsTable is where a source fragment keeps its positions.
func offsetsTable(j *Job, f *Fragment) storage.TableID {
	return j.StateID(fmt.Sprintf("%d/source/offsets", f.ID))
}
