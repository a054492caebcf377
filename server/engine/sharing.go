package engine

import (
	"context"
	"slices"
	"time"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// A part of the query of a view or sink that keeps state, and equals the query of a materialized view, is not run again: the rows of
// that view are taken. What is taken is decided when the view or sink is created, and written into the catalog (Relation.Takes), so that a
// restart finds the plan again. What is planned again because something that it reads was replaced gives up what does not fit any
// more, and takes nothing new.
//
// Users know nothing of it. A view that is dropped while others take its rows loses its name and stays (catalog.Left), until the last of
// these is dropped or planned anew. So that it can always go together with them, a view counts only if its query names nothing that
// the other query does not name as well. It must also have the same owner, whose rights and name its expressions are computed with, and show
// NULL in place of what fails, as the other one: then a row of the part that fails is the same row there. Watermarks are left out: which
// rows are late depends on when a job began.

// PlanNew plans a relation that is created or gets another query, which is in cat no more than its old self is, and lets it take the
// rows of views if take says so; it sets rel.Takes.
func (i *Incarnation) PlanNew(cat *catalog.Catalog, rel *catalog.Relation, take bool) (*plan.Stream, error) {
	rel.Takes = nil
	if take {
		rel.Takes = i.takable(cat, rel)
	}
	rel.Takes = append(rel.Takes, i.takableIndexes(cat, rel)...)
	tried := len(rel.Takes)
	stream, err := i.PlanStream(cat, rel)
	if err != nil || tried == 0 {
		return stream, err
	}
	if rel.Takes = TakenBy(stream); len(rel.Takes) < tried {
		return i.PlanStream(cat, rel)
	}
	return stream, nil
}

// TakenBy lists the relations whose rows a plan takes.
func TakenBy(stream *plan.Stream) []catalog.ID {
	var ids []catalog.ID
	for _, r := range stream.Taken {
		ids = append(ids, r.ID)
	}
	return ids
}

// takable lists the views whose rows a new relation may take.
func (i *Incarnation) takable(cat *catalog.Catalog, rel *catalog.Relation) []catalog.ID {
	if rel.Kind != catalog.MatView && rel.Kind != catalog.Sink || rel.OnError != catalog.OnErrorNull || rel.OnClose {
		return nil
	}
	self := map[catalog.ID]bool{rel.ID: true}
	var ids []catalog.ID
	for _, v := range cat.Sorted() {
		if v.Kind != catalog.MatView || v.ID == rel.ID || catalog.OwnerName(v.Owner) != catalog.OwnerName(rel.Owner) || v.OnError != catalog.OnErrorNull || v.OnClose || len(v.Watermarks) > 0 {
			continue
		}
		if !within(v.DependsOn, rel.DependsOn) || !within(v.Functions, rel.Functions) || timely(cat, v) {
			continue
		}
		if cat.DependsOnAny(v, self) || i.e.Stalled(cat, v.ID) != nil {
			continue
		}
		ids = append(ids, v.ID)
	}
	return ids
}

// takableIndexes lists the indexes that the joins of a new relation may read: without conditions, since they stand for what they index, and of
// relations that it names, with which they go. Those that are unique are more than their rows.
func (i *Incarnation) takableIndexes(cat *catalog.Catalog, rel *catalog.Relation) []catalog.ID {
	if !rel.Shares {
		return nil
	}
	var ids []catalog.ID
	for _, id := range rel.DependsOn {
		for _, ix := range cat.Indexes(id) {
			if ix.ID != rel.ID && !ix.Index.Unique && ix.Index.Where == "" && i.e.Stalled(cat, ix.ID) == nil {
				ids = append(ids, ix.ID)
			}
		}
	}
	return ids
}

func within(a, b []catalog.ID) bool {
	return !slices.ContainsFunc(a, func(id catalog.ID) bool { return !slices.Contains(b, id) })
}

// timely tells whether a view reads what has watermarks.
func timely(cat *catalog.Catalog, v *catalog.Relation) bool {
	return slices.ContainsFunc(v.DependsOn, func(id catalog.ID) bool {
		r := cat.RelationByID(id)
		return r == nil || r.Watermark != nil || len(r.Watermarks) > 0
	})
}

// Views gives the views whose rows a relation that is not created would take.
func (i *Incarnation) Views(cat *catalog.Catalog, rel *catalog.Relation) []planner.KeptView {
	r := *rel
	r.Takes = i.takable(cat, rel)
	return i.keptViews(cat, &r)
}

// Indexes gives the indexes that its joins would read.
func (i *Incarnation) Indexes(cat *catalog.Catalog, rel *catalog.Relation) []catalog.ID {
	return i.takableIndexes(cat, rel)
}

// keptViews binds the queries of the views that a relation takes rows of. One that cannot be bound is none to take rows of.
func (i *Incarnation) keptViews(cat *catalog.Catalog, rel *catalog.Relation) []planner.KeptView {
	var out []planner.KeptView
	for _, id := range rel.Takes {
		v := cat.RelationByID(id)
		if v == nil || v.Kind != catalog.MatView {
			continue
		}
		if _, b, err := i.bindStored(cat, v, time.Time{}); err == nil {
			out = append(out, planner.KeptView{Rel: v, Query: b})
		}
	}
	return out
}

// loseNames is Drop where everything stays, because others take its rows.
func (i *Incarnation) loseNames(ctx context.Context, kept []*catalog.Relation, also []func(*catalog.Catalog)) error {
	return i.finish(ctx, func() error {
		if err := i.change(i.Ctx, func(c *catalog.Catalog) {
			for _, change := range also {
				change(c)
			}
		}); err != nil {
			return err
		}
		jobs, tables := i.endSubscriptions(jobIDs(kept), i.droppedUnder)
		if len(jobs) == 0 {
			return nil
		}
		e, err := i.RT.Remove(i.Ctx, flow.Save{Drop: tables}, jobs...)
		if err == nil {
			err = i.RT.Wait(i.Ctx, e)
		}
		return i.explain(err)
	}, nil)
}

// droppedUnder is why a subscription ends.
func (i *Incarnation) droppedUnder(_ *Subscription, id flow.JobID) error {
	what := "a relation"
	if r := i.Catalog().RelationByID(catalog.ID(id)); r != nil && !r.Internal {
		what = "\"" + r.Name + "\""
	}
	return sqlerr.Newf(sqlerr.UndefinedTable, "the subscription was ended because %s was dropped", what)
}
