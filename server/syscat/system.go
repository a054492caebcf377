package syscat

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// The schemas of system relations, with PostgreSQL's oids.
const (
	pgCatalog    = "pg_catalog"
	infoSchema   = "information_schema"
	pgCatalogID  = catalog.ID(11)
	infoSchemaID = catalog.ID(13000)
	// firstViewID numbers system relations for which PostgreSQL has no fixed oid.
	firstViewID = catalog.ID(12000)
)

// relation defines a system relation.
type relation struct {
	schema, name string
	// oid is PostgreSQL's, and 0 if it is not fixed there.
	oid catalog.ID
	// view: PostgreSQL has it as a view.
	view bool
	// cols are the columns, "name type, name type!, ..."; types have their pg_type names, with [] for
	// arrays, and ! says NOT NULL.
	cols string
	// rows adds the rows; nil: there are never any.
	rows func(c *content)

	rel *catalog.Relation
}

// system is the set of all system relations.
type system struct {
	list   []*relation // by ID
	byName map[[2]string]*relation
	byID   map[catalog.ID]*relation
	// objects are their entries of pg_class.
	objects *objects
}

// made holds the system relations, made when first needed and never changed.
var made struct {
	once sync.Once
	sys  *system
}

// theSystem gives the system relations.
func theSystem() *system {
	made.once.Do(func() { made.sys = makeSystem() })
	return made.sys
}

func makeSystem() *system {
	s := &system{byName: map[[2]string]*relation{}, byID: map[catalog.ID]*relation{}}
	for _, group := range [][]relation{
		classRelations(), typeRelations(), databaseRelations(), viewRelations(), infoRelations(), foreignRelations(),
		weirRelations(), outsideRelations(), sessionRelations(), emptyRelations(), errorRelations(), zoneRelations(),
	} {
		for i := range group {
			s.add(&group[i])
		}
	}
	sort.Slice(s.list, func(i, j int) bool { return s.list[i].rel.ID < s.list[j].rel.ID })
	s.objects = systemObjects(s)
	return s
}

// add enters a relation. What is wrong with a definition is a broken invariant of this package.
func (s *system) add(d *relation) {
	id := d.oid
	if id == 0 {
		id = firstViewID + catalog.ID(len(s.list))
	}
	key := [2]string{d.schema, d.name}
	if s.byID[id] != nil || s.byName[key] != nil {
		panic("syscat: " + d.name + " is defined twice")
	}
	cols := parseColumns(d.cols)
	if !d.view {
		// The system column that catalog queries ask for; it comes last, because it is in no star.
		cols = append(cols, catalog.Column{Name: "tableoid", Type: types.T(types.Oid), Hidden: true, NotNull: true})
	}
	d.rel = &catalog.Relation{ID: id, Schema: d.schema, Name: d.name, Kind: catalog.System, Columns: cols}
	s.list = append(s.list, d)
	s.byName[key], s.byID[id] = d, d
}

func parseColumns(text string) []catalog.Column {
	var out []catalog.Column
	for _, item := range strings.Split(text, ",") {
		name, typ, ok := strings.Cut(strings.TrimSpace(item), " ")
		typ, notNull := strings.CutSuffix(typ, "!")
		typ, array := strings.CutSuffix(typ, "[]")
		typ, vector := strings.CutSuffix(typ, "vector")
		if typ == "char" {
			// Without its quotes it would be the SQL type character.
			typ = `"char"`
		}
		k, known := types.KindByName(typ)
		if !ok || !known {
			panic(fmt.Sprintf("syscat: bad column %q", item))
		}
		t := types.T(k)
		if array {
			t = types.ArrayOf(k)
		}
		if vector {
			t = types.VectorOf(k)
		}
		out = append(out, catalog.Column{Name: name, Type: t, NotNull: notNull})
	}
	return out
}

// WithSystem gives a reader that finds system relations besides those of cat.
func WithSystem(cat *catalog.Catalog) catalog.Reader { return reader{cat, theSystem()} }

type reader struct {
	*catalog.Catalog
	sys *system
}

func isSystemSchema(name string) bool { return name == pgCatalog || name == infoSchema }

func (r reader) Relation(schema, name string) *catalog.Relation {
	if isSystemSchema(schema) {
		if d := r.sys.byName[[2]string{schema, name}]; d != nil {
			return d.rel
		}
		return nil
	}
	return r.Catalog.Relation(schema, name)
}

func (r reader) RelationByID(id catalog.ID) *catalog.Relation {
	if d := r.sys.byID[id]; d != nil {
		return d.rel
	}
	return r.Catalog.RelationByID(id)
}

func (r reader) HasSchema(name string) bool { return isSystemSchema(name) || r.Catalog.HasSchema(name) }

func (r reader) RelationNames(schema string) []string {
	if !isSystemSchema(schema) {
		return r.Catalog.RelationNames(schema)
	}
	var names []string
	for _, d := range r.sys.list {
		if d.schema == schema {
			names = append(names, d.name)
		}
	}
	sort.Strings(names)
	return names
}
