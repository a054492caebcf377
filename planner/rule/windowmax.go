package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// WindowMaxJoin rewrites the join of X with the maximum per tumbling window of the same X, where the
// window is found by a range on the time,
//
//	X join (select window_end w, max(c) m from tumble(X, t, size) group by window_end) y
//	on X.c = y.m and X.t between y.w - size and y.w
//
// to the rows of tumble(X) that have their own window's maximum (a TopN of one row WITH TIES per
// window). BETWEEN includes the end of the window, which belongs to the next one: a row exactly on a
// boundary is compared with the maximum of the window before it, too. These few rows are
// joined as it was written.
//
// Further keys of the group must be equal to the same columns of X.
func WindowMaxJoin(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		j, ok := n.(*logical.Join)
		if !ok || j.Kind != logical.Inner {
			return n
		}
		if r := e.windowMax(j.L, j.R, j); r != nil {
			return r
		}
		if r := e.windowMax(j.R, j.L, j); r != nil {
			return r
		}
		return n
	})
}

func (e *Env) windowMax(x, y logical.Node, j *logical.Join) logical.Node {
	ex := e.asExtremum(y)
	if ex == nil {
		return nil
	}
	hop, ok := ex.agg.In.(*logical.Hop)
	for !ok {
		p, isProject := ex.agg.In.(*logical.Project)
		if !isProject {
			return nil
		}
		for _, c := range p.Exprs {
			if !passes(c) {
				return nil
			}
		}
		ex.agg = &logical.Agg{In: p.In, Keys: ex.agg.Keys, Aggs: ex.agg.Aggs}
		hop, ok = ex.agg.In.(*logical.Hop)
	}
	if hop.Size != hop.Slide {
		return nil
	}
	m := map[logical.ColID]logical.ColID{}
	if !same(x, hop.In, m) {
		return nil
	}
	xs := logical.OutSet(x)
	maxID := ex.agg.Aggs[0].ID
	need := logical.SetOf(ex.arg, hop.Time)
	hasEnd, hasWindow := false, false
	for _, k := range ex.agg.Keys {
		switch k {
		case hop.End:
			hasEnd, hasWindow = true, true
		case hop.Start:
			hasWindow = true
		default:
			need.Add(k)
		}
	}
	if !hasWindow {
		return nil
	}
	for c := range need {
		if id, ok := m[c]; !ok || !xs.Has(id) {
			return nil
		}
	}
	// The conditions: c = max, keys equal, a lower and an upper bound of the time.
	var lower, upper, onBoundary, value bool
	keys := map[logical.ColID]bool{}
	var rest []scalar.Expr
	for _, p := range j.On {
		c, op, other, ok := relation(p, xs)
		if !ok {
			rest = append(rest, p)
			continue
		}
		oc, isCol := other.(*scalar.Column)
		switch {
		case isCol && ex.cols[oc.Index] == maxID && c == m[ex.arg] && op == "=":
			value = true
		case isCol && op == "=" && m[ex.cols[oc.Index]] == c && need.Has(ex.cols[oc.Index]):
			keys[ex.cols[oc.Index]] = true
		case c == m[hop.Time] && op == ">=" && e.edge(other, ex, hop) == -1:
			lower = true
		case c == m[hop.Time] && (op == "<" || op == "<=") && e.edge(other, ex, hop) == 1:
			upper = true
			onBoundary = onBoundary || op == "<="
			if op == "<" {
				// The stricter one of two decides.
				onBoundary = false
			}
		default:
			rest = append(rest, p)
		}
	}
	for _, k := range ex.agg.Keys {
		if k != hop.Start && k != hop.End && !keys[k] {
			return nil
		}
	}
	if !lower || !upper || !value || onBoundary && !hasEnd {
		return nil
	}
	xcols, ycols := x.Cols(), y.Cols()
	branches := [][]logical.ColID{}
	var ins []logical.Node

	// The rows with their own window.
	own, ren := logical.Renumber(e.Meta, x)
	h := &logical.Hop{In: own, Time: ren(m[hop.Time]), Size: hop.Size, Slide: hop.Slide, Offset: hop.Offset,
		Start: e.Meta.Copy(hop.Start), End: e.Meta.Copy(hop.End)}
	mate := map[logical.ColID]logical.ColID{hop.Start: h.Start, hop.End: h.End}
	for c := range need {
		mate[c] = ren(m[c])
	}
	mate[maxID] = mate[ex.arg]
	top := e.topWithTies(h, ex, mate)
	branch := []logical.ColID{}
	for _, c := range xcols {
		branch = append(branch, ren(c))
	}
	for _, c := range ycols {
		branch = append(branch, mate[ex.cols[c]])
	}
	ins, branches = append(ins, top), append(branches, branch)

	if onBoundary {
		edge, ren := logical.Renumber(e.Meta, x)
		agg, renY := logical.Renumber(e.Meta, y)
		start, end := e.Meta.Copy(hop.Start), e.Meta.Copy(hop.End)
		time := ren(m[hop.Time])
		w := &logical.Hop{In: edge, Time: time, Size: hop.Size, Slide: hop.Slide, Offset: hop.Offset, Start: start, End: end}
		eq, err := e.Registry.ResolveOperator("=", e.Meta.Type(start), e.Meta.Type(time))
		if err != nil {
			return nil
		}
		equal := func(a, b logical.ColID) scalar.Expr {
			return &scalar.Call{Node: scalar.Node{T: types.T(types.Bool), Pos: -1}, Fn: eq.Fn, Args: []scalar.Expr{e.Meta.Ref(a), e.Meta.Ref(b)}}
		}
		rows := &logical.Filter{In: w, Preds: []scalar.Expr{equal(time, start)}}
		join := &logical.Join{Kind: logical.Inner, L: rows, R: agg}
		both := func(c logical.ColID) logical.ColID {
			if xs.Has(c) {
				return ren(c)
			}
			return renY(c)
		}
		for _, p := range j.On {
			join.On = append(join.On, logical.RenumberExpr(e.Meta, p, both))
		}
		for c, below := range ex.cols {
			if below == hop.End {
				join.On = append(join.On, equal(time, renY(c)))
				break
			}
		}
		branch := []logical.ColID{}
		for _, c := range xcols {
			branch = append(branch, ren(c))
		}
		for _, c := range ycols {
			branch = append(branch, renY(c))
		}
		ins, branches = append(ins, join), append(branches, branch)
	}
	u := &logical.UnionAll{Ins: ins, Map: branches, Out: append(append([]logical.ColID(nil), xcols...), ycols...)}
	return filter(u, rest)
}

// edge tells which end of the window an expression over the group is: -1 its start, 1 its end, 0
// something else.
func (e *Env) edge(x scalar.Expr, ex *extremum, hop *logical.Hop) int {
	at := func(x scalar.Expr) int {
		c, ok := x.(*scalar.Column)
		if !ok {
			return 0
		}
		switch ex.cols[c.Index] {
		case hop.Start:
			return -1
		case hop.End:
			return 1
		}
		return 0
	}
	if a := at(x); a != 0 {
		return a
	}
	c, ok := x.(*scalar.Call)
	if !ok || len(c.Args) != 2 {
		return 0
	}
	k, ok := c.Args[1].(*scalar.Const)
	if !ok || !k.Val.Valid || k.T.Kind != types.Interval || k.Val.Span.Months != 0 ||
		spanMicros(k.Val.Span) != spanMicros(hop.Size) || k.Val.Span.Days != hop.Size.Days {
		return 0
	}
	switch {
	case c.Fn.Name == "-" && at(c.Args[0]) == 1:
		return -1
	case c.Fn.Name == "+" && at(c.Args[0]) == -1:
		return 1
	}
	return 0
}

func spanMicros(s types.Span) int64 { return int64(s.Days)*86400e6 + s.Micros }
