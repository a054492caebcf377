package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func testStore(t testing.TB, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open(testConfig(fs))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesUnknownFormat(t *testing.T) {
	fs := vfs.NewMem()
	mustClose(t, testStore(t, fs))
	mustClose(t, testStore(t, fs))
	for content, want := range map[string]string{
		"weir state format 1\n":   "state format version 1, but this Weir reads and writes version 3",
		"weir state format 999\n": "version 999",
		"something else\n":        `does not hold a format version but "something else"`,
		"":                        "does not hold a format version",
	} {
		rewrite(t, fs, "db/"+formatFile, []byte(content))
		if _, err := Open(testConfig(fs)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "db") {
			t.Errorf("%q: error %v, want one with %q", content, err, want)
		}
	}
	if err := fs.Remove("db/" + formatFile); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testConfig(fs)); err == nil || !strings.Contains(err.Error(), "no "+formatFile) {
		t.Errorf("no format file: %v", err)
	}
	rewrite(t, fs, "db/"+formatFile, []byte("weir state format 3\n"))
	mustClose(t, testStore(t, fs))
}

func TestOpenRefusesSecondServer(t *testing.T) {
	for name, cfg := range map[string]Config{
		"mem":  testConfig(vfs.NewMem()),
		"disk": {Dir: t.TempDir() + "/a/b"},
	} {
		s, err := Open(cfg)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "in use by another Weir server") {
			t.Fatalf("%s: %v", name, err)
		}
		mustClose(t, s)
		s, err = Open(cfg)
		if err != nil {
			t.Fatal(name, err)
		}
		mustClose(t, s)
	}
	if _, err := Open(Config{}); err == nil {
		t.Fatal("no directory: no error")
	}
}

func count(t testing.TB, v *Version) int {
	t.Helper()
	it := v.Iterator(nil, nil, false)
	n := 0
	for it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// fill puts rows into a table and commits them.
func fill(t testing.TB, s *Store, id TableID, epoch Epoch, rows int) {
	t.Helper()
	a := s.Arrangement(id)
	rng := rand.New(rand.NewSource(int64(id)))
	for i := range rows {
		v := make([]byte, 100)
		rng.Read(v)
		a.Apply([]Change{{Key: fmt.Appendf(nil, "%08d", i), Value: v}})
	}
	a.Seal(epoch, true)
	s.SetCompleted(epoch)
	if err := s.Commit(context.Background(), Commit{Epoch: epoch}); err != nil {
		t.Fatal(err)
	}
}

func TestRetainDeletesWhatNothingRefersTo(t *testing.T) {
	fs := vfs.NewMem()
	s := testStore(t, fs)
	for id := TableID(1); id <= 4; id++ {
		fill(t, s, id, Epoch(id), 10)
	}
	fill(t, s, ^TableID(0), 5, 10)
	h, err := s.StateTable(105)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 20 { // enough for a blob
		h.Put([]byte{byte(k)}, []byte("v"))
	}
	if err := s.Commit(context.Background(), Commit{Epoch: 10, Deltas: []*Delta{h.Seal()}}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	s = testStore(t, fs)
	if err := s.Retain(func(id TableID) bool { return id == 2 || id == 3 }); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		sn, err := s.Latest()
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Release()
		for id, want := range map[TableID]int{1: 0, 2: 10, 3: 10, 4: 0, ^TableID(0): 0} {
			if got := count(t, sn.Table(id)); got != want {
				t.Errorf("table %d has %d rows, want %d", id, got, want)
			}
		}
		for _, id := range []TableID{4, 105} {
			if st, err := s.StateTable(id); err != nil || !st.Empty() {
				t.Errorf("table %d is not empty: %v", id, err)
			}
		}
	}
	check()
	mustClose(t, s)
	s = testStore(t, fs)
	check()
	mustClose(t, s)
}

func TestDropFreesSpace(t *testing.T) {
	s := testStore(t, vfs.NewMem())
	fill(t, s, 1, 1, 20000)
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	before := s.Metrics().TableBytes
	if err := s.Commit(context.Background(), Commit{Epoch: 2, DropTables: []TableID{1}}); err != nil {
		t.Fatal(err)
	}
	// The engine deletes the files in the background; closing waits for it, a compaction of
	// everything makes sure.
	if err := s.db.Compact(context.Background(), []byte{0}, []byte{0xff}, false); err != nil {
		t.Fatal(err)
	}
	if after := s.Metrics().TableBytes; before < 1<<20 || after > before/10 {
		t.Errorf("tables have %d bytes before the drop, %d after", before, after)
	}
	mustClose(t, s)
}

func TestEstimateRows(t *testing.T) {
	s := testStore(t, vfs.NewMem())
	fill(t, s, 1, 1, 20000)
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	s.Arrangement(1).Apply([]Change{{Key: []byte("x"), Value: []byte("y")}})
	s.Arrangement(1).Seal(2, false)
	s.SetCompleted(2)
	sn, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table    TableID
		lo, hi   string
		min, max int64
	}{{1, "", "", 10000, 40000}, {1, "00010000", "00010020", 20, 21}, {1, "00015000", "", 2500, 10000}, {2, "", "", 0, 0}} {
		if n, err := sn.Table(c.table).EstimateRows(bound(c.lo), bound(c.hi)); err != nil || n < c.min || n > c.max {
			t.Errorf("table %d [%s,%s): %d rows, want %d to %d, error %v", c.table, c.lo, c.hi, n, c.min, c.max, err)
		}
	}
	sn.Release()
	mustClose(t, s)
}

