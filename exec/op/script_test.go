package op

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// TestScripts runs the scripts under testdata. A script drives one operator at a time:
//
//	op NAME             makes an operator; the lines are its configuration, a word and its value
//	                    each: "in TYPES" (join: "left", "right"), then what its Config has, in lower case; the
//	                    output are the types of its columns. "view" makes row errors those of a view,
//	                    which are printed, "skip" those of a view that leaves such rows out
//	deltas [port=N]     sends a chunk, in the text form of package vec; prints what comes out at once
//	watermark col=N value=V [port=N]
//	barrier [checkpoint] [time=SECONDS]
//	restart             closes the operator and starts it again from the last checkpoint
//	close
//
// Expressions are written "$0 < $1" or "$0 + 1": a column, an operator, a column or a constant of the column's type.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t, name: filepath.Base(path)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(d) })
	})
}

type script struct {
	// rowError is Context.RowError.
	rowError func(exec.RowFailure) error
	skip     bool // Context.SkipFailed
	t        *testing.T
	name     string
	make     func() (exec.Operator, error)
	in       [][]types.Type
	op       exec.Operator
	out      *checker
	notes    strings.Builder // what Apply, Seal and sinks were told
	saved    memState
	state    memState
	epoch    storage.Epoch
	shown    int
}

func (s *script) run(d *datadriven.TestData) string {
	s.t.Helper()
	var err error
	switch d.Cmd {
	case "op":
		s.rowError = nil
		if err = s.configure(d.CmdArgs[0].Key, d.Input); err != nil {
			return "error: " + err.Error() + "\n"
		}
		s.saved, s.state, s.epoch = memState{}, memState{}, 0
		o, err := s.make()
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		s.out = newChecker(s.t, o.Schema())
		s.shown = 0
		if err := s.open(o); err != nil {
			return "error: " + err.Error() + "\n"
		}
		names := make([]string, len(o.Schema()))
		for i, c := range o.Schema() {
			names[i] = strings.ReplaceAll(c.String(), " ", "_")
		}
		return strings.Join(names, " ") + "\n"
	case "deltas":
		port := 0
		d.MaybeScanArgs(s.t, "port", &port)
		c, perr := vec.ParseChunk(s.in[port], d.Input)
		if perr != nil {
			d.Fatalf(s.t, "%v", perr)
		}
		err = s.op.Chunk(port, c)
	case "watermark":
		var port, col int
		var value int64
		d.MaybeScanArgs(s.t, "port", &port)
		d.ScanArgs(s.t, "col", &col)
		d.ScanArgs(s.t, "value", &value)
		err = s.op.Watermark(port, exec.Watermark{Col: col, Value: value})
	case "barrier":
		s.epoch++
		bar := exec.Barrier{Epoch: s.epoch, Checkpoint: d.HasArg("checkpoint")}
		if d.HasArg("time") {
			// In seconds.
			d.ScanArgs(s.t, "time", &bar.Time)
			bar.Time *= 1_000_000
		}
		err = s.op.Barrier(bar)
		if d.HasArg("checkpoint") {
			s.state.checkpoint()
			s.saved = s.state.clone()
		}
	case "restart":
		s.op.Close()
		s.state = s.saved.clone()
		var o exec.Operator
		if o, err = s.make(); err == nil {
			err = s.open(o)
		}
	case "close":
		s.op.Close()
		s.out.closed = true
	default:
		d.Fatalf(s.t, "unknown command %s", d.Cmd)
	}
	text := s.out.text.String()[s.shown:]
	s.shown = s.out.text.Len()
	text = s.notes.String() + text
	s.notes.Reset()
	// The barrier's own line only repeats the command.
	text = strings.ReplaceAll(text, fmt.Sprintf("barrier %d\n", s.epoch), "")
	if err != nil {
		text += "error: " + err.Error() + "\n"
	}
	return text
}

func (s *script) open(o exec.Operator) error {
	s.op = o
	return o.Open(&exec.Context{Ctx: context.Background(), State: s.state.open, Env: &exec.Env{}, RowError: s.rowError, SkipFailed: s.skip,
		Late: func(n int64) { fmt.Fprintf(&s.notes, "late: %d\n", n) },
		Due: func(at int64) {
			if at != exec.NeverDue {
				fmt.Fprintf(&s.notes, "due at %d\n", at/1_000_000)
			}
		}}, s.scriptOut())
}

// failed prints a row error.
func (s *script) failed(f exec.RowFailure) error {
	var row []string
	for _, v := range f.Cols {
		if v.Len() > f.Row {
			row = append(row, vec.FormatDatum(v.Type, v.Datum(f.Row)))
		}
	}
	fmt.Fprintf(&s.notes, "failed %+d: expression %d of (%s): %s\n", f.Diff, f.Site, strings.Join(row, " "), sqlerr.From(f.Err).Message)
	return nil
}

