package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Merge binds MERGE. Its query is the source with the rows of the target that match; see plan.Merge.
func (b *Binder) Merge(st *ast.Merge) (out *DML, err error) {
	defer catch(&err)
	b.top = st.With
	out = b.merge(st)
	b.finishParams()
	return out, nil
}

// mergeTarget finds the relation that MERGE changes.
func (b *Binder) mergeTarget(st *ast.Merge) *catalog.Relation {
	rel := b.relation(st.Table.Name)
	if rel.Kind != catalog.Table {
		kind := map[catalog.RelKind]string{
			catalog.View: "views", catalog.MatView: "materialized views", catalog.Source: "sources", catalog.Sink: "sinks", catalog.Index: "indexes",
			catalog.System: "system catalogs", catalog.SequenceKind: "sequences",
		}[rel.Kind]
		raise(sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot execute MERGE on relation \"%s\"", rel.Name).
			WithDetail("This operation is not supported for %s.", kind))
	}
	for _, w := range st.Whens {
		switch w.Action {
		case ast.MergeInsert:
			b.allow(rel, catalog.Insert)
		case ast.MergeUpdate:
			b.allow(rel, catalog.Update)
		case ast.MergeDelete:
			b.allow(rel, catalog.Delete)
		}
		if rel.AppendOnly && w.Action == ast.MergeUpdate {
			appendOnly(rel, "update")
		}
		if rel.AppendOnly && w.Action == ast.MergeDelete {
			appendOnly(rel, "delete from")
		}
	}
	b.allow(rel, catalog.Select)
	return rel
}

func (b *Binder) merge(st *ast.Merge) *DML {
	reached := map[bool]bool{}
	for _, w := range st.Whens {
		if reached[w.Matched] {
			fail(sqlerr.SyntaxError, sqlerr.NoPos, "unreachable WHEN clause specified after unconditional WHEN clause")
		}
		reached[w.Matched] = w.Cond == nil
	}
	ws := &scope{ctes: b.outerCTEs(), q: &queryState{}}
	b.with(ws, st.With)
	outer := &scope{ctes: ws.ctes, q: &queryState{}}
	s := &scope{parent: outer, q: &queryState{}}
	rel := b.mergeTarget(st)
	it := b.relItem(s, rel, st.Table.Alias, st.Table.Name.Pos)
	src := b.fromItem(s, s, st.Source)
	for _, r := range src.rels {
		if r.name == it.rels[0].name {
			raise(sqlerr.Newf(sqlerr.DuplicateAlias, "name \"%s\" specified more than once", r.name).
				WithDetail("The name is used both as MERGE target table and data source."))
		}
	}
	s.rels = append(append(s.rels, it.rels...), src.rels...)
	s.cols = append(append(s.cols, it.cols...), src.cols...)
	// Of a row of the source that matches nothing the mark is NULL.
	mark := b.Meta.New("matched", types.T(types.Bool))
	target := &logical.Project{In: it.node, Exprs: append(b.passAll(it.node), logical.ProjCol{ID: mark, Expr: logical.BoolConst(true)})}
	s.q.clause = "JOIN conditions"
	join := &logical.Join{Kind: logical.Inner, L: src.node, R: target, On: logical.Conjuncts(b.boolExpr(s, st.On, "JOIN/ON"))}
	for _, w := range st.Whens {
		if !w.Matched {
			join.Kind = logical.Left
		}
	}
	var tree logical.Node = join
	unmatched := &scope{parent: outer, q: s.q, rels: src.rels, cols: src.cols, invisible: it.rels}
	d := &DML{Plan: &plan.DML{Kind: plan.Merge, Target: rel}}
	d.Plan.Checks, d.Plan.Generated = b.constraints(rel)
	auto := map[int]bool{}
	matched := func(yes bool) scalar.Expr {
		return &scalar.IsNull{Node: node(types.Bool, sqlerr.NoPos), X: b.Meta.Ref(mark), Not: yes}
	}
	// Conditions are computed below the values, each once.
	var conds []scalar.Expr
	values := make([][]scalar.Expr, len(st.Whens))
	for k, w := range st.Whens {
		at := s
		if !w.Matched {
			at = unmatched
		}
		cond := matched(w.Matched)
		if w.Cond != nil {
			s.q.clause = "MERGE WHEN conditions"
			cond = &scalar.And{Node: node(types.Bool, sqlerr.NoPos), Args: []scalar.Expr{cond, b.boolExpr(at, w.Cond, "WHEN")}}
		}
		conds = append(conds, cond)
		switch w.Action {
		case ast.MergeUpdate:
			s.q.clause = "UPDATE"
			values[k] = b.mergeUpdate(s, rel, it, w, &tree)
		case ast.MergeInsert:
			s.q.clause = "VALUES"
			values[k] = b.mergeInsert(unmatched, rel, w, auto)
		}
		d.Plan.Actions = append(d.Plan.Actions, plan.MergeAction(w.Action))
	}
	proj := &logical.Project{In: tree, Exprs: b.passAll(tree)}
	for k, c := range conds {
		id := b.Meta.New("when", types.T(types.Bool))
		proj.Exprs = append(proj.Exprs, logical.ProjCol{ID: id, Expr: c})
		conds[k] = b.Meta.Ref(id)
	}
	q := &Query{}
	top := &logical.Project{In: proj}
	add := func(name string, id logical.ColID, e scalar.Expr) {
		top.Exprs = append(top.Exprs, logical.ProjCol{ID: id, Expr: e})
		q.Cols = append(q.Cols, OutCol{name, id})
	}
	choose := func(t types.Type, value func(k int) scalar.Expr) scalar.Expr {
		c := &scalar.Case{Node: scalar.Node{T: t, Pos: sqlerr.NoPos}, Else: logical.NullConst(t)}
		for k, cond := range conds {
			v := value(k)
			if v == nil {
				v = logical.NullConst(t)
			}
			c.Whens = append(c.Whens, scalar.When{Cond: cond, Result: v})
		}
		return c
	}
	int4 := types.T(types.Int4)
	add("action", b.Meta.New("action", int4), choose(int4, func(k int) scalar.Expr {
		return &scalar.Const{Node: scalar.Node{T: int4, Pos: sqlerr.NoPos}, Val: types.DInt(int64(k))}
	}))
	for i, c := range rel.Columns {
		old := it.rels[0].cols[i].id
		add(c.Name, old, b.Meta.Ref(old))
	}
	for i, c := range rel.Columns {
		add(c.Name, b.Meta.New(c.Name, c.Type), choose(c.Type, func(k int) scalar.Expr {
			if values[k] == nil {
				return nil
			}
			return values[k][i]
		}))
	}
	q.Node = top
	d.Query = q
	for i := range rel.Columns {
		if auto[i] {
			d.Plan.Auto = append(d.Plan.Auto, i)
		}
	}
	return d
}

