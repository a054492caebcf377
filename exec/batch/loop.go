package batch

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// Loop is a recursive query: the rows of Base, and of the step over what was new in the round before, until
// nothing is new. Rows go out round by round, so that a consumer with enough of them can stop a loop
// that has no end.
type Loop struct {
	Types []types.Type
	Base  *Node
	// Step makes the tree of the step over working rows.
	Step func(work Leaf) (*Node, error)
	// Linear: every operator between the working rows and the root of the step emits at once what a chunk
	// causes. Then one tree serves all rounds, and what it reads besides is read once.
	Linear bool
	// Full: the step works on all rows so far, not on those of the round before.
	Full bool
	// Seen makes the set of all rows so far, which are not new again; nil: every row is new.
	Seen func() Set
}

// Set remembers rows.
type Set interface {
	// Add appends the rows of c that are not in the set to dst, each once, and adds them.
	Add(dst, c *vec.Chunk)
	// Bytes estimates its memory.
	Bytes() int
}

// looping is one run of a Loop.
type looping struct {
	*Loop
	ctx  *exec.Context
	out  func(*vec.Chunk) error
	seen Set
	// next are the new rows of this round; fresh is scratch.
	next, fresh *vec.Chunk
	rows        int
	mem         *exec.Account
}

func (l *Loop) run(ctx *exec.Context, out func(*vec.Chunk) error) error {
	r := &looping{Loop: l, ctx: ctx, out: out, next: vec.NewChunk(l.Types, 0), fresh: vec.NewChunk(l.Types, 0)}
	r.mem = ctx.Memory.Account()
	defer r.mem.Close()
	if l.Seen != nil {
		r.seen = l.Seen()
	}
	if err := run(ctx, l.Base, &output{emit: r.take}); err != nil {
		return err
	}
	if !l.Linear {
		for r.next.Len() > 0 {
			step, err := l.Step(LeafFunc(func(_ *exec.Context, feed func(*vec.Chunk) error) error {
				return r.feed(r.fresh, feed)
			}))
			if err != nil {
				return err
			}
			// The rows of the round before, or all, are what the step reads.
			if l.Full {
				r.fresh.AppendRange(r.next, 0, r.next.Len())
				r.next.Reset()
			} else {
				r.fresh, r.next = r.next, vec.NewChunk(l.Types, 0)
			}
			if err := run(ctx, step, &output{emit: r.take}); err != nil {
				return err
			}
			if err := r.check(); err != nil {
				return err
			}
		}
		return nil
	}
	if r.next.Len() == 0 {
		return nil
	}
	// The rounds are what the working rows of the only tree consist of.
	step, err := l.Step(LeafFunc(func(_ *exec.Context, feed func(*vec.Chunk) error) error {
		work := vec.NewChunk(l.Types, 0)
		for r.next.Len() > 0 {
			work, r.next = r.next, work
			r.next.Reset()
			if err := r.feed(work, feed); err != nil {
				return err
			}
			if err := r.check(); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil {
		return err
	}
	return run(ctx, step, &output{emit: r.take})
}

// feed sends rows in chunks of the usual size.
func (r *looping) feed(rows *vec.Chunk, feed func(*vec.Chunk) error) error {
	size := r.ctx.ChunkSize
	if size <= 0 {
		size = vec.ChunkSize
	}
	if rows.Len() <= size {
		return feed(rows)
	}
	piece := vec.NewChunk(r.Types, size)
	for lo := 0; lo < rows.Len(); lo += size {
		piece.Reset()
		piece.AppendRange(rows, lo, min(lo+size, rows.Len()))
		if err := feed(piece); err != nil {
			return err
		}
	}
	return nil
}

// take keeps new rows for the next round and sends them on.
func (r *looping) take(c *vec.Chunk) error {
	if r.seen != nil {
		fresh := vec.NewChunk(r.Types, c.Len())
		r.seen.Add(fresh, c)
		if c = fresh; c.Len() == 0 {
			return nil
		}
	}
	for i := range c.Len() {
		for range c.Diff(i) {
			r.next.AppendFromDiff(c, i, 1)
		}
	}
	if r.rows += c.Len(); r.rows > 1<<14 {
		r.rows = 0
		if err := r.check(); err != nil {
			return err
		}
	}
	return r.out(c)
}

// check looks for cancellation, and at the memory of a loop that may have no end.
func (r *looping) check() error {
	if err := r.ctx.Ctx.Err(); err != nil {
		return err
	}
	bytes := r.next.Bytes() + r.fresh.Bytes()
	if r.seen != nil {
		bytes += r.seen.Bytes()
	}
	return r.mem.Set(int64(bytes), 0)
}

// Once makes a leaf of a tree, whose rows are kept after the first run: for what the steps of a loop read besides the
// working rows.
func Once(root *Node) Leaf {
	var kept []*vec.Chunk
	done := false
	return LeafFunc(func(ctx *exec.Context, out func(*vec.Chunk) error) error {
		if !done {
			err := run(ctx, root, &output{emit: func(c *vec.Chunk) error {
				kept = append(kept, c.Clone())
				return nil
			}})
			if err != nil {
				return err
			}
			done = true
		}
		for _, c := range kept {
			if err := out(c); err != nil {
				return err
			}
		}
		return nil
	})
}
