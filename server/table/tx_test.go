package table

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// commit runs f in a transaction.
func (w *world) commit(f func(x *Tx)) {
	w.t.Helper()
	x := NewTx()
	f(x)
	w.must(x.Commit(w.store.Log(), w.rt, true))
}

func (w *world) insert(x *Tx, t *Table, vals ...string) {
	w.t.Helper()
	c := w.row(t, vals)
	w.must(x.Prepare(context.Background(), t, c))
	conflict, err := x.Insert(t, c, 0)
	w.must(err)
	if conflict != nil {
		w.t.Fatal(conflict.Err)
	}
}

// TestUniqueValuesMoveAcrossChunks: in one transaction the unique values of more rows than fit in a
// chunk move to other rows; every one of them is in the index afterwards, also after a crash.
func TestUniqueValuesMoveAcrossChunks(t *testing.T) {
	const n = 3 * vec.ChunkSize
	w := newWorld(t)
	defer func() { w.close() }()
	tab := w.tables["t"]
	w.commit(func(x *Tx) {
		for k := range n {
			w.insert(x, tab, fmt.Sprint(k), fmt.Sprint(k), "x")
		}
	})
	w.commit(func(x *Tx) {
		w.must(x.Lock(context.Background(), tab, true))
		for k := range n {
			_, err := x.Delete(tab, w.row(tab, []string{fmt.Sprint(k), fmt.Sprint(k), "x"}), 0)
			w.must(err)
		}
		for k := range n {
			w.insert(x, tab, fmt.Sprint(k), fmt.Sprint(n-1-k), "x")
		}
	})
	for range 2 {
		entries := 0
		w.must(tab.indexes[0].arr.HeadScan(nil, nil, func(_, v []byte) error {
			entries++
			if _, ok, err := tab.Arr.HeadGet(v); !ok || err != nil {
				t.Errorf("an entry of the index names the row %x, which is not there: %v", v, err)
			}
			return nil
		}))
		if entries != n {
			t.Errorf("the index has %d entries for %d rows", entries, n)
		}
		w.close()
		w.open()
		tab = w.tables["t"]
	}
}

// TestManyKeysBecomeOneLock: a large load does not keep a lock for each key.
func TestManyKeysBecomeOneLock(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	tab := w.tables["p"]
	x := NewTx()
	for k := range manyKeys + 10 {
		w.insert(x, tab, strconv.Itoa(k), "x")
	}
	if tt := x.table(tab); !tt.exclusive || len(tt.keys) > manyKeys {
		t.Errorf("exclusive %t, %d keys", tt.exclusive, len(tt.keys))
	}
	x.Release()
	if len(tab.keys) > 0 || !tab.lock.unused() {
		t.Errorf("%d key locks are left", len(tab.keys))
	}
}

