package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
)

// Prune removes columns that nobody needs, down to the scans, and with them aggregates, expressions and
// joins that only made them. Every output column in need is still there.
func Prune(e *Env, n logical.Node, need logical.ColSet) logical.Node {
	if wanted, ok := e.leaves[n]; ok {
		wanted.AddSet(need)
		return n
	}
	with := func(cols ...logical.ColSet) logical.ColSet {
		s := logical.ColSet{}
		for _, c := range cols {
			s.AddSet(c)
		}
		return s
	}
	switch n := n.(type) {
	case *logical.Scan:
		c := *n
		c.Ords, c.Out = nil, nil
		for i, id := range n.Out {
			if need.Has(id) {
				c.Ords = append(c.Ords, n.Ords[i])
				c.Out = append(c.Out, id)
			}
		}
		if !need.Has(n.RowID) {
			c.RowID = 0
		}
		return &c
	case *logical.Values:
		c := &logical.Values{Rows: make([][]scalar.Expr, len(n.Rows))}
		for i, id := range n.Out {
			if !need.Has(id) {
				continue
			}
			c.Out = append(c.Out, id)
			for k := range n.Rows {
				c.Rows[k] = append(c.Rows[k], n.Rows[k][i])
			}
		}
		return c
	case *logical.Filter:
		in := Prune(e, n.In, with(need, logical.ColsOf(n.Preds...)))
		return &logical.Filter{In: in, Preds: n.Preds}
	case *logical.Project:
		p := &logical.Project{}
		used := logical.ColSet{}
		for _, x := range n.Exprs {
			if need.Has(x.ID) {
				p.Exprs = append(p.Exprs, x)
				logical.ExprCols(x.Expr, used)
			}
		}
		p.In = Prune(e, n.In, used)
		return e.mergeProject(p)
	case *logical.Join:
		return e.pruneJoin(n, need)
	case *logical.Agg:
		a := &logical.Agg{Keys: n.Keys}
		used := logical.SetOf(n.Keys...)
		for i, x := range n.Aggs {
			if !need.Has(x.ID) && !(len(n.Keys) == 0 && len(a.Aggs) == 0 && i == len(n.Aggs)-1) {
				continue
			}
			a.Aggs = append(a.Aggs, x)
			used.AddSet(logical.SetOf(x.Args...))
			if x.Filter != 0 {
				used.Add(x.Filter)
			}
			for _, o := range x.OrderBy {
				used.Add(o.Col)
			}
		}
		a.In = Prune(e, n.In, used)
		if !e.all && len(a.Aggs) == 0 && len(a.Keys) > 0 && prop.Unique(a.In, logical.SetOf(a.Keys...)) {
			return Prune(e, &logical.Project{In: a.In, Exprs: e.passAll(a.Keys)}, need)
		}
		return a
	case *logical.TopN:
		t := *n
		if !need.Has(n.Rank) {
			t.Rank = 0
		}
		if t.Rank == 0 && t.Limit == nil && t.Offset == nil {
			// Numbering that nobody looks at.
			return Prune(e, n.In, need)
		}
		used := with(need, logical.SetOf(n.GroupBy...), logical.SetOf(n.RowKey...))
		for _, o := range n.Order {
			used.Add(o.Col)
		}
		delete(used, n.Rank)
		t.In = e.exactly(Prune(e, n.In, used), used)
		return &t
	case *logical.Window:
		w := *n
		w.Calls = nil
		for _, c := range n.Calls {
			if need.Has(c.ID) {
				w.Calls = append(w.Calls, c)
			}
		}
		if len(w.Calls) == 0 {
			return Prune(e, n.In, need)
		}
		used := with(need, w.Uses())
		for _, c := range n.Calls {
			delete(used, c.ID)
		}
		w.In = e.exactly(Prune(e, n.In, used), used)
		return &w
	case *logical.UnionAll:
		u := &logical.UnionAll{Map: make([][]logical.ColID, len(n.Ins))}
		if need.Has(n.Source) {
			u.Source = n.Source
		}
		for i, c := range n.Out {
			if !need.Has(c) {
				continue
			}
			u.Out = append(u.Out, c)
			for k := range n.Ins {
				u.Map[k] = append(u.Map[k], n.Map[k][i])
			}
		}
		for k, in := range n.Ins {
			u.Ins = append(u.Ins, Prune(e, in, logical.SetOf(u.Map[k]...)))
		}
		return u
	case *logical.Hop:
		used := with(need, logical.SetOf(n.Time))
		delete(used, n.Start)
		delete(used, n.End)
		return n.WithInputs([]logical.Node{Prune(e, n.In, used)})
	case *logical.Session:
		used := with(need, logical.SetOf(n.Time), logical.SetOf(n.Partition...), logical.SetOf(n.RowKey...))
		delete(used, n.Start)
		delete(used, n.End)
		if n.Last != 0 {
			used.Add(n.Last)
		}
		return n.WithInputs([]logical.Node{e.exactly(Prune(e, n.In, used), used)})
	case *logical.Lookup:
		used := with(need, logical.ColsOf(n.On...))
		c := *n
		c.Ords, c.Out = nil, nil
		for i, id := range n.Out {
			if used.Has(id) {
				c.Ords, c.Out = append(c.Ords, n.Ords[i]), append(c.Out, id)
			}
		}
		c.In = Prune(e, n.In, used.And(logical.OutSet(n.In)))
		return &c
	case *logical.ProjectSet:
		used := with(need, logical.ColsOf(logical.NodeExprs(n)...))
		c := *n
		if !need.Has(n.Ord) {
			c.Ord = 0
		}
		c.In = Prune(e, n.In, used.And(logical.OutSet(n.In)))
		return &c
	case *logical.Recursive:
		// The step may use any column of the rows before.
		c := *n
		if !need.Has(n.Ord) {
			c.Ord = 0
		}
		c.Base = Prune(e, n.Base, logical.SetOf(n.BaseMap...))
		c.Step = Prune(e, n.Step, logical.SetOf(n.StepMap...))
		return &c
	case *logical.Lock:
		return n.WithInputs([]logical.Node{Prune(e, n.In, with(need, n.Used()))})
	case *logical.Max1Row:
		return n.WithInputs([]logical.Node{Prune(e, n.In, with(need, logical.SetOf(n.GroupBy...)))})
	}
	return n
}

