package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/tidwall/btree"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// Definitions in transactions.
//
// A table that a transaction creates is private until the commit: no store knows it, and its rows are the changes of the
// transaction. So is a temporary table, for good. Whatever reads or writes such a table does what it does elsewhere, over
// nothing. When a transaction gives a table another definition, the new Table takes the place of the old one in the transaction only.

// Private opens a table that is in no store: all of its rows are changes of the transaction that knows it.
func Private(locks *Locks, rel *catalog.Relation) *Table {
	t := New(storage.Nowhere{}, locks, rel)
	t.private = true
	return t
}

// IsPrivate tells whether a table is in no store.
func (t *Table) IsPrivate() bool { return t.private }

// Count gives the hidden columns of a temporary table counters that nothing outlasts; next comes next.
func (t *Table) Count(next int64) {
	for i, c := range t.Rel.Columns {
		if c.Serial && c.Hidden {
			t.sequences[i] = &Sequence{rel: t.Rel.ID, col: i, next: next, reserved: next, max: math.MaxInt64, name: t.Rel.Name + "_" + c.Name + "_seq"}
		}
	}
}

// Counted is what Count needs to go on.
func (t *Table) Counted() int64 {
	next := int64(1)
	for _, q := range t.sequences {
		next = max(next, q.next)
	}
	return next
}

// Counters are those of the hidden columns, for another Table of the same relation.
func (t *Table) Counters() map[int]*Sequence { return maps.Clone(t.sequences) }

// Adopt takes the counters of a Table of the same relation.
func (t *Table) Adopt(counters map[int]*Sequence) { t.sequences = maps.Clone(counters) }

type principalKey struct{}

// OnBehalf gives a context in which whoever waits for a lock does so in the name of x: a circle that goes through x is a deadlock.
func OnBehalf(ctx context.Context, x *Tx) context.Context {
	return context.WithValue(ctx, principalKey{}, x)
}

func principal(ctx context.Context) *Tx {
	x, _ := ctx.Value(principalKey{}).(*Tx)
	return x
}

// LockDefinitions takes the lock for changes of the catalog, until the transaction ends.
func (x *Tx) LockDefinitions(ctx context.Context, m *Locks) error {
	if x.definitions {
		return nil
	}
	if err := m.acquire(ctx, x, &m.definitions, Update); err != nil {
		return err
	}
	x.definitions, x.manager = true, m
	return nil
}

// UnlockDefinitions gives the lock back before the end.
func (x *Tx) UnlockDefinitions() {
	if x.definitions {
		x.manager.release(x, &x.manager.definitions)
		x.definitions, x.manager = false, nil
	}
}

// Pending is a definition that a table has for one transaction.
type Pending struct {
	old, new *Table
	// before are the foreign keys as they were.
	before []ForeignKey
	keys   []*ForeignKey
}

// RenewFor is Renew for one transaction, which has everything locked that Renew asks for: others know nothing of it before Done.
func (x *Tx) RenewFor(t *Table, to Renewal) *Pending {
	p := &Pending{old: t}
	for _, f := range slices.Concat(t.foreign, t.referrers) {
		p.keys, p.before = append(p.keys, f), append(p.before, *f)
	}
	p.new = t.renewed(to)
	x.Become(t, p.new)
	return p
}

// Table is the table with the new definition.
func (p *Pending) Table() *Table { return p.new }

// Done makes the new definition everybody's.
func (p *Pending) Done() { p.old.replaced.Store(true) }

// Undo takes it back. The transaction has what it changed since in the old table.
func (p *Pending) Undo(x *Tx) {
	for k, f := range p.keys {
		*f = p.before[k]
	}
	x.Become(p.new, p.old)
}

// Become lets n take the place of a table in the transaction, with what the transaction has changed in it. Nobody else knows n.
func (x *Tx) Become(t, n *Table) {
	tt := x.table(t)
	if tt.t != t {
		return
	}
	// The locks of the old one are kept to the end.
	x.order = append(x.order, &txTable{
		t: t, shared: tt.shared, exclusive: tt.exclusive, held: tt.held, keys: tt.keys, references: tt.references, allReferences: tt.allReferences,
		rows: &btree.Map[string, Row]{}, changes: tt.changes,
	})
	tt.t, tt.shared, tt.keys, tt.references = n, false, map[string]Mode{}, nil
	tt.exclusive = n.locks.try(x, &n.lock, Update)
	if tt.allReferences = Unlocked; n.locks.try(x, &n.referenced, Update) {
		tt.allReferences = Update
	}
	// They are the same rows, which have no two equal keys.
	_ = tt.reindex()
}

// Reindex brings what the transaction has changed in a table into its indexes, after these have changed. It is an error if two
// rows have the same values.
func (x *Tx) Reindex(t *Table) error { return x.table(t).reindex() }

func (tt *txTable) reindex() error {
	t := tt.t
	if len(t.indexes) == 0 {
		tt.renew()
		return nil
	}
	tt.spread()
	tt.renew()
	c := vec.NewChunk(t.types, 1)
	var err error
	each := func(pick func(Row) []byte, f func(j int, x *index, entry, key string) error) {
		tt.rows.Scan(func(key string, r Row) bool {
			row := pick(r)
			if row == nil {
				return true
			}
			c.Reset()
			if err = t.Decode(c, row, 1); err != nil {
				return false
			}
			for j, x := range t.indexes {
				e, ok, xerr := x.entry(c, 0, bytesOf(key))
				if err = xerr; err == nil && ok {
					err = f(j, x, string(e), key)
				}
				if err != nil {
					return false
				}
			}
			return true
		})
	}
	each(func(r Row) []byte { return r.Old }, func(j int, _ *index, entry, _ string) error {
		tt.entries[j].Set(entry, "")
		return nil
	})
	if err != nil {
		return err
	}
	each(func(r Row) []byte { return r.New }, func(j int, x *index, entry, key string) error {
		if !x.multi && !x.lax {
			owner, err := tt.owner(j, []byte(entry))
			if err != nil {
				return err
			}
			if owner != "" && owner != key {
				names, vals, err := t.show(x, c, 0)
				if err != nil {
					return err
				}
				return t.couldNot(x.name, names, vals)
			}
		}
		tt.entries[j].Set(entry, key)
		return nil
	})
	return err
}

