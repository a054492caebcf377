package syscat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// The one database and its tablespace; the oids are those of PostgreSQL's first database.
const (
	databaseID   = catalog.ID(5)
	tablespaceID = catalog.ID(1663)
)

func databaseRows(c *content) {
	c.columns("oid", "datname", "datdba", "encoding", "datlocprovider", "datistemplate", "datallowconn", "datconnlimit",
		"dattablespace", "datcollate", "datctype")
	c.add(databaseID, c.env.Database, bootstrapRoleID, utf8Encoding, 'c', false, true, -1, tablespaceID, "C", "C")
}

func tablespaceRows(c *content) {
	c.columns("oid", "spcname", "spcowner")
	c.add(tablespaceID, "pg_default", bootstrapRoleID)
	c.add(1664, "pg_global", bootstrapRoleID)
}

func settingRows(c *content) {
	if c.env.AllSettings == nil {
		return
	}
	c.columns("name", "setting", "category", "short_desc", "context", "vartype", "source", "boot_val", "reset_val", "pending_restart")
	ss := slices.Clone(c.env.AllSettings())
	slices.SortFunc(ss, func(a, b Setting) int { return compareFold(a.Name, b.Name) })
	for _, s := range ss {
		context, category, source := "user", "Client Connection Defaults", "default"
		if s.Fixed {
			context, category = "internal", "Preset Options"
		}
		if s.Value != s.Default {
			source = "session"
		}
		vartype := "string"
		if s.Default == "on" || s.Default == "off" {
			vartype = "bool"
		} else if _, err := strconv.Atoi(s.Default); err == nil {
			vartype = "integer"
		}
		c.add(s.Name, s.Value, category, s.Help, context, vartype, source, s.Default, s.Default, false)
	}
}

func activityRows(c *content) {
	c.columns("datid", "datname", "pid", "usesysid", "usename", "application_name", "state", "backend_type")
	e := c.env
	app := ""
	if e.Settings != nil {
		app = e.Settings("application_name")
	}
	c.add(databaseID, e.Database, int64(e.PID), roleID(e.User), e.User, app, "active", "client backend")
}

// weirRelations are views of pg_catalog about what PostgreSQL does not have.
func weirRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "weir_sources", view: true, cols: `
			id oid, schema name, name name, kind text, connector text, format text, encode text, splits int4,
			append_only bool, state text, problem text, options text[]`, rows: sourceRows},
		{schema: pgCatalog, name: "weir_sinks", view: true, cols: `
			id oid, schema name, name name, connector text, format text, encode text, options text[], guarantee text!, query text`, rows: sinkRows},
		{schema: pgCatalog, name: "weir_dependencies", view: true, cols: `
			id oid, schema name, name name, depends_on oid, depends_on_schema name, depends_on_name name`, rows: dependencyRows},
		{schema: pgCatalog, name: "weir_settings", view: true, cols: `
			name text, setting text, default_setting text, short_desc text, fixed bool`, rows: weirSettingRows},
		{schema: pgCatalog, name: "weir_functions", view: true, cols: `
			name name, kind text, arguments text, result text`, rows: functionRows},
	}
}

// state gives the state of r as columns.
func (e *Env) state(r *catalog.Relation) (state string, problem any, rowErrors, lateRows int64) {
	if e.State == nil {
		return "running", nil, 0, 0
	}
	s := e.State(r)
	state = "running"
	if s.Stopped {
		state = "stalled"
	}
	return state, orNull(s.Problem), s.RowErrors, s.LateRows
}

func kindWords(k catalog.RelKind) string {
	if k == catalog.MatView {
		return "materialized view"
	}
	return string(k)
}

