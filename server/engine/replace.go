package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// A relation that is replaced together with what reads it, step by step:
//
//  1. The new jobs are deployed beside the old ones, under ids and with tables of their own, and are filled, while the old
//     ones go on and are read.
//  2. When they are complete, in an epoch that is, the catalog with the new definitions, states and rows becomes durable together
//     with what the new jobs hold. From then on the new rows are read, all of them, and by everybody: a statement that
//     was planned before is planned again.
//  3. With one barrier the old jobs go, and subscriptions to them; the new ones get their ids.
//
// Whatever fails before the second step takes the new jobs away and nothing else. Between that and the end a failure
// restarts everything, from a checkpoint that has either all of the old or all of the new.

// Replacement is a relation with a new definition.
type Replacement struct {
	Old, New *catalog.Relation
	// Aside is what Old becomes, with its rows and its job, if others that are not replaced take its rows; nil: it goes.
	Aside *catalog.Relation
	// Stream is the plan of New's job, whose id is New.JobID; nil if it has none.
	Stream *plan.Stream
	// fill gives a table its rows, and the epoch that has the last of them; nil if it is no table.
	fill func(context.Context, *table.Table) (storage.Epoch, error)
	cat  *catalog.Catalog
}

// Replace puts relations with new definitions in the place of others, all in one moment: they are in an order in which
// nobody reads a later one, and everything with a job that reads one of them is among them. The caller has locked
// the catalog. If there is an error everything is as it was, unless the incarnation has ended, when it may also be
// done. watch is AddQuery's.
func (i *Incarnation) Replace(ctx context.Context, reps []Replacement, watch func(Fill)) error {
	return i.replaceWith(ctx, reps, nil, watch, nil, nil)
}

// replaceWith is Replace, where the first may be a table; also changes the catalog together with it, and table is told of the new
// table when it has its id.
func (i *Incarnation) replaceWith(
	ctx context.Context, reps []Replacement, dropped []*catalog.Relation, watch func(Fill), also []func(*catalog.Catalog), table func(*catalog.Relation) error,
) error {
	w := &replacing{i: i, sources: map[catalog.ID]*stateIDs{}, also: also, table: table, dropped: dropped}
	in := map[catalog.ID]bool{}
	for _, r := range reps {
		if r.Stream != nil || r.fill != nil {
			in[r.New.ID] = true
			w.jobs = append(w.jobs, r)
			w.ids = append(w.ids, r.New.ID)
		} else {
			w.plain = append(w.plain, r.New)
		}
	}
	if len(w.jobs) == 0 {
		return i.Change(ctx, func(c *catalog.Catalog) {
			for _, r := range w.plain {
				c.Put(r)
			}
		})
	}
	for _, r := range w.jobs {
		var reads []*catalog.Relation
		for _, x := range r.reads() {
			if !in[x.ID] {
				reads = append(reads, x)
			}
		}
		if err := i.awaitJobs(ctx, append(reads, r.Old)); err != nil {
			return err
		}
		for _, x := range reads {
			if err := i.StalledError(x); err != nil {
				return err
			}
		}
	}
	return w.run(ctx, in, watch)
}

// replacing is a Replace under way.
type replacing struct {
	i     *Incarnation
	jobs  []Replacement
	ids   []catalog.ID
	plain []*catalog.Relation
	// states are those of the jobs; sources are those that are started for them.
	states  []*stateIDs
	sources map[catalog.ID]*stateIDs
	made    *creation
	// filling are the tables that get rows, by number of the job.
	filling map[int]*table.Table
	also    []func(*catalog.Catalog)
	// dropped are relations that go at the same time.
	dropped []*catalog.Relation
	table   func(*catalog.Relation) error
	// unneeded are relations without names whose rows nobody takes any more.
	unneeded []*catalog.Relation
}

// reads lists what the job reads.
func (r *Replacement) reads() []*catalog.Relation {
	if r.Stream == nil {
		return nil
	}
	return r.Stream.Relations
}

