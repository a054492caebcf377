package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/copyfmt"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// copy runs COPY.
func (s *session) copy(ctx context.Context, t *tx, e *execution, st *ast.Copy) (pgwire.Result, error) {
	opts, err := copyfmt.ParseOptions(st.Options, st.To)
	if err != nil {
		return pgwire.Result{}, err
	}
	if st.File != "" {
		return pgwire.Result{}, sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "COPY with a file of the server is not supported").
			WithHint("Use psql's \\copy, or COPY ... FROM STDIN and TO STDOUT.")
	}
	if st.To {
		res, err := s.copyTo(ctx, t, e, st, opts)
		return res, unplaced(st, err)
	}
	if err := t.writable(st); err != nil {
		return pgwire.Result{}, err
	}
	return s.copyFrom(ctx, t, e, st, opts)
}

// unplaced takes the position from an error of COPY table TO: it is one in the query that stands for it.
func unplaced(st *ast.Copy, err error) error {
	var e *sqlerr.Error
	if st.Table == nil || !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Pos = sqlerr.NoPos
	return &c
}

// copyTo sends a table or a query's rows.
func (s *session) copyTo(ctx context.Context, t *tx, e *execution, st *ast.Copy, opts copyfmt.Options) (pgwire.Result, error) {
	if sub, ok := st.Query.(*ast.Subscribe); ok {
		return s.copyFeed(ctx, t, e, sub, opts)
	}
	query, err := s.copyQuery(st)
	if err != nil {
		return pgwire.Result{}, err
	}
	pl := s.planner(t.catalog(), s.vars.searchPath(s.user()))
	b, err := pl.Bind(query, nil)
	if err != nil {
		return pgwire.Result{}, err
	}
	batch, err := pl.Batch(b)
	if err != nil {
		return pgwire.Result{}, err
	}
	ts := make([]types.Type, len(b.Columns))
	names := make([]string, len(b.Columns))
	for i, c := range b.Columns {
		ts[i], names[i] = wireType(c.Type), c.Name
	}
	// It begins when the snapshot is there: until then the statement can be run again.
	var out *copyOut
	begin := func() (err error) {
		if out == nil {
			out, err = s.newCopyOut(e, names, ts, opts)
		}
		return err
	}
	n := 0
	err = s.runBatch(ctx, t, batch, func(c *vec.Chunk) error {
		if err := begin(); err != nil {
			return err
		}
		n += c.Len()
		return out.rows(c, 0, c.Len())
	})
	if !errors.Is(err, engine.ErrReplaced) {
		if berr := begin(); err == nil {
			err = berr
		}
	}
	if err == nil {
		err = out.end()
	}
	return pgwire.Result{Tag: fmt.Sprintf("COPY %d", n)}, err
}

// copyOut is a COPY TO on its way.
type copyOut struct {
	w      pgwire.CopyWriter
	opts   copyfmt.Options
	as     []appender
	force  []bool
	values [][]byte
	buf    []byte
	// header: that of binary format is still to be written.
	header bool
}

