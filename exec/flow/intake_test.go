package flow

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// What a loop puts aside comes out in the order in which it came, chunks and barriers, from memory and from disk; a producer waits
// only for what neither has taken.
func TestIntake(t *testing.T) {
	spilled := 0
	for seed := range int64(60) {
		rng := rand.New(rand.NewSource(seed))
		in := newInbox(2, 0)
		s := testSpill(t)
		full := rng.Intn(4) == 0
		if full {
			s = &spill{limit: 1 << 10, report: func(error) {}, open: func() (*storage.TempFile, error) { return nil, errors.New("no room") }}
		}
		k := &intake{in: in, limit: 2000, spill: s}
		var want [2][]string
		var got [2][]string
		send := func(slot int) {
			m := message{slot: slot, head: channel.Header{}}
			if rng.Intn(5) == 0 {
				b := exec.Barrier{Epoch: storage.Epoch(len(want[slot]) + 1)}
				m.barrier = &b
				want[slot] = append(want[slot], fmt.Sprint("barrier ", b.Epoch))
			} else {
				c := vec.NewChunk([]types.Type{int8Type}, 0)
				for range 1 + rng.Intn(20) {
					c.AppendRow([]types.Datum{types.DInt(rng.Int63n(1000))}, 1)
				}
				m.chunk = &parcel{chunk: c}
				m.chunk.refs.Store(1)
				want[slot] = append(want[slot], fmt.Sprint(chunkText(c)))
			}
			if err := in.put(m); err != nil {
				t.Fatal(err)
			}
		}
		charged := 0 // chunks that were taken out, and for which their producers wait
		take := func() bool {
			m, ok, err := k.next()
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !ok:
			case m.barrier != nil:
				got[m.slot] = append(got[m.slot], fmt.Sprint("barrier ", m.barrier.Epoch))
			default:
				got[m.slot] = append(got[m.slot], fmt.Sprint(chunkText(m.chunk.chunk)))
				if !m.free {
					charged++
				}
				m.chunk.release()
			}
			return ok
		}
		for range 300 {
			switch rng.Intn(4) {
			case 0, 1:
				send(rng.Intn(2))
			case 2:
				if err := k.aside(); err != nil {
					t.Fatal(err)
				}
				spilled += k.spilled
				if !full && k.bytes > k.limit {
					t.Fatalf("seed %d: %d bytes in memory", seed, k.bytes)
				}
				if full && k.spilled > 0 {
					t.Fatalf("seed %d: spilled to a disk that is full", seed)
				}
			default:
				take()
			}
		}
		for take() {
		}
		for slot := range want {
			if !slices.Equal(want[slot], got[slot]) {
				t.Fatalf("seed %d: producer %d: %v, want %v", seed, slot, got[slot], want[slot])
			}
		}
		if chunks, _ := in.waiting(); chunks != charged {
			t.Errorf("seed %d: producers wait for %d chunks, want %d", seed, chunks, charged)
		}
		if k.bytes != 0 || k.spilled != 0 {
			t.Errorf("seed %d: %d bytes and %d chunks are left", seed, k.bytes, k.spilled)
		}
		// What is left at the end is given back.
		send(0)
		if err := k.aside(); err != nil {
			t.Fatal(err)
		}
		k.close()
	}
	if spilled == 0 {
		t.Error("nothing was spilled")
	}
}
