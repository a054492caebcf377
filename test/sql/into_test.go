package sql

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// intoSinks are tables that sinks write to, each with the query whose rows it must have: over tables that change, over a table that another
// sink writes to, and, without a key, over one that only grows.
var intoSinks = []struct{ table, query string }{
	{"kept (id int PRIMARY KEY, g int, v bigint)", "SELECT id, g, v::bigint FROM t WHERE v % 3 <> 0"},
	{"sums (g int PRIMARY KEY, n bigint, s bigint)", "SELECT g, count(*), sum(v) FROM t GROUP BY g"},
	{"pairs (a int, b int, PRIMARY KEY (a, b))", "SELECT x.id, y.id FROM t x JOIN t y ON x.g = y.g AND x.id < y.id AND y.v < 20"},
	{"more (n bigint PRIMARY KEY, groups bigint)", "SELECT n, count(*) FROM sums GROUP BY n"},
	{"copies (v int, n int)", "SELECT v, n FROM log CROSS JOIN (VALUES (1), (2)) AS twice (n)"},
}

func createInto(t *testing.T, c *pgx.Conn) {
	t.Helper()
	must(t, c, "CREATE TABLE t (id int PRIMARY KEY, g int NOT NULL, v int)")
	must(t, c, "CREATE TABLE log (v int) APPEND ONLY")
	must(t, c, "INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 30) i")
	must(t, c, "INSERT INTO log SELECT generate_series(1, 10)")
	for i, s := range intoSinks {
		must(t, c, "CREATE TABLE "+s.table)
		must(t, c, fmt.Sprintf("CREATE SINK s%d INTO %s AS %s", i, strings.Fields(s.table)[0], s.query))
	}
	must(t, c, "CREATE MATERIALIZED VIEW over AS SELECT sum(s) AS s, sum(n) AS n FROM sums")
}

// checkInto compares the tables with their queries, each in one statement.
func checkInto(t *testing.T, c *pgx.Conn, when string) {
	t.Helper()
	for _, s := range intoSinks {
		name := strings.Fields(s.table)[0]
		want, err := rows(c, s.query)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		got, err := rows(c, "SELECT * FROM "+name)
		if err != nil {
			t.Fatalf("%s: %s: %v", when, name, err)
		}
		if d := difference(want, got); d != "" {
			t.Fatalf("%s: %s: %s", when, name, d)
		}
	}
	if got, want := must(t, c, "SELECT s || ' ' || n FROM over"), must(t, c, "SELECT sum(v) || ' ' || count(*) FROM t"); got != want {
		t.Fatalf("%s: the view over sums has %s, want %s", when, got, want)
	}
}

// changeInto is a random change.
func changeInto(rng *rand.Rand) string {
	id := 1 + rng.Intn(40)
	switch rng.Intn(6) {
	case 0:
		return fmt.Sprintf("DELETE FROM t WHERE id = %d", id)
	case 1:
		return fmt.Sprintf("UPDATE t SET v = %d, g = %d WHERE id = %d", rng.Intn(30), rng.Intn(6), id)
	case 2:
		return fmt.Sprintf("UPDATE t SET id = -id WHERE id < %d", rng.Intn(10))
	case 3:
		return fmt.Sprintf("INSERT INTO log VALUES (%d), (%d)", id, id)
	default:
		return fmt.Sprintf("INSERT INTO t VALUES (%d, %d, %d) ON CONFLICT (id) DO UPDATE SET v = excluded.v, g = excluded.g", id, rng.Intn(6), rng.Intn(30))
	}
}

// What sinks have written into tables is what their queries have, in every read, whatever fails in between.
func TestSinksInto(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		seed := int64(n + 1)
		if n == 2 {
			seed = time.Now().UnixNano() % 1e6
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewSource(seed))
			w := start(t, setup{
				parallelism: 1 + rng.Intn(2), chunk: []int{0, 1}[rng.Intn(2)],
				checkpoint: []time.Duration{time.Hour, 20 * time.Millisecond}[rng.Intn(2)],
			})
			c := connect(t, w.url(), nil)
			defer func() { closeConn(c) }()
			createInto(t, c)
			checkInto(t, c, "created")
			for step := range 24 {
				for range rng.Intn(4) {
					q := changeInto(rng)
					if _, err := c.PgConn().Exec(context.Background(), q).ReadAll(); err != nil && code(err) != "23505" {
						t.Fatalf("%s: %v", q, err)
					}
				}
				how := "changed"
				switch rng.Intn(6) {
				case 0:
					how = "crash"
					closeConn(c)
					w.crash()
					c = connect(t, w.url(), nil)
				case 1:
					how = "restart"
					closeConn(c)
					w.restart()
					c = connect(t, w.url(), nil)
				case 2:
					must(t, c, "CHECKPOINT")
				}
				checkInto(t, c, fmt.Sprintf("step %d: %s", step, how))
			}
		})
	}
}

