package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
)

// orFilters filters the inputs of a chain of joins by what alternatives over several inputs say of each: of (a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)
// that a.x is 1 or 3. The conditions themselves stay.
func orFilters(rels []logical.Node, on []scalar.Expr) {
	for i, r := range rels {
		cols := logical.OutSet(r)
		var preds []scalar.Expr
		for _, p := range on {
			if or, ok := p.(*scalar.Or); ok && !logical.Volatile(p) {
				if said := saidOf(or, cols); said != nil {
					preds = append(preds, said)
				}
			}
		}
		rels[i] = filter(r, preds)
	}
}

// saidOf gives what every alternative of or says of columns, nil if one says nothing.
func saidOf(or *scalar.Or, cols logical.ColSet) scalar.Expr {
	out := &scalar.Or{Node: or.Node}
	for _, arm := range or.Args {
		var within []scalar.Expr
		for _, c := range logical.Conjuncts(arm) {
			switch inner, isOr := c.(*scalar.Or); {
			case logical.ColsOf(c).Within(cols) && len(logical.ColsOf(c)) > 0:
				within = append(within, c)
			case isOr:
				if said := saidOf(inner, cols); said != nil {
					within = append(within, said)
				}
			}
		}
		if len(within) == 0 {
			return nil
		}
		out.Args = append(out.Args, logical.Conj(within))
	}
	return out
}
