package unnest

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
)

// domain is D of step 2c: the distinct values of the columns f of the left side.
type domain struct {
	u *unnester
	// f are the outer columns; node gives their distinct values as columns cols.
	f    []logical.ColID
	set  logical.ColSet
	node logical.Node
	cols []logical.ColID
	// loops are the recursive nodes into which D is being pushed: their working rows have its columns.
	loops map[int]bool
}

func (u *unnester) domain(l logical.Node, f logical.ColSet) *domain {
	d := &domain{u: u, f: f.Sorted(), set: f}
	// A column number is given in one place of a plan only.
	l, ren := logical.Renumber(u.m, l)
	p := &logical.Project{In: l}
	for _, c := range d.f {
		id := u.m.Copy(c)
		d.cols = append(d.cols, id)
		p.Exprs = append(p.Exprs, logical.ProjCol{ID: id, Expr: u.m.Ref(ren(c))})
	}
	d.node = &logical.Agg{In: p, Keys: d.cols}
	return d
}

// fresh gives D under new column numbers.
func (d *domain) fresh() (logical.Node, []logical.ColID) {
	node, ren := logical.Renumber(d.u.m, d.node)
	var ids []logical.ColID
	for _, c := range d.cols {
		ids = append(ids, ren(c))
	}
	return node, ids
}

// subst maps the outer columns to ds.
func (d *domain) subst(ds []logical.ColID) map[logical.ColID]scalar.Expr {
	m := map[logical.ColID]scalar.Expr{}
	for i, c := range d.f {
		m[c] = d.u.m.Ref(ds[i])
	}
	return m
}

func (d *domain) equal(a, b []logical.ColID) []scalar.Expr {
	var es []scalar.Expr
	for i := range a {
		es = append(es, logical.NotDistinct(d.u.m.Ref(a[i]), d.u.m.Ref(b[i])))
	}
	return es
}

func (d *domain) pass(p *logical.Project, ids []logical.ColID) {
	for _, c := range ids {
		p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: d.u.m.Ref(c)})
	}
}

func (d *domain) uses(n logical.Node) bool { return logical.Free(n).Meets(d.set) || d.works(n) }

// works tells whether n reads working rows that have D's columns.
func (d *domain) works(n logical.Node) bool {
	for id := range d.loops {
		if logical.References(n, id) > 0 {
			return true
		}
	}
	return false
}

// push gives D x n without outer columns of D: the columns of n and, as ds, those of D.
func (d *domain) push(n logical.Node) (logical.Node, []logical.ColID) {
	if !d.uses(n) {
		node, ds := d.fresh()
		return &logical.Join{Kind: logical.Inner, L: node, R: n}, ds
	}
	switch n := n.(type) {
	case *logical.Filter:
		in, ds := d.push(n.In)
		return &logical.Filter{In: in, Preds: logical.ReplaceAll(n.Preds, d.subst(ds))}, ds
	case *logical.Project:
		in, ds := d.push(n.In)
		m := d.subst(ds)
		p := &logical.Project{In: in}
		for _, e := range n.Exprs {
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: e.ID, Expr: logical.ReplaceCols(e.Expr, m)})
		}
		d.pass(p, ds)
		return p, ds
	case *logical.Values:
		return d.push(d.u.valuesAsProjects(n))
	case *logical.Agg:
		in, ds := d.push(n.In)
		if len(n.Keys) > 0 {
			return &logical.Agg{In: in, Keys: addKeys(n.Keys, ds), Aggs: n.Aggs}, ds
		}
		// One row for each value of D, also where no row was aggregated.
		grouped := &logical.Agg{In: in, Keys: ds}
		node, all := d.fresh()
		p := &logical.Project{In: &logical.Join{Kind: logical.Left, L: node, R: grouped, On: d.equal(all, ds)}}
		d.pass(p, all)
		for _, a := range n.Aggs {
			raw := a
			e := d.u.overEmpty(&raw)
			grouped.Aggs = append(grouped.Aggs, raw)
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: a.ID, Expr: e})
		}
		return p, all
	case *logical.TopN:
		in, ds := d.push(n.In)
		t := *n
		t.In, t.GroupBy = in, addKeys(n.GroupBy, ds)
		return &t, ds
	case *logical.Window:
		in, ds := d.push(n.In)
		w := *n
		w.In, w.Partition = in, addKeys(n.Partition, ds)
		return &w, ds
	case *logical.Max1Row:
		in, ds := d.push(n.In)
		return &logical.Max1Row{In: in, GroupBy: addKeys(n.GroupBy, ds)}, ds
	case *logical.Lock:
		in, ds := d.push(n.In)
		return n.WithInputs([]logical.Node{in}), ds
	case *logical.Session:
		in, ds := d.push(n.In)
		s := *n
		s.In, s.Partition = in, addKeys(n.Partition, ds)
		return &s, ds
	case *logical.Hop:
		in, ds := d.push(n.In)
		return n.WithInputs([]logical.Node{in}), ds
	case *logical.ProjectSet:
		in, ds := d.push(n.In)
		m := d.subst(ds)
		p := *n
		p.In, p.Funcs = in, nil
		for _, f := range n.Funcs {
			f.Args = logical.ReplaceAll(f.Args, m)
			p.Funcs = append(p.Funcs, f)
		}
		return &p, ds
	case *logical.UnionAll:
		out := *n
		out.Ins, out.Map = nil, nil
		out.Out = append([]logical.ColID(nil), n.Out...)
		var ids []logical.ColID
		for _, c := range d.cols {
			ids = append(ids, d.u.m.Copy(c))
		}
		out.Out = append(out.Out, ids...)
		for i, in := range n.Ins {
			x, ds := d.push(in)
			out.Ins = append(out.Ins, x)
			out.Map = append(out.Map, append(append([]logical.ColID(nil), n.Map[i]...), ds...))
		}
		return &out, ids
	case *logical.Join:
		return d.pushJoin(n)
	case *logical.Recursive:
		return d.pushRecursive(n)
	case *logical.Working:
		w := *n
		ds := d.copies()
		w.Out = append(append([]logical.ColID(nil), n.Out...), ds...)
		return &w, ds
	}
	panic("unnest: unknown node")
}

