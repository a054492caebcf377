// Package plan holds the physical plans that execution is built from: one Go type for each
// operator, with exactly the fields that the operator's Config has. Columns are numbered, names
// are for people only: an expression of a node is over the columns of its input (for joins of the
// concatenation left ++ right), and a column list holds indexes.
//
// A Batch is one tree and is run once over a snapshot. A Stream is cut into fragments: trees whose
// leaves are relations or what another fragment sends. Both kinds of plan share the relational
// nodes, and Props says of each node what its output promises.
//
// A node may have several parents (a common table expression that is used twice): equal pointers
// are one operator with several consumers, and a builder that cannot share may build it twice.
package plan

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Column is an output column of a node.
type Column struct {
	Name string
	Type types.Type
	// Hidden columns are part of a key and were not asked for by the user.
	Hidden bool
}

// DistKind says how the rows of a stream lie on the actors of its fragment.
type DistKind uint8

// The distributions.
const (
	// Single: one actor has all rows.
	Single DistKind = iota
	// Hash: a row is where the vnode of the columns Dist.Cols says.
	Hash
	// Any: rows are anywhere, as the splits of a source fall.
	Any
	// Broadcast: every actor has all rows.
	Broadcast
)

// Dist is a distribution; Cols only for Hash.
type Dist struct {
	Kind DistKind
	Cols []int
}

// Props is what a node promises of its output.
type Props struct {
	Cols []Column
	// Key lists the columns that identify a row (the stream key) if HasKey. An empty key means
	// at most one row. Without HasKey the output is a bag.
	Key    []int
	HasKey bool
	// AppendOnly: no row is ever taken back.
	AppendOnly bool
	// Dist is set in stream plans; batch plans are Single.
	Dist Dist
	// Watermarks are the columns with a watermark, in stream plans.
	Watermarks []catalog.WatermarkColumn
}

// Watermark tells whether a column has a watermark, and of which rank.
func (p *Props) Watermark(col int) (rank int, ok bool) {
	for _, w := range p.Watermarks {
		if w.Col == col {
			return w.Rank, true
		}
	}
	return 0, false
}

// Types gives the column types.
func (p *Props) Types() []types.Type {
	ts := make([]types.Type, len(p.Cols))
	for i, c := range p.Cols {
		ts[i] = c.Type
	}
	return ts
}

// Properties gives the node's promises; it makes Props usable as an embedded part of nodes.
func (p *Props) Properties() *Props { return p }

// Node is an operator of a plan: a pointer to one of the types of this package.
type Node interface {
	Properties() *Props
	// Inputs lists the nodes that this one reads, in port order.
	Inputs() []Node
}

// SortKey is one column of an order.
type SortKey struct {
	Col        int
	Desc       bool
	NullsFirst bool
}

// JoinKind is the kind of a HashJoin.
type JoinKind uint8

// The join kinds.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
)

// Agg is one aggregate call.
type Agg struct {
	Fn *fn.Func
	// Args are input columns; empty for count(*).
	Args     []int
	Distinct bool
	// Filter is a bool input column, or -1: only rows where it is true count.
	Filter int
	// OrderBy is the order in which rows are fed, for aggregates that depend on it.
	OrderBy []SortKey
	// Type is the result type.
	Type types.Type
}

