package op

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// WatermarkConfig configures Watermark.
type WatermarkConfig struct {
	In []types.Type
	// Col is the event time, a timestamp. Delay is how many microseconds behind the greatest one a row may be.
	Col   int
	Delay int64
	// RowID is the column of the row's number in a source, ordinal*Splits + split; -1: there is one split.
	RowID, Splits int
	// Mine are the splits whose rows come to this instance; the watermark waits for all of them.
	Mine []int
	// Pass: rows below the watermark pass. Whoever has written them has left out the late ones.
	Pass bool
	// Idle is after how many microseconds of epochs' time without a row a split does not hold back the others; 0: never.
	Idle int64
}

// Watermark makes the watermark of a source or table.
//
//	In:      one port: the rows of a source, those of each split in their order; with Pass any changelog.
//	Out:     the rows, without those that are late: below the watermark of their split, which is the greatest event time
//	         before them less the delay. So what is late depends on the order within the split only, and not on epochs or
//	         other splits (but for splits that were idle). Then, at each barrier, the smallest watermark of the splits.
//	State:   the watermark of each split, state table "mark".
//	Memory:  nothing of its own.
//	Barrier: emits the watermark, hands over the state, forwards the barrier. Splits that are idle at the time of the epoch do not
//	         count; a row of theirs that comes later, and is below the watermark that was emitted meanwhile, is late.
//	Errors:  none.
type Watermark struct {
	base
	cfg    WatermarkConfig
	st     exec.StateTable
	splits map[int64]*splitMark
	// low is the watermark that was emitted last, saved what the state table has of it.
	low, saved int64
	outc       *vec.Chunk
	sel        []int32
	val        []byte
}

// splitMark is the watermark of a split. active is the time of the epoch with its last row.
type splitMark struct {
	mark, active int64
	dirty, rows  bool
}

// noMark is a watermark below all rows.
const noMark = math.MinInt64

// NewWatermark checks the configuration.
func NewWatermark(cfg WatermarkConfig) (*Watermark, error) {
	if err := checkCols("Watermark.Col", []int{cfg.Col}, len(cfg.In)); err != nil {
		return nil, err
	}
	if k := cfg.In[cfg.Col].Kind; k != types.Timestamp && k != types.Timestamptz || cfg.Delay < 0 {
		return nil, fmt.Errorf("Watermark: delay %d over a column of kind %v", cfg.Delay, k)
	}
	if cfg.RowID < 0 {
		cfg.Splits, cfg.Mine = 1, []int{0}
	} else if cfg.RowID >= len(cfg.In) || cfg.Splits < 1 || len(cfg.Mine) == 0 {
		return nil, fmt.Errorf("Watermark: row id in column %d of %d, %d of %d splits", cfg.RowID, len(cfg.In), len(cfg.Mine), cfg.Splits)
	}
	w := &Watermark{cfg: cfg, low: noMark, saved: noMark, splits: map[int64]*splitMark{}, outc: vec.NewChunk(cfg.In, 0)}
	w.schema = cfg.In
	return w, nil
}

// Open reads the state.
func (w *Watermark) Open(ctx *exec.Context, out exec.Output) error {
	if err := w.base.Open(ctx, out); err != nil {
		return err
	}
	if w.cfg.Idle > 0 && ctx.Due != nil {
		ctx.Due(exec.NeverDue)
	}
	w.st = w.state("mark")
	for _, s := range w.cfg.Mine {
		m := &splitMark{mark: noMark, active: noMark}
		w.splits[int64(s)] = m
		if w.st == nil {
			continue
		}
		val, ok, err := w.st.Get(markKey(s))
		if err != nil {
			return err
		}
		if ok {
			if m.mark, m.active, err = decodeMark(val); err != nil {
				return err
			}
		}
	}
	if w.st != nil {
		val, ok, err := w.st.Get(w.lowKey())
		if err != nil {
			return err
		}
		if ok {
			w.low, _, err = decodeMark(val)
			w.saved = w.low
		}
		return err
	}
	return nil
}

// markKey is under vnode 0, as the positions of splits are.
func markKey(split int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(split)) }

// lowKey is where the emitted watermark of this instance is.
func (w *Watermark) lowKey() []byte { return markKey(w.cfg.Splits + w.cfg.Mine[0]) }

// ReadMark gives the watermark of the only split as a checkpoint has it; noMark, the smallest int64, if there is none.
func ReadMark(st exec.StateTable) (int64, error) {
	val, ok, err := st.Get(markKey(0))
	if err != nil || !ok {
		return noMark, err
	}
	mark, _, err := decodeMark(val)
	return mark, err
}

