package sim

import (
	"container/heap"
	"fmt"
	"strings"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
)

// Config says which run to make.
type Config struct {
	// Seed decides everything.
	Seed int64
	// Bug is a fault that is built in, to see whether it is found; 0 for none.
	Bug Bug
	// Calm leaves out all that goes wrong.
	Calm bool
	// Plain leaves out what plan.more decides.
	Plain bool
	// Trace keeps what happens, for Result.Trace.
	Trace bool
}

// Result is what came of a run.
type Result struct {
	// Err is the first violation of an invariant, nil if there was none.
	Err error
	// Trace tells the run as a script, if it was asked for.
	Trace []string
	// Hash is of everything that happened, in order.
	Hash uint64
	Counts
	// Took is how long the run took in its own time.
	Took time.Duration
}

// Counts are how often things happened.
type Counts struct {
	Events, Checkpoints, Restores, Faults int
	// Reconciled are coordinators that took over a running graph.
	Reconciled int
	// Messages between actors that were fenced, refused by a gate that was not restored, repeated, held, held on disk, held
	// on their producers' account.
	Fenced, Ahead, Duplicates, Held, Spilled, HeldBack int
	// Reconnects are connections that were made again; Resent the messages that were sent again for it.
	Reconnects, Resent int
	// Replayed are rows of loop logs that were replayed; Rounds barriers that left a loop.
	Replayed, Rounds int
	// Recovered are transactions that were committed by a sink that was restored, Undone those that it aborted.
	Recovered, Undone int
	// Lost and Repeated are control messages; Aborted are checkpoints.
	Lost, Repeated, Aborted int
	// Fallbacks are restores of an older checkpoint because the newest could not be read.
	Fallbacks int
	// Regions were restarted alone. Overlaps are barriers that entered a loop while another was under way in it.
	Regions, Overlaps int
	// InnerRounds are rounds of an outer loop that ran an inner one to its fixpoint. Created and Dropped are views, as seen by the sources,
	// Finished graphs that came to their end, FinishedLate those whose coordinator found that out from reports.
	InnerRounds, Created, Dropped, Finished, FinishedLate int
}

// Add adds up counts.
func (c *Counts) Add(d Counts) {
	for i, v := range d.fields() {
		*c.fields()[i] += *v
	}
}

func (c *Counts) fields() []*int {
	return []*int{
		&c.Events, &c.Checkpoints, &c.Restores, &c.Faults, &c.Reconciled, &c.Fenced, &c.Ahead, &c.Duplicates, &c.Held, &c.Spilled,
		&c.HeldBack, &c.Reconnects, &c.Resent, &c.Replayed, &c.Rounds, &c.Recovered, &c.Undone, &c.Lost, &c.Repeated, &c.Aborted,
		&c.Regions, &c.Overlaps, &c.Fallbacks, &c.InnerRounds, &c.Created, &c.Dropped, &c.Finished, &c.FinishedLate,
	}
}

// Missing names what never happened.
func (c *Counts) Missing() []string {
	names := []string{
		"events", "checkpoints", "restores", "faults", "reconciled", "fenced", "ahead", "duplicates", "held", "spilled",
		"held back", "reconnects", "resent", "replayed", "rounds", "recovered", "undone", "lost", "repeated", "aborted",
		"regions", "overlaps", "fallbacks", "inner rounds", "created", "dropped", "finished", "finished late",
	}
	var out []string
	for i, v := range c.fields() {
		// The protocol starts no producer before all consumers are restored: the gate's refusal is a second line.
		if *v == 0 && names[i] != "ahead" {
			out = append(out, names[i])
		}
	}
	return out
}

// world is one run.
type world struct {
	cfg  Config
	plan plan
	rng  *rng
	// now is in microseconds.
	now    int64
	events eventHeap
	order  uint64
	err    error
	res    Result
	// calm: faults have stopped.
	calm bool

	coord *coordProc
	// gone are coordinators that live on without knowing that they were replaced.
	gone    []*coordProc
	workers []*workerProc // by number; nil while dead
	lost    []*workerProc // live on without knowing
	store   *storeProc
	medium  medium
	target  target
	graph   graph
	audit   *channel.Audit
	check   checker

	incarnation uint64
	local       *localFailover
	clients     clientState
	// fellBack: a checkpoint could not be read and an older one was restored. States are as right as ever then, but
	// what the sinks have committed of the lost one cannot be taken back.
	fellBack bool
	// restored are the workers that have answered an attempt.
	restored map[restoredKey]bool
	// cut is until when all control messages get lost.
	cut int64
}

type restoredKey struct {
	worker checkpoint.WorkerID
	txid   checkpoint.RestoreTxid
}

// plan is what the seed says about the run as a whole.
type plan struct {
	workers, sources, mids, sinks int
	loop                          bool
	rows                          int
	alignment                     channel.Alignment
	earlyMemory                   int64
	spill                         bool
	credit                        int
	// dataDelay and controlDelay bound how long messages take, in microseconds.
	dataDelay, controlDelay int
	// slow is how much longer some producers' messages take.
	slow []int
	// lose and repeat are the rates of control messages that get lost or come twice, one in that many; 0: none.
	lose, repeat int
	// stray is the rate of control messages that take much longer than others, one in that many.
	stray          int
	restoreTimeout int
	inline         int
	keep           int
	faults         []fault
	end            int64 // of the faults
	checkpoints    int   // in flight
	timeout        int64
	savepoints     bool
	aborts         bool
	// local: what fails is restarted alone.
	local bool
	// corrupt: checkpoints may become unreadable.
	corrupt bool
	// heads and bodies are those of the loop; nested: there is a loop in its body, with innerHeads and innerBodies. phases is
	// how many an iteration has.
	heads, bodies, innerHeads, innerBodies, phases int
	nested                                         bool
	// views are how many jobs clients create, and perhaps drop; finish: they end the graph when all is read.
	views  int
	finish bool
}

