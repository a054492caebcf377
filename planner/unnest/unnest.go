// Package unnest removes subqueries and correlation from a logical plan.
//
//  1. Every logical.Subquery becomes a join: a condition EXISTS, IN or ANY of a filter a semi or anti
//     join, any other one a left join with a value column. The right sides are
//     dependent: they may use columns of the left.
//  2. From the leaves up, every dependent join L x R is made an ordinary one (Neumann and Kemper,
//     "Unnesting Arbitrary Queries", BTW 2015). Let F be the columns of L that R uses.
//     a. If R uses them only in conditions that can be lifted to the top of R, they become
//     conditions of the join.
//     b. If R is an aggregate without keys over such a thing, and all lifted conditions are
//     equalities, R is grouped by the inner sides of the equalities; rows of L without a group get
//     the aggregates of the empty set.
//     c. Otherwise let D be the distinct values of F in L. D x R is pushed into R until the part
//     below has no outer columns; there it becomes an ordinary cross product. Every operator that
//     it passes works per value of D. L is then joined with the result on F, NULLs being equal.
//
// After step 2 no node uses columns that its inputs do not give.
package unnest

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Plan gives a plan equal to n without subqueries and dependent joins.
func Plan(m *logical.Meta, reg *fn.Registry, n logical.Node) (logical.Node, error) {
	u := &unnester{m: m, reg: reg}
	n = u.subqueries(n)
	if u.err != nil {
		return nil, u.err
	}
	return u.dependent(n), nil
}

type unnester struct {
	m   *logical.Meta
	reg *fn.Registry
	err error
	// used are the columns that subquery plans have given so far: an expression that stands in two places
	// (x BETWEEN a AND b) brings its plan twice, and the second time it is renumbered.
	used logical.ColSet
	// generalOnly turns off 2a and 2b (tests).
	generalOnly bool
}

// PlanGeneral is Plan by step 2c alone.
func PlanGeneral(m *logical.Meta, reg *fn.Registry, n logical.Node) (logical.Node, error) {
	u := &unnester{m: m, reg: reg, generalOnly: true}
	n = u.subqueries(n)
	if u.err != nil {
		return nil, u.err
	}
	return u.dependent(n), nil
}

func (u *unnester) unsupported(pos int, what string) {
	if u.err == nil {
		u.err = sqlerr.New(sqlerr.FeatureNotSupported, pos, "%s is not supported yet", what)
	}
}

// subqueries is step 1, from the leaves up.
func (u *unnester) subqueries(n logical.Node) logical.Node {
	ins := n.Inputs()
	nins := make([]logical.Node, len(ins))
	changed := false
	for i, in := range ins {
		nins[i] = u.subqueries(in)
		changed = changed || nins[i] != in
	}
	if changed {
		n = n.WithInputs(nins)
	}
	has := false
	for _, e := range logical.NodeExprs(n) {
		has = has || logical.HasSubquery(e)
	}
	if !has {
		return n
	}
	switch n := n.(type) {
	case *logical.Filter:
		return u.filter(n)
	case *logical.Project:
		in := n.In
		out := &logical.Project{}
		for _, e := range n.Exprs {
			out.Exprs = append(out.Exprs, logical.ProjCol{ID: e.ID, Expr: u.value(&in, e.Expr)})
		}
		out.In = in
		return out
	case *logical.ProjectSet:
		in := n.In
		out := *n
		out.Funcs = nil
		for _, f := range n.Funcs {
			g := f
			g.Args = nil
			for _, a := range f.Args {
				g.Args = append(g.Args, u.value(&in, a))
			}
			out.Funcs = append(out.Funcs, g)
		}
		out.In = in
		return &out
	case *logical.Values:
		return u.subqueries(u.valuesAsProjects(n))
	case *logical.Join:
		return u.joinCondition(n)
	}
	return n
}

