package bind

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Lock is a table whose rows a query locks.
type Lock struct {
	Rel *catalog.Relation
	// Clause is the clause as messages name it, FOR UPDATE for example.
	Clause string
}

// Locks lists the tables that FOR UPDATE and its kin lock, in the order of the query.
func (b *Binder) Locks() []Lock { return b.locks }

// notLocking refuses FOR UPDATE around what has no rows of tables.
func notLocking(q *ast.Select) {
	for _, l := range q.Locking {
		switch q.Body.(type) {
		case *ast.SetOp:
			fail(sqlerr.FeatureNotSupported, sqlerr.NoPos, "FOR %s is not allowed with UNION/INTERSECT/EXCEPT", l.Strength)
		case *ast.Values:
			fail(sqlerr.FeatureNotSupported, sqlerr.NoPos, "FOR %s cannot be applied to VALUES", l.Strength)
		}
	}
}

// strengths are the words behind FOR.
var strengths = map[string]logical.LockStrength{
	"KEY SHARE": logical.ForKeyShare, "SHARE": logical.ForShare, "NO KEY UPDATE": logical.ForNoKeyUpdate, "UPDATE": logical.ForUpdate,
}

// lockRows gives the tables that a query locks, and its FROM, where tables inside of subqueries and views are locked.
func (b *Binder) lockRows(s *scope, c *ast.SelectCore, q *ast.Select, from logical.Node) (logical.Node, []logical.LockRel) {
	var rels []logical.LockRel
	for _, l := range q.Locking {
		what := ""
		switch {
		case c.Distinct || c.DistinctOn != nil:
			what = "DISTINCT clause"
		case len(c.GroupBy) > 0:
			what = "GROUP BY clause"
		case c.Having != nil:
			what = "HAVING clause"
		case len(s.q.aggs) > 0:
			what = "aggregate functions"
		case len(s.q.windows) > 0:
			what = "window functions"
		case len(s.q.srfs) > 0:
			what = "set-returning functions in the target list"
		}
		if what != "" {
			fail(sqlerr.FeatureNotSupported, sqlerr.NoPos, "FOR %s is not allowed with %s", l.Strength, what)
		}
		if l.SkipLocked && q.WithTies {
			fail(sqlerr.SyntaxError, l.Pos, "SKIP LOCKED and WITH TIES options cannot be used together")
		}
		var of []string
		for _, n := range l.Of {
			name := n.Parts[len(n.Parts)-1]
			if !fromNames(c.From, name) {
				fail(sqlerr.UndefinedTable, n.Pos, "relation \"%s\" in FOR %s clause not found in FROM clause", name, l.Strength)
			}
			of = append(of, name)
		}
		from, rels = b.lockScans(from, l, of, false, rels)
	}
	return from, rels
}

// fromNames tells whether an item of FROM has a name.
func fromNames(from []ast.TableExpr, name string) bool {
	return slices.ContainsFunc(from, func(t ast.TableExpr) bool {
		switch t := t.(type) {
		case *ast.Join:
			return fromNames([]ast.TableExpr{t.L, t.R}, name)
		case *ast.TableRef:
			if t.Alias != nil {
				return t.Alias.Name == name
			}
			return t.Name.Parts[len(t.Name.Parts)-1] == name
		case *ast.DerivedTable:
			return t.Alias != nil && t.Alias.Name == name
		}
		return false
	})
}

// lockScans finds what a clause locks in FROM or a part of it; nullable: it is on a side of an outer join whose rows may be missing.
func (b *Binder) lockScans(n logical.Node, l ast.Locking, of []string, nullable bool, rels []logical.LockRel) (logical.Node, []logical.LockRel) {
	named := func(alias string) bool { return of == nil || slices.Contains(of, alias) }
	refuse := func() {
		if nullable {
			fail(sqlerr.FeatureNotSupported, sqlerr.NoPos, "FOR %s cannot be applied to the nullable side of an outer join", l.Strength)
		}
	}
	switch x := n.(type) {
	case *logical.Scan:
		if x.Rel.Kind == catalog.Table && named(x.Alias) {
			refuse()
			rels = b.lockScan(x, l, rels)
		}
		return n, rels
	case *logical.Join:
		var left, right logical.Node
		left, rels = b.lockScans(x.L, l, of, nullable || x.Kind == logical.Right || x.Kind == logical.Full, rels)
		right, rels = b.lockScans(x.R, l, of, nullable || x.Kind == logical.Left || x.Kind == logical.Full, rels)
		if left != x.L || right != x.R {
			n = x.WithInputs([]logical.Node{left, right})
		}
		return n, rels
	}
	alias, ok := b.derivedAs[n]
	if !ok || !named(alias) {
		return n, rels
	}
	refuse()
	inside := b.lockInside(n, l)
	b.derivedAs[inside] = alias
	return inside, rels
}

// lockScan adds a table to those that are locked. Of several clauses the strongest holds.
func (b *Binder) lockScan(sc *logical.Scan, l ast.Locking, rels []logical.LockRel) []logical.LockRel {
	b.allow(sc.Rel, catalog.Update)
	b.locks = append(b.locks, Lock{sc.Rel, "FOR " + l.Strength})
	to := logical.LockRel{Rel: sc.Rel, Cols: sc.Out, Strength: strengths[l.Strength], NoWait: l.NoWait, SkipLocked: l.SkipLocked}
	for i, r := range rels {
		if r.Cols[0] == sc.Out[0] {
			rels[i].Strength = max(r.Strength, to.Strength)
			rels[i].NoWait = r.NoWait || to.NoWait
			rels[i].SkipLocked = !rels[i].NoWait && (r.SkipLocked || to.SkipLocked)
			return rels
		}
	}
	return append(rels, to)
}

// lockInside locks the tables of a subquery or view.
func (b *Binder) lockInside(n logical.Node, l ast.Locking) logical.Node {
	if sc, ok := n.(*logical.Scan); ok {
		if sc.Rel.Kind != catalog.Table || len(sc.Out) == 0 {
			return n
		}
		return &logical.Lock{In: sc, Rels: b.lockScan(sc, l, nil)}
	}
	ins := n.Inputs()
	if len(ins) == 0 {
		return n
	}
	nins := make([]logical.Node, len(ins))
	for i, in := range ins {
		nins[i] = b.lockInside(in, l)
	}
	return n.WithInputs(nins)
}

// locked puts the locking above the projection of a query, which is made to pass what that needs.
func locked(m *logical.Meta, n logical.Node, order []logical.Order, rels []logical.LockRel) logical.Node {
	if len(rels) == 0 {
		return n
	}
	l := &logical.Lock{In: n, Order: dedupOrder(order), Rels: rels}
	p, ok := n.(*logical.Project)
	if !ok {
		return l
	}
	have := logical.OutSet(p)
	c := &logical.Project{In: p.In, Exprs: slices.Clone(p.Exprs)}
	for _, id := range l.Used().Sorted() {
		if !have.Has(id) {
			c.Exprs = append(c.Exprs, logical.ProjCol{ID: id, Expr: m.Ref(id)})
		}
	}
	l.In = c
	return l
}
