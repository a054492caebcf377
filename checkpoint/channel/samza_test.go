package channel

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"
)

// What is emitted cannot be taken back by who emitted it: only the consumer can, by going back to a snapshot. So a consumer that was
// not restored takes nothing from a new generation, whose first message revokes what the old one sent.
func TestConclusion1EmittedStateIsRevertedByTheConsumer(t *testing.T) {
	c := newConsumer(t, Config[envelope]{}, "n1")
	for _, s := range []string{"a", "b"} {
		c.arrive(0, c.send(0, Data, s))
	}
	c.arrive(0, c.send(0, Marker, ""))
	c.arrive(0, c.send(0, Data, "dead"))
	c.restart(0, c.snapshot(1))
	revoke := c.send(0, Restored, "")
	again := c.send(0, Data, "alive")
	if v := c.arrive(0, revoke); v != Ahead {
		t.Fatalf("the consumer took a restored message before it was restored: %v", v)
	}
	if v := c.arrive(0, again); v != Ahead {
		t.Fatalf("the consumer took a message of the new generation before it was restored: %v", v)
	}
	if got := c.text(c.state); got != "a b dead" {
		t.Fatalf("state %q", got)
	}
	c.restore(c.snapshot(1))
	if err := c.reconnect(0); err != nil {
		t.Fatal(err)
	}
	if got := c.text(c.state); got != "a b alive" {
		t.Fatalf("state %q, want what the dead incarnation sent replaced", got)
	}
}

// Exactly once needs one snapshot for everything that is connected. A node that goes back alone repeats its output, and not
// the same: numbers cannot tell, for the repeated messages are not duplicates.
func TestConclusion2OneSnapshotForTheWholeTree(t *testing.T) {
	// n1 and n2 feed n3. All of them take snapshots 1 and 2; then n1 loads snapshot 1, and the others are at 2.
	c := newConsumer(t, Config[envelope]{}, "n1", "n2")
	for v := range 2 {
		for i := range c.names {
			c.arrive(i, c.send(i, Data, fmt.Sprintf("%s-%d", c.names[i], v)))
			c.arrive(i, c.send(i, Marker, ""))
		}
	}
	c.restart(0, c.snapshot(1))
	e := c.send(0, Data, "n1-1'")
	if e.Version != 2 || e.Seq != c.snapshot(1).at[0].Seq {
		t.Fatalf("%v does not continue snapshot 1", e.Header)
	}
	// n3 at snapshot 2 has n1-1 in its state. The new message is its replacement.
	c.restore(c.snapshot(2))
	if v := c.arrive(0, e); v != Duplicate {
		t.Fatalf("a message that snapshot 2 includes in another form: %v", v)
	}
	if slices.Contains(c.state, "n1-1'") || !slices.Contains(c.state, "n1-1") {
		t.Fatal("n3 cannot have the right state here, whatever it does")
	}
	// With one snapshot for n1 and n3 everything is right; n2, which does not depend on n1, keeps its own life and only
	// sends again what n3 has lost.
	c = newConsumer(t, Config[envelope]{}, "n1", "n2")
	for v := range 2 {
		for i := range c.names {
			c.arrive(i, c.send(i, Data, fmt.Sprintf("%s-%d", c.names[i], v)))
			c.arrive(i, c.send(i, Marker, ""))
		}
	}
	c.restart(0, c.snapshot(1))
	c.restore(c.snapshot(1))
	c.arrive(0, c.send(0, Restored, ""))
	c.arrive(0, c.send(0, Data, "n1-1'"))
	c.arrive(0, c.send(0, Marker, ""))
	if err := c.reconnect(1); err != nil {
		t.Fatal(err)
	}
	sort.Strings(c.state)
	if got := c.text(c.state); got != "n1-0 n1-1' n2-0 n2-1" {
		t.Fatalf("state %q", got)
	}
}

// In which order the messages of one version are worked off does not matter, as long as each is once: any
// interleaving of the producers gives the same snapshots.
func TestConclusion3OrderBetweenProducersDoesNotMatter(t *testing.T) {
	var want string
	for seed := range int64(200) {
		rng := rand.New(rand.NewSource(seed))
		c := newConsumer(t, Config[envelope]{Memory: 3, Spill: &disk{}}, "n1", "n2", "n3")
		c.quiet = true
		queues := make([][]envelope, 3)
		for i := range queues {
			for v := range 4 {
				for k := range i + v {
					queues[i] = append(queues[i], c.send(i, Data, fmt.Sprintf("%d%d%d", i, v, k)))
				}
				queues[i] = append(queues[i], c.send(i, Marker, ""))
			}
		}
		for left := 3; left > 0; {
			i := rng.Intn(3)
			if len(queues[i]) == 0 {
				continue
			}
			c.arrive(i, queues[i][0])
			if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
				left--
			}
		}
		var b strings.Builder
		for _, s := range c.snapshots {
			st := slices.Clone(s.state)
			sort.Strings(st)
			fmt.Fprintln(&b, s.version, st, s.at)
		}
		if want == "" {
			want = b.String()
		}
		if b.String() != want {
			t.Fatalf("seed %d:\n%swant\n%s", seed, b.String(), want)
		}
	}
}

