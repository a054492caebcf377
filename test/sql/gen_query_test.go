package sql

import (
	"fmt"
	"slices"
	"strings"
)

// as gives a query as an item of FROM, with its alias.
func (r rel) as(alias string) string { return "(" + r.text + ") AS " + alias }

// kinds make a query of about that many operators each.
func (g *gen) kinds() []func(int) rel {
	return []func(int) rel{
		g.join, g.join, g.join, g.join, g.aggregate, g.aggregate, g.aggregate, g.aggregate, g.distinct, g.setOp, g.setOp, g.top, g.top, g.rank, g.rank,
		g.subquery, g.subquery, g.scalar, g.scalar, g.cte, g.project, g.project, g.lateral, g.lateral, g.series, g.series, g.windows, g.windows, g.recursive, g.over, g.over, g.over, g.function,
	}
}

// query makes a query of about that many operators.
func (g *gen) query(ops int) rel {
	mark := len(g.made)
	r := g.kind(ops)
	r.from = slices.Clone(g.made[mark:])
	r.noPG = r.noPG || slices.ContainsFunc(r.from, func(f rel) bool { return f.noPG })
	g.made = append(g.made[:mark], r)
	return r
}

func (g *gen) kind(ops int) rel {
	if ops <= 1 {
		return g.scan()
	}
	kinds := g.kinds()
	return kinds[g.Intn(len(kinds))](ops)
}

func (g *gen) scan() rel {
	t := g.tables[g.Intn(len(g.tables))].rel
	if len(g.views) > 0 && g.one(6) {
		t = g.views[g.Intn(len(g.views))]
	}
	out := rel{noPG: t.noPG}
	var list []string
	for i, c := range t.cols {
		if i > 1 && g.one(4) {
			continue
		}
		n := fmt.Sprintf("x%d", len(list))
		list = append(list, c.name+" AS "+n)
		out.cols = append(out.cols, column{n, c.typ})
	}
	out.text = "SELECT " + strings.Join(list, ", ") + " FROM " + t.text
	if g.one(3) {
		out.text += " WHERE " + g.predicate("", t.cols)
	}
	return out
}

func (g *gen) distinct(ops int) rel {
	in := g.query(ops - 1)
	return rel{text: "SELECT DISTINCT * FROM " + in.as(g.fresh()), cols: in.cols}
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
	if g.one(2) {
		out.text += " WHERE " + g.predicate(a, in.cols)
	}
	return out
}

// some picks columns of two items for the list of a join.
func (g *gen) some(a string, left []column, b string, right []column) (string, []column) {
	var list []string
	var cols []column
	add := func(alias string, from []column) {
		for _, c := range from {
			if g.one(3) && len(list) > 0 || len(list) > 6 {
				continue
			}
			n := fmt.Sprintf("j%d", len(list))
			list = append(list, alias+"."+c.name+" AS "+n)
			cols = append(cols, column{n, c.typ})
		}
	}
	add(a, left)
	add(b, right)
	return strings.Join(list, ", "), cols
}

