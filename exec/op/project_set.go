package op

import (
	"fmt"
	"strings"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// SetFunc is one call of a set-returning function; expressions over the input row.
type SetFunc struct {
	Fn   *fn.Func
	Args []scalar.Expr
	// Types are the columns that the function gives.
	Types []types.Type
}

// ProjectSetConfig configures ProjectSet.
type ProjectSetConfig struct {
	In    []types.Type
	Funcs []SetFunc
	// Ordinality appends the row number within the call, from 1, as int8.
	Ordinality bool
}

// ProjectSet calls set-returning functions for each row. Several functions run side by side; the shorter
// ones are filled up with NULL.
//
//	In:      one port, any changelog.
//	Out:     the input columns, the functions' columns, and the row number if Ordinality; for each input
//	         row as many rows as the longest function gives, with its diff.
//	State:   none.
//	Memory:  one chunk.
//	Barrier: forwards it; watermarks of input columns too.
//	Errors:  those of arguments and functions, through Context.RowError; a failed call gives no more rows. With SkipFailed,
//	         a row of which an argument failed gives none.
type ProjectSet struct {
	base
	cfg   ProjectSetConfig
	funcs []*setCall
	ectx  expr.EvalContext
	site  int
	// failed has the rows of the chunk of which an argument failed.
	failed vec.Bitmap
	outc   *vec.Chunk
}

// setCall is a compiled SetFunc. rows gives an iterator over its rows for some arguments.
type setCall struct {
	SetFunc
	args []*expr.Evaluator
	vecs []*vec.Vector
	rows func(args []types.Datum) (setIter, error)
	next setIter
	vals []types.Datum
}

// setIter puts the next row into vals; false at the end.
type setIter func(vals []types.Datum) (bool, error)

// NewProjectSet compiles the calls. A function that is not supported is 0A000.
func NewProjectSet(cfg ProjectSetConfig) (*ProjectSet, error) {
	if len(cfg.Funcs) == 0 {
		return nil, fmt.Errorf("ProjectSet: no function")
	}
	p := &ProjectSet{cfg: cfg}
	p.schema = append(p.schema, cfg.In...)
	for _, f := range cfg.Funcs {
		c := &setCall{SetFunc: f, vals: make([]types.Datum, len(f.Types))}
		for _, a := range f.Args {
			ev, err := expr.Compile(a, nil)
			if err != nil {
				return nil, err
			}
			c.args = append(c.args, ev)
		}
		var err error
		if c.rows, err = p.setFunction(f); err != nil {
			return nil, err
		}
		p.funcs = append(p.funcs, c)
		p.schema = append(p.schema, f.Types...)
	}
	if cfg.Ordinality {
		p.schema = append(p.schema, types.T(types.Int8))
	}
	p.outc = vec.NewChunk(p.schema, 0)
	return p, nil
}

// Open keeps the output.
func (p *ProjectSet) Open(ctx *exec.Context, out exec.Output) error {
	p.ectx = evalContext(ctx, &p.site)
	return p.base.Open(ctx, out)
}

// Chunk calls the functions for each row.
func (p *ProjectSet) Chunk(_ int, c *vec.Chunk) error {
	p.site, p.failed = 0, p.failed[:0]
	for _, f := range p.funcs {
		f.vecs = f.vecs[:0]
		for _, ev := range f.args {
			p.site++
			v, err := ev.Eval(&p.ectx, c)
			if err != nil {
				return err
			}
			if p.ctx.SkipFailed {
				p.failed.Or(ev.Failed())
			}
			f.vecs = append(f.vecs, v)
		}
	}
	p.outc.Reset()
	for i := range c.Len() {
		if p.failed.Get(i) {
			continue
		}
		failure, err := p.row(c, i)
		if failure != nil && err == nil {
			err = p.base.failed(exec.RowFailure{Err: failure, Cols: c.Cols, Row: i, Diff: c.Diff(i)})
		}
		if err != nil {
			return err
		}
	}
	return p.flush()
}

// row gives the rows of row i of c; failure is what went wrong with it.
func (p *ProjectSet) row(c *vec.Chunk, i int) (failure, err error) {
	args := make([]types.Datum, 0, 4)
	for _, f := range p.funcs {
		args = args[:0]
		for _, v := range f.vecs {
			args = append(args, v.Datum(i))
		}
		if f.next, err = f.rows(args); err != nil {
			return err, nil
		}
	}
	for n := int64(1); ; n++ {
		any := false
		for _, f := range p.funcs {
			clear(f.vals)
			if f.next == nil {
				continue
			}
			ok, err := f.next(f.vals)
			if err != nil {
				return err, nil
			}
			if ok {
				any = true
			} else {
				f.next = nil
			}
		}
		if !any {
			return nil, nil
		}
		at := 0
		for _, v := range c.Cols {
			if v.Len() > 0 {
				p.outc.Cols[at].AppendFrom(v, i)
			}
			at++
		}
		for _, f := range p.funcs {
			for _, d := range f.vals {
				p.outc.Cols[at].AppendDatum(d)
				at++
			}
		}
		if p.cfg.Ordinality {
			p.outc.Cols[at].AppendInt(n)
		}
		p.outc.PushDiff(c.Diff(i))
		if p.outc.Len() >= p.max {
			if err := p.cancelled(); err != nil {
				return nil, err
			}
			if err := p.flush(); err != nil {
				return nil, err
			}
		}
	}
}

func (p *ProjectSet) flush() error {
	if p.outc.Len() == 0 {
		return nil
	}
	err := p.out.Chunk(p.outc)
	p.outc.Reset()
	return err
}

// Watermark forwards the watermark.
func (p *ProjectSet) Watermark(_ int, w exec.Watermark) error { return p.out.Watermark(w) }

// setFunction finds the implementation of a set-returning function.
func (p *ProjectSet) setFunction(f SetFunc) (func([]types.Datum) (setIter, error), error) {
	var arg types.Type
	if len(f.Args) > 0 {
		arg = f.Args[0].Type()
	}
	if f.Fn.Catalog {
		return p.catalogRows(f), nil
	}
	switch f.Fn.Name {
	case "generate_series":
		switch {
		case arg.Kind == types.Int4 || arg.Kind == types.Int8:
			return intSeries, nil
		case arg.Kind == types.Numeric:
			return numericSeries, nil
		case len(f.Args) == 3:
			return p.timeSeries(f)
		}
	case "unnest":
		return unnest, nil
	case "generate_subscripts":
		return subscripts, nil
	case "string_to_table":
		return stringToTable, nil
	case "jsonb_array_elements", "jsonb_array_elements_text", "jsonb_each", "jsonb_each_text", "jsonb_object_keys",
		"json_array_elements", "json_array_elements_text", "json_each", "json_each_text", "json_object_keys":
		return jsonSet(f.Fn.Name), nil
	case "regexp_matches", "regexp_split_to_table":
		rows := expr.RegexpTable(f.Fn.Name)
		return func(args []types.Datum) (setIter, error) {
			if anyNull(args) {
				return nil, nil
			}
			flags := ""
			if len(args) > 2 {
				flags = args[2].S
			}
			list, err := rows(args[0].S, args[1].S, flags)
			return listIter(list), err
		}, nil
	case "json_to_record", "json_to_recordset", "jsonb_to_record", "jsonb_to_recordset":
		return p.jsonRecords(f)
	case "jsonb_path_query", "jsonb_path_query_tz":
		rows := expr.PathTable()
		return func(args []types.Datum) (setIter, error) {
			if anyNull(args) {
				return nil, nil
			}
			items, err := rows(args)
			return listIter(items), err
		}, nil
	}
	return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "set-returning function %s is not supported yet", f.Fn.ID)
}

