package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// maxLabel is how long the label of an enum may be, in bytes.
const maxLabel = 63

// typeOf resolves a type name outside of a definition.
func (s *session) typeOf(ctx context.Context, tn ast.TypeName) (types.Type, error) {
	t, err := s.begin(ctx)
	if err != nil {
		return types.Type{}, err
	}
	ty, _, err := s.planner(t.catalog(), s.vars.searchPath(s.user())).Type(tn)
	return ty, err
}

// valueTypeOf is typeOf for what holds values that no cast and no column checks: a parameter or a variable. It refuses domains, whose
// conditions nobody would see to.
func (s *session) valueTypeOf(ctx context.Context, what string, tn ast.TypeName) (types.Type, error) {
	t, err := s.begin(ctx)
	if err != nil {
		return types.Type{}, err
	}
	return undomained(s.planner(t.catalog(), s.vars.searchPath(s.user())), what, tn)
}

// undomained resolves the name of a type that is no domain.
func undomained(p *planner.Planner, what string, tn ast.TypeName) (types.Type, error) {
	ty, domain, err := p.Type(tn)
	if err == nil && domain != nil {
		err = sqlerr.New(sqlerr.FeatureNotSupported, tn.Pos, "%s of a domain type is not supported", what).
			WithHint("Use the type that the domain is over, and cast the value to the domain where it is used.")
	}
	return ty, err
}

// typeByOID finds the type that a client means by an oid; a domain is its base type.
func (s *session) typeByOID(ctx context.Context, oid uint32) (types.Type, bool) {
	if t, ok := types.TypeByOID(oid, -1); ok {
		return t, true
	}
	t, err := s.begin(ctx)
	if err != nil {
		return types.Type{}, false
	}
	cat := t.catalog()
	if u := cat.Types[catalog.ID(oid)]; u != nil {
		return u.Type().WithoutMod(), true
	}
	return (&types.Env{Types: cat}).TypeByOID(oid)
}

// typesAsText makes text of the columns of a query that are of types of users: what is outside does not know these.
func (d *definer) typesAsText(b *planner.Bound, text string) (*planner.Bound, string, error) {
	if !slices.ContainsFunc(b.Columns, func(c planner.OutColumn) bool { return c.Type.UserKind() != 0 }) {
		return b, text, nil
	}
	cols := make([]string, len(b.Columns))
	for i, c := range b.Columns {
		if cols[i] = quoteIdent(c.Name); c.Type.UserKind() != 0 {
			cols[i] += "::text AS " + cols[i]
		}
	}
	text = "SELECT " + strings.Join(cols, ", ") + " FROM (" + strings.TrimRight(strings.TrimSpace(text), ";") + ") AS q"
	q, err := d.s.parseQuery(text)
	if err != nil {
		return nil, "", err
	}
	b, err = d.bindQuery(q)
	return b, text, err
}

// newType names a new type.
func (d *definer) newType(n ast.Name, kind string) (*catalog.Type, error) {
	schema, name, err := d.qualify(n, true)
	if err != nil {
		return nil, err
	}
	if !d.cat.HasSchema(schema) {
		return nil, sqlerr.New(sqlerr.InvalidSchemaName, n.Pos, "schema %q does not exist", schema)
	}
	if err := d.mayCreate(schema); err != nil {
		return nil, err
	}
	if d.typeTaken(schema, name) {
		if kind == catalog.CompositeType && d.cat.TypeNamed(schema, name) == nil {
			return nil, sqlerr.Newf(sqlerr.DuplicateTable, "relation %q already exists", name)
		}
		return nil, sqlerr.Newf(sqlerr.DuplicateObject, "type %q already exists", name)
	}
	return &catalog.Type{ID: d.t.inc.AllocID(), Schema: schema, Name: name, Owner: d.s.user(), Kind: kind}, nil
}

// typeTaken tells whether there is a type of a name, be it that of a relation's rows.
func (d *definer) typeTaken(schema, name string) bool {
	if d.cat.TypeNamed(schema, name) != nil {
		return true
	}
	r := d.cat.Relation(schema, name)
	if r == nil {
		r = d.cat.PendingRelation(schema, name)
	}
	return r != nil && r.HasRowType()
}

