package op

import (
	"slices"

	"github.com/weirdb/weir/sql/scalar"
)

// exprColumns lists the input columns that e reads, ascending; ok is false if e has a node whose
// arguments are not known here, which then may read anything.
func exprColumns(e scalar.Expr) (cols []int, ok bool) {
	ok = true
	var walk func(es ...scalar.Expr)
	walk = func(es ...scalar.Expr) {
		for _, e := range es {
			switch e := e.(type) {
			case nil, *scalar.Const, *scalar.Param:
			case *scalar.Column:
				cols = append(cols, e.Index)
			case *scalar.Call:
				walk(e.Args...)
			case *scalar.And:
				walk(e.Args...)
			case *scalar.Or:
				walk(e.Args...)
			case *scalar.Not:
				walk(e.X)
			case *scalar.IsNull:
				walk(e.X)
			case *scalar.IsBool:
				walk(e.X)
			case *scalar.Distinct:
				walk(e.L, e.R)
			case *scalar.Case:
				for _, w := range e.Whens {
					walk(w.Cond, w.Result)
				}
				walk(e.Else)
			case *scalar.Coalesce:
				walk(e.Args...)
			case *scalar.MinMax:
				walk(e.Args...)
			case *scalar.In:
				walk(e.X)
				walk(e.List...)
			case *scalar.AnyAll:
				walk(e.L, e.R)
			case *scalar.MakeArray:
				walk(e.Elems...)
			case *scalar.MakeRow:
				walk(e.Elems...)
			default:
				ok = false
			}
		}
	}
	walk(e)
	slices.Sort(cols)
	return slices.Compact(cols), ok
}
