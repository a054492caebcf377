package op

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Sums of floats are exact: the result is the true sum of the present inputs, rounded once. So it
// depends neither on their order nor on what came and went, and a view always equals its query
// run from scratch. (Adding and subtracting in floating point would drift.)
//
//  1. The sum is kept as an expansion (Shewchuk): floats of growing magnitude whose bits do not overlap and
//     whose true sum is the value. Adding x runs through it once with error-free additions. It
//     rarely has more than three parts.
//  2. Inputs from 2^900 on would overflow on the way; they have an expansion of their own, scaled by 2^-200,
//     and are joined in arbitrary precision when the result is asked for.
//  3. NaN and the infinities are counted, and so are negative zeros: the sum of those alone is -0.
type exactSum struct {
	n, nan, inf, ninf, negZero int64
	parts, huge                []float64
}

const (
	hugeLimit = 0x1p900
	hugeScale = 0x1p-200
)

func addExact(parts []float64, x float64) []float64 {
	i := 0
	for _, y := range parts {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		hi := x + y
		lo := y - (hi - x)
		if lo != 0 {
			parts[i] = lo
			i++
		}
		x = hi
	}
	if x == 0 {
		return parts[:i]
	}
	return append(parts[:i], x)
}

// add adds d times x.
func (s *exactSum) add(x float64, d int64) {
	s.n += d
	switch {
	case x != x:
		s.nan += d
		return
	case math.IsInf(x, 1):
		s.inf += d
		return
	case math.IsInf(x, -1):
		s.ninf += d
		return
	case x == 0:
		if math.Signbit(x) {
			s.negZero += d
		}
		return
	}
	if d < 0 {
		x, d = -x, -d
	}
	// d is 1 as a rule; else add by doubling.
	for ; d > 0; d >>= 1 {
		if d&1 != 0 {
			if math.Abs(x) >= hugeLimit {
				s.huge = addExact(s.huge, x*hugeScale)
			} else {
				s.parts = addExact(s.parts, x)
			}
		}
		x *= 2
	}
}

// value gives the sum; ok is false if it overflows.
func (s *exactSum) value() (x float64, ok bool) {
	switch {
	case s.nan > 0 || s.inf > 0 && s.ninf > 0:
		return math.NaN(), true
	case s.inf > 0:
		return math.Inf(1), true
	case s.ninf > 0:
		return math.Inf(-1), true
	case len(s.huge) > 0:
		x, _ = s.exact().Float64()
		return x, !math.IsInf(x, 0)
	case len(s.parts) == 0 && s.negZero > 0 && s.negZero == s.n:
		return math.Copysign(0, -1), true
	}
	return roundExact(s.parts), true
}

// exact gives the finite sum in arbitrary precision.
func (s *exactSum) exact() *big.Float {
	const prec = 2400 // more than the range of float64 exponents plus a mantissa
	f := new(big.Float).SetPrec(prec)
	for _, p := range s.huge {
		f.Add(f, new(big.Float).SetMantExp(big.NewFloat(p), 200))
	}
	for _, p := range s.parts {
		f.Add(f, big.NewFloat(p))
	}
	return f
}

// roundExact rounds the value of an expansion to the nearest float, ties to even.
func roundExact(p []float64) float64 {
	n := len(p)
	if n == 0 {
		return 0
	}
	hi, lo := p[n-1], 0.0
	for n--; n > 0; {
		x, y := hi, p[n-1]
		n--
		hi = x + y
		lo = y - (hi - x)
		if lo != 0 {
			break
		}
	}
	// The rest decides when lo is exactly half a unit of hi.
	if n > 0 && (lo < 0 && p[n-1] < 0 || lo > 0 && p[n-1] > 0) {
		y := lo * 2
		x := hi + y
		if y == x-hi {
			hi = x
		}
	}
	return hi
}

func (s *exactSum) encode(dst []byte) []byte {
	for _, x := range []int64{s.n, s.nan, s.inf, s.ninf, s.negZero, int64(len(s.parts)), int64(len(s.huge))} {
		dst = binary.AppendVarint(dst, x)
	}
	for _, p := range s.parts {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(p))
	}
	for _, p := range s.huge {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(p))
	}
	return dst
}

func (s *exactSum) decode(b []byte) ([]byte, error) {
	var f [7]int64
	var err error
	for i := range f {
		if f[i], b, err = takeVarint(b); err != nil {
			return nil, err
		}
	}
	*s = exactSum{n: f[0], nan: f[1], inf: f[2], ninf: f[3], negZero: f[4]}
	if f[5] < 0 || f[6] < 0 || f[5] > 64 || f[6] > 64 || int64(len(b)) < 8*(f[5]+f[6]) {
		return nil, vec.ErrCorruptRow
	}
	for i := range f[5] + f[6] {
		x := math.Float64frombits(binary.LittleEndian.Uint64(b))
		b = b[8:]
		if i < f[5] {
			s.parts = append(s.parts, x)
		} else {
			s.huge = append(s.huge, x)
		}
	}
	return b, nil
}

var (
	errFloatRange    = sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value out of range: overflow")
	errIntervalRange = sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "interval out of range")
)

// sumFloat is sum and avg of float8 and float4.
type sumFloat struct {
	tab    *groupTable
	avg    bool
	single bool // the result is a float4
	state  paged[exactSum]
}

func (a *sumFloat) attach(tab *groupTable) { a.tab = tab }

func (a *sumFloat) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if !v.Nulls.Get(i) {
			a.state.at(e).add(v.Float[i], b.diff(i))
		}
	}
	return nil
}

func (a *sumFloat) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		s := a.state.at(e)
		if s.n == 0 {
			dst.AppendNull()
			continue
		}
		x, ok := s.value()
		if a.avg {
			x /= float64(s.n)
		}
		if a.single {
			if f := float64(float32(x)); math.IsInf(f, 0) && !math.IsInf(x, 0) {
				ok = false
			} else {
				x = f
			}
		}
		if ok {
			dst.AppendFloat(x)
		} else if err := a.tab.failed(errFloatRange, dst); err != nil {
			return err
		}
	}
	return nil
}

func (a *sumFloat) reset(e uint32) {
	a.state.ensure(e + 1)
	*a.state.at(e) = exactSum{}
}

func (a *sumFloat) bytes() int                         { return a.tab.store.count() * 120 }
func (a *sumFloat) encode(e uint32, dst []byte) []byte { return a.state.at(e).encode(dst) }
func (a *sumFloat) decode(e uint32, b []byte) ([]byte, error) {
	return a.state.at(e).decode(b)
}
