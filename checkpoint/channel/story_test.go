package channel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// envelope is a message as the stories send it: its text is what the consumer's state is made of.
type envelope struct {
	Header
	kind Kind
	text string
}

func (e envelope) String() string {
	if e.kind == Data {
		return e.text
	}
	return e.kind.String()
}

// disk is a Spill in memory.
type disk struct {
	kept   map[int64]envelope
	next   int64
	full   bool
	resets int
}

func (d *disk) Write(m envelope) (int64, error) {
	if d.full {
		return 0, errors.New("disk full")
	}
	if d.kept == nil {
		d.kept = map[int64]envelope{}
	}
	d.next++
	d.kept[d.next] = m
	return d.next, nil
}

func (d *disk) Read(ref int64) (envelope, error) {
	m, ok := d.kept[ref]
	if !ok {
		return m, fmt.Errorf("nothing under %d", ref)
	}
	delete(d.kept, ref)
	return m, nil
}

func (d *disk) Reset() { d.resets++ }

// consumer is one consumer behind a gate, its producers, and what its checkpoints hold.
type consumer struct {
	t     testing.TB
	names []string
	// producers are the living incarnations, zombies those before them.
	producers, zombies []*Producer[envelope]
	gate               *Gate[envelope]
	disk               *disk
	cfg                Config[envelope]
	audit              *Audit
	state              []string
	snapshots          []snapshot
	out                strings.Builder
	quiet              bool
}

// snapshot is a consistent checkpoint of the consumer and its producers.
type snapshot struct {
	version Version
	state   []string
	at      []Position
}

const theChannel Channel = 1

func newConsumer(t testing.TB, cfg Config[envelope], names ...string) *consumer {
	c := &consumer{t: t, names: names, audit: NewAudit(), disk: &disk{}}
	cfg.Size = func(e envelope) int64 { return int64(len(e.text)) }
	for i := range names {
		cfg.Producers = append(cfg.Producers, Position{Producer: ProducerID(i + 1), Generation: 1, Version: 1, Seq: 1})
		c.producers = append(c.producers, NewProducer[envelope](cfg.Producers[i]))
	}
	c.zombies = make([]*Producer[envelope], len(names))
	c.cfg = cfg
	c.gate = NewGate(cfg)
	c.audit.Consumer(theChannel, cfg.Producers)
	c.snapshots = []snapshot{{at: slices.Clone(cfg.Producers)}}
	return c
}

func (c *consumer) say(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(&c.out, format+"\n", args...)
	}
}

func (c *consumer) producer(name string) int {
	i := slices.Index(c.names, name)
	if i < 0 {
		c.t.Fatalf("no producer %q", name)
	}
	return i
}

// send stamps a message; it has not arrived yet.
func (c *consumer) send(i int, k Kind, text string) envelope {
	p := c.producers[i]
	m := p.Send(k, envelope{kind: k, text: text})
	e := m.Payload
	e.Header = m.Header
	p.kept[len(p.kept)-1].Payload = e
	if err := c.audit.Sent(theChannel, e.Header, k); err != nil {
		c.t.Fatal(err)
	}
	return e
}

// arrive gives a message to the gate, and does what its verdict asks for.
func (c *consumer) arrive(i int, e envelope) Verdict {
	v, err := c.gate.Receive(i, e.Header, e.kind, e)
	if err != nil {
		c.say("%s %v %v: error: %v", c.names[i], e.Header, e, err)
		return v
	}
	c.say("%s %v %v: %v", c.names[i], e.Header, e, v)
	c.act(i, e, v)
	return v
}

func (c *consumer) act(i int, e envelope, v Verdict) {
	switch v {
	case Process, Passed, Aligned:
		if err := c.audit.Processed(theChannel, e.Header, e.kind); err != nil {
			c.t.Fatal(err)
		}
		if e.kind == Data {
			c.state = append(c.state, e.text)
		}
	}
	if v != Aligned {
		return
	}
	version := c.gate.Version()
	if err := c.audit.Snapshot(theChannel, version); err != nil {
		c.t.Fatal(err)
	}
	c.snapshots = append(c.snapshots, snapshot{version, slices.Clone(c.state), c.gate.State()})
	st := c.gate.Advance()
	c.say("  snapshot %d: %s (aligned %d, buffered %d, spilled %d bytes)", version, c.text(c.state), st.Aligned, st.Buffered, st.Spilled)
	for c.gate.Pending() {
		it, ok, err := c.gate.Next()
		if err != nil || !ok {
			c.t.Fatal(ok, err)
		}
		c.say("  out of the buffer: %s %v %v: %v", c.names[it.Producer], it.Msg.Header, it.Msg, it.Verdict)
		c.act(it.Producer, it.Msg, it.Verdict)
	}
}

func (c *consumer) text(s []string) string {
	if len(s) == 0 {
		return "nothing"
	}
	return strings.Join(s, " ")
}

// restart gives a producer its next generation, as of a snapshot; the one before becomes a zombie.
func (c *consumer) restart(i int, s snapshot) {
	c.zombies[i] = c.producers[i]
	at := s.at[i]
	at.Generation = c.producers[i].Position().Generation + 1
	c.producers[i] = NewProducer[envelope](at)
}

