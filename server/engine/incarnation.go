package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// Incarnation is one life of the dataflow, see the package comment.
type Incarnation struct {
	e     *Engine
	Store *storage.Store
	RT    *flow.Runtime
	// Ctx ends when the incarnation fails or the engine is closed.
	Ctx    context.Context
	cancel context.CancelFunc

	// failure gets the one failure of the runtime (capacity 1).
	failure chan flow.Failure

	// after tells that this is not the first incarnation.
	after bool

	// locks are those of all tables.
	locks *table.Locks

	cat atomic.Pointer[catalog.Catalog]

	mu sync.Mutex
	// users counts the callers of Acquire that have not left; gone is closed when it is 0 and ended.
	users int
	ended bool
	gone  chan struct{}

	// tables, sources and problems are replaced under mu.
	tables map[catalog.ID]*table.Table
	// unlinked are foreign keys of tables that were opened just now.
	unlinked []*table.ForeignKey
	sources  map[catalog.ID]exec.Source
	problems map[catalog.ID]map[int]error // by split
	nextID   catalog.ID
	// dropping are the relations that a Drop under way is about to remove. placing is held while they are entered, and while the
	// jobs of a region are put back: what is being dropped is not put back, or removed after that.
	dropping map[catalog.ID]bool
	placing  sync.Mutex
	// replacing are the relations whose jobs are about to be exchanged.
	replacing map[catalog.ID]bool
	// committers write into tables what sinks have prepared; replayed is closed when the log has been applied, before which
	// they must not.
	committers map[catalog.ID]*committer
	// forgotten are relations that are gone, whose actors may not know it yet.
	forgotten map[catalog.ID]bool
	replayed  chan struct{}
	// subs are the subscriptions of all sessions.
	subs map[*Subscription]bool
	// background are the views that are created in the background, and those for which that has failed.
	background map[catalog.ID]*background
	// failed is why the incarnation ended; its Err is nil as long as no job has failed.
	failed flow.Failure
	// stale has the views and sinks that were given up while their inputs went on, and why.
	stale map[catalog.ID]string
	// filling has the state tables of views that are being created in the background, by name, if a restart may go on with them, and
	// goOn the jobs with which this incarnation does.
	filling map[catalog.ID]map[string]uint32
	goOn    map[catalog.ID]*fill
	// creating are the jobs that are being filled, whose failure is that of the statement.
	creating map[catalog.ID]*creation
	// started is when this incarnation began; began when a job did that was created since.
	started time.Time
	began   map[catalog.ID]time.Time
	// moved is closed, and replaced, whenever a region has come back, or was given up.
	moved chan struct{}
	// wg has the goroutines of restarts.
	wg sync.WaitGroup
	// version is the global modification version in which this incarnation serves; all is set if it is a job's
	// failure that ends it.
	version uint64
	all     atomic.Pointer[failover.RestartAll]
	// published: clients are served, and failures are dealt with one region at a time.
	published atomic.Bool
	// held is the lock of the catalog as it was taken last.
	held atomic.Pointer[ddlLease]
	seqs *table.Sequences
	errs rowErrors
}

func (i *Incarnation) enter() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended || i.Ctx.Err() != nil {
		return false
	}
	i.users++
	return true
}

func (i *Incarnation) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.users--
	if i.users == 0 && i.ended {
		close(i.gone)
	}
}

// stop ends the jobs, awaits the users and closes the store.
func (i *Incarnation) stop() error {
	i.cancel()
	i.RT.Stop()
	i.mu.Lock()
	i.ended = true
	if i.users == 0 {
		close(i.gone)
	}
	i.mu.Unlock()
	<-i.gone
	i.wg.Wait()
	return i.Store.Close()
}

// ChunkSize is the number of rows in a full chunk.
func (i *Incarnation) ChunkSize() int { return i.e.cfg.ChunkSize }

// Catalog gives the present catalog.
func (i *Incarnation) Catalog() *catalog.Catalog { return i.cat.Load() }

// start opens the store and starts all jobs; it returns when every acknowledged write is visible.
func (e *Engine) start() (*Incarnation, error) {
	for attempt := 1; ; attempt++ {
		store, err := storage.Open(e.cfg.Storage)
		if err != nil {
			return nil, err
		}
		e.noteFallback(store.Fallback())
		i, err := e.startOn(store)
		if err == nil {
			return i, nil
		}
		suspects := store.Suspects()
		if cerr := store.Close(); cerr != nil || len(suspects) == 0 || attempt > 5 || e.ctx.Err() != nil {
			return nil, errors.Join(err, cerr)
		}
		// Opening again verifies those files. It falls back, or fails if there is nothing to fall back to.
		e.cfg.Logger.Error("start failed because of damaged files", "event", "start_damaged", "files", suspects, "error", err)
	}
}

