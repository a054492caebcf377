package op

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// SortConfig configures Sort.
type SortConfig struct {
	In      []types.Type
	OrderBy []SortKey
}

// Sort orders its whole input: for batch plans.
//
//	In:      one port, any changelog.
//	Out:     the input rows in order, equal ones in the order of arrival, before the barrier.
//	State:   none.
//	Memory:  the whole input, or what Context.SpillOver allows: what is more is sorted piece by piece into a temporary file.
//	Barrier: emits everything, forwards it.
//	Errors:  ErrNegativeMultiplicity; those of the temporary file.
type Sort struct {
	base
	cfg   SortConfig
	all   *vec.Chunk
	piece *vec.Chunk
	bytes int64 // about what all takes, while it is sorted
	// retracts: some row was taken back, so that the rows have to be netted before sorting.
	retracts bool

	// spool has sorted runs, from the earliest rows to the latest; runs are its streams that are not yet merged into longer ones.
	spool *exec.Spool
	runs  []int
}

// NewSort checks the configuration.
func NewSort(cfg SortConfig) (*Sort, error) {
	if err := checkCols("Sort.OrderBy", sortCols(cfg.OrderBy), len(cfg.In)); err != nil {
		return nil, err
	}
	s := &Sort{cfg: cfg, all: vec.NewChunk(cfg.In, 0), piece: vec.NewChunk(cfg.In, 0)}
	s.schema = cfg.In
	return s, nil
}

// Chunk keeps the rows.
func (s *Sort) Chunk(_ int, c *vec.Chunk) error {
	for i := range c.Diffs {
		s.retracts = s.retracts || c.Diffs[i] < 0
	}
	s.all.AppendRange(c, 0, c.Len())
	// The columns grow by doubling, and the order of the rows is a list of its own.
	n := int64(c.Bytes())
	s.bytes += n + n/2 + 8*int64(c.Len())
	if s.ctx.Temp != nil && !s.retracts && (s.bytes > s.ctx.SpillOver || s.mem.Tight()) {
		if err := s.spill(); err != nil {
			return err
		}
	}
	return s.mem.Set(s.held(), 0)
}

func (s *Sort) held() int64 {
	n := s.bytes
	if s.spool != nil {
		n += s.spool.Held()
	}
	return n
}

// Barrier emits the rows in order.
func (s *Sort) Barrier(bar exec.Barrier) error {
	if s.retracts {
		if err := s.net(); err != nil {
			return err
		}
	}
	if s.spool == nil {
		if err := s.sorted(s.out.Chunk); err != nil {
			return err
		}
	} else if err := s.merged(); err != nil {
		return err
	}
	s.forget()
	s.retracts = false
	return s.out.Barrier(bar)
}

// Close deletes the temporary file.
func (s *Sort) Close() {
	if s.spool != nil {
		// What is left of it goes with the next start.
		_ = s.spool.Close()
	}
	s.base.Close()
}

// forget drops the rows in memory. Columns that have been large are not kept.
func (s *Sort) forget() {
	s.all, s.bytes = vec.NewChunk(s.cfg.In, 0), 0
}

// sorted calls fn with the rows in memory, in order.
func (s *Sort) sorted(fn func(*vec.Chunk) error) error {
	rows := vec.SortedRows(s.all, s.cfg.OrderBy)
	for len(rows) > 0 {
		if err := s.cancelled(); err != nil {
			return err
		}
		n := min(len(rows), s.max)
		s.piece.Reset()
		s.piece.AppendSel(s.all, rows[:n])
		if err := fn(s.piece); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// net nets the rows. Those that were spilled before anything was taken back come into memory again.
func (s *Sort) net() error {
	if s.spool != nil {
		all := vec.NewChunk(s.cfg.In, 0)
		for _, r := range s.runs {
			err := s.spool.Each(r, func(c *vec.Chunk) error {
				all.AppendRange(c, 0, c.Len())
				s.bytes += int64(c.Bytes())
				return s.mem.Set(s.held(), 0)
			})
			if err != nil {
				return err
			}
		}
		// Rows that are equal in the order are in the order of arrival among themselves, and that is all that shows.
		all.AppendRange(s.all, 0, s.all.Len())
		s.all = all
		if err := s.spool.Close(); err != nil {
			return err
		}
		s.spool, s.runs = nil, nil
	}
	net, err := netRows(s.all)
	if err != nil {
		return err
	}
	s.all = net
	return nil
}

// netRows adds up the diffs of equal rows and drops those that cancel out; the others stay in the
// order of their first arrival.
func netRows(c *vec.Chunk) (*vec.Chunk, error) {
	first, net := netChanges(c)
	out := vec.NewChunk(c.Types(), 0)
	for k, i := range first {
		switch d := net[k]; {
		case d < 0:
			return nil, fmt.Errorf("row (%s): %w", vec.FormatRow(c, int(i)), ErrNegativeMultiplicity)
		case d > 0:
			out.AppendFromDiff(c, int(i), d)
		}
	}
	return out, nil
}

// LimitConfig configures Limit.
type LimitConfig struct {
	In []types.Type
	// Limit is the number of rows that pass after Offset rows were left out; -1: all.
	Limit, Offset int64
}

// Limit passes some rows in the order of arrival: for batch plans.
//
//	In:      one port, insertions only.
//	Out:     the rows Offset+1 .. Offset+Limit.
//	State:   none.
//	Memory:  one chunk.
//	Barrier: forwards it.
//	Errors:  a retraction, which its inputs never make in batch plans.
type Limit struct {
	base
	cfg  LimitConfig
	seen int64
	outc *vec.Chunk
}

// NewLimit checks the configuration.
func NewLimit(cfg LimitConfig) (*Limit, error) {
	if cfg.Limit < -1 || cfg.Offset < 0 {
		return nil, fmt.Errorf("Limit: limit %d, offset %d", cfg.Limit, cfg.Offset)
	}
	l := &Limit{cfg: cfg, outc: vec.NewChunk(cfg.In, 0)}
	l.schema = cfg.In
	return l, nil
}

// Full tells that no further row will pass.
func (l *Limit) Full() bool { return l.cfg.Limit >= 0 && l.seen >= l.cfg.Offset+l.cfg.Limit }

// Chunk passes the rows that are within the limit.
func (l *Limit) Chunk(_ int, c *vec.Chunk) error {
	lo, hi := l.cfg.Offset, int64(-1)
	if l.cfg.Limit >= 0 {
		hi = lo + l.cfg.Limit
	}
	if n := int64(c.Len()); c.Diffs == nil && l.seen >= lo && (hi < 0 || l.seen+n <= hi) {
		l.seen += n
		return l.out.Chunk(c)
	}
	l.outc.Reset()
	for i := range c.Len() {
		d := c.Diff(i)
		if d < 0 {
			return fmt.Errorf("limit: row (%s) was taken back", vec.FormatRow(c, i))
		}
		from, to := max(l.seen, lo), l.seen+d
		if hi >= 0 {
			to = min(to, hi)
		}
		l.seen += d
		if from < to {
			l.outc.AppendFromDiff(c, i, to-from)
		}
	}
	if l.outc.Len() == 0 {
		return nil
	}
	return l.out.Chunk(l.outc)
}
