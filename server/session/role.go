package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// The settings that say who the user is.
const (
	settingRole = "role"
	settingAuth = "session_authorization"
)

// sessionUser is who the session is of: whoever connected, or SET SESSION AUTHORIZATION.
func (s *session) sessionUser() string { return s.vars.get(settingAuth) }

// user is the current user: the session's, or SET ROLE.
func (s *session) user() string {
	if r := s.vars.get(settingRole); r != "none" {
		return r
	}
	return s.sessionUser()
}

// trusted tells whether the user may do everything. A user who was a role when he connected, and is none any
// more, may do nothing.
func (s *session) trusted(cat *catalog.Catalog, user string) bool {
	if _, ok := cat.Role(user); !ok {
		return s.noRole && user == s.login
	}
	return cat.Trusted(user)
}

// gone tells whether a user who is not trusted is no role any more. The catalog, which does not know sessions, takes every name that is no
// role for that of the owner of the machine.
func gone(cat *catalog.Catalog, user string) bool {
	_, ok := cat.Role(user)
	return !ok
}

// setUser checks and carries out SET ROLE and SET SESSION AUTHORIZATION; no value is RESET.
func (s *session) setUser(cat *catalog.Catalog, name string, values []string) error {
	who := s.login
	if name == settingRole {
		who = "none"
	}
	if len(values) > 0 && values[0] != "default" {
		who = values[0]
	}
	_, known := cat.Role(who)
	switch {
	case name == settingRole && who == "none", name == settingAuth && who == s.login:
	case !known:
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "role \"%s\" does not exist", who)
	case name == settingRole && !s.trusted(cat, s.sessionUser()) && !cat.IsMember(s.sessionUser(), who, false):
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied to set role \"%s\"", who)
	case name == settingAuth && !s.trusted(cat, s.login):
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied to set session authorization \"%s\"", who)
	}
	s.vars.put(name, who)
	if name == settingAuth {
		s.vars.put(settingRole, "none")
	}
	super := "off"
	if s.trusted(cat, s.user()) {
		super = "on"
	}
	s.vars.put("is_superuser", super)
	return nil
}

// authorize gives the check of the planner: every way to a relation leads through it.
func (s *session) authorize(cat *catalog.Catalog) func(*catalog.Relation, catalog.Privileges, string) error {
	return func(r *catalog.Relation, want catalog.Privileges, as string) error {
		user := as
		if as == "" {
			user = s.user()
			if s.trusted(cat, user) {
				return nil
			}
			if gone(cat, user) {
				return denied(r)
			}
		}
		if r.Kind == catalog.System {
			if secretRelations[r.Name] && !cat.Trusted(user) {
				return denied(r)
			}
			return nil
		}
		if sc, ok := cat.Schemas[r.Schema]; ok && !r.Temp {
			if has, _ := cat.AllowedOnSchema(user, sc, catalog.Usage); has == 0 {
				return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for schema %s", r.Schema)
			}
		}
		if has, _ := cat.Allowed(user, r.Owner, r.ACL, want); has != want {
			return denied(r)
		}
		return nil
	}
}

// secretRelations are the system relations that only superusers read.
var secretRelations = map[string]bool{"pg_authid": true, "pg_shadow": true, "pg_user_mapping": true, "pg_statistic": true}

func denied(r *catalog.Relation) error {
	kind := kindWord(r.Kind)
	if r.Kind == catalog.System {
		kind = "table"
	}
	return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for %s %s", kind, r.Name)
}

// owner refuses what only the owner of an object may do.
func (d *definer) owner(kind, name, owner string) error {
	if user := d.s.user(); d.s.trusted(d.cat, user) || !gone(d.cat, user) && d.cat.Owns(user, owner) {
		return nil
	}
	return sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be owner of %s %s", kind, name)
}

// mayCreate refuses to make objects in a schema in which the user may not.
func (d *definer) mayCreate(schema string) error {
	sc, ok := d.cat.Schemas[schema]
	if !ok || schema == d.cat.TempSchema || d.s.trusted(d.cat, d.s.user()) {
		return nil
	}
	if has, _ := d.cat.AllowedOnSchema(d.s.user(), sc, catalog.Create); has == 0 || gone(d.cat, d.s.user()) {
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for schema %s", schema)
	}
	return nil
}

// mayConnect refuses connectors to whom the server's files and network are not open.
func (d *definer) mayConnect() error {
	if d.s.trusted(d.cat, d.s.user()) {
		return nil
	}
	return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied to use a connector").
		WithHint("Only superusers may let the server read and write files and the network.")
}

