package bind

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// SEARCH and CYCLE are written as what they stand for, as PostgreSQL's manual describes it: columns more of both terms.
//
//	SEARCH DEPTH FIRST BY c SET s      s = the rows ROW(c) from the start to this one, in an array
//	SEARCH BREADTH FIRST BY c SET s    s = ROW(depth, c)
//	CYCLE c SET m TO v DEFAULT d USING p
//	                                   p = the rows ROW(c) as above; m = v if ROW(c) is in the path before it, else d; nothing
//	                                   follows from rows with v
//
// The terms become subqueries, around which these columns are computed:
//
//	SELECT c..., ARRAY[ROW(c)] FROM (first term) UNION ALL SELECT c..., s || ARRAY[ROW(c)] FROM (second term, with s)
//
// In the terms themselves the columns can be named, but are in no star. Breadth needs a column for the depth, which is dropped at
// the end.

// depthColumn is the number of steps from the start; no name that is written is the same.
const depthColumn = "*DEPTH*"

// traverse applies the SEARCH and CYCLE clauses of c, which is recursive if self, to d.
func (b *Binder) traverse(d *cte, c *ast.CTE, self bool) {
	if c.Search == nil && c.Cycle == nil {
		return
	}
	if !self {
		fail(sqlerr.SyntaxError, c.Pos, "WITH query is not recursive")
	}
	sel := bare(d.query)
	op := terms(named(d.name), sel.Body.(*ast.SetOp))
	const clause = "with a SEARCH or CYCLE clause, the %s side of the UNION must be a SELECT"
	left, right := bare(op.L), bare(op.R)
	if _, set := left.Body.(*ast.SetOp); set {
		fail(sqlerr.FeatureNotSupported, sqlerr.NoPos, clause, "left")
	}
	core, ok := right.Body.(*ast.SelectCore)
	if !ok {
		fail(sqlerr.SyntaxError, sqlerr.NoPos, clause, "right")
	}
	ref := ""
	for _, t := range core.From {
		topReferences(t, d.name, &ref)
	}
	if ref == "" || len(references(named(d.name), op.R)) != 1 {
		fail(sqlerr.FeatureNotSupported, sqlerr.NoPos, "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"%s\" must be at the top level of its right-hand SELECT", d.name)
	}

	names := b.termColumns(d, sel, op.L)
	checkTraversal(c, names)
	t := &traversal{names: names, ref: ref}
	t.search(c.Search)
	t.cycle(b, c.Cycle)

	term := *core
	term.Targets = slices.Clone(core.Targets)
	for _, n := range t.added {
		term.Targets = append(term.Targets, ast.Target{Expr: &ast.ColumnRef{P: ast.P{Pos: c.Pos}, Parts: []string{ref, n}}, Pos: c.Pos})
	}
	if y := c.Cycle; y != nil {
		// <> may not be known for a type that has = in other words; a mark that is NULL is no mark.
		going := &ast.IsDistinct{P: ast.P{Pos: y.Pos}, L: &ast.ColumnRef{P: ast.P{Pos: y.Pos}, Parts: []string{ref, y.Mark}}, R: y.Value}
		if term.Where = going; core.Where != nil {
			term.Where = &ast.And{P: ast.P{Pos: y.Pos}, Args: []ast.Expr{core.Where, going}}
		}
	}
	second := *right
	second.Body = &term
	whole := *op
	whole.L = t.around(op.L, "*TLOCRN*", nil, t.first, c.Pos)
	whole.R = t.around(&second, "*TROCRN*", t.added, t.next, c.Pos)
	q := *sel
	q.Body = &whole
	d.query, d.columns, d.hidden = &q, append(slices.Clone(names), t.added...), len(t.added)
	if c.Search != nil && c.Search.Breadth {
		d.dropped = 1
	}
}

// traversal are the columns that SEARCH and CYCLE add: their values in the first term and in those that follow.
type traversal struct {
	names       []string
	ref         string
	added       []string
	first, next []ast.Expr
}

func (t *traversal) add(name string, first, next ast.Expr) {
	t.added, t.first, t.next = append(t.added, name), append(t.first, first), append(t.next, next)
}

// inner is the name of a column of a term's subquery: names of columns need not be unique.
func inner(i int) string { return fmt.Sprintf("*%d*", i+1) }

func (t *traversal) row(cols []string, pos int, before ...ast.Expr) *ast.Row {
	r := &ast.Row{P: ast.P{Pos: pos}, Elems: before, Explicit: true}
	for _, c := range cols {
		r.Elems = append(r.Elems, &ast.ColumnRef{P: ast.P{Pos: pos}, Parts: []string{inner(slices.Index(t.names, c))}})
	}
	return r
}

// path adds a column with the rows from the start.
func (t *traversal) path(name string, cols []string, pos int) {
	one := &ast.Array{P: ast.P{Pos: pos}, Elems: []ast.Expr{t.row(cols, pos)}}
	t.add(name, one, &ast.Binary{P: ast.P{Pos: pos}, Op: "||", L: &ast.ColumnRef{P: ast.P{Pos: pos}, Parts: []string{name}}, R: one})
}

