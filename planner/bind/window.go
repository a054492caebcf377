package bind

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// windowCall is a window function call.
type windowCall struct {
	id        logical.ColID
	fn        *fn.Func
	args      []scalar.Expr
	filter    scalar.Expr
	partition []scalar.Expr
	order     []orderExpr
	frame     logical.Frame
	// framed: a frame was written.
	framed bool
	pos    int
}

// windowPlace refuses window functions outside of the select list and ORDER BY.
func (b *Binder) windowPlace(s *scope, f *ast.Func) {
	if s.q.target {
		return
	}
	where := s.q.clause
	switch {
	case s.q.inWindow:
		where = "window definitions"
	case where == "":
		where = "HAVING"
	}
	fail(sqlerr.WindowingError, f.Pos, "window functions are not allowed in %s", where)
}

// window binds a call of a window function, or of an aggregate as one.
func (b *Binder) window(s *scope, f *ast.Func, name string, res fn.Resolution, args []scalar.Expr) scalar.Expr {
	aggregate := res.Fn.Kind == fn.Aggregate
	switch {
	case f.Distinct:
		fail(sqlerr.FeatureNotSupported, f.Pos, "DISTINCT is not implemented for window functions")
	case f.WithinGroup != nil && res.Fn.Direct < 0:
		fail(sqlerr.WrongObjectType, f.Pos, "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", name)
	case res.Fn.Direct >= 0:
		fail(sqlerr.FeatureNotSupported, f.Pos, "OVER is not supported for ordered-set aggregate %s", name)
	case len(f.OrderBy) > 0:
		fail(sqlerr.FeatureNotSupported, f.Pos, "aggregate ORDER BY is not implemented for window functions")
	case aggregate && len(args) == 0 && !f.Star:
		fail(sqlerr.WrongObjectType, f.Pos, "%s(*) must be used to call a parameterless aggregate function", name)
	case !aggregate && f.Filter != nil:
		fail(sqlerr.FeatureNotSupported, f.Pos, "FILTER is not implemented for non-aggregate window functions")
	}
	b.windowPlace(s, f)
	w := &windowCall{fn: res.Fn, args: args, pos: f.Pos}
	if f.Filter != nil {
		clause, target := s.q.clause, s.q.target
		s.q.clause, s.q.target = "FILTER", false
		w.filter = b.boolExpr(s, f.Filter, "FILTER")
		s.q.clause, s.q.target = clause, target
	}
	cols := logical.ColsOf(args...)
	for _, o := range s.q.windows {
		if cols.Has(o.id) {
			fail(sqlerr.WindowingError, o.pos, "window function calls cannot be nested")
		}
	}
	for _, o := range s.q.srfs {
		if slices.ContainsFunc(o.ids, cols.Has) {
			pos := f.Pos
			for _, a := range args {
				logical.WalkExpr(a, func(x scalar.Expr) bool {
					if c, ok := x.(*scalar.Column); ok && slices.Contains(o.ids, c.Index) {
						pos = c.Pos
					}
					return true
				})
			}
			raise(sqlerr.New(sqlerr.FeatureNotSupported, pos, "window function calls cannot contain set-returning function calls").
				WithHint("You might be able to move the set-returning function into a LATERAL FROM item."))
		}
	}
	if f.Over.Name != "" && !f.Over.Ref {
		b.windowDef(s, w, s.q.named[b.findWindow(s, f.Over, len(s.q.named))].Spec, len(s.q.named))
	} else {
		b.windowDef(s, w, *f.Over, len(s.q.named))
	}
	for _, o := range s.q.windows {
		if sameWindow(o, w) {
			return b.Meta.RefAt(o.id, f.Pos)
		}
	}
	w.id = b.Meta.New(name, res.Ret)
	s.q.windows = append(s.q.windows, w)
	return b.Meta.RefAt(w.id, f.Pos)
}

// sameWindow tells whether two calls have equal functions, arguments and definitions.
func sameWindow(a, b *windowCall) bool {
	if a.fn != b.fn || len(a.args) != len(b.args) || (a.filter == nil) != (b.filter == nil) || !sameDef(a, b) || !a.frame.Equal(b.frame) {
		return false
	}
	for i := range a.args {
		if !logical.Equal(a.args[i], b.args[i]) || volatileExpr(a.args[i]) {
			return false
		}
	}
	return a.filter == nil || logical.Equal(a.filter, b.filter)
}

