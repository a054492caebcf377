package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a store and a runtime with one table (k, g, v), sources, and views over them, as a server has
// them: writes go through the log, the catalog is metadata, a restart opens the last checkpoint and
// replays the log.
type world struct {
	t       testing.TB
	cfg     worldConfig
	fs      storage.FS
	store   *storage.Store
	rt      *Runtime
	failure chan Failure
	killer  *killer

	// rows is the table as written; history what was written and in which epoch; seen the table at the
	// epoch of the last check.
	rows    map[int64][2]int64
	history []rowWrite
	seen    map[int64][2]int64

	// regions gets the regions that fail, when faults are injected; repaired is closed when its receiver ends.
	regions  chan *Region
	repaired chan struct{}
	// pending are the views that were created, also those that are complete.
	pending []*view
	// resumed counts the rows that resumed leaves had read, and have read since.
	resumed atomic.Int64
	// restarts counts the jobs that were started again.
	restarts atomic.Int64

	// reads counts the comparisons; shown is the newest epoch of a fresh one in this life of the runtime.
	reads, shown atomic.Uint64

	// mu is held shared by who compares views, and exclusively by who changes the set of them.
	mu      sync.RWMutex
	views   []*view
	sources []testSource
	nextID  uint32
}

type worldConfig struct {
	// kill counts the coordinators that die, all the time; nil: none does.
	kill            *atomic.Int64
	seed            int64
	parallel        int
	chunk, queue    int
	portion         int
	barrier, ckpt   time.Duration
	sources, splits int
	// nexmark adds a source of that many events.
	nexmark int
	// alignment, early and spill are the runtime's Alignment, EarlyMemory and SpillLimit.
	alignment    Alignment
	early, spill int64
	// fault makes operators fail; regions are then restarted instead of ending the runtime.
	fault func(job JobID, actor ActorID, operator string)
}

func (c worldConfig) String() string {
	return fmt.Sprintf("seed=%d parallel=%d chunk=%d queue=%d", c.seed, c.parallel, c.chunk, c.queue)
}

const tableID = 1

var (
	int8Type   = types.T(types.Int8)
	tableTypes = []types.Type{int8Type, int8Type, int8Type}
	tableKey   = []vec.SortKey{{Col: 0}}
)

// rowWrite is a change of one row; nil is no row.
type rowWrite struct {
	K        int64
	Old, New *[2]int64
	epoch    storage.Epoch
}

// view is the definition of a view and what is known of its job.
type view struct {
	ID   JobID
	Kind string // filter: v < g; agg: g, count(*), min(v), max(v); rows, srcagg: over a source
	// Over is the table, a view or a source.
	Over     JobID
	Parallel int
	States   map[string]uint32

	w *world
	// mu guards States and failed. from is the first epoch in which the view is complete.
	mu   sync.Mutex
	from storage.Epoch
	prog *progress
	// failed: its job was lost before it was complete. gone is closed when it is dropped.
	failed bool
	saving sync.Mutex
	gone   chan struct{}
	// region is what the job is started again with: leaves in it send everything, the others catch up.
	region map[JobID]bool
	// Durable: what it has before it is complete is kept; resumed: that is what it begins with.
	Durable, resumed bool
}

