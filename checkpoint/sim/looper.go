package sim

import (
	"encoding/binary"
	"slices"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/loop"
)

// looper is the head of a loop: the machine of package loop, and the state that it is about. A row goes round as often
// as its number says, and leaves the loop at the fixpoint of its epoch.
type looper struct {
	x    *exec
	head *loop.Head
	// channel is the feedback channel in front of the head; it takes everything.
	channel *loop.Channel
	log     [][]byte // of the checkpoint, until begin
	// owed are rows that were applied and not sent, done those that will leave.
	owed, done []entryOf
	// snaps are the states of barriers that go round, kinds the kinds of barriers that have not left.
	snaps map[loop.ID]*snapshot
	kinds map[loop.ID]checkpoint.Kind
	queue []loop.Message
	busy  bool
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
	h, err := loop.NewHead(loop.Config{Heads: 1, Tails: 1, Phases: 1, Budget: 40, Spill: &bytesSpill{}})
	if err != nil {
		return err
	}
	x.loop = &looper{
		x: x, head: h, channel: loop.NewChannel(40, &bytesSpill{}), owed: slices.Clone(s.owed),
		snaps: map[loop.ID]*snapshot{}, kinds: map[loop.ID]checkpoint.Kind{},
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

// into is the connection into the loop, the last of the head's.
func (l *looper) into() *conn { return l.x.outs[len(l.x.outs)-1] }

func (l *looper) act(a loop.Action) {
	x := l.x
	switch a := a.(type) {
	case loop.Forward:
		if len(l.head.Slices()) > 1 {
			x.w.res.Overlaps++
		}
		k := l.kinds[a.ID]
		l.into().send(channel.Marker, payload{epoch: checkpoint.Epoch(a.ID), kind: k})
		if s := x.takeSnapshot(k); s != nil {
			s.owed = slices.Clone(l.owed)
			l.snaps[a.ID] = s
		}
	case loop.Pass:
		s := l.snaps[a.ID]
		delete(l.snaps, a.ID)
		if s != nil {
			s.feedback = x.back.Wanted(0)
			for b, err := range a.Log {
				if err != nil {
					x.w.fail("actor %d: %v", x.spec.id, err)
					return
				}
				if x.w.cfg.Bug != DropLoopLog {
					s.log = append(s.log, decodeRecord(b))
				}
			}
			x.w.say("actor %d: barrier %d has come round, %d rows in the log, slices %v", x.spec.id, a.ID, a.Records, l.head.Slices())
		}
		x.handOver(checkpoint.Epoch(a.ID), l.kinds[a.ID], s)
	case loop.Apply:
		e := decodeRecord(a.Record)
		x.count(e.id, e.variant)
		if e.id.hops() > 0 {
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
			l.into().send(channel.Data, payload{id: e.id, variant: e.variant})
		}
		l.step(loop.Emitted{Rows: len(rows)})
	case loop.EndRound:
		l.into().send(channel.Data, payload{end: true, round: a.Round})
	case loop.Fixpoint:
		if !a.Replay {
			for _, e := range l.done {
				x.emit(e.id, e.variant)
			}
			k := l.kinds[a.ID]
			delete(l.kinds, a.ID)
			for _, c := range x.outs[:len(x.outs)-1] {
				c.send(channel.Marker, payload{epoch: checkpoint.Epoch(a.ID), kind: k})
			}
			x.w.res.Rounds++
			x.w.say("actor %d: barrier %d leaves the loop behind %d rows, after %d rounds", x.spec.id, a.ID, len(l.done), a.Rounds)
		}
		// What is behind the loop has what comes out of a replay.
		l.done = nil
	}
}

// loopRow works off a row of a head or a body, or the end of a round.
func (x *exec) loopRow(p payload) {
	if x.spec.role == headRole {
		id := p.id.withHops(p.id.rounds())
		x.loop.step(loop.Input{Record: encodeRecord(entryOf{id, p.variant})})
		return
	}
	if p.end {
		e := x.tail.EndRound(0, p.round)
		x.feedback.send(channel.Data, payload{end: true, round: e.Round, rows: e.Rows})
		return
	}
	x.count(p.id, p.variant)
	x.tail.Sent(1)
	x.feedback.send(channel.Data, payload{id: p.id.withHops(p.id.hops() - 1), variant: p.variant})
}

// loopBarrier passes an aligned barrier into the loop, or back to its head.
func (x *exec) loopBarrier(p payload) {
	if x.spec.role == headRole {
		x.epoch = p.epoch + 1
		x.loop.kinds[loop.ID(p.epoch)] = p.kind
		x.loop.step(loop.Barrier{ID: loop.ID(p.epoch), Checkpoint: p.kind != checkpoint.KindEpoch})
		return
	}
	x.tail.Return(0, loop.ID(p.epoch))
	x.feedback.send(channel.Marker, payload{epoch: p.epoch, kind: p.kind})
	x.epoch = p.epoch + 1
	x.handOver(p.epoch, p.kind, x.takeSnapshot(p.kind))
}

// loopSaved lets the head forget the slices of a durable checkpoint.
func (x *exec) loopSaved(e checkpoint.Epoch) { x.loop.step(loop.Committed{ID: loop.ID(e)}) }

// pumpFeedback takes what has come back from the tail.
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
	if len(x.backQueue) == 0 {
		return false
	}
	a := x.backQueue[0]
	x.backQueue = x.backQueue[1:]
	h := a.m.Header
	if x.w.cfg.Bug == NoGenerations {
		h.Generation = x.back.Wanted(0).Generation
	}
	v, err := x.back.Receive(0, h, a.m.Kind, a)
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
	a.from.acknowledge(x.back.Wanted(0).Seq - 1)
	if v == channel.Duplicate {
		return true
	}
	if !x.proc.lost {
		if err := x.w.audit.Processed(channelOf(x.spec, true), a.m.Header, a.m.Kind); err != nil {
			x.w.fail("%v", err)
			return false
		}
	}
	p := a.m.Payload
	var m loop.Message
	switch {
	case v == channel.Aligned:
		m = loop.Returned{ID: loop.ID(p.epoch)}
	case p.end:
		m = loop.Ended{Round: p.round, Rows: p.rows}
	default:
		m = loop.Feedback{Record: encodeRecord(entryOf{p.id, p.variant})}
	}
	if err := l.channel.Push(m); err != nil {
		x.w.fail("actor %d: %v", x.spec.id, err)
		return false
	}
	if v == channel.Aligned {
		x.back.Advance()
	}
	return true
}
