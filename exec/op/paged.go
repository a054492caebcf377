package op

// State grows without ever copying everything: pages of 4,096 entries. The first page starts small and
// doubles, because most operators of a server have little state.
const (
	pageBits = 12
	pageSize = 1 << pageBits
	pageMask = pageSize - 1
	minPage  = 64
)

// none is no entry.
const none = ^uint32(0)

// paged is an array of T in pages.
type paged[T any] struct {
	pages [][]T
	// w is the number of T per entry, 1 if zero.
	w int
}

func (p *paged[T]) width() int { return max(p.w, 1) }

// ensure makes entries 0..n-1 exist. New ones are zero.
func (p *paged[T]) ensure(n uint32) {
	w := p.width()
	if len(p.pages) > 0 && n <= uint32(len(p.pages)-1)<<pageBits+uint32(len(p.pages[len(p.pages)-1])/w) {
		return
	}
	if n <= pageSize {
		size := minPage
		for size < int(n) {
			size *= 2
		}
		page := make([]T, size*w)
		if len(p.pages) == 0 {
			p.pages = append(p.pages, page)
			return
		}
		copy(page, p.pages[0])
		p.pages[0] = page
		return
	}
	if len(p.pages) == 0 {
		p.pages = append(p.pages, make([]T, pageSize*w))
	} else if len(p.pages[0]) < pageSize*w {
		page := make([]T, pageSize*w)
		copy(page, p.pages[0])
		p.pages[0] = page
	}
	for uint32(len(p.pages))<<pageBits < n {
		p.pages = append(p.pages, make([]T, pageSize*w))
	}
}

// at gives the entry i of an array of width 1.
func (p *paged[T]) at(i uint32) *T { return &p.pages[i>>pageBits][i&pageMask] }

// rec gives the values of entry i.
func (p *paged[T]) rec(i uint32) []T {
	at := int(i&pageMask) * p.w
	return p.pages[i>>pageBits][at : at+p.w : at+p.w]
}

// bitset is a paged set of entries.
type bitset struct{ words paged[uint64] }

func (b *bitset) ensure(n uint32) { b.words.ensure((n + 63) / 64) }

func (b *bitset) get(i uint32) bool { return *b.words.at(i >> 6)&(1<<(i&63)) != 0 }

func (b *bitset) set(i uint32) { *b.words.at(i >> 6) |= 1 << (i & 63) }

func (b *bitset) clear(i uint32) { *b.words.at(i >> 6) &^= 1 << (i & 63) }
