package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// maxName is the longest name that the server makes, in bytes (NAMEDATALEN - 1).
const maxName = 63

// createIndex makes an index: a job like that of a materialized view, which keeps the rows of its
// relation in another order.
func (d *definer) createIndex(ctx context.Context, st *ast.CreateIndex) error {
	parent, err := d.indexable(st)
	if err != nil {
		return err
	}
	if st.Unique && parent.HasConnector() {
		return d.uniqueOfOthers(st)
	}
	pl := d.planner()
	def, cols, names, err := d.indexColumns(pl, st, parent)
	if err != nil {
		return err
	}
	name := st.Name
	if name == "" {
		name = d.freeName(parent.Schema, parent.Name, strings.Join(append(names, st.Include...), "_"), "idx")
	} else if d.indexNamed(parent.Schema, name) {
		if st.IfNotExists {
			d.s.notice(sqlerr.DuplicateTable, fmt.Sprintf("relation %q already exists, skipping", name))
			return nil
		}
		return sqlerr.Newf(sqlerr.DuplicateTable, "relation %q already exists", name)
	}
	for _, c := range st.Include {
		if parent.ColumnIndex(c) < 0 {
			return sqlerr.Newf(sqlerr.UndefinedColumn, "column %q does not exist", c)
		}
	}
	def.Include, def.Unique, def.NullsNotDistinct = st.Include, st.Unique, st.NullsNotDistinct
	if st.Where != nil {
		e, err := pl.Expr(st.Where, parent, types.T(types.Bool), "index predicates")
		if err != nil {
			return err
		}
		if err := immutable(e, "index predicate"); err != nil {
			return err
		}
		def.Where = st.WhereText
	}
	rel := d.newRelation(catalog.Index, parent.Schema, name)
	rel.Owner, rel.Parent, rel.Index = parent.Owner, parent.ID, def
	rel.Parallelism = d.t.inc.Parallelism()
	text := indexQuery(parent, def, cols)
	q, err := d.s.parseQuery(text)
	if err != nil {
		return err
	}
	b, err := d.bindQuery(q)
	if err != nil {
		return err
	}
	d.describe(rel, text, b)
	stream, err := d.t.inc.PlanStream(d.cat, rel)
	if err != nil {
		return err
	}
	setColumns(rel, stream)
	if st.Unique && parent.Kind == catalog.MatView {
		if err := d.s.verifyUnique(ctx, d.t, parent, name, def); err != nil {
			return err
		}
	}
	if !st.Unique || parent.Kind == catalog.MatView {
		return d.to().AddQuery(ctx, rel, stream, d.watch)
	}
	def.Table = uint32(d.t.inc.AllocID())
	end, err := d.to().EnforceUnique(ctx, d.cat, rel)
	if err != nil {
		return err
	}
	err = d.to().AddQuery(ctx, rel, stream, d.watch)
	end(err == nil)
	return err
}

// uniqueOfOthers refuses a unique index on what statements do not write to.
func (d *definer) uniqueOfOthers(st *ast.CreateIndex) error {
	return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "CREATE UNIQUE INDEX on a table with a connector is not supported").
		WithHint("CREATE INDEX makes one that reads use.")
}

// indexable finds the relation that an index is to be made on.
func (d *definer) indexable(st *ast.CreateIndex) (*catalog.Relation, error) {
	schema, name, err := d.qualify(st.Table, false)
	if err != nil {
		return nil, err
	}
	r := d.cat.Relation(schema, name)
	if r == nil {
		return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", strings.Join(st.Table.Parts, "."))
	}
	switch r.Kind {
	case catalog.Table, catalog.MatView:
		return r, d.owner(kindWord(r.Kind), r.Name, r.Owner)
	}
	return nil, sqlerr.Newf(sqlerr.WrongObjectType, "cannot create index on relation %q", r.Name).
		WithDetail("This operation is not supported for %ss.", kindWord(r.Kind))
}

