package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// tempDir is the part of the data directory for what need not survive the process.
const tempDir = "tmp"

// clearTemp deletes what earlier processes left in the temporary area. It touches nothing if there is none.
func (s *Store) clearTemp() error {
	dir := s.cfg.FS.PathJoin(s.cfg.Dir, tempDir)
	if _, err := s.cfg.FS.Stat(dir); err != nil {
		return nil
	}
	if err := s.cfg.FS.RemoveAll(dir); err != nil {
		return fmt.Errorf("temporary files in %s: %w", dir, err)
	}
	return nil
}

// TempFile is a file that ends with its user: Close deletes it, and so does the next Open of the store. Nothing of
// it is ever synced.
type TempFile struct {
	f    vfs.File
	fs   vfs.FS
	name string
}

// TempFile makes a new, empty temporary file. The caller chooses a name that it uses for one file at a time.
func (s *Store) TempFile(name string) (*TempFile, error) {
	dir := s.cfg.FS.PathJoin(s.cfg.Dir, tempDir)
	if err := s.cfg.FS.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("temporary file %s: %w", name, err)
	}
	t := &TempFile{fs: s.cfg.FS, name: s.cfg.FS.PathJoin(dir, name)}
	if err := t.fs.Remove(t.name); err == nil {
		s.cfg.Logger.Warn("a temporary file was still there", "file", t.name)
	}
	var err error
	if t.f, err = t.fs.OpenReadWrite(t.name, "weir-temp"); err != nil {
		return nil, fmt.Errorf("temporary file %s: %w", name, err)
	}
	return t, nil
}

// WriteAt writes at an offset.
func (t *TempFile) WriteAt(p []byte, off int64) (int, error) { return t.f.WriteAt(p, off) }

// ReadAt reads what was written at an offset.
func (t *TempFile) ReadAt(p []byte, off int64) (int, error) { return t.f.ReadAt(p, off) }

// Close deletes the file.
func (t *TempFile) Close() error { return errors.Join(t.f.Close(), t.fs.Remove(t.name)) }
