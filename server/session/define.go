package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// define runs a statement that changes the catalog. Outside of a transaction block it commits what the session has written before, and
// takes effect at once.
func (s *session) define(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	if u, ok := e.p.ast.(*ast.Unsupported); ok {
		if err := outsideOnly(u); err != nil && t.explicit {
			return pgwire.Result{}, err
		}
		return pgwire.Result{}, sqlerr.New(sqlerr.FeatureNotSupported, u.Pos, "%s is not supported yet", u.Name)
	}
	if err := t.writable(e.p.ast); err != nil {
		return pgwire.Result{}, err
	}
	if err := s.plainDates(e.p.text); err != nil {
		return pgwire.Result{}, err
	}
	if temp, err := s.concernsTemp(ctx, t, e); err != nil {
		return pgwire.Result{}, err
	} else if temp {
		return s.defineTemp(ctx, t, e)
	}
	if in, err := s.inBlock(t, e); err != nil {
		return pgwire.Result{}, err
	} else if in {
		return s.defineInBlock(ctx, t, e)
	}
	// Locks go too, even if nothing was written under them: the statement may want them itself.
	if err := t.commitLocked(ctx, true); err != nil {
		return pgwire.Result{}, err
	}
	alone := (&definer{s: s, t: t, e: e, cat: t.catalog()}).alone()
	unlock, err := t.inc.LockDefinitions(ctx, t.writes, alone)
	if err != nil {
		return pgwire.Result{}, err
	}
	// The locks that it takes, others take in its name.
	defer t.releaseWrites()
	ctx = table.OnBehalf(ctx, t.writes)
	defer unlock()
	d := &definer{ctx: ctx, s: s, t: t, e: e, cat: t.catalog()}
	tag, err := d.run(ctx)
	return pgwire.Result{Tag: tag}, err
}

// alone tells whether a statement can do without a checkpoint: it brings no state with it, and has nothing to do with what is being
// restarted after a failure. It is asked before the catalog is locked.
func (d *definer) alone() bool {
	switch st := d.e.p.ast.(type) {
	case *ast.CreateTable:
		return !slices.ContainsFunc(st.Options, func(o ast.Option) bool { return o.Name == "connector" })
	case *ast.CreateView:
		return !st.Materialized && !st.OrReplace
	case *ast.Alter:
		switch st.Action {
		case "resume", "add_foreign_key", "drop_constraint", "validate_constraint":
			return false
		}
		if st.Kind == ast.KindSchema {
			return true
		}
		schema, name, err := d.qualify(st.Name, false)
		if err != nil {
			return true
		}
		r := d.cat.Relation(schema, name)
		return r == nil || d.t.inc.Apart([]*catalog.Relation{r})
	case *ast.CreateType, *ast.CreateDomain, *ast.AlterUserType:
		return true
	case *ast.Drop:
		return d.abandon(st)
	case *ast.CreateExtension, *ast.CreateSequence, *ast.AlterSequence, *ast.CreateSource, *ast.CreateSchema, *ast.CreateRole, *ast.AlterRole, *ast.AlterSettings, *ast.DropRole, *ast.Grant, *ast.Comment:
		return true
	}
	return false
}

// definer runs one DDL statement; it holds the DDL lock.
type definer struct {
	// ctx is that of the statement.
	ctx context.Context
	s   *session
	t   *tx
	e   *execution
	cat *catalog.Catalog
	// temp: it defines temporary objects.
	temp bool
	// background: what is created is filled in the background, and takes no rows of others.
	background bool
	// quiet: what CASCADE drops has been said already.
	quiet bool
}

