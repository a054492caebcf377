package rule

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
)

// Common finds parts of a plan that compute the same and keep state, as two references to one WITH query do, and makes one
// of them:
//
//	join(X, X') on ...  ->  join(X, project(X)) on ...
//
// X is then one node with two parents, and the projection gives its columns the numbers that those of X' had. It also prunes, as
// Prune does, what nobody needs: of X there is what one of its parents needs. The second result has the nodes with several
// parents, with what is needed of them.
//
//  1. Nodes that keep state are visited from the root down. One that computes what an earlier one computes is noted, and
//     what is below it is not looked at: the parts that are found are as large as they can be.
//  2. The plan is built again with projections in place of what was noted.
//  3. It is pruned with shared nodes as leaves, whose needs are collected; then these are, the largest first, so that all who
//     need something of a node have been pruned before it is.
//
// Recursive queries are left alone, inside and as a whole: what is in a loop must not depend on rounds of another one.
func Common(e *Env, n logical.Node, need logical.ColSet) (logical.Node, map[logical.Node]logical.ColSet) {
	c := &common{env: e, repl: map[logical.Node]logical.Node{}, maps: map[logical.Node]map[logical.ColID]logical.ColID{}}
	c.find(n)
	if len(c.repl) == 0 {
		return Prune(e, n, need), nil
	}
	c.built = map[logical.Node]logical.Node{}
	n = c.build(n)
	shared := map[logical.Node]bool{}
	for _, a := range c.repl {
		shared[c.built[a]] = true
	}
	return pruneShared(e, n, need, shared)
}

type common struct {
	env  *Env
	seen []logical.Node
	// repl has, for a node, the earlier one that computes what it computes, maps the columns of that one for its own.
	repl  map[logical.Node]logical.Node
	maps  map[logical.Node]map[logical.ColID]logical.ColID
	built map[logical.Node]logical.Node
}

// keepsState tells of the nodes at which parts are looked for.
func keepsState(n logical.Node) bool {
	switch n := n.(type) {
	case *logical.Agg, *logical.TopN, *logical.Window, *logical.Session, *logical.Max1Row:
		return true
	case *logical.Join:
		return !n.Current
	}
	return false
}

func (c *common) find(n logical.Node) {
	if _, ok := n.(*logical.Recursive); ok {
		return
	}
	if keepsState(n) && !slices.Contains(c.seen, n) {
		for _, a := range c.seen {
			m := map[logical.ColID]logical.ColID{}
			if c.same(a, n, m) {
				c.repl[n], c.maps[n] = a, m
				return
			}
		}
		c.seen = append(c.seen, n)
	}
	for _, in := range n.Inputs() {
		c.find(in)
	}
}

// same tells whether a computes all columns of b in the same rows, and adds to m those of a for those of b.
func (c *common) same(a, b logical.Node, m map[logical.ColID]logical.ColID) bool {
	if !c.sameNode(a, b, m) {
		return false
	}
	for _, col := range b.Cols() {
		of, ok := m[col]
		if !ok || c.env.Meta.Type(of) != c.env.Meta.Type(col) {
			return false
		}
	}
	return true
}

