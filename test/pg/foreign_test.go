package pg

import (
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"
)

// foreignTables are tables with every action of foreign keys.
var foreignTables = []string{
	"CREATE TABLE p (id int PRIMARY KEY, u int UNIQUE)",
	"CREATE TABLE a (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, u int DEFAULT 1 REFERENCES p (u) ON DELETE SET DEFAULT ON UPDATE SET NULL)",
	"CREATE TABLE b (id int PRIMARY KEY REFERENCES a ON DELETE CASCADE ON UPDATE CASCADE, up int REFERENCES b ON DELETE SET NULL, k int REFERENCES p (u) ON UPDATE CASCADE)",
	"CREATE TABLE c (x int REFERENCES b ON DELETE RESTRICT ON UPDATE CASCADE, y int, z int, FOREIGN KEY (y) REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
	"CREATE UNIQUE INDEX ON c (x, y) WHERE z > 2",
}

// danglingRows finds rows that reference nothing.
const danglingRows = `SELECT (SELECT count(*) FROM a WHERE p IS NOT NULL AND p NOT IN (SELECT id FROM p)), (SELECT count(*) FROM a WHERE u IS NOT NULL AND u NOT IN (SELECT u FROM p WHERE u IS NOT NULL)),
	(SELECT count(*) FROM b WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM a)), (SELECT count(*) FROM b WHERE up IS NOT NULL AND up NOT IN (SELECT id FROM b)),
	(SELECT count(*) FROM b WHERE k IS NOT NULL AND k NOT IN (SELECT u FROM p WHERE u IS NOT NULL)), (SELECT count(*) FROM c WHERE x IS NOT NULL AND x NOT IN (SELECT id FROM b)),
	(SELECT count(*) FROM c WHERE y IS NOT NULL AND y NOT IN (SELECT id FROM p)), (SELECT count(*) FROM (SELECT x, y FROM c WHERE z > 2 AND x IS NOT NULL AND y IS NOT NULL GROUP BY x, y HAVING count(*) > 1) d)`

const noDanglingRows = "count|count|count|count|count|count|count|count:  0|0|0|0|0|0|0|0"

// randomWrite makes a statement that writes to the tables.
func randomWrite(r *rand.Rand) string {
	v := func() string {
		if r.Intn(8) == 0 {
			return "NULL"
		}
		return fmt.Sprint(1 + r.Intn(6))
	}
	col := map[string][]string{"p": {"id", "u"}, "a": {"id", "p", "u"}, "b": {"id", "up", "k"}, "c": {"x", "y", "z"}}
	t := []string{"p", "p", "a", "b", "c"}[r.Intn(5)]
	k := col[t][r.Intn(len(col[t]))]
	switch r.Intn(9) {
	case 0, 1, 2:
		vals := make([]string, len(col[t]))
		for i := range vals {
			vals[i] = v()
		}
		return fmt.Sprintf("INSERT INTO %s VALUES (%s)", t, strings.Join(vals, ", "))
	case 3:
		return fmt.Sprintf("INSERT INTO p VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET u = excluded.u", v(), v())
	case 4, 5:
		return fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s = %s", t, k, v(), col[t][r.Intn(len(col[t]))], v())
	case 6:
		return fmt.Sprintf("MERGE INTO p USING (VALUES (%s, %s)) AS s (i, j) ON id = i WHEN MATCHED AND j IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET id = j WHEN NOT MATCHED THEN INSERT VALUES (i, j)", v(), v())
	case 7:
		return fmt.Sprintf("WITH d AS (DELETE FROM %s WHERE %s = %s RETURNING %s AS k) INSERT INTO p SELECT k, k FROM d WHERE k IS NOT NULL ON CONFLICT DO NOTHING", t, k, v(), k)
	}
	return fmt.Sprintf("DELETE FROM %s WHERE %s = %s", t, k, v())
}

// TestRandomForeignKeys makes random histories of writes to tables with foreign keys: no row references what is not there, and with
// -postgres every answer and all rows are those of PostgreSQL.
func TestRandomForeignKeys(t *testing.T) {
	weir := connect(t, startWeir(t))
	var postgres *asker
	seeds, steps := 4, 60
	if *usePostgres {
		postgres = connect(t, startPostgres(t))
		seeds, steps = 40, 150
	}
	for seed := range seeds {
		r := rand.New(rand.NewSource(int64(seed)))
		var history []string
		both := func(sql string) {
			t.Helper()
			got := weir.query(sql)
			history = append(history, sql+" -- "+got)
			if postgres != nil {
				if want := postgres.query(sql); got != want {
					t.Fatalf("seed %d: %s\nWeir:       %s\nPostgreSQL: %s", seed, sql, got, want)
				}
			}
		}
		schema := fmt.Sprintf("f%d", seed)
		for _, s := range append([]string{"CREATE SCHEMA " + schema, "SET search_path = " + schema}, foreignTables...) {
			both(s)
		}
		for range steps {
			if r.Intn(6) > 0 {
				both(randomWrite(r))
			} else {
				both("BEGIN")
				for range 1 + r.Intn(3) {
					both(randomWrite(r))
				}
				both([]string{"COMMIT", "COMMIT", "ROLLBACK"}[r.Intn(3)])
			}
			if got := weir.query(danglingRows); got != noDanglingRows {
				t.Fatalf("seed %d: %s\n%s", seed, got, strings.Join(history, "\n"))
			}
		}
		for _, s := range []string{"TABLE p ORDER BY 1", "TABLE a ORDER BY 1", "TABLE b ORDER BY 1", "TABLE c ORDER BY 1, 2, 3"} {
			both(s)
		}
	}
}

// TestForeignKeysOfManySessions: whatever sessions do at the same time, no row references what is not there, and no values
// are twice in a unique index.
func TestForeignKeysOfManySessions(t *testing.T) {
	url := startWeir(t)
	a := connect(t, url)
	for _, s := range foreignTables {
		if got := a.query(s); strings.HasPrefix(got, "ERROR") {
			t.Fatal(got)
		}
	}
	var wg sync.WaitGroup
	for n := range 4 {
		c := connect(t, url)
		wg.Go(func() {
			r := rand.New(rand.NewSource(int64(n)))
			for range 40 {
				if r.Intn(3) > 0 {
					c.query(randomWrite(r))
					continue
				}
				c.query("BEGIN")
				for range 1 + r.Intn(3) {
					c.query(randomWrite(r))
				}
				c.query("COMMIT")
				c.query("ROLLBACK")
			}
		})
	}
	wg.Wait()
	if got := a.query(danglingRows); got != noDanglingRows {
		t.Fatal(got)
	}
}