// noTypeNamed refuses a relation whose row type would have the name of a type that is there.
func (d *definer) noTypeNamed(schema, name string) error {
	if d.cat.TypeNamed(schema, name) == nil {
		return nil
	}
	return sqlerr.Newf(sqlerr.DuplicateObject, "type %q already exists", name).
		WithHint("A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.")
}

func (d *definer) createType(st *ast.CreateType) error {
	if !st.Enum {
		return d.createComposite(st)
	}
	t, err := d.newType(st.Name, catalog.EnumType)
	if err != nil {
		return err
	}
	for i, l := range st.Labels {
		if err := checkLabel(l); err != nil {
			return err
		}
		if slices.Contains(st.Labels[:i], l) {
			return sqlerr.Newf(sqlerr.UniqueViolation, "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"").
				WithDetail("Key (enumtypid, enumlabel)=(%d, %s) already exists.", uint32(t.ID), l)
		}
		t.Labels = append(t.Labels, types.EnumLabel{OID: uint32(d.t.inc.AllocID()), Name: l, Pos: int64(i+1) * types.EnumGap})
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) { c.PutType(t) })
}

func checkLabel(l string) error {
	if len(l) > maxLabel {
		return sqlerr.Newf(sqlerr.InvalidName, "invalid enum label \"%s\"", l).WithDetail("Labels must be %d bytes or less.", maxLabel)
	}
	return nil
}

func (d *definer) createComposite(st *ast.CreateType) error {
	t, err := d.newType(st.Name, catalog.CompositeType)
	if err != nil {
		return err
	}
	for _, a := range st.Attrs {
		if t.Attrs, err = d.addAttribute(t, t.Attrs, a); err != nil {
			return err
		}
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) { c.PutType(t) })
}

// addAttribute adds a column to those of a composite type.
func (d *definer) addAttribute(t *catalog.Type, attrs []types.Attr, a ast.ColumnDef) ([]types.Attr, error) {
	if slices.ContainsFunc(attrs, func(b types.Attr) bool { return b.Name == a.Name }) {
		return nil, sqlerr.Newf(sqlerr.DuplicateColumn, "column %q specified more than once", a.Name)
	}
	if len(attrs) >= maxColumns {
		return nil, sqlerr.Newf(sqlerr.TooManyColumns, "tables can have at most %d columns", maxColumns)
	}
	ty, err := d.attributeType(t, a)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(attrs), types.Attr{Name: a.Name, Type: ty}), nil
}

func (d *definer) attributeType(t *catalog.Type, a ast.ColumnDef) (types.Type, error) {
	ty, domain, err := d.planner().Type(a.Type)
	if err != nil {
		return ty, err
	}
	switch {
	case domain != nil:
		return ty, sqlerr.New(sqlerr.FeatureNotSupported, a.Type.Pos, "an attribute of the domain %s is not supported yet", domain.Name)
	case ty.Kind.IsPseudo(), ty.Kind == types.Unknown, ty.Kind == types.Record:
		return ty, sqlerr.New(sqlerr.InvalidTableDefinition, a.Pos, "column %q has pseudo-type %s", a.Name, ty)
	case d.contains(ty, t.Type().Kind):
		return ty, sqlerr.New(sqlerr.InvalidTableDefinition, a.Pos, "composite type %s cannot be made a member of itself", t.Name)
	}
	return ty, nil
}

// contains tells whether values of t have values of kind k in them.
func (d *definer) contains(t types.Type, k types.Kind) bool {
	switch u := t.UserKind(); {
	case u == 0:
	case u == k:
		return true
	default:
		if x := d.cat.UserType(u); x != nil {
			return slices.ContainsFunc(x.Attrs, func(a types.Attr) bool { return d.contains(a.Type, k) })
		}
	}
	return false
}

