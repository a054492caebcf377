package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/tidwall/btree"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// Row is a row as a transaction sees it: Old is what was committed when the transaction first wrote
// it, New what it is now; nil means that there is none. Both in the row codec.
type Row struct{ Old, New []byte }

// Tx collects the changes of a transaction and holds its locks. It is used by one goroutine.
type Tx struct {
	tables map[uint32]*txTable
	order  []*txTable
	// bytes is about what the commit's log record will have, and limit what it may have; 0 stands for
	// maxBytes.
	bytes, limit int64
	key, row     []byte // scratch
	enc          vec.RowsEncoder
	// waiting is the request that the transaction waits for, under Locks.mu; nil if none.
	waiting *request
	// lockTimeout bounds each wait for a lock; 0: nothing does.
	lockTimeout time.Duration
	// through is the request of another Tx that waits in this one's name; see OnBehalf.
	through *request
	// definitions: it may change the catalog; see LockDefinitions.
	definitions bool
	manager     *Locks
	owner       int32
	foreignTx
}

type txTable struct {
	t                 *Table
	shared, exclusive bool
	// held: the transaction relies on locks of rows, and so on its share of the table.
	held bool
	keys map[string]Mode // locked; see lockKeys
	rows *btree.Map[string, Row]
	bulk []bulk // more rows, with keys that rows does not have
	// entries has, for each index, what the transaction changed: the key of the row that has the entry
	// now, or "" for none. changes is what the table's was when it was made: while the transaction has changed something,
	// it has a lock, and they are the same.
	entries []*btree.Map[string, string]
	changes int
	// references are the keys that the transaction keeps others from deleting (KeyShare), or from referencing (Update).
	references map[string]Mode
	// allReferences is how it has the lock for all of them.
	allReferences Mode
	// bytes is about what the changes take.
	bytes int64
}

// NewTx makes an empty transaction.
func NewTx() *Tx { return &Tx{tables: map[uint32]*txTable{}} }

// Empty tells whether the transaction has changed nothing.
func (x *Tx) Empty() bool {
	for _, tt := range x.order {
		if tt.changed() && !tt.t.private {
			return false
		}
	}
	return true
}

// Locked tells whether the transaction has a lock.
func (x *Tx) Locked() bool {
	for _, tt := range x.order {
		if !tt.t.private && !tt.idle() {
			return true
		}
	}
	return false
}

// Jobs lists the jobs of the tables that the transaction changes.
func (x *Tx) Jobs() []flow.JobID {
	var jobs []flow.JobID
	for _, tt := range x.order {
		if tt.changed() && !tt.t.private {
			jobs = append(jobs, flow.JobID(tt.t.Rel.ID))
		}
	}
	return jobs
}

func (x *Tx) table(t *Table) *txTable {
	tt := x.tables[uint32(t.Rel.ID)]
	if tt != nil && tt.t != t && tt.idle() {
		// Another has taken the place of that one, with locks of its own.
		x.order = slices.DeleteFunc(x.order, func(o *txTable) bool { return o == tt })
		tt = nil
	}
	if tt == nil {
		tt = &txTable{t: t, keys: map[string]Mode{}, rows: &btree.Map[string, Row]{}}
		tt.renew()
		x.tables[uint32(t.Rel.ID)] = tt
		x.order = append(x.order, tt)
	}
	return tt
}

// idle tells whether the transaction has no lock of the table: then it has changed nothing in it.
func (tt *txTable) idle() bool {
	return !tt.shared && !tt.exclusive && len(tt.keys) == 0 && tt.allReferences == Unlocked && !tt.changed()
}

// renew makes the maps of the indexes.
func (tt *txTable) renew() {
	tt.entries, tt.changes = nil, tt.t.changes
	for range tt.t.indexes {
		tt.entries = append(tt.entries, &btree.Map[string, string]{})
	}
}

