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
	// NoWait: an error instead of waiting. SkipLocked: without rows that others have locked.
	NoWait, SkipLocked bool
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

// lockRows notes the tables that a query locks; from is what its FROM gives.
func (b *Binder) lockRows(s *scope, c *ast.SelectCore, q *ast.Select, from logical.Node) {
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
		var of []string
		for _, n := range l.Of {
			name := n.Parts[len(n.Parts)-1]
			if !fromNames(c.From, name) {
				fail(sqlerr.UndefinedTable, n.Pos, "relation \"%s\" in FOR %s clause not found in FROM clause", name, l.Strength)
			}
			of = append(of, name)
		}
		b.lockScans(from, l, of)
	}
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

func (b *Binder) lockScans(n logical.Node, l ast.Locking, of []string) {
	if sc, ok := n.(*logical.Scan); ok && sc.Rel.Kind == catalog.Table && (of == nil || slices.Contains(of, sc.Alias)) {
		b.allow(sc.Rel, catalog.Update)
		b.locks = append(b.locks, Lock{sc.Rel, l.NoWait, l.SkipLocked, "FOR " + l.Strength})
	}
	for _, in := range n.Inputs() {
		b.lockScans(in, l, of)
	}
}
