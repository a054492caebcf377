package flow

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// TestDispatcher sends random chunks over edges of all kinds, as an operator's output and as owned
// parcels, while consumers keep parcels for a random time: each gets its rows, in order, and none that it
// holds changes.
func TestDispatcher(t *testing.T) {
	ts := []types.Type{int8Type, types.T(types.Text), int8Type}
	for seed := range int64(200) {
		rng := rand.New(rand.NewSource(seed))
		d := &dispatcher{self: 1, types: ts, size: 4}
		m := &Mutation{addEdges: map[ActorID][]*edge{}, removeEdges: map[edgeID]bool{}}
		for k := range 1 + rng.Intn(4) {
			e := &edge{id: edgeID(k + 1), dist: Dist{Kind: DistKind(rng.Intn(4)), Cols: []int{rng.Intn(2)}}}
			if rng.Intn(2) == 0 {
				e.cols = [][]int{{}, {2}, {1, 0}, {2, 0, 1}}[rng.Intn(4)]
			}
			n := 1 + rng.Intn(4)
			if e.dist.Kind == ToPeer {
				n = 1
			}
			for range n {
				e.targets = append(e.targets, feed{in: newInbox(1, 0)})
			}
			m.addEdges[1] = append(m.addEdges[1], e)
		}
		must := func(err error) {
			if err != nil {
				t.Fatal(seed, err)
			}
		}
		must(d.Barrier(exec.Barrier{Epoch: 1, Mutation: m}))
		edges := slices.Clone(d.edges)
		want := map[*inbox][]string{}
		got := map[*inbox][]string{}
		expect := func(c *vec.Chunk) {
			for _, e := range edges {
				cols := e.cols
				if cols == nil {
					cols = []int{0, 1, 2}
				}
				var view vec.Chunk
				view.View(c, cols)
				hash := vec.HashCols(c, e.dist.Cols, nil)
				for i := range c.Len() {
					for k, to := range e.targets {
						switch {
						case e.dist.Kind == ToHash && Owner(vec.Vnode(hash[i]), len(e.targets)) != k:
						case (e.dist.Kind == ToSingle || e.dist.Kind == ToPeer) && k > 0:
						default:
							want[to.in] = append(want[to.in], row(&view, i))
						}
					}
				}
			}
		}
		type kept struct {
			p    *parcel
			text string
		}
		var held []kept
		drain := func(all bool) {
			for _, e := range edges {
				for _, to := range e.targets {
					if !all && rng.Intn(3) > 0 {
						continue
					}
					ms, err := to.in.take()
					must(err)
					for _, x := range ms {
						if x.chunk == nil {
							continue
						}
						for i := range x.chunk.chunk.Len() {
							got[to.in] = append(got[to.in], row(x.chunk.chunk, i))
						}
						held = append(held, kept{x.chunk, fmt.Sprint(rowsOf(x.chunk.chunk))})
						to.in.release(0, 0)
					}
				}
			}
			for len(held) > 0 && (all || rng.Intn(4) > 0) {
				k := rng.Intn(len(held))
				if now := fmt.Sprint(rowsOf(held[k].p.chunk)); now != held[k].text {
					t.Fatalf("seed %d: a parcel changed while it was held: %s, was %s", seed, now, held[k].text)
				}
				held[k].p.release()
				held = slices.Delete(held, k, k+1)
			}
		}
		pool := newParcelPool(ts, 4, 4)
		out := vec.NewChunk(ts, 4)
		for range 40 {
			p := pool.get()
			c := p.chunk
			owned := rng.Intn(2) == 0
			if !owned {
				p.release()
				c = out
				c.Reset()
			}
			for range rng.Intn(6) {
				diff := int64(1)
				if rng.Intn(4) == 0 {
					diff = -1
				}
				c.AppendRow([]types.Datum{types.DInt(rng.Int63n(9)), types.DStr(fmt.Sprint(rng.Intn(50))), types.DInt(rng.Int63())}, diff)
			}
			expect(c)
			if owned {
				must(d.own(p))
			} else {
				must(d.Chunk(c))
			}
			drain(false)
		}
		drain(true)
		for i, e := range edges {
			for k, to := range e.targets {
				if !slices.Equal(got[to.in], want[to.in]) {
					t.Fatalf("seed %d: edge %d %+v cols %v, target %d:\n got %v\nwant %v", seed, i, e.dist, e.cols, k, got[to.in], want[to.in])
				}
			}
		}
		// An edge that is removed sees the barrier that removes it, and nothing more.
		m = &Mutation{removeEdges: map[edgeID]bool{1: true}}
		must(d.Barrier(exec.Barrier{Epoch: 2, Mutation: m}))
		must(d.Barrier(exec.Barrier{Epoch: 3}))
		for i, e := range edges {
			ms, err := e.targets[0].in.take()
			must(err)
			if n := len(ms); i == 0 && n != 1 || i > 0 && n != 2 {
				t.Fatalf("seed %d: edge %d got %d barriers", seed, i, n)
			}
		}
	}
}

func row(c *vec.Chunk, i int) string { return fmt.Sprintf("%+d (%s)", c.Diff(i), vec.FormatRow(c, i)) }

func rowsOf(c *vec.Chunk) []string {
	var out []string
	for i := range c.Len() {
		out = append(out, row(c, i))
	}
	return out
}

// needed lists what some edge sends or hashes, and nothing for a dispatcher without edges.
func TestNeededColumns(t *testing.T) {
	d := &dispatcher{types: make([]types.Type, 5)}
	for _, step := range []struct {
		e    *edge
		want string
	}{
		{nil, "[]"},
		{&edge{cols: []int{}}, "[]"},
		{&edge{cols: []int{3}}, "[3]"},
		{&edge{cols: []int{1}, dist: Dist{Kind: ToHash, Cols: []int{4}}}, "[1 3 4]"},
		{&edge{cols: []int{1}, dist: Dist{Kind: ToAll, Cols: []int{2}}}, "[1 3 4]"},
		{&edge{}, "[0 1 2 3 4]"},
	} {
		if step.e != nil {
			d.edges = append(d.edges, step.e)
		}
		if got := fmt.Sprint(d.needed()); got != step.want {
			t.Errorf("%d edges: %s, want %s", len(d.edges), got, step.want)
		}
	}
}
