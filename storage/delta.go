package storage

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/tidwall/btree"
)

// Delta is what a state table changed between two checkpoints: for each key its last value or
// its deletion. StateTable.Seal makes it, and Store.Commit writes it.
//
// Layout: keys and values lie in arena chunks, entries in pages without pointers, and an open
// addressing table of entry numbers finds them by key. The order by key is made only when
// somebody needs it: by Scan (then it is kept up to date as a tree, because scans and changes
// alternate) or by Commit (then it is sorted once).
type Delta struct {
	table TableID

	chunks [][]byte
	free   int // unused bytes at the end of the last chunk

	// n is the number of keys; pages have entries for entries of them, the others are in dealt (settle).
	n       int
	pages   [][]dirtyEntry
	entries int
	// slots has a power of two slots: the key's hash in the upper half, the entry number + 1 in the
	// lower, or 0. Most probes are settled here, without a look at the entry.
	slots []uint64
	bytes int64
	// fresh is about how many of the bytes belong to keys that the table did not hold.
	fresh int64

	// loose says that there may be entries, from number indexed on, that are not in slots yet: append leaves that to whoever
	// first looks for a key, which is nobody as a rule.
	loose   atomic.Bool
	indexed int
	indexMu sync.Mutex

	// dealt has what append took when there was much already, dealt out as a checkpoint needs it (direct.go). unsettled says that it has no
	// entries yet; once it has them they are those from dealtFrom to dealtTo, and it gets nothing more. It goes when one of its
	// keys may have changed.
	dealt              *shelves
	unsettled          atomic.Bool
	dealtFrom, dealtTo int

	// ordered holds the entry numbers by key once a Scan has asked for them.
	ordered *btree.BTreeG[uint32]
	// probe is the key that entry number probeEntry stands for in ordered.
	probe []byte
	// sorted is the same for an immutable delta, made on first use.
	sortOnce sync.Once
	sorted   []uint32

	// committed is set by Store.Commit once Pebble contains the delta; before that, kept
	// unless nobody but the table's handle uses it from then on.
	committed atomic.Bool
	kept      atomic.Bool
}

// dirtyEntry locates a key and its value: chunk number in the upper, offset in the lower half.
type dirtyEntry struct {
	key, val   uint64
	klen, vlen uint32 // vlen may be tombstone
	// room is what an overwriting value may take without a new place.
	room uint32
}

const (
	dirtyPage     = 4096
	dirtyMinSlots = 64
	dirtyMinChunk = 1 << 10
	dirtyMaxChunk = 256 << 10
)

// hashSeed only spreads keys over slots: no order that anybody sees depends on it.
var hashSeed = maphash.MakeSeed()

// Table gives the id of the state table.
func (d *Delta) Table() TableID { return d.table }

// Len gives the number of keys that the delta sets or deletes.
func (d *Delta) Len() int { return d.n }

// Bytes gives the size of its keys and values.
func (d *Delta) Bytes() int64 { return d.bytes }

func (d *Delta) at(i uint32) *dirtyEntry { return &d.pages[i/dirtyPage][i%dirtyPage] }

func (d *Delta) bytesAt(ref uint64, n uint32) []byte {
	off := uint32(ref)
	return d.chunks[ref>>32][off : off+n : off+n]
}

func (d *Delta) keyOf(e *dirtyEntry) []byte { return d.bytesAt(e.key, e.klen) }

func (d *Delta) valueOf(e *dirtyEntry) []byte {
	if e.vlen == tombstone {
		return nil
	}
	return d.bytesAt(e.val, e.vlen)
}

// alloc gives n bytes in a chunk and their reference.
func (d *Delta) alloc(n int) ([]byte, uint64) {
	if n > d.free || len(d.chunks) == 0 {
		size := dirtyMinChunk
		if c := len(d.chunks); c > 0 {
			size = min(2*len(d.chunks[c-1]), dirtyMaxChunk)
		}
		d.chunks = append(d.chunks, make([]byte, max(size, n)))
		d.free = max(size, n)
	}
	c := len(d.chunks) - 1
	off := len(d.chunks[c]) - d.free
	d.free -= n
	return d.chunks[c][off : off+n : off+n], uint64(c)<<32 | uint64(off)
}

func hashKey(key []byte) uint32 { return uint32(maphash.Bytes(hashSeed, key) >> 32) }

// find gives the number of key's entry, or the free slot where it belongs.
func (d *Delta) find(key []byte, hash uint32) (i, slot uint32, ok bool) {
	mask := uint32(len(d.slots) - 1)
	for s := hash & mask; ; s = (s + 1) & mask {
		v := d.slots[s]
		if v == 0 {
			return 0, s, false
		}
		if uint32(v>>32) == hash {
			n := uint32(v) - 1
			if bytes.Equal(d.keyOf(d.at(n)), key) {
				return n, s, true
			}
		}
	}
}

