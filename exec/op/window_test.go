package op

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// windowCall reads "sum(1) filter 4 rows 2p cr exclude ties": a function with columns, or constants "=2", as
// arguments; the ends of the frame are up and uf (unbounded preceding, following), cr, and offsets such as 2p and 1f.
func windowCall(t testing.TB, in []types.Type, order []SortKey, s string) WindowCall {
	t.Helper()
	c := WindowCall{Filter: -1, Frame: Frame{Unit: FrameRange, End: FrameBound{Kind: CurrentRow}}}
	name, rest, _ := strings.Cut(strings.TrimSpace(s), "(")
	args, rest, _ := strings.Cut(rest, ")")
	for _, a := range strings.Split(args, ",") {
		a = strings.TrimSpace(a)
		k, err := strconv.Atoi(strings.TrimPrefix(a, "="))
		switch {
		case a == "" || a == "*":
			continue
		case strings.HasPrefix(a, "="):
			c.Args, c.Consts = append(c.Args, -1), append(c.Consts, types.Null)
			if err == nil {
				c.Consts[len(c.Consts)-1] = types.DInt(int64(k))
			}
		default:
			c.Args, c.Consts = append(c.Args, k), append(c.Consts, types.Null)
		}
	}
	if winFuncs[name] == winAggregate {
		text := name + "(" + args + ")"
		g := aggCall(t, in, text)
		c.Fn, c.Type = g.Fn, g.Type
	} else {
		for _, f := range fn.Default().All() {
			if f.Kind == fn.Window && f.Name == name && len(f.Args) == len(c.Args) {
				c.Fn, c.Type = f, f.Ret
			}
		}
		if c.Type.Kind.IsPseudo() {
			c.Type = in[c.Args[0]]
		}
	}
	words := strings.Fields(rest)
	for len(words) > 0 {
		switch words[0] {
		case "filter":
			c.Filter, _ = strconv.Atoi(words[1])
			words = words[2:]
		case "rows", "range", "groups":
			c.Frame.Unit = FrameUnit(slices.Index([]string{"rows", "range", "groups"}, words[0]))
			c.Frame.Start, c.Frame.End = frameBound(t, in, order, c.Frame.Unit, words[1]), frameBound(t, in, order, c.Frame.Unit, words[2])
			words = words[3:]
		case "exclude":
			c.Frame.Exclude = FrameExclude(1 + slices.Index([]string{"current", "group", "ties"}, words[1]))
			words = words[2:]
		default:
			t.Fatalf("window call %q: %v", s, words)
		}
	}
	return c
}