func (c *common) sameNode(a, b logical.Node, m map[logical.ColID]logical.ColID) bool {
	ains, bins := a.Inputs(), b.Inputs()
	if len(ains) != len(bins) {
		return false
	}
	inputs := func() bool {
		for i := range ains {
			if !c.same(ains[i], bins[i], m) {
				return false
			}
		}
		return true
	}
	switch x := a.(type) {
	case *logical.Scan:
		y, ok := b.(*logical.Scan)
		if !ok || !sameRelation(x.Rel, y.Rel) || y.RowID != 0 && x.RowID == 0 {
			return false
		}
		for i, o := range y.Ords {
			k := slices.Index(x.Ords, o)
			if k < 0 {
				return false
			}
			m[y.Out[i]] = x.Out[k]
		}
		if y.RowID != 0 {
			m[y.RowID] = x.RowID
		}
		return true
	case *logical.Filter:
		y, ok := b.(*logical.Filter)
		return ok && inputs() && sameSet(x.Preds, y.Preds, m)
	case *logical.Project:
		y, ok := b.(*logical.Project)
		if !ok || !inputs() {
			return false
		}
		for _, p := range y.Exprs {
			e, ok := translate(p.Expr, m)
			k := slices.IndexFunc(x.Exprs, func(q logical.ProjCol) bool { return logical.Equal(q.Expr, e) })
			if !ok || k < 0 || logical.Volatile(e) {
				return false
			}
			m[p.ID] = x.Exprs[k].ID
		}
		return true
	case *logical.Join:
		y, ok := b.(*logical.Join)
		return ok && x.Kind == y.Kind && !x.Current && !y.Current && inputs() && sameSet(x.On, y.On, m)
	case *logical.Agg:
		y, ok := b.(*logical.Agg)
		if !ok || !inputs() || !sameCols(x.Keys, y.Keys, m) {
			return false
		}
		for _, p := range y.Aggs {
			k := slices.IndexFunc(x.Aggs, func(q logical.AggCol) bool { return sameAgg(q, p, m) })
			if k < 0 {
				return false
			}
			m[p.ID] = x.Aggs[k].ID
		}
		return true
	case *logical.TopN:
		y, ok := b.(*logical.TopN)
		if !ok || !inputs() || !sameCols(x.GroupBy, y.GroupBy, m) || !sameOrder(x.Order, y.Order, m) || !sameList(x.RowKey, y.RowKey, m) ||
			x.WithTies != y.WithTies || !sameConst(x.Limit, y.Limit) || !sameConst(x.Offset, y.Offset) || y.Rank != 0 && x.Rank == 0 {
			return false
		}
		if y.Rank != 0 {
			m[y.Rank] = x.Rank
		}
		return true
	case *logical.Window:
		y, ok := b.(*logical.Window)
		if !ok || !inputs() || !sameCols(x.Partition, y.Partition, m) || !sameOrder(x.Order, y.Order, m) || !sameList(x.RowKey, y.RowKey, m) {
			return false
		}
		for _, p := range y.Calls {
			k := slices.IndexFunc(x.Calls, func(q logical.WindowCall) bool { return sameWindowCall(q, p, m) })
			if k < 0 {
				return false
			}
			m[p.ID] = x.Calls[k].ID
		}
		return true
	case *logical.UnionAll:
		y, ok := b.(*logical.UnionAll)
		if !ok || !inputs() || y.Source != 0 && x.Source == 0 {
			return false
		}
		for i, out := range y.Out {
			k := slices.IndexFunc(x.Out, func(of logical.ColID) bool {
				at := slices.Index(x.Out, of)
				for j := range y.Map {
					if m[y.Map[j][i]] != x.Map[j][at] {
						return false
					}
				}
				return true
			})
			if k < 0 {
				return false
			}
			m[out] = x.Out[k]
		}
		if y.Source != 0 {
			m[y.Source] = x.Source
		}
		return true
	case *logical.Hop:
		y, ok := b.(*logical.Hop)
		if !ok || !inputs() || m[y.Time] != x.Time || x.Size != y.Size || x.Slide != y.Slide || x.Offset != y.Offset || x.Cumulate != y.Cumulate {
			return false
		}
		m[y.Start], m[y.End] = x.Start, x.End
		return true
	case *logical.Session:
		y, ok := b.(*logical.Session)
		if !ok || !inputs() || m[y.Time] != x.Time || x.Gap != y.Gap || (x.Last == 0) != (y.Last == 0) || y.Last != 0 && m[y.Last] != x.Last ||
			!sameCols(x.Partition, y.Partition, m) || !sameList(x.RowKey, y.RowKey, m) {
			return false
		}
		m[y.Start], m[y.End] = x.Start, x.End
		return true
	case *logical.Max1Row:
		y, ok := b.(*logical.Max1Row)
		return ok && inputs() && sameCols(x.GroupBy, y.GroupBy, m)
	case *logical.Values:
		y, ok := b.(*logical.Values)
		if !ok || len(x.Rows) != len(y.Rows) || len(x.Out) != len(y.Out) {
			return false
		}
		for i, row := range y.Rows {
			for k, p := range row {
				if !logical.Equal(x.Rows[i][k], p) || logical.Volatile(p) {
					return false
				}
			}
		}
		for i, out := range y.Out {
			m[out] = x.Out[i]
		}
		return true
	}
	return false
}

// sameRelation tells whether two scans read one relation; they may know different numbers of its columns.
func sameRelation(a, b *catalog.Relation) bool {
	return a == b || a.ID == b.ID && a.Kind == b.Kind && a.Kind != catalog.System
}

// sameCols tells whether bs are the columns as, in any order.
func sameCols(as, bs []logical.ColID, m map[logical.ColID]logical.ColID) bool {
	if len(as) != len(bs) {
		return false
	}
	has, got := logical.SetOf(as...), logical.ColSet{}
	for _, b := range bs {
		a, ok := m[b]
		if !ok || !has.Has(a) {
			return false
		}
		got.Add(a)
	}
	return len(has) == len(got)
}

func sameList(as, bs []logical.ColID, m map[logical.ColID]logical.ColID) bool {
	if len(as) != len(bs) || (as == nil) != (bs == nil) {
		return false
	}
	for i, b := range bs {
		if b == 0 && as[i] == 0 {
			continue
		}
		if a, ok := m[b]; !ok || a != as[i] {
			return false
		}
	}
	return true
}

