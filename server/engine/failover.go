package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// What happens when a job fails while clients are served (checkpoint/failover decides, exec/flow/region.go does it):
//
//  1. The actor that failed calls failover, which asks the manager; the runtime stops the jobs of the region.
//  2. A restart, one goroutine for each region, waits until they have stopped, with the state of the last
//     checkpoint, and until statements that were just creating one of them know about it.
//  3. The manager says when: then the jobs are built again and deployed, and catch up. Reads of their relations
//     wait meanwhile (AwaitReadable): they are not in any epoch that completes.
//  4. Or it says that they are given up: then the checkpoint that goes on without them says that they are stale.
//
// A failure of everything ends the incarnation, and with it all of that.

// restart is the restart of a region. Its fields are its goroutine's, once that runs.
type restart struct {
	id   failover.RegionID
	jobs []catalog.ID
	err  error
	// absorbed are restarts that became part of this one.
	absorbed []*restart
	flows    []*flow.Region
	// goals is how far sources of the region had been read, by split.
	goals map[catalog.ID][]int64
	// deployed: its jobs run again, and catch up.
	deployed bool
	// next gets what the manager decides (capacity 2: a stall may follow a deploy that fails).
	next   chan failover.Action
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *restart) has(id catalog.ID) bool { return slices.Contains(r.jobs, id) }

// version is the global modification version.
func (e *Engine) version() uint64 {
	e.foMu.Lock()
	defer e.foMu.Unlock()
	return e.manager.Version()
}

// step tells the manager something, and does or passes on what it wants; it gives the actions.
func (e *Engine) step(ev failover.Event) []failover.Action {
	e.foMu.Lock()
	defer e.foMu.Unlock()
	return e.stepLocked(ev)
}

func (e *Engine) stepLocked(ev failover.Event) []failover.Action {
	now := time.Now()
	as := slices.Clone(e.manager.Step(ev, now))
	clear(e.stalled)
	for id, err := range e.manager.Stalled() {
		e.stalled[catalog.ID(id)] = err
	}
	for _, a := range as {
		switch a := a.(type) {
		case failover.Deploy:
			if r := e.regions[a.Region]; r != nil {
				r.next <- a
			}
		case failover.Stall:
			if r := e.regions[a.Region]; r != nil {
				r.next <- a
			}
		case failover.SetTimer:
			if e.timer != nil {
				e.timer.Stop()
				e.timer = nil
			}
			if !a.At.IsZero() {
				e.timer = time.AfterFunc(a.At.Sub(now), func() { e.step(failover.Tick{}) })
			}
		}
	}
	return as
}

// failover decides about a failed job, for the runtime.
func (i *Incarnation) failover(f flow.Failure, g []failover.Job) ([]flow.JobID, func(*flow.Region), bool) {
	e := i.e
	if !i.published.Load() {
		// Nothing is served yet: the start counts failures itself.
		return nil, nil, false
	}
	rel := i.Catalog().RelationByID(catalog.ID(f.Job))
	e.foMu.Lock()
	defer e.foMu.Unlock()
	for _, a := range e.stepLocked(failover.Failed{
		Version: i.version, Job: failover.JobID(f.Job), Err: f.Err, Graph: g, MayStall: canStall(rel),
	}) {
		switch a := a.(type) {
		case failover.RestartAll:
			i.all.Store(&a)
			return nil, nil, false
		case failover.Stop:
			r := &restart{
				id: a.Region, err: f.Err, next: make(chan failover.Action, 2), done: make(chan struct{}),
				goals: map[catalog.ID][]int64{},
			}
			r.ctx, r.cancel = context.WithCancel(i.Ctx)
			ids := make([]flow.JobID, len(a.Jobs))
			for k, id := range a.Jobs {
				ids[k] = flow.JobID(id)
				r.jobs = append(r.jobs, catalog.ID(id))
			}
			for _, id := range a.Absorbed {
				if old := e.regions[id]; old != nil {
					old.cancel()
					r.absorbed = append(r.absorbed, old)
					delete(e.regions, id)
				}
			}
			e.regions[r.id] = r
			e.cfg.Logger.Error("job failed, its region is restarted", "event", "job_failed", "job", uint32(f.Job), "region", uint64(r.id), "jobs", r.jobs, "error", f.Err)
			return ids, func(g *flow.Region) {
				r.flows = append(r.flows, g)
				i.wg.Go(func() { i.restart(r) })
			}, true
		}
	}
	// A failure of a version that is over: everything is about to end.
	return nil, nil, false
}