// valuesAsProjects writes VALUES as a union of projections of one row each.
func (u *unnester) valuesAsProjects(v *logical.Values) logical.Node {
	one := func() logical.Node { return &logical.Values{Rows: [][]scalar.Expr{{}}} }
	if len(v.Rows) == 1 {
		p := &logical.Project{In: one()}
		for i, id := range v.Out {
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: id, Expr: v.Rows[0][i]})
		}
		return p
	}
	un := &logical.UnionAll{Out: v.Out}
	for _, r := range v.Rows {
		p := &logical.Project{In: one()}
		var m []logical.ColID
		for i, id := range v.Out {
			c := u.m.Copy(id)
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: r[i]})
			m = append(m, c)
		}
		un.Ins = append(un.Ins, p)
		un.Map = append(un.Map, m)
	}
	return un
}

// filter turns the conditions of a filter with subqueries into joins.
func (u *unnester) filter(n *logical.Filter) logical.Node {
	in := n.In
	var plain, late []scalar.Expr
	for _, p := range n.Preds {
		if !logical.HasSubquery(p) {
			plain = append(plain, p)
		} else {
			late = append(late, p)
		}
	}
	if len(plain) > 0 {
		in = &logical.Filter{In: in, Preds: plain}
	}
	var rest []scalar.Expr
	for _, p := range late {
		not := false
		q := p
		for {
			x, ok := q.(*scalar.Not)
			if !ok {
				break
			}
			not, q = !not, x.X
		}
		s, ok := q.(*logical.Subquery)
		if !ok || s.Kind != logical.SubExists && s.Kind != logical.SubAny || s.Pred != nil && logical.HasSubquery(s.Pred) {
			rest = append(rest, u.value(&in, p))
			continue
		}
		s = u.once(s)
		j := &logical.Join{Kind: logical.Semi, L: in, R: s.Plan}
		if s.Kind == logical.SubAny {
			j.On = logical.Conjuncts(s.Pred)
		}
		if not {
			j.Kind = logical.Anti
			if s.Kind == logical.SubAny {
				nn := prop.NotNull(in)
				set := logical.ColSet{}
				set.AddSet(nn)
				set.AddSet(prop.NotNull(j.R))
				// NOT IN: a comparison that is NULL keeps the row out as well as a true one.
				if !prop.ExprNotNull(s.Pred, set) {
					if n := u.notIn(j, s.Pred, set); n != nil {
						in = n
						continue
					}
					j.On = []scalar.Expr{u.notFalse(s.Pred)}
				}
			}
		}
		in = j
	}
	if len(rest) > 0 {
		in = &logical.Filter{In: in, Preds: rest}
	}
	return in
}

// once gives s with step 1 done on its plan, under column numbers that nothing else uses.
func (u *unnester) once(s *logical.Subquery) *logical.Subquery {
	c := *s
	c.Plan = u.subqueries(s.Plan)
	if u.used == nil {
		u.used = logical.ColSet{}
	}
	given := logical.Given(c.Plan)
	if given.Meets(u.used) {
		node, ren := logical.Renumber(u.m, c.Plan)
		c.Plan = node
		if c.Col != 0 {
			c.Col = ren(c.Col)
		}
		c.Order = append([]logical.Order(nil), s.Order...)
		for i := range c.Order {
			c.Order[i].Col = ren(c.Order[i].Col)
		}
		if c.Pred != nil {
			c.Pred = logical.RenumberExpr(u.m, c.Pred, ren)
		}
	} else {
		u.used.AddSet(given)
	}
	return &c
}

func boolNode() scalar.Node { return scalar.Node{T: types.T(types.Bool), Pos: sqlerr.NoPos} }

