package table

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// SequencesID is the id of the built-in table that keeps the state of all sequences: for each, the number
// up to which values may have been given out.
const SequencesID catalog.ID = 1

// sequenceBlock is how many values a sequence reserves with one log record. After a crash the rest
// of a block is lost, as in PostgreSQL.
const sequenceBlock = 1024

// sequenceLimit is what PostgreSQL reports when a sequence is at its end.
const sequenceLimit sqlerr.Code = "2200H"

// SequencesRelation describes the built-in table.
func SequencesRelation() *catalog.Relation {
	return &catalog.Relation{
		ID: SequencesID, Schema: "weir_internal", Name: "sequences", Kind: catalog.Table, PrimaryKey: "sequences_pkey",
		Columns: []catalog.Column{
			{Name: "relation", Type: types.T(types.Int8), NotNull: true},
			{Name: "column", Type: types.T(types.Int8), NotNull: true},
			{Name: "reserved", Type: types.T(types.Int8), NotNull: true},
		},
		Key: []catalog.SortColumn{{Col: 0}, {Col: 1}},
	}
}

// Sequence gives the growing numbers of a hidden row id, from 1, each at most once, also after a crash.
type Sequence struct {
	store *Sequences
	rel   catalog.ID
	col   int
	key   []byte
	// max is the largest value that the column can hold, name what messages call the sequence.
	max  int64
	name string

	mu sync.Mutex
	// row is the sequence's row as it is stored; nil before the first reservation.
	row []byte
	// next is the next value; values below reserved are durably accounted for.
	next, reserved int64
}

// Sequences keeps the sequences of all tables.
type Sequences struct {
	t   *Table
	log *storage.Log
	rt  *flow.Runtime

	mu sync.Mutex
	// generators are those of the sequences of the catalog that were used.
	generators map[catalog.ID]*generator
}

// NewSequences opens the store of sequences.
func NewSequences(t *Table, log *storage.Log, rt *flow.Runtime) *Sequences {
	return &Sequences{t: t, log: log, rt: rt}
}

func (s *Sequences) row(rel catalog.ID, col int, reserved int64) ([]byte, *vec.Chunk) {
	c := vec.NewChunk(s.t.types, 1)
	c.AppendRow([]types.Datum{types.DInt(int64(rel)), types.DInt(int64(col)), types.DInt(reserved)}, 1)
	return vec.EncodeRow(nil, c.Cols, 0), c
}

// Open gives the sequence of a table's column, where the last incarnation left off.
func (s *Sequences) Open(rel *catalog.Relation, col int) (*Sequence, error) {
	_, c := s.row(rel.ID, col, 0)
	q := &Sequence{
		store: s, rel: rel.ID, col: col, key: s.t.Key(nil, c, 0), next: 1, reserved: 1,
		max: math.MaxInt64, name: rel.Name + "_" + rel.Columns[col].Name + "_seq",
	}
	switch rel.Columns[col].Type.Kind {
	case types.Int2:
		q.max = math.MaxInt16
	case types.Int4:
		q.max = math.MaxInt32
	}
	row, ok, err := s.t.Arr.HeadGet(q.key)
	if err != nil {
		return nil, err
	}
	if ok {
		ds, _, err := vec.DecodeDatums(nil, s.t.types, row)
		if err != nil {
			return nil, err
		}
		q.row, q.next, q.reserved = slices.Clone(row), ds[2].I, ds[2].I
	}
	return q, nil
}

// Take gives n consecutive values, the first of which it returns.
func (q *Sequence) Take(n int64) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n > q.max-q.next+1 {
		return 0, sqlerr.Newf(sequenceLimit, "nextval: reached maximum value of sequence %q (%d)", q.name, q.max)
	}
	if n > q.reserved-q.next {
		// Who takes many will take more.
		block := max(sequenceBlock, 16*n)
		limit := int64(math.MaxInt64)
		if block < limit-q.next-n {
			limit = q.next + n + block
		}
		if err := q.reserve(limit); err != nil {
			return 0, err
		}
	}
	first := q.next
	q.next += n
	return first, nil
}

// Set makes next the value that comes next, also after a crash.
func (q *Sequence) Set(next int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.reserve(next); err != nil {
		return err
	}
	q.next = next
	return nil
}

// Max is the largest value.
func (q *Sequence) Max() int64 { return q.max }

// reserve records that values below limit may be given out.
func (q *Sequence) reserve(limit int64) error {
	if q.store == nil { // nothing outlasts it
		q.reserved = limit
		return nil
	}
	row, _ := q.store.row(q.rel, q.col, limit)
	if err := q.store.change([]change{{Key: q.key, Old: q.row, New: row}}); err != nil {
		return err
	}
	q.row, q.reserved = row, limit
	return nil
}

// NewTemporary makes a store of sequences that nothing outlasts.
func NewTemporary() *Sequences { return &Sequences{} }

// change makes changes of the table of sequences durable.
func (s *Sequences) change(cs []change) error {
	w, err := s.t.write(cs)
	if err != nil {
		return err
	}
	return submit(s.log, encodeRecord([]tableChanges{{id: uint32(SequencesID), changes: cs}}), true, func(pos storage.LogPos) error {
		return s.rt.Write(pos, []flow.TableWrite{w})
	})
}

// Position is the number of the newest transaction that a sink has written to its table, 0 for none. It is kept like
// the state of a sequence.
func (s *Sequences) Position(sink catalog.ID) (int64, error) {
	_, c := s.row(sink, 0, 0)
	row, ok, err := s.t.Arr.HeadGet(s.t.Key(nil, c, 0))
	if err != nil || !ok {
		return 0, err
	}
	ds, _, err := vec.DecodeDatums(nil, s.t.types, row)
	if err != nil {
		return 0, err
	}
	return ds[2].I, nil
}

// SetPosition makes a position part of a transaction, which is the sink's.
func (s *Sequences) SetPosition(ctx context.Context, x *Tx, sink catalog.ID, n int64) error {
	_, c := s.row(sink, 0, n)
	if err := x.Prepare(ctx, s.t, c); err != nil {
		return err
	}
	row, err := x.Get(s.t, s.t.Key(nil, c, 0))
	if err != nil {
		return err
	}
	if row.New != nil {
		old := vec.NewChunk(s.t.types, 1)
		if err := s.t.Decode(old, row.New, 1); err != nil {
			return err
		}
		if _, err := x.Delete(s.t, old, 0); err != nil {
			return err
		}
	}
	_, err = x.Insert(s.t, c, 0)
	return err
}

// Each calls f for every sequence or position, with the relation that it is of.
func (s *Sequences) Each(f func(rel catalog.ID)) error {
	return s.t.Arr.HeadScan(nil, nil, func(_, v []byte) error {
		ds, _, err := vec.DecodeDatums(nil, s.t.types, v)
		if err == nil {
			f(catalog.ID(ds[0].I))
		}
		return err
	})
}

// Retain deletes the sequences of relations that live does not claim: those of tables that were dropped.
func (s *Sequences) Retain(live func(catalog.ID) bool) error {
	s.forget(live)
	var cs []change
	err := s.t.Arr.HeadScan(nil, nil, func(k, v []byte) error {
		ds, _, err := vec.DecodeDatums(nil, s.t.types, v)
		if err == nil && !live(catalog.ID(ds[0].I)) {
			cs = append(cs, change{Key: slices.Clone(k), Old: slices.Clone(v)})
		}
		return err
	})
	if err != nil || len(cs) == 0 {
		return err
	}
	return s.change(cs)
}
