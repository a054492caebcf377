package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
)

func (w *writer) statement(s ast.Statement) {
	switch s := s.(type) {
	case *ast.Select:
		w.query(s)
	case *ast.Insert:
		w.insert(s)
	case *ast.Update:
		w.with(s.With)
		w.puts("UPDATE ")
		w.target(s.Table)
		w.puts(" SET ")
		w.sets(s.Set)
		if len(s.From) > 0 {
			w.puts(" FROM ")
			w.from(s.From)
		}
		w.clause(" WHERE ", s.Where)
		w.returning(s.Returning)
	case *ast.Delete:
		w.with(s.With)
		w.puts("DELETE FROM ")
		w.target(s.Table)
		if len(s.Using) > 0 {
			w.puts(" USING ")
			w.from(s.Using)
		}
		w.clause(" WHERE ", s.Where)
		w.returning(s.Returning)
	case *ast.Merge:
		w.merge(s)
	}
}

func (w *writer) merge(s *ast.Merge) {
	w.with(s.With)
	w.puts("MERGE INTO ")
	w.target(s.Table)
	w.puts(" USING ")
	w.from([]ast.TableExpr{s.Source})
	w.clause(" ON ", s.On)
	for _, k := range s.Whens {
		w.puts(map[bool]string{true: " WHEN MATCHED", false: " WHEN NOT MATCHED"}[k.Matched])
		w.clause(" AND ", k.Cond)
		w.puts(" THEN ")
		switch k.Action {
		case ast.MergeNothing:
			w.puts("DO NOTHING")
		case ast.MergeDelete:
			w.puts("DELETE")
		case ast.MergeUpdate:
			w.puts("UPDATE SET ")
			w.sets(k.Set)
		case ast.MergeInsert:
			w.puts("INSERT ")
			if len(k.Columns) > 0 {
				w.columnTargets(k.Columns)
				w.puts(" ")
			}
			if k.Overriding != "" {
				w.puts("OVERRIDING ", strings.ToUpper(k.Overriding), " VALUE ")
			}
			if k.Values == nil {
				w.puts("DEFAULT VALUES")
				break
			}
			w.puts("VALUES (")
			w.list(len(k.Values), func(i int) { w.expr(k.Values[i]) })
			w.puts(")")
		}
	}
}

// clause writes an optional clause.
func (w *writer) clause(word string, e ast.Expr) {
	if e != nil {
		w.puts(word)
		w.expr(e)
	}
}

func (w *writer) target(t ast.TableRef) {
	if t.Only {
		w.puts("ONLY ")
	}
	w.path(t.Name.Parts)
	w.alias(t.Alias)
}

func (w *writer) returning(list []ast.Target) {
	if len(list) > 0 {
		w.puts(" RETURNING ")
		w.targets(list)
	}
}

func (w *writer) sets(sets []ast.SetClause) {
	w.list(len(sets), func(i int) {
		s := sets[i]
		// A list of one column is written with parentheses only if its value is a row of one.
		if row, ok := s.Value.(*ast.Row); len(s.Columns) > 1 || ok && len(row.Elems) == 1 {
			w.columnTargets(s.Columns)
		} else {
			w.ident(s.Columns[0].Name)
		}
		w.puts(" = ")
		w.expr(s.Value)
	})
}

func (w *writer) columnTargets(cols []ast.ColumnTarget) {
	w.puts("(")
	w.list(len(cols), func(i int) { w.ident(cols[i].Name) })
	w.puts(")")
}

func (w *writer) insert(s *ast.Insert) {
	w.with(s.With)
	w.puts("INSERT INTO ")
	w.path(s.Table.Parts)
	if s.Alias != "" {
		w.puts(" AS ")
		w.ident(s.Alias)
	}
	if len(s.Columns) > 0 {
		w.puts(" ")
		w.columnTargets(s.Columns)
	}
	switch s.Overriding {
	case "system":
		w.puts(" OVERRIDING SYSTEM VALUE")
	case "user":
		w.puts(" OVERRIDING USER VALUE")
	}
	if s.Query == nil {
		w.puts(" DEFAULT VALUES")
	} else {
		w.puts(" ")
		w.query(s.Query)
	}
	if c := s.OnConflict; c != nil {
		w.puts(" ON CONFLICT")
		if len(c.Columns) > 0 {
			w.puts(" (")
			w.list(len(c.Columns), func(i int) {
				if col, ok := c.Columns[i].(*ast.ColumnRef); ok && len(col.Parts) == 1 {
					w.expr(col)
					return
				}
				w.puts("(")
				w.expr(c.Columns[i])
				w.puts(")")
			})
			w.puts(")")
			w.clause(" WHERE ", c.Where)
		}
		if c.Constraint != "" {
			w.puts(" ON CONSTRAINT ")
			w.ident(c.Constraint)
		}
		if !c.DoUpdate {
			w.puts(" DO NOTHING")
		} else {
			w.puts(" DO UPDATE SET ")
			w.sets(c.Set)
			w.clause(" WHERE ", c.SetWhere)
		}
	}
	w.returning(s.Returning)
}

