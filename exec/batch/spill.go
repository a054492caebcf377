package batch

import (
	"context"
	"errors"
	"math"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// An operator whose rows go together by keys, and that does not fit into memory, is run piece by piece:
//
//  1. Its input is kept until it is complete: in memory if it is small, and otherwise in partitions of a temporary file, by a
//     hash of the keys. Of a join this is the right input; the left one is divided only if the right one was. An operator that
//     is a Drainer keeps its input itself, until it has too much.
//  2. Each partition is the input of an operator of its own. If that one takes too much memory before it has all of its
//     input, it is forgotten, and the partition is divided by another hash.
//
// Nothing was emitted by then: blocking operators emit at the barrier, and what a join emits of its right side is held back.

// Spill tells how an operator's work can be divided.
type Spill struct {
	// In are the types of the inputs.
	In [][]types.Type
	// Keys are for each input the columns of rows that belong together; rows that differ in them have nothing to do with each other.
	Keys [][]int
	// New makes another instance of the operator.
	New func() (exec.Operator, error)
	// Instead, for a Drainer, makes two operators, one behind the other, that together give what it gives, in temporary files of their own:
	// what it has and the rest of its input go there, and nothing is divided. nil: there are none.
	Instead func() (first, second exec.Operator, err error)
}

// Drainer is an operator that can give up its input.
type Drainer interface {
	// Drain emits rows that have, as input of a new instance, the effect of all rows so far, and forgets them. If again is set
	// they are usually fewer than those were, so that it pays to go on feeding the operator.
	Drain(emit func(*vec.Chunk) error) (again bool, err error)
}

const (
	// spillParts is how many partitions there are at a time.
	spillParts = 32
	// maxSpills bounds how often what has been divided is divided again.
	maxSpills = 8
)

// divided runs one operator.
type divided struct {
	ctx *exec.Context // of the query
	n   *Node
	out *output
	mem *exec.Account // what is kept here

	// op is the present instance and held the memory of it. second, if not nil, is an operator behind it.
	op, second exec.Operator
	held       *exec.Memory

	buf   []*vec.Chunk
	bytes int64
	parts *partitions

	hashes []uint64
	rows   [spillParts][]int32
}

// partitions are the inputs of an operator, divided: the streams of input k begin at k*spillParts.
type partitions struct {
	spool *exec.Spool
	depth int
}

func runDivided(ctx *exec.Context, n *Node, out *output) error {
	d := &divided{ctx: ctx, n: n, out: out, mem: ctx.Memory.Account()}
	defer d.close()
	input := len(n.In) - 1 // the one that is complete first
	var err error
	if drainer, ok := n.Op.(Drainer); ok {
		err = d.drained(drainer)
	} else {
		err = d.buffered(input)
	}
	if err != nil {
		return err
	}
	if d.parts == nil {
		if input > 0 {
			d.forget()
			if err := run(ctx, n.In[0], &output{emit: func(c *vec.Chunk) error { return d.op.Chunk(0, c) }}); err != nil {
				return err
			}
		}
		return d.op.Barrier(exec.Barrier{Epoch: 1})
	}
	if input > 0 {
		if err := run(ctx, n.In[0], &output{emit: func(c *vec.Chunk) error { return d.divide(d.parts, 0, c) }}); err != nil {
			return err
		}
	}
	return d.pieces(d.parts)
}

func (d *divided) close() {
	d.closeOp()
	if d.second != nil {
		d.second.Close()
	}
	if d.parts != nil {
		// What is left of it goes with the next start.
		_ = d.parts.spool.Close()
	}
	d.mem.Close()
}

// open opens an instance.
func (d *divided) open(op exec.Operator, out exec.Output) error {
	d.closeOp()
	d.op = op
	d.held = exec.NewMemory(exec.MemoryConfig{Limit: math.MaxInt64, Strict: true, Parent: d.ctx.Memory})
	own := *d.ctx
	own.Memory = d.held
	return op.Open(&own, out)
}

func (d *divided) closeOp() {
	if d.op != nil {
		d.op.Close()
		d.op = nil
	}
}

// over tells whether the operator takes too much.
func (d *divided) over() bool { return d.much(d.held.Used()) }

func (d *divided) much(n int64) bool {
	return n > d.ctx.SpillOver || n > 1<<20 && d.ctx.Memory.Tight()
}

// drained feeds an operator until it has too much.
func (d *divided) drained(op Drainer) error {
	if err := d.open(d.n.Op, d.out); err != nil {
		return err
	}
	again := true
	emit := func(c *vec.Chunk) error { return d.divide(d.parts, 0, c) }
	err := run(d.ctx, d.n.In[0], &output{emit: func(c *vec.Chunk) (err error) {
		if !again {
			return d.divide(d.parts, 0, c)
		}
		if err := d.op.Chunk(0, c); err != nil {
			return err
		}
		if !d.over() || d.op != exec.Operator(d.n.Op) {
			return nil
		}
		if d.n.Spill.Instead != nil {
			return d.instead(op)
		}
		if d.parts == nil {
			d.parts = d.start(0)
		}
		again, err = op.Drain(emit)
		return err
	}})
	if err != nil || d.parts == nil {
		return err
	}
	if again {
		if _, err := op.Drain(emit); err != nil {
			return err
		}
	}
	d.closeOp()
	return nil
}

// instead gives what an operator has to those that take its place.
func (d *divided) instead(op Drainer) error {
	old := d.op
	defer old.Close()
	d.op = nil
	first, second, err := d.n.Spill.Instead()
	if err != nil {
		return err
	}
	own := *d.ctx
	own.Memory = exec.NewMemory(exec.MemoryConfig{Limit: math.MaxInt64, Strict: true, Parent: d.ctx.Memory})
	if err := second.Open(&own, d.out); err != nil {
		return err
	}
	d.second = second
	if err := d.open(first, behind{second}); err != nil {
		return err
	}
	_, err = op.Drain(func(c *vec.Chunk) error { return first.Chunk(0, c) })
	return err
}

// behind is the output of an operator that goes into another one.
type behind struct{ op exec.Operator }

func (b behind) Chunk(c *vec.Chunk) error         { return b.op.Chunk(0, c) }
func (b behind) Watermark(w exec.Watermark) error { return b.op.Watermark(0, w) }
func (b behind) Barrier(r exec.Barrier) error     { return b.op.Barrier(r) }

// buffered keeps an input, and feeds the operator with it if it is small.
func (d *divided) buffered(input int) error {
	err := run(d.ctx, d.n.In[input], &output{emit: func(c *vec.Chunk) error {
		if d.parts != nil {
			return d.divide(d.parts, input, c)
		}
		d.buf = append(d.buf, c.Clone())
		d.bytes += int64(c.Bytes())
		// The operator will have it a second time, with what belongs to it.
		if d.much(3 * d.bytes) {
			return d.unbuffer(input)
		}
		return d.mem.Set(d.bytes, 0)
	}})
	if err != nil || d.parts != nil {
		return err
	}
	ok, err := d.try(d.n.Op, input, true, func(fn func(*vec.Chunk) error) error {
		for _, c := range d.buf {
			if err := fn(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !ok {
		err = d.unbuffer(input)
	}
	return err
}

func (d *divided) forget() {
	d.buf, d.bytes = nil, 0
	_ = d.mem.Set(0, 0)
}

// unbuffer divides what is in memory.
func (d *divided) unbuffer(input int) error {
	d.parts = d.start(0)
	for i, c := range d.buf {
		d.buf[i] = nil
		if err := d.divide(d.parts, input, c); err != nil {
			return err
		}
	}
	d.buf, d.bytes = nil, 0
	return d.mem.Set(d.parts.spool.Held(), 0)
}

var errOver = errors.New("batch: too much for one piece")

// try opens an operator and gives it all rows of an input; false: they were too much, if that may be, and the
// operator is closed.
func (d *divided) try(op exec.Operator, input int, divisible bool, each func(fn func(*vec.Chunk) error) error) (bool, error) {
	hold := &holding{to: d.out, on: divisible}
	if err := d.open(op, hold); err != nil {
		return false, err
	}
	err := each(func(c *vec.Chunk) error {
		if err := d.cancelled(); err != nil {
			return err
		}
		if err := op.Chunk(input, c); err != nil {
			return err
		}
		if hold.on && hold.bytes > d.ctx.SpillOver/4 {
			// It is so much that it cannot wait. From now on there is no way back.
			return hold.release()
		}
		if hold.on && d.over() {
			return errOver
		}
		return nil
	})
	if errors.Is(err, errOver) {
		d.closeOp()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, hold.release()
}

// holding is an output that keeps what an operator emits while it may be forgotten.
type holding struct {
	to     *output
	on     bool
	chunks []*vec.Chunk
	bytes  int64
}

func (h *holding) Chunk(c *vec.Chunk) error {
	if !h.on {
		return h.to.Chunk(c)
	}
	if c.Len() > 0 {
		h.chunks = append(h.chunks, c.Clone())
		h.bytes += int64(c.Bytes())
	}
	return nil
}
func (h *holding) Watermark(exec.Watermark) error { return nil }
func (h *holding) Barrier(exec.Barrier) error     { return nil }

func (h *holding) release() error {
	h.on = false
	for _, c := range h.chunks {
		if err := h.to.Chunk(c); err != nil {
			return err
		}
	}
	h.chunks = nil
	return nil
}

// start makes empty partitions.
func (d *divided) start(depth int) *partitions {
	p := &partitions{spool: exec.NewSpool(d.ctx), depth: depth}
	for k := range d.n.In {
		for range spillParts {
			p.spool.Stream(d.n.Spill.In[k])
		}
	}
	return p
}

// divide sends rows to their partitions.
func (d *divided) divide(p *partitions, input int, c *vec.Chunk) error {
	if err := d.cancelled(); err != nil {
		return err
	}
	d.hashes = vec.HashCols(c, d.n.Spill.Keys[input], d.hashes)
	for i, h := range d.hashes[:c.Len()] {
		k := vec.HashMore(h, int64(p.depth)+1) >> 40 % spillParts
		d.rows[k] = append(d.rows[k], int32(i))
	}
	for k := range d.rows {
		if err := p.spool.WriteRows(input*spillParts+k, c, d.rows[k]); err != nil {
			return err
		}
		d.rows[k] = d.rows[k][:0]
	}
	return d.mem.Set(d.bytes+p.spool.Held(), 0)
}

// pieces runs an operator for each partition.
func (d *divided) pieces(p *partitions) error {
	input := len(d.n.In) - 1
	total, rows := int64(0), [spillParts]int64{}
	for k := range spillParts {
		for i := range d.n.In {
			rows[k] += p.spool.Rows(i*spillParts + k)
		}
		total += p.spool.Rows(input*spillParts + k)
	}
	for k := range spillParts {
		if rows[k] == 0 {
			continue
		}
		// If all rows are in one partition they have the same keys, and it is no use to divide them.
		divisible := p.depth+1 < maxSpills && (p.depth == 0 || p.spool.Rows(input*spillParts+k) < total)
		if err := d.piece(p, k, divisible); err != nil {
			return err
		}
	}
	return nil
}

func (d *divided) piece(p *partitions, k int, divisible bool) error {
	if err := d.mem.Set(p.spool.Held(), 0); err != nil {
		return err
	}
	input := len(d.n.In) - 1
	op, err := d.n.Spill.New()
	if err != nil {
		return err
	}
	ok, err := d.try(op, input, divisible, func(fn func(*vec.Chunk) error) error { return p.spool.Each(input*spillParts+k, fn) })
	if err != nil {
		return err
	}
	if ok {
		if input > 0 {
			err = p.spool.Each(k, func(c *vec.Chunk) error { return op.Chunk(0, c) })
		}
		if err == nil {
			err = op.Barrier(exec.Barrier{Epoch: 1})
		}
		d.closeOp()
		return err
	}
	finer := d.start(p.depth + 1)
	defer func() { _ = finer.spool.Close() }()
	for i := range d.n.In {
		if err := p.spool.Each(i*spillParts+k, func(c *vec.Chunk) error { return d.divide(finer, i, c) }); err != nil {
			return err
		}
	}
	return d.pieces(finer)
}

func (d *divided) cancelled() error {
	if d.ctx.Ctx == nil {
		return nil
	}
	return context.Cause(d.ctx.Ctx)
}
