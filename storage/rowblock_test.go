package storage

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestRowBlockWidths: small blocks and those of more than 64 KiB give their rows back.
func TestRowBlockWidths(t *testing.T) {
	for _, size := range []int{0, 1, 100, 5000} {
		var buf []byte
		var ends []int
		for i := range 40 {
			buf = fmt.Appendf(buf, "key%03d", i)
			ends = append(ends, len(buf))
			buf = append(buf, bytes.Repeat([]byte{byte(i)}, size)...)
			ends = append(ends, len(buf))
		}
		b := newBlock(buf, ends, 2)
		if b == nil {
			t.Fatal("not a block")
		}
		for _, part := range [][2]int{{0, 40}, {0, 1}, {39, 40}, {7, 31}} {
			enc := encodeRows(nil, b, part[0], part[1])
			s, err := decodeRows(enc)
			if err != nil || s.n != part[1]-part[0] {
				t.Fatal(size, part, s.n, err)
			}
			for i := range s.n {
				if !bytes.Equal(s.key(i), b.key(part[0]+i)) || !bytes.Equal(s.value(i), b.value(part[0]+i)) {
					t.Fatalf("size %d, rows %v: row %d is %q", size, part, i, s.key(i))
				}
				if at, ok := s.search(b.key(part[0] + i)); at != i || !ok {
					t.Fatalf("size %d, rows %v: row %d found at %d %t", size, part, i, at, ok)
				}
			}
			for n := range min(len(enc), 300) {
				if _, err := decodeRows(enc[:n]); err == nil {
					t.Fatalf("size %d, rows %v: the first %d bytes are a block", size, part, n)
				}
			}
		}
	}
}

// FuzzDecodeRows: whatever is read, a block that is accepted can be walked.
func FuzzDecodeRows(f *testing.F) {
	b := &rowBlock{buf: []byte("a1b2"), ends: []uint32{1, 2, 3, 4}}
	f.Add(encodeRows(nil, b, 0, 2))
	f.Add([]byte{4, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'k'})
	f.Add([]byte{2, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := decodeRows(in)
		if err != nil {
			return
		}
		size := 0
		for i := range s.n {
			size += len(s.key(i)) + len(s.value(i))
		}
		if size != len(s.buf) {
			t.Fatalf("rows of %d bytes in %d", size, len(s.buf))
		}
		s.search([]byte("b"))
	})
}

// TestDeletedBlocks: readers step over deleted blocks once and not for each key, in whatever order the keys come, and find what is
// stored beside them.
func TestDeletedBlocks(t *testing.T) {
	const n, live = 100_000, 70_000 // the first ones go, and the last; those between stay
	s := testStore(t, vfs.NewMem())
	defer mustClose(t, s)
	a := s.Arrangement(1)
	commit := func(epoch Epoch, cs []Change) {
		t.Helper()
		a.Apply(cs)
		a.Seal(epoch, true)
		s.SetCompleted(epoch)
		if err := s.Commit(context.Background(), Commit{Epoch: epoch}); err != nil {
			t.Fatal(err)
		}
	}
	there := func(i int) bool { return i >= live && i < live+1000 }
	var all, gone []Change
	for i := range n {
		k := intKey(nil, i)
		all = append(all, Change{Key: k, Value: []byte("v")})
		if !there(i) {
			gone = append(gone, Change{Key: k, Delete: true})
		}
	}
	commit(1, all)
	// Who reads an older state keeps the storage engine from forgetting in the background what was deleted.
	old, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	defer old.Release()
	before := old.Table(1)
	defer before.Release()
	commit(2, gone)
	sn, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Release()
	v := sn.Table(1)
	defer v.Release()
	rng := rand.New(rand.NewSource(1))
	g := v.Getter()
	defer g.Close()
	check := func(i int) {
		t.Helper()
		k := intKey(nil, i)
		_, one, err := v.Get(k)
		if err != nil {
			t.Fatal(err)
		}
		_, next, err := g.Get(k)
		if err != nil {
			t.Fatal(err)
		}
		it := v.Iterator(k, intKey(nil, i+1), rng.Intn(2) == 0)
		found := it.Next()
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
		if want := there(i); one != want || next != want || found != want {
			t.Fatalf("row %d: %t, %t and %t instead of %t", i, one, next, found, want)
		}
	}
	orders := []func(i int) int{
		func(i int) int { return i },
		func(i int) int { return n - 1 - i },
		func(int) int { return rng.Intn(n) },
	}
	for _, order := range orders {
		a.blocks.gap.Store(nil)
		for i := 0; i < n; i += 97 {
			check(order(i))
		}
		if a.blocks.gap.Load() == nil {
			t.Fatal("nothing is known of the deleted blocks")
		}
	}
	// Whoever is in the gap goes to its end at once.
	check(live / 2)
	it, err := rowsIter(v.l.base.snap, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	if !a.blocks.seek(v.l.base.snap, 1, it, intKey(nil, live/2+1)) {
		t.Fatal("no block is behind the gap")
	}
	if n := it.Stats().ForwardStepCount[pebble.InternalIterCall]; n > rowBlockGap {
		t.Fatalf("%d steps to the end of a gap that is known", n)
	}
}
