package storage

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// State tables that grow by many megabytes in a checkpoint, nearly all of it keys that they did not hold, gain nothing from delta
// blobs: no key is changed again before it is folded, so that each byte would be written twice, and read, hashed and sorted between.
// Such a checkpoint writes them in key order.
//
//  1. Blobs that the table has hide its keys in key order. So the checkpoint takes over what is in them, and deletes them.
//     Meanwhile the table is not folded (absorbing); if it is being folded already, blobs are written once more.
//  2. The content of the blobs and the deltas are merged into one section of the checkpoint (ingest.go), which
//     becomes durable and visible with the rest of it, and together with the deletion of the blobs.
//  3. Blobs that were folded before, and whose deletion is not durable, would come back after a crash, and hide what is new. So the
//     engine's log is synced first, with a record of this checkpoint, by which a log that has lost its end is known as damaged.

// absorb says that a commit will write the table in key order, unless that is impossible: it is being folded, was dropped, or has more
// than limit bytes in blobs.
func (t *stateTail) absorb(limit int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped || t.folding != 0 || t.bytes > limit {
		return false
	}
	t.absorbing = true
	return true
}

// releaseTails ends what absorb began.
func releaseTails(updates []stateUpdate) {
	for _, u := range updates {
		if u.direct {
			u.tail.mu.Lock()
			u.tail.absorbing = false
			u.tail.mu.Unlock()
		}
	}
}

// directSection gives the section of a table that is written in key order, and the deletion of its blobs.
func (s *Store) directSection(t *stateTail, deltas []*Delta, size int64) (section, []record, error) {
	var records []record
	t.mu.Lock()
	groups := t.groups
	t.mu.Unlock()
	x := newShelves(t.id)
	if len(groups) > 0 {
		if err := s.collect(x, t.id, groups, func(time.Duration) error { return nil }); err != nil {
			return section{}, nil, err
		}
		size += x.bytes
		for _, g := range groups {
			for n := range g.blobs {
				records = append(records, record{key: blobKey(t.id, g.epoch, n), del: true})
			}
			records = append(records, record{key: groupKey(t.id, g.epoch), del: true})
		}
	}
	return section{prefix: tablePrefix(t.id), size: size, uncached: !t.wanted.Swap(false), write: func(w keyWriter) error {
		for _, d := range deltas {
			x.addDelta(d)
		}
		return x.each(func(key, val []byte, del bool) error { return writeRecord(w, record{key, val, del}) })
	}}, records, nil
}

// anyDirect tells whether some table is written in key order.
func anyDirect(updates []stateUpdate) bool {
	return slices.ContainsFunc(updates, func(u stateUpdate) bool { return u.direct })
}

// syncLog makes everything in the engine's log durable, with the note that it was so at a checkpoint.
func (s *Store) syncLog(epoch Epoch) error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := b.Set(batchKey, binary.BigEndian.AppendUint64(nil, uint64(epoch)), nil); err != nil {
		return err
	}
	return s.apply(b, pebble.Sync)
}

// ingestOver ingests a checkpoint with these updates. What they take over from blobs is from then on nowhere else, for nobody who
// looks.
func (s *Store) ingestOver(updates []stateUpdate, sections []section, records []record) error {
	var over []*stateTail
	for _, u := range updates {
		if u.direct {
			over = append(over, u.tail)
		}
	}
	g, err := s.ingestFiles(sections, records)
	defer g.discard()
	if err != nil {
		return err
	}
	for _, t := range over {
		t.mu.Lock()
	}
	err = g.ingest()
	for _, t := range over {
		if err == nil {
			s.tailBytes.Add(-t.bytes)
			t.groups, t.bytes = nil, 0
			t.parts.Store(new([]tailPart))
		}
		t.mu.Unlock()
	}
	return err
}
