// Package sqltext writes typed expressions as SQL, for EXPLAIN and for tests.
package sqltext

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Binding strengths, from loose to tight.
const (
	precOr = iota + 1
	precAnd
	precNot
	precIs
	precCompare
	precOther
	precAdd
	precMul
	precPow
	precUnary
	precCast
	precAtom
)

// Other writes expression nodes of other packages; nil result: not known.
type Other func(e scalar.Expr) (string, bool)

// Expr writes e; col names columns.
func Expr(e scalar.Expr, col func(*scalar.Column) string, other Other) string {
	w := writer{col: col, other: other}
	return w.at(e, 0)
}

type writer struct {
	col   func(*scalar.Column) string
	other Other
}

func (w writer) at(e scalar.Expr, prec int) string {
	s, p := w.expr(e)
	if p < prec {
		return "(" + s + ")"
	}
	return s
}

func (w writer) list(es []scalar.Expr) string {
	ss := make([]string, len(es))
	for i, e := range es {
		ss[i] = w.at(e, 0)
	}
	return strings.Join(ss, ", ")
}

func (w writer) joined(es []scalar.Expr, sep string, prec int) string {
	ss := make([]string, len(es))
	for i, e := range es {
		ss[i] = w.at(e, prec+1)
	}
	return strings.Join(ss, sep)
}

func not(b bool) string {
	if b {
		return "NOT "
	}
	return ""
}

func (w writer) expr(e scalar.Expr) (string, int) {
	switch e := e.(type) {
	case nil:
		return "<nil>", precAtom
	case *scalar.Column:
		return w.col(e), precAtom
	case *scalar.Const:
		return Const(e.T, e.Val), precAtom
	case *scalar.Param:
		return "$" + strconv.Itoa(e.N), precAtom
	case *scalar.Call:
		return w.call(e)
	case *scalar.And:
		return w.joined(e.Args, " AND ", precAnd), precAnd
	case *scalar.Or:
		return w.joined(e.Args, " OR ", precOr), precOr
	case *scalar.Not:
		return "NOT " + w.at(e.X, precNot+1), precNot
	case *scalar.IsNull:
		return w.at(e.X, precIs+1) + " IS " + not(e.Not) + "NULL", precIs
	case *scalar.IsBool:
		v := "FALSE"
		if e.Val {
			v = "TRUE"
		}
		return w.at(e.X, precIs+1) + " IS " + not(e.Not) + v, precIs
	case *scalar.Distinct:
		return w.at(e.L, precIs+1) + " IS " + not(e.Not) + "DISTINCT FROM " + w.at(e.R, precIs+1), precIs
	case *scalar.Case:
		var b strings.Builder
		b.WriteString("CASE")
		for _, x := range e.Whens {
			b.WriteString(" WHEN " + w.at(x.Cond, 0) + " THEN " + w.at(x.Result, 0))
		}
		b.WriteString(" ELSE " + w.at(e.Else, 0) + " END")
		return b.String(), precAtom
	case *scalar.Coalesce:
		if len(e.Args) == 1 {
			return w.at(e.Args[0], precCast) + "::" + e.T.String(), precCast
		}
		return "COALESCE(" + w.list(e.Args) + ")", precAtom
	case *scalar.MinMax:
		if e.Least {
			return "LEAST(" + w.list(e.Args) + ")", precAtom
		}
		return "GREATEST(" + w.list(e.Args) + ")", precAtom
	case *scalar.In:
		return w.at(e.X, precCompare+1) + " " + not(e.Not) + "IN (" + w.list(e.List) + ")", precCompare
	case *scalar.AnyAll:
		q := "ANY"
		if e.All {
			q = "ALL"
		}
		return w.at(e.L, precOther+1) + " " + e.Op.Name + " " + q + " (" + w.at(e.R, 0) + ")", precOther
	case *scalar.MakeArray:
		if len(e.Elems) == 0 {
			return "ARRAY[]::" + e.T.String(), precCast
		}
		return "ARRAY[" + w.list(e.Elems) + "]", precAtom
	case *scalar.MakeRow:
		return "ROW(" + w.list(e.Elems) + ")", precAtom
	}
	if w.other != nil {
		if s, ok := w.other(e); ok {
			return s, precAtom
		}
	}
	return "?", precAtom
}

func (w writer) call(e *scalar.Call) (string, int) {
	switch e.Fn.Kind {
	case fn.Cast:
		if len(e.Args) > 0 {
			return w.at(e.Args[0], precCast) + "::" + e.T.String(), precCast
		}
	case fn.Operator:
		if len(e.Args) == 1 {
			return e.Fn.Name + w.at(e.Args[0], precUnary+1), precUnary
		}
		if len(e.Args) == 2 {
			p := opPrec(e.Fn.Name)
			return w.at(e.Args[0], p) + " " + e.Fn.Name + " " + w.at(e.Args[1], p+1), p
		}
	}
	return e.Fn.Name + "(" + w.list(e.Args) + ")", precAtom
}

func opPrec(op string) int {
	switch op {
	case "=", "<>", "<", "<=", ">", ">=":
		return precCompare
	case "+", "-":
		return precAdd
	case "*", "/", "%":
		return precMul
	case "^":
		return precPow
	}
	return precOther
}

// Const writes a constant as a literal.
func Const(t types.Type, v types.Datum) string {
	if !v.Valid {
		if t.Kind == types.Unknown {
			return "NULL"
		}
		return "NULL::" + t.String()
	}
	text := types.Format(t, v, nil)
	switch t.Kind {
	case types.Bool:
		if v.Bool() {
			return "true"
		}
		return "false"
	case types.Int2, types.Int4, types.Int8, types.Float8, types.Numeric:
		if text != "NaN" && !strings.HasSuffix(text, "Infinity") {
			return text
		}
	case types.Unknown, types.Text:
		return Quote(text)
	}
	return Quote(text) + "::" + t.String()
}

// Quote writes a string literal.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
