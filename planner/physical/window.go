package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func (b *builder) window(n *logical.Window, need logical.ColSet) built {
	used := n.Uses()
	used.AddSet(need)
	for c := range n.Outs() {
		delete(used, c)
	}
	in := b.node(n.In, used)
	in = b.narrow(in, used, n.In)
	cols := slices.Clone(in.cols)
	out := &plan.Window{In: in.node, PartitionBy: in.positions(n.Partition), OrderBy: in.order(n.Order), RowKey: in.positions(n.RowKey)}
	if b.stream && out.RowKey == nil {
		out.RowKey = []int{}
	}
	for _, c := range n.Calls {
		call := plan.WindowCall{Fn: c.Fn, Consts: c.Consts, Filter: -1, Frame: c.Frame, Type: b.Meta.Type(c.ID)}
		for i, a := range c.Args {
			at := -1
			if a != 0 {
				at = in.pos(a)
			} else if _, ok := c.Consts[i].(*scalar.Const); b.stream && !ok {
				unsupported(c.Consts[i].Position(), "an argument of "+c.Fn.Name+" that is not a constant")
			}
			call.Args = append(call.Args, at)
		}
		if c.Filter != 0 {
			call.Filter = in.pos(c.Filter)
		}
		if b.stream {
			b.constantFrame(n, &call.Frame)
		}
		out.Calls = append(out.Calls, call)
		cols = append(cols, c.ID)
	}
	out.Props = b.props(n, cols)
	return built{out, cols}
}

// constantFrame refuses, in a view, offsets that would fail for every row, or are not known.
func (b *builder) constantFrame(n *logical.Window, f *logical.Frame) {
	var col types.Type
	if len(n.Order) > 0 {
		col = b.Meta.Type(n.Order[0].Col)
	}
	for i, o := range []logical.FrameBound{f.Start, f.End} {
		if o.Offset == nil {
			continue
		}
		c, ok := o.Offset.(*scalar.Const)
		if !ok {
			unsupported(o.Pos, "a frame offset that is not a constant in a materialized view")
		}
		what := [...]string{"starting", "ending"}[i]
		switch {
		case !c.Val.Valid:
			panic(failure{sqlerr.Newf(sqlerr.NullValueNotAllowed, "frame %s offset must not be null", what)})
		case f.Unit != logical.FrameRange && c.Val.I < 0:
			panic(failure{sqlerr.Newf(sqlerr.InvalidFrameOffset, "frame %s offset must not be negative", what)})
		case f.Unit == logical.FrameRange && types.BadRangeOffset(col, c.T, c.Val):
			panic(failure{sqlerr.Newf(sqlerr.InvalidFrameOffset, "invalid preceding or following size in window function")})
		}
	}
}
