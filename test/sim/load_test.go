package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/server"
)

func tuned(t *testing.T, f *faulty, tune func(*server.Config)) *node {
	t.Helper()
	n, err := openTuned(vfs.NewMem(), 2, tune, f.register, func(r *connector.Registry) {
		r.AddSource("nexmark", func(cfg connector.Config) (exec.Source, error) { return nexmark.NewSource(cfg) })
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return n
}

// A client that does not read the rows it asked for, and one that begins a COPY and sends nothing, do not
// hold up the recovery after a failure.
func TestClientsThatStallARecovery(t *testing.T) {
	f := newFaulty()
	n := tuned(t, f, func(c *server.Config) {
		c.RecoveryGrace, c.FailoverStrategy = 50*time.Millisecond, "restart-all"
	})
	a, reads, copies := dial(t, n), dial(t, n), dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v text)")
	a.must("CREATE TABLE u (id int8 PRIMARY KEY)")
	a.must("CREATE SINK s AS SELECT id FROM u WITH (connector = 'faulty')")
	a.must("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) AS g(i)")

	// 20 MB do not fit into the buffers on the way.
	res := reads.PgConn().Exec(t.Context(), "SELECT id, v FROM t")
	if !res.NextResult() || !res.ResultReader().NextRow() {
		t.Fatal("no rows")
	}
	data, stop := context.WithCancel(t.Context())
	copied := make(chan error, 1)
	go func() {
		_, err := copies.PgConn().CopyFrom(t.Context(), blocking{data}, "COPY t FROM STDIN")
		copied <- err
	}()
	// Once it runs, it shares the table's lock, and nobody can have it alone.
	a.must("SET statement_timeout = '20ms'")
	for {
		if _, err := a.Exec(t.Context(), "BEGIN; LOCK TABLE t; COMMIT"); err != nil {
			break
		}
	}
	a.must("ROLLBACK")
	a.must("RESET statement_timeout")

	f.mode.Store(1)
	for n.srv.Engine().Stats().Recoveries == 0 {
		_, err := a.Exec(t.Context(), "INSERT INTO u VALUES ((SELECT count(*) FROM u))")
		if err != nil && !strings.Contains(err.Error(), "40001") {
			t.Fatal(err)
		}
	}
	f.mode.Store(0)
	a.want("SELECT count(*) FROM t", "20000")
	stop()
	var e *pgconn.PgError
	if err := <-copied; !errors.As(err, &e) || e.Code != "40001" {
		t.Errorf("COPY: %v", err)
	}
	for res.ResultReader().NextRow() {
	}
	if err := res.Close(); !errors.As(err, &e) || e.Code != "40001" {
		t.Errorf("SELECT: %v", err)
	}
	reads.want("SELECT count(*) FROM t", "20000")
}

// blocking is data that does not come.
type blocking struct{ ctx context.Context }

func (b blocking) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

// With little memory views stay right, queries use the disk, and one that needs too much in memory at once says so.
func TestLittleMemory(t *testing.T) {
	n := tuned(t, newFaulty(), func(c *server.Config) { c.MemoryLimit = 8 << 20 })
	c := dial(t, n)
	c.must("CREATE SOURCE bid WITH (connector = 'nexmark', table = 'bid', events = '100000', seed = '1')")
	c.must("CREATE SOURCE auction WITH (connector = 'nexmark', table = 'auction', events = '100000', seed = '1')")
	agg := "SELECT bidder, count(*) AS n, max(price) AS top, count(DISTINCT auction) AS auctions FROM bid GROUP BY bidder"
	join := "SELECT a.id, a.category, b.price FROM auction a JOIN bid b ON a.id = b.auction WHERE b.price > a.reserve"
	top := "SELECT auction, bidder, price FROM (SELECT *, row_number() OVER (PARTITION BY bidder ORDER BY price DESC, date_time) AS rn FROM bid) x WHERE rn <= 2"
	views := map[string]string{"agg": agg, "joined": join, "top": top}
	for name, q := range views {
		c.must("CREATE MATERIALIZED VIEW " + name + " AS " + q)
	}
	c.await("SELECT sum(n) FROM agg", "92000")
	c.must("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	for name, q := range views {
		// In pieces, since a query has little memory too.
		for _, piece := range []string{"0", "1"} {
			sums := map[string]string{
				"agg":    "sum(n), sum(top), sum(auctions), sum(n * bidder) FROM %s x WHERE bidder % 2 = ",
				"joined": "sum(price), sum(price * id), sum(category) FROM %s x WHERE id % 2 = ",
				"top":    "sum(price), sum(auction * price), sum(bidder) FROM %s x WHERE bidder % 2 = ",
			}[name]
			ask := func(from string) string { return "SELECT count(*), " + strings.Replace(sums, "%s", from, 1) + piece }
			c.want(ask(name), c.get(ask("("+q+")"))...)
		}
	}
	c.must("COMMIT")
	// Joins, aggregates and sorts of more than a query may have in memory use the disk.
	pairs := c.get("SELECT sum(n * n) FROM (SELECT extra, count(*) AS n FROM bid GROUP BY extra) x")
	c.want("SELECT count(*) FROM bid b1 JOIN bid b2 ON b1.extra = b2.extra", pairs...)
	c.want("SELECT sum(n) FROM (SELECT extra, url, channel, count(*) AS n FROM bid GROUP BY 1, 2, 3) x", "92000")
	c.want("SELECT sum(n) FROM (SELECT DISTINCT extra, count(*) OVER (PARTITION BY extra) AS n FROM bid) x", "92000")
	rows := c.get("SELECT md5(extra) FROM bid ORDER BY 1")
	if len(rows) != 92000 || !slices.IsSorted(rows) {
		t.Errorf("%d rows, sorted: %v", len(rows), slices.IsSorted(rows))
	}
	// What cannot be divided says that it is too much.
	c.fails("53200", "SELECT extra, rank() OVER (ORDER BY price) FROM bid")
	c.want("SELECT 1", "1")
}
