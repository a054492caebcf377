package sql

import (
	"fmt"
	"strings"
)

// over adds window functions. Functions that depend on the order of equal rows are over an order by all columns, so that rows
// that are equal in it are equal altogether.
func (g *gen) over(ops int) rel {
	in, a := g.query(ops-1), g.fresh()
	out := rel{cols: append([]column(nil), in.cols...)}
	list := []string{a + ".*"}
	var all []string
	for _, i := range g.Perm(len(in.cols)) {
		all = append(all, a+"."+in.cols[i].name+g.pick("", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
	}
	// They share their partitions, too: otherwise equal rows may come in another order for each.
	once := ""
	if !g.one(3) {
		once = "PARTITION BY " + a + "." + in.cols[g.Intn(len(in.cols))].name + " "
	}
	for i := range 1 + g.Intn(3) {
		part := ""
		if !g.one(3) {
			part = "PARTITION BY " + a + "." + in.cols[g.Intn(len(in.cols))].name + " "
		}
		var x, typ, def string
		var noPG bool
		if g.one(2) {
			x, typ, noPG = g.placed(a, in.cols)
			def = once + "ORDER BY " + strings.Join(all, ", ") + g.rowsFrame()
		} else {
			x, typ, noPG = g.peersOnly(a, in.cols)
			c := in.cols[g.Intn(len(in.cols))]
			def = part + g.peersFrame(a, c)
		}
		n := fmt.Sprintf("w%d", i)
		for used(out.cols, n) {
			n += "x"
		}
		list = append(list, x+" OVER ("+def+") AS "+n)
		out.cols = append(out.cols, column{n, typ})
		out.noPG = out.noPG || noPG
	}
	out.text = "SELECT " + strings.Join(list, ", ") + " FROM " + in.as(a)
	return out
}

func used(cols []column, name string) bool {
	for _, c := range cols {
		if c.name == name {
			return true
		}
	}
	return false
}

// placed is a function that depends on the order of all rows.
func (g *gen) placed(a string, cols []column) (x, typ string, noPG bool) {
	c := cols[g.Intn(len(cols))]
	n := a + "." + c.name
	switch g.Intn(9) {
	case 0:
		return "row_number()", "int8", false
	case 1:
		return fmt.Sprintf("ntile(%d)", 1+g.Intn(4)), "int4", false
	case 2, 3:
		return g.pick("lag", "lead") + "(" + n + g.pick("", ", 2", ", 0", ", -1", ", 3") + ")", c.typ, false
	case 4:
		return fmt.Sprintf("lag(%s, %d, %s::%s)", n, 1+g.Intn(2), g.value(c.typ), c.typ), c.typ, false
	case 5:
		return g.pick("first_value", "last_value") + "(" + n + ")", c.typ, false
	case 6:
		return fmt.Sprintf("nth_value(%s, %d)", n, 1+g.Intn(3)), c.typ, false
	case 7:
		if c.typ == "text" {
			return "string_agg(" + n + ", ',')", "text", false
		}
	}
	return g.windowAggregate(a, cols)
}

// peersOnly is a function that gives the same for peers.
func (g *gen) peersOnly(a string, cols []column) (x, typ string, noPG bool) {
	switch g.Intn(7) {
	case 0:
		return g.pick("rank()", "dense_rank()"), "int8", false
	case 1:
		return g.pick("percent_rank()", "cume_dist()"), "float8", false
	}
	return g.windowAggregate(a, cols)
}

func (g *gen) windowAggregate(a string, cols []column) (x, typ string, noPG bool) {
	c := cols[g.Intn(len(cols))]
	n := a + "." + c.name
	x, typ = g.pick("count(*)", "count("+n+")"), "int8"
	switch g.Intn(3) {
	case 0:
		switch c.typ {
		case "int2", "int4":
			x = "sum(" + n + ")"
		case "int8", "numeric":
			x, typ = g.pick("sum", "avg")+"("+n+")", "numeric"
		case "interval":
			x, typ = "sum("+n+")", "interval"
		case "bool":
			x, typ = g.pick("bool_or", "bool_and")+"("+n+")", "bool"
		case "float8":
			x, typ, noPG = g.pick("sum", "avg", "stddev")+"("+n+")", "float8", true
		}
	case 1:
		if ordered(c.typ) {
			x, typ = g.pick("min", "max")+"("+n+")", c.typ
		}
	}
	if g.one(5) {
		x += " FILTER (WHERE " + g.predicate(a, cols) + ")"
	}
	return x, typ, noPG
}

func (g *gen) rowsFrame() string {
	return g.pick("", "", " ROWS 2 PRECEDING", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
		" ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING", " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
		" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW")
}

// peersFrame is an order by one column and a frame of whole groups of peers.
func (g *gen) peersFrame(a string, c column) string {
	s := "ORDER BY " + a + "." + c.name + g.pick("", " DESC", " NULLS FIRST", " DESC NULLS LAST")
	switch k := g.Intn(7); {
	case k == 0:
		return ""
	case k < 3:
		return s
	case k == 3:
		return s + g.pick(" GROUPS 1 PRECEDING", " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING")
	case k == 4:
		return s + g.pick(" RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING") + g.pick("", " EXCLUDE GROUP")
	}
	offset := "1"
	switch {
	case c.typ == "float4" || !numericType(c.typ) && c.typ != "interval":
		return s
	case c.typ == "interval":
		offset = "'1 day'"
	}
	return s + strings.ReplaceAll(g.pick(" RANGE n PRECEDING", " RANGE BETWEEN n PRECEDING AND n FOLLOWING", " RANGE BETWEEN CURRENT ROW AND n FOLLOWING", " RANGE BETWEEN UNBOUNDED PRECEDING AND n PRECEDING"), "n", offset)
}
