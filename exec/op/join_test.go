package op

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

func colExpr(ts []types.Type, i int) scalar.Expr {
	return &scalar.Column{Node: scalar.Node{T: ts[i], Pos: -1}, Index: i}
}

// callOp makes a call of an operator over two columns.
func callOp(t testing.TB, ts []types.Type, name string, l, r int) scalar.Expr {
	t.Helper()
	for _, f := range fn.Default().All() {
		if f.Kind == fn.Operator && f.Name == name && len(f.Args) == 2 && f.Args[0].Kind == ts[l].Kind && f.Args[1].Kind == ts[r].Kind {
			return &scalar.Call{Node: scalar.Node{T: f.Ret, Pos: -1}, Fn: f, Args: []scalar.Expr{colExpr(ts, l), colExpr(ts, r)}}
		}
	}
	t.Fatalf("no operator %s", name)
	return nil
}

// naiveJoin joins by nested loops. less, if not nil, is the residual.
func naiveJoin(cfg HashJoinConfig, l, r [][]types.Datum, residual func(l, r []types.Datum) bool) [][]types.Datum {
	match := func(a, b []types.Datum) bool {
		for i, k := range cfg.LeftKeys {
			x, y := a[k], b[cfg.RightKeys[i]]
			if !x.Valid || !y.Valid {
				if cfg.NullSafe != nil && cfg.NullSafe[i] && x.Valid == y.Valid {
					continue
				}
				return false
			}
			if types.Compare(cfg.Left[k], x, y) != 0 {
				return false
			}
		}
		return residual == nil || residual(a, b)
	}
	nulls := func(ts []types.Type) []types.Datum { return make([]types.Datum, len(ts)) }
	var out [][]types.Datum
	emit := func(a, b []types.Datum) {
		all := append(append([]types.Datum{}, a...), b...)
		row := make([]types.Datum, 0, len(cfg.Output))
		for _, c := range cfg.Output {
			row = append(row, all[c])
		}
		out = append(out, row)
	}
	hit := make([]bool, len(r))
	for _, a := range l {
		n := 0
		for j, b := range r {
			if !match(a, b) {
				continue
			}
			n++
			hit[j] = true
			if cfg.Kind != Semi && cfg.Kind != Anti {
				emit(a, b)
			}
		}
		switch {
		case n == 0 && (cfg.Kind == Left || cfg.Kind == Full):
			emit(a, nulls(cfg.Right))
		case n == 0 && cfg.Kind == Anti, n > 0 && cfg.Kind == Semi:
			emit(a, nil)
		}
	}
	if cfg.Kind == Right || cfg.Kind == Full {
		for j, b := range r {
			if !hit[j] {
				emit(nulls(cfg.Left), b)
			}
		}
	}
	return out
}

type joinCase struct {
	name         string
	left, right  string
	lkeys, rkeys []int
	nullSafe     []bool
	residual     bool // left column 1 < right column 1
	quotient     bool // left column 1 / right column 1 > left column 0, which may fail
	keyed        [2]bool
	appendOnly   [2]bool
	// unique: no two rows of a side have the same keys.
	unique          [2]bool
	output, semiOut []int
	seeds, perEpoch int
}

