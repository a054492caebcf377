package table

import (
	"bytes"
	"fmt"
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
	unique  []*uniqueIndex
	locks   *Locks
	lock    lock
	// keys are the locks of the keys that are being written, under locks.mu.
	keys map[string]*lock
	// dropped is set under the exclusive lock when the table is gone.
	dropped atomic.Bool
	// mark is the watermark of a table with WATERMARK that statements write to, guarded by the exclusive lock: who
	// writes has it alone.
	mark int64
	// sequences make the values of _row_id, by column.
	sequences map[int]*Sequence
}

// uniqueIndex is a UNIQUE constraint other than the arrangement's key: an arrangement from the encoded
// columns to the row's key. Rows with NULL in a column are not in it.
type uniqueIndex struct {
	con  catalog.Unique
	keys []vec.SortKey
	arr  *storage.Arrangement
}

// UniqueStateName names the state table of a unique constraint in catalog.Relation.StateTables.
func UniqueStateName(constraint string) string { return "unique/" + constraint }

// New opens a table. Its arrangements are made in the store when they do not exist.
func New(store *storage.Store, locks *Locks, rel *catalog.Relation) *Table {
	t := &Table{
		Rel: rel, Arr: store.Arrangement(storage.TableID(rel.Rows())),
		locks: locks, keys: map[string]*lock{}, sequences: map[int]*Sequence{}, mark: noMark,
	}
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
		x := &uniqueIndex{con: u, arr: store.Arrangement(storage.TableID(rel.StateTables[UniqueStateName(u.Name)]))}
		for _, c := range u.Columns {
			x.keys = append(x.keys, vec.SortKey{Col: c})
		}
		t.unique = append(t.unique, x)
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

// Arrangements lists what flow.Fragment.Table needs: the rows, then the unique indexes.
func (t *Table) Arrangements() []*storage.Arrangement {
	as := []*storage.Arrangement{t.Arr}
	for _, u := range t.unique {
		as = append(as, u.arr)
	}
	return as
}

// Tables lists the ids of the arrangements of a table, as a drop needs them.
func Tables(rel *catalog.Relation) []storage.TableID {
	ids := []storage.TableID{storage.TableID(rel.Rows())}
	for _, id := range rel.StateTables {
		ids = append(ids, storage.TableID(id))
	}
	return ids
}

// Key appends the arrangement key of row i.
func (t *Table) Key(dst []byte, c *vec.Chunk, i int) []byte {
	return vec.EncodeKey(dst, c.Cols, i, t.key)
}

// uniqueKey appends the key of row i in a unique index, and false if the row is not in it.
func (u *uniqueIndex) uniqueKey(dst []byte, c *vec.Chunk, i int) ([]byte, bool) {
	for _, k := range u.keys {
		if c.Cols[k.Col].IsNull(i) {
			return dst, false
		}
	}
	return vec.EncodeKey(dst, c.Cols, i, u.keys), true
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
		names[j] = t.Rel.Columns[k].Name
		vals[j] = string(types.AppendText(nil, t.types[k], c.Cols[k].Datum(i), nil))
	}
	err := sqlerr.Newf(sqlerr.UniqueViolation, "duplicate key value violates unique constraint %q", con).
		WithDetail("Key (%s)=(%s) already exists.", strings.Join(names, ", "), strings.Join(vals, ", "))
	err.Schema, err.Table, err.Constraint = t.Rel.Schema, t.Rel.Name, con
	return err
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
	w := flow.TableWrite{Job: flow.JobID(t.Rel.ID), Changes: make([][]storage.Change, 1+len(t.unique))}
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
	for j, u := range t.unique {
		w.Changes[1+j] = t.indexChanges(u, w.Chunks)
	}
	return w, nil
}

// indexChanges derives the changes of a unique index from all rows that go and come. Retractions come
// first, so that a value that moves from one row to another in the same transaction stays.
func (t *Table) indexChanges(u *uniqueIndex, chunks []*vec.Chunk) []storage.Change {
	var out []storage.Change
	for _, retract := range []bool{true, false} {
		for _, c := range chunks {
			for i := range c.Len() {
				if (c.Diff(i) < 0) != retract {
					continue
				}
				k, ok := u.uniqueKey(nil, c, i)
				if !ok {
					continue
				}
				ch := storage.Change{Key: k, Delete: retract}
				if !retract {
					ch.Value = t.Key(nil, c, i)
				}
				out = append(out, ch)
			}
		}
	}
	return out
}

// Drop says that the table is gone: who waits for its lock, or asks for it later, is told so. The
// caller has the exclusive lock.
func (t *Table) Drop() { t.dropped.Store(true) }

func (t *Table) gone() error {
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
