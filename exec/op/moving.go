package op

import (
	"encoding/binary"
	"errors"
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
//	State:   the rows that were emitted last, and which of their expressions failed, state table "rows".
//	Memory:  the rows.
//	Barrier: emits what has changed, forwards it.
//	Errors:  those of the expressions, through Context.RowError: NULL stands in their place.
type MovingValues struct {
	base
	evs  [][]*expr.Evaluator
	env  exec.Env
	st   exec.StateTable
	rows [][]types.Datum // nil: not emitted yet
	// fails are the expressions that failed last, numbered row by row. failure is why the one that was just evaluated did.
	fails   map[int]error
	failure error
	// changed: the state table does not have rows and fails.
	changed    bool
	failsSaved bool
	outc       *vec.Chunk
}

// NewMovingValues compiles the expressions.
func NewMovingValues(cfg ValuesConfig) (*MovingValues, error) {
	v, err := NewValues(cfg)
	if err != nil {
		return nil, err
	}
	m := &MovingValues{fails: map[int]error{}, evs: v.evs, outc: vec.NewChunk(cfg.Out, 0)}
	m.schema = cfg.Out
	return m, nil
}

func (m *MovingValues) key() []byte      { return append(valuesKey(), 0) }
func (m *MovingValues) failsKey() []byte { return append(valuesKey(), 1) }

// errNow stands for the error of an expression that failed before a restart.
var errNow = errors.New("an expression over the time failed")

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
	if val, m.failsSaved, err = m.st.Get(m.failsKey()); err != nil {
		return err
	}
	for len(val) > 0 {
		site, n := binary.Uvarint(val)
		if n <= 0 {
			return vec.ErrCorruptRow
		}
		m.fails[int(site)] = errNow
		val = val[n:]
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
		val = nil
		for site := range len(m.rows) * len(m.schema) {
			if m.fails[site] != nil {
				val = binary.AppendUvarint(val, uint64(site))
			}
		}
		switch {
		case len(val) > 0:
			m.st.Put(m.failsKey(), val)
		case m.failsSaved:
			m.st.Delete(m.failsKey())
		}
		m.failsSaved = len(val) > 0
	}
	if m.ctx.Due != nil {
		m.ctx.Due(second + 1_000_000)
	}
	return m.out.Barrier(bar)
}

// settle reports whether an expression fails if that is another thing than before.
func (m *MovingValues) settle(site int) error {
	was, is := m.fails[site], m.failure
	m.failure = nil
	if (was != nil) == (is != nil) {
		return nil
	}
	m.changed = true
	if is == nil {
		delete(m.fails, site)
		return m.failed(exec.RowFailure{Err: was, Site: site, Diff: -1})
	}
	m.fails[site] = is
	return m.failed(exec.RowFailure{Err: is, Site: site, Diff: 1})
}

func (m *MovingValues) move() error {
	ectx := expr.EvalContext{Env: &m.env}
	if m.ctx.RowError != nil {
		ectx.RowError = func(_ *vec.Chunk, _ int, err error) error {
			m.failure = err
			return nil
		}
	}
	first := m.rows == nil
	if first {
		m.rows = make([][]types.Datum, len(m.evs))
	}
	for i, evs := range m.evs {
		row := make([]types.Datum, len(evs))
		same := !first
		for k, ev := range evs {
			d, err := ev.EvalRow(&ectx, nil)
			if err == nil {
				err = m.settle(i*len(evs) + k)
			}
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
