package pgoracle

import (
	"fmt"
	"math/rand"
	"strings"
)

// gen writes random statements. It puts few parentheses, so that precedence decides; many of the
// expressions are therefore refused, by both sides.
type gen struct {
	rnd *rand.Rand
}

func (g *gen) pick(list ...string) string { return list[g.rnd.Intn(len(list))] }

func (g *gen) chance(n int) bool { return g.rnd.Intn(n) == 0 }

// list gives one to n things with commas between them.
func (g *gen) list(n int, one func() string) string {
	var parts []string
	for range 1 + g.rnd.Intn(n) {
		parts = append(parts, one())
	}
	return strings.Join(parts, ", ")
}

func (g *gen) name() string {
	return g.pick("a", "b", "c", "d", `"E"`, "name", "year", "values", "rows")
}

func (g *gen) column() string {
	return g.pick("a", "b", "c", "x.y", "s.t.u", `"Q"."R"`, "position", "name", "w.x.y.z", "over", "day")
}

func (g *gen) typ() string {
	return g.pick("int", "text", "numeric(10,2)", "varchar(3)", "timestamp with time zone", "timestamp(3)", "int[]",
		"double precision", "s.t", "interval day to second(3)", "interval", "char", "bit(3)", "float(3)", `"X"[][]`,
		"boolean", "time(2) with time zone", "bigint array", "character varying", "date")
}

func (g *gen) atom(depth int) string {
	switch g.rnd.Intn(30) {
	case 0, 1, 2, 3, 4, 5:
		return g.column()
	case 6, 7:
		return g.pick("1", "0", "42", "2147483648", "1.5", ".5", "1e10", "9223372036854775808")
	case 8, 9:
		return g.pick("'x'", "'it''s'", `E'\n'`, "$$q$$", "B'10'", "X'1f'", "null", "true", "false", "$1", "$2")
	case 10, 11, 12:
		return "(" + g.expr(depth-1) + ")"
	case 13:
		return g.call(depth - 1)
	case 14:
		return "case when " + g.expr(depth-1) + " then " + g.expr(depth-1) + g.pick("", " else "+g.expr(depth-1)) + " end"
	case 15:
		return "case " + g.expr(depth-1) + " when " + g.expr(depth-1) + " then " + g.expr(depth-1) + " end"
	case 16:
		return g.pick("", "row") + "(" + g.expr(depth-1) + ", " + g.expr(depth-1) + ")"
	case 17:
		return "array[" + g.list(2, func() string { return g.expr(depth - 1) }) + "]"
	case 18:
		return g.pick("", "exists ", "array") + "(" + g.query(depth-1) + ")"
	case 19:
		return g.pick("coalesce", "greatest", "least") + "(" + g.list(3, func() string { return g.expr(depth - 1) }) + ")"
	case 20:
		return "nullif(" + g.expr(depth-1) + ", " + g.expr(depth-1) + ")"
	case 21:
		return g.pick("extract(year from ", "extract('dow' from ", "trim(", "trim(leading 'x' from ", "collation for (",
			"position(a in ", "substring(a from ", "substring(a for ", "normalize(", "upper(", "trim(both from ") +
			g.pick("a", "(b + c)", "f(1)") + ")"
	case 22:
		return "cast(" + g.expr(depth-1) + " as " + g.typ() + ")"
	case 23:
		return g.pick("date '2020-01-01'", "interval '1' day", "interval '1' hour to second(2)", "interval(3) '1'",
			"timestamp with time zone 'x'", "numeric(3,1) '1.5'", "int4 '1'", "char(3) 'x'", "s.t 'x'", "double precision '1'",
			"time '1'", "char 'x'", "bit varying '1'")
	case 24:
		return g.pick("current_date", "current_timestamp(3)", "current_user", "localtime", "current_schema", "user")
	case 25:
		return g.pick(g.column(), "("+g.expr(depth-1)+")", "$1") + g.pick("[1]", "[a]", "[1:2]", "[:]", "[1:]", "[1][2]", "[:b]")
	case 26:
		return "(" + g.expr(depth-1) + ")" + g.pick(".f", ".f.g", ".f[1]", "[1].f")
	case 27:
		return g.pick("a", "x.y") + g.pick("[1].f", "[1][2].f.g")
	case 28:
		return "(a, b) overlaps " + g.pick("", "row") + "(" + g.expr(depth-1) + ", d)"
	}
	return "substring(" + g.pick("a similar b escape c", "a from 1 for 2", "a, 1", "a for 1 from 2") + ")"
}

