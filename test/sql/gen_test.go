package sql

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
)

// pool are the values of random tables by type.
var pool = map[string][]string{
	"int4":        {"NULL", "0", "1", "2", "-1", "2147483647", "-2147483648", "3"},
	"int8":        {"NULL", "0", "1", "2", "-1", "9223372036854775807", "-9223372036854775808"},
	"numeric":     {"NULL", "0", "1.0", "1.00", "2.5", "-1", "'NaN'", "'Infinity'", "'-Infinity'", "0.00", "1"},
	"float8":      {"NULL", "0", "'-0'", "1", "2.5", "'NaN'", "'Infinity'", "'-Infinity'", "1e-300"},
	"text":        {"NULL", "''", "'a'", "'A'", "'a '", "'é'", "'ab'", "'zz'"},
	"bool":        {"NULL", "true", "false"},
	"date":        {"NULL", "'2024-03-31'", "'2024-10-27'", "'infinity'", "'0044-03-15 BC'"},
	"timestamptz": {"NULL", "'2024-03-31 00:59:59Z'", "'2024-03-31 03:00+02'", "'2024-10-27 00:30Z'", "'2024-10-27 02:30+02'", "'infinity'"},
	"interval":    {"NULL", "'24 h'", "'1 d'", "'1 mon'", "'30 d'", "'-1 d'", "'0'"},
	"jsonb":       {"NULL", "'null'", "'1'", "'1.0'", `'"1"'`, `'{"a":1}'`, `'{"a":1.00}'`, "'[]'", "'[1,1.0]'"},
}

var typeNames = []string{"int4", "int8", "numeric", "float8", "text", "bool", "date", "timestamptz", "interval", "jsonb"}

type column struct{ name, typ string }

// rel is a query with its output columns.
type rel struct {
	text string
	cols []column
}

// gen makes random tables, changes and queries.
type gen struct {
	*rand.Rand
	tables []rel // name as text
	nextID []int
	// views are there to be read like tables.
	views []rel
	alias int
}

func (g *gen) pick(ss ...string) string { return ss[g.Intn(len(ss))] }

func (g *gen) fresh() string {
	g.alias++
	return fmt.Sprintf("q%d", g.alias)
}

// createTables gives CREATE TABLE statements.
func (g *gen) createTables(n int) []string {
	var out []string
	for i := range n {
		t := rel{text: fmt.Sprintf("t%d", i), cols: []column{{"id", g.pick("int4", "int4", "int8")}, {"g", "int4"}}}
		for k := range 2 + g.Intn(3) {
			t.cols = append(t.cols, column{fmt.Sprintf("c%d", k), typeNames[g.Intn(len(typeNames))]})
		}
		g.tables = append(g.tables, t)
		g.nextID = append(g.nextID, 1)
		var defs []string
		for _, c := range t.cols {
			defs = append(defs, c.name+" "+c.typ)
		}
		key := ", PRIMARY KEY (id)"
		if g.Intn(3) == 0 {
			key = ""
		}
		out = append(out, "CREATE TABLE "+t.text+" ("+strings.Join(defs, ", ")+key+")")
	}
	return out
}

func (g *gen) value(typ string) string {
	p := pool[typ]
	v := p[g.Intn(len(p))]
	if v[0] == '-' {
		return "(" + v + ")"
	}
	return v
}

// change is a statement that writes, with the same effect everywhere.
func (g *gen) change() string {
	i := g.Intn(len(g.tables))
	t := g.tables[i]
	switch g.Intn(7) {
	case 0, 1, 2:
		var rows []string
		for range 1 + g.Intn(6) {
			vals := []string{fmt.Sprint(g.nextID[i]), fmt.Sprint(g.Intn(3))}
			g.nextID[i]++
			for _, c := range t.cols[2:] {
				vals = append(vals, g.value(c.typ))
			}
			rows = append(rows, "("+strings.Join(vals, ", ")+")")
		}
		return "INSERT INTO " + t.text + " VALUES " + strings.Join(rows, ", ")
	case 3, 4:
		return "DELETE FROM " + t.text + " WHERE " + g.few(i)
	case 5:
		return fmt.Sprintf("UPDATE %s SET g = %s WHERE %s", t.text, g.pick("(g + 1) % 3", "NULL", "0"), g.few(i))
	default:
		c := t.cols[2+g.Intn(len(t.cols)-2)]
		return fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", t.text, c.name, g.value(c.typ), g.few(i))
	}
}

