package op

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// A batch aggregate of more groups than fit into memory:
//
//  1. When the groups take more than Context.SpillOver, no new ones are made. Rows of those that are there go on being
//     aggregated; all others go to one of some partitions in a temporary file, by a hash of their key.
//  2. At the barrier the groups in memory are emitted and forgotten, and then each partition is aggregated in the same way, by
//     another hash.
//
// Every level finishes as many groups as fit, so that a few groups with most of the rows, which come early, cost nothing more. It does
// not help if single groups grow: with aggregates that keep their inputs the driver (exec/batch) divides the input instead.

// SpillParts is how many partitions an operator's input is divided into at a time when it does not fit.
const SpillParts = 32

// maxSpills bounds how often what has been divided is divided again.
const maxSpills = 8

// aggSpill is what goes to partitions.
type aggSpill struct {
	spool  *exec.Spool
	hashes []uint64
	ents   []uint32
	rows   [SpillParts][]int32
	kept   []int32
	found  *vec.Chunk
}

// Fixed tells whether a group needs the same memory whatever number of rows it has, up to the size of a value.
func (a *HashAgg) Fixed() bool {
	if len(a.sets) > 0 {
		return false
	}
	for _, agg := range a.aggs {
		switch agg.(type) {
		case *countStar, *countArg, *boolAgg, *bitAgg, *sumInt, *sumNumeric, *sumFloat, *sumInterval, *extremeInt, *extreme,
			*pickFirst, *regr, *varNumeric, *varFloat:
		default:
			return false
		}
	}
	return true
}

// overfull says that no more groups may be made.
func (a *HashAgg) overfull(held int64) bool {
	return a.spills && a.spill == nil && a.ctx.Temp != nil && a.depth < maxSpills &&
		(held > a.ctx.SpillOver || a.mem.Tight())
}

// divide sends the rows of groups that are not there to their partitions, and gives the others.
func (a *HashAgg) divide(c *vec.Chunk) (*vec.Chunk, error) {
	s, n := a.spill, c.Len()
	a.keyV = pick(c, a.cfg.Keys, a.keyV)
	s.hashes = a.tab.hash(a.keyV, n, s.hashes)
	if cap(s.ents) < n {
		s.ents = make([]uint32, max(n, 64))
	}
	s.ents = s.ents[:n]
	a.tab.idx.find(a.keyV, s.hashes, s.ents)
	s.kept = s.kept[:0]
	for i, e := range s.ents {
		if e != none {
			s.kept = append(s.kept, int32(i))
			continue
		}
		p := SpillPart(s.hashes[i], a.depth)
		s.rows[p] = append(s.rows[p], int32(i))
	}
	if len(s.kept) == n {
		return c, nil
	}
	for p := range s.rows {
		if err := s.spool.WriteRows(p, c, s.rows[p]); err != nil {
			return nil, err
		}
		s.rows[p] = s.rows[p][:0]
	}
	s.found.Reset()
	if len(s.kept) > 0 {
		s.found.AppendSel(c, s.kept)
	}
	return s.found, nil
}

// SpillPart gives the partition of a row by the hash of its key; depth is how often it was in one before.
func SpillPart(hash uint64, depth int) int {
	return int(vec.HashMore(hash, int64(depth)+1) >> 40 % SpillParts)
}

// startSpill makes the partitions.
func (a *HashAgg) startSpill() {
	a.spill = &aggSpill{spool: exec.NewSpool(a.ctx), found: vec.NewChunk(a.cfg.In, 0)}
	for range SpillParts {
		a.spill.spool.Stream(a.cfg.In)
	}
}

// rest aggregates the partitions, after the groups in memory were emitted.
func (a *HashAgg) rest(bar exec.Barrier) error {
	// None of them is asked for again.
	a.tab, a.aggs, a.res, a.outc, a.piece, a.touched = nil, nil, nil, nil, nil, nil
	spool := a.spill.spool
	for p := range SpillParts {
		if spool.Rows(p) == 0 {
			continue
		}
		if err := a.mem.Set(spool.Held(), 0); err != nil {
			return err
		}
		if err := a.part(bar, p); err != nil {
			return err
		}
	}
	return nil
}

func (a *HashAgg) part(bar exec.Barrier, p int) error {
	sub, err := NewHashAgg(a.cfg)
	if err != nil {
		return err
	}
	sub.depth = a.depth + 1
	if err := sub.Open(a.ctx, partOutput{a.out}); err != nil {
		return err
	}
	defer sub.Close()
	if err := a.spill.spool.Each(p, func(c *vec.Chunk) error { return sub.Chunk(0, c) }); err != nil {
		return err
	}
	return sub.Barrier(bar)
}

// partOutput passes the chunks of an operator over a part of the input; the barrier is its owner's.
type partOutput struct{ out exec.Output }

func (o partOutput) Chunk(c *vec.Chunk) error     { return o.out.Chunk(c) }
func (partOutput) Watermark(exec.Watermark) error { return nil }
func (partOutput) Barrier(exec.Barrier) error     { return nil }
