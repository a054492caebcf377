package sim

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/loop"
)

// exec is one execution of an actor.
type exec struct {
	w       *world
	proc    *workerProc
	spec    *actorSpec
	actor   checkpoint.ActorID
	attempt checkpoint.AttemptID
	gen     channel.Generation
	running bool
	dead    bool

	// gate is the consumer's end of its channel, back that of a loop's feedback channel. queue is what is in the
	// channel, backQueue in the feedback channel.
	gate, back *channel.Gate[arrived]
	queue      []arrived
	backQueue  []arrived
	spilled    map[int64]arrived
	spillRefs  int64
	// outs are the connections to the consumers, those into the loop behind the others; views those to views.
	outs, views []*conn
	// feedback are those back to the heads of a loop.
	feedback  []*conn
	pumping   bool
	scheduled bool

	// state is all that was counted, dirty what has changed since the last hand-over.
	state map[rowID]entry
	dirty *snapshot
	// pos is the next row of a source; epoch the open one.
	pos   int
	epoch checkpoint.Epoch
	// tx are the rows of a sink's open transaction, prepared its transactions that are not known to be committed.
	tx       []entryOf
	prepared []txName

	loop *looper
	tail loop.Tail
	// align keeps producers in a loop in step at the ends of rounds.
	align *loop.Align[payload]
	// ended: the last barrier has been passed. The execution is still there for its connections.
	ended bool
	// lastSeq is for the consumer that does not align.
	lastSeq map[int]channel.Seq
}

// generationOf makes a generation of an attempt: it grows with it, and leaves room for those of regions.
func generationOf(x checkpoint.RestoreTxid) channel.Generation {
	return channel.Generation(uint64(x)>>32<<20 | uint64(x)&0xfff<<8)
}

// restore makes an execution of what was handed over.
func (p *workerProc) restore(m checkpoint.RestoreInstanceState) (*exec, error) {
	w := p.w
	spec := w.graph.of(m.Actor)
	if !p.lost {
		w.local.ids[spec.id] = m.Actor
	}
	x := &exec{
		w: w, proc: p, spec: spec, actor: m.Actor, attempt: m.Attempt, gen: generationOf(m.Txid), state: map[rowID]entry{}, dirty: newSnapshot(),
		epoch: p.m.Started() + 1, spilled: map[int64]arrived{},
	}
	s := newSnapshot()
	s.pos = 0
	if p.created(m) {
		x.epoch = p.m.Started()
	}
	if d := p.deployed(m); d != nil {
		var err error
		if s, err = d.snapshotAt(w, spec); err != nil {
			return nil, err
		}
		// The store knows nothing of this id yet: all of it is a change.
		for _, id := range s.order {
			x.dirty.set(id, s.changes[id])
		}
		x.gen, x.epoch, m.Checkpoint = d.gen, p.m.Started(), d.c
	}
	for _, st := range m.States {
		if st.Full {
			s = newSnapshot()
		}
		if err := s.apply(st.Inline); err != nil {
			return nil, fmt.Errorf("checkpoint %d: %w", m.Checkpoint, err)
		}
	}
	for _, id := range s.order {
		x.state[id] = s.changes[id]
	}
	x.pos, x.prepared, x.ended = max(s.pos, 0), s.prepared, s.ended
	w.say("actor %d (%v on %s) is restored from checkpoint %d, %d rows", m.Actor, spec.role, p.id, m.Checkpoint, len(x.state))
	x.channels(s)
	if spec.role == sourceRole {
		x.restoreViews(s, m.Checkpoint)
	}
	if spec.role == headRole {
		if err := x.makeLooper(s); err != nil {
			return nil, err
		}
	}
	if spec.role == sinkRole {
		x.restoreSink()
	}
	return x, nil
}

