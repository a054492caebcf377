package sql

import (
	"context"
	"slices"
	"testing"
)

// TestWatchedSharedJoin: of a side that a join reads by key an operator sees changes of rows that it has never seen come. That is
// nothing to be reported; what the join emits is watched as ever.
func TestWatchedSharedJoin(t *testing.T) {
	seen := &watcher{fail: t.Errorf}
	w := start(t, setup{parallelism: 1, watch: seen.watch})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	run := func(q string) {
		t.Helper()
		if _, err := c.PgConn().Exec(context.Background(), q).ReadAll(); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	run("CREATE TABLE d (k int PRIMARY KEY, x int, y int)")
	run("CREATE TABLE f (id int PRIMARY KEY, k int)")
	run("INSERT INTO d VALUES (1, 10, NULL), (2, 20, 7), (3, -1, 8), (4, NULL, NULL)")
	run("INSERT INTO f VALUES (1, 1), (2, 1), (3, 2), (4, 3), (5, NULL), (6, 9)")
	run("SET share_arrangements = on")
	run("CREATE MATERIALIZED VIEW v AS SELECT f.id, e.y FROM f JOIN (SELECT k, y FROM d WHERE x > 0) e ON e.k = f.k WHERE f.id < 100")
	for _, s := range []struct {
		change string
		want   []string
	}{
		{"DELETE FROM d WHERE k = 1", []string{"3|7"}},
		{"UPDATE d SET x = x - 30", nil},
		{"UPDATE d SET x = 5, y = k", []string{"3|2", "4|3"}},
		{"DELETE FROM d", nil},
		{"INSERT INTO d VALUES (9, 1, NULL)", []string{"6|NULL"}},
	} {
		run(s.change)
		got, err := rows(c, "SELECT * FROM v")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, s.want) {
			t.Errorf("after %s: %q, want %q", s.change, got, s.want)
		}
	}
}
