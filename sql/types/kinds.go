package types

import "strings"

// kindInfo is what the catalogs say of a kind.
type kindInfo struct {
	// name is the catalog name (pg_type.typname); sqlName what format_type prints.
	name, sqlName string
	// oid and arrayOID are Postgres's; 0 where it has none.
	oid, arrayOID uint32
	// len is pg_type.typlen: bytes, -1 for variable, -2 for a C string.
	len int16
	// category is pg_type.typcategory.
	category byte
	// preferred is pg_type.typispreferred.
	preferred bool
	// align is pg_type.typalign.
	align byte
}

var kinds = [...]kindInfo{
	Unknown:      {"unknown", "unknown", 705, 0, -2, 'X', false, 'c'},
	Bool:         {"bool", "boolean", 16, 1000, 1, 'B', true, 'c'},
	Int2:         {"int2", "smallint", 21, 1005, 2, 'N', false, 's'},
	Int4:         {"int4", "integer", 23, 1007, 4, 'N', false, 'i'},
	Int8:         {"int8", "bigint", 20, 1016, 8, 'N', false, 'd'},
	Float4:       {"float4", "real", 700, 1021, 4, 'N', false, 'i'},
	Float8:       {"float8", "double precision", 701, 1022, 8, 'N', true, 'd'},
	Numeric:      {"numeric", "numeric", 1700, 1231, -1, 'N', false, 'i'},
	Text:         {"text", "text", 25, 1009, -1, 'S', true, 'i'},
	Varchar:      {"varchar", "character varying", 1043, 1015, -1, 'S', false, 'i'},
	Char:         {"bpchar", "character", 1042, 1014, -1, 'S', false, 'i'},
	Bytea:        {"bytea", "bytea", 17, 1001, -1, 'U', false, 'i'},
	Date:         {"date", "date", 1082, 1182, 4, 'D', false, 'i'},
	Time:         {"time", "time without time zone", 1083, 1183, 8, 'D', false, 'd'},
	Timestamp:    {"timestamp", "timestamp without time zone", 1114, 1115, 8, 'D', false, 'd'},
	Timestamptz:  {"timestamptz", "timestamp with time zone", 1184, 1185, 8, 'D', true, 'd'},
	Interval:     {"interval", "interval", 1186, 1187, 16, 'T', true, 'd'},
	UUID:         {"uuid", "uuid", 2950, 2951, 16, 'U', false, 'c'},
	Jsonb:        {"jsonb", "jsonb", 3802, 3807, -1, 'U', false, 'i'},
	Oid:          {"oid", "oid", 26, 1028, 4, 'N', true, 'i'},
	Name:         {"name", "name", 19, 1003, 64, 'S', false, 'c'},
	QChar:        {"char", `"char"`, 18, 1002, 1, 'Z', false, 'c'},
	Regclass:     {"regclass", "regclass", 2205, 2210, 4, 'N', false, 'i'},
	Regtype:      {"regtype", "regtype", 2206, 2211, 4, 'N', false, 'i'},
	Regproc:      {"regproc", "regproc", 24, 1008, 4, 'N', false, 'i'},
	Regnamespace: {"regnamespace", "regnamespace", 4089, 4090, 4, 'N', false, 'i'},
	Array:        {"anyarray", "anyarray", 2277, 0, -1, 'A', false, 'd'},
	Record:       {"record", "record", 2249, 2287, -1, 'P', false, 'd'},
	Void:         {"void", "void", 2278, 0, 4, 'P', false, 'i'},
	Any:          {"any", `"any"`, 2276, 0, 4, 'P', false, 'i'},
	AnyElement:   {"anyelement", "anyelement", 2283, 0, 4, 'P', false, 'i'},
	AnyArray:     {"anyarray", "anyarray", 2277, 0, -1, 'P', false, 'd'},
	Json:         {"json", "json", 114, 199, -1, 'U', false, 'i'},
	Jsonpath:     {"jsonpath", "jsonpath", 4072, 4073, -1, 'U', false, 'i'},
	Aclitem:      {"aclitem", "aclitem", 1033, 1034, 12, 'U', false, 'i'},
	NodeTree:     {"pg_node_tree", "pg_node_tree", 194, 0, -1, 'Z', false, 'i'},
	Xid:          {"xid", "xid", 28, 1011, 4, 'U', false, 'i'},
	Regrole:      {"regrole", "regrole", 4096, 4097, 4, 'N', false, 'i'},
	Inet:         {"inet", "inet", 869, 1041, -1, 'I', true, 'i'},
	AnyEnum:      {"anyenum", "anyenum", 3500, 0, 4, 'P', false, 'i'},
}

// kindNames has every spelling that KindByName accepts, in lower case.
var kindNames = map[string]Kind{
	"unknown": Unknown, "bool": Bool, "boolean": Bool,
	"int2": Int2, "smallint": Int2, "int4": Int4, "int": Int4, "integer": Int4,
	"int8": Int8, "bigint": Int8,
	"float4": Float4, "real": Float4, "float8": Float8, "double precision": Float8, "float": Float8,
	"numeric": Numeric, "decimal": Numeric, "dec": Numeric,
	"text": Text, "varchar": Varchar, "character varying": Varchar, "char varying": Varchar,
	"national character varying": Varchar, "national char varying": Varchar, "nchar varying": Varchar,
	"bpchar": Char, "char": Char, "character": Char, "nchar": Char,
	"national character": Char, "national char": Char,
	"bytea": Bytea, "date": Date,
	"time": Time, "time without time zone": Time,
	"timestamp": Timestamp, "timestamp without time zone": Timestamp,
	"timestamptz": Timestamptz, "timestamp with time zone": Timestamptz,
	"interval": Interval, "uuid": UUID, "jsonb": Jsonb, "json": Json, "jsonpath": Jsonpath,
	"oid": Oid, "name": Name, `"char"`: QChar,
	"regclass": Regclass, "regtype": Regtype, "regproc": Regproc, "regprocedure": Regproc, "regnamespace": Regnamespace, "regrole": Regrole,
	"aclitem": Aclitem, "pg_node_tree": NodeTree, "xid": Xid, "inet": Inet,
	"record": Record, "void": Void, `"any"`: Any, "any": Any,
	"anyelement": AnyElement, "anyarray": AnyArray, "anyenum": AnyEnum,
}

