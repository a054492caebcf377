package op

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// sumInt is sum and avg of integers. Words: the sum (two for int8: low, high), then the count of
// values that are not NULL.
type sumInt struct {
	wordAgg
	wide bool // int8: the sum needs 128 bits
	avg  bool
}

func (a *sumInt) words() int {
	if a.wide {
		return 3
	}
	return 2
}

func (a *sumInt) add(b *aggBatch) error {
	v := b.args[0]
	xs := v.Int[:b.n]
	pages, w, off := a.tab.words.pages, a.tab.words.w, a.off
	nulls := v.HasNulls()
	for i, e := range b.ents {
		if nulls && v.Nulls.Get(i) {
			continue
		}
		d := b.diff(i)
		rec := pages[e>>pageBits][int(e&pageMask)*w+off:]
		if !a.wide {
			rec[0] += xs[i] * d
			rec[1] += d
			continue
		}
		hi, lo := bits.Mul64(uint64(xs[i]), uint64(d))
		// Signed product: take off the sign extensions.
		if xs[i] < 0 {
			hi -= uint64(d)
		}
		if d < 0 {
			hi -= uint64(xs[i])
		}
		var carry uint64
		lo, carry = bits.Add64(uint64(rec[0]), lo, 0)
		hi, _ = bits.Add64(uint64(rec[1]), hi, carry)
		rec[0], rec[1] = int64(lo), int64(hi)
		rec[2] += d
	}
	return nil
}

var twoTo64 = func() types.Decimal {
	d, err := types.ParseDecimal("18446744073709551616")
	if err != nil {
		panic(err)
	}
	return d
}()

// decimal128 gives a 128-bit integer as a numeric.
func decimal128(hi, lo int64) (types.Decimal, error) {
	if hi == lo>>63 {
		return types.NewDecimal(lo, 0), nil
	}
	d, err := types.NewDecimal(hi, 0).Mul(twoTo64)
	if err != nil {
		return d, err
	}
	low := types.NewDecimal(lo, 0)
	if lo < 0 {
		low = low.Add(twoTo64)
	}
	return d.Add(low), nil
}

func (a *sumInt) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		rec := a.tab.rec(e)[a.off:]
		if !a.wide {
			switch n := rec[1]; {
			case n == 0:
				dst.AppendNull()
			case !a.avg:
				dst.AppendInt(rec[0])
			default:
				if err := a.tab.appendDec(dst)(types.NewDecimal(rec[0], 0).Div(types.NewDecimal(n, 0))); err != nil {
					return err
				}
			}
			continue
		}
		if rec[2] == 0 {
			dst.AppendNull()
			continue
		}
		d, err := decimal128(rec[1], rec[0])
		if err == nil && a.avg {
			d, err = d.Div(types.NewDecimal(rec[2], 0))
		}
		if err := a.tab.appendDec(dst)(d, err); err != nil {
			return err
		}
	}
	return nil
}

func (a *sumInt) encode(e uint32, dst []byte) []byte { return a.encodeWords(e, a.words(), dst) }
func (a *sumInt) decode(e uint32, b []byte) ([]byte, error) {
	return a.decodeWords(e, a.words(), b)
}

// appendDec appends a numeric result; an error becomes NULL if the context lets the work go on.
func (g *groupTable) appendDec(dst *vec.Vector) func(types.Decimal, error) error {
	return func(d types.Decimal, err error) error {
		if err == nil {
			dst.AppendDec(d)
			return nil
		}
		return g.failed(err, dst)
	}
}

// failed reports that an aggregate of a group failed and appends NULL if the work may go on.
func (g *groupTable) failed(err error, dst *vec.Vector) error {
	if g.rowError != nil {
		f := exec.RowFailure{Err: err, Site: g.site, Diff: g.diff}
		if i := dst.Len() - g.from; i < len(g.of) {
			if f.Diff > 0 && !g.owner.exists(g.of[i]) {
				dst.AppendNull() // nobody will see it
				return nil
			}
			f.Cols = g.keyOf(g.of[i])
		}
		err = g.rowError(f)
	}
	if err == nil {
		dst.AppendNull()
	}
	return err
}

// keyOf gives the key of an entry, as a row.
func (g *groupTable) keyOf(e uint32) []*vec.Vector {
	out := make([]*vec.Vector, len(g.keyTypes))
	for k, t := range g.keyTypes {
		out[k] = vec.NewVector(t, 1)
		g.store.gather(k, []uint32{e}, out[k])
	}
	return out
}

// sumNumeric is sum and avg of numerics. NaN and the infinities are counted apart, so that they
// can be taken back. The scale of the result is the largest scale among the present inputs, hence
// the counts by scale.
type sumNumeric struct {
	tab   *groupTable
	avg   bool
	state paged[numericState]
}

type numericState struct {
	n, nan, inf, ninf int64
	sum               types.Decimal
	scales            []scaleCount
}

type scaleCount struct {
	scale int
	n     int64
}

func (s *numericState) countScale(scale int, d int64) {
	for i := range s.scales {
		if c := &s.scales[i]; c.scale == scale {
			if c.n += d; c.n == 0 {
				s.scales = append(s.scales[:i], s.scales[i+1:]...)
			}
			return
		}
	}
	s.scales = append(s.scales, scaleCount{scale, d})
}

func (s *numericState) maxScale() int {
	m := 0
	for _, c := range s.scales {
		if c.n > 0 {
			m = max(m, c.scale)
		}
	}
	return m
}

