package engine

import "github.com/weirdb/weir/storage"

// How the memory limit is divided. What is fixed (the storage engine's cache and its memtables, which lie
// outside of Go's heap) comes first; the operators of all views share the next part, with everything that is
// not written yet; a query may have the same again. A transaction counts by its own bound. The rest, about half, is for what has no budget of its
// own: rows on their way, transactions, and the garbage between two collections.
type memoryShares struct {
	// storage engine
	cache, memTable, tail int64
	// operators is what views share, query what one ad hoc query may have, and queries all of them.
	operators, query, queries int64
	// transaction is how many bytes one transaction may change.
	transaction int64
}

const (
	mib = 1 << 20
	// memTables is how many memtables there may be at once.
	memTables = 6
)

func clamp(n, lo, hi int64) int64 { return max(lo, min(n, hi)) }

// shareMemory divides a limit; 0 is no limit: then storage has its defaults.
func shareMemory(limit int64) memoryShares {
	if limit <= 0 {
		return memoryShares{}
	}
	return memoryShares{
		cache:    clamp(limit/16, 4*mib, 256*mib),
		memTable: clamp(limit/64, 1*mib, 32*mib),
		// Unfolded state is kept in memory, at most four times this, if it is read, and has to be read first
		// by a recovery that replays the log.
		tail:      clamp(limit/32, 2*mib, 64*mib),
		operators: max(limit/4, 8*mib),
		query:     max(limit/4, 8*mib),
		queries:   max(limit/4+limit/8, 12*mib),
		// A transaction is in memory until it commits, several times over while it does. To refuse a COPY
		// that fits into the usual machine would be worse than to go over a small limit for a moment.
		transaction: max(limit/4, 128*mib),
	}
}

// configure sets the sizes of a store that its configuration leaves open.
func (m memoryShares) configure(c *storage.Config) {
	if c.CacheBytes == 0 {
		c.CacheBytes = m.cache
	}
	if c.MemTableBytes == 0 {
		c.MemTableBytes = m.memTable
	}
	if c.TailBytes == 0 {
		c.TailBytes = m.tail
	}
}

// HeapLimit is how large Go's heap should be at most under a memory limit: without what lies outside of it.
func HeapLimit(limit int64) int64 {
	m := shareMemory(limit)
	return max(limit-m.cache-memTables*m.memTable, limit/2)
}
