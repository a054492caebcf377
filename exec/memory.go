package exec

import (
	"sync/atomic"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Memory is what many operators share: the state of all views of a server, or everything that one ad hoc
// query keeps. Each operator has an Account in it and says what it holds.
//
// A soft one (Strict is false) never refuses: over the limit every operator is given its share of it, in
// proportion to what it holds, and evicts down to that. What is dirty cannot be evicted; whoever lets
// input in must look at Dirty. A strict one refuses what goes beyond the limit, with SQLSTATE 53200.
type Memory struct {
	limit  int64
	strict bool
	// parent is a larger whole that this is a part of; nil: none.
	parent *Memory
	// other is memory of others under the same limit; nil: none.
	other func() int64
	held  atomic.Int64
	dirty atomic.Int64
}

// MemoryConfig configures a Memory.
type MemoryConfig struct {
	// Limit is in bytes; it must be positive.
	Limit  int64
	Strict bool
	// Parent is a larger whole that this is a part of, and that is strict if this is. Nil: none.
	Parent *Memory
	// Other gives memory of others that is under the same limit; it must be cheap. Nil: none.
	Other func() int64
}

// NewMemory makes a Memory that nobody uses yet.
func NewMemory(cfg MemoryConfig) *Memory {
	return &Memory{limit: cfg.Limit, strict: cfg.Strict, parent: cfg.Parent, other: cfg.Other}
}

// Limit is the limit in bytes.
func (m *Memory) Limit() int64 { return m.limit }

// Used is what is held by all, in bytes.
func (m *Memory) Used() int64 {
	n := m.held.Load()
	if m.other != nil {
		n += m.other()
	}
	return n
}

// Tight tells whether little is left of the limit, or of that of a larger whole: who can do with less should.
func (m *Memory) Tight() bool {
	for ; m != nil; m = m.parent {
		if m.strict && m.Used() > m.limit/8*7 {
			return true
		}
	}
	return false
}

// Dirty is the part of what operators hold that they cannot give up before the next checkpoint.
func (m *Memory) Dirty() int64 { return m.dirty.Load() }

// Account opens an account. A nil Memory gives a nil account, which bounds nothing.
func (m *Memory) Account() *Account {
	if m == nil {
		return nil
	}
	return &Account{m: m}
}

// Account is one operator's part of a Memory. It is used by one goroutine.
type Account struct {
	m           *Memory
	held, dirty int64
}

// minShare is what an operator may always hold.
const minShare = 64 << 10

// Set says what the operator holds, and how much of that is dirty. The error is that of a strict Memory.
func (a *Account) Set(held, dirty int64) (err error) {
	if a == nil {
		return nil
	}
	// An atomic addition for each chunk of each operator is felt on many cores; small changes can wait.
	if d := held - a.held; d > minShare/4 || d < -minShare/4 {
		a.held = held
		for m := a.m; m != nil; m = m.parent {
			// All levels get it, since Close takes it back from all.
			if n := m.held.Add(d); m.strict && d > 0 && n > m.limit && err == nil {
				err = tooMuch(m)
			}
		}
	}
	if d := dirty - a.dirty; d > minShare/4 || d < 0 {
		a.m.dirty.Add(d)
		a.dirty = dirty
	}
	return err
}

func tooMuch(m *Memory) error {
	e := sqlerr.Newf(sqlerr.OutOfMemory, "out of memory")
	if m.parent == nil {
		return e.WithDetail("The queries that run now need more than the %d MB that they may use together.", m.limit>>20).
			WithHint("Try again later, or start the server with a larger --memory-limit.")
	}
	return e.WithDetail("The query needs more than the %d MB that it may use.", m.limit>>20).
		WithHint("Restrict it, or start the server with a larger --memory-limit.")
}

// Tight is Memory.Tight, once the operator holds more than the little that everybody may.
func (a *Account) Tight() bool { return a != nil && a.held > 16*minShare && a.m.Tight() }

// Share is how many bytes the operator may hold at present: 0 means that there is no bound.
func (a *Account) Share() int64 {
	if a == nil || a.m.strict {
		return 0
	}
	used := a.m.Used()
	if used <= a.m.limit {
		return 0
	}
	// A little less than the share, so that not every chunk has to evict.
	return max(minShare, int64(float64(a.held)*0.95*float64(a.m.limit)/float64(used)))
}

// Close gives everything back.
func (a *Account) Close() {
	if a == nil {
		return
	}
	for m := a.m; m != nil; m = m.parent {
		m.held.Add(-a.held)
	}
	a.m.dirty.Add(-a.dirty)
	a.held, a.dirty = 0, 0
}
