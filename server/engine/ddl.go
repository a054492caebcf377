package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// LockDDL lets the caller change the catalog until unlock; others wait. It waits for regions that are being restarted before, without
// the lock: DROP of what fails must get it. A statement that needs no checkpoint does not wait: one that is refused in any
// case, or brings no state with it and has nothing to do with those regions.
func (i *Incarnation) LockDDL(ctx context.Context, alone bool) (unlock func(), err error) {
	for {
		// A definition takes effect with a checkpoint. Without room it would wait, and could not be taken back.
		if err := i.Store.CheckRoom(); err != nil {
			return nil, err
		}
		if !alone {
			if err := i.awaitRegions(ctx); err != nil {
				return nil, err
			}
		}
		select {
		case i.e.ddl <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-i.Ctx.Done():
			return nil, i.explain(checkpoint.ErrStopped)
		}
		if alone || !i.restarting() {
			return i.lease(), nil
		}
		<-i.e.ddl
	}
}

// AllocID gives the id for a new object.
func (i *Incarnation) AllocID() catalog.ID { return i.allocID() }

// Parallelism is the number of actors per fragment for new jobs.
func (i *Incarnation) Parallelism() int { return i.e.cfg.Parallelism }

// NewSource makes a source of a statement's options, checking them.
func (i *Incarnation) NewSource(cfg connector.Config) (exec.Source, error) {
	cfg.Logger = i.e.cfg.Logger
	return i.e.cfg.Connectors.NewSource(cfg)
}

// NewSink makes a sink of a statement's options, checking them.
func (i *Incarnation) NewSink(cfg connector.Config) (exec.Sink, error) {
	cfg.Logger, cfg.Reserved = i.e.cfg.Logger, i.e.cfg.Storage.Dir
	for _, r := range i.Catalog().Sorted() {
		if r.Kind == catalog.Sink && r.Into == 0 {
			cfg.Others = append(cfg.Others, options(r.Options))
		}
	}
	return i.e.cfg.Connectors.NewSink(cfg)
}

// edit makes a catalog with a change; it is published when save has made it durable.
func (i *Incarnation) edit(change func(c *catalog.Catalog)) *catalog.Catalog {
	c := i.Catalog().Clone()
	change(c)
	i.mu.Lock()
	c.NextID = i.nextID
	i.mu.Unlock()
	return c
}

// Change saves a catalog change that concerns no job: a view, a schema, a source, a name, a comment. If there is an error, which is
// SQLSTATE 53100 on a full disk and the cause of ctx if that ends before, nothing has changed.
func (i *Incarnation) Change(ctx context.Context, change func(c *catalog.Catalog)) error {
	before := i.Catalog()
	return i.finish(ctx, func() error { return i.change(ctx, change) }, func() error {
		return i.change(i.Ctx, func(c *catalog.Catalog) { *c = *before.Clone() })
	})
}

func (i *Incarnation) change(ctx context.Context, change func(c *catalog.Catalog)) error {
	c := i.edit(change)
	op, err := encodeCatalog(c)
	if err != nil {
		return err
	}
	if i.restarting() {
		err = i.saveNow(op)
	} else {
		err = i.RT.Save(ctx, flow.Save{Meta: []storage.MetaOp{op}})
	}
	if err != nil {
		return i.explain(err)
	}
	i.publishCatalog(c)
	return nil
}

// saveNow saves a catalog without a checkpoint, of which there is none while a region is restarted. That is enough for what brings no
// state with it: the log has what is written to a table that the newest checkpoint does not know.
func (i *Incarnation) saveNow(ops ...storage.MetaOp) error {
	if i.Ctx.Err() != nil {
		return checkpoint.ErrStopped
	}
	if err := i.try("save the catalog at once"); err != nil {
		return err
	}
	for _, op := range ops {
		if bytes.Equal(op.Key, catalogKey) {
			// What the log has of an older one is not to come after it.
			i.RT.Amend(op)
		}
	}
	return i.Store.SaveMeta(ops)
}

