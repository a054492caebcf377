package bind

import (
	"errors"
	"slices"
	"strings"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// A function in SQL has no being of its own in a plan: a call is replaced by the body.
//
//  1. The call is resolved as any other, with the functions of the search path as overloads besides those of the registry.
//  2. The body is bound in a scope without columns, in which the parameters stand for the bound arguments. These may have
//     columns of the query around the call: the body is then a correlated subquery.
//  3. A body that is SELECT expression alone is that expression. Of any other the first row counts: it becomes a scalar
//     subquery, and in FROM a lateral one.
//  4. A strict function is NULL, or has no rows, where an argument is NULL.
//
// Names in the body mean what they mean to the caller, unless the function has a search path of its own.

// inlined is a function whose body is being bound.
type inlined struct {
	f *catalog.Function
	// args are the values of the inputs, uses how often the body had each of them.
	args []scalar.Expr
	uses []int
	// types are those of the inputs, with polymorphic ones resolved, ret of the result.
	types []types.Type
	ret   types.Type
}

// maxInlined bounds how many calls of functions in SQL a statement may come to: each call of f(x) = g(x) + g(x) doubles.
const maxInlined = 10_000

// maxCopied bounds how many nodes of expressions arguments come to that a body uses more than once.
const maxCopied = 200_000

// overload is a function of the catalog as a call sees it.
type overload struct {
	fn *fn.Func
	f  *catalog.Function
}

// functions lists the functions in SQL that a name may mean, those of the first schema of the path first.
func (b *Binder) functions(n ast.Name) []overload {
	name := n.Parts[len(n.Parts)-1]
	path := b.cfg.SearchPath
	if len(n.Parts) > 1 {
		path = []string{n.Parts[len(n.Parts)-2]}
	}
	var out []overload
	for _, schema := range path {
		for _, f := range b.cfg.Catalog.FunctionsNamed(schema, name) {
			if b.visible == nil || slices.Contains(*b.visible, f.ID) {
				out = append(out, overload{f.Func(), f})
			}
		}
		// A function that is being made calls itself, not another.
		if f := b.checking; f != nil && f.Name == name && f.Schema == schema && !slices.ContainsFunc(out, func(o overload) bool { return o.f.ID == f.ID }) {
			out = append(out, overload{f.Func(), f})
		}
	}
	meant := func(o overload) bool { return slices.Contains(b.boundCalls, o.f.ID) }
	if len(n.Parts) == 1 && slices.ContainsFunc(out, meant) {
		out = slices.DeleteFunc(out, func(o overload) bool { return !meant(o) })
	}
	return out
}

// within runs bind with the names of the query of a view: its search path, the relations that it meant, and no functions but those
// that it was made with.
func (b *Binder) within(view *catalog.Relation, bind func()) {
	path, visible, bound, calls := b.cfg.SearchPath, b.visible, b.bound, b.boundCalls
	b.cfg.SearchPath, b.visible, b.bound, b.boundCalls = view.SearchPath, &view.Functions, view.Meant(), nil
	bind()
	b.cfg.SearchPath, b.visible, b.bound, b.boundCalls = path, visible, bound, calls
}

// Functions lists the functions in SQL that were called, directly, by one another or in views, and those of them that
// the statement itself calls, by ID.
func (b *Binder) Functions() (all, own []catalog.ID) {
	for id, direct := range b.called {
		all = append(all, id)
		if direct {
			own = append(own, id)
		}
	}
	slices.Sort(all)
	slices.Sort(own)
	return all, own
}

// enter begins to bind the body of f for a call at pos; leave ends it. Errors in the body get the position of the call.
func (b *Binder) enter(f *catalog.Function, in *inlined, pos int) (leave func()) {
	if b.cfg.AuthorizeFunction != nil {
		if err := b.cfg.AuthorizeFunction(f, b.caller); err != nil {
			raise(err)
		}
	}
	for _, x := range b.inlining {
		if x.f.ID == f.ID {
			unsupported(pos, "the recursive function "+f.Signature())
		}
	}
	if b.inlinedCalls++; b.inlinedCalls > maxInlined {
		raise(sqlerr.New(sqlerr.StatementTooComplex, pos, "stack depth limit exceeded").
			WithHint("The statement calls functions in SQL more than %d times, those that they call included.", maxInlined))
	}
	if b.called == nil {
		b.called = map[catalog.ID]bool{}
	}
	b.called[f.ID] = b.called[f.ID] || len(b.inlining)+len(b.views) == 0
	path, visible, bound, calls := b.cfg.SearchPath, b.visible, b.bound, b.boundCalls
	if f.SearchPath != nil {
		b.cfg.SearchPath = f.SearchPath
	}
	b.visible, b.bound, b.boundCalls = b.cfg.Visible, f.Relations, f.Calls
	if f.Form == "" {
		// A body that is a string is read again for each statement, except in what is kept up to date.
		if b.bound = nil; b.root != nil {
			b.bound = b.root.Meant()
		}
	}
	caller := b.caller
	if f.Definer {
		b.caller = catalog.OwnerName(f.Owner)
	}
	b.owners = append(b.owners, b.caller)
	b.inlining = append(b.inlining, in)
	return func() {
		b.cfg.SearchPath, b.visible, b.bound, b.boundCalls, b.caller = path, visible, bound, calls, caller
		b.owners, b.inlining = b.owners[:len(b.owners)-1], b.inlining[:len(b.inlining)-1]
	}
}

// inBody runs bind, with errors as those of the body of f.
func inBody(f *catalog.Function, pos int, bind func()) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		x, ok := r.(failure)
		var e *sqlerr.Error
		if !ok || !errors.As(x.err, &e) {
			panic(r)
		}
		c := *e
		c.Pos = pos
		if c.Where != "" {
			c.Where += "\n"
		}
		c.Where += "SQL function \"" + f.Name + "\" during inlining"
		panic(failure{&c})
	}()
	bind()
}

