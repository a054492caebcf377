package storage

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A checkpoint is written as one of two things, each of which is applied as a whole or not at all:
//
//   - a small one as a batch, which goes through Pebble's log and memtable;
//   - a large one as sorted tables of Pebble's own format, made here and handed to Pebble together
//     (ingested). That saves the log, the memtable or the sorting of the batch, and the flush: each
//     byte is written once. A file never spans a large and another table, so that keys that are
//     greater than all before them, as in an append-only view, go to the lowest level at once and
//     are not compacted.
//
// Everything is in such a file, the checkpoint's record too. What a crash leaves of files that were
// not handed over is deleted by the next Open.
const (
	ingestDir = "ingest"
	// ingestBytes is the size from which a checkpoint is ingested. Smaller ones are better
	// collected in the memtable, as every file is one more to look through and to compact.
	ingestBytes = 8 << 20
	// ingestFile is the size at which a file ends.
	ingestFile = 64 << 20
	// ingestAlone is what makes a table large: it has files of its own.
	ingestAlone = 256 << 10
)

// keyWriter takes the keys of a checkpoint. It copies them.
type keyWriter interface {
	Set(key, val []byte) error
	Delete(key []byte) error
}

// batchWriter puts keys into a batch.
type batchWriter struct{ b *pebble.Batch }

func (w batchWriter) Set(key, val []byte) error { return w.b.Set(key, val, nil) }
func (w batchWriter) Delete(key []byte) error   { return w.b.Delete(key, nil) }

// section is a part of a checkpoint: all of its keys with a prefix.
type section struct {
	prefix []byte
	// size is about what is written.
	size  int64
	write func(keyWriter) error
	// uncached says that nobody will read it soon: those who want it have it in memory.
	uncached bool
}

// record is one key of a checkpoint that belongs to no section.
type record struct {
	key, val []byte
	del      bool
}

func writeRecord(w keyWriter, r record) error {
	if r.del {
		return w.Delete(r.key)
	}
	return w.Set(r.key, r.val)
}

// ingester writes sorted keys into files.
type ingester struct {
	s *Store
	// name begins the names of the files, so that two may write at once.
	name  string
	paths []string
	w     *sstable.Writer
	size  int64
	// kind is the first byte of the file's keys: a file that spanned several would meet half of all others.
	kind byte
	// uncached says that files begun from now on are not read soon. buf is memory for writing them.
	uncached bool
	buf      []byte
}

func (g *ingester) Set(key, val []byte) error {
	if err := g.room(key[0], len(key)+len(val)); err != nil {
		return err
	}
	return g.w.Set(key, val)
}

func (g *ingester) Delete(key []byte) error {
	if err := g.room(key[0], len(key)); err != nil {
		return err
	}
	return g.w.Delete(key)
}

// room opens a file for n more bytes of keys of a kind.
func (g *ingester) room(kind byte, n int) error {
	if g.size > ingestFile || kind != g.kind && g.kind <= kindBlob {
		if err := g.cut(); err != nil {
			return err
		}
	}
	g.kind = kind
	g.size += int64(n)
	if g.w != nil {
		return nil
	}
	fs := g.s.cfg.FS
	path := fs.PathJoin(g.s.cfg.Dir, ingestDir, fmt.Sprintf("%s%06d.sst", g.name, len(g.paths)))
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	g.paths = append(g.paths, path)
	if g.buf == nil {
		g.buf = newBulkBuffer()
	}
	g.w = sstable.NewWriter(newBulkFile(f, g.buf, g.uncached), g.s.ingestOpts)
	return nil
}

// cut ends the file.
func (g *ingester) cut() error {
	if g.w == nil {
		return nil
	}
	w := g.w
	g.w, g.size = nil, 0
	return w.Close()
}

// discard removes what is left of the files. What Pebble took is gone already, as a rule.
func (g *ingester) discard() {
	if g.w != nil {
		_ = g.w.Close() // there is an error already
	}
	for _, p := range g.paths {
		if err := g.s.cfg.FS.Remove(p); err != nil && !oserror.IsNotExist(err) {
			g.s.cfg.Logger.Warn("storage: removing a file that was ingested", "file", p, "error", err)
		}
	}
}

// ingest hands the files, all of which are complete, to Pebble.
func (g *ingester) ingest() error {
	return g.s.guard(func() error { return g.s.db.Ingest(context.Background(), g.paths) })
}

// ingestFiles writes the sections and the records into files that are complete; the ingester's ingest makes all or none of them
// durable. Of records with the same key the last one counts; no record's key has the prefix of a section. The ingester is to be
// discarded also if there is an error.
func (s *Store) ingestFiles(sections []section, records []record) (*ingester, error) {
	g := &ingester{s: s}
	slices.SortFunc(sections, func(a, b section) int { return bytes.Compare(a.prefix, b.prefix) })
	slices.SortStableFunc(records, func(a, b record) int { return bytes.Compare(a.key, b.key) })
	small := func(before []byte) error {
		for len(records) > 0 && (before == nil || bytes.Compare(records[0].key, before) < 0) {
			r := records[0]
			records = records[1:]
			if len(records) > 0 && bytes.Equal(records[0].key, r.key) {
				continue
			}
			if err := writeRecord(g, r); err != nil {
				return err
			}
		}
		return nil
	}
	for _, sec := range sections {
		if err := small(sec.prefix); err != nil {
			return g, err
		}
		if sec.size >= ingestAlone {
			if err := g.cut(); err != nil {
				return g, err
			}
			g.uncached = sec.uncached
		}
		if err := sec.write(g); err != nil {
			return g, fmt.Errorf("keys %x: %w", sec.prefix, err)
		}
		g.uncached = false
		if sec.size >= ingestAlone {
			if err := g.cut(); err != nil {
				return g, err
			}
		}
	}
	if err := small(nil); err != nil {
		return g, err
	}
	return g, g.cut()
}

// openIngest makes the folder of files to be ingested, and empties it.
func (s *Store) openIngest() error {
	fs := s.cfg.FS
	dir := fs.PathJoin(s.cfg.Dir, ingestDir)
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := fs.Remove(fs.PathJoin(dir, n)); err != nil {
			return err
		}
	}
	return nil
}

// guard calls f. Pebble reports a failed write ahead log as fatal; that becomes an error here. Once the store is given up, f may stand still
// for good, waiting for room, and guard returns.
func (s *Store) guard(f func() error) error {
	done := make(chan error, 1)
	var broken any
	go func() {
		var err error
		defer func() {
			if r := recover(); r != nil {
				e, ok := r.(*engineError)
				if !ok {
					broken = r
				}
				err = e
			}
			done <- err
		}()
		err = f()
	}()
	select {
	case err := <-done:
		if broken != nil {
			panic(broken)
		}
		return err
	case <-s.abandoned:
		return s.failure.Load()
	}
}

// closeBatch ends the use of a batch, unless Pebble stands still in the middle of it: then nobody may have it again.
func (s *Store) closeBatch(b *pebble.Batch) {
	select {
	case <-s.abandoned:
	default:
		_ = b.Close() // it does not fail
	}
}
