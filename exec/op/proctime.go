package op

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// ProcTimeConfig configures ProcTime.
type ProcTimeConfig struct {
	In []types.Type
	// Tick: somebody waits for the watermark, so there must be a barrier every second.
	Tick bool
}

// ProcTime says of each row when it came.
//
//	In:      one port, append-only.
//	Out:     at each barrier the rows of its epoch, in their order, each with the time of the epoch behind its columns.
//	State:   none: the time of a row that has passed is in the rows of those who got it.
//	Memory:  the rows of an epoch, since the time of an epoch is known at its end.
//	Barrier: emits the rows, then the watermarks of the input's columns, and that of the new column, which is the time of the
//	         epoch: no later row has an earlier one. Then it forwards it.
//	Errors:  none.
type ProcTime struct {
	base
	cfg ProcTimeConfig
	// rows are those of the epoch, all the same with their times, in pieces that are sent.
	rows, all, piece *vec.Chunk
	times            *vec.Vector
	marks            marks
}

// NewProcTime makes a ProcTime.
func NewProcTime(cfg ProcTimeConfig) (*ProcTime, error) {
	p := &ProcTime{cfg: cfg}
	p.schema = append(append([]types.Type(nil), cfg.In...), types.T(types.Timestamptz))
	p.rows, p.piece = vec.NewChunk(cfg.In, 0), vec.NewChunk(p.schema, 0)
	p.times = vec.NewVector(types.T(types.Timestamptz), 0)
	p.all = &vec.Chunk{Cols: append(append([]*vec.Vector(nil), p.rows.Cols...), p.times)}
	return p, nil
}

// Open tells the timekeeper that the output depends on time.
func (p *ProcTime) Open(ctx *exec.Context, out exec.Output) error {
	if err := p.base.Open(ctx, out); err != nil {
		return err
	}
	if ctx.Due != nil {
		ctx.Due(exec.NeverDue)
	}
	return nil
}

// Chunk keeps the rows.
func (p *ProcTime) Chunk(_ int, c *vec.Chunk) error {
	p.rows.AppendRange(c, 0, c.Len())
	return nil
}

// Watermark keeps the watermark until the rows before it have been emitted.
func (p *ProcTime) Watermark(_ int, w exec.Watermark) error {
	p.marks.set(w)
	return nil
}

// Barrier gives the rows their time.
func (p *ProcTime) Barrier(bar exec.Barrier) error {
	for range p.rows.Len() {
		p.times.AppendInt(bar.Time)
	}
	p.all.Diffs = p.rows.Diffs
	p.all.SetLen(p.rows.Len())
	if err := p.emit(p.all, p.piece); err != nil {
		return err
	}
	p.rows.Reset()
	p.times.Reset()
	p.marks.set(exec.Watermark{Col: len(p.cfg.In), Value: bar.Time})
	for _, w := range p.marks {
		if err := p.out.Watermark(w); err != nil {
			return err
		}
	}
	if p.ctx.Due != nil {
		due := int64(exec.NeverDue)
		if p.cfg.Tick {
			due = bar.Second() + 1_000_000
		}
		p.ctx.Due(due)
	}
	return p.out.Barrier(bar)
}
