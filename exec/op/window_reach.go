package op

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// Which rows get other results.
//
// A row's result depends on rows around it, up to some distance: so many rows or groups, a difference of values, or all up
// to an end of the partition. Turned round, that gives the rows around a change whose results may differ. Counting
// rows in the new tree is enough although several changes were made: of the changes between a row and its frame's
// end the nearest one is in the frame both before and after or not at all, since between it and the row nothing
// changed.
//
// If the reach is all rows, work stops at the first row whose result is as it was, for functions of a prefix (or
// suffix) whose result for a later row follows from the one for an earlier row and from the rows between: there are no
// changes between up to the next change, which begins its own search.

type reach struct {
	kind reachKind
	n    int // rows or groups
	stop bool
	// beyond: the group of peers of the change is left out; it does not matter to its rows.
	beyond bool
}

type reachKind uint8

const (
	reachNone reachKind = iota
	reachRows
	reachGroups // the group of peers and n groups more
	reachValues // as far as the offset of a RANGE frame goes
	reachAll
)

// plan chooses the function and its reach.
func (c *winCall) plan() {
	all, allStop := reach{kind: reachAll}, reach{kind: reachAll, stop: true}
	if c.agg == nil {
		c.fn = winFuncs[c.cfg.Fn.Name]
	}
	switch c.fn {
	case winRowNumber:
		c.after = allStop
	case winRank, winDenseRank, winPercentRank:
		if c.after = allStop; len(c.w.cfg.OrderBy) > 0 {
			c.after.beyond = true
		} else {
			c.after = reach{}
		}
	case winCumeDist:
		if len(c.w.cfg.OrderBy) > 0 {
			c.after, c.before = allStop, reach{kind: reachGroups}
		}
	case winNtile:
		// See tileRows.
	case winLag, winLead:
		by, ok := types.DInt(1), true
		if len(c.cfg.Args) > 1 {
			by, ok = c.constArg(1)
		}
		if !ok {
			c.after, c.before = all, all
			return
		}
		k := by.I
		if c.fn == winLead {
			k = -k
		}
		switch {
		case !by.Valid:
		case k >= 0:
			c.after = reach{kind: reachRows, n: int(k)}
		default:
			c.before = reach{kind: reachRows, n: int(-k)}
		}
	default:
		c.planFrame()
	}
}

// planFrame gives the reach of a function of a frame.
func (c *winCall) planFrame() {
	f := c.cfg.Frame
	if c.whole() {
		// All rows have one result.
		c.after, c.before = reach{kind: reachAll, stop: true}, reach{kind: reachAll, stop: true}
		if c.fn == winNth {
			_, c.after.stop = c.constArg(1)
			c.before.stop = c.after.stop
		}
		return
	}
	composable := f.Exclude == ExcludeNoOthers && (c.fn == winFirst || c.fn == winLast || c.agg != nil && c.agg.composable)
	start, end := f.Start, f.End
	if f.Exclude == ExcludeNoOthers {
		// The first row does not depend on what comes after it, nor the last one on what comes before.
		switch {
		case c.fn == winLast && start.Kind == UnboundedPreceding && end.Kind != OffsetPreceding:
			start.Kind = CurrentRow
		case c.fn == winLast && start.Kind == UnboundedPreceding && f.Unit != FrameRange:
			start = end
		case c.fn == winFirst && end.Kind == UnboundedFollowing && start.Kind != OffsetFollowing:
			end.Kind = CurrentRow
		case c.fn == winFirst && end.Kind == UnboundedFollowing && f.Unit != FrameRange:
			end = start
		}
	}
	c.after, c.before = reachBy(f.Unit, start, OffsetPreceding), reachBy(f.Unit, end, OffsetFollowing)
	if start.Kind == UnboundedPreceding {
		c.after = reach{kind: reachAll, stop: composable && end.Kind >= CurrentRow}
	}
	if end.Kind == UnboundedFollowing {
		c.before = reach{kind: reachAll, stop: composable && start.Kind <= CurrentRow}
	}
	if start.Kind == UnboundedPreceding && end.Kind != OffsetFollowing && c.before.kind == reachGroups && c.after.stop {
		// Peers share their frame.
		c.before.stop = true
	}
}

