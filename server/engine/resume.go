package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// Resume starts the job of a relation that is stalled or stale again, with those that it depends on, as far as they
// do not run, and everything that is stalled because of them. Sources, and tables that a connector fills, go on where they
// were at the last checkpoint, which is theirs alone. Views and sinks are filled again from nothing, under new
// table ids: their old rows stay what they are until the new ones are complete and take their place in one
// checkpoint. If that fails they stay stalled, while what they read runs. The caller has locked the catalog.
func (i *Incarnation) Resume(ctx context.Context, rel *catalog.Relation) error {
	cat := i.Catalog()
	if i.e.Stalled(cat, rel.ID) == nil {
		return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "%s %q is not stalled", kindName(rel.Kind), rel.Name)
	}
	set := i.resumable(cat, rel)
	if err := i.awaitJobs(ctx, set); err != nil {
		return err
	}
	var readers, fill []*catalog.Relation
	for _, r := range set {
		switch r.Kind {
		case catalog.Source, catalog.Table:
			readers = append(readers, r)
		case catalog.MatView, catalog.Index, catalog.Sink:
			fill = append(fill, r)
		}
	}
	readers = append(readers, i.idleSources(cat, fill)...)
	if err := i.resumeReaders(cat, readers); err != nil {
		return i.notResumed(rel, nil, err)
	}
	if len(fill) == 0 {
		i.wake()
		return nil
	}
	if !slices.ContainsFunc(fill, func(r *catalog.Relation) bool { return r.ID == rel.ID }) {
		// It runs. What may still fail is what reads it.
		rel = fill[0]
	}
	return i.refill(ctx, cat, rel, fill)
}

// idleSources are the sources that views read which are to be filled, and that do not run because nobody else does.
func (i *Incarnation) idleSources(cat *catalog.Catalog, fill []*catalog.Relation) []*catalog.Relation {
	var out []*catalog.Relation
	seen := map[catalog.ID]bool{}
	var visit func(r *catalog.Relation)
	visit = func(r *catalog.Relation) {
		for _, id := range r.Inputs() {
			d := cat.RelationByID(id)
			if d == nil || seen[id] {
				continue
			}
			seen[id] = true
			switch d.Kind {
			case catalog.View:
				visit(d)
			case catalog.Source:
				if !i.RT.Has(flow.JobID(id)) && i.e.Stalled(cat, id) == nil {
					out = append(out, d)
				}
			}
		}
	}
	for _, r := range fill {
		visit(r)
	}
	return out
}

// resumable lists what has to be started for rel, what others read before what reads it.
func (i *Incarnation) resumable(cat *catalog.Catalog, rel *catalog.Relation) []*catalog.Relation {
	in := map[catalog.ID]bool{}
	i.e.foMu.Lock()
	roots := maps.Clone(i.e.stalled)
	i.e.foMu.Unlock()
	var up, down func(r *catalog.Relation)
	down = func(r *catalog.Relation) {
		if in[r.ID] {
			return
		}
		in[r.ID] = true
		for _, d := range cat.Readers(r.ID) {
			down(d)
		}
	}
	up = func(r *catalog.Relation) {
		if roots[r.ID] != nil {
			down(r)
		}
		for _, id := range r.Inputs() {
			if d := cat.RelationByID(id); d != nil {
				up(d)
			}
		}
	}
	up(rel)
	var out []*catalog.Relation
	for _, r := range cat.Sorted() {
		if !in[r.ID] || i.RT.Has(flow.JobID(r.ID)) {
			continue
		}
		// What is stalled for another reason as well stays so.
		other := false
		for id := range roots {
			other = other || !in[id] && dependsOn(cat, r, id)
		}
		if !other {
			out = append(out, r)
		}
	}
	return out
}

func dependsOn(cat *catalog.Catalog, r *catalog.Relation, id catalog.ID) bool {
	for _, d := range r.Inputs() {
		if d == id {
			return true
		}
		if up := cat.RelationByID(d); up != nil && dependsOn(cat, up, id) {
			return true
		}
	}
	return false
}

func jobIDs(rels []*catalog.Relation) []flow.JobID {
	ids := make([]flow.JobID, len(rels))
	for k, r := range rels {
		ids[k] = flow.JobID(r.ID)
	}
	return ids
}

