package op

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// LookupConfig configures Lookup.
type LookupConfig struct {
	// Kind is Inner or Left.
	Kind JoinKind
	// Left is the input, Right all columns of the relation.
	Left, Right []types.Type
	// Keys, over the input, are compared with the first columns of the relation's key, whose directions KeyOrder has (Col
	// counts them). Unique: with all of them.
	Keys     []scalar.Expr
	KeyOrder []SortKey
	Unique   bool
	// Residual is a further condition over left ++ right, or nil.
	Residual scalar.Expr
	// Output lists columns of left ++ right.
	Output []int
	// VersionAt opens the version of the relation at an epoch whose barrier has come from it.
	VersionAt func(storage.Epoch) (*storage.Version, error)
}

// Lookup joins each row, when it comes, with the rows that a relation has then.
//
//	In:      port 0, append-only; port 1, the relation's changes, of which only the barriers count.
//	Out:     the columns Output of left ++ right, append-only. At the barrier of an epoch its rows in the order in which they
//	         came, each with the rows that the relation has at the end of the epoch, in the order of its key; a left join gives a
//	         row without any with NULLs.
//	State:   none: what the relation was is not asked for again.
//	Memory:  the rows of the epoch.
//	Barrier: joins, forwards it.
//	Errors:  a retraction; those of storage.
type Lookup struct {
	base
	cfg      LookupConfig
	keys     []*expr.Evaluator
	residual *expr.Evaluator
	ectx     expr.EvalContext

	rows  *vec.Chunk // of the epoch
	bytes int64
	piece *vec.Chunk
	// used are the columns of left ++ right that are filled.
	used  []bool
	right *vec.Chunk
	pairs *vec.Chunk
	outc  *vec.Chunk
	keyV  []*vec.Vector
	key   []byte
	sel   []int32
	// marks are the newest watermarks of the input's columns, which wait until the rows before them have passed.
	marks map[int]int64
}

// NewLookup checks the configuration.
func NewLookup(cfg LookupConfig) (*Lookup, error) {
	l := &Lookup{cfg: cfg, rows: vec.NewChunk(cfg.Left, 0), piece: vec.NewChunk(cfg.Left, 0), right: vec.NewChunk(cfg.Right, 1), marks: map[int]int64{}}
	all := append(slices.Clone(cfg.Left), cfg.Right...)
	if err := checkCols("Lookup.Output", cfg.Output, len(all)); err != nil {
		return nil, err
	}
	if cfg.Kind != Inner && cfg.Kind != Left || len(cfg.Keys) == 0 || len(cfg.Keys) != len(cfg.KeyOrder) {
		return nil, fmt.Errorf("Lookup: kind %d, %d of %d keys", cfg.Kind, len(cfg.Keys), len(cfg.KeyOrder))
	}
	for _, k := range cfg.Keys {
		ev, err := expr.Compile(k, nil)
		if err != nil {
			return nil, err
		}
		l.keys = append(l.keys, ev)
	}
	l.used = make([]bool, len(all))
	for _, c := range cfg.Output {
		l.used[c] = true
		l.schema = append(l.schema, all[c])
	}
	if cfg.Residual != nil {
		var err error
		if l.residual, err = expr.Compile(cfg.Residual, nil); err != nil {
			return nil, err
		}
		cols, ok := exprColumns(cfg.Residual)
		for c := range all {
			l.used[c] = l.used[c] || !ok || slices.Contains(cols, c)
		}
	}
	l.pairs = vec.NewChunk(all, 0)
	l.outc = vec.NewChunk(l.schema, 0)
	return l, nil
}

// Open keeps the output.
func (l *Lookup) Open(ctx *exec.Context, out exec.Output) error {
	l.ectx = expr.EvalContext{Env: ctx.Env, RowError: ctx.RowError}
	return l.base.Open(ctx, out)
}

// Chunk keeps the rows until the barrier.
func (l *Lookup) Chunk(port int, c *vec.Chunk) error {
	if port == 1 {
		return nil
	}
	for i := range c.Diffs {
		if c.Diffs[i] < 0 {
			return fmt.Errorf("lookup: row (%s) was taken back", vec.FormatRow(c, i))
		}
	}
	l.rows.AppendRange(c, 0, c.Len())
	l.bytes += int64(c.Bytes())
	return l.mem.Set(l.bytes, l.bytes)
}

// Watermark keeps the watermark until the barrier.
func (l *Lookup) Watermark(port int, w exec.Watermark) error {
	if port == 0 {
		l.marks[w.Col] = w.Value
	}
	return nil
}

// Barrier joins the rows of the epoch.
func (l *Lookup) Barrier(bar exec.Barrier) error {
	if l.rows.Len() > 0 {
		if err := l.join(bar.Epoch); err != nil {
			return err
		}
		l.rows.Reset()
		l.bytes = 0
		if err := l.mem.Set(0, 0); err != nil {
			return err
		}
	}
	for i, c := range l.cfg.Output {
		if v, ok := l.marks[c]; ok && c < len(l.cfg.Left) {
			if err := l.out.Watermark(exec.Watermark{Col: i, Value: v}); err != nil {
				return err
			}
		}
	}
	clear(l.marks)
	return l.out.Barrier(bar)
}

