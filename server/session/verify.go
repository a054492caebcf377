package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// verification is a VERIFY MATERIALIZED VIEW: the view and its query are read at one epoch, and compared as multisets by SQL
// equality. Numbers of type float that differ in the last bits only, which depend on the order of additions, are the same.
type verification struct {
	rel     *catalog.Relation
	batch   *plan.Batch
	columns []pgwire.Column
	// types are those of the view's visible columns.
	types   []types.Type
	visible []int
}

// floatTolerance is the relative difference of floats that are the same.
const floatTolerance = 1e-9

func (s *session) verification(t *tx, st *ast.Verify) (*verification, error) {
	d := &definer{s: s, t: t, cat: t.catalog()}
	rel, err := d.find(ast.KindMatView, st.Name, false)
	if err != nil {
		var e *sqlerr.Error
		if errors.As(err, &e) {
			e.Hint = "" // it is about DROP
		}
		return nil, err
	}
	if err := s.authorize(d.cat)(rel, catalog.Select, ""); err != nil {
		return nil, err
	}
	v := &verification{rel: rel}
	if v.batch, err = t.inc.PlanBatch(d.cat, rel, time.Time{}); err != nil {
		return nil, verifyError(rel, err)
	}
	stream, err := t.inc.PlanStream(d.cat, rel)
	if err != nil {
		return nil, verifyError(rel, err)
	}
	for _, f := range stream.Fragments {
		if ofArrival(f.Root) {
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "VERIFY of a view with PROCTIME() is not supported").
				WithDetail("What %q has depends on when rows came.", rel.Name)
		}
	}
	for _, r := range append(slices.Clone(v.batch.Relations), rel) {
		if r.OnClose || r.Watermark != nil || len(r.Watermarks) > 0 {
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "VERIFY of a view that depends on watermarks is not supported").
				WithDetail("What %q has depends on the order in which rows came.", r.Name)
		}
	}
	add := func(name string, ty types.Type) {
		v.columns = append(v.columns, pgwire.Column{Name: name, TypeOID: ty.OID(), TypeLen: typeLen(ty), TypeMod: max(ty.Mod, -1)})
	}
	add("weir_diff", types.T(types.Int8))
	for k, c := range rel.Columns {
		if !c.Hidden {
			add(c.Name, c.Type)
			v.types = append(v.types, c.Type)
			v.visible = append(v.visible, k)
		}
	}
	return v, nil
}

// ofArrival tells whether what a plan gives depends on when rows come.
func ofArrival(n plan.Node) bool {
	switch n.(type) {
	case *plan.ProcTime, *plan.Lookup:
		return true
	}
	return slices.ContainsFunc(n.Inputs(), ofArrival)
}

// verify runs VERIFY MATERIALIZED VIEW. A row that the view has n times too often comes with weir_diff n, one that it lacks
// with -n.
func (s *session) verify(ctx context.Context, t *tx, e *execution, st *ast.Verify) (pgwire.Result, error) {
	v, err := s.verification(t, st)
	if err != nil {
		return pgwire.Result{}, err
	}
	rels := append(slices.Clone(v.batch.Relations), v.rel)
	if err := checkStalled(t, rels); err != nil {
		return pgwire.Result{}, err
	}
	snap, err := t.inc.SnapshotOf(ctx, true, rels)
	if err != nil {
		return pgwire.Result{}, err
	}
	defer snap.Release()
	for _, r := range rels {
		if err := t.inc.CheckPresent(r); r.Kind != catalog.System && err != nil {
			return pgwire.Result{}, err
		}
	}
	c := &comparison{v: v, index: map[string]int{}, mem: t.inc.QueryMemory().Account()}
	defer c.mem.Close()
	if err := s.readBoth(ctx, t, v, snap, c); err != nil {
		return pgwire.Result{}, err
	}
	out, err := c.differences()
	if err != nil {
		return pgwire.Result{}, err
	}
	if e.announce {
		e.w.Columns(v.columns)
	}
	as := appendersFor(out.Types(), e.formats, s.typeEnv())
	if err := writeRows(e.w.Rows(), out, 0, out.Len(), as); err != nil {
		return pgwire.Result{}, err
	}
	return pgwire.Result{Tag: fmt.Sprintf("VERIFY %d", out.Len())}, nil
}

