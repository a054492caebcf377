package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/file"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/catalog"
)

// panics makes operators of chosen jobs panic.
type panics struct {
	mu sync.Mutex
	// left is how many calls of a job's operators are passed over before one panics; always: every one does.
	left   map[flow.JobID]int
	always map[flow.JobID]bool
	hits   atomic.Int64
}

func newPanics() *panics { return &panics{left: map[flow.JobID]int{}, always: map[flow.JobID]bool{}} }

func (p *panics) tune(c *server.Config) {
	tune := c.Tune
	c.Tune = func(e *engine.Config) {
		if tune != nil {
			tune(e)
		}
		e.Fault = p.call
	}
}

func (p *panics) call(job flow.JobID, _ flow.ActorID, operator string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.left[job]
	switch {
	case p.always[job]:
	case !ok:
		return
	case n > 0:
		p.left[job] = n - 1
		return
	}
	delete(p.left, job)
	p.hits.Add(1)
	panic("injected into " + operator)
}

func (p *panics) arm(job flow.JobID, after int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[job] = after
}

func (p *panics) setAlways(job flow.JobID, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always[job] = on
}

// inc gives the server's incarnation for a moment.
func (n *node) inc(t testing.TB) *engine.Incarnation {
	t.Helper()
	inc, release, err := n.srv.Engine().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release()
	return inc
}

func jobID(t testing.TB, n *node, name string) flow.JobID {
	t.Helper()
	r := n.inc(t).Catalog().Relation("public", name)
	if r == nil {
		t.Fatalf("no relation %s", name)
	}
	return flow.JobID(r.ID)
}

// actors lists the ids of a job's actors.
func actors(t testing.TB, n *node, name string) []flow.ActorID {
	t.Helper()
	id := jobID(t, n, name)
	var out []flow.ActorID
	for _, a := range n.inc(t).Actors() {
		if a.Job == id {
			out = append(out, a.ID)
		}
	}
	return out
}

func status(t testing.TB, n *node, name string) failover.Status {
	t.Helper()
	id := jobID(t, n, name)
	for _, s := range n.inc(t).Jobs() {
		if flow.JobID(s.ID) == id {
			return s.Status
		}
	}
	t.Fatalf("no job %s", name)
	return failover.Status{}
}

