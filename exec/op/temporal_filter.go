package op

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// TemporalFilterConfig configures TemporalFilter.
type TemporalFilterConfig struct {
	In []types.Type
	// Value is what is compared, over the input's columns; Bound what it is compared with, over now() and constants. Both have
	// one type.
	Value, Bound scalar.Expr
	// Upper: rows pass whose Value is below Bound; else those above. Inclusive: or equal.
	Upper, Inclusive bool
	// Slack: Bound may fall for a moment while time passes, as the clock of a zone does at the end of summer
	// time; but it is never below what it was SlackTime ago.
	Slack bool
	// RowKey identifies a row; nil: rows are a multiset.
	RowKey []int
	// AppendOnlyIn promises that the input has no negative diffs.
	AppendOnlyIn bool
	// Vnode is one of those of the actor: all of its state is there, so that it can be read in order.
	Vnode byte
}

// SlackTime is how long it takes at most until the clock of a zone that was set back shows the same time again, and some more.
const SlackTime = 3 * 24 * 3600 * 1_000_000

// TemporalFilter keeps the rows for which value > bound (or >=, <, <=) is true, where the bound rises as time passes: rows
// leave (with an upper bound: come), to the second, without anything coming in.
//
//	In:      one port, any changelog, also before the first barrier.
//	Out:     the input columns. Rows pass at once if they are within the bound of the last barrier. At a barrier of another
//	         second the rows come or go that the bound has passed, in the order of their values.
//	State:   the rows that the bound has not passed yet (and with Slack those that it passed within SlackTime), state table
//	         "rows", by value and row identity; and where the bound is. Over a lower bound that is what is in
//	         the output; of an upper bound, what is yet to come.
//	Memory:  what changed since the last checkpoint.
//	Barrier: moves the bound, emits what that changes, forwards it.
//	Errors:  ErrNegativeMultiplicity if a row is retracted that is not there. Those of the value go through
//	         Context.RowError: such a row does not pass.
type TemporalFilter struct {
	base
	cfg   TemporalFilterConfig
	value *expr.Evaluator
	bound *expr.Evaluator
	ectx  expr.EvalContext
	env   exec.Env

	st exec.StateTable
	// pos is the state key up to which the bound has come: rows with smaller keys are passed. frozen is the one below which
	// nothing changes any more; without Slack it is pos. nil: nothing has ever come, neither a barrier nor a change.
	pos, frozen []byte
	// saved is where the bound is according to the state: pos and frozen, encoded.
	saved []byte
	// second is the time that the bound is of.
	second int64
	// next is the smallest key that the bound has not passed, and due when it will. stale: they must be found.
	next  []byte
	due   int64
	stale bool
	// dirty is about how many bytes were put since the last checkpoint.
	dirty int64

	ident   []int
	sel     []int32
	outc    *vec.Chunk
	key     []byte
	val     []byte
	rowCols []*vec.Vector
	victims [][]byte
	probe   *vec.Vector
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// NewTemporalFilter checks the configuration.
func NewTemporalFilter(cfg TemporalFilterConfig) (*TemporalFilter, error) {
	if cfg.Value.Type().WithoutMod() != cfg.Bound.Type().WithoutMod() {
		return nil, fmt.Errorf("TemporalFilter: a %s is compared with a %s", cfg.Value.Type(), cfg.Bound.Type())
	}
	if err := checkCols("TemporalFilter.RowKey", cfg.RowKey, len(cfg.In)); err != nil {
		return nil, err
	}
	f := &TemporalFilter{cfg: cfg, outc: vec.NewChunk(cfg.In, 0), stale: true}
	var err error
	if f.value, err = expr.Compile(cfg.Value, nil); err != nil {
		return nil, err
	}
	if f.bound, err = expr.Compile(cfg.Bound, nil); err != nil {
		return nil, err
	}
	f.schema = cfg.In
	f.ident = cfg.RowKey
	if f.ident == nil {
		for i := range cfg.In {
			f.ident = append(f.ident, i)
		}
	}
	return f, nil
}

// Open opens the state table.
func (f *TemporalFilter) Open(ctx *exec.Context, out exec.Output) error {
	if err := f.base.Open(ctx, out); err != nil {
		return err
	}
	f.ectx = evalContext(ctx, new(int))
	f.env = *ctx.Env
	if ctx.Due != nil {
		ctx.Due(exec.NeverDue)
	}
	if f.st = f.state("rows"); f.st == nil {
		return errors.New("TemporalFilter: no state")
	}
	val, ok, err := f.st.Get(f.boundKey())
	if err != nil || !ok {
		return err
	}
	n, w := binary.Uvarint(val)
	if w <= 0 || uint64(len(val)-w) < n {
		return vec.ErrCorruptRow
	}
	f.pos, f.frozen = bytes.Clone(val[w:w+int(n)]), bytes.Clone(val[w+int(n):])
	f.saved = bytes.Clone(val)
	return nil
}

// Keys: the vnode, then 0 for where the bound is, or 1, the value and the identity of a row.
func (f *TemporalFilter) boundKey() []byte { return []byte{f.cfg.Vnode, 0} }

// strict tells whether a row whose value equals the bound is passed by it.
func (f *TemporalFilter) strict() bool { return f.cfg.Upper == f.cfg.Inclusive }

// boundAt gives the state key that the bound has come to at a time; ok is false if it cannot be computed.
func (f *TemporalFilter) boundAt(t int64) (key []byte, ok bool, err error) {
	f.env.Now = types.ToGoTime(t)
	failed := false
	d, err := f.bound.EvalRow(&expr.EvalContext{Env: &f.env, RowError: func(*vec.Chunk, int, error) error {
		failed = true
		return nil
	}}, nil)
	if err != nil || failed || !d.Valid {
		return nil, false, err
	}
	key = appendDatumKey([]byte{f.cfg.Vnode, 1}, f.cfg.Value.Type(), d, false)
	if f.strict() {
		key = storage.PrefixEnd(key)
	}
	return key, true, nil
}

// Chunk passes the rows that are within the bound, and keeps those that the bound will pass.
func (f *TemporalFilter) Chunk(_ int, c *vec.Chunk) error {
	if f.pos == nil {
		if err := f.begin(); err != nil {
			return err
		}
	}
	v, err := f.value.Eval(&f.ectx, c)
	if err != nil {
		return err
	}
	f.sel = f.sel[:0]
	f.rowCols = pick(c, f.ident, f.rowCols)
	exact := f.cfg.RowKey == nil
	for i := range c.Len() {
		if v.Nulls.Get(i) {
			continue
		}
		f.key = append(f.key[:0], f.cfg.Vnode, 1)
		f.key = appendDatumKey(f.key, f.cfg.Value.Type(), v.Datum(i), false)
		if (bytes.Compare(f.key, f.pos) < 0) == f.cfg.Upper {
			f.sel = append(f.sel, int32(i))
		}
		if bytes.Compare(f.key, f.frozen) < 0 {
			continue
		}
		if c.Diff(i) > 0 && bytes.Compare(f.key, f.pos) >= 0 && (f.next == nil || bytes.Compare(f.key, f.next) < 0) {
			f.stale = true
		}
		f.key = appendStateKey(f.key, f.rowCols, i, exact)
		if err := f.keep(c, i); err != nil {
			return err
		}
	}
	if err := f.mem.Set(f.dirty, f.dirty); err != nil {
		return err
	}
	switch len(f.sel) {
	case 0:
		return nil
	case c.Len():
		return f.out.Chunk(c)
	}
	f.outc.Reset()
	f.outc.AppendSel(c, f.sel)
	return f.out.Chunk(f.outc)
}

// begin puts the bound before every value: so it is until the first barrier, which moves it. An operator below may emit
// rows at that barrier, before it forwards it.
func (f *TemporalFilter) begin() error {
	least := []byte{f.cfg.Vnode, 1}
	err := f.st.ScanRange(least, []byte{f.cfg.Vnode, 2}, func(_, _ []byte) error { return errEnough })
	if errors.Is(err, errEnough) {
		return errors.New("TemporalFilter: the state does not say where the bound is")
	}
	f.pos, f.frozen = least, least
	return err
}

// keep applies row i of c to the state under f.key.
func (f *TemporalFilter) keep(c *vec.Chunk, i int) error {
	n := c.Diff(i)
	fresh := f.cfg.AppendOnlyIn && f.cfg.RowKey != nil
	if !fresh {
		val, ok, err := f.st.Get(f.key)
		if err != nil {
			return err
		}
		if ok {
			m, w := binary.Varint(val)
			if w <= 0 {
				return vec.ErrCorruptRow
			}
			n += m
		}
		switch {
		case n == 0:
			f.st.Delete(f.key)
			f.stale = f.stale || f.next != nil && bytes.HasPrefix(f.key, f.next)
			return nil
		case c.Diff(i) < 0 && ok:
			// What came last stays: of a row that was replaced, the new one may come before the old one goes.
			f.val = append(binary.AppendVarint(f.val[:0], n), val[varintLen(val):]...)
			f.put(f.st.Put)
			return nil
		case c.Diff(i) < 0 && f.cfg.RowKey == nil:
			return fmt.Errorf("temporal filter: row (%s): %w", vec.FormatRow(c, i), ErrNegativeMultiplicity)
		}
	}
	f.val = binary.AppendVarint(f.val[:0], n)
	f.val = vec.EncodeRow(f.val, c.Cols, i)
	if fresh {
		f.put(f.st.Append)
	} else {
		f.put(f.st.Put)
	}
	return nil
}

func (f *TemporalFilter) put(to func(key, val []byte)) {
	to(f.key, f.val)
	f.dirty += int64(len(f.key) + len(f.val))
}

func varintLen(b []byte) int {
	_, n := binary.Varint(b)
	return n
}

// Barrier moves the bound.
func (f *TemporalFilter) Barrier(bar exec.Barrier) error {
	if second := bar.Second(); f.pos == nil || second != f.second || f.second == 0 {
		f.second = second
		if err := f.move(); err != nil {
			return err
		}
	}
	if f.stale {
		if err := f.findNext(); err != nil {
			return err
		}
	}
	if bar.Checkpoint {
		v := binary.AppendUvarint(nil, uint64(len(f.pos)))
		if v = append(append(v, f.pos...), f.frozen...); !bytes.Equal(v, f.saved) {
			f.st.Put(f.boundKey(), v)
			f.saved = v
		}
		f.dirty = 0
		if err := f.mem.Set(0, 0); err != nil {
			return err
		}
	}
	if f.ctx.Due != nil {
		f.ctx.Due(f.due)
	}
	return f.out.Barrier(bar)
}

// move brings the bound to the present second.
func (f *TemporalFilter) move() error {
	pos, ok, err := f.boundAt(f.second)
	if err != nil {
		return err
	}
	if !ok {
		// The end of what can be computed, which is out of reach: the bound stays where it is.
		if pos = f.pos; pos == nil {
			pos = []byte{f.cfg.Vnode, 1}
		}
	}
	old := f.pos
	if old == nil && !f.cfg.Slack {
		// Nothing below has been kept.
		old = []byte{f.cfg.Vnode, 1}
	}
	if old == nil {
		old = pos
	}
	frozen := pos
	if f.cfg.Slack {
		if frozen, ok, err = f.boundAt(f.second - SlackTime); err != nil {
			return err
		}
		if !ok || bytes.Compare(frozen, f.frozen) < 0 {
			frozen = f.frozen
		}
		if frozen == nil || bytes.Compare(frozen, pos) > 0 {
			frozen = pos
		}
	}
	forget := f.frozen
	if forget == nil {
		forget = []byte{f.cfg.Vnode, 1}
	}
	f.pos, f.frozen = pos, frozen
	f.stale = true
	sign := int64(1)
	if !f.cfg.Upper {
		sign = -1
	}
	switch bytes.Compare(old, pos) {
	case -1:
		err = f.sweep(old, pos, sign, !f.cfg.Slack)
	case 1:
		err = f.sweep(pos, old, -sign, false)
	}
	if err == nil && f.cfg.Slack && bytes.Compare(forget, frozen) < 0 {
		err = f.sweep(forget, frozen, 0, true)
	}
	return err
}

// sweep emits the rows with keys in [lo, hi), with the sign given (0: does not), and removes them from the state.
func (f *TemporalFilter) sweep(lo, hi []byte, sign int64, remove bool) error {
	for {
		f.outc.Reset()
		f.victims = f.victims[:0]
		var last []byte
		n := 0
		err := f.st.ScanRange(lo, hi, func(key, val []byte) error {
			if n == f.max {
				return errEnough
			}
			n++
			if remove {
				f.victims = append(f.victims, bytes.Clone(key))
			}
			last = append(last[:0], key...)
			if sign == 0 {
				return nil
			}
			m, w := binary.Varint(val)
			if w <= 0 {
				return vec.ErrCorruptRow
			}
			if m < 0 {
				return fmt.Errorf("temporal filter: %w", ErrNegativeMultiplicity)
			}
			rest, err := vec.DecodeRow(val[w:], f.outc.Cols)
			if err == nil && len(rest) > 0 {
				err = vec.ErrCorruptRow
			}
			f.outc.PushDiff(sign * m)
			return err
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		for _, k := range f.victims {
			f.st.Delete(k)
		}
		if f.outc.Len() > 0 {
			if err := f.out.Chunk(f.outc); err != nil {
				return err
			}
		}
		if err == nil {
			return f.cancelled()
		}
		lo = append(last, 0)
	}
}

// findNext finds the first row that the bound has not passed, and when it will.
func (f *TemporalFilter) findNext() error {
	f.stale, f.next, f.due = false, nil, exec.NeverDue
	if f.cfg.Slack {
		// A bound that falls may let rows come back; it is looked at every second as long as that is possible.
		err := f.st.ScanRange(f.frozen, f.pos, func(_, _ []byte) error { return errEnough })
		if err != nil {
			if !errors.Is(err, errEnough) {
				return err
			}
			f.due = f.second + 1_000_000
			return nil
		}
	}
	hi := []byte{f.cfg.Vnode, 2}
	err := f.st.ScanRange(f.pos, hi, func(key, _ []byte) error {
		f.next = append(f.next[:0], key...)
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if f.next == nil {
		return nil
	}
	if f.due, err = f.passes(f.next); err != nil {
		return err
	}
	if f.cfg.Slack && f.due != exec.NeverDue {
		f.due = max(f.due-SlackTime, f.second+1_000_000)
	}
	return nil
}

// passes gives the first second after the present one at which the bound has passed a key.
func (f *TemporalFilter) passes(key []byte) (int64, error) {
	passed := func(t int64) (bool, error) {
		pos, ok, err := f.boundAt(t)
		// Where nothing can be computed, the bound is not known to have passed.
		return ok && bytes.Compare(key, pos) < 0, err
	}
	// At lo it has not passed, at lo + step it has.
	const second = 1_000_000
	lo, step := f.second, int64(second)
	for {
		ok, err := passed(lo + step)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		lo += step
		if step *= 2; lo > lastTime-step {
			return exec.NeverDue, nil
		}
	}
	for step > second {
		step /= 2
		ok, err := passed(lo + step)
		if err != nil {
			return 0, err
		}
		if !ok {
			lo += step
		}
	}
	return lo + step, nil
}

// lastTime is the year 290000, nearly the last one that there is.
const lastTime = 9_000_000_000_000_000_000
