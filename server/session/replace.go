package session

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// CREATE OR REPLACE of a view or materialized view that exists gives it a new query. What reads it is planned again with it, and
// every materialized view and index among that is filled again, beside the old ones; they change all together
// (engine.Replace). What others have of the relation stays: its id, its owner, its privileges, its comments, and the columns that it had.

// mayReplace refuses CREATE OR REPLACE of what is of another kind, and to everybody but the owner: the view reads with the
// rights of its owner, whoever wrote the query.
func (d *definer) mayReplace(old *catalog.Relation, kind catalog.RelKind) error {
	if err := d.mayCreate(old.Schema); err != nil {
		return err
	}
	if err := d.owner(kindWord(old.Kind), old.Name, old.Owner); err != nil {
		return err
	}
	if old.Kind != kind {
		return sqlerr.Newf(sqlerr.WrongObjectType, "%q is not a %s", old.Name, kindWord(kind))
	}
	return nil
}

// inheritFrom gives a new definition what stays of the old one.
func inheritFrom(rel, old *catalog.Relation) {
	rel.ID, rel.Owner, rel.ACL = old.ID, old.Owner, old.ACL
	rel.Comment, rel.ColumnComments = old.Comment, old.ColumnComments
}

// replaceable checks what CREATE OR REPLACE VIEW allows: the old columns stay, new ones follow.
func replaceable(old, rel *catalog.Relation) error {
	visible := func(r *catalog.Relation) []catalog.Column {
		return slices.DeleteFunc(slices.Clone(r.Columns), func(c catalog.Column) bool { return c.Hidden })
	}
	have, want := visible(old), visible(rel)
	if len(want) < len(have) {
		return sqlerr.Newf(sqlerr.InvalidTableDefinition, "cannot drop columns from view")
	}
	for i, c := range have {
		n := want[i]
		if n.Name != c.Name {
			return sqlerr.Newf(sqlerr.InvalidTableDefinition, "cannot change name of view column %q to %q", c.Name, n.Name).
				WithHint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
		}
		if n.Type != c.Type {
			return sqlerr.Newf(sqlerr.InvalidTableDefinition, "cannot change data type of view column %q from %s to %s", c.Name, c.Type, n.Type)
		}
	}
	return nil
}

// replaceMatView runs CREATE OR REPLACE MATERIALIZED VIEW of one that exists.
func (d *definer) replaceMatView(ctx context.Context, st *ast.CreateView, old *catalog.Relation) error {
	if err := d.mayReplace(old, catalog.MatView); err != nil {
		return err
	}
	rel := d.newRelation(catalog.MatView, old.Schema, old.Name)
	rel.JobID, rel.RowsID = rel.ID, uint32(d.t.inc.AllocID())
	rel.Failover, rel.OnError = old.Failover, old.OnError
	inheritFrom(rel, old)
	background, err := d.viewOptions(rel, st)
	if err != nil {
		return err
	}
	if background != nil {
		return sqlerr.New(sqlerr.FeatureNotSupported, background.Pos, "a materialized view cannot be replaced in the background")
	}
	b, err := d.bindQuery(st.Query)
	if err == nil {
		err = fewColumns(b)
	}
	if err != nil {
		return err
	}
	if err := d.notRecursive(old, b); err != nil {
		return err
	}
	rel.OnClose = st.EmitOnWindowClose
	stream, err := d.planView(rel, st.QueryText, b)
	if err != nil {
		return err
	}
	if err := renameColumns(rel, st.Columns); err != nil {
		return err
	}
	if err := replaceable(old, rel); err != nil {
		return err
	}
	d.notices(stream)
	return d.replace(ctx, old, rel, stream, nil)
}

// notRecursive refuses a new query that reads the relation itself, or what reads it.
func (d *definer) notRecursive(old *catalog.Relation, b *planner.Bound) error {
	self := map[catalog.ID]bool{old.ID: true}
	for _, r := range b.Relations {
		if r.ID == old.ID || d.cat.DependsOnAny(r, self) {
			return sqlerr.Newf(sqlerr.InvalidObjectDefinition, "infinite recursion detected in rules for relation %q", old.Name)
		}
	}
	return nil
}

// replace puts rel in the place of old, with everything that reads it; stream is its plan, nil if it is a plain view, whose
// functions are then those of everything that reads it, too.
func (d *definer) replace(ctx context.Context, old, rel *catalog.Relation, stream *plan.Stream, functions []catalog.ID) error {
	all, _ := d.dependent(map[catalog.ID]*catalog.Relation{old.ID: old})
	if d.t.inc.StalledError(old) != nil {
		// What takes its rows stands still with it, and begins anew like the rest.
		all = d.readers(old)
	}
	if err := d.notPending("replace", all); err != nil {
		return err
	}
	for _, r := range d.cat.Sorted() {
		if all[r.ID] != nil && r.Kind == catalog.Sink {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot replace %s %q because sink %q reads it, which is not supported yet",
				kindWord(old.Kind), old.Name, r.Name).
				WithHint("Drop the sink, and create it again afterwards: its target gets everything once more.")
		}
	}
	cat := d.cat.Clone()
	cat.Put(rel)
	reps := []engine.Replacement{{Old: old, New: rel, Stream: stream}}
	for _, r := range d.cat.Takers(old.ID) {
		if all[r.ID] == nil {
			// Those do not know it. They go on with the rows of the old query.
			aside := old.Unnamed(d.t.inc.AllocID())
			reps[0].Aside = aside
			break
		}
	}
	for _, r := range d.cat.Sorted() {
		if all[r.ID] == nil || r.ID == old.ID {
			continue
		}
		rep, err := d.again(cat, r, old, rel, functions)
		if err != nil {
			return err
		}
		cat.Put(rep.New)
		reps = append(reps, rep)
	}
	if d.t.defs != nil {
		for _, rep := range reps {
			if rep.Stream != nil {
				return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot replace %s %q inside a transaction block because %s %q reads it, which is not supported yet",
					kindWord(old.Kind), old.Name, kindWord(rep.New.Kind), rep.New.Name).
					WithHint("Run it outside of BEGIN and COMMIT.")
			}
		}
		return d.to().Change(ctx, func(c *catalog.Catalog) {
			for _, rep := range reps {
				c.Put(rep.New)
			}
		})
	}
	return d.t.inc.Replace(ctx, reps, d.watch)
}

