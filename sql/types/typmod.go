package types

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Limits of type modifiers, as in Postgres.
const (
	// MaxVarcharLen is the largest n of varchar(n) and char(n).
	MaxVarcharLen = 10485760
	// MaxNumericPrecision is the largest p of numeric(p, s).
	MaxNumericPrecision = 1000
	// MaxTimePrecision is the largest number of fractional digits of a second.
	MaxTimePrecision = 6
)

const varHeader = 4

// The field bits of an interval modifier; a modifier is fields<<16 | precision.
const (
	intervalMonth  = 1 << 1
	intervalYear   = 1 << 2
	intervalDay    = 1 << 3
	intervalHour   = 1 << 10
	intervalMinute = 1 << 11
	intervalSecond = 1 << 12

	intervalFullRange     = 0x7fff
	intervalFullPrecision = 0xffff
)

// intervalFields lists the legal field sets of an interval type, longest name last.
var intervalFields = []struct {
	name string
	mask int32
}{
	{"year", intervalYear},
	{"month", intervalMonth},
	{"day", intervalDay},
	{"hour", intervalHour},
	{"minute", intervalMinute},
	{"second", intervalSecond},
	{"year to month", intervalYear | intervalMonth},
	{"day to hour", intervalDay | intervalHour},
	{"day to minute", intervalDay | intervalHour | intervalMinute},
	{"day to second", intervalDay | intervalHour | intervalMinute | intervalSecond},
	{"hour to minute", intervalHour | intervalMinute},
	{"hour to second", intervalHour | intervalMinute | intervalSecond},
	{"minute to second", intervalMinute | intervalSecond},
}

// NumericMod gives the modifier of numeric(precision, scale).
func NumericMod(precision, scale int) int32 {
	return (int32(precision)<<16 | int32(scale)&0x7ff) + varHeader
}

// NumericPS gives precision and scale of a numeric type, and false if it has no modifier.
func (t Type) NumericPS() (precision, scale int, ok bool) {
	if t.Kind != Numeric || t.Mod < varHeader {
		return 0, 0, false
	}
	m := t.Mod - varHeader
	return int(m>>16) & 0xffff, int(m&0x7ff^1024) - 1024, true
}

// CharLen gives n of varchar(n) or char(n), or -1 if the type has no limit.
func (t Type) CharLen() int {
	if t.Mod < varHeader {
		return -1
	}
	return int(t.Mod - varHeader)
}

// TimePrecision gives the fractional digits of a time, timestamp or interval type, or -1.
func (t Type) TimePrecision() int {
	if t.Mod < 0 {
		return -1
	}
	if t.Kind == Interval {
		if p := t.Mod & 0xffff; p != intervalFullPrecision {
			return int(p)
		}
		return -1
	}
	return int(t.Mod)
}

// intervalRange gives the fields of an interval type.
func (t Type) intervalRange() int32 {
	if t.Mod < 0 {
		return intervalFullRange
	}
	return t.Mod >> 16 & intervalFullRange
}

// String gives the type as Postgres's format_type prints it: "character varying(10)",
// "numeric(10,2)", "timestamp(3) with time zone", "integer[]".
func (t Type) String() string {
	switch t.Kind {
	case Array:
		if t.Elem == Unknown {
			return "anyarray"
		}
		if t.IsVector() {
			return vectorName(t.Elem)
		}
		return t.ElemType().String() + "[]"
	case Varchar:
		if n := t.CharLen(); n >= 0 {
			return "character varying(" + strconv.Itoa(n) + ")"
		}
	case Char:
		if n := t.CharLen(); n >= 0 {
			return "character(" + strconv.Itoa(n) + ")"
		}
		return "bpchar"
	case Numeric:
		if p, s, ok := t.NumericPS(); ok {
			return "numeric(" + strconv.Itoa(p) + "," + strconv.Itoa(s) + ")"
		}
	case Time, Timestamp, Timestamptz:
		if t.Mod >= 0 {
			base, rest, _ := strings.Cut(kinds[t.Kind].sqlName, " ")
			return base + "(" + strconv.Itoa(int(t.Mod)) + ") " + rest
		}
	case Interval:
		return "interval" + t.IntervalFields()
	}
	return t.Kind.String()
}

// IntervalFields gives what follows the word interval in the type's name: "", "(3)",
// " day to second(3)".
func (t Type) IntervalFields() string {
	if t.Mod < 0 {
		return ""
	}
	s := ""
	if r := t.intervalRange(); r != intervalFullRange {
		for _, f := range intervalFields {
			if f.mask == r {
				s = " " + f.name
			}
		}
	}
	if p := t.TimePrecision(); p >= 0 {
		s += "(" + strconv.Itoa(p) + ")"
	}
	return s
}

