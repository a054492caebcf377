package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
)

// Batch makes the plan of a query that is run once: the columns out in order, sorted by order.
func Batch(c Config, n logical.Node, out []logical.ColID, names []string, order []logical.Order) (p *plan.Batch, err error) {
	defer catch(&err)
	b := &builder{Config: c, rels: map[catalog.ID]*catalog.Relation{}}
	need := logical.SetOf(out...)
	for _, o := range order {
		need.Add(o.Col)
	}
	x := b.node(n, need)
	if len(order) > 0 {
		x = b.sorted(x, &logical.TopN{In: n, Order: order})
	}
	p = &plan.Batch{Visible: len(out)}
	x = b.named(x, out, names)
	p.Root = x.node
	p.Relations = b.relations()
	p.Point = point(p.Root)
	return p, nil
}

// named projects x to out with the given names.
func (b *builder) named(x built, out []logical.ColID, names []string) built {
	to := make([]logical.ColID, len(out))
	same := len(x.cols) == len(out)
	for i, c := range out {
		to[i] = c
		same = same && x.cols[i] == c
	}
	if !same {
		x = b.arrange(x, out, to)
	}
	// The names are the user's.
	pr := x.node.Properties()
	cols := slices.Clone(pr.Cols)
	for i := range names {
		cols[i].Name = names[i]
	}
	pr.Cols = cols
	return x
}

// point recognises a read of one row by its complete key.
func point(n plan.Node) *plan.Point {
	var exprs []scalar.Expr
	var filters []scalar.Expr
	for {
		switch x := n.(type) {
		case *plan.Project:
			if exprs == nil {
				exprs = x.Exprs
			} else {
				exprs = over(exprs, x.Exprs)
			}
			filters = over(filters, x.Exprs)
			n = x.In
			continue
		case *plan.Filter:
			filters = append(filters, x.Pred)
			n = x.In
			continue
		case *plan.Scan:
			if len(x.Access.Points) != 1 || len(x.Access.Points[0]) < len(x.Rel.Key) {
				return nil
			}
			cols := make([]scalar.Expr, len(x.Cols))
			for i, o := range x.Cols {
				c := x.Rel.Columns[o]
				cols[i] = &scalar.Column{Node: scalar.Node{T: c.Type, Pos: -1}, Index: o, Name: c.Name}
			}
			if exprs == nil {
				exprs = cols
			} else {
				exprs = over(exprs, cols)
			}
			p := &plan.Point{Rel: x.Rel, Key: x.Access.Points[0], Exprs: exprs}
			if len(filters) > 0 {
				p.Filter = logical.Conj(over(filters, cols))
			}
			return p
		}
		return nil
	}
}

// over substitutes the columns of es by below.
func over(es, below []scalar.Expr) []scalar.Expr {
	out := make([]scalar.Expr, len(es))
	for i, e := range es {
		out[i] = logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
			if c, ok := x.(*scalar.Column); ok {
				return below[c.Index]
			}
			return nil
		})
	}
	return out
}
