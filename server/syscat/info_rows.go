package syscat

import (
	"slices"
	"strconv"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

func infoCatalogRows(c *content) {
	c.columns("catalog_name")
	c.add(c.env.Database)
}

func infoEnabledRolesRows(c *content) {
	c.columns("role_name")
	for _, n := range c.env.roles() {
		c.add(n)
	}
}

func infoSchemataRows(c *content) {
	c.columns("catalog_name", "schema_name", "schema_owner")
	for _, s := range c.env.schemas() {
		c.add(c.env.Database, s.Name, ownerName(s.Owner))
	}
}

// tableTypes are the words of information_schema.tables; what is not in it is no table there. The standard does
// not know materialized views, and PostgreSQL leaves them out.
var tableTypes = map[rune]string{kindTable: "BASE TABLE", kindView: "VIEW", kindForeign: "FOREIGN"}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

func infoTablesRows(c *content) {
	c.columns("table_catalog", "table_schema", "table_name", "table_type", "is_insertable_into", "is_typed")
	for _, x := range c.all() {
		if t := tableTypes[x.kind]; t != "" {
			if persistence(x) == 't' && x.kind == kindTable {
				t = "LOCAL TEMPORARY"
			}
			c.add(c.env.Database, x.schema, x.name, t, yesNo(x.writable()), "NO")
		}
	}
}

func infoColumnsRows(c *content) {
	c.columns("table_catalog", "table_schema", "table_name", "column_name", "ordinal_position", "column_default",
		"is_nullable", "data_type", "character_maximum_length", "character_octet_length", "numeric_precision",
		"numeric_precision_radix", "numeric_scale", "datetime_precision", "interval_type", "collation_catalog", "collation_schema",
		"collation_name", "domain_catalog", "domain_schema", "domain_name", "udt_catalog", "udt_schema", "udt_name", "dtd_identifier", "is_self_referencing", "is_identity",
		"identity_generation", "identity_start", "identity_increment", "identity_maximum", "identity_minimum",
		"identity_cycle", "is_generated", "generation_expression", "is_updatable")
	db := c.env.Database
	for _, x := range c.all() {
		if tableTypes[x.kind] == "" {
			continue
		}
		for _, a := range x.cols {
			t := a.Type
			p := precisionOf(t)
			var def, gen, generation, start, increment, maximum, minimum any
			cycle, generated := "NO", "NEVER"
			if hasDefault(x, a) {
				if a.Generated {
					gen, generated = a.Default, "ALWAYS"
				} else {
					def = c.env.defaultText(x, a)
				}
			}
			if a.Identity != "" {
				generation = map[string]string{"always": "ALWAYS", "by default": "BY DEFAULT"}[a.Identity]
				if s := c.env.object(a.Sequence); s != nil && s.seq != nil {
					number := func(v int64) string { return strconv.FormatInt(v, 10) }
					start, increment, minimum, maximum = number(s.seq.Start), number(s.seq.Increment), number(s.seq.Min), number(s.seq.Max)
				}
			}
			var domCat, domSchema, domName any
			word, udtSchema, udtName := infoType(t), c.env.udtSchema(t), t.Name()
			if d := c.env.domainOf(a.Domain); d != nil {
				domCat, domSchema, domName = db, d.Schema, d.Name
				word, udtSchema, udtName = c.env.domainType(d)
			}
			var collCat, collSchema, collName any
			if collationOf(t) == cCollation {
				collCat, collSchema, collName = db, pgCatalog, "C"
			}
			c.add(db, x.schema, x.name, a.Name, a.num, def, yesNo(!a.NotNull), word, p.chars, p.octets, p.precision,
				p.radix, p.scale, p.datetime, p.interval, collCat, collSchema, collName, domCat, domSchema, domName, db, udtSchema, udtName,
				strconv.Itoa(a.num), "NO", yesNo(a.Identity != ""), generation, start, increment, maximum, minimum,
				cycle, generated, gen, yesNo(x.writable()))
		}
	}
}

// infoType is a type's name without modifier; an array is only that.
func infoType(t types.Type) string {
	if t.Kind == types.Array {
		return "ARRAY"
	}
	if t.Kind.IsUser() {
		return "USER-DEFINED"
	}
	return formatType(t)
}

// precision is what information_schema.columns says of a type's size; nil is NULL.
type precision struct {
	chars, octets, precision, radix, scale, datetime, interval any
}

func precisionOf(t types.Type) precision {
	var p precision
	switch t.Kind {
	case types.Varchar, types.Char:
		if n := t.CharLen(); n >= 0 {
			p.chars, p.octets = n, 4*n
		} else {
			p.octets = 1 << 30
		}
	case types.Text:
		p.octets = 1 << 30
	case types.Int2:
		p.precision, p.radix, p.scale = 16, 2, 0
	case types.Int4:
		p.precision, p.radix, p.scale = 32, 2, 0
	case types.Int8:
		p.precision, p.radix, p.scale = 64, 2, 0
	case types.Float4:
		p.precision, p.radix = 24, 2
	case types.Float8:
		p.precision, p.radix = 53, 2
	case types.Numeric:
		p.radix = 10
		if n, s, ok := t.NumericPS(); ok {
			p.precision, p.scale = n, s
		}
	case types.Date:
		p.datetime = 0
	case types.Time, types.Timestamp, types.Timestamptz, types.Interval:
		p.datetime = 6
		if n := t.TimePrecision(); n >= 0 {
			p.datetime = n
		}
	}
	return p
}

func infoViewsRows(c *content) {
	c.columns("table_catalog", "table_schema", "table_name", "view_definition", "check_option", "is_updatable",
		"is_insertable_into", "is_trigger_updatable", "is_trigger_deletable", "is_trigger_insertable_into")
	for _, x := range c.all() {
		if tableTypes[x.kind] == "VIEW" {
			c.add(c.env.Database, x.schema, x.name, orNull(c.env.viewDefinition(x.rel, false)), "NONE", "NO", "NO", "NO", "NO", "NO")
		}
	}
}

func infoTableConstraintsRows(c *content) {
	c.columns("constraint_catalog", "constraint_schema", "constraint_name", "table_catalog", "table_schema", "table_name",
		"constraint_type", "is_deferrable", "initially_deferred", "enforced", "nulls_distinct")
	words := map[rune]string{'p': "PRIMARY KEY", 'u': "UNIQUE", 'c': "CHECK", 'f': "FOREIGN KEY"}
	db := c.env.Database
	for _, n := range c.env.objects().constraints {
		var distinct any
		if n.kind == 'u' {
			distinct = "YES"
			if ix := c.env.object(n.index); ix != nil && ix.index.nullsEqual {
				distinct = "NO"
			}
		}
		deferrable, deferred := "NO", "NO"
		if n.foreign != nil {
			deferrable, deferred = yesNo(n.foreign.Deferrable), yesNo(n.foreign.Deferred)
		}
		c.add(db, n.rel.schema, n.name, db, n.rel.schema, n.rel.name, words[n.kind], deferrable, deferred, "YES", distinct)
	}
	// In the standard's eyes NOT NULL is a CHECK constraint.
	for _, x := range c.env.objects().list {
		if x.kind != kindTable {
			continue
		}
		for _, a := range x.cols {
			if a.NotNull {
				c.add(db, x.schema, c.env.notNullName(x, a), db, x.schema, x.name, "CHECK", "NO", "NO", "YES", nil)
			}
		}
	}
}

// notNullName makes the name of a NOT NULL constraint, which has none in the catalog.
func (e *Env) notNullName(x *object, a attribute) string {
	return strconv.FormatUint(uint64(e.schemaID(x.schema)), 10) + "_" + strconv.FormatUint(uint64(x.oid), 10) + "_" +
		strconv.Itoa(a.num) + "_not_null"
}

func infoKeyColumnRows(c *content) {
	c.columns("constraint_catalog", "constraint_schema", "constraint_name", "table_catalog", "table_schema", "table_name",
		"column_name", "ordinal_position", "position_in_unique_constraint")
	db := c.env.Database
	for _, n := range c.env.objects().constraints {
		if n.kind == 'c' {
			continue
		}
		for i, num := range n.cols {
			var position any
			if ix := c.env.object(n.index); n.kind == 'f' && ix != nil {
				position = slices.Index(ix.index.key, n.refCols[i]) + 1
			}
			c.add(db, n.rel.schema, n.name, db, n.rel.schema, n.rel.name, n.rel.rel.Columns[num-1].Name, i+1, position)
		}
	}
}

// actionWords are the actions of foreign keys in the information schema.
var actionWords = map[string]string{
	catalog.NoAction: "NO ACTION", catalog.Restrict: "RESTRICT", catalog.Cascade: "CASCADE", catalog.SetNull: "SET NULL",
	catalog.SetDefault: "SET DEFAULT",
}

func infoReferentialRows(c *content) {
	c.columns("constraint_catalog", "constraint_schema", "constraint_name", "unique_constraint_catalog", "unique_constraint_schema",
		"unique_constraint_name", "match_option", "update_rule", "delete_rule")
	db := c.env.Database
	for _, n := range c.env.objects().constraints {
		if n.foreign == nil {
			continue
		}
		match := "NONE"
		if n.foreign.MatchFull {
			match = "FULL"
		}
		c.add(db, n.rel.schema, n.name, db, n.ref.schema, n.foreign.Key, match, actionWords[n.foreign.OnUpdate], actionWords[n.foreign.OnDelete])
	}
}

func infoConstraintColumnRows(c *content) {
	c.columns("table_catalog", "table_schema", "table_name", "column_name", "constraint_catalog", "constraint_schema",
		"constraint_name")
	db := c.env.Database
	for _, n := range c.env.objects().constraints {
		// Of a foreign key it is what that uses: the columns that it references.
		of, cols := n.rel, n.cols
		if n.foreign != nil {
			of, cols = n.ref, n.refCols
		}
		for _, num := range cols {
			c.add(db, of.schema, of.name, of.rel.Columns[num-1].Name, db, n.rel.schema, n.name)
		}
	}
}

func infoConstraintTableRows(c *content) {
	c.columns("table_catalog", "table_schema", "table_name", "constraint_catalog", "constraint_schema", "constraint_name")
	db := c.env.Database
	for _, n := range c.env.objects().constraints {
		of := n.rel
		if n.foreign != nil {
			of = n.ref
		}
		if n.kind != 'c' {
			c.add(db, of.schema, of.name, db, n.rel.schema, n.name)
		}
	}
}

func infoCheckRows(c *content) {
	c.columns("constraint_catalog", "constraint_schema", "constraint_name", "check_clause")
	db := c.env.Database
	for _, n := range c.env.objects().constraints {
		if n.kind == 'c' {
			c.add(db, n.rel.schema, n.name, c.env.checkClause(n))
		}
	}
	for _, d := range c.env.objects().domains {
		c.add(db, d.t.Schema, d.check.Name, "("+d.check.Expr+")")
	}
	for _, x := range c.env.objects().list {
		if x.kind != kindTable {
			continue
		}
		for _, a := range x.cols {
			if a.NotNull {
				c.add(db, x.schema, c.env.notNullName(x, a), quoteIdent(a.Name)+" IS NOT NULL")
			}
		}
	}
}

func infoSequencesRows(c *content) {
	c.columns("sequence_catalog", "sequence_schema", "sequence_name", "data_type", "numeric_precision",
		"numeric_precision_radix", "numeric_scale", "start_value", "minimum_value", "maximum_value", "increment", "cycle_option")
	for _, x := range c.env.objects().list {
		if x.seq == nil {
			continue
		}
		q := x.seq
		// As in PostgreSQL, those of identity columns are not listed.
		if q.Identity {
			continue
		}
		number := func(v int64) string { return strconv.FormatInt(v, 10) }
		c.add(c.env.Database, x.schema, x.name, formatType(q.Type), precisionOf(q.Type).precision, 2, 0, number(q.Start), number(q.Min),
			number(q.Max), number(q.Increment), yesNo(q.Cycle))
	}
}

func infoTablePrivilegesRows(c *content) {
	c.columns("grantor", "grantee", "table_catalog", "table_schema", "table_name", "privilege_type", "is_grantable",
		"with_hierarchy")
	for _, x := range c.env.objects().list {
		if tableTypes[x.kind] == "" {
			continue
		}
		ps := []string{"SELECT"}
		if x.writable() {
			ps = []string{"INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE"}
		}
		owner := ownerName(x.owner)
		if x.rel.ACL != nil {
			for _, it := range x.rel.ACL {
				grantee := it.Grantee
				if grantee == "" {
					grantee = "PUBLIC"
				}
				for _, p := range it.Privs.Names() {
					can, _ := catalog.PrivilegeNamed(p)
					c.add(it.Grantor, grantee, c.env.Database, x.schema, x.name, p,
						yesNo(it.Grantable&can != 0 || it.Grantee == owner), yesNo(p == "SELECT"))
				}
			}
			continue
		}
		for _, p := range ps {
			c.add(owner, owner, c.env.Database, x.schema, x.name, p, "YES", yesNo(p == "SELECT"))
		}
	}
}

func infoViewTableRows(c *content) {
	c.columns("view_catalog", "view_schema", "view_name", "table_catalog", "table_schema", "table_name")
	db := c.env.Database
	for _, x := range c.env.objects().list {
		if tableTypes[x.kind] != "VIEW" {
			continue
		}
		for _, id := range x.rel.DependsOn {
			if d := c.env.object(id); d != nil {
				c.add(db, x.schema, x.name, db, d.schema, d.name)
			}
		}
	}
}

// checkClause is the condition of a CHECK constraint.
func (e *Env) checkClause(n *constraint) string {
	if s := e.shown(n.rel.rel, n.expr, types.T(types.Bool), false); s != n.expr {
		return s
	}
	return "(" + e.unpin(n.expr) + ")"
}