func (d *Delta) get(key []byte) (*dirtyEntry, bool) {
	if d.n == 0 {
		return nil, false
	}
	d.index()
	i, _, ok := d.find(key, hashKey(key))
	if !ok {
		return nil, false
	}
	return d.at(i), true
}

// add makes an entry, for a key that find did not find, and gives its number.
func (d *Delta) add(e dirtyEntry, hash, slot uint32) uint32 {
	i := d.addLoose(e)
	d.slots[slot] = uint64(hash)<<32 | uint64(i+1)
	return i
}

// addLoose makes an entry that is not in slots.
func (d *Delta) addLoose(e dirtyEntry) uint32 {
	d.n++
	return d.addEntry(e)
}

// addEntry is addLoose for a key that n counts already.
func (d *Delta) addEntry(e dirtyEntry) uint32 {
	i := uint32(d.entries)
	if d.entries%dirtyPage == 0 {
		d.pages = append(d.pages, nil)
		if d.entries > 0 {
			d.pages[len(d.pages)-1] = make([]dirtyEntry, 0, dirtyPage)
		}
	}
	p := &d.pages[len(d.pages)-1]
	*p = append(*p, e)
	d.entries++
	return i
}

// dealOn makes append deal out from now on, onto x if it is not nil.
func (d *Delta) dealOn(x *shelves) {
	if x == nil {
		x = newShelves(d.table)
	}
	d.dealt = x
	d.unsettled.Store(true)
}

// dealFrom is how many keys a delta has before more of them are dealt out: shelves for few would be larger than what is on them.
const dealFrom = 8192

// append sets a key that the delta does not have.
func (d *Delta) append(key, val []byte) {
	if d.ordered != nil {
		d.put(key, val, false)
		return
	}
	if d.unsettled.Load() {
		d.markLoose()
		d.dealt.add(key, val, false)
		d.n++
		d.bytes += int64(len(key) + len(val))
		return
	}
	d.markLoose()
	b, ref := d.alloc(len(key) + len(val))
	copy(b, key)
	copy(b[len(key):], val)
	d.addLoose(dirtyEntry{
		key: ref, klen: uint32(len(key)), val: ref + uint64(len(key)), vlen: uint32(len(val)), room: uint32(len(val)),
	})
	d.bytes += int64(len(b))
}

func (d *Delta) markLoose() {
	if !d.loose.Load() {
		d.indexed = d.entries
		d.loose.Store(true)
	}
}

// settle gives what is dealt out entries, without which nobody finds it. Like index it may be called by several at once.
func (d *Delta) settle() {
	if !d.unsettled.Load() {
		return
	}
	d.indexMu.Lock()
	defer d.indexMu.Unlock()
	d.settleLocked()
}

func (d *Delta) settleLocked() {
	if !d.unsettled.Load() {
		return
	}
	d.dealtFrom = d.entries
	skip := uint32(len(d.dealt.prefix))
	for b := range d.dealt.shelf {
		s := &d.dealt.shelf[b]
		base := uint64(len(d.chunks)) << 32
		d.chunks = append(d.chunks, s.chunks...)
		for _, it := range s.items {
			key := base + uint64(it.chunk)<<32 | uint64(it.off+skip)
			klen := it.klen - skip
			d.addEntry(dirtyEntry{key: key, klen: klen, val: key + uint64(klen), vlen: it.vlen, room: it.vlen})
		}
	}
	d.free = 0 // of the last chunk, which is a shelf's
	d.dealtTo = d.entries
	d.unsettled.Store(false)
}

// index puts the loose entries into slots. The owner and readers of a delta that does not change any more
// may call it at once.
func (d *Delta) index() {
	if !d.loose.Load() {
		return
	}
	d.indexMu.Lock()
	defer d.indexMu.Unlock()
	if !d.loose.Load() {
		return
	}
	d.settleLocked()
	if 4*d.n > 3*len(d.slots) {
		d.grow(4*d.n/3 + 1)
	}
	mask := uint32(len(d.slots) - 1)
	for i := d.indexed; i < d.entries; i++ {
		hash := hashKey(d.keyNo(uint32(i)))
		s := hash & mask
		for d.slots[s] != 0 {
			s = (s + 1) & mask
		}
		d.slots[s] = uint64(hash)<<32 | uint64(i+1)
	}
	d.loose.Store(false)
}