// Withdraw takes an index out of a private table, and gives what puts it back.
func (t *Table) Withdraw(arr storage.TableID) (back func()) {
	before := t.indexes
	t.Detach(arr)
	return func() {
		t.indexes = before
		t.changes++
	}
}

// Suspend lets a unique index be kept and not be enforced, and gives what enforces it again. The caller has the table alone.
func (t *Table) Suspend(arr storage.TableID) (back func()) {
	before := t.indexes
	t.indexes = slices.Clone(t.indexes)
	if at := t.find(arr); at >= 0 {
		x := *t.indexes[at]
		x.lax = true
		t.indexes[at] = &x
	}
	return func() { t.indexes = before }
}

// Settle forgets what foreign keys would ask for after changes that are none of rows.
func (x *Tx) Settle() { x.events, x.gone = nil, nil }

// Forget gives up what the transaction has changed in a table.
func (x *Tx) Forget(t *Table) {
	tt := x.table(t)
	tt.rows, tt.bulk = &btree.Map[string, Row]{}, nil
	tt.renew()
}

// Each calls f with the rows of a table as the transaction sees them, in the order of their keys.
func (x *Tx) Each(t *Table, f func(key, row []byte) error) error {
	tt := x.table(t)
	tt.spread()
	it := tt.rows.Copy().Iter()
	more := it.First()
	mine := func(upTo []byte) (same bool, err error) {
		for more && (upTo == nil || it.Key() <= string(upTo)) {
			same = upTo != nil && it.Key() == string(upTo)
			if r := it.Value(); r.New != nil {
				if err := f(bytesOf(it.Key()), r.New); err != nil {
					return same, err
				}
			}
			more = it.Next()
		}
		return same, nil
	}
	err := t.Arr.HeadScan(nil, nil, func(k, v []byte) error {
		same, err := mine(k)
		if err != nil || same {
			return err
		}
		return f(k, v)
	})
	if err == nil {
		_, err = mine(nil)
	}
	return err
}

// ValidateOwn is Validate with what the transaction has changed itself.
func (x *Tx) ValidateOwn(ctx context.Context, f *ForeignKey) error {
	n := 0
	return x.Each(f.Child, func(_, row []byte) error {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return x.hasTarget(ctx, f, bytes.Clone(row))
	})
}

// definitionsVersion is the version of a record that begins with a catalog:
//
//	record = version(2) uvarint length, catalog, tables
const definitionsVersion = 2

// DefinitionsIn gives the catalog that a log record has; nil if it has none.
func DefinitionsIn(rec []byte) []byte {
	if len(rec) == 0 || rec[0] != definitionsVersion {
		return nil
	}
	n, b, err := cutUvarint(rec[1:])
	if err != nil || n > uint64(len(b)) {
		return nil
	}
	return b[:n:n]
}

// tablesOf gives the part of a record with tables.
func tablesOf(rec []byte) ([]byte, error) {
	switch {
	case len(rec) == 0:
	case rec[0] == recordVersion:
		return rec[1:], nil
	case rec[0] == definitionsVersion:
		if n, b, err := cutUvarint(rec[1:]); err == nil && n <= uint64(len(b)) {
			return b[n:], nil
		}
	}
	return nil, errRecord
}

// CommitDefinitions is Commit of a transaction with a catalog of its own. The record is the commit of both; save is part of the checkpoint that has what the
// record says, and publish is called as soon as the rows are there, before anybody can read them. The locks stay.
func (x *Tx) CommitDefinitions(log *storage.Log, rt *flow.Runtime, cat []byte, save flow.Save, publish func()) error {
	c, err := x.collect()
	if err != nil {
		return err
	}
	rest := encodeRecord(c.changes)
	rec := binary.AppendUvarint(append(make([]byte, 0, len(cat)+len(rest)+10), definitionsVersion), uint64(len(cat)))
	rec = append(append(rec, cat...), rest[1:]...)
	err = submit(log, rec, true, func(pos storage.LogPos) error { return rt.WriteSaving(pos, c.writes, save, publish) })
	if err == nil {
		c.mark()
	}
	return err
}

// Kept are the rows of private tables, for the next transaction of the session.
type Kept map[catalog.ID]txCopy

// Keep gives what the transaction has in a private table.
func (x *Tx) Keep(into Kept, t *Table) {
	if tt := x.tables[uint32(t.Rel.ID)]; tt != nil && tt.t == t {
		into[t.Rel.ID] = tt.copy()
	}
}

// Bring puts rows that were kept into a table.
func (x *Tx) Bring(k Kept, t *Table) {
	tt := x.table(t)
	tt.exclusive = t.locks.try(x, &t.lock, Update)
	c, ok := k[t.Rel.ID]
	if !ok {
		return
	}
	tt.rows, tt.bulk, tt.bytes = c.rows.Copy(), slices.Clip(c.bulk), c.bytes
	x.bytes += c.bytes
	if c.changes == t.changes && len(c.entries) == len(t.indexes) {
		for j, e := range c.entries {
			tt.entries[j] = e.Copy()
		}
		return
	}
	_ = tt.reindex()
}
