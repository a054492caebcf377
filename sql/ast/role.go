package ast

import "strings"

type (
	// RoleOption is an option of CREATE or ALTER ROLE.
	RoleOption struct {
		// Name is in lower case and without NO: superuser, createdb, createrole, inherit, login, replication,
		// bypassrls, connection limit, password, valid until, in role, role, admin, sysid.
		Name string
		// On is false for NOSUPERUSER and the like.
		On bool
		// Value of a password (nil: PASSWORD NULL) or a time; Number of a limit; Roles of a list.
		Value  *string
		Number int
		Roles  []string
		Pos    int
	}
	// CreateRole is CREATE ROLE, USER or GROUP; a user can log in unless it says otherwise.
	CreateRole struct {
		Name    string
		User    bool
		Options []RoleOption
		Pos     int
	}
	// AlterRole is ALTER ROLE, USER or GROUP: options, a new name, or (Add, Remove) members.
	AlterRole struct {
		Name        string
		Options     []RoleOption
		NewName     string
		Add, Remove []string
		Pos         int
	}
	// AlterSettings is ALTER ROLE role ("" for ALL) or, without a role, ALTER DATABASE, with SET or RESET. Database is that of IN DATABASE,
	// or the one that is altered.
	AlterSettings struct {
		Role, Database string
		Set            *Set
		Reset          *Reset
		Pos            int
	}
	// DropRole is DROP ROLE, USER or GROUP.
	DropRole struct {
		Names    []string
		IfExists bool
		Pos      int
	}
	// Grant is GRANT or REVOKE: of Privileges (none: ALL) on objects, or, if Kind is "", of membership in the
	// roles that Privileges names.
	Grant struct {
		Revoke     bool
		Privileges []string
		// Kind is table, schema, database, sequence, function (Funcs instead of Names), or "all tables in schema", "all
		// sequences in schema" and "all functions in schema", where Names are the schemas. An other kind is given by name,
		// without objects.
		Kind  string
		Names []Name
		Funcs []FuncRef
		// Roles have "" for PUBLIC.
		Roles []string
		// Option: WITH GRANT or ADMIN OPTION, or for REVOKE that only the option is taken.
		Option  bool
		Cascade bool
		Pos     int
	}
	// Reassign is REASSIGN OWNED BY roles TO role; DROP OWNED BY roles if To is "".
	Reassign struct {
		Roles   []string
		To      string
		Cascade bool
		Pos     int
	}
)

func (*CreateRole) stmt()    {}
func (*AlterRole) stmt()     {}
func (*AlterSettings) stmt() {}
func (*DropRole) stmt()      {}

// Setting is the name of what is set or reset, in lower case; "all" for all.
func (a *AlterSettings) Setting() string {
	if a.Reset != nil {
		return strings.ToLower(a.Reset.Name)
	}
	return strings.ToLower(a.Set.Name)
}
func (*Grant) stmt()    {}
func (*Reassign) stmt() {}
