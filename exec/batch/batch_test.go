package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

var two = []types.Type{types.T(types.Int8), types.T(types.Int8)}

func testContext(ctx context.Context) *exec.Context {
	return &exec.Context{Ctx: ctx, ChunkSize: 3, Env: &exec.Env{}}
}

// pairs is a leaf with rows of two numbers, in chunks of up to three.
func pairs(rows [][2]int64) Leaf {
	return LeafFunc(func(_ *exec.Context, out func(*vec.Chunk) error) error {
		c := vec.NewChunk(two, 3)
		for len(rows) > 0 {
			n := min(3, len(rows))
			c.Reset()
			for _, r := range rows[:n] {
				c.AppendRow([]types.Datum{types.DInt(r[0]), types.DInt(r[1])}, 1)
			}
			rows = rows[n:]
			if err := out(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Joins of all kinds never take a row back when the right side runs first, so that consumers may count
// rows as they come.
func TestJoinsGiveNetRows(t *testing.T) {
	for seed := range int64(200) {
		rng := rand.New(rand.NewSource(seed))
		side := func() [][2]int64 {
			rows := make([][2]int64, rng.Intn(12))
			for i := range rows {
				rows[i] = [2]int64{rng.Int63n(6), rng.Int63n(3)}
			}
			return rows
		}
		left, right := side(), side()
		for _, kind := range []op.JoinKind{op.Inner, op.Left, op.Right, op.Full} {
			j, err := op.NewHashJoin(op.HashJoinConfig{
				Kind: kind, Left: two, Right: two, LeftKeys: []int{0}, RightKeys: []int{0},
				LeftAppendOnly: true, RightAppendOnly: true, Output: []int{0, 1, 2, 3}, BuildRight: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = Run(testContext(t.Context()), &Node{
				Op: j, BuildLast: true, In: []*Node{{Leaf: pairs(left)}, {Leaf: pairs(right)}},
			}, func(c *vec.Chunk) error {
				for i := range c.Len() {
					if c.Diff(i) != 1 {
						t.Errorf("seed %d: %v join: row (%s) has diff %d", seed, kind, vec.FormatRow(c, i), c.Diff(i))
					}
					got = append(got, vec.FormatRow(c, i))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want := nestedLoops(kind, left, right)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: %v join of %v and %v:\n got %v\nwant %v", seed, kind, left, right, got, want)
			}
		}
	}
}

// Who reads a result counts rows: one that is there several times comes several times, also out of a recursive query with
// UNION, where it comes once.
func TestResultsHaveNoDiffs(t *testing.T) {
	many := LeafFunc(func(_ *exec.Context, out func(*vec.Chunk) error) error {
		c := vec.NewChunk(two, 3)
		for i := range int64(3) {
			c.AppendRow([]types.Datum{types.DInt(i), types.DInt(0)}, 2*i+1)
		}
		return out(c)
	})
	var stats Stats
	collect := func(n *Node) (rows []string) {
		t.Helper()
		err := Run(testContext(t.Context()), n, func(c *vec.Chunk) error {
			if c.Len() == 0 || c.Len() > 3 {
				t.Errorf("a chunk of %d rows", c.Len())
			}
			for i := range c.Len() {
				if c.Diff(i) != 1 {
					t.Errorf("row (%s) has diff %d", vec.FormatRow(c, i), c.Diff(i))
				}
				rows = append(rows, vec.FormatRow(c, i))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if got, want := collect(&Node{Leaf: many, Stats: &stats}), []string{"0 0", "1 0", "1 0", "1 0", "2 0", "2 0", "2 0", "2 0", "2 0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if stats.Rows != 9 {
		t.Errorf("%d rows were counted, not 9", stats.Rows)
	}
	loop := &Loop{Types: two, Base: &Node{Leaf: many}, Seen: func() Set { return op.NewRowSet(two) }, Step: func(work Leaf) (*Node, error) { return &Node{Leaf: work}, nil }}
	if got, want := collect(&Node{Loop: loop}), []string{"0 0", "1 0", "2 0"}; !slices.Equal(got, want) {
		t.Errorf("loop: got %v, want %v", got, want)
	}
	back := LeafFunc(func(_ *exec.Context, out func(*vec.Chunk) error) error {
		c := vec.NewChunk(two, 1)
		c.AppendRow([]types.Datum{types.DInt(1), types.DInt(1)}, -1)
		return out(c)
	})
	if err := Run(testContext(t.Context()), &Node{Leaf: back}, func(*vec.Chunk) error { return nil }); err == nil {
		t.Error("a result takes a row back")
	}
}

func nestedLoops(kind op.JoinKind, left, right [][2]int64) []string {
	var out []string
	matched := make([]bool, len(right))
	for _, l := range left {
		any := false
		for i, r := range right {
			if l[0] == r[0] {
				any, matched[i] = true, true
				out = append(out, fmt.Sprint(l[0], l[1], r[0], r[1]))
			}
		}
		if !any && (kind == op.Left || kind == op.Full) {
			out = append(out, fmt.Sprintf("%d %d NULL NULL", l[0], l[1]))
		}
	}
	for i, r := range right {
		if !matched[i] && (kind == op.Right || kind == op.Full) {
			out = append(out, fmt.Sprintf("NULL NULL %d %d", r[0], r[1]))
		}
	}
	slices.Sort(out)
	return out
}

// first passes the first n rows on and wants no more then.
type first struct {
	n      int
	out    exec.Output
	events []string
	fail   error
}

func (f *first) Schema() []types.Type { return two }
func (f *first) Open(_ *exec.Context, out exec.Output) error {
	f.out = out
	return nil
}

func (f *first) Chunk(port int, c *vec.Chunk) error {
	f.events = append(f.events, fmt.Sprintf("chunk %d", port))
	if f.fail != nil {
		return f.fail
	}
	f.n -= c.Len()
	return f.out.Chunk(c)
}
func (f *first) Watermark(int, exec.Watermark) error { return nil }
func (f *first) Barrier(b exec.Barrier) error {
	f.events = append(f.events, "barrier")
	return f.out.Barrier(b)
}
func (f *first) Close()     { f.events = append(f.events, "close") }
func (f *first) Full() bool { return f.n <= 0 }

// An operator that is full ends its inputs, not those beside it, and still gets its barrier.
func TestEnoughRows(t *testing.T) {
	rows := make([][2]int64, 30)
	inner, outer := &first{n: 4}, &first{n: 100}
	all, err := Collect(testContext(t.Context()), &Node{Op: outer, In: []*Node{
		{Op: inner, In: []*Node{{Leaf: pairs(rows)}, {Leaf: pairs(rows)}}},
		{Leaf: pairs(rows[:2])},
	}})
	if err != nil || all.Len() != 6+2 {
		t.Fatalf("%v rows, error %v", all, err)
	}
	if got := fmt.Sprint(inner.events); got != "[chunk 0 chunk 0 barrier close]" {
		t.Errorf("inner: %s", got)
	}
	if got := fmt.Sprint(outer.events); got != "[chunk 0 chunk 0 chunk 1 barrier close]" {
		t.Errorf("outer: %s", got)
	}
	// A full one does not even start its inputs.
	none := &first{}
	if all, err := Collect(testContext(t.Context()), &Node{Op: none, In: []*Node{{Leaf: pairs(rows)}}}); all != nil || err != nil {
		t.Errorf("%v %v", all, err)
	}
}

// Errors end the run, and everything that was opened is closed; a long run notices that its context has
// ended.
func TestErrors(t *testing.T) {
	bad := errors.New("bad")
	lower, upper := &first{n: 100, fail: bad}, &first{n: 100}
	_, err := Collect(testContext(t.Context()), &Node{Op: upper, In: []*Node{{Op: lower, In: []*Node{{Leaf: pairs(make([][2]int64, 1))}}}}})
	if !errors.Is(err, bad) {
		t.Error(err)
	}
	if got := fmt.Sprint(lower.events, upper.events); got != "[chunk 0 close] [close]" {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endless := LeafFunc(func(_ *exec.Context, out func(*vec.Chunk) error) error {
		c := vec.NewChunk(two, 1000)
		c.Cols[0].Resize(1000)
		c.Cols[1].Resize(1000)
		c.SetLen(1000)
		for {
			if err := out(c); err != nil {
				return err
			}
		}
	})
	if err := Run(testContext(ctx), &Node{Op: &first{n: 1 << 40}, In: []*Node{{Leaf: endless}}}, func(*vec.Chunk) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
