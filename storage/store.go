package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Config says where and how a store keeps its data. Dir is required; the zero value of every
// other field means its default.
type Config struct {
	// Dir is the data directory; Open creates it.
	Dir string
	// FS is the file system; nil means the disk.
	FS vfs.FS
	// Logger gets the store's events; nil means none.
	Logger *slog.Logger
	// CacheBytes is the size of the cache of Pebble's blocks. Default 64 MiB.
	CacheBytes int64
	// MemTableBytes is the size of Pebble's memtable. Default 32 MiB.
	MemTableBytes int64
	// LogSegmentBytes is the size at which the log starts a new segment. Default 64 MiB.
	LogSegmentBytes int64
	// TailBytes is how much state may be committed and not yet folded into key order before folding
	// hurries; at four times that, checkpoints wait. What is unfolded may have to be read into memory.
	// Default 128 MiB.
	TailBytes int64
	// ReserveBytes is disk space that the log leaves free, so that a checkpoint, which frees
	// space, can still be written when the disk is full. Default 64 MiB. Negative means none.
	ReserveBytes int64

	// Retained is how many checkpoints before the newest one are kept, to go back to if that one is
	// damaged. Default 2. Negative means none.
	Retained int
	// RetainInterval is the least time between two checkpoints that the store retains by itself. Default 1
	// minute.
	RetainInterval time.Duration
	// VerifyBytes bounds the tables that Open verifies: those that were written since the last retained
	// checkpoint, the newest first. Default 256 MiB. Negative means none.
	VerifyBytes int64

	// fold says when and how fast delta blobs are folded; tests set it.
	fold foldConfig
	// ingestBytes is the size from which a checkpoint is ingested; tests set it.
	ingestBytes int64
	// blocks are the sizes of blocks of rows; tests set them.
	blocks blockConfig
	// now tells the time; tests set it.
	now func() time.Time
	// manualRetain leaves retaining checkpoints to tests.
	manualRetain bool
}

func (c *Config) validate() error {
	if c.Dir == "" {
		return errors.New("storage: no data directory given")
	}
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = 64 << 20
	}
	if c.MemTableBytes == 0 {
		c.MemTableBytes = 32 << 20
	}
	if c.LogSegmentBytes == 0 {
		c.LogSegmentBytes = 64 << 20
	}
	if c.ReserveBytes == 0 {
		c.ReserveBytes = 64 << 20
	}
	if c.ingestBytes == 0 {
		c.ingestBytes = ingestBytes
	}
	if c.Retained == 0 {
		c.Retained = 2
	}
	if c.RetainInterval == 0 {
		c.RetainInterval = time.Minute
	}
	if c.VerifyBytes == 0 {
		c.VerifyBytes = 256 << 20
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.fold.setDefaults()
	if c.TailBytes > 0 {
		c.fold.bound(c.TailBytes)
	}
	if c.blocks == (blockConfig{}) {
		c.blocks = blockConfig{minRows: blockMinRows, rows: rowBlockRows, bytes: rowBlockBytes, gap: rowBlockGap}
	}
	if c.CacheBytes < 0 || c.MemTableBytes < 0 || c.LogSegmentBytes < 0 {
		return errors.New("storage: negative size in configuration")
	}
	return nil
}

