package storage

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
	"github.com/tidwall/btree"
)

// cursor walks one sorted overlay inside bounds, in the direction it was made for.
type cursor interface {
	// next moves on, or to the first entry at the first call; false at the end.
	next() bool
	key() []byte
	value() []byte
	deleted() bool
}

// seeker is a cursor of a version. seek moves forward to the first entry at or after key, of a cursor that was made to go forward;
// false at the end.
type seeker interface{ seek(key []byte) bool }

// mergeIter merges a Pebble iterator (the oldest layer) with overlays, newest first. A key in a
// newer layer hides the same key in older ones, and a tombstone hides it altogether.
//
//  1. Each overlay cursor that is not exhausted stands on an entry. Among them the one with the
//     first key wins, the newest among equals; the others with that key are moved on.
//  2. The winner is compared with the base's key. The base alone is the fast path: while there
//     are no overlay entries left, a step is a step of the Pebble iterator.
//
// Cost: one comparison a row for each overlay that is not exhausted; overlays are few.
type mergeIter struct {
	base      *pebble.Iterator
	strip     int
	reverse   bool
	baseValid bool
	started   bool
	prefix    []byte // of the base's keys
	// fromBase and fromOver say where the current row came from and what must move next.
	fromBase, fromOver bool

	overs []cursor // newest first, exhausted ones removed
	cur   int      // index in overs of the current overlay winner, or -1
	// rows is the last of overs, if the base has blocks: no row of theirs is among base's.
	rows *rowsCursor

	k, v []byte
	err  error
	// readError, if not nil, gives an error of reading its SQLSTATE.
	readError func(error) error
}

func (m *mergeIter) failure(err error) error {
	if err != nil && m.readError != nil {
		return m.readError(err)
	}
	return err
}

func (m *mergeIter) stepBase() {
	switch {
	case m.base == nil:
		m.baseValid = false
	case m.reverse:
		m.baseValid = m.base.Prev()
	default:
		m.baseValid = m.base.Next()
	}
}

func (m *mergeIter) start() {
	m.started = true
	if m.base != nil {
		if m.reverse {
			m.baseValid = m.base.Last()
		} else {
			m.baseValid = m.base.First()
		}
	}
	live := m.overs[:0]
	for _, c := range m.overs {
		if c.next() {
			live = append(live, c)
		}
	}
	m.overs = live
	m.pickOver()
}

// before says whether a comes before b in the direction of the iteration.
func (m *mergeIter) cmp(a, b []byte) int {
	c := bytes.Compare(a, b)
	if m.reverse {
		return -c
	}
	return c
}

// pickOver chooses the overlay entry to look at next and skips the older entries of its key.
func (m *mergeIter) pickOver() {
	m.cur = -1
	for i := 0; i < len(m.overs); i++ {
		if m.cur < 0 {
			m.cur = i
			continue
		}
		switch c := m.cmp(m.overs[i].key(), m.overs[m.cur].key()); {
		case c < 0:
			m.cur = i
		case c == 0: // hidden by the newer one
			if !m.overs[i].next() {
				m.overs = append(m.overs[:i], m.overs[i+1:]...)
			}
			i-- // look at what took its place
		}
	}
}

// addBlocks makes the rows in the base's blocks part of the iteration.
func (m *mergeIter) addBlocks(l *layers, lo, hi []byte) (err error) {
	tip, err := l.blocks.last(l.base.snap, l.id)
	if err != nil || tip == nil || lo != nil && bytes.Compare(lo, tip) > 0 {
		return err
	}
	if m.rows, err = newRowsCursor(l.base.snap, l.id, l.blocks, lo, hi, m.reverse); err == nil {
		m.overs = append(m.overs, m.rows)
	}
	return err
}

func (m *mergeIter) stepOver() {
	if !m.overs[m.cur].next() {
		m.overs = append(m.overs[:m.cur], m.overs[m.cur+1:]...)
	}
	m.pickOver()
}

// next moves to the next visible row.
func (m *mergeIter) next() bool {
	if m.err != nil {
		return false
	}
	if !m.started {
		m.start()
	} else {
		if m.fromBase {
			m.stepBase()
		}
		if m.fromOver {
			m.stepOver()
		}
	}
	return m.settle()
}

