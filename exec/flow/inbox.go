package flow

import (
	"errors"
	"sync"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/storage"
)

// errStopped is what a producer gets when its consumer, or the whole runtime, has stopped.
var errStopped = errors.New("flow: stopped")

// message is one event on its way to an actor. Exactly one of chunk, barrier, mark, loop and saved is set.
type message struct {
	slot    int // the producer
	head    channel.Header
	chunk   *parcel
	barrier *exec.Barrier
	mark    *exec.Watermark
	// saved is a checkpoint that is durable. It comes from the runtime and not through a channel, so it has
	// neither slot nor head.
	saved storage.Epoch
	loop  *loopMark // only inside of loops
	// free: the chunk was put aside, and its producer does not wait for it to be worked off.
	free bool
}

// kind tells barriers, which separate versions, from what is between them.
func (m message) kind() channel.Kind {
	if m.barrier != nil {
		return channel.Marker
	}
	return channel.Data
}

// size is what a message takes in memory while it is held.
func (m message) size() int64 {
	if m.chunk == nil {
		return 0
	}
	return int64(m.chunk.chunk.Bytes())
}

// rows is the number of rows of the chunk, if there is one.
func (m message) rows() int {
	if m.chunk == nil {
		return 0
	}
	return m.chunk.chunk.Len()
}

// feed is a producer's end of a channel: it stamps what goes into one slot of an inbox. A producer's messages must be
// sent by one goroutine at a time.
type feed struct {
	in *inbox
	// to is the actor behind the inbox; 0 if nobody asks.
	to    ActorID
	slot  int
	stamp channel.Stamp
}

// start says who sends from here on, and in which epoch. It must be called before the first message.
func (f *feed) start(id channel.ProducerID, gen channel.Generation, epoch storage.Epoch) {
	f.stamp = channel.NewStamp(channel.Position{
		Producer: id, Generation: gen, Version: channel.Version(epoch), Seq: 1,
	})
}

// chunk sends a chunk; it waits for room.
func (f *feed) chunk(p *parcel) error {
	return f.in.put(message{slot: f.slot, head: f.stamp.Data(), chunk: p})
}

// watermark sends a watermark.
func (f *feed) watermark(w exec.Watermark) error {
	return f.in.put(message{slot: f.slot, head: f.stamp.Data(), mark: &w})
}

// loop sends a mark of a loop.
func (f *feed) loop(m loopMark) error {
	return f.in.put(message{slot: f.slot, head: f.stamp.Data(), loop: &m})
}

// barrier ends the epoch.
func (f *feed) barrier(b *exec.Barrier) error {
	return f.in.put(message{slot: f.slot, head: f.stamp.Marker(), barrier: b})
}

// inbox is the queue in front of an actor: a channel that many producers share, with one consumer. Each producer may
// have a bounded number of chunks in it (or held back by the gate) and then waits; barriers and
// watermarks are never refused, so that a full channel cannot hold up alignment elsewhere.
type inbox struct {
	mu      sync.Mutex
	notFull sync.Cond
	// wake has capacity 1 and holds a token when queue may not be empty or the inbox is closed.
	wake   chan struct{}
	queue  []message
	spare  []message // the consumer's last batch, for reuse
	queued []int     // by slot: chunks not yet released
	// blocked tells, by slot, whether the producer waits for room; producers says which actors they are, as far as
	// they are actors.
	blocked   []bool
	producers []ActorID
	rows      int // of all chunks not yet released
	limit     int // chunks a slot may have queued; 0: no limit
	closed    bool
	// dead: the actor's job was stopped by a failure. What is put is dropped, and its producers, which
	// may be of jobs that run on, see nothing of it.
	dead bool
}

// maxSpare bounds the messages for which an inbox keeps memory.
const maxSpare = 1 << 10

func newInbox(slots, limit int) *inbox {
	b := &inbox{wake: make(chan struct{}, 1), queued: make([]int, slots), blocked: make([]bool, slots), limit: limit}
	b.notFull.L = &b.mu
	return b
}

// put queues m; a chunk waits for room.
func (b *inbox) put(m message) error {
	b.mu.Lock()
	if m.chunk != nil {
		for b.limit > 0 && b.queued[m.slot] >= b.limit && !b.closed {
			b.blocked[m.slot] = true
			b.notFull.Wait()
		}
		b.blocked[m.slot] = false
		b.queued[m.slot]++
		b.rows += m.chunk.chunk.Len()
	}
	if b.closed {
		dead := b.dead
		b.mu.Unlock()
		if !dead {
			return errStopped
		}
		if m.chunk != nil {
			m.chunk.release()
		}
		return nil
	}
	first := len(b.queue) == 0
	b.queue = append(b.queue, m)
	b.mu.Unlock()
	if first {
		b.signal()
	}
	return nil
}

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take gives all queued messages, nil if there are none. The slice is valid until the next take.
func (b *inbox) take() ([]message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errStopped
	}
	if len(b.queue) == 0 {
		return nil, nil
	}
	ms := b.queue
	clear(b.spare)
	b.queue = b.spare[:0]
	b.spare = ms
	if cap(ms) > maxSpare {
		// A burst of writes: its memory is not kept.
		b.spare = nil
	}
	return ms, nil
}

// release says that a chunk of a slot, with so many rows, has been worked off.
func (b *inbox) release(slot, rows int) {
	b.mu.Lock()
	b.queued[slot]--
	b.rows -= rows
	full := b.limit > 0 && b.queued[slot] == b.limit-1
	b.mu.Unlock()
	if full {
		b.notFull.Broadcast()
	}
}

// waiting is the number of chunks that were put and not worked off, and of their rows.
func (b *inbox) waiting() (chunks, rows int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.queued {
		chunks += n
	}
	return chunks, b.rows
}

// die closes the inbox of an actor whose job has failed.
func (b *inbox) die() {
	b.mu.Lock()
	b.dead = true
	b.mu.Unlock()
	b.close()
}

// close wakes all producers and the consumer; nothing more is delivered.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.notFull.Broadcast()
	b.signal()
}
