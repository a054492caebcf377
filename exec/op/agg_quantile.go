package op

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Ordered-set aggregates keep the values of a group in a sorted multiset that is an order statistic: a change
// costs what it costs min and max, a result a look-up by place.

// withinGroup chooses the implementation of an ordered-set aggregate.
func withinGroup(g Agg, no int, args []types.Type) (aggregator, int, error) {
	direct := g.Fn.DirectArgs(len(args))
	if g.Fn.Hypothetical {
		return newHypothetical(g, no, args), 0, nil
	}
	if direct != len(args)-1 || len(g.OrderBy) != 1 {
		return nil, 0, unsupported(g)
	}
	t, desc := args[direct], g.OrderBy[0].Desc
	switch g.Fn.Name {
	case "approx_percentile":
		return newSketch(no, args[:direct], desc), 0, nil
	case "percentile_cont", "percentile_disc":
		switch t.Phys() {
		case types.PhysInt, types.PhysBool:
			return newQuantile(g.Fn.Name, no, args, desc, 16, intValues(t)), 0, nil
		case types.PhysFloat:
			return newQuantile(g.Fn.Name, no, args, desc, 16, floatValues(t)), 0, nil
		}
		return newQuantile(g.Fn.Name, no, args, desc, 120, datumValues(t)), 0, nil
	case "mode":
		switch t.Phys() {
		case types.PhysInt, types.PhysBool:
			return newMode(no, desc, 16, intValues(t)), 0, nil
		case types.PhysFloat:
			return newMode(no, desc, 16, floatValues(t)), 0, nil
		}
		return newMode(no, desc, 120, datumValues(t)), 0, nil
	}
	return nil, 0, unsupported(g)
}

// values is how a multiset holds the values of a type. cmp is total, sql takes what is equal in SQL for equal.
type values[T any] struct {
	t        types.Type
	cmp, sql func(a, b T) int
	get      func(v *vec.Vector, i int) T
	put      func(T) types.Datum
	take     func(types.Datum) T
}

func intValues(t types.Type) values[int64] {
	get := func(v *vec.Vector, i int) int64 { return v.Int[i] }
	if t.Phys() == types.PhysBool {
		get = func(v *vec.Vector, i int) int64 { return types.DBool(v.Bool[i]).I }
	}
	return values[int64]{
		t: t, cmp: cmp.Compare[int64], sql: cmp.Compare[int64], get: get,
		put: types.DInt, take: func(d types.Datum) int64 { return d.I },
	}
}

func floatValues(t types.Type) values[float64] {
	return values[float64]{
		t: t, cmp: compareFloatTotal, sql: types.CompareFloat,
		get: func(v *vec.Vector, i int) float64 { return v.Float[i] },
		put: types.DFloat, take: func(d types.Datum) float64 { return d.F },
	}
}

func datumValues(t types.Type) values[types.Datum] {
	same := func(d types.Datum) types.Datum { return d }
	return values[types.Datum]{
		t:   t,
		cmp: func(a, b types.Datum) int { return compareTotal(t, a, b) },
		sql: func(a, b types.Datum) int { return types.Compare(t, a, b) },
		get: func(v *vec.Vector, i int) types.Datum { return cloned(v.Datum(i)) },
		put: same, take: same,
	}
}

func down[T any](cmp func(a, b T) int) func(a, b T) int { return func(a, b T) int { return cmp(b, a) } }

// setValues prepares inputs that hold values.
func (a *inputSets[T]) setValues(no, size int, v values[T]) {
	a.no, a.size, a.cmp = byte(no), size, v.cmp
	a.appendKey = func(dst []byte, x T) []byte { return appendDatumKey(dst, v.t, v.put(x), true) }
	a.appendVal = func(dst []byte, x T) []byte { return types.AppendDatum(dst, v.t.Kind, v.put(x)) }
	a.takeVal = func(b []byte) (x T, err error) {
		d, rest, err := types.DecodeDatum(string(b), v.t.Kind)
		if err == nil && (rest != "" || !d.Valid) {
			err = vec.ErrCorruptRow
		}
		return v.take(d), err
	}
}

// quantile is percentile_cont and percentile_disc, for one fraction or an array of them.
type quantile[T any] struct {
	inputSets[T]
	values[T]
	direct directArgs
	cont   bool
}

func newQuantile[T any](name string, no int, args []types.Type, desc bool, size int, v values[T]) *quantile[T] {
	if desc {
		v.cmp, v.sql = down(v.cmp), down(v.sql)
	}
	q := &quantile[T]{values: v, cont: name == "percentile_cont"}
	q.direct.ts = args[:1]
	q.setValues(no, size, v)
	return q
}

func (a *quantile[T]) add(b *aggBatch) error {
	v := b.args[1]
	for i, e := range b.ents {
		a.direct.note(e, b.args, i)
		if !v.Nulls.Get(i) {
			a.change(e, a.get(v, i), b.diff(i))
		}
	}
	return nil
}