// FromName builds a type from its parts as the parser finds them: a name (see KindByName), the
// modifiers in parentheses as text, the fields of an interval ("day to second") and the number
// of array dimensions, of which Postgres keeps only that it is not zero. Errors are Postgres's.
func FromName(name string, mods []string, fields string, dims int) (Type, error) {
	lower := strings.Join(strings.Fields(strings.ToLower(name)), " ")
	lower = strings.TrimPrefix(lower, "pg_catalog.")
	for strings.HasSuffix(lower, "[]") {
		lower = strings.TrimSpace(strings.TrimSuffix(lower, "[]"))
		dims++
	}
	if t, ok := vectorByName(lower); ok {
		if dims > 0 {
			return Type{}, errVectorDims(name)
		}
		return t, nil
	}
	k, ok := KindByName(lower)
	if !ok && len(lower) > 1 && lower[0] == '_' {
		if k, ok = KindByName(lower[1:]); ok {
			dims++
		}
	}
	if !ok {
		return Type{}, sqlerr.Newf(sqlerr.UndefinedObject, "type \"%s\" does not exist", name)
	}
	t := T(k)
	if lower == "float" && len(mods) > 0 {
		ft, err := floatType(mods)
		if err != nil {
			return Type{}, err
		}
		t = ft
	} else if len(mods) > 0 || fields != "" {
		m, err := typmodIn(k, mods, fields)
		if err != nil {
			return Type{}, err
		}
		t.Mod = m
	} else if k == Char && lower != "bpchar" && lower != `"bpchar"` {
		t.Mod = 1 + varHeader
	}
	if dims > 0 {
		if k.ArrayOID() == 0 {
			return Type{}, sqlerr.Newf(sqlerr.UndefinedObject, "type \"%s[]\" does not exist", name)
		}
		t = Type{Kind: Array, Elem: t.Kind, Mod: t.Mod}
	}
	return t, nil
}

func floatType(mods []string) (Type, error) {
	n, err := modInts(mods[:1])
	if err != nil {
		return Type{}, err
	}
	switch {
	case n[0] < 1:
		return Type{}, sqlerr.Newf(sqlerr.InvalidParameterValue, "precision for type float must be at least 1 bit")
	case n[0] <= 24:
		return T(Float4), nil
	case n[0] <= 53:
		return T(Float8), nil
	}
	return Type{}, sqlerr.Newf(sqlerr.InvalidParameterValue, "precision for type float must be less than 54 bits")
}

func modInts(mods []string) ([]int32, error) {
	out := make([]int32, len(mods))
	for i, m := range mods {
		v, err := parseInt(m, 32, Int4)
		if err != nil {
			return nil, err
		}
		out[i] = int32(v)
	}
	return out, nil
}

func typmodIn(k Kind, mods []string, fields string) (int32, error) {
	bad := func(format string, args ...any) (int32, error) {
		return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, format, args...)
	}
	n, err := modInts(mods)
	if err != nil {
		return 0, err
	}
	if fields != "" && k != Interval {
		return bad("invalid type modifier")
	}
	switch k {
	case Varchar, Char:
		word := "varchar"
		if k == Char {
			word = "char"
		}
		switch {
		case len(n) != 1:
			return bad("invalid type modifier")
		case n[0] < 1:
			return bad("length for type %s must be at least 1", word)
		case n[0] > MaxVarcharLen:
			return bad("length for type %s cannot exceed %d", word, MaxVarcharLen)
		}
		return n[0] + varHeader, nil
	case Numeric:
		switch {
		case len(n) > 2:
			return bad("invalid NUMERIC type modifier")
		case n[0] < 1 || n[0] > MaxNumericPrecision:
			return bad("NUMERIC precision %d must be between 1 and %d", n[0], MaxNumericPrecision)
		case len(n) == 1:
			return NumericMod(int(n[0]), 0), nil
		case n[1] < -MaxNumericPrecision || n[1] > MaxNumericPrecision:
			return bad("NUMERIC scale %d must be between %d and %d", n[1], -MaxNumericPrecision, MaxNumericPrecision)
		}
		return NumericMod(int(n[0]), int(n[1])), nil
	case Time, Timestamp, Timestamptz:
		if len(n) != 1 {
			return bad("invalid type modifier")
		}
		if n[0] < 0 {
			word := map[Kind]string{Time: "TIME(%d) precision must not be negative",
				Timestamp:   "TIMESTAMP(%d) precision must not be negative",
				Timestamptz: "TIMESTAMP(%d) WITH TIME ZONE precision must not be negative"}[k]
			return bad(word, n[0])
		}
		return min(n[0], MaxTimePrecision), nil
	case Interval:
		return intervalModIn(n, fields)
	}
	return 0, sqlerr.Newf(sqlerr.SyntaxError, "type modifier is not allowed for type \"%s\"", k.Name())
}

func intervalModIn(n []int32, fields string) (int32, error) {
	mask, prec := int32(intervalFullRange), int32(intervalFullPrecision)
	if fields != "" {
		want := strings.Join(strings.Fields(strings.ToLower(fields)), " ")
		mask = 0
		for _, f := range intervalFields {
			if f.name == want {
				mask = f.mask
			}
		}
		if mask == 0 {
			return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid INTERVAL type modifier")
		}
	}
	switch len(n) {
	case 0:
	case 1:
		if n[0] < 0 {
			return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "INTERVAL(%d) precision must not be negative", n[0])
		}
		prec = min(n[0], MaxTimePrecision)
	default:
		return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid INTERVAL type modifier")
	}
	return mask<<16 | prec, nil
}