// channels makes both ends of the channels, where the checkpoint has them.
func (x *exec) channels(s *snapshot) {
	w, spec := x.w, x.spec
	version := channel.Version(x.epoch)
	position := func(p channel.ProducerID, at []channel.Position, i int) channel.Position {
		pos := channel.Position{Producer: p, Generation: x.gen, Version: version, Seq: 1}
		if i < len(at) {
			pos.Seq = at[i].Seq
		}
		return pos
	}
	// The barrier leaves a loop after its head has handed over: those channels begin anew with each generation.
	leaves := spec.leaves()
	if len(spec.from) > 0 {
		cfg := channel.Config[arrived]{
			Alignment: w.plan.alignment, Memory: w.plan.earlyMemory, Size: func(arrived) int64 { return 1 },
		}
		if w.plan.spill {
			cfg.Spill = spillOf{x}
		}
		for i, f := range spec.from {
			at := s.inputs
			if leaves {
				at = nil
			}
			cfg.Producers = append(cfg.Producers, position(channel.ProducerID(f.id), at, i))
		}
		x.gate = channel.NewGate(cfg)
		if !x.proc.lost {
			w.audit.Consumer(channelOf(spec, false), cfg.Producers)
		}
	}
	x.connectOuts(s, x.gen)
	if spec.role == headRole {
		// Into the loop, and what comes back.
		for i, to := range spec.into {
			c := &conn{w: w, from: x, to: to, slot: spec.index, slow: 1}
			c.prod = channel.NewProducer[payload](position(channel.ProducerID(spec.id), s.outputs, len(spec.to)+i))
			x.outs = append(x.outs, c)
		}
		var ps []channel.Position
		for i, t := range spec.tails {
			ps = append(ps, position(channel.ProducerID(t.id), s.feedback, i))
		}
		x.back = channel.NewGate(channel.Config[arrived]{Producers: ps})
		if !x.proc.lost {
			w.audit.Consumer(channelOf(spec, true), ps)
		}
	}
	for i, h := range spec.back {
		p := position(channel.ProducerID(spec.id), s.feedback, i)
		x.feedback = append(x.feedback, &conn{w: w, from: x, to: h, slot: spec.index, feedback: true, slow: 1, prod: channel.NewProducer[payload](p)})
	}
	if spec.role == headRole || spec.role == bodyRole {
		x.align = loop.NewAlign[payload](len(spec.from))
	}
}

// connectOuts makes the producer's ends of the channels.
func (x *exec) connectOuts(s *snapshot, gen channel.Generation) {
	w, spec := x.w, x.spec
	for i, to := range spec.to {
		c := &conn{w: w, from: x, to: to, slot: spec.index, slow: w.plan.slow[(int(spec.id)+int(to.id))%len(w.plan.slow)]}
		pos := channel.Position{Producer: channel.ProducerID(spec.id), Generation: gen, Version: channel.Version(x.epoch), Seq: 1}
		if spec.role != headRole && i < len(s.outputs) {
			pos.Seq = s.outputs[i].Seq
		}
		c.prod = channel.NewProducer[payload](pos)
		x.outs = append(x.outs, c)
	}
}

// start lets the execution work.
func (x *exec) start() {
	x.running = true
	for _, c := range x.allOuts() {
		c.retry(int64(x.w.rng.n(200)))
	}
	if x.ended {
		// It had come to its end before.
		x.end()
		return
	}
	if x.spec.role == sourceRole {
		x.read()
	}
	if x.loop != nil {
		x.loop.begin()
	}
	x.pumpSoon()
}

func (x *exec) allOuts() []*conn { return slices.Concat(x.outs, x.views, x.feedback) }

// read is the life of a source: a row now and then.
func (x *exec) read() {
	x.w.after(int64(x.w.rng.between(200, 60_000)), func() {
		if x.dead || x.ended {
			return
		}
		for range x.w.rng.between(1, 4) {
			if x.pos >= x.w.graph.plan.rows || !x.room() {
				break
			}
			id := row(x.spec.index, x.pos)
			x.pos++
			x.emit(id, uint32(x.w.rng.n(1<<12)))
			x.proc.take(checkpoint.InputArrived{})
		}
		if x.pos < x.w.graph.plan.rows {
			x.read()
		}
	})
}

// room tells whether every consumer takes another row.
func (x *exec) room() bool {
	for _, c := range x.outs {
		if !c.room() {
			return false
		}
	}
	for _, c := range x.views {
		if !c.room() {
			return false
		}
	}
	return true
}

// emit sends a row to the consumer that owns it.
func (x *exec) emit(id rowID, variant uint32) {
	n := len(x.spec.to)
	x.outs[id.owner(n)].send(channel.Data, payload{id: id.plain(), variant: variant})
	for _, c := range x.views {
		c.send(channel.Data, payload{id: id.plain(), variant: variant})
	}
}