func (w *replacing) run(ctx context.Context, in map[catalog.ID]bool, watch func(Fill)) error {
	i := w.i
	prog := newProgress()
	starting, jobs, err := w.build(ctx, in, prog)
	if err != nil {
		return errors.Join(err, w.withdraw())
	}
	prog.all()
	c, end := i.create(append(sourceIDsOf(w.sources), w.temporary()...)...)
	defer end()
	w.made = c
	shown := *w.jobs[0].New
	shown.ID = shown.Job()
	i.show(c, &shown, prog)
	var e storage.Epoch
	if len(starting) > 0 {
		save, marked := i.staleBy(w.sources)
		if _, err = i.RT.Deploy(i.Ctx, save, starting...); err == nil {
			marked()
		}
	}
	if err == nil {
		// What they read of each other comes from the start.
		e, err = i.RT.Redeploy(i.Ctx, flow.Save{}, nil, jobs...)
	}
	for k, t := range w.filling {
		var last storage.Epoch
		if err == nil {
			last, err = w.jobs[k].fill(ctx, t)
		}
		e = max(e, last)
	}
	if err == nil {
		err = i.awaitFilledWatched(ctx, c, prog, e, watch)
	}
	if err != nil {
		return errors.Join(w.explain(err), w.withdraw())
	}
	committed, err := w.change()
	switch {
	case err == nil:
		return nil
	case !committed:
		return errors.Join(w.explain(err), w.withdraw())
	}
	// The catalog says what the graph does not do.
	i.RT.GiveUp(err)
	return ErrRestarted
}

// build makes the jobs, and those of the sources that do not run.
func (w *replacing) build(ctx context.Context, in map[catalog.ID]bool, prog *progress) (starting, jobs []*flow.Job, err error) {
	i := w.i
	for k, r := range w.jobs {
		if r.fill != nil {
			t, err := i.openTable(r.cat, r.New)
			i.forgetLinks() // it is opened again when it takes its place
			if err != nil {
				return nil, nil, err
			}
			if w.filling == nil {
				w.filling = map[int]*table.Table{}
			}
			w.filling[k] = t
			w.states = append(w.states, i.newStateIDs(r.New))
			jobs = append(jobs, i.tableJob(t))
			continue
		}
		for _, x := range r.Stream.Relations {
			if x.Kind != catalog.Source || i.RT.Has(flow.JobID(x.ID)) || w.sources[x.ID] != nil {
				continue
			}
			ids := i.newStateIDs(x)
			j, err := i.sourceJob(x, ids)
			if err != nil {
				return nil, nil, err
			}
			w.sources[x.ID] = ids
			starting = append(starting, j)
		}
		ids := i.newStateIDs(r.New)
		w.states = append(w.states, ids)
		reads := map[catalog.ID]int{}
		j, err := i.buildStream(r.New, r.Stream, ids, leaves{prog: prog, together: in, reads: reads})
		if err != nil {
			return nil, nil, err
		}
		prog.mu.Lock()
		prog.total += i.estimate(ctx, r.Stream, reads)
		prog.mu.Unlock()
		jobs = append(jobs, j)
	}
	return starting, jobs, nil
}

// temporary are the ids of the new jobs.
func (w *replacing) temporary() []catalog.ID {
	out := make([]catalog.ID, len(w.jobs))
	for k, r := range w.jobs {
		out[k] = r.New.Job()
	}
	return out
}

func sourceIDsOf(ids map[catalog.ID]*stateIDs) []catalog.ID {
	var out []catalog.ID
	for id := range ids {
		out = append(out, id)
	}
	return out
}

