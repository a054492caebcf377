package syscat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// role gives a role by name. Who is no role and has connected all the same is a superuser.
func (e *Env) role(name string) catalog.Role {
	if r, ok := e.Catalog.Role(name); ok {
		return r
	}
	return catalog.Role{Name: name, Superuser: true, CreateRole: true, CreateDB: true, Login: true, BypassRLS: true}
}

func (e *Env) connLimit(r catalog.Role) int {
	if r.ConnLimit == nil {
		return -1
	}
	return *r.ConnLimit
}

// validUntil gives the end of a password's validity as a value.
func (e *Env) validUntil(r catalog.Role) any {
	if r.ValidUntil == "" {
		return nil
	}
	d, err := types.ParseText(types.T(types.Timestamptz), r.ValidUntil, &types.Env{})
	if err != nil {
		return nil
	}
	return timestamp(types.ToGoTime(d.I))
}

func authidRows(c *content) {
	c.columns("oid", "rolname", "rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication",
		"rolbypassrls", "rolconnlimit", "rolpassword", "rolvaliduntil")
	for _, n := range c.env.roles() {
		r := c.env.role(n)
		c.add(roleID(n), n, r.Superuser, !r.NoInherit, r.CreateRole, r.CreateDB, r.Login, r.Replication, r.BypassRLS,
			c.env.connLimit(r), orNull(r.Password), c.env.validUntil(r))
	}
}

func rolesRows(c *content) {
	c.columns("oid", "rolname", "rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication",
		"rolbypassrls", "rolconnlimit", "rolpassword", "rolvaliduntil")
	for _, n := range c.env.roles() {
		r := c.env.role(n)
		c.add(roleID(n), n, r.Superuser, !r.NoInherit, r.CreateRole, r.CreateDB, r.Login, r.Replication, r.BypassRLS,
			c.env.connLimit(r), "********", c.env.validUntil(r))
	}
}

func userRows(c *content) { c.users("********") }

func shadowRows(c *content) { c.users("") }

// users lists the roles that log in; password hides theirs unless it is "".
func (c *content) users(password string) {
	c.columns("usename", "usesysid", "usecreatedb", "usesuper", "userepl", "usebypassrls", "passwd", "valuntil")
	for _, n := range c.env.roles() {
		if r := c.env.role(n); r.Login {
			p := orNull(password)
			if password == "" {
				p = orNull(r.Password)
			}
			c.add(n, roleID(n), r.CreateDB, r.Superuser, r.Replication, r.BypassRLS, p, c.env.validUntil(r))
		}
	}
}

// members lists the direct members of a role.
func (e *Env) members(of string) []string {
	var names []string
	for _, r := range e.Catalog.RoleList() {
		if slices.ContainsFunc(r.MemberOf, func(m catalog.Membership) bool { return m.Role == of }) {
			names = append(names, r.Name)
		}
	}
	return names
}

func groupRows(c *content) {
	c.columns("groname", "grosysid", "grolist")
	for _, n := range c.env.roles() {
		if c.env.role(n).Login {
			continue
		}
		ids := []uint32{}
		for _, m := range c.env.members(n) {
			ids = append(ids, uint32(roleID(m)))
		}
		c.add(n, roleID(n), ids)
	}
}

func authMembersRows(c *content) {
	c.columns("roleid", "member", "grantor", "admin_option")
	for _, r := range c.env.Catalog.RoleList() {
		for _, m := range r.MemberOf {
			c.add(roleID(m.Role), roleID(r.Name), roleID(m.Grantor), m.Admin)
		}
	}
}

// aclText is an ACL as PostgreSQL shows it; NULL if nobody has changed it.
func aclText(acl catalog.ACL) any {
	if acl == nil {
		return nil
	}
	out := []string{}
	for _, it := range acl {
		out = append(out, it.String())
	}
	return out
}

// privileges: pg_get_userbyid, pg_has_role, has_*_privilege.
func (t implTable) privileges() {
	t.set(func(c *call) (types.Datum, error) {
		if n, ok := c.roleName(c.oid(0)); ok {
			return types.DStr(n), nil
		}
		return types.DStr("unknown (OID=" + strconv.FormatUint(uint64(c.oid(0)), 10) + ")"), nil
	}, "pg_get_userbyid(oid)")
	t.hasRole()
	t.hasRelationPrivilege()
	t.hasSchemaPrivilege()
	t.functionPrivileges()
	yes := types.DBool(true)
	for _, n := range []string{"database", "type", "language"} {
		n = "has_" + n + "_privilege"
		t.always(yes, n+"(text,text)", n+"(oid,text)", n+"(name,text,text)", n+"(name,oid,text)")
	}
	for _, n := range []string{"tablespace", "server", "foreign_data_wrapper"} {
		n = "has_" + n + "_privilege"
		t.always(yes, n+"(text,text)", n+"(oid,text)")
	}
	t.set(aclDefault, "acldefault(char,oid)")
	t.always(types.DBool(false), "row_security_active(oid)", "row_security_active(text)")
}

