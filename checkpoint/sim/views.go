package sim

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
)

// What clients change in the graph while everything else goes wrong: views that are created, filled with what the sources have read
// already, and dropped; and the end of the whole graph. A client says everything that it wants in order, again and again, since it cannot know
// what a coordinator that died has heard: the ids tell what is new.

// ddl is what the mutation of a client is about.
type ddl struct {
	create, drop *actorSpec
	finish       bool
}

// wanted is a mutation that a client wants. at is when.
type wanted struct {
	at int64
	m  checkpoint.Mutate
}

// clientState is what the clients want, in order, and how much of it they have said at least once.
type clientState struct {
	wanted []wanted
	said   int
	// attempts has, for each barrier that carries a creation, the view.
	created map[startedKey]*actorSpec
	// finishing: the end of the graph is wanted.
	finishing bool
}

// planViews decides which views are created and dropped, and when.
func (w *world) planViews() {
	w.clients.created = map[startedKey]*actorSpec{}
	r := newRNG(w.cfg.Seed + 2<<40)
	at := int64(0)
	want := func(d *ddl, m checkpoint.Mutate) {
		at += int64(r.between(5, 250)) * 1000
		m.ID, m.Mutation, m.Checkpoint = uint64(len(w.clients.wanted)+1), d, r.one(2)
		w.clients.wanted = append(w.clients.wanted, wanted{at, m})
	}
	for _, v := range w.graph.views {
		want(&ddl{create: v}, checkpoint.Mutate{Add: []checkpoint.ActorID{v.id}, Place: []checkpoint.Placement{{Actor: v.id, Worker: workerID(v.worker)}}})
		if r.one(2) {
			want(&ddl{drop: v}, checkpoint.Mutate{Remove: []checkpoint.ActorID{v.id}})
		}
	}
	if len(w.clients.wanted) > 0 || w.plan.finish {
		w.sayDDL()
	}
}

// sayDDL tells the coordinator what is wanted, and does so again.
func (w *world) sayDDL() {
	c := &w.clients
	for c.said < len(c.wanted) && (c.wanted[c.said].at <= w.now || w.calm) {
		c.said++
	}
	if w.plan.finish && !c.finishing && c.said == len(c.wanted) && w.readAll() {
		c.finishing = true
		c.wanted = append(c.wanted, wanted{w.now, checkpoint.Mutate{
			ID: uint64(len(c.wanted) + 1), Mutation: &ddl{finish: true}, Checkpoint: true,
		}})
		c.said++
		w.say("client: everything is read, the graph ends")
	}
	if w.coord != nil && w.coord.c.State() == checkpoint.CoordinatorRunning {
		for _, x := range c.wanted[:c.said] {
			m := x.m
			if w.cfg.Bug == RepeatMutation {
				// Every coordinator takes it for new.
				m.ID = 0
			}
			w.coord.take(m)
		}
		if w.calm && !w.asWanted() {
			// Nothing else may have changed that there is to be saved.
			w.coord.take(checkpoint.CheckpointDemand{})
		}
	}
	w.after(int64(w.rng.between(10, 60))*1000, w.sayDDL)
}

// readAll tells whether the sources that live have read everything.
func (w *world) readAll() bool {
	n := 0
	for _, p := range w.workers {
		if p == nil {
			continue
		}
		for _, x := range p.execs {
			if x.spec.role == sourceRole && x.pos == w.plan.rows {
				n++
			}
		}
	}
	return n == w.plan.sources
}

// carries notes which barrier creates a view.
func (w *world) carries(m checkpoint.StartCheckpoint) {
	if d, ok := m.Mutation.(*ddl); ok && d.create != nil {
		w.clients.created[startedKey{m.Txid, m.Epoch}] = d.create
	}
}

// created tells whether an actor is that of a view which comes with the barrier that its worker is starting.
func (p *workerProc) created(m checkpoint.RestoreInstanceState) bool {
	v := p.w.clients.created[startedKey{m.Txid, p.m.Started()}]
	return v != nil && v.id == m.Actor && p.m.Phase() == checkpoint.WorkerRunning
}

