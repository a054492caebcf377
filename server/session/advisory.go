package session

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Advisory locks are PostgreSQL's: numbers that applications give a meaning. They belong to the process and not to an
// incarnation, because sessions outlive a recovery.
//
//  1. A lock is had by sessions, each as often as it took it: for the session, until it gives it back or ends, or for the
//     transaction, until that ends. What a session has never keeps the session itself away.
//  2. Who has to wait stands in the lock's queue; requests are served in the order of their arrival.
//  3. A request that would close a circle of sessions that wait for advisory locks is refused with 40P01.

// advisoryLocks is the lock manager of all sessions.
type advisoryLocks struct {
	mu    sync.Mutex
	locks map[syscat.AdvisoryKey]*advisoryLock
	// waiting is what each waiting session waits for.
	waiting map[*advisoryHolder]*advisoryRequest
}

type advisoryLock struct {
	key syscat.AdvisoryKey
	// has is how often a session has the lock. Invariant: no entry is zero in both modes.
	has   map[*advisoryHolder]*advisoryCount
	queue []*advisoryRequest
}

// advisoryCount counts by mode: shared, exclusive.
type advisoryCount [2]int

// advisoryHolder is a session's part of it.
type advisoryHolder struct {
	pid int32
	// local are the locks of the open transaction, in the order in which it took them.
	local []localAdvisory
	// held counts all that it has.
	held int
}

type localAdvisory struct {
	key       syscat.AdvisoryKey
	exclusive bool
}

type advisoryRequest struct {
	by        *advisoryHolder
	on        *advisoryLock
	exclusive bool
	granted   chan struct{}
}

func mode(exclusive bool) int {
	if exclusive {
		return 1
	}
	return 0
}

// free tells whether no other session is in h's way.
func (l *advisoryLock) free(h *advisoryHolder, exclusive bool) bool {
	for o, n := range l.has {
		if o != h && (exclusive || n[1] > 0) {
			return false
		}
	}
	return true
}

func (l *advisoryLock) give(h *advisoryHolder, exclusive bool) {
	n := l.has[h]
	if n == nil {
		n = &advisoryCount{}
		l.has[h] = n
	}
	n[mode(exclusive)]++
	h.held++
}