// findType finds a type that a statement names; nil if there is none and ifExists allows that.
func (d *definer) findType(n ast.Name, domain, ifExists bool) (*catalog.Type, error) {
	name := n.Parts[len(n.Parts)-1]
	path := d.s.vars.searchPath(d.s.user())
	if len(n.Parts) > 1 {
		path = n.Parts[len(n.Parts)-2 : len(n.Parts)-1]
		if path[0] != "pg_catalog" && !d.cat.HasSchema(path[0]) {
			if ifExists {
				d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("schema %q does not exist, skipping", path[0]))
				return nil, nil
			}
			return nil, sqlerr.New(sqlerr.InvalidSchemaName, n.Pos, "schema %q does not exist", path[0])
		}
	}
	shown := strings.Join(n.Parts, ".")
	for _, schema := range path {
		if t := d.cat.TypeNamed(schema, name); t != nil {
			if domain && t.Kind != catalog.DomainType {
				return nil, sqlerr.Newf(sqlerr.WrongObjectType, "%s is not a domain", quoted(shown))
			}
			return t, nil
		}
		if r := d.cat.Relation(schema, name); r != nil && r.HasRowType() {
			if domain {
				return nil, sqlerr.Newf(sqlerr.WrongObjectType, "%s is not a domain", quoted(shown))
			}
			return nil, &rowTypeError{r}
		}
	}
	if t, err := types.FromName(name, nil, "", 0); err == nil && (len(n.Parts) == 1 || path[0] == "pg_catalog") {
		if domain {
			return nil, sqlerr.Newf(sqlerr.WrongObjectType, "%s is not a domain", quoted(shown))
		}
		return nil, sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be owner of type %s", t)
	}
	if ifExists {
		d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("type %q does not exist, skipping", shown))
		return nil, nil
	}
	return nil, sqlerr.Newf(sqlerr.UndefinedObject, "type %q does not exist", shown)
}

func quoted(s string) string { return `"` + s + `"` }

// rowTypeError says that a name is that of a relation's row type.
type rowTypeError struct{ r *catalog.Relation }

// Error is what a statement says that can do nothing with it.
func (e *rowTypeError) Error() string { return e.Unwrap().Error() }

// Unwrap gives the error for users.
func (e *rowTypeError) Unwrap() error {
	return sqlerr.Newf(sqlerr.WrongObjectType, "%s is a table's row type", e.r.Name).
		WithHint("Use ALTER TABLE instead.")
}

// ownType is findType for what only the owner may do.
func (d *definer) ownType(n ast.Name, domain, ifExists bool) (*catalog.Type, error) {
	t, err := d.findType(n, domain, ifExists)
	if err != nil || t == nil {
		return nil, err
	}
	return t, d.owner("type", t.Name, t.Owner)
}

// displayType qualifies a type that is not in the search path.
func (d *definer) displayType(t *catalog.Type) string {
	if slices.Contains(d.s.vars.searchPath(d.s.user()), t.Schema) {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

func (d *definer) commentType(st *ast.Comment) error {
	t, err := d.ownType(st.Name, st.Kind == ast.KindDomain, false)
	if err != nil {
		return err
	}
	c := *t
	c.Comment = commentText(st)
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.PutType(&c) })
}

// typeWords are the types that a text names, by the positions of their names.
func (d *definer) typeWords(path []string, node any) map[int]ast.TypeName {
	found := map[int]ast.TypeName{}
	eachTypeName(node, func(tn ast.TypeName) { found[tn.Pos] = tn })
	return found
}

// namesType tells whether a text names a type.
func (d *definer) namesType(path []string, node any, t *catalog.Type) bool {
	pl := d.s.planner(d.cat, path)
	for _, tn := range d.typeWords(path, node) {
		if ty, domain, err := pl.Type(tn); err == nil && (domain != nil && domain.ID == t.ID || domain == nil && isOfType(ty, t)) {
			return true
		}
	}
	return false
}

// isOfType tells whether values of ty are of a type, or arrays of it.
func isOfType(ty types.Type, t *catalog.Type) bool {
	return t.Kind != catalog.DomainType && ty.UserKind() != 0 && ty.UserKind() == t.Type().Kind
}

// retype writes a text with the new name of a type where it names it.
func (d *definer) retype(path []string, text string, node any, t *catalog.Type, name string) string {
	pl := d.s.planner(d.cat, path)
	places := map[int]parse.ColumnPlace{}
	for pos, tn := range d.typeWords(path, node) {
		ty, domain, err := pl.Type(tn)
		if err == nil && (domain != nil && domain.ID == t.ID || domain == nil && isOfType(ty, t)) {
			places[pos] = parse.ColumnPlace{Parts: len(tn.Name.Parts), Name: name}
		}
	}
	return parse.RenameColumns(text, places)
}
