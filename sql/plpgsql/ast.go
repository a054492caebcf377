// Package plpgsql reads the part of PL/pgSQL that Weir runs in DO blocks: text in, a tree out. It knows the statements of the
// language; SQL inside of them stays text, with its offset in the body.
//
// What PL/pgSQL has and Weir has not is refused by its name (0A000): cursors, CALL, COMMIT and ROLLBACK, slices, assignment to
// parts of arrays. The rest is a syntax error, at the token at which PostgreSQL finds it.
package plpgsql

// Expr is an SQL expression or statement as written, with where it stands.
type Expr struct {
	Text string
	// Pos is the offset in the body, Line the line there, counted from 1.
	Pos, Line int
}

// Stmt is a statement of PL/pgSQL.
type Stmt interface {
	// At is the line of the statement, and What what messages call it.
	At() int
	What() string
}

// Line is the line on which a statement begins.
type Line int

// At gives the line.
func (l Line) At() int { return int(l) }

// Target is a variable or a field of a record, by its name.
type Target struct {
	Parts []string
	Pos   int
}

// Decl declares a variable.
type Decl struct {
	Name string
	// Type is the name of the type, "record" included. Like is set for %TYPE and RowOf for %ROWTYPE, which then stand for the
	// name before the sign.
	Type        string
	Like, RowOf bool
	Constant    bool
	NotNull     bool
	// Default is nil if there is none.
	Default *Expr
	// Alias is another name of a variable, instead of all that.
	Alias string
	Pos   int
	Line  int
}

// Handler is one WHEN of EXCEPTION.
type Handler struct {
	// Conditions are names in lower case, or SQLSTATEs of five characters in upper case with a leading "=".
	Conditions []string
	Pos        int
	Body       []Stmt
}

// Arm is a condition with what it leads to.
type Arm struct {
	Conds []Expr
	Body  []Stmt
}

// Query is where the rows of FOR come from, or a statement to run.
type Query struct {
	// SQL is the statement itself, or with Dynamic an expression that gives it; Using are its parameters.
	SQL     Expr
	Dynamic bool
	Using   []Expr
}

// Into is where the row of a statement goes.
type Into struct {
	Targets []Target
	Strict  bool
}

// The statements.
type (
	// Block is DECLARE ... BEGIN ... EXCEPTION ... END.
	Block struct {
		Line
		Label    string
		Decls    []Decl
		Body     []Stmt
		Handlers []Handler
	}
	// Assign is variable := expression.
	Assign struct {
		Line
		Target Target
		Value  Expr
	}
	// If is IF ... ELSIF ... ELSE.
	If struct {
		Line
		Arms []Arm
		Else []Stmt
	}
	// Case is CASE with or without an operand. HasElse tells an empty ELSE from none.
	Case struct {
		Line
		Operand *Expr
		Arms    []Arm
		Else    []Stmt
		HasElse bool
	}
	// Loop is LOOP, or with While set WHILE.
	Loop struct {
		Line
		Label string
		While *Expr
		Body  []Stmt
	}
	// ForInt is FOR over integers. By is nil for 1.
	ForInt struct {
		Line
		Label    string
		Var      string
		From, To Expr
		By       *Expr
		Reverse  bool
		Body     []Stmt
	}
	// ForQuery is FOR over rows. With Each it is FOREACH: SQL gives the elements of an array.
	ForQuery struct {
		Line
		Label string
		Vars  []Target
		Query Query
		Each  bool
		Body  []Stmt
	}
	// Exit is EXIT or CONTINUE.
	Exit struct {
		Line
		Continue bool
		Label    string
		When     *Expr
	}
	// Return is RETURN.
	Return struct{ Line }
	// Raise is RAISE. Without a level, a format and a condition it raises the error that is being handled again.
	Raise struct {
		Line
		// Level is debug, log, info, notice, warning or exception.
		Level string
		// Format is nil if there is none; Args are what its % stand for.
		Format *string
		Args   []Expr
		// Condition is as in Handler, "" for none.
		Condition string
		// Options are those of USING, names in lower case.
		Options []Option
		Pos     int
	}
	// Assert is ASSERT.
	Assert struct {
		Line
		Cond    Expr
		Message *Expr
	}
	// Perform is PERFORM: a query whose rows are dropped. SQL begins with SELECT.
	Perform struct {
		Line
		SQL Expr
	}
	// SQL is a statement of SQL.
	SQL struct {
		Line
		Query Query
		Into  *Into
	}
	// Diagnostics is GET DIAGNOSTICS. Items are names in lower case.
	Diagnostics struct {
		Line
		Stacked bool
		Targets []Target
		Items   []string
	}
	// Null is NULL.
	Null struct{ Line }
)

// Option is an option of RAISE ... USING.
type Option struct {
	Name  string
	Value Expr
	Pos   int
}

// What names a block.
func (*Block) What() string { return "statement block" }

// What names an assignment.
func (*Assign) What() string { return "assignment" }

// What names an IF.
func (*If) What() string { return "IF" }

// What names a CASE.
func (*Case) What() string { return "CASE" }

// What names a loop.
func (l *Loop) What() string {
	if l.While != nil {
		return "WHILE"
	}
	return "LOOP"
}

// What names a FOR over integers.
func (*ForInt) What() string { return "FOR with integer loop variable" }

// What names a FOR over rows.
func (f *ForQuery) What() string {
	switch {
	case f.Each:
		return "FOREACH over array"
	case f.Query.Dynamic:
		return "FOR over EXECUTE statement"
	}
	return "FOR over SELECT rows"
}

// What names an EXIT.
func (e *Exit) What() string {
	if e.Continue {
		return "CONTINUE"
	}
	return "EXIT"
}

// What names a RETURN.
func (*Return) What() string { return "RETURN" }

// What names a RAISE.
func (*Raise) What() string { return "RAISE" }

// What names an ASSERT.
func (*Assert) What() string { return "ASSERT" }

// What names a PERFORM.
func (*Perform) What() string { return "PERFORM" }

// What names a statement of SQL.
func (s *SQL) What() string {
	if s.Query.Dynamic {
		return "EXECUTE"
	}
	return "SQL statement"
}

// What names GET DIAGNOSTICS.
func (d *Diagnostics) What() string {
	if d.Stacked {
		return "GET STACKED DIAGNOSTICS"
	}
	return "GET DIAGNOSTICS"
}

// What names a NULL.
func (*Null) What() string { return "NULL" }
