package crash

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// memoryKind is a kind of view whose state is some times the memory limit.
type memoryKind struct {
	name string
	// setup comes before the view; load is run for portions of rows, with $1 the first and $2 the last.
	setup []string
	view  string
	// rows is how many rows of t there are for the full test, with a kilobyte of text each.
	rows int
	// check is one row of one number, want what it is for n rows.
	check string
	want  func(n int64) int64
}

func allRows(n int64) int64 { return n }

// memoryKinds have, with rows of a kilobyte, states of several times 200 MB.
var memoryKinds = []memoryKind{
	{
		name: "min and max of text", rows: 500_000,
		view:  "SELECT id / 10 AS g, min(x) AS lo, max(x) AS hi FROM t GROUP BY id / 10",
		check: "SELECT count(*) FROM v WHERE lo <= hi AND length(lo) = 1024", want: func(n int64) int64 { return n / 10 },
	},
	{
		name: "window functions", rows: 400_000,
		view:  "SELECT id, x, row_number() OVER w AS n, lag(x) OVER w AS before FROM t WINDOW w AS (PARTITION BY id / 10 ORDER BY id)",
		check: "SELECT count(*) FILTER (WHERE n = id % 10 + 1 AND (n = 1) = (before IS NULL)) FROM v", want: allRows,
	},
	{
		name: "recursion", rows: 250_000,
		view: "WITH RECURSIVE r(id, x) AS (SELECT id, x FROM t WHERE id % 10 = 0 UNION " +
			"SELECT t.id, t.x FROM r JOIN t ON t.parent = r.id) SELECT id, x FROM r",
		check: "SELECT count(*) FROM v", want: allRows,
	},
	{
		name: "string_agg and array_agg", rows: 400_000,
		view:  "SELECT id / 10 AS g, string_agg(x, ',' ORDER BY id) AS s, array_agg(id ORDER BY id) AS a FROM t GROUP BY id / 10",
		check: "SELECT sum(cardinality(a)) FROM v WHERE length(s) = 10249", want: allRows,
	},
	{
		name: "count distinct", rows: 500_000,
		view:  "SELECT id % 1000 AS g, count(DISTINCT x) AS n FROM t GROUP BY id % 1000",
		check: "SELECT sum(n) FROM v", want: allRows,
	},
	{
		name: "top rows with ties", rows: 500_000,
		view:  "SELECT id, x FROM (SELECT id, x, rank() OVER (PARTITION BY id / 10 ORDER BY id / 5 DESC) AS r FROM t) s WHERE r = 1",
		check: "SELECT count(*) FROM v WHERE id % 10 >= 5", want: func(n int64) int64 { return n / 2 },
	},
	{
		name: "limit with ties", rows: 400_000,
		view:  "SELECT id, x FROM t ORDER BY id % 2 FETCH FIRST 10 ROWS WITH TIES",
		check: "SELECT count(*) FROM v WHERE id % 2 = 0", want: func(n int64) int64 { return n / 2 },
	},
	{
		name: "full join", rows: 250_000,
		setup: []string{"CREATE MATERIALIZED VIEW u AS SELECT id + 1000 AS id, x AS y FROM t"},
		view:  "SELECT t.id AS a, u.id AS b, t.x, u.y FROM t FULL JOIN u ON t.id = u.id AND length(t.x) = length(u.y)",
		check: "SELECT count(*) FROM v WHERE a IS NULL OR b IS NULL OR a = b", want: func(n int64) int64 { return n + 1000 },
	},
	{
		name: "distinct", rows: 500_000,
		view:  "SELECT DISTINCT x FROM t",
		check: "SELECT count(*) FROM v WHERE length(x) = 1024", want: allRows,
	},
	{
		name: "set operations", rows: 250_000,
		view:  "SELECT x FROM t EXCEPT (SELECT x FROM t WHERE id % 2 = 0 INTERSECT SELECT x FROM t WHERE id % 3 = 0)",
		check: "SELECT count(*) FROM v", want: func(n int64) int64 { return n - (n+5)/6 },
	},
	{
		name: "join", rows: 250_000,
		view:  "SELECT a.id, a.x, b.x AS y FROM t a JOIN t b ON b.parent = a.id",
		check: "SELECT count(*) FROM v WHERE x <> y", want: func(n int64) int64 { return n - n/10 },
	},
}

