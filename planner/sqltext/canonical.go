package sqltext

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Canonical writes an expression the way PostgreSQL shows those of its catalogs: every operator in parentheses, or with pretty only
// where they are needed, and types behind the constants and casts that have them. What the form of the expression does not tell any more (NULLIF and
// the like) makes ok false.
func Canonical(e scalar.Expr, col func(*scalar.Column) string, pretty bool) (text string, ok bool) {
	c := &canonical{col: col, pretty: pretty, ok: true}
	return c.expr(e, false), c.ok
}

// CanonicalOver is Canonical for an expression over parameters, for which param has the texts; CASE begins a line, indented.
func CanonicalOver(e scalar.Expr, param func(n int) string, indent int, pretty bool) (text string, ok bool) {
	c := &canonical{param: param, indent: indent, pretty: pretty, ok: true}
	return c.expr(e, true), c.ok
}

type canonical struct {
	// param gives the text of a parameter, and indent is where CASE begins a line; nil: there are no parameters, and no lines.
	param  func(n int) string
	indent int
	col    func(*scalar.Column) string
	pretty bool
	ok     bool
}

// expr writes e; implicit tells whether casts that nobody wrote are shown.
func (c *canonical) expr(e scalar.Expr, implicit bool) string {
	switch e := e.(type) {
	case *scalar.Column:
		return c.col(e)
	case *scalar.Const:
		return c.constant(e)
	case *scalar.Param:
		if c.param != nil {
			return c.param(e.N)
		}
	case *scalar.Case:
		return c.choice(e)
	case *scalar.Call:
		return c.call(e, implicit)
	case *scalar.And:
		return c.junction(e.Args, " AND ", e)
	case *scalar.Or:
		return c.junction(e.Args, " OR ", e)
	case *scalar.Not:
		return c.parens("NOT " + c.arg(e.X, e, false))
	case *scalar.IsNull:
		return c.parens(c.arg(e.X, e, true) + " IS " + not(e.Not) + "NULL")
	case *scalar.IsBool:
		v := "FALSE"
		if e.Val {
			v = "TRUE"
		}
		return c.parens(c.arg(e.X, e, false) + " IS " + not(e.Not) + v)
	case *scalar.Distinct:
		if e.Not {
			return c.parens("NOT " + c.parens(c.arg(e.L, e, true)+" IS DISTINCT FROM "+c.arg(e.R, e, true)))
		}
		return c.parens(c.arg(e.L, e, true) + " IS DISTINCT FROM " + c.arg(e.R, e, true))
	case *scalar.Coalesce:
		if len(e.Args) == 1 { // a change of the type alone
			return c.cast(e.Args[0], e.T)
		}
		return "COALESCE(" + c.list(e.Args) + ")"
	case *scalar.MinMax:
		name := "GREATEST"
		if e.Least {
			name = "LEAST"
		}
		return name + "(" + c.list(e.Args) + ")"
	case *scalar.In:
		return c.in(e)
	case *scalar.AnyAll:
		word := "ANY"
		if e.All {
			word = "ALL"
		}
		return c.parens(c.arg(e.L, e, true) + " " + e.Op.Name + " " + word + " (" + c.arg(e.R, e, true) + ")")
	case *scalar.MakeArray:
		if len(e.Elems) == 0 {
			return "ARRAY[]::" + e.T.String()
		}
		return "ARRAY[" + c.list(e.Elems) + "]"
	}
	c.ok = false
	return "?"
}

// choice writes CASE.
func (c *canonical) choice(e *scalar.Case) string {
	line := func(s string) string { return " " + s }
	if c.param != nil {
		line = func(s string) string { return "\n" + strings.Repeat(" ", c.indent) + s }
	}
	out := strings.TrimPrefix(line("CASE"), " ")
	c.indent += 4
	for _, x := range e.Whens {
		out += line("WHEN ") + c.expr(x.Cond, false) + " THEN " + c.expr(x.Result, true)
	}
	out += line("ELSE ") + c.expr(e.Else, true)
	c.indent -= 4
	return out + line("END")
}

func (c *canonical) parens(s string) string {
	if c.pretty {
		return s
	}
	return "(" + s + ")"
}

// arg writes an operand of parent.
func (c *canonical) arg(e, parent scalar.Expr, implicit bool) string {
	s := c.expr(e, implicit)
	if c.pretty && !simple(e, parent) {
		return "(" + s + ")"
	}
	return s
}

func (c *canonical) list(es []scalar.Expr) string {
	ss := make([]string, len(es))
	for i, e := range es {
		ss[i] = c.expr(e, true)
	}
	return strings.Join(ss, ", ")
}

func (c *canonical) junction(args []scalar.Expr, word string, parent scalar.Expr) string {
	ss := make([]string, len(args))
	for i, a := range args {
		ss[i] = c.arg(a, parent, false)
	}
	return c.parens(strings.Join(ss, word))
}

