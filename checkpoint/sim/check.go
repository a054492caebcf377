package sim

import (
	"fmt"

	"github.com/weirdb/weir/checkpoint"
)

// checker looks at each checkpoint that is recorded: it must be a state in which every input that has been read was
// counted exactly once, everywhere.
type checker struct {
	w *world
	// knows are the transactions that a recorded checkpoint has.
	knows map[txName]bool
	// best is how many rows are in the newest checkpoint, in every state.
	best int
	pos  map[checkpoint.ActorID]int
}

func (c *checker) init(w *world) {
	c.w = w
	c.knows, c.pos = map[txName]bool{}, map[checkpoint.ActorID]int{}
}

// recorded checks the newest checkpoint.
func (c *checker) recorded(st checkpoint.KeeperState) {
	e := st.Checkpoints[0].Epoch
	c.w.res.Checkpoints++
	if err := c.consistent(st, e); err != nil {
		c.w.fail("checkpoint %d: %v", e, err)
	}
}

func (c *checker) consistent(st checkpoint.KeeperState, e checkpoint.Epoch) error {
	g := &c.w.graph
	states := map[checkpoint.ActorID]*snapshot{}
	for _, a := range g.actors {
		bs, err := c.w.medium.stateOf(st, idAt(st, a, e), e)
		if err != nil {
			return err
		}
		if len(bs) == 0 {
			return fmt.Errorf("nothing of actor %d (%v)", a.id, a.role)
		}
		s := newSnapshot()
		for _, b := range bs {
			if err := s.apply(b); err != nil {
				return fmt.Errorf("actor %d: %w", a.id, err)
			}
		}
		states[a.id] = s
	}
	for _, a := range g.actors {
		if a.role == sinkRole {
			for _, n := range states[a.id].prepared {
				c.knows[n] = true
			}
		}
	}
	if err := c.channelsAgree(states); err != nil {
		return err
	}
	rows := 0
	for _, a := range g.actors {
		if a.role == sourceRole {
			pos := states[a.id].pos
			if pos < c.pos[a.id] {
				return fmt.Errorf("source %d stands at row %d, in an earlier checkpoint it stood at %d", a.id, pos, c.pos[a.id])
			}
			c.pos[a.id] = pos
			rows += pos
		}
	}
	if err := c.counted(states, midRole, rows); err != nil {
		return err
	}
	if err := c.counted(states, sinkRole, rows); err != nil {
		return err
	}
	if g.plan.loop {
		if err := c.loopHolds(states); err != nil {
			return err
		}
	}
	if !c.w.fellBack {
		if err := c.outputs(states); err != nil {
			return err
		}
	}
	c.best = rows
	return nil
}

// channelsAgree: both ends of a channel are at the same place.
func (c *checker) channelsAgree(states map[checkpoint.ActorID]*snapshot) error {
	for _, a := range c.w.graph.actors {
		in := states[a.id].inputs
		if len(in) == 0 || len(a.from) == 0 || a.role == sinkRole && a.from[0].role == headRole {
			continue
		}
		for i, f := range a.from {
			k := a.index
			if a.role == bodyRole {
				k = len(f.to)
			}
			if out := states[f.id].outputs[k]; out != in[i] {
				return fmt.Errorf("channel of actor %d: it is at %v, its producer %d at %v", a.id, in[i], f.id, out)
			}
		}
		if a.role == headRole && states[a.id].feedback != states[c.w.graph.body().id].feedback {
			return fmt.Errorf("feedback of actor %d: it is at %v, its tail at %v", a.id, states[a.id].feedback, states[c.w.graph.body().id].feedback)
		}
	}
	return nil
}