// resumed tells the manager that jobs run.
func (i *Incarnation) resumed(rels []*catalog.Relation) {
	ids := make([]failover.JobID, len(rels))
	for k, r := range rels {
		ids[k] = failover.JobID(r.ID)
	}
	i.e.step(failover.Resumed{Jobs: ids})
}

// resumeReaders starts sources and tables with connectors.
func (i *Incarnation) resumeReaders(cat *catalog.Catalog, rels []*catalog.Relation) error {
	var jobs []*flow.Job
	tables, sources := map[catalog.ID]*table.Table{}, map[catalog.ID]*stateIDs{}
	for _, r := range rels {
		var j *flow.Job
		var err error
		if r.Kind == catalog.Table {
			t := i.Table(r.ID)
			if t == nil {
				if t, err = i.openTable(cat, r); err != nil {
					return err
				}
			}
			tables[r.ID] = t
			if err = i.openSequences(t); err == nil {
				j, err = i.connectorTableJob(t, i.stateIDs(r))
			}
		} else {
			sources[r.ID] = i.newStateIDs(r)
			j, err = i.sourceJob(r, sources[r.ID])
		}
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return nil
	}
	running := map[catalog.ID]bool{}
	for id := range cat.Relations {
		running[id] = i.RT.Has(flow.JobID(id)) || slices.ContainsFunc(rels, func(r *catalog.Relation) bool { return r.ID == id })
	}
	save, marked := i.markStale(cat, running)
	e, err := i.RT.Redeploy(i.Ctx, save, nil, jobs...)
	if err != nil {
		return err
	}
	// From here on nothing but the end of the incarnation is in the way.
	marked()
	i.mu.Lock()
	maps.Copy(i.tables, tables)
	i.mu.Unlock()
	i.resumed(rels)
	if err := i.RT.Wait(i.Ctx, e); err != nil {
		return err
	}
	i.RT.Back(e, jobIDs(rels)...)
	return i.saveSources(sources)
}

// saveSources enters the state of sources that run in the catalog, as far as it is new. If that fails, they do not run.
func (i *Incarnation) saveSources(sources map[catalog.ID]*stateIDs) error {
	var jobs []flow.JobID
	var drop []storage.TableID
	var changed []*catalog.Relation
	for _, id := range slices.Sorted(maps.Keys(sources)) {
		r := *i.Catalog().RelationByID(id)
		now := sources[id].all()
		if maps.Equal(now, r.StateTables) {
			continue
		}
		for name, t := range now {
			if _, ok := r.StateTables[name]; !ok {
				drop = append(drop, storage.TableID(t))
			}
		}
		r.StateTables = now
		changed, jobs = append(changed, &r), append(jobs, flow.JobID(id))
	}
	if len(changed) == 0 {
		return nil
	}
	err := i.change(i.Ctx, func(c *catalog.Catalog) {
		for _, r := range changed {
			c.Put(r)
		}
	})
	if err != nil && i.Ctx.Err() == nil {
		_, rerr := i.RT.Remove(i.Ctx, flow.Save{Drop: drop}, jobs...)
		err = errors.Join(err, rerr)
	}
	return err
}