func (w *writer) with(c *ast.With) {
	if c == nil {
		return
	}
	w.puts("WITH ")
	if c.Recursive {
		w.puts("RECURSIVE ")
	}
	w.list(len(c.CTEs), func(i int) {
		t := c.CTEs[i]
		w.ident(t.Name)
		if len(t.Columns) > 0 {
			w.idents(t.Columns)
		}
		w.puts(" AS ")
		if t.Materialized != nil {
			w.puts(negated(!*t.Materialized, "MATERIALIZED"), " ")
		}
		w.puts("(")
		w.statement(t.Query)
		w.puts(")")
		w.traversal(&t)
	})
	w.puts(" ")
}

// traversal writes the SEARCH and CYCLE clauses of a WITH item.
func (w *writer) traversal(t *ast.CTE) {
	names := func(ns []string) {
		w.list(len(ns), func(i int) { w.ident(ns[i]) })
	}
	if s := t.Search; s != nil {
		order := "DEPTH"
		if s.Breadth {
			order = "BREADTH"
		}
		w.puts(" SEARCH ", order, " FIRST BY ")
		names(s.Columns)
		w.puts(" SET ")
		w.ident(s.Set)
	}
	if y := t.Cycle; y != nil {
		w.puts(" CYCLE ")
		names(y.Columns)
		w.puts(" SET ")
		w.ident(y.Mark)
		w.puts(" TO ")
		w.expr(y.Value)
		w.puts(" DEFAULT ")
		w.expr(y.Default)
		w.puts(" USING ")
		w.ident(y.Path)
	}
}

func (w *writer) query(s *ast.Select) {
	w.with(s.With)
	switch b := s.Body.(type) {
	case *ast.SelectCore:
		w.core(b)
	case *ast.SetOp:
		w.puts("(")
		w.query(b.L)
		w.puts([...]string{") UNION ", ") INTERSECT ", ") EXCEPT "}[b.Op])
		if b.All {
			w.puts("ALL ")
		}
		w.puts("(")
		w.query(b.R)
		w.puts(")")
	case *ast.Values:
		w.puts("VALUES ")
		w.list(len(b.Rows), func(i int) {
			w.puts("(")
			w.exprs(b.Rows[i])
			w.puts(")")
		})
	case *ast.Select:
		w.puts("(")
		w.query(b)
		w.puts(")")
	}
	if len(s.OrderBy) > 0 {
		w.puts(" ")
		w.orderBy(s.OrderBy)
	}
	if s.Offset != nil {
		w.puts(" OFFSET ")
		w.operand(s.Offset)
	}
	switch {
	case s.WithTies:
		w.puts(" FETCH FIRST (")
		if s.Limit == nil {
			w.puts("NULL")
		} else {
			w.expr(s.Limit)
		}
		w.puts(") ROWS WITH TIES")
	case s.Limit != nil:
		w.puts(" LIMIT ")
		w.operand(s.Limit)
	}
	for _, l := range s.Locking {
		w.puts(" FOR " + l.Strength)
		for i, n := range l.Of {
			if i == 0 {
				w.puts(" OF ")
			} else {
				w.puts(", ")
			}
			w.path(n.Parts)
		}
		switch {
		case l.NoWait:
			w.puts(" NOWAIT")
		case l.SkipLocked:
			w.puts(" SKIP LOCKED")
		}
	}
}

