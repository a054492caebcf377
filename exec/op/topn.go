package op

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// TopNConfig configures TopN.
type TopNConfig struct {
	In      []types.Type
	OrderBy []SortKey
	// Limit is the number of rows kept per group after Offset rows are left out; -1: all.
	Limit, Offset int64
	// WithTies also keeps the rows that are equal in OrderBy to the last one.
	WithTies bool
	GroupBy  []int
	// RowKey identifies a row and breaks ties; nil: rows are a multiset.
	RowKey []int
	// AppendOnlyIn promises that the input has no negative diffs: then rows beyond the limit are
	// forgotten.
	AppendOnlyIn bool
	// RisingIn promises that a row, once it is there, is only ever replaced, in one epoch and first
	// taken back, by one with the same RowKey and group that comes no later in OrderBy: then
	// rows beyond the limit are forgotten, too, as one that is to be seen again comes again.
	RisingIn bool
	// RankOutput appends the row's number in its group, from 1, as int8.
	RankOutput bool
	// Dist are the columns by which the input is distributed, a subset of GroupBy.
	Dist []int
}

// TopN keeps, for each group, the rows at places Offset+1 .. Offset+Limit in an order.
//
//	In:      one port, any changelog.
//	Out:     the input columns, and the row number if RankOutput; at each barrier, for the groups
//	         that the epoch touched, first all rows that left (or changed rank) with diff -1, then all that came,
//	         group by group in the order of their first change, in each by rank.
//	State:   all rows (over append-only or rising input those up to the limit), state table "rows", keyed by group
//	         and row identity; if one row of a group is enough, by group.
//	Memory:  the groups changed since the last checkpoint, plus a cache within its budget.
//	Barrier: emits the epoch's changes, hands dirty rows to the state table, forwards it.
//	Errors:  ErrNegativeMultiplicity if a row is retracted that is not there.
type TopN struct {
	base
	cfg   TopNConfig
	order []SortKey // OrderBy and then what makes the order total
	keep  int64     // over append-only or rising input, rows per group that can matter; -1: all
	// single: a group is one row, which is replaced and never goes.
	single bool

	groups   *rowStore
	idx      *keyIndex
	recs     paged[topGroup]
	distKeys []int
	cold     bool
	hand     uint32

	rows    *rowStore
	flags   paged[uint8]
	groupOf paged[uint32]
	ident   []int
	st      exec.StateTable
	dirty   []uint32
	// replaces, if a group is one row: the state table has a row of the group whose last one went.
	replaces bool
	// stuck: an eviction found too little that is clean; only a checkpoint changes that.
	stuck bool
	// graves are rows that left in this epoch: an old window may still name them.
	graves  []uint32
	touched []uint32
	marks   marks
	sweeper sweeper
	cmp     func(a, b topRow) int
	// exact: the first order column is an integer, so that its prefix is all of it.
	exact bool

	keyV   []*vec.Vector
	hashes []uint64
	ents   []uint32
	keyBuf *vec.Chunk
	rowBuf *vec.Chunk
	distV  []*vec.Vector
	identV []*vec.Vector
	keys   stateKeys
	val    []byte
	dels   winList
	ins    winList
	outc   *vec.Chunk
}

// topGroup is a group: its rows in order with their multiplicities, and the window that was emitted
// last if the epoch has touched the group.
type topGroup struct {
	rows    multiset[topRow]
	total   int64 // sum of the multiplicities
	touched bool
	ref     bool
	old     []winItem
}

// topRow is a row with prefixes of its values in the first two order columns: if the first ones
// differ, they decide, and if they are equal and exact, so do the second ones.
type topRow struct {
	pre, pre2 uint64
	row       uint32
}

// rowReplaces is a flag of the row of a group that is one row: the state table may have one under its key already.
const rowReplaces = 4

// winItem is n times a row in a window; rank is the number of the first one.
type winItem struct {
	row  uint32
	n    int64
	rank int64
}

