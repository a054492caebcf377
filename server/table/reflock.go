package table

import "context"

// refLock names the lock of a key that foreign keys may reference; no lockName begins like that.
const refLock = "\xff\xff\xff\xff\xff\xff"

// lockReference locks a referenced key: alone for who takes it away, shared for who relies on it.
func (x *Tx) lockReference(ctx context.Context, f *ForeignKey, key []byte, exclusive bool) error {
	t := f.Parent
	tt := x.table(t)
	name := refLock + lockName(f.target, key)
	if has, ok := tt.references[name]; tt.allReferences == alone || ok && (has || !exclusive) {
		return nil
	}
	if tt.allReferences == unlocked {
		if err := t.locks.acquire(ctx, x, &t.referenced, false); err != nil {
			return err
		}
		tt.allReferences = shared
	}
	if t.dropped.Load() || t.replaced.Load() {
		x.leave(tt)
		return t.gone()
	}
	if len(tt.references) >= manyKeys && t.locks.try(x, &t.referenced, true) {
		tt.allReferences = alone
		return nil
	}
	t.locks.mu.Lock()
	if t.locks.tryLocked(x, t.keyLock(name), exclusive) {
		t.locks.mu.Unlock()
	} else if err := t.locks.acquireLocked(ctx, x, t.keyLock(name), exclusive); err != nil {
		t.locks.mu.Lock()
		t.forgetKey(name)
		t.locks.mu.Unlock()
		return err
	}
	if tt.references == nil {
		tt.references = map[string]bool{}
	}
	tt.references[name] = exclusive
	return nil
}

// LockWhole takes a table for a definition that changes its indexes or foreign keys: nobody else writes to it, or relies on its keys.
func (x *Tx) LockWhole(ctx context.Context, t *Table) error {
	if err := x.Lock(ctx, t, true); err != nil {
		return err
	}
	tt := x.table(t)
	if tt.allReferences == alone {
		return nil
	}
	if err := t.locks.acquire(ctx, x, &t.referenced, true); err != nil {
		return err
	}
	tt.allReferences = alone
	return nil
}

// releaseReferences gives the locks of referenced keys back.
func (x *Tx) releaseReferences(tt *txTable) {
	if len(tt.references) > 0 {
		tt.t.releaseKeys(x, tt.references)
	}
	if tt.allReferences != unlocked {
		tt.t.locks.release(x, &tt.t.referenced)
	}
}
