package storage

import (
	"fmt"
	"slices"
	"sync"
)

// Snapshot is all arrangements as they were at one epoch. Any number of goroutines may read it
// until it is released.
type Snapshot struct {
	s     *Store
	epoch Epoch
	gen   uint64 // Store.dropGen when it was made

	mu       sync.Mutex
	released bool
	tables   []*Version // the ones asked for; they hold references to their bases
}

// Snapshot pins epoch, which must be the completed one or one that is pinned already; the error
// is ErrEpochGone otherwise. The snapshot must be released.
func (s *Store) Snapshot(epoch Epoch) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if epoch != s.completed && s.pins[epoch] == 0 {
		return nil, fmt.Errorf("snapshot at epoch %d, newest complete epoch is %d: %w", epoch, s.completed, ErrEpochGone)
	}
	return s.pin(epoch), nil
}

// SnapshotAt pins epoch, which may be later than the completed one: the caller sees to it that the tables that he reads have
// been sealed at it, and reads no other. The error is ErrEpochGone if the completed epoch is later and this one not pinned.
func (s *Store) SnapshotAt(epoch Epoch) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if epoch < s.completed && s.pins[epoch] == 0 {
		return nil, fmt.Errorf("snapshot at epoch %d, newest complete epoch is %d: %w", epoch, s.completed, ErrEpochGone)
	}
	return s.pin(epoch), nil
}

// Latest pins the newest completed epoch.
func (s *Store) Latest() (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	return s.pin(s.completed), nil
}

// Oldest gives the oldest epoch that somebody may still read: the smallest that is pinned, or the
// completed one.
func (s *Store) Oldest() Epoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pinned) > 0 {
		return min(s.pinned[0], s.completed)
	}
	return s.completed
}

func (s *Store) pin(epoch Epoch) *Snapshot {
	s.pins[epoch]++
	if s.pins[epoch] == 1 {
		i, _ := slices.BinarySearch(s.pinned, epoch)
		s.pinned = slices.Insert(slices.Clone(s.pinned), i, epoch)
	}
	s.gens[s.dropGen]++
	return &Snapshot{s: s, epoch: epoch, gen: s.dropGen}
}

// unpin gives back one pin and says whether versions may have become free.
func (s *Store) unpin(epoch Epoch, gen uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	drops := false
	if s.gens[gen]--; s.gens[gen] == 0 {
		delete(s.gens, gen)
		drops = gen < s.dropGen && !s.closed
	}
	if s.pins[epoch]--; s.pins[epoch] > 0 {
		return drops
	}
	delete(s.pins, epoch)
	i, _ := slices.BinarySearch(s.pinned, epoch)
	s.pinned = slices.Delete(slices.Clone(s.pinned), i, i+1)
	return drops || epoch < s.completed && !s.closed
}

// Epoch gives the snapshot's epoch.
func (sn *Snapshot) Epoch() Epoch { return sn.epoch }

// Table gives the version of table id. It belongs to the snapshot: it needs no Release and must
// not be used after the snapshot's. A table that was dropped before the snapshot was made, or did
// not exist at its epoch, is empty; one that is dropped later keeps its content.
func (sn *Snapshot) Table(id TableID) *Version {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.released {
		panic("storage: table of a released snapshot")
	}
	for _, v := range sn.tables {
		if v.l.id == id {
			return v
		}
	}
	v := &Version{l: sn.s.layersAt(id, sn.epoch, sn.gen), epoch: sn.epoch}
	sn.tables = append(sn.tables, v)
	return v
}

// layersAt gives the content of table id at a pinned epoch, with a reference to its base.
func (s *Store) layersAt(id TableID, epoch Epoch, gen uint64) layers {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.arrangements[id]; a != nil {
		a.mu.RLock()
		defer a.mu.RUnlock()
		if a.dropped == 0 || gen < a.dropped {
			sv, ok := a.at(epoch)
			if !ok {
				panic(fmt.Sprintf("storage: table %d has no version at the pinned epoch %d", id, epoch))
			}
			sv.base.ref()
			return sv.layers
		}
	}
	// Nobody has changed the table since the store was opened, or it is dropped: what is
	// committed is what the reader sees.
	return layers{id: id, base: s.base.ref(), blocks: s.blocksOf(id)}
}

// Release gives the snapshot back. It may be called again.
func (sn *Snapshot) Release() {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.released {
		return
	}
	sn.released = true
	for _, v := range sn.tables {
		v.l.base.unref()
	}
	sn.tables = nil
	if sn.s.unpin(sn.epoch, sn.gen) {
		sn.s.sweep()
	}
}
