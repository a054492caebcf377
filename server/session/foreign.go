package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// foreignKey makes what a FOREIGN KEY of a table says; rel is the table with all of its columns and unique constraints.
func (d *definer) foreignKey(rel *catalog.Relation, c ast.TableConstraint) (catalog.ForeignKey, error) {
	f := catalog.ForeignKey{
		Name: c.Name, MatchFull: c.References.MatchFull, OnDelete: action(c.References.OnDelete), OnUpdate: action(c.References.OnUpdate),
		Deferrable: c.References.Deferrable, Deferred: c.References.Deferred, NotValid: c.NotValid,
	}
	parent, err := d.referencedTable(rel, c.References.Table)
	if err != nil {
		return f, err
	}
	if parent.Temp != rel.Temp {
		kind := map[bool]string{true: "temporary", false: "permanent"}[rel.Temp]
		return f, sqlerr.Newf(sqlerr.InvalidTableDefinition, "constraints on %s tables may reference only %s tables", kind, kind)
	}
	f.Ref = parent.ID
	if f.Columns, err = referenceColumns(rel, c.Columns); err != nil {
		return f, err
	}
	if c.References.SetColumns != nil {
		if f.SetColumns, err = referenceColumns(rel, c.References.SetColumns); err != nil {
			return f, err
		}
		for _, k := range f.SetColumns {
			if !slices.Contains(f.Columns, k) {
				return f, sqlerr.Newf(sqlerr.InvalidColumnReference, "column %q referenced in ON DELETE SET action must be part of foreign key", rel.Columns[k].Name)
			}
		}
	}
	if err := d.referencedKey(&f, parent, c.References.Columns); err != nil {
		return f, err
	}
	if f.Name == "" {
		f.Name = freeConstraint(rel, rel.Name+"_"+strings.Join(c.Columns, "_")+"_fkey")
	} else if hasConstraint(rel, f.Name) {
		return f, sqlerr.Newf(sqlerr.DuplicateObject, "constraint %q for relation %q already exists", f.Name, rel.Name)
	}
	for n, k := range f.Columns {
		a, b := rel.Columns[k], parent.Columns[f.RefColumns[n]]
		if !engine.SameKey(a.Type, b.Type) && !d.s.b.Registry.CanCast(a.Type, types.T(b.Type.Kind), fn.Implicit) {
			return f, sqlerr.Newf(sqlerr.DatatypeMismatch, "foreign key constraint %q cannot be implemented", f.Name).
				WithDetail("Key columns %q and %q are of incompatible types: %s and %s.", a.Name, b.Name, plainType(a.Type), plainType(b.Type))
		}
		if a.Generated {
			if err := generatedKey(f); err != nil {
				return f, err
			}
		}
	}
	f.ID, f.Table = d.t.inc.AllocID(), uint32(d.t.inc.AllocID())
	return f, nil
}

// plainType is the name of a type without its modifier.
func plainType(t types.Type) string {
	t.Mod = -1
	return t.String()
}

// generatedKey refuses actions that would set a generated column.
func generatedKey(f catalog.ForeignKey) error {
	switch {
	case f.OnUpdate == catalog.Cascade || f.OnUpdate == catalog.SetNull || f.OnUpdate == catalog.SetDefault:
		return sqlerr.Newf(sqlerr.SyntaxError, "invalid ON UPDATE action for foreign key constraint containing generated column")
	case f.OnDelete == catalog.SetNull || f.OnDelete == catalog.SetDefault:
		return sqlerr.Newf(sqlerr.SyntaxError, "invalid ON DELETE action for foreign key constraint containing generated column")
	}
	return nil
}

func action(s string) string {
	if s == "no action" {
		return catalog.NoAction
	}
	return s
}

// referencedTable finds the table that a foreign key of rel references, which may be rel itself while that is being created.
func (d *definer) referencedTable(rel *catalog.Relation, n ast.Name) (*catalog.Relation, error) {
	schema, name, err := d.qualify(n, false)
	if err != nil {
		return nil, err
	}
	r := d.cat.Relation(schema, name)
	if name == rel.Name && (schema == rel.Schema || r == nil && len(n.Parts) == 1) {
		return rel, nil
	}
	switch {
	case r == nil:
		return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", strings.Join(n.Parts, "."))
	case r.Kind != catalog.Table:
		return nil, sqlerr.Newf(sqlerr.WrongObjectType, "referenced relation %q is not a table", r.Name)
	case r.HasConnector():
		return nil, sqlerr.New(sqlerr.FeatureNotSupported, n.Pos, "a foreign key cannot reference table %q, which a connector fills", r.Name)
	}
	return r, d.s.authorize(d.cat)(r, catalog.References, "")
}

