package op

import (
	"errors"
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Arrangement is where Materialize keeps its rows; storage.Arrangement and storage.Writer are ones.
type Arrangement interface {
	// Apply changes the current epoch, in order. It copies keys and values.
	Apply(changes []storage.Change)
	// Append is Apply for rows that are set, in buf one after the other: row i's key ends at ends[2*i], its
	// value at ends[2*i+1]. It keeps buf.
	Append(buf []byte, ends []int)
	// Seal ends the epoch.
	Seal(epoch storage.Epoch, checkpoint bool)
}

// MaterializeConfig configures Materialize.
type MaterializeConfig struct {
	In []types.Type
	// Key is the arrangement's key: unique.
	Key    []SortKey
	Target Arrangement
	// AppendOnlyIn promises that the input has no negative diffs.
	AppendOnlyIn bool
}

// Materialize keeps its input in an arrangement and passes it on.
//
//	In:      one port, a changelog in which no key has two rows at the end of an epoch. In between the new
//	         row of a key may come before its old one goes: the two may come from different actors.
//	Out:     the input.
//	State:   the arrangement: key columns in the order-preserving codec (vec.EncodeKey), and all columns
//	         in the row codec (vec.EncodeRow).
//	Memory:  the rows that the epoch changed, unless the input is append-only; the arrangement has its
//	         own.
//	Barrier: applies the epoch's net changes, seals the arrangement, then forwards it.
//	Errors:  a key with several rows at the end of an epoch: the key is not one.
type Materialize struct {
	base
	cfg     MaterializeConfig
	buf     []byte
	enc     vec.RowsEncoder
	ends    []int
	changes []storage.Change
	// pending are the keys that the epoch changed, in the order of their first change; byKey finds
	// them. Their bytes are in bytes.
	pending []pendingKey
	byKey   map[string]int32
	bytes   arena
}

// pendingKey is what an epoch does to a key: the values that come (positive) and go. The first one
// is kept apart, because most keys have no more than two.
type pendingKey struct {
	key   string
	first pendingRow
	more  []pendingRow
}

type pendingRow struct {
	val string
	n   int64
}

// NewMaterialize checks the configuration.
func NewMaterialize(cfg MaterializeConfig) (*Materialize, error) {
	if cfg.Target == nil {
		return nil, errors.New("Materialize: no target")
	}
	if err := checkCols("Materialize.Key", sortCols(cfg.Key), len(cfg.In)); err != nil {
		return nil, err
	}
	m := &Materialize{cfg: cfg, byKey: map[string]int32{}}
	m.schema = cfg.In
	return m, nil
}

// Chunk applies rows that are never taken back, and keeps others until the barrier.
func (m *Materialize) Chunk(_ int, c *vec.Chunk) error {
	if m.cfg.AppendOnlyIn && c.Diffs == nil {
		m.insert(c)
		return m.out.Chunk(c)
	}
	for i := range c.Len() {
		m.buf = vec.EncodeKey(m.buf[:0], c.Cols, i, m.cfg.Key)
		at := len(m.buf)
		m.buf = vec.EncodeRow(m.buf, c.Cols, i)
		m.note(m.buf[:at], m.buf[at:], c.Diff(i))
	}
	return m.out.Chunk(c)
}

// insert applies the rows of c at once.
func (m *Materialize) insert(c *vec.Chunk) {
	var buf []byte
	buf, m.ends = m.enc.Encode(m.ends[:0], c.Cols, c.Len(), m.cfg.Key)
	m.cfg.Target.Append(buf, m.ends)
}

// note adds a change to what the epoch does to a key.
func (m *Materialize) note(key, val []byte, d int64) {
	n, ok := m.byKey[string(key)]
	if !ok {
		k := m.bytes.get(m.bytes.addBytes(key))
		m.byKey[k] = int32(len(m.pending))
		m.pending = append(m.pending, pendingKey{key: k, first: pendingRow{m.bytes.get(m.bytes.addBytes(val)), d}})
		return
	}
	p := &m.pending[n]
	if p.first.val == string(val) {
		p.first.n += d
		return
	}
	for i := range p.more {
		if p.more[i].val == string(val) {
			p.more[i].n += d
			return
		}
	}
	p.more = append(p.more, pendingRow{m.bytes.get(m.bytes.addBytes(val)), d})
}

// apply applies the net changes of the epoch: a value that came and did not go is the key's row;
// if there is none and one went, the key has no row; else nothing has changed.
func (m *Materialize) apply() error {
	m.changes = m.changes[:0]
	for i := range m.pending {
		p := &m.pending[i]
		var came, went *pendingRow
		for k := -1; k < len(p.more); k++ {
			r := &p.first
			if k >= 0 {
				r = &p.more[k]
			}
			switch {
			case r.n > 1, r.n > 0 && came != nil, r.n < -1, r.n < 0 && went != nil:
				return fmt.Errorf("materialize: key %x has several rows at the end of an epoch", p.key)
			case r.n > 0:
				came = r
			case r.n < 0:
				went = r
			}
		}
		switch {
		case came != nil:
			m.changes = append(m.changes, storage.Change{Key: bytesOf(p.key), Value: bytesOf(came.val)})
		case went != nil:
			m.changes = append(m.changes, storage.Change{Key: bytesOf(p.key), Delete: true})
		}
	}
	m.cfg.Target.Apply(m.changes)
	clear(m.byKey)
	clear(m.pending)
	m.pending, m.bytes = m.pending[:0], arena{}
	return nil
}

// Barrier applies the epoch and seals it.
func (m *Materialize) Barrier(bar exec.Barrier) error {
	if len(m.pending) > 0 {
		if err := m.apply(); err != nil {
			return err
		}
	}
	m.cfg.Target.Seal(bar.Epoch, bar.Checkpoint)
	return m.out.Barrier(bar)
}

// Watermark forwards the watermark.
func (m *Materialize) Watermark(_ int, w exec.Watermark) error { return m.out.Watermark(w) }
