// Package build makes running things of plans: operators of plan nodes, jobs of stream plans, and
// trees for exec/batch of batch plans.
package build

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// operator makes the operator of a node that has inputs, except the ends of stream plans. subst replaces
// parameters by values; nil if there are none.
func operator(n plan.Node, env *exec.Env, subst func(scalar.Expr) scalar.Expr) (exec.Operator, error) {
	if subst == nil {
		subst = func(e scalar.Expr) scalar.Expr { return e }
	}
	in := func(i int) []types.Type { return n.Inputs()[i].Properties().Types() }
	switch n := n.(type) {
	case *plan.Filter:
		return op.NewFilter(op.FilterConfig{In: in(0), Pred: subst(n.Pred)})
	case *plan.Project:
		return op.NewProject(op.ProjectConfig{In: in(0), Exprs: substAll(n.Exprs, subst)})
	case *plan.HashAgg:
		cfg := op.HashAggConfig{In: in(0), Keys: n.Keys, AppendOnlyIn: n.AppendOnlyIn, Dist: n.InDist}
		for _, a := range n.Aggs {
			cfg.Aggs = append(cfg.Aggs, op.Agg{
				Fn: a.Fn, Args: a.Args, Distinct: a.Distinct, Filter: a.Filter, OrderBy: sortKeys(a.OrderBy), Type: a.Type,
			})
		}
		return op.NewHashAgg(cfg)
	case *plan.HashJoin:
		cfg := op.HashJoinConfig{
			Left: in(0), Right: in(1), Kind: joinKind(n.Kind), LeftKeys: n.LeftKeys, RightKeys: n.RightKeys, NullSafe: n.NullSafe,
			LeftRowKey: n.LeftRowKey, RightRowKey: n.RightRowKey,
			LeftAppendOnly: n.LeftAppendOnly, RightAppendOnly: n.RightAppendOnly,
			LeftDist: n.LeftDist, RightDist: n.RightDist, Output: n.Output,
		}
		if n.Residual != nil {
			cfg.Residual = subst(n.Residual)
		}
		return op.NewHashJoin(cfg)
	case *plan.TopN:
		limit, offset, err := limits(n.Limit, n.Offset, env, subst)
		if err != nil {
			return nil, err
		}
		return op.NewTopN(op.TopNConfig{
			In: in(0), OrderBy: sortKeys(n.OrderBy), Limit: limit, Offset: offset, WithTies: n.WithTies, GroupBy: n.GroupBy,
			RowKey: n.RowKey, AppendOnlyIn: n.AppendOnlyIn, RankOutput: n.RankOutput, Dist: n.InDist,
		})
	case *plan.Hop:
		return op.NewHop(op.HopConfig{In: in(0), TimeCol: n.TimeCol, Size: n.Size, Slide: n.Slide, Offset: n.Offset})
	case *plan.UnionAll:
		cfg := op.UnionAllConfig{SourceColumn: n.SourceColumn, Ports: len(n.Ins)}
		cfg.In = in(0)
		return op.NewUnionAll(cfg)
	case *plan.Max1Row:
		return op.NewMax1Row(op.Max1RowConfig{In: in(0), GroupBy: n.GroupBy})
	case *plan.ProjectSet:
		cfg := op.ProjectSetConfig{In: in(0), Ordinality: n.Ordinality}
		for _, f := range n.Funcs {
			cfg.Funcs = append(cfg.Funcs, op.SetFunc{Fn: f.Fn, Args: substAll(f.Args, subst), Types: f.Types})
		}
		return op.NewProjectSet(cfg)
	case *plan.Values:
		rows, err := ConstRows(n, env, subst)
		if err != nil {
			return nil, err
		}
		return op.NewValues(op.ValuesConfig{Types: n.Types(), Rows: rows})
	case *plan.Sort:
		return op.NewSort(op.SortConfig{In: in(0), OrderBy: sortKeys(n.OrderBy)})
	case *plan.Limit:
		limit, offset, err := limits(n.Limit, n.Offset, env, subst)
		if err != nil {
			return nil, err
		}
		return op.NewLimit(op.LimitConfig{In: in(0), Limit: limit, Offset: offset})
	}
	return nil, fmt.Errorf("no operator for plan node %T", n)
}

func substAll(es []scalar.Expr, subst func(scalar.Expr) scalar.Expr) []scalar.Expr {
	out := make([]scalar.Expr, len(es))
	for i, e := range es {
		out[i] = subst(e)
	}
	return out
}

func sortKeys(ks []plan.SortKey) []vec.SortKey {
	out := make([]vec.SortKey, len(ks))
	for i, k := range ks {
		out[i] = vec.SortKey{Col: k.Col, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return out
}

func joinKind(k plan.JoinKind) op.JoinKind {
	switch k {
	case plan.Left:
		return op.Left
	case plan.Right:
		return op.Right
	case plan.Full:
		return op.Full
	case plan.Semi:
		return op.Semi
	case plan.Anti:
		return op.Anti
	}
	return op.Inner
}

// limits computes LIMIT (-1: none) and OFFSET.
func limits(limit, offset scalar.Expr, env *exec.Env, subst func(scalar.Expr) scalar.Expr) (int64, int64, error) {
	l, ok, err := count(limit, env, subst)
	if err != nil {
		return 0, 0, err
	}
	if ok && l < 0 {
		return 0, 0, sqlerr.Newf(sqlerr.InvalidRowCountInLimit, "LIMIT must not be negative")
	}
	if !ok {
		l = -1
	}
	o, _, err := count(offset, env, subst)
	if err != nil {
		return 0, 0, err
	}
	if o < 0 {
		return 0, 0, sqlerr.Newf(sqlerr.InvalidRowCountInOffset, "OFFSET must not be negative")
	}
	return l, o, nil
}

func count(e scalar.Expr, env *exec.Env, subst func(scalar.Expr) scalar.Expr) (int64, bool, error) {
	if e == nil {
		return 0, false, nil
	}
	d, err := expr.FoldConst(subst(e), env)
	return d.I, d.Valid, err
}

// ConstRows computes the rows of a Values node.
func ConstRows(n *plan.Values, env *exec.Env, subst func(scalar.Expr) scalar.Expr) ([][]types.Datum, error) {
	rows := make([][]types.Datum, len(n.Rows))
	for i, r := range n.Rows {
		rows[i] = make([]types.Datum, len(r))
		for j, e := range r {
			if subst != nil {
				e = subst(e)
			}
			d, err := expr.FoldConst(e, env)
			if err != nil {
				return nil, err
			}
			rows[i][j] = d
		}
	}
	return rows, nil
}
