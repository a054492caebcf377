package flow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weirdb/weir/checkpoint/loop"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// loopHead is a head at work: it does what loop.Head decides.
type loopHead struct {
	a  *actor
	op LoopOperator
	m  *loop.Head
	// barr is the barrier whose epoch is on its way round or iterated.
	barr exec.Barrier
	// intake is what comes from outside.
	intake *intake
}

func (a *actor) runLoopHead() error {
	h := &loopHead{a: a, intake: a.rt.newIntake(a)}
	defer h.intake.close()
	if err := a.open(drained{a.loop.disp, h.aside}); err != nil {
		return err
	}
	op, ok := a.chain.ops[0].(LoopOperator)
	if !ok || len(a.chain.ops) != 1 {
		return fmt.Errorf("flow: the head of a loop is %T", a.chain.ops[0])
	}
	spill := a.rt.newSpill(a, "log")
	defer func() {
		err := errors.Join(spill.close(), a.loop.back.discard())
		if err != nil {
			a.rt.cfg.Logger.Warn("a temporary file stays", "error", err)
		}
	}()
	m, err := loop.NewHead(loop.Config{
		Heads: a.frag.Parallel, Tails: a.loop.tails, Phases: op.Phases(), MaxRounds: a.frag.Loop.MaxRounds,
		Budget: a.rt.cfg.LoopMemory, Spill: spill,
	})
	if err != nil {
		return err
	}
	h.op, h.m = op, m
	a.gate.paused = func() bool { return !m.Admits() }
	if err := op.Log(func(r []byte) error { return h.step(loop.Logged{Record: r}) }); err != nil {
		return err
	}
	if err := h.step(loop.Restore{}); err != nil {
		return err
	}
	return h.run()
}

func (h *loopHead) run() error {
	a := h.a
	for !a.last {
		// Feedback comes before new input.
		m, ok, err := a.loop.back.pop()
		if err != nil {
			return err
		}
		if err := h.aside(); err != nil {
			return err
		}
		if ok {
			if err := h.step(m); err != nil {
				return err
			}
			continue
		}
		if !h.m.Admits() {
			select {
			case <-a.in.wake:
			case <-a.loop.back.wake:
			}
			continue
		}
		if err := a.gate.resume(h); err != nil {
			return err
		}
		if a.last || !h.m.Admits() {
			continue
		}
		next, ok, err := h.intake.next()
		if err != nil {
			return err
		}
		if !ok {
			select {
			case <-a.in.wake:
			case <-a.loop.back.wake:
			}
			continue
		}
		if err := a.gate.deliver(next, h); err != nil {
			return err
		}
	}
	return nil
}

// aside puts aside what has come from outside, unless it is taken anyway.
func (h *loopHead) aside() error {
	if h.m == nil || h.m.Admits() {
		return nil
	}
	return h.intake.aside()
}

// chunk takes new input.
func (h *loopHead) chunk(_ int, p *parcel) error {
	return h.step(loop.Input{Record: vec.EncodeChunk(nil, p.chunk)})
}

func (h *loopHead) watermark(int, exec.Watermark) error { return nil }

// barrier ends the input of an epoch.
func (h *loopHead) barrier(b exec.Barrier) error {
	a := h.a
	h.barr = b
	a.loop.at = a.gate.ch.State()
	if m, _ := b.Mutation.(*Mutation); m.removes(a.id) {
		// The body goes as well: nothing would come back.
		if err := errors.Join(a.loop.disp.Barrier(b), a.disp.Barrier(b)); err != nil {
			return err
		}
		if err := a.endRowErrors(b); err != nil {
			return err
		}
		a.report(b)
		return nil
	}
	return h.step(loop.Barrier{ID: loop.ID(b.Epoch), Checkpoint: b.Checkpoint})
}

// step tells the machine something and does what it wants.
func (h *loopHead) step(m loop.Message) error {
	as, err := h.m.Step(m)
	if err != nil {
		return loopError(err, h.a.frag.Loop.MaxRounds)
	}
	as = slices.Clone(as)
	for _, act := range as {
		if err := h.act(act); err != nil {
			return err
		}
	}
	return nil
}

func (h *loopHead) act(act loop.Action) error {
	a := h.a
	switch act := act.(type) {
	case loop.Forward:
		return a.loop.disp.Barrier(h.barr)
	case loop.Pass:
		if act.Checkpoint {
			if err := h.op.Save(act.Log); err != nil {
				return err
			}
		}
		if err := a.endRowErrors(h.barr); err != nil {
			return err
		}
		a.report(h.barr)
		if act.Checkpoint {
			// What was handed over is the coordinator's, whatever becomes of the checkpoint.
			return h.step(loop.Committed{ID: act.ID})
		}
	case loop.Apply:
		c, err := vec.DecodeChunk(act.Record, a.frag.Loop.Types)
		if err != nil {
			return fmt.Errorf("flow: a record of a loop: %w", err)
		}
		return a.chain.entries[0].Chunk(c)
	case loop.More:
		return h.step(loop.Continue{})
	case loop.Round:
		if err := a.job.ctx.Err(); err != nil {
			return errStopped
		}
		rows, err := h.op.Round(act.Phase)
		if err != nil {
			return err
		}
		return h.step(loop.Emitted{Rows: rows})
	case loop.EndRound:
		return a.loop.disp.loopMark(loopMark{round: act.Round})
	case loop.Fixpoint:
		if act.Replay {
			if err := h.op.Settle(nil); err != nil {
				return err
			}
			return a.loop.disp.loopMark(loopMark{})
		}
		if err := h.op.Settle(drained{a.disp, h.aside}.Chunk); err != nil {
			return err
		}
		return errors.Join(a.loop.disp.loopMark(loopMark{}), a.disp.Barrier(h.barr))
	}
	return nil
}

// loopMark sends a mark to all that are next in the loop.
func (d *dispatcher) loopMark(m loopMark) error {
	for _, e := range d.edges {
		for i := range e.targets {
			if err := e.targets[i].loop(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// discard gives up what has not been read.
func (f *feedback) discard() error {
	f.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spill.close()
}
