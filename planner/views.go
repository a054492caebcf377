package planner

import (
	"cmp"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/planner/rule"
	"github.com/weirdb/weir/planner/unnest"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
)

// KeptView is a materialized view, and its query, which was bound against the same catalog as that of the statement which may take
// the rows of the view for a part of itself.
type KeptView struct {
	Rel   *catalog.Relation
	Query *Bound
}

// takeViews puts scans of kept views in the place of parts of a plan that equal them.
func (p *Planner) takeViews(env *rule.Env, n logical.Node, ids []logical.ColID, kept []KeptView) (logical.Node, []*catalog.Relation) {
	var views []rule.View
	for _, k := range kept {
		views = append(views, p.viewForms(env.Meta, k)...)
	}
	return rule.Views(env, n, logical.SetOf(ids...), views)
}

// viewForms plans the query of a view as far as rules go, in terms of the columns of m: with the key under which its rows are kept,
// which gives the hidden columns of the relation, and without. There is none if what the query gives depends on the time.
func (p *Planner) viewForms(m *logical.Meta, k KeptView) []rule.View {
	own := copyMeta(k.Query)
	ids, _ := outIDs(k.Query.query)
	if rule.Currents(k.Query.query.Node) > 0 || len(k.Query.ParamTypes) > 0 || k.Query.Modifies() || len(k.Query.Locks) > 0 {
		return nil
	}
	n, err := unnest.Plan(own, p.cfg.Registry, k.Query.query.Node)
	if err != nil {
		return nil
	}
	n = rule.Optimize(p.env(own, false), n)
	timed := false
	logical.WalkPlanExprs(n, func(x scalar.Expr) bool {
		timed = timed || prop.ClockCall(x) || prop.ProcTimeCall(x)
		return !timed
	})
	if timed || k.Rel.Visible() != len(ids) {
		return nil
	}
	plain, all := prop.TopNKeys(own, n), slices.Clone(ids)
	keyed, key := prop.StreamKey(own, n, logical.SetOf(ids...))
	for _, c := range key {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	by := m.Append(own)
	raise := func(c logical.ColID) logical.ColID { return c + by }
	form := func(n logical.Node, out []logical.ColID) rule.View {
		v := rule.View{Rel: k.Rel, Plan: logical.MapCols(m, n, raise)}
		for _, c := range out {
			v.Out = append(v.Out, raise(c))
		}
		return v
	}
	var out []rule.View
	// A view that itself takes rows of others has the hidden columns that this gives.
	if len(k.Rel.Takes) == 0 && len(all) == len(k.Rel.Columns) {
		out = append(out, form(keyed, all))
	}
	return append(out, form(plain, ids))
}

// keyIndexes finds those of some indexes that are of a relation.
func (p *Planner) keyIndexes(ids []catalog.ID) func(*catalog.Relation) []*catalog.Relation {
	if len(ids) == 0 {
		return nil
	}
	return func(rel *catalog.Relation) []*catalog.Relation {
		var out []*catalog.Relation
		for _, id := range ids {
			if r := p.cfg.Catalog.RelationByID(id); r != nil && r.Kind == catalog.Index && r.Parent == rel.ID {
				out = append(out, r)
			}
		}
		return out
	}
}

func takenOnce(rels []*catalog.Relation) []*catalog.Relation {
	slices.SortFunc(rels, func(a, b *catalog.Relation) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(rels, func(a, b *catalog.Relation) bool { return a.ID == b.ID })
}
