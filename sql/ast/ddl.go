package ast

// ColumnDef is a column of CREATE TABLE, CREATE SOURCE or a function alias.
type ColumnDef struct {
	Name        string
	Type        TypeName
	Collation   *Name
	Constraints []ColumnConstraint
	Pos         int
}

// ColumnConstraint is one constraint or property of a column.
type ColumnConstraint struct {
	Name string // of CONSTRAINT name, else ""
	Kind ConstraintKind
	// Expr is of CHECK, DEFAULT and GENERATED ALWAYS AS (expr) STORED.
	Expr Expr
	// ExprText is Expr as written, for the catalog.
	ExprText string
	// References is of a foreign key.
	References *References
	// NullsNotDistinct is of UNIQUE.
	NullsNotDistinct bool
	// Always tells GENERATED ALWAYS AS IDENTITY from BY DEFAULT; Sequence are the options in parentheses.
	Always   bool
	Sequence []SequenceOption
	Pos      int
}

// ConstraintKind is the kind of a column or table constraint.
type ConstraintKind uint8

// The constraint kinds.
const (
	ConNotNull ConstraintKind = iota
	ConNull
	ConDefault
	ConPrimaryKey
	ConUnique
	ConCheck
	ConForeignKey
	ConGenerated
	ConIdentity
)

// TableConstraint is a constraint of a table.
type TableConstraint struct {
	Name       string
	Kind       ConstraintKind
	Columns    []string
	Expr       Expr
	ExprText   string
	References *References
	// NullsNotDistinct is of UNIQUE.
	NullsNotDistinct bool
	// NotValid: rows that are there already are not checked (ALTER TABLE ... ADD ... NOT VALID).
	NotValid bool
	Pos      int
}

// References is the target of a foreign key.
type References struct {
	Table     Name
	Columns   []string
	MatchFull bool
	OnDelete  string // "", "cascade", "set null", "set default", "restrict", "no action"
	OnUpdate  string
	// SetColumns are those of ON DELETE SET NULL or DEFAULT (columns), nil for all.
	SetColumns           []string
	Deferrable, Deferred bool
}

// SetConstraints is SET CONSTRAINTS names (nil: ALL) DEFERRED or IMMEDIATE.
type SetConstraints struct {
	Names    []Name
	Deferred bool
	Pos      int
}

func (*SetConstraints) stmt() {}

// Option is one entry of WITH (...): names folded, values as text ("" and IsSet false for a bare name).
type Option struct {
	Name  string
	Value string
	IsSet bool
	Pos   int
}

// Watermark is WATERMARK FOR column AS expr.
type Watermark struct {
	Column string
	Expr   Expr
	// ExprText is Expr as written.
	ExprText string
	Pos      int
}

// Format is FORMAT x ENCODE y (options).
type Format struct {
	Format  string // plain, upsert, debezium, ... in lower case
	Encode  string // json, csv, ... in lower case
	Options []Option
	Pos     int
}

