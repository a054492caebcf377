package op

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// RowSet remembers distinct rows in memory: those of a recursive query with UNION that is run once.
type RowSet struct {
	store  *rowStore
	idx    *keyIndex
	hashes []uint64
	ents   []uint32
	once   vec.Chunk // a chunk without its diffs
}

// NewRowSet makes an empty set of rows of these types.
func NewRowSet(ts []types.Type) *RowSet {
	s := newRowStore(ts)
	return &RowSet{store: s, idx: newKeyIndex(s, len(ts))}
}

// Add appends the rows of c that are not in the set to dst, each once, whatever its multiplicity, and adds them.
func (s *RowSet) Add(dst, c *vec.Chunk) {
	n := c.Len()
	if cap(s.ents) < n {
		s.ents = make([]uint32, max(n, 64))
	}
	s.hashes = vec.HashRows(c.Cols, n, s.hashes)
	s.idx.findOrAdd(c.Cols, s.hashes, s.ents[:n])
	s.once.Cols = c.Cols
	s.once.SetLen(n)
	dst.AppendSel(&s.once, s.idx.added)
}

// Bytes estimates its memory.
func (s *RowSet) Bytes() int { return s.store.bytes() + s.idx.bytes() }
