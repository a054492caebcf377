package bind

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func node(k types.Kind, pos int) scalar.Node { return scalar.Node{T: types.T(k), Pos: pos} }

// boolExpr binds a condition.
func (b *Binder) boolExpr(s *scope, e ast.Expr, clause string) scalar.Expr {
	return b.needBool(b.expr(s, e), clause, leftmost(e))
}

// expr binds any expression. The result may be an untyped literal (type Unknown).
func (b *Binder) expr(s *scope, e ast.Expr) scalar.Expr {
	switch e := e.(type) {
	case *ast.IntLit:
		k := types.Int4
		if e.Value > math.MaxInt32 || e.Value < math.MinInt32 {
			k = types.Int8
		}
		return &scalar.Const{Node: node(k, e.Pos), Val: types.DInt(e.Value)}
	case *ast.NumLit:
		d, err := types.ParseDecimal(e.Text)
		check(err, e.Pos)
		return &scalar.Const{Node: node(types.Numeric, e.Pos), Val: types.DDec(d)}
	case *ast.StrLit:
		return &scalar.Const{Node: node(types.Unknown, e.Pos), Val: types.DStr(e.Value)}
	case *ast.BitLit:
		unsupported(e.Pos, "a bit string literal")
	case *ast.BoolLit:
		return &scalar.Const{Node: node(types.Bool, e.Pos), Val: types.DBool(e.Value)}
	case *ast.NullLit:
		return &scalar.Const{Node: node(types.Unknown, e.Pos)}
	case *ast.Default:
		fail(sqlerr.SyntaxError, e.Pos, "DEFAULT is not allowed in this context")
	case *ast.Param:
		return b.param(e)
	case *ast.TypedLit:
		to, domain := b.typeOrDomain(e.Type)
		x := b.literal(e.Value, to, fn.Explicit, e.Pos)
		if domain != nil {
			x = b.domainValue(x, domain, e.Pos)
		}
		return x
	case *ast.ColumnRef:
		return b.column(s, e)
	case *ast.Star:
		fail(sqlerr.SyntaxError, e.Pos, "row expansion via \"*\" is not supported here")
	case *ast.Binary:
		return b.binary(s, e)
	case *ast.Unary:
		return b.unary(s, e)
	case *ast.And:
		return &scalar.And{Node: node(types.Bool, e.Pos), Args: b.bools(s, e.Args, "AND")}
	case *ast.Or:
		return &scalar.Or{Node: node(types.Bool, e.Pos), Args: b.bools(s, e.Args, "OR")}
	case *ast.Not:
		return &scalar.Not{Node: node(types.Bool, e.Pos), X: b.boolExpr(s, e.X, "NOT")}
	case *ast.Is:
		return b.is(s, e)
	case *ast.IsDistinct:
		return b.isDistinct(s, e)
	case *ast.Between:
		return b.between(s, e)
	case *ast.InList:
		return b.inList(s, e)
	case *ast.Like:
		return b.like(s, e)
	case *ast.AnyAll:
		return b.anyAll(s, e)
	case *ast.Case:
		return b.caseExpr(s, e)
	case *ast.Coalesce:
		args, t := b.common(s, "COALESCE", e.Args)
		return &scalar.Coalesce{Node: scalar.Node{T: t, Pos: e.Pos}, Args: args}
	case *ast.MinMax:
		what := "GREATEST"
		if e.Least {
			what = "LEAST"
		}
		args, t := b.common(s, what, e.Args)
		b.needOrdering(t, e.Pos)
		return &scalar.MinMax{Node: scalar.Node{T: t, Pos: e.Pos}, Least: e.Least, Args: args}
	case *ast.NullIf:
		return b.nullIf(s, e)
	case *ast.Cast:
		return b.castExpr(s, e)
	case *ast.Collate:
		x := b.expr(s, e.X)
		if !x.Type().Kind.IsString() {
			fail(sqlerr.DatatypeMismatch, e.Pos, "collations are not supported by type %s", x.Type())
		}
		switch n := e.Collation.Parts[len(e.Collation.Parts)-1]; n {
		case "C", "POSIX", "default", "ucs_basic":
			return b.resolve(x)
		default:
			raise(sqlerr.New(sqlerr.UndefinedObject, e.Pos, "collation \"%s\" for encoding \"UTF8\" does not exist", n))
		}
	case *ast.AtTimeZone:
		return b.call("timezone", []scalar.Expr{b.expr(s, e.Zone), b.expr(s, e.X)}, e.Pos)
	case *ast.Func:
		return b.funcCall(s, e)
	case *ast.Array:
		return b.array(s, e)
	case *ast.Subscript:
		return b.subscript(s, e)
	case *ast.Field:
		return b.field(s, e)
	case *ast.Row:
		if len(e.Elems) > maxTargets {
			fail(sqlerr.TooManyColumns, e.Pos, "ROW expressions can have at most %d entries", maxTargets)
		}
		r := &scalar.MakeRow{Node: node(types.Record, e.Pos)}
		for _, x := range e.Elems {
			r.Elems = append(r.Elems, b.resolve(b.expr(s, x)))
		}
		return r
	case *ast.Subquery:
		return b.subquery(s, e)
	case *ast.ArrayQuery:
		return b.arrayQuery(s, e)
	case *ast.InQuery:
		return b.quantified(s, e.X, "=", e.Query, false, e.Not, true, e.Pos)
	case *ast.AnyAllQuery:
		return b.quantified(s, e.X, e.Op, e.Query, e.All, false, false, e.Pos)
	case *ast.Overlaps:
		args := []scalar.Expr{}
		for _, r := range []*ast.Row{e.L, e.R} {
			if len(r.Elems) != 2 {
				fail(sqlerr.SyntaxError, e.Pos, "wrong number of parameters on left side of OVERLAPS expression")
			}
			for _, x := range r.Elems {
				args = append(args, b.expr(s, x))
			}
		}
		return b.call("overlaps", args, e.Pos)
	}
	pos := sqlerr.NoPos
	if e != nil {
		pos = e.Position()
	}
	fail(sqlerr.InternalError, pos, "unknown expression %T", e)
	return nil
}