func sameOrder(as, bs []logical.Order, m map[logical.ColID]logical.ColID) bool {
	if len(as) != len(bs) {
		return false
	}
	for i, b := range bs {
		if a, ok := m[b.Col]; !ok || (logical.Order{Col: a, Desc: b.Desc, NullsFirst: b.NullsFirst}) != as[i] {
			return false
		}
	}
	return true
}

// sameConst compares expressions without columns, which may be missing.
func sameConst(a, b scalar.Expr) bool {
	return a == nil && b == nil || a != nil && b != nil && logical.Equal(a, b) && !logical.Volatile(a)
}

func sameOpt(a, b logical.ColID, m map[logical.ColID]logical.ColID) bool {
	return a == 0 && b == 0 || a != 0 && b != 0 && m[b] == a
}

func sameAgg(a, b logical.AggCol, m map[logical.ColID]logical.ColID) bool {
	return a.Fn == b.Fn && a.Distinct == b.Distinct && sameOpt(a.Filter, b.Filter, m) && sameOrder(a.OrderBy, b.OrderBy, m) &&
		sameList(append([]logical.ColID{}, a.Args...), append([]logical.ColID{}, b.Args...), m)
}

func sameWindowCall(a, b logical.WindowCall, m map[logical.ColID]logical.ColID) bool {
	if a.Fn != b.Fn || len(a.Args) != len(b.Args) || !sameOpt(a.Filter, b.Filter, m) || !a.Frame.Equal(b.Frame) || len(a.Consts) != len(b.Consts) {
		return false
	}
	for i := range a.Args {
		if !sameOpt(a.Args[i], b.Args[i], m) {
			return false
		}
	}
	for i := range a.Consts {
		if !sameConst(a.Consts[i], b.Consts[i]) {
			return false
		}
	}
	return true
}

// build makes the plan in which what was found is there once.
func (c *common) build(n logical.Node) logical.Node {
	if b, ok := c.built[n]; ok {
		return b
	}
	out := n
	if a, ok := c.repl[n]; ok {
		p := &logical.Project{In: c.build(a)}
		for _, col := range n.Cols() {
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: col, Expr: c.env.Meta.Ref(c.maps[n][col])})
		}
		out = p
	} else if _, loop := n.(*logical.Recursive); !loop {
		out = rebuilt(n, c.build)
	}
	c.built[n] = out
	return out
}

// rebuilt gives n over what f makes of its inputs.
func rebuilt(n logical.Node, f func(logical.Node) logical.Node) logical.Node {
	ins := n.Inputs()
	nins := make([]logical.Node, len(ins))
	changed := false
	for i, in := range ins {
		nins[i] = f(in)
		changed = changed || nins[i] != in
	}
	if !changed {
		return n
	}
	return n.WithInputs(nins)
}

// pruneShared prunes a plan some of whose nodes have several parents, and gives also what became of those.
func pruneShared(e *Env, n logical.Node, need logical.ColSet, shared map[logical.Node]bool) (logical.Node, map[logical.Node]logical.ColSet) {
	own := *e
	own.leaves = map[logical.Node]logical.ColSet{}
	heights := map[logical.Node]int{}
	var height func(n logical.Node) int
	height = func(n logical.Node) int {
		h, ok := heights[n]
		if !ok {
			for _, in := range n.Inputs() {
				h = max(h, height(in))
			}
			h++
			heights[n] = h
		}
		return h
	}
	height(n)
	var order []logical.Node
	for s := range shared {
		own.leaves[s] = logical.ColSet{}
		order = append(order, s)
	}
	// Whatever contains a node is higher. Nodes of the same height do not need each other, so their order does not matter.
	slices.SortFunc(order, func(a, b logical.Node) int { return heights[b] - heights[a] })
	n = Prune(&own, n, need)
	pruned, needs := map[logical.Node]logical.Node{}, map[logical.Node]logical.ColSet{}
	for _, s := range order {
		needs[s] = own.leaves[s]
		delete(own.leaves, s)
		pruned[s] = Prune(&own, s, needs[s])
	}
	// Whatever is left of a node takes its place.
	out, done := map[logical.Node]logical.ColSet{}, map[logical.Node]logical.Node{}
	var place func(n logical.Node) logical.Node
	place = func(n logical.Node) logical.Node {
		if d, ok := done[n]; ok {
			return d
		}
		d := n
		if p, ok := pruned[n]; ok && p != n {
			d = place(p)
		} else {
			d = rebuilt(n, place)
		}
		if _, ok := pruned[n]; ok && stateful(d) {
			out[d] = needs[n]
		}
		done[n] = d
		return d
	}
	return place(n), out
}

// stateful tells whether there is state in n: pruning may have left none.
func stateful(n logical.Node) bool {
	return keepsState(n) || slices.ContainsFunc(n.Inputs(), stateful)
}
