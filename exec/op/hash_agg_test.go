package op

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"strings"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// aggCall is an aggregate call for tests: "sum(2)", "count(distinct 2) filter 4".
func aggCall(t testing.TB, in []types.Type, s string) Agg {
	t.Helper()
	g := Agg{Filter: -1}
	head, rest, _ := strings.Cut(s, " filter ")
	if rest != "" {
		fmt.Sscan(rest, &g.Filter)
	}
	name, arg, _ := strings.Cut(strings.TrimSuffix(head, ")"), "(")
	arg, g.Distinct = strings.CutPrefix(arg, "distinct ")
	if !g.Distinct {
		arg = strings.TrimPrefix(arg, "distinct ")
	}
	arg, order, _ := strings.Cut(arg, " order ")
	for _, o := range strings.Fields(order) {
		o, desc := strings.CutPrefix(o, "-")
		var c int
		fmt.Sscan(o, &c)
		g.OrderBy = append(g.OrderBy, SortKey{Col: c, Desc: desc, NullsFirst: desc})
	}
	if arg != "*" && arg != "" {
		for _, a := range strings.Split(arg, ",") {
			var c int
			fmt.Sscan(a, &c)
			g.Args = append(g.Args, c)
		}
	}
	for _, f := range fn.Default().All() {
		if f.Kind != fn.Aggregate || f.Name != name || !f.Hypothetical && len(f.Args) != len(g.Args) {
			continue
		}
		ok := true
		for i, c := range g.Args {
			k := f.Args[min(i, len(f.Args)-1)].Kind
			ok = ok && (k == in[c].Kind && f.Args[min(i, len(f.Args)-1)].Elem == in[c].Elem || k == types.Any || k == types.AnyElement)
		}
		if ok {
			g.Fn = f
		}
	}
	if g.Fn == nil {
		t.Fatalf("no function %s", s)
	}
	g.Type = g.Fn.Ret
	if g.Type.Kind == types.AnyArray {
		g.Type = types.ArrayOf(in[g.Args[len(g.Args)-1]].Kind)
	}
	if g.Type.Kind == types.AnyElement {
		g.Type = in[g.Args[0]]
	}
	return g
}

