package session

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// explainOptions are those of EXPLAIN (...).
type explainOptions struct {
	analyze, state  bool
	timing, summary bool
	// format is text, json, xml, yaml or dot.
	format string
}

func (s *session) explainOptions(st *ast.Explain) (explainOptions, error) {
	o := explainOptions{analyze: st.Analyze, timing: true, summary: true, format: "text"}
	on := func(x ast.Option) (bool, error) {
		if !x.IsSet {
			return true, nil
		}
		d, err := types.ParseText(types.T(types.Bool), x.Value, nil)
		if err != nil {
			return false, sqlerr.New(sqlerr.SyntaxError, x.Pos, "%s requires a Boolean value", x.Name)
		}
		return d.Bool(), nil
	}
	var timing *ast.Option
	for k, x := range st.Options {
		var err error
		switch x.Name {
		case "analyze", "analyse":
			o.analyze, err = on(x)
		case "state":
			o.state, err = on(x)
		case "timing":
			timing = &st.Options[k]
			o.timing, err = on(x)
		case "summary":
			o.summary, err = on(x)
		case "dot":
			var dot bool
			if dot, err = on(x); dot {
				o.format = "dot"
			}
		case "verbose", "costs", "buffers", "settings", "wal":
			_, err = on(x) // there is nothing that could be left out
		case "format":
			switch f := strings.ToLower(x.Value); f {
			case "text", "json", "xml", "yaml", "dot":
				o.format = f
			default:
				err = sqlerr.New(sqlerr.InvalidParameterValue, x.Pos, "unrecognized value for EXPLAIN option \"format\": %q", x.Value)
			}
		default:
			err = sqlerr.New(sqlerr.SyntaxError, x.Pos, "unrecognized EXPLAIN option %q", x.Name)
		}
		if err != nil {
			return o, err
		}
	}
	if timing != nil && o.timing && !o.analyze {
		return o, sqlerr.Newf(sqlerr.InvalidParameterValue, "EXPLAIN option TIMING requires ANALYZE")
	}
	return o, nil
}

// xmlOID is the type of a plan in XML. There are no values of it otherwise.
const xmlOID = 142

// explainOID is the type of a plan's column.
func explainOID(format string) uint32 {
	switch format {
	case "json":
		return types.T(types.Json).OID()
	case "xml":
		return xmlOID
	}
	return types.T(types.Text).OID()
}

// explained is a plan with what is to be said of it.
type explained struct {
	batch  *plan.Batch
	stream *plan.Stream
	notes  plan.Notes
	// more are figures of the whole.
	more []plan.Note
	// warnings are said beside the plan.
	warnings []string
	// text is the plan where there is no other form.
	text string
}

func (x *explained) lines(format string) ([]string, error) {
	var outline []*plan.Outline
	text := x.text
	switch {
	case x.batch != nil && format == "text":
		text = x.batch.ExplainNoted(x.notes)
	case x.batch != nil:
		outline = x.batch.Outline(x.notes)
	case x.stream != nil && format == "text":
		text = x.stream.ExplainNoted(x.notes)
	case x.stream != nil:
		outline = x.stream.Outline(x.notes)
	case format != "text":
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "EXPLAIN (FORMAT %s) of this statement is not supported", strings.ToUpper(format))
	}
	switch format {
	case "json":
		out, err := plan.OutlineJSON(outline, x.more...)
		return []string{strings.TrimRight(out, "\n")}, err
	case "xml":
		return []string{plan.OutlineXML(outline, x.more...)}, nil
	case "yaml":
		return []string{plan.OutlineYAML(outline, x.more...)}, nil
	case "dot":
		text = plan.OutlineDOT(outline)
	default:
		for _, n := range x.more {
			unit := ""
			v := fmt.Sprint(n.Value)
			if f, ok := n.Value.(float64); ok {
				v, unit = fmt.Sprintf("%.3f", f), " ms"
			}
			text += n.Name + ": " + v + unit + "\n"
		}
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n"), nil
}

// onError says what becomes of rows that fail, if it is not the usual.
func (x *explained) onError(rel *catalog.Relation) {
	if rel.OnError != catalog.OnErrorNull {
		x.more = append(x.more, plan.Note{Name: "On Error", Value: onErrorName(rel)})
	}
}

// prepareExplain finds the types of the parameters of an EXPLAIN.
func (s *session) prepareExplain(ctx context.Context, p *prepared, st *ast.Explain) error {
	if err := s.allowed(st); err != nil {
		return err
	}
	t, err := s.begin(ctx)
	if err != nil {
		return err
	}
	b, err := s.planner(t.catalog(), s.vars.searchPath(s.user())).Bind(st.Stmt, p.given)
	if err != nil {
		return s.notYet(t, err)
	}
	p.explained = b.ParamTypes
	for _, pt := range b.ParamTypes {
		p.oids = append(p.oids, wireType(pt).OID())
	}
	return nil
}

// explainParams are the parameters of the statement that EXPLAIN is of.
type explainParams struct {
	types  []types.Type
	values []types.Datum
}