var joinCases = []joinCase{
	{name: "int key", left: "int8 int4 int4", right: "int8 int4 int4", lkeys: []int{2}, rkeys: []int{2}, keyed: [2]bool{true, true}, output: []int{0, 1, 3, 4, 5}, semiOut: []int{1, 0}},
	{name: "residual", left: "int8 int4 int4", right: "int8 int4 int4", lkeys: []int{2}, rkeys: []int{2}, residual: true, keyed: [2]bool{true, true}, output: []int{0, 3}, semiOut: []int{0}},
	{name: "multisets", left: "int4 int4 text", right: "int4 int4 text", lkeys: []int{2}, rkeys: []int{2}, output: []int{0, 2, 3, 5}, semiOut: []int{0, 2}},
	{name: "multisets with residual", left: "int4 int4 bool", right: "int4 int4 bool", lkeys: []int{2}, rkeys: []int{2}, residual: true, output: []int{0, 1, 3}, semiOut: []int{0}},
	{name: "two keys", left: "int8 int4 int4 int8", right: "int8 int4 int4 int8", lkeys: []int{2, 3}, rkeys: []int{2, 3}, nullSafe: []bool{false, true}, keyed: [2]bool{true, true}, output: []int{0, 4}, semiOut: []int{0, 2, 3}},
	{name: "odd keys", left: "int8 int4 float8 numeric", right: "int8 int4 float8 numeric", lkeys: []int{2, 3}, rkeys: []int{2, 3}, nullSafe: []bool{true, true}, keyed: [2]bool{true, false}, output: []int{0, 2, 3, 6, 7}, semiOut: []int{0, 3}},
	{name: "append-only", left: "int8 int4 int4", right: "int8 int4 int4", lkeys: []int{2}, rkeys: []int{2}, residual: true, keyed: [2]bool{true, true}, appendOnly: [2]bool{true, true}, output: []int{0, 3}, semiOut: []int{0}},
	{name: "append-only multisets", left: "int4 int4 int4", right: "int4 int4 int4", lkeys: []int{2}, rkeys: []int{2}, residual: true, appendOnly: [2]bool{true, true}, output: []int{0, 3}, semiOut: []int{0}},
	{name: "append-only without residual", left: "int8 int4 int4", right: "int8 int4 int4", lkeys: []int{2}, rkeys: []int{2}, keyed: [2]bool{true, true}, appendOnly: [2]bool{true, true}, output: []int{0, 3}, semiOut: []int{0}},
	{name: "append-only multisets without residual", left: "int4 int4 int8", right: "int4 int4 int8", lkeys: []int{2}, rkeys: []int{2}, appendOnly: [2]bool{true, true}, output: []int{0, 3}, semiOut: []int{0, 1}},
	{name: "append-only, unique left", left: "int8 int4 int4", right: "int4 int4 int4", lkeys: []int{2}, rkeys: []int{2}, keyed: [2]bool{true, false}, appendOnly: [2]bool{true, true}, unique: [2]bool{true, false}, output: []int{0, 2, 3, 4}, semiOut: []int{0}, perEpoch: 40},
	{name: "append-only, unique right, residual", left: "int8 int4 text", right: "int8 int4 text", lkeys: []int{2}, rkeys: []int{2}, residual: true, keyed: [2]bool{true, true}, appendOnly: [2]bool{true, true}, unique: [2]bool{false, true}, output: []int{0, 1, 3}, semiOut: []int{0}, perEpoch: 40},
	{name: "append-only, both unique, two keys", left: "int8 int4 int4 bool", right: "int8 int4 int4 bool", lkeys: []int{2, 3}, rkeys: []int{2, 3}, nullSafe: []bool{false, true}, residual: true, keyed: [2]bool{true, true}, appendOnly: [2]bool{true, true}, unique: [2]bool{true, true}, output: []int{0, 4}, semiOut: []int{0}, perEpoch: 60},
	{name: "unique, not append-only", left: "int8 int4 int4", right: "int8 int4 int4", lkeys: []int{0}, rkeys: []int{2}, keyed: [2]bool{true, true}, appendOnly: [2]bool{false, true}, unique: [2]bool{true, false}, output: []int{0, 3}, semiOut: []int{0}},
	{name: "one side append-only", left: "int8 int4 int4", right: "int8 int4 int4", lkeys: []int{2}, rkeys: []int{2}, keyed: [2]bool{true, false}, appendOnly: [2]bool{false, true}, output: []int{0, 3, 4}, semiOut: []int{0}},
	{name: "residual that fails", left: "int4 int4 int4", right: "int4 int4 int4", lkeys: []int{2}, rkeys: []int{2}, quotient: true, keyed: [2]bool{true, true}, output: []int{0, 3}, semiOut: []int{0}},
	{name: "multisets with a residual that fails", left: "int4 int4 int4", right: "int4 int4 int4", lkeys: []int{2}, rkeys: []int{2}, quotient: true, output: []int{0, 1, 3, 4}, semiOut: []int{0, 1}},
	{name: "no keys", left: "int8 int4", right: "int8 int4", residual: true, keyed: [2]bool{true, true}, output: []int{0, 1, 2, 3}, semiOut: []int{0}, seeds: 4},
	{name: "long chains", left: "int8 int4 bool", right: "int8 int4 bool", lkeys: []int{2}, rkeys: []int{2}, keyed: [2]bool{true, true}, output: []int{0, 3}, semiOut: []int{0}, seeds: 1, perEpoch: 120},
}

