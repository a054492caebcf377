// Package engine is the database without sessions: catalog, storage, running jobs, tables, and the
// recovery of all that after a failure.
//
// An Incarnation is one life of the dataflow: a store that was opened, the jobs that run on it, and the
// tables. When a job fails, its region is stopped and started again while everything else runs on (failover.go).
// Where that is not possible, or not wanted, the incarnation is given up as a whole and the next one starts from
// the last checkpoint and the log, in the same process. Work that sessions do holds on to the
// incarnation in which it began, and fails with it.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// Config says how an Engine works.
type Config struct {
	// Storage says where the data is. Its Logger is set by Open.
	Storage storage.Config
	Logger  *slog.Logger
	// Parallelism is the number of actors of a parallel fragment of a new job.
	Parallelism int
	// MaxRecursion bounds the iterations of a recursive query in a job, for one epoch. 0 = no bound.
	MaxRecursion int
	Checkpoint   checkpoint.Config
	// StuckAfter is flow.Config's.
	StuckAfter time.Duration
	// Failover says what is restarted when a job fails, and how often.
	Failover failover.Config
	// Fault is for tests: see flow.Config.
	Fault func(job flow.JobID, actor flow.ActorID, operator string)
	// Step is for tests: it is called before each step of a definition that can fail, and what it returns is the error of
	// that step. See also flow.Config.
	Step func(step string) error
	// Watch is for tests: see flow.Config.
	Watch func(job string, actor flow.ActorID, operator string) flow.Watcher
	// Portion is for tests: how many rows a leaf that fills a job reads between two barriers; 0: as many as are worked off in time.
	Portion int
	// LoopMemory and EarlyMemory are flow.Config's.
	LoopMemory  int
	EarlyMemory int64
	// Alignment is what the dataflow does with producers that are ahead by a barrier.
	Alignment flow.Alignment
	// MemoryLimit bounds the process, in bytes; 0 = no bound. The engine gives a part of it to the
	// operators' caches.
	MemoryLimit int64
	// ChunkSize is for tests; 0 is the usual one.
	ChunkSize int
	// Connectors makes sources and sinks.
	Connectors *connector.Registry
	// Registry has the functions that queries may use, and Catalog adds the system relations to a
	// catalog; both for the planner.
	Registry *fn.Registry
	Catalog  func(*catalog.Catalog) catalog.Reader
}

// Engine owns the incarnations.
type Engine struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// queries is the memory of all ad hoc queries; nil: no bound.
	queries *exec.Memory
	// tempFiles numbers the temporary files of queries.
	tempFiles atomic.Int64
	// blocks numbers the catalogs of transactions.
	blocks atomic.Int64
	// ddl lets one statement change the catalog at a time (capacity 1).
	ddl chan struct{}

	clock clock

	mu  sync.Mutex
	cur *Incarnation
	// changed is closed, and replaced, whenever cur or broken changes.
	changed chan struct{}
	// last gives the catalog of the newest incarnation, also when that has ended.
	last   func() *catalog.Catalog
	closed bool
	// broken is why the last attempt to recover failed; nil while none has, and once one has succeeded.
	broken error
	// fatal gets the error after which only another process can go on (capacity 1).
	fatal chan error
	// recoveries counts the incarnations after the first.
	recoveries int64
	// restarts counts the regions that were started again by themselves.
	restarts atomic.Int64
	// history has the newest checkpoints of all incarnations; fallbacks what opening the store had to do, guarded by mu as
	// their number is.
	history       *flow.History
	fallbacks     []storage.Fallback
	fallbackCount int64

	// foMu guards the manager of restarts, and with it stalled: the jobs that are not started, with the reason.
	foMu    sync.Mutex
	manager *failover.Manager
	stalled map[catalog.ID]error
	// regions are the restarts that are under way, timer is the manager's.
	regions map[failover.RegionID]*restart
	timer   *time.Timer
	// restarted counts the restarts of jobs.
	restarted map[catalog.ID]int64
}

