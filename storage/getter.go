package storage

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// Getter reads keys of a version, one after the other, as Version.Get does; keys that ascend are found faster than by that:
// where rows are in blocks, the block of the key before is at hand, and the next one is near. One goroutine may use it.
type Getter struct {
	l *layers
	// it walks the blocks; nil: none was needed so far. There says whether it stands on one, whose rows are s.
	it    *pebble.Iterator
	there bool
	s     storedRows
}

// Get gives the value of key. It must not be modified and is valid until the next call of Get or Close.
func (g *Getter) Get(key []byte) (val []byte, ok bool, err error) {
	if e, ok := g.l.getOver(key); ok {
		return e.value(), !e.deleted(), nil
	}
	base := g.l.base
	tip, err := g.l.blocks.last(base.snap, g.l.id)
	if err != nil {
		return nil, false, base.readError(err)
	}
	if tip != nil && bytes.Compare(key, tip) <= 0 {
		if err := g.seek(key); err != nil {
			return nil, false, base.readError(err)
		}
		if g.there {
			if i, ok := g.s.search(key); ok {
				return g.s.value(i), true, nil
			}
		}
	}
	if val, ok, err = getFrom(base.snap, g.l.id, key); err != nil {
		err = base.readError(err)
	}
	return val, ok, err
}

// seek moves to the block that may have key: the first one that does not end before it.
func (g *Getter) seek(key []byte) (err error) {
	if g.there && bytes.Compare(g.s.key(0), key) <= 0 && bytes.Compare(key, g.s.key(g.s.n-1)) <= 0 {
		return nil
	}
	g.there = false
	if g.it == nil {
		if g.it, err = rowsIter(g.l.base.snap, g.l.id, nil); err != nil {
			return err
		}
	}
	if !g.l.blocks.seek(g.l.base.snap, g.l.id, g.it, key) {
		return g.it.Error()
	}
	if g.s, err = rowsAt(g.it); err != nil {
		return err
	}
	g.there = true
	return nil
}

// Close frees what Get has opened. It may be called again.
func (g *Getter) Close() error {
	if g.it == nil {
		return nil
	}
	err := g.it.Close()
	g.it, g.there = nil, false
	return err
}
