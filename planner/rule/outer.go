package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
)

// OuterToInner makes an outer join an inner one (or a full join a one-sided one) where rows without a
// partner are thrown away above anyway, because a condition is not true when the partner's columns
// are NULL.
func OuterToInner(e *Env, n logical.Node) logical.Node { return strengthen(n, logical.ColSet{}) }

// strengthen rebuilds n; rows in which a column of rejected is NULL do not matter to the consumer.
func strengthen(n logical.Node, rejected logical.ColSet) logical.Node {
	one := func(in logical.Node, r logical.ColSet) logical.Node {
		if x := strengthen(in, r); x != in {
			return n.WithInputs([]logical.Node{x})
		}
		return n
	}
	switch n := n.(type) {
	case *logical.Filter:
		r := plus(rejected, n.Preds)
		return one(n.In, r)
	case *logical.Project:
		r := logical.ColSet{}
		for _, x := range n.Exprs {
			if rejected.Has(x.ID) {
				// x IS NOT NULL is what is known.
				prop.Rejects(&scalar.IsNull{X: x.Expr, Not: true}, r)
			}
		}
		return one(n.In, r)
	case *logical.Join:
		out := *n
		ls, rs := logical.OutSet(n.L), logical.OutSet(n.R)
		padL := n.Kind == logical.Right || n.Kind == logical.Full
		padR := n.Kind == logical.Left || n.Kind == logical.Full
		if padR && rejected.Meets(rs) {
			padR = false
		}
		if padL && rejected.Meets(ls) {
			padL = false
		}
		switch n.Kind {
		case logical.Left, logical.Right, logical.Full:
			switch {
			case padL && padR:
				out.Kind = logical.Full
			case padL:
				out.Kind = logical.Right
			case padR:
				out.Kind = logical.Left
			default:
				out.Kind = logical.Inner
			}
		}
		on := plus(logical.ColSet{}, n.On)
		l, r := logical.ColSet{}, logical.ColSet{}
		// A side that is kept whole is restricted by the consumer only, the other one by the
		// condition too.
		switch out.Kind {
		case logical.Inner:
			both := plus(rejected, n.On)
			l, r = both.And(ls), both.And(rs)
		case logical.Left:
			l, r = rejected.And(ls), on.And(rs)
		case logical.Right:
			l, r = on.And(ls), rejected.And(rs)
		case logical.Semi:
			l, r = plus(rejected, n.On).And(ls), on.And(rs)
		case logical.Anti:
			l, r = rejected.And(ls), on.And(rs)
		}
		out.L, out.R = strengthen(n.L, l), strengthen(n.R, r)
		return &out
	case *logical.Agg:
		return one(n.In, rejected.And(logical.SetOf(n.Keys...)))
	case *logical.TopN:
		if n.Limit == nil && n.Offset == nil && n.Rank == 0 {
			return one(n.In, rejected)
		}
		return one(n.In, rejected.And(logical.SetOf(n.GroupBy...)))
	case *logical.Window:
		return one(n.In, rejected.And(logical.SetOf(n.Partition...)))
	case *logical.Hop:
		r := rejected.And(logical.OutSet(n.In))
		r.Add(n.Time)
		return one(n.In, r)
	case *logical.Session:
		r := rejected.And(logical.SetOf(n.Partition...))
		r.Add(n.Time)
		return one(n.In, r)
	case *logical.ProjectSet:
		return one(n.In, rejected.And(logical.OutSet(n.In)))
	case *logical.UnionAll:
		ins := make([]logical.Node, len(n.Ins))
		for k, in := range n.Ins {
			r := logical.ColSet{}
			for i, c := range n.Out {
				if rejected.Has(c) {
					r.Add(n.Map[k][i])
				}
			}
			ins[k] = strengthen(in, r)
		}
		return n.WithInputs(ins)
	case *logical.Max1Row:
		return one(n.In, rejected.And(logical.SetOf(n.GroupBy...)))
	case *logical.Recursive:
		// What the consumer rejects may lead to rows that it does not reject.
		return n.WithInputs([]logical.Node{strengthen(n.Base, logical.ColSet{}), strengthen(n.Step, logical.ColSet{})})
	}
	return n
}

func plus(set logical.ColSet, ps []scalar.Expr) logical.ColSet {
	r := logical.ColSet{}
	r.AddSet(set)
	for _, p := range ps {
		prop.Rejects(p, r)
	}
	return r
}
