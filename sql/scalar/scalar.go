// Package scalar is the typed form of scalar expressions: what the planner makes of an ast.Expr
// once names and overloads are resolved, and what exec/expr compiles to kernels. Every cast is
// explicit; every function is chosen.
package scalar

import (
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// Expr is a typed expression over the columns of one input row.
type Expr interface {
	Type() types.Type
	// Position is the byte offset in the statement for errors, or sqlerr.NoPos.
	Position() int
}

// Node is the part that all expressions share.
type Node struct {
	T   types.Type
	Pos int
}

// Type gives the result type.
func (n Node) Type() types.Type { return n.T }

// Position gives the offset in the statement.
func (n Node) Position() int { return n.Pos }

type (
	// Column is input column Index. Name is for EXPLAIN only.
	Column struct {
		Node
		Index int
		Name  string
	}
	// Const is a constant.
	Const struct {
		Node
		Val types.Datum
	}
	// Param is $N (from 1). Replaced by a Const before execution.
	Param struct {
		Node
		N int
	}
	// Call applies a function, operator or cast of the registry. The argument types are those of
	// the function, casts included.
	Call struct {
		Node
		Fn   *fn.Func
		Args []Expr
	}
	// And, Or: three-valued, evaluated left to right; a later argument is not evaluated for rows
	// that are decided. Not, IsNull as usual.
	And struct {
		Node
		Args []Expr
	}
	// Or is a disjunction, see And.
	Or struct {
		Node
		Args []Expr
	}
	// Not is three-valued negation.
	Not struct {
		Node
		X Expr
	}
	// IsNull is X IS NULL, with Not X IS NOT NULL.
	IsNull struct {
		Node
		X   Expr
		Not bool
	}
	// IsBool is X IS [NOT] TRUE (Val true) or FALSE.
	IsBool struct {
		Node
		X   Expr
		Val bool
		Not bool
	}
	// Distinct is L IS DISTINCT FROM R, with Not its negation; both sides have one type.
	Distinct struct {
		Node
		L, R Expr
		Not  bool
	}
	// Case is the searched CASE. A missing ELSE is a NULL Const. Arms are evaluated lazily.
	Case struct {
		Node
		Whens []When
		Else  Expr
	}
	// Coalesce is lazy; all arguments have the result type.
	Coalesce struct {
		Node
		Args []Expr
	}
	// MinMax is GREATEST or LEAST over arguments of the result type; NULLs are ignored.
	MinMax struct {
		Node
		Least bool
		Args  []Expr
	}
	// In is X [NOT] IN (constants or expressions of X's type).
	In struct {
		Node
		X    Expr
		List []Expr
		Not  bool
	}
	// AnyAll is L Op ANY|ALL (R), R an array; Op takes (L, element).
	AnyAll struct {
		Node
		Op   *fn.Func
		All  bool
		L, R Expr
	}
	// MakeArray is ARRAY[...]; all elements have the element type, or for nested arrays are arrays.
	MakeArray struct {
		Node
		Elems []Expr
	}
	// MakeRow is ROW(...), or with Names the row of a relation.
	MakeRow struct {
		Node
		Elems []Expr
		// Names are those of the columns, for functions that make JSON of the row; nil for ROW(...).
		Names []string
	}
)

// When is an arm of Case; Cond is bool.
type When struct{ Cond, Result Expr }
