// Package expr evaluates typed scalar expressions (sql/scalar) over chunks, a column at a time.
//
// Compile makes an Evaluator: a tree of nodes, each of which owns the vector of its results and
// fills it with a loop over typed slices. The rules that the nodes share:
//
//   - A node's result has as many rows as the chunk. It may be asked to compute only some of them,
//     a selection; then the values of the other rows are unspecified but valid, as behind a NULL.
//   - A kernel that cannot fail may compute all rows in spite of a selection or of NULLs, because
//     that is faster. One that can fail does so only for selected rows without NULLs.
//   - CASE, COALESCE, AND, OR, IN select the rows that need an argument before they evaluate it, if it
//     can fail or is expensive.
//   - A row that fails is reported once an evaluation to EvalContext.RowError. If that lets the work
//     go on, the result of the whole expression is NULL for that row.
//
// Kernels are found by the ID of the function in the registry (package sql/fn); the kernel files
// follow the sections of the manual, as the definitions there do.
package expr

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// EvalContext is what one evaluation depends on besides its rows.
type EvalContext struct {
	// Env is the session or job; nil stands for the Env that Compile got.
	Env *exec.Env
	// RowError reports an expression that failed on a row of the chunk. If it returns nil the result of the
	// row is NULL, else Eval returns the error. A nil RowError returns every error.
	RowError func(in *vec.Chunk, row int, err error) error
}

// Ignore is a RowError that lets the work go on.
func Ignore(*vec.Chunk, int, error) error { return nil }

// Evaluator is a compiled expression. It owns buffers and must be used by one goroutine at a time.
type Evaluator struct {
	root node
	typ  types.Type
	env  *exec.Env
	st   state
	out  *vec.Vector // the result with failed rows masked, made when first needed
	row  *vec.Chunk  // input of EvalRow
	cols []scalar.Column
}

// Compile prepares e. env is the default environment of evaluations and may be nil if every
// EvalContext has one. An expression with a function that has no kernel gives 0A000; parameters
// must have been replaced.
func Compile(e scalar.Expr, env *exec.Env) (*Evaluator, error) {
	c := &compiler{}
	root, err := c.compile(e)
	if err != nil {
		return nil, err
	}
	return &Evaluator{root: root, typ: e.Type(), env: env, cols: c.cols}, nil
}

// Type is the type of the result.
func (ev *Evaluator) Type() types.Type { return ev.typ }

// Failed has the rows that failed in the last evaluation; it is empty if none did, and valid until the next one.
func (ev *Evaluator) Failed() vec.Bitmap { return ev.st.failed }

// CanFail tells whether any row can give an error.
func (ev *Evaluator) CanFail() bool { return ev.root.info().canFail }

// Eval computes the expression for every row of in. The result is valid until the next call of
// a method of ev and as long as in; it may be a column of in and must not be changed.
func (ev *Evaluator) Eval(ctx *EvalContext, in *vec.Chunk) (*vec.Vector, error) {
	ev.begin(ctx, in)
	v, err := ev.root.eval(&ev.st, nil)
	if err != nil {
		return nil, err
	}
	if len(ev.st.failed) == 0 {
		return v, nil
	}
	if ev.out == nil {
		ev.out = &vec.Vector{}
	}
	nulls := ev.out.Nulls[:0]
	*ev.out = *v
	ev.out.Nulls = orBitmaps(nulls, v.Nulls, ev.st.failed)
	return ev.out, nil
}

// EvalFilter appends to dst the rows of in, ascending, for which the predicate is true. sel, if not
// nil, restricts the rows to look at. Rows that fail are not selected if RowError lets the work go on.
func (ev *Evaluator) EvalFilter(ctx *EvalContext, in *vec.Chunk, sel, dst []int32) ([]int32, error) {
	ev.begin(ctx, in)
	from := len(dst)
	dst, err := filter(ev.root, &ev.st, sel, dst)
	if err != nil || len(ev.st.failed) == 0 {
		return dst, err
	}
	kept := dst[:from]
	for _, i := range dst[from:] {
		if !ev.st.failed.Get(int(i)) {
			kept = append(kept, i)
		}
	}
	return kept, nil
}

// EvalRow computes the expression for one row, given as the values of the columns.
func (ev *Evaluator) EvalRow(ctx *EvalContext, row []types.Datum) (types.Datum, error) {
	if ev.row == nil {
		ev.row = &vec.Chunk{}
	}
	for _, c := range ev.cols {
		if c.Index >= len(row) {
			return types.Null, fmt.Errorf("expr: column %d of a row of %d", c.Index, len(row))
		}
		for len(ev.row.Cols) <= c.Index {
			ev.row.Cols = append(ev.row.Cols, nil)
		}
		v := ev.row.Cols[c.Index]
		if v == nil {
			v = vec.NewVector(c.T, 1)
			ev.row.Cols[c.Index] = v
		}
		v.Reset()
		v.AppendDatum(row[c.Index])
	}
	ev.row.SetLen(1)
	v, err := ev.Eval(ctx, ev.row)
	if err != nil {
		return types.Null, err
	}
	return v.Datum(0), nil
}

func (ev *Evaluator) begin(ctx *EvalContext, in *vec.Chunk) {
	env := ev.env
	var rowError func(*vec.Chunk, int, error) error
	if ctx != nil {
		rowError = ctx.RowError
		if ctx.Env != nil {
			env = ctx.Env
		}
	}
	ev.st.begin(env, rowError, in)
}

// FoldConst computes an expression without columns and parameters.
func FoldConst(e scalar.Expr, env *exec.Env) (types.Datum, error) {
	ev, err := Compile(e, env)
	if err != nil {
		return types.Null, err
	}
	return ev.EvalRow(nil, nil)
}