// Lock takes the table's lock, until the transaction ends. One that shares the lock and wants it alone
// keeps its share meanwhile if it has written under it.
func (x *Tx) Lock(ctx context.Context, t *Table, exclusive bool) error {
	tt := x.table(t)
	exclusive = exclusive || t.marked()
	if tt.exclusive || tt.shared && !exclusive {
		return nil
	}
	if tt.shared && !tt.changed() && !tt.held {
		// Without it two of these would be a deadlock for nothing.
		x.unshare(tt)
	}
	if err := t.locks.acquire(ctx, x, &t.lock, tableMode(exclusive)); err != nil {
		return err
	}
	tt.shared, tt.exclusive = !exclusive, exclusive
	if t.dropped.Load() || t.replaced.Load() {
		x.leave(tt)
		return t.gone()
	}
	if tt.changes != t.changes {
		tt.renew()
	}
	return nil
}

// tableMode is the mode of a table's lock.
func tableMode(exclusive bool) Mode {
	if exclusive {
		return Update
	}
	return KeyShare
}

// SetLockTimeout bounds each wait for a lock; 0: nothing does.
func (x *Tx) SetLockTimeout(d time.Duration) { x.lockTimeout = d }

// SetOwner says whose transaction it is, for Locks.Waiting.
func (x *Tx) SetOwner(id int32) { x.owner = id }

// Await waits until nobody has the table alone, as who alters it has. The error is that of Lock.
func (x *Tx) Await(ctx context.Context, t *Table) error {
	tt := x.table(t)
	if tt.shared || tt.exclusive {
		return nil
	}
	err := x.Lock(ctx, t, false)
	if err == nil {
		t.locks.release(x, &t.lock)
		tt.shared, tt.exclusive = false, false
	}
	return err
}

// TryLock is Lock that does not wait: it tells whether the transaction has the lock now.
func (x *Tx) TryLock(t *Table, exclusive bool) (bool, error) {
	tt := x.table(t)
	exclusive = exclusive || t.marked()
	if tt.exclusive || tt.shared && !exclusive {
		return true, nil
	}
	if !t.locks.try(x, &t.lock, tableMode(exclusive)) {
		return false, nil
	}
	tt.shared, tt.exclusive = !exclusive, exclusive
	if t.dropped.Load() || t.replaced.Load() {
		x.leave(tt)
		return false, t.gone()
	}
	if tt.changes != t.changes {
		tt.renew()
	}
	return true, nil
}

// leave gives the locks of a table back that is gone. The transaction has changed nothing in it: with a change it would have had
// the lock, and nobody could have dropped or replaced the table.
func (x *Tx) leave(tt *txTable) {
	if tt.changed() {
		return
	}
	x.releaseLocks(tt)
	tt.shared, tt.exclusive, tt.held, tt.allReferences = false, false, false, Unlocked
	tt.keys, tt.references = map[string]Mode{}, nil
}

func (x *Tx) unshare(tt *txTable) {
	tt.t.locks.release(x, &tt.t.lock)
	tt.shared = false
}

// Rows gives what the transaction changed in a table, for reads of its own writes; nil if nothing.
func (x *Tx) Rows(t *Table) *btree.Map[string, Row] {
	if x == nil {
		return nil
	}
	tt := x.tables[uint32(t.Rel.ID)]
	if tt == nil || !tt.changed() {
		return nil
	}
	tt.spread()
	return tt.rows
}

// get gives the row under a key as the transaction sees it.
func (tt *txTable) get(key string) (Row, error) {
	tt.spread()
	if r, ok := tt.rows.Get(key); ok {
		return r, nil
	}
	v, ok, err := tt.t.Arr.HeadGet(bytesOf(key))
	if err != nil || !ok {
		return Row{}, err
	}
	v = slices.Clone(v)
	return Row{Old: v, New: v}, nil
}

