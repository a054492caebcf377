package loop

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts tells the steps of the algorithm as conversations with one head. Commands:
//
//	head [heads=n] [tails=n] [phases=n] [rounds=n] [budget=n]
//	    makes a head
//	tell
//	<a message a line>: restore r..., input r, barrier id [plain], feedback tail r, returned tail id,
//	    emitted n, ended tail round n, committed id, aborted id
//	    prints for each line what the head wants done
//	show
//	    prints what the head keeps
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var h *Head
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "head":
				cfg := Config{Heads: 1, Tails: 1, Phases: 1}
				for arg, to := range map[string]*int{
					"heads": &cfg.Heads, "tails": &cfg.Tails, "phases": &cfg.Phases, "rounds": &cfg.MaxRounds, "budget": &cfg.Budget,
				} {
					d.MaybeScanArgs(t, arg, to)
				}
				if d.HasArg("budget") {
					cfg.Spill = &memSpill{}
				}
				var err error
				if h, err = NewHead(cfg); err != nil {
					return err.Error() + "\n"
				}
				return ""
			case "tell":
				var b strings.Builder
				for line := range strings.SplitSeq(d.Input, "\n") {
					var text string
					f := strings.Fields(line)
					if f[0] == "restore" && !h.started {
						for _, r := range f[1:] {
							as, err := h.Step(Logged{Record: []byte(r)})
							text += showActions(as, err) + ";"
						}
					}
					as, err := h.Step(parseMessage(t, line))
					text += showActions(as, err)
					fmt.Fprintf(&b, "%s:%s\n", line, text)
				}
				return b.String()
			case "show":
				return fmt.Sprintf("admits %v, slices %v, log %d, in memory %d bytes, spilled %d\n",
					h.Admits(), h.Slices(), h.Logged(), h.bytes, h.spilled)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func parseMessage(t *testing.T, line string) Message {
	f := strings.Fields(line)
	n := func(i int) int {
		if i >= len(f) {
			t.Fatalf("%q is too short", line)
		}
		x, err := strconv.Atoi(f[i])
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	switch f[0] {
	case "restore":
		return Restore{}
	case "logged":
		return Logged{Record: []byte(f[1])}
	case "continue":
		return Continue{}
	case "input":
		return Input{Record: []byte(f[1])}
	case "barrier":
		return Barrier{ID: ID(n(1)), Checkpoint: len(f) < 3}
	case "feedback":
		return Feedback{Tail: n(1), Record: []byte(f[2])}
	case "returned":
		return Returned{Tail: n(1), ID: ID(n(2))}
	case "emitted":
		return Emitted{Rows: n(1)}
	case "ended":
		return Ended{Tail: n(1), Round: n(2), Rows: n(3)}
	case "committed":
		return Committed{ID: ID(n(1))}
	case "aborted":
		return Aborted{ID: ID(n(1))}
	}
	t.Fatalf("unknown message %q", line)
	return nil
}

func showActions(as []Action, err error) string {
	var b strings.Builder
	for _, a := range as {
		switch a := a.(type) {
		case Forward:
			fmt.Fprintf(&b, " forward %d;", a.ID)
		case Pass:
			if a.Checkpoint {
				fmt.Fprintf(&b, " snapshot %d log [%s];", a.ID, bytes.Join(logOf(a), []byte(" ")))
			} else {
				fmt.Fprintf(&b, " pass %d;", a.ID)
			}
		case Apply:
			fmt.Fprintf(&b, " apply %s;", a.Record)
		case More:
			fmt.Fprintf(&b, " more;")
		case Round:
			fmt.Fprintf(&b, " round %d of phase %d;", a.Round, a.Phase)
		case EndRound:
			fmt.Fprintf(&b, " end round %d;", a.Round)
		case Fixpoint:
			if a.Replay {
				fmt.Fprintf(&b, " replayed;")
			} else {
				fmt.Fprintf(&b, " fixpoint %d;", a.ID)
			}
		}
	}
	if err != nil {
		fmt.Fprintf(&b, " error: %v", err)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// logOf reads the log of a snapshot.
func logOf(p Pass) (log [][]byte) {
	for r, err := range p.Log {
		if err != nil {
			panic(err)
		}
		log = append(log, r)
	}
	if len(log) != p.Records {
		panic("the log has another length")
	}
	return log
}

// memSpill is a Spill in memory that can be made to fail.
type memSpill struct {
	b    []byte
	fail error
}

func (s *memSpill) Write(b []byte) (int64, error) {
	if s.fail != nil {
		return 0, s.fail
	}
	at := len(s.b)
	s.b = append(s.b, b...)
	return int64(at), nil
}

func (s *memSpill) Read(at int64, n int) ([]byte, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	return slices.Clone(s.b[at : at+int64(n)]), nil
}

func (s *memSpill) Reset() error { s.b = nil; return nil }

// The channel takes everything, gives it back in order, and keeps no more than its budget in memory.
func TestChannelGrowsAndSpills(t *testing.T) {
	spill := &memSpill{}
	c := NewChannel(100, spill)
	r := rand.New(rand.NewSource(1))
	next, want := 0, 0
	for step := range 20000 {
		if grow := step%4000 < 2500; grow == (r.Intn(10) < 8) {
			m := Message(Feedback{Tail: next % 3, Record: []byte(strconv.Itoa(next))})
			if next%7 == 0 {
				m = Ended{Tail: 1, Round: next}
			}
			if err := c.Push(m); err != nil {
				t.Fatal(err)
			}
			next++
		} else if m, ok, err := c.Pop(); err != nil {
			t.Fatal(err)
		} else if ok {
			switch m := m.(type) {
			case Feedback:
				if string(m.Record) != strconv.Itoa(want) || m.Tail != want%3 {
					t.Fatalf("got %s of tail %d in the place of %d", m.Record, m.Tail, want)
				}
			case Ended:
				if m.Round != want {
					t.Fatalf("got the end of %d in the place of %d", m.Round, want)
				}
			}
			want++
		}
		if c.Bytes() > 100 {
			t.Fatalf("%d bytes in memory", c.Bytes())
		}
		if c.Len() != next-want {
			t.Fatalf("%d messages, want %d", c.Len(), next-want)
		}
	}
	if next < 5000 || want < 5000 {
		t.Fatalf("only %d in and %d out", next, want)
	}
}

// TestChannelSpillFails: what a full disk does not take stays in memory, in its place, and when there is room again what comes is spilled.
func TestChannelSpillFails(t *testing.T) {
	spill := &memSpill{}
	c := NewChannel(3, spill)
	push := func(records string) {
		t.Helper()
		for _, r := range records {
			if err := c.Push(Feedback{Record: []byte(string(r))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	push("abcde")
	spill.fail = errors.New("no room")
	push("fg")
	if c.Bytes() != 5 || c.Spilled() != 2 {
		t.Fatalf("%d bytes in memory, %d records spilled", c.Bytes(), c.Spilled())
	}
	spill.fail = nil
	push("h")
	if c.Bytes() != 5 || c.Spilled() != 3 {
		t.Fatalf("%d bytes in memory, %d records spilled", c.Bytes(), c.Spilled())
	}
	got := ""
	for c.Len() > 0 {
		m, _, err := c.Pop()
		if err != nil {
			t.Fatal(err)
		}
		got += string(m.(Feedback).Record)
	}
	if got != "abcdefgh" || c.Bytes() != 0 || c.Spilled() != 0 {
		t.Fatalf("%s, %d bytes in memory, %d records spilled", got, c.Bytes(), c.Spilled())
	}
}

// world is a loop that is run here: heads, a body that turns a record "n" of at least 1 into records "n-1", as
// often as fan says, and tails. What the heads have seen of each number is counted: records are
// never lost and never counted twice, wherever the run is cut and recovered.
type world struct {
	r     *rand.Rand
	heads []*Head
	// counts is the state of a head: how often it has applied each number. owed has what it has applied and not sent.
	counts []map[int]int
	owed   [][]int
	// pipe[h][t] goes from head to tail; back[h] is the channel in front of a head.
	pipe [][][]any
	back []*Channel
	tail []Tail
	// stop[t] is what a tail aligns.
	stop []*Align[any]
	out  map[ID]int // fixpoints of heads by barrier
	// acting is the head that step was called for last.
	acting int
}

const fan = 2

type marker struct {
	barrier ID
	round   int
}

func newWorld(r *rand.Rand, heads, tails int) *world {
	w := &world{r: r, out: map[ID]int{}, tail: make([]Tail, tails)}
	for range heads {
		h, err := NewHead(Config{Heads: heads, Tails: tails, Phases: 1 + r.Intn(2), Budget: 8, Spill: &memSpill{}})
		if err != nil {
			panic(err)
		}
		w.heads = append(w.heads, h)
		w.counts = append(w.counts, map[int]int{})
		w.owed = append(w.owed, nil)
		w.pipe = append(w.pipe, make([][]any, tails))
		w.back = append(w.back, NewChannel(8, &memSpill{}))
	}
	phases := w.heads[0].cfg.Phases
	for _, h := range w.heads {
		h.cfg.Phases = phases
	}
	for range tails {
		w.stop = append(w.stop, NewAlign[any](heads))
	}
	return w
}

// saved is a snapshot of one head.
type saved struct {
	counts map[int]int
	owed   []int
	log    [][]byte
}

// step lets head h take a message and does what it wants.
func (w *world) step(h int, m Message, snap func(ID, saved)) {
	w.acting = h
	as, err := w.heads[h].Step(m)
	if err != nil {
		panic(err)
	}
	as = slices.Clone(as)
	for len(as) > 0 {
		a := as[0]
		as = as[1:]
		switch a := a.(type) {
		case Forward:
			for t := range w.tail {
				w.pipe[h][t] = append(w.pipe[h][t], marker{barrier: a.ID})
			}
		case Pass:
			snap(a.ID, saved{maps.Clone(w.counts[h]), slices.Clone(w.owed[h]), logOf(a)})
		case Apply:
			n, _ := strconv.Atoi(string(a.Record))
			w.counts[h][n]++
			w.owed[h] = append(w.owed[h], n)
		case More:
			more, err := w.heads[h].Step(Continue{})
			if err != nil {
				panic(err)
			}
			as = append(slices.Clone(more), as...)
		case Round:
			n := len(w.owed[h])
			for _, x := range w.owed[h] {
				t := w.r.Intn(len(w.tail))
				w.pipe[h][t] = append(w.pipe[h][t], x)
			}
			w.owed[h] = nil
			more, err := w.heads[h].Step(Emitted{Rows: n})
			if err != nil {
				panic(err)
			}
			as = append(slices.Clone(more), as...)
		case EndRound:
			for t := range w.tail {
				w.pipe[h][t] = append(w.pipe[h][t], marker{round: a.Round})
			}
		case Fixpoint:
			if !a.Replay {
				w.out[a.ID]++
			}
		}
	}
}

// move lets one random message go on; false: there is none.
func (w *world) move(snap func(ID, saved)) bool {
	type place struct{ h, t int }
	var ready []place
	for h := range w.heads {
		for t := range w.tail {
			if len(w.pipe[h][t]) > 0 && !w.stop[t].Passed(h) {
				ready = append(ready, place{h, t})
			}
		}
		if w.back[h].Len() > 0 {
			ready = append(ready, place{h, -1})
		}
	}
	if len(ready) == 0 {
		return false
	}
	p := ready[w.r.Intn(len(ready))]
	if p.t < 0 {
		m, _, err := w.back[p.h].Pop()
		if err != nil {
			panic(err)
		}
		w.step(p.h, m, snap)
		return true
	}
	m := w.pipe[p.h][p.t][0]
	w.pipe[p.h][p.t] = w.pipe[p.h][p.t][1:]
	switch m := m.(type) {
	case int:
		if m == 0 {
			return true
		}
		for range fan {
			w.tail[p.t].Sent(1)
			// By content, as an exchange does.
			w.push((m-1)%len(w.heads), Feedback{Tail: p.t, Record: []byte(strconv.Itoa(m - 1))})
		}
	case marker:
		if !w.stop[p.t].Pass(p.h) {
			return true
		}
		var back Message
		if m.barrier > 0 {
			back = w.tail[p.t].Return(p.t, m.barrier)
		} else {
			back = w.tail[p.t].EndRound(p.t, m.round)
		}
		for h := range w.heads {
			w.push(h, back)
		}
	}
	return true
}

func (w *world) push(h int, m Message) {
	if err := w.back[h].Push(m); err != nil {
		panic(err)
	}
}

// A loop is run with random input and checkpoints, is cut at any moment, and goes on from the newest
// complete snapshot with the input after it.
func TestRandomCutsAndRecoveries(t *testing.T) {
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		heads, tails := 1+r.Intn(3), 1+r.Intn(3)
		const epochs = 6
		var inputs [epochs + 1][]int
		want := map[int]int{}
		for e := 1; e <= epochs; e++ {
			for range r.Intn(4) {
				n := r.Intn(6)
				inputs[e] = append(inputs[e], n)
				for k, times := n, 1; k >= 0; k, times = k-1, times*fan {
					want[k] += times
				}
			}
		}
		snaps := map[ID][]saved{}
		from := ID(0) // the snapshot that the current run started from
		for run := 0; ; run++ {
			w := newWorld(r, heads, tails)
			byHead := map[ID]map[int]saved{}
			cur := 0
			snap := func(id ID, s saved) {
				if byHead[id] == nil {
					byHead[id] = map[int]saved{}
				}
				byHead[id][cur] = s
				if len(byHead[id]) == heads {
					var all []saved
					for h := range heads {
						all = append(all, byHead[id][h])
					}
					snaps[id] = all
				}
			}
			each := func(f func(h int)) {
				for h := range heads {
					cur = h
					f(h)
				}
			}
			each(func(h int) {
				var log [][]byte
				if old := snaps[from]; old != nil {
					w.counts[h], log = maps.Clone(old[h].counts), old[h].log
					w.owed[h] = slices.Clone(old[h].owed)
				}
				for _, r := range log {
					w.step(h, Logged{Record: r}, snap)
				}
				w.step(h, Restore{}, snap)
			})
			budget := 1 << 30
			if run < 4 {
				budget = r.Intn(400)
			}
			move := func() bool {
				if budget--; budget <= 0 {
					return false
				}
				// The head that acts is known to snap.
				return w.moveAs(&cur, snap)
			}
			cut := false
			settle := func(done func() bool) {
				for !done() && !cut {
					if !move() {
						cut = true
					}
				}
			}
			admits := func() bool {
				for _, h := range w.heads {
					if !h.Admits() {
						return false
					}
				}
				return true
			}
			settle(admits)
			for e := from + 1; e <= epochs && !cut; e++ {
				for _, n := range inputs[e] {
					cur = n % heads
					w.step(cur, Input{Record: []byte(strconv.Itoa(n))}, snap)
				}
				each(func(h int) { w.step(h, Barrier{ID: e, Checkpoint: true}, snap) })
				settle(admits)
				if !cut && w.out[e] != heads {
					t.Fatalf("seed %d: epoch %d left %d of %d heads", seed, e, w.out[e], heads)
				}
				if !cut && r.Intn(2) == 0 {
					each(func(h int) { w.step(h, Committed{ID: e}, snap) })
				}
			}
			if !cut {
				got := map[int]int{}
				for _, c := range w.counts {
					for k, v := range c {
						got[k] += v
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("seed %d: counted %v, want %v", seed, got, want)
				}
				each(func(h int) {
					w.step(h, Committed{ID: epochs}, snap)
					if n := w.heads[h].Logged(); n > 0 {
						t.Fatalf("seed %d: %d records are still logged", seed, n)
					}
				})
				break
			}
			for id := range snaps {
				from = max(from, id)
			}
		}
	}
}

// moveAs is move that says which head acts.
func (w *world) moveAs(cur *int, snap func(ID, saved)) bool {
	return w.move(func(id ID, s saved) {
		*cur = w.acting
		snap(id, s)
	})
}