type (
	// Filter keeps the rows for which Pred is true.
	Filter struct {
		Props
		In   Node
		Pred scalar.Expr
	}
	// Project computes Exprs for each row.
	Project struct {
		Props
		In    Node
		Exprs []scalar.Expr
	}
	// TemporalFilter (stream plans) keeps the rows for which Value is above Bound, or with Upper below, or with Inclusive
	// equal. Bound depends on the time alone, and rises; with Slack it may fall for a moment when a clock is set back.
	TemporalFilter struct {
		Props
		In                      Node
		Value, Bound            scalar.Expr
		Upper, Inclusive, Slack bool
		// RowKey identifies a row; nil: rows are a multiset.
		RowKey       []int
		AppendOnlyIn bool
	}
	// HashAgg groups by Keys; output keys ++ aggs. No Keys and at least one Agg: one row always.
	// Without Aggs it is DISTINCT on Keys.
	HashAgg struct {
		Props
		In           Node
		Keys         []int
		Aggs         []Agg
		AppendOnlyIn bool
		InDist       []int
	}
	// HashJoin joins L and R; output: the columns Output of left ++ right (semi, anti: of left).
	HashJoin struct {
		Props
		Kind                            JoinKind
		L, R                            Node
		LeftKeys, RightKeys             []int
		NullSafe                        []bool
		Residual                        scalar.Expr // over left ++ right, or nil
		LeftRowKey, RightRowKey         []int       // nil: rows are a multiset
		LeftAppendOnly, RightAppendOnly bool
		// LeftUnique and RightUnique: no two rows of a side have the same keys.
		LeftUnique, RightUnique bool
		LeftDist, RightDist     []int
		Output                  []int
		// Interval, in stream plans with watermarks on both columns, follows from Residual.
		Interval *JoinInterval
		// Feed, in batch plans, is told the join keys of the right side, for scans on the left; or nil.
		Feed *Feed
		// LeftShared and RightShared, in stream plans, say that a side is not kept by the join, but read from its relation.
		LeftShared, RightShared *Shared
	}
	// Shared is a side of a HashJoin that is a TableScan below filters and projections, and whose join keys are the first
	// columns of the relation's key, or more than all of them.
	Shared struct {
		Scan *TableScan
		// Steps are the filters and projections, the one next to the scan first.
		Steps []Node
		// Keys has the pair of join keys for each of those columns of the relation's key. Unique: they are all of it.
		Keys   []int
		Unique bool
		// Drive: a new job gets the rows that are there as changes, because it has to give rows that match nothing, or
		// because the other side is shared too.
		Drive bool
	}
	// Lookup (stream plans) joins each row of In, at the end of the epoch in which it comes, with the rows that the relation
	// of R has then. Keys are compared with the first columns of the relation's key; Residual is over In ++ all columns of
	// the relation. Kind is Inner or Left. Output: columns of In ++ all columns of the relation.
	Lookup struct {
		Props
		Kind     JoinKind
		In       Node
		R        *LookupScan
		Keys     []scalar.Expr // over In
		Residual scalar.Expr
		Output   []int
	}
	// LookupScan is the relation of a Lookup, which is read by key.
	LookupScan struct {
		Props
		Rel *catalog.Relation
	}
	// TopN keeps, for each group of GroupBy, the rows at Offset .. Offset+Limit in OrderBy.
	TopN struct {
		Props
		In      Node
		OrderBy []SortKey
		// Limit nil means no limit; Offset nil means 0. Both are int8 constants in stream plans, and
		// in batch plans expressions without columns. A NULL value is as if absent; a negative one
		// is error 2201W or 2201X.
		Limit, Offset scalar.Expr
		WithTies      bool
		GroupBy       []int
		// RowKey breaks ties; nil in batch plans and where rows are a multiset.
		RowKey       []int
		AppendOnlyIn bool
		// RisingIn: rows do not go, but are replaced by such with the same RowKey and group that come no
		// later in OrderBy (counts that grow): what is beyond the limit need not be kept.
		RisingIn bool
		// RankOutput appends row_number() of the row in its group, int8.
		RankOutput bool
		InDist     []int
	}
	// Window adds the columns of window functions, all over the partitions by PartitionBy in the order OrderBy;
	// rows that are equal in it are ordered by RowKey (nil: by all columns).
	Window struct {
		Props
		In          Node
		PartitionBy []int
		OrderBy     []SortKey
		Calls       []WindowCall
		RowKey      []int
		InDist      []int
	}
	// Hop assigns each row to its windows; output = input ++ window_start, window_end (of the time
	// column's type). Size, Slide and Offset are intervals without months. Tumble: Slide = Size. Cumulate: windows
	// of Size follow each other, and a row is in those parts of its window that begin with it, are a multiple of Slide
	// long, and hold the row.
	Hop struct {
		Props
		In                  Node
		TimeCol             int
		Size, Slide, Offset types.Span
		Cumulate            bool
	}
	// ProcTime appends to each row, which is never taken back, the time of its epoch. Tick: somebody waits for its watermark.
	ProcTime struct {
		Props
		In   Node
		Tick bool
	}
	// Watermark leaves out the rows of a source that are late, and makes its watermark. Def is the clause; TimeCol and RowID
	// are its column and the row id in the input.
	Watermark struct {
		Props
		In             Node
		Def            catalog.Watermark
		TimeCol, RowID int
		Splits         int
	}
	// WindowClose (stream plans) holds rows back until they are final: below the watermark of Col.
	WindowClose struct {
		Props
		In     Node
		Col    int
		InDist []int
	}
	// Session assigns each row to its session: rows with equal Partition columns are in one if, in the order of time, each is less
	// than Gap behind the one before. Output = input ++ window_start, window_end. A row reaches from TimeCol to LastCol, which is
	// TimeCol if rows are moments; otherwise those of a partition do not overlap, and are shorter than Gap.
	Session struct {
		Props
		In        Node
		TimeCol   int
		LastCol   int
		Gap       types.Span
		Partition []int
		// RowKey identifies a row; nil: rows are a multiset.
		RowKey       []int
		AppendOnlyIn bool
		InDist       []int
	}
	// HopAgg is a HashAgg by Keys and the windows of a Hop whose Size is a multiple of its Slide, worked out
	// from panes of length Slide; output keys ++ window_start, window_end ++ aggs.
	HopAgg struct {
		Props
		In                  Node
		TimeCol             int
		Size, Slide, Offset types.Span
		Keys                []int
		Aggs                []Agg
		AppendOnlyIn        bool
		InDist              []int
	}
	// UnionAll has the rows of all inputs, which have the same types. With SourceColumn the
	// number of the input is appended as an int4 column.
	UnionAll struct {
		Props
		Ins          []Node
		SourceColumn bool
	}
	// Values has constant rows, or in stream plans with Moving such as depend on the time; an expression has no columns (parameters only in batch plans).
	Values struct {
		Props
		Rows   [][]scalar.Expr
		Moving bool
	}
	// Lock (batch plans) locks rows of Rels that rows of In come from, in the order of arrival, and passes them on. With Each it
	// passes them one at a time, and locks no more when nobody wants another one. OrderBy is the order of In, if it has one.
	Lock struct {
		Props
		In      Node
		Rels    []LockRel
		OrderBy []SortKey
		Each    bool
	}
	// Max1Row passes the rows of groups of GroupBy with one row; a group with a second one fails with 21000, or
	// has none in a view.
	Max1Row struct {
		Props
		In      Node
		GroupBy []int
	}
	// Consolidate (stream plans) nets the rows of an epoch and passes them at its end, what goes
	// before what comes. It stands behind an exchange that lets rows of one key come from several
	// actors: the new row may then arrive before the old one goes.
	Consolidate struct {
		Props
		In Node
	}
	// ProjectSet calls set-returning functions for each row and appends their columns, then the row
	// number within the call from 1 (int8) if Ordinality. Several functions run side by side; the
	// shorter ones are filled up with NULL. No function row: no output row.
	ProjectSet struct {
		Props
		In         Node
		Funcs      []SetFunc
		Ordinality bool
	}

	// SourceScan reads a source. Cols are column ordinals of Rel that are needed. With RowID the last
	// output column is _row_id (int8): the row's ordinal, unique over all splits, and the same whenever
	// the source is read again. Append-only.
	SourceScan struct {
		Props
		Rel   *catalog.Relation
		Cols  []int
		RowID bool
	}
	// TableScan (stream plans) is a table's or materialized view's rows and then its changes.
	// Cols are column ordinals.
	TableScan struct {
		Props
		Rel  *catalog.Relation
		Cols []int
		// Shared: the rows are read by a join, and all that comes is their changes, by the hash of the columns that
		// Shared.Keys are; nil: no.
		Shared *SharedScan
		// Taken: the relation keeps the rows of a part of the query that stood here.
		Taken bool
	}
	// SharedScan says how the changes of a TableScan come that is a shared side of a join. Hash are column ordinals.
	SharedScan struct {
		Hash  []int
		Drive bool
	}
	// Scan (batch plans) reads a snapshot of a table, materialized view or system relation, in the
	// order of its key if Ordered.
	Scan struct {
		Props
		Rel     *catalog.Relation
		Cols    []int
		Access  Access
		Ordered bool
		// Base is set if Rel is an index: the relation that is read by it, and Cols in terms of its columns. Rows
		// that do not meet the conditions behind Access may come too.
		Base     *catalog.Relation
		BaseCols []int
		// Feeds are keys that are known only when the query runs: if there are few, rows with other keys need not come.
		Feeds []ScanFeed
	}
	// Feed hands the values of some columns of a HashJoin's right side, which is complete before the left side is read, to scans below
	// the left side. It is known by its address.
	Feed struct {
		// Cols are columns of the right side.
		Cols []int
	}
	// ScanFeed says how a Scan of a whole relation uses the keys of a Feed.
	ScanFeed struct {
		Feed *Feed
		// Rel is the relation itself or an index of it; Cols are the columns of Rel for those of the scan.
		Rel  *catalog.Relation
		Cols []int
		// Keys has, for each of the first columns of Rel's key, the place in Feed.Cols of what it is equal to.
		Keys []int
	}
	// Sort (batch plans) orders its input, stably.
	Sort struct {
		Props
		In      Node
		OrderBy []SortKey
	}
	// Limit (batch plans) passes the rows at Offset .. Offset+Limit; see TopN for the expressions.
	Limit struct {
		Props
		In            Node
		Limit, Offset scalar.Expr
	}

	// Recursive is WITH RECURSIVE: the rows of Base, and of Step over those that were new in the round before, until none
	// is. With All a row may come again, else it is new once. Step reads the rows of the round before as the
	// Working of the same ID. Linear: Step works on each of them alone.
	Recursive struct {
		Props
		ID         int
		Name       string
		Base, Step Node
		All        bool
		Linear     bool
		// Full: Step reads all rows so far, since it joins rows of different rounds.
		Full bool
		// Ordinal numbers equal rows from 1, in a further column (int8); stream plans with All.
		Ordinal bool
	}
	// Working is the recursive reference.
	Working struct {
		Props
		ID   int
		Name string
	}
	// LoopHead (stream plans) is what a Recursive becomes: it keeps the rows of the loop. What is new in a round
	// goes to the step, whose rows come back from the fragment Feedback; what an epoch has changed
	// goes to the consumers.
	LoopHead struct {
		Props
		In       Node
		Feedback int
		Name     string
		All      bool
		Ordinal  bool
	}

	// Receive (stream plans) is what fragment From sends to this fragment. Loop: both are parts of one loop;
	// Working: From is its head, and this the recursive reference.
	Receive struct {
		Props
		From          int
		Loop, Working bool
	}
	// Materialize ends a stream plan: it keeps the rows under Key, which is unique.
	Materialize struct {
		Props
		In  Node
		Key []SortKey
		// Dist columns: the vnode of the key's row.
		InDist []int
	}
	// Sink ends a stream plan: the changes go to a sink; Visible lists the columns that it is
	// shown (key columns that the user did not ask for are left out). Ordered: in one actor, and the old row of
	// a key before the new one.
	Sink struct {
		Props
		In      Node
		Visible []int
		Ordered bool
	}
)

