package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// How Open finds a state that is well.
//
//  1. state/ is compared with its head file (head.go) and opened by Pebble.
//  2. The checkpoint that it has must not be older than the head's, nor have lost one before it.
//  3. The tables written since the newest retained checkpoint are verified, newest first, up to
//     Config.VerifyBytes, and the tables that an earlier life could not read; of the others, which that checkpoint
//     has too, the newest ones up to a sixteenth of that, so that of a small state nothing is left out.
//  4. If any of that finds damage, state/ is set aside as damaged/state-<epoch>, and the newest
//     retained checkpoint all of whose files are well takes its place: it is copied (tables are
//     linked) to state.new, which is complete once it has a head file, and renamed. Then all
//     begins again with 1. A retained checkpoint that is damaged is set aside too.
//  5. The log has every record after each retained checkpoint: replay gives what was lost.
//
// A crash in between leaves state/, or a complete state.new, or neither and the retained
// checkpoints; Open goes on from there.
const (
	damagedDir  = "damaged"
	damagedFile = "WEIR_DAMAGE"
	newStateDir = "state.new"
)

// Fallback says that Open could not use the newest state.
type Fallback struct {
	// From is the newest checkpoint that there was, as far as is known, To the one that was taken.
	From, To Epoch
	// Reason names the damage, SetAside the directories that have it now.
	Reason   string
	SetAside []string
}

// Fallback gives what Open had to do, nil if the newest state was well.
func (s *Store) Fallback() *Fallback { return s.fallback }

func (s *Store) stateDir() string { return s.cfg.FS.PathJoin(s.cfg.Dir, stateDir) }

// openState opens Pebble, at the newest state that is well.
func (s *Store) openState() error {
	fs := s.cfg.FS
	kept, err := listRetained(fs, s.cfg.Dir, false)
	if err != nil {
		return fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
	}
	// The log's folder is made after the state's.
	_, err = fs.Stat(fs.PathJoin(s.cfg.Dir, "log"))
	fresh := oserror.IsNotExist(err) && len(kept) == 0
	if err != nil && !oserror.IsNotExist(err) {
		return fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
	}
	if err := s.finishRestore(); err != nil {
		return fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
	}
	for {
		err := s.tryState(fresh, kept)
		if err == nil {
			s.retained = kept
			break
		}
		if fresh || !isDamage(err) {
			return fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
		}
		if kept, err = s.fallBack(kept, err); err != nil {
			return err
		}
	}
	if err := s.clearSuspects(); err != nil {
		return fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
	}
	if s.fallback != nil {
		s.fallback.To = s.checkpoint.Epoch
		s.cfg.Logger.Error("storage fell back to a retained checkpoint", "event", "checkpoint_fallback", "from", uint64(s.fallback.From),
			"to", uint64(s.fallback.To), "reason", s.fallback.Reason, "set_aside", s.fallback.SetAside)
	}
	return nil
}

// finishRestore completes or removes state.new.
func (s *Store) finishRestore() error {
	fs, dir := s.cfg.FS, s.cfg.FS.PathJoin(s.cfg.Dir, newStateDir)
	if _, err := fs.Stat(dir); oserror.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	_, err := fs.Stat(s.stateDir())
	if err == nil || !oserror.IsNotExist(err) || readHead(fs, dir) == nil {
		return errors.Join(fs.RemoveAll(dir), syncDir(fs, s.cfg.Dir))
	}
	return s.rename(dir, s.stateDir())
}

// rename renames within the data directory, durably.
func (s *Store) rename(from, to string) error {
	if err := s.cfg.FS.Rename(from, to); err != nil {
		return err
	}
	if err := syncDir(s.cfg.FS, s.cfg.FS.PathDir(to)); err != nil {
		return err
	}
	return syncDir(s.cfg.FS, s.cfg.FS.PathDir(from))
}