// resolve gives the role that a statement names; CURRENT_USER and the like are names of such.
func (d *definer) resolve(name string) (string, error) {
	switch name {
	case "current_user", "current_role":
		return d.s.user(), nil
	case "session_user":
		return d.s.sessionUser(), nil
	}
	if _, ok := d.cat.Role(name); !ok {
		return "", sqlerr.Newf(sqlerr.UndefinedObject, "role \"%s\" does not exist", name)
	}
	return name, nil
}

// mayChangeRoles refuses CREATE, ALTER and DROP ROLE to whom they are not allowed; over a superuser, only a
// superuser has them.
func (d *definer) mayChangeRoles(over catalog.Role, what string) error {
	user := d.s.user()
	if d.s.trusted(d.cat, user) {
		return nil
	}
	r, _ := d.cat.Role(user)
	switch {
	case over.Superuser:
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be superuser to %s superusers", what)
	case !r.CreateRole && what == "drop":
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied to drop role")
	case !r.CreateRole && what == "create":
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied to create role")
	case !r.CreateRole:
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied")
	}
	return nil
}

func (d *definer) createRole(st *ast.CreateRole) error {
	if strings.HasPrefix(st.Name, "pg_") {
		return sqlerr.Newf(sqlerr.ReservedName, "role name \"%s\" is reserved", st.Name).
			WithDetail("Role names starting with \"pg_\" are reserved.")
	}
	r := catalog.Role{Name: st.Name, Login: st.User}
	members, err := d.roleOptions(&r, st.Options)
	if err != nil {
		return err
	}
	if err := d.mayChangeRoles(r, "create"); err != nil {
		return err
	}
	if _, ok := d.cat.Role(st.Name); ok {
		return sqlerr.Newf(sqlerr.DuplicateObject, "role \"%s\" already exists", st.Name)
	}

	return d.changeRoles(func(roles map[string]catalog.Role) {
		roles[r.Name] = r
		for _, m := range members {
			x := roles[m.Role]
			x.MemberOf = append(slices.Clone(x.MemberOf), catalog.Membership{Role: r.Name, Admin: m.Admin, Grantor: d.s.user()})
			roles[m.Role] = x
		}
	})
}

// changeRoles saves a change of the roles.
func (d *definer) changeRoles(change func(map[string]catalog.Role)) error {
	return d.to().Change(d.ctx, func(c *catalog.Catalog) {
		roles := maps.Clone(c.Roles)
		if roles == nil {
			roles = map[string]catalog.Role{}
		}
		if _, ok := roles[catalog.BootstrapRole]; !ok {
			roles[catalog.BootstrapRole], _ = c.Role(catalog.BootstrapRole)
		}
		change(roles)
		c.Roles = roles
	})
}

// roleOptions applies the options of CREATE or ALTER ROLE. members are the roles that become members of it.
func (d *definer) roleOptions(r *catalog.Role, opts []ast.RoleOption) (members []catalog.Membership, err error) {
	seen := map[string]bool{}
	for _, o := range opts {
		if seen[o.Name] {
			return nil, sqlerr.New(sqlerr.SyntaxError, o.Pos, "conflicting or redundant options")
		}
		seen[o.Name] = true
		switch o.Name {
		case "superuser":
			r.Superuser = o.On
		case "createdb":
			r.CreateDB = o.On
		case "createrole":
			r.CreateRole = o.On
		case "inherit":
			r.NoInherit = !o.On
		case "login":
			r.Login = o.On
		case "replication":
			r.Replication = o.On
		case "bypassrls":
			r.BypassRLS = o.On
		case "connection limit":
			n := o.Number
			if n < -1 {
				return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid connection limit: %d", n)
			}
			r.ConnLimit = &n
			if n == -1 {
				r.ConnLimit = nil
			}
		case "password":
			if r.Password, err = d.verifier(o.Value); err != nil {
				return nil, err
			}
		case "valid until":
			if _, err := types.ParseText(types.T(types.Timestamptz), *o.Value, d.s.typeEnv()); err != nil {
				return nil, err
			}
			r.ValidUntil = *o.Value
		case "in role":
			for _, n := range o.Roles {
				n, err := d.resolve(n)
				if err != nil {
					return nil, err
				}
				r.MemberOf = append(r.MemberOf, catalog.Membership{Role: n, Grantor: d.s.user()})
			}
		default: // role, admin
			for _, n := range o.Roles {
				n, err := d.resolve(n)
				if err != nil {
					return nil, err
				}
				members = append(members, catalog.Membership{Role: n, Admin: o.Name == "admin"})
			}
		}
	}
	return members, nil
}

