package op

import (
	"encoding/binary"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// distinctSet counts, for each group and value, the rows that have it, once for every filter that
// an aggregate with DISTINCT over the same arguments has. Aggregates are fed with a value when its
// count leaves 0 and lose it when the count returns to 0. One table serves all filters: the usual
// query has several.
type distinctSet struct {
	args    []int
	filters []int
	tab     *groupTable
	nk      int // number of group key columns
	// touched are the entries changed in this epoch.
	touched []uint32
	cols    []*vec.Vector
	gone    []uint32
	vents   []uint32   // value entries of the rows fed
	batches []aggBatch // by filter: what the aggregates are fed with from the present chunk
}

// distinctSetFor finds or makes the set and the place of the filter in it.
func (a *HashAgg) distinctSetFor(g Agg) (*distinctSet, int) {
	for _, s := range a.sets {
		if !equalInts(s.args, g.Args) {
			continue
		}
		for i, f := range s.filters {
			if f == g.Filter {
				return s, i
			}
		}
		s.filters = append(s.filters, g.Filter)
		return s, len(s.filters) - 1
	}
	s := &distinctSet{args: g.Args, filters: []int{g.Filter}}
	a.sets = append(a.sets, s)
	return s, 0
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i, x := range a {
		if x != b[i] {
			return false
		}
	}
	return true
}

func (s *distinctSet) init(keyTypes []types.Type, dist []int, in []types.Type) {
	s.nk = len(keyTypes)
	ts := append(append([]types.Type{}, keyTypes...), pickTypes(in, s.args)...)
	s.tab = newGroupTable(ts, dist, len(s.filters), s)
	s.batches = make([]aggBatch, len(s.filters))
}

// prepare makes the batches of a chunk whose rows belong to the groups ents.
func (s *distinctSet) prepare(c *vec.Chunk, keyV []*vec.Vector, ents []uint32) error {
	s.cols = append(s.cols[:0], keyV...)
	for _, k := range s.args {
		s.cols = append(s.cols, c.Cols[k])
	}
	vents, err := s.tab.lookup(s.cols, c.Len())
	if err != nil {
		return err
	}
	for _, e := range vents {
		if f := &s.tab.rec(e)[wordFlags]; *f&flagTouched == 0 {
			*f |= flagTouched | flagRef
			s.touched = append(s.touched, e)
		}
	}
	for k, filter := range s.filters {
		s.feed(&s.batches[k], wordOwner+k, filter, c, ents, vents)
	}
	return nil
}

// feed fills a batch with the rows whose count, in the given word, begins or ends.
func (s *distinctSet) feed(b *aggBatch, word, filter int, c *vec.Chunk, ents, vents []uint32) {
	b.n, b.ents = 0, b.own[:0]
	b.diffBuf = b.diffBuf[:0]
	s.vents = s.vents[:0]
	for i, v := range vents {
		if filter >= 0 {
			if v := c.Cols[filter]; !v.Bool[i] || v.Nulls.Get(i) {
				continue
			}
		}
		rec := s.tab.rec(v)
		before := rec[word]
		rec[word] += c.Diff(i)
		switch after := rec[word]; {
		case before <= 0 && after > 0:
			b.diffBuf = append(b.diffBuf, 1)
		case before > 0 && after <= 0:
			b.diffBuf = append(b.diffBuf, -1)
		default:
			continue
		}
		b.ents = append(b.ents, ents[i])
		s.vents = append(s.vents, v)
	}
	b.own = b.ents
	b.n, b.diffs = len(b.ents), b.diffBuf
	// The values come from the table: what is taken back is then exactly what was given.
	if b.argBuf == nil {
		for _, t := range s.tab.keyTypes[s.nk:] {
			b.argBuf = append(b.argBuf, vec.NewVector(t, 0))
		}
	}
	b.args = b.args[:0]
	for k, v := range b.argBuf {
		v.Reset()
		s.tab.store.gather(s.nk+k, s.vents, v)
		b.args = append(b.args, v)
	}
}

func (s *distinctSet) endEpoch() {
	s.gone = s.gone[:0]
	for _, e := range s.touched {
		f := &s.tab.rec(e)[wordFlags]
		*f &^= flagTouched
		if s.exists(e) || *f&(flagStored|flagDirty) != 0 {
			s.tab.dirtied(e)
		} else {
			s.gone = append(s.gone, e)
		}
	}
	s.touched = s.touched[:0]
	s.tab.drop(s.gone)
}

func (s *distinctSet) reset(uint32) {}

func (s *distinctSet) exists(e uint32) bool {
	for _, n := range s.tab.rec(e)[wordOwner:] {
		if n != 0 {
			return true
		}
	}
	return false
}

func (s *distinctSet) encode(e uint32, dst []byte) []byte {
	for _, n := range s.tab.rec(e)[wordOwner:] {
		dst = binary.AppendVarint(dst, n)
	}
	return dst
}

func (s *distinctSet) decode(e uint32, b []byte) error {
	var err error
	rec := s.tab.rec(e)
	for i := wordOwner; i < len(rec); i++ {
		if rec[i], b, err = takeVarint(b); err != nil {
			return err
		}
	}
	if len(b) > 0 {
		return vec.ErrCorruptRow
	}
	return nil
}

func (s *distinctSet) loaded(uint32, []byte) error { return nil }

func (s *distinctSet) saved(uint32, []byte) {}

func (s *distinctSet) extraBytes() int { return 0 }
