package vec

import (
	"cmp"
	"math"

	"github.com/weirdb/weir/sql/types"
)

// SortKey is one column of an ordering.
type SortKey struct {
	Col        int
	Desc       bool
	NullsFirst bool
}

// EqualAt tells whether value i of v and value j of w, of the same type, are not distinct: SQL
// equality, with NULL equal to NULL and NaN to NaN.
func EqualAt(v *Vector, i int, w *Vector, j int) bool {
	vn, wn := v.Nulls.Get(i), w.Nulls.Get(j)
	if vn || wn {
		return vn == wn
	}
	switch v.Type.Phys() {
	case types.PhysBool:
		return v.Bool[i] == w.Bool[j]
	case types.PhysInt:
		return v.Int[i] == w.Int[j]
	case types.PhysFloat:
		a, b := v.Float[i], w.Float[j]
		return a == b || a != a && b != b
	case types.PhysStr:
		return equalStr(v.Type, v.Str[i], w.Str[j])
	case types.PhysDec:
		return v.Dec[i].Cmp(w.Dec[j]) == 0
	default:
		return v.Span[i].Cmp(w.Span[j]) == 0
	}
}

// CompareAt orders value i of v and value j of w, of the same type and not NULL, as SQL does: NaN
// after all other numbers, text by bytes, intervals by canonical length.
func CompareAt(v *Vector, i int, w *Vector, j int) int {
	switch v.Type.Phys() {
	case types.PhysBool:
		return compareBool(v.Bool[i], w.Bool[j])
	case types.PhysInt:
		return cmp.Compare(v.Int[i], w.Int[j])
	case types.PhysFloat:
		return types.CompareFloat(v.Float[i], w.Float[j])
	case types.PhysStr:
		return compareStr(v.Type, v.Str[i], w.Str[j])
	case types.PhysDec:
		return v.Dec[i].Cmp(w.Dec[j])
	default:
		return v.Span[i].Cmp(w.Span[j])
	}
}

// CompareDatum orders two Datums of type t that are not NULL, as CompareAt does.
func CompareDatum(t types.Type, a, b types.Datum) int {
	switch t.Phys() {
	case types.PhysBool, types.PhysInt:
		return cmp.Compare(a.I, b.I)
	case types.PhysFloat:
		return types.CompareFloat(a.F, b.F)
	case types.PhysStr:
		return compareStr(t, a.S, b.S)
	case types.PhysDec:
		return a.Dec.Cmp(b.Dec)
	default:
		return a.Span.Cmp(b.Span)
	}
}

// EqualDatum tells whether two Datums of type t are not distinct.
func EqualDatum(t types.Type, a, b types.Datum) bool {
	if !a.Valid || !b.Valid {
		return a.Valid == b.Valid
	}
	return CompareDatum(t, a, b) == 0
}

// SameDatum tells whether two Datums of type t are the same to the last bit that a user can see:
// 1.0 and 1.00 are equal but not the same.
func SameDatum(t types.Type, a, b types.Datum) bool {
	if !a.Valid || !b.Valid {
		return a.Valid == b.Valid
	}
	switch t.Phys() {
	case types.PhysBool, types.PhysInt:
		return a.I == b.I
	case types.PhysFloat:
		return math.Float64bits(a.F) == math.Float64bits(b.F) || a.F != a.F && b.F != b.F
	case types.PhysStr:
		return a.S == b.S
	case types.PhysDec:
		return sameDecimal(a.Dec, b.Dec)
	default:
		return a.Span == b.Span
	}
}

// CompareRows orders row i of a and row j of b by the keys; both have the same columns. Without
// NullsFirst, NULL comes last, whether Desc or not (the caller translates SQL's default).
func CompareRows(a []*Vector, i int, b []*Vector, j int, keys []SortKey) int {
	for _, k := range keys {
		v, w := a[k.Col], b[k.Col]
		vn, wn := v.Nulls.Get(i), w.Nulls.Get(j)
		if vn || wn {
			if vn == wn {
				continue
			}
			if vn == k.NullsFirst {
				return -1
			}
			return 1
		}
		if c := CompareAt(v, i, w, j); c != 0 {
			if k.Desc {
				return -c
			}
			return c
		}
	}
	return 0
}

// EqualRows tells whether row i of a and row j of b are not distinct in all columns.
func EqualRows(a []*Vector, i int, b []*Vector, j int) bool {
	for k, v := range a {
		if !EqualAt(v, i, b[k], j) {
			return false
		}
	}
	return true
}

func compareBool(a, b bool) int {
	if a == b {
		return 0
	}
	if b {
		return -1
	}
	return 1
}

// SameAt tells whether value i of v and value j of w are the same to the last bit (see SameDatum).
func SameAt(v *Vector, i int, w *Vector, j int) bool {
	vn, wn := v.Nulls.Get(i), w.Nulls.Get(j)
	if vn || wn {
		return vn == wn
	}
	switch v.Type.Phys() {
	case types.PhysBool:
		return v.Bool[i] == w.Bool[j]
	case types.PhysInt:
		return v.Int[i] == w.Int[j]
	case types.PhysStr:
		return v.Str[i] == w.Str[j]
	default:
		return SameDatum(v.Type, v.Datum(i), w.Datum(j))
	}
}
