package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestDealtDeltas: deltas that are dealt out as they are made, as those of a table that grows fast are, read and written as all others, before
// they are sealed, while they are committed and afterwards; and their memory is not used again while somebody reads it.
func TestDealtDeltas(t *testing.T) {
	for seed := range int64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewSource(seed))
			fs := vfs.NewMem()
			s := testStore(t, fs)
			h, err := s.StateTable(1)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			var keys []string
			some := func() string { return keys[rng.Intn(len(keys))] }
			get := func() {
				t.Helper()
				k := some()
				v, ok, err := h.Get([]byte(k))
				if w, there := want[k]; err != nil || ok != there || string(v) != w {
					t.Fatalf("%x is %q, %t, %v, not %q, %t", k, v, ok, err, w, there)
				}
			}
			scan := func(h *StateTable) {
				t.Helper()
				n, last := 0, ""
				if err := h.Scan(nil, func(k, v []byte) error {
					if w, ok := want[string(k)]; !ok || w != string(v) || n > 0 && last >= string(k) {
						t.Fatalf("%x after %x is %q, not %q, %t", k, last, v, w, ok)
					}
					n, last = n+1, string(k)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if n != len(want) {
					t.Fatalf("%d keys, not %d", n, len(want))
				}
			}
			insert := func() {
				k := binary.BigEndian.AppendUint32([]byte{byte(rng.Intn(256))}, uint32(len(keys)))
				v := fmt.Sprintf("%0*d", 1+rng.Intn(30), len(keys))
				h.Insert(k, []byte(v))
				keys, want[string(k)] = append(keys, string(k)), v
			}
			var dealt, direct int
			for epoch := Epoch(1); epoch <= 6; epoch++ {
				// In the later ones what is inserted is looked at, changed and deleted at random places.
				disturb := 0
				if epoch > 3 {
					disturb = 1 + rng.Intn(40000)
				}
				for range dealFrom + rng.Intn(9000) {
					insert()
					if disturb == 0 || rng.Intn(disturb) > 0 {
						continue
					}
					switch k := some(); rng.Intn(4) {
					case 0:
						get()
					case 1:
						want[k] = "changed"
						h.Put([]byte(k), []byte("changed"))
					case 2:
						delete(want, k)
						h.Delete([]byte(k))
					default:
						scan(h)
					}
				}
				d := h.Seal()
				if d.dealt != nil {
					dealt++
				}
				done := make(chan error)
				go func() {
					done <- s.Commit(context.Background(), Commit{Epoch: epoch, Deltas: []*Delta{d}})
				}()
				for range rng.Intn(300) {
					get()
				}
				if rng.Intn(2) == 0 {
					scan(h)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if !d.kept.Load() {
					direct++
				}
				get()
			}
			if dealt < 2 || direct < 3 {
				t.Errorf("%d deltas dealt out, %d written in key order", dealt, direct)
			}
			scan(h)
			mustClose(t, s)
			s = testStore(t, fs)
			if h, err = s.StateTable(1); err != nil {
				t.Fatal(err)
			}
			scan(h)
			mustClose(t, s)
		})
	}
}
