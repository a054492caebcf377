package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Committed rows of an arrangement have one of two forms: a key of their own (kindTable), or a place in a
// block of rows (kindRows). A key is never in both.
//
//	'r' table(4) last key  ->  width(1) rows(4) ends  rows
//
// The rows are as in rowBlock: keys and values in turn. ends are two numbers a row, of width bytes each
// (2 or 4), little endian: where its key and where its value ends.
//
// Blocks do not overlap: a block is only added after all others (its first key is greater than the last key of
// the table's last block, the tip), and only where no row with a key of its own lies in between. Blocks do
// not change either: when a checkpoint changes or deletes a row of one, all its rows get keys of their own
// and the block goes. So every row is moved once at most, what is updated often has the form for that, and
// deleting all rows of a block costs one deletion.
const (
	kindRows = 'r'

	// A block ends at one of these: a reader of one row reads the block, and a change of one row writes it.
	rowBlockRows  = 128
	rowBlockBytes = 16 << 10

	// Stepping over more deleted blocks than this costs more than to seek behind them.
	rowBlockGap = 32

	rowBlockHead = 5
)

var errRowBlock = errors.New("malformed block of rows")

func appendRowsPrefix(dst []byte, id TableID) []byte {
	return binary.BigEndian.AppendUint32(append(dst, kindRows), uint32(id))
}

// encodeRows appends the block of the rows from to to-1 of b.
func encodeRows(dst []byte, b *rowBlock, from, to int) []byte {
	start := uint32(0)
	if from > 0 {
		start = b.ends[2*from-1]
	}
	end := b.ends[2*to-1]
	ends := b.ends[2*from : 2*to]
	width := byte(2)
	if end-start > 0xffff {
		width = 4
	}
	dst = append(dst, width)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(to-from))
	if width == 2 {
		for _, e := range ends {
			dst = append(dst, byte(e-start), byte((e-start)>>8))
		}
	} else {
		for _, e := range ends {
			dst = binary.LittleEndian.AppendUint32(dst, e-start)
		}
	}
	return append(dst, b.buf[start:end]...)
}

// storedRows is a block of rows as it is stored.
type storedRows struct {
	width int
	n     int
	ends  []byte
	buf   []byte
}

// decodeRows reads a block of rows; the result refers to b.
func decodeRows(b []byte) (storedRows, error) {
	if len(b) < rowBlockHead || b[0] != 2 && b[0] != 4 {
		return storedRows{}, errRowBlock
	}
	s := storedRows{width: int(b[0]), n: int(binary.LittleEndian.Uint32(b[1:]))}
	b = b[rowBlockHead:]
	if s.n == 0 || s.n > len(b)/(2*s.width) {
		return storedRows{}, errRowBlock
	}
	s.ends, s.buf = b[:2*s.width*s.n], b[2*s.width*s.n:]
	at := 0
	for i := range 2 * s.n {
		e := s.end(i)
		if e < at {
			return storedRows{}, errRowBlock
		}
		at = e
	}
	if at != len(s.buf) {
		return storedRows{}, errRowBlock
	}
	return s, nil
}

func (s *storedRows) end(i int) int {
	if s.width == 2 {
		return int(binary.LittleEndian.Uint16(s.ends[2*i:]))
	}
	return int(binary.LittleEndian.Uint32(s.ends[4*i:]))
}

func (s *storedRows) key(i int) []byte {
	from := 0
	if i > 0 {
		from = s.end(2*i - 1)
	}
	return s.buf[from:s.end(2*i)]
}

func (s *storedRows) value(i int) []byte {
	to := s.end(2*i + 1)
	return s.buf[s.end(2*i):to:to]
}

// search gives the first row whose key is not before key, and whether it has that key.
func (s *storedRows) search(key []byte) (int, bool) {
	return sort.Find(s.n, func(i int) int { return bytes.Compare(key, s.key(i)) })
}

// tableBlocks is what is known in memory of a table's blocks.
type tableBlocks struct {
	// tip is the last key in a committed block, empty if there is none; nil: not looked up yet. It only
	// grows. That of a newer base is good for older ones too: they have no more blocks.
	tip atomic.Pointer[[]byte]
	// gap is where a reader has last stepped over many deleted blocks, so that not each of them does; nil: nowhere.
	gap atomic.Pointer[blockGap]
	// steps is how many of them are many.
	steps int
}