// TestRegionRestart: when a view fails, it and what is over it are started again, and nothing else is touched:
// the actors of other jobs, open transactions, snapshots of other views. Nothing is lost or counted twice.
func TestRegionRestart(t *testing.T) {
	p := newPanics()
	f := newFaulty()
	f.give(50)
	n := mustOpenTuned(t, vfs.NewMem(), f, p.tune)
	a, b, r := dial(t, n), dial(t, n), dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
	a.must("CREATE SOURCE src (n int8) WITH (connector = 'faulty')")
	a.must("CREATE MATERIALIZED VIEW low AS SELECT id, v FROM t WHERE v % 2 = 0")
	a.must("CREATE MATERIALIZED VIEW over AS SELECT count(*) AS n, sum(v) AS total FROM low")
	a.must("CREATE MATERIALIZED VIEW pair AS SELECT low.id, src.n FROM low JOIN src ON low.id = src.n")
	a.must("CREATE MATERIALIZED VIEW other AS SELECT count(*) AS n, sum(v) AS total FROM t")
	a.must("CREATE SINK s AS SELECT id, v FROM low WITH (connector = 'faulty')")
	id, rows := 0, 50
	check := func() {
		t.Helper()
		a.want("SELECT n, total FROM other", fmt.Sprintf("%d|%d", id, id*(id+1)/2))
		a.want("SELECT * FROM over EXCEPT SELECT count(*), sum(v) FROM t WHERE v % 2 = 0")
		a.want("SELECT n FROM over", fmt.Sprint(id/2))
		a.want("SELECT count(*) FROM low", fmt.Sprint(id/2))
		a.await("SELECT count(*) FROM pair", fmt.Sprint(min(id, rows-1)/2))
	}
	insert := func(k int) {
		t.Helper()
		for range k {
			id++
			a.must(fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", id, id))
		}
	}
	insert(10)
	check()
	b.must("BEGIN")
	b.must("INSERT INTO t VALUES (-1, -1)")
	r.must("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	r.want("SELECT n FROM over", "5")
	untouched := map[string][]flow.ActorID{}
	for _, name := range []string{"t", "src", "other"} {
		untouched[name] = actors(t, n, name)
	}
	before := actors(t, n, "over")
	for round, job := range []string{"low", "over", "low", "pair", "s"} {
		restarts := n.srv.Engine().Stats().Restarts
		p.arm(jobID(t, n, job), round%3)
		for n.srv.Engine().Stats().Restarts == restarts {
			insert(1)
			a.want("SELECT n FROM other", fmt.Sprint(id))
		}
		check()
		if s := status(t, n, job); s.State != failover.StateRunning || s.Err == nil || s.Attempts == 0 {
			t.Errorf("%s: %+v", job, s)
		}
	}
	for name, ids := range untouched {
		if now := actors(t, n, name); !reflect.DeepEqual(now, ids) {
			t.Errorf("actors of %s: %v, before %v", name, now, ids)
		}
	}
	if now := actors(t, n, "over"); len(now) != len(before) || now[0] <= before[0] {
		t.Errorf("actors of over: %v, before %v", now, before)
	}
	r.want("SELECT n FROM over", "5")
	r.must("COMMIT")
	b.must("COMMIT")
	a.want("SELECT n FROM other", fmt.Sprint(id+1))
	a.must("DELETE FROM t WHERE id = -1")
	if n := n.srv.Engine().Stats().Recoveries; n != 0 {
		t.Errorf("%d recoveries", n)
	}

	// The source itself: what it had delivered is not gone meanwhile.
	restarts := n.srv.Engine().Stats().Restarts
	p.arm(jobID(t, n, "src"), 0)
	f.give(60)
	rows = 60
	for n.srv.Engine().Stats().Restarts == restarts {
		if got := a.get("SELECT count(*) FROM src"); got[0] < "50" {
			t.Fatalf("%s rows of the source, there were 50", got)
		}
	}
	a.await("SELECT count(*) FROM src", "60")
	check()
}

// TestStalledAndResumed: a view that fails again and again is given up, with what is over it; everything else goes
// on, and so do checkpoints. RESUME fills it again once the cause is gone, in the same process or another one,
// and it leaves nothing of what was there before.
func TestStalledAndResumed(t *testing.T) {
	fs := vfs.NewMem()
	p := newPanics()
	f := newFaulty()
	f.give(30)
	tune := func(c *server.Config) {
		c.RestartAttempts, c.RestartDelayMax = 3, time.Millisecond
		p.tune(c)
	}
	n := mustOpenTuned(t, fs, f, tune)
	a, r := dial(t, n), dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
	a.must("CREATE SOURCE src (n int8) WITH (connector = 'faulty')")
	a.must("INSERT INTO t SELECT i, i FROM generate_series(1, 20) AS g(i)")
	before := tables(t, n)
	a.must("CREATE MATERIALIZED VIEW v AS SELECT v % 3 AS g, count(*) AS n FROM t GROUP BY 1")
	a.must("CREATE MATERIALIZED VIEW w AS SELECT sum(n) AS n FROM v")
	a.must("CREATE MATERIALIZED VIEW j AS SELECT v.g, src.n FROM v JOIN src ON v.g = src.n % 3")
	a.must("CREATE SINK s AS SELECT g, n FROM v WITH (connector = 'faulty')")
	a.must("CREATE MATERIALIZED VIEW other AS SELECT count(*) AS n FROM t")
	filled := tables(t, n)
	rows := 20
	insert := func() {
		t.Helper()
		rows++
		a.must(fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", rows, rows))
	}
	stall := func(name string) {
		t.Helper()
		p.setAlways(jobID(t, n, name), true)
		end := time.Now().Add(patience)
		for status(t, n, name).State != failover.StateStalled {
			insert()
			if time.Now().After(end) {
				t.Fatalf("%s is not stalled: %+v", name, status(t, n, name))
			}
		}
		p.setAlways(jobID(t, n, name), false)
		insert()
		a.want("SELECT n FROM other", fmt.Sprint(rows))
	}
	check := func() {
		t.Helper()
		insert()
		a.want("SELECT n FROM w", fmt.Sprint(rows))
		a.want("SELECT sum(n) FROM v", fmt.Sprint(rows))
		a.want("SELECT n FROM other", fmt.Sprint(rows))
		a.await("SELECT count(*) FROM j", "30")
		if got := tables(t, n); len(got) != len(filled) {
			t.Errorf("tables %v, were %v", got, filled)
		}
	}
	check()
	stall("v")
	for _, name := range []string{"v", "w", "j"} {
		if msg := a.fails("55000", "SELECT * FROM "+name); !strings.Contains(msg, "ALTER MATERIALIZED VIEW") || !strings.Contains(msg, "injected") {
			t.Error(msg)
		}
	}
	if s := status(t, n, "w"); s.State != failover.StateStalled || s.Cause != failover.JobID(jobID(t, n, "v")) || s.Since.IsZero() {
		t.Errorf("%+v", s)
	}
	durable := n.srv.Engine().Stats().Marks.Durable
	tables(t, n)
	if now := n.srv.Engine().Stats().Marks.Durable; now <= durable {
		t.Errorf("checkpoint %d after %d", now, durable)
	}
	a.fails("55000", "CREATE MATERIALIZED VIEW more AS SELECT * FROM w")
	a.fails("55000", "ALTER MATERIALIZED VIEW other RESUME")
	// It fails again while it is filled.
	p.setAlways(jobID(t, n, "w"), true)
	if msg := a.fails("XX000", "ALTER MATERIALIZED VIEW w RESUME"); !strings.Contains(msg, "injected") {
		t.Error(msg)
	}
	p.setAlways(jobID(t, n, "w"), false)
	a.fails("55000", "SELECT * FROM v")
	r.must("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	r.want("SELECT n FROM other", fmt.Sprint(rows))
	a.must("ALTER MATERIALIZED VIEW w RESUME")
	check()
	r.fails("40001", "SELECT n FROM w")
	r.must("ROLLBACK")

	// The sink alone, and then a view, in another process.
	stall("s")
	a.want("SELECT n FROM w", fmt.Sprint(rows))
	a.must("ALTER SINK s RESUME")
	if s := status(t, n, "s"); s.State != failover.StateRunning {
		t.Errorf("%+v", s)
	}
	check()
	stall("w")
	a.want("SELECT sum(n) FROM v", fmt.Sprint(rows))
	stall("v")
	for again := range 3 {
		if err := n.close(); err != nil {
			t.Fatal(err)
		}
		n.done <- nil
		n = mustOpenTuned(t, fs, f, tune)
		a = dial(t, n)
		a.fails("55000", "SELECT * FROM v")
		a.fails("55000", "SELECT * FROM w")
		insert()
		if again == 2 {
			break
		}
		// Its first failure in this process, while it is filled: it stays stalled, though the limit is not reached.
		p.setAlways(jobID(t, n, "v"), true)
		if msg := a.fails("XX000", "ALTER MATERIALIZED VIEW v RESUME"); !strings.Contains(msg, "injected") {
			t.Error(msg)
		}
		p.setAlways(jobID(t, n, "v"), false)
		for range 20 {
			insert()
			a.fails("55000", "SELECT * FROM v")
			a.fails("55000", "SELECT * FROM w")
		}
	}
	a.must("ALTER MATERIALIZED VIEW v RESUME")
	a.want("SELECT sum(n) FROM v", fmt.Sprint(rows))
	if _, err := a.Exec(t.Context(), "SELECT * FROM w"); err != nil {
		a.must("ALTER MATERIALIZED VIEW w RESUME")
	}
	check()

	// A source: its views are filled again, from its start.
	f.mode.Store(2)
	f.give(31)
	end := time.Now().Add(patience)
	for status(t, n, "src").State != failover.StateStalled {
		insert()
		if time.Now().After(end) {
			t.Fatalf("%+v", status(t, n, "src"))
		}
	}
	f.mode.Store(0)
	f.give(30)
	a.fails("55000", "SELECT * FROM j")
	a.want("SELECT n FROM w", fmt.Sprint(rows))
	a.must("ALTER MATERIALIZED VIEW j RESUME")
	check()

	a.must("DROP SINK s")
	a.must("DROP MATERIALIZED VIEW w, j, v, other")
	if after := tables(t, n); !reflect.DeepEqual(after, before) {
		t.Errorf("tables %v, before %v", after, before)
	}
}

// TestSinkOfARegion: a sink with transactions has every row once, however often its region, or that of its source, restarts.
func TestSinkOfARegion(t *testing.T) {
	p := newPanics()
	f := newFaulty()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	n, err := openTuned(vfs.NewMem(), 1, func(c *server.Config) {
		c.RestartAttempts, c.RestartDelayMax = -1, time.Millisecond
		p.tune(c)
	}, f.register, func(r *connector.Registry) { r.AddSink("file", file.NewSink) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	a := dial(t, n)
	a.must("CREATE SOURCE src (n int8) WITH (connector = 'faulty')")
	a.must("CREATE MATERIALIZED VIEW v AS SELECT n FROM src WHERE n >= 0")
	a.must("CREATE SINK s FROM v WITH (connector = 'file', path = '" + path + "') FORMAT PLAIN ENCODE JSON")
	rows := int64(0)
	for round := range 12 {
		restarts := n.srv.Engine().Stats().Restarts
		p.arm(jobID(t, n, []string{"s", "v", "src", "s"}[round%4]), round%5)
		for n.srv.Engine().Stats().Restarts == restarts {
			rows += 3
			f.give(rows)
			a.get("SELECT count(*) FROM v")
		}
	}
	a.await("SELECT count(*) FROM v", fmt.Sprint(rows))
	end := time.Now().Add(patience)
	for {
		tables(t, n) // makes a checkpoint
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for line := range strings.Lines(string(b)) {
			seen[line]++
			if seen[line] > 1 {
				t.Fatalf("%q is there twice", line)
			}
		}
		if int64(len(seen)) == rows {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d rows in the file, want %d", len(seen), rows)
		}
	}
}

// TestFailoverOption: a view can ask that everything be restarted with it, and change its mind.
func TestFailoverOption(t *testing.T) {
	p := newPanics()
	n := mustOpenTuned(t, vfs.NewMem(), newFaulty(), p.tune)
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY)")
	a.must("CREATE MATERIALIZED VIEW v WITH (failover = 'all') AS SELECT count(*) AS n FROM t")
	if msg := a.fails("22023", "CREATE MATERIALIZED VIEW x WITH (failover = 'none') AS SELECT 1 AS one"); !strings.Contains(msg, "region") {
		t.Error(msg)
	}
	id := 0
	for round, st := range []string{"", "ALTER MATERIALIZED VIEW v SET (failover = 'region')"} {
		if st != "" {
			a.must(st)
		}
		p.arm(jobID(t, n, "v"), 0)
		for s := n.srv.Engine().Stats(); s.Recoveries+s.Restarts == int64(round); s = n.srv.Engine().Stats() {
			if _, err := a.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d)", id)); err == nil {
				id++
			}
		}
		a.want("SELECT n FROM v", fmt.Sprint(len(a.get("SELECT id FROM t"))))
	}
	if s := n.srv.Engine().Stats(); s.Recoveries != 1 || s.Restarts != 1 {
		t.Errorf("%+v", s)
	}
}

// soak is how long a test of random failures runs: some seconds, or ten minutes if WEIR_SOAK is set.
func soak(t *testing.T, short time.Duration) time.Duration {
	if testing.Short() {
		return short / 3
	}
	if os.Getenv("WEIR_SOAK") != "" {
		return 10 * time.Minute
	}
	return short
}

// reach is a recursive view.
const reach = "WITH RECURSIVE r (a, b) AS (SELECT a, b FROM edge UNION SELECT r.a, edge.b FROM r JOIN edge ON r.b = edge.a) SELECT a, b FROM r"

// TestRandomPanics: operators of all jobs panic at random, several times a second, while clients write and read. Every
// view is its query in the end, reads of a view never go back, and views that have not failed answer all the time.
func TestRandomPanics(t *testing.T) {
	p := newPanics()
	n, err := openTuned(vfs.NewMem(), 2, func(c *server.Config) {
		c.RestartAttempts, c.RestartDelayMax = -1, 100*time.Millisecond
		p.tune(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	a := dial(t, n)
	for _, sql := range []string{
		"CREATE TABLE acct (id int8 PRIMARY KEY, grp int8, val int8)",
		"CREATE TABLE grp (id int8 PRIMARY KEY, name text)",
		"CREATE TABLE hist (w int8, n int8)",
		"INSERT INTO grp SELECT i, 'g' || i FROM generate_series(0, 4) AS g(i)",
		"CREATE SOURCE bid WITH (connector = 'nexmark', table = 'bid', events = '30000', rate = '1000', seed = '7')",
		"CREATE SOURCE auction WITH (connector = 'nexmark', table = 'auction', events = '30000', rate = '1000', seed = '7')",
	} {
		a.must(sql)
	}
	for _, v := range viewOrder {
		a.must("CREATE MATERIALIZED VIEW " + v + " AS " + views[v])
	}
	a.must("CREATE TABLE calm_t (id int8 PRIMARY KEY)")
	a.must("CREATE MATERIALIZED VIEW calm AS SELECT count(*) AS n FROM calm_t")
	a.must("CREATE TABLE edge (a int8, b int8)")
	a.must("CREATE MATERIALIZED VIEW reach AS " + reach)
	a.must("CREATE MATERIALIZED VIEW hist_n AS SELECT count(*) AS n FROM hist")
	calm := actors(t, n, "calm")
	failing := append([]string{"bid", "hist_n", "reach"}, viewOrder...)

	ctx, cancel := context.WithTimeout(t.Context(), soak(t, 6*time.Second))
	defer cancel()
	var wg sync.WaitGroup
	var slowest atomic.Int64
	run := func(f func(c *client, i int)) {
		c := dial(t, n)
		wg.Go(func() {
			for i := 0; ctx.Err() == nil && !t.Failed(); i++ {
				f(c, i)
			}
		})
	}
	exec := func(c *client, sql string) {
		if _, err := c.Exec(context.Background(), sql); err != nil {
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Code != "40001" {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	for w := range 2 {
		rng := rand.New(rand.NewSource(int64(w)))
		run(func(c *client, i int) {
			id := rng.Intn(60)*2 + w
			switch rng.Intn(4) {
			case 0:
				exec(c, fmt.Sprintf("DELETE FROM acct WHERE id = %d", id))
			default:
				exec(c, fmt.Sprintf("DELETE FROM acct WHERE id = %d; INSERT INTO acct VALUES (%d, %d, %d)", id, id, rng.Intn(7), rng.Intn(100)))
			}
			exec(c, fmt.Sprintf("INSERT INTO hist VALUES (%d, %d)", w, i))
			if rng.Intn(3) == 0 {
				exec(c, fmt.Sprintf("DELETE FROM edge WHERE a = %d", rng.Intn(12)))
			} else {
				exec(c, fmt.Sprintf("INSERT INTO edge VALUES (%d, %d)", rng.Intn(12), rng.Intn(12)))
			}
			n.clock.advance(time.Millisecond)
		})
	}
	run(func(c *client, i int) {
		exec(c, fmt.Sprintf("INSERT INTO calm_t VALUES (%d)", i))
		start := time.Now()
		if got := c.get("SELECT n FROM calm"); got[0] != fmt.Sprint(i+1) {
			t.Errorf("calm has %v, want %d", got, i+1)
		}
		slowest.Store(max(slowest.Load(), int64(time.Since(start))))
	})
	last := 0
	run(func(c *client, _ int) {
		var now int
		if _, err := fmt.Sscan(c.get("SELECT n FROM hist_n")[0], &now); err != nil || now < last {
			t.Errorf("%d rows after %d: %v", now, last, err)
		}
		last = now
	})
	sources := 0
	run(func(c *client, _ int) {
		var now int
		if _, err := fmt.Sscan(c.get("SELECT coalesce(sum(n), 0) FROM v_bid")[0], &now); err != nil || now < sources {
			t.Errorf("%d bids after %d: %v", now, sources, err)
		}
		sources = now
	})
	rng := rand.New(rand.NewSource(1))
	var ids []flow.JobID
	for _, v := range failing {
		ids = append(ids, jobID(t, n, v))
	}
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for ctx.Err() == nil && !t.Failed() {
		p.arm(ids[rng.Intn(len(ids))], rng.Intn(50))
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	wg.Wait()
	p.mu.Lock()
	clear(p.left)
	p.mu.Unlock()
	if now := actors(t, n, "calm"); !slices.Equal(now, calm) {
		t.Errorf("actors of calm: %v, before %v", now, calm)
	}
	queries := maps.Clone(views)
	queries["reach"] = reach
	for _, v := range append([]string{"reach"}, viewOrder...) {
		views := queries
		want := a.get(views[v])
		for try := 0; ; try++ {
			got := a.get("SELECT * FROM " + v)
			if reflect.DeepEqual(got, want) {
				break
			}
			if want = a.get(views[v]); try > 50 {
				t.Fatalf("%s: %v, want %v", v, got, want)
			}
		}
	}
	st := n.srv.Engine().Stats()
	t.Logf("%d panics, %d regions restarted, %d recoveries, slowest read of calm %v", p.hits.Load(), st.Restarts, st.Recoveries, time.Duration(slowest.Load()))
	if st.Recoveries > 0 || st.Restarts == 0 {
		t.Errorf("%d recoveries, %d restarts of regions", st.Recoveries, st.Restarts)
	}
}

// TestDefinitionsWhileRestarting: while a region is started again and again, definitions that have nothing to do with it go on: schemas,
// tables, views, sources, names, drops. They are durable at once, with what is written to the new tables.
func TestDefinitionsWhileRestarting(t *testing.T) {
	mem := vfs.NewCrashableMem()
	p := newPanics()
	tune := func(c *server.Config) {
		c.RestartAttempts, c.RestartDelayMax = -1, time.Hour
		p.tune(c)
	}
	n := mustOpenTuned(t, mem, newFaulty(), tune)
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
	a.must("CREATE MATERIALIZED VIEW bad AS SELECT sum(v) AS n FROM t")
	a.must("CREATE MATERIALIZED VIEW good AS SELECT count(*) AS n FROM t")
	a.must("CREATE TABLE old (id serial PRIMARY KEY)")
	a.must("CREATE MATERIALIZED VIEW over_old AS SELECT count(*) AS n FROM old")
	a.must("INSERT INTO old VALUES (DEFAULT)")
	p.setAlways(jobID(t, n, "bad"), true)
	a.must("INSERT INTO t VALUES (1, 1)")
	for n.inc(t).Apart([]*catalog.Relation{n.inc(t).Catalog().Relation("public", "bad")}) {
		a.want("SELECT n FROM good", "1")
	}
	a.must("SET statement_timeout = '60s'")
	for _, sql := range []string{
		"CREATE SCHEMA s",
		"CREATE TABLE s.u (id serial PRIMARY KEY, v int8 UNIQUE)",
		"INSERT INTO s.u (v) VALUES (10), (20)",
		"CREATE VIEW s.w AS SELECT sum(v) AS n FROM s.u",
		"COMMENT ON TABLE s.u IS 'new'",
		"CREATE TABLE gone (id int8)",
		"INSERT INTO gone VALUES (1)",
		"DROP TABLE gone",
		"CREATE TABLE filled AS SELECT v FROM s.u",
		"CREATE SOURCE src (n int8) WITH (connector = 'faulty')",
		"ALTER TABLE filled RENAME TO full_of",
		"DROP MATERIALIZED VIEW over_old",
		"DROP TABLE old",
		"INSERT INTO s.u (v) VALUES (30)",
	} {
		a.must(sql)
	}
	// What does touch it waits, and who waits can be cancelled, and is in nobody's way.
	a.must("SET statement_timeout = '100ms'")
	a.fails("57014", "ALTER MATERIALIZED VIEW bad RENAME TO worse")
	a.fails("57014", "CREATE MATERIALIZED VIEW more AS SELECT v FROM s.u")
	a.must("SET statement_timeout = '60s'")
	a.must("CREATE SCHEMA s2")
	check := func(c *client) {
		t.Helper()
		c.want("SELECT n FROM s.w", "60")
		c.want("SELECT id, v FROM s.u", "1|10", "2|20", "3|30")
		c.want("SELECT v FROM full_of", "10", "20")
		c.want("SELECT n FROM good", "1")
		c.want("SELECT relname FROM pg_class WHERE relname IN ('src', 'gone', 'old', 'over_old', 'filled', 'more', 'worse')", "src")
		c.fails("23505", "INSERT INTO s.u (v) VALUES (30)")
	}
	check(a)
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	p.setAlways(jobID(t, n, "bad"), false)
	m := mustOpenTuned(t, crashed, newFaulty(), func(c *server.Config) {})
	b := dial(t, m)
	check(b)
	b.want("SELECT n FROM bad", "1")
	b.must("CREATE MATERIALIZED VIEW more AS SELECT v FROM s.u")
	b.want("SELECT count(*) FROM more", "3")
	// Where it was dropped, the view gets out of the way.
	a.must("DROP MATERIALIZED VIEW bad")
	a.must("CREATE MATERIALIZED VIEW more AS SELECT v FROM s.u")
	a.want("SELECT count(*) FROM more", "3")
}
