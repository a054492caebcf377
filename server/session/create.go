package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// typeOf resolves a type name; a domain is its base type.
func (d *definer) typeOf(tn ast.TypeName) (types.Type, error) {
	t, _, err := d.planner().Type(tn)
	return t, err
}

// maxColumns is Postgres's limit.
const maxColumns = 1600

// maxKeyColumns is Postgres's limit for the columns of an index or key.
const maxKeyColumns = 32

func tooManyKeyColumns() error {
	return sqlerr.Newf(sqlerr.TooManyColumns, "cannot use more than %d columns in an index", maxKeyColumns)
}

// column makes a column without its constraints.
func (d *definer) column(rel *catalog.Relation, cd ast.ColumnDef) (catalog.Column, error) {
	for _, c := range rel.Columns {
		if c.Name == cd.Name {
			return catalog.Column{}, sqlerr.Newf(sqlerr.DuplicateColumn, "column %q specified more than once", cd.Name)
		}
	}
	if len(rel.Columns) >= maxColumns {
		return catalog.Column{}, sqlerr.Newf(sqlerr.TooManyColumns, "tables can have at most %d columns", maxColumns)
	}
	c := catalog.Column{Name: cd.Name}
	if cd.Collation != nil {
		switch n := cd.Collation.Parts[len(cd.Collation.Parts)-1]; n {
		case "C", "POSIX", "default", "ucs_basic":
		default:
			return c, sqlerr.New(sqlerr.UndefinedObject, cd.Collation.Pos, "collation %q for encoding \"UTF8\" does not exist", n)
		}
	}
	serial := map[string]types.Kind{
		"smallserial": types.Int2, "serial2": types.Int2, "serial": types.Int4, "serial4": types.Int4,
		"bigserial": types.Int8, "serial8": types.Int8,
	}
	if k, ok := serial[cd.Type.Name.Parts[len(cd.Type.Name.Parts)-1]]; ok && cd.Type.Dims == 0 && rel.Kind == catalog.Table {
		c.Type, c.Serial, c.NotNull = types.T(k), true, true
		return c, nil
	}
	t, domain, err := d.planner().Type(cd.Type)
	if err != nil {
		return c, err
	}
	if domain != nil {
		c.Domain = domain.ID
	}
	if rel.HasConnector() && (t.UserKind() != 0 || domain != nil) {
		return c, sqlerr.New(sqlerr.FeatureNotSupported, cd.Type.Pos, "a column of type %s of a source is not supported yet", t).
			WithHint("Read it as text, and cast it in a view.")
	}
	switch t.Kind {
	case types.Unknown, types.Void, types.Any, types.AnyElement, types.AnyArray, types.AnyEnum, types.Record:
		return c, sqlerr.New(sqlerr.InvalidTableDefinition, cd.Pos, "column %q has pseudo-type %s", cd.Name, t)
	}
	c.Type = t
	return c, nil
}

// tableDef collects what CREATE TABLE says.
type tableDef struct {
	*definer
	rel    *catalog.Relation
	checks []ast.TableConstraint
	// sequences are those of serial and identity columns.
	sequences []*catalog.Relation
	// foreign are the foreign keys, which are looked at when everything else is known.
	foreign []ast.TableConstraint
}