// blockGap says that no block in snap ends at or after from and before to, the end of the next block; a nil to is the table's end.
type blockGap struct {
	snap     pebble.Reader
	from, to []byte
}

// seek moves it, which walks the blocks of a table in snap, to the first one that does not end before key, and tells whether there
// is one. Deleted blocks stay in the way until they are compacted: a reader pays for them once for each gap, not for each key. What
// is known of a gap grows downwards when a key before it finds nothing that ends before it.
func (t *tableBlocks) seek(snap pebble.Reader, id TableID, it *pebble.Iterator, key []byte) bool {
	var buf, buf2 [128]byte
	at := append(appendRowsPrefix(buf[:0], id), key...)
	if g := t.gap.Load(); g != nil && g.snap == snap && (g.to == nil || bytes.Compare(key, g.to) < 0) {
		if bytes.Compare(key, g.from) < 0 {
			switch it.SeekGEWithLimit(at, append(appendRowsPrefix(buf2[:0], id), g.from...)) {
			case pebble.IterValid:
				return true
			case pebble.IterExhausted:
				return false
			}
			t.gap.Store(&blockGap{snap, bytes.Clone(key), g.to})
		}
		return g.to != nil && it.SeekGE(append(at[:tablePrefixLen], g.to...))
	}
	before := it.Stats().ForwardStepCount[pebble.InternalIterCall]
	ok := it.SeekGE(at)
	if it.Stats().ForwardStepCount[pebble.InternalIterCall]-before > t.steps && it.Error() == nil {
		g := &blockGap{snap: snap, from: bytes.Clone(key)}
		if ok {
			g.to = bytes.Clone(it.Key()[tablePrefixLen:])
		}
		t.gap.Store(g)
	}
	return ok
}

// last gives the tip, nil if there are no blocks. r is any base of the table.
func (t *tableBlocks) last(r pebble.Reader, id TableID) ([]byte, error) {
	p := t.tip.Load()
	if p == nil {
		it, err := r.NewIter(&pebble.IterOptions{LowerBound: appendRowsPrefix(nil, id), UpperBound: blockPrefixEnd(id)})
		if err != nil {
			return nil, err
		}
		tip := []byte{}
		if it.Last() {
			tip = append(tip, it.Key()[tablePrefixLen:]...)
		}
		if err := it.Close(); err != nil {
			return nil, err
		}
		// Nothing has committed blocks of the table since the store was opened, or it is there already.
		t.tip.CompareAndSwap(nil, &tip)
		p = t.tip.Load()
	}
	if len(*p) == 0 {
		return nil, nil
	}
	return *p, nil
}

func blockPrefixEnd(id TableID) []byte { return PrefixEnd(appendRowsPrefix(nil, id)) }

// blocksOf gives what is known of a table's blocks. s.mu is held.
func (s *Store) blocksOf(id TableID) *tableBlocks {
	t := s.blocks[id]
	if t == nil {
		t = &tableBlocks{steps: s.cfg.blocks.gap}
		s.blocks[id] = t
	}
	return t
}

// rowsIter makes an iterator over the blocks of a table that have keys from lo on; nil is no bound.
func rowsIter(r pebble.Reader, id TableID, lo []byte) (*pebble.Iterator, error) {
	b := make([]byte, 0, 2*tablePrefixLen+len(lo))
	b = append(appendRowsPrefix(b, id), lo...)
	n := len(b)
	b = appendRowsPrefix(b, id)
	hi := b[n:]
	for i := len(hi) - 1; ; i-- { // kindRows is not the greatest byte
		if hi[i]++; hi[i] != 0 {
			hi = hi[:i+1]
			break
		}
	}
	return r.NewIter(&pebble.IterOptions{LowerBound: b[:n:n], UpperBound: hi})
}

// rowsAt decodes the block that an iterator stands on.
func rowsAt(it *pebble.Iterator) (storedRows, error) {
	v, err := it.ValueAndErr()
	if err != nil {
		return storedRows{}, err
	}
	s, err := decodeRows(v)
	if err != nil {
		return s, fmt.Errorf("key %x: %w", it.Key(), err)
	}
	return s, nil
}

