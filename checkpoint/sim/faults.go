package sim

import "github.com/weirdb/weir/checkpoint"

// faultKind is something that goes wrong at a certain time.
type faultKind uint8

const (
	// crashWorker: a process dies with its actors.
	crashWorker faultKind = iota
	// loseWorker: it is taken for dead, and lives on.
	loseWorker
	// failActor: one actor ends with an error.
	failActor
	// crashCoord and loseCoord are the same of the coordinator.
	crashCoord
	loseCoord
	// crashStore: the store dies; what it was writing is there or not.
	crashStore
	// fillDisk: nothing can be written for a while.
	fillDisk
	// breakConns: connections between actors break.
	breakConns
	// cutControl: all control messages get lost for a while.
	cutControl
	// corruptBlob: something of the newest checkpoint cannot be read until faults stop, if the plan has that.
	corruptBlob
	faultKinds
)

var faultNames = [...]string{"worker crashes", "worker is taken for dead", "actor fails", "coordinator crashes", "coordinator is taken for dead", "store crashes", "disk is full", "connections break", "control messages are lost", "a state becomes unreadable"}

func (k faultKind) String() string { return faultNames[k] }

// fault is one of them. who picks the victim, last is how long it lasts or how long until another life begins.
type fault struct {
	at   int64
	kind faultKind
	who  int
	last int64
}

func (w *world) inject(f fault) {
	if w.calm {
		return
	}
	w.res.Faults++
	w.say("FAULT: %v", f.kind)
	switch f.kind {
	case crashWorker, loseWorker:
		no := f.who % len(w.workers)
		p := w.workers[no]
		if p == nil {
			return
		}
		w.workers[no] = nil
		if f.kind == crashWorker {
			p.kill()
		} else {
			p.lost = true
			w.lost = append(w.lost, p)
		}
		w.say("worker %s is gone", p.id)
		w.after(f.last, func() {
			if w.workers[no] == nil {
				w.startWorker(no)
			}
		})
	case failActor:
		p := w.workers[f.who%len(w.workers)]
		if p == nil {
			return
		}
		xs := p.sortedExecs()
		if len(xs) == 0 {
			return
		}
		x := xs[f.who/8%len(xs)]
		if x.ended {
			return
		}
		w.say("actor %d fails", x.spec.id)
		x.dead = true
		delete(p.execs, x.spec.id)
		p.take(checkpoint.InstanceEnded{Actor: x.actor, Attempt: x.attempt, State: checkpoint.ActorFailed, Detail: "a panic"})
	case crashCoord:
		w.crashCoordinator(f.last)
	case loseCoord:
		if w.coord != nil {
			w.gone = append(w.gone, w.coord)
			w.coord = nil
			w.crashCoordinator(f.last)
		}
	case crashStore:
		if w.store != nil {
			w.store.dead = true
			w.store = nil
			w.after(f.last, func() {
				if w.store == nil {
					w.startStore()
				}
			})
		}
	case fillDisk:
		w.medium.full = true
		w.after(f.last, func() {
			w.say("the disk has room")
			w.medium.full = false
		})
	case breakConns:
		for _, p := range w.workers {
			if p == nil {
				continue
			}
			for _, x := range p.sortedExecs() {
				for _, c := range x.allOuts() {
					if c.up && w.rng.one(2) {
						c.fail()
					}
				}
			}
		}
	case corruptBlob:
		if !w.plan.corrupt || len(w.medium.state.Checkpoints) == 0 {
			return
		}
		for _, s := range w.medium.state.Checkpoints[0].States {
			if s.Location != "" {
				w.say("blob %s", s.Location)
				w.medium.corrupt[s.Location] = true
				break
			}
		}
	case cutControl:
		w.cut = w.now + f.last
	}
}

func (w *world) crashCoordinator(last int64) {
	if w.coord != nil {
		w.coord.dead = true
		w.coord = nil
	}
	w.after(last, func() {
		if w.coord == nil {
			w.startCoordinator()
		}
	})
}

// client asks for this and that.
func (w *world) client() {
	w.after(int64(w.rng.between(5_000, 90_000)), func() {
		if w.coord != nil && !w.calm {
			c := w.coord.c
			var m checkpoint.Message
			switch r := w.rng.n(4); {
			case r == 0 && w.plan.savepoints:
				m = checkpoint.CheckpointDemand{Savepoint: true}
			case r == 1 && w.plan.aborts && c.Core() != nil:
				m = checkpoint.Abort{Epoch: c.Core().Injected(), Reason: "somebody wants it"}
			case r == 2:
				m = checkpoint.CheckpointDemand{}
			case c.Core() != nil:
				m = checkpoint.Demand{Epoch: c.Core().Injected() + 1}
			}
			if m != nil {
				w.say("client: %s", describe(m))
				w.coord.take(m)
			}
		}
		w.client()
	})
}
