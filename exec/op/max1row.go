package op

import (
	"encoding/binary"
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Max1RowConfig configures Max1Row.
type Max1RowConfig struct {
	In      []types.Type
	GroupBy []int
	// Dist are the columns by which the input is distributed, a subset of GroupBy.
	Dist []int
}

// Max1Row passes its input on and complains about a group with a second row: the guard of scalar
// subqueries.
//
//	In:      one port, any changelog.
//	Out:     the input.
//	State:   the number of rows of each group, state table "counts".
//	Memory:  the groups changed since the last checkpoint, plus a cache within its budget.
//	Barrier: checks the groups that the epoch changed, hands dirty counts to the state table, forwards it.
//	Errors:  21000 through Context.RowError; ErrNegativeMultiplicity.
type Max1Row struct {
	base
	cfg     Max1RowConfig
	tab     *groupTable
	keyV    []*vec.Vector
	touched []uint32
}

// NewMax1Row checks the configuration.
func NewMax1Row(cfg Max1RowConfig) (*Max1Row, error) {
	if err := checkCols("Max1Row.GroupBy", cfg.GroupBy, len(cfg.In)); err != nil {
		return nil, err
	}
	dist, err := distPositions("Max1Row", cfg.Dist, cfg.GroupBy)
	if err != nil {
		return nil, err
	}
	m := &Max1Row{cfg: cfg}
	m.schema = cfg.In
	m.tab = newGroupTable(pickTypes(cfg.In, cfg.GroupBy), dist, 0, countOwner{m})
	return m, nil
}

// Open opens the state table.
func (m *Max1Row) Open(ctx *exec.Context, out exec.Output) error {
	if err := m.base.Open(ctx, out); err != nil {
		return err
	}
	m.tab.open(m.state("counts"))
	return nil
}

// Chunk counts the rows.
func (m *Max1Row) Chunk(_ int, c *vec.Chunk) error {
	m.keyV = pick(c, m.cfg.GroupBy, m.keyV)
	ents, err := m.tab.lookup(m.keyV, c.Len())
	if err != nil {
		return err
	}
	for i, e := range ents {
		rec := m.tab.rec(e)
		rec[wordCount] += c.Diff(i)
		if rec[wordFlags]&flagTouched == 0 {
			rec[wordFlags] |= flagTouched | flagRef
			m.touched = append(m.touched, e)
		}
	}
	return m.out.Chunk(c)
}

// Barrier checks the groups.
func (m *Max1Row) Barrier(bar exec.Barrier) error {
	var gone []uint32
	for _, e := range m.touched {
		rec := m.tab.rec(e)
		rec[wordFlags] &^= flagTouched
		switch n := rec[wordCount]; {
		case n < 0:
			return fmt.Errorf("scalar subquery: %w", ErrNegativeMultiplicity)
		case n > 1:
			err := error(sqlerr.Newf(sqlerr.CardinalityViolation, "more than one row returned by a subquery used as an expression"))
			if m.ctx.RowError != nil {
				err = m.ctx.RowError(err)
			}
			if err != nil {
				return err
			}
		}
		m.tab.dirtied(e)
		if m.tab.st == nil && rec[wordCount] == 0 {
			gone = append(gone, e)
		}
	}
	m.touched = m.touched[:0]
	m.tab.drop(gone)
	if bar.Checkpoint {
		m.tab.checkpoint()
		m.tab.restart(m.budget())
	}
	if err := m.mem.Set(int64(m.tab.held()), int64(m.tab.dirtyBytes(0))); err != nil {
		return err
	}
	m.tab.evict(m.budget())
	return m.out.Barrier(bar)
}

// countOwner keeps nothing but the count.
type countOwner struct{ m *Max1Row }

func (o countOwner) reset(uint32)         {}
func (o countOwner) exists(e uint32) bool { return o.m.tab.rec(e)[wordCount] != 0 }
func (o countOwner) encode(e uint32, dst []byte) []byte {
	return binary.AppendVarint(dst, o.m.tab.rec(e)[wordCount])
}

func (o countOwner) decode(e uint32, b []byte) error {
	n, rest, err := takeVarint(b)
	if err == nil && len(rest) > 0 {
		err = vec.ErrCorruptRow
	}
	o.m.tab.rec(e)[wordCount] = n
	return err
}

func (o countOwner) loaded(uint32, []byte) error { return nil }
func (o countOwner) saved(uint32, []byte)        {}
func (o countOwner) extraBytes() int             { return 0 }
