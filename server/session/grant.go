package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// grant runs GRANT and REVOKE.
func (d *definer) grant(st *ast.Grant) error {
	var roles []string
	for _, n := range st.Roles {
		if n == "" {
			roles = append(roles, "")
			continue
		}
		r, err := d.resolve(n)
		if err != nil {
			return err
		}
		roles = append(roles, r)
	}
	if st.Kind == "" {
		return d.grantRoles(st, roles)
	}
	if st.Option && !st.Revoke && slices.Contains(roles, "") {
		return sqlerr.Newf(sqlerr.InvalidGrantOperation, "grant options can only be granted to roles")
	}
	all := catalog.OnRelation
	switch st.Kind {
	case "schema":
		all = catalog.OnSchema
	case "database":
		all = catalog.Create | catalog.Connect | catalog.Temporary
	case "sequence", "all sequences in schema":
		all = catalog.OnSequence
	case "function", "all functions in schema":
		all = catalog.OnFunction
	}
	privs := all
	if len(st.Privileges) > 0 {
		privs = 0
		for _, n := range st.Privileges {
			p, ok := catalog.PrivilegeNamed(n)
			if !ok {
				return sqlerr.Newf(sqlerr.SyntaxError, "unrecognized privilege type \"%s\"", n)
			}
			if p&all == 0 {
				kind := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(st.Kind, " in schema"), "all "), "s")
				if kind == "table" {
					kind = "relation"
				}
				return sqlerr.Newf(sqlerr.InvalidGrantOperation, "invalid privilege type %s for %s", strings.ToUpper(n), kind)
			}
			privs |= p
		}
	}
	switch st.Kind {
	case "schema":
		return d.grantSchemas(st, roles, privs)
	case "database":
		// Everybody who may log in may use the one database: there is nothing to give or take.
		for _, n := range st.Names {
			if n.Parts[0] != Database {
				return sqlerr.Newf(sqlerr.InvalidCatalogName, "database \"%s\" does not exist", strings.Join(n.Parts, "."))
			}
		}
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "privileges on the database are not supported")
	case "function", "all functions in schema":
		return d.grantFunctions(st, roles, privs)
	}
	rels, err := d.grantTargets(st)
	if err != nil {
		return err
	}
	changed := map[catalog.ID]catalog.ACL{}
	for _, r := range rels {
		on, privs := catalog.OnRelation, privs
		if r.Seq != nil {
			on = catalog.OnSequence
			if all == catalog.OnRelation {
				// As in PostgreSQL, GRANT ... ON TABLE means a sequence as well, and what it does not have is left out.
				if privs&^on != 0 && len(st.Privileges) > 0 {
					d.s.warn(sqlerr.Warning, fmt.Sprintf("sequence \"%s\" only supports USAGE, SELECT, and UPDATE privileges", r.Name), "")
				}
				if privs &= on; len(st.Privileges) == 0 {
					privs = on
				}
			}
		}
		acl, err := d.changeACL(st, roles, privs, r.Owner, r.ACL, kindWord(r.Kind), r.Name, on)
		if err != nil {
			return err
		}
		changed[r.ID] = acl
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) {
		for id, acl := range changed {
			x := *c.RelationByID(id)
			x.ACL = acl
			c.Put(&x)
		}
	})
}

// grantTargets finds the relations of a GRANT.
func (d *definer) grantTargets(st *ast.Grant) ([]*catalog.Relation, error) {
	var rels []*catalog.Relation
	for _, n := range st.Names {
		if st.Kind == "all tables in schema" || st.Kind == "all sequences in schema" {
			name := strings.Join(n.Parts, ".")
			if !d.cat.HasSchema(name) {
				return nil, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
			}
			for _, r := range d.cat.Sorted() {
				if r.Schema == name && r.Kind != catalog.Index && r.Kind != catalog.Sink && (r.Seq != nil) == (st.Kind == "all sequences in schema") {
					rels = append(rels, r)
				}
			}
			continue
		}
		schema, name, err := d.qualify(n, false)
		if err != nil {
			return nil, err
		}
		r := d.cat.Relation(schema, name)
		switch {
		case r == nil:
			return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation \"%s\" does not exist", strings.Join(n.Parts, "."))
		case r.Kind == catalog.Index:
			return nil, sqlerr.Newf(sqlerr.WrongObjectType, "\"%s\" is an index", r.Name)
		case st.Kind == "sequence" && r.Seq == nil:
			return nil, sqlerr.Newf(sqlerr.WrongObjectType, "\"%s\" is not a sequence", r.Name)
		}
		rels = append(rels, r)
	}
	return rels, nil
}

