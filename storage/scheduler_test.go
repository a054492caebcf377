package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// fakeCompactions is a database that waits to compact.
type fakeCompactions struct {
	waiting, accepts bool
	grants           []pebble.CompactionGrantHandle
}

func (f *fakeCompactions) GetAllowedWithoutPermission() int { return 1 }

func (f *fakeCompactions) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return f.waiting, pebble.WaitingCompaction{}
}

func (f *fakeCompactions) Schedule(h pebble.CompactionGrantHandle) bool {
	if f.accepts {
		f.waiting = false
		f.grants = append(f.grants, h)
	}
	return f.accepts
}

// TestCompactionsWaitForTheFirstCheckpoint: nothing is compacted before the scheduler is released; what was refused
// until then is granted at once, and the number of compactions stays what is allowed.
func TestCompactionsWaitForTheFirstCheckpoint(t *testing.T) {
	s := newScheduler()
	db := &fakeCompactions{accepts: true}
	s.Register(1, db)
	if ok, _ := s.TrySchedule(); ok {
		t.Fatal("a compaction before the release")
	}
	db.waiting = true
	s.release()
	if len(db.grants) != 1 {
		t.Fatalf("%d grants for the compaction that was refused", len(db.grants))
	}
	s.release()
	if ok, _ := s.TrySchedule(); ok || len(db.grants) != 1 {
		t.Fatal("a second compaction while one is allowed")
	}
	db.grants[0].Done()
	ok, grant := s.TrySchedule()
	if !ok {
		t.Fatal("no compaction after the first one")
	}
	grant.Done()
	s.Unregister()

	// What was refused is not wanted any more: the permission is given back.
	for _, db := range []*fakeCompactions{{waiting: true}, {accepts: true}} {
		s := newScheduler()
		s.Register(1, db)
		if ok, _ := s.TrySchedule(); ok {
			t.Fatal("a compaction before the release")
		}
		s.release()
		db.waiting = false
		if ok, _ := s.TrySchedule(); !ok || len(db.grants) > 0 {
			t.Error("a permission was lost")
		}
	}
}
