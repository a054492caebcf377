package storage

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestFolderWorksBesideItsOwners: operators change, read and scan their keys of shared tables
// while checkpoints are written and folded in the background, and commits that run ahead wait.
// A crash at any time leaves what the last checkpoint had, folded or not.
func TestFolderWorksBesideItsOwners(t *testing.T) {
	fs := vfs.NewCrashableMem()
	cfg := testConfig(fs)
	cfg.fold.manual, cfg.fold.hardBytes, cfg.fold.softBytes = false, 3000, 1000
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const owners, epochs = 3, 120
	models := make([]rows, owners)
	handles := make([]*StateTable, owners)
	for i := range handles {
		models[i] = rows{}
		if handles[i], err = s.StateTable(TableID(1 + i/2)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(i int, h *StateTable) {
		prefix := fmt.Sprintf("%d", i)
		var got []string
		if err := h.Scan([]byte(prefix), func(k, v []byte) error {
			got = append(got, string(k)+"="+string(v))
			return nil
		}); err != nil {
			t.Error(err)
		}
		(&driver{t: t}).equal("owner "+prefix, got, models[i].sorted(nil, nil, false))
	}
	for e := Epoch(1); e <= epochs; e++ {
		deltas := make([]*Delta, owners)
		var wg sync.WaitGroup
		for i, h := range handles {
			wg.Add(1)
			go func() {
				defer wg.Done()
				rng := rand.New(rand.NewSource(int64(e)*owners + int64(i)))
				for range rng.Intn(30) {
					k := fmt.Sprintf("%d-%02d", i, rng.Intn(60))
					switch rng.Intn(6) {
					case 0:
						h.Delete([]byte(k))
						delete(models[i], k)
					case 1, 2:
						v, ok, err := h.Get([]byte(k))
						if want, wok := models[i][k]; err != nil || ok != wok || string(v) != want {
							t.Errorf("epoch %d: get %s = %q %t %v, want %q %t", e, k, v, ok, err, want, wok)
						}
					default:
						v := fmt.Sprint(rng.Intn(1 << 20))
						if changed(h.dirty, []byte(k)) {
							h.Put([]byte(k), []byte(v))
						} else {
							h.Append([]byte(k), []byte(v))
						}
						models[i][k] = v
					}
				}
				if e%7 == Epoch(i) {
					check(i, h)
				}
				deltas[i] = h.Seal()
			}()
		}
		wg.Wait()
		if err := s.Commit(context.Background(), Commit{Epoch: e, Deltas: deltas}); err != nil {
			t.Fatal(err)
		}
		if n := s.Metrics().UnfoldedBytes; n > 3000+3000 {
			t.Fatalf("%d bytes are not folded", n)
		}
		if e%3 == 0 {
			crash := testStore(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(e*7) % 101, RNG: crashRNG(int64(e))}))
			for i := range handles {
				h, err := crash.StateTable(TableID(1 + i/2))
				if err != nil {
					t.Fatal(err)
				}
				check(i, h)
			}
			mustClose(t, crash)
		}
	}
	mustClose(t, s)
	s, err = Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range handles {
		h, err := s.StateTable(TableID(1 + i/2))
		if err != nil {
			t.Fatal(err)
		}
		check(i, h)
	}
	mustClose(t, s)
}

