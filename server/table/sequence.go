package table

import (
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

// Sequence gives growing numbers from 1, each at most once, also after a crash.
type Sequence struct {
	store *Sequences
	rel   catalog.ID
	col   int
	key   []byte

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
func (s *Sequences) Open(rel catalog.ID, col int) (*Sequence, error) {
	_, c := s.row(rel, col, 0)
	q := &Sequence{store: s, rel: rel, col: col, key: s.t.Key(nil, c, 0), next: 1, reserved: 1}
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
	if q.next > math.MaxInt64-n-sequenceBlock {
		return 0, sqlerr.Newf(sqlerr.ConfigurationLimitExceeded, "nextval: reached maximum value of sequence (%d)", int64(math.MaxInt64))
	}
	if q.next+n > q.reserved {
		if err := q.reserve(q.next + n + sequenceBlock); err != nil {
			return 0, err
		}
	}
	first := q.next
	q.next += n
	return first, nil
}

// reserve records that values below limit may be given out.
func (q *Sequence) reserve(limit int64) error {
	row, _ := q.store.row(q.rel, q.col, limit)
	cs := []change{{Key: q.key, Old: q.row, New: row}}
	w, err := q.store.t.write(cs)
	if err != nil {
		return err
	}
	rec := encodeRecord([]tableChanges{{id: uint32(SequencesID), changes: cs}})
	if err := submit(q.store.log, q.store.rt, rec, []flow.TableWrite{w}, true); err != nil {
		return err
	}
	q.row, q.reserved = row, limit
	return nil
}
