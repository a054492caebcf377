package storage

// Metrics is what the store reports about itself.
type Metrics struct {
	// DiskBytes is the size of everything in the data directory: Pebble's files and the log.
	DiskBytes int64
	// TableBytes is the size of Pebble's tables, WALBytes of its write ahead log.
	TableBytes, WALBytes int64
	// CompactionDebt is how many bytes have to be compacted before the tree is in shape.
	CompactionDebt int64
	// ReadAmp is the number of sorted runs that a read may have to look at.
	ReadAmp int
	// MemTableBytes is the size of what Pebble has not flushed.
	MemTableBytes int64
	// CacheBytes is the size of Pebble's block cache; CacheHits and CacheMisses count its use.
	CacheBytes, CacheHits, CacheMisses int64
	// Flushes and Compactions count what was done since Open.
	Flushes, Compactions int64
	// OverlayBytes is the size of arrangement changes that are not committed.
	OverlayBytes int64
	// UnfoldedBytes is the size of state that is committed and not yet in key order.
	UnfoldedBytes int64
	// Arrangements is the number of arrangements in use, Versions of their versions kept.
	Arrangements, Versions int
	// Pins is the number of distinct epochs that snapshots are open at; OldestPin is the oldest
	// of them, or zero.
	Pins      int
	OldestPin Epoch
	// Log describes the log.
	Log LogMetrics
}

// Metrics gives the current figures. It walks the arrangements: for every few seconds, not for
// every statement.
func (s *Store) Metrics() Metrics {
	var m Metrics
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return m
	}
	m.Arrangements = len(s.arrangements)
	for _, a := range s.arrangements {
		a.mu.RLock()
		m.Versions += len(a.versions)
		m.OverlayBytes += a.head.bytes
		for _, f := range a.frozen {
			m.OverlayBytes += f.bytes
		}
		a.mu.RUnlock()
	}
	m.Pins = len(s.pinned)
	if m.Pins > 0 {
		m.OldestPin = s.pinned[0]
	}
	s.mu.Unlock()

	m.UnfoldedBytes = s.tailBytes.Load()
	m.Log = s.log.metrics()
	p := s.db.Metrics()
	m.TableBytes = p.Total().TablesSize
	m.WALBytes = int64(p.WAL.PhysicalSize)
	m.DiskBytes = int64(p.DiskSpaceUsage()) + m.Log.Bytes
	m.CompactionDebt = int64(p.Compact.EstimatedDebt)
	m.ReadAmp = p.ReadAmp()
	m.MemTableBytes = int64(p.MemTable.Size)
	m.CacheBytes, m.CacheHits, m.CacheMisses = p.BlockCache.Size, p.BlockCache.Hits, p.BlockCache.Misses
	m.Flushes, m.Compactions = p.Flush.Count, p.Compact.Count
	return m
}
