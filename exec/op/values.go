package op

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// ValuesConfig configures Values.
type ValuesConfig struct {
	Out  []types.Type
	Rows [][]scalar.Expr // without columns
}

// Values has constant rows.
//
//	In:      no port: only barriers.
//	Out:     the rows, in order, before the first barrier ever.
//	State:   whether they were emitted, state table "values".
//	Memory:  none.
//	Barrier: emits the rows the first time, forwards it.
//	Errors:  those of the expressions, through Context.RowError; with SkipFailed the row is left out.
type Values struct {
	base
	cfg  ValuesConfig
	evs  [][]*expr.Evaluator
	st   exec.StateTable
	done bool
	// saved: the state table knows that the rows were emitted.
	saved bool
}

// NewValues compiles the expressions.
func NewValues(cfg ValuesConfig) (*Values, error) {
	v := &Values{cfg: cfg}
	v.schema = cfg.Out
	for _, row := range cfg.Rows {
		if len(row) != len(cfg.Out) {
			return nil, fmt.Errorf("Values: %d expressions for %d columns", len(row), len(cfg.Out))
		}
		evs := make([]*expr.Evaluator, len(row))
		for i, e := range row {
			var err error
			if evs[i], err = expr.Compile(e, nil); err != nil {
				return nil, err
			}
		}
		v.evs = append(v.evs, evs)
	}
	return v, nil
}

// valuesKey is the one key of the state table, under the vnode of no columns.
func valuesKey() []byte {
	var k stateKeys
	k.prepare(nil, 1)
	return k.key(nil, 0, false)
}

// Open asks the state table whether the rows were emitted.
func (v *Values) Open(ctx *exec.Context, out exec.Output) error {
	if err := v.base.Open(ctx, out); err != nil {
		return err
	}
	if v.st = v.state("values"); v.st == nil {
		return nil
	}
	_, ok, err := v.st.Get(valuesKey())
	v.done, v.saved = ok, ok
	return err
}

// Chunk is never called.
func (v *Values) Chunk(int, *vec.Chunk) error { return fmt.Errorf("Values has no input") }

// Barrier emits the rows before the first barrier.
func (v *Values) Barrier(bar exec.Barrier) error {
	if !v.done {
		v.done = true
		if err := v.emitRows(); err != nil {
			return err
		}
	}
	if bar.Checkpoint && v.st != nil && !v.saved {
		v.saved = true
		v.st.Put(valuesKey(), []byte{1})
	}
	return v.out.Barrier(bar)
}

func (v *Values) emitRows() error {
	var site int
	ectx := evalContext(v.ctx, &site)
	c := vec.NewChunk(v.schema, 0)
	for i, evs := range v.evs {
		row, failed := make([]types.Datum, len(evs)), false
		for k, ev := range evs {
			site = i*len(evs) + k
			d, err := ev.EvalRow(&ectx, nil)
			if err != nil {
				return err
			}
			row[k] = d
			failed = failed || ev.Failed().Any()
		}
		if !failed || !v.ctx.SkipFailed {
			c.AppendRow(row, 1)
		}
		if c.Len() > 0 && (c.Len() >= v.max || i+1 == len(v.evs)) {
			if err := v.out.Chunk(c); err != nil {
				return err
			}
			c.Reset()
		}
	}
	return nil
}