// simple tells whether an operand needs no parentheses below its parent in the pretty form.
func simple(e, parent scalar.Expr) bool {
	switch x := e.(type) {
	case *scalar.Column, *scalar.Param, *scalar.Const, *scalar.MinMax, *scalar.MakeArray, *scalar.Case:
		return true
	case *scalar.Coalesce:
		return true
	case *scalar.Call:
		if x.Fn.Kind != fn.Operator {
			return true
		}
		p, ok := parent.(*scalar.Call)
		switch {
		case ok && p.Fn.Kind != fn.Operator:
			return p.Fn.Kind != fn.Cast
		case !ok:
			switch parent.(type) {
			case *scalar.And, *scalar.Or, *scalar.Not:
				return true
			}
			return false
		}
		lo, hi := strings.Contains("+-", x.Fn.Name), strings.Contains("*/%", x.Fn.Name)
		plo, phi := strings.Contains("+-", p.Fn.Name), strings.Contains("*/%", p.Fn.Name)
		switch {
		case len(x.Args) != 2 || len(p.Args) != 2:
			return false
		case hi && plo:
			return true
		case lo && plo, hi && phi:
			return p.Args[0] == e
		}
		return false
	case *scalar.And:
		_, or := parent.(*scalar.Or)
		return or
	case *scalar.Or:
		return false
	case *scalar.Not, *scalar.IsNull, *scalar.IsBool, *scalar.Distinct, *scalar.AnyAll, *scalar.In:
		switch parent.(type) {
		case *scalar.And, *scalar.Or, *scalar.Not:
			return true
		}
	}
	return false
}

// constant writes a constant with its type where that is not plain.
func (c *canonical) constant(e *scalar.Const) string {
	if !e.Val.Valid {
		if e.T.Kind == types.Unknown {
			return "NULL"
		}
		return "NULL::" + e.T.String()
	}
	text := types.Format(e.T, e.Val, nil)
	switch e.T.Kind {
	case types.Bool:
		return strconv.FormatBool(e.Val.Bool())
	case types.Int4:
		if text[0] != '-' {
			return text
		}
	case types.Numeric:
		if text[0] >= '0' && text[0] <= '9' && strings.Contains(text, ".") {
			return text
		}
	case types.Unknown:
		return Quote(text)
	case types.Char:
		if e.T.Mod < 0 {
			return Quote(text) + "::bpchar"
		}
	case types.Record, types.Array:
		if e.T.Kind == types.Record {
			c.ok = false
		}
	}
	return Quote(text) + "::" + e.T.String()
}

// cast writes x::type.
func (c *canonical) cast(x scalar.Expr, to types.Type) string {
	if k, ok := x.(*scalar.Const); ok && k.T.WithoutMod() == to.WithoutMod() && k.Val.Valid {
		return Quote(types.Format(k.T, k.Val, nil)) + "::" + to.String()
	}
	s := c.expr(x, false)
	_, call := x.(*scalar.Call)
	operator := call && x.(*scalar.Call).Fn.Kind == fn.Operator
	if !c.pretty || operator {
		if !c.pretty || !strings.HasPrefix(s, "(") {
			s = "(" + s + ")"
		}
	}
	return s + "::" + to.String()
}

// unseen tells whether PostgreSQL has an operator for both types, where Weir casts one side.
func unseen(from, to types.Type) bool {
	small := func(k types.Kind) bool { return k == types.Int2 || k == types.Int4 || k == types.Int8 }
	switch {
	case small(from.Kind) && small(to.Kind):
		return true
	case from.Kind == types.Float4 && to.Kind == types.Float8:
		return true
	}
	return false
}

func (c *canonical) operand(e scalar.Expr, parent *scalar.Call) string {
	if x, ok := e.(*scalar.Call); ok && x.Fn.Kind == fn.Cast && len(x.Args) > 0 && unseen(x.Args[0].Type(), x.T) {
		return c.arg(x.Args[0], parent, true)
	}
	return c.arg(e, parent, true)
}

func (c *canonical) call(e *scalar.Call, _ bool) string {
	switch e.Fn.Kind {
	case fn.Cast:
		if len(e.Args) > 0 {
			return c.cast(e.Args[0], e.T)
		}
	case fn.Operator:
		switch len(e.Args) {
		case 1:
			return c.parens(e.Fn.Name + " " + c.operand(e.Args[0], e))
		case 2:
			return c.parens(c.operand(e.Args[0], e) + " " + e.Fn.Name + " " + c.operand(e.Args[1], e))
		}
	}
	switch e.Fn.Name {
	case "timezone":
		if len(e.Args) == 2 {
			return c.parens(c.arg(e.Args[1], e, true) + " AT TIME ZONE " + c.arg(e.Args[0], e, true))
		}
	case "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "current_user", "session_user", "current_role", "current_catalog":
		if len(e.Args) == 0 {
			return strings.ToUpper(e.Fn.Name)
		}
	case "extract":
		if k, ok := e.Args[0].(*scalar.Const); ok && len(e.Args) == 2 {
			return "EXTRACT(" + k.Val.S + " FROM " + c.expr(e.Args[1], true) + ")"
		}
	case "position", "overlay", "ltrim", "rtrim", "btrim", "normalize", "like_escape":
		// How it was written is not known.
		c.ok = false
	}
	return e.Fn.Name + "(" + c.list(e.Args) + ")"
}

// in writes IN as the comparison with an array that PostgreSQL makes of it.
func (c *canonical) in(e *scalar.In) string {
	op, word := "=", "ANY"
	if e.Not {
		op, word = "<>", "ALL"
	}
	if len(e.List) == 1 {
		return c.parens(c.arg(e.X, e, true) + " " + op + " " + c.arg(e.List[0], e, true))
	}
	if e.X.Type().Kind == types.Varchar {
		c.ok = false // there it compares texts, by way of two casts
	}
	return c.parens(c.arg(e.X, e, true) + " " + op + " " + word + " (ARRAY[" + c.list(e.List) + "])")
}
