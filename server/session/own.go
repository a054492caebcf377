package session

import (
	"github.com/tidwall/btree"

	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
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
	t := r.t.inc.Table(rel.ID)
	if t == nil {
		return nil
	}
	return r.t.writes.Rows(t)
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