// verifier makes what is stored of a password: a verifier stays what it is.
func (d *definer) verifier(password *string) (string, error) {
	if password == nil {
		return "", nil
	}
	if *password == "" {
		d.s.notice(sqlerr.SuccessfulCompletion, "empty string is not a valid password, clearing password")
		return "", nil
	}
	if v, ok := pgwire.ParseVerifier(*password); ok {
		return v.String(), nil
	}
	v, err := pgwire.NewVerifier(*password)
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	return v.String(), nil
}

func (d *definer) alterRole(st *ast.AlterRole) error {
	name, err := d.resolve(st.Name)
	if err != nil {
		return err
	}
	r, _ := d.cat.Role(name)
	own := name == d.s.user() && len(st.Options) == 1 && st.Options[0].Name == "password"
	if err := d.mayChangeRoles(r, "alter"); err != nil && !own {
		return err
	}
	was := r
	if _, err := d.roleOptions(&r, st.Options); err != nil {
		return err
	}
	if r.Superuser && !was.Superuser {
		if err := d.mayChangeRoles(r, "alter"); err != nil {
			return err
		}
	}
	if name == catalog.BootstrapRole && (!r.Superuser || st.NewName != "") {
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "the bootstrap role stays a superuser and keeps its name")
	}
	if st.NewName != "" {
		return d.renameRole(r, st.NewName)
	}
	for _, n := range append(slices.Clone(st.Add), st.Remove...) {
		if _, err := d.resolve(n); err != nil {
			return err
		}
	}
	return d.changeRoles(func(roles map[string]catalog.Role) {
		roles[name] = r
		for _, n := range st.Add {
			roles[n] = withMembership(roles[n], catalog.Membership{Role: name, Grantor: d.s.user()})
		}
		for _, n := range st.Remove {
			roles[n] = withoutMembership(roles[n], name)
		}
	})
}

func withMembership(r catalog.Role, m catalog.Membership) catalog.Role {
	r.MemberOf = slices.Clone(r.MemberOf)
	for i := range r.MemberOf {
		if r.MemberOf[i].Role == m.Role {
			r.MemberOf[i].Admin = r.MemberOf[i].Admin || m.Admin
			return r
		}
	}
	r.MemberOf = append(r.MemberOf, m)
	return r
}

func withoutMembership(r catalog.Role, of string) catalog.Role {
	r.MemberOf = slices.DeleteFunc(slices.Clone(r.MemberOf), func(m catalog.Membership) bool { return m.Role == of })
	return r
}

// renameRole renames a role wherever it is named.
func (d *definer) renameRole(r catalog.Role, to string) error {
	if _, ok := d.cat.Role(to); ok {
		return sqlerr.Newf(sqlerr.DuplicateObject, "role \"%s\" already exists", to)
	}
	if r.Name == d.s.sessionUser() {
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "session user cannot be renamed")
	}
	from := r.Name
	return d.rewriteRoles(func(n string) string {
		if n == from {
			return to
		}
		return n
	}, func(roles map[string]catalog.Role) {
		delete(roles, from)
		r.Name = to
		roles[to] = r
	})
}

// rewriteRoles gives owners, grantees and grantors other names.
func (d *definer) rewriteRoles(name func(string) string, then func(map[string]catalog.Role)) error {
	return d.to().Change(d.ctx, func(c *catalog.Catalog) {
		acl := func(a catalog.ACL) catalog.ACL {
			a = slices.Clone(a)
			for i := range a {
				a[i].Grantee, a[i].Grantor = name(a[i].Grantee), name(a[i].Grantor)
			}
			return a
		}
		for _, r := range c.Sorted() {
			x := *r
			x.Owner, x.ACL = name(r.Owner), acl(r.ACL)
			c.Put(&x)
		}
		for k, s := range c.Schemas {
			s.Owner, s.ACL = name(s.Owner), acl(s.ACL)
			c.Schemas[k] = s
		}
		roles := map[string]catalog.Role{}
		for k, r := range c.Roles {
			r.MemberOf = slices.Clone(r.MemberOf)
			for i := range r.MemberOf {
				r.MemberOf[i].Role, r.MemberOf[i].Grantor = name(r.MemberOf[i].Role), name(r.MemberOf[i].Grantor)
			}
			roles[k] = r
		}
		then(roles)
		c.Roles = roles
	})
}