// Frame and FrameBound are those of the algebra.
type (
	Frame      = logical.Frame
	FrameBound = logical.FrameBound
)

// WindowCall is one call of a window function, or of an aggregate as one.
type WindowCall struct {
	Fn *fn.Func
	// Args are input columns; -1 where Consts has an expression without columns instead.
	Args   []int
	Consts []scalar.Expr
	// Filter is a bool input column, or -1.
	Filter int
	// Frame's offsets are constants in stream plans, in batch plans expressions without columns.
	Frame Frame
	Type  types.Type
}

// JoinInterval says that of a pair that passes a join column LeftCol of left is at least column RightCol of right + Lo, and
// at most that + Hi, in microseconds.
type JoinInterval struct {
	LeftCol, RightCol int
	HasLo, HasHi      bool
	Lo, Hi            int64
}

// SetFunc is one call of a set-returning function; expressions over the input row.
type SetFunc struct {
	Fn   *fn.Func
	Args []scalar.Expr
	// Types are the columns that the function gives.
	Types []types.Type
}

// Access says which part of an arrangement a Scan reads. Expressions have no columns and have
// exactly the key column's type; if one is NULL there, it matches no row. The zero Access
// is the whole relation.
type Access struct {
	// Points lists keys, or beginnings of keys, all of one length, in the order of Rel.Key. Equal ones count once.
	Points [][]scalar.Expr
	// Prefix fixes the first columns of the key, and Lo and Hi bound the next one (in terms
	// of values, whatever the key's direction; rows with NULL there are excluded if either is set).
	Prefix []scalar.Expr
	Lo, Hi *Endpoint
}

