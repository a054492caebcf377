package vec

import (
	"encoding/binary"
	"math/bits"

	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage/keycodec"
)

// RowsEncoder encodes whole chunks as EncodeKey and EncodeRow do row by row, column by column: a first pass
// adds up the sizes, a second one fills memory of just that size. The zero value is ready.
type RowsEncoder struct {
	// pos is where the next value of each row goes; in the first pass its size.
	pos []int
	// side holds the values whose size is not known before they are encoded: one column after the other, each
	// row's end in ends.
	side []byte
	ends []int
}

// Encode gives, in memory of their own, the keys and rows of the n rows of cols: row i's key ends at ends[2*i], its
// row at ends[2*i+1]. ends is appended to the slice that is passed.
func (e *RowsEncoder) Encode(ends []int, cols []*Vector, n int, keys []SortKey) ([]byte, []int) {
	if cap(e.pos) < n {
		e.pos = make([]int, n)
	}
	pos := e.pos[:n]
	e.side, e.ends = e.side[:0], e.ends[:0]
	intKey := true
	for _, k := range keys {
		v := cols[k.Col]
		intKey = intKey && v.Type.Phys() == types.PhysInt && !v.HasNulls()
	}
	if intKey {
		for i := range pos {
			pos[i] = 9 * len(keys)
		}
	} else {
		for i := range pos {
			at := len(e.side)
			e.side = EncodeKey(e.side, cols, i, keys)
			e.ends = append(e.ends, len(e.side))
			pos[i] = len(e.side) - at
		}
	}
	first := len(ends)
	for i := range pos {
		ends = append(ends, pos[i], 0)
	}
	own := ends[first:]
	head := (len(cols) + 7) / 8
	for i := range pos {
		pos[i] += head
	}
	for _, v := range cols {
		e.measure(v, pos)
	}
	at := 0
	for i, size := range pos {
		own[2*i] += at
		pos[i] = at
		at += size
		own[2*i+1] = at
	}
	buf := make([]byte, at)
	from, sideEnds := 0, e.ends
	if intKey {
		for _, k := range keys {
			fillIntKey(buf, pos, cols[k.Col].Int, k.Desc)
		}
	} else {
		from, sideEnds = e.fillSide(buf, pos, from, sideEnds)
	}
	for i := range pos {
		pos[i] += head
	}
	for k, v := range cols {
		if v.HasNulls() {
			for i := range pos {
				if v.Nulls.Get(i) {
					buf[own[2*i]+k>>3] |= 1 << (k & 7)
				}
			}
		}
		switch v.Type.Phys() {
		case types.PhysInt:
			fillInts(buf, pos, v)
		case types.PhysStr:
			fillStrings(buf, pos, v)
		default:
			from, sideEnds = e.fillSide(buf, pos, from, sideEnds)
		}
	}
	return buf, ends
}

func zigzag(x int64) uint64 { return uint64(x)<<1 ^ uint64(x>>63) }

func uvarintSize(x uint64) int { return (bits.Len64(x|1) + 6) / 7 }

// measure adds the sizes of the values of v.
func (e *RowsEncoder) measure(v *Vector, pos []int) {
	nulls := v.HasNulls()
	switch v.Type.Phys() {
	case types.PhysInt:
		for i, x := range v.Int[:len(pos)] {
			if !nulls || !v.Nulls.Get(i) {
				pos[i] += uvarintSize(zigzag(x))
			}
		}
	case types.PhysStr:
		for i, s := range v.Str[:len(pos)] {
			if !nulls || !v.Nulls.Get(i) {
				pos[i] += uvarintSize(uint64(len(s))) + len(s)
			}
		}
	default:
		for i := range pos {
			at := len(e.side)
			if !nulls || !v.Nulls.Get(i) {
				e.side = EncodeValue(e.side, v, i)
			}
			e.ends = append(e.ends, len(e.side))
			pos[i] += len(e.side) - at
		}
	}
}

func fillIntKey(buf []byte, pos []int, xs []int64, desc bool) {
	var scratch [9]byte
	for i, x := range xs[:len(pos)] {
		k := keycodec.AppendInt(keycodec.AppendNotNull(scratch[:0]), x, desc)
		pos[i] += copy(buf[pos[i]:], k)
	}
}

func fillInts(buf []byte, pos []int, v *Vector) {
	nulls := v.HasNulls()
	for i, x := range v.Int[:len(pos)] {
		if nulls && v.Nulls.Get(i) {
			continue
		}
		p := pos[i]
		u := zigzag(x)
		for u >= 0x80 {
			buf[p] = byte(u) | 0x80
			u >>= 7
			p++
		}
		buf[p] = byte(u)
		pos[i] = p + 1
	}
}

func fillStrings(buf []byte, pos []int, v *Vector) {
	nulls := v.HasNulls()
	for i, s := range v.Str[:len(pos)] {
		if nulls && v.Nulls.Get(i) {
			continue
		}
		p := pos[i]
		p += binary.PutUvarint(buf[p:], uint64(len(s)))
		pos[i] = p + copy(buf[p:], s)
	}
}

// fillSide copies the column of e.side that begins at from, whose ends come first in ends; it gives where the next
// one begins, and its ends.
func (e *RowsEncoder) fillSide(buf []byte, pos []int, from int, ends []int) (int, []int) {
	for i := range pos {
		pos[i] += copy(buf[pos[i]:], e.side[from:ends[i]])
		from = ends[i]
	}
	return from, ends[len(pos):]
}
