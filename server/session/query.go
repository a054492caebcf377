package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tidwall/btree"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
	"github.com/weirdb/weir/storage/keycodec"
)

// result holds rows that were not sent yet.
type result struct {
	chunks []*vec.Chunk
	as     []appender
	tag    string
}

// send writes the rows.
func (r *result) send(w pgwire.ResultWriter) (pgwire.Result, error) {
	n := 0
	for _, c := range r.chunks {
		if err := writeRows(w.Rows(), c, 0, c.Len(), r.as); err != nil {
			return pgwire.Result{}, err
		}
		n += c.Len()
	}
	return pgwire.Result{Tag: fmt.Sprintf("%s %d", r.tag, n)}, nil
}

// give hands the rows to who collects them.
func (r *result) give(e *execution) (pgwire.Result, error) {
	n := 0
	for _, c := range r.chunks {
		if err := e.collect(nil, c); err != nil {
			return pgwire.Result{}, err
		}
		n += c.Len()
	}
	return pgwire.Result{Tag: fmt.Sprintf("%s %d", r.tag, n)}, nil
}

// query runs a SELECT.
func (s *session) query(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	p := e.p
	if err := checkLocks(t, p.bound.Locks); err != nil {
		return pgwire.Result{}, err
	}
	if len(p.with) > 0 {
		return s.modifyingQuery(ctx, t, e)
	}
	if res, ok, err := s.simplePoint(ctx, t, e); ok || err != nil {
		return res, err
	}
	b, err := bindParams(p.batch, e.params)
	if err != nil {
		return pgwire.Result{}, err
	}
	if len(p.bound.Locks) > 0 {
		return s.lockingQuery(ctx, t, e, b)
	}
	if e.maxRows > 0 {
		c, err := s.openCursor(ctx, t, p, b, scrollIfNeeded)
		if err != nil {
			return pgwire.Result{}, err
		}
		e.rest = c
		e.columns(p.columns)
		return c.send(ctx, e.w, e.formats, e.maxRows)
	}
	as := appendersFor(columnTypes(p), e.formats, s.typeEnv())
	n := 0
	err = s.runBatch(ctx, t, b, func(c *vec.Chunk) error {
		if e.collect != nil {
			n += c.Len()
			return e.collect(nil, c)
		}
		e.columns(p.columns)
		n += c.Len()
		return writeRows(e.w.Rows(), c, 0, c.Len(), as)
	})
	if !errors.Is(err, engine.ErrReplaced) {
		e.columns(p.columns)
	}
	return pgwire.Result{Tag: fmt.Sprintf("SELECT %d", n)}, err
}

func columnTypes(p *prepared) []types.Type {
	ts := make([]types.Type, len(p.bound.Columns))
	for i, c := range p.bound.Columns {
		ts[i] = wireType(c.Type)
	}
	return ts
}

func bindParams(b *plan.Batch, params []types.Datum) (*plan.Batch, error) {
	if len(params) == 0 {
		return b, nil
	}
	return b.WithParams(params), nil
}

// runBatch runs a batch plan without parameters on the statement's snapshot.
func (s *session) runBatch(ctx context.Context, t *tx, b *plan.Batch, emit func(*vec.Chunk) error) error {
	return s.runObserved(ctx, t, b, nil, emit)
}

// runObserved is runBatch, where the nodes of the plan tell what they did; nil: they do not.
func (s *session) runObserved(
	ctx context.Context, t *tx, b *plan.Batch, stats func(plan.Node) *batch.Stats, emit func(*vec.Chunk) error,
) error {
	if m := s.mod; m != nil {
		r := &reader{s: s, t: t, snap: m.snap, env: s.execEnv(t), fixed: m.fixed}
		root, err := build.ObservedBatch(b.Root, r, r.env, stats)
		if err != nil {
			return err
		}
		return batch.Run(r.context(ctx), root, emit)
	}
	snap, release, err := s.reading(ctx, t, b.Relations)
	if err != nil {
		return err
	}
	defer release()
	r := &reader{s: s, t: t, snap: snap, env: s.execEnv(t)}
	if b.Point != nil && t.writes.Empty() && !t.private(b.Point.Rel.ID) {
		return r.point(b.Point, emit)
	}
	root, err := build.ObservedBatch(b.Root, r, r.env, stats)
	if err != nil {
		return err
	}
	return batch.Run(r.context(ctx), root, emit)
}

