package sql

import (
	"context"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5"
)

// door is a gate that can be shut again.
type door struct{ shut atomic.Pointer[chan struct{}] }

func (d *door) at(operator string) {
	if c := d.shut.Load(); c != nil && strings.HasPrefix(operator, "backfill") {
		<-*c
	}
}

// close keeps what is being filled from going on, until open is called.
func (d *door) close() (open func()) {
	c := make(chan struct{})
	d.shut.Store(&c)
	return sync.OnceFunc(func() {
		d.shut.Store(nil)
		close(c)
	})
}

// generation makes definition n of the views of these tests.
func generation(n int) string {
	return fmt.Sprintf("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT id, g, %d AS def FROM t", n)
}

// createReplaced makes views that all tell which definition of v they have.
func createReplaced(t *testing.T, c *pgx.Conn) {
	t.Helper()
	for _, q := range []string{
		"CREATE TABLE t (id int PRIMARY KEY, g int)",
		"INSERT INTO t SELECT i, i % 7 FROM generate_series(1, 500) i",
		generation(0),
		"CREATE VIEW p AS SELECT * FROM v",
		"CREATE MATERIALIZED VIEW w AS SELECT def, count(*) AS n FROM p GROUP BY def",
		"CREATE MATERIALIZED VIEW x AS SELECT v.id, v.def, w.n, w.def AS of FROM v JOIN w ON true",
		"CREATE INDEX v_g ON v (g)",
	} {
		must(t, c, q)
	}
}

// allReplaced reads all of them in one statement; every definition in it must be the same.
const allReplaced = `SELECT string_agg(DISTINCT d::text, ','), min(n), max(n), (SELECT count(*) FROM t) FROM (
	SELECT min(def) AS d, count(*) AS n FROM v UNION ALL SELECT max(def), count(*) FROM v
	UNION ALL SELECT def, n FROM w UNION ALL SELECT min(def), count(*) FROM x UNION ALL SELECT max(of), min(n) FROM x
	UNION ALL SELECT max(def), (SELECT count(*) FROM p) FROM p WHERE g IN (0, 1, 2, 3, 4, 5, 6)) q`

