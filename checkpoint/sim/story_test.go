package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/loop"
)

// circle is a loop that a script drives step by step: a head, a body that counts and takes one round off each row, and the two
// channels between them, each with its gate. Nothing is lost here and nothing overtakes.
type circle struct {
	t    *testing.T
	out  strings.Builder
	head *loop.Head
	tail loop.Tail
	// into and back are the channels, stamps and gates their ends.
	into, back           []circleMessage
	intoStamp, backStamp channel.Stamp
	intoGate, backGate   *channel.Gate[circleMessage]
	generation           channel.Generation
	owed, done           []string
	applied, passed      map[string]int
	pending              map[loop.ID]circleState
	bodyAt               map[loop.ID]map[string]int
	checkpoints          map[loop.ID]circleState
	newest               loop.ID
	queue                []loop.Message
	busy                 bool
}

type circleMessage struct {
	channel.Header
	kind channel.Kind
	row  string // "a/2": two rounds are left
	id   loop.ID
	end  bool
	n    int // round; of a body's answer rows
	rows int
}

type circleState struct {
	applied, passed map[string]int
	owed, log       []string
}

func copyOf(m map[string]int) map[string]int {
	c := map[string]int{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

func (c *circle) say(format string, args ...any) { fmt.Fprintf(&c.out, format+"\n", args...) }

// begin starts head and body from a checkpoint, 0 for none.
func (c *circle) begin(from loop.ID) {
	s := c.checkpoints[from]
	h, err := loop.NewHead(loop.Config{Heads: 1, Tails: 1, Phases: 1})
	if err != nil {
		c.t.Fatal(err)
	}
	c.generation++
	at := func(p channel.ProducerID) channel.Position {
		return channel.Position{Producer: p, Generation: c.generation, Version: channel.Version(from + 1), Seq: 1}
	}
	c.head, c.tail, c.into, c.back = h, loop.Tail{}, nil, nil
	c.intoStamp, c.backStamp = channel.NewStamp(at(1)), channel.NewStamp(at(2))
	c.intoGate = channel.NewGate(channel.Config[circleMessage]{Producers: []channel.Position{at(1)}})
	c.backGate = channel.NewGate(channel.Config[circleMessage]{Producers: []channel.Position{at(2)}})
	c.owed, c.done = slices.Clone(s.owed), nil
	c.applied, c.passed = copyOf(s.applied), copyOf(s.passed)
	c.pending, c.bodyAt, c.newest = map[loop.ID]circleState{}, map[loop.ID]map[string]int{}, from
	for _, r := range s.log {
		c.step(loop.Logged{Record: []byte(r)})
	}
	c.step(loop.Restore{})
}

func (c *circle) step(m loop.Message) {
	c.queue = append(c.queue, m)
	if c.busy {
		return
	}
	c.busy = true
	for len(c.queue) > 0 {
		m := c.queue[0]
		c.queue = c.queue[1:]
		as, err := c.head.Step(m)
		if err != nil {
			c.say("head: error: %v", err)
			break
		}
		for _, a := range slices.Clone(as) {
			c.act(a)
		}
	}
	c.busy = false
}

func rounds(row string) (name string, left int) {
	name, n, _ := strings.Cut(row, "/")
	if _, err := fmt.Sscan(n, &left); err != nil {
		panic(err)
	}
	return name, left
}

func (c *circle) act(a loop.Action) {
	switch a := a.(type) {
	case loop.Forward:
		c.into = append(c.into, circleMessage{Header: c.intoStamp.Marker(), kind: channel.Marker, id: a.ID})
		c.pending[a.ID] = circleState{applied: copyOf(c.applied), owed: slices.Clone(c.owed)}
		c.say("head: barrier %d goes into the loop, slices %v", a.ID, c.head.Slices())
	case loop.Pass:
		s := c.pending[a.ID]
		if a.Checkpoint {
			for r, err := range a.Log {
				if err != nil {
					c.t.Fatal(err)
				}
				s.log = append(s.log, string(r))
			}
		}
		s.passed = c.bodyAt[a.ID]
		c.say("head: barrier %d has come round, its log is %v, owed are %v", a.ID, s.log, s.owed)
		if a.Checkpoint {
			c.checkpoints[a.ID] = s
		}
	case loop.Apply:
		row := string(a.Record)
		c.applied[row]++
		if name, left := rounds(row); left > 0 {
			c.owed = append(c.owed, row)
		} else {
			c.done = append(c.done, name)
		}
	case loop.Round:
		rows := c.owed
		c.owed = nil
		for _, r := range rows {
			c.into = append(c.into, circleMessage{Header: c.intoStamp.Data(), row: r})
		}
		if len(rows) > 0 {
			c.say("head: round %d sends %v", a.Round, rows)
		}
		c.step(loop.Emitted{Rows: len(rows)})
	case loop.EndRound:
		c.into = append(c.into, circleMessage{Header: c.intoStamp.Data(), end: true, n: a.Round})
	case loop.Fixpoint:
		if a.Replay {
			c.say("exit: fixpoint of the replay, %v is known behind the loop", c.done)
		} else {
			c.say("exit: fixpoint of %d, %v leaves the loop, and then the barrier", a.ID, c.done)
		}
		c.done = nil
	}
}

// body works off what is in its channel, at most n messages.
func (c *circle) body(n int) {
	for ; n > 0 && len(c.into) > 0; n-- {
		m := c.into[0]
		c.into = c.into[1:]
		v, err := c.intoGate.Receive(0, m.Header, m.kind, m)
		switch {
		case err != nil:
			c.t.Fatal(err)
		case v == channel.Aligned:
			c.bodyAt[m.id] = copyOf(c.passed)
			c.tail.Return(0, m.id)
			c.back = append(c.back, circleMessage{Header: c.backStamp.Marker(), kind: channel.Marker, id: m.id})
			c.intoGate.Advance()
			c.say("body: passes barrier %d", m.id)
		case m.end:
			e := c.tail.EndRound(0, m.n)
			c.back = append(c.back, circleMessage{Header: c.backStamp.Data(), end: true, n: e.Round, rows: e.Rows})
		default:
			c.passed[m.row]++
			name, left := rounds(m.row)
			c.tail.Sent(1)
			c.back = append(c.back, circleMessage{Header: c.backStamp.Data(), row: fmt.Sprintf("%s/%d", name, left-1)})
			c.say("body: %s", m.row)
		}
	}
}

// feedback lets the head take what has come back, at most n messages.
func (c *circle) feedback(n int) {
	for ; n > 0 && len(c.back) > 0; n-- {
		m := c.back[0]
		c.back = c.back[1:]
		v, err := c.backGate.Receive(0, m.Header, m.kind, m)
		switch {
		case err != nil:
			c.t.Fatal(err)
		case v == channel.Aligned:
			c.backGate.Advance()
			c.step(loop.Returned{ID: m.id})
		case m.end:
			c.step(loop.Ended{Round: m.n, Rows: m.rows})
		default:
			c.say("head: %s comes back", m.row)
			c.step(loop.Feedback{Record: []byte(m.row)})
		}
	}
}

// TestStories runs the scripts of testdata/stories: a loop, step by step. Commands:
//
//	new                       a head and a body
//	input a/2 b/1             rows with the rounds that they have to go
//	barrier n [epoch]         a checkpoint's barrier, or one of an epoch only
//	body [n]                  the body works off n messages, or all
//	feedback [n]              the head takes n messages, or all
//	run                       until nothing is on its way
//	saved n, aborted n        what became of a checkpoint
//	crash at=n                both begin again from checkpoint n
//	counts                    what head and body have counted
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var c *circle
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			number := func(or int) int {
				if len(d.CmdArgs) > 0 {
					if _, err := fmt.Sscan(d.CmdArgs[0].Key, &or); err != nil {
						t.Fatal(err)
					}
				}
				return or
			}
			const all = 1 << 20
			if c != nil {
				c.out.Reset()
			}
			switch d.Cmd {
			case "new":
				c = &circle{t: t, checkpoints: map[loop.ID]circleState{}}
				c.begin(0)
			case "input":
				for _, a := range d.CmdArgs {
					c.step(loop.Input{Record: []byte(a.Key)})
				}
			case "barrier":
				c.step(loop.Barrier{ID: loop.ID(number(0)), Checkpoint: !d.HasArg("epoch")})
			case "body":
				c.body(number(all))
			case "feedback":
				c.feedback(number(all))
			case "run":
				for len(c.into)+len(c.back) > 0 {
					c.body(all)
					c.feedback(all)
				}
			case "saved":
				c.step(loop.Committed{ID: loop.ID(number(0))})
				c.say("slices %v, %d rows in the log", c.head.Slices(), c.head.Logged())
			case "aborted":
				c.step(loop.Aborted{ID: loop.ID(number(0))})
				c.say("slices %v, %d rows in the log", c.head.Slices(), c.head.Logged())
			case "crash":
				var at int
				d.ScanArgs(t, "at", &at)
				c.begin(loop.ID(at))
			case "counts":
				c.say("head %v", c.applied)
				c.say("body %v", c.passed)
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			return c.out.String()
		})
	})
}
