package storage

import (
	"bytes"
)

// layers is the content of an arrangement at one point: a base and what lies over it. It is
// immutable.
type layers struct {
	id     TableID
	base   *base
	blocks *tableBlocks
	// frozen are the deltas of sealed checkpoints that base does not contain, oldest first.
	frozen []frozenDelta
	// root holds the changes after the last frozen delta; nil when there are none.
	root *layer
}

// frozenDelta is everything an arrangement changed between two checkpoints.
type frozenDelta struct {
	epoch Epoch
	*layer
}

func (l *layers) get(key []byte) ([]byte, bool, error) {
	if e, ok := l.getOver(key); ok {
		return e.value(), !e.deleted(), nil
	}
	return l.base.get(l.id, l.blocks, key)
}

func (l *layers) getOver(key []byte) (entry, bool) {
	if l.root != nil {
		if e, ok := l.root.get(key); ok {
			return e, true
		}
	}
	for i := len(l.frozen) - 1; i >= 0; i-- {
		if e, ok := l.frozen[i].get(key); ok {
			return e, true
		}
	}
	return entry{}, false
}

func (l *layers) iterator(lo, hi []byte, reverse bool) *Iterator {
	it := &Iterator{}
	if lo != nil && hi != nil && bytes.Compare(lo, hi) >= 0 {
		it.m.started, it.m.cur = true, -1
		return it
	}
	it.m.strip, it.m.reverse, it.m.cur = tablePrefixLen, reverse, -1
	it.m.readError = l.base.readError
	it.m.prefix = tablePrefix(l.id)
	it.m.base, it.m.err = iterFrom(l.base.snap, l.id, lo, hi)
	if l.root != nil {
		it.m.overs = l.root.cursors(it.m.overs, lo, hi, reverse)
	}
	for i := len(l.frozen) - 1; i >= 0; i-- {
		it.m.overs = l.frozen[i].cursors(it.m.overs, lo, hi, reverse)
	}
	if it.m.err == nil {
		it.m.err = it.m.addBlocks(l, lo, hi)
	}
	return it
}

// Version is an arrangement as it was at one epoch. Any number of goroutines may read it.
type Version struct {
	l     layers
	epoch Epoch
	owned bool // made by VersionAt: Release gives back the base
}

// Epoch is the epoch that the version was asked for.
func (v *Version) Epoch() Epoch { return v.epoch }

// Get gives the value of key. The value must not be modified and stays valid.
func (v *Version) Get(key []byte) (val []byte, ok bool, err error) { return v.l.get(key) }

// Getter reads single keys. It must be closed, at the latest before the version is released.
func (v *Version) Getter() *Getter { return &Getter{l: &v.l} }

// Iterator walks the keys in [lo, hi), from the greatest down if reverse is set. A nil bound is
// no bound. The bounds must not change while the iterator lives, and it must be closed, at the
// latest before the version is released.
func (v *Version) Iterator(lo, hi []byte, reverse bool) *Iterator {
	return v.l.iterator(lo, hi, reverse)
}

// Release gives back what VersionAt pinned. A version of a Snapshot is released with it, and
// Release does nothing.
func (v *Version) Release() {
	if v.owned {
		v.owned = false
		v.l.base.unref()
	}
}

// EstimateRows guesses the number of keys in [lo, hi) without reading them: the size of the
// range on disk divided by the average size of its first rows, plus the overlays' entries (of
// the whole table). It is off by the compression factor and by what is not yet flushed; it is
// good for choosing between plans and not for telling anybody.
func (v *Version) EstimateRows(lo, hi []byte) (int64, error) {
	var n int64
	for _, f := range v.l.frozen {
		n += int64(f.len())
	}
	if v.l.root != nil {
		n += int64(v.l.root.len())
	}
	own := layers{id: v.l.id, base: v.l.base, blocks: v.l.blocks} // what is committed
	it := own.iterator(lo, hi, false)
	const sample = 64
	rows, size := int64(0), int64(0)
	for rows < sample && it.Next() {
		rows++
		size += int64(len(it.Key()) + len(it.Value()))
	}
	if err := it.Close(); err != nil {
		return 0, v.l.base.readError(err)
	}
	if rows < sample {
		return n + rows, nil
	}
	total := int64(0)
	for _, prefix := range [][]byte{tablePrefix(v.l.id), appendRowsPrefix(nil, v.l.id)} {
		start := append(bytes.Clone(prefix), lo...)
		end := PrefixEnd(prefix)
		if hi != nil {
			end = append(bytes.Clone(prefix), hi...)
		}
		disk, err := v.l.base.db.EstimateDiskUsage(start, end)
		if err != nil {
			return 0, err
		}
		total += int64(disk)
	}
	return n + max(rows, total*rows/size), nil
}

// Iterator walks the rows of a version in key order. One goroutine may use it.
//
//	it := v.Iterator(lo, hi, false)
//	for it.Next() {
//		use(it.Key(), it.Value())
//	}
//	err := it.Close()
type Iterator struct{ m mergeIter }

// Next moves to the first row, then to the next one. It returns false at the end and after an
// error.
func (it *Iterator) Next() bool { return it.m.next() }

// SeekGE moves forward to the first row at or after key, as Next does: of an iterator that was not reversed. It may be called
// before and in place of Next, with keys that ascend; keys near each other are found faster than by an iterator each.
func (it *Iterator) SeekGE(key []byte) bool { return it.m.seek(key) }

// Key is the current row's key, valid until the next call of Next or Close.
func (it *Iterator) Key() []byte { return it.m.k }

// Value is the current row's value, valid until the next call of Next or Close.
func (it *Iterator) Value() []byte { return it.m.v }

// Err is the error that ended the iteration, or nil.
func (it *Iterator) Err() error { return it.m.failure(it.m.err) }

// Close frees the iterator and gives the error that ended the iteration, if any. It may be called
// again.
func (it *Iterator) Close() error { return it.m.close() }