// Errors of engines.
var (
	errClosed = sqlerr.Newf(sqlerr.AdminShutdown, "the server is shutting down")
	// ErrRestarted is why work that spans incarnations fails.
	ErrRestarted = sqlerr.Newf(sqlerr.SerializationFailure, "the dataflow was restarted after a failure").
			WithHint("The transaction can be tried again.")
)

// Open opens the data directory, recovers, and returns when every acknowledged write is visible.
func Open(cfg Config) (*Engine, error) {
	if cfg.Parallelism < 1 {
		cfg.Parallelism = 1
	}
	if cfg.ChunkSize < 1 {
		cfg.ChunkSize = vec.ChunkSize
	}
	cfg.Storage.Logger = cfg.Logger
	shareMemory(cfg.MemoryLimit).configure(&cfg.Storage)
	e := &Engine{
		cfg: cfg, ddl: make(chan struct{}, 1), changed: make(chan struct{}), fatal: make(chan error, 1),
		manager: failover.NewManager(cfg.Failover), stalled: map[catalog.ID]error{},
		regions: map[failover.RegionID]*restart{}, history: flow.NewHistory(), restarted: map[catalog.ID]int64{},
	}
	e.clock.setting = make(chan struct{}, 1)
	if n := shareMemory(cfg.MemoryLimit).queries; n > 0 {
		e.queries = exec.NewMemory(exec.MemoryConfig{Limit: n, Strict: true})
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	inc, err := e.startCounting()
	if err != nil {
		e.cancel()
		return nil, err
	}
	e.publish(inc)
	return e, nil
}

// publish makes an incarnation the present one; false if the engine was closed meanwhile.
func (e *Engine) publish(inc *Incarnation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.cur, e.broken = inc, nil
	if inc.after {
		e.recoveries++
	}
	e.last = inc.Catalog
	if inc.after {
		e.foMu.Lock()
		for id := range inc.Catalog().Relations {
			if inc.RT.Has(flow.JobID(id)) {
				e.restarted[id]++
			}
		}
		e.foMu.Unlock()
	}
	e.step(failover.Started{})
	inc.version = e.version()
	inc.published.Store(true)
	e.wakeLocked()
	e.wg.Go(func() { e.watch(inc) })
	inc.fillPending()
	return true
}

// wakeLocked wakes who waits in Acquire.
func (e *Engine) wakeLocked() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// Acquire gives the present incarnation, waiting for a recovery that is under way. If that fails, it gives
// the reason, and the recovery is tried again and again meanwhile. The caller must call release when its
// work is done; the incarnation's context ends when it fails.
func (e *Engine) Acquire(ctx context.Context) (inc *Incarnation, release func(), err error) {
	for {
		e.mu.Lock()
		inc, changed, closed, broken := e.cur, e.changed, e.closed, e.broken
		if inc == nil && broken != nil && !closed {
			e.mu.Unlock()
			return nil, nil, brokenError(broken)
		}
		if closed {
			e.mu.Unlock()
			return nil, nil, errClosed
		}
		if inc != nil && inc.enter() {
			e.mu.Unlock()
			return inc, inc.leave, nil
		}
		e.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-e.ctx.Done():
			return nil, nil, errClosed
		}
	}
}

func brokenError(cause error) error {
	code := sqlerr.CannotConnectNow
	var known *sqlerr.Error
	switch {
	case errors.Is(cause, syscall.ENOSPC):
		code = sqlerr.DiskFull
	case errors.As(cause, &known):
		code = known.Code
	}
	e := sqlerr.Newf(code, "the database cannot recover: %s", firstLine(cause))
	if errors.Is(cause, storage.ErrFailed) {
		e.Code, e.Hint = sqlerr.IOError, "The server ends, and recovers when it is started again."
	} else {
		e.Hint = "It is tried again all the time."
	}
	e.Cause = cause
	return e
}

// Catalog gives the present catalog, or the last one while a recovery is under way.
func (e *Engine) Catalog() *catalog.Catalog {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil {
		return catalog.New()
	}
	return e.last()
}

