package loop

import (
	"fmt"
	"iter"
)

// Config describes a loop to one of its heads.
type Config struct {
	// Heads and Tails are how many the loop has, at least one of each.
	Heads, Tails int
	// Phases is how many fixpoints an iteration runs to, one after the other; at least 1. All heads go on
	// to the next phase together.
	Phases int
	// MaxRounds bounds the rounds of an iteration; 0: no bound.
	MaxRounds int
	// Budget is how many bytes of the log stay in memory; the rest is spilled, if there is a Spill. No more of it is applied at a
	// time. 0: the log is spilled, and applied at once.
	Budget int
	Spill  Spill
}

// Head is the state machine of one head. It does no I/O but by its Spill.
type Head struct {
	cfg Config
	// log has the records that a slice or the next iteration needs; log[i] has the number base+i.
	stash
	log  []place
	base int
	// unapplied is the number of the first record that has not been applied.
	// Invariant: base <= unapplied <= base+len(log).
	unapplied int
	// slices are the barriers that were forwarded and whose log is needed, oldest first.
	slices []*slice
	// due are the barriers that have come round and whose iteration has not begun, oldest first.
	due []ID
	// newest is the newest barrier that was forwarded.
	newest ID

	align *Align[Message]
	run   *iteration
	// started: Restore has come.
	started bool
	actions []Action
}

// slice is the part of the log that belongs to a barrier.
type slice struct {
	id         ID
	checkpoint bool
	// start is its first record; end the one after its last, set when the barrier has come round.
	start, end int
	round      bool // it has come round
	released   bool
}

// iteration is the one that runs.
type iteration struct {
	id     ID
	replay bool
	// applying: the log is not applied entirely.
	applying bool
	phase    int
	round    int
	// asked: Round was asked for and Emitted has not come. Otherwise the marker is on its way.
	asked bool
	rows  int // of the tails that have ended the round
}

// NewHead makes a head. Its first message is Restore.
func NewHead(cfg Config) (*Head, error) {
	if cfg.Heads < 1 || cfg.Tails < 1 || cfg.Phases < 1 {
		return nil, fmt.Errorf("loop: %d heads, %d tails, %d phases", cfg.Heads, cfg.Tails, cfg.Phases)
	}
	return &Head{
		cfg: cfg, stash: stash{budget: cfg.Budget, spill: cfg.Spill}, align: NewAlign[Message](cfg.Tails),
	}, nil
}

// Admits tells whether new input is taken: no iteration runs and no barrier is on its way round.
func (h *Head) Admits() bool {
	return h.started && h.run == nil && h.underWay() == nil && len(h.due) == 0
}

// Slices lists the barriers whose part of the log is kept.
func (h *Head) Slices() []ID {
	var ids []ID
	for _, s := range h.slices {
		ids = append(ids, s.id)
	}
	return ids
}

// Logged is the number of records in the log.
func (h *Head) Logged() int { return len(h.log) }

// Step takes one message and returns what to do. The result is valid until the next Step. An error means
// that the protocol was broken or the spill has failed, or is a LimitError; the head is of no use then.
func (h *Head) Step(m Message) ([]Action, error) {
	h.actions = h.actions[:0]
	starts := false
	switch m.(type) {
	case Logged, Restore:
		starts = true
	}
	if starts == h.started {
		return nil, fmt.Errorf("loop: %T, and the head was started: %v", m, h.started)
	}
	var err error
	switch m := m.(type) {
	case Logged:
		// Nothing else was received: it is neither in transit nor to be kept.
		h.do(Apply(m))
	case Restore:
		h.started = true
		err = h.begin(&iteration{replay: true})
	case Continue:
		if h.run == nil || !h.run.applying {
			return nil, fmt.Errorf("loop: there is nothing to continue with")
		}
		err = h.apply()
	case Input:
		if !h.Admits() {
			return nil, fmt.Errorf("loop: input that is not admitted")
		}
		err = h.append(m.Record)
	case Barrier:
		err = h.barrier(m)
	case Feedback, Returned, Ended:
		err = h.fromTail(m)
	case Emitted:
		if h.run == nil || !h.run.asked {
			return nil, fmt.Errorf("loop: rows were emitted that nobody asked for")
		}
		err = h.emitted(m.Rows)
	case Committed:
		err = h.release(m.ID, true)
	case Aborted:
		err = h.release(m.ID, false)
	default:
		return nil, fmt.Errorf("loop: unknown message %T", m)
	}
	if err != nil {
		return nil, err
	}
	return h.actions, nil
}

