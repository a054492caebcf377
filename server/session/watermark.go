package session

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// idleOption takes the option idle_timeout out of those of a connector.
func idleOption(opts []ast.Option, w *ast.Watermark) (idle int64, rest []ast.Option, err error) {
	for _, o := range opts {
		if o.Name != "idle_timeout" {
			rest = append(rest, o)
			continue
		}
		if w == nil {
			return 0, nil, sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "idle_timeout needs a WATERMARK")
		}
		d, err := types.ParseText(types.T(types.Interval), o.Value, nil)
		if err != nil || !d.Valid || d.Span.Months != 0 || d.Span.Days < 0 || d.Span.Micros < 0 {
			return 0, nil, sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "invalid value for idle_timeout: %q", o.Value)
		}
		idle = int64(d.Span.Days)*86400e6 + d.Span.Micros
	}
	return idle, rest, nil
}

// watermark gives the meaning of WATERMARK FOR c AS c [- interval].
func (d *definer) watermark(rel *catalog.Relation, w *ast.Watermark) (*catalog.Watermark, error) {
	at := rel.ColumnIndex(w.Column)
	if at < 0 {
		return nil, sqlerr.New(sqlerr.UndefinedColumn, w.Pos, "column %q named in WATERMARK does not exist", w.Column)
	}
	t := rel.Columns[at].Type
	if t.Kind != types.Timestamp && t.Kind != types.Timestamptz {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, w.Pos, "the column of a watermark must be of type timestamp or timestamptz, not %s", t)
	}
	e, err := d.planner().Expr(w.Expr, rel, t, "WATERMARK")
	if err != nil {
		return nil, err
	}
	out := &catalog.Watermark{Col: at}
	if c, ok := e.(*scalar.Call); ok && c.Fn.Name == "-" && len(c.Args) == 2 {
		if k, isConst := c.Args[1].(*scalar.Const); isConst && k.Val.Valid && k.T.Kind == types.Interval && k.Val.Span.Months == 0 {
			e = c.Args[0]
			out.Delay = int64(k.Val.Span.Days)*86400e6 + k.Val.Span.Micros
		}
	}
	if c, ok := e.(*scalar.Column); !ok || c.Index != at {
		return nil, sqlerr.New(sqlerr.FeatureNotSupported, w.Pos, "this expression of a watermark is not supported yet").
			WithHint("WATERMARK FOR %s AS %s - INTERVAL '...', without months.", w.Column, w.Column)
	}
	if out.Delay < 0 {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, w.Pos, "the delay of a watermark must not be negative")
	}
	return out, nil
}
