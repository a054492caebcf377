package logical

import (
	"reflect"

	"github.com/weirdb/weir/sql/scalar"
)

// Equal tells whether a and b are the same expression, positions aside. Two subqueries are the same if only the numbers of
// the columns differ that they define, as in Postgres two with the same text.
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
	case *Subquery:
		y, ok := b.(*Subquery)
		return ok && sameSubquery(x, y)
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

// sameSubquery tells whether b is a once its columns are named as those of a, which are paired in the order in which they are defined.
func sameSubquery(a, b *Subquery) bool {
	ca, cb := defined(a.Plan, nil), defined(b.Plan, nil)
	if a.Kind != b.Kind || len(ca) != len(cb) {
		return false
	}
	names := make(map[ColID]ColID, len(cb))
	for i, c := range cb {
		if at, ok := names[c]; ok && at != ca[i] {
			return false
		}
		names[c] = ca[i]
	}
	renamed := MapExpr(b, func(x scalar.Expr) scalar.Expr {
		s, ok := x.(*Subquery)
		if !ok {
			return nil
		}
		ren := func(c ColID) ColID {
			if n, ok := names[c]; ok {
				return n
			}
			return c
		}
		d := *s
		d.Plan = MapCols(nil, s.Plan, ren)
		if s.Col != 0 {
			d.Col = ren(s.Col)
		}
		d.Order = append([]Order(nil), s.Order...)
		for i := range d.Order {
			d.Order[i].Col = ren(d.Order[i].Col)
		}
		if s.Pred != nil {
			d.Pred = RenumberExpr(nil, s.Pred, ren)
		}
		return &d
	}).(*Subquery)
	return a.Col == renamed.Col && Equal(a.Pred, renamed.Pred) && sameValue(reflect.ValueOf(a.Order), reflect.ValueOf(renamed.Order)) &&
		sameValue(reflect.ValueOf(&a.Plan).Elem(), reflect.ValueOf(&renamed.Plan).Elem())
}

// defined appends the columns that the nodes of a tree give, inputs first.
func defined(n Node, ids []ColID) []ColID {
	for _, in := range n.Inputs() {
		ids = defined(in, ids)
	}
	return append(ids, n.Cols()...)
}

// sameValue compares parts of plans: nodes and expressions by what they are, positions aside, and whatever else they point to by identity.
func sameValue(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		if a.CanInterface() {
			if x, ok := a.Interface().(scalar.Expr); ok {
				y, ok := b.Interface().(scalar.Expr)
				return ok && Equal(x, y)
			}
			if _, ok := a.Interface().(Node); ok && a.Elem().Type() == b.Elem().Type() && a.Elem().Kind() == reflect.Pointer {
				return a.Elem().Pointer() == b.Elem().Pointer() || sameValue(a.Elem().Elem(), b.Elem().Elem())
			}
		}
		return a.Comparable() && b.Comparable() && a.Equal(b)
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).Name != "Pos" && !sameValue(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameValue(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map, reflect.Func:
		return a.IsNil() && b.IsNil() || a.Pointer() == b.Pointer()
	}
	return a.Equal(b)
}