// TestConcurrentTransactions lets transactions move units between the rows of a table at random, with
// inserts and deletes by key and statements that lock the table. Deadlocks are retried. The total is kept,
// the index is right, no lock is left, and a crash changes nothing.
func TestConcurrentTransactions(t *testing.T) {
	const workers, rounds, keys = 6, 60, 8
	w := newWorld(t)
	defer func() { w.close() }()
	tab := w.tables["t"]
	w.commit(func(x *Tx) {
		for k := range keys {
			w.insert(x, tab, fmt.Sprint(k), fmt.Sprint(100+k), "100")
		}
	})
	value := func(row []byte) (u, v int) {
		c := vec.NewChunk(tab.types, 1)
		if err := tab.Decode(c, row, 1); err != nil {
			t.Error(err)
		}
		v, err := strconv.Atoi(c.Cols[2].Datum(0).S)
		if err != nil {
			t.Error(err)
		}
		return int(c.Cols[1].Int[0]), v
	}
	// move takes n from one row and adds it to another, whose unique values they exchange.
	move := func(x *Tx, a, b, n int) error {
		rows := [2][3]string{}
		sums := [2]int{-n, n}
		at := [2]int{a, b}
		var us [2]int
		for i, k := range at {
			key := tab.Key(nil, w.row(tab, []string{fmt.Sprint(k), "0", ""}), 0)
			r, err := x.Get(tab, key)
			if err != nil || r.New == nil {
				return fmt.Errorf("row %d: %v", k, err)
			}
			u, v := value(r.New)
			us[i] = u
			rows[i] = [3]string{fmt.Sprint(k), "", fmt.Sprint(v + sums[i])}
			if _, err := x.Delete(tab, w.row(tab, []string{fmt.Sprint(k), fmt.Sprint(u), fmt.Sprint(v)}), 0); err != nil {
				return err
			}
		}
		for i := range at {
			rows[i][1] = fmt.Sprint(us[1-i])
			if c, err := x.Insert(tab, w.row(tab, rows[i][:]), 0); err != nil || c != nil {
				return fmt.Errorf("insert %v: %v %v", rows[i], c, err)
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	deadlocks := 0
	for n := range workers {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		wg.Go(func() {
			for range rounds {
				a, b := rng.IntN(keys), rng.IntN(keys)
				if a == b {
					continue
				}
				x := NewTx()
				var err error
				if rng.IntN(2) == 0 {
					// A lock that is shared first, and a row of another's choice, make deadlocks possible.
					c := w.row(tab, []string{fmt.Sprint(1000 + rng.IntN(3)), "null", "0"})
					if err = x.Prepare(t.Context(), tab, c); err == nil {
						_, err = x.Insert(tab, c, 0)
						if err == nil {
							err = x.Lock(t.Context(), tab, true)
						}
						if err == nil {
							_, err = x.Delete(tab, c, 0)
						}
					}
				} else {
					err = x.Lock(t.Context(), tab, true)
				}
				if err == nil {
					err = move(x, a, b, rng.IntN(50))
				}
				switch {
				case err == nil && rng.IntN(4) > 0:
					err = x.Commit(w.store.Log(), w.rt, true)
				default:
					x.Release()
				}
				if err != nil {
					if sqlerr.From(err).Code != sqlerr.DeadlockDetected {
						t.Error(err)
						return
					}
					mu.Lock()
					deadlocks++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d deadlocks", deadlocks)
	for range 2 {
		total, rows, entries := 0, 0, 0
		w.must(tab.Arr.HeadScan(nil, nil, func(_, row []byte) error {
			_, v := value(row)
			total, rows = total+v, rows+1
			return nil
		}))
		w.must(tab.indexes[0].arr.HeadScan(nil, nil, func(_, _ []byte) error { entries++; return nil }))
		if total != 100*keys || rows != keys || entries != keys {
			t.Errorf("total %d in %d rows, %d in the index", total, rows, entries)
		}
		if len(tab.keys) > 0 || !tab.lock.unused() {
			t.Error("a lock is left")
		}
		w.close()
		w.open()
		tab = w.tables["t"]
	}
}

// TestSequence: no value comes twice, whatever is lost in a crash; small types end where they end; a
// sequence whose table is gone is deleted.
func TestSequence(t *testing.T) {
	w := newWorld(t)
	defer func() { w.close() }()
	last := int64(0)
	rng := rand.New(rand.NewPCG(2, 2))
	for round := range 6 {
		for range 5 {
			n := 1 + rng.Int64N(3000)
			first, err := w.tables["h"].Sequence(1).Take(n)
			w.must(err)
			if first <= last {
				t.Fatalf("%d was given before: the last one was %d", first, last)
			}
			last = first + n - 1
		}
		if round%2 == 1 {
			w.must(w.rt.WaitDurable(t.Context(), w.rt.Open()))
		}
		w.close()
		w.open()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int64]bool{}
	for range 8 {
		wg.Go(func() {
			for range 500 {
				v, err := w.tables["h"].Sequence(1).Take(1)
				mu.Lock()
				if err != nil || seen[v] || v <= last {
					t.Errorf("%d, seen %t: %v", v, seen[v], err)
				}
				seen[v] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()

	small := &catalog.Relation{ID: 200, Name: "s", Columns: []catalog.Column{{Name: "c", Type: types.T(types.Int2)}}}
	q, err := w.seqs.Open(small, 0)
	w.must(err)
	if v, err := q.Take(math.MaxInt16); v != 1 || err != nil {
		t.Fatal(v, err)
	}
	if _, err := q.Take(1); err == nil || sqlerr.From(err).Message != `nextval: reached maximum value of sequence "s_c_seq" (32767)` {
		t.Fatal(err)
	}
	rows := func() int {
		n := 0
		w.must(w.tables["sequences"].Arr.HeadScan(nil, nil, func(_, _ []byte) error { n++; return nil }))
		return n
	}
	if rows() != 2 {
		t.Fatalf("%d sequences", rows())
	}
	w.must(w.seqs.Retain(func(id catalog.ID) bool { return id != 200 }))
	w.close()
	w.open()
	if rows() != 1 {
		t.Fatalf("%d sequences after one was deleted", rows())
	}
}

// FuzzDecodeRecord: no bytes make it panic, and what it accepts is what encodeRecord writes for it.
func FuzzDecodeRecord(f *testing.F) {
	f.Add(encodeRecord(nil))
	f.Add(encodeRecord([]tableChanges{
		{id: 1, changes: []change{{Key: []byte("k"), New: []byte("v")}, {Key: []byte{}, Old: []byte("o")}}},
		{id: 1 << 31, changes: []change{{Key: bytes.Repeat([]byte("x"), 200), Old: []byte{}, New: []byte{}}}},
	}))
	f.Add([]byte{recordVersion, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Add([]byte{recordVersion, 1, 1, 200, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		ts, err := decodeRecord(b)
		if err != nil {
			return
		}
		again, err := decodeRecord(encodeRecord(ts))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(ts) {
			t.Fatalf("%v became %v: %v", ts, again, err)
		}
	})
}
