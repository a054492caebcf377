package channel

import (
	"errors"
	"fmt"
)

// The ways in which a message breaks the protocol. After one of them the gate has to be restored.
var (
	// ErrGap: messages of a producer are missing.
	ErrGap = errors.New("messages are missing")
	// ErrVersion: the version of a message does not follow from its producer's markers.
	ErrVersion = errors.New("a marker is missing or wrong")
	// ErrGeneration: the message is of a generation that the receiver was not restored for.
	ErrGeneration = errors.New("another generation")
	// ErrProducer: the message is of a producer that is none of this channel's.
	ErrProducer = errors.New("unknown producer")
)

// Alignment is what happens to producers that are ahead.
type Alignment uint8

// The ways of aligning.
const (
	// Buffered keeps early arrivals, so that no message of another producer waits behind them.
	Buffered Alignment = iota
	// Blocking does not read on from a producer that has delivered its marker. What is received from it
	// nevertheless is kept, but never spilled.
	Blocking
)

// Verdict is what becomes of a message.
type Verdict uint8

// The verdicts of Gate.Receive and Gate.Next.
const (
	// Process: the message is to be worked off now.
	Process Verdict = iota
	// Passed: a marker was noted, others of its version are still to come.
	Passed
	// Aligned: it was the last marker of the version. The caller takes its snapshot and calls Advance before it
	// receives anything else; it then takes all that Next has.
	Aligned
	// Held: the gate has taken the message and will give it out after the snapshot.
	Held
	// HeldBack is Held by a gate that must not be given more: the caller should let the producer wait until
	// the message comes out again. No message is ever refused.
	HeldBack
	// Duplicate: the gate has had it. Drop it.
	Duplicate
	// Fenced: it is from a dead generation. Drop it.
	Fenced
	// Ahead: it is from a generation for which this gate has not been restored, and is not taken. Drop it: the
	// producer sends it again once the gate has been restored, which the caller asks for.
	Ahead
)

var verdicts = [...]string{"process", "passed", "aligned", "held", "held back", "duplicate", "fenced", "ahead"}

func (v Verdict) String() string { return verdicts[v] }

// Spill keeps messages outside memory.
type Spill[M any] interface {
	// Write keeps m and gives a number to read it by. After an error the gate keeps m itself; the error is the
	// implementation's to report.
	Write(m M) (ref int64, err error)
	// Read gives back what Write kept; it is called once for each.
	Read(ref int64) (M, error)
	// Reset says that everything written has been read.
	Reset()
}

// Config configures a Gate.
type Config[M any] struct {
	// Producers are those that share the channel, each at the position of its first message. They are known by
	// their index from here on. Version 0 is learnt from the first message.
	Producers []Position
	Alignment Alignment
	// Memory bounds the bytes of early arrivals in memory. Behind it is Spill; without one, or if it cannot
	// write, messages are kept in memory and held back.
	Memory int64
	// Size gives the bytes of a message; it is called while a version is being aligned only. Those without a size
	// are never spilled.
	Size  func(M) int64
	Spill Spill[M]
}

// Stats tells what aligning one version took.
type Stats struct {
	Version Version
	// Aligned are the bytes that were worked off between the first and the last marker.
	Aligned int64
	// Buffered are the bytes that arrived early meanwhile, Spilled those of them that went to disk.
	Buffered, Spilled int64
}

// Dropped counts what a gate did not take.
type Dropped struct{ Duplicates, Fenced, Ahead int64 }

// track is one producer as the gate sees it.
type track struct {
	// next is what the producer's next message must carry. Invariant: next.Version >= the gate's version.
	next Position
	// ends has the sequence numbers behind the markers that have been received and not aligned, oldest first.
	ends []Seq
}

// early is a message that was received before its time.
type early[M any] struct {
	producer int
	kind     Kind
	// spilled messages are in the spill, under ref; back are those that were held back.
	spilled, back bool
	ref           int64
	size          int64
	msg           M
}

// Item is a message that comes out of a gate after its snapshot.
type Item[M any] struct {
	Producer int
	Msg      M
	// Verdict is Process, Passed or Aligned.
	Verdict Verdict
	// HeldBack is what the verdict was when the message was received.
	HeldBack bool
}