// change does the second and third step.
func (w *replacing) change() (committed bool, err error) {
	i := w.i
	olds, temps := jobsOf(w.ids), jobsOf(w.temporary())
	failovers := func(strategy func(r *catalog.Relation) string) {
		for k, r := range w.jobs {
			i.RT.SetFailover(olds[k], strategy(r.New))
			i.RT.SetFailover(temps[k], strategy(r.New))
		}
	}
	failovers(func(*catalog.Relation) string { return failover.All })
	defer failovers(func(r *catalog.Relation) string { return r.Failover })
	i.setReplacing(w.ids, true)
	defer func() {
		i.setReplacing(w.ids, false)
		i.wake()
	}()

	var drop []storage.TableID
	aside := map[flow.JobID]flow.JobID{}
	for _, r := range w.jobs {
		if r.Aside != nil {
			aside[flow.JobID(r.Old.ID)] = flow.JobID(r.Aside.ID)
			continue
		}
		drop = append(drop, table.Tables(r.Old)...)
	}
	var gone []flow.JobID
	for _, r := range w.dropped {
		drop = append(drop, table.Tables(r)...)
		gone = append(gone, flow.JobID(r.ID))
	}
	needs := append(sourceJobs(w.sources), temps...)
	done := make([]*catalog.Relation, len(w.jobs))
	published := func(c *catalog.Catalog) {
		for k, r := range w.jobs {
			n := *r.New
			n.JobID, n.StateTables = 0, w.states[k].all()
			done[k] = &n
			c.Put(&n)
			if r.Aside != nil {
				w.setAside(c, r)
			}
		}
		for _, r := range w.plain {
			c.Put(r)
		}
		for _, r := range w.dropped {
			c.Remove(r.ID)
		}
		for _, change := range w.also {
			change(c)
		}
		for id, ids := range w.sources {
			s := *c.Relations[id]
			s.StateTables = ids.all()
			c.Put(&s)
		}
		// What has no name, and nobody takes rows of any more.
		unneeded, _ := c.Left(nil)
		w.unneeded = slices.DeleteFunc(unneeded, func(r *catalog.Relation) bool { return slices.Contains(w.ids, r.ID) })
		for _, r := range w.unneeded {
			c.Remove(r.ID)
			drop, gone = append(drop, table.Tables(r)...), append(gone, flow.JobID(r.ID))
		}
		for _, r := range c.Sorted() {
			if r.Kind == catalog.Source && w.sources[r.ID] == nil && i.RT.Has(flow.JobID(r.ID)) && !i.needed(c, r.ID) {
				s := *r
				for _, id := range s.StateTables {
					drop = append(drop, storage.TableID(id))
				}
				s.StateTables = nil
				c.Put(&s)
				gone = append(gone, flow.JobID(r.ID))
			}
		}
	}
	// A snapshot that was made before has the old rows: whoever reads in it and finds the new catalog is told. Until the
	// new jobs have the ids by which readers know how far they are, nobody reads.
	absent := func() { i.RT.Absent(olds...) }
	if err := i.commitThen(i.Ctx, flow.Save{Meta: i.fresh(w.ids...)}, w.made, needs, published, absent); err != nil {
		return false, err
	}
	subJobs, subTables := i.endSubscriptions(olds, func(s *Subscription, id flow.JobID) error {
		return sqlerr.Newf(sqlerr.SerializationFailure, "the subscription was ended because %q was replaced", i.Catalog().RelationByID(catalog.ID(id)).Name).
			WithHint("Subscribe again.")
	})
	by := map[flow.JobID]flow.JobID{}
	for k := range olds {
		by[olds[k]] = temps[k]
	}
	gone, drop = append(gone, subJobs...), append(drop, subTables...)
	at, err := i.RT.ReplaceAside(i.Ctx, flow.Save{Drop: drop}, by, aside, gone...)
	if err == nil {
		// No snapshot has been made at this epoch.
		e := i.RT.Open()
		i.RT.Back(e, olds...)
		err = i.RT.Wait(i.Ctx, e)
		i.wake()
	}
	if err == nil {
		err = i.RT.WaitDurable(i.Ctx, at)
	}
	if err == nil {
		err = i.RT.AwaitEnd(i.Ctx, olds...)
	}
	for k := range w.filling {
		if err == nil {
			err = w.table(done[k])
		}
	}
	if err != nil {
		return true, err
	}
	i.mu.Lock()
	for _, id := range w.ids {
		delete(i.stale, id)
	}
	i.mu.Unlock()
	for _, r := range w.jobs {
		if r.Aside == nil {
			i.errs.forgetStates(i.stateIDs(r.Old))
			continue
		}
		i.RT.SetFailover(flow.JobID(r.Aside.ID), r.Old.Failover)
	}
	for k, id := range w.ids {
		i.errs.move(w.jobs[k].New.Job(), id)
	}
	i.forget(w.temporary()...)
	for _, r := range slices.Concat(w.dropped, w.unneeded) {
		i.forget(r.ID)
		i.forgetFailures([]catalog.ID{r.ID})
		i.errs.forget(r)
	}
	var stalled []*catalog.Relation
	for _, r := range done {
		if i.e.Stalled(i.Catalog(), r.ID) != nil {
			stalled = append(stalled, r)
		}
	}
	if len(stalled) > 0 {
		i.resumed(stalled)
	}
	i.forgetFailures(w.temporary())
	return true, nil
}

