package sim

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/failover"
)

// The jobs of a run: the sources, whose rows can be read again, and everything that they feed.
const (
	sourcesJob failover.JobID = 1
	restJob    failover.JobID = 2
)

func jobOf(r role) failover.JobID {
	if r == sourceRole {
		return sourcesJob
	}
	return restJob
}

// deployment is the mutation that starts a region again: from which checkpoint, and in which generation.
type deployment struct {
	c   checkpoint.Epoch
	st  checkpoint.KeeperState
	gen channel.Generation
}

// started names a barrier that carries a deployment.
type startedKey struct {
	txid  checkpoint.RestoreTxid
	epoch checkpoint.Epoch
}

// region is the restart of a region that is under way: held and gone are the coordinator's answers, ended tells that
// its actors are known to have ended.
type region struct {
	id   failover.RegionID
	txid checkpoint.RestoreTxid
	// actors are the new ones once the region is started again, old those that were lost.
	actors, old       []checkpoint.ActorID
	held, gone, ended bool
	stopped           bool
	durable           checkpoint.Epoch
	mutate            *checkpoint.Mutate
	// epoch is the barrier that carries the mutation, 0 before it is known.
	epoch checkpoint.Epoch
}

// localFailover restarts what has failed and nothing else, by the machine of package failover.
type localFailover struct {
	w        *world
	m        *failover.Manager
	timer    int64
	region   *region
	mutation uint64
	count    uint32
	// deployments are those that barriers carry.
	deployments map[startedKey]*deployment
	// owed are losses that are not known to have reached every worker: each new coordinator is told of them.
	owed []checkpoint.Lost
	// ids are the newest of each actor of the graph.
	ids map[checkpoint.ActorID]checkpoint.ActorID
}

func (w *world) makeLocal() *localFailover {
	return &localFailover{
		w: w, deployments: map[startedKey]*deployment{}, ids: map[checkpoint.ActorID]checkpoint.ActorID{},
		m: failover.NewManager(failover.Config{
			Attempts: -1, FirstDelay: 5 * ms, MaxDelay: 40 * ms, Healthy: 50 * ms, StopTimeout: time.Hour,
		}),
	}
}

func (l *localFailover) step(ev failover.Event) {
	for _, a := range slices.Clone(l.m.Step(ev, l.w.time())) {
		switch a := a.(type) {
		case failover.Stop:
			l.stop(a)
		case failover.Deploy:
			l.deploy(a)
		case failover.SetTimer:
			l.timer = 0
			if !a.At.IsZero() {
				t := max(l.w.at(a.At), l.w.now)
				l.timer = t
				l.w.after(t-l.w.now, func() {
					if l.timer == t {
						l.step(failover.Tick{})
					}
				})
			}
		default:
			l.w.fail("failover: %T", a)
		}
	}
}

// died hears of a failed actor from the coordinator.
func (l *localFailover) died(a checkpoint.ActorID) {
	l.step(failover.Failed{
		Version: l.m.Version(), Job: jobOf(l.w.graph.of(a).role), Err: errors.New("a panic"),
		Graph: []failover.Job{{ID: sourcesJob, Replayable: true}, {ID: restJob, Inputs: []failover.JobID{sourcesJob}}},
	})
}

// global: everything goes back, and the region with it.
func (l *localFailover) global() {
	if l.region != nil {
		l.w.say("local failover yields")
		l.region = nil
		l.tell(checkpoint.Hold{})
	}
	l.owed = nil
	l.step(failover.Global{})
	l.step(failover.Started{})
}

// tell says something to the coordinator: a call.
func (l *localFailover) tell(m checkpoint.Message) {
	if l.w.coord != nil {
		l.w.coord.take(m)
	}
}

// stop ends the actors of a region, and takes them out of the graph.
func (l *localFailover) stop(a failover.Stop) {
	w := l.w
	was := l.region
	r := &region{id: a.Region, txid: w.coord.c.Txid()}
	for _, s := range w.graph.actors {
		if !slices.Contains(a.Jobs, jobOf(s.role)) {
			continue
		}
		id := cmp.Or(l.ids[s.id], s.id)
		for _, x := range w.coord.c.Executions() {
			// It may live in a worker that others take for dead.
			if x.Actor%idsOfARun == s.id && x.Last == 0 {
				id = x.Actor
			}
		}
		r.actors = append(r.actors, id)
	}
	l.region = r
	w.res.Regions++
	w.say("region %d: actors %v are stopped", r.id, r.actors)
	for _, p := range w.workers {
		if p == nil {
			continue
		}
		for _, id := range r.actors {
			if x := p.execs[id%idsOfARun]; x != nil {
				x.dead = true
				delete(p.execs, x.spec.id)
			}
		}
	}
	if was == nil {
		// Held first: to lose actors may ask for a checkpoint.
		l.tell(checkpoint.Hold{On: true})
	} else {
		r.held, r.durable = was.held, was.durable
	}
	r.old = slices.Clone(r.actors)
	lost := checkpoint.Lost{Actors: r.old, Version: r.txid}
	l.owed = append(l.owed, lost)
	l.tell(lost)
	w.after(int64(w.rng.n(20_000)), func() {
		r.ended = true
		l.proceed()
	})
}

