package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// bindStored binds the query of a relation of the catalog. Nothing of that may depend on a session: recovery must find the
// same plan. now is the time of what depends on it.
func (i *Incarnation) bindStored(cat *catalog.Catalog, r *catalog.Relation, now time.Time) (*planner.Planner, *planner.Bound, error) {
	q, err := parse.ParseQuery(r.Query)
	if err != nil {
		return nil, nil, fmt.Errorf("query of %s: %w", r.Name, err)
	}
	p := i.storedPlanner(cat, r, now)
	b, err := p.Bind(q, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("query of %s: %w", r.Name, err)
	}
	return p, b, nil
}

// storedPlanner makes a planner for the text of a relation of the catalog.
func (i *Incarnation) storedPlanner(cat *catalog.Catalog, r *catalog.Relation, now time.Time) *planner.Planner {
	return planner.New(planner.Config{
		Catalog: i.e.cfg.Catalog(cat), SearchPath: r.SearchPath, Registry: i.e.cfg.Registry, Visible: &r.Functions, Of: r,
		ParseQuery: parse.ParseQuery, ParseExpr: parse.ParseExpr, Env: &types.Env{Types: cat},
		Eval: func(e scalar.Expr) (types.Datum, error) {
			return expr.FoldConst(e, &exec.Env{Location: time.UTC, Now: now, Types: cat})
		},
	})
}

// Reads lists the relations that the query of a relation of the catalog reads, also through views and functions.
func (i *Incarnation) Reads(cat *catalog.Catalog, r *catalog.Relation) ([]catalog.ID, error) {
	_, b, err := i.bindStored(cat, r, time.Time{})
	if err != nil {
		return nil, err
	}
	var ids []catalog.ID
	for _, x := range b.Relations {
		ids = append(ids, x.ID)
	}
	return ids, nil
}

// ColumnUses lists the places where the query of a relation of the catalog names columns of what it reads.
func (i *Incarnation) ColumnUses(cat *catalog.Catalog, r *catalog.Relation) ([]planner.ColumnUse, error) {
	_, b, err := i.bindStored(cat, r, time.Time{})
	if err != nil {
		return nil, err
	}
	return b.Fields, nil
}

// TableUses lists the places where the query of a relation of the catalog names what it reads.
func (i *Incarnation) TableUses(cat *catalog.Catalog, r *catalog.Relation) ([]planner.TableUse, error) {
	_, b, err := i.bindStored(cat, r, time.Time{})
	if err != nil {
		return nil, err
	}
	return b.Tables, nil
}

// QueryColumns gives the types of the columns of the query of a relation of the catalog.
func (i *Incarnation) QueryColumns(cat *catalog.Catalog, r *catalog.Relation) ([]types.Type, error) {
	_, b, err := i.bindStored(cat, r, time.Time{})
	if err != nil {
		return nil, err
	}
	ts := make([]types.Type, len(b.Columns))
	for k, c := range b.Columns {
		ts[k] = c.Type
	}
	return ts, nil
}

// PlanBatch plans the query of a materialized view to be run once, at a time, with the view's choice among equal rows.
func (i *Incarnation) PlanBatch(cat *catalog.Catalog, r *catalog.Relation, now time.Time) (*plan.Batch, error) {
	p, b, err := i.bindStored(cat, r, now)
	if err != nil {
		return nil, err
	}
	return p.BatchOfView(b)
}

// Sharing is how the joins of a relation of the catalog were planned.
func Sharing(r *catalog.Relation) plan.Sharing {
	switch {
	case r.Shares:
		return plan.ShareAll
	case r.SharesCheap:
		return plan.ShareCheap
	}
	return plan.ShareNone
}

// PlanStream plans the query of a materialized view or sink of the catalog, as it was planned when the
// object was created.
func (i *Incarnation) PlanStream(cat *catalog.Catalog, r *catalog.Relation) (*plan.Stream, error) {
	p, b, err := i.bindStored(cat, r, time.Time{})
	if err != nil {
		return nil, err
	}
	o := planner.StreamOptions{Parallelism: max(1, r.Parallelism), Sink: r.Kind == catalog.Sink, OnClose: r.OnClose, Share: Sharing(r), Common: r.Common, Views: i.keptViews(cat, r), Indexes: r.Takes}
	// What counts and forgets does not care; to all others the changes of a row must come in order.
	o.Ordered = o.Sink && !slices.Contains(r.Options, catalog.Option{Name: "connector", Value: "blackhole"})
	o.NeedKey = o.Ordered
	if r.Index != nil {
		for _, c := range r.Index.Columns {
			at := slices.IndexFunc(b.Columns, func(o planner.OutColumn) bool { return o.Name == c.Column })
			if at < 0 {
				return nil, fmt.Errorf("index %s: there is no column %s", r.Name, c.Column)
			}
			o.Order = append(o.Order, plan.SortKey{Col: at, Desc: c.Desc, NullsFirst: c.NullsFirst})
		}
	}
	return p.Stream(b, o)
}
