package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// MetaOp sets or deletes one key of the caller's metadata (catalog, source positions).
type MetaOp struct {
	Key, Value []byte
	Delete     bool
}

// Commit is what a checkpoint makes durable.
type Commit struct {
	// Epoch is the checkpoint's epoch; it must be greater than the last one's. Every arrangement
	// must have sealed it (or be idle) before.
	Epoch Epoch
	// Deltas are what the state tables sealed at the checkpoint's barrier, in any order between
	// tables, the older one first for one table. Nil ones are ignored.
	Deltas []*Delta
	// Meta changes metadata.
	Meta []MetaOp
	// LogPos is the last log record whose effect is in this checkpoint. The log drops segments
	// that hold nothing newer. It never shrinks; a smaller one is taken as the last commit's.
	LogPos LogPos
	// DropTables lists state tables and arrangements whose keys are deleted. Their deltas are not
	// written.
	DropTables []TableID
}

// Commit makes a checkpoint durable: the deltas, the frozen deltas of all arrangements up to the
// epoch, metadata, log position and drops become visible in one synced write, or not at all.
// Afterwards versions read from the new base, and the log is truncated.
//
// An error leaves everything pending, and Commit may be tried again with the same argument; if
// errors.Is(err, ErrFailed) only by the next process. A full disk is SQLSTATE 53100.
// ctx is looked at before the write begins.
func (s *Store) Commit(ctx context.Context, c Commit) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	s.compactions.release()
	if err := s.awaitFolder(ctx); err != nil {
		return fmt.Errorf("checkpoint %d: %w", c.Epoch, err)
	}
	last := s.Checkpoint()
	if c.Epoch <= last.Epoch {
		return fmt.Errorf("checkpoint %d: the last one was %d", c.Epoch, last.Epoch)
	}
	if end := s.log.End(); c.LogPos > end {
		return fmt.Errorf("checkpoint %d: log position %d is after the log's end, %d", c.Epoch, c.LogPos, end)
	}
	info := CheckpointInfo{Epoch: c.Epoch, LogPos: max(c.LogPos, last.LogPos)}

	arrs := s.arrangementsByID()
	written := make([]int, len(arrs))
	var size int64
	var plans []*frozenPlan
	dropped := func(id TableID) bool { return slices.Contains(c.DropTables, id) }
	for i, a := range arrs {
		a.mu.RLock()
		frozen := a.frozen
		a.mu.RUnlock()
		for written[i] < len(frozen) && frozen[written[i]].epoch <= c.Epoch {
			written[i]++
		}
		if written[i] == 0 || dropped(a.id) {
			continue
		}
		p, err := planFrozen(s.base.snap, s.cfg.blocks, a.id, a.blocks, frozen[:written[i]])
		if err != nil {
			return fmt.Errorf("checkpoint %d: table %d: %w", c.Epoch, a.id, err)
		}
		plans = append(plans, p)
		size += p.size + p.blockSize
	}
	deltas := make([]*Delta, 0, len(c.Deltas))
	for _, d := range c.Deltas {
		if d != nil && !dropped(d.table) {
			deltas = append(deltas, d)
			size += d.bytes + int64(d.n)*16
		}
	}
	slices.SortStableFunc(deltas, func(a, b *Delta) int { return int(int64(a.table) - int64(b.table)) })
	err := s.checkSpace(size)
	for err != nil && s.makeRoom() {
		err = s.checkSpace(size)
	}
	if err != nil {
		s.lacking.Store(size)
		return fmt.Errorf("checkpoint %d: %w", c.Epoch, err)
	}

	if size > maxCommit {
		return sqlerr.Newf(sqlerr.ProgramLimitExceeded, "checkpoint %d has %d bytes, the limit is %d", c.Epoch, size, int64(maxCommit))
	}

	// A retained checkpoint goes on with the log: there must be no hole in it where this one begins.
	if err := s.log.syncUpTo(info.LogPos); err != nil {
		return fmt.Errorf("checkpoint %d: %w", c.Epoch, ioError("could not write to the log", err))
	}

	ingest := size >= s.cfg.ingestBytes && len(c.DropTables) == 0
	sections, records, updates, err := s.writeDeltas(c.Epoch, deltas, ingest)
	if err != nil {
		return fmt.Errorf("checkpoint %d: %w", c.Epoch, err)
	}
	defer func() { releaseTails(updates) }()
	for _, p := range plans {
		sections = append(sections, p.sections()...)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("checkpoint %d: %w", c.Epoch, err)
	}
	batch := s.batchEpoch
	if anyDirect(updates) {
		if err := s.syncLog(c.Epoch); err != nil {
			return fmt.Errorf("checkpoint %d: %w", c.Epoch, err)
		}
		batch = c.Epoch
	}
	if ingest {
		err = s.ingestOver(updates, sections, appendMeta(records, c.Meta, info, batch))
	} else {
		batch = info.Epoch
		records = append(records, record{key: batchKey, val: binary.BigEndian.AppendUint64(nil, uint64(batch))})
		records = appendMeta(records, c.Meta, info, batch)
		err = s.commitBatch(size, sections, records, c.DropTables)
	}
	if noRoom(err) {
		s.lacking.Store(size)
		err = diskFull(err)
	}
	if err != nil {
		return fmt.Errorf("checkpoint %d: %w", c.Epoch, err)
	}
	s.lacking.Store(0)
	s.batchEpoch = batch
	s.head.checkpoint(info)
	s.commitBytes.Store(size)

	for _, p := range plans {
		p.committed()
	}
	for _, u := range updates {
		if !u.direct {
			for _, d := range u.deltas {
				d.kept.Store(true)
			}
			u.tail.committed(s, *u.group, u.deltas)
		}
	}
	notify(s.folder.wake)
	for _, d := range c.Deltas {
		if d != nil {
			d.committed.Store(true)
		}
	}
	s.install(info, arrs, written, len(c.DropTables) > 0, dropped)
	if len(c.DropTables) > 0 {
		s.freeSpace()
	}
	s.log.truncate(s.logNeeded(info.LogPos))
	notify(s.retainer.wake)
	return nil
}