func (w *writer) core(c *ast.SelectCore) {
	w.puts("SELECT ")
	if c.Distinct {
		w.puts("DISTINCT ")
		if len(c.DistinctOn) > 0 {
			w.puts("ON (")
			w.exprs(c.DistinctOn)
			w.puts(") ")
		}
	}
	w.targets(c.Targets)
	if len(c.From) > 0 {
		w.puts(" FROM ")
		w.from(c.From)
	}
	w.clause(" WHERE ", c.Where)
	if len(c.GroupBy) > 0 {
		w.puts(" GROUP BY ")
		if c.GroupDist {
			w.puts("DISTINCT ")
		}
		w.groupItems(c.GroupBy)
	}
	w.clause(" HAVING ", c.Having)
	if len(c.Windows) > 0 {
		w.puts(" WINDOW ")
		w.list(len(c.Windows), func(i int) {
			w.ident(c.Windows[i].Name)
			w.puts(" AS ")
			w.window(&c.Windows[i].Spec)
		})
	}
}

func (w *writer) targets(list []ast.Target) {
	w.list(len(list), func(i int) {
		t := list[i]
		if _, ok := t.Expr.(*ast.Star); ok {
			w.expr(t.Expr)
		} else {
			w.operand(t.Expr)
		}
		if t.Alias != "" {
			w.puts(" AS ")
			w.ident(t.Alias)
		}
	})
}

func (w *writer) groupItems(items []ast.GroupItem) {
	w.list(len(items), func(i int) {
		it := items[i]
		word := map[ast.GroupKind]string{
			ast.GroupRollup: "ROLLUP", ast.GroupCube: "CUBE", ast.GroupGroupingSets: "GROUPING SETS ",
		}[it.Kind]
		if it.Kind == ast.GroupExpr {
			w.operand(it.Expr)
			return
		}
		w.puts(word, "(")
		w.groupItems(it.Sets)
		w.puts(")")
	})
}

func (w *writer) from(list []ast.TableExpr) {
	w.list(len(list), func(i int) { w.table(list[i]) })
}

func (w *writer) alias(a *ast.Alias) {
	if a == nil {
		return
	}
	w.puts(" AS ")
	if a.Name != "" {
		w.ident(a.Name)
	}
	switch {
	case len(a.Defs) > 0:
		w.puts("(")
		w.list(len(a.Defs), func(i int) {
			w.ident(a.Defs[i].Name)
			w.puts(" ")
			w.typeName(a.Defs[i].Type)
			if a.Defs[i].Collation != nil {
				w.puts(" COLLATE ")
				w.path(a.Defs[i].Collation.Parts)
			}
		})
		w.puts(")")
	case len(a.Columns) > 0:
		w.idents(a.Columns)
	}
}

func (w *writer) table(t ast.TableExpr) {
	switch t := t.(type) {
	case *ast.TableRef:
		if t.Only {
			w.puts("ONLY ")
		}
		w.path(t.Name.Parts)
		if t.AsOf != nil {
			w.puts(" FOR SYSTEM_TIME AS OF ")
			w.operand(t.AsOf)
		}
		w.alias(t.Alias)
	case *ast.DerivedTable:
		if t.Lateral {
			w.puts("LATERAL ")
		}
		w.puts("(")
		w.query(t.Query)
		w.puts(")")
		w.alias(t.Alias)
	case *ast.FuncTable:
		if t.Lateral {
			w.puts("LATERAL ")
		}
		if len(t.Funcs) == 1 {
			w.call(t.Funcs[0])
		} else {
			w.puts("ROWS FROM (")
			w.list(len(t.Funcs), func(i int) { w.call(t.Funcs[i]) })
			w.puts(")")
		}
		if t.Ordinality {
			w.puts(" WITH ORDINALITY")
		}
		w.alias(t.Alias)
	case *ast.Join:
		w.puts("(")
		w.table(t.L)
		switch {
		case t.Natural:
			w.puts(" NATURAL")
		case t.AsOf:
			w.puts(" ASOF")
		}
		w.puts([...]string{" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " CROSS JOIN "}[t.Kind])
		w.table(t.R)
		w.clause(" ON ", t.On)
		if len(t.Using) > 0 {
			w.puts(" USING ")
			w.idents(t.Using)
			if t.UsingAlias != "" {
				w.puts(" AS ")
				w.ident(t.UsingAlias)
			}
		}
		w.puts(")")
		w.alias(t.Alias)
	}
}