// publishCatalog makes a catalog that is durable the present one. The log has rows and no definitions, so a checkpoint
// that the server may have to go back to must have them: whoever is told that something was created finds it even if
// the newest state is damaged. If it cannot be retained (a full disk), the definition stands all the same.
func (i *Incarnation) publishCatalog(c *catalog.Catalog) {
	i.cat.Store(c)
	if err := i.Store.RetainCheckpoint(); err != nil && !errors.Is(err, storage.ErrClosed) {
		i.e.cfg.Logger.Warn("the checkpoint with a definition is not retained", "event", "retain_failed", "error", err)
	}
}

// commit is Change for relations whose jobs are in the graph already: they are in the catalog only together
// with their state. What else save has is saved too.
func (i *Incarnation) commit(ctx context.Context, save flow.Save, made *creation, jobs []flow.JobID, change func(c *catalog.Catalog)) error {
	return i.commitThen(ctx, save, made, jobs, change, func() {})
}

// commitThen is commit, and calls then when the change is durable and not published.
func (i *Incarnation) commitThen(ctx context.Context, save flow.Save, made *creation, jobs []flow.JobID, change func(c *catalog.Catalog), then func()) error {
	c := i.edit(change)
	op, err := encodeCatalog(c)
	if err != nil {
		return err
	}
	if len(jobs) == 0 && i.restarting() {
		if err := i.saveNow(append(save.Meta, op)...); err != nil {
			return err
		}
		i.publishCatalog(c)
		return nil
	}
	save.Meta, save.Needs = append(save.Meta, op), jobs
	if err := i.RT.Save(ctx, save); err != nil {
		if errors.Is(err, flow.ErrRestarting) {
			// The reason is about to be known.
			select {
			case <-made.failed:
			case <-i.Ctx.Done():
			}
		}
		return err
	}
	then()
	i.publishCatalog(c)
	return nil
}

// AddTable creates a table; with a connector it also starts to read, and src is its source. If there is an
// error, or ctx ends before, nothing of it stays, unless the incarnation ends, when it is either complete or not there. also changes
// the catalog together with it, for what the table owns.
func (i *Incarnation) AddTable(ctx context.Context, rel *catalog.Relation, src exec.Source, also ...func(*catalog.Catalog)) (err error) {
	r := *rel
	rel = &r
	return i.finish(ctx, func() error { return i.addTable(ctx, rel, src, also) }, func() error { return i.remove(i.Ctx, rel.ID) })
}

func (i *Incarnation) addTable(ctx context.Context, rel *catalog.Relation, src exec.Source, also []func(*catalog.Catalog)) (err error) {
	ids := i.newStateIDs(rel)
	t, err := i.openTable(i.Catalog(), rel)
	if err != nil {
		return errors.Join(err, i.discard(rel, ids))
	}
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.unlinked = nil
	}()
	parents := table.NewTx()
	defer parents.Release()
	if err := i.lockParents(ctx, parents, t); err != nil {
		return errors.Join(err, i.discard(rel, ids))
	}
	var job *flow.Job
	if src != nil {
		i.mu.Lock()
		i.sources[rel.ID] = src
		i.mu.Unlock()
		if job, err = i.connectorTableJob(t, ids); err != nil {
			return errors.Join(err, i.discard(rel, ids))
		}
	} else {
		job = i.tableJob(t)
	}
	made, end := i.create(rel.ID)
	defer end()
	e, err := i.RT.Deploy(i.Ctx, flow.Save{}, job)
	if err != nil {
		return errors.Join(i.explainJob(rel, made, err), i.discard(rel, ids))
	}
	defer func() {
		if err != nil {
			err = errors.Join(i.explainJob(rel, made, err), i.withdraw(rel, ids, nil))
		}
	}()
	if err := i.RT.Wait(i.Ctx, e); err != nil {
		return err
	}
	if err := i.openSequences(t); err != nil {
		return err
	}
	rel.StateTables = ids.all()
	i.mu.Lock()
	i.tables[rel.ID] = t
	i.mu.Unlock()
	i.linkAll()
	defer func() {
		if err != nil {
			for _, f := range t.ForeignKeys() {
				f.Unlink()
			}
		}
	}()
	needs := []flow.JobID{job.ID}
	if src == nil {
		needs = nil // if it fails, everything does, and finds a table without rows
	}
	return i.commit(ctx, flow.Save{}, made, needs, func(c *catalog.Catalog) {
		c.Put(rel)
		for _, change := range also {
			change(c)
		}
	})
}