func (g *gen) join(ops int) rel {
	left := g.query((ops - 1 + 1) / 2)
	right := g.query((ops - 1) / 2)
	a, b := g.fresh(), g.fresh()
	kind := g.pick("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
	var on []string
	x, y, ok := g.pair(left.cols, right.cols)
	switch {
	case ok && kind != "FULL JOIN" && g.one(6):
		on = append(on, fmt.Sprintf("%s.%s %s %s.%s", a, x, g.pick("<", "<>", ">=", "IS NOT DISTINCT FROM"), b, y))
	case ok:
		on = append(on, fmt.Sprintf("%s.%s = %s.%s", a, x, b, y))
	}
	if x, y, ok := g.pair(left.cols, right.cols); ok && g.one(4) {
		on = append(on, fmt.Sprintf("%s.%s = %s.%s", a, x, b, y))
	}
	if (kind != "FULL JOIN" || len(on) > 0) && g.one(3) {
		more := g.pick(g.predicate(a, left.cols), g.predicate(b, right.cols))
		if x, y, ok := g.pair(left.cols, right.cols); ok && g.one(2) {
			more = fmt.Sprintf("%s.%s %s %s.%s", a, x, g.pick("<", "<>", "IS NOT DISTINCT FROM"), b, y)
		}
		on = append(on, more)
	}
	if len(on) == 0 {
		on = []string{"true"}
	}
	list, cols := g.some(a, left.cols, b, right.cols)
	out := rel{cols: cols, text: fmt.Sprintf("SELECT %s FROM %s %s %s ON %s", list, left.as(a), kind, right.as(b), strings.Join(on, " AND "))}
	if g.one(4) {
		out.text += " WHERE " + g.pick(g.predicate(a, left.cols), g.predicate(b, right.cols))
	}
	return out
}

// lateral joins each row with a query over it.
func (g *gen) lateral(ops int) rel {
	in, sub := g.query((ops-1+1)/2), g.query((ops-1)/2)
	a, b, l := g.fresh(), g.fresh(), g.fresh()
	where := "true"
	if x, y, ok := g.pair(in.cols, sub.cols); ok {
		where = fmt.Sprintf("%s.%s %s %s.%s", a, x, g.pick("=", "=", "=", "<", "<>"), b, y)
	}
	if g.one(3) {
		where += " AND " + g.predicate(b, sub.cols)
	}
	var inner string
	cols := sub.cols
	switch g.Intn(4) {
	case 0:
		inner = fmt.Sprintf("SELECT %s.* FROM %s WHERE %s ORDER BY %s LIMIT %d", b, sub.as(b), where, g.order(len(cols)), 1+g.Intn(2))
	case 1:
		inner = fmt.Sprintf("SELECT DISTINCT %s.* FROM %s WHERE %s", b, sub.as(b), where)
	case 2:
		c := sub.cols[g.Intn(len(sub.cols))]
		cols = []column{{"n", "int8"}, {"d", "int8"}}
		inner = fmt.Sprintf("SELECT count(*) AS n, count(DISTINCT %s.%s) AS d FROM %s WHERE %s%s", b, c.name, sub.as(b), where, g.pick("", "", " HAVING count(*) > 1"))
	default:
		x, t := g.expr(a, in.cols)
		y, u := g.expr(b, sub.cols)
		cols = []column{{"x", t}, {"y", u}}
		inner = fmt.Sprintf("SELECT %s AS x, %s AS y FROM %s WHERE %s", x, y, sub.as(b), where)
	}
	list, out := g.some(a, in.cols, l, cols)
	if g.one(2) {
		return rel{text: fmt.Sprintf("SELECT %s FROM %s LEFT JOIN LATERAL (%s) AS %s ON true", list, in.as(a), inner, l), cols: out}
	}
	return rel{text: fmt.Sprintf("SELECT %s FROM %s, LATERAL (%s) AS %s", list, in.as(a), inner, l), cols: out}
}

// series calls set-returning functions, in FROM and in the select list.
func (g *gen) series(ops int) rel {
	in, a, u := g.query(ops-1), g.fresh(), g.fresh()
	call, typ := "generate_series(1, 2)", "int4"
	if c, ok := g.has(in.cols, "int2", "int4"); ok {
		call = fmt.Sprintf("generate_series(%s.%s::int4 %% 3, 2)", a, c)
	}
	if c, ok := g.has(in.cols, "int4[]"); ok && g.one(2) {
		call = fmt.Sprintf("unnest(%s.%s)", a, c)
	} else if c, ok := g.has(in.cols, "text[]"); ok {
		call, typ = fmt.Sprintf("unnest(%s.%s)", a, c), "text"
	}
	cols := []column{{"e", typ}}
	switch g.Intn(3) {
	case 0:
		list, out := g.some(a, in.cols, u, cols)
		return rel{text: fmt.Sprintf("SELECT %s FROM %s %s %s AS %s(e)%s", list, in.as(a), g.pick("CROSS JOIN", "CROSS JOIN LATERAL"), call, u, g.pick("", " WHERE "+g.predicate(u, cols))), cols: out}
	case 1:
		cols = append(cols, column{"o", "int8"})
		list, out := g.some(a, in.cols, u, cols)
		return rel{text: fmt.Sprintf("SELECT %s FROM %s LEFT JOIN %s WITH ORDINALITY AS %s(e, o) ON true", list, in.as(a), call, u), cols: out}
	default:
		x, t := g.expr(a, in.cols)
		return rel{text: fmt.Sprintf("SELECT %s AS x, %s AS e FROM %s", x, call, in.as(a)), cols: []column{{"x", t}, {"e", typ}}}
	}
}

// windows adds windows of time, which PostgreSQL does not have.
func (g *gen) windows(ops int) rel {
	in := g.query(ops - 1)
	c, ok := g.has(in.cols, "timestamp", "timestamptz")
	if !ok {
		return g.aggregateOf(in)
	}
	typ := in.cols[slices.IndexFunc(in.cols, func(x column) bool { return x.name == c })].typ
	call := fmt.Sprintf("TUMBLE((%s), %s, %s)", in.text, c, g.pick("INTERVAL '5 minutes'", "INTERVAL '1 day'"))
	switch g.Intn(6) {
	case 0, 1:
		call = fmt.Sprintf("HOP((%s), %s, %s)", in.text, c, g.pick("INTERVAL '5 minutes', INTERVAL '10 minutes'", "INTERVAL '12 hours', INTERVAL '1 day'", "INTERVAL '2 minutes', INTERVAL '5 minutes'"))
	case 2:
		call = fmt.Sprintf("CUMULATE((%s), %s, INTERVAL '5 minutes', INTERVAL '15 minutes')", in.text, c)
	case 3:
		part := ""
		if g.one(2) {
			part = " PARTITION BY " + in.cols[g.Intn(len(in.cols))].name
		}
		call = fmt.Sprintf("SESSION((%s)%s, %s, %s)", in.text, part, c, g.pick("INTERVAL '5 minutes'", "INTERVAL '1 day'"))
	}
	cols := append([]column{{"window_start", typ}, {"window_end", typ}}, in.cols...)
	a := g.fresh()
	var r rel
	if g.one(3) {
		list, out := g.some(a, cols[:2], a, cols[2:])
		r = rel{text: fmt.Sprintf("SELECT %s FROM %s AS %s", list, call, a), cols: out}
	} else {
		keys := []string{a + ".window_start"}
		out := []column{{"k0", typ}}
		if g.one(2) {
			k := in.cols[g.Intn(len(in.cols))]
			keys = append(keys, a+"."+k.name)
			out = append(out, column{"k1", k.typ})
		}
		list := make([]string, len(keys))
		for i, k := range keys {
			list[i] = fmt.Sprintf("%s AS k%d", k, i)
		}
		for range 1 + g.Intn(3) {
			x, t, _ := g.call(a, in.cols)
			n := fmt.Sprintf("a%d", len(list))
			list = append(list, x+" AS "+n)
			out = append(out, column{n, t})
		}
		r = rel{text: fmt.Sprintf("SELECT %s FROM %s AS %s GROUP BY %s", strings.Join(list, ", "), call, a, strings.Join(keys, ", ")), cols: out}
	}
	r.noPG = true
	return r
}

func (g *gen) aggregate(ops int) rel { return g.aggregateOf(g.query(ops - 1)) }

// call is a call of an aggregate, its type, and whether PostgreSQL may differ.
func (g *gen) call(a string, cols []column) (x, typ string, noPG bool) {
	c := cols[g.Intn(len(cols))]
	n := a + "." + c.name
	x, typ = "count(*)", "int8"
	switch g.Intn(11) {
	case 0:
	case 1:
		x = "count(" + n + ")"
	case 9:
		if ordered(c.typ) && !strings.HasSuffix(c.typ, "]") {
			x, typ = fmt.Sprintf("percentile_disc(%s) WITHIN GROUP (ORDER BY %s%s)", g.pick("0", "0.5", "0.9", "1"), n, g.pick("", " DESC")), c.typ
			if g.one(3) {
				x = fmt.Sprintf("mode() WITHIN GROUP (ORDER BY %s)", n)
			}
		}
	case 10:
		if integer(c.typ) || c.typ == "float8" {
			x, typ = fmt.Sprintf("percentile_cont(%s) WITHIN GROUP (ORDER BY %s%s)", g.pick("0", "0.5", "0.3"), n, g.pick("", " DESC")), "float8"
		}
	case 2:
		x = "count(DISTINCT " + n + ")"
	case 3:
		switch c.typ {
		case "int2", "int4":
			x = "sum(" + g.pick("", "DISTINCT ") + n + ")"
		case "int8", "numeric":
			x, typ = "sum("+g.pick("", "DISTINCT ")+n+")", "numeric"
		case "interval":
			x, typ = "sum("+n+")", "interval"
		case "bool":
			x, typ = g.pick("bool_or", "bool_and", "every")+"("+n+")", "bool"
		case "float8":
			x, typ, noPG = g.pick("sum", "avg", "stddev")+"("+n+")", "float8", true
		}
	case 4:
		switch c.typ {
		case "int2", "int4", "int8", "numeric":
			x, typ = g.pick("avg", "avg", "var_pop", "stddev")+"("+n+")", "numeric"
			noPG = x[0] != 'a' // the number of digits
		case "text":
			x, typ = fmt.Sprintf("string_agg(%s, ',' ORDER BY %s%s)", n, n, g.pick("", " DESC")), "text"
			if g.one(2) {
				x = fmt.Sprintf("string_agg(DISTINCT %s, ',')", n)
			}
		}
	case 5:
		if integer(c.typ) {
			x, typ = g.pick("bit_and", "bit_or")+"("+n+")", c.typ
		} else if _, ok := pool[c.typ+"[]"]; ok {
			x, typ = fmt.Sprintf("array_agg(%s ORDER BY %s%s)", n, n, g.pick("", " DESC", " NULLS FIRST")), c.typ+"[]"
		}
	case 6:
		if c.typ == "int4" || c.typ == "text" {
			x, typ = fmt.Sprintf("array_agg(DISTINCT %s)", n), c.typ+"[]"
		}
	default:
		if ordered(c.typ) {
			x, typ = g.pick("min", "max")+"("+n+")", c.typ
		}
	}
	if g.one(5) {
		x += " FILTER (WHERE " + g.predicate(a, cols) + ")"
	}
	return x, typ, noPG
}

func (g *gen) aggregateOf(in rel) rel {
	a := g.fresh()
	var out rel
	var list, keys []string
	for range g.Intn(3) {
		x, t := g.expr(a, in.cols)
		if !strings.Contains(x, ".") || slices.Contains(keys, x) || strings.Contains(x, "f_count(") {
			continue
		}
		keys = append(keys, x)
		n := fmt.Sprintf("k%d", len(list))
		list = append(list, x+" AS "+n)
		out.cols = append(out.cols, column{n, t})
	}
	for range 1 + g.Intn(3) {
		x, t, noPG := g.call(a, in.cols)
		n := fmt.Sprintf("a%d", len(list))
		list = append(list, x+" AS "+n)
		out.cols = append(out.cols, column{n, t})
		out.noPG = out.noPG || noPG
	}
	group := ""
	if len(keys) > 0 {
		k := strings.Join(keys, ", ")
		switch g.Intn(8) {
		case 0:
			k = "ROLLUP (" + k + ")"
		case 1:
			k = "GROUPING SETS ((" + keys[0] + "), (" + k + "), ())"
		case 2:
			k = "CUBE (" + k + ")"
		case 3:
			n := fmt.Sprintf("g%d", len(list))
			list = append(list, "GROUPING("+k+") AS "+n)
			out.cols = append(out.cols, column{n, "int4"})
			k = "GROUPING SETS ((), (" + k + "), (" + k + "))"
		}
		group = " GROUP BY " + k
	}
	out.text = "SELECT " + strings.Join(list, ", ") + " FROM " + in.as(a)
	if g.one(4) {
		out.text += " WHERE " + g.predicate(a, in.cols)
	}
	out.text += group
	if g.one(4) {
		out.text += " HAVING count(*) " + g.pick("> 1", "= 1", "< 3")
	}
	return out
}

// castTo projects a query to given types.
func (g *gen) castTo(in rel, want []column) rel {
	a := g.fresh()
	var list []string
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
	return rel{text: "SELECT " + strings.Join(list, ", ") + " FROM " + in.as(a), cols: want}
}

func (g *gen) setOp(ops int) rel {
	l := g.query((ops - 1 + 1) / 2)
	r := g.castTo(g.query((ops-1)/2), l.cols)
	if g.one(6) {
		var rows []string
		for range 1 + g.Intn(3) {
			var vals []string
			for _, c := range l.cols {
				vals = append(vals, g.value(c.typ)+"::"+c.typ)
			}
			rows = append(rows, "("+strings.Join(vals, ", ")+")")
		}
		r.text = "VALUES " + strings.Join(rows, ", ")
	}
	op := g.pick("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL")
	return rel{text: "(" + l.text + ") " + op + " (" + r.text + ")", cols: l.cols}
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
	if g.one(3) {
		lim += fmt.Sprintf(" OFFSET %d", 1+g.Intn(2))
	} else if g.one(5) {
		lim = fmt.Sprintf(" OFFSET %d", 1+g.Intn(4))
	}
	if g.one(5) {
		lim = fmt.Sprintf(" FETCH FIRST %d ROWS WITH TIES", 1+g.Intn(2))
		i := g.Intn(len(in.cols))
		return rel{text: "SELECT * FROM " + in.as(g.fresh()) + fmt.Sprintf(" ORDER BY %d%s", i+1, g.pick("", " DESC")) + lim, cols: in.cols}
	}
	return rel{text: "SELECT * FROM " + in.as(g.fresh()) + " ORDER BY " + g.order(len(in.cols)) + lim, cols: in.cols}
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
	switch g.Intn(4) {
	case 0:
		by = slices.DeleteFunc(by, func(x string) bool { return strings.Fields(x)[0] == part })
		by = append([]string{part}, by...)
		return rel{text: fmt.Sprintf("SELECT DISTINCT ON (%s) * FROM %s ORDER BY %s", part, in.as(a), strings.Join(by, ", ")), cols: in.cols}
	case 1:
		return rel{text: fmt.Sprintf("SELECT %s FROM (SELECT *, rank() OVER (PARTITION BY %s ORDER BY %s) AS rn FROM %s) AS %s WHERE rn <= %d",
			strings.Join(names, ", "), part, by[0], in.as(a), b, 1+g.Intn(2)), cols: in.cols}
	}
	where := fmt.Sprintf("rn <= %d", 1+g.Intn(2))
	if g.one(3) {
		where = fmt.Sprintf("rn = %d", 1+g.Intn(2))
	}
	return rel{text: fmt.Sprintf("SELECT %s FROM (SELECT *, row_number() OVER (PARTITION BY %s ORDER BY %s) AS rn FROM %s) AS %s WHERE %s",
		strings.Join(names, ", "), part, strings.Join(by, ", "), in.as(a), b, where), cols: in.cols}
}

// subquery filters by IN, EXISTS, ANY, ALL and comparisons, or shows what they give.
func (g *gen) subquery(ops int) rel {
	in, sub := g.query((ops-1+1)/2), g.query((ops-1)/2)
	a, b := g.fresh(), g.fresh()
	x, y, ok := g.pair(in.cols, sub.cols)
	var cond string
	switch kind := g.Intn(7); {
	case !ok:
		cond = fmt.Sprintf("%sEXISTS (SELECT 1 FROM %s)", g.pick("", "NOT "), sub.as(b))
	case kind == 0:
		cond = fmt.Sprintf("%s.%s %sIN (SELECT %s.%s FROM %s)", a, x, g.pick("", "NOT "), b, y, sub.as(b))
	case kind == 1:
		cond = fmt.Sprintf("%s.%s %s (SELECT %s.%s FROM %s)", a, x, g.pick("> ALL", "< ANY", "<> ALL", "= ANY"), b, y, sub.as(b))
	case kind == 2:
		x2, y2, _ := g.pair(in.cols, sub.cols)
		if x2 == "" {
			x2, y2 = x, y
		}
		cond = fmt.Sprintf("(%s.%s, %s.%s) %sIN (SELECT %s.%s, %s.%s FROM %s)", a, x, a, x2, g.pick("", "NOT "), b, y, b, y2, sub.as(b))
	case kind == 3:
		x2, y2, _ := g.pair(in.cols, sub.cols)
		if x2 == "" {
			x2, y2 = x, y
		}
		cond = fmt.Sprintf("%s.%s %sIN (SELECT %s.%s FROM %s WHERE %s.%s %s %s.%s)", a, x, g.pick("", "NOT "), b, y, sub.as(b), a, x2, g.pick("=", "<>", "<"), b, y2)
	case kind == 4:
		cond = fmt.Sprintf("%s.%s %s (SELECT %s.%s FROM %s ORDER BY 1%s LIMIT 1)", a, x, g.pick("=", "<", "IS DISTINCT FROM"), b, y, sub.as(b), g.pick("", " DESC", " NULLS FIRST"))
	default:
		cond = fmt.Sprintf("%sEXISTS (SELECT 1 FROM %s WHERE %s.%s %s %s.%s AND %s)", g.pick("", "NOT "),
			sub.as(b), a, x, g.pick("=", "=", "<"), b, y, g.predicate(b, sub.cols))
	}
	if g.one(4) {
		cond = "((" + cond + ")" + g.pick(" OR ", " AND ", " IS NOT TRUE AND ") + g.predicate(a, in.cols) + ")"
	}
	if g.one(4) {
		return rel{text: fmt.Sprintf("SELECT %s.*, %s AS s%s FROM %s", a, cond, a, in.as(a)), cols: append(slices.Clone(in.cols), column{"s" + a, "bool"})}
	}
	return rel{text: fmt.Sprintf("SELECT * FROM %s WHERE %s", in.as(a), cond), cols: in.cols}
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
	n := b + "." + c.name
	agg, t := "count(*)", "int8"
	switch g.Intn(5) {
	case 0:
		if ordered(c.typ) {
			agg, t = "max("+n+")", c.typ
		}
	case 1:
		agg = "count(DISTINCT " + n + ")"
	case 2:
		agg, t = fmt.Sprintf("coalesce(bool_or(%s IS NULL), false)", n), "bool"
	case 3:
		agg, t, where = n, c.typ, where+fmt.Sprintf(" ORDER BY %s%s LIMIT 1", n, g.pick("", " DESC", " NULLS FIRST"))
	}
	out := rel{cols: append(slices.Clone(in.cols), column{"s" + a, t})}
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

// recursive follows a relation for a few steps.
func (g *gen) recursive(ops int) rel {
	start, step := g.query((ops-1+1)/2), g.query((ops-1)/2)
	r, a, b := g.fresh(), g.fresh(), g.fresh()
	from, okFrom := g.has(step.cols, "int4")
	first, okFirst := g.has(start.cols, "int4")
	to, okTo := g.has(step.cols, "int4")
	if !okFrom || !okFirst || !okTo {
		return g.aggregateOf(start)
	}
	return rel{text: fmt.Sprintf("WITH RECURSIVE %s(x, n) AS (SELECT %s.%s, 0 FROM %s %s SELECT %s.%s, %s.n + 1 FROM %s JOIN %s ON %s.x = %s.%s WHERE %s.n < 2) SELECT x, n FROM %s",
		r, a, first, start.as(a), g.pick("UNION", "UNION", "UNION ALL"), b, to, r, r, step.as(b), r, b, from, r, r), cols: []column{{"x", "int4"}, {"n", "int4"}}}
}
