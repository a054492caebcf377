package parse

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
)

// Deparse writes a query or a data-modifying statement as text that Parse reads back to the same
// tree, positions aside. It writes all parentheses that could matter.
func Deparse(s ast.Statement) string {
	var w writer
	w.statement(s)
	return w.b.String()
}

// DeparseExpr writes an expression as text that ParseExpr reads back to the same tree.
func DeparseExpr(e ast.Expr) string {
	var w writer
	w.expr(e)
	return w.b.String()
}

// DeparseType writes a type name as text that ParseType reads back.
func DeparseType(t ast.TypeName) string {
	var w writer
	w.typeName(t)
	return w.b.String()
}

type writer struct{ b strings.Builder }

// puts writes strings.
func (w *writer) puts(parts ...string) {
	for _, s := range parts {
		w.b.WriteString(s)
	}
}

func (w *writer) str(s string) {
	if strings.ContainsRune(s, '\\') {
		w.puts("E'", strings.NewReplacer(`\`, `\\`, "'", "''").Replace(s), "'")
		return
	}
	w.puts("'", strings.ReplaceAll(s, "'", "''"), "'")
}

func (w *writer) ident(s string) { w.puts(QuoteIdent(s)) }

func (w *writer) path(parts []string) {
	for i, s := range parts {
		if i > 0 {
			w.puts(".")
		}
		w.ident(s)
	}
}

func (w *writer) idents(names []string) {
	w.puts("(")
	for i, s := range names {
		if i > 0 {
			w.puts(", ")
		}
		w.ident(s)
	}
	w.puts(")")
}

// list writes n things with commas between them.
func (w *writer) list(n int, one func(i int)) {
	for i := range n {
		if i > 0 {
			w.puts(", ")
		}
		one(i)
	}
}

func (w *writer) exprs(list []ast.Expr) {
	w.list(len(list), func(i int) { w.expr(list[i]) })
}

// typeName writes a type. Types that lose a modifier or a meaning under their catalog name get
// their own syntax.
func (w *writer) typeName(t ast.TypeName) {
	name := ""
	if len(t.Name.Parts) == 1 {
		name = t.Name.Parts[0]
	}
	mods := t.Mods
	switch {
	case name == "interval":
		w.puts("interval")
		if t.Fields != "" {
			w.puts(" ", t.Fields)
		}
	case name == "timestamptz" && len(mods) > 0:
		w.puts("timestamp(", mods[0], ") with time zone")
		mods = nil
	case name == "timetz" && len(mods) > 0:
		w.puts("time(", mods[0], ") with time zone")
		mods = nil
	default:
		w.typePath(t.Name.Parts)
	}
	if len(mods) > 0 {
		w.puts("(")
		for i, m := range mods {
			if i > 0 {
				w.puts(", ")
			}
			if _, err := strconv.ParseFloat(m, 64); err != nil {
				w.str(m)
			} else {
				w.puts(m)
			}
		}
		w.puts(")")
	}
	w.puts(strings.Repeat("[]", t.Dims))
}

// typePath writes a type's name: names that are no words for types need quotes.
func (w *writer) typePath(parts []string) {
	if len(parts) == 1 {
		if cat, _ := lex.Lookup(parts[0]); cat == lex.ColName || cat == lex.Unreserved {
			switch parts[0] {
			case "numeric", "bit", "varchar", "time", "timestamp":
				w.puts(parts[0])
			default:
				w.b.Write(appendQuoted(nil, parts[0], '"'))
			}
			return
		}
	}
	w.path(parts)
}

// operand writes an expression so that it can be any operator's operand.
func (w *writer) operand(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IntLit:
		if e.Value >= 0 {
			w.expr(e)
			return
		}
	case *ast.NumLit:
		if !strings.HasPrefix(e.Text, "-") {
			w.expr(e)
			return
		}
	case *ast.StrLit, *ast.NullLit, *ast.BoolLit, *ast.Param, *ast.BitLit, *ast.Case, *ast.Coalesce, *ast.NullIf,
		*ast.MinMax, *ast.Subquery, *ast.ColumnRef, *ast.Array, *ast.ArrayQuery, *ast.Row:
		w.expr(e)
		return
	case *ast.Func:
		w.expr(e)
		return
	}
	w.puts("(")
	w.expr(e)
	w.puts(")")
}

// infix writes "l word r".
func (w *writer) infix(l ast.Expr, word string, r ast.Expr) {
	w.operand(l)
	w.puts(" ", word, " ")
	w.operand(r)
}

func negated(not bool, word string) string {
	if not {
		return "NOT " + word
	}
	return word
}

func (w *writer) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IntLit:
		w.puts(strconv.FormatInt(e.Value, 10))
	case *ast.NumLit:
		w.puts(e.Text)
	case *ast.StrLit:
		w.str(e.Value)
	case *ast.BitLit:
		w.puts(string(e.Prefix), "'", strings.ReplaceAll(e.Digits, "'", "''"), "'")
	case *ast.BoolLit:
		w.puts(strings.ToUpper(strconv.FormatBool(e.Value)))
	case *ast.NullLit:
		w.puts("NULL")
	case *ast.Default:
		w.puts("DEFAULT")
	case *ast.Param:
		w.puts("$", strconv.Itoa(e.N))
	case *ast.TypedLit:
		w.typedLit(e)
	case *ast.ColumnRef:
		w.path(e.Parts)
	case *ast.Star:
		w.path(e.Parts)
		if len(e.Parts) > 0 {
			w.puts(".")
		}
		w.puts("*")
	case *ast.Binary:
		w.operand(e.L)
		w.puts(" ")
		w.operator(e.Schema, e.Op)
		w.puts(" ")
		w.operand(e.R)
	case *ast.Unary:
		w.operator(e.Schema, e.Op)
		w.puts(" ")
		w.operand(e.X)
	case *ast.And:
		w.logic(e.Args, " AND ")
	case *ast.Or:
		w.logic(e.Args, " OR ")
	case *ast.Not:
		w.puts("NOT ")
		w.operand(e.X)
	case *ast.Is:
		w.operand(e.X)
		w.puts(" IS ", negated(e.Not, [...]string{"NULL", "TRUE", "FALSE", "UNKNOWN"}[e.What]))
	case *ast.IsDistinct:
		w.infix(e.L, "IS "+negated(e.Not, "DISTINCT FROM"), e.R)
	case *ast.Between:
		word := "BETWEEN"
		if e.Sym {
			word += " SYMMETRIC"
		}
		w.infix(e.X, negated(e.Not, word), e.Lo)
		w.puts(" AND ")
		w.operand(e.Hi)
	case *ast.InList:
		w.operand(e.X)
		w.puts(" ", negated(e.Not, "IN"), " (")
		w.exprs(e.List)
		w.puts(")")
	case *ast.Like:
		w.infix(e.X, negated(e.Not, [...]string{"LIKE", "ILIKE", "SIMILAR TO"}[e.Kind]), e.Pattern)
		if e.Escape != nil {
			w.puts(" ESCAPE ")
			w.operand(e.Escape)
		}
	case *ast.AnyAll:
		w.operand(e.L)
		w.anyAll(e.Schema, e.Op, e.All)
		w.expr(e.R)
		w.puts(")")
	case *ast.AnyAllQuery:
		w.operand(e.X)
		w.anyAll(e.Schema, e.Op, e.All)
		w.query(e.Query)
		w.puts(")")
	case *ast.InQuery:
		w.operand(e.X)
		w.puts(" ", negated(e.Not, "IN"), " (")
		w.query(e.Query)
		w.puts(")")
	case *ast.Case:
		w.puts("CASE")
		if e.Operand != nil {
			w.puts(" ")
			w.operand(e.Operand)
		}
		for _, arm := range e.Whens {
			w.puts(" WHEN ")
			w.operand(arm.Cond)
			w.puts(" THEN ")
			w.operand(arm.Result)
		}
		if e.Else != nil {
			w.puts(" ELSE ")
			w.operand(e.Else)
		}
		w.puts(" END")
	case *ast.Coalesce:
		w.puts("COALESCE(")
		w.exprs(e.Args)
		w.puts(")")
	case *ast.NullIf:
		w.puts("NULLIF(")
		w.exprs([]ast.Expr{e.L, e.R})
		w.puts(")")
	case *ast.MinMax:
		w.puts(map[bool]string{true: "LEAST(", false: "GREATEST("}[e.Least])
		w.exprs(e.Args)
		w.puts(")")
	case *ast.Cast:
		w.puts("CAST(")
		w.expr(e.X)
		w.puts(" AS ")
		w.typeName(e.Type)
		w.puts(")")
	case *ast.Collate:
		w.operand(e.X)
		w.puts(" COLLATE ")
		w.path(e.Collation.Parts)
	case *ast.AtTimeZone:
		w.infix(e.X, "AT TIME ZONE", e.Zone)
	case *ast.Func:
		w.call(e)
	case *ast.Array:
		w.puts("ARRAY[")
		w.exprs(e.Elems)
		w.puts("]")
	case *ast.ArrayQuery:
		w.puts("ARRAY(")
		w.query(e.Query)
		w.puts(")")
	case *ast.Subscript:
		if sub, ok := e.X.(*ast.Subscript); ok && !e.Chain {
			w.puts("(")
			w.expr(sub)
			w.puts(")")
		} else {
			w.base(e.X)
		}
		w.puts("[")
		if e.Lo != nil {
			w.expr(e.Lo)
		}
		if e.Slice {
			w.puts(" : ")
			if e.Hi != nil {
				w.expr(e.Hi)
			}
		}
		w.puts("]")
	case *ast.Field:
		if col, ok := e.X.(*ast.ColumnRef); ok {
			// Without parentheses it would be a longer column name.
			w.puts("(")
			w.path(col.Parts)
			w.puts(")")
		} else {
			w.base(e.X)
		}
		if e.Name == "*" {
			w.puts(".*")
			return
		}
		w.puts(".")
		w.ident(e.Name)
	case *ast.Row:
		if e.Explicit {
			w.puts("ROW")
		}
		w.puts("(")
		w.exprs(e.Elems)
		w.puts(")")
	case *ast.Subquery:
		if e.Exists {
			w.puts("EXISTS ")
		}
		w.puts("(")
		w.query(e.Query)
		w.puts(")")
	case *ast.Overlaps:
		w.expr(e.L)
		w.puts(" OVERLAPS ")
		w.expr(e.R)
	default:
		fmt.Fprintf(&w.b, "<%T>", e)
	}
}

// base writes what a subscript or field is taken from; a chain of them is written as one.
func (w *writer) base(e ast.Expr) {
	switch x := e.(type) {
	case *ast.Subscript, *ast.Param:
		w.expr(e)
	case *ast.Field:
		w.expr(e)
	case *ast.ColumnRef:
		w.expr(x)
	default:
		w.puts("(")
		w.expr(e)
		w.puts(")")
	}
}

func (w *writer) operator(schema, op string) {
	if schema == "" {
		w.puts(op)
		return
	}
	w.puts("OPERATOR(")
	w.ident(schema)
	w.puts(".", op, ")")
}

// anyAll writes the operator and the word, up to the parenthesis.
func (w *writer) anyAll(schema, op string, all bool) {
	word := " ANY ("
	if all {
		word = " ALL ("
	}
	switch op {
	case "~~":
		op = "LIKE"
	case "!~~":
		op = "NOT LIKE"
	case "~~*":
		op = "ILIKE"
	case "!~~*":
		op = "NOT ILIKE"
	}
	w.puts(" ")
	w.operator(schema, op)
	w.puts(word)
}

func (w *writer) logic(args []ast.Expr, word string) {
	for i, a := range args {
		if i > 0 {
			w.puts(word)
		}
		w.operand(a)
	}
}

func (w *writer) typedLit(e *ast.TypedLit) {
	t := e.Type
	if len(t.Name.Parts) == 1 {
		switch t.Name.Parts[0] {
		case "interval":
			fields, mods := t.Fields, t.Mods
			w.puts("interval")
			if fields == "" && len(mods) > 0 {
				w.puts("(", mods[0], ")")
				mods = nil
			}
			w.puts(" ")
			w.str(e.Value)
			if fields != "" {
				w.puts(" ", fields)
				if len(mods) > 0 {
					w.puts("(", mods[0], ")")
				}
			}
			return
		case "bpchar":
			w.puts("char")
			if len(t.Mods) > 0 {
				w.puts("(", t.Mods[0], ")")
			}
			w.puts(" ")
			w.str(e.Value)
			return
		}
	}
	w.typeName(t)
	w.puts(" ")
	w.str(e.Value)
}

// call writes a function call, in the special syntax if there is no other.
func (w *writer) call(f *ast.Func) {
	name := f.Name.Parts
	switch {
	case f.Special:
		w.puts(strings.ToUpper(name[0]))
		if len(f.Args) > 0 {
			w.puts("(")
			w.exprs(f.Args)
			w.puts(")")
		}
		return
	case len(name) == 1 && name[0] == "grouping":
		w.puts("GROUPING(")
		w.exprs(f.Args)
		w.puts(")")
		return
	case len(name) == 1 && name[0] == "extract" && len(f.Args) == 2:
		w.puts("EXTRACT(")
		w.expr(f.Args[0])
		w.puts(" FROM ")
		w.expr(f.Args[1])
		w.puts(")")
		return
	case len(name) == 1 && name[0] == "position" && len(f.Args) == 2:
		w.puts("POSITION(")
		w.operand(f.Args[1])
		w.puts(" IN ")
		w.operand(f.Args[0])
		w.puts(")")
		return
	}
	w.path(name)
	w.puts("(")
	switch {
	case f.Star:
		w.puts("*")
	case f.Distinct:
		w.puts("DISTINCT ")
	}
	w.list(len(f.Args), func(i int) {
		if f.Variadic && i == len(f.Args)-1 {
			w.puts("VARIADIC ")
		}
		if i < len(f.ArgNames) && f.ArgNames[i] != "" {
			w.ident(f.ArgNames[i])
			w.puts(" => ")
		}
		w.expr(f.Args[i])
		if i == 0 && len(f.PartitionBy) > 0 {
			w.puts(" PARTITION BY ")
			w.list(len(f.PartitionBy), func(i int) { w.expr(f.PartitionBy[i]) })
		}
	})
	if len(f.OrderBy) > 0 {
		w.puts(" ")
		w.orderBy(f.OrderBy)
	}
	w.puts(")")
	if len(f.WithinGroup) > 0 {
		w.puts(" WITHIN GROUP (")
		w.orderBy(f.WithinGroup)
		w.puts(")")
	}
	if f.Filter != nil {
		w.puts(" FILTER (WHERE ")
		w.expr(f.Filter)
		w.puts(")")
	}
	if f.IgnoreNulls {
		w.puts(" IGNORE NULLS")
	}
	if f.Over != nil {
		w.puts(" OVER ")
		if f.Over.Name != "" && !f.Over.Ref {
			w.ident(f.Over.Name)
		} else {
			w.window(f.Over)
		}
	}
}

func (w *writer) orderBy(items []ast.OrderItem) {
	w.puts("ORDER BY ")
	w.list(len(items), func(i int) {
		it := items[i]
		w.operand(it.Expr)
		switch {
		case it.Using != "":
			w.puts(" USING ", it.Using)
		case it.Desc:
			w.puts(" DESC")
		}
		switch it.Nulls {
		case ast.NullsFirst:
			w.puts(" NULLS FIRST")
		case ast.NullsLast:
			w.puts(" NULLS LAST")
		}
	})
}

func (w *writer) window(s *ast.WindowSpec) {
	w.puts("(")
	if s.Ref {
		w.ident(s.Name)
	}
	if len(s.PartitionBy) > 0 {
		w.puts(" PARTITION BY ")
		w.exprs(s.PartitionBy)
	}
	if len(s.OrderBy) > 0 {
		w.puts(" ")
		w.orderBy(s.OrderBy)
	}
	if f := s.Frame; f != nil {
		w.puts([...]string{" ROWS BETWEEN ", " RANGE BETWEEN ", " GROUPS BETWEEN "}[f.Unit])
		w.bound(f.Start)
		w.puts(" AND ")
		w.bound(f.End)
		w.puts([...]string{"", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}[f.Exclude])
	}
	w.puts(")")
}

func (w *writer) bound(b ast.FrameBound) {
	if b.Offset != nil {
		w.operand(b.Offset)
	}
	w.puts([...]string{"UNBOUNDED PRECEDING", " PRECEDING", "CURRENT ROW", " FOLLOWING", "UNBOUNDED FOLLOWING"}[b.Kind])
}
