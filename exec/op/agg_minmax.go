package op

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/weirdb/weir/exec"
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
		return &minMax[int64]{t: t, max: isMax, no: byte(no), cmp: cmp.Compare[int64],
			get: func(v *vec.Vector, i int) int64 { return v.Int[i] },
			put: types.DInt, take: func(d types.Datum) int64 { return d.I }, size: 16}, 0, nil
	case types.PhysFloat:
		return &minMax[float64]{t: t, max: isMax, no: byte(no), cmp: compareFloatTotal,
			get: func(v *vec.Vector, i int) float64 { return v.Float[i] },
			put: types.DFloat, take: func(d types.Datum) float64 { return d.F }, size: 16}, 0, nil
	default:
		return &minMax[types.Datum]{t: t, max: isMax, no: byte(no), size: 120,
			cmp: func(a, b types.Datum) int { return compareTotal(t, a, b) },
			get: func(v *vec.Vector, i int) types.Datum { return v.Datum(i) },
			put: func(d types.Datum) types.Datum { return d }, take: func(d types.Datum) types.Datum { return d }}, 0, nil
	}
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
			*cur = x
			continue
		}
		if c := compareTotal(a.t, x, *cur); a.max && c > 0 || !a.max && c < 0 {
			*cur = x
		}
	}
	return nil
}

func (a *extreme) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		dst.AppendDatum(*a.cur.at(e))
	}
	return nil
}

func (a *extreme) reset(e uint32) {
	a.cur.ensure(e + 1)
	*a.cur.at(e) = types.Null
}

func (a *extreme) bytes() int { return a.tab.store.count() * 104 }

func (a *extreme) encode(e uint32, dst []byte) []byte {
	return types.AppendDatum(dst, a.t.Kind, *a.cur.at(e))
}

func (a *extreme) decode(e uint32, b []byte) ([]byte, error) {
	d, rest, err := types.DecodeDatum(string(b), a.t.Kind)
	if err != nil {
		return nil, err
	}
	*a.cur.at(e) = d
	return b[len(b)-len(rest):], nil
}

// minMax is min or max over retractable input: a sorted multiset of the values of each group. The
// values are entries of the state table "inputs": group key, number of the aggregate, value.
type minMax[T any] struct {
	tab   *groupTable
	t     types.Type
	max   bool
	no    byte
	cmp   func(a, b T) int
	get   func(v *vec.Vector, i int) T
	put   func(T) types.Datum
	take  func(types.Datum) T
	size  int // bytes of an item
	items int // in all groups
	sets  paged[minMaxSet[T]]

	st  exec.StateTable
	buf []byte
}

type minMaxSet[T any] struct {
	ms multiset[T]
	// changed lists the values whose count differs from the state table, with repetitions.
	changed []T
}

func (a *minMax[T]) attach(tab *groupTable)        { a.tab = tab }
func (a *minMax[T]) openInputs(st exec.StateTable) { a.st = st }

func (a *minMax[T]) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		s := a.sets.at(e)
		x := a.get(v, i)
		before := s.ms.n
		s.ms.add(x, b.diff(i), a.cmp)
		a.items += s.ms.n - before
		if a.st != nil {
			s.changed = append(s.changed, x)
			if len(s.changed) > 2*s.ms.n+64 {
				a.sortChanged(s)
			}
		}
	}
	return nil
}

func (a *minMax[T]) sortChanged(s *minMaxSet[T]) {
	slices.SortFunc(s.changed, a.cmp)
	s.changed = slices.CompactFunc(s.changed, func(x, y T) bool { return a.cmp(x, y) == 0 })
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

func (a *minMax[T]) reset(e uint32) {
	a.sets.ensure(e + 1)
	s := a.sets.at(e)
	a.items -= s.ms.n
	*s = minMaxSet[T]{}
}

func (a *minMax[T]) bytes() int                                { return a.tab.store.count()*72 + a.items*a.size*3/2 }
func (a *minMax[T]) encode(_ uint32, dst []byte) []byte        { return dst }
func (a *minMax[T]) decode(_ uint32, b []byte) ([]byte, error) { return b, nil }

// load reads the values of a group.
func (a *minMax[T]) load(e uint32, key []byte) error {
	s := a.sets.at(e)
	a.buf = append(append(a.buf[:0], key...), a.no)
	err := a.st.Scan(a.buf, func(_, val []byte) error {
		n, b, err := takeVarint(val)
		if err != nil {
			return err
		}
		d, rest, err := types.DecodeDatum(string(b), a.t.Kind)
		if err != nil {
			return err
		}
		if rest != "" || !d.Valid {
			return vec.ErrCorruptRow
		}
		s.ms.add(a.take(d), n, a.cmp)
		return nil
	})
	a.items += s.ms.n
	return err
}

// save writes the values of a group that have changed.
func (a *minMax[T]) save(e uint32, key []byte) {
	s := a.sets.at(e)
	if a.st == nil || len(s.changed) == 0 {
		return
	}
	a.sortChanged(s)
	for _, x := range s.changed {
		stored, n := s.ms.count(x, a.cmp)
		a.buf = append(append(a.buf[:0], key...), a.no)
		a.buf = appendDatumKey(a.buf, a.t, a.put(x), true)
		at := len(a.buf)
		if n == 0 {
			a.st.Delete(a.buf)
			continue
		}
		a.buf = binary.AppendVarint(a.buf, n)
		a.buf = types.AppendDatum(a.buf, a.t.Kind, a.put(stored))
		a.st.Put(a.buf[:at:at], a.buf[at:])
	}
	s.changed = nil
}
