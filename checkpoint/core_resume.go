package checkpoint

import (
	"slices"
	"time"
)

// coreState is what a new coordinator knows of the epochs of the one before, from the reports of the workers
// and the store.
type coreState struct {
	injected, completed, durable Epoch
	// actors are those that report the next barrier.
	actors []ActorID
	// rounds are the barriers after durable that anybody remembers, oldest first, complete or not.
	rounds []roundState
	// recording is the checkpoint that the store is writing, 0 for none.
	recording Epoch
	dirty     bool
	holds     int
}

type roundState struct {
	epoch   Epoch
	kind    Kind
	missing []ActorID
	// passed are members whose reports are here.
	passed []ActorID
	states []handed
}

// resumeCore makes a Core that goes on where another one was. What completes by what is known now is among
// the actions, those that the other one may have announced already included.
func resumeCore(cfg Config, st coreState, now time.Time) (*Core, []Action) {
	c := NewCore(cfg, st.durable, st.actors, now)
	c.injected, c.completed, c.dirty = max(st.injected, st.durable), max(st.completed, st.durable), st.dirty
	c.holds, c.heldAsked = st.holds, st.holds
	// Some epoch since the checkpoint may have had input; one checkpoint too many does no harm.
	c.unsaved = st.dirty || c.injected > c.durable
	for _, s := range st.rounds {
		r := &round{
			epoch: s.epoch, checkpoint: s.kind != KindEpoch, savepoint: s.kind == KindSavepoint, started: now, timeout: c.timeout,
			waiting: make(map[ActorID]bool), missing: len(s.missing), states: s.states,
		}
		for _, a := range s.passed {
			r.waiting[a] = false
		}
		for _, a := range s.missing {
			r.waiting[a] = true
		}
		r.countPending()
		c.flight = append(c.flight, r)
	}
	c.completeRounds()
	if st.recording > st.durable {
		c.resumeRecording(st.recording)
	}
	c.advance(now)
	return c, slices.Clone(c.actions)
}

// resumeRecording takes over the checkpoint that the store is writing: all that it has is in the completed
// checkpoints up to it.
func (c *Core) resumeRecording(e Epoch) {
	n := 0
	for n < len(c.saving) && c.saving[n].epoch <= e {
		n++
	}
	if n == 0 || c.saving[n-1].epoch != e {
		c.saving = slices.Insert(c.saving, n, &round{epoch: e, checkpoint: true})
		n++
	}
	c.saving = c.saving[mergeRounds(c.saving[:n])-1:]
	c.committing = true
}

// finish takes an actor out whose work is done: it takes part in no barrier after passed.
func (c *Core) finish(a ActorID, passed Epoch) {
	delete(c.actors, a)
	for _, r := range c.flight {
		if r.epoch > passed && r.waiting[a] {
			r.missing--
			delete(r.waiting, a)
		}
	}
}

// underWay tells whether a barrier is in flight, or what was handed over is in no recorded checkpoint.
func (c *Core) underWay() bool { return len(c.flight) > 0 || len(c.saving) > 0 || len(c.carried) > 0 }

// awaited lists the barriers in flight, up to passed, for which the report of an actor is missing, oldest first.
func (c *Core) awaited(a ActorID, passed Epoch) []Epoch {
	var es []Epoch
	for _, r := range c.flight {
		if r.epoch <= passed && r.waiting[a] {
			es = append(es, r.epoch)
		}
	}
	return es
}

// nothing makes Core look at what has changed under it.
type nothing struct{}

func (nothing) message() {}
