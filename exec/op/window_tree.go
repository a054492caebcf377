package op

import "slices"

// orderTree is the rows of a partition in order: a B+ tree that counts, so that the row at a place, the place
// of a row, and its group of peers are found in logarithmic time, and that has room for an aggregate at
// each node, so that the aggregate of any range is put together of logarithmically many.
//
// Rows are entries of a rowStore; where one belongs is told by predicates that are false before some place and true
// from there on. A row that begins a group of peers is a head; the tree counts heads as it counts rows.
type orderTree struct {
	root *treeNode // nil: no rows
}

// treeNode is a leaf, with rows, or has kids.
type treeNode struct {
	parent *treeNode
	kids   []*treeNode
	rows   []uint32
	// n and heads count what is below; last is the last row.
	n, heads int
	last     uint32
	// sum is the entry of the aggregates of the rows below, none if there is none yet; it is wrong if stale.
	sum   uint32
	stale bool
}

const (
	leafRows = 64
	nodeKids = 32
)

// treeOwner is what a tree has to know of its rows.
type treeOwner interface {
	isHead(row uint32) bool
	// dropSum says that an entry of aggregates is no longer used.
	dropSum(e uint32)
}

// place is a place in a tree: row i of a leaf; at is its number, from 0.
type place struct {
	leaf *treeNode
	i    int
	at   int
}

func (t *orderTree) len() int {
	if t.root == nil {
		return 0
	}
	return t.root.n
}

func (t *orderTree) groups() int {
	if t.root == nil {
		return 0
	}
	return t.root.heads
}

// build makes the tree of rows, which are in order.
func (t *orderTree) build(o treeOwner, rows []uint32) {
	t.drop(o)
	if len(rows) == 0 {
		return
	}
	const fill, fan = leafRows * 3 / 4, nodeKids * 3 / 4
	var level []*treeNode
	for len(rows) > 0 {
		n := min(len(rows), fill)
		l := &treeNode{rows: append(make([]uint32, 0, leafRows), rows[:n]...), n: n, last: rows[n-1], sum: none, stale: true}
		for _, r := range l.rows {
			if o.isHead(r) {
				l.heads++
			}
		}
		level = append(level, l)
		rows = rows[n:]
	}
	for len(level) > 1 {
		var up []*treeNode
		for len(level) > 0 {
			n := min(len(level), fan)
			p := &treeNode{kids: append(make([]*treeNode, 0, nodeKids), level[:n]...), sum: none}
			p.recount()
			for _, k := range p.kids {
				k.parent = p
			}
			up = append(up, p)
			level = level[n:]
		}
		level = up
	}
	t.root = level[0]
}

// drop empties the tree.
func (t *orderTree) drop(o treeOwner) {
	if t.root != nil {
		t.root.dropSums(o)
	}
	t.root = nil
}

func (n *treeNode) dropSums(o treeOwner) {
	if n.sum != none {
		o.dropSum(n.sum)
	}
	for _, k := range n.kids {
		k.dropSums(o)
	}
}

// recount works out n's counts from its kids'.
func (n *treeNode) recount() {
	n.n, n.heads, n.stale = 0, 0, true
	for _, k := range n.kids {
		n.n += k.n
		n.heads += k.heads
		n.last = k.last
	}
}

