package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// Definitions in a transaction block, step by step:
//
//  1. The first one takes the lock for changes of the catalog, until the transaction ends, and a catalog of its own, which is the
//     one that everybody has with what the transaction has defined. Nobody else knows it.
//  2. A table that is created is private (table.Private): its rows are changes of the transaction. Indexes and views are only noted.
//     What changes an existing table has it alone. Where that needs something in the running graph (the index of a new foreign key of an
//     existing table), it is made at once, and taken back if the transaction does not commit.
//  3. At the commit the jobs of what is new are deployed; what they read of existing relations, they read now, and a checkpoint
//     has it. No catalog knows them yet: what a crash leaves of them, the next start deletes.
//  4. One record of the log has the rows that the transaction has written and its catalog (table.CommitDefinitions). With it everything has
//     come to be, and without it nothing. The next checkpoint has the catalog too. A start takes the newest of the
//     catalogs that the checkpoint and the log behind it have.
//  5. What was dropped is taken out of the graph.

// Block is the definitions of a transaction.
type Block struct {
	i *Incarnation
	x *table.Tx
	// base is the catalog that everybody has, cat that of the transaction.
	base, cat *catalog.Catalog
	// tables are those that are new, or have another definition.
	tables map[catalog.ID]*table.Table
	undo   []func()
	// renewed are other definitions of existing tables, which are everybody's with the commit.
	renewed []*table.Pending
	// drop are arrangements that go with the commit, and unforce takes foreign keys of dropped tables out of force then.
	drop    []storage.TableID
	unforce []func()
	unlock  func()
	done    bool
	// temp: it has the temporary objects of a session, which are in no other catalog; start are those that it began with.
	temp  bool
	start *catalog.Catalog
	// stored: something was put into the running graph that the log does not have.
	stored bool
	// idle are sources that nobody reads after the commit.
	idle []flow.JobID
}

// Block begins the definitions of a transaction. ctx ends with the statement.
func (i *Incarnation) Block(ctx context.Context, x *table.Tx) (*Block, error) {
	// What needs a checkpoint waits for regions that are being restarted when it comes to that.
	unlock, err := i.LockDefinitions(ctx, x, true)
	if err != nil {
		return nil, err
	}
	base := i.Catalog()
	b := &Block{i: i, x: x, base: base, tables: map[catalog.ID]*table.Table{}, unlock: unlock}
	b.set(base.Clone())
	return b, nil
}

// LockDefinitions is LockDDL for a transaction: a circle of transactions that wait for it and for each other is found. The end of the transaction
// gives back its part of it. Who waits for regions that are being restarted has nothing that others wait for.
func (i *Incarnation) LockDefinitions(ctx context.Context, x *table.Tx, alone bool) (unlock func(), err error) {
	for {
		if !alone {
			if err := i.awaitRegions(ctx); err != nil {
				return nil, err
			}
		}
		if err := x.LockDefinitions(ctx, i.locks); err != nil {
			return nil, i.Explain(err)
		}
		unlock, err := i.LockDDL(ctx, true)
		if err != nil {
			x.UnlockDefinitions()
			return nil, err
		}
		if alone || !i.restarting() {
			return unlock, nil
		}
		unlock()
		x.UnlockDefinitions()
	}
}

// set makes a catalog the transaction's. No two catalogs have the same version.
func (b *Block) set(c *catalog.Catalog) {
	c.Version = 1<<63 | uint64(b.i.e.blocks.Add(1))
	b.cat = c
}

// Catalog is that of the transaction.
func (b *Block) Catalog() *catalog.Catalog { return b.cat }

// Table gives a table as the transaction sees it, nil if it does not see it.
func (b *Block) Table(id catalog.ID) *table.Table {
	if t := b.tables[id]; t != nil {
		return t
	}
	if b.cat.RelationByID(id) == nil {
		return nil
	}
	return b.i.Table(id)
}

// New tells whether the transaction has created a relation.
func (b *Block) New(id catalog.ID) bool {
	if b.temp {
		r := b.cat.RelationByID(id)
		return r != nil && r.Temp
	}
	return b.base.RelationByID(id) == nil && b.cat.RelationByID(id) != nil
}

