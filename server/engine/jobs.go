package engine

import (
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// stateIDs gives the table ids of a job's operator state by name. For a job of the catalog the names
// are known; for a new one they are allocated as operators ask for them.
type stateIDs struct {
	mu    sync.Mutex
	rel   string
	ids   map[string]uint32
	alloc func() catalog.ID // nil: no new names
}

func (s *stateIDs) id(name string) storage.TableID {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[name]
	if !ok {
		if s.alloc == nil {
			// The plan of the job is not the one that it was created with: going on would start
			// from empty state and give wrong results. The job fails instead.
			panic(fmt.Errorf("%s has no state %q: its plan has changed", s.rel, name))
		}
		id = uint32(s.alloc())
		s.ids[name] = id
	}
	return storage.TableID(id)
}

// has tells whether there is a state of that name, or can be.
func (s *stateIDs) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ids[name]
	return ok || s.alloc != nil
}

// end is all, and there are no new ones from now on: an actor that is about to end, and only begins, fails.
func (s *stateIDs) end() map[string]uint32 {
	s.mu.Lock()
	s.alloc = nil
	s.mu.Unlock()
	return s.all()
}

// all gives a copy of the names and ids so far.
func (s *stateIDs) all() map[string]uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := make(map[string]uint32, len(s.ids))
	for k, v := range s.ids {
		m[k] = v
	}
	return m
}

func (i *Incarnation) stateIDs(r *catalog.Relation) *stateIDs {
	return &stateIDs{rel: r.Name, ids: r.StateTables}
}

func (i *Incarnation) newStateIDs(r *catalog.Relation) *stateIDs {
	ids := map[string]uint32{}
	for k, v := range r.StateTables {
		ids[k] = v
	}
	return &stateIDs{rel: r.Name, ids: ids, alloc: i.allocID}
}

// allocID gives a new object id. It is durable with the next catalog that is saved; ids of objects
// that are never saved may be given again after a restart.
func (i *Incarnation) allocID() catalog.ID {
	i.mu.Lock()
	defer i.mu.Unlock()
	id := i.nextID
	i.nextID++
	return id
}

func (i *Incarnation) newJob(r *catalog.Relation, ids *stateIDs) *flow.Job {
	return &flow.Job{
		ID: flow.JobID(r.Job()), Name: r.Name, StateID: ids.id, Failover: r.Failover, Replayable: true,
		Late: func(rows int64) { i.errs.late(r.Job(), rows) },
		Env:  &exec.Env{Location: time.UTC, User: r.Owner, Database: "weir", Types: userTypes{i}},
	}
}

// tableJob is the job of a table that statements write to.
func (i *Incarnation) tableJob(t *table.Table) *flow.Job {
	j := i.newJob(t.Rel, i.stateIDs(t.Rel))
	j.Fragments = []*flow.Fragment{{Parallel: 1, Types: t.Types(), Table: t.Arrangements()}}
	if w := t.Rel.Watermark; w != nil {
		j.Fragments = append(j.Fragments, &flow.Fragment{
			ID: 1, Parallel: 1, Types: t.Types(),
			Inputs: []flow.Input{{Job: j.ID, Fragment: 0, Dist: flow.Dist{Kind: flow.ToSingle}}},
			Root: func(int) (*flow.Node, error) {
				o, err := op.NewWatermark(op.WatermarkConfig{In: t.Types(), Col: w.Col, Delay: w.Delay, RowID: -1, Pass: true})
				return &flow.Node{Op: o, Name: "watermark", In: []*flow.Node{{}}}, err
			},
		})
	}
	return j
}

// WatermarkState is the name of the state table in which the job of a table keeps its watermark.
const WatermarkState = "1/watermark/mark"

// readMark tells a table its watermark at the checkpoint.
func (i *Incarnation) readMark(t *table.Table) error {
	if t.Rel.Watermark == nil || t.Rel.HasConnector() {
		return nil
	}
	st, err := i.Store.StateTable(storage.TableID(t.Rel.StateTables[WatermarkState]))
	if err != nil {
		return err
	}
	mark, err := op.ReadMark(st)
	t.SetMark(mark)
	return err
}

// connectorConfig makes the configuration of a relation's connector as it is stored in the catalog.
func connectorConfig(log *slog.Logger, r *catalog.Relation) connector.Config {
	return connector.Config{
		Options: options(r.Options), Columns: sourceColumns(r), Format: r.Format, Encode: r.Encode,
		EncodeOptions: options(r.EncodeOptions), Restored: true, Logger: log, AppendOnly: r.AppendOnly,
	}
}