// Close makes a last checkpoint, for which it takes until ctx ends, stops everything and closes the store.
// Who has acquired an incarnation must release it.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	inc := e.cur
	e.cur = nil
	e.mu.Unlock()
	var err error
	if inc != nil {
		if werr := inc.RT.WaitDurable(ctx, inc.RT.Open()); werr != nil && !errors.Is(werr, checkpoint.ErrStopped) {
			err = fmt.Errorf("last checkpoint: %w", werr)
		}
	}
	if inc != nil {
		inc.Store.GiveUp()
	}
	e.cancel()
	e.wg.Wait()
	e.foMu.Lock()
	if e.timer != nil {
		e.timer.Stop()
	}
	e.foMu.Unlock()
	if inc != nil {
		err = errors.Join(err, inc.stop())
	}
	return err
}

// maxStarts is how often a job may fail in a row during a start, when everybody waits for it; then it is stalled, also if it
// would not be later.
const maxStarts = 5

// errJobFailed is wrapped by the error of a start during which a job failed.
var errJobFailed = errors.New("a job failed")

// startCounting starts an incarnation; a job that fails again and again meanwhile is stalled, so that
// the rest can start.
func (e *Engine) startCounting() (*Incarnation, error) {
	for {
		inc, err := e.start()
		if err == nil || !errors.Is(err, errJobFailed) || e.ctx.Err() != nil {
			return inc, err
		}
		e.cfg.Logger.Error("start failed", "event", "start_failed", "error", err)
	}
}

// count notes a failure after which everything is started again, and gives how long that should wait; r is the
// failed job's relation, nil if there is none.
func (e *Engine) count(f flow.Failure, r *catalog.Relation) time.Duration {
	e.cfg.Logger.Error("job failed", "event", "job_failed", "job", uint32(f.Job), "error", f.Err)
	// No graph, since there is nothing left of it: it is everything.
	for _, a := range e.step(failover.Failed{
		Version: e.version(), Job: failover.JobID(f.Job), Err: f.Err, MayStall: canStall(r),
	}) {
		if all, ok := a.(failover.RestartAll); ok {
			if all.Stalled {
				e.cfg.Logger.Error("job stalled", "event", "job_stalled", "job", uint32(r.ID), "name", r.Name, "error", f.Err)
			}
			return all.Delay
		}
	}
	return 0
}

// attempts is how often the job of a relation has failed in a row.
func (e *Engine) attempts(r *catalog.Relation) int {
	e.foMu.Lock()
	defer e.foMu.Unlock()
	return e.manager.Status(failover.JobID(r.ID)).Attempts
}

// canStall tells whether everything else can do without a relation's job. A table that statements write to
// has acknowledged writes in the log, which would be lost.
func canStall(r *catalog.Relation) bool {
	return r != nil && (r.Kind != catalog.Table || r.HasConnector())
}

// stall keeps a relation's job from being started.
func (e *Engine) stall(r *catalog.Relation, err error) {
	e.cfg.Logger.Error("job stalled", "event", "job_stalled", "job", uint32(r.ID), "name", r.Name, "error", err)
	e.step(failover.StalledAlready{Job: failover.JobID(r.ID), Err: err})
}

// watch replaces a published incarnation when it fails.
func (e *Engine) watch(inc *Incarnation) {
	var f flow.Failure
	select {
	case f = <-inc.failure:
	case <-e.ctx.Done():
		return
	}
	inc.published.Store(false)
	var delay time.Duration
	if all := inc.all.Load(); all != nil {
		e.cfg.Logger.Error("job failed, everything is restarted", "event", "job_failed", "job", uint32(f.Job), "error", f.Err)
		delay = all.Delay
	} else {
		delay = e.count(f, inc.Catalog().RelationByID(catalog.ID(f.Job)))
	}
	e.forgetRegions()
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.cur = nil
	e.mu.Unlock()
	if err := inc.stop(); err != nil {
		e.cfg.Logger.Error("stopping after a failure", "error", err)
	}
	if errors.Is(f.Err, storage.ErrFailed) {
		e.giveUp(f.Err)
		return
	}
	for {
		if !e.pause(delay) {
			return
		}
		next, err := e.startCounting()
		if err == nil {
			e.cfg.Logger.Info("recovered", "event", "recovered", "epoch", uint64(next.Store.Completed()))
			next.after = true
			if !e.publish(next) {
				if err := next.stop(); err != nil {
					e.cfg.Logger.Error("stopping after a recovery", "error", err)
				}
			}
			return
		}
		if e.ctx.Err() != nil {
			return
		}
		if errors.Is(err, storage.ErrFailed) {
			e.giveUp(err)
			return
		}
		e.cfg.Logger.Error("recovery failed", "event", "recovery_failed", "error", err)
		e.setBroken(err)
		delay = min(max(2*delay, 100*time.Millisecond), 10*time.Second)
	}
}