// SaveMeta changes metadata of the newest checkpoint, durably and at once. What Commit says of errors holds here too. A checkpoint that is
// retained already stays without it.
func (s *Store) SaveMeta(meta []MetaOp) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	size := int64(0)
	for _, m := range meta {
		size += int64(len(m.Key) + len(m.Value))
	}
	err := s.checkSpace(size)
	for err != nil && s.makeRoom() {
		err = s.checkSpace(size)
	}
	if err != nil {
		return err
	}
	// As with every batch, the record of the checkpoint goes through the log, so that it is known if that is lost.
	info := s.Checkpoint()
	records := []record{{key: batchKey, val: binary.BigEndian.AppendUint64(nil, uint64(info.Epoch))}}
	if err := s.commitBatch(size, nil, appendMeta(records, meta, info, info.Epoch), nil); err != nil {
		return fmt.Errorf("metadata of checkpoint %d: %w", info.Epoch, err)
	}
	s.batchEpoch = info.Epoch
	return nil
}

// CommitBytes is about how much the last checkpoint that this process committed has written.
func (s *Store) CommitBytes() int64 { return s.commitBytes.Load() }

// maxCommit bounds the bytes of a checkpoint; Pebble's batches end at 4 GiB.
const maxCommit = 3 << 30

// commitBatch writes a checkpoint, and the deletion of tables, as one synced batch.
func (s *Store) commitBatch(size int64, sections []section, records []record, drops []TableID) error {
	b := s.db.NewBatchWithSize(int(size) + 1024)
	defer s.closeBatch(b)
	w := batchWriter{b}
	for _, sec := range sections {
		if err := sec.write(w); err != nil {
			return fmt.Errorf("keys %x: %w", sec.prefix, err)
		}
	}
	for _, r := range records {
		if err := writeRecord(w, r); err != nil {
			return err
		}
	}
	for _, id := range drops {
		if err := deleteTable(b, id); err != nil {
			return err
		}
	}
	unlock := s.lockTails(drops)
	err := s.apply(b, pebble.Sync)
	unlock(err == nil)
	return err
}

func appendMeta(records []record, meta []MetaOp, info CheckpointInfo, batch Epoch) []record {
	for _, m := range meta {
		records = append(records, record{append([]byte{kindMeta}, m.Key...), m.Value, m.Delete})
	}
	return append(records, record{key: checkpointKey, val: info.encode(batch)})
}

// apply commits a batch.
func (s *Store) apply(b *pebble.Batch, sync *pebble.WriteOptions) error {
	return s.guard(func() error { return b.Commit(sync) })
}

// install makes a committed checkpoint the base of all versions that contain it.
func (s *Store) install(info CheckpointInfo, arrs []*Arrangement, written []int, drops bool, dropped func(TableID) bool) {
	b := s.newBase()
	s.mu.Lock()
	old := s.base
	s.base, s.checkpoint, s.committedAt = b, info, s.cfg.now()
	completed, pins := s.completed, s.pinned
	if drops {
		s.dropGen++
	}
	gen := s.dropGen
	// Arrangements that were made since arrs was collected have nothing to write, and what they
	// have sealed is newer: they only move to the new base.
	byID := make(map[TableID]int, len(arrs))
	for i, a := range arrs {
		byID[a.id] = written[i]
	}
	all := make([]*Arrangement, 0, len(s.arrangements))
	for _, a := range s.arrangements {
		all = append(all, a)
	}
	s.mu.Unlock()
	for _, a := range all {
		a.mu.Lock()
		a.collect(completed, pins)
		switch {
		case a.dropped != 0: // only kept for readers of older epochs
		case dropped(a.id):
			a.dropped = gen
			s.unwritten.Add(-a.counted)
			a.counted = 0
		default:
			a.rebase(info.Epoch, byID[a.id], b)
		}
		a.mu.Unlock()
	}
	old.unref()
	s.sweep()
}

