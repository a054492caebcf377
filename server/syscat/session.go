package syscat

import (
	"time"

	"github.com/weirdb/weir/sql/catalog"
)

// Cursor is a row of pg_cursors.
type Cursor struct {
	Name, Statement          string
	Held, Binary, Scrollable bool
	Created                  time.Time
}

// Subscription is a row of weir_subscriptions.
type Subscription struct {
	ID        catalog.ID
	PID       int32
	Statement string
	Began     time.Time
	// Epoch is the newest whose changes have come, and Buffered the bytes that its client has not taken.
	Epoch, Buffered int64
}

// Fill is a row of weir_progress.
type Fill struct {
	Rel *catalog.Relation
	// State is filling or failed; then Error says why.
	State, Error string
	Since        time.Time
	// Read of about Total rows; 0: not known. Percent and Left are negative if not known.
	Read, Total int64
	Percent     float64
	Left        time.Duration
	Background  bool
	// Resumable: a restart goes on with it.
	Resumable bool
}

// sessionRelations show what the session has.
func sessionRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_cursors", view: true, cols: `
			name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time timestamptz`, rows: cursorRows},
		{schema: pgCatalog, name: "pg_locks", view: true, cols: `
			locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, transactionid oid, classid oid, objid oid, objsubid int2, virtualtransaction text, pid int4, mode text, granted bool, fastpath bool, waitstart timestamptz`, rows: lockRows},
		{schema: pgCatalog, name: "weir_subscriptions", view: true, cols: `
			id oid, pid int4, statement text, since timestamptz, epoch int8, buffered_bytes int8`, rows: subscriptionRows},
		{schema: pgCatalog, name: "weir_progress", view: true, cols: `
			id oid, schema name, name name, kind text, state text, background bool, resumable bool, since timestamptz, rows_read int8, rows_total int8,
			percent float8, seconds_left float8, error text`, rows: progressRows},
	}
}

func cursorRows(c *content) {
	if c.env.Cursors == nil {
		return
	}
	c.columns("name", "statement", "is_holdable", "is_binary", "is_scrollable", "creation_time")
	for _, k := range c.env.Cursors() {
		c.add(k.Name, k.Statement, k.Held, k.Binary, k.Scrollable, timestamp(k.Created))
	}
}

func subscriptionRows(c *content) {
	if c.env.Subscriptions == nil {
		return
	}
	c.columns("id", "pid", "statement", "since", "epoch", "buffered_bytes")
	for _, s := range c.env.Subscriptions() {
		c.add(s.ID, s.PID, s.Statement, timestamp(s.Began), s.Epoch, s.Buffered)
	}
}

func progressRows(c *content) {
	if c.env.Fills == nil {
		return
	}
	c.columns("id", "schema", "name", "kind", "state", "background", "resumable", "since", "rows_read", "rows_total", "percent", "seconds_left", "error")
	for _, f := range c.env.Fills() {
		var total, percent, left any
		if f.Total > 0 {
			total = f.Total
		}
		if f.Percent >= 0 {
			percent = f.Percent
		}
		if f.Left >= 0 {
			left = f.Left.Seconds()
		}
		c.add(f.Rel.ID, f.Rel.Schema, f.Rel.Name, kindWords(f.Rel.Kind), f.State, f.Background, f.Resumable, timestamp(f.Since), f.Read, total, percent, left, orNull(f.Error))
	}
}
