package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// JobID identifies a job: it is the catalog id of its relation.
type JobID uint32

// Job is a streaming graph as it is deployed.
type Job struct {
	ID   JobID
	Name string
	// Fragments in topological order; consumers in other jobs attach to the last one.
	Fragments []*Fragment
	// StateID gives the table id of an operator's state by its full name. Actors call it at the same time.
	StateID func(name string) storage.TableID
	// RowErrors gives each actor with operators where it reports errors of expressions on rows; nil: such an error ends the
	// work. SkipFailed: see exec.Context. Actors call it at the same time.
	RowErrors  func() RowErrors
	SkipFailed bool
	// Late is told of rows that operators left out as late; see exec.Context.
	Late func(rows int64)
	Env  *exec.Env
	// Lookups are jobs whose arrangements the job reads as they are when its rows come: what it gives depends on the order
	// in which the tables below them and its other inputs were written to; see order.go.
	Lookups []JobID
	// Timed: what the job gives depends on the epochs in which its rows come. It restarts with everything else.
	Timed bool
	// Failover names the strategy of the job; empty: that of the runtime's owner.
	Failover string
	// Replayable says that what the job has sent since the last checkpoint can be given again to a consumer:
	// it is kept in an arrangement, or comes from a source that can be read again.
	Replayable bool

	ctx context.Context // set when the job is deployed
}

// Context ends when a deployed job is stopped.
func (j *Job) Context() context.Context { return j.ctx }

// Fragment is one stage of a job.
type Fragment struct {
	ID int
	// Parallel is the number of actors, at least 1.
	Parallel int
	Inputs   []Input
	// Types is the schema of the output.
	Types []types.Type
	// Root builds the operator tree of actor number i; nil: the input is passed on as it is.
	Root func(i int) (*Node, error)
	// Source makes this a fragment of source readers, without inputs and Root.
	Source *SourceSpec
	// Table makes this the input of a table: one actor without Root; Runtime.Write feeds it and
	// applies the changes to the arrangements (the rows, then the unique indexes), which the runtime
	// seals at each barrier.
	Table []*storage.Arrangement
	// Loop makes this the head of a loop.
	Loop *Loop
}

// Input is an input of a fragment: the output of another one.
type Input struct {
	// Job and Fragment name the producer; Fragment -1 is the last one of Job.
	Job      JobID
	Fragment int
	Dist     Dist
	// Cols are the producer's columns that are needed, in order; nil for all.
	Cols []int
	// Loop: producer and consumer are in one loop, see Loop.
	Loop bool
}

type edgeID uint64

// Mutation is the change of the graph that a barrier carries. It is made by Deploy and Remove.
type Mutation struct {
	start []*actor
	// together are jobs that begin with the same barrier and at the same checkpoint, so that each sees
	// what the others send from the start.
	together map[*deployed]bool
	// sources are the positions of source jobs that are started again.
	sources     map[JobID]*positions
	remove      map[ActorID]*actor
	addEdges    map[ActorID][]*edge
	removeEdges map[edgeID]bool
	save        Save
	// needs are the jobs of save.Needs; lost is called when one of them is lost in time.
	needs []*deployed
	lost  func()
	// refused, if not nil, is called when there is no room for the checkpoint that was to have save, which is then in none.
	refused  func(error)
	injected chan storage.Epoch // capacity 1
}

func (m *Mutation) removes(a ActorID) bool { return m != nil && m.remove[a] != nil }

// Save is what goes into the checkpoint of a mutation's barrier besides operator state.
type Save struct {
	Meta []storage.MetaOp
	Drop []storage.TableID
	// Needs are jobs whose state the checkpoint must have as well: if one of them is lost before, nothing of
	// this is saved. For Save only.
	Needs []JobID
	// Keep: the jobs that go hand over their state at their last barrier, which is one of a checkpoint: somebody finishes
	// what they leave. For Remove only.
	Keep bool
}

func (s Save) empty() bool { return len(s.Meta) == 0 && len(s.Drop) == 0 }

// Failure is why the runtime stopped.
type Failure struct {
	Job JobID
	Err error
}

