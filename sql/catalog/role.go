package catalog

import (
	"slices"
	"strings"
)

// BootstrapRole is the superuser that is always there, and the owner of what has no other.
const BootstrapRole = "weir"

// Role is a user or a group: PostgreSQL makes no difference between them but Login.
type Role struct {
	Name                                   string
	Superuser, CreateRole, CreateDB, Login bool `json:",omitempty"`
	Replication, BypassRLS                 bool `json:",omitempty"`
	// NoInherit: the role does not have the privileges of the roles that it is a member of until SET ROLE.
	NoInherit bool `json:",omitempty"`
	// ConnLimit is how many sessions the role may have at once; nil: any number.
	ConnLimit *int `json:",omitempty"`
	// Password is a SCRAM-SHA-256 verifier, never a password; "" for none.
	Password string `json:",omitempty"`
	// ValidUntil is a timestamp with time zone as text, after which the password is not taken; "" for none.
	ValidUntil string `json:",omitempty"`
	// MemberOf are the roles that this one is a member of.
	MemberOf []Membership `json:",omitempty"`
	Comment  string       `json:",omitempty"`
	// Settings are what the role's sessions begin with, DatabaseSettings what ALTER ROLE ... IN DATABASE said.
	Settings         []Option `json:",omitempty"`
	DatabaseSettings []Option `json:",omitempty"`
}

// Membership makes a role a member of another.
type Membership struct {
	Role    string
	Admin   bool `json:",omitempty"`
	Grantor string
}

// Privileges is a set of privileges.
type Privileges uint16

// The privileges, with PostgreSQL's letters in an aclitem (PostgreSQL manual, section 5.7).
const (
	Select     Privileges = 1 << iota // r
	Insert                            // a
	Update                            // w
	Delete                            // d
	Truncate                          // D
	References                        // x
	Trigger                           // t
	Usage                             // U
	Create                            // C
	Connect                           // c
	Temporary                         // T
	Execute                           // X
)

var privileges = []struct {
	p      Privileges
	name   string
	letter byte
}{
	{Insert, "INSERT", 'a'}, {Select, "SELECT", 'r'}, {Update, "UPDATE", 'w'}, {Delete, "DELETE", 'd'},
	{Truncate, "TRUNCATE", 'D'}, {References, "REFERENCES", 'x'}, {Trigger, "TRIGGER", 't'},
	{Execute, "EXECUTE", 'X'}, {Usage, "USAGE", 'U'}, {Create, "CREATE", 'C'}, {Temporary, "TEMPORARY", 'T'},
	{Connect, "CONNECT", 'c'},
}

// OnRelation, OnSchema and OnSequence are all the privileges that there are on such an object.
const (
	OnRelation = Select | Insert | Update | Delete | Truncate | References | Trigger
	OnSchema   = Usage | Create
	OnSequence = Select | Update | Usage
)

// PrivilegeNamed gives the privilege of a name in any case; TEMP is TEMPORARY.
func PrivilegeNamed(name string) (Privileges, bool) {
	name = strings.ToUpper(name)
	if name == "TEMP" {
		name = "TEMPORARY"
	}
	for _, p := range privileges {
		if p.name == name {
			return p.p, true
		}
	}
	return 0, false
}

// Names lists the privileges of a set.
func (p Privileges) Names() []string {
	var names []string
	for _, x := range privileges {
		if p&x.p != 0 {
			names = append(names, x.name)
		}
	}
	return names
}

// ACLItem is what one role was given by another. Grantee is "" for PUBLIC.
type ACLItem struct {
	Grantee, Grantor string
	Privs            Privileges
	// Grantable are those of Privs that the grantee may give to others.
	Grantable Privileges `json:",omitempty"`
}

// ACL is the list of privileges on an object, but for those of its owner, who has all unless he has taken
// them from himself: then there is an entry for him. nil is what a new object has.
type ACL []ACLItem

// Grant gives an ACL with privileges added.
func (a ACL) Grant(item ACLItem) ACL {
	a = slices.Clone(a)
	for i := range a {
		if a[i].Grantee == item.Grantee && a[i].Grantor == item.Grantor {
			a[i].Privs |= item.Privs
			a[i].Grantable |= item.Grantable
			return a
		}
	}
	return append(a, item)
}