func options(os []catalog.Option) []connector.Option {
	out := make([]connector.Option, len(os))
	for i, o := range os {
		out[i] = connector.Option{Name: o.Name, Value: o.Value, IsSet: true}
	}
	return out
}

func sourceColumns(r *catalog.Relation) []exec.Column {
	var cols []exec.Column
	for _, c := range r.Columns {
		if !c.Hidden {
			cols = append(cols, exec.Column{Name: c.Name, Type: c.Type})
		}
	}
	return cols
}

func (i *Incarnation) sourceFragment(r *catalog.Relation) (*flow.Fragment, error) {
	if err := i.try("make a source"); err != nil {
		return nil, err
	}
	src, err := i.Source(r)
	if err != nil {
		return nil, err
	}
	return &flow.Fragment{
		Parallel: src.Splits(), Types: flow.SourceTypes(src),
		Source: &flow.SourceSpec{Source: src, Failed: func(split int, err error) { i.setProblem(r.ID, split, err) }},
	}, nil
}

// sourceJob reads a source for all jobs that want its rows.
func (i *Incarnation) sourceJob(r *catalog.Relation, ids *stateIDs) (*flow.Job, error) {
	f, err := i.sourceFragment(r)
	if err != nil {
		return nil, err
	}
	j := i.newJob(r, ids)
	j.Fragments = []*flow.Fragment{f}
	j.Replayable = f.Source.Source.Replayable()
	return j, nil
}

// connectorTableJob reads a source and keeps its rows: without a primary key all of them, under
// _row_id; with one the last for each key.
func (i *Incarnation) connectorTableJob(t *table.Table, ids *stateIDs) (*flow.Job, error) {
	f, err := i.sourceFragment(t.Rel)
	if err != nil {
		return nil, err
	}
	j := i.newJob(t.Rel, ids)
	cols := make([]int, len(t.Rel.Columns))
	for k := range cols {
		cols[k] = k
	}
	if t.Rel.PrimaryKey != "" {
		// The reader's row id is not a column of the table.
		cols = cols[:len(f.Types)-1]
	}
	keep := &flow.Fragment{
		ID: 1, Parallel: 1, Types: t.Types(),
		Inputs: []flow.Input{{Job: j.ID, Fragment: 0, Dist: flow.Dist{Kind: flow.ToSingle}, Cols: cols}},
		Root: func(int) (*flow.Node, error) {
			t.Arr.SetWriters(1)
			in := &flow.Node{}
			if w := t.Rel.Watermark; w != nil {
				cfg := op.WatermarkConfig{In: t.Types(), Col: w.Col, Delay: w.Delay, Idle: w.Idle, RowID: len(cols) - 1, Splits: f.Parallel}
				for s := range f.Parallel {
					cfg.Mine = append(cfg.Mine, s)
				}
				o, err := op.NewWatermark(cfg)
				if err != nil {
					return nil, err
				}
				in = &flow.Node{Op: o, Name: "watermark", In: []*flow.Node{in}}
			}
			return &flow.Node{Op: table.NewKeep(t), Name: "keep", In: []*flow.Node{in}}, nil
		},
	}
	j.Fragments = []*flow.Fragment{f, keep}
	return j, i.keepRowErrors(j, t.Rel, ids, describeTable(t.Rel))
}

// progress follows the backfill of new jobs, or how jobs that were started again catch up.
type progress struct {
	mu   sync.Mutex
	left int
	rows int64
	// total is how many rows there are about, 0 if that is not known; before is how many had been read before a restart.
	total, before int64
	epoch         storage.Epoch
	// kept: a restart goes on with it.
	kept atomic.Bool
	done chan struct{} // closed when all leaves have caught up
}

// newProgress waits for the leaves that are expected until all says that these are all, and one of them at least.
func newProgress() *progress { return &progress{left: 1, done: make(chan struct{})} }

// all says that no more leaves will be expected.
func (p *progress) all() { p.Done(0) }

// Read counts rows.
func (p *progress) Read(n int64) {
	p.mu.Lock()
	p.rows += n
	p.mu.Unlock()
}

