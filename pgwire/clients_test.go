package pgwire

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// serverWith starts a server for a real client; url leads to it.
func serverWith(t *testing.T) (s *script, url string) {
	t.Helper()
	s = startScript(t, Config{ClientCheck: time.Millisecond})
	return s, "postgres://someone@" + s.addr + "/db?sslmode=prefer"
}

func TestPgx(t *testing.T) {
	s, url := serverWith(t)
	ctx, cancel := context.WithTimeout(t.Context(), scriptTimeout)
	defer cancel()
	var notices []string
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n.Message) }
	db, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	// The statement cache: Parse and Describe by name, then Bind in binary, again and again.
	for i := range 3 {
		var x int
		var y string
		if err := db.QueryRow(ctx, "select $1::int, $2::text", i, "täxt").Scan(&x, &y); err != nil || x != i || y != "täxt" {
			t.Fatalf("%d %q %v", x, y, err)
		}
	}
	// Rows without parameters, many of them, twice on the same statement.
	for range 2 {
		rows, err := db.Query(ctx, "select generate_series(1,100000)")
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil || len(got) != 100000 || got[99999] != 100000 {
			t.Fatalf("%d rows, %v", len(got), err)
		}
	}
	// A batch: several statements, one Sync.
	if _, err := db.Exec(ctx, "create temp table wire_t(a text primary key)"); err != nil {
		t.Fatal(err)
	}
	b := &pgx.Batch{}
	b.Queue("insert into wire_t values ($1::text)", "1")
	b.Queue("insert into wire_t values ($1::text)", "2")
	b.Queue("insert into wire_t values ($1::text)", "1")
	err = db.SendBatch(ctx, b).Close()
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "23505" || pgErr.ConstraintName != "wire_t_pkey" || pgErr.TableName != "wire_t" {
		t.Fatalf("batch: %v", err)
	}
	// A transaction; the failed batch left nothing.
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "insert into wire_t values ('9')")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if err := db.QueryRow(ctx, "select count(*) from wire_t").Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d rows, %v", n, err)
	}
	// COPY both ways.
	if tag, err := db.PgConn().CopyFrom(ctx, strings.NewReader("a\nb\n"), "copy wire_t from stdin"); err != nil || tag.RowsAffected() != 2 {
		t.Fatalf("%v %v", tag, err)
	}
	var out bytes.Buffer
	if _, err := db.PgConn().CopyTo(ctx, &out, "copy wire_t to stdout"); err != nil || out.String() != "9\na\nb\n" {
		t.Fatalf("%q %v", out.String(), err)
	}
	if _, err := db.Exec(ctx, "do $$ begin raise notice 'hello'; end $$"); err != nil || len(notices) != 1 {
		t.Fatalf("%v %v", notices, err)
	}
	if got := db.PgConn().ParameterStatus("server_version"); got != "15.0 (Weir test)" {
		t.Error(got)
	}
	if err := db.Ping(ctx); err != nil {
		t.Error(err)
	}
	// A cancel request, as the library sends it.
	<-s.fake.entered // of COPY
	done := make(chan error)
	go func() {
		_, err := db.Exec(ctx, "select pg_sleep(100)")
		done <- err
	}()
	<-s.fake.entered
	if err := db.PgConn().CancelRequest(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
		t.Fatal(err)
	}
	// Notifications while idle.
	other, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(ctx, "notify wire_c"); err != nil {
		t.Fatal(err)
	}
	if got, err := db.WaitForNotification(ctx); err != nil || got.Channel != "wire_c" {
		t.Fatal(got, err)
	}
	_ = other.Close(ctx)
	_ = db.Close(ctx)
	s.end()
}

func TestPsql(t *testing.T) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		return
	}
	s, _ := serverWith(t)
	ctx, cancel := context.WithTimeout(t.Context(), scriptTimeout)
	defer cancel()
	host, port, _ := net.SplitHostPort(s.addr)
	dir := t.TempDir()
	ln, err := ListenUnix(ctx, dir, 5432)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- s.srv.Serve(ctx, ln) }()
	input := `select 1 as a, 'x' as b;
\conninfo
select 'häßlich', nosuch;
\copy wire_t from pstdin
l1
\.
copy wire_t to stdout;
set timezone='Asia/Tokyo';
select generate_series(1,3) as g \gset x
begin;
select 1/0;
\echo :SQLSTATE
rollback;
\set FETCH_COUNT 2
-- done
`
	for _, h := range []string{host, dir} {
		p := port
		if h == dir {
			p = "5432"
		}
		cmd := exec.CommandContext(ctx, psql, "-X", "-At", "-h", h, "-p", p, "-U", "someone", "-d", "db")
		cmd.Env = []string{"LC_ALL=C.UTF-8"}
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v", err)
		}
		got := string(out)
		got = strings.ReplaceAll(strings.ReplaceAll(got, h, "HOST"), p, "PORT")
		want := `1|x
You are connected to database "db" as user "someone" ` + map[bool]string{
			true: `via socket in "HOST" at port "PORT".`, false: `on host "HOST" at port "PORT".`,
		}[h == dir] + `
ERROR:  column "nosuch" does not exist
LINE 1: select 'häßlich', nosuch;
                          ^
COPY 1
l1
SET
more than one row returned for \gset
BEGIN
ERROR:  division by zero
22012
ROLLBACK
`
		if got != want {
			t.Errorf("psql says\n%s\nand not\n%s", got, want)
		}
	}
	s.end()
	if err := <-served; !errors.Is(err, ErrServerClosed) {
		t.Error(err)
	}
}