// Full tells whether the whole relation is read.
func (a *Access) Full() bool {
	return a.Points == nil && len(a.Prefix) == 0 && a.Lo == nil && a.Hi == nil
}

// Endpoint is one end of a range.
type Endpoint struct {
	Val       scalar.Expr
	Inclusive bool
}

// Inputs of the nodes.
func (n *Filter) Inputs() []Node  { return []Node{n.In} }
func (n *Project) Inputs() []Node { return []Node{n.In} }

// Inputs lists what is joined, and the relation.
func (n *Lookup) Inputs() []Node { return []Node{n.In, n.R} }

// Inputs lists nothing.
func (n *LookupScan) Inputs() []Node { return nil }

// Inputs lists what is filtered.
func (n *TemporalFilter) Inputs() []Node { return []Node{n.In} }

func (n *HashAgg) Inputs() []Node { return []Node{n.In} }

// Brief tells for each side of a stream's join whether its rows are kept only until the row of the other side is there that they
// match: there is one at most, and it never goes.
func (n *HashJoin) Brief() (left, right bool) {
	if !n.LeftAppendOnly || !n.RightAppendOnly || n.Interval != nil {
		return false, false
	}
	return n.RightUnique && (n.Kind == Inner || n.Kind == Left), n.LeftUnique && (n.Kind == Inner || n.Kind == Right)
}

