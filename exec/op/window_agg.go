package op

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// Aggregates over frames. Entry 0 of the table of aggregates is where a frame is put together; the others belong
// to the nodes of trees. How the aggregate of a frame comes about:
//
//  1. The frame of the row that was looked at before is near as a rule: rows that have come are added, rows that
//     have gone are taken back, as a HashAgg does it.
//  2. Else, if two states can be merged, those of the tree's nodes within the frame are, and the rows at its ends are
//     added.
//  3. Else all rows of the frame are added.

// winAgg is an aggregate call over frames.
type winAgg struct {
	w      *Window
	agg    aggregator  // nil for min and max
	merge  stateMerger // nil: not mergeable
	off    int         // of the words
	words  int
	args   []int
	filter int
	// ordinal: the number of the row is a further argument, by which the aggregate orders its inputs.
	ordinal bool
	// extreme is 1 for max, -1 for min, whose state is the row that has it; col is the argument.
	extreme int
	col     int
	// composable: the result over more rows follows from the result over fewer and the other rows.
	composable bool

	// The ranges whose aggregate entry 0 holds.
	valid  bool
	ranges [3][2]int
	result types.Datum
	// failure is why result is NULL, if it failed.
	failure error

	batch aggBatch
	diffs []int64
	sel   []uint32
	ords  *vec.Vector
	cond  *vec.Vector
	res   *vec.Vector
}

// newWinAgg makes the aggregate of call number no, whose words begin at off.
func newWinAgg(w *Window, no int, c WindowCall, off int) (*winAgg, error) {
	in := w.cfg.In
	a := &winAgg{w: w, args: c.Args, filter: c.Filter, off: off, res: vec.NewVector(c.Type, 1)}
	if c.Filter >= 0 {
		a.cond = vec.NewVector(in[c.Filter], 0)
	}
	switch name := c.Fn.Name; name {
	case "min", "max":
		a.extreme, a.col, a.words, a.composable = -1, c.Args[0], 1, true
		if name == "max" {
			a.extreme = 1
		}
		return a, nil
	case "count", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor":
		a.composable = true
	case "sum":
		a.composable = in[c.Args[0]].Phys() == types.PhysInt || in[c.Args[0]].Phys() == types.PhysDec
	}
	// A count is kept in words of its own: there is no count of the group.
	g := Agg{Fn: c.Fn, Args: c.Args, Filter: 0, Type: c.Type}
	ts := pickTypes(in, c.Args)
	if isOrdered(c.Fn.Name) {
		a.ordinal = true
		g.OrderBy = []SortKey{{Col: len(in)}}
		ts = append(ts, types.T(types.Int8))
		a.ords = vec.NewVector(types.T(types.Int8), 0)
	}
	var err error
	if a.agg, a.words, err = newAggregator(g, no, ts, false, off); err != nil {
		return nil, err
	}
	a.merge, _ = a.agg.(stateMerger)
	for _, t := range pickTypes(in, c.Args) {
		a.batch.argBuf = append(a.batch.argBuf, vec.NewVector(t, 0))
	}
	return a, nil
}

// mergeable tells whether nodes keep a's state.
func (a *winAgg) mergeable() bool { return a.merge != nil || a.extreme != 0 }

// clear empties the state of e.
func (a *winAgg) clear(e uint32) {
	clear(a.w.sums.rec(e)[a.off : a.off+a.words])
	if a.agg != nil {
		a.agg.reset(e)
	}
}

