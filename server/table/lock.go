package table

import (
	"context"
	"slices"
	"sync"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Locks is the lock manager of all tables of one incarnation.
//
// There are two kinds of locks, both of this file's type lock: one for each table, which inserts share and
// statements that read what they change have alone, and one for each key that is being written by somebody
// who shares the table's lock. Waiters are served in the order of their arrival, so that nobody starves;
// only who shares a lock already and wants it alone goes before the others.
//
// A transaction that would close a circle of waiting ones is told so at once, and is to end: the others go
// on. That is found by walking from the transactions in its way to those in theirs.
type Locks struct {
	// mu guards every lock and Tx.waiting. It is held for no longer than the walk takes.
	mu sync.Mutex
}

// NewLocks makes a lock manager.
func NewLocks() *Locks { return &Locks{} }

// lock is one table's or one key's. Invariant: alone is nil or shared is empty.
type lock struct {
	shared map[*Tx]struct{}
	alone  *Tx
	// queue are the requests that wait, in the order in which they will be served. Invariant: the first
	// one cannot be granted.
	queue []*request
}

// request is a transaction's wish for a lock. It waits for at most one at a time.
type request struct {
	tx        *Tx
	on        *lock
	exclusive bool
	granted   chan struct{} // closed when it is
}

// free tells whether nothing but the queue keeps tx from the lock.
func (l *lock) free(tx *Tx, exclusive bool) bool {
	if l.alone != nil && l.alone != tx {
		return false
	}
	if !exclusive {
		return true
	}
	_, mine := l.shared[tx]
	return len(l.shared) == 0 || mine && len(l.shared) == 1
}

func (l *lock) give(tx *Tx, exclusive bool) {
	if exclusive {
		delete(l.shared, tx)
		l.alone = tx
		return
	}
	if l.shared == nil {
		l.shared = map[*Tx]struct{}{}
	}
	l.shared[tx] = struct{}{}
}

// serve grants what can be granted now.
func (l *lock) serve() {
	for len(l.queue) > 0 && l.free(l.queue[0].tx, l.queue[0].exclusive) {
		r := l.queue[0]
		l.queue = l.queue[1:]
		l.give(r.tx, r.exclusive)
		r.tx.waiting = nil
		close(r.granted)
	}
}

func (l *lock) unused() bool { return l.alone == nil && len(l.shared) == 0 && len(l.queue) == 0 }

// try takes a lock if that needs no waiting.
func (m *Locks) try(x *Tx, l *lock, exclusive bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tryLocked(x, l, exclusive)
}

func (m *Locks) tryLocked(x *Tx, l *lock, exclusive bool) bool {
	if _, sharing := l.shared[x]; len(l.queue) > 0 && !sharing || !l.free(x, exclusive) {
		return false
	}
	l.give(x, exclusive)
	return true
}

// acquire waits for a lock. The error is that of a deadlock or the cause of ctx's end; then the
// transaction has what it had before.
func (m *Locks) acquire(ctx context.Context, x *Tx, l *lock, exclusive bool) error {
	m.mu.Lock()
	return m.acquireLocked(ctx, x, l, exclusive)
}

// acquireLocked is acquire for a caller that has m.mu, which it gives back.
func (m *Locks) acquireLocked(ctx context.Context, x *Tx, l *lock, exclusive bool) error {
	if m.tryLocked(x, l, exclusive) {
		m.mu.Unlock()
		return nil
	}
	r := &request{tx: x, on: l, exclusive: exclusive, granted: make(chan struct{})}
	at := len(l.queue)
	if _, sharing := l.shared[x]; sharing {
		// Nobody who waits can have the lock before this one ends, unless it shares the lock too.
		at = 0
		for at < len(l.queue) {
			if _, sharing := l.shared[l.queue[at].tx]; !sharing {
				break
			}
			at++
		}
	}
	l.queue = slices.Insert(slices.Clone(l.queue), at, r)
	x.waiting = r
	if r.circular() {
		m.forget(r)
		m.mu.Unlock()
		return sqlerr.Newf(sqlerr.DeadlockDetected, "deadlock detected").
			WithDetail("This transaction and others wait for each other's locks.").
			WithHint("Try the transaction again.")
	}
	m.mu.Unlock()
	select {
	case <-r.granted:
		return nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.waiting != r {
		return nil // it came at the last moment
	}
	m.forget(r)
	return context.Cause(ctx)
}

// forget takes back a request that waits.
func (m *Locks) forget(r *request) {
	r.tx.waiting = nil
	l := r.on
	i := slices.Index(l.queue, r)
	l.queue = slices.Delete(slices.Clone(l.queue), i, i+1)
	l.serve()
}

// release gives a lock back, however tx has it.
func (m *Locks) release(x *Tx, l *lock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.releaseLocked(x, l)
}

func (m *Locks) releaseLocked(x *Tx, l *lock) {
	delete(l.shared, x)
	if l.alone == x {
		l.alone = nil
	}
	l.serve()
}

// circular tells whether r waits for its own transaction.
func (r *request) circular() bool {
	seen := map[*Tx]bool{}
	var reaches func(q *request) bool
	visit := func(x *Tx) bool {
		if x == r.tx {
			return true
		}
		if seen[x] || x.waiting == nil {
			return false
		}
		seen[x] = true
		return reaches(x.waiting)
	}
	reaches = func(q *request) bool {
		l := q.on
		if l.alone != nil && l.alone != q.tx && visit(l.alone) {
			return true
		}
		if q.exclusive {
			for x := range l.shared {
				if x != q.tx && visit(x) {
					return true
				}
			}
		}
		for _, before := range l.queue {
			if before == q {
				break
			}
			// A share does not wait for another one.
			if (before.exclusive || q.exclusive) && visit(before.tx) {
				return true
			}
		}
		return false
	}
	return reaches(r)
}

// keyLock gives the lock of a key, making it. The caller has the manager's mutex.
func (t *Table) keyLock(key string) *lock {
	l := t.keys[key]
	if l == nil {
		l = &lock{}
		t.keys[key] = l
	}
	return l
}

// tryKey locks a key if that needs no waiting.
func (t *Table) tryKey(x *Tx, key string) bool {
	t.locks.mu.Lock()
	defer t.locks.mu.Unlock()
	return t.locks.tryLocked(x, t.keyLock(key), true)
}

// awaitKey locks a key.
func (t *Table) awaitKey(ctx context.Context, x *Tx, key string) error {
	t.locks.mu.Lock()
	err := t.locks.acquireLocked(ctx, x, t.keyLock(key), true)
	if err != nil {
		t.locks.mu.Lock()
		t.forgetKey(key)
		t.locks.mu.Unlock()
	}
	return err
}

// forgetKey drops a key's lock that nobody has or wants.
func (t *Table) forgetKey(key string) {
	if l := t.keys[key]; l != nil && l.unused() {
		delete(t.keys, key)
	}
}

// releaseKeys gives keys back.
func (t *Table) releaseKeys(x *Tx, keys map[string]bool) {
	t.locks.mu.Lock()
	defer t.locks.mu.Unlock()
	for k := range keys {
		t.locks.releaseLocked(x, t.keys[k])
		t.forgetKey(k)
	}
}
