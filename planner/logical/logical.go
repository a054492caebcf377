// Package logical is the relational algebra that the planner thinks in.
//
// Every column of a query has a number of its own (ColID), given once by the query's Meta and
// never used for another one. A scalar.Column inside a logical plan holds such a number in its
// Index, so that an expression keeps its meaning wherever it is moved. A node may use a column that none
// of its inputs gives: it is then correlated, and the column comes from the left side of a Join
// further up, whose right side is evaluated once for each row of the left (a dependent
// join). Package unnest removes these; after it no node has outer columns.
//
// Nodes are immutable: a rewrite makes new ones. A node may be shared by several parents.
package logical

import (
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// ColID is a column of a query; 0 is none.
type ColID = int

// Node is a relational operator: a pointer to one of the types below.
type Node interface {
	// Cols lists the output columns in order.
	Cols() []ColID
	// Inputs lists the nodes that this one reads.
	Inputs() []Node
	// WithInputs gives a copy that reads ins instead.
	WithInputs(ins []Node) Node
}

// JoinKind is the kind of a Join.
type JoinKind uint8

// The join kinds. Semi and Anti have the columns of the left side only.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
)

// Order is one column of an order.
type Order struct {
	Col        ColID
	Desc       bool
	NullsFirst bool
}

// Limits are LIMIT and OFFSET, expressions without columns; nil is none.
type Limits struct {
	Limit, Offset scalar.Expr
	WithTies      bool
}

// ProjCol is a computed column.
type ProjCol struct {
	ID   ColID
	Expr scalar.Expr
}

// AggCol is an aggregate call whose arguments are columns of the input.
type AggCol struct {
	ID       ColID
	Fn       *fn.Func
	Args     []ColID
	Distinct bool
	Filter   ColID // bool column or 0
	OrderBy  []Order
}

// SetFunc is a call of a set-returning function; Out are the columns that it gives.
type SetFunc struct {
	Fn   *fn.Func
	Args []scalar.Expr
	Out  []ColID
}

// LockRel is a table whose rows a Lock locks.
type LockRel struct {
	Rel *catalog.Relation
	// Cols are all columns of Rel, in order. If those of its key are NULL, there is no row of it.
	Cols []ColID
	// Strength says what others cannot do.
	Strength LockStrength
	// NoWait: an error instead of waiting. SkipLocked: the row is left out.
	NoWait, SkipLocked bool
}

// LockStrength is one of FOR KEY SHARE, FOR SHARE, FOR NO KEY UPDATE, FOR UPDATE, each stronger than the one before.
type LockStrength uint8

// The strengths.
const (
	ForKeyShare LockStrength = iota
	ForShare
	ForNoKeyUpdate
	ForUpdate
)

// String gives the strength as in the clause.
func (s LockStrength) String() string {
	return [...]string{"KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"}[s]
}

// Used gives the columns that the lock needs.
func (n *Lock) Used() ColSet {
	s := ColSet{}
	for _, o := range n.Order {
		s.Add(o.Col)
	}
	for _, r := range n.Rels {
		s.AddSet(SetOf(r.Cols...))
	}
	return s
}

