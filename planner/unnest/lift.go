package unnest

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
)

// lifted is a plan without the outer columns F, and the conditions that used them.
type lifted struct {
	node  logical.Node
	preds []scalar.Expr
}

// liftConditions is step 2a, or nil if R is not of that form.
func (u *unnester) liftConditions(j *logical.Join, f logical.ColSet) logical.Node {
	r := j.R
	on := j.On
	if j.Kind == logical.Semi || j.Kind == logical.Anti {
		// Only whether a row exists counts: projections and duplicates do not matter.
		r, on = u.stripForExists(r, on, f)
	}
	if j.Kind == logical.Inner {
		if p, ok := r.(*logical.ProjectSet); ok && !logical.Free(p.In).Meets(f) && prop.AtMostOne(p.In) && len(p.In.Cols()) == 0 {
			// A set-returning function of the left side's columns is called for each of its rows.
			if v, one := p.In.(*logical.Values); one && len(v.Rows) == 1 {
				c := *p
				c.In = j.L
				if len(on) == 0 {
					return &c
				}
				return &logical.Filter{In: &c, Preds: on}
			}
		}
		if p, ok := r.(*logical.Project); ok && usesAny(p, f) {
			// Computed columns that use F are computed above the join.
			l, ok := u.lift(p.In, f)
			if !ok {
				return nil
			}
			m := map[logical.ColID]scalar.Expr{}
			join := &logical.Join{Kind: logical.Inner, L: j.L, R: l.node}
			out := &logical.Project{In: join}
			for _, c := range j.L.Cols() {
				out.Exprs = append(out.Exprs, logical.ProjCol{ID: c, Expr: u.m.Ref(c)})
			}
			for _, e := range p.Exprs {
				m[e.ID] = e.Expr
				out.Exprs = append(out.Exprs, e)
			}
			join.On = append(logical.ReplaceAll(on, m), l.preds...)
			return out
		}
	}
	if p, ok := r.(*logical.Project); ok && j.Kind == logical.Left && len(on) == 0 {
		if out := u.overEachRow(j.L, p); out != nil {
			return out
		}
	}
	l, ok := u.lift(r, f)
	if !ok {
		return nil
	}
	return &logical.Join{Kind: j.Kind, L: j.L, R: l.node, On: append(append([]scalar.Expr(nil), on...), l.preds...)}
}

// overEachRow computes a SELECT without FROM for each row of l; nil if p is not one.
func (u *unnester) overEachRow(l logical.Node, p *logical.Project) logical.Node {
	var in logical.Node
	switch x := p.In.(type) {
	case *logical.Values:
		if len(x.Rows) == 1 && len(x.Out) == 0 {
			in = l
		}
	case *logical.Project:
		in = u.overEachRow(l, x)
	}
	if in == nil {
		return nil
	}
	out := &logical.Project{In: in}
	for _, c := range l.Cols() {
		out.Exprs = append(out.Exprs, logical.ProjCol{ID: c, Expr: u.m.Ref(c)})
	}
	out.Exprs = append(out.Exprs, p.Exprs...)
	return out
}

// usesAny tells whether an expression of n itself uses f.
func usesAny(n logical.Node, f logical.ColSet) bool {
	return logical.ColsOf(logical.NodeExprs(n)...).Meets(f)
}

// stripForExists removes what does not change whether a row with the condition on exists.
func (u *unnester) stripForExists(r logical.Node, on []scalar.Expr, f logical.ColSet) (logical.Node, []scalar.Expr) {
	for {
		switch n := r.(type) {
		case *logical.Project:
			m := map[logical.ColID]scalar.Expr{}
			volatile := false
			for _, e := range n.Exprs {
				m[e.ID] = e.Expr
				volatile = volatile || logical.Volatile(e.Expr)
			}
			if volatile {
				return r, on
			}
			on = logical.ReplaceAll(on, m)
			r = n.In
		case *logical.Agg:
			if len(n.Aggs) > 0 || len(n.Keys) == 0 {
				return r, on
			}
			r = n.In
		default:
			return r, on
		}
	}
}

