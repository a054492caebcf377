package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/server"
)

// sharedViews are views with joins that read relations by key, in an order in which they can be made.
var sharedViews = []struct{ name, query string }{
	{"s_in", "SELECT f.id, f.v, d.name FROM fact f JOIN dim d ON f.dim = d.id"},
	{"s_left", "SELECT f.id, f.v, d.name FROM fact f LEFT JOIN dim d ON f.dim = d.id AND d.live"},
	{"s_right", "SELECT d.id AS d, d.name, f.id FROM fact f RIGHT JOIN dim d ON f.dim = d.id AND f.v < length(d.name)"},
	{"s_full", "SELECT d.id AS d, p.n, d.name, p.what FROM dim d FULL JOIN part p ON p.dim = d.id"},
	{"s_index", "SELECT d.id, p.n FROM dim d LEFT JOIN part p ON p.what = 'p' || d.id"},
	{"s_semi", "SELECT f.id FROM fact f WHERE EXISTS (SELECT 1 FROM dim d WHERE d.id = f.dim AND d.live)"},
	{"s_anti", "SELECT d.id FROM dim d WHERE NOT EXISTS (SELECT 1 FROM part p WHERE p.dim = d.id AND p.what <> 'x')"},
	{"s_sum", "SELECT dim, count(*) AS n, sum(v) AS v FROM fact GROUP BY dim"},
	{"s_view", "SELECT f.id, t.n, t.v FROM fact f JOIN s_sum t ON f.dim = t.dim"},
	{"s_keys", "SELECT d.id, d.name, t.n FROM dim d LEFT JOIN s_sum t ON t.dim = d.id"},
	{"s_two", "SELECT a.id, a.name, b.id AS b FROM s_in a JOIN fact b ON a.id = b.id AND a.v = b.v"},
	{"s_agg", "SELECT name, count(*) AS n FROM s_in GROUP BY name"},
}

// TestSharedJoinsUnderPanics: while operators of all jobs panic at random, and in between everything is started again after
// a crash, views whose joins read relations by key are what their queries are, and so are those whose joins keep copies, and
// those that take the rows of these.
func TestSharedJoinsUnderPanics(t *testing.T) {
	for parallel := 1; parallel <= 2; parallel++ {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) { sharedUnderPanics(t, parallel) })
	}
}