// Base gives a relation as everybody has it, nil if the transaction has created it.
func (b *Block) Base(id catalog.ID) *catalog.Relation { return b.base.RelationByID(id) }

// Change changes the catalog of the transaction.
func (b *Block) Change(_ context.Context, change func(*catalog.Catalog)) error {
	c := b.cat.Clone()
	change(c)
	b.set(c)
	return nil
}

// Mark is a state of definitions to go back to.
type Mark struct {
	cat           *catalog.Catalog
	undo, renewed int
	drop, unforce int
	tables        map[catalog.ID]*table.Table
}

// Mark remembers the present definitions; of a nil Block, that there are none.
func (b *Block) Mark() Mark {
	if b == nil {
		return Mark{}
	}
	return Mark{b.cat, len(b.undo), len(b.renewed), len(b.drop), len(b.unforce), maps.Clone(b.tables)}
}

// Back goes back to a mark. What the transaction has written is restored after it.
func (b *Block) Back(m Mark) {
	if b == nil {
		return
	}
	for len(b.undo) > m.undo {
		last := len(b.undo) - 1
		f := b.undo[last]
		b.undo = b.undo[:last]
		f()
	}
	b.renewed, b.drop, b.unforce, b.tables = b.renewed[:m.renewed], b.drop[:m.drop], b.unforce[:m.unforce], maps.Clone(m.tables)
	if b.tables == nil {
		b.tables = map[catalog.ID]*table.Table{}
	}
	if b.cat = m.cat; b.temp {
		if b.cat == nil {
			b.cat = b.start
		}
		b.base = nil
	} else if b.cat == nil {
		b.set(b.base.Clone())
	}
}

// End takes everything back that was not committed, and lets others change the catalog. It is called before the locks of the transaction are
// released, and may be called again.
func (b *Block) End() {
	if b == nil || b.done {
		return
	}
	b.done = true
	if b.temp {
		b.Back(Mark{tables: b.tables})
		return
	}
	made := false
	for id, r := range b.cat.Relations {
		made = made || b.New(id) && (r.Seq != nil || r.Kind == catalog.Table)
	}
	b.Back(Mark{})
	if made && b.i.Ctx.Err() == nil {
		// Their sequences may have been used.
		cat := b.i.Catalog()
		if err := b.i.seqs.Retain(func(id catalog.ID) bool { return cat.RelationByID(id) != nil }); err != nil {
			b.i.e.cfg.Logger.Warn("sequences of dropped tables stay", "event", "sequences_stay", "error", err)
		}
	}
	b.unlock()
}

// OnUndo lets f be called if what the transaction has defined since now comes to nothing.
func (b *Block) OnUndo(f func()) { b.undo = append(b.undo, f) }

// AddTable creates a table, see Incarnation.AddTable; src must be nil.
func (b *Block) AddTable(ctx context.Context, rel *catalog.Relation, src exec.Source, also ...func(*catalog.Catalog)) error {
	if src != nil {
		return notInBlock("CREATE TABLE with a connector")
	}
	r := *rel
	t := table.Private(b.i.locks, &r)
	if b.temp {
		t.Count(1)
	} else if err := t.OpenSequences(b.i.seqs); err != nil {
		return b.i.explain(err)
	}
	cat := b.cat.Clone()
	cat.Put(&r)
	var fs []*table.ForeignKey
	for _, def := range r.ForeignKeys {
		f, err := b.i.foreignKeyIn(storage.Nowhere{}, cat, t, &r, def)
		if err != nil {
			return err
		}
		fs = append(fs, f)
	}
	if err := b.x.LockWhole(ctx, t); err != nil {
		return err
	}
	before := b.tables[r.ID]
	b.tables[r.ID] = t
	for _, f := range fs {
		f.Attach()
		if err := b.link(ctx, f); err != nil {
			b.tables[r.ID] = before
			return err
		}
	}
	if err := b.x.Reindex(t); err != nil {
		return err
	}
	return b.Change(ctx, func(c *catalog.Catalog) {
		c.Put(&r)
		for _, change := range also {
			change(c)
		}
	})
}

