package channel

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"testing"
)

// TestChangeLogIsTheTruth writes random lives into a change log: whatever is uncommitted when a life ends is never in the
// state, and the key-ordered part can be rebuilt from any older one, or from nothing.
func TestChangeLogIsTheTruth(t *testing.T) {
	for seed := range int64(300) {
		rng := rand.New(rand.NewSource(seed))
		var log ChangeLog
		committed, working := map[string]string{}, map[string]string{}
		var olds []KeyOrdered
		gen, version := Generation(0), Version(0)
		begin := func() {
			gen += Generation(1 + rng.Intn(2))
			working = maps.Clone(committed)
			if err := log.Begin(gen); err != nil {
				t.Fatal(err)
			}
		}
		begin()
		put := func(r LogRecord) {
			r.Generation = gen
			if err := log.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		for range 120 {
			switch key := fmt.Sprint(rng.Intn(8)); rng.Intn(12) {
			case 0:
				begin() // it died
			case 1:
				put(LogRecord{Kind: LogAbort})
				working = maps.Clone(committed)
			case 2, 3:
				version++
				put(LogRecord{Kind: LogCommit, Version: version})
				committed = maps.Clone(working)
			case 4:
				put(LogRecord{Key: key, Deleted: true})
				delete(working, key)
			case 5:
				// A zombie cannot write.
				if err := log.Append(LogRecord{Generation: gen - 1, Key: key, Value: "zombie"}); !errors.Is(err, ErrGeneration) {
					t.Fatal(err)
				}
			default:
				v := fmt.Sprint(rng.Intn(1000))
				put(LogRecord{Key: key, Value: v})
				working[key] = v
			}
			if rng.Intn(10) == 0 {
				var s KeyOrdered
				s.Rebuild(log.Records())
				olds = append(olds, s)
			}
		}
		var fresh KeyOrdered
		fresh.Rebuild(log.Records())
		if !maps.Equal(fresh.Keys, committed) || fresh.Commit.Version != version {
			t.Fatalf("seed %d: %v at %d, want %v at %d", seed, fresh.Keys, fresh.Commit.Version, committed, version)
		}
		for _, old := range olds {
			old.Keys = maps.Clone(old.Keys)
			old.Rebuild(log.Records())
			if !maps.Equal(old.Keys, committed) || old.Offset != fresh.Offset {
				t.Fatalf("seed %d: from an older state: %v, want %v", seed, old.Keys, committed)
			}
		}
	}
}

// A log without a fence in front of it (a topic that anybody may write) has records of dead generations between those of the
// living one: they are ignored.
func TestChangeLogOfZombies(t *testing.T) {
	log := []LogRecord{
		{Kind: LogAbort, Generation: 1},
		{Generation: 1, Key: "a", Value: "1"},
		{Kind: LogCommit, Generation: 1, Version: 1},
		{Generation: 1, Key: "a", Value: "uncommitted"},
		{Generation: 2, Key: "b", Value: "2"},
		{Generation: 1, Key: "b", Value: "zombie"},
		{Kind: LogCommit, Generation: 1, Version: 2},
		{Kind: LogCommit, Generation: 2, Version: 2},
	}
	var s KeyOrdered
	s.Rebuild(log)
	if want := map[string]string{"a": "1", "b": "2"}; !maps.Equal(s.Keys, want) {
		t.Fatalf("%v, want %v", s.Keys, want)
	}
}