// Done notes that a leaf has caught up.
func (p *progress) Done(e storage.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch = max(p.epoch, e)
	p.left--
	if p.left == 0 {
		close(p.done)
	}
}

// expect says how many leaves there are, before any of them runs.
func (p *progress) expect(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += n
}

// queryJob builds the job of a materialized view or sink from its query.
func (i *Incarnation) queryJob(cat *catalog.Catalog, r *catalog.Relation, ids *stateIDs, l leaves) (*flow.Job, error) {
	stream, err := i.PlanStream(cat, r)
	if err != nil {
		return nil, err
	}
	return i.buildStream(r, stream, ids, l)
}

// buildStream makes a job of a plan.
func (i *Incarnation) buildStream(r *catalog.Relation, stream *plan.Stream, ids *stateIDs, l leaves) (*flow.Job, error) {
	j := i.newJob(r, ids)
	l.i, l.job = i, j.ID
	b := &build.Stream{Leaves: &l, MaxRecursion: i.e.cfg.MaxRecursion}
	switch r.Kind {
	case catalog.MatView, catalog.Index:
		arr := i.Store.Arrangement(storage.TableID(r.Rows()))
		b.Writer = func(n int) op.Arrangement { return arr.Writer(n) }
		b.Prepare = func(actors int) { arr.SetWriters(actors) }
	case catalog.Sink:
		sink, err := i.sink(r)
		if err != nil {
			return nil, err
		}
		b.Sink = sink
		b.SinkColumns = sourceColumns(r)
	}
	if err := b.Build(j, stream); err != nil {
		return nil, err
	}
	if err := i.keepRowErrors(j, r, ids, describePlan(stream)); err != nil {
		return nil, err
	}
	if err := i.try("build the query of a job"); err != nil {
		return nil, err
	}
	if l.prog != nil {
		n := 0
		for _, f := range j.Fragments {
			n += f.Parallel * b.LeafCount[f.ID]
		}
		l.prog.expect(n)
	}
	return j, nil
}

// sink makes the outside of a sink.
func (i *Incarnation) sink(r *catalog.Relation) (exec.Sink, error) {
	if err := i.try("make a sink"); err != nil {
		return nil, err
	}
	if r.Into != 0 {
		return &tableSink{i: i, rel: r}, nil
	}
	return i.e.cfg.Connectors.NewSink(connectorConfig(i.e.cfg.Logger, r))
}

// leaves makes the leaf operators of jobs: what another relation sends.
type leaves struct {
	i   *Incarnation
	job flow.JobID
	// prog: the leaves begin with what their inputs hold already, and it follows them; nil: the job's state is
	// that of the epoch in which it is deployed.
	prog *progress
	// checkpoint: the job's state is that of the last checkpoint, and only what its inputs have changed since is
	// missing; otherwise it has none.
	checkpoint bool
	// together are the relations whose jobs begin with this one in the same state, so that it gets all
	// that they send.
	together map[catalog.ID]bool
	// rows are the table ids of relations whose rows are filled again under new ones, and which the catalog has with the
	// old ones.
	rows map[catalog.ID]uint32
	// reads counts, if it is not nil, the actors that read each relation to be filled.
	reads map[catalog.ID]int
	// durable: how far the leaves are is part of the job's state.
	durable bool
	// shares is set, if it is not nil, once a relation is read by key.
	shares *bool
}

// pace lets a backfill read on only when what it has read is worked off: by its own job, since others may be behind all the
// time.
func (l *leaves) pace() flow.Pace {
	rt, job := l.i.RT, l.job
	return flow.Pace{
		Passed: func() storage.Epoch { return rt.Passed(job) }, Now: time.Now,
		Room: rt.Room, WhenRoom: rt.BarrierWhenRoom,
		Later: func(e storage.Epoch) { rt.BarrierAfter(e, job) },
	}
}

// Table reads a table or materialized view: cols are ordinals of its relation. The input carries the key
// columns as well while the job is being filled, for the backfill's position.
func (l *leaves) Table(rel *catalog.Relation, cols []int, parallel int) (flow.Input, build.Wrap) {
	var hash []int
	for _, k := range rel.Key {
		hash = append(hash, k.Col)
	}
	in := tableInput(rel, cols, hash, parallel)
	if l.prog == nil || l.together[rel.ID] {
		return in, nil
	}
	f := l.filler(rel, &in, hash, parallel)
	return in, func(actor int, leaf *flow.Node) (*flow.Node, error) {
		cfg := f.config(actor)
		if l.checkpoint {
			return f.node(leaf, flow.NewTableCatchUp(cfg))
		}
		return f.node(leaf, flow.NewTableBackfill(cfg))
	}
}

