// Package ast is Weir's syntax tree: Postgres-shaped, made by package sql/parse from text, read
// by the planner and the server. Names are already folded (unquoted identifiers in lower case).
//
// Every node that an error can point to carries Pos, its byte offset in the statement text.
package ast

// Name is a possibly qualified name: [catalog.][schema.]name, outermost part first.
type Name struct {
	Parts []string
	Pos   int
}

// TypeName is a type as written: "numeric(10,2)[]" is {Name: numeric, Mods: [10,2], Dims: 1}.
type TypeName struct {
	Name Name
	// Mods are the modifier literals in parentheses, as text. For an interval with fields
	// ("interval day to second(3)") Fields holds the words.
	Mods   []string
	Fields string
	Dims   int
	Pos    int
}

// Statement is any SQL statement.
type Statement interface{ stmt() }

// Expr is any scalar expression.
type Expr interface {
	expr()
	// Position is the byte offset of the expression that an error about it points to, by
	// Postgres's rules: the operator of a binary expression, the name of a function.
	Position() int
}

// P is the position part of every expression node.
type P struct{ Pos int }

// Position gives the offset.
func (p P) Position() int { return p.Pos }
func (P) expr()           {}

// Expressions.
type (
	// IntLit is an integer literal that fits int64.
	IntLit struct {
		P
		Value int64
	}
	// NumLit is any other numeric literal, as text.
	NumLit struct {
		P
		Text string
	}
	// StrLit is a string literal of unknown type, escapes resolved.
	StrLit struct {
		P
		Value string
	}
	// BitLit is B'...' or X'...', with its prefix letter in lower case.
	BitLit struct {
		P
		Prefix byte
		Digits string
	}
	// BoolLit is TRUE or FALSE.
	BoolLit struct {
		P
		Value bool
	}
	// NullLit is NULL.
	NullLit struct{ P }
	// Default is DEFAULT in VALUES or SET.
	Default struct{ P }
	// Param is $n.
	Param struct {
		P
		N int
	}
	// TypedLit is "type 'text'" (DATE '2020-01-01'); for INTERVAL 'v' fields the fields are in
	// Type.Fields.
	TypedLit struct {
		P
		Type  TypeName
		Value string
	}
	// ColumnRef is a (qualified) column, or a whole row if it names a relation.
	ColumnRef struct {
		P
		Parts []string
	}
	// Star is * or rel.* (Parts empty for a bare star).
	Star struct {
		P
		Parts []string
	}
	// Binary is "l op r" for every infix operator that is no keyword construct, comparisons
	// included; Schema is set by OPERATOR(schema.op).
	Binary struct {
		P
		Schema string
		Op     string
		L, R   Expr
	}
	// Unary is a prefix operator.
	Unary struct {
		P
		Schema string
		Op     string
		X      Expr
	}
	// And and Or have two or more operands; Not has one.
	And struct {
		P
		Args []Expr
	}
	// Or is a disjunction.
	Or struct {
		P
		Args []Expr
	}
	// Not is a negation.
	Not struct {
		P
		X Expr
	}
	// Is is "x IS [NOT] NULL / TRUE / FALSE / UNKNOWN".
	Is struct {
		P
		X    Expr
		What IsKind
		Not  bool
	}
	// IsDistinct is "l IS [NOT] DISTINCT FROM r".
	IsDistinct struct {
		P
		L, R Expr
		Not  bool
	}
	// Between is "x [NOT] BETWEEN [SYMMETRIC] lo AND hi".
	Between struct {
		P
		X, Lo, Hi Expr
		Not, Sym  bool
	}
	// InList is "x [NOT] IN (a, b, ...)".
	InList struct {
		P
		X    Expr
		List []Expr
		Not  bool
	}
	// Like is LIKE, ILIKE or SIMILAR TO; Escape may be nil.
	Like struct {
		P
		Kind       LikeKind
		X, Pattern Expr
		Escape     Expr
		Not        bool
	}
	// AnyAll is "l op ANY|ALL (array expression)". For LIKE ANY the Op is ~~ (ILIKE ~~*, with ! for NOT).
	AnyAll struct {
		P
		Schema string // of OPERATOR(schema.op)
		Op     string
		All    bool
		L, R   Expr
	}
	// Case is CASE; Operand nil for the searched form; Else may be nil.
	Case struct {
		P
		Operand Expr
		Whens   []When
		Else    Expr
	}
	// Coalesce, NullIf, Greatest, Least.
	Coalesce struct {
		P
		Args []Expr
	}
	// NullIf is NULLIF(l, r).
	NullIf struct {
		P
		L, R Expr
	}
	// MinMax is GREATEST or LEAST.
	MinMax struct {
		P
		Least bool
		Args  []Expr
	}
	// Cast is x::type or CAST(x AS type).
	Cast struct {
		P
		X    Expr
		Type TypeName
	}
	// Collate is x COLLATE name.
	Collate struct {
		P
		X         Expr
		Collation Name
	}
	// AtTimeZone is x AT TIME ZONE zone.
	AtTimeZone struct {
		P
		X, Zone Expr
	}
	// Func is a function or aggregate call. The special syntaxes arrive as calls too:
	// EXTRACT(f FROM x) as extract('f', x), POSITION(a IN b) as position(b, a), SUBSTRING(...) as
	// substring(...), OVERLAY as overlay, TRIM(LEADING c FROM s) as ltrim/rtrim/btrim,
	// CURRENT_DATE and its kin as calls with Special set and no arguments.
	Func struct {
		P
		Name Name
		Args []Expr
		// ArgNames has the name of each argument passed as name => value, else "".
		ArgNames    []string
		Star        bool // count(*)
		Distinct    bool
		Variadic    bool
		OrderBy     []OrderItem
		WithinGroup []OrderItem
		Filter      Expr
		IgnoreNulls bool
		Over        *WindowSpec // nil: no window function
		Special     bool        // a keyword such as CURRENT_TIMESTAMP, no parentheses
		// PartitionBy is PARTITION BY behind the first argument of SESSION in FROM.
		PartitionBy []*ColumnRef
	}
	// Array is ARRAY[...].
	Array struct {
		P
		Elems []Expr
	}
	// ArrayQuery is ARRAY(query).
	ArrayQuery struct {
		P
		Query *Select
	}
	// Subscript is x[i] or x[lo:hi].
	Subscript struct {
		P
		X      Expr
		Lo, Hi Expr // for a slice either may be nil; for an index Hi is nil
		Slice  bool
		// Chain is set if X is a Subscript of the same reference: a[i][j] takes one element of
		// an array with two dimensions, (a[i])[j] an element of an element.
		Chain bool
	}
	// Field is (x).f; Name "*" for (x).*.
	Field struct {
		P
		X    Expr
		Name string
	}
	// Row is ROW(...) or (a, b, ...).
	Row struct {
		P
		Elems    []Expr
		Explicit bool // written ROW(...)
	}
	// Subquery is a scalar subquery (query), or with Exists an EXISTS (query).
	Subquery struct {
		P
		Query  *Select
		Exists bool
	}
	// InQuery is "x [NOT] IN (query)"; x may be a Row.
	InQuery struct {
		P
		X     Expr
		Query *Select
		Not   bool
	}
	// AnyAllQuery is "x op ANY|ALL (query)".
	AnyAllQuery struct {
		P
		Schema string // of OPERATOR(schema.op)
		Op     string
		All    bool
		X      Expr
		Query  *Select
	}
	// Overlaps is (a, b) OVERLAPS (c, d).
	Overlaps struct {
		P
		L, R *Row
	}
)