type (
	// Scan reads a relation: column Out[i] is ordinal Ords[i] of Rel. RowID is the _row_id
	// column of a source, or 0.
	Scan struct {
		Rel   *catalog.Relation
		Alias string
		Ords  []int
		Out   []ColID
		RowID ColID
		// Taken: Rel keeps the rows of a part of the query that stood here.
		Taken bool
	}
	// Values has constant rows (expressions may be correlated).
	Values struct {
		Out  []ColID
		Rows [][]scalar.Expr
	}
	// Filter keeps rows for which all of Preds are true.
	Filter struct {
		In    Node
		Preds []scalar.Expr
	}
	// Project computes columns; only Exprs are output. An Expr that is a plain Column with ID
	// equal to its Index passes the column through.
	Project struct {
		In    Node
		Exprs []ProjCol
	}
	// Join combines rows; On is a conjunction over both sides' columns. R may use columns of L.
	Join struct {
		Kind JoinKind
		L, R Node
		On   []scalar.Expr
		// Current: R is a Scan, and is looked up as it is when a row of L comes. In a query that is run once that is no
		// difference; in a stream plan the join becomes a Lookup.
		Current bool
		Pos     int // of a join that is Current
	}
	// Lookup (stream plans) joins each row of In, when it comes, with the rows that Rel has then; what becomes of them later
	// changes nothing. Column Out[i] is ordinal Ords[i] of Rel. Kind is Inner or Left.
	Lookup struct {
		In   Node
		Kind JoinKind
		Rel  *catalog.Relation
		Ords []int
		Out  []ColID
		On   []scalar.Expr
		Pos  int
	}
	// Agg groups; output Keys (same ColIDs as the input's) then Aggs. Without Keys and with Aggs, or
	// with Scalar, it has exactly one row.
	Agg struct {
		In   Node
		Keys []ColID
		Aggs []AggCol
	}
	// TopN orders and cuts, per group of GroupBy. Rank, if not 0, is row_number() within the group.
	// At the root of a query Limits may be empty: then it is a plain sort.
	TopN struct {
		In      Node
		GroupBy []ColID
		Order   []Order
		Limits
		Rank ColID
		// RowKey, in stream plans, identifies a row of In: it orders rows that are equal in Order.
		RowKey []ColID
	}
	// Window adds the columns of window functions over one window definition; rules turn some into TopN.
	Window struct {
		In        Node
		Partition []ColID
		Order     []Order
		Calls     []WindowCall
		// RowKey identifies a row of In, as that of TopN; in batch plans nil if no key is known.
		RowKey []ColID
	}
	// UnionAll: column Out[i] is Map[k][i] of input k.
	UnionAll struct {
		Ins []Node
		Out []ColID
		Map [][]ColID
		// Source, if not 0, is the number of the input (int4).
		Source ColID
	}
	// Hop adds window columns. With Cumulate the windows of Size follow each other, and a row is in those parts of its window
	// that begin with it, are a multiple of Slide long, and hold the row.
	Hop struct {
		In                  Node
		Time                ColID
		Size, Slide, Offset types.Span
		Cumulate            bool
		Start, End          ColID
	}
	// Session adds window columns: rows of one Partition are in one window if, in the order of Time, each is less than Gap
	// behind the one before. The window ends Gap behind its last row.
	Session struct {
		In        Node
		Partition []ColID
		Time      ColID
		// Last, if not 0, is where a row ends, which begins at Time: such rows do not overlap and are shorter than Gap.
		Last       ColID
		Gap        types.Span
		Start, End ColID
		// RowKey: see TopN.
		RowKey []ColID
	}
	// ProjectSet adds the columns of set-returning functions; Ord, if not 0, is their row
	// number (int8).
	ProjectSet struct {
		In    Node
		Funcs []SetFunc
		Ord   ColID
	}
	// Recursive has the rows of Base, and of Step over what was new in the round before, until nothing is new:
	// column Out[i] is BaseMap[i] of Base and StepMap[i] of Step. With All a row may come again and
	// again, else once. Step reads the rows of the round before as the Working node of the same ID.
	Recursive struct {
		ID         int
		Name       string
		Base, Step Node
		Out        []ColID
		BaseMap    []ColID
		StepMap    []ColID
		All        bool
		// Multi: the query has several references to itself, the second at MultiPos. A join of two of them is over all rows
		// so far.
		Multi    bool
		MultiPos int
		// Ord, if not 0, numbers equal rows from 1 (int8), in stream plans.
		Ord ColID
		Pos int
	}
	// Working is the recursive reference.
	Working struct {
		ID   int
		Name string
		Out  []ColID
		All  bool
		// Rising: the rows of the Recursive node are never taken back, in stream plans.
		Rising bool
	}
	// Lock locks rows of tables that rows of In come from, in the order Order, and passes the rows on; those that are left out
	// are locked by others. It is in plans that are run once only.
	Lock struct {
		In    Node
		Order []Order
		Rels  []LockRel
	}
	// Max1Row fails if a group of GroupBy has two rows.
	Max1Row struct {
		In      Node
		GroupBy []ColID
	}
)

// Cols of the nodes.

// Cols lists the output columns.
func (n *Scan) Cols() []ColID {
	if n.RowID != 0 {
		return append(n.Out[:len(n.Out):len(n.Out)], n.RowID)
	}
	return n.Out
}

// Cols lists the output columns.
func (n *Values) Cols() []ColID { return n.Out }

// Cols lists the output columns.
func (n *Filter) Cols() []ColID { return n.In.Cols() }