// add adds rows, d times each; the first one is row number at.
func (a *winAgg) add(e uint32, rows []uint32, at int, d int64) error {
	store := a.w.rows
	if a.ordinal {
		a.ords.Reset()
	}
	if a.filter >= 0 {
		a.cond.Reset()
		store.gather(a.filter, rows, a.cond)
		a.sel = a.sel[:0]
		for i, r := range rows {
			if a.cond.Bool[i] && !a.cond.Nulls.Get(i) {
				a.sel = append(a.sel, r)
				if a.ordinal {
					a.ords.AppendInt(int64(at + i))
				}
			}
		}
		rows = a.sel
	} else if a.ordinal {
		for i := range rows {
			a.ords.AppendInt(int64(at + i))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if a.extreme != 0 {
		for _, r := range rows {
			a.consider(e, r)
		}
		return nil
	}
	b := &a.batch
	b.n = len(rows)
	b.own, a.diffs = b.own[:0], a.diffs[:0]
	for range rows {
		b.own = append(b.own, e)
		a.diffs = append(a.diffs, d)
	}
	b.ents, b.diffs = b.own, a.diffs
	b.args = b.args[:0]
	for i, v := range b.argBuf {
		v.Reset()
		store.gather(a.args[i], rows, v)
		b.args = append(b.args, v)
	}
	if a.ordinal {
		b.args = append(b.args, a.ords)
	}
	return a.agg.add(b)
}

// consider makes row r the extreme of e if it is.
func (a *winAgg) consider(e, r uint32) {
	s := a.w.rows
	c := &s.cols[a.col]
	if c.isNull(r) {
		return
	}
	best := &a.w.sums.rec(e)[a.off]
	if *best == 0 {
		*best = int64(r) + 1
		return
	}
	o := uint32(*best - 1)
	var k int
	if c.phys == types.PhysInt {
		x, y := *c.words.at(r), *c.words.at(o)
		switch {
		case x < y:
			k = -1
		case x > y:
			k = 1
		}
	} else {
		k = compareTotal(c.t, s.datum(a.col, r), s.datum(a.col, o))
	}
	if k*a.extreme > 0 {
		*best = int64(r) + 1
	}
}

// mergeFrom adds the state of src.
func (a *winAgg) mergeFrom(dst, src uint32) {
	if a.extreme == 0 {
		a.merge.merge(dst, src)
		return
	}
	if x := a.w.sums.rec(src)[a.off]; x != 0 {
		a.consider(dst, uint32(x-1))
	}
}

// fill adds the rows lo to hi-1 below n, the first of which is number at, to entry 0.
func (a *winAgg) fill(n *treeNode, lo, hi, at int) error {
	switch {
	case lo >= hi:
		return nil
	case lo <= 0 && hi >= n.n && a.mergeable():
		if err := a.w.sum(n, at); err != nil {
			return err
		}
		a.mergeFrom(0, n.sum)
		return nil
	case n.kids == nil:
		lo = max(lo, 0)
		return a.add(0, n.rows[lo:min(hi, len(n.rows))], at+lo, 1)
	}
	for _, k := range n.kids {
		if hi <= 0 {
			return nil
		}
		if lo < k.n {
			if err := a.fill(k, lo, hi, at); err != nil {
				return err
			}
		}
		lo -= k.n
		hi -= k.n
		at += k.n
	}
	return nil
}

// sum makes the aggregates of n right, for all calls.
func (w *Window) sum(n *treeNode, at int) error {
	if n.sum != none && !n.stale {
		return nil
	}
	if n.sum == none {
		n.sum = w.newSum()
	}
	for _, a := range w.aggs {
		if a.mergeable() {
			a.clear(n.sum)
		}
	}
	for _, k := range n.kids {
		if err := w.sum(k, at); err != nil {
			return err
		}
		for _, a := range w.aggs {
			if a.mergeable() {
				a.mergeFrom(n.sum, k.sum)
			}
		}
		at += k.n
	}
	if n.kids == nil {
		for _, a := range w.aggs {
			if a.mergeable() {
				if err := a.add(n.sum, n.rows, at, 1); err != nil {
					return err
				}
			}
		}
	}
	n.stale = false
	return nil
}

// slideRows is how many rows are added and taken back rather than that the tree is asked.
const slideRows = 24

// value gives the aggregate over ranges of rows of t; they do not overlap, and an unused one is empty.
func (a *winAgg) value(t *orderTree, ranges [3][2]int) (types.Datum, error) {
	if a.valid && a.ranges == ranges {
		a.w.failure = a.failure
		return a.result, nil
	}
	a.failure = nil
	slid, err := a.slide(t, ranges)
	if err != nil {
		return types.Null, err
	}
	if !slid {
		a.clear(0)
		for _, r := range ranges {
			if err := a.over(t, r[0], r[1]); err != nil {
				return types.Null, err
			}
		}
	}
	a.valid, a.ranges = true, ranges
	if a.extreme != 0 {
		a.result = types.Null
		if x := a.w.sums.rec(0)[a.off]; x != 0 {
			a.result = a.w.rows.datum(a.col, uint32(x-1))
		}
		return a.result, nil
	}
	a.res.Reset()
	if err := a.agg.results(entryZero, a.res); err != nil {
		return types.Null, err
	}
	a.result, a.failure = a.res.Datum(0), a.w.failure
	return a.result, nil
}

var entryZero = []uint32{0}

// over adds a range to entry 0.
func (a *winAgg) over(t *orderTree, lo, hi int) error {
	if lo >= hi {
		return nil
	}
	if a.mergeable() {
		return a.fill(t.root, lo, hi, 0)
	}
	return a.addRange(t, lo, hi, 1)
}

func (a *winAgg) addRange(t *orderTree, lo, hi int, d int64) error {
	var err error
	t.each(lo, hi, func(rows []uint32, at int) {
		if err == nil {
			err = a.add(0, rows, at, d)
		}
	})
	return err
}

// slide changes the aggregate in entry 0 to the one over ranges, if that is little work.
func (a *winAgg) slide(t *orderTree, ranges [3][2]int) (bool, error) {
	if !a.valid {
		return false, nil
	}
	work, backwards := 0, false
	size := 0
	for i, r := range ranges {
		o := a.ranges[i]
		size += max(r[1]-r[0], 0)
		if r == o {
			continue
		}
		if r[0] >= r[1] || o[0] >= o[1] || r[0] > o[1] || o[0] > r[1] {
			work += max(r[1]-r[0], 0) + max(o[1]-o[0], 0)
			backwards = backwards || o[0] < o[1]
			continue
		}
		work += abs(r[0]-o[0]) + abs(r[1]-o[1])
		backwards = backwards || r[0] > o[0] || r[1] < o[1]
	}
	if a.extreme != 0 && backwards {
		return false, nil
	}
	if a.mergeable() && work > slideRows || work >= size {
		return false, nil
	}
	for i, r := range ranges {
		o := a.ranges[i]
		if r == o {
			continue
		}
		if r[0] >= r[1] || o[0] >= o[1] || r[0] > o[1] || o[0] > r[1] {
			if err := a.addRange(t, o[0], o[1], -1); err != nil {
				return false, err
			}
			if err := a.addRange(t, r[0], r[1], 1); err != nil {
				return false, err
			}
			continue
		}
		for _, m := range [...]struct {
			lo, hi int
			d      int64
		}{{r[0], o[0], 1}, {o[1], r[1], 1}, {o[0], r[0], -1}, {r[1], o[1], -1}} {
			if err := a.addRange(t, m.lo, m.hi, m.d); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
