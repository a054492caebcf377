package op

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// groupTable keeps an entry per key, with a record of words, and mirrors the entries in a state
// table: the part that HashAgg, DISTINCT and Max1Row share.
//
// Life of an entry: lookup makes it (and reads it from the state table if it may be there); its owner
// changes it and calls dirtied; at a checkpoint it is written, or deleted and freed if it no longer exists.
// Without a state table the owner frees entries itself (drop). Clean entries may be evicted between
// chunks; pinned ones (flagTouched) are not.
type groupTable struct {
	keyTypes []types.Type
	store    *rowStore
	idx      *keyIndex
	// words holds a record per entry: word 0 is a count of rows that the owner maintains, word 1
	// the flags below, the rest belongs to the owner.
	words paged[int64]
	owner groupOwner
	// rowError is Context.RowError. While results of aggregate number site are worked out, of are the entries, which fill
	// a vector from place from on, and diff is as in exec.RowFailure.
	rowError   func(exec.RowFailure) error
	site, from int
	of         []uint32
	diff       int64
	// env is what the text of a value depends on.
	env *types.Env
	// dist are the key columns that decide the vnode.
	dist []int
	// inexact are the key columns whose equal values may differ (1.0 and 1.00): their
	// representation is kept in the value, because what was emitted must be taken back as it was.
	inexact []int
	// paned: the last key column is the number of a pane, and panes of the same other columns that
	// follow each other are to be found close to each other in the index.
	paned bool

	st exec.StateTable
	// cold: an entry that is not in memory may be in the state table.
	cold bool
	// evictions counts how often entries were evicted.
	evictions int64
	dirty     []uint32
	hand      uint32 // clock hand of eviction
	// stuck: an eviction found too little that is clean; only a checkpoint changes that.
	stuck   bool
	sweeper sweeper

	hashes []uint64
	ents   []uint32
	keys   stateKeys
	val    []byte
	chunk  *vec.Chunk // key columns of some entries
	distV  []*vec.Vector
}

// groupOwner encodes what belongs to an entry besides the key.
type groupOwner interface {
	// reset prepares the new entry e, whose words are zero.
	reset(e uint32)
	// exists tells whether e has to be kept in the state table.
	exists(e uint32) bool
	encode(e uint32, dst []byte) []byte
	decode(e uint32, b []byte) error
	// loaded is called after decode with the state key, saved when e is written or deleted.
	loaded(e uint32, key []byte) error
	saved(e uint32, key []byte)
	// extraBytes estimates the memory outside the record of an entry.
	extraBytes() int
}

const (
	wordCount = 0
	wordFlags = 1
	wordOwner = 2 // first word of the owner

	flagTouched int64 = 1  // changed in this epoch
	flagDirty   int64 = 2  // differs from the state table
	flagRef     int64 = 4  // used since the clock hand passed
	flagShown   int64 = 8  // its row was emitted
	flagStored  int64 = 16 // it is in the state table
)

func newGroupTable(keyTypes []types.Type, dist []int, ownWords int, owner groupOwner) *groupTable {
	g := &groupTable{keyTypes: keyTypes, dist: dist, owner: owner}
	g.store = newRowStore(keyTypes)
	g.idx = newKeyIndex(g.store, len(keyTypes))
	g.words.w = wordOwner + ownWords
	for k, t := range keyTypes {
		if inexactType(t) {
			g.inexact = append(g.inexact, k)
		}
	}
	return g
}

func (g *groupTable) open(st exec.StateTable) {
	g.st = st
	g.cold = st != nil && !st.Empty()
}

func (g *groupTable) rec(e uint32) []int64 { return g.words.rec(e) }

// lookup gives the entries of n rows of key columns, making those that do not exist. The result
// is valid until the next call.
func (g *groupTable) lookup(cols []*vec.Vector, n int) ([]uint32, error) {
	g.hashes = g.hash(cols, n, g.hashes)
	if cap(g.ents) < n {
		g.ents = make([]uint32, max(n, 64))
	}
	g.ents = g.ents[:n]
	g.idx.findOrAdd(cols, g.hashes, g.ents)
	if len(g.idx.added) == 0 {
		return g.ents, nil
	}
	g.words.ensure(g.store.n)
	g.sweeper.made += len(g.idx.added)
	for _, row := range g.idx.added {
		e := g.ents[row]
		clear(g.rec(e))
		g.owner.reset(e)
	}
	if !g.cold {
		return g.ents, nil
	}
	g.prepareKeys(cols, n, g.hashes)
	for _, row := range g.idx.added {
		e := g.ents[row]
		key := g.keys.key(cols, int(row), false)
		val, ok, err := g.st.Get(key)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if err := g.load(e, key, val); err != nil {
			return nil, err
		}
	}
	return g.ents, nil
}

