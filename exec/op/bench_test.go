package op

import (
	"fmt"
	"math/rand"
	"syscall"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

type discard struct{ rows int }

func (d *discard) Chunk(c *vec.Chunk) error       { d.rows += c.Len(); return nil }
func (d *discard) Watermark(exec.Watermark) error { return nil }
func (d *discard) Barrier(exec.Barrier) error     { return nil }

// benchChunks makes n rows of (random key below keys, random value, row number).
func benchChunks(n, keys int) []*vec.Chunk {
	r := rand.New(rand.NewSource(1))
	var cs []*vec.Chunk
	ts := mustTypes("int8 int8 int8")
	for at := 0; at < n; at += vec.ChunkSize {
		c := vec.NewChunk(ts, vec.ChunkSize)
		for i := range vec.ChunkSize {
			c.Cols[0].AppendInt(int64(r.Intn(keys)))
			c.Cols[1].AppendInt(r.Int63n(1 << 40))
			c.Cols[2].AppendInt(int64(at + i))
		}
		c.SetLen(vec.ChunkSize)
		cs = append(cs, c)
	}
	return cs
}

// runChunks feeds chunks to an operator, with a barrier after every barrierEvery rows.
func runChunks(b *testing.B, o exec.Operator, port int, cs []*vec.Chunk, barrierEvery int, e *storage.Epoch) int {
	rows, since := 0, 0
	for _, c := range cs {
		if err := o.Chunk(port, c); err != nil {
			b.Fatal(err)
		}
		rows += c.Len()
		if since += c.Len(); since >= barrierEvery {
			since = 0
			*e++
			if err := o.Barrier(exec.Barrier{Epoch: *e}); err != nil {
				b.Fatal(err)
			}
		}
	}
	return rows
}

func openBench(b *testing.B, o exec.Operator, err error) exec.Operator {
	b.Helper()
	if err == nil {
		err = o.Open(&exec.Context{}, &discard{})
	}
	if err != nil {
		b.Fatal(err)
	}
	return o
}

// cpuTime is what the process has used: on a shared machine a better measure than the clock.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func perRow(b *testing.B, rows int, start int64) {
	b.ReportMetric(float64(cpuTime()-start)/float64(rows), "cpu-ns/row")
	b.ReportMetric(0, "ns/op")
}

var aggBenchGroups = []int{1_000, 100_000, 1_000_000}

// BenchmarkHashAgg is count(*), max(x) by one integer key; rows come in epochs of 100,000.
func BenchmarkHashAgg(b *testing.B) {
	for _, groups := range aggBenchGroups {
		b.Run(fmt.Sprint(groups), func(b *testing.B) {
			cs := benchChunks(4_000_000, groups)
			in := mustTypes("int8 int8 int8")
			cfg := HashAggConfig{In: in, Keys: []int{0}, AppendOnlyIn: true, Dist: []int{0},
				Aggs: []Agg{aggCall(b, in, "count(*)"), aggCall(b, in, "max(1)")}}
			rows := 0
			start := cpuTime()
			b.ResetTimer()
			for b.Loop() {
				o, err := NewHashAgg(cfg)
				var e storage.Epoch
				rows += runChunks(b, openBench(b, o, err), 0, cs, 100_000, &e)
			}
			perRow(b, rows, start)
		})
	}
}

// BenchmarkHashAggGoMap is the same by hand, without emitting anything.
func BenchmarkHashAggGoMap(b *testing.B) {
	type state struct{ n, max int64 }
	for _, groups := range aggBenchGroups {
		b.Run(fmt.Sprint(groups), func(b *testing.B) {
			cs := benchChunks(4_000_000, groups)
			rows := 0
			start := cpuTime()
			b.ResetTimer()
			for b.Loop() {
				m := map[int64]*state{}
				for _, c := range cs {
					xs := c.Cols[1].Int
					for i, k := range c.Cols[0].Int {
						s := m[k]
						if s == nil {
							s = &state{}
							m[k] = s
						}
						s.n++
						s.max = max(s.max, xs[i])
					}
					rows += c.Len()
				}
			}
			perRow(b, rows, start)
		})
	}
}

// BenchmarkHashAggTwoKeys groups by two integers (a hop window: key and window start).
func BenchmarkHashAggTwoKeys(b *testing.B) {
	for _, groups := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(groups), func(b *testing.B) {
			cs := benchChunks(4_000_000, groups)
			for _, c := range cs {
				for i := range c.Cols[2].Int {
					c.Cols[2].Int[i] /= 500_000
				}
			}
			in := mustTypes("int8 int8 int8")
			cfg := HashAggConfig{In: in, Keys: []int{0, 2}, AppendOnlyIn: true, Aggs: []Agg{aggCall(b, in, "count(*)")}}
			rows := 0
			start := cpuTime()
			b.ResetTimer()
			for b.Loop() {
				o, err := NewHashAgg(cfg)
				var e storage.Epoch
				rows += runChunks(b, openBench(b, o, err), 0, cs, 100_000, &e)
			}
			perRow(b, rows, start)
		})
	}
}

// BenchmarkHashJoin has a million keys once on the left, and on the right rows that each find one.
func BenchmarkHashJoin(b *testing.B) {
	left, right := benchChunks(1_000_000, 1<<40), benchChunks(4_000_000, 1_000_000)
	n := int64(0)
	for _, c := range left {
		for i := range c.Cols[0].Int {
			c.Cols[0].Int[i] = n
			n++
		}
	}
	in := mustTypes("int8 int8 int8")
	cfg := HashJoinConfig{Left: in, Right: in, LeftKeys: []int{0}, RightKeys: []int{0}, LeftRowKey: []int{0}, RightRowKey: []int{2},
		LeftAppendOnly: true, RightAppendOnly: true, Output: []int{0, 1, 4}}
	for _, mode := range []string{"stream", "build-right", "residual"} {
		b.Run(mode, func(b *testing.B) {
			rows := 0
			cfg := cfg
			l, r := left, right
			lp := 0
			switch mode {
			case "build-right":
				cfg.BuildRight, lp = true, 1
				cfg.LeftRowKey, cfg.RightRowKey = cfg.RightRowKey, cfg.LeftRowKey
			case "residual":
				cfg.Residual = callOp(b, append(append([]types.Type{}, in...), in...), "<", 1, 4)
			}
			start := cpuTime()
			b.ResetTimer()
			for b.Loop() {
				o, err := NewHashJoin(cfg)
				openBench(b, o, err)
				var e storage.Epoch
				rows += runChunks(b, o, lp, l, 100_000, &e)
				rows += runChunks(b, o, 1-lp, r, 100_000, &e)
			}
			perRow(b, rows, start)
		})
	}
}

// BenchmarkTopN keeps the largest values of many groups.
func BenchmarkTopN(b *testing.B) {
	for _, groups := range []int{1_000, 100_000} {
		for _, appendOnly := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d/append-only=%t", groups, appendOnly), func(b *testing.B) {
				cs := benchChunks(1_000_000, groups)
				cfg := TopNConfig{In: mustTypes("int8 int8 int8"), OrderBy: []SortKey{{Col: 1, Desc: true}}, Limit: 1,
					GroupBy: []int{0}, RowKey: []int{2}, AppendOnlyIn: appendOnly}
				rows := 0
				start := cpuTime()
				b.ResetTimer()
				for b.Loop() {
					o, err := NewTopN(cfg)
					var e storage.Epoch
					rows += runChunks(b, openBench(b, o, err), 0, cs, 100_000, &e)
				}
				perRow(b, rows, start)
			})
		}
	}
}