// Cols lists the output columns.
func (n *Project) Cols() []ColID {
	ids := make([]ColID, len(n.Exprs))
	for i := range n.Exprs {
		ids[i] = n.Exprs[i].ID
	}
	return ids
}

// Cols lists the output columns.
func (n *Join) Cols() []ColID {
	l := n.L.Cols()
	if n.Kind == Semi || n.Kind == Anti {
		return l
	}
	return append(l[:len(l):len(l)], n.R.Cols()...)
}

// Cols lists the output columns.
func (n *Lookup) Cols() []ColID {
	in := n.In.Cols()
	return append(in[:len(in):len(in)], n.Out...)
}

// Cols lists the output columns.
func (n *Agg) Cols() []ColID {
	ids := make([]ColID, 0, len(n.Keys)+len(n.Aggs))
	ids = append(ids, n.Keys...)
	for i := range n.Aggs {
		ids = append(ids, n.Aggs[i].ID)
	}
	return ids
}

// Cols lists the output columns.
func (n *TopN) Cols() []ColID {
	in := n.In.Cols()
	if n.Rank != 0 {
		return append(in[:len(in):len(in)], n.Rank)
	}
	return in
}

// Cols lists the output columns.
func (n *Window) Cols() []ColID {
	in := n.In.Cols()
	ids := in[:len(in):len(in)]
	for i := range n.Calls {
		ids = append(ids, n.Calls[i].ID)
	}
	return ids
}

// Cols lists the output columns.
func (n *UnionAll) Cols() []ColID {
	if n.Source != 0 {
		return append(n.Out[:len(n.Out):len(n.Out)], n.Source)
	}
	return n.Out
}

// Cols lists the output columns.
func (n *Hop) Cols() []ColID {
	in := n.In.Cols()
	return append(in[:len(in):len(in)], n.Start, n.End)
}

// Cols lists the output columns.
func (n *Session) Cols() []ColID {
	in := n.In.Cols()
	return append(in[:len(in):len(in)], n.Start, n.End)
}

// WindowKey is the column that tells the windows of one row apart, 0 if a row has only one.
func (n *Hop) WindowKey() ColID {
	switch {
	case n.Size == n.Slide:
		return 0
	case n.Cumulate:
		return n.End
	}
	return n.Start
}

// Cols lists the output columns.
func (n *ProjectSet) Cols() []ColID {
	in := n.In.Cols()
	ids := in[:len(in):len(in)]
	for _, f := range n.Funcs {
		ids = append(ids, f.Out...)
	}
	if n.Ord != 0 {
		ids = append(ids, n.Ord)
	}
	return ids
}

// Cols lists the output columns.
func (n *Recursive) Cols() []ColID {
	if n.Ord != 0 {
		return append(n.Out[:len(n.Out):len(n.Out)], n.Ord)
	}
	return n.Out
}

// Cols lists the output columns.
func (n *Working) Cols() []ColID { return n.Out }

// Cols lists the output columns.
func (n *Lock) Cols() []ColID { return n.In.Cols() }

// Cols lists the output columns.
func (n *Max1Row) Cols() []ColID { return n.In.Cols() }

// Inputs of the nodes.
func (n *Scan) Inputs() []Node       { return nil }
func (n *Values) Inputs() []Node     { return nil }
func (n *Filter) Inputs() []Node     { return []Node{n.In} }
func (n *Project) Inputs() []Node    { return []Node{n.In} }
func (n *Join) Inputs() []Node       { return []Node{n.L, n.R} }
func (n *Lookup) Inputs() []Node     { return []Node{n.In} }
func (n *Agg) Inputs() []Node        { return []Node{n.In} }
func (n *TopN) Inputs() []Node       { return []Node{n.In} }
func (n *Window) Inputs() []Node     { return []Node{n.In} }
func (n *UnionAll) Inputs() []Node   { return n.Ins }
func (n *Hop) Inputs() []Node        { return []Node{n.In} }
func (n *Session) Inputs() []Node    { return []Node{n.In} }
func (n *ProjectSet) Inputs() []Node { return []Node{n.In} }
func (n *Lock) Inputs() []Node       { return []Node{n.In} }
func (n *Max1Row) Inputs() []Node    { return []Node{n.In} }
func (n *Recursive) Inputs() []Node  { return []Node{n.Base, n.Step} }
func (n *Working) Inputs() []Node    { return nil }

