package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Retained checkpoints: earlier states of the store that recovery can go back to if the newest one
// is damaged (recover.go).
//
// A retained checkpoint is a directory checkpoints/<epoch> with all files that Pebble needs to open
// at that epoch: hard links to tables, which never change, and copies of the manifest and the write
// ahead logs, which do. So it takes the time of some links and the space of what the newest state
// does not use any more. The file WEIR_CHECKPOINT lists the files with sizes and checksums. The log
// keeps every record after the oldest retained checkpoint, so that going back loses nothing.
//
// How one is made, so that half of one is never taken for good:
//
//  1. Under commitMu, Pebble links and copies its files into checkpoints/making-<epoch>, synced.
//  2. WEIR_CHECKPOINT is written there, synced, and the directory.
//  3. The directory gets its name, and checkpoints/ is synced.
//
// And how one is removed: it gets the name removing-<epoch>, checkpoints/ is synced, its files are removed.
// What has another name than a number is removed by Open. The log is cut after both.
const (
	checkpointsDir = "checkpoints"
	checkpointFile = "WEIR_CHECKPOINT"
	makingPrefix   = "making-"
	removingPrefix = "removing-"
)

// CheckpointKind says what role a stored checkpoint has.
type CheckpointKind string

// The kinds of stored checkpoints.
const (
	// CheckpointNewest is the one that the store is at.
	CheckpointNewest CheckpointKind = "newest"
	// CheckpointRetained can be gone back to.
	CheckpointRetained CheckpointKind = "retained"
	// CheckpointSetAside was found damaged by recovery, which took an older one. It is kept for whoever
	// wants to look at it, and can be deleted.
	CheckpointSetAside CheckpointKind = "set aside"
)

// StoredCheckpoint describes a checkpoint on disk.
type StoredCheckpoint struct {
	Kind   CheckpointKind
	Epoch  Epoch
	LogPos LogPos
	// Time is when it was retained or set aside, and for the newest one when it was committed.
	Time time.Time
	// Bytes is the size of its files; retained ones share most of them with each other and with the newest.
	Bytes int64
	// Dir is where it is.
	Dir string
	// Reason says of one that was set aside what is wrong with it.
	Reason string
}

// fileInfo is a file of a checkpoint.
type fileInfo struct {
	Size int64
	// CRC is the checksum of the file, of one that is not a table; tables have checksums inside.
	CRC uint32 `json:",omitempty"`
}

// checkpointManifest is the content of WEIR_CHECKPOINT.
type checkpointManifest struct {
	Epoch  Epoch
	LogPos LogPos
	Time   time.Time
	Files  map[string]fileInfo
}

func (m *checkpointManifest) bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// head gives the head for a directory of Pebble's that is made from the checkpoint.
func (m *checkpointManifest) head() *head {
	h := &head{Seq: 1, Epoch: m.Epoch, LogPos: m.LogPos, Logs: map[string]int64{}}
	for name, f := range m.Files {
		switch {
		case isWAL(name):
			h.Logs[name] = f.Size
		case strings.HasPrefix(name, manifestName):
			h.Manifest, h.ManifestBytes = name, f.Size
		}
	}
	return h
}

// readCheckpointManifest reads WEIR_CHECKPOINT of a directory.
func readCheckpointManifest(fs vfs.FS, dir string) (*checkpointManifest, error) {
	path := fs.PathJoin(dir, checkpointFile)
	b, err := readFile(fs, path)
	if oserror.IsNotExist(err) {
		return nil, damaged(path, "the file is missing")
	}
	if err != nil {
		return nil, err
	}
	body, sum, ok := strings.Cut(string(b), "\n")
	m := new(checkpointManifest)
	if !ok || strings.TrimSpace(sum) != crcText([]byte(body)) {
		return nil, damaged(path, "its checksum is wrong")
	}
	if err := json.Unmarshal([]byte(body), m); err != nil {
		return nil, damaged(path, "%w", err)
	}
	return m, nil
}

func (m *checkpointManifest) write(fs vfs.FS, dir string) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeFileAtomic(fs, dir, checkpointFile, fmt.Appendf(body, "\n%s\n", crcText(body)))
}