// TestMemoryKinds has views of every kind with state, several times the memory limit with WEIR_SOAK, a tenth of the limit
// without: their rows are right, also after rows have changed, a snapshot of all of it can be read by SUBSCRIBE, and the process stays
// below the limit plus 20 %.
func TestMemoryKinds(t *testing.T) {
	const limit = 200 << 20
	t.Setenv(memoryEnv, strconv.Itoa(limit))
	for _, k := range memoryKinds {
		t.Run(k.name, func(t *testing.T) {
			rows := k.rows / 50
			if os.Getenv("WEIR_SOAK") != "" {
				rows = k.rows
			} else if testing.Short() {
				rows = k.rows / 500
			}
			p := startServer(t, t.TempDir()+"/data")
			defer p.kill()
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
			defer cancel()
			c, err := p.connect(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close(ctx) }()
			so := func(what string) {
				if peak, ok := p.peak(t); ok {
					t.Logf("%s: at most %d MB so far", what, peak>>20)
				}
			}
			k.fill(ctx, t, c, rows)
			so("filled")
			k.verify(ctx, t, c, "as it was filled", int64(rows))
			so("read")
			// Every seventh row is written again, and comes back as it was.
			for _, to := range []string{"reverse(x) || 'y'", "reverse(left(x, 1024))"} {
				const portion = 35_000
				for i := 0; i < rows; i += portion {
					if _, err := c.Exec(ctx, fmt.Sprintf("UPDATE t SET x = %s WHERE id >= %d AND id < %d AND id %% 7 = 0", to, i, i+portion)); err != nil {
						t.Fatal(err)
					}
				}
			}
			so("updated")
			k.verify(ctx, t, c, "after updates", int64(rows))
			so("read")
			k.subscribe(ctx, t, c)
			p.within(t, limit)
		})
	}
}

func (k memoryKind) fill(ctx context.Context, t *testing.T, c *pgx.Conn, rows int) {
	t.Helper()
	run := func(q string) {
		t.Helper()
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	run("CREATE TABLE t (id int PRIMARY KEY, parent int, x text)")
	for _, q := range k.setup {
		run(q)
	}
	const step = 5_000
	half := rows / 2 / step * step
	load := func(from, to int) {
		for i := from; i < to; i += step {
			run(fmt.Sprintf("INSERT INTO t SELECT i, CASE WHEN i %% 10 > 0 THEN i - 1 END, repeat(md5(i::text), 32) FROM generate_series(%d, %d) i", i, min(i+step, to)-1))
		}
	}
	// One half is there before, and is read in the background.
	load(0, half)
	run("CREATE MATERIALIZED VIEW v AS " + k.view)
	load(half, rows)
}

func (k memoryKind) verify(ctx context.Context, t *testing.T, c *pgx.Conn, when string, rows int64) {
	t.Helper()
	start := time.Now()
	var got int64
	if err := c.QueryRow(ctx, "SELECT ("+k.check+")::int8").Scan(&got); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if want := k.want(rows); got != want {
		t.Errorf("%s: %d, want %d", when, got, want)
	}
	t.Logf("%s: read in %v", when, time.Since(start).Round(time.Millisecond))
}

// subscribe reads all of the view as the beginning of a change feed.
func (k memoryKind) subscribe(ctx context.Context, t *testing.T, c *pgx.Conn) {
	t.Helper()
	var want int64
	if err := c.QueryRow(ctx, "SELECT count(*) FROM v").Scan(&want); err != nil {
		t.Fatal(err)
	}
	lines := &lineCounter{want: want, enough: make(chan struct{})}
	sub, err := pgx.ConnectConfig(ctx, c.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Close(ctx) }()
	within, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	done := make(chan error, 1)
	go func() {
		_, err := sub.PgConn().CopyTo(within, lines, "COPY (SUBSCRIBE v) TO STDOUT")
		done <- err
	}()
	select {
	case <-lines.enough:
	case err := <-done:
		t.Errorf("the feed ended with %d of %d rows: %v", lines.n, want, err)
		return
	}
	stop()
	<-done
}

// lineCounter counts the lines of a COPY.
type lineCounter struct {
	n, want int64
	enough  chan struct{}
}

var _ io.Writer = (*lineCounter)(nil)

func (l *lineCounter) Write(b []byte) (int, error) {
	had := l.n >= l.want
	for _, c := range b {
		if c == '\n' {
			l.n++
		}
	}
	if !had && l.n >= l.want {
		close(l.enough)
	}
	return len(b), nil
}