// reading gives the snapshot for a statement that reads rels, if all of them can be read.
func (s *session) reading(ctx context.Context, t *tx, rels []*catalog.Relation) (*storage.Snapshot, func(), error) {
	if err := checkStalled(t, rels); err != nil {
		return nil, nil, err
	}
	snap, release, err := s.snapshotFor(ctx, t, rels)
	if err != nil {
		return nil, nil, err
	}
	// Only now is it known what the changes that the statement waited for have brought.
	if err := s.checkRelations(t, snap, rels); err != nil {
		release()
		return nil, nil, err
	}
	return snap, release, nil
}

// snapshotFor gives the snapshot for a statement that reads rels. One that reads nothing of the dataflow,
// as INSERT ... VALUES, does not wait for it.
func (s *session) snapshotFor(ctx context.Context, t *tx, rels []*catalog.Relation) (*storage.Snapshot, func(), error) {
	reads := false
	rels = t.stored(rels)
	for _, rel := range rels {
		reads = reads || !rel.Made() || syscat.AtEpoch(rel)
	}
	if !reads && t.snap == nil {
		snap, err := t.inc.Snapshot(ctx, false)
		if err != nil {
			return nil, nil, err
		}
		return snap, snap.Release, nil
	}
	old := t.snap != nil
	snap, release, err := s.snapshot(ctx, t, rels)
	if err != nil {
		return nil, nil, err
	}
	for _, rel := range rels {
		if rel.Made() {
			continue
		}
		if err := t.inc.CheckPresent(rel); err != nil {
			if !old && t.snap != nil {
				// It is not the transaction's, if the statement can be planned again.
				t.snap = nil
				snap.Release()
			}
			release()
			return nil, nil, err
		}
	}
	return snap, release, nil
}

// checkStalled refuses what cannot be read.
func checkStalled(t *tx, rels []*catalog.Relation) error {
	for _, rel := range t.stored(rels) {
		if rel.Made() {
			continue
		}
		if err := t.inc.StalledError(rel); err != nil {
			return err
		}
	}
	return nil
}

// reader opens the leaves of a batch plan.
type reader struct {
	s    *session
	t    *tx
	snap *storage.Snapshot
	env  *exec.Env
	// fixed, if it is not nil, has what the transaction had changed when the reader was made, by table.
	fixed map[catalog.ID]*btree.Map[string, table.Row]
	// head, if it is not nil, is the only table that is read, one row of it, as it is now; then there is no snapshot.
	head *table.Table
}

var (
	_ build.BatchLeaves = (*reader)(nil)
	_ build.RowLocker   = (*reader)(nil)
)

func (r *reader) context(ctx context.Context) *exec.Context {
	r.env.Ctx = ctx
	c := &exec.Context{
		Ctx: ctx, Logger: r.s.b.Logger,
		ChunkSize: r.t.inc.ChunkSize(), Env: r.env, Memory: r.t.inc.QueryMemory(),
	}
	if c.Memory != nil {
		c.Temp, c.SpillOver = r.t.inc.TempFile, r.t.inc.QuerySpill()
	}
	return c
}

// Scan reads an arrangement or a system relation.
func (r *reader) Scan(n *plan.Scan) (batch.Leaf, error) {
	if m := r.s.mod; m != nil && m.rows[n.Rel.ID] != nil {
		return modifiedLeaf(m.rows[n.Rel.ID], n.Cols), nil
	}
	if n.Rel.Made() {
		return r.system(n)
	}
	ranges, err := r.ranges(n)
	if err != nil {
		return nil, err
	}
	if n.Base != nil {
		if own := r.own(n.Base); own != nil {
			return r.indexUnderOwn(n, ranges, own), nil
		}
	}
	return batch.LeafFunc(func(ctx *exec.Context, out func(*vec.Chunk) error) error {
		sc := newScanner(n.Rel, n.Cols, ctx.ChunkSize, out)
		for _, g := range ranges {
			if err := r.scanRange(ctx, n, g, sc); err != nil {
				return err
			}
		}
		return sc.flush()
	}), nil
}