// scriptOut also prints watermarks.
func (s *script) scriptOut() exec.Output { return &watermarkPrinter{s.out} }

type watermarkPrinter struct{ *checker }

func (w *watermarkPrinter) Watermark(m exec.Watermark) error {
	fmt.Fprintf(&w.text, "watermark col=%d value=%d\n", m.Col, m.Value)
	return nil
}

// Apply and Seal make a script an Arrangement.
func (s *script) Apply(changes []storage.Change) {
	for _, c := range changes {
		if c.Delete {
			fmt.Fprintf(&s.notes, "delete %x\n", c.Key)
		} else {
			fmt.Fprintf(&s.notes, "put %x = %x\n", c.Key, c.Value)
		}
	}
}

func (s *script) Append(buf []byte, ends []int) { s.Apply(rowChanges(buf, ends)) }

// rowChanges gives what Append is called with as changes.
func rowChanges(buf []byte, ends []int) []storage.Change {
	var cs []storage.Change
	at := 0
	for i := 0; i < len(ends); i += 2 {
		cs = append(cs, storage.Change{Key: buf[at:ends[i]], Value: buf[ends[i]:ends[i+1]]})
		at = ends[i+1]
	}
	return cs
}

func (s *script) Seal(epoch storage.Epoch, checkpoint bool) {
	fmt.Fprintf(&s.notes, "seal %d checkpoint=%t\n", epoch, checkpoint)
}

// scriptSink is a SinkWriter that prints.
type scriptSink struct{ s *script }

func (w scriptSink) Write(c *vec.Chunk) error {
	for _, line := range strings.Split(strings.TrimSpace(c.String()), "\n") {
		fmt.Fprintf(&w.s.notes, "write %s\n", line)
	}
	return nil
}

func (w scriptSink) Barrier(e storage.Epoch, checkpoint bool) error {
	fmt.Fprintf(&w.s.notes, "sink barrier %d checkpoint=%t\n", e, checkpoint)
	return nil
}

func (w scriptSink) Close() error { return nil }

// config is the configuration lines of an operator; use takes one.
type config struct {
	lines map[string]string
	err   error
}

func (c *config) use(name string) (string, bool) {
	v, ok := c.lines[name]
	delete(c.lines, name)
	return v, ok
}

func (c *config) types(name string) []types.Type {
	v, _ := c.use(name)
	ts, err := vec.ParseTypes(v)
	c.err = errors.Join(c.err, err)
	return ts
}

// cols is nil if the line is missing, and empty for an empty line.
func (c *config) cols(name string) []int {
	v, ok := c.use(name)
	if !ok {
		return nil
	}
	cols := []int{}
	for _, w := range strings.Fields(v) {
		i, err := strconv.Atoi(w)
		c.err = errors.Join(c.err, err)
		cols = append(cols, i)
	}
	return cols
}

func (c *config) flag(name string) bool {
	_, ok := c.use(name)
	return ok
}

func (c *config) int(name string, missing int64) int64 {
	v, ok := c.use(name)
	if !ok {
		return missing
	}
	i, err := strconv.ParseInt(v, 10, 64)
	c.err = errors.Join(c.err, err)
	return i
}

// order reads "1 desc nulls_first, 2".
func (c *config) order(name string) []SortKey {
	v, ok := c.use(name)
	if !ok {
		return nil
	}
	var keys []SortKey
	for _, part := range strings.Split(v, ",") {
		var k SortKey
		for _, w := range strings.Fields(part) {
			switch w {
			case "desc":
				k.Desc = true
			case "nulls_first":
				k.NullsFirst = true
			default:
				var err error
				k.Col, err = strconv.Atoi(w)
				c.err = errors.Join(c.err, err)
			}
		}
		keys = append(keys, k)
	}
	return keys
}

func (s *script) aggs(c *config, in []types.Type) []Agg {
	var out []Agg
	aggs, _ := c.use("aggs")
	order := c.order("order")
	for _, a := range strings.Split(aggs, ";") {
		if a = strings.TrimSpace(a); a != "" {
			g := aggCall(s.t, in, a)
			g.OrderBy = order
			out = append(out, g)
		}
	}
	return out
}

