package flow

import (
	"bytes"
	"errors"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// TableCatchUp feeds a job that begins again at the last checkpoint with what an arrangement, which has run
// on, changed since then, and then with its changes.
//
//	In:      the arrangement's changes from the job's first barrier on (columns of the input).
//	Out:     the same columns. The keys that were touched between the checkpoint and the first barrier are
//	         worked off in order, a portion after each barrier: the row at the checkpoint goes, the
//	         row at that barrier comes. Live changes pass, but for those of touched keys that are still
//	         to come.
//	State:   none. Checkpoints are held until every leaf of the job has caught up.
//	Memory:  what the arrangement changed since the checkpoint, which it has in memory anyway.
//	Barrier: forwarded; then a portion is read, and another barrier is asked for.
//	Errors:  those of storage.
type TableCatchUp struct {
	TableBackfillConfig
	out     exec.Output
	ctx     *exec.Context
	version *storage.Version
	diff    *storage.Difference
	// pos is the last key that was worked off, if begun.
	pos   []byte
	begun bool
	done  bool
	buf   *vec.Chunk
	pass  *vec.Chunk
	key   []byte
	sel   []int32
	hash  []uint64
}

var (
	_ exec.Operator = (*TableCatchUp)(nil)
	_ Continuer     = (*TableCatchUp)(nil)
)

// NewTableCatchUp makes a TableCatchUp. Of the configuration Complete is not used; Decode appends with
// diff 1.
func NewTableCatchUp(cfg TableBackfillConfig) *TableCatchUp {
	if cfg.Portion <= 0 {
		cfg.Portion = backfillPortion
	}
	return &TableCatchUp{TableBackfillConfig: cfg}
}

// Schema is the input's.
func (c *TableCatchUp) Schema() []types.Type { return c.Types }

// Open prepares the buffers.
func (c *TableCatchUp) Open(ctx *exec.Context, out exec.Output) error {
	c.ctx, c.out = ctx, out
	c.buf = vec.NewChunk(c.Types, ctx.ChunkSize)
	c.pass = vec.NewChunk(c.Types, ctx.ChunkSize)
	return nil
}

// Chunk passes the live changes, but for those of keys that are still to come.
func (c *TableCatchUp) Chunk(_ int, in *vec.Chunk) error {
	if c.done {
		return c.out.Chunk(in)
	}
	if c.diff == nil {
		return errors.New("flow: a change before the first barrier of a job")
	}
	c.sel = c.sel[:0]
	for i := range in.Len() {
		c.key = c.AppendKey(c.key[:0], in, i)
		if c.begun && bytes.Compare(c.key, c.pos) <= 0 || !c.diff.Touched(c.key) {
			c.sel = append(c.sel, int32(i))
		}
	}
	if len(c.sel) == 0 {
		return nil
	}
	c.pass.Reset()
	c.pass.AppendSel(in, c.sel)
	return c.out.Chunk(c.pass)
}

// Watermark passes once everything has been caught up with.
func (c *TableCatchUp) Watermark(_ int, w exec.Watermark) error {
	if c.done {
		return c.out.Watermark(w)
	}
	return nil
}

// Barrier forwards the barrier and pins the version of its epoch for AfterBarrier.
func (c *TableCatchUp) Barrier(b exec.Barrier) error {
	if !c.done {
		v, err := c.VersionAt(b.Epoch)
		if err != nil {
			return err
		}
		c.version = v
		if c.diff == nil {
			// Nothing has been committed since the checkpoint at which the job begins: that is held.
			c.diff = v.Difference()
		}
	}
	return c.out.Barrier(b)
}

// AfterBarrier emits the next portion.
func (c *TableCatchUp) AfterBarrier(b exec.Barrier) error {
	if c.version == nil {
		return nil
	}
	v := c.version
	c.version = nil
	defer v.Release()
	if c.behind(b.Epoch) {
		c.later(b.Epoch, c.RequestBarrier)
		return nil
	}
	c.Portion = int(c.next(int64(c.Portion)))
	var lo []byte
	if c.begun {
		lo = append(append([]byte(nil), c.pos...), 0)
	}
	rows, done := 0, true
	var err error
	c.buf.Reset()
	c.diff.Keys(lo, func(key []byte) bool {
		if rows == c.Portion {
			done = false
			return false
		}
		rows++
		c.pos, c.begun = append(c.pos[:0], key...), true
		err = c.exchange(v, key)
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	c.Portion = min(2*c.Portion, backfillMax)
	c.Progress.Read(int64(rows))
	if done {
		c.done = true
		c.Close()
		c.Progress.Done(b.Epoch + 1)
	}
	c.RequestBarrier()
	return nil
}

// exchange emits the row of a key at the checkpoint as gone, and the one at the version as new.
func (c *TableCatchUp) exchange(v *storage.Version, key []byte) error {
	old, had, err := c.diff.Old(key)
	if err != nil {
		return err
	}
	now, has, err := v.Get(key)
	if err != nil {
		return err
	}
	if had && has && bytes.Equal(old, now) {
		return nil
	}
	if had {
		if err := c.Decode(c.buf, key, old); err != nil {
			return err
		}
		c.buf.EnsureDiffs()
		c.buf.Diffs[c.buf.Len()-1] = -1
	}
	if has {
		if err := c.Decode(c.buf, key, now); err != nil {
			return err
		}
	}
	if c.buf.Len() < c.ctx.ChunkSize {
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	return c.ctx.Ctx.Err()
}

func (c *TableCatchUp) flush() error {
	out := c.buf
	if out.Len() == 0 {
		return nil
	}
	defer c.buf.Reset()
	if c.Parallel > 1 {
		c.hash = vec.HashCols(out, c.HashCols, c.hash)
		c.sel = c.sel[:0]
		for i, h := range c.hash {
			if Owner(vec.Vnode(h), c.Parallel) == c.Index {
				c.sel = append(c.sel, int32(i))
			}
		}
		c.pass.Reset()
		c.pass.AppendSel(out, c.sel)
		out = c.pass
	}
	if out.Len() == 0 {
		return nil
	}
	return c.out.Chunk(out)
}

// Close releases what is pinned.
func (c *TableCatchUp) Close() {
	if c.version != nil {
		c.version.Release()
		c.version = nil
	}
	if c.diff != nil {
		c.diff.Release()
	}
}
