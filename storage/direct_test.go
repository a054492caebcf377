package storage

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestDirect: a checkpoint that adds much to a state table writes it in key order, and takes over what is in blobs; a crash right after it
// brings back nothing that hides what is new.
func TestDirect(t *testing.T) {
	fs := vfs.NewCrashableMem()
	cfg := testConfig(fs)
	cfg.fold.onceBytes = 1 << 20
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.StateTable(1)
	if err != nil {
		t.Fatal(err)
	}
	want := rows{}
	epoch := Epoch(0)
	commit := func() {
		t.Helper()
		epoch++
		if err := s.Commit(context.Background(), Commit{Epoch: epoch, Deltas: []*Delta{h.Seal()}}); err != nil {
			t.Fatal(err)
		}
	}
	// change sets keys from lo to hi-1; those that are new are nearly all of them, or few.
	change := func(lo, hi int, fresh bool) {
		for i := lo; i < hi; i++ {
			k, v := fmt.Sprintf("%03d", i), fmt.Sprintf("%d of epoch %d", i, epoch+1)
			if fresh {
				h.Insert([]byte(k), []byte(v))
			} else {
				h.Put([]byte(k), []byte(v))
			}
			want[k] = v
		}
	}
	check := func(s *Store, unfolded bool) {
		t.Helper()
		h, err := s.StateTable(1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := h.Scan(nil, func(k, v []byte) error {
			got = append(got, string(k)+"="+string(v))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		(&driver{t: t}).equal("table", got, want.sorted(nil, nil, false))
		for k, v := range want {
			if got, ok, err := h.Get([]byte(k)); err != nil || !ok || string(got) != v {
				t.Fatalf("%s is %q, %t, %v; want %q", k, got, ok, err, v)
			}
		}
		if n := len(rawKeys(t, s, blobPrefix(kindBlob, 1), blobPrefixEnd(kindBlob, 1))); unfolded != (n > 0) {
			t.Fatalf("%d blobs", n)
		}
		if n := s.Metrics().UnfoldedBytes; unfolded != (n > 0) {
			t.Fatalf("%d bytes are not folded", n)
		}
	}
	crash := func(unfolded bool) {
		t.Helper()
		for _, percent := range []int{0, 50, 100} {
			c := testStore(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: crashRNG(int64(epoch))}))
			check(c, unfolded)
			mustClose(t, c)
		}
	}

	change(0, 60, false)
	commit()
	crash(true)
	// Most of it is new: the blobs go.
	change(100, 180, true)
	change(0, 3, false)
	h.Delete([]byte("004"))
	delete(want, "004")
	commit()
	check(s, false)
	crash(false)

	// What is folded, and whose deletion is not synced, does not come back.
	change(0, 60, false)
	commit()
	for len(s.tail(1).groups) > 0 {
		if err := s.fold(s.tail(1), func(time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	change(0, 70, true)
	commit()
	check(s, false)
	crash(false)

	// A fold under way: blobs are written once more.
	change(0, 60, false)
	commit()
	begun := false
	if err := s.fold(s.tail(1), func(time.Duration) error {
		if !begun {
			begun = true
			change(200, 260, true)
			commit()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	check(s, true)
	crash(true)
	change(300, 360, true)
	commit()
	check(s, false)
	crash(false)
	mustClose(t, s)
}