func (e *Engine) startOn(store *storage.Store) (*Incarnation, error) {
	cat, err := loadCatalog(store)
	if err != nil {
		return nil, err
	}
	i := &Incarnation{
		e: e, Store: store, gone: make(chan struct{}), failure: make(chan flow.Failure, 1), nextID: cat.NextID,
		locks: table.NewLocks(), dropping: map[catalog.ID]bool{}, replacing: map[catalog.ID]bool{}, committers: map[catalog.ID]*committer{}, forgotten: map[catalog.ID]bool{}, replayed: make(chan struct{}), subs: map[*Subscription]bool{}, background: map[catalog.ID]*background{},
		filling: map[catalog.ID]map[string]uint32{}, goOn: map[catalog.ID]*fill{},
		stale: map[catalog.ID]string{}, creating: map[catalog.ID]*creation{}, started: time.Now(), began: map[catalog.ID]time.Time{}, moved: make(chan struct{}),
		tables: map[catalog.ID]*table.Table{}, sources: map[catalog.ID]exec.Source{}, problems: map[catalog.ID]map[int]error{},
	}
	i.cat.Store(cat)
	if err := e.clock.load(store); err != nil {
		return nil, err
	}
	if err := i.loadStale(); err != nil {
		return nil, err
	}
	if err := i.loadFilling(); err != nil {
		return nil, err
	}
	live := map[storage.TableID]bool{storage.TableID(table.SequencesID): true}
	for id, state := range i.filling {
		live[storage.TableID(id)] = true
		for _, t := range state {
			live[storage.TableID(t)] = true
		}
	}
	for _, r := range cat.Relations {
		for _, id := range table.Tables(r) {
			live[id] = true
		}
	}
	if err := store.Retain(func(id storage.TableID) bool { return live[id] }); err != nil {
		return nil, err
	}
	i.Ctx, i.cancel = context.WithCancel(e.ctx)
	var memory *exec.Memory
	if n := shareMemory(e.cfg.MemoryLimit).operators; n > 0 {
		memory = flow.NewMemory(n, store)
	}
	i.RT = flow.NewRuntime(i.Ctx, flow.Config{
		Store: store, Logger: e.cfg.Logger, ChunkSize: e.cfg.ChunkSize, Checkpoint: e.cfg.Checkpoint, Alignment: e.cfg.Alignment,
		Time: &e.clock, Memory: memory, LogPos: store.Checkpoint().LogPos, History: e.history,
		Failover: i.failover, Fault: e.cfg.Fault, Watch: e.cfg.Watch, Step: e.cfg.Step,
		LoopMemory: e.cfg.LoopMemory, EarlyMemory: e.cfg.EarlyMemory, StuckAfter: e.cfg.StuckAfter,
		Failed: func(f flow.Failure) {
			i.mu.Lock()
			i.failed = f
			i.mu.Unlock()
			i.cancel()
			i.failure <- f
		},
	})
	i.RT.Start(checkpoint.Events{
		CommitFailed: func(ep checkpoint.Epoch, err error) {
			e.cfg.Logger.Error("checkpoint failed, will be tried again", "event", "checkpoint_failed", "epoch", uint64(ep), "error", err)
		},
	})
	if err := i.deployAll(); err != nil {
		i.cancel()
		i.RT.Stop()
		select {
		case f := <-i.failure:
			r := cat.RelationByID(catalog.ID(f.Job))
			e.count(f, r)
			err = f.Err
			if p := cat.Pending[catalog.ID(f.Job)]; p != nil {
				if ferr := i.forgetFilling(p, f.Err); ferr != nil {
					return nil, errors.Join(err, ferr)
				}
				err = errors.Join(errJobFailed, err)
			}
			if canStall(r) {
				err = errors.Join(errJobFailed, err)
				if e.attempts(r) >= maxStarts && e.Stalled(cat, r.ID) == nil {
					e.stall(r, f.Err)
				}
			}
		default:
		}
		return nil, err
	}
	return i, nil
}

