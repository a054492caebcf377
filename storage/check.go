package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Inspector looks at the content of a data directory that is checked; its fields may be nil.
type Inspector struct {
	// State looks at a checkpoint. It may read the store (Meta, ScanMeta, Tables, Latest, StateTable) and
	// nothing else.
	State func(s *Store, problem func(what string))
	// Record looks at a record of the log.
	Record func(rec []byte) error
}

// Problem is something that is wrong.
type Problem struct{ Where, What string }

// CheckReport is what Check found.
type CheckReport struct {
	// Checked says what was looked at, in order.
	Checked  []string
	Problems []Problem
}

func (r *CheckReport) problem(where, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{where, fmt.Sprintf(format, args...)})
}

func (r *CheckReport) checked(format string, args ...any) {
	r.Checked = append(r.Checked, fmt.Sprintf(format, args...))
}

// Check verifies a data directory that no server has open, or a backup, and changes nothing in it: every
// file of the newest state and of the retained checkpoints, every key in them as far as storage knows what
// it means, and the log. The error is for what keeps it from looking at all.
func Check(cfg Config, in Inspector) (*CheckReport, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	fs := cfg.FS
	if _, err := fs.Stat(cfg.Dir); err != nil {
		return nil, fileError("data directory", cfg.Dir, err)
	}
	if err := knownFormat(fs, cfg.Dir); err != nil {
		return nil, err
	}
	if isBackup(fs, cfg.Dir) {
		return checkBackup(cfg, in), nil
	}
	lock, err := lockDir(fs, cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	r := &CheckReport{}

	kept, err := listRetained(fs, cfg.Dir, true)
	if err != nil {
		return nil, err
	}
	dir := fs.PathJoin(cfg.Dir, stateDir)
	h := readHead(fs, dir)
	if h == nil {
		r.problem(fs.PathJoin(dir, headFile), "it is missing or cannot be read")
	}
	newest := CheckpointInfo{}
	if err := checkFiles(fs, dir, h); err != nil {
		r.problem(dir, "%s", err)
	} else {
		newest = checkState(cfg, dir, r, in, true)
		if h != nil && newest.Epoch < h.Epoch {
			r.problem(dir, "it holds checkpoint %d, and checkpoint %d had been written", newest.Epoch, h.Epoch)
		}
		r.checked("newest state: checkpoint %d", newest.Epoch)
	}
	need, known := newest.LogPos, newest.Epoch > 0
	for _, k := range kept {
		err := k.err
		if err == nil {
			err = k.verify(fs, k.dir)
		}
		if err != nil {
			r.problem(k.dir, "%s", err)
			continue
		}
		if info := checkState(cfg, k.dir, r, in, false); info.Epoch != k.Epoch || info.LogPos != k.LogPos {
			r.problem(k.dir, "it holds checkpoint %d at log position %d, not %d at %d", info.Epoch, info.LogPos, k.Epoch, k.LogPos)
		}
		if !known || k.LogPos < need {
			need, known = k.LogPos, true
		}
		r.checked("retained checkpoint %d: %d files, %d bytes", k.Epoch, len(k.Files), k.bytes())
	}
	for _, c := range listSetAside(fs, cfg.Dir) {
		r.checked("not looked at, because it was set aside as damaged: %s", c.Dir)
	}
	if err := checkLog(cfg, need, r, in); err != nil {
		return nil, err
	}
	return r, nil
}

// isBackup tells a backup from a data directory: it has no state, and what makes it whole is there or
// has been.
func isBackup(fs vfs.FS, dir string) bool {
	if _, err := fs.Stat(fs.PathJoin(dir, stateDir)); err == nil {
		return false
	}
	_, err := fs.Stat(fs.PathJoin(dir, backupDir))
	return err == nil
}

// checkBackup verifies the one checkpoint of a backup.
func checkBackup(cfg Config, in Inspector) *CheckReport {
	r := &CheckReport{}
	dir := cfg.FS.PathJoin(cfg.Dir, backupDir)
	m, err := readCheckpointManifest(cfg.FS, dir)
	if err == nil {
		err = m.verify(cfg.FS, dir)
	}
	if err != nil {
		r.problem(dir, "%s", err)
		return r
	}
	if info := checkState(cfg, dir, r, in, true); info.Epoch != m.Epoch || info.LogPos != m.LogPos {
		r.problem(dir, "it holds checkpoint %d at log position %d, not %d at %d", info.Epoch, info.LogPos, m.Epoch, m.LogPos)
	}
	r.checked("backup of checkpoint %d: %d files, %d bytes", m.Epoch, len(m.Files), m.bytes())
	return r
}

// checkState opens a directory of Pebble's for reading and looks at everything in it.
func checkState(cfg Config, dir string, r *CheckReport, in Inspector, tables bool) (info CheckpointInfo) {
	s, err := openReadOnly(cfg, dir)
	if err != nil {
		r.problem(dir, "%s", err)
		return info
	}
	defer func() {
		if err := s.closeReadOnly(); err != nil {
			r.problem(dir, "%s", err)
		}
	}()
	before := len(r.Problems)
	if tables {
		names, _, err := liveTables(s.db)
		if err != nil {
			r.problem(dir, "%s", err)
		}
		for _, name := range names {
			if err := verifyTable(cfg.FS, cfg.FS.PathJoin(dir, name)); err != nil {
				r.problem(dir, "%s", err)
			}
		}
	}
	checkKeys(s, dir, r)
	if in.State != nil && len(r.Problems) == before {
		in.State(s, func(what string) { r.problem(dir, "%s", what) })
	}
	return s.checkpoint
}

// checkKeys looks at every key.
func checkKeys(s *Store, dir string, r *CheckReport) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		r.problem(dir, "%s", err)
		return
	}
	type groupID struct {
		table TableID
		epoch Epoch
	}
	blobs := map[groupID]*blobGroup{}
	var blocks blockOrder
	const most = 20 // of a kind; the rest says the same
	bad := 0
	for ok := it.First(); ok; ok = it.Next() {
		k := it.Key()
		v, err := it.ValueAndErr()
		if err != nil {
			break
		}
		switch k[0] {
		case kindMeta, kindSystem:
		case kindTable:
			if len(k) < tablePrefixLen {
				err = errors.New("the key is too short")
			}
		case kindBlob:
			if len(k) != 17 {
				err = errors.New("the key is malformed")
				break
			}
			id := groupID{TableID(binary.BigEndian.Uint32(k[1:])), Epoch(binary.BigEndian.Uint64(k[5:]))}
			g := blobs[id]
			if g == nil {
				g = &blobGroup{epoch: id.epoch}
				blobs[id] = g
			}
			if n := binary.BigEndian.Uint32(k[13:]); n != g.blobs {
				err = fmt.Errorf("blob %d is missing", g.blobs)
			}
			g.blobs++
			g.bytes += int64(len(v))
			if berr := eachBlobEntry(v, func(_, _, _, _ int, _ bool) { g.entries++ }); err == nil {
				err = berr
			}
		case kindGroup:
			var id TableID
			var want blobGroup
			if id, want, err = decodeGroup(k, v); err == nil {
				got := blobs[groupID{id, want.epoch}]
				delete(blobs, groupID{id, want.epoch})
				if got == nil || *got != want {
					err = fmt.Errorf("state table %d has blobs %+v at checkpoint %d, not %+v", id, got, want.epoch, want)
				}
			}
		case kindRows:
			err = blocks.next(k, v)
		default:
			err = fmt.Errorf("keys of kind %q are not known", k[0])
		}
		if err != nil {
			if bad++; bad <= most {
				r.problem(dir, "key %x: %s", k, err)
			}
		}
	}
	if err := it.Close(); err != nil {
		r.problem(dir, "%s", s.readError(err))
	}
	for id, g := range blobs {
		r.problem(dir, "state table %d has %d blobs of checkpoint %d that nothing names", id.table, g.blobs, id.epoch)
	}
}

