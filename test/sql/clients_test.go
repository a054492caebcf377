package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// must runs a statement that must work and gives its first value as text.
func must(t testing.TB, c *pgx.Conn, q string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	res, err := c.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		t.Fatalf("%.200s: %v", q, err)
	}
	if n := len(res); n > 0 && len(res[n-1].Rows) > 0 && len(res[n-1].Rows[0]) > 0 {
		return string(res[n-1].Rows[0][0])
	}
	return ""
}

func code(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return fmt.Sprint(err)
}

// cancelled runs a statement, cancels it once it runs, and checks that it ends with 57014 and that the
// session goes on.
func cancelled(t *testing.T, w *weir, q string, running func(other *pgx.Conn) bool) {
	t.Helper()
	c, other := connect(t, w.url(), nil), connect(t, w.url(), nil)
	defer closeConn(c)
	defer closeConn(other)
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
		defer cancel()
		_, err := c.PgConn().Exec(ctx, q).ReadAll()
		done <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	for !running(other) {
		runtime.Gosched()
	}
	// The statement may be between two things that can be cancelled: ask until it has ended.
	for {
		if err := c.PgConn().CancelRequest(ctx); err != nil {
			t.Fatalf("cancel: %v", err)
		}
		select {
		case err := <-done:
			if code(err) != "57014" {
				t.Fatalf("%s: %v", q, err)
			}
			if got := must(t, c, "SELECT 1"); got != "1" {
				t.Fatalf("after a cancel: %q", got)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// A view over an endless source that is being created can be cancelled, and leaves nothing.
func TestCancelCreate(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 2})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	must(t, c, "CREATE TABLE big AS SELECT g AS id FROM generate_series(1, 20000) g")
	must(t, c, "CREATE SOURCE bid WITH (connector = 'nexmark', table = 'bid', seed = '1')")
	must(t, c, "CREATE SOURCE person WITH (connector = 'nexmark', table = 'person', seed = '1')")
	for _, q := range []string{
		"CREATE MATERIALIZED VIEW v AS SELECT max(a.id * 2 + b.id) FROM big a JOIN big b ON a.id % 1000 = b.id % 1000 JOIN bid ON bid.auction = a.id",
		"SELECT count(*) FROM bid",
		"SELECT count(*) FROM big a, big b WHERE a.id + b.id > 5",
		"SELECT count(*) FROM generate_series(1, 100000000000) g",
		"INSERT INTO big SELECT a.id FROM big a, big b, big c",
		"CREATE TABLE copy AS SELECT a.id FROM big a, big b, big c",
		"SELECT a.id FROM big a, big b ORDER BY a.id * b.id",
		"UPDATE big SET id = (SELECT count(*) FROM big x, big y WHERE x.id + y.id <> big.id)",
		"SELECT 1 FROM big WHERE id > ALL (SELECT a.id - b.id - 30000 FROM big a, big b)",
	} {
		n := 0
		cancelled(t, w, q, func(*pgx.Conn) bool { n++; return n > 1000 })
	}
	if got := must(t, c, "SELECT count(*) FROM big"); got != "20000" {
		t.Fatalf("%s rows", got)
	}
	for _, name := range []string{"v", "copy"} {
		if _, err := c.Exec(context.Background(), "SELECT * FROM "+name); code(err) != "42P01" {
			t.Fatalf("%s: %v", name, err)
		}
	}
	// An endless source is no reason to wait for ever: the view is complete when it has caught up.
	must(t, c, "CREATE SOURCE slow WITH (connector = 'nexmark', table = 'bid', rate = '1000', seed = '1')")
	must(t, c, "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM slow")
	must(t, c, "SELECT n FROM v")
	must(t, c, "DROP SOURCE slow CASCADE")
	w.restart()
	d := connect(t, w.url(), nil)
	defer closeConn(d)
	if got := must(t, d, "SELECT count(*) FROM big"); got != "20000" {
		t.Fatalf("%s rows after a restart", got)
	}
}

// A view over a source that is faster than anything is created, or its creation is cancelled; both leave a
// server that works.
func TestCancelCreateEndless(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 2})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	must(t, c, "CREATE SOURCE bid WITH (connector = 'nexmark', table = 'bid', seed = '1')")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	_, err := c.PgConn().Exec(ctx, "CREATE MATERIALIZED VIEW v AS SELECT auction, count(*) AS n FROM bid GROUP BY auction").ReadAll()
	cancel()
	d := connect(t, w.url(), nil)
	defer closeConn(d)
	if err == nil {
		must(t, d, "SELECT count(*) FROM v")
	}
	must(t, d, "DROP MATERIALIZED VIEW IF EXISTS v")
	must(t, d, "DROP SOURCE bid")
	if got := must(t, d, "SELECT count(*) FROM (VALUES (1)) v"); got != "1" {
		t.Fatal(got)
	}
}