func (b *Binder) param(e *ast.Param) scalar.Expr {
	if n := len(b.inlining); n > 0 {
		return b.inlining[n-1].numbered(e)
	}
	if e.N < 1 || e.N > 65535 {
		fail(sqlerr.UndefinedParameter, e.Pos, "there is no parameter $%d", e.N)
	}
	for len(b.params) < e.N {
		b.params = append(b.params, types.T(types.Unknown))
	}
	t := b.params[e.N-1]
	return &scalar.Param{Node: scalar.Node{T: t, Pos: e.Pos}, N: e.N}
}

func (b *Binder) bools(s *scope, es []ast.Expr, what string) []scalar.Expr {
	out := make([]scalar.Expr, len(es))
	for i, e := range es {
		out[i] = b.boolExpr(s, e, what)
	}
	return out
}

// common binds alternatives and casts them to their common type.
func (b *Binder) common(s *scope, what string, es []ast.Expr) ([]scalar.Expr, types.Type) {
	xs := make([]scalar.Expr, len(es))
	for i, e := range es {
		xs[i] = b.expr(s, e)
	}
	return b.unifyExprs(what, xs)
}

func (b *Binder) unifyExprs(what string, xs []scalar.Expr) ([]scalar.Expr, types.Type) {
	ts := make([]types.Type, len(xs))
	for i, x := range xs {
		ts[i] = x.Type()
	}
	t, at, err := b.cfg.Registry.CommonType(what, ts)
	if err != nil {
		check(err, start(xs[at]))
	}
	for i := range xs {
		xs[i] = b.cast(xs[i], t, fn.Implicit, xs[i].Position())
	}
	return xs, t
}

