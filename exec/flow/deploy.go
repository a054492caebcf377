package flow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

var errNotStarted = errors.New("flow: the runtime was not started")

// Deploy adds jobs to the graph with one barrier, and gives the epoch of it: the jobs see every change
// after that epoch. What save holds is part of the checkpoint of that barrier. The graph is as it was
// if there is an error, and the jobs run if there is none: a change cannot be cancelled once its
// barrier is asked for, so ctx is looked at before that only.
func (r *Runtime) Deploy(ctx context.Context, save Save, jobs ...*Job) (storage.Epoch, error) {
	r.graph.Lock()
	defer r.graph.Unlock()
	m := &Mutation{addEdges: map[ActorID][]*edge{}, save: save, injected: make(chan storage.Epoch, 1)}
	var added []JobID
	for _, j := range jobs {
		if err := r.build(j, m); err != nil {
			r.withdraw(added)
			return 0, err
		}
		added = append(added, j.ID)
	}
	e, err := r.mutate(ctx, m, !save.empty())
	if err != nil {
		r.withdraw(added)
	}
	return e, err
}

// withdraw takes back jobs that were built; the graph is locked.
func (r *Runtime) withdraw(ids []JobID) {
	for _, id := range ids {
		d := r.job(id)
		r.setJob(id, nil)
		if d != nil {
			d.cancel()
			d.gone(&r.frontiers)
		}
	}
}

// Remove takes jobs out of the graph with one barrier, whose epoch is the last that they take part in.
// Jobs that read from them must be among them. Ids that are not deployed are left out, but what save
// holds is saved in any case. As for Deploy, ctx is looked at before the change only.
func (r *Runtime) Remove(ctx context.Context, save Save, ids ...JobID) (storage.Epoch, error) {
	r.graph.Lock()
	defer r.graph.Unlock()
	return r.remove(ctx, save, ids)
}

// remove is Remove; the graph is locked.
func (r *Runtime) remove(ctx context.Context, save Save, ids []JobID) (storage.Epoch, error) {
	m := &Mutation{
		remove: map[ActorID]*actor{}, removeEdges: map[edgeID]bool{}, save: save,
		injected: make(chan storage.Epoch, 1),
	}
	if err := r.removable(ids); err != nil {
		return 0, err
	}
	removed := map[JobID]*deployed{}
	for _, id := range ids {
		d := r.job(id)
		if d == nil {
			continue
		}
		removed[id] = d
		r.leave(d, true)
		for _, as := range d.actors {
			for _, a := range as {
				m.remove[a.id] = a
			}
		}
		for _, e := range d.edges {
			m.removeEdges[e] = true
		}
	}
	e, err := r.mutate(ctx, m, !save.empty() || save.Keep)
	if err != nil {
		for _, d := range removed {
			r.leave(d, false)
		}
		return e, err
	}
	maps.DeleteFunc(r.producers, func(k producerKey, _ channel.ProducerID) bool { return removed[k.job] != nil })
	return e, nil
}

