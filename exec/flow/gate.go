package flow

import (
	"fmt"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/exec"
)

// gate turns the messages of several producers into one ordered sequence of events with aligned
// barriers.
//
// Invariant: between two aligned barriers the operators see exactly the messages that each producer
// sent between the same two barriers. What a producer sends behind its barrier before all others have sent theirs
// is held (channel.Gate has the rules): in memory up to a bound, then on disk, and when neither has room, or with
// blocking alignment, on the account of the producer, which then waits.
type gate struct {
	in *inbox
	// port is the input that a slot belongs to.
	port  []int
	ch    *channel.Gate[message]
	spill *spill
	// barr is the barrier that is being aligned, nil before the first of them has come.
	barr *exec.Barrier
	// marks is the newest watermark of each slot by column; a port's watermark is the smallest.
	marks []map[int]int64
	sent  []map[int]int64 // by port
	// paused tells whether what was held must wait further; resume goes on. Nil: it need not.
	paused  func() bool
	dropped func(channel.Verdict)
}

// events is what the gate delivers to.
type events interface {
	chunk(port int, p *parcel) error
	watermark(port int, w exec.Watermark) error
	barrier(b exec.Barrier) error
}

// Alignment is what a gate does with producers that are ahead by a barrier.
type Alignment = channel.Alignment

// The ways of aligning. With Buffered, the default, what comes early is kept, so that its producer can go on for other
// consumers; with Blocking its producer waits.
const (
	Buffered = channel.Buffered
	Blocking = channel.Blocking
)

// gateConfig configures a gate.
type gateConfig struct {
	// ports has the input of each slot, and from where each slot's first message comes from (the version is learnt).
	ports     []int
	from      []channel.Position
	alignment Alignment
	// memory bounds the bytes of early arrivals in memory; spill takes what is more and may be nil.
	memory int64
	spill  *spill
	// dropped hears of what is not taken; may be nil.
	dropped func(channel.Verdict)
}

func newGate(in *inbox, cfg gateConfig) *gate {
	n := 0
	for _, p := range cfg.ports {
		n = max(n, p+1)
	}
	c := channel.Config[message]{
		Producers: cfg.from, Alignment: cfg.alignment, Memory: cfg.memory, Size: message.size,
	}
	if cfg.spill != nil {
		c.Spill = cfg.spill
	}
	return &gate{
		in: in, port: cfg.ports, ch: channel.NewGate(c), spill: cfg.spill, dropped: cfg.dropped,
		marks: make([]map[int]int64, len(cfg.ports)), sent: make([]map[int]int64, n),
	}
}

// close gives up what is held.
func (g *gate) close() {
	g.ch.Discard(func(m message) {
		if m.chunk != nil {
			m.chunk.release()
		}
	})
	if g.spill != nil {
		g.spill.close()
	}
}

// deliver takes one message from the inbox.
func (g *gate) deliver(m message, to events) error {
	rows := m.rows() // a chunk that is spilled must not be looked at any more
	v, err := g.ch.Receive(m.slot, m.head, m.kind(), m)
	if err != nil {
		return fmt.Errorf("flow: %w", err)
	}
	if v == channel.Process {
		// By far the most frequent case.
		return g.process(m, true, to)
	}
	if err := g.other(m, rows, v, to); err != nil {
		return err
	}
	return g.resume(to)
}

// resume delivers what was held and is to be processed now.
func (g *gate) resume(to events) error {
	for g.ch.Pending() && (g.paused == nil || !g.paused()) {
		it, _, err := g.ch.Next()
		if err != nil {
			return fmt.Errorf("flow: %w", err)
		}
		if it.Verdict == channel.Process {
			err = g.process(it.Msg, it.HeldBack, to)
		} else {
			err = g.other(it.Msg, 0, it.Verdict, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// process gives a chunk or a watermark to the operators. charged tells that the chunk still counts for its
// producer.
func (g *gate) process(m message, charged bool, to events) error {
	if m.chunk == nil {
		return g.watermark(m.slot, *m.mark, to)
	}
	rows := m.rows()
	err := to.chunk(g.port[m.slot], m.chunk)
	m.chunk.release()
	if charged && !m.free {
		g.in.release(m.slot, rows)
	}
	return err
}

// other does what a verdict other than Process asks for; rows are those of the message.
func (g *gate) other(m message, rows int, v channel.Verdict, to events) error {
	switch v {
	case channel.Held:
		if m.chunk != nil && !m.free {
			g.in.release(m.slot, rows)
		}
	case channel.HeldBack:
	case channel.Passed, channel.Aligned:
		if g.barr != nil && g.barr.Epoch != m.barrier.Epoch {
			return fmt.Errorf("flow: barrier %d arrived while %d is being aligned", m.barrier.Epoch, g.barr.Epoch)
		}
		g.barr = m.barrier
		if v == channel.Passed {
			return nil
		}
		g.barr = nil
		if err := to.barrier(*m.barrier); err != nil {
			return err
		}
		g.ch.Advance()
	case channel.Duplicate, channel.Fenced, channel.Ahead:
		if g.dropped != nil {
			g.dropped(v)
		}
		if m.chunk != nil {
			m.chunk.release()
			if !m.free {
				g.in.release(m.slot, rows)
			}
		}
	}
	return nil
}

// watermark passes on a port's watermark when the smallest over its slots has grown.
func (g *gate) watermark(slot int, w exec.Watermark, to events) error {
	if g.marks[slot] == nil {
		g.marks[slot] = map[int]int64{}
	}
	g.marks[slot][w.Col] = w.Value
	port := g.port[slot]
	low := w.Value
	for s, p := range g.port {
		if p != port {
			continue
		}
		v, ok := g.marks[s][w.Col]
		if !ok {
			return nil
		}
		low = min(low, v)
	}
	if g.sent[port] == nil {
		g.sent[port] = map[int]int64{}
	}
	if old, ok := g.sent[port][w.Col]; ok && old >= low {
		return nil
	}
	g.sent[port][w.Col] = low
	return to.watermark(port, exec.Watermark{Col: w.Col, Value: low})
}
