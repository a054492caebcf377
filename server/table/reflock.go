package table

import "context"

// refLock names the lock of a key that foreign keys may reference; no lockName begins like that.
const refLock = "\xff\xff\xff\xff\xff\xff"

// lockReference locks a referenced key: alone for who takes it away, shared for who relies on it.
func (x *Tx) lockReference(ctx context.Context, f *ForeignKey, key []byte, exclusive bool) error {
	t := f.Parent
	tt := x.table(t)
	name := refLock + lockName(f.target, key)
	mode := tableMode(exclusive)
	if tt.allReferences == Update || tt.references[name] >= mode {
		return nil
	}
	if tt.allReferences == Unlocked {
		if err := t.locks.acquire(ctx, x, &t.referenced, KeyShare); err != nil {
			return err
		}
		tt.allReferences = KeyShare
	}
	if t.dropped.Load() || t.replaced.Load() {
		x.leave(tt)
		return t.gone()
	}
	if len(tt.references) >= manyKeys && t.locks.try(x, &t.referenced, Update) {
		tt.allReferences = Update
		return nil
	}
	if !t.tryKey(x, name, mode) {
		if err := t.awaitKey(ctx, x, name, mode); err != nil {
			return err
		}
	}
	if tt.references == nil {
		tt.references = map[string]Mode{}
	}
	tt.references[name] = mode
	return nil
}

// LockWhole takes a table for a definition that changes its indexes or foreign keys: nobody else writes to it, or relies on its keys.
func (x *Tx) LockWhole(ctx context.Context, t *Table) error {
	if err := x.Lock(ctx, t, true); err != nil {
		return err
	}
	tt := x.table(t)
	if tt.allReferences == Update {
		return nil
	}
	if err := t.locks.acquire(ctx, x, &t.referenced, Update); err != nil {
		return err
	}
	tt.allReferences = Update
	return nil
}

// releaseReferences gives the locks of referenced keys back.
func (x *Tx) releaseReferences(tt *txTable) {
	if len(tt.references) > 0 {
		tt.t.releaseKeys(x, tt.references)
	}
	if tt.allReferences != Unlocked {
		tt.t.locks.release(x, &tt.t.referenced)
	}
}
