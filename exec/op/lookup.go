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
//	Memory:  the rows of the epoch, and what the relation has for the keys of the last of them: a key that comes again is not
//	         read again in an epoch.
//	Barrier: joins, forwards it.
//	Errors:  those of the expressions, through Context.RowError; a retraction; those of storage.
type Lookup struct {
	base
	cfg      LookupConfig
	keys     []*expr.Evaluator
	residual *expr.Evaluator
	ectx     expr.EvalContext
	site     int

	rows  *vec.Chunk // of the epoch
	bytes int64
	piece *vec.Chunk
	// used are the columns of left ++ right that the residual needs.
	used  []bool
	pairs *vec.Chunk
	outc  *vec.Chunk
	// pieceOut is a part of outc that is sent.
	pieceOut *vec.Chunk
	keyV     []*vec.Vector
	key      []byte

	// What has been read in this epoch: found has the rows of the relation, behind one of NULLs, ranges those of each entry of idx.
	seen   *rowStore
	idx    *keyIndex
	ranges []lookupRange
	found  *vec.Chunk
	hashes []uint64
	ents   []uint32

	// The pairs that wait to be sent: rows of piece with rows of found, 0 for one without a match.
	lsel, rsel []int32
	sel, pass  []int32
	// marks are the newest watermarks of the input's columns, which wait until the rows before them have passed.
	marks map[int]int64
}

// lookupRange is the rows from from to to-1 of found.
type lookupRange struct{ from, to int32 }

// lookupKept is how many rows of the relation are kept at most, but for those of the last keys.
const lookupKept = 1 << 16

// NewLookup checks the configuration.
func NewLookup(cfg LookupConfig) (*Lookup, error) {
	l := &Lookup{cfg: cfg, rows: vec.NewChunk(cfg.Left, 0), piece: vec.NewChunk(cfg.Left, 0), found: vec.NewChunk(cfg.Right, 0), marks: map[int]int64{}}
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
		l.schema = append(l.schema, all[c])
	}
	if cfg.Residual != nil {
		var err error
		if l.residual, err = expr.Compile(cfg.Residual, nil); err != nil {
			return nil, err
		}
		cols, ok := exprColumns(cfg.Residual)
		for c := range all {
			l.used[c] = !ok || slices.Contains(cols, c)
		}
	}
	l.pairs = vec.NewChunk(all, 0)
	l.outc, l.pieceOut = vec.NewChunk(l.schema, 0), vec.NewChunk(l.schema, 0)
	return l, nil
}

// Open keeps the output.
func (l *Lookup) Open(ctx *exec.Context, out exec.Output) error {
	l.ectx = evalContext(ctx, &l.site)
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
	l.forget()
	for lo := 0; lo < l.rows.Len(); lo += l.max {
		if err := l.cancelled(); err != nil {
			return err
		}
		if l.found.Len() > lookupKept {
			l.forget()
		}
		l.piece.Reset()
		l.piece.AppendRange(l.rows, lo, min(lo+l.max, l.rows.Len()))
		l.keyV = l.keyV[:0]
		for n, k := range l.keys {
			l.site = n
			x, err := k.Eval(&l.ectx, l.piece)
			if err != nil {
				return err
			}
			l.keyV = append(l.keyV, x)
		}
		if err := l.read(v); err != nil {
			return err
		}
		l.site = len(l.keys)
		for i, e := range l.ents {
			if err := l.row(int32(i), l.ranges[e]); err != nil {
				return err
			}
		}
		// The rows of piece are overwritten next.
		if err := l.send(); err != nil {
			return err
		}
		// All of it is for the moment only; what is over the budget cannot be given up.
		held := l.bytes + int64(l.found.Bytes())
		if err := l.mem.Set(held, held); err != nil {
			return err
		}
	}
	l.forget()
	return nil
}

// forget drops what was read.
func (l *Lookup) forget() {
	ts := make([]types.Type, len(l.keys))
	for i, k := range l.cfg.Keys {
		ts[i] = k.Type()
	}
	l.seen = newRowStore(ts)
	l.idx = newKeyIndex(l.seen, len(ts))
	l.ranges = l.ranges[:0]
	l.found.Reset()
	row := make([]types.Datum, len(l.cfg.Right))
	for i := range row {
		row[i] = types.Null
	}
	l.found.AppendRow(row, 1)
}