func (t *traversal) search(s *ast.SearchClause) {
	if s == nil {
		return
	}
	if !s.Breadth {
		t.path(s.Set, s.Columns, s.Pos)
		return
	}
	at := ast.P{Pos: s.Pos}
	big := func(e ast.Expr) ast.Expr {
		return &ast.Cast{P: at, X: e, Type: ast.TypeName{Name: ast.Name{Parts: []string{"int8"}}, Pos: s.Pos}}
	}
	zero := big(&ast.IntLit{P: at})
	deeper := &ast.Binary{P: at, Op: "+", L: &ast.ColumnRef{P: at, Parts: []string{depthColumn}}, R: big(&ast.IntLit{P: at, Value: 1})}
	t.add(s.Set, t.row(s.Columns, s.Pos, zero), t.row(s.Columns, s.Pos, deeper))
}

func (t *traversal) cycle(b *Binder, y *ast.CycleClause) {
	if y != nil {
		at := ast.P{Pos: y.Pos}
		v, d := b.expr(&scope{q: &queryState{}}, y.Value), b.expr(&scope{q: &queryState{}}, y.Default)
		if _, _, err := b.cfg.Registry.CommonType("CYCLE", []types.Type{v.Type(), d.Type()}); err != nil {
			check(err, y.Default.Position())
		}
		back := &ast.AnyAll{P: at, Op: "=", L: t.row(y.Columns, y.Pos), R: &ast.ColumnRef{P: at, Parts: []string{y.Path}}}
		mark := func(when ast.Expr) ast.Expr {
			return &ast.Case{P: at, Whens: []ast.When{{Cond: when, Result: y.Value}}, Else: y.Default}
		}
		t.add(y.Mark, mark(&ast.BoolLit{P: at}), mark(back))
		t.path(y.Path, y.Columns, y.Pos)
	}
	// The depth comes last, where it is easily dropped.
	for i, x := range t.first {
		if r, ok := x.(*ast.Row); ok {
			t.add(depthColumn, r.Elems[0], t.next[i].(*ast.Row).Elems[0])
			return
		}
	}
}

// around computes the added columns around a term.
func (t *traversal) around(q *ast.Select, alias string, more []string, values []ast.Expr, pos int) *ast.Select {
	var cols []string
	for i := range t.names {
		cols = append(cols, inner(i))
	}
	cols = append(cols, more...)
	core := &ast.SelectCore{Pos: pos, From: []ast.TableExpr{&ast.DerivedTable{Query: q, Alias: &ast.Alias{Name: alias, Columns: cols}, Pos: pos}}}
	for i, n := range t.names {
		core.Targets = append(core.Targets, ast.Target{Expr: &ast.ColumnRef{P: ast.P{Pos: pos}, Parts: []string{inner(i)}}, Alias: n, Pos: pos})
	}
	for i, v := range values {
		core.Targets = append(core.Targets, ast.Target{Expr: v, Alias: t.added[i], Pos: pos})
	}
	return &ast.Select{Body: core, Pos: pos}
}

// topReferences finds references to a WITH item in FROM itself, and gives the name of the last one.
func topReferences(t ast.TableExpr, name string, ref *string) {
	switch t := t.(type) {
	case *ast.TableRef:
		if len(t.Name.Parts) == 1 && t.Name.Parts[0] == name {
			if *ref = name; t.Alias != nil && t.Alias.Name != "" {
				*ref = t.Alias.Name
			}
		}
	case *ast.Join:
		topReferences(t.L, name, ref)
		topReferences(t.R, name, ref)
	}
}

// termColumns are the names of the columns of a recursive item, those of its first term if it gives none.
func (b *Binder) termColumns(d *cte, sel, first *ast.Select) []string {
	at := &scope{parent: d.at, q: &queryState{}}
	b.with(at, sel.With)
	sub := b.query(at, first)
	var names []string
	for i, c := range sub.Cols {
		name := c.Name
		if i < len(d.columns) {
			name = d.columns[i]
		}
		names = append(names, name)
	}
	return names
}

// checkTraversal refuses names that are not there, and such that are there already.
func checkTraversal(c *ast.CTE, names []string) {
	listed := func(what string, cols []string, pos int) {
		for i, n := range cols {
			if !slices.Contains(names, n) {
				fail(sqlerr.SyntaxError, pos, "%s column \"%s\" not in WITH query column list", what, n)
			}
			if slices.Contains(cols[:i], n) {
				fail(sqlerr.DuplicateColumn, pos, "%s column \"%s\" specified more than once", what, n)
			}
		}
	}
	fresh := func(what, name string, pos int) {
		if slices.Contains(names, name) {
			fail(sqlerr.SyntaxError, pos, "%s column name \"%s\" already used in WITH query column list", what, name)
		}
	}
	s, y := c.Search, c.Cycle
	if s != nil {
		listed("search", s.Columns, s.Pos)
		fresh("search sequence", s.Set, s.Pos)
	}
	if y == nil {
		return
	}
	listed("cycle", y.Columns, y.Pos)
	fresh("cycle mark", y.Mark, y.Pos)
	fresh("cycle path", y.Path, y.Pos)
	switch {
	case y.Mark == y.Path:
		fail(sqlerr.SyntaxError, y.Pos, "cycle mark column name and cycle path column name are the same")
	case s != nil && s.Set == y.Mark:
		fail(sqlerr.SyntaxError, s.Pos, "search sequence column name and cycle mark column name are the same")
	case s != nil && s.Set == y.Path:
		fail(sqlerr.SyntaxError, s.Pos, "search sequence column name and cycle path column name are the same")
	}
}