// first gives the first place for whose row is is true, or the end.
func (t *orderTree) first(is func(row uint32) bool) place {
	n := t.root
	if n == nil {
		return place{}
	}
	at := 0
	for n.kids != nil {
		lo, hi := 0, len(n.kids)-1
		for lo < hi {
			mid := (lo + hi) / 2
			if is(n.kids[mid].last) {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		for _, k := range n.kids[:lo] {
			at += k.n
		}
		n = n.kids[lo]
	}
	lo, hi := 0, len(n.rows)
	for lo < hi {
		mid := (lo + hi) / 2
		if is(n.rows[mid]) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return place{n, lo, at + lo}
}

// row gives the row at p, none at the end.
func (t *orderTree) row(p place) uint32 {
	if p.leaf == nil || p.at >= t.len() {
		return none
	}
	if p.i == len(p.leaf.rows) {
		p = t.at(p.at)
	}
	return p.leaf.rows[p.i]
}

// at gives the place of row number i.
func (t *orderTree) at(i int) place {
	n, rest := t.root, i
	if n == nil {
		return place{}
	}
	for n.kids != nil {
		for k, kid := range n.kids {
			if rest < kid.n || k == len(n.kids)-1 {
				n = kid
				break
			}
			rest -= kid.n
		}
	}
	return place{n, rest, i}
}

// next moves p on by one row.
func (p *place) next() {
	p.i++
	p.at++
	if p.i < len(p.leaf.rows) {
		return
	}
	for n := p.leaf; n.parent != nil; n = n.parent {
		if k := slices.Index(n.parent.kids, n); k+1 < len(n.parent.kids) {
			n = n.parent.kids[k+1]
			for n.kids != nil {
				n = n.kids[0]
			}
			p.leaf, p.i = n, 0
			return
		}
	}
}

// prev moves p back by one row; it is not at the first one.
func (p *place) prev() {
	p.at--
	if p.i > 0 {
		p.i--
		return
	}
	for n := p.leaf; n.parent != nil; n = n.parent {
		if k := slices.Index(n.parent.kids, n); k > 0 {
			n = n.parent.kids[k-1]
			for n.kids != nil {
				n = n.kids[len(n.kids)-1]
			}
			p.leaf, p.i = n, len(n.rows)-1
			return
		}
	}
}

// headsBefore counts the heads among the first i rows.
func (t *orderTree) headsBefore(o treeOwner, i int) int {
	n, h := t.root, 0
	if n == nil || i <= 0 {
		return 0
	}
	if i >= n.n {
		return n.heads
	}
	for n.kids != nil {
		for _, kid := range n.kids {
			if i < kid.n {
				n = kid
				break
			}
			i -= kid.n
			h += kid.heads
		}
	}
	for _, r := range n.rows[:i] {
		if o.isHead(r) {
			h++
		}
	}
	return h
}

// headAt gives the number of the row that begins group g, from 0; the number of rows beyond the last group.
func (t *orderTree) headAt(o treeOwner, g int) int {
	n, at := t.root, 0
	if n == nil || g >= n.heads {
		return t.len()
	}
	for n.kids != nil {
		for _, kid := range n.kids {
			if g < kid.heads {
				n = kid
				break
			}
			g -= kid.heads
			at += kid.n
		}
	}
	for i, r := range n.rows {
		if o.isHead(r) {
			if g == 0 {
				return at + i
			}
			g--
		}
	}
	return t.len()
}

// each calls fn with the rows of places lo to hi-1, piece by piece, and the number of the first one of the piece.
func (t *orderTree) each(lo, hi int, fn func(rows []uint32, at int)) {
	if lo >= hi {
		return
	}
	p := t.at(lo)
	for lo < hi {
		n := min(len(p.leaf.rows)-p.i, hi-lo)
		fn(p.leaf.rows[p.i:p.i+n], lo)
		lo += n
		if lo < hi {
			p.i, p.at = p.i+n-1, lo-1
			p.next()
		}
	}
}

// changed tells all nodes from n up that rows of it have come (dn), or begin groups (dh), or are others than before.
func (n *treeNode) changed(dn, dh int) {
	for ; n != nil; n = n.parent {
		n.n += dn
		n.heads += dh
		n.stale = true
		if n.kids != nil {
			n.last = n.kids[len(n.kids)-1].last
		} else if len(n.rows) > 0 {
			n.last = n.rows[len(n.rows)-1]
		}
	}
}

// insert puts a row, which is no head yet, at p.
func (t *orderTree) insert(p place, row uint32) {
	if t.root == nil {
		t.root = &treeNode{rows: append(make([]uint32, 0, 8), row), n: 1, last: row, sum: none, stale: true}
		return
	}
	l := p.leaf
	l.rows = slices.Insert(l.rows, p.i, row)
	l.changed(1, 0)
}

// split divides the leaf of p, if it is too large, and nodes above. Heads must be right.
func (t *orderTree) split(o treeOwner, n *treeNode) {
	for n != nil {
		size := max(len(n.rows), len(n.kids))
		if size <= leafRows && n.kids == nil || n.kids != nil && size <= nodeKids {
			return
		}
		// Rows mostly come at the end: then the left part stays nearly full.
		half := size / 2
		right := &treeNode{parent: n.parent, sum: none, stale: true}
		if n.kids == nil {
			right.rows = append(make([]uint32, 0, leafRows+1), n.rows[half:]...)
			n.rows = n.rows[:half]
			right.n, right.last = len(right.rows), right.rows[len(right.rows)-1]
			for _, r := range right.rows {
				if o.isHead(r) {
					right.heads++
				}
			}
			n.n, n.heads, n.last, n.stale = n.n-right.n, n.heads-right.heads, n.rows[half-1], true
		} else {
			right.kids = append(make([]*treeNode, 0, nodeKids+1), n.kids[half:]...)
			n.kids = slices.Delete(n.kids, half, size)
			for _, k := range right.kids {
				k.parent = right
			}
			right.recount()
			n.recount()
		}
		p := n.parent
		if p == nil {
			t.root = &treeNode{kids: append(make([]*treeNode, 0, 4), n, right), sum: none}
			n.parent, right.parent = t.root, t.root
			t.root.recount()
			return
		}
		p.kids = slices.Insert(p.kids, slices.Index(p.kids, n)+1, right)
		p.stale = true
		n = p
	}
}

// remove takes the row at p away, which is no head.
func (t *orderTree) remove(o treeOwner, p place) {
	l := p.leaf
	l.rows = slices.Delete(l.rows, p.i, p.i+1)
	l.changed(-1, 0)
	t.shrink(o, l)
}

// shrink removes n if nothing is left of it, or joins it with a neighbour if both are small.
func (t *orderTree) shrink(o treeOwner, n *treeNode) {
	for n != nil {
		p := n.parent
		if p == nil {
			switch {
			case n.n == 0:
				t.drop(o)
			case len(n.kids) == 1:
				if n.sum != none {
					o.dropSum(n.sum)
				}
				t.root = n.kids[0]
				t.root.parent = nil
				n = t.root
				continue
			}
			return
		}
		k := slices.Index(p.kids, n)
		switch {
		case n.n == 0:
			n.dropSums(o)
			p.kids = slices.Delete(p.kids, k, k+1)
			p.fixLast()
		case k > 0 && p.kids[k-1].joins(n):
			p.join(o, k-1)
		case k+1 < len(p.kids) && n.joins(p.kids[k+1]):
			p.join(o, k)
		default:
			return
		}
		n = p
	}
}

// fixLast corrects the last rows after a kid without rows has gone.
func (n *treeNode) fixLast() {
	for ; n != nil; n = n.parent {
		n.stale = true
		if len(n.kids) > 0 {
			n.last = n.kids[len(n.kids)-1].last
		}
	}
}

func (n *treeNode) joins(m *treeNode) bool {
	if n.kids == nil {
		return len(n.rows)+len(m.rows) <= leafRows/2
	}
	return len(n.kids)+len(m.kids) <= nodeKids/2
}

// join appends kid k+1 to kid k.
func (n *treeNode) join(o treeOwner, k int) {
	l, r := n.kids[k], n.kids[k+1]
	if r.sum != none {
		o.dropSum(r.sum)
	}
	l.rows = append(l.rows, r.rows...)
	for _, c := range r.kids {
		c.parent = l
	}
	l.kids = append(l.kids, r.kids...)
	l.n, l.heads, l.last, l.stale = l.n+r.n, l.heads+r.heads, r.last, true
	n.kids = slices.Delete(n.kids, k+1, k+2)
	n.stale = true
}
