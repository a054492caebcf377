package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// LockDDL lets the caller change the catalog until unlock; others wait.
func (i *Incarnation) LockDDL(ctx context.Context) (unlock func(), err error) {
	select {
	case i.e.ddl <- struct{}{}:
		return func() { <-i.e.ddl }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
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
	cfg.Logger = i.e.cfg.Logger
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

// Change saves a catalog change that concerns no job: a view, a schema, a source, a name, a comment.
func (i *Incarnation) Change(change func(c *catalog.Catalog)) error {
	c := i.edit(change)
	op, err := encodeCatalog(c)
	if err != nil {
		return err
	}
	if err := i.RT.Save(i.Ctx, flow.Save{Meta: []storage.MetaOp{op}}); err != nil {
		return i.explain(err)
	}
	i.cat.Store(c)
	return nil
}

// AddTable creates a table; with a connector it also starts to read, and src is its source.
func (i *Incarnation) AddTable(rel *catalog.Relation, src exec.Source) error {
	t := table.New(i.Store, rel)
	ids := i.newStateIDs(rel)
	var job *flow.Job
	if src != nil {
		i.mu.Lock()
		i.sources[rel.ID] = src
		i.mu.Unlock()
		var err error
		if job, err = i.connectorTableJob(t, ids); err != nil {
			return err
		}
	} else {
		job = i.tableJob(t)
	}
	e, err := i.RT.Deploy(i.Ctx, flow.Save{}, job)
	if err != nil {
		return i.explain(err)
	}
	if err := i.RT.Wait(i.Ctx, e); err != nil {
		return i.explain(err)
	}
	if err := t.OpenSequences(i.seqs); err != nil {
		return err
	}
	i.mu.Lock()
	i.tables[rel.ID] = t
	i.mu.Unlock()
	return i.Change(func(c *catalog.Catalog) {
		r := *rel
		r.StateTables = ids.all()
		t.Rel = &r
		c.Put(&r)
	})
}

// AddQuery creates a materialized view or a sink from its plan, and returns when it holds everything
// that its inputs hold. When ctx ends before, nothing of it stays.
func (i *Incarnation) AddQuery(ctx context.Context, rel *catalog.Relation, stream *plan.Stream) error {
	ids := i.newStateIDs(rel)
	sourceIDs := map[catalog.ID]*stateIDs{}
	var jobs []*flow.Job
	for _, r := range stream.Relations {
		if err := i.e.Stalled(i.Catalog(), r.ID); err != nil {
			return stalledError(r, err)
		}
		if r.Kind != catalog.Source || i.RT.Has(flow.JobID(r.ID)) {
			continue
		}
		sids := i.newStateIDs(r)
		j, err := i.sourceJob(r, sids)
		if err != nil {
			return err
		}
		sourceIDs[r.ID] = sids
		jobs = append(jobs, j)
	}
	prog := newProgress()
	job, err := i.buildStream(rel, stream, ids, prog)
	if err != nil {
		return err
	}
	jobs = append(jobs, job)
	e, err := i.RT.Deploy(i.Ctx, flow.Save{}, jobs...)
	if err != nil {
		return i.explain(err)
	}
	if err := i.awaitFilled(ctx, prog, e); err != nil {
		return errors.Join(i.explain(err), i.withdraw(rel, ids, sourceIDs))
	}
	return i.Change(func(c *catalog.Catalog) {
		r := *rel
		r.StateTables = ids.all()
		c.Put(&r)
		for id, sids := range sourceIDs {
			s := *c.Relations[id]
			s.StateTables = sids.all()
			c.Put(&s)
		}
	})
}

func (i *Incarnation) awaitFilled(ctx context.Context, prog *progress, deployed storage.Epoch) error {
	select {
	case <-prog.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-i.Ctx.Done():
		return ErrRestarted
	}
	prog.mu.Lock()
	e := max(prog.epoch, deployed)
	prog.mu.Unlock()
	return i.RT.Wait(ctx, e)
}

// withdraw removes a job that was not completed, and the source jobs that were started for it.
func (i *Incarnation) withdraw(rel *catalog.Relation, ids *stateIDs, sources map[catalog.ID]*stateIDs) error {
	if i.Ctx.Err() != nil {
		return nil
	}
	jobs := []flow.JobID{flow.JobID(rel.ID)}
	drop := []storage.TableID{storage.TableID(rel.ID)}
	for _, id := range ids.all() {
		drop = append(drop, storage.TableID(id))
	}
	for id, sids := range sources {
		jobs = append(jobs, flow.JobID(id))
		for _, id := range sids.all() {
			drop = append(drop, storage.TableID(id))
		}
	}
	_, err := i.RT.Remove(i.Ctx, flow.Save{Drop: drop}, jobs...)
	if err != nil {
		return fmt.Errorf("withdraw %s: %w", rel.Name, i.explain(err))
	}
	return nil
}

// Drop removes relations, which must be everything that depends on one of them.
func (i *Incarnation) Drop(rels []*catalog.Relation) error {
	var jobs []flow.JobID
	var drop []storage.TableID
	c := i.edit(func(c *catalog.Catalog) {
		for _, r := range rels {
			c.Remove(r.ID)
			jobs = append(jobs, flow.JobID(r.ID))
			drop = append(drop, table.Tables(r)...)
		}
		// Sources that nobody reads any more forget how far they were.
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
	})
	op, err := encodeCatalog(c)
	if err != nil {
		return err
	}
	e, err := i.RT.Remove(i.Ctx, flow.Save{Meta: []storage.MetaOp{op}, Drop: drop}, jobs...)
	if err == nil {
		err = i.RT.WaitDurable(i.Ctx, e)
	}
	if err != nil {
		return i.explain(err)
	}
	i.cat.Store(c)
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range rels {
		delete(i.tables, r.ID)
		delete(i.sources, r.ID)
		delete(i.problems, r.ID)
		i.e.unstall(r.ID)
	}
	return nil
}

func (e *Engine) unstall(id catalog.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.stalled, id)
}

func stalledError(r *catalog.Relation, err error) error {
	return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "%s %q is stalled: %v", r.Kind, r.Name, err).
		WithHint("Its job failed again and again. Drop it, or remove the cause and restart the server.")
}

// StalledError gives the error for a read of a relation whose job does not run, nil if it does.
func (i *Incarnation) StalledError(r *catalog.Relation) error {
	if err := i.e.Stalled(i.Catalog(), r.ID); err != nil {
		return stalledError(r, err)
	}
	return nil
}
