package vec

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"github.com/weirdb/weir/sql/types"
)

// Hashing. Equal rows (EqualAt) have equal hashes. The function is part of the state format: which
// vnode a key belongs to, and therefore the first byte of its state key, depends on it. Changing it
// needs a new format version.
//
// A row's hash folds its columns from left to right: h = mix(value ^ k1, h ^ k2), where mix is the two
// halves of the 128-bit product xored (as in wyhash). Integers are one multiplication a value.

const (
	hashSeed uint64 = 0x9e3779b97f4a7c15
	hashK1   uint64 = 0xa0761d6478bd642f
	hashK2   uint64 = 0xe7037ed1a0b428db
	hashK3   uint64 = 0x8ebc6af09c88c6e3
	hashNull uint64 = 0x589965cc75374cc3
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// HashInt is the hash of a single PhysInt column with value x.
func HashInt(x int64) uint64 { return mix(uint64(x)^hashK1, hashSeed^hashK2) }

// HashInts is the hash of a row of two PhysInt columns.
func HashInts(x, y int64) uint64 { return mix(uint64(y)^hashK1, HashInt(x)^hashK2) }

// HashMore is the hash of a row whose columns but the last have the hash h, and whose last one is PhysInt, with
// value x.
func HashMore(h uint64, x int64) uint64 { return mix(uint64(x)^hashK1, h^hashK2) }

// Vnode gives the hash partition of a row from its hash. It uses bits that hash tables use neither
// for choosing a sub-table (the top ones) nor for choosing a slot (the low ones).
func Vnode(hash uint64) uint8 { return uint8(hash >> 32) }

// VnodeCount is the number of hash partitions.
const VnodeCount = 256

// HashRows writes the hash of each of the n rows of the columns to dst, which it grows as needed.
// Without columns all rows have the same hash.
func HashRows(cols []*Vector, n int, dst []uint64) []uint64 {
	dst = resize(dst[:0], n)
	if len(cols) > 0 && cols[0].Type.Phys() == types.PhysInt && !cols[0].HasNulls() {
		// The first column needs no running hash to be read.
		src := cols[0].Int[:n]
		for i, x := range src {
			dst[i] = mix(uint64(x)^hashK1, hashSeed^hashK2)
		}
		cols = cols[1:]
	} else {
		fill(dst, hashSeed)
	}
	for _, v := range cols {
		hashColumn(v, dst)
	}
	return dst
}

// HashCols is HashRows for some columns of a chunk.
func HashCols(c *Chunk, cols []int, dst []uint64) []uint64 {
	var few [8]*Vector
	vs := few[:0]
	for _, k := range cols {
		vs = append(vs, c.Cols[k])
	}
	return HashRows(vs, c.n, dst)
}

// hashColumn folds v into the running hashes.
func hashColumn(v *Vector, dst []uint64) {
	n := len(dst)
	switch v.Type.Phys() {
	case types.PhysBool:
		for i, x := range v.Bool[:n] {
			var b uint64
			if x {
				b = 1
			}
			dst[i] = foldNull(v, i, b, dst[i])
		}
	case types.PhysInt:
		src := v.Int[:n]
		if !v.HasNulls() {
			for i, x := range src {
				dst[i] = mix(uint64(x)^hashK1, dst[i]^hashK2)
			}
			return
		}
		for i, x := range src {
			dst[i] = foldNull(v, i, uint64(x), dst[i])
		}
	case types.PhysFloat:
		for i, x := range v.Float[:n] {
			dst[i] = foldNull(v, i, floatBits(x), dst[i])
		}
	case types.PhysStr:
		if complexString(v.Type.Kind) {
			for i, s := range v.Str[:n] {
				var x uint64
				if !v.Nulls.Get(i) {
					x = types.Hash(v.Type, types.DStr(s))
				}
				dst[i] = foldNull(v, i, x, dst[i])
			}
			return
		}
		for i, s := range v.Str[:n] {
			dst[i] = foldNull(v, i, hashString(s), dst[i])
		}
	case types.PhysDec:
		for i := range v.Dec[:n] {
			dst[i] = foldNull(v, i, v.Dec[i].Hash(), dst[i])
		}
	case types.PhysInterval:
		for i, x := range v.Span[:n] {
			dst[i] = foldNull(v, i, x.Hash(), dst[i])
		}
	}
}

func foldNull(v *Vector, i int, x, h uint64) uint64 {
	if v.Nulls.Get(i) {
		return mix(hashNull, h^hashK3)
	}
	return mix(x^hashK1, h^hashK2)
}

// floatBits gives the bits of x with -0 as 0 and one NaN.
func floatBits(x float64) uint64 {
	if x == 0 {
		return 0
	}
	if x != x {
		return 0x7ff8000000000001
	}
	return math.Float64bits(x)
}

// hashString hashes the bytes of s, eight at a time.
func hashString(s string) uint64 {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	return hashBytes(b)
}

func hashBytes(b []byte) uint64 {
	h := uint64(len(b)) ^ hashK3
	for len(b) > 16 {
		h = mix(binary.LittleEndian.Uint64(b)^hashK1, binary.LittleEndian.Uint64(b[8:])^h)
		b = b[16:]
	}
	var lo, hi uint64
	switch n := len(b); {
	case n >= 8:
		lo = binary.LittleEndian.Uint64(b)
		hi = binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		lo = uint64(binary.LittleEndian.Uint32(b))
		hi = uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		lo = uint64(b[0])<<16 | uint64(b[n>>1])<<8 | uint64(b[n-1])
	}
	return mix(lo^hashK1, hi^h^hashK2)
}

// HashBytes hashes raw bytes with the same function, for keys in encoded form.
func HashBytes(b []byte) uint64 { return hashBytes(b) }
