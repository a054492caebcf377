package syscat

import (
	"sort"
	"strings"

	"github.com/weirdb/weir/sql/catalog"
)

// The kinds of pg_class.relkind that occur.
const (
	kindTable     = 'r'
	kindView      = 'v'
	kindMatView   = 'm'
	kindForeign   = 'f'
	kindIndex     = 'i'
	kindSequence  = 'S'
	kindComposite = 'c'
)

// object is an entry of pg_class.
type object struct {
	oid                 catalog.ID
	schema, name, owner string
	kind                rune
	// rel is the relation itself, or for an index that of its table.
	rel *catalog.Relation
	// cols are the columns with their numbers.
	cols []attribute
	// index is set for indexes, seq for sequences.
	index   *index
	seq     *catalog.Sequence
	comment string
}

// attribute is an entry of pg_attribute.
type attribute struct {
	catalog.Column
	num     int
	comment string
}

// index is an entry of pg_index.
type index struct {
	key             []int    // numbers of the table's columns, 0 for expressions
	exprs           []string // their texts, "" for columns
	include         []int
	where           string
	desc            []bool
	nullsFirst      []bool
	unique, primary bool
	// nullsEqual: NULLS NOT DISTINCT.
	nullsEqual bool
	// constraint: it belongs to a constraint of the same name.
	constraint bool
}

// constraint is an entry of pg_constraint.
type constraint struct {
	oid   catalog.ID
	name  string
	kind  rune // p, u, c, f
	rel   *object
	index catalog.ID
	cols  []int
	expr  string
	// foreign is a foreign key, ref its table, and refCols that table's columns.
	foreign *catalog.ForeignKey
	ref     *object
	refCols []int
	// notValid: rows that were there before may violate it.
	notValid bool
}

// objects are the entries of pg_class that the user has made, and what belongs to them.
type objects struct {
	list        []*object // by oid
	byOID       map[catalog.ID]*object
	byName      map[[2]string]*object
	constraints []*constraint
	// domains are the CHECK constraints of domains, by oid.
	domains []domainCheck
	// constraint finds one by oid.
	constraint map[catalog.ID]*constraint
	// indexes are those of a relation, by its oid.
	indexes map[catalog.ID][]*object
	// referenced are the tables that foreign keys reference.
	referenced map[catalog.ID]bool
}

// Derived objects have no ids in the catalog. Theirs are made of the table's and a number, above all
// others; an oid need only be unique among the entries of one system relation.
const (
	derivedBase  = catalog.ID(1) << 31
	derivedShift = 8
	defaultShift = 11
)

func derivedID(table catalog.ID, slot int) catalog.ID {
	return derivedBase | table<<derivedShift | catalog.ID(slot)
}

// defaultID is the oid of a column's default.
func defaultID(table catalog.ID, num int) catalog.ID {
	return derivedBase | table<<defaultShift | catalog.ID(num)
}

// relKind gives pg_class.relkind, and false for what is no relation in PostgreSQL's eyes.
func relKind(r *catalog.Relation) (rune, bool) {
	switch r.Kind {
	case catalog.Table:
		return kindTable, true
	case catalog.Source:
		return kindForeign, true
	case catalog.View:
		return kindView, true
	case catalog.MatView:
		return kindMatView, true
	case catalog.Index:
		return kindIndex, true
	case catalog.SequenceKind:
		return kindSequence, true
	}
	return 0, false
}