func anyNull(args []types.Datum) bool {
	for _, a := range args {
		if !a.Valid {
			return true
		}
	}
	return false
}

var errStepZero = sqlerr.Newf(sqlerr.InvalidParameterValue, "step size cannot equal zero")

func intSeries(args []types.Datum) (setIter, error) {
	if anyNull(args) {
		return nil, nil
	}
	cur, stop, step := args[0].I, args[1].I, int64(1)
	if len(args) > 2 {
		step = args[2].I
	}
	if step == 0 {
		return nil, errStepZero
	}
	done := false
	return func(vals []types.Datum) (bool, error) {
		if done || step > 0 && cur > stop || step < 0 && cur < stop {
			return false, nil
		}
		vals[0] = types.DInt(cur)
		next := cur + step
		done = step > 0 == (next < cur) // overflow
		cur = next
		return true, nil
	}, nil
}

func numericSeries(args []types.Datum) (setIter, error) {
	if anyNull(args) {
		return nil, nil
	}
	cur, stop, step := args[0].Dec, args[1].Dec, types.NewDecimal(1, 0)
	if len(args) > 2 {
		step = args[2].Dec
	}
	for i, name := range []string{"start", "stop", "step size"} {
		if i < len(args) && !args[i].Dec.IsFinite() {
			what := "infinity"
			if args[i].Dec.IsNaN() {
				what = "NaN"
			}
			return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "%s value cannot be %s", strings.TrimSuffix(name, " value"), what)
		}
	}
	if step.IsZero() {
		return nil, errStepZero
	}
	sign := step.Sign()
	return func(vals []types.Datum) (bool, error) {
		if cur.Cmp(stop)*sign > 0 {
			return false, nil
		}
		vals[0] = types.DDec(cur)
		cur = cur.Add(step)
		return true, nil
	}, nil
}