// initiate begins a barrier at a source.
func (x *exec) initiate(e checkpoint.Epoch, k checkpoint.Kind, mutation any) {
	if !x.running || x.ended {
		return
	}
	if d, ok := mutation.(*deployment); ok {
		x.reattach(d)
	}
	if e != x.epoch {
		x.w.fail("actor %d: barrier %d is begun in epoch %d", x.spec.id, e, x.epoch)
		return
	}
	p := payload{epoch: e, kind: k}
	x.mutate(mutation, &p)
	x.passBarrier(p)
	x.detach(p.drop)
	x.ended = p.last
	x.handOver(e, k, x.takeSnapshot(k))
	if p.last {
		x.end()
	}
}

// passBarrier ends the epoch for the consumers.
func (x *exec) passBarrier(p payload) {
	for _, c := range slices.Concat(x.outs, x.views) {
		c.send(channel.Marker, p)
	}
	x.epoch = p.epoch + 1
}

// takeSnapshot takes what has changed, if it is a checkpoint, or the end.
func (x *exec) takeSnapshot(k checkpoint.Kind) *snapshot {
	if k == checkpoint.KindEpoch && !x.ended {
		return nil
	}
	s := x.dirty
	x.dirty = newSnapshot()
	s.pos = x.pos
	if x.gate != nil && x.w.cfg.Bug != NoAlignment {
		s.inputs = x.gate.State()
	}
	for _, c := range slices.Concat(x.outs, x.views) {
		s.outputs = append(s.outputs, c.prod.Position())
	}
	for _, c := range x.feedback {
		s.feedback = append(s.feedback, c.prod.Position())
	}
	s.prepared, s.ended = x.prepared, x.ended
	return s
}

// handOver tells the worker that the barrier was passed.
func (x *exec) handOver(e checkpoint.Epoch, k checkpoint.Kind, s *snapshot) {
	m := checkpoint.StoreInstanceState{Actor: x.actor, Attempt: x.attempt, Epoch: e}
	if s != nil {
		m.State = &checkpoint.StateRef{Inline: s.encode()}
		x.w.say("actor %d passes barrier %d of a %v and hands over %d rows", x.spec.id, e, k, len(s.order))
	}
	x.w.note(uint64(x.spec.id), uint64(e))
	x.proc.take(m)
}

// arrive takes a message out of the network into the channel.
func (x *exec) arrive(c *conn, m message) {
	if c.feedback {
		x.backQueue = append(x.backQueue, arrived{c, c.slot, m})
	} else {
		x.queue = append(x.queue, arrived{c, c.slot, m})
	}
	x.pump()
}

func (x *exec) pumpSoon() {
	if !x.scheduled {
		x.scheduled = true
		x.w.after(0, func() {
			x.scheduled = false
			x.pump()
		})
	}
}

// pump works off what can be worked off: feedback first.
func (x *exec) pump() {
	if x.pumping || !x.running {
		return
	}
	x.pumping = true
	for !x.dead && x.w.err == nil && (x.pumpFeedback() || x.pumpInput()) {
	}
	x.pumping = false
}

// admits tells whether a message of the input can be worked off now. A barrier can be always, but by one of several heads.
func (x *exec) admits(k channel.Kind) bool {
	if k == channel.Marker && (x.loop == nil || len(x.spec.tails[0].back) == 1) {
		return true
	}
	if x.loop != nil && !x.loop.head.Admits() {
		return false
	}
	return x.loop != nil || x.spec.role == bodyRole || x.room()
}

func (x *exec) pumpInput() bool {
	if x.gate == nil {
		return false
	}
	if x.gate.Pending() {
		// Markers among them could pass without room, but only in their turn.
		if k, _ := x.gate.PeekKind(); !x.admits(k) {
			return false
		}
		it, _, err := x.gate.Next()
		if err != nil {
			x.w.fail("actor %d: %v", x.spec.id, err)
			return false
		}
		if it.HeldBack {
			it.Msg.from.heldBack--
			it.Msg.from.acknowledge(x.gate.Wanted(it.Producer).Seq - 1)
		}
		x.act(it.Msg, it.Verdict)
		return true
	}
	for i := range x.queue {
		a := x.queue[i]
		if !x.gate.Readable(a.slot) {
			continue
		}
		if !x.early(a) && !x.admits(a.m.Kind) {
			return false
		}
		x.queue = slices.Delete(x.queue, i, i+1)
		x.receive(a)
		return true
	}
	return false
}