func (n *HashJoin) Inputs() []Node    { return []Node{n.L, n.R} }
func (n *TopN) Inputs() []Node        { return []Node{n.In} }
func (n *Window) Inputs() []Node      { return []Node{n.In} }
func (n *Hop) Inputs() []Node         { return []Node{n.In} }
func (n *ProcTime) Inputs() []Node    { return []Node{n.In} }
func (n *HopAgg) Inputs() []Node      { return []Node{n.In} }
func (n *Session) Inputs() []Node     { return []Node{n.In} }
func (n *Watermark) Inputs() []Node   { return []Node{n.In} }
func (n *WindowClose) Inputs() []Node { return []Node{n.In} }
func (n *UnionAll) Inputs() []Node    { return n.Ins }
func (n *Values) Inputs() []Node      { return nil }
func (n *Lock) Inputs() []Node        { return []Node{n.In} }
func (n *Max1Row) Inputs() []Node     { return []Node{n.In} }
func (n *Consolidate) Inputs() []Node { return []Node{n.In} }
func (n *ProjectSet) Inputs() []Node  { return []Node{n.In} }
func (n *SourceScan) Inputs() []Node  { return nil }
func (n *TableScan) Inputs() []Node   { return nil }
func (n *Scan) Inputs() []Node        { return nil }
func (n *Sort) Inputs() []Node        { return []Node{n.In} }
func (n *Limit) Inputs() []Node       { return []Node{n.In} }
func (n *Receive) Inputs() []Node     { return nil }
func (n *Recursive) Inputs() []Node   { return []Node{n.Base, n.Step} }
func (n *Working) Inputs() []Node     { return nil }
func (n *LoopHead) Inputs() []Node    { return []Node{n.In} }
func (n *Materialize) Inputs() []Node { return []Node{n.In} }
func (n *Sink) Inputs() []Node        { return []Node{n.In} }

