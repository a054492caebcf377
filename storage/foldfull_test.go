package storage

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// TestFoldWithoutRoom: while the disk is full nothing is folded, and state is read and changed all the same; then it goes on.
func TestFoldWithoutRoom(t *testing.T) {
	fs := &sizedFS{FS: vfs.NewMem()}
	fs.avail.Store(1 << 30)
	cfg := testConfig(fs)
	cfg.fold = foldConfig{minEntries: 1, tableBytes: 1 << 20, tableGroups: 100, onceBytes: 1 << 20, softBytes: 1 << 20, hardBytes: 4 << 20, batchEntries: 8, share: 1, manual: true}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.StateTable(5)
	if err != nil {
		t.Fatal(err)
	}
	write := func(e Epoch) {
		t.Helper()
		for k := range 100 {
			st.Put(fmt.Appendf(nil, "key %d", k), fmt.Appendf(nil, "%d", e))
		}
		d := st.Seal()
		s.SetCompleted(e)
		if err := s.Commit(t.Context(), Commit{Epoch: e, Deltas: []*Delta{d}}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want string) {
		t.Helper()
		for k := range 100 {
			if v, ok, err := st.Get(fmt.Appendf(nil, "key %d", k)); err != nil || !ok || string(v) != want {
				t.Fatalf("key %d: %q, %v, %v, want %s", k, v, ok, err, want)
			}
		}
	}
	write(1)
	write(2)
	before := s.tailBytes.Load()
	fs.avail.Store(1 << 10)
	if err := s.fold(s.tail(5), s.rest); sqlerr.From(err).Code != sqlerr.DiskFull {
		t.Fatalf("folding without room: %v", err)
	}
	if n := s.tailBytes.Load(); n != before || n == 0 {
		t.Fatalf("%d bytes are to be folded, %d before", n, before)
	}
	read("2")
	fs.avail.Store(1 << 30)
	write(3)
	if err := s.fold(s.tail(5), s.rest); err != nil {
		t.Fatal(err)
	}
	if n := s.tailBytes.Load(); n != 0 {
		t.Fatalf("%d bytes are to be folded", n)
	}
	read("3")
	mustClose(t, s)
}