// early tells whether the gate would only hold a message.
func (x *exec) early(a arrived) bool { return !x.gate.Missing(a.slot) }

func (x *exec) receive(a arrived) {
	w := x.w
	h := a.m.Header
	if w.cfg.Bug == NoGenerations {
		h.Generation = x.gate.Wanted(a.slot).Generation
	}
	if w.cfg.Bug == NoAlignment {
		x.unaligned(a)
		return
	}
	v, err := x.gate.Receive(a.slot, h, a.m.Kind, a)
	if err != nil {
		x.receiveFailed(a, err)
		return
	}
	w.note(uint64(x.spec.id)<<8|uint64(v), uint64(h.Seq))
	w.countVerdict(v)
	switch v {
	case channel.Fenced:
		w.say("actor %d drops %v of a dead generation", x.spec.id, h)
		return // and the zombie learns nothing
	case channel.Ahead:
		a.from.fail()
		return
	case channel.HeldBack:
		a.from.heldBack++
	case channel.Duplicate:
		w.say("actor %d drops %v, which it has had", x.spec.id, h)
	}
	a.from.acknowledge(x.gate.Wanted(a.slot).Seq - 1)
	x.act(a, v)
}

// receiveFailed is what follows an error of the gate: a gap is the end of the connection, anything else is wrong.
func (x *exec) receiveFailed(a arrived, err error) {
	x.w.fail("actor %d: %v", x.spec.id, err)
}

// act does what a verdict asks for.
func (x *exec) act(e arrived, v channel.Verdict) {
	if v != channel.Process && v != channel.Passed && v != channel.Aligned {
		return
	}
	if !x.proc.lost {
		if err := x.w.audit.Processed(channelOf(x.spec, false), e.m.Header, e.m.Kind); err != nil {
			x.w.fail("%v", err)
			return
		}
	}
	switch v {
	case channel.Process:
		x.process(e.m.Payload, e.slot)
	case channel.Aligned:
		if !x.proc.lost {
			if err := x.w.audit.Snapshot(channelOf(x.spec, false), x.gate.Version()); err != nil {
				x.w.fail("%v", err)
				return
			}
		}
		x.w.res.Spilled += int(x.gate.Stats().Spilled)
		x.barrier(e.m.Payload)
		x.gate.Advance()
	}
}

// unaligned is a consumer that does not align: it works off everything as it comes, and takes its snapshot at the first
// marker.
func (x *exec) unaligned(a arrived) {
	w := x.gate.Wanted(a.slot)
	if x.lastSeq == nil {
		x.lastSeq = map[int]channel.Seq{}
	}
	last := max(x.lastSeq[a.slot], w.Seq-1)
	if a.m.Generation != w.Generation || a.m.Seq <= last {
		return
	}
	x.lastSeq[a.slot] = a.m.Seq
	a.from.acknowledge(a.m.Seq)
	if a.m.Kind != channel.Marker {
		x.process(a.m.Payload, a.slot)
		return
	}
	if p := a.m.Payload; p.epoch == x.epoch {
		x.barrier(p)
	}
}

// dropped is a row that a bug has lost.
const dropped rowID = 1 << 23

// process works off a row.
func (x *exec) process(p payload, slot int) {
	if p.id == dropped {
		return
	}
	switch x.spec.role {
	case viewRole:
		x.count(p.id, p.variant)
	case midRole:
		variant := p.variant<<16 | uint32(x.w.rng.n(1<<12))
		x.count(p.id, variant)
		x.emit(p.id, variant)
	case sinkRole:
		x.count(p.id, p.variant)
		x.tx = append(x.tx, entryOf{p.id, p.variant})
	case headRole, bodyRole:
		x.loopMessage(p, slot)
	}
}

func (x *exec) count(id rowID, variant uint32) {
	e := x.state[id]
	e.count++
	e.variant = variant
	x.state[id] = e
	x.dirty.set(id, e)
}

