package op

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// A sort of more than fits into memory:
//
//  1. Whenever the rows in memory are too many, they are sorted and written as a run (spill).
//  2. As long as there are more runs than can be read at once within SpillOver, neighbouring ones are merged into longer ones: all
//     rows are written again for each such pass, of which there is none below some hundred runs as a rule.
//  3. The runs that are left are merged into the output (merge).
//
// Rows that are equal come in the order of their runs, which is that of their arrival.

// spill writes the rows in memory as a run.
func (s *Sort) spill() error {
	if s.all.Len() == 0 {
		return nil
	}
	if s.spool == nil {
		s.spool = exec.NewSpool(s.ctx)
	}
	run := s.spool.Stream(s.cfg.In)
	s.runs = append(s.runs, run)
	if err := s.sorted(func(c *vec.Chunk) error { return s.spool.Write(run, c) }); err != nil {
		return err
	}
	if err := s.spool.Flush(run); err != nil {
		return err
	}
	s.forget()
	return s.mem.Set(s.held(), 0)
}

// merged emits all runs and the rows in memory.
func (s *Sort) merged() error {
	if err := s.spill(); err != nil {
		return err
	}
	// A block is in memory as it was read and as columns, and strings of it may be held for a while.
	fan := int(max(s.ctx.SpillOver/(4*s.spool.Block()), 4))
	for len(s.runs) > fan {
		var longer []int
		for lo := 0; lo < len(s.runs); lo += fan {
			piece := s.runs[lo:min(lo+fan, len(s.runs))]
			if len(piece) == 1 {
				longer = append(longer, piece...)
				continue
			}
			run := s.spool.Stream(s.cfg.In)
			longer = append(longer, run)
			if err := s.merge(piece, func(c *vec.Chunk) error { return s.spool.Write(run, c) }); err != nil {
				return err
			}
			if err := s.spool.Flush(run); err != nil {
				return err
			}
		}
		s.runs = longer
	}
	if err := s.merge(s.runs, s.out.Chunk); err != nil {
		return err
	}
	err := s.spool.Close()
	s.spool, s.runs = nil, nil
	return err
}

// runHead is the next row of a run.
type runHead struct {
	no  int
	r   *exec.SpoolReader
	c   *vec.Chunk
	row int
}

// merge calls fn with the rows of some runs in order.
func (s *Sort) merge(runs []int, fn func(*vec.Chunk) error) error {
	var held int64
	defer func() { _ = s.mem.Set(s.held(), 0) }()
	next := func(h *runHead) error {
		held -= headBytes(h.c)
		var err error
		if h.c, err = h.r.Next(); err != nil {
			return err
		}
		h.row = 0
		held += headBytes(h.c)
		return s.mem.Set(s.held()+held, 0)
	}
	// heads is a heap by the rows and the numbers of the runs.
	var heads []*runHead
	for i, r := range runs {
		h := &runHead{no: i, r: s.spool.Read(r)}
		if err := next(h); err != nil {
			return err
		}
		if h.c != nil {
			heads = append(heads, h)
		}
	}
	before := func(a, b *runHead) bool {
		if c := vec.CompareRows(a.c.Cols, a.row, b.c.Cols, b.row, s.cfg.OrderBy); c != 0 {
			return c < 0
		}
		return a.no < b.no
	}
	sink := func(i int) {
		for {
			k := 2*i + 1
			if k >= len(heads) {
				return
			}
			if k+1 < len(heads) && before(heads[k+1], heads[k]) {
				k++
			}
			if !before(heads[k], heads[i]) {
				return
			}
			heads[i], heads[k] = heads[k], heads[i]
			i = k
		}
	}
	for i := len(heads)/2 - 1; i >= 0; i-- {
		sink(i)
	}
	out := vec.NewChunk(s.cfg.In, 0)
	for len(heads) > 0 {
		h := heads[0]
		from := h.row
		// As long as the run stays ahead of all others its rows go together.
		for {
			h.row++
			if h.row == h.c.Len() || out.Len()+h.row-from == s.max {
				break
			}
			if len(heads) > 1 && !before(h, heads[1]) || len(heads) > 2 && !before(h, heads[2]) {
				break
			}
		}
		out.AppendRange(h.c, from, h.row)
		if h.row == h.c.Len() {
			if err := next(h); err != nil {
				return err
			}
			if h.c == nil {
				heads[0] = heads[len(heads)-1]
				heads = heads[:len(heads)-1]
			}
		}
		if len(heads) > 0 {
			sink(0)
		}
		if out.Len() >= s.max || len(heads) == 0 {
			if err := s.cancelled(); err != nil {
				return err
			}
			if err := fn(out); err != nil {
				return err
			}
			out.Reset()
		}
	}
	return nil
}

func headBytes(c *vec.Chunk) int64 {
	if c == nil {
		return 0
	}
	return 2 * int64(c.Bytes())
}
