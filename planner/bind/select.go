package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// query binds a query whose outer query is parent. Its columns may still be of type Unknown.
func (b *Binder) query(parent *scope, q *ast.Select) *Query {
	notLocking(q)
	s := &scope{parent: parent, q: &queryState{}}
	b.with(s, q.With)
	if len(s.ctes) > 0 {
		s = &scope{parent: &scope{parent: parent, ctes: s.ctes, q: &queryState{}}, q: &queryState{}}
	}
	switch body := q.Body.(type) {
	case *ast.SelectCore:
		return b.core(s, body, q)
	case *ast.Values:
		out := b.values(s, body)
		return b.outerOrder(s, q, out)
	case *ast.SetOp:
		out := b.setOp(s, body)
		return b.outerOrder(s, q, out)
	case *ast.Select:
		out := b.query(s.parent, body)
		return b.outerOrder(s, q, out)
	}
	fail(sqlerr.InternalError, q.Pos, "unknown query body %T", q.Body)
	return nil
}

// target is a select list item.
type target struct {
	name string
	expr scalar.Expr
	id   logical.ColID
	pos  int
}

// core binds one SELECT with the ORDER BY and LIMIT around it.
func (b *Binder) core(s *scope, c *ast.SelectCore, q *ast.Select) *Query {
	s.q.named = c.Windows
	node := b.from(s, c.From)
	from := node

	// The order of the clauses is that of Postgres's analysis, so that of two mistakes the same one is
	// reported.
	s.q.target = true
	targets := b.targets(s, c.Targets)
	visible := len(targets)
	s.q.target = false

	if c.Where != nil {
		s.q.clause = "WHERE"
		node = &logical.Filter{In: node, Preds: logical.Conjuncts(b.boolExpr(s, c.Where, "WHERE"))}
		s.q.clause = ""
	}
	var having scalar.Expr
	if c.Having != nil {
		having = b.boolExpr(s, c.Having, "HAVING")
	}
	s.q.target = true
	order, targets := b.orderBy(s, q.OrderBy, targets, visible, c.Distinct && c.DistinctOn == nil)
	s.q.target = false
	sets, groupExprs := b.groupBy(s, c, targets[:visible])
	var on []int
	if c.DistinctOn != nil {
		s.q.target = true
		on, targets = b.distinctOn(s, c.DistinctOn, targets, visible, order)
		s.q.target = false
	}
	lim := b.limits(s, q)
	if max(len(targets), len(groupExprs)) > maxTargets {
		fail(sqlerr.TooManyColumns, sqlerr.NoPos, "target lists can have at most %d entries", maxTargets)
	}
	b.namedWindows(s)

	if s.q.recursive && len(s.q.aggs) > 0 {
		fail(sqlerr.InvalidRecursion, s.q.aggs[0].pos, "aggregate functions are not allowed in a recursive query's recursive term")
	}
	lockedFrom, locks := b.lockRows(s, c, q, from)
	switch f, ok := node.(*logical.Filter); {
	case node == from:
		node = lockedFrom
	case ok && f.In == from:
		node = &logical.Filter{In: lockedFrom, Preds: f.Preds}
	}
	grouped := len(c.GroupBy) > 0 || len(s.q.aggs) > 0 || having != nil || len(s.q.groupings) > 0
	var fields map[int][]int
	if !grouped && (!c.Distinct || c.DistinctOn != nil) {
		targets, fields = b.spread(s, targets, visible)
	}
	if grouped {
		node = b.group(s, node, sets, groupExprs, targets, &having)
		if having != nil {
			node = &logical.Filter{In: node, Preds: logical.Conjuncts(having)}
		}
	}
	node = b.applyWindows(s, node)
	node = b.applySRFs(s, node)
	node = b.project(node, targets)

	out := &Query{Node: node}
	for _, t := range targets[:visible] {
		out.Cols = append(out.Cols, OutCol{t.name, t.id})
	}
	for i, at := range fields {
		if out.fields == nil {
			out.fields = map[int][]OutCol{}
		}
		for _, k := range at {
			out.fields[i] = append(out.fields[i], OutCol{targets[k].name, targets[k].id})
		}
	}
	var ord []logical.Order
	for _, o := range order {
		ord = append(ord, logical.Order{Col: targets[o.target].id, Desc: o.desc, NullsFirst: o.nullsFirst})
	}
	out.Node = locked(b.Meta, out.Node, ord, locks)
	switch {
	case c.DistinctOn != nil:
		top := &logical.TopN{In: out.Node}
		group := logical.ColSet{}
		for _, i := range on {
			if !group.Has(targets[i].id) {
				group.Add(targets[i].id)
				top.GroupBy = append(top.GroupBy, targets[i].id)
			}
		}
		for _, o := range dedupOrder(ord) {
			if !group.Has(o.Col) {
				top.Order = append(top.Order, o)
			}
		}
		top.Limit = intConst(1)
		out.Node = top
	case c.Distinct:
		b.resolveUnknown(out)
		var keys []logical.ColID
		seen := logical.ColSet{}
		for _, t := range targets[:visible] {
			if !seen.Has(t.id) {
				seen.Add(t.id)
				keys = append(keys, t.id)
			}
		}
		for _, t := range targets[:visible] {
			b.needEquality(b.Meta.Type(t.id), t.pos)
		}
		if len(keys) == 0 {
			out.Node = &logical.TopN{In: out.Node, Limits: logical.Limits{Limit: intConst(1)}}
		} else {
			out.Node = &logical.Agg{In: out.Node, Keys: keys}
		}
	}
	return b.cut(out, ord, lim, q)
}

