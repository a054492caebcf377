package op

import (
	"encoding/binary"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/types"
)

// inputSets keeps the inputs of an aggregate: for each group a sorted multiset, whose items are
// entries of the state table "inputs" under the group's state key, the number of the aggregate, and
// the item. An aggregate embeds it and says how items are encoded.
type inputSets[T any] struct {
	tab *groupTable
	no  byte
	cmp func(a, b T) int
	// appendKey appends an item so that equal bytes mean that cmp is 0; appendVal and takeVal are exact.
	appendKey func(dst []byte, x T) []byte
	appendVal func(dst []byte, x T) []byte
	takeVal   func(b []byte) (T, error)
	size      int // bytes of an item, about
	items     int // in all groups
	// weigh gives the bytes of an item besides size; nil: none. heavy is their sum over all items.
	weigh func(x T) int
	heavy int
	// listed counts the changed items of all groups.
	listed int
	sets   paged[inputSet[T]]

	st  exec.StateTable
	buf []byte
}

type inputSet[T any] struct {
	ms multiset[T]
	// changed lists the items whose count differs from the state table, with repetitions.
	changed []T
}

func (a *inputSets[T]) attach(tab *groupTable) {
	a.tab = tab
	switch f := any(&a.weigh).(type) {
	case *func(types.Datum) int:
		*f = func(d types.Datum) int { return len(d.S) }
	case *func(string) int:
		*f = func(s string) int { return len(s) }
	case *func([]types.Datum) int:
		*f = func(item []types.Datum) (n int) {
			for _, d := range item {
				n += len(d.S)
			}
			return n
		}
	}
}

func (a *inputSets[T]) openInputs(st exec.StateTable) { a.st = st }

// change adds d times x to the inputs of e.
func (a *inputSets[T]) change(e uint32, x T, d int64) {
	s := a.sets.at(e)
	before := s.ms.n
	s.ms.add(x, d, a.cmp)
	a.items += s.ms.n - before
	if s.ms.n != before && a.weigh != nil {
		a.heavy += a.weigh(x) * (s.ms.n - before)
	}
	if a.st != nil {
		a.listed++
		s.changed = append(s.changed, x)
		if len(s.changed) > 2*s.ms.n+64 {
			a.listed -= len(s.changed)
			a.sortChanged(s)
			a.listed += len(s.changed)
		}
	}
}

func (a *inputSets[T]) sortChanged(s *inputSet[T]) {
	slices.SortFunc(s.changed, a.cmp)
	s.changed = slices.CompactFunc(s.changed, func(x, y T) bool { return a.cmp(x, y) == 0 })
}

func (a *inputSets[T]) reset(e uint32) {
	a.sets.ensure(e + 1)
	s := a.sets.at(e)
	a.items -= s.ms.n
	a.listed -= len(s.changed)
	if a.weigh != nil {
		s.ms.each(func(x T, _ int64) { a.heavy -= a.weigh(x) })
	}
	*s = inputSet[T]{}
}

// bytes: blocks of the multiset are half full at times.
func (a *inputSets[T]) bytes() int {
	return a.tab.store.count()*120 + a.items*(a.size+8)*3/2 + a.listed*a.size + a.heavy
}
func (a *inputSets[T]) encode(_ uint32, dst []byte) []byte        { return dst }
func (a *inputSets[T]) decode(_ uint32, b []byte) ([]byte, error) { return b, nil }

// load reads the inputs of a group.
func (a *inputSets[T]) load(e uint32, key []byte) error {
	s := a.sets.at(e)
	a.buf = append(append(a.buf[:0], key...), a.no)
	err := a.st.Scan(a.buf, func(_, val []byte) error {
		n, b, err := takeVarint(val)
		if err != nil {
			return err
		}
		x, err := a.takeVal(b)
		if err != nil {
			return err
		}
		s.ms.add(x, n, a.cmp)
		if a.weigh != nil {
			a.heavy += a.weigh(x)
		}
		return nil
	})
	a.items += s.ms.n
	return err
}

// save writes the inputs of a group that have changed.
func (a *inputSets[T]) save(e uint32, key []byte) {
	s := a.sets.at(e)
	if a.st == nil || len(s.changed) == 0 {
		return
	}
	a.listed -= len(s.changed)
	a.sortChanged(s)
	a.listed += len(s.changed)
	for _, x := range s.changed {
		stored, n := s.ms.count(x, a.cmp)
		a.buf = append(append(a.buf[:0], key...), a.no)
		a.buf = a.appendKey(a.buf, x)
		at := len(a.buf)
		if n == 0 {
			a.st.Delete(a.buf)
			continue
		}
		a.buf = binary.AppendVarint(a.buf, n)
		a.buf = a.appendVal(a.buf, stored)
		a.st.Put(a.buf[:at:at], a.buf[at:])
	}
	a.listed -= len(s.changed)
	s.changed = nil
}

var _ multisetAgg = (*inputSets[int64])(nil)
