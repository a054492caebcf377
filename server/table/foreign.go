package table

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Foreign keys.
//
//  1. While a statement changes rows, the transaction notes an event for each row of a table with foreign keys or
//     referrers: a row came, went, or became another.
//  2. EndStatement goes through the events in order. For what went or became another it does what the foreign keys that
//     reference it say, which may add events; for what came it looks for the referenced row. Checks of
//     deferred constraints are kept until the commit.
//  3. Who writes a referencing row shares a lock of the referenced key until it ends, and who deletes or changes a referenced key
//     has that lock alone: so of two transactions, one that adds a reference and one that takes away its target, the
//     second waits, and sees what the first has done.
//
// Referencing rows are found by an index that each foreign key has, whose entries are the referenced key and
// then the key of the row. Rows that reference nothing, since one of their columns is NULL, are not in it.

// ForeignKey is a foreign key between two open tables.
type ForeignKey struct {
	Def    catalog.ForeignKey
	Child  *Table
	Parent *Table
	// target is the arrangement of the unique index in the parent, 0 for its key.
	target storage.TableID
	// convert gives the referencing values in the types of the referenced ones, nil if they are the same; back gives the
	// referenced values of a row of the parent in the types of the referencing ones. Both in the order of Def.
	convert, back Values
	index         *index
}

// ForeignKeyConfig says what NewForeignKey makes.
type ForeignKeyConfig struct {
	Def catalog.ForeignKey
	// Arr holds the index.
	Arr *storage.Arrangement
	// Target is the arrangement of the referenced unique index, 0 for the key of the table, and Key its columns, in its order.
	Target storage.TableID
	Key    []int
	// Convert gives the values of a row of the referencing table that Def.Columns are, in the types of Def.RefColumns, and Back those of a row of the
	// referenced table that Def.RefColumns are, in the types of Def.Columns; nil if nothing changes.
	Convert, Back Values
}

// NewForeignKey makes a foreign key of a table, which is not in force before Attach and Link.
func (t *Table) NewForeignKey(cfg ForeignKeyConfig) *ForeignKey {
	f := &ForeignKey{Def: cfg.Def, Child: t, target: cfg.Target, convert: cfg.Convert, back: cfg.Back}
	f.index = &index{name: cfg.Def.Name, arr: cfg.Arr, multi: true, values: cfg.Convert}
	for _, k := range cfg.Key {
		at := slices.Index(cfg.Def.RefColumns, k)
		if cfg.Convert == nil {
			at = cfg.Def.Columns[at]
		}
		f.index.keys = append(f.index.keys, vec.SortKey{Col: at})
	}
	return f
}

// Attach adds the index of a foreign key to its table. The caller has the exclusive lock, or nobody knows the table yet.
func (f *ForeignKey) Attach() { f.Child.attach(f.index) }

// Index is the arrangement of the index of a foreign key.
func (f *ForeignKey) Index() *storage.Arrangement { return f.index.arr }

// Fill is Table.Fill for the index of a foreign key.
func (f *ForeignKey) Fill(portion func([]storage.Change) error) error {
	return f.Child.fill(f.index, portion)
}

// Link puts a foreign key into force. The caller has both tables alone, as LockWhole gives them, or nobody knows them yet.
func (f *ForeignKey) Link(parent *Table) {
	f.Parent = parent
	f.Child.foreign = inOrder(f.Child.foreign, f)
	parent.referrers = inOrder(parent.referrers, f)
}

// Retarget lets a foreign key that is not in force find its referenced rows where another one does.
func (f *ForeignKey) Retarget(as *ForeignKey) {
	f.target, f.convert, f.back = as.target, as.convert, as.back
}

// Unlink takes a foreign key out of force, but for its index. The caller has both tables alone.
func (f *ForeignKey) Unlink() {
	f.Child.foreign = slices.DeleteFunc(slices.Clone(f.Child.foreign), func(g *ForeignKey) bool { return g == f })
	f.Parent.referrers = slices.DeleteFunc(slices.Clone(f.Parent.referrers), func(g *ForeignKey) bool { return g == f })
}

