// Package exec is the contract of execution: what an operator is, what flows between operators,
// and what sources and sinks of connectors implement. Sub-packages: vec (columns and chunks), expr
// (vectorised expressions), op (operators), flow (actors, gates, dispatchers), batch (snapshot
// reads).
package exec

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Barrier separates epochs. A barrier with epoch e follows every change of epoch e and precedes
// every change of epoch e+1 (or later: epochs may have gaps).
type Barrier struct {
	Epoch storage.Epoch
	// Time is the epoch's time, as a timestamptz value (microseconds since 2000-01-01 00:00 UTC). It is assigned when
	// the barrier is injected, and never below that of an earlier epoch, also across restarts. It is the only clock
	// that an operator may look at.
	Time int64
	// Checkpoint asks operators to hand their dirty state to their state tables.
	Checkpoint bool
	// Mutation changes the graph at this barrier; only package flow looks at it. Nil as a rule.
	Mutation any
}

// Second is the time to which an epoch's time is cut for users: what now() is in a view.
func (b Barrier) Second() int64 {
	r := b.Time % 1_000_000
	if r < 0 {
		r += 1_000_000
	}
	return b.Time - r
}

// Watermark promises that no later change, be it an insert or a retraction, is of a row with a value below Value in column
// Col (PhysInt). Operators act on it at the next barrier: where in an epoch it arrives depends on how producers
// interleave, and what holds at the barrier does not.
type Watermark struct {
	Col   int
	Value int64
}

// Port is where events enter an operator: one totally ordered sequence, with the number of the
// input on chunks and watermarks. Barriers are already aligned: one call for all inputs.
// A chunk is valid during the call only (package vec).
type Port interface {
	Chunk(port int, c *vec.Chunk) error
	Watermark(port int, w Watermark) error
	Barrier(b Barrier) error
}

// Output is where an operator sends what it produces. The operator's Barrier must call
// Output.Barrier exactly once, after everything that belongs to the epoch.
type Output interface {
	Chunk(c *vec.Chunk) error
	Watermark(w Watermark) error
	Barrier(b Barrier) error
}

// Operator is relational work on chunks. It is used by one goroutine. An error from any method
// is fatal to its job's region; row errors go to Context.RowError instead.
type Operator interface {
	Port
	// Schema is the types of the output columns.
	Schema() []types.Type
	// Open is called once, before any event, with the output. State is read lazily where possible.
	Open(ctx *Context, out Output) error
	// Close releases memory; no call follows.
	Close()
}

// StateTable is durable keyed bytes as operators see it (storage.StateTable implements it). Keys
// begin with the vnode byte. Put and Delete may be called at any time but cost memory until the
// next checkpoint: operators keep typed state of their own and write it at checkpoint barriers.
type StateTable interface {
	Empty() bool
	Get(key []byte) (val []byte, ok bool, err error)
	Scan(prefix []byte, fn func(key, val []byte) error) error
	// ScanRange is Scan for the keys in [lo, hi); a nil hi is no bound.
	ScanRange(lo, hi []byte, fn func(key, val []byte) error) error
	Put(key, val []byte)
	// Append is Put, and cheaper, for a key that was neither put nor deleted since the last checkpoint.
	Append(key, val []byte)
	// Insert is Append for a key that the table does not hold. (Nothing but speed depends on that.)
	Insert(key, val []byte)
	Delete(key []byte)
}

// Context is what an operator instance gets from its surroundings.
type Context struct {
	Ctx    context.Context
	Logger *slog.Logger
	// State opens the operator's state table by name ("groups"); nil function or nil result
	// means: keep everything in memory (batch).
	State func(name string) StateTable
	// RowError reports an expression that failed on a row; if it returns nil, NULL stands in its
	// place, else the error ends the work (ad hoc queries: always). Nil: every error does.
	RowError func(f RowFailure) error
	// SkipFailed: instead, a row of which an expression failed that it is made of is left out.
	SkipFailed bool
	// ChunkSize is the largest number of rows that an operator should put in a chunk.
	ChunkSize int
	// MemoryBudget is how many bytes of cached state the operator may keep; 0 = no bound.
	MemoryBudget int64
	// Memory is what the operator shares with others, besides its own budget; nil = no bound.
	Memory *Memory
	// Temp makes a temporary file for what does not fit into memory; nil: everything stays in memory (streams, which have
	// state tables for that).
	Temp func() (TempFile, error)
	// SpillOver is how many bytes an operator keeps in memory before it uses Temp.
	SpillOver int64
	// Env is what expressions may depend on.
	Env *Env
	// Due says from which time on the operator has something to do even if nothing comes in, as Barrier.Time: when
	// that has come, there is a barrier, and a read that must be fresh waits for it. NeverDue: not until something
	// comes. It holds until the next call. An operator whose output depends on time must call it in Open, with any
	// value, and at each barrier after which the time is another one. Nil: nobody cares (batch).
	Due func(at int64)
	// Late is told how many rows were left out because they came later than the watermark; nil: nobody asks.
	Late func(rows int64)
}

