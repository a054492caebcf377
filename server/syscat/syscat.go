// Package syscat presents the catalog the way PostgreSQL does: the relations of pg_catalog and
// information_schema, the catalog functions, and the names of objects that regclass and its kin
// read and write. Nothing of it is stored: the rows of a system relation are made from the present
// catalog whenever it is read.
//
// How it is built: a relation is a line of columns and a function that adds its rows (type
// relation); the files hold one group of relations each, and system.go puts them together. Relations
// that PostgreSQL has and that are always empty here are in empty.go. Functions are in funcs*.go: a line
// in the notation of package fn and an implementation under its ID.
//
// Where Weir differs from PostgreSQL: a source shows as a foreign table (relkind 'f'), a sink is no
// relation; indexes of constraints, which Weir does not keep as
// objects, are derived from their tables, with oids above 2^31. Hidden columns are left out. Types that
// Weir lacks stand for their nearest relatives: pg_node_tree is text, aclitem[] text[], xid oid.
package syscat

import (
	"fmt"
	"sync"
	"time"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// Env is what the content of system relations and the results of catalog functions depend on. It
// is valid for one statement. It implements exec.Objects and types.ObjectNames.
type Env struct {
	Catalog *catalog.Catalog
	// User and Database are those of the session.
	User, Database string
	// SearchPath lists the schemas for unqualified names, without pg_catalog.
	SearchPath []string
	// Settings gives the value of a run-time setting, "" if there is none of this name. Nil has none.
	Settings func(name string) string
	// AllSettings lists the settings for pg_settings; nil has none.
	AllSettings func() []Setting
	// SetSetting changes a setting for set_config and gives its new value; nil: set_config is not supported.
	SetSetting func(name, value string, local bool) (string, error)
	// AdvanceClock moves the server's clock and gives its new time; nil: it cannot be moved here.
	AdvanceClock func(by types.Span) (int64, error)
	// Sequences tells and changes where sequences stand; nil: they cannot be used here.
	Sequences Sequences
	// PID is the session's number, TxID the transaction's, 0 if it has none.
	PID  int32
	TxID int64
	// Now is when the transaction began.
	Now time.Time
	// Started is when the server was; the zero time is not known.
	Started time.Time
	// Size gives the bytes that a relation takes and Tuples its number of rows as far as known, else -1;
	// nil knows nothing.
	Size, Tuples func(id catalog.ID) int64
	// State tells how a job or source fares; nil: all is well.
	State func(rel *catalog.Relation) State
	// Jobs, Actors and Checkpoints are what runs; nil: nothing does.
	Jobs        func() map[catalog.ID]Job
	Actors      func() []Actor
	Checkpoints func() []Checkpoint
	Operators   func() []Operator
	Memory      func() []Memory
	// Fills are the relations that are being filled; nil: none.
	Fills func() []Fill
	// Cursors are those of the session; nil: none.
	Cursors func() []Cursor
	// Notify is pg_notify, and ListeningChannels pg_listening_channels; nil refuses it, and has none.
	Notify            func(channel, payload string) error
	ListeningChannels func() [][]types.Datum
	// Advisory takes advisory locks, and AdvisoryLocks lists those of all sessions; nil refuses it, and has none.
	Advisory      Advisory
	AdvisoryLocks func() []AdvisoryLock
	// LockWaits are the waits for locks of tables and rows; nil: none.
	LockWaits func() []LockWait
	// Shown writes an expression of a relation as PostgreSQL shows it, "" if that is not known; a literal alone has the type want. Nil:
	// expressions are shown as they were written.
	Shown func(rel *catalog.Relation, text string, want types.Type, pretty bool) string
	// ShownView writes the query of a view as PostgreSQL shows it, "" if that is not known. Nil: as it was written.
	ShownView func(rel *catalog.Relation, text string, pretty bool) string
	// RowErrors are those that the user may see; nil: there are none.
	RowErrors func() ([]RowError, error)
	// Subscriptions are those of all sessions; nil: none.
	Subscriptions func() []Subscription

	// What follows is made once, when it is first needed.
	once      sync.Once
	objs      *objects
	roleNames []string
	rolesByID map[catalog.ID]string
}

// Sequences is what the functions of sequences do.
type Sequences interface {
	Next(seq *catalog.Relation) (int64, error)
	Current(seq *catalog.Relation) (int64, error)
	Set(seq *catalog.Relation, value int64, called bool) error
	Last() (int64, error)
	// Standing gives what a sequence has as its one row.
	Standing(seq *catalog.Relation) (last, logged int64, called bool, err error)
	// Readable tells whether the user may know where a sequence is.
	Readable(seq *catalog.Relation) bool
}

// State is how a relation's job or source fares.
type State struct {
	// Stopped: its contents do not change any more. Problem says why, or what else is wrong.
	Stopped bool
	Problem string
	// RowErrors is the number of rows in which an expression failed.
	RowErrors int64
	// LateRows is the number of rows that were left out because they came later than the watermark.
	LateRows int64
}

// Setting is a row of pg_settings.
type Setting struct {
	Name, Value, Default, Help string
	// Fixed: cannot be changed.
	Fixed bool
}

// Rows gives the rows of a system relation, which must be one that a Reader of WithSystem gave.
func Rows(env *Env, rel *catalog.Relation) ([][]types.Datum, error) {
	s := theSystem()
	if rel.Kind == catalog.SequenceKind {
		return standing(env, rel)
	}
	d := s.byID[rel.ID]
	if d == nil {
		return nil, fmt.Errorf("system relation %s.%s is not known", rel.Schema, rel.Name)
	}
	c := &content{env: env, cat: env.Catalog, sys: s, def: d}
	if d.rows != nil {
		d.rows(c)
	}
	if c.err != nil {
		return nil, fmt.Errorf("system relation %s: %w", rel.Name, c.err)
	}
	return c.out, nil
}