func newWorld(t testing.TB, cfg worldConfig) *world {
	w := &world{
		t: t, cfg: cfg, fs: storage.MemFS(), rows: map[int64][2]int64{}, seen: map[int64][2]int64{}, nextID: 100,
	}
	for i := range cfg.sources {
		w.sources = append(w.sources, newFakeSource(JobID(10+i), cfg.splits))
	}
	if cfg.nexmark > 0 {
		w.sources = append(w.sources, newNexmarkSource(t, 20, cfg.splits, cfg.nexmark))
	}
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// newWorldWithClock has no table and no sources yet.
func newWorldWithClock(t testing.TB, clock checkpoint.Clock) *world {
	w := &world{t: t, fs: storage.MemFS(), failure: make(chan Failure, 1), rows: map[int64][2]int64{}}
	var err error
	w.store, err = storage.Open(storage.Config{Dir: "db", FS: w.fs})
	w.must(err)
	w.rt = NewRuntime(context.Background(), Config{
		Store: w.store, Logger: slog.New(slog.DiscardHandler), Clock: clock, Failed: func(f Failure) { w.failure <- f },
		Checkpoint: checkpoint.Config{BarrierInterval: time.Hour, CheckpointInterval: time.Hour},
	})
	w.rt.Start(checkpoint.Events{})
	t.Cleanup(w.stop)
	return w
}

// start opens the store and starts everything that the catalog has.
func (w *world) start() {
	w.t.Helper()
	var err error
	w.store, err = storage.Open(storage.Config{Dir: "db", FS: w.fs, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
	w.must(err)
	w.failure = make(chan Failure, 1)
	w.rt = NewRuntime(context.Background(), Config{
		Store: w.store, Logger: slog.New(slog.DiscardHandler), ChunkSize: w.cfg.chunk, QueueChunks: w.cfg.queue,
		Alignment: w.cfg.alignment, EarlyMemory: w.cfg.early, SpillLimit: w.cfg.spill,
		Checkpoint: checkpoint.Config{BarrierInterval: w.cfg.barrier, CheckpointInterval: w.cfg.ckpt},
		LogPos:     w.store.Checkpoint().LogPos,
		Failed:     func(f Failure) { w.failure <- f },
		Fault:      w.cfg.fault, Failover: w.failover(),
	})
	w.rt.Start(checkpoint.Events{})
	w.shown.Store(0)
	if w.cfg.kill != nil {
		w.killer = startKiller(w.rt, w.cfg.seed, w.cfg.kill)
	}
	w.views, w.pending = nil, nil
	cat, ok, err := w.store.Meta([]byte("catalog"))
	w.must(err)
	if ok {
		w.must(json.Unmarshal(cat, &w.views))
	}
	live := map[storage.TableID]bool{tableID: true}
	jobs := []*Job{w.tableJob()}
	for _, s := range w.sources {
		live[storage.TableID(s.jobID())] = true
		jobs = append(jobs, sourceJob(s))
	}
	for _, v := range w.views {
		v.w, v.gone = w, make(chan struct{})
		for _, id := range v.tables() {
			live[id] = true
			w.nextID = max(w.nextID, uint32(id)+1)
		}
		jobs = append(jobs, v.job())
	}
	w.resume(live)
	for _, v := range w.pending {
		jobs = append(jobs, v.job())
		v.prog.left = jobs[len(jobs)-1].Fragments[0].Parallel
	}
	w.must(w.store.Retain(func(id storage.TableID) bool { return live[id] }))
	_, err = w.rt.Deploy(context.Background(), Save{}, jobs...)
	w.must(err)
	w.must(w.store.Log().Replay(w.store.Checkpoint().LogPos, func(pos storage.LogPos, rec []byte) error {
		var ws []rowWrite
		if err := json.Unmarshal(rec, &ws); err != nil {
			return err
		}
		return w.rt.Write(pos, []TableWrite{tableWrite(ws)})
	}))
	w.await(w.rt.Open())
	w.history, w.seen = nil, maps.Clone(w.rows)
	if w.repaired != nil {
		go w.repair(w.rt)
	}
}

func (w *world) stop() {
	if w.killer != nil {
		w.killer.quit()
		defer w.killer.wait()
		w.killer = nil
	}
	w.rt.Stop()
	if w.repaired != nil {
		<-w.repaired
	}
	w.must(w.store.Close())
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		select {
		case f := <-w.failure:
			w.t.Fatalf("%v: %v; failure of job %d: %v", w.cfg, err, f.Job, f.Err)
		default:
		}
		w.t.Fatalf("%v: %v", w.cfg, err)
	}
}

func (w *world) await(e storage.Epoch) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.rt.Wait(ctx, e); err != nil {
		w.dump()
		w.must(err)
	}
}

// durable awaits a checkpoint.
func (w *world) durable(e storage.Epoch) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.rt.WaitDurable(ctx, e); err != nil {
		w.dump()
		w.must(err)
	}
}

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// dump logs what everybody is doing.
func (w *world) dump() {
	buf := make([]byte, 1<<20)
	w.t.Logf("marks %+v\n%s", w.rt.Marks(), buf[:runtime.Stack(buf, true)])
}