// counted: the actors of a layer have every row that was read exactly once, and no other.
func (c *checker) counted(states map[checkpoint.ActorID]*snapshot, r role, rows int) error {
	g := &c.w.graph
	var layer []*actorSpec
	have := 0
	for _, a := range g.actors {
		if a.role == r {
			layer = append(layer, a)
			have += len(states[a.id].changes)
		}
	}
	for _, a := range g.actors {
		if a.role != sourceRole {
			continue
		}
		for n := range states[a.id].pos {
			id := row(a.index, n)
			at := layer[id.owner(len(layer))]
			if got := states[at.id].changes[id].count; got != 1 {
				return fmt.Errorf("exactly once: row %v was counted %d times by actor %d (%v)", id, got, at.id, r)
			}
			if r == sinkRole {
				mids := g.byID[11].from[0].to
				m := states[mids[id.owner(len(mids))].id].changes[id]
				if v := states[at.id].changes[id].variant; v != m.variant {
					return fmt.Errorf("row %v: actor %d has what actor of another life made of it: %x, not %x", id, at.id, v, m.variant)
				}
			}
		}
	}
	if have != rows {
		return fmt.Errorf("exactly once: the %vs have %d rows, %d were read", r, have, rows)
	}
	return nil
}

// loopHolds: each row that has entered the loop is in one place of it, and has been everywhere before exactly once.
func (c *checker) loopHolds(states map[checkpoint.ActorID]*snapshot) error {
	head, body := states[c.w.graph.head().id], states[c.w.graph.body().id]
	owed, logged := map[rowID]int{}, map[rowID]int{}
	for _, e := range head.owed {
		owed[e.id]++
	}
	for _, e := range head.log {
		logged[e.id]++
	}
	for _, a := range c.w.graph.actors {
		if a.role != sourceRole {
			continue
		}
		for n := range states[a.id].pos {
			id := row(a.index, n)
			places, lowest := 0, id.rounds()+1
			for h := id.rounds(); h >= 0; h-- {
				k := id.withHops(h)
				if got := head.changes[k].count; got > 1 || got == 1 && lowest != h+1 {
					return fmt.Errorf("loop: row %s was applied %d times, the one before at %d", k.withRoundText(), got, lowest)
				} else if got == 1 {
					lowest = h
				}
				places += owed[k] + logged[k]
				if owed[k] > 0 && lowest != h {
					return fmt.Errorf("loop: row %s is owed and was not applied", k.withRoundText())
				}
			}
			if head.changes[id.withHops(0)].count == 1 {
				places++
			}
			if places != 1 {
				return fmt.Errorf("loop: row %v is in %d places of the loop", id, places)
			}
			passed := lowest // the body has had every one above
			if lowest > 0 && logged[id.withHops(lowest-1)] > 0 {
				passed = lowest - 1
			}
			for h := id.rounds(); h > 0; h-- {
				want := uint32(0)
				if h > passed {
					want = 1
				}
				if got := body.changes[id.withHops(h)].count; got != want {
					return fmt.Errorf("loop: row %s went round %d times, want %d", id.withHops(h).withRoundText(), got, want)
				}
			}
		}
	}
	return nil
}

// outputs: what the sinks have counted is what they have committed and what they will commit.
func (c *checker) outputs(states map[checkpoint.ActorID]*snapshot) error {
	t := &c.w.target
	total, counted := t.rows, 0
	for _, a := range c.w.graph.actors {
		if a.role != sinkRole {
			continue
		}
		s := states[a.id]
		counted += len(s.changes)
		pending := map[rowID]entryOf{}
		for _, n := range s.prepared {
			if t.committed[n] {
				continue
			}
			rows, ok := t.prepared[n]
			if !ok {
				return fmt.Errorf("sink %d: %v is not there any more", a.id, n)
			}
			for _, r := range rows {
				pending[r.id] = r
			}
		}
		total += len(pending)
		for id, e := range s.changes {
			out, ok := t.counts[id]
			if !ok {
				out, ok = pending[id]
			}
			if !ok || out.variant != e.variant {
				return fmt.Errorf("sink %d: row %v is in its state and not in its output", a.id, id)
			}
		}
	}
	if total != counted {
		return fmt.Errorf("exactly once: %d rows are in the output or prepared, %d in the sinks' states", total, counted)
	}
	return nil
}

// end checks what has been written when everything is over.
func (c *checker) end() {
	for _, a := range c.w.graph.actors {
		if a.role != sourceRole {
			continue
		}
		for n := range c.w.graph.plan.rows {
			if _, ok := c.w.target.counts[row(a.index, n)]; !ok {
				c.w.fail("exactly once: row %v is not in the output", row(a.index, n))
			}
		}
	}
}
