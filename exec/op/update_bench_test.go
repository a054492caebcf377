package op

import (
	"fmt"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/storage"
)

// BenchmarkGroupUpdate is one change in a group of n rows that may change, with a barrier after it: of the least or the greatest value, or
// of the first rows. A row comes that is in the result, and goes again, so that what was there before must be found. What is measured must
// hardly grow with n. (BenchmarkWindowUpdate has the window functions.)
func BenchmarkGroupUpdate(b *testing.B) {
	in := mustTypes("int8 int8 int8") // id, group, value
	agg := func(calls ...string) func() (exec.Operator, error) {
		return func() (exec.Operator, error) {
			cfg := HashAggConfig{In: in, Keys: []int{1}}
			for _, c := range calls {
				cfg.Aggs = append(cfg.Aggs, aggCall(b, in, c))
			}
			return NewHashAgg(cfg)
		}
	}
	top := func(cfg TopNConfig) func() (exec.Operator, error) {
		return func() (exec.Operator, error) {
			cfg.In, cfg.GroupBy, cfg.RowKey, cfg.OrderBy = in, []int{1}, []int{0}, []SortKey{{Col: 2}}
			return NewTopN(cfg)
		}
	}
	for _, c := range []struct {
		name string
		make func() (exec.Operator, error)
	}{
		{"min", agg("min(2)")},
		{"min and max", agg("min(2)", "max(2)")},
		{"top 1", top(TopNConfig{Limit: 1})},
		{"top 10", top(TopNConfig{Limit: 10})},
		{"top 10 with ranks", top(TopNConfig{Limit: 10, RankOutput: true})},
		{"10 behind 100", top(TopNConfig{Limit: 10, Offset: 100})},
		{"top 10 with ties", top(TopNConfig{Limit: 10, WithTies: true})},
	} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				o, err := c.make()
				openBench(b, o, err)
				chunk := vec.NewChunk(in, n)
				add := func(id, value int, d int64) {
					for k, x := range []int{id, 7, value} {
						chunk.Cols[k].AppendInt(int64(x))
					}
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
					add(i, 2*((i*7919)%n), 1)
				}
				barrier()
				steps := 0
				b.ResetTimer()
				for b.Loop() {
					for _, d := range []int64{1, -1} {
						add(n, -1, d)
						barrier()
					}
					steps += 2
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/change")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
