package op

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/types"
)

// markedEpochs makes changes of rows (id, time, key, value) on some ports, and the watermark of each epoch: after it no row
// below it comes or goes.
func markedEpochs(seed int64, ports, epochs int, appendOnly bool) (rows [][]testRow, marks []int64) {
	r := rand.New(rand.NewSource(seed))
	live := make([][][]types.Datum, ports)
	mark, id := int64(0), int64(0)
	for e := range epochs {
		var out []testRow
		for range 20 + r.Intn(30) {
			p := r.Intn(ports)
			if !appendOnly && r.Intn(4) == 0 && len(live[p]) > 0 {
				if i := r.Intn(len(live[p])); live[p][i][1].I >= mark {
					out = append(out, testRow{port: p, row: live[p][i], diff: -1})
					live[p] = slices.Delete(live[p], i, i+1)
				}
				continue
			}
			id++
			row := []types.Datum{types.DInt(id), types.DInt(mark + int64(r.Intn(25))), types.DInt(int64(r.Intn(3))), types.DInt(int64(r.Intn(4)))}
			live[p] = append(live[p], row)
			out = append(out, testRow{port: p, row: row, diff: 1})
		}
		rows = append(rows, out)
		mark = max(mark, int64(10*e+r.Intn(10)))
		marks = append(marks, mark)
	}
	return rows, marks
}

// TestWatermarksChangeNothing: with watermarks operators forget state, and their output is the same.
func TestWatermarksChangeNothing(t *testing.T) {
	in := mustTypes("int8 timestamp int4 int4")
	both := append(append([]types.Type{}, in...), in...)
	interval := func(kind JoinKind) func() (exec.Operator, error) {
		iv := &JoinInterval{LeftCol: 1, RightCol: 1, HasLo: true, HasHi: true}
		out := []int{0, 1, 3, 4, 5, 7}
		if kind == Semi || kind == Anti {
			out = []int{0, 1, 3}
		}
		return func() (exec.Operator, error) {
			return NewHashJoin(HashJoinConfig{
				Kind: kind, Left: in, Right: in, LeftKeys: []int{2}, RightKeys: []int{2}, LeftRowKey: []int{0}, RightRowKey: []int{0},
				LeftDist: []int{2}, RightDist: []int{2}, Interval: iv, Residual: callOp(t, both, "=", 1, 5), Output: out,
			})
		}
	}
	cases := []struct {
		name       string
		ports      int
		appendOnly bool
		// some: what is left in the state is at most this many keys, of more than a thousand.
		some int
		make func() (exec.Operator, error)
	}{
		{"hash agg", 1, false, 500, func() (exec.Operator, error) {
			return NewHashAgg(HashAggConfig{In: in, Keys: []int{3, 1}, Dist: []int{3}, Aggs: []Agg{aggCall(t, in, "count(*)"), aggCall(t, in, "max($0)")}})
		}},
		{"distinct", 1, false, 500, func() (exec.Operator, error) {
			return NewHashAgg(HashAggConfig{In: in, Keys: []int{1, 2}, Dist: []int{2}})
		}},
		{"hop agg", 1, false, 500, func() (exec.Operator, error) {
			return NewHopAgg(HopAggConfig{In: in, TimeCol: 1, Size: 6, Slide: 2, Keys: []int{2}, Dist: []int{2}, Aggs: []Agg{aggCall(t, in, "count(*)")}})
		}},
		{"top-n", 1, false, 600, func() (exec.Operator, error) {
			return NewTopN(TopNConfig{In: in, OrderBy: []SortKey{{Col: 3, Desc: true}}, Limit: 1, GroupBy: []int{1, 2}, RowKey: []int{0}, Dist: []int{2}})
		}},
		{"session", 1, false, 700, func() (exec.Operator, error) {
			return NewSession(SessionConfig{In: in, TimeCol: 1, Gap: 2, Partition: []int{2}, RowKey: []int{0}, Dist: []int{2}})
		}},
		{"sessions of one", 1, false, 700, func() (exec.Operator, error) {
			return NewSession(SessionConfig{In: in, TimeCol: 1, Gap: 2, Partition: []int{2, 0}, RowKey: []int{0}, Dist: []int{2}})
		}},
		{"join by time", 2, false, 700, func() (exec.Operator, error) {
			return NewHashJoin(HashJoinConfig{
				Kind: Full, Left: in, Right: in, LeftKeys: []int{2, 1}, RightKeys: []int{2, 1}, LeftRowKey: []int{0}, RightRowKey: []int{0},
				LeftDist: []int{2}, RightDist: []int{2}, Output: []int{0, 1, 3, 4, 5, 7},
			})
		}},
		{"append-only join by time", 2, true, 700, func() (exec.Operator, error) {
			return NewHashJoin(HashJoinConfig{
				Kind: Inner, Left: in, Right: in, LeftKeys: []int{2, 1}, RightKeys: []int{2, 1}, LeftAppendOnly: true, RightAppendOnly: true,
				LeftDist: []int{2}, RightDist: []int{2}, Output: []int{0, 1, 3, 4, 5, 7},
			})
		}},
		{"interval join", 2, false, 700, interval(Inner)},
		{"interval left join", 2, false, 700, interval(Left)},
		{"interval right join", 2, false, 700, interval(Right)},
		{"interval full join", 2, false, 1 << 20, interval(Full)},
		{"interval semi join", 2, false, 700, interval(Semi)},
		{"interval anti join", 2, false, 700, interval(Anti)},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, seed := range []int64{int64(i)} {
				epochs, marks := markedEpochs(seed, c.ports, 45, c.appendOnly)
				ot := &opTest{make: c.make}
				for range c.ports {
					ot.in = append(ot.in, in)
					ot.dist = append(ot.dist, []int{2})
				}
				if c.name == "hash agg" {
					ot.dist = [][]int{{3}}
				}
				plain, _ := ot.run(t, runConfig{chunk: 1024, parallel: 1}, epochs)
				o, err := c.make()
				if err != nil {
					t.Fatal(err)
				}
				want := formatRows(o.Schema(), plain, nil)
				ot.marks = func(e int) []portMark {
					var out []portMark
					for p := range c.ports {
						// One side is behind the other.
						out = append(out, portMark{p, exec.Watermark{Col: 1, Value: marks[max(0, e-p)]}})
					}
					return out
				}
				ot.left = func(keys int) {
					if keys > c.some {
						t.Errorf("seed %d: %d keys are left in the state", seed, keys)
					}
				}
				for _, cfg := range runConfigs(true) {
					rows, _ := ot.run(t, cfg, epochs)
					if got := formatRows(o.Schema(), rows, nil); got != want {
						t.Fatalf("seed %d, %v: with watermarks\n%s\nwithout\n%s", seed, cfg, got, want)
					}
				}
			}
		})
	}
}

