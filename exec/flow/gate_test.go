package flow

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/storage"
)

// seen writes down what a gate delivers. A chunk is known by the number in its first row.
type seen struct {
	lines []string
	fail  string // the line at which it gives an error
}

func (s *seen) add(format string, args ...any) error {
	l := fmt.Sprintf(format, args...)
	s.lines = append(s.lines, l)
	if l == s.fail {
		return fmt.Errorf("failed at %q", l)
	}
	return nil
}

func (s *seen) chunk(port int, p *parcel) error {
	return s.add("port %d: chunk %d", port, p.chunk.Cols[0].Int[0])
}

func (s *seen) watermark(port int, w exec.Watermark) error {
	return s.add("port %d: column %d from %d", port, w.Col, w.Value)
}

func (s *seen) barrier(b exec.Barrier) error {
	if b.Checkpoint {
		return s.add("barrier %d checkpoint", b.Epoch)
	}
	return s.add("barrier %d", b.Epoch)
}

func numberedParcel(n int64) *parcel {
	p := newParcelPool(tableTypes[:1], 1, 0).get()
	p.chunk.Cols[0].AppendInt(n)
	p.chunk.PushDiff(1)
	return p
}

// TestGate runs the scripts of testdata/gate. Commands:
//
//	new ports=(0,0,1) [alignment=blocking] [memory=n] [disk] [full]
//	                               a gate of one producer for each number, which is its port; early arrivals have that many
//	                               bytes of memory, and then a disk, which may be full
//	send                           messages, one a line; what is delivered is printed:
//	  SLOT chunk N | SLOT barrier E [checkpoint] | SLOT mark COL VALUE
//	                               with "again" or "zombie" before it, a message comes twice or from an older generation
//	held                           what the gate holds, and what it has dropped
//	queued                         by producer, the chunks that are in the inbox or held
func TestGate(t *testing.T) {
	datadriven.Walk(t, "testdata/gate", func(t *testing.T, path string) {
		var g *gate
		var in *inbox
		var feeds []*feed
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				var ports []int
				for _, a := range d.CmdArgs {
					if a.Key != "ports" {
						continue
					}
					for _, v := range a.Vals {
						var p int
						if _, err := fmt.Sscan(v, &p); err != nil {
							t.Fatal(err)
						}
						ports = append(ports, p)
					}
				}
				var alignment string
				d.MaybeScanArgs(t, "alignment", &alignment)
				cfg := gateConfig{ports: ports, memory: 1 << 20}
				if alignment == "blocking" {
					cfg.alignment = Blocking
				}
				d.MaybeScanArgs(t, "memory", &cfg.memory)
				if d.HasArg("disk") || d.HasArg("full") {
					cfg.spill = testSpill(t)
					if d.HasArg("full") {
						cfg.spill.limit = 0
					}
				}
				in = newInbox(len(ports), 0)
				g, feeds = testGate(in, cfg)
				return ""
			case "held":
				memory, spilled := g.ch.Bytes()
				return fmt.Sprintf("%d bytes in memory, %d messages on disk; dropped: %+v\n", memory, spilled, g.ch.Dropped())
			case "queued":
				var b strings.Builder
				for slot := range g.port {
					fmt.Fprintf(&b, "%d ", in.queued[slot])
				}
				return b.String() + "\n"
			case "send":
				s := &seen{}
				for line := range strings.Lines(d.Input) {
					if err := sendLine(feeds, line); err != nil {
						t.Fatal(err)
					}
					ms, err := in.take()
					if err != nil {
						t.Fatal(err)
					}
					for _, m := range ms {
						if err := g.deliver(m, s); err != nil {
							_ = s.add("error: %v", err)
						}
					}
				}
				return strings.Join(append(s.lines, ""), "\n")
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// testGate makes a gate and the producers' ends of its channel. They begin at epoch 1.
func testGate(in *inbox, cfg gateConfig) (*gate, []*feed) {
	var feeds []*feed
	for slot := range cfg.ports {
		f := &feed{in: in, slot: slot}
		f.start(channel.ProducerID(slot+1), 2, 1)
		feeds = append(feeds, f)
		at := f.stamp.Position()
		at.Version = 0
		cfg.from = append(cfg.from, at)
	}
	return newGate(in, cfg), feeds
}

// testSpill makes a spill on a disk in memory.
func testSpill(t *testing.T) *spill {
	store, err := storage.Open(storage.Config{Dir: "db", FS: storage.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &spill{limit: 1 << 20, open: func() (*storage.TempFile, error) { return store.TempFile("spill") }}
	t.Cleanup(s.close)
	return s
}

// sendLine sends a message of a script.
func sendLine(feeds []*feed, line string) error {
	w := strings.Fields(line)
	how := ""
	if len(w) > 0 && (w[0] == "again" || w[0] == "zombie") {
		how, w = w[0], w[1:]
	}
	if len(w) < 3 {
		return fmt.Errorf("message %q", line)
	}
	var slot int
	var a, b int64
	if _, err := fmt.Sscan(w[0], &slot); err != nil {
		return err
	}
	if _, err := fmt.Sscan(w[2], &a); err != nil {
		return err
	}
	f := feeds[slot]
	if how == "again" {
		// The message before this one, once more.
		at := f.stamp.Position()
		at.Seq--
		f = &feed{in: f.in, slot: slot, stamp: channel.NewStamp(at)}
	}
	if how == "zombie" {
		at := f.stamp.Position()
		at.Generation--
		f = &feed{in: f.in, slot: slot, stamp: channel.NewStamp(at)}
	}
	switch w[1] {
	case "chunk":
		return f.chunk(numberedParcel(a))
	case "barrier":
		return f.barrier(&exec.Barrier{Epoch: storage.Epoch(a), Checkpoint: len(w) > 3})
	case "mark":
		if _, err := fmt.Sscan(w[3], &b); err != nil {
			return err
		}
		return f.watermark(exec.Watermark{Col: int(a), Value: b})
	}
	return fmt.Errorf("message %q", line)
}

// TestGateAligns checks the invariant for random producers, with both ways of aligning and with little memory for
// what is early: between two barriers the operators see what each producer sent between them, in its order.
func TestGateAligns(t *testing.T) {
	disk := testSpill(t)
	for seed := range int64(600) {
		rng := rand.New(rand.NewSource(seed))
		slots := 1 + rng.Intn(4)
		in := newInbox(slots, 0)
		cfg := gateConfig{ports: make([]int, slots), alignment: Alignment(rng.Intn(2)), memory: int64(rng.Intn(100))}
		if rng.Intn(2) == 0 {
			cfg.spill = disk
			cfg.spill.limit = int64(rng.Intn(200))
		}
		g, feeds := testGate(in, cfg)
		const epochs = 6
		want := make([][][]int64, epochs) // by epoch and slot
		var queues [][]message
		next := int64(0)
		for s := range slots {
			var q []message
			for e := range epochs {
				want[e] = append(want[e], nil)
				for range rng.Intn(4) {
					next++
					want[e][s] = append(want[e][s], next)
					q = append(q, message{slot: s, head: feeds[s].stamp.Data(), chunk: numberedParcel(next)})
				}
				q = append(q, message{slot: s, head: feeds[s].stamp.Marker(), barrier: &exec.Barrier{Epoch: storage.Epoch(e + 1)}})
			}
			queues = append(queues, q)
		}
		owner := map[int64]int{}
		for _, by := range want {
			for s, ns := range by {
				for _, n := range ns {
					owner[n] = s
				}
			}
		}
		k := &epochCollector{}
		for len(slices.Concat(queues...)) > 0 {
			s := rng.Intn(slots)
			if len(queues[s]) == 0 {
				continue
			}
			if err := g.deliver(queues[s][0], k); err != nil {
				t.Fatal(seed, err)
			}
			queues[s] = queues[s][1:]
		}
		if len(k.epochs) != epochs || len(k.open) > 0 {
			t.Fatalf("seed %d: %d epochs, %d chunks after the last", seed, len(k.epochs), len(k.open))
		}
		for e, got := range k.epochs {
			by := make([][]int64, slots)
			for _, n := range got {
				by[owner[n]] = append(by[owner[n]], n)
			}
			if fmt.Sprint(by) != fmt.Sprint(want[e]) {
				t.Fatalf("seed %d: epoch %d: got %v, want %v", seed, e+1, by, want[e])
			}
		}
		for s := range slots {
			if n := in.queued[s]; n != -countOf(want, s) {
				t.Fatalf("seed %d: slot %d: %d chunks released, want %d", seed, s, -n, countOf(want, s))
			}
		}
		if m, n := g.ch.Bytes(); m != 0 || n != 0 {
			t.Fatalf("seed %d: %d bytes, %d messages still held", seed, m, n)
		}
	}
}

func countOf(want [][][]int64, slot int) int {
	n := 0
	for _, by := range want {
		n += len(by[slot])
	}
	return n
}

// epochCollector is events that collects chunks by epoch.
type epochCollector struct {
	open   []int64
	epochs [][]int64
}

func (k *epochCollector) chunk(_ int, p *parcel) error {
	k.open = append(k.open, p.chunk.Cols[0].Int[0])
	return nil
}
func (k *epochCollector) watermark(int, exec.Watermark) error { return nil }
func (k *epochCollector) barrier(b exec.Barrier) error {
	k.epochs = append(k.epochs, k.open)
	k.open = nil
	if int(b.Epoch) != len(k.epochs) {
		return fmt.Errorf("barrier %d after %d", b.Epoch, len(k.epochs)-1)
	}
	return nil
}

var _ events = (*seen)(nil)

// TestParcelReuse checks that a parcel is used again only when its last holder, and the last view of it,
// is done.
func TestParcelReuse(t *testing.T) {
	pool, views := newParcelPool(tableTypes, 4, 8), newViewPool(8)
	p := pool.get()
	p.chunk.Cols[0].AppendInt(7)
	p.chunk.SetLen(1)
	v := views.show(p, []int{0})
	v.refs.Add(1) // two consumers
	p.release()
	if q := pool.get(); q == p {
		t.Fatal("reused while a view shows it")
	}
	v.release()
	if q := pool.get(); q == p {
		t.Fatal("reused while one consumer of the view has not finished")
	}
	if v.chunk.Cols[0].Int[0] != 7 || v.chunk.Len() != 1 {
		t.Fatal("the view has changed")
	}
	v.release()
	if q := pool.get(); q != p || q.chunk.Len() != 0 || q.chunk.Cols[0].Len() != 0 {
		t.Fatal("not reused, or not empty")
	}
	if w := views.get(); w != v || w.lender != nil {
		t.Fatal("the view was not reused, or still holds its lender")
	}
}