// openSequences opens the sequences of a table.
func (i *Incarnation) openSequences(t *table.Table) error {
	if err := i.try("open sequences"); err != nil {
		return err
	}
	return t.OpenSequences(i.seqs)
}

// AddQuery creates a materialized view or a sink from its plan, and returns when it holds everything
// that its inputs hold. When ctx ends before, or there is an error, nothing of it stays; if the
// incarnation ends, it is either complete or not there.
//
// watch, if it is not nil, is called now and then, from the second second on.
func (i *Incarnation) AddQuery(ctx context.Context, rel *catalog.Relation, stream *plan.Stream, watch func(Fill)) error {
	return i.addQuery(ctx, rel, stream, addOptions{watch: watch})
}

func (i *Incarnation) addQuery(ctx context.Context, rel *catalog.Relation, stream *plan.Stream, o addOptions) error {
	ids := i.newStateIDs(rel)
	sourceIDs := map[catalog.ID]*stateIDs{}
	var jobs []*flow.Job
	if err := i.awaitJobs(ctx, stream.Relations); err != nil {
		return err
	}
	unlock := func() {}
	if o.background {
		u, err := i.LockDDL(ctx, false)
		if err != nil {
			return err
		}
		unlock = sync.OnceFunc(u)
		defer func() { unlock() }()
	}
	made := []catalog.ID{rel.ID}
	for _, r := range stream.Relations {
		if err := i.StalledError(r); err != nil {
			return err
		}
		if r.Kind != catalog.Source || i.RT.Has(flow.JobID(r.ID)) || sourceIDs[r.ID] != nil {
			continue
		}
		sids := i.newStateIDs(r)
		j, err := i.sourceJob(r, sids)
		if err != nil {
			return err
		}
		sourceIDs[r.ID] = sids
		jobs = append(jobs, j)
		made = append(made, r.ID)
	}
	f := &fill{rel: rel, ids: ids, sources: sourceIDs, made: made, prog: newProgress()}
	reads := map[catalog.ID]int{}
	job, err := i.buildStream(rel, stream, ids, leaves{prog: f.prog, reads: reads, durable: o.background, shares: &f.shares})
	if err != nil {
		return errors.Join(err, i.discard(rel, ids))
	}
	f.prog.total = i.estimate(ctx, stream, reads)
	f.prog.all()
	jobs = append(jobs, job)
	f.c, f.end = i.create(made...)
	i.show(f.c, rel, f.prog)
	save, marked := i.staleBy(sourceIDs)
	f.epoch, err = i.RT.Deploy(i.Ctx, save, jobs...)
	if err != nil {
		f.end()
		return errors.Join(i.explainJob(rel, f.c, err), i.discard(rel, ids))
	}
	marked()
	if o.background {
		// Others may read these sources from now on, whatever becomes of this view.
		if len(sourceIDs) > 0 {
			if err = i.RT.Wait(i.Ctx, f.epoch); err == nil {
				err = i.commit(i.Ctx, flow.Save{}, f.c, sourceJobs(sourceIDs), f.putSources)
			}
			if err == nil {
				f.sources = nil
			}
		}
		unlock()
		if err == nil {
			err = i.keepFilling(ctx, f)
		}
	}
	return i.completeQuery(ctx, f, o, err)
}

// fill is a job that is deployed, and fills a new relation.
type fill struct {
	rel *catalog.Relation
	ids *stateIDs
	// sources are those that run for it, and are not in the catalog with their state; made all relations whose jobs are new.
	sources map[catalog.ID]*stateIDs
	made    []catalog.ID
	prog    *progress
	// c and end are what create gave, and epoch what Deploy did.
	c     *creation
	end   func()
	epoch storage.Epoch
	// shares: it reads the rows of a relation by key.
	shares bool
	// estimate guesses how many rows it has to read, once that can be asked.
	estimate func() int64
}

// putSources enters the sources that run.
func (f *fill) putSources(c *catalog.Catalog) {
	for id, sids := range f.sources {
		s := *c.Relations[id]
		s.StateTables = sids.all()
		c.Put(&s)
	}
}

