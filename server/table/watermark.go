package table

import (
	"math"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// A table with WATERMARK takes no row that is older than its watermark: the greatest event time that was committed, less
// the delay. Consumers rely on it, so such a row is not changed nor deleted either. Writers have the table alone, so
// that the watermark is the same when a row is looked at and when it is committed.

// noMark is a watermark below all rows.
const noMark = math.MinInt64

// marked tells whether the table has a watermark that its writers must respect.
func (t *Table) marked() bool { return t.Rel.Watermark != nil && !t.Rel.HasConnector() }

// SetMark says what the watermark was at the checkpoint, before anything is written.
func (t *Table) SetMark(mark int64) { t.mark = mark }

// late tells whether row i of c is older than the watermark.
func (t *Table) late(c *vec.Chunk, i int) bool {
	if t.mark == noMark || !t.marked() {
		return false
	}
	v := c.Cols[t.Rel.Watermark.Col]
	return !v.IsNull(i) && v.Int[i] < t.mark
}

// InTime lists the rows of c that are not late; all says that they are all of them. The transaction has the table alone.
func (t *Table) InTime(c *vec.Chunk) (sel []int32, all bool) {
	if t.mark == noMark || !t.marked() {
		return nil, true
	}
	for i := range c.Len() {
		if !t.late(c, i) {
			sel = append(sel, int32(i))
		}
	}
	return sel, len(sel) == c.Len()
}

// tooOld is the error for a change of row i of c.
func (t *Table) tooOld(c *vec.Chunk, i int) error {
	w := t.Rel.Watermark.Col
	return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "row of table %q is older than its watermark", t.Rel.Name).
		WithDetail("The watermark of column \"%s\" is %s, the row has %s.", t.Rel.Columns[w].Name,
			types.AppendText(nil, t.types[w], types.DInt(t.mark), nil), types.AppendText(nil, t.types[w], c.Cols[w].Datum(i), nil)).
		WithHint("What has passed the watermark is final.")
}

// top gives the watermark that chunks of changes bring.
func (t *Table) top(chunks []*vec.Chunk) int64 {
	top := int64(noMark)
	if !t.marked() {
		return top
	}
	w := t.Rel.Watermark
	for _, c := range chunks {
		v := c.Cols[w.Col]
		for i, x := range v.Int[:c.Len()] {
			if c.Diff(i) > 0 && !v.IsNull(i) && x != math.MaxInt64 && x != math.MinInt64 {
				top = max(top, x-w.Delay)
			}
		}
	}
	return top
}
