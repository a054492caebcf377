package bind

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// fromItem is a bound item of FROM: rels for qualified names, cols for the others and for *.
type fromItem struct {
	node logical.Node
	rels []*relItem
	cols []scopeCol
}

// oneRow is the input of a SELECT without FROM.
func oneRow() logical.Node { return &logical.Values{Rows: [][]scalar.Expr{{}}} }

// from binds a FROM list into scope s, whose parent is the outer query.
func (b *Binder) from(s *scope, items []ast.TableExpr) logical.Node {
	if len(items) == 0 {
		return oneRow()
	}
	var node logical.Node
	s.q.clause = "FROM clause of their own query level"
	defer func() { s.q.clause = "" }()
	for _, it := range items {
		f := b.fromItem(s, s, it)
		checkNames(s.rels, f.rels)
		s.rels = append(s.rels, f.rels...)
		s.cols = append(s.cols, f.cols...)
		if node == nil {
			node = f.node
		} else {
			node = &logical.Join{Kind: logical.Inner, L: node, R: f.node}
		}
	}
	return node
}

// checkNames refuses a relation name that is used twice.
func checkNames(have, more []*relItem) {
	for _, m := range more {
		for _, h := range have {
			if h.name == m.name && (h.rel == nil || m.rel == nil || h.schema == m.schema || h.name != h.relName || m.name != m.relName) {
				fail(sqlerr.DuplicateAlias, sqlerr.NoPos, "table name \"%s\" specified more than once", m.name)
			}
		}
	}
}

// fromItem binds one item. q is the scope of the query (its owned columns), left the scope
// whose items a lateral reference sees.
func (b *Binder) fromItem(q, left *scope, t ast.TableExpr) *fromItem {
	switch t := t.(type) {
	case *ast.TableRef:
		return b.tableRef(q, t)
	case *ast.DerivedTable:
		return b.derived(q, left, t)
	case *ast.FuncTable:
		return b.funcTable(q, left, t)
	case *ast.Join:
		return b.join(q, left, t)
	}
	fail(sqlerr.InternalError, sqlerr.NoPos, "unknown FROM item %T", t)
	return nil
}

// single makes the fromItem of one named item, with its alias applied.
func (b *Binder) single(q *scope, node logical.Node, r *relItem, a *ast.Alias, what string) *fromItem {
	if a != nil {
		r.name = a.Name
		vis := 0
		for _, c := range r.cols {
			if !c.hidden {
				vis++
			}
		}
		if len(a.Columns) > vis {
			fail(sqlerr.InvalidColumnReference, sqlerr.NoPos, "%s \"%s\" has %d columns available but %d columns specified",
				what, r.name, vis, len(a.Columns))
		}
		i := 0
		for k := range r.cols {
			if r.cols[k].hidden {
				continue
			}
			if i < len(a.Columns) {
				r.cols[k].name = a.Columns[i]
			}
			i++
		}
	}
	f := &fromItem{node: node, rels: []*relItem{r}}
	for _, c := range r.cols {
		q.own(c.id)
		c.rel = r
		f.cols = append(f.cols, c)
	}
	return f
}

func (b *Binder) tableRef(q *scope, t *ast.TableRef) *fromItem {
	if t.AsOf != nil {
		unsupported(t.Pos, "FOR SYSTEM_TIME AS OF other than for a table or materialized view that is joined with JOIN or LEFT JOIN")
	}
	if len(t.Name.Parts) == 1 {
		if c := q.findCTE(t.Name.Parts[0]); c != nil {
			if c.rel != nil {
				return b.modifiedRef(q, c, t.Alias, t.Pos)
			}
			return b.cteRef(q, c, t.Alias)
		}
	}
	rel, err := b.lookup(t.Name)
	if err != nil {
		raise(q.futureItem(err, t.Name))
	}
	b.use(rel)
	b.allow(rel, catalog.Select)
	if b.cfg.Of != nil {
		rel = rel.Seen(b.cfg.Of)
	}
	b.useTable(rel, t)
	return b.relItem(q, rel, t.Alias, t.Name.Pos)
}