func (l *Lookup) join(e storage.Epoch) (err error) {
	v, err := l.cfg.VersionAt(e)
	if err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	defer v.Release()
	for lo := 0; lo < l.rows.Len(); lo += l.max {
		if err := l.cancelled(); err != nil {
			return err
		}
		l.piece.Reset()
		l.piece.AppendRange(l.rows, lo, min(lo+l.max, l.rows.Len()))
		l.keyV = l.keyV[:0]
		for _, k := range l.keys {
			x, err := k.Eval(&l.ectx, l.piece)
			if err != nil {
				return err
			}
			l.keyV = append(l.keyV, x)
		}
		for i := range l.piece.Len() {
			if err := l.row(v, i); err != nil {
				return err
			}
		}
		// The rows of piece are overwritten next.
		if err := l.flush(); err != nil {
			return err
		}
	}
	return nil
}

// row finds the rows of the relation for row i of the piece.
func (l *Lookup) row(v *storage.Version, i int) error {
	first := l.pairs.Len()
	ok := !slices.ContainsFunc(l.keyV, func(x *vec.Vector) bool { return x.Nulls.Get(i) })
	if ok {
		l.key = vec.EncodeKey(l.key[:0], l.keyV, i, l.cfg.KeyOrder)
		if l.cfg.Unique {
			val, found, err := v.Get(l.key)
			if err != nil {
				return err
			}
			if found {
				if err := l.pair(i, val); err != nil {
					return err
				}
			}
		} else {
			it := v.Iterator(l.key, storage.PrefixEnd(l.key), false)
			for it.Next() {
				if err := l.pair(i, it.Value()); err != nil {
					return errors.Join(err, it.Close())
				}
			}
			if err := it.Close(); err != nil {
				return err
			}
		}
	}
	if l.residual == nil {
		if l.pairs.Len() == first && l.cfg.Kind == Left {
			l.null(i)
		}
		return l.full()
	}
	// The pairs of this row are looked at by themselves, since a left join must know whether any is left.
	l.sel = l.sel[:0]
	if l.pairs.Len() > first {
		sel := make([]int32, 0, l.pairs.Len()-first)
		for k := first; k < l.pairs.Len(); k++ {
			sel = append(sel, int32(k))
		}
		var err error
		if l.sel, err = l.residual.EvalFilter(&l.ectx, l.pairs, sel, l.sel); err != nil {
			return err
		}
	}
	l.emitPairs(l.sel)
	l.pairs.Reset()
	if len(l.sel) == 0 && l.cfg.Kind == Left {
		l.null(i)
		l.emitPairs([]int32{0})
		l.pairs.Reset()
	}
	if l.outc.Len() >= l.max {
		return l.send()
	}
	return nil
}

// pair appends row i of the piece with a row of the relation.
func (l *Lookup) pair(i int, val []byte) error {
	l.right.Reset()
	rest, err := vec.DecodeRow(val, l.right.Cols)
	if err == nil && len(rest) > 0 {
		err = vec.ErrCorruptRow
	}
	if err != nil {
		return err
	}
	l.append(i, l.right)
	return nil
}

func (l *Lookup) null(i int) { l.append(i, nil) }

func (l *Lookup) append(i int, right *vec.Chunk) {
	n := len(l.cfg.Left)
	for c, used := range l.used {
		switch {
		case !used:
		case c < n:
			l.pairs.Cols[c].AppendFrom(l.piece.Cols[c], i)
		case right == nil:
			l.pairs.Cols[c].AppendDatum(types.Null)
		default:
			l.pairs.Cols[c].AppendFrom(right.Cols[c-n], 0)
		}
	}
	l.pairs.PushDiff(l.piece.Diff(i))
}

// full sends the pairs if they fill a chunk.
func (l *Lookup) full() error {
	if l.pairs.Len() < l.max {
		return nil
	}
	return l.flush()
}

// flush sends all pairs.
func (l *Lookup) flush() error {
	l.sel = l.sel[:0]
	for k := range l.pairs.Len() {
		l.sel = append(l.sel, int32(k))
	}
	l.emitPairs(l.sel)
	l.pairs.Reset()
	return l.send()
}

// emitPairs appends pairs to the output chunk.
func (l *Lookup) emitPairs(sel []int32) {
	for i, c := range l.cfg.Output {
		l.outc.Cols[i].AppendSel(l.pairs.Cols[c], sel)
	}
	for _, k := range sel {
		l.outc.PushDiff(l.pairs.Diff(int(k)))
	}
}

func (l *Lookup) send() error {
	if l.outc.Len() == 0 {
		return nil
	}
	return l.emit(l.outc, vec.NewChunk(l.schema, 0))
}