func (d *definer) run(ctx context.Context) (string, error) {
	switch st := d.e.p.ast.(type) {
	case *ast.CreateTable:
		return d.createTable(ctx, st)
	case *ast.CreateSource:
		return "CREATE SOURCE", d.createSource(st)
	case *ast.CreateView:
		if st.Materialized {
			return d.createMatView(ctx, st)
		}
		return "CREATE VIEW", d.createView(ctx, st)
	case *ast.CreateSink:
		return "CREATE SINK", d.createSink(ctx, st)
	case *ast.CreateSchema:
		return "CREATE SCHEMA", d.createSchema(st)
	case *ast.CreateExtension:
		return "CREATE EXTENSION", d.createExtension(st)
	case *ast.CreateSequence:
		return "CREATE SEQUENCE", d.createSequence(st)
	case *ast.AlterSequence:
		return "ALTER SEQUENCE", d.alterSequence(st)
	case *ast.CreateRole:
		return "CREATE ROLE", d.createRole(st)
	case *ast.AlterSettings:
		if st.Role == "" && st.Database != "" {
			return "ALTER DATABASE", d.alterSettings(st)
		}
		return "ALTER ROLE", d.alterSettings(st)
	case *ast.AlterRole:
		return "ALTER ROLE", d.alterRole(st)
	case *ast.DropRole:
		return "DROP ROLE", d.dropRoles(st)
	case *ast.Grant:
		tag := map[bool]string{true: "REVOKE", false: "GRANT"}[st.Revoke]
		if st.Kind == "" {
			tag += " ROLE"
		}
		return tag, d.grant(st)
	case *ast.Reassign:
		if st.To == "" {
			return "DROP OWNED", d.reassign(ctx, st)
		}
		return "REASSIGN OWNED", d.reassign(ctx, st)
	case *ast.Drop:
		return "DROP " + string(st.Kind), d.drop(ctx, st)
	case *ast.AlterTable:
		return "ALTER " + string(st.Kind), d.alterTable(ctx, st)
	case *ast.Alter:
		return "ALTER " + string(st.Kind), d.alter(ctx, st)
	case *ast.Comment:
		return "COMMENT", d.comment(st)
	case *ast.CreateIndex:
		return "CREATE INDEX", d.createIndex(ctx, st)
	case *ast.CreateFunction:
		return "CREATE FUNCTION", d.createFunction(st)
	case *ast.CreateType:
		return "CREATE TYPE", d.createType(st)
	case *ast.CreateDomain:
		return "CREATE DOMAIN", d.createDomain(st)
	case *ast.AlterUserType:
		return map[bool]string{false: "ALTER TYPE", true: "ALTER DOMAIN"}[st.Domain], d.alterType(st)
	}
	return "", sqlerr.Newf(sqlerr.FeatureNotSupported, "%s is not supported yet", statementName(d.e.p.ast))
}

// target resolves the name of a new relation; exists tells that IF NOT EXISTS made it superfluous.
func (d *definer) target(n ast.Name, ifNotExists bool) (schema, name string, exists bool, err error) {
	if d.temp {
		schema, name, err = d.tempTarget(n)
	} else {
		schema, name, err = d.qualify(n, true)
	}
	if err != nil {
		return "", "", false, err
	}
	if !d.cat.HasSchema(schema) {
		return "", "", false, sqlerr.New(sqlerr.InvalidSchemaName, n.Pos, "schema %q does not exist", schema)
	}
	if err := d.mayCreate(schema); err != nil {
		return "", "", false, err
	}
	if !d.indexNamed(schema, name) {
		if d.cat.PendingRelation(schema, name) == nil {
			return schema, name, false, d.noTypeNamed(schema, name)
		}
		return "", "", false, sqlerr.Newf(sqlerr.DuplicateTable, "relation %q already exists", name).
			WithDetail("It is being created in the background.")
	}
	if ifNotExists {
		d.s.notice(sqlerr.DuplicateTable, fmt.Sprintf("relation %q already exists, skipping", name))
		return schema, name, true, nil
	}
	return "", "", false, sqlerr.Newf(sqlerr.DuplicateTable, "relation %q already exists", name)
}

// qualify splits a name; an unqualified one is in the first schema of the search path that exists.
func (d *definer) qualify(n ast.Name, create bool) (schema, name string, err error) {
	switch len(n.Parts) {
	case 1:
		name = n.Parts[0]
		for _, sc := range d.s.vars.searchPath(d.s.user()) {
			if d.cat.HasSchema(sc) && (create && sc != d.cat.TempSchema || !create && d.indexNamed(sc, name)) {
				return sc, name, nil
			}
		}
		if create {
			return "", "", sqlerr.New(sqlerr.InvalidSchemaName, n.Pos, "no schema has been selected to create in")
		}
		return catalog.PublicSchema, name, nil
	case 2:
		if n.Parts[0] == catalog.TempAlias && d.cat.TempSchema != "" {
			return d.cat.TempSchema, n.Parts[1], nil
		}
		if n.Parts[0] == "pg_catalog" || n.Parts[0] == "information_schema" {
			return "", "", sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for schema %s", n.Parts[0])
		}
		return n.Parts[0], n.Parts[1], nil
	case 3:
		if n.Parts[0] != Database {
			return "", "", sqlerr.New(sqlerr.FeatureNotSupported, n.Pos,
				"cross-database references are not implemented: %s", strings.Join(n.Parts, "."))
		}
		return n.Parts[1], n.Parts[2], nil
	}
	return "", "", sqlerr.New(sqlerr.SyntaxError, n.Pos, "improper qualified name (too many dotted names): %s", strings.Join(n.Parts, "."))
}

