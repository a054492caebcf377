package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
)

// PushDown moves conditions towards the leaves: through projections, aggregates (on keys), windows (on
// partitions), unions, set-returning functions, and into the sides of joins as far as the kind of the
// join allows. A condition over both sides of an inner join becomes a join condition.
func PushDown(e *Env, n logical.Node) logical.Node { return e.push(n, nil) }

func filter(n logical.Node, ps []scalar.Expr) logical.Node {
	if len(ps) == 0 {
		return n
	}
	return &logical.Filter{In: n, Preds: ps}
}

// split divides ps by whether their columns are within set.
func split(ps []scalar.Expr, set logical.ColSet) (in, out []scalar.Expr) {
	for _, p := range ps {
		if logical.ColsOf(p).Within(set) && !logical.Volatile(p) {
			in = append(in, p)
		} else {
			out = append(out, p)
		}
	}
	return in, out
}

// push gives Filter(n, ps) with everything pushed.
func (e *Env) push(n logical.Node, ps []scalar.Expr) logical.Node {
	switch n := n.(type) {
	case *logical.Filter:
		return e.push(n.In, dedup(append(append([]scalar.Expr(nil), n.Preds...), ps...)))
	case *logical.Project:
		m := map[logical.ColID]scalar.Expr{}
		volatile := logical.ColSet{}
		for _, x := range n.Exprs {
			m[x.ID] = x.Expr
			if logical.Volatile(x.Expr) {
				volatile.Add(x.ID)
			}
		}
		var down, stay []scalar.Expr
		for _, p := range ps {
			if logical.ColsOf(p).Meets(volatile) || logical.Volatile(p) {
				stay = append(stay, p)
			} else {
				down = append(down, logical.ReplaceCols(p, m))
			}
		}
		return filter(&logical.Project{In: e.push(n.In, down), Exprs: n.Exprs}, stay)
	case *logical.Join:
		return e.pushJoin(n, ps)
	case *logical.Agg:
		if len(n.Keys) == 0 {
			break
		}
		down, stay := split(ps, logical.SetOf(n.Keys...))
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.TopN:
		set := logical.SetOf(n.GroupBy...)
		if n.Limit == nil && n.Offset == nil && n.Rank == 0 {
			set = logical.OutSet(n)
		}
		down, stay := split(ps, set)
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.Window:
		down, stay := split(ps, logical.SetOf(n.Partition...))
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.Hop:
		down, stay := split(ps, logical.OutSet(n.In))
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.Session:
		down, stay := split(ps, logical.SetOf(n.Partition...))
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.Lookup:
		down, stay := split(ps, logical.OutSet(n.In))
		if n.Kind == logical.Inner {
			ours, on := split(n.On, logical.OutSet(n.In))
			c := *n
			c.On = on
			n, down = &c, append(down, ours...)
		}
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.ProjectSet:
		down, stay := split(ps, logical.OutSet(n.In))
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.Lock:
		// Rows that do not pass need not be locked.
		down, stay := split(ps, logical.OutSet(n.In))
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.Max1Row:
		down, stay := split(ps, logical.SetOf(n.GroupBy...))
		return filter(n.WithInputs([]logical.Node{e.push(n.In, down)}), stay)
	case *logical.UnionAll:
		down, stay := split(ps, logical.SetOf(n.Out...))
		ins := make([]logical.Node, len(n.Ins))
		for k, in := range n.Ins {
			m := map[logical.ColID]scalar.Expr{}
			for i, c := range n.Out {
				m[c] = e.Meta.Ref(n.Map[k][i])
			}
			ins[k] = e.push(in, logical.ReplaceAll(down, m))
		}
		return filter(n.WithInputs(ins), stay)
	}
	ins := n.Inputs()
	nins := make([]logical.Node, len(ins))
	for i, in := range ins {
		nins[i] = e.push(in, nil)
	}
	return filter(n.WithInputs(nins), ps)
}

func (e *Env) pushJoin(n *logical.Join, ps []scalar.Expr) logical.Node {
	ls, rs := logical.OutSet(n.L), logical.OutSet(n.R)
	out := *n
	var l, r, stay []scalar.Expr
	on := n.On
	switch n.Kind {
	case logical.Inner:
		var volatile []scalar.Expr
		all := append(append([]scalar.Expr(nil), on...), ps...)
		on = nil
		for _, p := range all {
			if logical.Volatile(p) {
				volatile = append(volatile, p)
			} else {
				on = append(on, p)
			}
		}
		on = e.transitive(dedup(on), ls, rs)
		l, on = split(on, ls)
		r, on = split(on, rs)
		stay = volatile
	case logical.Semi:
		l, stay = split(ps, ls)
		var ol []scalar.Expr
		on = e.transitive(dedup(on), ls, rs)
		ol, on = split(on, ls)
		l = append(l, ol...)
		r, on = split(on, rs)
	case logical.Anti:
		l, stay = split(ps, ls)
		r, on = split(on, rs)
	case logical.Left:
		l, stay = split(ps, ls)
		r, on = split(on, rs)
	case logical.Right:
		r, stay = split(ps, rs)
		l, on = split(on, ls)
	case logical.Full:
		stay = ps
	}
	out.On = on
	out.L, out.R = e.push(n.L, l), e.push(n.R, r)
	return filter(&out, stay)
}

// transitive adds b = c where a = b and a = c are there, a and b columns of different sides and c a
// constant or parameter, so that both sides are cut down.
func (e *Env) transitive(on []scalar.Expr, ls, rs logical.ColSet) []scalar.Expr {
	out := on
	for _, p := range on {
		a, b, ok := prop.Equality(p)
		eq, isCall := p.(*scalar.Call)
		if !ok || !isCall {
			continue
		}
		ac, aok := a.(*scalar.Column)
		bc, bok := b.(*scalar.Column)
		if !aok || !bok || ls.Has(ac.Index) == ls.Has(bc.Index) || ac.T != bc.T {
			continue
		}
		for _, q := range on {
			x, y, ok := prop.Equality(q)
			qc, isCall := q.(*scalar.Call)
			if !ok || !isCall || qc.Fn != eq.Fn {
				continue
			}
			for range 2 {
				if xc, isCol := x.(*scalar.Column); isCol && constant(y) && y.Type() == ac.T {
					if xc.Index == ac.Index {
						out = append(out, &scalar.Call{Node: qc.Node, Fn: qc.Fn, Args: []scalar.Expr{bc, y}})
					} else if xc.Index == bc.Index {
						out = append(out, &scalar.Call{Node: qc.Node, Fn: qc.Fn, Args: []scalar.Expr{ac, y}})
					}
				}
				x, y = y, x
			}
		}
	}
	return dedup(out)
}

func constant(x scalar.Expr) bool {
	switch x.(type) {
	case *scalar.Const, *scalar.Param:
		return true
	}
	return false
}
