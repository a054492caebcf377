package flow

import (
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// intake is what an actor of a loop puts aside of what comes from outside while it takes nothing of it, in the order in which it
// comes. Without it the producers would wait for the iteration, and with them everybody else that they feed.
//
// It is bounded as early arrivals are: chunks are kept in memory up to a bound, then on disk, and when neither has room, in memory on the
// account of their producers, which then wait. An iteration needs nothing from outside, so they do not wait for ever.
type intake struct {
	in    *inbox
	limit int64
	spill *spill // nil: nothing goes to disk

	queue []put
	first int
	// bytes is what lies in memory, spilled the number of chunks that do not.
	bytes   int64
	spilled int
}

// put is a message that was put aside.
type put struct {
	m message
	// ref is where its chunk is, if it was spilled.
	ref     int64
	spilled bool
	size    int64
}

// aside puts aside everything that has come.
func (k *intake) aside() error { return k.fill(true) }

// fill takes what is in the inbox; aside: its producers do not wait for it any more.
func (k *intake) fill(aside bool) error {
	ms, err := k.in.take()
	if err != nil {
		return err
	}
	for _, m := range ms {
		p := put{m: m}
		if m.chunk != nil && aside {
			rows := m.rows()
			p.size = m.size()
			switch {
			case k.bytes+p.size <= k.limit:
				p.m.free = true
			case k.spill != nil:
				if ref, err := k.spill.Write(m); err == nil {
					p.m.chunk, p.m.free, p.ref, p.spilled = nil, true, ref, true
					k.spilled++
				}
			}
			if !p.spilled {
				k.bytes += p.size
			}
			if p.m.free {
				k.in.release(m.slot, rows)
			}
		}
		k.queue = append(k.queue, p)
	}
	return nil
}

// next gives the oldest message, of those that were put aside and those in the inbox.
func (k *intake) next() (m message, ok bool, err error) {
	if k.first == len(k.queue) {
		if err := k.fill(false); err != nil || len(k.queue) == 0 {
			return message{}, false, err
		}
	}
	p := &k.queue[k.first]
	m = p.m
	if p.spilled {
		read, err := k.spill.Read(p.ref)
		if err != nil {
			return message{}, false, err
		}
		m.chunk = read.chunk
		if k.spilled--; k.spilled == 0 {
			k.spill.Reset()
		}
	} else {
		k.bytes -= p.size
	}
	*p = put{}
	if k.first++; k.first == len(k.queue) {
		k.queue, k.first = k.queue[:0], 0
		if cap(k.queue) > maxSpare {
			k.queue = nil
		}
	} else if k.first > maxSpare && k.first > len(k.queue)/2 {
		k.queue, k.first = slices.Delete(k.queue, 0, k.first), 0
	}
	return m, true, nil
}

// drained is the output of an actor in a loop: before everything that it sends, which may take its time, it puts aside what has come
// from outside.
type drained struct {
	exec.Output
	before func() error
}

func (d drained) Chunk(c *vec.Chunk) error {
	if err := d.before(); err != nil {
		return err
	}
	return d.Output.Chunk(c)
}

// close gives up what was put aside.
func (k *intake) close() {
	for _, p := range k.queue[k.first:] {
		if p.m.chunk != nil {
			p.m.chunk.release()
		}
	}
	k.queue, k.first = nil, 0
	if k.spill != nil {
		k.spill.close()
	}
}