// refill fills views and sinks from nothing.
func (i *Incarnation) refill(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation, rels []*catalog.Relation) (err error) {
	ids := make([]catalog.ID, len(rels))
	l := leaves{prog: newProgress(), together: map[catalog.ID]bool{}, rows: map[catalog.ID]uint32{}}
	for k, r := range rels {
		ids[k] = r.ID
		l.together[r.ID] = true
	}
	made, end := i.create(ids...)
	var jobs []*flow.Job
	var old []storage.TableID
	again := make([]*catalog.Relation, len(rels))
	states := make([]*stateIDs, len(rels))
	for k, r := range rels {
		c := *r
		c.Stale, c.StateTables = "", nil
		if c.Kind == catalog.MatView || c.Kind == catalog.Index {
			c.RowsID = uint32(i.allocID())
			l.rows[c.ID] = c.RowsID
		}
		states[k] = i.newStateIDs(&c)
		again[k] = &c
		// The plan reads relations from the catalog; those that are filled again are read in this graph only.
		j, err := i.queryJob(cat, &c, states[k], l)
		if err != nil {
			end()
			i.stayStalled(cat, rels, err)
			return errors.Join(i.notResumed(rel, made, err), i.discardRefill(again[:k+1], states))
		}
		jobs = append(jobs, j)
		old = append(old, table.Tables(r)...)
	}
	l.prog.all()
	// The new rows have no past.
	i.RT.Absent(jobIDs(rels)...)
	e, err := i.RT.Redeploy(i.Ctx, flow.Save{}, nil, jobs...)
	if err != nil {
		end()
		i.stayStalled(cat, rels, err)
		return errors.Join(i.notResumed(rel, made, err), i.discardRefill(again, states))
	}
	err = i.awaitFilled(ctx, made, l.prog, e)
	return i.finish(ctx, func() error {
		defer end()
		if err == nil {
			l.prog.mu.Lock()
			e = max(e, l.prog.epoch)
			l.prog.mu.Unlock()
			err = i.commit(ctx, flow.Save{Meta: i.fresh(ids...), Drop: old}, made, jobIDs(rels), func(c *catalog.Catalog) {
				for k, r := range again {
					// Its name and comment may have changed; the catalog is locked, so that they do not now.
					r.StateTables = states[k].all()
					c.Put(r)
				}
			})
		}
		if err != nil {
			err = i.notResumed(rel, made, err)
			if i.Ctx.Err() == nil {
				err = errors.Join(err, i.stopRefill(cat, rels, again, states, err))
			}
			return err
		}
		i.mu.Lock()
		for _, id := range ids {
			delete(i.stale, id)
		}
		i.mu.Unlock()
		for _, r := range rels {
			i.errs.forgetStates(i.stateIDs(r))
		}
		i.resumed(rels)
		i.RT.Back(e, jobIDs(rels)...)
		i.wake()
		return nil
	}, nil)
}

// stopRefill takes the jobs of views that could not be filled again out of the graph. They stay stalled.
func (i *Incarnation) stopRefill(cat *catalog.Catalog, rels, again []*catalog.Relation, states []*stateIDs, why error) error {
	i.stayStalled(cat, rels, why)
	e, err := i.RT.Remove(i.Ctx, flow.Save{}, jobIDs(rels)...)
	if err == nil {
		err = i.RT.Wait(i.Ctx, e)
	}
	if err != nil {
		return i.explain(err)
	}
	return i.discardRefill(again, states)
}

// stayStalled says that views that could not be filled again are stalled, also where what they read is not any more.
func (i *Incarnation) stayStalled(cat *catalog.Catalog, rels []*catalog.Relation, why error) {
	for _, r := range rels {
		if i.e.Stalled(cat, r.ID) == nil {
			i.e.step(failover.StalledAlready{Job: failover.JobID(r.ID), Err: why})
		}
	}
}

// discardRefill forgets the state of views that were not filled again.
func (i *Incarnation) discardRefill(again []*catalog.Relation, states []*stateIDs) error {
	if i.Ctx.Err() != nil {
		return nil
	}
	var drop []storage.TableID
	for k, r := range again {
		i.errs.forgetStates(states[k])
		if r.RowsID != 0 {
			drop = append(drop, storage.TableID(r.RowsID))
		}
		for _, id := range states[k].end() {
			drop = append(drop, storage.TableID(id))
		}
	}
	// Not awaited: the restart of the region that failed waits for this statement, and checkpoints for it.
	return i.Explain(i.RT.SaveLater(i.Ctx, flow.Save{Drop: drop}))
}

// notResumed turns the error of a Resume into one for users.
func (i *Incarnation) notResumed(rel *catalog.Relation, made *creation, err error) error {
	if made != nil {
		i.mu.Lock()
		if made.err != nil {
			err = made.err
		}
		i.mu.Unlock()
	}
	if i.Ctx.Err() != nil {
		return i.explain(err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var known *sqlerr.Error
	code := sqlerr.InternalError
	if errors.As(err, &known) {
		code = known.Code
	}
	e := sqlerr.Newf(code, "%s %q was not resumed: %s", kindName(rel.Kind), rel.Name, firstLine(err))
	e.Cause = fmt.Errorf("resume %s: %w", rel.Name, err)
	return e
}
