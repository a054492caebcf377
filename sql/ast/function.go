package ast

type (
	// FuncParam is a parameter of CREATE FUNCTION, or a column of RETURNS TABLE.
	FuncParam struct {
		Name string // "" for none
		// Mode is "in", "out", "inout", "variadic" or "table".
		Mode string
		Type TypeName
		// Default is the default value, nil for none, and DefaultText its text.
		Default     Expr
		DefaultText string
		Pos         int
	}
	// FuncOption is an attribute of CREATE or ALTER FUNCTION: volatility (immutable, stable, volatile), strict (true,
	// false), security (definer, invoker), leakproof (true, false), parallel, cost, rows, support, set (with Setting).
	FuncOption struct {
		Name, Value string
		Setting     string
		Pos         int
	}
	// CreateFunction is CREATE [OR REPLACE] FUNCTION.
	CreateFunction struct {
		Name      Name
		OrReplace bool
		Params    []FuncParam // the columns of RETURNS TABLE come last
		// Returns is the result type, nil if it was not said; with SetOf a set of such values.
		Returns  *TypeName
		SetOf    bool
		Language string // in lower case, "" if it was not said
		Options  []FuncOption
		// Body is the text of AS '...'. HasBody: there was one.
		Body    string
		HasBody bool
		// Query is the body that was written as SQL: RETURN expr or BEGIN ATOMIC query; END; QueryText its text, and Form
		// "return" or "atomic".
		Query     *Select
		QueryText string
		Form      string
		Pos       int
	}
	// FuncRef names a function by its name and, if Listed, the types of its input parameters.
	FuncRef struct {
		Name   Name
		Args   []TypeName
		Listed bool
	}
)

func (*CreateFunction) stmt() {}
