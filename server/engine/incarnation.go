package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weirdb/weir/checkpoint"
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

	cat atomic.Pointer[catalog.Catalog]

	mu sync.Mutex
	// users counts the callers of Acquire that have not left; gone is closed when it is 0 and ended.
	users int
	ended bool
	gone  chan struct{}

	// tables, sources and problems are replaced under mu.
	tables   map[catalog.ID]*table.Table
	sources  map[catalog.ID]exec.Source
	problems map[catalog.ID]error
	nextID   catalog.ID
	seqs     *table.Sequences
	errs     rowErrors
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
	return i.Store.Close()
}

// ChunkSize is the number of rows in a full chunk.
func (i *Incarnation) ChunkSize() int { return i.e.cfg.ChunkSize }

// Catalog gives the present catalog.
func (i *Incarnation) Catalog() *catalog.Catalog { return i.cat.Load() }

// start opens the store and starts all jobs; it returns when every acknowledged write is visible.
func (e *Engine) start() (*Incarnation, error) {
	store, err := storage.Open(e.cfg.Storage)
	if err != nil {
		return nil, err
	}
	i, err := e.startOn(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return i, nil
}

func (e *Engine) startOn(store *storage.Store) (*Incarnation, error) {
	cat, err := loadCatalog(store)
	if err != nil {
		return nil, err
	}
	i := &Incarnation{
		e: e, Store: store, gone: make(chan struct{}), failure: make(chan flow.Failure, 1), nextID: cat.NextID,
		tables: map[catalog.ID]*table.Table{}, sources: map[catalog.ID]exec.Source{}, problems: map[catalog.ID]error{},
	}
	i.cat.Store(cat)
	i.Ctx, i.cancel = context.WithCancel(e.ctx)
	live := map[storage.TableID]bool{storage.TableID(table.SequencesID): true}
	for _, r := range cat.Relations {
		for _, id := range table.Tables(r) {
			live[id] = true
		}
	}
	if err := store.Retain(func(id storage.TableID) bool { return live[id] }); err != nil {
		return nil, err
	}
	i.RT = flow.NewRuntime(i.Ctx, flow.Config{
		Store: store, Logger: e.cfg.Logger, ChunkSize: e.cfg.ChunkSize, Checkpoint: e.cfg.Checkpoint,
		MemoryBudget: e.cfg.MemoryLimit / 8, LogPos: store.Checkpoint().LogPos,
		Failed: func(f flow.Failure) {
			i.cancel()
			i.failure <- f
		},
	})
	i.RT.Start(checkpoint.Events{
		CommitFailed: func(ep checkpoint.Epoch, err error) {
			e.cfg.Logger.Error("checkpoint failed, will be tried again", "epoch", uint64(ep), "error", err)
		},
	})
	if err := i.deployAll(); err != nil {
		i.cancel()
		i.RT.Stop()
		select {
		case f := <-i.failure:
			e.count(f)
			err = errors.Join(errJobFailed, f.Err)
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
	seqTable := table.New(i.Store, seqRel)
	i.tables[seqRel.ID] = seqTable
	jobs := []*flow.Job{i.tableJob(seqTable)}
	for _, r := range cat.Sorted() {
		if i.e.Stalled(cat, r.ID) != nil {
			continue
		}
		switch r.Kind {
		case catalog.Table:
			t := table.New(i.Store, r)
			i.tables[r.ID] = t
			if !r.HasConnector() {
				jobs = append(jobs, i.tableJob(t))
				continue
			}
			j, err := i.connectorTableJob(t, i.stateIDs(r))
			if err != nil {
				return fmt.Errorf("table %s: %w", r.Name, err)
			}
			jobs = append(jobs, j)
		case catalog.Source:
			if i.needed(cat, r.ID) {
				j, err := i.sourceJob(r, i.stateIDs(r))
				if err != nil {
					return fmt.Errorf("source %s: %w", r.Name, err)
				}
				jobs = append(jobs, j)
			}
		case catalog.MatView, catalog.Sink:
			j, err := i.queryJob(cat, r, i.stateIDs(r), nil)
			if err != nil {
				return fmt.Errorf("%s %s: %w", r.Kind, r.Name, err)
			}
			jobs = append(jobs, j)
		}
	}
	ctx := i.Ctx
	if _, err := i.RT.Deploy(ctx, flow.Save{}, jobs...); err != nil {
		return err
	}
	i.seqs = table.NewSequences(seqTable, i.Store.Log(), i.RT)
	err := i.Store.Log().Replay(i.Store.Checkpoint().LogPos, func(pos storage.LogPos, rec []byte) error {
		return table.Replay(i.RT, pos, rec, func(id uint32) *table.Table { return i.tables[catalog.ID(id)] })
	})
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if err := i.RT.Wait(ctx, i.RT.Open()); err != nil {
		return fmt.Errorf("recovery: %w", err)
	}
	for _, t := range i.tables {
		if err := t.OpenSequences(i.seqs); err != nil {
			return err
		}
	}
	return nil
}

// needed tells whether some job reads a source.
func (i *Incarnation) needed(cat *catalog.Catalog, id catalog.ID) bool {
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

// Problem tells why a source does not deliver any more, nil if it does.
func (i *Incarnation) Problem(id catalog.ID) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.problems[id]
}

func (i *Incarnation) setProblem(id catalog.ID, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		delete(i.problems, id)
	} else {
		i.problems[id] = err
	}
}

// Snapshot pins an epoch for a read. A fresh one contains every write acknowledged before the call.
func (i *Incarnation) Snapshot(ctx context.Context, fresh bool) (*storage.Snapshot, error) {
	if fresh {
		if err := i.RT.Wait(ctx, i.RT.Written()); err != nil {
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

// Commit makes a transaction durable and visible.
func (i *Incarnation) Commit(x *table.Tx, sync bool) error {
	return i.Explain(x.Commit(i.Store.Log(), i.RT, sync))
}
