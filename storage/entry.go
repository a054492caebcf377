package storage

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/tidwall/btree"
)

// entry is a key with its value, or a tombstone, in an overlay tree. Key and value lie one after
// the other in an arena, so that an entry is 24 bytes with one pointer: copying a tree node (which
// copy-on-write does all the time) moves half of what two slices would, and the garbage collector
// has one word a row to look at. The bytes never change.
type entry struct {
	// pre is keyPrefix(key): most comparisons in a tree are settled without following p.
	pre  uint64
	p    *byte
	klen uint32
	vlen uint32 // tombstone, or the value's length
}

// tombstone in vlen marks a deleted key.
const tombstone = ^uint32(0)

func (e entry) deleted() bool { return e.vlen == tombstone }

func (e entry) key() []byte { return unsafe.Slice(e.p, e.klen) }

func (e entry) value() []byte {
	if e.vlen == tombstone {
		return nil
	}
	return unsafe.Slice(e.p, int(e.klen)+int(e.vlen))[e.klen:]
}

// searchEntry makes an entry that compares like key; it must not outlive the call.
func searchEntry(key []byte) entry {
	return entry{pre: keyPrefix(key), p: unsafe.SliceData(key), klen: uint32(len(key)), vlen: tombstone}
}

// keyPrefix maps a key to a number so that a smaller number means a smaller key. The first byte of
// a key of package keycodec is 0x01 (not NULL) as a rule and says next to nothing, so small first
// bytes become two bits and the eight bytes after them are taken.
func keyPrefix(k []byte) uint64 {
	if len(k) == 0 {
		return 0
	}
	shift, top := 1, uint64(1)<<63
	if k[0] < 2 {
		shift, top = 2, uint64(k[0])<<62
		k = k[1:]
	}
	if len(k) >= 8 {
		return top | binary.BigEndian.Uint64(k)>>shift
	}
	var b [8]byte
	copy(b[:], k)
	return top | binary.BigEndian.Uint64(b[:])>>shift
}

func entryLess(a, b entry) bool {
	if a.pre != b.pre {
		return a.pre < b.pre
	}
	return bytes.Compare(a.key(), b.key()) < 0
}

// Arena chunks grow from the first to the last of these sizes: most tables are small.
const (
	minChunk = 512
	maxChunk = 128 << 10
)

// arena hands out bytes that live as long as something points into their chunk.
type arena struct {
	free []byte
	next int
}

func (a *arena) alloc(n int) []byte {
	if n > len(a.free) {
		if a.next < minChunk {
			a.next = minChunk
		}
		if n > a.next/2 {
			// A large value gets memory of its own, which dies with it.
			return make([]byte, n)
		}
		a.free = make([]byte, a.next)
		if a.next < maxChunk {
			a.next *= 2
		}
	}
	b := a.free[:n:n]
	a.free = a.free[n:]
	return b
}

func (a *arena) entry(key, val []byte, del bool) entry {
	if del {
		val = nil
	}
	b := a.alloc(len(key) + len(val))
	copy(b, key)
	copy(b[len(key):], val)
	e := entry{pre: keyPrefix(key), p: unsafe.SliceData(b), klen: uint32(len(key)), vlen: uint32(len(val))}
	if del {
		e.vlen = tombstone
	}
	return e
}

// layer is a sorted overlay of entries: a tree over runs (run.go). It is changed under its arrangement's
// lock until it is frozen, and never afterwards.
type layer struct {
	tree *btree.BTreeG[entry]
	runs []run
	rows int    // in runs
	seq  uint64 // of the newest block
	// bytes is the size of the live keys and values: what writing the layer costs.
	bytes int64
}

func newLayer() *layer {
	return &layer{tree: btree.NewBTreeGOptions(entryLess, btree.Options{NoLocks: true})}
}

func (l *layer) set(e entry) {
	l.bytes += int64(e.klen)
	if e.vlen != tombstone {
		l.bytes += int64(e.vlen)
	}
	// Load takes a short way if the key is greater than all others, as in an append-only view.
	if old, ok := l.tree.Load(e); ok {
		l.bytes -= int64(old.klen)
		if old.vlen != tombstone {
			l.bytes -= int64(old.vlen)
		}
	}
}

func (l *layer) get(key []byte) (entry, bool) {
	if e, ok := l.tree.Get(searchEntry(key)); ok || len(l.runs) == 0 {
		return e, ok
	}
	return l.inRuns(key)
}

// len is the number of entries; a key may have one in the tree and one in a run.
func (l *layer) len() int { return l.tree.Len() + l.rows }

// memory is about what the layer takes; a tree's nodes are two thirds full, and copied now and then.
func (l *layer) memory() int64 { return l.bytes + int64(l.tree.Len())*48 + int64(l.rows)*8 }

// copy gives a layer that later changes of l do not reach, in constant time. Runs share their memory: what is
// appended to one lies after the end of the other.
func (l *layer) copy() *layer {
	c := *l
	c.tree, c.runs = l.tree.Copy(), slices.Clone(l.runs)
	return &c
}
