package storage

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
	"unsafe"
)

// Rows that arrive many at a time and in key order, as those of an append-only view or of a bulk load do,
// do not go into the tree one by one. Their bytes stay together as a block, and blocks whose keys follow
// each other make a run. An arrangement with several writers has several runs, one beside the other.
//
// The rules of a layer that has both:
//
//   - what is in the tree is newer than what is in a run;
//   - of two blocks with the same key the later one (seq) is newer.
//
// So a block whose range of keys meets the tree is not kept as one: its rows go into the tree.
const (
	// blockMinRows is how many rows a block has at least: fewer cost less as entries of the tree.
	blockMinRows = 16
	// maxRuns bounds what a reader has to look through.
	maxRuns = 8
)

// blockConfig is the sizes of blocks.
type blockConfig struct {
	minRows     int // in memory
	rows, bytes int // where a stored block ends
	// gap is how many deleted blocks beside each other make a gap worth knowing.
	gap int
}

// rowBlock is rows in key order, each with a key of its own. It never changes.
type rowBlock struct {
	// buf holds key and value of one row after the other: row i's key ends at ends[2*i], its value at
	// ends[2*i+1].
	buf  []byte
	ends []uint32
	seq  uint64
}

func (b *rowBlock) rows() int { return len(b.ends) / 2 }

func (b *rowBlock) bounds(i int) (from, k, to uint32) {
	if i > 0 {
		from = b.ends[2*i-1]
	}
	return from, b.ends[2*i], b.ends[2*i+1]
}

func (b *rowBlock) key(i int) []byte {
	from, k, _ := b.bounds(i)
	return b.buf[from:k]
}

func (b *rowBlock) value(i int) []byte {
	_, k, to := b.bounds(i)
	return b.buf[k:to:to]
}

func (b *rowBlock) entry(i int) entry {
	from, k, to := b.bounds(i)
	return entry{
		pre: keyPrefix(b.buf[from:k]), p: unsafe.SliceData(b.buf[from:]), klen: k - from, vlen: to - k,
	}
}

func (b *rowBlock) first() []byte { return b.key(0) }

func (b *rowBlock) last() []byte { return b.key(b.rows() - 1) }

// search gives the first row whose key is not before key, and whether it has that key.
func (b *rowBlock) search(key []byte) (int, bool) {
	return sort.Find(b.rows(), func(i int) int { return bytes.Compare(key, b.key(i)) })
}

// run is blocks of which each one's keys are greater than those of the one before.
type run []*rowBlock

// search gives the first block that has a key not before key.
func (r run) search(key []byte) int {
	return sort.Search(len(r), func(i int) bool { return bytes.Compare(r[i].last(), key) >= 0 })
}

// newBlock makes a block of rows as Writer.Append takes them. It is nil if they are too few, too large or
// not in order.
func newBlock(buf []byte, ends []int, minRows int) *rowBlock {
	n := len(ends) / 2
	if n < minRows || len(buf) > math.MaxUint32 {
		return nil
	}
	b := &rowBlock{buf: buf, ends: make([]uint32, len(ends))}
	prev, from := []byte(nil), 0
	for i := 0; i < len(ends); i += 2 {
		k, v := ends[i], ends[i+1]
		key := buf[from:k]
		if i > 0 && bytes.Compare(prev, key) >= 0 {
			return nil
		}
		b.ends[i], b.ends[i+1] = uint32(k), uint32(v)
		prev, from = key, v
	}
	return b
}

// blockOf is newBlock for changes.
func blockOf(changes []Change, minRows int) *rowBlock {
	if len(changes) < minRows {
		return nil
	}
	size := 0
	for i := range changes {
		c := &changes[i]
		if c.Delete || i > 0 && bytes.Compare(changes[i-1].Key, c.Key) >= 0 {
			return nil
		}
		size += len(c.Key) + len(c.Value)
	}
	if size > math.MaxUint32 {
		return nil
	}
	b := &rowBlock{buf: make([]byte, 0, size), ends: make([]uint32, 0, 2*len(changes))}
	for i := range changes {
		b.buf = append(b.buf, changes[i].Key...)
		b.ends = append(b.ends, uint32(len(b.buf)))
		b.buf = append(b.buf, changes[i].Value...)
		b.ends = append(b.ends, uint32(len(b.buf)))
	}
	return b
}

