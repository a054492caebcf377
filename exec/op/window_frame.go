package op

import (
	"math"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Frame is the part of its partition that a row's call looks at.
type Frame struct {
	Unit       FrameUnit
	Start, End FrameBound
	Exclude    FrameExclude
}

// FrameUnit is ROWS, RANGE or GROUPS.
type FrameUnit uint8

// The frame units.
const (
	FrameRows FrameUnit = iota
	FrameRange
	FrameGroups
)

// FrameBound is an end of a frame. Offset, for the two offset kinds, is of type OffsetType: int8, or for RANGE what goes
// with the order column.
type FrameBound struct {
	Kind       BoundKind
	Offset     types.Datum
	OffsetType types.Type
}

// BoundKind is the kind of a frame bound.
type BoundKind uint8

// The frame bounds, from the earliest to the latest.
const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameExclude is the EXCLUDE clause.
type FrameExclude uint8

// The frame exclusions.
const (
	ExcludeNoOthers FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

func (b FrameBound) hasOffset() bool { return b.Kind == OffsetPreceding || b.Kind == OffsetFollowing }

// rows is the offset of a ROWS or GROUPS frame, bounded so that sums with it do not overflow.
func (b FrameBound) rows() int { return int(min(b.Offset.I, math.MaxInt64/4)) }

// checkFrame refuses offsets as Postgres does.
func (w *Window) checkFrame(f Frame) error {
	for i, b := range [...]FrameBound{f.Start, f.End} {
		if !b.hasOffset() {
			continue
		}
		what := [...]string{"starting", "ending"}[i]
		switch {
		case !b.Offset.Valid:
			return sqlerr.Newf(sqlerr.NullValueNotAllowed, "frame %s offset must not be null", what)
		case f.Unit != FrameRange && b.Offset.I < 0:
			return sqlerr.Newf(sqlerr.InvalidFrameOffset, "frame %s offset must not be negative", what)
		case f.Unit == FrameRange && types.BadRangeOffset(w.cfg.In[w.cfg.OrderBy[0].Col], b.OffsetType, b.Offset):
			return sqlerr.Newf(sqlerr.InvalidFrameOffset, "invalid preceding or following size in window function")
		}
	}
	return nil
}

// group gives where the group of peers of row number at begins and ends.
func (w *Window) group(at int) (first, end int) {
	if at >= w.peers[0] && at < w.peers[1] {
		return w.peers[0], w.peers[1]
	}
	t := &w.cur.tree
	if len(w.cfg.OrderBy) == 0 {
		w.peers = [2]int{0, t.len()}
	} else {
		g := w.groupNo(at)
		w.peers = [2]int{t.headAt(w, g), t.headAt(w, g+1)}
	}
	return w.peers[0], w.peers[1]
}

// groupNo gives the number of the group of peers of row number at, from 0.
func (w *Window) groupNo(at int) int { return w.cur.tree.headsBefore(w, at+1) - 1 }

// frame gives the frame of row number at: rows lo to hi-1, before exclusion.
func (c *winCall) frame(at int, row uint32) (lo, hi int, err error) {
	n := c.w.cur.tree.len()
	f := &c.cfg.Frame
	switch f.Unit {
	case FrameRows:
		switch f.Start.Kind {
		case OffsetPreceding:
			lo = at - f.Start.rows()
		case CurrentRow:
			lo = at
		case OffsetFollowing:
			lo = at + f.Start.rows()
		}
		hi = n
		switch f.End.Kind {
		case OffsetPreceding:
			hi = at - f.End.rows() + 1
		case CurrentRow:
			hi = at + 1
		case OffsetFollowing:
			hi = at + f.End.rows() + 1
		}
		return max(lo, 0), min(hi, n), nil
	case FrameGroups:
		lo, hi = 0, n
		t := &c.w.cur.tree
		if f.Start.Kind != UnboundedPreceding {
			lo = t.headAt(c.w, max(c.w.groupNo(at)+f.Start.groups(), 0))
		}
		if f.End.Kind != UnboundedFollowing {
			hi = 0
			if g := c.w.groupNo(at) + f.End.groups() + 1; g > 0 {
				hi = t.headAt(c.w, g)
			}
		}
		return lo, hi, nil
	}
	first, end := c.w.group(at)
	lo, hi = 0, n
	if !f.Start.hasOffset() && !f.End.hasOffset() {
		if f.Start.Kind == CurrentRow {
			lo = first
		}
		if f.End.Kind == CurrentRow {
			hi = end
		}
		return lo, hi, nil
	}
	if c.rangeOf == first && c.rangeOf >= 0 {
		return c.lo, c.hi, c.rangeErr
	}
	switch {
	case f.Start.Kind == CurrentRow:
		lo = first
	case f.Start.hasOffset():
		lo = c.w.cur.tree.first(func(x uint32) bool { return err == nil && c.fromHead(x, row, &err) }).at
	}
	switch {
	case f.End.Kind == CurrentRow:
		hi = end
	case f.End.hasOffset():
		hi = c.w.cur.tree.first(func(x uint32) bool { return err == nil && c.fromTail(x, row, &err) }).at
	}
	c.rangeOf, c.lo, c.hi, c.rangeErr = first, lo, hi, err
	return lo, hi, err
}

// groups is the bound as a signed number of groups.
func (b FrameBound) groups() int {
	switch b.Kind {
	case OffsetPreceding:
		return -b.rows()
	case OffsetFollowing:
		return b.rows()
	}
	return 0
}

// fromHead tells whether row x is at or after the start of row's frame (RANGE with an offset there).
func (c *winCall) fromHead(x, row uint32, err *error) bool {
	k := c.w.cfg.OrderBy[0]
	col := &c.w.rows.cols[k.Col]
	xn, rn := col.isNull(x), col.isNull(row)
	if xn || rn {
		if k.NullsFirst {
			return !xn || rn
		}
		return xn || !rn
	}
	b := &c.cfg.Frame.Start
	sub := b.Kind == OffsetPreceding
	return c.inRange(x, row, b, sub != k.Desc, k.Desc, err)
}

// fromTail tells whether row x is after the end of row's frame (RANGE with an offset there).
func (c *winCall) fromTail(x, row uint32, err *error) bool {
	k := c.w.cfg.OrderBy[0]
	col := &c.w.rows.cols[k.Col]
	xn, rn := col.isNull(x), col.isNull(row)
	if xn || rn {
		if k.NullsFirst {
			return !xn && rn
		}
		return xn && !rn
	}
	b := &c.cfg.Frame.End
	sub := b.Kind == OffsetPreceding
	return !c.inRange(x, row, b, sub != k.Desc, !k.Desc, err)
}

func (c *winCall) inRange(x, row uint32, b *FrameBound, sub, less bool, err *error) bool {
	k := c.w.cfg.OrderBy[0].Col
	t := c.w.cfg.In[k]
	in, e := types.InRange(t, c.w.rows.datum(k, x), c.w.rows.datum(k, row), b.Offset, sub, less, c.w.loc)
	if e != nil {
		*err = e
	}
	return in
}

// ranges is frame after exclusion.
func (c *winCall) ranges(at int, row uint32) (r [3][2]int, err error) {
	lo, hi, err := c.frame(at, row)
	if err != nil {
		return r, err
	}
	first, end := at, at+1
	switch c.cfg.Frame.Exclude {
	case ExcludeNoOthers:
		r[0] = clipRange(lo, hi, 0, hi)
		return r, nil
	case ExcludeGroup, ExcludeTies:
		first, end = c.w.group(at)
	}
	r[0] = clipRange(lo, hi, 0, first)
	r[2] = clipRange(lo, hi, end, hi)
	if c.cfg.Frame.Exclude == ExcludeTies {
		r[1] = clipRange(lo, hi, at, at+1)
	}
	return r, nil
}

// clipRange is what is both in lo..hi and from..to; an empty one is always the same.
func clipRange(lo, hi, from, to int) [2]int {
	if lo, hi = max(lo, from), min(hi, to); lo < hi {
		return [2]int{lo, hi}
	}
	return [2]int{}
}
