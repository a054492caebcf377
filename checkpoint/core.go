package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Epoch numbers the epochs from 1; 0 is "before everything".
type Epoch uint64

// ActorID identifies an actor for as long as the process lives; ids are never used again.
type ActorID uint32

// Config has the timing of a coordinator.
type Config struct {
	// BarrierInterval is the longest time that input waits for its barrier.
	BarrierInterval time.Duration
	// CheckpointInterval is the time between checkpoints while there is input.
	CheckpointInterval time.Duration
	// MaxInFlight bounds the barriers that are injected and not completed. A demand beyond it waits
	// for the oldest to complete, if there is no Pace. At least 1; 0 means 8.
	MaxInFlight int
	// Pace is for graphs of which a part may take very long for an epoch and the rest shall go on: with it barriers beyond MaxInFlight
	// do not wait for the oldest, but follow each other at distances that grow with each of them, by Pace. So
	// their number grows with the root of the time.
	Pace time.Duration
	// MaxCheckpoints bounds those of them that are checkpoints. At least 1; 0 means 2.
	MaxCheckpoints int
	// CheckpointTimeout is how long a checkpoint may take until it is complete; then it is aborted, and
	// those that begin later have twice the time, until one is complete: a timeout that is too short
	// for the dataflow must not mean that there is never a checkpoint. 0: as long as it needs.
	CheckpointTimeout time.Duration
}

// round is a barrier in flight, or a completed checkpoint that waits for its commit.
type round struct {
	epoch      Epoch
	checkpoint bool
	savepoint  bool
	started    time.Time
	// timeout is the CheckpointTimeout that it has.
	timeout time.Duration
	// waiting has the actors that take part: true until they have reported. missing counts those.
	waiting map[ActorID]bool
	missing int
	remove  []ActorID
	states  []handed
	// pending counts the states that are announced and not here yet; they have a nil state.
	pending int
}

// handed is what an actor handed over at a checkpoint.
type handed struct {
	actor ActorID
	epoch Epoch
	state any
}

// Core is the state machine of the coordinator. It does no I/O and reads no clock.
type Core struct {
	cfg Config
	// injected is the newest epoch whose barrier has entered the graph.
	injected Epoch
	// completed is the newest epoch that every actor has passed. Invariant: completed <= injected.
	completed Epoch
	// durable is the newest committed checkpoint. Invariant: durable <= completed.
	durable Epoch
	// demanded is the newest epoch that somebody waits for.
	demanded Epoch
	// dirty: the open epoch has input. unsaved: some epoch after the last checkpoint barrier, or the
	// open one, has input.
	dirty, unsaved bool
	// ckptDemanded: the next barrier must be of a checkpoint.
	ckptDemanded bool
	// saveDemanded: and that checkpoint is to be a savepoint.
	saveDemanded bool
	mutations    []Mutate
	// actors are those that report the next barrier.
	actors map[ActorID]bool
	// flight are the injected and not completed rounds, oldest first.
	flight []*round
	// saving are the completed checkpoints that are not committed, oldest first; the first is being
	// committed if committing.
	saving     []*round
	committing bool
	// carried are states of completed rounds that were to be checkpoints until an actor was lost, oldest
	// first: they are part of the next checkpoint.
	carried []handed
	// lost are the actors that were lost: one of their reports may still be on its way.
	lost map[ActorID]bool
	// holds counts the holds that are on, heldAsked those that wait for their answer.
	holds, heldAsked int
	// failed: the last commit failed; it is tried again at retryAt.
	failed  bool
	retryAt time.Time

	lastBarrier, lastCheckpoint time.Time
	timer                       time.Time
	actions                     []Action
	// timeout is what the next checkpoint gets, see Config.CheckpointTimeout.
	timeout time.Duration
}

// maxTimeoutFactor bounds what CheckpointTimeout grows to.
const maxTimeoutFactor = 1 << 10

// commitRetry is the pause before a failed commit is tried again.
const commitRetry = time.Second

