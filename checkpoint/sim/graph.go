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
)

var roleNames = [...]string{"source", "mid", "head", "body", "sink"}

func (r role) String() string { return roleNames[r] }

// actorSpec is an actor of the graph.
type actorSpec struct {
	id     checkpoint.ActorID
	role   role
	index  int
	worker int
	// from are the producers of its channel, in order of the slots; to the consumers.
	from, to []*actorSpec
}

// graph is the dataflow of a run: sources, mids, perhaps a loop, sinks; each layer sends to all actors of the
// next, by row. A consumer has one channel, which all its producers share.
type graph struct {
	actors []*actorSpec
	byID   map[checkpoint.ActorID]*actorSpec
	plan   plan
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
	layer := func(base int, r role, n int, from []*actorSpec) []*actorSpec {
		var out []*actorSpec
		for i := range n {
			a := &actorSpec{
				id: checkpoint.ActorID(base + i), role: r, index: i, worker: (base + i + len(g.actors)*7) % p.workers, from: from,
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
	last := layer(1, sourceRole, p.sources, nil)
	last = layer(11, midRole, p.mids, last)
	if p.loop {
		head := layer(21, headRole, 1, last)
		body := layer(22, bodyRole, 1, nil)
		// The loop's own edges are apart from those of the graph: out of the head leads what leaves the loop.
		body[0].from = head
		last = head
	}
	layer(31, sinkRole, p.sinks, last)
	return g
}

// of gives the actor of the graph that an id stands for. When a region is started again its actors get new ids.
func (g *graph) of(id checkpoint.ActorID) *actorSpec { return g.byID[id%idsOfARun] }

// idsOfARun is how far the ids of one deployment are from those of the next.
const idsOfARun = 100

// total is the number of input rows.
func (g *graph) total() int { return g.plan.sources * g.plan.rows }

func (g *graph) body() *actorSpec { return g.byID[22] }
func (g *graph) head() *actorSpec { return g.byID[21] }
