package session

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// write is a DML statement on its way.
type write struct {
	s   *session
	t   *tx
	d   *plan.DML
	tab *table.Table
	env *exec.Env
	// returned collects the rows of RETURNING: one chunk with what Returning is over.
	returned *vec.Chunk
	count    int
}

// dml runs an INSERT, UPDATE or DELETE.
func (s *session) dml(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	d, err := bindDML(e.p.dml, e.params)
	if err != nil {
		return pgwire.Result{}, err
	}
	w := &write{s: s, t: t, d: d, env: s.execEnv(t)}
	if w.tab, err = writableTable(ctx, t, d.Target); err != nil {
		return pgwire.Result{}, err
	}
	if t.writes.Empty() {
		// Its rows would be in memory while its commit waits.
		if err := t.inc.AdmitWork(ctx); err != nil {
			return pgwire.Result{}, err
		}
	}
	if s.vars.get("read_freshness") == "strict" {
		// Later it has locks that they may wait for.
		if err := awaitInto(ctx, t, []*catalog.Relation{d.Target}); err != nil {
			return pgwire.Result{}, err
		}
	}
	var tag string
	err = s.rerun(ctx, t, func() (err error) {
		w.returned, w.count = nil, 0
		if len(d.With) == 0 {
			tag, err = w.run(ctx)
		} else {
			err = s.modify(ctx, t, d.With, d.Query, d, func() (err error) {
				tag, err = w.run(ctx)
				return err
			})
		}
		if err == nil {
			err = w.end(ctx)
		}
		return err
	})
	if err != nil {
		return pgwire.Result{}, err
	}
	if d.Returning != nil {
		return w.sendReturning(e, tag)
	}
	return pgwire.Result{Tag: fmt.Sprintf("%s %d", tag, w.count)}, nil
}

// end does what foreign keys ask for at the end of the statement.
func (w *write) end(ctx context.Context) error {
	return w.t.writes.EndStatement(ctx, w.t.inc.Rules(w.t.catalog(), w.env))
}

func bindDML(d *plan.DML, params []types.Datum) (*plan.DML, error) {
	if len(params) == 0 {
		return d, nil
	}
	return d.WithParams(params), nil
}

// writableTable finds the storage side of the target of a write.
func writableTable(ctx context.Context, t *tx, rel *catalog.Relation) (*table.Table, error) {
	if rel.HasConnector() {
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot write to table %q, which a connector fills", rel.Name)
	}
	tab := t.table(rel.ID)
	if tab == nil {
		return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", rel.Name)
	}
	err := tab.Outdated(rel)
	if err != nil {
		// Somebody alters it. Planned again before that is done, the statement would be where it is now.
		if wait := t.writes.Await(ctx, tab); wait != nil {
			return nil, wait
		}
	}
	return tab, err
}

// collect runs the statement's query and gives its rows, cut to the columns lo to hi-1 of each.
func (w *write) collect(ctx context.Context) (*vec.Chunk, error) {
	rows := vec.NewChunk(w.d.Query.Root.Properties().Types(), 8)
	emit := func(c *vec.Chunk) error {
		rows.AppendRange(c, 0, c.Len())
		return nil
	}
	if w.s.mod == nil && w.d.Kind != plan.Insert && !w.t.isolated() && onlyPoint(w.d.Query) {
		return rows, w.s.runOnHead(ctx, w.t, w.d.Query, emit)
	}
	return rows, w.s.runBatch(ctx, w.t, w.d.Query, emit)
}

// columns gives a chunk that shows the columns lo to hi-1.
func columns(c *vec.Chunk, lo, hi int) *vec.Chunk {
	cols := make([]int, 0, hi-lo)
	for i := lo; i < hi; i++ {
		cols = append(cols, i)
	}
	var v vec.Chunk
	v.View(c, cols)
	return &v
}

func (w *write) insert(ctx context.Context) error {
	rows, err := w.collect(ctx)
	if err != nil || rows.Len() == 0 {
		return err
	}
	return w.insertRows(ctx, columns(rows, 0, len(w.tab.Types())))
}

