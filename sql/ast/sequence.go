package ast

// Statements that make and change sequences.
type (
	// CreateSequence is CREATE SEQUENCE.
	CreateSequence struct {
		Name        Name
		IfNotExists bool
		Temporary   bool
		Options     []SequenceOption
		Pos         int
	}
	// AlterSequence is ALTER SEQUENCE with options; what it has in common with other objects (RENAME, OWNER, SCHEMA) is an Alter.
	AlterSequence struct {
		Name     Name
		IfExists bool
		Options  []SequenceOption
		Pos      int
	}
)

// SequenceOption is one option of a sequence. Name is "as" with Type; "increment", "minvalue", "maxvalue", "start",
// "restart" or "cache" with Value, which is nil for NO MINVALUE, NO MAXVALUE and RESTART alone; "cycle" with On; "owned by"
// with Owner, nil for NONE; "sequence name" with Owner.
type SequenceOption struct {
	Name  string
	Value *int64
	Type  TypeName
	On    bool
	Owner *Name
	Pos   int
}

func (*CreateSequence) stmt() {}
func (*AlterSequence) stmt()  {}

// CreateExtension is CREATE EXTENSION.
type CreateExtension struct {
	Name        string
	IfNotExists bool
	Pos         int
}

func (*CreateExtension) stmt() {}
