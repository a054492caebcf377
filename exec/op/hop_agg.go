package op

import (
	"errors"
	"fmt"
	"math"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// HopAggConfig configures HopAgg. Size, Slide and Offset are as in HopConfig; Size is a multiple of Slide.
type HopAggConfig struct {
	In                  []types.Type
	TimeCol             int
	Size, Slide, Offset int64
	Keys                []int
	// Aggs are over columns of the input.
	Aggs         []Agg
	AppendOnlyIn bool
	// Dist are the columns by which the input is distributed, a subset of Keys.
	Dist []int
}

// HopAgg maintains SELECT keys, window_start, window_end, aggs ... FROM HOP(input, time, slide, size) GROUP BY
// keys, window.
//
//  1. The rows are aggregated by pane, the tumbling window of length Slide: that is a HashAgg, and all the
//     state that there is. A window is Size/Slide panes that follow each other.
//  2. At the barrier each pane that the epoch has touched looks for its neighbours of the same key, less than a
//     window away. A window is worked out at the last touched pane that is in it, and nowhere else.
//  3. All windows of a pane contain it. So the part of a window up to the pane is a sum that grows pane by
//     pane to the left, the part behind it one that grows to the right, and a window is the sum of two
//     such: a pane costs as many steps as there are panes in a window, and nothing is ever subtracted. The same is done
//     with the results that the panes had before the epoch, for the rows to be taken back.
//
// ("No Pane, No Gain", Li et al., SIGMOD Record 2005.)
//
//	In:      one port, any changelog.
//	Out:     keys, window_start, window_end, agg results; at each barrier, for each group whose result
//	         changed, the old row with diff -1 and then the new row with diff +1, in the order in which the
//	         epoch first touched the panes, the earliest window of a pane first. A group without rows
//	         has none. Rows whose time is NULL or infinite are in no window.
//	State:   that of HashAgg by keys and pane.
//	Memory:  that of HashAgg.
//	Barrier: emits the epoch's changes, hands dirty panes to the state table, forwards it.
//	Errors:  those of HashAgg; an aggregate that cannot be combined from panes is 0A000.
type HopAgg struct {
	base
	// panes has the groups by keys and the number of the pane, which begins at slide times the number plus
	// offset. n is the number of panes in a window. All in units of the time column.
	panes         *HashAgg
	marks         marks
	time          int
	n             int
	slide, offset int64
	// merges tells for each column of the panes' results how to combine them, finals how the output
	// columns come from those.
	merges []merger
	finals []finalAgg

	pane *vec.Vector // of the rows of a chunk
	view vec.Chunk
	some *vec.Chunk // rows that are in a window
	sel  []int32

	// For some touched panes at a time: near lists for each pane 2n-1 panes, itself in the middle, from the
	// earliest one that shares a window with it to the latest; olds and news are the rows of panes.res with
	// their results before and after the epoch, or -1.
	near       []uint32
	olds, news []int32
	listed     []uint32 // those in near that there are
	// ahead is the number of windows that each pane works out: those that hold no later touched pane.
	ahead  []int32
	keyc   *vec.Chunk
	hashes []uint64
	// The windows: old ones, then, in the same order, new ones. exists tells whether there is (was) a row, ent
	// is an entry with its key.
	parts  *vec.Chunk // combined results of panes
	rows   *vec.Chunk // results
	exists []bool
	ents   []uint32
	starts []int64 // by window

	oEnts   []uint32
	oStarts []int64
	oRows   []int32
	oDiffs  []int64
	outc    *vec.Chunk
	gone    []uint32
}

const (
	wordOldRow  = wordOwner     // 1 + the row of panes.res with the result before the epoch, or 0
	wordKnown   = wordOwner + 1 // 1 + the number of evictions when all neighbours came into memory
	hopAggWords = 2
)

// NewHopAgg checks the configuration.
func NewHopAgg(cfg HopAggConfig) (*HopAgg, error) {
	n := len(cfg.In)
	if err := errors.Join(checkCols("HopAgg.Keys", cfg.Keys, n), checkCols("HopAgg.Dist", cfg.Dist, n)); err != nil {
		return nil, err
	}
	hop, err := NewHop(HopConfig{In: cfg.In, TimeCol: cfg.TimeCol, Size: cfg.Size, Slide: cfg.Slide, Offset: cfg.Offset})
	if err != nil {
		return nil, err
	}
	if cfg.Size < cfg.Slide || cfg.Size%cfg.Slide != 0 {
		return nil, fmt.Errorf("HopAgg: size %d is no multiple of slide %d", cfg.Size, cfg.Slide)
	}
	h := &HopAgg{time: cfg.TimeCol, n: int(cfg.Size / cfg.Slide), slide: hop.cfg.Slide, offset: hop.cfg.Offset}
	inner := HashAggConfig{
		In: append(append([]types.Type{}, cfg.In...), types.T(types.Int8)), Keys: append(append([]int{}, cfg.Keys...), n),
		AppendOnlyIn: cfg.AppendOnlyIn, Dist: cfg.Dist,
	}
	t := cfg.In[cfg.TimeCol]
	h.schema = append(append(h.schema, pickTypes(cfg.In, cfg.Keys)...), t, t)
	var partTypes, resTypes []types.Type
	for _, g := range cfg.Aggs {
		if g.Type == (types.Type{}) {
			g.Type = g.Fn.Ret
		}
		if err := checkCols("HopAgg.Args", g.Args, n); err != nil {
			return nil, err
		}
		parts, ms, err := splitAgg(g, pickTypes(cfg.In, g.Args))
		if err != nil {
			return nil, err
		}
		f := finalAgg{avg: len(parts) == 2, site: len(h.finals)}
		for i, p := range parts {
			f.parts[i] = len(inner.Aggs)
			inner.Aggs = append(inner.Aggs, p)
			partTypes = append(partTypes, p.Type)
		}
		h.merges = append(h.merges, ms...)
		h.finals = append(h.finals, f)
		h.schema = append(h.schema, g.Type)
		resTypes = append(resTypes, g.Type)
	}
	if h.panes, err = newHashAgg(inner, hopAggWords); err != nil {
		return nil, err
	}
	h.panes.tab.paned, h.panes.tab.idx.inl = true, false
	h.pane = vec.NewVector(types.T(types.Int8), 0)
	h.some = vec.NewChunk(inner.In, 0)
	h.keyc = vec.NewChunk(h.panes.tab.keyTypes, 0)
	h.parts = vec.NewChunk(partTypes, 0)
	h.rows = vec.NewChunk(resTypes, 0)
	h.outc = vec.NewChunk(h.schema, 0)
	return h, nil
}

// Open opens the state tables.
func (h *HopAgg) Open(ctx *exec.Context, out exec.Output) error {
	return errors.Join(h.base.Open(ctx, out), h.panes.Open(ctx, nil))
}

// Chunk adds rows to their panes.
func (h *HopAgg) Chunk(_ int, c *vec.Chunk) error {
	v := c.Cols[h.time]
	times := v.Int[:c.Len()]
	h.pane.Reset()
	finite := !v.HasNulls()
	number, start := int64(0), h.offset
	for _, t := range times {
		// Most rows are in the pane of the row before.
		if uint64(t-start) >= uint64(h.slide) {
			start = floorMul(t, h.slide, h.offset)
			number = (start - h.offset) / h.slide
			finite = finite && t != math.MaxInt64 && t != math.MinInt64
		}
		h.pane.Int = append(h.pane.Int, number)
	}
	if finite {
		h.view.Cols = append(append(h.view.Cols[:0], c.Cols...), h.pane)
		h.view.Diffs = c.Diffs
		h.view.SetLen(c.Len())
		return h.panes.Chunk(0, &h.view)
	}
	h.sel = h.sel[:0]
	for i, t := range times {
		if !v.Nulls.Get(i) && t != math.MaxInt64 && t != math.MinInt64 {
			h.sel = append(h.sel, int32(i))
		}
	}
	if len(h.sel) == 0 {
		return nil
	}
	h.some.Reset()
	for k, v := range c.Cols {
		if v.Len() > 0 {
			h.some.Cols[k].AppendSel(v, h.sel)
		}
	}
	h.some.Cols[len(c.Cols)].AppendSel(h.pane, h.sel)
	h.some.SetLen(len(h.sel))
	if c.Diffs != nil {
		h.some.EnsureDiffs()
		for i, r := range h.sel {
			h.some.Diffs[i] = c.Diffs[r]
		}
	}
	return h.panes.Chunk(0, h.some)
}

// Barrier emits the changes of the epoch and hands over dirty state.
func (h *HopAgg) Barrier(bar exec.Barrier) error {
	if err := h.flush(); err != nil {
		return err
	}
	if err := h.panes.save(bar); err != nil {
		return err
	}
	nk := len(h.panes.cfg.Keys) - 1
	for i, k := range h.panes.cfg.Keys[:nk] {
		if w, ok := h.marks.get(k); ok {
			if err := h.panes.sweep(bar, i, w); err != nil {
				return err
			}
			if err := h.out.Watermark(exec.Watermark{Col: i, Value: w}); err != nil {
				return err
			}
		}
	}
	if w, ok := h.marks.get(h.time); ok {
		size := int64(h.n) * h.slide
		start := floorMul(w-size, h.slide, h.offset) + h.slide
		// The first window that is open begins with the first pane that still counts.
		if err := h.panes.sweep(bar, nk, (start-h.offset)/h.slide); err != nil {
			return err
		}
		if err := h.out.Watermark(exec.Watermark{Col: nk, Value: start}); err != nil {
			return err
		}
		if err := h.out.Watermark(exec.Watermark{Col: nk + 1, Value: start + size}); err != nil {
			return err
		}
	}
	return h.out.Barrier(bar)
}

// Watermark keeps the watermark until the barrier.
func (h *HopAgg) Watermark(_ int, w exec.Watermark) error {
	h.marks.set(w)
	return nil
}

// Close gives the memory back.
func (h *HopAgg) Close() {
	h.panes.Close()
	h.base.Close()
}

func (h *HopAgg) flush() error {
	a := h.panes
	shown := int64(0)
	for _, e := range a.touched {
		rec := a.tab.rec(e)
		if rec[wordCount] < 0 {
			return fmt.Errorf("group %s: %w", h.describe(e), ErrNegativeMultiplicity)
		}
		rec[wordOldRow] = 0
		if rec[wordFlags]&flagShown != 0 {
			shown++
			rec[wordOldRow] = shown
		}
	}
	size := max(1, 4*a.max/(2*h.n-1))
	for left := a.touched; len(left) > 0; {
		piece := left[:min(len(left), size)]
		left = left[len(piece):]
		if err := h.neighbours(piece); err != nil {
			return err
		}
		if err := h.windows(piece); err != nil {
			return err
		}
		if err := h.send(); err != nil {
			return err
		}
	}
	a.gone = a.gone[:0]
	for _, e := range a.touched {
		rec := a.tab.rec(e)
		rec[wordFlags] &^= flagTouched | flagShown
		if rec[wordCount] > 0 {
			rec[wordFlags] |= flagShown
		} else if a.tab.st == nil {
			a.gone = append(a.gone, e)
		}
		a.tab.dirtied(e)
	}
	a.res.Reset()
	a.touched, a.shownBefore = a.touched[:0], 0
	a.tab.drop(a.gone)
	for _, s := range a.sets {
		s.endEpoch()
	}
	return nil
}

func (h *HopAgg) describe(e uint32) string {
	tab := h.panes.tab
	nk := len(tab.keyTypes) - 1
	start := tab.store.datum(nk, e).I*h.slide + h.offset
	return tab.describe(e, nk) + ", pane " + vec.FormatDatum(h.schema[nk], types.DInt(start))
}

// neighbours fills near, ahead, olds and news for some touched panes.
func (h *HopAgg) neighbours(piece []uint32) error {
	tab := h.panes.tab
	nk := len(tab.keyTypes) - 1
	h.keyc.Reset()
	for k, v := range h.keyc.Cols {
		tab.store.gather(k, piece, v)
	}
	h.hashes = vec.HashRows(h.keyc.Cols[:nk], len(piece), h.hashes)
	if tab.cold {
		tab.prepareKeys(h.keyc.Cols, len(piece), h.hashes)
	}
	h.near, h.ahead, h.listed = h.near[:0], h.ahead[:0], h.listed[:0]
	pane := h.keyc.Cols[nk].Int
	mid, wide := h.n-1, 2*h.n-1
	for i, e := range piece {
		at := len(h.near)
		for range wide {
			h.near = append(h.near, none)
		}
		near := h.near[at : at+wide]
		near[mid] = e
		number := pane[i]
		mem := !tab.cold || tab.rec(e)[wordKnown] == tab.evictions+1
		ahead := h.n
		for d := 1; d < h.n; d++ {
			x, err := h.neighbour(i, e, number+int64(d), mem)
			if err != nil {
				return err
			}
			if x != none && tab.rec(x)[wordFlags]&flagTouched != 0 {
				ahead = d
				break
			}
			near[mid+d] = x
		}
		for d := 1; d < h.n; d++ {
			x, err := h.neighbour(i, e, number-int64(d), mem)
			if err != nil {
				return err
			}
			near[mid-d] = x
		}
		pane[i] = number
		// What lies behind the next touched pane has been or will be looked up by that one.
		tab.rec(e)[wordKnown] = tab.evictions + 1
		h.ahead = append(h.ahead, int32(ahead))
	}
	base := h.panes.shownBefore
	h.olds, h.news = h.olds[:0], h.news[:0]
	for _, x := range h.near {
		older, newer := int32(-1), int32(-1)
		if x != none {
			rec := tab.rec(x)
			if rec[wordCount] > 0 {
				newer = int32(base + len(h.listed))
				h.listed = append(h.listed, x)
			}
			if rec[wordFlags]&flagTouched == 0 {
				older = newer
			} else {
				older = int32(rec[wordOldRow]) - 1
			}
		}
		h.olds, h.news = append(h.olds, older), append(h.news, newer)
	}
	for i, agg := range h.panes.aggs {
		v := h.panes.res.Cols[i]
		v.Truncate(base)
		if err := agg.results(h.listed, v); err != nil {
			return err
		}
	}
	return nil
}

// neighbour finds the pane with a number that has the key of e, which is row i of keyc, or none. Without
// mem it may be in the state table.
func (h *HopAgg) neighbour(i int, e uint32, number int64, mem bool) (uint32, error) {
	tab := h.panes.tab
	hash := paneHash(h.hashes[i], number)
	if x := tab.idx.near(e, number, hash); x != none || mem {
		return x, nil
	}
	cols := h.keyc.Cols
	cols[len(cols)-1].Int[i] = number
	key := tab.keys.key(cols, i, false)
	val, ok, err := tab.st.Get(key)
	if !ok || err != nil {
		return none, err
	}
	x, _ := tab.idx.findOrAddOne(cols, i, hash)
	tab.words.ensure(tab.store.n)
	clear(tab.rec(x))
	tab.owner.reset(x)
	tab.rec(x)[wordFlags] |= flagRef
	return x, tab.load(x, key, val)
}

// windows works out the windows of some touched panes, before and after the epoch.
func (h *HopAgg) windows(piece []uint32) error {
	inexact := len(h.panes.tab.inexact) > 0
	pane := h.keyc.Cols[len(h.keyc.Cols)-1].Int
	h.starts, h.exists, h.ents = h.starts[:0], h.exists[:0], h.ents[:0]
	for i := range piece {
		for d := range int(h.ahead[i]) {
			h.starts = append(h.starts, (pane[i]+int64(d+1-h.n))*h.slide+h.offset)
		}
	}
	for _, rows := range [][]int32{h.olds, h.news} {
		for i, e := range piece {
			r := rows[i*(2*h.n-1):][:2*h.n-1]
			first := 0
			for d := range int(h.ahead[i]) {
				// Panes d to d+n-1 of r.
				for first = max(first, d); first < d+h.n && r[first] < 0; {
					first++
				}
				ok := first < d+h.n
				if ok && inexact {
					// Equal keys may differ: a window has that of its earliest pane.
					e = h.near[i*(2*h.n-1)+first]
				}
				h.exists, h.ents = append(h.exists, ok), append(h.ents, e)
			}
		}
	}
	for k := range h.merges {
		dst := h.parts.Cols[k]
		dst.Reset()
		h.merges[k].merge(h, h.panes.res.Cols[k], h.olds, dst)
		h.merges[k].merge(h, h.panes.res.Cols[k], h.news, dst)
	}
	for k := range h.finals {
		f := &h.finals[k]
		if !f.avg {
			h.rows.Cols[k] = h.parts.Cols[f.parts[0]]
			continue
		}
		dst := h.rows.Cols[k]
		dst.Reset()
		if err := f.divide(h, dst); err != nil {
			return err
		}
	}
	return nil
}

// send emits the windows that differ.
func (h *HopAgg) send() error {
	h.oEnts, h.oStarts, h.oRows, h.oDiffs = h.oEnts[:0], h.oStarts[:0], h.oRows[:0], h.oDiffs[:0]
	w := len(h.starts)
	for i, start := range h.starts {
		had, has := h.exists[i], h.exists[w+i]
		if had && has && h.unchanged(i, w+i) {
			continue
		}
		if had {
			h.oEnts, h.oStarts, h.oRows, h.oDiffs = append(h.oEnts, h.ents[i]), append(h.oStarts, start), append(h.oRows, int32(i)), append(h.oDiffs, -1)
		}
		if has {
			h.oEnts, h.oStarts, h.oRows, h.oDiffs = append(h.oEnts, h.ents[w+i]), append(h.oStarts, start), append(h.oRows, int32(w+i)), append(h.oDiffs, 1)
		}
	}
	nk := len(h.panes.tab.keyTypes) - 1
	size := int64(h.n) * h.slide
	for lo := 0; lo < len(h.oEnts); lo += h.max {
		hi := min(lo+h.max, len(h.oEnts))
		c := h.outc
		c.Reset()
		for k := range nk {
			h.panes.tab.store.gather(k, h.oEnts[lo:hi], c.Cols[k])
		}
		c.Cols[nk].Int = append(c.Cols[nk].Int, h.oStarts[lo:hi]...)
		for _, s := range h.oStarts[lo:hi] {
			c.Cols[nk+1].Int = append(c.Cols[nk+1].Int, s+size)
		}
		for k, v := range h.rows.Cols {
			c.Cols[nk+2+k].AppendSel(v, h.oRows[lo:hi])
		}
		for _, d := range h.oDiffs[lo:hi] {
			c.PushDiff(d)
		}
		if err := h.out.Chunk(c); err != nil {
			return err
		}
	}
	return nil
}

// unchanged tells whether the rows of two windows are the same to the last bit.
func (h *HopAgg) unchanged(i, j int) bool {
	for _, v := range h.rows.Cols {
		if !vec.SameAt(v, i, v, j) {
			return false
		}
	}
	if a, b := h.ents[i], h.ents[j]; a != b {
		s := h.panes.tab.store
		for _, k := range h.panes.tab.inexact {
			if !vec.SameDatum(s.cols[k].t, s.datum(k, a), s.datum(k, b)) {
				return false
			}
		}
	}
	return true
}