// link puts a foreign key into force.
func (b *Block) link(ctx context.Context, f *table.ForeignKey) error {
	parent := b.Table(f.Def.Ref)
	if parent == nil {
		return ErrRestarted
	}
	if err := b.x.LockWhole(ctx, parent); err != nil {
		return b.i.explain(err)
	}
	f.Link(parent)
	b.undo = append(b.undo, f.Unlink)
	return nil
}

func notInBlock(what string) error {
	return sqlerr.Newf(sqlerr.FeatureNotSupported, "%s inside a transaction block is not supported yet", what).
		WithHint("Run it outside of BEGIN and COMMIT.")
}

// AddQuery notes an index or a materialized view, which the commit makes.
func (b *Block) AddQuery(ctx context.Context, rel *catalog.Relation, _ *plan.Stream, _ func(Fill)) error {
	if rel.Kind != catalog.Index {
		return notInBlock("CREATE " + strings.ToUpper(kindName(rel.Kind)))
	}
	return b.Change(ctx, func(c *catalog.Catalog) { c.Put(rel) })
}

// lock takes a table for a definition. The transaction has it alone from then on.
func (b *Block) lock(ctx context.Context, ids ...catalog.ID) error {
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if t := b.Table(id); t != nil {
			if err := b.x.LockWhole(ctx, t); err != nil {
				return b.i.explain(err)
			}
		}
	}
	return nil
}

// EnforceUnique is Incarnation.EnforceUnique; the lock stays.
func (b *Block) EnforceUnique(ctx context.Context, cat *catalog.Catalog, ix *catalog.Relation) (func(keep bool), error) {
	rel, t := cat.RelationByID(ix.Parent), b.Table(ix.Parent)
	if rel == nil || t == nil {
		return nil, ErrRestarted
	}
	if err := b.lock(ctx, t.Rel.ID); err != nil {
		return nil, err
	}
	u, err := b.i.uniqueIndexIn(b.at(t), cat, rel, ix)
	if err != nil {
		return nil, err
	}
	mark := len(b.undo)
	if err := b.attach(ctx, t, u.Arr, func() { t.AddUnique(u) }, func(portion func([]storage.Change) error) error { return t.Fill(u, portion) }); err != nil {
		return nil, err
	}
	return func(keep bool) {
		if !keep {
			b.backTo(mark)
		}
	}, nil
}

// backTo takes back what was made since there were so many.
func (b *Block) backTo(mark int) {
	for len(b.undo) > mark {
		last := len(b.undo) - 1
		f := b.undo[last]
		b.undo = b.undo[:last]
		f()
	}
}

// at is where the arrangements of a table are.
func (b *Block) at(t *table.Table) table.Arrangements {
	if t.IsPrivate() {
		return storage.Nowhere{}
	}
	return b.i.Store
}

// attach adds an index to a table, with all rows that there are. attach adds it in memory, and fill gives the entries of stored rows.
func (b *Block) attach(ctx context.Context, t *table.Table, arr *storage.Arrangement, attach func(), fill func(func([]storage.Change) error) error) error {
	i := b.i
	if !t.IsPrivate() {
		job := flow.JobID(t.Rel.ID)
		if err := i.RT.AttachTable(job, arr); err != nil {
			return i.explain(err)
		}
		attach()
		b.stored = true
		mark := len(b.undo)
		b.undo = append(b.undo, func() {
			if i.Ctx.Err() != nil {
				return
			}
			i.detach(t, arr.ID())
			if err := i.RT.SaveLater(i.Ctx, flow.Save{Drop: []storage.TableID{arr.ID()}}); err != nil && i.Ctx.Err() == nil {
				i.e.cfg.Logger.Warn("what a failed definition leaves behind stays until the next start", "event", "definition_stays", "error", err)
			}
		})
		err := fill(i.portions(ctx, job))
		if err == nil {
			err = b.x.Reindex(t)
		}
		if err != nil {
			b.backTo(mark)
			_ = b.x.Reindex(t)
			return i.explain(err)
		}
		return nil
	}
	attach()
	if err := b.x.Reindex(t); err != nil {
		t.Detach(arr.ID())
		_ = b.x.Reindex(t)
		return err
	}
	b.undo = append(b.undo, func() { t.Detach(arr.ID()) })
	return nil
}

