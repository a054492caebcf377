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

// rewrite is Altering.Rewrite of a table that the transaction has created.
func (b *Block) rewrite(
	ctx context.Context, t *table.Table, cat *catalog.Catalog, rel *catalog.Relation, convert func(*vec.Chunk) (*vec.Chunk, error), readers []Replacement,
	gone []*catalog.Relation, also []func(*catalog.Catalog),
) error {
	if !t.IsPrivate() {
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "ALTER TABLE that rewrites table %q, which is older than the transaction, inside a transaction block is not supported yet", rel.Name).
			WithHint("Run it outside of BEGIN and COMMIT.")
	}
	r := *rel
	r.RowsID, r.JobID = 0, 0
	cat = cat.Clone()
	cat.Put(&r)
	n := table.Private(b.i.locks, &r)
	if b.temp {
		n.Count(1)
	} else if err := n.OpenSequences(b.i.seqs); err != nil {
		return b.i.explain(err)
	}
	for _, ix := range cat.Indexes(r.ID) {
		if ix.Index.Table == 0 {
			continue
		}
		u, err := b.i.uniqueIndexIn(storage.Nowhere{}, cat, &r, ix)
		if err != nil {
			return b.i.explain(err)
		}
		n.AddUnique(u)
	}
	chunks, err := b.converted(ctx, t, convert)
	if err != nil {
		return err
	}
	if b.temp {
		rows := t.Counted()
		for _, c := range chunks {
			rows += int64(c.Len())
		}
		n.Count(rows + 1)
	}
	b.x.Forget(t)
	b.x.Become(t, n)
	b.tables[r.ID] = n
	b.undo = append(b.undo, func() {
		b.x.Forget(n)
		b.x.Become(n, t)
	})
	if err := b.relink(cat, t, n); err != nil {
		return err
	}
	for _, c := range chunks {
		for k := range c.Len() {
			clash, err := b.x.Insert(n, c, k)
			if err != nil {
				return err
			}
			if clash != nil {
				return n.NotUnique(clash, c, k)
			}
		}
	}
	b.x.Settle()
	return b.Change(ctx, func(c *catalog.Catalog) {
		for _, x := range gone {
			c.Remove(x.ID)
		}
		c.Put(&r)
		for _, x := range readers {
			q := *x.New
			q.RowsID, q.JobID = 0, 0
			c.Put(&q)
		}
		for _, change := range also {
			change(c)
		}
	})
}

// converted gives the rows of a table as convert makes them.
func (b *Block) converted(ctx context.Context, t *table.Table, convert func(*vec.Chunk) (*vec.Chunk, error)) (out []*vec.Chunk, err error) {
	a := &Altering{i: b.i, t: t, b: b}
	err = a.Scan(ctx, func(c *vec.Chunk) error {
		n, err := convert(c.Clone())
		if err == nil {
			out = append(out, n)
		}
		return err
	})
	return out, err
}

// relink puts the foreign keys of a private table, and those that reference it, into force between the table that takes its place and the
// others.
func (b *Block) relink(cat *catalog.Catalog, t, n *table.Table) error {
	for _, f := range slices.Clone(t.ForeignKeys()) {
		parent := f.Parent
		f.Unlink()
		b.undo = append(b.undo, func() { f.Link(parent) })
	}
	for _, def := range n.Rel.ForeignKeys {
		f, err := b.i.foreignKeyIn(storage.Nowhere{}, cat, n, n.Rel, def)
		if err != nil {
			return err
		}
		f.Attach()
		parent := b.Table(def.Ref)
		if parent == nil {
			return ErrRestarted
		}
		f.Link(parent)
		b.undo = append(b.undo, f.Unlink)
	}
	for _, f := range slices.Clone(t.Referrers()) {
		again, err := b.i.foreignKeyIn(b.at(f.Child), cat, f.Child, cat.RelationByID(f.Child.Rel.ID), f.Def)
		if err != nil {
			return err
		}
		before := *f
		f.Unlink()
		f.Retarget(again)
		f.Link(n)
		b.undo = append(b.undo, func() {
			f.Unlink()
			f.Retarget(&before)
			f.Link(t)
		})
	}
	return nil
}