// config makes the configuration of a case and its residual.
func (tc *joinCase) config(t testing.TB, kind JoinKind) (HashJoinConfig, func(l, r []types.Datum) bool) {
	t.Helper()
	l, r := mustTypes(tc.left), mustTypes(tc.right)
	cfg := HashJoinConfig{
		Kind: kind, Left: l, Right: r, LeftKeys: tc.lkeys, RightKeys: tc.rkeys, NullSafe: tc.nullSafe,
		LeftAppendOnly: tc.appendOnly[0], RightAppendOnly: tc.appendOnly[1], LeftUnique: tc.unique[0], RightUnique: tc.unique[1],
		Output: tc.output,
	}
	if kind == Semi || kind == Anti {
		cfg.Output = tc.semiOut
	}
	if tc.keyed[0] {
		cfg.LeftRowKey = []int{0}
	}
	if tc.keyed[1] {
		cfg.RightRowKey = []int{0}
	}
	all := append(append([]types.Type{}, l...), r...)
	if tc.quotient {
		more := callOp(t, append(all, all[1]), ">", len(all), 0).(*scalar.Call)
		more.Args[0] = callOp(t, all, "/", 1, len(l)+1)
		cfg.Residual = more
		return cfg, func(l, r []types.Datum) bool {
			return l[0].Valid && l[1].Valid && r[1].Valid && r[1].I != 0 && !(l[1].I == math.MinInt32 && r[1].I == -1) && l[1].I/r[1].I > l[0].I
		}
	}
	if !tc.residual {
		return cfg, nil
	}
	cfg.Residual = callOp(t, all, "<", 1, len(l)+1)
	return cfg, func(l, r []types.Datum) bool { return l[1].Valid && r[1].Valid && l[1].I < r[1].I }
}

// uniqueRows leaves out insertions that repeat the keys of an earlier row of a side whose rows have different ones. Only
// append-only sides are looked at.
func (tc *joinCase) uniqueRows(cfg HashJoinConfig, epochs [][]testRow) [][]testRow {
	seen := map[string]bool{}
	for e, rows := range epochs {
		kept := rows[:0]
		for _, r := range rows {
			if tc.unique[r.port] && tc.appendOnly[r.port] {
				in, keys := cfg.Left, cfg.LeftKeys
				if r.port == 1 {
					in, keys = cfg.Right, cfg.RightKeys
				}
				id := fmt.Sprint(r.port)
				for _, k := range keys {
					id += " " + vec.FormatDatum(in[k], r.row[k])
				}
				if seen[id] {
					continue
				}
				seen[id] = true
				r.diff = 1
			}
			kept = append(kept, r)
		}
		epochs[e] = kept
	}
	return epochs
}

// TestHashJoinForgetsWhatHasMet counts what is in the state tables of joins in which rows of one side, or of both, are through once they have met
// the only row that they can meet.
func TestHashJoinForgetsWhatHasMet(t *testing.T) {
	for _, tc := range joinCases {
		if tc.unique == [2]bool{} || tc.appendOnly != [2]bool{true, true} {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			cfg, _ := tc.config(t, Inner)
			for seed := range int64(10) {
				g := &gen{r: rand.New(rand.NewSource(seed)), in: [][]types.Type{cfg.Left, cfg.Right}, keyed: tc.keyed[:], appendOnly: tc.appendOnly[:]}
				epochs := tc.uniqueRows(cfg, g.epochs(8, tc.perEpoch))
				// Rows that are kept at the most: of each key all rows of one side only, or the one of the unique side.
				rows := map[string][2]int{}
				for _, r := range slices.Concat(epochs...) {
					in, keys := cfg.Left, cfg.LeftKeys
					if r.port == 1 {
						in, keys = cfg.Right, cfg.RightKeys
					}
					id := ""
					for i, k := range keys {
						if !r.row[k].Valid && (cfg.NullSafe == nil || !cfg.NullSafe[i]) {
							id = "matches nothing"
							break
						}
						id += " " + vec.FormatDatum(in[k], r.row[k])
					}
					n := rows[id]
					n[r.port]++
					rows[id] = n
				}
				limit := 0
				for id, n := range rows {
					switch {
					case id == "matches nothing":
					case n[0] == 0 || n[1] == 0:
						limit += n[0] + n[1]
					case tc.unique != [2]bool{true, true}:
						limit++
					}
				}
				ot := &opTest{in: g.in, make: func() (exec.Operator, error) { return NewHashJoin(cfg) }}
				counted := false
				ot.left = func(n int) {
					if counted = true; n > limit {
						t.Fatalf("seed %d: %d values in the state tables, %d would do", seed, n, limit)
					}
				}
				ot.run(t, runConfig{chunk: 7, parallel: 1, stateful: true, checkpoints: 1}, epochs)
				if !counted {
					t.Fatal("nothing was counted")
				}
			}
		})
	}
}

