package op

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// SessionConfig configures Session. Gap is microseconds.
type SessionConfig struct {
	In      []types.Type
	TimeCol int
	// Intervals: a row is not a moment but reaches from TimeCol to LastCol, which is less than Gap behind; those of a partition that are
	// there at the end of an epoch do not overlap. There are no watermarks then.
	Intervals bool
	LastCol   int
	Gap       int64
	Partition []int
	// RowKey identifies a row; nil: rows are a multiset.
	RowKey []int
	// Dist are the columns by which the input is distributed, a subset of Partition.
	Dist []int
}

// Session assigns rows to sessions: rows with equal Partition columns are in one session if, in the order of time, each
// begins less than Gap behind the end of the one before. A session begins with its first row and ends Gap behind its last one.
//
//	In:      one port, any changelog.
//	Out:     the input columns, window_start, window_end; none for a row whose time is NULL or infinite. At each
//	         barrier, first the rows that left or whose session has changed with diff -1, then those that came, partition
//	         by partition in the order of their first change. No diff is beyond +1 and -1: equal rows come one by one.
//	State:   all rows, state table "rows", keyed by partition, time and row identity.
//	Memory:  the partitions changed since the last checkpoint, plus a cache within its budget.
//	Barrier: emits the epoch's changes, hands dirty rows to the state table, forwards it. With a watermark on the time
//	         rows of sessions that have ended are forgotten, and the watermark of window_end follows.
//	Errors:  ErrNegativeMultiplicity if a row is retracted that is not there.
type Session struct {
	base
	cfg   SessionConfig
	order []SortKey // all columns, the time first

	groups   *rowStore
	idx      *keyIndex
	recs     paged[sessionPart]
	distKeys []int
	cold     bool
	hand     uint32

	rows  *rowStore
	flags paged[uint8]
	info  paged[sessionRow]
	ident []int
	st    exec.StateTable
	dirty []uint32
	// stuck: an eviction found too little that is clean; only a checkpoint changes that.
	stuck   bool
	touched []uint32
	graves  []uint32
	marks   marks
	sweeper sweeper
	cmp     func(a, b sessionItem) int

	region []uint32
	dels   sessionList
	ins    sessionList
	copies []uint32

	keyV   []*vec.Vector
	hashes []uint64
	ents   []uint32
	keyBuf *vec.Chunk
	rowBuf *vec.Chunk
	distV  []*vec.Vector
	identV []*vec.Vector
	keys   stateKeys
	val    []byte
	outc   *vec.Chunk
}

// sessionPart is a partition: its rows in the order of time. A row that has left stays until the barrier.
type sessionPart struct {
	rows    multiset[sessionItem]
	touched bool
	ref     bool
	changed []uint32
}

type sessionItem struct {
	time int64
	row  uint32
}

// sessionRow is what is known of a row besides its columns.
type sessionRow struct {
	// n is how often it is there, and shown how often it was emitted with the session from start to end.
	n, shown   int64
	start, end int64
	changed    bool
}

// sessionList collects rows to be emitted, each n times.
type sessionList struct {
	rows       []uint32
	start, end []int64
	n          []int64
}

func (l *sessionList) add(row uint32, start, end, n int64) {
	l.rows, l.start, l.end, l.n = append(l.rows, row), append(l.start, start), append(l.end, end), append(l.n, n)
}

func (l *sessionList) reset() {
	l.rows, l.start, l.end, l.n = l.rows[:0], l.start[:0], l.end[:0], l.n[:0]
}

