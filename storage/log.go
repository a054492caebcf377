package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Log is the durable log: records that are on disk before whoever submitted them hears so, in one
// order for all.
//
// One goroutine owns the files. It takes everything that waits, writes it as one block, syncs once
// and reports to each submitter, in log order; meanwhile the next ones gather. Hence one writer
// gets one commit per fsync, and many share it.
//
// When a write or a sync fails, everything in that block fails, is made unreadable on disk, and
// its positions are used again. The log then goes on in a new segment, as soon as there is room
// for one. What had been reported as written without a sync is kept in memory until some sync has
// covered it, and is written again into the new segment.
type Log struct {
	cfg logConfig

	mu    sync.Mutex
	queue []submission
	// syncs wait until everything written before is durable.
	syncs  []chan error
	closed bool
	// end is the position of the last record written, durable of the last one synced.
	// Invariant: durable <= end; everything acknowledged with sync is <= durable.
	end, durable LogPos
	stats        LogMetrics

	// wake has capacity 1: it says that queue or closed changed, not how often.
	wake chan struct{}
	done chan struct{} // closed when the goroutine has ended
	// closeErr is valid after done.
	closeErr error

	// segMu guards segs and the removal of files.
	segMu sync.Mutex
	segs  []segment // oldest first; the last one is being written, if file is not nil

	// What follows belongs to the log goroutine.
	file vfs.File // nil: a new segment is needed before anything can be written
	salt uint32
	off  int64 // end of the last block in file
	// zeroed is the end of what is filled with zeros, or less than off.
	zeroed int64
	// unsynced are the blocks after durable, to be written again after a failure.
	unsynced      [][]byte
	unsyncedBytes int
	buf, zeros    []byte
	// sinceCheck counts bytes since free space was last looked at.
	sinceCheck int64
	lowSpace   bool
}

type segment struct {
	first LogPos
	bytes int64
}

type submission struct {
	rec  []byte
	sync bool
	done func(LogPos, error)
}

type logConfig struct {
	dir          string
	fs           vfs.FS
	logger       *slog.Logger
	segmentBytes int64
	reserveBytes int64
	// zeroAhead is how much of a segment is filled with zeros before it is needed: a sync that
	// does not change a file's size is 2 to 3 times faster, as no metadata is written.
	zeroAhead int64
	// checkpoint is the last position that recovery does not need.
	checkpoint LogPos
	// full tells that something else in the directory waits for room. Nil: nothing ever does.
	full func() bool
	// keep is the last position that nobody needs: it is less than checkpoint if a retained checkpoint
	// is older.
	keep LogPos
	// makeRoom, if not nil, gives up something on the disk when that is full; false if there is nothing.
	makeRoom func() bool
}

// LogMetrics is what the log reports about itself.
type LogMetrics struct {
	// Bytes is the size of all segments, Segments their number.
	Bytes    int64
	Segments int
	// Records, Blocks and Syncs count what was written and synced since Open, Failures the
	// writes and syncs that failed.
	Records, Blocks, Syncs, Failures int64
	// End is the position of the last record, Durable of the last one known to be synced.
	End, Durable LogPos
}

const (
	// maxBlock bounds the bytes that wait for one fsync.
	maxBlock = 4 << 20
	// maxRecord bounds a record; a block's length is 32 bits.
	maxRecord = 1 << 30
	// maxUnsynced is how many bytes may be written without a sync, and unsyncedDelay for how long:
	// what synchronous_commit = off may lose.
	maxUnsynced   = 1 << 20
	unsyncedDelay = 100 * time.Millisecond
	// spaceCheckBytes is how much is written between two looks at the free space.
	spaceCheckBytes = 1 << 20
)