func referenceColumns(rel *catalog.Relation, names []string) ([]int, error) {
	var cols []int
	for _, n := range names {
		i := rel.ColumnIndex(n)
		if i < 0 || rel.Columns[i].Hidden {
			return nil, sqlerr.Newf(sqlerr.UndefinedColumn, "column %q referenced in foreign key constraint does not exist", n)
		}
		cols = append(cols, i)
	}
	return cols, nil
}

// referencedKey finds the unique key that a foreign key references.
func (d *definer) referencedKey(f *catalog.ForeignKey, parent *catalog.Relation, names []string) error {
	count := func() error {
		if len(f.Columns) != len(f.RefColumns) {
			return sqlerr.Newf(sqlerr.InvalidForeignKey, "number of referencing and referenced columns for foreign key disagree")
		}
		return nil
	}
	if names == nil {
		for _, u := range parent.Uniques {
			if u.Primary {
				f.Key, f.RefColumns = u.Name, u.Columns
				return count()
			}
		}
		return sqlerr.Newf(sqlerr.UndefinedObject, "there is no primary key for referenced table %q", parent.Name)
	}
	var err error
	if f.RefColumns, err = referenceColumns(parent, names); err != nil {
		return err
	}
	if err := count(); err != nil {
		return err
	}
	want := slices.Clone(f.RefColumns)
	slices.Sort(want)
	if len(slices.Compact(slices.Clone(want))) != len(want) {
		return sqlerr.Newf(sqlerr.InvalidForeignKey, "foreign key referenced-columns list must not contain duplicates")
	}
	matches := func(cols []int) bool {
		cols = slices.Clone(cols)
		slices.Sort(cols)
		return slices.Equal(cols, want)
	}
	for _, u := range parent.Uniques {
		if matches(u.Columns) {
			f.Key = u.Name
			return nil
		}
	}
	for _, ix := range d.cat.Indexes(parent.ID) {
		if ix.Index.Table == 0 || ix.Index.Where != "" || len(ix.Index.Expressions()) > 0 {
			continue
		}
		var cols []int
		for _, c := range ix.Index.Columns {
			cols = append(cols, parent.ColumnIndex(c.Column))
		}
		if matches(cols) {
			f.Key = ix.Name
			return nil
		}
	}
	return sqlerr.Newf(sqlerr.InvalidForeignKey, "there is no unique constraint matching given keys for referenced table %q", parent.Name)
}

// hasConstraint tells whether a table has a constraint of a name.
func hasConstraint(rel *catalog.Relation, name string) bool {
	return slices.ContainsFunc(rel.Uniques, func(u catalog.Unique) bool { return u.Name == name }) ||
		slices.ContainsFunc(rel.Checks, func(c catalog.Check) bool { return c.Name == name }) ||
		slices.ContainsFunc(rel.ForeignKeys, func(f catalog.ForeignKey) bool { return f.Name == name })
}

// freeConstraint makes a name that no constraint of a table has yet.
func freeConstraint(rel *catalog.Relation, base string) string {
	name := base
	for n := 1; hasConstraint(rel, name); n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	return name
}

// addForeignKey is ALTER TABLE ... ADD FOREIGN KEY.
func (d *definer) addForeignKey(ctx context.Context, r *catalog.Relation, c ast.TableConstraint) error {
	if r.HasConnector() {
		return sqlerr.New(sqlerr.FeatureNotSupported, c.Pos, "a table with a connector can have no constraint but PRIMARY KEY")
	}
	f, err := d.foreignKey(r, c)
	if err != nil {
		return err
	}
	n := *r
	n.ForeignKeys = append(slices.Clone(r.ForeignKeys), f)
	return d.to().AddForeignKey(ctx, d.cat, &n)
}

// findForeign finds a foreign key of a table by name, -1 if there is none.
func findForeign(r *catalog.Relation, name string) int {
	return slices.IndexFunc(r.ForeignKeys, func(f catalog.ForeignKey) bool { return f.Name == name })
}

// dropForeignKey is ALTER TABLE ... DROP CONSTRAINT of foreign key number at.
func (d *definer) dropForeignKey(ctx context.Context, r *catalog.Relation, at int) error {
	n := *r
	n.ForeignKeys = slices.Delete(slices.Clone(r.ForeignKeys), at, at+1)
	return d.to().DropForeignKeys(ctx, &n, r.ForeignKeys[at].ID)
}

