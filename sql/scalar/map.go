package scalar

// Map rebuilds an expression from the leaves up: f gets each node, its operands already mapped, and
// gives what stands in its place. Nodes are copied where an operand changed and never edited.
// Node types of other packages are passed to f as they are.
func Map(e Expr, f func(Expr) Expr) Expr {
	list := func(es []Expr) []Expr {
		var out []Expr
		for i, x := range es {
			m := Map(x, f)
			if out == nil && m != x {
				out = append(make([]Expr, 0, len(es)), es[:i]...)
			}
			if out != nil {
				out = append(out, m)
			}
		}
		if out == nil {
			return es
		}
		return out
	}
	switch x := e.(type) {
	case *Call:
		c := *x
		c.Args = list(x.Args)
		e = &c
	case *And:
		c := *x
		c.Args = list(x.Args)
		e = &c
	case *Or:
		c := *x
		c.Args = list(x.Args)
		e = &c
	case *Not:
		c := *x
		c.X = Map(x.X, f)
		e = &c
	case *IsNull:
		c := *x
		c.X = Map(x.X, f)
		e = &c
	case *IsBool:
		c := *x
		c.X = Map(x.X, f)
		e = &c
	case *Distinct:
		c := *x
		c.L, c.R = Map(x.L, f), Map(x.R, f)
		e = &c
	case *Case:
		c := *x
		c.Whens = make([]When, len(x.Whens))
		for i, w := range x.Whens {
			c.Whens[i] = When{Map(w.Cond, f), Map(w.Result, f)}
		}
		c.Else = Map(x.Else, f)
		e = &c
	case *Coalesce:
		c := *x
		c.Args = list(x.Args)
		e = &c
	case *MinMax:
		c := *x
		c.Args = list(x.Args)
		e = &c
	case *In:
		c := *x
		c.X, c.List = Map(x.X, f), list(x.List)
		e = &c
	case *AnyAll:
		c := *x
		c.L, c.R = Map(x.L, f), Map(x.R, f)
		e = &c
	case *MakeArray:
		c := *x
		c.Elems = list(x.Elems)
		e = &c
	case *MakeRow:
		c := *x
		c.Elems = list(x.Elems)
		e = &c
	}
	return f(e)
}
