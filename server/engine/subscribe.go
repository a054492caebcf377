package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// A subscription, step by step:
//
//  1. A subscription to a query first makes a materialized view of it that is in no catalog, and waits until that is filled.
//  2. A job with one actor is attached to the relation. Its first barrier is where the subscription begins: the version of
//     the relation at this epoch is pinned, which is the subscriber's snapshot, and the changes of all later epochs follow
//     it without a gap.
//  3. The actor collects the net changes of each epoch and never waits for the subscriber. What he has not taken is kept in
//     memory up to a limit; beyond it the subscription ends with an error.
//  4. An epoch is given to the subscriber when it is complete, so that nobody sees what a failure could undo.
//  5. When the relation is dropped, its region restarts, or the subscriber leaves, the jobs go, and what they keep.

// Batch is the changes of an epoch.
type Batch struct {
	Epoch storage.Epoch
	Rows  []op.FeedRow
	bytes int64
}

// SubscriptionConfig says what a subscription is for.
type SubscriptionConfig struct {
	// Rel is what is subscribed to. With Plan it is a materialized view that does not exist yet, and exists for the
	// subscription only.
	Rel  *catalog.Relation
	Plan *plan.Stream
	// Snapshot: the rows that are there already come first.
	Snapshot bool
	// Progress: Passed is of interest, so that Await returns for epochs without changes too.
	Progress bool
	// What describes it for weir_subscriptions; PID is the session's.
	What string
	PID  int32
}

// Subscription gives the changes of a relation, epoch by epoch. One goroutine may use it; Close may be called by
// another, when that does not.
type Subscription struct {
	i   *Incarnation
	cfg SubscriptionConfig
	// id is the job's. temp is the view of a query.
	id   catalog.ID
	temp *temporary
	// reads are the relations whose jobs must be there.
	reads map[catalog.ID]bool
	limit int64
	began time.Time

	mu      sync.Mutex
	wake    chan struct{} // capacity 1
	start   storage.Epoch
	version *storage.Version
	batches []Batch
	bytes   int64
	// passed is the newest epoch that has come, given the newest that was given to the subscriber.
	passed, given storage.Epoch
	err           error
	closed        bool

	end func() // of the creation
}

// temporary is a materialized view that is in no catalog.
type temporary struct {
	rel *catalog.Relation
	ids *stateIDs
}

// subscriptionBuffer is how many bytes of changes are kept for a subscriber who does not take them, without a memory
// limit; with one it is a thirty-second of that.
const subscriptionBuffer = 64 * mib

// Subscribe begins a subscription. It must be closed.
func (i *Incarnation) Subscribe(ctx context.Context, cfg SubscriptionConfig) (*Subscription, error) {
	rel := cfg.Rel
	s := &Subscription{
		i: i, cfg: cfg, id: i.allocID(), wake: make(chan struct{}, 1), reads: map[catalog.ID]bool{}, began: time.Now(), limit: subscriptionBuffer,
	}
	if n := i.e.cfg.MemoryLimit; n > 0 {
		s.limit = clamp(n/32, mib, 512*mib)
	}
	needs := []*catalog.Relation{rel}
	made := []catalog.ID{s.id}
	if cfg.Plan != nil {
		needs = cfg.Plan.Relations
		made = append(made, rel.ID)
	}
	if err := i.awaitJobs(ctx, needs); err != nil {
		return nil, err
	}
	for _, r := range needs {
		if err := i.StalledError(r); err != nil {
			return nil, err
		}
		i.mu.Lock()
		starting := i.creating[r.ID] != nil
		i.mu.Unlock()
		if r.Kind == catalog.Source && (starting || !i.RT.Has(flow.JobID(r.ID))) {
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "no view reads source %q, and a subscription alone cannot start it", r.Name).
				WithHint("Create a materialized view over the source, and subscribe to that.")
		}
		s.reads[r.ID] = true
	}
	c, end := i.create(made...)
	s.end = sync.OnceFunc(end)
	moved := i.movedChan()
	if err := i.register(s, needs); err != nil {
		s.end()
		if i.isReplacing(needs) {
			return nil, errors.Join(err, i.await(ctx, moved))
		}
		return nil, err
	}
	err := s.open(ctx, c)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	i.wg.Go(func() { s.follow(c) })
	return s, nil
}

