package storage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirdb/weir/sql/sqlerr"
)

// shelves bring changes of a state table into key order.
//
// There may be a hundred megabytes of them, in the order in which they were made. Sorting references to them and then fetching what they
// refer to would miss the processor's caches several times for each key, and that would be most of the work. So they are dealt out first,
// by the first byte of the key, which is the vnode and spreads them evenly: a sequential read, and 256 sequential writes. Each shelf
// then fits into a cache, where it is sorted and read. (Fewer shelves are cheaper to fill, and cost more than that when they are read.)
//
//  1. add copies keys and values onto their shelves, with the table's prefix, as they are to be written.
//  2. each sorts one shelf after the other: by the eight bytes that follow what all of its keys have in common, the rest by comparing.
//     Of equal keys the one that was added last counts.
type shelves struct {
	prefix []byte
	shelf  [256]shelf
	n      int
	bytes  int64
}

// shelf is the changes with one first byte, in the order of add.
type shelf struct {
	// chunks hold for each change the key, with the prefix, and the value.
	chunks [][]byte
	items  []shelfItem
	// spare are chunks to be used again.
	spare [][]byte
}

// shelfItem is a change: the number of its chunk, where in it the key begins, and the lengths; the value's is tombstone if it is deleted.
type shelfItem struct{ chunk, off, klen, vlen uint32 }

const (
	shelfMinChunk = 512
	shelfMaxChunk = 64 << 10
)

func newShelves(id TableID) *shelves { return &shelves{prefix: tablePrefix(id)} }

// add takes a change that is newer than all before it. Key and value are copied.
func (x *shelves) add(key, val []byte, del bool) {
	b := byte(0)
	if len(key) > 0 {
		b = key[0]
	}
	s := &x.shelf[b]
	vlen := uint32(len(val))
	if del {
		vlen, val = tombstone, nil
	}
	need := len(x.prefix) + len(key) + len(val)
	last := len(s.chunks) - 1
	if last < 0 || cap(s.chunks[last])-len(s.chunks[last]) < need {
		s.grow(need)
		last++
	}
	c := s.chunks[last]
	at := len(c)
	s.items = append(s.items, shelfItem{uint32(last), uint32(at), uint32(len(x.prefix) + len(key)), vlen})
	c = c[:at+need]
	s.chunks[last] = c
	copy(c[at:], x.prefix)
	at += len(x.prefix)
	copy(c[at:], key)
	copy(c[at+len(key):], val)
	x.n++
	x.bytes += int64(len(key) + len(val))
}

// grow begins a chunk for need bytes at least.
func (s *shelf) grow(need int) {
	if n := len(s.spare); n > 0 {
		c := s.spare[n-1]
		if s.spare = s.spare[:n-1]; cap(c) >= need {
			s.chunks = append(s.chunks, c[:0])
			return
		}
	}
	size := shelfMinChunk
	if n := len(s.chunks); n > 0 {
		size = min(2*cap(s.chunks[n-1]), shelfMaxChunk)
	}
	s.chunks = append(s.chunks, make([]byte, 0, max(size, need)))
}

// reuse empties the shelves, whose memory is used again, the largest chunks first. Nobody must look at what was on them any more.
func (x *shelves) reuse() {
	for b := range x.shelf {
		s := &x.shelf[b]
		s.spare = append(s.spare[:0], s.chunks...)
		clear(s.chunks)
		s.chunks, s.items = s.chunks[:0], s.items[:0]
	}
	x.n, x.bytes = 0, 0
}

// take adds the changes on y, which are newer than all before them, without copying them. y stays as it is, and must not change any more.
func (x *shelves) take(y *shelves) {
	for b := range x.shelf {
		s, t := &x.shelf[b], &y.shelf[b]
		if len(t.items) == 0 {
			continue
		}
		base := uint32(len(s.chunks))
		if base == 0 {
			s.chunks, s.items = slices.Clone(t.chunks), slices.Clip(t.items)
		} else {
			s.chunks = append(s.chunks, t.chunks...)
			for _, it := range t.items {
				it.chunk += base
				s.items = append(s.items, it)
			}
		}
		// What is added next must not go into what is left of y's last chunk.
		last := len(s.chunks) - 1
		s.chunks[last] = slices.Clip(s.chunks[last])
	}
	x.n += y.n
	x.bytes += y.bytes
}

// addDelta adds the changes of an immutable delta.
func (x *shelves) addDelta(d *Delta) {
	// Somebody may settle it meanwhile.
	d.indexMu.Lock()
	dealt, from, to := d.dealt, d.dealtFrom, d.dealtTo
	v := Delta{chunks: d.chunks, pages: slices.Clone(d.pages), entries: d.entries}
	d.indexMu.Unlock()
	if dealt != nil {
		x.take(dealt)
	} else {
		from, to = 0, 0
	}
	for i := range v.entries {
		if i < from || i >= to {
			e := v.at(uint32(i))
			x.add(v.keyOf(e), v.valueOf(e), e.vlen == tombstone)
		}
	}
}

