package flow

import (
	"github.com/weirdb/weir/checkpoint/loop"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// loopBody is an actor of a loop's body at work.
type loopBody struct {
	a     *actor
	align *loop.Align[message]
	out   *loopTail // of a tail; else nil
	// outer and inner are the barrier of the next epoch once it has come on all inputs from outside and on
	// all of the loop.
	outer, inner *exec.Barrier
	// open: what comes from outside is taken. It is not between a barrier and the end of its iteration, nor
	// before the end of the first one.
	open bool
	// passed is the last barrier, nil before the first.
	passed *exec.Barrier
	// enders are the operators that keep rows back, those nearer to the leaves first.
	enders []RoundEnder
	// intake is what comes from outside.
	intake *intake
}

func (a *actor) runLoopBody() error {
	b := &loopBody{a: a, align: loop.NewAlign[message](len(a.loop.ports)), intake: a.rt.newIntake(a)}
	defer b.intake.close()
	var out exec.Output = a.disp
	if a.loop.heads != nil {
		b.out = newLoopTail(a)
		out = b.out
	}
	if err := a.open(drained{out, b.aside}); err != nil {
		return err
	}
	for i := range a.chain.ops {
		if e, ok := a.chain.ops[len(a.chain.ops)-1-i].(RoundEnder); ok {
			b.enders = append(b.enders, e)
		}
	}
	a.gate.paused = func() bool { return !b.open }
	for !a.last {
		ms, err := a.loop.in.take()
		if err != nil {
			return err
		}
		for _, m := range ms {
			if err := b.aside(); err != nil {
				return err
			}
			if err := b.inside(m); err != nil {
				return err
			}
		}
		if ms != nil || a.last {
			continue
		}
		idle, err := b.outside()
		if err != nil {
			return err
		}
		if !idle {
			continue
		}
		if err := b.aside(); err != nil {
			return err
		}
		select {
		case <-a.loop.in.wake:
		case <-a.in.wake:
		}
	}
	return nil
}

// aside puts aside what has come from outside, unless it is taken anyway.
func (b *loopBody) aside() error {
	if b.open {
		return nil
	}
	return b.intake.aside()
}

// outside takes one message from outside, if it may; idle: there is none.
func (b *loopBody) outside() (idle bool, err error) {
	a := b.a
	if !b.open {
		return true, nil
	}
	if err := a.gate.resume(b); err != nil || !b.open {
		return false, err
	}
	m, ok, err := b.intake.next()
	if err != nil || !ok {
		return !ok, err
	}
	return false, a.gate.deliver(m, b)
}

// chunk, watermark and barrier are what the gate of the inputs from outside gives.
func (b *loopBody) chunk(port int, p *parcel) error { return b.a.chain.entries[port].Chunk(p.chunk) }

func (b *loopBody) watermark(int, exec.Watermark) error { return nil }

func (b *loopBody) barrier(bar exec.Barrier) error {
	b.outer, b.open = &bar, false
	b.a.loop.at = b.a.gate.ch.State()
	return b.pass()
}

// inside takes a message of the loop.
func (b *loopBody) inside(m message) error {
	queue := []message{m}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		if !b.align.Offer(m.slot, m) {
			continue
		}
		if m.chunk != nil {
			rows := m.rows()
			err := b.a.chain.entries[b.a.loop.ports[m.slot]].Chunk(m.chunk.chunk)
			m.chunk.release()
			b.a.loop.in.release(m.slot, rows)
			if err != nil {
				return err
			}
			continue
		}
		if m.mark != nil || !b.align.Pass(m.slot) {
			continue
		}
		var err error
		switch {
		case m.barrier != nil:
			b.inner = m.barrier
			if len(b.a.gate.port) == 0 {
				b.outer, b.open = m.barrier, false
			}
			err = b.pass()
		case m.loop.round > 0:
			err = b.endRound(*m.loop)
		default:
			err = b.fixpoint()
		}
		if err != nil {
			return err
		}
		for _, it := range b.align.Held() {
			queue = append(queue, it.Message)
		}
	}
	return nil
}

