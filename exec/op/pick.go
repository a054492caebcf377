package op

import (
	"errors"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// PickConfig configures Pick.
type PickConfig struct {
	In []types.Type
	// Each: a row is passed on before the next one is looked at, so that who has enough rows can say so.
	Each bool
	// Keep tells whether row i of c passes.
	Keep func(ctx *exec.Context, c *vec.Chunk, i int) (bool, error)
}

// Pick passes the rows that something outside of the plan lets pass, such as the locks of rows: for batch plans.
//
//	In:      one port.
//	Out:     the rows for which Keep is true, in the order of arrival.
//	State:   none.
//	Memory:  one chunk.
//	Barrier: forwards it.
//	Errors:  those of Keep.
type Pick struct {
	base
	cfg PickConfig
	ctx *exec.Context
	out *vec.Chunk
	to  exec.Output
}

// NewPick checks the configuration.
func NewPick(cfg PickConfig) (*Pick, error) {
	if cfg.Keep == nil {
		return nil, errors.New("Pick: nothing says which rows pass")
	}
	p := &Pick{cfg: cfg, out: vec.NewChunk(cfg.In, 0)}
	p.schema = cfg.In
	return p, nil
}

// Open prepares.
func (p *Pick) Open(ctx *exec.Context, out exec.Output) error {
	p.ctx, p.to = ctx, out
	return p.base.Open(ctx, out)
}

// Chunk passes the rows that are kept.
func (p *Pick) Chunk(_ int, c *vec.Chunk) error {
	p.out.Reset()
	for i := range c.Len() {
		ok, err := p.cfg.Keep(p.ctx, c, i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		p.out.AppendFromDiff(c, i, c.Diff(i))
		if p.cfg.Each {
			if err := p.to.Chunk(p.out); err != nil {
				return err
			}
			p.out.Reset()
		}
	}
	if p.out.Len() == 0 {
		return nil
	}
	return p.to.Chunk(p.out)
}