// While views are replaced again and again, every statement sees one definition in all of them, none older than one that was
// seen before, and every row that was acknowledged.
func TestReplaceWhileReading(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 2, checkpoint: 50 * time.Millisecond})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	createReplaced(t, c)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	var newest, rows atomic.Int64
	rows.Store(500)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	loop := func(f func(c *pgx.Conn) bool) {
		c := connect(t, w.url(), nil)
		wg.Go(func() {
			defer closeConn(c)
			for f(c) {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	reader := func(prepared bool) func(c *pgx.Conn) bool {
		return func(c *pgx.Conn) bool {
			atLeast, have := newest.Load(), rows.Load()
			var got string
			var low, high, all int64
			mode := pgx.QueryExecModeSimpleProtocol
			if prepared {
				mode = pgx.QueryExecModeCacheStatement
			}
			if err := c.QueryRow(ctx, allReplaced, mode).Scan(&got, &low, &high, &all); err != nil {
				t.Errorf("read: %v", err)
				return false
			}
			n, err := strconv.ParseInt(got, 10, 64)
			if err != nil || n < atLeast {
				t.Errorf("definitions %s, at least %d", got, atLeast)
				return false
			}
			if low != high || low != all || all < have {
				t.Errorf("between %d and %d rows of %d, at least %d", low, high, all, have)
				return false
			}
			return true
		}
	}
	loop(reader(false))
	loop(reader(true))
	loop(func(c *pgx.Conn) bool {
		// A transaction that reads one epoch sees one definition, or is to be tried again.
		_, err := c.PgConn().Exec(ctx, "BEGIN READ ONLY; SELECT count(*) FROM t").ReadAll()
		first, second := "", ""
		if err == nil {
			err = c.QueryRow(ctx, "SELECT string_agg(DISTINCT def::text || ' ' || n, ',') FROM x", pgx.QueryExecModeSimpleProtocol).Scan(&first)
		}
		if err == nil {
			err = c.QueryRow(ctx, "SELECT string_agg(def || ' ' || n, ',') FROM w", pgx.QueryExecModeSimpleProtocol).Scan(&second)
		}
		if err != nil && code(err) != "40001" || err == nil && first != second {
			t.Errorf("in a transaction: %q and %q, %v", first, second, err)
			return false
		}
		_, err = c.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
		return err == nil
	})
	loop(func(c *pgx.Conn) bool {
		id := rows.Load() + 1
		if _, err := c.Exec(ctx, "INSERT INTO t VALUES ($1, $1 % 7)", id); err != nil {
			t.Errorf("write: %v", err)
			return false
		}
		rows.Store(id)
		return true
	})
	loop(func(c *pgx.Conn) bool {
		// Subscriptions end when what they read is replaced, and can begin again at once.
		res, err := c.PgConn().Exec(ctx, "BEGIN; DECLARE f CURSOR FOR SUBSCRIBE w; FETCH 1 f; COMMIT").ReadAll()
		if err != nil && code(err) != "40001" || err == nil && len(res[2].Rows) != 1 {
			t.Errorf("subscription: %v", err)
			return false
		}
		if err != nil {
			_, _ = c.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
		}
		return true
	})
	for n := 1; n <= 4; n++ {
		must(t, c, generation(n))
		newest.Store(int64(n))
	}
	close(stop)
	wg.Wait()
	for _, v := range []string{"v", "w", "x"} {
		if got := must(t, c, "VERIFY MATERIALIZED VIEW "+v); got != "" {
			t.Errorf("%s is wrong: %s", v, got)
		}
	}
}

// What is being built changes nothing that can be seen, and leaves nothing if it is cancelled, fails or the server dies.
func TestReplaceStops(t *testing.T) {
	var d door
	w := start(t, setup{parallelism: 2, at: d.at})
	c := connect(t, w.url(), nil)
	defer func() { closeConn(c) }()
	createReplaced(t, c)
	// While the door is shut no epoch ends: what is complete can be read.
	still := func(def string) {
		t.Helper()
		must(t, c, "SET read_freshness = 'available'")
		if got, want := must(t, c, "SELECT min(def) || ' ' || max(of) || ' ' || (SELECT count(*) FROM t) - min(n) FROM x"), def+" "+def+" 0"; got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		must(t, c, "SET read_freshness = 'strict'")
	}
	same := func(def string) {
		t.Helper()
		must(t, c, "INSERT INTO t SELECT max(id) + 1, 3 FROM t")
		if got, want := must(t, c, "SELECT min(def) || ' ' || max(of) || ' ' || (SELECT count(*) FROM t) - min(n) FROM x"), def+" "+def+" 0"; got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	running := func() bool { return must(t, c, "SELECT count(*) FROM weir_progress WHERE name = 'v'") == "1" }
	jobs := must(t, c, "SELECT string_agg(name, ',' ORDER BY name) FROM weir_jobs")
	building := func(n int) (c *pgx.Conn, done chan error) {
		c, done = connect(t, w.url(), nil), make(chan error, 1)
		go func() {
			_, err := c.PgConn().Exec(context.Background(), generation(n)).ReadAll()
			done <- err
		}()
		for !running() {
		}
		still("0")
		return c, done
	}
	open := d.close()
	builder, done := building(1)
	if err := builder.PgConn().CancelRequest(context.Background()); err != nil {
		t.Fatal(err)
	}
	open()
	if err := <-done; code(err) != "57014" {
		t.Fatal(err)
	}
	must(t, builder, "SELECT 1")
	closeConn(builder)
	same("0")
	if got := must(t, c, "SELECT string_agg(name, ',' ORDER BY name) FROM weir_jobs"); got != jobs {
		t.Fatalf("jobs %s, before %s", got, jobs)
	}
	open = d.close()
	_, done = building(2)
	closeConn(c)
	left := w.fs.CrashClone(vfs.CrashCloneCfg{})
	open()
	w.close()
	<-done
	w.fs = left
	w.open()
	c = connect(t, w.url(), nil)
	same("0")
	must(t, c, generation(3))
	same("3")
	w.restart()
	c = connect(t, w.url(), nil)
	same("3")
}

// A server that dies at any moment of a replacement has all of the old definition afterwards or all of the new.
func TestReplaceCrash(t *testing.T) {
	t.Parallel()
	seed := time.Now().UnixNano() % 1e6
	rng := rand.New(rand.NewSource(seed))
	w := start(t, setup{parallelism: 1 + rng.Intn(2), checkpoint: 20 * time.Millisecond})
	c := connect(t, w.url(), nil)
	createReplaced(t, c)
	took := time.Duration(0)
	for n := 1; n <= 10; n++ {
		began := time.Now()
		acked := make(chan bool, 1)
		go func() {
			_, err := c.PgConn().Exec(context.Background(), generation(n)).ReadAll()
			acked <- err == nil
		}()
		ok := false
		if n == 1 {
			ok = <-acked
			took = time.Since(began)
			acked <- ok
		} else {
			select {
			case ok = <-acked:
				acked <- ok
			case <-time.After(time.Duration(rng.Int63n(int64(took) * 5 / 4))):
			}
		}
		w.crash()
		<-acked
		closeConn(c)
		c = connect(t, w.url(), nil)
		must(t, c, "INSERT INTO t SELECT max(id) + 1, 3 FROM t")
		def := must(t, c, allReplaced)
		if got, err := strconv.Atoi(def); err != nil || ok && got != n || got > n {
			t.Fatalf("seed %d: definitions %s after %d, acknowledged: %v", seed, def, n, ok)
		}
		for _, v := range []string{"v", "w", "x"} {
			if got := must(t, c, "VERIFY MATERIALIZED VIEW "+v); got != "" {
				t.Fatalf("seed %d: %s is wrong after a crash: %s", seed, v, got)
			}
		}
	}
	closeConn(c)
}
