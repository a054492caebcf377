package op

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// ProjectConfig configures Project.
type ProjectConfig struct {
	In    []types.Type
	Exprs []scalar.Expr
}

// Project computes expressions for each row.
//
//	In:      one port, any changelog.
//	Out:     one column an expression; each input chunk gives at most one. An update that changes no output
//	         column is left out.
//	State:   none.
//	Memory:  one vector an expression.
//	Barrier: forwards it; a watermark is forwarded for each output column that is its column, or rises with it.
//	Errors:  those of the expressions, through Context.RowError; the failed one becomes NULL. With SkipFailed the row is left out.
type Project struct {
	base
	evs    []*expr.Evaluator
	copies []int // the input column that an output column is, or -1
	rises  []int // the input column with which an output column rises, or -1
	one    *vec.Chunk
	ectx   expr.EvalContext
	site   int
	failed vec.Bitmap // the rows of the chunk of which an expression failed, with SkipFailed
	view   vec.Chunk
	outc   *vec.Chunk
	sel    []int32
}

// NewProject compiles the expressions.
func NewProject(cfg ProjectConfig) (*Project, error) {
	p := &Project{}
	for _, e := range cfg.Exprs {
		p.schema = append(p.schema, e.Type())
		p.rises = append(p.rises, -1)
		if col, ok := e.(*scalar.Column); ok {
			if err := checkCols("Project", []int{col.Index}, len(cfg.In)); err != nil {
				return nil, err
			}
			p.copies = append(p.copies, col.Index)
			p.evs = append(p.evs, nil)
			continue
		}
		ev, err := expr.Compile(e, nil)
		if err != nil {
			return nil, err
		}
		p.copies = append(p.copies, -1)
		p.evs = append(p.evs, ev)
		if col, ok := scalar.Rises(e); ok {
			p.rises[len(p.rises)-1] = col
			p.one = vec.NewChunk(cfg.In, 1)
		}
	}
	p.outc = vec.NewChunk(p.schema, 0)
	return p, nil
}

// Open keeps the output.
func (p *Project) Open(ctx *exec.Context, out exec.Output) error {
	p.ectx = evalContext(ctx, &p.site)
	return p.base.Open(ctx, out)
}

// Chunk computes one chunk.
func (p *Project) Chunk(_ int, c *vec.Chunk) error {
	p.view.Cols, p.failed = p.view.Cols[:0], p.failed[:0]
	for i, ev := range p.evs {
		if ev == nil {
			p.view.Cols = append(p.view.Cols, c.Cols[p.copies[i]])
			continue
		}
		p.site = i
		v, err := ev.Eval(&p.ectx, c)
		if err != nil {
			return err
		}
		if p.ctx.SkipFailed {
			p.failed.Or(ev.Failed())
		}
		p.view.Cols = append(p.view.Cols, v)
	}
	p.view.Diffs = c.Diffs
	p.view.SetLen(c.Len())
	if len(p.failed) > 0 {
		return p.without(p.failed)
	}
	sel, all := withoutNoops(&p.view, p.sel)
	p.sel = sel
	if all {
		return p.out.Chunk(&p.view)
	}
	if len(sel) == 0 {
		return nil
	}
	p.outc.Reset()
	p.outc.AppendSel(&p.view, sel)
	return p.out.Chunk(p.outc)
}

// without sends the rows that are not in failed.
func (p *Project) without(failed vec.Bitmap) error {
	p.sel = p.sel[:0]
	for i := range p.view.Len() {
		if !failed.Get(i) {
			p.sel = append(p.sel, int32(i))
		}
	}
	if len(p.sel) == 0 {
		return nil
	}
	p.outc.Reset()
	p.outc.AppendSel(&p.view, p.sel)
	return p.out.Chunk(p.outc)
}

// withoutNoops lists the rows of c without pairs of neighbours that cancel out; all means that
// there are none, and then sel is of no use.
func withoutNoops(c *vec.Chunk, buf []int32) (sel []int32, all bool) {
	if c.Diffs == nil {
		return buf, true
	}
	n := c.Len()
	all = true
	sel = buf[:0]
next:
	for i := 0; i < n; i++ {
		if i+1 < n && c.Diffs[i]+c.Diffs[i+1] == 0 {
			same := true
			for _, v := range c.Cols {
				if v.Len() > 0 && !vec.SameAt(v, i, v, i+1) {
					same = false
					break
				}
			}
			if same {
				all = false
				i++
				continue next
			}
		}
		sel = append(sel, int32(i))
	}
	return sel, all
}

// Watermark forwards the watermark for the columns that are copies of its column, or rise with it.
func (p *Project) Watermark(_ int, w exec.Watermark) error {
	for i, col := range p.copies {
		to := exec.Watermark{Col: i, Value: w.Value}
		switch {
		case col == w.Col:
		case p.rises[i] == w.Col:
			p.one.Reset()
			for k, v := range p.one.Cols {
				if k == w.Col {
					v.AppendDatum(types.DInt(w.Value))
				} else {
					v.AppendDatum(types.Null)
				}
			}
			p.one.SetLen(1)
			v, err := p.evs[i].Eval(&expr.EvalContext{Env: p.ectx.Env, RowError: expr.Ignore}, p.one)
			if err != nil {
				return err
			}
			if v.Nulls.Get(0) {
				continue // out of range
			}
			to.Value = v.Int[0]
		default:
			continue
		}
		if err := p.out.Watermark(to); err != nil {
			return err
		}
	}
	return nil
}
