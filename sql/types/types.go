// Package types defines SQL types, their values and their codecs. It is a leaf: every layer may
// import it, and it imports no other package of the project but sqlerr.
//
// A Type is what the user sees (int4, varchar(10)); a Phys is how values of it lie in memory
// (every integer and date/time type is an int64). A Datum is one value with its NULL flag, for
// slow paths: constants, catalogs, wire parameters. Bulk data lives in columns (exec/vec).
package types

// Kind is the family of a SQL type, without modifiers. The kinds of types that users made are numbers of
// their own, far above the constants; see usertype.go.
type Kind uint32

// The kinds. The zero value is Unknown, the type of an untyped literal or NULL. New kinds are
// added at the end: the numbers are stored in catalogs and in binary row encodings.
const (
	Unknown Kind = iota
	Bool
	Int2
	Int4
	Int8
	Float4
	Float8
	Numeric
	Text
	Varchar
	Char // character(n), blank padded: Postgres's bpchar
	Bytea
	Date
	Time
	Timestamp
	Timestamptz
	Interval
	UUID
	Jsonb
	Oid
	Name     // catalogs: a 63-byte identifier
	QChar    // catalogs: the one-byte "char"
	Regclass // catalogs: an oid that prints as a relation name
	Regtype
	Regproc
	Regnamespace
	Array  // Elem says of what; values in PhysStr hold the array encoding of this package
	Record // anonymous row; values in PhysStr hold the record encoding of this package
	Void
	Any // pseudo type in signatures: any argument
	AnyElement
	AnyArray
	Json     // the text that came in
	Jsonpath // the text of a path, as it is printed
	Aclitem  // catalogs: a privilege, as it is printed
	NodeTree // catalogs: an expression; here its text
	Xid      // catalogs: a transaction's number
	Regrole  // catalogs: an oid that prints as a role's name
	Inet     // catalogs: an address, as it is printed
	AnyEnum  // pseudo type in signatures: any enum
)

// Type is a SQL type. It is comparable; two equal Types are the same type with the same modifier.
type Type struct {
	Kind Kind
	// Elem is the element kind of an Array, else Unknown.
	Elem Kind
	// Mod is Postgres's type modifier, or -1: for varchar(n) and char(n) it is n+4, for
	// numeric(p,s) it is (p<<16|s&0x7ff)+4, for time types the fractional digits, for intervals
	// the set of fields<<16 | fractional digits.
	Mod int32
}

// T gives the type of a kind without modifier.
func T(k Kind) Type { return Type{Kind: k, Mod: -1} }

// ArrayOf gives the array type of an element kind.
func ArrayOf(k Kind) Type { return Type{Kind: Array, Elem: k, Mod: -1} }

// Phys is the physical representation of a type's values in a column.
type Phys uint8

// The physical representations.
const (
	// PhysBool is one bool a value.
	PhysBool Phys = iota
	// PhysInt is one int64 a value: int2/4/8, oid and reg*; date (days since 2000-01-01);
	// time (microseconds since midnight); timestamp and timestamptz (microseconds since
	// 2000-01-01 00:00:00 UTC). Infinite dates and timestamps are the int64 limits
	// (MaxInt64, MinInt64), also for date. Enums: the position of the label.
	PhysInt
	// PhysFloat is one float64 a value: float8, and float4 already rounded to float32.
	PhysFloat
	// PhysStr is one immutable Go string a value: text, varchar, char (trailing blanks kept),
	// name, "char", bytea (raw), uuid (16 raw bytes), jsonb (canonical text, see jsonb.go), json,
	// arrays and records (encoded).
	PhysStr
	// PhysDec is one Decimal a value: numeric.
	PhysDec
	// PhysInterval is one Span a value: interval.
	PhysInterval
)

// Phys gives the physical representation of k. Unknown literals are PhysStr.
func (k Kind) Phys() Phys {
	switch k {
	case Bool:
		return PhysBool
	case Int2, Int4, Int8, Oid, Regclass, Regtype, Regproc, Regnamespace, Regrole, Xid, Date, Time, Timestamp, Timestamptz, AnyEnum:
		return PhysInt
	case Float4, Float8:
		return PhysFloat
	case Numeric:
		return PhysDec
	case Interval:
		return PhysInterval
	default:
		if k.IsEnum() {
			return PhysInt
		}
		return PhysStr
	}
}

// Phys gives the physical representation of t.
func (t Type) Phys() Phys { return t.Kind.Phys() }

// Span is the value of an interval: the three fields that Postgres keeps apart.
// Comparison and hashing use the canonical length (a month is 30 days, a day 24 hours).
type Span struct {
	Months int32
	Days   int32
	Micros int64
}

// Datum is one value of a known type, or NULL. Which field holds it follows from Type.Phys:
// I for PhysInt and PhysBool (0 or 1), F for PhysFloat, S for PhysStr, Dec for PhysDec,
// Span for PhysInterval. The zero Datum is NULL.
type Datum struct {
	Valid bool
	I     int64
	F     float64
	S     string
	Dec   Decimal
	Span  Span
}

// Null is the NULL Datum.
var Null = Datum{}

// DBool, DInt, DFloat, DStr, DDec and DSpan make Datums.
func DBool(b bool) Datum {
	if b {
		return Datum{Valid: true, I: 1}
	}
	return Datum{Valid: true}
}

// DInt makes a PhysInt Datum.
func DInt(i int64) Datum { return Datum{Valid: true, I: i} }

// DFloat makes a PhysFloat Datum.
func DFloat(f float64) Datum { return Datum{Valid: true, F: f} }

// DStr makes a PhysStr Datum.
func DStr(s string) Datum { return Datum{Valid: true, S: s} }

// DDec makes a PhysDec Datum.
func DDec(d Decimal) Datum { return Datum{Valid: true, Dec: d} }

// DSpan makes a PhysInterval Datum.
func DSpan(s Span) Datum { return Datum{Valid: true, Span: s} }

// Bool gives a PhysBool Datum's value; NULL is false.
func (d Datum) Bool() bool { return d.Valid && d.I != 0 }