func (d *domain) copies() []logical.ColID {
	var ids []logical.ColID
	for _, c := range d.cols {
		ids = append(ids, d.u.m.Copy(c))
	}
	return ids
}

// pushRecursive lets one recursion work for all values of D, side by side.
func (d *domain) pushRecursive(n *logical.Recursive) (logical.Node, []logical.ColID) {
	out := *n
	base, bs := d.push(n.Base)
	if d.loops == nil {
		d.loops = map[int]bool{}
	}
	d.loops[n.ID] = true
	step, ss := d.push(n.Step)
	delete(d.loops, n.ID)
	ids := d.copies()
	out.Base, out.Step = base, step
	out.Out = append(append([]logical.ColID(nil), n.Out...), ids...)
	out.BaseMap = append(append([]logical.ColID(nil), n.BaseMap...), bs...)
	out.StepMap = append(append([]logical.ColID(nil), n.StepMap...), ss...)
	return &out, ids
}

func (d *domain) pushJoin(n *logical.Join) (logical.Node, []logical.ColID) {
	left, right := d.uses(n.L), d.uses(n.R)
	out := &logical.Join{Kind: n.Kind}
	var ds, more []logical.ColID
	switch n.Kind {
	case logical.Inner:
		switch {
		case left && right:
			out.L, ds = d.push(n.L)
			out.R, more = d.push(n.R)
		case right:
			out.L = n.L
			out.R, ds = d.push(n.R)
		default:
			out.L, ds = d.push(n.L)
			out.R = n.R
		}
	case logical.Left, logical.Semi, logical.Anti:
		out.L, ds = d.push(n.L)
		out.R = n.R
		if right {
			out.R, more = d.push(n.R)
		}
	case logical.Right:
		out.R, ds = d.push(n.R)
		out.L = n.L
		if left {
			out.L, more = d.push(n.L)
		}
	case logical.Full:
		out.L, ds = d.push(n.L)
		out.R, more = d.push(n.R)
	}
	out.On = logical.ReplaceAll(n.On, d.subst(ds))
	if n.Kind == logical.Full {
		// A row without partner has the values of D on one side only. The condition sees both.
		out.On = append(out.On, d.equal(ds, more)...)
		p := &logical.Project{In: out}
		d.pass(p, n.Cols())
		var ids []logical.ColID
		for i := range ds {
			id := d.u.m.Copy(ds[i])
			ids = append(ids, id)
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: id, Expr: &scalar.Coalesce{
				Node: scalar.Node{T: d.u.m.Type(id), Pos: -1}, Args: []scalar.Expr{d.u.m.Ref(ds[i]), d.u.m.Ref(more[i])}}})
		}
		return p, ids
	}
	if more != nil {
		out.On = append(out.On, d.equal(ds, more)...)
	}
	return out, ds
}
