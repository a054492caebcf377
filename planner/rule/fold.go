package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Fold simplifies expressions: constants are computed, AND and OR are flattened and shortened, NOT is
// pushed inwards. A constant that fails to compute (1/0) stays, so that it fails only if it
// is reached.
func Fold(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		n = logical.MapNodeExprs(n, func(x scalar.Expr) scalar.Expr { return e.fold(x) })
		switch n := n.(type) {
		case *logical.Filter:
			var preds []scalar.Expr
			for _, p := range n.Preds {
				preds = append(preds, logical.Conjuncts(p)...)
			}
			preds = dedup(preds)
			if len(preds) == 0 {
				return n.In
			}
			return &logical.Filter{In: n.In, Preds: preds}
		case *logical.Join:
			var on []scalar.Expr
			for _, p := range n.On {
				on = append(on, logical.Conjuncts(p)...)
			}
			c := *n
			c.On = dedup(on)
			return &c
		case *logical.Window:
			c := *n
			c.Calls = append([]logical.WindowCall(nil), n.Calls...)
			for i := range c.Calls {
				c.Calls[i].MapExprs(e.fold)
			}
			return &c
		case *logical.TopN:
			if n.Limit != nil || n.Offset != nil {
				c := *n
				if n.Limit != nil {
					c.Limit = e.fold(n.Limit)
				}
				if n.Offset != nil {
					c.Offset = e.fold(n.Offset)
				}
				return &c
			}
		}
		return n
	})
}

func dedup(ps []scalar.Expr) []scalar.Expr {
	var out []scalar.Expr
	for _, p := range ps {
		dup := false
		for _, o := range out {
			if logical.Equal(o, p) && !logical.Volatile(p) {
				dup = true
			}
		}
		if !dup {
			out = append(out, p)
		}
	}
	return out
}

// FoldExpr simplifies one expression.
func (e *Env) FoldExpr(x scalar.Expr) scalar.Expr { return e.fold(x) }

// fold simplifies x, children first. Subqueries are left alone.
func (e *Env) fold(x scalar.Expr) scalar.Expr {
	if _, ok := x.(*logical.Subquery); ok {
		return x
	}
	cs := logical.Children(x)
	if len(cs) > 0 {
		ncs := make([]scalar.Expr, len(cs))
		changed := false
		for i, c := range cs {
			ncs[i] = e.fold(c)
			changed = changed || ncs[i] != c
		}
		if changed {
			x = logical.WithChildren(x, ncs)
		}
	}
	return e.simplify(x)
}

func constOf(x scalar.Expr) (*scalar.Const, bool) {
	c, ok := x.(*scalar.Const)
	return c, ok
}

func (e *Env) simplify(x scalar.Expr) scalar.Expr {
	switch x := x.(type) {
	case *scalar.And:
		return foldAnd(x)
	case *scalar.Or:
		return foldOr(x)
	case *scalar.Not:
		return e.foldNot(x)
	case *scalar.IsNull:
		if c, ok := constOf(x.X); ok {
			return boolAt(!c.Val.Valid != x.Not, x.Pos)
		}
	case *scalar.IsBool:
		if c, ok := constOf(x.X); ok {
			return boolAt((c.Val.Valid && c.Val.Bool() == x.Val) != x.Not, x.Pos)
		}
	case *scalar.Case:
		return foldCase(x)
	case *scalar.Coalesce:
		return foldCoalesce(x)
	case *scalar.Call:
		return e.foldCall(x)
	case *scalar.In, *scalar.Distinct, *scalar.MinMax, *scalar.AnyAll:
		return e.compute(x)
	}
	return x
}

func boolAt(b bool, pos int) scalar.Expr {
	c := logical.BoolConst(b)
	c.Pos = pos
	return c
}

func foldAnd(x *scalar.And) scalar.Expr {
	var args []scalar.Expr
	for _, a := range x.Args {
		if in, ok := a.(*scalar.And); ok {
			args = append(args, in.Args...)
		} else {
			args = append(args, a)
		}
	}
	var kept []scalar.Expr
	for _, a := range args {
		if c, ok := constOf(a); ok && c.Val.Valid {
			if !c.Val.Bool() {
				return boolAt(false, x.Pos)
			}
			continue
		}
		kept = append(kept, a)
	}
	switch len(kept) {
	case 0:
		return boolAt(true, x.Pos)
	case 1:
		return kept[0]
	}
	return &scalar.And{Node: x.Node, Args: kept}
}