func (g *gen) expr(depth int) string {
	if depth <= 0 {
		return g.pick("a", "b", "x.y", "1", "'s'", "$1", "null")
	}
	e := func() string { return g.expr(depth - 1) }
	switch g.rnd.Intn(24) {
	case 0, 1, 2, 3:
		return g.atom(depth)
	case 4:
		return g.pick("-", "+", "- ", "@ ", "~", "!! ", "operator(pg_catalog.-) ", "- -") + " " + e()
	case 5:
		return "not " + e()
	case 6, 7, 8:
		return e() + " " + g.pick("+", "-", "*", "/", "%", "^") + " " + e()
	case 9, 10:
		return e() + " " + g.pick("=", "<", ">", "<=", ">=", "<>", "!=") + " " + e()
	case 11, 12:
		return e() + " " + g.pick("and", "or") + " " + e()
	case 13, 14:
		return e() + " " + g.pick("||", "->", "->>", "@>", "&&", "~", "!~*", "<<", "|", "&", "#>", "?", "operator(s.+)", "operator(<)", "<->", "~~") + " " + e()
	case 15:
		return e() + " " + g.pick("", "not ") + g.pick("like", "ilike", "similar to") + " " + e() + g.pick("", "", " escape "+e())
	case 16:
		return e() + " " + g.pick("", "not ") + "between " + g.pick("", "symmetric ", "asymmetric ") + e() + " and " + e()
	case 17:
		return e() + " " + g.pick("", "not ") + "in (" + g.pick(g.list(3, e), g.query(depth-1), "("+g.query(depth-1)+")") + ")"
	case 18:
		return e() + " is " + g.pick("", "not ") + g.pick("null", "true", "false", "unknown", "distinct from "+e(), "normalized", "nfc normalized")
	case 19:
		return e() + " " + g.pick("isnull", "notnull")
	case 20:
		return e() + "::" + g.typ()
	case 21:
		return e() + " at time zone " + e()
	case 22:
		return e() + " collate " + g.pick(`"C"`, "pg_catalog.x", "c")
	}
	return e() + " " + g.pick("=", "<", "~", "like", "not ilike", "+", "operator(s.=)") + " " + g.pick("any", "all", "some") +
		" (" + g.pick(e(), g.query(depth-1), "("+g.query(depth-1)+")") + ")"
}

func (g *gen) call(depth int) string {
	e := func() string { return g.expr(depth) }
	args := g.pick("", g.list(3, e), "distinct "+g.list(2, e), "*", "variadic "+e(), e()+", variadic "+e(),
		"x => "+e(), e()+", y := "+e(), "all "+e(), g.list(2, e)+" order by "+g.order(depth))
	s := g.pick("f", "s.f", "a.b.f", "left", "count", "sum", `"Upper"`) + "(" + args + ")"
	if g.chance(6) {
		s += " within group (order by " + g.order(depth) + ")"
	}
	if g.chance(5) {
		s += " filter (where " + e() + ")"
	}
	if g.chance(4) {
		s += " over " + g.pick("w", g.window(depth))
	}
	return s
}

func (g *gen) order(depth int) string {
	return g.list(2, func() string {
		return g.expr(depth) + g.pick("", " asc", " desc", " using >", " desc nulls last", " nulls first")
	})
}

func (g *gen) window(depth int) string {
	s := "("
	if g.chance(4) {
		s += "w "
	}
	if g.chance(2) {
		s += " partition by " + g.list(2, func() string { return g.expr(depth) })
	}
	if g.chance(2) {
		s += " order by " + g.order(depth)
	}
	if g.chance(2) {
		bound := func() string {
			return g.pick("unbounded preceding", "unbounded following", "current row", g.expr(depth)+" preceding",
				g.expr(depth)+" following", "1 preceding")
		}
		s += " " + g.pick("rows", "range", "groups") + " " + g.pick(bound(), "between "+bound()+" and "+bound()) +
			g.pick("", "", " exclude ties", " exclude current row", " exclude group", " exclude no others")
	}
	return s + ")"
}

// from gives one item of FROM.
func (g *gen) from(depth int) string {
	alias := func() string { return g.pick("j", "k", "as l", "m (n)", "as o (p, q)") }
	optional := func() string { return g.pick("", "", " "+alias()) }
	if depth <= 0 {
		return g.pick("t", "s.t", "only u", "t *", "a.b.c") + optional()
	}
	switch g.rnd.Intn(12) {
	case 0, 1, 2:
		return g.from(0)
	case 3:
		return g.pick("", "lateral ") + "(" + g.query(depth-1) + ") " + alias()
	case 4:
		return g.pick("", "lateral ") + g.pick("f(1)", "s.g(a, b)", "generate_series(1, a)", "current_date", "rows from (f(1), g(2))",
			"unnest(a)") + g.pick("", " with ordinality") + optional()
	case 5:
		return g.pick("f(1)", "g()") + g.pick(" as (a int, b text)", " as r (a numeric(3,1), b int[])")
	case 6, 7, 8:
		l, r := g.from(depth-1), g.from(depth-1)
		return l + " " + g.pick("join", "inner join", "left join", "right outer join", "full join") + " " + r + " " +
			g.pick("on "+g.expr(1), "using (a, b)", "on "+g.expr(2))
	case 9:
		return g.from(depth-1) + g.pick(" cross join ", " natural join ", " natural left join ", " natural full join ") + g.from(depth-1)
	case 10:
		return "(" + g.from(depth-1) + g.pick(" cross join ", " natural join ") + g.from(depth-1) + ")" + optional()
	}
	// A condition that comes late.
	return g.from(depth-1) + " join " + g.from(depth-1) + " join " + g.from(depth-1) + " on true on " + g.expr(1)
}