// readBoth gives the rows of the view and of its query to c.
func (s *session) readBoth(ctx context.Context, t *tx, v *verification, snap *storage.Snapshot, c *comparison) error {
	// As in the job: nothing depends on the session, and a failed expression is NULL.
	at := types.ToGoTime(t.inc.RT.EpochTime(snap.Epoch()))
	again, err := t.inc.PlanBatch(t.catalog(), v.rel, at)
	if err != nil {
		return err
	}
	env := &exec.Env{Location: time.UTC, Now: at, User: v.rel.Owner, Database: Database, Types: t.inc.UserTypes()}
	r := &reader{s: s, t: t, snap: snap, env: env, fixed: map[catalog.ID]*btree.Map[string, table.Row]{}}
	ectx := r.context(ctx)
	ectx.RowError = func(exec.RowFailure) error { return nil }
	ectx.SkipFailed = v.rel.OnError == catalog.OnErrorSkip
	var view vec.Chunk
	sc := newScanner(v.rel, v.visible, t.inc.ChunkSize(), func(ch *vec.Chunk) error {
		view.View(ch, allColumns(len(v.visible)))
		return c.add(&view, 1)
	})
	if err := r.scanRange(ectx, &plan.Scan{Rel: v.rel}, keyRange{notNull: -1}, sc); err != nil {
		return err
	}
	if err := sc.flush(); err != nil {
		return err
	}
	root, err := build.Batch(again.Root, r, env)
	if err != nil {
		return err
	}
	return batch.Run(ectx, root, func(ch *vec.Chunk) error {
		view.View(ch, allColumns(len(v.visible)))
		return c.add(&view, -1)
	})
}

func allColumns(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// comparison counts rows.
type comparison struct {
	v     *verification
	mem   *exec.Account
	index map[string]int
	rows  []compared
	bytes int64
	buf   []byte
}

type compared struct {
	key string // by which rows are equal
	row []byte // in the row codec
	n   int64
}

func (c *comparison) add(ch *vec.Chunk, n int64) error {
	keys := make([]vec.SortKey, len(c.v.types))
	for k := range keys {
		keys[k].Col = k
	}
	for i := range ch.Len() {
		c.buf = vec.EncodeKey(c.buf[:0], ch.Cols, i, keys)
		at, ok := c.index[string(c.buf)]
		if !ok {
			at = len(c.rows)
			key := string(c.buf)
			c.index[key] = at
			c.rows = append(c.rows, compared{key: key, row: vec.EncodeRow(nil, ch.Cols, i)})
			c.bytes += int64(2*len(key) + 96)
		}
		c.rows[at].n += n * ch.Diff(i)
	}
	return c.mem.Set(c.bytes, 0)
}

// differences are the rows with another number in the view than in the query, in order.
func (c *comparison) differences() (*vec.Chunk, error) {
	left := slices.DeleteFunc(c.rows, func(r compared) bool { return r.n == 0 })
	slices.SortFunc(left, func(a, b compared) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return 0
	})
	out := vec.NewChunk(append([]types.Type{types.T(types.Int8)}, c.v.types...), len(left))
	all := vec.NewChunk(c.v.types, len(left))
	for _, r := range left {
		if _, err := vec.DecodeRow(r.row, all.Cols); err != nil {
			return nil, err
		}
		all.PushDiff(1)
	}
	c.pairFloats(left, all)
	for i, r := range left {
		if r.n == 0 {
			continue
		}
		out.Cols[0].AppendDatum(types.DInt(r.n))
		for k := range c.v.types {
			out.Cols[k+1].AppendFrom(all.Cols[k], i)
		}
		out.PushDiff(1)
	}
	return out, nil
}

// pairFloats cancels rows against each other that are equal but for rounding.
func (c *comparison) pairFloats(left []compared, all *vec.Chunk) {
	if !slices.ContainsFunc(c.v.types, func(t types.Type) bool { return t.Phys() == types.PhysFloat }) {
		return
	}
	var keys []vec.SortKey
	for k, t := range c.v.types {
		if t.Phys() != types.PhysFloat {
			keys = append(keys, vec.SortKey{Col: k})
		}
	}
	groups := map[string][]int{}
	for i := range left {
		k := string(vec.EncodeKey(nil, all.Cols, i, keys))
		for _, j := range groups[k] {
			if left[i].n > 0 == (left[j].n > 0) || left[j].n == 0 || !c.close(all, i, j) {
				continue
			}
			// Opposite signs: the smaller one goes whole.
			sum := left[i].n + left[j].n
			if (sum > 0) == (left[i].n > 0) {
				left[i].n, left[j].n = sum, 0
			} else {
				left[i].n, left[j].n = 0, sum
			}
			if left[i].n == 0 {
				break
			}
		}
		groups[k] = append(groups[k], i)
	}
}

// close tells whether the floats of two rows are the same but for rounding.
func (c *comparison) close(all *vec.Chunk, i, j int) bool {
	for k, t := range c.v.types {
		if t.Phys() != types.PhysFloat {
			continue
		}
		v := all.Cols[k]
		if v.Nulls.Get(i) != v.Nulls.Get(j) {
			return false
		}
		a, b := v.Float[i], v.Float[j]
		if !v.Nulls.Get(i) && a != b && math.Abs(a-b) > floatTolerance*math.Max(1, math.Max(math.Abs(a), math.Abs(b))) {
			return false
		}
	}
	return true
}

// verifyError names what VERIFY cannot do.
func verifyError(rel *catalog.Relation, err error) error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		c := *e
		c.Pos = sqlerr.NoPos
		c.Message = fmt.Sprintf("the query of %q cannot be run again: %s", rel.Name, e.Message)
		return &c
	}
	return err
}
