package bind

import (
	"reflect"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// WITH RECURSIVE, as PostgreSQL has it:
//
//  1. All names of the clause are visible in all of its items. The items are bound in an order in which each
//     comes after those that it reads; items that read each other are bound together (mutual.go).
//  2. An item that reads itself must be term UNION [ALL] term, and may do so in the second term, where
//     a row more of it can only mean rows more of the result. PostgreSQL allows that once. Here the second term may be
//     several, without parentheses also, each with a reference; and with UNION a term may have several, which
//     stand for all rows so far.
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

// recursiveOrder sorts the items of WITH RECURSIVE so that each comes after those that it reads, those that read each other
// together, and tells which read themselves.
func recursiveOrder(w *ast.With) (order [][]int, self []bool) {
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
		var next []int
		if at := slices.IndexFunc(left, func(i int) bool { return len(reads[i]) == 0 }); at >= 0 {
			next = []int{left[at]}
		} else {
			// Among the circles there is one that reads nothing else: that of an item that reads the fewest.
			for _, i := range left {
				if set := reachable(reads, i); next == nil || len(set) < len(next) {
					next = set
				}
			}
		}
		order = append(order, next)
		left = slices.DeleteFunc(left, func(i int) bool { return slices.Contains(next, i) })
		for _, k := range left {
			for _, i := range next {
				delete(reads[k], i)
			}
		}
	}
	return order, self
}

// reachable lists what item i reads, and what that reads, in order.
func reachable(reads []map[int]bool, i int) []int {
	seen := make([]bool, len(reads))
	var visit func(i int)
	visit = func(i int) {
		for k := range reads {
			if reads[i][k] && !seen[k] {
				seen[k] = true
				visit(k)
			}
		}
	}
	visit(i)
	var set []int
	for k, ok := range seen {
		if ok {
			set = append(set, k)
		}
	}
	return set
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
	op = terms(named(c.Name), op)
	refs := 0
	walk := &refWalker{ref: func(t *ast.TableRef, at recContext) {
		if t.Name.Parts[0] != c.Name {
			return
		}
		if at != recOK {
			fail(sqlerr.InvalidRecursion, t.Name.Pos, "recursive reference to query \"%s\" must not appear within %s", c.Name, recPlaces[at])
		}
		if refs++; refs > 1 && op.All {
			fail(sqlerr.InvalidRecursion, t.Name.Pos, "recursive reference to query \"%s\" must not appear more than once", c.Name)
		}
	}}
	if sel.With != nil {
		for _, x := range sel.With.CTEs {
			walk.inner = append(walk.inner, x.Name)
		}
	}
	walk.query(op.L, recNonRecursive)
	branches(op.R, func(q *ast.Select) {
		refs = 0
		walk.query(q, recOK)
	})
	if sel.With != nil {
		walk.inner = nil
		for _, x := range sel.With.CTEs {
			walk.value(reflect.ValueOf(x.Query), recSubquery)
		}
	}
	checkClauses(sel)
}

// checkClauses refuses clauses behind a recursive UNION.
func checkClauses(sel *ast.Select) {
	switch {
	case len(sel.OrderBy) > 0:
		fail(sqlerr.FeatureNotSupported, leftmost(sel.OrderBy[0].Expr), "ORDER BY in a recursive query is not implemented")
	case sel.Offset != nil:
		fail(sqlerr.FeatureNotSupported, leftmost(sel.Offset), "OFFSET in a recursive query is not implemented")
	case sel.Limit != nil:
		fail(sqlerr.FeatureNotSupported, leftmost(sel.Limit), "LIMIT in a recursive query is not implemented")
	case len(sel.Locking) > 0:
		fail(sqlerr.FeatureNotSupported, sqlerr.NoPos, "FOR UPDATE/SHARE in a recursive query is not implemented")
	}
}

// terms moves the recursive terms of term UNION term UNION term, which is (term UNION term) UNION term, to the right side.
func terms(is func(string) bool, op *ast.SetOp) *ast.SetOp {
	for {
		l := bare(op.L)
		in, ok := l.Body.(*ast.SetOp)
		if !ok || in.Op != ast.Union || in.All != op.All || l.With != nil || len(l.OrderBy) > 0 || l.Limit != nil || l.Offset != nil || len(l.Locking) > 0 ||
			len(references(is, in.R)) == 0 || len(references(is, op.R)) == 0 {
			return op
		}
		right := &ast.SetOp{Op: ast.Union, All: op.All, L: in.R, R: op.R, Pos: op.Pos}
		op = &ast.SetOp{Op: ast.Union, All: op.All, L: in.L, R: &ast.Select{Body: right, Pos: in.R.Pos}, Pos: in.Pos}
	}
}

// references lists the references in q to items whose names it is.
func references(is func(string) bool, q *ast.Select) (refs []*ast.TableRef) {
	walk := &refWalker{ref: func(t *ast.TableRef, _ recContext) {
		if is(t.Name.Parts[0]) {
			refs = append(refs, t)
		}
	}}
	walk.query(q, recOK)
	return refs
}

func named(name string) func(string) bool { return func(n string) bool { return n == name } }

// branches calls f for the terms of a UNION ALL.
func branches(q *ast.Select, f func(*ast.Select)) {
	in := bare(q)
	if op, ok := in.Body.(*ast.SetOp); ok && op.Op == ast.Union && op.All && in.With == nil && len(in.OrderBy) == 0 && in.Limit == nil && in.Offset == nil {
		branches(op.L, f)
		branches(op.R, f)
		return
	}
	f(q)
}

// bare takes off parentheses around a whole query.
func bare(q *ast.Select) *ast.Select {
	for {
		in, ok := q.Body.(*ast.Select)
		if !ok || q.With != nil || len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil || len(q.Locking) > 0 {
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
	// group, of an item that reads others which read it, and the item's number there.
	group *mutual
	item  int
}

// recursive is rule 3.
func (b *Binder) recursive(c *cte) *Query {
	sel := bare(c.query)
	op := terms(named(c.name), sel.Body.(*ast.SetOp))
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
	lc, rc := b.sameTypes(c, op.L, op.R, l, r, op.All)
	n := &logical.Recursive{
		ID: w.id, Name: c.name, All: op.All, Pos: c.pos,
		BaseMap: lc, StepMap: rc, Base: l.Node, Step: r.Node,
	}
	if refs := references(named(c.name), op.R); len(refs) > 1 {
		n.Multi, n.MultiPos = true, refs[1].Name.Pos
	}
	out := &Query{}
	for i, oc := range l.Cols {
		id := b.Meta.New(w.cols[i].Name, b.Meta.Type(lc[i]))
		n.Out = append(n.Out, id)
		out.Cols = append(out.Cols, OutCol{oc.Name, id})
	}
	out.Node = n
	return out
}

// workingRef binds the recursive reference.
func (b *Binder) workingRef(q *scope, c *cte, alias *ast.Alias) *fromItem {
	n := &logical.Working{ID: c.working.id, Name: c.name, All: c.working.all}
	r := &relItem{name: c.name, relName: c.name}
	for i, oc := range c.working.cols {
		id := b.Meta.New(oc.Name, b.Meta.Type(oc.ID))
		n.Out = append(n.Out, id)
		r.cols = append(r.cols, scopeCol{name: oc.Name, id: id, hidden: i >= len(c.working.cols)-c.hidden})
	}
	q.q.recursive = true
	var node logical.Node = n
	if g := c.working.group; g != nil {
		node = g.ref(b, n, c.working.item)
	}
	return b.single(q, node, r, alias, "table")
}
