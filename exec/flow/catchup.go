package flow

import (
	"bytes"
	"errors"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
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
	tablePortions
	diff *storage.Difference
	// pos is the last key that was worked off, if begun.
	pos   []byte
	begun bool
}

var (
	_ exec.Operator = (*TableCatchUp)(nil)
	_ Continuer     = (*TableCatchUp)(nil)
)

// NewTableCatchUp makes a TableCatchUp. Of the configuration Complete is not used; Decode appends with
// diff 1.
func NewTableCatchUp(cfg TableBackfillConfig) *TableCatchUp {
	return &TableCatchUp{tablePortions: newTablePortions(cfg)}
}

// Chunk passes the live changes, but for those of keys that are still to come.
func (c *TableCatchUp) Chunk(_ int, in *vec.Chunk) error {
	if c.done {
		return c.out.Chunk(in)
	}
	if c.diff == nil {
		return errors.New("flow: a change before the first barrier of a job")
	}
	return c.passRows(in, func(key []byte) bool {
		return c.begun && bytes.Compare(key, c.pos) <= 0 || !c.diff.Touched(key)
	})
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
	v := c.begin(b.Epoch)
	if v == nil {
		return nil
	}
	defer v.Release()
	var lo []byte
	if c.begun {
		lo = append(append([]byte(nil), c.pos...), 0)
	}
	rows, done := 0, true
	var err error
	c.diff.Keys(lo, func(key []byte) bool {
		if rows == c.portion {
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
	if done {
		defer c.Close() // the difference is not needed any more
	}
	return c.end(b.Epoch, rows, done)
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
	return c.full()
}

// Close releases what is pinned.
func (c *TableCatchUp) Close() {
	c.tablePortions.Close()
	if c.diff != nil {
		c.diff.Release()
	}
}
