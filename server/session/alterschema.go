package session

import (
	"fmt"
	"maps"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// plpgsqlExtension is the one extension that every PostgreSQL has. Dumps name it, and there is nothing to do for it: what needs it is a
// function, which is refused.
const plpgsqlExtension = "plpgsql"

func (d *definer) createExtension(st *ast.CreateExtension) error {
	if st.Name != plpgsqlExtension {
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "extension \"%s\" is not available", st.Name)
	}
	if !st.IfNotExists {
		return sqlerr.Newf(sqlerr.DuplicateObject, "extension \"%s\" already exists", st.Name)
	}
	d.s.notice(sqlerr.DuplicateObject, fmt.Sprintf("extension \"%s\" already exists, skipping", st.Name))
	return nil
}

func (d *definer) commentExtension(st *ast.Comment) error {
	if n := st.Name.Parts[0]; n != plpgsqlExtension {
		return sqlerr.Newf(sqlerr.UndefinedObject, "extension \"%s\" does not exist", n)
	}
	return nil
}

// alterSchema is ALTER SCHEMA.
func (d *definer) alterSchema(st *ast.Alter) error {
	name := strings.Join(st.Name.Parts, ".")
	s, ok := d.cat.Schemas[name]
	if !ok {
		return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
	}
	if err := d.owner("schema", name, s.Owner); err != nil {
		return err
	}
	switch st.Action {
	case "owner":
		to, err := d.resolve(st.NewName)
		if err != nil {
			return err
		}
		if user := d.s.user(); !d.s.trusted(d.cat, user) && !d.cat.IsMember(user, to, false) {
			return sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be member of role \"%s\"", to)
		}
		s.ACL, s.Owner = s.ACL.WithOwner(catalog.OwnerName(s.Owner), to), to
		return d.to().Change(d.ctx, func(c *catalog.Catalog) { c.Schemas[name] = s })
	case "rename":
		if d.cat.HasSchema(st.NewName) {
			return sqlerr.Newf(sqlerr.DuplicateSchema, "schema \"%s\" already exists", st.NewName)
		}
		if strings.HasPrefix(st.NewName, "pg_") {
			return sqlerr.Newf(sqlerr.ReservedName, "unacceptable schema name \"%s\"", st.NewName).
				WithDetail("The prefix \"pg_\" is reserved for system schemas.")
		}
		used := len(d.cat.RelationNames(name)) > 0
		for _, f := range d.cat.Functions {
			used = used || f.Schema == name
		}
		for _, t := range d.cat.Types {
			used = used || t.Schema == name
		}
		if used || name == catalog.PublicSchema {
			return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "ALTER SCHEMA ... RENAME of a schema with objects is not supported yet")
		}
		s.Name = st.NewName
		return d.to().Change(d.ctx, func(c *catalog.Catalog) {
			delete(c.Schemas, name)
			c.Schemas[s.Name] = s
		})
	}
	return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "this form of ALTER SCHEMA is not supported yet")
}

func commentText(st *ast.Comment) string {
	if st.Text == nil {
		return ""
	}
	return *st.Text
}

func (d *definer) commentConstraint(st *ast.Comment) error {
	r, err := d.findNamed(st.Name, false)
	if err != nil {
		return err
	}
	if err := d.owner(kindWord(r.Kind), r.Name, r.Owner); err != nil {
		return err
	}
	if !hasConstraint(r, st.Column) {
		return sqlerr.Newf(sqlerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", st.Column, r.Name)
	}
	c := *r
	if c.ConstraintComments = maps.Clone(r.ConstraintComments); c.ConstraintComments == nil {
		c.ConstraintComments = map[string]string{}
	}
	if c.ConstraintComments[st.Column] = commentText(st); st.Text == nil {
		delete(c.ConstraintComments, st.Column)
	}
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.Put(&c) })
}