// blockOrder checks blocks of rows as they come.
type blockOrder struct{ last []byte }

func (o *blockOrder) next(k, v []byte) error {
	if len(k) < tablePrefixLen {
		return errors.New("the key is too short")
	}
	rows, err := decodeRows(v)
	if err != nil {
		return err
	}
	prefix := k[:tablePrefixLen]
	for i := range rows.n {
		at := append(bytes.Clone(prefix), rows.key(i)...)
		if bytes.Compare(at, o.last) <= 0 && o.last != nil {
			return fmt.Errorf("row %d is not after the row before", i)
		}
		o.last = at
	}
	if !bytes.Equal(o.last, k) {
		return errors.New("the block does not end with its key")
	}
	return nil
}

// checkLog reads the log, which must be there after position need.
func checkLog(cfg Config, need LogPos, r *CheckReport, in Inspector) error {
	fs, dir := cfg.FS, cfg.FS.PathJoin(cfg.Dir, "log")
	firsts, err := listSegments(fs, dir, true)
	if err != nil {
		r.problem(dir, "%s", err)
		return nil
	}
	if len(firsts) == 0 && need > 0 || len(firsts) > 0 && firsts[0] > need+1 {
		r.problem(dir, "no segment holds record %d, which is needed", need+1)
	}
	records := 0
	for i, f := range firsts {
		path := fs.PathJoin(dir, segName(f))
		data, err := readFile(fs, path)
		if err != nil {
			r.problem(path, "%s", err)
			continue
		}
		var limit LogPos
		if i+1 < len(firsts) {
			limit = firsts[i+1]
		}
		if _, err := scanSegment(data, limit, func(b block) error {
			return b.records(func(pos LogPos, rec []byte) error {
				records++
				if in.Record == nil {
					return nil
				}
				if err := in.Record(rec); err != nil {
					r.problem(path, "record %d: %s", pos, err)
				}
				return nil
			})
		}); err != nil {
			r.problem(path, "%s", err)
		}
	}
	r.checked("log: %d segments, %d records", len(firsts), records)
	return nil
}

// openReadOnly opens a directory of Pebble's for reading. What its write ahead logs hold is kept in memory.
func openReadOnly(cfg Config, dir string) (s *Store, err error) {
	s = &Store{
		cfg: cfg, arrangements: map[TableID]*Arrangement{}, blocks: map[TableID]*tableBlocks{}, pins: map[Epoch]int{},
		gens: map[uint64]int{}, tails: map[TableID]*stateTail{}, room: newRoomFS(cfg.FS, cfg.Logger), readOnly: true,
	}
	opts := pebbleOptions(s, &opening{s: s, opened: true, compactions: newScheduler()}, stateFS{
		FS: cfg.FS, raw: cfg.FS, dir: dir, inv: newInventory(nil), gate: new(gate),
	})
	opts.ReadOnly = true
	if s.db, err = pebble.Open(dir, opts); err != nil {
		return nil, err
	}
	if s.checkpoint, s.batchEpoch, err = s.readCheckpoint(); err == nil {
		err = s.loadTails()
	}
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	s.completed = s.checkpoint.Epoch
	s.base = s.newBase()
	return s, nil
}

func (s *Store) closeReadOnly() error {
	for _, a := range s.arrangements {
		for _, v := range a.versions {
			v.base.unref()
		}
		a.base.unref()
	}
	s.base.unref()
	return s.db.Close()
}
