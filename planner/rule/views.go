package rule

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
)

// View is a relation whose rows are kept, as a query that was planned: column Out[i] of Plan is column i of Rel, 0 if none is.
type View struct {
	Rel  *catalog.Relation
	Plan logical.Node
	Out  []logical.ColID
}

// Views takes the rows of kept relations for parts of a plan that compute the same and keep state:
//
//			agg(X, ...)  ->  agg(scan(v), ...)  where v keeps the rows of X
//
//		 1. The plan is walked from the root down, so that the parts that are found are as large as they can be. A part that equals a view is
//		    a scan of that from then on, which gives its columns the numbers that those of the part had; all other columns of the view are
//		    there too, under new numbers, since its key may be among them.
//		 2. A view may have more columns than the part. It may also compute what the part does not: where it ends in projections, what is below
//		    these is the same as well, as far as the projections pass its columns through.
//	    Projections that only leave out columns do not count.
//		 3. Of rows that are equal in an order, the view has made its choice. It counts as equal only if the part would make the same one.
//
// The scans of the result are of relations that the plan did not read before. Recursive queries are left alone, and need are the
// columns that are wanted of n. The second result has the relations that were taken.
func Views(e *Env, n logical.Node, need logical.ColSet, views []View) (logical.Node, []*catalog.Relation) {
	v := &viewer{env: e, root: n, need: need}
	for _, x := range views {
		v.forms = append(v.forms, forms(x)...)
	}
	if len(v.forms) == 0 {
		return n, nil
	}
	n = v.visit(n)
	return n, v.taken
}

type viewer struct {
	env   *Env
	root  logical.Node
	need  logical.ColSet
	forms []viewForm
	taken []*catalog.Relation
}

// viewForm is a view, or what its projections pass through: at says which column of the relation a column of plan is.
type viewForm struct {
	rel  *catalog.Relation
	plan logical.Node
	at   map[logical.ColID]int
}

// forms lists what a view can stand for, the view itself first.
func forms(v View) []viewForm {
	at := map[logical.ColID]int{}
	for i, c := range v.Out {
		if _, ok := at[c]; !ok && c != 0 {
			at[c] = i
		}
	}
	var out []viewForm
	for n := bare(v.Plan); ; {
		out = append(out, viewForm{v.Rel, n, at})
		p, ok := n.(*logical.Project)
		if !ok {
			return out
		}
		below := map[logical.ColID]int{}
		for _, x := range p.Exprs {
			c, col := x.Expr.(*scalar.Column)
			if i, ok := at[x.ID]; ok && col {
				if _, ok := below[c.Index]; !ok {
					below[c.Index] = i
				}
			}
		}
		n, at = p.In, below
	}
}

func (v *viewer) visit(n logical.Node) logical.Node {
	if _, ok := n.(*logical.Recursive); ok || !stateful(n) {
		return n
	}
	if s := v.scan(n); s != nil {
		return s
	}
	return rebuilt(n, v.visit)
}

// scan gives a scan of a view in place of n, nil if no view has the rows of n.
func (v *viewer) scan(n logical.Node) logical.Node {
	if !readsAny(n) {
		return nil
	}
	c := &common{env: v.env}
	keyed := bare(prop.TopNKeys(v.env.Meta, n))
	var need logical.ColSet
	for _, f := range v.forms {
		m := map[logical.ColID]logical.ColID{}
		if !stateful(f.plan) || !c.same(f.plan, keyed, m) {
			continue
		}
		if need == nil {
			need = v.needed(n)
		}
		at := map[logical.ColID]int{}
		for _, id := range n.Cols() {
			if i, ok := f.at[m[id]]; ok && f.rel.Columns[i].Type == v.env.Meta.Type(id) {
				at[id] = i
			}
		}
		missing := false
		for id := range need {
			_, ok := at[id]
			missing = missing || !ok
		}
		if missing {
			continue
		}
		v.taken = append(v.taken, f.rel)
		return v.scanOf(f.rel, n.Cols(), at)
	}
	return nil
}

// scanOf scans a relation; at says which of its columns the columns cols are.
func (v *viewer) scanOf(rel *catalog.Relation, cols []logical.ColID, at map[logical.ColID]int) logical.Node {
	s := &logical.Scan{Rel: rel, Alias: rel.Name, Taken: true}
	of := make([]logical.ColID, len(rel.Columns))
	var twice []logical.ProjCol
	for _, id := range cols {
		i, ok := at[id]
		switch {
		case !ok:
		case of[i] == 0:
			of[i] = id
		case of[i] != id:
			twice = append(twice, logical.ProjCol{ID: id, Expr: v.env.Meta.Ref(of[i])})
		}
	}
	for i, id := range of {
		if id == 0 {
			id = v.env.Meta.NewFrom(rel, i)
		}
		s.Ords, s.Out = append(s.Ords, i), append(s.Out, id)
	}
	if twice == nil {
		return s
	}
	return &logical.Project{In: s, Exprs: append(v.env.passAll(s.Out), twice...)}
}

// needed gives what is needed of a part of the plan, whatever keys are known.
func (v *viewer) needed(n logical.Node) logical.ColSet {
	own := *v.env
	own.all = true
	need := logical.ColSet{}
	own.leaves = map[logical.Node]logical.ColSet{n: need}
	Prune(&own, v.root, v.need)
	return need.And(logical.OutSet(n))
}

// bare leaves out projections that only leave out columns.
func bare(n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		if p, ok := n.(*logical.Project); ok && !slices.ContainsFunc(p.Exprs, func(x logical.ProjCol) bool { return !passes(x) }) {
			return p.In
		}
		return n
	})
}

// readsAny tells whether n reads a relation.
func readsAny(n logical.Node) bool {
	if _, ok := n.(*logical.Scan); ok {
		return true
	}
	return slices.ContainsFunc(n.Inputs(), readsAny)
}
