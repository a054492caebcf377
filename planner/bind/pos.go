package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/scalar"
)

// leftmost is where an expression begins: errors about an expression as a whole point there, those about
// an operator at the operator.
func leftmost(e ast.Expr) int {
	pos := e.Position()
	try := func(x ast.Expr) {
		if x == nil {
			return
		}
		if p := leftmost(x); p >= 0 && (p < pos || pos < 0) {
			pos = p
		}
	}
	switch e := e.(type) {
	case *ast.Binary:
		try(e.L)
	case *ast.And:
		try(e.Args[0])
	case *ast.Or:
		try(e.Args[0])
	case *ast.Is:
		try(e.X)
	case *ast.IsDistinct:
		try(e.L)
	case *ast.Between:
		try(e.X)
	case *ast.InList:
		try(e.X)
	case *ast.Like:
		try(e.X)
	case *ast.AnyAll:
		try(e.L)
	case *ast.Cast:
		try(e.X)
	case *ast.Collate:
		try(e.X)
	case *ast.AtTimeZone:
		try(e.X)
	case *ast.Subscript:
		try(e.X)
	case *ast.Field:
		try(e.X)
	case *ast.InQuery:
		try(e.X)
	case *ast.AnyAllQuery:
		try(e.X)
	}
	return pos
}

// start is leftmost for a bound expression.
func start(e scalar.Expr) int {
	pos := e.Position()
	for _, c := range logical.Children(e) {
		if c == nil {
			continue
		}
		if p := start(c); p >= 0 && (p < pos || pos < 0) {
			pos = p
		}
	}
	return pos
}

// firstColumnPos is the position of the first column in e.
func firstColumnPos(e scalar.Expr) int {
	pos := -1
	logical.WalkExpr(e, func(x scalar.Expr) bool {
		if c, ok := x.(*scalar.Column); ok && pos < 0 {
			pos = c.Pos
		}
		return true
	})
	return pos
}
