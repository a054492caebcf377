package engine

import (
	"maps"

	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
)

// Temporary objects are in no store and in no catalog but the session's: a Block that never commits has them during a transaction, and Temp between
// two. Their rows are changes that every transaction of the session begins with, so that a rollback and savepoints
// need nothing of their own, and the end of the session, or of the process, leaves nothing.

// Temp are the temporary objects of a session between two transactions.
type Temp struct {
	i      *Incarnation
	cat    *catalog.Catalog
	tables map[catalog.ID]*table.Table
	kept   table.Kept
}

// NewTemp makes an empty set of temporary objects in a schema.
func NewTemp(schema string, id catalog.ID) *Temp {
	c := catalog.New()
	c.TempSchema = schema
	c.Schemas = map[string]catalog.Schema{schema: {ID: id, Name: schema}}
	return &Temp{cat: c, tables: map[catalog.ID]*table.Table{}, kept: table.Kept{}}
}

// Temporary lets a transaction begin with temporary objects.
func (i *Incarnation) Temporary(x *table.Tx, from *Temp) (*Block, error) {
	b := &Block{i: i, x: x, temp: true, cat: from.cat, start: from.cat, tables: maps.Clone(from.tables)}
	if from.i != i {
		if err := b.open(from); err != nil {
			return nil, err
		}
		from.i, from.tables = i, maps.Clone(b.tables)
	}
	for _, t := range b.tables {
		x.Bring(from.kept, t)
	}
	return b, nil
}

// open makes the tables of temporary objects anew, in another incarnation.
func (b *Block) open(from *Temp) error {
	i := b.i
	b.tables = map[catalog.ID]*table.Table{}
	for _, r := range b.cat.Sorted() {
		if r.Kind != catalog.Table {
			continue
		}
		t := table.Private(i.locks, r)
		if old := from.tables[r.ID]; old != nil {
			t.Count(old.Counted())
		} else {
			t.Count(1)
		}
		for _, ix := range b.cat.Indexes(r.ID) {
			if ix.Index.Table == 0 {
				continue
			}
			u, err := i.uniqueIndexIn(b.at(t), b.cat, r, ix)
			if err != nil {
				return err
			}
			t.AddUnique(u)
		}
		b.tables[r.ID] = t
	}
	for _, r := range b.cat.Sorted() {
		for _, def := range r.ForeignKeys {
			t, parent := b.tables[r.ID], b.tables[def.Ref]
			if t == nil || parent == nil {
				continue
			}
			f, err := i.foreignKeyIn(b.at(t), b.cat, t, r, def)
			if err != nil {
				return err
			}
			f.Attach()
			f.Link(parent)
		}
	}
	return nil
}

// Over gives a catalog with the temporary objects.
func (b *Block) Over(base *catalog.Catalog) *catalog.Catalog {
	if b.base == base {
		return b.cat
	}
	c := base.Clone()
	c.TempSchema = b.cat.TempSchema
	c.Schemas[c.TempSchema] = b.cat.Schemas[c.TempSchema]
	for _, r := range b.cat.Sorted() {
		if r.Temp {
			c.Put(r)
		}
	}
	b.base = base
	b.set(c)
	return c
}

// Temps lists the temporary relations, what depends on others last.
func (b *Block) Temps() []*catalog.Relation {
	var out []*catalog.Relation
	for _, r := range b.cat.Sorted() {
		if r.Temp {
			out = append(out, r)
		}
	}
	return out
}

// Keep gives the temporary objects as the transaction leaves them at its commit.
func (b *Block) Keep() *Temp {
	n := NewTemp(b.cat.TempSchema, b.cat.Schemas[b.cat.TempSchema].ID)
	n.i = b.i
	gone := map[catalog.ID]bool{}
	for _, r := range b.Temps() {
		if r.OnCommit == "drop" || gone[r.Parent] || r.Seq != nil && gone[r.Seq.OwnedBy] {
			gone[r.ID] = true
			continue
		}
		if readsAny(r, gone) {
			gone[r.ID] = true
			continue
		}
		n.cat.Put(r)
		t := b.tables[r.ID]
		if t == nil {
			continue
		}
		n.tables[r.ID] = t
		if r.OnCommit != "delete rows" {
			b.x.Keep(n.kept, t)
		}
	}
	for id := range gone {
		if t := b.tables[id]; t != nil {
			for _, f := range append(append([]*table.ForeignKey{}, t.ForeignKeys()...), t.Referrers()...) {
				f.Unlink()
			}
		}
	}
	return n
}

func readsAny(r *catalog.Relation, gone map[catalog.ID]bool) bool {
	for _, d := range r.DependsOn {
		if gone[d] {
			return true
		}
	}
	return false
}

// Kept says that what Keep gave is the session's.
func (b *Block) Kept() { b.undo, b.done = nil, true }
