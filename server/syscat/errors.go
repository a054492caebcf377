package syscat

import (
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// RowError is a row of weir_errors: an expression that fails on a row.
type RowError struct {
	Relation             *catalog.Relation
	Operator, Expression string
	Code, Message        string
	// Row is empty for the rows that are not listed one by one.
	Row                   string
	Count                 int64
	FirstEpoch, LastEpoch int64
	// Times are timestamptz values.
	FirstTime, LastTime int64
}

const errorsName = "weir_errors"

func errorRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: errorsName, view: true, cols: `
			id oid, schema name, name name, kind text, operator text, expression text, sqlstate text, message text,
			failed_row text, count int8, first_seen timestamptz, last_seen timestamptz, first_epoch int8, last_epoch int8`, rows: errorRows},
	}
}

// AtEpoch tells whether a system relation has what is at an epoch, as tables have, rather than what is now.
func AtEpoch(rel *catalog.Relation) bool { return rel.Kind == catalog.System && rel.Name == errorsName }

func errorRows(c *content) {
	if c.env.RowErrors == nil {
		return
	}
	rows, err := c.env.RowErrors()
	if err != nil {
		c.fail(err)
		return
	}
	c.columns("id", "schema", "name", "kind", "operator", "expression", "sqlstate", "message", "failed_row", "count", "first_seen",
		"last_seen", "first_epoch", "last_epoch")
	for _, e := range rows {
		r := e.Relation
		c.add(r.ID, r.Schema, r.Name, kindWords(r.Kind), orNull(e.Operator), orNull(e.Expression), e.Code, e.Message, orNull(e.Row), e.Count,
			types.DInt(e.FirstTime), types.DInt(e.LastTime), e.FirstEpoch, e.LastEpoch)
	}
}
