package storage

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// lastFilters knows whether the filters of the last level of Pebble's tree can stay in the cache. Nine tenths of what is stored are
// there, and Pebble's own Get does not look at them: who asks for a key that does not exist, as operators do for each group that is
// new, has a block read and decompressed. But a filter that is not in the cache costs more than the block that it saves.
type lastFilters struct {
	// gets counts reads; every filterInterval of them, the filters are measured.
	gets atomic.Int64
	ok   atomic.Bool
	mu   sync.Mutex
}

// filterInterval is how many reads go by the same answer; measuring looks at every table.
const filterInterval = 1 << 16

// lastLevel is that of the tree where what is old ends up.
const lastLevel = 6

// fit says whether a read should use the filters of the last level.
func (f *lastFilters) fit(s *Store) bool {
	if (f.gets.Add(1)-1)%filterInterval == 0 && f.mu.TryLock() {
		size, err := filterBytes(s.db)
		f.ok.Store(err == nil && size <= s.cfg.CacheBytes/2)
		f.mu.Unlock()
	}
	return f.ok.Load()
}

// filterBytes is the size of the last level's filters.
func filterBytes(db *pebble.DB) (int64, error) {
	levels, err := db.SSTables(pebble.WithProperties())
	if err != nil || len(levels) <= lastLevel {
		return 0, err
	}
	var n int64
	for _, t := range levels[lastLevel] {
		if t.Properties != nil {
			n += int64(t.Properties.FilterSize)
		}
	}
	return n, nil
}

// filteredGet is getFrom, with filters on all levels.
func filteredGet(r pebble.Reader, id TableID, key []byte) ([]byte, bool, error) {
	var buf [128]byte
	k := append(appendTablePrefix(buf[:0], id), key...)
	it, err := r.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, false, err
	}
	if !it.SeekPrefixGE(k) || !bytes.Equal(it.Key(), k) {
		return nil, false, it.Close()
	}
	v, err := it.ValueAndErr()
	if err != nil {
		_ = it.Close()
		return nil, false, err
	}
	out := append(make([]byte, 0, len(v)), v...)
	return out, true, it.Close()
}