// newCopyOut begins COPY TO, with the header if there is one.
func (s *session) newCopyOut(e *execution, columns []string, ts []types.Type, opts copyfmt.Options) (*copyOut, error) {
	names := make([][]byte, len(columns))
	for i, c := range columns {
		names[i] = []byte(c)
	}
	format := pgwire.Text
	if opts.Binary {
		format = pgwire.Binary
	}
	o := &copyOut{opts: opts, as: appendersFor(ts, []pgwire.Format{format}, s.typeEnv()), values: make([][]byte, len(ts))}
	var err error
	if o.force, err = forced(opts.ForceQuote, names); err != nil {
		return nil, err
	}
	if o.w, err = e.w.CopyOut(format, len(ts)); err != nil {
		return nil, err
	}
	o.header = opts.Binary
	if opts.Header {
		if err := o.w.End(opts.AppendRow(o.w.Begin(), names, nil)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// rows writes rows lo to hi-1 of c.
func (o *copyOut) rows(c *vec.Chunk, lo, hi int) error {
	for i := lo; i < hi; i++ {
		o.buf = o.buf[:0]
		for k, a := range o.as {
			o.values[k] = nil
			if !c.Cols[k].Nulls.Get(i) {
				at := len(o.buf)
				o.buf = a(o.buf, c.Cols[k], i)
				o.values[k] = o.buf[at:len(o.buf):len(o.buf)]
			}
		}
		var err error
		if o.opts.Binary {
			err = o.w.End(copyfmt.AppendBinaryRow(o.begin(), o.values))
		} else {
			err = o.w.End(o.opts.AppendRow(o.w.Begin(), o.values, o.force))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end writes what ends the data.
func (o *copyOut) end() error {
	if !o.opts.Binary {
		return nil
	}
	return o.w.End(copyfmt.AppendBinaryTrailer(o.begin()))
}

// begin begins a message in binary format. The header comes in the first one: clients take a message for a row, and
// the header with it.
func (o *copyOut) begin() []byte {
	b := o.w.Begin()
	if o.header {
		o.header = false
		b = copyfmt.AppendBinaryHeader(b)
	}
	return b
}

// copyQuery is the query that COPY TO sends.
func (s *session) copyQuery(st *ast.Copy) (*ast.Select, error) {
	if st.Query != nil {
		q, ok := st.Query.(*ast.Select)
		if !ok {
			return nil, sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "COPY of a statement that writes is not supported yet")
		}
		return q, nil
	}
	parts := make([]string, len(st.Table.Parts))
	for i, p := range st.Table.Parts {
		parts[i] = parse.QuoteIdent(p)
	}
	list := "*"
	if st.Columns != nil {
		cols := make([]string, len(st.Columns))
		for i, c := range st.Columns {
			cols[i] = parse.QuoteIdent(c.Name)
		}
		list = strings.Join(cols, ", ")
	}
	return parse.ParseQuery("SELECT " + list + " FROM " + strings.Join(parts, "."))
}

func forced(list []string, names [][]byte) ([]bool, error) {
	if list == nil {
		return nil, nil
	}
	out := make([]bool, len(names))
	for _, f := range list {
		found := f == "*"
		for i, n := range names {
			if f == "*" || f == string(n) {
				out[i], found = true, true
			}
		}
		if !found {
			return nil, sqlerr.Newf(sqlerr.InvalidColumnReference, "FORCE_QUOTE column %q not referenced by COPY", f)
		}
	}
	return out, nil
}

// copyBatch is how many rows COPY FROM hands to the table at once.
const copyBatch = 4096

// copyIn is a COPY FROM on its way.
type copyIn struct {
	w    *write
	opts copyfmt.Options
	rel  *catalog.Relation
	// cols are the columns that the data has, in order.
	cols []int
	env  *types.Env
	rows *vec.Chunk
	// defaults are the values of the other columns, where the condition that rows must meet, if there is one.
	defaults []scalar.Expr
	where    scalar.Expr
}

// copyReader is what reads the rows of one format.
type copyReader interface {
	Next() ([]copyfmt.Field, error)
	Line() int
}

func (s *session) copyFrom(ctx context.Context, t *tx, e *execution, st *ast.Copy, opts copyfmt.Options) (pgwire.Result, error) {
	if st.Table == nil {
		return pgwire.Result{}, sqlerr.New(sqlerr.SyntaxError, st.Pos, "COPY FROM needs a table")
	}
	target, err := s.planner(t.catalog(), s.vars.searchPath(s.user())).Copy(st)
	if err != nil {
		return pgwire.Result{}, err
	}
	rel := target.Target
	tab, err := writableTable(ctx, t, rel)
	if err != nil {
		return pgwire.Result{}, err
	}
	in := &copyIn{opts: opts, rel: rel, env: s.typeEnv(), cols: target.Cols, defaults: target.Defaults, where: target.Where}
	in.w = &write{s: s, t: t, env: s.execEnv(t), tab: tab, d: &plan.DML{
		Kind: plan.Insert, Target: rel, Auto: target.Auto, Checks: target.Checks, Generated: target.Generated,
	}}
	if t.writes.Empty() {
		if err := t.inc.AdmitWork(ctx); err != nil {
			return pgwire.Result{}, err
		}
	}
	if err := t.writes.Lock(ctx, tab, false); err != nil {
		return pgwire.Result{}, err
	}
	if err := in.receive(ctx, e.w); err != nil {
		return pgwire.Result{}, err
	}
	if err := in.w.end(ctx); err != nil {
		return pgwire.Result{}, err
	}
	return pgwire.Result{Tag: fmt.Sprintf("COPY %d", in.w.count)}, nil
}

// receive asks the client for the data and reads it.
func (in *copyIn) receive(ctx context.Context, w pgwire.ResultWriter) error {
	in.rows = vec.NewChunk(in.w.tab.Types(), copyBatch)
	if in.opts.Binary {
		data, err := w.CopyIn(pgwire.Binary, len(in.cols))
		if err != nil {
			return err
		}
		r := copyfmt.NewBinaryReader(data, len(in.cols))
		return in.read(ctx, r, func(fields []copyfmt.Field) error { return in.binaryRow(r, fields) }, r.Field)
	}
	data, err := w.CopyIn(pgwire.Text, len(in.cols))
	if err != nil {
		return err
	}
	r := copyfmt.NewReader(data, in.opts)
	if in.opts.Header {
		fields, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return in.locate(err, r, -1)
		}
		if in.opts.Match {
			if err := in.matchHeader(fields); err != nil {
				return in.locate(err, r, -1)
			}
		}
	}
	forceNull, forceNotNull := in.forceColumns()
	return in.read(ctx, r, func(fields []copyfmt.Field) error { return in.row(r, fields, forceNull, forceNotNull) }, func() int { return -1 })
}

// read inserts the rows of r, which row parses; at is the field in which an error of r is.
func (in *copyIn) read(ctx context.Context, r copyReader, row func([]copyfmt.Field) error, at func() int) error {
	for {
		fields, err := r.Next()
		if errors.Is(err, io.EOF) {
			return in.flush(ctx)
		}
		if err != nil {
			return in.locate(err, r, at())
		}
		if err := row(fields); err != nil {
			return err
		}
		if in.rows.Len() >= copyBatch {
			if err := in.flush(ctx); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
}

func (in *copyIn) forceColumns() (null, notNull []bool) {
	pick := func(list []string) []bool {
		out := make([]bool, len(in.cols))
		for i, c := range in.cols {
			out[i] = slices.Contains(list, in.rel.Columns[c].Name) || slices.Contains(list, "*")
		}
		return out
	}
	return pick(in.opts.ForceNull), pick(in.opts.ForceNotNull)
}

// row parses one row into rows.
func (in *copyIn) row(r *copyfmt.Reader, fields []copyfmt.Field, forceNull, forceNotNull []bool) error {
	if len(fields) > len(in.cols) {
		return in.locate(sqlerr.Newf(sqlerr.BadCopyFileFormat, "extra data after last expected column"), r, -1)
	}
	if len(fields) < len(in.cols) {
		// A line without anything is a row of one empty column.
		err := sqlerr.Newf(sqlerr.BadCopyFileFormat, "missing data for column %q", in.rel.Columns[in.cols[len(fields)]].Name)
		return in.locate(err, r, -1)
	}
	for i, f := range fields {
		v := in.rows.Cols[in.cols[i]]
		if f.Null && forceNotNull[i] {
			f = copyfmt.Field{Value: []byte(in.opts.Null)}
		}
		if f.Null || f.Quoted && forceNull[i] && string(f.Value) == in.opts.Null {
			v.AppendNull()
			continue
		}
		s := string(f.Value)
		if !utf8.ValidString(s) {
			return in.locate(sqlerr.Newf(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\""), r, -1)
		}
		d, err := types.ParseText(in.rel.Columns[in.cols[i]].Type, s, in.env)
		if err != nil {
			return in.locate(err, r, i)
		}
		v.AppendDatum(d)
	}
	in.rows.PushDiff(1)
	return nil
}

// binaryRow parses one row in binary format into rows.
func (in *copyIn) binaryRow(r copyReader, fields []copyfmt.Field) error {
	for i, f := range fields {
		v := in.rows.Cols[in.cols[i]]
		if f.Null {
			v.AppendNull()
			continue
		}
		d, err := in.env.ParseBinary(in.rel.Columns[in.cols[i]].Type, f.Value)
		if err != nil {
			return in.locate(err, r, i)
		}
		v.AppendDatum(d)
	}
	in.rows.PushDiff(1)
	return nil
}

func (in *copyIn) matchHeader(fields []copyfmt.Field) error {
	if len(fields) != len(in.cols) {
		return sqlerr.Newf(sqlerr.BadCopyFileFormat, "wrong number of fields in header line: got %d, expected %d", len(fields), len(in.cols))
	}
	for i, f := range fields {
		want := in.rel.Columns[in.cols[i]].Name
		if f.Null || string(f.Value) != want {
			return sqlerr.Newf(sqlerr.BadCopyFileFormat,
				"column name mismatch in header line field %d: got %q, expected %q", i+1, f.Value, want)
		}
	}
	return nil
}

// locate says in which line of the data, and in which field, an error is.
func (in *copyIn) locate(err error, r copyReader, field int) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Pos = sqlerr.NoPos
	if r.Line() == 0 {
		// In what is before the first row of binary data.
		return &c
	}
	c.Where = fmt.Sprintf("COPY %s, line %d", in.rel.Name, r.Line())
	if field >= 0 {
		c.Where += fmt.Sprintf(", column %s", in.rel.Columns[in.cols[field]].Name)
	}
	return &c
}

// flush inserts the rows that were read.
func (in *copyIn) flush(ctx context.Context) error {
	n := in.rows.Len()
	if n == 0 {
		return nil
	}
	have := make([]bool, len(in.rows.Cols))
	for _, c := range in.cols {
		have[c] = true
	}
	for k, v := range in.rows.Cols {
		if !have[k] {
			for range n {
				v.AppendNull()
			}
		}
	}
	rows := &vec.Chunk{Cols: slices.Clone(in.rows.Cols)}
	rows.SetLen(n)
	for k, x := range in.defaults {
		if x == nil {
			continue
		}
		v, err := in.w.eval(x, rows)
		if err != nil {
			return err
		}
		rows.Cols[k] = v
	}
	rows, err := in.filter(rows)
	if err != nil {
		return err
	}
	if len(in.w.d.Auto) == 0 {
		if rows, err = in.w.generate(rows); err != nil {
			return err
		}
	}
	if err := in.w.insertRows(ctx, rows); err != nil {
		return err
	}
	in.rows.Reset()
	return nil
}

// filter gives the rows that meet the condition of COPY ... WHERE.
func (in *copyIn) filter(rows *vec.Chunk) (*vec.Chunk, error) {
	if in.where == nil {
		return rows, nil
	}
	ok, err := in.w.eval(in.where, rows)
	if err != nil {
		return nil, err
	}
	var sel []int32
	for i := range rows.Len() {
		if !ok.IsNull(i) && ok.Bool[i] {
			sel = append(sel, int32(i))
		}
	}
	out := vec.NewChunk(rows.Types(), len(sel))
	out.AppendSel(rows, sel)
	return out, nil
}
