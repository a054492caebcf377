package op

import (
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// joinSide is the state of one input of a HashJoin: its rows, chained by join key.
//
// The store has first the columns that identify a row (the row key; for a multiset everything that
// is kept; none if the side is append-only), then the others that are needed. Rows of a key form a list, newest first, from
// the head in the key's record; prev exists only where rows can be taken back.
type joinSide struct {
	keys       []int // input columns
	appendOnly bool
	multiset   bool // no row key: equal rows are one row with a multiplicity
	// numbered: append-only. Rows need not be found again, so what identifies them is not kept and
	// equal ones stay apart. The rows that came under a join key since the last checkpoint, which
	// are the first ones of the chain, are stored together, under the number of the first of them.
	numbered bool
	// brief: numbered, and the other side has at most one row for a key, which never goes: with that row a row of this side is
	// through, and is not kept any longer. Its state has the number of the piece in place of the number of the row, so that the
	// keys of all of them are known.
	brief bool
	// pieces counts, by key, the values in the state table of a brief side.
	pieces paged[uint32]
	outer  bool // rows without a match show in the output
	// distKeys are the positions within keys of the distribution columns.
	distKeys []int

	stored []int // the input column of each store column
	at     []int // the store column of each input column, or -1
	ident  int   // the first ident store columns identify a row
	store  *rowStore
	next   paged[uint32] // row+1, 0 ends the chain
	prev   paged[uint32]
	ent    paged[uint32] // the key's entry
	mult   paged[int64]  // only for multisets
	deg    paged[int64]  // number of matches; only if there is a residual and the side is outer
	flags  paged[uint8]
	useDeg bool

	// byIdent finds rows by identity; made when chains turn out to be long, or at once for
	// multisets that have a state table.
	byIdent *keyIndex

	st exec.StateTable
	// shared reads the rows from a relation; then st is nil.
	shared *sharedRows
	dirty  []uint32
	// fresh counts the rows of a numbered side that came since the last checkpoint.
	fresh  int
	chunk  *vec.Chunk
	hashes []uint64
	identV []*vec.Vector
	storeV []*vec.Vector
	keys2  stateKeys
	val    []byte
}

const (
	rowDirty  = 1 // differs from the state table
	rowStored = 2 // is in the state table
)

// longChain is the number of rows of a key that a deletion may look at before the side gets an
// index by identity.
const longChain = 32

func newJoinSide(in []types.Type, keys, rowKey, needed []int, appendOnly bool) *joinSide {
	s := &joinSide{keys: keys, appendOnly: appendOnly, multiset: rowKey == nil && !appendOnly, numbered: appendOnly}
	if s.numbered {
		s.stored = append(s.stored, needed...)
		slices.Sort(s.stored)
		s.stored = slices.Compact(s.stored)
	} else if s.multiset {
		s.stored = append(append([]int{}, needed...), keys...)
		slices.Sort(s.stored)
		s.stored = slices.Compact(s.stored)
		s.ident = len(s.stored)
	} else {
		for _, k := range rowKey {
			if !slices.Contains(s.stored, k) {
				s.stored = append(s.stored, k)
			}
		}
		s.ident = len(s.stored)
		for _, k := range needed {
			if !slices.Contains(s.stored, k) {
				s.stored = append(s.stored, k)
			}
		}
	}
	s.at = make([]int, len(in))
	for i := range s.at {
		s.at[i] = slices.Index(s.stored, i)
	}
	s.store = newRowStore(pickTypes(in, s.stored))
	return s
}

func (s *joinSide) open(st exec.StateTable) {
	s.st = st
	if (st != nil || s.shared != nil) && s.multiset {
		s.index()
	}
}

// alloc makes a row and links it in front of its chain; its columns must be put next.
func (s *joinSide) alloc(e uint32, head *uint32) uint32 {
	s.reserve(1)
	return s.link(e, head)
}

// reserve makes room for n calls of link.
func (s *joinSide) reserve(n int) {
	s.store.reserve(n)
	top := s.store.n + uint32(n)
	s.next.ensure(top)
	s.ent.ensure(top)
	if !s.numbered {
		s.flags.ensure(top)
	}
	if !s.appendOnly {
		s.prev.ensure(top)
	}
	if s.multiset {
		s.mult.ensure(top)
	}
	if s.useDeg {
		s.deg.ensure(top)
	}
}

func (s *joinSide) link(e uint32, head *uint32) uint32 {
	r := s.store.take()
	*s.next.at(r) = *head
	*s.ent.at(r) = e
	if !s.numbered {
		*s.flags.at(r) = 0
	}
	if !s.appendOnly {
		*s.prev.at(r) = 0
		if *head != 0 {
			*s.prev.at(*head - 1) = r + 1
		}
	}
	if s.multiset {
		*s.mult.at(r) = 1
	}
	if s.useDeg {
		*s.deg.at(r) = 0
	}
	*head = r + 1
	return r
}

// put stores row i of c as row r.
func (s *joinSide) put(r uint32, c *vec.Chunk, i int) {
	for k, col := range s.stored {
		s.store.put(k, r, c.Cols[col], i)
	}
}

func (s *joinSide) markDirty(r uint32) {
	if s.st == nil {
		return
	}
	if f := s.flags.at(r); *f&rowDirty == 0 {
		*f |= rowDirty
		s.dirty = append(s.dirty, r)
	}
}

// multiplicity of row r.
func (s *joinSide) multiplicity(r uint32) int64 {
	if s.multiset {
		return *s.mult.at(r)
	}
	return 1
}

// unlink takes row r out of its chain and frees it. hash is that of its identity if byIdent exists.
func (s *joinSide) unlink(r uint32, head *uint32, hash uint64) {
	next := *s.next.at(r)
	if s.appendOnly {
		// Only whole buckets are freed then (eviction): the caller walks the chain.
		*head = next
	} else {
		prev := *s.prev.at(r)
		if prev == 0 {
			*head = next
		} else {
			*s.next.at(prev - 1) = next
		}
		if next != 0 {
			*s.prev.at(next - 1) = prev
		}
	}
	if s.byIdent != nil {
		s.byIdent.remove(r, hash)
	}
	if !s.numbered {
		*s.flags.at(r) = 0
	}
	s.store.release(r)
}

// rowHashes computes the identity hashes of a chunk of input.
func (s *joinSide) rowHashes(c *vec.Chunk) []uint64 {
	s.identV = pick(c, s.stored[:s.ident], s.identV)
	s.hashes = vec.HashRows(s.identV, c.Len(), s.hashes)
	return s.hashes
}

// sameIdent tells whether row r is identified by row i of the identity columns.
func (s *joinSide) sameIdent(r uint32, ident []*vec.Vector, i int) bool {
	for k := range s.ident {
		if !s.store.equal(k, r, ident[k], i, s.multiset) {
			return false
		}
	}
	return true
}

// sameRow tells whether row r holds exactly row i of c.
func (s *joinSide) sameRow(r uint32, c *vec.Chunk, i int) bool {
	for k, col := range s.stored {
		if !s.store.equal(k, r, c.Cols[col], i, true) {
			return false
		}
	}
	return true
}

// find gives the row of the chain of head that is identified by row i of c, or none. If several are (an
// update that arrives new row first), it prefers the one that is exactly row i.
func (s *joinSide) find(e uint32, head uint32, c *vec.Chunk, i int, hashes []uint64) uint32 {
	best := none
	check := func(r uint32) bool {
		if *s.ent.at(r) != e || !s.sameIdent(r, s.identV, i) {
			return false
		}
		if s.multiset || s.sameRow(r, c, i) {
			best = r
			return true
		}
		if best == none {
			best = r
		}
		return false
	}
	if s.byIdent != nil {
		s.byIdent.each(hashes[i], check)
		return best
	}
	steps := 0
	for r := head; r != 0; r = *s.next.at(r - 1) {
		if check(r - 1) {
			break
		}
		if steps++; steps == longChain {
			s.index()
			best = none
			s.byIdent.each(hashes[i], check)
			break
		}
	}
	return best
}

// index makes byIdent from the rows.
func (s *joinSide) index() {
	s.byIdent = newKeyIndex(s.store, s.ident)
	s.byIdent.inl = false
	s.byIdent.exact = s.multiset
	var rows []uint32
	for r := range s.store.n {
		if s.store.live.get(r) {
			rows = append(rows, r)
		}
	}
	s.eachHash(rows, func(r uint32, h uint64) { s.byIdent.insert(r, h) })
}

// eachHash calls fn for rows with the hashes of their identities.
func (s *joinSide) eachHash(rows []uint32, fn func(r uint32, h uint64)) {
	var hashes []uint64
	c := vec.NewChunk(s.store.types()[:s.ident], 0)
	for len(rows) > 0 {
		n := min(len(rows), vec.ChunkSize)
		c.Reset()
		for k, v := range c.Cols {
			s.store.gather(k, rows[:n], v)
		}
		hashes = vec.HashRows(c.Cols, n, hashes)
		for i, r := range rows[:n] {
			fn(r, hashes[i])
		}
		rows = rows[n:]
	}
}

// held is the memory that the side has, in use or not.
func (s *joinSide) held() int {
	n := s.store.held() + int(s.store.room)*s.linkBytes()
	if s.byIdent != nil {
		n += s.byIdent.bytes()
	}
	return n
}

// linkBytes is what a row takes besides its columns.
func (s *joinSide) linkBytes() int {
	n := 8
	if !s.numbered {
		n++
	}
	if !s.appendOnly {
		n += 4
	}
	if s.multiset {
		n += 8
	}
	if s.useDeg {
		n += 8
	}
	return n
}

// restart forgets all rows, with the memory that they had.
func (s *joinSide) restart() {
	s.store = newRowStore(s.store.types())
	s.next, s.ent, s.prev = paged[uint32]{}, paged[uint32]{}, paged[uint32]{}
	s.flags = paged[uint8]{}
	s.mult, s.deg = paged[int64]{}, paged[int64]{}
	s.byIdent = nil
	if s.multiset {
		s.index()
	}
}

// bytes estimates the memory in use.
func (s *joinSide) bytes() int {
	n := s.store.bytes() + s.store.count()*18
	if s.byIdent != nil {
		n += s.byIdent.bytes()
	}
	return n
}
