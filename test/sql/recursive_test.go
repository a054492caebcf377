package sql

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// recursiveViews are views over the tables edge (a, b, w) and start (x), by name.
var recursiveViews = []struct{ name, query string }{
	{"reach", "WITH RECURSIVE r(x) AS (SELECT x FROM start UNION SELECT b FROM r JOIN edge ON a = x) SELECT x FROM r"},
	{"pairs", "WITH RECURSIVE p(a, b) AS (SELECT a, b FROM edge UNION SELECT p.a, e.b FROM p, edge e WHERE p.b = e.a) SELECT a, b FROM p"},
	{"hops", "WITH RECURSIVE h(x, d) AS (SELECT x, 0 FROM start UNION ALL SELECT b, d + 1 FROM h JOIN edge ON a = x WHERE d < 3) SELECT x, d FROM h"},
	{"two", "WITH RECURSIVE t(x, n) AS (SELECT x, 0 FROM start UNION SELECT g.b, n + f.w FROM t JOIN edge f ON f.a = t.x JOIN edge g ON g.a = f.b WHERE n < 6) SELECT x, n FROM t"},
	{"outer_", "WITH RECURSIVE o(x, y) AS (SELECT x, 0 FROM start UNION SELECT o.x + 1, e.b FROM o LEFT JOIN edge e ON e.a = o.x WHERE o.x < 9) SELECT x, y FROM o"},
	{"anti", "WITH RECURSIVE r(x) AS (SELECT x FROM start UNION SELECT b FROM r JOIN edge ON a = x WHERE NOT EXISTS (SELECT 1 FROM start s WHERE s.x = b AND s.x % 2 = 0)) SELECT x FROM r"},
	{"sums", "WITH RECURSIVE p(a, b) AS (SELECT a, b FROM edge WHERE w < 3 UNION SELECT p.a, e.b FROM p JOIN edge e ON p.b = e.a) " +
		"SELECT p.a, count(*) AS n, sum(s.x) AS s FROM p LEFT JOIN start s ON s.x = p.b GROUP BY p.a"},
	{"square", "WITH RECURSIVE p(a, b) AS (SELECT a, b FROM edge UNION SELECT p.a, q.b FROM p, p q WHERE p.b = q.a) SELECT a, b FROM p"},
	{"cube", "WITH RECURSIVE p(a, b) AS (SELECT a, b FROM edge WHERE w > 0 UNION SELECT p.a, r.b FROM p JOIN p q ON p.b = q.a JOIN p r ON r.a = q.b AND r.b <> p.a) SELECT a, b FROM p"},
	{"ways", "WITH RECURSIVE r(x) AS (SELECT x FROM start UNION SELECT b FROM r JOIN edge ON a = x UNION SELECT a FROM r JOIN edge ON b = x WHERE w > 1) SELECT x FROM r"},
	{"generations", "WITH RECURSIVE s(a, b) AS (SELECT e.b, f.b FROM edge e JOIN edge f ON e.a = f.a UNION (SELECT b, a FROM s UNION ALL SELECT DISTINCT e.b, f.b FROM s JOIN edge e ON e.a = s.a JOIN edge f ON f.a = s.b)) SELECT a, b FROM s"},
	{"updown", "WITH RECURSIVE h(x, d) AS (SELECT x, 0 FROM start UNION ALL SELECT b, d + 1 FROM h JOIN edge ON a = x WHERE d < 2 UNION ALL SELECT a, d + 2 FROM h JOIN edge ON b = x WHERE d < 2) SELECT x, d FROM h"},
	{"groups", "WITH RECURSIVE r(x) AS (SELECT x FROM start UNION SELECT b FROM r JOIN edge ON a = x GROUP BY b, a % 2) SELECT x FROM r"},
	{"turns", "WITH RECURSIVE a(x) AS (SELECT x FROM start UNION SELECT e.b FROM b JOIN edge e ON e.a = b.x), b(x) AS (SELECT e.b FROM a JOIN edge e ON e.a = a.x) " +
		"SELECT DISTINCT x, 0 AS p FROM a UNION ALL SELECT DISTINCT x, 1 FROM b"},
	{"parity", "WITH RECURSIVE r(x, p) AS (SELECT x, 0 FROM start UNION SELECT e.b, 1 - p FROM r JOIN edge e ON e.a = r.x) SELECT x, p FROM r"},
	{"words", "WITH RECURSIVE s(a, b) AS (SELECT a, b FROM edge WHERE w = 0 UNION SELECT s.a, t.b::int FROM s JOIN t ON t.a = s.b), " +
		"t(a, b) AS (SELECT a, b::text FROM edge WHERE w > 0 UNION SELECT t.a, s.b::text FROM t JOIN s ON s.a::text = t.b UNION SELECT x.a, y.b FROM t x JOIN t y ON x.b = y.a::text) " +
		"SELECT a, b::text, 's' AS of FROM s UNION ALL SELECT a, b, 't' FROM t"},
	{"steps", "WITH RECURSIVE a(x, d) AS (SELECT x, 0 FROM start UNION ALL SELECT e.b, d + 1 FROM b JOIN edge e ON e.a = b.x WHERE d < 3), " +
		"b(d, x) AS (SELECT w, a FROM edge UNION ALL SELECT d + 1, e.b FROM a JOIN edge e ON e.a = a.x WHERE d < 3) SELECT a.x, a.d, 0 AS p FROM a UNION ALL SELECT x, d, 1 FROM b"},
	{"over", "SELECT r.x, h.d FROM reach r JOIN hops h ON h.x = r.x"},
	{"twice", "WITH RECURSIVE r(x) AS (SELECT a FROM reach JOIN edge ON a = x UNION SELECT b FROM r JOIN edge ON a = x), " +
		"q(x, n) AS (SELECT x, 0 FROM r UNION SELECT r.x, n + 1 FROM q JOIN r ON r.x = q.x + 1 WHERE n < 4) SELECT x, n FROM q"},
}