func foldOr(x *scalar.Or) scalar.Expr {
	var args []scalar.Expr
	for _, a := range x.Args {
		if in, ok := a.(*scalar.Or); ok {
			args = append(args, in.Args...)
		} else {
			args = append(args, a)
		}
	}
	var kept []scalar.Expr
	for _, a := range args {
		if c, ok := constOf(a); ok && c.Val.Valid {
			if c.Val.Bool() {
				return boolAt(true, x.Pos)
			}
			continue
		}
		kept = append(kept, a)
	}
	switch len(kept) {
	case 0:
		return boolAt(false, x.Pos)
	case 1:
		return kept[0]
	}
	if f := factor(kept); f != nil {
		return f
	}
	kept = toIn(kept, x.Pos)
	if len(kept) == 1 {
		return kept[0]
	}
	return &scalar.Or{Node: x.Node, Args: kept}
}

// toIn makes x IN (1, 2, 3) of x = 1 OR x = 2 OR x IN (3).
func toIn(arms []scalar.Expr, pos int) []scalar.Expr {
	var out []scalar.Expr
	var lists []*scalar.In
	for _, a := range arms {
		var x scalar.Expr
		var list []scalar.Expr
		switch a := a.(type) {
		case *scalar.Call:
			if a.Fn.Name == "=" && len(a.Args) == 2 && a.Fn.Args[0] == a.Fn.Args[1] {
				x, list = a.Args[0], a.Args[1:]
				if constant(x) {
					x, list = a.Args[1], a.Args[:1]
				}
			}
		case *scalar.In:
			if !a.Not {
				x, list = a.X, a.List
			}
		}
		ok := x != nil && !logical.Volatile(x)
		for _, l := range list {
			ok = ok && constant(l) && l.Type().Kind == x.Type().Kind
		}
		if !ok {
			out = append(out, a)
			continue
		}
		found := false
		for _, in := range lists {
			if logical.Equal(in.X, x) {
				in.List = append(in.List, list...)
				found = true
			}
		}
		if !found {
			in := &scalar.In{Node: scalar.Node{T: types.T(types.Bool), Pos: pos}, X: x, List: append([]scalar.Expr(nil), list...)}
			lists = append(lists, in)
			out = append(out, in)
		}
	}
	for i, o := range out {
		// A single comparison stays what it was.
		if in, ok := o.(*scalar.In); ok && len(in.List) == 1 {
			for _, a := range arms {
				if c, ok := a.(*scalar.Call); ok && c.Fn.Name == "=" && (c.Args[0] == in.X && c.Args[1] == in.List[0] || c.Args[1] == in.X && c.Args[0] == in.List[0]) {
					out[i] = a
				}
			}
		}
	}
	return out
}

// factor takes out what all arms of an OR have in common: (a AND b) OR (a AND c) is a AND (b OR c). A
// join condition inside an OR becomes visible so.
func factor(arms []scalar.Expr) scalar.Expr {
	var common []scalar.Expr
	for _, c := range logical.Conjuncts(arms[0]) {
		in := true
		for _, a := range arms[1:] {
			found := false
			for _, d := range logical.Conjuncts(a) {
				found = found || logical.Equal(c, d)
			}
			in = in && found
		}
		if in && !logical.Volatile(c) {
			common = append(common, c)
		}
	}
	if len(common) == 0 {
		return nil
	}
	var rest []scalar.Expr
	for _, a := range arms {
		var left []scalar.Expr
		for _, d := range logical.Conjuncts(a) {
			in := false
			for _, c := range common {
				in = in || logical.Equal(c, d)
			}
			if !in {
				left = append(left, d)
			}
		}
		if len(left) == 0 {
			return logical.Conj(common)
		}
		rest = append(rest, logical.Conj(left))
	}
	or := &scalar.Or{Node: scalar.Node{T: types.T(types.Bool), Pos: rest[0].Position()}, Args: rest}
	return logical.Conj(append(common, or))
}

var negated = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

func (e *Env) foldNot(x *scalar.Not) scalar.Expr {
	switch y := x.X.(type) {
	case *scalar.Const:
		if !y.Val.Valid {
			return y
		}
		return boolAt(!y.Val.Bool(), x.Pos)
	case *scalar.Not:
		return y.X
	case *scalar.IsNull:
		return &scalar.IsNull{Node: y.Node, X: y.X, Not: !y.Not}
	case *scalar.IsBool:
		return &scalar.IsBool{Node: y.Node, X: y.X, Val: y.Val, Not: !y.Not}
	case *scalar.Distinct:
		return &scalar.Distinct{Node: y.Node, L: y.L, R: y.R, Not: !y.Not}
	case *scalar.In:
		return &scalar.In{Node: y.Node, X: y.X, List: y.List, Not: !y.Not}
	case *scalar.And:
		or := &scalar.Or{Node: y.Node}
		for _, a := range y.Args {
			or.Args = append(or.Args, e.foldNot(&scalar.Not{Node: x.Node, X: a}))
		}
		return foldOr(or)
	case *scalar.Or:
		and := &scalar.And{Node: y.Node}
		for _, a := range y.Args {
			and.Args = append(and.Args, e.foldNot(&scalar.Not{Node: x.Node, X: a}))
		}
		return foldAnd(and)
	case *scalar.Call:
		if n, ok := negated[y.Fn.Name]; ok && y.Fn.Kind == fn.Operator && len(y.Args) == 2 {
			res, err := e.Registry.ResolveOperator(n, y.Fn.Args[0], y.Fn.Args[1])
			if err == nil && res.Args[0] == y.Fn.Args[0] && res.Args[1] == y.Fn.Args[1] {
				return &scalar.Call{Node: y.Node, Fn: res.Fn, Args: y.Args}
			}
		}
	}
	return x
}