// restart is the goroutine of a restart.
func (i *Incarnation) restart(r *restart) {
	defer close(r.done)
	defer r.cancel()
	for _, old := range r.absorbed {
		<-old.done
		r.flows = append(r.flows, old.flows...)
		maps.Copy(r.goals, old.goals)
	}
	r.absorbed = nil
	i.lostFilling(r.jobs)
	i.failCreations(r)
	settled := make(chan error, 1)
	i.wg.Go(func() { settled <- i.settle(r) })
	select {
	case err := <-settled:
		if err != nil {
			return
		}
	case a := <-r.next:
		// It does not stop in time.
		i.giveUp(r, a.(failover.Stall))
		return
	}
	i.e.step(failover.Stopped{Region: r.id})
	for {
		var next failover.Action
		select {
		case next = <-r.next:
		case <-r.ctx.Done():
			return
		}
		if s, ok := next.(failover.Stall); ok {
			i.giveUp(r, s)
			return
		}
		e, prog, err := i.redeploy(r)
		if r.ctx.Err() != nil {
			return
		}
		if err != nil {
			i.e.cfg.Logger.Error("region cannot be deployed", "event", "region_failed", "region", uint64(r.id), "error", err)
			i.e.step(failover.DeployFailed{Region: r.id, Err: err})
			continue
		}
		i.e.step(failover.Deployed{Region: r.id})
		r.deployed = true
		i.caughtUp(r, e, prog)
		return
	}
}

// settle waits until all actors of a region have ended, and its state is that of the last checkpoint.
func (i *Incarnation) settle(r *restart) error {
	for _, g := range r.flows {
		if err := g.Await(r.ctx); err != nil {
			return err
		}
		for _, id := range g.Jobs() {
			for split, n := range g.Read(id) {
				goals := r.goals[catalog.ID(id)]
				if goals == nil {
					goals = make([]int64, len(g.Read(id)))
					r.goals[catalog.ID(id)] = goals
				}
				goals[split] = max(goals[split], n)
			}
		}
	}
	return i.awaitCreations(r)
}

// redeploy builds the jobs of a region again and starts them.
func (i *Incarnation) redeploy(r *restart) (storage.Epoch, *progress, error) {
	i.placing.Lock()
	defer i.placing.Unlock()
	cat := i.Catalog()
	i.mu.Lock()
	dropping := maps.Clone(i.dropping)
	i.mu.Unlock()
	prog := newProgress()
	l := leaves{prog: prog, checkpoint: true, together: map[catalog.ID]bool{}}
	var jobs []*flow.Job
	for _, rel := range cat.Sorted() {
		if !r.has(rel.ID) || dropping[rel.ID] || i.e.Stalled(cat, rel.ID) != nil {
			continue
		}
		if rel.Kind == catalog.Source && !i.needed(cat, rel.ID) {
			// It ran for a view that did not come to be.
			continue
		}
		i.reset(rel)
		l.together[rel.ID] = true
		j, err := i.jobAgain(cat, rel, l)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", rel.Name, err)
		}
		if j != nil {
			jobs = append(jobs, j)
		}
	}
	prog.all()
	e, err := i.RT.Redeploy(r.ctx, flow.Save{}, r.flows, jobs...)
	return e, prog, err
}

// reset takes the rows of a relation back to the last checkpoint.
func (i *Incarnation) reset(rel *catalog.Relation) {
	if id, ok := rel.StateTables[RowErrorsState]; ok {
		i.Store.Arrangement(storage.TableID(id)).Reset()
	}
	switch rel.Kind {
	case catalog.MatView, catalog.Index:
		i.Store.Arrangement(storage.TableID(rel.Rows())).Reset()
	case catalog.Table:
		if t := i.Table(rel.ID); t != nil {
			for _, a := range t.Arrangements() {
				a.Reset()
			}
		}
	}
}

// jobAgain builds the job of a relation that has run before in this incarnation.
func (i *Incarnation) jobAgain(cat *catalog.Catalog, rel *catalog.Relation, l leaves) (*flow.Job, error) {
	switch rel.Kind {
	case catalog.Table:
		t := i.Table(rel.ID)
		if t == nil {
			return nil, errors.New("the table is gone")
		}
		return i.connectorTableJob(t, i.stateIDs(rel))
	case catalog.Source:
		return i.sourceJob(rel, i.stateIDs(rel))
	case catalog.MatView, catalog.Index, catalog.Sink:
		return i.queryJob(cat, rel, i.stateIDs(rel), l)
	}
	return nil, nil
}

