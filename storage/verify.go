package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	pebblelog "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// damage says that what is on disk is not what was written there.
type damage struct {
	// path is the file, or the directory if no file is known.
	path string
	err  error
}

func (d *damage) Error() string { return d.path + ": " + d.err.Error() }
func (d *damage) Unwrap() error { return d.err }

func damaged(path, format string, args ...any) error {
	return &damage{path: path, err: fmt.Errorf(format, args...)}
}

// isDamage says whether an error of opening a directory means that another copy of it should be
// taken: it is damaged, incomplete, or the disk cannot read it. What concerns the process or the
// whole disk (no room, no permission, too many files) is no reason: the same would happen again, to
// files that are well.
func isDamage(err error) bool {
	var d *damage
	if errors.As(err, &d) || pebble.IsCorruptionError(err) {
		return true
	}
	for _, no := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.EACCES,
		syscall.EPERM, syscall.EROFS, syscall.ENOMEM, context.Canceled, ErrFailed, ErrClosed} {
		if errors.Is(err, no) {
			return false
		}
	}
	return true
}

// checkFiles compares a directory of Pebble's, that is not open, with its head: see head.go.
func checkFiles(fs vfs.FS, dir string, h *head) error {
	desc, err := pebble.Peek(dir, fs)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if !desc.Exists {
		return damaged(dir, "it names no manifest")
	}
	name := fs.PathBase(desc.ManifestFilename)
	path := fs.PathJoin(dir, name)
	valid, oldestLog, err := scanManifest(fs, path)
	if err != nil {
		return err
	}
	if h == nil {
		return nil
	}
	// The number at the end has at least six digits.
	if h.Manifest != "" && (len(name) < len(h.Manifest) || len(name) == len(h.Manifest) && name < h.Manifest) {
		return damaged(dir, "its manifest is %s, older than %s", name, h.Manifest)
	}
	// A block of a manifest may end in a few bytes that are not used.
	if name == h.Manifest && valid+16 < h.ManifestBytes {
		return damaged(path, "it is valid up to byte %d, and %d bytes had been written", valid, h.ManifestBytes)
	}
	for log, n := range h.Logs {
		var num uint64
		if _, err := fmt.Sscanf(log, "%d.log", &num); err != nil || num < oldestLog {
			continue
		}
		path := fs.PathJoin(dir, log)
		st, err := fs.Stat(path)
		if oserror.IsNotExist(err) {
			return damaged(path, "the file is missing")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if st.Size() < n {
			return damaged(path, "it has %d bytes, and %d had been written", st.Size(), n)
		}
	}
	return nil
}

// scanManifest gives the end of the last valid record of a manifest, and the number of the oldest write
// ahead log that is still needed.
func scanManifest(fs vfs.FS, path string) (valid int64, oldestLog uint64, err error) {
	f, err := fs.Open(path)
	if oserror.IsNotExist(err) {
		return 0, 0, damaged(path, "the file is missing")
	}
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	r := pebblelog.NewReader(f, 0)
	for {
		rec, err := r.Next()
		var edit []byte
		if err == nil {
			edit, err = io.ReadAll(rec)
		}
		if err == io.EOF || pebblelog.IsInvalidRecord(err) {
			return valid, oldestLog, nil
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", path, err)
		}
		valid = r.Offset()
		if n := editLog(edit); n != 0 {
			oldestLog = n
		}
	}
}

// editLog gives the number of the oldest needed log that a record of a manifest sets, 0 if it sets
// none. Of its fields, the name of the comparer (tag 1) and this number (tag 2) come first.
func editLog(edit []byte) uint64 {
	next := func() uint64 {
		v, n := binary.Uvarint(edit)
		edit = edit[max(n, 0):]
		return v
	}
	tag := next()
	if tag == 1 {
		size := next()
		if size > uint64(len(edit)) {
			return 0
		}
		edit = edit[size:]
		tag = next()
	}
	if tag != 2 {
		return 0
	}
	return next()
}

// verifyTable checks every block of one of Pebble's tables against its checksum.
func verifyTable(fs vfs.FS, path string) (err error) {
	f, err := fs.Open(path)
	if oserror.IsNotExist(err) {
		return damaged(path, "the file is missing")
	}
	if err != nil {
		return err
	}
	// The reader trusts lengths in a footer, which has no checksum of its own in every format.
	defer func() {
		if r := recover(); r != nil {
			err = damaged(path, "it cannot be decoded: %v", r)
		}
	}()
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		f.Close()
		return err
	}
	var opts pebble.Options
	opts.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), readable, opts.MakeReaderOptions())
	if err == nil {
		err = r.ValidateBlockChecksums()
		if cerr := r.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil && isDamage(err) {
		return damaged(path, "%w", err)
	}
	return err
}

