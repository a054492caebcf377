package storage

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// base is the committed state that versions are built on: a Pebble snapshot, counted by
// reference, because a snapshot keeps old data from being compacted away.
type base struct {
	db   *pebble.DB
	snap *pebble.Snapshot
	// refs counts the store (for the current base), the versions in arrangements and the
	// readers. The snapshot is closed when it reaches zero.
	refs atomic.Int64
	// onClose, if not nil, is told about an error of closing.
	onClose func(error)
	// readError gives an error of reading its SQLSTATE.
	readError func(error) error
}

func newBase(db *pebble.DB, onClose func(error), readError func(error) error) *base {
	b := &base{db: db, snap: db.NewSnapshot(), onClose: onClose, readError: readError}
	b.refs.Store(1)
	return b
}

func (b *base) ref() *base {
	b.refs.Add(1)
	return b
}

func (b *base) unref() {
	switch n := b.refs.Add(-1); {
	case n == 0:
		if err := b.snap.Close(); err != nil && b.onClose != nil {
			b.onClose(err)
		}
	case n < 0:
		panic("storage: base released more often than taken")
	}
}

// get gives a copy of the committed value of key in table id.
func (b *base) get(id TableID, tb *tableBlocks, key []byte) (v []byte, ok bool, err error) {
	defer func() {
		if err != nil {
			err = b.readError(err)
		}
	}()
	tip, err := tb.last(b.snap, id)
	if err != nil {
		return nil, false, err
	}
	if tip != nil && bytes.Compare(key, tip) <= 0 {
		if v, ok, err := blockRow(b.snap, id, tb, key); ok || err != nil {
			return v, ok, err
		}
	}
	return getFrom(b.snap, id, key)
}

func getFrom(r pebble.Reader, id TableID, key []byte) ([]byte, bool, error) {
	var buf [128]byte
	k := append(appendTablePrefix(buf[:0], id), key...)
	v, closer, err := r.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	out := append(make([]byte, 0, len(v)), v...)
	return out, true, closer.Close()
}

// iterFrom makes a Pebble iterator over the keys of table id in [lo, hi); nil is no bound.
func iterFrom(r pebble.Reader, id TableID, lo, hi []byte) (*pebble.Iterator, error) {
	b := make([]byte, 0, 2*tablePrefixLen+len(lo)+len(hi))
	b = append(appendTablePrefix(b, id), lo...)
	n := len(b)
	if hi != nil {
		b = append(appendTablePrefix(b, id), hi...)
	} else if id == ^TableID(0) {
		b = append(b, kindTable+1)
	} else {
		b = appendTablePrefix(b, id+1)
	}
	return r.NewIter(&pebble.IterOptions{LowerBound: b[:n:n], UpperBound: b[n:]})
}