// mergeUpdate gives the new values of WHEN MATCHED THEN UPDATE.
func (b *Binder) mergeUpdate(s *scope, rel *catalog.Relation, it *fromItem, w ast.MergeWhen, from *logical.Node) []scalar.Expr {
	var set []plan.Assign
	for _, c := range w.Set {
		set = append(set, b.setClause(s, rel, c, from)...)
	}
	b.noDoubleSet(rel, set)
	out := make([]scalar.Expr, len(rel.Columns))
	for i := range rel.Columns {
		out[i] = b.Meta.Ref(it.rels[0].cols[i].id)
	}
	for _, a := range set {
		out[a.Col] = a.Expr
	}
	return out
}

// mergeInsert gives the values of WHEN NOT MATCHED THEN INSERT.
func (b *Binder) mergeInsert(s *scope, rel *catalog.Relation, w ast.MergeWhen, auto map[int]bool) []scalar.Expr {
	cols := b.insertColumns(rel, w.Columns)
	if len(w.Values) > len(cols) {
		fail(sqlerr.SyntaxError, w.Values[len(cols)].Position(), "INSERT has more expressions than target columns")
	}
	if len(w.Columns) > 0 && len(w.Values) < len(cols) {
		fail(sqlerr.SyntaxError, w.Columns[len(w.Values)].Pos, "INSERT has more target columns than expressions")
	}
	out := make([]scalar.Expr, len(rel.Columns))
	for k, e := range w.Values {
		if _, ok := e.(*ast.Default); ok {
			continue
		}
		i := cols[k]
		b.mayGive(rel, i, &ast.Insert{Overriding: w.Overriding})
		out[i] = b.assignTo(rel, i, b.expr(s, e), leftmost(e))
		if w.Overriding == "user" && rel.Columns[i].Identity != "" {
			out[i] = nil
		}
	}
	for i, c := range rel.Columns {
		if out[i] == nil {
			if autoColumn(c) {
				auto[i] = true
			}
			out[i] = b.defaultOf(rel, i)
		}
	}
	return out
}
