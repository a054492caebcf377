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

func naiveTopN(cfg TopNConfig, rows [][]types.Datum) [][]types.Datum {
	order := slices.Clone(cfg.OrderBy)
	ident := cfg.RowKey
	if ident == nil {
		for i := range cfg.In {
			ident = append(ident, i)
		}
	}
	for _, c := range ident {
		if !slices.ContainsFunc(cfg.OrderBy, func(k SortKey) bool { return k.Col == c }) {
			order = append(order, SortKey{Col: c})
		}
	}
	cmpBy := func(a, b []types.Datum, keys []SortKey) int {
		c := vec.NewChunk(cfg.In, 2)
		c.AppendRow(a, 1)
		c.AppendRow(b, 1)
		return vec.CompareRows(c.Cols, 0, c.Cols, 1, keys)
	}
	var out [][]types.Datum
	for _, g := range naiveGroups(cfg.In, cfg.GroupBy, rows) {
		slices.SortStableFunc(g, func(a, b []types.Datum) int {
			if c := cmpBy(a, b, order); c != 0 {
				return c
			}
			for i, t := range cfg.In {
				if a[i].Valid && b[i].Valid {
					if c := compareTotal(t, a[i], b[i]); c != 0 {
						return c
					}
				}
			}
			return 0
		})
		for i, row := range g {
			in := int64(i) >= cfg.Offset && (cfg.Limit < 0 || int64(i) < cfg.Offset+cfg.Limit)
			if !in && cfg.WithTies && cfg.Limit > 0 && int64(i) >= cfg.Offset+cfg.Limit && int64(len(g)) >= cfg.Offset+cfg.Limit {
				in = cmpBy(row, g[cfg.Offset+cfg.Limit-1], cfg.OrderBy) == 0
			}
			if !in {
				continue
			}
			row = slices.Clone(row)
			if cfg.RankOutput {
				row = append(row, types.DInt(int64(i)+1))
			}
			out = append(out, row)
		}
	}
	return out
}

// TestTopNEqualsFromScratch compares random histories with sorting at the end.
func TestTopNEqualsFromScratch(t *testing.T) {
	one, desc := []SortKey{{Col: 1}}, []SortKey{{Col: 1, Desc: true, NullsFirst: true}, {Col: 2}}
	cases := []TopNConfig{
		{OrderBy: one, Limit: 3},
		{OrderBy: desc, Limit: 2, GroupBy: []int{3}},
		{OrderBy: one, Limit: 2, Offset: 2, GroupBy: []int{3}},
		{OrderBy: one, Limit: 2, WithTies: true, GroupBy: []int{3}},
		{OrderBy: desc, Limit: 1, RankOutput: true, GroupBy: []int{3}},
		{OrderBy: desc, Limit: 1, GroupBy: []int{3}},
		{OrderBy: one, Limit: 1},
		{OrderBy: one, Limit: -1, Offset: 1, GroupBy: []int{3}},
		{OrderBy: one, Limit: 4, RankOutput: true},
		{OrderBy: one, Limit: 1, Offset: 1, WithTies: true},
		{OrderBy: one, Limit: 0},
	}
	schemas := []string{"int8 int4 text int4", "int8 float8 numeric text"}
	for n, tc := range cases {
		for s, schema := range schemas {
			for mode := range 4 {
				cfg := tc
				cfg.In = mustTypes(schema)
				keyed := mode&1 == 0
				cfg.AppendOnlyIn = mode&2 != 0
				if keyed {
					cfg.RowKey = []int{0}
				} else {
					cfg.In[0] = cfg.In[1]
				}
				cfg.Dist = cfg.GroupBy
				t.Run(fmt.Sprintf("%d/%d/%d", n, s, mode), func(t *testing.T) {
					ot := &opTest{in: [][]types.Type{cfg.In}, make: func() (exec.Operator, error) { return NewTopN(cfg) }}
					if len(cfg.GroupBy) > 0 {
						ot.dist = [][]int{cfg.Dist}
					}
					for seed := range int64(4) {
						g := &gen{r: rand.New(rand.NewSource(seed)), in: ot.in, keyed: []bool{keyed}, appendOnly: []bool{cfg.AppendOnlyIn}}
						g.invert = seed%2 == 1
						epochs := g.epochs(7, 14)
						ot.check(t, seed, epochs, func(p [][][]types.Datum) [][]types.Datum { return naiveTopN(cfg, p[0]) }, nil)
					}
				})
			}
		}
	}
}

// TestTopNOfRisingRows compares histories in which rows only rise with sorting at the end, and looks at
// what is kept.
func TestTopNOfRisingRows(t *testing.T) {
	by := []SortKey{{Col: 1, Desc: true}}
	cases := []TopNConfig{
		{OrderBy: by, Limit: 1, WithTies: true, GroupBy: []int{2}},
		{OrderBy: by, Limit: 3, GroupBy: []int{2}},
		{OrderBy: by, Limit: 2, Offset: 1, GroupBy: []int{2}},
		{OrderBy: by, Limit: 2, Offset: 1, WithTies: true},
		{OrderBy: by, Limit: 2, RankOutput: true, GroupBy: []int{2}},
		{OrderBy: by, Limit: -1},
	}
	for n, cfg := range cases {
		cfg.In, cfg.RowKey, cfg.Dist, cfg.RisingIn = mustTypes("int8 int8 int4 text"), []int{0}, cfg.GroupBy, true
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			ot := &opTest{in: [][]types.Type{cfg.In}, make: func() (exec.Operator, error) { return NewTopN(cfg) }}
			if len(cfg.GroupBy) > 0 {
				ot.dist = [][]int{cfg.Dist}
			}
			for seed := range int64(12) {
				ot.check(t, seed, risingEpochs(seed), func(p [][][]types.Datum) [][]types.Datum { return naiveTopN(cfg, p[0]) }, nil)
			}
		})
	}
}

// risingEpochs makes rows (id, value, group, text) that come and are then replaced by such with the same or a
// greater value.
func risingEpochs(seed int64) [][]testRow {
	r := rand.New(rand.NewSource(seed))
	var live [][]types.Datum
	var epochs [][]testRow
	for range 8 {
		var rows []testRow
		for _, i := range r.Perm(len(live)) {
			if r.Intn(3) > 0 {
				continue
			}
			old := live[i]
			live[i] = []types.Datum{old[0], types.DInt(old[1].I + int64(r.Intn(3))), old[2], types.DStr(fmt.Sprint(r.Intn(3)))}
			rows = append(rows, testRow{row: old, diff: -1}, testRow{row: live[i], diff: 1})
		}
		for range r.Intn(8) {
			row := []types.Datum{types.DInt(int64(len(live))), types.DInt(int64(r.Intn(3))), types.DInt(int64(r.Intn(3))), types.DStr("")}
			live = append(live, row)
			rows = append(rows, testRow{row: row, diff: 1})
		}
		epochs = append(epochs, rows)
	}
	return epochs
}