// NewCore starts a coordinator after the checkpoint of epoch restored (0: none), with the actors
// that exist from the start, at time now. The first epoch is restored+1.
func NewCore(cfg Config, restored Epoch, actors []ActorID, now time.Time) *Core {
	if cfg.MaxInFlight <= 0 {
		cfg.MaxInFlight = 8
	}
	if cfg.MaxCheckpoints <= 0 {
		cfg.MaxCheckpoints = 2
	}
	c := &Core{
		cfg: cfg, injected: restored, completed: restored, durable: restored,
		actors: make(map[ActorID]bool), lost: make(map[ActorID]bool), lastBarrier: now, lastCheckpoint: now,
		timeout: cfg.CheckpointTimeout,
	}
	for _, a := range actors {
		c.actors[a] = true
	}
	return c
}

// Injected, Completed and Durable give the three marks.
func (c *Core) Injected() Epoch { return c.injected }

// Completed is the newest completed epoch.
func (c *Core) Completed() Epoch { return c.completed }

// Durable is the newest durable epoch.
func (c *Core) Durable() Epoch { return c.durable }

// Waiting lists the actors that the oldest barrier in flight waits for, by id; 0 and nil if there is none.
func (c *Core) Waiting() (Epoch, []ActorID) {
	if len(c.flight) == 0 {
		return 0, nil
	}
	return c.flight[0].epoch, c.flight[0].missingActors()
}

func (r *round) missingActors() []ActorID {
	var as []ActorID
	for a, missing := range r.waiting {
		if missing {
			as = append(as, a)
		}
	}
	slices.Sort(as)
	return as
}

// awaits tells whether the report of an actor about an epoch is still missing.
func (c *Core) awaits(a ActorID, e Epoch) bool {
	for _, r := range c.flight {
		if r.epoch == e {
			return r.waiting[a]
		}
	}
	return false
}

// Step takes one message at time now and returns what to do. The result is valid until the next Step.
// An error means that the protocol was broken by the sender, and changes nothing.
func (c *Core) Step(m Message, now time.Time) ([]Action, error) {
	c.actions = c.actions[:0]
	switch m := m.(type) {
	case InputArrived:
		c.dirty, c.unsaved = true, true
	case Demand:
		c.demanded = max(c.demanded, m.Epoch)
	case CheckpointDemand:
		if m.Savepoint {
			c.saveDemanded, c.ckptDemanded = true, true
		} else if !c.checkpointUnderWay(m.Epoch) {
			c.ckptDemanded = true
		}
	case Mutate:
		c.mutations = append(c.mutations, m)
	case Collected:
		if err := c.collect(m); err != nil {
			return nil, err
		}
	case Stored:
		c.stored(m)
	case Abort:
		if r := c.inFlight(m.Epoch); r != nil {
			c.demote(r, m.Reason)
		}
	case Committed:
		if err := c.committed(m, now); err != nil {
			return nil, err
		}
	case Tick:
		c.timer = time.Time{}
	case nothing:
		c.completeRounds()
	case Lost:
		c.lose(m)
	case Hold:
		if err := c.hold(m); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("checkpoint: unknown message %T", m)
	}
	c.advance(now)
	return c.actions, nil
}

func (c *Core) do(a Action) { c.actions = append(c.actions, a) }

// lose takes dead actors out of everything.
func (c *Core) lose(m Lost) {
	completed, saved := c.completed, c.durable
	for _, a := range m.Actors {
		c.lost[a] = true
		delete(c.actors, a)
	}
	gone := func(h handed) bool { return c.lost[h.actor] }
	for _, r := range c.flight {
		hit := false
		for _, a := range m.Actors {
			missing, member := r.waiting[a]
			if missing {
				r.missing--
			}
			hit = hit || member
			delete(r.waiting, a)
		}
		// Also in a round that has become a plain epoch before.
		r.states = slices.DeleteFunc(r.states, gone)
		r.countPending()
		if hit {
			c.demote(r, "an actor was lost")
		}
	}
	// Of rounds that were demoted and completed before: their states are still nobody's.
	c.carried = slices.DeleteFunc(c.carried, gone)
	c.giveUpUnstored(gone)
	if n := len(c.saving); n > 0 {
		saved = c.saving[n-1].epoch
	}
	c.do(Gone{Actors: m.Actors, Completed: completed, Saved: saved})
	c.completeRounds()
}