// NewSession checks the configuration.
func NewSession(cfg SessionConfig) (*Session, error) {
	n := len(cfg.In)
	err := errors.Join(checkCols("Session.TimeCol", []int{cfg.TimeCol}, n), checkCols("Session.Partition", cfg.Partition, n),
		checkCols("Session.RowKey", cfg.RowKey, n), checkCols("Session.LastCol", []int{cfg.LastCol}, n))
	if err != nil {
		return nil, err
	}
	if !cfg.Intervals {
		cfg.LastCol = cfg.TimeCol
	}
	t := cfg.In[cfg.TimeCol]
	if t.Kind != types.Timestamp && t.Kind != types.Timestamptz || cfg.In[cfg.LastCol].Kind != t.Kind || cfg.Gap <= 0 {
		return nil, fmt.Errorf("Session: gap %d over a time column of kind %v", cfg.Gap, t.Kind)
	}
	s := &Session{cfg: cfg}
	if s.distKeys, err = distPositions("Session", cfg.Dist, cfg.Partition); err != nil {
		return nil, err
	}
	s.schema = append(append(s.schema, cfg.In...), t, t)
	s.order = []SortKey{{Col: cfg.TimeCol}}
	for i := range n {
		if i != cfg.TimeCol {
			s.order = append(s.order, SortKey{Col: i})
		}
	}
	// The time leads: the state is in its order.
	s.ident = []int{cfg.TimeCol}
	if cfg.RowKey != nil {
		s.ident = append(s.ident, slices.DeleteFunc(slices.Clone(cfg.RowKey), func(c int) bool { return c == cfg.TimeCol })...)
	} else {
		s.ident = sortCols(s.order)
	}
	s.groups = newRowStore(pickTypes(cfg.In, cfg.Partition))
	s.idx = newKeyIndex(s.groups, len(cfg.Partition))
	s.rows = newRowStore(cfg.In)
	s.keyBuf = vec.NewChunk(s.groups.types(), 0)
	s.rowBuf = vec.NewChunk(cfg.In, 0)
	s.outc = vec.NewChunk(s.schema, 0)
	s.cmp = func(a, b sessionItem) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		case a.row == b.row:
			return 0
		}
		return compareRows(s.rows, a.row, b.row, s.order[1:])
	}
	return s, nil
}

// Open opens the state table.
func (s *Session) Open(ctx *exec.Context, out exec.Output) error {
	if err := s.base.Open(ctx, out); err != nil {
		return err
	}
	s.st = s.state("rows")
	s.cold = s.st != nil && !s.st.Empty()
	return nil
}

// Chunk puts rows into their partitions.
func (s *Session) Chunk(_ int, c *vec.Chunk) error {
	n := c.Len()
	if n == 0 {
		return nil
	}
	s.keyV = pick(c, s.cfg.Partition, s.keyV)
	s.hashes = vec.HashRows(s.keyV, n, s.hashes)
	if cap(s.ents) < n {
		s.ents = make([]uint32, max(n, 64))
	}
	s.ents = s.ents[:n]
	s.idx.findOrAdd(s.keyV, s.hashes, s.ents)
	if len(s.idx.added) > 0 {
		s.recs.ensure(s.groups.n)
		if err := s.load(n); err != nil {
			return err
		}
	}
	times := c.Cols[s.cfg.TimeCol]
	for i, e := range s.ents {
		g := s.recs.at(e)
		if !g.touched {
			g.touched, g.ref = true, true
			s.touched = append(s.touched, e)
		}
		if t := times.Int[i]; !times.Nulls.Get(i) && t != math.MaxInt64 && t != math.MinInt64 {
			s.change(g, t, c, i)
		}
	}
	return s.account()
}

// newRow stores row i of c.
func (s *Session) newRow(c *vec.Chunk, i int) uint32 {
	r := s.rows.alloc()
	s.flags.ensure(s.rows.n)
	s.info.ensure(s.rows.n)
	for k, v := range c.Cols {
		s.rows.put(k, r, v, i)
	}
	*s.flags.at(r) = 0
	*s.info.at(r) = sessionRow{}
	return r
}

// change applies row i of c.
func (s *Session) change(g *sessionPart, time int64, c *vec.Chunk, i int) {
	it := sessionItem{time, s.newRow(c, i)}
	if k, at, ok := g.rows.find(it, s.cmp); ok {
		s.rows.release(it.row)
		it = g.rows.blocks[k][at].v
	} else {
		g.rows.add(it, 1, s.cmp)
		s.sweeper.made++
	}
	x := s.info.at(it.row)
	x.n += c.Diff(i)
	if !x.changed {
		x.changed = true
		g.changed = append(g.changed, it.row)
	}
	if f := s.flags.at(it.row); s.st != nil && *f&rowDirty == 0 {
		*f |= rowDirty
		s.dirty = append(s.dirty, it.row)
	}
}

