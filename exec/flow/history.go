package flow

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/storage"
)

// CheckpointState is what has become of a checkpoint, or of a barrier that is no checkpoint.
type CheckpointState string

// The states of checkpoints.
const (
	// CheckpointInFlight: actors are missing that have not passed the barrier.
	CheckpointInFlight CheckpointState = "in flight"
	// CheckpointCompleted: all actors have passed it, and it is being written.
	CheckpointCompleted CheckpointState = "completed"
	// CheckpointCommitted: it is durable.
	CheckpointCommitted CheckpointState = "committed"
	// CheckpointFailed: it could not be written; that is tried again, and what is in it is part of the next one otherwise.
	CheckpointFailed CheckpointState = "failed"
	// CheckpointAborted: it is none any more. What actors handed over for it is part of the next one.
	CheckpointAborted CheckpointState = "aborted"
)

// ActorName says which actor somebody means, also when it is gone.
type ActorName struct {
	ID              ActorID
	Job             JobID
	Name            string
	Fragment, Index int
}

func (n ActorName) String() string {
	if n.ID == 0 {
		return ""
	}
	return fmt.Sprintf("%s fragment %d actor %d", n.Name, n.Fragment, n.ID)
}

func (a *actor) name() ActorName {
	return ActorName{ID: a.id, Job: a.job.id(), Name: a.job.job.Name, Fragment: a.frag.ID, Index: a.index}
}

// CheckpointRecord is what is known of a checkpoint, or of a barrier in flight.
type CheckpointRecord struct {
	Epoch storage.Epoch
	Kind  checkpoint.Kind
	State CheckpointState
	// Start is when the barrier was injected. Duration is the time until the checkpoint was durable, or until it was
	// known that it will not be; for one on the way, until now.
	Start    time.Time
	Duration time.Duration
	// Bytes is what was written.
	Bytes int64
	// Aligned, Buffered and Spilled are as in AlignmentStats.
	Aligned, Buffered, Spilled int64
	// Slowest is the actor that passed the barrier last; of those so far, while it is in flight.
	Slowest ActorName
	// Waiting are the actors that are missing, in order of their ids. Only while it is in flight.
	Waiting []ActorName
	// Problem is why it failed or was aborted.
	Problem string
}

// CheckpointTotals counts checkpoints since the History was made.
type CheckpointTotals struct {
	Committed, Failed, Aborted int64
	// Bytes were written by the committed ones; Time is the sum of their durations, Last the newest of those.
	Bytes      int64
	Time, Last time.Duration
	// Buffered, Spilled and Aligned are the sums over all of them.
	Aligned, Buffered, Spilled int64
	// Dropped are messages between actors that were not taken.
	Dropped channel.Dropped
}

// keptCheckpoints is how many checkpoints a History remembers.
const keptCheckpoints = 100

// History remembers the newest checkpoints, and which barriers are in flight. It outlives runtimes: their owner passes
// the same to one after the other.
type History struct {
	mu sync.Mutex
	// flight are the barriers in flight, oldest first.
	flight []flying
	// kept are checkpoints, oldest first, those in flight included.
	kept   []*CheckpointRecord
	totals CheckpointTotals
}

type flying struct {
	epoch storage.Epoch
	kind  checkpoint.Kind
	start time.Time
	// rec is nil for a barrier that is no checkpoint.
	rec *CheckpointRecord
}

// NewHistory makes an empty one.
func NewHistory() *History { return &History{} }

// dropped counts a message that a gate has not taken.
func (h *History) dropped(v channel.Verdict) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch v {
	case channel.Duplicate:
		h.totals.Dropped.Duplicates++
	case channel.Fenced:
		h.totals.Dropped.Fenced++
	case channel.Ahead:
		h.totals.Dropped.Ahead++
	}
}

// begin notes that a barrier is about to be injected.
func (h *History) begin(e storage.Epoch, kind checkpoint.Kind, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := flying{epoch: e, kind: kind, start: now}
	if kind != checkpoint.KindEpoch {
		f.rec = &CheckpointRecord{Epoch: e, Kind: kind, State: CheckpointInFlight, Start: now}
		if len(h.kept) >= keptCheckpoints {
			h.kept = slices.Delete(h.kept, 0, len(h.kept)-keptCheckpoints+1)
		}
		h.kept = append(h.kept, f.rec)
	}
	h.flight = append(h.flight, f)
}

// passed notes that an actor has passed the barrier of a checkpoint.
func (h *History) passed(e storage.Epoch, a ActorName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.flight {
		if f := &h.flight[i]; f.epoch == e && f.rec != nil {
			f.rec.Slowest = a
		}
	}
}