// openLog recovers the log: it verifies that every record after the checkpoint is there, up to the
// torn end, and removes segments that are not needed.
func openLog(cfg logConfig) (*Log, error) {
	l := &Log{cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if err := mkdirAll(cfg.fs, cfg.dir); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	if err := l.recover(); err != nil {
		return nil, err
	}
	go l.run()
	return l, nil
}

func (l *Log) path(first LogPos) string { return l.cfg.fs.PathJoin(l.cfg.dir, segName(first)) }

// End gives the position of the last record written.
func (l *Log) End() LogPos {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Submit appends a record. done is called once, by the log's goroutine and in log order, when the
// record is durable, or with sync false when it is written; it must not block and must not wait
// for the log. With an error nothing of the record will ever be replayed, unless the disk also
// refused to have it erased (then the log says so in the store's logger). A full disk is SQLSTATE
// 53100, and the log works again when there is room. rec must not change until done is called.
func (l *Log) Submit(rec []byte, sync bool, done func(pos LogPos, err error)) {
	if len(rec) > maxRecord {
		done(0, sqlerr.Newf(sqlerr.ProgramLimitExceeded, "log record of %d bytes exceeds the limit of %d", len(rec), maxRecord))
		return
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		done(0, ErrClosed)
		return
	}
	l.queue = append(l.queue, submission{rec, sync, done})
	l.mu.Unlock()
	l.signal()
}

func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// close writes what waits, syncs and ends the goroutine.
func (l *Log) close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.signal()
	<-l.done
	return l.closeErr
}

func (l *Log) run() {
	defer close(l.done)
	var group []submission
	var timer *time.Timer
	var expired <-chan time.Time
	for {
		group = l.take(group[:0])
		if len(group) > 0 {
			l.write(group)
			if len(group) > 1 {
				// Those who were just told may submit again at once: let them, so that the next
				// fsync is for all of them and not for the first one.
				runtime.Gosched()
			}
			clear(group)
			l.sync()
			continue
		}
		l.sync()
		l.mu.Lock()
		closed := l.closed && len(l.queue) == 0 && len(l.syncs) == 0
		l.mu.Unlock()
		if closed {
			break
		}
		// Nothing runs while the log is idle: the timer exists only while something is unsynced.
		if len(l.unsynced) > 0 && l.file != nil && expired == nil {
			timer = time.NewTimer(unsyncedDelay)
			expired = timer.C
		}
		select {
		case <-l.wake:
		case <-expired:
			expired = nil
			if err := l.syncFile(); err != nil {
				l.fail(err, false)
			}
		}
	}
	if timer != nil {
		timer.Stop()
	}
	if l.file == nil && len(l.unsynced) > 0 {
		l.closeErr = l.rotate()
	}
	if l.file != nil {
		l.closeErr = errors.Join(l.syncFile(), l.file.Close())
	}
}

// syncUpTo makes the records up to pos durable that were submitted without sync.
func (l *Log) syncUpTo(pos LogPos) error {
	l.mu.Lock()
	if l.durable >= pos {
		l.mu.Unlock()
		return nil
	}
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	done := make(chan error, 1)
	l.syncs = append(l.syncs, done)
	l.mu.Unlock()
	l.signal()
	return <-done
}

// sync serves who waits in syncUpTo.
func (l *Log) sync() {
	l.mu.Lock()
	waiting := l.syncs
	l.syncs = nil
	l.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	var err error
	if l.file == nil && len(l.unsynced) > 0 {
		err = l.rotate()
	} else if err = l.syncFile(); err != nil {
		l.fail(err, false)
	}
	for _, done := range waiting {
		done <- err
	}
}

// take moves waiting submissions to group, up to the size of a block.
func (l *Log) take(group []submission) []submission {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, n := 0, 0
	for n < len(l.queue) && (n == 0 || size+len(l.queue[n].rec) <= maxBlock) {
		size += len(l.queue[n].rec)
		n++
	}
	group = append(group, l.queue[:n]...)
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	return group
}

// write makes one block of the group and reports to everybody in it.
func (l *Log) write(group []submission) {
	first := l.end + 1
	err := l.writeBlock(group, first)
	if err != nil {
		err = ioError("could not write to the log", err)
		for i := range group {
			group[i].done(0, err)
		}
		return
	}
	for i := range group {
		group[i].done(first+LogPos(i), nil)
	}
}

func (l *Log) writeBlock(group []submission, first LogPos) error {
	l.buf = beginBlock(l.buf[:0])
	sync := false
	for i := range group {
		l.buf = appendRecord(l.buf, group[i].rec)
		sync = sync || group[i].sync
	}
	size := len(l.buf)
	if err := l.room(size); err != nil {
		return err
	}
	if l.file == nil || l.off+int64(size) > l.cfg.segmentBytes && l.off > segHeaderLen {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	finishBlock(l.buf, l.salt, first, l.durable, len(group))
	if !sync {
		l.unsynced = append(l.unsynced, append([]byte(nil), l.buf...))
		l.unsyncedBytes += size
	}
	l.fillAhead(int64(size))
	if _, err := l.file.WriteAt(l.buf, l.off); err != nil {
		l.fail(err, !sync)
		return err
	}
	last := first + LogPos(len(group)) - 1
	if sync || l.unsyncedBytes > maxUnsynced {
		if err := l.syncTo(last); err != nil {
			l.fail(err, !sync)
			return err
		}
	}
	l.off += int64(size)
	if cap(l.buf) > 2*maxBlock {
		l.buf = nil
	}
	l.mu.Lock()
	l.end = last
	l.stats.Records += int64(len(group))
	l.stats.Blocks++
	l.mu.Unlock()
	l.segMu.Lock()
	l.segs[len(l.segs)-1].bytes = l.off
	l.segMu.Unlock()
	return nil
}

// fillAhead extends the file with zeros when a block of n bytes would extend it. Blocks that are
// large against the step extend the file themselves. If it fails, the block will tell why.
func (l *Log) fillAhead(n int64) {
	if l.off+n <= l.zeroed || 4*n > l.cfg.zeroAhead {
		return
	}
	if l.zeros == nil {
		l.zeros = make([]byte, l.cfg.zeroAhead)
	}
	from := max(l.zeroed, l.off)
	if m, err := l.file.WriteAt(l.zeros, from); err == nil {
		l.zeroed = from + int64(m)
	}
}

// syncFile makes everything written durable.
func (l *Log) syncFile() error {
	if l.file == nil || len(l.unsynced) == 0 {
		return nil
	}
	return l.syncTo(l.end)
}

// syncTo syncs the file, whose last record is then last.
func (l *Log) syncTo(last LogPos) error {
	if err := l.file.SyncData(); err != nil {
		return err
	}
	l.synced(last)
	return nil
}

// synced notes that everything up to last is durable.
func (l *Log) synced(last LogPos) {
	clear(l.unsynced)
	l.unsynced, l.unsyncedBytes = l.unsynced[:0], 0
	l.mu.Lock()
	l.durable = last
	l.stats.Syncs++
	l.mu.Unlock()
}

// fail gives up the current segment after a failed write or sync. The block at off, whose
// submitters are about to get an error, is erased, so that recovery stops before it; if the disk
// does not even do that, the next segment supersedes it, which only a crash before then can undo.
// dropLast says that the block is the last of unsynced.
func (l *Log) fail(cause error, dropLast bool) {
	l.mu.Lock()
	l.stats.Failures++
	l.mu.Unlock()
	if dropLast {
		n := len(l.unsynced) - 1
		l.unsyncedBytes -= len(l.unsynced[n])
		l.unsynced = l.unsynced[:n]
	}
	l.file.Close() // the cause is what matters
	l.file = nil
	l.segMu.Lock()
	name := l.path(l.segs[len(l.segs)-1].first)
	l.segMu.Unlock()
	erased := l.erase(name)
	l.cfg.logger.Error("log write failed", "event", "log_write_failed", "segment", name, "error", cause, "erase_error", erased)
}

// erase overwrites what was written at off.
func (l *Log) erase(name string) error {
	st, err := l.cfg.fs.Stat(name)
	if err != nil {
		return err
	}
	n := min(st.Size()-l.off, blockHeader)
	if n <= 0 {
		return nil
	}
	f, err := l.cfg.fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, n), l.off)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// rotate ends the current segment, if any, and starts the next one after the last durable record.
func (l *Log) rotate() error {
	if l.file != nil {
		if err := l.syncFile(); err != nil {
			l.fail(err, false)
			return err
		}
		err := l.file.Close()
		l.file = nil
		if err != nil {
			return err
		}
	}
	h := newSegHeader(l.durable + 1)
	f, off, err := l.create(h)
	if err != nil {
		return err
	}
	if len(l.unsynced) > 0 {
		l.synced(l.end)
	}
	l.file, l.salt, l.off, l.zeroed = f, h.salt, off, 0
	l.segMu.Lock()
	if n := len(l.segs); n > 0 && l.segs[n-1].first == h.first {
		l.segs = l.segs[:n-1] // it failed before anything in it was durable
	}
	l.segs = append(l.segs, segment{first: h.first, bytes: off})
	l.segMu.Unlock()
	return nil
}

// create makes a segment with its header and the blocks that no sync has covered. It gets its
// name once it is durable, so that a segment always has a header, and a failed attempt leaves
// the segment that it was to supersede.
func (l *Log) create(h segHeader) (_ vfs.File, off int64, err error) {
	tmp := l.path(h.first) + tmpSuffix
	if err := l.cfg.fs.Remove(tmp); err != nil && !oserror.IsNotExist(err) {
		return nil, 0, err
	}
	f, err := l.cfg.fs.OpenReadWrite(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = l.cfg.fs.Remove(tmp) // gives back what little room it took
		}
	}()
	if _, err := f.WriteAt(h.encode(), 0); err != nil {
		return nil, 0, err
	}
	off = segHeaderLen
	for _, b := range l.unsynced {
		first, count := blockRange(b)
		finishBlock(b, h.salt, first, l.durable, count)
		if _, err := f.WriteAt(b, off); err != nil {
			return nil, 0, err
		}
		off += int64(len(b))
	}
	if err := f.Sync(); err != nil {
		return nil, 0, err
	}
	if err := l.cfg.fs.Rename(tmp, l.path(h.first)); err != nil {
		return nil, 0, err
	}
	return f, off, syncDir(l.cfg.fs, l.cfg.dir)
}

