// Package batch runs operator trees once, over a snapshot: leaves push all of their rows, inputs one
// after the other, and a single barrier at the end of each operator makes it emit what it holds.
// The operators are those of streaming plans.
package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// Leaf produces the rows of a leaf of the tree.
type Leaf interface {
	// Run calls out for each chunk, which is valid during the call, and returns out's error at once.
	// It checks ctx.Ctx now and then.
	Run(ctx *exec.Context, out func(*vec.Chunk) error) error
}

// LeafFunc makes a function a Leaf.
type LeafFunc func(ctx *exec.Context, out func(*vec.Chunk) error) error

// Run calls f.
func (f LeafFunc) Run(ctx *exec.Context, out func(*vec.Chunk) error) error { return f(ctx, out) }

// Node is an operator with its inputs, a leaf, or a loop.
type Node struct {
	Op exec.Operator
	In []*Node
	// BuildLast: the inputs run last to first. A join whose right side is complete before the left
	// one starts never takes a row back.
	BuildLast bool
	Leaf      Leaf
	Loop      *Loop
	// Spill says how the work of Op can be divided if it does not fit into memory; nil: it cannot, or Op does that itself.
	Spill *Spill
	// Keys, if it is not nil, collects keys of the rows.
	Keys *KeySet
	// Stats, if it is not nil, is told what the node did.
	Stats *Stats
}

// Stats is what a node did, in all of its runs.
type Stats struct {
	// Rows came out of it, and it was run Loops times.
	Rows, Loops int64
	// Time was spent in it and in everything below it.
	Time time.Duration
}

// observe counts what goes to out until the function that it gives is called.
func (s *Stats) observe(out *output) (*output, func()) {
	start, above := time.Now(), time.Duration(0)
	counted := &output{emit: func(c *vec.Chunk) error {
		s.Rows += copies(c)
		t := time.Now()
		err := out.emit(c)
		above += time.Since(t)
		return err
	}}
	return counted, func() {
		s.Loops++
		s.Time += time.Since(start) - above
	}
}

// Filler is an operator that knows when it needs no more input: what feeds it is then stopped.
type Filler interface{ Full() bool }

// enough stops the producers below a node that is full.
type enough struct{ at *Node }

func (enough) Error() string { return "batch: enough rows" }

// Run runs the tree; emit gets the result's chunks, which are valid during the call and have every row as often as it is
// there, with a diff of +1: who reads a result may count rows. The operators must not have been opened, and are
// closed when Run returns. A tree that takes a row back at its root is an error.
func Run(ctx *exec.Context, root *Node, emit func(*vec.Chunk) error) error {
	x := &expander{ctx: ctx, emit: emit}
	return run(ctx, root, &output{emit: x.chunk})
}

// expander emits a row with a multiplicity as that many rows.
type expander struct {
	ctx  *exec.Context
	emit func(*vec.Chunk) error
	out  *vec.Chunk
	sel  []int32
}

func (x *expander) chunk(c *vec.Chunk) error {
	if !slices.ContainsFunc(c.Diffs, func(d int64) bool { return d != 1 }) {
		return x.emit(c)
	}
	size := x.ctx.ChunkSize
	if size <= 0 {
		size = vec.ChunkSize
	}
	once := &vec.Chunk{Cols: c.Cols}
	once.SetLen(c.Len())
	if x.out == nil {
		x.out = vec.NewChunk(c.Types(), size)
	}
	flush := func() error {
		if x.ctx.Ctx != nil && x.ctx.Ctx.Err() != nil {
			return context.Cause(x.ctx.Ctx)
		}
		x.out.Reset()
		x.out.AppendSel(once, x.sel)
		x.sel = x.sel[:0]
		return x.emit(x.out)
	}
	for i, d := range c.Diffs {
		if d < 0 {
			return fmt.Errorf("batch: row (%s) was taken back", vec.FormatRow(c, i))
		}
		for range d {
			if x.sel = append(x.sel, int32(i)); len(x.sel) == size {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if len(x.sel) > 0 {
		return flush()
	}
	return nil
}

// copies counts the rows of c, each as often as it is there.
func copies(c *vec.Chunk) int64 {
	n := int64(c.Len())
	for _, d := range c.Diffs {
		n += d - 1
	}
	return n
}

// output is the Output of an operator in a batch plan: barriers end here, since the driver calls every
// operator's Barrier itself.
type output struct {
	emit func(*vec.Chunk) error
}

func (o *output) Chunk(c *vec.Chunk) error {
	if c.Len() == 0 {
		return nil
	}
	return o.emit(c)
}
func (o *output) Watermark(exec.Watermark) error { return nil }
func (o *output) Barrier(exec.Barrier) error     { return nil }

func run(ctx *exec.Context, n *Node, out *output) (err error) {
	if n.Stats != nil {
		counted, done := n.Stats.observe(out)
		defer done()
		out = counted
	}
	if n.Keys != nil {
		n.Keys.begin()
		to := out
		out = &output{emit: func(c *vec.Chunk) error {
			n.Keys.add(c)
			return to.emit(c)
		}}
		defer func() { n.Keys.done = err == nil }()
	}
	if n.Loop != nil {
		return n.Loop.run(ctx, out.Chunk)
	}
	if n.Op == nil {
		return n.Leaf.Run(ctx, out.Chunk)
	}
	if n.Spill != nil && ctx.Temp != nil {
		return runDivided(ctx, n, out)
	}
	if err := n.Op.Open(ctx, out); err != nil {
		return err
	}
	defer n.Op.Close()
	filler, _ := n.Op.(Filler)
	rows := 0
	for k := range n.In {
		if n.BuildLast {
			k = len(n.In) - 1 - k
		}
		feed := &output{emit: func(c *vec.Chunk) error {
			if rows += c.Len(); rows > 1<<16 {
				rows = 0
				if err := ctx.Ctx.Err(); err != nil {
					return err
				}
			}
			if err := n.Op.Chunk(k, c); err != nil {
				return err
			}
			if filler != nil && filler.Full() {
				return enough{n}
			}
			return nil
		}}
		if filler != nil && filler.Full() {
			break
		}
		err := run(ctx, n.In[k], feed)
		var e enough
		if errors.As(err, &e) && e.at == n {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := n.Op.Barrier(exec.Barrier{Epoch: 1}); err != nil {
		return err
	}
	return nil
}

// Collect runs the tree and gives all rows in one chunk, nil if there are none.
func Collect(ctx *exec.Context, root *Node) (*vec.Chunk, error) {
	var all *vec.Chunk
	err := Run(ctx, root, func(c *vec.Chunk) error {
		if all == nil {
			all = vec.NewChunk(c.Types(), c.Len())
		}
		all.AppendRange(c, 0, c.Len())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
