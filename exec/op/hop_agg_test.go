package op

import (
	"math"
	"math/rand"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// naiveHopAgg puts each row into its windows, one by one.
func naiveHopAgg(cfg HopAggConfig, rows [][]types.Datum) [][]types.Datum {
	h, err := NewHop(HopConfig{In: cfg.In, TimeCol: cfg.TimeCol, Size: cfg.Size, Slide: cfg.Slide, Offset: cfg.Offset})
	if err != nil {
		panic(err)
	}
	n := len(cfg.In)
	var in [][]types.Datum
	for _, row := range rows {
		t := row[cfg.TimeCol]
		if !t.Valid || t.I == math.MaxInt64 || t.I == math.MinInt64 {
			continue
		}
		for s := t.I - 3*h.cfg.Size; s <= t.I; s++ {
			if s <= t.I && t.I < s+h.cfg.Size && (s-h.cfg.Offset)%h.cfg.Slide == 0 {
				in = append(in, append(append([]types.Datum{}, row...), types.DInt(s), types.DInt(s+h.cfg.Size)))
			}
		}
	}
	agg := HashAggConfig{In: h.schema, Keys: append(append([]int{}, cfg.Keys...), n, n+1), Aggs: cfg.Aggs}
	return naiveHashAgg(agg, in)
}

// hopValue makes times that are close to each other, and now and then far away or none.
func hopValue(r *rand.Rand, t types.Type) types.Datum {
	if t.Kind != types.Timestamp && t.Kind != types.Date {
		return randomDatum(r, t)
	}
	unit := int64(1)
	if t.Kind == types.Date && r.Intn(4) > 0 {
		unit = 2
	}
	switch k := r.Intn(40); {
	case k == 0:
		return types.Null
	case k == 1:
		return types.DInt(math.MaxInt64)
	case k == 2:
		return types.DInt(math.MinInt64)
	case k < 8:
		return types.DInt(unit * int64(r.Intn(200)-100))
	default:
		return types.DInt(unit * int64(r.Intn(24)-12))
	}
}

var hopAggCases = []struct {
	name, in            string
	time                int
	size, slide, offset int64
	keys                []int
	aggs                []string
	appendOnly          bool
}{
	{"counts", "int8 timestamp int4", 1, 10, 2, 0, []int{0}, []string{"count(*)", "count(2)"}, false},
	{"numbers", "int4 timestamp int4 int8", 1, 6, 3, 1, []int{0}, []string{"sum(2)", "sum(3)", "avg(2)", "avg(3)", "min(3)", "max(2)", "count(3)"}, false},
	{"wide windows", "bool timestamp int4", 1, 40, 2, 0, []int{0}, []string{"count(*)", "sum(2)", "max(2)"}, false},
	{"tumbling", "int4 timestamp int4", 1, 5, 5, 2, []int{0}, []string{"count(*)", "sum(2)"}, false},
	{"other types", "int4 timestamp numeric text float8", 1, 12, 3, 0, []int{0}, []string{"sum(2)", "avg(2)", "min(2)", "max(2)", "min(3)", "max(3)", "max(4)"}, false},
	{"bools and bits", "int4 timestamp bool int8", 1, 8, 2, 0, []int{0}, []string{"bool_and(2)", "bool_or(2)", "bit_and(3)", "bit_or(3)", "bit_xor(3)"}, false},
	{"filters", "int4 timestamp int4 bool", 1, 8, 2, 0, []int{0}, []string{"count(*) filter 3", "sum(2) filter 3", "avg(2) filter 3", "max(2) filter 3"}, false},
	{"odd keys", "numeric timestamp bpchar interval", 1, 10, 2, 0, []int{0, 2, 3}, []string{"count(*)"}, false},
	{"one odd key", "numeric timestamp", 1, 10, 2, 0, []int{0}, []string{"count(*)"}, false},
	{"text key", "text int4 timestamp", 2, 10, 5, 0, []int{0, 1}, []string{"count(*)", "sum(1)"}, false},
	{"global", "timestamp int4", 0, 10, 2, 0, nil, []string{"count(*)", "sum(1)"}, false},
	{"no aggregates", "int4 timestamp", 1, 10, 2, 0, []int{0}, nil, false},
	{"append-only", "int4 timestamp int8 text", 1, 10, 2, 0, []int{0}, []string{"count(*)", "max(2)", "min(2)", "sum(2)", "max(3)"}, true},
	{"dates", "int4 date int4", 1, 6 * 86400e6, 2 * 86400e6, 86400e6, []int{0}, []string{"count(*)", "sum(2)"}, false},
}

// TestHopAggEqualsFromScratch compares random histories with the windows filled row by row at the end.
func TestHopAggEqualsFromScratch(t *testing.T) {
	for _, tc := range hopAggCases {
		t.Run(tc.name, func(t *testing.T) {
			in := mustTypes(tc.in)
			cfg := HopAggConfig{In: in, TimeCol: tc.time, Size: tc.size, Slide: tc.slide, Offset: tc.offset, Keys: tc.keys,
				AppendOnlyIn: tc.appendOnly, Dist: tc.keys[:min(1, len(tc.keys))]}
			for _, a := range tc.aggs {
				cfg.Aggs = append(cfg.Aggs, aggCall(t, in, a))
			}
			ot := &opTest{in: [][]types.Type{in}, make: func() (exec.Operator, error) { return NewHopAgg(cfg) }}
			if len(tc.keys) > 0 {
				ot.dist = [][]int{cfg.Dist}
			}
			normal := make([]int, len(tc.keys))
			for i := range normal {
				normal[i] = i
			}
			for seed := range int64(8) {
				g := &gen{r: rand.New(rand.NewSource(seed)), in: ot.in, keyed: []bool{false}, appendOnly: []bool{tc.appendOnly}, value: hopValue}
				epochs := g.epochs(8, 24)
				want := func(ports [][][]types.Datum) [][]types.Datum { return naiveHopAgg(cfg, ports[0]) }
				ot.check(t, seed, epochs, want, normal)
			}
		})
	}
}

// TestHopAggRefuses: what cannot be combined from panes, and windows that are not made of panes.
func TestHopAggRefuses(t *testing.T) {
	in := mustTypes("int4 timestamp float8 int4 interval text")
	cfg := HopAggConfig{In: in, TimeCol: 1, Size: 10, Slide: 2, Keys: []int{0}}
	for _, a := range []string{"sum(2)", "avg(2)", "count(distinct 3)", "variance(3)", "sum(4)", "array_agg(3)"} {
		cfg.Aggs = []Agg{aggCall(t, in, a)}
		if _, err := NewHopAgg(cfg); err == nil {
			t.Errorf("%s is accepted", a)
		}
	}
	cfg.Aggs = nil
	for _, w := range [][2]int64{{10, 3}, {2, 4}, {0, 0}} {
		cfg.Size, cfg.Slide = w[0], w[1]
		if _, err := NewHopAgg(cfg); err == nil {
			t.Errorf("size %d, slide %d are accepted", w[0], w[1])
		}
	}
}

// BenchmarkHopAgg is Nexmark q5's aggregate: many keys that are in few panes.
func BenchmarkHopAgg(b *testing.B) {
	ts := mustTypes("int8 timestamp")
	r := rand.New(rand.NewSource(1))
	var cs []*vec.Chunk
	for at := 0; at < 1<<20; at += vec.ChunkSize {
		c := vec.NewChunk(ts, vec.ChunkSize)
		for i := range vec.ChunkSize {
			now := at + i
			c.Cols[0].AppendInt(int64(now/16 + r.Intn(100)))
			c.Cols[1].AppendInt(int64(now * 100))
		}
		c.SetLen(vec.ChunkSize)
		cs = append(cs, c)
	}
	benchHopAgg(b, HopAggConfig{In: ts, TimeCol: 1, Size: 10e6, Slide: 2e6, Keys: []int{0}, AppendOnlyIn: true,
		Aggs: []Agg{aggCall(b, ts, "count(*)")}}, cs)
}

func benchHopAgg(b *testing.B, cfg HopAggConfig, cs []*vec.Chunk) {
	rows := 0
	start := cpuTime()
	for b.Loop() {
		o, err := NewHopAgg(cfg)
		if err != nil {
			b.Fatal(err)
		}
		var e storage.Epoch
		rows += runChunks(b, openBench(b, o, nil), 0, cs, 1<<17, &e)
	}
	perRow(b, rows, start)
}
