package table

import (
	"context"
	"slices"
	"sync"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Mode is how a transaction has a lock, or wants it. The modes are those of rows in PostgreSQL, each stronger than the one before; a
// table is shared in mode KeyShare and had alone in mode Update.
type Mode uint8

// The modes.
const (
	// Unlocked is no lock.
	Unlocked Mode = iota
	// KeyShare keeps others from deleting a row, and from changing its keys.
	KeyShare
	// Share keeps others from changing it.
	Share
	// NoKeyUpdate is for who changes a row, but none of its keys.
	NoKeyUpdate
	// Update is for who deletes a row, changes its keys, or inserts it.
	Update
)

// conflicts tells whether two transactions cannot have a lock in modes a and b at the same time: KeyShare with Update only, Share
// with both that change something, those with each other.
func conflicts(a, b Mode) bool { return a != Unlocked && b != Unlocked && a+b > Update }

// Locks is the lock manager of all tables of one incarnation.
//
// There are two kinds of locks, both of this file's type lock: one for each table, which everybody shares who changes or locks
// some rows and who changes all of it has alone, and one for each key of rows that are being written or are locked by somebody
// who shares the table's lock. Waiters are served in the order of their arrival, so that nobody starves;
// only who has a lock already and wants it in a stronger mode goes before the others.
//
// A transaction that would close a circle of waiting ones is told so at once, and is to end: the others go
// on. That is found by walking from the transactions in its way to those in theirs.
type Locks struct {
	// mu guards every lock, Tx.waiting and waiting. It is held for no longer than the walk takes.
	mu sync.Mutex
	// definitions is the lock for changes of the catalog.
	definitions lock
	// waiting are the transactions that wait for a lock.
	waiting map[*Tx]struct{}
}

// NewLocks makes a lock manager.
func NewLocks() *Locks { return &Locks{waiting: map[*Tx]struct{}{}} }

// Waiting is a transaction that waits for a lock.
type Waiting struct {
	// Owner is what Tx.SetOwner said.
	Owner int32
	// Table is nil for the lock of the catalog.
	Table *Table
	// Row: the lock is that of a key, else that of the table.
	Row  bool
	Mode Mode
}

// Waiting lists the transactions that wait, by owner.
func (m *Locks) Waiting() []Waiting {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Waiting
	for x := range m.waiting {
		if r := x.waiting; r != nil {
			out = append(out, Waiting{x.owner, r.on.table, r.on.table != nil && r.on != &r.on.table.lock, r.mode})
		}
	}
	slices.SortFunc(out, func(a, b Waiting) int { return int(a.Owner) - int(b.Owner) })
	return out
}

// lock is one table's or one key's. Invariant: no two holders have modes that conflict.
type lock struct {
	table   *Table
	holders []holder
	// queue are the requests that wait, in the order in which they will be served. Invariant: the first
	// one cannot be granted.
	queue []*request
}

// holder is a transaction that has a lock; each is there once.
type holder struct {
	tx   *Tx
	mode Mode
}

// request is a transaction's wish for a lock. It waits for at most one at a time.
type request struct {
	tx      *Tx
	on      *lock
	mode    Mode
	granted chan struct{} // closed when it is
	// of is in whose name tx waits, nil if it is its own.
	of *Tx
}

// ended says that nobody waits for r any more.
func (r *request) ended() {
	r.tx.waiting = nil
	if r.of != nil && r.of.through == r {
		r.of.through = nil
	}
}

// of gives the mode in which tx has the lock.
func (l *lock) of(tx *Tx) Mode {
	for _, h := range l.holders {
		if h.tx == tx {
			return h.mode
		}
	}
	return Unlocked
}

// free tells whether nothing but the queue keeps tx from the lock.
func (l *lock) free(tx *Tx, mode Mode) bool {
	for _, h := range l.holders {
		if h.tx != tx && conflicts(h.mode, mode) {
			return false
		}
	}
	return true
}

func (l *lock) give(tx *Tx, mode Mode) {
	for i := range l.holders {
		if h := &l.holders[i]; h.tx == tx {
			h.mode = max(h.mode, mode)
			return
		}
	}
	l.holders = append(l.holders, holder{tx, mode})
}

// serve grants what can be granted now.
func (l *lock) serve() {
	for len(l.queue) > 0 && l.free(l.queue[0].tx, l.queue[0].mode) {
		r := l.queue[0]
		l.queue = l.queue[1:]
		l.give(r.tx, r.mode)
		r.ended()
		close(r.granted)
	}
}

func (l *lock) unused() bool { return len(l.holders) == 0 && len(l.queue) == 0 }

// try takes a lock if that needs no waiting.
func (m *Locks) try(x *Tx, l *lock, mode Mode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tryLocked(x, l, mode)
}

func (m *Locks) tryLocked(x *Tx, l *lock, mode Mode) bool {
	if l.of(x) == Unlocked {
		for _, r := range l.queue {
			if conflicts(r.mode, mode) {
				return false
			}
		}
	}
	if !l.free(x, mode) {
		return false
	}
	l.give(x, mode)
	return true
}

// acquire waits for a lock. The error is that of a deadlock or the cause of ctx's end; then the
// transaction has what it had before.
func (m *Locks) acquire(ctx context.Context, x *Tx, l *lock, mode Mode) error {
	m.mu.Lock()
	return m.acquireLocked(ctx, x, l, mode)
}

// acquireLocked is acquire for a caller that has m.mu, which it gives back.
func (m *Locks) acquireLocked(ctx context.Context, x *Tx, l *lock, mode Mode) error {
	if m.tryLocked(x, l, mode) {
		m.mu.Unlock()
		return nil
	}
	r := &request{tx: x, on: l, mode: mode, granted: make(chan struct{})}
	at := len(l.queue)
	if l.of(x) != Unlocked {
		// Nobody who waits and is in conflict with it can have the lock before this one ends, unless it has the lock too.
		at = 0
		for at < len(l.queue) && l.of(l.queue[at].tx) != Unlocked {
			at++
		}
	}
	l.queue = slices.Insert(slices.Clone(l.queue), at, r)
	x.waiting = r
	if p := principal(ctx); p != nil && p != x {
		p.through, r.of = r, p
	}
	m.waiting[x] = struct{}{}
	if r.circular() {
		m.forget(r)
		m.mu.Unlock()
		return sqlerr.Newf(sqlerr.DeadlockDetected, "deadlock detected").
			WithDetail("This transaction and others wait for each other's locks.").
			WithHint("Try the transaction again.")
	}
	m.mu.Unlock()
	if x.lockTimeout > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, x.lockTimeout, sqlerr.Newf(sqlerr.LockNotAvailable, "canceling statement due to lock timeout"))
		defer end()
	}
	select {
	case <-r.granted:
		m.mu.Lock()
		delete(m.waiting, x)
		m.mu.Unlock()
		return nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waiting, x)
	if x.waiting != r {
		return nil // it came at the last moment
	}
	m.forget(r)
	return context.Cause(ctx)
}

