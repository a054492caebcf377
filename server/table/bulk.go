package table

import (
	"slices"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
)

// bulk is rows that a transaction inserts under row ids of their own, many at a time: encoded together, as the
// arrangement keeps them, and in columns, as the consumers of the table want them. Most transactions that have
// some (COPY, INSERT ... SELECT) never look at them again before the commit; one that does (its own reads, an
// UPDATE) has them moved into txTable.rows first.
type bulk struct {
	flow.Rows
	chunks []*vec.Chunk
}

// bulkRows is how many rows are worth it.
const bulkRows = 16

// InsertAll is Insert for all rows of c, whose row ids are new: no transaction has used them. It gives false, and has
// done nothing, if the rows must be inserted one by one, because there are keys to check or because they are few.
func (x *Tx) InsertAll(t *Table, c *vec.Chunk) (bool, error) {
	if !t.hasRowID() || len(t.indexes) > 0 || c.Len() < bulkRows {
		return false, nil
	}
	tt := x.table(t)
	var b bulk
	b.Buf, b.Ends = x.enc.Encode(nil, c.Cols, c.Len(), t.key)
	if err := x.growBy(tt, int64(len(b.Buf))+12*int64(c.Len())); err != nil {
		return false, err
	}
	for from := 0; from < c.Len(); from += vec.ChunkSize {
		to := min(from+vec.ChunkSize, c.Len())
		chunk := vec.NewChunk(t.types, to-from)
		chunk.AppendRange(c, from, to)
		b.chunks = append(b.chunks, chunk)
	}
	tt.bulk = append(tt.bulk, b)
	return true, nil
}

// grow counts n more bytes of changes.
func (x *Tx) grow(n int64) error {
	x.bytes += n
	return x.checkSize()
}

// growBy is grow for the changes of one table.
func (x *Tx) growBy(tt *txTable, n int64) error {
	tt.bytes += n
	return x.grow(n)
}

// changed tells whether the transaction has changed anything in the table.
func (tt *txTable) changed() bool { return tt.rows.Len() > 0 || len(tt.bulk) > 0 }

// spread moves the rows of bulks to all others.
func (tt *txTable) spread() {
	for _, b := range tt.bulk {
		b.each(func(key, row []byte) { tt.rows.Set(string(key), Row{New: row}) })
	}
	tt.bulk = nil
}

// each calls f with the keys and rows.
func (b *bulk) each(f func(key, row []byte)) {
	from := 0
	for i := 0; i < len(b.Ends); i += 2 {
		k, v := b.Ends[i], b.Ends[i+1]
		f(b.Buf[from:k:k], b.Buf[k:v:v])
		from = v
	}
}

// saved gives the bulks as they are: what is appended later does not reach them.
func (tt *txTable) saved() []bulk { return slices.Clip(tt.bulk) }