// arrangementsByID gives all arrangements in the order of their ids, so that a batch is sorted.
func (s *Store) arrangementsByID() []*Arrangement {
	s.mu.Lock()
	defer s.mu.Unlock()
	arrs := make([]*Arrangement, 0, len(s.arrangements))
	for _, a := range s.arrangements {
		if a.dropped == 0 {
			arrs = append(arrs, a)
		}
	}
	slices.SortFunc(arrs, func(a, b *Arrangement) int { return int(int64(a.id) - int64(b.id)) })
	return arrs
}

// Retain deletes the contents of every table that live does not claim: what an unfinished CREATE
// or DROP left behind. It is called after Open, before anything is written.
func (s *Store) Retain(live func(TableID) bool) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	ids, err := s.storedTables()
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, live)
	if len(ids) == 0 {
		return nil
	}
	s.compactions.release()
	b := s.db.NewBatch()
	defer s.closeBatch(b)
	for _, id := range ids {
		s.cfg.Logger.Info("storage: deleting a table that nothing refers to", "table", uint32(id))
		if err := deleteTable(b, id); err != nil {
			return err
		}
	}
	unlock := s.lockTails(ids)
	err = s.apply(b, pebble.Sync)
	unlock(err == nil)
	if err != nil {
		return fmt.Errorf("deleting tables that nothing refers to: %w", err)
	}
	arrs := s.arrangementsByID()
	s.install(s.Checkpoint(), arrs, make([]int, len(arrs)), false, func(TableID) bool { return false })
	s.freeSpace()
	return nil
}

// Tables lists the state tables and arrangements that have committed content, by id.
func (s *Store) Tables() ([]TableID, error) {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	return s.storedTables()
}

// storedTables lists the tables that have keys in Pebble, one seek each.
func (s *Store) storedTables() ([]TableID, error) {
	var ids []TableID
	for _, kind := range []byte{kindTable, kindRows} {
		it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{kind}, UpperBound: []byte{kind + 1}})
		if err != nil {
			return nil, err
		}
		for ok := it.First(); ok; {
			k := it.Key()
			if len(k) < tablePrefixLen {
				it.Close()
				return nil, fmt.Errorf("data directory %s: malformed key %x", s.cfg.Dir, k)
			}
			id := TableID(binary.BigEndian.Uint32(k[1:]))
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			next := PrefixEnd(k[:tablePrefixLen]) // never nil: no kind is 0xff
			ok = it.SeekGE(next)
		}
		if err := it.Close(); err != nil {
			return nil, err
		}
	}
	s.tailMu.Lock()
	defer s.tailMu.Unlock()
	for id := range s.tails {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// freeSpace makes range deletes reach the disk, where the engine then drops whole files.
func (s *Store) freeSpace() {
	flush := func() error {
		_, err := s.db.AsyncFlush()
		return err
	}
	if err := s.guard(flush); err != nil {
		s.cfg.Logger.Warn("storage: flush after a drop", "error", err)
	}
}

func (s *Store) usable() error {
	if f := s.failure.Load(); f != nil {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return nil
}

// checkSpace refuses a commit that would fill the disk: Pebble does not survive that, and the
// checkpoint does survive being late. A batch is written to the write ahead log and later to a
// table, hence twice.
func (s *Store) checkSpace(size int64) error {
	if s.cfg.ReserveBytes < 0 {
		return nil
	}
	u, err := s.cfg.FS.GetDiskUsage(s.cfg.Dir)
	if err != nil {
		return nil // a file system that cannot tell
	}
	if need := 2*size + 4<<20; u.AvailBytes < uint64(need) {
		return diskFull(fmt.Errorf("%d bytes needed, %d available in %s", need, u.AvailBytes, s.cfg.Dir))
	}
	return nil
}

// CheckRoom gives the error, SQLSTATE 53100, that even a small commit would have at present, or that the last one has had and would
// have again, nil if there is room.
func (s *Store) CheckRoom() error {
	if s.room.full() {
		return diskFull(fmt.Errorf("a checkpoint waits for room in %s", s.cfg.Dir))
	}
	return s.checkSpace(s.lacking.Load())
}

func diskFull(cause error) error {
	e := sqlerr.Newf(sqlerr.DiskFull, "no space left on device")
	e.Cause = cause
	return e
}

// ioError gives err the SQLSTATE that PostgreSQL would.
func ioError(what string, err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return err
	}
	code := sqlerr.IOError
	if vfs.IsNoSpaceError(err) {
		code = sqlerr.DiskFull
	}
	e = sqlerr.Newf(code, "%s", what)
	e.Cause = err
	return e
}
