package vec

import (
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage/keycodec"
)

// EncodeKey appends the order-preserving encoding of the key columns of row i (storage/keycodec): the
// bytes sort as the rows do under keys. Values that are equal in SQL have equal bytes, so the original
// value may not be recoverable (1.0 and 1.00): keep the row beside the key.
func EncodeKey(dst []byte, cols []*Vector, i int, keys []SortKey) []byte {
	for _, k := range keys {
		v := cols[k.Col]
		if v.Type.Phys() == types.PhysInt && !v.Nulls.Get(i) {
			dst = keycodec.AppendInt(keycodec.AppendNotNull(dst), v.Int[i], k.Desc)
			continue
		}
		dst = keycodec.AppendDatum(dst, v.Type, v.Datum(i), k.Desc, k.NullsFirst)
	}
	return dst
}