// makeObjects lists what a catalog has.
func makeObjects(cat *catalog.Catalog) *objects {
	o := &objects{byOID: map[catalog.ID]*object{}, byName: map[[2]string]*object{}}
	for _, r := range cat.Sorted() {
		kind, ok := relKind(r)
		if !ok || r.Internal || !cat.HasSchema(r.Schema) {
			continue
		}
		x := &object{
			oid: r.ID, schema: r.Schema, name: r.Name, owner: r.Owner, kind: kind, rel: r,
			cols: attributes(r), seq: r.Seq, comment: r.Comment,
		}
		o.add(x)
		if kind == kindIndex {
			o.secondary(cat, x)
			continue
		}
		o.constraintsOf(x)
	}
	o.types(cat)
	sort.Slice(o.list, func(i, j int) bool { return o.list[i].oid < o.list[j].oid })
	o.foreignKeys()
	o.constraint = make(map[catalog.ID]*constraint, len(o.constraints))
	for _, n := range o.constraints {
		o.constraint[n.oid] = n
	}
	o.indexes = map[catalog.ID][]*object{}
	for _, x := range o.list {
		if x.index != nil {
			o.indexes[x.rel.ID] = append(o.indexes[x.rel.ID], x)
		}
	}
	return o
}

func (o *objects) add(x *object) {
	o.list = append(o.list, x)
	o.byOID[x.oid] = x
	o.byName[[2]string{x.schema, x.name}] = x
}

func attributes(r *catalog.Relation) []attribute {
	var out []attribute
	for i, c := range r.Columns {
		if !c.Hidden {
			out = append(out, attribute{Column: c, num: i + 1, comment: r.ColumnComments[c.Name]})
		}
	}
	return out
}

// constraintsOf derives the constraints of a table and their indexes.
func (o *objects) constraintsOf(x *object) {
	slot := 0
	for _, u := range x.rel.Uniques {
		slot++
		n := constraint{name: u.Name, kind: 'u', rel: x, oid: derivedID(x.oid, slot), index: derivedID(x.oid, slot)}
		if u.Primary {
			n.kind = 'p'
		}
		ix := &object{
			oid: n.index, schema: x.schema, name: u.Name, owner: x.owner, kind: kindIndex, rel: x.rel,
			index: &index{unique: true, primary: u.Primary, constraint: true, nullsEqual: u.NullsNotDistinct},
		}
		for i, c := range u.Columns {
			n.cols = append(n.cols, c+1)
			ix.index.key = append(ix.index.key, c+1)
			ix.index.exprs = append(ix.index.exprs, "")
			ix.index.desc = append(ix.index.desc, false)
			ix.index.nullsFirst = append(ix.index.nullsFirst, false)
			col := x.rel.Columns[c]
			ix.cols = append(ix.cols, attribute{Column: catalog.Column{Name: col.Name, Type: col.Type}, num: i + 1})
		}
		o.add(ix)
		o.constraints = append(o.constraints, &n)
	}
	for _, c := range x.rel.Checks {
		slot++
		o.constraints = append(o.constraints, &constraint{
			oid: derivedID(x.oid, slot), name: c.Name, kind: 'c', rel: x, expr: c.Expr, notValid: c.NotValid,
		})
	}
}

// foreignKeys adds the foreign keys of all tables.
func (o *objects) foreignKeys() {
	o.referenced = map[catalog.ID]bool{}
	for _, x := range o.list {
		if x.kind != kindTable || x.rel == nil {
			continue
		}
		for k := range x.rel.ForeignKeys {
			f := &x.rel.ForeignKeys[k]
			ref := o.byOID[f.Ref]
			if ref == nil {
				continue
			}
			o.referenced[f.Ref] = true
			n := &constraint{oid: f.ID, name: f.Name, kind: 'f', rel: x, foreign: f, ref: ref}
			if ix := o.byName[[2]string{ref.schema, f.Key}]; ix != nil {
				n.index = ix.oid
			}
			for i, c := range f.Columns {
				n.cols, n.refCols = append(n.cols, c+1), append(n.refCols, f.RefColumns[i]+1)
			}
			o.constraints = append(o.constraints, n)
		}
	}
}

