package table

import (
	"context"
	"encoding/binary"
	"slices"
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
	key          []byte // scratch
	enc          vec.RowsEncoder
	// waiting is the request that the transaction waits for, under Locks.mu; nil if none.
	waiting *request
}

type txTable struct {
	t                 *Table
	shared, exclusive bool
	keys              map[string]bool // locked; see lockKeys
	rows              *btree.Map[string, Row]
	bulk              []bulk // more rows, with keys that rows does not have
	// unique has, for each unique index, what the transaction changed: the key of the row that
	// has the value now, or "" for none.
	unique []*btree.Map[string, string]
}

// NewTx makes an empty transaction.
func NewTx() *Tx { return &Tx{tables: map[uint32]*txTable{}} }

// Empty tells whether the transaction has changed nothing.
func (x *Tx) Empty() bool {
	for _, tt := range x.order {
		if tt.changed() {
			return false
		}
	}
	return true
}

// Locked tells whether the transaction has a lock.
func (x *Tx) Locked() bool {
	for _, tt := range x.order {
		if tt.shared || tt.exclusive || len(tt.keys) > 0 {
			return true
		}
	}
	return false
}

// Jobs lists the jobs of the tables that the transaction changes.
func (x *Tx) Jobs() []flow.JobID {
	var jobs []flow.JobID
	for _, tt := range x.order {
		if tt.changed() {
			jobs = append(jobs, flow.JobID(tt.t.Rel.ID))
		}
	}
	return jobs
}

func (x *Tx) table(t *Table) *txTable {
	tt := x.tables[uint32(t.Rel.ID)]
	if tt == nil {
		tt = &txTable{t: t, keys: map[string]bool{}, rows: &btree.Map[string, Row]{}}
		for range t.unique {
			tt.unique = append(tt.unique, &btree.Map[string, string]{})
		}
		x.tables[uint32(t.Rel.ID)] = tt
		x.order = append(x.order, tt)
	}
	return tt
}

