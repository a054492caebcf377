package catalog

import (
	"sort"

	"github.com/weirdb/weir/sql/types"
)

// The kinds of types that users make; the values are stored.
const (
	EnumType      = "enum"
	CompositeType = "composite"
	DomainType    = "domain"
)

// Type is a type that a user made: an enum, a composite type or a domain.
type Type struct {
	ID                  ID
	Schema, Name, Owner string
	// Kind is one of the constants above.
	Kind string
	ACL  ACL `json:",omitempty"`
	// Labels are those of an enum, in their order.
	Labels []types.EnumLabel `json:",omitempty"`
	// Attrs are the columns of a composite type.
	Attrs []types.Attr `json:",omitempty"`
	// Base is what the values of a domain are. Over is the domain that it was made over, if it was; its constraints hold too.
	Base types.Type `json:",omitzero"`
	Over ID         `json:",omitempty"`
	// NotNull, Default (SQL text) and Checks are those of a domain; a check calls the value VALUE.
	NotNull bool    `json:",omitempty"`
	Default string  `json:",omitempty"`
	Checks  []Check `json:",omitempty"`
	Comment string  `json:",omitempty"`
	// CheckComments by the name of the constraint.
	CheckComments map[string]string `json:",omitempty"`
}

// Type is the type of the values: of a domain that of its base.
func (t *Type) Type() types.Type {
	switch t.Kind {
	case EnumType:
		return types.T(types.EnumKind(uint32(t.ID)))
	case CompositeType:
		return types.T(types.CompositeKind(uint32(t.ID)))
	}
	return t.Base
}

// ArrayOID is the oid of the array over the type.
func (t *Type) ArrayOID() ID { return t.ID | ID(types.ArrayOIDBit) }

func (t *Type) described() *types.UserType {
	return &types.UserType{Kind: t.Type().Kind, Schema: t.Schema, Name: t.Name, Labels: t.Labels, Attrs: t.Attrs}
}

// RowType is the type of the rows of a relation, for which there is one if HasRowType.
func (r *Relation) RowType() types.Type {
	return types.T(types.CompositeKind(uint32(r.ID) | types.RowOIDBit))
}

// HasRowType tells whether the rows of a relation are a type.
func (r *Relation) HasRowType() bool {
	switch r.Kind {
	case Table, View, MatView, Source:
		return true
	}
	return false
}

func (r *Relation) described() *types.UserType {
	u := &types.UserType{Kind: r.RowType().Kind, Schema: r.Schema, Name: r.Name}
	for _, c := range r.Columns {
		if !c.Hidden {
			u.Attrs = append(u.Attrs, types.Attr{Name: c.Name, Type: c.Type})
		}
	}
	return u
}

// TypeNamed finds a type by schema and name, nil if there is none.
func (c *Catalog) TypeNamed(schema, name string) *Type { return c.typeNames[[2]string{schema, name}] }

// SortedTypes lists all types by id.
func (c *Catalog) SortedTypes() []*Type {
	ts := make([]*Type, 0, len(c.Types))
	for _, t := range c.Types {
		ts = append(ts, t)
	}
	sort.Slice(ts, func(i, j int) bool { return ts[i].ID < ts[j].ID })
	return ts
}

// PutType adds or replaces a type.
func (c *Catalog) PutType(t *Type) {
	if c.Types == nil {
		c.Types = map[ID]*Type{}
	}
	c.Types[t.ID] = t
	c.listTypes()
}

// RemoveType deletes a type.
func (c *Catalog) RemoveType(id ID) {
	delete(c.Types, id)
	c.listTypes()
}

func (c *Catalog) listTypes() {
	c.typeNames = make(map[[2]string]*Type, len(c.Types))
	c.described = make(map[types.Kind]*types.UserType, len(c.Types))
	for _, t := range c.Types {
		c.typeNames[[2]string{t.Schema, t.Name}] = t
		if t.Kind != DomainType {
			u := t.described()
			c.described[u.Kind] = u
		}
	}
}

// UserType describes a type; nil if there is none of that kind. With UserTypeByOID and UserTypeName a Catalog is types.UserTypes.
func (c *Catalog) UserType(k types.Kind) *types.UserType {
	if u := c.described[k]; u != nil {
		return u
	}
	if oid := k.OID(); k.IsComposite() && oid&types.RowOIDBit != 0 {
		if r := c.Relations[ID(oid&^types.RowOIDBit)]; r != nil && r.HasRowType() {
			return r.described()
		}
	}
	return nil
}

// UserTypeByOID finds a type by its oid; a domain is its base type if that is one that somebody made.
func (c *Catalog) UserTypeByOID(oid uint32) *types.UserType {
	if oid&types.RowOIDBit != 0 {
		return c.UserType(types.CompositeKind(oid))
	}
	if t := c.Types[ID(oid)]; t != nil {
		return c.UserType(t.Type().Kind)
	}
	return nil
}

// UserTypeName is the name of a type, with its schema unless that is public.
func (c *Catalog) UserTypeName(k types.Kind) string {
	u := c.UserType(k)
	switch {
	case u == nil:
		return "???"
	case u.Schema == PublicSchema:
		return u.Name
	}
	return u.Schema + "." + u.Name
}

// Domains lists a domain and those that it was made over, the last first: in this order they are checked.
func (c *Catalog) Domains(id ID) []*Type {
	var ds []*Type
	for t := c.Types[id]; t != nil; t = c.Types[t.Over] {
		ds = append([]*Type{t}, ds...)
		if t.Over == 0 {
			break
		}
	}
	return ds
}