// LockStrength says what others cannot do with a locked row.
type LockStrength = logical.LockStrength

// The strengths.
const (
	ForKeyShare    = logical.ForKeyShare
	ForShare       = logical.ForShare
	ForNoKeyUpdate = logical.ForNoKeyUpdate
	ForUpdate      = logical.ForUpdate
)

// LockRel is logical.LockRel by position.
type LockRel struct {
	Rel                *catalog.Relation
	Cols               []int
	Strength           LockStrength
	NoWait, SkipLocked bool
}

// Batch is a plan that is run once. Its first Visible columns are the result; the rest are
// hidden order columns. Expressions may hold scalar.Param: they are replaced when it is run.
type Batch struct {
	Root Node
	// Visible is the number of result columns.
	Visible int
	// Point is set if the plan is a read of one row of one relation by its complete key.
	Point *Point
	// Relations lists every relation that is read, by ID, each once.
	Relations []*catalog.Relation
}

// Point is a read by a complete key: the row of Rel under Key, if Filter (nil: always) is true of it,
// gives Exprs. Filter and Exprs are over all columns of Rel.
type Point struct {
	Rel    *catalog.Relation
	Key    []scalar.Expr
	Filter scalar.Expr
	Exprs  []scalar.Expr
}

// Stream is the plan of a job.
type Stream struct {
	// Fragments are in topological order: what a fragment receives from comes before it, but for Feedback. The last
	// one ends in Materialize or Sink.
	Fragments []*Fragment
	// Columns is what the job's relation has, hidden ones last; Key is its arrangement key.
	Columns []Column
	Key     []SortKey
	// AppendOnly: the job's relation never loses a row.
	AppendOnly bool
	// Watermarks are the columns of the job's relation with a watermark.
	Watermarks []catalog.WatermarkColumn
	// Relations lists every relation that is read, by ID, each once.
	Relations []*catalog.Relation
	// Taken lists those of them that the query does not name: views whose rows were taken for equal parts of the query, and indexes that
	// joins read, by ID.
	Taken []*catalog.Relation
	// Functions lists the functions in SQL that are called, by ID.
	Functions []catalog.ID
	// Notices are for who creates the job.
	Notices []string
}

// Fragment is a part of a Stream without an exchange inside.
type Fragment struct {
	ID   int
	Root Node
	// Parallel is the number of actors.
	Parallel int
	// Sends says where the output goes; empty for the last fragment.
	Sends []Send
}

// Sharing says which sides of joins are read from the relations that keep them.
type Sharing uint8

// The kinds of sharing: none, where it costs little when a job is filled, and wherever it is possible.
const (
	ShareNone Sharing = iota
	ShareCheap
	ShareAll
)

