package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
)

// directArgs computes, below the aggregation of one grouping set, the direct arguments that depend on the grouping: a
// grouping column that is not in the set is NULL. set are the keys in the set, of all keys. The arguments are known by the
// numbers of the call and of the argument.
func (b *Binder) directArgs(in logical.Node, set, keys []logical.ColID, direct map[[2]int]scalar.Expr) (logical.Node, map[[2]int]logical.ColID) {
	if len(direct) == 0 {
		return in, nil
	}
	have, all := logical.SetOf(set...), logical.SetOf(keys...)
	p := &logical.Project{In: in, Exprs: b.passAll(in)}
	out := map[[2]int]logical.ColID{}
	for k := range maxCalls(direct) {
		for i := range maxArgs(direct) {
			x := direct[[2]int{k, i}]
			if x == nil {
				continue
			}
			e := logical.MapExpr(x, func(x scalar.Expr) scalar.Expr {
				if c, ok := x.(*scalar.Column); ok && all.Has(c.Index) && !have.Has(c.Index) {
					return logical.NullConst(c.T)
				}
				return nil
			})
			id := b.Meta.New("arg", x.Type())
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: id, Expr: e})
			out[[2]int{k, i}] = id
		}
	}
	return p, out
}

// maxCalls and maxArgs bound the numbers in direct.
func maxCalls(direct map[[2]int]scalar.Expr) int { return bound(direct, 0) }
func maxArgs(direct map[[2]int]scalar.Expr) int  { return bound(direct, 1) }

func bound(direct map[[2]int]scalar.Expr, at int) int {
	n := 0
	for k := range direct {
		n = max(n, k[at]+1)
	}
	return n
}