// few is a condition that some rows of a table meet.
func (g *gen) few(i int) string {
	switch g.Intn(5) {
	case 0:
		return fmt.Sprintf("id = %d", 1+g.Intn(g.nextID[i]))
	case 1:
		return fmt.Sprintf("id %% 3 = %d", g.Intn(3))
	case 2:
		return fmt.Sprintf("g = %d", g.Intn(3))
	case 3:
		return fmt.Sprintf("id > %d", g.nextID[i]-3)
	default:
		return "g IS NULL OR id < 3"
	}
}

func numericType(t string) bool { return t == "int4" || t == "int8" || t == "numeric" || t == "float8" }

func ordered(t string) bool { return t != "jsonb" && t != "bool" }

// comparable tells whether = takes both types in every product.
func comparable(a, b string) bool {
	return a == b || numericType(a) && numericType(b) || (a == "date" || a == "timestamptz") && (b == "date" || b == "timestamptz")
}

// as gives a query as an item of FROM, with its alias.
func (r rel) as(alias string) string { return "(" + r.text + ") AS " + alias }

// query makes a query of about that many operators.
func (g *gen) query(ops int) rel {
	if ops <= 1 {
		return g.scan()
	}
	switch g.Intn(14) {
	case 0, 1, 2:
		return g.join(ops)
	case 3, 4, 5:
		return g.aggregate(ops)
	case 6:
		in := g.query(ops - 1)
		in.text = "SELECT DISTINCT * FROM " + in.as(g.fresh())
		return in
	case 7:
		return g.setOp(ops)
	case 8:
		return g.top(ops)
	case 9:
		return g.rank(ops)
	case 10:
		return g.subquery(ops)
	case 11:
		return g.scalar(ops)
	case 12:
		return g.cte(ops)
	default:
		return g.project(ops)
	}
}

func (g *gen) scan() rel {
	t := g.tables[g.Intn(len(g.tables))]
	if len(g.views) > 0 && g.Intn(6) == 0 {
		t = g.views[g.Intn(len(g.views))]
	}
	out := rel{cols: make([]column, 0, len(t.cols))}
	var list []string
	for i, c := range t.cols {
		if i > 1 && g.Intn(4) == 0 {
			continue
		}
		n := fmt.Sprintf("x%d", len(list))
		list = append(list, c.name+" AS "+n)
		out.cols = append(out.cols, column{n, c.typ})
	}
	out.text = "SELECT " + strings.Join(list, ", ") + " FROM " + t.text
	if g.Intn(3) == 0 {
		out.text += " WHERE " + g.predicate("", t.cols)
	}
	return out
}

// predicate is a condition over columns of an alias.
func (g *gen) predicate(alias string, cols []column) string {
	if alias != "" {
		alias += "."
	}
	c := cols[g.Intn(len(cols))]
	n := alias + c.name
	switch g.Intn(6) {
	case 0:
		return n + g.pick(" IS NULL", " IS NOT NULL")
	case 1:
		return "(" + g.predicate(strings.TrimSuffix(alias, "."), cols) + g.pick(" OR ", " AND ") + g.predicate(strings.TrimSuffix(alias, "."), cols) + ")"
	case 2:
		return "NOT (" + g.predicate(strings.TrimSuffix(alias, "."), cols) + ")"
	case 3:
		d := cols[g.Intn(len(cols))]
		if comparable(c.typ, d.typ) {
			return n + g.pick(" = ", " < ", " <> ", " IS DISTINCT FROM ") + alias + d.name
		}
		fallthrough
	default:
		v := g.value(c.typ)
		return n + g.pick(" = ", " < ", " >= ", " <> ", " IS DISTINCT FROM ") + v + "::" + c.typ
	}
}