func TestSnapshotNeedsACompletedEpoch(t *testing.T) {
	s := testStore(t, vfs.NewMem())
	a := s.Arrangement(1)
	for e := Epoch(1); e <= 3; e++ {
		a.Apply([]Change{{Key: []byte("k"), Value: fmt.Appendf(nil, "%d", e)}})
		a.Seal(e, false)
	}
	s.SetCompleted(2)
	s.SetCompleted(1) // ignored
	for _, e := range []Epoch{0, 1, 3, 4} {
		if _, err := s.Snapshot(e); !errors.Is(err, ErrEpochGone) {
			t.Errorf("snapshot at %d: %v", e, err)
		}
	}
	sn, err := s.Snapshot(2)
	if err != nil {
		t.Fatal(err)
	}
	s.SetCompleted(3)
	again, err := s.Snapshot(2) // pinned
	if err != nil {
		t.Fatal(err)
	}
	if v, ok, err := again.Table(1).Get([]byte("k")); string(v) != "2" || !ok || err != nil {
		t.Errorf("at 2: %s %t %v", v, ok, err)
	}
	v, err := a.VersionAt(3)
	if err != nil {
		t.Fatal(err)
	}
	v.Release()
	if _, err := a.VersionAt(4); !errors.Is(err, ErrEpochGone) {
		t.Errorf("version at 4: %v", err)
	}
	sn.Release()
	sn.Release()
	if m := s.Metrics(); m.Pins != 1 || m.OldestPin != 2 {
		t.Errorf("metrics %+v", m)
	}
	again.Release()
	if m := s.Metrics(); m.Pins != 0 || m.Versions != 1 {
		t.Errorf("old versions are kept: %+v", m)
	}
	mustClose(t, s)
	if _, err := s.Latest(); !errors.Is(err, ErrClosed) {
		t.Errorf("snapshot of a closed store: %v", err)
	}
}

