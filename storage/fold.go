package storage

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// The folder brings delta blobs into key order, one table at a time.
//
//  1. Choose the table with most to do, and its oldest groups up to a bound of bytes.
//  2. Merge them in memory, shelf by shelf (shelves.go): the last value of each key.
//  3. Write the result in key order: a small one in batches, a large one as files that Pebble takes
//     over (see ingest.go), which saves its log, its memtable and a flush. The blobs are still there,
//     and they hide these keys from readers, so that neither a reader nor a crash can see a difference.
//  4. Delete the blobs, in one batch after the others. Only now do readers see the keys.
//
// No batch is synced: the write ahead log keeps the order, so that after a crash the blobs are gone
// only if everything that replaces them is there; the next checkpoint syncs all of it. Files are
// durable before that; then blobs that come back only say again what is in them.
//
// It rests between batches so that it takes a bounded share of one core, a larger one the more
// there is to fold. When commits run away from it, they wait.
//
// Measured side by side with writing every checkpoint key by key (48-byte entries, a checkpoint a
// second, two busy cores; CPU a changed key with everything in the background, and the median
// time of a commit): 200,000 of 1,000,000 keys 1.07 against 1.79 microseconds, 60 against 790 ms;
// 1,000,000 of 1,000,000 0.80 against 1.30, 230 against 1,630 ms; 20,000 of 100,000 0.52 against
// 1.01, 10 against 21 ms. About 0.3 of each is the change in memory itself.
type foldConfig struct {
	// minEntries is how many changes of a table make a checkpoint write blobs.
	minEntries int
	// tableBytes and tableGroups are what a table may have before it is folded.
	tableBytes  int64
	tableGroups int
	// onceBytes bounds what one fold takes, and with it memory.
	onceBytes int64
	// Above softBytes of all tables the largest is folded whatever it has, and the folder's share
	// is four times as large and grows with the square of the excess; above hardBytes commits wait.
	// What is not folded must be read before the first Get after a restart, which costs 3 to 6
	// milliseconds a MiB.
	softBytes, hardBytes int64
	// batchEntries is how many keys are written between two rests.
	batchEntries int
	// ingestBytes is the size from which what is folded is written as files.
	ingestBytes int64
	// directBytes is the size from which what a checkpoint adds to a table is written in key order at once. Each time adds
	// a file that overlaps all others of the table, which are compacted when there are some: so it is not small.
	directBytes int64
	// share is the part of a core that folding takes below softBytes.
	share float64
	// manual leaves folding to tests.
	manual bool
}

func (f *foldConfig) setDefaults() {
	if f.ingestBytes == 0 {
		f.ingestBytes = 4 << 20
	}
	if f.directBytes == 0 {
		f.directBytes = 24 << 20
	}
	if f.minEntries == 0 {
		*f = foldConfig{
			minEntries: 512, tableBytes: 64 << 20, tableGroups: 64, onceBytes: 128 << 20,
			softBytes: 128 << 20, hardBytes: 512 << 20, batchEntries: 8192, ingestBytes: f.ingestBytes, directBytes: f.directBytes, share: 0.1, manual: f.manual,
		}
	}
}

// bound makes soft the bound above which folding hurries, and the others what goes with it.
func (f *foldConfig) bound(soft int64) {
	f.softBytes, f.hardBytes = soft, 4*soft
	f.tableBytes, f.onceBytes = max(soft/2, 1<<20), soft
}

// folder is the goroutine that folds.
type folder struct {
	wake chan struct{} // capacity 1: a commit has added to a tail
	// progress has capacity 1: a fold has ended; commits that wait look again.
	progress chan struct{}
	stop     chan struct{}
	done     chan struct{}
	// failed is the error of the last fold, nil after a good one.
	failed atomic.Pointer[error]
}