// verify checks all files of the checkpoint in dir.
func (m *checkpointManifest) verify(fs vfs.FS, dir string) error {
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		want, path := m.Files[name], fs.PathJoin(dir, name)
		st, err := fs.Stat(path)
		if oserror.IsNotExist(err) {
			return damaged(path, "the file is missing")
		}
		if err != nil {
			return err
		}
		if st.Size() != want.Size {
			return damaged(path, "it has %d bytes, not %d", st.Size(), want.Size)
		}
		if isTable(name) {
			if err := verifyTable(fs, path); err != nil {
				return err
			}
			continue
		}
		_, crc, err := checksum(fs, path)
		if err != nil {
			return err
		}
		if crc != want.CRC {
			return damaged(path, "its checksum is wrong")
		}
	}
	return nil
}

// copyTo makes a directory of Pebble's from the checkpoint in dir, durably and complete once it has
// a head file. Tables are linked if link is set and the file system can.
func (m *checkpointManifest) copyTo(fs vfs.FS, dir, to string, link bool) error {
	if err := mkdirAll(fs, to); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		from, path := fs.PathJoin(dir, name), fs.PathJoin(to, name)
		if isTable(name) && link {
			if err := vfs.LinkOrCopy(fs, from, path); err != nil {
				return fmt.Errorf("link %s: %w", from, err)
			}
			continue
		}
		if err := vfs.Copy(fs, from, path); err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
	}
	if err := syncDir(fs, to); err != nil {
		return err
	}
	return writeHead(fs, to, m.head())
}

// describe makes WEIR_CHECKPOINT for the files in dir, which Pebble has synced.
func describeCheckpoint(fs vfs.FS, dir string, info CheckpointInfo, now time.Time) (*checkpointManifest, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	m := &checkpointManifest{Epoch: info.Epoch, LogPos: info.LogPos, Time: now.UTC(), Files: map[string]fileInfo{}}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		var f fileInfo
		if isTable(name) {
			st, err := fs.Stat(path)
			if err != nil {
				return nil, err
			}
			f.Size = st.Size()
		} else if f.Size, f.CRC, err = checksum(fs, path); err != nil {
			return nil, err
		}
		m.Files[name] = f
	}
	return m, nil
}

// retained is a retained checkpoint.
type retained struct {
	dir string
	*checkpointManifest
	// err is why WEIR_CHECKPOINT cannot be read.
	err error
}

func checkpointName(e Epoch) string { return fmt.Sprintf("%020d", uint64(e)) }

// listRetained gives the retained checkpoints, oldest first, and removes what a crash has left half
// made or half removed, unless readOnly.
func listRetained(fs vfs.FS, dataDir string, readOnly bool) ([]retained, error) {
	dir := fs.PathJoin(dataDir, checkpointsDir)
	names, err := fs.List(dir)
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var out []retained
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		e, err := strconv.ParseUint(name, 10, 64)
		if err != nil || checkpointName(Epoch(e)) != name {
			if !readOnly && (strings.HasPrefix(name, makingPrefix) || strings.HasPrefix(name, removingPrefix)) {
				if err := fs.RemoveAll(path); err != nil {
					return nil, err
				}
			}
			continue
		}
		m, err := readCheckpointManifest(fs, path)
		if err != nil {
			if !isDamage(err) {
				return nil, err
			}
			m = &checkpointManifest{Epoch: Epoch(e)}
		}
		out = append(out, retained{dir: path, checkpointManifest: m, err: err})
	}
	return out, nil
}

