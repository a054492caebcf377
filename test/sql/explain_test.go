package sql

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// EXPLAIN ANALYZE has times, as JSON too; that of a view tells what it keeps after a checkpoint.
func TestExplainAnalyze(t *testing.T) {
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	lines := func(q string) string {
		t.Helper()
		res, err := c.PgConn().Exec(context.Background(), q).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		var out []string
		for _, row := range res[0].Rows {
			out = append(out, string(row[0]))
		}
		return strings.Join(out, "\n")
	}
	matches := func(q, pattern string) {
		t.Helper()
		if got := lines(q); !regexp.MustCompile(`(?s)` + pattern).MatchString(got) {
			t.Errorf("%s:\n%s", q, got)
		}
	}
	must(t, c, "CREATE TABLE t (id int PRIMARY KEY, g int)")
	must(t, c, "INSERT INTO t SELECT i, i % 4 FROM generate_series(1, 1000) i")
	must(t, c, "CREATE MATERIALIZED VIEW v AS SELECT g, count(DISTINCT id) AS n FROM t GROUP BY g")
	must(t, c, "CHECKPOINT")
	matches("EXPLAIN ANALYZE SELECT g, count(*) FROM t GROUP BY g",
		`Hash Aggregate  \(actual time=\d+\.\d{3} rows=4 loops=1\).*Scan on t  \(actual time=\d+\.\d{3} rows=1000 loops=1\).*Planning Time: \d+\.\d{3} ms\nExecution Time: \d+\.\d{3} ms`)
	matches("EXPLAIN ANALYZE MATERIALIZED VIEW v",
		`Materialize  \(rows=4 busy=\d+\.\d+ state_rows=4 state_bytes=\d+\).*Aggregate  \(rows=4 busy=\d+\.\d+ state_rows=[1-9]\d* state_bytes=\d+\).*State Rows: \d+\nState Bytes: \d+`)
	matches("EXPLAIN (STATE) CREATE MATERIALIZED VIEW w AS SELECT g, count(*) AS n FROM t GROUP BY g",
		`Materialize  \(rows=\d+ state_rows=\d+ state_bytes=\d+\).*Hash Aggregate  \(rows=\d+ state_rows=\d+ state_bytes=\d+\).*Stream Scan on t  \(rows=[1-9]\d+\).*State Rows: [1-9]`)
	// Aggregates with DISTINCT over one column share what they keep of it, whatever their filters.
	must(t, c, "SET share_views = off") // v has the rows of the first
	one := "SELECT g, count(DISTINCT id) AS n FROM t GROUP BY g"
	four := "SELECT g, count(DISTINCT id) AS n, count(DISTINCT id) FILTER (WHERE id > 300) AS a, count(DISTINCT id) FILTER (WHERE id < 300) AS b, sum(DISTINCT id) AS c FROM t GROUP BY g"
	rows := func(q string) string {
		return regexp.MustCompile(`Aggregate  \([^)]*state_rows=(\d+)`).FindStringSubmatch(lines(q))[1]
	}
	for _, e := range []string{"EXPLAIN (STATE) CREATE MATERIALIZED VIEW w AS ", "EXPLAIN ANALYZE MATERIALIZED VIEW "} {
		a, b := one, four
		if !strings.HasSuffix(e, "AS ") {
			must(t, c, "CREATE MATERIALIZED VIEW vone AS "+one)
			must(t, c, "CREATE MATERIALIZED VIEW vfour AS "+four)
			must(t, c, "CHECKPOINT")
			a, b = "vone", "vfour"
		}
		if x, y := rows(e+a), rows(e+b); x != y {
			t.Errorf("%s: %s rows with one DISTINCT, %s with several", e, x, y)
		}
	}
	matches("EXPLAIN CREATE MATERIALIZED VIEW w WITH (on_error = 'fail') AS SELECT g FROM t", `Stream Scan on t.*\nOn Error: fail$`)
	must(t, c, "CREATE MATERIALIZED VIEW w WITH (on_error = 'skip') AS SELECT 1 / g AS q FROM t")
	must(t, c, "CHECKPOINT")
	matches("EXPLAIN ANALYZE MATERIALIZED VIEW w", `Project.*State Bytes: \d+\nOn Error: skip$`)
	var plans []map[string]any
	if err := json.Unmarshal([]byte(lines("EXPLAIN (ANALYZE, FORMAT JSON) SELECT g, count(*) FROM t GROUP BY g")), &plans); err != nil {
		t.Fatal(err)
	}
	root, _ := plans[0]["Plan"].(map[string]any)
	if root["rows"] != 4.0 || plans[0]["Execution Time"] == nil {
		t.Errorf("%v", plans)
	}
	// State that grows with a source is warned of before anything is built.
	heard := []string{}
	other := connect(t, w.url(), func(severity, message string) { heard = append(heard, severity+": "+message) })
	defer closeConn(other)
	must(t, other, "CREATE SOURCE s WITH (connector = 'nexmark', table = 'bid', rate = '1000', seed = '1')")
	must(t, other, "EXPLAIN (STATE) CREATE MATERIALIZED VIEW x AS SELECT a.auction, count(*) AS n FROM s a JOIN s b ON a.auction = b.auction GROUP BY a.auction")
	if len(heard) != 1 || !strings.Contains(heard[0], `WARNING: the state of this view has no bound: it grows with source "s"`) {
		t.Errorf("heard %q", heard)
	}
}
