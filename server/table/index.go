package table

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// index is an arrangement that a table maintains with its rows, in the same moment: a unique index other than
// the arrangement's key, from the encoded values to the row's key, or the index of a foreign key, from the
// encoded values and the row's key to the row's key.
type index struct {
	name string
	arr  *storage.Arrangement
	// multi: several rows may have the same values.
	multi bool
	// lax: it is a unique index that will be gone, and is not enforced any more.
	lax bool
	// cols are the columns of the table; with expressions (values is set) the names say what they are.
	cols []int
	keys []vec.SortKey
	// nullsEqual: NULL is a value like another. Otherwise rows with NULL are not in the index.
	nullsEqual bool
	names      []string
	values     Values
}

// Values gives the values of row i of a table's chunk in an index with expressions or a condition, as a chunk of that
// row alone, and false if the row is not in the index. Several goroutines call it.
type Values func(c *vec.Chunk, i int) (*vec.Chunk, bool, error)

// UniqueIndex is what CREATE UNIQUE INDEX makes.
type UniqueIndex struct {
	Name string
	// Arr holds it.
	Arr *storage.Arrangement
	// Cols are the columns of the table; or, if Values is set, those of what that gives.
	Cols []int
	// Names are what messages call them.
	Names      []string
	NullsEqual bool
	Values     Values
}

// newUnique makes the index of a UNIQUE constraint.
func (t *Table) newUnique(store Arrangements, u catalog.Unique) *index {
	x := UniqueIndex{
		Name: u.Name, Arr: store.Arrangement(storage.TableID(t.Rel.StateTables[UniqueStateName(u.Name)])),
		Cols: u.Columns, NullsEqual: u.NullsNotDistinct,
	}
	for _, c := range u.Columns {
		x.Names = append(x.Names, t.Rel.Columns[c].Name)
	}
	return x.index()
}

func (u UniqueIndex) index() *index {
	x := &index{name: u.Name, arr: u.Arr, cols: u.Cols, names: u.Names, nullsEqual: u.NullsEqual, values: u.Values}
	for _, c := range u.Cols {
		x.keys = append(x.keys, vec.SortKey{Col: c})
	}
	return x
}

// row gives the chunk and the row in it that have the values of row i of c, and false if the row is not in the index.
func (x *index) row(c *vec.Chunk, i int) (*vec.Chunk, int, bool, error) {
	if x.values != nil {
		v, ok, err := x.values(c, i)
		if err != nil || !ok {
			return nil, 0, false, err
		}
		c, i = v, 0
	}
	if !x.nullsEqual {
		for _, k := range x.keys {
			if c.Cols[k.Col].IsNull(i) {
				return c, i, false, nil
			}
		}
	}
	return c, i, true, nil
}

// key appends the encoded values of row i, and false if the row is not in the index.
func (x *index) key(dst []byte, c *vec.Chunk, i int) ([]byte, bool, error) {
	c, i, ok, err := x.row(c, i)
	if err != nil || !ok {
		return dst, false, err
	}
	return vec.EncodeKey(dst, c.Cols, i, x.keys), true, nil
}

// entry gives the key in the arrangement of row i, whose own key is row.
func (x *index) entry(c *vec.Chunk, i int, row []byte) ([]byte, bool, error) {
	k, ok, err := x.key(nil, c, i)
	if ok && x.multi {
		k = append(k, row...)
	}
	return k, ok, err
}

// taken is the error for row i of c that has the values of another row.
func (t *Table) taken(x *index, c *vec.Chunk, i int) error {
	names, vals, err := t.show(x, c, i)
	if err != nil {
		return err
	}
	return t.duplicateOf(x.name, names, vals)
}

// show gives names and values of row i in an index.
func (t *Table) show(x *index, c *vec.Chunk, i int) (names, vals []string, err error) {
	v, at, _, err := x.row(c, i)
	if err != nil || v == nil {
		return nil, nil, err
	}
	for _, k := range x.keys {
		vals = append(vals, t.text(v.Cols[k.Col], at))
	}
	return x.names, vals, nil
}

// indexChanges derives the changes of an index from all rows that go and come. Retractions come
// first, so that a value that moves from one row to another in the same transaction stays.
func (t *Table) indexChanges(x *index, chunks []*vec.Chunk) ([]storage.Change, error) {
	var out []storage.Change
	for _, retract := range []bool{true, false} {
		for _, c := range chunks {
			for i := range c.Len() {
				if (c.Diff(i) < 0) != retract {
					continue
				}
				row := t.Key(nil, c, i)
				k, ok, err := x.entry(c, i, row)
				if err != nil {
					return nil, err
				}
				if !ok {
					continue
				}
				ch := storage.Change{Key: k, Delete: retract}
				if !retract {
					ch.Value = row
				}
				out = append(out, ch)
			}
		}
	}
	return out, nil
}

// AddUnique adds a unique index. The caller has the exclusive lock, or nobody knows the table yet.
func (t *Table) AddUnique(u UniqueIndex) { t.attach(u.index()) }

func (t *Table) attach(x *index) {
	t.indexes = append(slices.Clone(t.indexes), x)
	t.changes++
}

// Detach takes the index out that an arrangement holds, and gives the number of the arrangement in Arrangements; 0 if there
// is none. The caller has the exclusive lock.
func (t *Table) Detach(arr storage.TableID) int {
	at := slices.IndexFunc(t.indexes, func(x *index) bool { return x.arr.ID() == arr })
	if at < 0 {
		return 0
	}
	t.indexes = slices.Delete(slices.Clone(t.indexes), at, at+1)
	t.changes++
	return at + 1
}

// Fill gives the entries of the rows of a table for an index that is to be added, some at a time; portion puts them into its
// arrangement. It is an error if two rows have the same values. The caller has the exclusive lock.
func (t *Table) Fill(u UniqueIndex, portion func([]storage.Change) error) error {
	return t.fill(u.index(), portion)
}

// fillPortion is how many entries Fill gives at a time.
const fillPortion = 16 << 10

func (t *Table) fill(x *index, portion func([]storage.Change) error) error {
	c := vec.NewChunk(t.types, 1)
	var out []storage.Change
	seen := map[string]struct{}{}
	err := t.Arr.HeadScan(nil, nil, func(key, row []byte) error {
		c.Reset()
		if err := t.Decode(c, row, 1); err != nil {
			return err
		}
		k, ok, err := x.entry(c, 0, key)
		if err != nil || !ok {
			return err
		}
		if !x.multi {
			_, dup := seen[string(k)]
			if !dup {
				if _, dup, err = x.arr.HeadGet(k); err != nil {
					return err
				}
			}
			if dup {
				names, vals, err := t.show(x, c, 0)
				if err != nil {
					return err
				}
				return t.couldNot(x.name, names, vals)
			}
			seen[string(k)] = struct{}{}
		}
		out = append(out, storage.Change{Key: k, Value: bytes.Clone(key)})
		if len(out) >= fillPortion {
			err = portion(out)
			out = nil
			clear(seen)
		}
		return err
	})
	if err == nil && len(out) > 0 {
		err = portion(out)
	}
	return err
}

// couldNot is the error for rows that keep a unique index from being made.
func (t *Table) couldNot(name string, names, vals []string) error {
	err := sqlerr.Newf(sqlerr.UniqueViolation, "could not create unique index %q", name).
		WithDetail("Key (%s)=(%s) is duplicated.", strings.Join(names, ", "), strings.Join(vals, ", "))
	err.Schema, err.Table, err.Constraint = t.Rel.Schema, t.Rel.Name, name
	return err
}
