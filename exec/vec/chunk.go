package vec

import "github.com/weirdb/weir/sql/types"

// NewChunk makes an empty chunk of columns of the given types with room for capacity rows.
func NewChunk(ts []types.Type, capacity int) *Chunk {
	c := &Chunk{Cols: make([]*Vector, len(ts))}
	for i, t := range ts {
		c.Cols[i] = NewVector(t, capacity)
	}
	return c
}

// Types gives the types of the columns.
func (c *Chunk) Types() []types.Type {
	ts := make([]types.Type, len(c.Cols))
	for i, v := range c.Cols {
		ts[i] = v.Type
	}
	return ts
}

// Reset empties the chunk, columns and diffs, and keeps the memory. It is append-only again until
// a diff other than +1 is appended.
func (c *Chunk) Reset() {
	for _, v := range c.Cols {
		v.Reset()
	}
	if c.Diffs != nil {
		c.spare = c.Diffs
	}
	c.Diffs = nil
	c.n = 0
}

// PushDiff counts one more row, with multiplicity diff, after its columns were appended one by one.
func (c *Chunk) PushDiff(diff int64) {
	if c.Diffs == nil && diff != 1 {
		c.EnsureDiffs()
	}
	if c.Diffs != nil {
		c.Diffs = append(c.Diffs, diff)
	}
	c.n++
}

// EnsureDiffs gives the chunk a diff column (of +1) if it has none.
func (c *Chunk) EnsureDiffs() {
	if c.Diffs != nil {
		return
	}
	c.Diffs = resize(c.spare[:0], c.n)
	if c.Diffs == nil {
		c.Diffs = make([]int64, 0, max(c.n, 8))
	}
	fill(c.Diffs, 1)
	c.spare = nil
}

// AppendRow appends a row of one Datum a column.
func (c *Chunk) AppendRow(row []types.Datum, diff int64) {
	for i, v := range c.Cols {
		v.AppendDatum(row[i])
	}
	c.PushDiff(diff)
}

// AppendFrom appends row i of src, with its diff.
func (c *Chunk) AppendFrom(src *Chunk, i int) { c.AppendFromDiff(src, i, src.Diff(i)) }

// AppendFromDiff appends row i of src with another diff.
func (c *Chunk) AppendFromDiff(src *Chunk, i int, diff int64) {
	for k, v := range c.Cols {
		v.AppendFrom(src.Cols[k], i)
	}
	c.PushDiff(diff)
}

// AppendRange appends the rows lo to hi-1 of src. A column that src leaves empty (a source that was
// not asked for it) stays empty.
func (c *Chunk) AppendRange(src *Chunk, lo, hi int) {
	for k, v := range c.Cols {
		if s := src.Cols[k]; s.Len() > 0 {
			v.AppendRange(s, lo, hi)
		}
	}
	if src.Diffs != nil {
		c.EnsureDiffs()
		c.Diffs = append(c.Diffs, src.Diffs[lo:hi]...)
	} else if c.Diffs != nil {
		at := len(c.Diffs)
		c.Diffs = resize(c.Diffs, at+hi-lo)
		fill(c.Diffs[at:], 1)
	}
	c.n += hi - lo
}

// AppendSel appends the rows of src that sel lists, in that order. Empty columns stay empty.
func (c *Chunk) AppendSel(src *Chunk, sel []int32) {
	for k, v := range c.Cols {
		if s := src.Cols[k]; s.Len() > 0 {
			v.AppendSel(s, sel)
		}
	}
	if src.Diffs != nil {
		c.EnsureDiffs()
		c.Diffs = gather(c.Diffs, src.Diffs, sel)
	} else if c.Diffs != nil {
		at := len(c.Diffs)
		c.Diffs = resize(c.Diffs, at+len(sel))
		fill(c.Diffs[at:], 1)
	}
	c.n += len(sel)
}

// Clone copies the chunk.
func (c *Chunk) Clone() *Chunk {
	d := NewChunk(c.Types(), c.n)
	d.AppendRange(c, 0, c.n)
	return d
}

// Row appends the values of row i to dst.
func (c *Chunk) Row(i int, dst []types.Datum) []types.Datum {
	for _, v := range c.Cols {
		dst = append(dst, v.Datum(i))
	}
	return dst
}

// View makes c show the columns cols of src (and its diffs) without copying: c is valid as long as
// src is, and owns nothing: it must not be appended to.
func (c *Chunk) View(src *Chunk, cols []int) {
	c.Cols = c.Cols[:0]
	for _, k := range cols {
		c.Cols = append(c.Cols, src.Cols[k])
	}
	c.Diffs, c.spare, c.n = src.Diffs, nil, src.n
}

// Bytes estimates the memory in use.
func (c *Chunk) Bytes() int {
	n := 8 * len(c.Diffs)
	for _, v := range c.Cols {
		n += v.Bytes()
	}
	return n
}