// Shared reads a table or materialized view whose rows a join reads by key. A new job gets only the changes, unless the
// rows are to drive it.
func (l *leaves) Shared(rel *catalog.Relation, cols, hash []int, drive bool, parallel int) (flow.Input, build.SharedLeaf) {
	if l.shares != nil {
		*l.shares = true
	}
	in := tableInput(rel, cols, hash, parallel)
	out := build.SharedLeaf{Start: op.SharedCheckpoint}
	switch together := l.prog == nil || l.together[rel.ID]; {
	case together && l.prog != nil && !l.checkpoint:
		out.Start = op.SharedNone
	case together:
	case l.checkpoint:
		out.Start = op.SharedCatchUp
		f := l.filler(rel, &in, hash, parallel)
		out.Wrap = func(actor int, leaf *flow.Node) (*flow.Node, func() ([]byte, bool), error) {
			cfg := f.config(actor)
			// All at once: between two portions the side would be neither what it was nor what it is.
			cfg.Portion, cfg.MaxPortion, cfg.Pace = math.MaxInt/4, math.MaxInt/4, flow.Pace{}
			n, err := f.node(leaf, flow.NewTableCatchUp(cfg))
			return n, nil, err
		}
	case drive:
		out.Start = op.SharedNone
		f := l.filler(rel, &in, hash, parallel)
		out.Wrap = func(actor int, leaf *flow.Node) (*flow.Node, func() ([]byte, bool), error) {
			o := flow.NewTableBackfill(f.config(actor))
			n, err := f.node(leaf, o)
			return n, o.Position, err
		}
	default:
		out.Start = op.SharedAll
	}
	return in, out
}

// tableInput is the changes of a relation, some columns of it, distributed by the hash of others.
func tableInput(rel *catalog.Relation, cols, hash []int, parallel int) flow.Input {
	if cols == nil {
		cols = []int{} // none, where nil would be all
	}
	in := flow.Input{Job: flow.JobID(rel.Job()), Fragment: -1, Cols: cols, Dist: flow.Dist{Kind: flow.ToSingle}}
	if parallel > 1 {
		in.Dist = flow.Dist{Kind: flow.ToHash, Cols: hash}
	}
	return in
}

// filler makes the operators that bring a job to where a relation is.
type filler struct {
	l    *leaves
	rel  *catalog.Relation
	arr  *storage.Arrangement
	cols int
	// wide are the columns that are read: those that are wanted, and the key.
	wide     []int
	types    []types.Type
	keys     []vec.SortKey
	hash     []int
	parallel int
}