// auditOf runs a consumer without a gate, which takes its snapshot after the messages given; the audit's word.
func auditOf(t *testing.T, take func(c *consumer, a *Audit)) error {
	t.Helper()
	c := newConsumer(t, Config[envelope]{}, "n1", "n2")
	take(c, c.audit)
	return c.audit.Snapshot(theChannel, 1)
}

// Condition 1: what a node sent before its marker is in the snapshot. The audit finds a consumer that does not wait for all
// markers, and the gate is none.
func TestCondition1WhatIsBeforeTheMarkerIsIncluded(t *testing.T) {
	err := auditOf(t, func(c *consumer, a *Audit) {
		e, m := c.send(0, Data, "a"), c.send(0, Marker, "")
		late := c.send(1, Data, "late")
		c.send(1, Marker, "")
		_, _ = a.Processed(theChannel, e.Header, Data), a.Processed(theChannel, m.Header, Marker)
		_ = late
	})
	if err == nil || !strings.Contains(err.Error(), "condition 1") {
		t.Fatalf("a snapshot at the first marker passes: %v", err)
	}
	err = auditOf(t, func(c *consumer, a *Audit) {
		for i := range 2 {
			e, m := c.send(i, Data, "a"), c.send(i, Marker, "")
			_, _ = a.Processed(theChannel, e.Header, Data), a.Processed(theChannel, m.Header, Marker)
		}
	})
	if err != nil {
		t.Fatalf("a valid snapshot: %v", err)
	}
}

// Condition 2: a snapshot is the result of its own and earlier versions only. The audit finds a consumer that works off what
// comes early.
func TestCondition2NothingNewerIsIncluded(t *testing.T) {
	err := auditOf(t, func(c *consumer, a *Audit) {
		m, early := c.send(0, Marker, ""), c.send(0, Data, "early")
		_, _ = a.Processed(theChannel, m.Header, Marker), a.Processed(theChannel, early.Header, Data)
		m = c.send(1, Marker, "")
		_ = a.Processed(theChannel, m.Header, Marker)
	})
	if err == nil || !strings.Contains(err.Error(), "condition 2") {
		t.Fatalf("a snapshot with an early arrival passes: %v", err)
	}
}

