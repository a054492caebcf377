package op

// multiset is a sorted multiset: blocks of a bounded number of items, each value once with its count.
// Counts may be negative in the middle of an epoch. A change costs a binary search and moving part of a block.
type multiset[T any] struct {
	blocks [][]msItem[T]
	// sums are the counts of the blocks: they make the multiset an order statistic. (TopN changes counts in
	// place, and has no use for them.)
	sums  []int64
	n     int   // items
	total int64 // sum of the counts
}

type msItem[T any] struct {
	v T
	n int64
}

// maxBlock is the size at which a block is split: moving half a block must be cheap, and so must
// be moving half of the list of blocks.
func (m *multiset[T]) maxBlock() int {
	if m.n < 1<<14 {
		return 64
	}
	return 256
}

// find gives the place of v: the first item that is not less.
func (m *multiset[T]) find(v T, cmp func(a, b T) int) (block, at int, ok bool) {
	lo, hi := 0, len(m.blocks)
	for lo < hi {
		mid := (lo + hi) / 2
		if b := m.blocks[mid]; cmp(b[len(b)-1].v, v) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(m.blocks) {
		if lo > 0 {
			return lo - 1, len(m.blocks[lo-1]), false
		}
		return 0, 0, false
	}
	block = lo
	b := m.blocks[block]
	lo, hi = 0, len(b)
	for lo < hi {
		mid := (lo + hi) / 2
		if cmp(b[mid].v, v) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return block, lo, lo < len(b) && cmp(b[lo].v, v) == 0
}

// add changes the count of v by d and gives the new count. An item whose count becomes 0 goes.
func (m *multiset[T]) add(v T, d int64, cmp func(a, b T) int) int64 {
	k, at, ok := m.find(v, cmp)
	m.total += d
	if ok {
		b := m.blocks[k]
		m.sums[k] += d
		if b[at].n += d; b[at].n != 0 {
			return b[at].n
		}
		m.n--
		if len(b) == 1 {
			m.blocks = append(m.blocks[:k], m.blocks[k+1:]...)
			m.sums = append(m.sums[:k], m.sums[k+1:]...)
			return 0
		}
		m.blocks[k] = append(b[:at], b[at+1:]...)
		return 0
	}
	m.n++
	if len(m.blocks) == 0 {
		m.blocks = append(m.blocks, append(make([]msItem[T], 0, 2), msItem[T]{v, d}))
		m.sums = append(m.sums, d)
		return d
	}
	m.sums[k] += d
	b := append(m.blocks[k], msItem[T]{})
	copy(b[at+1:], b[at:])
	b[at] = msItem[T]{v, d}
	m.blocks[k] = b
	if len(b) > m.maxBlock() {
		half := append(make([]msItem[T], 0, len(b)), b[len(b)/2:]...)
		m.blocks = append(m.blocks, nil)
		copy(m.blocks[k+2:], m.blocks[k+1:])
		m.blocks[k], m.blocks[k+1] = b[:len(b)/2:len(b)/2], half
		var sum int64
		for i := range half {
			sum += half[i].n
		}
		m.sums = append(m.sums, 0)
		copy(m.sums[k+2:], m.sums[k+1:])
		m.sums[k], m.sums[k+1] = m.sums[k]-sum, sum
	}
	return d
}

// count gives the count of v.
func (m *multiset[T]) count(v T, cmp func(a, b T) int) (stored T, n int64) {
	if k, at, ok := m.find(v, cmp); ok {
		it := m.blocks[k][at]
		return it.v, it.n
	}
	return v, 0
}

// first gives the smallest value with a positive count.
func (m *multiset[T]) first() (v T, ok bool) {
	for _, b := range m.blocks {
		for i := range b {
			if b[i].n > 0 {
				return b[i].v, true
			}
		}
	}
	return v, false
}

// last gives the largest value with a positive count.
func (m *multiset[T]) last() (v T, ok bool) {
	for k := len(m.blocks) - 1; k >= 0; k-- {
		b := m.blocks[k]
		for i := len(b) - 1; i >= 0; i-- {
			if b[i].n > 0 {
				return b[i].v, true
			}
		}
	}
	return v, false
}

// each calls fn for all items in order.
func (m *multiset[T]) each(fn func(v T, n int64)) {
	for _, b := range m.blocks {
		for i := range b {
			fn(b[i].v, b[i].n)
		}
	}
}

// at gives the value at place k, from 0, of the sorted list that has every value as often as it counts.
func (m *multiset[T]) at(k int64) (v T, ok bool) {
	for i, sum := range m.sums {
		if k >= sum {
			k -= sum
			continue
		}
		for _, it := range m.blocks[i] {
			if k < it.n {
				return it.v, true
			}
			k -= it.n
		}
	}
	return v, false
}

// before gives how many there are of what is less than v, with counts and each once.
func (m *multiset[T]) before(v T, cmp func(a, b T) int) (total int64, items int) {
	k, at, _ := m.find(v, cmp)
	for i := range min(k, len(m.blocks)) {
		total += m.sums[i]
		items += len(m.blocks[i])
	}
	if k < len(m.blocks) {
		for _, it := range m.blocks[k][:at] {
			total += it.n
		}
		items += at
	}
	return total, items
}

// class calls fn for the items that are equal to v by cmp, which may tell less apart than the order of the
// multiset does, until fn gives false.
func (m *multiset[T]) class(v T, cmp func(a, b T) int, fn func(v T, n int64) bool) {
	k, at, _ := m.find(v, cmp)
	for ; k < len(m.blocks); k, at = k+1, 0 {
		for _, it := range m.blocks[k][at:] {
			if cmp(it.v, v) != 0 || !fn(it.v, it.n) {
				return
			}
		}
	}
}
