package bind

import (
	"slices"
	"strings"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// orderExpr is an ORDER BY item inside a call.
type orderExpr struct {
	expr             scalar.Expr
	desc, nullsFirst bool
}

// aggCall is an aggregate call of one query level; id is the column of its result.
type aggCall struct {
	id       logical.ColID
	fn       *fn.Func
	args     []scalar.Expr
	distinct bool
	filter   scalar.Expr
	order    []orderExpr
	pos      int
}

// srfCall is a set-returning function in a select list.
type srfCall struct {
	ids  []logical.ColID
	fn   *fn.Func
	args []scalar.Expr
}

// call resolves a function by name and applies it to bound arguments.
func (b *Binder) call(name string, args []scalar.Expr, pos int) scalar.Expr {
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	res, err := b.cfg.Registry.ResolveFunc(name, ts, fn.CallOptions{})
	if e := sqlError(err); e != nil {
		// What a special syntax calls is named in full.
		c := *e
		c.Message = strings.Replace(e.Message, "function "+name, "function pg_catalog."+name, 1)
		err = &c
	}
	check(err, pos)
	if res.CastTo {
		return b.cast(args[0], res.Ret, fn.Explicit, pos)
	}
	return &scalar.Call{Node: scalar.Node{T: res.Ret, Pos: pos}, Fn: res.Fn, Args: b.args(res, args, pos)}
}

// funcCall binds a call of any kind.
func (b *Binder) funcCall(s *scope, f *ast.Func) scalar.Expr {
	name := f.Name.Parts[len(f.Name.Parts)-1]
	over := b.functions(f.Name)
	checkArgNames(f)
	if qualifiedFunction(f.Name) && len(over) == 0 {
		if schema := f.Name.Parts[len(f.Name.Parts)-2]; !b.cfg.Catalog.HasSchema(schema) {
			fail(sqlerr.InvalidSchemaName, f.Pos, "schema \"%s\" does not exist", schema)
		}
	}
	if name == "grouping" && len(f.Args) > 0 && f.Over == nil {
		return b.groupingCall(s, f)
	}
	if f.IgnoreNulls {
		unsupported(f.Pos, "IGNORE NULLS")
	}
	if len(f.Args) > maxArguments {
		fail(sqlerr.TooManyArguments, f.Pos, "cannot pass more than %d arguments to a function", maxArguments)
	}
	args := make([]scalar.Expr, 0, len(f.Args)+len(f.WithinGroup))
	for _, a := range f.Args {
		if st, ok := a.(*ast.Star); ok {
			if len(st.Parts) > 0 {
				args = append(args, b.rowOf(s, st))
				continue
			}
			fail(sqlerr.SyntaxError, st.Pos, "row expansion via \"*\" is not supported here")
		}
		args = append(args, b.expr(s, a))
	}
	f, args = withoutVoid(f, args)
	for _, o := range f.WithinGroup {
		args = append(args, b.expr(s, o.Expr))
	}
	opt := callOptions(f)
	if len(over) > 0 || qualifiedFunction(f.Name) {
		u, res, err := b.resolveCall(f, over, args, opt)
		if qualifiedFunction(f.Name) || !b.cfg.Registry.HasName(name) {
			check(err, f.Pos)
		}
		if u != nil {
			return b.sqlCall(s, f, u, res, args)
		}
	}
	args, json := b.namedRows(name, args, f.Pos)
	if json != nil {
		return json
	}
	if name == "json_agg" && len(args) == 1 && isNamedRow(args[0]) {
		name = "json_rows_agg"
	}
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	if f.WithinGroup != nil {
		switch {
		case f.Distinct:
			fail(sqlerr.SyntaxError, f.Pos, "cannot use DISTINCT with WITHIN GROUP")
		case f.Variadic:
			fail(sqlerr.SyntaxError, f.Pos, "cannot use VARIADIC with WITHIN GROUP")
		case len(f.OrderBy) > 0:
			fail(sqlerr.SyntaxError, f.Pos, "cannot use multiple ORDER BY clauses with WITHIN GROUP")
		}
	}
	res, err := b.cfg.Registry.ResolveFunc(name, ts, opt)
	check(err, f.Pos)
	if res.CastTo {
		return b.cast(args[0], res.Ret, fn.Explicit, f.Pos)
	}
	if res.Fn.Hypothetical && f.WithinGroup != nil {
		if n := len(f.WithinGroup); 2*n != len(args) {
			raise(sqlerr.New(sqlerr.UndefinedFunction, f.Pos, "function %s does not exist", fn.Signature(name, ts)).
				WithHint("To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %d) must match the number of ordering columns (here %d).",
					name, len(args)-n, n))
		}
		args = b.hypothetical(f, args)
	} else {
		args = b.args(res, args, f.Pos)
	}
	switch res.Fn.Kind {
	case fn.Aggregate:
		if f.Over != nil {
			return b.window(s, f, name, res, args)
		}
		return b.aggregate(s, f, name, res, args)
	case fn.Window:
		if f.Over == nil {
			if g := b.cfg.Registry.AggregateOf(res.Fn); g != nil && f.WithinGroup == nil {
				res.Fn = g
				return b.aggregate(s, f, name, res, args)
			}
			fail(sqlerr.WrongObjectType, f.Pos, "window function %s requires an OVER clause", name)
		}
		return b.window(s, f, name, res, args)
	}
	plainCall(f)
	call := &scalar.Call{Node: scalar.Node{T: res.Ret, Pos: f.Pos}, Fn: res.Fn, Args: args}
	if res.Fn.Kind == fn.Table && !s.q.srfOK {
		return b.selectSRF(s, call, name)
	}
	return call
}

// withoutVoid takes out parameters of type void: drivers send one for the result where they call a function as a procedure.
func withoutVoid(f *ast.Func, args []scalar.Expr) (*ast.Func, []scalar.Expr) {
	void := func(a scalar.Expr) bool {
		p, ok := a.(*scalar.Param)
		return ok && p.T.Kind == types.Void
	}
	if !slices.ContainsFunc(args, void) || slices.ContainsFunc(f.ArgNames, func(n string) bool { return n != "" }) {
		return f, args
	}
	g := *f
	g.Args, g.ArgNames = nil, nil
	var kept []scalar.Expr
	for i, a := range args {
		if !void(a) {
			g.Args, kept = append(g.Args, f.Args[i]), append(kept, a)
		}
	}
	return &g, kept
}

// selectSRF is a set-returning function in a select list.
func (b *Binder) selectSRF(s *scope, c *scalar.Call, name string) scalar.Expr {
	if !s.q.target {
		where := s.q.clause
		switch {
		case s.q.inWindow:
			where = "window definitions"
		case where == "":
			where = "HAVING"
		}
		fail(sqlerr.FeatureNotSupported, c.Pos, "set-returning functions are not allowed in %s", where)
	}
	if c.Fn.Ret.Kind == types.Record && len(c.Fn.Outs) == 0 {
		raise(sqlerr.New(sqlerr.FeatureNotSupported, sqlerr.NoPos, "could not determine row type for result of %s", name).
			WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column definition list."))
	}
	for _, a := range c.Args {
		cols := logical.ColsOf(a)
		for _, o := range s.q.srfs {
			if slices.ContainsFunc(o.ids, cols.Has) {
				unsupported(c.Pos, "a set-returning function inside another one")
			}
		}
	}
	f := &srfCall{fn: c.Fn, args: c.Args}
	if len(c.Fn.Outs) > 1 {
		if o := sameSRF(s.q.srfs, f); o != nil {
			return b.rowOfOuts(o, c.Pos)
		}
		for _, o := range c.Fn.Outs {
			f.ids = append(f.ids, b.Meta.New(o.Name, o.Type))
		}
		s.q.srfs = append(s.q.srfs, f)
		return b.rowOfOuts(f, c.Pos)
	}
	f.ids = []logical.ColID{b.Meta.New(name, c.T)}
	s.q.srfs = append(s.q.srfs, f)
	return b.Meta.RefAt(f.ids[0], c.Pos)
}

// applySRFs adds the set-returning functions of the select list.
func (b *Binder) applySRFs(s *scope, n logical.Node) logical.Node {
	if len(s.q.srfs) == 0 {
		return n
	}
	ps := &logical.ProjectSet{In: n}
	for _, f := range s.q.srfs {
		if len(f.ids) > 1 && len(s.q.srfs) > 1 {
			// Where the others have more rows, its row would be NULL, which one of NULLs is not.
			unsupported(sqlerr.NoPos, "a set-returning function with several columns beside another one in a select list")
		}
		ps.Funcs = append(ps.Funcs, logical.SetFunc{Fn: f.fn, Args: f.args, Out: f.ids})
	}
	return ps
}

// levelOf finds the query level that an aggregate with these argument columns belongs to: the nearest
// one that owns any of them, or the current one.
func levelOf(s *scope, cols logical.ColSet) *scope {
	if len(cols) == 0 {
		return s
	}
	seen := map[*queryState]bool{}
	for at := s; at != nil; at = at.parent {
		if at.q == nil || seen[at.q] {
			continue
		}
		seen[at.q] = true
		if at.q.owned.Meets(cols) {
			return at
		}
		for _, a := range at.q.aggs {
			if cols.Has(a.id) {
				return at
			}
		}
	}
	return s
}

func (b *Binder) aggregate(s *scope, f *ast.Func, name string, res fn.Resolution, args []scalar.Expr) scalar.Expr {
	if len(args) == 0 && !f.Star && res.Fn.Direct < 0 {
		fail(sqlerr.WrongObjectType, f.Pos, "%s(*) must be used to call a parameterless aggregate function", name)
	}
	if f.WithinGroup != nil && res.Fn.Direct < 0 {
		fail(sqlerr.WrongObjectType, f.Pos, "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", name)
	}
	if res.Fn.Direct >= 0 {
		if f.WithinGroup == nil {
			fail(sqlerr.WrongObjectType, f.Pos, "WITHIN GROUP is required for ordered-set aggregate %s", name)
		}
	}
	call := &aggCall{fn: res.Fn, args: args, distinct: f.Distinct, pos: f.Pos}
	if f.Filter != nil {
		old := s.q.clause
		s.q.clause = "FILTER"
		call.filter = b.boolExpr(s, f.Filter, "FILTER")
		s.q.clause = old
	}
	for i, o := range append(append([]ast.OrderItem(nil), f.OrderBy...), f.WithinGroup...) {
		var x scalar.Expr
		if f.WithinGroup != nil {
			// The order is that of the arguments, cast as they are.
			at := res.Fn.DirectArgs(len(args)) + i
			args[at] = b.resolve(args[at])
			x = args[at]
		} else {
			x = b.resolve(b.expr(s, o.Expr))
		}
		b.needOrdering(x.Type(), o.Expr.Position())
		desc, nf := direction(o)
		call.order = append(call.order, orderExpr{x, desc, nf})
	}
	if f.Distinct {
		if len(args) == 0 {
			fail(sqlerr.WrongObjectType, f.Pos, "DISTINCT specified, but %s(*) has no arguments", name)
		}
		for _, a := range args {
			b.needEquality(a.Type(), a.Position())
		}
		for _, o := range call.order {
			found := false
			for _, a := range args {
				found = found || logical.Equal(a, o.expr)
			}
			if !found {
				fail(sqlerr.InvalidColumnReference, o.expr.Position(), "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list")
			}
		}
	}
	if res.Fn.Name == "approx_count_distinct" {
		// Exact: that takes back what a sketch could not, and shares its state with count(DISTINCT).
		count := b.cfg.Registry.ByID("count(any)")
		call.fn, call.distinct = count, true
		b.needEquality(args[0].Type(), args[0].Position())
	}
	switch res.Fn.Name {
	case "min_by", "arg_min", "max_by", "arg_max":
		b.needOrdering(args[1].Type(), args[1].Position())
	}
	cols := logical.ColsOf(args...)
	logical.ExprCols(call.filter, cols)
	for _, o := range call.order {
		logical.ExprCols(o.expr, cols)
	}
	level := levelOf(s, cols)
	q := level.q
	for _, a := range q.aggs {
		if cols.Has(a.id) {
			fail(sqlerr.GroupingError, a.pos, "aggregate function calls cannot be nested")
		}
	}
	for _, w := range q.windows {
		if cols.Has(w.id) {
			fail(sqlerr.GroupingError, w.pos, "aggregate function calls cannot contain window function calls")
		}
	}
	for _, w := range q.srfs {
		if slices.ContainsFunc(w.ids, cols.Has) {
			raise(sqlerr.New(sqlerr.FeatureNotSupported, f.Pos, "aggregate function calls cannot contain set-returning function calls").
				WithHint("You might be able to move the set-returning function into a LATERAL FROM item."))
		}
	}
	switch q.clause {
	case "":
	default:
		fail(sqlerr.GroupingError, f.Pos, "aggregate functions are not allowed in %s", q.clause)
	}
	for _, a := range q.aggs {
		if sameAgg(a, call) {
			return b.Meta.RefAt(a.id, f.Pos)
		}
	}
	call.id = b.Meta.New(name, res.Ret)
	q.aggs = append(q.aggs, call)
	return b.Meta.RefAt(call.id, f.Pos)
}

// hypothetical casts each direct argument of a hypothetical-set aggregate, and what it is compared to, to their
// common type.
func (b *Binder) hypothetical(f *ast.Func, args []scalar.Expr) []scalar.Expr {
	out := slices.Clone(args)
	n := len(args) / 2
	for i := range n {
		direct, ordered := args[i], args[n+i]
		// The ordering column comes first, so that an undecided case is decided by it.
		t, bad, err := b.cfg.Registry.CommonType("WITHIN GROUP", []types.Type{ordered.Type(), direct.Type()})
		check(err, leftmost([]ast.Expr{f.WithinGroup[i].Expr, f.Args[i]}[bad]))
		out[i] = b.arg(direct, t)
		out[n+i] = b.arg(ordered, t)
	}
	return out
}

func sameAgg(a, b *aggCall) bool {
	if a.fn != b.fn || a.distinct != b.distinct || len(a.args) != len(b.args) || len(a.order) != len(b.order) ||
		(a.filter == nil) != (b.filter == nil) {
		return false
	}
	for i := range a.args {
		if !logical.Equal(a.args[i], b.args[i]) || volatileExpr(a.args[i]) {
			return false
		}
	}
	for i := range a.order {
		if a.order[i].desc != b.order[i].desc || a.order[i].nullsFirst != b.order[i].nullsFirst || !logical.Equal(a.order[i].expr, b.order[i].expr) {
			return false
		}
	}
	return a.filter == nil || logical.Equal(a.filter, b.filter)
}

func (b *Binder) groupingCall(s *scope, f *ast.Func) scalar.Expr {
	if len(f.Args) > 31 {
		fail(sqlerr.TooManyColumns, f.Pos, "GROUPING must have fewer than 32 arguments")
	}
	if s.q.clause != "" {
		fail(sqlerr.GroupingError, f.Pos, "grouping operations are not allowed in %s", s.q.clause)
	}
	g := &groupingCall{pos: f.Pos, value: &scalar.Case{Node: node(types.Int4, f.Pos)}}
	// Until the sets are known the value is a constant that no other call has.
	g.value.Else = &scalar.Const{Node: node(types.Int4, f.Pos), Val: types.DInt(int64(-1 - len(s.q.groupings)))}
	for _, a := range f.Args {
		g.args = append(g.args, b.resolve(b.expr(s, a)))
	}
	s.q.groupings = append(s.q.groupings, g)
	return g.value
}

// functionSchema is the schema that a function is in: a few helpers are in information_schema.
func functionSchema(name string) string {
	if strings.HasPrefix(name, "_pg_") {
		return "information_schema"
	}
	return "pg_catalog"
}