func sameDef(a, b *windowCall) bool {
	if len(a.partition) != len(b.partition) || len(a.order) != len(b.order) {
		return false
	}
	for i := range a.partition {
		if !logical.Equal(a.partition[i], b.partition[i]) {
			return false
		}
	}
	for i := range a.order {
		if a.order[i].desc != b.order[i].desc || a.order[i].nullsFirst != b.order[i].nullsFirst || !logical.Equal(a.order[i].expr, b.order[i].expr) {
			return false
		}
	}
	return true
}

// findWindow finds a name among the first n items of the WINDOW clause.
func (b *Binder) findWindow(s *scope, w *ast.WindowSpec, n int) int {
	i := slices.IndexFunc(s.q.named[:n], func(d ast.NamedWindow) bool { return d.Name == w.Name })
	if i < 0 {
		fail(sqlerr.UndefinedObject, w.Pos, "window \"%s\" does not exist", w.Name)
	}
	return i
}

// namedWindows checks the WINDOW clause, also what nobody uses of it.
func (b *Binder) namedWindows(s *scope) {
	for i, d := range s.q.named {
		for _, o := range s.q.named[:i] {
			if o.Name == d.Name {
				fail(sqlerr.WindowingError, d.Spec.Pos, "window \"%s\" is already defined", d.Name)
			}
		}
		b.windowDef(s, &windowCall{}, d.Spec, i)
	}
}

// windowDef binds a definition, which may refine one of the first n items of the WINDOW clause.
func (b *Binder) windowDef(s *scope, w *windowCall, def ast.WindowSpec, n int) {
	target, inWindow := s.q.target, s.q.inWindow
	s.q.target, s.q.inWindow = false, true
	defer func() { s.q.target, s.q.inWindow = target, inWindow }()
	base := &windowCall{}
	if def.Ref {
		at := b.findWindow(s, &def, n)
		b.windowDef(s, base, s.q.named[at].Spec, at)
	}
	for _, o := range def.OrderBy {
		x := b.resolve(b.expr(s, o.Expr))
		b.needOrdering(x.Type(), leftmost(o.Expr))
		desc, nf := direction(o)
		w.order = append(w.order, orderExpr{x, desc, nf})
	}
	for _, e := range def.PartitionBy {
		x := b.resolve(b.expr(s, e))
		b.needEquality(x.Type(), leftmost(e))
		w.partition = append(w.partition, x)
	}
	if def.Ref {
		switch {
		case len(def.PartitionBy) > 0:
			fail(sqlerr.WindowingError, def.Pos, "cannot override PARTITION BY clause of window \"%s\"", def.Name)
		case len(def.OrderBy) > 0 && len(base.order) > 0:
			fail(sqlerr.WindowingError, def.Pos, "cannot override ORDER BY clause of window \"%s\"", def.Name)
		case base.framed:
			err := sqlerr.New(sqlerr.WindowingError, def.Pos, "cannot copy window \"%s\" because it has a frame clause", def.Name)
			if !s.isNamed(def) && len(def.OrderBy) == 0 && def.Frame == nil {
				err = err.WithHint("Omit the parentheses in this OVER clause.")
			}
			raise(err)
		}
		w.partition = base.partition
		if len(def.OrderBy) == 0 {
			w.order = base.order
		}
	}
	w.frame = logical.DefaultFrame()
	if def.Frame != nil {
		w.framed = true
		b.frame(s, w, def)
	}
}

// isNamed tells whether def is an item of the WINDOW clause.
func (s *scope) isNamed(def ast.WindowSpec) bool {
	return slices.ContainsFunc(s.q.named, func(d ast.NamedWindow) bool { return d.Spec.Pos == def.Pos })
}