// NewTopN checks the configuration.
func NewTopN(cfg TopNConfig) (*TopN, error) {
	n := len(cfg.In)
	err := errors.Join(checkCols("TopN.GroupBy", cfg.GroupBy, n), checkCols("TopN.RowKey", cfg.RowKey, n),
		checkCols("TopN.OrderBy", sortCols(cfg.OrderBy), n))
	if err != nil {
		return nil, err
	}
	if cfg.Limit < -1 || cfg.Offset < 0 || cfg.WithTies && len(cfg.OrderBy) == 0 {
		return nil, fmt.Errorf("TopN: limit %d, offset %d, %d order columns", cfg.Limit, cfg.Offset, len(cfg.OrderBy))
	}
	t := &TopN{cfg: cfg, keep: -1}
	if t.distKeys, err = distPositions("TopN", cfg.Dist, cfg.GroupBy); err != nil {
		return nil, err
	}
	t.schema = append(t.schema, cfg.In...)
	if cfg.RankOutput {
		t.schema = append(t.schema, types.T(types.Int8))
	}
	if (cfg.AppendOnlyIn || cfg.RisingIn) && cfg.Limit >= 0 {
		t.keep = cfg.Limit + cfg.Offset
		t.single = t.keep == 1 && cfg.AppendOnlyIn && !cfg.WithTies
	}
	t.ident = cfg.RowKey
	if t.ident == nil {
		for i := range n {
			t.ident = append(t.ident, i)
		}
	}
	t.order = append(t.order, cfg.OrderBy...)
	for _, c := range t.ident {
		// Within a group the group's own columns are equal.
		if !slices.ContainsFunc(cfg.OrderBy, func(k SortKey) bool { return k.Col == c }) && !slices.Contains(cfg.GroupBy, c) {
			t.order = append(t.order, SortKey{Col: c})
		}
	}
	t.groups = newRowStore(pickTypes(cfg.In, cfg.GroupBy))
	t.idx = newKeyIndex(t.groups, len(cfg.GroupBy))
	t.rows = newRowStore(cfg.In)
	t.keyBuf = vec.NewChunk(t.groups.types(), 0)
	t.rowBuf = vec.NewChunk(cfg.In, 0)
	t.outc = vec.NewChunk(t.schema, 0)
	t.exact = len(t.order) > 0 && cfg.In[t.order[0].Col].Phys() == types.PhysInt
	t.cmp = func(a, b topRow) int {
		switch {
		case a.pre < b.pre:
			return -1
		case a.pre > b.pre:
			return 1
		case !t.exact || a.pre == 0 || a.pre == math.MaxUint64: // or NULL
		case a.pre2 < b.pre2:
			return -1
		case a.pre2 > b.pre2:
			return 1
		}
		return t.compare(a.row, b.row)
	}
	return t, nil
}

// compare is the total order of rows.
func (t *TopN) compare(a, b uint32) int {
	if c := t.rows.compare(a, b, t.order); c != 0 || t.cfg.RowKey != nil {
		return c
	}
	for k := range t.rows.cols {
		c := &t.rows.cols[k]
		if !inexactType(c.t) || c.isNull(a) || c.isNull(b) {
			continue
		}
		if r := compareTotal(c.t, t.rows.datum(k, a), t.rows.datum(k, b)); r != 0 {
			return r
		}
	}
	return 0
}

// Open opens the state table.
func (t *TopN) Open(ctx *exec.Context, out exec.Output) error {
	if err := t.base.Open(ctx, out); err != nil {
		return err
	}
	t.st = t.state("rows")
	t.cold = t.st != nil && !t.st.Empty()
	return nil
}

// Chunk puts rows into their groups.
func (t *TopN) Chunk(_ int, c *vec.Chunk) error {
	n := c.Len()
	if n == 0 || t.cfg.Limit == 0 {
		return nil
	}
	t.keyV = pick(c, t.cfg.GroupBy, t.keyV)
	t.hashes = vec.HashRows(t.keyV, n, t.hashes)
	if cap(t.ents) < n {
		t.ents = make([]uint32, max(n, 64))
	}
	t.ents = t.ents[:n]
	t.idx.findOrAdd(t.keyV, t.hashes, t.ents)
	if len(t.idx.added) > 0 {
		t.sweeper.made += len(t.idx.added)
		t.recs.ensure(t.groups.n)
		if err := t.load(n); err != nil {
			return err
		}
	}
	for i, e := range t.ents {
		g := t.recs.at(e)
		if t.full(g) && t.beyond(g, c, i) {
			continue
		}
		if !g.touched {
			g.touched, g.ref = true, true
			t.touched = append(t.touched, e)
			g.old = t.window(g, nil)
		}
		if err := t.change(g, e, c, i); err != nil {
			return err
		}
	}
	return t.account()
}