func (g *gen) targets(depth int) string {
	return g.list(3, func() string {
		return g.pick("*", "t.*", g.expr(depth), g.expr(depth)+g.pick("", " x", ` as "Y"`, " as select", " name", " and", " is"))
	})
}

// query gives a query without parentheses around it.
func (g *gen) query(depth int) string {
	if depth <= 0 {
		return g.pick("select 1", "values (1)", "table t", "select a from t", "select")
	}
	var s string
	switch g.rnd.Intn(8) {
	case 0:
		s = "values (" + g.list(2, func() string { return g.expr(depth - 1) }) + ")" + g.pick("", ", (1, default)")
	case 1, 2:
		side := func() string { return g.pick(g.query(depth-1), "("+g.query(depth-1)+")", "("+g.query(depth-1)+")") }
		s = side() + " " + g.pick("union", "intersect", "except") + g.pick("", " all", " distinct") + " " + side()
	case 3:
		s = "(" + g.query(depth-1) + ")"
	default:
		s = "select " + g.pick("", "", "", "all ", "distinct ", "distinct on (a, b + c) ") + g.targets(depth-1)
		if !g.chance(4) {
			s += " from " + g.list(2, func() string { return g.from(depth - 1) })
		}
		if g.chance(3) {
			s += " where " + g.expr(depth)
		}
		if g.chance(4) {
			s += " group by " + g.pick("", "", "distinct ", "all ") + g.list(3, func() string { return g.group(2) })
		}
		if g.chance(6) {
			s += " having " + g.expr(depth-1)
		}
		if g.chance(8) {
			s += " window w as " + g.window(depth-1) + g.pick("", ", v as (w)")
		}
	}
	if g.chance(4) {
		s += " order by " + g.order(depth-1)
	}
	s += g.pick("", "", "", "", "", "", "", " limit 1", " offset 2", " limit 1 offset 2", " offset 1 limit 2", " limit a + 1", " limit all",
		" fetch first row only", " fetch next 3 rows only", " order by 1 fetch first (1 + 2) rows with ties", " for update",
		" limit null", " offset 3 rows fetch first 2 rows only", " for share of t nowait limit 1")
	if g.chance(8) {
		s = "with " + g.pick("", "recursive ") + g.list(2, func() string {
			return g.name() + g.pick("", " (p, q)") + " as " + g.pick("", "materialized ", "not materialized ") + "(" +
				g.pick(g.query(depth-1), g.query(depth-1), g.dml(depth-1)) + ")"
		}) + " " + s
	}
	return s
}

func (g *gen) group(depth int) string {
	if depth <= 0 {
		return g.pick("a", "b + c", "1", "()", "(a, b)")
	}
	one := func() string { return g.group(depth - 1) }
	return g.pick("a", "(b, c)", "()", "f(x)", "1", "row(a, b)", "rollup (a, (b, c), d + 1)", "cube (a, b)",
		"grouping sets ("+g.list(3, one)+")", g.expr(1))
}

func (g *gen) dml(depth int) string {
	e := func() string { return g.expr(depth) }
	var s string
	sets := func() string {
		return g.list(2, func() string {
			return g.pick("a = "+e(), "b = default", "(c, d) = ("+e()+", "+e()+")", "(c, d) = (select 1, 2)", "(e) = row(1)")
		})
	}
	switch g.rnd.Intn(3) {
	case 0:
		s = "insert into " + g.pick("t", "s.t", "t as x") + g.pick("", " (a, b)") + " " +
			g.pick("", "", "overriding user value ", "overriding system value ") +
			g.pick("values ("+g.list(2, e)+")", "values (1, default), (2, 3)", "default values", g.query(depth), "("+g.query(depth)+")")
		if g.chance(3) {
			s += " on conflict " + g.pick("", "(a) ", "(a, (b + c), lower(d)) ", "(a) where "+e()+" ", "on constraint k ") +
				g.pick("do nothing", "do update set "+sets(), "do update set "+sets()+" where "+e())
		}
	case 1:
		s = "update " + g.pick("t", "only s.t", "t x", "t as y", "t *") + " set " + sets()
		if g.chance(3) {
			s += " from " + g.list(2, func() string { return g.from(depth) })
		}
	default:
		s = "delete from " + g.pick("t", "only s.t", "t x", "t as y")
		if g.chance(3) {
			s += " using " + g.from(depth)
		}
	}
	if !strings.HasPrefix(s, "insert") && g.chance(2) {
		s += " where " + e()
	}
	if g.chance(4) {
		s += " returning " + g.targets(depth)
	}
	if g.chance(8) {
		s = fmt.Sprintf("with w as (%s) %s", g.pick(g.query(depth), "select 1"), s)
	}
	return s
}