// lock takes a lock, waiting for it if wait is set, and tells whether h has it now.
func (m *advisoryLocks) lock(ctx context.Context, h *advisoryHolder, key syscat.AdvisoryKey, exclusive, wait bool) (bool, error) {
	m.mu.Lock()
	if m.locks == nil {
		m.locks, m.waiting = map[syscat.AdvisoryKey]*advisoryLock{}, map[*advisoryHolder]*advisoryRequest{}
	}
	l := m.locks[key]
	if l == nil {
		l = &advisoryLock{key: key, has: map[*advisoryHolder]*advisoryCount{}}
		m.locks[key] = l
	}
	// Who has the lock in some mode does not queue behind those who wait for him.
	if (len(l.queue) == 0 || l.has[h] != nil) && l.free(h, exclusive) {
		l.give(h, exclusive)
		m.mu.Unlock()
		return true, nil
	}
	if !wait {
		m.mu.Unlock()
		return false, nil
	}
	r := &advisoryRequest{by: h, on: l, exclusive: exclusive, granted: make(chan struct{})}
	l.queue = append(l.queue, r)
	m.waiting[h] = r
	if m.circular(r) {
		m.forget(r)
		m.mu.Unlock()
		return false, sqlerr.Newf(sqlerr.DeadlockDetected, "deadlock detected").
			WithDetail("Process %d and others wait for each other's advisory locks.", h.pid).
			WithHint("See server log for query details.")
	}
	m.mu.Unlock()
	select {
	case <-r.granted:
		return true, nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting[h] != r {
		return true, nil // it came at the last moment
	}
	m.forget(r)
	return false, context.Cause(ctx)
}

// forget takes back a request that waits.
func (m *advisoryLocks) forget(r *advisoryRequest) {
	delete(m.waiting, r.by)
	r.on.queue = slices.DeleteFunc(r.on.queue, func(o *advisoryRequest) bool { return o == r })
	m.serve(r.on)
}

// serve grants what can be granted now, and drops a lock that nobody has or wants.
func (m *advisoryLocks) serve(l *advisoryLock) {
	for len(l.queue) > 0 && l.free(l.queue[0].by, l.queue[0].exclusive) {
		r := l.queue[0]
		l.queue = l.queue[1:]
		l.give(r.by, r.exclusive)
		delete(m.waiting, r.by)
		close(r.granted)
	}
	if len(l.has) == 0 && len(l.queue) == 0 {
		delete(m.locks, l.key)
	}
}

// circular tells whether r waits for its own session.
func (m *advisoryLocks) circular(r *advisoryRequest) bool {
	seen := map[*advisoryHolder]bool{}
	var reaches func(q *advisoryRequest) bool
	visit := func(h *advisoryHolder) bool {
		if h == r.by {
			return true
		}
		if seen[h] || m.waiting[h] == nil {
			return false
		}
		seen[h] = true
		return reaches(m.waiting[h])
	}
	reaches = func(q *advisoryRequest) bool {
		for h, n := range q.on.has {
			if h != q.by && (q.exclusive || n[1] > 0) && visit(h) {
				return true
			}
		}
		for _, before := range q.on.queue {
			if before == q {
				break
			}
			if before.by != q.by && visit(before.by) {
				return true
			}
		}
		return false
	}
	return reaches(r)
}

// unlock gives a lock back once, and tells whether h had it.
func (m *advisoryLocks) unlock(h *advisoryHolder, key syscat.AdvisoryKey, exclusive bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.locks[key]
	if l == nil || l.has[h] == nil || l.has[h][mode(exclusive)] == 0 {
		return false
	}
	n := l.has[h]
	n[mode(exclusive)]--
	h.held--
	if *n == (advisoryCount{}) {
		delete(l.has, h)
	}
	m.serve(l)
	return true
}

// unlockAll gives back everything that h has for the session.
func (m *advisoryLocks) unlockAll(h *advisoryHolder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.held == len(h.local) {
		return
	}
	keep := map[localAdvisory]int{}
	for _, a := range h.local {
		keep[a]++
	}
	for key, l := range m.locks {
		n := l.has[h]
		if n == nil {
			continue
		}
		for k := range n {
			kept := keep[localAdvisory{key, k == 1}]
			h.held -= n[k] - kept
			n[k] = kept
		}
		if *n == (advisoryCount{}) {
			delete(l.has, h)
		}
		m.serve(l)
	}
}

// rows lists all locks and requests for pg_locks.
func (m *advisoryLocks) rows() []syscat.AdvisoryLock {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []syscat.AdvisoryLock
	for key, l := range m.locks {
		for h, n := range l.has {
			for k := range n {
				if n[k] > 0 {
					out = append(out, syscat.AdvisoryLock{AdvisoryKey: key, PID: h.pid, Exclusive: k == 1, Granted: true})
				}
			}
		}
		for _, r := range l.queue {
			out = append(out, syscat.AdvisoryLock{AdvisoryKey: key, PID: r.by.pid, Exclusive: r.exclusive})
		}
	}
	slices.SortFunc(out, func(a, b syscat.AdvisoryLock) int {
		return cmp.Or(cmp.Compare(a.ClassID, b.ClassID), cmp.Compare(a.ObjID, b.ObjID), cmp.Compare(a.ObjSubID, b.ObjSubID),
			cmp.Compare(a.PID, b.PID), cmp.Compare(mode(a.Exclusive), mode(b.Exclusive)), cmp.Compare(mode(b.Granted), mode(a.Granted)))
	})
	return out
}

// advisory is what the functions of advisory locks do in a session.
type advisory struct{ s *session }

// Lock implements syscat.Advisory.
func (a advisory) Lock(key syscat.AdvisoryKey, exclusive, wait, local bool) (bool, error) {
	s := a.s
	ok, err := s.b.advisory.lock(s.running, &s.holder, key, exclusive, wait)
	if ok && local {
		s.holder.local = append(s.holder.local, localAdvisory{key, exclusive})
	}
	return ok, err
}

// Unlock implements syscat.Advisory. What the transaction has cannot be given back.
func (a advisory) Unlock(key syscat.AdvisoryKey, exclusive bool) bool {
	s := a.s
	mine := 0
	for _, x := range s.holder.local {
		if x == (localAdvisory{key, exclusive}) {
			mine++
		}
	}
	if s.b.advisory.count(&s.holder, key, exclusive) > mine && s.b.advisory.unlock(&s.holder, key, exclusive) {
		return true
	}
	name := "ShareLock"
	if exclusive {
		name = "ExclusiveLock"
	}
	s.warn(sqlerr.Warning, "you don't own a lock of type "+name, "")
	return false
}

// UnlockAll implements syscat.Advisory.
func (a advisory) UnlockAll() { a.s.b.advisory.unlockAll(&a.s.holder) }

// count is how often h has a lock.
func (m *advisoryLocks) count(h *advisoryHolder, key syscat.AdvisoryKey, exclusive bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[key]; l != nil && l.has[h] != nil {
		return l.has[h][mode(exclusive)]
	}
	return 0
}

// unlockLocal gives back the advisory locks of the transaction, but for the first ones.
func (s *session) unlockLocal(from int) {
	for _, x := range slices.Backward(s.holder.local[from:]) {
		s.b.advisory.unlock(&s.holder, x.key, x.exclusive)
	}
	s.holder.local = s.holder.local[:from]
}