// RetainCheckpoint makes the newest committed checkpoint a retained one and removes those that are too many.
// The store does so by itself now and then, see Config.Retained; without any to be retained nothing is done.
func (s *Store) RetainCheckpoint() error {
	if s.cfg.Retained < 0 {
		return nil
	}
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	s.mu.Lock()
	n := len(s.retained)
	have := n > 0 && s.retained[n-1].Epoch >= s.checkpoint.Epoch
	s.mu.Unlock()
	if have || s.Checkpoint().Epoch == 0 {
		return nil
	}
	fs, dir := s.cfg.FS, s.cfg.FS.PathJoin(s.cfg.Dir, checkpointsDir)
	if err := mkdirAll(fs, dir); err != nil {
		return fmt.Errorf("retain a checkpoint: %w", err)
	}
	info, making, err := s.linkCheckpoint(func(info CheckpointInfo) string {
		return fs.PathJoin(dir, makingPrefix+checkpointName(info.Epoch))
	})
	var m *checkpointManifest
	final := fs.PathJoin(dir, checkpointName(info.Epoch))
	if err == nil {
		m, err = describeCheckpoint(fs, making, info, s.cfg.now())
	}
	if err == nil {
		err = m.write(fs, making)
	}
	if err == nil {
		err = fs.Rename(making, final)
	}
	if err == nil {
		err = syncDir(fs, dir)
	}
	if err != nil {
		s.mu.Lock()
		s.retaining = nil
		s.mu.Unlock()
		return errors.Join(fmt.Errorf("retain checkpoint %d: %w", info.Epoch, err), fs.RemoveAll(making), fs.RemoveAll(final))
	}
	s.mu.Lock()
	s.retained = append(s.retained, retained{dir: final, checkpointManifest: m})
	s.retaining = nil
	over := slices.Clone(s.retained[:max(0, len(s.retained)-s.cfg.Retained)])
	s.mu.Unlock()
	s.cfg.Logger.Debug("checkpoint retained", "event", "checkpoint_retained", "epoch", uint64(info.Epoch), "bytes", m.bytes())
	_, err = s.removeRetained(over)
	return err
}

// linkCheckpoint has Pebble link and copy its files at the newest checkpoint into the directory that name
// gives. Until s.retaining is unset the log keeps what follows the checkpoint.
func (s *Store) linkCheckpoint(name func(CheckpointInfo) string) (info CheckpointInfo, dir string, err error) {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.usable(); err != nil {
		return info, "", err
	}
	info = s.Checkpoint()
	s.mu.Lock()
	s.retaining = &info
	s.mu.Unlock()
	dir = name(info)
	if err := s.cfg.FS.RemoveAll(dir); err != nil {
		return info, dir, err
	}
	return info, dir, s.pebbleCheckpoint(dir)
}

// pebbleCheckpoint is Pebble's Checkpoint. It panics if the new directory cannot be synced, without having
// harmed anything of the database.
func (s *Store) pebbleCheckpoint(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	return s.guard(func() error { return s.db.Checkpoint(dir) })
}

// removeRetained removes retained checkpoints, oldest first, and the log that only they needed.
func (s *Store) removeRetained(which []retained) (removed []retained, err error) {
	fs, dir := s.cfg.FS, s.cfg.FS.PathJoin(s.cfg.Dir, checkpointsDir)
	for _, r := range which {
		gone := fs.PathJoin(dir, removingPrefix+checkpointName(r.Epoch))
		if err = fs.Rename(r.dir, gone); err != nil {
			break
		}
		removed = append(removed, r)
		s.mu.Lock()
		s.retained = slices.DeleteFunc(s.retained, func(x retained) bool { return x.dir == r.dir })
		s.mu.Unlock()
		if err = syncDir(fs, dir); err == nil {
			err = fs.RemoveAll(gone)
		}
		if err != nil {
			break
		}
	}
	s.log.truncate(s.logNeeded(s.Checkpoint().LogPos))
	if err != nil {
		return removed, fmt.Errorf("remove retained checkpoints: %w", err)
	}
	return removed, nil
}

// logNeeded gives the position after which the log is needed, when the newest checkpoint has pos.
func (s *Store) logNeeded(pos LogPos) LogPos {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retaining != nil {
		pos = min(pos, s.retaining.LogPos)
	}
	for _, r := range s.retained {
		if r.err == nil {
			pos = min(pos, r.LogPos)
		}
	}
	return pos
}

// Checkpoints lists the checkpoints on disk: the newest, then the retained ones, newest first, then
// those that were set aside.
func (s *Store) Checkpoints() []StoredCheckpoint {
	var size int64
	// While a write waits for room, Pebble may not answer.
	if s.usable() == nil && !s.room.full() {
		size = int64(s.db.Metrics().DiskSpaceUsage())
	}
	s.mu.Lock()
	out := []StoredCheckpoint{{
		Kind: CheckpointNewest, Epoch: s.checkpoint.Epoch, LogPos: s.checkpoint.LogPos, Time: s.committedAt,
		Bytes: size, Dir: s.stateDir(),
	}}
	kept := slices.Clone(s.retained)
	s.mu.Unlock()
	for _, r := range slices.Backward(kept) {
		out = append(out, r.stored())
	}
	return append(out, listSetAside(s.cfg.FS, s.cfg.Dir)...)
}

