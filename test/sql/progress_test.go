package sql

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
)

// gate holds what fills views until it is opened.
type gate chan struct{}

func (g gate) at(operator string) {
	if strings.HasPrefix(operator, "backfill") {
		<-g
	}
}

// A view is filled in the background, and there when it is complete; until then its name is taken and its inputs stay.
func TestBackground(t *testing.T) {
	g := make(gate)
	w := start(t, setup{parallelism: 2, at: g.at})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	fails := func(q, want string) {
		t.Helper()
		if _, err := c.PgConn().Exec(context.Background(), q).ReadAll(); code(err) != want {
			t.Errorf("%s: %v, want %s", q, err, want)
		}
	}
	must(t, c, "CREATE TABLE t (id int PRIMARY KEY, g int)")
	must(t, c, "INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 1000) i")
	must(t, c, "CREATE MATERIALIZED VIEW v WITH (background = true) AS SELECT g, count(*) AS n FROM t GROUP BY g")
	if got := must(t, c, "SELECT string_agg(name || ' ' || state || ' ' || background, ',') FROM weir_progress"); got != "v filling true" {
		t.Errorf("weir_progress: %s", got)
	}
	fails("SELECT * FROM v", "55000")
	fails("CREATE TABLE v (a int)", "42P07")
	fails("CREATE MATERIALIZED VIEW v AS SELECT 1 AS a", "42P07")
	fails("DROP TABLE t", "2BP01")
	fails("DROP TABLE t CASCADE", "2BP01")
	fails("ALTER TABLE t RENAME TO u", "2BP01")
	fails("CREATE MATERIALIZED VIEW x WITH (background = maybe) AS SELECT 1 AS a", "22023")
	close(g)
	awaitFilled := func() {
		t.Helper()
		for limit := time.Now().Add(statementTimeout); must(t, c, "SELECT count(*) FROM weir_progress") != "0"; {
			if time.Now().After(limit) {
				t.Fatal(must(t, c, "SELECT string_agg(name || ' ' || state || ' ' || coalesce(error, ''), ',') FROM weir_progress"))
			}
		}
	}
	awaitFilled()
	if got := must(t, c, "SELECT sum(n) FROM v"); got != "1000" {
		t.Errorf("%s rows", got)
	}
	// One that cannot be made is told of, until it is dropped. This one divides by zero in every row, which is no failure.
	must(t, c, "CREATE MATERIALIZED VIEW z WITH (background) AS SELECT id / (g - g) AS q, id FROM t")
	awaitFilled()
	if got := must(t, c, "SELECT count(*) FROM z WHERE q IS NULL"); got != "1000" {
		t.Errorf("%s rows", got)
	}
	// A restart begins again; dropping it ends it.
	must(t, c, "CREATE MATERIALIZED VIEW p WITH (background) AS SELECT a.id, count(*) AS n FROM t a JOIN t b ON a.g = b.g GROUP BY a.id")
	must(t, c, "CREATE MATERIALIZED VIEW d WITH (background) AS SELECT a.id, count(*) AS n FROM t a JOIN t b ON a.g = b.g GROUP BY a.id")
	must(t, c, "DROP MATERIALIZED VIEW d")
	fails("SELECT * FROM d", "42P01")
	w.crash()
	c = connect(t, w.url(), nil)
	awaitFilled()
	if got := must(t, c, "SELECT sum(n) FROM p"); got != "100000" {
		t.Errorf("%s pairs", got)
	}
	if got := must(t, c, "SELECT string_agg(name, ',' ORDER BY name) FROM weir_jobs"); got != "p,v,z" {
		t.Errorf("jobs: %s", got)
	}
}

// Who creates a view hears how far it is, and can cancel; nothing of the view stays then.
func TestProgress(t *testing.T) {
	g := make(gate)
	w := start(t, setup{parallelism: 1, at: g.at})
	heard := make(chan string, 100)
	c := connect(t, w.url(), func(severity, message string) { heard <- severity + ": " + message })
	defer closeConn(c)
	must(t, c, "CREATE TABLE t (id int PRIMARY KEY)")
	must(t, c, "INSERT INTO t SELECT generate_series(1, 5000)")
	done := make(chan error, 1)
	go func() {
		_, err := c.PgConn().Exec(context.Background(), "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t").ReadAll()
		done <- err
	}()
	if got := <-heard; !strings.HasPrefix(got, `NOTICE: materialized view "v": 0 % filled`) {
		t.Errorf("heard %q", got)
	}
	close(g)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	cancelled(t, w, "CREATE MATERIALIZED VIEW x AS SELECT count(*) AS n FROM t a JOIN t b ON a.id <> b.id", func(other *pgx.Conn) bool {
		return must(t, other, "SELECT count(*) FROM weir_progress") == "1"
	})
	if got := must(t, c, "SELECT string_agg(name, ',') FROM weir_jobs"); got != "v" {
		t.Errorf("jobs: %s", got)
	}
	must(t, c, "CREATE TABLE x (a int)")
}

