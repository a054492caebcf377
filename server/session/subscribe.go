package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/copyfmt"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// feed gives the rows of a SUBSCRIBE: first those of the snapshot, then the changes of each epoch. Every row has the epoch
// that it belongs to, and how often it comes or, negative, goes.
type feed struct {
	s       *session
	sub     *engine.Subscription
	columns []pgwire.Column
	types   []types.Type
	opts    feedOptions
	// head is how many columns come before those of the relation.
	head    int
	created time.Time

	// mu is as that of cursor.
	mu sync.Mutex
	// version and it are the snapshot while it is read; row has a row of it.
	version *storage.Version
	it      *storage.Iterator
	row     *vec.Chunk
	visible []int
	// out are rows that were not sent yet, from at on.
	out *vec.Chunk
	at  int
	// told is the last epoch of a progress row. ended: UP TO was reached.
	told   storage.Epoch
	ended  bool
	closed bool
	// check says whether it may go on.
	check func() error
}

type feedOptions struct {
	snapshot, progress bool
	// upTo is the last epoch, 0 for none.
	upTo storage.Epoch
}

func (s *session) feedOptions(opts []ast.Option) (feedOptions, error) {
	o := feedOptions{snapshot: true}
	for _, x := range opts {
		switch x.Name {
		case "snapshot", "progress":
			on := true
			if x.IsSet {
				d, err := types.ParseText(types.T(types.Bool), x.Value, s.typeEnv())
				if err != nil {
					return o, sqlerr.New(sqlerr.SyntaxError, x.Pos, "%s requires a Boolean value", x.Name)
				}
				on = d.I != 0
			}
			if x.Name == "snapshot" {
				o.snapshot = on
			} else {
				o.progress = on
			}
		case "up to":
			n, err := strconv.ParseInt(x.Value, 10, 64)
			if err != nil || n < 1 {
				return o, sqlerr.New(sqlerr.InvalidParameterValue, x.Pos, "UP TO requires an epoch, which is a positive number")
			}
			o.upTo = storage.Epoch(n)
		default:
			return o, sqlerr.New(sqlerr.SyntaxError, x.Pos, "unrecognized SUBSCRIBE option %q", x.Name)
		}
	}
	return o, nil
}

// subscribeQuery is what a subscription reads: a relation as it is, or else a query.
func (s *session) subscribeQuery(t *tx, st *ast.Subscribe) (*catalog.Relation, *ast.Select, string, error) {
	if st.Name == nil {
		return nil, st.Query, st.QueryText, nil
	}
	parts := make([]string, len(st.Name.Parts))
	for i, p := range st.Name.Parts {
		parts[i] = quoteIdent(p)
	}
	text := "SELECT * FROM " + strings.Join(parts, ".")
	q, err := parse.ParseQuery(text)
	if err != nil {
		return nil, nil, "", atName(err, st.Name)
	}
	b, err := s.planner(t.catalog(), s.vars.searchPath(s.user())).Bind(q, nil)
	if err != nil {
		return nil, nil, "", atName(err, st.Name)
	}
	if len(b.Relations) == 1 {
		switch r := b.Relations[0]; r.Kind {
		case catalog.Table, catalog.MatView:
			return r, nil, "", nil
		case catalog.System, catalog.SequenceKind:
			return nil, nil, "", sqlerr.New(sqlerr.FeatureNotSupported, st.Name.Pos, "SUBSCRIBE to system relation %q is not supported", r.Name)
		}
	}
	return nil, q, text, nil
}

// subscription prepares a subscription; run begins it.
func (s *session) subscription(t *tx, text string, st *ast.Subscribe) (f *feed, cfg engine.SubscriptionConfig, err error) {
	opts, err := s.feedOptions(st.Options)
	if err != nil {
		return nil, cfg, err
	}
	rel, query, qtext, err := s.subscribeQuery(t, st)
	if err != nil {
		return nil, cfg, err
	}
	cfg = engine.SubscriptionConfig{Rel: rel, Snapshot: opts.snapshot, Progress: opts.progress, What: text, PID: s.pid}
	if rel == nil {
		d := &definer{s: s, t: t, e: &execution{p: &prepared{text: text}}, cat: t.catalog()}
		cfg.Rel = d.newRelation(catalog.MatView, catalog.PublicSchema, "subscribe")
		b, err := d.bindQuery(query)
		if err != nil {
			return nil, cfg, err
		}
		for _, r := range b.Relations {
			if r.Made() {
				return nil, cfg, sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "SUBSCRIBE to system relation %q is not supported", r.Name)
			}
		}
		if cfg.Plan, err = d.planView(cfg.Rel, qtext, b); err != nil {
			return nil, cfg, err
		}
	}
	f = &feed{s: s, opts: opts, created: s.now()}
	add := func(name string, ty types.Type) {
		f.columns = append(f.columns, pgwire.Column{Name: name, TypeOID: ty.OID(), TypeLen: typeLen(ty), TypeMod: max(ty.Mod, -1)})
		f.types = append(f.types, ty)
	}
	add("weir_timestamp", types.T(types.Int8))
	add("weir_diff", types.T(types.Int8))
	if opts.progress {
		add("weir_progressed", types.T(types.Bool))
	}
	f.head = len(f.types)
	for k, c := range cfg.Rel.Columns {
		if !c.Hidden {
			add(c.Name, wireType(c.Type))
			f.visible = append(f.visible, k)
		}
	}
	return f, cfg, nil
}