// Barrier emits how the sessions have changed and hands over dirty rows.
func (s *Session) Barrier(bar exec.Barrier) error {
	s.dels.reset()
	s.ins.reset()
	for _, e := range s.touched {
		g := s.recs.at(e)
		if err := s.settle(g); err != nil {
			return err
		}
	}
	if err := s.send(&s.dels, -1); err != nil {
		return err
	}
	if err := s.send(&s.ins, 1); err != nil {
		return err
	}
	for _, r := range s.graves {
		s.rows.release(r)
	}
	s.graves = s.graves[:0]
	if bar.Checkpoint && s.st != nil {
		s.checkpoint()
		s.stuck = false
	}
	if err := s.closeSessions(bar); err != nil {
		return err
	}
	for _, e := range s.touched {
		s.recs.at(e).touched = false
	}
	gone := slices.DeleteFunc(s.touched, func(e uint32) bool { return s.recs.at(e).rows.n > 0 })
	s.touched = s.touched[:0]
	s.dropGroups(gone)
	if bar.Checkpoint {
		s.restart()
	}
	if err := s.account(); err != nil {
		return err
	}
	if w, ok := s.marks.get(s.cfg.TimeCol); ok {
		// A row at w can still be in a session that ends after w, and changes no other.
		if err := s.out.Watermark(exec.Watermark{Col: len(s.cfg.In) + 1, Value: w + 1}); err != nil {
			return err
		}
	}
	return s.out.Barrier(bar)
}

// Watermark keeps the watermark until the barrier.
func (s *Session) Watermark(_ int, w exec.Watermark) error {
	if !s.cfg.Intervals {
		s.marks.set(w)
	}
	return nil
}

// sessionPos is a place in a partition.
type sessionPos struct{ block, at int }

func (g *sessionPart) item(p sessionPos) sessionItem { return g.rows.blocks[p.block][p.at].v }

func (g *sessionPart) prev(p sessionPos) (sessionPos, bool) {
	if p.at > 0 {
		return sessionPos{p.block, p.at - 1}, true
	}
	if p.block == 0 {
		return p, false
	}
	return sessionPos{p.block - 1, len(g.rows.blocks[p.block-1]) - 1}, true
}

func (g *sessionPart) next(p sessionPos) (sessionPos, bool) {
	if p.at+1 < len(g.rows.blocks[p.block]) {
		return sessionPos{p.block, p.at + 1}, true
	}
	return sessionPos{p.block + 1, 0}, p.block+1 < len(g.rows.blocks)
}

func (s *Session) place(g *sessionPart, row uint32) sessionPos {
	k, at, _ := g.rows.find(s.itemOf(row), s.cmp)
	return sessionPos{k, at}
}

// last is where a row ends.
func (s *Session) last(row uint32) int64 { return *s.rows.cols[s.cfg.LastCol].words.at(row) }

func (s *Session) itemOf(row uint32) sessionItem {
	return sessionItem{*s.rows.cols[s.cfg.TimeCol].words.at(row), row}
}

// stays tells whether a row was there before the epoch and still is.
func (x *sessionRow) stays() bool { return x.n > 0 && x.shown > 0 }

// near looks from p on in one direction for a row that stays.
func (s *Session) near(g *sessionPart, p sessionPos, step func(sessionPos) (sessionPos, bool)) (sessionItem, bool) {
	for q, ok := step(p); ok; q, ok = step(q) {
		if it := g.item(q); s.info.at(it.row).stays() {
			return it, true
		}
	}
	return sessionItem{}, false
}

// settle finds out what the epoch has changed in a partition.
//
// A row between two others that stay, and are less than a gap apart, joins their session or leaves it, and changes it in
// no other way. Around every other row that has come or gone, all rows that were or now are in one session with it
// are looked at.
func (s *Session) settle(g *sessionPart) error {
	for _, r := range g.changed {
		if s.info.at(r).n < 0 {
			s.rowBuf.Reset()
			for k, v := range s.rowBuf.Cols {
				s.rows.gather(k, []uint32{r}, v)
			}
			s.rowBuf.SetLen(1)
			return fmt.Errorf("session: row (%s): %w", vec.FormatRow(s.rowBuf, 0), ErrNegativeMultiplicity)
		}
	}
	slices.SortFunc(g.changed, func(a, b uint32) int { return s.cmp(s.itemOf(a), s.itemOf(b)) })
	for _, r := range g.changed {
		x := s.info.at(r)
		if !x.changed || (x.n > 0) == (x.shown > 0) {
			continue
		}
		p := s.place(g, r)
		left, okL := s.near(g, p, g.prev)
		right, okR := s.near(g, p, g.next)
		if !okL || !okR || right.time-s.last(left.row) >= s.cfg.Gap {
			s.around(g, p)
		}
	}
	for _, r := range g.changed {
		x := s.info.at(r)
		if !x.changed {
			continue
		}
		x.changed = false
		if x.n > 0 && x.shown == 0 {
			left, _ := s.near(g, s.place(g, r), g.prev)
			l := s.info.at(left.row)
			x.start, x.end = l.start, l.end
		}
		s.show(r, x, x.start, x.end)
	}
	for _, r := range g.changed {
		if s.info.at(r).n == 0 {
			s.bury(g, r)
		}
	}
	g.changed = g.changed[:0]
	return nil
}