// read sets ents to the entries of the keys of piece, after having read the rows of those that are new.
func (l *Lookup) read(v *storage.Version) error {
	n := l.piece.Len()
	l.hashes = vec.HashRows(l.keyV, n, l.hashes)
	l.ents = slices.Grow(l.ents[:0], n)[:n]
	l.idx.findOrAdd(l.keyV, l.hashes, l.ents)
	for len(l.ranges) < int(l.seen.n) {
		l.ranges = append(l.ranges, lookupRange{})
	}
	for _, i := range l.idx.added {
		from := int32(l.found.Len())
		if !slices.ContainsFunc(l.keyV, func(x *vec.Vector) bool { return x.Nulls.Get(int(i)) }) {
			l.key = vec.EncodeKey(l.key[:0], l.keyV, int(i), l.cfg.KeyOrder)
			if err := l.readKey(v); err != nil {
				return err
			}
		}
		l.ranges[l.ents[i]] = lookupRange{from, int32(l.found.Len())}
	}
	return nil
}

func (l *Lookup) readKey(v *storage.Version) error {
	if l.cfg.Unique {
		val, ok, err := v.Get(l.key)
		if err != nil || !ok {
			return err
		}
		return l.decode(val)
	}
	it := v.Iterator(l.key, storage.PrefixEnd(l.key), false)
	for it.Next() {
		if err := l.decode(it.Value()); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

func (l *Lookup) decode(val []byte) error {
	rest, err := vec.DecodeRow(val, l.found.Cols)
	if err == nil && len(rest) > 0 {
		err = vec.ErrCorruptRow
	}
	l.found.PushDiff(1)
	return err
}

// row makes pairs of row i of the piece and rows of the relation.
func (l *Lookup) row(i int32, r lookupRange) error {
	if r.from == r.to {
		if l.cfg.Kind != Left {
			return nil
		}
		l.lsel, l.rsel = append(l.lsel, i), append(l.rsel, 0)
	}
	for k := r.from; k < r.to; k++ {
		l.lsel, l.rsel = append(l.lsel, i), append(l.rsel, k)
		if l.residual == nil && len(l.lsel) >= l.max {
			if err := l.send(); err != nil {
				return err
			}
		}
	}
	if len(l.lsel) < l.max {
		return nil
	}
	return l.send()
}

// send sends the pairs, but for those for which the residual is not true. The pairs of a row are all there then, as a left join
// must know whether any is left.
func (l *Lookup) send() error {
	if len(l.lsel) == 0 {
		return nil
	}
	if l.residual != nil {
		if err := l.filter(); err != nil {
			return err
		}
	}
	n := len(l.cfg.Left)
	for i, c := range l.cfg.Output {
		if c < n {
			l.outc.Cols[i].AppendSel(l.piece.Cols[c], l.lsel)
		} else {
			l.outc.Cols[i].AppendSel(l.found.Cols[c-n], l.rsel)
		}
	}
	for _, k := range l.lsel {
		l.outc.PushDiff(l.piece.Diff(int(k)))
	}
	l.lsel, l.rsel = l.lsel[:0], l.rsel[:0]
	return l.emit(l.outc, l.pieceOut)
}

// filter takes out the pairs that do not meet the residual.
func (l *Lookup) filter() error {
	n := len(l.cfg.Left)
	l.pairs.Reset()
	for c, used := range l.used {
		switch {
		case !used:
		case c < n:
			l.pairs.Cols[c].AppendSel(l.piece.Cols[c], l.lsel)
		default:
			l.pairs.Cols[c].AppendSel(l.found.Cols[c-n], l.rsel)
		}
	}
	l.sel = l.sel[:0]
	for k, r := range l.rsel {
		l.pairs.PushDiff(l.piece.Diff(int(l.lsel[k])))
		if r != 0 {
			l.sel = append(l.sel, int32(k))
		}
	}
	l.pass = l.pass[:0]
	if len(l.sel) > 0 {
		var err error
		if l.pass, err = l.residual.EvalFilter(&l.ectx, l.pairs, l.sel, l.pass); err != nil {
			return err
		}
	}
	out, pass := 0, l.pass
	for k := 0; k < len(l.lsel); {
		i, left := l.lsel[k], 0
		for ; k < len(l.lsel) && l.lsel[k] == i; k++ {
			if len(pass) > 0 && int(pass[0]) == k {
				l.lsel[out], l.rsel[out] = i, l.rsel[k]
				pass = pass[1:]
				out++
				left++
			}
		}
		if left == 0 && l.cfg.Kind == Left {
			l.lsel[out], l.rsel[out] = i, 0
			out++
		}
	}
	l.lsel, l.rsel = l.lsel[:out], l.rsel[:out]
	return nil
}