// event is something that happens at a time.
type event struct {
	at    int64
	order uint64
	run   func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}

// after runs a function later.
func (w *world) after(d int64, f func()) {
	w.order++
	heap.Push(&w.events, event{w.now + max(d, 0), w.order, f})
}

func (w *world) time() time.Time { return time.Unix(0, w.now*1000) }

// at is the world's time of a machine's.
func (w *world) at(t time.Time) int64 { return t.UnixNano() / 1000 }

// fail notes the first violation.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
		w.say("VIOLATION: %v", w.err)
	}
}

// say writes a line of the trace.
func (w *world) say(format string, args ...any) {
	if w.cfg.Trace {
		w.res.Trace = append(w.res.Trace, fmt.Sprintf("%9.3f  ", float64(w.now)/1000)+fmt.Sprintf(format, args...))
	}
}

// note adds to the hash of the run.
func (w *world) note(vs ...uint64) {
	h := w.res.Hash
	for _, v := range vs {
		h = (h ^ v) * 0x100000001b3
		h ^= h >> 29
	}
	w.res.Hash = h
}

// The bounds of a run, in microseconds and events.
const (
	faultTime = 1_200_000
	patience  = 60_000_000
	maxEvents = 400_000
)

// Run makes the run of a seed.
func Run(cfg Config) Result {
	w := &world{cfg: cfg, rng: newRNG(cfg.Seed), audit: channel.NewAudit(), restored: map[restoredKey]bool{}}
	w.medium.init()
	w.target.init(w)
	w.plan = makePlan(w.rng, cfg)
	w.graph = makeGraph(w.plan)
	w.check.init(w)
	w.local = w.makeLocal()
	w.say("%d workers, %d sources of %d rows, %d mids, %d sinks, loop %v, %d faults", w.plan.workers, w.plan.sources, w.plan.rows,
		w.plan.mids, w.plan.sinks, w.plan.loop, len(w.plan.faults))
	w.say("%d heads, %d bodies, inner loop %v (%d, %d), %d phases, %d views, finish %v", w.plan.heads, w.plan.bodies, w.plan.nested, w.plan.innerHeads,
		w.plan.innerBodies, w.plan.phases, w.plan.views, w.plan.finish)
	w.startStore()
	w.workers = make([]*workerProc, w.plan.workers)
	for i := range w.workers {
		w.startWorker(i)
	}
	w.startCoordinator()
	w.client()
	w.planViews()
	for _, f := range w.plan.faults {
		w.after(f.at, func() { w.inject(f) })
	}
	w.after(w.plan.end, w.calmDown)
	for w.err == nil && len(w.events) > 0 {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		w.res.Events++
		e.run()
		if w.calm && w.finished() {
			break
		}
		if w.now > w.plan.end+patience || w.res.Events > maxEvents {
			w.fail("no progress: %s", w.situation())
		}
	}
	if w.err == nil && !w.finished() {
		w.fail("nothing happens any more: %s", w.situation())
	}
	if w.err == nil && !w.fellBack {
		w.check.end()
	}
	w.res.Err = w.err
	w.res.Took = time.Duration(w.now) * time.Microsecond
	return w.res
}

// calmDown ends all faults: what is dead is started, who was replaced ends.
func (w *world) calmDown() {
	w.calm = true
	w.say("faults have stopped")
	w.gone = nil
	for _, p := range w.lost {
		p.dead = true
	}
	w.lost = nil
	w.medium.full = false
	clear(w.medium.corrupt)
	if w.store == nil {
		w.startStore()
	}
	if w.coord == nil {
		w.startCoordinator()
	}
	for i, p := range w.workers {
		if p == nil {
			w.startWorker(i)
		}
	}
}

// finished tells whether everything has been read, counted, saved and committed.
func (w *world) finished() bool {
	if w.check.best < w.graph.total() || w.target.rows < w.graph.total() && !w.fellBack {
		return false
	}
	if !w.asWanted() || w.coord == nil {
		return false
	}
	if w.plan.finish {
		return w.coord.c.State() == checkpoint.CoordinatorFinished
	}
	return w.coord.c.State() == checkpoint.CoordinatorRunning
}

// situation describes where a run stands that does not go on.
func (w *world) situation() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d rows are in the newest checkpoint, %d are committed", w.check.best, w.graph.total(), w.target.rows)
	if w.coord != nil {
		c := w.coord.c
		fmt.Fprintf(&b, "; coordinator %s, attempt %s", c.State(), c.Txid())
		if core := c.Core(); core != nil {
			e, as := core.Waiting()
			fmt.Fprintf(&b, ", injected %d, completed %d, durable %d", core.Injected(), core.Completed(), core.Durable())
			if e > 0 {
				fmt.Fprintf(&b, ", barrier %d waits for %v", e, as)
			}
		}
	}
	for _, p := range w.workers {
		if p == nil {
			continue
		}
		fmt.Fprintf(&b, "; %s %s in %s, started %d", p.id, p.m.Phase(), p.m.Txid(), p.m.Started())
		for _, x := range p.sortedExecs() {
			fmt.Fprintf(&b, "; %s", x.situation())
		}
	}
	return b.String()
}