// relItem binds a reference to a relation of the catalog.
func (b *Binder) relItem(q *scope, rel *catalog.Relation, alias *ast.Alias, pos int) *fromItem {
	switch rel.Kind {
	case catalog.View:
		return b.viewRef(q, rel, alias, pos)
	case catalog.Sink, catalog.Index:
		fail(sqlerr.WrongObjectType, pos, "cannot open relation \"%s\"", rel.Name)
	}
	r := b.relColumns(rel, rel.Name)
	scan := &logical.Scan{Rel: rel, Alias: rel.Name}
	if alias != nil {
		scan.Alias = alias.Name
	}
	for i, c := range r.cols {
		scan.Ords = append(scan.Ords, i)
		scan.Out = append(scan.Out, c.id)
	}
	if rel.Kind == catalog.Source {
		scan.RowID = b.Meta.New("_row_id", types.T(types.Int8))
	}
	return b.single(q, scan, r, alias, "table")
}

const maxViewDepth = 100

func (b *Binder) viewRef(q *scope, rel *catalog.Relation, alias *ast.Alias, pos int) *fromItem {
	for _, v := range b.views {
		if v == rel.ID || len(b.views) > maxViewDepth {
			fail(sqlerr.InvalidObjectDefinition, pos, "infinite recursion detected in rules for relation \"%s\"", rel.Name)
		}
	}
	sel, err := b.cfg.ParseQuery(rel.Query)
	check(err, sqlerr.NoPos)
	of := b.cfg.Of
	b.cfg.Of = rel
	b.views, b.owners = append(b.views, rel.ID), append(b.owners, catalog.OwnerName(rel.Owner))
	var sub *Query
	b.within(rel, func() {
		sub = b.query(nil, sel)
		b.resolveUnknown(sub)
	})
	b.views, b.owners = b.views[:len(b.views)-1], b.owners[:len(b.owners)-1]
	b.cfg.Of = of
	r := &relItem{name: rel.Name, schema: rel.Schema, relName: rel.Name, rel: rel}
	for i, c := range rel.Columns {
		if i < len(sub.Cols) {
			r.cols = append(r.cols, scopeCol{name: c.Name, id: sub.Cols[i].ID, hidden: c.Hidden})
		}
	}
	b.columnsOf(r)
	f := b.single(q, sub.Node, r, alias, "table")
	b.nameDerived(sub.Node, r.name)
	return f
}

// nameDerived notes the name of a subquery in FROM or of a view.
func (b *Binder) nameDerived(n logical.Node, name string) {
	if b.derivedAs == nil {
		b.derivedAs = map[logical.Node]string{}
	}
	b.derivedAs[n] = name
}

func (b *Binder) cteRef(q *scope, c *cte, alias *ast.Alias) *fromItem {
	if c.working != nil {
		return b.workingRef(q, c, alias)
	}
	sub := b.cteQuery(c)
	b.resolveUnknown(sub)
	sub.Cols = sub.Cols[:len(sub.Cols)-c.dropped]
	r := &relItem{name: c.name, relName: c.name}
	for i, oc := range sub.Cols {
		name := oc.Name
		if i < len(c.columns) {
			name = c.columns[i]
		}
		r.cols = append(r.cols, scopeCol{name: name, id: oc.ID})
	}
	return b.single(q, sub.Node, r, alias, "table")
}

// futureItem adds to the error for a relation that does not exist that a WITH item has its name.
func (s *scope) futureItem(err error, n ast.Name) error {
	e, ok := err.(*sqlerr.Error)
	for at := s; ok && at != nil && len(n.Parts) == 1; at = at.parent {
		if slices.Contains(at.future, n.Parts[0]) {
			return e.WithDetail("There is a WITH item named \"%s\", but it cannot be referenced from this part of the query.", n.Parts[0]).
				WithHint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
		}
	}
	return err
}

// cteQuery binds the query of a WITH item, once for each reference.
func (b *Binder) cteQuery(c *cte) *Query {
	if c.group != nil {
		return c.group.bind(b, c)
	}
	if c.recursive {
		return b.recursive(c)
	}
	return b.query(c.at, c.query)
}