// insertRows completes, checks and inserts complete rows of the table.
func (w *write) insertRows(ctx context.Context, rows *vec.Chunk) error {
	rows, err := w.complete(rows)
	if err != nil {
		return err
	}
	if err := w.check(rows); err != nil {
		return err
	}
	if rows, err = w.inTime(ctx, rows); err != nil || rows.Len() == 0 {
		return err
	}
	prepare := w.t.writes.Prepare
	if w.d.Conflict != nil {
		prepare = w.t.writes.PrepareUpsert
	}
	if err := prepare(ctx, w.tab, rows); err != nil {
		return err
	}
	if w.d.Conflict == nil {
		if ok, err := w.t.writes.InsertAll(w.tab, rows); ok || err != nil {
			w.count += rows.Len()
			for i := range rows.Len() {
				w.returning(rows, i)
			}
			return err
		}
	}
	mine := map[string]bool{}
	for i := range rows.Len() {
		c, err := w.tryInsert(rows, i)
		if err != nil {
			return err
		}
		if c != nil {
			if err := w.conflict(ctx, rows, i, c, mine); err != nil {
				return err
			}
			continue
		}
		w.count++
		if w.d.Conflict != nil {
			mine[string(w.tab.Key(nil, rows, i))] = true
		}
		w.returning(rows, i)
	}
	return nil
}

// tryInsert inserts row i, or gives the row that is in its way and that ON CONFLICT is about.
func (w *write) tryInsert(rows *vec.Chunk, i int) (*table.Conflict, error) {
	oc := w.d.Conflict
	if oc != nil && oc.Arbiters != nil {
		if c, err := w.t.writes.ConflictWith(w.tab, rows, i, oc.Arbiters); c != nil || err != nil {
			return c, err
		}
	}
	c, err := w.t.writes.Insert(w.tab, rows, i)
	if err == nil && c != nil && (oc == nil || oc.Arbiters != nil) {
		return nil, c.Err
	}
	return c, err
}

// inTime leaves out the rows that are older than the table's watermark, and says so.
func (w *write) inTime(ctx context.Context, rows *vec.Chunk) (*vec.Chunk, error) {
	if w.tab.Rel.Watermark == nil {
		return rows, nil
	}
	if err := w.t.writes.Lock(ctx, w.tab, true); err != nil {
		return nil, err
	}
	sel, all := w.tab.InTime(rows)
	if all {
		return rows, nil
	}
	late := rows.Len() - len(sel)
	w.t.inc.AddLate(w.tab.Rel.ID, int64(late))
	w.s.warn(sqlerr.Warning, fmt.Sprintf("%d rows are older than the watermark of table %q and were left out", late, w.tab.Rel.Name), "")
	out := vec.NewChunk(w.tab.Types(), len(sel))
	out.AppendSel(rows, sel)
	return out, nil
}

// complete fills in serial, identity and row id columns, and then generated ones.
func (w *write) complete(rows *vec.Chunk) (*vec.Chunk, error) {
	if len(w.d.Auto) == 0 {
		return rows, nil
	}
	out := &vec.Chunk{Cols: append([]*vec.Vector(nil), rows.Cols...)}
	out.SetLen(rows.Len())
	for _, col := range w.d.Auto {
		if !w.tab.Rel.Columns[col].Hidden {
			v, err := w.fillSequence(col, rows.Cols[col], rows.Len())
			if err != nil {
				return nil, err
			}
			out.Cols[col] = v
			continue
		}
		v := vec.NewVector(w.tab.Types()[col], rows.Len())
		var missing int64
		for i := range rows.Len() {
			if rows.Cols[col].IsNull(i) {
				missing++
			}
		}
		next := int64(0)
		if missing > 0 {
			var err error
			if next, err = w.tab.Sequence(col).Take(missing); err != nil {
				return nil, err
			}
		}
		for i := range rows.Len() {
			if rows.Cols[col].IsNull(i) {
				v.AppendDatum(types.DInt(next))
				next++
			} else {
				v.AppendFrom(rows.Cols[col], i)
			}
		}
		out.Cols[col] = v
	}
	return w.generate(out)
}