// Config has what a Runtime needs.
type Config struct {
	Store  *storage.Store
	Logger *slog.Logger
	// ChunkSize is the usual number of rows of a chunk; 0 means vec.ChunkSize.
	ChunkSize int
	// QueueChunks is how many chunks a producer may have waiting at a consumer; 0 means 4.
	QueueChunks int
	// Alignment is what gates do with producers that are ahead.
	Alignment Alignment
	// EarlyMemory bounds the bytes that an actor keeps in memory of what arrives early, and SpillLimit what
	// it keeps on disk; beyond both its producers wait. 0 means 8 MiB and 256 MiB.
	EarlyMemory, SpillLimit int64
	// LoopMemory bounds the bytes of the feedback in front of the head of a loop, and of its log, that are kept in memory; what
	// is more is on disk, without a limit. 0 means 8 MiB.
	LoopMemory int
	// MemoryBudget is what one operator's cache may use, in bytes; 0 = no bound.
	MemoryBudget int64
	// Memory is what the operators share; see NewMemory. Nil = no bound.
	Memory     *exec.Memory
	Checkpoint checkpoint.Config
	Clock      checkpoint.Clock
	// Time is where epochs get their times from; nil: the machine's clock.
	Time TimeSource
	// StuckAfter is how long a barrier may be in flight until it is called stuck. 0 means 10 seconds.
	StuckAfter time.Duration
	// History remembers what became of checkpoints; nil: one of this runtime's own.
	History *History
	// LogPos is the position in the log that the restored checkpoint covers.
	LogPos storage.LogPos
	// Failed is called at most once, when a job or the store has failed, and must not block: every
	// actor is then told to stop, and the owner calls Stop and recovers with a new Runtime. What
	// goes wrong after Stop or the end of the runtime's context is not reported.
	Failed func(Failure)
	// Failover decides how far the failure of a job reaches: only the actors of the jobs that it
	// gives are stopped, if local, and everything else runs on; started then gets them. It is called by the
	// actor that failed, under a lock: it must be quick, and not call the runtime. Nil: every failure
	// ends the runtime. Failures of what is not a job's always do.
	Failover func(f Failure, g []failover.Job) (jobs []JobID, started func(*Region), local bool)
	// Fault is for tests: it is called before an operator gets a chunk or a barrier, and may panic.
	Fault func(job JobID, actor ActorID, operator string)
	// Step is for tests: it is called before a job is built, and before a change of the graph is asked for. If it gives an
	// error, that step has failed with it.
	Step func(step string) error
	// Watch is for tests: who is shown what an operator of an actor emits; nil: nobody.
	Watch func(job string, actor ActorID, operator string) Watcher
}

// Runtime owns the actors of all jobs.
type Runtime struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	drv    atomic.Pointer[checkpoint.Driver]
	worker *worker
	// coordinators counts those that have died.
	coordinators atomic.Int64
	wg           sync.WaitGroup

	// graph serialises changes of the graph. It is held until a change's barrier is injected, so
	// no actor may wait for it.
	graph sync.Mutex
	// jobsMu guards jobs for readers; writers hold graph too.
	jobsMu sync.RWMutex
	jobs   map[JobID]*deployed
	// leaving are jobs that were removed and some of whose actors have not ended; guarded by jobsMu.
	leaving  map[*deployed]bool
	nextID   ActorID
	nextEdge edgeID
	// gen is the generation of actors that are made now: in its upper half that of the worker, which the store gives, in
	// the lower one the number of regions that were restarted.
	gen channel.Generation
	// producers are those that were ever deployed and not removed.
	producers    map[producerKey]channel.ProducerID
	nextProducer channel.ProducerID

	// inject orders writes and barriers: everything written under it belongs to the epoch open.
	inject sync.Mutex
	open   storage.Epoch
	// written is the newest epoch that has an acknowledged write; dueIn the newest one whose barrier came when operators
	// were due.
	written, dueIn storage.Epoch
	logPos         storage.LogPos
	roots          []*actor
	tables         map[JobID]*actor
	// live are the actors whose goroutines run.
	live map[ActorID]*actor
	// regions are those whose end the coordinator has not confirmed, holds those that wait for checkpoints
	// to be held, in the order of their asking; regionsMu guards both.
	regionsMu sync.Mutex
	regions   map[ActorID]*Region
	holds     []*Region
	// gaps are the epochs that jobs took no part in, oldest first; guarded by regionsMu too.
	gaps map[JobID][]gap
	// saves and logAt are what checkpoints that are not committed yet must contain, oldest first.
	saves []epochSave
	logAt []epochLog
	// committed is closed, and replaced, whenever an attempt to write a checkpoint has ended; guarded by inject.
	committed chan struct{}
	// onWay are the epochs that are injected and not complete, oldest first.
	onWay []injection

	pressure  pressure
	time      timekeeper
	frontiers frontiers

	order order
	// opened is closed, and replaced, when the next epoch is opened; guarded by inject.
	opened chan struct{}

	// aligned is what the gates had to do for their barriers.
	aligned alignments

	// startErr is why the runtime cannot work; it fails as soon as it is started.
	startErr error
	failOnce sync.Once
	stopped  atomic.Bool
}