// add keeps b as a block; false if it cannot.
func (l *layer) add(b *rowBlock) bool {
	first := b.first()
	if l.meets(first, b.last()) {
		return false
	}
	best := -1
	for i, r := range l.runs {
		last := r[len(r)-1].last()
		if bytes.Compare(last, first) < 0 &&
			(best < 0 || bytes.Compare(last, l.runs[best][len(l.runs[best])-1].last()) > 0) {
			best = i
		}
	}
	if best < 0 {
		if len(l.runs) == maxRuns {
			return false
		}
		best = len(l.runs)
		l.runs = append(l.runs, nil)
	}
	l.seq++
	b.seq = l.seq
	l.runs[best] = append(l.runs[best], b)
	l.rows += b.rows()
	l.bytes += int64(len(b.buf))
	return true
}

// addRows keeps b as a block if it can, else row by row.
func (l *layer) addRows(b *rowBlock) {
	if l.add(b) {
		return
	}
	for i := range b.rows() {
		l.set(b.entry(i))
	}
}

// meets tells whether the tree has a key from first to last.
func (l *layer) meets(first, last []byte) bool {
	if l.tree.Len() == 0 {
		return false
	}
	met := false
	l.tree.Ascend(searchEntry(first), func(e entry) bool {
		met = bytes.Compare(e.key(), last) <= 0
		return false
	})
	return met
}

// inRuns finds the newest row of a key in the runs.
func (l *layer) inRuns(key []byte) (e entry, ok bool) {
	seq := uint64(0)
	for _, r := range l.runs {
		n := r.search(key)
		if n == len(r) || r[n].seq < seq {
			continue
		}
		if i, found := r[n].search(key); found {
			e, ok, seq = r[n].entry(i), true, r[n].seq
		}
	}
	return e, ok
}

// blocks lists the blocks, oldest first.
func (l *layer) blocks() []*rowBlock {
	var bs []*rowBlock
	for _, r := range l.runs {
		bs = append(bs, r...)
	}
	slices.SortFunc(bs, func(a, b *rowBlock) int { return cmp.Compare(a.seq, b.seq) })
	return bs
}

// addTo does to head what l does.
func (l *layer) addTo(head *layer) {
	for _, b := range l.blocks() {
		nb := *b // it gets another seq, and readers may have b
		head.addRows(&nb)
	}
	l.tree.Scan(func(e entry) bool {
		head.set(e)
		return true
	})
}

// cursors appends the cursors over a layer in [lo, hi), newest first.
func (l *layer) cursors(cs []cursor, lo, hi []byte, reverse bool) []cursor {
	if l.tree.Len() > 0 {
		cs = append(cs, newTreeCursor(l, lo, hi, reverse))
	}
	return appendRunCursors(cs, l.runs, lo, hi, reverse)
}

func appendRunCursors(cs []cursor, runs []run, lo, hi []byte, reverse bool) []cursor {
	switch len(runs) {
	case 0:
		return cs
	case 1:
		return append(cs, &runCursor{run: runs[0], lo: lo, hi: hi, reverse: reverse})
	}
	m := &runsCursor{reverse: reverse, cur: -1}
	for _, r := range runs {
		m.live = append(m.live, &runCursor{run: r, lo: lo, hi: hi, reverse: reverse})
	}
	return append(cs, m)
}

// runCursor walks a run between lo (inclusive) and hi (exclusive); nil means no bound.
type runCursor struct {
	run     run
	lo, hi  []byte
	reverse bool
	started bool
	n, i    int // block and row
	k       []byte
}