// giveUpUnstored makes epochs of the completed checkpoints that wait for a state which a lost actor has announced and not
// stored: it never comes. What is later is a change to what is missing, and goes the same way; what is earlier stands.
func (c *Core) giveUpUnstored(gone func(handed) bool) {
	i := slices.IndexFunc(c.saving, func(r *round) bool {
		return slices.ContainsFunc(r.states, func(h handed) bool { return h.state == nil && gone(h) })
	})
	if i < 0 {
		return
	}
	var states []handed
	for _, r := range c.saving[i:] {
		c.demote(r, "an actor was lost")
		states = append(states, slices.DeleteFunc(r.states, gone)...)
	}
	c.saving = c.saving[:i]
	c.carried = append(states, c.carried...)
}

func (r *round) countPending() {
	r.pending = 0
	for _, h := range r.states {
		if h.state == nil {
			r.pending++
		}
	}
}

func (c *Core) inFlight(e Epoch) *round {
	for _, r := range c.flight {
		if r.epoch == e {
			return r
		}
	}
	return nil
}

// demote makes a plain epoch of a checkpoint in flight, and asks for another checkpoint: what was and will
// be handed over for this one is carried into that.
func (c *Core) demote(r *round, reason string) {
	if !r.checkpoint {
		return
	}
	r.checkpoint = false
	c.ckptDemanded = true
	c.saveDemanded = c.saveDemanded || r.savepoint
	c.do(Aborted{Epoch: r.epoch, Reason: reason, Waiting: r.missingActors()})
}

// stored fills in a state that was announced. One of an epoch that is committed, or of a lost actor, is
// nobody's any more.
func (c *Core) stored(m Stored) {
	fill := func(hs []handed) bool {
		for i := range hs {
			if hs[i].actor == m.Actor && hs[i].epoch == m.Epoch && hs[i].state == nil {
				hs[i].state = m.State
				return true
			}
		}
		return false
	}
	for _, rs := range [][]*round{c.flight, c.saving} {
		for _, r := range rs {
			if fill(r.states) {
				r.pending--
				return
			}
		}
	}
	fill(c.carried)
}

