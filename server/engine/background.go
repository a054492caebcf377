package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// A view that is created in the background is durable as a pending relation of the catalog from the moment that the statement
// returns. It takes its place among the relations in the checkpoint that makes it complete. What it has until then is kept over a
// restart, see filling.go.

// Fill is how far a relation is that is being filled.
type Fill struct {
	Rel *catalog.Relation
	// Read is the number of rows that were read, and Total how many there are about; 0 if that is not known. Before is how many of
	// them were read before Since, which is after a restart.
	Read, Total, Before int64
	Since               time.Time
	Background          bool
	// Resumable: a restart goes on with what has been read.
	Resumable bool
	// Err is why it was given up; only of one that was created in the background.
	Err error
}

// Fraction is the part that is done; false if it is not known.
func (f Fill) Fraction() (float64, bool) {
	if f.Total <= 0 {
		return 0, false
	}
	return min(float64(f.Read)/float64(f.Total), 1), true
}

// Left is the time until it is complete, if it goes on as before; false if that cannot be told.
func (f Fill) Left(now time.Time) (time.Duration, bool) {
	if _, ok := f.Fraction(); !ok || f.Read <= f.Before {
		return 0, false
	}
	left := max(f.Total-f.Read, 0)
	return time.Duration(float64(now.Sub(f.Since)) * float64(left) / float64(f.Read-f.Before)), true
}

// background is a view that is created in the background.
type background struct {
	rel    *catalog.Relation
	cancel context.CancelFunc
	done   chan struct{}
	// err is why it was given up; guarded by Incarnation.mu.
	err   error
	since time.Time
}

// AddInBackground creates a materialized view and does not wait until it is filled. The caller has locked the catalog.
func (i *Incarnation) AddInBackground(ctx context.Context, rel *catalog.Relation) error {
	if err := i.Change(ctx, func(c *catalog.Catalog) { c.SetPending(rel.ID, rel) }); err != nil {
		return err
	}
	i.fillInBackground(rel)
	return nil
}

// fillPending goes on with what was being created in the background before a restart.
func (i *Incarnation) fillPending() {
	cat := i.Catalog()
	for _, id := range slices.Sorted(maps.Keys(cat.Pending)) {
		i.fillInBackground(cat.Pending[id])
	}
}

func (i *Incarnation) fillInBackground(rel *catalog.Relation) {
	ctx, cancel := context.WithCancel(i.Ctx)
	b := &background{rel: rel, cancel: cancel, done: make(chan struct{}), since: time.Now()}
	i.mu.Lock()
	i.background[rel.ID] = b
	i.mu.Unlock()
	i.wg.Go(func() {
		defer close(b.done)
		defer cancel()
		err := i.fillUntilDone(ctx, rel)
		if ctx.Err() != nil {
			return // it begins again, or was cancelled
		}
		i.mu.Lock()
		if err == nil {
			delete(i.background, rel.ID)
		}
		b.err = err
		i.mu.Unlock()
		if err != nil {
			i.e.cfg.Logger.Error("a view was not created in the background", "event", "background_failed", "relation", rel.Name, "error", err)
			if err := i.setPending(ctx, rel.ID, nil); err != nil && ctx.Err() == nil {
				i.e.cfg.Logger.Warn("a pending view stays in the catalog", "event", "background_stays", "relation", rel.Name, "error", err)
			}
		}
	})
}

// setPending changes a pending relation of the catalog, nil removes it, under the lock of the catalog.
func (i *Incarnation) setPending(ctx context.Context, id catalog.ID, rel *catalog.Relation) error {
	unlock, err := i.LockDDL(ctx, true)
	if err != nil {
		return err
	}
	defer unlock()
	return i.Change(ctx, func(c *catalog.Catalog) { c.SetPending(id, rel) })
}

// fillUntilDone tries again as long as what is in the way are failures of others.
func (i *Incarnation) fillUntilDone(ctx context.Context, rel *catalog.Relation) error {
	i.mu.Lock()
	f := i.goOn[rel.ID]
	delete(i.goOn, rel.ID)
	i.mu.Unlock()
	if f != nil {
		if err := i.completeQuery(ctx, f, addOptions{background: true}, nil); err == nil || ctx.Err() != nil || !errors.Is(err, ErrRestarted) {
			return err
		}
	}
	for {
		stream, err := i.PlanStream(i.Catalog(), rel)
		if err == nil {
			err = i.addQuery(ctx, rel, stream, addOptions{background: true})
		}
		if err == nil || ctx.Err() != nil || !errors.Is(err, ErrRestarted) {
			return err
		}
	}
}

// CancelBackground ends the creation of a view in the background, and forgets it. The caller has locked the catalog.
func (i *Incarnation) CancelBackground(ctx context.Context, id catalog.ID) error {
	i.mu.Lock()
	b := i.background[id]
	delete(i.background, id)
	i.mu.Unlock()
	if b != nil {
		b.cancel()
		// It ends soon, and must have ended before it may begin again.
		select {
		case <-b.done:
		case <-i.Ctx.Done():
			return i.explain(i.Ctx.Err())
		}
	}
	rel := i.Catalog().Pending[id]
	if rel == nil {
		return nil
	}
	err := i.Change(ctx, func(c *catalog.Catalog) { c.SetPending(id, nil) })
	if err != nil && i.Ctx.Err() == nil && i.Catalog().Pending[id] != nil {
		i.fillInBackground(rel)
	}
	return err
}

