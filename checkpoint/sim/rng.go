package sim

// rng is a small random generator: the same numbers for the same seed, on every machine and in every version of Go.
type rng struct{ s uint64 }

func newRNG(seed int64) *rng { return &rng{s: uint64(seed)*0x9e3779b97f4a7c15 + 0x1234567} }

func (r *rng) next() uint64 {
	r.s += 0x9e3779b97f4a7c15
	z := r.s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n gives a number from 0 to n-1.
func (r *rng) n(n int) int { return int(r.next() >> 33 % uint64(n)) }

// one tells in one of n cases.
func (r *rng) one(n int) bool { return r.n(n) == 0 }

// between gives a number from lo to hi.
func (r *rng) between(lo, hi int) int { return lo + r.n(hi-lo+1) }