// barrier passes an aligned barrier.
func (x *exec) barrier(p payload) {
	switch x.spec.role {
	case headRole, bodyRole:
		x.loopBarrier(p)
		return
	case midRole:
		x.passBarrier(p)
	case sinkRole, viewRole:
		x.epoch = p.epoch + 1
		if x.spec.role == sinkRole && (p.kind != checkpoint.KindEpoch || p.last) {
			x.prepare(p.epoch)
		}
	}
	x.ended = p.last || p.drop == x.actor
	x.handOver(p.epoch, p.kind, x.takeSnapshot(p.kind))
	if x.ended {
		x.end()
	}
}

// end tells the worker that the work is done.
func (x *exec) end() {
	x.w.say("actor %d has finished", x.spec.id)
	x.proc.take(checkpoint.InstanceEnded{Actor: x.actor, Attempt: x.attempt, State: checkpoint.ActorFinished})
}

// prepare ends the open transaction of a sink: from now on it can be committed by name.
func (x *exec) prepare(e checkpoint.Epoch) {
	if len(x.tx) == 0 {
		return
	}
	n := txName{x.spec.id, x.gen, e}
	if !x.w.target.prepare(n, x.tx) {
		x.w.say("actor %d: %v is refused, there is a later generation", x.spec.id, n)
	}
	x.tx = nil
	x.prepared = append(slices.Clone(x.prepared), n)
	if x.w.cfg.Bug == CommitEarly {
		x.w.target.commit(n)
	}
}

// saved commits what was prepared up to a checkpoint that is durable.
func (x *exec) saved(e checkpoint.Epoch) {
	if x.loop != nil {
		x.loopSaved(e)
	}
	if x.spec.role != sinkRole {
		return
	}
	for len(x.prepared) > 0 && x.prepared[0].epoch <= e {
		x.w.target.commit(x.prepared[0])
		x.prepared = x.prepared[1:]
	}
}

// restoreSink commits what the restored checkpoint has, and aborts what is of dead incarnations besides.
func (x *exec) restoreSink() {
	for _, n := range x.prepared {
		if _, done := x.w.target.committed[n]; !done {
			x.w.res.Recovered++
		}
		x.w.target.commit(n)
	}
	x.prepared = nil
	for _, n := range x.w.target.fence(x.spec.id, uint32(x.gen)) {
		x.w.res.Undone++
		x.w.target.abort(n)
	}
}

func (x *exec) situation() string {
	s := fmt.Sprintf("actor %d (%v, attempt %d, running %v) in epoch %d, %d rows, %d in its channel", x.spec.id, x.spec.role, x.attempt, x.running, x.epoch, len(x.state), len(x.queue))
	if x.spec.role == sourceRole {
		s += fmt.Sprintf(", read up to %d", x.pos)
	}
	if x.gate != nil {
		for i, f := range x.spec.from {
			s += fmt.Sprintf(", wants %v of %d", x.gate.Wanted(i), f.id)
		}
	}
	for _, c := range x.allOuts() {
		s += fmt.Sprintf(", to %d up=%v unacked=%d at %v", c.to.id, c.up, c.prod.Unacknowledged(), c.prod.Position())
	}
	return s
}

func (w *world) countVerdict(v channel.Verdict) {
	switch v {
	case channel.Fenced:
		w.res.Fenced++
	case channel.Ahead:
		w.res.Ahead++
	case channel.Duplicate:
		w.res.Duplicates++
	case channel.Held:
		w.res.Held++
	case channel.HeldBack:
		w.res.HeldBack++
	}
}

// spillOf is the disk for early arrivals of an execution.
type spillOf struct{ x *exec }

func (s spillOf) Write(e arrived) (int64, error) {
	if s.x.w.medium.full {
		return 0, errDiskFull
	}
	s.x.spillRefs++
	if s.x.w.cfg.Bug == DropAtBound {
		e.m.Payload.id = dropped
	}
	s.x.spilled[s.x.spillRefs] = e
	return s.x.spillRefs, nil
}

func (s spillOf) Read(ref int64) (arrived, error) {
	e, ok := s.x.spilled[ref]
	if !ok {
		return e, fmt.Errorf("nothing was spilled under %d", ref)
	}
	delete(s.x.spilled, ref)
	return e, nil
}

func (s spillOf) Reset() {}
