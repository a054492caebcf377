package session

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

var _ build.KeyedLeaves = (*reader)(nil)

// lookupCostSetting is the cost of a lookup, of which rowsPerCost rows can be read one after the other for each 1: with PostgreSQL's default
// of 4, as many as was measured. With 0 everything is looked up that can be.
const (
	lookupCostSetting = "random_page_cost"
	rowsPerCost       = 5
)

// MostKeys is up to how many keys it is cheaper to look up than to read all rows of a relation.
func (r *reader) MostKeys(rel *catalog.Relation) int {
	if r.head != nil {
		return 0
	}
	cost, err := strconv.ParseFloat(r.s.vars.get(lookupCostSetting), 64)
	if err != nil {
		return 0
	}
	if cost == 0 {
		return math.MaxInt
	}
	n, err := r.snap.Table(storage.TableID(rel.Rows())).EstimateRows(nil, nil)
	if err != nil {
		return 0
	}
	return int(float64(n) / (cost * rowsPerCost))
}

// ScanKeys reads the rows whose key begins with one of the keys of a join, in the order of the key. What the transaction itself has changed
// is not among them, so with such changes everything is read.
func (r *reader) ScanKeys(n *plan.Scan, f *plan.ScanFeed, keys *batch.KeySet) (batch.Leaf, error) {
	switch m := r.s.mod; {
	case m != nil && m.rows[n.Rel.ID] != nil, r.head != nil, r.own(n.Rel) != nil, r.t.private(n.Rel.ID), r.t.private(f.Rel.ID):
		return nil, nil
	}
	return batch.LeafFunc(func(ctx *exec.Context, out func(*vec.Chunk) error) error {
		prefixes, err := encodeFeed(f, keys)
		if err != nil {
			return err
		}
		sc := newScanner(f.Rel, f.Cols, ctx.ChunkSize, out)
		it := r.snap.Table(storage.TableID(f.Rel.Rows())).Iterator(nil, nil, false)
		defer it.Close()
		for k, prefix := range prefixes {
			if k&255 == 255 {
				if err := ctx.Ctx.Err(); err != nil {
					return err
				}
			}
			for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
				if err := sc.add(it.Value(), -1); err != nil {
					return err
				}
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
		return sc.flush()
	}), nil
}

// encodeFeed gives the beginnings of the arrangement's keys, in order, each once.
func encodeFeed(f *plan.ScanFeed, keys *batch.KeySet) ([][]byte, error) {
	c, err := keys.Keys()
	if err != nil {
		return nil, err
	}
	order := make([]vec.SortKey, len(f.Keys))
	for i, col := range f.Keys {
		k := f.Rel.Key[i]
		order[i] = vec.SortKey{Col: col, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	out := make([][]byte, c.Len())
	for i := range out {
		out[i] = vec.EncodeKey(nil, c.Cols, i, order)
	}
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal), nil
}
