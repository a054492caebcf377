package sql

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
)

// pool are the values of random tables by type. What is equal in SQL and looks different is in it, and the ends of
// each type.
var pool = map[string][]string{
	"int2":        {"NULL", "0", "1", "-1", "32767", "-32768"},
	"int4":        {"NULL", "0", "1", "2", "-1", "2147483647", "-2147483648", "3"},
	"int8":        {"NULL", "0", "1", "2", "-1", "9223372036854775807", "-9223372036854775808"},
	"numeric":     {"NULL", "0", "1.0", "1.00", "2.5", "-1", "'NaN'", "'Infinity'", "'-Infinity'", "0.00", "1", "123456789012345678901234567890.5"},
	"float4":      {"NULL", "0", "'-0'", "1", "0.1", "'NaN'", "'Infinity'", "3.4e38"},
	"float8":      {"NULL", "0", "'-0'", "1", "2.5", "'NaN'", "'Infinity'", "'-Infinity'", "1e-300"},
	"text":        {"NULL", "''", "'a'", "'A'", "'a '", "'é'", "'ab'", "'zz'", `'a\b'`, "'a''b'"},
	"bool":        {"NULL", "true", "false"},
	"date":        {"NULL", "'2024-03-31'", "'2024-10-27'", "'infinity'", "'0044-03-15 BC'", "'5874897-12-31'"},
	"time":        {"NULL", "'00:00'", "'24:00'", "'02:30:00.000001'"},
	"timestamp":   {"NULL", "'2024-03-31 02:30'", "'2024-03-31 02:34:59.999999'", "'2024-03-31 02:35'", "'2024-10-27 02:30'", "'infinity'", "'-infinity'"},
	"timestamptz": {"NULL", "'2024-03-31 00:59:59Z'", "'2024-03-31 03:00+02'", "'2024-10-27 00:30Z'", "'2024-10-27 02:30+02'", "'infinity'"},
	"interval":    {"NULL", "'24 h'", "'1 d'", "'1 mon'", "'30 d'", "'-1 d'", "'0'", "'1 mon -30 d'"},
	"jsonb":       {"NULL", "'null'", "'1'", "'1.0'", `'"1"'`, `'{"a":1}'`, `'{"a":1.00}'`, "'[]'", "'[1,1.0]'", `'{"a":null,"":"é"}'`},
	"uuid":        {"NULL", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"},
	"bytea":       {"NULL", `''`, `'\x00'`, `'\xff00'`, `'\x0001'`},
	"int4[]":      {"NULL", "'{}'", "'{1}'", "'{1,NULL,2}'", "'{NULL}'", "'{2,2}'"},
	"text[]":      {"NULL", "'{}'", `'{a}'`, `'{"",a,NULL}'`, `'{"NULL"}'`},
	"numeric[]":   {"NULL", "'{}'", "'{1.0}'", "'{1.00}'", "'{NaN,1}'"},
}

// typeNames are the types of random columns, the more interesting ones several times.
var typeNames = []string{
	"int2", "int4", "int4", "int8", "int8", "numeric", "numeric", "float4", "float8", "float8", "text", "text", "bool", "date", "time", "timestamp", "timestamp",
	"timestamptz", "interval", "interval", "jsonb", "jsonb", "uuid", "bytea", "int4[]", "int4[]", "text[]", "numeric[]",
}

type column struct{ name, typ string }

// rel is a query with its output columns.
type rel struct {
	text string
	cols []column
	// noPG: PostgreSQL does not take it, or gives results of another order of addition.
	noPG bool
	// from are the queries that it is made of.
	from []rel
}

// table is a random table.
type table struct {
	rel    // text is its name
	nextID int
	// keyed tables have the primary key id; fixed ones take rows and never change them.
	keyed, fixed bool
}

// gen makes random tables, changes and queries.
type gen struct {
	*rand.Rand
	tables []*table
	// views are there to be read like tables.
	views []rel
	alias int
	// made are the queries that the one being made is made of.
	made []rel
}

func (g *gen) pick(ss ...string) string { return ss[g.Intn(len(ss))] }

// one in n.
func (g *gen) one(n int) bool { return g.Intn(n) == 0 }

func (g *gen) fresh() string {
	g.alias++
	return fmt.Sprintf("q%d", g.alias)
}

// createTables gives CREATE TABLE statements.
func (g *gen) createTables(n int) []string {
	var out []string
	for i := range n {
		t := &table{nextID: 1, keyed: !g.one(3), fixed: g.one(5)}
		t.text = fmt.Sprintf("t%d", i)
		t.cols = []column{{"id", g.pick("int4", "int4", "int8")}, {"g", "int4"}}
		for k := range 2 + g.Intn(4) {
			t.cols = append(t.cols, column{fmt.Sprintf("c%d", k), typeNames[g.Intn(len(typeNames))]})
		}
		g.tables = append(g.tables, t)
		var defs []string
		for _, c := range t.cols {
			defs = append(defs, c.name+" "+c.typ)
		}
		key := ""
		if t.keyed {
			key = ", PRIMARY KEY (id)"
		}
		end := ""
		if t.fixed {
			end = appendOnly
		}
		out = append(out, "CREATE TABLE "+t.text+" ("+strings.Join(defs, ", ")+key+")"+end)
	}
	return out
}

// appendOnly ends a CREATE TABLE; PostgreSQL does not have it.
const appendOnly = " APPEND ONLY"

func (g *gen) value(typ string) string {
	p := pool[typ]
	v := p[g.Intn(len(p))]
	if v[0] == '-' {
		return "(" + v + ")"
	}
	return v
}

// row are the values of a new row.
func (g *gen) row(t *table) string {
	vals := []string{fmt.Sprint(t.nextID), g.pick("0", "1", "2", "0", "1", "2", "NULL")}
	t.nextID++
	for _, c := range t.cols[2:] {
		vals = append(vals, g.value(c.typ))
	}
	return "(" + strings.Join(vals, ", ") + ")"
}

// change is a statement that writes, with the same effect everywhere.
func (g *gen) change() string {
	t := g.tables[g.Intn(len(g.tables))]
	kind := g.Intn(20)
	if t.fixed && kind > 7 {
		kind = g.Intn(7)
	}
	c := t.cols[2+g.Intn(len(t.cols)-2)]
	switch kind {
	case 0, 1, 2, 3, 4, 5:
		var rows []string
		for range 1 + g.Intn(6) {
			row := g.row(t)
			rows = append(rows, row)
			if !t.keyed && g.one(4) {
				rows = append(rows, row)
			}
		}
		return "INSERT INTO " + t.text + " VALUES " + strings.Join(rows, ", ")
	case 6, 7:
		if t.nextID > 40 {
			return g.delete(t)
		}
		var list []string
		for _, c := range t.cols[1:] {
			list = append(list, c.name)
		}
		by := t.nextID
		t.nextID += by
		return fmt.Sprintf("INSERT INTO %s SELECT id + %d, %s FROM %s WHERE id < 6", t.text, by, strings.Join(list, ", "), t.text)
	case 8, 9, 10:
		return g.delete(t)
	case 11, 12:
		return fmt.Sprintf("UPDATE %s SET g = %s WHERE %s", t.text, g.pick("(g + 1) % 3", "NULL", "0", "coalesce(g, 1)"), g.few(t))
	case 13:
		// Twice the same row: one change and its opposite in one statement.
		return fmt.Sprintf("UPDATE %s SET %s = %s", t.text, c.name, c.name)
	case 14:
		by := t.nextID
		t.nextID += by
		return fmt.Sprintf("UPDATE %s SET id = id + %d WHERE %s", t.text, by, g.few(t))
	case 15:
		if !t.keyed {
			break
		}
		row := strings.SplitN(g.row(t), ",", 2)
		return fmt.Sprintf("INSERT INTO %s VALUES (%d,%s ON CONFLICT (id) DO UPDATE SET g = excluded.g, %s = excluded.%s", t.text, 1+g.Intn(t.nextID-1), row[1], c.name, c.name)
	case 16:
		if !g.one(3) {
			break
		}
		return g.pick("TRUNCATE ", "DELETE FROM ") + t.text
	case 17:
		u := g.tables[g.Intn(len(g.tables))]
		if !u.keyed || u == t {
			break
		}
		return fmt.Sprintf("UPDATE %s SET g = u.g FROM %s u WHERE u.id = %s.id AND u.id %% 2 = %d", t.text, u.text, t.text, g.Intn(2))
	}
	return fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", t.text, c.name, g.value(c.typ), g.few(t))
}

func (g *gen) delete(t *table) string {
	if t.fixed {
		return "INSERT INTO " + t.text + " VALUES " + g.row(t)
	}
	return "DELETE FROM " + t.text + " WHERE " + g.few(t)
}

// few is a condition that some rows of a table meet.
func (g *gen) few(t *table) string {
	switch g.Intn(6) {
	case 0:
		return fmt.Sprintf("id = %d", 1+g.Intn(t.nextID))
	case 1:
		return fmt.Sprintf("id %% 3 = %d", g.Intn(3))
	case 2:
		return fmt.Sprintf("g = %d", g.Intn(3))
	case 3:
		return fmt.Sprintf("id > %d", t.nextID-3)
	case 4:
		c := t.cols[2+g.Intn(len(t.cols)-2)]
		return c.name + g.pick(" IS NULL", " = "+g.value(c.typ))
	default:
		return "g IS NULL OR id < 3"
	}
}

func integer(t string) bool { return t == "int2" || t == "int4" || t == "int8" }

func numericType(t string) bool {
	return integer(t) || t == "numeric" || t == "float8" || t == "float4"
}

func timeType(t string) bool { return t == "date" || t == "timestamp" || t == "timestamptz" }

// ordered types have min and max in PostgreSQL 15.
func ordered(t string) bool {
	return !slices.Contains([]string{"jsonb", "bool", "uuid", "bytea"}, t)
}

// comparable tells whether = takes both types in every product.
func comparable(a, b string) bool {
	return a == b || numericType(a) && numericType(b) || timeType(a) && timeType(b)
}

// predicate is a condition over columns of an alias.
func (g *gen) predicate(alias string, cols []column) string {
	if alias != "" && !strings.HasSuffix(alias, ".") {
		alias += "."
	}
	c := cols[g.Intn(len(cols))]
	n := alias + c.name
	switch g.Intn(8) {
	case 0:
		return n + g.pick(" IS NULL", " IS NOT NULL")
	case 1:
		return "(" + g.predicate(alias, cols) + g.pick(" OR ", " AND ") + g.predicate(alias, cols) + ")"
	case 2:
		return "NOT (" + g.predicate(alias, cols) + ")"
	case 3:
		d := cols[g.Intn(len(cols))]
		if comparable(c.typ, d.typ) {
			return n + g.pick(" = ", " < ", " <> ", " IS DISTINCT FROM ") + alias + d.name
		}
	case 4:
		return fmt.Sprintf("%s %sIN (%s::%s, %s::%s)", n, g.pick("", "NOT "), g.value(c.typ), c.typ, g.value(c.typ), c.typ)
	case 5:
		return fmt.Sprintf("%s %sBETWEEN %s::%s AND %s::%s", n, g.pick("", "NOT "), g.value(c.typ), c.typ, g.value(c.typ), c.typ)
	}
	return n + g.pick(" = ", " < ", " >= ", " <> ", " IS DISTINCT FROM ") + g.value(c.typ) + "::" + c.typ
}

// expr is an expression over columns of an alias, with its type. It cannot fail, and gives equal results for equal
// arguments.
func (g *gen) expr(alias string, cols []column) (string, string) {
	c := cols[g.Intn(len(cols))]
	n := alias + "." + c.name
	if g.one(8) {
		if x, t := g.called(n, c.typ); x != "" {
			return x, t
		}
	}
	switch g.Intn(6) {
	case 0, 1:
		switch c.typ {
		case "int2", "int4", "int8", "numeric":
			if integer(c.typ) && g.one(2) {
				return g.pick("("+n+"::numeric + 1)", "abs("+n+"::numeric)", "("+n+" / NULLIF("+n+"::numeric, 0))"), "numeric"
			}
			return "(" + n + "::numeric % 3)", "numeric"
		case "float8":
			return "(- " + n + ")", "float8"
		case "float4":
			return n + "::float8", "float8"
		case "text":
			return g.pick("lower("+n+")", "("+n+" || 'x')", "left("+n+", 1)", "NULLIF("+n+", '')"), "text"
		case "bool":
			return "(NOT " + n + ")", "bool"
		case "interval":
			return "(" + n + " + '1 d'::interval)", "interval"
		case "jsonb":
			return g.pick("("+n+" -> 'a')", "("+n+" -> 0)"), "jsonb"
		case "timestamp", "timestamptz":
			return "(" + n + " + '36 h'::interval)", c.typ
		case "int4[]":
			return g.pick(n+"[1]", "cardinality("+n+")"), "int4"
		case "text[]":
			return g.pick(n+"[1]", "array_to_string("+n+", '+', '?')"), "text"
		case "numeric[]":
			return n + "[1]", "numeric"
		}
	case 2:
		return fmt.Sprintf("CASE WHEN %s THEN %s END", g.predicate(alias, cols), n), c.typ
	case 3:
		return fmt.Sprintf("coalesce(%s, %s::%s)", n, g.value(c.typ), c.typ), c.typ
	case 4:
		return "(" + g.predicate(alias, cols) + ")", "bool"
	}
	return n, c.typ
}

// pair finds columns that can be compared.
func (g *gen) pair(l, r []column) (string, string, bool) {
	for range 20 {
		a, b := l[g.Intn(len(l))], r[g.Intn(len(r))]
		if comparable(a.typ, b.typ) {
			return a.name, b.name, true
		}
	}
	return "", "", false
}

// has finds a column of one of some types.
func (g *gen) has(cols []column, types ...string) (string, bool) {
	for _, i := range g.Perm(len(cols)) {
		if slices.Contains(types, cols[i].typ) {
			return cols[i].name, true
		}
	}
	return "", false
}