// lift removes the outer columns f from n by lifting the conditions that use them; ok is false if they are
// used otherwise. The columns that lifted conditions need are output columns of the result.
func (u *unnester) lift(n logical.Node, f logical.ColSet) (lifted, bool) {
	if !logical.Free(n).Meets(f) {
		return lifted{node: n}, true
	}
	switch n := n.(type) {
	case *logical.Filter:
		in, ok := u.lift(n.In, f)
		if !ok {
			return lifted{}, false
		}
		out := lifted{node: in.node, preds: in.preds}
		var keep []scalar.Expr
		for _, p := range n.Preds {
			if logical.ColsOf(p).Meets(f) {
				out.preds = append(out.preds, p)
			} else {
				keep = append(keep, p)
			}
		}
		if len(keep) > 0 {
			out.node = &logical.Filter{In: in.node, Preds: keep}
		}
		return out, true
	case *logical.Project:
		if usesAny(n, f) {
			return lifted{}, false
		}
		in, ok := u.lift(n.In, f)
		if !ok {
			return lifted{}, false
		}
		have := logical.OutSet(n)
		need := logical.ColsOf(in.preds...).And(logical.OutSet(in.node))
		p := &logical.Project{In: in.node, Exprs: append([]logical.ProjCol(nil), n.Exprs...)}
		for _, c := range need.Sorted() {
			if !have.Has(c) {
				p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: u.m.Ref(c)})
			}
		}
		return lifted{p, in.preds}, true
	case *logical.Join:
		return u.liftJoin(n, f)
	case *logical.Agg:
		if len(n.Keys) == 0 {
			return lifted{}, false
		}
		in, xs, ok := u.liftEqualities(n.In, f)
		if !ok {
			return lifted{}, false
		}
		a := &logical.Agg{In: in.node, Keys: addKeys(n.Keys, xs), Aggs: n.Aggs}
		return lifted{a, in.preds}, true
	case *logical.TopN:
		in, xs, ok := u.liftEqualities(n.In, f)
		if !ok {
			return lifted{}, false
		}
		t := *n
		t.In, t.GroupBy = in.node, addKeys(n.GroupBy, xs)
		return lifted{&t, in.preds}, true
	case *logical.Window:
		in, xs, ok := u.liftEqualities(n.In, f)
		if !ok {
			return lifted{}, false
		}
		w := *n
		w.In, w.Partition = in.node, addKeys(n.Partition, xs)
		return lifted{&w, in.preds}, true
	case *logical.Session:
		in, xs, ok := u.liftEqualities(n.In, f)
		if !ok {
			return lifted{}, false
		}
		s := *n
		s.In, s.Partition = in.node, addKeys(n.Partition, xs)
		return lifted{&s, in.preds}, true
	case *logical.Hop:
		in, ok := u.lift(n.In, f)
		if !ok {
			return lifted{}, false
		}
		return lifted{n.WithInputs([]logical.Node{in.node}), in.preds}, true
	case *logical.ProjectSet:
		if usesAny(n, f) {
			return lifted{}, false
		}
		in, ok := u.lift(n.In, f)
		if !ok {
			return lifted{}, false
		}
		return lifted{n.WithInputs([]logical.Node{in.node}), in.preds}, true
	}
	return lifted{}, false
}

func addKeys(keys, more []logical.ColID) []logical.ColID {
	have := logical.SetOf(keys...)
	out := append([]logical.ColID(nil), keys...)
	for _, k := range more {
		if !have.Has(k) {
			have.Add(k)
			out = append(out, k)
		}
	}
	return out
}

func (u *unnester) liftJoin(n *logical.Join, f logical.ColSet) (lifted, bool) {
	onUses := usesAny(n, f)
	switch n.Kind {
	case logical.Inner:
		l, ok := u.lift(n.L, f)
		if !ok {
			return lifted{}, false
		}
		r, ok := u.lift(n.R, f)
		if !ok {
			return lifted{}, false
		}
		out := lifted{preds: append(append([]scalar.Expr(nil), l.preds...), r.preds...)}
		var keep []scalar.Expr
		for _, p := range n.On {
			if logical.ColsOf(p).Meets(f) {
				out.preds = append(out.preds, p)
			} else {
				keep = append(keep, p)
			}
		}
		out.node = &logical.Join{Kind: logical.Inner, L: l.node, R: r.node, On: keep}
		return out, true
	case logical.Left, logical.Semi, logical.Anti:
		if onUses || logical.Free(n.R).Meets(f) {
			return lifted{}, false
		}
		l, ok := u.lift(n.L, f)
		if !ok {
			return lifted{}, false
		}
		return lifted{&logical.Join{Kind: n.Kind, L: l.node, R: n.R, On: n.On}, l.preds}, true
	}
	return lifted{}, false
}

