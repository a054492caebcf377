package op

import "math/bits"

// stateMerger is an aggregator whose state over two sets of rows follows from the states over each: then the nodes of
// an orderTree keep states.
type stateMerger interface {
	aggregator
	// merge adds the state of src to that of dst.
	merge(dst, src uint32)
}

func (w *wordAgg) mergeWords(dst, src uint32, n int) {
	d, s := w.tab.rec(dst)[w.off:w.off+n], w.tab.rec(src)[w.off:w.off+n]
	for i := range d {
		d[i] += s[i]
	}
}

func (a *countStar) merge(dst, src uint32)   { a.mergeWords(dst, src, 1) }
func (a *countArg) merge(dst, src uint32)    { a.mergeWords(dst, src, 1) }
func (a *boolAgg) merge(dst, src uint32)     { a.mergeWords(dst, src, 2) }
func (a *sumInterval) merge(dst, src uint32) { a.mergeWords(dst, src, 4) }

func (a *sumInt) merge(dst, src uint32) {
	if !a.wide {
		a.mergeWords(dst, src, 2)
		return
	}
	d, s := a.tab.rec(dst)[a.off:], a.tab.rec(src)[a.off:]
	lo, carry := bits.Add64(uint64(d[0]), uint64(s[0]), 0)
	hi, _ := bits.Add64(uint64(d[1]), uint64(s[1]), carry)
	d[0], d[1] = int64(lo), int64(hi)
	d[2] += s[2]
}

func (s *numericState) merge(o *numericState) {
	s.n += o.n
	s.nan += o.nan
	s.inf += o.inf
	s.ninf += o.ninf
	for _, c := range o.scales {
		s.countScale(c.scale, c.n)
	}
	s.sum = s.sum.Add(o.sum)
}

func (a *sumNumeric) merge(dst, src uint32) { a.state.at(dst).merge(a.state.at(src)) }

func (a *varNumeric) merge(dst, src uint32) {
	d, s := a.state.at(dst), a.state.at(src)
	d.sum.merge(&s.sum)
	d.squares.merge(&s.squares)
}

func (s *exactSum) merge(o *exactSum) {
	s.n += o.n
	s.nan += o.nan
	s.inf += o.inf
	s.ninf += o.ninf
	s.negZero += o.negZero
	for _, x := range o.parts {
		s.parts = addExact(s.parts, x)
	}
	for _, x := range o.huge {
		s.huge = addExact(s.huge, x)
	}
}

func (a *sumFloat) merge(dst, src uint32) { a.state.at(dst).merge(a.state.at(src)) }

func (a *varFloat) merge(dst, src uint32) {
	d, s := a.state.at(dst), a.state.at(src)
	d.sum.merge(&s.sum)
	for k := range d.squares {
		d.squares[k].merge(&s.squares[k])
	}
}

func (a *bitAgg) merge(dst, src uint32) {
	d, s := a.state.at(dst), a.state.at(src)
	d.n += s.n
	for i := range d.ones {
		d.ones[i] += s.ones[i]
	}
}

var (
	_ stateMerger = (*countStar)(nil)
	_ stateMerger = (*sumInt)(nil)
)

func (s *regrState) merge(o *regrState) {
	s.n += o.n
	s.oddX += o.oddX
	s.oddY += o.oddY
	s.oddXY += o.oddXY
	s.x.merge(&o.x)
	s.y.merge(&o.y)
	for i := range s.xx {
		s.xx[i].merge(&o.xx[i])
		s.yy[i].merge(&o.yy[i])
		s.xy[i].merge(&o.xy[i])
	}
}

func (a *regr) merge(dst, src uint32) { a.state.at(dst).merge(a.state.at(src)) }