// WithInputs of the nodes.
func (n *Scan) WithInputs([]Node) Node      { return n }
func (n *Values) WithInputs([]Node) Node    { return n }
func (n *Filter) WithInputs(i []Node) Node  { c := *n; c.In = i[0]; return &c }
func (n *Project) WithInputs(i []Node) Node { c := *n; c.In = i[0]; return &c }
func (n *Join) WithInputs(i []Node) Node    { c := *n; c.L, c.R = i[0], i[1]; return &c }
func (n *Lookup) WithInputs(i []Node) Node  { c := *n; c.In = i[0]; return &c }
func (n *Agg) WithInputs(i []Node) Node     { c := *n; c.In = i[0]; return &c }
func (n *TopN) WithInputs(i []Node) Node    { c := *n; c.In = i[0]; return &c }
func (n *Window) WithInputs(i []Node) Node  { c := *n; c.In = i[0]; return &c }
func (n *UnionAll) WithInputs(i []Node) Node {
	c := *n
	c.Ins = i
	return &c
}
func (n *Hop) WithInputs(i []Node) Node        { c := *n; c.In = i[0]; return &c }
func (n *Session) WithInputs(i []Node) Node    { c := *n; c.In = i[0]; return &c }
func (n *ProjectSet) WithInputs(i []Node) Node { c := *n; c.In = i[0]; return &c }
func (n *Lock) WithInputs(i []Node) Node       { c := *n; c.In = i[0]; return &c }
func (n *Max1Row) WithInputs(i []Node) Node    { c := *n; c.In = i[0]; return &c }
func (n *Recursive) WithInputs(i []Node) Node {
	c := *n
	c.Base, c.Step = i[0], i[1]
	return &c
}
func (n *Working) WithInputs([]Node) Node { return n }

// References counts the Working nodes of the Recursive node id in n's tree.
func References(n Node, id int) int {
	if w, ok := n.(*Working); ok && w.ID == id {
		return 1
	}
	k := 0
	for _, in := range n.Inputs() {
		k += References(in, id)
	}
	return k
}

// ColInfo is what is known of a column for ever.
type ColInfo struct {
	Name string
	Type types.Type
	// Rel and Ord are the relation column that it is, for RowDescription; Rel nil otherwise.
	Rel *catalog.Relation
	Ord int
}

// Meta numbers the columns of one statement.
type Meta struct {
	cols []ColInfo
	// loops is the number of Recursive nodes so far.
	loops int
}

// NewLoop gives a fresh ID for a Recursive node.
func (m *Meta) NewLoop() int {
	m.loops++
	return m.loops
}

// New gives a fresh column.
func (m *Meta) New(name string, t types.Type) ColID {
	m.cols = append(m.cols, ColInfo{Name: name, Type: t})
	return len(m.cols)
}

// NewFrom gives a fresh column for ordinal ord of rel.
func (m *Meta) NewFrom(rel *catalog.Relation, ord int) ColID {
	c := rel.Columns[ord]
	m.cols = append(m.cols, ColInfo{Name: c.Name, Type: c.Type, Rel: rel, Ord: ord})
	return len(m.cols)
}

// Copy gives a fresh column like id.
func (m *Meta) Copy(id ColID) ColID {
	m.cols = append(m.cols, m.cols[id-1])
	return len(m.cols)
}

// Info gives what is known of a column.
func (m *Meta) Info(id ColID) *ColInfo { return &m.cols[id-1] }

// Type gives a column's type.
func (m *Meta) Type(id ColID) types.Type { return m.cols[id-1].Type }

// Ref gives an expression for a column.
func (m *Meta) Ref(id ColID) *scalar.Column {
	c := &m.cols[id-1]
	return &scalar.Column{Node: scalar.Node{T: c.Type, Pos: -1}, Index: id, Name: c.Name}
}

// RefAt is Ref with a position.
func (m *Meta) RefAt(id ColID, pos int) *scalar.Column {
	c := m.Ref(id)
	c.Pos = pos
	return c
}

// Append adds the columns and loops of another statement, whose numbers are raised by what it gives.
func (m *Meta) Append(o *Meta) (by ColID) {
	by = len(m.cols)
	m.cols = append(m.cols, o.cols...)
	m.loops += o.loops
	return by
}

// Clone gives a copy that can grow by itself.
func (m *Meta) Clone() *Meta { return &Meta{cols: append([]ColInfo(nil), m.cols...), loops: m.loops} }