func (d *definer) createTable(ctx context.Context, st *ast.CreateTable) (string, error) {
	tag := "CREATE TABLE"
	schema, name, exists, err := d.target(st.Name, st.IfNotExists)
	if err != nil || exists {
		return tag, err
	}
	switch {
	case st.OnCommit != "" && !d.temp:
		return "", sqlerr.Newf(sqlerr.InvalidTableDefinition, "ON COMMIT can only be used on temporary tables")
	case d.temp && (hasConnector(st.Options) || st.Watermark != nil):
		return "", sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "a temporary table with a connector or a watermark is not supported")
	case st.As != nil:
		return d.createTableAs(ctx, st, schema, name)
	}
	td := &tableDef{definer: d, rel: d.newRelation(catalog.Table, schema, name)}
	td.rel.AppendOnly, td.rel.OnCommit = st.AppendOnly, st.OnCommit
	for _, cd := range st.Columns {
		if err := td.addColumn(cd); err != nil {
			return "", err
		}
	}
	for _, c := range st.Constraints {
		if err := td.addConstraint(c); err != nil {
			return "", err
		}
	}
	var src exec.Source
	idle := int64(0)
	if hasConnector(st.Options) {
		var options []ast.Option
		if idle, options, err = idleOption(st.Options, st.Watermark); err != nil {
			return "", err
		}
		if src, err = d.connect(td.rel, options, st.Format, execColumns(td.rel)); err != nil {
			return "", err
		}
		if len(td.rel.Columns) == 0 {
			for _, c := range src.Columns() {
				td.rel.Columns = append(td.rel.Columns, catalog.Column{Name: c.Name, Type: c.Type})
			}
		}
		if len(td.checks) > 0 || len(td.foreign) > 0 || slices.ContainsFunc(td.rel.Uniques, func(u catalog.Unique) bool { return !u.Primary }) {
			return "", sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "a table with a connector can have no constraint but PRIMARY KEY")
		}
		if st.AppendOnly && td.rel.PrimaryKey != "" {
			return "", sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "an APPEND ONLY table with a connector can have no PRIMARY KEY").
				WithHint("Without one every row of the source is a row of the table.")
		}
	} else {
		for _, o := range st.Options {
			if o.Name != "fillfactor" && !strings.HasPrefix(o.Name, "autovacuum") {
				return "", sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "unrecognized parameter %q", o.Name)
			}
		}
	}
	td.addRowID()
	if err := td.checkExpressions(); err != nil {
		return "", err
	}
	for _, c := range td.foreign {
		f, err := d.foreignKey(td.rel, c)
		if err != nil {
			return "", err
		}
		td.rel.ForeignKeys = append(td.rel.ForeignKeys, f)
	}
	if st.Watermark != nil {
		if td.rel.Watermark, err = d.watermark(td.rel, st.Watermark); err != nil {
			return "", err
		}
		td.rel.Watermark.Idle = idle
		switch {
		case src == nil:
			if td.rel.StateTables == nil {
				td.rel.StateTables = map[string]uint32{}
			}
			td.rel.StateTables[engine.WatermarkState] = uint32(d.t.inc.AllocID())
		case td.rel.PrimaryKey != "":
			return "", sqlerr.New(sqlerr.FeatureNotSupported, st.Watermark.Pos, "WATERMARK on a table with a connector and a primary key is not supported yet").
				WithHint("A row that replaces another would take back an old one.")
		}
	}
	return tag, d.to().AddTable(ctx, td.rel, src, td.putSequences)
}

// addRowID gives a table without primary key a hidden key.
func (td *tableDef) addRowID() {
	if td.rel.PrimaryKey != "" {
		return
	}
	td.rel.Key = []catalog.SortColumn{{Col: len(td.rel.Columns)}}
	td.rel.Columns = append(td.rel.Columns, catalog.Column{
		Name: rowIDColumn, Type: types.T(types.Int8), Hidden: true, NotNull: true, Serial: !td.rel.HasConnector(),
	})
}