// keyRange is a part of an arrangement: [lo, hi), or one key. notNull is a column in which rows must have a
// value, or -1.
type keyRange struct {
	lo, hi  []byte
	point   bool
	notNull int
}

// ranges computes what a scan reads.
func (r *reader) ranges(n *plan.Scan) ([]keyRange, error) {
	a := &n.Access
	if a.Full() {
		return []keyRange{{notNull: -1}}, nil
	}
	key := n.Rel.Key
	if a.Points != nil {
		var out []keyRange
		seen := map[string]bool{}
		for _, p := range a.Points {
			k, ok, err := r.encodeKey(n.Rel, p)
			if err != nil {
				return nil, err
			}
			if !ok || seen[string(k)] {
				continue
			}
			seen[string(k)] = true
			if len(p) < len(key) {
				out = append(out, keyRange{lo: k, hi: storage.PrefixEnd(k), notNull: -1})
				continue
			}
			out = append(out, keyRange{lo: k, point: true, notNull: -1})
		}
		return out, nil
	}
	prefix, ok, err := r.encodeKey(n.Rel, a.Prefix)
	if err != nil || !ok {
		return nil, err
	}
	g := keyRange{lo: prefix, hi: storage.PrefixEnd(prefix), notNull: -1}
	if a.Lo == nil && a.Hi == nil {
		return []keyRange{g}, nil
	}
	k := key[len(a.Prefix)]
	t := n.Rel.Columns[k.Col].Type
	g.notNull = k.Col
	lo, hi := a.Lo, a.Hi
	if k.Desc {
		lo, hi = hi, lo
	}
	bound := func(e *plan.Endpoint) ([]byte, bool, error) {
		d, err := expr.FoldConst(e.Val, r.env)
		if err != nil || !d.Valid {
			return nil, false, err
		}
		return keycodec.AppendDatum(append([]byte(nil), prefix...), t, d, k.Desc, k.NullsFirst), true, nil
	}
	if lo != nil {
		b, ok, err := bound(lo)
		if err != nil || !ok {
			return nil, err
		}
		if !lo.Inclusive {
			b = storage.PrefixEnd(b)
		}
		g.lo = b
	}
	if hi != nil {
		b, ok, err := bound(hi)
		if err != nil || !ok {
			return nil, err
		}
		if hi.Inclusive {
			b = storage.PrefixEnd(b)
		}
		g.hi = b
	}
	return []keyRange{g}, nil
}

// encodeKey encodes the values of the first key columns; false if one is NULL.
func (r *reader) encodeKey(rel *catalog.Relation, vals []scalar.Expr) ([]byte, bool, error) {
	var b []byte
	for i, e := range vals {
		d, err := expr.FoldConst(e, r.env)
		if err != nil || !d.Valid {
			return nil, false, err
		}
		k := rel.Key[i]
		b = keycodec.AppendDatum(b, rel.Columns[k.Col].Type, d, k.Desc, k.NullsFirst)
	}
	return b, true, nil
}