// deployAll starts the jobs of the catalog and applies the log.
func (i *Incarnation) deployAll() error {
	cat := i.Catalog()
	seqRel := table.SequencesRelation()
	seqTable := table.New(i.Store, i.locks, seqRel)
	i.tables[seqRel.ID] = seqTable
	jobs := []*flow.Job{i.tableJob(seqTable)}
	running := map[catalog.ID]bool{}
	// First of all: a source that only these read is not needed.
	for _, r := range cat.Sorted() {
		if why := i.stale[r.ID]; why != "" {
			i.e.stall(r, errors.New(why))
		}
	}
	for _, r := range cat.Sorted() {
		if i.e.Stalled(cat, r.ID) != nil {
			continue
		}
		j, err := i.storedJob(cat, r)
		if err != nil && canStall(r) {
			// One object that cannot be set up any more must not take the others with it.
			i.e.stall(r, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", r.Kind, r.Name, err)
		}
		if j != nil {
			jobs = append(jobs, j)
		}
		running[r.ID] = j != nil
	}
	save, marked := i.markStale(cat, running)
	ctx := i.Ctx
	again, drop, err := i.goOnFilling(running)
	if err != nil {
		return err
	}
	for id, f := range i.goOn {
		f.c, f.end = i.create(id)
		i.show(f.c, f.rel, f.prog)
	}
	save.Drop = append(save.Drop, drop...)
	e, err := i.RT.Deploy(ctx, save, append(jobs, again...)...)
	if err != nil {
		return err
	}
	marked()
	i.seqs = table.NewSequences(seqTable, i.Store.Log(), i.RT)
	i.linkAll()
	if err := i.replay(); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if err := i.RT.Wait(ctx, i.RT.Open()); err != nil {
		return fmt.Errorf("recovery: %w", err)
	}
	if err := i.seqs.Retain(func(id catalog.ID) bool { return cat.RelationByID(id) != nil }); err != nil {
		return fmt.Errorf("sequences: %w", err)
	}
	for _, t := range i.tables {
		if err := t.OpenSequences(i.seqs); err != nil {
			return err
		}
	}
	for _, f := range i.goOn {
		f.epoch = e
		total := f.estimate()
		f.prog.mu.Lock()
		f.prog.total, f.prog.before = total, f.prog.rows
		f.prog.mu.Unlock()
	}
	close(i.replayed)
	return nil
}

// storedJob makes the job of a relation of the catalog, nil if it has none.
func (i *Incarnation) storedJob(cat *catalog.Catalog, r *catalog.Relation) (*flow.Job, error) {
	switch r.Kind {
	case catalog.Table:
		t, err := i.openTable(cat, r)
		if err != nil {
			return nil, err
		}
		var j *flow.Job
		if r.HasConnector() {
			j, err = i.connectorTableJob(t, i.stateIDs(r))
		} else {
			j = i.tableJob(t)
		}
		if err == nil {
			err = i.readMark(t)
		}
		if err != nil {
			return nil, err
		}
		i.mu.Lock()
		i.tables[r.ID] = t
		i.mu.Unlock()
		return j, nil
	case catalog.Source:
		if i.needed(cat, r.ID) {
			return i.sourceJob(r, i.stateIDs(r))
		}
	case catalog.MatView, catalog.Index, catalog.Sink:
		return i.queryJob(cat, r, i.stateIDs(r), leaves{})
	}
	return nil, nil
}

// replayStep is how many bytes of the log are applied before the dataflow is awaited, so that it bounds
// what is on the way.
const replayStep = 16 << 20

// replay applies the log behind the checkpoint.
func (i *Incarnation) replay() error {
	size := 0
	// A record of a table that is not there was not acknowledged if the table was being dropped; after a fall back it may
	// have been.
	missing := map[uint32]int{}
	err := i.Store.Log().Replay(i.Store.Checkpoint().LogPos, func(pos storage.LogPos, rec []byte) error {
		err := table.Replay(i.RT, pos, rec, func(id uint32) *table.Table {
			t := i.tables[catalog.ID(id)]
			if t == nil {
				missing[id]++
			}
			return t
		}, i.saveLogged)
		if err != nil {
			return err
		}
		if size += len(rec); size < replayStep {
			return nil
		}
		size = 0
		return i.RT.Wait(i.Ctx, i.RT.Open())
	})
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		i.e.cfg.Logger.Warn("the log has records of a table that does not exist", "event", "replay_incomplete", "table", id, "records", missing[id])
	}
	return err
}

// saveLogged is what a checkpoint must have of a catalog that the log has: all of it, unless the store has a newer one.
func (i *Incarnation) saveLogged(cat []byte) (flow.Save, error) {
	c, err := decodeCatalog(cat)
	if err != nil || c.Version < i.Catalog().Version {
		// The newest of the log comes later, or a later one is in the store.
		return flow.Save{}, err
	}
	return flow.Save{Meta: []storage.MetaOp{{Key: catalogKey, Value: cat}}}, nil
}

