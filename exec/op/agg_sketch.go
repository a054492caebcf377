package op

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// sketch is approx_percentile(fraction [, error]): how many values are in each of a row of buckets whose bounds
// grow by a constant factor, so that the middle of a bucket is within the relative error of everything in it.
// Counts can be taken back, so it needs no append-only input, and the state is as large as the range of
// exponents, not as the group.
//
// A bucket is an int64: 0 for zero, positive for positive values, negative for negative ones, and the
// limits for the infinities; NaN comes last.
type sketch struct {
	inputSets[int64]
	direct directArgs
	down   bool
}

const (
	bucketBias = 1 << 40
	bucketInf  = math.MaxInt64 - 1
	bucketNaN  = math.MaxInt64
	// defaultError is the relative error of approx_percentile without its second argument.
	defaultError = 0.01
)

func newSketch(no int, direct []types.Type, desc bool) *sketch {
	a := &sketch{down: desc}
	a.direct.ts = direct
	a.no, a.size, a.cmp = byte(no), 16, cmp.Compare[int64]
	if desc {
		a.cmp = down(a.cmp)
	}
	a.appendKey = func(dst []byte, x int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(x)^1<<63) }
	a.appendVal = binary.AppendVarint
	a.takeVal = func(b []byte) (int64, error) {
		x, rest, err := takeVarint(b)
		if err == nil && len(rest) > 0 {
			err = vec.ErrCorruptRow
		}
		return x, err
	}
	return a
}

// gamma is the factor between the bounds of a bucket for a relative error.
func gamma(relative float64) float64 { return (1 + relative) / (1 - relative) }

func bucketOf(x, logGamma float64) int64 {
	switch {
	case x != x:
		return bucketNaN
	case x == 0:
		return 0
	case x < 0:
		return -bucketOf(-x, logGamma)
	case math.IsInf(x, 1):
		return bucketInf
	}
	return bucketBias + int64(math.Ceil(math.Log(x)/logGamma))
}

func bucketMiddle(k int64, relative float64) float64 {
	switch {
	case k == bucketNaN:
		return math.NaN()
	case k == bucketInf:
		return math.Inf(1)
	case k == 0:
		return 0
	case k < 0:
		return -bucketMiddle(-k, relative)
	}
	g := gamma(relative)
	return min(2*math.Exp(float64(k-bucketBias)*math.Log(g)-math.Log(g+1)), math.MaxFloat64)
}

// relative gives the error that a row asks for; what is out of range is reported with the result.
func (a *sketch) relative(d types.Datum) (float64, bool) {
	return d.F, d.Valid && d.F > 0 && d.F < 1
}

func (a *sketch) add(b *aggBatch) error {
	v := b.args[len(a.direct.ts)]
	rel, logGamma := 0.0, 0.0
	for i, e := range b.ents {
		a.direct.note(e, b.args, i)
		if v.Nulls.Get(i) {
			continue
		}
		r := defaultError
		if len(a.direct.ts) > 1 {
			var ok bool
			if r, ok = a.relative(b.args[1].Datum(i)); !ok {
				r = defaultError
			}
		}
		if r != rel {
			rel, logGamma = r, math.Log(gamma(r))
		}
		a.change(e, bucketOf(v.Float[i], logGamma), b.diff(i))
	}
	return nil
}

func (a *sketch) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		d, err := a.result(e)
		if err == nil {
			dst.AppendDatum(d)
		} else if err := a.tab.failed(err, dst); err != nil {
			return err
		}
	}
	return nil
}

func (a *sketch) result(e uint32) (types.Datum, error) {
	args := a.direct.of(e)
	if args == nil || !args[0].Valid {
		return types.Null, nil
	}
	rel := defaultError
	if len(args) > 1 {
		var ok bool
		if rel, ok = a.relative(args[1]); !args[1].Valid {
			return types.Null, nil
		} else if !ok {
			return types.Null, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "relative error %s is not between 0 and 1", formatG(args[1].F))
		}
	}
	ms := &a.sets.at(e).ms
	if err := checkFraction(args[0].F); err != nil || ms.total == 0 {
		return types.Null, err
	}
	k := max(int64(math.Ceil(float64(args[0].F*float64(ms.total)))), 1)
	x, _ := ms.at(k - 1)
	return types.DFloat(bucketMiddle(x, rel)), nil
}

func (a *sketch) reset(e uint32) {
	a.inputSets.reset(e)
	a.direct.reset(e)
}

func (a *sketch) bytes() int { return a.inputSets.bytes() + a.tab.store.count()*120 }

func (a *sketch) encode(e uint32, dst []byte) []byte { return a.direct.encode(e, dst) }

func (a *sketch) decode(e uint32, b []byte) ([]byte, error) { return a.direct.decode(e, b) }