// generate computes the generated columns.
func (w *write) generate(rows *vec.Chunk) (*vec.Chunk, error) {
	if len(w.d.Generated) == 0 {
		return rows, nil
	}
	out := &vec.Chunk{Cols: append([]*vec.Vector(nil), rows.Cols...)}
	out.SetLen(rows.Len())
	for _, g := range w.d.Generated {
		v, err := w.eval(g.Expr, out)
		if err != nil {
			return nil, err
		}
		out.Cols[g.Col] = v
	}
	return out, nil
}

// eval computes an expression over all rows of c.
func (w *write) eval(x scalar.Expr, c *vec.Chunk) (*vec.Vector, error) {
	ev, err := expr.Compile(x, w.env)
	if err != nil {
		return nil, err
	}
	return ev.Eval(&expr.EvalContext{Env: w.env}, c)
}

// check tests NOT NULL and CHECK constraints.
func (w *write) check(rows *vec.Chunk) error {
	rel := w.d.Target
	for k, c := range rel.Columns {
		if !c.NotNull || !rows.Cols[k].Nulls.Any() {
			continue
		}
		for i := range rows.Len() {
			if rows.Cols[k].IsNull(i) {
				err := sqlerr.Newf(sqlerr.NotNullViolation,
					"null value in column %q of relation %q violates not-null constraint", c.Name, rel.Name).
					WithDetail("Failing row contains (%s).", w.describe(rows, i))
				err.Schema, err.Table, err.Column = rel.Schema, rel.Name, c.Name
				return err
			}
		}
	}
	for _, ck := range w.d.Checks {
		v, err := w.eval(ck.Expr, rows)
		if err != nil {
			return err
		}
		for i := range rows.Len() {
			if !v.Nulls.Get(i) && !v.Bool[i] {
				if ck.Domain != "" {
					return types.DomainViolation(ck.Domain, ck.Name)
				}
				err := sqlerr.Newf(sqlerr.CheckViolation,
					"new row for relation %q violates check constraint %q", rel.Name, ck.Name).
					WithDetail("Failing row contains (%s).", w.describe(rows, i))
				err.Schema, err.Table, err.Constraint = rel.Schema, rel.Name, ck.Name
				return err
			}
		}
	}
	return nil
}

// describe prints a row as in Postgres's details.
func (w *write) describe(rows *vec.Chunk, i int) string {
	env := w.s.typeEnv()
	var parts []string
	for k, c := range w.d.Target.Columns {
		if c.Hidden {
			continue
		}
		if rows.Cols[k].IsNull(i) {
			parts = append(parts, "null")
			continue
		}
		parts = append(parts, string(types.AppendText(nil, c.Type, rows.Cols[k].Datum(i), env)))
	}
	return strings.Join(parts, ", ")
}