// reachBy is the reach in one direction of a bound; towards is the kind of offsets that lead there.
func reachBy(unit FrameUnit, b FrameBound, towards BoundKind) reach {
	switch unit {
	case FrameRows:
		if b.Kind == towards {
			return reach{kind: reachRows, n: b.rows()}
		}
		return reach{}
	case FrameGroups:
		if b.Kind == towards {
			return reach{kind: reachGroups, n: b.rows()}
		}
	case FrameRange:
		if b.hasOffset() {
			return reach{kind: reachValues}
		}
	}
	return reach{kind: reachGroups}
}

// whole tells whether the frame of each row is the whole partition.
func (c *winCall) whole() bool {
	f := c.cfg.Frame
	peers := f.Unit != FrameRows && len(c.w.cfg.OrderBy) == 0
	return f.Exclude == ExcludeNoOthers && (f.Start.Kind == UnboundedPreceding || peers && f.Start.Kind == CurrentRow) &&
		(f.End.Kind == UnboundedFollowing || peers && f.End.Kind == CurrentRow)
}

// set gives row the result d of call c, and tells whether it had that already. Old results are kept in before.
func (w *Window) set(c *winCall, row uint32, d types.Datum) (same bool, err error) {
	fails, err := w.settle(c, row)
	if err != nil {
		return false, err
	}
	f := w.flags.at(row)
	if *f&rowFresh == 0 {
		if vec.SameDatum(c.cfg.Type, w.rows.datum(c.col, row), d) {
			return fails, nil
		}
		if *f&rowChanged == 0 {
			*f |= rowChanged
			w.changed = append(w.changed, row)
			for k, v := range w.before.Cols {
				w.rows.gather(len(w.cfg.In)+k, []uint32{row}, v)
			}
		}
	}
	w.rows.replace(c.col, row, d)
	return false, nil
}

// all works out all rows of the partition.
func (w *Window) all() error {
	t := &w.cur.tree
	if t.len() == 0 {
		return nil
	}
	for p := t.at(0); p.at < t.len(); p.next() {
		row := p.leaf.rows[p.i]
		for _, c := range w.calls {
			d, err := c.value(p.at, row)
			if err != nil {
				return err
			}
			if _, err := w.set(c, row, d); err != nil {
				return err
			}
		}
		if p.at%4096 == 4095 {
			if err := w.cancelled(); err != nil {
				return err
			}
		}
		if p.at+1 == t.len() {
			break
		}
	}
	return nil
}