// indexColumns checks the columns and expressions of an index. names are what its name is made of; exprs are
// the expressions with the names of their columns.
func (d *definer) indexColumns(pl *planner.Planner, st *ast.CreateIndex, parent *catalog.Relation) (def *catalog.IndexDef, exprs []catalog.IndexColumn, names []string, err error) {
	def = &catalog.IndexDef{}
	if len(st.Columns) > maxKeyColumns {
		return nil, nil, nil, tooManyKeyColumns()
	}
	for i, it := range st.Columns {
		c := catalog.IndexColumn{Desc: it.Desc, NullsFirst: it.Nulls == ast.NullsFirst || it.Nulls == ast.NullsDefault && it.Desc}
		e, err := pl.Expr(it.Expr, parent, types.T(types.Unknown), "index expressions")
		if err != nil {
			return nil, nil, nil, err
		}
		if k := e.Type().Kind; k == types.Unknown || !ordered(e.Type()) {
			return nil, nil, nil, sqlerr.Newf(sqlerr.UndefinedObject,
				"data type %s has no default operator class for access method \"btree\"", e.Type()).
				WithHint("You must specify an operator class for the index or define a default operator class for the data type.")
		}
		if col, ok := e.(*scalar.Column); ok {
			c.Column = parent.Columns[col.Index].Name
			names = append(names, c.Column)
		} else {
			if err := immutable(e, "index expression"); err != nil {
				return nil, nil, nil, err
			}
			c.Expr = strings.TrimSpace(st.Texts[i])
			base := "expr"
			if f, ok := it.Expr.(*ast.Func); ok {
				base = f.Name.Parts[len(f.Name.Parts)-1]
			}
			names = append(names, base)
			c.Column = base
			for n := 1; parent.ColumnIndex(c.Column) >= 0 || slices.ContainsFunc(exprs, func(x catalog.IndexColumn) bool { return x.Column == c.Column }); n++ {
				c.Column = fmt.Sprintf("%s%d", base, n)
			}
			exprs = append(exprs, c)
		}
		def.Columns = append(def.Columns, c)
	}
	return def, exprs, names, nil
}

// ordered tells whether values of t have an order.
func ordered(t types.Type) bool {
	return t.Kind != types.Record && t.Kind != types.Json && t.Kind != types.Jsonpath
}

// immutable refuses functions whose value may change while the rows stay the same.
func immutable(e scalar.Expr, what string) error {
	bad := planner.Mutable(e)
	if bad == nil {
		return nil
	}
	return sqlerr.New(sqlerr.InvalidObjectDefinition, bad.Pos, "functions in %s must be marked IMMUTABLE", what)
}

// indexQuery is the query whose rows an index keeps.
func indexQuery(parent *catalog.Relation, def *catalog.IndexDef, exprs []catalog.IndexColumn) string {
	var b strings.Builder
	b.WriteString("SELECT *")
	for _, c := range exprs {
		fmt.Fprintf(&b, ", (%s) AS %s", c.Expr, quoteIdent(c.Column))
	}
	fmt.Fprintf(&b, " FROM %s.%s", quoteIdent(parent.Schema), quoteIdent(parent.Name))
	if def.Where != "" {
		fmt.Fprintf(&b, " WHERE %s", def.Where)
	}
	return b.String()
}

// freeName makes a name that no relation of the schema has, as PostgreSQL makes it: the longer of its
// first two parts is cut if it gets too long.
func (d *definer) freeName(schema, first, second, label string) string {
	for n := 0; ; n++ {
		tail := "_" + label
		if n > 0 {
			tail += fmt.Sprint(n)
		}
		a, b := first, second
		for len(a)+1+len(b)+len(tail) > maxName {
			if len(a) > len(b) {
				a = cutRune(a)
			} else {
				b = cutRune(b)
			}
		}
		if name := a + "_" + b + tail; d.cat.Relation(schema, name) == nil {
			return name
		}
	}
}

// cutRune takes the last character off.
func cutRune(s string) string {
	r := []rune(s)
	return string(r[:len(r)-1])
}
