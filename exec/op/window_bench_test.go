package op

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/storage"
)

// BenchmarkWindowUpdate is one change in a partition of n rows, with a barrier after it. What is measured must hardly grow
// with n where few rows get other results: "few" says how many those are.
func BenchmarkWindowUpdate(b *testing.B) {
	cases := []struct {
		name, call string
		// where the change is, as a fraction of the partition.
		at float64
	}{
		{"row_number near the end", "row_number()", 1},
		{"running sum at the end", "sum(1) rows up cr", 1},
		{"running avg at the end", "avg(1) rows up cr", 1},
		{"running float sum at the end", "sum(3) rows up cr", 1},
		{"lag in the middle", "lag(1)", 0.5},
		{"lead 3 in the middle", "lead(1,=3)", 0.5},
		{"running max in the middle", "max(1) rows up cr", 0.5},
		{"min of all", "min(1) rows up uf", 0.5},
		{"moving sum of 10", "sum(1) rows 9p cr", 0.5},
		{"moving max of 1000", "max(1) rows 999p cr", 0.5},
		{"sum in a range", "sum(1) range 8p 8f", 0.5},
		{"ntile 4", "ntile(=4)", 0.5},
		{"first_value", "first_value(1) rows up cr", 0.5},
		{"nth_value", "nth_value(1,=3)", 0.5},
		{"rank near the end", "rank()", 1},
	}
	in := mustTypes("int8 int8 int8 float8")
	for _, c := range cases {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				order := []SortKey{{Col: 2}}
				o, err := NewWindow(WindowConfig{In: in, OrderBy: order, RowKey: []int{0}, Calls: []WindowCall{windowCall(b, in, order, c.call)}})
				openBench(b, o, err)
				r := rand.New(rand.NewSource(1))
				chunk := vec.NewChunk(in, n)
				add := func(id, at int, d int64) {
					chunk.Cols[0].AppendInt(int64(id))
					chunk.Cols[1].AppendInt(r.Int63n(1 << 30))
					chunk.Cols[2].AppendInt(int64(at))
					chunk.Cols[3].AppendFloat(r.Float64())
					chunk.PushDiff(d)
				}
				var e storage.Epoch
				barrier := func() {
					if err := o.Chunk(0, chunk); err != nil {
						b.Fatal(err)
					}
					e++
					if err := o.Barrier(exec.Barrier{Epoch: e}); err != nil {
						b.Fatal(err)
					}
					chunk.Reset()
				}
				for i := range n {
					add(i, 4*i, 1)
				}
				barrier()
				out := &discard{}
				o.out = out
				at := int(float64(4*n-16) * c.at)
				steps := 0
				b.ResetTimer()
				for b.Loop() {
					// A row comes, and goes again.
					add(n, at+1, 1)
					barrier()
					chunk.Cols[0].AppendInt(int64(n))
					chunk.Cols[1].AppendInt(0)
					chunk.Cols[2].AppendInt(int64(at + 1))
					chunk.Cols[3].AppendFloat(0)
					chunk.PushDiff(-1)
					barrier()
					steps += 2
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/change")
				b.ReportMetric(float64(out.rows)/float64(steps), "rows/change")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkWindowAll works out partitions as a whole, as a query that is run once does.
func BenchmarkWindowAll(b *testing.B) {
	in := mustTypes("int8 int8 int8")
	for _, call := range []string{"row_number()", "sum(1) rows up cr", "avg(1) rows 9p cr", "max(1) rows 99p cr", "rank()", "lag(1)"} {
		for _, parts := range []int{1, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", call, parts), func(b *testing.B) {
				cs := benchChunks(200_000, parts)
				order := []SortKey{{Col: 1}}
				cfg := WindowConfig{In: in, PartitionBy: []int{0}, OrderBy: order, RowKey: []int{2}, Calls: []WindowCall{windowCall(b, in, order, call)}}
				rows := 0
				start := cpuTime()
				b.ResetTimer()
				for b.Loop() {
					o, err := NewWindow(cfg)
					var e storage.Epoch
					rows += runChunks(b, openBench(b, o, err), 0, cs, 1<<30, &e)
					if err := o.Barrier(exec.Barrier{Epoch: 1}); err != nil {
						b.Fatal(err)
					}
				}
				perRow(b, rows, start)
			})
		}
	}
}