// naiveAgg computes an aggregate over the rows of a group.
func naiveAgg(in []types.Type, g Agg, rows [][]types.Datum) types.Datum {
	var vals []types.Datum
	seen := map[string]bool{}
	n := int64(0)
	for _, row := range rows {
		if g.Filter >= 0 && !row[g.Filter].Bool() {
			continue
		}
		n++
		if len(g.Args) == 0 {
			continue
		}
		d := row[g.Args[0]]
		if !d.Valid {
			continue
		}
		if g.Distinct {
			key := vec.FormatDatum(in[g.Args[0]], normalDatum(in[g.Args[0]], d))
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		vals = append(vals, d)
	}
	if g.Fn.Name == "count" {
		if len(g.Args) > 0 {
			n = int64(len(vals))
		}
		return types.DInt(n)
	}
	if len(vals) == 0 {
		return types.Null
	}
	t := in[g.Args[0]]
	switch g.Fn.Name {
	case "min", "max":
		best := vals[0]
		for _, v := range vals[1:] {
			if c := compareTotal(t, v, best); c < 0 && g.Fn.Name == "min" || c > 0 && g.Fn.Name == "max" {
				best = v
			}
		}
		return best
	case "bool_and", "bool_or":
		and, or := true, false
		for _, v := range vals {
			and, or = and && v.Bool(), or || v.Bool()
		}
		return types.DBool(g.Fn.Name == "bool_and" && and || g.Fn.Name == "bool_or" && or)
	}
	switch g.Fn.Name {
	case "bit_and", "bit_or", "bit_xor":
		x := vals[0].I
		for _, v := range vals[1:] {
			switch g.Fn.Name {
			case "bit_and":
				x &= v.I
			case "bit_or":
				x |= v.I
			default:
				x ^= v.I
			}
		}
		return types.DInt(x)
	case "variance", "var_pop", "stddev":
		return naiveVariance(t, g.Fn.Name, vals)
	}
	avg := g.Fn.Name == "avg"
	switch t.Phys() {
	case types.PhysFloat:
		sum := new(big.Float).SetPrec(3000)
		nan, inf, ninf, negZero := false, false, false, true
		for _, v := range vals {
			switch {
			case v.F != v.F:
				nan = true
			case math.IsInf(v.F, 1):
				inf = true
			case math.IsInf(v.F, -1):
				ninf = true
			default:
				sum.Add(sum, big.NewFloat(v.F))
				negZero = negZero && v.F == 0 && math.Signbit(v.F)
			}
		}
		f, _ := sum.Float64()
		switch {
		case nan || inf && ninf:
			f = math.NaN()
		case inf:
			f = math.Inf(1)
		case ninf:
			f = math.Inf(-1)
		case f == 0 && negZero:
			f = math.Copysign(0, -1)
		}
		if avg {
			f /= float64(len(vals))
		}
		return types.DFloat(f)
	case types.PhysInterval:
		var s types.Span
		for _, v := range vals {
			s.Months += v.Span.Months
			s.Days += v.Span.Days
			s.Micros += v.Span.Micros
		}
		return types.DSpan(s)
	}
	sum := types.NewDecimal(0, 0)
	for _, v := range vals {
		if t.Kind == types.Numeric {
			sum = sum.Add(v.Dec)
		} else {
			sum = sum.Add(types.NewDecimal(v.I, 0))
		}
	}
	if avg {
		d, err := sum.Div(types.NewDecimal(int64(len(vals)), 0))
		if err != nil {
			panic(err)
		}
		return types.DDec(d)
	}
	if t.Kind == types.Int4 {
		i, err := sum.Int64(types.Int8)
		if err != nil {
			panic(err)
		}
		return types.DInt(i)
	}
	return types.DDec(sum)
}

// naiveVariance is the textbook formula in rationals; -1 stands for a float result that is not finite.
func naiveVariance(t types.Type, name string, vals []types.Datum) types.Datum {
	n := int64(len(vals))
	if n < 2 && name != "var_pop" {
		return types.Null
	}
	sum, squares := new(big.Rat), new(big.Rat)
	for _, v := range vals {
		x := new(big.Rat)
		switch t.Phys() {
		case types.PhysFloat:
			if v.F != v.F || math.IsInf(v.F, 0) {
				return types.DFloat(math.NaN())
			}
			x.SetFloat64(v.F)
		case types.PhysInt:
			x.SetInt64(v.I)
		}
		sum.Add(sum, x)
		squares.Add(squares, x.Mul(x, x))
	}
	below := n
	if name != "var_pop" {
		below--
	}
	squares.Mul(squares, big.NewRat(n, 1))
	squares.Sub(squares, sum.Mul(sum, sum))
	if t.Phys() == types.PhysFloat {
		squares.Quo(squares, big.NewRat(n*below, 1))
		f := new(big.Float).SetPrec(400).SetRat(squares)
		if name == "stddev" {
			f.Sqrt(f)
		}
		x, _ := f.Float64()
		if math.IsInf(x, 0) {
			return types.Null // an error, which becomes NULL
		}
		return types.DFloat(x)
	}
	if squares.Sign() == 0 {
		return types.DDec(types.NewDecimal(0, 0))
	}
	num, err := types.ParseDecimal(squares.Num().String())
	if err != nil {
		panic(err)
	}
	d, err := num.Div(types.NewDecimal(n*below, 0))
	if err != nil {
		panic(err)
	}
	return types.DDec(d)
}

func naiveGroups(in []types.Type, keys []int, rows [][]types.Datum) [][][]types.Datum {
	var groups [][][]types.Datum
	index := map[string]int{}
	for _, row := range rows {
		k := ""
		for _, c := range keys {
			k += vec.FormatDatum(in[c], canonicalForTest(in[c], row[c])) + "|"
		}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], row)
	}
	return groups
}

func canonicalForTest(t types.Type, d types.Datum) types.Datum {
	if d.Valid && t.Kind == types.Char {
		d.S = strings.TrimRight(d.S, " ")
	}
	if d.Valid && t.Kind == types.Jsonb {
		d.S = strings.NewReplacer("1.00", "1", "[1.0,", "[1,").Replace(d.S)
		if d.S == "1.0" {
			d.S = "1"
		}
	}
	return normalDatum(t, d)
}