func (d *definer) newRelation(kind catalog.RelKind, schema, name string) *catalog.Relation {
	return &catalog.Relation{ID: d.t.inc.AllocID(), Schema: schema, Name: name, Kind: kind, Owner: d.s.user(), Temp: d.temp}
}

func (d *definer) planner() *planner.Planner {
	return d.s.planner(d.cat, d.s.vars.searchPath(d.s.user()))
}

func connectorOptions(os []ast.Option) []connector.Option {
	out := make([]connector.Option, len(os))
	for i, o := range os {
		out[i] = connector.Option{Name: o.Name, Value: o.Value, IsSet: o.IsSet, Pos: o.Pos}
	}
	return out
}

func storedOptions(os []ast.Option) []catalog.Option {
	out := make([]catalog.Option, len(os))
	for i, o := range os {
		out[i] = catalog.Option{Name: o.Name, Value: o.Value}
	}
	return out
}

// connect checks the connector of a statement and completes rel with it.
func (d *definer) connect(rel *catalog.Relation, opts []ast.Option, f *ast.Format, cols []exec.Column) (exec.Source, error) {
	if err := d.mayConnect(); err != nil {
		return nil, err
	}
	opts = d.splits(opts)
	cfg := connector.Config{Options: connectorOptions(opts), Columns: cols}
	rel.Options = storedOptions(opts)
	if f != nil {
		cfg.Format, cfg.Encode, cfg.FormatPos = f.Format, f.Encode, f.Pos
		cfg.EncodeOptions = connectorOptions(f.Options)
		rel.Format, rel.Encode, rel.EncodeOptions = f.Format, f.Encode, storedOptions(f.Options)
	}
	src, err := d.t.inc.NewSource(cfg)
	if err != nil {
		return nil, err
	}
	rel.Splits = src.Splits()
	return src, nil
}

// splits sets the number of splits of a generated source, which can be read in parallel, to the server's
// parallelism if the user did not choose.
func (d *definer) splits(opts []ast.Option) []ast.Option {
	generated := false
	for _, o := range opts {
		switch o.Name {
		case "splits", "datagen.split.num":
			return opts
		case "connector":
			switch strings.ToLower(o.Value) {
			case "nexmark", "tpch", "datagen":
				generated = true
			}
		}
	}
	if n := d.t.inc.Parallelism(); generated && n > 1 {
		return append(append([]ast.Option(nil), opts...), ast.Option{Name: "splits", Value: fmt.Sprint(n), IsSet: true})
	}
	return opts
}

func hasConnector(opts []ast.Option) bool {
	for _, o := range opts {
		if o.Name == "connector" {
			return true
		}
	}
	return false
}

// rowIDColumn is the hidden key of what has no other.
const rowIDColumn = "_row_id"

func (d *definer) createSource(st *ast.CreateSource) error {
	schema, name, exists, err := d.target(st.Name, st.IfNotExists)
	if err != nil || exists {
		return err
	}
	if len(st.Constraints) > 0 {
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Constraints[0].Pos, "constraints on a source are not supported").
			WithHint("Create a table with this connector to keep one row for each key.")
	}
	rel := d.newRelation(catalog.Source, schema, name)
	for _, cd := range st.Columns {
		c, err := d.column(rel, cd)
		if err != nil {
			return err
		}
		for _, k := range cd.Constraints {
			return sqlerr.New(sqlerr.FeatureNotSupported, k.Pos, "constraints on a source are not supported")
		}
		rel.Columns = append(rel.Columns, c)
	}
	idle, options, err := idleOption(st.Options, st.Watermark)
	if err != nil {
		return err
	}
	src, err := d.connect(rel, options, st.Format, execColumns(rel))
	if err != nil {
		return err
	}
	rel.Columns = nil
	for _, c := range src.Columns() {
		rel.Columns = append(rel.Columns, catalog.Column{Name: c.Name, Type: c.Type})
	}
	rel.AppendOnly = true
	if k, ok := src.(exec.KeyedSource); ok {
		rel.SourceKeys = k.Keys()
	}
	if st.Watermark != nil {
		if rel.Watermark, err = d.watermark(rel, st.Watermark); err != nil {
			return err
		}
		rel.Watermark.Idle = idle
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) { c.Put(rel) })
}