// bytesOf gives a string's bytes, which nobody may change, without copying them: keys are most of the
// allocations of a large transaction.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// owner gives the key of the row that has an entry in an index, "" for none.
func (tt *txTable) owner(j int, uk []byte) (string, error) {
	if owner, ok := tt.entries[j].Get(string(uk)); ok {
		return owner, nil
	}
	v, ok, err := tt.t.indexes[j].arr.HeadGet(uk)
	if err != nil || !ok {
		return "", err
	}
	return string(v), nil
}

// Conflict is a row of an insert that exists already under some unique key.
type Conflict struct {
	// Constraint names the unique constraint.
	Constraint string
	// Key and Row are the existing row.
	Key, Row []byte
	// Err is the error to report if the conflict is not resolved.
	Err error
}

// manyKeys is how many keys of a table a transaction locks one by one; after that it takes the table's
// lock alone as soon as nobody else shares it, so that a large load does not need memory for locks.
const manyKeys = 10_000

// lockKeys locks all keys that rows of c would take, in their order, so that two statements that want the
// same ones do not wait for each other. Under the exclusive lock there is no need.
func (x *Tx) lockKeys(ctx context.Context, tt *txTable, c *vec.Chunk, upsert bool) error {
	for {
		changes := tt.t.changes
		kept, err := x.lockKeysOnce(ctx, tt, c, upsert)
		if err != nil || kept && changes == tt.t.changes {
			return err
		}
		// While it waited, the table has got another index, or somebody had it alone.
	}
}

// lockKeysOnce gives false if the transaction had no share of the table meanwhile.
func (x *Tx) lockKeysOnce(ctx context.Context, tt *txTable, c *vec.Chunk, upsert bool) (kept bool, err error) {
	if tt.exclusive || tt.t.hasRowID() && len(tt.t.indexes) == 0 {
		return true, nil
	}
	kept = true
	if len(tt.keys) >= manyKeys && tt.t.locks.try(x, &tt.t.lock, Update) {
		tt.shared, tt.exclusive = false, true
		return true, nil
	}
	type named struct {
		name string
		// at and key are the place of the unique index and the values in it; at is -1 for the key of the row.
		at  int
		key []byte
	}
	var keys []named
	for i := range c.Len() {
		if !tt.t.hasRowID() {
			k := tt.t.Key(nil, c, i)
			keys = append(keys, named{lockName(0, k), -1, k})
		}
		for j, u := range tt.t.indexes {
			if u.multi {
				continue
			}
			k, ok, err := u.key(nil, c, i)
			if err != nil {
				return false, err
			}
			if ok {
				keys = append(keys, named{lockName(u.arr.ID(), k), j, k})
			}
		}
	}
	slices.SortFunc(keys, func(a, b named) int { return strings.Compare(a.name, b.name) })
	for _, k := range keys {
		if tt.keys[k.name] == Update {
			continue
		}
		if upsert {
			if there, err := x.keep(tt, k.name, k.at, k.key); err != nil {
				return false, err
			} else if there {
				continue
			}
		}
		if !tt.t.tryKey(x, k.name, Update) {
			// If only somebody has it who does not take the row away, and the row is there, it is in the way whatever
			// becomes of that transaction.
			if there, err := x.keep(tt, k.name, k.at, k.key); err != nil {
				return false, err
			} else if there {
				continue
			}
			if tt.shared && !tt.changed() && !tt.held {
				// Who has the key may want the table for itself. Nothing was written under this
				// transaction's share yet, so it need not be in the way.
				x.unshare(tt)
				kept = false
			}
			if err := tt.t.awaitKey(ctx, x, k.name, Update); err != nil {
				return false, err
			}
		}
		tt.keys[k.name] = Update
	}
	return kept, x.Lock(ctx, tt.t, false)
}

// keep keeps a row that has a key where it is, if there is one and nobody else is about to take it away.
func (x *Tx) keep(tt *txTable, name string, at int, key []byte) (bool, error) {
	there, err := tt.taken(at, key)
	if err != nil || !there || !tt.t.tryKey(x, name, KeyShare) {
		return false, err
	}
	tt.keys[name] = max(tt.keys[name], KeyShare)
	return tt.taken(at, key)
}

