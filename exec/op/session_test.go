package op

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// naiveSessions assigns rows to sessions.
func naiveSessions(cfg SessionConfig, rows [][]types.Datum) [][]types.Datum {
	var out [][]types.Datum
	for _, g := range naiveGroups(cfg.In, cfg.Partition, rows) {
		g = slices.DeleteFunc(slices.Clone(g), func(r []types.Datum) bool { return !r[cfg.TimeCol].Valid })
		slices.SortFunc(g, func(a, b []types.Datum) int { return int(a[cfg.TimeCol].I - b[cfg.TimeCol].I) })
		for lo := 0; lo < len(g); {
			hi := lo + 1
			for hi < len(g) && g[hi][cfg.TimeCol].I-g[hi-1][cfg.TimeCol].I < cfg.Gap {
				hi++
			}
			for _, r := range g[lo:hi] {
				out = append(out, append(slices.Clone(r), g[lo][cfg.TimeCol], types.DInt(g[hi-1][cfg.TimeCol].I+cfg.Gap)))
			}
			lo = hi
		}
	}
	return out
}

// TestSessionEqualsFromScratch compares random histories with sessions worked out at the end.
func TestSessionEqualsFromScratch(t *testing.T) {
	cases := []SessionConfig{
		{Gap: 1},
		{Gap: 2, Partition: []int{2}},
		{Gap: 4, Partition: []int{2}},
		{Gap: 3},
	}
	schemas := []string{"int8 timestamp int4 text", "numeric timestamptz text float8"}
	for n, tc := range cases {
		for _, schema := range schemas {
			for _, keyed := range []bool{true, false} {
				cfg := tc
				cfg.In, cfg.TimeCol, cfg.Dist = mustTypes(schema), 1, tc.Partition
				if keyed {
					cfg.RowKey = []int{0}
				}
				t.Run(fmt.Sprintf("%d/%s/%t", n, schema[:4], keyed), func(t *testing.T) {
					ot := &opTest{in: [][]types.Type{cfg.In}, make: func() (exec.Operator, error) { return NewSession(cfg) }}
					if len(cfg.Partition) > 0 {
						ot.dist = [][]int{cfg.Dist}
					}
					for seed := range int64(10) {
						epochs := sessionEpochs(cfg, seed, keyed)
						if seed%2 == 1 {
							// Several producers: within an epoch changes come in any order.
							r := rand.New(rand.NewSource(seed))
							for _, rows := range epochs {
								r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
							}
						}
						ot.check(t, seed, epochs, func(p [][][]types.Datum) [][]types.Datum { return naiveSessions(cfg, p[0]) }, nil)
					}
				})
			}
		}
	}
}

// sessionEpochs makes rows with times from a small range, which come, go and move.
func sessionEpochs(cfg SessionConfig, seed int64, keyed bool) [][]testRow {
	r := rand.New(rand.NewSource(seed))
	var live [][]types.Datum
	serial := int64(0)
	value := func(t types.Type) types.Datum {
		if r.Intn(8) == 0 {
			return types.Null
		}
		switch t.Phys() {
		case types.PhysInt:
			return types.DInt(int64(r.Intn(2)))
		case types.PhysFloat:
			return types.DFloat(float64(r.Intn(2)))
		case types.PhysDec:
			return types.DDec(types.NewDecimal(int64(r.Intn(2))*10, 1))
		}
		return types.DStr(string(rune('a' + r.Intn(2))))
	}
	row := func() []types.Datum {
		out := make([]types.Datum, len(cfg.In))
		for i, t := range cfg.In {
			out[i] = value(t)
		}
		if out[1] = types.DInt(int64(r.Intn(30))); r.Intn(12) == 0 {
			out[1] = types.Null
		}
		if serial++; keyed && cfg.In[0].Phys() == types.PhysDec {
			out[0] = types.DDec(types.NewDecimal(serial, 0))
		} else if keyed {
			out[0] = types.DInt(serial)
		}
		return out
	}
	var epochs [][]testRow
	for range 9 {
		var rows []testRow
		for range r.Intn(9) {
			if len(live) > 0 && !keyed && r.Intn(4) == 0 {
				// More copies of a row that is there.
				copied := live[r.Intn(len(live))]
				n := 1 + r.Intn(3)
				rows = append(rows, testRow{row: copied, diff: int64(n)})
				for range n {
					live = append(live, copied)
				}
				continue
			}
			if len(rows) > 0 && r.Intn(6) == 0 {
				// A change is undone in its epoch, or done again.
				again := rows[r.Intn(len(rows))]
				rows = append(rows, testRow{row: again.row, diff: -again.diff}, again)
				continue
			}
			switch k := r.Intn(5); {
			case k < 2 || len(live) == 0:
				live = append(live, row())
				rows = append(rows, testRow{row: live[len(live)-1], diff: 1})
			case k < 4:
				i := r.Intn(len(live))
				rows = append(rows, testRow{row: live[i], diff: -1})
				live = slices.Delete(live, i, i+1)
			default:
				i := r.Intn(len(live))
				rows = append(rows, testRow{row: live[i], diff: -1})
				now := row()
				now[0] = live[i][0]
				live[i] = now
				rows = append(rows, testRow{row: now, diff: 1})
			}
		}
		epochs = append(epochs, rows)
	}
	return epochs
}