// show notes how the row r has changed, whose session is now from start to end.
func (s *Session) show(r uint32, x *sessionRow, start, end int64) {
	if x.start != start || x.end != end {
		if x.shown > 0 {
			s.dels.add(r, x.start, x.end, x.shown)
		}
		x.shown, x.start, x.end = 0, start, end
	}
	switch {
	case x.n < x.shown:
		s.dels.add(r, start, end, x.shown-x.n)
	case x.n > x.shown:
		s.ins.add(r, start, end, x.n-x.shown)
	}
	x.shown = x.n
}

// around works out the sessions of all rows that were or are connected with the one at p.
func (s *Session) around(g *sessionPart, p sessionPos) {
	begin := g.item(p).time
	first := p
	reach := s.cfg.Gap
	if s.cfg.Intervals {
		// A row that begins earlier than another one may end later, if it has been replaced by that.
		reach *= 2
	}
	for q, ok := g.prev(p); ok && begin-g.item(q).time < reach; q, ok = g.prev(q) {
		row := g.item(q).row
		if x := s.info.at(row); (x.n > 0 || x.shown > 0) && begin-s.last(row) < s.cfg.Gap {
			first, begin = q, g.item(q).time
		}
	}
	s.region = s.region[:0]
	last := s.last(g.item(first).row)
	for q, ok := first, true; ok && g.item(q).time-last < s.cfg.Gap; q, ok = g.next(q) {
		it := g.item(q)
		if x := s.info.at(it.row); x.n > 0 || x.shown > 0 {
			s.region = append(s.region, it.row)
			last = max(last, s.last(it.row))
		}
	}
	s.assign(s.region, func(r uint32, x *sessionRow, start, end int64) {
		x.changed = false
		s.show(r, x, start, end)
	})
	for _, r := range s.region {
		if x := s.info.at(r); x.n == 0 {
			x.changed = false
			s.show(r, x, x.start, x.end)
		}
	}
}

// assign calls fn for the rows, in order, that are there, with their sessions.
func (s *Session) assign(rows []uint32, fn func(r uint32, x *sessionRow, start, end int64)) {
	time := &s.rows.cols[s.cfg.TimeCol].words
	for len(rows) > 0 {
		if s.info.at(rows[0]).n == 0 {
			rows = rows[1:]
			continue
		}
		start := *time.at(rows[0])
		last, k := s.last(rows[0]), 1
		for ; k < len(rows); k++ {
			if s.info.at(rows[k]).n == 0 {
				continue
			}
			t := *time.at(rows[k])
			if t-last >= s.cfg.Gap {
				break
			}
			last = max(last, s.last(rows[k]))
		}
		for _, r := range rows[:k] {
			if x := s.info.at(r); x.n > 0 {
				fn(r, x, start, last+s.cfg.Gap)
			}
		}
		rows = rows[k:]
	}
}

// bury takes a row out of g for good.
func (s *Session) bury(g *sessionPart, r uint32) {
	g.rows.add(s.itemOf(r), -1, s.cmp)
	f := s.flags.at(r)
	if *f&rowStored != 0 {
		// At once: the partition may be evicted and read again before the next checkpoint.
		s.eachKey([]uint32{r}, func(_ int, key []byte) { s.st.Delete(key) })
	}
	*f = 0
	s.graves = append(s.graves, r)
}

// send emits the rows of l, each copy of a row by itself.
func (s *Session) send(l *sessionList, d int64) error {
	n := len(s.rows.cols)
	for at, left := 0, int64(0); at < len(l.rows); {
		s.outc.Reset()
		s.copies = s.copies[:0]
		for at < len(l.rows) && len(s.copies) < s.max {
			if left == 0 {
				left = l.n[at]
			}
			m := min(left, int64(s.max-len(s.copies)))
			for range m {
				s.copies = append(s.copies, l.rows[at])
				s.outc.Cols[n].Int = append(s.outc.Cols[n].Int, l.start[at])
				s.outc.Cols[n+1].Int = append(s.outc.Cols[n+1].Int, l.end[at])
			}
			if left -= m; left == 0 {
				at++
			}
		}
		for k := range s.rows.cols {
			s.rows.gather(k, s.copies, s.outc.Cols[k])
		}
		for range s.copies {
			s.outc.PushDiff(d)
		}
		if err := s.out.Chunk(s.outc); err != nil {
			return err
		}
	}
	return nil
}