// arguments casts the arguments of a call to the types of the inputs, defaults and the rest of VARIADIC included.
func (b *Binder) arguments(f *catalog.Function, res fn.Resolution, args []scalar.Expr, call *ast.Func) *inlined {
	pos := call.Pos
	in := &inlined{f: f, ret: res.Ret}
	ps := f.Inputs()
	n := len(ps)
	// With fewer arguments the array itself has its default.
	spread := res.Fn.Variadic && !call.Variadic && len(args) >= n
	for i, want := range res.Args {
		if spread && i == n-1 {
			break
		}
		k := i
		if res.Order != nil {
			k = res.Order[i]
		}
		if k < 0 {
			in.args = append(in.args, b.defaultArg(f, ps[i], want, pos))
		} else {
			in.args = append(in.args, b.arg(args[k], want))
		}
		in.types = append(in.types, want)
	}
	if spread {
		elem := res.Args[n-1]
		t := types.ArrayOf(elem.Kind)
		rest := &scalar.MakeArray{Node: scalar.Node{T: t, Pos: pos}}
		for i := n - 1; i < len(args); i++ {
			rest.Elems = append(rest.Elems, b.arg(args[i], elem))
		}
		in.args, in.types = append(in.args, rest), append(in.types, t)
	}
	in.uses = make([]int, len(in.args))
	return in
}

// defaultArg is the default value of a parameter.
func (b *Binder) defaultArg(f *catalog.Function, p catalog.Param, want types.Type, pos int) (x scalar.Expr) {
	inBody(f, pos, func() {
		e, err := b.cfg.ParseExpr(p.Default)
		check(err, pos)
		s := &scope{noColumns: "cannot use column references in parameter default value", q: &queryState{clause: "DEFAULT expressions"}}
		x = b.assign(b.expr(s, e), want, func(from types.Type) error {
			return sqlerr.New(sqlerr.DatatypeMismatch, pos, "argument of DEFAULT must be type %s, not type %s", want, from)
		})
	})
	return x
}

// parameter gives the value of a parameter of the function whose body is bound, nil if it has none of the name.
func (b *Binder) parameter(s *scope, fname, name string) scalar.Expr {
	if s.inlined == nil || fname != "" && fname != s.inlined.f.Name {
		return nil
	}
	for i, p := range s.inlined.f.Inputs() {
		if p.Name == name && name != "" {
			return s.inlined.use(i)
		}
	}
	return nil
}

// use gives argument i.
func (in *inlined) use(i int) scalar.Expr {
	in.uses[i]++
	return in.args[i]
}

// numbered gives the argument $n.
func (in *inlined) numbered(e *ast.Param) scalar.Expr {
	if e.N < 1 || e.N > len(in.args) {
		fail(sqlerr.UndefinedParameter, e.Pos, "there is no parameter $%d", e.N)
	}
	return in.use(e.N - 1)
}