func (t *TopN) topRow(c *vec.Chunk, i int, r uint32) topRow {
	top := topRow{row: r}
	if len(t.order) > 0 {
		top.pre = orderPrefix(c, i, t.order[0])
	}
	if len(t.order) > 1 {
		top.pre2 = orderPrefix(c, i, t.order[1])
	}
	return top
}

// orderPrefix gives 64 bits of an order column, in its direction: rows whose values differ have
// different prefixes in the same order, or equal ones.
func orderPrefix(c *vec.Chunk, i int, k SortKey) uint64 {
	v := c.Cols[k.Col]
	if v.Nulls.Get(i) {
		if k.NullsFirst {
			return 0
		}
		return math.MaxUint64
	}
	var x uint64
	switch v.Type.Phys() {
	case types.PhysInt:
		x = uint64(v.Int[i]) ^ 1<<63
	case types.PhysBool:
		if x = 1; v.Bool[i] {
			x = 2
		}
	case types.PhysFloat:
		f := v.Float[i]
		switch {
		case f != f:
			x = math.MaxUint64
		case f == 0:
			x = 1 << 63
		default:
			if x = math.Float64bits(f); x>>63 != 0 {
				x = ^x
			} else {
				x |= 1 << 63
			}
		}
	case types.PhysStr:
		if inexactType(v.Type) {
			return 1
		}
		var b [8]byte
		copy(b[:], v.Str[i])
		x = binary.BigEndian.Uint64(b[:])
	default:
		return 1
	}
	if k.Desc {
		return ^x
	}
	return x
}

// full tells whether a further row at the end of g would be forgotten.
func (t *TopN) full(g *topGroup) bool { return t.keep >= 0 && g.total >= t.keep && g.rows.n > 0 }

// beyond tells whether row i of c comes after all rows of g, which is full, and ties with none in the
// window.
func (t *TopN) beyond(g *topGroup, c *vec.Chunk, i int) bool {
	b := g.rows.blocks[len(g.rows.blocks)-1]
	if len(t.order) > 0 {
		// If the first values differ, their prefixes decide, and need no look at the row.
		if pre, end := orderPrefix(c, i, t.order[0]), b[len(b)-1].v.pre; pre != end {
			return pre > end
		}
	}
	last := b[len(b)-1].v.row
	r := t.rows.compareRow(last, c, i, t.cfg.OrderBy)
	if r == 0 && !t.cfg.WithTies {
		r = t.rows.compareRow(last, c, i, t.order[len(t.cfg.OrderBy):])
	}
	return r < 0
}

// change applies row i of c to group g.
func (t *TopN) change(g *topGroup, e uint32, c *vec.Chunk, i int) error {
	r := t.rows.alloc()
	t.flags.ensure(t.rows.n)
	t.groupOf.ensure(t.rows.n)
	for k, v := range c.Cols {
		t.rows.put(k, r, v, i)
	}
	*t.flags.at(r) = 0
	*t.groupOf.at(r) = e
	d := c.Diff(i)
	top := t.topRow(c, i, r)
	k, at, ok := g.rows.find(top, t.cmp)
	if !ok {
		if d < 0 && t.cfg.RisingIn && t.keep >= 0 {
			t.rows.release(r) // forgotten
			return nil
		}
		if d < 0 {
			return fmt.Errorf("top-n: row (%s): %w", vec.FormatRow(c, i), ErrNegativeMultiplicity)
		}
		g.rows.add(top, d, t.cmp)
		g.total += d
		t.markDirty(r)
		t.replaces = false
		t.trim(g)
		if t.replaces {
			*t.flags.at(r) |= rowReplaces
		}
		return nil
	}
	t.rows.release(r)
	it := &g.rows.blocks[k][at]
	if d > 0 && t.cfg.RowKey != nil {
		t.replace(g, it, c, i)
	}
	if it.n+d < 0 {
		return fmt.Errorf("top-n: row (%s): %w", vec.FormatRow(c, i), ErrNegativeMultiplicity)
	}
	g.total += d
	if it.n+d > 0 {
		it.n += d
		t.markDirty(it.v.row)
		t.trim(g)
		return nil
	}
	t.bury(g, it.v, it.n)
	return nil
}

