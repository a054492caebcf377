package syscat

import (
	"strings"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// UserType describes a type that a user made; an Env is types.UserTypes.
func (e *Env) UserType(k types.Kind) *types.UserType {
	if u := e.Catalog.UserType(k); u != nil {
		return u
	}
	if oid := k.OID(); k.IsComposite() && oid&types.RowOIDBit != 0 {
		if d := theSystem().byID[catalog.ID(oid&^types.RowOIDBit)]; d != nil {
			return &types.UserType{Kind: k, Schema: d.schema, Name: d.name}
		}
	}
	return nil
}

// UserTypeByOID finds a type by its oid.
func (e *Env) UserTypeByOID(oid uint32) *types.UserType { return e.Catalog.UserTypeByOID(oid) }

// UserTypeName is the name of a type, with its schema if the search path does not find it.
func (e *Env) UserTypeName(k types.Kind) string {
	u := e.UserType(k)
	if u == nil {
		return "???"
	}
	return e.typeName(u.Schema, u.Name)
}

// typeName is a type's name as format_type gives it.
func (e *Env) typeName(schema, name string) string {
	if e.typeVisible(schema, name) {
		return quoteIdent(name)
	}
	return quoteIdent(schema) + "." + quoteIdent(name)
}

// typeVisible tells whether the search path finds a type by its bare name.
func (e *Env) typeVisible(schema, name string) bool {
	if schema == pgCatalog {
		return true
	}
	for _, s := range e.SearchPath {
		if s == schema {
			return true
		}
		if e.Catalog.TypeNamed(s, name) != nil {
			return false
		}
		if r := e.Catalog.Relation(s, name); r != nil && r.HasRowType() {
			return false
		}
	}
	return false
}

// resolve puts names where a text has marks for users' types.
func (e *Env) resolve(text string) string { return types.ResolveMarks(text, e) }

// domainOf gives the domain, or the array over one, that an oid is of, nil if it is none.
func (e *Env) domainOf(oid catalog.ID) *catalog.Type {
	if t := e.Catalog.Types[oid]; t != nil && t.Kind == catalog.DomainType {
		return t
	}
	return nil
}

// typeOID is the oid of a column's type: its domain's, if it is of one.
func typeOID(c catalog.Column) catalog.ID {
	if c.Domain != 0 {
		return c.Domain
	}
	return catalog.ID(c.Type.OID())
}

func enumRows(c *content) {
	c.columns("oid", "enumtypid", "enumsortorder", "enumlabel")
	for _, t := range c.cat.SortedTypes() {
		for _, l := range t.Labels {
			c.add(l.OID, t.ID, float64(float32(float64(l.Pos)/float64(types.EnumGap))), l.Name)
		}
	}
}

// userTypeRows adds the types that users made, with the row types of relations, and the arrays over them.
func userTypeRows(c *content) {
	c.columns("oid", "typname", "typnamespace", "typowner", "typlen", "typbyval", "typtype", "typcategory", "typisdefined", "typdelim",
		"typrelid", "typsubscript", "typelem", "typarray", "typinput", "typoutput", "typreceive", "typsend", "typanalyze", "typalign", "typstorage",
		"typnotnull", "typbasetype", "typtypmod", "typcollation", "typdefault", "typdefaultbin", "typacl")
	array := func(of catalog.ID, schema, name string, owner catalog.ID, align rune) {
		c.add(of|catalog.ID(types.ArrayOIDBit), "_"+name, c.env.schemaID(schema), owner, -1, false, 'b', 'A', true, ',',
			0, ioOID("array_subscript_handler"), of, 0, ioOID("array_in"), ioOID("array_out"), ioOID("array_recv"), ioOID("array_send"),
			ioOID("array_typanalyze"), align, 'x', false, 0, -1, 0, nil, nil, nil)
	}
	for _, t := range c.cat.SortedTypes() {
		owner := roleID(t.Owner)
		switch t.Kind {
		case catalog.EnumType:
			c.add(t.ID, t.Name, c.env.schemaID(t.Schema), owner, 4, true, 'e', 'E', true, ',',
				0, 0, 0, t.ArrayOID(), ioOID("enum_in"), ioOID("enum_out"), ioOID("enum_recv"), ioOID("enum_send"),
				0, 'i', 'p', false, 0, -1, 0, nil, nil, aclText(t.ACL))
			array(t.ID, t.Schema, t.Name, owner, 'i')
		case catalog.CompositeType:
			c.add(t.ID, t.Name, c.env.schemaID(t.Schema), owner, -1, false, 'c', 'C', true, ',',
				compositeRelID(t.ID), 0, 0, t.ArrayOID(), ioOID("record_in"), ioOID("record_out"), ioOID("record_recv"), ioOID("record_send"),
				0, 'd', 'x', false, 0, -1, 0, nil, nil, aclText(t.ACL))
			array(t.ID, t.Schema, t.Name, owner, 'd')
		case catalog.DomainType:
			_, out, _, send := ioNames(t.Base.Kind)
			switch {
			case t.Base.Kind == types.Array:
				out, send = "array_out", "array_send"
			case t.Base.Kind.IsEnum():
				out, send = "enum_out", "enum_send"
			case t.Base.Kind.IsComposite():
				out, send = "record_out", "record_send"
			}
			base := catalog.ID(t.Base.OID())
			if t.Over != 0 {
				base = t.Over
			}
			var def any
			if t.Default != "" {
				def = t.Default
			}
			mod := t.Base.Mod
			if t.Base.IsVector() {
				mod = -1
			}
			c.add(t.ID, t.Name, c.env.schemaID(t.Schema), owner, t.Base.Len(), byValue(t.Base), 'd', rune(t.Base.Category()), true, ',',
				0, 0, 0, 0, ioOID("domain_in"), ioOID(out), ioOID("domain_recv"), ioOID(send),
				0, alignOf(t.Base), storageOf(t.Base), t.NotNull, base, mod, collationOf(t.Base), def, def, aclText(t.ACL))
		}
	}
	for _, r := range c.cat.Sorted() {
		if !r.HasRowType() {
			continue
		}
		id := catalog.ID(r.RowType().OID())
		c.add(id, r.Name, c.env.schemaID(r.Schema), roleID(r.Owner), -1, false, 'c', 'C', true, ',',
			r.ID, 0, 0, id|catalog.ID(types.ArrayOIDBit), ioOID("record_in"), ioOID("record_out"), ioOID("record_recv"), ioOID("record_send"),
			0, 'd', 'x', false, 0, -1, 0, nil, nil, nil)
		array(id, r.Schema, r.Name, roleID(r.Owner), 'd')
	}
}

// compositeRelID is the oid of the entry in pg_class of a composite type.
func compositeRelID(id catalog.ID) catalog.ID { return id | catalog.ID(types.RowOIDBit) }

// userTypeNamed resolves the parts of a type's name.
func (e *Env) userTypeNamed(parts []string, dims int) (oid catalog.ID, ok bool) {
	name := parts[len(parts)-1]
	path := e.SearchPath
	if len(parts) > 1 {
		path = parts[len(parts)-2 : len(parts)-1]
	}
	find := func(name string) (catalog.ID, bool) {
		for _, s := range path {
			if t := e.Catalog.TypeNamed(s, name); t != nil {
				return t.ID, true
			}
			if r := e.Catalog.Relation(s, name); r != nil && r.HasRowType() {
				return catalog.ID(r.RowType().OID()), true
			}
		}
		return 0, false
	}
	oid, ok = find(name)
	if rest, under := strings.CutPrefix(name, "_"); !ok && under && dims == 0 {
		if oid, ok = find(rest); ok {
			dims = 1
		}
	}
	if ok && dims > 0 {
		if e.domainOf(oid) != nil {
			return 0, false
		}
		oid |= catalog.ID(types.ArrayOIDBit)
	}
	return oid, ok
}

// formatUserType is format_type for the types of users, false if the oid is of none.
func (e *Env) formatUserType(oid catalog.ID) (string, bool) {
	if d := e.domainOf(oid); d != nil {
		return e.typeName(d.Schema, d.Name), true
	}
	if u := e.UserTypeByOID(uint32(oid)); u != nil {
		return e.typeName(u.Schema, u.Name), true
	}
	if of := oid &^ catalog.ID(types.ArrayOIDBit); of != oid {
		if u := e.UserTypeByOID(uint32(of)); u != nil && e.domainOf(of) == nil {
			return e.typeName(u.Schema, u.Name) + "[]", true
		}
	}
	return "", false
}

// userTypeVisible is pg_type_is_visible for the types of users, false if the oid is of none.
func (e *Env) userTypeVisible(oid catalog.ID) (visible, ok bool) {
	of := oid &^ catalog.ID(types.ArrayOIDBit)
	if t := e.Catalog.Types[of]; t != nil {
		return e.typeVisible(t.Schema, t.Name), true
	}
	if u := e.UserTypeByOID(uint32(of)); u != nil {
		return e.typeVisible(u.Schema, u.Name), true
	}
	return false, false
}