// completed notes that all barriers up to e have come through.
func (h *History) completed(e storage.Epoch, aligned func(storage.Epoch) AlignmentStats) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for ; n < len(h.flight) && h.flight[n].epoch <= e; n++ {
		r := h.flight[n].rec
		if r == nil {
			continue
		}
		s := aligned(r.Epoch)
		r.Aligned, r.Buffered, r.Spilled = s.Aligned, s.Buffered, s.Spilled
		h.totals.Aligned += s.Aligned
		h.totals.Buffered += s.Buffered
		h.totals.Spilled += s.Spilled
		if r.State == CheckpointInFlight {
			r.State = CheckpointCompleted
		}
	}
	h.flight = slices.Delete(h.flight, 0, n)
}

// written notes how many bytes a checkpoint has.
func (h *History) written(e storage.Epoch, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.totals.Bytes += bytes
	for _, r := range h.kept {
		if r.Epoch == e {
			r.Bytes = bytes
		}
	}
}

// saved notes that the checkpoint of e is durable, and with it what is in those before that were not written by
// themselves.
func (h *History) saved(e storage.Epoch, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.kept {
		if r.Epoch > e || r.State != CheckpointCompleted && r.State != CheckpointFailed {
			continue
		}
		r.State, r.Problem, r.Duration = CheckpointCommitted, "", now.Sub(r.Start)
		h.totals.Committed++
		h.totals.Time += r.Duration
		h.totals.Last = r.Duration
	}
}

// failed notes that a checkpoint could not be written.
func (h *History) failed(e storage.Epoch, err error, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.totals.Failed++
	for _, r := range h.kept {
		if r.Epoch == e && r.State != CheckpointCommitted {
			r.State, r.Problem, r.Duration = CheckpointFailed, err.Error(), now.Sub(r.Start)
		}
	}
}

// aborted notes that a barrier will be no checkpoint.
func (h *History) aborted(e storage.Epoch, reason string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.kept {
		if r.Epoch == e {
			h.abortLocked(r, reason, now)
		}
	}
}

func (h *History) abortLocked(r *CheckpointRecord, reason string, now time.Time) {
	if r.State == CheckpointCommitted || r.State == CheckpointAborted {
		return
	}
	h.totals.Aborted++
	r.State, r.Problem, r.Duration = CheckpointAborted, reason, now.Sub(r.Start)
}

// ended notes that the runtime has stopped: nothing that it had begun will be completed.
func (h *History) ended(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.kept {
		if r.State != CheckpointFailed {
			h.abortLocked(r, "the dataflow was stopped", now)
		}
	}
	h.flight = h.flight[:0]
}

// oldest is the oldest barrier in flight, 0 if there is none.
func (h *History) oldest() storage.Epoch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.flight) == 0 {
		return 0
	}
	return h.flight[0].epoch
}

// Totals gives the counts, and the number of barriers in flight.
func (h *History) Totals() (t CheckpointTotals, inFlight int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.totals, len(h.flight)
}

// records lists checkpoints, and barriers in flight, by epoch.
func (h *History) records(now time.Time) []CheckpointRecord {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []CheckpointRecord
	for _, r := range h.kept {
		c := *r
		if c.State == CheckpointInFlight || c.State == CheckpointCompleted {
			c.Duration = now.Sub(c.Start)
		}
		out = append(out, c)
	}
	for _, f := range h.flight {
		if f.rec == nil || f.rec.State != CheckpointInFlight {
			// An aborted checkpoint is listed, but its barrier is still on the way.
			out = append(out, CheckpointRecord{
				Epoch: f.epoch, State: CheckpointInFlight, Start: f.start, Duration: now.Sub(f.start),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b CheckpointRecord) int { return int(int64(a.Epoch) - int64(b.Epoch)) })
	return out
}

// Checkpoints lists the newest checkpoints and all barriers in flight, by epoch.
func (r *Runtime) Checkpoints() []CheckpointRecord {
	out := r.cfg.History.records(r.cfg.Clock.Now())
	for i := range out {
		if out[i].State == CheckpointInFlight {
			out[i].Waiting = r.notPassed(out[i].Epoch)
		}
	}
	return out
}

// notPassed lists the actors that have not passed a barrier in flight.
func (r *Runtime) notPassed(e storage.Epoch) []ActorName {
	r.inject.Lock()
	defer r.inject.Unlock()
	var out []ActorName
	for _, a := range r.live {
		if !a.job.dead.Load() && a.takesPart(e) && storage.Epoch(a.passed.Load()) < e {
			out = append(out, a.name())
		}
	}
	slices.SortFunc(out, func(a, b ActorName) int { return int(int64(a.ID) - int64(b.ID)) })
	return out
}

// takesPart tells whether the barrier of e comes to the actor.
func (a *actor) takesPart(e storage.Epoch) bool {
	from := storage.Epoch(a.from.Load())
	return from != 0 && from <= e
}