// proceed looks whether the region has stopped.
func (l *localFailover) proceed() {
	if r := l.region; r != nil && r.held && r.gone && r.ended && !r.stopped {
		r.stopped = true
		l.step(failover.Stopped{Region: r.id})
	}
}

// answered takes the coordinator's answers to Hold and Lost.
func (l *localFailover) answered(a checkpoint.Action) {
	if f, ok := a.(checkpoint.Forgotten); ok {
		l.owed = slices.DeleteFunc(l.owed, func(m checkpoint.Lost) bool { return slices.Equal(slices.Sorted(slices.Values(m.Actors)), f.Actors) })
		return
	}
	r := l.region
	if r == nil {
		return
	}
	switch a := a.(type) {
	case checkpoint.Held:
		r.held, r.durable = true, a.Durable
	case checkpoint.Gone:
		r.gone = r.gone || slices.Equal(a.Actors, r.old)
	}
	l.proceed()
}

// deploy starts the region again with a mutation.
func (l *localFailover) deploy(a failover.Deploy) {
	w, r := l.w, l.region
	l.mutation++
	l.count++
	d := &deployment{c: r.durable, st: w.medium.state, gen: generationOf(r.txid) + channel.Generation(l.count%255+1)}
	for i, id := range r.actors {
		s := w.graph.of(id)
		l.ids[s.id] = s.id + checkpoint.ActorID(l.count)*idsOfARun
		r.actors[i] = l.ids[s.id]
	}
	m := &checkpoint.Mutate{ID: l.mutation, Mutation: d, Add: slices.Clone(r.actors), Version: r.txid}
	for _, id := range r.actors {
		s := w.graph.of(id)
		m.Place = append(m.Place, checkpoint.Placement{Actor: id, Worker: workerID(s.worker), Source: s.role == sourceRole})
	}
	r.mutate = m
	w.say("region %d: is started again from checkpoint %d with mutation %d", r.id, d.c, m.ID)
	l.tell(*m)
}

// injected notes which barrier carries a deployment.
func (l *localFailover) injected(m checkpoint.StartCheckpoint) {
	d, ok := m.Mutation.(*deployment)
	if !ok {
		return
	}
	l.deployments[startedKey{m.Txid, m.Epoch}] = d
	if r := l.region; r != nil && r.mutate != nil && r.mutate.Mutation == any(d) {
		r.epoch = m.Epoch
	}
}

// look ends a restart when its barrier is complete: only then no coordinator can forget it.
func (l *localFailover) look() {
	r := l.region
	if r == nil || r.epoch == 0 || l.w.coord == nil {
		return
	}
	core := l.w.coord.c.Core()
	if core == nil || core.Completed() < r.epoch {
		return
	}
	l.w.say("region %d runs again", r.id)
	l.region = nil
	l.step(failover.Deployed{Region: r.id})
	l.step(failover.Running{Region: r.id})
	l.tell(checkpoint.Hold{})
}

// taken: another coordinator goes on with the graph; what the one before was asked is asked again.
func (l *localFailover) taken() {
	r := l.region
	if r == nil {
		return
	}
	if r.mutate != nil {
		l.tell(*r.mutate)
	}
}

// deployed finds the deployment that a worker is starting.
func (p *workerProc) deployed(m checkpoint.RestoreInstanceState) *deployment {
	if p.m.Phase() != checkpoint.WorkerRunning {
		return nil
	}
	return p.w.local.deployments[startedKey{m.Txid, p.m.Started()}]
}

// idAt is the id that an actor had at a checkpoint.
func idAt(st checkpoint.KeeperState, a *actorSpec, e checkpoint.Epoch) checkpoint.ActorID {
	for _, c := range st.Checkpoints {
		if c.Epoch != e {
			continue
		}
		for _, p := range c.Actors {
			if p.Actor%idsOfARun == a.id {
				return p.Actor
			}
		}
	}
	return a.id
}

// snapshotAt is the state of an actor at the deployment's checkpoint.
func (d *deployment) snapshotAt(w *world, a *actorSpec) (*snapshot, error) {
	s := newSnapshot()
	s.pos = 0
	bs, err := w.medium.stateOf(d.st, idAt(d.st, a, d.c), d.c)
	if err != nil {
		return nil, err
	}
	for _, b := range bs {
		if err := s.apply(b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// reattach makes new channels of a source to a region that begins, and sends what the region has lost: the rows between
// its checkpoint and where the source is.
func (x *exec) reattach(d *deployment) {
	if x.gen == d.gen {
		return // it is of the region
	}
	s, err := d.snapshotAt(x.w, x.spec)
	if err != nil {
		x.w.fail("actor %d: %v", x.spec.id, err)
		return
	}
	for _, c := range slices.Concat(x.outs, x.views) {
		c.up = false
		c.number++
	}
	x.outs, x.views = nil, nil
	x.connectOuts(s, d.gen)
	for _, c := range x.outs {
		c.retry(int64(x.w.rng.n(200)))
	}
	x.w.say("actor %d sends rows %d to %d again", x.spec.id, s.pos, x.pos)
	for n := s.pos; n < x.pos; n++ {
		x.emit(row(x.spec.index, n), uint32(x.w.rng.n(1<<12)))
	}
}