// Gate is the consumer's end of a channel. It gives out the messages of one version after the other; between two
// snapshots exactly those of one version, each producer's in its order.
//
// Invariants: a message is given out once, or dropped and counted. Early arrivals of version v are in queues[v - version - 1].
type Gate[M any] struct {
	cfg     Config[M]
	tracks  []track
	version Version // being worked off and aligned; 0 before the first message
	missing int     // tracks whose marker of version has not come
	// aligned is set between the verdict and Advance.
	aligned bool
	// due has the messages that came early for the version being worked off, from number dueAt on; queues those of later
	// versions, the next one's first.
	due    []early[M]
	dueAt  int
	queues [][]early[M]
	spare  [][]early[M]
	// memory are the bytes of early arrivals in memory, spilled is how many messages are in the spill.
	memory  int64
	spilled int

	stats   Stats
	dropped Dropped
}

// NewGate makes a gate, new or restored. Restored ones are given the positions of their state, with the generations
// that are alive now.
func NewGate[M any](cfg Config[M]) *Gate[M] {
	g := &Gate[M]{cfg: cfg, tracks: make([]track, len(cfg.Producers)), missing: len(cfg.Producers)}
	for i, p := range cfg.Producers {
		g.tracks[i].next = p
		if p.Version > 0 {
			g.version = p.Version
		}
	}
	g.stats.Version = g.version
	return g
}

// Receive takes the next message from the channel. It is not called between Aligned and Advance, nor while Next has
// something. An error leaves the gate as it was, and nothing more can come from that producer: see the errors.
func (g *Gate[M]) Receive(producer int, h Header, k Kind, m M) (Verdict, error) {
	t := &g.tracks[producer]
	if h.Producer != t.next.Producer {
		return 0, fmt.Errorf("channel: %v where producer %d was expected: %w", h, t.next.Producer, ErrProducer)
	}
	if h.Generation != t.next.Generation {
		if h.Generation < t.next.Generation {
			g.dropped.Fenced++
			return Fenced, nil
		}
		g.dropped.Ahead++
		return Ahead, nil
	}
	if h.Seq != t.next.Seq {
		if h.Seq < t.next.Seq {
			g.dropped.Duplicates++
			return Duplicate, nil
		}
		return 0, fmt.Errorf("channel: %v where #%d was expected: %w", h, t.next.Seq, ErrGap)
	}
	if h.Version != t.next.Version {
		if t.next.Version != 0 || g.version != 0 && h.Version != g.version {
			return 0, fmt.Errorf("channel: %v where v%d was expected: %w", h, max(t.next.Version, g.version), ErrVersion)
		}
		t.next.Version = h.Version
		if g.version == 0 {
			g.version, g.stats.Version = h.Version, h.Version
		}
	}
	if g.aligned || g.dueAt < len(g.due) {
		panic("channel: Receive before Advance, or before Next has given out everything")
	}
	t.next.Seq++
	if k == Marker {
		t.next.Version++
		t.ends = append(t.ends, t.next.Seq)
	}
	if h.Version > g.version {
		return g.hold(producer, k, h.Version, m), nil
	}
	return g.admit(k, m), nil
}

// admit counts a message of the version that is being worked off.
func (g *Gate[M]) admit(k Kind, m M) Verdict {
	switch {
	case k == Restored:
		return Passed
	case k != Marker:
		if g.missing < len(g.tracks) && g.cfg.Size != nil {
			g.stats.Aligned += g.cfg.Size(m)
		}
		return Process
	case g.missing > 1:
		g.missing--
		return Passed
	}
	g.missing = 0
	g.aligned = true
	return Aligned
}

// hold keeps an early arrival.
func (g *Gate[M]) hold(producer int, k Kind, v Version, m M) Verdict {
	e := early[M]{producer: producer, kind: k, msg: m}
	if g.cfg.Size != nil && k == Data {
		e.size = g.cfg.Size(m)
	}
	g.stats.Buffered += e.size
	verdict := Held
	switch {
	case e.size == 0:
	case g.cfg.Alignment == Blocking:
		verdict = HeldBack
	case g.memory+e.size > g.cfg.Memory:
		verdict = HeldBack
		if g.cfg.Spill == nil {
			break
		}
		if ref, err := g.cfg.Spill.Write(m); err == nil {
			var none M
			e.msg, e.ref, e.spilled = none, ref, true
			g.stats.Spilled += e.size
			g.spilled++
			verdict = Held
		}
	}
	e.back = verdict == HeldBack
	if !e.spilled {
		g.memory += e.size
	}
	at := int(v - g.version - 1)
	for len(g.queues) <= at {
		var q []early[M]
		if n := len(g.spare); n > 0 {
			q, g.spare = g.spare[n-1], g.spare[:n-1]
		}
		g.queues = append(g.queues, q)
	}
	g.queues[at] = append(g.queues[at], e)
	return verdict
}

