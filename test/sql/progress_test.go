package sql

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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