// forgetRegions ends the restarts of regions: everything is restarted.
func (e *Engine) forgetRegions() {
	e.foMu.Lock()
	defer e.foMu.Unlock()
	for _, r := range e.regions {
		r.cancel()
	}
	clear(e.regions)
}

func (e *Engine) setBroken(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = err
	e.wakeLocked()
}

// giveUp says that this process cannot go on: the storage engine has failed with locks held and work under
// way that nothing can stop, so the directory must not be opened again beside it.
func (e *Engine) giveUp(err error) {
	e.cfg.Logger.Error("storage failed, the server must be started again", "event", "storage_failed", "error", err)
	e.setBroken(err)
	e.fatal <- err
}

// Fatal gives the error after which the engine cannot go on; the process should end, and the next one
// recovers.
func (e *Engine) Fatal() <-chan error { return e.fatal }

// pause waits for d; false if the engine is closed meanwhile.
func (e *Engine) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.ctx.Done():
		return false
	}
}

// Stalled tells why a job, or one that it depends on, does not run; nil if it does.
func (e *Engine) Stalled(cat *catalog.Catalog, id catalog.ID) error {
	e.foMu.Lock()
	defer e.foMu.Unlock()
	return e.stalledLocked(cat, id)
}

func (e *Engine) stalledLocked(cat *catalog.Catalog, id catalog.ID) error {
	if len(e.stalled) == 0 {
		return nil
	}
	if err := e.stalled[id]; err != nil {
		return err
	}
	if r := cat.RelationByID(id); r != nil {
		for _, d := range r.Inputs() {
			if err := e.stalledLocked(cat, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// catalogVersion is the version of the record that has the catalog.
const catalogVersion = 1

var catalogKey = []byte("catalog")

type storedCatalog struct {
	Format  int
	Catalog *catalog.Catalog
}

func encodeCatalog(c *catalog.Catalog) (storage.MetaOp, error) {
	b, err := json.Marshal(storedCatalog{catalogVersion, c})
	if err != nil {
		return storage.MetaOp{}, fmt.Errorf("catalog: %w", err)
	}
	return storage.MetaOp{Key: catalogKey, Value: b}, nil
}

// checkpointCatalog gives the catalog of the checkpoint, which is the one that the state of a store belongs to.
func checkpointCatalog(s *storage.Store) (*catalog.Catalog, error) {
	b, ok, err := s.Meta(catalogKey)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	if !ok {
		return catalog.New(), nil
	}
	return decodeCatalog(b)
}

// loadCatalog gives the newest of the catalogs that the checkpoint and the log behind it have.
func loadCatalog(s *storage.Store) (*catalog.Catalog, error) {
	c, err := checkpointCatalog(s)
	if err != nil {
		return nil, err
	}
	var last []byte
	err = s.Log().Replay(s.Checkpoint().LogPos, func(_ storage.LogPos, rec []byte) error {
		if b := table.DefinitionsIn(rec); b != nil {
			last = b
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	if last == nil {
		return c, nil
	}
	later, err := decodeCatalog(last)
	if err != nil || later.Version <= c.Version {
		return c, err
	}
	return later, nil
}

func decodeCatalog(b []byte) (*catalog.Catalog, error) {
	var c storedCatalog
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	if c.Format != catalogVersion {
		return nil, fmt.Errorf("catalog has format %d, this server knows %d", c.Format, catalogVersion)
	}
	c.Catalog.Index()
	c.Catalog.Upgrade()
	return c.Catalog, nil
}