// AddForeignKey is Incarnation.AddForeignKey.
func (b *Block) AddForeignKey(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation) error {
	def := rel.ForeignKeys[len(rel.ForeignKeys)-1]
	if err := b.lock(ctx, rel.ID, def.Ref); err != nil {
		return err
	}
	child, parent := b.Table(rel.ID), b.Table(def.Ref)
	if child == nil || parent == nil {
		return ErrRestarted
	}
	f, err := b.i.foreignKeyIn(b.at(child), cat, child, rel, def)
	if err != nil {
		return err
	}
	mark := len(b.undo)
	if err := b.attach(ctx, child, f.Index(), f.Attach, f.Fill); err != nil {
		return err
	}
	if err = b.link(ctx, f); err == nil && !def.NotValid {
		err = b.i.Explain(b.x.ValidateOwn(ctx, f))
	}
	if err != nil {
		b.backTo(mark)
		_ = b.x.Reindex(child)
		return err
	}
	return b.Change(ctx, func(c *catalog.Catalog) { c.Put(rel) })
}

// foreign finds a foreign key of a table.
func (b *Block) foreign(rel, id catalog.ID) *table.ForeignKey {
	if t := b.Table(rel); t != nil {
		for _, f := range t.ForeignKeys() {
			if f.Def.ID == id {
				return f
			}
		}
	}
	return nil
}

// ValidateForeignKey is Incarnation.ValidateForeignKey.
func (b *Block) ValidateForeignKey(ctx context.Context, rel *catalog.Relation, id catalog.ID) error {
	f := b.foreign(rel.ID, id)
	if f == nil {
		return ErrRestarted
	}
	if err := b.lock(ctx, f.Child.Rel.ID, f.Parent.Rel.ID); err != nil {
		return err
	}
	if err := b.x.ValidateOwn(ctx, f); err != nil {
		return b.i.explain(err)
	}
	return b.Change(ctx, func(c *catalog.Catalog) { c.Put(rel) })
}

// DropForeignKeys is Incarnation.DropForeignKeys.
func (b *Block) DropForeignKeys(ctx context.Context, rel *catalog.Relation, ids ...catalog.ID) error {
	for _, id := range ids {
		f := b.foreign(rel.ID, id)
		if f == nil {
			return ErrRestarted
		}
		if err := b.lock(ctx, f.Child.Rel.ID, f.Parent.Rel.ID); err != nil {
			return err
		}
		b.release(f)
	}
	return b.Change(ctx, func(c *catalog.Catalog) { c.Put(rel) })
}

// release takes a foreign key out of force. Its index stays until the commit.
func (b *Block) release(f *table.ForeignKey) {
	parent := f.Parent
	f.Unlink()
	b.undo = append(b.undo, func() { f.Link(parent) })
	if child := f.Child; !child.IsPrivate() {
		arr := storage.TableID(f.Def.Table)
		b.drop = append(b.drop, arr)
		b.unforce = append(b.unforce, func() { b.i.detach(b.i.Table(child.Rel.ID), arr) })
	}
}