// around works out the rows around the changes.
func (w *Window) around() error {
	t := &w.cur.tree
	grown := 0
	for i := range w.changes {
		ch := &w.changes[i]
		switch ch.kind {
		case rowCame:
			grown++
		case rowWent:
			grown--
		}
		if ch.kind == rowWent {
			continue
		}
		for _, c := range w.calls {
			d, err := c.value(ch.at, ch.row)
			if err != nil {
				return err
			}
			if _, err := w.set(c, ch.row, d); err != nil {
				return err
			}
		}
	}
	if t.len() == 0 {
		return nil
	}
	for _, c := range w.calls {
		var err error
		switch {
		case c.fn == winNtile:
			err = w.tileRows(c)
		case grown != 0 && c.after.kind == reachAll && (c.fn == winPercentRank || c.fn == winCumeDist):
			_, err = w.forward(c, 0, t.len(), false)
		default:
			err = w.spread(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spread works out, for one call, the rows within reach of the changes.
func (w *Window) spread(c *winCall) error {
	n := w.cur.tree.len()
	done := 0
	if c.after.kind != reachNone {
		for i := range w.changes {
			ch := &w.changes[i]
			if c.missesNth(ch) {
				continue
			}
			lo, hi, err := c.afterRange(ch)
			if err != nil {
				return err
			}
			if lo = max(lo, done); lo >= hi {
				continue
			}
			if done, err = w.forward(c, lo, hi, c.after.stop); err != nil {
				return err
			}
		}
	}
	if c.before.kind == reachNone {
		return nil
	}
	done = n
	for i := len(w.changes) - 1; i >= 0; i-- {
		ch := &w.changes[i]
		if c.missesNth(ch) {
			continue
		}
		lo, err := c.beforeStart(ch)
		if err != nil {
			return err
		}
		hi := min(ch.at, done)
		if lo >= hi {
			continue
		}
		if done, err = w.backward(c, lo, hi, c.before.stop); err != nil {
			return err
		}
	}
	return nil
}

// missesNth tells whether a change is behind the row that nth_value shows, in a frame from the start of the partition.
func (c *winCall) missesNth(ch *winChange) bool {
	f := &c.cfg.Frame
	if c.fn != winNth || f.Start.Kind != UnboundedPreceding || f.Exclude != ExcludeNoOthers {
		return false
	}
	d, ok := c.constArg(1)
	return ok && d.Valid && int64(ch.at) >= d.I+int64(len(c.w.changes))
}

// afterRange gives the rows after a change that are within reach.
func (c *winCall) afterRange(ch *winChange) (lo, hi int, err error) {
	t := &c.w.cur.tree
	n := t.len()
	lo = ch.at
	if ch.kind != rowWent {
		lo++
	}
	if c.after.beyond {
		lo = ch.pe
	}
	switch c.after.kind {
	case reachRows:
		hi = lo + min(c.after.n, n)
	case reachGroups:
		hi = ch.pe
		if c.after.n > 0 {
			hi = t.headAt(c.w, t.headsBefore(c.w, ch.pe)+min(c.after.n, n))
		}
	case reachValues:
		hi = t.first(func(x uint32) bool {
			// A row whose frame cannot be told is one without a result, whatever changes.
			var frame error
			return c.w.compare(x, ch.row) > 0 && !c.fromHead(ch.row, x, &frame)
		}).at
	default:
		hi = n
	}
	return lo, min(hi, n), err
}

// beforeStart gives the first row before a change that is within reach.
func (c *winCall) beforeStart(ch *winChange) (lo int, err error) {
	t := &c.w.cur.tree
	switch c.before.kind {
	case reachRows:
		return max(ch.at-min(c.before.n, t.len()), 0), nil
	case reachGroups:
		lo = ch.pf
		if c.before.n > 0 {
			lo = t.headAt(c.w, max(t.headsBefore(c.w, ch.pf)-min(c.before.n, t.len()), 0))
		}
		return lo, nil
	case reachValues:
		lo = t.first(func(x uint32) bool {
			var frame error
			return c.w.compare(x, ch.row) >= 0 || !c.fromTail(ch.row, x, &frame)
		}).at
		return lo, nil
	}
	return 0, nil
}

// forward works out rows lo to hi-1, with stop up to the first one that is as it was, and gives where it ended.
func (w *Window) forward(c *winCall, lo, hi int, stop bool) (int, error) {
	if lo >= hi {
		return lo, nil
	}
	for p := w.cur.tree.at(lo); ; p.next() {
		row := p.leaf.rows[p.i]
		if *w.flags.at(row)&rowFresh == 0 {
			d, err := c.value(p.at, row)
			if err != nil {
				return 0, err
			}
			same, err := w.set(c, row, d)
			if err != nil {
				return 0, err
			}
			if same && stop {
				return p.at + 1, nil
			}
		}
		if p.at%4096 == 4095 {
			if err := w.cancelled(); err != nil {
				return 0, err
			}
		}
		if p.at+1 >= hi {
			return hi, nil
		}
	}
}

// backward is forward the other way: from row hi-1 to lo.
func (w *Window) backward(c *winCall, lo, hi int, stop bool) (int, error) {
	for p := w.cur.tree.at(hi - 1); ; p.prev() {
		row := p.leaf.rows[p.i]
		if *w.flags.at(row)&rowFresh == 0 {
			d, err := c.value(p.at, row)
			if err != nil {
				return 0, err
			}
			same, err := w.set(c, row, d)
			if err != nil {
				return 0, err
			}
			if same && stop {
				return p.at, nil
			}
		}
		if p.at <= lo {
			return lo, nil
		}
	}
}

// tileRows works out the rows near the ends of ntile's buckets: a row's number has changed by at most the number of
// changes, and so has where a bucket begins.
func (w *Window) tileRows(c *winCall) error {
	n, near := w.cur.tree.len(), 2*len(w.changes)
	d, ok := c.constArg(0)
	if !ok || !d.Valid || d.I <= 0 || min(d.I, int64(n)) > int64(n/(2*near+1)) {
		_, err := w.forward(c, 0, n, false)
		return err
	}
	done := 0
	for j := 1; j <= int(d.I); j++ {
		at := tileStart(j, n, int(d.I))
		lo, hi := max(at-near, done), min(at+near+1, n)
		if lo >= hi {
			continue
		}
		var err error
		if done, err = w.forward(c, lo, hi, false); err != nil {
			return err
		}
	}
	return nil
}