type epochSave struct {
	epoch storage.Epoch
	*Mutation
	// taken: a checkpoint is being written that has it.
	taken bool
}

// without tells whether a job that the save needs is dead.
func (m *Mutation) without() bool {
	return slices.ContainsFunc(m.needs, func(d *deployed) bool { return d.dead.Load() })
}

type epochLog struct {
	epoch storage.Epoch
	pos   storage.LogPos
	time  int64
}

// deployed is a job with its actors.
type deployed struct {
	job *Job
	// now is its id if that is not the job's any more; see Replace.
	now    atomic.Uint32
	actors [][]*actor // by fragment
	// ctx ends when the job is stopped. dead: it was, because it or what feeds it has failed; set under
	// jobsMu and inject.
	ctx    context.Context
	cancel context.CancelFunc
	dead   atomic.Bool
	// leaves: it was removed; some of its actors may not have ended.
	leaves atomic.Bool
	// running counts the actors that have been started and have not ended; alive does as well, guarded
	// by inject.
	running sync.WaitGroup
	alive   int
	// edges lead to this job's actors from others'.
	edges   []edgeID
	sources *positions // of a source job
	// failover is the strategy; guarded by jobsMu once the job is deployed.
	failover string
}

// id is the present id of the job.
func (d *deployed) id() JobID {
	if id := d.now.Load(); id != 0 {
		return JobID(id)
	}
	return d.job.ID
}

// NewRuntime makes a runtime that continues after the store's checkpoint. Start it, then deploy jobs. When
// ctx ends nothing completes any more, and waiters are told; Stop must be called in any case.
func NewRuntime(ctx context.Context, cfg Config) *Runtime {
	if cfg.ChunkSize == 0 {
		cfg.ChunkSize = vec.ChunkSize
	}
	if cfg.QueueChunks == 0 {
		cfg.QueueChunks = 4
	}
	if cfg.LoopMemory == 0 {
		cfg.LoopMemory = 8 << 20
	}
	if cfg.EarlyMemory == 0 {
		cfg.EarlyMemory = 8 << 20
	}
	if cfg.SpillLimit == 0 {
		cfg.SpillLimit = 256 << 20
	}
	if cfg.Clock == nil {
		cfg.Clock = checkpoint.SystemClock{}
	}
	if cfg.History == nil {
		cfg.History = NewHistory()
	}
	r := &Runtime{
		cfg: cfg, jobs: map[JobID]*deployed{}, tables: map[JobID]*actor{}, live: map[ActorID]*actor{},
		opened: make(chan struct{}), committed: make(chan struct{}), open: cfg.Store.Checkpoint().Epoch + 1, logPos: cfg.LogPos, regions: map[ActorID]*Region{},
		gaps: map[JobID][]gap{}, leaving: map[*deployed]bool{}, producers: map[producerKey]channel.ProducerID{},
	}
	r.frontiers.injected.Store(uint64(cfg.Store.Checkpoint().Epoch))
	r.pressure.memory, r.pressure.store = cfg.Memory, cfg.Store
	r.worker = newWorker(r)
	r.ctx, r.cancel = context.WithCancel(ctx)
	if err := r.time.init(cfg.Time, cfg.Store); err != nil {
		r.startErr = err
	}
	return r
}