// nulls are the conditions under which a strict function is NULL.
func (in *inlined) nulls(pos int) []scalar.Expr {
	var out []scalar.Expr
	if in.f.Strict {
		for _, a := range in.args {
			if c, ok := a.(*scalar.Const); !ok || !c.Val.Valid {
				out = append(out, &scalar.IsNull{Node: node(types.Bool, pos), X: a})
			}
		}
	}
	return out
}

// inline replaces a call of f, which gives one value, by its body.
func (b *Binder) inline(s *scope, f *catalog.Function, in *inlined, pos int) (out scalar.Expr) {
	leave := b.enter(f, in, pos)
	var single bool
	inBody(f, pos, func() {
		q, err := b.cfg.ParseQuery(f.Body)
		check(err, pos)
		out, single = b.inlineExpr(in, q)
		if !single {
			if s.q != nil && s.q.noSubquery != "" {
				fail(sqlerr.FeatureNotSupported, pos, "%s", s.q.noSubquery)
			}
			out = b.inlineQuery(in, q, pos)
		}
	})
	leave()
	for i, a := range in.args {
		if (in.uses[i] != 1 || !single) && volatileExpr(a) {
			unsupported(a.Position(), "a volatile argument of function "+f.Signature()+", whose body does not use it exactly once,")
		}
	}
	b.spend(in, pos)
	nulls := in.nulls(pos)
	if len(nulls) == 0 {
		return out
	}
	null := nulls[0]
	if len(nulls) > 1 {
		null = &scalar.Or{Node: node(types.Bool, pos), Args: nulls}
	}
	return &scalar.Case{Node: scalar.Node{T: out.Type(), Pos: pos},
		Whens: []scalar.When{{Cond: null, Result: logical.NullConst(out.Type())}}, Else: out}
}

// spend counts how much a statement grows because a body has an argument more than once.
func (b *Binder) spend(in *inlined, pos int) {
	for i, a := range in.args {
		if in.uses[i] < 2 {
			continue
		}
		size := 0
		logical.WalkExpr(a, func(scalar.Expr) bool { size++; return size <= maxCopied })
		if b.copied += size * (in.uses[i] - 1); b.copied > maxCopied {
			raise(sqlerr.New(sqlerr.StatementTooComplex, pos, "stack depth limit exceeded").
				WithHint("The arguments of functions in SQL are too large for how often the functions use them."))
		}
	}
}

// inlineExpr binds a body that is SELECT expression; false: it is another.
func (b *Binder) inlineExpr(in *inlined, q *ast.Select) (scalar.Expr, bool) {
	c, ok := q.Body.(*ast.SelectCore)
	if !ok || q.With != nil || len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil || len(c.Targets) != 1 || len(c.From) > 0 ||
		c.Where != nil || len(c.GroupBy) > 0 || c.Having != nil || c.Distinct {
		return nil, false
	}
	if _, star := c.Targets[0].Expr.(*ast.Star); star || in.ret.Kind == types.Record {
		return nil, false
	}
	s := &scope{inlined: in, q: &queryState{target: true, named: c.Windows}}
	x := b.expr(s, c.Targets[0].Expr)
	if len(s.q.aggs)+len(s.q.windows)+len(s.q.srfs)+len(s.q.groupings) > 0 {
		return nil, false
	}
	return b.toResult(in, x, in.ret), true
}

// toResult casts a column of the body to the type that the function declares.
func (b *Binder) toResult(in *inlined, x scalar.Expr, want types.Type) scalar.Expr {
	return b.assign(x, want, func(from types.Type) error { return returnMismatch(in, from, want, 0) })
}

func returnMismatch(in *inlined, from, want types.Type, col int) error {
	e := sqlerr.New(sqlerr.InvalidFunctionDefinition, sqlerr.NoPos, "return type mismatch in function declared to return %s", resultName(in))
	if in.ret.Kind != types.Record {
		return e.WithDetail("Actual return type is %s.", from)
	}
	return e.WithDetail("Final statement returns %s instead of %s at column %d.", from, want, col+1)
}

func resultName(in *inlined) string {
	if in.ret.Kind == types.Record {
		return "record"
	}
	return in.ret.String()
}