// completeQuery awaits that a job is filled, and enters its relation in the catalog; unless there is an error already, with which it is
// withdrawn.
func (i *Incarnation) completeQuery(ctx context.Context, f *fill, o addOptions, err error) error {
	rel := f.rel
	if err == nil {
		err = i.awaitFilledWatched(ctx, f.c, f.prog, f.epoch, o.watch)
	}
	if err == nil && o.background {
		// A region that restarts may wait for this very creation.
		var unlock func()
		if unlock, err = i.LockDDL(ctx, true); err == nil {
			defer unlock()
		}
	}
	return i.finish(ctx, func() error {
		defer f.end()
		if err == nil {
			r := *rel
			r.StateTables = f.ids.all()
			needs := make([]flow.JobID, len(f.made))
			for k, id := range f.made {
				needs[k] = flow.JobID(id)
			}
			err = i.commitThen(ctx, flow.Save{Meta: i.notFilling(rel.ID)}, f.c, needs, func(c *catalog.Catalog) {
				c.Put(&r)
				c.SetPending(r.ID, nil)
				f.putSources(c)
			}, func() { i.RT.Since(i.Store.Completed(), flow.JobID(r.ID)) })
		}
		if err != nil {
			return errors.Join(i.explainJob(rel, f.c, err), i.withdraw(rel, f.ids, f.sources))
		}
		return nil
	}, func() error { return i.remove(i.Ctx, rel.ID) })
}

func sourceJobs(ids map[catalog.ID]*stateIDs) []flow.JobID {
	var out []flow.JobID
	for id := range ids {
		out = append(out, flow.JobID(id))
	}
	return out
}

// staleBy is markStale for sources that are about to be read again: a view that was stalled while nobody
// else read them has stood still with them until now.
func (i *Incarnation) staleBy(sources map[catalog.ID]*stateIDs) (save flow.Save, marked func()) {
	if len(sources) == 0 {
		return flow.Save{}, func() {}
	}
	cat := i.Catalog()
	running := map[catalog.ID]bool{}
	for id := range cat.Relations {
		running[id] = sources[id] != nil || i.RT.Has(flow.JobID(id))
	}
	return i.markStale(cat, running)
}

// explainJob is explain for the creation of a relation: if its own job is what failed, trying again does
// not help, and the error says what is wrong.
func (i *Incarnation) explainJob(rel *catalog.Relation, c *creation, err error) error {
	i.mu.Lock()
	f := i.failed
	if c.err != nil {
		f = flow.Failure{Job: c.job, Err: c.err}
	}
	i.mu.Unlock()
	if f.Err == nil || f.Job != flow.JobID(rel.ID) {
		if c.err != nil || errors.Is(err, flow.ErrRestarting) {
			return ErrRestarted
		}
		return i.explain(err)
	}
	code := sqlerr.InternalError
	var known *sqlerr.Error
	if errors.As(f.Err, &known) {
		code = known.Code
	}
	e := sqlerr.Newf(code, "%s %q was not created: its job failed: %s", kindName(rel.Kind), rel.Name, firstLine(f.Err))
	e.Cause = f.Err
	return e
}

func (i *Incarnation) awaitFilled(ctx context.Context, c *creation, prog *progress, deployed storage.Epoch) error {
	select {
	case <-prog.done:
	case <-c.failed:
		return flow.ErrRestarting
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-i.Ctx.Done():
		return ErrRestarted
	}
	// Both may have happened at once; who has cancelled must not be told that it was done.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	prog.mu.Lock()
	e := max(prog.epoch, deployed)
	prog.mu.Unlock()
	return i.RT.Wait(ctx, e)
}

// discard forgets what was made in memory for the job of a relation that was not deployed.
func (i *Incarnation) discard(rel *catalog.Relation, ids *stateIDs) error {
	defer i.forget(rel.ID)
	i.errs.forgetStates(ids)
	if i.Ctx.Err() != nil {
		return nil
	}
	drop := tablesOf(rel, ids)
	return i.Explain(i.RT.SaveLater(i.Ctx, flow.Save{Drop: drop}))
}

// tablesOf lists the tables of a relation that is being created.
func tablesOf(rel *catalog.Relation, ids *stateIDs) []storage.TableID {
	out := table.Tables(rel)
	for _, id := range ids.all() {
		if !slices.Contains(out, storage.TableID(id)) {
			out = append(out, storage.TableID(id))
		}
	}
	return out
}