// settle takes the row that the layers stand on, the first that is not deleted.
func (m *mergeIter) settle() bool {
	for {
		if m.rows != nil && m.rows.err != nil {
			m.err = m.rows.err
			return false
		}
		if m.cur < 0 {
			m.fromBase, m.fromOver = true, false
			if !m.baseValid {
				m.fromBase = false
				if m.base != nil {
					m.err = m.base.Error()
				}
				m.k, m.v = nil, nil
				return false
			}
			return m.takeBase()
		}
		o := m.overs[m.cur]
		c := 1
		if m.baseValid {
			c = m.cmp(m.base.Key()[m.strip:], o.key())
		} else {
			if m.base != nil && m.base.Error() != nil {
				m.err = m.base.Error()
				return false
			}
		}
		if c < 0 {
			m.fromBase, m.fromOver = true, false
			return m.takeBase()
		}
		if o.deleted() {
			if c == 0 && m.baseValid {
				m.stepBase()
			}
			m.stepOver()
			continue
		}
		m.fromBase, m.fromOver = c == 0 && m.baseValid, true
		m.k, m.v = o.key(), o.value()
		return true
	}
}

// seek moves forward to the first row at or after key; it stays where it is if that is there already. All cursors must be seekers.
func (m *mergeIter) seek(key []byte) bool {
	if m.err != nil {
		return false
	}
	if m.started && m.k != nil && bytes.Compare(m.k, key) >= 0 {
		return true
	}
	if m.base != nil && (!m.started || m.baseValid && bytes.Compare(m.base.Key()[m.strip:], key) < 0) {
		m.prefix = append(m.prefix[:m.strip], key...)
		m.baseValid = m.base.SeekGE(m.prefix)
	}
	live := m.overs[:0]
	for _, c := range m.overs {
		if m.started && bytes.Compare(c.key(), key) >= 0 || c.(seeker).seek(key) {
			live = append(live, c)
		}
	}
	m.overs, m.started = live, true
	m.pickOver()
	return m.settle()
}

func (m *mergeIter) takeBase() bool {
	v, err := m.base.ValueAndErr()
	if err != nil {
		m.err = err
		return false
	}
	m.k, m.v = m.base.Key()[m.strip:], v
	return true
}

func (m *mergeIter) close() error {
	err := m.err
	if m.base != nil {
		if cerr := m.base.Close(); err == nil {
			err = cerr
		}
		m.base = nil
	}
	if m.rows != nil {
		if cerr := m.rows.close(); err == nil {
			err = cerr
		}
		m.rows = nil
	}
	m.overs, m.cur = nil, -1
	m.baseValid = false
	m.k, m.v = nil, nil
	return m.failure(err)
}

// treeCursor walks a layer between lo (inclusive) and hi (exclusive); nil means no bound.
type treeCursor struct {
	it      btree.IterG[entry]
	lo, hi  []byte
	reverse bool
	started bool
	e       entry
}

func newTreeCursor(l *layer, lo, hi []byte, reverse bool) *treeCursor {
	return &treeCursor{it: l.tree.Iter(), lo: lo, hi: hi, reverse: reverse}
}

func (c *treeCursor) next() bool {
	var ok bool
	switch {
	case c.started && c.reverse:
		ok = c.it.Prev()
	case c.started:
		ok = c.it.Next()
	case c.reverse && c.hi != nil:
		if c.it.Seek(searchEntry(c.hi)) {
			ok = c.it.Prev()
		} else {
			ok = c.it.Last()
		}
	case c.reverse:
		ok = c.it.Last()
	case c.lo != nil:
		ok = c.it.Seek(searchEntry(c.lo))
	default:
		ok = c.it.First()
	}
	c.started = true
	if !ok {
		return false
	}
	c.e = c.it.Item()
	if c.reverse {
		return c.lo == nil || bytes.Compare(c.e.key(), c.lo) >= 0
	}
	return c.hi == nil || bytes.Compare(c.e.key(), c.hi) < 0
}

func (c *treeCursor) seek(key []byte) bool {
	c.started = true
	if c.lo != nil && bytes.Compare(key, c.lo) < 0 {
		key = c.lo
	}
	if !c.it.Seek(searchEntry(key)) {
		return false
	}
	c.e = c.it.Item()
	return c.hi == nil || bytes.Compare(c.e.key(), c.hi) < 0
}

func (c *treeCursor) key() []byte   { return c.e.key() }
func (c *treeCursor) value() []byte { return c.e.value() }
func (c *treeCursor) deleted() bool { return c.e.deleted() }