// The server dies while clients write.
func TestSinksIntoCrash(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 2, checkpoint: 15 * time.Millisecond})
	c := connect(t, w.url(), nil)
	defer func() { closeConn(c) }()
	createInto(t, c)
	for round := range 8 {
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for k := range 3 {
			rng := rand.New(rand.NewSource(time.Now().UnixNano() + int64(k)))
			writer := connect(t, w.url(), nil)
			wg.Go(func() {
				defer closeConn(writer)
				for {
					if _, err := writer.PgConn().Exec(context.Background(), changeInto(rng)).ReadAll(); err != nil && code(err) != "40P01" && code(err) != "23505" {
						return // the server is gone
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		reads := 2 + round
		for range reads {
			must(t, c, "SELECT count(*) FROM more")
		}
		closeConn(c)
		w.crash()
		close(stop)
		wg.Wait()
		c = connect(t, w.url(), nil)
		checkInto(t, c, fmt.Sprintf("after crash %d", round))
	}
}

// Jobs fail and are restarted alone.
func TestSinksIntoFailures(t *testing.T) {
	t.Parallel()
	var calls, faults atomic.Int64
	var armed atomic.Bool
	w := start(t, setup{parallelism: 2, checkpoint: 20 * time.Millisecond, fault: func() {
		if armed.Load() && calls.Add(1)%97 == 0 && faults.Add(1) < 40 {
			panic("a fault of the test")
		}
	}})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	createInto(t, c)
	rng := rand.New(rand.NewSource(7))
	try := func(q string) {
		t.Helper()
		for end := time.Now().Add(statementTimeout); ; {
			_, err := c.PgConn().Exec(context.Background(), q).ReadAll()
			if err == nil || code(err) == "23505" {
				return
			}
			if code(err) != "40001" || time.Now().After(end) {
				t.Fatalf("%s: %v", q, err)
			}
		}
	}
	armed.Store(true)
	for range 60 {
		try(changeInto(rng))
		try("SELECT count(*) FROM more")
	}
	armed.Store(false)
	checkInto(t, c, "after failures")
	if faults.Load() == 0 {
		t.Error("nothing has failed")
	}
}

// A row that the table does not take fails the sink, and nothing else; when the cause is gone it can be resumed.
func TestSinkIntoRefused(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1, checkpoint: 20 * time.Millisecond})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	for _, q := range []string{
		"CREATE TABLE t (id int PRIMARY KEY, v int)",
		"CREATE TABLE u (id int PRIMARY KEY, v int CHECK (v < 100))",
		"CREATE TABLE x (id int PRIMARY KEY, v int)",
		"CREATE SINK s INTO u FROM t",
		"CREATE SINK sx INTO x FROM t",
		"INSERT INTO t VALUES (1, 1)",
		"SELECT * FROM u",
		"INSERT INTO t VALUES (2, 200)",
	} {
		must(t, c, q)
	}
	ask := "SELECT state || ': ' || coalesce(last_error, '') FROM weir_jobs WHERE name = 's'"
	for end := time.Now().Add(statementTimeout); !strings.HasPrefix(must(t, c, ask), "stalled"); {
		if time.Now().After(end) {
			t.Fatal(must(t, c, ask))
		}
	}
	if got := must(t, c, ask); !strings.Contains(got, `violates check constraint "u_v_check"`) {
		t.Errorf("the sink: %s", got)
	}
	must(t, c, "INSERT INTO t VALUES (3, 3)")
	if got := must(t, c, "SELECT string_agg(id::text, ',' ORDER BY id) FROM x"); got != "1,2,3" {
		t.Errorf("the other sink: %s", got)
	}
	if got := must(t, c, "SELECT string_agg(id::text, ',' ORDER BY id) FROM u"); got != "1" {
		t.Errorf("the table: %s", got)
	}
	must(t, c, "UPDATE t SET v = 2 WHERE id = 2")
	must(t, c, "ALTER SINK s RESUME")
	if got := must(t, c, "SELECT string_agg(id::text, ',' ORDER BY id) FROM u"); got != "1,2,3" {
		t.Errorf("the table after RESUME: %s", got)
	}
}

// A transaction that holds locks is not waited for by itself, and sinks wait for it.
func TestSinkIntoLocks(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	a, b := connect(t, w.url(), nil), connect(t, w.url(), nil)
	defer closeConn(a)
	defer closeConn(b)
	must(t, a, "CREATE TABLE t (id int PRIMARY KEY, v int)")
	must(t, a, "CREATE TABLE u (id int PRIMARY KEY, v int)")
	must(t, a, "CREATE SINK s INTO u FROM t")
	must(t, a, "BEGIN")
	must(t, a, "INSERT INTO u VALUES (9, 9)")
	must(t, b, "INSERT INTO t VALUES (1, 1)")
	if got := must(t, a, "SELECT count(*) FROM u"); got != "1" {
		t.Errorf("%s rows", got)
	}
	must(t, a, "UPDATE u SET v = 10 WHERE id = 9")
	must(t, a, "COMMIT")
	if got := must(t, a, "SELECT count(*) FROM u"); got != "2" {
		t.Errorf("%s rows", got)
	}
}
