package op

import (
	"encoding/binary"
	"slices"

	"github.com/weirdb/weir/exec"
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
	sets      paged[inputSet[T]]

	st  exec.StateTable
	buf []byte
}

type inputSet[T any] struct {
	ms multiset[T]
	// changed lists the items whose count differs from the state table, with repetitions.
	changed []T
}

func (a *inputSets[T]) attach(tab *groupTable)        { a.tab = tab }
func (a *inputSets[T]) openInputs(st exec.StateTable) { a.st = st }

// change adds d times x to the inputs of e.
func (a *inputSets[T]) change(e uint32, x T, d int64) {
	s := a.sets.at(e)
	before := s.ms.n
	s.ms.add(x, d, a.cmp)
	a.items += s.ms.n - before
	if a.st != nil {
		s.changed = append(s.changed, x)
		if len(s.changed) > 2*s.ms.n+64 {
			a.sortChanged(s)
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
	*s = inputSet[T]{}
}

func (a *inputSets[T]) bytes() int                                { return a.tab.store.count()*72 + a.items*a.size*3/2 }
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
	a.sortChanged(s)
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
	s.changed = nil
}

var _ multisetAgg = (*inputSets[int64])(nil)