// exactly projects n to the columns in used if it has more.
func (e *Env) exactly(n logical.Node, used logical.ColSet) logical.Node {
	cols := n.Cols()
	var keep []logical.ColID
	for _, c := range cols {
		if used.Has(c) {
			keep = append(keep, c)
		}
	}
	if len(keep) == len(cols) {
		return n
	}
	return &logical.Project{In: n, Exprs: e.passAll(keep)}
}

func (e *Env) pruneJoin(n *logical.Join, need logical.ColSet) logical.Node {
	ls, rs := logical.OutSet(n.L), logical.OutSet(n.R)
	// A left join that only adds columns nobody needs, and never multiplies rows.
	if !e.all && n.Kind == logical.Left && !need.Meets(rs) {
		if joinsOne(n) {
			return Prune(e, n.L, need)
		}
	}
	used := logical.ColsOf(n.On...)
	used.AddSet(need)
	out := *n
	out.L = Prune(e, n.L, used.And(ls))
	out.R = Prune(e, n.R, used.And(rs))
	return &out
}

// joinsOne tells whether each row of L meets at most one row of R.
func joinsOne(n *logical.Join) bool {
	fixed := logical.ColSet{}
	ls, rs := logical.OutSet(n.L), logical.OutSet(n.R)
	for _, p := range n.On {
		a, b, ok := prop.Equality(p)
		if !ok {
			continue
		}
		for range 2 {
			if c, isCol := a.(*scalar.Column); isCol && rs.Has(c.Index) && logical.ColsOf(b).Within(ls) {
				fixed.Add(c.Index)
			}
			a, b = b, a
		}
	}
	return prop.Unique(n.R, fixed)
}
