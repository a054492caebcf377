package engine

import (
	"context"
	"slices"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// ALTER TABLE has the table alone from before it looks at the rows until everything is done.
//
// What changes only the definition is one change of the catalog, and a new Table with the same rows, which statements that
// were planned before do not know: they are planned again.
//
// Where the rows become others, a table is made beside the old one, under the id of a job and with table ids of its own, and takes
// its place as a materialized view does that is replaced (see Replacement), together with everything that reads it. Its
// rows do not go through the log: a crash before the end leaves the old table as it was, since it is the catalog that says which
// rows are the table's, and the checkpoint that has this catalog has all rows.

// Altering is a table that the caller has alone.
type Altering struct {
	i     *Incarnation
	t     *table.Table
	locks *table.Tx
	// b: it is altered in a transaction, which has the locks; nil if not.
	b *Block
}

// Alter takes a table alone, until Release. The caller has locked the catalog.
func (i *Incarnation) Alter(ctx context.Context, rel *catalog.Relation) (*Altering, error) {
	t := i.Table(rel.ID)
	if t == nil {
		return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", rel.Name)
	}
	a := &Altering{i: i, t: t, locks: table.NewTx()}
	// Those that it references, and that reference it, know it.
	if _, err := i.lockDropped(ctx, a.locks, []*catalog.Relation{rel}); err != nil {
		return nil, err
	}
	return a, nil
}

// Release lets others have the table again.
func (a *Altering) Release() { a.locks.Release() }

// Scan calls f with the rows of the table, many at a time, in the order of their key. The chunk is f's until it returns.
func (a *Altering) Scan(ctx context.Context, f func(*vec.Chunk) error) error {
	size := a.i.ChunkSize()
	if size <= 0 {
		size = vec.ChunkSize
	}
	c := vec.NewChunk(a.t.Types(), size)
	scan := func(f func(key, row []byte) error) error { return a.t.Arr.HeadScan(nil, nil, f) }
	if a.b != nil {
		scan = func(f func(key, row []byte) error) error { return a.b.x.Each(a.t, f) }
	}
	err := scan(func(_, row []byte) error {
		if err := a.t.Decode(c, row, 1); err != nil || c.Len() < size {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		err := f(c)
		c.Reset()
		return err
	})
	if err == nil && c.Len() > 0 {
		err = f(c)
	}
	return err
}

// Define gives the table another definition, with the same rows; also changes the catalog together with it.
func (a *Altering) Define(ctx context.Context, rel *catalog.Relation, also ...func(*catalog.Catalog)) error {
	i := a.i
	change := func(c *catalog.Catalog) {
		c.Put(rel)
		for _, change := range also {
			change(c)
		}
	}
	if a.b != nil {
		return a.b.define(ctx, a.t, rel, change)
	}
	cat := i.Catalog().Clone()
	change(cat)
	to := table.Renewal{Rel: rel}
	for _, ix := range cat.Indexes(rel.ID) {
		if ix.Index.Table == 0 {
			continue
		}
		u, err := i.uniqueIndex(cat, rel, ix)
		if err != nil {
			return i.explain(err)
		}
		to.Unique = append(to.Unique, u)
	}
	for _, f := range cat.Referrers(rel.ID) {
		to.Referrers = append(to.Referrers, *f.Key)
	}
	if err := i.Change(ctx, change); err != nil {
		return err
	}
	t := a.t.Renew(to)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tables[rel.ID] = t
	return nil
}

// replaced puts a table with other rows in the place of the one that the caller has.
func (a *Altering) replaced(rel *catalog.Relation) error {
	i := a.i
	t, err := i.openTable(i.Catalog(), rel)
	if err != nil {
		return i.explain(err)
	}
	if err := t.OpenSequences(i.seqs); err != nil {
		return i.explain(err)
	}
	i.mu.Lock()
	i.tables[rel.ID] = t
	i.mu.Unlock()
	a.t.Replace()
	return i.explain(a.relink(t))
}

// relink puts the foreign keys of the table, and those that reference it, into force between the new table and the others, which the caller
// has alone too.
func (a *Altering) relink(t *table.Table) error {
	i := a.i
	cat := i.Catalog()
	for _, f := range slices.Clone(a.t.ForeignKeys()) {
		f.Unlink()
	}
	i.linkAll()
	for _, f := range slices.Clone(a.t.Referrers()) {
		child := cat.RelationByID(f.Child.Rel.ID)
		if child == nil {
			continue
		}
		again, err := i.foreignKey(cat, f.Child, child, f.Def)
		if err != nil {
			return err
		}
		f.Unlink()
		f.Retarget(again)
		f.Link(t)
	}
	return nil
}

// Rewrite gives the table another definition and other rows: convert makes the new row of each old one, in a chunk of its own. What
// reads the table is replaced together with it, or is dropped if it is among gone, which nothing else depends on.
//
// cat is the catalog as it will be. Foreign keys of the table have new indexes in it, and theirs and the columns that are referenced are the same
// columns of the new table.
func (a *Altering) Rewrite(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation, convert func(*vec.Chunk) (*vec.Chunk, error), readers []Replacement,
	gone []*catalog.Relation, watch func(Fill), also ...func(*catalog.Catalog)) error {
	if a.b != nil {
		return a.b.rewrite(ctx, a.t, cat, rel, convert, readers, gone, also)
	}
	fill := func(ctx context.Context, t *table.Table) (storage.Epoch, error) {
		x := table.NewTx()
		defer x.Release()
		if err := x.Lock(ctx, t, true); err != nil {
			return 0, err
		}
		var last storage.Epoch
		err := a.Scan(ctx, func(c *vec.Chunk) error {
			c, err := convert(c)
			if err != nil {
				return err
			}
			for k := range c.Len() {
				clash, err := x.Insert(t, c, k)
				if err != nil {
					return err
				}
				if clash != nil {
					return t.NotUnique(clash, c, k)
				}
			}
			if err := a.i.RT.Admit(ctx, jobsOf([]catalog.ID{rel.Job()})); err != nil {
				return err
			}
			last, err = x.Fill(a.i.RT)
			return err
		})
		return last, err
	}
	old := a.i.Catalog().RelationByID(rel.ID)
	reps := append([]Replacement{{Old: old, New: rel, fill: fill, cat: cat}}, readers...)
	return a.i.replaceWith(ctx, reps, gone, watch, also, func(rel *catalog.Relation) error { return a.replaced(rel) })
}

// MoveCounter lets the counter of the hidden column of a table go on in another column, after at least so many values.
func (a *Altering) MoveCounter(ctx context.Context, rel *catalog.Relation, from, to int, least int64) error {
	if a.b != nil && a.b.temp {
		return nil // rewrite counts
	}
	next := least + 1
	if s := a.t.Sequence(from); from >= 0 && s != nil {
		v, err := s.Take(1)
		if err != nil {
			return a.i.explain(err)
		}
		next = max(next, v)
	}
	s, err := a.i.seqs.Open(rel, to)
	if err == nil {
		err = s.Set(next)
	}
	return a.i.Explain(err)
}
