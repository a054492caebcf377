package sim

import (
	"cmp"
	"slices"

	"github.com/weirdb/weir/checkpoint"
)

// role is what an actor does.
type role uint8

const (
	// sourceRole reads rows, which can be read again.
	sourceRole role = iota
	// midRole counts rows and passes them on.
	midRole
	// headRole and bodyRole are a loop, which rows leave after a number of rounds.
	headRole
	bodyRole
	// sinkRole writes rows to a target in transactions.
	sinkRole
	// viewRole counts rows, in a job that a client creates and drops.
	viewRole
)

var roleNames = [...]string{"source", "mid", "head", "body", "sink", "view"}

func (r role) String() string { return roleNames[r] }

// actorSpec is an actor of the graph.
type actorSpec struct {
	id     checkpoint.ActorID
	role   role
	index  int
	worker int
	// from are the producers of its channel, in order of the slots; to the consumers.
	from, to []*actorSpec
	// into is where the head of a loop sends rows that go round, and tails are those that come back from. back are the heads to
	// which the body of a loop sends them.
	into, tails, back []*actorSpec
	// inner: it is of the loop within the loop.
	inner bool
}

// leaves tells whether the producers are heads, and what comes is what leaves their loop.
func (a *actorSpec) leaves() bool {
	return len(a.from) > 0 && a.from[0].role == headRole && !slices.Contains(a.from[0].into, a)
}

// output is the number of a consumer among those of a producer, -1 if it is none.
func (a *actorSpec) output(to *actorSpec) int {
	return slices.Index(slices.Concat(a.to, a.into), to)
}

// graph is the dataflow of a run: sources, mids, perhaps a loop, sinks; each layer sends to all actors of the
// next, by row. A consumer has one channel, which all its producers share.
type graph struct {
	actors []*actorSpec
	byID   map[checkpoint.ActorID]*actorSpec
	plan   plan
	// views are the jobs that clients create and drop; they are in byID, and not among the actors.
	views []*actorSpec
	// heads and bodies are those of the loop, innerHeads and innerBodies those of the one within it.
	heads, bodies, innerHeads, innerBodies []*actorSpec
}