// blockRow gives a copy of the value of a key that is in a block.
func blockRow(r pebble.Reader, id TableID, tb *tableBlocks, key []byte) (val []byte, ok bool, err error) {
	it, err := rowsIter(r, id, key)
	if err != nil {
		return nil, false, err
	}
	if tb.seek(r, id, it, key) {
		s, err := rowsAt(it)
		if err != nil {
			it.Close()
			return nil, false, err
		}
		var i int
		if i, ok = s.search(key); ok {
			v := s.value(i)
			val = append(make([]byte, 0, len(v)), v...)
		}
	}
	return val, ok, it.Close()
}

// rowsCursor walks the rows in the committed blocks of a table between lo (inclusive) and hi (exclusive).
type rowsCursor struct {
	it      *pebble.Iterator
	r       pebble.Reader
	id      TableID
	tb      *tableBlocks
	lo, hi  []byte
	reverse bool
	started bool
	s       storedRows
	i       int
	k       []byte
	err     error
}

func newRowsCursor(r pebble.Reader, id TableID, tb *tableBlocks, lo, hi []byte, reverse bool) (*rowsCursor, error) {
	it, err := rowsIter(r, id, lo)
	if err != nil {
		return nil, err
	}
	return &rowsCursor{it: it, r: r, id: id, tb: tb, lo: lo, hi: hi, reverse: reverse}, nil
}

func (c *rowsCursor) next() bool {
	if c.err != nil {
		return false
	}
	switch {
	case !c.started:
		c.started = true
		if !c.start() {
			return false
		}
	case c.reverse:
		c.i--
	default:
		c.i++
	}
	if c.i < 0 {
		if !c.load(c.it.Prev()) {
			return false
		}
		c.i = c.s.n - 1
	} else if c.i >= c.s.n {
		if !c.load(c.it.Next()) {
			return false
		}
		c.i = 0
	}
	c.k = c.s.key(c.i)
	if c.reverse {
		return c.lo == nil || bytes.Compare(c.k, c.lo) >= 0
	}
	return c.hi == nil || bytes.Compare(c.k, c.hi) < 0
}

func (c *rowsCursor) seek(key []byte) bool {
	if c.err != nil {
		return false
	}
	if c.lo != nil && bytes.Compare(key, c.lo) < 0 {
		key = c.lo
	}
	if !c.started || bytes.Compare(c.s.key(c.s.n-1), key) < 0 {
		c.started = true
		if !c.load(c.tb.seek(c.r, c.id, c.it, key)) {
			return false
		}
	}
	c.i, _ = c.s.search(key)
	c.k = c.s.key(c.i)
	return c.hi == nil || bytes.Compare(c.k, c.hi) < 0
}

// load decodes the block that the iterator has moved to.
func (c *rowsCursor) load(valid bool) bool {
	if !valid {
		c.err = c.it.Error()
		return false
	}
	c.s, c.err = rowsAt(c.it)
	return c.err == nil
}

// start moves to the first row in the direction of the cursor; i may be one off the block's rows.
func (c *rowsCursor) start() bool {
	if !c.reverse {
		if !c.load(c.tb.seek(c.r, c.id, c.it, c.lo)) {
			return false
		}
		if c.i = 0; c.lo != nil {
			c.i, _ = c.s.search(c.lo)
		}
		return true
	}
	if c.hi != nil {
		if c.lo != nil && bytes.Compare(c.hi, c.lo) <= 0 {
			return false // the iterator does not see what is before lo
		}
		if c.tb.seek(c.r, c.id, c.it, c.hi) {
			if !c.load(true) {
				return false
			}
			c.i, _ = c.s.search(c.hi)
			c.i--
			return true
		}
		if c.err = c.it.Error(); c.err != nil {
			return false
		}
	}
	if !c.load(c.it.Last()) {
		return false
	}
	c.i = c.s.n - 1
	return true
}

func (c *rowsCursor) key() []byte   { return c.k }
func (c *rowsCursor) value() []byte { return c.s.value(c.i) }
func (c *rowsCursor) deleted() bool { return false }

func (c *rowsCursor) close() error {
	err := c.it.Close()
	if c.err != nil {
		return c.err
	}
	return err
}