// timeSeries steps by intervals with the registry's own addition, which knows calendars and zones.
func (p *ProjectSet) timeSeries(f SetFunc) (func([]types.Datum) (setIter, error), error) {
	t, step := f.Args[0].Type(), f.Args[2].Type()
	var plus *fn.Func
	for _, o := range fn.Default().All() {
		if o.Kind == fn.Operator && o.Name == "+" && len(o.Args) == 2 && o.Args[0].Kind == t.Kind && o.Args[1].Kind == types.Interval {
			plus = o
		}
	}
	if plus == nil {
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "set-returning function %s is not supported yet", f.Fn.ID)
	}
	add, err := expr.Compile(&scalar.Call{Node: scalar.Node{T: t, Pos: sqlerr.NoPos}, Fn: plus, Args: []scalar.Expr{
		&scalar.Column{Node: scalar.Node{T: t, Pos: sqlerr.NoPos}, Index: 0},
		&scalar.Column{Node: scalar.Node{T: step, Pos: sqlerr.NoPos}, Index: 1},
	}}, nil)
	if err != nil {
		return nil, err
	}
	return func(args []types.Datum) (setIter, error) {
		if anyNull(args) {
			return nil, nil
		}
		cur, stop, by := args[0], args[1].I, args[2]
		sign := by.Span.Cmp(types.Span{})
		if sign == 0 {
			return nil, errStepZero
		}
		return func(vals []types.Datum) (bool, error) {
			if sign > 0 && cur.I > stop || sign < 0 && cur.I < stop {
				return false, nil
			}
			vals[0] = cur
			next, err := add.EvalRow(&expr.EvalContext{Env: p.ctx.Env}, []types.Datum{cur, by})
			if err != nil {
				return false, err
			}
			cur = next
			return true, nil
		}, nil
	}, nil
}

func unnest(args []types.Datum) (setIter, error) {
	if anyNull(args) {
		return nil, nil
	}
	a, err := types.DecodeArray(args[0].S)
	if err != nil {
		return nil, err
	}
	return listIter(a.Elems), nil
}

func listIter(elems []types.Datum) setIter {
	i := 0
	return func(vals []types.Datum) (bool, error) {
		if i >= len(elems) {
			return false, nil
		}
		vals[0] = elems[i]
		i++
		return true, nil
	}
}

func subscripts(args []types.Datum) (setIter, error) {
	if anyNull(args) {
		return nil, nil
	}
	a, err := types.DecodeArray(args[0].S)
	if err != nil {
		return nil, err
	}
	d := args[1].I
	if d < 1 || d > int64(len(a.Dims)) {
		return nil, nil
	}
	lo := int64(a.Dims[d-1].Lower)
	hi := lo + int64(a.Dims[d-1].Len) - 1
	if len(args) > 2 && args[2].Bool() {
		return intSeries([]types.Datum{types.DInt(hi), types.DInt(lo), types.DInt(-1)})
	}
	return intSeries([]types.Datum{types.DInt(lo), types.DInt(hi)})
}

func stringToTable(args []types.Datum) (setIter, error) {
	if !args[0].Valid {
		return nil, nil
	}
	var parts []string
	switch s := args[0].S; {
	case s == "":
	case !args[1].Valid:
		for _, r := range s {
			parts = append(parts, string(r))
		}
	case args[1].S == "":
		parts = []string{s}
	default:
		parts = strings.Split(s, args[1].S)
	}
	elems := make([]types.Datum, len(parts))
	for i, s := range parts {
		if len(args) < 3 || !args[2].Valid || s != args[2].S {
			elems[i] = types.DStr(s)
		}
	}
	return listIter(elems), nil
}
