package storage

import (
	"bytes"

	"github.com/tidwall/btree"
)

// StateTable is the private state of one operator instance: bytes to bytes, in key order, without
// versions. One goroutine uses it.
//
// Several handles for one id may be open at once, by parallel instances of an operator, if their
// keys are disjoint (they start with the vnode): each has its own uncommitted changes, and all
// share the table in Pebble. A handle must Get, Scan, Put and Delete only its own keys.
type StateTable struct {
	s  *Store
	id TableID
	// tail is what is committed as blobs.
	tail *stateTail
	// stored says that Pebble may hold keys of this handle, in blobs or in key order.
	stored bool
	empty  bool
	dirty  *Delta
	// pending are the sealed deltas that were not committed when last looked at, oldest first.
	pending []*Delta
	// deal says that the last delta was written in key order, as the next one probably will, too: it is dealt out. spare is what
	// one was dealt out on that has been committed since.
	deal  bool
	spare *shelves
	// scanning counts scans under way.
	scanning int
}

// StateTable opens a handle for the state table id.
func (s *Store) StateTable(id TableID) (*StateTable, error) {
	it, err := iterFrom(s.db, id, nil, nil)
	if err != nil {
		return nil, err
	}
	stored := it.First()
	if err := it.Close(); err != nil {
		return nil, s.readError(err)
	}
	t := s.tail(id)
	t.mu.Lock()
	stored = stored || len(t.groups) > 0
	t.mu.Unlock()
	return &StateTable{s: s, id: id, tail: t, stored: stored, empty: !stored, dirty: &Delta{table: id}}, nil
}

// ID gives the table's id.
func (t *StateTable) ID() TableID { return t.id }

// Empty says that the table held nothing, from any handle, when this handle was opened, and that
// nothing was put through this handle since; a table whose keys were all deleted may count as not
// empty. An operator that opens an empty table and keeps all
// that it puts never needs Get.
func (t *StateTable) Empty() bool { return t.empty }

// Dirty gives the number of changed keys and their size since the last Seal, so that an owner
// can ask for a checkpoint when it has too much in memory.
func (t *StateTable) Dirty() (keys int, size int64) { return t.dirty.n, t.dirty.bytes }

// prune forgets the deltas that Pebble has.
func (t *StateTable) prune() {
	n := 0
	for n < len(t.pending) && t.pending[n].committed.Load() {
		d := t.pending[n]
		if t.deal = !d.kept.Load(); t.deal && d.dealt != nil && t.scanning == 0 {
			d.dealt.reuse()
			t.spare = d.dealt
		}
		n++
	}
	if n > 0 {
		t.stored = true
		t.pending = append(t.pending[:0], t.pending[n:]...)
		clear(t.pending[len(t.pending):cap(t.pending)])
	}
}

// Get gives the value of key: the last one put, if any. The value must not be modified and is
// valid until the next call on the table.
func (t *StateTable) Get(key []byte) (val []byte, ok bool, err error) {
	if e, ok := t.dirty.get(key); ok {
		return t.dirty.valueOf(e), e.vlen != tombstone, nil
	}
	t.prune()
	for i := len(t.pending) - 1; i >= 0; i-- {
		d := t.pending[i]
		if e, ok := d.get(key); ok {
			return d.valueOf(e), e.vlen != tombstone, nil
		}
	}
	if !t.stored {
		return nil, false, nil
	}
	parts, err := t.tail.index(t.s)
	if err != nil {
		return nil, false, err
	}
	for i := range parts {
		if d, e, ok := parts[i].get(key); ok {
			return d.valueOf(e), e.vlen != tombstone, nil
		}
	}
	if t.s.filters.fit(t.s) {
		val, ok, err = filteredGet(t.s.db, t.id, key)
	} else {
		val, ok, err = getFrom(t.s.db, t.id, key)
	}
	if err != nil {
		err = t.s.readError(err)
	}
	return val, ok, err
}