func naiveHashAgg(cfg HashAggConfig, rows [][]types.Datum) [][]types.Datum {
	var out [][]types.Datum
	groups := naiveGroups(cfg.In, cfg.Keys, rows)
	if len(groups) == 0 && len(cfg.Keys) == 0 {
		groups = append(groups, nil)
	}
	for _, g := range groups {
		var row []types.Datum
		for _, k := range cfg.Keys {
			row = append(row, canonicalForTest(cfg.In[k], g[0][k]))
		}
		for _, a := range cfg.Aggs {
			row = append(row, naiveAgg(cfg.In, a, g))
		}
		out = append(out, row)
	}
	return out
}

var aggCases = []struct {
	name, in   string
	keys       []int
	aggs       []string
	appendOnly bool
}{
	{"int key", "int8 int4 int8 bool", []int{0}, []string{"count(*)", "count(1)", "sum(1)", "sum(2)", "avg(1)", "avg(2)", "min(2)", "max(1)", "bool_and(3)", "bool_or(3)"}, false},
	{"two int keys", "int8 int4 int8", []int{0, 1}, []string{"count(*)", "max(2)"}, false},
	{"text key", "text int4 text", []int{0}, []string{"count(*)", "sum(1)", "min(2)", "max(2)"}, false},
	{"odd keys", "float8 numeric interval bpchar", []int{0, 1, 2, 3}, []string{"count(*)"}, false},
	{"jsonb key", "jsonb int4", []int{0}, []string{"count(*)", "sum(1)"}, false},
	{"global", "int4 float8", nil, []string{"count(*)", "sum(0)", "sum(1)", "max(1)"}, false},
	{"distinct rows", "int4 text", []int{0, 1}, nil, false},
	{"floats", "int4 float8", []int{0}, []string{"sum(1)", "avg(1)", "min(1)", "max(1)"}, false},
	{"numerics", "int4 numeric", []int{0}, []string{"sum(1)", "avg(1)", "min(1)", "max(1)"}, false},
	{"intervals", "int4 interval", []int{0}, []string{"sum(1)", "min(1)", "max(1)"}, false},
	{"filters", "int4 int4 bool bool", []int{0}, []string{"count(*) filter 2", "sum(1) filter 3", "max(1) filter 2", "count(*)"}, false},
	{"distinct aggregates", "int4 int4 bool float8 text", []int{0}, []string{"count(distinct 1)", "count(distinct 1) filter 2", "sum(distinct 1)", "count(distinct 3)", "count(distinct 4) filter 2", "count(distinct 4)"}, false},
	{"bits", "int4 int8", []int{0}, []string{"bit_and(1)", "bit_or(1)", "bit_xor(1)"}, false},
	{"variances", "int4 int4 float8", []int{0}, []string{"variance(1)", "var_pop(1)", "variance(2)", "stddev(2)"}, false},
	{"append-only", "int4 int8 float8 numeric text", []int{0}, []string{"count(*)", "max(1)", "min(1)", "sum(1)", "min(2)", "max(2)", "max(3)", "min(4)", "max(4)"}, true},
}

// TestHashAggEqualsFromScratch compares random histories with the aggregate computed at the end.
func TestHashAggEqualsFromScratch(t *testing.T) {
	for _, tc := range aggCases {
		t.Run(tc.name, func(t *testing.T) {
			in := mustTypes(tc.in)
			cfg := HashAggConfig{In: in, Keys: tc.keys, AppendOnlyIn: tc.appendOnly, Dist: tc.keys[:min(1, len(tc.keys))]}
			for _, a := range tc.aggs {
				cfg.Aggs = append(cfg.Aggs, aggCall(t, in, a))
			}
			ot := &opTest{in: [][]types.Type{in}, make: func() (exec.Operator, error) { return NewHashAgg(cfg) }}
			if len(tc.keys) > 0 {
				ot.dist = [][]int{cfg.Dist}
			}
			normal := make([]int, len(tc.keys))
			for i := range normal {
				normal[i] = i
			}
			for seed := range int64(8) {
				g := &gen{r: rand.New(rand.NewSource(seed)), in: ot.in, keyed: []bool{false}, appendOnly: []bool{tc.appendOnly}}
				epochs := g.epochs(8, 20)
				want := func(ports [][][]types.Datum) [][]types.Datum { return naiveHashAgg(cfg, ports[0]) }
				ot.check(t, seed, epochs, want, normal)
			}
		})
	}
}