// conflict resolves row i, which exists already.
func (w *write) conflict(ctx context.Context, rows *vec.Chunk, i int, c *table.Conflict, mine map[string]bool) error {
	oc := w.d.Conflict
	if err := w.visible(c); err != nil {
		return err
	}
	if !oc.DoUpdate {
		return nil
	}
	if mine[string(c.Key)] {
		return sqlerr.Newf(sqlerr.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
			WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
	}
	// Whoever wrote the row, it must not change any more. Its keys cannot: Prepare has locked them.
	if _, err := w.t.writes.LockRow(ctx, w.tab, c.Key, table.NoKeyUpdate, table.Await); err != nil {
		return err
	}
	now, err := w.t.writes.Get(w.tab, c.Key)
	if err != nil {
		return err
	}
	if now.New == nil {
		return concurrent(false)
	}
	if err := w.visible(&table.Conflict{Key: c.Key, Row: now.New}); err != nil {
		return err
	}
	n := len(w.tab.Types())
	both := vec.NewChunk(append(append([]types.Type(nil), w.tab.Types()...), w.tab.Types()...), 1)
	old := columns(both, 0, n)
	if _, err := vec.DecodeRow(now.New, old.Cols); err != nil {
		return err
	}
	for k := range n {
		both.Cols[n+k].AppendFrom(rows.Cols[k], i)
	}
	both.SetLen(1)
	old.SetLen(1)
	if oc.Where != nil {
		v, err := w.eval(oc.Where, both)
		if err != nil {
			return err
		}
		if v.Nulls.Get(0) || !v.Bool[0] {
			return nil
		}
	}
	fresh := &vec.Chunk{Cols: append([]*vec.Vector(nil), old.Cols...)}
	fresh.SetLen(1)
	for _, a := range oc.Set {
		v, err := w.eval(a.Expr, both)
		if err != nil {
			return err
		}
		fresh.Cols[a.Col] = v.Clone()
	}
	if fresh, err = w.generate(fresh); err != nil {
		return err
	}
	if err := w.check(fresh); err != nil {
		return err
	}
	if err := w.t.writes.LockRows(ctx, w.tab, old, fresh); err != nil {
		return err
	}
	if _, err := w.t.writes.Delete(w.tab, old, 0); err != nil {
		return err
	}
	clash, err := w.t.writes.Replace(w.tab, w.tab.Key(nil, old, 0), fresh, 0)
	if err != nil {
		return err
	}
	if clash != nil {
		return clash.Err
	}
	mine[string(w.tab.Key(nil, fresh, 0))] = true
	w.count++
	w.returning(fresh, 0)
	return nil
}

// visible refuses a row in the way of an INSERT ... ON CONFLICT that the transaction's snapshot does not have so.
func (w *write) visible(c *table.Conflict) error {
	if w.t.snap == nil {
		return nil
	}
	if _, own := w.t.writes.Own(w.tab, c.Key); own {
		return nil
	}
	row, ok, err := w.t.snap.Table(w.tab.Arr.ID()).Get(c.Key)
	if err != nil || ok && bytes.Equal(row, c.Row) {
		return err
	}
	return concurrent(true)
}

func (w *write) update(ctx context.Context) error {
	if err := w.t.writes.Lock(ctx, w.tab, false); err != nil {
		return err
	}
	rows, err := w.collect(ctx)
	if err != nil {
		return err
	}
	n := len(w.tab.Types())
	old, fresh := columns(rows, 0, n), columns(rows, n, 2*n)
	sel, err := w.take(ctx, old, fresh)
	if err != nil {
		return err
	}
	picked := vec.NewChunk(w.tab.Types(), len(sel))
	picked.AppendSel(fresh, sel)
	if err := w.check(picked); err != nil {
		return err
	}
	for i, at := range sel {
		clash, err := w.t.writes.Replace(w.tab, w.tab.Key(nil, old, int(at)), picked, i)
		if err != nil {
			return err
		}
		if clash != nil {
			return clash.Err
		}
		w.count++
		w.returning(rows, int(at))
	}
	return nil
}

func (w *write) remove(ctx context.Context) error {
	if err := w.t.writes.Lock(ctx, w.tab, false); err != nil {
		return err
	}
	rows, err := w.collect(ctx)
	if err != nil {
		return err
	}
	sel, err := w.take(ctx, columns(rows, 0, len(w.tab.Types())), nil)
	if err != nil {
		return err
	}
	for _, i := range sel {
		w.count++
		w.returning(rows, int(i))
	}
	return nil
}

// take locks and deletes the old rows, each once, and lists those that were there; they become fresh, or go if that is nil.
func (w *write) take(ctx context.Context, old, fresh *vec.Chunk) ([]int32, error) {
	sel := w.firsts(old)
	if err := w.lock(ctx, old, fresh, sel); err != nil {
		return nil, err
	}
	kept := sel[:0]
	for _, i := range sel {
		ok, err := w.takeOne(old, int(i))
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, i)
		}
	}
	return kept, nil
}