// checksum gives the size and the checksum of a file.
func checksum(fs vfs.FS, path string) (size int64, crc uint32, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	h := crc32.New(crcTable)
	size, err = io.Copy(h, f)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	return size, h.Sum32(), nil
}

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }

// liveTables gives the names of the files that hold the present content of an open database, newest first.
func liveTables(db *pebble.DB) (names []string, sizes map[string]int64, err error) {
	levels, err := db.SSTables()
	if err != nil {
		return nil, nil, err
	}
	sizes = map[string]int64{}
	for _, level := range levels {
		for _, t := range level {
			name := fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))
			if _, ok := sizes[name]; !ok {
				names = append(names, name)
			}
			sizes[name] += int64(t.Size)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(b, a)
	})
	return names, sizes, nil
}

// readError gives an error of reading Pebble's files the SQLSTATE that it should have, with the
// name of the file, and notes it, so that the next Open looks at the file.
func (s *Store) readError(err error) error {
	if err == nil {
		return nil
	}
	var known *sqlerr.Error
	if errors.As(err, &known) {
		return err
	}
	var path string
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		path = info.Path
	}
	var code sqlerr.Code
	var perr *os.PathError
	switch {
	case pebble.IsCorruptionError(err):
		code = sqlerr.DataCorrupted
	case errors.As(err, &perr):
		code, path = sqlerr.IOError, perr.Path
	case errors.Is(err, syscall.EIO):
		code = sqlerr.IOError
	default:
		return err
	}
	e := sqlerr.Newf(code, "a file of the database is damaged")
	if code == sqlerr.IOError {
		e.Message = "could not read a file of the database"
	}
	if path != "" {
		e.Message += ": " + path
		s.suspect(path, err)
	}
	e.Hint = "When the server is started again it takes the newest retained checkpoint that can be read."
	e.Cause = err
	return e
}

// suspectFile names the files that could not be read while a store was open.
const suspectFile = "SUSPECT"

// suspect notes that a file could not be read.
func (s *Store) suspect(path string, cause error) {
	name := filepath.Base(path)
	if !isTable(name) {
		return
	}
	s.suspectMu.Lock()
	defer s.suspectMu.Unlock()
	if slices.Contains(s.suspects, name) {
		return
	}
	s.suspects = append(s.suspects, name)
	s.cfg.Logger.Error("storage: a file is damaged", "event", "file_damaged", "file", path, "error", cause)
	if s.readOnly {
		return
	}
	err := writeFileAtomic(s.cfg.FS, s.cfg.Dir, suspectFile, []byte(strings.Join(s.suspects, "\n")+"\n"))
	if err != nil {
		s.cfg.Logger.Error("storage: noting a damaged file", "file", path, "error", err)
	}
}

// Suspects names the files that could not be read since the store was opened. The next Open verifies them,
// and falls back if they are damaged.
func (s *Store) Suspects() []string {
	s.suspectMu.Lock()
	defer s.suspectMu.Unlock()
	return slices.Clone(s.suspects)
}

// clearSuspects forgets the files that an earlier life has noted, and that are well.
func (s *Store) clearSuspects() error {
	s.suspectMu.Lock()
	defer s.suspectMu.Unlock()
	if len(s.suspects) > 0 {
		return nil // Pebble reads in the background already
	}
	err := s.cfg.FS.Remove(s.cfg.FS.PathJoin(s.cfg.Dir, suspectFile))
	if oserror.IsNotExist(err) {
		return nil
	}
	return err
}

// readSuspects gives the files that were noted.
func readSuspects(fs vfs.FS, dir string) []string {
	b, err := readFile(fs, fs.PathJoin(dir, suspectFile))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// crcText is the checksum of b as text.
func crcText(b []byte) string { return fmt.Sprintf("crc32c %08x", crc32.Checksum(b, crcTable)) }