func (h *Head) do(a Action) { h.actions = append(h.actions, a) }

func (h *Head) append(r []byte) error {
	p, err := h.put(r)
	if err == nil {
		h.log = append(h.log, p)
	}
	return err
}

func (h *Head) end() int { return h.base + len(h.log) }

// underWay is the oldest barrier that has not come round.
func (h *Head) underWay() *slice {
	for _, s := range h.slices {
		if !s.round {
			return s
		}
	}
	return nil
}

func (h *Head) barrier(m Barrier) error {
	if m.ID <= h.newest {
		return fmt.Errorf("loop: barrier %d after %d", m.ID, h.newest)
	}
	if h.cfg.Heads > 1 && !h.Admits() {
		// The heads would forward it at different places between their rounds.
		return fmt.Errorf("loop: barrier %d is not admitted", m.ID)
	}
	h.newest = m.ID
	// What was received and not applied is in transit as well.
	h.slices = append(h.slices, &slice{id: m.ID, checkpoint: m.Checkpoint, start: h.unapplied})
	h.do(Forward(m))
	return nil
}

// fromTail takes a message of a tail in step with the other tails.
func (h *Head) fromTail(m Message) error {
	queue := []Message{m}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		all, err := h.tail(m)
		if err != nil {
			return err
		}
		if all {
			var held []Message
			for _, it := range h.align.Held() {
				held = append(held, it.Message)
			}
			queue = append(held, queue...)
		}
	}
	return nil
}

func (h *Head) tail(m Message) (all bool, err error) {
	switch m := m.(type) {
	case Feedback:
		if !h.align.Offer(m.Tail, m) {
			return false, nil
		}
		return false, h.feedback(m.Record)
	case Returned:
		if !h.align.Offer(m.Tail, m) {
			return false, nil
		}
		s := h.underWay()
		if s == nil || s.id != m.ID {
			return false, fmt.Errorf("loop: barrier %d came back out of turn", m.ID)
		}
		if !h.align.Pass(m.Tail) {
			return false, nil
		}
		return true, h.returned(s)
	case Ended:
		if !h.align.Offer(m.Tail, m) {
			return false, nil
		}
		if h.run == nil || h.run.applying || h.run.asked || h.run.round != m.Round {
			return false, fmt.Errorf("loop: the end of round %d came back out of turn", m.Round)
		}
		h.run.rows += m.Rows
		if !h.align.Pass(m.Tail) {
			return false, nil
		}
		return true, h.endRound()
	}
	return false, nil
}

// feedback takes a record that came back. While an iteration runs it is part of it, and of the slices
// that were forwarded before and are still open.
func (h *Head) feedback(r []byte) error {
	if h.run == nil || h.run.applying {
		return h.append(r)
	}
	h.do(Apply{Record: r})
	if h.underWay() == nil {
		return nil
	}
	if h.unapplied != h.end() {
		return fmt.Errorf("loop: an iteration runs before the log was applied")
	}
	if err := h.append(r); err != nil {
		return err
	}
	h.unapplied = h.end()
	return nil
}

// returned is step 2: the barrier has come round.
func (h *Head) returned(s *slice) error {
	s.round, s.end = true, h.end()
	p := Pass{ID: s.id, Checkpoint: s.checkpoint}
	if s.checkpoint {
		p.Records, p.Log = s.end-s.start, h.read(s.start, s.end)
	} else {
		s.released = true
	}
	h.do(p)
	h.due = append(h.due, s.id)
	return h.next()
}