// DDL and utility statements.
type (
	// CreateTable is CREATE TABLE, with connector options if it has WITH (connector = ...).
	CreateTable struct {
		Name        Name
		IfNotExists bool
		Temporary   bool
		// OnCommit is "", "preserve rows", "delete rows" or "drop".
		OnCommit    string
		Columns     []ColumnDef
		Constraints []TableConstraint
		Watermark   *Watermark
		Options     []Option
		Format      *Format
		AppendOnly  bool
		As          *Select // CREATE TABLE AS
		AsText      string
		Pos         int
	}
	// CreateSource is CREATE SOURCE.
	CreateSource struct {
		Name        Name
		IfNotExists bool
		Columns     []ColumnDef // empty: the connector knows them
		Constraints []TableConstraint
		Watermark   *Watermark
		Options     []Option
		Format      *Format
		Pos         int
	}
	// CreateView is CREATE [OR REPLACE] [MATERIALIZED] VIEW.
	CreateView struct {
		Name         Name
		Materialized bool
		Temporary    bool
		OrReplace    bool
		IfNotExists  bool
		Columns      []string
		Options      []Option
		Query        *Select
		// QueryText is the query as written, for the catalog.
		QueryText         string
		EmitOnWindowClose bool
		WithNoData        bool
		Pos               int
	}
	// CreateSink is CREATE SINK name [INTO table [(columns)]] FROM rel | AS query [WITH (...)].
	CreateSink struct {
		Name        Name
		IfNotExists bool
		From        *Name
		Query       *Select
		QueryText   string
		Into        *Name
		IntoColumns []string
		Options     []Option
		Format      *Format
		// EmitOnWindowClose: rows come when they are final.
		EmitOnWindowClose bool
		Pos               int
	}
	// CreateIndex is CREATE INDEX.
	CreateIndex struct {
		Name             string // "" : chosen by the server
		Table            Name
		Unique           bool
		NullsNotDistinct bool
		Concurrently     bool
		IfNotExists      bool
		Columns          []OrderItem
		Texts            []string // the text of each expression of Columns
		Include          []string
		Where            Expr
		WhereText        string
		Pos              int
	}
	// CreateSchema is CREATE SCHEMA.
	CreateSchema struct {
		Name        string
		Owner       string // of AUTHORIZATION, else ""
		IfNotExists bool
		Pos         int
	}
	// Drop is DROP kind names.
	Drop struct {
		Kind  ObjectKind
		Names []Name
		// Funcs are what DROP FUNCTION names, instead of Names.
		Funcs    []FuncRef
		IfExists bool
		Cascade  bool
		Pos      int
	}
	// Truncate is TRUNCATE.
	Truncate struct {
		Tables  []Name
		Cascade bool
		Restart bool
		Pos     int
	}
	// Alter is ALTER kind name action; Action "rename" has NewName, "set_schema" has NewName,
	// "owner" has NewName, "resume" nothing, "set_options" has
	// Options. Others carry Unsupported text.
	//
	// "add_foreign_key" has Constraint; "drop_constraint" and "validate_constraint" have NewName, the former also MissingOK and Cascade.
	//
	// ALTER FUNCTION has Func instead of Name; its action "attributes" has Attributes.
	Alter struct {
		Kind       ObjectKind
		Name       Name
		Func       *FuncRef
		Attributes []FuncOption
		IfExists   bool
		Action     string
		Column     string
		NewName    string
		Options    []Option
		Constraint *TableConstraint
		MissingOK  bool
		Cascade    bool
		Pos        int
	}
	// Explain is EXPLAIN of Stmt.
	Explain struct {
		Analyze bool
		Verbose bool
		Options []Option
		Stmt    Statement
		// View names a materialized view: EXPLAIN MATERIALIZED VIEW v.
		View *Name
		Pos  int
	}
	// Set is SET [LOCAL|SESSION] name = values; Values nil means DEFAULT. SET TIME ZONE has
	// name timezone, SET NAMES client_encoding, SET TRANSACTION ... transaction_mode.
	Set struct {
		Name   string
		Values []string
		Local  bool
		Pos    int
	}
	// Reset is RESET name; name "all" for all.
	Reset struct {
		Name string
		Pos  int
	}
	// Show is SHOW name. SHOW TABLES and its kin arrive with that name ("tables").
	Show struct {
		Name string
		Pos  int
	}
	// Transaction is BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE, ROLLBACK TO.
	Transaction struct {
		Kind TxKind
		// Name is of a savepoint.
		Name string
		// Modes are the transaction modes, in lower case ("read only", "isolation level serializable").
		Modes []string
		// Chain is AND CHAIN.
		Chain bool
		// Start says that BEGIN was written START TRANSACTION.
		Start bool
		Pos   int
	}
	// Copy is COPY table (columns) | (query) FROM|TO STDIN|STDOUT|'file' WITH (options).
	Copy struct {
		Table   *Name
		Columns []ColumnTarget
		Query   Statement
		To      bool   // COPY ... TO
		File    string // "" for STDIN and STDOUT
		Options []Option
		Where   Expr
		Pos     int
	}
	// Prepare, Execute, Deallocate (Name "" for ALL).
	Prepare struct {
		Name  string
		Types []TypeName
		Stmt  Statement
		// Text is Stmt as written; its positions are relative to the whole statement.
		Text string
		Pos  int
	}
	// Execute is EXECUTE name (args).
	Execute struct {
		Name string
		Args []Expr
		Pos  int
	}
	// Deallocate is DEALLOCATE name; Name "" for ALL.
	Deallocate struct {
		Name string
		Pos  int
	}
	// Discard is DISCARD what.
	Discard struct {
		What string
		Pos  int
	}
	// Simple is a statement without arguments that matter: "checkpoint", "flush", "wait",
	// "refresh" (with Name) and "backup" (with Text, the directory).
	Simple struct {
		What string
		Name *Name
		Text string
		Pos  int
	}
	// Do is DO. BodyPos is where Body begins in the text if it stands there as it is, else -1.
	Do struct {
		Language string
		Body     string
		BodyPos  int
		Pos      int
	}
	// Comment is COMMENT ON kind name IS text (nil: IS NULL).
	Comment struct {
		Kind   ObjectKind
		Name   Name
		Func   *FuncRef // of COMMENT ON FUNCTION
		Column string   // of COMMENT ON COLUMN; or the constraint of the table Name
		// OnDomain: the constraint is of the domain Name.
		OnDomain bool
		Text     *string
		Pos      int
	}
	// Unsupported is a statement that Postgres knows and Weir does not yet: Name in upper case.
	Unsupported struct {
		Name string
		Pos  int
	}
)