// job finds a deployed job, nil if there is none.
func (r *Runtime) job(id JobID) *deployed {
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	return r.jobs[id]
}

func (r *Runtime) setJob(id JobID, d *deployed) {
	r.jobsMu.Lock()
	defer r.jobsMu.Unlock()
	if d == nil {
		delete(r.jobs, id)
	} else {
		r.jobs[id] = d
	}
}

func (r *Runtime) driver() *checkpoint.Driver { return r.drv.Load() }

// Start starts the coordinator; everything else is possible only afterwards. Events are the owner's; the
// runtime adds what the store needs.
func (r *Runtime) Start(ev checkpoint.Events) {
	r.graph.Lock()
	defer r.graph.Unlock()
	d := checkpoint.NewDriver(checkpoint.DriverConfig{
		Coordinator: r.coordinatorConfig(), Restored: checkpoint.Epoch(r.cfg.Store.Checkpoint().Epoch), Keeper: r.loadKeeper(),
		Host: r.worker, Store: committer{r}, Clock: r.cfg.Clock, Events: r.coordinatorEvents(ev),
	})
	r.drv.Store(d)
	r.worker.start(d)
	r.wg.Go(func() { d.Run(r.ctx) })
	r.wg.Go(r.keepTime)
	if r.startErr != nil {
		r.fail(nil, r.startErr)
	}
	select {
	case <-r.worker.registered:
		r.gen = channel.Generation(r.worker.generation()) << regionBits
	case <-r.ctx.Done():
	}
}

// Stop ends all actors and the coordinator, and waits for them.
func (r *Runtime) Stop() {
	r.halt()
	r.wg.Wait()
	r.cfg.History.ended(r.cfg.Clock.Now())
}

func (r *Runtime) halt() {
	r.stopped.Store(true)
	r.cancel()
	r.inject.Lock()
	defer r.inject.Unlock()
	for _, a := range r.live {
		a.closeInputs()
	}
}

func (r *Runtime) fail(a *actor, err error) {
	if r.stopped.Load() || r.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	if a != nil && r.failLocal(a, err) {
		return
	}
	r.failOnce.Do(func() {
		f := failureOf(a, err)
		if r.cfg.Failed != nil {
			r.cfg.Failed(f)
		}
		r.halt()
	})
}

func failureOf(a *actor, err error) Failure {
	if a == nil {
		return Failure{Err: err}
	}
	return Failure{Job: a.job.id(), Err: fmt.Errorf("actor %d of %s: %w", a.id, a.job.job.Name, err)}
}

// ended forgets an actor whose goroutine is about to end. A producer that waits for room in its inbox,
// because the actor gave up before halt has closed it, must not wait for ever.
func (r *Runtime) ended(a *actor) {
	a.closeInputs()
	defer r.frontiers.gone(a)
	if a.last {
		r.worker.ended(a.id)
	}
	r.inject.Lock()
	delete(r.live, a.id)
	a.job.alive--
	last := a.job.alive == 0
	r.inject.Unlock()
	if last {
		a.job.cancel()
		r.jobsMu.Lock()
		delete(r.leaving, a.job)
		r.jobsMu.Unlock()
	}
}

func (r *Runtime) inputArrived() {
	if d := r.driver(); d != nil {
		d.InputArrived()
	}
}

// BarrierAfter is RequestBarrier once a job has passed an epoch.
func (r *Runtime) BarrierAfter(e storage.Epoch, id JobID) {
	r.wg.Go(func() {
		if r.Reach(r.ctx, e, id) == nil {
			r.RequestBarrier()
		}
	})
}

// RequestBarrier asks that the open epoch be ended now.
func (r *Runtime) RequestBarrier() {
	r.inject.Lock()
	e := r.open
	r.inject.Unlock()
	r.driver().Send(checkpoint.Demand{Epoch: checkpoint.Epoch(e)})
}

