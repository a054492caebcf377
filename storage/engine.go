package storage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// engineError is an error after which Pebble cannot go on. Pebble reports it to its logger and
// expects not to get control back.
type engineError struct{ msg string }

func (e *engineError) Error() string { return ErrFailed.Error() + ": " + e.msg }

func (e *engineError) Is(target error) bool { return target == ErrFailed }

// engineLogger passes Pebble's messages on and turns a fatal one into a panic that Commit
// recovers from. In a goroutine of Pebble's own nothing recovers: the process ends, and the next
// start recovers the state, which is what a fatal error asks for.
type engineLogger struct{ s *Store }

func (l engineLogger) Infof(format string, args ...any) {
	l.s.cfg.Logger.Debug("pebble", "message", lazyf{format, args})
}

func (l engineLogger) Errorf(format string, args ...any) {
	l.s.cfg.Logger.Error("pebble", "message", lazyf{format, args})
}

func (l engineLogger) Fatalf(format string, args ...any) {
	e := &engineError{msg: fmt.Sprintf(format, args...)}
	l.s.failure.CompareAndSwap(nil, e)
	l.s.cfg.Logger.Error("pebble failed", "message", e.msg)
	panic(e)
}

// lazyf is a message that is formatted only when it is written.
type lazyf struct {
	format string
	args   []any
}

func (l lazyf) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf(l.format, l.args...)) }

// eventListener reports what the engine does in the background at level debug, and what goes
// wrong above it.
func eventListener(s *Store, o *opening) *pebble.EventListener {
	log, ctx := s.cfg.Logger, context.Background()
	debug := func(event string, args ...any) {
		if log.Enabled(ctx, slog.LevelDebug) {
			log.Debug(event, args...)
		}
	}
	return &pebble.EventListener{
		BackgroundError: func(err error) { log.Error("storage background error", "error", err) },
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			s.suspect(i.Path, i.Details)
		},
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err != nil && pebble.IsCorruptionError(i.Err) {
				o.flushFailed(i.Err)
			}
			debug("storage flush", "job", i.JobID, "reason", i.Reason, "duration", i.TotalDuration, "error", i.Err)
		},
		CompactionEnd: func(i pebble.CompactionInfo) {
			debug("storage compaction", "job", i.JobID, "reason", i.Reason, "duration", i.TotalDuration, "error", i.Err)
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			log.Warn("storage write stall begins", "reason", i.Reason)
		},
		WriteStallEnd: func() { log.Warn("storage write stall ends") },
	}
}

// pebbleOptions are those of a database on fs.
func pebbleOptions(s *Store, o *opening, fs vfs.FS) *pebble.Options {
	// memTables is how many memtables there may be at once.
	const memTables = 6
	opts := &pebble.Options{
		FS:                 fs,
		Logger:             engineLogger{s},
		EventListener:      eventListener(s, o),
		FormatMajorVersion: pebble.FormatNewest,
		// Pebble takes its memtables off the size of the cache: a small one would have no room for blocks while there is something to flush.
		CacheSize:                   s.cfg.CacheBytes + memTables*s.cfg.MemTableBytes,
		MemTableSize:                uint64(s.cfg.MemTableBytes),
		MemTableStopWritesThreshold: memTables,
		// What is folded of a large state table, or written in key order at once, is a file of ten to a hundred megabytes that overlaps
		// all others of the table, whose keys are hashes first. Compacting two of them with what is there is most of what a byte of
		// state costs. So it waits until there are twelve (the threshold is twice that), and goes into a level that takes a gigabyte before
		// it has another one above it. A key that is looked for is then in one of up to thirteen places, of which filters leave one or
		// two. Writes are stalled late.
		L0CompactionThreshold:      24,
		L0StopWritesThreshold:      60,
		LBaseMaxBytes:              1 << 30,
		CompactionConcurrencyRange: func() (lower, upper int) { return 2, 2 },
		MaxOpenFiles:               1000,
		BytesPerSync:               1 << 20,
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		opts.Levels[i].BlockSize = 16 << 10
		// What is young will be written again or deleted soon (most blobs): not worth compressing.
		opts.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.FastestCompression }
		if i == 0 {
			opts.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
		}
	}
	opts.Experimental.CompactionScheduler = o.compactions
	opts.EnsureDefaults()
	// A range delete frees its space soon, not when its level happens to be compacted.
	opts.FlushDelayDeleteRange = 0
	return opts
}

// opening is a database that is being opened, or is open. Pebble tries a flush again and again if it meets a
// damaged file, and Open waits for that without an end.
type opening struct {
	s *Store
	// damaged gets the error of a flush that met a damaged file before Open has returned (capacity 1).
	damaged chan error
	// mu guards opened: Open has returned.
	mu     sync.Mutex
	opened bool
	// compactions says when there may be some.
	compactions *scheduler
	// gate, once closed, holds up everything that Pebble does with files for good.
	gate gate
}

// flushFailed is called by Pebble, with its locks held. Before Open has returned it does not come back, so
// that all of Pebble waits and nothing is tried again.
func (o *opening) flushFailed(err error) {
	o.mu.Lock()
	opened := o.opened
	if !opened {
		o.damaged <- err
	}
	o.mu.Unlock()
	if !opened {
		select {}
	}
	// Nothing gets to the disk any more. The next process falls back.
	e := &engineError{msg: "a flush met a damaged file: " + err.Error()}
	if o.s.failure.CompareAndSwap(nil, e) {
		o.s.cfg.Logger.Error("storage failed", "error", e)
	}
}

// gate lets everybody pass until it is closed, and then nobody.
type gate struct{ closed atomic.Bool }

func (g *gate) pass() {
	if g.closed.Load() {
		select {}
	}
}

// openPebble opens the database of state/, or makes it if it is fresh. If a flush meets a damaged file
// meanwhile, that is an error, and what Pebble does in the background stands still for good: it holds
// memory, until the process ends, and touches no file.
func openPebble(s *Store, fs stateFS, fresh bool) (*pebble.DB, error) {
	o := &opening{s: s, damaged: make(chan error, 1), compactions: newScheduler()}
	fs.gate = &o.gate
	opts := pebbleOptions(s, o, fs)
	opts.ErrorIfNotExists = !fresh
	type result struct {
		db  *pebble.DB
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				e, ok := p.(*engineError)
				if !ok {
					panic(p)
				}
				r.err = e
			}
			done <- r
		}()
		r.db, r.err = pebble.Open(s.stateDir(), opts)
	}()
	var r result
	select {
	case r = <-done:
		o.mu.Lock()
		o.opened = true
		o.mu.Unlock()
		if len(o.damaged) == 0 {
			if r.err == nil {
				s.compactions = o.compactions
				s.ingestOpts = opts.MakeWriterOptions(0, r.db.TableFormat())
			}
			return r.db, r.err
		}
		r.err = <-o.damaged
	case r.err = <-o.damaged:
	}
	o.gate.closed.Store(true)
	return nil, damaged(s.stateDir(), "%w", r.err)
}