// inlineRows binds a body as a query whose columns have the types that the function declares.
func (b *Binder) inlineRows(in *inlined, q *ast.Select) *Query {
	s := &scope{inlined: in, q: &queryState{}}
	sub := b.query(s, q)
	want := []types.Type{in.ret}
	if in.ret.Kind == types.Record {
		want = nil
		for _, o := range in.f.Outputs() {
			want = append(want, in.concrete(o.Type))
		}
	}
	if len(sub.Cols) != len(want) {
		e := sqlerr.New(sqlerr.InvalidFunctionDefinition, sqlerr.NoPos, "return type mismatch in function declared to return %s", resultName(in))
		switch {
		case in.ret.Kind != types.Record:
			e = e.WithDetail("Final statement must return exactly one column.")
		case len(sub.Cols) > len(want):
			e = e.WithDetail("Final statement returns too many columns.")
		default:
			e = e.WithDetail("Final statement returns too few columns.")
		}
		raise(e)
	}
	for i, c := range sub.Cols {
		if b.Meta.Type(c.ID).Kind == types.Unknown {
			sub.Node = b.retype(sub.Node, c.ID, want[i].WithoutMod())
		}
	}
	p := &logical.Project{In: sub.Node}
	for _, id := range sub.Node.Cols() {
		p.Exprs = append(p.Exprs, logical.ProjCol{ID: id, Expr: b.Meta.Ref(id)})
	}
	changed := false
	for i, c := range sub.Cols {
		t := b.Meta.Type(c.ID)
		if t == want[i] {
			continue
		}
		x := b.assign(b.Meta.Ref(c.ID), want[i], func(from types.Type) error { return returnMismatch(in, from, want[i], i) })
		id := b.Meta.New(c.Name, want[i])
		p.Exprs = append(p.Exprs, logical.ProjCol{ID: id, Expr: x})
		sub.Cols[i].ID = id
		changed = true
	}
	if changed {
		sub.Node = p
	}
	return sub
}

// concrete resolves a polymorphic type of the result by those of the arguments.
func (in *inlined) concrete(t types.Type) types.Type {
	if t.Kind != types.AnyElement && t.Kind != types.AnyArray {
		return t
	}
	for i, p := range in.f.Inputs() {
		elem := in.types[i]
		switch p.Type.Kind {
		case types.AnyArray:
			elem = types.T(elem.Elem)
		case types.AnyElement:
		default:
			continue
		}
		if t.Kind == types.AnyArray {
			return types.ArrayOf(elem.Kind)
		}
		return elem
	}
	return t
}

// inlineQuery binds a body of any kind as the value of its first row.
func (b *Binder) inlineQuery(in *inlined, q *ast.Select, pos int) scalar.Expr {
	sub := b.inlineRows(in, q)
	n := b.firstRow(sub)
	if in.ret.Kind != types.Record {
		id := sub.Cols[0].ID
		return &logical.Subquery{Node: scalar.Node{T: b.Meta.Type(id), Pos: pos}, Kind: logical.SubScalar, Plan: n, Col: id}
	}
	row := &scalar.MakeRow{Node: node(types.Record, pos), Names: []string{}}
	for i, o := range in.f.Outputs() {
		row.Elems = append(row.Elems, b.Meta.Ref(sub.Cols[i].ID))
		row.Names = append(row.Names, o.Name)
	}
	id := b.Meta.New(in.f.Name, types.T(types.Record))
	p := &logical.Project{In: n, Exprs: []logical.ProjCol{{ID: id, Expr: row}}}
	return &logical.Subquery{Node: node(types.Record, pos), Kind: logical.SubScalar, Plan: p, Col: id}
}

// firstRow cuts a query to the row that a function gives which is not declared to return a set.
func (b *Binder) firstRow(sub *Query) logical.Node {
	switch n := sub.Node.(type) {
	case *logical.TopN:
		if c, ok := n.Limit.(*scalar.Const); ok && len(n.GroupBy) == 0 && c.Val.Valid && c.Val.I <= 1 && !n.WithTies {
			return n
		}
	}
	return &logical.TopN{In: sub.Node, Order: sub.Order, Limits: logical.Limits{Limit: intConst(1)}}
}

// resolveCall resolves a call to a function in SQL; nil: it means another function.
func (b *Binder) resolveCall(f *ast.Func, over []overload, args []scalar.Expr, opt fn.CallOptions) (*catalog.Function, fn.Resolution, error) {
	name := f.Name.Parts[len(f.Name.Parts)-1]
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	for _, o := range over {
		opt.More = append(opt.More, o.fn)
	}
	if len(f.Name.Parts) > 1 {
		opt.Only = true
		name = dotted(f.Name.Parts[len(f.Name.Parts)-2:])
	}
	res, err := b.cfg.Registry.ResolveFunc(name, ts, opt)
	if err != nil {
		return nil, res, err
	}
	for _, o := range over {
		if o.fn == res.Fn {
			return o.f, res, nil
		}
	}
	return nil, res, nil
}