// RowFailure is an expression that fails on a row, or does not any more. What an operator reports adds up: the sum of
// Diff over all that it has reported of an expression and a row is how often the row is there and fails now.
type RowFailure struct {
	// Err is what went wrong. It is the same whenever the expression fails on the row.
	Err error
	// Site numbers the expressions of the operator.
	Site int
	// Cols and Row are the row. Columns without values are no part of it. They are valid during the call only.
	Cols []*vec.Vector
	Row  int
	// Diff is how many such rows come, or if it is negative go.
	Diff int64
}

// NeverDue is later than any time.
const NeverDue = math.MaxInt64

// Env is the session's or the job's environment of an expression.
type Env struct {
	Location *time.Location
	// Ctx ends what waits, such as pg_sleep; nil: nothing does.
	Ctx context.Context
	// Now is the statement's or epoch's time.
	Now time.Time
	// SessionUser is who connected, or SET SESSION AUTHORIZATION; "" is User.
	SessionUser string
	// User (the current one) and Database of the session.
	User, Database string
	// SearchPath lists the session's schemas that exist, without pg_catalog.
	SearchPath []string
	// TempSchema is the schema of the session's temporary tables, empty if it has made none.
	TempSchema string
	// DateOrder, DateStyle and IntervalStyle are how dates and intervals are read and written.
	DateOrder     types.DateOrder
	DateStyle     types.DateStyle
	IntervalStyle types.IntervalStyle
	// Names resolves the names of regclass and its kin; nil knows types only.
	Names types.ObjectNames
	// Types describes the types that users made; nil knows none.
	Types types.UserTypes
	// Objects answers catalog functions; nil refuses them.
	Objects Objects
}

// ErrNoData is returned by a Reader that has nothing now; io.EOF when it never will have.
var ErrNoData = errors.New("no data yet")

// Column is a column of a source.
type Column struct {
	Name string
	Type types.Type
}

// Source is a configured external input. It may be read by several Readers at once.
type Source interface {
	// Columns is the full schema.
	Columns() []Column
	// Splits is the number of independent, ordered parts, at least 1 and constant.
	Splits() int
	// AppendOnly and Replayable tell what a reader can rely on.
	Replayable() bool
	// Open starts reading a split at an offset (nil: from its start). cols lists the columns
	// that are needed; the others may be left as empty vectors.
	Open(ctx context.Context, split int, offset []byte, cols []int) (Reader, error)
}

// KeyedSource is a Source that knows columns by which its rows differ.
type KeyedSource interface {
	Source
	// Keys lists sets of columns that are never NULL and of which no two rows, of any splits, agree in all.
	Keys() [][]int
}

// Reader reads one split. It is used by one goroutine, except Ready's channel.
type Reader interface {
	// Next appends at most max rows to dst (a chunk of the full schema that the caller has reset)
	// and returns their number. 0 rows come with ErrNoData, io.EOF or another error. It does not block
	// for data.
	Next(dst *vec.Chunk, max int) (int, error)
	// Ready receives (capacity 1) when Next may have data again after ErrNoData.
	Ready() <-chan struct{}
	// Offset is the position after the last row that Next returned, for Source.Open. Opaque,
	// self-contained, at most a few hundred bytes.
	Offset() []byte
	// OffsetRows is the number of rows of the split before Offset.
	OffsetRows() int64
	// SetColumns changes the needed columns from the next call of Next on.
	SetColumns(cols []int)
	Close() error
}

// Sink is a configured external output.
type Sink interface {
	Open(ctx context.Context, schema []Column) (SinkWriter, error)
}

// SinkWriter takes one actor's changes.
type SinkWriter interface {
	Write(c *vec.Chunk) error
	// Barrier ends an epoch; at a checkpoint the writer makes what it took durable or prepares it.
	Barrier(epoch storage.Epoch, checkpoint bool) error
	Close() error
}
