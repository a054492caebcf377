package ast

// Statements that make and change types.
type (
	// CreateType is CREATE TYPE name AS ENUM (...), if Enum, or AS (...).
	CreateType struct {
		Name   Name
		Enum   bool
		Labels []string
		Attrs  []ColumnDef
		Pos    int
	}
	// CreateDomain is CREATE DOMAIN. Its constraints are NOT NULL, NULL, CHECK and DEFAULT.
	CreateDomain struct {
		Name        Name
		Type        TypeName
		Collation   *Name
		Constraints []ColumnConstraint
		Pos         int
	}
	// AlterUserType is ALTER TYPE or, with Domain, ALTER DOMAIN.
	AlterUserType struct {
		Name   Name
		Domain bool
		// Action is "rename", "set_schema", "owner"; of enums "add_value" and "rename_value"; of composite types "rename_attribute" and
		// "attributes"; of domains "set_default", "drop_default", "set_not_null", "drop_not_null", "add_constraint",
		// "drop_constraint", "rename_constraint" and "validate_constraint".
		Action string
		// NewName is the new name of the type, the attribute, the constraint or the label; the schema; or the owner.
		NewName string
		// Old is the label, attribute or constraint that is changed; of ADD VALUE the new label.
		Old string
		// Before and After are the neighbour of a new label, nil if it is the last.
		Before, After *string
		// IfNotExists is of ADD VALUE, IfExists of DROP CONSTRAINT.
		IfNotExists, IfExists bool
		Attrs                 []AlterAttribute
		Default               Expr
		DefaultText           string
		Constraint            *ColumnConstraint
		NotValid              bool
		Cascade               bool
		Pos                   int
	}
)

// AlterAttribute is one change of a composite type: "add", "drop" or "alter".
type AlterAttribute struct {
	Action   string
	Def      ColumnDef // of "drop" only its name
	IfExists bool
	Cascade  bool
	Pos      int
}

func (*CreateType) stmt()    {}
func (*CreateDomain) stmt()  {}
func (*AlterUserType) stmt() {}