func (td *tableDef) addColumn(cd ast.ColumnDef) error {
	c, err := td.column(td.rel, cd)
	if err != nil {
		return err
	}
	if c.Name == rowIDColumn {
		return sqlerr.New(sqlerr.ReservedName, cd.Pos, "column name %q is reserved", c.Name)
	}
	rel := td.rel
	rel.Columns = append(rel.Columns, c)
	at := len(rel.Columns) - 1
	nullable := false
	if c.Serial {
		if err := td.columnSequence(&rel.Columns[at], nil); err != nil {
			return err
		}
	}
	for _, k := range cd.Constraints {
		col := &rel.Columns[at]
		switch k.Kind {
		case ast.ConNotNull:
			if nullable {
				return sqlerr.New(sqlerr.SyntaxError, k.Pos, "conflicting NULL/NOT NULL declarations for column %q of table %q", c.Name, rel.Name)
			}
			col.NotNull = true
		case ast.ConNull:
			if col.NotNull {
				return sqlerr.New(sqlerr.SyntaxError, k.Pos, "conflicting NULL/NOT NULL declarations for column %q of table %q", c.Name, rel.Name)
			}
			nullable = true
		case ast.ConDefault:
			if col.Default != "" {
				return sqlerr.New(sqlerr.SyntaxError, k.Pos, "multiple default values specified for column %q of table %q", c.Name, rel.Name)
			}
			col.Default = k.ExprText
		case ast.ConGenerated:
			col.Default, col.Generated = k.ExprText, true
		case ast.ConIdentity:
			switch c.Type.Kind {
			case types.Int2, types.Int4, types.Int8:
			default:
				return sqlerr.Newf(sqlerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
			}
			col.Identity, col.NotNull = "by default", true
			if k.Always {
				col.Identity = "always"
			}
			if err := td.columnSequence(col, k.Sequence); err != nil {
				return err
			}
		case ast.ConCheck:
			td.checks = append(td.checks, ast.TableConstraint{
				Name: k.Name, Kind: k.Kind, Columns: []string{c.Name}, Expr: k.Expr, ExprText: k.ExprText, Pos: k.Pos,
			})
		case ast.ConPrimaryKey, ast.ConUnique:
			if err := td.addConstraint(ast.TableConstraint{
				Name: k.Name, Kind: k.Kind, Columns: []string{c.Name}, NullsNotDistinct: k.NullsNotDistinct, Pos: k.Pos,
			}); err != nil {
				return err
			}
		case ast.ConForeignKey:
			td.foreign = append(td.foreign, ast.TableConstraint{
				Name: k.Name, Kind: k.Kind, Columns: []string{c.Name}, References: k.References, Pos: k.Pos,
			})
		}
	}
	return nil
}

func (td *tableDef) addConstraint(c ast.TableConstraint) error {
	rel := td.rel
	if c.Kind == ast.ConCheck {
		td.checks = append(td.checks, c)
		return nil
	}
	if c.Kind == ast.ConForeignKey {
		td.foreign = append(td.foreign, c)
		return nil
	}
	var cols []int
	for _, n := range c.Columns {
		i := rel.ColumnIndex(n)
		if i < 0 {
			return sqlerr.New(sqlerr.UndefinedColumn, c.Pos, "column %q named in key does not exist", n)
		}
		if slices.Contains(cols, i) {
			what := "unique"
			if c.Kind == ast.ConPrimaryKey {
				what = "primary key"
			}
			return sqlerr.New(sqlerr.DuplicateColumn, c.Pos, "column %q appears twice in %s constraint", n, what)
		}
		cols = append(cols, i)
	}
	if len(cols) > maxKeyColumns {
		return tooManyKeyColumns()
	}
	u := catalog.Unique{Name: c.Name, Columns: cols, Primary: c.Kind == ast.ConPrimaryKey, NullsNotDistinct: c.NullsNotDistinct}
	if u.Primary {
		if rel.PrimaryKey != "" {
			return sqlerr.New(sqlerr.InvalidTableDefinition, c.Pos, "multiple primary keys for table %q are not allowed", rel.Name)
		}
		if u.Name == "" {
			u.Name = td.keyName(rel.Name + "_pkey")
		}
		rel.PrimaryKey = u.Name
		rel.Key = nil
		for _, i := range cols {
			rel.Columns[i].NotNull = true
			rel.Key = append(rel.Key, catalog.SortColumn{Col: i})
		}
	} else if u.Name == "" {
		u.Name = td.keyName(rel.Name + "_" + strings.Join(c.Columns, "_") + "_key")
	}
	if c.Name != "" && td.keyTaken(c.Name) {
		return sqlerr.Newf(sqlerr.DuplicateTable, "relation %q already exists", u.Name)
	}
	rel.Uniques = append(rel.Uniques, u)
	if !u.Primary {
		if rel.StateTables == nil {
			rel.StateTables = map[string]uint32{}
		}
		rel.StateTables[table.UniqueStateName(u.Name)] = uint32(td.t.inc.AllocID())
	}
	return nil
}

// constraintName makes a name that the table does not have yet.
func (td *tableDef) constraintName(base string) string {
	return freeConstraint(td.rel, base)
}

// keyName makes a name for a unique constraint, which its index has too: no relation of the schema has it.
func (td *tableDef) keyName(base string) string {
	name := base
	for n := 1; hasConstraint(td.rel, name) || td.keyTaken(name); n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	return name
}

// keyTaken tells whether a unique constraint cannot have a name, since a relation or the index of a constraint has it. The
// table itself counts as it will be.
func (td *tableDef) keyTaken(name string) bool {
	if td.cat.Relation(td.rel.Schema, name) != nil {
		return true
	}
	for _, r := range td.cat.Relations {
		if r.ID == td.rel.ID {
			r = td.rel
		}
		if r.Schema == td.rel.Schema && hasUnique(r, name) {
			return true
		}
	}
	return hasUnique(td.rel, name)
}

func hasUnique(r *catalog.Relation, name string) bool {
	return slices.ContainsFunc(r.Uniques, func(u catalog.Unique) bool { return u.Name == name })
}

// checkExpressions binds defaults, generated columns and checks, so that errors show now.
func (td *tableDef) checkExpressions() error {
	pl := td.planner()
	called := map[catalog.ID]bool{}
	calls := func(x ast.Expr, what string) {
		for _, id := range pl.FunctionsIn(x, td.rel, what) {
			called[id] = true
		}
	}
	defer func() {
		if td.rel.Functions = slices.Sorted(maps.Keys(called)); len(called) > 0 {
			td.rel.SearchPath = td.s.vars.permanentPath(td.s.user())
		}
	}()
	for i := range td.rel.Columns {
		if td.rel.Columns[i].Default == "" {
			continue
		}
		if _, err := td.checkDefault(pl, i, calls); err != nil {
			return err
		}
	}
	return td.addChecks(pl, calls)
}

// checkDefault binds the default or generation expression of a column, and keeps it for good.
func (td *tableDef) checkDefault(pl *planner.Planner, i int, calls func(ast.Expr, string)) (bound scalar.Expr, err error) {
	c := &td.rel.Columns[i]
	x, err := td.s.parseExpr(c.Default)
	if err != nil {
		return nil, err
	}
	if c.Generated {
		bound, err = pl.Expr(x, td.rel, c.Type, "column generation expressions")
	} else {
		bound, err = pl.Expr(x, nil, c.Type, "DEFAULT expressions")
	}
	if err != nil {
		return nil, relocate(err, c.Default, td.e.p.text)
	}
	calls(x, "column generation expressions")
	td.pinDefault(pl, c)
	return bound, nil
}

// addChecks binds the new CHECK constraints and gives them names.
func (td *tableDef) addChecks(pl *planner.Planner, calls func(ast.Expr, string)) error {
	for _, k := range td.checks {
		if _, err := pl.Expr(k.Expr, td.rel, types.T(types.Bool), "check constraints"); err != nil {
			return err
		}
		calls(k.Expr, "check constraints")
		name := k.Name
		if name == "" {
			name = td.rel.Name
			if len(k.Columns) == 1 {
				name += "_" + k.Columns[0]
			}
			name = td.constraintName(name + "_check")
		}
		text, _ := td.pin(pl, k.ExprText, td.rel, types.T(types.Bool), "check constraints")
		td.rel.Checks = append(td.rel.Checks, catalog.Check{Name: name, Expr: text})
	}
	return nil
}

// relocate moves the position of an error from an expression's text to the statement's.
func relocate(err error, part, whole string) error {
	if err == nil {
		return nil
	}
	at := strings.Index(whole, part)
	e := sqlerr.From(err)
	if at < 0 || e.Pos == sqlerr.NoPos {
		return err
	}
	c := *e
	c.Pos += at
	return &c
}

// createTableAs creates a table from a query and fills it.
func (d *definer) createTableAs(ctx context.Context, st *ast.CreateTable, schema, name string) (string, error) {
	pl := d.planner()
	b, err := pl.Bind(st.As, nil)
	if err != nil {
		return "", err
	}
	batch, err := pl.Batch(b)
	if err != nil {
		return "", err
	}
	td := &tableDef{definer: d, rel: d.newRelation(catalog.Table, schema, name)}
	td.rel.AppendOnly, td.rel.OnCommit = st.AppendOnly, st.OnCommit
	for i, c := range b.Columns {
		n := c.Name
		if i < len(st.Columns) {
			n = st.Columns[i].Name
		}
		if td.rel.ColumnIndex(n) >= 0 {
			return "", sqlerr.Newf(sqlerr.DuplicateColumn, "column %q specified more than once", n)
		}
		td.rel.Columns = append(td.rel.Columns, catalog.Column{Name: n, Type: wireType(c.Type)})
	}
	if err := fewColumns(b); err != nil {
		return "", err
	}
	if len(st.Columns) > len(b.Columns) {
		return "", sqlerr.Newf(sqlerr.SyntaxError, "too many column names were specified")
	}
	td.addRowID()
	n := len(b.Columns)
	rows := vec.NewChunk(relationTypes(td.rel), 8)
	err = d.s.runBatch(ctx, d.t, batch, func(c *vec.Chunk) error {
		for k := range n {
			rows.Cols[k].AppendRange(c.Cols[k], 0, c.Len())
		}
		for range c.Len() {
			rows.Cols[n].AppendNull()
		}
		rows.SetLen(rows.Len() + c.Len())
		return nil
	})
	if err != nil {
		return "", err
	}
	if err := d.to().AddTable(ctx, td.rel, nil); err != nil {
		return "", err
	}
	w := &write{
		s: d.s, t: d.t, env: d.s.execEnv(d.t), tab: d.t.table(td.rel.ID),
		d: &plan.DML{Kind: plan.Insert, Target: td.rel, Auto: []int{n}},
	}
	if rows.Len() > 0 {
		err = w.insertRows(ctx, rows)
	}
	return fmt.Sprintf("SELECT %d", rows.Len()), err
}

// fewColumns refuses what has more columns than a relation can have.
func fewColumns(b *planner.Bound) error {
	if len(b.Columns) > maxColumns {
		return sqlerr.Newf(sqlerr.TooManyColumns, "tables can have at most %d columns", maxColumns)
	}
	return nil
}

// bindQuery binds the query of a view or sink.
func (d *definer) bindQuery(q *ast.Select) (*planner.Bound, error) {
	b, err := d.planner().Bind(q, nil)
	if err != nil {
		return nil, err
	}
	if len(b.ParamTypes) > 0 {
		return nil, sqlerr.Newf(sqlerr.UndefinedParameter, "there is no parameter $1")
	}
	if b.Modifies() {
		switch st := d.e.p.ast.(type) {
		case *ast.CreateView:
			if !st.Materialized {
				return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "views must not contain data-modifying statements in WITH")
			}
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "materialized views must not use data-modifying statements in WITH")
		}
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "a data-modifying statement in WITH is not supported here")
	}
	return b, nil
}