// Send is an exchange from a fragment to the Receive nodes of another one.
type Send struct {
	To int
	// Dist: Single, Hash of columns, or Broadcast.
	Dist Dist
	// Feedback: To is the head of the loop that this fragment ends; it comes before this one.
	Feedback bool
}

// DML is a bound INSERT, UPDATE or DELETE.
type DML struct {
	Kind   DMLKind
	Target *catalog.Relation
	// Query yields one row per affected row:
	//
	//	insert: the new row (all columns of Target, in order; for a hidden or serial column
	//	        without value see Auto)
	//	update: the old row, the new row, then further columns that Returning needs
	//	delete: the old row, then further columns that Returning needs
	//
	// An UPDATE or DELETE may yield the same old row more than once (joins): the first one counts.
	Query *Batch
	// Auto lists target columns (identity, serial, _row_id) whose value the server must make: Query
	// gives NULL there.
	Auto []int
	// OverridingUser: values for identity columns were given and are to be ignored.
	OverridingUser bool
	// Conflict is the ON CONFLICT clause or nil.
	Conflict *Conflict
	// Checks are over the new row; a row fails if one is false (23514).
	Checks []Check
	// Generated are the target's generated columns, over the new row, in order. Query has them computed
	// already, except when Auto columns feed them; after DO UPDATE they must be computed.
	Generated []Generated
	// Returning are over one row: insert and delete: the row as in Query (insert: after Auto and
	// conflict handling, all columns of Target); update: the row as in Query. Nil if there is no
	// RETURNING.
	Returning []scalar.Expr
	// Actions are those of the WHEN clauses of MERGE.
	Actions []MergeAction
	// With are the data-modifying statements in WITH, which run before, in order.
	With []Modifying
	// RelNames for messages and the wire: columns of RETURNING are in planner.Bound.Columns.
}

// Modifying is a data-modifying statement in WITH. Rel stands for what it returns.
type Modifying struct {
	*DML
	Rel *catalog.Relation
}

// DMLKind is INSERT, UPDATE or DELETE.
type DMLKind uint8

// The kinds of DML.
const (
	Insert DMLKind = iota
	Update
	Delete
	// Merge: Query yields the number of the WHEN clause that a row is for (NULL: none), the matching row of the target (NULLs if
	// there is none), and the new row.
	Merge
)

// MergeAction is what a WHEN clause of MERGE does.
type MergeAction uint8

// The actions of MERGE.
const (
	MergeNothing MergeAction = iota
	MergeUpdate
	MergeDelete
	MergeInsert
)

// Check is a CHECK constraint as an expression over the target's columns.
type Check struct {
	Name string
	// Domain is set if it is one of the domain of a column; then Name is "" for NOT NULL.
	Domain string
	Expr   scalar.Expr
}

// Generated is a generated column.
type Generated struct {
	Col  int
	Expr scalar.Expr
}

// Conflict is ON CONFLICT.
type Conflict struct {
	// Arbiters are the unique constraints and indexes whose violation is meant; nil: all (only for DO NOTHING).
	Arbiters []string
	// DoUpdate: else DO NOTHING.
	DoUpdate bool
	// Set and Where are over the existing row's columns followed by the proposed row's (EXCLUDED).
	Set   []Assign
	Where scalar.Expr
}

// Assign sets column Col.
type Assign struct {
	Col  int
	Expr scalar.Expr
}

// CopyIn is a bound COPY table FROM: what to do with each row of input.
type CopyIn struct {
	Target *catalog.Relation
	// Cols are the target columns that the input has, in its order.
	Cols []int
	// Defaults are the values of the other columns: nil where the input has one, a constant
	// NULL where the server makes the value (see DML.Auto) or Generated does.
	Defaults []scalar.Expr
	// Where is the condition that rows must meet to be inserted, over the target's columns before Generated; may be nil.
	Where scalar.Expr
	// Auto, Checks and Generated: see DML.
	Auto      []int
	Checks    []Check
	Generated []Generated
}