// validateForeignKey is ALTER TABLE ... VALIDATE CONSTRAINT of foreign key number at.
func (d *definer) validateForeignKey(ctx context.Context, r *catalog.Relation, at int) error {
	if !r.ForeignKeys[at].NotValid {
		return nil
	}
	n := *r
	n.ForeignKeys = slices.Clone(r.ForeignKeys)
	n.ForeignKeys[at].NotValid = false
	return d.to().ValidateForeignKey(ctx, &n, r.ForeignKeys[at].ID)
}

// alterConstraint runs the forms of ALTER TABLE that name a constraint.
func (d *definer) alterConstraint(ctx context.Context, r *catalog.Relation, st *ast.Alter) error {
	if st.Action == "add_foreign_key" {
		return d.addForeignKey(ctx, r, *st.Constraint)
	}
	if at := findForeign(r, st.NewName); at >= 0 {
		if st.Action == "validate_constraint" {
			return d.validateForeignKey(ctx, r, at)
		}
		return d.dropForeignKey(ctx, r, at)
	}
	if !hasConstraint(r, st.NewName) {
		if st.MissingOK {
			d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("constraint %q of relation %q does not exist, skipping", st.NewName, r.Name))
			return nil
		}
		return sqlerr.Newf(sqlerr.UndefinedObject, "constraint %q of relation %q does not exist", st.NewName, r.Name)
	}
	what := "DROP"
	if st.Action == "validate_constraint" {
		what = "VALIDATE"
	}
	return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "ALTER TABLE %s CONSTRAINT of a constraint that is no foreign key is not supported yet", what)
}

// setConstraints is SET CONSTRAINTS.
func (s *session) setConstraints(ctx context.Context, t *tx, e *execution, st *ast.SetConstraints) (pgwire.Result, error) {
	d := &definer{ctx: ctx, s: s, t: t, e: e, cat: t.catalog()}
	if !t.explicit {
		s.warn("25P01", "SET CONSTRAINTS can only be used in transaction blocks", "")
	}
	var ids map[catalog.ID]bool
	for _, n := range st.Names {
		found, err := d.deferrable(n)
		if err != nil {
			return pgwire.Result{}, err
		}
		if ids == nil {
			ids = map[catalog.ID]bool{}
		}
		for _, id := range found {
			ids[id] = true
		}
	}
	return pgwire.Result{Tag: "SET CONSTRAINTS"}, t.writes.SetConstraints(ctx, ids, st.Deferred)
}

// deferrable finds the constraints that a name in SET CONSTRAINTS means.
func (d *definer) deferrable(n ast.Name) ([]catalog.ID, error) {
	schemas, name := d.s.vars.searchPath(d.s.user()), n.Parts[len(n.Parts)-1]
	if len(n.Parts) > 1 {
		schemas = n.Parts[len(n.Parts)-2 : len(n.Parts)-1]
	}
	for _, sc := range schemas {
		var ids []catalog.ID
		named := false
		for _, r := range d.cat.Sorted() {
			if r.Schema != sc || !hasConstraint(r, name) {
				continue
			}
			named = true
			if at := findForeign(r, name); at >= 0 && r.ForeignKeys[at].Deferrable {
				ids = append(ids, r.ForeignKeys[at].ID)
			} else if at >= 0 || len(ids) == 0 {
				return nil, sqlerr.Newf(sqlerr.WrongObjectType, "constraint %q is not deferrable", name)
			}
		}
		if named {
			return ids, nil
		}
	}
	return nil, sqlerr.Newf(sqlerr.UndefinedObject, "constraint %q does not exist", strings.Join(n.Parts, "."))
}

// truncated gives the tables of TRUNCATE with, if it cascades, all that reference them.
func (d *definer) truncated(rels []*catalog.Relation, cascade bool) ([]*catalog.Relation, error) {
	for k := 0; k < len(rels); k++ {
		for _, f := range d.cat.Referrers(rels[k].ID) {
			if slices.ContainsFunc(rels, func(r *catalog.Relation) bool { return r.ID == f.Table.ID }) {
				continue
			}
			if !cascade {
				return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot truncate a table referenced in a foreign key constraint").
					WithDetail("Table %q references %q.", f.Table.Name, rels[k].Name).
					WithHint("Truncate table %q at the same time, or use TRUNCATE ... CASCADE.", f.Table.Name)
			}
			d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("truncate cascades to table %q", f.Table.Name))
			rels = append(rels, f.Table)
		}
	}
	return rels, nil
}