// When is one arm of a CASE.
type When struct{ Cond, Result Expr }

// IsKind is what an Is tests.
type IsKind uint8

// What IS can test.
const (
	IsNull IsKind = iota
	IsTrue
	IsFalse
	IsUnknown
)

// LikeKind is the pattern language of a Like.
type LikeKind uint8

// The pattern languages.
const (
	LikeLike LikeKind = iota
	LikeILike
	LikeSimilar
)

// OrderItem is one item of ORDER BY.
type OrderItem struct {
	Expr  Expr
	Desc  bool
	Nulls NullsOrder
	Using string // operator of USING op, else ""
	Pos   int
}

// NullsOrder is NULLS FIRST or LAST.
type NullsOrder uint8

// Where NULLs sort; NullsDefault is last for ascending, first for descending order.
const (
	NullsDefault NullsOrder = iota
	NullsFirst
	NullsLast
)

// WindowSpec is what stands after OVER or in a WINDOW clause.
type WindowSpec struct {
	// Name: OVER name (Ref false), or OVER (name ...), a copy that is refined (Ref true).
	Name        string
	Ref         bool
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       *Frame
	Pos         int
}

// Frame is a window frame clause.
type Frame struct {
	Unit    FrameUnit
	Start   FrameBound
	End     FrameBound
	Exclude FrameExclude
	Pos     int
}

