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

// sessionRelations show what the session has.
func sessionRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_cursors", view: true, cols: `
			name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time timestamptz`, rows: cursorRows},
		{schema: pgCatalog, name: "weir_subscriptions", view: true, cols: `
			id oid, pid int4, statement text, since timestamptz, epoch int8, buffered_bytes int8`, rows: subscriptionRows},
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