// liftEqualities lifts conditions that are all of the form inner = outer, so that grouping by the
// inner sides gives the same groups. The result's preds compare the columns xs.
func (u *unnester) liftEqualities(n logical.Node, f logical.ColSet) (lifted, []logical.ColID, bool) {
	in, ok := u.lift(n, f)
	if !ok {
		return lifted{}, nil, false
	}
	out := lifted{node: in.node}
	have := logical.OutSet(in.node)
	var xs []logical.ColID
	var computed []logical.ProjCol
	for _, p := range in.preds {
		l, r, ok := prop.Equality(p)
		if !ok {
			return lifted{}, nil, false
		}
		lc, rc := logical.ColsOf(l), logical.ColsOf(r)
		inner, outer := l, r
		switch {
		case len(lc) > 0 && lc.Within(have) && !rc.Meets(have):
		case len(rc) > 0 && rc.Within(have) && !lc.Meets(have):
			inner, outer = r, l
		default:
			return lifted{}, nil, false
		}
		var x logical.ColID
		if c, isCol := inner.(*scalar.Column); isCol && c.T == u.m.Type(c.Index) {
			x = c.Index
		} else {
			if logical.Volatile(inner) {
				return lifted{}, nil, false
			}
			x = u.m.New("key", inner.Type())
			computed = append(computed, logical.ProjCol{ID: x, Expr: inner})
		}
		xs = append(xs, x)
		switch q := p.(type) {
		case *scalar.Call:
			c := *q
			c.Args = []scalar.Expr{u.m.Ref(x), outer}
			out.preds = append(out.preds, &c)
		default:
			out.preds = append(out.preds, logical.NotDistinct(u.m.Ref(x), outer))
		}
	}
	if len(computed) > 0 {
		p := &logical.Project{In: out.node}
		for _, c := range out.node.Cols() {
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: u.m.Ref(c)})
		}
		p.Exprs = append(p.Exprs, computed...)
		out.node = p
	}
	return out, xs, true
}

// liftAggregate is step 2b, or nil: R is projections and filters over an aggregate without keys. Where
// the conditions are not equalities, the input of the aggregate goes through step 2c.
func (u *unnester) liftAggregate(j *logical.Join, f logical.ColSet) logical.Node {
	if j.Kind != logical.Left && j.Kind != logical.Inner || len(j.On) > 0 {
		return nil
	}
	var above []logical.Node
	r := j.R
	for {
		switch n := r.(type) {
		case *logical.Project:
			above, r = append(above, n), n.In
			continue
		case *logical.Filter:
			above, r = append(above, n), n.In
			continue
		case *logical.Max1Row:
			r = n.In
			continue
		}
		break
	}
	agg, ok := r.(*logical.Agg)
	if !ok || len(agg.Keys) > 0 || len(agg.Aggs) == 0 {
		return nil
	}
	in, xs, ok := u.liftEqualities(agg.In, f)
	if !ok {
		// Over the distinct outer values then; rows without a group are the same.
		d := u.domain(j.L, f)
		in.node, xs = d.push(agg.In)
		in.preds = d.equal(d.f, xs)
	}
	grouped := &logical.Agg{In: in.node, Keys: addKeys(nil, xs)}
	join := &logical.Join{Kind: logical.Left, L: j.L, R: grouped, On: in.preds}
	p := &logical.Project{In: join}
	lcols := j.L.Cols()
	pass := func(p *logical.Project, ids []logical.ColID) {
		for _, c := range ids {
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: u.m.Ref(c)})
		}
	}
	pass(p, lcols)
	for _, a := range agg.Aggs {
		raw := a
		e := u.overEmpty(&raw)
		grouped.Aggs = append(grouped.Aggs, raw)
		p.Exprs = append(p.Exprs, logical.ProjCol{ID: a.ID, Expr: e})
	}
	var out logical.Node = p
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *logical.Project:
			q := &logical.Project{In: out}
			pass(q, lcols)
			q.Exprs = append(q.Exprs, n.Exprs...)
			out = q
		case *logical.Filter:
			if j.Kind == logical.Inner {
				out = &logical.Filter{In: out, Preds: n.Preds}
				continue
			}
			// The row stays, its values become NULL.
			q := &logical.Project{In: out}
			pass(q, lcols)
			m := map[logical.ColID]scalar.Expr{}
			for _, c := range n.In.Cols() {
				id := u.m.Copy(c)
				ref := u.m.Ref(c)
				q.Exprs = append(q.Exprs, logical.ProjCol{ID: id, Expr: &scalar.Case{Node: ref.Node,
					Whens: []scalar.When{{Cond: logical.Conj(n.Preds), Result: ref}}, Else: logical.NullConst(ref.T)}})
				m[c] = u.m.Ref(id)
			}
			// Expressions above see the guarded values; a column that is no longer computed there is NULL
			// because what it is computed from is guarded again at the top.
			out = q
			return u.guarded(out, above[:i], lcols, m, n)
		}
	}
	return out
}

