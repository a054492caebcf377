package op

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// WindowCloseConfig configures WindowClose.
type WindowCloseConfig struct {
	In []types.Type
	// Col is the column whose watermark says when a row is final.
	Col int
	// Dist are the columns by which the input is distributed. Own tells which vnodes are this instance's; nil: all.
	Dist []int
	Own  func(vnode byte) bool
}

// WindowClose holds rows back until they are final, and emits each once.
//
//	In:      one port, any changelog.
//	Out:     the input's rows, append-only: at each barrier those below the watermark of Col, in its order. A row with NULL
//	         there never comes.
//	State:   the rows that are not final, state table "rows", keyed by Col and the row.
//	Memory:  all of them.
//	Barrier: emits the final rows, then the watermarks, hands over the state, forwards the barrier.
//	Errors:  ErrNegativeMultiplicity if a row is retracted that is not there.
type WindowClose struct {
	base
	cfg    WindowCloseConfig
	order  []SortKey
	rows   *rowStore
	flags  paged[uint8]
	open   multiset[sessionItem]
	st     exec.StateTable
	dirty  []uint32
	marks  marks
	cmp    func(a, b sessionItem) int
	keys   stateKeys
	val    []byte
	rowBuf *vec.Chunk
	keyV   []*vec.Vector
	distV  []*vec.Vector
	outc   *vec.Chunk
}

// NewWindowClose checks the configuration.
func NewWindowClose(cfg WindowCloseConfig) (*WindowClose, error) {
	n := len(cfg.In)
	if err := errors.Join(checkCols("WindowClose.Col", []int{cfg.Col}, n), checkCols("WindowClose.Dist", cfg.Dist, n)); err != nil {
		return nil, err
	}
	if cfg.In[cfg.Col].Phys() != types.PhysInt {
		return nil, fmt.Errorf("WindowClose: a watermark over a column of type %v", cfg.In[cfg.Col])
	}
	w := &WindowClose{cfg: cfg, order: []SortKey{{Col: cfg.Col}}, rows: newRowStore(cfg.In)}
	w.schema = cfg.In
	for i := range n {
		if i != cfg.Col {
			w.order = append(w.order, SortKey{Col: i})
		}
	}
	w.rowBuf, w.outc = vec.NewChunk(cfg.In, 0), vec.NewChunk(cfg.In, 0)
	w.cmp = func(a, b sessionItem) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		case a.row == b.row:
			return 0
		}
		return compareRows(w.rows, a.row, b.row, w.order[1:])
	}
	return w, nil
}

// compareRows is a total order of rows: by the keys, and if they are equal there by what else tells them apart.
func compareRows(s *rowStore, a, b uint32, keys []SortKey) int {
	if c := s.compare(a, b, keys); c != 0 {
		return c
	}
	for k := range s.cols {
		c := &s.cols[k]
		if !inexactType(c.t) || c.isNull(a) || c.isNull(b) {
			continue
		}
		if r := compareTotal(c.t, s.datum(k, a), s.datum(k, b)); r != 0 {
			return r
		}
	}
	return 0
}

// Open reads the rows of this instance.
func (w *WindowClose) Open(ctx *exec.Context, out exec.Output) error {
	if err := w.base.Open(ctx, out); err != nil {
		return err
	}
	if w.st = w.state("rows"); w.st == nil || w.st.Empty() {
		return nil
	}
	in := vec.NewChunk(w.cfg.In, 1)
	return w.st.Scan(nil, func(key, val []byte) error {
		if w.cfg.Own != nil && !w.cfg.Own(key[0]) {
			return nil
		}
		in.Reset()
		rest, err := vec.DecodeRow(val, in.Cols)
		if err != nil {
			return err
		}
		n, rest, err := takeVarint(rest)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return vec.ErrCorruptRow
		}
		in.SetLen(1)
		it := w.item(in, 0)
		*w.flags.at(it.row) = rowStored
		w.open.add(it, n, w.cmp)
		return nil
	})
}

// item stores row i of c.
func (w *WindowClose) item(c *vec.Chunk, i int) sessionItem {
	r := w.rows.alloc()
	w.flags.ensure(w.rows.n)
	for k, v := range c.Cols {
		w.rows.put(k, r, v, i)
	}
	*w.flags.at(r) = 0
	return sessionItem{c.Cols[w.cfg.Col].Int[i], r}
}

// Chunk keeps rows, or takes them back.
func (w *WindowClose) Chunk(_ int, c *vec.Chunk) error {
	for i := range c.Len() {
		if c.Cols[w.cfg.Col].Nulls.Get(i) {
			continue
		}
		it := w.item(c, i)
		if k, at, ok := w.open.find(it, w.cmp); ok {
			w.rows.release(it.row)
			it = w.open.blocks[k][at].v
		}
		if f := w.flags.at(it.row); *f&rowDirty == 0 {
			*f |= rowDirty
			w.dirty = append(w.dirty, it.row)
		}
		w.open.add(it, c.Diff(i), w.cmp)
		if _, _, ok := w.open.find(it, w.cmp); !ok {
			// It may come again before the barrier, as another item.
			w.forget(it.row)
		}
	}
	return w.account()
}

