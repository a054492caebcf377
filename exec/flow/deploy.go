package flow

import (
	"context"
	"fmt"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Deploy adds jobs to the graph with one barrier, and gives the epoch of it: the jobs see every change
// after that epoch. Before Start there is no barrier yet: the jobs begin with the first one.
// What save holds is part of the checkpoint of that barrier.
func (r *Runtime) Deploy(ctx context.Context, save Save, jobs ...*Job) (storage.Epoch, error) {
	r.graph.Lock()
	defer r.graph.Unlock()
	m := &Mutation{addEdges: map[ActorID][]*edge{}, save: save, injected: make(chan storage.Epoch, 1)}
	var added []JobID
	for _, j := range jobs {
		if err := r.build(j, m); err != nil {
			for _, id := range added {
				r.setJob(id, nil)
			}
			return 0, err
		}
		added = append(added, j.ID)
	}
	e, err := r.mutate(ctx, m, !save.empty())
	if err != nil {
		for _, id := range added {
			r.setJob(id, nil)
		}
	}
	return e, err
}

// Remove takes jobs out of the graph with one barrier, whose epoch is the last that they take part in.
func (r *Runtime) Remove(ctx context.Context, save Save, ids ...JobID) (storage.Epoch, error) {
	r.graph.Lock()
	defer r.graph.Unlock()
	m := &Mutation{
		remove: map[ActorID]bool{}, removeEdges: map[edgeID]bool{}, save: save,
		injected: make(chan storage.Epoch, 1),
	}
	for _, id := range ids {
		d := r.job(id)
		if d == nil {
			continue
		}
		r.setJob(id, nil)
		for _, as := range d.actors {
			for _, a := range as {
				m.remove[a.id] = true
			}
		}
		for _, e := range d.edges {
			m.removeEdges[e] = true
		}
	}
	return r.mutate(ctx, m, !save.empty())
}

// Save makes a checkpoint that contains save, without changing the graph, and awaits it.
func (r *Runtime) Save(ctx context.Context, save Save) error {
	r.graph.Lock()
	m := &Mutation{save: save, injected: make(chan storage.Epoch, 1)}
	e, err := r.mutate(ctx, m, true)
	r.graph.Unlock()
	if err != nil {
		return err
	}
	return r.WaitDurable(ctx, e)
}

// Has tells whether a job is deployed.
func (r *Runtime) Has(id JobID) bool { return r.job(id) != nil }

// mutate sends the mutation and awaits the injection of its barrier, which does not depend on the
// state of the graph unless too many barriers are in flight.
func (r *Runtime) mutate(ctx context.Context, m *Mutation, ckpt bool) (storage.Epoch, error) {
	msg := checkpoint.Mutate{Mutation: m, Checkpoint: ckpt}
	for _, a := range m.start {
		msg.Add = append(msg.Add, a.id)
	}
	for id := range m.remove {
		msg.Remove = append(msg.Remove, id)
	}
	r.driver().Send(msg)
	select {
	case e := <-m.injected:
		return e, nil
	case <-r.ctx.Done():
		return 0, checkpoint.ErrStopped
	}
}

// build makes the actors of a job and the edges to them.
func (r *Runtime) build(j *Job, m *Mutation) error {
	if r.job(j.ID) != nil {
		return fmt.Errorf("flow: job %d is deployed already", j.ID)
	}
	d := &deployed{job: j}
	r.setJob(j.ID, d)
	for _, f := range j.Fragments {
		if err := r.buildFragment(d, f, m); err != nil {
			r.setJob(j.ID, nil)
			return fmt.Errorf("flow: job %s: fragment %d: %w", j.Name, f.ID, err)
		}
	}
	return nil
}

func (r *Runtime) buildFragment(d *deployed, f *Fragment, m *Mutation) error {
	producers := make([][]*actor, len(f.Inputs))
	for i, in := range f.Inputs {
		up := r.job(in.Job)
		if up == nil {
			return fmt.Errorf("producer job %d is not running", in.Job)
		}
		k := in.Fragment
		if k < 0 {
			k = len(up.actors) - 1
		}
		if k >= len(up.actors) {
			return fmt.Errorf("producer job %d has no fragment %d", in.Job, k)
		}
		producers[i] = up.actors[k]
	}
	if f.Source != nil && d.sources == nil {
		d.sources = newPositions()
	}
	var actors []*actor
	for i := range f.Parallel {
		r.nextID++
		a := &actor{id: r.nextID, job: d, frag: f, index: i, rt: r}
		a.disp = &dispatcher{self: a.id, types: f.Types, size: r.cfg.ChunkSize}
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
		a.gate = newGate(a.in, []int{0})
		return nil
	}
	var ports []int
	type feed struct {
		from *actor
		slot int
		in   int
	}
	var feeds []feed
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
			feeds = append(feeds, feed{p, len(ports), i})
			ports = append(ports, i)
		}
	}
	a.in = newInbox(len(ports), r.cfg.QueueChunks)
	a.gate = newGate(a.in, ports)
	for _, f := range feeds {
		in := a.frag.Inputs[f.in]
		e := r.edgeFor(f.from, a, f.in, in, m, d)
		e.targets = append(e.targets, target{a.in, f.slot})
	}
	return nil
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
	e := &edge{id: r.nextEdge, dist: in.Dist, cols: in.Cols, owner: a.frag, input: input}
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
