package flow

import (
	"fmt"

	"github.com/weirdb/weir/exec"
)

// gate turns the messages of several producers into one ordered sequence of events with aligned
// barriers.
//
// Invariant: between two aligned barriers the operators see exactly the messages that each producer
// sent between the same two barriers. A producer that has passed the barrier has its further
// messages held until all others have passed it; they count against its bound in the inbox.
type gate struct {
	in *inbox
	// port is the input that a slot belongs to.
	port []int
	// passed tells which slots have delivered the barrier that is being aligned.
	passed  []bool
	missing int
	held    [][]message
	// marks is the newest watermark of each slot by column; a port's watermark is the smallest.
	marks []map[int]int64
	sent  []map[int]int64 // by port
	barr  *exec.Barrier
}

// events is what the gate delivers to.
type events interface {
	chunk(port int, p *parcel) error
	watermark(port int, w exec.Watermark) error
	barrier(b exec.Barrier) error
}

func newGate(in *inbox, ports []int) *gate {
	n := 0
	for _, p := range ports {
		n = max(n, p+1)
	}
	return &gate{
		in: in, port: ports, passed: make([]bool, len(ports)), missing: len(ports),
		held: make([][]message, len(ports)), marks: make([]map[int]int64, len(ports)), sent: make([]map[int]int64, n),
	}
}

// deliver takes one message from the inbox.
func (g *gate) deliver(m message, to events) error {
	if g.passed[m.slot] {
		g.held[m.slot] = append(g.held[m.slot], m)
		return nil
	}
	switch {
	case m.chunk != nil:
		rows := m.chunk.chunk.Len()
		err := to.chunk(g.port[m.slot], m.chunk)
		m.chunk.release()
		g.in.release(m.slot, rows)
		return err
	case m.mark != nil:
		return g.watermark(m.slot, *m.mark, to)
	}
	if g.barr != nil && g.barr.Epoch != m.barrier.Epoch {
		return fmt.Errorf("flow: barrier %d arrived while %d is being aligned", m.barrier.Epoch, g.barr.Epoch)
	}
	g.barr = m.barrier
	g.passed[m.slot] = true
	g.missing--
	if g.missing > 0 {
		return nil
	}
	b := *g.barr
	g.barr = nil
	g.missing = len(g.passed)
	clear(g.passed)
	if err := to.barrier(b); err != nil {
		return err
	}
	for slot := range g.held {
		ms := g.held[slot]
		g.held[slot] = nil
		for _, h := range ms {
			// A message behind the slot's next barrier is held again.
			if err := g.deliver(h, to); err != nil {
				return err
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
