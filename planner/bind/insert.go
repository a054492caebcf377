package bind

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func (b *Binder) insert(st *ast.Insert) *DML {
	s := &scope{ctes: b.outerCTEs(), q: &queryState{}}
	b.with(s, st.With)
	outer := &scope{ctes: s.ctes, q: &queryState{}}
	rel := b.target(st.Table, "insert into")
	if st.Alias != "" {
		outer.invisible = []*relItem{b.relColumns(rel, st.Alias)}
	} else {
		outer.invisible = []*relItem{b.relColumns(rel, rel.Name)}
	}
	explicit := len(st.Columns) > 0
	cols := b.insertColumns(rel, st.Columns)
	d := &DML{Plan: &plan.DML{Kind: plan.Insert, Target: rel, OverridingUser: st.Overriding == "user"}}
	var node logical.Node
	vals := map[int]scalar.Expr{}
	auto := map[int]bool{}
	dflt := func(i int) scalar.Expr {
		if autoColumn(rel.Columns[i]) {
			auto[i] = true
		}
		return b.defaultOf(rel, i)
	}
	switch {
	case st.Query == nil:
		node, cols = oneRow(), nil
	default:
		if v, ok := plainValues(st.Query); ok {
			node = b.insertValues(outer, rel, v, cols, explicit, st, vals, dflt)
		} else {
			sub := b.query(outer, st.Query)
			if len(sub.Cols) > len(cols) {
				fail(sqlerr.SyntaxError, targetPos(st.Query, len(cols)), "INSERT has more expressions than target columns")
			}
			if explicit && len(sub.Cols) < len(cols) {
				fail(sqlerr.SyntaxError, st.Columns[len(sub.Cols)].Pos, "INSERT has more target columns than expressions")
			}
			cols = cols[:len(sub.Cols)]
			for k, c := range sub.Cols {
				i := cols[k]
				b.mayGive(rel, i, st)
				if b.Meta.Type(c.ID).Kind == types.Unknown {
					sub.Node = b.retype(sub.Node, c.ID, rel.Columns[i].Type)
				}
				vals[i] = b.assignTo(rel, i, b.Meta.Ref(c.ID), targetPos(st.Query, k))
			}
			node = sub.Node
			d.Query = &Query{Order: sub.Order}
		}
	}
	// All columns of the target in order; generated ones over the others.
	proj := &logical.Project{In: node}
	ids := make([]logical.ColID, len(rel.Columns))
	for i, c := range rel.Columns {
		x, ok := vals[i]
		if !ok {
			x = dflt(i)
		}
		if st.Overriding == "user" && c.Identity != "" {
			x = logical.NullConst(c.Type)
			auto[i] = true
		}
		ids[i] = b.Meta.NewFrom(rel, i)
		proj.Exprs = append(proj.Exprs, logical.ProjCol{ID: ids[i], Expr: x})
	}
	d.Plan.Checks, d.Plan.Generated = b.constraints(rel)
	var out logical.Node = proj
	if len(d.Plan.Generated) > 0 {
		gen := &logical.Project{In: proj, Exprs: b.passAll(proj)}
		m := map[logical.ColID]scalar.Expr{}
		for i, id := range ids {
			m[i] = b.Meta.Ref(id)
		}
		for _, g := range d.Plan.Generated {
			id := b.Meta.NewFrom(rel, g.Col)
			gen.Exprs[g.Col] = logical.ProjCol{ID: id, Expr: logical.ReplaceCols(g.Expr, m)}
			ids[g.Col] = id
		}
		out = gen
	}
	// The order of an INSERT ... SELECT ... ORDER BY is kept: serial values follow it.
	q := &Query{Node: out}
	if d.Query != nil && len(d.Query.Order) > 0 {
		for _, o := range d.Query.Order {
			if !logical.OutSet(out).Has(o.Col) {
				extend(out, b.Meta.Ref(o.Col))
			}
		}
		q.Order = d.Query.Order
	}
	for i, id := range ids {
		q.Cols = append(q.Cols, OutCol{rel.Columns[i].Name, id})
	}
	d.Query = q
	for i := range rel.Columns {
		if auto[i] {
			d.Plan.Auto = append(d.Plan.Auto, i)
		}
	}
	name := rel.Name
	if st.Alias != "" {
		name = st.Alias
	}
	if len(st.Returning) > 0 || st.OnConflict != nil && st.OnConflict.DoUpdate {
		b.allow(rel, catalog.Select)
	}
	if st.OnConflict != nil && st.OnConflict.DoUpdate {
		b.allow(rel, catalog.Update)
	}
	if st.OnConflict != nil {
		d.Plan.Conflict = b.conflict(rel, name, st.OnConflict)
	}
	d.Plan.Returning, d.Returning = b.returningOver(rel, name, ids, nil, q, st.Returning)
	return d
}

// extend passes a column of the lowest input through the Projects above it.
func extend(n logical.Node, ref *scalar.Column) {
	p, ok := n.(*logical.Project)
	if !ok || logical.OutSet(p).Has(ref.Index) {
		return
	}
	extend(p.In, ref)
	p.Exprs = append(p.Exprs, logical.ProjCol{ID: ref.Index, Expr: ref})
}

func plainValues(q *ast.Select) (*ast.Values, bool) {
	v, ok := q.Body.(*ast.Values)
	return v, ok && q.With == nil && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil
}

