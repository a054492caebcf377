package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
)

// rowID names an input row: its source and its number there. In loops it is also marked with the rounds that are left, those of the inner
// loop apart.
type rowID uint32

const (
	sourceShift = 16
	hopShift    = 24
	innerShift  = 28
	idMask      = 1<<hopShift - 1
	hopMask     = 1<<(innerShift-hopShift) - 1
)

func row(source, n int) rowID         { return rowID(source<<sourceShift | n) }
func (r rowID) source() int           { return int(r&idMask) >> sourceShift }
func (r rowID) number() int           { return int(r) & (1<<sourceShift - 1) }
func (r rowID) hops() int             { return int(r>>hopShift) & hopMask }
func (r rowID) withHops(n int) rowID  { return r&^(hopMask<<hopShift) | rowID(n)<<hopShift }
func (r rowID) inner() int            { return int(r >> innerShift) }
func (r rowID) withInner(n int) rowID { return r&(1<<innerShift-1) | rowID(n)<<innerShift }
func (r rowID) plain() rowID          { return r & idMask }
func (r rowID) String() string        { return fmt.Sprintf("%d.%d", r.source(), r.number()) }
func (r rowID) owner(n int) int       { return int(uint32(r.plain())*2654435761>>16) % n }
func (r rowID) rounds() int           { return int(uint32(r.plain())*40503>>8) % 4 }
func (r rowID) withRoundText() string { return fmt.Sprintf("%v/%d/%d", r.plain(), r.hops(), r.inner()) }

// route chooses one of n actors in a loop; innerRounds is how often the row goes round in the inner loop.
func (r rowID) route(n int) int  { return int(uint32(r)*2246822519>>16) % n }
func (r rowID) innerRounds() int { return int(uint32(r.withInner(0))*40503>>10) % 3 }

// entry is what a state keeps of a row: how often it was counted, and what its producers made of it. A row that is
// produced again by another incarnation is not the same.
type entry struct {
	count   uint32
	variant uint32
}

// snapshot is what an actor hands over at a checkpoint: what has changed since the one before, and, whole, where it
// stands in its channels and what else it needs.
type snapshot struct {
	changes map[rowID]entry
	order   []rowID // of changes
	// pos is how far a source has read, or -1.
	pos     int
	inputs  []channel.Position
	outputs []channel.Position
	// feedback are the positions in the feedback channels of a loop, of a head: where it reads from each tail, of a tail: where it writes
	// to each head.
	feedback []channel.Position
	// ended: the actor has passed its last barrier.
	ended bool
	// owed are rows that a loop's head has applied and not sent; log is its slice of the feedback log.
	owed []entryOf
	log  []entryOf
	// prepared are the transactions of a sink that are not known to be committed, oldest first.
	prepared []txName
}

type entryOf struct {
	id      rowID
	variant uint32
}

// txName names a transaction of a sink: it is not used twice.
type txName struct {
	sink  checkpoint.ActorID
	gen   channel.Generation
	epoch checkpoint.Epoch
}

func (t txName) String() string { return fmt.Sprintf("tx(%d g%d e%d)", t.sink, t.gen, t.epoch) }

func newSnapshot() *snapshot { return &snapshot{changes: map[rowID]entry{}, pos: -1} }

func (s *snapshot) set(id rowID, e entry) {
	if _, ok := s.changes[id]; !ok {
		s.order = append(s.order, id)
	}
	s.changes[id] = e
}

func appendPosition(b []byte, p channel.Position) []byte {
	b = binary.AppendUvarint(b, uint64(p.Producer))
	b = binary.AppendUvarint(b, uint64(p.Generation))
	b = binary.AppendUvarint(b, uint64(p.Version))
	return binary.AppendUvarint(b, uint64(p.Seq))
}

// encode writes the snapshot; what is large goes to the store, what is small travels.
func (s *snapshot) encode() []byte {
	b := make([]byte, 0, 32+8*len(s.order))
	b = binary.AppendVarint(b, int64(s.pos))
	b = binary.AppendUvarint(b, uint64(len(s.order)))
	for _, id := range s.order {
		e := s.changes[id]
		b = binary.AppendUvarint(b, uint64(id))
		b = binary.AppendUvarint(b, uint64(e.count))
		b = binary.AppendUvarint(b, uint64(e.variant))
	}
	for _, ps := range [][]channel.Position{s.inputs, s.outputs, s.feedback} {
		b = binary.AppendUvarint(b, uint64(len(ps)))
		for _, p := range ps {
			b = appendPosition(b, p)
		}
	}
	for _, es := range [][]entryOf{s.owed, s.log} {
		b = binary.AppendUvarint(b, uint64(len(es)))
		for _, e := range es {
			b = binary.AppendUvarint(b, uint64(e.id))
			b = binary.AppendUvarint(b, uint64(e.variant))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.prepared)))
	for _, t := range s.prepared {
		b = binary.AppendUvarint(b, uint64(t.sink))
		b = binary.AppendUvarint(b, uint64(t.gen))
		b = binary.AppendUvarint(b, uint64(t.epoch))
	}
	if s.ended {
		return append(b, 1)
	}
	return append(b, 0)
}

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) u() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.err = fmt.Errorf("a state ends early")
		d.b = nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) list(fn func()) {
	for n := d.u(); n > 0 && d.err == nil; n-- {
		fn()
	}
}

// apply decodes a snapshot on top of an older one.
func (s *snapshot) apply(b []byte) error {
	d := decoder{b: b}
	v, n := binary.Varint(d.b)
	if n <= 0 {
		return fmt.Errorf("an empty state")
	}
	s.pos, d.b = int(v), d.b[n:]
	d.list(func() {
		id := rowID(d.u())
		s.set(id, entry{uint32(d.u()), uint32(d.u())})
	})
	var lists [3][]channel.Position
	for i := range lists {
		d.list(func() {
			lists[i] = append(lists[i], channel.Position{
				Producer: channel.ProducerID(d.u()), Generation: channel.Generation(d.u()),
				Version: channel.Version(d.u()), Seq: channel.Seq(d.u()),
			})
		})
	}
	s.inputs, s.outputs = lists[0], lists[1]
	s.feedback = lists[2]
	s.owed, s.log, s.prepared = nil, nil, nil
	d.list(func() { s.owed = append(s.owed, entryOf{rowID(d.u()), uint32(d.u())}) })
	d.list(func() { s.log = append(s.log, entryOf{rowID(d.u()), uint32(d.u())}) })
	d.list(func() {
		s.prepared = append(s.prepared, txName{checkpoint.ActorID(d.u()), channel.Generation(d.u()), checkpoint.Epoch(d.u())})
	})
	s.ended = d.u() == 1
	if d.err == nil && len(d.b) > 0 {
		return fmt.Errorf("%d bytes behind a state", len(d.b))
	}
	return d.err
}