func ownerName(s string) string {
	if s == "" {
		return bootstrapRole
	}
	return s
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// optionList shows options as name=value; what may be a secret is hidden.
func optionList(r *catalog.Relation) []string {
	out := []string{}
	for _, o := range append(slices.Clone(r.Options), r.EncodeOptions...) {
		v := o.Value
		if isSecret(o.Name) {
			v = "********"
		}
		out = append(out, o.Name+"="+v)
	}
	return out
}

func connectorOf(r *catalog.Relation) any {
	for _, o := range r.Options {
		if o.Name == "connector" {
			return o.Value
		}
	}
	return nil
}

func sourceRows(c *content) {
	c.columns("id", "schema", "name", "kind", "connector", "format", "encode", "splits", "append_only",
		"state", "problem", "options")
	for _, r := range c.cat.Sorted() {
		if r.HasConnector() {
			state, problem, _, _ := c.env.state(r)
			c.add(r.ID, r.Schema, r.Name, kindWords(r.Kind), connectorOf(r), orNull(r.Format), orNull(r.Encode), r.Splits,
				r.AppendOnly, state, problem, optionList(r))
		}
	}
}

func sinkRows(c *content) {
	c.columns("id", "schema", "name", "connector", "format", "encode", "options", "guarantee", "query")
	for _, r := range c.cat.Sorted() {
		if r.Kind == catalog.Sink {
			connector, options := any(connectorOf(r)), any(optionList(r))
			if t := c.cat.RelationByID(r.Into); t != nil {
				connector, options = "table", []string{"into=" + t.Schema + "." + t.Name, "columns=" + strings.Join(r.IntoColumns, ",")}
			}
			c.add(r.ID, r.Schema, r.Name, connector, orNull(r.Format), orNull(r.Encode), options, guarantee(r), orNull(r.Query))
		}
	}
}

// guarantee says how often a sink delivers a row when something fails: once, if it has transactions.
func guarantee(r *catalog.Relation) string {
	for name := range r.StateTables {
		if strings.HasSuffix(name, "/transactions") {
			return "exactly once"
		}
	}
	return "at least once"
}

func dependencyRows(c *content) {
	c.columns("id", "schema", "name", "depends_on", "depends_on_schema", "depends_on_name")
	for _, r := range c.cat.Sorted() {
		inputs := slices.Clone(r.Inputs())
		slices.Sort(inputs)
		for _, id := range slices.Compact(inputs) {
			if d := c.cat.RelationByID(id); d != nil {
				c.add(r.ID, r.Schema, r.Name, id, d.Schema, d.Name)
			}
		}
	}
}

func weirSettingRows(c *content) {
	if c.env.AllSettings == nil {
		return
	}
	c.columns("name", "setting", "default_setting", "short_desc", "fixed")
	for _, s := range c.env.AllSettings() {
		c.add(s.Name, s.Value, s.Default, s.Help, s.Fixed)
	}
}

// functionRows lists the functions that can be called.
func functionRows(c *content) {
	c.columns("name", "kind", "arguments", "result")
	kinds := map[fn.Kind]string{fn.Scalar: "function", fn.Aggregate: "aggregate", fn.Window: "window", fn.Table: "table function"}
	for _, f := range Registry().All() {
		if k := kinds[f.Kind]; k != "" {
			c.add(f.Name, k, argumentsText(f, true), resultText(f))
		}
	}
	slices.SortStableFunc(c.out, func(a, b []types.Datum) int {
		return types.Compare(types.T(types.Name), a[0], b[0])
	})
}

// settingsOfRows lists the settings that ALTER ROLE and ALTER DATABASE made.
func settingsOfRows(c *content) {
	c.columns("setdatabase", "setrole", "setconfig")
	add := func(database, role catalog.ID, list []catalog.Option) {
		if len(list) == 0 {
			return
		}
		texts := make([]string, len(list))
		for i, o := range list {
			texts[i] = o.Name + "=" + o.Value
		}
		c.add(database, role, texts)
	}
	add(0, 0, c.cat.Settings)
	add(databaseID, 0, c.cat.DatabaseSettings)
	for _, r := range c.cat.RoleList() {
		add(0, roleID(r.Name), r.Settings)
		add(databaseID, roleID(r.Name), r.DatabaseSettings)
	}
}