// open starts the jobs.
func (s *Subscription) open(ctx context.Context, c *creation) error {
	i, rel := s.i, s.cfg.Rel
	if s.cfg.Plan != nil {
		s.temp = &temporary{rel: rel, ids: i.newStateIDs(rel)}
		prog := newProgress()
		job, err := i.buildStream(rel, s.cfg.Plan, s.temp.ids, leaves{prog: prog})
		if err != nil {
			return err
		}
		prog.all()
		e, err := i.RT.Deploy(i.Ctx, flow.Save{}, job)
		if err != nil {
			return s.explain(err)
		}
		if err := i.awaitFilled(ctx, c, prog, e); err != nil {
			return s.explain(err)
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	job, err := s.job()
	if err != nil {
		return err
	}
	e, err := i.RT.Deploy(i.Ctx, flow.Save{}, job)
	if err != nil {
		return s.explain(err)
	}
	if err := i.RT.Reach(ctx, e, flow.JobID(s.id)); err != nil {
		return s.explain(err)
	}
	return s.Err()
}

// job makes the job that collects changes.
func (s *Subscription) job() (*flow.Job, error) {
	rel := s.cfg.Rel
	cfg := op.FeedConfig{Visible: []int{}, Begin: s.begin, Hold: s.hold, Emit: s.emit}
	for k, c := range rel.Columns {
		cfg.In = append(cfg.In, c.Type)
		if !c.Hidden {
			cfg.Visible = append(cfg.Visible, k)
		}
	}
	for _, k := range rel.Key {
		cfg.Key = append(cfg.Key, op.SortKey{Col: k.Col, Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	feed, err := op.NewFeed(cfg)
	if err != nil {
		return nil, err
	}
	j := s.i.newJob(&catalog.Relation{ID: s.id, Name: "subscription to " + rel.Name}, &stateIDs{ids: map[string]uint32{}})
	j.Replayable = false
	j.Fragments = []*flow.Fragment{{
		Parallel: 1, Types: cfg.In,
		Inputs: []flow.Input{{Job: flow.JobID(rel.ID), Fragment: -1, Dist: flow.Dist{Kind: flow.ToSingle}}},
		Root: func(int) (*flow.Node, error) {
			return &flow.Node{Op: feed, Name: "feed", In: []*flow.Node{{}}}, nil
		},
	}}
	return j, nil
}

// begin is called by the actor at its first barrier.
func (s *Subscription) begin(e storage.Epoch) error {
	if s.Err() != nil {
		return nil
	}
	v, err := s.i.Store.Arrangement(storage.TableID(s.cfg.Rel.Rows())).VersionAt(e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.passed, s.given = e, e, e
	if s.closed || !s.cfg.Snapshot {
		v.Release()
		return nil
	}
	s.version = v
	return nil
}

// hold is called by the actor in the middle of an epoch.
func (s *Subscription) hold(epoch int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.bytes+int64(epoch) > s.limit {
		s.failLocked(sqlerr.Newf(sqlerr.ConfigurationLimitExceeded, "the subscription to %q was ended because its client does not keep up", s.cfg.Rel.Name).
			WithDetail("More than %d MB of changes were waiting for it.", s.limit/mib).
			WithHint("Read faster, subscribe to fewer columns or rows, or start the server with a larger --memory-limit."))
	}
	return s.err == nil
}

// emit is called by the actor at each barrier.
func (s *Subscription) emit(e storage.Epoch, rows []op.FeedRow) {
	b := Batch{Epoch: e, Rows: rows}
	for _, r := range rows {
		b.bytes += int64(len(r.Row)) + 48
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed = e
	if s.closed || s.err != nil {
		return
	}
	if len(rows) > 0 {
		s.batches = append(s.batches, b)
		s.bytes += b.bytes
	}
	if len(rows) > 0 || s.cfg.Progress {
		s.wakeLocked()
	}
}

func (s *Subscription) wakeLocked() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// fail ends the subscription with an error.
func (s *Subscription) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err)
}

func (s *Subscription) failLocked(err error) {
	if s.err == nil {
		s.err = err
		s.batches, s.bytes = nil, 0
		s.wakeLocked()
	}
}

// follow waits for what ends a subscription from outside. The restart of a region waits for it.
func (s *Subscription) follow(c *creation) {
	select {
	case <-c.failed:
		s.fail(s.interrupted())
		s.end()
	case <-c.resolved:
	case <-s.i.Ctx.Done():
		s.fail(s.i.explain(context.Canceled))
	}
}

// Start is the epoch of the snapshot.
func (s *Subscription) Start() storage.Epoch { return s.start }

// TakeSnapshot gives the version of the relation that the changes follow, which the caller releases; nil if there is none,
// or it was taken before.
// The error is 40001 if the subscription has failed meanwhile.
func (s *Subscription) TakeSnapshot() (*storage.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.version
	s.version = nil
	if v != nil && !s.i.RT.Show(flow.JobID(s.id), s.start) {
		v.Release()
		return nil, s.interrupted()
	}
	return v, nil
}

// interrupted is the error of a subscription whose job has failed.
func (s *Subscription) interrupted() error {
	return sqlerr.Newf(sqlerr.SerializationFailure, "the subscription to %q was ended because a job that it reads from is restarted after a failure", s.cfg.Rel.Name).
		WithHint("Subscribe again; the snapshot has everything that was missed.")
}

// Err is why the subscription has ended, nil if it has not.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Take gives the oldest epoch that has changes and was not given before; false if there is none at present.
// passed is an epoch up to which all changes have been given with it. It is one that the relation has passed, whether or not others have.
func (s *Subscription) Take() (b Batch, ok bool, passed storage.Epoch, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return Batch{}, false, 0, s.err
	}
	next := s.passed
	if len(s.batches) > 0 {
		next = s.batches[0].Epoch
	}
	if !s.i.RT.Show(flow.JobID(s.id), next) {
		// It has failed, and is about to be told so.
		return Batch{}, false, s.given, nil
	}
	s.given = next
	if len(s.batches) == 0 {
		return Batch{}, false, next, nil
	}
	b = s.batches[0]
	s.batches[0] = Batch{}
	s.batches = s.batches[1:]
	s.bytes -= b.bytes
	return b, true, b.Epoch, nil
}

// Await waits until Take may have something, or ctx ends, whose cause is the error then.
func (s *Subscription) Await(ctx context.Context) error {
	for {
		s.mu.Lock()
		err, some := s.err, len(s.batches) > 0
		s.mu.Unlock()
		if err != nil || some {
			return err
		}
		select {
		case <-s.wake:
			if s.cfg.Progress {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// CatchUp waits until everything that was acknowledged before can be taken.
func (s *Subscription) CatchUp(ctx context.Context) error {
	if err := s.Err(); err != nil {
		return err
	}
	_, err := s.i.RT.ReadEpoch(ctx, true, []flow.JobID{flow.JobID(s.id)})
	if err != nil {
		return s.explain(err)
	}
	return nil
}

// explain makes an error of the dataflow one for users.
func (s *Subscription) explain(err error) error {
	if errors.Is(err, flow.ErrRestarting) {
		return ErrRestarted
	}
	return s.i.explain(err)
}

// Close ends the subscription and everything that was made for it. It may be called again.
func (s *Subscription) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	if s.version != nil {
		s.version.Release()
		s.version = nil
	}
	s.batches, s.bytes = nil, 0
	s.mu.Unlock()
	i := s.i
	jobs, drop := s.parts()
	defer func() {
		s.end()
		i.unregister(s)
		for _, id := range jobs {
			i.forget(catalog.ID(id))
		}
		if s.temp != nil {
			i.errs.forgetStates(s.temp.ids)
		}
	}()
	ids := make([]failover.JobID, len(jobs))
	for k, id := range jobs {
		ids[k] = failover.JobID(id)
	}
	defer i.e.step(failover.Forget{Jobs: ids})
	if i.Ctx.Err() != nil || !slices.ContainsFunc(jobs, i.RT.Has) && len(drop) == 0 {
		return nil
	}
	if _, err := i.RT.Remove(i.Ctx, flow.Save{Drop: drop}, jobs...); err != nil && i.Ctx.Err() == nil {
		return fmt.Errorf("end of a subscription: %w", err)
	}
	return nil
}

// parts are the jobs of the subscription, and what they keep.
func (s *Subscription) parts() (jobs []flow.JobID, drop []storage.TableID) {
	jobs = []flow.JobID{flow.JobID(s.id)}
	if s.temp != nil {
		jobs = append(jobs, flow.JobID(s.temp.rel.ID))
		drop = append(drop, storage.TableID(s.temp.rel.ID))
		for _, id := range s.temp.ids.all() {
			drop = append(drop, storage.TableID(id))
		}
	}
	return jobs, drop
}

// register enters a subscription, unless one of the relations that it reads is being dropped, or was replaced since they
// were looked up.
func (i *Incarnation) register(s *Subscription, needs []*catalog.Relation) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	cat := i.Catalog()
	for _, r := range needs {
		if i.dropping[r.ID] {
			return ErrRestarted
		}
		if now := cat.RelationByID(r.ID); i.replacing[r.ID] || now != nil && now.Rows() != r.Rows() {
			return replacedError(r)
		}
	}
	i.subs[s] = true
	return nil
}

func (i *Incarnation) unregister(s *Subscription) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.subs, s)
}

// endSubscriptions ends those to relations whose jobs are about to be removed, with the error that why says, and gives their jobs and tables, which must go
// with them.
func (i *Incarnation) endSubscriptions(jobs []flow.JobID, why func(*Subscription, flow.JobID) error) (more []flow.JobID, drop []storage.TableID) {
	i.mu.Lock()
	var subs []*Subscription
	for s := range i.subs {
		subs = append(subs, s)
	}
	i.mu.Unlock()
	slices.SortFunc(subs, func(a, b *Subscription) int { return int(int64(a.id) - int64(b.id)) })
	for _, s := range subs {
		for _, id := range jobs {
			if !s.reads[catalog.ID(id)] {
				continue
			}
			s.fail(why(s, id))
			js, ts := s.parts()
			more, drop = append(more, js...), append(drop, ts...)
			break
		}
	}
	return more, drop
}

// SubscriptionInfo is what is known of a subscription, for system views.
type SubscriptionInfo struct {
	ID       catalog.ID
	What     string
	PID      int32
	Began    time.Time
	Passed   storage.Epoch
	Buffered int64
}

// Subscriptions lists those of all sessions, by id.
func (i *Incarnation) Subscriptions() []SubscriptionInfo {
	i.mu.Lock()
	var subs []*Subscription
	for s := range i.subs {
		subs = append(subs, s)
	}
	i.mu.Unlock()
	slices.SortFunc(subs, func(a, b *Subscription) int { return int(int64(a.id) - int64(b.id)) })
	out := make([]SubscriptionInfo, len(subs))
	for k, s := range subs {
		s.mu.Lock()
		out[k] = SubscriptionInfo{ID: s.id, What: s.cfg.What, PID: s.cfg.PID, Began: s.began, Passed: s.passed, Buffered: s.bytes}
		s.mu.Unlock()
	}
	return out
}

// DecodeFeedRow appends a row of a Batch to the columns of dst.
func DecodeFeedRow(r op.FeedRow, dst []*vec.Vector) error {
	_, err := vec.DecodeRow(r.Row, dst)
	return err
}

// VisibleTypes are the types of the columns that a subscriber sees.
func VisibleTypes(rel *catalog.Relation) []types.Type {
	var ts []types.Type
	for _, c := range rel.Columns {
		if !c.Hidden {
			ts = append(ts, c.Type)
		}
	}
	return ts
}