// cut applies LIMIT and OFFSET, or remembers the order.
func (b *Binder) cut(out *Query, ord []logical.Order, lim logical.Limits, q *ast.Select) *Query {
	ord = dedupOrder(ord)
	if lim.Limit == nil && lim.Offset == nil {
		out.Order = ord
		return out
	}
	out.Node = &logical.TopN{In: out.Node, Order: ord, Limits: lim}
	out.Order = ord
	return out
}

func dedupOrder(ord []logical.Order) []logical.Order {
	seen := logical.ColSet{}
	var out []logical.Order
	for _, o := range ord {
		if !seen.Has(o.Col) {
			seen.Add(o.Col)
			out = append(out, o)
		}
	}
	return out
}

func intConst(n int64) scalar.Expr {
	return &scalar.Const{Node: scalar.Node{T: types.T(types.Int8), Pos: -1}, Val: types.DInt(n)}
}

// maxTargets and maxArguments are PostgreSQL's limits: clients count on results that fit in its messages.
const (
	maxTargets   = 1664
	maxArguments = 100
)

// targets binds a select list.
func (b *Binder) targets(s *scope, ts []ast.Target) []target {
	var out []target
	for _, t := range ts {
		switch e := t.Expr.(type) {
		case *ast.Star:
			out = append(out, b.star(s, e)...)
			continue
		case *ast.Field:
			if e.Name == "*" {
				out = append(out, b.fields(s, e)...)
				continue
			}
		}
		x := b.expr(s, t.Expr)
		name := t.Alias
		if name == "" {
			name = b.columnName(t.Expr)
		}
		out = append(out, target{name: name, expr: x, pos: leftmost(t.Expr)})
	}
	return out
}

func (b *Binder) star(s *scope, e *ast.Star) []target {
	var cols []scopeCol
	if len(e.Parts) == 0 {
		if len(s.rels) == 0 {
			fail(sqlerr.SyntaxError, e.Pos, "SELECT * with no tables specified is not valid")
		}
		cols = s.cols
	} else {
		schema, rel := "", e.Parts[len(e.Parts)-1]
		if len(e.Parts) > 1 {
			schema = e.Parts[len(e.Parts)-2]
		}
		r := b.findRel(s, schema, rel, e.Pos)
		if r == nil {
			raise(missingRel(s, schema, rel, e.Pos))
		}
		cols = r.cols
	}
	var out []target
	for _, c := range cols {
		if !c.hidden {
			b.useColumn(c.id, 0, 0)
			out = append(out, target{name: c.name, expr: b.Meta.RefAt(c.id, e.Pos), pos: e.Pos})
		}
	}
	return out
}

// project computes the targets and gives them their columns.
func (b *Binder) project(node logical.Node, targets []target) logical.Node {
	have := logical.OutSet(node)
	var es []logical.ProjCol
	seen := logical.ColSet{}
	for i := range targets {
		t := &targets[i]
		if c, ok := t.expr.(*scalar.Column); ok && have.Has(c.Index) && c.T == b.Meta.Type(c.Index) {
			t.id = c.Index
			if !seen.Has(t.id) {
				seen.Add(t.id)
				es = append(es, logical.ProjCol{ID: t.id, Expr: b.Meta.Ref(t.id)})
			}
			continue
		}
		found := false
		for k := range targets[:i] {
			if logical.Equal(targets[k].expr, t.expr) && !volatileExpr(t.expr) && t.expr.Type().Kind != types.Unknown {
				t.id, found = targets[k].id, true
				break
			}
		}
		if found {
			continue
		}
		t.id = b.Meta.New(t.name, t.expr.Type())
		es = append(es, logical.ProjCol{ID: t.id, Expr: t.expr})
	}
	return &logical.Project{In: node, Exprs: es}
}