// pass passes the barrier once it has come from everywhere.
func (b *loopBody) pass() error {
	if b.outer == nil || b.inner == nil {
		return nil
	}
	a, bar := b.a, *b.inner
	b.outer, b.inner, b.passed = nil, nil, &bar
	for _, e := range a.chain.entries {
		if err := e.Barrier(bar); err != nil {
			return err
		}
	}
	for _, op := range a.chain.selfs {
		if err := op.Barrier(bar); err != nil {
			return err
		}
	}
	if err := a.endRowErrors(bar); err != nil {
		return err
	}
	a.report(bar)
	return nil
}

func (b *loopBody) endRound(m loopMark) error {
	for _, e := range b.enders {
		if err := e.EndRound(); err != nil {
			return err
		}
	}
	if b.out != nil {
		return b.out.endRound(m)
	}
	return b.a.disp.loopMark(m)
}

// fixpoint ends the iteration: the next epoch is let in.
func (b *loopBody) fixpoint() error {
	b.open = true
	if b.out == nil {
		if err := b.a.disp.loopMark(loopMark{}); err != nil {
			return err
		}
	}
	if b.passed == nil {
		return nil
	}
	for _, c := range b.a.chain.continuers {
		if err := c.AfterBarrier(*b.passed); err != nil {
			return err
		}
	}
	return nil
}

// loopTail is the output of a tail: what it gets goes back to the heads, equal rows to the same one.
type loopTail struct {
	a    *actor
	t    loop.Tail
	hash []uint64
	cols []int
	sel  [][]int32
	part *vec.Chunk
}

var _ exec.Output = (*loopTail)(nil)

func newLoopTail(a *actor) *loopTail {
	t := &loopTail{a: a, sel: make([][]int32, len(a.loop.heads)), part: vec.NewChunk(a.frag.Types, 0)}
	for i := range a.frag.Types {
		t.cols = append(t.cols, i)
	}
	return t
}

// Chunk sends rows back.
func (t *loopTail) Chunk(c *vec.Chunk) error {
	if c.Len() == 0 {
		return nil
	}
	t.t.Sent(c.Len())
	heads := t.a.loop.heads
	if len(heads) == 1 {
		return heads[0].push(loop.Feedback{Tail: t.a.loop.tail, Record: vec.EncodeChunk(nil, c)})
	}
	t.hash = vec.HashCols(c, t.cols, t.hash)
	for i := range t.sel {
		t.sel[i] = t.sel[i][:0]
	}
	for i, h := range t.hash {
		o := Owner(vec.Vnode(h), len(heads))
		t.sel[o] = append(t.sel[o], int32(i))
	}
	for i, sel := range t.sel {
		if len(sel) == 0 {
			continue
		}
		t.part.Reset()
		t.part.AppendSel(c, sel)
		if err := heads[i].push(loop.Feedback{Tail: t.a.loop.tail, Record: vec.EncodeChunk(nil, t.part)}); err != nil {
			return err
		}
	}
	return nil
}

// Watermark drops the watermark: rows go round any number of times.
func (t *loopTail) Watermark(exec.Watermark) error { return nil }

// Barrier sends the barrier back. At one that removes the loop nobody waits for it.
func (t *loopTail) Barrier(b exec.Barrier) error {
	if m, _ := b.Mutation.(*Mutation); m.removes(t.a.id) {
		return nil
	}
	return t.toAll(t.t.Return(t.a.loop.tail, loop.ID(b.Epoch)))
}

func (t *loopTail) endRound(m loopMark) error {
	return t.toAll(t.t.EndRound(t.a.loop.tail, m.round))
}

func (t *loopTail) toAll(m loop.Message) error {
	for _, h := range t.a.loop.heads {
		if err := h.push(m); err != nil {
			return err
		}
	}
	return nil
}
