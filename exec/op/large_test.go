package op

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// TestLargeState takes operators through growth of all tables over several pages, through arena
// compaction, and back to nothing.
func TestLargeState(t *testing.T) {
	in := mustTypes("int8 text int8 numeric")
	row := func(i, version int64) []types.Datum {
		d, err := types.ParseDecimal(fmt.Sprintf("%d.5%020d", i, version))
		if err != nil {
			t.Fatal(err)
		}
		return []types.Datum{
			types.DInt(i), types.DStr(fmt.Sprintf("row number %d, version %d, some text to fill the arena with bytes", i, version)),
			types.DInt(i % 5000), types.DDec(d),
		}
	}
	const rows = 9_000
	r := rand.New(rand.NewSource(7))
	var epochs [][]testRow
	var insert, update, remove []testRow
	for i := range int64(rows) {
		insert = append(insert, testRow{0, row(i, 0), 1})
		update = append(update, testRow{0, row(i, 0), -1}, testRow{0, row(i, 1), 1})
		if i%10 != 0 {
			remove = append(remove, testRow{0, row(i, 1), -1})
		}
	}
	r.Shuffle(len(remove), func(i, j int) { remove[i], remove[j] = remove[j], remove[i] })
	epochs = append(epochs, insert, update, remove)
	var left [][]types.Datum
	for i := int64(0); i < rows; i += 10 {
		left = append(left, row(i, 1))
	}
	ops := []struct {
		name string
		make func() (exec.Operator, error)
		want func() [][]types.Datum
	}{
		{"agg", func() (exec.Operator, error) {
			return NewHashAgg(HashAggConfig{In: in, Keys: []int{0, 1, 3}, Aggs: []Agg{aggCall(t, in, "count(*)")}})
		}, func() (out [][]types.Datum) {
			for _, l := range left {
				out = append(out, []types.Datum{l[0], l[1], l[3], types.DInt(1)})
			}
			return out
		}},
		{"int agg", func() (exec.Operator, error) {
			return NewHashAgg(HashAggConfig{In: in, Keys: []int{0}, Aggs: []Agg{aggCall(t, in, "max(1)")}})
		}, func() (out [][]types.Datum) {
			for _, l := range left {
				out = append(out, []types.Datum{l[0], l[1]})
			}
			return out
		}},
		{"topn", func() (exec.Operator, error) {
			return NewTopN(TopNConfig{In: in, OrderBy: []SortKey{{Col: 1}}, Limit: 100, RowKey: []int{0}, GroupBy: []int{2}})
		}, func() [][]types.Datum { return left }},
		{"join", func() (exec.Operator, error) {
			return NewHashJoin(HashJoinConfig{Kind: Left, Left: in, Right: in, LeftKeys: []int{2}, RightKeys: []int{2},
				LeftRowKey: []int{0}, RightRowKey: []int{0}, Output: []int{0, 1, 2, 3}})
		}, func() [][]types.Datum { return left }},
		{"multiset join", func() (exec.Operator, error) {
			return NewHashJoin(HashJoinConfig{Kind: Left, Left: in, Right: in, LeftKeys: []int{2}, RightKeys: []int{2}, Output: []int{0, 1, 2, 3}})
		}, func() [][]types.Datum { return left }},
	}
	for _, o := range ops {
		t.Run(o.name, func(t *testing.T) {
			ot := &opTest{in: [][]types.Type{in, in}, make: o.make}
			made, err := o.make()
			if err != nil {
				t.Fatal(err)
			}
			want := formatRows(made.Schema(), o.want(), nil)
			for _, cfg := range []runConfig{{chunk: 1024, parallel: 1}, {chunk: 1000, parallel: 1, stateful: true, checkpoints: 1}} {
				if cfg.stateful && o.name == "topn" {
					continue // the fake table scans everything for each group
				}
				got, _ := ot.run(t, cfg, epochs)
				if f := formatRows(made.Schema(), got, nil); f != want {
					t.Fatalf("%v: %d rows, want %d", cfg, len(got), len(left))
				}
			}
		})
	}
}

// TestKeyIndexAgainstMap compares the index with a Go map under random insertions and removals.
func TestKeyIndexAgainstMap(t *testing.T) {
	for _, kinds := range []string{"int8", "int8 int4", "text"} {
		t.Run(kinds, func(t *testing.T) {
			ts := mustTypes(kinds)
			store := newRowStore(ts)
			x := newKeyIndex(store, len(ts))
			model := map[string]uint32{}
			r := rand.New(rand.NewSource(3))
			for round := range 300 {
				n := 1 + r.Intn(300)
				c := vec.NewChunk(ts, n)
				for range n {
					row := make([]types.Datum, len(ts))
					for k, ty := range ts {
						v := int64(r.Intn(3000))
						switch {
						case r.Intn(50) == 0:
						case ty.Phys() == types.PhysStr:
							row[k] = types.DStr(fmt.Sprint(v))
						default:
							row[k] = types.DInt(v % 2000)
						}
					}
					c.AppendRow(row, 1)
				}
				hashes := vec.HashRows(c.Cols, n, nil)
				ents := make([]uint32, n)
				if round%3 == 2 {
					x.find(c.Cols, hashes, ents)
					for i, e := range ents {
						want, ok := model[vec.FormatRow(c, i)]
						if !ok {
							want = none
						}
						if e != want {
							t.Fatalf("find %s: entry %d, want %d", vec.FormatRow(c, i), e, want)
						}
						if ok && r.Intn(2) == 0 && len(model) > 200 || round > 250 && ok {
							x.remove(e, hashes[i])
							store.release(e)
							delete(model, vec.FormatRow(c, i))
							x.find(c.Cols, hashes, ents)
						}
					}
					continue
				}
				x.findOrAdd(c.Cols, hashes, ents)
				for i, e := range ents {
					key := vec.FormatRow(c, i)
					if want, ok := model[key]; ok && want != e {
						t.Fatalf("%s: entry %d, want %d", key, e, want)
					}
					model[key] = e
				}
				if store.count() != len(model) {
					t.Fatalf("%d entries, want %d", store.count(), len(model))
				}
			}
		})
	}
}
