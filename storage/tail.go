package storage

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// stateTail is what a state table has committed as blobs and not yet folded into key order. All
// handles of the table share it.
//
// Nobody needs to read the tail as long as the operators keep their state in memory: then blobs
// are written, folded, and never looked at. When a handle does read, the tail is loaded into an
// index in memory, and deltas that are committed later are kept for it too, until they are
// folded.
type stateTail struct {
	id TableID

	// parts is the index: deltas that cover all groups, newest first. It is nil while there are
	// groups and the index is not loaded. Readers take it without a lock: a part that is removed
	// while they use it is by then in key order in Pebble, with the same content.
	parts atomic.Pointer[[]tailPart]
	// wanted says that somebody has read through the tail since the last fold began.
	wanted atomic.Bool

	mu sync.Mutex
	// groups are the unfolded groups, oldest first.
	groups []tailGroup
	bytes  int64 // of the groups
	// folding is the newest epoch that a fold under way covers, or zero.
	folding Epoch
	// absorbing: a commit under way writes the table in key order, with what is not folded yet. Until it has ended nothing is folded.
	absorbing bool
	// dropped says that the table was dropped: a fold under way must write no more.
	dropped bool
}

// tailPart is everything of the table up to its epoch that the next part does not have: an immutable delta,
// or the blobs that were there when the store was opened.
type tailPart struct {
	epoch Epoch
	d     *Delta
	blobs *blobIndex
}

func (p tailPart) get(key []byte) (*Delta, *dirtyEntry, bool) {
	if p.blobs != nil {
		return p.blobs.get(key)
	}
	e, ok := p.d.get(key)
	return p.d, e, ok
}

func (p tailPart) cursor(lo, hi []byte) cursor {
	if p.blobs != nil {
		return newBlobCursor(p.blobs, lo, hi)
	}
	return newSortedCursor(p.d, lo, hi)
}

// each calls fn for deltas that have all of its keys, each key once.
func (p tailPart) each(fn func(*Delta)) {
	if p.blobs == nil {
		fn(p.d)
		return
	}
	for b := range len(p.blobs.shelf) {
		fn(p.blobs.on(byte(b)))
	}
}

// tailGroup is what one checkpoint added.
type tailGroup struct {
	blobGroup
	// deltas are what is in the blobs, oldest first, if it is kept in memory.
	deltas []*Delta
}

// maxTailParts bounds what a reader has to look through.
const maxTailParts = 8

func newStateTail(id TableID) *stateTail {
	t := &stateTail{id: id}
	t.parts.Store(new([]tailPart))
	return t
}

// tail gives the shared tail of table id, which it makes if there is none.
func (s *Store) tail(id TableID) *stateTail {
	s.tailMu.Lock()
	defer s.tailMu.Unlock()
	t := s.tails[id]
	if t == nil {
		t = newStateTail(id)
		s.tails[id] = t
	}
	return t
}

// loadTails finds the unfolded groups when the store is opened; it reads no blobs.
func (s *Store) loadTails() error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{kindGroup}, UpperBound: []byte{kindGroup + 1}})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		id, g, err := decodeGroup(it.Key(), it.Value())
		if err != nil {
			it.Close()
			return fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
		}
		t := s.tail(id)
		t.groups = append(t.groups, tailGroup{blobGroup: g})
		t.bytes += g.bytes
		s.tailBytes.Add(g.bytes)
		t.parts.Store(nil)
	}
	return it.Close()
}