// describe completes a relation that a query defines.
func (d *definer) describe(rel *catalog.Relation, text string, b *planner.Bound) {
	rel.Query = parse.Pin(text, shifted(b.Named, strings.Index(d.e.p.text, text)))
	if rel.SearchPath = d.s.vars.permanentPath(d.s.user()); rel.Temp {
		rel.SearchPath = d.s.vars.searchPath(d.s.user())
	}
	rel.Shares, rel.SharesCheap, rel.Common = false, false, false
	if rel.Kind != catalog.View {
		d.s.vars.planAs(rel)
	}
	for _, r := range b.Relations {
		rel.DependsOn = append(rel.DependsOn, r.ID)
	}
	if rel.Functions = b.Functions; rel.Kind == catalog.View {
		rel.Functions = b.OwnFunctions
	}
}

// planStream plans the job of a relation exactly as a recovery will, once what it takes of others is decided.
func (d *definer) planStream(rel *catalog.Relation) (*plan.Stream, error) {
	stream, err := d.t.inc.PlanNew(d.cat, rel, !d.background && d.s.vars.get(viewsSetting) == "on")
	return stream, relocate(err, rel.Query, d.e.p.text)
}

// renameColumns applies the column names of CREATE VIEW v (a, b, ...).
func renameColumns(rel *catalog.Relation, names []string) error {
	k := 0
	seen := map[string]bool{}
	for i := range rel.Columns {
		c := &rel.Columns[i]
		if c.Hidden {
			continue
		}
		if k < len(names) {
			c.Name = names[k]
		}
		k++
		if seen[c.Name] {
			return sqlerr.Newf(sqlerr.DuplicateColumn, "column %q specified more than once", c.Name)
		}
		seen[c.Name] = true
	}
	if len(names) > k {
		return sqlerr.Newf(sqlerr.SyntaxError, "CREATE VIEW specifies more column names than columns")
	}
	return nil
}

