// Package vec holds data in columns: vectors of one type with a NULL bitmap, and chunks of
// vectors with an optional diff column.
//
// Ownership: a chunk that is passed to an operator is valid during the call only. The callee must
// not change it and must not keep it; what it wants to keep it copies. The bytes behind strings
// are immutable for ever, so a string value may be kept without copying its bytes.
package vec

import "github.com/weirdb/weir/sql/types"

// ChunkSize is the usual number of rows of a chunk. Operators must work with any size from 1.
const ChunkSize = 1024

// Vector is a column of values of one type. Exactly one of the value slices is in use, by
// Type.Phys(); its length is the number of rows. The value at a NULL row is unspecified, but
// never invalid (kernels may compute on it as long as they cannot fail).
type Vector struct {
	Type types.Type
	// Nulls has a bit set for every NULL row; nil means that no row is NULL.
	Nulls Bitmap
	Bool  []bool
	Int   []int64
	Float []float64
	Str   []string
	Dec   []types.Decimal
	Span  []types.Span
}

// Chunk is a batch of rows. Diffs holds the signed multiplicity of each row; nil means that all are
// +1 and the rows are append-only. A diff is never 0. An update is a row with diff -1 directly or
// later followed by a row with diff +1.
type Chunk struct {
	Cols  []*Vector
	Diffs []int64
	n     int
	// spare keeps the memory of Diffs while Diffs is nil, for reuse after Reset.
	spare []int64
}

// Len is the number of rows.
func (c *Chunk) Len() int { return c.n }

// SetLen says how many rows the columns hold, after they were filled directly. All columns (and
// Diffs if not nil) must have that length.
func (c *Chunk) SetLen(n int) { c.n = n }

// Diff is the multiplicity of row i.
func (c *Chunk) Diff(i int) int64 {
	if c.Diffs == nil {
		return 1
	}
	return c.Diffs[i]
}

// Bitmap is a set of row numbers, bit i%64 of word i/64. A nil or short Bitmap has no further rows.
type Bitmap []uint64

// Get tells whether row i is in the set.
func (b Bitmap) Get(i int) bool {
	w := i >> 6
	return w < len(b) && b[w]&(1<<(uint(i)&63)) != 0
}

// Set adds row i, growing the bitmap as needed.
func (b *Bitmap) Set(i int) {
	w := i >> 6
	for len(*b) <= w {
		*b = append(*b, 0)
	}
	(*b)[w] |= 1 << (uint(i) & 63)
}

// Or adds the rows of o.
func (b *Bitmap) Or(o Bitmap) {
	for len(*b) < len(o) {
		*b = append(*b, 0)
	}
	for i, w := range o {
		(*b)[i] |= w
	}
}

// Any tells whether the set is not empty.
func (b Bitmap) Any() bool {
	for _, w := range b {
		if w != 0 {
			return true
		}
	}
	return false
}