// plainCall refuses what only calls of aggregates and window functions may have.
func plainCall(f *ast.Func) {
	name := f.Name.Parts[len(f.Name.Parts)-1]
	switch {
	case f.Over != nil:
		fail(sqlerr.WrongObjectType, f.Pos, "OVER specified, but %s is not a window function nor an aggregate function", name)
	case f.Distinct:
		fail(sqlerr.WrongObjectType, f.Pos, "DISTINCT specified, but %s is not an aggregate function", name)
	case f.WithinGroup != nil:
		fail(sqlerr.WrongObjectType, f.Pos, "WITHIN GROUP specified, but %s is not an aggregate function", name)
	case f.OrderBy != nil:
		fail(sqlerr.WrongObjectType, f.Pos, "ORDER BY specified, but %s is not an aggregate function", name)
	case f.Filter != nil:
		fail(sqlerr.WrongObjectType, f.Pos, "FILTER specified, but %s is not an aggregate function", name)
	}
}

// sqlCall binds a call of a function in SQL in an expression.
func (b *Binder) sqlCall(s *scope, f *ast.Func, u *catalog.Function, res fn.Resolution, args []scalar.Expr) scalar.Expr {
	plainCall(f)
	in := b.arguments(u, res, args, f)
	if u.SetOf {
		if !s.q.target {
			b.selectSRF(s, &scalar.Call{Node: scalar.Node{T: res.Ret, Pos: f.Pos}, Fn: res.Fn}, u.Name) // raises why not
		}
		unsupported(f.Pos, "the set-returning function "+u.Signature()+" in a select list")
	}
	return b.inline(s, u, in, f.Pos)
}

// hasColumns tells whether the result of f is a set, or its columns are declared.
func hasColumns(f *catalog.Function) bool { return f.SetOf || len(f.Outputs()) > 0 }

// sqlTable binds a call in FROM of a function in SQL whose result is a set or has declared columns; nil if it is no such call.
func (b *Binder) sqlTable(q, left *scope, t *ast.FuncTable) *fromItem {
	f := t.Funcs[0]
	over := b.functions(f.Name)
	if !slices.ContainsFunc(over, func(o overload) bool { return hasColumns(o.f) }) {
		return nil
	}
	s := &scope{parent: left, ctes: q.ctes, q: &queryState{clause: "functions in FROM"}}
	args := make([]scalar.Expr, len(f.Args))
	for i, a := range f.Args {
		if _, ok := a.(*ast.Star); ok {
			return nil
		}
		args[i] = b.expr(s, a)
	}
	u, res, err := b.resolveCall(f, over, args, callOptions(f))
	if err != nil || u == nil || !hasColumns(u) {
		return nil
	}
	plainCall(f)
	switch {
	case len(t.Funcs) > 1:
		unsupported(t.Pos, "the function "+u.Signature()+" in ROWS FROM")
	case t.Ordinality:
		unsupported(t.Pos, "the function "+u.Signature()+" WITH ORDINALITY")
	}
	in := b.arguments(u, res, args, f)
	leave := b.enter(u, in, f.Pos)
	var sub *Query
	inBody(u, f.Pos, func() {
		body, err := b.cfg.ParseQuery(u.Body)
		check(err, f.Pos)
		sub = b.inlineRows(in, body)
	})
	leave()
	for _, a := range in.args {
		if volatileExpr(a) {
			unsupported(a.Position(), "a volatile argument of function "+u.Signature()+" in FROM")
		}
	}
	n := sub.Node
	if !u.SetOf {
		n = b.firstRow(sub)
	}
	if nulls := in.nulls(f.Pos); len(nulls) > 0 {
		fl := &logical.Filter{In: n}
		for _, x := range nulls {
			c := *x.(*scalar.IsNull)
			c.Not = true
			fl.Preds = append(fl.Preds, &c)
		}
		n = fl
	}
	if !u.SetOf {
		n = &logical.Join{Kind: logical.Left, L: oneRow(), R: n}
	}
	r := &relItem{name: u.Name}
	outs := u.Outputs()
	for i, c := range sub.Cols {
		name := u.Name
		if i < len(outs) {
			name = outs[i].Name
		}
		if name == "" {
			name = u.Name
		}
		if len(outs) == 0 && t.Alias != nil && t.Alias.Name != "" {
			name = t.Alias.Name
		}
		r.cols = append(r.cols, scopeCol{name: name, id: c.ID})
	}
	if t.Alias != nil && len(t.Alias.Defs) > 0 {
		fail(sqlerr.SyntaxError, t.Alias.Defs[0].Pos, "a column definition list is redundant for a function with OUT parameters")
	}
	return b.single(q, n, r, t.Alias, "table")
}