// replace gives an item the columns of row i of c: the new row of a key has come before its old one goes. The
// item then counts twice until it does.
func (t *TopN) replace(g *topGroup, it *msItem[topRow], c *vec.Chunk, i int) {
	old := it.v.row
	r := t.rows.alloc()
	t.flags.ensure(t.rows.n)
	t.groupOf.ensure(t.rows.n)
	for k, v := range c.Cols {
		t.rows.put(k, r, v, i)
	}
	*t.flags.at(r) = *t.flags.at(old) & (rowStored | rowReplaces)
	*t.groupOf.at(r) = *t.groupOf.at(old)
	*t.flags.at(old) = 0
	it.v.row = r
	t.graves = append(t.graves, old)
}

// bury takes n times row out of g, which is all there is of it.
func (t *TopN) bury(g *topGroup, top topRow, n int64) {
	g.rows.add(top, -n, t.cmp)
	row := top.row
	f := t.flags.at(row)
	t.replaces = t.replaces || t.single && *f&(rowStored|rowReplaces) != 0
	if *f&rowStored != 0 && !t.single {
		// At once: the group may be evicted and read again before the next checkpoint.
		t.eachKey([]uint32{row}, func(_ int, key []byte) { t.st.Delete(key) })
	}
	*f = 0
	t.graves = append(t.graves, row)
}

// trim forgets rows of a group over append-only input that can never be in the window.
func (t *TopN) trim(g *topGroup) {
	if t.keep < 0 {
		return
	}
	for g.total > t.keep {
		b := g.rows.blocks[len(g.rows.blocks)-1]
		last := &b[len(b)-1]
		over := g.total - t.keep
		if t.cfg.WithTies {
			if t.tiesAtLimit(g, last.v.row) {
				return
			}
			over = last.n
		}
		if last.n > over {
			last.n -= over
			g.total -= over
			t.markDirty(last.v.row)
			return
		}
		g.total -= last.n
		t.bury(g, last.v, last.n)
	}
}

// tiesAtLimit tells whether row, the last one of g, equals the row at place keep in OrderBy.
func (t *TopN) tiesAtLimit(g *topGroup, row uint32) bool {
	left := g.total
	for k := len(g.rows.blocks) - 1; k >= 0; k-- {
		b := g.rows.blocks[k]
		for i := len(b) - 1; i >= 0; i-- {
			if t.rows.compare(b[i].v.row, row, t.cfg.OrderBy) != 0 {
				return false
			}
			if left -= b[i].n; left < t.keep {
				return true
			}
		}
	}
	return true
}

func (t *TopN) markDirty(r uint32) {
	if t.st == nil {
		return
	}
	if f := t.flags.at(r); *f&rowDirty == 0 {
		*f |= rowDirty
		t.dirty = append(t.dirty, r)
	}
}

// window appends the rows of g that are shown.
func (t *TopN) window(g *topGroup, dst []winItem) []winItem {
	lo := t.cfg.Offset
	hi := int64(-1)
	if t.cfg.Limit >= 0 {
		hi = lo + t.cfg.Limit
	}
	pos := int64(0)
	last := none
	for _, b := range g.rows.blocks {
		for _, it := range b {
			from, to := max(pos, lo), pos+it.n
			if hi >= 0 && to > hi {
				if t.cfg.WithTies && pos >= hi {
					if last == none || t.rows.compare(it.v.row, last, t.cfg.OrderBy) != 0 {
						return dst
					}
				} else if !t.cfg.WithTies {
					to = hi
				}
			}
			if from < to {
				dst = append(dst, winItem{it.v.row, to - from, from + 1})
				last = it.v.row
			}
			pos += it.n
			if hi >= 0 && pos >= hi && !t.cfg.WithTies {
				return dst
			}
		}
	}
	return dst
}

// winList collects rows to be emitted.
type winList struct {
	rows  []uint32
	ranks []int64
}

func (w *winList) add(it winItem, lo, hi int64, perRank bool) {
	for k := lo; k < hi; k++ {
		w.rows = append(w.rows, it.row)
		if perRank {
			w.ranks = append(w.ranks, it.rank+k)
		}
	}
}

