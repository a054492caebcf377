package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
)

// JoinOrder reorders chains of inner joins so that every join has a condition where that is possible: the
// relations are taken in the order in which they were written, but one that shares an equality
// with those already joined comes before one that does not. A chain that has no cross product
// is left as it is.
func JoinOrder(e *Env, n logical.Node) logical.Node {
	if j, ok := n.(*logical.Join); ok && j.Kind == logical.Inner {
		var rels []logical.Node
		var on []scalar.Expr
		crossed := false
		flatten(j, &rels, &on, &crossed)
		for i, r := range rels {
			rels[i] = JoinOrder(e, r)
		}
		if !crossed {
			return rebuild(j, rels)
		}
		return ordered(rels, on)
	}
	ins := n.Inputs()
	nins := make([]logical.Node, len(ins))
	changed := false
	for i, in := range ins {
		nins[i] = JoinOrder(e, in)
		changed = changed || nins[i] != in
	}
	if changed {
		return n.WithInputs(nins)
	}
	return n
}

func flatten(n logical.Node, rels *[]logical.Node, on *[]scalar.Expr, crossed *bool) {
	j, ok := n.(*logical.Join)
	if !ok || j.Kind != logical.Inner {
		*rels = append(*rels, n)
		return
	}
	flatten(j.L, rels, on, crossed)
	flatten(j.R, rels, on, crossed)
	if !linked(j.On, logical.OutSet(j.L), logical.OutSet(j.R)) {
		*crossed = true
	}
	*on = append(*on, j.On...)
}

// rebuild puts the leaves back into the shape of j.
func rebuild(n logical.Node, rels []logical.Node) logical.Node {
	i := 0
	var walk func(n logical.Node) logical.Node
	walk = func(n logical.Node) logical.Node {
		if j, ok := n.(*logical.Join); ok && j.Kind == logical.Inner {
			l := walk(j.L)
			r := walk(j.R)
			return j.WithInputs([]logical.Node{l, r})
		}
		i++
		return rels[i-1]
	}
	return walk(n)
}

// linked tells whether an equality connects the two sides.
func linked(on []scalar.Expr, l, r logical.ColSet) bool {
	for _, p := range on {
		a, b, ok := prop.Equality(p)
		if !ok {
			continue
		}
		ac, bc := logical.ColsOf(a), logical.ColsOf(b)
		if len(ac) == 0 || len(bc) == 0 {
			continue
		}
		if ac.Within(l) && bc.Within(r) || ac.Within(r) && bc.Within(l) {
			return true
		}
	}
	return false
}

func ordered(rels []logical.Node, on []scalar.Expr) logical.Node {
	cur := rels[0]
	have := logical.OutSet(cur)
	left := append([]logical.Node(nil), rels[1:]...)
	for len(left) > 0 {
		pick := -1
		for i, r := range left {
			if linked(on, have, logical.OutSet(r)) {
				pick = i
				break
			}
		}
		if pick < 0 {
			// Any condition is better than none.
			for i, r := range left {
				both := logical.ColSet{}
				both.AddSet(have)
				both.AddSet(logical.OutSet(r))
				for _, p := range on {
					c := logical.ColsOf(p)
					if c.Meets(have) && c.Meets(logical.OutSet(r)) && c.Within(both) && pick < 0 {
						pick = i
					}
				}
			}
		}
		if pick < 0 {
			pick = 0
		}
		r := left[pick]
		left = append(left[:pick], left[pick+1:]...)
		have.AddSet(logical.OutSet(r))
		join := &logical.Join{Kind: logical.Inner, L: cur, R: r}
		join.On, on = split(on, have)
		cur = join
	}
	return filter(cur, on)
}