// changeACL computes the privileges on an object after a GRANT or REVOKE. all are those that there are on it.
func (d *definer) changeACL(st *ast.Grant, roles []string, privs catalog.Privileges, owner string, acl catalog.ACL, kind, name string, all catalog.Privileges) (catalog.ACL, error) {
	user, owner := d.s.user(), catalog.OwnerName(owner)
	grantor := owner
	if !d.s.trusted(d.cat, user) && !d.cat.IsMember(user, owner, true) {
		// Somebody who was given the right to give.
		has, may := d.cat.Allowed(user, owner, acl, privs)
		if gone(d.cat, user) {
			has, may = 0, 0
		}
		if may == 0 {
			if has == 0 || !st.Revoke {
				return nil, sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for %s %s", kind, name)
			}
		}
		if may != privs {
			verb := "granted"
			if st.Revoke {
				verb = "revoked"
			}
			what := "not all privileges were " + verb
			if may == 0 {
				what = "no privileges were " + verb
			}
			d.s.warn(sqlerr.Warning, fmt.Sprintf("%s for \"%s\"", what, name), "")
		}
		privs, grantor = may, user
	}
	if !st.Revoke {
		for _, r := range roles {
			it := catalog.ACLItem{Grantee: r, Grantor: grantor, Privs: privs}
			if st.Option {
				it.Grantable = privs
			}
			acl = withOwner(acl, owner, all).Grant(it)
		}
		return acl, nil
	}
	for _, r := range roles {
		if acl == nil && r != owner && !(kind == "schema" && name == catalog.PublicSchema) && kind != "function" {
			continue // he has nothing
		}
		if r != "" && !st.Cascade && slices.ContainsFunc(acl, func(it catalog.ACLItem) bool { return it.Grantor == r && r != owner && it.Privs&privs != 0 }) {
			return nil, sqlerr.Newf(sqlerr.DependentObjectsStillExist, "dependent privileges exist").
				WithHint("Use CASCADE to revoke them too.")
		}
		acl = withOwner(acl, owner, all).Revoke(r, grantor, privs, st.Option)
		if st.Cascade && r != owner {
			acl = withoutGrantor(acl, r, privs)
		}
	}
	return acl, nil
}

// withoutGrantor takes away what grantor has given, and what those have given on.
func withoutGrantor(acl catalog.ACL, grantor string, privs catalog.Privileges) catalog.ACL {
	for _, it := range slices.Clone(acl) {
		if it.Grantor == grantor && it.Grantee != grantor && it.Privs&privs != 0 {
			acl = withoutGrantor(acl.Revoke(it.Grantee, grantor, privs, false), it.Grantee, privs)
		}
	}
	return acl
}

// withOwner begins an ACL with what the owner has, as PostgreSQL does with the first GRANT or REVOKE.
func withOwner(acl catalog.ACL, owner string, all catalog.Privileges) catalog.ACL {
	if acl != nil {
		return acl
	}
	return catalog.ACL{{Grantee: owner, Grantor: owner, Privs: all}}
}

func (d *definer) grantSchemas(st *ast.Grant, roles []string, privs catalog.Privileges) error {
	changed := map[string]catalog.ACL{}
	for _, n := range st.Names {
		name := strings.Join(n.Parts, ".")
		s, ok := d.cat.Schemas[name]
		if !ok {
			return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
		}
		acl := s.ACL
		if acl == nil && name == catalog.PublicSchema {
			owner := catalog.OwnerName(s.Owner)
			acl = withOwner(nil, owner, catalog.OnSchema).Grant(catalog.ACLItem{Grantor: owner, Privs: catalog.Usage})
		}
		acl, err := d.changeACL(st, roles, privs, s.Owner, acl, "schema", name, catalog.OnSchema)
		if err != nil {
			return err
		}
		changed[name] = acl
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) {
		for n, acl := range changed {
			s := c.Schemas[n]
			s.ACL = acl
			c.Schemas[n] = s
		}
	})
}

