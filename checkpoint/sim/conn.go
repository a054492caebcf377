package sim

import (
	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/loop"
)

// payload is what a message between actors carries: a row, a barrier, or the end of a round in a loop.
type payload struct {
	id      rowID
	variant uint32
	// kind and epoch are of a barrier.
	kind  checkpoint.Kind
	epoch checkpoint.Epoch
	// round and rows are of the end of a round, in a loop.
	round, rows int
	end         bool
	// sub is the number, in an inner loop, of the end of a round of the outer one, 0 for what is none.
	sub loop.ID
	// drop is the actor that ends with this barrier; last: all do.
	drop checkpoint.ActorID
	last bool
}

type message = channel.Message[payload]

// arrived is a message in a shared channel.
type arrived struct {
	from *conn
	slot int
	m    message
}

// conn is a producer's end of the connection to one consumer. It can break: then what is under way is lost, and after a
// while the two agree again on what has arrived.
type conn struct {
	w        *world
	from     *exec
	to       *actorSpec
	slot     int
	feedback bool
	prod     *channel.Producer[payload]
	// number counts the connections; messages of an earlier one are lost.
	number int
	up     bool
	// last is when the newest message under way arrives: a connection keeps the order.
	last int64
	slow int
	// heldBack counts the messages that the gate holds and that are not acknowledged for that reason.
	heldBack int
	acked    channel.Seq
	retrying bool
}

func channelOf(to *actorSpec, feedback bool) channel.Channel {
	c := channel.Channel(to.id)
	if feedback {
		c += 1000
	}
	return c
}

// send numbers a message and puts it on its way.
func (c *conn) send(k channel.Kind, p payload) {
	m := c.prod.Send(k, p)
	if err := c.w.audit.Sent(channelOf(c.to, c.feedback), m.Header, k); err != nil {
		c.w.fail("%v", err)
	}
	if c.up {
		c.transmit(m)
	}
}

func (c *conn) transmit(m message) {
	w := c.w
	at := max(c.last, w.now+int64(w.rng.n(w.plan.dataDelay*c.slow)+1))
	c.last = at
	number := c.number
	w.after(at-w.now, func() {
		if c.number != number || !c.up {
			return // that connection is gone
		}
		to := c.consumer()
		if to == nil {
			c.fail()
			return
		}
		to.arrive(c, m)
	})
}

// consumer is the execution at the other end: of the same process if it hosts the actor, otherwise of the living one.
func (c *conn) consumer() *exec {
	p := c.from.proc
	if p.no != c.to.worker {
		p = c.w.workers[c.to.worker]
	}
	if p == nil || p.dead {
		return nil
	}
	x := p.execs[c.to.id]
	if x == nil || x.dead || !x.running {
		return nil
	}
	return x
}

// fail breaks the connection; it is tried again after a while.
func (c *conn) fail() {
	c.up = false
	c.number++
	c.last = 0
	c.retry(int64(c.w.rng.between(500, 20_000)))
}

func (c *conn) retry(d int64) {
	if c.retrying {
		return
	}
	c.retrying = true
	c.w.after(d, func() {
		c.retrying = false
		if c.from.dead || c.up {
			return
		}
		to := c.consumer()
		if to == nil {
			c.retry(int64(c.w.rng.between(500, 20_000)))
			return
		}
		c.connect(to)
	})
}

// connect makes a connection: the gate says what it wants, and gets it again.
func (c *conn) connect(to *exec) {
	c.up = true
	c.number++
	c.heldBack = 0
	g := to.gate
	if c.feedback {
		g = to.back
	}
	want := g.Wanted(c.slot)
	own := c.prod.Position()
	if want.Generation != own.Generation {
		if want.Generation < own.Generation {
			// It has not been restored for this generation yet.
			c.up = false
			c.retry(int64(c.w.rng.between(500, 20_000)))
		} else if ms, err := c.prod.Resend(own.Generation, own.Seq-channel.Seq(c.prod.Unacknowledged())); err == nil {
			// A zombie does not know that it is one.
			for _, m := range ms {
				c.transmit(m)
			}
		}
		return
	}
	next := want.Seq
	if last, ok := to.lastSeq[c.slot]; ok {
		next = last + 1 // of a consumer that does not align
	}
	if c.w.cfg.Bug == NoResend {
		return
	}
	if c.acked > 0 && c.w.rng.one(2) {
		// The answer was an old one: some of it will arrive twice.
		next = min(next, c.acked+1)
	}
	c.prod.Acknowledged(own.Generation, next-1)
	c.acked = max(c.acked, next-1)
	ms, err := c.prod.Resend(own.Generation, next)
	if err != nil {
		c.w.fail("reconnect: %v", err)
		return
	}
	c.w.res.Reconnects++
	c.w.res.Resent += len(ms)
	c.w.say("actor %d connects to %d, which wants #%d, and resends %d from #%d", c.from.spec.id, c.to.id, want.Seq, len(ms), next)
	for _, m := range append([]message(nil), ms...) {
		c.transmit(m)
	}
	c.from.pumpSoon()
}

// acknowledge tells the producer what has been taken.
func (c *conn) acknowledge(seq channel.Seq) {
	if c.heldBack > 0 {
		return
	}
	w, number, gen := c.w, c.number, c.prod.Position().Generation
	w.after(int64(w.rng.n(w.plan.dataDelay)+1), func() {
		if c.number != number || c.from.dead {
			return
		}
		c.acked = max(c.acked, seq)
		c.prod.Acknowledged(gen, seq)
		c.from.pump()
	})
}

// room tells whether another row may be sent. Markers always may.
func (c *conn) room() bool { return c.feedback || c.prod.Unacknowledged() < c.w.plan.credit }
