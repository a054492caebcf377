package bind

import (
	"reflect"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Items of WITH RECURSIVE that read each other, which PostgreSQL refuses, become one recursive query: a row of it is a
// row of one of the items, whose number is in its first column. A reference to an item reads the rows with its number.
//
//   - An item that is term UNION [ALL] term with a first term that reads none of them has its types from that; what the other
//     items are is known when those that they read are.
//   - All of them say UNION, or all UNION ALL. With UNION all items have each row once, also those that are no UNION themselves.

// mutual is such a set of items.
type mutual struct {
	items []*cte
	pos   int
	all   bool
	// slots are the columns of the recursive query behind the number; places has the slot of each column of each item.
	slots  []types.Type
	places [][]int
	// refs are the references that have been bound.
	refs []mutualRef
}

type mutualRef struct {
	node *logical.Working
	item int
}

func (g *mutual) has(name string) bool {
	return slices.ContainsFunc(g.items, func(c *cte) bool { return c.name == name })
}

// split divides an item's query in the terms that read none of the items, and those that do; base is nil if all do.
func (g *mutual) split(c *cte) (sel, base, step *ast.Select) {
	sel = bare(c.query)
	if op, ok := sel.Body.(*ast.SetOp); ok && op.Op == ast.Union {
		if op = terms(g.has, op); len(references(g.has, op.L)) == 0 {
			return sel, op.L, op.R
		}
	}
	return sel, nil, sel
}

// check refuses what recursive terms cannot have.
func (g *mutual) check() {
	unions := 0
	for _, c := range g.items {
		sel, _, _ := g.split(c)
		if op, ok := sel.Body.(*ast.SetOp); ok && op.Op == ast.Union {
			if unions++; unions > 1 && g.all != op.All {
				unsupported(c.pos, "mutual recursion with both UNION and UNION ALL")
			}
			g.all = op.All
		}
	}
	if unions == 0 {
		fail(sqlerr.InvalidRecursion, g.pos, "recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term", g.items[0].name)
	}
	for _, c := range g.items {
		sel, base, step := g.split(c)
		if base != nil {
			checkClauses(sel)
		}
		walk := &refWalker{}
		refs := 0
		walk.ref = func(t *ast.TableRef, at recContext) {
			name := t.Name.Parts[0]
			if !g.has(name) {
				return
			}
			if at != recOK {
				fail(sqlerr.InvalidRecursion, t.Name.Pos, "recursive reference to query \"%s\" must not appear within %s", name, recPlaces[at])
			}
			if refs++; refs > 1 && g.all {
				fail(sqlerr.InvalidRecursion, t.Name.Pos, "recursive reference to query \"%s\" must not appear more than once", name)
			}
		}
		if base != nil && sel.With != nil {
			for _, x := range sel.With.CTEs {
				walk.value(reflect.ValueOf(x.Query), recSubquery)
				walk.inner = append(walk.inner, x.Name)
			}
		}
		branches(step, func(q *ast.Select) {
			refs = 0
			walk.query(q, recOK)
		})
	}
}

// bind gives the rows of one of the items.
func (g *mutual) bind(b *Binder, item *cte) *Query {
	id := b.Meta.NewLoop()
	n := &logical.Recursive{ID: id, Name: item.name, All: g.all, Pos: g.pos, Multi: true, MultiPos: g.pos}
	scopes := make([]*scope, len(g.items))
	bases, steps := make([]*Query, len(g.items)), make([]*Query, len(g.items))
	g.refs = nil
	defer func() {
		for _, c := range g.items {
			c.working = nil
		}
	}()
	known := func(k int, q *Query) {
		c := g.items[k]
		w := &working{id: id, all: g.all, group: g, item: k}
		for i, oc := range q.Cols {
			if i < len(c.columns) {
				oc.Name = c.columns[i]
			}
			w.cols = append(w.cols, oc)
		}
		c.working = w
	}
	for k, c := range g.items {
		sel, base, _ := g.split(c)
		scopes[k] = &scope{parent: c.at, q: &queryState{}}
		if base == nil {
			continue
		}
		b.with(scopes[k], sel.With)
		bases[k] = b.query(scopes[k], base)
		b.resolveUnknown(bases[k])
		known(k, bases[k])
	}
	for {
		more, left := false, -1
		for k, c := range g.items {
			if c.working != nil {
				continue
			}
			_, _, step := g.split(c)
			if slices.ContainsFunc(references(g.has, step), func(t *ast.TableRef) bool {
				return slices.ContainsFunc(g.items, func(o *cte) bool { return o.name == t.Name.Parts[0] && o.working == nil })
			}) {
				left = k
				continue
			}
			steps[k] = b.query(scopes[k], step)
			b.resolveUnknown(steps[k])
			known(k, steps[k])
			more = true
		}
		if left < 0 {
			break
		}
		if !more {
			fail(sqlerr.InvalidRecursion, g.items[left].pos, "recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term",
				g.items[left].name)
		}
	}
	for k, c := range g.items {
		if steps[k] == nil {
			_, base, step := g.split(c)
			steps[k] = b.query(scopes[k], step)
			b.sameTypes(c, base, step, bases[k], steps[k], g.all)
		}
	}
	g.layout(b)
	n.Out = g.columns(b)
	var parts []logical.Node
	for k, q := range bases {
		if q != nil {
			parts = append(parts, g.part(b, k, q, g.items[k].working.cols))
		}
	}
	n.Base, n.BaseMap = g.union(b, parts)
	parts = nil
	for k, q := range steps {
		parts = append(parts, g.part(b, k, q, g.items[k].working.cols))
	}
	n.Step, n.StepMap = g.union(b, parts)
	for _, r := range g.refs {
		g.complete(b, r)
	}
	at := slices.Index(g.items, item)
	out := &Query{}
	var cols []logical.ColID
	for i, oc := range item.working.cols {
		cols = append(cols, n.Out[1+g.places[at][i]])
		out.Cols = append(out.Cols, OutCol{oc.Name, cols[i]})
	}
	out.Node = g.only(b, n, n.Out[0], at, cols)
	return out
}

// sameTypes makes the columns of the recursive term those of the other one.
func (b *Binder) sameTypes(c *cte, left, right *ast.Select, l, r *Query, all bool) (lc, rc []logical.ColID) {
	if len(l.Cols) != len(r.Cols) {
		fail(sqlerr.SyntaxError, targetPos(right, 0), "each UNION query must have the same number of columns")
	}
	lc, rc = make([]logical.ColID, len(l.Cols)), make([]logical.ColID, len(l.Cols))
	ts := make([]types.Type, len(l.Cols))
	for i := range l.Cols {
		ts[i] = b.Meta.Type(l.Cols[i].ID)
		t, _, err := b.cfg.Registry.CommonType("UNION", []types.Type{ts[i], b.Meta.Type(r.Cols[i].ID)})
		if err != nil {
			check(err, targetPos(right, i))
		}
		if !all {
			b.needEquality(ts[i], targetPos(left, i))
		}
		if t != ts[i] {
			raise(sqlerr.New(sqlerr.DatatypeMismatch, targetPos(left, i),
				"recursive query \"%s\" column %d has type %s in non-recursive term but type %s overall", c.name, i+1, ts[i], t).
				WithHint("Cast the output of the non-recursive term to the correct type."))
		}
	}
	b.unify(l, ts, lc)
	b.unify(r, ts, rc)
	return lc, rc
}

// layout gives every column of every item a slot: items share those of equal types.
func (g *mutual) layout(b *Binder) {
	g.slots, g.places = nil, nil
	for _, c := range g.items {
		var mine []int
		for _, oc := range c.working.cols {
			t := b.Meta.Type(oc.ID)
			at := 0
			for at < len(g.slots) && (g.slots[at] != t || slices.Contains(mine, at)) {
				at++
			}
			if at == len(g.slots) {
				g.slots = append(g.slots, t)
			}
			mine = append(mine, at)
		}
		g.places = append(g.places, mine)
	}
}

// columns makes columns for the number and the slots.
func (g *mutual) columns(b *Binder) []logical.ColID {
	ids := []logical.ColID{b.Meta.New("item", types.T(types.Int8))}
	for _, t := range g.slots {
		ids = append(ids, b.Meta.New("column", t))
	}
	return ids
}

// part makes rows of item k rows of the recursive query.
func (g *mutual) part(b *Binder, k int, q *Query, cols []OutCol) logical.Node {
	ids := g.columns(b)
	p := &logical.Project{In: q.Node, Exprs: []logical.ProjCol{{ID: ids[0], Expr: intConst(int64(k))}}}
	for at, t := range g.slots {
		e := logical.ProjCol{ID: ids[1+at], Expr: logical.NullConst(t)}
		if i := slices.Index(g.places[k], at); i >= 0 {
			e.Expr = b.Meta.Ref(q.Cols[i].ID)
		}
		p.Exprs = append(p.Exprs, e)
	}
	return p
}

func (g *mutual) union(b *Binder, parts []logical.Node) (logical.Node, []logical.ColID) {
	if len(parts) == 1 {
		return parts[0], parts[0].Cols()
	}
	u := &logical.UnionAll{Ins: parts, Out: g.columns(b)}
	for _, p := range parts {
		u.Map = append(u.Map, p.Cols())
	}
	return u, u.Out
}

// only keeps the rows of one item.
func (g *mutual) only(b *Binder, n logical.Node, tag logical.ColID, k int, cols []logical.ColID) logical.Node {
	f := &logical.Filter{In: n}
	f.Preds = append(f.Preds, b.operator("=", b.Meta.Ref(tag), intConst(int64(k)), sqlerr.NoPos))
	return &logical.Project{In: f, Exprs: b.passCols(cols)}
}

// ref binds a reference to item k, whose columns are cols. The columns of the recursive query are not known yet.
func (g *mutual) ref(b *Binder, w *logical.Working, k int) logical.Node {
	cols := w.Out
	w.Out = append([]logical.ColID{b.Meta.New("item", types.T(types.Int8))}, cols...)
	g.refs = append(g.refs, mutualRef{w, k})
	return g.only(b, w, w.Out[0], k, cols)
}

// complete gives a reference the columns of the recursive query.
func (g *mutual) complete(b *Binder, r mutualRef) {
	ids := g.columns(b)
	ids[0] = r.node.Out[0]
	for i, at := range g.places[r.item] {
		ids[1+at] = r.node.Out[1+i]
	}
	r.node.Out = ids
}
