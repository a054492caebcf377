package session

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// holder is a table that the alteration has alone.
type holder = engine.Altering

// rowCheck is a constraint that every row of the new table is looked at for.
type rowCheck struct {
	name string
	expr scalar.Expr
}

// rowChecks binds the new CHECK constraints, over the columns of the new table.
func (a *alteration) rowChecks() ([]rowCheck, error) {
	var out []rowCheck
	for _, k := range a.rel.Checks {
		look, ok := a.newChecks[k.Name]
		if !ok {
			continue
		}
		x, err := a.s.parseExpr(k.Expr)
		if err != nil {
			return nil, err
		}
		e, err := a.pl.Expr(x, a.rel, types.T(types.Bool), "check constraints")
		if err != nil {
			return nil, noPosition(err)
		}
		if look {
			out = append(out, rowCheck{k.Name, e})
		}
	}
	return out, nil
}

// verify looks at rows of the new table.
func (a *alteration) verify(w *write, checks []rowCheck, c *vec.Chunk) error {
	rel := a.rel
	for i, col := range rel.Columns {
		if a.notNull[col.Name] && c.Cols[i].Nulls.Any() {
			for k := range c.Len() {
				if c.Cols[i].IsNull(k) {
					err := sqlerr.Newf(sqlerr.NotNullViolation, "column \"%s\" of relation \"%s\" contains null values", col.Name, rel.Name)
					err.Schema, err.Table, err.Column = rel.Schema, rel.Name, col.Name
					return err
				}
			}
		}
	}
	for _, k := range checks {
		v, err := w.eval(k.expr, c)
		if err != nil {
			return err
		}
		for i := range c.Len() {
			if !v.Nulls.Get(i) && !v.Bool[i] {
				err := sqlerr.Newf(sqlerr.CheckViolation, "check constraint \"%s\" of relation \"%s\" is violated by some row", k.name, rel.Name)
				err.Schema, err.Table, err.Constraint = rel.Schema, rel.Name, k.name
				return err
			}
		}
	}
	return nil
}

// convertAll looks at all rows, and makes them those of the new table if they must become others.
func (a *alteration) convertAll(held *holder, also func(*catalog.Catalog)) error {
	ctx := a.ctx
	all, _ := a.dependent(map[catalog.ID]*catalog.Relation{a.old.ID: a.old})
	if a.plansChange() {
		// What reads the table may have been planned on what is no longer so.
		for id, r := range all {
			a.rewrite = a.rewrite || id != a.old.ID && r.Kind != catalog.View
		}
	}
	w := &write{s: a.s, t: a.t, env: a.s.execEnv(a.t)}
	checks, err := a.rowChecks()
	if err != nil {
		return err
	}
	if !a.rewrite {
		if len(a.notNull) > 0 || len(checks) > 0 {
			if err := held.Scan(ctx, func(c *vec.Chunk) error { return a.verify(w, checks, c) }); err != nil {
				return err
			}
		}
		return held.Define(ctx, a.rel, also)
	}
	// What is planned for it reads the new rows, from the new job.
	rel := a.rel
	rel.RowsID = uint32(a.t.inc.AllocID())
	rel.JobID = a.t.inc.AllocID()
	states := map[string]uint32{}
	for name := range rel.StateTables {
		states[name] = uint32(a.t.inc.AllocID())
	}
	rel.StateTables = states
	cat, readers, err := a.readers(all)
	if err != nil {
		return err
	}
	counter := int64(0)
	convert := func(c *vec.Chunk) (*vec.Chunk, error) {
		out, err := a.convert(w, c, &counter)
		if err != nil {
			return nil, err
		}
		return out, a.verify(w, checks, out)
	}
	if err := a.moveCounter(held); err != nil {
		return err
	}
	var gone []*catalog.Relation
	for _, id := range slices.Sorted(maps.Keys(a.gone)) {
		gone = append(gone, a.gone[id])
	}
	return held.Rewrite(ctx, cat, rel, convert, readers, gone, a.watch, also)
}

// moveCounter lets the row ids go on where they are. A table that gets row ids has as many as rows.
func (a *alteration) moveCounter(held *holder) error {
	to := a.rel.ColumnIndex(rowIDColumn)
	if to < 0 {
		return nil
	}
	rows := int64(0)
	if a.from[to].auto {
		if err := held.Scan(a.ctx, func(c *vec.Chunk) error {
			rows += int64(c.Len())
			return nil
		}); err != nil {
			return err
		}
	}
	return held.MoveCounter(a.ctx, a.rel, a.old.ColumnIndex(rowIDColumn), to, rows)
}