// restoreViews makes a source's connections to the views that a checkpoint has.
func (x *exec) restoreViews(s *snapshot, e checkpoint.Epoch) {
	for i, v := range viewsAt(x.w.medium.state, &x.w.graph, e) {
		p := channel.Position{Producer: channel.ProducerID(x.spec.id), Generation: x.gen, Version: channel.Version(x.epoch), Seq: 1}
		if at := len(x.spec.to) + i; at < len(s.outputs) {
			p.Seq = s.outputs[at].Seq
		}
		x.attach(v, p)
	}
}

// viewsAt are the views of a checkpoint, by id.
func viewsAt(st checkpoint.KeeperState, g *graph, e checkpoint.Epoch) []*actorSpec {
	var vs []*actorSpec
	for _, c := range st.Checkpoints {
		if c.Epoch != e {
			continue
		}
		for _, v := range g.views {
			if slices.ContainsFunc(c.Actors, func(p checkpoint.Placement) bool { return p.Actor == v.id }) {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

// attach connects a source with a view; views are in order of their ids.
func (x *exec) attach(v *actorSpec, at channel.Position) *conn {
	c := &conn{w: x.w, from: x, to: v, slot: x.spec.index, slow: 1, prod: channel.NewProducer[payload](at)}
	i := 0
	for i < len(x.views) && x.views[i].to.id < v.id {
		i++
	}
	x.views = slices.Insert(x.views, i, c)
	return c
}

// mutate lets a source do its part of a client's mutation, before the barrier that carries it.
func (x *exec) mutate(mutation any, p *payload) {
	d, ok := mutation.(*ddl)
	switch {
	case !ok:
	case d.create != nil:
		c := x.attach(d.create, channel.Position{Producer: channel.ProducerID(x.spec.id), Generation: x.gen, Version: channel.Version(x.epoch), Seq: 1})
		c.retry(int64(x.w.rng.n(200)))
		x.w.res.Created++
		x.w.say("actor %d fills view %d with %d rows", x.spec.id, d.create.id, x.pos)
		filled := x.pos
		if x.w.cfg.Bug == ShortBackfill && filled > 0 {
			filled--
		}
		for n := range filled {
			c.send(channel.Data, payload{id: row(x.spec.index, n), variant: uint32(x.w.rng.n(1 << 12))})
		}
	case d.drop != nil:
		x.w.res.Dropped++
		p.drop = d.drop.id
	case d.finish:
		// A restore may have taken it back since.
		for ; x.pos < x.w.plan.rows; x.pos++ {
			x.emit(row(x.spec.index, x.pos), uint32(x.w.rng.n(1<<12)))
		}
		p.last = true
	}
}

// detach ends the connection to a view whose last barrier has been sent. What is on its way arrives: the connection goes on until the
// view has ended.
func (x *exec) detach(id checkpoint.ActorID) {
	if id != 0 {
		x.views = slices.DeleteFunc(x.views, func(c *conn) bool { return c.to.id == id })
	}
}

// asWanted tells whether the newest checkpoint has what the clients wanted.
func (w *world) asWanted() bool {
	c := &w.clients
	if len(c.wanted) == 0 {
		return true
	}
	if len(w.medium.state.Checkpoints) == 0 || c.said < len(c.wanted) || w.plan.finish && !c.finishing {
		return false
	}
	return w.cfg.Bug == RepeatMutation || w.medium.state.Checkpoints[0].LastMutation >= uint64(len(c.wanted))
}

// viewsHold: each view has every row that was read exactly once, and only the views that are wanted are there.
func (c *checker) viewsHold(st checkpoint.KeeperState, e checkpoint.Epoch, states map[checkpoint.ActorID]*snapshot, rows int) error {
	for i, v := range viewsAt(st, &c.w.graph, e) {
		s, err := c.stateOf(st, v, e)
		if err != nil {
			return err
		}
		if err := c.countedBy([]*actorSpec{v}, map[checkpoint.ActorID]*snapshot{v.id: s}, states, rows); err != nil {
			return err
		}
		for k, f := range v.from {
			if out := states[f.id].outputs[len(f.to)+i]; out != s.inputs[k] {
				return fmt.Errorf("channel of view %d: it is at %v, its producer %d at %v", v.id, s.inputs[k], f.id, out)
			}
		}
	}
	return nil
}