// guarded finishes liftAggregate above a HAVING of a left join: all further columns are NULL where the
// condition failed.
func (u *unnester) guarded(in logical.Node, above []logical.Node, lcols []logical.ColID, m map[logical.ColID]scalar.Expr, f *logical.Filter) logical.Node {
	q := in.(*logical.Project)
	ok := u.m.New("having", boolNode().T)
	q.Exprs = append(q.Exprs, logical.ProjCol{ID: ok, Expr: logical.Conj(f.Preds)})
	out := in
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *logical.Project:
			p := &logical.Project{In: out}
			for _, c := range lcols {
				p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: u.m.Ref(c)})
			}
			next := map[logical.ColID]scalar.Expr{}
			for _, e := range n.Exprs {
				x := logical.ReplaceCols(e.Expr, m)
				p.Exprs = append(p.Exprs, logical.ProjCol{ID: e.ID, Expr: &scalar.Case{
					Node: scalar.Node{T: x.Type(), Pos: x.Position()}, Whens: []scalar.When{{Cond: u.m.Ref(ok), Result: x}}, Else: logical.NullConst(x.Type())}})
				next[e.ID] = u.m.Ref(e.ID)
			}
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: ok, Expr: u.m.Ref(ok)})
			m, out = next, p
		case *logical.Filter:
			// A second filter: fold it into the flag.
			p := &logical.Project{In: out}
			nok := u.m.New("having", boolNode().T)
			for _, c := range out.Cols() {
				p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: u.m.Ref(c)})
			}
			conds := append([]scalar.Expr{u.m.Ref(ok)}, logical.ReplaceAll(n.Preds, m)...)
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: nok, Expr: logical.Conj(conds)})
			ok, out = nok, p
		}
	}
	// Columns keep the numbers that the consumer knows: rename where the guard made copies.
	rename := false
	for c, e := range m {
		if r, isCol := e.(*scalar.Column); isCol && r.Index != c {
			rename = true
		}
	}
	if !rename {
		return out
	}
	p := &logical.Project{In: out}
	for _, c := range lcols {
		p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: u.m.Ref(c)})
	}
	ids := logical.ColSet{}
	for c := range m {
		ids.Add(c)
	}
	for _, c := range ids.Sorted() {
		x := m[c]
		p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: &scalar.Case{
			Node: scalar.Node{T: x.Type(), Pos: x.Position()}, Whens: []scalar.When{{Cond: u.m.Ref(ok), Result: x}}, Else: logical.NullConst(x.Type())}})
	}
	return p
}

// overEmpty gives a's value where a's group may be missing: NULL, or 0 for counts. *a gets a
// column of its own then.
func (u *unnester) overEmpty(a *logical.AggCol) scalar.Expr {
	if !prop.EmptyIsZero(a.Fn) {
		return u.m.Ref(a.ID)
	}
	id := a.ID
	a.ID = u.m.Copy(id)
	t := u.m.Type(id)
	zero := logical.Zero(t)
	return &scalar.Coalesce{Node: scalar.Node{T: t, Pos: -1}, Args: []scalar.Expr{u.m.Ref(a.ID), zero}}
}