// tryState opens state/ and verifies it; if there is an error it is closed again.
func (s *Store) tryState(fresh bool, kept []retained) (err error) {
	fs, dir := s.cfg.FS, s.stateDir()
	h := readHead(fs, dir)
	if !fresh {
		if _, err := fs.Stat(dir); oserror.IsNotExist(err) {
			return damaged(dir, "the directory is missing")
		}
		if err := checkFiles(fs, dir, h); err != nil {
			return err
		}
	}
	inv := newInventory(h)
	if s.db, err = openPebble(s, stateFS{FS: s.room, raw: fs, dir: dir, inv: inv}, fresh); err != nil {
		return err
	}
	defer func() {
		if err != nil && s.failure.Load() == nil {
			s.tails, s.checkpoint = map[TableID]*stateTail{}, CheckpointInfo{}
			s.tailBytes.Store(0)
			// What closing says is about what is set aside now.
			if cerr := s.db.Close(); cerr != nil {
				s.cfg.Logger.Warn("storage: closing a damaged state", "error", cerr)
			}
			s.db = nil
		}
	}()
	if s.checkpoint, s.batchEpoch, err = s.readCheckpoint(); err != nil {
		return err
	}
	if h != nil && s.checkpoint.Epoch < h.Epoch {
		return damaged(dir, "it holds checkpoint %d, and checkpoint %d had been written", s.checkpoint.Epoch, h.Epoch)
	}
	if err := s.verifyNewest(kept); err != nil {
		return err
	}
	if err := s.loadTails(); err != nil {
		return err
	}
	inv.keep(func(name string) bool {
		_, err := fs.Stat(fs.PathJoin(dir, name))
		return err == nil
	})
	s.head, err = openHead(fs, dir, inv, func(err error) {
		s.cfg.Logger.Warn("storage: writing the head file", "error", err)
	})
	if err != nil {
		return err
	}
	if st, err := fs.Stat(fs.PathJoin(dir, headFile)); err == nil {
		s.committedAt = st.ModTime()
	}
	s.head.checkpoint(s.checkpoint)
	inv.setChanged(s.head.files)
	return nil
}

// olderShare is the part of Config.VerifyBytes up to which tables are verified that are not new.
const olderShare = 16

// verifyNewest verifies what is not in the newest retained checkpoint, what is suspect, and a little of the rest.
func (s *Store) verifyNewest(kept []retained) error {
	if s.cfg.VerifyBytes < 0 {
		return nil
	}
	names, sizes, err := liveTables(s.db)
	if err != nil {
		return err
	}
	suspects := readSuspects(s.cfg.FS, s.cfg.Dir)
	left, older := s.cfg.VerifyBytes, s.cfg.VerifyBytes/olderShare
	for _, name := range names {
		if !slices.Contains(suspects, name) {
			budget := &left
			if n := len(kept); n > 0 {
				if _, ok := kept[n-1].Files[name]; ok {
					budget = &older
				}
			}
			if *budget -= sizes[name]; *budget < 0 {
				continue
			}
		}
		err := verifyTable(s.cfg.FS, s.cfg.FS.PathJoin(s.stateDir(), name))
		if err != nil {
			// A compaction may have replaced it meanwhile.
			_, now, lerr := liveTables(s.db)
			if lerr != nil {
				return errors.Join(err, lerr)
			}
			if _, live := now[name]; live {
				return err
			}
		}
	}
	return nil
}

// fallBack replaces state/ by the newest retained checkpoint that is well, and gives those that are left.
func (s *Store) fallBack(kept []retained, cause error) ([]retained, error) {
	fs, dir := s.cfg.FS, s.stateDir()
	if s.fallback == nil {
		s.fallback = &Fallback{Reason: cause.Error()}
		if h := readHead(fs, dir); h != nil {
			s.fallback.From = h.Epoch
		}
	}
	s.cfg.Logger.Error("storage: the newest state is damaged", "event", "state_damaged", "error", cause)
	for len(kept) > 0 {
		r := kept[len(kept)-1]
		err := r.err
		if r.dir == s.restored {
			err = cause // all of its files are well, and yet it cannot be opened
		} else if err == nil {
			err = r.verify(fs, r.dir)
		}
		if err == nil {
			if err := s.restoreState(r, cause); err != nil {
				return nil, fmt.Errorf("data directory %s: going back to checkpoint %d: %w", s.cfg.Dir, r.Epoch, err)
			}
			s.restored = r.dir
			s.suspectMu.Lock()
			s.suspects = nil // they are set aside
			s.suspectMu.Unlock()
			return kept, nil
		}
		if !isDamage(err) {
			return nil, fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
		}
		s.cfg.Logger.Error("storage: a retained checkpoint is damaged", "event", "retained_damaged", "epoch", uint64(r.Epoch), "error", err)
		if err := s.setAside(r.dir, "checkpoint", r.Epoch, err); err != nil {
			return nil, fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
		}
		kept = kept[:len(kept)-1]
	}
	e := sqlerr.Newf(sqlerr.DataCorrupted, "the database in %s is damaged, and there is no retained checkpoint that can be read: %s", s.cfg.Dir, cause)
	e.Hint = "Restore a backup into another directory."
	e.Cause = cause
	return nil, e
}