func (a *quantile[T]) results(ents []uint32, dst *vec.Vector) error {
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

func (a *quantile[T]) result(e uint32) (types.Datum, error) {
	args := a.direct.of(e)
	if args == nil || !args[0].Valid {
		return types.Null, nil
	}
	ms := &a.sets.at(e).ms
	if a.direct.ts[0].Kind != types.Array {
		if err := checkFraction(args[0].F); err != nil || ms.total == 0 {
			return types.Null, err
		}
		return a.pick(ms, args[0].F)
	}
	if ms.total == 0 {
		return types.Null, nil
	}
	fs, err := types.DecodeArray(args[0].S)
	if err != nil {
		return types.Null, err
	}
	out := types.ArrayValue{Elem: a.t.Kind, Dims: fs.Dims, Elems: make([]types.Datum, len(fs.Elems))}
	for _, f := range fs.Elems {
		if err := checkFraction(f.F); f.Valid && err != nil {
			return types.Null, err
		}
	}
	for i, f := range fs.Elems {
		if !f.Valid {
			continue
		}
		if out.Elems[i], err = a.pick(ms, f.F); err != nil {
			return types.Null, err
		}
	}
	return types.DStr(out.Encode()), nil
}

func checkFraction(p float64) error {
	if p < 0 || p > 1 || p != p {
		return sqlerr.Newf(sqlerr.NumericValueOutOfRange, "percentile value %s is not between 0 and 1", formatG(p))
	}
	return nil
}

// pick gives the percentile of values that are not empty.
func (a *quantile[T]) pick(ms *multiset[T], p float64) (types.Datum, error) {
	if !a.cont {
		k := max(int64(math.Ceil(float64(p*float64(ms.total)))), 1)
		x, _ := ms.at(k - 1)
		return a.put(x), nil
	}
	at := float64(p * float64(ms.total-1))
	lo, hi := int64(math.Floor(at)), int64(math.Ceil(at))
	x, _ := ms.at(lo)
	if lo == hi {
		return a.put(x), nil
	}
	y, _ := ms.at(hi)
	return between(a.t, a.put(x), a.put(y), at-float64(lo))
}

// between interpolates.
func between(t types.Type, lo, hi types.Datum, p float64) (types.Datum, error) {
	if t.Kind == types.Interval {
		d, err := hi.Span.Sub(lo.Span)
		if err == nil {
			d, err = d.Mul(p)
		}
		if err == nil {
			d, err = lo.Span.Add(d)
		}
		return types.DSpan(d), err
	}
	// The conversion keeps the compiler from fusing, which would round less.
	return types.DFloat(lo.F + float64(p*(hi.F-lo.F))), nil
}

func (a *quantile[T]) reset(e uint32) {
	a.inputSets.reset(e)
	a.direct.reset(e)
}

func (a *quantile[T]) bytes() int { return a.inputSets.bytes() + a.tab.store.count()*120 }

func (a *quantile[T]) encode(e uint32, dst []byte) []byte { return a.direct.encode(e, dst) }

func (a *quantile[T]) decode(e uint32, b []byte) ([]byte, error) { return a.direct.decode(e, b) }

// mode is the most frequent value, of several the first. Beside the multiset of the values it keeps one of the
// different values by how often they occur.
type mode[T any] struct {
	inputSets[T]
	values[T]
	freq  paged[multiset[modeItem[T]]]
	byNum func(a, b modeItem[T]) int
}

// modeItem is a value that occurs n times, with all that are equal to it in SQL.
type modeItem[T any] struct {
	v T
	n int64
}

func newMode[T any](no int, desc bool, size int, v values[T]) *mode[T] {
	if desc {
		v.cmp, v.sql = down(v.cmp), down(v.sql)
	}
	m := &mode[T]{values: v}
	m.setValues(no, size, v)
	m.byNum = func(a, b modeItem[T]) int {
		if a.n != b.n {
			return cmp.Compare(b.n, a.n)
		}
		return v.sql(a.v, b.v)
	}
	return m
}

func (a *mode[T]) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		x, d := a.get(v, i), b.diff(i)
		var n int64
		a.sets.at(e).ms.class(x, a.sql, func(_ T, k int64) bool {
			n += k
			return true
		})
		a.change(e, x, d)
		f := a.freq.at(e)
		if n > 0 {
			f.add(modeItem[T]{x, n}, -1, a.byNum)
		}
		if n+d > 0 {
			f.add(modeItem[T]{x, n + d}, 1, a.byNum)
		}
	}
	return nil
}

func (a *mode[T]) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		it, ok := a.freq.at(e).first()
		if !ok {
			dst.AppendNull()
			continue
		}
		var x T
		a.sets.at(e).ms.class(it.v, a.sql, func(v T, n int64) bool {
			x = v
			return n <= 0
		})
		dst.AppendDatum(a.put(x))
	}
	return nil
}

func (a *mode[T]) reset(e uint32) {
	a.inputSets.reset(e)
	a.freq.ensure(e + 1)
	*a.freq.at(e) = multiset[modeItem[T]]{}
}

func (a *mode[T]) load(e uint32, key []byte) error {
	if err := a.inputSets.load(e, key); err != nil {
		return err
	}
	f := a.freq.at(e)
	var last modeItem[T]
	a.sets.at(e).ms.each(func(v T, n int64) {
		if last.n > 0 && a.sql(last.v, v) == 0 {
			last.n += n
			return
		}
		if last.n > 0 {
			f.add(last, 1, a.byNum)
		}
		last = modeItem[T]{v, n}
	})
	if last.n > 0 {
		f.add(last, 1, a.byNum)
	}
	return nil
}

func (a *mode[T]) bytes() int { return 2 * a.inputSets.bytes() }

// formatG prints x as C's %g does.
func formatG(x float64) string {
	switch {
	case x != x:
		return "nan"
	case math.IsInf(x, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(x, 'g', 6, 64), "+"))
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