func (s *Store) startFolder() {
	s.folder = &folder{
		wake: make(chan struct{}, 1), progress: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	if s.cfg.fold.manual {
		close(s.folder.done)
		return
	}
	// What there is to fold waits for the first commit: until then a recovery may need the processor and the disk.
	go s.runFolder()
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *Store) stopFolder() {
	close(s.folder.stop)
	<-s.folder.done
}

func (s *Store) runFolder() {
	f := s.folder
	defer close(f.done)
	for {
		select {
		case <-f.stop:
			return
		case <-f.wake:
		}
		for {
			t := s.chooseTail()
			if t == nil {
				break
			}
			err := s.fold(t, s.rest)
			if err == errStopped {
				return
			}
			if err != nil {
				// The blobs are still there, and the next commit tries again.
				s.cfg.Logger.Error("storage: folding a state table", "table", uint32(t.id), "error", err)
				f.failed.Store(&err)
				notify(f.progress)
				break
			}
			f.failed.Store(nil)
			notify(f.progress)
		}
	}
}

var errStopped = fmt.Errorf("folding: %w", ErrClosed)

// rest pauses after work that took d, so that the folder has its share.
func (s *Store) rest(d time.Duration) error {
	share := s.cfg.fold.share
	if over := float64(s.tailBytes.Load()) / float64(s.cfg.fold.softBytes); over > 1 {
		share = min(1, 4*share*over*over)
	}
	pause := time.Duration(float64(d) * (1/share - 1))
	if pause <= 0 {
		select {
		case <-s.folder.stop:
			return errStopped
		default:
			return nil
		}
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-s.folder.stop:
		return errStopped
	case <-timer.C:
		return nil
	}
}

// chooseTail gives the table that most needs folding, or nil.
func (s *Store) chooseTail() *stateTail {
	s.tailMu.Lock()
	defer s.tailMu.Unlock()
	full := s.tailBytes.Load() > s.cfg.fold.softBytes
	var best *stateTail
	most := int64(-1)
	for _, t := range s.tails {
		t.mu.Lock()
		due := len(t.groups) > 0 && !t.absorbing && (full || t.bytes >= s.cfg.fold.tableBytes || len(t.groups) >= s.cfg.fold.tableGroups)
		if due && (t.bytes > most || t.bytes == most && t.id < best.id) {
			best, most = t, t.bytes
		}
		t.mu.Unlock()
	}
	return best
}

// fold brings the oldest groups of a table into key order. rest is called after each batch with
// the time it took; its error ends the fold, which has then changed nothing that can be seen.
func (s *Store) fold(t *stateTail, rest func(time.Duration) error) error {
	t.mu.Lock()
	if t.dropped || len(t.groups) == 0 || t.folding != 0 || t.absorbing {
		t.mu.Unlock()
		return nil
	}
	n, size := 0, int64(0)
	for n < len(t.groups) && (n == 0 || size+t.groups[n].bytes <= s.cfg.fold.onceBytes) {
		size += t.groups[n].bytes
		n++
	}
	// What waits for room keeps the tail locked. The next commit that has room wakes the folder again.
	if err := s.checkSpace(size); err != nil {
		t.mu.Unlock()
		return err
	}
	t.folding = t.groups[n-1].epoch
	last := t.folding
	groups := t.groups[:n:n]
	cached := t.wanted.Swap(false)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.folding = 0
		t.mu.Unlock()
	}()

	x := newShelves(t.id)
	err := s.collect(x, t.id, groups, rest)
	if err == nil {
		err = rest(0)
	}
	if err != nil {
		return err
	}
	if size := x.bytes + int64(x.n)*16; size >= s.cfg.fold.ingestBytes && s.checkSpace(size) == nil {
		err = s.foldFiles(t, x, !cached, rest)
	} else {
		err = s.foldBatches(t, x, rest)
	}
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	if err := deleteBlobs(b, t.id, last); err != nil {
		b.Close()
		return err
	}
	return s.foldBatch(t, b, func() { t.folded(s, n, last) })
}

// foldBatches writes what is on the shelves.
func (s *Store) foldBatches(t *stateTail, x *shelves, rest func(time.Duration) error) error {
	b, n, start := s.db.NewBatch(), 0, time.Now()
	write := func() error {
		err := s.foldBatch(t, b, nil)
		if err == nil {
			err = rest(time.Since(start))
		}
		b, n, start = s.db.NewBatch(), 0, time.Now()
		return err
	}
	err := x.each(func(key, val []byte, del bool) error {
		if n++; n > s.cfg.fold.batchEntries {
			if err := write(); err != nil {
				return err
			}
			n = 1
		}
		return writeRecord(batchWriter{b}, record{key, val, del})
	})
	if err == nil && n > 0 {
		err = write()
	}
	b.Close()
	return err
}

// foldFiles does so in files, which become visible together; uncached says that nobody reads the table.
func (s *Store) foldFiles(t *stateTail, x *shelves, uncached bool, rest func(time.Duration) error) error {
	g := &ingester{s: s, name: "fold-", uncached: uncached}
	defer g.discard()
	n, start := 0, time.Now()
	err := x.each(func(key, val []byte, del bool) error {
		if n++; n > s.cfg.fold.batchEntries {
			if err := rest(time.Since(start)); err != nil {
				return err
			}
			n, start = 1, time.Now()
		}
		return writeRecord(g, record{key, val, del})
	})
	if err == nil {
		err = rest(time.Since(start))
	}
	if err == nil {
		err = g.cut()
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped {
		return nil
	}
	return g.ingest()
}

func deleteBlobs(b *pebble.Batch, id TableID, last Epoch) error {
	if err := b.DeleteRange(blobPrefix(kindBlob, id), blobKey(id, last+1, 0), nil); err != nil {
		return err
	}
	return b.DeleteRange(blobPrefix(kindGroup, id), groupKey(id, last+1), nil)
}

// foldBatch applies a batch unless the table has been dropped, and then calls done, if not nil,
// before anybody else sees the tail.
func (s *Store) foldBatch(t *stateTail, b *pebble.Batch, done func()) error {
	defer s.closeBatch(b)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped {
		return nil
	}
	if err := s.apply(b, pebble.NoSync); err != nil {
		return err
	}
	if done != nil {
		done()
	}
	return nil
}

// folded forgets the n oldest groups, up to epoch last.
func (t *stateTail) folded(s *Store, n int, last Epoch) {
	for _, g := range t.groups[:n] {
		t.bytes -= g.bytes
		s.tailBytes.Add(-g.bytes)
	}
	t.groups = append([]tailGroup(nil), t.groups[n:]...)
	p := t.parts.Load()
	var parts []tailPart
	if len(t.groups) > 0 {
		if p == nil {
			return
		}
		for _, q := range *p {
			if q.epoch > last {
				parts = append(parts, q)
			}
		}
	}
	t.parts.Store(&parts)
}

// awaitFolder makes a commit wait while far too much is unfolded.
func (s *Store) awaitFolder(ctx context.Context) error {
	if s.cfg.fold.manual || s.tailBytes.Load() <= s.cfg.fold.hardBytes {
		return nil
	}
	s.cfg.Logger.Warn("storage: a checkpoint waits for state to be folded", "bytes", s.tailBytes.Load())
	for s.tailBytes.Load() > s.cfg.fold.hardBytes {
		notify(s.folder.wake)
		select {
		case <-s.folder.progress:
			if err := s.folder.failed.Load(); err != nil {
				return fmt.Errorf("too much state is not folded: %w", *err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