func (i *Incarnation) forgetFailures(ids []catalog.ID) {
	jobs := make([]failover.JobID, len(ids))
	for k, id := range ids {
		jobs[k] = failover.JobID(id)
	}
	i.e.step(failover.Forget{Jobs: jobs})
}

// setAside enters what a relation becomes whose rows others take that stay.
func (w *replacing) setAside(c *catalog.Catalog, r Replacement) {
	c.Put(r.Aside)
	for _, x := range c.Takers(r.Old.ID) {
		if !slices.Contains(w.ids, x.ID) {
			n := *x
			n.Takes = slices.Clone(x.Takes)
			n.Takes[slices.Index(n.Takes, r.Old.ID)] = r.Aside.ID
			c.Put(&n)
		}
	}
}

// explain is explainJob for all of the new jobs.
func (w *replacing) explain(err error) error {
	i := w.i
	i.mu.Lock()
	f := i.failed
	if w.made.err != nil {
		f = flow.Failure{Job: w.made.job, Err: w.made.err}
	}
	i.mu.Unlock()
	for _, r := range w.jobs {
		if f.Err == nil || f.Job != flow.JobID(r.New.Job()) {
			continue
		}
		code := sqlerr.InternalError
		var known *sqlerr.Error
		if errors.As(f.Err, &known) {
			code = known.Code
		}
		first := w.jobs[0].New
		e := sqlerr.Newf(code, "%s %q was not replaced: the job of %s %q failed: %s",
			kindName(first.Kind), first.Name, kindName(r.New.Kind), r.New.Name, firstLine(f.Err))
		e.Cause = f.Err
		return e
	}
	if w.made.err != nil || errors.Is(err, flow.ErrRestarting) {
		return ErrRestarted
	}
	return i.explain(err)
}

// withdraw takes the new jobs away, and the sources that were started for them.
func (w *replacing) withdraw() error {
	i := w.i
	temps := w.temporary()
	defer i.forget(temps...)
	i.forgetFailures(temps)
	for _, ids := range w.states {
		i.errs.forgetStates(ids)
	}
	if i.Ctx.Err() != nil {
		return nil
	}
	ids := func(of func(*stateIDs) map[string]uint32) (all []storage.TableID) {
		for k, r := range w.jobs[:len(w.states)] {
			had := table.Tables(r.Old)
			for _, id := range table.Tables(r.New) {
				if !slices.Contains(had, id) {
					all = append(all, id)
				}
			}
			for _, id := range of(w.states[k]) {
				all = append(all, storage.TableID(id))
			}
		}
		for _, s := range w.sources {
			for _, id := range of(s) {
				all = append(all, storage.TableID(id))
			}
		}
		return all
	}
	drop := ids((*stateIDs).all)
	e, err := i.RT.Remove(i.Ctx, flow.Save{Drop: drop}, append(jobsOf(temps), sourceJobs(w.sources)...)...)
	if err == nil {
		err = i.RT.Wait(i.Ctx, e)
	}
	// An operator may have opened its state only now.
	late := slices.DeleteFunc(ids((*stateIDs).end), func(id storage.TableID) bool { return slices.Contains(drop, id) })
	if err == nil && len(late) > 0 {
		err = i.RT.SaveLater(i.Ctx, flow.Save{Drop: late})
	}
	if err != nil {
		return i.explain(err)
	}
	return nil
}

// setReplacing keeps subscriptions from beginning while it is on.
func (i *Incarnation) setReplacing(ids []catalog.ID, on bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		if on {
			i.replacing[id] = true
		} else {
			delete(i.replacing, id)
		}
	}
}

func (i *Incarnation) isReplacing(rels []*catalog.Relation) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.ContainsFunc(rels, func(r *catalog.Relation) bool { return i.replacing[r.ID] })
}

// ErrReplaced is why a statement cannot go on that was planned before a relation was replaced or filled again. Planned
// again, it can.
var ErrReplaced = table.ErrReplaced

// replacedError is what users see of ErrReplaced where a statement is not run again by itself.
func replacedError(rel *catalog.Relation) error {
	e := sqlerr.Newf(sqlerr.SerializationFailure, "%s %q was replaced by another definition meanwhile", kindName(rel.Kind), rel.Name).
		WithHint("The statement can be tried again.")
	e.Cause = ErrReplaced
	return e
}
