package types

import (
	"math"
	"math/bits"
	"strings"
)

// Compare orders two values of type t, neither NULL, as SQL's btree order does: -1, 0 or 1. NaN
// is the largest float and equals itself, -0 equals 0, char(n) ignores trailing blanks, strings
// go by bytes, intervals by length with months of 30 days, jsonb by value, arrays and records
// element by element with NULL last.
func Compare(t Type, a, b Datum) int {
	switch t.Kind.Phys() {
	case PhysBool, PhysInt:
		return cmpInt(a.I, b.I)
	case PhysFloat:
		return CompareFloat(a.F, b.F)
	case PhysDec:
		return a.Dec.Cmp(b.Dec)
	case PhysInterval:
		return a.Span.Cmp(b.Span)
	}
	switch t.Kind {
	case Char:
		return strings.Compare(strings.TrimRight(a.S, " "), strings.TrimRight(b.S, " "))
	case Jsonb:
		return CompareJSON(a.S, b.S)
	case Array:
		return compareArrays(a.S, b.S)
	case Record:
		return compareRecords(a.S, b.S)
	}
	if t.Kind.IsComposite() {
		return compareRecords(a.S, b.S)
	}
	return strings.Compare(a.S, b.S)
}

// Equal says whether two values of type t, neither NULL, are equal in SQL.
func Equal(t Type, a, b Datum) bool {
	switch t.Kind {
	case Text, Varchar, Bytea, UUID, Name:
		return a.S == b.S
	}
	return Compare(t, a, b) == 0
}

// nullHash stands for NULL inside arrays and records, and in Hash.
const nullHash = 0x2545f4914f6cdd1d

// Hash gives a hash of a value of type t: values that compare equal hash equal. It depends on
// the value only, not on the process. NULLs hash alike.
func Hash(t Type, d Datum) uint64 {
	if !d.Valid {
		return nullHash
	}
	switch t.Kind.Phys() {
	case PhysBool, PhysInt:
		return HashInt(d.I)
	case PhysFloat:
		return HashFloat(d.F)
	case PhysDec:
		return d.Dec.Hash()
	case PhysInterval:
		return d.Span.Hash()
	}
	switch t.Kind {
	case Char:
		return HashString(strings.TrimRight(d.S, " "))
	case Jsonb:
		return HashJSON(d.S)
	case Array:
		return hashArray(d.S)
	case Record:
		return hashRecord(d.S)
	}
	if t.Kind.IsComposite() {
		return hashRecord(d.S)
	}
	return HashString(d.S)
}

// HashInt hashes an integer.
func HashInt(v int64) uint64 { return mix(uint64(v), 0x4cf5ad432745937f) }

// HashFloat hashes a float so that -0 equals 0 and NaNs equal each other.
func HashFloat(f float64) uint64 {
	if f == 0 {
		f = 0
	} else if f != f {
		f = math.NaN()
	}
	return mix(math.Float64bits(f), 0x589965cc75374cc3)
}

// CompareFloat orders floats with NaN last and equal to itself.
func CompareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}

// length gives the canonical length of an interval in microseconds, as a 128-bit number.
func (v Span) length() (hi int64, lo uint64) {
	days := int64(v.Months)*30 + int64(v.Days)
	h, l := bits.Mul64(abs64(days), usecPerDay)
	hi, lo = int64(h), l
	if days < 0 {
		var c uint64
		lo, c = bits.Sub64(0, l, 0)
		hi = -hi - int64(c)
	}
	var carry uint64
	lo, carry = bits.Add64(lo, uint64(v.Micros), 0)
	hi += v.Micros>>63 + int64(carry)
	return hi, lo
}

// Cmp orders intervals by canonical length: a month is 30 days, a day 24 hours.
func (v Span) Cmp(w Span) int {
	if v == w {
		return 0
	}
	vh, vl := v.length()
	wh, wl := w.length()
	switch {
	case vh != wh:
		return cmpInt(vh, wh)
	case vl < wl:
		return -1
	case vl > wl:
		return 1
	}
	return 0
}

// Hash hashes an interval by its canonical length.
func (v Span) Hash() uint64 {
	hi, lo := v.length()
	return mix(lo, uint64(hi)^0x8ebc6af09c88c6e3)
}

func compareNullable(t Type, a, b Datum) int {
	switch {
	case a.Valid && b.Valid:
		return Compare(t, a, b)
	case a.Valid:
		return -1
	case b.Valid:
		return 1
	}
	return 0
}

func compareArrays(x, y string) int {
	if x == y {
		return 0
	}
	a, err1 := DecodeArray(x)
	b, err2 := DecodeArray(y)
	if err1 != nil || err2 != nil {
		return strings.Compare(x, y)
	}
	for i := range min(len(a.Elems), len(b.Elems)) {
		if c := compareNullable(T(a.Elem), a.Elems[i], b.Elems[i]); c != 0 {
			return c
		}
	}
	if c := cmpInt(int64(len(a.Elems)), int64(len(b.Elems))); c != 0 {
		return c
	}
	if c := cmpInt(int64(len(a.Dims)), int64(len(b.Dims))); c != 0 {
		return c
	}
	for i := range a.Dims {
		if c := cmpInt(int64(a.Dims[i].Len), int64(b.Dims[i].Len)); c != 0 {
			return c
		}
	}
	for i := range a.Dims {
		if c := cmpInt(int64(a.Dims[i].Lower), int64(b.Dims[i].Lower)); c != 0 {
			return c
		}
	}
	return 0
}

func hashArray(s string) uint64 {
	a, err := DecodeArray(s)
	if err != nil {
		return HashString(s)
	}
	h := uint64(len(a.Dims))
	for _, e := range a.Elems {
		h = mix(h, Hash(T(a.Elem), e))
	}
	return h
}

func compareRecords(x, y string) int {
	if x == y {
		return 0
	}
	ta, a, err1 := DecodeRecord(x)
	tb, b, err2 := DecodeRecord(y)
	if err1 != nil || err2 != nil {
		return strings.Compare(x, y)
	}
	for i := range min(len(a), len(b)) {
		if ta[i].Kind != tb[i].Kind {
			return cmpInt(int64(ta[i].Kind), int64(tb[i].Kind))
		}
		if c := compareNullable(ta[i], a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmpInt(int64(len(a)), int64(len(b)))
}

func hashRecord(s string) uint64 {
	ts, vals, err := DecodeRecord(s)
	if err != nil {
		return HashString(s)
	}
	h := uint64(len(vals))
	for i, v := range vals {
		h = mix(h, Hash(ts[i], v))
	}
	return h
}
