package op

import (
	"math"
	"math/big"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// variance and the standard deviations, from the exact sums of the inputs and of their squares, so
// that inputs can be taken back without drift.

type varianceKind struct {
	sample bool // n-1 instead of n
	root   bool
}

func newVariance(name string, t types.Type) (aggregator, int, error) {
	k := varianceKind{sample: !strings.HasSuffix(name, "_pop"), root: strings.HasPrefix(name, "stddev")}
	switch {
	case t.Phys() == types.PhysFloat:
		return &varFloat{varianceKind: k}, 0, nil
	case t.Phys() == types.PhysInt:
		return &varNumeric{varianceKind: k, ints: true}, 0, nil
	case t.Kind == types.Numeric:
		return &varNumeric{varianceKind: k}, 0, nil
	}
	return nil, 0, sqlerr.Newf(sqlerr.FeatureNotSupported, "aggregate function %s is not supported yet", name)
}

// varNumeric works on numerics and integers, with Postgres's formula and scales.
type varNumeric struct {
	varianceKind
	tab   *groupTable
	ints  bool
	state paged[varState]
}

type varState struct{ sum, squares numericState }

func (a *varNumeric) attach(tab *groupTable) { a.tab = tab }

func (a *varNumeric) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		var x types.Decimal
		if a.ints {
			x = types.NewDecimal(v.Int[i], 0)
		} else {
			x = v.Dec[i]
		}
		s, d := a.state.at(e), b.diff(i)
		if err := s.sum.add(x, d); err != nil {
			return err
		}
		if !x.IsFinite() {
			continue
		}
		sq, err := x.Mul(x)
		if err != nil {
			return err
		}
		if err := s.squares.add(sq, d); err != nil {
			return err
		}
	}
	return nil
}

func (a *varNumeric) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		s := a.state.at(e)
		n := s.sum.n
		switch {
		case n == 0, n == 1 && a.sample:
			dst.AppendNull()
			continue
		case s.sum.nan > 0 || s.sum.inf > 0 || s.sum.ninf > 0:
			dst.AppendDec(decNaN)
			continue
		}
		d, err := a.value(s, n)
		if err := a.tab.appendDec(dst)(d, err); err != nil {
			return err
		}
	}
	return nil
}

func (a *varNumeric) value(s *varState, n int64) (types.Decimal, error) {
	count := types.NewDecimal(n, 0)
	sum := s.sum.total()
	sumSq, err := sum.Mul(sum)
	if err != nil {
		return sum, err
	}
	num, err := s.squares.total().Mul(count)
	if err != nil {
		return num, err
	}
	if num = num.Sub(sumSq); num.Sign() <= 0 {
		return types.NewDecimal(0, 0), nil
	}
	below := count
	if a.sample {
		below = types.NewDecimal(n-1, 0)
	}
	den, err := count.Mul(below)
	if err != nil {
		return den, err
	}
	q, err := num.Div(den)
	if err != nil || !a.root {
		return q, err
	}
	return sqrtDecimal(q)
}

// sqrtDecimal gives the square root with the display scale of d, rounded.
func sqrtDecimal(d types.Decimal) (types.Decimal, error) {
	scale := d.Scale()
	digits := strings.Replace(d.String(), ".", "", 1) + strings.Repeat("0", scale)
	c, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return d, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
	}
	q := new(big.Int).Sqrt(c)
	if rest := new(big.Int).Sub(c, new(big.Int).Mul(q, q)); rest.Cmp(q) > 0 {
		q.Add(q, big.NewInt(1))
	}
	text := q.String()
	if len(text) <= scale {
		text = strings.Repeat("0", scale+1-len(text)) + text
	}
	return types.ParseDecimal(text[:len(text)-scale] + "." + text[len(text)-scale:])
}

func (a *varNumeric) reset(e uint32) {
	a.state.ensure(e + 1)
	*a.state.at(e) = varState{}
}

