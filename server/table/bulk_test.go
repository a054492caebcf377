package table

import (
	"fmt"
	"maps"
	"math/rand"
	"testing"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// TestBulkEqualsModel inserts many rows at a time between single ones, deletions, savepoints, own reads, commits and
// recoveries from the log, and compares with a map.
func TestBulkEqualsModel(t *testing.T) {
	for seed := range int64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewSource(seed))
			w := newWorld(t)
			defer func() { w.close() }()
			committed, mine := map[int64]string{}, map[int64]string{}
			next := int64(1)
			tab := w.tables["h"]
			x := NewTx()
			begin := func() {
				tab, x = w.tables["h"], NewTx()
				w.must(x.Lock(t.Context(), tab, false))
				mine = maps.Clone(committed)
			}
			begin()
			rows := func(n int) *vec.Chunk {
				c := vec.NewChunk(tab.Types(), n)
				for range n {
					v := fmt.Sprintf("v%d", rng.Intn(1000))
					c.AppendRow([]types.Datum{types.DStr(v), types.DInt(next)}, 1)
					mine[next] = v
					next++
				}
				return c
			}
			contents := func(scan func(add func(row []byte))) map[int64]string {
				c := vec.NewChunk(tab.Types(), 0)
				scan(func(row []byte) { w.must(tab.Decode(c, row, 1)) })
				out := map[int64]string{}
				for i := range c.Len() {
					out[c.Cols[1].Int[i]] = c.Cols[0].Str[i]
				}
				return out
			}
			var save *Savepoint
			var saved map[int64]string
			for range 120 {
				switch rng.Intn(9) {
				case 0, 1, 2:
					n := bulkRows + rng.Intn(2*vec.ChunkSize)
					if rng.Intn(2) == 0 {
						n = bulkRows
					}
					ok, err := x.InsertAll(tab, rows(n))
					if w.must(err); !ok {
						t.Fatal("the rows were not taken")
					}
				case 3:
					c := rows(3)
					if ok, err := x.InsertAll(tab, c); ok || err != nil {
						t.Fatal("few rows were taken", err)
					}
					for i := range c.Len() {
						if k, err := x.Insert(tab, c, i); k != nil || err != nil {
							t.Fatal(k, err)
						}
					}
				case 4:
					id := 1 + rng.Int63n(next)
					v, want := mine[id]
					c := vec.NewChunk(tab.Types(), 1)
					c.AppendRow([]types.Datum{types.DStr(v), types.DInt(id)}, 1)
					ok, err := x.Delete(tab, c, 0)
					if w.must(err); ok != want {
						t.Fatalf("deleting %d: %t, want %t", id, ok, want)
					}
					delete(mine, id)
				case 5:
					s := x.Save()
					save, saved = &s, maps.Clone(mine)
				case 6:
					if save != nil {
						x.Restore(*save)
						mine = maps.Clone(saved)
					}
				case 7:
					got := maps.Clone(committed)
					if own := x.Rows(tab); own != nil {
						changed := map[int64]bool{}
						own.Scan(func(k string, r Row) bool {
							row := r.New
							if row == nil {
								row = r.Old
							}
							if row == nil { // inserted and deleted by the same transaction
								return true
							}
							for id := range contents(func(add func([]byte)) { add(row) }) {
								changed[id] = true
								delete(got, id)
							}
							return true
						})
						maps.Copy(got, contents(func(add func([]byte)) {
							own.Scan(func(_ string, r Row) bool {
								if r.New != nil {
									add(r.New)
								}
								return true
							})
						}))
					}
					if !maps.Equal(got, mine) {
						t.Fatalf("the transaction sees %d rows, want %d", len(got), len(mine))
					}
				case 8:
					if x.Empty() && !maps.Equal(mine, committed) {
						t.Fatal("a transaction with changes is empty")
					}
					w.must(x.Commit(w.store.Log(), w.rt, true))
					committed, save = maps.Clone(mine), nil
					if rng.Intn(2) == 0 {
						w.close()
						w.open()
					}
					begin()
					got := contents(func(add func([]byte)) {
						w.must(tab.Arr.HeadScan(nil, nil, func(_, v []byte) error {
							add(v)
							return nil
						}))
					})
					if !maps.Equal(got, committed) {
						t.Fatalf("the table has %d rows, want %d", len(got), len(committed))
					}
				}
			}
			x.Release()
		})
	}
}
