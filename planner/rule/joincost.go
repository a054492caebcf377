package rule

import (
	"math/bits"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// What a row costs in a join: to look it up, to keep it (of the right side), and to hand it on.
const (
	costProbe = 1
	costBuild = 2.5
	costOut   = 1
	// costSame is how much two costs differ at most that are taken as the same. Then the order of the text decides.
	costSame = 1e-6
	// maxJoined bounds the inputs of one chain of joins whose order is searched; the time grows with 3 to this power.
	maxJoined = 9
)

// JoinCost orders chains of inner joins, in plans that are run once, so that few rows are joined, and puts the side with fewer rows on the
// right, where it is kept. All orders are tried (dynamic programming over sets of inputs, as in Moerkotte and Neumann, "Analysis of two existing
// and one new dynamic programming algorithm", 2006), with guesses of rows by estimator. Equalities that follow from others are used too.
func JoinCost(e *Env, n logical.Node) logical.Node {
	if e.Rows == nil {
		return n
	}
	return (&joinCost{env: e, est: newEstimator(e.Rows)}).node(n)
}

type joinCost struct {
	env *Env
	est *estimator
}

func (j *joinCost) node(n logical.Node) logical.Node {
	if join, ok := n.(*logical.Join); ok && join.Kind == logical.Inner {
		var rels []logical.Node
		var on []scalar.Expr
		var crossed bool
		flatten(join, &rels, &on, &crossed)
		for i, r := range rels {
			rels[i] = j.node(r)
		}
		orFilters(rels, on)
		if len(rels) > maxJoined {
			return rebuild(join, rels)
		}
		return newJoinGraph(j.est, rels, on).best()
	}
	ins := n.Inputs()
	nins := make([]logical.Node, len(ins))
	changed := false
	for i, in := range ins {
		nins[i] = j.node(in)
		changed = changed || nins[i] != in
	}
	if changed {
		return n.WithInputs(nins)
	}
	return n
}

// relSet is a set of inputs of a chain.
type relSet uint

// joinGraph is a chain of inner joins: its inputs, and the conditions between them.
type joinGraph struct {
	rels []logical.Node
	cols []logical.ColSet
	rows []float64
	// classes are columns that are equal to each other, the other conditions are in preds.
	classes []eqClass
	preds   []joinPred
	keys    []compositeKey
	// late are conditions that come after all joins.
	late []scalar.Expr
	plan map[relSet]*joined
	est  *estimator
}

// eqClass are columns of one type that are all equal, by the operator eq.
type eqClass struct {
	eq   *fn.Func
	t    types.Type
	cols []classCol
	rels relSet // those that the columns are of
	// values is how many different ones there are.
	values float64
}

type classCol struct {
	col  *scalar.Column
	rel  int
	made scalar.Expr // the condition that brought it
}

type joinPred struct {
	expr    scalar.Expr
	rels    relSet
	passing float64
}

// joined is the best way to join a set that was found.
type joined struct {
	rows, cost float64
	l, r       relSet // 0: an input
}

func newJoinGraph(est *estimator, rels []logical.Node, on []scalar.Expr) *joinGraph {
	g := &joinGraph{rels: rels, est: est, plan: map[relSet]*joined{}}
	for i, r := range rels {
		g.cols = append(g.cols, logical.OutSet(r))
		g.rows = append(g.rows, est.count(r))
		g.plan[1<<i] = &joined{rows: g.rows[i]}
	}
	for _, p := range on {
		switch set := g.relsOf(p); {
		case logical.Volatile(p) || bits.OnesCount(uint(set)) < 2:
			g.late = append(g.late, p)
		case !g.addEquality(p):
			g.preds = append(g.preds, joinPred{expr: p, rels: set, passing: g.passing(p, set)})
		}
	}
	for i := range g.classes {
		c := &g.classes[i]
		c.values = g.valuesOf(c)
		for _, m := range c.cols {
			c.rels |= 1 << m.rel
		}
	}
	for i := range rels {
		g.keys = append(g.keys, g.keysOf(i)...)
	}
	return g
}

func (g *joinGraph) relsOf(p scalar.Expr) (s relSet) {
	for c := range logical.ColsOf(p) {
		if i := g.relOf(c); i >= 0 {
			s |= 1 << i
		}
	}
	return s
}

func (g *joinGraph) relOf(c logical.ColID) int {
	for i, set := range g.cols {
		if set.Has(c) {
			return i
		}
	}
	return -1
}

// addEquality puts an equality of two columns of one type into the classes.
func (g *joinGraph) addEquality(p scalar.Expr) bool {
	call, ok := p.(*scalar.Call)
	if !ok || call.Fn.Name != "=" || call.Fn.Kind != fn.Operator || len(call.Args) != 2 {
		return false
	}
	a, aok := call.Args[0].(*scalar.Column)
	b, bok := call.Args[1].(*scalar.Column)
	if !aok || !bok || a.T.WithoutMod() != b.T.WithoutMod() {
		return false
	}
	at, bt := -1, -1
	for i := range g.classes {
		for _, c := range g.classes[i].cols {
			if c.col.Index == a.Index {
				at = i
			}
			if c.col.Index == b.Index {
				bt = i
			}
		}
	}
	one := func(c *scalar.Column) classCol { return classCol{col: c, rel: g.relOf(c.Index), made: p} }
	switch {
	case at < 0 && bt < 0:
		g.classes = append(g.classes, eqClass{eq: call.Fn, t: a.T.WithoutMod(), cols: []classCol{one(a), one(b)}})
	case at == bt:
	case at < 0:
		g.classes[bt].cols = append(g.classes[bt].cols, one(a))
	case bt < 0:
		g.classes[at].cols = append(g.classes[at].cols, one(b))
	default:
		g.classes[at].cols = append(g.classes[at].cols, g.classes[bt].cols...)
		g.classes = append(g.classes[:bt], g.classes[bt+1:]...)
	}
	return true
}

// valuesOf guesses how many values the columns of a class have: if one of them is a key, as many as that has rows when nothing is left out
// yet, as the others are most likely references to it.
func (g *joinGraph) valuesOf(c *eqClass) float64 {
	most, key := 1.0, 0.0
	for _, m := range c.cols {
		base := unfiltered(g.rels[m.rel])
		v := g.est.values(base, m.col.Index)
		if prop.Unique(base, logical.SetOf(m.col.Index)) && (key == 0 || v < key) {
			key = v
		}
		most = max(most, v)
	}
	if key > 0 {
		return key
	}
	return most
}

func (g *joinGraph) passing(p scalar.Expr, set relSet) float64 {
	a, b, ok := prop.Equality(p)
	if !ok {
		return guessOther
	}
	values := 1.0
	for _, x := range []scalar.Expr{a, b} {
		if c, ok := x.(*scalar.Column); ok {
			values = max(values, g.est.values(g.rels[g.relOf(c.Index)], c.Index))
		} else {
			values = max(values, guessValues)
		}
	}
	return 1 / values
}

// rowsOf guesses the rows of a set, however it is joined.
func (g *joinGraph) rowsOf(s relSet) float64 {
	rows := 1.0
	for i := range g.rels {
		if s&(1<<i) != 0 {
			rows *= g.rows[i]
		}
	}
	for i := range g.classes {
		c := &g.classes[i]
		for k := bits.OnesCount(uint(c.rels & s)); k > 1; k-- {
			rows /= c.values
		}
	}
	for _, p := range g.preds {
		if p.rels&^s == 0 {
			rows *= p.passing
		}
	}
	for i := range g.keys {
		if k := &g.keys[i]; k.bound(s) {
			rows *= k.excess
		}
	}
	return max(rows, 1)
}

// compositeKey is a key of several columns of an input, all of which are in classes.
type compositeKey struct {
	rel     int
	classes []*eqClass
	// excess is how many times more combinations of values there could be than there are rows.
	excess float64
}

// keysOf gives the composite key of an input, if its values do not vary independently: there are only as many combinations as rows.
func (g *joinGraph) keysOf(rel int) []compositeKey {
	base := unfiltered(g.rels[rel])
	for _, key := range prop.Keys(base) {
		k := compositeKey{rel: rel}
		product := 1.0
		for i := range g.classes {
			c := &g.classes[i]
			for _, m := range c.cols {
				if m.rel == rel && key.Has(m.col.Index) {
					k.classes = append(k.classes, c)
					product *= c.values
				}
			}
		}
		if len(key) < 2 || len(k.classes) != len(key) {
			continue
		}
		if k.excess = product / g.est.count(base); k.excess > 1 {
			return []compositeKey{k}
		}
	}
	return nil
}

// bound tells whether all columns of the key are equal to columns of other inputs of a set.
func (k *compositeKey) bound(s relSet) bool {
	if s&(1<<k.rel) == 0 {
		return false
	}
	for _, c := range k.classes {
		if bits.OnesCount(uint(c.rels&s)) < 2 {
			return false
		}
	}
	return true
}

// linked tells whether there is a condition between two sets.
func (g *joinGraph) linked(a, b relSet) bool {
	for i := range g.classes {
		if c := &g.classes[i]; c.rels&a != 0 && c.rels&b != 0 {
			return true
		}
	}
	for _, p := range g.preds {
		if p.rels&^(a|b) == 0 && p.rels&a != 0 && p.rels&b != 0 {
			return true
		}
	}
	return false
}

// best joins everything.
func (g *joinGraph) best() logical.Node {
	all := relSet(1)<<len(g.rels) - 1
	for s := relSet(1); s <= all; s++ {
		if s&(s-1) != 0 {
			g.search(s, false)
		}
	}
	if g.plan[all] == nil {
		// Parts that nothing connects: each is joined by itself, and then comes the cross product of what these give. Where a part
		// cannot be, as a condition needs three inputs at once, any set may be a cross product.
		parts := g.parts()
		if slices.ContainsFunc(parts, func(p relSet) bool { return g.plan[p] == nil }) {
			parts = nil
		}
		for s := relSet(1); s <= all; s++ {
			if g.plan[s] == nil && whole(s, parts) {
				g.search(s, true)
			}
		}
	}
	return filter(g.build(all), g.late)
}

// parts are the smallest sets between which there is no condition.
func (g *joinGraph) parts() (parts []relSet) {
	for i := range g.rels {
		parts = append(parts, 1<<i)
	}
	join := func(s relSet) {
		one := s
		rest := parts[:0]
		for _, p := range parts {
			if p&s != 0 {
				one |= p
			} else {
				rest = append(rest, p)
			}
		}
		parts = append(rest, one)
	}
	for i := range g.classes {
		join(g.classes[i].rels)
	}
	for _, p := range g.preds {
		join(p.rels)
	}
	return parts
}

// whole tells whether a set has each of some parts completely or not at all.
func whole(s relSet, parts []relSet) bool {
	return !slices.ContainsFunc(parts, func(p relSet) bool { return s&p != 0 && p&^s != 0 })
}

// search finds the cheapest two parts of a set, if there are two with a condition between them, or cross is allowed.
func (g *joinGraph) search(s relSet, cross bool) {
	var best *joined
	rows := 0.0
	for l := (s - 1) & s; l > 0; l = (l - 1) & s {
		r := s &^ l
		lp, rp := g.plan[l], g.plan[r]
		if lp == nil || rp == nil || !cross && !g.linked(l, r) {
			continue
		}
		if rows == 0 {
			rows = g.rowsOf(s)
		}
		cost := lp.cost + rp.cost + costProbe*lp.rows + costBuild*rp.rows + costOut*rows
		if cross && !g.linked(l, r) {
			cost += lp.rows * rp.rows
		}
		switch {
		case best == nil || cost < best.cost*(1-costSame):
		case cost < best.cost*(1+costSame) && asWritten(r) > asWritten(best.r):
		default:
			continue
		}
		best = &joined{rows: rows, cost: cost, l: l, r: r}
	}
	if best != nil {
		g.plan[s] = best
	}
}

// asWritten is how much a right side looks like that of joins in the order of the text, whose right sides are inputs, the last one first.
func asWritten(r relSet) int {
	if r&(r-1) != 0 {
		return 0
	}
	return bits.Len(uint(r))
}

// build makes the joins of a set.
func (g *joinGraph) build(s relSet) logical.Node {
	p := g.plan[s]
	if p.l == 0 {
		return g.rels[bits.TrailingZeros(uint(s))]
	}
	return &logical.Join{Kind: logical.Inner, L: g.build(p.l), R: g.build(p.r), On: g.on(p.l, p.r)}
}

// on gives the conditions of a join of two sets: one equality of each class that both have columns of, and what else can be tested now.
func (g *joinGraph) on(l, r relSet) (on []scalar.Expr) {
	for i := range g.classes {
		c := &g.classes[i]
		a, b := c.of(l), c.of(r)
		for _, one := range []relSet{l, r} {
			on = append(on, c.within(one)...)
		}
		if a == nil || b == nil {
			continue
		}
		on = append(on, c.equality(a, b))
	}
	for _, p := range g.preds {
		if p.rels&^(l|r) == 0 && p.rels&l != 0 && p.rels&r != 0 {
			on = append(on, p.expr)
		}
	}
	return on
}

// of gives a column of the class in one of the inputs of a set.
func (c *eqClass) of(s relSet) *scalar.Column {
	for _, m := range c.cols {
		if s&(1<<m.rel) != 0 {
			return m.col
		}
	}
	return nil
}

// within gives equalities between the columns that one input has several of, when that input is joined for the first time: as a set of
// its own.
func (c *eqClass) within(one relSet) (on []scalar.Expr) {
	if bits.OnesCount(uint(one)) != 1 {
		return nil
	}
	var first *scalar.Column
	for _, m := range c.cols {
		if one&(1<<m.rel) == 0 || first != nil && m.col.Index == first.Index {
			continue
		}
		if first == nil {
			first = m.col
			continue
		}
		on = append(on, c.equality(first, m.col))
	}
	return on
}

func (c *eqClass) equality(a, b *scalar.Column) scalar.Expr {
	for _, m := range c.cols {
		call := m.made.(*scalar.Call)
		x, y := call.Args[0].(*scalar.Column), call.Args[1].(*scalar.Column)
		if x.Index == a.Index && y.Index == b.Index || x.Index == b.Index && y.Index == a.Index {
			return call
		}
	}
	return &scalar.Call{Node: scalar.Node{T: types.T(types.Bool), Pos: -1}, Fn: c.eq, Args: []scalar.Expr{a, b}}
}
