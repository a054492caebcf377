package op

import (
	"math/bits"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// keyIndex finds the entry of a key among the rows of a rowStore, whose first columns are the key.
//
//  1. The top 8 bits of the hash choose one of 256 sub-tables, the low bits a slot of it; collisions go to the
//     next slot. A sub-table grows alone, so that no chunk ever waits for more than a small part
//     to be moved.
//  2. A chunk is looked up in two passes. The first one only reads, so that the processor need not
//     wait for one row's slot before it asks for the next one's; it settles all keys that are there. The
//     second pass inserts the others, in the order of the rows.
//  3. With a single integer key the slot holds the key itself; otherwise it holds the hash, and rows whose
//     hash is equal are compared column by column.
//  4. Removing moves later slots of the run back (no tombstones).
//
// Invariant: a sub-table is at most 5/8 full; a slot's entry is live in the store.
type keyIndex struct {
	store *rowStore
	keys  int  // number of key columns
	inl   bool // single PhysInt key: slots hold the key
	exact bool // compare to the last bit instead of SQL equality
	subs  [256]subTable
	// nullEnt is the entry of the key NULL if inl, or none.
	nullEnt uint32
	slots   int // allocated slots, for memory accounting

	misses []int32
	// added lists the rows of the last findOrAdd that made new entries, in order.
	added []int32
}

type subTable struct {
	slots []slot
	used  int
}

// slot is empty if ent is 0; the entry is ent-1.
type slot struct {
	key uint64 // the key if inl, else the hash
	ent uint32
	_   uint32
}

func newKeyIndex(store *rowStore, keys int) *keyIndex {
	x := &keyIndex{store: store, keys: keys, nullEnt: none}
	x.inl = keys == 1 && store.cols[0].phys == types.PhysInt
	return x
}

// bytes estimates the memory of the slots.
func (x *keyIndex) bytes() int { return x.slots * 16 }

// find writes the entry of each row, or none, to ents (of length len(hashes)). hashes are those of
// the key columns (vec.HashRows).
func (x *keyIndex) find(cols []*vec.Vector, hashes []uint64, ents []uint32) {
	x.firstPass(cols, hashes, ents)
	for _, i := range x.misses {
		ents[i] = x.findOne(cols, int(i), hashes[i])
	}
}

// findOrAdd is find that adds missing keys: it allocates entries, in the order of the rows, and puts the
// key columns. Afterwards x.added lists the rows that made them.
func (x *keyIndex) findOrAdd(cols []*vec.Vector, hashes []uint64, ents []uint32) {
	x.firstPass(cols, hashes, ents)
	x.added = x.added[:0]
	for _, i := range x.misses {
		e, isNew := x.findOrAddOne(cols, int(i), hashes[i])
		ents[i] = e
		if isNew {
			x.added = append(x.added, i)
		}
	}
}

// firstPass sets ents for the keys that are there, and lists the other rows in misses.
func (x *keyIndex) firstPass(cols []*vec.Vector, hashes []uint64, ents []uint32) {
	x.misses = x.misses[:0]
	n := len(hashes)
	ents = ents[:n]
	if x.keys == 0 {
		for i := range n {
			x.misses = append(x.misses, int32(i))
		}
		return
	}
	if x.inl {
		v := cols[0]
		keys := v.Int[:n]
		nulls := v.HasNulls()
		hit := uint64(0) // the key of the row before, if that has been found
		last := none
		for i, h := range hashes {
			if last != none && uint64(keys[i]) == hit && !nulls {
				ents[i] = last
				continue
			}
			sub := &x.subs[h>>56]
			if len(sub.slots) == 0 || nulls && v.Nulls.Get(i) {
				x.misses = append(x.misses, int32(i))
				continue
			}
			key := uint64(keys[i])
			slots := sub.slots
			mask := uint64(len(slots) - 1)
			for at := h & mask; ; at = (at + 1) & mask {
				if s := &slots[at&uint64(len(slots)-1)]; s.ent == 0 {
					x.misses = append(x.misses, int32(i))
					break
				} else if s.key == key {
					ents[i] = s.ent - 1
					hit, last = key, ents[i]
					break
				}
			}
		}
		return
	}
	// Candidates by hash, then verified a column at a time.
	for i, h := range hashes {
		ents[i] = none
		slots := x.subs[h>>56].slots
		if len(slots) == 0 {
			continue
		}
		mask := uint64(len(slots) - 1)
		for at := h & mask; ; at = (at + 1) & mask {
			s := &slots[at&uint64(len(slots)-1)]
			if s.ent == 0 {
				break
			}
			if s.key == h {
				ents[i] = s.ent - 1
				break
			}
		}
	}
	for k := range x.keys {
		v, c := cols[k], &x.store.cols[k]
		if c.phys == types.PhysInt && !c.hasNulls && !v.HasNulls() {
			for i, y := range v.Int[:n] {
				if e := ents[i]; e != none && *c.words.at(e) != y {
					ents[i] = none
				}
			}
			continue
		}
		for i := range n {
			if e := ents[i]; e != none && !x.store.equal(k, e, v, i, x.exact) {
				ents[i] = none
			}
		}
	}
	for i, e := range ents {
		if e == none {
			x.misses = append(x.misses, int32(i))
		}
	}
}

func (x *keyIndex) same(e uint32, cols []*vec.Vector, row int) bool {
	for k := range x.keys {
		if !x.store.equal(k, e, cols[k], row, x.exact) {
			return false
		}
	}
	return true
}

// findOne gives the entry of one key, or none.
func (x *keyIndex) findOne(cols []*vec.Vector, row int, h uint64) uint32 {
	if x.inl && cols[0].Nulls.Get(row) {
		return x.nullEnt
	}
	sub := &x.subs[h>>56]
	if len(sub.slots) == 0 {
		return none
	}
	key := h
	if x.inl {
		key = uint64(cols[0].Int[row])
	}
	mask := uint64(len(sub.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		s := &sub.slots[at]
		if s.ent == 0 {
			return none
		}
		if s.key == key && (x.inl || x.same(s.ent-1, cols, row)) {
			return s.ent - 1
		}
	}
}

// near finds the entry whose key is that of e but for its last column, a PhysInt without NULLs, which has the
// value v; h is the hash of that key. Not for inl.
func (x *keyIndex) near(e uint32, v int64, h uint64) uint32 {
	sub := &x.subs[h>>56]
	if len(sub.slots) == 0 {
		return none
	}
	last := &x.store.cols[x.keys-1]
	mask := uint64(len(sub.slots) - 1)
next:
	for at := h & mask; ; at = (at + 1) & mask {
		s := &sub.slots[at]
		if s.ent == 0 {
			return none
		}
		if s.key != h {
			continue
		}
		c := s.ent - 1
		if *last.words.at(c) != v {
			continue
		}
		for k := range x.keys - 1 {
			if !x.store.equalEnts(k, e, c) {
				continue next
			}
		}
		return c
	}
}

func (x *keyIndex) findOrAddOne(cols []*vec.Vector, row int, h uint64) (e uint32, isNew bool) {
	if x.inl && cols[0].Nulls.Get(row) {
		if x.nullEnt == none {
			x.nullEnt = x.newEntry(cols, row)
			return x.nullEnt, true
		}
		return x.nullEnt, false
	}
	sub := &x.subs[h>>56]
	if len(sub.slots) == 0 {
		sub.slots = make([]slot, 8)
		x.slots += 8
	}
	key := h
	if x.inl {
		key = uint64(cols[0].Int[row])
	}
	mask := uint64(len(sub.slots) - 1)
	at := h & mask
	for ; ; at = (at + 1) & mask {
		s := &sub.slots[at]
		if s.ent == 0 {
			break
		}
		if s.key == key && (x.inl || x.same(s.ent-1, cols, row)) {
			return s.ent - 1, false
		}
	}
	e = x.newEntry(cols, row)
	sub.slots[at] = slot{key: key, ent: e + 1}
	sub.used++
	if sub.used*8 > len(sub.slots)*5 {
		x.grow(sub)
	}
	return e, true
}

func (x *keyIndex) newEntry(cols []*vec.Vector, row int) uint32 {
	e := x.store.alloc()
	for k := range x.keys {
		x.store.put(k, e, cols[k], row)
	}
	return e
}

// insert adds an entry that is already in the store and whose key is not in the index, with its hash.
func (x *keyIndex) insert(e uint32, h uint64) {
	if x.inl {
		panic("op: insert of a stored entry into an inline index")
	}
	sub := &x.subs[h>>56]
	if len(sub.slots) == 0 {
		sub.slots = make([]slot, 8)
		x.slots += 8
	}
	mask := uint64(len(sub.slots) - 1)
	at := h & mask
	for sub.slots[at].ent != 0 {
		at = (at + 1) & mask
	}
	sub.slots[at] = slot{key: h, ent: e + 1}
	sub.used++
	if sub.used*8 > len(sub.slots)*5 {
		x.grow(sub)
	}
}

func (x *keyIndex) home(s *slot) uint64 {
	if x.inl {
		return vec.HashInt(int64(s.key))
	}
	return s.key
}

func (x *keyIndex) grow(sub *subTable) {
	old := sub.slots
	sub.slots = make([]slot, 2*len(old))
	x.slots += len(old)
	mask := uint64(len(sub.slots) - 1)
	for i := range old {
		s := &old[i]
		if s.ent == 0 {
			continue
		}
		at := x.home(s) & mask
		for sub.slots[at].ent != 0 {
			at = (at + 1) & mask
		}
		sub.slots[at] = *s
	}
}

// remove takes entry e, whose key has hash h, out of the index; the store keeps it.
func (x *keyIndex) remove(e uint32, h uint64) {
	if e == x.nullEnt {
		x.nullEnt = none
		return
	}
	sub := &x.subs[h>>56]
	mask := uint64(len(sub.slots) - 1)
	at := h & mask
	for sub.slots[at].ent != e+1 {
		if sub.slots[at].ent == 0 {
			panic("op: removed entry is not in the index")
		}
		at = (at + 1) & mask
	}
	sub.used--
	// Pull back every later slot of the run that would no longer be reached.
	for next := (at + 1) & mask; sub.slots[next].ent != 0; next = (next + 1) & mask {
		home := x.home(&sub.slots[next]) & mask
		if (next-home)&mask >= (next-at)&mask {
			sub.slots[at] = sub.slots[next]
			at = next
		}
	}
	sub.slots[at] = slot{}
	if len(sub.slots) > 64 && sub.used*8 < len(sub.slots) {
		x.shrink(sub)
	}
}

// shrink halves a nearly empty sub-table: state that has become small should not stay large.
func (x *keyIndex) shrink(sub *subTable) {
	old := sub.slots
	size := 1 << bits.Len(uint(sub.used*2))
	sub.slots = make([]slot, max(size, 8))
	x.slots += len(sub.slots) - len(old)
	mask := uint64(len(sub.slots) - 1)
	for i := range old {
		if old[i].ent == 0 {
			continue
		}
		at := x.home(&old[i]) & mask
		for sub.slots[at].ent != 0 {
			at = (at + 1) & mask
		}
		sub.slots[at] = old[i]
	}
}

// each calls fn for the entries whose hash is h (and that may differ in the key) until it returns true.
func (x *keyIndex) each(h uint64, fn func(e uint32) bool) {
	sub := &x.subs[h>>56]
	if len(sub.slots) == 0 {
		return
	}
	mask := uint64(len(sub.slots) - 1)
	for at := h & mask; sub.slots[at].ent != 0; at = (at + 1) & mask {
		if sub.slots[at].key == h && fn(sub.slots[at].ent-1) {
			return
		}
	}
}