// Store is an open data directory. Its methods may be called by any goroutine.
type Store struct {
	filters lastFilters
	cfg     Config
	lock    io.Closer
	db      *pebble.DB
	log     *Log
	// room is the file system as Pebble sees it.
	room *roomFS
	// compactions is released by the first commit.
	compactions *scheduler
	// ingestOpts say how files are written that Pebble ingests.
	ingestOpts sstable.WriterOptions

	// retainMu lets one change of the retained checkpoints in. It is taken before commitMu.
	retainMu sync.Mutex
	retainer *retainer
	// needRoom has capacity 1: a write of Pebble's waits because the disk is full.
	needRoom chan struct{}
	// retainFailed is when the retainer has failed last; its own.
	retainFailed time.Time
	// fallback says what Open had to do, restored which retained checkpoint it took.
	fallback *Fallback
	restored string

	// readOnly: nothing may be written, see Check.
	readOnly bool

	// suspectMu guards suspects, the files that could not be read.
	suspectMu sync.Mutex
	suspects  []string

	// commitMu lets one Commit, Retain or Close in.
	commitMu sync.Mutex
	// batchEpoch is the newest checkpoint that was written as a batch, see checkpointRecord. Under commitMu.
	batchEpoch Epoch
	head       *headWriter

	// tails are the unfolded parts of state tables, by id; tailMu is taken before a tail's lock.
	tailMu sync.Mutex
	tails  map[TableID]*stateTail
	// tailBytes is the size of all of them.
	tailBytes atomic.Int64
	// commitBytes is what the last commit has written.
	commitBytes atomic.Int64
	// lacking is the size of the last checkpoint if there was no room for it.
	lacking atomic.Int64
	// abandoned is closed when Pebble stands still for good; failure says why.
	abandoned chan struct{}
	folder    *folder

	// mu guards what follows. It is taken before an arrangement's lock, never after.
	mu           sync.Mutex
	closed       bool
	arrangements map[TableID]*Arrangement
	// blocks is what is known of the blocks of tables that were asked for.
	blocks map[TableID]*tableBlocks
	// base is the newest committed state; the store holds a reference.
	base *base
	// completed is the newest epoch that is complete on all actors, or the checkpoint that the
	// store was opened at.
	completed Epoch
	// pins counts the snapshots that are open at each epoch.
	pins map[Epoch]int
	// pinned are the keys of pins, sorted; replaced, never changed.
	pinned []Epoch
	// dropGen counts the commits that dropped tables, and gens the open snapshots by the value of
	// dropGen when they were made: one that is older than a drop still reads the table.
	dropGen uint64
	gens    map[uint64]int
	// checkpoint is the newest committed one. Invariant: it is what Pebble holds.
	checkpoint  CheckpointInfo
	committedAt time.Time
	// retained are the retained checkpoints, oldest first, and retaining is one that is being made.
	retained  []retained
	retaining *CheckpointInfo

	// unwritten is about the memory of what arrangements have changed and no checkpoint has written.
	unwritten atomic.Int64

	// failure is set when the engine has failed for good.
	failure atomic.Pointer[engineError]
}

// CheckpointInfo describes a committed checkpoint; the zero value is the empty store's.
type CheckpointInfo struct {
	// Epoch is the checkpoint's epoch.
	Epoch Epoch
	// LogPos is the last log record whose effect is part of the checkpoint: replay goes on after
	// it.
	LogPos LogPos
}

// logZeroAhead is how far the log fills its segment with zeros before it is needed.
const logZeroAhead = 256 << 10

// Names of system records.
var (
	checkpointKey = []byte{kindSystem, 'c'}
	batchKey      = []byte{kindSystem, 'b'}
)

