package storage

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// frozenPlan is how the frozen deltas of an arrangement are written: what becomes blocks of rows, what gets keys
// of its own, and which stored blocks go because some of their rows change (see rowblock.go).
type frozenPlan struct {
	id   TableID
	cfg  blockConfig
	snap pebble.Reader
	tb   *tableBlocks
	// layers are what is written, newest first.
	layers []*layer
	// blocks become blocks; rest are the blocks of a single layer that do not.
	blocks, rest []run
	// gone are the last keys of the stored blocks that go, in order; kept are those of which rows stay.
	gone, kept [][]byte
	// tip is the last key of blocks, nil if there are none.
	tip []byte
	// size is about what is written with keys of its own, blockSize what is written in blocks.
	size, blockSize int64
}

// planFrozen decides how frozen deltas of one table, oldest first, are written. snap is the newest committed
// state.
func planFrozen(snap pebble.Reader, cfg blockConfig, id TableID, tb *tableBlocks, frozen []frozenDelta) (*frozenPlan, error) {
	p := &frozenPlan{id: id, cfg: cfg, snap: snap, tb: tb}
	for i := len(frozen) - 1; i >= 0; i-- {
		p.layers = append(p.layers, frozen[i].layer)
		p.size += frozen[i].bytes + int64(frozen[i].len())*16
	}
	tip, err := tb.last(snap, id)
	if err != nil {
		return nil, err
	}
	if len(p.layers) == 1 {
		if err := p.split(p.layers[0], tip); err != nil {
			return nil, err
		}
	}
	if tip != nil {
		if err := p.explode(tip); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// split decides which blocks of l stay blocks.
func (p *frozenPlan) split(l *layer, tip []byte) error {
	if len(l.runs) == 0 {
		return nil
	}
	it, err := iterFrom(p.snap, p.id, nil, nil)
	if err != nil {
		return err
	}
	defer it.Close()
	var next []byte // the first stored row from some key on; all rows before it are before the next block
	sought, none := false, false
	prefix := tablePrefix(p.id)
	clean := func(b *rowBlock) bool {
		first, last := b.first(), b.last()
		if tip != nil && bytes.Compare(first, tip) <= 0 || l.meets(first, last) {
			return false
		}
		if !none && (!sought || bytes.Compare(next, first) < 0) {
			sought = true
			if none = !it.SeekGE(append(prefix[:tablePrefixLen], first...)); !none {
				next = append(next[:0], it.Key()[tablePrefixLen:]...)
			}
		}
		return none || bytes.Compare(next, last) > 0
	}
	if len(l.runs) == 1 {
		var blocks, rest run
		for _, b := range l.runs[0] {
			if clean(b) {
				blocks = append(blocks, b)
			} else {
				rest = append(rest, b)
			}
		}
		p.keep(blocks, rest)
		return it.Error()
	}
	// Runs lie beside each other. Rows with the same key must not end up in different forms, so all blocks after
	// some key stay blocks, and all others do not.
	var cut []byte
	for _, r := range l.runs {
		sought, none = false, false
		for _, b := range r {
			if !clean(b) && bytes.Compare(b.last(), cut) > 0 {
				cut = b.last()
			}
		}
	}
	for moved := true; moved && cut != nil; {
		moved = false
		for _, r := range l.runs {
			for _, b := range r {
				if bytes.Compare(b.first(), cut) <= 0 && bytes.Compare(b.last(), cut) > 0 {
					cut, moved = b.last(), true
				}
			}
		}
	}
	for _, r := range l.runs {
		n := 0
		for cut != nil && n < len(r) && bytes.Compare(r[n].first(), cut) <= 0 {
			n++
		}
		p.keep(r[n:], r[:n])
	}
	return it.Error()
}

func (p *frozenPlan) keep(blocks, rest run) {
	if len(rest) > 0 {
		p.rest = append(p.rest, rest)
	}
	if len(blocks) == 0 {
		return
	}
	p.blocks = append(p.blocks, blocks)
	if last := blocks[len(blocks)-1].last(); bytes.Compare(last, p.tip) > 0 {
		p.tip = last
	}
	for _, b := range blocks {
		p.blockSize += int64(len(b.buf)) + int64(len(b.ends))*2
	}
	p.size = max(0, p.size-p.blockSize)
}

// committed says that the plan's blocks are part of the newest base, which nobody reads yet.
func (p *frozenPlan) committed() {
	if p.tip != nil {
		tip := bytes.Clone(p.tip)
		p.tb.tip.Store(&tip)
	}
}

// cursors gives the changes in [nil, hi) that do not become blocks, newest first.
func (p *frozenPlan) cursors(hi []byte) []cursor {
	if len(p.layers) == 1 {
		l := layer{tree: p.layers[0].tree, runs: p.rest}
		return l.cursors(nil, nil, hi, false)
	}
	var cs []cursor
	for _, l := range p.layers {
		cs = l.cursors(cs, nil, hi, false)
	}
	return cs
}

// changeIter merges changes; unlike an Iterator it shows deletions.
type changeIter struct{ m mergeIter }

func newChangeIter(newestFirst []cursor) *changeIter {
	return &changeIter{mergeIter{overs: newestFirst, cur: -1}}
}

func (c *changeIter) next() bool {
	if !c.m.started {
		c.m.start()
	} else {
		c.m.stepOver()
	}
	return c.m.cur >= 0
}

func (c *changeIter) cursor() cursor { return c.m.overs[c.m.cur] }

// explode finds the stored blocks of which rows change.
func (p *frozenPlan) explode(tip []byte) error {
	it, err := rowsIter(p.snap, p.id, nil)
	if err != nil {
		return err
	}
	defer it.Close()
	var (
		s       storedRows
		last    []byte // of the block s
		matched int    // rows of s that change
		on      bool
	)
	end := func() {
		if matched == 0 {
			return
		}
		p.gone = append(p.gone, last)
		if matched < s.n {
			p.kept = append(p.kept, last)
			p.size += int64(len(s.buf))
		}
		matched = 0
	}
	prefix := appendRowsPrefix(nil, p.id)
	for c := newChangeIter(p.cursors(append(bytes.Clone(tip), 0))); c.next(); {
		k := c.cursor().key()
		if !on || bytes.Compare(k, last) > 0 {
			end()
			if !it.SeekGE(append(prefix[:tablePrefixLen], k...)) {
				break
			}
			if s, err = rowsAt(it); err != nil {
				return err
			}
			on, last = true, bytes.Clone(it.Key()[tablePrefixLen:])
		}
		if _, ok := s.search(k); ok {
			matched++
		}
	}
	end()
	return it.Error()
}

// sections are the parts of a checkpoint in which the plan is written.
func (p *frozenPlan) sections() []section {
	var secs []section
	if len(p.gone) > 0 {
		secs = append(secs, section{prefix: appendRowsPrefix(nil, p.id), write: p.writeGone})
	}
	if len(p.blocks) > 0 {
		// After the tip: its prefix keeps it behind what goes.
		first := p.blocks[0][0].first()
		for _, r := range p.blocks {
			if f := r[0].first(); bytes.Compare(f, first) < 0 {
				first = f
			}
		}
		secs = append(secs, section{prefix: append(appendRowsPrefix(nil, p.id), first...), size: p.blockSize, write: p.writeBlocks})
	}
	return append(secs, section{prefix: tablePrefix(p.id), size: p.size, write: p.writeRows})
}

func (p *frozenPlan) writeGone(w keyWriter) error {
	key := appendRowsPrefix(nil, p.id)
	for _, last := range p.gone {
		if err := w.Delete(append(key[:tablePrefixLen], last...)); err != nil {
			return err
		}
	}
	return nil
}

func (p *frozenPlan) writeBlocks(w keyWriter) error {
	b := rowsBuilder{w: w, cfg: p.cfg, key: appendRowsPrefix(nil, p.id)}
	if len(p.blocks) > 1 {
		for c := appendRunCursors(nil, p.blocks, nil, nil, false)[0]; c.next(); {
			if err := b.add(c.key(), c.value()); err != nil {
				return err
			}
		}
		return b.flush()
	}
	for _, rows := range p.blocks[0] {
		if rows.rows() >= p.cfg.rows/2 || len(rows.buf) >= p.cfg.bytes/2 {
			if err := b.addBlock(rows); err != nil {
				return err
			}
			continue
		}
		for i := range rows.rows() {
			if err := b.add(rows.key(i), rows.value(i)); err != nil {
				return err
			}
		}
	}
	return b.flush()
}

// writeRows writes what gets keys of its own: the changes over the rows of blocks that go.
func (p *frozenPlan) writeRows(w keyWriter) error {
	cs := p.cursors(nil)
	var old *keptCursor
	if len(p.kept) > 0 {
		it, err := rowsIter(p.snap, p.id, nil)
		if err != nil {
			return err
		}
		defer it.Close()
		old = &keptCursor{it: it, lasts: p.kept, prefix: appendRowsPrefix(nil, p.id)}
		cs = append(cs, old)
	}
	key := tablePrefix(p.id)
	for c := newChangeIter(cs); c.next(); {
		row := c.cursor()
		key = append(key[:tablePrefixLen], row.key()...)
		var err error
		if row.deleted() {
			err = w.Delete(key)
		} else {
			err = w.Set(key, row.value())
		}
		if err != nil {
			return err
		}
	}
	if old != nil {
		return old.err
	}
	return nil
}

// keptCursor walks the rows of some stored blocks.
type keptCursor struct {
	it     *pebble.Iterator
	lasts  [][]byte
	prefix []byte
	s      storedRows
	i      int
	err    error
}

func (c *keptCursor) next() bool {
	if c.i++; c.i < c.s.n {
		return true
	}
	if len(c.lasts) == 0 || c.err != nil {
		return false
	}
	last := c.lasts[0]
	c.lasts, c.i = c.lasts[1:], 0
	if !c.it.SeekGE(append(c.prefix[:tablePrefixLen], last...)) {
		if c.err = c.it.Error(); c.err == nil {
			c.err = errRowBlock
		}
		return false
	}
	c.s, c.err = rowsAt(c.it)
	return c.err == nil
}

func (c *keptCursor) key() []byte   { return c.s.key(c.i) }
func (c *keptCursor) value() []byte { return c.s.value(c.i) }
func (c *keptCursor) deleted() bool { return false }

// rowsBuilder writes rows as blocks.
type rowsBuilder struct {
	w   keyWriter
	cfg blockConfig
	key []byte // begins with the table's prefix
	val []byte
	b   rowBlock
}

func (b *rowsBuilder) add(key, val []byte) error {
	b.b.buf = append(b.b.buf, key...)
	b.b.ends = append(b.b.ends, uint32(len(b.b.buf)))
	b.b.buf = append(b.b.buf, val...)
	b.b.ends = append(b.b.ends, uint32(len(b.b.buf)))
	if b.b.rows() < b.cfg.rows && len(b.b.buf) < b.cfg.bytes {
		return nil
	}
	return b.flush()
}

func (b *rowsBuilder) flush() error {
	if b.b.rows() == 0 {
		return nil
	}
	err := b.write(&b.b, 0, b.b.rows())
	b.b.buf, b.b.ends = b.b.buf[:0], b.b.ends[:0]
	return err
}

// addBlock writes the rows of a large block, after what was added before.
func (b *rowsBuilder) addBlock(rows *rowBlock) error {
	if err := b.flush(); err != nil {
		return err
	}
	n, start := rows.rows(), uint32(0)
	for from := 0; from < n; {
		to := from + 1
		for to < n && to-from < b.cfg.rows && int(rows.ends[2*to-1]-start) < b.cfg.bytes {
			to++
		}
		if err := b.write(rows, from, to); err != nil {
			return err
		}
		from, start = to, rows.ends[2*to-1]
	}
	return nil
}

func (b *rowsBuilder) write(rows *rowBlock, from, to int) error {
	b.key = append(b.key[:tablePrefixLen], rows.key(to-1)...)
	b.val = encodeRows(b.val[:0], rows, from, to)
	return b.w.Set(b.key, b.val)
}
