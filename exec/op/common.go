package op

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// ErrNegativeMultiplicity says that the input took back a row that it had not given: a broken
// invariant upstream, fatal to the job's region.
var ErrNegativeMultiplicity = errors.New("a row was retracted that was never inserted")

// SortKey is one column of an order.
type SortKey = vec.SortKey

// base is what all operators have.
type base struct {
	schema []types.Type
	ctx    *exec.Context
	out    exec.Output
	max    int // rows per output chunk
	mem    *exec.Account
}

// Schema is the types of the output columns.
func (b *base) Schema() []types.Type { return b.schema }

// Open keeps the context and the output.
func (b *base) Open(ctx *exec.Context, out exec.Output) error {
	b.ctx, b.out = ctx, out
	b.mem = ctx.Memory.Account()
	b.max = ctx.ChunkSize
	if b.max <= 0 {
		b.max = vec.ChunkSize
	}
	return nil
}

// Watermark drops the watermark: the operator promises nothing about event times.
func (b *base) Watermark(int, exec.Watermark) error { return nil }

// Barrier forwards the barrier.
func (b *base) Barrier(bar exec.Barrier) error { return b.out.Barrier(bar) }

// Close gives the memory back.
func (b *base) Close() { b.mem.Close() }

// budget is how many bytes of state the operator may keep, 0 if there is no bound.
func (b *base) budget() int64 {
	own, share := b.ctx.MemoryBudget, b.mem.Share()
	if own == 0 || share != 0 && share < own {
		return share
	}
	return own
}

func (b *base) cancelled() error {
	if b.ctx.Ctx == nil {
		return nil
	}
	return context.Cause(b.ctx.Ctx)
}

// state opens a state table; nil means memory only.
func (b *base) state(name string) exec.StateTable {
	if b.ctx.State == nil {
		return nil
	}
	return b.ctx.State(name)
}

// emit sends c, if it has rows, in pieces of at most max rows, and resets it.
func (b *base) emit(c *vec.Chunk, piece *vec.Chunk) error {
	n := c.Len()
	if n == 0 {
		return nil
	}
	if n <= b.max {
		err := b.out.Chunk(c)
		c.Reset()
		return err
	}
	for lo := 0; lo < n; lo += b.max {
		piece.Reset()
		piece.AppendRange(c, lo, min(lo+b.max, n))
		if err := b.out.Chunk(piece); err != nil {
			return err
		}
	}
	c.Reset()
	return nil
}

// evalContext makes the context of the expressions of an operator over its input. *site is which of them is evaluated.
func evalContext(ctx *exec.Context, site *int) expr.EvalContext {
	e := expr.EvalContext{Env: ctx.Env}
	if ctx.RowError != nil {
		e.RowError = func(c *vec.Chunk, i int, err error) error {
			return ctx.RowError(exec.RowFailure{Err: err, Site: *site, Cols: c.Cols, Row: i, Diff: c.Diff(i)})
		}
	}
	return e
}

// failed reports something that fails; the error, if there is one, ends the work.
func (b *base) failed(f exec.RowFailure) error {
	if b.ctx.RowError == nil {
		return f.Err
	}
	return b.ctx.RowError(f)
}

// checkCols says whether all columns exist in a row of n columns.
func checkCols(what string, cols []int, n int) error {
	for _, c := range cols {
		if c < 0 || c >= n {
			return fmt.Errorf("%s: column %d of %d", what, c, n)
		}
	}
	return nil
}

func pickTypes(ts []types.Type, cols []int) []types.Type {
	out := make([]types.Type, len(cols))
	for i, c := range cols {
		out[i] = ts[c]
	}
	return out
}

// textEnv gives what the text of values depends on.
func textEnv(env *exec.Env) *types.Env {
	if env == nil {
		return &types.Env{}
	}
	return &types.Env{
		TimeZone: env.Location, Names: env.Names, Types: env.Types, Now: types.FromGoTime(env.Now),
		DateOrder: env.DateOrder, DateStyle: env.DateStyle, IntervalStyle: env.IntervalStyle,
	}
}
