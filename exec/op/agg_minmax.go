package op

import (
	"cmp"
	"math"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// newMinMax chooses: over append-only input the extreme alone is enough; else a sorted multiset of
// the inputs is kept.
func newMinMax(isMax bool, t types.Type, no int, appendOnly bool, w wordAgg) (aggregator, int, error) {
	phys := t.Phys()
	switch {
	case appendOnly && phys == types.PhysInt:
		return &extremeInt{wordAgg: w, max: isMax}, 2, nil
	case appendOnly:
		return &extreme{t: t, max: isMax}, 0, nil
	}
	switch phys {
	case types.PhysInt:
		return newMultisetMinMax(isMax, t, no, 16, cmp.Compare[int64],
			func(v *vec.Vector, i int) int64 { return v.Int[i] }, types.DInt,
			func(d types.Datum) int64 { return d.I }), 0, nil
	case types.PhysFloat:
		return newMultisetMinMax(isMax, t, no, 16, compareFloatTotal,
			func(v *vec.Vector, i int) float64 { return v.Float[i] }, types.DFloat,
			func(d types.Datum) float64 { return d.F }), 0, nil
	default:
		same := func(d types.Datum) types.Datum { return d }
		return newMultisetMinMax(isMax, t, no, 120, func(a, b types.Datum) int { return compareTotal(t, a, b) },
			func(v *vec.Vector, i int) types.Datum { return cloned(v.Datum(i)) }, same, same), 0, nil
	}
}

func newMultisetMinMax[T any](isMax bool, t types.Type, no, size int, cmp func(a, b T) int,
	get func(*vec.Vector, int) T, put func(T) types.Datum, take func(types.Datum) T,
) *minMax[T] {
	m := &minMax[T]{max: isMax, get: get, put: put}
	m.no, m.size, m.cmp = byte(no), size, cmp
	m.appendKey = func(dst []byte, x T) []byte { return appendDatumKey(dst, t, put(x), true) }
	m.appendVal = func(dst []byte, x T) []byte { return types.AppendDatum(dst, t.Kind, put(x)) }
	m.takeVal = func(b []byte) (x T, err error) {
		d, rest, err := types.DecodeDatum(string(b), t.Kind)
		if err == nil && (rest != "" || !d.Valid) {
			err = vec.ErrCorruptRow
		}
		return take(d), err
	}
	return m
}

// compareTotal orders values as SQL does, and those that are equal but not the same by their
// representation, so that min and max of 1.0 and 1.00 do not depend on what came first.
func compareTotal(t types.Type, a, b types.Datum) int {
	if c := types.Compare(t, a, b); c != 0 || !inexactType(t) {
		return c
	}
	switch t.Phys() {
	case types.PhysFloat:
		return compareFloatTotal(a.F, b.F)
	case types.PhysDec:
		return cmp.Compare(a.Dec.Scale(), b.Dec.Scale())
	case types.PhysInterval:
		return cmp.Or(cmp.Compare(a.Span.Months, b.Span.Months), cmp.Compare(a.Span.Days, b.Span.Days),
			cmp.Compare(a.Span.Micros, b.Span.Micros))
	default:
		return cmp.Compare(a.S, b.S)
	}
}

// compareFloatTotal puts -0 before 0.
func compareFloatTotal(a, b float64) int {
	if c := types.CompareFloat(a, b); c != 0 || a != 0 {
		return c
	}
	return cmp.Compare(math.Copysign(1, a), math.Copysign(1, b))
}

// extremeInt is min or max of integers over append-only input. Words: whether there is one, and it.
type extremeInt struct {
	wordAgg
	max bool
}

func (a *extremeInt) add(b *aggBatch) error {
	v := b.args[0]
	xs := v.Int[:b.n]
	nulls := v.HasNulls()
	pages, w, off := a.tab.words.pages, a.tab.words.w, a.off
	for i, e := range b.ents {
		if nulls && v.Nulls.Get(i) {
			continue
		}
		rec := pages[e>>pageBits][int(e&pageMask)*w+off:]
		rec = rec[:2]
		if x := xs[i]; rec[0] == 0 || a.max && x > rec[1] || !a.max && x < rec[1] {
			rec[0], rec[1] = 1, x
		}
	}
	return nil
}

func (a *extremeInt) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		rec := a.tab.rec(e)[a.off:]
		if rec[0] == 0 {
			dst.AppendNull()
		} else {
			dst.AppendInt(rec[1])
		}
	}
	return nil
}

func (a *extremeInt) encode(e uint32, dst []byte) []byte        { return a.encodeWords(e, 2, dst) }
func (a *extremeInt) decode(e uint32, b []byte) ([]byte, error) { return a.decodeWords(e, 2, b) }

// extreme is min or max of any type over append-only input.
type extreme struct {
	tab *groupTable
	t   types.Type
	max bool
	cur paged[types.Datum]
	// heavy is the bytes of all texts.
	heavy int
}

func (a *extreme) attach(tab *groupTable) { a.tab = tab }

func (a *extreme) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		x, cur := v.Datum(i), a.cur.at(e)
		if !cur.Valid {
			a.set(cur, x)
			continue
		}
		if c := compareTotal(a.t, x, *cur); a.max && c > 0 || !a.max && c < 0 {
			a.set(cur, x)
		}
	}
	return nil
}

// set keeps a value that outlives the chunk.
func (a *extreme) set(cur *types.Datum, x types.Datum) {
	a.heavy += len(x.S) - len(cur.S)
	*cur = cloned(x)
}

func (a *extreme) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		dst.AppendDatum(*a.cur.at(e))
	}
	return nil
}

func (a *extreme) reset(e uint32) {
	a.cur.ensure(e + 1)
	a.set(a.cur.at(e), types.Null)
}

func (a *extreme) bytes() int { return a.tab.store.count()*104 + a.heavy }

func (a *extreme) encode(e uint32, dst []byte) []byte {
	return types.AppendDatum(dst, a.t.Kind, *a.cur.at(e))
}

func (a *extreme) decode(e uint32, b []byte) ([]byte, error) {
	d, rest, err := types.DecodeDatum(string(b), a.t.Kind)
	if err != nil {
		return nil, err
	}
	a.set(a.cur.at(e), d)
	return b[len(b)-len(rest):], nil
}

// minMax is min or max over retractable input: the sorted multiset of the values of each group.
type minMax[T any] struct {
	inputSets[T]
	max bool
	get func(v *vec.Vector, i int) T
	put func(T) types.Datum
}

func (a *minMax[T]) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if !v.Nulls.Get(i) {
			a.change(e, a.get(v, i), b.diff(i))
		}
	}
	return nil
}

func (a *minMax[T]) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		ms := &a.sets.at(e).ms
		var x T
		var ok bool
		if a.max {
			x, ok = ms.last()
		} else {
			x, ok = ms.first()
		}
		if ok {
			dst.AppendDatum(a.put(x))
		} else {
			dst.AppendNull()
		}
	}
	return nil
}