// Many sessions write and read at once, and none is lost or sees half of a transaction.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 2})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	must(t, c, "CREATE TABLE acc (id int PRIMARY KEY, v int)")
	must(t, c, "INSERT INTO acc SELECT g, 100 FROM generate_series(0, 9) g")
	must(t, c, "CREATE MATERIALIZED VIEW total AS SELECT sum(v) AS s, count(*) AS n FROM acc")
	const clients = 90 // of at most 100
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	for i := range clients {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
			defer cancel()
			c, err := pgx.Connect(ctx, w.url())
			if err != nil {
				errs <- err
				return
			}
			defer closeConn(c)
			a, b := i%10, (i*7+1)%10
			for try := 0; ; try++ {
				_, err = c.PgConn().Exec(ctx, fmt.Sprintf("BEGIN; UPDATE acc SET v = v - 1 WHERE id = %d; UPDATE acc SET v = v + 1 WHERE id = %d; COMMIT", a, b)).ReadAll()
				if s := code(err); s != "40001" && s != "40P01" {
					break
				}
				if _, rerr := c.PgConn().Exec(ctx, "ROLLBACK").ReadAll(); rerr != nil {
					err = rerr
					break
				}
			}
			if err != nil {
				errs <- fmt.Errorf("client %d: %w", i, err)
				return
			}
			res, err := c.PgConn().Exec(ctx, "SELECT s, n FROM total").ReadAll()
			if err != nil {
				errs <- err
				return
			}
			if s := string(res[0].Rows[0][0]); s != "1000" {
				errs <- fmt.Errorf("client %d reads a total of %s", i, s)
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

// More sessions than are allowed are refused in the way that clients understand, and a place that gets free can
// be taken.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1, connections: 100})
	var open []*pgx.Conn
	defer func() {
		for _, c := range open {
			closeConn(c)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, w.url())
		if err != nil {
			if code(err) != "53300" {
				t.Fatal(err)
			}
			break
		}
		open = append(open, c)
	}
	if len(open) != 100 {
		t.Errorf("%d sessions", len(open))
	}
	must(t, open[0], "SELECT 1")
	closeConn(open[1])
	for {
		c, err := pgx.Connect(ctx, w.url())
		if err == nil {
			open[1] = c
			break
		}
		if code(err) != "53300" {
			t.Fatal(err)
		}
	}
}

// A client that does not read its result holds up nobody.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	must(t, c, "CREATE TABLE big (id int PRIMARY KEY, pad text)")
	must(t, c, "INSERT INTO big SELECT g, repeat('x', 500) FROM generate_series(1, 40000) g")
	must(t, c, "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM big")

	conn, err := net.Dial("tcp", w.srv.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	f := pgproto3.NewFrontend(conn, conn)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "weir"}})
	f.Send(&pgproto3.Query{String: "SELECT * FROM big"})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	rows := 0
	read := func(until int) {
		for rows < until {
			m, err := f.Receive()
			if err != nil {
				t.Fatal(err)
			}
			switch m := m.(type) {
			case *pgproto3.DataRow:
				rows++
			case *pgproto3.ErrorResponse:
				t.Fatal(m.Message)
			}
		}
	}
	read(1)
	for i := range 20 {
		must(t, c, fmt.Sprintf("INSERT INTO big VALUES (%d, ''); DELETE FROM big WHERE id = %d", 100000+i, i+1))
		if got := must(t, c, "SELECT n FROM n"); got != "40000" {
			t.Fatalf("%s rows", got)
		}
	}
	must(t, c, "CHECKPOINT")
	read(40000) // as of when it began
	for {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(*pgproto3.DataRow); ok {
			t.Fatal("more rows than there were")
		}
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			break
		}
	}
}