// tokens lets the operators that fill views go on as often as it is told.
type tokens struct {
	mu   sync.Mutex
	cond *sync.Cond
	left int
}

func newTokens(n int) *tokens {
	k := &tokens{left: n}
	k.cond = sync.NewCond(&k.mu)
	return k
}

func (k *tokens) at(operator string) {
	if !strings.HasPrefix(operator, "backfill") {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.left <= 0 {
		k.cond.Wait()
	}
	k.left--
}

// set says how often they may go on from now on.
func (k *tokens) set(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = n
	k.cond.Broadcast()
}

// A view that is created in the background goes on after a crash where its last checkpoint left it, whatever has changed meanwhile. If it
// cannot, it begins again.
func TestBackgroundGoesOn(t *testing.T) {
	t.Run("on", func(t *testing.T) { backgroundGoesOn(t, false) })
	t.Run("again", func(t *testing.T) { backgroundGoesOn(t, true) })
}

func backgroundGoesOn(t *testing.T, fails bool) {
	const rows = 20_000
	k := newTokens(1 << 30)
	var again, failed atomic.Bool
	var sent atomic.Int64
	w := start(t, setup{parallelism: 2, portion: 100, checkpoint: time.Hour, at: func(operator string) {
		if fails && again.Load() && strings.HasPrefix(operator, "backfill") && failed.CompareAndSwap(false, true) {
			panic("it fails once")
		}
		k.at(operator)
	}, watch: func(job string, _ flow.ActorID, operator string) flow.Watcher {
		if job == "v" && strings.HasPrefix(operator, "backfill") && again.Load() {
			return rowCounter{&sent}
		}
		return nil
	}})
	c := connect(t, w.url(), nil)
	other := connect(t, w.url(), nil)
	defer closeConn(other)
	must(t, c, "CREATE TABLE t (id int PRIMARY KEY, g int)")
	must(t, c, fmt.Sprintf("INSERT INTO t SELECT i, i %% 10 FROM generate_series(1, %d) i", rows))
	// From now on what fills views goes on slowly, until there is a checkpoint with a part of it.
	k.set(0)
	slow := time.NewTicker(time.Millisecond)
	enough := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		for {
			select {
			case <-slow.C:
				k.set(1)
			case <-enough:
				return
			}
		}
	})
	views := []string{"v"}
	if !fails {
		must(t, c, "CREATE MATERIALIZED VIEW u WITH (background) AS SELECT a.id, b.g FROM t a JOIN t b ON a.id = b.id + 1 WHERE a.g < 3")
		views = append(views, "u")
	}
	must(t, c, "CREATE MATERIALIZED VIEW v WITH (background) AS SELECT g, count(*) AS n, sum(id) AS s, max(id) AS m FROM t GROUP BY g")
	limit := time.Now().Add(statementTimeout)
	late := func() {
		if time.Now().After(limit) {
			t.Fatal(must(t, other, "SELECT string_agg(name || ' ' || state || ' ' || rows_read || coalesce(error, ''), ',') FROM weir_progress"))
		}
	}
	for must(t, other, "SELECT resumable AND rows_read > 0 FROM weir_progress WHERE name = 'v'") != "t" {
		late()
	}
	must(t, c, "INSERT INTO t VALUES (-1, 1)")
	must(t, c, "UPDATE t SET g = g + 1 WHERE id % 7 = 0")
	must(t, c, "CHECKPOINT")
	close(enough)
	ticking.Wait()
	k.set(0)
	// Both actors read all rows, and each sends those that it owns.
	if got := must(t, other, fmt.Sprintf("SELECT rows_read < %d FROM weir_progress WHERE name = 'v'", 2*rows)); got != "t" {
		t.Fatalf("all is read before the crash: %q", got)
	}
	left := w.fs.CrashClone(vfs.CrashCloneCfg{})
	k.set(1 << 30)
	closeConn(c)
	w.close()
	w.fs = left
	again.Store(true)
	w.open()
	c = connect(t, w.url(), nil)
	defer closeConn(c)
	for must(t, c, "SELECT count(*) FROM weir_progress") != "0" {
		late()
	}
	if n := sent.Load(); fails != (n >= rows) || n == 0 {
		t.Errorf("%d of %d rows were read after the restart", n, rows)
	}
	for _, v := range views {
		if got := must(t, c, "VERIFY MATERIALIZED VIEW "+v); got != "" {
			t.Errorf("%s: %s", v, got)
		}
	}
}

// rowCounter counts what an operator emits.
type rowCounter struct{ n *atomic.Int64 }

func (r rowCounter) Chunk(c *vec.Chunk)   { r.n.Add(int64(c.Len())) }
func (r rowCounter) Barrier(exec.Barrier) {}
