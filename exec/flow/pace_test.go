package flow

import (
	"testing"
	"time"

	"github.com/weirdb/weir/storage"
)

// A portion that took long makes the next one smaller, down to a minimum; a quick one leaves it, and the
// backfill doubles it. Nothing is read while an epoch before the last one is not complete.
func TestPace(t *testing.T) {
	now := time.Unix(1000, 0)
	completed := storage.Epoch(5)
	p := Pace{Now: func() time.Time { return now }, Passed: func() storage.Epoch { return completed }}
	for _, c := range []struct {
		took    time.Duration
		portion int64
		want    int64
	}{
		{0, 64 << 10, 8 * paceMin}, // the first one feels its way
		{time.Millisecond, 4096, 4096},
		{50 * time.Millisecond, 8192, 4096},
		{time.Second, 8192, 2048},
		{time.Minute, 300, paceMin},
	} {
		now = now.Add(c.took)
		if got := p.next(c.portion); got != c.want {
			t.Errorf("after %v a portion of %d is followed by %d, want %d", c.took, c.portion, got, c.want)
		}
	}
	for e, want := range map[storage.Epoch]bool{5: false, 6: false, 7: true} {
		if got := p.behind(e); got != want {
			t.Errorf("behind(%d) with %d completed: %v", e, completed, got)
		}
	}
	if zero := (Pace{}); zero.behind(100) || zero.next(77) != 77 {
		t.Error("the zero Pace waits")
	}
}
