package table

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Table is a table of the catalog with its storage and its locks.
type Table struct {
	Rel *catalog.Relation
	// Arr holds the rows: key by Rel.Key, value in the row codec with all columns.
	Arr     *storage.Arrangement
	types   []types.Type
	key     []vec.SortKey
	keyCols []int
	// indexes are the unique indexes besides the key, and those of foreign keys; see index.go.
	indexes []*index
	// changes counts the changes of indexes. Both change under the exclusive lock.
	changes int
	// foreign are the foreign keys of the table, by name, and referrers those that reference it; see foreign.go. They change under
	// the exclusive locks of both tables.
	foreign, referrers []*ForeignKey
	locks              *Locks
	lock               lock
	// referenced is the lock for all keys that foreign keys may reference.
	referenced lock
	// keys are the locks of the keys that are being written, under locks.mu.
	keys map[string]*lock
	// dropped is set under the exclusive lock when the table is gone, replaced when there is another one in its place.
	dropped, replaced atomic.Bool
	// mark is the watermark of a table with WATERMARK that statements write to, guarded by the exclusive lock: who
	// writes has it alone.
	mark int64
	// sequences make the values of _row_id, by column.
	sequences map[int]*Sequence
	// private: see Private.
	private bool
}

// Arrangements makes the arrangements of tables: a store, or storage.Nowhere.
type Arrangements interface {
	Arrangement(storage.TableID) *storage.Arrangement
}

// UniqueStateName names the state table of a unique constraint in catalog.Relation.StateTables.
func UniqueStateName(constraint string) string { return "unique/" + constraint }

// New opens a table. Its arrangements are made in the store when they do not exist.
func New(store Arrangements, locks *Locks, rel *catalog.Relation) *Table {
	t := &Table{
		Rel: rel, Arr: store.Arrangement(storage.TableID(rel.Rows())),
		locks: locks, keys: map[string]*lock{}, sequences: map[int]*Sequence{}, mark: noMark,
	}
	t.lock.table, t.referenced.table = t, t
	for _, c := range rel.Columns {
		t.types = append(t.types, c.Type)
	}
	t.key = sortKeys(rel.Key)
	for _, k := range rel.Key {
		t.keyCols = append(t.keyCols, k.Col)
	}
	for _, u := range rel.Uniques {
		if u.Primary {
			continue
		}
		t.indexes = append(t.indexes, t.newUnique(store, u))
	}
	return t
}

