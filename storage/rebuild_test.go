package storage

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// rawKeys gives everything that a store has between two raw keys.
func rawKeys(t *testing.T, s *Store, lo, hi []byte) (out [][2][]byte) {
	t.Helper()
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		out = append(out, [2][]byte{bytes.Clone(it.Key()), bytes.Clone(it.Value())})
	}
	return out
}

// TestKeyOrderIsRebuiltFromDeltas: the delta blobs of the committed checkpoints are the truth of a state table. The part in key
// order that folding made of them beside the commits is lost, and made again, the same, of the blobs alone; of changes that
// no checkpoint has committed there is nothing in it.
func TestKeyOrderIsRebuiltFromDeltas(t *testing.T) {
	for seed := range int64(20) {
		rng := rand.New(rand.NewSource(seed))
		fs := vfs.NewMem()
		cfg := testConfig(fs)
		cfg.fold.minEntries = 1 // every delta is a blob
		s, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.StateTable(1)
		if err != nil {
			t.Fatal(err)
		}
		change := func(e Epoch) {
			for range 1 + rng.Intn(12) {
				k := fmt.Appendf(nil, "%02d", rng.Intn(40))
				if rng.Intn(4) == 0 {
					h.Delete(k)
				} else {
					h.Put(k, fmt.Appendf(nil, "%d-%d", e, rng.Intn(1000)))
				}
			}
		}
		fold := func(s *Store) {
			for len(s.tail(1).groups) > 0 {
				if err := s.fold(s.tail(1), func(time.Duration) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
		}
		// blobs is the change log: all that the checkpoints wrote.
		var blobs [][2][]byte
		const epochs = 30
		for e := Epoch(1); e <= epochs; e++ {
			change(e)
			if err := s.Commit(context.Background(), Commit{Epoch: e, Deltas: []*Delta{h.Seal()}}); err != nil {
				t.Fatal(err)
			}
			for _, kind := range []byte{kindBlob, kindGroup} {
				for _, kv := range rawKeys(t, s, blobPrefix(kind, 1), blobPrefixEnd(kind, 1)) {
					if i, ok := slices.BinarySearchFunc(blobs, kv, func(a, b [2][]byte) int { return bytes.Compare(a[0], b[0]) }); !ok {
						blobs = slices.Insert(blobs, i, kv)
					}
				}
			}
			if rng.Intn(3) == 0 {
				fold(s)
			}
		}
		fold(s)
		want := rawKeys(t, s, tablePrefix(1), tableEnd(1))
		if len(want) == 0 {
			t.Fatal("nothing in key order")
		}
		change(epochs + 1)
		h.Seal() // handed over, and never committed
		change(epochs + 2)

		b := s.db.NewBatch()
		if err := b.DeleteRange(tablePrefix(1), tableEnd(1), nil); err != nil {
			t.Fatal(err)
		}
		for _, kv := range blobs {
			if err := b.Set(kv[0], kv[1], nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Commit(pebble.Sync); err != nil {
			t.Fatal(err)
		}
		mustClose(t, s)
		if s, err = Open(cfg); err != nil {
			t.Fatal(err)
		}
		if n := len(rawKeys(t, s, tablePrefix(1), tableEnd(1))); n != 0 {
			t.Fatalf("%d keys in key order", n)
		}
		if h, err = s.StateTable(1); err != nil {
			t.Fatal(err)
		}
		for _, kv := range want {
			key := kv[0][tablePrefixLen:]
			if v, ok, err := h.Get(key); err != nil || !ok || !bytes.Equal(v, kv[1]) {
				t.Fatalf("seed %d: from blobs alone %q is %q %v %v, want %q", seed, key, v, ok, err, kv[1])
			}
		}
		fold(s)
		got := rawKeys(t, s, tablePrefix(1), tableEnd(1))
		if !slices.EqualFunc(got, want, func(a, b [2][]byte) bool {
			return bytes.Equal(a[0], b[0]) && bytes.Equal(a[1], b[1])
		}) {
			t.Fatalf("seed %d: rebuilt:\n%q\nwant\n%q", seed, got, want)
		}
		mustClose(t, s)
	}
}
