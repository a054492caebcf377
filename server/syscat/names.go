package syscat

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// bootstrapRole owns what nobody else does; its oid is that of PostgreSQL's bootstrap superuser.
const (
	bootstrapRole   = "weir"
	bootstrapRoleID = catalog.ID(10)
)

// roleID gives the oid of a role, which has no other id than its name.
func roleID(name string) catalog.ID {
	if name == "" || name == bootstrapRole {
		return bootstrapRoleID
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return catalog.ID(1<<30 | h.Sum32()&(1<<30-1))
}

// roles lists the known roles: the owners of objects and the session's user.
func (e *Env) roles() []string {
	e.list()
	return e.roleNames
}

func (e *Env) roleName(oid catalog.ID) (string, bool) {
	e.list()
	n, ok := e.rolesByID[oid]
	return n, ok
}

func listRoles(e *Env) []string {
	seen := map[string]bool{"": true, bootstrapRole: true}
	names := []string{bootstrapRole}
	add := func(n string) {
		if !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	add(e.User)
	for n := range e.Catalog.Roles {
		add(n)
	}
	for _, r := range e.Catalog.Relations {
		if !r.Internal {
			add(r.Owner)
		}
	}
	for _, f := range e.Catalog.Functions {
		add(f.Owner)
	}
	for _, s := range e.Catalog.Schemas {
		add(s.Owner)
	}
	slices.Sort(names[1:])
	return names
}

// schemas lists the schemas by oid.
func (e *Env) schemas() []catalog.Schema {
	out := []catalog.Schema{{ID: pgCatalogID, Name: pgCatalog}, {ID: infoSchemaID, Name: infoSchema}}
	for _, s := range e.Catalog.Schemas {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b catalog.Schema) int { return int(int64(a.ID) - int64(b.ID)) })
	return out
}

func (e *Env) schemaID(name string) catalog.ID {
	switch name {
	case pgCatalog:
		return pgCatalogID
	case infoSchema:
		return infoSchemaID
	}
	return e.Catalog.Schemas[name].ID
}

func (e *Env) hasSchema(name string) bool { return isSystemSchema(name) || e.Catalog.HasSchema(name) }

func quoteIdent(s string) string { return parse.QuoteIdent(s) }

// splitName takes a possibly qualified and quoted name apart.
func splitName(s string) ([]string, error) {
	bad := func() ([]string, error) { return nil, sqlerr.Newf(sqlerr.InvalidName, "invalid name syntax") }
	var parts []string
	rest := strings.TrimSpace(s)
	for {
		var part string
		if strings.HasPrefix(rest, `"`) {
			var b strings.Builder
			i := 1
			for ; i < len(rest); i++ {
				if rest[i] != '"' {
					b.WriteByte(rest[i])
					continue
				}
				if i+1 == len(rest) || rest[i+1] != '"' {
					break
				}
				i++
				b.WriteByte('"')
			}
			if i >= len(rest) {
				return bad()
			}
			part, rest = b.String(), rest[i+1:]
		} else {
			i := strings.IndexAny(rest, ". \t\"")
			if i < 0 {
				i = len(rest)
			}
			part, rest = strings.ToLower(rest[:i]), rest[i:]
		}
		if part == "" {
			return bad()
		}
		parts = append(parts, part)
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return parts, nil
		}
		if rest[0] != '.' {
			return bad()
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// findRelation resolves the text of a regclass.
func (e *Env) findRelation(text string) (*object, error) {
	parts, err := splitName(text)
	if err != nil {
		return nil, err
	}
	var x *object
	switch len(parts) {
	case 1:
		x = e.lookup("", parts[0])
	case 3:
		if parts[0] != e.Database {
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "cross-database references are not implemented: %s", strings.Join(parts, "."))
		}
		parts = parts[1:]
		fallthrough
	case 2:
		if !e.hasSchema(parts[0]) {
			return nil, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", parts[0])
		}
		x = e.lookup(parts[0], parts[1])
	default:
		return nil, sqlerr.Newf(sqlerr.SyntaxError, "improper relation name (too many dotted names): %s", strings.Join(parts, "."))
	}
	if x == nil {
		return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation \"%s\" does not exist", strings.Join(parts, "."))
	}
	return x, nil
}

// ObjectOID resolves the name of an object of a reg* type.
func (e *Env) ObjectOID(k types.Kind, name string) (uint32, error) {
	switch k {
	case types.Regclass:
		x, err := e.findRelation(name)
		if err != nil {
			return 0, err
		}
		return uint32(x.oid), nil
	case types.Regtype:
		if oid, ok := pseudoType(name); ok {
			return oid, nil
		}
		return e.typeOID(name)
	case types.Regnamespace:
		parts, err := splitName(name)
		if err != nil {
			return 0, err
		}
		if len(parts) != 1 || !e.hasSchema(parts[0]) {
			return 0, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", strings.Join(parts, "."))
		}
		return uint32(e.schemaID(parts[0])), nil
	case types.Regrole:
		parts, err := splitName(name)
		if err != nil {
			return 0, err
		}
		if len(parts) != 1 || !slices.Contains(e.roles(), parts[0]) {
			return 0, sqlerr.Newf(sqlerr.UndefinedObject, "role \"%s\" does not exist", strings.Join(parts, "."))
		}
		return uint32(roleID(parts[0])), nil
	}
	return e.functionOID(name)
}

// ObjectName gives the text of a reg* value.
func (e *Env) ObjectName(k types.Kind, oid uint32) (string, bool) {
	switch k {
	case types.Regclass:
		if x := e.object(catalog.ID(oid)); x != nil {
			return e.qualified(x), true
		}
	case types.Regtype:
		if t, ok := types.TypeByOID(oid, -1); ok {
			return formatType(t), true
		}
		if s, ok := e.formatUserType(catalog.ID(oid)); ok {
			return s, true
		}
		for _, p := range pseudoTypes {
			if p.oid == oid {
				return p.name, true
			}
		}
	case types.Regnamespace:
		for _, s := range e.schemas() {
			if uint32(s.ID) == oid {
				return quoteIdent(s.Name), true
			}
		}
	case types.Regrole:
		if n, ok := e.roleName(catalog.ID(oid)); ok {
			return quoteIdent(n), true
		}
	case types.Regproc:
		return e.functionName(oid)
	}
	return "", false
}