// redefine takes the definition of a foreign key from a list: its names may be others.
func (f *ForeignKey) redefine(defs []catalog.ForeignKey) {
	for _, def := range defs {
		if def.ID == f.Def.ID {
			f.Def = def
		}
	}
}

// Target is the arrangement of the unique index that is referenced, 0 for the key of the table.
func (f *ForeignKey) Target() storage.TableID { return f.target }

// ForeignKeys lists the foreign keys of a table, and Referrers those that reference it. The caller has a lock, or the lock
// for definitions.
func (t *Table) ForeignKeys() []*ForeignKey { return t.foreign }

// Referrers lists the foreign keys that reference the table; see ForeignKeys.
func (t *Table) Referrers() []*ForeignKey { return t.referrers }

// inOrder adds f to a list that is in the order of creation, which is that in which they are checked.
func inOrder(fs []*ForeignKey, f *ForeignKey) []*ForeignKey {
	fs = append(slices.Clone(fs), f)
	slices.SortFunc(fs, func(a, b *ForeignKey) int { return int(a.Def.ID) - int(b.Def.ID) })
	return fs
}

// Rules completes the rows that referential actions write.
type Rules interface {
	// Complete gives rows of a table with their generated columns, and tests NOT NULL and CHECK.
	Complete(t *Table, rows *vec.Chunk) (*vec.Chunk, error)
	// Default gives the default of a column.
	Default(t *Table, col int) (types.Datum, error)
}

// foreignTx is what a transaction has to do for foreign keys.
type foreignTx struct {
	// events are those of the statement that is running.
	events []event
	// gone finds events by the row that went.
	gone map[rowName]int
	// deferred are checks for the commit.
	deferred []check
	// modes are what SET CONSTRAINTS has said of a constraint (true: deferred); mode of all others, nil for nothing.
	modes map[catalog.ID]bool
	mode  *bool
}

type rowName struct {
	t   *Table
	key string
}

// event is a change of a row: old is nil if it came, new if it went.
type event struct {
	t        *Table
	key      string // that of new
	old, new []byte
}

// check is that of a referencing row, or of a referenced key that is gone.
type check struct {
	f *ForeignKey
	// row is the key of the referencing row, or "".
	row string
	// key is the referenced key; text is how it shows.
	key  []byte
	text []string
}

func (s *foreignTx) saved() foreignTx {
	return foreignTx{
		events: slices.Clip(s.events), gone: maps.Clone(s.gone), deferred: slices.Clip(s.deferred), modes: maps.Clone(s.modes), mode: s.mode,
	}
}

// went notes that a row is gone.
func (x *Tx) went(t *Table, key string, old []byte) {
	if len(t.foreign) == 0 && len(t.referrers) == 0 {
		return
	}
	if x.gone == nil {
		x.gone = map[rowName]int{}
	}
	x.gone[rowName{t, key}] = len(x.events)
	x.events = append(x.events, event{t: t, old: old})
}

// came notes that a row has come, in place of the one with key old if that is not nil.
func (x *Tx) came(t *Table, old []byte, key string, row []byte) {
	if len(t.foreign) == 0 && len(t.referrers) == 0 {
		return
	}
	if old != nil {
		if at, ok := x.gone[rowName{t, string(old)}]; ok && x.events[at].new == nil {
			x.events[at].key, x.events[at].new = key, row
			return
		}
	}
	if len(t.foreign) > 0 {
		x.events = append(x.events, event{t: t, key: key, new: row})
	}
}