// readers gives a relation with everything that reads it, by name or not, directly or through others.
func (d *definer) readers(r *catalog.Relation) map[catalog.ID]*catalog.Relation {
	all := map[catalog.ID]*catalog.Relation{}
	var visit func(r *catalog.Relation)
	visit = func(r *catalog.Relation) {
		if all[r.ID] != nil {
			return
		}
		all[r.ID] = r
		for _, x := range d.cat.Readers(r.ID) {
			visit(x)
		}
	}
	visit(r)
	return all
}

// again plans a relation that reads old, directly or not, in a catalog that has rel in its place.
func (d *definer) again(cat *catalog.Catalog, r, old, rel *catalog.Relation, functions []catalog.ID) (engine.Replacement, error) {
	c := *r
	rep := engine.Replacement{Old: r, New: &c}
	if _, ok := r.Reads[old.ID]; !ok && r.Kind != catalog.Index && slices.Contains(r.DependsOn, old.ID) && rel.Visible() > old.Visible() {
		c.Reads = maps.Clone(r.Reads)
		if c.Reads == nil {
			c.Reads = map[catalog.ID]int{}
		}
		c.Reads[old.ID] = old.Visible()
	}
	if r.Kind == catalog.View {
		// It is bound here for what it reads only. Functions that those of its views call may be hidden from it: then it goes on
		// to depend on what it did.
		of := c
		of.Functions = slices.Concat(r.Functions, functions)
		if d.readsAgain(cat, &of) == nil {
			c.Named, c.DependsOn = of.Named, of.DependsOn
		}
		return rep, nil
	}
	c.JobID, c.RowsID, c.StateTables = d.t.inc.AllocID(), uint32(d.t.inc.AllocID()), nil
	if r.Kind == catalog.Index {
		indexAgain(&c, cat.RelationByID(r.Parent))
	}
	c.Functions = slices.Concat(r.Functions, functions)
	stream, err := d.t.inc.PlanStream(cat, &c)
	if err == nil {
		c.Functions, c.Takes = stream.Functions, engine.TakenBy(stream)
		err = d.readsAgain(cat, &c)
	}
	if err != nil {
		e := *sqlerr.From(err)
		e.Message = fmt.Sprintf("cannot replace %s %q because of %s %q, which reads it: %s", kindWord(old.Kind), old.Name, kindWord(r.Kind), r.Name, e.Message)
		e.Pos = sqlerr.NoPos
		return rep, &e
	}
	setColumns(&c, stream)
	if r.Kind == catalog.MatView {
		// Its names may be others than those of its query.
		var names []string
		for _, k := range r.Columns {
			if !k.Hidden {
				names = append(names, k.Name)
			}
		}
		err := renameColumns(&c, names)
		if err == nil {
			err = replaceable(r, &c)
		}
		if err == nil && c.Visible() != r.Visible() {
			err = sqlerr.Newf(sqlerr.InvalidTableDefinition, "it would have other columns")
		}
		if err != nil {
			return rep, sqlerr.Newf(sqlerr.InvalidTableDefinition, "cannot replace %s %q because of %s %q, which reads it: %s",
				kindWord(old.Kind), old.Name, kindWord(r.Kind), r.Name, sqlerr.From(err).Message)
		}
	}
	rep.Stream = stream
	return rep, nil
}

// readsAgain sets what c depends on, now that a view that it reads has another query.
func (d *definer) readsAgain(cat *catalog.Catalog, c *catalog.Relation) error {
	if c.Kind == catalog.Index {
		return nil
	}
	reads, err := d.t.inc.Reads(cat, c)
	if err != nil {
		return err
	}
	if !slices.Equal(reads, c.DependsOn) {
		c.Named, c.DependsOn = c.Meant(), reads
	}
	return nil
}

// indexAgain makes the query of an index for the present columns of its parent.
func indexAgain(c, parent *catalog.Relation) {
	def := *c.Index
	def.Columns = slices.Clone(def.Columns)
	for k, x := range def.Columns {
		// A new column of the parent may have the name that the index gave to an expression.
		for n := 1; x.Expr != "" && parent.ColumnIndex(def.Columns[k].Column) >= 0; n++ {
			def.Columns[k].Column = fmt.Sprintf("%s%d", x.Column, n)
		}
	}
	c.Index, c.Query = &def, indexQuery(parent, &def, def.Expressions())
}