var (
	kindsByOID  = map[uint32]Kind{}
	arraysByOID = map[uint32]Kind{}
)

func init() {
	for k, ki := range kinds {
		if Kind(k) != Array && ki.oid != 0 {
			kindsByOID[ki.oid] = Kind(k)
		}
		if ki.arrayOID != 0 {
			arraysByOID[ki.arrayOID] = Kind(k)
		}
	}
}

// NumKinds is the number of kinds that are always there; the constants are below it.
const NumKinds = int(AnyEnum) + 1

// KindByName gives the kind of a type name as Postgres spells it, in any case: catalog names
// ("int4", "bpchar"), SQL names ("double precision") and their variants, without modifiers and
// without a schema. Quoted names of the catalogs keep their quotes: "char" with quotes is
// QChar, without them it is Char.
func KindByName(name string) (Kind, bool) {
	k, ok := kindNames[name]
	if !ok {
		k, ok = kindNames[strings.Join(strings.Fields(strings.ToLower(name)), " ")]
	}
	return k, ok
}

// KindByOID gives the kind of a Postgres type oid that is not an array's.
func KindByOID(oid uint32) (Kind, bool) {
	k, ok := kindsByOID[oid]
	return k, ok
}

// TypeByOID gives the type of a Postgres type oid, arrays included, with modifier mod.
func TypeByOID(oid uint32, mod int32) (Type, bool) {
	if k, ok := kindsByOID[oid]; ok {
		return Type{Kind: k, Mod: mod}, true
	}
	switch oid {
	case int2vectorOID:
		return VectorOf(Int2), true
	case oidvectorOID:
		return VectorOf(Oid), true
	}
	if k, ok := arraysByOID[oid]; ok {
		return Type{Kind: Array, Elem: k, Mod: mod}, true
	}
	return Type{}, false
}

// OID gives Postgres's oid of the kind.
func (k Kind) OID() uint32 {
	if k.IsUser() {
		return uint32(k & oidMask)
	}
	return kinds[k].oid
}

// ArrayOID gives Postgres's oid of the array type over k, or 0 where there is none.
func (k Kind) ArrayOID() uint32 {
	if k.IsUser() {
		return uint32(k&oidMask) | ArrayOIDBit
	}
	return kinds[k].arrayOID
}

// Name gives the catalog name (pg_type.typname): int4, bpchar, timestamptz.
func (k Kind) Name() string {
	if k.IsUser() {
		return nameMark(markName, k)
	}
	return kinds[k].name
}

// String gives the SQL name, as format_type does: integer, character, timestamp with time zone.
func (k Kind) String() string {
	if k.IsUser() {
		return nameMark(markType, k)
	}
	return kinds[k].sqlName
}

// Category gives pg_type.typcategory: 'N' for numbers, 'S' for strings, 'D' for dates, ...
func (k Kind) Category() byte { return k.info().category }

// Preferred says whether k is a preferred type of its category (pg_type.typispreferred).
func (k Kind) Preferred() bool { return k.info().preferred }

// Len gives pg_type.typlen: the width in bytes, or -1 if it varies.
func (k Kind) Len() int16 { return k.info().len }

// Align gives pg_type.typalign.
func (k Kind) Align() byte { return k.info().align }

// IsPseudo says whether no value or column can have this kind.
func (k Kind) IsPseudo() bool {
	return k == Void || k == Any || k == AnyElement || k == AnyArray || k == AnyEnum
}

// IsString says whether values of k are character strings: text, varchar, char, name or unknown.
func (k Kind) IsString() bool {
	return k == Text || k == Varchar || k == Char || k == Name || k == Unknown
}

// IsInteger says whether k is int2, int4 or int8.
func (k Kind) IsInteger() bool { return k == Int2 || k == Int4 || k == Int8 }

// IsNumber says whether k is an integer, float or numeric type.
func (k Kind) IsNumber() bool { return k >= Int2 && k <= Numeric }

// IsReg says whether k is one of the reg* aliases of oid.
func (k Kind) IsReg() bool { return k >= Regclass && k <= Regnamespace || k == Regrole }

// OID gives Postgres's oid of the type.
func (t Type) OID() uint32 {
	if t.IsVector() {
		return vectorOID(t.Elem)
	}
	if t.Kind == Array {
		return t.Elem.ArrayOID()
	}
	return t.Kind.OID()
}

// Name gives the catalog name (pg_type.typname): int4, _int4 for its array.
func (t Type) Name() string {
	if t.IsVector() {
		return vectorName(t.Elem)
	}
	if t.Kind == Array {
		return "_" + t.Elem.Name()
	}
	return t.Kind.Name()
}

// Len gives pg_type.typlen.
func (t Type) Len() int16 { return t.Kind.Len() }

// Category gives pg_type.typcategory; it is 'A' for arrays.
func (t Type) Category() byte { return t.Kind.Category() }

// ElemType gives the type of an array's elements, with the array's modifier.
func (t Type) ElemType() Type { return Type{Kind: t.Elem, Mod: t.Mod} }

// WithoutMod gives the type without its modifier.
func (t Type) WithoutMod() Type {
	t.Mod = -1
	return t
}
