package flow

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// randomEarly is a chunk of int8, text and bool, with NULLs, some columns without values, and diffs or none.
func randomEarly(rng *rand.Rand) *vec.Chunk {
	ts := []types.Type{int8Type, types.T(types.Text), types.T(types.Bool), int8Type}
	c := vec.NewChunk(ts, 0)
	missing := rng.Intn(8) // the third column, sometimes
	for range 1 + rng.Intn(40) {
		row := []types.Datum{types.DInt(rng.Int63() - rng.Int63()), types.DStr(fmt.Sprint(rng.Intn(1e6))), types.DBool(rng.Intn(2) == 0), {}}
		if rng.Intn(4) == 0 {
			row[rng.Intn(3)] = types.Datum{}
		}
		diff := int64(1)
		if missing%2 == 0 {
			diff = 1 + rng.Int63n(3)
		}
		c.AppendRow(row, diff)
	}
	if missing > 5 {
		c.Cols[2] = vec.NewVector(ts[2], 0)
	}
	return c
}

func chunkText(c *vec.Chunk) []string {
	var out []string
	for i := range c.Len() {
		line := fmt.Sprint(c.Diff(i))
		for _, v := range c.Cols {
			if v.Len() == 0 {
				line += " none"
			} else {
				line += fmt.Sprintf(" %v", v.Datum(i))
			}
		}
		out = append(out, line)
	}
	return out
}

// TestSpill writes chunks and reads them back in another order, over several lives of the file.
func TestSpill(t *testing.T) {
	s := testSpill(t)
	for seed := range int64(50) {
		rng := rand.New(rand.NewSource(seed))
		type kept struct {
			ref  int64
			text []string
			m    message
		}
		var all []kept
		for k := range 1 + rng.Intn(10) {
			p := newParcelPool(nil, 1, 0).get()
			p.chunk = randomEarly(rng)
			m := message{slot: k, head: channel.Header{Producer: 3, Generation: 1, Version: 2, Seq: channel.Seq(k + 1)}, chunk: p}
			text := chunkText(p.chunk)
			ref, err := s.Write(m)
			if err != nil {
				t.Fatal(seed, err)
			}
			if p.refs.Load() != 0 {
				t.Fatal("a parcel is still held")
			}
			all = append(all, kept{ref, text, m})
		}
		for _, i := range rng.Perm(len(all)) {
			k := all[i]
			m, err := s.Read(k.ref)
			if err != nil {
				t.Fatal(seed, err)
			}
			if m.slot != k.m.slot || m.head != k.m.head || !slices.Equal(chunkText(m.chunk.chunk), k.text) {
				t.Fatalf("seed %d: got %v, want %v", seed, chunkText(m.chunk.chunk), k.text)
			}
		}
		s.Reset()
	}
}

// A disk that does not take a chunk is reported once, and once when it does again; the file's limit is not reported.
func TestSpillFails(t *testing.T) {
	var said []error
	store, err := storage.Open(storage.Config{Dir: "db", FS: storage.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	full := errors.New("no space left")
	fails := true
	s := &spill{limit: 1 << 10, report: func(err error) { said = append(said, err) }, open: func() (*storage.TempFile, error) {
		if fails {
			return nil, full
		}
		return store.TempFile("spill")
	}}
	defer s.close()
	m := func() message { return message{chunk: numberedParcel(1)} }
	for range 2 {
		if _, err := s.Write(m()); !errors.Is(err, full) {
			t.Fatal(err)
		}
	}
	fails = false
	for range 2 {
		if _, err := s.Write(m()); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(said) != "[no space left <nil>]" {
		t.Fatal(said)
	}
	s.limit = 0
	held := m()
	if _, err := s.Write(held); !errors.Is(err, errSpillFull) || held.chunk.refs.Load() != 1 {
		t.Fatal(err)
	}
	if len(said) != 2 {
		t.Fatal(said)
	}
}

// FuzzDecodeChunk: bytes that no encoder made give an error, never a panic.
func FuzzDecodeChunk(f *testing.F) {
	ts := []types.Type{int8Type, types.T(types.Text), types.T(types.Bool), int8Type}
	f.Add(vec.EncodeChunk(nil, randomEarly(rand.New(rand.NewSource(1)))))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := vec.DecodeChunk(slices.Clone(b), ts)
		if err != nil {
			return
		}
		again, err := vec.DecodeChunk(vec.EncodeChunk(nil, c), ts)
		if err != nil || !slices.Equal(chunkText(again), chunkText(c)) {
			t.Fatalf("%v: %v", err, chunkText(c))
		}
	})
}
