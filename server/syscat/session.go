package syscat

import "time"

// Cursor is a row of pg_cursors.
type Cursor struct {
	Name, Statement          string
	Held, Binary, Scrollable bool
	Created                  time.Time
}

// sessionRelations show what the session has.
func sessionRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_cursors", view: true, cols: `
			name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time timestamptz`, rows: cursorRows},
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