// initiate sends the barrier to every root actor and opens the next epoch. It does not block: the channels from the
// coordinator are unbounded.
func (r *Runtime) initiate(e checkpoint.Epoch, ckpt bool, mutation any) {
	epoch := storage.Epoch(e)
	b := exec.Barrier{Epoch: epoch, Checkpoint: ckpt, Mutation: mutation}
	m, _ := mutation.(*Mutation)
	r.inject.Lock()
	defer r.inject.Unlock()
	b.Time = r.time.tick(epoch)
	if r.time.next.Load() <= b.Time {
		r.dueIn = epoch
	}
	if m != nil {
		for _, a := range m.start {
			if a.job.dead.Load() {
				// What feeds it has failed since it was made.
				continue
			}
			r.live[a.id] = a
			a.from.Store(uint64(epoch))
			if len(a.frag.Inputs) == 0 {
				a.root.start(0, a.gen, epoch)
				r.roots = append(r.roots, a)
			}
			if a.frag.Table != nil {
				r.tables[a.job.id()] = a
			}
			if r.stopped.Load() {
				a.closeInputs()
			}
			if a.frag.Source == nil { // a source asks what is needed of it at the barrier
				a.disp.attach(m, epoch, true)
				if a.loop != nil && a.loop.disp != nil {
					a.loop.disp.attach(m, epoch, true)
				}
			}
			a.job.running.Add(1)
			a.job.alive++
			r.wg.Go(a.run)
		}
		if m.without() {
			m.lost()
		} else if !m.save.empty() {
			r.saves = append(r.saves, epochSave{epoch: epoch, Mutation: m})
		}
	}
	// Arrangements do not depend on each other, so the order is of no consequence.
	for _, a := range r.tables {
		for _, t := range a.frag.Table {
			t.Seal(epoch, ckpt)
		}
	}
	for _, a := range r.roots {
		// A closed inbox means that the runtime is stopping.
		_ = a.root.barrier(&b)
	}
	if m != nil && len(m.remove) > 0 {
		r.roots = slices.DeleteFunc(r.roots, func(a *actor) bool { return m.removes(a.id) })
		for _, a := range m.remove {
			if a.frag.Table != nil {
				delete(r.tables, a.job.id())
			}
		}
	}
	if ckpt {
		r.logAt = append(r.logAt, epochLog{epoch, r.logPos, b.Time})
	}
	if m != nil {
		r.reorder()
	}
	r.openNext(epoch)
	r.onWay = append(r.onWay, injection{epoch, r.cfg.Clock.Now()})
	if m != nil {
		m.injected <- epoch
	}
}

// TableWrite is a change of one table: for each arrangement of its fragment, and as rows for the
// consumers.
type TableWrite struct {
	Job     JobID
	Changes [][]storage.Change
	Rows    []Rows       // more rows of the first arrangement, given away
	Chunks  []*vec.Chunk // given away
}

// Rows are encoded rows, as storage.Arrangement.Append takes them.
type Rows struct {
	Buf  []byte
	Ends []int
}

// Write puts durable writes into the open epoch, in order; pos is the log position of the last one.
// It never waits for the dataflow, see Admit, but for the end of an epoch where the order of writes matters (order.go). A write to a table that is not running is left out and
// gives an error, once all others are done: they are durable, and a recovery would do them too.
func (r *Runtime) Write(pos storage.LogPos, ws []TableWrite) error {
	return r.write(ws, func() {
		r.logPos = pos
		r.written = r.open
	})
}

// WriteSaving is Write, and makes save part of the checkpoint that has these writes: there is none with one and without the other. then is
// called when the writes are in the epoch, before that ends.
func (r *Runtime) WriteSaving(pos storage.LogPos, ws []TableWrite, save Save, then func()) error {
	return r.write(ws, func() {
		r.logPos = pos
		r.written = r.open
		if !save.empty() {
			r.saves = append(r.saves, epochSave{epoch: r.open, Mutation: &Mutation{save: save}})
		}
		then()
	})
}

