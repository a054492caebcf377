package op

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand"
	"os"
	"slices"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// A sharedWorld is a join whose sides are relations with arrangements: some are kept by the join, some are shared. Both
// relations have the columns k, n, v, w (int8), of which the key is k, or k and n.
type sharedWorld struct {
	t    *testing.T
	r    *rand.Rand
	kind JoinKind
	// shared, unique (the key is k alone) and stepped (rows are filtered and projected) by side.
	shared, unique, stepped [2]bool
	multiset                [2]bool
	residual, nullSafe      bool
	// twoKeys: n is compared too.
	twoKeys bool
	chunk   int
	budget  int64
	// ahead: a few rows are enough to read ahead.
	ahead bool

	store *storage.Store
	arr   [2]*storage.Arrangement
	epoch storage.Epoch
	// rows are the relations now, saved at the last checkpoint.
	rows, saved [2][][]types.Datum
	// sent is what the join has had of a relation that it is still being filled with: keys up to pos; nil: all.
	filling [2]bool
	pos     [2][]byte

	join       *HashJoin
	out        *checker
	state      memState
	savedState memState
	savedOut   map[string]int64
	savedRows  map[string][]types.Datum
}

var sharedTypes = mustTypes("int8 int8 int8 int8")

func (w *sharedWorld) key(p int) []SortKey {
	k := []SortKey{{Col: 0, Desc: p == 1}}
	if !w.unique[p] {
		k = append(k, SortKey{Col: 1, NullsFirst: true})
	}
	return k
}

// steps filter v < w, and put the columns in another order.
func (w *sharedWorld) steps(p int) []exec.Operator {
	if !w.stepped[p] {
		return nil
	}
	f, err := NewFilter(FilterConfig{In: sharedTypes, Pred: callOp(w.t, sharedTypes, "<", 2, 3)})
	if err != nil {
		w.t.Fatal(err)
	}
	var es []scalar.Expr
	for _, c := range []int{0, 1, 3, 2} {
		es = append(es, colExpr(sharedTypes, c))
	}
	pr, err := NewProject(ProjectConfig{In: sharedTypes, Exprs: es})
	if err != nil {
		w.t.Fatal(err)
	}
	return []exec.Operator{f, pr}
}

// input is what the join sees of rows of a relation.
func (w *sharedWorld) input(p int, rows [][]types.Datum) [][]types.Datum {
	if !w.stepped[p] {
		return rows
	}
	var out [][]types.Datum
	for _, r := range rows {
		if r[2].Valid && r[3].Valid && r[2].I < r[3].I {
			out = append(out, []types.Datum{r[0], r[1], r[3], r[2]})
		}
	}
	return out
}

func (w *sharedWorld) config(start [2]SharedStart) HashJoinConfig {
	cfg := HashJoinConfig{
		Kind: w.kind, Left: sharedTypes, Right: sharedTypes, LeftKeys: []int{0}, RightKeys: []int{0}, NullSafe: []bool{w.nullSafe},
		LeftRowKey: []int{0, 1}, RightRowKey: []int{0, 1}, LeftDist: []int{0}, RightDist: []int{0}, Output: []int{0, 1, 2, 3, 4, 5, 6, 7},
	}
	if w.twoKeys {
		cfg.LeftKeys, cfg.RightKeys, cfg.NullSafe = []int{0, 1}, []int{0, 1}, []bool{w.nullSafe, !w.nullSafe}
	}
	if w.multiset[0] {
		cfg.LeftRowKey = nil
	}
	if w.multiset[1] {
		cfg.RightRowKey = nil
	}
	if w.kind == Semi || w.kind == Anti {
		cfg.Output = []int{0, 1, 2, 3}
	}
	if w.multiset[0] {
		// Rows that differ in the columns that are left out become equal.
		cfg.Output = slices.DeleteFunc(cfg.Output, func(c int) bool { return c == 1 })
	}
	if w.residual {
		all := append(append([]types.Type{}, sharedTypes...), sharedTypes...)
		cfg.Residual = callOp(w.t, all, "<", 2, 6)
	}
	for p, to := range []**SharedSide{&cfg.LeftShared, &cfg.RightShared} {
		if !w.shared[p] {
			continue
		}
		key := w.key(p)
		if !w.twoKeys {
			key = key[:1]
		}
		*to = &SharedSide{
			Relation: sharedTypes, Cols: []int{0, 1, 2, 3}, Steps: w.steps(p), Key: key, Unique: w.unique[p] || w.twoKeys,
			VersionAt: w.arr[p].VersionAt, Start: start[p],
			Seen: func() ([]byte, bool) { return w.pos[p], !w.filling[p] },
		}
	}
	return cfg
}

