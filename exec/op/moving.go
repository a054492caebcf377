package op

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// MovingValues has rows that depend on nothing but the time.
//
//	In:      no port: only barriers.
//	Out:     at the first barrier ever the rows, in order; at each barrier of another second, of the rows that have changed,
//	         each old one with diff -1 and then the new one with diff +1.
//	State:   the rows that were emitted last, state table "rows", by their number.
//	Memory:  the rows.
//	Barrier: emits what has changed, forwards it.
//	Errors:  those of the expressions, through Context.RowError.
type MovingValues struct {
	base
	evs  [][]*expr.Evaluator
	env  exec.Env
	st   exec.StateTable
	rows [][]types.Datum // nil: not emitted yet
	// changed: the state table does not have rows.
	changed bool
	outc    *vec.Chunk
}

// NewMovingValues compiles the expressions.
func NewMovingValues(cfg ValuesConfig) (*MovingValues, error) {
	v, err := NewValues(cfg)
	if err != nil {
		return nil, err
	}
	m := &MovingValues{evs: v.evs, outc: vec.NewChunk(cfg.Out, 0)}
	m.schema = cfg.Out
	return m, nil
}

func (m *MovingValues) key() []byte { return append(valuesKey(), 0) }

// Open reads what was emitted last.
func (m *MovingValues) Open(ctx *exec.Context, out exec.Output) error {
	if err := m.base.Open(ctx, out); err != nil {
		return err
	}
	m.env = *ctx.Env
	if ctx.Due != nil {
		ctx.Due(exec.NeverDue)
	}
	if m.st = m.state("rows"); m.st == nil {
		return nil
	}
	val, ok, err := m.st.Get(m.key())
	if err != nil || !ok {
		return err
	}
	c := vec.NewChunk(m.schema, 0)
	for len(val) > 0 {
		if val, err = vec.DecodeRow(val, c.Cols); err != nil {
			return err
		}
		c.PushDiff(1)
		m.rows = append(m.rows, c.Row(len(m.rows), nil))
	}
	if len(m.rows) != len(m.evs) {
		return vec.ErrCorruptRow
	}
	return nil
}

// Chunk is never called.
func (m *MovingValues) Chunk(int, *vec.Chunk) error {
	return fmt.Errorf("MovingValues has no input")
}

// Barrier emits what has changed.
func (m *MovingValues) Barrier(bar exec.Barrier) error {
	second := bar.Second()
	if now := types.ToGoTime(second); m.rows == nil || !now.Equal(m.env.Now) {
		m.env.Now = now
		if err := m.move(); err != nil {
			return err
		}
	}
	if bar.Checkpoint && m.st != nil && m.changed {
		m.changed = false
		c := vec.NewChunk(m.schema, 0)
		var val []byte
		for i, r := range m.rows {
			c.AppendRow(r, 1)
			val = vec.EncodeRow(val, c.Cols, i)
		}
		m.st.Put(m.key(), val)
	}
	if m.ctx.Due != nil {
		m.ctx.Due(second + 1_000_000)
	}
	return m.out.Barrier(bar)
}

func (m *MovingValues) move() error {
	ectx := expr.EvalContext{Env: &m.env, RowError: m.ctx.RowError}
	first := m.rows == nil
	if first {
		m.rows = make([][]types.Datum, len(m.evs))
	}
	for i, evs := range m.evs {
		row := make([]types.Datum, len(evs))
		same := !first
		for k, ev := range evs {
			d, err := ev.EvalRow(&ectx, nil)
			if err != nil {
				return err
			}
			row[k] = d
			same = same && vec.SameDatum(m.schema[k], d, m.rows[i][k])
		}
		if same {
			continue
		}
		m.changed = true
		m.outc.Reset()
		if !first {
			m.outc.AppendRow(m.rows[i], -1)
		}
		m.outc.AppendRow(row, 1)
		m.rows[i] = row
		if err := m.emit(m.outc, vec.NewChunk(m.schema, 0)); err != nil {
			return err
		}
	}
	return nil
}