func makePlan(r *rng, cfg Config) plan {
	p := plan{
		workers: r.between(1, 3), sources: r.between(1, 3), mids: r.between(1, 3), sinks: r.between(1, 2),
		loop: r.one(3), rows: r.between(5, 25), credit: r.between(1, 6), earlyMemory: int64(r.n(8)), spill: !r.one(4),
		dataDelay: r.between(1, 4000), controlDelay: r.between(1, 5000), inline: r.n(40), keep: r.between(1, 3),
		checkpoints: r.between(1, 3), end: faultTime, stray: r.between(3, 40), restoreTimeout: r.between(25, 150),
	}
	if r.one(3) {
		p.alignment = 1
	}
	if r.one(4) {
		p.timeout = int64(r.between(20, 100)) * 1000
	}
	p.local, p.corrupt = r.one(3), r.one(8)
	p.savepoints, p.aborts = r.one(4), r.one(4)
	for range 12 {
		s := 1
		if r.one(4) {
			s = r.between(2, 20)
		}
		p.slow = append(p.slow, s)
	}
	p.more(cfg)
	if cfg.Calm {
		p.end = 0
		return p
	}
	if !r.one(3) {
		p.lose = r.between(4, 60)
	}
	if !r.one(3) {
		p.repeat = r.between(3, 30)
	}
	any := func(at int64) fault {
		return fault{at: at, kind: faultKind(r.n(int(faultKinds))), who: r.n(1 << 16), last: int64(r.between(1, 150)) * 1000}
	}
	for range r.between(0, 8) {
		f := any(int64(r.n(faultTime)))
		p.faults = append(p.faults, f)
		if r.one(2) {
			// Troubles like company.
			p.faults = append(p.faults, any(f.at+int64(r.n(80_000))))
		}
	}
	slices.SortFunc(p.faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return p
}

func makeGraph(p plan) graph {
	g := graph{byID: map[checkpoint.ActorID]*actorSpec{}, plan: p}
	layer := func(ids []int, r role, n int, from []*actorSpec) []*actorSpec {
		var out []*actorSpec
		for i := range n {
			a := &actorSpec{
				id: checkpoint.ActorID(ids[i]), role: r, index: i, worker: (ids[i] + len(g.actors)*7) % p.workers, from: from,
			}
			g.actors = append(g.actors, a)
			g.byID[a.id] = a
			out = append(out, a)
		}
		for _, f := range from {
			f.to = out
		}
		return out
	}
	last := layer(from(1), sourceRole, p.sources, nil)
	last = layer(from(11), midRole, p.mids, last)
	if p.loop {
		last = g.addLoop(layer, last)
	}
	layer(from(31), sinkRole, p.sinks, last)
	for i := range p.views {
		v := &actorSpec{id: checkpoint.ActorID(71 + i), role: viewRole, index: i, worker: i % p.workers}
		for _, a := range g.actors {
			if a.role == sourceRole {
				v.from = append(v.from, a)
			}
		}
		g.views = append(g.views, v)
		g.byID[v.id] = v
	}
	return g
}

// from gives the ids from a base on.
func from(base int) []int {
	ids := make([]int, 9)
	for i := range ids {
		ids[i] = base + i
	}
	return ids
}

// addLoop adds a loop, perhaps with another one as part of its body, and gives its heads. The loop's own edges are apart from those
// of the graph: out of the heads leads what leaves the loop.
func (g *graph) addLoop(layer func([]int, role, int, []*actorSpec) []*actorSpec, last []*actorSpec) []*actorSpec {
	p := g.plan
	g.heads = layer([]int{21, 24, 25}, headRole, p.heads, last)
	before := g.heads
	if p.nested {
		g.innerHeads = layer(from(51), headRole, p.innerHeads, nil)
		g.innerBodies = layer(from(61), bodyRole, p.innerBodies, nil)
		for _, s := range append(slices.Clone(g.innerHeads), g.innerBodies...) {
			s.inner = true
		}
		connectLoop(g.innerHeads, g.innerBodies, g.innerBodies)
		for _, h := range g.innerHeads {
			h.from = g.heads
		}
		before = g.innerHeads
	}
	g.bodies = layer([]int{22, 23, 26}, bodyRole, p.bodies, nil)
	if p.nested {
		for _, h := range g.innerHeads {
			h.to = g.bodies
		}
		connectLoop(g.heads, g.innerHeads, g.bodies)
	} else {
		connectLoop(g.heads, g.bodies, g.bodies)
	}
	for _, b := range g.bodies {
		b.from = before
	}
	return g.heads
}

// connectLoop connects the heads of a loop with what is next in it, and with its tails.
func connectLoop(heads, next, tails []*actorSpec) {
	for _, h := range heads {
		h.into, h.tails = next, tails
	}
	for _, n := range next {
		if n.role == bodyRole {
			n.from = heads
		}
	}
	for _, t := range tails {
		t.back = heads
	}
}

// of gives the actor of the graph that an id stands for. When a region is started again its actors get new ids.
func (g *graph) of(id checkpoint.ActorID) *actorSpec { return g.byID[id%idsOfARun] }

// idsOfARun is how far the ids of one deployment are from those of the next.
const idsOfARun = 100

// total is the number of input rows.
func (g *graph) total() int { return g.plan.sources * g.plan.rows }

// more decides what came to the runs later than the rest, with random numbers of its own, so that the runs of seeds that are known stay what
// they are otherwise.
func (p *plan) more(cfg Config) {
	p.heads, p.bodies, p.phases = 1, 1, 1
	if cfg.Plain {
		return
	}
	r := newRNG(cfg.Seed + 1<<40)
	if p.loop {
		p.heads, p.bodies, p.phases = r.between(1, 2), r.between(1, 2), r.between(1, 2)
		p.nested, p.innerHeads, p.innerBodies = r.one(2), r.between(1, 2), r.between(1, 2)
		if r.one(8) {
			p.heads, p.bodies = r.between(1, 3), r.between(1, 3)
		}
	}
	if !p.local && r.one(3) {
		p.views = r.between(1, 3)
	}
	p.finish = !p.local && !p.loop && !p.corrupt && r.one(2)
}
