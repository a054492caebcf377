package op

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// FilterConfig configures Filter.
type FilterConfig struct {
	In   []types.Type
	Pred scalar.Expr
}

// Filter keeps the rows for which a predicate is true.
//
//	In:      one port, any changelog.
//	Out:     the input columns; each input chunk gives at most one. Of an update of which only one
//	         side passes, that side remains.
//	State:   none.
//	Memory:  one chunk.
//	Barrier: forwards it, and watermarks too.
//	Errors:  those of the predicate, through Context.RowError; a row that fails is left out.
type Filter struct {
	base
	pred *expr.Evaluator
	ectx expr.EvalContext
	sel  []int32
	outc *vec.Chunk
}

// NewFilter compiles the predicate.
func NewFilter(cfg FilterConfig) (*Filter, error) {
	if cfg.Pred == nil || cfg.Pred.Type().Phys() != types.PhysBool {
		return nil, fmt.Errorf("Filter: predicate is not a bool")
	}
	ev, err := expr.Compile(cfg.Pred, nil)
	if err != nil {
		return nil, err
	}
	f := &Filter{pred: ev, outc: vec.NewChunk(cfg.In, 0)}
	f.schema = cfg.In
	return f, nil
}

// Open keeps the output.
func (f *Filter) Open(ctx *exec.Context, out exec.Output) error {
	f.ectx = evalContext(ctx, new(int))
	return f.base.Open(ctx, out)
}

// Chunk passes on the rows that pass.
func (f *Filter) Chunk(_ int, c *vec.Chunk) error {
	var err error
	if f.sel, err = f.pred.EvalFilter(&f.ectx, c, nil, f.sel[:0]); err != nil {
		return err
	}
	switch len(f.sel) {
	case 0:
		return nil
	case c.Len():
		return f.out.Chunk(c)
	}
	f.outc.Reset()
	f.outc.AppendSel(c, f.sel)
	return f.out.Chunk(f.outc)
}

// Watermark forwards the watermark.
func (f *Filter) Watermark(_ int, w exec.Watermark) error { return f.out.Watermark(w) }