// taken tells whether a row has a key, in the unique index with a number or, with -1, of its own.
func (tt *txTable) taken(at int, key []byte) (bool, error) {
	if at < 0 {
		r, err := tt.get(string(key))
		return r.New != nil, err
	}
	owner, err := tt.owner(at, key)
	return owner != "", err
}

// lockName names a key of an index for locking; i is its arrangement, 0 for the table's own key.
func lockName(i storage.TableID, key []byte) string {
	b := binary.AppendUvarint(make([]byte, 0, len(key)+2), uint64(i))
	return string(append(b, key...))
}

// Prepare locks a table and the keys for an insert of the rows of c.
func (x *Tx) Prepare(ctx context.Context, t *Table, c *vec.Chunk) error {
	if err := x.Lock(ctx, t, false); err != nil {
		return err
	}
	return x.lockKeys(ctx, x.table(t), c, false)
}

// PrepareUpsert is Prepare for an insert that gives way to rows that are there, which it keeps where they are.
func (x *Tx) PrepareUpsert(ctx context.Context, t *Table, c *vec.Chunk) error {
	if err := x.Lock(ctx, t, false); err != nil {
		return err
	}
	return x.lockKeys(ctx, x.table(t), c, true)
}

// ConflictWith gives the row that has the values of row i of c in one of some unique constraints or indexes, nil if there is none. It is
// called after Prepare or under the exclusive lock.
func (x *Tx) ConflictWith(t *Table, c *vec.Chunk, i int, names []string) (*Conflict, error) {
	tt := x.table(t)
	if !t.hasRowID() && slices.Contains(names, t.primaryName()) {
		key := t.Key(nil, c, i)
		if r, err := tt.get(string(key)); err != nil || r.New != nil {
			return &Conflict{Constraint: t.primaryName(), Key: key, Row: r.New}, err
		}
	}
	for j, u := range t.indexes {
		if u.multi || u.lax || !slices.Contains(names, u.name) {
			continue
		}
		e, ok, err := u.key(nil, c, i)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		owner, err := tt.owner(j, e)
		if err != nil {
			return nil, err
		}
		if owner != "" {
			r, err := tt.get(owner)
			return &Conflict{Constraint: u.name, Key: []byte(owner), Row: r.New}, err
		}
	}
	return nil, nil
}

// Insert puts row i of c into the table, after Prepare or under the exclusive lock. If a unique key is
// taken, it gives the conflict and changes nothing.
func (x *Tx) Insert(t *Table, c *vec.Chunk, i int) (*Conflict, error) { return x.insert(t, c, i, nil) }

// Replace is Insert of a row in place of another one, with another key or the same, that Delete has taken out in the same
// statement: old is its key. For foreign keys that is an update.
func (x *Tx) Replace(t *Table, old []byte, c *vec.Chunk, i int) (*Conflict, error) {
	return x.insert(t, c, i, old)
}

func (x *Tx) insert(t *Table, c *vec.Chunk, i int, old []byte) (*Conflict, error) {
	if t.late(c, i) {
		return nil, t.tooOld(c, i)
	}
	tt := x.table(t)
	x.key = t.Key(x.key[:0], c, i)
	key := string(x.key)
	// A new row id was never used: only an update of the row, which deletes it first, brings one again.
	r, _ := tt.rows.Get(key)
	if !t.hasRowID() {
		var err error
		if r, err = tt.get(key); err != nil {
			return nil, err
		}
		if r.New != nil {
			return &Conflict{
				Constraint: t.primaryName(), Key: []byte(key), Row: r.New,
				Err: t.duplicate(t.primaryName(), t.keyCols, c, i),
			}, nil
		}
	}
	var few [4]string
	entries := few[:0]
	for j, u := range t.indexes {
		e, ok, err := u.entry(c, i, x.key)
		if err != nil {
			return nil, err
		}
		entries = append(entries, string(e))
		if !ok {
			entries[j] = ""
			continue
		}
		if u.multi || u.lax {
			continue
		}
		owner, err := tt.owner(j, e)
		if err != nil {
			return nil, err
		}
		if owner != "" {
			old, err := tt.get(owner)
			if err != nil {
				return nil, err
			}
			return &Conflict{Constraint: u.name, Key: []byte(owner), Row: old.New, Err: t.taken(u, c, i)}, nil
		}
	}
	for j, e := range entries {
		if e != "" {
			tt.entries[j].Set(e, key)
		}
	}
	r.New = vec.EncodeRow(nil, c.Cols, i)
	if err := x.growBy(tt, int64(len(key)+len(r.Old)+len(r.New)+12)); err != nil {
		return nil, err
	}
	tt.rows.Set(key, r)
	x.came(t, old, key, r.New)
	return nil, nil
}

