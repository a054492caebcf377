package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidwall/btree"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// modifying is a statement with data-modifying statements in WITH. All of its parts read one snapshot, and what the transaction
// had changed when it began; what they return is handed on in rows.
type modifying struct {
	snap  *storage.Snapshot
	fixed map[catalog.ID]*btree.Map[string, table.Row]
	rows  map[catalog.ID]*vec.Chunk
	// run runs a statement in WITH, and those that it reads, unless it has run.
	run func(m plan.Modifying) error
}

// modify runs the data-modifying statements in WITH, all to their ends: those that main reads before it, the others after it, the last
// one first, as PostgreSQL does. query is what main reads, and target what it changes, nil if it is a query.
func (s *session) modify(ctx context.Context, t *tx, with []plan.Modifying, query *plan.Batch, target *plan.DML, main func() error) error {
	all := make([]*plan.DML, 0, len(with)+1)
	for _, m := range with {
		all = append(all, m.DML)
	}
	if target != nil {
		all = append(all, target)
	}
	rels := slices.Clone(query.Relations)
	for _, d := range all {
		rels = append(rels, d.Query.Relations...)
	}
	if err := s.lockTargets(ctx, t, all); err != nil {
		return err
	}
	if err := checkStalled(t, rels); err != nil {
		return err
	}
	snap, release, err := s.snapshotFor(ctx, t, rels)
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkRelations(t, snap, rels); err != nil {
		return err
	}
	r := &reader{s: s, t: t}
	r.fix(rels)
	s.mod = &modifying{snap: snap, fixed: r.fixed, rows: map[catalog.ID]*vec.Chunk{}}
	defer func() { s.mod = nil }()
	s.mod.run = func(m plan.Modifying) error {
		if s.mod.rows[m.Rel.ID] != nil {
			return nil
		}
		if err := s.runRead(with, m.Query); err != nil {
			return err
		}
		w := &write{s: s, t: t, d: m.DML, env: s.execEnv(t)}
		var err error
		if w.tab, err = writableTable(ctx, t, m.Target); err != nil {
			return err
		}
		if _, err := w.run(ctx); err != nil {
			return err
		}
		s.mod.rows[m.Rel.ID], err = w.returnedRows()
		return err
	}
	if err := s.runRead(with, query); err != nil {
		return err
	}
	if err := main(); err != nil {
		return err
	}
	for _, m := range slices.Backward(with) {
		if err := s.mod.run(m); err != nil {
			return err
		}
	}
	return nil
}

// runRead runs those of the statements in WITH that a query reads.
func (s *session) runRead(with []plan.Modifying, q *plan.Batch) error {
	for _, m := range with {
		if !slices.ContainsFunc(q.Relations, func(r *catalog.Relation) bool { return r.ID == m.Rel.ID }) {
			continue
		}
		if err := s.mod.run(m); err != nil {
			return err
		}
	}
	return nil
}

// lockTargets shares the tables from which statements take rows, before they read them.
func (s *session) lockTargets(ctx context.Context, t *tx, all []*plan.DML) error {
	var tabs []*table.Table
	for _, d := range all {
		tab, err := writableTable(ctx, t, d.Target)
		if err != nil {
			return err
		}
		if s.vars.get("read_freshness") == "strict" {
			if err := awaitInto(ctx, t, []*catalog.Relation{d.Target}); err != nil {
				return err
			}
		}
		if d.Kind != plan.Insert || d.Conflict != nil && d.Conflict.DoUpdate {
			tabs = append(tabs, tab)
		}
	}
	slices.SortFunc(tabs, func(a, b *table.Table) int { return int(a.Rel.ID) - int(b.Rel.ID) })
	for _, tab := range tabs {
		if err := t.writes.Lock(ctx, tab, false); err != nil {
			return err
		}
	}
	return nil
}

// modifiedLeaf reads what a data-modifying statement in WITH has returned.
func modifiedLeaf(rows *vec.Chunk, cols []int) batch.Leaf {
	return batch.LeafFunc(func(ctx *exec.Context, out func(*vec.Chunk) error) error {
		for from := 0; from < rows.Len(); from += ctx.ChunkSize {
			part := vec.NewChunk(rows.Types(), min(ctx.ChunkSize, rows.Len()-from))
			part.AppendRange(rows, from, min(from+ctx.ChunkSize, rows.Len()))
			var view vec.Chunk
			view.View(part, cols)
			if err := out(&view); err != nil {
				return err
			}
		}
		return nil
	})
}

// modifyingQuery runs a SELECT with data-modifying statements in WITH. Its rows are sent when everything is done.
func (s *session) modifyingQuery(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	p := e.p
	b, err := bindParams(p.batch, e.params)
	if err != nil {
		return pgwire.Result{}, err
	}
	with := p.with
	if len(e.params) > 0 {
		with = plan.Params(e.params).Modifying(with)
	}
	r := &result{as: appendersFor(columnTypes(p), e.formats, s.typeEnv()), tag: "SELECT"}
	err = s.rerun(ctx, t, func() error {
		r.chunks = nil
		err := s.modify(ctx, t, with, b, nil, func() error {
			return s.runBatch(ctx, t, b, func(c *vec.Chunk) error {
				r.chunks = append(r.chunks, c.Clone())
				return nil
			})
		})
		if err == nil {
			err = t.writes.EndStatement(ctx, t.inc.Rules(t.catalog(), s.execEnv(t)))
		}
		return err
	})
	if err != nil {
		return pgwire.Result{}, err
	}
	e.rest = nil
	if e.collect != nil {
		return r.give(e)
	}
	e.columns(p.columns)
	return r.send(e.w)
}

// returnedRows computes the rows of RETURNING.
func (w *write) returnedRows() (*vec.Chunk, error) {
	out := &vec.Chunk{}
	if w.returned == nil {
		for _, x := range w.d.Returning {
			out.Cols = append(out.Cols, vec.NewVector(x.Type(), 0))
		}
		return out, nil
	}
	for _, x := range w.d.Returning {
		v, err := w.eval(x, w.returned)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, v.Clone())
	}
	out.SetLen(w.returned.Len())
	return out, nil
}

// run makes the changes, and gives the beginning of the tag.
func (w *write) run(ctx context.Context) (string, error) {
	switch w.d.Kind {
	case plan.Insert:
		return "INSERT 0", w.insert(ctx)
	case plan.Update:
		return "UPDATE", w.update(ctx)
	case plan.Delete:
		return "DELETE", w.remove(ctx)
	case plan.Merge:
		return "MERGE", w.merge(ctx)
	}
	return "", fmt.Errorf("no such statement: %d", w.d.Kind)
}
