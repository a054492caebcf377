package vec

import (
	"cmp"
	"slices"

	"github.com/weirdb/weir/sql/types"
)

// Comparator gives a function that orders rows of the columns by the keys, as CompareRows does, with the types
// settled beforehand. It stays valid while the vectors grow.
func Comparator(cols []*Vector, keys []SortKey) func(i, j int) int {
	fs := make([]func(i, j int) int, len(keys))
	for n, k := range keys {
		v := cols[k.Col]
		var f func(i, j int) int
		switch v.Type.Phys() {
		case types.PhysInt:
			f = func(i, j int) int { return cmp.Compare(v.Int[i], v.Int[j]) }
		case types.PhysFloat:
			f = func(i, j int) int { return types.CompareFloat(v.Float[i], v.Float[j]) }
		default:
			if v.Type.Phys() == types.PhysStr && !complexString(v.Type.Kind) {
				f = func(i, j int) int { return cmp.Compare(v.Str[i], v.Str[j]) }
			} else {
				f = func(i, j int) int { return CompareAt(v, i, v, j) }
			}
		}
		if k.Desc {
			asc := f
			f = func(i, j int) int { return asc(j, i) }
		}
		value, first := f, k.NullsFirst
		fs[n] = func(i, j int) int {
			in, jn := v.Nulls.Get(i), v.Nulls.Get(j)
			switch {
			case !in && !jn:
				return value(i, j)
			case in == jn:
				return 0
			case in == first:
				return -1
			}
			return 1
		}
	}
	if len(fs) == 1 {
		return fs[0]
	}
	return func(i, j int) int {
		for _, f := range fs {
			if c := f(i, j); c != 0 {
				return c
			}
		}
		return 0
	}
}

// SortedRows gives the row numbers of c in the order of the keys; equal rows stay in their order.
func SortedRows(c *Chunk, keys []SortKey) []int32 {
	rows := make([]int32, c.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	f := Comparator(c.Cols, keys)
	slices.SortStableFunc(rows, func(a, b int32) int { return f(int(a), int(b)) })
	return rows
}
