package vec

import (
	"strings"

	"github.com/weirdb/weir/sql/types"
)

// This file says what equality, order and hash mean for the types whose values have several
// representations of one value.

// complexString tells whether equality of strings of kind k is something other than equality of bytes.
func complexString(k types.Kind) bool {
	switch k {
	case types.Char, types.Jsonb, types.Array, types.Record:
		return true
	default:
		return k.IsComposite()
	}
}

func equalStr(t types.Type, a, b string) bool {
	if a == b {
		return true
	}
	return complexString(t.Kind) && types.Compare(t, types.DStr(a), types.DStr(b)) == 0
}

func compareStr(t types.Type, a, b string) int {
	if !complexString(t.Kind) {
		return strings.Compare(a, b)
	}
	return types.Compare(t, types.DStr(a), types.DStr(b))
}

func sameDecimal(a, b types.Decimal) bool {
	ac, as, aok := a.Small()
	bc, bs, bok := b.Small()
	if aok && bok {
		return ac == bc && as == bs
	}
	return aok == bok && a.Scale() == b.Scale() && a.Cmp(b) == 0
}