func (a *varNumeric) bytes() int { return a.tab.store.count() * 240 }

func (a *varNumeric) encode(e uint32, dst []byte) []byte {
	s := a.state.at(e)
	return s.squares.encode(s.sum.encode(dst))
}

func (a *varNumeric) decode(e uint32, b []byte) ([]byte, error) {
	s := a.state.at(e)
	b, err := s.sum.decode(b)
	if err != nil {
		return nil, err
	}
	return s.squares.decode(b)
}

// varFloat works on floats.
type varFloat struct {
	varianceKind
	tab   *groupTable
	state paged[varFloatState]
}

// varFloatState has the exact sum of the inputs and of their squares. A square is exact as the sum of
// two floats if it is neither too large nor too small; inputs beyond that are scaled, by range.
type varFloatState struct {
	sum     exactSum
	squares [3]exactSum
}

var squareScale = [3]int{0, -600, 600}

func squareRange(x float64) int {
	switch m := math.Abs(x); {
	case m > 0x1p400:
		return 1
	case m < 0x1p-400:
		return 2
	}
	return 0
}

func (a *varFloat) attach(tab *groupTable) { a.tab = tab }

func (a *varFloat) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		x, d, s := v.Float[i], b.diff(i), a.state.at(e)
		s.sum.add(x, d)
		if x != x || math.IsInf(x, 0) || x == 0 {
			continue
		}
		k := squareRange(x)
		y := math.Ldexp(x, squareScale[k])
		hi := y * y
		s.squares[k].add(hi, d)
		s.squares[k].add(math.FMA(y, y, -hi), d)
	}
	return nil
}

func (a *varFloat) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		s := a.state.at(e)
		n := s.sum.n
		switch {
		case n == 0, n == 1 && a.sample:
			dst.AppendNull()
			continue
		case s.sum.nan > 0 || s.sum.inf > 0 || s.sum.ninf > 0:
			dst.AppendFloat(math.NaN())
			continue
		}
		// n * squares - sum * sum, exactly.
		const prec = 6000
		num := new(big.Float).SetPrec(prec)
		for k := range s.squares {
			sq := s.squares[k].exact()
			num.Add(num, new(big.Float).SetPrec(prec).SetMantExp(sq, -2*squareScale[k]))
		}
		num.Mul(num, new(big.Float).SetInt64(n))
		sum := new(big.Float).SetPrec(prec).Set(s.sum.exact())
		num.Sub(num, new(big.Float).SetPrec(prec).Mul(sum, sum))
		below := n
		if a.sample {
			below = n - 1
		}
		if num.Sign() <= 0 {
			dst.AppendFloat(0)
			continue
		}
		num.SetPrec(300).Quo(num, new(big.Float).SetInt64(n))
		num.Quo(num, new(big.Float).SetInt64(below))
		if a.root {
			num.Sqrt(num)
		}
		x, _ := num.Float64()
		if math.IsInf(x, 0) {
			if err := a.tab.failed(errFloatRange, dst); err != nil {
				return err
			}
			continue
		}
		dst.AppendFloat(x)
	}
	return nil
}

func (a *varFloat) reset(e uint32) {
	a.state.ensure(e + 1)
	*a.state.at(e) = varFloatState{}
}

func (a *varFloat) bytes() int { return a.tab.store.count() * 480 }

func (a *varFloat) encode(e uint32, dst []byte) []byte {
	s := a.state.at(e)
	dst = s.sum.encode(dst)
	for k := range s.squares {
		dst = s.squares[k].encode(dst)
	}
	return dst
}

func (a *varFloat) decode(e uint32, b []byte) ([]byte, error) {
	s := a.state.at(e)
	b, err := s.sum.decode(b)
	for k := range s.squares {
		if err != nil {
			return nil, err
		}
		b, err = s.squares[k].decode(b)
	}
	return b, err
}