// Statements and rows of unusual size.
func TestSizes(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	const cols = 1000
	var defs, vals, sums []string
	for i := range cols {
		defs = append(defs, fmt.Sprintf("c%d int", i))
		vals = append(vals, fmt.Sprint(i))
		sums = append(sums, fmt.Sprintf("sum(c%d) AS s%d", i, i))
	}
	must(t, c, "CREATE TABLE wide ("+strings.Join(defs, ", ")+")")
	must(t, c, "CREATE MATERIALIZED VIEW wide_sums AS SELECT "+strings.Join(sums, ", ")+" FROM wide")
	must(t, c, "INSERT INTO wide VALUES ("+strings.Join(vals, ", ")+"), ("+strings.Join(vals, ", ")+")")
	if got := must(t, c, "SELECT s999 FROM wide_sums"); got != "1998" {
		t.Fatal(got)
	}
	_, err := c.Exec(context.Background(), "CREATE TABLE wider ("+strings.Join(defs, ", ")+", "+strings.ReplaceAll(strings.Join(defs, ", "), "c", "d")+")")
	if code(err) != "54011" {
		t.Errorf("2000 columns: %v", err)
	}
	// Many rows in one statement.
	var rows []string
	for i := range 20000 {
		rows = append(rows, fmt.Sprintf("(%d, 'row %d')", i, i))
	}
	must(t, c, "CREATE TABLE many (id int PRIMARY KEY, v text)")
	must(t, c, "INSERT INTO many VALUES "+strings.Join(rows, ", "))
	if got := must(t, c, "SELECT count(*) FROM many"); got != "20000" {
		t.Fatal(got)
	}
	// One large value, and it back.
	must(t, c, "INSERT INTO many VALUES (-1, repeat('é', 4000000))")
	if got := must(t, c, "SELECT v FROM many WHERE id = -1"); got != strings.Repeat("é", 4000000) {
		t.Fatalf("%d bytes", len(got))
	}
	// Deep nesting is refused or done, and the server lives.
	for _, q := range []string{
		"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
		"SELECT " + strings.Repeat("- ", 20000) + "1",
		"SELECT 1" + strings.Repeat(" + 1", 20000),
		"SELECT " + strings.Repeat("NOT ", 20000) + "true",
		strings.Repeat("SELECT * FROM (", 2000) + "SELECT 1" + strings.Repeat(") x", 2000),
		"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 3000),
		"SELECT 1 WHERE 1 IN (" + strings.Repeat("1, ", 50000) + "1)",
		"SELECT CASE " + strings.Repeat("WHEN false THEN 1 ", 5000) + "END",
		"SELECT " + strings.Repeat("coalesce(NULL, ", 3000) + "1" + strings.Repeat(")", 3000),
		"SELECT '" + strings.Repeat("[", 100000) + "'::jsonb",
		"SELECT ''::int[] || '" + strings.Repeat("{", 1000) + "'",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
		_, err := c.PgConn().Exec(ctx, q).ReadAll()
		cancel()
		var pe *pgconn.PgError
		if err != nil && !errors.As(err, &pe) {
			t.Fatalf("%.60s...: %v", q, err)
		}
		if err != nil && strings.HasPrefix(pe.Code, "XX") {
			t.Errorf("%.60s...: %v", q, err)
		}
	}
	must(t, c, "SELECT 1")
	// Empty and odd statements.
	for _, q := range []string{"", ";", ";;", " ; SELECT 1; ", "-- nothing", "/* /* nested */ */"} {
		if _, err := c.PgConn().Exec(context.Background(), q).ReadAll(); err != nil {
			t.Errorf("%q: %v", q, err)
		}
	}
	if _, err := c.PgConn().Exec(context.Background(), "SELECT 'a\xff'").ReadAll(); code(err) != "22021" {
		t.Errorf("bytes that are not UTF-8: %v", err)
	}
}

// A client that vanishes in the middle of a COPY or a transaction leaves nothing behind.
func TestVanishingClients(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	must(t, c, "CREATE TABLE t (id int PRIMARY KEY)")
	must(t, c, "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t")
	d := connect(t, w.url(), nil)
	must(t, d, "BEGIN; INSERT INTO t VALUES (1)")
	_ = d.PgConn().Conn().Close()
	d = connect(t, w.url(), nil)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	r, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := d.PgConn().CopyFrom(ctx, r, "COPY t FROM STDIN")
		done <- err
	}()
	if _, err := io.WriteString(pw, "2\n3\n"); err != nil {
		t.Fatal(err)
	}
	_ = d.PgConn().Conn().Close()
	_ = pw.Close()
	<-done
	// The keys are free as soon as the server has noticed.
	must(t, c, "INSERT INTO t VALUES (1), (2), (3)")
	if got := must(t, c, "SELECT n FROM n"); got != "3" {
		t.Fatal(got)
	}
}
