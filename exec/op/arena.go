package op

import "unsafe"

// arena keeps byte strings in big pages without pointers of their own. Bytes are never overwritten:
// strings that were handed out stay valid for as long as somebody holds them. Space comes back by
// whole pages, when nothing in a page is live any more, or when the owner rewrites what is live
// into a new arena (wasteful tells when).
type arena struct {
	pages []arenaPage
	free  []uint32 // numbers of dropped pages, for reuse
	cur   uint32   // the page that is being filled
	live  int      // bytes in use
	total int      // bytes of all pages
}

type arenaPage struct {
	buf  []byte
	live int
}

// ref is a byte string in an arena.
type ref struct{ page, off, n uint32 }

const (
	arenaMin = 1 << 10
	arenaMax = 1 << 18
)

// add copies s.
func (a *arena) add(s string) ref {
	n := len(s)
	if n == 0 {
		return ref{}
	}
	if len(a.pages) == 0 || cap(a.pages[a.cur].buf)-len(a.pages[a.cur].buf) < n {
		a.newPage(n)
	}
	p := &a.pages[a.cur]
	off := len(p.buf)
	p.buf = append(p.buf, s...)
	p.live += n
	a.live += n
	return ref{a.cur, uint32(off), uint32(n)}
}

// addBytes copies b.
func (a *arena) addBytes(b []byte) ref { return a.add(unsafe.String(unsafe.SliceData(b), len(b))) }

// bytesOf shows the bytes of s, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func (a *arena) newPage(n int) {
	if len(a.pages) > 0 && a.pages[a.cur].live == 0 {
		a.drop(a.cur)
	}
	size := min(max(arenaMin, a.total), arenaMax)
	size = max(size, n)
	page := arenaPage{buf: make([]byte, 0, size)}
	a.total += size
	if k := len(a.free); k > 0 {
		a.cur = a.free[k-1]
		a.free = a.free[:k-1]
		a.pages[a.cur] = page
		return
	}
	a.cur = uint32(len(a.pages))
	a.pages = append(a.pages, page)
}

func (a *arena) drop(page uint32) {
	a.total -= cap(a.pages[page].buf)
	a.pages[page] = arenaPage{}
	a.free = append(a.free, page)
}

// get gives the string without copying it.
func (a *arena) get(r ref) string {
	if r.n == 0 {
		return ""
	}
	return unsafe.String(&a.pages[r.page].buf[r.off], int(r.n))
}

// remove says that r is no longer in use.
func (a *arena) remove(r ref) {
	if r.n == 0 {
		return
	}
	p := &a.pages[r.page]
	p.live -= int(r.n)
	a.live -= int(r.n)
	if p.live == 0 && r.page != a.cur {
		a.drop(r.page)
	}
}

// wasteful tells whether more than half of a large arena is dead.
func (a *arena) wasteful() bool { return a.total > 4*arenaMax && a.live < a.total/2 }
