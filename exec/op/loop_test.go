package op

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand"
	"slices"
	"sort"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// loopWorld is a loop around a LoopHead: its body follows the edges of a graph.
type loopWorld struct {
	t     *testing.T
	cfg   LoopHeadConfig
	h     *LoopHead
	state memState
	edges map[[2]int64]int64
	rows  map[int64]int64 // what the body has
	sent  []byte          // all that the head has sent, to be compared between runs
	back  [][2]int64      // rows that come back, with their diffs
	out   map[string]int64
}

func (w *loopWorld) Watermark(exec.Watermark) error { return nil }
func (w *loopWorld) Barrier(exec.Barrier) error     { return nil }

// Chunk is the body.
func (w *loopWorld) Chunk(c *vec.Chunk) error {
	for i := range c.Len() {
		x, d := c.Cols[0].Int[i], c.Diff(i)
		w.sent = fmt.Appendf(w.sent, "%d:%d ", x, d)
		if w.rows[x] += d; w.rows[x] < 0 {
			w.t.Fatalf("the loop has row %d %d times", x, w.rows[x])
		}
		for _, e := range w.from(x) {
			w.back = append(w.back, [2]int64{e[1], d * w.edges[e]})
		}
	}
	return nil
}

func (w *loopWorld) from(x int64) (es [][2]int64) {
	for e, n := range w.edges {
		if e[0] == x && n > 0 {
			es = append(es, e)
		}
	}
	sort.Slice(es, func(i, k int) bool { return es[i][1] < es[k][1] })
	return es
}

// edge changes the graph; the body sends what that changes at once.
func (w *loopWorld) edge(e [2]int64, d int64) {
	w.edges[e] += d
	if n := w.rows[e[0]]; n > 0 {
		w.back = append(w.back, [2]int64{e[1], d * n})
	}
}

func (w *loopWorld) open() {
	var err error
	if w.h, err = NewLoopHead(w.cfg); err != nil {
		w.t.Fatal(err)
	}
	ctx := &exec.Context{
		Ctx: context.Background(), Logger: slog.Default(), ChunkSize: 3, MemoryBudget: 1,
		State: func(name string) exec.StateTable { return w.state.open(name) },
	}
	if err := w.h.Open(ctx, w); err != nil {
		w.t.Fatal(err)
	}
}

func (w *loopWorld) apply(rows [][2]int64) {
	c := vec.NewChunk(w.cfg.In, 0)
	for _, r := range rows {
		c.AppendRow([]types.Datum{types.DInt(r[0])}, r[1])
	}
	if c.Len() > 0 {
		if err := w.h.Chunk(0, c); err != nil {
			w.t.Fatal(err)
		}
	}
}

// iterate runs an epoch to its fixpoint.
func (w *loopWorld) iterate(base [][2]int64) {
	w.apply(base)
	for phase := 1; phase <= w.h.Phases(); phase++ {
		for {
			back := w.back
			w.back = nil
			w.apply(back)
			n, err := w.h.Round(phase)
			if err != nil {
				w.t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
	}
	err := w.h.Settle(func(c *vec.Chunk) error {
		for i := range c.Len() {
			w.out[vec.FormatRow(c, i)] += c.Diff(i)
			w.sent = fmt.Appendf(w.sent, "[%s %d] ", vec.FormatRow(c, i), c.Diff(i))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// What has left the loop is the result of the recursion over random graphs, after any changes, with and without
// restarts at checkpoints; and two runs send the same bytes.
func TestLoopHeadRandom(t *testing.T) {
	for seed := range int64(60) {
		run := func() []byte {
			r := rand.New(rand.NewSource(seed))
			all := seed%2 == 0
			w := &loopWorld{
				t: t, cfg: LoopHeadConfig{In: []types.Type{types.T(types.Int8)}, All: all, Ordinal: all && seed%4 == 0},
				state: memState{}, edges: map[[2]int64]int64{}, rows: map[int64]int64{}, out: map[string]int64{},
			}
			w.open()
			start := map[int64]int64{}
			for range 20 {
				var base [][2]int64
				for range r.Intn(4) {
					x, d := int64(r.Intn(6)), int64(1)
					if start[x] > 0 && r.Intn(2) == 0 {
						d = -1
					}
					start[x] += d
					base = append(base, [2]int64{x, d})
				}
				for range r.Intn(5) {
					e := [2]int64{int64(r.Intn(6)), int64(r.Intn(6))}
					if all && e[0] >= e[1] {
						continue // counting rows needs a graph without cycles
					}
					if w.edges[e] > 0 && r.Intn(2) == 0 {
						w.edge(e, -1)
					} else {
						w.edge(e, 1)
					}
				}
				w.iterate(base)
				checkLoop(t, w, start, all)
				if r.Intn(3) == 0 {
					saved := []string{"a", "b"}[:r.Intn(3)]
					err := w.h.Save(func(yield func([]byte, error) bool) {
						for _, rec := range saved {
							if !yield([]byte(rec), nil) {
								return
							}
						}
					})
					if err != nil {
						t.Fatal(err)
					}
					w.state.checkpoint()
					w.h.Close()
					w.open()
					log := []string{}
					err = w.h.Log(func(rec []byte) error {
						log = append(log, string(rec))
						return nil
					})
					if err != nil || !slices.Equal(log, saved) {
						t.Fatalf("log %q, want %q: %v", log, saved, err)
					}
				}
			}
			return w.sent
		}
		if a, b := run(), run(); string(a) != string(b) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

func checkLoop(t *testing.T, w *loopWorld, start map[int64]int64, all bool) {
	t.Helper()
	want := map[int64]int64{}
	work := map[int64]int64{}
	for x, n := range start {
		if n > 0 {
			work[x] = n
		}
	}
	for len(work) > 0 {
		next := map[int64]int64{}
		for x, n := range work {
			if !all && want[x] > 0 {
				continue
			}
			if !all {
				n = 1
			}
			want[x] += n
			for _, e := range w.from(x) {
				next[e[1]] += n * w.edges[e]
			}
		}
		work = next
	}
	expect := map[string]int64{}
	for x, n := range want {
		switch {
		case w.cfg.Ordinal:
			for k := range n {
				expect[fmt.Sprintf("%d,%d", x, k+1)] = 1
			}
		default:
			expect[fmt.Sprint(x)] = n
		}
	}
	for row, n := range w.out {
		if n == 0 {
			delete(w.out, row)
		}
	}
	if len(expect) != len(w.out) {
		t.Fatalf("outside there is %v, want %v", w.out, expect)
	}
	total := func(m map[string]int64) (n int64) {
		for _, x := range m {
			n += x
		}
		return n
	}
	if total(expect) != total(w.out) {
		t.Fatalf("outside there is %v, want %v", w.out, expect)
	}
}