func execColumns(rel *catalog.Relation) []exec.Column {
	var cols []exec.Column
	for _, c := range rel.Columns {
		if !c.Hidden {
			cols = append(cols, exec.Column{Name: c.Name, Type: c.Type})
		}
	}
	return cols
}

func (d *definer) createSchema(st *ast.CreateSchema) error {
	if strings.HasPrefix(st.Name, "pg_") {
		return sqlerr.Newf(sqlerr.ReservedName, "unacceptable schema name %q", st.Name).
			WithDetail("The prefix \"pg_\" is reserved for system schemas.")
	}
	if d.cat.HasSchema(st.Name) || st.Name == "information_schema" {
		if st.IfNotExists {
			d.s.notice(sqlerr.DuplicateSchema, fmt.Sprintf("schema %q already exists, skipping", st.Name))
			return nil
		}
		return sqlerr.Newf(sqlerr.DuplicateSchema, "schema %q already exists", st.Name)
	}
	if user := d.s.user(); !d.s.trusted(d.cat, user) {
		if r, _ := d.cat.Role(user); !r.CreateDB {
			return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for database %s", Database)
		}
	}
	owner := d.s.user()
	if st.Owner != "" {
		var err error
		if owner, err = d.resolve(st.Owner); err != nil {
			return err
		}
		if !d.s.trusted(d.cat, d.s.user()) && !d.cat.IsMember(d.s.user(), owner, false) {
			return sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be member of role \"%s\"", owner)
		}
	}
	id := d.t.inc.AllocID()
	return d.to().Change(d.ctx, func(c *catalog.Catalog) {
		c.Schemas[st.Name] = catalog.Schema{ID: id, Name: st.Name, Owner: owner}
	})
}

// relationKind gives the kind of catalog object that a statement names.
var relationKinds = map[ast.ObjectKind]catalog.RelKind{
	ast.KindTable: catalog.Table, ast.KindSource: catalog.Source, ast.KindView: catalog.View,
	ast.KindMatView: catalog.MatView, ast.KindSink: catalog.Sink, ast.KindIndex: catalog.Index, ast.KindSequence: catalog.SequenceKind,
}

// kindWord is how messages call a kind of relation.
func kindWord(k catalog.RelKind) string {
	if k == catalog.MatView {
		return "materialized view"
	}
	return string(k)
}

// find finds the relation that a statement names; nil if there is none and ifExists allows that.
func (d *definer) find(kind ast.ObjectKind, n ast.Name, ifExists bool) (*catalog.Relation, error) {
	schema, name, err := d.qualify(n, false)
	if err != nil {
		return nil, err
	}
	want := relationKinds[kind]
	r := d.cat.Relation(schema, name)
	if r == nil {
		what := kindWord(want)
		if ifExists {
			d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("%s %q does not exist, skipping", what, name))
			return nil, nil
		}
		if len(n.Parts) > 1 && !d.cat.HasSchema(schema) {
			return nil, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", schema)
		}
		code := sqlerr.UndefinedTable
		if want == catalog.Index {
			if err := d.constraintsIndex(n); err != nil {
				return nil, err
			}
			code = sqlerr.UndefinedObject
		}
		return nil, sqlerr.Newf(code, "%s %q does not exist", what, strings.Join(n.Parts, "."))
	}
	if r.Kind != want {
		return nil, wrongKind(r, want)
	}
	return r, nil
}

func wrongKind(r *catalog.Relation, want catalog.RelKind) error {
	article := func(k catalog.RelKind) string {
		if k == catalog.Index {
			return "an index"
		}
		return "a " + kindWord(k)
	}
	return sqlerr.Newf(sqlerr.WrongObjectType, "%q is not %s", r.Name, article(want)).
		WithHint("Use DROP %s to remove %s.", strings.ToUpper(kindWord(r.Kind)), article(r.Kind))
}