// Scan calls fn for every key with the given prefix, in key order, until fn returns an error.
// fn must not change the table nor keep k and v.
func (t *StateTable) Scan(prefix []byte, fn func(k, v []byte) error) error {
	return t.ScanRange(prefix, PrefixEnd(prefix), fn)
}

// ScanRange is Scan for the keys in [lo, hi); a nil bound is no bound.
func (t *StateTable) ScanRange(lo, hi []byte, fn func(k, v []byte) error) error {
	t.prune()
	m := mergeIter{strip: tablePrefixLen, cur: -1, readError: t.s.readError}
	var parts []tailPart
	if t.stored {
		var err error
		if parts, err = t.tail.index(t.s); err != nil {
			return err
		}
		// After the parts: what is folded in between is in both.
		if m.base, err = iterFrom(t.s.db, t.id, lo, hi); err != nil {
			return err
		}
	}
	if t.dirty.n > 0 {
		t.dirty.order()
		m.overs = append(m.overs, newDirtyCursor(t.dirty, lo, hi))
	}
	for i := len(t.pending) - 1; i >= 0; i-- {
		m.overs = append(m.overs, newSortedCursor(t.pending[i], lo, hi))
	}
	for _, p := range parts {
		m.overs = append(m.overs, p.cursor(lo, hi))
	}
	t.scanning++
	defer func() { t.scanning-- }()
	for m.next() {
		if err := fn(m.k, m.v); err != nil {
			m.close()
			return err
		}
	}
	return m.close()
}

// Put sets the value of key. Both are copied.
func (t *StateTable) Put(key, val []byte) {
	t.empty = false
	t.dirty.put(key, val, false)
}

// Append is Put, and cheaper, for a key that was neither put nor deleted since the last Seal.
func (t *StateTable) Append(key, val []byte) {
	t.empty = false
	if t.dirty.n == dealFrom {
		if t.prune(); t.deal && t.dirty.ordered == nil {
			t.dirty.dealOn(t.spare)
			t.spare = nil
		}
	}
	t.dirty.append(key, val)
}

// Insert is Append for a key that the table does not hold: such keys are better written in order at once than collected and
// folded. Nothing but that depends on it.
func (t *StateTable) Insert(key, val []byte) {
	t.Append(key, val)
	t.dirty.fresh += int64(len(key) + len(val))
}

// Delete removes key.
func (t *StateTable) Delete(key []byte) { t.dirty.put(key, nil, true) }

// Seal hands over what changed since the last Seal, for Store.Commit, or nil if nothing did. The
// changes stay readable through the table.
func (t *StateTable) Seal() *Delta {
	t.prune()
	if t.dirty.dealt == nil {
		t.spare = nil
	}
	if t.dirty.n == 0 {
		return nil
	}
	d := t.dirty
	t.pending = append(t.pending, d)
	t.dirty = &Delta{table: t.id}
	return d
}

// dirtyCursor walks the delta that its owner changes, between changes.
type dirtyCursor struct {
	d       *Delta
	it      btree.IterG[uint32]
	lo, hi  []byte
	started bool
	e       *dirtyEntry
	curKey  []byte
}

func newDirtyCursor(d *Delta, lo, hi []byte) *dirtyCursor {
	return &dirtyCursor{d: d, it: d.ordered.Iter(), lo: lo, hi: hi}
}

func (c *dirtyCursor) next() bool {
	var ok bool
	if c.started {
		ok = c.it.Next()
	} else {
		c.started = true
		c.d.probe = c.lo
		ok = c.it.Seek(probeEntry)
	}
	if !ok {
		return false
	}
	c.e = c.d.at(c.it.Item())
	c.curKey = c.d.keyOf(c.e)
	return c.hi == nil || bytes.Compare(c.curKey, c.hi) < 0
}

func (c *dirtyCursor) key() []byte   { return c.curKey }
func (c *dirtyCursor) value() []byte { return c.d.valueOf(c.e) }
func (c *dirtyCursor) deleted() bool { return c.e.vlen == tombstone }