// PendingReaders are the views that are being created in the background and read one of some relations.
func (i *Incarnation) PendingReaders(ids ...catalog.ID) []*catalog.Relation {
	var out []*catalog.Relation
	cat := i.Catalog()
	for _, id := range slices.Sorted(maps.Keys(cat.Pending)) {
		p := cat.Pending[id]
		if slices.ContainsFunc(p.Inputs(), func(d catalog.ID) bool { return slices.Contains(ids, d) }) {
			out = append(out, p)
		}
	}
	return out
}

// Fills lists the relations that are being filled, by id, and those whose creation in the background has failed.
func (i *Incarnation) Fills() []Fill {
	i.mu.Lock()
	defer i.mu.Unlock()
	by := map[catalog.ID]Fill{}
	for id, b := range i.background {
		by[id] = Fill{Rel: b.rel, Since: b.since, Background: true, Err: b.err}
	}
	for id, c := range i.creating {
		if c.rel == nil || c.rel.ID != id {
			continue
		}
		f := Fill{Rel: c.rel, Since: c.since, Background: by[id].Background}
		if c.prog != nil {
			f.Read, f.Total, f.Before = c.prog.counts()
			f.Resumable = c.prog.kept.Load()
		}
		by[id] = f
	}
	var out []Fill
	for _, id := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[id])
	}
	return out
}

func (p *progress) counts() (read, total, before int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows, p.total, p.before
}

// estimate guesses how many rows a job has to read to be filled.
func (i *Incarnation) estimate(ctx context.Context, stream *plan.Stream, leafActors map[catalog.ID]int) int64 {
	snap, err := i.Snapshot(ctx, true)
	if err != nil {
		return 0
	}
	defer snap.Release()
	total := int64(0)
	for _, r := range stream.Relations {
		n := int64(leafActors[r.ID])
		switch r.Kind {
		case catalog.Table, catalog.MatView, catalog.Index:
			rows, err := snap.Table(storage.TableID(r.Rows())).EstimateRows(nil, nil)
			if err != nil {
				return 0
			}
			total += rows * n
		case catalog.Source:
			rows, _ := i.SourceRows(r)
			total += rows
		}
	}
	return total
}

// addOptions are those of addQuery.
type addOptions struct {
	// background: the catalog is not locked by the caller, but by addQuery where it changes it.
	background bool
	// watch is called now and then while the relation is filled.
	watch func(Fill)
}

// watchAfter is how long a fill goes on before somebody is told, and watchMax how often he is told at most.
const (
	watchAfter = time.Second
	watchMax   = 30 * time.Second
)

// awaitFilledWatched is awaitFilled with reports.
func (i *Incarnation) awaitFilledWatched(ctx context.Context, c *creation, prog *progress, deployed storage.Epoch, watch func(Fill)) error {
	if watch == nil {
		return i.awaitFilled(ctx, c, prog, deployed)
	}
	wait := watchAfter
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			f := Fill{Rel: c.rel, Since: c.since}
			f.Read, f.Total, f.Before = prog.counts()
			watch(f)
			wait = min(2*wait, watchMax)
			t.Reset(wait)
			continue
		case <-prog.done:
		case <-c.failed:
		case <-ctx.Done():
		case <-i.Ctx.Done():
		}
		return i.awaitFilled(ctx, c, prog, deployed)
	}
}

// pendingError is the error for a read of a view that is being created in the background.
func pendingError(f Fill) error {
	e := sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "materialized view %q is being created in the background", f.Rel.Name)
	if part, ok := f.Fraction(); ok {
		e = e.WithDetail("%d %% of what it reads has been read.", int(part*100))
	}
	return e.WithHint("weir_progress tells how far it is.")
}

// PendingError gives the error for a read of a relation that does not exist yet; nil if there is none of this name.
func (i *Incarnation) PendingError(schema, name string) error {
	for _, f := range i.Fills() {
		if f.Background && f.Rel.Schema == schema && f.Rel.Name == name {
			if f.Err != nil {
				return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "materialized view %q was not created: %s", name, firstLine(f.Err)).
					WithHint("DROP MATERIALIZED VIEW forgets it.")
			}
			return pendingError(f)
		}
	}
	return nil
}

// SourceRows is how many rows a running source has delivered; false if it does not run.
func (i *Incarnation) SourceRows(r *catalog.Relation) (int64, bool) {
	ps, ok := i.RT.SourcePositions(flow.JobID(r.ID), storage.Epoch(i.RT.Marks().Completed))
	n := int64(0)
	for _, p := range ps {
		n += p.Rows
	}
	return n, ok
}
