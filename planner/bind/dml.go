package bind

import (
	"errors"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// generatedAlways is the SQLSTATE for a value given to a generated column.
const generatedAlways sqlerr.Code = "428C9"

// DML is a bound INSERT, UPDATE or DELETE: Plan without its Query, which is still logical here.
type DML struct {
	Plan  *plan.DML
	Query *Query
	// Returning describes the columns of RETURNING.
	Returning []OutCol
}

// Insert binds INSERT.
func (b *Binder) Insert(st *ast.Insert) (out *DML, err error) {
	defer catch(&err)
	b.top = st.With
	out = b.insert(st)
	b.finishParams()
	return out, nil
}

// Update binds UPDATE.
func (b *Binder) Update(st *ast.Update) (out *DML, err error) {
	defer catch(&err)
	b.top = st.With
	out = b.update(st)
	b.finishParams()
	return out, nil
}

// Delete binds DELETE.
func (b *Binder) Delete(st *ast.Delete) (out *DML, err error) {
	defer catch(&err)
	b.top = st.With
	out = b.delete(st)
	b.finishParams()
	return out, nil
}

// Copy binds the target of COPY table (columns) FROM.
func (b *Binder) Copy(st *ast.Copy) (*plan.CopyIn, error) {
	out, err := b.copyTarget(st)
	if err != nil {
		// An unknown table or column has no position, as in PostgreSQL; a condition's errors do.
		var e *sqlerr.Error
		if errors.As(err, &e) && (e.Code == sqlerr.UndefinedTable || e.Code == sqlerr.UndefinedColumn) {
			c := *e
			c.Pos = sqlerr.NoPos
			err = &c
		}
		return nil, err
	}
	if st.Where != nil {
		if out.Where, err = b.Expr(st.Where, out.Target, types.T(types.Bool), copyWhere); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// copyTarget is Copy without its condition.
func (b *Binder) copyTarget(st *ast.Copy) (out *plan.CopyIn, err error) {
	defer catch(&err)
	rel := b.target(*st.Table, "copy to")
	out = &plan.CopyIn{Target: rel, Cols: b.CopyColumns(rel, st.Columns), Defaults: make([]scalar.Expr, len(rel.Columns))}
	for i, c := range rel.Columns {
		switch {
		case slices.Contains(out.Cols, i):
		case autoColumn(c):
			out.Auto = append(out.Auto, i)
			out.Defaults[i] = logical.NullConst(c.Type)
		case c.Generated:
			out.Defaults[i] = logical.NullConst(c.Type)
		default:
			out.Defaults[i] = b.defaultOf(rel, i)
		}
	}
	out.Checks, out.Generated = b.constraints(rel)
	return out, nil
}

// copyWhere names the place of a condition of COPY for errors.
const copyWhere = "COPY FROM WHERE conditions"

// CopyColumns resolves the column list of COPY; without one it is all visible columns that are not
// generated. It panics with a failure: callers outside go through Copy or ColumnList.
func (b *Binder) CopyColumns(rel *catalog.Relation, list []ast.ColumnTarget) []int {
	var cols []int
	if len(list) == 0 {
		for i, c := range rel.Columns {
			if !c.Hidden && !c.Generated {
				cols = append(cols, i)
			}
		}
		return cols
	}
	for _, t := range list {
		i := b.targetColumn(rel, t)
		if rel.Columns[i].Generated {
			raise(sqlerr.New(sqlerr.InvalidColumnReference, sqlerr.NoPos, "column \"%s\" is a generated column", t.Name).
				WithDetail("Generated columns cannot be used in COPY."))
		}
		if slices.Contains(cols, i) {
			fail(sqlerr.DuplicateColumn, sqlerr.NoPos, "column \"%s\" specified more than once", t.Name)
		}
		cols = append(cols, i)
	}
	return cols
}

// ColumnList resolves the column list of COPY ... TO.
func (b *Binder) ColumnList(rel *catalog.Relation, list []ast.ColumnTarget) (cols []int, err error) {
	defer catch(&err)
	return b.CopyColumns(rel, list), nil
}

// targetPrivilege is what a statement needs of the relation that it changes.
var targetPrivilege = map[string]catalog.Privileges{
	"insert into": catalog.Insert, "copy to": catalog.Insert, "update": catalog.Update, "delete from": catalog.Delete,
}

// target finds the relation that a statement changes.
func (b *Binder) target(n ast.Name, verb string) *catalog.Relation {
	rel := b.relation(n)
	switch rel.Kind {
	case catalog.Table:
		b.allow(rel, targetPrivilege[verb])
		if rel.AppendOnly && (verb == "update" || verb == "delete from") {
			appendOnly(rel, verb)
		}
		return rel
	case catalog.View:
		fail(sqlerr.ObjectNotInPrerequisiteState, sqlerr.NoPos, "cannot %s view \"%s\"", verb, rel.Name)
	case catalog.MatView:
		fail(sqlerr.WrongObjectType, sqlerr.NoPos, "cannot change materialized view \"%s\"", rel.Name)
	case catalog.Source, catalog.Sink, catalog.Index, catalog.SequenceKind:
		fail(sqlerr.WrongObjectType, sqlerr.NoPos, "cannot change %s \"%s\"", rel.Kind, rel.Name)
	default:
		fail(sqlerr.InsufficientPrivilege, sqlerr.NoPos, "permission denied: \"%s\" is a system catalog", rel.Name)
	}
	return nil
}

// appendOnly refuses to take rows of a table back.
func appendOnly(rel *catalog.Relation, verb string) {
	fail(sqlerr.WrongObjectType, sqlerr.NoPos, "cannot %s append-only table \"%s\"", verb, rel.Name)
}

func (b *Binder) targetColumn(rel *catalog.Relation, t ast.ColumnTarget) int {
	for i, c := range rel.Columns {
		if c.Name == t.Name && !c.Hidden {
			return i
		}
	}
	fail(sqlerr.UndefinedColumn, t.Pos, "column \"%s\" of relation \"%s\" does not exist", t.Name, rel.Name)
	return 0
}

// autoColumn tells whether the server makes the column's value if none is given.
func autoColumn(c catalog.Column) bool {
	return c.Hidden || c.Identity != "" || c.Serial
}

// stored binds a stored expression over the columns of rel.
func (b *Binder) stored(rel *catalog.Relation, text string, want types.Type) scalar.Expr {
	e, err := b.cfg.ParseExpr(text)
	check(err, sqlerr.NoPos)
	cfg := b.cfg
	// Functions that were made later are not seen, even if they would fit a call better.
	if cfg.Visible = &rel.Functions; len(rel.Functions) > 0 {
		cfg.SearchPath = rel.SearchPath
	}
	x, err := New(cfg, nil).Expr(e, rel, want, "stored expressions")
	if err != nil {
		if s := sqlError(err); s != nil {
			c := *s
			c.Pos = sqlerr.NoPos
			err = &c
		}
		raise(err)
	}
	return noPositions(x)
}

// noPositions removes positions that belong to another text.
func noPositions(e scalar.Expr) scalar.Expr {
	return logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
		switch x := x.(type) {
		case *scalar.Column:
			c := *x
			c.Pos = sqlerr.NoPos
			return &c
		case *scalar.Const:
			c := *x
			c.Pos = sqlerr.NoPos
			return &c
		case *scalar.Call:
			c := *x
			c.Pos = sqlerr.NoPos
			c.Args = make([]scalar.Expr, len(x.Args))
			for i, a := range x.Args {
				c.Args[i] = noPositions(a)
			}
			return &c
		}
		return nil
	})
}

// defaultOf is the value of a column that none is given for.
func (b *Binder) defaultOf(rel *catalog.Relation, i int) scalar.Expr {
	c := rel.Columns[i]
	if c.Default == "" && c.Domain != 0 {
		c.Default = b.domainDefault(c.Domain)
	}
	if c.Default == "" || c.Generated || autoColumn(c) {
		return logical.NullConst(c.Type)
	}
	return b.stored(rel, c.Default, c.Type)
}

// constraints binds the checks and generated columns of rel, over its columns.
func (b *Binder) constraints(rel *catalog.Relation) (cs []plan.Check, gs []plan.Generated) {
	for i, c := range rel.Columns {
		if c.Domain == 0 {
			continue
		}
		col := &scalar.Column{Node: scalar.Node{T: c.Type, Pos: sqlerr.NoPos}, Index: i, Name: c.Name}
		if ds := b.cfg.Catalog.Domains(c.Domain); len(ds) > 0 {
			cs = append(cs, b.domainChecks(col, ds[len(ds)-1])...)
		}
	}
	for _, c := range rel.Checks {
		cs = append(cs, plan.Check{Name: c.Name, Expr: b.stored(rel, c.Expr, types.T(types.Bool))})
	}
	for i, c := range rel.Columns {
		if c.Generated {
			gs = append(gs, plan.Generated{Col: i, Expr: b.stored(rel, c.Default, c.Type)})
		}
	}
	return cs, gs
}

// assignTo casts a value to the type of column i of rel.
func (b *Binder) assignTo(rel *catalog.Relation, i int, x scalar.Expr, pos int) scalar.Expr {
	c := rel.Columns[i]
	return b.assign(x, c.Type, func(from types.Type) error {
		return sqlerr.New(sqlerr.DatatypeMismatch, pos, "column \"%s\" is of type %s but expression is of type %s", c.Name, c.Type.WithoutMod(), from).
			WithHint("You will need to rewrite or cast the expression.")
	})
}

// setClause binds one item of SET. A row subquery is joined to *node.
func (b *Binder) setClause(s *scope, rel *catalog.Relation, set ast.SetClause, node *logical.Node) []plan.Assign {
	value := func(t ast.ColumnTarget, e ast.Expr) plan.Assign {
		_, isDefault := e.(*ast.Default)
		var x scalar.Expr
		if !isDefault {
			x = b.expr(s, e)
		}
		i := b.targetColumn(rel, t)
		c := rel.Columns[i]
		if isDefault {
			if autoColumn(c) {
				unsupported(e.Position(), "SET ... = DEFAULT of a serial or identity column")
			}
			return plan.Assign{Col: i, Expr: b.defaultOf(rel, i)}
		}
		if c.Generated || c.Identity == "always" {
			detail := "Column \"%s\" is a generated column."
			if !c.Generated {
				detail = "Column \"%s\" is an identity column defined as GENERATED ALWAYS."
			}
			raise(sqlerr.New(generatedAlways, sqlerr.NoPos, "column \"%s\" can only be updated to DEFAULT", c.Name).WithDetail(detail, c.Name))
		}
		return plan.Assign{Col: i, Expr: b.assignTo(rel, i, x, leftmost(e))}
	}
	if len(set.Columns) == 1 {
		if _, row := set.Value.(*ast.Row); !row || rel.Columns[b.targetColumn(rel, set.Columns[0])].Type.Kind.IsComposite() {
			return []plan.Assign{value(set.Columns[0], set.Value)}
		}
	}
	var out []plan.Assign
	switch v := set.Value.(type) {
	case *ast.Row:
		if len(v.Elems) != len(set.Columns) {
			fail(sqlerr.SyntaxError, v.Pos, "number of columns does not match number of values")
		}
		for i, t := range set.Columns {
			out = append(out, value(t, v.Elems[i]))
		}
	case *ast.Subquery:
		if node == nil {
			unsupported(v.Pos, "a subquery in ON CONFLICT DO UPDATE")
		}
		sub := b.query(s, v.Query)
		if len(sub.Cols) != len(set.Columns) {
			fail(sqlerr.SyntaxError, v.Pos, "number of columns does not match number of values")
		}
		for k, t := range set.Columns {
			if i := b.targetColumn(rel, t); b.Meta.Type(sub.Cols[k].ID).Kind == types.Unknown {
				sub.Node = b.retype(sub.Node, sub.Cols[k].ID, rel.Columns[i].Type)
			}
		}
		*node = &logical.Join{Kind: logical.Left, L: *node, R: &logical.Max1Row{In: sub.Node}}
		for k, t := range set.Columns {
			i := b.targetColumn(rel, t)
			out = append(out, plan.Assign{Col: i, Expr: b.assignTo(rel, i, b.Meta.Ref(sub.Cols[k].ID), v.Pos)})
		}
	default:
		fail(sqlerr.FeatureNotSupported, set.Pos, "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression")
	}
	return out
}

// targetItem binds the target of UPDATE or DELETE as the first item of FROM.
func (b *Binder) targetItem(s *scope, t *ast.TableRef, verb string) (*catalog.Relation, *fromItem) {
	rel := b.target(t.Name, verb)
	it := b.relItem(s, rel, t.Alias, t.Name.Pos)
	s.rels = append(s.rels, it.rels...)
	s.cols = append(s.cols, it.cols...)
	return rel, it
}

// moreFrom joins further items.
func (b *Binder) moreFrom(s *scope, node logical.Node, items []ast.TableExpr) logical.Node {
	for _, e := range items {
		f := b.fromItem(s, s, e)
		checkNames(s.rels, f.rels)
		s.rels = append(s.rels, f.rels...)
		s.cols = append(s.cols, f.cols...)
		node = &logical.Join{Kind: logical.Inner, L: node, R: f.node}
	}
	return node
}

func (b *Binder) update(st *ast.Update) *DML {
	ws := &scope{ctes: b.outerCTEs(), q: &queryState{}}
	b.with(ws, st.With)
	s := &scope{parent: &scope{ctes: ws.ctes, q: &queryState{}}, q: &queryState{}}
	rel, it := b.targetItem(s, &st.Table, "update")
	if st.Where != nil || len(st.From) > 0 || len(st.Returning) > 0 {
		b.allow(rel, catalog.Select)
	}
	node := b.moreFrom(s, it.node, st.From)
	s.q.clause = "UPDATE"
	// SET first, as in Postgres; a row subquery joins after WHERE.
	var set []plan.Assign
	joined := logical.Node(&logical.Values{})
	base := joined
	for _, c := range st.Set {
		set = append(set, b.setClause(s, rel, c, &joined)...)
	}
	b.noDoubleSet(rel, set)
	if st.Where != nil {
		s.q.clause = "WHERE"
		node = &logical.Filter{In: node, Preds: logical.Conjuncts(b.boolExpr(s, st.Where, "WHERE"))}
	}
	node = graft(joined, base, node)
	// Old columns pass, new ones are computed.
	old := make([]logical.ColID, len(rel.Columns))
	ids := make([]logical.ColID, len(rel.Columns))
	proj := &logical.Project{In: node, Exprs: b.passAll(node)}
	m := map[logical.ColID]scalar.Expr{}
	values := make([]scalar.Expr, len(rel.Columns))
	for i := range rel.Columns {
		old[i] = it.rels[0].cols[i].id
		values[i] = b.Meta.Ref(old[i])
		for _, a := range set {
			if a.Col == i {
				values[i] = a.Expr
			}
		}
		ids[i] = b.Meta.NewFrom(rel, i)
		m[i] = b.Meta.Ref(ids[i])
	}
	d := &DML{Plan: &plan.DML{Kind: plan.Update, Target: rel}}
	d.Plan.Checks, d.Plan.Generated = b.constraints(rel)
	generated := map[int]bool{}
	for _, g := range d.Plan.Generated {
		generated[g.Col] = true
	}
	for i := range rel.Columns {
		if !generated[i] {
			proj.Exprs = append(proj.Exprs, logical.ProjCol{ID: ids[i], Expr: values[i]})
		}
	}
	var out logical.Node = proj
	if len(generated) > 0 {
		gen := &logical.Project{In: proj, Exprs: b.passAll(proj)}
		for _, g := range d.Plan.Generated {
			gen.Exprs = append(gen.Exprs, logical.ProjCol{ID: ids[g.Col], Expr: logical.ReplaceCols(g.Expr, m)})
		}
		out = gen
	}
	q := &Query{Node: out}
	for i := range rel.Columns {
		q.Cols = append(q.Cols, OutCol{rel.Columns[i].Name, old[i]})
	}
	for i := range rel.Columns {
		q.Cols = append(q.Cols, OutCol{rel.Columns[i].Name, ids[i]})
	}
	d.Query = q
	d.Plan.Returning, d.Returning = b.returningOver(rel, it.rels[0].name, ids, s, q, st.Returning)
	return d
}

// graft puts node in the place of base in tree.
func graft(tree, base, node logical.Node) logical.Node {
	if tree == base {
		return node
	}
	j := tree.(*logical.Join)
	return &logical.Join{Kind: j.Kind, L: graft(j.L, base, node), R: j.R, On: j.On}
}

func (b *Binder) delete(st *ast.Delete) *DML {
	ws := &scope{ctes: b.outerCTEs(), q: &queryState{}}
	b.with(ws, st.With)
	s := &scope{parent: &scope{ctes: ws.ctes, q: &queryState{}}, q: &queryState{}}
	rel, it := b.targetItem(s, &st.Table, "delete from")
	if st.Where != nil || len(st.Using) > 0 || len(st.Returning) > 0 {
		b.allow(rel, catalog.Select)
	}
	node := b.moreFrom(s, it.node, st.Using)
	if st.Where != nil {
		s.q.clause = "WHERE"
		node = &logical.Filter{In: node, Preds: logical.Conjuncts(b.boolExpr(s, st.Where, "WHERE"))}
		s.q.clause = ""
	}
	q := &Query{Node: node}
	ids := make([]logical.ColID, len(rel.Columns))
	for i := range rel.Columns {
		ids[i] = it.rels[0].cols[i].id
		q.Cols = append(q.Cols, OutCol{rel.Columns[i].Name, ids[i]})
	}
	d := &DML{Plan: &plan.DML{Kind: plan.Delete, Target: rel}, Query: q}
	d.Plan.Returning, d.Returning = b.returningOver(rel, it.rels[0].name, ids, s, q, st.Returning)
	return d
}

// returningOver binds RETURNING: the target's columns are ids (the new values), other items those of
// from. Columns that are needed besides are added to q. The result is over q's columns by position.
func (b *Binder) returningOver(rel *catalog.Relation, name string, ids []logical.ColID, from *scope, q *Query, ts []ast.Target) ([]scalar.Expr, []OutCol) {
	if len(ts) == 0 {
		return nil, nil
	}
	s := &scope{q: &queryState{clause: "RETURNING", noSubquery: "a subquery in RETURNING is not supported yet"}}
	r := &relItem{name: name, schema: rel.Schema, relName: rel.Name, rel: rel}
	for i, c := range rel.Columns {
		r.cols = append(r.cols, scopeCol{name: c.Name, id: ids[i], hidden: c.Hidden})
	}
	s.addRel(r)
	if from != nil {
		for _, o := range from.rels[1:] {
			s.addRel(o)
		}
	}
	var out []scalar.Expr
	var cols []OutCol
	for _, t := range b.targets(s, ts) {
		x := b.resolve(t.expr)
		for _, id := range logical.ColsOf(x).Sorted() {
			at := -1
			// The last occurrence: an UPDATE has the new columns after the old ones.
			for k, c := range q.Cols {
				if c.ID == id {
					at = k
				}
			}
			if at < 0 {
				q.Cols = append(q.Cols, OutCol{b.Meta.Info(id).Name, id})
			}
		}
		id := 0
		if c, ok := x.(*scalar.Column); ok {
			id = c.Index
		} else {
			id = b.Meta.New(t.name, x.Type())
		}
		cols = append(cols, OutCol{t.name, id})
		out = append(out, x)
	}
	m := map[logical.ColID]scalar.Expr{}
	for k, c := range q.Cols {
		ref := b.Meta.Ref(c.ID)
		m[c.ID] = &scalar.Column{Node: ref.Node, Index: k, Name: ref.Name}
	}
	for i := range out {
		out[i] = indexed(out[i], m)
	}
	return out, cols
}