func decodeMark(val []byte) (mark, active int64, err error) {
	if mark, val, err = takeVarint(val); err == nil {
		active, val, err = takeVarint(val)
	}
	if err == nil && len(val) > 0 {
		err = vec.ErrCorruptRow
	}
	return mark, active, err
}

// Chunk lets rows pass that are not late.
func (w *Watermark) Chunk(_ int, c *vec.Chunk) error {
	v := c.Cols[w.cfg.Col]
	times := v.Int[:c.Len()]
	w.sel = w.sel[:0]
	m := w.splits[int64(w.cfg.Mine[0])]
	var ids []int64
	if w.cfg.RowID >= 0 && len(w.cfg.Mine) > 1 {
		ids = c.Cols[w.cfg.RowID].Int
	}
	for i, t := range times {
		if ids != nil {
			if m = w.splits[ids[i]%int64(w.cfg.Splits)]; m == nil {
				return fmt.Errorf("Watermark: a row of split %d came to the reader of %v", ids[i]%int64(w.cfg.Splits), w.cfg.Mine)
			}
		}
		m.rows = true
		if v.Nulls.Get(i) || t == math.MaxInt64 {
			w.sel = append(w.sel, int32(i))
			continue
		}
		if !w.cfg.Pass && t < max(m.mark, w.low) {
			continue
		}
		w.sel = append(w.sel, int32(i))
		if t == math.MinInt64 || w.cfg.Pass && c.Diff(i) < 0 {
			continue
		}
		if x := t - w.cfg.Delay; x > m.mark && x < t+1 {
			m.mark, m.dirty = x, true
		}
	}
	if len(w.sel) == len(times) {
		return w.out.Chunk(c)
	}
	if w.ctx.Late != nil {
		w.ctx.Late(int64(len(times) - len(w.sel)))
	}
	if len(w.sel) == 0 {
		return nil
	}
	w.outc.Reset()
	w.outc.AppendSel(c, w.sel)
	return w.out.Chunk(w.outc)
}

// Barrier emits the watermark.
func (w *Watermark) Barrier(bar exec.Barrier) error {
	w.low = max(w.low, w.lowest(bar))
	if bar.Checkpoint && w.st != nil {
		for _, s := range w.cfg.Mine {
			m := w.splits[int64(s)]
			if m.dirty {
				m.dirty = false
				w.put(markKey(s), m.mark, m.active)
			}
		}
		if w.low != w.saved {
			w.saved = w.low
			w.put(w.lowKey(), w.low, 0)
		}
	}
	// Also if it has not grown: somebody may be new.
	if w.low != noMark {
		if err := w.out.Watermark(exec.Watermark{Col: w.cfg.Col, Value: w.low}); err != nil {
			return err
		}
	}
	return w.out.Barrier(bar)
}

func (w *Watermark) put(key []byte, mark, active int64) {
	w.val = binary.AppendVarint(binary.AppendVarint(w.val[:0], mark), active)
	w.st.Put(slices.Clone(key), w.val)
}

// lowest is the smallest watermark of the splits that are not idle; noMark if there is none.
func (w *Watermark) lowest(bar exec.Barrier) int64 {
	low, due := int64(math.MaxInt64), int64(exec.NeverDue)
	for _, s := range w.cfg.Mine {
		m := w.splits[int64(s)]
		if w.cfg.Idle > 0 {
			if m.rows || m.active == noMark {
				m.active, m.dirty = bar.Time, true
			}
			m.rows = false
			if m.active+w.cfg.Idle <= bar.Time {
				continue
			}
			due = min(due, m.active+w.cfg.Idle)
		}
		low = min(low, m.mark)
	}
	if w.cfg.Idle > 0 && w.ctx.Due != nil {
		w.ctx.Due(due)
	}
	if low == math.MaxInt64 {
		return noMark
	}
	return low
}

// marks keeps the watermarks of an input, by column, until the barrier.
type marks []exec.Watermark

// set notes a watermark.
func (m *marks) set(w exec.Watermark) {
	for i := range *m {
		if (*m)[i].Col == w.Col {
			(*m)[i].Value = max((*m)[i].Value, w.Value)
			return
		}
	}
	*m = append(*m, w)
	slices.SortFunc(*m, func(a, b exec.Watermark) int { return a.Col - b.Col })
}

// get gives the watermark of a column.
func (m marks) get(col int) (int64, bool) {
	for _, w := range m {
		if w.Col == col {
			return w.Value, true
		}
	}
	return 0, false
}