// with adds the items of a WITH clause to s.
func (b *Binder) with(s *scope, w *ast.With) {
	if w == nil {
		return
	}
	order := make([][]int, len(w.CTEs))
	for i, c := range w.CTEs {
		order[i] = []int{i}
		for _, o := range w.CTEs[:i] {
			if o.Name == c.Name {
				fail(sqlerr.DuplicateAlias, c.Pos, "WITH query name \"%s\" specified more than once", c.Name)
			}
		}
	}
	self := make([]bool, len(w.CTEs))
	if w.Recursive {
		order, self = recursiveOrder(w)
		for _, is := range order {
			if len(is) == 1 && self[is[0]] {
				checkRecursion(&w.CTEs[is[0]])
			}
		}
	}
	for _, is := range order {
		if len(is) > 1 {
			b.withGroup(s, w, is)
			continue
		}
		i := is[0]
		c := w.CTEs[i]
		sel, ok := c.Query.(*ast.Select)
		if !ok {
			s.ctes = append(s.ctes, b.modifying(s, w, &c, self[i]))
			continue
		}
		at := &scope{parent: s.parent, ctes: append([]*cte(nil), s.ctes...), q: &queryState{}}
		d := &cte{name: c.Name, query: sel, columns: c.Columns, at: at, pos: c.Pos, recursive: self[i]}
		if d.recursive {
			at.ctes = append(at.ctes, d)
		}
		if !w.Recursive {
			for _, o := range w.CTEs[i:] {
				at.future = append(at.future, o.Name)
			}
		}
		b.traverse(d, &c, self[i])
		// Bound once for its errors, even if it is never used.
		sub := b.cteQuery(d)
		if len(c.Columns) > len(sub.Cols) {
			fail(sqlerr.InvalidColumnReference, c.Pos, "WITH query \"%s\" has %d columns available but %d columns specified",
				c.Name, len(sub.Cols), len(c.Columns))
		}
		s.ctes = append(s.ctes, d)
	}
}

// withGroup adds items that read each other.
func (b *Binder) withGroup(s *scope, w *ast.With, is []int) {
	g := &mutual{pos: w.CTEs[is[0]].Pos}
	at := &scope{parent: s.parent, ctes: append([]*cte(nil), s.ctes...), q: &queryState{}}
	for _, i := range is {
		c := w.CTEs[i]
		if c.Search != nil || c.Cycle != nil {
			unsupported(c.Pos, "SEARCH or CYCLE of a WITH query that reads another one which reads it")
		}
		sel, ok := c.Query.(*ast.Select)
		if !ok {
			fail(sqlerr.InvalidRecursion, c.Pos, "recursive query \"%s\" must not contain data-modifying statements", c.Name)
		}
		d := &cte{name: c.Name, query: sel, columns: c.Columns, at: at, pos: c.Pos, recursive: true, group: g}
		g.items = append(g.items, d)
		at.ctes = append(at.ctes, d)
	}
	g.check()
	for _, d := range g.items {
		if sub := g.bind(b, d); len(d.columns) > len(sub.Cols) {
			fail(sqlerr.InvalidColumnReference, d.pos, "WITH query \"%s\" has %d columns available but %d columns specified",
				d.name, len(sub.Cols), len(d.columns))
		}
	}
	s.ctes = append(s.ctes, g.items...)
}

// lateralScope is what an item of FROM sees of its left neighbours.
func lateralScope(q, left *scope, lateral bool) *scope {
	if lateral {
		return &scope{parent: left, q: &queryState{}, ctes: q.ctes}
	}
	return &scope{parent: q.parent, q: &queryState{}, ctes: q.ctes, invisible: left.rels}
}

