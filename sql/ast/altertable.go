package ast

// AlterTable is ALTER TABLE with actions on columns and constraints. What it has in common with other objects alone (RENAME TO, SET
// SCHEMA, OWNER TO) is an Alter.
type AlterTable struct {
	Kind     ObjectKind
	Name     Name
	IfExists bool
	Actions  []AlterAction
	Pos      int
}

// AlterAction is one action of ALTER TABLE, see AlterKind.
type AlterAction struct {
	Kind AlterKind
	// Column is the column that is dropped or changed, Name the constraint, or the new name of a renamed thing, or the new owner.
	Column, Name string
	// Def is the new column, or in Def.Type and Def.Collation the new type of a column.
	Def *ColumnDef
	// Constraint is the new one.
	Constraint *TableConstraint
	// Index names the index of ADD CONSTRAINT ... USING INDEX.
	Index string
	// Expr is the new default, or USING, with its text.
	Expr     Expr
	ExprText string
	// Sequence are the options of an identity column; Always as in ColumnConstraint, and AlwaysSet: it was said.
	Sequence          []SequenceOption
	Always, AlwaysSet bool
	NotValid          bool
	// IfExists stands for IF NOT EXISTS when something is added.
	IfExists, Cascade bool
	Pos               int
}

// AlterKind is what an action does.
type AlterKind uint8

// The actions.
const (
	AddColumn AlterKind = iota
	DropColumn
	AlterType
	SetDefault
	DropDefault
	SetNotNull
	DropNotNull
	DropExpression
	AddIdentity
	SetIdentity
	DropIdentity
	AddConstraint
	DropConstraint
	ValidateConstraint
	ChangeOwner
	// Accepted has no effect here: storage parameters, statistics targets, clustering.
	Accepted
	RenameColumn
	RenameConstraint
)

func (*AlterTable) stmt() {}
