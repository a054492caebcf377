package table

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Keep is the end of a table that a connector fills.
//
//	In:      the source's rows, append-only: the table's columns in order.
//	Out:     the table's changes: a row is inserted; if the table has a primary key and a row with
//	         that key is there, the old row goes first.
//	State:   the table's arrangement itself.
//	Memory:  nothing of its own.
//	Barrier: seals the arrangement and is forwarded.
//	Errors:  those of storage. A row with NULL in a column that must have a value is left out and
//	         reported as a row error.
type Keep struct {
	t    *Table
	ctx  *exec.Context
	out  exec.Output
	rows *vec.Chunk
	part *vec.Chunk // the complete rows of a chunk that has others
	enc  vec.RowsEncoder
	ends []int
}

var _ exec.Operator = (*Keep)(nil)

// NewKeep makes the operator of a table.
func NewKeep(t *Table) *Keep { return &Keep{t: t} }

// Schema is the table's columns.
func (k *Keep) Schema() []types.Type { return k.t.types }

// Open prepares.
func (k *Keep) Open(ctx *exec.Context, out exec.Output) error {
	k.ctx, k.out = ctx, out
	k.rows = vec.NewChunk(k.t.types, vec.ChunkSize)
	k.part = vec.NewChunk(k.t.types, 8)
	return nil
}

// Chunk stores rows.
func (k *Keep) Chunk(_ int, c *vec.Chunk) error {
	c, err := k.complete(c)
	if err != nil || c.Len() == 0 {
		return err
	}
	if k.t.hasRowID() {
		var buf []byte
		buf, k.ends = k.enc.Encode(k.ends[:0], c.Cols, c.Len(), k.t.key)
		k.t.Arr.Append(buf, k.ends)
		return k.out.Chunk(c)
	}
	k.rows.Reset()
	for i := range c.Len() {
		key := k.t.Key(nil, c, i)
		old, ok, err := k.t.Arr.HeadGet(key)
		if err != nil {
			return err
		}
		if ok {
			if err := k.t.Decode(k.rows, old, -1); err != nil {
				return err
			}
		}
		k.rows.AppendFrom(c, i)
		// One at a time: the next row may have the same key.
		k.t.Arr.Apply([]storage.Change{{Key: key, Value: vec.EncodeRow(nil, c.Cols, i)}})
	}
	return k.out.Chunk(k.rows)
}

// complete leaves out the rows that miss a value.
func (k *Keep) complete(c *vec.Chunk) (*vec.Chunk, error) {
	var bad map[int]bool
	for j, col := range k.t.Rel.Columns {
		if !col.NotNull || !c.Cols[j].Nulls.Any() {
			continue
		}
		for i := range c.Len() {
			if !c.Cols[j].IsNull(i) || bad[i] {
				continue
			}
			if bad == nil {
				bad = map[int]bool{}
			}
			bad[i] = true
			err := k.ctx.RowError(exec.RowFailure{Site: j, Cols: c.Cols, Row: i, Diff: c.Diff(i), Err: sqlerr.Newf(sqlerr.NotNullViolation,
				"null value in column %q of relation %q violates not-null constraint", col.Name, k.t.Rel.Name)})
			if err != nil {
				return nil, err
			}
		}
	}
	if bad == nil {
		return c, nil
	}
	var sel []int32
	for i := range c.Len() {
		if !bad[i] {
			sel = append(sel, int32(i))
		}
	}
	k.part.Reset()
	k.part.AppendSel(c, sel)
	return k.part, nil
}

// Watermark passes, unless there is a primary key: a row that replaces another may take back an old time.
func (k *Keep) Watermark(_ int, w exec.Watermark) error {
	if !k.t.hasRowID() {
		return nil
	}
	return k.out.Watermark(w)
}

// Barrier seals the arrangement.
func (k *Keep) Barrier(b exec.Barrier) error {
	k.t.Arr.Seal(b.Epoch, b.Checkpoint)
	return k.out.Barrier(b)
}

// Close has nothing to release.
func (k *Keep) Close() {}
