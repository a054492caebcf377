package build

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/types"
)

func window(n *plan.Window, env *exec.Env) (exec.Operator, error) {
	cfg := op.WindowConfig{In: n.In.Properties().Types(), PartitionBy: n.PartitionBy, OrderBy: sortKeys(n.OrderBy), RowKey: n.RowKey, Dist: n.InDist}
	for _, c := range n.Calls {
		call := op.WindowCall{Fn: c.Fn, Args: c.Args, Consts: make([]types.Datum, len(c.Args)), Filter: c.Filter, Type: c.Type}
		for i, e := range c.Consts {
			if e == nil {
				continue
			}
			var err error
			if call.Consts[i], err = expr.FoldConst(e, env); err != nil {
				return nil, err
			}
		}
		call.Frame.Unit, call.Frame.Exclude = op.FrameUnit(c.Frame.Unit), op.FrameExclude(c.Frame.Exclude)
		var err error
		if call.Frame.Start, err = bound(c.Frame.Start, env); err != nil {
			return nil, err
		}
		if call.Frame.End, err = bound(c.Frame.End, env); err != nil {
			return nil, err
		}
		cfg.Calls = append(cfg.Calls, call)
	}
	return op.NewWindow(cfg)
}

func bound(b plan.FrameBound, env *exec.Env) (op.FrameBound, error) {
	out := op.FrameBound{Kind: op.BoundKind(b.Kind)}
	if b.Offset == nil {
		return out, nil
	}
	out.OffsetType = b.Offset.Type()
	var err error
	out.Offset, err = expr.FoldConst(b.Offset, env)
	return out, err
}