// readers gives the parts to look through, newest first, loading the index if need be.
func (t *stateTail) index(s *Store) ([]tailPart, error) {
	if !t.wanted.Load() {
		t.wanted.Store(true)
	}
	if p := t.parts.Load(); p != nil {
		return *p, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.parts.Load(); p != nil {
		return *p, nil
	}
	last := t.groups[len(t.groups)-1].epoch
	x, err := s.loadBlobs(t.id, last)
	if err != nil {
		return nil, err
	}
	p := []tailPart{{epoch: last, blobs: x}}
	t.parts.Store(&p)
	return p, nil
}

// committed adds what a commit has just made durable. It must be called before the deltas are
// marked as committed, so that their owners find them here or there.
func (t *stateTail) committed(s *Store, g blobGroup, deltas []*Delta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped {
		return
	}
	// What is in memory need not be read to be folded.
	group := tailGroup{blobGroup: g}
	if s.tailBytes.Add(g.bytes) <= s.cfg.fold.softBytes {
		// Not the slice itself: behind it are the deltas of all other tables of the checkpoint, which may be large, and gone long before a small
		// table has enough to be folded.
		group.deltas = slices.Clone(deltas)
	}
	t.groups = append(t.groups, group)
	t.bytes += g.bytes
	p := t.parts.Load()
	if p == nil {
		return
	}
	if !t.wanted.Load() {
		t.parts.Store(nil)
		return
	}
	parts := make([]tailPart, 0, len(*p)+len(deltas))
	for i := len(deltas) - 1; i >= 0; i-- {
		parts = append(parts, tailPart{epoch: g.epoch, d: deltas[i]})
	}
	parts = append(parts, *p...)
	if len(parts) > maxTailParts {
		parts = t.mergeParts(parts)
	}
	t.parts.Store(&parts)
}

// mergeParts makes one part of the newest ones, of those that no fold under way covers, as far as one is not larger than all that are
// newer: so there are few of them, and what is old keeps its epoch, at which a fold takes it away. If all became one part, again and again, a
// folder that is always a little behind would never be able to take it, and it would become the whole table.
func (t *stateTail) mergeParts(parts []tailPart) []tailPart {
	n, size := 0, int64(0)
	for n < len(parts) && parts[n].epoch > t.folding && parts[n].d != nil {
		own := parts[n].d.Bytes()
		if n > 0 && own > size {
			break
		}
		size += own
		n++
	}
	if n < 2 {
		return parts
	}
	d := &Delta{table: t.id}
	for i := n - 1; i >= 0; i-- {
		parts[i].each(func(from *Delta) {
			from.settle()
			for j := range uint32(from.n) {
				e := from.at(j)
				d.put(from.keyOf(e), from.valueOf(e), e.vlen == tombstone)
			}
		})
	}
	return append([]tailPart{{epoch: parts[0].epoch, d: d}}, parts[n:]...)
}

// stateUpdate is a state table's share of a commit.
type stateUpdate struct {
	tail *stateTail
	// direct: it is written in key order, and the blobs that the table has are deleted.
	direct bool
	group  *blobGroup // complete once its section is written
	deltas []*Delta
}

// writeDeltas gives what a checkpoint writes for deltas, sorted by table: blobs, or key by key if
// they are few and the table has no blobs, which would hide them, or, in a checkpoint that is ingested, in key order (direct.go).
// The tails of the updates are to be released, also if there is an error.
func (s *Store) writeDeltas(epoch Epoch, deltas []*Delta, ingest bool) (sections []section, records []record, updates []stateUpdate, err error) {
	for len(deltas) > 0 {
		n, entries, size, fresh := 0, 0, int64(0), int64(0)
		for n < len(deltas) && deltas[n].table == deltas[0].table {
			entries += deltas[n].n
			size += deltas[n].bytes
			fresh += deltas[n].fresh
			n++
		}
		of := deltas[:n]
		deltas = deltas[n:]
		t := s.tail(of[0].table)
		t.mu.Lock()
		blobs := entries >= s.cfg.fold.minEntries || len(t.groups) > 0
		t.mu.Unlock()
		if !blobs {
			for _, d := range of {
				records = d.records(records)
			}
			continue
		}
		if ingest && size >= s.cfg.fold.directBytes && fresh >= size-size/8 && t.absorb(s.cfg.fold.onceBytes) {
			updates = append(updates, stateUpdate{tail: t, direct: true, deltas: of})
			sec, recs, err := s.directSection(t, of, size)
			if err != nil {
				releaseTails(updates)
				return nil, nil, nil, err
			}
			sections, records = append(sections, sec), append(records, recs...)
			continue
		}
		g := &blobGroup{epoch: epoch}
		sections = append(sections,
			section{prefix: blobPrefix(kindBlob, t.id), size: size, uncached: true, write: func(w keyWriter) error {
				for _, d := range of {
					if err := d.writeBlobs(w, g); err != nil {
						return err
					}
				}
				return nil
			}},
			// Blobs come before all groups, in any order of writing.
			section{prefix: groupKey(t.id, epoch), write: func(w keyWriter) error { return w.Set(groupKey(t.id, epoch), g.encode()) }})
		updates = append(updates, stateUpdate{tail: t, group: g, deltas: of})
	}
	return sections, records, updates, nil
}

// deleteTable adds the deletion of everything of a table to a batch.
func deleteTable(b *pebble.Batch, id TableID) error {
	if err := b.DeleteRange(tablePrefix(id), tableEnd(id), nil); err != nil {
		return err
	}
	if err := b.DeleteRange(appendRowsPrefix(nil, id), blockPrefixEnd(id), nil); err != nil {
		return err
	}
	for _, kind := range []byte{kindBlob, kindGroup} {
		if err := b.DeleteRange(blobPrefix(kind, id), blobPrefixEnd(kind, id), nil); err != nil {
			return err
		}
	}
	return nil
}

// lockTails keeps folds of the given tables from writing while a batch that deletes the tables is
// applied. unlock is called with what came of it.
func (s *Store) lockTails(ids []TableID) (unlock func(dropped bool)) {
	s.tailMu.Lock()
	var ts []*stateTail
	for _, id := range ids {
		if t := s.tails[id]; t != nil && !slices.Contains(ts, t) {
			ts = append(ts, t)
		}
	}
	s.tailMu.Unlock()
	for _, t := range ts {
		t.mu.Lock()
	}
	return func(dropped bool) {
		for _, t := range ts {
			if dropped {
				t.dropped = true
				s.tailBytes.Add(-t.bytes)
				t.groups, t.bytes = nil, 0
				t.parts.Store(new([]tailPart))
			}
			t.mu.Unlock()
		}
		if dropped {
			s.tailMu.Lock()
			for _, t := range ts {
				delete(s.tails, t.id)
			}
			s.tailMu.Unlock()
		}
	}
}