func (d *definer) dropRoles(st *ast.DropRole) error {
	var gone []string
	for _, n := range st.Names {
		name, err := d.resolve(n)
		if err != nil {
			if st.IfExists {
				d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("role \"%s\" does not exist, skipping", n))
				continue
			}
			return err
		}
		r, _ := d.cat.Role(name)
		if err := d.mayChangeRoles(r, "drop"); err != nil {
			return err
		}
		switch {
		case name == d.s.user():
			return sqlerr.Newf(sqlerr.ObjectInUse, "current user cannot be dropped")
		case name == d.s.sessionUser():
			return sqlerr.Newf(sqlerr.ObjectInUse, "session user cannot be dropped")
		case name == catalog.BootstrapRole:
			return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop role %s because it is required by the database system", name)
		}
		if uses := d.usesOfRole(name); len(uses) > 0 {
			return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "role \"%s\" cannot be dropped because some objects depend on it", name).
				WithDetail("%s", strings.Join(uses, "\n"))
		}
		gone = append(gone, name)
	}
	return d.changeRoles(func(roles map[string]catalog.Role) {
		for _, n := range gone {
			delete(roles, n)
		}
		for k, r := range roles {
			for _, n := range gone {
				r = withoutMembership(r, n)
			}
			roles[k] = r
		}
	})
}

// usesOfRole lists what a role owns and may do.
func (d *definer) usesOfRole(name string) []string {
	var uses []string
	in := func(a catalog.ACL) bool {
		return slices.ContainsFunc(a, func(it catalog.ACLItem) bool { return it.Grantee == name || it.Grantor == name })
	}
	for _, k := range slices.Sorted(maps.Keys(d.cat.Schemas)) {
		s := d.cat.Schemas[k]
		switch {
		case s.Owner == name:
			uses = append(uses, "owner of schema "+k)
		case in(s.ACL):
			uses = append(uses, "privileges for schema "+k)
		}
	}
	for _, r := range d.cat.Sorted() {
		switch {
		case r.Kind == catalog.Index, r.Internal:
		case r.Owner == name:
			uses = append(uses, "owner of "+kindWord(r.Kind)+" "+d.displayName(r))
		case in(r.ACL):
			uses = append(uses, "privileges for "+kindWord(r.Kind)+" "+d.displayName(r))
		}
	}
	for _, f := range d.cat.SortedFunctions() {
		switch {
		case catalog.OwnerName(f.Owner) == name:
			uses = append(uses, "owner of function "+d.displayFunction(f))
		case in(f.ACL):
			uses = append(uses, "privileges for function "+d.displayFunction(f))
		}
	}
	return uses
}

// logins counts the sessions of each user.
type logins struct {
	mu sync.Mutex
	n  map[string]int
}

// enter counts a session, unless there are limit of the user's already (negative: no limit).
func (l *logins) enter(user string, limit int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit >= 0 && l.n[user] >= limit {
		return false
	}
	if l.n == nil {
		l.n = map[string]int{}
	}
	l.n[user]++
	return true
}

func (l *logins) leave(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n[user]--; l.n[user] <= 0 {
		delete(l.n, user)
	}
}

// admit decides whether who has connected may have a session.
func (s *session) admit() error {
	cat := s.b.Engine.Catalog()
	r, ok := cat.Role(s.login)
	s.noRole = !ok
	limit := -1
	if ok {
		if !r.Login {
			return sqlerr.Newf(sqlerr.InvalidAuthorization, "role \"%s\" is not permitted to log in", s.login)
		}
		if r.ConnLimit != nil && !r.Superuser {
			limit = *r.ConnLimit
		}
	}
	if !s.b.logins.enter(s.login, limit) {
		return sqlerr.Newf(sqlerr.TooManyConnections, "too many connections for role \"%s\"", s.login)
	}
	if !s.trusted(cat, s.login) {
		s.vars.put("is_superuser", "off")
	}
	return nil
}

// Password gives the verifier of a user's password; false for who is none, may not log in, or has no password that
// is valid at now.
func Password(cat *catalog.Catalog, user string, now time.Time) (pgwire.Verifier, bool) {
	r, ok := cat.Role(user)
	if !ok || !r.Login || r.Password == "" {
		return pgwire.Verifier{}, false
	}
	if r.ValidUntil != "" {
		d, err := types.ParseText(types.T(types.Timestamptz), r.ValidUntil, &types.Env{})
		if err != nil || types.ToGoTime(d.I).Before(now) {
			return pgwire.Verifier{}, false
		}
	}
	return pgwire.ParseVerifier(r.Password)
}