// addBlob adds the changes of a blob.
func (x *shelves) addBlob(blob []byte) error {
	return eachBlobEntry(blob, func(koff, klen, voff, vlen int, del bool) {
		x.add(blob[koff:koff+klen], blob[voff:voff+vlen], del)
	})
}

// change gives change i.
func (s *shelf) change(i uint32) (key, val []byte, del bool) {
	it := &s.items[i]
	b := s.chunks[it.chunk][it.off:]
	key = b[:it.klen:it.klen]
	if it.vlen == tombstone {
		return key, nil, true
	}
	end := it.klen + it.vlen
	return key, b[it.klen:end:end], false
}

func (s *shelf) key(i uint32) []byte {
	it := &s.items[i]
	end := it.off + it.klen
	return s.chunks[it.chunk][it.off:end:end]
}

// sorting is memory for putting shelves in order.
type sorting struct{ items, buf []sortItem }

// order gives the changes on a shelf by key, equal ones in the order of add. The result is good until the next call.
func (o *sorting) order(s *shelf) []sortItem {
	first := s.key(0)
	common := len(first)
	for i := 1; i < len(s.items) && common > 0; i++ {
		k := s.key(uint32(i))
		common = min(common, len(k))
		for !bytes.Equal(first[:common], k[:common]) {
			common--
		}
	}
	items := o.items[:0]
	for i := range uint32(len(s.items)) {
		k := s.key(i)[common:]
		if len(k) >= 8 {
			items = append(items, sortItem{binary.BigEndian.Uint64(k), i})
			continue
		}
		var pad [8]byte
		copy(pad[:], k)
		items = append(items, sortItem{binary.BigEndian.Uint64(pad[:]), i})
	}
	if len(items) >= radixFrom {
		o.buf = slices.Grow(o.buf[:0], len(items))[:len(items)]
		radixSort(items, o.buf)
	} else {
		slices.SortStableFunc(items, func(a, b sortItem) int { return cmp.Compare(a.u, b.u) })
	}
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].u == items[from].u {
			to++
		}
		if to-from > 1 {
			slices.SortStableFunc(items[from:to], func(a, b sortItem) int { return bytes.Compare(s.key(a.i), s.key(b.i)) })
		}
		from = to
	}
	o.items = items
	return items
}

// each calls fn with the last change of each key, in the order of the keys, which have the table's prefix. Afterwards the shelves are empty.
func (x *shelves) each(fn func(key, val []byte, del bool) error) error {
	var o sorting
	for b := range x.shelf {
		s := &x.shelf[b]
		if len(s.items) == 0 {
			continue
		}
		items := o.order(s)
		for k, it := range items {
			key, val, del := s.change(it.i)
			if k+1 < len(items) && it.u == items[k+1].u && bytes.Equal(key, s.key(items[k+1].i)) {
				continue
			}
			if err := fn(key, val, del); err != nil {
				return err
			}
		}
		*s = shelf{}
	}
	x.n, x.bytes = 0, 0
	return nil
}

// collect adds what is in groups of blobs, from memory or from the blobs. rest is called now and then with the time that was worked since;
// its error ends the work.
func (s *Store) collect(x *shelves, id TableID, groups []tailGroup, rest func(time.Duration) error) error {
	start, size := time.Now(), int64(0)
	for _, g := range groups {
		if g.deltas == nil {
			if err := s.readBlobs(x, id, g.epoch, rest); err != nil {
				return err
			}
			start, size = time.Now(), 0
			continue
		}
		for _, d := range g.deltas {
			x.addDelta(d)
			if size += d.bytes; size < 64*blobBytes {
				continue
			}
			if err := rest(time.Since(start)); err != nil {
				return err
			}
			start, size = time.Now(), 0
		}
	}
	return nil
}

// readBlobs adds the blobs of a group.
func (s *Store) readBlobs(x *shelves, id TableID, epoch Epoch, rest func(time.Duration) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: blobKey(id, epoch, 0), UpperBound: blobKey(id, epoch+1, 0)})
	if err != nil {
		return err
	}
	start, n := time.Now(), 0
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err == nil {
			if err = x.addBlob(v); err != nil {
				e := sqlerr.Newf(sqlerr.DataCorrupted, "the state of the database is damaged")
				e.Cause, err = err, e
			}
		}
		if n++; err == nil && n%64 == 0 {
			err = rest(time.Since(start))
			start = time.Now()
		}
		if err != nil {
			err = fmt.Errorf("state table %d, blob %x: %w", id, it.Key(), s.readError(err))
			it.Close()
			return err
		}
	}
	return s.readError(it.Close())
}
