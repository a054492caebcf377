package table

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/weirdb/weir/exec/vec"
)

// Locks of rows.
//
//  1. Who changes or locks rows shares the lock of the table, and has the lock of each row's key. Modes and conflicts are those of
//     PostgreSQL. A row without a primary key has a key too, its hidden row id.
//  2. Who deletes a row, inserts one, or changes its key or its values in a unique index, has the locks of those keys and values in
//     mode Update as well: so nobody else can insert what may be free or taken when the transaction ends.
//  3. A statement reads first and locks then. What it has read of a row may be old when it has the lock: Take and Unchanged
//     compare it with what is there now, and the statement runs again if they differ.
//
// After manyKeys locks the table itself is taken alone as soon as nobody else shares it.

// Wait says what to do if somebody else has a lock.
type Wait uint8

// Ways to wait.
const (
	// Await waits.
	Await Wait = iota
	// Instant does not.
	Instant
)

// LockRow locks the row under a key; false if that would need waiting and is not to. The lock stays until the transaction ends.
func (x *Tx) LockRow(ctx context.Context, t *Table, key []byte, mode Mode, wait Wait) (bool, error) {
	if wait == Instant {
		if ok, err := x.TryLock(t, false); err != nil || !ok {
			return false, err
		}
	} else if err := x.Lock(ctx, t, false); err != nil {
		return false, err
	}
	tt := x.table(t)
	tt.held = true
	if tt.exclusive {
		return true, nil
	}
	return x.lockName(ctx, tt, lockName(0, key), mode, wait)
}

// lockName locks a key under the share of a table.
func (x *Tx) lockName(ctx context.Context, tt *txTable, name string, mode Mode, wait Wait) (bool, error) {
	if tt.keys[name] >= mode {
		return true, nil
	}
	if len(tt.keys) >= manyKeys && tt.t.locks.try(x, &tt.t.lock, Update) {
		tt.shared, tt.exclusive = false, true
		return true, nil
	}
	if !tt.t.tryKey(x, name, mode) {
		if wait == Instant {
			return false, nil
		}
		if err := tt.t.awaitKey(ctx, x, name, mode); err != nil {
			return false, err
		}
	}
	tt.keys[name] = mode
	return true, nil
}

// LockRows locks the rows of old for a statement that makes those of fresh of them, or deletes them if fresh is nil: what rule 2
// above says, in the order of the keys, so that two statements that want the same ones do not wait for each other.
func (x *Tx) LockRows(ctx context.Context, t *Table, old, fresh *vec.Chunk) error {
	if err := x.Lock(ctx, t, false); err != nil {
		return err
	}
	tt := x.table(t)
	tt.held = true
	if tt.exclusive {
		return nil
	}
	if old.Len() > manyKeys && t.locks.try(x, &t.lock, Update) {
		tt.shared, tt.exclusive = false, true
		return nil
	}
	type want struct {
		name string
		mode Mode
	}
	wants := make([]want, 0, old.Len())
	var was, is []byte
	for i := range old.Len() {
		mode := Update
		was = t.Key(was[:0], old, i)
		row := lockName(0, was)
		if fresh != nil {
			mode = NoKeyUpdate
			if is = t.Key(is[:0], fresh, i); !bytes.Equal(was, is) {
				mode = Update
				wants = append(wants, want{lockName(0, is), Update})
			}
		}
		for _, u := range t.indexes {
			if u.multi {
				continue
			}
			a, had, err := u.key(nil, old, i)
			if err != nil {
				return err
			}
			var b []byte
			has := false
			if fresh != nil {
				if b, has, err = u.key(nil, fresh, i); err != nil {
					return err
				}
				if had == has && bytes.Equal(a, b) {
					continue
				}
				mode = Update
			}
			if had {
				wants = append(wants, want{lockName(u.arr.ID(), a), Update})
			}
			if has {
				wants = append(wants, want{lockName(u.arr.ID(), b), Update})
			}
		}
		wants = append(wants, want{row, mode})
	}
	slices.SortFunc(wants, func(a, b want) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return int(b.mode) - int(a.mode) // the stronger one first
	})
	for _, w := range wants {
		if tt.exclusive {
			return nil
		}
		if _, err := x.lockName(ctx, tt, w.name, w.mode, Await); err != nil {
			return err
		}
	}
	return nil
}

// Unchanged tells whether the row under a key is row i of c still.
func (x *Tx) Unchanged(t *Table, key []byte, c *vec.Chunk, i int) (bool, error) {
	r, err := x.table(t).get(string(key))
	if err != nil || r.New == nil {
		return false, err
	}
	x.row = vec.EncodeRow(x.row[:0], c.Cols, i)
	return bytes.Equal(x.row, r.New), nil
}

// Own gives what the transaction has made of the row under a key; false if nothing.
func (x *Tx) Own(t *Table, key []byte) (Row, bool) {
	rows := x.Rows(t)
	if rows == nil {
		return Row{}, false
	}
	return rows.Get(string(key))
}
