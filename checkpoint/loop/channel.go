package loop

import "fmt"

// Spill keeps bytes outside of memory for as long as the process lives. What it does not take stays in memory.
type Spill interface {
	// Write keeps b and gives its place.
	Write(b []byte) (at int64, err error)
	// Read gives back n bytes from a place.
	Read(at int64, n int) ([]byte, error)
	// Reset forgets everything.
	Reset() error
}

// stash keeps records in memory up to a budget, and beyond it in a spill, as far as that takes them.
type stash struct {
	budget int
	spill  Spill // nil: everything stays in memory
	// bytes is what lies in memory, spilled the number of records that do not.
	bytes   int
	spilled int
}

// place is where a record lies.
type place struct {
	mem []byte
	at  int64
	n   int
	out bool
}

func (s *stash) put(b []byte) (place, error) {
	if s.spill == nil || s.bytes+len(b) <= s.budget {
		s.bytes += len(b)
		return place{mem: b, n: len(b)}, nil
	}
	at, err := s.spill.Write(b)
	if err != nil {
		// A disk that is full. What goes round cannot wait for room: everybody waits for it. So it stays in memory.
		s.bytes += len(b)
		return place{mem: b, n: len(b)}, nil
	}
	s.spilled++
	return place{at: at, n: len(b), out: true}, nil
}

func (s *stash) get(p place) ([]byte, error) {
	if !p.out {
		return p.mem, nil
	}
	b, err := s.spill.Read(p.at, p.n)
	if err != nil {
		return nil, fmt.Errorf("loop: read %d spilled bytes: %w", p.n, err)
	}
	return b, nil
}

func (s *stash) drop(p place) error {
	if !p.out {
		s.bytes -= p.n
		return nil
	}
	if s.spilled--; s.spilled > 0 {
		return nil
	}
	if err := s.spill.Reset(); err != nil {
		return fmt.Errorf("loop: reset the spill: %w", err)
	}
	return nil
}

// Channel is the feedback channel in front of a head: what the tails send, each in its order. It
// takes everything. It is used by one goroutine at a time.
type Channel struct {
	stash
	queue []queued
	first int
}

type queued struct {
	m Message // Feedback without its record, Returned or Ended
	p place
}

// NewChannel makes a channel that keeps budget bytes of records in memory and the rest in spill (nil: it
// keeps everything in memory).
func NewChannel(budget int, spill Spill) *Channel {
	return &Channel{stash: stash{budget: budget, spill: spill}}
}

// Push appends a Feedback, Returned or Ended. The record belongs to the channel from then on.
func (c *Channel) Push(m Message) error {
	q := queued{m: m}
	switch f := m.(type) {
	case Feedback:
		var err error
		if q.p, err = c.put(f.Record); err != nil {
			return err
		}
		q.m = Feedback{Tail: f.Tail}
	case Returned, Ended:
	default:
		return fmt.Errorf("loop: %T in a feedback channel", m)
	}
	c.queue = append(c.queue, q)
	return nil
}

// Pop takes the oldest message.
func (c *Channel) Pop() (Message, bool, error) {
	if c.first == len(c.queue) {
		return nil, false, nil
	}
	q := c.queue[c.first]
	f, ok := q.m.(Feedback)
	if ok {
		var err error
		if f.Record, err = c.get(q.p); err != nil {
			return nil, false, err
		}
		if err := c.drop(q.p); err != nil {
			return nil, false, err
		}
		q.m = f
	}
	c.queue[c.first] = queued{}
	c.first++
	if c.first == len(c.queue) {
		c.queue, c.first = c.queue[:0], 0
	} else if c.first > 1<<10 && c.first > len(c.queue)/2 {
		n := copy(c.queue, c.queue[c.first:])
		clear(c.queue[n:])
		c.queue, c.first = c.queue[:n], 0
	}
	return q.m, true, nil
}

// Len is the number of messages, Bytes the memory of their records, Spilled the number of records outside.
func (c *Channel) Len() int { return len(c.queue) - c.first }

// Bytes is the size of the records in memory.
func (c *Channel) Bytes() int { return c.bytes }

// Spilled is the number of records that are not in memory.
func (c *Channel) Spilled() int { return c.spilled }