// describe prints the first n key columns of e.
func (g *groupTable) describe(e uint32, n int) string {
	s := "("
	for k, t := range g.keyTypes[:n] {
		if k > 0 {
			s += ", "
		}
		s += vec.FormatDatum(t, g.store.datum(k, e))
	}
	return s + ")"
}

// hash computes what the index goes by.
func (g *groupTable) hash(cols []*vec.Vector, n int, dst []uint64) []uint64 {
	if !g.paned {
		return vec.HashRows(cols, n, dst)
	}
	last := len(cols) - 1
	dst = vec.HashRows(cols[:last], n, dst)
	for i, p := range cols[last].Int[:n] {
		dst[i] = paneHash(dst[i], p)
	}
	return dst
}

// paneHash is the hash of a pane, given that of the other key columns. Eight panes share a place in the index, and are
// spread from there in their order; more would make long runs of full slots.
func paneHash(h uint64, pane int64) uint64 { return vec.HashMore(h, pane>>3) + uint64(pane&7) }

// load fills the new entry e with its value in the state table.
func (g *groupTable) load(e uint32, key, val []byte) error {
	val, err := g.decodeKey(e, val)
	if err == nil {
		err = g.owner.decode(e, val)
	}
	if err != nil {
		return fmt.Errorf("state of key %x: %w", key, err)
	}
	g.rec(e)[wordFlags] |= flagShown | flagStored
	return g.owner.loaded(e, key)
}

// prepareKeys makes g.keys ready for rows of key columns with the given hashes.
func (g *groupTable) prepareKeys(cols []*vec.Vector, n int, hashes []uint64) {
	if len(g.dist) == len(cols) && isIota(g.dist) {
		g.keys.hashes = append(g.keys.hashes[:0], hashes[:n]...)
		return
	}
	g.distV = g.distV[:0]
	for _, d := range g.dist {
		g.distV = append(g.distV, cols[d])
	}
	g.keys.prepare(g.distV, n)
}

// inexactType tells whether two values of t may be equal and not the same.
func inexactType(t types.Type) bool {
	switch t.Phys() {
	case types.PhysFloat, types.PhysDec, types.PhysInterval:
		return true
	}
	switch t.Kind {
	case types.Char, types.Jsonb, types.Array, types.Record:
		return true
	}
	return t.Kind.IsComposite()
}

func (g *groupTable) inexactTypes() []types.Type { return pickTypes(g.keyTypes, g.inexact) }

func (g *groupTable) encodeKey(e uint32) []byte {
	if len(g.inexact) == 0 {
		return g.val[:0]
	}
	row := make([]types.Datum, 0, 8)
	for _, k := range g.inexact {
		row = append(row, g.store.datum(k, e))
	}
	return vec.EncodeDatums(g.val[:0], g.inexactTypes(), row)
}

func (g *groupTable) decodeKey(e uint32, b []byte) ([]byte, error) {
	if len(g.inexact) == 0 {
		return b, nil
	}
	row, rest, err := vec.DecodeDatums(make([]types.Datum, 0, 8), g.inexactTypes(), b)
	if err != nil {
		return nil, err
	}
	for i, k := range g.inexact {
		g.store.replace(k, e, row[i])
	}
	return rest, nil
}

func isIota(a []int) bool {
	for i, x := range a {
		if i != x {
			return false
		}
	}
	return true
}

// dirtied marks e as changed since the last checkpoint.
func (g *groupTable) dirtied(e uint32) {
	if f := &g.rec(e)[wordFlags]; *f&flagDirty == 0 && g.st != nil {
		*f |= flagDirty
		g.dirty = append(g.dirty, e)
	}
}

// pieces calls fn for the entries in pieces, with their key columns and the hashes of the keys.
func (g *groupTable) pieces(ents []uint32, fn func(ents []uint32, cols []*vec.Vector, hashes []uint64)) {
	if g.chunk == nil {
		g.chunk = vec.NewChunk(g.keyTypes, 0)
	}
	for len(ents) > 0 {
		n := min(len(ents), vec.ChunkSize)
		g.chunk.Reset()
		for k, v := range g.chunk.Cols {
			g.store.gather(k, ents[:n], v)
		}
		g.hashes = g.hash(g.chunk.Cols, n, g.hashes)
		fn(ents[:n], g.chunk.Cols, g.hashes)
		ents = ents[n:]
	}
}