// room refuses to write into the space that checkpoints need.
func (l *Log) room(n int) error {
	if l.cfg.full != nil && l.cfg.full() {
		return diskFull(fmt.Errorf("a checkpoint waits for room in %s", l.cfg.dir))
	}
	if l.cfg.reserveBytes < 0 {
		return nil
	}
	l.sinceCheck += int64(n)
	if l.sinceCheck < spaceCheckBytes && !l.lowSpace {
		return nil
	}
	l.sinceCheck = 0
	u, err := l.cfg.fs.GetDiskUsage(l.cfg.dir)
	if err != nil {
		return nil // a file system that cannot tell
	}
	for u.AvailBytes < uint64(l.cfg.reserveBytes)+uint64(n) && l.cfg.makeRoom != nil && l.cfg.makeRoom() {
		if u, err = l.cfg.fs.GetDiskUsage(l.cfg.dir); err != nil {
			return nil
		}
	}
	l.lowSpace = u.AvailBytes < uint64(l.cfg.reserveBytes)+uint64(n)
	if l.lowSpace {
		return diskFull(fmt.Errorf("%d bytes available in %s, %d are reserved for checkpoints",
			u.AvailBytes, l.cfg.dir, l.cfg.reserveBytes))
	}
	return nil
}

// truncate removes the segments that hold nothing after pos, oldest first, so that a crash leaves
// no hole. A file that cannot be removed now is removed the next time.
func (l *Log) truncate(pos LogPos) {
	l.segMu.Lock()
	defer l.segMu.Unlock()
	for len(l.segs) > 1 && l.segs[1].first <= pos+1 {
		if err := l.cfg.fs.Remove(l.path(l.segs[0].first)); err != nil && !oserror.IsNotExist(err) {
			l.cfg.logger.Warn("log truncation", "segment", l.path(l.segs[0].first), "error", err)
			return
		}
		l.segs = append(l.segs[:0], l.segs[1:]...)
	}
}

func (l *Log) metrics() LogMetrics {
	l.mu.Lock()
	m := l.stats
	m.End, m.Durable = l.end, l.durable
	l.mu.Unlock()
	l.segMu.Lock()
	defer l.segMu.Unlock()
	m.Segments = len(l.segs)
	for _, s := range l.segs {
		m.Bytes += s.bytes
	}
	return m
}
