package rule

import (
	"github.com/weirdb/weir/planner/logical"
)

// Currents counts the joins that are Current.
func Currents(n logical.Node) int {
	k := 0
	if j, ok := n.(*logical.Join); ok && j.Current {
		k++
	}
	for _, in := range n.Inputs() {
		k += Currents(in)
	}
	return k
}

// Lookups turns the joins that are Current into Lookups, of which it gives the number.
func Lookups(n logical.Node) (logical.Node, int) {
	k := 0
	n = up(n, func(n logical.Node) logical.Node {
		j, ok := n.(*logical.Join)
		if !ok || !j.Current {
			return n
		}
		s, ok := j.R.(*logical.Scan)
		if !ok {
			return n
		}
		k++
		return &logical.Lookup{In: j.L, Kind: j.Kind, Rel: s.Rel, Ords: s.Ords, Out: s.Out, On: j.On, Pos: j.Pos}
	})
	return n, k
}

// Plain gives n with the joins that are Current as ordinary ones, which they are when a query is run once.
func Plain(n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		if j, ok := n.(*logical.Join); ok && j.Current {
			c := *j
			c.Current, c.Pos = false, 0
			return &c
		}
		return n
	})
}