// notIn splits x NOT IN (R) with an R that is not correlated, so that keys can be used: x is equal to no row
// of R, no row of R is NULL, and x is not NULL unless R is empty. Nil if it is not of that form.
func (u *unnester) notIn(j *logical.Join, pred scalar.Expr, notNull logical.ColSet) logical.Node {
	l, r, ok := prop.Equality(pred)
	if _, isCall := pred.(*scalar.Call); !ok || !isCall || u.generalOnly {
		return nil
	}
	ls, rs := logical.OutSet(j.L), logical.OutSet(j.R)
	if logical.Free(j.R).Meets(ls) || logical.ColsOf(l).Meets(rs) || logical.ColsOf(r).Meets(ls) || logical.Volatile(pred) {
		return nil
	}
	anyRow := func(cond func(x scalar.Expr) scalar.Expr) logical.Node {
		n, ren := logical.Renumber(u.m, j.R)
		if cond != nil {
			n = &logical.Filter{In: n, Preds: []scalar.Expr{cond(logical.RenumberExpr(u.m, r, ren))}}
		}
		id := u.m.New("some", types.T(types.Bool))
		p := &logical.Project{In: n, Exprs: []logical.ProjCol{{ID: id, Expr: logical.BoolConst(true)}}}
		return &logical.Agg{In: p, Keys: []logical.ColID{id}}
	}
	isNull := func(x scalar.Expr) scalar.Expr { return &scalar.IsNull{Node: boolNode(), X: x} }
	j.On = []scalar.Expr{pred}
	var out logical.Node = j
	if !prop.ExprNotNull(r, notNull) {
		out = &logical.Join{Kind: logical.Anti, L: out, R: anyRow(isNull)}
	}
	if !prop.ExprNotNull(l, notNull) {
		out = &logical.Join{Kind: logical.Anti, L: out, R: anyRow(nil), On: []scalar.Expr{isNull(l)}}
	}
	return out
}

func (u *unnester) notFalse(e scalar.Expr) scalar.Expr {
	return &scalar.IsBool{Node: boolNode(), X: e, Val: false, Not: true}
}

// value replaces the subqueries in e by columns; *in is extended by what computes them.
func (u *unnester) value(in *logical.Node, e scalar.Expr) scalar.Expr {
	return logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
		s, ok := x.(*logical.Subquery)
		if !ok {
			return nil
		}
		return u.subqueryValue(in, s)
	})
}

func (u *unnester) subqueryValue(in *logical.Node, s *logical.Subquery) scalar.Expr {
	s = u.once(s)
	plan := s.Plan
	join := func(r logical.Node) { *in = &logical.Join{Kind: logical.Left, L: *in, R: r} }
	switch s.Kind {
	case logical.SubScalar:
		// The column gets a number of its own: the same query may stand in several places.
		id := u.m.Copy(s.Col)
		var r logical.Node = plan
		if !prop.AtMostOne(plan) {
			r = &logical.Max1Row{In: plan}
		}
		join(&logical.Project{In: r, Exprs: []logical.ProjCol{{ID: id, Expr: u.m.Ref(s.Col)}}})
		ref := u.m.RefAt(id, s.Pos)
		return ref
	case logical.SubExists:
		id := u.m.New("exists", types.T(types.Bool))
		p := &logical.Project{In: plan, Exprs: []logical.ProjCol{{ID: id, Expr: logical.BoolConst(true)}}}
		join(&logical.Agg{In: p, Keys: []logical.ColID{id}})
		return &scalar.IsNull{Node: boolNode(), X: u.m.Ref(id), Not: true}
	case logical.SubAny:
		// TRUE if any comparison is, else NULL if any is, else FALSE (also of no rows).
		var pre logical.Node = plan
		pred := s.Pred
		if logical.HasSubquery(pred) {
			pred = u.value(&pre, pred)
		}
		t, nul := u.m.New("true", types.T(types.Bool)), u.m.New("null", types.T(types.Bool))
		p := &logical.Project{In: pre, Exprs: []logical.ProjCol{
			{ID: t, Expr: pred}, {ID: nul, Expr: &scalar.IsNull{Node: boolNode(), X: pred}},
		}}
		or := u.fn("bool_or(bool)")
		at, an := u.m.New("any_true", types.T(types.Bool)), u.m.New("any_null", types.T(types.Bool))
		join(&logical.Agg{In: p, Aggs: []logical.AggCol{
			{ID: at, Fn: or, Args: []logical.ColID{t}}, {ID: an, Fn: or, Args: []logical.ColID{nul}},
		}})
		return &scalar.Case{Node: boolNode(), Whens: []scalar.When{
			{Cond: u.m.Ref(at), Result: logical.BoolConst(true)},
			{Cond: u.m.Ref(an), Result: logical.NullConst(types.T(types.Bool))},
		}, Else: logical.BoolConst(false)}
	case logical.SubArray:
		f := u.reg.ByID("array_agg(anynonarray)")
		if f == nil {
			if res, err := u.reg.ResolveFunc("array_agg", []types.Type{u.m.Type(s.Col)}, fn.CallOptions{}); err == nil {
				f = res.Fn
			}
		}
		if f == nil {
			u.unsupported(s.Pos, "ARRAY(query)")
			return logical.NullConst(s.T)
		}
		id := u.m.New("array", s.T)
		join(&logical.Agg{In: plan, Aggs: []logical.AggCol{{ID: id, Fn: f, Args: []logical.ColID{s.Col}, OrderBy: s.Order}}})
		return &scalar.Coalesce{Node: scalar.Node{T: s.T, Pos: s.Pos}, Args: []scalar.Expr{
			u.m.Ref(id), &scalar.MakeArray{Node: scalar.Node{T: s.T, Pos: s.Pos}},
		}}
	}
	return nil
}

