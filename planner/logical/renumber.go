package logical

import "github.com/weirdb/weir/sql/scalar"

// Given gives all columns that nodes of the tree n define.
func Given(n Node) ColSet {
	s := ColSet{}
	var walk func(Node)
	walk = func(n Node) {
		for _, in := range n.Inputs() {
			walk(in)
		}
		for _, c := range n.Cols() {
			s.Add(c)
		}
	}
	walk(n)
	return s
}

// Renumber gives a copy of n with fresh columns instead of those that n's tree defines, and the
// function from old numbers to new ones (outer columns stay).
func Renumber(m *Meta, n Node) (Node, func(ColID) ColID) {
	fresh := map[ColID]ColID{}
	for _, c := range Given(n).Sorted() {
		fresh[c] = m.Copy(c)
	}
	ren := func(c ColID) ColID {
		if f, ok := fresh[c]; ok {
			return f
		}
		return c
	}
	return MapCols(m, n, ren), ren
}

// RenumberExpr renames the columns of an expression.
func RenumberExpr(m *Meta, e scalar.Expr, ren func(ColID) ColID) scalar.Expr {
	return MapExpr(e, func(x scalar.Expr) scalar.Expr {
		if c, ok := x.(*scalar.Column); ok {
			if id := ren(c.Index); id != c.Index {
				d := *c
				d.Index = id
				return &d
			}
			return x
		}
		return nil
	})
}

// MapCols renames columns in all of n's tree, where they are given and where they are used.
func MapCols(m *Meta, n Node, ren func(ColID) ColID) Node {
	list := func(ids []ColID) []ColID {
		if ids == nil {
			return nil
		}
		out := make([]ColID, len(ids))
		for i, c := range ids {
			out[i] = ren(c)
		}
		return out
	}
	orders := func(os []Order) []Order {
		out := append([]Order(nil), os...)
		for i := range out {
			out[i].Col = ren(out[i].Col)
		}
		return out
	}
	opt := func(c ColID) ColID {
		if c == 0 {
			return 0
		}
		return ren(c)
	}
	ins := n.Inputs()
	nins := make([]Node, len(ins))
	for i, in := range ins {
		nins[i] = MapCols(m, in, ren)
	}
	n = n.WithInputs(nins)
	n = MapNodeExprs(n, func(x scalar.Expr) scalar.Expr {
		switch c := x.(type) {
		case *scalar.Column:
			d := *c
			d.Index = ren(c.Index)
			return &d
		case *Subquery:
			d := *c
			d.Plan = MapCols(m, c.Plan, ren)
			d.Col = opt(c.Col)
			d.Order = orders(c.Order)
			if c.Pred != nil {
				d.Pred = RenumberExpr(m, c.Pred, ren)
			}
			return &d
		}
		return nil
	})
	switch n := n.(type) {
	case *Scan:
		c := *n
		c.Out, c.RowID = list(n.Out), opt(n.RowID)
		return &c
	case *Values:
		c := *n
		c.Out = list(n.Out)
		return &c
	case *Project:
		c := *n
		c.Exprs = append([]ProjCol(nil), n.Exprs...)
		for i := range c.Exprs {
			c.Exprs[i].ID = ren(c.Exprs[i].ID)
		}
		return &c
	case *Lookup:
		c := *n
		c.Out = list(n.Out)
		return &c
	case *Agg:
		c := *n
		c.Keys = list(n.Keys)
		c.Aggs = append([]AggCol(nil), n.Aggs...)
		for i := range c.Aggs {
			a := &c.Aggs[i]
			a.ID, a.Args, a.Filter, a.OrderBy = ren(a.ID), list(a.Args), opt(a.Filter), orders(a.OrderBy)
		}
		return &c
	case *TopN:
		c := *n
		c.GroupBy, c.Order, c.Rank, c.RowKey = list(n.GroupBy), orders(n.Order), opt(n.Rank), list(n.RowKey)
		return &c
	case *Window:
		c := *n
		c.Partition, c.Order, c.RowKey = list(n.Partition), orders(n.Order), list(n.RowKey)
		c.Calls = append([]WindowCall(nil), n.Calls...)
		for i := range c.Calls {
			w := &c.Calls[i]
			w.ID, w.Filter = ren(w.ID), opt(w.Filter)
			w.Args = append([]ColID(nil), w.Args...)
			for k := range w.Args {
				w.Args[k] = opt(w.Args[k])
			}
		}
		return &c
	case *UnionAll:
		c := *n
		c.Out, c.Source = list(n.Out), opt(n.Source)
		c.Map = nil
		for _, l := range n.Map {
			c.Map = append(c.Map, list(l))
		}
		return &c
	case *Hop:
		c := *n
		c.Time, c.Start, c.End = ren(n.Time), ren(n.Start), ren(n.End)
		return &c
	case *Session:
		c := *n
		c.Partition, c.RowKey = list(n.Partition), list(n.RowKey)
		c.Time, c.Last, c.Start, c.End = ren(n.Time), opt(n.Last), ren(n.Start), ren(n.End)
		return &c
	case *ProjectSet:
		c := *n
		c.Ord = opt(n.Ord)
		c.Funcs = append([]SetFunc(nil), n.Funcs...)
		for i := range c.Funcs {
			c.Funcs[i].Out = list(c.Funcs[i].Out)
		}
		return &c
	case *Recursive:
		c := *n
		c.Out, c.BaseMap, c.StepMap, c.Ord = list(n.Out), list(n.BaseMap), list(n.StepMap), opt(n.Ord)
		return &c
	case *Working:
		c := *n
		c.Out = list(n.Out)
		return &c
	case *Lock:
		c := *n
		c.Order = orders(n.Order)
		c.Rels = append([]LockRel(nil), n.Rels...)
		for i := range c.Rels {
			c.Rels[i].Cols = list(c.Rels[i].Cols)
		}
		return &c
	case *Max1Row:
		c := *n
		c.GroupBy = list(n.GroupBy)
		return &c
	}
	return n
}