// Recursive views over random graphs equal their queries after random changes in transactions of any size, on one
// actor and on two, through restarts, crashes and panics of operators: with checkpoints that were taken in the middle of an iteration, whose
// log is then replayed; and with feedback that is spilled.
func TestRecursiveViewsEqualTheirQueries(t *testing.T) {
	seeds, steps := 4, 20
	if testing.Short() {
		seeds, steps = 2, 15
	}
	if os.Getenv("WEIR_SOAK") != "" {
		seeds, steps = 60, 80
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewSource(int64(seed)))
			p := &panicking{}
			w := start(t, setup{parallelism: 1 + seed%2, chunk: 1 + r.Intn(5), checkpoint: time.Hour, loopMemory: []int{0, 1, 100}[seed%3], fault: p.call})
			g := &graph{t: t, r: r, w: w}
			g.exec("CREATE TABLE edge (a int, b int, w int)")
			g.exec("CREATE TABLE start (x int)")
			before := r.Intn(3)
			for range before {
				g.change()
			}
			for _, v := range recursiveViews {
				g.exec("CREATE MATERIALIZED VIEW " + v.name + " AS " + v.query)
			}
			g.compare(-1)
			for step := range steps {
				if r.Intn(3) == 0 {
					p.left.Store(1 + r.Int63n(400))
				}
				g.change()
				switch r.Intn(8) {
				case 0:
					// The change is in the epoch of the checkpoint.
					g.exec("CHECKPOINT")
				case 1:
					g.exec("CHECKPOINT")
					g.change()
					g.again(w.crash)
				case 2:
					g.again(w.crash)
				case 3:
					g.exec("CHECKPOINT")
					g.again(w.crash)
				case 4:
					g.again(w.restart)
				}
				g.compare(step)
				p.left.Store(0)
			}
			g.close()
			t.Logf("%d panics", p.hits.Load())
		})
	}
}

// panicking lets an operator panic after so many calls of operators; 0: none.
type panicking struct{ left, hits atomic.Int64 }

func (p *panicking) call() {
	if p.left.Load() > 0 && p.left.Add(-1) == 0 {
		p.hits.Add(1)
		panic("injected")
	}
}

// graph makes random changes.
type graph struct {
	t testing.TB
	r *rand.Rand
	w *weir
	c *pgx.Conn
}

func (g *graph) close() {
	if g.c != nil {
		closeConn(g.c)
		g.c = nil
	}
}

// again lets the server go down and come back.
func (g *graph) again(f func()) {
	g.close()
	f()
}

func (g *graph) conn() *pgx.Conn {
	if g.c == nil {
		g.c = connect(g.t, g.w.url(), nil)
	}
	return g.c
}

func (g *graph) exec(q string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	for {
		_, err := g.conn().PgConn().Exec(ctx, q).ReadAll()
		if restarted(err) {
			continue
		}
		if err != nil {
			g.t.Fatalf("%s: %v", q, err)
		}
		return
	}
}

// restarted: something of the server was started again meanwhile, and nothing of the statement has been done.
func restarted(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "40001"
}