func frameBound(t testing.TB, in []types.Type, order []SortKey, unit FrameUnit, s string) FrameBound {
	switch s {
	case "up":
		return FrameBound{Kind: UnboundedPreceding}
	case "uf":
		return FrameBound{Kind: UnboundedFollowing}
	case "cr":
		return FrameBound{Kind: CurrentRow}
	}
	b := FrameBound{Kind: OffsetPreceding, OffsetType: types.T(types.Int8)}
	if strings.HasSuffix(s, "f") {
		b.Kind = OffsetFollowing
	}
	if unit == FrameRange {
		switch in[order[0].Col].Kind {
		case types.Float8, types.Numeric:
			b.OffsetType = in[order[0].Col]
		case types.Timestamp, types.Date, types.Interval:
			b.OffsetType = types.T(types.Interval)
		}
	}
	text := s[:len(s)-1]
	if b.OffsetType.Kind == types.Interval {
		text += " hours"
	}
	var err error
	if b.Offset, err = types.ParseText(b.OffsetType, text, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// naiveWindow works out everything by the definitions.
func naiveWindow(cfg WindowConfig, rows [][]types.Datum) [][]types.Datum {
	var out [][]types.Datum
	order := slices.Clone(cfg.OrderBy)
	ident := cfg.RowKey
	if ident == nil {
		for i := range cfg.In {
			ident = append(ident, i)
		}
	}
	for _, c := range ident {
		if !slices.ContainsFunc(order, func(k SortKey) bool { return k.Col == c }) {
			order = append(order, SortKey{Col: c})
		}
	}
	by := func(a, b []types.Datum, keys []SortKey) int {
		c := vec.NewChunk(cfg.In, 2)
		c.AppendRow(a, 1)
		c.AppendRow(b, 1)
		return vec.CompareRows(c.Cols, 0, c.Cols, 1, keys)
	}
	for _, g := range naiveGroups(cfg.In, cfg.PartitionBy, rows) {
		slices.SortStableFunc(g, func(a, b []types.Datum) int {
			if c := by(a, b, order); c != 0 {
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
		group := make([]int, len(g)) // number of the group of peers
		for i := 1; i < len(g); i++ {
			group[i] = group[i-1]
			if by(g[i-1], g[i], cfg.OrderBy) != 0 {
				group[i]++
			}
		}
		for i := range g {
			row := slices.Clone(g[i])
			for _, c := range cfg.Calls {
				row = append(row, naiveCall(cfg, c, g, group, i))
			}
			out = append(out, row)
		}
	}
	return out
}

// naiveFrame lists the rows of the frame of row i of g.
func naiveFrame(cfg WindowConfig, f Frame, g [][]types.Datum, group []int, i int) []int {
	var out []int
	for j := range g {
		in := true
		for end, b := range []FrameBound{f.Start, f.End} {
			var d int // where j is, from the bound
			switch b.Kind {
			case UnboundedPreceding, UnboundedFollowing:
				continue
			case CurrentRow:
				if f.Unit == FrameRows {
					d = j - i
				} else {
					d = group[j] - group[i]
				}
			default:
				k := int(b.Offset.I)
				if b.Kind == OffsetPreceding {
					k = -k
				}
				switch f.Unit {
				case FrameRows:
					d = j - i - k
				case FrameGroups:
					d = group[j] - group[i] - k
				default:
					d = naiveRange(cfg, b, g[j], g[i], end == 1)
				}
			}
			in = in && (end == 0 && d >= 0 || end == 1 && d <= 0)
		}
		switch f.Exclude {
		case ExcludeCurrentRow:
			in = in && j != i
		case ExcludeGroup:
			in = in && group[j] != group[i]
		case ExcludeTies:
			in = in && (j == i || group[j] != group[i])
		}
		if in {
			out = append(out, j)
		}
	}
	return out
}

// naiveRange tells on which side of the bound of cur's frame the row x is.
func naiveRange(cfg WindowConfig, b FrameBound, x, cur []types.Datum, end bool) int {
	k := cfg.OrderBy[0]
	v, c := x[k.Col], cur[k.Col]
	if !v.Valid || !c.Valid {
		switch {
		case v.Valid == c.Valid:
			return 0
		case v.Valid == k.NullsFirst:
			return 1
		}
		return -1
	}
	sub := b.Kind == OffsetPreceding
	if k.Desc {
		sub = !sub
	}
	less := end != k.Desc
	in, err := types.InRange(cfg.In[k.Col], v, c, b.Offset, sub, less, time.UTC)
	if err != nil {
		panic(err)
	}
	switch {
	case in:
		return 0
	case end:
		return 1
	}
	return -1
}

func naiveCall(cfg WindowConfig, c WindowCall, g [][]types.Datum, group []int, i int) types.Datum {
	n := len(g)
	arg := func(k, row int) types.Datum {
		if c.Args[k] < 0 {
			return c.Consts[k]
		}
		return g[row][c.Args[k]]
	}
	first := slices.Index(group, group[i])
	switch c.Fn.Name {
	case "row_number":
		return types.DInt(int64(i) + 1)
	case "rank":
		return types.DInt(int64(first) + 1)
	case "dense_rank":
		return types.DInt(int64(group[i]) + 1)
	case "percent_rank":
		if n == 1 {
			return types.DFloat(0)
		}
		return types.DFloat(float64(first) / float64(n-1))
	case "cume_dist":
		k := i
		for k < n && group[k] == group[i] {
			k++
		}
		return types.DFloat(float64(k) / float64(n))
	case "ntile":
		from := slices.IndexFunc(g, func(r []types.Datum) bool {
			return c.Args[0] < 0 && c.Consts[0].Valid || c.Args[0] >= 0 && r[c.Args[0]].Valid
		})
		if from < 0 || i < from || arg(0, from).I <= 0 {
			return types.Null
		}
		b, k, tile := int(arg(0, from).I), i-from, 1
		for size := n / b; ; tile++ {
			s := size
			if tile <= n%b || size == 0 {
				s++
			}
			if k < s {
				return types.DInt(int64(tile))
			}
			k -= s
		}
	case "lag", "lead":
		by := types.DInt(1)
		if len(c.Args) > 1 {
			by = arg(1, i)
		}
		if !by.Valid {
			return types.Null
		}
		k := int64(i) + by.I
		if c.Fn.Name == "lag" {
			k = int64(i) - by.I
		}
		if k >= 0 && k < int64(n) {
			return arg(0, int(k))
		}
		if len(c.Args) > 2 {
			return arg(2, i)
		}
		return types.Null
	}
	frame := naiveFrame(cfg, c.Frame, g, group, i)
	switch c.Fn.Name {
	case "first_value", "last_value", "nth_value":
		k := 0
		switch c.Fn.Name {
		case "last_value":
			k = len(frame) - 1
		case "nth_value":
			d := arg(1, i)
			if !d.Valid || d.I <= 0 {
				return types.Null
			}
			k = int(d.I) - 1
		}
		if k < 0 || k >= len(frame) {
			return types.Null
		}
		return arg(0, frame[k])
	}
	var rows [][]types.Datum
	for _, j := range frame {
		rows = append(rows, g[j])
	}
	if c.Fn.Name == "array_agg" {
		var vs []types.Datum
		for _, r := range rows {
			if c.Filter < 0 || r[c.Filter].Bool() {
				vs = append(vs, r[c.Args[0]])
			}
		}
		if vs == nil {
			return types.Null
		}
		return types.DStr(types.MakeArray(cfg.In[c.Args[0]].Kind, vs))
	}
	return naiveAgg(cfg.In, Agg{Fn: c.Fn, Args: c.Args, Filter: c.Filter, Type: c.Type}, rows)
}

// The columns of the rows of TestWindowEqualsFromScratch: id, partition, order, value, condition.
var windowFunctions = []string{
	"row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(=3)", "ntile(=2)", "ntile(1)", "ntile(=)",
	"lag(3)", "lag(3,=2)", "lead(3,=1,3)", "lag(0,=-1)", "lead(0,1)", "lag(3,=)", "lag(0,=0)", "lead(0,=2,0)",
	"first_value(0)", "last_value(0)", "nth_value(0,=2)", "nth_value(0,=4)", "nth_value(0,1)", "first_value(3)", "last_value(3)",
	"count(*)", "count(3)", "sum(3)", "avg(3)", "min(3)", "max(3)", "count(*) filter 4", "sum(3) filter 4", "max(3) filter 4", "array_agg(0)", "bool_or(4)", "bool_and(4)",
}

var windowFrames = []string{
	"", "", "", "rows up cr", "rows up uf", "rows cr uf", "rows 2p cr", "rows 1p 1f", "rows 3p 1p", "rows 1f 2f", "rows up 1f", "rows up 1p", "rows 1p uf", "rows 1f uf", "rows 0p 0f",
	"range cr uf", "range cr cr", "range up uf", "range 1p 1f", "range 2p cr", "range up 1p", "range 1f 2f", "range 1p uf", "range up 1f", "range 0p 0f", "range 2p 1p",
	"groups up cr", "groups 1p 1f", "groups 1p cr", "groups 2p 1p", "groups 1f 2f", "groups up 1f", "groups 1p uf", "groups cr cr", "groups cr 2f", "groups up 1p",
}

// TestWindowEqualsFromScratch compares random histories with the definitions at the end.
func TestWindowEqualsFromScratch(t *testing.T) {
	orders := [][]SortKey{{{Col: 2}}, {{Col: 2, Desc: true, NullsFirst: true}}, {{Col: 2, NullsFirst: true}}, {{Col: 2, Desc: true}}, {{Col: 2}, {Col: 3}}, nil, {{Col: 1}}}
	schemas := []string{"int8 int4 int4 int4 bool", "int8 int4 float8 numeric bool", "int8 int4 timestamp int8 bool", "int8 int4 numeric float8 bool", "int8 int4 interval numeric bool"}
	for n := range int64(80) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := rand.New(rand.NewSource(n))
			cfg := WindowConfig{In: mustTypes(schemas[r.Intn(len(schemas))]), OrderBy: orders[r.Intn(len(orders))], PartitionBy: [][]int{nil, {1}}[r.Intn(2)]}
			keyed := r.Intn(4) > 0
			if keyed {
				cfg.RowKey = []int{0}
			}
			cfg.Dist = cfg.PartitionBy
			text := ""
			for range 1 + r.Intn(4) {
				s := windowFunctions[r.Intn(len(windowFunctions))]
				if f := windowFrames[r.Intn(len(windowFrames))]; f != "" {
					offset := strings.ContainsAny(f, "0123456789")
					if len(cfg.OrderBy) == 0 && strings.HasPrefix(f, "groups") || len(cfg.OrderBy) != 1 && strings.HasPrefix(f, "range") && offset {
						f = "rows up cr"
					}
					if s += " " + f; r.Intn(3) == 0 {
						s += " exclude " + []string{"current", "group", "ties"}[r.Intn(3)]
					}
				}
				text += s + "; "
				cfg.Calls = append(cfg.Calls, windowCall(t, cfg.In, cfg.OrderBy, s))
			}
			ot := &opTest{in: [][]types.Type{cfg.In}, make: func() (exec.Operator, error) { return NewWindow(cfg) }}
			if len(cfg.PartitionBy) > 0 {
				ot.dist = [][]int{cfg.Dist}
			}
			ot.stateless = !keyed
			for seed := range int64(3) {
				g := &gen{r: rand.New(rand.NewSource(n*100 + seed)), in: ot.in, keyed: []bool{keyed}, appendOnly: []bool{false}}
				g.invert = seed%2 == 1
				size := []int{6, 14, 40}[seed]
				epochs := g.epochs(7, size)
				t.Logf("calls %s order %v partition %v", text, cfg.OrderBy, cfg.PartitionBy)
				ot.check(t, seed, epochs, func(p [][][]types.Datum) [][]types.Datum { return naiveWindow(cfg, p[0]) }, nil)
			}
		})
	}
}
