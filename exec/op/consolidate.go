package op

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// ConsolidateConfig configures Consolidate.
type ConsolidateConfig struct {
	In []types.Type
}

// Consolidate puts the changes of an epoch in order.
//
//	In:      one port, a changelog in which, for each content of a row, no prefix takes back more than was
//	         given; rows with one key may come in any order.
//	Out:     at each barrier the net changes of the epoch by content: first all that go, then all that
//	         come, each in the order of their first arrival.
//	State:   none: it is empty at barriers.
//	Memory:  the rows of an epoch.
//	Barrier: emits the net changes, then the watermarks, forwards it.
//	Errors:  none.
type Consolidate struct {
	base
	all   *vec.Chunk
	out1  *vec.Chunk
	piece *vec.Chunk
	marks marks
}

// NewConsolidate makes a Consolidate.
func NewConsolidate(cfg ConsolidateConfig) (*Consolidate, error) {
	c := &Consolidate{all: vec.NewChunk(cfg.In, 0), out1: vec.NewChunk(cfg.In, 0), piece: vec.NewChunk(cfg.In, 0)}
	c.schema = cfg.In
	return c, nil
}

// Chunk keeps the rows.
func (o *Consolidate) Chunk(_ int, c *vec.Chunk) error {
	o.all.AppendRange(c, 0, c.Len())
	return nil
}

// Watermark keeps the watermark until the barrier.
func (o *Consolidate) Watermark(_ int, w exec.Watermark) error {
	o.marks.set(w)
	return nil
}

// Barrier emits the net changes.
func (o *Consolidate) Barrier(bar exec.Barrier) error {
	if err := o.EndRound(); err != nil {
		return err
	}
	for _, w := range o.marks {
		if err := o.out.Watermark(w); err != nil {
			return err
		}
	}
	return o.out.Barrier(bar)
}

// EndRound emits the net changes of a round of a loop.
func (o *Consolidate) EndRound() error {
	if o.all.Len() > 0 {
		first, net := netChanges(o.all)
		for _, sign := range []int64{-1, 1} {
			for k, i := range first {
				if net[k]*sign > 0 {
					o.out1.AppendFromDiff(o.all, int(i), net[k])
				}
			}
		}
		o.all.Reset()
		if err := o.emit(o.out1, o.piece); err != nil {
			return err
		}
	}
	return nil
}

// netChanges adds up the diffs of equal rows: first lists the row number of each distinct row, net its
// sum, 0 if they cancel out.
func netChanges(c *vec.Chunk) (first []int32, net []int64) {
	n := c.Len()
	store := newRowStore(c.Types())
	idx := newKeyIndex(store, len(c.Cols))
	idx.exact = true
	ents := make([]uint32, n)
	idx.findOrAdd(c.Cols, vec.HashRows(c.Cols, n, nil), ents)
	net = make([]int64, store.n)
	first = make([]int32, 0, store.n)
	seen := make([]bool, store.n)
	at := make([]int32, store.n)
	for i, e := range ents {
		if !seen[e] {
			seen[e] = true
			at[e] = int32(len(first))
			first = append(first, int32(i))
		}
		net[at[e]] += c.Diff(i)
	}
	return first, net
}
