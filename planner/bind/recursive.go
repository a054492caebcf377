package bind

import (
	"reflect"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// WITH RECURSIVE, as PostgreSQL has it:
//
//  1. All names of the clause are visible in all of its items. The items are bound in an order in which each
//     comes after those that it reads; a circle of several items is refused.
//  2. An item that reads itself must be term UNION [ALL] term, and may do so once, in the second term, where
//     a row more of it can only mean rows more of the result.
//  3. The first term fixes the types of the columns. While the second one is bound, the item's name stands
//     for the rows of the round before (logical.Working).

// recContext says where in a recursive item a reference stands.
type recContext uint8

const (
	recOK recContext = iota
	recNonRecursive
	recSubquery
	recOuterJoin
	recIntersect
	recExcept
)

// recPlaces completes "recursive reference to query "x" must not appear within ...".
var recPlaces = [...]string{
	recNonRecursive: "its non-recursive term", recSubquery: "a subquery", recOuterJoin: "an outer join",
	recIntersect: "INTERSECT", recExcept: "EXCEPT",
}

// refWalker calls ref for every name in FROM that may be one of a WITH clause around it.
type refWalker struct {
	ref func(t *ast.TableRef, at recContext)
	// inner are the names of the WITH clauses on the way, which hide outer ones.
	inner []string
}

func (w *refWalker) query(q *ast.Select, at recContext) {
	mark := len(w.inner)
	if q.With != nil {
		if q.With.Recursive {
			for _, c := range q.With.CTEs {
				w.inner = append(w.inner, c.Name)
			}
		}
		for _, c := range q.With.CTEs {
			w.value(reflect.ValueOf(c.Query), at)
			if !q.With.Recursive {
				w.inner = append(w.inner, c.Name)
			}
		}
	}
	switch body := q.Body.(type) {
	case *ast.Select:
		w.query(body, at)
	case *ast.SetOp:
		l, r := at, at
		if at == recOK {
			switch {
			case body.Op == ast.Intersect && body.All:
				l, r = recIntersect, recIntersect
			case body.Op == ast.Except && body.All:
				l, r = recExcept, recExcept
			case body.Op == ast.Except:
				r = recExcept
			}
		}
		w.query(body.L, l)
		w.query(body.R, r)
	default:
		w.value(reflect.ValueOf(q.Body), at)
	}
	w.value(reflect.ValueOf(q.OrderBy), at)
	w.value(reflect.ValueOf(q.Limit), at)
	w.value(reflect.ValueOf(q.Offset), at)
	w.inner = w.inner[:mark]
}

// value walks any part of a tree.
func (w *refWalker) value(v reflect.Value, at recContext) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			w.value(v.Elem(), at)
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.value(v.Index(i), at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				w.value(v.Field(i), at)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && v.CanInterface() {
			w.pointer(v, at)
		}
	}
}

func (w *refWalker) pointer(v reflect.Value, at recContext) {
	switch x := v.Interface().(type) {
	case *ast.Select:
		w.query(x, at)
	case *ast.TableRef:
		if len(x.Name.Parts) == 1 && !slices.Contains(w.inner, x.Name.Parts[0]) {
			w.ref(x, at)
		}
	case *ast.Join:
		l, r := at, at
		if at == recOK {
			if x.Kind == ast.JoinRight || x.Kind == ast.JoinFull {
				l = recOuterJoin
			}
			if x.Kind == ast.JoinLeft || x.Kind == ast.JoinFull {
				r = recOuterJoin
			}
		}
		w.value(reflect.ValueOf(x.L), l)
		w.value(reflect.ValueOf(x.R), r)
		w.value(reflect.ValueOf(x.On), at)
	case ast.Expr:
		// A query in an expression is a subquery whatever is around it.
		e := v.Elem()
		if e.Kind() != reflect.Struct {
			return
		}
		for i := range e.NumField() {
			if q, ok := e.Field(i).Interface().(*ast.Select); ok && q != nil {
				w.query(q, recSubquery)
				continue
			}
			w.value(e.Field(i), at)
		}
	default:
		w.value(v.Elem(), at)
	}
}

// recursiveOrder sorts the items of WITH RECURSIVE so that each comes after those that it reads, and tells which
// read themselves.
func recursiveOrder(w *ast.With) (order []int, self []bool) {
	n := len(w.CTEs)
	reads := make([]map[int]bool, n)
	self = make([]bool, n)
	for i, c := range w.CTEs {
		reads[i] = map[int]bool{}
		walk := &refWalker{ref: func(t *ast.TableRef, _ recContext) {
			for k, o := range w.CTEs {
				if o.Name == t.Name.Parts[0] {
					if k == i {
						self[i] = true
					} else {
						reads[i][k] = true
					}
				}
			}
		}}
		walk.value(reflect.ValueOf(c.Query), recOK)
	}
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(i int) bool { return len(reads[i]) == 0 })
		if at < 0 {
			fail(sqlerr.FeatureNotSupported, w.CTEs[left[0]].Pos, "mutual recursion between WITH items is not implemented")
		}
		i := left[at]
		left = slices.Delete(left, at, at+1)
		order = append(order, i)
		for _, k := range left {
			delete(reads[k], i)
		}
	}
	return order, self
}