// secondary completes an index that is an object of its own.
func (o *objects) secondary(cat *catalog.Catalog, x *object) {
	parent := cat.RelationByID(x.rel.Parent)
	if parent == nil {
		return
	}
	def := x.rel.Index
	x.index = &index{where: def.Where, unique: def.Unique, nullsEqual: def.NullsNotDistinct}
	x.cols = nil
	for i, c := range def.Columns {
		num := 0
		if c.Expr == "" {
			num = parent.ColumnIndex(c.Column) + 1
		}
		x.index.key = append(x.index.key, num)
		x.index.exprs = append(x.index.exprs, c.Expr)
		x.index.desc = append(x.index.desc, c.Desc)
		x.index.nullsFirst = append(x.index.nullsFirst, c.NullsFirst)
		x.cols = append(x.cols, indexAttribute(x.rel, c.Column, i+1))
	}
	for _, name := range def.Include {
		x.index.include = append(x.index.include, parent.ColumnIndex(name)+1)
		x.cols = append(x.cols, indexAttribute(x.rel, name, len(x.cols)+1))
	}
	x.rel = parent
}

// indexAttribute is the entry of an index's column in pg_attribute.
func indexAttribute(ix *catalog.Relation, column string, num int) attribute {
	a := attribute{num: num, Column: catalog.Column{Name: column}}
	if i := ix.ColumnIndex(column); i >= 0 {
		a.Type = ix.Columns[i].Type
	}
	return a
}

// objects gives the user's objects; they are listed once per Env.
func (e *Env) objects() *objects {
	e.list()
	return e.objs
}

// list fills what is made once.
func (e *Env) list() {
	e.once.Do(func() {
		e.objs = makeObjects(e.Catalog)
		e.roleNames = listRoles(e)
		e.rolesByID = make(map[catalog.ID]string, len(e.roleNames))
		for _, n := range e.roleNames {
			e.rolesByID[roleID(n)] = n
		}
	})
}

// object finds an entry of pg_class, also a system relation.
func (e *Env) object(oid catalog.ID) *object {
	if x := theSystem().objects.byOID[oid]; x != nil {
		return x
	}
	return e.objects().byOID[oid]
}

// lookup finds an entry of pg_class by name, along the search path if schema is "".
func (e *Env) lookup(schema, name string) *object {
	if schema != "" {
		if x := theSystem().objects.byName[[2]string{schema, name}]; x != nil {
			return x
		}
		return e.objects().byName[[2]string{schema, name}]
	}
	for _, s := range e.path() {
		if x := e.lookup(s, name); x != nil {
			return x
		}
	}
	return nil
}

// path is the search path with pg_catalog.
func (e *Env) path() []string {
	for _, s := range e.SearchPath {
		if s == pgCatalog {
			return e.SearchPath
		}
	}
	return append([]string{pgCatalog}, e.SearchPath...)
}

// visible tells whether the unqualified name of x means x.
func (e *Env) visible(x *object) bool { return e.lookup("", x.name) == x }

// qualified is the name of x as SQL, with its schema if it needs one.
func (e *Env) qualified(x *object) string {
	if e.visible(x) {
		return quoteIdent(x.name)
	}
	return quoteIdent(x.schema) + "." + quoteIdent(x.name)
}

// systemObjects lists the system relations.
func systemObjects(s *system) *objects {
	o := &objects{byOID: map[catalog.ID]*object{}, byName: map[[2]string]*object{}}
	for _, d := range s.list {
		x := &object{
			oid: d.rel.ID, schema: d.schema, name: d.name, owner: bootstrapRole, kind: kindTable, rel: d.rel,
			cols: attributes(d.rel),
		}
		if d.view {
			x.kind = kindView
		}
		o.add(x)
	}
	return o
}

// all lists the entries of pg_class: system relations, then the user's.
func (c *content) all() []*object {
	sys, own := c.sys.objects.list, c.env.objects().list
	return append(sys[:len(sys):len(sys)], own...)
}

// columnNames gives the names of columns by number, as SQL.
func columnNames(r *catalog.Relation, nums []int) string {
	names := make([]string, len(nums))
	for i, n := range nums {
		names[i] = quoteIdent(r.Columns[n-1].Name)
	}
	return strings.Join(names, ", ")
}