func (d *definer) createView(ctx context.Context, st *ast.CreateView) error {
	if err := d.viewOfTemp(st); err != nil {
		return err
	}
	schema, name, err := d.qualify(st.Name, true)
	if d.temp {
		schema, name, err = d.tempTarget(st.Name)
	}
	if err != nil {
		return err
	}
	var old *catalog.Relation
	if st.OrReplace {
		old = d.cat.Relation(schema, name)
	}
	if old == nil {
		var exists bool
		if schema, name, exists, err = d.target(st.Name, st.IfNotExists); err != nil || exists {
			return err
		}
	} else if err := d.mayReplace(old, catalog.View); err != nil {
		return err
	}
	b, err := d.bindQuery(st.Query)
	if err == nil {
		err = fewColumns(b)
	}
	if err != nil {
		return err
	}
	rel := d.newRelation(catalog.View, schema, name)
	d.describe(rel, st.QueryText, b)
	for _, c := range b.Columns {
		rel.Columns = append(rel.Columns, catalog.Column{Name: c.Name, Type: wireType(c.Type)})
	}
	if err := renameColumns(rel, st.Columns); err != nil {
		return err
	}
	if old != nil {
		if err := d.notRecursive(old, b); err != nil {
			return err
		}
		if err := replaceable(old, rel); err != nil {
			return err
		}
		inheritFrom(rel, old)
		return d.replace(ctx, old, rel, nil, b.Functions)
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) { c.Put(rel) })
}