// Delete takes row i of c, which must be as the transaction sees it, out of the table; false if it is
// not there any more (deleted by the same statement before).
func (x *Tx) Delete(t *Table, c *vec.Chunk, i int) (bool, error) {
	got, err := x.take(t, c, i, false)
	return got == Taken, err
}

// Seen is what has become of a row that a statement has read.
type Seen uint8

// What Take finds.
const (
	// Taken: the row was there, as it was read, and is deleted now.
	Taken Seen = iota
	// Gone: there is no such row any more.
	Gone
	// Changed: it is another one.
	Changed
)

// Take is Delete of a row that the statement has read before it had the lock, if it is there still and as it was.
func (x *Tx) Take(t *Table, c *vec.Chunk, i int) (Seen, error) { return x.take(t, c, i, true) }

func (x *Tx) take(t *Table, c *vec.Chunk, i int, same bool) (Seen, error) {
	if t.late(c, i) {
		return Gone, t.tooOld(c, i)
	}
	tt := x.table(t)
	x.key = t.Key(x.key[:0], c, i)
	key := string(x.key)
	r, err := tt.get(key)
	if err != nil || r.New == nil {
		return Gone, err
	}
	if same {
		if x.row = vec.EncodeRow(x.row[:0], c.Cols, i); !bytes.Equal(x.row, r.New) {
			return Changed, nil
		}
	}
	for j, u := range t.indexes {
		e, ok, err := u.entry(c, i, x.key)
		if err != nil {
			return Gone, err
		}
		if ok {
			tt.entries[j].Set(string(e), "")
		}
	}
	x.went(t, key, r.New)
	r.New = nil
	x.bytes += int64(len(key) + len(r.Old) + 12)
	if err := x.checkSize(); err != nil {
		return Gone, err
	}
	tt.rows.Set(key, r)
	return Taken, nil
}

// maxBytes bounds the changes of a transaction, which are in memory until the commit and then one record of
// the log, whose limit this is. At the commit about six times as much memory is in use for a moment.
const maxBytes = 1<<30 - 1<<20

// SetLimit bounds the bytes of changes, below the bound of a log record, which holds in any case.
func (x *Tx) SetLimit(n int64) { x.limit = n }

func (x *Tx) checkSize() error {
	switch {
	case x.bytes > maxBytes:
		return sqlerr.Newf(sqlerr.ProgramLimitExceeded, "transaction has more than %d bytes of changes", int64(maxBytes)).
			WithHint("Divide it into several, for example COPY the data in parts.")
	case x.limit > 0 && x.bytes > x.limit:
		return sqlerr.Newf(sqlerr.OutOfMemory, "out of memory").
			WithDetail("The transaction has more than the %d MB of changes that it may have.", x.limit>>20).
			WithHint("Divide it into several, for example COPY the data in parts, or start the server with a larger --memory-limit.")
	}
	return nil
}

// Savepoint is a state of a transaction's changes to go back to. Locks taken since stay.
type Savepoint struct {
	tables  map[uint32]txCopy
	foreign foreignTx
}

type txCopy struct {
	t       *Table
	rows    *btree.Map[string, Row]
	bulk    []bulk
	entries []*btree.Map[string, string]
	changes int
	bytes   int64
}