// forget takes back a request that waits.
func (m *Locks) forget(r *request) {
	r.ended()
	delete(m.waiting, r.tx)
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
	if i := slices.IndexFunc(l.holders, func(h holder) bool { return h.tx == x }); i >= 0 {
		l.holders[i] = l.holders[len(l.holders)-1]
		l.holders[len(l.holders)-1] = holder{}
		l.holders = l.holders[:len(l.holders)-1]
	}
	l.serve()
}

// circular tells whether r waits for its own transaction.
func (r *request) circular() bool {
	seen := map[*Tx]bool{}
	var reaches func(q *request) bool
	visit := func(x *Tx) bool {
		if x == r.tx || x == r.of {
			return true
		}
		if seen[x] {
			return false
		}
		seen[x] = true
		return x.waiting != nil && reaches(x.waiting) || x.through != nil && reaches(x.through)
	}
	reaches = func(q *request) bool {
		l := q.on
		for _, h := range l.holders {
			if h.tx != q.tx && conflicts(h.mode, q.mode) && visit(h.tx) {
				return true
			}
		}
		for _, before := range l.queue {
			if before == q {
				break
			}
			// serve goes by the order: even what is in no conflict waits behind it.
			if visit(before.tx) {
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
		l = &lock{table: t}
		t.keys[key] = l
	}
	return l
}

// tryKey locks a key if that needs no waiting.
func (t *Table) tryKey(x *Tx, key string, mode Mode) bool {
	t.locks.mu.Lock()
	defer t.locks.mu.Unlock()
	return t.locks.tryLocked(x, t.keyLock(key), mode)
}

// awaitKey locks a key.
func (t *Table) awaitKey(ctx context.Context, x *Tx, key string, mode Mode) error {
	t.locks.mu.Lock()
	err := t.locks.acquireLocked(ctx, x, t.keyLock(key), mode)
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
func (t *Table) releaseKeys(x *Tx, keys map[string]Mode) {
	t.locks.mu.Lock()
	defer t.locks.mu.Unlock()
	for k := range keys {
		t.locks.releaseLocked(x, t.keys[k])
		t.forgetKey(k)
	}
}
