package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// tempFiles makes files in memory and counts those that are open.
type tempFiles struct {
	open, made int
	// limit is how many bytes all of them may have; 0: no limit.
	limit, bytes int64
}

type tempFile struct {
	fs *tempFiles
	b  []byte
}

func (fs *tempFiles) make() (exec.TempFile, error) {
	fs.open++
	fs.made++
	return &tempFile{fs: fs}, nil
}

func (f *tempFile) WriteAt(p []byte, off int64) (int, error) {
	if f.fs.bytes += int64(len(p)); f.fs.limit > 0 && f.fs.bytes > f.fs.limit {
		return 0, fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	if n := int(off) + len(p); n > len(f.b) {
		f.b = append(f.b, make([]byte, n-len(f.b))...)
	}
	return copy(f.b[off:], p), nil
}

func (f *tempFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(p, off)
}

func (f *tempFile) Close() error {
	f.fs.open--
	return nil
}

// spillTypes are a key of few values, one of many, a text and a number that may be equal and differ.
var spillTypes = []types.Type{types.T(types.Int8), types.T(types.Int8), types.T(types.Text), types.T(types.Numeric)}

func spillRows(r *rand.Rand, n int) []*vec.Chunk {
	var out []*vec.Chunk
	many := 1 + r.Int63n(int64(n)+1)
	few := 1 + r.Int63n(8)
	texts := []string{"", "a", "b", strings.Repeat("long ", 40)}
	for n > 0 {
		c := vec.NewChunk(spillTypes, 0)
		for range min(n, 1+r.Intn(50)) {
			n--
			row := []types.Datum{
				types.DInt(r.Int63n(few)), types.DInt(r.Int63n(many)),
				types.DStr(texts[r.Intn(len(texts))]), number(r),
			}
			for k := range row {
				if r.Intn(12) == 0 {
					row[k] = types.Null
				}
			}
			d := int64(1)
			if r.Intn(10) == 0 {
				d = 1 + r.Int63n(3)
			}
			c.AppendRow(row, d)
		}
		out = append(out, c)
	}
	return out
}

// number is 0 to 4, as an integer or with a digit.
func number(r *rand.Rand) types.Datum {
	n := r.Int63n(5)
	if r.Intn(2) == 0 {
		return types.DDec(types.NewDecimal(n, 0))
	}
	return types.DDec(types.NewDecimal(10*n, 1))
}

func leafOf(chunks []*vec.Chunk) *Node {
	return &Node{Leaf: LeafFunc(func(_ *exec.Context, out func(*vec.Chunk) error) error {
		for _, c := range chunks {
			if err := out(c); err != nil {
				return err
			}
		}
		return nil
	})}
}

func aggCall(t *testing.T, name string, distinct bool, args ...int) op.Agg {
	t.Helper()
	a := op.Agg{Args: args, Distinct: distinct, Filter: -1}
	for _, f := range fn.Default().All() {
		if f.Name != name || f.Kind != fn.Aggregate || len(f.Args) != len(args) {
			continue
		}
		ok := true
		for i, c := range args {
			ok = ok && (f.Args[i].Kind == spillTypes[c].Kind || len(args) == 1 && name == "count")
		}
		if ok {
			a.Fn = f
			return a
		}
	}
	t.Fatalf("no aggregate %s", name)
	return a
}

// spillCase is an operator that is run with and without room.
type spillCase struct {
	name string
	// ordered: the order of the rows counts.
	ordered bool
	inputs  int
	keys    [][]int
	// itself: the operator needs no driver.
	itself bool
	make   func() (exec.Operator, error)
	// instead: see Spill.
	instead func() (exec.Operator, exec.Operator, error)
}

func randomSpillCase(t *testing.T, r *rand.Rand) spillCase {
	keys := [][]int{{0}, {1}, {3}, {2, 3}, {1, 0}}[r.Intn(5)]
	c := spillCase{inputs: 1, keys: [][]int{keys}}
	switch r.Intn(5) {
	case 0:
		order := []vec.SortKey{{Col: r.Intn(4), Desc: r.Intn(2) == 0, NullsFirst: r.Intn(2) == 0}}
		if r.Intn(2) == 0 {
			order = append(order, vec.SortKey{Col: r.Intn(4), Desc: r.Intn(2) == 0})
		}
		c.name, c.ordered, c.itself = fmt.Sprintf("sort by %v", order), true, true
		c.make = func() (exec.Operator, error) { return op.NewSort(op.SortConfig{In: spillTypes, OrderBy: order}) }
	case 1:
		all := []op.Agg{
			{Fn: aggCall(t, "count", false).Fn, Filter: -1}, aggCall(t, "sum", false, 1), aggCall(t, "min", false, 2), aggCall(t, "max", false, 1),
			aggCall(t, "avg", false, 3), aggCall(t, "count", true, 1), aggCall(t, "sum", true, 1),
		}
		var aggs []op.Agg
		for range r.Intn(4) {
			aggs = append(aggs, all[r.Intn(len(all))])
		}
		cfg := op.HashAggConfig{In: spillTypes, Keys: keys, Aggs: aggs, AppendOnlyIn: r.Intn(2) == 0}
		c.make = func() (exec.Operator, error) { return op.NewHashAgg(cfg) }
		o, err := op.NewHashAgg(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.itself = o.Fixed()
		c.name = fmt.Sprintf("group by %v, %d aggregates, fixed %v", keys, len(aggs), c.itself)
	case 2:
		kind := op.JoinKind(r.Intn(6))
		cfg := op.HashJoinConfig{
			Kind: kind, Left: spillTypes, Right: spillTypes, LeftKeys: keys, RightKeys: keys, LeftAppendOnly: true, RightAppendOnly: true,
			Output: []int{0, 1, 2, 3}, BuildRight: true,
		}
		if kind != op.Semi && kind != op.Anti {
			cfg.Output = []int{0, 1, 2, 3, 4, 5, 6, 7}
		}
		if r.Intn(2) == 0 {
			cfg.NullSafe = make([]bool, len(keys))
			cfg.NullSafe[0] = true
		}
		c.name, c.inputs, c.keys = fmt.Sprintf("join of kind %d on %v", kind, keys), 2, [][]int{keys, keys}
		c.make = func() (exec.Operator, error) { return op.NewHashJoin(cfg) }
	case 3:
		cfg := op.TopNConfig{
			In: spillTypes, GroupBy: keys, OrderBy: []vec.SortKey{{Col: 1}}, Limit: int64(r.Intn(4) - 1), AppendOnlyIn: r.Intn(2) == 0,
			RankOutput: r.Intn(2) == 0,
		}
		if cfg.Limit > 0 {
			cfg.WithTies = r.Intn(3) == 0
			cfg.Offset = r.Int63n(2)
		}
		c.name = fmt.Sprintf("top %d of %v", cfg.Limit, keys)
		if r.Intn(3) == 0 {
			// Without groups, in the order of all columns.
			cfg = op.TopNConfig{
				In: spillTypes, OrderBy: []vec.SortKey{{Col: 1}, {Col: 0}, {Col: 2}, {Col: 3}}, Limit: int64(r.Intn(2000) - 1), Offset: int64(r.Intn(500)),
				AppendOnlyIn: r.Intn(2) == 0,
			}
			c.name = fmt.Sprintf("first %d after %d", cfg.Limit, cfg.Offset)
			c.instead = func() (exec.Operator, exec.Operator, error) {
				s, err := op.NewSort(op.SortConfig{In: spillTypes, OrderBy: cfg.OrderBy})
				if err != nil {
					return nil, nil, err
				}
				l, err := op.NewLimit(op.LimitConfig{In: spillTypes, Limit: cfg.Limit, Offset: cfg.Offset})
				return s, l, err
			}
		}
		c.make = func() (exec.Operator, error) { return op.NewTopN(cfg) }
	case 4:
		cfg := op.WindowConfig{In: spillTypes, PartitionBy: keys, OrderBy: []vec.SortKey{{Col: 1}}}
		for _, a := range []op.Agg{{Fn: aggCall(t, "count", false).Fn}, aggCall(t, "sum", false, 1)} {
			cfg.Calls = append(cfg.Calls, op.WindowCall{
				Fn: a.Fn, Args: a.Args, Consts: make([]types.Datum, len(a.Args)), Filter: -1, Type: a.Fn.Ret,
				Frame: op.Frame{Unit: op.FrameRange, End: op.FrameBound{Kind: op.CurrentRow}},
			})
		}
		c.name = fmt.Sprintf("window over %v", keys)
		c.make = func() (exec.Operator, error) { return op.NewWindow(cfg) }
	}
	return c
}

func (c spillCase) run(ctx *exec.Context, inputs [][]*vec.Chunk) ([]string, error) {
	o, err := c.make()
	if err != nil {
		return nil, err
	}
	n := &Node{Op: o, BuildLast: c.inputs == 2}
	if !c.itself {
		n.Spill = &Spill{Keys: c.keys, New: c.make, Instead: c.instead}
	}
	for k := range c.inputs {
		n.In = append(n.In, leafOf(inputs[k]))
		if n.Spill != nil {
			n.Spill.In = append(n.Spill.In, spillTypes)
		}
	}
	var rows []string
	err = Run(ctx, n, func(ch *vec.Chunk) error {
		for i := range ch.Len() {
			rows = append(rows, vec.FormatRow(ch, i))
		}
		return nil
	})
	if !c.ordered {
		slices.Sort(rows)
	}
	return rows, err
}

// What does not fit gives the same rows as what does, whatever is divided and however often; nothing is left of the files, and the
// memory is given back.
func TestSpillsGiveTheSame(t *testing.T) {
	spilled := map[string]bool{}
	for seed := range int64(150) {
		r := rand.New(rand.NewSource(seed))
		c := randomSpillCase(t, r)
		inputs := [][]*vec.Chunk{spillRows(r, r.Intn(2000)), spillRows(r, r.Intn(700))}
		if c.inputs == 2 && strings.Contains(c.name, "[0]") {
			// A key of few values would join everything with everything.
			inputs = [][]*vec.Chunk{spillRows(r, r.Intn(200)), spillRows(r, r.Intn(200))}
		}
		plain := testContext(t.Context())
		plain.ChunkSize = 1 + r.Intn(100)
		want, err := c.run(plain, inputs)
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, c.name, err)
		}
		fs := &tempFiles{}
		all := exec.NewMemory(exec.MemoryConfig{Limit: math.MaxInt64, Strict: true})
		ctx := *plain
		ctx.Memory = exec.NewMemory(exec.MemoryConfig{Limit: 1 << 40, Strict: true, Parent: all})
		ctx.Temp, ctx.SpillOver = fs.make, []int64{100, 20_000, 80_000, 300_000}[r.Intn(4)]
		got, err := c.run(&ctx, inputs)
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, c.name, err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d, %s, over %d bytes: %d rows, not %d:\n got %.500v\nwant %.500v", seed, c.name, ctx.SpillOver, len(got), len(want), got, want)
		}
		if fs.open != 0 || all.Used() != 0 {
			t.Errorf("seed %d, %s: %d files are open, %d bytes held", seed, c.name, fs.open, all.Used())
		}
		if fs.made > 0 {
			kind, _, _ := strings.Cut(c.name, " ")
			spilled[kind] = true
		}
	}
	if len(spilled) != 6 {
		t.Errorf("only %v used files", spilled)
	}
}