// checkpoint writes the dirty entries to the state table.
func (g *groupTable) checkpoint() {
	if g.st == nil {
		return
	}
	g.pieces(g.dirty, func(ents []uint32, cols []*vec.Vector, hashes []uint64) {
		g.prepareKeys(cols, len(ents), hashes)
		for i, e := range ents {
			key := g.keys.key(cols, i, false)
			g.rec(e)[wordFlags] &^= flagDirty
			g.owner.saved(e, key)
			if g.owner.exists(e) {
				g.val = g.owner.encode(e, g.encodeKey(e))
				if g.rec(e)[wordFlags]&flagStored == 0 {
					g.st.Insert(key, g.val)
				} else {
					g.st.Append(key, g.val)
				}
				g.rec(e)[wordFlags] |= flagStored
				continue
			}
			if g.rec(e)[wordFlags]&flagStored != 0 {
				g.st.Delete(key)
			}
			g.free(e, hashes[i])
		}
	})
	g.dirty = g.dirty[:0]
	g.stuck = false
}

// drop frees entries that exist no longer.
func (g *groupTable) drop(ents []uint32) {
	g.pieces(ents, func(ents []uint32, _ []*vec.Vector, hashes []uint64) {
		for i, e := range ents {
			g.free(e, hashes[i])
		}
	})
}

func (g *groupTable) free(e uint32, hash uint64) {
	g.idx.remove(e, hash)
	g.owner.reset(e)
	g.store.release(e)
}

// bytes estimates the memory in use.
func (g *groupTable) bytes() int {
	return g.store.bytes() + g.idx.bytes() + g.store.count()*g.words.w*8 + g.owner.extraBytes()
}

// held is the memory that the table has, and dirtyBytes about what of it cannot be evicted, if so many
// entries besides the dirty ones are in use.
func (g *groupTable) held() int {
	return g.store.held() + g.idx.bytes() + int(g.store.room)*g.words.w*8 + g.owner.extraBytes()
}

func (g *groupTable) dirtyBytes(touched int) int {
	if n := len(g.dirty) + touched; n > 0 && g.st != nil {
		return n * (g.bytes()/max(g.store.count(), 1) + 1)
	}
	return 0
}

// restart gives back memory after evictions, which leave holes that only new entries fill: if far more is
// held than budget, everything is forgotten. Nothing may be dirty or touched.
func (g *groupTable) restart(budget int64) {
	if budget <= 0 || g.st == nil || len(g.dirty) > 0 || int64(g.held()) <= 2*budget+minHeld {
		return
	}
	for e := range g.store.n {
		if g.store.live.get(e) {
			g.owner.reset(e)
		}
	}
	g.store = newRowStore(g.keyTypes)
	g.idx = newKeyIndex(g.store, len(g.keyTypes))
	g.idx.inl = g.idx.inl && !g.paned
	g.words = paged[int64]{w: g.words.w}
	g.hand = 0
	g.cold = true
}

// minHeld is memory that is not worth giving back.
const minHeld = 256 << 10

// evict frees clean entries until the memory is below the budget (0: none), least recently used
// first by a clock. Entries that this epoch touched stay.
func (g *groupTable) evict(budget int64) {
	if budget <= 0 || g.st == nil || g.stuck || int64(g.bytes()) <= budget {
		return
	}
	var victims []uint32
	perEntry := int64(g.bytes()/max(g.store.count(), 1)) + 1
	need := (int64(g.bytes())-budget)/perEntry + 1
	for range 2 * int(g.store.n) {
		if g.hand >= g.store.n {
			g.hand = 0
		}
		e := g.hand
		g.hand++
		if !g.store.live.get(e) {
			continue
		}
		f := &g.rec(e)[wordFlags]
		switch {
		case *f&(flagDirty|flagTouched) != 0:
		case *f&flagRef != 0:
			*f &^= flagRef
		default:
			*f |= flagTouched // not twice
			victims = append(victims, e)
		}
		if int64(len(victims)) >= need {
			break
		}
	}
	g.stuck = int64(len(victims)) < need
	if len(victims) > 0 {
		g.cold = true
		g.evictions++
		g.drop(victims)
	}
}