// checkRecursion is rule 2.
func checkRecursion(c *ast.CTE) {
	sel, ok := c.Query.(*ast.Select)
	if !ok {
		fail(sqlerr.InvalidRecursion, c.Pos, "recursive query \"%s\" must not contain data-modifying statements", c.Name)
	}
	sel = bare(sel)
	op, ok := sel.Body.(*ast.SetOp)
	if !ok || op.Op != ast.Union {
		fail(sqlerr.InvalidRecursion, c.Pos, "recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term", c.Name)
	}
	refs := 0
	walk := &refWalker{ref: func(t *ast.TableRef, at recContext) {
		if t.Name.Parts[0] != c.Name {
			return
		}
		if at != recOK {
			fail(sqlerr.InvalidRecursion, t.Name.Pos, "recursive reference to query \"%s\" must not appear within %s", c.Name, recPlaces[at])
		}
		if refs++; refs > 1 {
			fail(sqlerr.InvalidRecursion, t.Name.Pos, "recursive reference to query \"%s\" must not appear more than once", c.Name)
		}
	}}
	if sel.With != nil {
		for _, x := range sel.With.CTEs {
			walk.inner = append(walk.inner, x.Name)
		}
	}
	walk.query(op.L, recNonRecursive)
	walk.query(op.R, recOK)
	if sel.With != nil {
		walk.inner = nil
		for _, x := range sel.With.CTEs {
			walk.value(reflect.ValueOf(x.Query), recSubquery)
		}
	}
	switch {
	case len(sel.OrderBy) > 0:
		fail(sqlerr.FeatureNotSupported, leftmost(sel.OrderBy[0].Expr), "ORDER BY in a recursive query is not implemented")
	case sel.Offset != nil:
		fail(sqlerr.FeatureNotSupported, leftmost(sel.Offset), "OFFSET in a recursive query is not implemented")
	case sel.Limit != nil:
		fail(sqlerr.FeatureNotSupported, leftmost(sel.Limit), "LIMIT in a recursive query is not implemented")
	case sel.Locking:
		fail(sqlerr.FeatureNotSupported, sqlerr.NoPos, "FOR UPDATE/SHARE in a recursive query is not implemented")
	}
}

// bare takes off parentheses around a whole query.
func bare(q *ast.Select) *ast.Select {
	for {
		in, ok := q.Body.(*ast.Select)
		if !ok || q.With != nil || len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil || q.Locking {
			return q
		}
		q = in
	}
}

// working is what the name of a recursive item stands for while its second term is bound.
type working struct {
	id   int
	cols []OutCol
	all  bool
}

// recursive is rule 3.
func (b *Binder) recursive(c *cte) *Query {
	sel := bare(c.query)
	op := sel.Body.(*ast.SetOp)
	at := &scope{parent: c.at, q: &queryState{}}
	b.with(at, sel.With)
	l := b.query(at, op.L)
	b.resolveUnknown(l)
	w := &working{id: b.Meta.NewLoop(), all: op.All}
	for i, oc := range l.Cols {
		if i < len(c.columns) {
			oc.Name = c.columns[i]
		}
		w.cols = append(w.cols, oc)
	}
	c.working = w
	defer func() { c.working = nil }()
	r := b.query(at, op.R)
	if len(l.Cols) != len(r.Cols) {
		fail(sqlerr.SyntaxError, targetPos(op.R, 0), "each UNION query must have the same number of columns")
	}
	n := &logical.Recursive{
		ID: w.id, Name: c.name, All: op.All, Pos: c.pos,
		BaseMap: make([]logical.ColID, len(l.Cols)), StepMap: make([]logical.ColID, len(l.Cols)),
	}
	out := &Query{}
	ts := make([]types.Type, len(l.Cols))
	for i := range l.Cols {
		ts[i] = b.Meta.Type(l.Cols[i].ID)
		t, _, err := b.cfg.Registry.CommonType("UNION", []types.Type{ts[i], b.Meta.Type(r.Cols[i].ID)})
		if err != nil {
			check(err, targetPos(op.R, i))
		}
		if !op.All {
			b.needEquality(ts[i], targetPos(op.L, i))
		}
		if t != ts[i] {
			raise(sqlerr.New(sqlerr.DatatypeMismatch, targetPos(op.L, i),
				"recursive query \"%s\" column %d has type %s in non-recursive term but type %s overall", c.name, i+1, ts[i], t).
				WithHint("Cast the output of the non-recursive term to the correct type."))
		}
	}
	b.unify(l, ts, n.BaseMap)
	b.unify(r, ts, n.StepMap)
	for i, oc := range l.Cols {
		id := b.Meta.New(w.cols[i].Name, ts[i])
		n.Out = append(n.Out, id)
		out.Cols = append(out.Cols, OutCol{oc.Name, id})
	}
	n.Base, n.Step = l.Node, r.Node
	out.Node = n
	return out
}

// workingRef binds the recursive reference.
func (b *Binder) workingRef(q *scope, c *cte, alias *ast.Alias) *fromItem {
	n := &logical.Working{ID: c.working.id, Name: c.name, All: c.working.all}
	r := &relItem{name: c.name, relName: c.name}
	for _, oc := range c.working.cols {
		id := b.Meta.New(oc.Name, b.Meta.Type(oc.ID))
		n.Out = append(n.Out, id)
		r.cols = append(r.cols, scopeCol{name: oc.Name, id: id})
	}
	q.q.recursive = true
	return b.single(q, n, r, alias, "table")
}