// Save remembers the present changes.
func (x *Tx) Save() Savepoint {
	s := Savepoint{tables: map[uint32]txCopy{}, foreign: x.saved()}
	for id, tt := range x.tables {
		s.tables[id] = tt.copy()
	}
	return s
}

func (tt *txTable) copy() txCopy {
	c := txCopy{t: tt.t, rows: tt.rows.Copy(), bulk: tt.saved(), changes: tt.changes, bytes: tt.bytes}
	for _, e := range tt.entries {
		c.entries = append(c.entries, e.Copy())
	}
	return c
}

// Restore goes back to a savepoint, which stays valid.
func (x *Tx) Restore(s Savepoint) {
	x.foreignTx = s.foreign.saved()
	for id, tt := range x.tables {
		c, ok := s.tables[id]
		if ok && c.t == tt.t && c.changes != tt.changes && c.rows.Len()+len(c.bulk) > 0 {
			// Indexes have come and gone since.
			tt.rows, tt.bulk = c.rows.Copy(), c.bulk
			if err := tt.reindex(); err == nil {
				continue
			}
		}
		if !ok || c.t != tt.t || c.changes != tt.changes {
			// It had changed nothing then.
			tt.rows, tt.bulk = &btree.Map[string, Row]{}, nil
			tt.renew()
			continue
		}
		d := txCopy{rows: c.rows.Copy()}
		for _, e := range c.entries {
			d.entries = append(d.entries, e.Copy())
		}
		tt.rows, tt.bulk, tt.entries = d.rows, c.bulk, d.entries
	}
}

// Commit makes the changes durable and part of the open epoch, and releases the locks. With sync it
// returns after an fsync. It cannot be cancelled once the record is submitted.
func (x *Tx) Commit(log *storage.Log, rt *flow.Runtime, sync bool) error {
	defer x.Release()
	c, err := x.collect()
	if err != nil || len(c.changes) == 0 {
		return err
	}
	if err := submit(log, encodeRecord(c.changes), sync, c.apply(rt)); err != nil {
		return err
	}
	c.mark()
	return nil
}

// collected is what a transaction writes at its commit.
type collected struct {
	changes []tableChanges
	writes  []flow.TableWrite
	marked  []*Table
	tops    []int64
}

func (c *collected) apply(rt *flow.Runtime) func(storage.LogPos) error {
	return func(pos storage.LogPos) error { return rt.Write(pos, c.writes) }
}

// mark moves the watermarks of the tables.
func (c *collected) mark() {
	for i, t := range c.marked {
		t.mark = max(t.mark, c.tops[i])
	}
}

// collect takes the changes out of the transaction.
func (x *Tx) collect() (c collected, err error) {
	for _, tt := range x.order {
		if tt.t.private {
			continue // its rows are a session's
		}
		cs := make([]change, 0, tt.rows.Len())
		tt.rows.Scan(func(k string, r Row) bool {
			if r.Old != nil || r.New != nil {
				cs = append(cs, change{Key: bytesOf(k), Old: r.Old, New: r.New})
			}
			return true
		})
		tt.rows = &btree.Map[string, Row]{} // its memory is of use for what follows
		if len(cs) == 0 && len(tt.bulk) == 0 {
			continue
		}
		w, err := tt.t.write(cs)
		if err != nil {
			return c, err
		}
		for _, b := range tt.bulk {
			w.Rows = append(w.Rows, b.Rows)
			w.Chunks = append(w.Chunks, b.chunks...)
		}
		c.changes = append(c.changes, tableChanges{id: uint32(tt.t.Rel.ID), changes: cs, bulk: tt.bulk})
		c.writes = append(c.writes, w)
		c.tops = append(c.tops, tt.t.top(w.Chunks))
		c.marked = append(c.marked, tt.t)
	}
	return c, nil
}

