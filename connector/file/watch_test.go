package file

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirdb/weir/sql/sqlerr"
)

// manualClock fires timers by hand.
type manualClock struct{ timers []func() }

func (c *manualClock) Now() time.Time { return time.Unix(0, 0) }

func (c *manualClock) AfterFunc(_ time.Duration, f func()) func() bool {
	c.timers = append(c.timers, f)
	return func() bool { c.timers = nil; return true }
}

// TestPolling: where changes are not reported, the watcher wakes its reader at every tick until Close.
func TestPolling(t *testing.T) {
	clock := &manualClock{}
	ready := make(chan struct{}, 1)
	// A file that is not there cannot be watched.
	w := newWatcher(filepath.Join(t.TempDir(), "missing"), clock, ready)
	for range 3 {
		select {
		case <-ready:
			t.Fatal("woken before a tick")
		default:
		}
		if len(clock.timers) != 1 {
			t.Fatalf("%d timers", len(clock.timers))
		}
		f := clock.timers[0]
		clock.timers = nil
		f()
		<-ready
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(clock.timers) != 0 {
		t.Error("a timer is left after Close")
	}
}

// TestIdleFollowerSleeps: a followed file that does not change wakes nobody and sets no timer.
func TestIdleFollowerSleeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if unreported(path) {
		return // polling is the best that there is here
	}
	clock := &manualClock{}
	ready := make(chan struct{}, 1)
	w := newWatcher(path, clock, ready)
	if len(clock.timers) != 0 {
		t.Errorf("%d timers", len(clock.timers))
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-ready
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOffsetRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<62)
		o := offset{
			bytes: n.Draw(t, "bytes"), lines: n.Draw(t, "lines"), rows: n.Draw(t, "rows"),
			inode: rapid.Uint64().Draw(t, "inode"), sum: rapid.Uint64().Draw(t, "sum"), ended: rapid.Bool().Draw(t, "ended"),
		}
		enc := o.encode()
		got, err := decodeOffset(enc)
		if err != nil || got != o {
			t.Fatalf("%+v became %+v, %v", o, got, err)
		}
		if len(enc) > 300 {
			t.Fatalf("%d bytes", len(enc))
		}
	})
	for _, bad := range []string{"", "2 bytes=1", "1 bytes=-1 lines=0 rows=0 inode=0 sum=0 ended=false", "1 bytes=1 lines=x"} {
		if _, err := decodeOffset([]byte(bad)); err == nil || sqlerr.From(err).Code != sqlerr.DataCorrupted {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