// FrameUnit is ROWS, RANGE or GROUPS.
type FrameUnit uint8

// The frame units.
const (
	FrameRows FrameUnit = iota
	FrameRange
	FrameGroups
)

// FrameBound is one end of a frame; Offset only for the two offset kinds.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr
}

// BoundKind is the kind of a frame bound.
type BoundKind uint8

// The frame bounds, from the earliest to the latest.
const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameExclude is the EXCLUDE clause.
type FrameExclude uint8

// The frame exclusions.
const (
	ExcludeNoOthers FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// Select is a whole query: WITH, a body, ORDER BY and LIMIT around it.
type Select struct {
	With *With
	Body QueryBody
	// OrderBy, Limit, Offset apply to the whole body.
	OrderBy  []OrderItem
	Limit    Expr // nil: none (LIMIT ALL, LIMIT NULL likewise)
	Offset   Expr
	WithTies bool
	// Locking are FOR UPDATE and its kin.
	Locking []Locking
	Pos     int
}

// Locking is FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE or FOR KEY SHARE.
type Locking struct {
	// Strength is what stands behind FOR, in upper case.
	Strength string
	// Of are the tables, by the names that they have in the query; none: all.
	Of []Name
	// NoWait: an error instead of waiting. SkipLocked: without rows that others have locked.
	NoWait, SkipLocked bool
	Pos                int
}

// QueryBody is a SelectCore, SetOp, Values or a nested Select.
type QueryBody interface{ body() }

// SelectCore is SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... WINDOW.
type SelectCore struct {
	Distinct   bool
	DistinctOn []Expr
	Targets    []Target
	From       []TableExpr
	Where      Expr
	GroupBy    []GroupItem
	GroupDist  bool // GROUP BY DISTINCT
	Having     Expr
	Windows    []NamedWindow
	Pos        int
}

// NamedWindow is one entry of the WINDOW clause.
type NamedWindow struct {
	Name string
	Spec WindowSpec
}

// Target is one item of a select list or RETURNING list. Alias "" if none was written.
type Target struct {
	Expr  Expr
	Alias string
	Pos   int
}

// GroupItem is an expression, or a set of sets.
type GroupItem struct {
	Kind GroupKind
	Expr Expr        // GroupExpr
	Sets []GroupItem // Rollup, Cube, GroupingSets; GroupSet: the expressions of one set
	Pos  int
}

// GroupKind says what a GroupItem is.
type GroupKind uint8

// The grouping items. A GroupSet is a parenthesised list, empty for ().
const (
	GroupExpr GroupKind = iota
	GroupSet
	GroupRollup
	GroupCube
	GroupGroupingSets
)

// SetOp is UNION, INTERSECT or EXCEPT.
type SetOp struct {
	Op   SetOpKind
	All  bool
	L, R *Select
	Pos  int
}

// SetOpKind is a set operation.
type SetOpKind uint8

// The set operations.
const (
	Union SetOpKind = iota
	Intersect
	Except
)

// Values is VALUES (...), (...).
type Values struct {
	Rows [][]Expr
	Pos  int
}

func (*SelectCore) body() {}
func (*SetOp) body()      {}
func (*Values) body()     {}
func (*Select) body()     {}

// With is a WITH clause.
type With struct {
	Recursive bool
	CTEs      []CTE
}

// CTE is one common table expression; its Query is a *Select or a DML statement.
type CTE struct {
	Name         string
	Columns      []string
	Query        Statement
	Materialized *bool // nil: not said
	Search       *SearchClause
	Cycle        *CycleClause
	Pos          int
}

// SearchClause is SEARCH DEPTH or BREADTH FIRST BY columns SET set.
type SearchClause struct {
	Breadth bool
	Columns []string
	Set     string
	Pos     int
}

// CycleClause is CYCLE columns SET mark TO value DEFAULT default USING path.
type CycleClause struct {
	Columns        []string
	Mark, Path     string
	Value, Default Expr
	Pos            int
}

// TableExpr is an item of FROM.
type TableExpr interface{ tableExpr() }

// Alias is AS name (columns). For a function it may carry column definitions.
type Alias struct {
	Name    string
	Columns []string
	Defs    []ColumnDef
}

// Items of FROM.
type (
	// TableRef is a named relation.
	TableRef struct {
		Name  Name
		Only  bool
		Alias *Alias
		// AsOf is FOR SYSTEM_TIME AS OF, else nil.
		AsOf Expr
		Pos  int
	}
	// DerivedTable is (query) AS alias.
	DerivedTable struct {
		Query   *Select
		Lateral bool
		Alias   *Alias
		Pos     int
	}
	// FuncTable is a set-returning function in FROM; also TUMBLE, HOP, CUMULATE, SESSION, whose
	// first argument then is a ColumnRef that names a relation, or a Subquery.
	FuncTable struct {
		Funcs      []*Func // more than one only in ROWS FROM (...)
		Ordinality bool
		Lateral    bool
		Alias      *Alias
		Pos        int
	}
	// Join is a joined table. On is nil for cross and natural joins and USING.
	Join struct {
		Kind  JoinKind
		L, R  TableExpr
		On    Expr
		Using []string
		// UsingAlias names the columns of Using: USING (...) AS alias.
		UsingAlias string
		Natural    bool
		// AsOf marks ASOF JOIN.
		AsOf  bool
		Alias *Alias
		Pos   int
	}
)

// JoinKind is the kind of a Join.
type JoinKind uint8

// The join kinds.
const (
	JoinInner JoinKind = iota
	JoinLeft
	JoinRight
	JoinFull
	JoinCross
)

func (*TableRef) tableExpr()     {}
func (*DerivedTable) tableExpr() {}
func (*FuncTable) tableExpr()    {}
func (*Join) tableExpr()         {}

// DML.
type (
	// Insert is INSERT INTO ... ; Query nil means DEFAULT VALUES.
	Insert struct {
		With       *With
		Table      Name
		Alias      string
		Columns    []ColumnTarget
		Query      *Select
		Overriding string // "", "system" or "user"
		OnConflict *OnConflict
		Returning  []Target
		Pos        int
	}
	// Update is UPDATE ... SET ... FROM ... WHERE.
	Update struct {
		With      *With
		Table     TableRef
		Set       []SetClause
		From      []TableExpr
		Where     Expr
		Returning []Target
		Pos       int
	}
	// Delete is DELETE FROM ... USING ... WHERE.
	Delete struct {
		With      *With
		Table     TableRef
		Using     []TableExpr
		Where     Expr
		Returning []Target
		Pos       int
	}
)

// ColumnTarget is a column that is assigned to.
type ColumnTarget struct {
	Name string
	Pos  int
}

// OnConflict is ON CONFLICT. Set nil means DO NOTHING.
type OnConflict struct {
	Columns    []Expr // inference expressions
	Constraint string
	Where      Expr // inference predicate
	DoUpdate   bool
	Set        []SetClause
	SetWhere   Expr
	Pos        int
}

// SetClause assigns one expression to one column, or with several Columns a row or subquery to all.
type SetClause struct {
	Columns []ColumnTarget
	Value   Expr
	Pos     int
}

func (*Select) stmt() {}
func (*Insert) stmt() {}
func (*Update) stmt() {}
func (*Delete) stmt() {}