// TestFoldWritesAKeyOnce: of a key that many checkpoints changed, only the last value reaches the
// key order, and the blobs are gone.
func TestFoldWritesAKeyOnce(t *testing.T) {
	s := testStore(t, vfs.NewMem())
	h, err := s.StateTable(1)
	if err != nil {
		t.Fatal(err)
	}
	for e := Epoch(1); e <= 50; e++ {
		for k := range 10 {
			h.Put(fmt.Appendf(nil, "%d", k), fmt.Appendf(nil, "%d-%d", k, e))
		}
		if err := s.Commit(context.Background(), Commit{Epoch: e, Deltas: []*Delta{h.Seal()}}); err != nil {
			t.Fatal(err)
		}
	}
	tail := s.tail(1)
	if len(tail.groups) != 50 {
		t.Fatalf("%d groups", len(tail.groups))
	}
	s.cfg.fold.onceBytes = 1 << 20
	batches := 0
	if err := s.fold(tail, func(time.Duration) error { batches++; return nil }); err != nil {
		t.Fatal(err)
	}
	if batches != 1+4 { // reading, and 10 keys by threes
		t.Errorf("%d batches", batches)
	}
	for _, kind := range []byte{kindBlob, kindGroup} {
		it, err := s.db.NewIter(nil)
		if err != nil {
			t.Fatal(err)
		}
		if it.SeekGE([]byte{kind}) && it.Key()[0] == kind {
			t.Errorf("%x is still there", it.Key())
		}
		it.Close()
	}
	if n := s.Metrics().UnfoldedBytes; n != 0 {
		t.Errorf("%d bytes unfolded", n)
	}
	if v, ok, err := h.Get([]byte("7")); string(v) != "7-50" || !ok || err != nil {
		t.Error(v, ok, err)
	}
	mustClose(t, s)
}

func TestDropDuringFold(t *testing.T) {
	s := testStore(t, vfs.NewMem())
	h, err := s.StateTable(1)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 100 {
		h.Put(fmt.Appendf(nil, "%d", k), []byte("v"))
	}
	if err := s.Commit(context.Background(), Commit{Epoch: 1, Deltas: []*Delta{h.Seal()}}); err != nil {
		t.Fatal(err)
	}
	steps := 0
	if err := s.fold(s.tail(1), func(time.Duration) error {
		if steps++; steps == 5 {
			return s.Commit(context.Background(), Commit{Epoch: 2, DropTables: []TableID{1}})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if ids, err := s.storedTables(); err != nil || len(ids) != 0 {
		t.Fatalf("tables %v are there after the drop, error %v", ids, err)
	}
	if n := s.Metrics().UnfoldedBytes; n != 0 {
		t.Errorf("%d bytes unfolded", n)
	}
	mustClose(t, s)
}

// FuzzBlob checks that no bytes make the blob decoder panic.
func FuzzBlob(f *testing.F) {
	f.Add([]byte{2, 1, 2, 1, 0, 'k', 'v', 'd'})
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		_ = eachBlobEntry(data, func(koff, klen, voff, vlen int, del bool) {
			if n += klen + vlen; n > len(data) || koff+klen > len(data) || voff+vlen > len(data) {
				t.Fatal("more data than there is")
			}
		})
	})
}

// TestDeltaSort compares the radix sort with comparisons, for keys that are alike in many ways.
func TestDeltaSort(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for round := range 60 {
		d := &Delta{}
		prefix := make([]byte, rng.Intn(20))
		for range 1 + rng.Intn(3000) {
			k := append([]byte(nil), prefix[:rng.Intn(len(prefix)+1)]...)
			if round%2 == 0 {
				k = append(k[:0], prefix...)
			}
			for range rng.Intn(1 + rng.Intn(20)) {
				k = append(k, byte(rng.Intn(1+round*4)))
			}
			d.put(k, nil, false)
		}
		idx := d.sortByKey()
		if len(idx) != d.n {
			t.Fatalf("round %d: %d of %d keys", round, len(idx), d.n)
		}
		for i := 1; i < len(idx); i++ {
			if a, b := d.keyNo(idx[i-1]), d.keyNo(idx[i]); string(a) >= string(b) {
				t.Fatalf("round %d: %x before %x", round, a, b)
			}
		}
	}
}

// TestKeyPrefixKeepsOrder: a smaller prefix means a smaller key.
func TestKeyPrefixKeepsOrder(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	key := func() []byte {
		k := make([]byte, rng.Intn(12))
		for i := range k {
			k[i] = []byte{0, 1, 2, 0x7f, 0x80, 0xff}[rng.Intn(6)]
		}
		return k
	}
	for range 200_000 {
		a, b := key(), key()
		if pa, pb := keyPrefix(a), keyPrefix(b); pa != pb && (pa < pb) != (string(a) < string(b)) {
			t.Fatalf("%x has prefix %x, %x has %x", a, pa, b, pb)
		}
	}
}