func (u *unnester) fn(id string) *fn.Func {
	f := u.reg.ByID(id)
	if f == nil {
		panic("unnest: the registry has no " + id)
	}
	return f
}

// joinCondition moves subqueries out of a join's condition.
func (u *unnester) joinCondition(j *logical.Join) logical.Node {
	if j.Kind == logical.Inner {
		var plain, sub []scalar.Expr
		for _, p := range j.On {
			if logical.HasSubquery(p) {
				sub = append(sub, p)
			} else {
				plain = append(plain, p)
			}
		}
		return u.filter(&logical.Filter{In: &logical.Join{Kind: j.Kind, L: j.L, R: j.R, On: plain}, Preds: sub})
	}
	out := *j
	out.On = nil
	ls, rs := logical.OutSet(j.L), logical.OutSet(j.R)
	for _, p := range j.On {
		out.On = append(out.On, logical.MapExpr(p, func(x scalar.Expr) scalar.Expr {
			s, ok := x.(*logical.Subquery)
			if !ok {
				return nil
			}
			cols := logical.ColsOf(s)
			switch {
			case !cols.Meets(ls):
				return u.subqueryValue(&out.R, s)
			case !cols.Meets(rs):
				return u.subqueryValue(&out.L, s)
			}
			u.unsupported(s.Pos, "a subquery over both sides in the condition of an outer join")
			return logical.NullConst(s.T)
		}))
	}
	return &out
}

// dependent is step 2, from the leaves up.
func (u *unnester) dependent(n logical.Node) logical.Node {
	ins := n.Inputs()
	nins := make([]logical.Node, len(ins))
	changed := false
	for i, in := range ins {
		nins[i] = u.dependent(in)
		changed = changed || nins[i] != in
	}
	if changed {
		n = n.WithInputs(nins)
	}
	if j, ok := n.(*logical.Join); ok {
		f := logical.Free(j.R).And(logical.OutSet(j.L))
		if len(f) > 0 {
			return u.unnest(j, f)
		}
	}
	return n
}

// unnest makes the dependent join j an ordinary one; f are the columns of L that R uses.
func (u *unnester) unnest(j *logical.Join, f logical.ColSet) logical.Node {
	if !u.generalOnly {
		if n := u.liftConditions(j, f); n != nil {
			return n
		}
		if n := u.liftAggregate(j, f); n != nil {
			return n
		}
	}
	d := u.domain(j.L, f)
	r, ds := d.push(j.R)
	on := append([]scalar.Expr(nil), j.On...)
	for i, c := range d.f {
		on = append(on, logical.NotDistinct(u.m.Ref(c), u.m.Ref(ds[i])))
	}
	return &logical.Join{Kind: j.Kind, L: j.L, R: r, On: on}
}