// TestSessionTouchesOnlyTheNeighbours: a row in the middle of a long session changes nothing else.
func TestSessionTouchesOnlyTheNeighbours(t *testing.T) {
	cfg := SessionConfig{In: mustTypes("int8 timestamp"), TimeCol: 1, Gap: 11, RowKey: []int{0}}
	o, err := NewSession(cfg)
	if err != nil {
		t.Fatal(err)
	}
	out := newChecker(t, o.Schema())
	if err := o.Open(&exec.Context{Env: &exec.Env{}}, out); err != nil {
		t.Fatal(err)
	}
	c := vec.NewChunk(cfg.In, 0)
	for i := range int64(10000) {
		c.AppendRow([]types.Datum{types.DInt(i), types.DInt(i * 5)}, 1)
	}
	if err := o.Chunk(0, c); err != nil {
		t.Fatal(err)
	}
	if err := o.Barrier(exec.Barrier{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	out.text.Reset()
	c.Reset()
	c.AppendRow([]types.Datum{types.DInt(20000), types.DInt(25001)}, 1)
	c.AppendRow([]types.Datum{types.DInt(7), types.DInt(35)}, -1)
	if err := o.Chunk(0, c); err != nil {
		t.Fatal(err)
	}
	if err := o.Barrier(exec.Barrier{Epoch: 2}); err != nil {
		t.Fatal(err)
	}
	if n := len(o.region); n > 0 && n != 10000 {
		t.Errorf("%d rows were looked at", n)
	}
	if got := out.acc; len(got) != 10000 {
		t.Errorf("%d rows", len(got))
	}
	text := out.text.String()
	if want := 3; len(slices.DeleteFunc([]byte(text), func(b byte) bool { return b != '\n' })) != want {
		t.Errorf("want two changes and a barrier, have:\n%s", text)
	}
}

// TestSessionGivesCopies: equal rows come one by one, since who reads a result counts rows, not diffs.
func TestSessionGivesCopies(t *testing.T) {
	cfg := SessionConfig{In: mustTypes("int8 timestamp"), TimeCol: 1, Gap: 5}
	for _, size := range []int{1, 2, 3, 1024} {
		o, err := NewSession(cfg)
		if err != nil {
			t.Fatal(err)
		}
		out := &diffs{}
		if err := o.Open(&exec.Context{Env: &exec.Env{}, ChunkSize: size}, out); err != nil {
			t.Fatal(err)
		}
		c := vec.NewChunk(cfg.In, 0)
		for _, n := range []int64{3, 1, 4} {
			c.AppendRow([]types.Datum{types.DInt(n), types.DInt(n)}, n)
		}
		c.AppendRow([]types.Datum{types.DInt(3), types.DInt(3)}, 2)
		if err := o.Chunk(0, c); err != nil {
			t.Fatal(err)
		}
		if err := o.Barrier(exec.Barrier{Epoch: 1}); err != nil {
			t.Fatal(err)
		}
		c.Reset()
		c.AppendRow([]types.Datum{types.DInt(3), types.DInt(3)}, -5)
		c.AppendRow([]types.Datum{types.DInt(4), types.DInt(4)}, -2)
		if err := o.Chunk(0, c); err != nil {
			t.Fatal(err)
		}
		if err := o.Barrier(exec.Barrier{Epoch: 2}); err != nil {
			t.Fatal(err)
		}
		if out.other != 0 || out.longest > size || out.sum != 3 {
			t.Errorf("chunks of %d: %d diffs beyond 1, chunks of up to %d rows, %d rows are left of 3", size, out.other, out.longest, out.sum)
		}
	}
}

// diffs counts what an operator emits.
type diffs struct{ other, longest, sum int }

func (d *diffs) Chunk(c *vec.Chunk) error {
	d.longest = max(d.longest, c.Len())
	for i := range c.Len() {
		if n := c.Diff(i); n != 1 && n != -1 {
			d.other++
		}
		d.sum += int(c.Diff(i))
	}
	return nil
}
func (d *diffs) Watermark(exec.Watermark) error { return nil }
func (d *diffs) Barrier(exec.Barrier) error     { return nil }

// naiveIntervals is naiveSessions for rows (id, begin, end, partition).
func naiveIntervals(cfg SessionConfig, rows [][]types.Datum) [][]types.Datum {
	var out [][]types.Datum
	for _, g := range naiveGroups(cfg.In, cfg.Partition, rows) {
		g = slices.DeleteFunc(slices.Clone(g), func(r []types.Datum) bool { return !r[1].Valid })
		slices.SortFunc(g, func(a, b []types.Datum) int { return int(a[1].I - b[1].I) })
		for lo := 0; lo < len(g); {
			hi := lo + 1
			for hi < len(g) && g[hi][1].I-g[hi-1][2].I < cfg.Gap {
				hi++
			}
			for _, r := range g[lo:hi] {
				out = append(out, append(slices.Clone(r), g[lo][1], types.DInt(g[hi-1][2].I+cfg.Gap)))
			}
			lo = hi
		}
	}
	return out
}

// TestSessionIntervals: rows that reach over a part of a pane, one for each partition and pane, come, go and are replaced.
func TestSessionIntervals(t *testing.T) {
	for _, gap := range []int64{1, 3, 6} {
		cfg := SessionConfig{
			In: mustTypes("int8 timestamp timestamp int4 int8"), TimeCol: 1, Intervals: true, LastCol: 2, Gap: gap, Partition: []int{3},
			RowKey: []int{3, 0}, Dist: []int{3},
		}
		ot := &opTest{in: [][]types.Type{cfg.In}, make: func() (exec.Operator, error) { return NewSession(cfg) }, dist: [][]int{cfg.Dist}}
		for seed := range int64(40) {
			r := rand.New(rand.NewSource(seed))
			type place struct{ partition, pane int64 }
			live := map[place][]types.Datum{}
			var epochs [][]testRow
			for range 10 {
				var rows []testRow
				for range r.Intn(12) {
					at := place{int64(r.Intn(2)), int64(r.Intn(9))}
					if had := live[at]; had != nil {
						rows = append(rows, testRow{row: had, diff: -1})
						delete(live, at)
						if r.Intn(3) == 0 {
							continue
						}
					}
					begin := r.Int63n(gap)
					end := begin + r.Int63n(gap-begin)
					base := at.pane*gap - 3*gap
					now := []types.Datum{types.DInt(at.pane), types.DInt(base + begin), types.DInt(base + end), types.DInt(at.partition), types.DInt(r.Int63n(2))}
					if r.Intn(15) == 0 {
						now[1], now[2] = types.Null, types.Null
					}
					live[at] = now
					rows = append(rows, testRow{row: now, diff: 1})
				}
				if seed%2 == 1 {
					r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
				}
				epochs = append(epochs, rows)
			}
			ot.check(t, seed, epochs, func(p [][][]types.Datum) [][]types.Datum { return naiveIntervals(cfg, p[0]) }, nil)
		}
	}
}