// frame binds a frame clause.
func (b *Binder) frame(s *scope, w *windowCall, def ast.WindowSpec) {
	f := def.Frame
	w.frame = logical.Frame{
		Unit: logical.FrameUnit(f.Unit), Exclude: logical.FrameExclude(f.Exclude),
		Start: logical.FrameBound{Kind: logical.BoundKind(f.Start.Kind)}, End: logical.FrameBound{Kind: logical.BoundKind(f.End.Kind)},
	}
	if f.Unit == ast.FrameRange && (f.Start.Offset != nil || f.End.Offset != nil) && len(distinctOrder(w.order)) != 1 {
		fail(sqlerr.WindowingError, def.Pos, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
	}
	if f.Unit == ast.FrameGroups && len(w.order) == 0 {
		fail(sqlerr.WindowingError, def.Pos, "GROUPS mode requires an ORDER BY clause")
	}
	b.frameOffset(s, w, &w.frame.Start, f.Unit, f.Start.Offset)
	b.frameOffset(s, w, &w.frame.End, f.Unit, f.End.Offset)
}

func distinctOrder(os []orderExpr) []orderExpr {
	var out []orderExpr
	for _, o := range os {
		if !slices.ContainsFunc(out, func(p orderExpr) bool { return logical.Equal(o.expr, p.expr) }) {
			out = append(out, o)
		}
	}
	return out
}

// frameOffset binds the offset of a bound, which has no columns.
func (b *Binder) frameOffset(s *scope, w *windowCall, to *logical.FrameBound, unit ast.FrameUnit, e ast.Expr) {
	if e == nil {
		return
	}
	mode := [...]string{"ROWS", "RANGE", "GROUPS"}[unit]
	clause := s.q.clause
	s.q.clause = "window " + mode
	x := b.expr(s, e)
	s.q.clause = clause
	pos := leftmost(e)
	if unit == ast.FrameRange {
		x = b.rangeOffset(x, w.order[0].expr.Type(), pos)
	} else {
		x = b.assignWith(x, types.T(types.Int8), fn.Assignment, func(from types.Type) error {
			return sqlerr.New(sqlerr.DatatypeMismatch, pos, "argument of %s must be type bigint, not type %s", mode, from)
		})
	}
	logical.WalkExpr(x, func(y scalar.Expr) bool {
		if _, ok := y.(*logical.Subquery); ok {
			fail(sqlerr.FeatureNotSupported, pos, "a subquery in a window frame offset is not supported yet")
		}
		return true
	})
	if len(logical.ColsOf(x)) > 0 {
		fail(sqlerr.InvalidColumnReference, firstColumnPos(x), "argument of %s must not contain variables", mode)
	}
	to.Offset, to.Pos = x, pos
}

// rangeOffsets lists, for each type of an order column, the types that the offset of a RANGE frame may have.
var rangeOffsets = map[types.Kind][]types.Kind{
	types.Int2: {types.Int8, types.Int4, types.Int2}, types.Int4: {types.Int8, types.Int4, types.Int2}, types.Int8: {types.Int8},
	types.Float4: {types.Float8}, types.Float8: {types.Float8}, types.Numeric: {types.Numeric},
	types.Date: {types.Interval}, types.Timestamp: {types.Interval}, types.Timestamptz: {types.Interval},
	types.Time: {types.Interval}, types.Interval: {types.Interval},
}

// rangeOffset gives the offset of a RANGE frame over a column of type col one of the types that go with it.
func (b *Binder) rangeOffset(x scalar.Expr, col types.Type, pos int) scalar.Expr {
	col = col.WithoutMod()
	kinds := rangeOffsets[col.Kind]
	if kinds == nil {
		fail(sqlerr.FeatureNotSupported, pos, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", col)
	}
	have := x.Type().WithoutMod()
	prefer := have.Kind
	if prefer == types.Unknown {
		prefer = col.Kind
	}
	found, n := types.Unknown, 0
	for _, k := range kinds {
		if have.Kind != types.Unknown && have.Kind != k && !b.cfg.Registry.CanCast(have, types.T(k), fn.Implicit) {
			continue
		}
		n++
		if found != prefer {
			found = k
		}
	}
	switch {
	case n == 0:
		raise(sqlerr.New(sqlerr.FeatureNotSupported, pos, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s", col, have).
			WithHint("Cast the offset value to an appropriate type."))
	case n > 1 && found != prefer:
		raise(sqlerr.New(sqlerr.FeatureNotSupported, pos, "RANGE with offset PRECEDING/FOLLOWING has multiple interpretations for column type %s and offset type %s", col, have).
			WithHint("Cast the offset value to the exact intended type."))
	}
	return b.cast(x, types.T(found), fn.Implicit, x.Position())
}

// applyWindows computes the window functions: calls over the same partitions and order in one node.
func (b *Binder) applyWindows(s *scope, n logical.Node) logical.Node {
	done := make([]bool, len(s.q.windows))
	for i, w := range s.q.windows {
		if done[i] {
			continue
		}
		calls := []*windowCall{}
		for k := i; k < len(s.q.windows); k++ {
			o := s.q.windows[k]
			if !done[k] && (k == i || sameDef(w, o) && b.joined(w) == b.joined(o) && !b.joined(w)) {
				done[k] = true
				calls = append(calls, o)
			}
		}
		n = b.applyWindow(n, calls)
	}
	return n
}

func (b *Binder) applyWindow(n logical.Node, calls []*windowCall) logical.Node {
	have := logical.OutSet(n)
	pre := b.passAll(n)
	computed := false
	colOf := func(e scalar.Expr) logical.ColID {
		if c, ok := e.(*scalar.Column); ok && have.Has(c.Index) && c.T == b.Meta.Type(c.Index) {
			return c.Index
		}
		for _, p := range pre {
			if logical.Equal(p.Expr, e) && !volatileExpr(e) {
				return p.ID
			}
		}
		id := b.Meta.New(exprName(e), e.Type())
		pre = append(pre, logical.ProjCol{ID: id, Expr: e})
		computed = true
		return id
	}
	win := &logical.Window{}
	for _, e := range calls[0].partition {
		win.Partition = append(win.Partition, colOf(e))
	}
	win.Partition = dedupIDs(win.Partition)
	for _, o := range calls[0].order {
		win.Order = append(win.Order, logical.Order{Col: colOf(o.expr), Desc: o.desc, NullsFirst: o.nullsFirst})
	}
	win.Order = dedupOrder(win.Order)
	for _, w := range calls {
		c := logical.WindowCall{ID: w.id, Fn: w.fn, Frame: w.frame, Pos: w.pos}
		for i, e := range w.args {
			if parameter(w.fn.Name, i) && len(logical.ColsOf(e)) == 0 && !volatileExpr(e) && !logical.HasSubquery(e) {
				if c.Consts == nil {
					c.Consts = make([]scalar.Expr, len(w.args))
				}
				c.Args, c.Consts[i] = append(c.Args, 0), e
				continue
			}
			c.Args = append(c.Args, colOf(e))
		}
		if w.filter != nil {
			c.Filter = colOf(w.filter)
		}
		win.Calls = append(win.Calls, c)
	}
	win.In = n
	if computed {
		win.In = &logical.Project{In: n, Exprs: pre}
	}
	if b.joined(calls[0]) {
		return b.partitionAggregate(win)
	}
	return win
}

// joined tells whether w is an aggregate that is the same for all rows of a partition, in whatever order they come:
// it is computed once for each and joined.
func (b *Binder) joined(w *windowCall) bool {
	switch w.fn.Name {
	case "count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every":
	default:
		return false
	}
	whole := len(w.order) == 0 && w.frame.IsDefault()
	return w.fn.Kind == fn.Aggregate && whole
}

// partitionAggregate joins the rows with the aggregates of their partitions.
func (b *Binder) partitionAggregate(w *logical.Window) logical.Node {
	in, ren := logical.Renumber(b.Meta, w.In)
	c := w.Calls[0]
	call := logical.AggCol{ID: c.ID, Fn: c.Fn}
	for _, a := range c.Args {
		call.Args = append(call.Args, ren(a))
	}
	if c.Filter != 0 {
		call.Filter = ren(c.Filter)
	}
	agg := &logical.Agg{In: in, Aggs: []logical.AggCol{call}}
	join := &logical.Join{Kind: logical.Inner, L: w.In, R: agg}
	for _, k := range w.Partition {
		agg.Keys = append(agg.Keys, ren(k))
		join.On = append(join.On, logical.NotDistinct(b.Meta.Ref(k), b.Meta.Ref(ren(k))))
	}
	return join
}

// parameter tells whether argument i of a window function is a number or the like, rather than something of the row: if it
// is the same for all rows, it need not be kept with each.
func parameter(name string, i int) bool {
	switch name {
	case "lag", "lead", "nth_value":
		return i > 0
	case "ntile":
		return true
	}
	return false
}