// forget frees a row that is not in open any more.
func (w *WindowClose) forget(r uint32) {
	f := w.flags.at(r)
	if *f&rowStored != 0 {
		w.eachKey([]uint32{r}, func(_ int, key []byte) { w.st.Delete(key) })
	}
	*f = 0
	w.rows.release(r)
}

// Watermark keeps the watermark until the barrier.
func (w *WindowClose) Watermark(_ int, m exec.Watermark) error {
	w.marks.set(m)
	return nil
}

// Barrier emits what is final.
func (w *WindowClose) Barrier(bar exec.Barrier) error {
	for _, r := range w.dirty {
		if *w.flags.at(r)&rowDirty == 0 {
			continue // gone, and its place perhaps taken
		}
		if _, n := w.open.count(sessionItem{*w.rows.cols[w.cfg.Col].words.at(r), r}, w.cmp); n < 0 {
			w.gather([]uint32{r})
			w.rowBuf.SetLen(1)
			return fmt.Errorf("window close: row (%s): %w", vec.FormatRow(w.rowBuf, 0), ErrNegativeMultiplicity)
		}
	}
	if low, ok := w.marks.get(w.cfg.Col); ok {
		if err := w.emitBelow(low); err != nil {
			return err
		}
	}
	if bar.Checkpoint && w.st != nil {
		w.checkpoint()
	} else if w.st == nil {
		for _, r := range w.dirty {
			*w.flags.at(r) &^= rowDirty
		}
		w.dirty = w.dirty[:0]
	}
	if err := w.account(); err != nil {
		return err
	}
	for _, m := range w.marks {
		if m.Col == w.cfg.Col {
			if err := w.out.Watermark(m); err != nil {
				return err
			}
		}
	}
	return w.out.Barrier(bar)
}

// emitBelow emits the rows below a watermark.
func (w *WindowClose) emitBelow(low int64) error {
	var final []uint32
	var times []int64
	var err error
blocks:
	for _, b := range w.open.blocks {
		for i := range b {
			if b[i].v.time >= low {
				break blocks
			}
			final, times = append(final, b[i].v.row), append(times, b[i].n)
		}
	}
	for lo := 0; lo < len(final) && err == nil; lo += w.max {
		hi := min(lo+w.max, len(final))
		w.outc.Reset()
		for k := range w.rows.cols {
			w.rows.gather(k, final[lo:hi], w.outc.Cols[k])
		}
		for _, n := range times[lo:hi] {
			w.outc.PushDiff(n)
		}
		err = w.out.Chunk(w.outc)
	}
	for i, r := range final {
		w.open.add(sessionItem{*w.rows.cols[w.cfg.Col].words.at(r), r}, -times[i], w.cmp)
		w.forget(r)
	}
	return err
}

func (w *WindowClose) gather(rows []uint32) {
	w.rowBuf.Reset()
	for k, v := range w.rowBuf.Cols {
		w.rows.gather(k, rows, v)
	}
}

// eachKey calls fn with the state keys of at most a chunk of rows.
func (w *WindowClose) eachKey(rows []uint32, fn func(i int, key []byte)) {
	w.gather(rows)
	w.distV = pick(w.rowBuf, w.cfg.Dist, w.distV)
	w.keyV = pick(w.rowBuf, sortCols(w.order), w.keyV)
	w.keys.prepare(w.distV, len(rows))
	for i := range rows {
		fn(i, w.keys.key(w.keyV, i, true))
	}
}

func (w *WindowClose) checkpoint() {
	rows := w.dirty[:0]
	for _, r := range w.dirty {
		if f := w.flags.at(r); *f&rowDirty != 0 && w.rows.live.get(r) {
			*f = *f&^rowDirty | rowStored
			rows = append(rows, r)
		}
	}
	for len(rows) > 0 {
		n := min(len(rows), vec.ChunkSize)
		piece := rows[:n]
		w.eachKey(piece, func(i int, key []byte) {
			_, m := w.open.count(sessionItem{w.rowBuf.Cols[w.cfg.Col].Int[i], piece[i]}, w.cmp)
			w.val = vec.EncodeRow(w.val[:0], w.rowBuf.Cols, i)
			w.val = binary.AppendVarint(w.val, m)
			w.st.Put(key, w.val)
		})
		rows = rows[n:]
	}
	w.dirty = w.dirty[:0]
}

// account says what the rows take; all of them stay in memory.
func (w *WindowClose) account() error {
	held := w.rows.held() + int(w.rows.room)*25
	return w.mem.Set(int64(held), int64(len(w.dirty)*(held/max(w.rows.count(), 1)+1)))
}
