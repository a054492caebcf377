package op

import (
	"encoding/binary"
	"math"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage/keycodec"
)

// Keys of state tables: the vnode byte, then the key columns. As a rule in the order-preserving
// codec, in which values that are equal in SQL have equal bytes; exact keys (of rows that are
// multisets) tell apart what differs in the last bit, and their order means nothing. No encoding is a prefix of
// another one, so a prefix of columns is a prefix of keys.

func appendStateKey(dst []byte, cols []*vec.Vector, row int, exact bool) []byte {
	for _, v := range cols {
		if v.Type.Phys() == types.PhysInt && !v.Nulls.Get(row) {
			dst = keycodec.AppendInt(keycodec.AppendNotNull(dst), v.Int[row], false)
			continue
		}
		dst = appendDatumKey(dst, v.Type, v.Datum(row), exact)
	}
	return dst
}

func appendDatumKey(dst []byte, t types.Type, d types.Datum, exact bool) []byte {
	dst = keycodec.AppendDatum(dst, t, d, false, true)
	if !exact || !d.Valid || !inexactType(t) {
		return dst
	}
	// What the order-preserving form leaves out.
	switch t.Phys() {
	case types.PhysFloat:
		if d.F == 0 && math.Signbit(d.F) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case types.PhysDec:
		return d.Dec.AppendBinary(dst)
	case types.PhysInterval:
		dst = binary.AppendVarint(dst, int64(d.Span.Months))
		return binary.AppendVarint(dst, int64(d.Span.Days))
	default:
		return keycodec.AppendString(dst, d.S, false)
	}
}

// stateKeys makes the state keys of the rows of a chunk.
type stateKeys struct {
	hashes []uint64
	buf    []byte
}

// prepare computes the vnodes of n rows from the distribution columns.
func (k *stateKeys) prepare(dist []*vec.Vector, n int) { k.hashes = vec.HashRows(dist, n, k.hashes) }

// key gives the state key of a row for its key columns, valid until the next call.
func (k *stateKeys) key(cols []*vec.Vector, row int, exact bool) []byte {
	k.buf = append(k.buf[:0], vec.Vnode(k.hashes[row]))
	k.buf = appendStateKey(k.buf, cols, row, exact)
	return k.buf
}

// more appends further columns to the last key.
func (k *stateKeys) more(cols []*vec.Vector, row int, exact bool) []byte {
	k.buf = appendStateKey(k.buf, cols, row, exact)
	return k.buf
}

func pick(c *vec.Chunk, cols []int, dst []*vec.Vector) []*vec.Vector {
	dst = dst[:0]
	for _, k := range cols {
		dst = append(dst, c.Cols[k])
	}
	return dst
}