func (r retained) stored() StoredCheckpoint {
	c := StoredCheckpoint{
		Kind: CheckpointRetained, Epoch: r.Epoch, LogPos: r.LogPos, Time: r.Time, Bytes: r.bytes(), Dir: r.dir,
	}
	if r.err != nil {
		c.Reason = r.err.Error()
	}
	return c
}

// CleanCheckpoints removes the retained checkpoints that are older than oldestPreserved, and what of the
// log only they needed; an epoch after all of them removes all. It gives what it removed, oldest first.
func (s *Store) CleanCheckpoints(oldestPreserved Epoch) ([]StoredCheckpoint, error) {
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	var which []retained
	for _, r := range s.retained {
		if r.Epoch < oldestPreserved {
			which = append(which, r)
		}
	}
	s.mu.Unlock()
	removed, err := s.removeRetained(which)
	var out []StoredCheckpoint
	for _, r := range removed {
		out = append(out, r.stored())
	}
	return out, err
}

// retainer is the goroutine that retains checkpoints.
type retainer struct {
	wake chan struct{} // capacity 1: there was a commit
	stop chan struct{}
	done chan struct{}
	once sync.Once // of the closing of stop
}

func (s *Store) startRetainer() {
	r := &retainer{wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	s.retainer = r
	if s.cfg.Retained < 0 || s.cfg.manualRetain {
		close(r.done)
		return
	}
	go s.runRetainer()
}

func (s *Store) stopRetainer() {
	s.retainer.once.Do(func() { close(s.retainer.stop) })
	<-s.retainer.done
}

// runRetainer retains a checkpoint after a commit if the last one is older than the interval. Nothing
// runs while there are no commits.
func (s *Store) runRetainer() {
	r := s.retainer
	defer close(r.done)
	for {
		select {
		case <-r.stop:
			return
		case <-s.needRoom:
			for s.room.full() && s.makeRoom() {
				// One after the other is enough: the write is tried again soon.
				s.pauseFor(roomPoll)
			}
			continue
		case <-r.wake:
		}
		s.mu.Lock()
		var last time.Time
		if n := len(s.retained); n > 0 {
			last = s.retained[n-1].Time
		}
		s.mu.Unlock()
		// A clock that was put back must not stop this for good.
		now := s.cfg.now()
		if age := now.Sub(last); age < s.cfg.RetainInterval && age >= 0 || s.failedRetain(now) {
			continue
		}
		if err := s.RetainCheckpoint(); err != nil && !errors.Is(err, ErrClosed) {
			s.retainFailed = now
			s.cfg.Logger.Warn("storage: a checkpoint is not retained", "event", "retain_failed", "error", err)
		}
	}
}

// pauseFor waits, or until the store is closed.
func (s *Store) pauseFor(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.retainer.stop:
	}
}

// failedRetain says whether the last attempt has failed a short time ago.
func (s *Store) failedRetain(now time.Time) bool {
	d := now.Sub(s.retainFailed)
	return d >= 0 && d < min(s.cfg.RetainInterval, 10*time.Second)
}

// makeRoom removes the oldest retained checkpoint, if there is one, because the disk is full: what they
// insure against is rarer than a full disk.
func (s *Store) makeRoom() bool {
	if !s.retainMu.TryLock() {
		return false // one is being made, which removes another
	}
	defer s.retainMu.Unlock()
	s.mu.Lock()
	if len(s.retained) == 0 {
		s.mu.Unlock()
		return false
	}
	oldest := s.retained[0]
	s.mu.Unlock()
	s.cfg.Logger.Warn("storage: removing a retained checkpoint, because the disk is full", "event", "retained_removed", "epoch", uint64(oldest.Epoch))
	removed, err := s.removeRetained([]retained{oldest})
	if err != nil {
		s.cfg.Logger.Error("storage: removing a retained checkpoint", "error", err)
	}
	return len(removed) > 0
}