func (b *Binder) derived(q, left *scope, t *ast.DerivedTable) *fromItem {
	if t.Alias == nil || t.Alias.Name == "" {
		what := "subquery"
		if _, ok := t.Query.Body.(*ast.Values); ok {
			what = "VALUES"
		}
		hint := "For example, FROM (SELECT ...) [AS] foo."
		if what == "VALUES" {
			hint = "For example, FROM (VALUES ...) [AS] foo."
		}
		raise(sqlerr.New(sqlerr.SyntaxError, t.Pos, "%s in FROM must have an alias", what).WithHint("%s", hint))
	}
	sub := b.query(lateralScope(q, left, t.Lateral), t.Query)
	b.resolveUnknown(sub)
	r := &relItem{name: t.Alias.Name}
	for i, c := range sub.Cols {
		r.cols = append(r.cols, scopeCol{name: c.Name, id: c.ID, fields: sub.fields[i]})
	}
	b.nameDerived(sub.Node, t.Alias.Name)
	return b.single(q, sub.Node, r, t.Alias, "table")
}

// current gives the right side of a join, and whether it is FOR SYSTEM_TIME AS OF PROCTIME().
func current(j *ast.Join) (ast.TableExpr, bool) {
	t, ok := j.R.(*ast.TableRef)
	if !ok || t.AsOf == nil {
		return j.R, false
	}
	switch f, ok := t.AsOf.(*ast.Func); {
	case !ok || len(f.Args) > 0 || !slices.Contains([]string{"proctime", "now", "current_timestamp"}, f.Name.Parts[len(f.Name.Parts)-1]):
		raise(sqlerr.New(sqlerr.FeatureNotSupported, t.AsOf.Position(), "FOR SYSTEM_TIME AS OF other than PROCTIME() is not supported yet"))
	case j.Kind != ast.JoinInner && j.Kind != ast.JoinLeft:
		raise(sqlerr.New(sqlerr.FeatureNotSupported, t.Pos, "FOR SYSTEM_TIME AS OF in a join that is neither JOIN nor LEFT JOIN is not supported"))
	}
	c := *t
	c.AsOf = nil
	return &c, true
}

func (b *Binder) join(q, left *scope, j *ast.Join) *fromItem {
	l := b.fromItem(q, left, j.L)
	kind := map[ast.JoinKind]logical.JoinKind{
		ast.JoinInner: logical.Inner, ast.JoinCross: logical.Inner, ast.JoinLeft: logical.Left,
		ast.JoinRight: logical.Right, ast.JoinFull: logical.Full,
	}[j.Kind]
	// The right side sees the left one if it is lateral.
	inner := &scope{parent: left.parent, q: q.q, ctes: left.ctes, rels: left.rels, cols: left.cols}
	if kind == logical.Right || kind == logical.Full {
		inner.noLateral = l.rels
	} else {
		inner.rels = append(append([]*relItem(nil), left.rels...), l.rels...)
		inner.cols = append(append([]scopeCol(nil), left.cols...), l.cols...)
	}
	right, current := current(j)
	r := b.fromItem(q, inner, right)
	checkNames(l.rels, r.rels)
	node := &logical.Join{Kind: kind, L: l.node, R: r.node, Current: current, Pos: j.Pos}
	if current {
		node.Pos = j.R.(*ast.TableRef).Pos
	}
	if s, ok := r.node.(*logical.Scan); current && (!ok || s.Rel.Kind != catalog.Table && s.Rel.Kind != catalog.MatView) {
		unsupported(node.Pos, "FOR SYSTEM_TIME AS OF for something that is no table or materialized view")
	}
	f := &fromItem{rels: append(l.rels, r.rels...)}
	using := j.Using
	if j.Natural {
		using = nil
		for _, c := range l.cols {
			if c.hidden {
				continue
			}
			for _, d := range r.cols {
				if d.name == c.name && !d.hidden {
					using = append(using, c.name)
					break
				}
			}
		}
	}
	if len(using) > 0 {
		b.joinUsing(q, j, node, l, r, using, f)
	} else {
		f.cols = append(append([]scopeCol(nil), l.cols...), r.cols...)
		f.node = node
	}
	if j.On != nil {
		on := &scope{parent: q.parent, q: q.q, ctes: q.ctes, rels: f.rels, cols: f.cols}
		on.invisible = append(on.invisible, left.rels...)
		old := q.q.clause
		q.q.clause = "JOIN conditions"
		node.On = logical.Conjuncts(b.boolExpr(on, j.On, "JOIN/ON"))
		q.q.clause = old
	}
	if j.AsOf {
		if current {
			unsupported(node.Pos, "ASOF JOIN with FOR SYSTEM_TIME AS OF")
		}
		b.asof(node, j, len(using) > 0)
	}
	if j.Alias != nil && j.Alias.Name != "" {
		r := &relItem{name: j.Alias.Name}
		r.cols = append(r.cols, f.cols...)
		q.invisible = append(q.invisible, f.rels...)
		return b.single(q, f.node, r, j.Alias, "join expression")
	}
	return f
}

