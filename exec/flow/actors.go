package flow

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/storage"
)

// ActorInfo describes an actor for system views.
type ActorInfo struct {
	ID       ActorID
	Job      JobID
	JobName  string
	Fragment int
	Index    int
	// Passed is the newest epoch whose barrier it has passed.
	Passed storage.Epoch
	// State is running; created, if its first barrier is not injected yet; or stopped if its job has failed.
	State string
	// QueuedChunks is how many chunks were sent to it and not worked off, those that it holds because they are early left out;
	// QueuedBytes are the bytes of those that it has not taken yet.
	QueuedChunks int
	QueuedBytes  int64
	// WaitsFor says in words what it waits for; empty if it has work to do. It is an actor that has no room for
	// its output; those whose barrier is missing; or input.
	WaitsFor string
}

// Actors lists the actors of all jobs, by id.
func (r *Runtime) Actors() []ActorInfo {
	barrier := r.cfg.History.oldest()
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	all := map[ActorID]*actor{}
	for _, d := range r.jobs {
		for _, as := range d.actors {
			for _, a := range as {
				all[a.id] = a
			}
		}
	}
	// full are the actors that a producer waits for because they have too much queued already.
	full := map[ActorID]ActorID{}
	infos := make(map[ActorID]*ActorInfo, len(all))
	for id, a := range all {
		info := &ActorInfo{
			ID: id, Job: a.job.id(), JobName: a.job.job.Name, Fragment: a.frag.ID, Index: a.index, Passed: storage.Epoch(a.passed.Load()), State: "running",
		}
		switch {
		case a.job.dead.Load():
			info.State = "stopped"
		case a.from.Load() == 0:
			info.State = "created"
		}
		for _, b := range a.inboxes() {
			chunks, bytes, blocked := b.load()
			info.QueuedChunks += chunks
			info.QueuedBytes += bytes
			for _, slot := range blocked {
				if slot < len(b.producers) {
					full[b.producers[slot]] = id
				}
			}
		}
		infos[id] = info
	}
	var out []ActorInfo
	for id, a := range all {
		info := infos[id]
		if info.State == "running" {
			info.WaitsFor = waitsFor(a, info, all, full, barrier)
		}
		out = append(out, *info)
	}
	slices.SortFunc(out, func(a, b ActorInfo) int { return int(int64(a.ID) - int64(b.ID)) })
	return out
}

func waitsFor(a *actor, info *ActorInfo, all map[ActorID]*actor, full map[ActorID]ActorID, barrier storage.Epoch) string {
	if to := all[full[a.id]]; to != nil {
		return "room at " + to.name().String()
	}
	if barrier != 0 && info.Passed < barrier && a.takesPart(barrier) {
		for _, b := range a.inboxes() {
			for _, id := range b.producers {
				if p := all[id]; p != nil && storage.Epoch(p.passed.Load()) < barrier && p.takesPart(barrier) {
					return fmt.Sprintf("barrier %d of %s", barrier, p.name())
				}
			}
		}
		return ""
	}
	if info.QueuedChunks == 0 {
		return "input"
	}
	return ""
}

// inboxes are the queues of an actor.
func (a *actor) inboxes() []*inbox {
	if a.loop != nil && a.loop.in != nil {
		return []*inbox{a.in, a.loop.in}
	}
	return []*inbox{a.in}
}

// load tells what is queued, and which slots' producers wait for room.
func (b *inbox) load() (chunks int, bytes int64, blocked []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.queued {
		chunks += n
	}
	for _, m := range b.queue {
		bytes += m.size()
	}
	for slot, on := range b.blocked {
		if on {
			blocked = append(blocked, slot)
		}
	}
	return chunks, bytes, blocked
}