// Drop removes relations, see Incarnation.Drop.
func (b *Block) Drop(ctx context.Context, rels []*catalog.Relation, also ...func(*catalog.Catalog)) error {
	rels, kept := b.cat.Left(rels)
	gone := map[catalog.ID]bool{}
	var touched []catalog.ID
	for _, r := range rels {
		if !b.New(r.ID) && (r.Kind == catalog.Sink || r.HasConnector()) {
			return notInBlock("DROP of " + kindName(r.Kind) + " " + r.Name + ", which has a connector,")
		}
		gone[r.ID] = true
		touched = append(touched, r.ID)
		if r.Kind == catalog.Index && r.Index.Table != 0 {
			touched = append(touched, r.Parent)
		}
		for _, f := range r.ForeignKeys {
			touched = append(touched, f.Ref)
		}
		for _, f := range slices.Concat(b.cat.Referrers(r.ID), b.cat.Referrers(r.Parent)) {
			touched = append(touched, f.Table.ID)
		}
	}
	if err := b.lock(ctx, touched...); err != nil {
		return err
	}
	without := map[catalog.ID]map[catalog.ID]bool{}
	for _, r := range rels {
		of := b.Table(r.ID)
		if r.Kind == catalog.Index && r.Index.Table != 0 && !gone[r.Parent] {
			if of = b.Table(r.Parent); of != nil {
				b.dropUnique(of, storage.TableID(r.Index.Table))
			}
		}
		if of == nil {
			continue
		}
		if r.Kind == catalog.Table {
			for _, f := range slices.Clone(of.ForeignKeys()) {
				f.Unlink()
				parent := f.Parent
				b.undo = append(b.undo, func() { f.Link(parent) })
			}
			b.x.Forget(of)
		}
		for _, f := range slices.Clone(of.Referrers()) {
			if gone[f.Child.Rel.ID] || r.Kind == catalog.Index && f.Target() != storage.TableID(r.Index.Table) {
				continue
			}
			b.release(f)
			if without[f.Child.Rel.ID] == nil {
				without[f.Child.Rel.ID] = map[catalog.ID]bool{}
			}
			without[f.Child.Rel.ID][f.Def.ID] = true
		}
	}
	return b.Change(ctx, func(c *catalog.Catalog) {
		for id, keys := range without {
			if child := c.Relations[id]; child != nil {
				n := *child
				n.ForeignKeys = slices.DeleteFunc(slices.Clone(n.ForeignKeys), func(k catalog.ForeignKey) bool { return keys[k.ID] })
				c.Put(&n)
			}
		}
		for _, r := range rels {
			c.Remove(r.ID)
		}
		for _, r := range kept {
			c.Put(r.Unnamed(r.ID))
		}
		for _, change := range also {
			change(c)
		}
	})
}

// dropUnique takes a unique index from a table: that of the transaction at once, that of the others with the commit.
func (b *Block) dropUnique(t *table.Table, arr storage.TableID) {
	if t.IsPrivate() {
		x := t.Withdraw(arr)
		_ = b.x.Reindex(t)
		b.undo = append(b.undo, x)
		return
	}
	b.drop = append(b.drop, arr)
	b.unforce = append(b.unforce, func() { b.i.detach(b.i.Table(t.Rel.ID), arr) })
	b.undo = append(b.undo, t.Suspend(arr))
}

// Alter takes a table alone, see Incarnation.Alter.
func (b *Block) Alter(ctx context.Context, rel *catalog.Relation) (*Altering, error) {
	touched := []catalog.ID{rel.ID}
	for _, f := range rel.ForeignKeys {
		touched = append(touched, f.Ref)
	}
	for _, f := range b.cat.Referrers(rel.ID) {
		touched = append(touched, f.Table.ID)
	}
	if err := b.lock(ctx, touched...); err != nil {
		return nil, err
	}
	t := b.Table(rel.ID)
	if t == nil {
		return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", rel.Name)
	}
	return &Altering{i: b.i, t: t, locks: table.NewTx(), b: b}, nil
}

// define is Altering.Define in a block.
func (b *Block) define(ctx context.Context, t *table.Table, rel *catalog.Relation, change func(*catalog.Catalog)) error {
	cat := b.cat.Clone()
	change(cat)
	to := table.Renewal{Rel: rel}
	for _, ix := range cat.Indexes(rel.ID) {
		if ix.Index.Table == 0 {
			continue
		}
		u, err := b.i.uniqueIndexIn(b.at(t), cat, rel, ix)
		if err != nil {
			return b.i.explain(err)
		}
		to.Unique = append(to.Unique, u)
	}
	for _, f := range cat.Referrers(rel.ID) {
		to.Referrers = append(to.Referrers, *f.Key)
	}
	p := b.x.RenewFor(t, to)
	b.tables[rel.ID] = p.Table()
	b.renewed = append(b.renewed, p)
	b.undo = append(b.undo, func() { p.Undo(b.x) })
	return b.Change(ctx, change)
}