// convert makes rows of the new table from rows of the old one.
func (a *alteration) convert(w *write, c *vec.Chunk, counter *int64) (*vec.Chunk, error) {
	n := c.Len()
	out := &vec.Chunk{}
	for i, src := range a.from {
		t := a.rel.Columns[i].Type
		v := vec.NewVector(t, n)
		switch {
		case src.auto:
			for range n {
				*counter++
				v.AppendDatum(types.DInt(*counter))
			}
		case src.seq != nil:
			for range n {
				v.AppendNull()
			}
			var err error
			if v, _, _, err = a.s.standing(a.t, src.seq).FillColumn(src.seq, v, n, true); err != nil {
				return nil, err
			}
		case src.expr != nil:
			x, err := w.eval(src.expr, c)
			if err != nil {
				return nil, err
			}
			if x.Len() < n { // a constant
				return nil, fmt.Errorf("column %s has %d values for %d rows", a.rel.Columns[i].Name, x.Len(), n)
			}
			v = x
		default:
			v = c.Cols[src.old]
		}
		out.Cols = append(out.Cols, v)
	}
	out.SetLen(n)
	for i := range a.rel.Columns {
		x := a.fresh[a.rel.Columns[i].Name]
		if x == nil {
			continue
		}
		v, err := w.eval(x, out)
		if err != nil {
			return nil, err
		}
		out.Cols[i] = v
	}
	return out, nil
}

// plansChange tells whether what reads the table may be planned in another way after the alteration.
func (a *alteration) plansChange() bool {
	nulls := func(r *catalog.Relation) map[string]bool {
		m := map[string]bool{}
		for _, c := range r.Columns {
			m[c.Name] = c.NotNull
		}
		return m
	}
	return a.rewrite || !maps.Equal(nulls(a.old), nulls(a.rel)) || len(a.old.Uniques) != len(a.rel.Uniques)
}

// readers plans what reads the table again.
func (a *alteration) readers(all map[catalog.ID]*catalog.Relation) (*catalog.Catalog, []engine.Replacement, error) {
	if !a.keepForeignKeys() {
		return nil, nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "this change of table \"%s\", which has foreign keys or is referenced by them, is not supported yet", a.old.Name).
			WithHint("Drop the foreign keys, and add them again afterwards.")
	}
	for _, s := range a.cat.SinksInto(a.old.ID) {
		return nil, nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot alter table \"%s\" because sink \"%s\" writes to it, which is not supported yet", a.old.Name, s.Name).
			WithHint("Drop the sink, and create it again afterwards.")
	}
	cat := a.cat.Clone()
	cat.Put(a.rel)
	for id := range a.gone {
		cat.Remove(id)
	}
	var reps []engine.Replacement
	for _, r := range a.cat.Sorted() {
		if all[r.ID] == nil || r.ID == a.old.ID || a.gone[r.ID] != nil {
			continue
		}
		if r.Kind == catalog.Sink {
			return nil, nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot alter table \"%s\" because sink \"%s\" reads it, which is not supported yet", a.old.Name, r.Name).
				WithHint("Drop the sink, and create it again afterwards: its target gets everything once more.")
		}
		rep, err := a.again(cat, a.seeing(r), a.old, a.rel, nil)
		if err != nil {
			return nil, nil, err
		}
		rep.Old = r
		if x := rep.New.Index; x != nil && x.Table != 0 {
			def := *x
			def.Table = uint32(a.t.inc.AllocID())
			rep.New.Index = &def
		}
		cat.Put(rep.New)
		reps = append(reps, rep)
	}
	return cat, reps, nil
}

// keepForeignKeys gives the foreign keys of the new table indexes of their own. False if the columns of one of them, or of one that references
// the table, become others or stand elsewhere.
func (a *alteration) keepForeignKeys() bool {
	kept := func(c int) bool {
		if c >= len(a.from) {
			return false
		}
		src := a.from[c]
		return src.old >= 0 && !src.auto && src.seq == nil && src.expr == nil && a.fresh[a.rel.Columns[c].Name] == nil &&
			a.old.Columns[src.old].Type == a.rel.Columns[c].Type
	}
	for _, f := range a.rel.ForeignKeys {
		for k, c := range f.Columns {
			if !kept(c) || f.Ref == a.old.ID && !kept(f.RefColumns[k]) {
				return false
			}
		}
	}
	for _, f := range a.cat.Referrers(a.old.ID) {
		for _, c := range f.Key.RefColumns {
			// The definition of the other table is not changed.
			if f.Table.ID != a.old.ID && (!kept(c) || a.from[c].old != c) {
				return false
			}
		}
	}
	a.rel.ForeignKeys = slices.Clone(a.rel.ForeignKeys)
	for i := range a.rel.ForeignKeys {
		a.rel.ForeignKeys[i].Table = uint32(a.t.inc.AllocID())
	}
	return true
}

// seeing is r with what it knows of the columns of the table: not those that are new.
func (a *alteration) seeing(r *catalog.Relation) *catalog.Relation {
	if r.Kind == catalog.Index || !slices.Contains(r.DependsOn, a.old.ID) {
		return r
	}
	known, ok := r.Reads[a.old.ID]
	if !ok {
		known = a.old.Visible()
	}
	left := 0
	for i, c := range a.old.Columns {
		if !c.Hidden {
			if known--; known >= 0 && !a.dropped[i] {
				left++
			}
		}
	}
	c := *r
	c.Reads = maps.Clone(r.Reads)
	if left >= a.rel.Visible() {
		delete(c.Reads, a.old.ID)
		return &c
	}
	if c.Reads == nil {
		c.Reads = map[catalog.ID]int{}
	}
	c.Reads[a.old.ID] = left
	return &c
}