func sharedUnderPanics(t *testing.T, parallel int) {
	p := newPanics()
	fs := vfs.NewCrashableMem()
	open := func() *node {
		n, err := openTuned(fs, parallel, func(c *server.Config) {
			c.RestartAttempts, c.RestartDelayMax = -1, 20*time.Millisecond
			if parallel == 2 {
				c.MemoryLimit = 8 << 20
			}
			p.tune(c)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := open()
	defer func() {
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	}()
	a := dial(t, n)
	for _, sql := range []string{
		"CREATE TABLE dim (id int PRIMARY KEY, name text, live bool)",
		"CREATE TABLE fact (id int PRIMARY KEY, dim int, v int)",
		"CREATE TABLE part (dim int, n int, what text, PRIMARY KEY (dim, n))",
		"CREATE INDEX part_what ON part (what)",
		"INSERT INTO dim SELECT i, 'd' || i, i % 2 = 0 FROM generate_series(0, 9) i",
		"INSERT INTO fact SELECT i, i % 13, i % 7 FROM generate_series(1, 40) i",
		"INSERT INTO part SELECT i % 11, i / 11, 'p' || i FROM generate_series(1, 40) i",
	} {
		a.must(sql)
	}
	var names []string
	for _, v := range sharedViews {
		a.must("SET share_arrangements = on; SET share_views = off")
		a.must("CREATE MATERIALIZED VIEW " + v.name + " AS " + v.query)
		a.must("SET share_arrangements = off")
		a.must("CREATE MATERIALIZED VIEW own_" + v.name + " AS " + v.query)
		a.must("SET share_views = on")
		a.must("CREATE MATERIALIZED VIEW take_" + v.name + " AS " + v.query)
		names = append(names, v.name)
	}
	a.must("RESET share_arrangements")
	// What it takes goes on without a name.
	a.must("DROP MATERIALIZED VIEW own_s_agg")
	rng := rand.New(rand.NewSource(int64(parallel)))
	check := func(when string) {
		t.Helper()
		for _, v := range sharedViews {
			for _, name := range []string{v.name, "own_" + v.name, "take_" + v.name} {
				if name == "own_s_agg" {
					continue
				}
				if got := a.get(fmt.Sprintf("(SELECT 'more', x::text FROM (SELECT * FROM %[1]s EXCEPT ALL %[2]s) x) UNION ALL (SELECT 'less', x::text FROM (%[2]s EXCEPT ALL SELECT * FROM %[1]s) x)", name, v.query)); len(got) > 0 {
					t.Fatalf("%s: %s: %v", when, name, got)
				}
			}
		}
	}
	check("filled")
	end := time.Now().Add(soak(t, 3*time.Second))
	for round := 0; time.Now().Before(end) || round < 2; round++ {
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		var wg sync.WaitGroup
		for w := range 2 {
			c := dial(t, n)
			seed := rng.Int63()
			wg.Go(func() {
				r := rand.New(rand.NewSource(seed))
				for ctx.Err() == nil {
					if _, err := c.Exec(context.Background(), randomSharedChange(r, w)); err != nil {
						var e *pgconn.PgError
						if !errors.As(err, &e) || !slices.Contains([]string{"40001", "40P01", "23505"}, e.Code) {
							t.Errorf("%v", err)
							return
						}
					}
					n.clock.advance(time.Millisecond)
				}
			})
		}
		jobs := []string{"dim", "fact"}
		for range 5 {
			if ctx.Err() != nil {
				break
			}
			name := names[rng.Intn(len(names))]
			if rng.Intn(8) == 0 {
				name = jobs[rng.Intn(2)]
			}
			p.arm(jobID(t, n, name), rng.Intn(40))
			a.get("SELECT count(*) FROM " + name)
		}
		<-ctx.Done()
		cancel()
		wg.Wait()
		if t.Failed() {
			return
		}
		check(fmt.Sprintf("round %d", round))
		if rng.Intn(2) == 0 {
			fs = fs.CrashClone(vfs.CrashCloneCfg{})
			if err := n.close(); err != nil {
				t.Fatal(err)
			}
			n = open()
			a = dial(t, n)
			check("after a crash")
		}
	}
	if p.hits.Load() == 0 {
		t.Error("nothing panicked")
	}
}

// randomSharedChange is a transaction of several statements. Writers have keys of their own.
func randomSharedChange(r *rand.Rand, w int) string {
	id := func(n int) int { return r.Intn(n)*2 + w }
	one := func() string {
		switch r.Intn(9) {
		case 0:
			return fmt.Sprintf("DELETE FROM dim WHERE id = %d", id(7))
		case 1, 2:
			k := id(7)
			return fmt.Sprintf("DELETE FROM dim WHERE id = %d; INSERT INTO dim VALUES (%d, 'n%d', %t)", k, k, r.Intn(5), r.Intn(2) == 0)
		case 3:
			return fmt.Sprintf("UPDATE dim SET name = 'u%d', live = NOT live WHERE id = %d", r.Intn(5), id(7))
		case 4:
			return fmt.Sprintf("DELETE FROM fact WHERE id = %d", id(25))
		case 5:
			k := id(25)
			return fmt.Sprintf("DELETE FROM fact WHERE id = %d; INSERT INTO fact VALUES (%d, nullif(%d, 3), %d)", k, k, r.Intn(15), r.Intn(6))
		case 6:
			return fmt.Sprintf("UPDATE fact SET dim = %d, v = v + 1 WHERE id = %d", r.Intn(15), id(25))
		case 7:
			return fmt.Sprintf("DELETE FROM part WHERE dim = %d AND n = %d", id(7), r.Intn(4))
		default:
			k, m := id(7), r.Intn(4)
			return fmt.Sprintf("DELETE FROM part WHERE dim = %d AND n = %d; INSERT INTO part VALUES (%d, %d, '%s')", k, m, k, m, []string{"x", "y", "z"}[r.Intn(3)])
		}
	}
	out := ""
	for range 1 + r.Intn(4) {
		out += one() + "; "
	}
	return out
}