// put sets key to val, or marks it deleted.
func (d *Delta) put(key, val []byte, del bool) {
	d.index()
	d.dealt = nil // it may have the key
	if 4*(d.n+1) > 3*len(d.slots) {
		d.grow(2 * len(d.slots))
	}
	hash := hashKey(key)
	i, slot, ok := d.find(key, hash)
	if !ok {
		kb, ref := d.alloc(len(key))
		copy(kb, key)
		i = d.add(dirtyEntry{key: ref, klen: uint32(len(key)), vlen: tombstone}, hash, slot)
		d.bytes += int64(len(key))
		if d.ordered != nil {
			d.ordered.Set(i)
		}
	}
	e := d.at(i)
	if e.vlen != tombstone {
		d.bytes -= int64(e.vlen)
	}
	if del {
		e.vlen = tombstone
		return
	}
	d.bytes += int64(len(val))
	if len(val) > int(e.room) {
		_, e.val = d.alloc(len(val))
		e.room = uint32(len(val))
	}
	e.vlen = uint32(len(val))
	copy(d.bytesAt(e.val, e.vlen), val)
}

// grow makes room for n slots at least.
func (d *Delta) grow(n int) {
	old := d.slots
	size := dirtyMinSlots
	for size < n {
		size *= 2
	}
	d.slots = make([]uint64, size)
	mask := uint32(size - 1)
	for _, v := range old {
		if v == 0 {
			continue
		}
		s := uint32(v>>32) & mask
		for d.slots[s] != 0 {
			s = (s + 1) & mask
		}
		d.slots[s] = v
	}
}

// probeEntry is an entry number that stands for the key probe, to search the ordered tree.
const probeEntry = ^uint32(0)

func (d *Delta) less(a, b uint32) bool { return bytes.Compare(d.keyNo(a), d.keyNo(b)) < 0 }

func (d *Delta) keyNo(i uint32) []byte {
	if i == probeEntry {
		return d.probe
	}
	return d.keyOf(d.at(i))
}

// order builds the tree that scans of a delta under change use.
func (d *Delta) order() {
	if d.ordered != nil {
		return
	}
	d.settle()
	d.ordered = btree.NewBTreeGOptions(d.less, btree.Options{NoLocks: true})
	for i := range uint32(d.n) {
		d.ordered.Set(i)
	}
}

// inOrder gives the entry numbers by key of a delta that does not change any more. The committer
// and the owner of the table may both ask.
func (d *Delta) inOrder() []uint32 {
	d.settle()
	d.sortOnce.Do(func() {
		if d.ordered == nil {
			d.sorted = d.sortByKey()
			return
		}
		d.sorted = make([]uint32, 0, d.n)
		d.ordered.Scan(func(i uint32) bool {
			d.sorted = append(d.sorted, i)
			return true
		})
	})
	return d.sorted
}

// records gives the delta key by key, in key order.
func (d *Delta) records(dst []record) []record {
	for _, i := range d.inOrder() {
		e := d.at(i)
		dst = append(dst, record{append(tablePrefix(d.table), d.keyOf(e)...), d.valueOf(e), e.vlen == tombstone})
	}
	return dst
}

// putBatch adds one key of a table to a batch without making a copy of its own.
func putBatch(b *pebble.Batch, id TableID, key, val []byte, del bool) error {
	if del {
		op := b.DeleteDeferred(tablePrefixLen + len(key))
		copy(op.Key, appendTablePrefix(op.Key[:0], id))
		copy(op.Key[tablePrefixLen:], key)
		return op.Finish()
	}
	op := b.SetDeferred(tablePrefixLen+len(key), len(val))
	appendTablePrefix(op.Key[:0], id)
	copy(op.Key[tablePrefixLen:], key)
	copy(op.Value, val)
	return op.Finish()
}

// sortedCursor walks an immutable delta from lo up to hi.
type sortedCursor struct {
	d      *Delta
	idx    []uint32
	hi     []byte
	e      *dirtyEntry
	curKey []byte
}

func newSortedCursor(d *Delta, lo, hi []byte) *sortedCursor {
	idx := d.inOrder()
	n, _ := slices.BinarySearchFunc(idx, lo, func(i uint32, lo []byte) int {
		return bytes.Compare(d.keyOf(d.at(i)), lo)
	})
	return &sortedCursor{d: d, idx: idx[n:], hi: hi}
}

func (c *sortedCursor) next() bool {
	if len(c.idx) == 0 {
		return false
	}
	c.e = c.d.at(c.idx[0])
	c.idx = c.idx[1:]
	c.curKey = c.d.keyOf(c.e)
	return c.hi == nil || bytes.Compare(c.curKey, c.hi) < 0
}

func (c *sortedCursor) key() []byte   { return c.curKey }
func (c *sortedCursor) value() []byte { return c.d.valueOf(c.e) }
func (c *sortedCursor) deleted() bool { return c.e.vlen == tombstone }