// Revoke gives an ACL with the privileges that grantor gave to grantee taken away, or only the option to
// grant them.
func (a ACL) Revoke(grantee, grantor string, privs Privileges, optionOnly bool) ACL {
	out := ACL{}
	for _, it := range a {
		if it.Grantee == grantee && it.Grantor == grantor {
			it.Grantable &^= privs
			if !optionOnly {
				it.Privs &^= privs
			}
		}
		if it.Privs != 0 {
			out = append(out, it)
		}
	}
	return out
}

// WithOwner gives an ACL in which a new owner stands for the old one.
func (a ACL) WithOwner(from, to string) ACL {
	var out ACL
	name := func(n string) string {
		if n == from {
			return to
		}
		return n
	}
	for _, it := range a {
		it.Grantee, it.Grantor = name(it.Grantee), name(it.Grantor)
		out = out.Grant(it)
	}
	return out
}

// String writes an item as PostgreSQL does: grantee=letters/grantor, a star behind what may be granted.
func (it ACLItem) String() string {
	var b strings.Builder
	b.WriteString(aclName(it.Grantee))
	b.WriteByte('=')
	for _, p := range privileges {
		if it.Privs&p.p != 0 {
			b.WriteByte(p.letter)
			if it.Grantable&p.p != 0 {
				b.WriteByte('*')
			}
		}
	}
	b.WriteByte('/')
	b.WriteString(aclName(it.Grantor))
	return b.String()
}

// aclName quotes a name that is more than letters, digits and underscores.
func aclName(s string) string {
	plain := func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// Role finds a role. The bootstrap role is always there.
func (c *Catalog) Role(name string) (Role, bool) {
	r, ok := c.Roles[name]
	if !ok && name == BootstrapRole {
		return Role{Name: name, Superuser: true, CreateRole: true, CreateDB: true, Login: true,
			Replication: true, BypassRLS: true}, true
	}
	return r, ok
}

// RoleList lists all roles by name.
func (c *Catalog) RoleList() []Role {
	boot, _ := c.Role(BootstrapRole)
	rs := []Role{boot}
	for n, r := range c.Roles {
		if n != BootstrapRole {
			rs = append(rs, r)
		}
	}
	slices.SortFunc(rs, func(a, b Role) int { return strings.Compare(a.Name, b.Name) })
	return rs
}

// Trusted tells whether a user may do everything: a superuser, and one that is no role at all. Such a user
// can only come from the server's own machine, where nobody is asked for a password.
func (c *Catalog) Trusted(user string) bool {
	r, ok := c.Role(user)
	return !ok || r.Superuser
}

// IsMember tells whether role is other, or a member of it, directly or not; inherit follows only the roles whose
// privileges come without SET ROLE.
func (c *Catalog) IsMember(role, other string, inherit bool) bool {
	seen := map[string]bool{}
	var visit func(string) bool
	visit = func(name string) bool {
		if name == other {
			return true
		}
		r, ok := c.Role(name)
		if seen[name] || !ok || inherit && r.NoInherit {
			return false
		}
		seen[name] = true
		return slices.ContainsFunc(r.MemberOf, func(m Membership) bool { return visit(m.Role) })
	}
	return visit(role)
}

// OwnerName is the name of an owner: the bootstrap role's if none is stored.
func OwnerName(owner string) string {
	if owner == "" {
		return BootstrapRole
	}
	return owner
}

// Owns tells whether user has the rights of an object's owner.
func (c *Catalog) Owns(user, owner string) bool {
	return c.Trusted(user) || c.IsMember(user, OwnerName(owner), true)
}

// Allowed gives those of want that user has on an object, and which of them he may grant.
func (c *Catalog) Allowed(user, owner string, acl ACL, want Privileges) (has, grantable Privileges) {
	if c.Trusted(user) {
		return want, want
	}
	owner = OwnerName(owner)
	if c.IsMember(user, owner, true) {
		has, grantable = want, want
		for _, it := range acl {
			if it.Grantee == owner && it.Grantor == owner {
				has = it.Privs & want
			}
		}
	}
	for _, it := range acl {
		if it.Grantee == "" || c.IsMember(user, it.Grantee, true) {
			has |= it.Privs & want
			grantable |= it.Grantable & want
		}
	}
	return has, grantable
}

// AllowedOnSchema is Allowed for a schema; everybody may use the public one.
func (c *Catalog) AllowedOnSchema(user string, s Schema, want Privileges) (has, grantable Privileges) {
	has, grantable = c.Allowed(user, s.Owner, s.ACL, want)
	if s.Name == PublicSchema && s.ACL == nil {
		has |= Usage & want
	}
	return has, grantable
}
