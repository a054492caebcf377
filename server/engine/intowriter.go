package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// intoWriter writes transactions of a sink into its table. Rows of the query with the key of a row of the table take its place, in
// the columns that the query gives; rows that go take the row with their key away, whoever wrote it.
type intoWriter struct {
	i    *Incarnation
	sink *catalog.Relation
	t    *table.Table
	env  *exec.Env
	// query are the types of the query's columns; values give the table's columns from them, and given says which of those come
	// from the query.
	query     []types.Type
	values    []scalar.Expr
	given     []bool
	auto      []int
	generated []plan.Generated
	checks    []plan.Check
}

// intoExprs gives what the table's columns get, over the columns of the query.
func intoExprs(p *planner.Planner, sink, target *catalog.Relation) (values []scalar.Expr, given []bool, err error) {
	from := &catalog.Relation{Name: sink.Name, Schema: sink.Schema, Kind: catalog.Table}
	by := map[string]int{}
	for k, c := range sink.Columns {
		from.Columns = append(from.Columns, catalog.Column{Name: fmt.Sprintf("c%d", k), Type: c.Type})
		by[sink.IntoColumns[k]] = k
	}
	values, given = make([]scalar.Expr, len(target.Columns)), make([]bool, len(target.Columns))
	for k, c := range target.Columns {
		at, ok := by[c.Name]
		switch {
		case ok && !c.Hidden:
			given[k] = true
			x := &ast.ColumnRef{Parts: []string{from.Columns[at].Name}}
			if values[k], err = p.Expr(x, from, c.Type, "DEFAULT expressions"); err != nil {
				return nil, nil, sqlerr.Newf(sqlerr.DatatypeMismatch, "column %q is of type %s but expression is of type %s", c.Name, c.Type, from.Columns[at].Type).
					WithHint("You will need to rewrite or cast the expression.")
			}
		case c.Default != "" && !c.Generated:
			x, err := parse.ParseExpr(c.Default)
			if err != nil {
				return nil, nil, err
			}
			if values[k], err = p.Expr(x, nil, c.Type, "DEFAULT expressions"); err != nil {
				return nil, nil, err
			}
		}
	}
	return values, given, nil
}

// CheckInto tells whether the columns of a sink can be those of a table.
func (i *Incarnation) CheckInto(cat *catalog.Catalog, sink, target *catalog.Relation) error {
	_, _, err := intoExprs(i.intoPlanner(cat, sink, target), sink, target)
	return err
}

// intoPlanner makes a planner for the expressions of a table, as they are for a sink's owner.
func (i *Incarnation) intoPlanner(cat *catalog.Catalog, sink, target *catalog.Relation) *planner.Planner {
	return i.storedPlanner(cat, &catalog.Relation{SearchPath: sink.SearchPath, Functions: target.Functions}, time.Time{})
}

func (i *Incarnation) newIntoWriter(sink *catalog.Relation) (*intoWriter, error) {
	cat := i.Catalog()
	target := cat.RelationByID(sink.Into)
	w := &intoWriter{
		i: i, sink: sink, t: i.Table(sink.Into),
		env: &exec.Env{Location: time.UTC, User: sink.Owner, Database: "weir", Types: userTypes{i}},
	}
	if target == nil || w.t == nil {
		return nil, fmt.Errorf("the table of sink %s is gone", sink.Name)
	}
	p := i.intoPlanner(cat, sink, target)
	var err error
	if w.values, w.given, err = intoExprs(p, sink, target); err != nil {
		return nil, err
	}
	for _, c := range sink.Columns {
		w.query = append(w.query, c.Type)
	}
	d, err := tableDML(p, target)
	if err != nil {
		return nil, err
	}
	w.generated, w.checks = d.Generated, d.Checks
	for _, k := range d.Auto {
		if !w.given[k] {
			w.auto = append(w.auto, k)
		}
	}
	return w, nil
}

// maxWriteTries is how often a transaction is tried again that was in a deadlock.
const maxWriteTries = 20

