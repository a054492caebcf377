package sim

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// goneDefinition is a statement whose client goes away in the middle of it.
type goneDefinition struct {
	sql string
	// there gives "1" if it has taken effect, and check, a query, then gives right; undo takes it back.
	there, check, right, undo string
}

var goneDefinitions = []goneDefinition{
	{
		"CREATE MATERIALIZED VIEW made AS SELECT v, count(*) AS n FROM t GROUP BY v",
		"SELECT count(*) FROM pg_class WHERE relname = 'made'",
		"SELECT count(*), min(n), max(n) FROM made", "1000|100|100", "DROP MATERIALIZED VIEW made",
	},
	{
		"CREATE INDEX made ON t (v)",
		"SELECT count(*) FROM pg_class WHERE relname = 'made'",
		"SELECT count(*) FROM t WHERE v = 7", "100", "DROP INDEX made",
	},
	{
		"CREATE UNIQUE INDEX made ON t (id, v)",
		"SELECT count(*) FROM pg_class WHERE relname = 'made'",
		"SELECT count(*) FROM t WHERE v = 7", "100", "DROP INDEX made",
	},
	{
		"CREATE TABLE made AS SELECT id, v FROM t",
		"SELECT count(*) FROM pg_class WHERE relname = 'made'",
		"SELECT count(*), sum(v) FROM made", "100000|49950000", "DROP TABLE made",
	},
	{
		"ALTER TABLE w ALTER COLUMN v TYPE text USING v::text",
		"SELECT count(*) FROM information_schema.columns WHERE table_name = 'w' AND column_name = 'v' AND data_type = 'text'",
		"SELECT count(*), sum(v::int8) FROM w", "100000|49950000", "ALTER TABLE w ALTER COLUMN v TYPE int8 USING v::int8",
	},
	{
		"REFRESH MATERIALIZED VIEW kept",
		"SELECT count(*) FROM pg_class WHERE relname = 'kept'",
		"SELECT count(*), min(n), max(n) FROM kept", "1000|100|100", "",
	},
}

// TestClientGone: the socket of a client is closed in the middle of a definition. Either it has taken effect or nothing of it is left;
// everybody else goes on, and it can be said again.
func TestClientGone(t *testing.T) {
	n := mustOpen(t, vfs.NewMem(), newFaulty())
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
	a.must("CREATE TABLE w (id int8 PRIMARY KEY, v int8)")
	a.must("INSERT INTO t SELECT i, i % 1000 FROM generate_series(1, 100000) AS g(i)")
	a.must("INSERT INTO w SELECT id, v FROM t")
	a.must("CREATE MATERIALIZED VIEW kept AS SELECT v, count(*) AS n FROM t GROUP BY v")
	unfinished := 0
	for _, d := range goneDefinitions {
		for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond} {
			before := tables(t, n)
			n.leave(t, d.sql, after)
			// Who comes now waits for nothing that the other has left.
			a.must("INSERT INTO t VALUES (0, 7)")
			a.must("DELETE FROM t WHERE id = 0")
			// The lock of the catalog is free once its statement has ended, also if that had only just been read.
			a.must("COMMENT ON TABLE t IS NULL")
			if a.get(d.there)[0] == "0" {
				unfinished++
				now := tables(t, n)
				_, err := a.Exec(t.Context(), d.sql)
				var e *pgconn.PgError
				if there := errors.As(err, &e) && e.Code == "42P07"; err != nil && !there {
					t.Fatalf("%s, left after %v: %v", d.sql, after, err)
				} else if !there && !reflect.DeepEqual(now, before) {
					t.Errorf("%s, left after %v: tables %v, before %v", d.sql, after, now, before)
				}
			}
			a.want(d.check, d.right)
			if d.undo != "" {
				a.must(d.undo)
			}
		}
	}
	t.Logf("%d definitions ended before they were complete", unfinished)
	if s := n.srv.Engine().Stats(); s.Recoveries != 0 {
		t.Errorf("%d recoveries", s.Recoveries)
	}
}

// leave sends a statement, closes the socket after a while, and returns when the server has noticed.
func (n *node) leave(t *testing.T, sql string, after time.Duration) {
	t.Helper()
	c := dial(t, n)
	pid := c.PgConn().PID()
	hijacked, err := c.PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	hijacked.Frontend.Send(&pgproto3.Query{String: sql})
	if err := hijacked.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	wait := time.NewTimer(after)
	<-wait.C
	if err := hijacked.Conn.Close(); err != nil {
		t.Fatal(err)
	}
	dial(t, n).await(fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d", pid), "0")
}
