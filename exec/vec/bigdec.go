package vec

import "github.com/weirdb/weir/sql/types"

func compareBigDecimal(a, b types.Decimal) int { panic("big decimal") }

func hashBigDecimal(d types.Decimal) uint64 { panic("big decimal") }

func sameDecimal(a, b types.Decimal) bool {
	ac, as, aok := a.Small()
	bc, bs, bok := b.Small()
	if aok && bok {
		return ac == bc && as == bs
	}
	panic("big decimal")
}
func appendBigDecimal(dst []byte, d types.Decimal) []byte { panic("big decimal") }
func decodeBigDecimal(b []byte) (types.Decimal, error)    { panic("big decimal") }