// restoreState puts a copy of a retained checkpoint in the place of state/, which is set aside.
func (s *Store) restoreState(r retained, cause error) error {
	fs, dir := s.cfg.FS, s.cfg.FS.PathJoin(s.cfg.Dir, newStateDir)
	if err := fs.RemoveAll(dir); err != nil {
		return err
	}
	if err := r.copyTo(fs, r.dir, dir, true); err != nil {
		return err
	}
	if _, err := fs.Stat(s.stateDir()); err == nil {
		if err := s.setAside(s.stateDir(), "state", s.fallback.From, cause); err != nil {
			return err
		}
	} else if !oserror.IsNotExist(err) {
		return err
	}
	return s.rename(dir, s.stateDir())
}

// damageNote is the content of WEIR_DAMAGE.
type damageNote struct {
	Kind   string
	Epoch  Epoch
	Time   time.Time
	Reason string
}

// setAside moves a directory into damaged/, with a note.
func (s *Store) setAside(dir, kind string, epoch Epoch, cause error) error {
	fs, into := s.cfg.FS, s.cfg.FS.PathJoin(s.cfg.Dir, damagedDir)
	if err := mkdirAll(fs, into); err != nil {
		return err
	}
	note, err := json.Marshal(damageNote{Kind: kind, Epoch: epoch, Time: s.cfg.now().UTC(), Reason: cause.Error()})
	if err == nil {
		err = writeFileAtomic(fs, dir, damagedFile, note)
	}
	if err != nil { // a name says most of it
		s.cfg.Logger.Warn("storage: describing what is set aside", "dir", dir, "error", err)
	}
	to := ""
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", kind, epoch)
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		to = fs.PathJoin(into, name)
		if _, err := fs.Stat(to); oserror.IsNotExist(err) {
			break
		} else if err != nil {
			return err
		}
	}
	if err := s.rename(dir, to); err != nil {
		return err
	}
	s.fallback.SetAside = append(s.fallback.SetAside, to)
	return nil
}

// listSetAside gives the checkpoints that were set aside.
func listSetAside(fs vfs.FS, dataDir string) []StoredCheckpoint {
	dir := fs.PathJoin(dataDir, damagedDir)
	names, err := fs.List(dir)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	var out []StoredCheckpoint
	for _, name := range slices.Backward(names) {
		c := StoredCheckpoint{Kind: CheckpointSetAside, Dir: fs.PathJoin(dir, name), Reason: "damaged"}
		var note damageNote
		if b, err := readFile(fs, fs.PathJoin(c.Dir, damagedFile)); err == nil && json.Unmarshal(b, &note) == nil {
			c.Epoch, c.Time, c.Reason = note.Epoch, note.Time, note.Reason
		} else if _, e, ok := strings.Cut(name, "-"); ok {
			_, _ = fmt.Sscan(e, &c.Epoch) // 0 if the name does not say
		}
		if files, err := fs.List(c.Dir); err == nil {
			for _, f := range files {
				if st, err := fs.Stat(fs.PathJoin(c.Dir, f)); err == nil {
					c.Bytes += st.Size()
				}
			}
		}
		out = append(out, c)
	}
	return out
}