// A full disk ends the statement with 53100, and so does a cancellation with its cause; nothing is left over.
func TestSpillsFail(t *testing.T) {
	cause := errors.New("canceled by the test")
	failed := 0
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		c := randomSpillCase(t, r)
		inputs := [][]*vec.Chunk{spillRows(r, 2000), spillRows(r, 500)}
		fs := &tempFiles{limit: 1}
		all := exec.NewMemory(exec.MemoryConfig{Limit: math.MaxInt64, Strict: true})
		ctx := testContext(t.Context())
		ctx.Memory = exec.NewMemory(exec.MemoryConfig{Limit: 1 << 40, Strict: true, Parent: all})
		ctx.Temp, ctx.SpillOver = fs.make, 100
		_, err := c.run(ctx, inputs)
		if fs.made == 0 {
			continue // a few groups, or nothing to do
		}
		failed++
		if err == nil || sqlerr.From(err).Code != sqlerr.DiskFull {
			t.Errorf("seed %d, %s: %v", seed, c.name, err)
		}
		fs.limit = 0
		cctx, cancel := context.WithCancelCause(t.Context())
		var files atomic.Int32
		ctx.Ctx, ctx.Temp = cctx, func() (exec.TempFile, error) {
			if files.Add(1) == 1 {
				cancel(cause)
			}
			return fs.make()
		}
		if _, err := c.run(ctx, inputs); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Errorf("seed %d, %s: %v", seed, c.name, err)
		}
		if fs.open != 0 || all.Used() != 0 {
			t.Errorf("seed %d, %s: %d files are open, %d bytes held", seed, c.name, fs.open, all.Used())
		}
	}
	if failed < 10 {
		t.Errorf("only %d cases used files", failed)
	}
}