// ObjectKind names a kind of catalog object.
type ObjectKind string

// The object kinds, as users write them.
const (
	KindTable    ObjectKind = "TABLE"
	KindSource   ObjectKind = "SOURCE"
	KindView     ObjectKind = "VIEW"
	KindMatView  ObjectKind = "MATERIALIZED VIEW"
	KindSink     ObjectKind = "SINK"
	KindIndex    ObjectKind = "INDEX"
	KindSchema   ObjectKind = "SCHEMA"
	KindColumn   ObjectKind = "COLUMN"
	KindDatabase ObjectKind = "DATABASE"
	KindFunction ObjectKind = "FUNCTION"
	KindSequence ObjectKind = "SEQUENCE"
	KindType     ObjectKind = "TYPE"
	KindDomain   ObjectKind = "DOMAIN"
	// KindConstraint and KindExtension are of COMMENT.
	KindConstraint ObjectKind = "CONSTRAINT"
	KindExtension  ObjectKind = "EXTENSION"
)

// TxKind is the kind of a Transaction statement.
type TxKind uint8

// The transaction statements.
const (
	TxBegin TxKind = iota
	TxCommit
	TxRollback
	TxSavepoint
	TxRelease
	TxRollbackTo
)

func (*CreateTable) stmt()  {}
func (*CreateSource) stmt() {}
func (*CreateView) stmt()   {}
func (*CreateSink) stmt()   {}
func (*CreateIndex) stmt()  {}
func (*CreateSchema) stmt() {}
func (*Drop) stmt()         {}
func (*Truncate) stmt()     {}
func (*Alter) stmt()        {}
func (*Explain) stmt()      {}
func (*Set) stmt()          {}
func (*Reset) stmt()        {}
func (*Show) stmt()         {}
func (*Transaction) stmt()  {}
func (*Copy) stmt()         {}
func (*Prepare) stmt()      {}
func (*Execute) stmt()      {}
func (*Deallocate) stmt()   {}
func (*Discard) stmt()      {}
func (*Simple) stmt()       {}
func (*Do) stmt()           {}
func (*Comment) stmt()      {}
func (*Unsupported) stmt()  {}