func (s *script) expr(in []types.Type, text string) scalar.Expr {
	s.t.Helper()
	w := strings.Fields(text)
	operand := func(w string, like types.Type) scalar.Expr {
		if strings.HasPrefix(w, "$") {
			i, _ := strconv.Atoi(w[1:])
			return colExpr(in, i)
		}
		d, err := types.ParseText(like, w, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		return &scalar.Const{Node: scalar.Node{T: like, Pos: -1}, Val: d}
	}
	l := operand(w[0], types.T(types.Int4))
	if len(w) == 1 {
		return l
	}
	r := operand(w[2], l.Type())
	for _, f := range fn.Default().All() {
		if f.Kind == fn.Operator && f.Name == w[1] && len(f.Args) == 2 && f.Args[0].Kind == l.Type().Kind && f.Args[1].Kind == r.Type().Kind {
			return &scalar.Call{Node: scalar.Node{T: f.Ret, Pos: -1}, Fn: f, Args: []scalar.Expr{l, r}}
		}
	}
	s.t.Fatalf("no operator for %q", text)
	return nil
}

var joinKinds = map[string]JoinKind{"inner": Inner, "left": Left, "right": Right, "full": Full, "semi": Semi, "anti": Anti}

func (s *script) configure(name, input string) error {
	c := &config{lines: map[string]string{}}
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		k, v, _ := strings.Cut(line, " ")
		c.lines[k] = v
	}
	if s.skip = c.flag("skip"); c.flag("view") || s.skip {
		s.rowError = s.failed
	}
	in := c.types("in")
	s.in = [][]types.Type{in}
	const second = 1000000
	switch name {
	case "filter":
		pred, _ := c.use("pred")
		cfg := FilterConfig{In: in, Pred: s.expr(in, pred)}
		s.make = func() (exec.Operator, error) { return NewFilter(cfg) }
	case "project":
		cfg := ProjectConfig{In: in}
		exprs, _ := c.use("exprs")
		for _, e := range strings.Split(exprs, ",") {
			cfg.Exprs = append(cfg.Exprs, s.expr(in, e))
		}
		s.make = func() (exec.Operator, error) { return NewProject(cfg) }
	case "hash_agg":
		cfg := HashAggConfig{In: in, Keys: c.cols("keys"), AppendOnlyIn: c.flag("append_only"), Aggs: s.aggs(c, in)}
		s.make = func() (exec.Operator, error) { return NewHashAgg(cfg) }
	case "hash_join":
		kind, _ := c.use("kind")
		cfg := HashJoinConfig{
			Kind: joinKinds[kind], Left: c.types("left"), Right: c.types("right"), LeftKeys: c.cols("left_keys"), RightKeys: c.cols("right_keys"),
			LeftRowKey: c.cols("left_row_key"), RightRowKey: c.cols("right_row_key"), Output: c.cols("output"),
			LeftAppendOnly: c.flag("left_append_only"), RightAppendOnly: c.flag("right_append_only"), BuildRight: c.flag("build_right"),
			LeftUnique: c.flag("left_unique"), RightUnique: c.flag("right_unique"),
		}
		if c.flag("null_safe") {
			for range cfg.LeftKeys {
				cfg.NullSafe = append(cfg.NullSafe, true)
			}
		}
		if r, ok := c.use("residual"); ok {
			cfg.Residual = s.expr(append(append([]types.Type{}, cfg.Left...), cfg.Right...), r)
		}
		s.in = [][]types.Type{cfg.Left, cfg.Right}
		s.make = func() (exec.Operator, error) { return NewHashJoin(cfg) }
	case "top_n":
		cfg := TopNConfig{
			In: in, OrderBy: c.order("order"), Limit: c.int("limit", -1), Offset: c.int("offset", 0), WithTies: c.flag("with_ties"),
			GroupBy: c.cols("group"), RowKey: c.cols("row_key"), AppendOnlyIn: c.flag("append_only"), RankOutput: c.flag("rank"),
			RisingIn: c.flag("rising"),
		}
		s.make = func() (exec.Operator, error) { return NewTopN(cfg) }
	case "window":
		cfg := WindowConfig{In: in, PartitionBy: c.cols("partition"), OrderBy: c.order("order"), RowKey: c.cols("row_key")}
		calls, _ := c.use("calls")
		for _, call := range strings.Split(calls, ";") {
			cfg.Calls = append(cfg.Calls, windowCall(s.t, in, cfg.OrderBy, call))
		}
		s.make = func() (exec.Operator, error) { return NewWindow(cfg) }
	case "hop_agg":
		cfg := HopAggConfig{
			In: in, Keys: c.cols("keys"), AppendOnlyIn: c.flag("append_only"), Aggs: s.aggs(c, in), TimeCol: int(c.int("time", 0)),
			Size: c.int("size", 0) * second, Slide: c.int("slide", 0) * second, Offset: c.int("offset", 0) * second,
		}
		s.make = func() (exec.Operator, error) { return NewHopAgg(cfg) }
	case "hop":
		size := c.int("size", 0) * second
		cfg := HopConfig{In: in, TimeCol: int(c.int("time", 0)), Size: size, Slide: c.int("slide", size/second) * second, Offset: c.int("offset", 0) * second,
			Cumulate: c.flag("cumulate")}
		s.make = func() (exec.Operator, error) { return NewHop(cfg) }
	case "proctime":
		cfg := ProcTimeConfig{In: in, Tick: c.flag("tick")}
		s.make = func() (exec.Operator, error) { return NewProcTime(cfg) }
	case "watermark":
		cfg := WatermarkConfig{
			In: in, Col: int(c.int("time", 0)), Delay: c.int("delay", 0) * second, Idle: c.int("idle", 0) * second,
			RowID: int(c.int("row_id", -1)), Splits: int(c.int("splits", 1)), Mine: c.cols("mine"), Pass: c.flag("pass"),
		}
		s.make = func() (exec.Operator, error) { return NewWatermark(cfg) }
	case "window_close":
		cfg := WindowCloseConfig{In: in, Col: int(c.int("col", 0))}
		s.make = func() (exec.Operator, error) { return NewWindowClose(cfg) }
	case "session":
		cfg := SessionConfig{In: in, TimeCol: int(c.int("time", 0)), Gap: c.int("gap", 0) * second, Partition: c.cols("partition"), RowKey: c.cols("row_key")}
		s.make = func() (exec.Operator, error) { return NewSession(cfg) }
	case "union_all":
		cfg := UnionAllConfig{In: in, Ports: int(c.int("ports", 2)), SourceColumn: c.flag("source_column")}
		s.in = nil
		for range cfg.Ports {
			s.in = append(s.in, in)
		}
		s.make = func() (exec.Operator, error) { return NewUnionAll(cfg) }
	case "values":
		cfg := ValuesConfig{Out: in}
		rows, _ := c.use("rows")
		for _, r := range strings.Split(rows, ";") {
			var row []scalar.Expr
			for i, w := range strings.Fields(r) {
				d, err := types.ParseText(in[i], w, nil)
				if err != nil {
					return err
				}
				row = append(row, &scalar.Const{Node: scalar.Node{T: in[i], Pos: -1}, Val: d})
			}
			cfg.Rows = append(cfg.Rows, row)
		}
		s.make = func() (exec.Operator, error) { return NewValues(cfg) }
	case "materialize":
		cfg := MaterializeConfig{In: in, Key: c.order("key"), Target: s}
		s.make = func() (exec.Operator, error) { return NewMaterialize(cfg) }
	case "sink":
		cfg := SinkConfig{In: in, Visible: c.cols("visible"), Writer: scriptSink{s}}
		s.make = func() (exec.Operator, error) { return NewSink(cfg) }
	case "max_1_row":
		cfg := Max1RowConfig{In: in, GroupBy: c.cols("group")}
		s.make = func() (exec.Operator, error) { return NewMax1Row(cfg) }
	case "consolidate":
		cfg := ConsolidateConfig{In: in}
		s.make = func() (exec.Operator, error) { return NewConsolidate(cfg) }
	case "sort":
		cfg := SortConfig{In: in, OrderBy: c.order("order")}
		s.make = func() (exec.Operator, error) { return NewSort(cfg) }
	case "limit":
		cfg := LimitConfig{In: in, Limit: c.int("limit", -1), Offset: c.int("offset", 0)}
		s.make = func() (exec.Operator, error) { return NewLimit(cfg) }
	case "project_set":
		cfg := ProjectSetConfig{In: in, Ordinality: c.flag("ordinality")}
		calls, _ := c.use("calls")
		for _, call := range strings.Split(calls, ";") {
			cfg.Funcs = append(cfg.Funcs, s.setCall(in, strings.TrimSpace(call)))
		}
		s.make = func() (exec.Operator, error) { return NewProjectSet(cfg) }
	default:
		return fmt.Errorf("unknown operator %s", name)
	}
	for k := range c.lines {
		return fmt.Errorf("unknown configuration %q", k)
	}
	return c.err
}

// setCall reads "generate_series($0, $1)": all arguments are columns.
func (s *script) setCall(in []types.Type, call string) SetFunc {
	s.t.Helper()
	name, args, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	var f SetFunc
	for _, a := range strings.Split(args, ",") {
		f.Args = append(f.Args, s.expr(in, strings.TrimSpace(a)))
	}
	for _, d := range fn.Default().All() {
		if d.Kind != fn.Table || d.Name != name || len(d.Args) != len(f.Args) {
			continue
		}
		ok := true
		for i, a := range f.Args {
			ok = ok && (d.Args[i].Kind == a.Type().Kind || d.Args[i].Kind == types.AnyArray && a.Type().Kind == types.Array)
		}
		if !ok {
			continue
		}
		f.Fn, f.Types = d, []types.Type{d.Ret}
		if d.Ret.Kind == types.AnyElement {
			f.Types[0] = types.T(f.Args[0].Type().Elem)
		}
		if len(d.Outs) > 0 {
			f.Types = nil
			for _, o := range d.Outs {
				f.Types = append(f.Types, o.Type)
			}
		}
		return f
	}
	s.t.Fatalf("no set-returning function for %q", call)
	return f
}
