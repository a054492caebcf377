package syscat

import (
	"strconv"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// typeClassID is the oid of pg_type.
const typeClassID = catalog.ID(1247)

// domainCheck is a CHECK constraint of a domain.
type domainCheck struct {
	oid   catalog.ID
	t     *catalog.Type
	check catalog.Check
}

// types adds the composite types, which are entries of pg_class, and the constraints of domains.
func (o *objects) types(cat *catalog.Catalog) {
	for _, t := range cat.SortedTypes() {
		switch t.Kind {
		case catalog.CompositeType:
			rel := &catalog.Relation{ID: compositeRelID(t.ID), Schema: t.Schema, Name: t.Name, Owner: t.Owner, Kind: "composite"}
			for _, a := range t.Attrs {
				rel.Columns = append(rel.Columns, catalog.Column{Name: a.Name, Type: a.Type})
			}
			o.add(&object{oid: rel.ID, schema: t.Schema, name: t.Name, owner: t.Owner, kind: kindComposite, rel: rel, cols: attributes(rel)})
		case catalog.DomainType:
			for i, c := range t.Checks {
				o.domains = append(o.domains, domainCheck{derivedID(t.ID, i+1), t, c})
			}
		}
	}
}

// typeID is pg_class.reltype.
func (x *object) typeID() catalog.ID {
	switch {
	case x.kind == kindComposite:
		return x.oid &^ catalog.ID(types.RowOIDBit)
	case x.index == nil && x.rel != nil && x.rel.HasRowType():
		return catalog.ID(x.rel.RowType().OID())
	}
	return 0
}

func domainConstraintRows(c *content) {
	c.columns("oid", "conname", "connamespace", "contype", "convalidated", "contypid", "confupdtype", "confdeltype", "confmatchtype",
		"conislocal", "conbin")
	for _, d := range c.env.objects().domains {
		c.add(d.oid, d.check.Name, c.env.schemaID(d.t.Schema), 'c', !d.check.NotValid, d.t.ID, ' ', ' ', ' ', true, d.check.Expr)
	}
}

// domainCheckDefinition is the constraint of a domain as it stands in CREATE DOMAIN, "" if the oid is of none.
func (e *Env) domainCheckDefinition(oid catalog.ID, pretty bool) string {
	for _, d := range e.objects().domains {
		if d.oid != oid {
			continue
		}
		tail := ""
		if d.check.NotValid {
			tail = " NOT VALID"
		}
		if pretty {
			return "CHECK (" + d.check.Expr + ")" + tail
		}
		return "CHECK ((" + d.check.Expr + "))" + tail
	}
	return ""
}

func typeDescriptions(c *content) {
	con := c.sys.byName[[2]string{pgCatalog, "pg_constraint"}].rel.ID
	for _, t := range c.cat.SortedTypes() {
		if t.Comment != "" {
			c.add(t.ID, typeClassID, 0, t.Comment)
		}
	}
	for _, d := range c.env.objects().domains {
		if text := d.t.CheckComments[d.check.Name]; text != "" {
			c.add(d.oid, con, 0, text)
		}
	}
}

// typeComment is the comment of a type or of the constraint of a domain, for obj_description; false if the oid, in the catalog
// that class names, is of none.
func (e *Env) typeComment(oid catalog.ID, class []types.Datum) (string, bool) {
	in := func(name string) bool { return len(class) == 0 || class[0].S == name }
	if t := e.Catalog.Types[oid]; t != nil && in("pg_type") {
		return t.Comment, true
	}
	if in("pg_constraint") {
		for _, d := range e.objects().domains {
			if d.oid == oid {
				return d.t.CheckComments[d.check.Name], true
			}
		}
	}
	return "", false
}

// typeDepends adds what hangs on types; con is the oid of pg_constraint.
func typeDepends(c *content, con catalog.ID) {
	on := func(t types.Type, domain catalog.ID) (catalog.ID, bool) {
		if domain != 0 {
			return domain, true
		}
		k := t.UserKind()
		return catalog.ID(t.OID()), k != 0
	}
	for _, x := range c.env.objects().list {
		if x.index != nil {
			continue
		}
		if x.kind == kindComposite {
			c.add(classID, x.oid, 0, typeClassID, x.typeID(), 0, 'i')
		}
		for _, a := range x.cols {
			if id, ok := on(a.Type, a.Domain); ok && x.typeID() != id {
				c.add(classID, x.oid, a.num, typeClassID, id, 0, 'n')
			}
		}
	}
	for _, t := range c.cat.SortedTypes() {
		if t.Kind != catalog.DomainType {
			c.add(typeClassID, t.ArrayOID(), 0, typeClassID, t.ID, 0, 'i')
			continue
		}
		if id, ok := on(t.Base, t.Over); ok {
			c.add(typeClassID, t.ID, 0, typeClassID, id, 0, 'n')
		}
	}
	for _, d := range c.env.objects().domains {
		c.add(con, d.oid, 0, typeClassID, d.t.ID, 0, 'a')
	}
}

// udtSchema is the schema of a type.
func (e *Env) udtSchema(t types.Type) string {
	if k := t.UserKind(); k != 0 {
		if u := e.UserType(k); u != nil {
			return u.Schema
		}
	}
	return pgCatalog
}

// domainType is what a domain was made over: the word for it in information_schema, and its schema and name.
func (e *Env) domainType(t *catalog.Type) (word, schema, name string) {
	if o := e.domainOf(t.Over); o != nil {
		return "USER-DEFINED", o.Schema, o.Name
	}
	return infoType(t.Base), e.udtSchema(t.Base), t.Base.Name()
}

// userTypeViews are the views of information_schema on the types of users.
func userTypeViews() map[string]func(*content) {
	return map[string]func(*content){
		"domains": infoDomainsRows, "domain_constraints": infoDomainConstraintsRows, "column_domain_usage": infoColumnDomainRows,
		"domain_udt_usage": infoDomainUDTRows, "user_defined_types": infoUserTypesRows, "attributes": infoAttributesRows,
		"column_udt_usage": infoColumnUDTRows,
	}
}

func infoDomainsRows(c *content) {
	c.columns("domain_catalog", "domain_schema", "domain_name", "data_type", "character_maximum_length", "character_octet_length",
		"numeric_precision", "numeric_precision_radix", "numeric_scale", "datetime_precision", "interval_type", "domain_default",
		"udt_catalog", "udt_schema", "udt_name", "dtd_identifier")
	db := c.env.Database
	for _, t := range c.cat.SortedTypes() {
		if t.Kind == catalog.DomainType {
			p := precisionOf(t.Base)
			word, schema, name := c.env.domainType(t)
			if t.Base.Kind == types.Array && t.Over == 0 {
				word = formatType(t.Base)
			}
			var def any
			if t.Default != "" {
				def = defaultAsPostgres(t.Default, t.Base)
			}
			c.add(db, t.Schema, t.Name, word, p.chars, p.octets, p.precision, p.radix, p.scale, p.datetime, p.interval,
				def, db, schema, name, "1")
		}
	}
}

func infoDomainConstraintsRows(c *content) {
	c.columns("constraint_catalog", "constraint_schema", "constraint_name", "domain_catalog", "domain_schema", "domain_name",
		"is_deferrable", "initially_deferred")
	db := c.env.Database
	for _, d := range c.env.objects().domains {
		c.add(db, d.t.Schema, d.check.Name, db, d.t.Schema, d.t.Name, "NO", "NO")
	}
}

func infoColumnDomainRows(c *content) {
	c.columns("domain_catalog", "domain_schema", "domain_name", "table_catalog", "table_schema", "table_name", "column_name")
	db := c.env.Database
	for _, x := range c.env.objects().list {
		for _, a := range x.cols {
			if d := c.env.domainOf(a.Domain); d != nil && tableTypes[x.kind] != "" {
				c.add(db, d.Schema, d.Name, db, x.schema, x.name, a.Name)
			}
		}
	}
}

func infoDomainUDTRows(c *content) {
	c.columns("udt_catalog", "udt_schema", "udt_name", "domain_catalog", "domain_schema", "domain_name")
	db := c.env.Database
	for _, t := range c.cat.SortedTypes() {
		if t.Kind == catalog.DomainType {
			c.add(db, c.env.udtSchema(t.Base), t.Base.Name(), db, t.Schema, t.Name)
		}
	}
}

func infoColumnUDTRows(c *content) {
	c.columns("udt_catalog", "udt_schema", "udt_name", "table_catalog", "table_schema", "table_name", "column_name")
	db := c.env.Database
	for _, x := range c.env.objects().list {
		for _, a := range x.cols {
			if tableTypes[x.kind] != "" {
				c.add(db, c.env.udtSchema(a.Type), a.Type.Name(), db, x.schema, x.name, a.Name)
			}
		}
	}
}

func infoUserTypesRows(c *content) {
	c.columns("user_defined_type_catalog", "user_defined_type_schema", "user_defined_type_name", "user_defined_type_category",
		"is_instantiable")
	for _, t := range c.cat.SortedTypes() {
		if t.Kind == catalog.CompositeType {
			c.add(c.env.Database, t.Schema, t.Name, "STRUCTURED", "YES")
		}
	}
}

func infoAttributesRows(c *content) {
	c.columns("udt_catalog", "udt_schema", "udt_name", "attribute_name", "ordinal_position", "is_nullable", "data_type",
		"character_maximum_length", "character_octet_length", "numeric_precision", "numeric_precision_radix", "numeric_scale",
		"datetime_precision", "attribute_udt_catalog", "attribute_udt_schema", "attribute_udt_name", "dtd_identifier",
		"is_derived_reference_attribute")
	db := c.env.Database
	for _, x := range c.env.objects().list {
		if x.kind != kindComposite {
			continue
		}
		for _, a := range x.cols {
			p := precisionOf(a.Type)
			c.add(db, x.schema, x.name, a.Name, a.num, "YES", infoType(a.Type), p.chars, p.octets, p.precision, p.radix, p.scale,
				p.datetime, db, c.env.udtSchema(a.Type), a.Type.Name(), strconv.Itoa(a.num), "NO")
		}
	}
}
