package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// openTable makes the storage side of a table with everything that it enforces. Its foreign keys are in force after linkAll.
func (i *Incarnation) openTable(cat *catalog.Catalog, rel *catalog.Relation) (*table.Table, error) {
	t := table.New(i.Store, i.locks, rel)
	for _, ix := range cat.Indexes(rel.ID) {
		if ix.Index.Table == 0 {
			continue
		}
		u, err := i.uniqueIndex(cat, rel, ix)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", ix.Name, err)
		}
		t.AddUnique(u)
	}
	fs, err := i.foreignKeys(cat, t)
	if err != nil {
		return nil, err
	}
	for _, f := range fs {
		f.Attach()
		i.mu.Lock()
		i.unlinked = append(i.unlinked, f)
		i.mu.Unlock()
	}
	return t, nil
}

// linkAll puts the foreign keys of openTable into force; all tables are open, and nobody writes.
func (i *Incarnation) linkAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, f := range i.unlinked {
		if p := i.tables[f.Def.Ref]; p != nil {
			f.Link(p)
		}
	}
	i.unlinked = nil
}

// forgetLinks leaves the foreign keys out of force that openTable has made since linkAll.
func (i *Incarnation) forgetLinks() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unlinked = nil
}

// uniqueIndex makes what the table of a unique index enforces it with.
func (i *Incarnation) uniqueIndex(cat *catalog.Catalog, rel, ix *catalog.Relation) (table.UniqueIndex, error) {
	return i.uniqueIndexIn(i.Store, cat, rel, ix)
}

// uniqueIndexIn is uniqueIndex with its arrangement somewhere.
func (i *Incarnation) uniqueIndexIn(at table.Arrangements, cat *catalog.Catalog, rel, ix *catalog.Relation) (table.UniqueIndex, error) {
	def := ix.Index
	u := table.UniqueIndex{
		Name: ix.Name, Arr: at.Arrangement(storage.TableID(def.Table)), NullsEqual: def.NullsNotDistinct,
	}
	plain := def.Where == ""
	for _, c := range def.Columns {
		plain = plain && c.Expr == ""
	}
	if plain {
		for _, c := range def.Columns {
			u.Cols, u.Names = append(u.Cols, rel.ColumnIndex(c.Column)), append(u.Names, parse.QuoteIdent(c.Column))
		}
		return u, nil
	}
	p := i.storedPlanner(cat, ix, time.Time{})
	bind := func(text string, want types.Type) (scalar.Expr, error) {
		x, err := parse.ParseExpr(text)
		if err != nil {
			return nil, err
		}
		return p.Expr(x, rel, want, "index expressions")
	}
	var exprs []scalar.Expr
	for n, c := range def.Columns {
		u.Cols = append(u.Cols, n)
		text := parse.QuoteIdent(c.Column)
		if c.Expr != "" {
			text = c.Expr
		}
		e, err := bind(text, types.T(types.Unknown))
		if err != nil {
			return u, err
		}
		exprs, u.Names = append(exprs, e), append(u.Names, indexName(text, c.Expr))
	}
	var where scalar.Expr
	if def.Where != "" {
		var err error
		if where, err = bind(def.Where, types.T(types.Bool)); err != nil {
			return u, err
		}
	}
	u.Values = i.values(exprs, where)
	return u, nil
}

// indexName is a column of an index as messages show it: a call as it is, other expressions in parentheses.
func indexName(text, expression string) string {
	if expression == "" {
		return text
	}
	x, err := parse.ParseExpr(expression)
	if err != nil {
		return text
	}
	out := parse.DeparseExpr(x)
	if _, ok := x.(*ast.Func); ok {
		return out
	}
	return "(" + out + ")"
}

