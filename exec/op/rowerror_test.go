package op

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/types"
)

// TestRowErrorsEqualFromScratch runs what fails for groups and rows of a partition through random histories. What is
// reported in the end, and what comes out, is what the last rows alone give.
func TestRowErrorsEqualFromScratch(t *testing.T) {
	in := mustTypes("int8 int4 int4 interval float8")
	order := []SortKey{{Col: 2}}
	window := func(calls ...string) func() (exec.Operator, error) {
		cfg := WindowConfig{In: in, PartitionBy: []int{1}, OrderBy: order, RowKey: []int{0}, Dist: []int{1}}
		for _, c := range calls {
			cfg.Calls = append(cfg.Calls, windowCall(t, in, order, c))
		}
		return func() (exec.Operator, error) { return NewWindow(cfg) }
	}
	agg := func(keys []int, calls ...string) func() (exec.Operator, error) {
		cfg := HashAggConfig{In: in, Keys: keys, Dist: keys}
		for _, c := range calls {
			cfg.Aggs = append(cfg.Aggs, aggCall(t, in, c))
		}
		return func() (exec.Operator, error) { return NewHashAgg(cfg) }
	}
	cases := []struct {
		name string
		make func() (exec.Operator, error)
	}{
		{"sums", agg([]int{1}, "sum(3)", "avg(3)", "sum(4)", "count(*)")},
		{"sums of all", agg(nil, "sum(3)", "var_pop(4)")},
		{"sums in windows", window("sum(3)", "sum(4) rows 2p cr", "avg(3) rows up uf")},
		{"arguments of window functions", window("ntile(2)", "nth_value(0,2) rows up uf", "count(*)")},
		{"single rows", func() (exec.Operator, error) {
			return NewMax1Row(Max1RowConfig{In: in, GroupBy: []int{1}, Dist: []int{1}})
		}},
	}
	pool := map[types.Kind][]string{
		types.Int4: {"0", "1", "2", "-1"}, types.Interval: {"1500000000 mons", "-1500000000 mons", "1400000000 days"},
		types.Float8: {"1e308", "1.7e308", "-1e308", "0"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			ot := &opTest{in: [][]types.Type{in}, dist: [][]int{{1}}, make: tc.make}
			if tc.name == "sums of all" {
				ot.dist = nil
			}
			failed := 0
			for seed := range int64(4) {
				g := &gen{r: rand.New(rand.NewSource(seed)), in: ot.in, keyed: []bool{true}, appendOnly: []bool{false}, invert: seed%3 == 2}
				g.value = func(r *rand.Rand, t types.Type) types.Datum {
					p := pool[t.Kind]
					if len(p) == 0 || r.Intn(8) == 0 {
						return types.Null
					}
					d, err := types.ParseText(t, p[r.Intn(len(p))], nil)
					if err != nil {
						panic(fmt.Sprint(t, err))
					}
					return d
				}
				ot.check(t, seed, g.epochs(10, 40), func(ports [][][]types.Datum) [][]types.Datum {
					var rows []testRow
					for _, row := range ports[0] {
						rows = append(rows, testRow{0, row, 1})
					}
					out, _ := ot.run(t, runConfig{chunk: 1024, parallel: 1}, [][]testRow{rows})
					return out
				}, nil)
				failed += len(ot.failed)
			}
			if failed == 0 {
				t.Error("nothing has failed")
			}
		})
	}
}
