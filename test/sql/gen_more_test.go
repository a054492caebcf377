package sql

import "fmt"

// createFunctions gives CREATE FUNCTION statements: of the argument alone, and of what tables have.
func (g *gen) createFunctions() []string {
	t, u := g.tables[g.Intn(len(g.tables))], g.tables[g.Intn(len(g.tables))]
	return []string{
		"CREATE FUNCTION f_num(x numeric, y numeric DEFAULT 2) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN x > y THEN x % 5 WHEN x IS NULL THEN -1 ELSE y - x END $$",
		"CREATE FUNCTION f_text(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT left($1, 1) || coalesce(NULLIF($1, 'a'), '?') $$",
		"CREATE FUNCTION f_count(x int4) RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT count(*) FROM " + t.text + " WHERE g = x $$",
		"CREATE FUNCTION f_rows(x int4) RETURNS TABLE (a int8, b int4) LANGUAGE sql STABLE AS $$ SELECT id::int8, g FROM " + u.text + " WHERE g = x OR g IS NULL AND x IS NULL $$",
	}
}

// called is a call of a function over a column, with its type; "" if there is none for it.
func (g *gen) called(n, typ string) (string, string) {
	switch typ {
	case "int2", "int4":
		if g.one(2) {
			// The tables have few values, and most columns others.
			return "f_count((" + n + " % 3)::int4)", "int8"
		}
		return g.pick("f_num("+n+")", "f_num("+n+", 1)", "f_num(y => 3, x => "+n+")"), "numeric"
	case "int8", "numeric":
		return g.pick("f_num("+n+")", "f_num("+n+", 0)"), "numeric"
	case "text":
		return g.pick("f_text("+n+")", "f_text(f_text("+n+"))"), "text"
	}
	return "", ""
}

// function joins a query with what a function gives for each row.
func (g *gen) function(ops int) rel {
	in, a, f := g.query(ops-1), g.fresh(), g.fresh()
	arg := g.pick("0", "1", "NULL")
	if c, ok := g.has(in.cols, "int2", "int4"); ok {
		arg = fmt.Sprintf("(%s.%s %% 3)::int4", a, c)
	}
	list, cols := g.some(a, in.cols, f, []column{{"a", "int8"}, {"b", "int4"}})
	if g.one(2) {
		return rel{cols: cols, text: fmt.Sprintf("SELECT %s FROM %s LEFT JOIN LATERAL f_rows(%s) AS %s ON true", list, in.as(a), arg, f)}
	}
	return rel{cols: cols, text: fmt.Sprintf("SELECT %s FROM %s CROSS JOIN LATERAL f_rows(%s) AS %s", list, in.as(a), arg, f)}
}

// mayFail is an expression that fails for some values of a column; safe is NULL instead, and fails tells when.
func (g *gen) mayFail(n, typ string) (x, safe, fails, result string) {
	switch typ {
	case "int8":
		if g.one(2) {
			return n + "::int4", "CASE WHEN " + n + " BETWEEN -2147483648 AND 2147483647 THEN " + n + "::int4 END", n + " NOT BETWEEN -2147483648 AND 2147483647", "int4"
		}
		return "(1000 / " + n + ")", "(1000 / NULLIF(" + n + ", 0))", n + " = 0", "int8"
	case "int2", "int4":
		return "(1000 / " + n + ")", "(1000 / NULLIF(" + n + ", 0))", n + " = 0", "int4"
	case "numeric":
		return "(1 % " + n + ")", "(1 % NULLIF(" + n + ", 0))", n + " = 0", "numeric"
	}
	return "", "", "", ""
}

// failing makes a query over which a view has expressions that fail: the view's text is another one, and its rows are those of the
// query, where NULL stands for what failed, or rows are left out.
func (g *gen) failing(ops int) (q rel, view, onError string) {
	in, a := g.query(ops-1), g.fresh()
	c, ok := g.has(in.cols, "int2", "int4", "int8", "numeric")
	if !ok {
		return in, "", ""
	}
	typ := ""
	for _, x := range in.cols {
		if x.name == c {
			typ = x.typ
		}
	}
	x, safe, fails, result := g.mayFail(a+"."+c, typ)
	onError = g.pick("null", "skip")
	where := ""
	if onError == "skip" {
		where = " WHERE (" + fails + ") IS NOT TRUE"
	}
	q = rel{noPG: in.noPG, from: []rel{in}}
	switch g.Intn(3) {
	case 0:
		list := a + ".*, %s AS fe"
		q.cols = append(append(q.cols, in.cols...), column{"fe", result})
		q.text = "SELECT " + fmt.Sprintf(list, safe) + " FROM " + in.as(a) + where
		view = "SELECT " + fmt.Sprintf(list, x) + " FROM " + in.as(a)
	case 1:
		q.cols = []column{{"fe", result}, {"n", "int8"}}
		const list = "SELECT %s AS fe, count(*) AS n FROM "
		q.text = fmt.Sprintf(list, safe) + in.as(a) + where + " GROUP BY 1"
		view = fmt.Sprintf(list, x) + in.as(a) + " GROUP BY 1"
	default:
		// What failed is not true in either way.
		q.cols = in.cols
		q.text = "SELECT " + a + ".* FROM " + in.as(a) + " WHERE " + safe + " > 1"
		view = "SELECT " + a + ".* FROM " + in.as(a) + " WHERE " + x + " > 1"
	}
	return q, view, onError
}