// EndStatement does what foreign keys ask for after a statement has changed rows.
func (x *Tx) EndStatement(ctx context.Context, rules Rules) error {
	for n := 0; n < len(x.events); n++ {
		e := x.events[n]
		if e.old != nil {
			for _, f := range e.t.referrers {
				if err := x.referenced(ctx, f, e, rules); err != nil {
					return err
				}
			}
		}
		if e.new != nil {
			for _, f := range e.t.foreign {
				if err := x.referencing(ctx, f, e); err != nil {
					return err
				}
			}
		}
		x.events[n] = event{}
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	x.events, x.gone = nil, nil
	return nil
}

// EndTransaction makes the checks that were deferred.
func (x *Tx) EndTransaction(ctx context.Context, rules Rules) error {
	if err := x.EndStatement(ctx, rules); err != nil {
		return err
	}
	for _, c := range x.deferred {
		if err := x.check(ctx, c); err != nil {
			return err
		}
	}
	x.deferred = nil
	return nil
}

// SetConstraints says when foreign keys are checked in the rest of the transaction: those with the ids, nil for all. What was
// deferred and is not any more is checked now.
func (x *Tx) SetConstraints(ctx context.Context, ids map[catalog.ID]bool, deferred bool) error {
	if !deferred {
		var rest []check
		for _, c := range x.deferred {
			if ids != nil && !ids[c.f.Def.ID] {
				rest = append(rest, c)
				continue
			}
			if err := x.check(ctx, c); err != nil {
				return err
			}
		}
		x.deferred = rest
	}
	if ids == nil {
		x.modes, x.mode = nil, &deferred
		return nil
	}
	x.modes = maps.Clone(x.modes)
	if x.modes == nil {
		x.modes = map[catalog.ID]bool{}
	}
	for id := range ids {
		x.modes[id] = deferred
	}
	return nil
}

func (x *Tx) defers(f *ForeignKey) bool {
	if !f.Def.Deferrable {
		return false
	}
	if d, ok := x.modes[f.Def.ID]; ok {
		return d
	}
	if x.mode != nil {
		return *x.mode
	}
	return f.Def.Deferred
}

func (x *Tx) check(ctx context.Context, c check) error {
	if c.row == "" {
		return x.unreferenced(ctx, c.f, c.key, c.text, true)
	}
	r, err := x.table(c.f.Child).get(c.row)
	if err != nil || r.New == nil {
		return err
	}
	return x.hasTarget(ctx, c.f, r.New)
}

// decoded gives a row of a table as a chunk.
func (t *Table) decoded(row []byte) (*vec.Chunk, error) {
	c := vec.NewChunk(t.types, 1)
	return c, t.Decode(c, row, 1)
}

// referencing checks a row that has come.
func (x *Tx) referencing(ctx context.Context, f *ForeignKey, e event) error {
	later := x.defers(f)
	if e.old != nil && !later {
		same, err := f.sameReference(e)
		if err != nil || same {
			return err
		}
	}
	if later {
		x.deferred = append(x.deferred, check{f: f, row: e.key})
		return nil
	}
	// A later event may have changed it again, and then it is that event's.
	r, err := x.table(f.Child).get(e.key)
	if err != nil || !bytes.Equal(r.New, e.new) {
		return err
	}
	return x.hasTarget(ctx, f, e.new)
}

// sameReference tells whether a row references what it referenced before.
func (f *ForeignKey) sameReference(e event) (bool, error) {
	old, err := f.Child.decoded(e.old)
	if err != nil {
		return false, err
	}
	fresh, err := f.Child.decoded(e.new)
	if err != nil {
		return false, err
	}
	for _, k := range f.Def.Columns {
		if old.Cols[k].IsNull(0) != fresh.Cols[k].IsNull(0) {
			return false, nil
		}
	}
	a, _, err := f.index.key(nil, old, 0)
	if err != nil {
		return false, err
	}
	b, ok, err := f.index.key(nil, fresh, 0)
	if !ok && err == nil {
		// Some are NULL: those that are not decide nothing, except with MATCH FULL, which refuses both.
		return true, nil
	}
	return bytes.Equal(a, b), err
}

// hasTarget checks that what a row references is there, and keeps it there until the transaction ends.
func (x *Tx) hasTarget(ctx context.Context, f *ForeignKey, row []byte) error {
	c, err := f.Child.decoded(row)
	if err != nil {
		return err
	}
	nulls := 0
	for _, k := range f.Def.Columns {
		if c.Cols[k].IsNull(0) {
			nulls++
		}
	}
	if nulls > 0 {
		if f.Def.MatchFull && nulls < len(f.Def.Columns) {
			return f.refuse(f.Child, "insert or update on table %q violates foreign key constraint %q", f.Child.Rel.Name, f.Def.Name).
				WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.")
		}
		return nil
	}
	key, _, err := f.index.key(nil, c, 0)
	if err != nil {
		return err
	}
	if err := x.shareParent(ctx, f, key); err != nil {
		return err
	}
	if err := x.lockReference(ctx, f, key, false); err != nil {
		return err
	}
	there, err := x.present(f, key)
	if err != nil || there {
		return err
	}
	var names, vals []string
	for _, k := range f.Def.Columns {
		names, vals = append(names, f.Child.Rel.Columns[k].Name), append(vals, f.Child.text(c.Cols[k], 0))
	}
	return f.refuse(f.Child, "insert or update on table %q violates foreign key constraint %q", f.Child.Rel.Name, f.Def.Name).
		WithDetail("Key (%s)=(%s) is not present in table %q.", strings.Join(names, ", "), strings.Join(vals, ", "), f.Parent.Rel.Name)
}

func (f *ForeignKey) refuse(t *Table, format string, args ...any) *sqlerr.Error {
	err := sqlerr.Newf(sqlerr.ForeignKeyViolation, format, args...)
	// PostgreSQL names the referencing table in both cases.
	err.Schema, err.Table, err.Constraint = t.Rel.Schema, t.Rel.Name, f.Def.Name
	return err
}

// shareParent locks the row that is referenced as FOR KEY SHARE does: who has it with FOR UPDATE is waited for. The lock of the reference
// is what keeps the key there, so after many rows this is left out.
func (x *Tx) shareParent(ctx context.Context, f *ForeignKey, key []byte) error {
	if f.Parent.marked() {
		return nil
	}
	tt := x.table(f.Parent)
	if tt.exclusive || len(tt.keys) >= manyKeys {
		return nil
	}
	if f.target != 0 {
		if tt.changes != f.Parent.changes {
			tt.renew()
		}
		owner, err := tt.owner(f.Parent.find(f.target), key)
		if err != nil || owner == "" {
			return err
		}
		key = []byte(owner)
	} else if r, err := tt.get(string(key)); err != nil || r.New == nil {
		return err
	}
	_, err := x.LockRow(ctx, f.Parent, key, KeyShare, Await)
	return err
}

// present tells whether the parent has a row with a key.
func (x *Tx) present(f *ForeignKey, key []byte) (bool, error) {
	tt := x.table(f.Parent)
	if f.target == 0 {
		r, err := tt.get(string(key))
		return r.New != nil, err
	}
	j := f.Parent.find(f.target)
	if tt.changes != f.Parent.changes {
		// It has changed nothing there, or it would have the table's lock.
		tt.renew()
	}
	owner, err := tt.owner(j, key)
	return owner != "", err
}

func (t *Table) find(arr storage.TableID) int {
	return slices.IndexFunc(t.indexes, func(x *index) bool { return x.arr.ID() == arr })
}

// targetKey gives the referenced key of a row of the parent, and false if nothing can reference it.
func (f *ForeignKey) targetKey(c *vec.Chunk) ([]byte, bool, error) {
	if f.target == 0 {
		return f.Parent.Key(nil, c, 0), true, nil
	}
	return f.Parent.indexes[f.Parent.find(f.target)].key(nil, c, 0)
}

// referenced does what a foreign key asks for when a row of the parent has gone or changed.
func (x *Tx) referenced(ctx context.Context, f *ForeignKey, e event, rules Rules) error {
	old, err := f.Parent.decoded(e.old)
	if err != nil {
		return err
	}
	key, ok, err := f.targetKey(old)
	if err != nil || !ok {
		return err
	}
	action := f.Def.OnDelete
	var fresh *vec.Chunk
	if e.new != nil {
		action = f.Def.OnUpdate
		if fresh, err = f.Parent.decoded(e.new); err != nil {
			return err
		}
		now, ok, err := f.targetKey(fresh)
		if err != nil || ok && bytes.Equal(now, key) {
			return err
		}
	}
	if err := x.lockReference(ctx, f, key, true); err != nil {
		return err
	}
	var text []string
	for _, k := range f.Def.RefColumns {
		text = append(text, f.Parent.text(old.Cols[k], 0))
	}
	switch action {
	case catalog.NoAction:
		if x.defers(f) {
			x.deferred = append(x.deferred, check{f: f, key: key, text: text})
			return nil
		}
		return x.unreferenced(ctx, f, key, text, true)
	case catalog.Restrict:
		return x.unreferenced(ctx, f, key, text, false)
	}
	if err := x.act(ctx, f, action, key, fresh, rules); err != nil {
		return err
	}
	if action == catalog.SetDefault {
		// The default may be what they had before.
		return x.unreferenced(ctx, f, key, text, true)
	}
	return nil
}

// unreferenced checks that nothing references a key that has gone; with another, it is enough that another row has it.
func (x *Tx) unreferenced(ctx context.Context, f *ForeignKey, key []byte, text []string, another bool) error {
	if another {
		there, err := x.present(f, key)
		if err != nil || there {
			return err
		}
	}
	// A reference that somebody is about to delete or to change must be waited for; a new one cannot come.
	tt := x.table(f.Child)
	had := tt.shared || tt.exclusive
	if err := x.Lock(ctx, f.Child, false); err != nil {
		return err
	}
	rows, err := x.references(f, key, 1)
	if err == nil && len(rows) == 0 && !had && tt.shared && !tt.changed() && !tt.held {
		x.unshare(tt)
	}
	for waited := ""; err == nil && len(rows) > 0 && rows[0] != waited; rows, err = x.references(f, key, 1) {
		waited = rows[0]
		if _, err := x.LockRow(ctx, f.Child, []byte(waited), Share, Await); err != nil {
			return err
		}
	}
	if err != nil || len(rows) == 0 {
		return err
	}
	var names []string
	for _, k := range f.Def.RefColumns {
		names = append(names, f.Parent.Rel.Columns[k].Name)
	}
	return f.refuse(f.Child, "update or delete on table %q violates foreign key constraint %q on table %q", f.Parent.Rel.Name, f.Def.Name, f.Child.Rel.Name).
		WithDetail("Key (%s)=(%s) is still referenced from table %q.", strings.Join(names, ", "), strings.Join(text, ", "), f.Child.Rel.Name)
}

// references gives the keys of rows that reference a key, most at most; 0: all.
func (x *Tx) references(f *ForeignKey, key []byte, most int) ([]string, error) {
	tt := x.table(f.Child)
	tt.spread()
	j := f.Child.find(f.index.arr.ID())
	end := after(key)
	var rows []string
	tt.entries[j].Ascend(string(key), func(k, row string) bool {
		if end != nil && k >= string(end) {
			return false
		}
		if row != "" {
			rows = append(rows, row)
		}
		return most == 0 || len(rows) < most
	})
	if most > 0 && len(rows) >= most {
		return rows, nil
	}
	err := f.index.arr.HeadScan(key, end, func(k, row []byte) error {
		if most > 0 && len(rows) >= most {
			return nil
		}
		if _, changed := tt.entries[j].Get(string(k)); !changed {
			rows = append(rows, string(row))
		}
		return nil
	})
	slices.Sort(rows)
	return rows, err
}

// after gives the smallest string that is greater than all that begin with key, nil if there is none.
func after(key []byte) []byte {
	end := slices.Clone(key)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// act deletes or changes the rows that reference a key. fresh is the row of the parent, nil if it has gone.
func (x *Tx) act(ctx context.Context, f *ForeignKey, action string, key []byte, fresh *vec.Chunk, rules Rules) error {
	t := f.Child
	if err := x.Lock(ctx, t, false); err != nil {
		return err
	}
	if t.Rel.AppendOnly {
		keys, err := x.references(f, key, 1)
		if err != nil || len(keys) == 0 {
			return err
		}
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot update or delete rows of append-only table %q", t.Rel.Name)
	}
	remove := action == catalog.Cascade && fresh == nil
	for {
		keys, old, rows, err := x.acted(f, action, key, fresh, rules)
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := x.LockRows(ctx, t, old, rows); err != nil {
			return err
		}
		// While it waited, they may have changed.
		again, now, _, err := x.acted(f, action, key, fresh, rules)
		if err != nil {
			return err
		}
		if !slices.Equal(keys, again) || !sameRows(old, now) {
			continue
		}
		for i := range keys {
			if _, err := x.Delete(t, old, i); err != nil {
				return err
			}
		}
		if remove {
			return nil
		}
		for i, k := range keys {
			clash, err := x.Replace(t, []byte(k), rows, i)
			if err != nil {
				return err
			}
			if clash != nil {
				return clash.Err
			}
		}
		return nil
	}
}

// acted gives the keys of the rows that reference a key, the rows, and what an action makes of them, nil if it deletes them.
func (x *Tx) acted(f *ForeignKey, action string, key []byte, fresh *vec.Chunk, rules Rules) (keys []string, old, rows *vec.Chunk, err error) {
	t := f.Child
	tt := x.table(t)
	if keys, err = x.references(f, key, 0); err != nil || len(keys) == 0 {
		return nil, nil, nil, err
	}
	old = vec.NewChunk(t.types, len(keys))
	for _, k := range keys {
		r, err := tt.get(k)
		if err != nil {
			return nil, nil, nil, err
		}
		if r.New == nil {
			// Its entry in the index was read a moment before it went.
			continue
		}
		if err := t.Decode(old, r.New, 1); err != nil {
			return nil, nil, nil, err
		}
	}
	if old.Len() < len(keys) {
		return x.acted(f, action, key, fresh, rules)
	}
	if action == catalog.Cascade && fresh == nil {
		return keys, old, nil, nil
	}
	if rows, err = f.changed(old, action, fresh, rules); err == nil {
		rows, err = rules.Complete(t, rows)
	}
	return keys, old, rows, err
}

// sameRows tells whether two chunks of as many rows have the same ones.
func sameRows(a, b *vec.Chunk) bool {
	for i := range a.Len() {
		if !bytes.Equal(vec.EncodeRow(nil, a.Cols, i), vec.EncodeRow(nil, b.Cols, i)) {
			return false
		}
	}
	return true
}

// changed gives rows of the child with what an action sets.
func (f *ForeignKey) changed(old *vec.Chunk, action string, fresh *vec.Chunk, rules Rules) (*vec.Chunk, error) {
	rows := &vec.Chunk{Cols: slices.Clone(old.Cols)}
	rows.SetLen(old.Len())
	set := f.Def.Columns
	if fresh == nil && f.Def.SetColumns != nil {
		set = f.Def.SetColumns
	}
	for n, k := range set {
		d := types.Null
		switch action {
		case catalog.SetDefault:
			var err error
			if d, err = rules.Default(f.Child, k); err != nil {
				return nil, err
			}
		case catalog.Cascade:
			at, from := f.Def.RefColumns[n], fresh
			if f.back != nil {
				v, _, err := f.back(fresh, 0)
				if err != nil {
					return nil, err
				}
				at, from = n, v
			}
			d = from.Cols[at].Datum(0)
		}
		rows.Cols[k] = vec.NewConst(f.Child.types[k], d, old.Len())
	}
	return rows, nil
}

// Validate checks that all rows of a foreign key have what they reference. The caller has both tables alone.
func (x *Tx) Validate(ctx context.Context, f *ForeignKey) error {
	n := 0
	return f.Child.Arr.HeadScan(nil, nil, func(_, row []byte) error {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return x.hasTarget(ctx, f, row)
	})
}
