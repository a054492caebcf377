package table

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/weirdb/weir/sql/sqlerr"
)

// exclusiveWeight is the weight of a table's exclusive lock: more than all sharers together.
const exclusiveWeight = 1 << 30

// lockPatience is how long a transaction that holds locks waits for another one before it is taken
// for deadlocked.
const lockPatience = 10 * time.Second

// lock is a table's lock: shared by inserts, exclusive for statements that read what they change.
// Waiters are served in the order of their arrival.
type lock struct{ sem *semaphore.Weighted }

func newLock() lock { return lock{semaphore.NewWeighted(exclusiveWeight)} }

func weight(exclusive bool) int64 {
	if exclusive {
		return exclusiveWeight
	}
	return 1
}

// acquire waits for the lock. holding tells whether the caller has other locks, so that waiting for
// ever would be a deadlock.
func (l lock) acquire(ctx context.Context, exclusive, holding bool) error {
	w := weight(exclusive)
	if l.sem.TryAcquire(w) {
		return nil
	}
	return patiently(ctx, holding, func(ctx context.Context) error { return l.sem.Acquire(ctx, w) })
}

// patiently runs wait, bounded by lockPatience if the caller holds other locks.
func patiently(ctx context.Context, holding bool, wait func(context.Context) error) error {
	if !holding {
		return wait(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	err := wait(limited)
	if err != nil && ctx.Err() == nil {
		return sqlerr.Newf(sqlerr.DeadlockDetected, "deadlock detected").
			WithHint("Another transaction holds a lock for a long time; try the transaction again.")
	}
	return err
}

func (l lock) release(exclusive bool) { l.sem.Release(weight(exclusive)) }

// keyLocks lock single keys of a table among those who hold its lock shared.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed on release
}

// acquire locks the keys, which must be sorted and unique so that two transactions that lock several
// at once cannot wait for each other. Those in own are held already.
func (k *keyLocks) acquire(ctx context.Context, keys []string, own map[string]bool, holding bool) error {
	for i, key := range keys {
		if own[key] {
			continue
		}
		err := patiently(ctx, holding, func(ctx context.Context) error {
			for {
				k.mu.Lock()
				wait := k.held[key]
				if wait == nil {
					k.held[key] = make(chan struct{})
					k.mu.Unlock()
					return nil
				}
				k.mu.Unlock()
				select {
				case <-wait:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
		if err != nil {
			k.release(slices.DeleteFunc(slices.Clone(keys[:i]), func(s string) bool { return own[s] }))
			return err
		}
	}
	return nil
}

func (k *keyLocks) release(keys []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		if c := k.held[key]; c != nil {
			close(c)
			delete(k.held, key)
		}
	}
}