func volatileExpr(e scalar.Expr) bool {
	v := false
	logical.WalkExpr(e, func(x scalar.Expr) bool {
		if c, ok := x.(*scalar.Call); ok && c.Fn.Volatility == fn.Volatile {
			v = true
		}
		return !v
	})
	return v
}

// orderItem is an ORDER BY item: a target and a direction.
type orderItem struct {
	target     int
	desc       bool
	nullsFirst bool
}

// direction reads ASC, DESC, USING and NULLS.
func direction(o ast.OrderItem) (desc, nullsFirst bool) {
	desc = o.Desc
	switch o.Using {
	case "", "<":
	case ">":
		desc = true
	default:
		raise(sqlerr.New(sqlerr.WrongObjectType, o.Pos, "operator %s is not a valid ordering operator", o.Using).
			WithHint("Ordering operators must be \"<\" or \">\" members of btree operator families."))
	}
	nullsFirst = desc
	switch o.Nulls {
	case ast.NullsFirst:
		nullsFirst = true
	case ast.NullsLast:
		nullsFirst = false
	}
	return desc, nullsFirst
}

func (b *Binder) orderBy(s *scope, items []ast.OrderItem, targets []target, visible int, distinct bool) ([]orderItem, []target) {
	var out []orderItem
	for _, it := range items {
		i, found := b.findTarget(s, it.Expr, targets[:visible], "ORDER BY", true)
		if !found {
			targets, i = b.addTarget(s, it.Expr, targets)
			if distinct && i >= visible {
				fail(sqlerr.InvalidColumnReference, leftmost(it.Expr), "for SELECT DISTINCT, ORDER BY expressions must appear in select list")
			}
		}
		if targets[i].expr.Type().Kind == types.Unknown {
			targets[i].expr = b.resolve(targets[i].expr)
		}
		b.needOrdering(targets[i].expr.Type(), leftmost(it.Expr))
		desc, nf := direction(it)
		out = append(out, orderItem{i, desc, nf})
	}
	return out, targets
}

// addTarget binds an expression that is no target yet, or finds the equal one.
func (b *Binder) addTarget(s *scope, e ast.Expr, targets []target) ([]target, int) {
	x := b.expr(s, e)
	for i := range targets {
		if logical.Equal(targets[i].expr, x) {
			return targets, i
		}
	}
	return append(targets, target{name: b.columnName(e), expr: x, pos: leftmost(e)}), len(targets)
}

// findTarget resolves positions and output names. namesFirst: an output name beats a column of
// FROM (ORDER BY); else it is the other way round (GROUP BY).
func (b *Binder) findTarget(s *scope, e ast.Expr, targets []target, clause string, namesFirst bool) (int, bool) {
	switch e := e.(type) {
	case *ast.IntLit:
		if e.Value < 1 || e.Value > int64(len(targets)) {
			fail(sqlerr.InvalidColumnReference, e.Pos, "%s position %d is not in select list", clause, e.Value)
		}
		return int(e.Value) - 1, true
	case *ast.NumLit, *ast.StrLit, *ast.BitLit, *ast.NullLit:
		fail(sqlerr.SyntaxError, e.Position(), "non-integer constant in %s", clause)
	case *ast.ColumnRef:
		if len(e.Parts) != 1 {
			return 0, false
		}
		if !namesFirst {
			for _, c := range s.cols {
				if c.name == e.Parts[0] {
					return 0, false
				}
			}
		}
		at := -1
		for i, t := range targets {
			if t.name != e.Parts[0] {
				continue
			}
			if at >= 0 && !logical.Equal(targets[at].expr, t.expr) {
				fail(sqlerr.AmbiguousColumn, e.Pos, "%s \"%s\" is ambiguous", clause, e.Parts[0])
			}
			if at < 0 {
				at = i
			}
		}
		return max(at, 0), at >= 0
	}
	return 0, false
}

