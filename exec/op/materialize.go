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
	// Seal ends the epoch.
	Seal(epoch storage.Epoch, checkpoint bool)
}

// MaterializeConfig configures Materialize.
type MaterializeConfig struct {
	In []types.Type
	// Key is the arrangement's key: unique.
	Key    []SortKey
	Target Arrangement
}

// Materialize keeps its input in an arrangement and passes it on.
//
//	In:      one port, a changelog in which no key has two rows at the end of an epoch.
//	Out:     the input.
//	State:   the arrangement: key columns in the order-preserving codec (vec.EncodeKey), and all columns
//	         in the row codec (vec.EncodeRow).
//	Memory:  one chunk; the arrangement has its own.
//	Barrier: seals the arrangement, then forwards it.
//	Errors:  none.
type Materialize struct {
	base
	cfg     MaterializeConfig
	buf     []byte
	ends    []int
	changes []storage.Change
}

// NewMaterialize checks the configuration.
func NewMaterialize(cfg MaterializeConfig) (*Materialize, error) {
	if cfg.Target == nil {
		return nil, errors.New("Materialize: no target")
	}
	if err := checkCols("Materialize.Key", sortCols(cfg.Key), len(cfg.In)); err != nil {
		return nil, err
	}
	m := &Materialize{cfg: cfg}
	m.schema = cfg.In
	return m, nil
}

// Chunk applies the rows.
func (m *Materialize) Chunk(_ int, c *vec.Chunk) error {
	n := c.Len()
	m.buf, m.ends = m.buf[:0], m.ends[:0]
	for i := range n {
		m.buf = vec.EncodeKey(m.buf, c.Cols, i, m.cfg.Key)
		m.ends = append(m.ends, len(m.buf))
		switch d := c.Diff(i); d {
		case 1:
			m.buf = vec.EncodeRow(m.buf, c.Cols, i)
		case -1:
		default:
			return fmt.Errorf("materialize: row (%s) has diff %d", vec.FormatRow(c, i), d)
		}
		m.ends = append(m.ends, len(m.buf))
	}
	m.changes = m.changes[:0]
	at := 0
	for i := range n {
		k, v := m.ends[2*i], m.ends[2*i+1]
		m.changes = append(m.changes, storage.Change{Key: m.buf[at:k], Value: m.buf[k:v], Delete: c.Diff(i) < 0})
		at = v
	}
	m.cfg.Target.Apply(m.changes)
	return m.out.Chunk(c)
}

// Barrier seals the epoch.
func (m *Materialize) Barrier(bar exec.Barrier) error {
	m.cfg.Target.Seal(bar.Epoch, bar.Checkpoint)
	return m.out.Barrier(bar)
}

// Watermark forwards the watermark.
func (m *Materialize) Watermark(_ int, w exec.Watermark) error { return m.out.Watermark(w) }
