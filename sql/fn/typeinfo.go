package fn

import "github.com/weirdb/weir/sql/types"

// The categories (pg_type.typcategory) that resolution treats specially.
const (
	catInvalid byte = 0
	catPseudo  byte = 'P'
	catString  byte = 'S'
)

// byTypname finds a kind by its pg_type name, the name that definitions and IDs use.
var byTypname = func() map[string]types.Kind {
	m := map[string]types.Kind{}
	for k := range types.Kind(types.NumKinds) {
		if k != types.Array {
			m[k.Name()] = k
		}
	}
	return m
}()

// idName is a type as it stands in IDs and definitions: "int4", "text[]".
func idName(t types.Type) string {
	if t.Kind == types.Array {
		return t.Elem.Name() + "[]"
	}
	return t.Kind.Name()
}

// typeName is a type as messages have it, without its modifier: "integer", "text[]".
func typeName(t types.Type) string {
	if t.Kind == types.Array {
		return t.Elem.String() + "[]"
	}
	return t.Kind.String()
}

func categoryOf(t types.Type) byte { return t.Category() }

func isPreferred(t types.Type) bool { return t.Kind.Preferred() }

// base drops the modifier, which plays no part in resolution.
func base(t types.Type) types.Type { return t.WithoutMod() }

func isUnknown(t types.Type) bool { return t.Kind == types.Unknown }

func isPoly(t types.Type) bool {
	return t.Kind == types.AnyElement || t.Kind == types.AnyArray || t.Kind == types.AnyEnum
}
