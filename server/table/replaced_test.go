package table

import (
	"context"
	"errors"
	"testing"
)

// TestReplacedWhileWaiting: a transaction that waited for a table that another has taken the place of has no lock of either
// afterwards, and locks the new one as if it had never known the old one.
func TestReplacedWhileWaiting(t *testing.T) {
	w := newWorld(t)
	defer func() { w.close() }()
	ctx := context.Background()
	old := w.tables["t"]
	alter, writer, other := NewTx(), NewTx(), NewTx()
	w.must(alter.LockWhole(ctx, old))
	failed := make(chan error)
	go func() { failed <- writer.Lock(ctx, old, true) }()
	now := old.Renew(Renewal{Rel: old.Rel})
	alter.Release()
	if err := <-failed; !errors.Is(err, ErrReplaced) {
		t.Fatal(err)
	}
	ok, err := other.TryLock(now, true)
	if w.must(err); !ok {
		t.Fatal("nobody has the new table, and it is locked")
	}
	if ok, err = writer.TryLock(now, true); err != nil || ok {
		t.Fatal("two transactions have the new table", err)
	}
	other.Release()
	w.must(writer.Lock(ctx, now, true))
	w.insert(writer, now, "1", "1", "x")
	if ok, err = other.TryLock(now, true); err != nil || ok {
		t.Fatal("two transactions have the new table", err)
	}
	w.must(writer.Commit(w.store.Log(), w.rt, true))
	w.must(other.Lock(ctx, now, true))
	other.Release()
	if err := other.Lock(ctx, old, true); !errors.Is(err, ErrReplaced) {
		t.Fatal(err)
	}
	w.tables["t"] = now
}
