package logical

import "github.com/weirdb/weir/sql/scalar"

// Equal tells whether a and b are the same expression, positions aside. Two subqueries are equal only
// if they are one.
func Equal(a, b scalar.Expr) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.Type() != b.Type() {
		return false
	}
	switch x := a.(type) {
	case *scalar.Column:
		y, ok := b.(*scalar.Column)
		return ok && x.Index == y.Index
	case *scalar.Const:
		y, ok := b.(*scalar.Const)
		return ok && SameDatum(x.Val, y.Val)
	case *scalar.Param:
		y, ok := b.(*scalar.Param)
		return ok && x.N == y.N
	case *scalar.Call:
		y, ok := b.(*scalar.Call)
		if !ok || x.Fn != y.Fn {
			return false
		}
	case *scalar.And:
		if _, ok := b.(*scalar.And); !ok {
			return false
		}
	case *scalar.Or:
		if _, ok := b.(*scalar.Or); !ok {
			return false
		}
	case *scalar.Not:
		if _, ok := b.(*scalar.Not); !ok {
			return false
		}
	case *scalar.IsNull:
		if y, ok := b.(*scalar.IsNull); !ok || x.Not != y.Not {
			return false
		}
	case *scalar.IsBool:
		if y, ok := b.(*scalar.IsBool); !ok || x.Not != y.Not || x.Val != y.Val {
			return false
		}
	case *scalar.Distinct:
		if y, ok := b.(*scalar.Distinct); !ok || x.Not != y.Not {
			return false
		}
	case *scalar.Case:
		if _, ok := b.(*scalar.Case); !ok {
			return false
		}
	case *scalar.Coalesce:
		if _, ok := b.(*scalar.Coalesce); !ok {
			return false
		}
	case *scalar.MinMax:
		if y, ok := b.(*scalar.MinMax); !ok || x.Least != y.Least {
			return false
		}
	case *scalar.In:
		if y, ok := b.(*scalar.In); !ok || x.Not != y.Not {
			return false
		}
	case *scalar.AnyAll:
		if y, ok := b.(*scalar.AnyAll); !ok || x.Op != y.Op || x.All != y.All {
			return false
		}
	case *scalar.MakeArray:
		if _, ok := b.(*scalar.MakeArray); !ok {
			return false
		}
	case *scalar.MakeRow:
		if _, ok := b.(*scalar.MakeRow); !ok {
			return false
		}
	default:
		return false
	}
	ca, cb := Children(a), Children(b)
	if len(ca) != len(cb) {
		return false
	}
	for i := range ca {
		if !Equal(ca[i], cb[i]) {
			return false
		}
	}
	return true
}
