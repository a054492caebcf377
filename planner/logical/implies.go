package logical

import (
	"slices"

	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// AllImplied tells whether every row that meets all of given meets all of where. It knows equal conditions, comparisons of the same
// expression with constants, and that what a comparison is true of is not NULL; false means that it does not know.
func AllImplied(where, given []scalar.Expr) bool {
	for _, w := range where {
		if !slices.ContainsFunc(given, func(g scalar.Expr) bool { return Implies(g, w) }) {
			return false
		}
	}
	return true
}

// Implies tells whether w is true whenever g is; see AllImplied.
func Implies(g, w scalar.Expr) bool {
	if Equal(g, w) {
		return true
	}
	if or, ok := w.(*scalar.Or); ok {
		return slices.ContainsFunc(or.Args, func(a scalar.Expr) bool { return AllImplied(Conjuncts(a), Conjuncts(g)) })
	}
	if or, ok := g.(*scalar.Or); ok {
		return !slices.ContainsFunc(or.Args, func(a scalar.Expr) bool { return !AllImplied([]scalar.Expr{w}, Conjuncts(a)) })
	}
	a, ok := comparison(g)
	if !ok {
		return false
	}
	if n, ok := w.(*scalar.IsNull); ok && n.Not {
		return Equal(n.X, a.x)
	}
	b, ok := comparison(w)
	if !ok || !Equal(a.x, b.x) || a.val.Type().Kind != b.val.Type().Kind {
		return false
	}
	c := types.Compare(a.val.Type(), a.val.Val, b.val.Val)
	switch a.op {
	case "=":
		switch b.op {
		case "=":
			return c == 0
		case "<>":
			return c != 0
		case "<":
			return c < 0
		case "<=":
			return c <= 0
		case ">":
			return c > 0
		case ">=":
			return c >= 0
		}
	case ">":
		return (b.op == ">" || b.op == ">=" || b.op == "<>") && c >= 0
	case ">=":
		return b.op == ">=" && c >= 0 || (b.op == ">" || b.op == "<>") && c > 0
	case "<":
		return (b.op == "<" || b.op == "<=" || b.op == "<>") && c <= 0
	case "<=":
		return b.op == "<=" && c <= 0 || (b.op == "<" || b.op == "<>") && c < 0
	}
	return false
}

// compared is x op val.
type compared struct {
	x   scalar.Expr
	op  string
	val *scalar.Const
}

// comparison reads a comparison of something with a constant that is not NULL.
func comparison(e scalar.Expr) (compared, bool) {
	c, ok := e.(*scalar.Call)
	if !ok || len(c.Args) != 2 {
		return compared{}, false
	}
	turned, ok := map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[c.Fn.Name]
	if !ok {
		return compared{}, false
	}
	if k, ok := c.Args[1].(*scalar.Const); ok && k.Val.Valid && k.Type().Kind == c.Args[0].Type().Kind {
		return compared{c.Args[0], c.Fn.Name, k}, true
	}
	if k, ok := c.Args[0].(*scalar.Const); ok && k.Val.Valid && k.Type().Kind == c.Args[1].Type().Kind {
		return compared{c.Args[1], turned, k}, true
	}
	return compared{}, false
}
