package ast

// Merge is MERGE INTO Table USING Source ON On and its WHEN clauses.
type Merge struct {
	With   *With
	Table  TableRef
	Source TableExpr
	On     Expr
	Whens  []MergeWhen
	Pos    int
}

// MergeWhen is WHEN [NOT] MATCHED [AND Cond] THEN what Action says.
type MergeWhen struct {
	Matched bool
	Cond    Expr // nil: none
	Action  MergeAction
	// Set is of UPDATE.
	Set []SetClause
	// Columns, Overriding and Values are of INSERT; Values nil means DEFAULT VALUES.
	Columns    []ColumnTarget
	Overriding string
	Values     []Expr
	Pos        int
}

// MergeAction is what a WHEN clause does.
type MergeAction uint8

// The actions of MERGE.
const (
	MergeNothing MergeAction = iota
	MergeUpdate
	MergeDelete
	MergeInsert
)

func (*Merge) stmt() {}
