package op

import (
	"encoding/binary"
	"fmt"
	"strings"

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

// Max1Row gives the row of each group that has exactly one, and complains about a group with a second row:
// the guard of scalar subqueries. A group with several rows gives none, so that the plan may rely on a key,
// and the join with it gives NULL; once one row is left, it is given again.
//
//	In:      one port, any changelog.
//	Out:     at barriers, the changes of the only rows of groups.
//	State:   the rows of each group, state table "rows".
//	Memory:  the groups changed since the last checkpoint, plus a cache within its budget.
//	Barrier: checks the groups that the epoch changed, hands dirty ones to the state table, forwards it.
//	Errors:  21000 through Context.RowError, for the group, or at once beyond max1Rows rows; ErrNegativeMultiplicity.
type Max1Row struct {
	base
	cfg     Max1RowConfig
	tab     *groupTable
	keyV    []*vec.Vector
	touched []uint32
	// groups are the rows of each entry of tab, encoded; before is what was given of it before this epoch, for
	// touched ones.
	groups []max1Group
	extra  int
	buf    []byte
	result *vec.Chunk
	piece  *vec.Chunk
}

type max1Group struct {
	rows   multiset[string]
	before string
	shown  bool
	// failed: it had several rows before this epoch.
	failed bool
}

// max1Rows bounds the different rows that are kept of a group, all of which are written when it changes. A
// subquery that gives more is not one that will soon be right again.
const max1Rows = 1000

var errManyRows = sqlerr.Newf(sqlerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")

// max1ItemBytes estimates what a row needs besides its bytes.
const max1ItemBytes = 64

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
	m.tab = newGroupTable(pickTypes(cfg.In, cfg.GroupBy), dist, 0, max1Owner{m})
	m.result, m.piece = vec.NewChunk(cfg.In, 0), vec.NewChunk(cfg.In, 0)
	return m, nil
}

// Open opens the state table.
func (m *Max1Row) Open(ctx *exec.Context, out exec.Output) error {
	if err := m.base.Open(ctx, out); err != nil {
		return err
	}
	m.tab.open(m.state("rows"))
	return nil
}

// Chunk keeps the rows.
func (m *Max1Row) Chunk(_ int, c *vec.Chunk) error {
	m.keyV = pick(c, m.cfg.GroupBy, m.keyV)
	ents, err := m.tab.lookup(m.keyV, c.Len())
	if err != nil {
		return err
	}
	for i, e := range ents {
		rec, g := m.tab.rec(e), &m.groups[e]
		if rec[wordFlags]&flagTouched == 0 {
			rec[wordFlags] |= flagTouched | flagRef
			m.touched = append(m.touched, e)
			g.before, g.shown = m.only(e)
			g.failed = m.tab.rec(e)[wordCount] > 1
		}
		m.buf = vec.EncodeRow(m.buf[:0], c.Cols, i)
		m.add(e, string(m.buf), c.Diff(i))
	}
	return nil
}

// add changes the multiplicity of a row of e.
func (m *Max1Row) add(e uint32, row string, d int64) {
	g := &m.groups[e]
	was := g.rows.n
	g.rows.add(row, d, strings.Compare)
	m.tab.rec(e)[wordCount] += d
	m.extra += (g.rows.n - was) * (len(row) + max1ItemBytes)
}

// only gives the row of e if it has exactly one.
func (m *Max1Row) only(e uint32) (row string, ok bool) {
	g := &m.groups[e]
	if m.tab.rec(e)[wordCount] != 1 || g.rows.n != 1 {
		return "", false
	}
	return g.rows.first()
}

// Barrier checks the groups.
func (m *Max1Row) Barrier(bar exec.Barrier) error {
	var gone []uint32
	for _, e := range m.touched {
		m.tab.rec(e)[wordFlags] &^= flagTouched
		if err := m.settle(e); err != nil {
			return err
		}
		m.tab.dirtied(e)
		if m.tab.st == nil && m.groups[e].rows.n == 0 {
			gone = append(gone, e)
		}
	}
	m.touched = m.touched[:0]
	if err := m.emit(m.result, m.piece); err != nil {
		return err
	}
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

// settle checks e and emits what the epoch has changed of it.
func (m *Max1Row) settle(e uint32) error {
	g := &m.groups[e]
	negative := false
	g.rows.each(func(_ string, n int64) { negative = negative || n < 0 })
	if negative {
		return fmt.Errorf("scalar subquery: %w", ErrNegativeMultiplicity)
	}
	fails := m.tab.rec(e)[wordCount] > 1
	if fails && g.rows.n > max1Rows {
		return errManyRows
	}
	if fails != g.failed {
		f := exec.RowFailure{Err: errManyRows, Cols: m.tab.keyOf(e), Diff: 1}
		if g.failed {
			f.Diff = -1
		}
		g.failed = fails
		if err := m.failed(f); err != nil {
			return err
		}
	}
	row, ok := m.only(e)
	if ok == g.shown && row == g.before {
		return nil
	}
	if g.shown {
		if err := m.give(g.before, -1); err != nil {
			return err
		}
	}
	if ok {
		if err := m.give(row, 1); err != nil {
			return err
		}
	}
	g.before, g.shown = "", false
	return nil
}

// give adds an encoded row to the result.
func (m *Max1Row) give(row string, d int64) error {
	if _, err := vec.DecodeRow([]byte(row), m.result.Cols); err != nil {
		return err
	}
	m.result.PushDiff(d)
	return nil
}

// max1Owner encodes the rows of a group: their number, and for each its multiplicity, its length and itself.
type max1Owner struct{ m *Max1Row }

func (o max1Owner) reset(e uint32) {
	m := o.m
	for int(e) >= len(m.groups) {
		m.groups = append(m.groups, max1Group{})
	}
	m.groups[e].rows.each(func(row string, _ int64) { m.extra -= len(row) + max1ItemBytes })
	m.groups[e] = max1Group{}
}

func (o max1Owner) exists(e uint32) bool { return o.m.groups[e].rows.n != 0 }

func (o max1Owner) encode(e uint32, dst []byte) []byte {
	g := &o.m.groups[e]
	dst = binary.AppendUvarint(dst, uint64(g.rows.n))
	g.rows.each(func(row string, n int64) {
		dst = binary.AppendVarint(dst, n)
		dst = binary.AppendUvarint(dst, uint64(len(row)))
		dst = append(dst, row...)
	})
	return dst
}

func (o max1Owner) decode(e uint32, b []byte) error {
	n, w := binary.Uvarint(b)
	if w <= 0 {
		return vec.ErrCorruptRow
	}
	b = b[w:]
	for range n {
		d, rest, err := takeVarint(b)
		if err != nil {
			return err
		}
		size, w := binary.Uvarint(rest)
		if w <= 0 || size > uint64(len(rest)-w) {
			return vec.ErrCorruptRow
		}
		o.m.add(e, string(rest[w:w+int(size)]), d)
		b = rest[w+int(size):]
	}
	if len(b) > 0 {
		return vec.ErrCorruptRow
	}
	return nil
}

func (o max1Owner) loaded(uint32, []byte) error { return nil }
func (o max1Owner) saved(uint32, []byte)        {}
func (o max1Owner) extraBytes() int             { return o.m.extra }