// openFeed begins a subscription.
func (s *session) openFeed(ctx context.Context, t *tx, text string, st *ast.Subscribe) (*feed, error) {
	if !t.writes.Empty() {
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "SUBSCRIBE in a transaction that has written is not supported")
	}
	f, cfg, err := s.subscription(t, text, st)
	if err != nil {
		return nil, err
	}
	if s.vars.get("read_freshness") == "strict" {
		rels := []*catalog.Relation{cfg.Rel}
		if cfg.Plan != nil {
			rels = cfg.Plan.Relations
		}
		if err := t.inc.AwaitFresh(ctx, rels); err != nil {
			return nil, err
		}
	}
	rels := []*catalog.Relation{cfg.Rel}
	if cfg.Plan != nil {
		rels = cfg.Plan.Relations
	}
	snap, err := t.inc.Snapshot(ctx, s.vars.get("read_freshness") == "strict")
	if err != nil {
		return nil, err
	}
	err = s.checkRelations(t, snap, rels)
	snap.Release()
	if err != nil {
		return nil, err
	}
	strict := strictRelations(t.catalog(), rels)
	f.check = func() error { return s.checkFeed(t, strict) }
	if f.sub, err = t.inc.Subscribe(ctx, cfg); err != nil {
		return nil, err
	}
	if f.version, err = f.sub.TakeSnapshot(); err != nil {
		f.strip()
		return nil, err
	}
	if f.version != nil {
		f.it = f.version.Iterator(nil, nil, false)
	}
	f.row = vec.NewChunk(relationTypes(cfg.Rel), 1)
	f.out = vec.NewChunk(f.types, t.inc.ChunkSize())
	return f, nil
}

// feedChunk is how many rows are made at a time.
const feedChunk = 1024

// push appends a row, whose columns from head on are filled by fill.
func (f *feed) push(e storage.Epoch, diff int64, fill func(dst []*vec.Vector) error) error {
	f.out.Cols[0].AppendDatum(types.DInt(int64(e)))
	f.out.Cols[1].AppendDatum(types.DInt(diff))
	if f.opts.progress {
		f.out.Cols[2].AppendDatum(types.DBool(false))
	}
	if err := fill(f.out.Cols[f.head:]); err != nil {
		return err
	}
	f.out.PushDiff(1)
	return nil
}

// progressed appends a row that says that everything up to e was sent.
func (f *feed) progressed(e storage.Epoch) {
	if !f.opts.progress || e <= f.told {
		return
	}
	f.told = e
	for k, v := range f.out.Cols {
		switch k {
		case 0:
			v.AppendDatum(types.DInt(int64(e)))
		case 2:
			v.AppendDatum(types.DBool(true))
		default:
			v.AppendNull()
		}
	}
	f.out.PushDiff(1)
}

// more makes rows if there are none that were not sent; it does not wait. The result is whether there are some.
func (f *feed) more() (bool, error) {
	for f.at >= f.out.Len() && !f.ended {
		f.out.Reset()
		f.at = 0
		if f.it != nil {
			if err := f.fromSnapshot(); err != nil {
				return false, err
			}
			continue
		}
		if f.opts.upTo != 0 && f.sub.Start() >= f.opts.upTo {
			f.ended = true
			break
		}
		b, ok, passed, err := f.sub.Take()
		if err == nil && ok {
			err = f.check()
		}
		if err != nil {
			return false, err
		}
		if f.opts.upTo != 0 && passed > f.opts.upTo {
			// What has been taken is beyond the end, and so not sent.
			ok, passed, f.ended = false, f.opts.upTo, true
		}
		for _, r := range b.Rows {
			if !ok {
				break
			}
			if err := f.push(b.Epoch, r.Diff, func(dst []*vec.Vector) error { return engine.DecodeFeedRow(r, dst) }); err != nil {
				return false, err
			}
		}
		f.progressed(passed)
		f.ended = f.ended || f.opts.upTo != 0 && passed >= f.opts.upTo
		if !ok {
			break
		}
	}
	return f.at < f.out.Len(), nil
}

