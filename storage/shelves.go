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
// then fits into a cache, where it is sorted and read.
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
	// chunks hold for each change the lengths of its key, with the prefix, and of its value + 1 (0: deleted), the key and the value.
	chunks [][]byte
	// at is where each begins: the chunk in the upper half, the offset in the lower.
	at []uint64
}

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
	klen, vlen := uint64(len(x.prefix)+len(key)), uint64(len(val)+1)
	if del {
		vlen, val = 0, nil
	}
	need := uvarintLen(klen) + uvarintLen(vlen) + int(klen) + len(val)
	last := len(s.chunks) - 1
	if last < 0 || cap(s.chunks[last])-len(s.chunks[last]) < need {
		size := shelfMinChunk
		if last >= 0 {
			size = min(2*cap(s.chunks[last]), shelfMaxChunk)
		}
		s.chunks = append(s.chunks, make([]byte, 0, max(size, need)))
		last++
	}
	c := s.chunks[last]
	s.at = append(s.at, uint64(last)<<32|uint64(len(c)))
	c = binary.AppendUvarint(c, klen)
	c = binary.AppendUvarint(c, vlen)
	c = append(c, x.prefix...)
	c = append(c, key...)
	s.chunks[last] = append(c, val...)
	x.n++
	x.bytes += int64(len(key) + len(val))
}

// addDelta adds the changes of an immutable delta.
func (x *shelves) addDelta(d *Delta) {
	for i := range uint32(d.n) {
		e := d.at(i)
		x.add(d.keyOf(e), d.valueOf(e), e.vlen == tombstone)
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
	b := s.chunks[s.at[i]>>32][uint32(s.at[i]):]
	klen, n := binary.Uvarint(b)
	vlen, m := binary.Uvarint(b[n:])
	b = b[n+m:]
	key = b[:klen:klen]
	if vlen == 0 {
		return key, nil, true
	}
	return key, b[klen : klen+vlen-1 : klen+vlen-1], false
}

func (s *shelf) key(i uint32) []byte {
	key, _, _ := s.change(i)
	return key
}

// order gives the changes by key, equal ones in the order of add. items and buf are memory to be used again.
func (s *shelf) order(items, buf []sortItem) (sorted, again []sortItem) {
	first := s.key(0)
	common := len(first)
	for i := 1; i < len(s.at) && common > 0; i++ {
		k := s.key(uint32(i))
		common = min(common, len(k))
		for !bytes.Equal(first[:common], k[:common]) {
			common--
		}
	}
	items = items[:0]
	for i := range uint32(len(s.at)) {
		var pad [8]byte
		copy(pad[:], s.key(i)[common:])
		items = append(items, sortItem{binary.BigEndian.Uint64(pad[:]), i})
	}
	if len(items) >= radixFrom {
		buf = slices.Grow(buf[:0], len(items))[:len(items)]
		radixSort(items, buf)
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
	return items, buf
}

// each calls fn with the last change of each key, in the order of the keys, which have the table's prefix. Afterwards the shelves are empty.
func (x *shelves) each(fn func(key, val []byte, del bool) error) error {
	var items, buf []sortItem
	for b := range x.shelf {
		s := &x.shelf[b]
		if len(s.at) == 0 {
			continue
		}
		items, buf = s.order(items, buf)
		for k, it := range items {
			key, val, del := s.change(it.i)
			if k+1 < len(items) && bytes.Equal(key, s.key(items[k+1].i)) {
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

// readBlobs adds the blobs of a table up to an epoch. rest is called now and then with the time that was worked since; its error ends
// the reading.
func (s *Store) readBlobs(x *shelves, id TableID, last Epoch, rest func(time.Duration) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: blobPrefix(kindBlob, id), UpperBound: blobKey(id, last+1, 0)})
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
