package session

import (
	"context"
	"errors"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
	"github.com/weirdb/weir/storage/keycodec"
)

// simplePoint answers the commonest of all statements, a row by its key: the key is given by parameters or constants, and columns are what
// is wanted of it. Nothing is computed, so it needs none of what expressions depend on. ok is false if the statement is another one.
func (s *session) simplePoint(ctx context.Context, t *tx, e *execution) (res pgwire.Result, ok bool, err error) {
	p := e.p
	point := p.batch.Point
	if point == nil || point.Filter != nil || e.maxRows > 0 || e.collect != nil || s.mod != nil || len(p.bound.Locks) > 0 ||
		!t.writes.Empty() || t.private(point.Rel.ID) {
		return res, false, nil
	}
	cols := make([]int, len(point.Exprs))
	for i, x := range point.Exprs {
		c, is := x.(*scalar.Column)
		if !is {
			return res, false, nil
		}
		cols[i] = c.Index
	}
	key, null, ok := simpleKey(point, e.params)
	if !ok {
		return res, false, nil
	}
	res = pgwire.Result{Tag: "SELECT 0"}
	snap, release, err := s.reading(ctx, t, p.batch.Relations)
	if err != nil {
		if !errors.Is(err, engine.ErrReplaced) {
			e.columns(p.columns)
		}
		return res, true, err
	}
	defer release()
	e.columns(p.columns)
	if null {
		return res, true, nil
	}
	val, found, err := snap.Table(storage.TableID(point.Rel.Rows())).Get(key)
	if err != nil || !found {
		return res, true, err
	}
	row := vec.NewChunk(relationTypes(point.Rel), 1)
	if _, err := vec.DecodeRow(val, row.Cols); err != nil {
		return res, true, err
	}
	row.PushDiff(1)
	var out vec.Chunk
	out.View(row, cols)
	res.Tag = "SELECT 1"
	return res, true, writeRows(e.w.Rows(), &out, 0, 1, appendersFor(columnTypes(p), e.formats, s.typeEnv()))
}

// simpleKey encodes the key of a point read, if it is given by parameters and constants of the columns' types. null: one of them is NULL.
func simpleKey(p *plan.Point, params []types.Datum) (key []byte, null, ok bool) {
	if len(p.Key) != len(p.Rel.Key) {
		return nil, false, false
	}
	for i, x := range p.Key {
		k := p.Rel.Key[i]
		t := p.Rel.Columns[k.Col].Type
		var d types.Datum
		switch x := x.(type) {
		case *scalar.Const:
			d = x.Val
		case *scalar.Param:
			if x.N > len(params) {
				return nil, false, false
			}
			d = params[x.N-1]
		default:
			return nil, false, false
		}
		switch {
		case x.Type().WithoutMod() != t.WithoutMod():
			return nil, false, false
		case !d.Valid:
			null = true
		default:
			key = keycodec.AppendDatum(key, t, d, k.Desc, k.NullsFirst)
		}
	}
	return key, null, true
}
