package op

import (
	"fmt"
	"math"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// HopConfig configures Hop. Size, Slide and Offset are microseconds, whole days if the time
// column is a date.
type HopConfig struct {
	In                  []types.Type
	TimeCol             int
	Size, Slide, Offset int64
	// Cumulate: windows of Size follow each other, and a row is in those parts of its window that begin
	// with it, are a multiple of Slide long, and hold the row. Size is a multiple of Slide.
	Cumulate bool
}

// Hop assigns rows to windows of Size that begin every Slide, counted from 1970-01-01 00:00 plus
// Offset; with Slide = Size (tumble) each row is in exactly one. With Cumulate the windows begin every Size, and end
// after 1, 2, ... Slides.
//
//	In:      one port, any changelog.
//	Out:     the input columns, window_start, window_end; a row for each window that holds the
//	         time, earliest first. None if the time is NULL or infinite.
//	State:   none.
//	Memory:  one chunk.
//	Barrier: forwards it; watermarks of input columns too, and with that of the time those of the windows: the first
//	         that is still open.
//	Errors:  none.
type Hop struct {
	base
	cfg   HopConfig
	view  vec.Chunk
	start *vec.Vector
	end   *vec.Vector
	outc  *vec.Chunk
	sel   []int32
}

// NewHop checks the configuration.
func NewHop(cfg HopConfig) (*Hop, error) {
	if err := checkCols("Hop.TimeCol", []int{cfg.TimeCol}, len(cfg.In)); err != nil {
		return nil, err
	}
	t := cfg.In[cfg.TimeCol]
	switch t.Kind {
	case types.Timestamp, types.Timestamptz:
	case types.Date:
		const day = 24 * 3600 * 1000000
		if cfg.Size%day != 0 || cfg.Slide%day != 0 || cfg.Offset%day != 0 {
			return nil, fmt.Errorf("Hop: windows over a date are whole days")
		}
		cfg.Size, cfg.Slide, cfg.Offset = cfg.Size/day, cfg.Slide/day, cfg.Offset/day
	default:
		return nil, fmt.Errorf("Hop: time column of kind %v", t.Kind)
	}
	if cfg.Size <= 0 || cfg.Slide <= 0 || cfg.Cumulate && cfg.Size%cfg.Slide != 0 {
		return nil, fmt.Errorf("Hop: size %d, slide %d", cfg.Size, cfg.Slide)
	}
	// Windows are aligned to 1970, as elsewhere; times count from 2000.
	epoch := int64(-946_684_800_000_000)
	if t.Kind == types.Date {
		epoch = -10957
	}
	every := cfg.Slide
	if cfg.Cumulate {
		every = cfg.Size
	}
	cfg.Offset = (cfg.Offset%every + epoch%every) % every
	h := &Hop{cfg: cfg, start: vec.NewVector(t, 0), end: vec.NewVector(t, 0)}
	h.schema = append(append(h.schema, cfg.In...), t, t)
	h.outc = vec.NewChunk(h.schema, 0)
	return h, nil
}

// floorMul is the largest slide*k + offset that is at most x.
func floorMul(x, slide, offset int64) int64 {
	r := (x - offset) % slide
	if r < 0 {
		r += slide
	}
	return x - r
}

// Chunk assigns windows.
func (h *Hop) Chunk(_ int, c *vec.Chunk) error {
	v := c.Cols[h.cfg.TimeCol]
	times := v.Int[:c.Len()]
	size, slide, offset := h.cfg.Size, h.cfg.Slide, h.cfg.Offset
	if size == slide && !v.HasNulls() {
		// Tumble: the input columns are passed on as they are.
		h.start.Reset()
		h.end.Reset()
		finite := true
		n := len(times)
		h.start.Resize(n)
		h.end.Resize(n)
		starts, ends := h.start.Int[:n], h.end.Int[:n]
		s := offset
		for i, t := range times {
			// Most rows are in the window of the row before.
			if uint64(t-s) >= uint64(slide) {
				s = floorMul(t, slide, offset)
				finite = finite && t != math.MaxInt64 && t != math.MinInt64
			}
			starts[i], ends[i] = s, s+size
		}
		if finite {
			h.view.Cols = append(append(h.view.Cols[:0], c.Cols...), h.start, h.end)
			h.view.Diffs = c.Diffs
			h.view.SetLen(c.Len())
			return h.out.Chunk(&h.view)
		}
	}
	h.begin()
	for i, t := range times {
		if v.Nulls.Get(i) || t == math.MaxInt64 || t == math.MinInt64 {
			continue
		}
		if h.cfg.Cumulate {
			s := floorMul(t, size, offset)
			for e := floorMul(t, slide, s) + slide; e <= s+size; e += slide {
				if err := h.put(c, i, s, e); err != nil {
					return err
				}
			}
			continue
		}
		last := floorMul(t, slide, offset)
		if last+size <= t {
			continue // slide > size leaves gaps
		}
		first := last - (size-1-(t-last))/slide*slide
		for s := first; s <= last; s += slide {
			if err := h.put(c, i, s, s+size); err != nil {
				return err
			}
		}
	}
	return h.flush(c)
}

// put puts row i of c into a window.
func (h *Hop) put(c *vec.Chunk, i int, start, end int64) error {
	h.sel = append(h.sel, int32(i))
	h.start.Int = append(h.start.Int, start)
	h.end.Int = append(h.end.Int, end)
	if len(h.sel) >= h.max {
		return h.flush(c)
	}
	return nil
}

func (h *Hop) begin() {
	h.sel = h.sel[:0]
	h.start.Reset()
	h.end.Reset()
}

func (h *Hop) flush(c *vec.Chunk) error {
	if len(h.sel) == 0 {
		return nil
	}
	n := len(c.Cols)
	h.outc.Reset()
	for k, v := range c.Cols {
		if v.Len() > 0 {
			h.outc.Cols[k].AppendSel(v, h.sel)
		}
	}
	h.outc.Cols[n].Int = append(h.outc.Cols[n].Int, h.start.Int...)
	h.outc.Cols[n+1].Int = append(h.outc.Cols[n+1].Int, h.end.Int...)
	h.outc.SetLen(len(h.sel))
	if c.Diffs != nil {
		h.outc.EnsureDiffs()
		for i, r := range h.sel {
			h.outc.Diffs[i] = c.Diffs[r]
		}
	}
	h.begin()
	return h.out.Chunk(h.outc)
}

// Watermark forwards the watermark.
func (h *Hop) Watermark(_ int, w exec.Watermark) error {
	if err := h.out.Watermark(w); err != nil || w.Col != h.cfg.TimeCol {
		return err
	}
	start, end := h.open(w.Value)
	n := len(h.cfg.In)
	if err := h.out.Watermark(exec.Watermark{Col: n, Value: start}); err != nil {
		return err
	}
	return h.out.Watermark(exec.Watermark{Col: n + 1, Value: end})
}

// open gives the smallest start and end of windows in which a row at time t or later can be.
func (h *Hop) open(t int64) (start, end int64) {
	size, slide, offset := h.cfg.Size, h.cfg.Slide, h.cfg.Offset
	switch {
	case h.cfg.Cumulate:
		start = floorMul(t, size, offset)
		return start, floorMul(t, slide, start) + slide
	case size < slide:
		// There are gaps.
		if start = floorMul(t, slide, offset); start+size <= t {
			start += slide
		}
		return start, start + size
	}
	start = floorMul(t-size, slide, offset) + slide
	return start, start + size
}