// write logs changes and applies them.
func (w *world) write(ws []rowWrite) {
	w.t.Helper()
	rec, err := json.Marshal(ws)
	w.must(err)
	done := make(chan error, 1)
	w.store.Log().Submit(rec, false, func(pos storage.LogPos, err error) {
		if err == nil {
			err = w.rt.Write(pos, []TableWrite{tableWrite(ws)})
		}
		done <- err
	})
	w.must(<-done)
	for i := range ws {
		ws[i].epoch = w.rt.Written()
		w.history = append(w.history, ws[i])
		if ws[i].New == nil {
			delete(w.rows, ws[i].K)
		} else {
			w.rows[ws[i].K] = *ws[i].New
		}
	}
}

func tableWrite(ws []rowWrite) TableWrite {
	c := vec.NewChunk(tableTypes, len(ws))
	var cs []storage.Change
	add := func(k int64, r *[2]int64, diff int64) {
		c.AppendRow([]types.Datum{types.DInt(k), types.DInt(r[0]), types.DInt(r[1])}, diff)
		i := c.Len() - 1
		ch := storage.Change{Key: vec.EncodeKey(nil, c.Cols, i, tableKey), Delete: diff < 0}
		if diff > 0 {
			ch.Value = vec.EncodeRow(nil, c.Cols, i)
		}
		cs = append(cs, ch)
	}
	for _, x := range ws {
		if x.Old != nil {
			add(x.K, x.Old, -1)
		}
		if x.New != nil {
			add(x.K, x.New, 1)
		}
	}
	return TableWrite{Job: tableID, Changes: [][]storage.Change{cs}, Chunks: []*vec.Chunk{c}}
}

// randomWrites makes n changes, each of another row.
func (w *world) randomWrites(rng *rand.Rand, n, keys int) []rowWrite {
	var ws []rowWrite
	for _, k := range rng.Perm(keys)[:min(n, keys)] {
		x := rowWrite{K: int64(k)}
		if old, ok := w.rows[x.K]; ok {
			x.Old = &old
		}
		if x.Old == nil || rng.Intn(3) > 0 {
			x.New = &[2]int64{rng.Int63n(8), rng.Int63n(12)}
		}
		ws = append(ws, x)
	}
	return ws
}

func (w *world) tableJob() *Job {
	return &Job{
		ID: tableID, Name: "t", StateID: func(string) storage.TableID { panic("a table has no state") },
		Fragments: []*Fragment{{Parallel: 1, Types: tableTypes, Table: []*storage.Arrangement{w.store.Arrangement(tableID)}}},
	}
}

// create deploys a view and returns before it is complete.
func (w *world) create(kind string, over JobID) *view {
	w.t.Helper()
	v := &view{
		ID: JobID(w.nextID), Kind: kind, Over: over, Parallel: w.cfg.parallel, States: map[string]uint32{}, w: w, gone: make(chan struct{}),
		// One that fails is withdrawn later than the server does it.
		Durable: w.cfg.fault == nil && w.nextID%3 > 0,
	}
	w.nextID++
	w.pend(v)
	v.prog = &progress{done: make(chan struct{})}
	j := v.job()
	v.prog.left = j.Fragments[0].Parallel
	e, err := w.rt.Deploy(context.Background(), Save{}, j)
	for w.cfg.fault != nil && errors.Is(err, ErrRestarting) {
		w.await(w.rt.Open())
		e, err = w.rt.Deploy(context.Background(), Save{}, j)
	}
	w.must(err)
	v.prog.mu.Lock()
	v.prog.epoch = max(v.prog.epoch, e)
	v.prog.mu.Unlock()
	if v.Durable {
		w.await(e)
		w.must(w.rt.SaveLater(context.Background(), Save{Meta: []storage.MetaOp{v.filling(false)}}))
	}
	return v
}

