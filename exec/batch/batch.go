// Package batch runs operator trees once, over a snapshot: leaves push all of their rows, inputs one
// after the other, and a single barrier at the end of each operator makes it emit what it holds.
// The operators are those of streaming plans.
package batch

import (
	"errors"
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
		s.Rows += int64(c.Len())
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

// Run runs the tree; emit gets the result's chunks, which are valid during the call. The operators
// must not have been opened, and are closed when Run returns.
func Run(ctx *exec.Context, root *Node, emit func(*vec.Chunk) error) error {
	return run(ctx, root, &output{emit: emit})
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

func run(ctx *exec.Context, n *Node, out *output) error {
	if n.Stats != nil {
		counted, done := n.Stats.observe(out)
		defer done()
		out = counted
	}
	if n.Loop != nil {
		return n.Loop.run(ctx, out.Chunk)
	}
	if n.Op == nil {
		return n.Leaf.Run(ctx, out.Chunk)
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