// TestWindowCloseEmitsOnce: the rows below the last watermark, each once, and nothing is taken back.
func TestWindowCloseEmitsOnce(t *testing.T) {
	in := mustTypes("int8 timestamp int4 int4")
	for seed := range int64(6) {
		epochs, marks := markedEpochs(seed, 1, 12, false)
		ot := &opTest{in: [][]types.Type{in}, make: func() (exec.Operator, error) { return NewWindowClose(WindowCloseConfig{In: in, Col: 1}) }}
		ot.marks = func(e int) []portMark { return []portMark{{0, exec.Watermark{Col: 1, Value: marks[e]}}} }
		ot.check(t, seed, epochs, func(p [][][]types.Datum) [][]types.Datum {
			return slices.DeleteFunc(slices.Clone(p[0]), func(r []types.Datum) bool { return r[1].I >= marks[len(marks)-1] })
		}, nil)
		_, text := ot.run(t, runConfig{chunk: 7, parallel: 1, stateful: true, checkpoints: 2, restart: 3}, epochs)
		for _, line := range slices.Collect(lines(text)) {
			if len(line) > 0 && line[0] == '-' {
				t.Fatalf("seed %d: %s", seed, line)
			}
		}
	}
}

// TestLateRows: what is late depends on the order within the split alone.
func TestLateRows(t *testing.T) {
	in := mustTypes("timestamp int8")
	const splits, delay = 3, 4
	for seed := range int64(8) {
		r := rand.New(rand.NewSource(seed))
		var epochs [][]testRow
		var want [][]types.Datum
		next, top := [splits]int64{}, [splits]int64{}
		for e := range 10 {
			var rows []testRow
			for range r.Intn(12) {
				s := r.Intn(splits)
				row := []types.Datum{types.DInt(int64(3*e + r.Intn(12))), types.DInt(next[s]*splits + int64(s))}
				if r.Intn(10) == 0 {
					row[0] = types.Null
				}
				next[s]++
				rows = append(rows, testRow{row: row, diff: 1})
				if !row[0].Valid || next[s] == 1 || row[0].I >= top[s]-delay {
					want = append(want, row)
				}
				if row[0].Valid {
					top[s] = max(top[s], row[0].I)
				}
			}
			epochs = append(epochs, rows)
		}
		ot := &opTest{in: [][]types.Type{in}, make: func() (exec.Operator, error) {
			return NewWatermark(WatermarkConfig{In: in, Delay: delay, RowID: 1, Splits: splits, Mine: []int{0, 1, 2}})
		}}
		ot.check(t, seed, epochs, func([][][]types.Datum) [][]types.Datum { return want }, nil)
	}
}

// lines splits text.
func lines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for from := 0; from < len(text); {
			to := from
			for to < len(text) && text[to] != '\n' {
				to++
			}
			if !yield(text[from:to]) {
				return
			}
			from = to + 1
		}
	}
}
