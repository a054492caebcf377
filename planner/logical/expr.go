package logical

import (
	"math"

	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// SubKind is the kind of a Subquery expression.
type SubKind uint8

// The kinds of subqueries.
const (
	// SubScalar is the value of Col in Plan's only row, NULL without row, error with two.
	SubScalar SubKind = iota
	// SubExists tells whether Plan has a row.
	SubExists
	// SubAny is the three-valued OR of Pred over Plan's rows.
	SubAny
	// SubArray is the array of Col over all rows of Plan, in Order.
	SubArray
)

// Subquery is an expression that asks a plan. It exists between binding and unnesting only.
type Subquery struct {
	scalar.Node
	Kind  SubKind
	Plan  Node
	Col   ColID
	Pred  scalar.Expr
	Order []Order
}

// Children lists the direct sub-expressions of e (for a Subquery: its Pred).
func Children(e scalar.Expr) []scalar.Expr {
	switch e := e.(type) {
	case *scalar.Call:
		return e.Args
	case *scalar.And:
		return e.Args
	case *scalar.Or:
		return e.Args
	case *scalar.Not:
		return []scalar.Expr{e.X}
	case *scalar.IsNull:
		return []scalar.Expr{e.X}
	case *scalar.IsBool:
		return []scalar.Expr{e.X}
	case *scalar.Distinct:
		return []scalar.Expr{e.L, e.R}
	case *scalar.Case:
		var cs []scalar.Expr
		for _, w := range e.Whens {
			cs = append(cs, w.Cond, w.Result)
		}
		return append(cs, e.Else)
	case *scalar.Coalesce:
		return e.Args
	case *scalar.MinMax:
		return e.Args
	case *scalar.In:
		return append([]scalar.Expr{e.X}, e.List...)
	case *scalar.AnyAll:
		return []scalar.Expr{e.L, e.R}
	case *scalar.MakeArray:
		return e.Elems
	case *scalar.MakeRow:
		return e.Elems
	case *Subquery:
		if e.Pred != nil {
			return []scalar.Expr{e.Pred}
		}
	}
	return nil
}

// WithChildren gives a copy of e with other sub-expressions, in the order of Children.
func WithChildren(e scalar.Expr, cs []scalar.Expr) scalar.Expr {
	switch e := e.(type) {
	case *scalar.Call:
		c := *e
		c.Args = cs
		return &c
	case *scalar.And:
		c := *e
		c.Args = cs
		return &c
	case *scalar.Or:
		c := *e
		c.Args = cs
		return &c
	case *scalar.Not:
		c := *e
		c.X = cs[0]
		return &c
	case *scalar.IsNull:
		c := *e
		c.X = cs[0]
		return &c
	case *scalar.IsBool:
		c := *e
		c.X = cs[0]
		return &c
	case *scalar.Distinct:
		c := *e
		c.L, c.R = cs[0], cs[1]
		return &c
	case *scalar.Case:
		c := *e
		c.Whens = make([]scalar.When, len(e.Whens))
		for i := range c.Whens {
			c.Whens[i] = scalar.When{Cond: cs[2*i], Result: cs[2*i+1]}
		}
		c.Else = cs[len(cs)-1]
		return &c
	case *scalar.Coalesce:
		c := *e
		c.Args = cs
		return &c
	case *scalar.MinMax:
		c := *e
		c.Args = cs
		return &c
	case *scalar.In:
		c := *e
		c.X, c.List = cs[0], cs[1:]
		return &c
	case *scalar.AnyAll:
		c := *e
		c.L, c.R = cs[0], cs[1]
		return &c
	case *scalar.MakeArray:
		c := *e
		c.Elems = cs
		return &c
	case *scalar.MakeRow:
		c := *e
		c.Elems = cs
		return &c
	case *Subquery:
		c := *e
		if e.Pred != nil {
			c.Pred = cs[0]
		}
		return &c
	}
	return e
}

// MapExpr rebuilds e: f is asked for each node from the top; if it gives a non-nil expression, that
// stands in its place, else the children are rebuilt. Subquery plans are rebuilt too.
func MapExpr(e scalar.Expr, f func(scalar.Expr) scalar.Expr) scalar.Expr {
	if e == nil {
		return nil
	}
	if r := f(e); r != nil {
		return r
	}
	cs := Children(e)
	changed := false
	var ncs []scalar.Expr
	for i, c := range cs {
		n := MapExpr(c, f)
		if n != c && !changed {
			changed = true
			ncs = append(ncs, cs[:i]...)
		}
		if changed {
			ncs = append(ncs, n)
		}
	}
	if s, ok := e.(*Subquery); ok {
		if p := MapPlanExprs(s.Plan, f); p != s.Plan {
			c := *s
			c.Plan = p
			e = &c
		}
	}
	if !changed {
		return e
	}
	return WithChildren(e, ncs)
}

// WalkExpr calls f for e and everything in it, subquery plans included; f false: not into it.
func WalkExpr(e scalar.Expr, f func(scalar.Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, c := range Children(e) {
		WalkExpr(c, f)
	}
	if s, ok := e.(*Subquery); ok {
		WalkPlanExprs(s.Plan, f)
	}
}

// MapPlanExprs rebuilds all expressions below n with MapExpr, and column lists where f maps a
// column to another column.
func MapPlanExprs(n Node, f func(scalar.Expr) scalar.Expr) Node {
	ins := n.Inputs()
	changed := false
	nins := make([]Node, len(ins))
	for i, in := range ins {
		nins[i] = MapPlanExprs(in, f)
		changed = changed || nins[i] != in
	}
	if changed {
		n = n.WithInputs(nins)
	}
	return MapNodeExprs(n, f)
}

// MapNodeExprs is MapPlanExprs for one node alone.
func MapNodeExprs(n Node, f func(scalar.Expr) scalar.Expr) Node {
	m := func(e scalar.Expr) scalar.Expr { return MapExpr(e, f) }
	mapList := func(es []scalar.Expr) ([]scalar.Expr, bool) {
		changed := false
		out := make([]scalar.Expr, len(es))
		for i, e := range es {
			out[i] = m(e)
			changed = changed || out[i] != e
		}
		return out, changed
	}
	switch n := n.(type) {
	case *Values:
		changed := false
		rows := make([][]scalar.Expr, len(n.Rows))
		for i, r := range n.Rows {
			var ch bool
			rows[i], ch = mapList(r)
			changed = changed || ch
		}
		if changed {
			c := *n
			c.Rows = rows
			return &c
		}
	case *Filter:
		if ps, ch := mapList(n.Preds); ch {
			return &Filter{In: n.In, Preds: ps}
		}
	case *Project:
		changed := false
		es := make([]ProjCol, len(n.Exprs))
		for i, e := range n.Exprs {
			es[i] = ProjCol{e.ID, m(e.Expr)}
			changed = changed || es[i].Expr != e.Expr
		}
		if changed {
			return &Project{In: n.In, Exprs: es}
		}
	case *Join:
		if on, ch := mapList(n.On); ch {
			c := *n
			c.On = on
			return &c
		}
	case *Lookup:
		if on, ch := mapList(n.On); ch {
			c := *n
			c.On = on
			return &c
		}
	case *ProjectSet:
		changed := false
		fs := make([]SetFunc, len(n.Funcs))
		for i, sf := range n.Funcs {
			args, ch := mapList(sf.Args)
			sf.Args = args
			fs[i] = sf
			changed = changed || ch
		}
		if changed {
			c := *n
			c.Funcs = fs
			return &c
		}
	}
	return n
}

// NodeExprs lists the expressions of n itself.
func NodeExprs(n Node) []scalar.Expr {
	switch n := n.(type) {
	case *Values:
		var es []scalar.Expr
		for _, r := range n.Rows {
			es = append(es, r...)
		}
		return es
	case *Filter:
		return n.Preds
	case *Project:
		es := make([]scalar.Expr, len(n.Exprs))
		for i := range n.Exprs {
			es[i] = n.Exprs[i].Expr
		}
		return es
	case *Join:
		return n.On
	case *Lookup:
		return n.On
	case *ProjectSet:
		var es []scalar.Expr
		for _, f := range n.Funcs {
			es = append(es, f.Args...)
		}
		return es
	}
	return nil
}

// WalkPlanExprs calls WalkExpr on all expressions below n.
func WalkPlanExprs(n Node, f func(scalar.Expr) bool) {
	for _, in := range n.Inputs() {
		WalkPlanExprs(in, f)
	}
	for _, e := range NodeExprs(n) {
		WalkExpr(e, f)
	}
}

// ExprCols adds the columns that e uses from outside to set (those that a subquery's own plan
// gives are not counted).
func ExprCols(e scalar.Expr, set ColSet) {
	if e == nil {
		return
	}
	switch e := e.(type) {
	case *scalar.Column:
		set.Add(e.Index)
		return
	case *Subquery:
		inner := ColSet{}
		FreeCols(e.Plan, inner)
		if e.Pred != nil {
			p := ColSet{}
			ExprCols(e.Pred, p)
			for _, c := range e.Plan.Cols() {
				delete(p, c)
			}
			inner.AddSet(p)
		}
		set.AddSet(inner)
		return
	}
	for _, c := range Children(e) {
		ExprCols(c, set)
	}
}

// ColsOf gives the columns that es use.
func ColsOf(es ...scalar.Expr) ColSet {
	s := ColSet{}
	for _, e := range es {
		ExprCols(e, s)
	}
	return s
}

// FreeCols adds the outer columns of the plan n to set.
func FreeCols(n Node, set ColSet) {
	used, given := ColSet{}, ColSet{}
	var walk func(Node)
	walk = func(n Node) {
		for _, in := range n.Inputs() {
			walk(in)
		}
		for _, c := range n.Cols() {
			given.Add(c)
		}
		for _, e := range NodeExprs(n) {
			ExprCols(e, used)
		}
	}
	walk(n)
	for c := range used {
		if !given.Has(c) {
			set.Add(c)
		}
	}
}

// Free gives the outer columns of n.
func Free(n Node) ColSet {
	s := ColSet{}
	FreeCols(n, s)
	return s
}

// ReplaceCols substitutes columns in e by expressions.
func ReplaceCols(e scalar.Expr, m map[ColID]scalar.Expr) scalar.Expr {
	return MapExpr(e, replacer(m))
}

// ReplacePlanCols substitutes outer columns in n.
func ReplacePlanCols(n Node, m map[ColID]scalar.Expr) Node { return MapPlanExprs(n, replacer(m)) }

func replacer(m map[ColID]scalar.Expr) func(scalar.Expr) scalar.Expr {
	return func(e scalar.Expr) scalar.Expr {
		if c, ok := e.(*scalar.Column); ok {
			if r, ok := m[c.Index]; ok {
				return r
			}
			return e
		}
		return nil
	}
}

// ReplaceAll is ReplaceCols for a list.
func ReplaceAll(es []scalar.Expr, m map[ColID]scalar.Expr) []scalar.Expr {
	out := make([]scalar.Expr, len(es))
	for i, e := range es {
		out[i] = ReplaceCols(e, m)
	}
	return out
}

// Conjuncts splits e at its top-level ANDs; TRUE has none.
func Conjuncts(e scalar.Expr) []scalar.Expr {
	switch x := e.(type) {
	case nil:
		return nil
	case *scalar.And:
		var out []scalar.Expr
		for _, a := range x.Args {
			out = append(out, Conjuncts(a)...)
		}
		return out
	case *scalar.Const:
		if x.Val.Valid && x.T.Kind == types.Bool && x.Val.I != 0 {
			return nil
		}
	}
	return []scalar.Expr{e}
}

// Conj is the conjunction of es: TRUE, the only one, or an And.
func Conj(es []scalar.Expr) scalar.Expr {
	switch len(es) {
	case 0:
		return BoolConst(true)
	case 1:
		return es[0]
	}
	return &scalar.And{Node: boolNode(es[0].Position()), Args: es}
}

func boolNode(pos int) scalar.Node { return scalar.Node{T: types.T(types.Bool), Pos: pos} }

// BoolConst is TRUE or FALSE.
func BoolConst(b bool) *scalar.Const {
	return &scalar.Const{Node: boolNode(-1), Val: types.DBool(b)}
}

// NullConst is a NULL of type t.
func NullConst(t types.Type) *scalar.Const {
	return &scalar.Const{Node: scalar.Node{T: t, Pos: -1}}
}

// NotDistinct is l IS NOT DISTINCT FROM r.
func NotDistinct(l, r scalar.Expr) scalar.Expr {
	return &scalar.Distinct{Node: boolNode(-1), L: l, R: r, Not: true}
}

// NotOf negates e.
func NotOf(e scalar.Expr) scalar.Expr {
	return &scalar.Not{Node: boolNode(e.Position()), X: e}
}

// IsTrue tells whether e is the constant TRUE; IsFalseOrNull whether it can never be true.
func IsTrue(e scalar.Expr) bool {
	c, ok := e.(*scalar.Const)
	return ok && c.Val.Bool() && c.T.Kind == types.Bool
}

// IsFalseOrNull tells whether e is a constant that is not TRUE.
func IsFalseOrNull(e scalar.Expr) bool {
	c, ok := e.(*scalar.Const)
	return ok && c.T.Kind == types.Bool && !c.Val.Bool()
}

// HasSubquery tells whether e contains a Subquery.
func HasSubquery(e scalar.Expr) bool {
	found := false
	WalkExpr(e, func(x scalar.Expr) bool {
		if _, ok := x.(*Subquery); ok {
			found = true
		}
		return !found
	})
	return found
}

// SameDatum tells whether two Datums of one type are identical (not merely equal in SQL: 1.0 and
// 1.00 differ).
func SameDatum(a, b types.Datum) bool {
	if math.Float64bits(a.F) != math.Float64bits(b.F) && !(math.IsNaN(a.F) && math.IsNaN(b.F)) {
		return false
	}
	// The digits of long decimals are behind a pointer.
	if x, y := a.Dec, b.Dec; x != y && (x.Form() != y.Form() || x.Scale() != y.Scale() || x.Cmp(y) != 0) {
		return false
	}
	a.F, b.F, a.Dec, b.Dec = 0, 0, types.Decimal{}, types.Decimal{}
	return a == b
}

// Volatile tells whether e may give different values for the same row.
func Volatile(e scalar.Expr) bool {
	v := false
	WalkExpr(e, func(x scalar.Expr) bool {
		if c, ok := x.(*scalar.Call); ok && c.Fn.Volatility == fn.Volatile {
			v = true
		}
		return !v
	})
	return v
}

// Zero is 0 as a value of a numeric type.
func Zero(t types.Type) *scalar.Const {
	c := &scalar.Const{Node: scalar.Node{T: t, Pos: -1}}
	switch t.Phys() {
	case types.PhysFloat:
		c.Val = types.DFloat(0)
	case types.PhysDec:
		c.Val = types.DDec(types.NewDecimal(0, 0))
	default:
		c.Val = types.DInt(0)
	}
	return c
}