// created tells whether a view is complete, and then puts it into the catalog.
func (w *world) created(v *view) bool {
	w.t.Helper()
	select {
	case <-v.prog.done:
	default:
		return false
	}
	w.await(v.prog.epoch)
	v.from = v.prog.epoch
	// A region of which the view is part waits until this is decided.
	v.saving.Lock()
	defer v.saving.Unlock()
	if v.hasFailed() {
		return false
	}
	w.mu.RLock()
	cat := catalogOf(append(slices.Clone(w.views), v))
	w.mu.RUnlock()
	err := w.rt.Save(context.Background(), Save{Meta: []storage.MetaOp{cat, v.filling(true)}, Needs: []JobID{v.ID}})
	if w.cfg.fault != nil && errors.Is(err, ErrRestarting) {
		v.fail()
		return false
	}
	w.must(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views = append(w.views, v)
	return true
}

// finish awaits a view.
func (w *world) finish(v *view) *view {
	w.t.Helper()
	select {
	case <-v.prog.done:
	case f := <-w.failure:
		w.t.Fatalf("%v: %v", w.cfg, f.Err)
	case <-time.After(patience):
		w.dump()
		w.t.Fatalf("%v: view %d is not complete", w.cfg, v.ID)
	}
	w.created(v)
	return v
}

func (w *world) catalog() storage.MetaOp { return catalogOf(w.views) }

func catalogOf(views []*view) storage.MetaOp {
	b, err := json.Marshal(views)
	if err != nil {
		panic(err)
	}
	return storage.MetaOp{Key: []byte("catalog"), Value: b}
}

// drop removes a view, complete or not, and what is over it.
func (w *world) drop(v *view, pending []*view) (gone []*view) {
	w.t.Helper()
	gone = []*view{v}
	for i := 0; i < len(gone); i++ {
		for _, o := range slices.Concat(w.views, pending) {
			if o.Over == gone[i].ID {
				gone = append(gone, o)
			}
		}
	}
	var ids []JobID
	var save Save
	for _, g := range gone {
		ids = append(ids, g.ID)
		save.Drop = append(save.Drop, g.tables()...)
		save.Meta = append(save.Meta, g.filling(true))
	}
	w.mu.Lock()
	w.views = slices.DeleteFunc(w.views, func(o *view) bool { return slices.Contains(gone, o) })
	for _, g := range gone {
		// Only now: a restart does not wait for it any more, and says that it is back.
		close(g.gone)
	}
	save.Meta = append(save.Meta, w.catalog())
	e, err := w.rt.Remove(context.Background(), save, ids...)
	w.mu.Unlock()
	w.must(err)
	w.durable(e)
	return gone
}

func (v *view) tables() []storage.TableID {
	v.mu.Lock()
	defer v.mu.Unlock()
	ids := []storage.TableID{storage.TableID(v.ID)}
	for _, id := range v.States {
		ids = append(ids, storage.TableID(id))
	}
	return ids
}

func (v *view) stateID(name string) storage.TableID {
	v.mu.Lock()
	defer v.mu.Unlock()
	id, ok := v.States[name]
	if !ok {
		if v.prog == nil || v.region != nil || v.resumed {
			panic("no state " + name)
		}
		// Ids are never used again: those of a view come from its own range.
		id = uint32(v.ID)*1000 + uint32(len(v.States))
		v.States[name] = id
	}
	return storage.TableID(id)
}

// key is the key of a view's arrangement.
func (v *view) key() []vec.SortKey {
	if v.Kind == "rows" {
		return []vec.SortKey{{Col: 2}}
	}
	return tableKey
}

func (v *view) types() []types.Type {
	if v.Kind == "agg" || v.Kind == "srcagg" {
		return []types.Type{int8Type, int8Type, int8Type, int8Type}
	}
	return tableTypes
}

func (v *view) job() *Job {
	j := &Job{
		ID: v.ID, Name: fmt.Sprintf("v%d", v.ID), StateID: v.stateID, Replayable: true,
	}
	arr := v.w.store.Arrangement(storage.TableID(v.ID))
	arr.SetWriters(v.Parallel)
	keep := func(i int, in *Node) (*Node, error) {
		m, err := op.NewMaterialize(op.MaterializeConfig{In: v.types(), Key: v.key(), Target: arr.Writer(i)})
		return &Node{Op: m, Name: "keep", In: []*Node{in}}, err
	}
	switch v.Kind {
	case "filter":
		in, wrap := v.tableLeaf([]int{0, 1, 2})
		j.Fragments = []*Fragment{{Parallel: v.Parallel, Types: tableTypes, Inputs: []Input{in}, Root: func(i int) (*Node, error) {
			leaf, err := wrap(i)
			if err != nil {
				return nil, err
			}
			f, err := op.NewFilter(op.FilterConfig{In: tableTypes, Pred: less(2, 1)})
			if err != nil {
				return nil, err
			}
			return keep(i, &Node{Op: f, Name: "filter", In: []*Node{leaf}})
		}}}
	case "agg":
		in, wrap := v.tableLeaf([]int{1, 2})
		j.Fragments = []*Fragment{
			{ID: 0, Parallel: v.Parallel, Types: tableTypes[:2], Inputs: []Input{in}, Root: wrap},
			v.aggFragment(j, keep),
		}
	case "rows":
		in, wrap := v.sourceLeaf([]int{0, 1, 2})
		f := &Fragment{ID: 0, Parallel: v.sourceParallel(), Types: tableTypes, Inputs: []Input{in}, Root: wrap}
		k := &Fragment{
			ID: 1, Parallel: v.Parallel, Types: tableTypes,
			Inputs: []Input{{Job: j.ID, Fragment: 0, Dist: Dist{Kind: ToHash, Cols: []int{2}}}},
			Root:   func(i int) (*Node, error) { return keep(i, &Node{}) },
		}
		j.Fragments = []*Fragment{f, k}
	case "srcagg":
		in, wrap := v.sourceLeaf([]int{0, 1})
		j.Fragments = []*Fragment{
			{ID: 0, Parallel: v.sourceParallel(), Types: tableTypes[:2], Inputs: []Input{in}, Root: wrap},
			v.aggFragment(j, keep),
		}
	}
	return j
}

// aggFragment is g, count(*), min(v), max(v) over (g, v).
func (v *view) aggFragment(j *Job, keep func(int, *Node) (*Node, error)) *Fragment {
	return &Fragment{
		ID: 1, Parallel: v.Parallel, Types: v.types(),
		Inputs: []Input{{Job: j.ID, Fragment: 0, Dist: Dist{Kind: ToHash, Cols: []int{0}}}},
		Root: func(i int) (*Node, error) {
			a, err := op.NewHashAgg(op.HashAggConfig{
				In: tableTypes[:2], Keys: []int{0}, Dist: []int{0},
				Aggs: []op.Agg{
					{Fn: aggFn("count", 0), Filter: -1},
					{Fn: aggFn("min", 1), Args: []int{1}, Filter: -1},
					{Fn: aggFn("max", 1), Args: []int{1}, Filter: -1},
				},
			})
			if err != nil {
				return nil, err
			}
			return keep(i, &Node{Op: a, Name: "agg", In: []*Node{{}}})
		},
	}
}

// tableLeaf attaches to the table or a view with its schema; the backfill needs the key besides cols.
func (v *view) tableLeaf(cols []int) (Input, func(i int) (*Node, error)) {
	in := Input{Job: v.Over, Fragment: -1, Cols: cols, Dist: Dist{Kind: ToHash, Cols: []int{0}}}
	prog, region := v.prog, v.region // as in sourceLeaf
	if prog == nil || region[v.Over] {
		return in, func(int) (*Node, error) { return &Node{}, nil }
	}
	wide := slices.Clone(cols)
	at := slices.Index(wide, 0)
	if at < 0 {
		at = len(wide)
		wide = append(wide, 0)
	}
	in.Cols = wide
	ts := tableTypes[:len(wide)]
	arr := v.w.store.Arrangement(storage.TableID(v.Over))
	return in, func(i int) (*Node, error) {
		row := vec.NewChunk(tableTypes, 1)
		cfg := TableBackfillConfig{
			Types: ts, VersionAt: arr.VersionAt,
			AppendKey: func(dst []byte, c *vec.Chunk, i int) []byte {
				return vec.EncodeKey(dst, c.Cols, i, []vec.SortKey{{Col: at}})
			},
			Decode: func(dst *vec.Chunk, _, value []byte) error {
				row.Reset()
				if _, err := vec.DecodeRow(value, row.Cols); err != nil {
					return err
				}
				for k, c := range wide {
					dst.Cols[k].AppendFrom(row.Cols[c], 0)
				}
				dst.PushDiff(1)
				return nil
			},
			HashCols: []int{at}, Index: i, Parallel: v.Parallel, Progress: prog, Durable: v.Durable,
			RequestBarrier: v.w.rt.RequestBarrier, Portion: v.w.cfg.portion, MaxPortion: 4 * v.w.cfg.portion,
		}
		if v.Over%2 == 0 {
			// Waiting for completion must not change what arrives.
			cfg.Passed = func() storage.Epoch { return storage.Epoch(v.w.rt.Marks().Completed) }
		}
		var bf exec.Operator = NewTableBackfill(cfg)
		if region != nil {
			bf = NewTableCatchUp(cfg)
		}
		n := &Node{Op: bf, Name: "backfill", In: []*Node{{}}}
		if len(wide) == len(cols) {
			return n, nil
		}
		var es []scalar.Expr
		for k := range cols {
			es = append(es, col(k))
		}
		p, err := op.NewProject(op.ProjectConfig{In: ts, Exprs: es})
		return &Node{Op: p, Name: "narrow", In: []*Node{n}}, err
	}
}

func (v *view) source() testSource {
	for _, s := range v.w.sources {
		if s.jobID() == v.Over {
			return s
		}
	}
	panic("no source")
}

func (v *view) sourceParallel() int {
	if v.Parallel == 1 {
		return 1
	}
	return v.source().Splits()
}

func (v *view) sourceLeaf(cols []int) (Input, func(i int) (*Node, error)) {
	src := v.source()
	in := Input{Job: v.Over, Fragment: -1, Cols: cols}
	n := v.sourceParallel()
	if n > 1 {
		in.Dist.Kind = ToPeer
	}
	// A later redeployment changes them while actors of this one start.
	prog, region := v.prog, v.region
	if prog == nil || region[v.Over] {
		return in, func(int) (*Node, error) { return &Node{}, nil }
	}
	return in, func(i int) (*Node, error) {
		cfg := SourceBackfillConfig{
			Source: src, Splits: splitsOf(src.Splits(), i, n), Cols: cols, Progress: prog, Durable: v.Durable,
			Position: func(split int, e storage.Epoch) int64 {
				ps, ok := v.w.rt.SourcePositions(v.Over, e)
				if !ok {
					return 0
				}
				return ps[split].Rows
			},
			RequestBarrier: v.w.rt.RequestBarrier, Portion: int64(v.w.cfg.portion),
		}
		if region != nil {
			cfg.From = func(split int) (SplitPosition, error) { return v.w.rt.CommittedPosition(v.Over, split) }
		}
		return &Node{Op: NewSourceBackfill(cfg), Name: "backfill", In: []*Node{{}}}, nil
	}
}

func col(i int) scalar.Expr { return &scalar.Column{Node: scalar.Node{T: int8Type, Pos: -1}, Index: i} }

// less is column l < column r.
func less(l, r int) scalar.Expr {
	for _, f := range fn.Default().All() {
		if f.Kind == fn.Operator && f.Name == "<" && len(f.Args) == 2 && f.Args[0].Kind == types.Int8 && f.Args[1].Kind == types.Int8 {
			return &scalar.Call{Node: scalar.Node{T: f.Ret, Pos: -1}, Fn: f, Args: []scalar.Expr{col(l), col(r)}}
		}
	}
	panic("no operator <")
}

func aggFn(name string, args int) *fn.Func {
	for _, f := range fn.Default().All() {
		if f.Kind == fn.Aggregate && f.Name == name && len(f.Args) == args && (args == 0 || f.Args[0].Kind == types.Int8) {
			return f
		}
	}
	panic("no aggregate " + name)
}

// fill runs the chunks of a read of the table as one row a line, sorted.
func fill(t testing.TB, v *storage.Version, ts []types.Type) []string {
	t.Helper()
	c := vec.NewChunk(ts, 0)
	it := v.Iterator(nil, nil, false)
	for it.Next() {
		if _, err := vec.DecodeRow(it.Value(), c.Cols); err != nil {
			t.Error(err)
		}
		c.PushDiff(1)
	}
	if err := it.Close(); err != nil {
		t.Error(err)
	}
	var out []string
	for i := range c.Len() {
		out = append(out, vec.FormatRow(c, i))
	}
	slices.Sort(out)
	return out
}

// compare checks every complete view against its query over the table in the same snapshot, and gives
// the snapshot's epoch and its table.
func (w *world) compare() (storage.Epoch, []string) {
	w.t.Helper()
	w.mu.RLock()
	defer w.mu.RUnlock()
	snap := w.snapshot()
	defer snap.Release()
	// Once for all, and a view before what is under it: relations come back meanwhile.
	readable := map[JobID]bool{}
	for _, v := range slices.Backward(w.views) {
		readable[v.ID] = w.rt.Readable(v.ID, snap.Epoch())
	}
	for _, s := range w.sources {
		readable[s.jobID()] = w.rt.Readable(s.jobID(), snap.Epoch())
	}
	rels := map[JobID][][]int64{}
	c := vec.NewChunk(tableTypes, 0)
	it := snap.Table(tableID).Iterator(nil, nil, false)
	for it.Next() {
		_, err := vec.DecodeRow(it.Value(), c.Cols)
		w.must(err)
		c.PushDiff(1)
	}
	w.must(it.Close())
	for i := range c.Len() {
		rels[tableID] = append(rels[tableID], []int64{c.Cols[0].Int[i], c.Cols[1].Int[i], c.Cols[2].Int[i]})
	}
	for _, s := range w.sources {
		if !readable[s.jobID()] {
			continue
		}
		ps, ok := w.rt.SourcePositions(s.jobID(), snap.Epoch())
		if !ok {
			w.t.Errorf("%v: no positions of source %d at epoch %d", w.cfg, s.jobID(), snap.Epoch())
		}
		for split, p := range ps {
			for i := range p.Rows {
				a, b := s.row(split, i)
				rels[s.jobID()] = append(rels[s.jobID()], []int64{a, b, i*int64(s.Splits()) + int64(split)})
			}
		}
	}
	for _, v := range w.views {
		if v.from > snap.Epoch() || !readable[v.ID] {
			delete(rels, v.ID)
			continue
		}
		if v.Over != tableID && !readable[v.Over] {
			w.t.Errorf("%v: epoch %d: view %d is readable, but not %d under it", w.cfg, snap.Epoch(), v.ID, v.Over)
			continue
		}
		rels[v.ID] = v.scratch(rels[v.Over])
		want := format(rels[v.ID])
		got := fill(w.t, snap.Table(storage.TableID(v.ID)), v.types())
		if !slices.Equal(got, want) {
			w.t.Errorf("%v: epoch %d: %s view %d over %d, complete from %d:\n got %v\nwant %v",
				w.cfg, snap.Epoch(), v.Kind, v.ID, v.Over, v.from, got, want)
		}
	}
	return snap.Epoch(), format(rels[tableID])
}

// scratch computes a view.
func (v *view) scratch(in [][]int64) [][]int64 {
	var out [][]int64
	switch v.Kind {
	case "rows":
		return in
	case "filter":
		for _, r := range in {
			if r[2] < r[1] {
				out = append(out, r)
			}
		}
		return out
	}
	g, x := 1, 2
	if v.Kind == "srcagg" {
		g, x = 0, 1
	}
	groups := map[int64][]int64{}
	for _, r := range in {
		o := groups[r[g]]
		if o == nil {
			o = []int64{r[g], 0, r[x], r[x]}
			groups[r[g]] = o
		}
		o[1]++
		o[2], o[3] = min(o[2], r[x]), max(o[3], r[x])
	}
	for _, o := range groups {
		out = append(out, o)
	}
	return out
}

func format(rows [][]int64) []string {
	var out []string
	for _, r := range rows {
		c := vec.NewChunk(nil, 0)
		for _, x := range r {
			c.Cols = append(c.Cols, vec.NewConst(int8Type, types.DInt(x), 1))
		}
		c.SetLen(1)
		out = append(out, vec.FormatRow(c, 0))
	}
	slices.Sort(out)
	return out
}

// check compares the views, and the table with what was written up to the epoch of the snapshot.
func (w *world) check() {
	w.t.Helper()
	e, got := w.compare()
	n := 0
	for _, h := range w.history {
		if h.epoch > e {
			break
		}
		n++
		if h.New == nil {
			delete(w.seen, h.K)
		} else {
			w.seen[h.K] = *h.New
		}
	}
	w.history = w.history[n:]
	var rows [][]int64
	for k, r := range w.seen {
		rows = append(rows, []int64{k, r[0], r[1]})
	}
	if want := format(rows); !slices.Equal(got, want) {
		w.t.Errorf("%v: epoch %d: table:\n got %v\nwant %v", w.cfg, e, got, want)
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
}