// TestSeveralWriters compares an arrangement that several writers write, each passing the
// barriers at its own time, with maps.
func TestSeveralWriters(t *testing.T) {
	for _, seed := range seeds(30) {
		repeat(t, seed)
		rng := rand.New(rand.NewSource(seed))
		s := testStore(t, vfs.NewMem())
		a := s.Arrangement(1)
		n := 1 + rng.Intn(4)
		a.SetWriters(n)
		// Each writer's changes by epoch number; epoch e has barrier e+1.
		const epochs = 12
		kind := make([]bool, epochs)
		for e := range kind {
			kind[e] = rng.Intn(3) == 0
		}
		head := rows{}
		at := make([]int, n)
		changes := make([][]rows, n)
		for w := range changes {
			changes[w] = make([]rows, epochs+1)
			for e := range changes[w] {
				changes[w][e] = rows{}
			}
		}
		sealed := 0
		for sealed < epochs {
			w := rng.Intn(n)
			if rng.Intn(4) > 0 && at[w] <= epochs {
				k, v := fmt.Sprintf("%d-%d", w, rng.Intn(6)), fmt.Sprint(rng.Intn(1000))
				a.Writer(w).Apply([]Change{{Key: []byte(k), Value: []byte(v)}})
				changes[w][at[w]][k] = v
				head[k] = v
			} else if at[w] < epochs {
				e := at[w]
				a.Writer(w).Seal(Epoch(e+1), kind[e])
				at[w]++
				if slices.Min(at) == sealed+1 {
					sealed++
					s.SetCompleted(Epoch(sealed))
					want := rows{}
					for e := range sealed {
						for w := range n {
							maps.Copy(want, changes[w][e])
						}
					}
					v, err := a.VersionAt(Epoch(sealed))
					if err != nil {
						t.Fatal(err)
					}
					d := driver{t: t}
					d.equal(fmt.Sprintf("seed %d: version %d", seed, sealed), d.iterate(v.Iterator(nil, nil, false)), want.sorted(nil, nil, false))
					v.Release()
					if kind[sealed-1] && rng.Intn(2) == 0 {
						if err := s.Commit(context.Background(), Commit{Epoch: Epoch(sealed)}); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			d := driver{t: t}
			var got []string
			d.must(a.HeadScan(nil, nil, func(k, v []byte) error {
				got = append(got, string(k)+"="+string(v))
				return nil
			}))
			d.equal(fmt.Sprintf("seed %d: head", seed), got, head.sorted(nil, nil, false))
			for k, want := range head {
				if v, ok, err := a.HeadGet([]byte(k)); string(v) != want || !ok || err != nil {
					t.Fatalf("seed %d: head get %s = %s %t %v, want %s", seed, k, v, ok, err, want)
				}
			}
		}
		mustClose(t, s)
	}
}

// TestParallelStateHandles: handles of one table with disjoint keys do not disturb each other.
func TestParallelStateHandles(t *testing.T) {
	fs := vfs.NewMem()
	s := testStore(t, fs)
	var hs []*StateTable
	for range 2 {
		h, err := s.StateTable(7)
		if err != nil {
			t.Fatal(err)
		}
		if !h.Empty() {
			t.Fatal("not empty")
		}
		hs = append(hs, h)
	}
	hs[0].Put([]byte("\x00a"), []byte("1"))
	hs[1].Put([]byte("\x01a"), []byte("2"))
	if hs[0].Empty() {
		t.Fatal("empty after a put")
	}
	deltas := []*Delta{hs[0].Seal(), hs[1].Seal()}
	if hs[0].Seal() != nil {
		t.Fatal("a delta without changes")
	}
	hs[0].Delete([]byte("\x00a"))
	if err := s.Commit(context.Background(), Commit{Epoch: 1, Deltas: deltas}); err != nil {
		t.Fatal(err)
	}
	for i, h := range hs {
		v, ok, err := h.Get([]byte{byte(i), 'a'})
		if err != nil || ok != (i == 1) || i == 1 && string(v) != "2" {
			t.Fatalf("handle %d: %s %t %v", i, v, ok, err)
		}
	}
	mustClose(t, s)
	s = testStore(t, fs)
	h, err := s.StateTable(7)
	if err != nil {
		t.Fatal(err)
	}
	if h.Empty() {
		t.Fatal("empty after a restart")
	}
	var got []string
	if err := h.Scan(nil, func(k, v []byte) error {
		got = append(got, fmt.Sprintf("%x=%s", k, v))
		return nil
	}); err != nil || !slices.Equal(got, []string{"0061=1", "0161=2"}) {
		t.Fatal(got, err)
	}
	mustClose(t, s)
}

func TestCommitArguments(t *testing.T) {
	s := testStore(t, vfs.NewMem())
	ctx, cancel := context.WithCancel(context.Background())
	if err := s.Commit(ctx, Commit{Epoch: 5}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Commit{{Epoch: 5}, {Epoch: 4}, {Epoch: 6, LogPos: 1}} {
		if err := s.Commit(ctx, c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	cancel()
	if err := s.Commit(ctx, Commit{Epoch: 6}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	mustClose(t, s)
	mustClose(t, s)
	if err := s.Commit(context.Background(), Commit{Epoch: 7}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