// Barrier emits how the windows have changed and hands over dirty rows.
func (t *TopN) Barrier(bar exec.Barrier) error {
	t.dels.rows, t.dels.ranks = t.dels.rows[:0], t.dels.ranks[:0]
	t.ins.rows, t.ins.ranks = t.ins.rows[:0], t.ins.ranks[:0]
	var now []winItem
	for _, e := range t.touched {
		g := t.recs.at(e)
		now = t.window(g, now[:0])
		t.diff(g.old, now)
		g.touched, g.old = false, nil
	}
	if err := t.send(&t.dels, -1); err != nil {
		return err
	}
	if err := t.send(&t.ins, 1); err != nil {
		return err
	}
	for _, r := range t.graves {
		t.rows.release(r)
	}
	t.graves = t.graves[:0]
	if bar.Checkpoint && t.st != nil {
		t.checkpoint()
		t.stuck = false
	}
	var gone []uint32
	for _, e := range t.touched {
		if t.recs.at(e).rows.n == 0 {
			gone = append(gone, e)
		}
	}
	t.touched = t.touched[:0]
	t.dropGroups(gone)
	if bar.Checkpoint {
		t.restart()
	}
	for i, c := range t.cfg.GroupBy {
		if w, ok := t.marks.get(c); ok {
			if err := t.sweep(bar, i, w); err != nil {
				return err
			}
			if err := t.out.Watermark(exec.Watermark{Col: c, Value: w}); err != nil {
				return err
			}
		}
	}
	if err := t.account(); err != nil {
		return err
	}
	return t.out.Barrier(bar)
}

// Watermark keeps the watermark until the barrier.
func (t *TopN) Watermark(_ int, w exec.Watermark) error {
	t.marks.set(w)
	return nil
}

// sweep forgets the groups whose column number k is below w, when it is time.
func (t *TopN) sweep(bar exec.Barrier, k int, w int64) error {
	if !t.sweeper.due(bar, t.st) {
		return nil
	}
	if _, err := deleteBelow(t.st, t.groups.types(), k, w); err != nil {
		return err
	}
	var gone []uint32
	col := &t.groups.cols[k]
	for e := range t.groups.n {
		if !t.groups.live.get(e) || col.isNull(e) || *col.words.at(e) >= w {
			continue
		}
		t.recs.at(e).rows.each(func(r topRow, _ int64) {
			*t.flags.at(r.row) = 0
			t.rows.release(r.row)
		})
		gone = append(gone, e)
	}
	t.dropGroups(gone)
	t.sweeper.done(t.groups.count())
	return nil
}

// diff merges two windows, both in order, into deletions and insertions.
func (t *TopN) diff(old, now []winItem) {
	perRank := t.cfg.RankOutput
	i, k := 0, 0
	for i < len(old) || k < len(now) {
		c := 0
		switch {
		case i == len(old):
			c = 1
		case k == len(now):
			c = -1
		default:
			c = t.compare(old[i].row, now[k].row)
		}
		switch {
		case c < 0:
			t.dels.add(old[i], 0, old[i].n, perRank)
			i++
		case c > 0:
			t.ins.add(now[k], 0, now[k].n, perRank)
			k++
		default:
			o, n := old[i], now[k]
			same := o.row == n.row || t.rows.sameRow(o.row, n.row)
			switch {
			case !same || perRank && (o.rank != n.rank):
				t.dels.add(o, 0, o.n, perRank)
				t.ins.add(n, 0, n.n, perRank)
			case o.n > n.n:
				t.dels.add(o, n.n, o.n, perRank)
			default:
				t.ins.add(n, o.n, n.n, perRank)
			}
			i++
			k++
		}
	}
}

func (t *TopN) send(w *winList, d int64) error {
	for lo := 0; lo < len(w.rows); lo += t.max {
		hi := min(lo+t.max, len(w.rows))
		t.outc.Reset()
		for k := range t.rows.cols {
			t.rows.gather(k, w.rows[lo:hi], t.outc.Cols[k])
		}
		if t.cfg.RankOutput {
			v := t.outc.Cols[len(t.outc.Cols)-1]
			v.Int = append(v.Int, w.ranks[lo:hi]...)
		}
		for range hi - lo {
			t.outc.PushDiff(d)
		}
		if err := t.out.Chunk(t.outc); err != nil {
			return err
		}
	}
	return nil
}