// mayGive refuses values for columns that are always generated.
func (b *Binder) mayGive(rel *catalog.Relation, i int, st *ast.Insert) {
	c := rel.Columns[i]
	if c.Generated {
		raise(sqlerr.New(generatedAlways, sqlerr.NoPos, "cannot insert a non-DEFAULT value into column \"%s\"", c.Name).
			WithDetail("Column \"%s\" is a generated column.", c.Name))
	}
	if c.Identity == "always" && st.Overriding == "" {
		raise(sqlerr.New(generatedAlways, sqlerr.NoPos, "cannot insert a non-DEFAULT value into column \"%s\"", c.Name).
			WithDetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.", c.Name).
			WithHint("Use OVERRIDING SYSTEM VALUE to override."))
	}
}

// insertColumns gives the columns that an INSERT names, or all that can be seen if it names none.
func (b *Binder) insertColumns(rel *catalog.Relation, named []ast.ColumnTarget) []int {
	var cols []int
	for _, t := range named {
		i := b.targetColumn(rel, t)
		if slices.Contains(cols, i) {
			fail(sqlerr.DuplicateColumn, t.Pos, "column \"%s\" specified more than once", t.Name)
		}
		cols = append(cols, i)
	}
	if len(named) > 0 {
		return cols
	}
	for i, c := range rel.Columns {
		if !c.Hidden {
			cols = append(cols, i)
		}
	}
	return cols
}

func (b *Binder) insertValues(outer *scope, rel *catalog.Relation, v *ast.Values, cols []int, explicit bool, st *ast.Insert,
	vals map[int]scalar.Expr, dflt func(int) scalar.Expr) logical.Node {
	s := &scope{parent: outer, q: &queryState{clause: "VALUES"}}
	node := &logical.Values{}
	for _, r := range v.Rows {
		if len(r) != len(v.Rows[0]) {
			pos := v.Pos
			if len(r) > 0 {
				pos = r[0].Position()
			}
			fail(sqlerr.SyntaxError, pos, "VALUES lists must all be the same length")
		}
		if len(r) > len(cols) || explicit && len(r) < len(cols) {
			// A mistake inside comes first.
			for _, e := range r {
				if _, ok := e.(*ast.Default); !ok {
					b.expr(s, e)
				}
			}
		}
		if len(r) > len(cols) {
			fail(sqlerr.SyntaxError, r[len(cols)].Position(), "INSERT has more expressions than target columns")
		}
		if explicit && len(r) < len(cols) {
			fail(sqlerr.SyntaxError, st.Columns[len(r)].Pos, "INSERT has more target columns than expressions")
		}
		row := make([]scalar.Expr, len(r))
		for k, e := range r {
			i := cols[k]
			if _, ok := e.(*ast.Default); ok {
				row[k] = dflt(i)
				continue
			}
			b.mayGive(rel, i, st)
			row[k] = b.assignTo(rel, i, b.expr(s, e), leftmost(e))
		}
		node.Rows = append(node.Rows, row)
	}
	for k := range v.Rows[0] {
		i := cols[k]
		id := b.Meta.New(rel.Columns[i].Name, rel.Columns[i].Type)
		node.Out = append(node.Out, id)
		vals[i] = b.Meta.Ref(id)
	}
	return node
}

func (b *Binder) conflict(rel *catalog.Relation, name string, c *ast.OnConflict) *plan.Conflict {
	out := &plan.Conflict{DoUpdate: c.DoUpdate}
	if rel.AppendOnly && c.DoUpdate {
		appendOnly(rel, "update")
	}
	switch {
	case c.Constraint != "":
		for _, u := range rel.Uniques {
			if u.Name == c.Constraint {
				out.Arbiters = []string{u.Name}
			}
		}
		if out.Arbiters == nil {
			fail(sqlerr.UndefinedObject, sqlerr.NoPos, "constraint \"%s\" for table \"%s\" does not exist", c.Constraint, rel.Name)
		}
	case len(c.Columns) > 0:
		if out.Arbiters = b.arbiters(rel, name, c); out.Arbiters == nil {
			fail(sqlerr.InvalidColumnReference, sqlerr.NoPos, "there is no unique or exclusion constraint matching the ON CONFLICT specification")
		}
	case c.DoUpdate:
		raise(sqlerr.New(sqlerr.SyntaxError, c.Pos, "ON CONFLICT DO UPDATE requires inference specification or constraint name").
			WithHint("For example, ON CONFLICT (column_name)."))
	}
	if !c.DoUpdate {
		return out
	}
	s := &scope{q: &queryState{clause: "UPDATE", noSubquery: "a subquery in ON CONFLICT DO UPDATE is not supported yet"}}
	old := b.relColumns(rel, name)
	excl := b.relColumns(rel, "excluded")
	excl.relName = "excluded"
	s.rels = []*relItem{old, excl}
	s.cols = append([]scopeCol(nil), old.cols...)
	m := map[logical.ColID]scalar.Expr{}
	for i := range rel.Columns {
		for k, r := range []*relItem{old, excl} {
			ref := b.Meta.Ref(r.cols[i].id)
			m[ref.Index] = &scalar.Column{Node: ref.Node, Index: k*len(rel.Columns) + i, Name: ref.Name}
		}
	}
	for _, set := range c.Set {
		for _, a := range b.setClause(s, rel, set, nil) {
			out.Set = append(out.Set, plan.Assign{Col: a.Col, Expr: indexed(a.Expr, m)})
		}
	}
	b.noDoubleSet(rel, out.Set)
	if c.SetWhere != nil {
		s.q.clause = "WHERE"
		out.Where = indexed(b.boolExpr(s, c.SetWhere, "WHERE"), m)
	}
	return out
}

func (b *Binder) noDoubleSet(rel *catalog.Relation, set []plan.Assign) {
	seen := map[int]bool{}
	for _, a := range set {
		if seen[a.Col] {
			fail(sqlerr.SyntaxError, sqlerr.NoPos, "multiple assignments to same column \"%s\"", rel.Columns[a.Col].Name)
		}
		seen[a.Col] = true
	}
}
