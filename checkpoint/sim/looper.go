package sim

import (
	"encoding/binary"
	"slices"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/loop"
)

// looper is a head of a loop: the machine of package loop, and the state that it is about. A row goes round as often
// as its number says, and leaves the loop at the fixpoint of its epoch; an inner loop, at that of its round of the outer one.
type looper struct {
	x    *exec
	head *loop.Head
	// channel is the feedback channel in front of the head; it takes everything.
	channel *loop.Channel
	log     [][]byte // of the checkpoint, until begin
	// owed are rows that were applied and not sent, done those that will leave.
	owed, done []entryOf
	// snaps are the states of barriers that go round, backAt where the feedback channels were at those that have come round, oldest first.
	snaps  map[loop.ID]*snapshot
	backAt [][]channel.Position
	// marks are the barriers and the ends of rounds of the outer loop that have not left; numbers those of the barriers that are not
	// known to be saved, last is the newest.
	marks   map[loop.ID]payload
	numbers map[checkpoint.Epoch]loop.ID
	last    loop.ID
	queue   []loop.Message
	busy    bool
}

func encodeRecord(e entryOf) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(e.id)), e.variant)
}

func decodeRecord(b []byte) entryOf {
	return entryOf{rowID(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint32(b[4:])}
}

// bytesSpill keeps bytes in a slice.
type bytesSpill struct{ b []byte }

func (s *bytesSpill) Write(b []byte) (int64, error) {
	s.b = append(s.b, b...)
	return int64(len(s.b) - len(b)), nil
}
func (s *bytesSpill) Read(at int64, n int) ([]byte, error) {
	return slices.Clone(s.b[at : at+int64(n)]), nil
}
func (s *bytesSpill) Reset() error { s.b = s.b[:0]; return nil }

func (x *exec) makeLooper(s *snapshot) error {
	h, err := loop.NewHead(loop.Config{
		Heads: len(x.spec.tails[0].back), Tails: len(x.spec.tails), Phases: x.w.plan.phases, Budget: 40, Spill: &bytesSpill{},
	})
	if err != nil {
		return err
	}
	x.loop = &looper{
		x: x, head: h, channel: loop.NewChannel(40, &bytesSpill{}), owed: slices.Clone(s.owed),
		snaps: map[loop.ID]*snapshot{}, marks: map[loop.ID]payload{}, numbers: map[checkpoint.Epoch]loop.ID{},
	}
	for _, e := range s.log {
		x.loop.log = append(x.loop.log, encodeRecord(e))
	}
	return nil
}

// begin replays the log of the checkpoint.
func (l *looper) begin() {
	l.x.w.res.Replayed += len(l.log)
	for _, r := range l.log {
		l.step(loop.Logged{Record: r})
	}
	l.step(loop.Restore{})
	l.log = nil
}

// step gives the head a message, and does what it wants.
func (l *looper) step(m loop.Message) {
	l.queue = append(l.queue, m)
	if l.busy {
		return
	}
	l.busy = true
	for len(l.queue) > 0 && l.x.w.err == nil {
		m := l.queue[0]
		l.queue = l.queue[1:]
		as, err := l.head.Step(m)
		if err != nil {
			l.x.w.fail("actor %d: %v", l.x.spec.id, err)
			break
		}
		for _, a := range slices.Clone(as) {
			l.act(a)
		}
	}
	l.busy = false
}

// into are the connections into the loop, out those out of it.
func (l *looper) into() []*conn { return l.x.outs[len(l.x.spec.to):] }
func (l *looper) out() []*conn  { return l.x.outs[:len(l.x.spec.to)] }

// enter, left and leave are a row at its first round, the rounds that are left, and the row behind the loop.
func (l *looper) enter(id rowID) rowID {
	if l.x.spec.inner {
		return id.withInner(id.innerRounds())
	}
	return id.withHops(id.rounds())
}

func (l *looper) left(id rowID) int {
	if l.x.spec.inner {
		return id.inner()
	}
	return id.hops()
}

// mark numbers a barrier, or the end of a round of the outer loop.
func (l *looper) mark(p payload) loop.ID {
	l.last++
	l.marks[l.last] = p
	if !p.end {
		l.numbers[p.epoch] = l.last
	}
	return l.last
}

func (l *looper) act(a loop.Action) {
	x := l.x
	switch a := a.(type) {
	case loop.Forward:
		if len(l.head.Slices()) > 1 {
			x.w.res.Overlaps++
		}
		m := l.marks[a.ID]
		if m.end {
			for _, c := range l.into() {
				c.send(channel.Data, payload{end: true, sub: a.ID})
			}
			return
		}
		for _, c := range l.into() {
			c.send(channel.Marker, m)
		}
		if s := x.takeSnapshot(m.kind); s != nil {
			s.owed = slices.Clone(l.owed)
			l.snaps[a.ID] = s
		}
	case loop.Pass:
		l.pass(a)
	case loop.Apply:
		e := decodeRecord(a.Record)
		x.count(e.id, e.variant)
		if l.left(e.id) > 0 {
			l.owed = append(l.owed, e)
		} else {
			l.done = append(l.done, e)
		}
	case loop.More:
		l.step(loop.Continue{})
	case loop.Round:
		rows := l.owed
		l.owed = nil
		for _, e := range rows {
			l.into()[e.id.route(len(x.spec.into))].send(channel.Data, payload{id: e.id, variant: e.variant})
		}
		l.step(loop.Emitted{Rows: len(rows)})
	case loop.EndRound:
		for _, c := range l.into() {
			c.send(channel.Data, payload{end: true, round: a.Round})
		}
	case loop.Fixpoint:
		l.fixpoint(a)
	}
}

// pass hands over the state of a barrier that has come round.
func (l *looper) pass(a loop.Pass) {
	x, m := l.x, l.marks[a.ID]
	if m.end {
		return
	}
	if len(l.backAt) == 0 {
		x.w.fail("actor %d: barrier %d passes before it has come round", x.spec.id, m.epoch)
		return
	}
	at := l.backAt[0]
	l.backAt = l.backAt[1:]
	s := l.snaps[a.ID]
	delete(l.snaps, a.ID)
	if s != nil {
		s.feedback = at
		if a.Log == nil {
			a.Log = func(func([]byte, error) bool) {} // it was released
		}
		for b, err := range a.Log {
			if err != nil {
				x.w.fail("actor %d: %v", x.spec.id, err)
				return
			}
			if x.w.cfg.Bug == DropLoopLog || x.w.cfg.Bug == DropInnerLog && x.spec.inner {
				continue
			}
			s.log = append(s.log, decodeRecord(b))
		}
		x.w.say("actor %d: barrier %d has come round, %d rows in the log, slices %v", x.spec.id, m.epoch, a.Records, l.head.Slices())
	}
	x.handOver(m.epoch, m.kind, s)
}

// fixpoint lets what an iteration has brought leave the loop, and the mark behind it.
func (l *looper) fixpoint(a loop.Fixpoint) {
	x := l.x
	if a.Replay {
		// What is behind the loop has what comes out of it.
		l.done = nil
		return
	}
	m := l.marks[a.ID]
	delete(l.marks, a.ID)
	for _, e := range l.done {
		if x.spec.inner {
			id := e.id.withInner(0)
			l.out()[id.route(len(x.spec.to))].send(channel.Data, payload{id: id, variant: e.variant})
			continue
		}
		x.emit(e.id, e.variant)
	}
	kind := channel.Marker
	if m.end {
		kind = channel.Data
		x.w.res.InnerRounds++
	}
	for _, c := range l.out() {
		c.send(kind, m)
	}
	x.w.res.Rounds++
	x.w.say("actor %d: barrier %d (round %d) leaves the loop behind %d rows, after %d rounds", x.spec.id, m.epoch, m.round, len(l.done), a.Rounds)
	l.done = nil
}

// loopMessage works off a row of a head or a body, or the end of a round, in step with the other producers.
func (x *exec) loopMessage(p payload, slot int) {
	queue := []loop.Item[payload]{{From: slot, Message: p}}
	for len(queue) > 0 {
		it := queue[0]
		queue = queue[1:]
		if !x.align.Offer(it.From, it.Message) {
			continue
		}
		if !it.Message.end {
			x.loopRow(it.Message)
			continue
		}
		all := x.align.Pass(it.From)
		if x.w.cfg.Bug == EarlyRoundEnd && x.spec.role == bodyRole {
			// The others' rows of the round may still be on their way.
			if it.From == 0 {
				x.loopMark(it.Message)
			}
		} else if all {
			x.loopMark(it.Message)
		}
		if all {
			queue = append(x.align.Held(), queue...)
		}
	}
}

// loopRow works off a row.
func (x *exec) loopRow(p payload) {
	if l := x.loop; l != nil {
		l.step(loop.Input{Record: encodeRecord(entryOf{l.enter(p.id), p.variant})})
		return
	}
	x.count(p.id, p.variant)
	x.tail.Sent(1)
	id := p.id.withHops(p.id.hops() - 1)
	if x.spec.inner {
		id = p.id.withInner(p.id.inner() - 1)
	}
	x.feedback[id.route(len(x.feedback))].send(channel.Data, payload{id: id, variant: p.variant})
}

// loopMark works off the end of a round that has come from everywhere.
func (x *exec) loopMark(p payload) {
	if l := x.loop; l != nil {
		// Of the outer loop: everything of the round is here, so the inner one runs to its fixpoint.
		l.step(loop.Barrier{ID: l.mark(p)})
		return
	}
	if p.sub != 0 {
		x.tail.Return(x.spec.index, p.sub)
		for _, c := range x.feedback {
			c.send(channel.Data, p)
		}
		return
	}
	e := x.tail.EndRound(x.spec.index, p.round)
	for i, c := range x.feedback {
		rows := e.Rows
		if x.w.cfg.Bug == UncountedRows && i > 0 {
			rows = 0
		}
		c.send(channel.Data, payload{end: true, round: e.Round, rows: rows})
	}
}

// loopBarrier passes an aligned barrier into the loop, or back to its heads.
func (x *exec) loopBarrier(p payload) {
	if l := x.loop; l != nil {
		x.epoch = p.epoch + 1
		l.step(loop.Barrier{ID: l.mark(p), Checkpoint: p.kind != checkpoint.KindEpoch})
		if n := l.head.Slices(); x.w.cfg.Bug == OutOfTurn && len(n) > 1 {
			l.step(loop.Committed{ID: n[len(n)-1]})
		}
		return
	}
	x.tail.Return(x.spec.index, 0)
	for _, c := range x.feedback {
		c.send(channel.Marker, p)
	}
	x.epoch = p.epoch + 1
	x.handOver(p.epoch, p.kind, x.takeSnapshot(p.kind))
}

// loopSaved lets the head forget the slices of a durable checkpoint.
func (x *exec) loopSaved(e checkpoint.Epoch) {
	l := x.loop
	var newest loop.ID
	for at, id := range l.numbers {
		if at <= e {
			newest = max(newest, id)
			delete(l.numbers, at)
		}
	}
	if newest > 0 {
		l.step(loop.Committed{ID: newest})
	}
}

// pumpFeedback takes what has come back from the tails.
func (x *exec) pumpFeedback() bool {
	if x.loop == nil {
		return false
	}
	l := x.loop
	if l.channel.Len() > 0 {
		m, _, err := l.channel.Pop()
		if err != nil {
			x.w.fail("actor %d: %v", x.spec.id, err)
			return false
		}
		l.step(m)
		return true
	}
	if x.back.Pending() {
		it, _, err := x.back.Next()
		if err != nil {
			x.w.fail("actor %d: %v", x.spec.id, err)
			return false
		}
		x.comeBack(it.Msg, it.Verdict)
		return true
	}
	if len(x.backQueue) == 0 {
		return false
	}
	a := x.backQueue[0]
	x.backQueue = x.backQueue[1:]
	h := a.m.Header
	if x.w.cfg.Bug == NoGenerations {
		h.Generation = x.back.Wanted(a.slot).Generation
	}
	v, err := x.back.Receive(a.slot, h, a.m.Kind, a)
	if err != nil {
		x.receiveFailed(a, err)
		return false
	}
	x.w.countVerdict(v)
	switch v {
	case channel.Fenced:
		return true
	case channel.Ahead:
		a.from.fail()
		return true
	}
	a.from.acknowledge(x.back.Wanted(a.slot).Seq - 1)
	if v == channel.Duplicate || v == channel.Held || v == channel.HeldBack {
		return true
	}
	x.comeBack(a, v)
	return true
}

// comeBack gives the head what has come back.
func (x *exec) comeBack(a arrived, v channel.Verdict) {
	l := x.loop
	if !x.proc.lost {
		if err := x.w.audit.Processed(channelOf(x.spec, true), a.m.Header, a.m.Kind); err != nil {
			x.w.fail("%v", err)
			return
		}
	}
	p := a.m.Payload
	var m loop.Message
	switch {
	case a.m.Kind == channel.Marker:
		m = loop.Returned{Tail: a.slot, ID: l.numbers[p.epoch]}
	case p.sub != 0:
		m = loop.Returned{Tail: a.slot, ID: p.sub}
	case p.end:
		m = loop.Ended{Tail: a.slot, Round: p.round, Rows: p.rows}
	default:
		m = loop.Feedback{Tail: a.slot, Record: encodeRecord(entryOf{p.id, p.variant})}
	}
	if err := l.channel.Push(m); err != nil {
		x.w.fail("actor %d: %v", x.spec.id, err)
		return
	}
	if v != channel.Aligned {
		return
	}
	if !x.proc.lost {
		if err := x.w.audit.Snapshot(channelOf(x.spec, true), x.back.Version()); err != nil {
			x.w.fail("%v", err)
			return
		}
	}
	l.backAt = append(l.backAt, x.back.State())
	x.back.Advance()
}