func foldCase(x *scalar.Case) scalar.Expr {
	out := &scalar.Case{Node: x.Node, Else: x.Else}
	for i, w := range x.Whens {
		if c, ok := constOf(w.Cond); ok {
			if !c.Val.Bool() {
				continue
			}
			if len(out.Whens) == 0 {
				return w.Result
			}
			out.Else = w.Result
			return out
		}
		out.Whens = append(out.Whens, x.Whens[i])
	}
	if len(out.Whens) == 0 {
		return out.Else
	}
	return out
}

func foldCoalesce(x *scalar.Coalesce) scalar.Expr {
	if len(x.Args) == 1 {
		if c, ok := constOf(x.Args[0]); ok {
			d := *c
			d.T = x.T
			return &d
		}
		return x
	}
	var kept []scalar.Expr
	for _, a := range x.Args {
		if c, ok := constOf(a); ok {
			if !c.Val.Valid {
				continue
			}
			kept = append(kept, a)
			break
		}
		kept = append(kept, a)
	}
	switch {
	case len(kept) == 0:
		return logical.NullConst(x.T)
	case len(kept) == 1 && kept[0].Type() == x.T:
		return kept[0]
	case len(kept) == len(x.Args):
		return x
	}
	return &scalar.Coalesce{Node: x.Node, Args: kept}
}

func (e *Env) foldCall(x *scalar.Call) scalar.Expr {
	if x.Fn.Volatility == fn.Volatile || x.Fn.Kind == fn.Table || x.Fn.Kind == fn.Aggregate {
		return x
	}
	if x.Fn.Strict {
		for _, a := range x.Args {
			if c, ok := constOf(a); ok && !c.Val.Valid {
				return &scalar.Const{Node: x.Node}
			}
		}
	}
	return e.compute(e.intCompare(x))
}

// intCompare gives the constant in a comparison of integers of different types the type of the other
// side, if it fits: only so it is seen as a bound of a key.
func (e *Env) intCompare(x *scalar.Call) *scalar.Call {
	if _, ok := negated[x.Fn.Name]; !ok || x.Fn.Kind != fn.Operator || len(x.Args) != 2 || x.Fn.Args[0] == x.Fn.Args[1] ||
		!x.Fn.Args[0].Kind.IsInteger() || !x.Fn.Args[1].Kind.IsInteger() {
		return x
	}
	for i := range x.Args {
		c, ok := constOf(x.Args[i])
		t := x.Fn.Args[1-i]
		if !ok || !c.Val.Valid || !fits(c.Val.I, t.Kind) {
			continue
		}
		res, err := e.Registry.ResolveOperator(x.Fn.Name, t, t)
		if err != nil || res.Args[0] != t || res.Args[1] != t {
			continue
		}
		args := []scalar.Expr{x.Args[0], x.Args[1]}
		args[i] = &scalar.Const{Node: scalar.Node{T: t, Pos: c.Pos}, Val: c.Val}
		return &scalar.Call{Node: x.Node, Fn: res.Fn, Args: args}
	}
	return x
}

func fits(v int64, k types.Kind) bool {
	switch k {
	case types.Int2:
		return v == int64(int16(v))
	case types.Int4:
		return v == int64(int32(v))
	}
	return true
}

// compute evaluates x if all of its children are constants.
func (e *Env) compute(x scalar.Expr) scalar.Expr {
	if e.Eval == nil {
		return x
	}
	if c, ok := x.(*scalar.Call); ok && (c.Fn.Volatility == fn.Volatile || c.Fn.Volatility == fn.Stable && !e.Stable) {
		return x
	}
	for _, c := range logical.Children(x) {
		if _, ok := constOf(c); !ok {
			return x
		}
	}
	v, err := e.Eval(x)
	if err != nil {
		return x
	}
	return &scalar.Const{Node: scalar.Node{T: x.Type(), Pos: x.Position()}, Val: v}
}
