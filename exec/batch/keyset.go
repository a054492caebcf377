package batch

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// KeySet collects the different values that some columns of a node's rows have, as long as they are few.
type KeySet struct {
	cols []int
	ts   []types.Type
	most int

	keys map[string]struct{}
	done bool
	buf  []byte
	row  []*vec.Vector
}

// NewKeySet makes one for columns cols, of types ts, that gives up when there are more than most different keys.
func NewKeySet(cols []int, ts []types.Type, most int) *KeySet {
	return &KeySet{cols: cols, ts: ts, most: most, row: make([]*vec.Vector, len(cols))}
}

// begin forgets everything: the node is run, maybe again.
func (k *KeySet) begin() { k.keys, k.done = map[string]struct{}{}, false }

func (k *KeySet) add(c *vec.Chunk) {
	if k.keys == nil {
		return
	}
	for i, at := range k.cols {
		k.row[i] = c.Cols[at]
	}
rows:
	for i := range c.Len() {
		for _, v := range k.row {
			if v.IsNull(i) {
				continue rows // it is equal to nothing
			}
		}
		k.buf = vec.EncodeRow(k.buf[:0], k.row, i)
		if _, ok := k.keys[string(k.buf)]; ok {
			continue
		}
		if len(k.keys) == k.most {
			k.keys = nil
			return
		}
		k.keys[string(k.buf)] = struct{}{}
	}
}

// Len is the number of keys, -1 if the node has not been run to its end, or they were too many.
func (k *KeySet) Len() int {
	if !k.done || k.keys == nil {
		return -1
	}
	return len(k.keys)
}

// Keys gives a chunk of the keys, in any order.
func (k *KeySet) Keys() (*vec.Chunk, error) {
	c := vec.NewChunk(k.ts, len(k.keys))
	for key := range k.keys {
		if _, err := vec.DecodeRow([]byte(key), c.Cols); err != nil {
			return nil, err
		}
		c.PushDiff(1)
	}
	return c, nil
}
