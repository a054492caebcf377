package op

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/weirdb/weir/exec/vec"
)

// regr is corr, covar_* and regr_*, whose arguments are (Y, X): from the exact sums of the inputs, their squares and
// products, so that inputs can be taken back without drift.
type regr struct {
	tab   *groupTable
	name  string
	state paged[regrState]
}

// regrState has the sums over the n pairs without NULL. x and y count and add all; the products leave out
// what is not finite, of which there are oddX, oddY and, in either, oddXY.
type regrState struct {
	n                 int64
	oddX, oddY, oddXY int64
	x, y              exactSum
	xx, yy, xy        productSum
}

// productSum is an exact sum of products. A product is exact as the sum of two floats if its exponent is
// neither too large nor too small; the others are scaled, by range.
type productSum [4]exactSum

var productScale = [4]int{0, -1400, 1400, 2000}

func (p *productSum) add(x, y float64, d int64) {
	if x == 0 || y == 0 {
		return
	}
	mx, ex := math.Frexp(x)
	my, ey := math.Frexp(y)
	k := 0
	switch e := ex + ey; {
	case e > 900:
		k = 1
	case e < -1800:
		k = 3
	case e < -900:
		k = 2
	}
	hi := mx * my
	lo := math.FMA(mx, my, -hi)
	e := ex + ey + productScale[k]
	p[k].add(math.Ldexp(hi, e), d)
	if lo != 0 {
		p[k].add(math.Ldexp(lo, e), d)
	}
}

// regrPrec holds products of sums of any floats.
const regrPrec = 6000

func bigFloat() *big.Float { return new(big.Float).SetPrec(regrPrec) }

func (p *productSum) exact() *big.Float {
	sum := bigFloat()
	for k := range p {
		sum.Add(sum, bigFloat().SetMantExp(p[k].exact(), -productScale[k]))
	}
	return sum
}

func (a *regr) attach(tab *groupTable) { a.tab = tab }

func (a *regr) add(b *aggBatch) error {
	yv, xv := b.args[0], b.args[1]
	for i, e := range b.ents {
		if yv.Nulls.Get(i) || xv.Nulls.Get(i) {
			continue
		}
		s, d, x, y := a.state.at(e), b.diff(i), xv.Float[i], yv.Float[i]
		s.n += d
		if a.name == "regr_count" {
			continue
		}
		s.x.add(x, d)
		s.y.add(y, d)
		okX, okY := isFinite(x), isFinite(y)
		if !okX {
			s.oddX += d
		}
		if !okY {
			s.oddY += d
		}
		if !okX || !okY {
			s.oddXY += d
		}
		if okX {
			s.xx.add(x, x, d)
		}
		if okY {
			s.yy.add(y, y, d)
		}
		if okX && okY {
			s.xy.add(x, y, d)
		}
	}
	return nil
}

func isFinite(x float64) bool { return x-x == 0 }

func (a *regr) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		s := a.state.at(e)
		if a.name == "regr_count" {
			dst.AppendInt(s.n)
			continue
		}
		if s.n == 0 {
			dst.AppendNull()
			continue
		}
		x, valid := s.value(a.name)
		switch {
		case !valid:
			dst.AppendNull()
		case math.IsInf(x, 0) && s.oddXY == 0:
			if err := a.tab.failed(errFloatRange, dst); err != nil {
				return err
			}
		default:
			dst.AppendFloat(x)
		}
	}
	return nil
}

