package table

import (
	"slices"
	"sync"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// generator is where a sequence of the catalog stands. What is durable is ahead of it by some values, which a
// crash loses: none comes twice.
//
// It has two rows in the table of sequences, which are written together: under column 0 the value that counts as the last one
// after a crash, under column 1 whether that was given out (1) or comes next (0).
type generator struct {
	store *Sequences
	id    catalog.ID

	mu sync.Mutex
	// rows are as they are stored; nil before the first write.
	rows [2][]byte
	// last is the value that was given out last, or if called is false the next one.
	last   int64
	called bool
	// ahead is how many more values are durably accounted for.
	ahead int64
	// logged is what log_cnt shows.
	logged int64
}

// logAhead is what PostgreSQL logs ahead, and shows in log_cnt.
const logAhead = 32

// Standing is where a sequence is.
type Standing struct {
	Last, LogCount int64
	Called         bool
}

func (s *Sequences) generator(rel *catalog.Relation) (*generator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.generators[rel.ID]; g != nil {
		return g, nil
	}
	g := &generator{store: s, id: rel.ID, last: rel.Seq.Start}
	for k := range g.rows {
		if s.t == nil {
			break
		}
		v, row, err := s.get(rel.ID, k)
		if err != nil {
			return nil, err
		}
		if row == nil {
			continue
		}
		if g.rows[k] = row; k == 0 {
			g.last = v
		} else {
			g.called = v == 1
		}
	}
	if from := rel.Seq.FromColumn; g.rows[0] == nil && from > 0 {
		v, row, err := s.get(rel.Seq.OwnedBy, from-1)
		if err != nil {
			return nil, err
		}
		if row != nil && v > 1 {
			g.last, g.called = v-1, true
		}
	}
	if s.generators == nil {
		s.generators = map[catalog.ID]*generator{}
	}
	s.generators[rel.ID] = g
	return g, nil
}

// get reads a row of the table of sequences, nil if there is none.
func (s *Sequences) get(rel catalog.ID, col int) (int64, []byte, error) {
	_, c := s.row(rel, col, 0)
	row, ok, err := s.t.Arr.HeadGet(s.t.Key(nil, c, 0))
	if err != nil || !ok {
		return 0, nil, err
	}
	row = slices.Clone(row)
	ds, _, err := vec.DecodeDatums(nil, s.t.types, row)
	if err != nil {
		return 0, nil, err
	}
	return ds[2].I, row, nil
}

// Next gives the next n values of a sequence.
func (s *Sequences) Next(rel *catalog.Relation, n int64) ([]int64, error) {
	g, err := s.generator(rel)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]int64, 0, n)
	for range n {
		v, err := g.next(rel, n)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// room is how many values follow v.
func room(q *catalog.Sequence, v int64) uint64 {
	if q.Increment > 0 {
		if v > q.Max {
			return 0
		}
		return (uint64(q.Max) - uint64(v)) / uint64(q.Increment)
	}
	if v < q.Min {
		return 0
	}
	return (uint64(v) - uint64(q.Min)) / -uint64(q.Increment)
}

func (g *generator) next(rel *catalog.Relation, many int64) (int64, error) {
	q := rel.Seq
	v := g.last
	switch {
	case !g.called:
	case room(q, v) > 0:
		v += q.Increment
	case q.Cycle:
		if v = q.Min; q.Increment < 0 {
			v = q.Max
		}
		g.ahead = 0
	case q.Increment > 0:
		return 0, sqlerr.Newf(sequenceLimit, "nextval: reached maximum value of sequence \"%s\" (%d)", rel.Name, q.Max)
	default:
		return 0, sqlerr.Newf(sequenceLimit, "nextval: reached minimum value of sequence \"%s\" (%d)", rel.Name, q.Min)
	}
	if g.ahead == 0 {
		// Who takes many will take more.
		more := min(uint64(max(sequenceBlock, 16*many)), room(q, v))
		if err := g.write(v+q.Increment*int64(more), true); err != nil {
			return 0, err
		}
		g.ahead = int64(more) + 1
	}
	g.ahead--
	if g.logged == 0 || !g.called {
		g.logged = int64(min(logAhead, room(q, v)))
	} else {
		g.logged--
	}
	g.last, g.called = v, true
	return v, nil
}

// write makes a state durable.
func (g *generator) write(last int64, called bool) error {
	if g.store.t == nil {
		return nil
	}
	flag := int64(0)
	if called {
		flag = 1
	}
	var cs []change
	var rows [2][]byte
	for k, v := range [2]int64{last, flag} {
		row, c := g.store.row(g.id, k, v)
		rows[k] = row
		cs = append(cs, change{Key: g.store.t.Key(nil, c, 0), Old: g.rows[k], New: row})
	}
	if err := g.store.change(cs); err != nil {
		return err
	}
	g.rows = rows
	return nil
}

// Put lets a sequence stand at a value, which was given out if called is set and else comes next. It is durable.
func (s *Sequences) Put(rel *catalog.Relation, value int64, called bool) error {
	g, err := s.generator(rel)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.write(value, called); err != nil {
		return err
	}
	g.last, g.called, g.ahead, g.logged = value, called, 0, 0
	return nil
}

// Standing tells where a sequence is.
func (s *Sequences) Standing(rel *catalog.Relation) (Standing, error) {
	g, err := s.generator(rel)
	if err != nil {
		return Standing{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return Standing{Last: g.last, LogCount: g.logged, Called: g.called}, nil
}

// Fill puts the next values of a sequence into the places of a column that miss one, all of them if all is set, and gives the
// last of them; ok is false if there were none.
func (s *Sequences) Fill(rel *catalog.Relation, from *vec.Vector, n int, all bool) (v *vec.Vector, last int64, ok bool, err error) {
	missing := int64(0)
	for i := range n {
		if all || from.IsNull(i) {
			missing++
		}
	}
	if missing == 0 {
		return from, 0, false, nil
	}
	values, err := s.Next(rel, missing)
	if err != nil {
		return nil, 0, false, err
	}
	v = vec.NewVector(from.Type, n)
	k := 0
	for i := range n {
		if all || from.IsNull(i) {
			v.AppendDatum(types.DInt(values[k]))
			k++
		} else {
			v.AppendFrom(from, i)
		}
	}
	return v, values[len(values)-1], true, nil
}

// forget drops what is kept in memory of sequences that are gone.
func (s *Sequences) forget(live func(catalog.ID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.generators {
		if !live(id) {
			delete(s.generators, id)
		}
	}
}
