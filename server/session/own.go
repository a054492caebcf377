package session

import (
	"slices"

	"github.com/tidwall/btree"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// own gives what the transaction itself changed in a table, as far as the reader sees it; nil if nothing.
func (r *reader) own(rel *catalog.Relation) *btree.Map[string, table.Row] {
	if r.fixed != nil {
		return r.fixed[rel.ID]
	}
	return r.changed(rel)
}

// changed gives what the transaction itself has changed in a table up to now; nil if nothing.
func (r *reader) changed(rel *catalog.Relation) *btree.Map[string, table.Row] {
	if rel.Kind != catalog.Table {
		return nil
	}
	t := r.t.table(rel.ID)
	if t == nil {
		return nil
	}
	return r.t.writes.Rows(t)
}

// indexUnderOwn reads an index under what the transaction itself has changed in the table. The index does
// not know that: its rows that the transaction changed are left out, and all rows that it wrote
// come instead, whatever their place in the index; the plan tests all conditions on them.
func (r *reader) indexUnderOwn(n *plan.Scan, ranges []keyRange, own *btree.Map[string, table.Row]) batch.Leaf {
	return batch.LeafFunc(func(ctx *exec.Context, out func(*vec.Chunk) error) error {
		// The rows of the index with the columns that are read, and then the table's key.
		cols, key := slices.Clone(n.Cols), make([]vec.SortKey, len(n.Base.Key))
		for i, k := range n.Base.Key {
			key[i] = vec.SortKey{Col: len(cols), Desc: k.Desc, NullsFirst: k.NullsFirst}
			cols = append(cols, n.Rel.ColumnIndex(n.Base.Columns[k.Col].Name))
		}
		read := make([]int, len(n.Cols))
		for i := range read {
			read[i] = i
		}
		var buf []byte
		sc := newScanner(n.Rel, cols, ctx.ChunkSize, func(c *vec.Chunk) error {
			kept := vec.NewChunk(columnTypesOf(c), c.Len())
			for i := range c.Len() {
				buf = vec.EncodeKey(buf[:0], c.Cols, i, key)
				if _, changed := own.Get(string(buf)); !changed {
					kept.AppendRange(c, i, i+1)
				}
			}
			var v vec.Chunk
			v.View(kept, read)
			return out(&v)
		})
		for _, g := range ranges {
			if err := r.scanRange(ctx, n, g, sc); err != nil {
				return err
			}
		}
		if err := sc.flush(); err != nil {
			return err
		}
		mine := newScanner(n.Base, n.BaseCols, ctx.ChunkSize, out)
		var err error
		own.Scan(func(_ string, row table.Row) bool {
			if row.New != nil {
				err = mine.add(row.New, -1)
			}
			return err == nil
		})
		if err != nil {
			return err
		}
		return mine.flush()
	})
}

func columnTypesOf(c *vec.Chunk) []types.Type {
	ts := make([]types.Type, len(c.Cols))
	for i, v := range c.Cols {
		ts[i] = v.Type
	}
	return ts
}

// ownCursor walks over the transaction's own rows in key order beside a scan of the snapshot.
type ownCursor struct {
	it   btree.MapIter[string, table.Row]
	hi   string
	more bool
}

func newOwnCursor(m *btree.Map[string, table.Row], lo, hi []byte) *ownCursor {
	c := &ownCursor{it: m.Iter(), hi: string(hi)}
	if lo == nil {
		c.more = c.it.First()
	} else {
		c.more = c.it.Seek(string(lo))
	}
	return c
}

// upTo adds the own rows before key (nil: all), and tells whether the transaction has a row, or a
// deletion, under key itself, so that the snapshot's row is hidden.
func (c *ownCursor) upTo(key []byte, sc *scanner, notNull int) (hidden bool, err error) {
	for c.more {
		k := c.it.Key()
		if c.hi != "" && k >= c.hi || key != nil && k > string(key) {
			return false, nil
		}
		row := c.it.Value()
		same := key != nil && k == string(key)
		c.more = c.it.Next()
		if row.New != nil {
			if err := sc.add(row.New, notNull); err != nil {
				return same, err
			}
		}
		if same {
			return true, nil
		}
	}
	return false, nil
}