// Open opens the data directory, creates what is missing and recovers: the store is then at its
// newest committed checkpoint, and Log().Replay gives the records after it. It refuses a
// directory that another store has open, and one whose format it does not know.
func Open(cfg Config) (_ *Store, err error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		cfg:          cfg,
		arrangements: map[TableID]*Arrangement{},
		blocks:       map[TableID]*tableBlocks{},
		pins:         map[Epoch]int{},
		gens:         map[uint64]int{},
		tails:        map[TableID]*stateTail{},
		room:         newRoomFS(cfg.FS, cfg.Logger),
	}
	s.needRoom = make(chan struct{}, 1)
	s.abandoned = make(chan struct{})
	s.room.stuck = sync.OnceFunc(func() {
		s.failure.CompareAndSwap(nil, &engineError{msg: "it was given up while it waited for room on the disk"})
		close(s.abandoned)
	})
	s.room.wanted = func() { notify(s.needRoom) }
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*engineError)
			if !ok {
				panic(r)
			}
			err = e
		}
		if err != nil {
			if s.db != nil {
				err = errors.Join(err, s.db.Close())
			}
			if s.lock != nil {
				s.lock.Close()
			}
			if s.head != nil {
				err = errors.Join(err, s.head.close())
			}
		}
	}()
	if err := mkdirAll(cfg.FS, cfg.Dir); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", cfg.Dir, err)
	}
	if s.lock, err = lockDir(cfg.FS, cfg.Dir); err != nil {
		return nil, err
	}
	if err := checkFormat(cfg.FS, cfg.Dir); err != nil {
		return nil, err
	}
	if err = s.clearTemp(); err != nil {
		return nil, err
	}
	if err = s.openState(); err != nil {
		return nil, err
	}
	if err = s.openIngest(); err != nil {
		return nil, err
	}
	s.completed = s.checkpoint.Epoch
	s.log, err = openLog(logConfig{
		dir: cfg.FS.PathJoin(cfg.Dir, "log"), fs: cfg.FS, logger: cfg.Logger,
		segmentBytes: cfg.LogSegmentBytes, reserveBytes: cfg.ReserveBytes,
		zeroAhead:  min(logZeroAhead, cfg.LogSegmentBytes/8),
		full:       s.room.full,
		checkpoint: s.checkpoint.LogPos, keep: s.logNeeded(s.checkpoint.LogPos), makeRoom: s.makeRoom,
	})
	if err != nil {
		return nil, err
	}
	s.base = s.newBase()
	s.startFolder()
	s.startRetainer()
	cfg.Logger.Info("storage opened", "event", "storage_opened", "dir", cfg.Dir, "checkpoint", uint64(s.checkpoint.Epoch),
		"log_after", uint64(s.checkpoint.LogPos), "log_end", uint64(s.log.End()))
	return s, nil
}

func (s *Store) newBase() *base {
	return newBase(s.db, func(err error) {
		s.cfg.Logger.Error("storage: closing a snapshot", "error", err)
	}, s.readError)
}

// GiveUp is called before a store is closed: nobody waits any more for writes of the engine that wait because the disk is full. What they
// belong to is not committed, and the store has failed then.
func (s *Store) GiveUp() { s.room.interrupt() }

// Close ends the store. Snapshots, versions and iterators must be released before; what is not
// committed is lost, except for what is in the log.
func (s *Store) Close() error {
	s.stopRetainer()
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	arrs := s.arrangements
	s.arrangements = nil
	s.mu.Unlock()

	s.stopFolder()
	err := errors.Join(s.log.close(), s.head.close())
	closed := s.guard(func() error {
		for _, a := range arrs {
			a.mu.Lock()
			for _, v := range a.versions {
				v.base.unref()
			}
			a.versions = nil
			a.base.unref()
			a.mu.Unlock()
		}
		s.base.unref()
		if f := s.failure.Load(); f != nil {
			// A failed engine holds locks that its Close waits for. Its files are consistent: the
			// next Open recovers from them.
			return f
		}
		return s.db.Close()
	})
	return errors.Join(err, closed, s.lock.Close())
}

// Log gives the durable log.
func (s *Store) Log() *Log { return s.log }

// Checkpoint gives the newest committed checkpoint.
func (s *Store) Checkpoint() CheckpointInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkpoint
}

