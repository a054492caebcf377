package op

import (
	"math"
	"math/rand"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// TestStatelessEqualsFromScratch runs the operators without state through the same histories and
// configurations as the others.
func TestStatelessEqualsFromScratch(t *testing.T) {
	in := mustTypes("int4 int4 timestamp text")
	const second = int64(1_000_000)
	hop := HopConfig{In: in, TimeCol: 2, Size: 10 * second, Slide: 4 * second, Offset: second}
	type testCase struct {
		name string
		make func() (exec.Operator, error)
		row  func(row []types.Datum) [][]types.Datum
		skip bool
	}
	cases := []testCase{
		{"filter", func() (exec.Operator, error) { return NewFilter(FilterConfig{In: in, Pred: callOp(t, in, "<", 0, 1)}) },
			func(row []types.Datum) [][]types.Datum {
				if row[0].Valid && row[1].Valid && row[0].I < row[1].I {
					return [][]types.Datum{row}
				}
				return nil
			}, false},
		{"project", func() (exec.Operator, error) {
			return NewProject(ProjectConfig{In: in, Exprs: []scalar.Expr{colExpr(in, 3), callOp(t, in, "<", 0, 1)}})
		}, func(row []types.Datum) [][]types.Datum {
			less := types.Null
			if row[0].Valid && row[1].Valid {
				less = types.DBool(row[0].I < row[1].I)
			}
			return [][]types.Datum{{row[3], less}}
		}, false},
		{"hop", func() (exec.Operator, error) { return NewHop(hop) }, func(row []types.Datum) (out [][]types.Datum) {
			const toUnix = 946_684_800_000_000
			if !row[2].Valid || row[2].I == math.MaxInt64 || row[2].I == math.MinInt64 {
				return nil
			}
			// Every multiple of the slide near the time is tried.
			unix := row[2].I + toUnix
			for k := (unix-hop.Size)/hop.Slide - 2; k <= unix/hop.Slide+2; k++ {
				if start := k*hop.Slide + hop.Offset; start <= unix && unix < start+hop.Size {
					w := types.DInt(start - toUnix)
					out = append(out, append(append([]types.Datum{}, row...), w, types.DInt(w.I+hop.Size)))
				}
			}
			return out
		}, false},
		{"consolidate", func() (exec.Operator, error) { return NewConsolidate(ConsolidateConfig{In: in}) },
			func(row []types.Datum) [][]types.Datum { return [][]types.Datum{row} }, false},
		{"union", func() (exec.Operator, error) {
			return NewUnionAll(UnionAllConfig{In: in, Ports: 1, SourceColumn: true})
		},
			func(row []types.Datum) [][]types.Datum {
				return [][]types.Datum{append(append([]types.Datum{}, row...), types.DInt(0))}
			}, false},
	}
	quotient := func(row []types.Datum) (q types.Datum, failed bool) {
		if !row[0].Valid || !row[1].Valid {
			return types.Null, false
		}
		if row[1].I == 0 || row[0].I == math.MinInt32 && row[1].I == -1 {
			return types.Null, true
		}
		return types.DInt(row[0].I / row[1].I), false
	}
	for _, skip := range []bool{false, true} {
		name := "failing project"
		if skip {
			name += ", skip"
		}
		cases = append(cases, testCase{name, func() (exec.Operator, error) {
			return NewProject(ProjectConfig{In: in, Exprs: []scalar.Expr{colExpr(in, 3), callOp(t, in, "/", 0, 1), callOp(t, in, "+", 0, 1)}})
		}, func(row []types.Datum) [][]types.Datum {
			q, failed := quotient(row)
			sum := types.Null
			if row[0].Valid && row[1].Valid {
				if x := row[0].I + row[1].I; int64(int32(x)) == x {
					sum = types.DInt(x)
				} else {
					failed = true
				}
			}
			if failed && skip {
				return nil
			}
			return [][]types.Datum{{row[3], q, sum}}
		}, skip})
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			ot := &opTest{in: [][]types.Type{in}, dist: [][]int{{0}}, make: tc.make, skip: tc.skip}
			for seed := range int64(3) {
				g := &gen{r: rand.New(rand.NewSource(seed)), in: ot.in, keyed: []bool{false}, appendOnly: []bool{false}}
				ot.check(t, seed, g.epochs(6, 20), func(ports [][][]types.Datum) (out [][]types.Datum) {
					for _, row := range ports[0] {
						out = append(out, tc.row(row)...)
					}
					return out
				}, nil)
			}
		})
	}
}