func (d *definer) createMatView(ctx context.Context, st *ast.CreateView) (string, error) {
	tag := "CREATE MATERIALIZED VIEW"
	if d.readsTemp(st.Query) {
		return "", sqlerr.Newf(sqlerr.FeatureNotSupported, "materialized views must not use temporary tables or views")
	}
	if st.OrReplace && st.IfNotExists {
		return "", sqlerr.New(sqlerr.SyntaxError, st.Pos, "CREATE OR REPLACE and IF NOT EXISTS exclude each other")
	}
	// WITH NO DATA is accepted: a view is never without its rows, and REFRESH, which follows it in dumps, has nothing to do.
	if st.OrReplace {
		schema, name, err := d.qualify(st.Name, true)
		if err != nil {
			return "", err
		}
		if old := d.cat.Relation(schema, name); old != nil {
			return tag, d.replaceMatView(ctx, st, old)
		}
	}
	schema, name, exists, err := d.target(st.Name, st.IfNotExists)
	if err != nil || exists {
		return tag, err
	}
	rel := d.newRelation(catalog.MatView, schema, name)
	background, err := d.viewOptions(rel, st)
	if err != nil {
		return "", err
	}
	b, err := d.bindQuery(st.Query)
	if err == nil {
		err = fewColumns(b)
	}
	if err != nil {
		return "", err
	}
	rel.OnClose, d.background = st.EmitOnWindowClose, background != nil
	stream, err := d.planView(rel, st.QueryText, b)
	if err != nil {
		return "", err
	}
	if err := renameColumns(rel, st.Columns); err != nil {
		return "", err
	}
	d.notices(stream)
	if background != nil {
		return tag, d.t.inc.AddInBackground(ctx, rel)
	}
	if err := d.to().AddQuery(ctx, rel, stream, d.watch); err != nil {
		return "", err
	}
	d.s.b.hub.created(d.s.b, rel)
	return tag, nil
}

// planView plans a materialized view and completes its relation.
func (d *definer) planView(rel *catalog.Relation, text string, b *planner.Bound) (*plan.Stream, error) {
	rel.Parallelism = d.t.inc.Parallelism()
	d.describe(rel, text, b)
	stream, err := d.planStream(rel)
	if err != nil {
		return nil, err
	}
	setColumns(rel, stream)
	return stream, nil
}