// caughtUp waits until a region is where it would be if it had not failed, and lets it be read.
func (i *Incarnation) caughtUp(r *restart, e storage.Epoch, prog *progress) {
	select {
	case <-prog.done:
	case next := <-r.next:
		i.giveUp(r, next.(failover.Stall))
		return
	case <-r.ctx.Done():
		return
	}
	prog.mu.Lock()
	e = max(e, prog.epoch)
	prog.mu.Unlock()
	if i.RT.Reach(r.ctx, e, jobsOf(r.jobs)...) != nil {
		return
	}
	// What is left is reading sources on, which checkpoints do not need to wait for.
	for _, g := range r.flows {
		g.Release()
	}
	for id, goals := range r.goals {
		var ok bool
		if e, ok = i.awaitSource(r.ctx, id, goals, e, jobsOf(r.jobs)); !ok {
			return
		}
	}
	if i.RT.Reach(r.ctx, e, jobsOf(r.jobs)...) != nil {
		return
	}
	for _, g := range r.flows {
		g.Back(e)
	}
	i.e.foMu.Lock()
	current := i.e.regions[r.id] == r
	if current {
		i.e.noteRestartLocked(r.jobs)
		delete(i.e.regions, r.id)
		i.e.stepLocked(failover.Running{Region: r.id})
	}
	i.e.foMu.Unlock()
	if !current {
		return
	}
	i.e.restarts.Add(1)
	i.e.cfg.Logger.Info("region restarted", "event", "region_restarted", "region", uint64(r.id), "jobs", r.jobs, "epoch", uint64(e))
	i.wake()
}

// sourcePoll is how often a source is looked at that reads again what it had read before.
const sourcePoll = 2 * time.Millisecond

// awaitSource waits until a source that began again at the last checkpoint has read what it had read before, so that
// nobody sees less than he has seen, or until it cannot; it gives an epoch in which that is so. jobs are those of its region.
func (i *Incarnation) awaitSource(ctx context.Context, id catalog.ID, goals []int64, from storage.Epoch, jobs []flow.JobID) (storage.Epoch, bool) {
	t := time.NewTicker(sourcePoll)
	defer t.Stop()
	for {
		e := max(from, i.RT.Passed(jobs...))
		ps, ok := i.RT.SourcePositions(flow.JobID(id), e)
		there := ok
		for split, goal := range goals {
			there = there && ps[split].Rows >= goal
		}
		if there || !i.RT.Has(flow.JobID(id)) || i.Problem(id) != nil || i.RT.SourceEnded(flow.JobID(id)) {
			return e, true
		}
		select {
		case <-t.C:
			i.RT.RequestBarrier()
		case <-ctx.Done():
			return 0, false
		}
	}
}

// giveUp takes a region out of the graph for good.
func (i *Incarnation) giveUp(r *restart, s failover.Stall) {
	cat := i.Catalog()
	running := map[catalog.ID]bool{}
	for _, rel := range cat.Sorted() {
		running[rel.ID] = i.RT.Has(flow.JobID(rel.ID)) && !r.has(rel.ID)
		if r.has(rel.ID) && !r.deployed {
			i.reset(rel)
		}
	}
	save, marked := i.markStale(cat, running)
	var err error
	if r.deployed {
		_, err = i.RT.Remove(i.Ctx, save, jobsOf(r.jobs)...)
	} else {
		_, err = i.RT.Redeploy(i.Ctx, save, r.flows)
	}
	if err != nil {
		// Only the end of the runtime prevents it.
		return
	}
	marked()
	for _, g := range r.flows {
		g.GiveUp()
		g.Release()
	}
	i.e.foMu.Lock()
	delete(i.e.regions, r.id)
	i.e.foMu.Unlock()
	i.e.cfg.Logger.Error("job stalled", "event", "job_stalled", "job", uint32(s.Job), "jobs", r.jobs, "error", s.Err)
	i.wake()
}

func jobsOf(rels []catalog.ID) []flow.JobID {
	ids := make([]flow.JobID, len(rels))
	for k, id := range rels {
		ids[k] = flow.JobID(id)
	}
	return ids
}

// creation is a statement that fills new jobs.
type creation struct {
	// failed is closed when the region of one of them has failed; err and job are the cause.
	failed chan struct{}
	err    error
	job    flow.JobID
	// rel is what the statement creates, since when, and how far that is; for system views.
	rel   *catalog.Relation
	since time.Time
	prog  *progress
	// resolved is closed when the statement has ended: then the jobs are in the catalog, or gone.
	resolved chan struct{}
}

// create registers jobs that are being created; the caller calls end when they are in the catalog, or gone.
func (i *Incarnation) create(ids ...catalog.ID) (c *creation, end func()) {
	c = &creation{failed: make(chan struct{}), resolved: make(chan struct{})}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		i.creating[id] = c
		delete(i.forgotten, id)
	}
	return c, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, id := range ids {
			delete(i.creating, id)
			if i.Catalog().RelationByID(id) != nil {
				i.beganLocked(id)
			}
		}
		close(c.resolved)
	}
}

