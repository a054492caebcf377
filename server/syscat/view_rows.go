package syscat

import "strings"

// compareFold compares without regard to case.
func compareFold(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }

// isSecret tells by its name whether an option's value should not be shown.
func isSecret(name string) bool {
	for _, w := range []string{"password", "secret", "token", "credential", "private"} {
		if strings.Contains(strings.ToLower(name), w) {
			return true
		}
	}
	return false
}

func tablesRows(c *content) {
	c.columns("schemaname", "tablename", "tableowner", "hasindexes", "hasrules", "hastriggers", "rowsecurity")
	for _, x := range c.all() {
		if x.kind == kindTable {
			c.add(x.schema, x.name, ownerName(x.owner), len(c.env.indexesOf(x.oid)) > 0, false, false, false)
		}
	}
}

func viewsRows(c *content) {
	c.columns("schemaname", "viewname", "viewowner", "definition")
	for _, x := range c.all() {
		if x.kind == kindView {
			c.add(x.schema, x.name, ownerName(x.owner), orNull(c.env.viewDefinition(x.rel, false)))
		}
	}
}

func matviewsRows(c *content) {
	c.columns("schemaname", "matviewname", "matviewowner", "hasindexes", "ispopulated", "definition")
	for _, x := range c.env.objects().list {
		if x.kind == kindMatView {
			c.add(x.schema, x.name, ownerName(x.owner), len(c.env.indexesOf(x.oid)) > 0, true, orNull(c.env.viewDefinition(x.rel, false)))
		}
	}
}

func indexesRows(c *content) {
	c.columns("schemaname", "tablename", "indexname", "indexdef")
	for _, x := range c.env.objects().list {
		if x.index != nil {
			c.add(x.schema, x.rel.Name, x.name, c.env.indexDefinition(x, 0, false))
		}
	}
}

func sequencesRows(c *content) {
	c.columns("schemaname", "sequencename", "sequenceowner", "data_type", "start_value", "min_value", "max_value",
		"increment_by", "cycle", "cache_size", "last_value")
	for _, x := range c.env.objects().list {
		q := x.seq
		if q == nil {
			continue
		}
		var last any
		if s := c.env.Sequences; s != nil && s.Readable(x.rel) {
			v, _, called, err := s.Standing(x.rel)
			if err != nil {
				c.fail(err)
			}
			if called {
				last = v
			}
		}
		c.add(x.schema, x.name, ownerName(x.owner), q.Type.OID(), q.Start, q.Min, q.Max, q.Increment, q.Cycle, q.Cache, last)
	}
}

func statTablesRows(c *content) {
	c.columns("relid", "schemaname", "relname", "seq_scan", "seq_tup_read", "n_tup_ins", "n_tup_upd", "n_tup_del",
		"n_live_tup", "n_dead_tup", "vacuum_count", "autovacuum_count", "analyze_count", "autoanalyze_count")
	for _, x := range c.env.objects().list {
		if x.kind != kindTable && x.kind != kindMatView {
			continue
		}
		live := int64(0)
		if c.env.Tuples != nil {
			live = max(c.env.Tuples(x.oid), 0)
		}
		c.add(x.oid, x.schema, x.name, 0, 0, 0, 0, 0, live, 0, 0, 0, 0, 0)
	}
}

func statIndexesRows(c *content) {
	c.columns("relid", "indexrelid", "schemaname", "relname", "indexrelname", "idx_scan", "idx_tup_read", "idx_tup_fetch")
	for _, x := range c.env.objects().list {
		if x.index != nil {
			c.add(x.rel.ID, x.oid, x.schema, x.rel.Name, x.name, 0, 0, 0)
		}
	}
}
