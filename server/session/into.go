package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// awaitInto waits until what was acknowledged is in the tables that sinks write to, as far as relations read them. A transaction
// with locks does not: the sinks may wait for it.
func awaitInto(ctx context.Context, t *tx, rels []*catalog.Relation) error {
	if t.writes.Locked() || t.defs != nil {
		return nil
	}
	return t.inc.AwaitInto(ctx, rels)
}

// intoTable finds the table of CREATE SINK ... INTO.
func (d *definer) intoTable(st *ast.CreateSink) (*catalog.Relation, error) {
	n := *st.Into
	schema, name, err := d.qualify(n, false)
	if err != nil {
		return nil, err
	}
	r := d.cat.Relation(schema, name)
	switch {
	case r == nil:
		return nil, sqlerr.New(sqlerr.UndefinedTable, n.Pos, "relation %q does not exist", strings.Join(n.Parts, "."))
	case r.Kind != catalog.Table:
		return nil, sqlerr.New(sqlerr.WrongObjectType, n.Pos, "%q is not a table", r.Name)
	case r.HasConnector():
		return nil, sqlerr.New(sqlerr.FeatureNotSupported, n.Pos, "a sink cannot write into table %q, which a connector fills", r.Name)
	case r.Watermark != nil:
		return nil, sqlerr.New(sqlerr.FeatureNotSupported, n.Pos, "a sink cannot write into table %q, which has a watermark", r.Name)
	}
	if st.Format != nil {
		return nil, sqlerr.New(sqlerr.SyntaxError, st.Format.Pos, "a sink into a table has no FORMAT")
	}
	return r, nil
}

// createInto creates a sink that writes into a table.
func (d *definer) createInto(ctx context.Context, st *ast.CreateSink, rel, target *catalog.Relation, b *planner.Bound, options []ast.Option) error {
	for _, o := range options {
		return sqlerr.New(sqlerr.SyntaxError, o.Pos, "option %q not recognized", o.Name).WithHint("A sink into a table has no connector.")
	}
	if err := d.acyclic(rel, target, b); err != nil {
		return err
	}
	for _, c := range b.Columns {
		rel.Columns = append(rel.Columns, catalog.Column{Name: c.Name, Type: wireType(c.Type)})
	}
	if err := intoColumns(st, rel, target); err != nil {
		return err
	}
	rel.Into = target.ID
	rel.DependsOn = append(rel.DependsOn, target.ID)
	stream, err := d.planStream(rel)
	if err != nil {
		return err
	}
	rel.AppendOnly = stream.AppendOnly
	if err := d.mayWriteInto(rel, target); err != nil {
		return err
	}
	if err := d.t.inc.CheckInto(d.cat, rel, target); err != nil {
		return err
	}
	d.notices(stream)
	if n := sharesKeys(rel, target, stream); n != "" {
		d.s.notice(sqlerr.SuccessfulCompletion, n)
	}
	finish := d.t.inc.BeginInto(rel)
	err = d.to().AddQuery(ctx, rel, stream, d.watch)
	ferr := finish(ctx, err == nil)
	if err != nil || ferr == nil {
		return err
	}
	// Its first rows cannot be written.
	if r := d.t.catalog().RelationByID(rel.ID); r != nil && d.t.inc.Ctx.Err() == nil {
		if err := d.to().Drop(context.WithoutCancel(ctx), []*catalog.Relation{r}); err != nil {
			ferr = errors.Join(ferr, err)
		}
	}
	return ferr
}

// acyclic refuses a sink whose query depends on what it writes.
func (d *definer) acyclic(rel, target *catalog.Relation, b *planner.Bound) error {
	if _, all := d.cat.Feeding(b.Relations); all[target.ID] {
		return sqlerr.Newf(sqlerr.InvalidObjectDefinition, "sink %q would write into table %q, on which its query depends", rel.Name, target.Name)
	}
	return nil
}

// intoColumns finds the columns of the table that get values, as INSERT does.
func intoColumns(st *ast.CreateSink, rel, target *catalog.Relation) error {
	names := st.IntoColumns
	if names == nil {
		for _, c := range target.Columns {
			if !c.Hidden && len(names) < len(rel.Columns) {
				names = append(names, c.Name)
			}
		}
	}
	for k, n := range names {
		at := target.ColumnIndex(n)
		if at < 0 || target.Columns[at].Hidden {
			return sqlerr.New(sqlerr.UndefinedColumn, st.Into.Pos, "column %q of relation %q does not exist", n, target.Name)
		}
		c := target.Columns[at]
		switch {
		case slices.Contains(names[:k], n):
			return sqlerr.New(sqlerr.DuplicateColumn, st.Into.Pos, "column %q specified more than once", n)
		case c.Generated || c.Identity == "always":
			e := sqlerr.New(sqlerr.Code("428C9"), st.Into.Pos, "cannot insert a non-DEFAULT value into column %q", n)
			if c.Generated {
				return e.WithDetail("Column %q is a generated column.", n)
			}
			return e.WithDetail("Column %q is an identity column defined as GENERATED ALWAYS.", n)
		}
	}
	switch {
	case len(names) > len(rel.Columns):
		return sqlerr.New(sqlerr.SyntaxError, st.Into.Pos, "INSERT has more target columns than expressions")
	case len(names) < len(rel.Columns):
		return sqlerr.New(sqlerr.SyntaxError, st.Into.Pos, "INSERT has more expressions than target columns")
	}
	for _, k := range target.Key {
		if c := target.Columns[k.Col]; target.PrimaryKey != "" && !slices.Contains(names, c.Name) {
			return sqlerr.New(sqlerr.InvalidColumnReference, st.Into.Pos, "the sink gives no value for column %q of the primary key of table %q", c.Name, target.Name).
				WithHint("The primary key tells which row of the table is which row of the query.")
		}
	}
	rel.IntoColumns = names
	return nil
}

// mayWriteInto checks that the query's changes can be those of the table, and the privileges for them.
func (d *definer) mayWriteInto(rel, target *catalog.Relation) error {
	want := []catalog.Privileges{catalog.Insert}
	if target.PrimaryKey != "" {
		want = append(want, catalog.Update)
	}
	if !rel.AppendOnly {
		want = append(want, catalog.Delete)
	}
	for _, p := range want {
		if err := d.s.authorize(d.cat)(target, p, ""); err != nil {
			return err
		}
	}
	switch {
	case !rel.AppendOnly && target.PrimaryKey == "":
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "the rows of the query change, and table %q has no primary key to find them by", target.Name).
			WithHint("Write into a table with a PRIMARY KEY.")
	case target.AppendOnly && (!rel.AppendOnly || target.PrimaryKey != ""):
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "a sink whose rows may change or replace others cannot write into append-only table %q", target.Name)
	}
	return nil
}

// sharesKeys says it if several rows of the query may have the key of one row of the table.
func sharesKeys(rel, target *catalog.Relation, stream *plan.Stream) string {
	if target.PrimaryKey == "" {
		return ""
	}
	visible := map[int]int{} // column of the plan to column of the query
	for k, c := range stream.Columns {
		if !c.Hidden {
			visible[k] = len(visible)
		}
	}
	for _, k := range stream.Key {
		at, ok := visible[k.Col]
		if ok {
			name := rel.IntoColumns[at]
			ok = slices.ContainsFunc(target.Key, func(s catalog.SortColumn) bool { return target.Columns[s.Col].Name == name })
		}
		if !ok {
			return fmt.Sprintf("several rows of the query may have the same primary key of table %q: then the one that came last is in the table", target.Name)
		}
	}
	return ""
}