func isComparison(op string) bool {
	switch op {
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

func (b *Binder) binary(s *scope, e *ast.Binary) scalar.Expr {
	if e.Schema != "" && e.Schema != "pg_catalog" {
		fail(sqlerr.UndefinedFunction, e.Pos, "operator does not exist: %s.%s", e.Schema, e.Op)
	}
	if isComparison(e.Op) {
		if lr, ok := e.L.(*ast.Row); ok {
			switch r := e.R.(type) {
			case *ast.Row:
				return b.rowCompare(s, e.Op, lr, r, e.Pos)
			case *ast.Subquery:
				if !r.Exists {
					return b.rowSubquery(s, e.Op, lr, r.Query, e.Pos)
				}
			}
		}
	}
	return b.operator(e.Op, b.expr(s, e.L), b.expr(s, e.R), e.Pos)
}

func (b *Binder) unary(s *scope, e *ast.Unary) scalar.Expr {
	if e.Op == "-" {
		switch x := e.X.(type) {
		case *ast.IntLit:
			return b.expr(s, &ast.IntLit{P: ast.P{Pos: e.Pos}, Value: -x.Value})
		case *ast.NumLit:
			// The smallest int8 is a number only with its sign.
			if v, err := strconv.ParseInt("-"+x.Text, 10, 64); err == nil {
				return b.expr(s, &ast.IntLit{P: ast.P{Pos: e.Pos}, Value: v})
			}
			if !strings.HasPrefix(x.Text, "-") {
				return b.expr(s, &ast.NumLit{P: ast.P{Pos: e.Pos}, Text: "-" + x.Text})
			}
		}
	}
	x := b.expr(s, e.X)
	res, err := b.cfg.Registry.ResolvePrefix(e.Op, x.Type())
	check(err, e.Pos)
	return &scalar.Call{Node: scalar.Node{T: res.Ret, Pos: e.Pos}, Fn: res.Fn, Args: b.args(res, []scalar.Expr{x}, e.Pos)}
}

func (b *Binder) is(s *scope, e *ast.Is) scalar.Expr {
	switch e.What {
	case ast.IsNull:
		x := b.expr(s, e.X)
		if r, ok := x.(*scalar.MakeRow); ok {
			// A row is null if all its fields are, and not null if none is.
			a := &scalar.And{Node: node(types.Bool, e.Pos)}
			for _, el := range r.Elems {
				a.Args = append(a.Args, &scalar.IsNull{Node: node(types.Bool, e.Pos), X: el, Not: e.Not})
			}
			if len(a.Args) > 0 {
				return a
			}
		}
		return &scalar.IsNull{Node: node(types.Bool, e.Pos), X: b.resolve(x), Not: e.Not}
	case ast.IsUnknown:
		return &scalar.IsNull{Node: node(types.Bool, e.Pos), X: b.boolExpr(s, e.X, "IS UNKNOWN"), Not: e.Not}
	}
	clause := "IS "
	if e.Not {
		clause += "NOT "
	}
	if e.What == ast.IsTrue {
		clause += "TRUE"
	} else {
		clause += "FALSE"
	}
	return &scalar.IsBool{Node: node(types.Bool, e.Pos), X: b.boolExpr(s, e.X, clause), Val: e.What == ast.IsTrue, Not: e.Not}
}

func (b *Binder) isDistinct(s *scope, e *ast.IsDistinct) scalar.Expr {
	lr, lok := e.L.(*ast.Row)
	rr, rok := e.R.(*ast.Row)
	if lok && rok {
		if len(lr.Elems) != len(rr.Elems) {
			fail(sqlerr.SyntaxError, e.Pos, "unequal number of entries in row expressions")
		}
		or := &scalar.Or{Node: node(types.Bool, e.Pos)}
		for i := range lr.Elems {
			or.Args = append(or.Args, b.distinctFrom(b.expr(s, lr.Elems[i]), b.expr(s, rr.Elems[i]), false, e.Pos))
		}
		var out scalar.Expr = or
		if len(or.Args) == 1 {
			out = or.Args[0]
		}
		if e.Not {
			out = &scalar.Not{Node: node(types.Bool, e.Pos), X: out}
		}
		return out
	}
	return b.distinctFrom(b.expr(s, e.L), b.expr(s, e.R), e.Not, e.Pos)
}

// dateAndTime tells whether one type is date and the other a timestamp. They are compared as they are: there are dates that no
// timestamp can have, so that a cast would fail.
func dateAndTime(l, r types.Type) bool {
	stamp := func(t types.Type) bool { return t.Kind == types.Timestamp || t.Kind == types.Timestamptz }
	return l.Kind == types.Date && stamp(r) || stamp(l) && r.Kind == types.Date
}

// distinctFrom makes IS [NOT] DISTINCT FROM; both sides get one type.
func (b *Binder) distinctFrom(l, r scalar.Expr, not bool, pos int) scalar.Expr {
	if isNullLit(l) || isNullLit(r) {
		x := l
		if isNullLit(l) {
			x = r
		}
		return &scalar.IsNull{Node: node(types.Bool, pos), X: b.resolve(x), Not: !not}
	}
	// The operator must exist; its argument types are what both sides are cast to.
	eq := b.operator("=", l, r, pos).(*scalar.Call)
	l, r = eq.Args[0], eq.Args[1]
	if dateAndTime(l.Type(), r.Type()) && !volatileExpr(l) && !volatileExpr(r) && !logical.HasSubquery(l) && !logical.HasSubquery(r) {
		isNull := func(x scalar.Expr) scalar.Expr { return &scalar.IsNull{Node: node(types.Bool, pos), X: x} }
		boolean := func(x scalar.Expr) scalar.Expr { return notIf(x, !not, pos) }
		return &scalar.Case{Node: node(types.Bool, pos), Whens: []scalar.When{
			{Cond: isNull(l), Result: boolean(isNull(r))},
			{Cond: isNull(r), Result: boolean(logical.BoolConst(false))},
		}, Else: boolean(eq)}
	}
	if l.Type() != r.Type() {
		xs, _ := b.unifyExprs("IS DISTINCT FROM", []scalar.Expr{l, r})
		l, r = xs[0], xs[1]
	}
	return &scalar.Distinct{Node: node(types.Bool, pos), L: l, R: r, Not: not}
}

func isNullLit(e scalar.Expr) bool {
	c, ok := e.(*scalar.Const)
	return ok && !c.Val.Valid && c.T.Kind == types.Unknown
}

func (b *Binder) between(s *scope, e *ast.Between) scalar.Expr {
	x, lo, hi := b.expr(s, e.X), b.expr(s, e.Lo), b.expr(s, e.Hi)
	in := func(lo, hi scalar.Expr) scalar.Expr {
		if e.Not {
			return &scalar.Or{Node: node(types.Bool, e.Pos), Args: []scalar.Expr{b.operator("<", x, lo, e.Pos), b.operator(">", x, hi, e.Pos)}}
		}
		return &scalar.And{Node: node(types.Bool, e.Pos), Args: []scalar.Expr{b.operator(">=", x, lo, e.Pos), b.operator("<=", x, hi, e.Pos)}}
	}
	if !e.Sym {
		return in(lo, hi)
	}
	two := []scalar.Expr{in(lo, hi), in(hi, lo)}
	if e.Not {
		return &scalar.And{Node: node(types.Bool, e.Pos), Args: two}
	}
	return &scalar.Or{Node: node(types.Bool, e.Pos), Args: two}
}

func (b *Binder) inList(s *scope, e *ast.InList) scalar.Expr {
	if lr, ok := e.X.(*ast.Row); ok && len(lr.Elems) > 1 {
		or := &scalar.Or{Node: node(types.Bool, e.Pos)}
		for _, it := range e.List {
			r, ok := it.(*ast.Row)
			if !ok {
				fail(sqlerr.SyntaxError, it.Position(), "unequal number of entries in row expressions")
			}
			or.Args = append(or.Args, b.rowCompare(s, "=", lr, r, e.Pos))
		}
		return notIf(oneOr(or), e.Not, e.Pos)
	}
	x := b.expr(s, e.X)
	list := make([]scalar.Expr, len(e.List))
	ts := []types.Type{x.Type()}
	hasSub := logical.HasSubquery(x)
	for i, it := range e.List {
		list[i] = b.expr(s, it)
		ts = append(ts, list[i].Type())
		hasSub = hasSub || logical.HasSubquery(list[i])
	}
	t, _, err := b.cfg.Registry.CommonType("IN", ts)
	mixed := slices.ContainsFunc(ts, func(o types.Type) bool { return dateAndTime(x.Type(), o) })
	if err == nil && t.Kind != types.Record && !hasSub && !mixed {
		if res, err := b.cfg.Registry.ResolveOperator("=", t, t); err == nil {
			to := res.Args[0]
			if to.Kind == t.Kind {
				to = t.WithoutMod()
			}
			in := &scalar.In{Node: node(types.Bool, e.Pos), X: b.cast(x, to, fn.Implicit, e.Pos), Not: e.Not}
			for _, it := range list {
				in.List = append(in.List, b.cast(it, to, fn.Implicit, it.Position()))
			}
			return in
		}
	}
	or := &scalar.Or{Node: node(types.Bool, e.Pos)}
	for _, it := range list {
		or.Args = append(or.Args, b.operator("=", x, it, e.Pos))
	}
	return notIf(oneOr(or), e.Not, e.Pos)
}

func oneOr(or *scalar.Or) scalar.Expr {
	if len(or.Args) == 1 {
		return or.Args[0]
	}
	return or
}

func notIf(e scalar.Expr, not bool, pos int) scalar.Expr {
	if not {
		return &scalar.Not{Node: node(types.Bool, pos), X: e}
	}
	return e
}

func (b *Binder) like(s *scope, e *ast.Like) scalar.Expr {
	x, pat := b.expr(s, e.X), b.expr(s, e.Pattern)
	if e.Kind == ast.LikeSimilar {
		args := []scalar.Expr{pat}
		if e.Escape != nil {
			args = append(args, b.expr(s, e.Escape))
		}
		pat = b.call("similar_to_escape", args, e.Pos)
		op := "~"
		if e.Not {
			op = "!~"
		}
		return b.operator(op, x, pat, e.Pos)
	}
	if e.Escape != nil {
		pat = b.call("like_escape", []scalar.Expr{pat, b.expr(s, e.Escape)}, e.Pos)
	}
	op := "~~"
	if e.Kind == ast.LikeILike {
		op = "~~*"
	}
	if e.Not {
		op = "!" + op
	}
	return b.operator(op, x, pat, e.Pos)
}

func (b *Binder) anyAll(s *scope, e *ast.AnyAll) scalar.Expr {
	l, r := b.expr(s, e.L), b.expr(s, e.R)
	if r.Type().Kind == types.Unknown {
		elem := l.Type()
		if elem.Kind == types.Unknown {
			elem = types.T(types.Text)
		}
		r = b.cast(r, types.ArrayOf(elem.Kind), fn.Implicit, e.Pos)
	}
	if r.Type().Kind != types.Array {
		fail(sqlerr.WrongObjectType, e.Pos, "op ANY/ALL (array) requires array on right side")
	}
	elem := types.T(r.Type().Elem)
	res, err := b.cfg.Registry.ResolveOperator(e.Op, l.Type(), elem)
	check(err, e.Pos)
	if res.Ret.Kind != types.Bool {
		fail(sqlerr.WrongObjectType, e.Pos, "op ANY/ALL (array) requires operator to yield boolean")
	}
	l = b.arg(l, res.Args[0])
	if res.Args[1].Kind != elem.Kind {
		r = b.cast(r, types.ArrayOf(res.Args[1].Kind), fn.Implicit, e.Pos)
	}
	return &scalar.AnyAll{Node: node(types.Bool, e.Pos), Op: res.Fn, All: e.All, L: l, R: r}
}

func (b *Binder) caseExpr(s *scope, e *ast.Case) scalar.Expr {
	out := &scalar.Case{Node: scalar.Node{Pos: e.Pos}}
	var operand scalar.Expr
	if e.Operand != nil {
		operand = b.resolve(b.expr(s, e.Operand))
	}
	results := make([]scalar.Expr, 1, len(e.Whens)+1)
	conds := make([]scalar.Expr, len(e.Whens))
	for i, w := range e.Whens {
		if operand != nil {
			conds[i] = b.operator("=", operand, b.expr(s, w.Cond), e.Pos)
			conds[i] = b.needBool(conds[i], "CASE/WHEN", leftmost(w.Cond))
		} else {
			conds[i] = b.boolExpr(s, w.Cond, "CASE/WHEN")
		}
		results = append(results, b.expr(s, w.Result))
	}
	if e.Else != nil {
		results[0] = b.expr(s, e.Else)
	} else {
		results[0] = &scalar.Const{Node: node(types.Unknown, e.Pos)}
	}
	xs, t := b.unifyExprs("CASE", results)
	out.T, out.Else = t, xs[0]
	for i := range conds {
		out.Whens = append(out.Whens, scalar.When{Cond: conds[i], Result: xs[i+1]})
	}
	return out
}

func (b *Binder) nullIf(s *scope, e *ast.NullIf) scalar.Expr {
	l, r := b.expr(s, e.L), b.expr(s, e.R)
	eq := b.operator("=", l, r, e.Pos)
	l = b.resolve(l)
	if c, ok := eq.(*scalar.Call); ok && len(c.Args) == 2 {
		// The value is the left operand of the comparison, with its type.
		l = c.Args[0]
	}
	return &scalar.Case{Node: scalar.Node{T: l.Type(), Pos: e.Pos},
		Whens: []scalar.When{{Cond: eq, Result: logical.NullConst(l.Type())}}, Else: l}
}

func (b *Binder) castExpr(s *scope, e *ast.Cast) scalar.Expr {
	to, domain := b.typeOrDomain(e.Type)
	x := b.castTo(s, e, to)
	if domain != nil {
		x = b.domainValue(x, domain, e.Pos)
	}
	return x
}

func (b *Binder) castTo(s *scope, e *ast.Cast, to types.Type) scalar.Expr {
	if a, ok := e.X.(*ast.Array); ok && len(a.Elems) == 0 && to.Kind == types.Array {
		return &scalar.MakeArray{Node: scalar.Node{T: to, Pos: e.Pos}}
	}
	if a, ok := e.X.(*ast.Array); ok && to.Kind == types.Array {
		arr := &scalar.MakeArray{Node: scalar.Node{T: to, Pos: e.Pos}}
		nested := false
		for _, el := range a.Elems {
			if _, ok := el.(*ast.Array); ok {
				nested = true
			}
		}
		for _, el := range a.Elems {
			if nested {
				arr.Elems = append(arr.Elems, b.castExpr(s, &ast.Cast{P: e.P, X: el, Type: e.Type}))
				continue
			}
			x := b.expr(s, el)
			if x.Type().Kind == types.Array {
				return b.cast(b.array(s, a), to, fn.Explicit, e.Pos)
			}
			arr.Elems = append(arr.Elems, b.cast(x, to.ElemType(), fn.Explicit, el.Position()))
		}
		return arr
	}
	x := b.expr(s, e.X)
	return b.cast(x, to, fn.Explicit, e.Pos)
}

func (b *Binder) array(s *scope, e *ast.Array) scalar.Expr {
	if len(e.Elems) == 0 {
		raise(sqlerr.New(sqlerr.IndeterminateDatatype, e.Pos, "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."))
	}
	xs, t := b.common(s, "ARRAY", e.Elems)
	at := t
	if t.Kind != types.Array {
		at = types.Type{Kind: types.Array, Elem: t.Kind, Mod: t.Mod}
	}
	return &scalar.MakeArray{Node: scalar.Node{T: at, Pos: e.Pos}, Elems: xs}
}

func (b *Binder) subscript(s *scope, e *ast.Subscript) scalar.Expr {
	// a[i][j] is one access to an array of two dimensions, since a[i] is no array. If one of them is a slice, all are.
	subs, slice := []*ast.Subscript{e}, e.Slice
	for at := e; at.Chain; {
		at = at.X.(*ast.Subscript)
		subs, slice = append([]*ast.Subscript{at}, subs...), slice || at.Slice
	}
	x := b.expr(s, subs[0].X)
	if len(subs) > 1 && x.Type().Kind != types.Array {
		subs, slice = subs[len(subs)-1:], e.Slice
		x = b.expr(s, e.X)
	}
	if x.Type().Kind == types.Jsonb && !e.Slice {
		return b.operator("->", x, b.expr(s, e.Lo), e.Pos)
	}
	if x.Type().Kind == types.Name && !e.Slice {
		// The bytes of a name are counted from 0.
		one := b.cast(intConst(1), types.T(types.Int4), fn.Explicit, e.Pos)
		lo := b.cast(b.expr(s, e.Lo), types.T(types.Int4), fn.Assignment, e.Pos)
		at := b.operator("+", lo, one, e.Pos)
		c := b.call("substring", []scalar.Expr{b.cast(x, types.T(types.Text), fn.Implicit, e.Pos), at, one}, e.Pos)
		return b.cast(c, types.T(types.QChar), fn.Explicit, e.Pos)
	}
	if x.Type().Kind != types.Array {
		fail(sqlerr.DatatypeMismatch, e.Pos, "cannot subscript type %s because it does not support subscripting", x.Type().WithoutMod())
	}
	if len(subs) > types.MaxDims {
		fail(sqlerr.ProgramLimitExceeded, sqlerr.NoPos, "number of array dimensions (%d) exceeds the maximum allowed (%d)", len(subs), types.MaxDims)
	}
	index := func(i ast.Expr) scalar.Expr {
		return b.assignWith(b.expr(s, i), types.T(types.Int4), fn.Assignment, func(types.Type) error {
			return sqlerr.New(sqlerr.DatatypeMismatch, leftmost(i), "array subscript must have type integer")
		})
	}
	if slice {
		// A bound that is left out is one that every array is within. [n] means [1:n].
		bound := func(i ast.Expr, missing int64) scalar.Expr {
			if i == nil {
				return &scalar.Const{Node: scalar.Node{T: types.T(types.Int4), Pos: -1}, Val: types.DInt(missing)}
			}
			return index(i)
		}
		args := []scalar.Expr{x}
		for _, sub := range subs {
			if sub.Slice {
				args = append(args, bound(sub.Lo, math.MinInt32), bound(sub.Hi, math.MaxInt32))
			} else {
				args = append(args, bound(nil, 1), index(sub.Lo))
			}
		}
		return b.call("array_slice", args, e.Pos)
	}
	if len(subs) > 1 {
		args := []scalar.Expr{x}
		for _, sub := range subs {
			args = append(args, index(sub.Lo))
		}
		return b.call("array_subscripts", args, e.Pos)
	}
	return b.call("array_subscript", []scalar.Expr{x, index(e.Lo)}, e.Pos)
}

// rowCompare compares two row expressions.
func (b *Binder) rowCompare(s *scope, op string, l, r *ast.Row, pos int) scalar.Expr {
	return b.rowOp(op, b.exprs(s, l.Elems), b.exprs(s, r.Elems), pos)
}

func (b *Binder) exprs(s *scope, es []ast.Expr) []scalar.Expr {
	out := make([]scalar.Expr, len(es))
	for i, e := range es {
		out[i] = b.expr(s, e)
	}
	return out
}

func (b *Binder) rowOp(op string, ls, rs []scalar.Expr, pos int) scalar.Expr {
	if len(ls) != len(rs) {
		fail(sqlerr.SyntaxError, pos, "unequal number of entries in row expressions")
	}
	if len(ls) == 0 {
		fail(sqlerr.FeatureNotSupported, pos, "cannot compare rows of zero length")
	}
	if len(ls) == 1 {
		return b.operator(op, ls[0], rs[0], pos)
	}
	switch op {
	case "=":
		a := &scalar.And{Node: node(types.Bool, pos)}
		for i := range ls {
			a.Args = append(a.Args, b.operator("=", ls[i], rs[i], pos))
		}
		return a
	case "<>", "!=":
		o := &scalar.Or{Node: node(types.Bool, pos)}
		for i := range ls {
			o.Args = append(o.Args, b.operator("<>", ls[i], rs[i], pos))
		}
		return o
	case "<", "<=", ">", ">=":
		// a < x OR a = x AND (the rest)
		strict := op[:1]
		rest := b.rowOp(op, ls[1:], rs[1:], pos)
		return &scalar.Or{Node: node(types.Bool, pos), Args: []scalar.Expr{
			b.operator(strict, ls[0], rs[0], pos),
			&scalar.And{Node: node(types.Bool, pos), Args: []scalar.Expr{b.operator("=", ls[0], rs[0], pos), rest}},
		}}
	}
	fail(sqlerr.FeatureNotSupported, pos, "could not determine interpretation of row comparison operator %s", op)
	return nil
}
