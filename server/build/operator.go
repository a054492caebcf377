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

// hashJoin configures a join that keeps both sides.
func hashJoin(n *plan.HashJoin) op.HashJoinConfig {
	return op.HashJoinConfig{
		Interval: joinInterval(n.Interval), Left: n.L.Properties().Types(), Right: n.R.Properties().Types(), Kind: joinKind(n.Kind),
		LeftKeys: n.LeftKeys, RightKeys: n.RightKeys, NullSafe: n.NullSafe,
		LeftRowKey: n.LeftRowKey, RightRowKey: n.RightRowKey,
		LeftAppendOnly: n.LeftAppendOnly, RightAppendOnly: n.RightAppendOnly, LeftUnique: n.LeftUnique, RightUnique: n.RightUnique,
		LeftDist: n.LeftDist, RightDist: n.RightDist, Output: n.Output, Residual: n.Residual,
	}
}

// operator makes the operator of a node, except leaves and the ends of stream plans. In batch plans the
// right input of a join is complete before the left one starts.
func operator(n plan.Node, env *exec.Env, batch bool) (exec.Operator, error) {
	in := func(i int) []types.Type { return n.Inputs()[i].Properties().Types() }
	switch n := n.(type) {
	case *plan.Filter:
		return op.NewFilter(op.FilterConfig{In: in(0), Pred: n.Pred})
	case *plan.Project:
		return op.NewProject(op.ProjectConfig{In: in(0), Exprs: n.Exprs})
	case *plan.HashAgg:
		return op.NewHashAgg(op.HashAggConfig{
			In: in(0), Keys: n.Keys, Aggs: aggs(n.Aggs), AppendOnlyIn: n.AppendOnlyIn, Dist: n.InDist,
		})
	case *plan.HashJoin:
		cfg := hashJoin(n)
		cfg.BuildRight = batch
		return op.NewHashJoin(cfg)
	case *plan.TopN:
		limit, offset, err := limits(n.Limit, n.Offset, env)
		if err != nil {
			return nil, err
		}
		return op.NewTopN(op.TopNConfig{
			In: in(0), OrderBy: sortKeys(n.OrderBy), Limit: limit, Offset: offset, WithTies: n.WithTies, GroupBy: n.GroupBy,
			RowKey: n.RowKey, AppendOnlyIn: n.AppendOnlyIn, RisingIn: n.RisingIn,
			RankOutput: n.RankOutput, Dist: n.InDist,
		})
	case *plan.Window:
		return window(n, env)
	case *plan.Hop:
		return op.NewHop(op.HopConfig{In: in(0), TimeCol: n.TimeCol, Size: micros(n.Size), Slide: micros(n.Slide), Offset: micros(n.Offset), Cumulate: n.Cumulate})
	case *plan.ProcTime:
		return op.NewProcTime(op.ProcTimeConfig{In: in(0), Tick: n.Tick})
	case *plan.Watermark:
		return op.NewWatermark(watermark(n, 0, 1))
	case *plan.Session:
		return op.NewSession(op.SessionConfig{In: in(0), TimeCol: n.TimeCol, Intervals: n.LastCol != n.TimeCol, LastCol: n.LastCol, Gap: micros(n.Gap), Partition: n.Partition, RowKey: n.RowKey, Dist: n.InDist})
	case *plan.HopAgg:
		return op.NewHopAgg(op.HopAggConfig{
			In: in(0), TimeCol: n.TimeCol, Size: micros(n.Size), Slide: micros(n.Slide), Offset: micros(n.Offset),
			Keys: n.Keys, Aggs: aggs(n.Aggs), AppendOnlyIn: n.AppendOnlyIn, Dist: n.InDist,
		})
	case *plan.UnionAll:
		cfg := op.UnionAllConfig{SourceColumn: n.SourceColumn, Ports: len(n.Ins)}
		cfg.In = in(0)
		return op.NewUnionAll(cfg)
	case *plan.Max1Row:
		return op.NewMax1Row(op.Max1RowConfig{In: in(0), GroupBy: n.GroupBy})
	case *plan.Consolidate:
		return op.NewConsolidate(op.ConsolidateConfig{In: in(0)})
	case *plan.ProjectSet:
		cfg := op.ProjectSetConfig{In: in(0), Ordinality: n.Ordinality}
		for _, f := range n.Funcs {
			cfg.Funcs = append(cfg.Funcs, op.SetFunc{Fn: f.Fn, Args: f.Args, Types: f.Types})
		}
		return op.NewProjectSet(cfg)
	case *plan.Values:
		if n.Moving {
			return op.NewMovingValues(op.ValuesConfig{Out: n.Types(), Rows: n.Rows})
		}
		return op.NewValues(op.ValuesConfig{Out: n.Types(), Rows: n.Rows})
	case *plan.Sort:
		return op.NewSort(op.SortConfig{In: in(0), OrderBy: sortKeys(n.OrderBy)})
	case *plan.Limit:
		limit, offset, err := limits(n.Limit, n.Offset, env)
		if err != nil {
			return nil, err
		}
		return op.NewLimit(op.LimitConfig{In: in(0), Limit: limit, Offset: offset})
	}
	return nil, fmt.Errorf("no operator for plan node %T", n)
}

// watermark configures the watermark of a source for actor i of several.
func watermark(n *plan.Watermark, i, actors int) op.WatermarkConfig {
	cfg := op.WatermarkConfig{
		In: n.In.Properties().Types(), Col: n.TimeCol, Delay: n.Def.Delay, Idle: n.Def.Idle, RowID: n.RowID, Splits: n.Splits,
	}
	for s := i; s < n.Splits; s += actors {
		cfg.Mine = append(cfg.Mine, s)
	}
	return cfg
}

func aggs(as []plan.Agg) []op.Agg {
	var out []op.Agg
	for _, a := range as {
		out = append(out, op.Agg{
			Fn: a.Fn, Args: a.Args, Distinct: a.Distinct, Filter: a.Filter, OrderBy: sortKeys(a.OrderBy), Type: a.Type,
		})
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

func joinInterval(iv *plan.JoinInterval) *op.JoinInterval {
	if iv == nil {
		return nil
	}
	o := op.JoinInterval(*iv)
	return &o
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
func limits(limit, offset scalar.Expr, env *exec.Env) (int64, int64, error) {
	l, ok, err := count(limit, env)
	if err != nil {
		return 0, 0, err
	}
	if ok && l < 0 {
		return 0, 0, sqlerr.Newf(sqlerr.InvalidRowCountInLimit, "LIMIT must not be negative")
	}
	if !ok {
		l = -1
	}
	o, _, err := count(offset, env)
	if err != nil {
		return 0, 0, err
	}
	if o < 0 {
		return 0, 0, sqlerr.Newf(sqlerr.InvalidRowCountInOffset, "OFFSET must not be negative")
	}
	return l, o, nil
}

func count(e scalar.Expr, env *exec.Env) (int64, bool, error) {
	if e == nil {
		return 0, false, nil
	}
	d, err := expr.FoldConst(e, env)
	return d.I, d.Valid, err
}

// micros is the length of an interval without months.
func micros(s types.Span) int64 { return int64(s.Days)*86_400_000_000 + s.Micros }