// Advance says that the snapshot of the aligned version has been taken, and gives what aligning took. What Next has comes
// before everything else.
func (g *Gate[M]) Advance() Stats {
	if !g.aligned {
		panic("channel: Advance without an aligned version")
	}
	stats := g.stats
	g.aligned = false
	g.version++
	g.stats = Stats{Version: g.version}
	g.missing = len(g.tracks)
	for i := range g.tracks {
		t := &g.tracks[i]
		t.ends = append(t.ends[:0], t.ends[1:]...)
	}
	// What came early for the version before is worked off: its marker came behind it.
	if cap(g.due) > 0 {
		g.spare = append(g.spare, g.due[:0])
		g.due = nil
	}
	g.dueAt = 0
	if len(g.queues) > 0 {
		g.due = g.queues[0]
		g.queues = append(g.queues[:0], g.queues[1:]...)
	}
	return stats
}

// Pending tells whether Next has something.
func (g *Gate[M]) Pending() bool { return g.dueAt < len(g.due) && !g.aligned }

// PeekKind gives the kind of what Next has.
func (g *Gate[M]) PeekKind() (Kind, bool) {
	if !g.Pending() {
		return 0, false
	}
	return g.due[g.dueAt].kind, true
}

// Next gives out the next message that arrived early and whose time has come; ok is false if there is none. An error is that
// of the spill: the gate has to be restored.
func (g *Gate[M]) Next() (it Item[M], ok bool, err error) {
	if !g.Pending() {
		return it, false, nil
	}
	e := &g.due[g.dueAt]
	g.dueAt++
	it.Producer, it.HeldBack = e.producer, e.back
	if e.spilled {
		if it.Msg, err = g.cfg.Spill.Read(e.ref); err != nil {
			return it, false, fmt.Errorf("channel: an early arrival of producer %d: %w", g.tracks[e.producer].next.Producer, err)
		}
		g.spilled--
		if g.spilled == 0 {
			g.cfg.Spill.Reset()
		}
	} else {
		it.Msg = e.msg
		g.memory -= e.size
	}
	kind := e.kind
	*e = early[M]{} // it holds on to nothing
	it.Verdict = g.admit(kind, it.Msg)
	return it, true, nil
}

// Discard gives out everything that is still held, for a consumer that ends and has to give back what messages own.
// Spilled messages are forgotten.
func (g *Gate[M]) Discard(drop func(M)) {
	each := func(es []early[M]) {
		for i := range es {
			if !es[i].spilled {
				drop(es[i].msg)
			}
		}
	}
	each(g.due[min(g.dueAt, len(g.due)):])
	for _, q := range g.queues {
		each(q)
	}
	g.due, g.queues, g.dueAt = nil, nil, 0
	if g.spilled > 0 {
		g.spilled = 0
		g.cfg.Spill.Reset()
	}
}

// Stats tells what aligning the current version has taken so far; when it is aligned, what Advance will give.
func (g *Gate[M]) Stats() Stats { return g.stats }

// Version is the version that is being worked off, 0 before the first message.
func (g *Gate[M]) Version() Version { return g.version }

// Missing tells whether a producer's marker of the version that is being worked off has not been received.
func (g *Gate[M]) Missing(producer int) bool {
	v := g.tracks[producer].next.Version
	return v == 0 || v <= g.version
}

// Readable tells whether the channel is to be read for a producer: always when buffering; when blocking, only
// while its marker is missing.
func (g *Gate[M]) Readable(producer int) bool {
	return g.cfg.Alignment == Buffered || g.Missing(producer)
}

// Wanted is the position of the next message from a producer: what came before it is acknowledged.
func (g *Gate[M]) Wanted(producer int) Position { return g.tracks[producer].next }

// Dropped counts what was not taken so far.
func (g *Gate[M]) Dropped() Dropped { return g.dropped }

// Bytes tells how much is held in memory, and how many messages are in the spill.
func (g *Gate[M]) Bytes() (memory int64, spilled int) { return g.memory, g.spilled }

// State is the channel's part of a snapshot of the aligned version: for each producer the position behind its marker. It is called
// between Aligned and Advance.
func (g *Gate[M]) State() []Position {
	if !g.aligned {
		panic("channel: State without an aligned version")
	}
	ps := make([]Position, len(g.tracks))
	for i := range g.tracks {
		t := &g.tracks[i]
		ps[i] = Position{
			Producer: t.next.Producer, Generation: t.next.Generation, Version: g.version + 1, Seq: t.ends[0],
		}
	}
	return ps
}