// write writes a transaction unless it was written before.
func (w *intoWriter) write(item intoItem) error {
	at, err := w.i.seqs.Position(w.sink.ID)
	if err != nil {
		return err
	}
	if int64(item.epoch) <= at {
		if item.again {
			return nil
		}
		return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "the table of sink %q has later changes of it than the checkpoint that the server went back to", w.sink.Name)
	}
	for n := 0; ; n++ {
		x := table.NewTx()
		x.SetLimit(w.i.TxLimit())
		err := w.fill(w.i.Ctx, x, item.handle)
		if err == nil {
			err = w.i.seqs.SetPosition(w.i.Ctx, x, w.sink.ID, int64(item.epoch))
		}
		if err == nil {
			return w.i.Commit(w.i.Ctx, x, true)
		}
		x.Release()
		var known *sqlerr.Error
		if !errors.As(err, &known) || known.Code != sqlerr.DeadlockDetected || n == maxWriteTries {
			return err
		}
	}
}

// fill makes the changes of a handle.
func (w *intoWriter) fill(ctx context.Context, x *table.Tx, handle []byte) error {
	w.env.Now = time.Now()
	gone, come := vec.NewChunk(w.query, 8), vec.NewChunk(w.query, 8)
	err := eachRow(handle, func(diff int64, row []byte) error {
		to := come
		if diff < 0 {
			to, diff = gone, 1
		} else if w.t.Rel.PrimaryKey != "" {
			diff = 1
		}
		for range diff {
			if _, err := vec.DecodeRow(row, to.Cols); err != nil {
				return err
			}
			to.SetLen(to.Len() + 1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := x.Lock(ctx, w.t, w.t.Rel.PrimaryKey != ""); err != nil {
		return err
	}
	old, err := w.convert(gone)
	if err != nil {
		return err
	}
	rows, err := w.convert(come)
	if err != nil {
		return err
	}
	if w.t.Rel.PrimaryKey == "" {
		if gone.Len() > 0 {
			return fmt.Errorf("sink %s: a row goes from a table without a key", w.sink.Name)
		}
		if rows, err = w.complete(rows); err != nil {
			return err
		}
		if err := w.check(rows); err != nil {
			return err
		}
		if err := x.Prepare(ctx, w.t, rows); err != nil {
			return err
		}
		for k := range rows.Len() {
			if err := w.insert(x, rows, k, nil); err != nil {
				return err
			}
		}
		return nil
	}
	return w.upsert(x, old, rows)
}

// upsert makes the changes of a table with a key. First everything goes that goes or is replaced, so that no row is in the way of
// another one under a further unique key.
func (w *intoWriter) upsert(x *table.Tx, old, rows *vec.Chunk) error {
	keys := map[string]int{} // the last row of each key
	for k := range rows.Len() {
		key := string(w.t.Key(nil, rows, k))
		keys[key] = k
	}
	present := vec.NewChunk(w.t.Types(), 1)
	remove := func(key []byte) (bool, error) {
		r, err := x.Get(w.t, key)
		if err != nil || r.New == nil {
			return false, err
		}
		present.Reset()
		if err := w.t.Decode(present, r.New, 1); err != nil {
			return false, err
		}
		return x.Delete(w.t, present, 0)
	}
	for k := range old.Len() {
		key := w.t.Key(nil, old, k)
		if _, ok := keys[string(key)]; ok {
			continue
		}
		if _, err := remove(key); err != nil {
			return err
		}
	}
	fresh, kept := vec.NewChunk(w.t.Types(), rows.Len()), vec.NewChunk(w.t.Types(), 1)
	for k := range rows.Len() {
		key := w.t.Key(nil, rows, k)
		if keys[string(key)] != k {
			continue
		}
		was, err := remove(key)
		if err != nil {
			return err
		}
		to := fresh
		if was {
			to = kept
		}
		for c := range to.Cols {
			// What the query does not give stays.
			if was && !w.given[c] {
				to.Cols[c].AppendFrom(present.Cols[c], 0)
			} else {
				to.Cols[c].AppendFrom(rows.Cols[c], k)
			}
		}
		to.SetLen(to.Len() + 1)
	}
	fresh, err := w.complete(fresh)
	if err != nil {
		return err
	}
	if kept, err = w.generate(kept); err != nil {
		return err
	}
	for _, c := range []*vec.Chunk{kept, fresh} {
		if err := w.check(c); err != nil {
			return err
		}
		for k := range c.Len() {
			var old []byte
			if c == kept {
				old = w.t.Key(nil, c, k)
			}
			if err := w.insert(x, c, k, old); err != nil {
				return err
			}
		}
	}
	return nil
}

// insert inserts a row, in place of the one with key old if that is not nil.
func (w *intoWriter) insert(x *table.Tx, rows *vec.Chunk, k int, old []byte) error {
	clash, err := x.Replace(w.t, old, rows, k)
	if err == nil && clash != nil {
		err = clash.Err
	}
	return err
}

// convert makes rows of the table of rows of the query, without what complete adds.
func (w *intoWriter) convert(c *vec.Chunk) (*vec.Chunk, error) {
	out := &vec.Chunk{}
	for k, x := range w.values {
		if x == nil {
			v := vec.NewVector(w.t.Types()[k], c.Len())
			for range c.Len() {
				v.AppendNull()
			}
			out.Cols = append(out.Cols, v)
			continue
		}
		v, err := w.eval(x, c)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, v)
	}
	out.SetLen(c.Len())
	return out, nil
}

func (w *intoWriter) eval(x scalar.Expr, c *vec.Chunk) (*vec.Vector, error) {
	return evalAll(x, w.env, c)
}

// complete fills in serial and row id columns, and then generated ones.
func (w *intoWriter) complete(rows *vec.Chunk) (*vec.Chunk, error) {
	out := &vec.Chunk{Cols: slices.Clone(rows.Cols)}
	out.SetLen(rows.Len())
	for _, col := range w.auto {
		if c := w.t.Rel.Columns[col]; !c.Hidden {
			seq := w.i.Catalog().RelationByID(c.Sequence)
			if seq == nil {
				return nil, sqlerr.Newf(sqlerr.UndefinedTable, "could not open relation with OID %d", uint32(c.Sequence))
			}
			v, _, _, err := w.i.FillColumn(seq, rows.Cols[col], rows.Len(), true)
			if err != nil {
				return nil, err
			}
			out.Cols[col] = v
			continue
		}
		next, err := w.t.Sequence(col).Take(int64(rows.Len()))
		if err != nil {
			return nil, err
		}
		v := vec.NewVector(w.t.Types()[col], rows.Len())
		for k := range rows.Len() {
			v.AppendDatum(types.DInt(next + int64(k)))
		}
		out.Cols[col] = v
	}
	return w.generate(out)
}

func (w *intoWriter) generate(rows *vec.Chunk) (*vec.Chunk, error) {
	out := &vec.Chunk{Cols: slices.Clone(rows.Cols)}
	out.SetLen(rows.Len())
	for _, g := range w.generated {
		v, err := w.eval(g.Expr, out)
		if err != nil {
			return nil, err
		}
		out.Cols[g.Col] = v
	}
	return out, nil
}

// check tests NOT NULL and CHECK constraints.
func (w *intoWriter) check(rows *vec.Chunk) error {
	rel := w.t.Rel
	for k, c := range rel.Columns {
		for n := range rows.Len() {
			if c.NotNull && rows.Cols[k].IsNull(n) {
				err := sqlerr.Newf(sqlerr.NotNullViolation, "null value in column %q of relation %q violates not-null constraint", c.Name, rel.Name).
					WithDetail("The row comes from sink %q.", w.sink.Name)
				err.Schema, err.Table, err.Column = rel.Schema, rel.Name, c.Name
				return err
			}
		}
	}
	for _, ck := range w.checks {
		v, err := w.eval(ck.Expr, rows)
		if err != nil {
			return err
		}
		for n := range rows.Len() {
			if !v.Nulls.Get(n) && !v.Bool[n] {
				if ck.Domain != "" {
					return types.DomainViolation(ck.Domain, ck.Name)
				}
				err := sqlerr.Newf(sqlerr.CheckViolation, "new row for relation %q violates check constraint %q", rel.Name, ck.Name).
					WithDetail("The row comes from sink %q.", w.sink.Name)
				err.Schema, err.Table, err.Constraint = rel.Schema, rel.Name, ck.Name
				return err
			}
		}
	}
	return nil
}