// failCreations tells the statements that create jobs of a region.
func (i *Incarnation) failCreations(r *restart) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range r.jobs {
		if c := i.creating[id]; c != nil && c.err == nil {
			c.err, c.job = r.err, r.flows[0].Failure.Job
			close(c.failed)
		}
	}
}

// awaitCreations waits until the statements that create jobs of a region have ended, one way or the other.
func (i *Incarnation) awaitCreations(r *restart) error {
	for _, id := range r.jobs {
		i.mu.Lock()
		c := i.creating[id]
		i.mu.Unlock()
		if c == nil {
			continue
		}
		select {
		case <-c.resolved:
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
	return nil
}

// staleKey is where the reason is kept for which a view or sink is stale.
func staleKey(id catalog.ID) []byte { return strconv.AppendUint([]byte(stalePrefix), uint64(id), 10) }

const stalePrefix = "stale/"

// loadStale reads which views and sinks are stale.
func (i *Incarnation) loadStale() error {
	for _, r := range i.Catalog().Relations {
		if r.Stale != "" {
			i.stale[r.ID] = r.Stale
		}
	}
	return i.Store.ScanMeta([]byte(stalePrefix), func(k, v []byte) error {
		id, err := strconv.ParseUint(string(k[len(stalePrefix):]), 10, 32)
		if err != nil {
			return fmt.Errorf("metadata %q: %w", k, err)
		}
		i.stale[catalog.ID(id)] = string(v)
		return nil
	})
}

// markStale gives what the first checkpoint without the jobs of views and sinks that do not run has to
// say: that their state, which is that of the checkpoint before, misses what their inputs do from now on,
// so that they cannot go on. Those whose inputs all stand still too are not concerned. marked is to be called once the
// save is on its way.
func (i *Incarnation) markStale(cat *catalog.Catalog, running map[catalog.ID]bool) (save flow.Save, marked func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	marks := map[catalog.ID]string{}
	moves := map[catalog.ID]bool{}
	for _, r := range cat.Sorted() {
		m := running[r.ID]
		for _, d := range r.Inputs() {
			m = m || moves[d]
		}
		moves[r.ID] = m
		if !m || running[r.ID] || i.stale[r.ID] != "" || r.Kind != catalog.MatView && r.Kind != catalog.Index && r.Kind != catalog.Sink {
			continue
		}
		why := fmt.Sprint(i.e.Stalled(cat, r.ID))
		marks[r.ID] = why
		save.Meta = append(save.Meta, storage.MetaOp{Key: staleKey(r.ID), Value: []byte(why)})
	}
	return save, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		maps.Copy(i.stale, marks)
	}
}

// fresh says that relations are gone, or filled again, and gives what makes that durable.
func (i *Incarnation) fresh(ids ...catalog.ID) []storage.MetaOp {
	i.mu.Lock()
	defer i.mu.Unlock()
	var ops []storage.MetaOp
	for _, id := range ids {
		if i.stale[id] != "" {
			ops = append(ops, storage.MetaOp{Key: staleKey(id), Delete: true})
		}
	}
	return ops
}

// SetFailover changes the failover strategy of a job that runs, for the next failure.
func (i *Incarnation) SetFailover(id catalog.ID, name string) { i.RT.SetFailover(flow.JobID(id), name) }

// JobStatus is what is known of a job, for system views.
type JobStatus struct {
	ID catalog.ID
	failover.Status
}

// Jobs tells how all jobs of the catalog are, by id.
func (i *Incarnation) Jobs() []JobStatus {
	cat := i.Catalog()
	has := map[catalog.ID]bool{}
	for id := range cat.Relations {
		has[id] = i.RT.Has(flow.JobID(id))
	}
	i.e.foMu.Lock()
	defer i.e.foMu.Unlock()
	var out []JobStatus
	for _, r := range cat.Sorted() {
		s := i.e.manager.Status(failover.JobID(r.ID))
		if err := i.e.stalledLocked(cat, r.ID); err != nil && s.State != failover.StateStalled {
			s.State, s.Err = failover.StateStalled, err
		}
		if s.State == failover.StateRunning && !has[r.ID] {
			continue // it has no job
		}
		out = append(out, JobStatus{r.ID, s})
	}
	return out
}

// Operators lists the operators of all jobs, by job, fragment and name.
func (i *Incarnation) Operators() []flow.OperatorInfo { return i.RT.Operators() }

// Actors lists the actors of all jobs, by id.
func (i *Incarnation) Actors() []flow.ActorInfo { return i.RT.Actors() }