// restore sets the gate back to a snapshot, for the producers that are alive.
func (c *consumer) restore(s snapshot) {
	c.state = slices.Clone(s.state)
	cfg := c.cfg
	cfg.Producers = slices.Clone(s.at)
	for i := range cfg.Producers {
		cfg.Producers[i].Generation = c.producers[i].Position().Generation
	}
	c.gate = NewGate(cfg)
	c.audit.Consumer(theChannel, cfg.Producers)
	at := slices.IndexFunc(c.snapshots, func(x snapshot) bool { return x.version == s.version })
	c.snapshots = c.snapshots[:at+1]
}

// reconnect makes a new connection: the gate says what it has, and the producer sends the rest again.
func (c *consumer) reconnect(i int) error {
	w := c.gate.Wanted(i)
	c.producers[i].Acknowledged(w.Generation, w.Seq-1)
	ms, err := c.producers[i].Resend(w.Generation, w.Seq)
	if err != nil {
		return err
	}
	for _, m := range slices.Clone(ms) {
		c.arrive(i, m.Payload)
	}
	return nil
}

func (c *consumer) snapshot(version Version) snapshot {
	for _, s := range c.snapshots {
		if s.version == version {
			return s
		}
	}
	c.t.Fatalf("no snapshot %d", version)
	return snapshot{}
}

// TestStories runs the scripts of testdata/stories: one consumer, its gate, and producers that share the channel to
// it. Commands:
//
//	new producers=(n1,n2) [alignment=blocking] [memory=n] [disk] [full]
//	                        memory: the bound of early arrivals in bytes; disk: there is a spill, full: it cannot write
//	send                    messages that arrive, one a line: PRODUCER TEXT, or PRODUCER marker
//	lose                    messages that do not arrive: the connection is gone
//	again n1                the last message of a producer arrives once more
//	zombie                  messages of the incarnation before the living one arrive
//	reconnect n1            the gate says what it wants, the producer resends
//	restart n1 [at=v]       a producer begins again from snapshot v (the last one), in a new generation
//	restore [at=v]          the consumer is restored from snapshot v (the last one)
//	ack n1                  the producer hears what has arrived, and forgets it
//	readable                which producers are to be read
//	held                    early arrivals in the gate
//	state                   what the consumer's state was made of, in order
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var c *consumer
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "new" {
				c.out.Reset()
			}
			name := func() int { return c.producer(d.CmdArgs[0].Key) }
			at := func() snapshot {
				var v uint64
				d.MaybeScanArgs(t, "at", &v)
				if v > 0 {
					return c.snapshot(Version(v))
				}
				return c.snapshots[len(c.snapshots)-1]
			}
			switch d.Cmd {
			case "new":
				cfg := Config[envelope]{Memory: 1 << 20}
				var names []string
				for _, a := range d.CmdArgs {
					if a.Key == "producers" {
						names = a.Vals
					}
				}
				var alignment string
				d.MaybeScanArgs(t, "alignment", &alignment)
				if alignment == "blocking" {
					cfg.Alignment = Blocking
				}
				d.MaybeScanArgs(t, "memory", &cfg.Memory)
				dk := &disk{full: d.HasArg("full")}
				if d.HasArg("disk") || dk.full {
					cfg.Spill = dk
				}
				c = newConsumer(t, cfg, names...)
				c.disk = dk
				return ""
			case "send", "lose", "zombie":
				for line := range strings.Lines(d.Input) {
					w := strings.Fields(line)
					i, k, text := c.producer(w[0]), Data, strings.Join(w[1:], " ")
					switch text {
					case "marker":
						k, text = Marker, ""
					case "restored":
						k, text = Restored, ""
					}
					if d.Cmd == "zombie" {
						m := c.zombies[i].Send(k, envelope{kind: k, text: text})
						m.Payload.Header = m.Header
						c.arrive(i, m.Payload)
						continue
					}
					e := c.send(i, k, text)
					if d.Cmd == "lose" {
						c.say("%s %v %v: lost", c.names[i], e.Header, e)
						continue
					}
					c.arrive(i, e)
				}
			case "again":
				p := c.producers[name()]
				c.arrive(name(), p.kept[len(p.kept)-1].Payload)
			case "reconnect":
				if err := c.reconnect(name()); err != nil {
					c.say("error: %v", err)
				}
			case "restart":
				c.restart(name(), at())
				c.say("%s continues at %v", c.names[name()], c.producers[name()].Position())
			case "restore":
				c.restore(at())
				c.say("state: %s", c.text(c.state))
				for i := range c.names {
					c.say("wants %v", c.gate.Wanted(i))
				}
			case "ack":
				w := c.gate.Wanted(name())
				c.producers[name()].Acknowledged(w.Generation, w.Seq-1)
				c.say("%s keeps %d messages", c.names[name()], c.producers[name()].Unacknowledged())
			case "readable":
				for i, n := range c.names {
					c.say("%s: %v", n, c.gate.Readable(i))
				}
			case "held":
				memory, spilled := c.gate.Bytes()
				c.say("%d bytes in memory, %d messages on disk; dropped: %+v", memory, spilled, c.gate.Dropped())
			case "state":
				c.say("%s", c.text(c.state))
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			return c.out.String()
		})
	})
}
