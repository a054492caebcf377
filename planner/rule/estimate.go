package rule

import (
	"math"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
)

// Guesses of what part of the rows passes a condition of which nothing is known but its form.
const (
	guessRange   = 1.0 / 3
	guessLike    = 1.0 / 20
	guessNull    = 1.0 / 20
	guessOther   = 1.0 / 3
	guessSemi    = 1.0 / 2
	guessValues  = 30 // different values that a column has at most, if it is not unique
	guessSetRows = 10
)

// estimator guesses how many rows nodes have, from the number of rows of relations and from keys. There are no statistics of values.
type estimator struct {
	rows func(*catalog.Relation) float64
	seen map[logical.Node]float64
}

func newEstimator(rows func(*catalog.Relation) float64) *estimator {
	return &estimator{rows: rows, seen: map[logical.Node]float64{}}
}

// count guesses the number of rows of n, which is at least 1.
func (e *estimator) count(n logical.Node) float64 {
	if r, ok := e.seen[n]; ok {
		return r
	}
	r := max(1, e.guess(n))
	e.seen[n] = r
	return r
}

func (e *estimator) guess(n logical.Node) float64 {
	switch n := n.(type) {
	case *logical.Scan:
		return e.rows(n.Rel)
	case *logical.Values:
		return float64(len(n.Rows))
	case *logical.Filter:
		r := e.count(n.In)
		for _, p := range n.Preds {
			r *= e.passing(n.In, p)
		}
		return r
	case *logical.Join:
		return e.join(n)
	case *logical.Agg:
		r := e.count(n.In)
		if len(n.Keys) == 0 {
			return 1
		}
		groups := 1.0
		for _, k := range n.Keys {
			groups *= e.values(n.In, k)
		}
		return min(r, groups)
	case *logical.TopN:
		r := e.count(n.In)
		if c, ok := n.Limit.(*scalar.Const); ok && c.Val.Valid && len(n.GroupBy) == 0 {
			return min(r, float64(c.Val.I))
		}
		return r
	case *logical.UnionAll:
		r := 0.0
		for _, in := range n.Ins {
			r += e.count(in)
		}
		return r
	case *logical.ProjectSet:
		return e.count(n.In) * guessSetRows
	case *logical.Recursive:
		return (e.count(n.Base) + 1) * guessSetRows
	case *logical.Working:
		return guessSetRows
	}
	if ins := n.Inputs(); len(ins) == 1 {
		return e.count(ins[0])
	}
	return guessSetRows
}

func (e *estimator) join(n *logical.Join) float64 {
	l, r := e.count(n.L), e.count(n.R)
	switch n.Kind {
	case logical.Semi, logical.Anti:
		return l * guessSemi
	}
	out := l * r
	for _, p := range n.On {
		out *= e.linking(n.L, n.R, p)
	}
	switch n.Kind {
	case logical.Left:
		return max(out, l)
	case logical.Right:
		return max(out, r)
	case logical.Full:
		return max(out, l+r)
	}
	return out
}

// linking guesses what part of all pairs of two nodes passes a condition.
func (e *estimator) linking(l, r logical.Node, p scalar.Expr) float64 {
	a, b, ok := prop.Equality(p)
	if !ok {
		return guessOther
	}
	values := 1.0
	for _, x := range []scalar.Expr{a, b} {
		if c, ok := x.(*scalar.Column); ok {
			for _, n := range []logical.Node{l, r} {
				if logical.OutSet(n).Has(c.Index) {
					values = max(values, e.values(n, c.Index))
				}
			}
		}
	}
	return 1 / values
}

// values guesses how many different values a column of n has.
func (e *estimator) values(n logical.Node, c logical.ColID) float64 {
	if prop.Unique(n, logical.SetOf(c)) {
		return e.count(n)
	}
	return min(e.count(n), max(guessValues, math.Sqrt(e.count(unfiltered(n)))))
}

// unfiltered is n without the conditions on top of it.
func unfiltered(n logical.Node) logical.Node {
	for {
		f, ok := n.(*logical.Filter)
		if !ok {
			return n
		}
		n = f.In
	}
}

// passing guesses what part of the rows of n passes a condition.
func (e *estimator) passing(n logical.Node, p scalar.Expr) float64 {
	switch p := p.(type) {
	case *scalar.Const:
		if p.Val.Valid && p.Val.I != 0 {
			return 1
		}
		return 0
	case *scalar.And:
		r := 1.0
		for _, a := range p.Args {
			r *= e.passing(n, a)
		}
		return r
	case *scalar.Or:
		r := 1.0
		for _, a := range p.Args {
			r *= 1 - e.passing(n, a)
		}
		return 1 - r
	case *scalar.Not:
		return 1 - e.passing(n, p.X)
	case *scalar.IsNull:
		return orNot(guessNull, p.Not)
	case *scalar.In:
		return orNot(min(1, float64(len(p.List))*e.equal(n, p.X)), p.Not)
	case *scalar.Distinct:
		return orNot(e.equal(n, p.L, p.R), !p.Not)
	case *scalar.Call:
		if len(p.Args) != 2 {
			break
		}
		switch p.Fn.Name {
		case "=":
			return e.equal(n, p.Args...)
		case "<>":
			return 1 - e.equal(n, p.Args...)
		case "<", "<=", ">", ">=":
			return guessRange
		case "~~", "~~*", "~", "~*":
			return guessLike
		case "!~~", "!~~*", "!~", "!~*":
			return 1 - guessLike
		}
	}
	return guessOther
}

func orNot(r float64, not bool) float64 {
	if not {
		return 1 - r
	}
	return r
}

// equal guesses how often one of the expressions, if it is a column, has a certain value.
func (e *estimator) equal(n logical.Node, xs ...scalar.Expr) float64 {
	for _, x := range xs {
		if c, ok := x.(*scalar.Column); ok && logical.OutSet(n).Has(c.Index) {
			if prop.Unique(n, logical.SetOf(c.Index)) {
				return 1 / e.count(n)
			}
			return 1 / min(e.count(n), guessValues)
		}
	}
	return 1.0 / guessValues
}