// readCheckpoint reads the record of the newest checkpoint. A checkpoint is written through Pebble's write
// ahead log (a batch) or past it (ingest.go), and each record says which was the last one that went
// through the log: if a log that was lost had it, what was written past the log later is still
// there, and asks for a newer one than there is. (The log may have a newer one: of a checkpoint that was not completed.)
func (s *Store) readCheckpoint() (info CheckpointInfo, batch Epoch, err error) {
	v, err := s.systemRecord(checkpointKey)
	if err != nil || v == nil {
		return info, 0, err
	}
	b, err := s.systemRecord(batchKey)
	if err != nil {
		return info, 0, err
	}
	if len(b) == 8 {
		batch = Epoch(binary.BigEndian.Uint64(b))
	}
	if len(v) != 16 && len(v) != 24 || len(b) != 0 && len(b) != 8 {
		return info, 0, damaged(s.stateDir(), "the record of the checkpoint has %d and %d bytes", len(v), len(b))
	}
	info = CheckpointInfo{
		Epoch:  Epoch(binary.BigEndian.Uint64(v)),
		LogPos: LogPos(binary.BigEndian.Uint64(v[8:])),
	}
	if len(v) == 24 {
		if last := Epoch(binary.BigEndian.Uint64(v[16:])); last > batch {
			return info, 0, damaged(s.stateDir(), "checkpoint %d follows checkpoint %d, but the one that is there is %d", info.Epoch, last, batch)
		}
	}
	return info, batch, nil
}

func (s *Store) systemRecord(key []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(v), closer.Close()
}

// encode gives the record of a checkpoint; batch is the last one that was written as a batch.
func (c CheckpointInfo) encode(batch Epoch) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(c.Epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(c.LogPos))
	return binary.BigEndian.AppendUint64(b, uint64(batch))
}

// Meta gives the committed metadata under key.
func (s *Store) Meta(key []byte) (val []byte, ok bool, err error) {
	v, closer, err := s.db.Get(append([]byte{kindMeta}, key...))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, s.readError(err)
	}
	return slices.Clone(v), true, closer.Close()
}

// ScanMeta calls fn for the committed metadata whose keys have the given prefix, in key order. fn
// must not keep k and v.
func (s *Store) ScanMeta(prefix []byte, fn func(k, v []byte) error) error {
	lo := append([]byte{kindMeta}, prefix...)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: PrefixEnd(lo)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := fn(it.Key()[1:], it.Value()); err != nil {
			it.Close()
			return err
		}
	}
	return s.readError(it.Close())
}

// Arrangement gives the arrangement of table id; there is one object per id, made on first use.
func (s *Store) Arrangement(id TableID) *Arrangement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		panic("storage: arrangement of a closed store")
	}
	a := s.arrangements[id]
	if a == nil {
		a = newArrangement(s, id, s.base)
		s.arrangements[id] = a
	}
	return a
}

// Arrangements lists the ids of the arrangements that are in memory and were not dropped, by id.
func (s *Store) Arrangements() []TableID {
	var ids []TableID
	for _, a := range s.arrangementsByID() {
		ids = append(ids, a.id)
	}
	return ids
}

// Unwritten is about how much memory holds changes of arrangements that no checkpoint has written yet.
func (s *Store) Unwritten() int64 { return s.unwritten.Load() }

// readers gives what decides which versions are kept. The slice is sorted and never changes.
func (s *Store) readers() (completed Epoch, pins []Epoch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.completed, s.pinned
}

// SetCompleted says that epoch is complete on all actors: every arrangement has sealed it. New
// snapshots are at this epoch, and versions below it are released when nobody pins them. Epochs
// must not shrink; a smaller one is ignored.
func (s *Store) SetCompleted(epoch Epoch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.completed = max(s.completed, epoch)
}

// Completed gives the newest completed epoch.
func (s *Store) Completed() Epoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.completed
}

// sweep releases the versions of all arrangements that nobody can ask for.
func (s *Store) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.arrangements {
		a.mu.Lock()
		a.collect(s.completed, s.pinned)
		if a.dropped != 0 && !s.olderThan(a.dropped) {
			for _, v := range a.versions {
				v.base.unref()
			}
			a.versions = nil
			a.base.unref()
			delete(s.arrangements, id)
		}
		a.mu.Unlock()
	}
}

// olderThan says whether a snapshot is open that was made before drop generation gen.
func (s *Store) olderThan(gen uint64) bool {
	for g := range s.gens {
		if g < gen {
			return true
		}
	}
	return false
}
