package fn

import "github.com/weirdb/weir/sql/types"

// category is Postgres's pg_type.typcategory.
type category byte

const (
	catInvalid  category = 0
	catArray    category = 'A'
	catBool     category = 'B'
	catDateTime category = 'D'
	catNumeric  category = 'N'
	catPseudo   category = 'P'
	catString   category = 'S'
	catTimespan category = 'T'
	catUser     category = 'U'
	catUnknown  category = 'X'
	catInternal category = 'Z'
)

// kindInfo is what overload resolution knows of a kind.
type kindInfo struct {
	kind      types.Kind
	name      string // pg_type.typname: used in IDs and in the notation of definitions
	sqlName   string // format_type's name: used in messages
	cat       category
	preferred bool
}

var kindInfos = []kindInfo{
	{types.Unknown, "unknown", "unknown", catUnknown, false},
	{types.Bool, "bool", "boolean", catBool, true},
	{types.Int2, "int2", "smallint", catNumeric, false},
	{types.Int4, "int4", "integer", catNumeric, false},
	{types.Int8, "int8", "bigint", catNumeric, false},
	{types.Float4, "float4", "real", catNumeric, false},
	{types.Float8, "float8", "double precision", catNumeric, true},
	{types.Numeric, "numeric", "numeric", catNumeric, false},
	{types.Text, "text", "text", catString, true},
	{types.Varchar, "varchar", "character varying", catString, false},
	{types.Char, "bpchar", "character", catString, false},
	{types.Bytea, "bytea", "bytea", catUser, false},
	{types.Date, "date", "date", catDateTime, false},
	{types.Time, "time", "time without time zone", catDateTime, false},
	{types.Timestamp, "timestamp", "timestamp without time zone", catDateTime, false},
	{types.Timestamptz, "timestamptz", "timestamp with time zone", catDateTime, true},
	{types.Interval, "interval", "interval", catTimespan, true},
	{types.UUID, "uuid", "uuid", catUser, false},
	{types.Jsonb, "jsonb", "jsonb", catUser, false},
	{types.Oid, "oid", "oid", catNumeric, true},
	{types.Name, "name", "name", catString, false},
	{types.QChar, "char", `"char"`, catInternal, false},
	{types.Regclass, "regclass", "regclass", catNumeric, false},
	{types.Regtype, "regtype", "regtype", catNumeric, false},
	{types.Regproc, "regproc", "regproc", catNumeric, false},
	{types.Regnamespace, "regnamespace", "regnamespace", catNumeric, false},
	{types.Array, "array", "array", catArray, false},
	{types.Record, "record", "record", catPseudo, false},
	{types.Void, "void", "void", catPseudo, false},
	{types.Any, "any", `"any"`, catPseudo, false},
	{types.AnyElement, "anyelement", "anyelement", catPseudo, false},
	{types.AnyArray, "anyarray", "anyarray", catPseudo, false},
}

// byKind and byTypname index kindInfos.
var byKind, byTypname = func() (map[types.Kind]*kindInfo, map[string]types.Kind) {
	k, n := map[types.Kind]*kindInfo{}, map[string]types.Kind{}
	for i := range kindInfos {
		k[kindInfos[i].kind] = &kindInfos[i]
		n[kindInfos[i].name] = kindInfos[i].kind
	}
	return k, n
}()

// info gives the kindInfo of k, that of unknown for a kind that the table does not have.
func info(k types.Kind) *kindInfo {
	if i, ok := byKind[k]; ok {
		return i
	}
	return byKind[types.Unknown]
}

// idName is a type as it stands in IDs and definitions: "int4", "text[]".
func idName(t types.Type) string {
	if t.Kind == types.Array {
		return info(t.Elem).name + "[]"
	}
	return info(t.Kind).name
}

// typeName is a type as format_type prints it without its modifier: "integer", "text[]".
func typeName(t types.Type) string {
	if t.Kind == types.Array {
		return info(t.Elem).sqlName + "[]"
	}
	return info(t.Kind).sqlName
}

func categoryOf(t types.Type) category { return info(t.Kind).cat }

func isPreferred(t types.Type) bool { return info(t.Kind).preferred }

// base drops the modifier, which plays no part in resolution.
func base(t types.Type) types.Type {
	t.Mod = -1
	return t
}

func isUnknown(t types.Type) bool { return t.Kind == types.Unknown }

func isPoly(t types.Type) bool {
	return t.Kind == types.AnyElement || t.Kind == types.AnyArray
}
