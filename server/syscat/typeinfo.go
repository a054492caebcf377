package syscat

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// The collations that occur, with PostgreSQL's oids.
const (
	defaultCollation = catalog.ID(100)
	cCollation       = catalog.ID(950)
)

// collationOf gives the collation of a type's values, 0 if they have none.
func collationOf(t types.Type) catalog.ID {
	k := t.Kind
	if k == types.Array {
		k = t.Elem
	}
	switch k {
	case types.Text, types.Varchar, types.Char:
		return defaultCollation
	case types.Name:
		return cCollation
	}
	return 0
}

// byValue is pg_type.typbyval.
func byValue(t types.Type) bool {
	switch t.Len() {
	case 1, 2, 4, 8:
		return t.Kind != types.Array
	}
	return false
}

// alignOf is pg_type.typalign; an array is aligned like its elements, but to 4 bytes at least.
func alignOf(t types.Type) rune {
	if t.Kind == types.Array {
		if t.Elem.Align() == 'd' {
			return 'd'
		}
		return 'i'
	}
	return rune(t.Kind.Align())
}

// storageOf is pg_type.typstorage.
func storageOf(t types.Type) rune {
	switch {
	case t.Kind == types.Numeric:
		return 'm'
	case t.IsVector():
		return 'p'
	case t.Len() == -1:
		return 'x'
	}
	return 'p'
}

// formatType is the SQL name of a type without its modifier. Only a bpchar that is said to have no length is
// not called character.
func formatType(t types.Type) string {
	t.Mod = -1
	return strings.Replace(t.String(), "bpchar", "character", 1)
}

// pseudoTypes are types of PostgreSQL that no value and no function has here; that they have names and numbers
// is what clients need to rule them out.
var pseudoTypes = [...]struct {
	name string
	oid  uint32
	len  int
}{{"cstring", 2275, -2}, {"trigger", 2279, 4}, {"internal", 2281, 8}, {"event_trigger", 3838, 4}}

func pseudoType(name string) (uint32, bool) {
	for _, p := range pseudoTypes {
		if strings.TrimPrefix(name, "pg_catalog.") == p.name {
			return p.oid, true
		}
	}
	return 0, false
}

// typeOID resolves the text of a regtype to an oid.
func (e *Env) typeOID(name string) (uint32, error) {
	n, err := parse.ParseType(name)
	if err != nil {
		return 0, err
	}
	if oid, ok := e.userTypeNamed(n.Name.Parts, n.Dims); ok {
		if _, err := typeNamed(n); err != nil || len(n.Name.Parts) > 1 {
			return uint32(oid), nil
		}
	}
	t, err := typeNamed(n)
	return t.OID(), err
}

// typeByName resolves the name of a type of values.
func (e *Env) typeByName(name string) (types.Type, error) {
	oid, err := e.typeOID(name)
	if err != nil {
		return types.Type{}, err
	}
	if d := e.domainOf(catalog.ID(oid)); d != nil {
		return d.Base, nil
	}
	if t, ok := (&types.Env{Types: e}).TypeByOID(oid); ok && t.UserKind() != 0 {
		return t, nil
	}
	n, err := parse.ParseType(name)
	if err != nil {
		return types.Type{}, err
	}
	return typeNamed(n)
}

// typeNamed resolves the name of a type that is always there.
func typeNamed(n ast.TypeName) (types.Type, error) {
	parts := n.Name.Parts
	if len(parts) > 1 && parts[len(parts)-2] != pgCatalog {
		return types.Type{}, sqlerr.Newf(sqlerr.UndefinedObject, "type \"%s\" does not exist", strings.Join(parts, "."))
	}
	last := parts[len(parts)-1]
	if last == "char" {
		// The parser calls character(1) bpchar: what is left is the one-byte type of the catalogs.
		last = `"char"`
	}
	return types.FromName(last, n.Mods, n.Fields, n.Dims)
}

// quoteLiteral makes a string literal.
func quoteLiteral(s string) string {
	q := strings.ReplaceAll(s, "'", "''")
	if strings.Contains(q, `\`) {
		return `E'` + strings.ReplaceAll(q, `\`, `\\`) + "'"
	}
	return "'" + q + "'"
}