func (w *sharedWorld) naive() [][]types.Datum {
	cfg := w.config([2]SharedStart{})
	return naiveJoin(cfg, w.input(0, w.rows[0]), w.input(1, w.rows[1]), func(l, r []types.Datum) bool {
		return !w.residual || l[2].Valid && r[2].Valid && l[2].I < r[2].I
	})
}

func (w *sharedWorld) open(start [2]SharedStart) {
	j, err := NewHashJoin(w.config(start))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.out == nil {
		w.out = newChecker(w.t, j.Schema())
	}
	ctx := &exec.Context{
		Ctx: context.Background(), Logger: slog.Default(), ChunkSize: w.chunk, MemoryBudget: w.budget, Env: &exec.Env{}, State: w.state.open,
		RowError: func(exec.RowFailure) error { return nil },
	}
	if err := j.Open(ctx, w.out); err != nil {
		w.t.Fatal(err)
	}
	if w.ahead {
		j.batch.least = 1
	}
	w.join = j
}

func (w *sharedWorld) encode(p int, row []types.Datum) (key, val []byte) {
	c := vec.NewChunk(sharedTypes, 1)
	c.AppendRow(row, 1)
	return vec.EncodeKey(nil, c.Cols, 0, w.key(p)), vec.EncodeRow(nil, c.Cols, 0)
}

// same tells whether two rows have one key.
func (w *sharedWorld) same(p int, a, b []types.Datum) bool {
	ka, _ := w.encode(p, a)
	kb, _ := w.encode(p, b)
	return string(ka) == string(kb)
}

// send gives changes to the join, those of rows that it has (or is about to have): through the filter.
func (w *sharedWorld) send(p int, rows []testRow) {
	if w.join == nil {
		return
	}
	in := vec.NewChunk(sharedTypes, 0)
	flush := func() {
		if in.Len() == 0 {
			return
		}
		if err := w.join.Chunk(p, in); err != nil {
			w.t.Fatal(err)
		}
		in = vec.NewChunk(sharedTypes, 0)
	}
	for _, r := range rows {
		if w.filling[p] {
			key, _ := w.encode(p, r.row)
			if w.pos[p] == nil || string(key) > string(w.pos[p]) {
				continue
			}
		}
		for _, x := range w.input(p, [][]types.Datum{r.row}) {
			in.AppendRow(x, r.diff)
		}
		if in.Len() >= w.chunk {
			flush()
		}
	}
	flush()
}

func (w *sharedWorld) datum(n int) types.Datum {
	if w.r.Intn(8) == 0 {
		return types.Null
	}
	return types.DInt(int64(w.r.Intn(n)))
}

// change makes random changes of a relation, and sends them.
func (w *sharedWorld) change(p int) {
	var rows []testRow
	for range w.r.Intn(4) {
		row := []types.Datum{w.datum(6), w.datum(4), w.datum(5), w.datum(5)}
		at := slices.IndexFunc(w.rows[p], func(o []types.Datum) bool { return w.same(p, o, row) })
		if w.r.Intn(3) == 0 && len(w.rows[p]) > 0 {
			at = w.r.Intn(len(w.rows[p]))
			row = nil
		}
		var old []types.Datum
		if at >= 0 {
			old = w.rows[p][at]
			w.rows[p] = slices.Delete(slices.Clone(w.rows[p]), at, at+1)
			if row != nil && w.r.Intn(2) == 0 {
				row[1] = old[1] // a change of the other columns
			}
			if row != nil && !w.same(p, old, row) {
				row = nil
			}
		}
		ds := []testRow{}
		if old != nil {
			ds = append(ds, testRow{p, old, -1})
		}
		if row != nil {
			ds = append(ds, testRow{p, row, 1})
			w.rows[p] = append(w.rows[p], row)
		}
		if len(ds) == 2 && w.r.Intn(4) == 0 {
			slices.Reverse(ds) // the new row may come first
		}
		rows = append(rows, ds...)
	}
	w.send(p, rows)
}

