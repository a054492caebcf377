package storage

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler lets Pebble compact, but not before it was released: whoever has just opened a store waits for a recovery, which
// needs the processor and the disk, and what was to be compacted when the process died can wait a little longer.
//
// The usual scheduler, which it asks afterwards, wakes up ten times a second to see whether more compactions are allowed
// than before. Here that number is constant, and an idle server must use no CPU.
type scheduler struct {
	pebble.CompactionScheduler

	// mu comes after Pebble's locks.
	mu       sync.Mutex
	released bool
	// refused: Pebble waits for permission, and does not ask again.
	refused bool
	db      pebble.DBForCompaction
}

func newScheduler() *scheduler {
	return &scheduler{CompactionScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()}
}

// Register is called by Pebble.
func (s *scheduler) Register(numGoroutinesPerCompaction int, db pebble.DBForCompaction) {
	s.mu.Lock()
	s.db = db
	s.mu.Unlock()
	s.CompactionScheduler.Register(numGoroutinesPerCompaction, db)
}

// TrySchedule is called by Pebble, with its locks held.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	if !s.released {
		s.refused = true
		s.mu.Unlock()
		return false, nil
	}
	s.mu.Unlock()
	return s.CompactionScheduler.TrySchedule()
}

// release lets compactions begin. Only the first call does anything.
func (s *scheduler) release() {
	s.mu.Lock()
	waits := s.refused && !s.released
	s.released = true
	db := s.db
	s.mu.Unlock()
	if !waits {
		return
	}
	ok, grant := s.CompactionScheduler.TrySchedule()
	if !ok {
		return // it is closed
	}
	if waiting, _ := db.GetWaitingCompaction(); !waiting || !db.Schedule(grant) {
		grant.Done()
	}
}
