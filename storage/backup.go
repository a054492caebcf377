package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// A backup is a directory with a checkpoint as it is retained (retain.go) and the version of its format:
//
//	WEIR_FORMAT
//	checkpoint/   Pebble's files, and WEIR_CHECKPOINT, which comes last
//
// It has no log: the checkpoint contains everything that the log has up to it. Restore makes a data
// directory of it, with a log that begins after the checkpoint.
const backupDir = "checkpoint"

// BackupInfo describes a backup.
type BackupInfo struct {
	CheckpointInfo
	// Files and Bytes are what it consists of.
	Files int
	Bytes int64
}

// Backup copies the newest committed checkpoint to dir, which must not exist or be empty; its parent
// must exist; it must not lie in the data directory. Tables are linked if dir is on the same file system. Commits wait while Pebble's files are
// linked or copied. If there is an error, nothing is left in dir. Errors have the SQLSTATEs of
// PostgreSQL for files of the server.
func (s *Store) Backup(dir string) (BackupInfo, error) {
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	fs := s.cfg.FS
	fail := func(err error) (BackupInfo, error) {
		return BackupInfo{}, fileError("backup", dir, err)
	}
	if err := s.usable(); err != nil {
		return BackupInfo{}, err
	}
	if inside(s.cfg.Dir, dir) {
		return fail(errInDataDir)
	}
	if err := emptyDir(fs, dir); err != nil {
		return fail(err)
	}
	info, to, err := s.linkCheckpoint(func(CheckpointInfo) string { return fs.PathJoin(dir, backupDir) })
	s.mu.Lock()
	s.retaining = nil
	s.mu.Unlock()
	var m *checkpointManifest
	if err == nil {
		m, err = describeCheckpoint(fs, to, info, s.cfg.now())
	}
	if err == nil {
		err = writeFileAtomic(fs, dir, formatFile, fmt.Appendf(nil, "%s%d\n", formatPrefix, FormatVersion))
	}
	if err == nil {
		err = m.write(fs, to)
	}
	if err == nil {
		err = syncDir(fs, fs.PathDir(dir))
	}
	if err != nil {
		// There is an error already, and the directory was empty.
		if names, lerr := fs.List(dir); lerr == nil {
			for _, n := range names {
				_ = fs.RemoveAll(fs.PathJoin(dir, n))
			}
		}
		return fail(err)
	}
	s.cfg.Logger.Info("backup made", "dir", dir, "epoch", uint64(info.Epoch), "bytes", m.bytes())
	return BackupInfo{CheckpointInfo: info, Files: len(m.Files), Bytes: m.bytes()}, nil
}

var (
	errNotEmpty  = errors.New("the directory is not empty")
	errInDataDir = errors.New("it is in the data directory")
)

// inside tells whether path is dir or below it. Links are not followed.
func inside(dir, path string) bool {
	d, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	p, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(d, p)
	return err == nil && filepath.IsLocal(rel)
}

// emptyDir makes dir unless it exists and is empty.
func emptyDir(fs vfs.FS, dir string) error {
	st, err := fs.Stat(dir)
	switch {
	case oserror.IsNotExist(err):
		if _, err := fs.Stat(fs.PathDir(dir)); err != nil {
			return err
		}
		return mkdirAll(fs, dir)
	case err != nil:
		return err
	case !st.IsDir():
		return errNotEmpty
	}
	names, err := fs.List(dir)
	if err == nil && len(names) > 0 {
		err = errNotEmpty
	}
	return err
}

// fileError gives an error about a file of the server's machine the SQLSTATE that PostgreSQL would.
func fileError(what, path string, err error) error {
	var known *sqlerr.Error
	if errors.As(err, &known) {
		return err
	}
	code := sqlerr.IOError
	switch {
	case errors.Is(err, ErrFailed), errors.Is(err, ErrClosed):
		return err
	case errors.Is(err, errNotEmpty):
		code = sqlerr.DuplicateFile
	case errors.Is(err, errInDataDir):
		code = sqlerr.InvalidName
	case oserror.IsNotExist(err):
		code = sqlerr.UndefinedFile
	case errors.Is(err, os.ErrPermission):
		code = sqlerr.InsufficientPrivilege
	case noRoom(err), errors.Is(err, syscall.EDQUOT):
		code = sqlerr.DiskFull
	case isDamageError(err):
		code = sqlerr.DataCorrupted
	}
	e := sqlerr.Newf(code, "%s %s: %s", what, path, err)
	e.Cause = err
	return e
}

func isDamageError(err error) bool {
	var d *damage
	return errors.As(err, &d)
}

// Restore makes the data directory of cfg, which must not exist or be empty, from a backup. All of the
// backup is verified first. The result shares no file with it.
func Restore(cfg Config, from string) (BackupInfo, error) {
	if err := cfg.validate(); err != nil {
		return BackupInfo{}, err
	}
	info, err := restore(cfg.FS, from, cfg.Dir)
	if err != nil {
		return BackupInfo{}, fileError("restore", from, err)
	}
	return info, nil
}

func restore(fs vfs.FS, from, dir string) (info BackupInfo, err error) {
	if err := knownFormat(fs, from); err != nil {
		return info, err
	}
	src := fs.PathJoin(from, backupDir)
	m, err := readCheckpointManifest(fs, src)
	if err != nil {
		return info, err
	}
	if err := m.verify(fs, src); err != nil {
		return info, err
	}
	if err := emptyDir(fs, dir); err != nil {
		if errors.Is(err, errNotEmpty) {
			e := sqlerr.Newf(sqlerr.DuplicateFile, "data directory %s is not empty", dir)
			e.Cause = err
			return info, e
		}
		return info, err
	}
	lock, err := lockDir(fs, dir)
	if err != nil {
		return info, err
	}
	defer lock.Close()
	// The log first: from now on the directory is not taken for a new one.
	logDir := fs.PathJoin(dir, "log")
	if err := mkdirAll(fs, logDir); err != nil {
		return info, err
	}
	h := newSegHeader(m.LogPos + 1)
	if err := writeFileAtomic(fs, logDir, segName(h.first), h.encode()); err != nil {
		return info, err
	}
	if err := writeFileAtomic(fs, dir, formatFile, fmt.Appendf(nil, "%s%d\n", formatPrefix, FormatVersion)); err != nil {
		return info, err
	}
	to := fs.PathJoin(dir, newStateDir)
	if err := m.copyTo(fs, src, to, false); err != nil {
		return info, err
	}
	if err := fs.Rename(to, fs.PathJoin(dir, stateDir)); err != nil {
		return info, err
	}
	if err := syncDir(fs, dir); err != nil {
		return info, err
	}
	return BackupInfo{
		CheckpointInfo: CheckpointInfo{Epoch: m.Epoch, LogPos: m.LogPos}, Files: len(m.Files), Bytes: m.bytes(),
	}, nil
}
