package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
)

// lookup builds a join with the current rows of a relation: its condition must fix at least the first column of the
// relation's key.
func (b *builder) lookup(n *logical.Lookup, need logical.ColSet) built {
	ls := logical.OutSet(n.In)
	keys, rest := b.equiKeys(n.On, ls, logical.SetOf(n.Out...))
	used := logical.ColsOf(n.On...)
	used.AddSet(need)
	in := b.node(n.In, used.And(ls))
	what := "FOR SYSTEM_TIME AS OF PROCTIME()"
	if !in.node.Properties().AppendOnly {
		panic(failure{sqlerr.New(sqlerr.FeatureNotSupported, n.Pos, "a join %s of rows that may change or go is not supported in a materialized view or sink", what).
			WithHint("The left side must be append-only: a source, or a table that was created APPEND ONLY. Without %s, the join follows the changes of both sides.", what)})
	}
	b.use(n.Rel)
	out := &plan.Lookup{Kind: kinds[n.Kind], In: in.node, R: &plan.LookupScan{Rel: n.Rel}}
	for _, c := range n.Rel.Columns {
		out.R.Cols = append(out.R.Cols, plan.Column{Name: c.Name, Type: c.Type, Hidden: c.Hidden})
	}
	// right is the column at each position of the relation.
	right := make([]logical.ColID, len(n.Rel.Columns))
	for i, o := range n.Ords {
		right[o] = n.Out[i]
	}
	all := append(slices.Clone(in.cols), right...)
	var conds []scalar.Expr
	taken := make([]bool, len(keys))
	for _, k := range n.Rel.Key {
		at := slices.IndexFunc(keys, func(e equiKey) bool {
			c, ok := e.r.(*scalar.Column)
			return ok && !e.nullSafe && right[k.Col] != 0 && c.Index == right[k.Col]
		})
		if at < 0 {
			break
		}
		taken[at] = true
		out.Keys = append(out.Keys, expr(keys[at].l, in.cols))
	}
	if len(out.Keys) == 0 {
		panic(failure{sqlerr.New(sqlerr.FeatureNotSupported, n.Pos, "a join %s on other columns than the key of \"%s\" is not supported in a materialized view or sink", what, n.Rel.Name).
			WithHint("The condition must compare the first column of its primary key, or all of them, with = to columns of the left side.")})
	}
	for i, k := range keys {
		if !taken[i] {
			conds = append(conds, b.equal(k))
		}
	}
	if conds = append(conds, rest...); len(conds) > 0 {
		out.Residual = expr(logical.Conj(conds), all)
	}
	var cols []logical.ColID
	for i, c := range all {
		if c != 0 && need.Has(c) {
			out.Output = append(out.Output, i)
			cols = append(cols, c)
		}
	}
	out.Props = b.props(n, cols)
	return built{out, cols}
}

// equal is the condition of a pair of join keys.
func (b *builder) equal(k equiKey) scalar.Expr {
	if k.nullSafe {
		return logical.NotDistinct(k.l, k.r)
	}
	res, err := b.Registry.ResolveOperator("=", k.l.Type(), k.r.Type())
	if err != nil {
		panic(failure{err})
	}
	return &scalar.Call{Node: scalar.Node{T: res.Ret, Pos: sqlerr.NoPos}, Fn: res.Fn, Args: []scalar.Expr{k.l, k.r}}
}