// joinUsing merges the columns named in USING.
func (b *Binder) joinUsing(q *scope, j *ast.Join, node *logical.Join, l, r *fromItem, using []string, f *fromItem) {
	pick := func(cols []scopeCol, name, side string) int {
		at := -1
		for i, c := range cols {
			if c.name == name {
				if at >= 0 {
					fail(sqlerr.AmbiguousColumn, sqlerr.NoPos, "common column name \"%s\" appears more than once in %s table", name, side)
				}
				at = i
			}
		}
		if at < 0 {
			fail(sqlerr.UndefinedColumn, sqlerr.NoPos, "column \"%s\" specified in USING clause does not exist in %s table", name, side)
		}
		return at
	}
	dropL, dropR := map[int]bool{}, map[int]bool{}
	var merged []scopeCol
	var computed []logical.ProjCol
	for k, name := range using {
		for _, other := range using[:k] {
			if other == name {
				fail(sqlerr.DuplicateColumn, sqlerr.NoPos, "column name \"%s\" appears more than once in USING clause", name)
			}
		}
		li, ri := pick(l.cols, name, "left"), pick(r.cols, name, "right")
		b.useColumn(l.cols[li].id, 0, 0)
		b.useColumn(r.cols[ri].id, 0, 0)
		lc, rc := b.Meta.RefAt(l.cols[li].id, j.Pos), b.Meta.RefAt(r.cols[ri].id, j.Pos)
		node.On = append(node.On, b.operator("=", lc, rc, j.Pos))
		dropL[li], dropR[ri] = true, true
		t, _, err := b.cfg.Registry.CommonType("JOIN/USING", []types.Type{lc.T, rc.T})
		check(err, j.Pos)
		var e scalar.Expr
		switch node.Kind {
		case logical.Inner, logical.Left:
			e = b.cast(lc, t, fn.Implicit, j.Pos)
		case logical.Right:
			e = b.cast(rc, t, fn.Implicit, j.Pos)
		default:
			e = &scalar.Coalesce{Node: scalar.Node{T: t, Pos: j.Pos},
				Args: []scalar.Expr{b.cast(lc, t, fn.Implicit, j.Pos), b.cast(rc, t, fn.Implicit, j.Pos)}}
		}
		if c, ok := e.(*scalar.Column); ok && c.T == b.Meta.Type(c.Index) {
			merged = append(merged, scopeCol{name: name, id: c.Index})
			continue
		}
		id := b.Meta.New(name, e.Type())
		q.own(id)
		computed = append(computed, logical.ProjCol{ID: id, Expr: e})
		merged = append(merged, scopeCol{name: name, id: id})
	}
	f.cols = merged
	if j.UsingAlias != "" {
		alias := &relItem{name: j.UsingAlias, cols: append([]scopeCol(nil), merged...)}
		checkNames(f.rels, []*relItem{alias})
		f.rels = append(f.rels, alias)
	}
	for i, c := range l.cols {
		if !dropL[i] {
			f.cols = append(f.cols, c)
		}
	}
	for i, c := range r.cols {
		if !dropR[i] {
			f.cols = append(f.cols, c)
		}
	}
	f.node = node
	if len(computed) > 0 {
		f.node = b.extend(node, computed)
	}
}

// extend adds computed columns to a node.
func (b *Binder) extend(n logical.Node, more []logical.ProjCol) logical.Node {
	return &logical.Project{In: n, Exprs: append(b.passAll(n), more...)}
}

func (b *Binder) passAll(n logical.Node) []logical.ProjCol {
	var es []logical.ProjCol
	for _, c := range n.Cols() {
		es = append(es, logical.ProjCol{ID: c, Expr: b.Meta.Ref(c)})
	}
	return es
}