// fromSnapshot makes the next rows of the snapshot.
func (f *feed) fromSnapshot() error {
	var view vec.Chunk
	start := f.sub.Start()
	for f.out.Len() < feedChunk {
		if !f.it.Next() {
			err := f.it.Err()
			f.dropSnapshot()
			if err == nil {
				f.progressed(start)
			}
			return err
		}
		f.row.Reset()
		if _, err := vec.DecodeRow(f.it.Value(), f.row.Cols); err != nil {
			return err
		}
		f.row.PushDiff(1)
		view.View(f.row, f.visible)
		err := f.push(start, 1, func(dst []*vec.Vector) error {
			for k, v := range dst {
				v.AppendFrom(view.Cols[k], 0)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) dropSnapshot() {
	if f.it != nil {
		_ = f.it.Close() // what was wrong is known
		f.it = nil
	}
	if f.version != nil {
		f.version.Release()
		f.version = nil
	}
}

// take gives at most n of the rows that are there to emit.
func (f *feed) take(n int64, emit func(c *vec.Chunk, lo, hi int) error) (int64, error) {
	got := int64(0)
	for got < n {
		ok, err := f.more()
		if err != nil || !ok {
			return got, err
		}
		hi := int(min(int64(f.out.Len()), int64(f.at)+min(n-got, feedChunk)))
		if err := emit(f.out, f.at, hi); err != nil {
			return got, err
		}
		got += int64(hi - f.at)
		f.at = hi
	}
	return got, nil
}

// stream sends rows as they come, until the subscription ends.
func (f *feed) stream(ctx context.Context, emit func(c *vec.Chunk, lo, hi int) error, flush func() error) (int64, error) {
	total := int64(0)
	for {
		n, err := f.take(1<<62, emit)
		total += n
		if err != nil {
			return total, err
		}
		if f.ended {
			return total, nil
		}
		if err := flush(); err != nil {
			return total, err
		}
		if err := f.sub.Await(ctx); err != nil {
			return total, cause(ctx, err)
		}
	}
}

// fetchInto runs FETCH or MOVE.
func (f *feed) fetchInto(ctx context.Context, t *tx, st *ast.Fetch, w pgwire.ResultWriter, formats []pgwire.Format) (int64, error) {
	if st.Dir == ast.FetchBackward || st.Dir == ast.FetchAbsolute || st.Count < 0 {
		return 0, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").
			WithHint("It is a cursor over SUBSCRIBE.")
	}
	var wait time.Duration
	for _, o := range st.Options {
		if o.Name != "timeout" {
			return 0, sqlerr.New(sqlerr.SyntaxError, o.Pos, "unrecognized FETCH option %q", o.Name)
		}
		var err error
		if wait, err = f.s.fetchTimeout(o); err != nil {
			return 0, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "portal cannot be run")
	}
	emit := func(*vec.Chunk, int, int) error { return nil }
	if !st.Move {
		as := appendersFor(f.types, formats, f.s.typeEnv())
		emit = func(c *vec.Chunk, lo, hi int) error { return writeRows(w.Rows(), c, lo, hi, as) }
	}
	if f.s.vars.get("read_freshness") == "strict" {
		if err := f.sub.CatchUp(ctx); err != nil {
			return 0, err
		}
	}
	got, err := f.take(st.Count, emit)
	if err != nil || wait <= 0 || f.ended || got > 0 && st.Count == ast.FetchAll {
		return got, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, wait, errFetchTimeout)
	defer cancel()
	for got < st.Count {
		if err := f.sub.Await(limited); err != nil {
			if ctx.Err() == nil && limited.Err() != nil {
				return got, nil
			}
			return got, cause(ctx, err)
		}
		n, err := f.take(st.Count-got, emit)
		if got += n; err != nil || f.ended || n > 0 && st.Count == ast.FetchAll {
			return got, err
		}
	}
	return got, nil
}

var errFetchTimeout = sqlerr.Newf(sqlerr.QueryCanceled, "timeout of FETCH")

// fetchTimeout reads the timeout of FETCH, an interval.
func (s *session) fetchTimeout(o ast.Option) (time.Duration, error) {
	d, err := types.ParseText(types.T(types.Interval), o.Value, s.typeEnv())
	if err != nil {
		if d, perr := parseTimeout(o.Value); perr == nil {
			return d, nil
		}
		return 0, err
	}
	return intervalDuration(d), nil
}

// Columns describes the result.
func (f *feed) Columns() []pgwire.Column { return f.columns }

// Execute runs the subscription as a portal of the protocol: with a limit, what is there, and at least one row.
func (f *feed) Execute(ctx context.Context, w pgwire.ResultWriter, maxRows int) (pgwire.Result, error) {
	return f.s.within(ctx, func(ctx context.Context, _ *tx) (pgwire.Result, error) { return f.send(ctx, w, nil, maxRows) })
}

// send is Execute inside of a statement.
func (f *feed) send(ctx context.Context, w pgwire.ResultWriter, formats []pgwire.Format, maxRows int) (pgwire.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	as := appendersFor(f.types, formats, f.s.typeEnv())
	emit := func(c *vec.Chunk, lo, hi int) error { return writeRows(w.Rows(), c, lo, hi, as) }
	if maxRows == 0 {
		n, err := f.stream(ctx, emit, w.Flush)
		return pgwire.Result{Tag: fmt.Sprintf("SUBSCRIBE %d", n)}, err
	}
	for {
		n, err := f.take(int64(maxRows), emit)
		switch {
		case err != nil:
			return pgwire.Result{}, err
		case n > 0 && !(f.ended && f.at >= f.out.Len()):
			return pgwire.Result{Suspended: true}, nil
		case f.ended:
			return pgwire.Result{Tag: fmt.Sprintf("SUBSCRIBE %d", n)}, nil
		}
		if err := f.sub.Await(ctx); err != nil {
			return pgwire.Result{}, cause(ctx, err)
		}
	}
}

// Close ends the subscription.
func (f *feed) Close() { f.strip() }

// strip ends the subscription; it may be called again.
func (f *feed) strip() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	f.dropSnapshot()
	if err := f.sub.Close(); err != nil {
		f.s.b.Logger.Warn("a subscription was not removed", "event", "subscription_stays", "error", err)
	}
}

// subscribe runs SUBSCRIBE.
func (s *session) subscribe(ctx context.Context, t *tx, e *execution, st *ast.Subscribe) (pgwire.Result, error) {
	f, err := s.openFeed(ctx, t, e.p.text, st)
	if err != nil {
		return pgwire.Result{}, err
	}
	if e.announce {
		e.w.Columns(f.columns)
	}
	if e.maxRows > 0 {
		t.open = append(t.open, f)
		e.rest = f
		return f.send(ctx, e.w, e.formats, e.maxRows)
	}
	defer f.strip()
	return f.send(ctx, e.w, e.formats, 0)
}

// declareFeed is DECLARE ... CURSOR FOR SUBSCRIBE.
func (s *session) declareFeed(ctx context.Context, t *tx, e *execution, st *ast.DeclareCursor, q *ast.Subscribe) (pgwire.Result, error) {
	what := ""
	switch {
	case st.Hold:
		what = "WITH HOLD"
	case st.Scroll:
		what = "SCROLL"
	case st.Binary:
		what = "BINARY"
	}
	if what != "" {
		return pgwire.Result{}, sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "%s is not supported for a cursor over SUBSCRIBE", what)
	}
	f, err := s.openFeed(ctx, t, e.p.text, q)
	if err != nil {
		return pgwire.Result{}, err
	}
	t.open = append(t.open, f)
	return pgwire.Result{Tag: "DECLARE CURSOR"}, s.client.AddPortal(st.Name, e.p.source, f, false)
}

// copyFeed is COPY (SUBSCRIBE ...) TO STDOUT: lines as they come.
func (s *session) copyFeed(ctx context.Context, t *tx, e *execution, st *ast.Subscribe, opts copyfmt.Options) (pgwire.Result, error) {
	f, err := s.openFeed(ctx, t, e.p.text, st)
	if err != nil {
		return pgwire.Result{}, err
	}
	defer f.strip()
	w, err := s.newCopyOut(e, f.columnNames(), f.types, opts)
	if err != nil {
		return pgwire.Result{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.stream(ctx, w.rows, e.w.Flush)
	if err == nil {
		err = w.end()
	}
	return pgwire.Result{Tag: fmt.Sprintf("COPY %d", n)}, err
}

func (f *feed) columnNames() []string {
	names := make([]string, len(f.columns))
	for i, c := range f.columns {
		names[i] = c.Name
	}
	return names
}

// intervalDuration takes a month for 30 days, as PostgreSQL does where it has to.
func intervalDuration(d types.Datum) time.Duration {
	v := d.Span
	return time.Duration(int64(v.Months)*30+int64(v.Days))*24*time.Hour + time.Duration(v.Micros)*time.Microsecond
}