// expr is an expression over columns of an alias, with its type. It cannot fail.
func (g *gen) expr(alias string, cols []column) (string, string) {
	c := cols[g.Intn(len(cols))]
	n := alias + "." + c.name
	switch g.Intn(5) {
	case 0:
		switch c.typ {
		case "int4", "int8", "numeric":
			return "(" + n + "::numeric % 3)", "numeric"
		case "float8":
			return "(- " + n + ")", "float8"
		case "text":
			return g.pick("upper("+n+")", "("+n+" || 'x')", "left("+n+", 1)"), "text"
		case "bool":
			return "(NOT " + n + ")", "bool"
		case "interval":
			return "(" + n + " + '1 d'::interval)", "interval"
		case "jsonb":
			return "(" + n + " -> 'a')", "jsonb"
		}
	case 1:
		return fmt.Sprintf("CASE WHEN %s THEN %s END", g.predicate(alias, cols), n), c.typ
	case 2:
		return fmt.Sprintf("coalesce(%s, %s::%s)", n, g.value(c.typ), c.typ), c.typ
	case 3:
		return "(" + g.predicate(alias, cols) + ")", "bool"
	}
	return n, c.typ
}

func (g *gen) project(ops int) rel {
	in, a := g.query(ops-1), g.fresh()
	var out rel
	var list []string
	for i := range 2 + g.Intn(3) {
		x, t := g.expr(a, in.cols)
		n := fmt.Sprintf("p%d", i)
		list = append(list, x+" AS "+n)
		out.cols = append(out.cols, column{n, t})
	}
	out.text = "SELECT " + strings.Join(list, ", ") + " FROM " + in.as(a)
	if g.Intn(2) == 0 {
		out.text += " WHERE " + g.predicate(a, in.cols)
	}
	return out
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

func (g *gen) join(ops int) rel {
	left := g.query((ops - 1 + 1) / 2)
	right := g.query((ops - 1) / 2)
	a, b := g.fresh(), g.fresh()
	kind := g.pick("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
	var on string
	if x, y, ok := g.pair(left.cols, right.cols); ok {
		on = fmt.Sprintf("%s.%s = %s.%s", a, x, b, y)
	}
	if kind != "FULL JOIN" && g.Intn(3) == 0 {
		more := g.pick(g.predicate(a, left.cols), g.predicate(b, right.cols))
		if x, y, ok := g.pair(left.cols, right.cols); ok && g.Intn(2) == 0 {
			more = fmt.Sprintf("%s.%s %s %s.%s", a, x, g.pick("<", "<>", "IS NOT DISTINCT FROM"), b, y)
		}
		if on == "" {
			on = more
		} else {
			on += " AND " + more
		}
	}
	if on == "" {
		on = "true"
	}
	var out rel
	var list []string
	add := func(alias string, cols []column) {
		for _, c := range cols {
			if g.Intn(3) == 0 && len(list) > 0 || len(list) > 6 {
				continue
			}
			n := fmt.Sprintf("j%d", len(list))
			list = append(list, alias+"."+c.name+" AS "+n)
			out.cols = append(out.cols, column{n, c.typ})
		}
	}
	add(a, left.cols)
	add(b, right.cols)
	out.text = fmt.Sprintf("SELECT %s FROM %s %s %s ON %s", strings.Join(list, ", "), left.as(a), kind, right.as(b), on)
	if g.Intn(4) == 0 {
		out.text += " WHERE " + g.predicate(a, left.cols)
	}
	return out
}

func (g *gen) aggregate(ops int) rel {
	in, a := g.query(ops-1), g.fresh()
	var out rel
	var list, keys []string
	for range g.Intn(3) {
		x, t := g.expr(a, in.cols)
		if !strings.Contains(x, ".") {
			continue
		}
		keys = append(keys, x)
		n := fmt.Sprintf("k%d", len(list))
		list = append(list, x+" AS "+n)
		out.cols = append(out.cols, column{n, t})
	}
	add := func(x, t string) {
		if g.Intn(5) == 0 {
			x += " FILTER (WHERE " + g.predicate(a, in.cols) + ")"
		}
		n := fmt.Sprintf("a%d", len(list))
		list = append(list, x+" AS "+n)
		out.cols = append(out.cols, column{n, t})
	}
	for range 1 + g.Intn(3) {
		c := in.cols[g.Intn(len(in.cols))]
		n := a + "." + c.name
		switch g.Intn(6) {
		case 0:
			add("count(*)", "int8")
		case 1:
			add("count("+n+")", "int8")
		case 2:
			add("count(DISTINCT "+n+")", "int8")
		case 3:
			switch c.typ {
			case "int4":
				add("sum("+n+")", "int8")
			case "int8", "numeric":
				add("sum("+n+")", "numeric")
			case "interval":
				add("sum("+n+")", "interval")
			case "bool":
				add("bool_or("+n+")", "bool")
			default:
				add("count(*)", "int8")
			}
		case 4:
			switch c.typ {
			case "int4", "int8":
				add("avg("+n+")", "numeric")
			case "numeric":
				add("sum(DISTINCT "+n+")", "numeric")
			case "bool":
				add("bool_and("+n+")", "bool")
			default:
				add("count(*)", "int8")
			}
		default:
			if ordered(c.typ) {
				add(g.pick("min", "max")+"("+n+")", c.typ)
			} else {
				add("count(*)", "int8")
			}
		}
	}
	out.text = "SELECT " + strings.Join(list, ", ") + " FROM " + in.as(a)
	if g.Intn(4) == 0 {
		out.text += " WHERE " + g.predicate(a, in.cols)
	}
	if len(keys) > 0 {
		k := strings.Join(keys, ", ")
		switch g.Intn(8) {
		case 0:
			k = "ROLLUP (" + k + ")"
		case 1:
			k = "GROUPING SETS ((" + keys[0] + "), (" + k + "), ())"
		}
		out.text += " GROUP BY " + k
	}
	if g.Intn(4) == 0 {
		out.text += " HAVING count(*) " + g.pick("> 1", "= 1", "< 3")
	}
	return out
}

// castTo projects a query to given types, or says that it cannot.
func (g *gen) castTo(in rel, want []column) (rel, bool) {
	a := g.fresh()
	var list []string
	out := rel{cols: want}
	for _, w := range want {
		found := ""
		for _, k := range g.Perm(len(in.cols)) {
			if in.cols[k].typ == w.typ {
				found = a + "." + in.cols[k].name
				break
			}
		}
		if found == "" {
			found = g.value(w.typ) + "::" + w.typ
		}
		list = append(list, found+" AS "+w.name)
	}
	out.text = "SELECT " + strings.Join(list, ", ") + " FROM " + in.as(a)
	return out, true
}

func (g *gen) setOp(ops int) rel {
	l := g.query((ops - 1 + 1) / 2)
	r, _ := g.castTo(g.query((ops-1)/2), l.cols)
	op := g.pick("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL")
	return rel{"(" + l.text + ") " + op + " (" + r.text + ")", l.cols}
}

// order sorts by all columns, so that ties are equal rows.
func (g *gen) order(n int) string {
	var by []string
	for _, i := range g.Perm(n) {
		by = append(by, fmt.Sprint(i+1)+g.pick("", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
	}
	return strings.Join(by, ", ")
}

func (g *gen) top(ops int) rel {
	in := g.query(ops - 1)
	lim := fmt.Sprintf(" LIMIT %d", 1+g.Intn(4))
	if g.Intn(3) == 0 {
		lim += fmt.Sprintf(" OFFSET %d", 1+g.Intn(2))
	}
	if g.Intn(5) == 0 {
		lim = fmt.Sprintf(" FETCH FIRST %d ROWS WITH TIES", 1+g.Intn(2))
		i := g.Intn(len(in.cols))
		return rel{"SELECT * FROM " + in.as(g.fresh()) + fmt.Sprintf(" ORDER BY %d", i+1) + lim, in.cols}
	}
	return rel{"SELECT * FROM " + in.as(g.fresh()) + " ORDER BY " + g.order(len(in.cols)) + lim, in.cols}
}

func (g *gen) rank(ops int) rel {
	in, a, b := g.query(ops-1), g.fresh(), g.fresh()
	var names, by []string
	for _, c := range in.cols {
		names = append(names, c.name)
	}
	for _, i := range g.Perm(len(in.cols)) {
		by = append(by, in.cols[i].name+g.pick("", " DESC", " NULLS FIRST"))
	}
	part := in.cols[g.Intn(len(in.cols))].name
	if g.Intn(3) == 0 {
		by = slices.DeleteFunc(by, func(x string) bool { return strings.Fields(x)[0] == part })
		by = append([]string{part}, by...)
		return rel{fmt.Sprintf("SELECT DISTINCT ON (%s) * FROM %s ORDER BY %s", part, in.as(a), strings.Join(by, ", ")), in.cols}
	}
	return rel{fmt.Sprintf("SELECT %s FROM (SELECT *, row_number() OVER (PARTITION BY %s ORDER BY %s) AS rn FROM %s) AS %s WHERE rn <= %d",
		strings.Join(names, ", "), part, strings.Join(by, ", "), in.as(a), b, 1+g.Intn(2)), in.cols}
}

// subquery filters by IN or EXISTS.
func (g *gen) subquery(ops int) rel {
	in, sub := g.query((ops-1+1)/2), g.query((ops-1)/2)
	a, b := g.fresh(), g.fresh()
	x, y, ok := g.pair(in.cols, sub.cols)
	if !ok {
		return rel{fmt.Sprintf("SELECT * FROM %s WHERE %sEXISTS (SELECT 1 FROM %s)", in.as(a), g.pick("", "NOT "), sub.as(b)), in.cols}
	}
	switch g.Intn(4) {
	case 0:
		return rel{fmt.Sprintf("SELECT * FROM %s WHERE %s.%s %sIN (SELECT %s.%s FROM %s)", in.as(a), a, x, g.pick("", "NOT "), b, y, sub.as(b)), in.cols}
	case 1:
		return rel{fmt.Sprintf("SELECT * FROM %s WHERE %s.%s %s (SELECT %s.%s FROM %s)", in.as(a), a, x, g.pick("> ALL", "< ANY", "<> ALL", "= ANY"), b, y, sub.as(b)), in.cols}
	default:
		return rel{fmt.Sprintf("SELECT * FROM %s WHERE %sEXISTS (SELECT 1 FROM %s WHERE %s.%s %s %s.%s AND %s)", in.as(a), g.pick("", "NOT "),
			sub.as(b), a, x, g.pick("=", "=", "<"), b, y, g.predicate(b, sub.cols)), in.cols}
	}
}

// scalar adds correlated scalar subqueries.
func (g *gen) scalar(ops int) rel {
	in, sub := g.query((ops-1+1)/2), g.query((ops-1)/2)
	a, b := g.fresh(), g.fresh()
	where := "true"
	if x, y, ok := g.pair(in.cols, sub.cols); ok {
		where = fmt.Sprintf("%s.%s %s %s.%s", a, x, g.pick("=", "=", "<", "<>"), b, y)
	}
	c := sub.cols[g.Intn(len(sub.cols))]
	agg, t := "count(*)", "int8"
	switch {
	case g.Intn(2) == 0 && ordered(c.typ):
		agg, t = "max("+b+"."+c.name+")", c.typ
	case g.Intn(2) == 0:
		agg = "count(DISTINCT " + b + "." + c.name + ")"
	}
	out := rel{cols: append(append([]column{}, in.cols...), column{fmt.Sprintf("s%s", a), t})}
	out.text = fmt.Sprintf("SELECT %s.*, (SELECT %s FROM %s WHERE %s) AS s%s FROM %s", a, agg, sub.as(b), where, a, in.as(a))
	return out
}

// cte reads one query twice.
func (g *gen) cte(ops int) rel {
	in, w, a, b := g.query(ops-1), g.fresh(), g.fresh(), g.fresh()
	x, y, ok := g.pair(in.cols, in.cols)
	if !ok {
		return in
	}
	var out rel
	var list []string
	for i, c := range in.cols {
		n := fmt.Sprintf("w%d", i)
		list = append(list, g.pick(a, b)+"."+c.name+" AS "+n)
		out.cols = append(out.cols, column{n, c.typ})
	}
	out.text = fmt.Sprintf("WITH %s AS (%s) SELECT %s FROM %s AS %s %s %s AS %s ON %s.%s = %s.%s", w, in.text, strings.Join(list, ", "), w, a,
		g.pick("JOIN", "LEFT JOIN"), w, b, a, x, b, y)
	return out
}