// TestRandom runs a consumer through lost connections, duplicates, zombies and restores: the audit never objects, and in the
// end the state has each input once.
func TestRandom(t *testing.T) {
	for seed := range int64(400) {
		rng := rand.New(rand.NewSource(seed))
		names := []string{"n1", "n2", "n3"}[:1+rng.Intn(3)]
		cfg := Config[envelope]{Memory: int64(rng.Intn(30)), Alignment: Alignment(rng.Intn(2))}
		if rng.Intn(3) > 0 {
			cfg.Spill = &disk{full: rng.Intn(4) == 0}
		}
		c := newConsumer(t, cfg, names...)
		c.quiet = true
		// input is what each producer has read of its source, atMarker what it had read at its markers: from there it
		// reads again after a restart.
		input := make([]int, len(names))
		atMarker := make([]map[Version]int, len(names))
		for i := range atMarker {
			atMarker[i] = map[Version]int{}
		}
		broken := make([]bool, len(names))
		step := func(i int, lossy bool) {
			p := c.producers[i]
			if p.Position().Version > c.gate.Version()+3 {
				return // a bound on the versions in flight
			}
			var e envelope
			if rng.Intn(4) == 0 {
				atMarker[i][p.Position().Version] = input[i]
				e = c.send(i, Marker, "")
			} else {
				e = c.send(i, Data, fmt.Sprintf("%d.%d", i, input[i]))
				input[i]++
			}
			if broken[i] {
				return
			}
			if lossy && rng.Intn(12) == 0 {
				broken[i] = true
				return
			}
			c.arrive(i, e)
			if lossy && rng.Intn(6) == 0 {
				if v := c.arrive(i, e); v != Duplicate {
					t.Fatalf("seed %d: a message that arrives twice: %v", seed, v)
				}
			}
		}
		for range 150 {
			i := rng.Intn(len(names))
			switch r := rng.Intn(40); {
			case r == 0:
				// Everything goes back to a snapshot; the old incarnations live on for a while.
				s := c.snapshots[rng.Intn(len(c.snapshots))]
				for k := range names {
					c.restart(k, s)
					input[k] = atMarker[k][s.version]
				}
				c.restore(s)
				for k := range names {
					c.arrive(k, c.send(k, Restored, ""))
					broken[k] = false
				}
			case r < 4 && c.zombies[i] != nil:
				m := c.zombies[i].Send(Kind(rng.Intn(3)), envelope{text: "zombie"})
				m.Payload.Header = m.Header
				if v := c.arrive(i, m.Payload); v != Fenced {
					t.Fatalf("seed %d: a zombie's message: %v", seed, v)
				}
			case r < 8:
				broken[i] = false
				if err := c.reconnect(i); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			default:
				step(i, true)
			}
		}
		for i := range names {
			if err := c.reconnect(i); err != nil {
				t.Fatal(err)
			}
			broken[i] = false
		}
		last := Version(0)
		for i := range names {
			last = max(last, c.producers[i].Position().Version)
		}
		for i := range names {
			for c.producers[i].Position().Version <= last {
				atMarker[i][c.producers[i].Position().Version] = input[i]
				c.arrive(i, c.send(i, Marker, ""))
			}
		}
		want := []string{}
		for i, n := range input {
			for k := range n {
				want = append(want, fmt.Sprintf("%d.%d", i, k))
			}
		}
		got := slices.Clone(c.state)
		sort.Strings(got)
		sort.Strings(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: state %v, want %v", seed, got, want)
		}
		if m, s := c.gate.Bytes(); m != 0 || s != 0 {
			t.Fatalf("seed %d: %d bytes and %d messages left in the gate", seed, m, s)
		}
	}
}

// The errors say what is wrong and leave the gate as it was.
func TestViolations(t *testing.T) {
	at := []Position{{Producer: 7, Generation: 2, Version: 3, Seq: 10}, {Producer: 8, Generation: 2, Version: 3, Seq: 4}}
	g := NewGate(Config[int]{Producers: at})
	for _, c := range []struct {
		h    Header
		want error
	}{
		{Header{8, 2, 3, 10}, ErrProducer},
		{Header{7, 2, 3, 11}, ErrGap},
		{Header{7, 2, 4, 10}, ErrVersion},
		{Header{7, 2, 2, 10}, ErrVersion},
	} {
		if _, err := g.Receive(0, c.h, Data, 0); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.h, err, c.want)
		}
	}
	if v, err := g.Receive(0, at[0], Data, 0); v != Process || err != nil {
		t.Fatal(v, err)
	}
	if g.Wanted(0).Seq != 11 || g.Wanted(1) != at[1] {
		t.Fatal(g.Wanted(0), g.Wanted(1))
	}
}

// A gate whose producers begin at a version that nobody knows yet learns it from the first message, and then insists.
func TestVersionIsLearnt(t *testing.T) {
	p := func(id ProducerID, v Version) Position {
		return Position{Producer: id, Generation: 1, Version: v, Seq: 1}
	}
	g := NewGate(Config[int]{Producers: []Position{p(1, 0), p(2, 0)}})
	if v, err := g.Receive(0, p(1, 9), Marker, 0); v != Passed || err != nil || g.Version() != 9 {
		t.Fatal(v, err, g.Version())
	}
	if !g.Missing(1) || g.Missing(0) {
		t.Fatal("missing")
	}
	if _, err := g.Receive(1, p(2, 10), Marker, 0); !errors.Is(err, ErrVersion) {
		t.Fatal(err)
	}
	if v, err := g.Receive(1, p(2, 9), Marker, 0); v != Aligned || err != nil {
		t.Fatal(v, err)
	}
	if s := g.State(); s[0] != (Position{1, 1, 10, 2}) || s[1] != (Position{2, 1, 10, 2}) {
		t.Fatal(s)
	}
}

// FuzzHeader checks that what is read from bytes is what would be written.
func FuzzHeader(f *testing.F) {
	f.Add(Header{1, 2, 3, 4}.Append(nil, Marker))
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, k, rest, err := ParseHeader(b)
		if err != nil {
			return
		}
		if got := append(h.Append(nil, k), rest...); !slices.Equal(got, b) {
			t.Fatalf("%x, was %x", got, b)
		}
	})
}