// setColumns gives a relation the columns of its plan, and what else follows from that.
func setColumns(rel *catalog.Relation, stream *plan.Stream) {
	rel.Columns, rel.Key = nil, nil
	if rel.Kind == catalog.MatView {
		rel.AppendOnly, rel.Watermarks = stream.AppendOnly, stream.Watermarks
	}
	for _, c := range stream.Columns {
		rel.Columns = append(rel.Columns, catalog.Column{Name: c.Name, Type: wireType(c.Type), Hidden: c.Hidden})
	}
	for _, k := range stream.Key {
		rel.Key = append(rel.Key, catalog.SortColumn{Col: k.Col, Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
}

// viewOptions takes the options of a materialized view; background is the one that says that it is to be created in the
// background, nil if none does.
func (d *definer) viewOptions(rel *catalog.Relation, st *ast.CreateView) (background *ast.Option, err error) {
	rest, err := jobOptions(rel, st.Options)
	if err != nil {
		return nil, err
	}
	for k, o := range rest {
		switch o.Name {
		case "background":
			on, err := boolOption(o)
			if err != nil {
				return nil, err
			}
			background = nil
			if on {
				background = &rest[k]
			}
		default:
			return nil, sqlerr.New(sqlerr.FeatureNotSupported, o.Pos, "the option %q of a materialized view is not supported yet", o.Name)
		}
	}
	return background, nil
}

// notices tells the client what the planner has to say.
func (d *definer) notices(stream *plan.Stream) {
	for _, n := range stream.Notices {
		d.s.notice(sqlerr.SuccessfulCompletion, n)
	}
}

// atName moves the position of an error in a query that the user has not written to the name that it
// stands for.
func atName(err error, n *ast.Name) error {
	var e *sqlerr.Error
	if n == nil || !errors.As(err, &e) || e.Pos == sqlerr.NoPos {
		return err
	}
	c := *e
	c.Pos = n.Pos
	return &c
}

func (d *definer) createSink(ctx context.Context, st *ast.CreateSink) error {
	schema, name, exists, err := d.target(st.Name, st.IfNotExists)
	if err != nil || exists {
		return err
	}
	var target *catalog.Relation
	if st.Into == nil {
		if err := d.mayConnect(); err != nil {
			return err
		}
	} else if target, err = d.intoTable(st); err != nil {
		return err
	}
	query, text := st.Query, st.QueryText
	if st.From != nil {
		quoted := make([]string, len(st.From.Parts))
		for i, p := range st.From.Parts {
			quoted[i] = quoteIdent(p)
		}
		text = "SELECT * FROM " + strings.Join(quoted, ".")
		if query, err = d.s.parseQuery(text); err != nil {
			return atName(err, st.From)
		}
	}
	b, err := d.bindQuery(query)
	if err == nil && target == nil {
		b, text, err = d.typesAsText(b, text)
	}
	if err != nil {
		return atName(err, st.From)
	}
	for _, r := range b.Relations {
		if r.Temp {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "sinks must not use temporary tables or views")
		}
	}
	rel := d.newRelation(catalog.Sink, schema, name)
	rel.Parallelism = d.t.inc.Parallelism()
	rel.OnClose = st.EmitOnWindowClose
	d.describe(rel, text, b)
	options, err := jobOptions(rel, st.Options)
	if err != nil {
		return err
	}
	if target != nil {
		return atName(d.createInto(ctx, st, rel, target, b, options), st.From)
	}
	rel.Options = storedOptions(options)
	stream, err := d.planStream(rel)
	if err != nil {
		return atName(err, st.From)
	}
	d.notices(stream)
	rel.AppendOnly = stream.AppendOnly
	cfg := connector.Config{Options: connectorOptions(options), AppendOnly: stream.AppendOnly}
	if f := st.Format; f != nil {
		rel.Format, rel.Encode, rel.EncodeOptions = f.Format, f.Encode, storedOptions(f.Options)
		cfg.Format, cfg.Encode, cfg.FormatPos, cfg.EncodeOptions = f.Format, f.Encode, f.Pos, connectorOptions(f.Options)
	}
	for _, c := range b.Columns {
		rel.Columns = append(rel.Columns, catalog.Column{Name: c.Name, Type: wireType(c.Type)})
	}
	cfg.Columns = execColumns(rel)
	if _, err := d.t.inc.NewSink(cfg); err != nil {
		return err
	}
	return d.to().AddQuery(ctx, rel, stream, d.watch)
}

// evalConst computes an expression without columns.
func (s *session) evalConst(t *tx, pl *planner.Planner, x ast.Expr, ty types.Type) (types.Datum, error) {
	e, err := pl.Expr(x, nil, ty, "EXECUTE parameters")
	if err != nil {
		return types.Null, err
	}
	return expr.FoldConst(e, s.execEnv(t))
}
