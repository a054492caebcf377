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
						ot.check(t, seed, sessionEpochs(cfg, seed, keyed), func(p [][][]types.Datum) [][]types.Datum { return naiveSessions(cfg, p[0]) }, nil)
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