// needed tells whether some job reads a source.
func (i *Incarnation) needed(cat *catalog.Catalog, id catalog.ID) bool {
	for _, p := range cat.Pending {
		if slices.Contains(p.DependsOn, id) {
			return true
		}
	}
	for _, d := range cat.Dependents(id) {
		if d.Kind == catalog.View {
			if i.needed(cat, d.ID) {
				return true
			}
			continue
		}
		if i.e.Stalled(cat, d.ID) == nil {
			return true
		}
	}
	return false
}

// LockWaits lists who waits for locks of tables and rows.
func (i *Incarnation) LockWaits() []table.Waiting { return i.locks.Waiting() }

// Table gives a table's storage side, nil if there is none.
func (i *Incarnation) Table(id catalog.ID) *table.Table {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.tables[id]
}

// Source gives the source of a relation, making it on first use.
func (i *Incarnation) Source(r *catalog.Relation) (exec.Source, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s := i.sources[r.ID]; s != nil {
		return s, nil
	}
	s, err := i.e.cfg.Connectors.NewSource(connectorConfig(i.e.cfg.Logger, r))
	if err != nil {
		return nil, err
	}
	i.sources[r.ID] = s
	return s, nil
}

// Problem tells why a source, or one of its splits, does not deliver any more, nil if it does.
func (i *Incarnation) Problem(id catalog.ID) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	by := i.problems[id]
	if len(by) == 0 {
		return nil
	}
	return by[slices.Min(slices.Collect(maps.Keys(by)))]
}

func (i *Incarnation) setProblem(id catalog.ID, split int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		delete(i.problems[id], split)
		return
	}
	if i.problems[id] == nil {
		i.problems[id] = map[int]error{}
	}
	i.problems[id][split] = err
}

// Snapshot pins an epoch for a read. A fresh one contains every write acknowledged before the call.
func (i *Incarnation) Snapshot(ctx context.Context, fresh bool) (*storage.Snapshot, error) {
	if fresh {
		if err := i.RT.WaitFresh(ctx); err != nil {
			return nil, i.explain(err)
		}
	}
	return i.Store.Latest()
}

// explain turns the end of the incarnation into an error for users.
func (i *Incarnation) explain(err error) error {
	if errors.Is(err, checkpoint.ErrStopped) || i.Ctx.Err() != nil {
		if i.e.ctx.Err() != nil {
			return errClosed
		}
		return ErrRestarted
	}
	return err
}

// Explain turns an error that stems from the end of the incarnation into one for users; others pass.
func (i *Incarnation) Explain(err error) error {
	if err == nil {
		return nil
	}
	return i.explain(err)
}

// QueryMemory makes the Memory of an ad hoc query, nil if it is not bounded.
func (i *Incarnation) QueryMemory() *exec.Memory {
	if i.e.queries == nil {
		return nil
	}
	return exec.NewMemory(exec.MemoryConfig{
		Limit: shareMemory(i.e.cfg.MemoryLimit).query, Strict: true, Parent: i.e.queries,
	})
}

// QuerySpill is from how many bytes on an operator of a query uses temporary files. Several of them may have that much at a time.
func (i *Incarnation) QuerySpill() int64 { return shareMemory(i.e.cfg.MemoryLimit).query / 3 }

// TempFile makes a temporary file for a query.
func (i *Incarnation) TempFile() (exec.TempFile, error) {
	return i.Store.TempFile(fmt.Sprintf("query-%d", i.e.tempFiles.Add(1)))
}

// TxLimit is how many bytes a transaction may change; 0: only what a log record can have.
func (i *Incarnation) TxLimit() int64 { return shareMemory(i.e.cfg.MemoryLimit).transaction }

// AdmitWork waits, while memory is full of what no checkpoint has written, before a statement makes more of it. The statement must have no
// locks.
func (i *Incarnation) AdmitWork(ctx context.Context) error {
	err := i.RT.AdmitWork(ctx)
	if err != nil && i.Ctx.Err() != nil {
		return i.explain(err)
	}
	return err
}

// Commit makes a transaction durable and visible. It waits before while the dataflow cannot follow; if ctx
// ends meanwhile, nothing is committed.
func (i *Incarnation) Commit(ctx context.Context, x *table.Tx, sync bool) error {
	if err := x.EndTransaction(ctx, i.Rules(i.Catalog(), i.stored())); err != nil {
		x.Release()
		return i.Explain(err)
	}
	if err := i.RT.Admit(ctx, x.Jobs()); err != nil {
		x.Release()
		if i.Ctx.Err() == nil {
			return err
		}
		return i.explain(err)
	}
	return i.Explain(x.Commit(i.Store.Log(), i.RT, sync))
}