// AwaitEnd waits until the actors of jobs that were removed have ended.
func (r *Runtime) AwaitEnd(ctx context.Context, ids ...JobID) error {
	var ends []context.Context
	r.jobsMu.RLock()
	for d := range r.leaving {
		if slices.Contains(ids, d.id()) {
			ends = append(ends, d.ctx)
		}
	}
	r.jobsMu.RUnlock()
	for _, end := range ends {
		select {
		case <-end.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// leave moves a job from the deployed ones to those that are leaving, or back.
func (r *Runtime) leave(d *deployed, on bool) {
	r.jobsMu.Lock()
	defer r.jobsMu.Unlock()
	d.leaves.Store(on)
	if on {
		delete(r.jobs, d.id())
		r.leaving[d] = true
	} else {
		delete(r.leaving, d)
		r.jobs[d.id()] = d
	}
}

// removable checks that no other job reads from the ones to be removed: it would wait for their
// barriers for ever.
func (r *Runtime) removable(ids []JobID) error {
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	for id, d := range r.jobs {
		if slices.Contains(ids, id) {
			continue
		}
		for _, f := range d.job.Fragments {
			for _, in := range f.Inputs {
				if slices.Contains(ids, in.Job) {
					return fmt.Errorf("flow: job %d cannot be removed: job %s reads from it", in.Job, d.job.Name)
				}
			}
		}
	}
	return nil
}

// Save makes a checkpoint that contains save, without changing the graph, and awaits it. With an error nothing of it was
// saved, or will be, unless the runtime has ended. The error wraps ErrRestarting if a job that save needs was lost, and is
// SQLSTATE 53100 if the disk has no room for the checkpoint. If ctx ends it returns its cause, or nil if it is too late for that: a
// checkpoint that is being written meanwhile is awaited.
func (r *Runtime) Save(ctx context.Context, save Save) error {
	r.graph.Lock()
	durable, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// out is why the save was left out, once it was.
	var out atomic.Pointer[error]
	leave := func(err error) {
		out.Store(&err)
		cancel(err)
	}
	m := &Mutation{
		save: save, injected: make(chan storage.Epoch, 1),
		lost: func() { leave(fmt.Errorf("flow: not saved: %w", ErrRestarting)) }, refused: leave,
	}
	for _, id := range save.Needs {
		d := r.job(id)
		if d == nil {
			r.graph.Unlock()
			return fmt.Errorf("flow: not saved: job %d is gone: %w", id, ErrRestarting)
		}
		m.needs = append(m.needs, d)
	}
	e, err := r.mutate(ctx, m, true)
	r.graph.Unlock()
	if err != nil {
		return err
	}
	err = r.WaitDurable(durable, e)
	if err != nil && r.ctx.Err() == nil && out.Load() == nil && r.takeBack(m) {
		return context.Cause(ctx)
	}
	if why := out.Load(); why != nil {
		return *why
	}
	if r.ctx.Err() != nil {
		return err
	}
	// What could not be taken back is saved.
	return nil
}

// SaveLater makes save part of the next checkpoint, and does not await it.
func (r *Runtime) SaveLater(ctx context.Context, save Save) error {
	r.graph.Lock()
	defer r.graph.Unlock()
	_, err := r.mutate(ctx, &Mutation{save: save, injected: make(chan storage.Epoch, 1)}, true)
	return err
}

// Has tells whether a job is deployed.
func (r *Runtime) Has(id JobID) bool { return r.job(id) != nil }

// Jobs lists the deployed jobs, by id.
func (r *Runtime) Jobs() []JobID {
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	return slices.Sorted(maps.Keys(r.jobs))
}

// mutate sends the mutation and awaits the injection of its barrier, which does not depend on the
// state of the graph unless too many barriers are in flight.
func (r *Runtime) mutate(ctx context.Context, m *Mutation, ckpt bool) (storage.Epoch, error) {
	if r.driver() == nil {
		return 0, errNotStarted
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := r.step("change the graph"); err != nil {
		return 0, err
	}
	r.driver().Send(mutateMessage(m, ckpt))
	select {
	case e := <-m.injected:
		return e, nil
	case <-r.ctx.Done():
		return 0, checkpoint.ErrStopped
	}
}

// step is where a test can let something fail.
func (r *Runtime) step(name string) error {
	if r.cfg.Step == nil {
		return nil
	}
	return r.cfg.Step(name)
}

// build makes the actors of a job and the edges to them.
func (r *Runtime) build(j *Job, m *Mutation) error {
	if err := r.step("build a job"); err != nil {
		return err
	}
	if r.job(j.ID) != nil {
		return fmt.Errorf("flow: job %d is deployed already", j.ID)
	}
	d := &deployed{job: j, failover: j.Failover}
	d.ctx, d.cancel = context.WithCancel(r.ctx)
	j.ctx = d.ctx
	if m.together != nil {
		m.together[d] = true
	}
	for _, f := range j.Fragments {
		if err := r.buildFragment(d, f, m); err != nil {
			d.cancel()
			return fmt.Errorf("flow: job %s: fragment %d: %w", j.Name, f.ID, err)
		}
	}
	if err := r.connectLoops(d); err != nil {
		d.cancel()
		return fmt.Errorf("flow: job %s: %w", j.Name, err)
	}
	// Only now can others see it: it does not change any more. What feeds it may have failed meanwhile.
	r.jobsMu.Lock()
	defer r.jobsMu.Unlock()
	for _, f := range j.Fragments {
		for _, in := range f.Inputs {
			if up := r.jobs[in.Job]; up != nil && up.dead.Load() {
				d.cancel()
				return fmt.Errorf("flow: job %s: producer job %d: %w", j.Name, in.Job, ErrRestarting)
			}
		}
	}
	r.jobs[j.ID] = d
	return nil
}

// producerKey says which actor of which job somebody is, over restarts.
type producerKey struct {
	job             JobID
	fragment, index int
}

// producer gives an actor's id as a producer; the graph is locked.
func (r *Runtime) producer(job JobID, fragment, index int) channel.ProducerID {
	k := producerKey{job, fragment, index}
	id := r.producers[k]
	if id == 0 {
		r.nextProducer++
		id = r.nextProducer
		r.producers[k] = id
	}
	return id
}

func (r *Runtime) buildFragment(d *deployed, f *Fragment, m *Mutation) error {
	producers := make([][]*actor, len(f.Inputs))
	for i, in := range f.Inputs {
		up := d
		if in.Job != d.id() {
			up = r.job(in.Job)
		}
		if up == nil {
			return fmt.Errorf("producer job %d is not running", in.Job)
		}
		if up.dead.Load() {
			return fmt.Errorf("producer job %d: %w", in.Job, ErrRestarting)
		}
		k := in.Fragment
		if k < 0 {
			k = len(up.actors) - 1
		}
		if k < 0 || k >= len(up.actors) {
			return fmt.Errorf("producer job %d has no fragment %d", in.Job, in.Fragment)
		}
		producers[i] = up.actors[k]
	}
	if f.Parallel < 1 {
		return fmt.Errorf("%d actors", f.Parallel)
	}
	if f.Source != nil && d.sources == nil {
		if d.sources = m.sources[d.id()]; d.sources == nil {
			d.sources = newPositions()
		}
	}
	var actors []*actor
	for i := range f.Parallel {
		r.nextID++
		a := &actor{id: r.nextID, job: d, frag: f, index: i, as: r.producer(d.id(), f.ID, i), gen: r.gen, rt: r}
		a.disp = &dispatcher{self: a.id, as: a.as, gen: a.gen, types: f.Types, size: r.cfg.ChunkSize}
		if f.Loop != nil {
			a.loop = &looped{disp: &dispatcher{self: a.id, as: a.as, gen: a.gen, types: f.Loop.Types, size: r.cfg.ChunkSize, loop: true}}
		}
		if err := r.connect(a, producers, m, d); err != nil {
			return err
		}
		actors = append(actors, a)
	}
	d.actors = append(d.actors, actors)
	m.start = append(m.start, actors...)
	return nil
}

// connect makes the inbox of a and adds it to the producers' edges.
func (r *Runtime) connect(a *actor, producers [][]*actor, m *Mutation, d *deployed) error {
	if len(producers) == 0 {
		// The coordinator and the writers of a table are the only producer, and must never wait.
		a.in = newInbox(1, 0)
		a.root = &feed{in: a.in}
		a.gate = r.newGate(a, []int{0}, []channel.Position{{Generation: a.gen, Seq: 1}})
		return nil
	}
	var ports []int
	var from []channel.Position
	type source struct {
		actor *actor
		slot  int
		in    int
	}
	var sources []source
	for i, ps := range producers {
		for k, p := range ps {
			if a.frag.Inputs[i].Dist.Kind == ToPeer {
				if len(ps) != a.frag.Parallel {
					return fmt.Errorf("input %d: %d producers for %d peers", i, len(ps), a.frag.Parallel)
				}
				if k != a.index {
					continue
				}
			}
			if a.frag.Inputs[i].Loop {
				a.enterLoop(i)
				sources = append(sources, source{p, len(a.loop.ports) - 1, i})
				continue
			}
			sources = append(sources, source{p, len(ports), i})
			ports = append(ports, i)
			from = append(from, channel.Position{Producer: p.as, Generation: p.gen, Seq: 1})
		}
	}
	a.in = newInbox(len(ports), r.cfg.QueueChunks)
	a.gate = r.newGate(a, ports, from)
	if a.loop != nil {
		a.loop.in = newInbox(len(a.loop.ports), r.cfg.QueueChunks)
	}
	a.in.producers = make([]ActorID, len(ports))
	if a.loop != nil {
		a.loop.in.producers = make([]ActorID, len(a.loop.ports))
	}
	for _, s := range sources {
		in := a.frag.Inputs[s.in]
		e := r.edgeFor(s.actor, a, s.in, in, m, d)
		e.loop = in.Loop
		to := a.in
		if in.Loop {
			to = a.loop.in
		}
		to.producers[s.slot] = s.actor.id
		e.targets = append(e.targets, feed{in: to, to: a.id, slot: s.slot})
	}
	return nil
}

// newGate makes the gate of an actor.
func (r *Runtime) newGate(a *actor, ports []int, from []channel.Position) *gate {
	cfg := gateConfig{ports: ports, from: from, alignment: r.cfg.Alignment, memory: r.cfg.EarlyMemory, dropped: r.cfg.History.dropped}
	if len(ports) > 1 && r.cfg.Alignment == Buffered {
		cfg.spill = r.earlySpill(a, "spill")
	}
	return newGate(a.in, cfg)
}

// earlySpill makes a file for what an actor cannot work off yet.
func (r *Runtime) earlySpill(a *actor, what string) *spill {
	return &spill{
		limit: r.cfg.SpillLimit,
		open: func() (*storage.TempFile, error) {
			return r.cfg.Store.TempFile(fmt.Sprintf("actor-%d.%s", a.id, what))
		},
		report: func(err error) {
			if err != nil {
				r.cfg.Logger.Warn("early arrivals cannot be spilled, their producers wait", "event", "spill_failed",
					"job", a.job.job.Name, "actor", a.id, "error", err)
			} else {
				r.cfg.Logger.Info("early arrivals can be spilled again", "event", "spill_works", "job", a.job.job.Name, "actor", a.id)
			}
		},
	}
}

// newIntake makes the intake of an actor in a loop.
func (r *Runtime) newIntake(a *actor) *intake {
	return &intake{in: a.in, limit: r.cfg.EarlyMemory, spill: r.earlySpill(a, "intake")}
}

// edgeFor finds or makes the edge of a producer to an input of a's fragment.
func (r *Runtime) edgeFor(from, a *actor, input int, in Input, m *Mutation, d *deployed) *edge {
	if in.Dist.Kind != ToPeer {
		for _, e := range m.addEdges[from.id] {
			if e.owner == a.frag && e.input == input {
				return e
			}
		}
	}
	r.nextEdge++
	e := &edge{id: r.nextEdge, dist: in.Dist, cols: in.Cols, owner: a.frag, input: input, inner: from.job == d || m.together[from.job]}
	m.addEdges[from.id] = append(m.addEdges[from.id], e)
	d.edges = append(d.edges, e.id)
	return e
}

// OutputTypes is the schema of a deployed job's output.
func (r *Runtime) OutputTypes(id JobID) ([]types.Type, int, bool) {
	d := r.job(id)
	if d == nil {
		return nil, 0, false
	}
	last := d.job.Fragments[len(d.job.Fragments)-1]
	return last.Types, last.Parallel, true
}