// TestHashJoinEqualsFromScratch compares random histories with a join by nested loops at the end.
func TestHashJoinEqualsFromScratch(t *testing.T) {
	for _, tc := range joinCases {
		for kind := Inner; kind <= Anti; kind++ {
			t.Run(fmt.Sprintf("%s/%d", tc.name, kind), func(t *testing.T) {
				cfg, residual := tc.config(t, kind)
				ot := &opTest{in: [][]types.Type{cfg.Left, cfg.Right}}
				if len(tc.lkeys) > 0 {
					cfg.LeftDist, cfg.RightDist = tc.lkeys[:1], tc.rkeys[:1]
					ot.dist = [][]int{cfg.LeftDist, cfg.RightDist}
				}
				ot.make = func() (exec.Operator, error) { return NewHashJoin(cfg) }
				seeds, per := int64(4), 16
				if tc.seeds > 0 {
					seeds = int64(tc.seeds)
				}
				if tc.perEpoch > 0 {
					per = tc.perEpoch
				}
				for seed := range seeds {
					g := &gen{r: rand.New(rand.NewSource(seed)), in: ot.in, keyed: tc.keyed[:], appendOnly: tc.appendOnly[:]}
					g.invert = seed%3 == 2
					epochs := tc.uniqueRows(cfg, g.epochs(8, per))
					ot.check(t, seed, epochs, func(p [][][]types.Datum) [][]types.Datum { return naiveJoin(cfg, p[0], p[1], residual) }, nil)
				}
			})
		}
	}
}

// TestBatchJoinEqualsFromScratch feeds the right side first; nothing may be taken back.
func TestBatchJoinEqualsFromScratch(t *testing.T) {
	for _, tc := range joinCases {
		for kind := Inner; kind <= Anti; kind++ {
			t.Run(fmt.Sprintf("%s/%d", tc.name, kind), func(t *testing.T) {
				cfg, residual := tc.config(t, kind)
				cfg.BuildRight = true
				ot := &opTest{in: [][]types.Type{cfg.Left, cfg.Right}, make: func() (exec.Operator, error) { return NewHashJoin(cfg) }}
				for seed := range int64(3) {
					g := &gen{r: rand.New(rand.NewSource(seed)), in: ot.in, keyed: tc.keyed[:], appendOnly: []bool{true, true}}
					var rows []testRow
					var ports [2][][]types.Datum
					for port := 1; port >= 0; port-- {
						for range 60 {
							rows = append(rows, testRow{port, g.row(port), 1})
						}
					}
					rows = tc.uniqueRows(cfg, [][]testRow{rows})[0]
					for _, r := range rows {
						ports[r.port] = append(ports[r.port], r.row)
					}
					want := formatRows(nil, nil, nil)
					for _, chunk := range []int{1, 1024} {
						got, text := ot.run(t, runConfig{chunk: chunk, parallel: 1}, [][]testRow{rows})
						o, err := ot.make()
						if err != nil {
							t.Fatal(err)
						}
						want = formatRows(o.Schema(), naiveJoin(cfg, ports[0], ports[1], residual), nil)
						if f := formatRows(o.Schema(), got, nil); f != want {
							t.Fatalf("seed %d, chunk %d: got\n%s\nwant\n%s", seed, chunk, f, want)
						}
						if strings.Contains(text, "\n-") || strings.HasPrefix(text, "-") {
							t.Fatalf("a batch join took rows back:\n%s", text)
						}
					}
				}
			})
		}
	}
}