func (t implTable) hasRole() {
	has := func(c *call, user, of string, option string) (types.Datum, error) {
		if strings.HasPrefix(of, "pg_") {
			// One of PostgreSQL's own roles: superusers have what it stands for, and nobody else.
			return types.DBool(c.Catalog.Trusted(user)), nil
		}
		if !slices.Contains(c.roles(), of) {
			return types.Null, sqlerr.Newf(sqlerr.UndefinedObject, "role \"%s\" does not exist", of)
		}
		inherit := strings.HasPrefix(strings.ToUpper(option), "USAGE")
		return types.DBool(c.Catalog.Trusted(user) || c.Catalog.IsMember(user, of, inherit)), nil
	}
	byID := func(c *call, at int) string {
		n, _ := c.roleName(c.oid(at))
		return n
	}
	t.set(func(c *call) (types.Datum, error) { return has(c, c.User, c.text(0), c.text(1)) }, "pg_has_role(name,text)")
	t.set(func(c *call) (types.Datum, error) { return has(c, c.User, byID(c, 0), c.text(1)) }, "pg_has_role(oid,text)")
	t.set(func(c *call) (types.Datum, error) { return has(c, c.text(0), c.text(1), c.text(2)) }, "pg_has_role(name,name,text)")
	t.set(func(c *call) (types.Datum, error) { return has(c, c.text(0), byID(c, 1), c.text(2)) }, "pg_has_role(name,oid,text)")
}

// wanted reads the last argument of has_..._privilege: privileges separated by commas, of which one suffices, each
// with WITH GRANT OPTION or without.
func wanted(text string, allowed func(p catalog.Privileges) (has, grantable catalog.Privileges)) (types.Datum, error) {
	for _, w := range strings.Split(text, ",") {
		name := strings.ToUpper(strings.TrimSpace(w))
		name, option := strings.CutSuffix(name, " WITH GRANT OPTION")
		p, ok := catalog.PrivilegeNamed(strings.TrimSpace(name))
		if !ok {
			return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "unrecognized privilege type: \"%s\"", strings.TrimSpace(w))
		}
		has, grantable := allowed(p)
		if option {
			has = grantable
		}
		if has != 0 {
			return types.DBool(true), nil
		}
	}
	return types.DBool(false), nil
}

func (t implTable) hasRelationPrivilege() {
	check := func(c *call, user string, x *object, text string) (types.Datum, error) {
		return wanted(text, func(p catalog.Privileges) (catalog.Privileges, catalog.Privileges) {
			if theSystem().objects.byOID[x.oid] != nil {
				if c.Catalog.Trusted(user) || p == catalog.Select && x.name != "pg_authid" && x.name != "pg_shadow" {
					return p, 0
				}
				return 0, 0
			}
			var acl catalog.ACL
			if x.rel != nil {
				acl = x.rel.ACL
			}
			return c.Catalog.Allowed(user, x.owner, acl, p)
		})
	}
	// user at index u (or -1: the session's), the relation behind it, the privileges last.
	named := func(u int) impl {
		return func(c *call) (types.Datum, error) {
			x, err := c.findRelation(c.text(u + 1))
			if err != nil {
				return types.Null, err
			}
			return check(c, c.userAt(u), x, c.text(len(c.args)-1))
		}
	}
	numbered := func(u int) impl {
		return func(c *call) (types.Datum, error) {
			x := c.object(c.oid(u + 1))
			if x == nil {
				return types.Null, nil
			}
			return check(c, c.userAt(u), x, c.text(len(c.args)-1))
		}
	}
	for _, n := range []string{"has_table_privilege", "has_any_column_privilege", "has_sequence_privilege"} {
		t.set(named(-1), n+"(text,text)")
		t.set(named(0), n+"(name,text,text)")
		t.set(numbered(-1), n+"(oid,text)")
		t.set(numbered(0), n+"(name,oid,text)")
	}
	t.set(named(-1), "has_column_privilege(text,text,text)")
	t.set(named(0), "has_column_privilege(name,text,text,text)")
	t.set(numbered(-1), "has_column_privilege(oid,text,text)", "has_column_privilege(oid,int2,text)")
	t.set(numbered(0), "has_column_privilege(name,oid,int2,text)")
}

// userAt is the user that an argument names, or the session's.
func (c *call) userAt(i int) string {
	if i < 0 {
		return c.User
	}
	return c.text(i)
}

func (t implTable) hasSchemaPrivilege() {
	check := func(c *call, user string, s catalog.Schema, text string) (types.Datum, error) {
		return wanted(text, func(p catalog.Privileges) (catalog.Privileges, catalog.Privileges) {
			has, grantable := c.Catalog.AllowedOnSchema(user, s, p)
			if s.Name == pgCatalog || s.Name == infoSchema {
				has |= catalog.Usage & p
			}
			return has, grantable
		})
	}
	find := func(c *call, is func(catalog.Schema) bool) (catalog.Schema, bool) {
		ss := c.schemas()
		i := slices.IndexFunc(ss, is)
		if i < 0 {
			return catalog.Schema{}, false
		}
		return ss[i], true
	}
	named := func(u int) impl {
		return func(c *call) (types.Datum, error) {
			name := c.text(u + 1)
			s, ok := find(c, func(s catalog.Schema) bool { return s.Name == name })
			if !ok {
				return types.Null, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
			}
			return check(c, c.userAt(u), s, c.text(len(c.args)-1))
		}
	}
	numbered := func(u int) impl {
		return func(c *call) (types.Datum, error) {
			id := c.oid(u + 1)
			s, ok := find(c, func(s catalog.Schema) bool { return s.ID == id })
			if !ok {
				return types.Null, nil
			}
			return check(c, c.userAt(u), s, c.text(len(c.args)-1))
		}
	}
	t.set(named(-1), "has_schema_privilege(text,text)")
	t.set(named(0), "has_schema_privilege(name,text,text)")
	t.set(numbered(-1), "has_schema_privilege(oid,text)")
	t.set(numbered(0), "has_schema_privilege(name,oid,text)")
}