// grantRoles makes roles members of others, or no members any more.
func (d *definer) grantRoles(st *ast.Grant, members []string) error {
	for _, n := range st.Privileges {
		r, err := d.resolve(n)
		if err != nil {
			return err
		}
		if err := d.mayGrantRole(r); err != nil {
			return err
		}
		for _, m := range members {
			switch {
			case m == "":
				return sqlerr.Newf(sqlerr.InvalidGrantOperation, "roles cannot be granted to PUBLIC")
			case !st.Revoke && d.cat.IsMember(r, m, false):
				return sqlerr.Newf(sqlerr.InvalidGrantOperation, "role \"%s\" is a member of role \"%s\"", r, m)
			}
		}
	}
	return d.changeRoles(func(roles map[string]catalog.Role) {
		for _, of := range st.Privileges {
			for _, m := range members {
				r := roles[m]
				switch {
				case !st.Revoke:
					r = withMembership(r, catalog.Membership{Role: of, Admin: st.Option, Grantor: d.s.user()})
				case st.Option:
					r.MemberOf = slices.Clone(r.MemberOf)
					for i := range r.MemberOf {
						r.MemberOf[i].Admin = r.MemberOf[i].Admin && r.MemberOf[i].Role != of
					}
				default:
					r = withoutMembership(r, of)
				}
				roles[m] = r
			}
		}
	})
}

func (d *definer) mayGrantRole(name string) error {
	user := d.s.user()
	if d.s.trusted(d.cat, user) {
		return nil
	}
	of, _ := d.cat.Role(name)
	r, _ := d.cat.Role(user)
	if of.Superuser {
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be superuser to alter superusers")
	}
	if r.CreateRole || slices.ContainsFunc(r.MemberOf, func(m catalog.Membership) bool { return m.Role == name && m.Admin }) {
		return nil
	}
	return sqlerr.Newf(sqlerr.InsufficientPrivilege, "must have admin option on role \"%s\"", name)
}

// reassign runs REASSIGN OWNED and DROP OWNED.
func (d *definer) reassign(ctx context.Context, st *ast.Reassign) error {
	from := map[string]bool{}
	for _, n := range st.Roles {
		r, err := d.resolve(n)
		if err != nil {
			return err
		}
		if !d.s.trusted(d.cat, d.s.user()) && !d.cat.IsMember(d.s.user(), r, true) {
			return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied to reassign objects")
		}
		from[r] = true
	}
	if st.To != "" {
		to, err := d.resolve(st.To)
		if err != nil {
			return err
		}
		return d.to().Change(d.ctx, func(c *catalog.Catalog) {
			for _, r := range c.Sorted() {
				if from[catalog.OwnerName(r.Owner)] {
					x := *r
					x.Owner, x.ACL = to, r.ACL.WithOwner(catalog.OwnerName(r.Owner), to)
					c.Put(&x)
				}
			}
			for _, f := range c.SortedFunctions() {
				if from[catalog.OwnerName(f.Owner)] {
					x := *f
					x.Owner, x.ACL = to, f.ACL.WithOwner(catalog.OwnerName(f.Owner), to)
					c.PutFunction(&x)
				}
			}
			for k, s := range c.Schemas {
				if from[s.Owner] {
					s.ACL = s.ACL.WithOwner(s.Owner, to)
					s.Owner = to
					c.Schemas[k] = s
				}
			}
		})
	}
	named := map[catalog.ID]*catalog.Relation{}
	for _, r := range d.cat.Sorted() {
		if from[catalog.OwnerName(r.Owner)] {
			named[r.ID] = r
		}
	}
	var functions []*catalog.Function
	for _, f := range d.cat.SortedFunctions() {
		if from[catalog.OwnerName(f.Owner)] {
			functions = append(functions, f)
		}
	}
	if err := d.dropWithFunctions(ctx, named, functions, st.Cascade); err != nil {
		return err
	}
	drop := func(a catalog.ACL) catalog.ACL {
		return slices.DeleteFunc(slices.Clone(a), func(it catalog.ACLItem) bool { return from[it.Grantee] })
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) {
		for _, r := range c.Sorted() {
			if len(drop(r.ACL)) != len(r.ACL) {
				x := *r
				x.ACL = drop(r.ACL)
				c.Put(&x)
			}
		}
		for _, f := range c.SortedFunctions() {
			if len(drop(f.ACL)) != len(f.ACL) {
				x := *f
				x.ACL = drop(f.ACL)
				c.PutFunction(&x)
			}
		}
		for k, s := range c.Schemas {
			s.ACL = drop(s.ACL)
			c.Schemas[k] = s
		}
	})
}