// filler widens the input as it needs it.
func (l *leaves) filler(rel *catalog.Relation, in *flow.Input, hash []int, parallel int) *filler {
	if l.reads != nil {
		l.reads[rel.ID] += parallel
	}
	f := &filler{l: l, rel: rel, arr: l.arrangement(rel), cols: len(in.Cols), wide: append([]int{}, in.Cols...), parallel: parallel}
	at := make(map[int]int, len(f.wide))
	for k, c := range f.wide {
		at[c] = k
	}
	for _, k := range rel.Key {
		if _, ok := at[k.Col]; !ok {
			at[k.Col] = len(f.wide)
			f.wide = append(f.wide, k.Col)
		}
		f.keys = append(f.keys, vec.SortKey{Col: at[k.Col], Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	for _, c := range hash {
		f.hash = append(f.hash, at[c])
	}
	in.Cols = f.wide
	f.types = make([]types.Type, len(f.wide))
	for k, c := range f.wide {
		f.types[k] = rel.Columns[c].Type
	}
	return f
}

// config is for one actor.
func (f *filler) config(actor int) flow.TableBackfillConfig {
	all := make([]types.Type, len(f.rel.Columns))
	for k, c := range f.rel.Columns {
		all[k] = c.Type
	}
	row := vec.NewChunk(all, 1)
	return flow.TableBackfillConfig{
		Types: f.types, VersionAt: f.arr.VersionAt,
		AppendKey: func(dst []byte, c *vec.Chunk, k int) []byte { return vec.EncodeKey(dst, c.Cols, k, f.keys) },
		Decode: func(dst *vec.Chunk, _, value []byte) error {
			row.Reset()
			if _, err := vec.DecodeRow(value, row.Cols); err != nil {
				return err
			}
			for k, c := range f.wide {
				dst.Cols[k].AppendFrom(row.Cols[c], 0)
			}
			dst.PushDiff(1)
			return nil
		},
		HashCols: f.hash, Index: actor, Parallel: f.parallel, Progress: f.l.prog, Durable: f.l.durable,
		Portion: f.l.i.e.cfg.Portion, MaxPortion: f.l.i.e.cfg.Portion,
		RequestBarrier: f.l.i.RT.RequestBarrier, Pace: f.l.pace(),
	}
}

// node puts an operator on a leaf, and gives the columns that are wanted.
func (f *filler) node(leaf *flow.Node, o exec.Operator) (*flow.Node, error) {
	n := &flow.Node{Name: "backfill", In: []*flow.Node{leaf}, Op: o}
	if len(f.wide) == f.cols {
		return n, nil
	}
	return build.Narrow(n, f.types, f.cols)
}

// arrangement finds the rows of a relation.
func (l *leaves) arrangement(rel *catalog.Relation) *storage.Arrangement {
	id := rel.Rows()
	if again, ok := l.rows[rel.ID]; ok {
		id = again
	}
	return l.i.Store.Arrangement(storage.TableID(id))
}

// Lookup gets the barriers of a table or materialized view whose rows are looked up.
func (l *leaves) Lookup(rel *catalog.Relation, parallel int) flow.Input {
	cols := []int{}
	for _, k := range rel.Key {
		cols = append(cols, k.Col)
	}
	in := flow.Input{Job: flow.JobID(rel.Job()), Fragment: -1, Cols: cols, Dist: flow.Dist{Kind: flow.ToSingle}}
	if parallel > 1 {
		in.Dist = flow.Dist{Kind: flow.ToHash, Cols: cols}
	}
	return in
}

// Versions opens the versions of a table or materialized view.
func (l *leaves) Versions(rel *catalog.Relation) func(storage.Epoch) (*storage.Version, error) {
	return l.arrangement(rel).VersionAt
}

// Source reads a source: cols number its columns, with the row id after the last one.
func (l *leaves) Source(rel *catalog.Relation, cols []int, parallel int) (flow.Input, build.Wrap, error) {
	src, err := l.i.Source(rel)
	if err != nil {
		return flow.Input{}, nil, err
	}
	if cols == nil {
		cols = []int{} // none, where nil would be all
	}
	in := flow.Input{Job: flow.JobID(rel.Job()), Fragment: -1, Cols: cols, Dist: flow.Dist{Kind: flow.ToSingle}}
	splits := src.Splits()
	if parallel > 1 {
		in.Dist.Kind = flow.ToPeer
	}
	if l.prog == nil || l.together[rel.ID] {
		return in, nil, nil
	}
	return in, func(actor int, leaf *flow.Node) (*flow.Node, error) {
		var mine []int
		for s := range splits {
			if parallel == 1 || s%parallel == actor {
				mine = append(mine, s)
			}
		}
		cfg := flow.SourceBackfillConfig{
			Source: src, Splits: mine, Cols: cols, Progress: l.prog, Durable: l.durable, Portion: int64(l.i.e.cfg.Portion),
			Position: func(split int, epoch storage.Epoch) int64 {
				ps, ok := l.i.RT.SourcePositions(flow.JobID(rel.ID), epoch)
				if !ok {
					return 0
				}
				return ps[split].Rows
			},
			RequestBarrier: l.i.RT.RequestBarrier, Pace: l.pace(),
		}
		if l.checkpoint {
			// Checkpoints wait for it.
			cfg.Pace = flow.Pace{}
			cfg.From = func(split int) (flow.SplitPosition, error) {
				return l.i.RT.CommittedPosition(flow.JobID(rel.ID), split)
			}
		}
		return &flow.Node{Op: flow.NewSourceBackfill(cfg), Name: "backfill", In: []*flow.Node{leaf}}, nil
	}, nil
}

// SourceParallel is the number of actors of the leaf fragments of a source.
func (l *leaves) SourceParallel(rel *catalog.Relation) (int, error) {
	src, err := l.i.Source(rel)
	if err != nil {
		return 0, err
	}
	return src.Splits(), nil
}
