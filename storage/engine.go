package storage

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

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
func eventListener(log *slog.Logger) *pebble.EventListener {
	ctx := context.Background()
	debug := func(event string, args ...any) {
		if log.Enabled(ctx, slog.LevelDebug) {
			log.Debug(event, args...)
		}
	}
	return &pebble.EventListener{
		BackgroundError: func(err error) { log.Error("storage background error", "error", err) },
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			log.Error("storage data corruption", "path", i.Path, "error", i.Details)
		},
		FlushEnd: func(i pebble.FlushInfo) {
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

// markerFS makes the order of Pebble's directory changes durable where it matters. Pebble switches
// to a new manifest by creating a file, creating a marker that names it, removing the old marker
// and then syncing the directory, once. A file system that keeps any subset of unsynced directory
// changes may lose the manifest or both markers. So the directory is synced before and after a
// marker is created; that is rare.
type markerFS struct{ vfs.FS }

func (fs markerFS) Unwrap() vfs.FS { return fs.FS }

func (fs markerFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !strings.HasPrefix(fs.PathBase(name), "marker.") {
		return fs.FS.Create(name, category)
	}
	dir := fs.PathDir(name)
	if err := syncDir(fs.FS, dir); err != nil {
		return nil, err
	}
	f, err := fs.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	if err := syncDir(fs.FS, dir); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func openPebble(s *Store) (*pebble.DB, error) {
	opts := &pebble.Options{
		FS:                          markerFS{s.room},
		Logger:                      engineLogger{s},
		EventListener:               eventListener(s.cfg.Logger),
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   s.cfg.CacheBytes,
		MemTableSize:                uint64(s.cfg.MemTableBytes),
		MemTableStopWritesThreshold: 6,
		// Bursts are ingested, mostly below L0; and while a compaction runs there, nothing can be ingested
		// below what it touches. So compaction waits for a few files. It stalls writes late.
		L0CompactionThreshold:      4,
		L0StopWritesThreshold:      40,
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
	// The usual scheduler wakes up ten times a second to see whether more compactions are allowed
	// than before. Here that number is constant, and an idle server must use no CPU.
	opts.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	opts.EnsureDefaults()
	// A range delete frees its space soon, not when its level happens to be compacted.
	opts.FlushDelayDeleteRange = 0
	db, err := pebble.Open(s.cfg.FS.PathJoin(s.cfg.Dir, stateDir), opts)
	if err == nil {
		s.ingestOpts = opts.MakeWriterOptions(0, db.TableFormat())
	}
	return db, err
}
