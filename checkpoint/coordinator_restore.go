package checkpoint

import (
	"fmt"
	"slices"
	"time"
)

// resetAsked takes somebody's wish to go back. One from an attempt that is over has been fulfilled.
func (c *Coordinator) resetAsked(m ResetTopologyState, now time.Time) {
	if c.state == CoordinatorStarting || c.state == CoordinatorReconciling {
		c.running(Party{Role: RoleClient})
		return
	}
	if m.Txid != 0 && m.Txid != c.txid {
		return
	}
	if w := c.worker(m.DeadWorker); w != nil {
		w.alive = false
	}
	c.reset(m.Reason, now)
}

// reset brings everything back to a checkpoint, unless that is under way already.
func (c *Coordinator) reset(reason string, now time.Time) {
	switch c.state {
	case CoordinatorRunning, CoordinatorRestoring, CoordinatorFinished:
		c.fail(reason, now)
	}
}

// fail ends the attempt or the running graph; the next attempt comes after a pause, when all workers are there.
func (c *Coordinator) fail(reason string, now time.Time) {
	c.failures++
	c.become(CoordinatorFailing, reason)
	c.core, c.rounds, c.graph, c.recording = nil, nil, nil, nil
	delay, first := c.cfg.RestoreDelay, 1
	if delay <= 0 && c.failures > 1 {
		// Attempts that fail one after the other must not keep everybody busy.
		delay, first = c.cfg.Resend, 2
	}
	for i := first; i < c.failures && delay < c.cfg.MaxRestoreDelay; i++ {
		delay *= 2
	}
	c.deadline = now.Add(min(delay, c.cfg.MaxRestoreDelay))
	if delay <= 0 {
		c.deadline = time.Time{}
		c.tryAttempt(now)
	}
}

// tryAttempt begins an attempt if every worker is there, and otherwise asks those that are not.
func (c *Coordinator) tryAttempt(now time.Time) {
	if !c.deadline.IsZero() && now.Before(c.deadline) {
		return
	}
	missing := false
	for _, w := range c.workers {
		if !w.alive {
			missing = true
			c.toWorker(w.id, Reconcile{Term: c.term})
		}
	}
	if missing {
		c.deadline, c.resendAt = time.Time{}, now.Add(c.cfg.Resend)
		return
	}
	c.newAttempt(now)
}

// newAttempt begins with telling the store, which takes nothing of the attempts before from then on.
func (c *Coordinator) newAttempt(now time.Time) {
	c.attempt++
	c.txid = txid(c.term, c.attempt)
	c.listed, c.target, c.recording = false, CheckpointInfo{}, nil
	// Everything goes back: nothing is lost any more.
	c.early, c.forgetting = nil, nil
	clear(c.execs)
	for _, w := range c.workers {
		w.restored, w.actors, w.heard, w.report = false, nil, now, nil
	}
	c.become(CoordinatorRestoring, "")
	c.deadline = now.Add(c.cfg.RestoreTimeout)
	c.resendRestore(now)
}

func (c *Coordinator) resendRestore(now time.Time) {
	c.resendAt = now.Add(c.cfg.Resend)
	if !c.listed {
		c.toStore(ListCheckpoints{Term: c.term, Txid: c.txid})
		return
	}
	for _, w := range c.workers {
		if !w.restored {
			c.toWorker(w.id, c.restoreMessage(w))
		}
	}
}

func (c *Coordinator) restoreMessage(w *workerView) RestoreTopologyState {
	m := RestoreTopologyState{
		Term: c.term, Txid: c.txid, Generation: w.generation, Checkpoint: c.target.Epoch, Base: c.base(), LastMutation: c.target.LastMutation,
	}
	for _, p := range c.target.Actors {
		if p.Worker == w.id {
			m.Actors = append(m.Actors, p)
		}
	}
	return m
}

// base is the newest epoch that a checkpoint has, readable or not: no number is used for two.
func (c *Coordinator) base() Epoch {
	if len(c.list) == 0 {
		return 0
	}
	return c.list[0].Epoch
}

func (c *Coordinator) gotList(m CheckpointList, now time.Time) {
	if c.state != CoordinatorRestoring || c.listed || m.Txid != c.txid {
		return
	}
	switch m.Status {
	case StatusOK:
		c.list, c.listed = m.Checkpoints, true
		c.restoreNewest(now)
	case StatusFenced:
		c.become(CoordinatorDeposed, m.Detail)
	default:
		c.fail("the store: "+m.Detail, now)
	}
}

// newestGood is the newest checkpoint that is not known to be unreadable.
func (c *Coordinator) newestGood() (CheckpointInfo, bool) {
	for _, i := range c.list {
		if !slices.Contains(c.bad, i.Epoch) {
			return i, true
		}
	}
	return CheckpointInfo{}, false
}

func (c *Coordinator) restoreNewest(now time.Time) {
	i, ok := c.newestGood()
	if !ok && len(c.list) > 0 {
		// To begin from nothing would be to lose everything. Perhaps the disk comes back.
		c.bad = nil
		c.fail("no checkpoint can be read", now)
		return
	}
	c.target = i
	c.resendRestore(now)
}

func (c *Coordinator) restoredBy(m RestoreTopologyStateResponse, now time.Time) {
	w := c.known(m.Worker, m.Generation, now)
	if w == nil || c.state != CoordinatorRestoring || m.Txid != c.txid || w.restored || !c.listed {
		return
	}
	switch m.Status {
	case StatusOK:
		w.restored, w.actors = true, m.Actors
		for _, w := range c.workers {
			if !w.restored {
				return
			}
		}
		c.begin(now)
	case StatusUnreadable:
		from := c.target.Epoch
		c.bad = append(c.bad, from)
		to, _ := c.newestGood()
		c.do(FellBack{From: from, To: to.Epoch, Reason: fmt.Sprintf("worker %s: %s", m.Worker, m.Detail)})
		if to.Epoch == 0 {
			c.bad = nil
			c.fail("no checkpoint can be read", now)
			return
		}
		c.newAttempt(now)
	default:
		c.fail(fmt.Sprintf("worker %s: %s", m.Worker, m.Detail), now)
	}
}

// begin lets everybody work.
func (c *Coordinator) begin(now time.Time) {
	for _, w := range c.workers {
		c.toWorker(w.id, StartProcessing{Term: c.term, Txid: c.txid, Checkpoint: c.target.Epoch})
	}
	c.become(CoordinatorRunning, fmt.Sprintf("from checkpoint %d", c.target.Epoch))
	c.graph, c.rounds, c.recording = nil, nil, nil
	var actors []ActorID
	for _, w := range c.workers {
		w.heard = now
		for _, p := range w.actors {
			p.Worker = w.id
			c.graph = append(c.graph, p)
			actors = append(actors, p.Actor)
			c.execs[p.Actor] = &execView{ActorReport: ActorReport{Actor: p.Actor, State: ActorRunning, Source: p.Source}, worker: w.id}
		}
	}
	sortPlacements(c.graph)
	c.parent = c.target.Epoch
	c.mutated, c.accepted = c.target.LastMutation, c.target.LastMutation
	c.core = NewCore(c.cfg.Config, c.target.Epoch, actors, now)
	c.core.injected, c.core.completed = max(c.base(), c.target.Epoch), max(c.base(), c.target.Epoch)
	c.core.holds, c.core.heldAsked = c.holds, c.holds
}