// CheckFunction binds the body and the defaults of a new function, with values of the declared types for its parameters.
func (b *Binder) CheckFunction(f *catalog.Function) (err error) {
	defer catch(&err)
	in := &inlined{f: f, ret: f.Returns}
	for _, p := range f.Inputs() {
		in.args = append(in.args, b.Meta.Ref(b.Meta.New(p.Name, p.Type)))
		in.types = append(in.types, p.Type)
	}
	in.uses = make([]int, len(in.args))
	b.inlining, b.checking = append(b.inlining, in), f
	q, err := b.cfg.ParseQuery(f.Body)
	if err != nil {
		return err
	}
	if f.SearchPath != nil {
		b.cfg.SearchPath = f.SearchPath
	}
	b.inlineRows(in, q)
	if f.Relations, f.Calls = nil, nil; f.Form != "" {
		for _, r := range b.Relations() {
			if r.Kind != catalog.System {
				f.Relations = append(f.Relations, r.ID)
			}
		}
		f.Calls, _ = b.Functions()
	}
	return nil
}

// CheckDefault binds the default value of a parameter.
func (b *Binder) CheckDefault(e ast.Expr, want types.Type) (err error) {
	defer catch(&err)
	s := &scope{q: &queryState{clause: "DEFAULT expressions", noSubquery: "cannot use subquery in DEFAULT expression"}}
	x := b.expr(s, e)
	if want.Kind == types.AnyElement || want.Kind == types.AnyArray {
		return nil
	}
	b.assign(x, want, func(from types.Type) error {
		return sqlerr.New(sqlerr.DatatypeMismatch, e.Position(), "argument of DEFAULT must be type %s, not type %s", want, from)
	})
	return nil
}

// callOptions is how a call was written.
func callOptions(f *ast.Func) fn.CallOptions {
	opt := fn.CallOptions{Variadic: f.Variadic, Star: f.Star}
	if slices.ContainsFunc(f.ArgNames, func(n string) bool { return n != "" }) {
		opt.ArgNames = f.ArgNames
	}
	return opt
}

// qualifiedFunction tells whether a name has a schema that is not that of the functions that come with the server.
func qualifiedFunction(n ast.Name) bool {
	name := n.Parts[len(n.Parts)-1]
	return len(n.Parts) > 1 && n.Parts[len(n.Parts)-2] != functionSchema(name) && !strings.HasPrefix(n.Parts[len(n.Parts)-2], "pg_toast")
}

// outputField is f(...).name of a function in SQL with several columns, as a query; nil if f is none.
func (b *Binder) outputField(f *ast.Func, name string, pos int) ast.Expr {
	over := b.functions(f.Name)
	if !slices.ContainsFunc(over, func(o overload) bool { return o.f.Returns.Kind == types.Record && !o.f.SetOf }) {
		return nil
	}
	core := &ast.SelectCore{
		Targets: []ast.Target{{Expr: &ast.ColumnRef{P: ast.P{Pos: pos}, Parts: []string{name}}, Pos: pos}},
		From:    []ast.TableExpr{&ast.FuncTable{Funcs: []*ast.Func{f}, Alias: &ast.Alias{Name: f.Name.Parts[len(f.Name.Parts)-1]}, Pos: f.Pos}},
		Pos:     pos,
	}
	return &ast.Subquery{P: ast.P{Pos: pos}, Query: &ast.Select{Body: core, Pos: pos}}
}

// outputFields are the columns of (f(...)).* of a function in SQL; nil if f is none with several.
func (b *Binder) outputFields(f *ast.Func, pos int) []ast.Target {
	var ts []ast.Target
	for _, o := range b.functions(f.Name) {
		if o.f.Returns.Kind != types.Record || o.f.SetOf {
			continue
		}
		for _, c := range o.f.Outputs() {
			ts = append(ts, ast.Target{Expr: b.outputField(f, c.Name, pos), Alias: c.Name, Pos: pos})
		}
		return ts
	}
	return nil
}

// checkArgNames refuses an argument name that is used twice.
func checkArgNames(f *ast.Func) {
	for i, n := range f.ArgNames {
		if n != "" && slices.Contains(f.ArgNames[:i], n) {
			fail(sqlerr.SyntaxError, f.Args[i].Position(), "argument name \"%s\" used more than once", n)
		}
	}
}