func (b *Binder) distinctOn(s *scope, exprs []ast.Expr, targets []target, visible int, order []orderItem) ([]int, []target) {
	var on []int
	for _, e := range exprs {
		i, found := b.findTarget(s, e, targets[:visible], "DISTINCT ON", true)
		if !found {
			targets, i = b.addTarget(s, e, targets)
		}
		if targets[i].expr.Type().Kind == types.Unknown {
			targets[i].expr = b.resolve(targets[i].expr)
		}
		on = append(on, i)
	}
	// The leading ORDER BY items must be DISTINCT ON expressions.
	in := func(t int) bool {
		for _, i := range on {
			if i == t {
				return true
			}
		}
		return false
	}
	skipped := false
	covered := map[int]bool{}
	for _, o := range order {
		switch {
		case in(o.target):
			if skipped {
				fail(sqlerr.InvalidColumnReference, targets[o.target].pos, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions")
			}
			covered[o.target] = true
		default:
			skipped = true
		}
	}
	if skipped {
		for k, i := range on {
			if !covered[i] {
				fail(sqlerr.InvalidColumnReference, leftmost(exprs[k]), "SELECT DISTINCT ON expressions must match initial ORDER BY expressions")
			}
		}
	}
	return on, targets
}

// limits binds LIMIT, OFFSET and WITH TIES.
func (b *Binder) limits(s *scope, q *ast.Select) logical.Limits {
	var l logical.Limits
	bind := func(e ast.Expr, clause string) scalar.Expr {
		if e == nil {
			return nil
		}
		old := s.q.clause
		s.q.clause = clause
		x := b.expr(s, e)
		s.q.clause = old
		x = b.assignWith(x, types.T(types.Int8), fn.Assignment, func(from types.Type) error {
			return sqlerr.New(sqlerr.DatatypeMismatch, leftmost(e), "argument of %s must be type bigint, not type %s", clause, from)
		})
		logical.WalkExpr(x, func(y scalar.Expr) bool {
			if _, ok := y.(*logical.Subquery); ok {
				fail(sqlerr.FeatureNotSupported, leftmost(e), "a subquery in %s is not supported yet", clause)
			}
			return true
		})
		for c := range logical.ColsOf(x) {
			if c != 0 {
				fail(sqlerr.InvalidColumnReference, firstColumnPos(x), "argument of %s must not contain variables", clause)
			}
		}
		if c, ok := x.(*scalar.Const); ok {
			if !c.Val.Valid {
				return nil
			}
			if c.Val.I < 0 {
				if clause == "LIMIT" {
					fail(sqlerr.InvalidRowCountInLimit, sqlerr.NoPos, "LIMIT must not be negative")
				}
				fail(sqlerr.InvalidRowCountInOffset, sqlerr.NoPos, "OFFSET must not be negative")
			}
			if c.Val.I == 0 && clause == "OFFSET" {
				return nil
			}
		}
		return x
	}
	l.Offset = bind(q.Offset, "OFFSET")
	l.Limit = bind(q.Limit, "LIMIT")
	if q.WithTies {
		if len(q.OrderBy) == 0 {
			fail(sqlerr.SyntaxError, q.Pos, "WITH TIES cannot be specified without ORDER BY clause")
		}
		l.WithTies = true
	}
	return l
}

// outerOrder applies ORDER BY and LIMIT around a VALUES, set operation or nested query.
func (b *Binder) outerOrder(s *scope, q *ast.Select, out *Query) *Query {
	if len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil {
		return out
	}
	if _, nested := q.Body.(*ast.Select); nested && len(q.OrderBy) == 0 {
		// (query ORDER BY ...) LIMIT n cuts in the inner order.
		return b.cut(out, out.Order, b.limits(s, q), q)
	}
	b.resolveUnknown(out)
	var targets []target
	for _, c := range out.Cols {
		targets = append(targets, target{name: c.Name, expr: b.Meta.Ref(c.ID), id: c.ID})
	}
	var ord []logical.Order
	for _, it := range q.OrderBy {
		i, found := b.findTarget(s, it.Expr, targets, "ORDER BY", true)
		if !found {
			if ref, ok := it.Expr.(*ast.ColumnRef); ok && len(ref.Parts) == 1 {
				fail(sqlerr.UndefinedColumn, ref.Pos, "column \"%s\" does not exist", ref.Parts[0])
			}
			raise(sqlerr.New(sqlerr.FeatureNotSupported, leftmost(it.Expr), "invalid UNION/INTERSECT/EXCEPT ORDER BY clause").
				WithDetail("Only result column names can be used, not expressions or functions.").
				WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause."))
		}
		b.needOrdering(b.Meta.Type(targets[i].id), leftmost(it.Expr))
		desc, nf := direction(it)
		ord = append(ord, logical.Order{Col: targets[i].id, Desc: desc, NullsFirst: nf})
	}
	return b.cut(out, ord, b.limits(s, q), q)
}
