package bind

import (
	"github.com/weirdb/weir/sql/ast"
)

// columnName is the name of an unnamed result column, as Postgres derives it.
func (b *Binder) columnName(e ast.Expr) string {
	name, _ := b.figureName(e)
	if name == "" {
		return "?column?"
	}
	return name
}

// figureName gives a name and how good it is: 2 as from a column or function, 1 from a type or
// CASE, 0 none.
func (b *Binder) figureName(e ast.Expr) (string, int) {
	switch e := e.(type) {
	case *ast.ColumnRef:
		return e.Parts[len(e.Parts)-1], 2
	case *ast.Field:
		if e.Name != "*" {
			return e.Name, 2
		}
	case *ast.Subscript:
		return b.figureName(e.X)
	case *ast.Func:
		return e.Name.Parts[len(e.Name.Parts)-1], 2
	case *ast.NullIf:
		return "nullif", 2
	case *ast.Cast:
		if n, s := b.figureName(e.X); s > 1 {
			return n, s
		}
		return b.typeColumnName(e.Type), 1
	case *ast.TypedLit:
		return b.typeColumnName(e.Type), 1
	case *ast.Collate:
		return b.figureName(e.X)
	case *ast.AtTimeZone:
		return "timezone", 2
	case *ast.Overlaps:
		return "overlaps", 2
	case *ast.Subquery:
		if e.Exists {
			return "exists", 2
		}
		if n := b.firstColumn(e.Query); n != "" {
			return n, 2
		}
	case *ast.ArrayQuery, *ast.Array:
		return "array", 2
	case *ast.Case:
		if e.Else != nil {
			if n, s := b.figureName(e.Else); s > 1 {
				return n, s
			}
		}
		return "case", 1
	case *ast.Row:
		return "row", 2
	case *ast.Coalesce:
		return "coalesce", 2
	case *ast.MinMax:
		if e.Least {
			return "least", 2
		}
		return "greatest", 2
	}
	return "", 0
}

// typeColumnName is a type's catalog name.
func (b *Binder) typeColumnName(t ast.TypeName) string {
	r, d, err := ResolveType(b.cfg.Catalog, b.cfg.SearchPath, t)
	if err != nil {
		return t.Name.Parts[len(t.Name.Parts)-1]
	}
	if d != nil {
		return d.Name
	}
	if k := r.UserKind(); k != 0 {
		return b.cfg.Catalog.UserType(k).Name
	}
	if r.Elem != 0 && !r.IsVector() {
		return r.ElemType().Name()
	}
	return r.Name()
}

// firstColumn is the name of a query's first result column.
func (b *Binder) firstColumn(q *ast.Select) string {
	switch body := q.Body.(type) {
	case *ast.SelectCore:
		if len(body.Targets) > 0 {
			if body.Targets[0].Alias != "" {
				return body.Targets[0].Alias
			}
			return b.columnName(body.Targets[0].Expr)
		}
	case *ast.SetOp:
		return b.firstColumn(body.L)
	case *ast.Values:
		return "column1"
	case *ast.Select:
		return b.firstColumn(body)
	}
	return ""
}