// scanRange reads a range of the snapshot, under the transaction's own changes.
func (r *reader) scanRange(ctx *exec.Context, n *plan.Scan, g keyRange, sc *scanner) error {
	if r.head != nil {
		row, err := r.t.writes.Get(r.head, g.lo)
		if err != nil || row.New == nil {
			return err
		}
		return sc.add(row.New, g.notNull)
	}
	own := r.own(n.Rel)
	if r.t.private(n.Rel.ID) {
		return r.scanOwn(own, g, sc)
	}
	v := r.snap.Table(storage.TableID(n.Rel.Rows()))
	if g.point {
		if own != nil {
			if row, ok := own.Get(string(g.lo)); ok {
				if row.New == nil {
					return nil
				}
				return sc.add(row.New, g.notNull)
			}
		}
		val, ok, err := v.Get(g.lo)
		if err != nil || !ok {
			return err
		}
		return sc.add(val, g.notNull)
	}
	it := v.Iterator(g.lo, g.hi, false)
	defer it.Close()
	var mine *ownCursor
	if own != nil {
		mine = newOwnCursor(own, g.lo, g.hi)
	}
	for k := 0; it.Next(); k++ {
		if k&4095 == 4095 {
			if err := ctx.Ctx.Err(); err != nil {
				return err
			}
		}
		if mine != nil {
			hidden, err := mine.upTo(it.Key(), sc, g.notNull)
			if err != nil {
				return err
			}
			if hidden {
				continue
			}
		}
		if err := sc.add(it.Value(), g.notNull); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if mine != nil {
		_, err := mine.upTo(nil, sc, g.notNull)
		return err
	}
	return nil
}

// scanOwn reads a range of a table whose rows are all the transaction's.
func (r *reader) scanOwn(own *btree.Map[string, table.Row], g keyRange, sc *scanner) error {
	if own == nil {
		return nil
	}
	if g.point {
		row, ok := own.Get(string(g.lo))
		if !ok || row.New == nil {
			return nil
		}
		return sc.add(row.New, g.notNull)
	}
	_, err := newOwnCursor(own, g.lo, g.hi).upTo(nil, sc, g.notNull)
	return err
}

// scanner decodes rows into chunks of some columns.
type scanner struct {
	decoder *vec.RowDecoder
	row     *vec.Chunk // what is decoded
	view    vec.Chunk  // the columns in the order in which they are wanted
	cols    []int      // those of row
	size    int        // rows in a chunk
	out     func(*vec.Chunk) error
}

func newScanner(rel *catalog.Relation, cols []int, size int, out func(*vec.Chunk) error) *scanner {
	all := relationTypes(rel)
	wanted := slices.Clone(cols)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	ts, order := make([]types.Type, len(wanted)), make([]int, len(cols))
	for i, c := range wanted {
		ts[i] = all[c]
	}
	for i, c := range cols {
		order[i], _ = slices.BinarySearch(wanted, c)
	}
	return &scanner{decoder: vec.NewRowDecoder(all, wanted), row: vec.NewChunk(ts, size), cols: order, size: size, out: out}
}

func relationTypes(rel *catalog.Relation) []types.Type {
	ts := make([]types.Type, len(rel.Columns))
	for i, c := range rel.Columns {
		ts[i] = c.Type
	}
	return ts
}

func (sc *scanner) add(row []byte, notNull int) error {
	if notNull >= 0 && vec.EncodedNull(row, notNull) {
		return nil
	}
	if err := sc.decoder.Decode(row, sc.row.Cols); err != nil {
		return err
	}
	sc.row.PushDiff(1)
	if sc.row.Len() >= sc.size {
		return sc.flush()
	}
	return nil
}

func (sc *scanner) flush() error {
	if sc.row.Len() == 0 {
		return nil
	}
	sc.view.View(sc.row, sc.cols)
	if err := sc.out(&sc.view); err != nil {
		return err
	}
	sc.row.Reset()
	return nil
}

// system reads a relation that is made on demand.
func (r *reader) system(n *plan.Scan) (batch.Leaf, error) {
	return batch.LeafFunc(func(ctx *exec.Context, out func(*vec.Chunk) error) error {
		env := r.s.sysEnv(r.t)
		env.RowErrors = func() ([]syscat.RowError, error) { return r.s.rowErrors(r.t, r.snap) }
		rows, err := syscat.Rows(env, n.Rel)
		if err != nil {
			return err
		}
		c := vec.NewChunk(relationTypes(n.Rel), ctx.ChunkSize)
		var view vec.Chunk
		for i, row := range rows {
			c.AppendRow(row, 1)
			if c.Len() == ctx.ChunkSize || i == len(rows)-1 {
				view.View(c, n.Cols)
				if err := out(&view); err != nil {
					return err
				}
				c.Reset()
			}
		}
		return nil
	}), nil
}

// Source reads a source from its start: as far as the running jobs have read it at the snapshot's epoch,
// or if there are none as far as it goes.
func (r *reader) Source(n *plan.SourceScan) (batch.Leaf, error) {
	src, err := r.t.inc.Source(n.Rel)
	if err != nil {
		return nil, err
	}
	if !src.Replayable() {
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "source %q cannot be read from its start", n.Rel.Name).
			WithHint("Create a materialized view over it, or a table with this connector.")
	}
	cols := n.Cols
	if n.RowID {
		cols = append(append([]int(nil), cols...), len(src.Columns()))
	}
	return batch.LeafFunc(func(ctx *exec.Context, out func(*vec.Chunk) error) error {
		limits, running := r.t.inc.RT.SourcePositions(flow.JobID(n.Rel.ID), r.snap.Epoch())
		for split := range src.Splits() {
			limit := int64(-1)
			if running {
				limit = limits[split].Rows
			}
			if err := scanSplit(ctx, n.Rel.Name, src, split, limit, cols, out); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

func scanSplit(ctx *exec.Context, name string, src exec.Source, split int, limit int64, cols []int, out func(*vec.Chunk) error) (err error) {
	if limit == 0 {
		return nil
	}
	rd, err := flow.OpenSplit(ctx.Ctx, src, split, nil, cols)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rd.Close()) }()
	c := vec.NewChunk(flow.SourceTypes(src), ctx.ChunkSize)
	var view vec.Chunk
	for limit < 0 || rd.Rows() < limit {
		most := ctx.ChunkSize
		if limit >= 0 {
			most = int(min(int64(most), limit-rd.Rows()))
		}
		n, err := rd.Next(c, most)
		if n > 0 {
			view.View(c, cols)
			if err := out(&view); err != nil {
				return err
			}
			if err := ctx.Ctx.Err(); err != nil {
				return err
			}
			continue
		}
		switch {
		case limit < 0 && (errors.Is(err, io.EOF) || errors.Is(err, exec.ErrNoData)):
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, exec.ErrNoData):
			return sqlerr.Newf(sqlerr.IOError, "source %q has only %d rows left of the %d that were read before", name, rd.Rows(), limit)
		default:
			return err
		}
	}
	return nil
}

// point reads one row by its complete key.
func (r *reader) point(p *plan.Point, emit func(*vec.Chunk) error) error {
	k, ok, err := r.encodeKey(p.Rel, p.Key)
	if err != nil || !ok {
		return err
	}
	var val []byte
	if r.head != nil {
		row, err := r.t.writes.Get(r.head, k)
		if err != nil || row.New == nil {
			return err
		}
		val = row.New
	} else if val, ok, err = r.snap.Table(storage.TableID(p.Rel.Rows())).Get(k); err != nil || !ok {
		return err
	}
	row := vec.NewChunk(relationTypes(p.Rel), 1)
	if _, err := vec.DecodeRow(val, row.Cols); err != nil {
		return err
	}
	row.PushDiff(1)
	ec := &expr.EvalContext{Env: r.env}
	if p.Filter != nil {
		f, err := expr.Compile(p.Filter, r.env)
		if err != nil {
			return err
		}
		v, err := f.Eval(ec, row)
		if err != nil {
			return err
		}
		if v.Nulls.Get(0) || !v.Bool[0] {
			return nil
		}
	}
	out := &vec.Chunk{}
	for _, x := range p.Exprs {
		ev, err := expr.Compile(x, r.env)
		if err != nil {
			return err
		}
		v, err := ev.Eval(ec, row)
		if err != nil {
			return err
		}
		out.Cols = append(out.Cols, v)
	}
	out.SetLen(1)
	return emit(out)
}