// barrier ends the epoch.
func (w *sharedWorld) barrier(checkpoint bool) {
	w.epoch++
	for p, a := range w.arr {
		want := map[string][]byte{}
		for _, r := range w.rows[p] {
			k, v := w.encode(p, r)
			want[string(k)] = v
		}
		var cs []storage.Change
		err := a.HeadScan(nil, nil, func(k, _ []byte) error {
			if want[string(k)] == nil {
				cs = append(cs, storage.Change{Key: slices.Clone(k), Delete: true})
			}
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		for k, v := range want {
			cs = append(cs, storage.Change{Key: []byte(k), Value: v})
		}
		a.Apply(cs)
		a.Seal(w.epoch, checkpoint)
	}
	if w.join != nil {
		if err := w.join.Barrier(exec.Barrier{Epoch: w.epoch, Checkpoint: checkpoint}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.store.SetCompleted(w.epoch)
	if !checkpoint {
		return
	}
	if err := w.store.Commit(context.Background(), storage.Commit{Epoch: w.epoch}); err != nil {
		w.t.Fatal(err)
	}
	w.state.checkpoint()
	w.saved = [2][][]types.Datum{slices.Clone(w.rows[0]), slices.Clone(w.rows[1])}
	w.savedState, w.savedOut, w.savedRows = w.state.clone(), map[string]int64{}, map[string][]types.Datum{}
	if w.out != nil {
		for k, n := range w.out.acc {
			w.savedOut[k], w.savedRows[k] = n, w.out.rows[k]
		}
	}
}

// back takes the join to the last checkpoint.
func (w *sharedWorld) back() {
	w.join.Close()
	w.state = w.savedState.clone()
	w.out = &checker{t: w.t, schema: w.out.schema, epoch: w.out.epoch, acc: map[string]int64{}, rows: map[string][]types.Datum{}}
	for k, n := range w.savedOut {
		w.out.acc[k], w.out.rows[k] = n, w.savedRows[k]
	}
}

// fill sends a portion of what is there to a join that is being filled.
func (w *sharedWorld) fill(p int) {
	if !w.filling[p] {
		return
	}
	rows := slices.Clone(w.rows[p])
	slices.SortFunc(rows, func(a, b []types.Datum) int {
		ka, _ := w.encode(p, a)
		kb, _ := w.encode(p, b)
		return slices.Compare(ka, kb)
	})
	n := 3
	pos := w.pos[p]
	done := true
	var portion []testRow
	for _, r := range rows {
		key, _ := w.encode(p, r)
		if w.pos[p] != nil && string(key) <= string(w.pos[p]) {
			continue
		}
		if n == 0 {
			done = false
			break
		}
		n--
		pos = key
		portion = append(portion, testRow{p, r, 1})
	}
	w.pos[p], w.filling[p] = pos, false
	w.send(p, portion)
	w.filling[p] = !done
	if pos == nil {
		w.pos[p] = []byte{}
	}
}

func (w *sharedWorld) check(what string) {
	w.t.Helper()
	var got [][]types.Datum
	for key, n := range w.out.acc {
		for range n {
			got = append(got, w.out.rows[key])
		}
	}
	ts := w.join.Schema()
	if g, want := formatRows(ts, got, nil), formatRows(ts, w.naive(), nil); g != want {
		w.t.Fatalf("epoch %d, %s: got\n%s\nwant\n%s\nleft\n%s\nright\n%s", w.epoch, what, g, want, formatRows(sharedTypes, w.rows[0], nil), formatRows(sharedTypes, w.rows[1], nil))
	}
}

func (w *sharedWorld) run() {
	var err error
	w.store, err = storage.Open(storage.Config{Dir: "db", FS: storage.MemFS()})
	if err != nil {
		w.t.Fatal(err)
	}
	defer w.store.Close()
	w.state = memState{}
	for p := range w.arr {
		w.arr[p] = w.store.Arrangement(storage.TableID(p + 1))
	}
	// The relations are there before the join.
	for e := range 4 {
		w.change(0)
		w.change(1)
		w.barrier(e == 2)
	}
	outer := [2]bool{w.kind == Left || w.kind == Full || w.kind == Semi || w.kind == Anti, w.kind == Right || w.kind == Full}
	start := [2]SharedStart{SharedAll, SharedAll}
	for p := range 2 {
		// One side at least brings the rows.
		driven := !w.shared[p] || outer[p] || w.shared[1-p] && p == 0 && !outer[1]
		if w.filling[p] = driven; driven {
			start[p] = SharedNone
		}
	}
	w.open(start)
	w.barrier(false)
	for w.filling[0] || w.filling[1] {
		for p := range 2 {
			w.fill(p)
		}
		for range 2 {
			w.change(w.r.Intn(2))
		}
		w.barrier(w.r.Intn(3) == 0)
	}
	w.check("filled")
	w.barrier(true)
	for range 12 {
		switch w.r.Intn(6) {
		case 0:
			// Everything begins again at the checkpoint.
			w.back()
			w.rows = [2][][]types.Datum{slices.Clone(w.saved[0]), slices.Clone(w.saved[1])}
			w.arr[0].Reset()
			w.arr[1].Reset()
			w.open([2]SharedStart{SharedCheckpoint, SharedCheckpoint})
			if w.r.Intn(2) == 0 {
				// Some operators emit before their first barrier.
				w.change(w.r.Intn(2))
			}
			w.barrier(false)
			w.check("restarted")
		case 1:
			// The join alone does.
			w.back()
			w.open([2]SharedStart{SharedCatchUp, SharedCatchUp})
			w.barrier(false)
			p := w.r.Intn(2)
			for _, p := range []int{p, 1 - p} {
				var rows []testRow
				for _, r := range w.saved[p] {
					rows = append(rows, testRow{p, r, -1})
				}
				for _, r := range w.rows[p] {
					rows = append(rows, testRow{p, r, 1})
				}
				w.send(p, rows)
				w.change(p)
			}
			w.barrier(false)
			w.check("restarted alone")
		}
		for range w.r.Intn(5) {
			w.change(w.r.Intn(2))
		}
		w.barrier(w.r.Intn(3) == 0)
		w.check("changed")
	}
	w.join.Close()
}

// TestSharedJoinEqualsFromScratch plays random histories of relations that joins read instead of keeping copies.
func TestSharedJoinEqualsFromScratch(t *testing.T) {
	seeds := 10
	if os.Getenv("WEIR_SOAK") != "" {
		seeds = 200
	}
	for kind := Inner; kind <= Anti; kind++ {
		for _, shared := range [][2]bool{{true, false}, {false, true}, {true, true}} {
			t.Run(fmt.Sprintf("%d/%t %t", kind, shared[0], shared[1]), func(t *testing.T) {
				for seed := range int64(seeds) {
					r := rand.New(rand.NewSource(seed))
					flip := func() bool { return r.Intn(2) == 0 }
					w := &sharedWorld{
						t: t, r: r, kind: kind, shared: shared, unique: [2]bool{flip(), flip()}, stepped: [2]bool{flip(), flip()},
						residual: flip(), nullSafe: flip(), twoKeys: r.Intn(3) == 0, chunk: []int{1, 3, 1024}[r.Intn(3)], budget: []int64{0, 1, 3000}[r.Intn(3)],
						multiset: [2]bool{r.Intn(4) == 0, r.Intn(4) == 0}, ahead: flip(),
					}
					w.run()
					if t.Failed() {
						t.Fatalf("seed %d: %+v", seed, w)
					}
				}
			})
		}
	}
}