// sameAggCases are compared with themselves: a history must give what the rows that are left give at once, in any
// order. What the right result is, the scripts of package test/sql say.
var sameAggCases = []struct {
	name, in   string
	keys       []int
	aggs       []string
	appendOnly bool
}{
	{"percentiles", "int4 float8 float8 numeric", []int{0, 1}, []string{"percentile_cont(1,2 order 2)", "percentile_disc(1,2 order -2)", "percentile_disc(1,3 order 3)"}, false},
	{"interval percentiles", "float8 interval", []int{0}, []string{"percentile_cont(0,1 order 1)", "percentile_disc(0,1 order 1)"}, false},
	{"modes", "int4 int4 float8 numeric text bool", []int{0}, []string{"mode(1 order 1)", "mode(2 order -2)", "mode(3 order 3)", "mode(4 order 4)", "mode(5 order 5)", "mode(3 order 3) filter 5"}, false},
	{"hypothetical", "int4 int4 numeric numeric", []int{0, 2}, []string{"rank(2,3 order 3)", "dense_rank(2,3 order -3)", "percent_rank(2,3 order 3)", "cume_dist(0,2,1,3 order 1 -3)"}, false},
	{"regression", "int4 float8 float8 bool", []int{0}, []string{"corr(1,2)", "covar_pop(1,2)", "covar_samp(1,2)", "regr_avgx(1,2)", "regr_avgy(1,2)", "regr_count(1,2)", "regr_intercept(1,2)", "regr_r2(1,2)", "regr_slope(1,2)", "regr_sxx(1,2)", "regr_sxy(1,2)", "regr_syy(1,2)", "corr(distinct 1,2) filter 3"}, false},
	{"picks", "int4 text int4 numeric bool", []int{0}, []string{"min_by(1,2)", "max_by(3,1)", "first_value(1 order -2)", "last_value(3 order 1 2)", "any_value(3)", "max_by(distinct 1,2)", "min_by(1,3) filter 4"}, false},
	{"picks, append-only", "int4 text int4 numeric bool", []int{0}, []string{"min_by(1,2)", "max_by(3,1)", "first_value(1 order -2)", "last_value(3 order 1 2)", "any_value(3)", "min_by(1,3) filter 4"}, true},
	{"sketches", "int4 float8 float8", []int{0, 1}, []string{"approx_percentile(1,2 order 2)", "approx_percentile(1,1,2 order -2)"}, false},
	{"lists", "int4 text numeric jsonb", []int{0}, []string{"string_agg(1,1 order 2)", "array_agg(2 order -2)", "jsonb_agg(3)", "jsonb_object_agg(1,2 order 2)"}, false},
}

// TestHashAggForgetsWhatWent compares random histories with what is left of them.
func TestHashAggForgetsWhatWent(t *testing.T) {
	for _, tc := range sameAggCases {
		t.Run(tc.name, func(t *testing.T) {
			in := mustTypes(tc.in)
			cfg := HashAggConfig{In: in, Keys: tc.keys, AppendOnlyIn: tc.appendOnly, Dist: tc.keys[:min(1, len(tc.keys))]}
			for _, a := range tc.aggs {
				cfg.Aggs = append(cfg.Aggs, aggCall(t, in, a))
			}
			ot := &opTest{in: [][]types.Type{in}, make: func() (exec.Operator, error) { return NewHashAgg(cfg) }}
			if len(tc.keys) > 0 {
				ot.dist = [][]int{cfg.Dist}
			}
			normal := make([]int, len(tc.keys))
			for i := range normal {
				normal[i] = i
			}
			for seed := range int64(3) {
				g := &gen{r: rand.New(rand.NewSource(seed)), in: ot.in, keyed: []bool{false}, appendOnly: []bool{tc.appendOnly}}
				epochs := g.epochs(8, 20)
				want := func(ports [][][]types.Datum) [][]types.Datum {
					var rows []testRow
					for _, i := range g.r.Perm(len(ports[0])) {
						rows = append(rows, testRow{row: ports[0][i], diff: 1})
					}
					out, _ := ot.run(t, runConfigs(false)[0], [][]testRow{rows})
					return out
				}
				ot.check(t, seed, epochs, want, normal)
			}
		})
	}
}