// Lock takes the table's lock, until the transaction ends. One that shares the lock and wants it alone
// keeps its share meanwhile if it has written under it.
func (x *Tx) Lock(ctx context.Context, t *Table, exclusive bool) error {
	tt := x.table(t)
	exclusive = exclusive || t.marked()
	if tt.exclusive || tt.shared && !exclusive {
		return nil
	}
	if tt.shared && !tt.changed() {
		// Without it two of these would be a deadlock for nothing.
		x.unshare(tt)
	}
	if err := t.locks.acquire(ctx, x, &t.lock, exclusive); err != nil {
		return err
	}
	tt.shared, tt.exclusive = !exclusive, exclusive
	if t.dropped.Load() {
		return t.gone()
	}
	return nil
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

// uniqueOwner gives the key of the row that has a value in a unique index, "" for none.
func (tt *txTable) uniqueOwner(j int, uk []byte) (string, error) {
	if owner, ok := tt.unique[j].Get(string(uk)); ok {
		return owner, nil
	}
	v, ok, err := tt.t.unique[j].arr.HeadGet(uk)
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
func (x *Tx) lockKeys(ctx context.Context, tt *txTable, c *vec.Chunk) error {
	if tt.exclusive || tt.t.hasRowID() && len(tt.t.unique) == 0 {
		return nil
	}
	if len(tt.keys) >= manyKeys && tt.t.locks.try(x, &tt.t.lock, true) {
		tt.shared, tt.exclusive = false, true
		return nil
	}
	var keys []string
	for i := range c.Len() {
		if !tt.t.hasRowID() {
			keys = append(keys, lockName(0, tt.t.Key(nil, c, i)))
		}
		for j, u := range tt.t.unique {
			if k, ok := u.uniqueKey(nil, c, i); ok {
				keys = append(keys, lockName(1+j, k))
			}
		}
	}
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		if tt.keys[k] {
			continue
		}
		if !tt.t.tryKey(x, k) {
			if tt.shared && !tt.changed() {
				// Who has the key may want the table for itself. Nothing was written under this
				// transaction's share yet, so it need not be in the way.
				x.unshare(tt)
			}
			if err := tt.t.awaitKey(ctx, x, k); err != nil {
				return err
			}
		}
		tt.keys[k] = true
	}
	return x.Lock(ctx, tt.t, false)
}

// lockName names a key of index number i for locking.
func lockName(i int, key []byte) string {
	b := binary.AppendUvarint(make([]byte, 0, len(key)+2), uint64(i))
	return string(append(b, key...))
}

// Prepare locks a table and the keys for an insert of the rows of c.
func (x *Tx) Prepare(ctx context.Context, t *Table, c *vec.Chunk) error {
	if err := x.Lock(ctx, t, false); err != nil {
		return err
	}
	return x.lockKeys(ctx, x.table(t), c)
}

// Insert puts row i of c into the table, after Prepare or under the exclusive lock. If a unique key is
// taken, it gives the conflict and changes nothing.
func (x *Tx) Insert(t *Table, c *vec.Chunk, i int) (*Conflict, error) {
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
	for j, u := range t.unique {
		uk, ok := u.uniqueKey(nil, c, i)
		if !ok {
			continue
		}
		owner, err := tt.uniqueOwner(j, uk)
		if err != nil {
			return nil, err
		}
		if owner != "" {
			old, err := tt.get(owner)
			if err != nil {
				return nil, err
			}
			return &Conflict{
				Constraint: u.con.Name, Key: []byte(owner), Row: old.New,
				Err: t.duplicate(u.con.Name, u.con.Columns, c, i),
			}, nil
		}
	}
	for j, u := range t.unique {
		if uk, ok := u.uniqueKey(nil, c, i); ok {
			tt.unique[j].Set(string(uk), key)
		}
	}
	r.New = vec.EncodeRow(nil, c.Cols, i)
	if err := x.grow(int64(len(key) + len(r.Old) + len(r.New) + 12)); err != nil {
		return nil, err
	}
	tt.rows.Set(key, r)
	return nil, nil
}

// Delete takes row i of c, which must be as the transaction sees it, out of the table; false if it is
// not there any more (deleted by the same statement before).
func (x *Tx) Delete(t *Table, c *vec.Chunk, i int) (bool, error) {
	if t.late(c, i) {
		return false, t.tooOld(c, i)
	}
	tt := x.table(t)
	x.key = t.Key(x.key[:0], c, i)
	key := string(x.key)
	r, err := tt.get(key)
	if err != nil || r.New == nil {
		return false, err
	}
	for j, u := range t.unique {
		if uk, ok := u.uniqueKey(nil, c, i); ok {
			tt.unique[j].Set(string(uk), "")
		}
	}
	r.New = nil
	x.bytes += int64(len(key) + len(r.Old) + 12)
	if err := x.checkSize(); err != nil {
		return false, err
	}
	tt.rows.Set(key, r)
	return true, nil
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
type Savepoint struct{ tables map[uint32]txCopy }

type txCopy struct {
	rows   *btree.Map[string, Row]
	bulk   []bulk
	unique []*btree.Map[string, string]
}

// Save remembers the present changes.
func (x *Tx) Save() Savepoint {
	s := Savepoint{tables: map[uint32]txCopy{}}
	for id, tt := range x.tables {
		s.tables[id] = tt.copy()
	}
	return s
}

func (tt *txTable) copy() txCopy {
	c := txCopy{rows: tt.rows.Copy(), bulk: tt.saved()}
	for _, u := range tt.unique {
		c.unique = append(c.unique, u.Copy())
	}
	return c
}

// Restore goes back to a savepoint, which stays valid.
func (x *Tx) Restore(s Savepoint) {
	for id, tt := range x.tables {
		c, ok := s.tables[id]
		if !ok {
			tt.rows, tt.bulk = &btree.Map[string, Row]{}, nil
			for j := range tt.unique {
				tt.unique[j] = &btree.Map[string, string]{}
			}
			continue
		}
		d := txCopy{rows: c.rows.Copy()}
		for _, u := range c.unique {
			d.unique = append(d.unique, u.Copy())
		}
		tt.rows, tt.bulk, tt.unique = d.rows, c.bulk, d.unique
	}
}

// Commit makes the changes durable and part of the open epoch, and releases the locks. With sync it
// returns after an fsync. It cannot be cancelled once the record is submitted.
func (x *Tx) Commit(log *storage.Log, rt *flow.Runtime, sync bool) error {
	defer x.Release()
	var ts []tableChanges
	var ws []flow.TableWrite
	var marked []*Table
	var tops []int64
	for _, tt := range x.order {
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
			return err
		}
		for _, b := range tt.bulk {
			w.Rows = append(w.Rows, b.Rows)
			w.Chunks = append(w.Chunks, b.chunks...)
		}
		ts = append(ts, tableChanges{id: uint32(tt.t.Rel.ID), changes: cs, bulk: tt.bulk})
		ws = append(ws, w)
		tops = append(tops, tt.t.top(w.Chunks))
		marked = append(marked, tt.t)
	}
	if len(ts) == 0 {
		return nil
	}
	if err := submit(log, rt, encodeRecord(ts), ws, sync); err != nil {
		return err
	}
	for i, t := range marked {
		t.mark = max(t.mark, tops[i])
	}
	return nil
}

// submit logs a record and applies its writes when it is durable, in the order of the log.
func submit(log *storage.Log, rt *flow.Runtime, rec []byte, ws []flow.TableWrite, sync bool) error {
	done := make(chan error, 1)
	log.Submit(rec, sync, func(pos storage.LogPos, err error) {
		if err == nil {
			// An error means that the dataflow has stopped. The record is in the log, and the recovery
			// that every later statement waits for applies it: the commit took place.
			_ = rt.Write(pos, ws)
		}
		done <- err
	})
	return <-done
}

// Release gives all locks back and forgets the changes.
func (x *Tx) Release() {
	for _, tt := range x.order {
		if len(tt.keys) > 0 {
			tt.t.releaseKeys(x, tt.keys)
		}
		if tt.shared || tt.exclusive {
			tt.t.locks.release(x, &tt.t.lock)
		}
	}
	x.tables, x.order, x.bytes = map[uint32]*txTable{}, nil, 0
}

// Replay applies a log record again. find gives the table of an id, nil if it was dropped since.
func Replay(rt *flow.Runtime, pos storage.LogPos, rec []byte, find func(id uint32) *Table) error {
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
	return nil
}
