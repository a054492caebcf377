package engine

import (
	"runtime/metrics"

	"github.com/weirdb/weir/storage"
)

// How the memory limit is divided. What is fixed (the program, the storage engine's cache and its memtables, which lie
// outside of Go's heap) comes first; the operators of all views share a fifth of the rest, with everything that is
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
	// program is what the process has without any work: pages of the program itself, tables of the runtime, the catalog.
	program = 64 * mib
	// memTables is how many memtables there may be at once.
	memTables = 6
)

func clamp(n, lo, hi int64) int64 { return max(lo, min(n, hi)) }

// shareMemory divides a limit; 0 is no limit: then storage has its defaults.
func shareMemory(limit int64) memoryShares {
	if limit <= 0 {
		return memoryShares{}
	}
	// A small limit would otherwise be promised twice, to the program and to what it works on.
	rest := max(limit-program, limit/2)
	return memoryShares{
		cache:    clamp(rest/16, 4*mib, 256*mib),
		memTable: clamp(rest/64, 1*mib, 32*mib),
		// Unfolded state is kept in memory, at most four times this, if it is read, and has to be read first
		// by a recovery that replays the log.
		tail: clamp(rest/32, 2*mib, 64*mib),
		// What operators hold is up to twice what they count: holes of what was evicted, small allocations.
		operators: max(rest/5, 8*mib),
		query:     max(rest/4, 8*mib),
		queries:   max(rest/4+rest/8, 12*mib),
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

// HeapLimit is how large Go's heap should be at most under a memory limit: without what lies outside of it, which is the storage
// engine's cache and memtables, or more if the process has been seen to have more there (outside). The heap keeps two fifths in
// any case: with less, a server under a small limit would do nothing but collect garbage. A twentieth stays free, since Go's limit
// is passed for moments.
func HeapLimit(limit, outside int64) int64 {
	return max(limit-limit/20-max(outside, shareMemory(limit).engine()+program/2), limit/5*2)
}

// engine is how large the storage engine's cache and memtables may become together.
func (m memoryShares) engine() int64 { return m.cache + memTables*m.memTable }

// Outside is how much memory of a process that has resident bytes in memory lies outside of Go's heap, or will when the storage
// engine's cache and memtables are full: those, the program itself, and what the C library's allocator keeps.
func (i *Incarnation) Outside(resident int64) int64 {
	store := i.Store.Metrics()
	return resident - goMemory() + shareMemory(i.e.cfg.MemoryLimit).engine() - store.CacheBytes - store.MemTableBytes
}

// goMemory is what Go's runtime has from the operating system, as far as debug.SetMemoryLimit is about it.
func goMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// MemoryPart is memory that somebody holds. Bytes and Limit are -1 where there is no figure.
type MemoryPart struct {
	Part         string
	Bytes, Limit int64
}

// Memory tells who holds how much memory, and how much of it is allowed. Parts overlap: Go's heap has operators, queries,
// queues and what is unwritten in it; the storage engine's cache and memtables lie outside of it.
func (i *Incarnation) Memory() []MemoryPart {
	shares := shareMemory(i.e.cfg.MemoryLimit)
	limit := func(n int64) int64 {
		if i.e.cfg.MemoryLimit <= 0 {
			return -1
		}
		return n
	}
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	heap := samples[0].Value.Uint64()
	store := i.Store.Metrics()
	var queued, queries int64
	for _, a := range i.RT.Actors() {
		queued += a.QueuedBytes
	}
	if i.e.queries != nil {
		queries = i.e.queries.Used()
	}
	return []MemoryPart{
		{"process", goMemory() + store.CacheBytes + store.MemTableBytes, limit(i.e.cfg.MemoryLimit)},
		{"heap", int64(heap), limit(HeapLimit(i.e.cfg.MemoryLimit, 0))},
		{"operators", i.RT.Held(), limit(shares.operators)},
		{"unwritten changes", i.Store.Unwritten(), limit(shares.operators)},
		{"unfolded state", store.UnfoldedBytes, -1},
		{"queues", queued, -1},
		{"queries", queries, limit(shares.queries)},
		{"storage cache", store.CacheBytes, limit(shares.cache)},
		{"storage memtables", store.MemTableBytes, limit(memTables * shares.memTable)},
	}
}