func (g *graph) change() {
	node := func() int { return g.r.Intn(8) }
	var qs []string
	for range 1 + g.r.Intn(3) {
		switch k := g.r.Intn(10); {
		case k < 4:
			qs = append(qs, fmt.Sprintf("INSERT INTO edge VALUES (%d, %d, %d)", node(), node(), g.r.Intn(4)))
		case k < 5:
			qs = append(qs, fmt.Sprintf("INSERT INTO edge VALUES (%d, %d, 1), (%d, %d, 2)", node(), node(), node(), node()))
		case k < 7:
			qs = append(qs, fmt.Sprintf("DELETE FROM edge WHERE a = %d AND b %% 2 = %d", node(), g.r.Intn(2)))
		case k < 8:
			qs = append(qs, fmt.Sprintf("UPDATE edge SET b = %d, w = w + 1 WHERE a = %d", node(), node()))
		case k < 9:
			qs = append(qs, fmt.Sprintf("INSERT INTO start VALUES (%d)", node()))
		default:
			qs = append(qs, fmt.Sprintf("DELETE FROM start WHERE x = %d", node()))
		}
	}
	qs = append(qs, "DELETE FROM edge WHERE a % 4 = 3 AND (SELECT count(*) FROM edge) > 14")
	if g.r.Intn(2) == 0 {
		g.exec("BEGIN; " + strings.Join(qs, "; ") + "; COMMIT")
		return
	}
	for _, q := range qs {
		g.exec(q)
	}
}

func (g *graph) rows(q string) string {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	var res []*pgconn.Result
	var err error
	for {
		res, err = g.conn().PgConn().Exec(ctx, "SELECT count(*), string_agg(q::text, ' ' ORDER BY q::text) FROM ("+q+") q").ReadAll()
		if !restarted(err) {
			break
		}
	}
	if err != nil {
		g.t.Fatalf("%s: %v", q, err)
	}
	return string(res[0].Rows[0][0]) + ": " + string(res[0].Rows[0][1])
}

func (g *graph) compare(step int) {
	g.t.Helper()
	for _, v := range recursiveViews {
		if got, want := g.rows("SELECT * FROM "+v.name), g.rows(v.query); got != want {
			g.t.Fatalf("step %d: view %s has\n%s\nits query\n%s\nedges %s\nstart %s", step, v.name, got, want,
				g.rows("SELECT * FROM edge"), g.rows("SELECT * FROM start"))
		}
	}
	for _, same := range [][2]string{{"square", "pairs"}, {"turns", "parity"}} {
		if got, want := g.rows("SELECT * FROM "+same[0]), g.rows("SELECT * FROM "+same[1]); got != want {
			g.t.Fatalf("step %d: %s has\n%s\n%s\n%s", step, same[0], got, same[1], want)
		}
	}
}

// A recursive view that has no end is an error that says so, and fails its job alone: the server, the tables and other
// views go on.
func TestRecursiveViewWithoutEnd(t *testing.T) {
	w := start(t, setup{parallelism: 2, recursion: 50})
	g := &graph{t: t, r: rand.New(rand.NewSource(1)), w: w}
	defer g.close()
	g.exec("CREATE TABLE edge (a int, b int)")
	g.exec("INSERT INTO edge VALUES (1, 2), (2, 3)")
	g.exec("CREATE MATERIALIZED VIEW other AS SELECT a, count(*) FROM edge GROUP BY a")
	const q = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT b FROM r JOIN edge ON a = x) SELECT x FROM r"
	g.exec("CREATE MATERIALIZED VIEW walk AS " + q)
	if got := g.rows("SELECT * FROM walk"); got != "3: (1) (2) (3)" {
		t.Fatalf("walk has %s", got)
	}
	g.exec("INSERT INTO edge VALUES (3, 1)")
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	for {
		// Its job is started again a few times before the server gives up on it.
		_, err := g.conn().PgConn().Exec(ctx, "SELECT * FROM walk").ReadAll()
		if err == nil {
			t.Fatal("a walk without end can be read")
		}
		if strings.Contains(err.Error(), "stalled") {
			if !strings.Contains(err.Error(), "has no end within 50 iterations") {
				t.Fatalf("the reason is not said: %v", err)
			}
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("not stalled, but: %v", err)
		}
		g.close()
	}
	if got := g.rows("SELECT * FROM other"); got != "3: (1,1) (2,1) (3,1)" {
		t.Fatalf("the other view has %s", got)
	}
	g.exec("INSERT INTO edge VALUES (7, 8)")
	if got := g.rows("SELECT * FROM other"); got != "4: (1,1) (2,1) (3,1) (7,1)" {
		t.Fatalf("the other view has %s", got)
	}
	g.exec("DROP MATERIALIZED VIEW walk")
	_, err := g.conn().PgConn().Exec(ctx, "CREATE MATERIALIZED VIEW walk AS "+q).ReadAll()
	if err == nil || !strings.Contains(err.Error(), "has no end within 50 iterations") {
		t.Fatalf("creation: %v", err)
	}
	g.close()
	g.exec("DELETE FROM edge WHERE a = 3")
	g.exec("CREATE MATERIALIZED VIEW walk AS " + q)
	if got := g.rows("SELECT * FROM walk"); got != "3: (1) (2) (3)" {
		t.Fatalf("walk has %s", got)
	}
}
