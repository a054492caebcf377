// Package bind gives meaning to syntax: it resolves names, overloads and types of an ast.Statement
// against a catalog and makes package logical's algebra of it. Its errors are PostgreSQL's, with
// codes, positions and hints.
//
// A query becomes a tree in which every subquery still stands where it was written: as the right side
// of a join that uses columns of the left one (lateral), or as a logical.Subquery in an
// expression.
//
// Inside the package errors travel as panics of type failure; every exported function turns them
// into returned errors. Nothing else is ever recovered.
package bind

import (
	"slices"
	"strings"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Config is what names and texts are resolved with.
type Config struct {
	Catalog catalog.Reader
	// SearchPath lists the schemas for unqualified names, without pg_catalog.
	SearchPath []string
	Registry   *fn.Registry
	// ParseQuery and ParseExpr read the SQL text of views and of stored expressions.
	ParseQuery func(string) (*ast.Select, error)
	ParseExpr  func(string) (ast.Expr, error)
	// Env is what literals of dates and times depend on.
	Env *types.Env
	// Authorize refuses access to a relation; as is the owner of the view that reads it, "" for the user. Nil:
	// everything is allowed.
	Authorize func(rel *catalog.Relation, want catalog.Privileges, as string) error
	// AuthorizeFunction refuses to call a function in SQL; as is the owner of the SECURITY DEFINER function that calls it,
	// "" for the user. Nil: all may be called.
	AuthorizeFunction func(f *catalog.Function, as string) error
	// Visible are the functions in SQL that can be called; nil: all.
	Visible *[]catalog.ID
	// Of is the relation whose stored query is bound, nil if it is not one.
	Of *catalog.Relation
	// Variable gives the parameter that a name of the text itself stands for which is no column; nil: there are none.
	Variable func(parts []string) (n int, t types.Type, ok bool, err error)
}

// Binder binds one statement.
type Binder struct {
	cfg    Config
	Meta   *logical.Meta
	params []types.Type
	rels   map[catalog.ID]*catalog.Relation
	// views are the views that are being inlined.
	views []catalog.ID
	// owners are the owners of these views.
	owners []string
	// sysRels are system relations: their IDs are not those of user objects.
	sysRels []*catalog.Relation
	// visible are the functions that the text that is being bound may call; nil: all. called are those that were, true those that
	// the statement itself calls.
	visible *[]catalog.ID
	called  map[catalog.ID]bool
	// bound are the relations that the names of a stored text meant when it was made, and boundCalls the functions that a stored body
	// called: names without a schema mean them still, whatever has come into an earlier schema of the search path.
	bound, boundCalls []catalog.ID
	// root is Config.Of: Of becomes the view whose query is being bound.
	root *catalog.Relation
	// caller is the owner of the innermost SECURITY DEFINER function whose body is being bound, "" for the user.
	caller string
	// inlining are the functions whose bodies are being bound.
	inlining []*inlined
	// checking is the function that is being made, nil if none is.
	checking *catalog.Function
	uses     uses
	// named are the string literals of the text itself that were read as names of relations, by position.
	named map[int]uint32
	// top is the WITH clause of the statement itself; modified are the data-modifying items in it, and around what such an item that is being
	// bound sees.
	top      *ast.With
	modified []Modifying
	around   [][]*cte
	// inlinedCalls and copied count what maxInlined and maxCopied bound.
	inlinedCalls, copied int
	// derivedAs has the names that subqueries in FROM and views have there.
	derivedAs map[logical.Node]string
	// locks are what FOR UPDATE locks.
	locks []Lock
	// types are those of users that the text names.
	types []catalog.ID
}

// New makes a Binder. Types that are known of parameters are given in params (Unknown: not known).
func New(cfg Config, params []types.Type) *Binder {
	b := &Binder{
		cfg: cfg, Meta: &logical.Meta{}, params: slices.Clone(params),
		rels: map[catalog.ID]*catalog.Relation{}, visible: cfg.Visible, root: cfg.Of,
	}
	if cfg.Of != nil {
		b.bound = cfg.Of.Meant()
	}
	return b
}

// OutCol is a result column.
type OutCol struct {
	Name string
	ID   logical.ColID
}

// Query is a bound query. Two result columns may be the same column.
type Query struct {
	Node logical.Node
	Cols []OutCol
	// fields are the columns of the fields of those of Cols that are rows, by their number.
	fields map[int][]OutCol
	// Order is the order of the rows if it was asked for; Node does not sort unless it cuts.
	Order []logical.Order
}

// failure carries an error through the recursion.
type failure struct{ err error }

// catch turns a failure into *err.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}

func fail(code sqlerr.Code, pos int, format string, args ...any) {
	panic(failure{sqlerr.New(code, pos, format, args...)})
}

func raise(err error) { panic(failure{err}) }

// check fails with err at pos if it has no position.
func check(err error, pos int) {
	if err != nil {
		raise(sqlerr.At(err, pos))
	}
}

func unsupported(pos int, what string) {
	fail(sqlerr.FeatureNotSupported, pos, "%s is not supported yet", what)
}

// Query binds a whole query. Parameters whose type is not determined are an error.
func (b *Binder) Query(q *ast.Select) (out *Query, err error) {
	defer catch(&err)
	b.top = q.With
	out = b.query(nil, q)
	b.resolveUnknown(out)
	b.finishParams()
	return out, nil
}

// Named gives the string literals of the text that were read as regclass, by position, and what they mean; those of views and
// functions that it uses are not among them.
func (b *Binder) Named() map[int]uint32 { return b.named }

// Params gives the parameter types.
func (b *Binder) Params() []types.Type { return b.params }

// Relations lists the relations that were used, by ID, views included.
func (b *Binder) Relations() []*catalog.Relation {
	var rs []*catalog.Relation
	for _, r := range b.rels {
		rs = append(rs, r)
	}
	slices.SortFunc(rs, func(x, y *catalog.Relation) int { return int(int64(x.ID) - int64(y.ID)) })
	return append(rs, b.sysRels...)
}

func (b *Binder) finishParams() {
	for i, t := range b.params {
		if t.Kind == types.Unknown {
			fail(sqlerr.IndeterminateDatatype, sqlerr.NoPos, "could not determine data type of parameter $%d", i+1)
		}
	}
}

// Expr binds a stand-alone expression over the columns of rel (a scalar.Column's Index is then the
// ordinal) and casts it to want unless that is Unknown. what names the place for errors, as
// Postgres does: "DEFAULT expressions", "check constraints". With rel nil there are no columns.
func (b *Binder) Expr(e ast.Expr, rel *catalog.Relation, want types.Type, what string) (out scalar.Expr, err error) {
	defer catch(&err)
	s := &scope{q: &queryState{clause: what, noSubquery: "cannot use subquery in " + singular(what)}}
	m := map[logical.ColID]scalar.Expr{}
	if rel != nil {
		r := b.relColumns(rel, rel.Name)
		s.addRel(r)
		for i, c := range r.cols {
			ref := b.Meta.Ref(c.id)
			m[c.id] = &scalar.Column{Node: ref.Node, Index: i, Name: ref.Name}
		}
	} else {
		s.noColumns = "cannot use column reference in " + singular(what)
	}
	x := b.expr(s, e)
	if want.Kind != types.Unknown {
		x = b.assign(x, want, func(from types.Type) error {
			if what == copyWhere {
				return sqlerr.New(sqlerr.DatatypeMismatch, e.Position(), "argument of WHERE must be type boolean, not type %s", from)
			}
			if what == "check constraints" {
				return sqlerr.New(sqlerr.DatatypeMismatch, e.Position(), "argument of CHECK must be type boolean, not type %s", from)
			}
			return sqlerr.New(sqlerr.DatatypeMismatch, e.Position(), "column is of type %s but expression is of type %s", want, from)
		})
	} else {
		x = b.resolve(x)
	}
	b.finishParams()
	x = indexed(x, m)
	if what == "column generation expressions" {
		logical.WalkExpr(x, func(y scalar.Expr) bool {
			if c, ok := y.(*scalar.Column); ok && rel.Columns[c.Index].Generated {
				raise(sqlerr.New(sqlerr.InvalidObjectDefinition, c.Pos, "cannot use generated column \"%s\" in column generation expression", c.Name).
					WithDetail("A generated column cannot reference another generated column."))
			}
			return true
		})
	}
	return x, nil
}

// indexed replaces columns, keeping positions.
func indexed(x scalar.Expr, m map[logical.ColID]scalar.Expr) scalar.Expr {
	return logical.MapExpr(x, func(e scalar.Expr) scalar.Expr {
		if c, ok := e.(*scalar.Column); ok {
			n := *c
			n.Index = m[c.Index].(*scalar.Column).Index
			return &n
		}
		return nil
	})
}

func singular(what string) string {
	switch what {
	case "DEFAULT expressions":
		return "DEFAULT expression"
	case "check constraints":
		return "check constraint"
	case copyWhere:
		return "COPY FROM WHERE condition"
	case "EXECUTE parameters":
		return "EXECUTE parameter"
	case "column generation expressions":
		return "column generation expression"
	}
	return what
}

// relation finds a relation by name as written.
func (b *Binder) relation(n ast.Name) *catalog.Relation {
	r, err := b.lookup(n)
	if err != nil {
		raise(err)
	}
	b.use(r)
	if b.cfg.Of != nil {
		return r.Seen(b.cfg.Of)
	}
	return r
}

// allow raises the error for what the user, or the owner of the view that is being inlined, may not do.
func (b *Binder) allow(r *catalog.Relation, want catalog.Privileges) {
	if b.cfg.Authorize == nil {
		return
	}
	as := ""
	if n := len(b.owners); n > 0 {
		as = b.owners[n-1]
	}
	if err := b.cfg.Authorize(r, want, as); err != nil {
		raise(err)
	}
}

func (b *Binder) use(r *catalog.Relation) {
	if r.Kind == catalog.System {
		if !slices.Contains(b.sysRels, r) {
			b.sysRels = append(b.sysRels, r)
		}
		return
	}
	b.rels[r.ID] = r
}

// lookup finds a relation by its name as written: what a stored text meant by it, else what the search path finds.
func (b *Binder) lookup(n ast.Name) (*catalog.Relation, error) {
	if len(n.Parts) == 1 && len(b.bound) > 0 {
		for _, s := range b.cfg.SearchPath {
			if r := b.cfg.Catalog.Relation(s, n.Parts[0]); r != nil && r.Kind != catalog.System && slices.Contains(b.bound, r.ID) {
				return r, nil
			}
		}
	}
	return Lookup(b.cfg.Catalog, b.cfg.SearchPath, n)
}

// Lookup finds a relation by its name as written, along the search path, with pg_catalog before it.
// The error is 42P01 (or 3F000) at the name.
func Lookup(c catalog.Reader, path []string, n ast.Name) (*catalog.Relation, error) {
	name := n.Parts[len(n.Parts)-1]
	switch len(n.Parts) {
	case 1:
		hasPgCatalog := slices.Contains(path, "pg_catalog")
		if !hasPgCatalog {
			if r := c.Relation("pg_catalog", name); r != nil {
				return r, nil
			}
		}
		for _, s := range path {
			if r := c.Relation(s, name); r != nil {
				return r, nil
			}
		}
		return nil, sqlerr.New(sqlerr.UndefinedTable, n.Pos, "relation \"%s\" does not exist", name)
	case 2, 3:
		schema := n.Parts[len(n.Parts)-2]
		if r := c.Relation(schema, name); r != nil {
			return r, nil
		}
		if len(n.Parts) == 3 {
			return nil, sqlerr.New(sqlerr.FeatureNotSupported, n.Pos, "cross-database references are not implemented: \"%s\"", dotted(n.Parts))
		}
		return nil, sqlerr.New(sqlerr.UndefinedTable, n.Pos, "relation \"%s.%s\" does not exist", schema, name)
	}
	return nil, sqlerr.New(sqlerr.SyntaxError, n.Pos, "improper relation name (too many dotted names)")
}

// typeName resolves a type name; a domain is its base type.
func (b *Binder) typeName(t ast.TypeName) types.Type {
	r, _ := b.typeOrDomain(t)
	return r
}

// typeOrDomain resolves a type name, with the domain if it is one.
func (b *Binder) typeOrDomain(t ast.TypeName) (types.Type, *catalog.Type) {
	r, d, err := ResolveType(b.cfg.Catalog, b.cfg.SearchPath, t)
	check(err, t.Pos)
	if k := r.UserKind(); k != 0 {
		b.useType(catalog.ID(k.OID()))
	}
	if d != nil {
		b.useType(d.ID)
	}
	return r, d
}

// useType notes a type that the statement names.
func (b *Binder) useType(id catalog.ID) {
	if !slices.Contains(b.types, id) {
		b.types = append(b.types, id)
	}
}

// Types lists the types of users that the statement names, by oid; the row type of a relation is among them.
func (b *Binder) Types() []catalog.ID { return b.types }

// ResolveType gives the type that a type name means, and the domain if it is one, whose base the type is; errors are at the name.
func ResolveType(c catalog.Reader, path []string, t ast.TypeName) (types.Type, *catalog.Type, error) {
	parts := t.Name.Parts
	name := parts[len(parts)-1]
	if len(parts) > 1 && parts[len(parts)-2] != "pg_catalog" {
		r, d, err := userType(c, parts[len(parts)-2:len(parts)-1], name, t)
		switch {
		case err == nil && r.Kind == types.Unknown && !c.HasSchema(parts[len(parts)-2]):
			err = sqlerr.New(sqlerr.InvalidSchemaName, t.Pos, "schema \"%s\" does not exist", parts[len(parts)-2])
		case err == nil && r.Kind == types.Unknown:
			err = sqlerr.New(sqlerr.UndefinedObject, t.Pos, "type \"%s\" does not exist", dotted(parts))
		}
		return r, d, err
	}
	if name == "char" {
		// The parser calls character(1) bpchar: what is left is the one-byte type of the catalogs.
		name = `"char"`
	}
	// The types that are always there are found in any case; one of a user that differs only by case wins.
	if strings.ToLower(name) != name && len(parts) == 1 {
		if r, d, err := userType(c, path, name, t); err != nil || r.Kind != types.Unknown {
			return r, d, err
		}
	}
	r, err := types.FromName(name, t.Mods, t.Fields, t.Dims)
	if err == nil {
		return r, nil, nil
	}
	if e := sqlError(err); e != nil && e.Code == sqlerr.UndefinedObject && len(parts) == 1 {
		if u, d, uerr := userType(c, path, name, t); uerr != nil || u.Kind != types.Unknown {
			return u, d, uerr
		}
	}
	return types.Type{}, nil, sqlerr.At(err, t.Pos)
}

// userType finds a type that a user made, the zero Type if there is none. The rows of relations are types of their names, and an
// underline before a name makes the array.
func userType(c catalog.Reader, path []string, name string, tn ast.TypeName) (types.Type, *catalog.Type, error) {
	for _, schema := range path {
		dims := tn.Dims
		u := c.TypeNamed(schema, name)
		rel := (*catalog.Relation)(nil)
		if u == nil {
			rel = c.Relation(schema, name)
		}
		if u == nil && (rel == nil || !rel.HasRowType()) && len(name) > 1 && name[0] == '_' {
			dims++
			if u = c.TypeNamed(schema, name[1:]); u == nil {
				rel = c.Relation(schema, name[1:])
			}
		}
		var t types.Type
		switch {
		case u != nil:
			t = u.Type()
		case rel != nil && rel.HasRowType():
			t = rel.RowType()
		default:
			continue
		}
		if len(tn.Mods) > 0 || tn.Fields != "" {
			return types.Type{}, nil, sqlerr.New(sqlerr.SyntaxError, tn.Pos, "type modifier is not allowed for type \"%s\"", name)
		}
		domain := u
		if u != nil && u.Kind != catalog.DomainType {
			domain = nil
		}
		if dims > 0 {
			if domain != nil {
				return types.Type{}, nil, sqlerr.New(sqlerr.FeatureNotSupported, tn.Pos, "arrays of the domain %s are not supported yet", name)
			}
			t = types.ArrayOf(t.Kind)
		}
		return t, domain, nil
	}
	return types.Type{}, nil, nil
}