func sortKeys(ks []catalog.SortColumn) []vec.SortKey {
	out := make([]vec.SortKey, len(ks))
	for i, k := range ks {
		out[i] = vec.SortKey{Col: k.Col, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return out
}

// Types gives the column types.
func (t *Table) Types() []types.Type { return t.types }

// Arrangements lists what flow.Fragment.Table needs: the rows, then the indexes.
func (t *Table) Arrangements() []*storage.Arrangement {
	as := []*storage.Arrangement{t.Arr}
	for _, x := range t.indexes {
		as = append(as, x.arr)
	}
	return as
}

// Tables lists the ids of the arrangements of a table, as a drop needs them.
func Tables(rel *catalog.Relation) []storage.TableID {
	ids := []storage.TableID{storage.TableID(rel.Rows())}
	for _, id := range rel.StateTables {
		ids = append(ids, storage.TableID(id))
	}
	for _, f := range rel.ForeignKeys {
		ids = append(ids, storage.TableID(f.Table))
	}
	if rel.Index != nil && rel.Index.Table != 0 {
		ids = append(ids, storage.TableID(rel.Index.Table))
	}
	return ids
}

// Key appends the arrangement key of row i.
func (t *Table) Key(dst []byte, c *vec.Chunk, i int) []byte {
	return vec.EncodeKey(dst, c.Cols, i, t.key)
}

// Decode appends an encoded row to a chunk of all columns.
func (t *Table) Decode(dst *vec.Chunk, row []byte, diff int64) error {
	if _, err := vec.DecodeRow(row, dst.Cols); err != nil {
		return fmt.Errorf("table %s: %w", t.Rel.Name, err)
	}
	dst.PushDiff(diff)
	return nil
}

// duplicate is the error for row i of c that has the key of another row.
func (t *Table) duplicate(con string, cols []int, c *vec.Chunk, i int) error {
	names, vals := make([]string, len(cols)), make([]string, len(cols))
	for j, k := range cols {
		names[j], vals[j] = t.Rel.Columns[k].Name, t.text(c.Cols[k], i)
	}
	return t.duplicateOf(con, names, vals)
}

// duplicateOf is the error for a row that has the key of another row: vals, of what is called names.
func (t *Table) duplicateOf(con string, names, vals []string) error {
	err := sqlerr.Newf(sqlerr.UniqueViolation, "duplicate key value violates unique constraint %q", con).
		WithDetail("Key (%s)=(%s) already exists.", strings.Join(names, ", "), strings.Join(vals, ", "))
	err.Schema, err.Table, err.Constraint = t.Rel.Schema, t.Rel.Name, con
	return err
}

// text is a value as errors show it.
func (t *Table) text(v *vec.Vector, i int) string {
	if v.IsNull(i) {
		return "null"
	}
	return string(types.AppendText(nil, v.Type, v.Datum(i), nil))
}

// primaryName names the constraint of the key, for errors.
func (t *Table) primaryName() string {
	if t.Rel.PrimaryKey != "" {
		return t.Rel.PrimaryKey
	}
	return t.Rel.Name + "_pkey"
}

// hasRowID tells whether the key is the hidden row id, which is never given twice.
func (t *Table) hasRowID() bool { return t.Rel.PrimaryKey == "" }

// write turns changes into what flow applies: arrangement changes for the rows and each unique index, and
// chunks of the rows that go away and come.
func (t *Table) write(cs []change) (flow.TableWrite, error) {
	w := flow.TableWrite{Job: flow.JobID(t.Rel.Job()), Changes: make([][]storage.Change, 1+len(t.indexes))}
	rows := make([]storage.Change, 0, len(cs))
	size := min(vec.ChunkSize, 2*len(cs))
	chunk := vec.NewChunk(t.types, size)
	for i := range cs {
		c := &cs[i]
		rows = append(rows, storage.Change{Key: c.Key, Value: c.New, Delete: c.New == nil})
		if bytes.Equal(c.Old, c.New) && c.Old != nil {
			continue
		}
		if c.Old != nil {
			if err := t.Decode(chunk, c.Old, -1); err != nil {
				return w, err
			}
		}
		if c.New != nil {
			if err := t.Decode(chunk, c.New, 1); err != nil {
				return w, err
			}
		}
		if chunk.Len() >= vec.ChunkSize-1 && i+1 < len(cs) {
			w.Chunks = append(w.Chunks, chunk)
			chunk = vec.NewChunk(t.types, vec.ChunkSize)
		}
	}
	if chunk.Len() > 0 {
		w.Chunks = append(w.Chunks, chunk)
	}
	w.Changes[0] = rows
	for j, x := range t.indexes {
		var err error
		if w.Changes[1+j], err = t.indexChanges(x, w.Chunks); err != nil {
			return w, err
		}
	}
	return w, nil
}

// Drop says that the table is gone: who waits for its lock, or asks for it later, is told so. The
// caller has the exclusive lock.
func (t *Table) Drop() { t.dropped.Store(true) }

// Replace says that another Table has taken the place of this one: who waits for its lock, or asks for it later, is told so with
// ErrReplaced. The caller has the exclusive lock.
func (t *Table) Replace() { t.replaced.Store(true) }

// ErrReplaced is why a statement cannot go on that was planned for a table as it was before. Planned again, it can.
var ErrReplaced = errors.New("a relation was replaced")

// Outdated gives the error for a statement that was planned for the table as rel has it, nil if it is still so.
func (t *Table) Outdated(rel *catalog.Relation) error {
	if t.replaced.Load() || rel.Rows() != t.Rel.Rows() || rel.Altered != t.Rel.Altered {
		return t.gone()
	}
	return nil
}

func (t *Table) gone() error {
	if !t.dropped.Load() {
		e := sqlerr.Newf(sqlerr.SerializationFailure, "table %q was altered meanwhile", t.Rel.Name).
			WithHint("The statement can be tried again.")
		e.Cause = ErrReplaced
		return e
	}
	return sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", t.Rel.Name)
}

// OpenSequences opens the counters of hidden columns; other columns have sequences of the catalog.
func (t *Table) OpenSequences(s *Sequences) error {
	for i, c := range t.Rel.Columns {
		if !c.Serial || !c.Hidden {
			continue
		}
		q, err := s.Open(t.Rel, i)
		if err != nil {
			return err
		}
		t.sequences[i] = q
	}
	return nil
}

// Sequence gives the counter of a hidden column, nil if it has none.
func (t *Table) Sequence(col int) *Sequence { return t.sequences[col] }

// NotUnique is the error for row i of c, which has the key of another row while a unique index is made.
func (t *Table) NotUnique(clash *Conflict, c *vec.Chunk, i int) error {
	for _, x := range t.indexes {
		if x.name == clash.Constraint {
			names, vals, err := t.show(x, c, i)
			if err != nil {
				return err
			}
			return t.couldNot(x.name, names, vals)
		}
	}
	names, vals := make([]string, len(t.keyCols)), make([]string, len(t.keyCols))
	for j, k := range t.keyCols {
		names[j], vals[j] = t.Rel.Columns[k].Name, t.text(c.Cols[k], i)
	}
	return t.couldNot(clash.Constraint, names, vals)
}

// Renewal is a definition for Renew.
type Renewal struct {
	Rel *catalog.Relation
	// Unique are the unique indexes of CREATE UNIQUE INDEX, and Referrers the foreign keys that reference the table.
	Unique    []UniqueIndex
	Referrers []catalog.ForeignKey
}

// Renew gives a Table in the place of t with another definition and the same rows and indexes. The caller has the table alone,
// and all that reference it or that it references.
func (t *Table) Renew(to Renewal) *Table {
	n := t.renewed(to)
	t.replaced.Store(true)
	return n
}

// renewed is Renew, but statements go on with t until Replace.
func (t *Table) renewed(to Renewal) *Table {
	rel := to.Rel
	n := &Table{
		Rel: rel, Arr: t.Arr, types: t.types, key: t.key, keyCols: t.keyCols, indexes: slices.Clone(t.indexes), changes: t.changes,
		foreign: t.foreign, referrers: t.referrers, locks: t.locks, keys: map[string]*lock{}, mark: t.mark, sequences: t.sequences,
		private: t.private,
	}
	n.lock.table, n.referenced.table = n, n
	for _, u := range rel.Uniques {
		for k, x := range n.indexes {
			if id, ok := rel.StateTables[UniqueStateName(u.Name)]; ok && x.arr.ID() == storage.TableID(id) {
				y := *x
				y.name, y.names = u.Name, nil
				for _, c := range u.Columns {
					y.names = append(y.names, rel.Columns[c].Name)
				}
				n.indexes[k] = &y
			}
		}
	}
	for _, u := range to.Unique {
		for k, x := range n.indexes {
			if x.arr.ID() == u.Arr.ID() {
				y := *x
				y.name, y.names = u.Name, u.Names
				n.indexes[k] = &y
			}
		}
	}
	for _, f := range n.foreign {
		f.Child = n
		f.redefine(rel.ForeignKeys)
	}
	for _, f := range n.referrers {
		f.Parent = n
		f.redefine(to.Referrers)
	}
	return n
}