func (c *runCursor) next() bool {
	switch {
	case !c.started:
		c.started = true
		c.start()
	case c.reverse:
		if c.i--; c.i < 0 {
			if c.n--; c.n >= 0 {
				c.i = c.run[c.n].rows() - 1
			}
		}
	default:
		if c.i++; c.i == c.run[c.n].rows() {
			c.n, c.i = c.n+1, 0
		}
	}
	if c.n < 0 || c.n == len(c.run) {
		return false
	}
	c.k = c.run[c.n].key(c.i)
	if c.reverse {
		return c.lo == nil || bytes.Compare(c.k, c.lo) >= 0
	}
	return c.hi == nil || bytes.Compare(c.k, c.hi) < 0
}

func (c *runCursor) seek(key []byte) bool {
	c.started = true
	if c.lo != nil && bytes.Compare(key, c.lo) < 0 {
		key = c.lo
	}
	if c.n = c.run.search(key); c.n == len(c.run) {
		return false
	}
	c.i, _ = c.run[c.n].search(key)
	c.k = c.run[c.n].key(c.i)
	return c.hi == nil || bytes.Compare(c.k, c.hi) < 0
}

// start moves to the first row in the direction of the cursor.
func (c *runCursor) start() {
	switch {
	case c.reverse && c.hi == nil:
		c.n = len(c.run) - 1
		c.i = c.run[c.n].rows() - 1
	case c.reverse:
		if c.n = c.run.search(c.hi); c.n < len(c.run) {
			c.i, _ = c.run[c.n].search(c.hi)
		}
		if c.i--; c.i < 0 {
			if c.n--; c.n >= 0 {
				c.i = c.run[c.n].rows() - 1
			}
		}
	case c.lo != nil:
		if c.n = c.run.search(c.lo); c.n < len(c.run) {
			c.i, _ = c.run[c.n].search(c.lo)
		}
	}
}

func (c *runCursor) key() []byte   { return c.k }
func (c *runCursor) value() []byte { return c.run[c.n].value(c.i) }
func (c *runCursor) deleted() bool { return false }
func (c *runCursor) seq() uint64   { return c.run[c.n].seq }

// runsCursor merges runs. Of two rows with the same key it shows the newer one.
type runsCursor struct {
	live    []*runCursor
	reverse bool
	cur     int
}

func (m *runsCursor) next() bool {
	if m.cur >= 0 {
		m.step(m.cur)
	} else {
		for i := len(m.live) - 1; i >= 0; i-- {
			m.step(i)
		}
	}
	for !m.pick() {
	}
	return m.cur >= 0
}

func (m *runsCursor) seek(key []byte) bool {
	for i := len(m.live) - 1; i >= 0; i-- {
		if c := m.live[i]; (!c.started || bytes.Compare(c.key(), key) < 0) && !c.seek(key) {
			m.live = append(m.live[:i], m.live[i+1:]...)
		}
	}
	for !m.pick() {
	}
	return m.cur >= 0
}

// pick chooses the cursor that comes first. It gives false if it had to move an older row of the same key out
// of the way.
func (m *runsCursor) pick() bool {
	m.cur = -1
	for i, c := range m.live {
		if m.cur < 0 {
			m.cur = i
			continue
		}
		d := bytes.Compare(c.key(), m.live[m.cur].key())
		if m.reverse {
			d = -d
		}
		switch {
		case d < 0:
			m.cur = i
		case d == 0 && c.seq() > m.live[m.cur].seq():
			m.step(m.cur)
			return false
		case d == 0:
			m.step(i)
			return false
		}
	}
	return true
}

// step moves cursor i on, and removes it if it is exhausted.
func (m *runsCursor) step(i int) {
	if !m.live[i].next() {
		m.live = append(m.live[:i], m.live[i+1:]...)
	}
}

func (m *runsCursor) key() []byte   { return m.live[m.cur].key() }
func (m *runsCursor) value() []byte { return m.live[m.cur].value() }
func (m *runsCursor) deleted() bool { return false }