// truncate deletes all rows of tables, as a write of the transaction.
func (s *session) truncate(ctx context.Context, t *tx, e *execution, st *ast.Truncate) (pgwire.Result, error) {
	if err := t.writable(st); err != nil {
		return pgwire.Result{}, err
	}
	d := &definer{ctx: ctx, s: s, t: t, e: e, cat: t.catalog()}
	var rels []*catalog.Relation
	for _, n := range st.Tables {
		r, err := d.find(ast.KindTable, n, false)
		if err != nil {
			return pgwire.Result{}, err
		}
		rels = append(rels, r)
	}
	rels, err := d.truncated(rels, st.Cascade)
	if err != nil {
		return pgwire.Result{}, err
	}
	for _, r := range rels {
		if err := s.authorize(t.catalog())(r, catalog.Truncate, ""); err != nil {
			return pgwire.Result{}, err
		}
		tab, err := writableTable(ctx, t, r)
		if err != nil {
			return pgwire.Result{}, err
		}
		if r.AppendOnly {
			return pgwire.Result{}, sqlerr.Newf(sqlerr.WrongObjectType, "cannot truncate append-only table %q", r.Name)
		}
		if err := t.writes.Lock(ctx, tab, true); err != nil {
			return pgwire.Result{}, err
		}
		if err := t.writes.DeleteAll(tab); err != nil {
			return pgwire.Result{}, err
		}
	}
	if st.Restart {
		if err := s.restartIdentity(ctx, t, rels); err != nil {
			return pgwire.Result{}, err
		}
	}
	return pgwire.Result{Tag: "TRUNCATE TABLE"}, nil
}

func (d *definer) alter(ctx context.Context, st *ast.Alter) error {
	if st.Kind == ast.KindFunction {
		return d.alterFunction(st)
	}
	if st.Kind == ast.KindSchema {
		return d.alterSchema(st)
	}
	if _, ok := relationKinds[st.Kind]; !ok {
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "ALTER %s is not supported yet", st.Kind)
	}
	if st.Action == "rename" && st.Kind == ast.KindIndex {
		r, name, err := d.keyNamed(st.Name)
		if err != nil {
			return err
		}
		if r != nil {
			if err := d.owner(kindWord(catalog.Index), name, r.Owner); err != nil {
				return err
			}
			return d.renameConstraint(ctx, r, ast.AlterAction{Pos: st.Pos, Column: name, Name: st.NewName})
		}
	}
	r, err := d.alterable(st.Name, st.Kind, st.IfExists)
	if err != nil || r == nil {
		return err
	}
	if err := d.notPending("alter", map[catalog.ID]*catalog.Relation{r.ID: r}); err != nil {
		return err
	}
	c := *r
	switch st.Action {
	case "rename":
		if d.indexNamed(r.Schema, st.NewName) {
			return sqlerr.Newf(sqlerr.DuplicateTable, "relation %q already exists", st.NewName)
		}
		c.Name = st.NewName
		if r.Kind == catalog.Index && r.Index.Table != 0 {
			return d.renameIndex(ctx, r, &c)
		}
		return d.renameRelation(ctx, r, &c)
	case "set_schema":
		if !d.cat.HasSchema(st.NewName) {
			return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", st.NewName)
		}
		if d.cat.Relation(st.NewName, r.Name) != nil {
			return sqlerr.Newf(sqlerr.DuplicateTable, "relation %q already exists in schema %q", r.Name, st.NewName)
		}
		if r.Seq != nil && r.Seq.OwnedBy != 0 {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot move an owned sequence into another schema").
				WithDetail("Sequence \"%s\" is linked to table \"%s\".", r.Name, d.cat.RelationByID(r.Seq.OwnedBy).Name)
		}
		if st.NewName == r.Schema {
			return nil
		}
		c.Schema = st.NewName
		return d.renameRelation(ctx, r, &c)
	case "owner":
		if r.Seq != nil && r.Seq.OwnedBy != 0 {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot change owner of sequence \"%s\"", r.Name).
				WithDetail("Sequence \"%s\" is linked to table \"%s\".", r.Name, d.cat.RelationByID(r.Seq.OwnedBy).Name)
		}
		to, err := d.newOwner(st.NewName, r.Schema)
		if err != nil {
			return err
		}
		c.Owner, c.ACL = to, r.ACL.WithOwner(catalog.OwnerName(r.Owner), to)
	case "add_foreign_key", "drop_constraint", "validate_constraint":
		return d.alterConstraint(ctx, r, st)
	case "resume":
		if r.Kind == catalog.View || r.Kind == catalog.Index {
			return sqlerr.New(sqlerr.WrongObjectType, st.Pos, "%s %q has no job that could be resumed", kindWord(r.Kind), r.Name)
		}
		return d.t.inc.Resume(ctx, r)
	case "set_options":
		rest, err := jobOptions(&c, st.Options)
		if err == nil {
			err = changeOnError(r, &c, st.Pos)
		}
		if err != nil {
			return err
		}
		for _, o := range rest {
			return sqlerr.New(sqlerr.FeatureNotSupported, o.Pos, "the option %q cannot be changed", o.Name)
		}
	default:
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "this form of ALTER %s is not supported yet", st.Kind)
	}
	err = d.to().Change(d.ctx, func(cat *catalog.Catalog) {
		cat.Put(&c)
		if c.Owner == r.Owner {
			return
		}
		// What belongs to it goes with it.
		for _, x := range cat.Owned(r.ID) {
			y := *x
			y.Owner, y.ACL = c.Owner, x.ACL.WithOwner(catalog.OwnerName(r.Owner), c.Owner)
			cat.Put(&y)
		}
		for _, x := range cat.AllIndexes(r.ID) {
			y := *x
			y.Owner = c.Owner
			cat.Put(&y)
		}
	})
	if err == nil && c.Failover != r.Failover {
		d.t.inc.SetFailover(r.ID, c.Failover)
	}
	return err
}

