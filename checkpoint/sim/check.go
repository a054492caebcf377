package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
		s, err := c.stateOf(st, a, e)
		if err != nil {
			return err
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
	if err := c.viewsHold(st, e, states, rows); err != nil {
		return err
	}
	if !c.w.fellBack {
		if err := c.outputs(states); err != nil {
			return err
		}
	}
	c.best = rows
	return nil
}

// stateOf is the state of an actor at a checkpoint.
func (c *checker) stateOf(st checkpoint.KeeperState, a *actorSpec, e checkpoint.Epoch) (*snapshot, error) {
	bs, err := c.w.medium.stateOf(st, idAt(st, a, e), e)
	if err != nil {
		return nil, err
	}
	if len(bs) == 0 {
		return nil, fmt.Errorf("nothing of actor %d (%v)", a.id, a.role)
	}
	s := newSnapshot()
	for _, b := range bs {
		if err := s.apply(b); err != nil {
			return nil, fmt.Errorf("actor %d: %w", a.id, err)
		}
	}
	return s, nil
}

// channelsAgree: both ends of a channel are at the same place.
func (c *checker) channelsAgree(states map[checkpoint.ActorID]*snapshot) error {
	for _, a := range c.w.graph.actors {
		in := states[a.id].inputs
		for i, t := range a.tails {
			at, tail := states[a.id].feedback, states[t.id].feedback
			if len(at) != len(a.tails) || len(tail) != len(t.back) || at[i] != tail[a.index] {
				return fmt.Errorf("feedback of actor %d: it is at %v, its tail %d at %v", a.id, at, t.id, tail)
			}
		}
		if len(in) == 0 || len(a.from) == 0 || a.leaves() {
			continue
		}
		for i, f := range a.from {
			if out := states[f.id].outputs[f.output(a)]; out != in[i] {
				return fmt.Errorf("channel of actor %d: it is at %v, its producer %d at %v", a.id, in[i], f.id, out)
			}
		}
	}
	return nil
}

// counted: the actors of a layer have every row that was read exactly once, and no other.
func (c *checker) counted(states map[checkpoint.ActorID]*snapshot, r role, rows int) error {
	var layer []*actorSpec
	for _, a := range c.w.graph.actors {
		if a.role == r {
			layer = append(layer, a)
		}
	}
	return c.countedBy(layer, states, states, rows)
}

// countedBy is counted for a layer whose states are in of.
func (c *checker) countedBy(layer []*actorSpec, of, states map[checkpoint.ActorID]*snapshot, rows int) error {
	g := &c.w.graph
	have, r := 0, layer[0].role
	for _, a := range layer {
		have += len(of[a.id].changes)
	}
	for _, a := range g.actors {
		if a.role != sourceRole {
			continue
		}
		for n := range states[a.id].pos {
			id := row(a.index, n)
			at := layer[id.owner(len(layer))]
			if got := of[at.id].changes[id].count; got != 1 {
				return fmt.Errorf("exactly once: row %v was counted %d times by actor %d (%v)", id, got, at.id, r)
			}
			if r == sinkRole {
				mids := g.byID[11].from[0].to
				m := states[mids[id.owner(len(mids))].id].changes[id]
				if v := of[at.id].changes[id].variant; v != m.variant {
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

// loopState is what all actors of a kind in a loop have: how often each row was counted, at each of its rounds, and what is owed and logged.
type loopState struct{ counts, owed, logged map[rowID]int }

func loopStateOf(states map[checkpoint.ActorID]*snapshot, actors []*actorSpec) loopState {
	l := loopState{map[rowID]int{}, map[rowID]int{}, map[rowID]int{}}
	for _, a := range actors {
		s := states[a.id]
		for id, e := range s.changes {
			l.counts[id] += int(e.count)
		}
		for _, e := range s.owed {
			l.owed[e.id]++
		}
		for _, e := range s.log {
			l.logged[e.id]++
		}
	}
	return l
}

// loopHolds: each row that has entered a loop is in one place of it, and has been everywhere before exactly once. An inner loop is
// entered by the rows of each round of the outer one.
func (c *checker) loopHolds(states map[checkpoint.ActorID]*snapshot) error {
	g := &c.w.graph
	var entered []rowID
	for _, a := range g.actors {
		if a.role == sourceRole {
			for n := range states[a.id].pos {
				entered = append(entered, row(a.index, n))
			}
		}
	}
	heads, bodies := loopStateOf(states, g.heads), loopStateOf(states, g.bodies)
	if err := circleHolds("loop", heads, bodies, entered, rowID.rounds, rowID.withHops); err != nil {
		return err
	}
	if !g.plan.nested {
		return nil
	}
	// What has gone round in the outer loop has been through the inner one.
	entered = slices.SortedFunc(maps.Keys(bodies.counts), cmp.Compare)
	return circleHolds("inner loop", loopStateOf(states, g.innerHeads), loopStateOf(states, g.innerBodies), entered, rowID.innerRounds, rowID.withInner)
}

func circleHolds(name string, head, body loopState, entered []rowID, rounds func(rowID) int, with func(rowID, int) rowID) error {
	applied := 0
	for _, id := range entered {
		places, lowest := 0, rounds(id)+1
		for h := rounds(id); h >= 0; h-- {
			k := with(id, h)
			if got := head.counts[k]; got > 1 || got == 1 && lowest != h+1 {
				return fmt.Errorf("%s: row %s was applied %d times, the one before at %d", name, k.withRoundText(), got, lowest)
			} else if got == 1 {
				lowest = h
				applied++
			}
			places += head.owed[k] + head.logged[k]
			if head.owed[k] > 0 && lowest != h {
				return fmt.Errorf("%s: row %s is owed and was not applied", name, k.withRoundText())
			}
		}
		if head.counts[with(id, 0)] == 1 {
			places++
		}
		if places != 1 {
			return fmt.Errorf("%s: row %s is in %d places of the loop", name, id.withRoundText(), places)
		}
		passed := lowest // the body has had every one above
		if lowest > 0 && head.logged[with(id, lowest-1)] > 0 {
			passed = lowest - 1
		}
		for h := rounds(id); h > 0; h-- {
			want := 0
			if h > passed {
				want = 1
			}
			if got := body.counts[with(id, h)]; got != want {
				return fmt.Errorf("%s: row %s went round %d times, want %d", name, with(id, h).withRoundText(), got, want)
			}
		}
	}
	if applied != len(head.counts) {
		return fmt.Errorf("%s: %d rows were applied, of those that have entered %d", name, len(head.counts), applied)
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