// values makes the Values of expressions over a table, with a condition or nil.
func (i *Incarnation) values(exprs []scalar.Expr, where scalar.Expr) table.Values {
	type compiled struct {
		evals []*expr.Evaluator
		where *expr.Evaluator
		row   *vec.Chunk
	}
	env := &exec.Env{Location: time.UTC, Database: "weir", Types: userTypes{i}}
	var pool sync.Pool
	compile := func() (*compiled, error) {
		c := &compiled{}
		for _, e := range exprs {
			ev, err := expr.Compile(e, env)
			if err != nil {
				return nil, err
			}
			c.evals = append(c.evals, ev)
		}
		if where != nil {
			var err error
			if c.where, err = expr.Compile(where, env); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
	return func(rows *vec.Chunk, at int) (*vec.Chunk, bool, error) {
		c, _ := pool.Get().(*compiled)
		if c == nil {
			var err error
			if c, err = compile(); err != nil {
				return nil, false, err
			}
			c.row = vec.NewChunk(rows.Types(), 1)
		}
		defer pool.Put(c)
		c.row.Reset()
		c.row.AppendFromDiff(rows, at, 1)
		ctx := &expr.EvalContext{Env: env, RowError: func(_ *vec.Chunk, _ int, err error) error { return err }}
		if c.where != nil {
			v, err := c.where.Eval(ctx, c.row)
			if err != nil || v.Nulls.Get(0) || !v.Bool[0] {
				return nil, false, err
			}
		}
		out := &vec.Chunk{}
		for _, ev := range c.evals {
			v, err := ev.Eval(ctx, c.row)
			if err != nil {
				return nil, false, err
			}
			out.Cols = append(out.Cols, v.Clone())
		}
		out.SetLen(1)
		return out, true, nil
	}
}

// SameKey tells whether equal values of two types are the same in keys.
func SameKey(a, b types.Type) bool {
	family := func(k types.Kind) types.Kind {
		switch k {
		case types.Int2, types.Int4:
			return types.Int8
		case types.Varchar:
			return types.Text
		}
		return k
	}
	if a.Kind == types.Array && b.Kind == types.Array {
		return a.OID() == b.OID()
	}
	return family(a.Kind) == family(b.Kind)
}

// foreignKeys makes the foreign keys of a table, of which none is in force yet.
func (i *Incarnation) foreignKeys(cat *catalog.Catalog, t *table.Table) ([]*table.ForeignKey, error) {
	var fs []*table.ForeignKey
	for _, def := range t.Rel.ForeignKeys {
		f, err := i.foreignKey(cat, t, t.Rel, def)
		if err != nil {
			return nil, fmt.Errorf("foreign key %s: %w", def.Name, err)
		}
		fs = append(fs, f)
	}
	return fs, nil
}

// foreignKey makes a foreign key of a table; rel is the table as the catalog has it or will have it.
func (i *Incarnation) foreignKey(cat *catalog.Catalog, t *table.Table, rel *catalog.Relation, def catalog.ForeignKey) (*table.ForeignKey, error) {
	return i.foreignKeyIn(i.Store, cat, t, rel, def)
}

// foreignKeyIn is foreignKey with its arrangement somewhere.
func (i *Incarnation) foreignKeyIn(at table.Arrangements, cat *catalog.Catalog, t *table.Table, rel *catalog.Relation, def catalog.ForeignKey) (*table.ForeignKey, error) {
	parent := rel
	if def.Ref != rel.ID {
		if parent = cat.RelationByID(def.Ref); parent == nil {
			return nil, fmt.Errorf("its table %d is gone", def.Ref)
		}
	}
	cfg := table.ForeignKeyConfig{Def: def, Arr: at.Arrangement(storage.TableID(def.Table))}
	found := false
	for _, u := range parent.Uniques {
		if u.Name != def.Key {
			continue
		}
		found, cfg.Key = true, u.Columns
		if !u.Primary {
			cfg.Target = storage.TableID(parent.StateTables[table.UniqueStateName(u.Name)])
		}
	}
	for _, ix := range cat.Indexes(parent.ID) {
		if found || ix.Name != def.Key || ix.Index.Table == 0 {
			continue
		}
		found, cfg.Target = true, storage.TableID(ix.Index.Table)
		for _, c := range ix.Index.Columns {
			cfg.Key = append(cfg.Key, parent.ColumnIndex(c.Column))
		}
	}
	if !found {
		return nil, fmt.Errorf("table %s has no unique key %s", parent.Name, def.Key)
	}
	keys, values := true, true
	for n, c := range def.Columns {
		x, y := rel.Columns[c].Type, parent.Columns[def.RefColumns[n]].Type
		keys, values = keys && SameKey(x, y), values && x == y
	}
	var err error
	if !keys {
		// Without lengths: a value that is too long for one is equal to none, and is not cut.
		if cfg.Convert, err = i.conversion(cat, rel, def.Columns, parent, def.RefColumns, false); err != nil {
			return nil, err
		}
	}
	if !values {
		if cfg.Back, err = i.conversion(cat, parent, def.RefColumns, rel, def.Columns, true); err != nil {
			return nil, err
		}
	}
	return t.NewForeignKey(cfg), nil
}

// conversion gives columns of one table in the types of columns of another, with or without their modifiers.
func (i *Incarnation) conversion(cat *catalog.Catalog, from *catalog.Relation, cols []int, to *catalog.Relation, as []int, modified bool) (table.Values, error) {
	p := i.storedPlanner(cat, &catalog.Relation{}, time.Time{})
	plain := &catalog.Relation{Name: from.Name, Schema: from.Schema, Kind: catalog.Table}
	for n, c := range from.Columns {
		plain.Columns = append(plain.Columns, catalog.Column{Name: fmt.Sprintf("c%d", n), Type: c.Type})
	}
	var exprs []scalar.Expr
	for n, c := range cols {
		want := to.Columns[as[n]].Type
		if !modified {
			want.Mod = -1
		}
		x, err := p.Expr(&ast.ColumnRef{Parts: []string{plain.Columns[c].Name}}, plain, want, "DEFAULT expressions")
		if err != nil {
			return nil, err
		}
		exprs = append(exprs, x)
	}
	return i.values(exprs, nil), nil
}

// EnforceUnique makes the table of a new unique index enforce it; nothing of the index is in the catalog yet. The error is SQLSTATE
// 23505 if rows of the table have the same values. Until end is called, nobody else writes to the table; keep tells
// whether the index has come to be.
func (i *Incarnation) EnforceUnique(ctx context.Context, cat *catalog.Catalog, ix *catalog.Relation) (end func(keep bool), err error) {
	rel, t := cat.RelationByID(ix.Parent), i.Table(ix.Parent)
	if rel == nil || t == nil {
		return nil, ErrRestarted
	}
	u, err := i.uniqueIndex(cat, rel, ix)
	if err != nil {
		return nil, err
	}
	locks := table.NewTx()
	if err := locks.LockWhole(ctx, t); err != nil {
		locks.Release()
		return nil, i.explain(err)
	}
	job := flow.JobID(rel.ID)
	if err := i.RT.AttachTable(job, u.Arr); err != nil {
		locks.Release()
		return nil, i.explain(err)
	}
	t.AddUnique(u)
	end = func(keep bool) {
		defer locks.Release()
		if keep || i.Ctx.Err() != nil {
			return
		}
		i.detach(t, u.Arr.ID())
		if err := i.RT.SaveLater(i.Ctx, flow.Save{Drop: []storage.TableID{u.Arr.ID()}}); err != nil && i.Ctx.Err() == nil {
			i.e.cfg.Logger.Warn("what a failed definition leaves behind stays until the next start", "event", "definition_stays", "error", err)
		}
	}
	if err := t.Fill(u, i.portions(ctx, job)); err != nil {
		end(false)
		return nil, i.explain(err)
	}
	return end, nil
}

// portions puts entries into the arrangement that was attached last to a table, and lets the dataflow follow.
func (i *Incarnation) portions(ctx context.Context, job flow.JobID) func([]storage.Change) error {
	return func(cs []storage.Change) error {
		e, err := i.RT.FillTable(job, cs)
		if err != nil {
			return err
		}
		return i.RT.Wait(ctx, e)
	}
}

// detach takes an index from a table, of which the caller has the lock.
func (i *Incarnation) detach(t *table.Table, arr storage.TableID) {
	if n := t.Detach(arr); n > 0 {
		i.RT.DetachTable(flow.JobID(t.Rel.ID), n)
	}
}

// AddForeignKey adds a foreign key to a table: the last of those of rel, which takes the table's place in the catalog. Unless it is not to be validated, rows that
// reference nothing are an error, SQLSTATE 23503.
func (i *Incarnation) AddForeignKey(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation) error {
	def := rel.ForeignKeys[len(rel.ForeignKeys)-1]
	child, parent := i.Table(rel.ID), i.Table(def.Ref)
	if child == nil || parent == nil {
		return ErrRestarted
	}
	f, err := i.foreignKey(cat, child, rel, def)
	if err != nil {
		return err
	}
	locks := table.NewTx()
	defer locks.Release()
	if err := i.lockBoth(ctx, locks, child, parent); err != nil {
		return err
	}
	job, arr := flow.JobID(rel.ID), storage.TableID(def.Table)
	if err := i.RT.AttachTable(job, i.Store.Arrangement(arr)); err != nil {
		return i.explain(err)
	}
	f.Attach()
	undo := func(err error) error {
		if i.Ctx.Err() != nil {
			return i.explain(err)
		}
		i.detach(child, arr)
		if late := i.RT.SaveLater(i.Ctx, flow.Save{Drop: []storage.TableID{arr}}); late != nil && i.Ctx.Err() == nil {
			i.e.cfg.Logger.Warn("what a failed definition leaves behind stays until the next start", "event", "definition_stays", "error", late)
		}
		return err
	}
	if err := f.Fill(i.portions(ctx, job)); err != nil {
		return undo(err)
	}
	f.Link(parent)
	if !def.NotValid {
		err = locks.Validate(ctx, f)
	}
	if err == nil {
		err = i.save(ctx, nil, func(c *catalog.Catalog) { c.Put(rel) })
	}
	if err != nil {
		f.Unlink()
		return undo(err)
	}
	return nil
}

// lockParents takes the tables that a new table references.
func (i *Incarnation) lockParents(ctx context.Context, x *table.Tx, t *table.Table) error {
	var ts []*table.Table
	for _, f := range t.Rel.ForeignKeys {
		if p := i.Table(f.Ref); p != nil && !slices.Contains(ts, p) {
			ts = append(ts, p)
		}
	}
	return i.lockBoth(ctx, x, ts...)
}

// lockBoth takes the two tables of a foreign key, in the order of their ids.
func (i *Incarnation) lockBoth(ctx context.Context, x *table.Tx, ts ...*table.Table) error {
	slices.SortFunc(ts, func(a, b *table.Table) int { return int(a.Rel.ID) - int(b.Rel.ID) })
	for _, t := range ts {
		if err := x.LockWhole(ctx, t); err != nil {
			return i.explain(err)
		}
	}
	return nil
}

// save makes a change of the catalog durable with a checkpoint, and publishes it.
func (i *Incarnation) save(ctx context.Context, drop []storage.TableID, change func(c *catalog.Catalog)) error {
	c := i.edit(change)
	op, err := encodeCatalog(c)
	if err != nil {
		return err
	}
	if err := i.RT.Save(ctx, flow.Save{Meta: []storage.MetaOp{op}, Drop: drop}); err != nil {
		return i.explain(err)
	}
	i.publishCatalog(c)
	return nil
}

// ValidateForeignKey checks all rows of a foreign key that was NOT VALID; rel takes the place of its table in the catalog.
func (i *Incarnation) ValidateForeignKey(ctx context.Context, rel *catalog.Relation, id catalog.ID) error {
	f := i.foreign(rel.ID, id)
	if f == nil {
		return ErrRestarted
	}
	locks := table.NewTx()
	defer locks.Release()
	if err := i.lockBoth(ctx, locks, f.Child, f.Parent); err != nil {
		return err
	}
	if err := locks.Validate(ctx, f); err != nil {
		return i.explain(err)
	}
	return i.Change(ctx, func(c *catalog.Catalog) { c.Put(rel) })
}

// foreign finds a foreign key of an open table.
func (i *Incarnation) foreign(rel, id catalog.ID) *table.ForeignKey {
	if t := i.Table(rel); t != nil {
		for _, f := range t.ForeignKeys() {
			if f.Def.ID == id {
				return f
			}
		}
	}
	return nil
}

// DropForeignKeys takes foreign keys away: rel takes the place of their table in the catalog.
func (i *Incarnation) DropForeignKeys(ctx context.Context, rel *catalog.Relation, ids ...catalog.ID) error {
	locks := table.NewTx()
	defer locks.Release()
	var drop []storage.TableID
	var fs []*table.ForeignKey
	ts := map[catalog.ID]*table.Table{}
	for _, id := range ids {
		f := i.foreign(rel.ID, id)
		if f == nil {
			return ErrRestarted
		}
		fs, drop = append(fs, f), append(drop, storage.TableID(f.Def.Table))
		ts[f.Child.Rel.ID], ts[f.Parent.Rel.ID] = f.Child, f.Parent
	}
	var all []*table.Table
	for _, t := range ts {
		all = append(all, t)
	}
	if err := i.lockBoth(ctx, locks, all...); err != nil {
		return err
	}
	// From here on it cannot be cancelled: what is not maintained any more must be gone.
	for _, f := range fs {
		f.Unlink()
		i.detach(f.Child, storage.TableID(f.Def.Table))
	}
	return i.save(i.Ctx, drop, func(c *catalog.Catalog) { c.Put(rel) })
}