// failoverOption takes the option failover out of os and sets it in r.
func failoverOption(r *catalog.Relation, os []ast.Option) ([]ast.Option, error) {
	var rest []ast.Option
	for _, o := range os {
		if o.Name != "failover" {
			rest = append(rest, o)
			continue
		}
		switch o.Value {
		case "all", "region":
			r.Failover = o.Value
		case "default":
			r.Failover = ""
		default:
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "failover is %q, but can only be 'region', 'all' or 'default'", o.Value)
		}
	}
	return rest, nil
}

// newOwner checks that an object in a schema may be given to a role.
func (d *definer) newOwner(name, schema string) (string, error) {
	user := d.s.user()
	if name == user && d.s.noRole {
		return name, nil
	}
	to, err := d.resolve(name)
	if err != nil || d.s.trusted(d.cat, user) {
		return to, err
	}
	if !d.cat.IsMember(user, to, false) {
		return "", sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be member of role \"%s\"", to)
	}
	if has, _ := d.cat.AllowedOnSchema(to, d.cat.Schemas[schema], catalog.Create); has == 0 {
		return "", sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for schema %s", schema)
	}
	return to, nil
}

func (d *definer) comment(st *ast.Comment) error {
	if st.Kind == ast.KindFunction {
		return d.commentFunction(st)
	}
	switch st.Kind {
	case ast.KindSchema:
		return d.commentSchema(st)
	case ast.KindType, ast.KindDomain:
		return d.commentType(st)
	case ast.KindConstraint:
		if st.OnDomain {
			return d.commentDomainConstraint(st)
		}
		return d.commentConstraint(st)
	case ast.KindExtension:
		return d.commentExtension(st)
	}
	kind, col := st.Kind, st.Column
	text := ""
	if st.Text != nil {
		text = *st.Text
	}
	var r *catalog.Relation
	if kind == ast.KindColumn {
		schema, name, err := d.qualify(st.Name, false)
		if err != nil {
			return err
		}
		if r = d.cat.Relation(schema, name); r == nil {
			return sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", strings.Join(st.Name.Parts, "."))
		}
		if r.ColumnIndex(col) < 0 {
			return sqlerr.Newf(sqlerr.UndefinedColumn, "column %q of relation %q does not exist", col, r.Name)
		}
	} else {
		if _, ok := relationKinds[kind]; !ok {
			return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "COMMENT ON %s is not supported yet", kind)
		}
		var err error
		if r, err = d.find(kind, st.Name, false); err != nil {
			return err
		}
	}
	if err := d.owner(kindWord(r.Kind), r.Name, r.Owner); err != nil {
		return err
	}
	c := *r
	if kind == ast.KindColumn {
		c.ColumnComments = map[string]string{}
		for k, v := range r.ColumnComments {
			c.ColumnComments[k] = v
		}
		c.ColumnComments[col] = text
		if st.Text == nil {
			delete(c.ColumnComments, col)
		}
	} else {
		c.Comment = text
	}
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.Put(&c) })
}