// read gives the records of the log from one number to before another, as long as they are kept.
func (h *Head) read(from, to int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for n := from; n < to; n++ {
			if n < h.base {
				yield(nil, fmt.Errorf("loop: the log is read after its release"))
				return
			}
			if r, err := h.get(h.log[n-h.base]); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// next begins the next iteration if none runs.
func (h *Head) next() error {
	if h.run != nil || len(h.due) == 0 {
		return h.trim()
	}
	id := h.due[0]
	h.due = h.due[1:]
	return h.begin(&iteration{id: id})
}

// begin is step 3.
func (h *Head) begin(it *iteration) error {
	h.run = it
	it.applying = true
	return h.apply()
}

// apply applies the log, or as much of it as may be in memory.
func (h *Head) apply() error {
	size := 0
	for h.unapplied < h.end() {
		at := h.log[h.unapplied-h.base]
		if h.cfg.Budget > 0 && size > 0 && size+at.n > h.cfg.Budget {
			h.do(More{})
			return h.trim()
		}
		r, err := h.get(at)
		if err != nil {
			return err
		}
		h.do(Apply{Record: r})
		h.unapplied++
		size += at.n
	}
	h.run.applying = false
	if err := h.trim(); err != nil {
		return err
	}
	h.run.phase = 1
	return h.ask()
}

func (h *Head) ask() error {
	it := h.run
	if h.cfg.MaxRounds > 0 && it.round >= h.cfg.MaxRounds {
		return &LimitError{Rounds: it.round}
	}
	it.round++
	it.asked = true
	h.do(Round{Phase: it.phase, Round: it.round})
	return nil
}

func (h *Head) emitted(rows int) error {
	it := h.run
	it.asked, it.rows = false, 0
	if rows == 0 && h.cfg.Heads == 1 {
		// Nobody else can have sent anything: nothing can come back.
		return h.endPhase()
	}
	h.do(EndRound{Round: it.round})
	return nil
}

func (h *Head) endRound() error {
	if h.run.rows > 0 {
		return h.ask()
	}
	return h.endPhase()
}

func (h *Head) endPhase() error {
	it := h.run
	if it.phase < h.cfg.Phases {
		it.phase++
		return h.ask()
	}
	h.run = nil
	h.do(Fixpoint{ID: it.id, Replay: it.replay, Rounds: it.round})
	return h.next()
}

// release lets go of a slice. A checkpoint that is committed makes all before it superfluous.
func (h *Head) release(id ID, committed bool) error {
	for _, s := range h.slices {
		if s.id == id || committed && s.id < id && s.round {
			s.checkpoint = false
			s.released = s.round
		}
	}
	return h.trim()
}

// trim forgets slices from the oldest on, and records that no slice and no iteration needs.
func (h *Head) trim() error {
	for len(h.slices) > 0 && h.slices[0].released && h.slices[0].round {
		h.slices = h.slices[1:]
	}
	keep := h.unapplied
	if len(h.slices) > 0 {
		keep = min(keep, h.slices[0].start)
	}
	for h.base < keep {
		if err := h.drop(h.log[0]); err != nil {
			return err
		}
		h.log[0] = place{}
		h.log = h.log[1:]
		h.base++
	}
	return nil
}

// Tail counts what a tail sends back in a round. The zero Tail is ready.
type Tail struct{ rows int }

// Sent notes that rows go back.
func (t *Tail) Sent(rows int) { t.rows += rows }

// EndRound gives the marker that goes back for a round.
func (t *Tail) EndRound(tail, round int) Ended {
	e := Ended{Tail: tail, Round: round, Rows: t.rows}
	t.rows = 0
	return e
}

// Return gives the marker that goes back for a barrier: what was sent before belongs to no round.
func (t *Tail) Return(tail int, id ID) Returned {
	t.rows = 0
	return Returned{Tail: tail, ID: id}
}