// explain prints plans.
func (s *session) explain(ctx context.Context, t *tx, st *ast.Explain, params explainParams) (*textResult, error) {
	o, err := s.explainOptions(st)
	if err != nil {
		return nil, err
	}
	x, err := s.explainPlan(ctx, t, st, o, params)
	if err != nil {
		return nil, err
	}
	lines, err := x.lines(o.format)
	if err != nil {
		return nil, err
	}
	for _, w := range x.warnings {
		s.warn(sqlerr.Warning, w, "")
	}
	r := &textResult{names: []string{"QUERY PLAN"}, tag: "EXPLAIN", oid: explainOID(o.format)}
	for _, l := range lines {
		r.rows = append(r.rows, []string{s.resolved(l)})
	}
	return r, nil
}

func (s *session) explainPlan(ctx context.Context, t *tx, st *ast.Explain, o explainOptions, params explainParams) (*explained, error) {
	cat := t.catalog()
	pl := s.planner(cat, s.vars.searchPath(s.user()))
	no := func(what string) error {
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "EXPLAIN %s of this statement is not supported", what)
	}
	if st.View != nil {
		d := &definer{s: s, t: t, cat: cat}
		rel, err := d.find(ast.KindMatView, *st.View, false)
		if err != nil {
			return nil, err
		}
		stream, err := t.inc.PlanStream(cat, rel)
		if err != nil {
			return nil, err
		}
		x := &explained{stream: stream}
		switch {
		case o.analyze:
			if err := s.authorize(cat)(rel, catalog.Select, ""); err != nil {
				return nil, err
			}
			err = s.analyzeView(ctx, t, x, rel)
		case o.state:
			err = s.predictState(ctx, t, x)
		}
		x.onError(rel)
		return x, err
	}
	stmt := st.Stmt
	if d, ok := stmt.(*ast.DeclareCursor); ok {
		stmt = d.Query
	}
	switch q := stmt.(type) {
	case *ast.CreateView:
		if !q.Materialized {
			return nil, no("")
		}
		if o.analyze {
			return nil, no("ANALYZE")
		}
		b, err := pl.Bind(q.Query, nil)
		if err != nil {
			return nil, err
		}
		var rel catalog.Relation
		s.vars.planAs(&rel)
		if _, err := onErrorOption(&rel, q.Options); err != nil {
			return nil, err
		}
		options := planner.StreamOptions{Parallelism: t.inc.Parallelism(), OnClose: q.EmitOnWindowClose, Share: engine.Sharing(&rel), Common: rel.Common}
		rel.Kind, rel.Owner, rel.OnClose, rel.Functions = catalog.MatView, s.user(), q.EmitOnWindowClose, b.Functions
		for _, r := range b.Relations {
			rel.DependsOn = append(rel.DependsOn, r.ID)
		}
		options.Indexes = t.inc.Indexes(cat, &rel)
		if s.vars.get(viewsSetting) == "on" {
			options.Views = t.inc.Views(cat, &rel)
		}
		stream, err := pl.Stream(b, options)
		if err != nil {
			return nil, err
		}
		x := &explained{stream: stream}
		if o.state {
			err = s.predictState(ctx, t, x)
		}
		x.onError(&rel)
		return x, err
	case *ast.Select:
		if o.state {
			return nil, no("(STATE)")
		}
		began := time.Now()
		b, err := pl.Bind(q, params.types)
		if err != nil {
			return nil, err
		}
		batch, err := pl.Batch(b)
		if err != nil {
			return nil, err
		}
		if batch, err = bindParams(batch, params.values); err != nil {
			return nil, err
		}
		x := &explained{batch: batch}
		if o.analyze {
			err = s.analyze(ctx, t, x, o, time.Since(began))
		}
		return x, err
	case *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge:
		if o.analyze || o.state {
			return nil, no("ANALYZE")
		}
		b, err := pl.Bind(q, params.types)
		if err != nil {
			return nil, err
		}
		d, err := pl.DML(b)
		if err != nil {
			return nil, err
		}
		return &explained{text: d.Explain()}, nil
	}
	return nil, no("")
}