func (s *numericState) add(x types.Decimal, d int64) error {
	s.n += d
	switch x.Form() {
	case types.NaN:
		s.nan += d
		return nil
	case types.Infinite:
		s.inf += d
		return nil
	case types.NegInfinite:
		s.ninf += d
		return nil
	}
	s.countScale(x.Scale(), d)
	switch d {
	case 1:
		s.sum = s.sum.Add(x)
	case -1:
		s.sum = s.sum.Sub(x)
	default:
		p, err := x.Mul(types.NewDecimal(d, 0))
		if err != nil {
			return err
		}
		s.sum = s.sum.Add(p)
	}
	return nil
}

// total gives the sum with its display scale.
func (s *numericState) total() types.Decimal {
	switch {
	case s.nan > 0 || s.inf > 0 && s.ninf > 0:
		return decNaN
	case s.inf > 0:
		return decInf
	case s.ninf > 0:
		return decNegInf
	}
	if m := s.maxScale(); m != s.sum.Scale() {
		return s.sum.Round(m)
	}
	return s.sum
}

var decNaN, decInf, decNegInf = mustDecimal("NaN"), mustDecimal("Infinity"), mustDecimal("-Infinity")

func mustDecimal(s string) types.Decimal {
	d, err := types.ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return d
}

func (s *numericState) encode(dst []byte) []byte {
	for _, x := range []int64{s.n, s.nan, s.inf, s.ninf, int64(len(s.scales))} {
		dst = binary.AppendVarint(dst, x)
	}
	for _, c := range s.scales {
		dst = binary.AppendVarint(dst, int64(c.scale))
		dst = binary.AppendVarint(dst, c.n)
	}
	return s.sum.AppendBinary(dst)
}

func (s *numericState) decode(b []byte) ([]byte, error) {
	var f [5]int64
	var err error
	for i := range f {
		if f[i], b, err = takeVarint(b); err != nil {
			return nil, err
		}
	}
	*s = numericState{n: f[0], nan: f[1], inf: f[2], ninf: f[3]}
	for range f[4] {
		var sc, n int64
		if sc, b, err = takeVarint(b); err != nil {
			return nil, err
		}
		if n, b, err = takeVarint(b); err != nil {
			return nil, err
		}
		s.scales = append(s.scales, scaleCount{int(sc), n})
	}
	s.sum, b, err = types.DecodeDecimal(b)
	return b, err
}

func (a *sumNumeric) attach(tab *groupTable) { a.tab = tab }

func (a *sumNumeric) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		if err := a.state.at(e).add(v.Dec[i], b.diff(i)); err != nil {
			return err
		}
	}
	return nil
}

func (a *sumNumeric) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		s := a.state.at(e)
		if s.n == 0 {
			dst.AppendNull()
			continue
		}
		d := s.total()
		var err error
		if a.avg {
			d, err = d.Div(types.NewDecimal(s.n, 0))
		}
		if err := a.tab.appendDec(dst)(d, err); err != nil {
			return err
		}
	}
	return nil
}

func (a *sumNumeric) reset(e uint32) {
	a.state.ensure(e + 1)
	*a.state.at(e) = numericState{}
}

func (a *sumNumeric) bytes() int                         { return a.tab.store.count() * 120 }
func (a *sumNumeric) encode(e uint32, dst []byte) []byte { return a.state.at(e).encode(dst) }
func (a *sumNumeric) decode(e uint32, b []byte) ([]byte, error) {
	return a.state.at(e).decode(b)
}

// sumInterval is sum and avg of intervals. Words: months, days, microseconds, count.
type sumInterval struct {
	wordAgg
	avg bool
}

func (a *sumInterval) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		rec, d, x := a.tab.rec(e)[a.off:], b.diff(i), v.Span[i]
		rec[0] += int64(x.Months) * d
		rec[1] += int64(x.Days) * d
		rec[2] += x.Micros * d
		rec[3] += d
	}
	return nil
}

func (a *sumInterval) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		rec := a.tab.rec(e)[a.off:]
		switch n := rec[3]; {
		case n == 0:
			dst.AppendNull()
		case rec[0] != int64(int32(rec[0])) || rec[1] != int64(int32(rec[1])):
			if err := a.tab.failed(errIntervalRange, dst); err != nil {
				return err
			}
		default:
			x := types.Span{Months: int32(rec[0]), Days: int32(rec[1]), Micros: rec[2]}
			if a.avg {
				x = divideSpan(x, float64(n))
			}
			dst.AppendSpan(x)
		}
	}
	return nil
}

func (a *sumInterval) encode(e uint32, dst []byte) []byte        { return a.encodeWords(e, 4, dst) }
func (a *sumInterval) decode(e uint32, b []byte) ([]byte, error) { return a.decodeWords(e, 4, b) }

// divideSpan divides as Postgres does: what is left of months goes to days (30 a month), what is
// left of days to the time.
func divideSpan(x types.Span, f float64) types.Span {
	const day = 86400.0
	round := func(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }
	r := types.Span{Months: int32(float64(x.Months) / f), Days: int32(float64(x.Days) / f)}
	restDays := round((float64(x.Months)/f - float64(r.Months)) * 30)
	sec := round((float64(x.Days)/f - float64(r.Days) + restDays - math.Trunc(restDays)) * day)
	if math.Abs(sec) >= day {
		r.Days += int32(sec / day)
		sec -= math.Trunc(sec/day) * day
	}
	r.Days += int32(restDays)
	r.Micros = int64(math.RoundToEven(float64(x.Micros)/f + sec*1e6))
	return r
}