// Fill puts the changes into the dataflow without the log: those of a table that is being made, of which nothing lasts before a
// checkpoint has all of it. It gives the epoch that has them, and forgets them; the locks stay.
func (x *Tx) Fill(rt *flow.Runtime) (storage.Epoch, error) {
	var ws []flow.TableWrite
	for _, tt := range x.order {
		tt.spread()
		cs := make([]change, 0, tt.rows.Len())
		tt.rows.Scan(func(k string, r Row) bool {
			cs = append(cs, change{Key: bytesOf(k), Old: r.Old, New: r.New})
			return true
		})
		w, err := tt.t.write(cs)
		if err != nil {
			return 0, err
		}
		ws = append(ws, w)
		tt.rows = &btree.Map[string, Row]{}
		tt.renew()
	}
	x.bytes = 0
	return rt.Fill(ws)
}

// submit logs a record and applies it when it is durable, in the order of the log.
func submit(log *storage.Log, rec []byte, sync bool, apply func(storage.LogPos) error) error {
	done := make(chan error, 1)
	log.Submit(rec, sync, func(pos storage.LogPos, err error) {
		if err == nil {
			// An error means that the dataflow has stopped. The record is in the log, and the recovery
			// that every later statement waits for applies it: the commit took place.
			_ = apply(pos)
		}
		done <- err
	})
	return <-done
}

func (x *Tx) releaseLocks(tt *txTable) {
	if len(tt.keys) > 0 {
		tt.t.releaseKeys(x, tt.keys)
	}
	x.releaseReferences(tt)
	if tt.shared || tt.exclusive {
		tt.t.locks.release(x, &tt.t.lock)
	}
}

// Release gives all locks back and forgets the changes.
func (x *Tx) Release() {
	for _, tt := range x.order {
		x.releaseLocks(tt)
	}
	x.UnlockDefinitions()
	x.tables, x.order, x.bytes, x.foreignTx = map[uint32]*txTable{}, nil, 0, foreignTx{}
}

// Replay applies a log record again. find gives the table of an id, nil if it was dropped since, and save what the checkpoint with it must
// have of the catalog in it, if it has one.
func Replay(rt *flow.Runtime, pos storage.LogPos, rec []byte, find func(id uint32) *Table, save func(cat []byte) (flow.Save, error)) error {
	ts, err := decodeRecord(rec)
	if err != nil {
		return err
	}
	var ws []flow.TableWrite
	for _, tc := range ts {
		t := find(tc.id)
		if t == nil {
			continue
		}
		w, err := t.write(tc.changes)
		if err != nil {
			return err
		}
		t.mark = max(t.mark, t.top(w.Chunks))
		ws = append(ws, w)
	}
	if cat := DefinitionsIn(rec); cat != nil {
		s, err := save(cat)
		if err != nil {
			return err
		}
		return rt.WriteSaving(pos, ws, s, func() {})
	}
	return rt.Write(pos, ws)
}

// Get gives the row under a key as the transaction sees it.
func (x *Tx) Get(t *Table, key []byte) (Row, error) { return x.table(t).get(string(key)) }

// DeleteAll deletes every row of a table, also those that the transaction has inserted, under the exclusive lock.
func (x *Tx) DeleteAll(t *Table) error {
	tt := x.table(t)
	tt.spread()
	c := vec.NewChunk(t.types, 1)
	var rows [][]byte
	tt.rows.Scan(func(_ string, r Row) bool {
		if r.New != nil {
			rows = append(rows, r.New)
		}
		return true
	})
	err := t.Arr.HeadScan(nil, nil, func(k, v []byte) error {
		if _, ok := tt.rows.Get(string(k)); !ok {
			rows = append(rows, slices.Clone(v))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range rows {
		c.Reset()
		if err := t.Decode(c, r, 1); err != nil {
			return err
		}
		if _, err := x.Delete(t, c, 0); err != nil {
			return err
		}
	}
	// All tables that reference this one are emptied with it.
	x.events = slices.DeleteFunc(x.events, func(e event) bool { return e.t == t && e.new == nil })
	return nil
}
