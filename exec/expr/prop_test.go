package expr

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// randomChunk makes n rows of values of the pool with NULLs of its own.
func randomChunk(t *testing.T, r *rand.Rand, n int) *vec.Chunk {
	src := genChunk(t, &types.Env{}, 1)
	out := vec.NewChunk(src.Types(), n)
	row := make([]types.Datum, len(src.Cols))
	for range n {
		for j, c := range src.Cols {
			row[j] = c.Datum(r.IntN(genRows))
			if r.IntN(8) == 0 {
				row[j] = types.Null
			}
		}
		out.AppendRow(row, 1)
	}
	return out
}

// generatedExprs gives every step-th expression of the file.
func generatedExprs(t *testing.T, step int) []string {
	data, err := os.ReadFile(genFile)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	lines := strings.Split(string(data), "\n")
	for i := 0; i+1 < len(lines); i += 2 * step {
		out = append(out, lines[i])
	}
	return out
}

func compileText(t *testing.T, text string, env *exec.Env) *Evaluator {
	e, err := bindSQL(text, genRelation(), env)
	if err != nil {
		return nil
	}
	ev, err := Compile(e, env)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return ev
}

// A chunk of any size gives what its rows give one by one, and so does a filter with any selection.
func TestChunksEqualRows(t *testing.T) {
	env := testEnv()
	const seed = 20240229
	r := rand.New(rand.NewPCG(seed, 0))
	sizes := []int{1, 2, 63, 64, 65, 130, 1100}
	for k, text := range generatedExprs(t, 3) {
		ev := compileText(t, text, env)
		if ev == nil {
			continue
		}
		n := sizes[k%6]
		if k%40 == 0 {
			n = sizes[6]
		}
		in := randomChunk(t, r, n)
		reported := 0
		ctx := &EvalContext{RowError: func(*vec.Chunk, int, error) error { reported++; return nil }}
		got, err := ev.Eval(ctx, in)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got = got.Clone()
		want := vec.NewVector(ev.Type(), n)
		failed := 0
		for i := range n {
			d, err := ev.EvalRow(nil, in.Row(i, nil))
			if err != nil {
				failed++
				d = types.Null
			}
			want.AppendDatum(d)
			if !vec.SameDatum(ev.Type(), got.Datum(i), d) {
				t.Fatalf("%s: row %d of %d is %v in the chunk and %v alone", text, i, n, got.Datum(i), d)
			}
		}
		if reported != failed {
			t.Fatalf("%s: %d failures were reported, %d rows fail", text, reported, failed)
		}
		if ev.Type().Kind != types.Bool {
			continue
		}
		var sel, expect []int32
		for i := range n {
			if r.IntN(3) > 0 {
				sel = append(sel, int32(i))
				if want.Datum(i).Bool() {
					expect = append(expect, int32(i))
				}
			}
		}
		if sel == nil {
			continue
		}
		rows, err := ev.EvalFilter(ctx, in, sel, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		// A filter need not look at what cannot become true, so it may keep no less, but not more.
		if !slices.Equal(rows, expect) {
			t.Fatalf("%s: the filter gives %v of %v, not %v", text, rows, sel, expect)
		}
	}
}

// A strict function is NULL, and does not fail, if any argument is NULL.
func TestStrictNulls(t *testing.T) {
	env := testEnv()
	for _, f := range fn.Default().All() {
		if kernels()[f.ID] == nil || !f.Strict || len(f.Args) == 0 {
			continue
		}
		args := make([]scalar.Expr, len(f.Args))
		row := make([]types.Datum, len(f.Args))
		for i, a := range f.Args {
			switch a.Kind {
			case types.AnyElement, types.Any:
				a = types.T(types.Int4)
			case types.AnyArray:
				a = types.ArrayOf(types.Int4)
			}
			args[i] = &scalar.Column{Node: scalar.Node{T: a}, Index: i}
			if vals := poolOf(a.Kind); vals != nil {
				v := vals[0]
				if v == "NULL" {
					v = vals[1]
				}
				d, err := types.ParseText(a, v, nil)
				if err != nil {
					t.Fatal(err)
				}
				row[i] = d
			}
		}
		ret := f.Ret
		if ret.Kind == types.AnyElement {
			ret = types.T(types.Int4)
		} else if ret.Kind == types.AnyArray {
			ret = types.ArrayOf(types.Int4)
		}
		ev, err := Compile(&scalar.Call{Node: scalar.Node{T: ret}, Fn: f, Args: args}, env)
		if err != nil {
			t.Errorf("%s: %v", f.ID, err)
			continue
		}
		for i := range args {
			r := slices.Clone(row)
			r[i] = types.Null
			if d, err := ev.EvalRow(nil, r); err != nil || d.Valid {
				t.Errorf("%s with argument %d NULL gives %v, %v", f.ID, i+1, d, err)
			}
		}
	}
}

// What need not be evaluated is not, row by row.
func TestLazy(t *testing.T) {
	env := testEnv()
	in := randomChunk(t, rand.New(rand.NewPCG(1, 1)), 300)
	for _, text := range []string{
		"CASE WHEN c_int4 = 0 THEN 0 WHEN c_int4 IS NULL THEN -1 ELSE 100 / c_int4 END",
		"c_int4 <> 0 AND 100 / c_int4 > 3",
		"c_int4 = 0 OR 100 / c_int4 > 3",
		"COALESCE(NULLIF(c_int4, 0), 1 / (c_int4 + 1))",
		"c_int4 IN (0, 100 / NULLIF(c_int4, 0))",
		"CASE WHEN c_int4 <> 0 THEN CASE WHEN 10 / c_int4 > 0 THEN 1 / c_int4 ELSE 2 END ELSE 3 END",
	} {
		ev := compileText(t, text, env)
		if !ev.CanFail() {
			t.Errorf("%s: should be able to fail", text)
		}
		if _, err := ev.Eval(nil, in); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if ev.Type().Kind == types.Bool {
			if _, err := ev.EvalFilter(nil, in, nil, nil); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// RowError decides whether a failing row ends the evaluation; a row is reported once, and its result
// is NULL whatever the rest of the expression makes of it.
func TestRowError(t *testing.T) {
	env := testEnv()
	in := vec.NewChunk([]types.Type{types.T(types.Int4)}, 4)
	for _, x := range []int64{1, 0, 2, 0} {
		in.AppendRow([]types.Datum{types.DInt(x)}, 1)
	}
	x := &scalar.Column{Node: scalar.Node{T: types.T(types.Int4)}}
	div := &scalar.Call{
		Node: scalar.Node{T: types.T(types.Int4)}, Fn: fn.Default().ByID("/(int4,int4)"),
		Args: []scalar.Expr{&scalar.Const{Node: scalar.Node{T: types.T(types.Int4)}, Val: types.DInt(6)}, x},
	}
	sum := &scalar.Call{Node: scalar.Node{T: types.T(types.Int4)}, Fn: fn.Default().ByID("+(int4,int4)"), Args: []scalar.Expr{div, div}}
	ev, err := Compile(&scalar.IsNull{Node: scalar.Node{T: types.T(types.Bool)}, X: sum}, env)
	if err != nil {
		t.Fatal(err)
	}
	reports := 0
	v, err := ev.Eval(&EvalContext{RowError: func(*vec.Chunk, int, error) error { reports++; return nil }}, in)
	if err != nil || reports != 2 {
		t.Fatalf("%v, %d reports", err, reports)
	}
	for i, null := range []bool{false, true, false, true} {
		if v.IsNull(i) != null {
			t.Errorf("row %d: %v", i, v.Datum(i))
		}
	}
	rows, err := ev.EvalFilter(&EvalContext{RowError: func(*vec.Chunk, int, error) error { return nil }}, in, nil, nil)
	if err != nil || len(rows) != 0 {
		t.Errorf("%v %v", rows, err)
	}
	stop := errors.New("stop")
	if _, err := ev.Eval(&EvalContext{RowError: func(*vec.Chunk, int, error) error { return stop }}, in); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if _, err := ev.Eval(nil, in); err == nil {
		t.Error("no error without RowError")
	}
}

// The functions of package fn's Extend come with their implementation.
func TestImpl(t *testing.T) {
	fs := fn.Define(fn.Scalar, "twice(int4) int4")
	fs[0].Impl = func(a []types.Datum) (types.Datum, error) { return types.DInt(2 * a[0].I), nil }
	d, err := FoldConst(&scalar.Call{
		Node: scalar.Node{T: types.T(types.Int4)}, Fn: fs[0],
		Args: []scalar.Expr{&scalar.Const{Node: scalar.Node{T: types.T(types.Int4)}, Val: types.DInt(21)}},
	}, testEnv())
	if err != nil || d.I != 42 {
		t.Errorf("%v %v", d, err)
	}
}
