package storage

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"
)

// TestShelvesEqualMap: random changes under keys of all kinds (empty, prefixes of each other, with long common beginnings, many with one first
// byte) come back in key order, the last one of each key.
func TestShelvesEqualMap(t *testing.T) {
	for seed := range int64(30) {
		rng := rand.New(rand.NewSource(seed))
		x := newShelves(7)
		want := rows{}
		deleted := map[string]bool{}
		add := func(key string, val []byte, del bool) {
			if del {
				want[key], deleted[key] = "", true
			} else {
				want[key] = string(val)
				delete(deleted, key)
			}
		}
		common := bytes.Repeat([]byte{byte(seed)}, rng.Intn(20))
		d := &Delta{table: 7}
		for range rng.Intn(5000) {
			key := make([]byte, rng.Intn(12))
			rng.Read(key)
			if rng.Intn(2) == 0 {
				key = append(bytes.Clone(common), key...)
			}
			val := make([]byte, rng.Intn(300)*rng.Intn(2))
			rng.Read(val)
			del := rng.Intn(5) == 0
			x.add(key, val, del)
			add(string(key), val, del)
			if rng.Intn(3) == 0 {
				d.put(key, val, !del)
			}
		}
		// A delta comes last.
		for i := range uint32(d.n) {
			e := d.at(i)
			add(string(d.keyOf(e)), d.valueOf(e), e.vlen == tombstone)
		}
		x.addDelta(d)
		var got []string
		if err := x.each(func(key, val []byte, del bool) error {
			key, ok := bytes.CutPrefix(key, tablePrefix(7))
			if !ok || del != deleted[string(key)] {
				t.Fatalf("seed %d: key %x, deleted %t", seed, key, del)
			}
			got = append(got, string(key)+"="+string(val))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		(&driver{t: t}).equal(fmt.Sprintf("seed %d", seed), got, want.sorted(nil, nil, false))
	}
}