// awaitsState tells whether an actor has announced a state that is not here yet.
func (c *Core) awaitsState(a ActorID, e Epoch) bool {
	missing := func(h handed) bool { return h.actor == a && h.epoch == e && h.state == nil }
	for _, rs := range [][]*round{c.flight, c.saving} {
		for _, r := range rs {
			if slices.ContainsFunc(r.states, missing) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.carried, missing)
}

func (c *Core) hold(m Hold) error {
	if m.On {
		c.holds++
		c.heldAsked++
		return nil
	}
	if c.holds == 0 {
		return errors.New("checkpoint: a hold ended that was not on")
	}
	c.holds--
	// Whose answer is still due has given up.
	c.heldAsked = min(c.heldAsked, c.holds)
	return nil
}

// collect notes an actor's report and completes epochs in order.
func (c *Core) collect(m Collected) error {
	if c.lost[m.Actor] {
		return nil
	}
	for _, r := range c.flight {
		if r.epoch != m.Epoch {
			continue
		}
		if !r.waiting[m.Actor] {
			return fmt.Errorf("checkpoint: actor %d reported epoch %d twice or without being part of it", m.Actor, m.Epoch)
		}
		r.waiting[m.Actor] = false
		r.missing--
		switch {
		case m.State != nil:
			r.states = append(r.states, handed{m.Actor, m.Epoch, m.State})
		case m.Pending:
			r.states = append(r.states, handed{m.Actor, m.Epoch, nil})
			r.pending++
		}
		if (m.State != nil || m.Pending) && !r.checkpoint && !c.checkpointUnderWay(m.Epoch) {
			// It has finished, at the barrier of a plain epoch: there has to be a checkpoint that has what it leaves.
			c.ckptDemanded = true
		}
		c.completeRounds()
		return nil
	}
	return fmt.Errorf("checkpoint: actor %d reported epoch %d, which is not in flight", m.Actor, m.Epoch)
}

func (c *Core) completeRounds() {
	for len(c.flight) > 0 && c.flight[0].missing == 0 {
		r := c.flight[0]
		c.flight = c.flight[1:]
		if r.epoch > c.completed {
			c.completed = r.epoch
			c.do(Complete{Epoch: r.epoch})
		}
		c.carried = append(c.carried, r.states...)
		if r.checkpoint {
			r.states, c.carried = c.carried, nil
			r.countPending()
			c.saving = append(c.saving, r)
			c.timeout = c.cfg.CheckpointTimeout
		}
	}
}

func (c *Core) committed(m Committed, now time.Time) error {
	if !c.committing || len(c.saving) == 0 || c.saving[0].epoch != m.Epoch {
		return fmt.Errorf("checkpoint: answer for epoch %d, which is not being committed", m.Epoch)
	}
	c.committing = false
	r := c.saving[0]
	if m.Err != nil && m.GiveUp {
		c.saving = c.saving[1:]
		c.demote(r, m.Err.Error())
		c.carried = append(r.states, c.carried...)
		return nil
	}
	if m.Err != nil {
		c.failed, c.retryAt = true, now.Add(commitRetry)
		c.do(CommitFailed{Epoch: r.epoch, Err: m.Err})
		return nil
	}
	c.failed = false
	c.saving = c.saving[1:]
	c.durable = r.epoch
	c.do(Durable{Epoch: r.epoch})
	return nil
}

// advance issues every action that the state now allows.
func (c *Core) advance(now time.Time) {
	if c.cfg.CheckpointTimeout > 0 {
		for _, r := range c.flight {
			if r.checkpoint && !now.Before(r.started.Add(r.timeout)) {
				c.demote(r, "timeout")
				c.timeout = min(max(c.timeout, 2*r.timeout), maxTimeoutFactor*c.cfg.CheckpointTimeout)
			}
		}
	}
	for c.wantBarrier(now) {
		if at, ok := c.mayInject(); !ok || now.Before(at) {
			break
		}
		c.inject(now)
	}
	if c.failed && !now.Before(c.retryAt) {
		c.failed = false
	}
	if n := c.ready(); !c.committing && !c.failed && n > 0 {
		// A later completed checkpoint holds all that an earlier one does not, so all that wait are
		// committed as the newest of them.
		c.saving = c.saving[mergeRounds(c.saving[:n])-1:]
		last := c.saving[0]
		all := last.states
		c.committing = true
		states := make([]any, len(all))
		for i, h := range all {
			states[i] = h.state
		}
		c.do(Commit{Epoch: last.epoch, Savepoint: last.savepoint, States: states})
	}
	for ; c.heldAsked > 0 && !c.checkpointPending(); c.heldAsked-- {
		c.do(Held{Durable: c.durable})
	}
	c.setTimer(c.nextTime(now))
}

// ready counts the checkpoints, from the oldest, that can be committed as one: all their states are here, and
// a savepoint is the last of them, since somebody wants just this one.
func (c *Core) ready() int {
	for i, r := range c.saving {
		if r.pending > 0 {
			return i
		}
		if r.savepoint {
			return i + 1
		}
	}
	return len(c.saving)
}

// mergeRounds gives the last of rs the states of all, and returns their number.
func mergeRounds(rs []*round) int {
	last := rs[len(rs)-1]
	var all []handed
	for _, r := range rs {
		all = append(all, r.states...)
		last.savepoint = last.savepoint || r.savepoint
	}
	last.states = all
	return len(rs)
}

func (c *Core) wantBarrier(now time.Time) bool {
	switch {
	case len(c.mutations) > 0, c.demanded > c.injected, c.ckptDemanded && c.mayCheckpoint():
		return true
	case c.dirty && !now.Before(c.lastBarrier.Add(c.cfg.BarrierInterval)):
		return true
	}
	return c.unsaved && !c.dirty && c.checkpointDue(now)
}

// mayInject tells when the next barrier may be injected as far as those in flight are concerned; false: not before one completes.
func (c *Core) mayInject() (time.Time, bool) {
	over := len(c.flight) - c.cfg.MaxInFlight + 1
	if over <= 0 {
		return time.Time{}, true
	}
	return c.lastBarrier.Add(time.Duration(over) * c.cfg.Pace), c.cfg.Pace > 0
}

// mayCheckpoint: a checkpoint may be begun.
func (c *Core) mayCheckpoint() bool {
	n := 0
	for _, r := range c.flight {
		if r.checkpoint {
			n++
		}
	}
	return c.holds == 0 && n < c.cfg.MaxCheckpoints
}

// checkpointDue: the interval is over, and no earlier checkpoint is still on its way (a slow store
// gets larger checkpoints, not a queue of them).
func (c *Core) checkpointDue(now time.Time) bool {
	return c.holds == 0 && !now.Before(c.lastCheckpoint.Add(c.cfg.CheckpointInterval)) && !c.checkpointPending()
}

// checkpointUnderWay tells whether a checkpoint of epoch e or later is committed or will be without
// any more barriers.
func (c *Core) checkpointUnderWay(e Epoch) bool {
	if e == 0 {
		return false
	}
	if c.durable >= e || len(c.saving) > 0 && c.saving[len(c.saving)-1].epoch >= e {
		return true
	}
	for _, r := range c.flight {
		if r.checkpoint && r.epoch >= e {
			return true
		}
	}
	return false
}

func (c *Core) checkpointPending() bool {
	if len(c.saving) > 0 {
		return true
	}
	for _, r := range c.flight {
		if r.checkpoint {
			return true
		}
	}
	return false
}

func (c *Core) inject(now time.Time) {
	var mut Mutate
	var change *Mutate
	if len(c.mutations) > 0 {
		mut = c.mutations[0]
		copied := mut // apart from mut, so that a barrier without a mutation allocates none
		change = &copied
		c.mutations = c.mutations[1:]
	}
	c.ckptDemanded = c.ckptDemanded || mut.Checkpoint
	ckpt := c.mayCheckpoint() && (c.ckptDemanded || c.unsaved && c.checkpointDue(now))
	c.injected++
	r := &round{
		epoch: c.injected, checkpoint: ckpt, savepoint: ckpt && c.saveDemanded, started: now, timeout: c.timeout,
		waiting: make(map[ActorID]bool, len(c.actors)), remove: mut.Remove,
	}
	for _, a := range mut.Add {
		if !c.lost[a] {
			c.actors[a] = true
		}
	}
	for a := range c.actors {
		r.waiting[a] = true
	}
	r.missing = len(r.waiting)
	for _, a := range mut.Remove {
		delete(c.actors, a)
	}
	c.flight = append(c.flight, r)
	c.lastBarrier = now
	c.dirty = false
	if ckpt {
		c.lastCheckpoint = now
		c.ckptDemanded, c.saveDemanded, c.unsaved = false, false, false
	}
	c.do(Inject{Epoch: r.epoch, Checkpoint: ckpt, Savepoint: r.savepoint, Mutation: mut.Mutation, Change: change})
	c.completeRounds()
}

// nextTime is when advance would do something that it does not do now; zero for never.
func (c *Core) nextTime(now time.Time) time.Time {
	var t time.Time
	earlier := func(u time.Time) {
		if !u.After(now) {
			// It is due and only waits for a report or an answer, which is a message of its own.
			return
		}
		if t.IsZero() || u.Before(t) {
			t = u
		}
	}
	if c.dirty {
		earlier(c.lastBarrier.Add(c.cfg.BarrierInterval))
	}
	if c.unsaved && c.holds == 0 {
		earlier(c.lastCheckpoint.Add(c.cfg.CheckpointInterval))
	}
	if at, ok := c.mayInject(); ok && c.wantBarrier(now) {
		earlier(at)
	}
	if c.failed {
		earlier(c.retryAt)
	}
	if c.cfg.CheckpointTimeout > 0 {
		for _, r := range c.flight {
			if r.checkpoint {
				earlier(r.started.Add(r.timeout))
			}
		}
	}
	return t
}

func (c *Core) setTimer(t time.Time) {
	if !t.Equal(c.timer) {
		c.timer = t
		c.do(SetTimer{At: t})
	}
}
