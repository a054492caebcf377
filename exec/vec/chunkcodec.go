package vec

import (
	"encoding/binary"
	"slices"

	"github.com/weirdb/weir/sql/types"
)

// EncodeChunk appends a chunk to dst: the number of rows, whether there are diffs, for each column whether it has
// values (those that nobody asked for have none), and the rows.
func EncodeChunk(dst []byte, c *Chunk) []byte {
	dst = binary.AppendUvarint(dst, uint64(c.Len()))
	if c.Diffs != nil {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	cols := make([]*Vector, 0, len(c.Cols))
	for _, v := range c.Cols {
		if v.Len() > 0 {
			dst = append(dst, 1)
			cols = append(cols, v)
		} else {
			dst = append(dst, 0)
		}
	}
	for i := range c.Len() {
		if c.Diffs != nil {
			dst = binary.AppendVarint(dst, c.Diffs[i])
		}
		dst = EncodeRow(dst, cols, i)
	}
	return dst
}

// DecodeChunk is the inverse of EncodeChunk for a chunk of these types. It keeps b.
func DecodeChunk(b []byte, ts []types.Type) (*Chunk, error) {
	rows, n := binary.Uvarint(b)
	if n <= 0 || len(b) < n+1+len(ts) || rows > uint64(len(b))<<8 {
		return nil, ErrCorruptRow
	}
	diffs := b[n] == 1
	given := b[n+1 : n+1+len(ts)]
	b = b[n+1+len(ts):]
	c := NewChunk(ts, 0)
	var cols []*Vector
	for k, v := range c.Cols {
		if given[k] == 1 {
			c.Cols[k] = NewVector(ts[k], int(rows))
			cols = append(cols, c.Cols[k])
		} else {
			c.Cols[k] = v
		}
	}
	if diffs {
		c.Diffs = slices.Grow(c.Diffs, int(rows))
	}
	for range rows {
		if diffs {
			d, n := binary.Varint(b)
			if n <= 0 {
				return nil, ErrCorruptRow
			}
			c.Diffs = append(c.Diffs, d)
			b = b[n:]
		}
		var err error
		if b, err = DecodeRowShared(b, cols); err != nil {
			return nil, err
		}
	}
	if len(b) != 0 {
		return nil, ErrCorruptRow
	}
	c.SetLen(int(rows))
	return c, nil
}
