package storage

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirdb/weir/sql/sqlerr"
)

// blobIndex finds keys in the blobs of a table that a restart has left unfolded. Whoever asks first after a restart waits
// for it, so it does as little as it can at once: it reads the blobs and sorts their entries into shelves by the first
// byte of the key, the vnode. A shelf is put in order when somebody asks for a key in it.
type blobIndex struct {
	table  TableID
	chunks [][]byte // the blobs
	shelf  [256]blobShelf
}

// blobShelf is the entries with one first byte.
type blobShelf struct {
	once sync.Once
	// raw are the entries as they were found, the newest blob's first; nil once d is there.
	raw []dirtyEntry
	d   *Delta
}

// loadBlobs reads the blobs of a table up to an epoch.
func (s *Store) loadBlobs(id TableID, last Epoch) (*blobIndex, error) {
	x := &blobIndex{table: id}
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: blobPrefix(kindBlob, id),
		UpperBound: blobKey(id, last+1, 0),
	})
	if err != nil {
		return nil, err
	}
	for ok := it.Last(); ok; ok = it.Prev() {
		v, err := it.ValueAndErr()
		if err == nil {
			if err = x.add(slices.Clone(v)); err != nil {
				e := sqlerr.Newf(sqlerr.DataCorrupted, "the state of the database is damaged")
				e.Cause, err = err, e
			}
		}
		if err != nil {
			err = fmt.Errorf("state table %d, blob %x: %w", id, it.Key(), s.readError(err))
			it.Close()
			return nil, err
		}
	}
	return x, s.readError(it.Close())
}

// add puts the entries of a blob that is older than all before it on their shelves.
func (x *blobIndex) add(blob []byte) error {
	chunk := uint64(len(x.chunks)) << 32
	x.chunks = append(x.chunks, blob)
	return eachBlobEntry(blob, func(koff, klen, voff, vlen int, del bool) {
		e := dirtyEntry{key: chunk | uint64(koff), val: chunk | uint64(voff), klen: uint32(klen), vlen: uint32(vlen)}
		if del {
			e.vlen = tombstone
		}
		b := byte(0)
		if klen > 0 {
			b = blob[koff]
		}
		x.shelf[b].raw = append(x.shelf[b].raw, e)
	})
}

// on gives the delta of a shelf.
func (x *blobIndex) on(b byte) *Delta {
	s := &x.shelf[b]
	s.once.Do(func() {
		d := &Delta{table: x.table, chunks: x.chunks}
		if len(s.raw) > 0 {
			d.grow(4*len(s.raw)/3 + 1)
		}
		for i := range s.raw {
			e := &s.raw[i]
			hash := hashKey(d.keyOf(e))
			if _, slot, ok := d.find(d.keyOf(e), hash); !ok {
				d.add(*e, hash, slot)
				d.bytes += int64(e.klen)
				if e.vlen != tombstone {
					d.bytes += int64(e.vlen)
				}
			}
		}
		s.d, s.raw = d, nil
	})
	return s.d
}

func (x *blobIndex) get(key []byte) (*Delta, *dirtyEntry, bool) {
	b := byte(0)
	if len(key) > 0 {
		b = key[0]
	}
	d := x.on(b)
	e, ok := d.get(key)
	return d, e, ok
}

// blobCursor walks the keys in [lo, hi), shelf by shelf.
type blobCursor struct {
	*sortedCursor
	x      *blobIndex
	lo, hi []byte
	// Shelves from first to last are still to come.
	first, last int
}

func newBlobCursor(x *blobIndex, lo, hi []byte) *blobCursor {
	c := &blobCursor{x: x, lo: lo, hi: hi, last: len(x.shelf) - 1}
	if len(lo) > 0 {
		c.first = int(lo[0])
	}
	if len(hi) > 0 {
		c.last = int(hi[0])
	}
	return c
}

func (c *blobCursor) next() bool {
	for {
		if c.sortedCursor != nil && c.sortedCursor.next() {
			return true
		}
		if c.first > c.last {
			return false
		}
		c.sortedCursor = newSortedCursor(c.x.on(byte(c.first)), c.lo, c.hi)
		c.first++
	}
}