// Fill puts writes that are not in the log into the open epoch, which it gives: those of a table that is being made. They
// last as long as the checkpoint that has them, with everything that was written so.
func (r *Runtime) Fill(ws []TableWrite) (e storage.Epoch, err error) {
	err = r.write(ws, func() { e = r.open })
	return e, err
}

// write puts writes into the open epoch; done is called under the same lock.
func (r *Runtime) write(ws []TableWrite, done func()) error {
	var missing error
	r.inject.Lock()
	if err := r.writeInOrder(ws); err != nil {
		r.inject.Unlock()
		return err
	}
	for _, w := range ws {
		a := r.tables[w.Job]
		if a == nil {
			missing = errors.Join(missing, fmt.Errorf("flow: write to table %d, which is not running", w.Job))
			continue
		}
		for i, cs := range w.Changes {
			a.frag.Table[i].Apply(cs)
		}
		for _, rs := range w.Rows {
			a.frag.Table[0].Append(rs.Buf, rs.Ends)
		}
		for _, c := range w.Chunks {
			p := &parcel{chunk: c}
			p.refs.Store(1)
			if err := a.root.chunk(p); err != nil {
				r.inject.Unlock()
				return err
			}
		}
	}
	done()
	r.inject.Unlock()
	r.inputArrived()
	return missing
}

// AttachTable adds an arrangement to those of a running table: from now on it has its epochs, and writes have changes for it,
// as the last one. Nobody may write to the table meanwhile. A table that does not run is an error.
func (r *Runtime) AttachTable(job JobID, arr *storage.Arrangement) error {
	r.inject.Lock()
	defer r.inject.Unlock()
	a := r.tables[job]
	if a == nil {
		return fmt.Errorf("flow: table %d is not running", job)
	}
	a.frag.Table = append(slices.Clone(a.frag.Table), arr)
	return nil
}

// DetachTable takes arrangement number i away from those of a running table. Nobody may write to the table meanwhile.
func (r *Runtime) DetachTable(job JobID, i int) {
	r.inject.Lock()
	defer r.inject.Unlock()
	if a := r.tables[job]; a != nil && i < len(a.frag.Table) {
		a.frag.Table = slices.Delete(slices.Clone(a.frag.Table), i, i+1)
	}
}

// FillTable puts entries into the arrangement that AttachTable has added last, in the open epoch, which it gives.
func (r *Runtime) FillTable(job JobID, cs []storage.Change) (storage.Epoch, error) {
	r.inject.Lock()
	defer r.inject.Unlock()
	a := r.tables[job]
	if a == nil {
		return 0, fmt.Errorf("flow: table %d is not running", job)
	}
	a.frag.Table[len(a.frag.Table)-1].Apply(cs)
	return r.open, nil
}

// Written is the newest epoch with an acknowledged write: a read that must see every one of them
// waits for it.
func (r *Runtime) Written() storage.Epoch {
	r.inject.Lock()
	defer r.inject.Unlock()
	return r.written
}

// Open is the epoch that takes changes now.
func (r *Runtime) Open() storage.Epoch {
	r.inject.Lock()
	defer r.inject.Unlock()
	return r.open
}

// Wait demands and awaits the completion of an epoch.
func (r *Runtime) Wait(ctx context.Context, e storage.Epoch) error {
	return r.driver().Wait(ctx, checkpoint.Epoch(e))
}

// WaitDurable demands and awaits a checkpoint of an epoch or of a later one.
func (r *Runtime) WaitDurable(ctx context.Context, e storage.Epoch) error {
	return r.driver().WaitDurable(ctx, checkpoint.Epoch(e))
}

// Marks gives the coordinator's marks.
func (r *Runtime) Marks() checkpoint.Marks { return r.driver().Marks() }

// Running counts the actors and jobs that are deployed.
func (r *Runtime) Running() (actors int, jobs int) {
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	for _, d := range r.jobs {
		for _, as := range d.actors {
			actors += len(as)
		}
	}
	return actors, len(r.jobs)
}
