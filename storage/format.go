package storage

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FormatVersion is the version of everything under the data directory that this code reads and
// writes: keys, records, log segments. It grows when one of them changes its meaning.
const FormatVersion = 3

const (
	formatFile   = "WEIR_FORMAT"
	formatPrefix = "weir state format "
	lockFile     = "LOCK"
	stateDir     = "state"
)

// mkdirAll creates dir and its missing parents so that they survive a crash.
func mkdirAll(fs vfs.FS, dir string) error {
	var missing []string
	for d := dir; ; {
		if _, err := fs.Stat(d); err == nil {
			break
		} else if !oserror.IsNotExist(err) {
			return err
		}
		missing = append(missing, d)
		parent := fs.PathDir(d)
		if parent == d || parent == "" {
			break
		}
		d = parent
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range missing {
		if parent := fs.PathDir(d); parent != "" {
			if err := syncDir(fs, parent); err != nil {
				return err
			}
		}
	}
	return nil
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

func lockDir(fs vfs.FS, dir string) (io.Closer, error) {
	l, err := fs.Lock(fs.PathJoin(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("data directory %s is in use by another Weir server (cannot lock %s: %w)", dir, lockFile, err)
	}
	return l, nil
}

// checkFormat reads the directory's format version, or writes it into a new directory.
func checkFormat(fs vfs.FS, dir string) error {
	name := fs.PathJoin(dir, formatFile)
	f, err := fs.Open(name)
	if oserror.IsNotExist(err) {
		if names, err := fs.List(fs.PathJoin(dir, stateDir)); err == nil && len(names) > 0 {
			return fmt.Errorf("data directory %s holds state but no %s file, so its format is unknown; this Weir reads format %d",
				dir, formatFile, FormatVersion)
		}
		return writeFileAtomic(fs, dir, formatFile, fmt.Appendf(nil, "%s%d\n", formatPrefix, FormatVersion))
	}
	if err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	defer f.Close()
	return readFormat(f, dir)
}

// knownFormat refuses a directory whose format is not the one that this code knows.
func knownFormat(fs vfs.FS, dir string) error {
	f, err := fs.Open(fs.PathJoin(dir, formatFile))
	if oserror.IsNotExist(err) {
		return damaged(dir, "there is no file %s: this is not a directory of Weir's", formatFile)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return readFormat(f, dir)
}

func readFormat(f io.Reader, dir string) error {
	b, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return fmt.Errorf("data directory %s: %s: %w", dir, formatFile, err)
	}
	line := strings.TrimSpace(string(b))
	num, ok := strings.CutPrefix(line, strings.TrimSpace(formatPrefix))
	v, err := strconv.Atoi(strings.TrimSpace(num))
	if !ok || err != nil {
		return fmt.Errorf("data directory %s: %s does not hold a format version but %q", dir, formatFile, line)
	}
	if v != FormatVersion {
		return fmt.Errorf("data directory %s has state format version %d, but this Weir reads and writes version %d: "+
			"use the Weir that wrote it, or another directory", dir, v, FormatVersion)
	}
	return nil
}

// writeFileAtomic makes dir/name hold data, durably, or leaves it as it was.
func writeFileAtomic(fs vfs.FS, dir, name string, data []byte) error {
	tmp := fs.PathJoin(dir, name+".tmp")
	f, err := fs.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := fs.Rename(tmp, fs.PathJoin(dir, name)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}