// milliseconds are how times are told.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// analyze runs a query and notes what its nodes did. A time is that of a node and everything below it.
func (s *session) analyze(ctx context.Context, t *tx, x *explained, o explainOptions, planning time.Duration) error {
	stats := map[plan.Node]*batch.Stats{}
	began := time.Now()
	whole := &batch.Stats{}
	err := s.runObserved(ctx, t, x.batch, func(n plan.Node) *batch.Stats {
		if stats[n] == nil {
			stats[n] = &batch.Stats{}
		}
		return stats[n]
	}, func(c *vec.Chunk) error {
		whole.Rows += int64(c.Len())
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	whole.Time, whole.Loops = took, 1
	x.notes = func(n plan.Node) []plan.Note {
		k := stats[n]
		switch {
		case n == nil:
			k = whole
		case k == nil || k.Loops == 0:
			return []plan.Note{{Name: "never executed", Value: "yes"}}
		}
		var ns []plan.Note
		if o.timing {
			ns = append(ns, plan.Note{Name: "actual time", Value: milliseconds(k.Time)})
		}
		return append(ns, plan.Note{Name: "rows", Value: k.Rows}, plan.Note{Name: "loops", Value: k.Loops})
	}
	if o.summary {
		x.more = []plan.Note{{Name: "Planning Time", Value: milliseconds(planning)}, {Name: "Execution Time", Value: milliseconds(took)}}
	}
	return nil
}

// predictState notes what each node of a view is expected to keep.
func (s *session) predictState(ctx context.Context, t *tx, x *explained) error {
	snap, err := t.inc.Snapshot(ctx, true)
	if err != nil {
		return err
	}
	defer snap.Release()
	var failed error
	est := x.stream.EstimateState(func(r *catalog.Relation) float64 {
		if r.Kind == catalog.Source {
			n, ok := t.inc.SourceRows(r)
			if !ok {
				return 0
			}
			return float64(n)
		}
		n, err := snap.Table(storage.TableID(r.Rows())).EstimateRows(nil, nil)
		if err != nil {
			failed = errors.Join(failed, err)
		}
		return float64(n)
	})
	if failed != nil {
		return failed
	}
	x.notes = func(n plan.Node) []plan.Note {
		e := est[n]
		ns := []plan.Note{{Name: "rows", Value: int64(e.Out)}}
		if e.Rows > 0 {
			ns = append(ns, plan.Note{Name: "state_rows", Value: int64(e.Rows)}, plan.Note{Name: "state_bytes", Value: int64(e.Bytes)})
		}
		if e.Grows != "" {
			ns = append(ns, plan.Note{Name: "state", Value: "unbounded"})
		}
		return ns
	}
	rows, bytes := 0.0, 0.0
	seen := map[string]bool{}
	for _, e := range est {
		rows += e.Rows
		bytes += e.Bytes
		if e.Grows != "" && !seen[e.Grows] {
			seen[e.Grows] = true
			x.warnings = append(x.warnings, "the state of this view has no bound: "+e.Grows)
		}
	}
	sort.Strings(x.warnings)
	x.more = []plan.Note{{Name: "State Rows", Value: int64(rows)}, {Name: "State Bytes", Value: int64(bytes)}}
	return nil
}

// analyzeView notes what each node of a view has done since its job was started, and what it keeps: its durable state,
// of the last checkpoint.
func (s *session) analyzeView(ctx context.Context, t *tx, x *explained, rel *catalog.Relation) error {
	names := build.StateNames(x.stream)
	snap, err := t.inc.SnapshotOf(ctx, true, []*catalog.Relation{rel})
	if err != nil {
		return err
	}
	defer snap.Release()
	sizes := map[string]stateSize{}
	total := stateSize{}
	for name, id := range rel.StateTables {
		size, err := s.stateSize(ctx, t, storage.TableID(id))
		if err != nil {
			return err
		}
		if name == engine.RowErrorsState {
			continue // of no node
		}
		at := strings.LastIndexByte(name, '/')
		sum := sizes[name[:at]]
		sum.add(size)
		sizes[name[:at]] = sum
		total.add(size)
	}
	view := stateSize{}
	it := snap.Table(storage.TableID(rel.Rows())).Iterator(nil, nil, false)
	defer it.Close()
	for it.Next() {
		view.rows++
		view.bytes += int64(len(it.Key()) + len(it.Value()))
		if view.rows&4095 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	total.add(view)
	did := map[string]flow.OperatorInfo{}
	for _, o := range t.inc.Operators() {
		if o.Job == flow.JobID(rel.ID) {
			did[fmt.Sprintf("%d/%s", o.Fragment, o.Name)] = o
		}
	}
	x.notes = func(n plan.Node) []plan.Note {
		var ns []plan.Note
		if o, ok := did[names[n]]; ok {
			ns = append(ns, plan.Note{Name: "rows", Value: o.RowsOut}, plan.Note{Name: "busy", Value: milliseconds(o.Busy)})
		}
		if _, ok := n.(*plan.Materialize); ok {
			return append(ns, view.notes()...)
		}
		if size, ok := sizes[names[n]]; ok {
			ns = append(ns, size.notes()...)
		}
		return ns
	}
	x.more = []plan.Note{{Name: "State Rows", Value: total.rows}, {Name: "State Bytes", Value: total.bytes}}
	return nil
}

// stateSize is how much a node keeps.
type stateSize struct{ rows, bytes int64 }

func (z *stateSize) add(o stateSize) { z.rows, z.bytes = z.rows+o.rows, z.bytes+o.bytes }

func (z stateSize) notes() []plan.Note {
	return []plan.Note{{Name: "state_rows", Value: z.rows}, {Name: "state_bytes", Value: z.bytes}}
}

func (s *session) stateSize(ctx context.Context, t *tx, id storage.TableID) (stateSize, error) {
	var z stateSize
	st, err := t.inc.Store.StateTable(id)
	if err != nil {
		return z, err
	}
	err = st.Scan(nil, func(k, v []byte) error {
		z.rows++
		z.bytes += int64(len(k) + len(v))
		if z.rows&4095 == 0 {
			return ctx.Err()
		}
		return nil
	})
	return z, err
}