// value gives the result; valid is false for NULL.
func (s *regrState) value(name string) (x float64, valid bool) {
	nan := math.NaN()
	oddXX, oddYY, oddXY := s.oddX > 0, s.oddY > 0, s.oddXY > 0
	switch name {
	case "regr_avgx":
		return s.mean(&s.x), true
	case "regr_avgy":
		return s.mean(&s.y), true
	case "regr_sxx":
		if oddXX {
			return nan, true
		}
		return s.over(s.sxx(), s.n), true
	case "regr_syy":
		if oddYY {
			return nan, true
		}
		return s.over(s.syy(), s.n), true
	case "regr_sxy", "covar_pop", "covar_samp":
		if name == "covar_samp" && s.n < 2 {
			return 0, false
		}
		if oddXY {
			return nan, true
		}
		q := s.sxy()
		switch name {
		case "covar_pop":
			q = quo(q, bigInt(s.n))
		case "covar_samp":
			q = quo(q, bigInt(s.n-1))
		}
		return s.over(q, s.n), true
	}
	// The others divide by n*Sxx or n*Syy.
	var sxx, syy *big.Float
	if !oddXX {
		if sxx = s.sxx(); sxx.Sign() <= 0 {
			return 0, false
		}
	}
	if !oddYY {
		syy = s.syy()
	}
	switch name {
	case "corr":
		if syy != nil && syy.Sign() <= 0 {
			return 0, false
		}
		if oddXY {
			return nan, true
		}
		return s.over(quo(s.sxy(), new(big.Float).SetPrec(300).Sqrt(bigFloat().Mul(sxx, syy))), 1), true
	case "regr_r2":
		if syy != nil && syy.Sign() <= 0 {
			return 1, true
		}
		if oddXY {
			return nan, true
		}
		q := s.sxy()
		return s.over(quo(bigFloat().Mul(q, q), bigFloat().Mul(sxx, syy)), 1), true
	case "regr_slope":
		if oddXY {
			return nan, true
		}
		return s.over(quo(s.sxy(), sxx), 1), true
	default: // regr_intercept: (Sy - Sx * slope) / n
		if oddXY {
			return nan, true
		}
		num := bigFloat().Mul(bigFloat().Set(s.y.exact()), sxx)
		num.Sub(num, bigFloat().Mul(bigFloat().Set(s.x.exact()), s.sxy()))
		return s.over(quo(num, sxx), s.n), true
	}
}

func bigInt(n int64) *big.Float { return new(big.Float).SetInt64(n) }

func quo(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(300).Quo(x, y) }

// over gives x/n, rounded.
func (s *regrState) over(x *big.Float, n int64) float64 {
	f, _ := quo(x, bigInt(n)).Float64()
	return f
}

func (s *regrState) mean(sum *exactSum) float64 {
	if sum.nan+sum.inf+sum.ninf > 0 {
		x, _ := sum.value()
		return x
	}
	return s.over(sum.exact(), s.n)
}

// sxx, syy and sxy are n times what their names say.
func (s *regrState) sxx() *big.Float { return s.spread(&s.xx, &s.x, &s.x) }
func (s *regrState) syy() *big.Float { return s.spread(&s.yy, &s.y, &s.y) }
func (s *regrState) sxy() *big.Float { return s.spread(&s.xy, &s.x, &s.y) }

func (s *regrState) spread(p *productSum, x, y *exactSum) *big.Float {
	sum := p.exact()
	sum.Mul(sum, bigInt(s.n))
	return sum.Sub(sum, bigFloat().Mul(bigFloat().Set(x.exact()), bigFloat().Set(y.exact())))
}

func (a *regr) reset(e uint32) {
	a.state.ensure(e + 1)
	*a.state.at(e) = regrState{}
}

func (a *regr) bytes() int { return a.tab.store.count() * 1700 }

// sums lists what is written besides the counters.
func (s *regrState) sums() []*exactSum {
	out := []*exactSum{&s.x, &s.y}
	for _, p := range []*productSum{&s.xx, &s.yy, &s.xy} {
		for k := range p {
			out = append(out, &p[k])
		}
	}
	return out
}

func (a *regr) encode(e uint32, dst []byte) []byte {
	s := a.state.at(e)
	for _, x := range []int64{s.n, s.oddX, s.oddY, s.oddXY} {
		dst = binary.AppendVarint(dst, x)
	}
	if a.name == "regr_count" {
		return dst
	}
	for _, x := range s.sums() {
		dst = x.encode(dst)
	}
	return dst
}

func (a *regr) decode(e uint32, b []byte) ([]byte, error) {
	s := a.state.at(e)
	var err error
	for _, x := range []*int64{&s.n, &s.oddX, &s.oddY, &s.oddXY} {
		if *x, b, err = takeVarint(b); err != nil {
			return nil, err
		}
	}
	if a.name == "regr_count" {
		return b, nil
	}
	for _, x := range s.sums() {
		if b, err = x.decode(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}