// firsts lists the rows of old, of those with the same key the first one.
func (w *write) firsts(old *vec.Chunk) []int32 {
	sel := make([]int32, 0, old.Len())
	if old.Len() == 1 {
		return append(sel, 0)
	}
	seen := make(map[string]struct{}, old.Len())
	var key []byte
	for i := range old.Len() {
		key = w.tab.Key(key[:0], old, i)
		if _, ok := seen[string(key)]; ok {
			continue
		}
		seen[string(key)] = struct{}{}
		sel = append(sel, int32(i))
	}
	return sel
}

// lock locks rows of old, which become those of fresh or go.
func (w *write) lock(ctx context.Context, old, fresh *vec.Chunk, sel []int32) error {
	pick := func(c *vec.Chunk) *vec.Chunk {
		if c == nil || len(sel) == c.Len() {
			return c
		}
		out := vec.NewChunk(w.tab.Types(), len(sel))
		out.AppendSel(c, sel)
		return out
	}
	return w.t.writes.LockRows(ctx, w.tab, pick(old), pick(fresh))
}

// takeOne deletes a row that is locked, if it is as it was read. It is false if it is gone, or another part of the statement has changed it.
func (w *write) takeOne(old *vec.Chunk, i int) (bool, error) {
	got, err := w.t.writes.Take(w.tab, old, i)
	if err != nil || got == table.Taken {
		return err == nil, err
	}
	if m := w.s.mod; m != nil {
		// Of several parts of a statement that change a row, the first one does.
		key := w.tab.Key(nil, old, i)
		if own, ok := w.t.writes.Own(w.tab, key); ok {
			before := m.fixed[w.tab.Rel.ID]
			if before == nil {
				return false, nil
			}
			if was, ok := before.Get(string(key)); !ok || !bytes.Equal(was.New, own.New) {
				return false, nil
			}
		}
	}
	return false, concurrent(got == table.Changed)
}

// returning keeps a row for RETURNING.
func (w *write) returning(rows *vec.Chunk, i int) {
	if w.d.Returning == nil {
		return
	}
	if w.returned == nil {
		w.returned = vec.NewChunk(rows.Types(), 8)
	}
	w.returned.AppendFromDiff(rows, i, 1)
}

// sendReturning computes and sends the rows of RETURNING.
func (w *write) sendReturning(e *execution, tag string) (pgwire.Result, error) {
	if e.announce {
		e.w.Columns(e.p.columns)
	}
	r := &result{as: appendersFor(columnTypes(e.p), e.formats, w.s.typeEnv()), tag: tag}
	out, err := w.returnedRows()
	if err != nil {
		return pgwire.Result{}, err
	}
	if out.Len() > 0 {
		r.chunks = []*vec.Chunk{out}
	}
	e.rest = nil
	if e.collect != nil {
		return r.give(e)
	}
	return r.send(e.w)
}

// statementName names a statement for messages, as in its command tag.
func statementName(st ast.Statement) string {
	switch st.(type) {
	case *ast.Select:
		return "SELECT"
	case *ast.Merge:
		return "MERGE"
	case *ast.Insert:
		return "INSERT"
	case *ast.Update:
		return "UPDATE"
	case *ast.Delete:
		return "DELETE"
	case *ast.Copy:
		return "COPY FROM"
	case *ast.CreateTable:
		return "CREATE TABLE"
	case *ast.CreateView:
		return "CREATE VIEW"
	case *ast.CreateSource:
		return "CREATE SOURCE"
	case *ast.CreateSink:
		return "CREATE SINK"
	case *ast.CreateSchema:
		return "CREATE SCHEMA"
	case *ast.CreateIndex:
		return "CREATE INDEX"
	case *ast.CreateFunction:
		return "CREATE FUNCTION"
	case *ast.Drop:
		return "DROP"
	case *ast.Truncate:
		return "TRUNCATE TABLE"
	case *ast.LockTable:
		return "LOCK TABLE"
	case *ast.Alter:
		return "ALTER"
	case *ast.Comment:
		return "COMMENT"
	case *ast.SetConstraints:
		return "SET CONSTRAINTS"
	}
	return "statement"
}