// withdraw removes a job that was not completed, and the source jobs that were started for it.
func (i *Incarnation) withdraw(rel *catalog.Relation, ids *stateIDs, sources map[catalog.ID]*stateIDs) error {
	defer i.forget(rel.ID)
	i.errs.forgetStates(ids)
	i.e.step(failover.Forget{Jobs: []failover.JobID{failover.JobID(rel.ID)}})
	if i.Ctx.Err() != nil {
		return nil
	}
	jobs := []flow.JobID{flow.JobID(rel.ID)}
	drop := tablesOf(rel, ids)
	for id, sids := range sources {
		jobs = append(jobs, flow.JobID(id))
		for _, id := range sids.all() {
			drop = append(drop, storage.TableID(id))
		}
	}
	e, err := i.RT.Remove(i.Ctx, flow.Save{Drop: drop, Meta: i.notFilling(rel.ID)}, jobs...)
	if err == nil {
		err = i.RT.Wait(i.Ctx, e)
	}
	// An operator may have opened its state only now.
	var late []storage.TableID
	for _, ids := range append(slices.Collect(maps.Values(sources)), ids) {
		for _, id := range ids.end() {
			if !slices.Contains(drop, storage.TableID(id)) {
				late = append(late, storage.TableID(id))
			}
		}
	}
	if err == nil && len(late) > 0 {
		err = i.RT.SaveLater(i.Ctx, flow.Save{Drop: late})
	}
	if err != nil {
		return fmt.Errorf("withdraw %s: %w", rel.Name, i.explain(err))
	}
	return nil
}

// forget drops what the incarnation keeps in memory about relations that are gone.
func (i *Incarnation) forget(ids ...catalog.ID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		delete(i.tables, id)
		delete(i.sources, id)
		delete(i.problems, id)
		delete(i.began, id)
		delete(i.dropping, id)
		delete(i.stale, id)
		i.forgotten[id] = true
		if c := i.committers[id]; c != nil {
			c.end()
			delete(i.committers, id)
		}
	}
}

// unreadSources takes from the sources of a catalog that nobody reads any more how far they were. It gives the jobs and tables that go with that.
func (i *Incarnation) unreadSources(c *catalog.Catalog) (drop []storage.TableID, jobs []flow.JobID) {
	for _, r := range c.Sorted() {
		if r.Kind == catalog.Source && i.RT.Has(flow.JobID(r.ID)) && !i.needed(c, r.ID) {
			s := *r
			for _, id := range s.StateTables {
				drop = append(drop, storage.TableID(id))
			}
			s.StateTables = nil
			c.Put(&s)
			jobs = append(jobs, flow.JobID(r.ID))
		}
	}
	return drop, jobs
}

// CheckPresent tells whether a snapshot that was just made has the present rows of a relation that the
// caller's catalog has: if not, the relation was dropped meanwhile, or replaced or filled again, which is an error
// that wraps ErrReplaced.
func (i *Incarnation) CheckPresent(rel *catalog.Relation) error {
	i.mu.Lock()
	dropping := i.dropping[rel.ID]
	i.mu.Unlock()
	now := i.Catalog().RelationByID(rel.ID)
	if dropping || now == nil {
		return sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", rel.Name)
	}
	if now.Rows() != rel.Rows() || now.Altered != rel.Altered {
		return replacedError(rel)
	}
	return nil
}

func kindName(k catalog.RelKind) string {
	if k == catalog.MatView {
		return "materialized view"
	}
	return string(k)
}

// firstLine leaves out the stack of a panic.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// StalledError gives the error for a read of a relation whose job does not run, nil if it does.
func (i *Incarnation) StalledError(r *catalog.Relation) error {
	cat := i.Catalog()
	err := i.e.Stalled(cat, r.ID)
	if err == nil {
		return nil
	}
	hint := "Its job, or one that it depends on, failed again and again. Remove the cause and let it be filled again: ALTER " +
		strings.ToUpper(kindName(r.Kind)) + " ... RESUME."
	return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "%s %q is stalled: %s", kindName(r.Kind), r.Name, firstLine(err)).
		WithHint("%s", hint)
}