// funcTable binds functions in FROM.
func (b *Binder) funcTable(q, left *scope, t *ast.FuncTable) *fromItem {
	if len(t.Funcs) == 1 && len(t.Funcs[0].Name.Parts) == 1 {
		switch t.Funcs[0].Name.Parts[0] {
		case "tumble", "hop", "cumulate", "session":
			if b.isRelationArg(t.Funcs[0]) {
				return b.windowTable(q, left, t)
			}
		}
	}
	if f := b.sqlTable(q, left, t); f != nil {
		return f
	}
	in := &scope{parent: left, ctes: q.ctes, q: &queryState{clause: "functions in FROM"}}
	ps := &logical.ProjectSet{In: oneRow()}
	r := &relItem{name: t.Funcs[0].Name.Parts[len(t.Funcs[0].Name.Parts)-1]}
	for _, f := range spreadUnnest(t.Funcs) {
		sf, cols := b.tableFunc(in, f)
		if len(cols) == 1 && t.Alias != nil && t.Alias.Name != "" && len(t.Funcs) == 1 {
			cols[0].name = t.Alias.Name
		}
		ps.Funcs = append(ps.Funcs, sf)
		r.cols = append(r.cols, cols...)
	}
	if t.Ordinality {
		ps.Ord = b.Meta.New("ordinality", types.T(types.Int8))
		r.cols = append(r.cols, scopeCol{name: "ordinality", id: ps.Ord})
	}
	b.recordColumns(t, ps, r)
	node := logical.Node(ps)
	if ps.Funcs[0].Fn == nil {
		// An ordinary function in FROM gives one row.
		node = &logical.Project{In: oneRow(), Exprs: []logical.ProjCol{{ID: ps.Funcs[0].Out[0], Expr: ps.Funcs[0].Args[0]}}}
		if len(ps.Funcs) > 1 || t.Ordinality {
			unsupported(t.Pos, "an ordinary function in ROWS FROM or WITH ORDINALITY")
		}
	}
	return b.single(q, node, r, t.Alias, "table")
}

// tableFunc binds one set-returning function call. For an ordinary function the SetFunc has no Fn
// and the call as its only argument.
func (b *Binder) tableFunc(s *scope, f *ast.Func) (logical.SetFunc, []scopeCol) {
	name := f.Name.Parts[len(f.Name.Parts)-1]
	s.q.srfOK = true
	e := b.funcCall(s, f)
	s.q.srfOK = false
	c, ok := e.(*scalar.Call)
	if !ok || c.Fn.Kind != fn.Table {
		id := b.Meta.New(name, e.Type())
		return logical.SetFunc{Args: []scalar.Expr{b.resolve(e)}, Out: []logical.ColID{id}}, []scopeCol{{name: name, id: id}}
	}
	sf := logical.SetFunc{Fn: c.Fn, Args: c.Args}
	var cols []scopeCol
	if c.Fn.Outs != nil {
		for _, o := range c.Fn.Outs {
			id := b.Meta.New(o.Name, o.Type)
			sf.Out = append(sf.Out, id)
			cols = append(cols, scopeCol{name: o.Name, id: id})
		}
		return sf, cols
	}
	id := b.Meta.New(name, c.T)
	sf.Out = []logical.ColID{id}
	return sf, []scopeCol{{name: name, id: id}}
}

// spreadUnnest makes of unnest(a, b) what it stands for: unnest(a) and unnest(b) side by side.
func spreadUnnest(fs []*ast.Func) []*ast.Func {
	var out []*ast.Func
	for _, f := range fs {
		if f.Name.Parts[len(f.Name.Parts)-1] != "unnest" || len(f.Args) < 2 {
			out = append(out, f)
			continue
		}
		for _, a := range f.Args {
			one := *f
			one.Args = []ast.Expr{a}
			out = append(out, &one)
		}
	}
	return out
}

func (b *Binder) isRelationArg(f *ast.Func) bool {
	if len(f.Args) == 0 {
		return false
	}
	switch f.Args[0].(type) {
	case *ast.ColumnRef, *ast.Subquery:
		return true
	}
	return false
}
