package sql

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestRowErrorsEqualFromScratch makes views of expressions that fail now and then, changes their tables at random, restarts and
// crashes in between, and makes each view once more: its rows and its errors are those of the old one.
func TestRowErrorsEqualFromScratch(t *testing.T) {
	for k, s := range []setup{{parallelism: 1}, {parallelism: 2, chunk: 3}, {parallelism: 2, checkpoint: time.Hour}} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			g := &failing{t: t, r: rand.New(rand.NewSource(int64(k)))}
			g.w = start(t, s)
			g.run(12, 5)
		})
	}
}

// failing makes what fails.
type failing struct {
	t *testing.T
	r *rand.Rand
	w *weir
}

func (g *failing) pick(of ...string) string { return of[g.r.Intn(len(of))] }

// value is an expression over the columns of x that may fail.
func (g *failing) value(x string) string {
	return strings.ReplaceAll(g.pick("10 / x.a", "x.b % x.a", "x.s::int", "x.b * 1000000000", "sqrt(x.a)", "x.a::int2 * 20000::int2", "ln(x.b)",
		"CASE WHEN x.a > 0 THEN 100 / x.b ELSE x.a END", "coalesce(x.b / x.a, 7)", "('2024-01-' || x.s)::date", "repeat('x', x.a) || x.s",
		"length(substr(x.s, 1, x.a))", "x.n / x.a", "(x.n * 10)::int2", "to_number(x.s, '99')", "x.a"), "x.", x+".")
}

func (g *failing) condition(x string) string {
	v := g.pick("10 / x.a > x.b", "x.s::int > 0", "x.b % x.a = 0 OR x.b > 1", "sqrt(x.b) < 2 AND x.a > 0", "NOT 6 / x.b > x.a")
	return strings.ReplaceAll(v, "x.", x+".")
}

func (g *failing) query() string {
	switch g.r.Intn(8) {
	case 0:
		return fmt.Sprintf("SELECT t.id, %s AS v, %s AS w FROM t", g.value("t"), g.value("t"))
	case 1:
		return fmt.Sprintf("SELECT t.id, %s AS v FROM t WHERE %s", g.value("t"), g.condition("t"))
	case 2:
		return fmt.Sprintf("SELECT t.id, u.id AS uid, %s AS v FROM t %s JOIN u ON t.a = u.a AND 8 / (t.b + u.b) > 0", g.value("t"), g.pick("", "LEFT", "FULL"))
	case 3:
		return fmt.Sprintf("SELECT t.id FROM t WHERE %s EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND 8 / (t.a + u.a) > 0)", g.pick("", "NOT"))
	case 4:
		return fmt.Sprintf("SELECT %s AS v, count(*) AS c, max(%s) AS m FROM t GROUP BY 1", g.value("t"), g.value("t"))
	case 5:
		return fmt.Sprintf("SELECT t.b, 6 / sum(t.a) AS v, sum(t.a * interval '1000000000 days') AS i FROM t GROUP BY t.b HAVING 4 / count(t.a) < 4 OR %s", "t.b > 0")
	case 6:
		return "SELECT t.id, ntile(t.a) OVER (PARTITION BY t.b ORDER BY t.id) AS v, nth_value(t.s, t.a) OVER (PARTITION BY t.b ORDER BY t.id) AS w FROM t"
	}
	return fmt.Sprintf("SELECT t.id, (SELECT u.a FROM u WHERE u.b = t.b) AS v, k FROM t, generate_series(1, 5, t.a) AS k WHERE %s", g.condition("t"))
}

func (g *failing) row(id int) string {
	return fmt.Sprintf("(%d, %s, %s, %s, %s)", id, g.pick("0", "1", "2", "-1", "3", "NULL"), g.pick("0", "1", "2", "-2", "2147483647"),
		g.pick("'1'", "'x'", "''", "'30'", "'40'", "NULL"), g.pick("0", "-0.25", "1.5", "99999", "'NaN'"))
}

func (g *failing) change(c *pgx.Conn) {
	table := g.pick("t", "u")
	switch g.r.Intn(4) {
	case 0:
		must(g.t, c, fmt.Sprintf("DELETE FROM %s WHERE id %% 7 = %d", table, g.r.Intn(7)))
	case 1:
		must(g.t, c, fmt.Sprintf("UPDATE %s SET a = %s, b = %s WHERE id %% 5 = %d", table, g.pick("0", "1", "b", "-a"), g.pick("a", "0", "2"), g.r.Intn(5)))
	default:
		var rows []string
		for range 1 + g.r.Intn(8) {
			rows = append(rows, g.row(g.r.Intn(40)))
		}
		must(g.t, c, fmt.Sprintf("INSERT INTO %s VALUES %s ON CONFLICT (id) DO UPDATE SET a = excluded.a, b = excluded.b, s = excluded.s, n = excluded.n",
			table, strings.Join(dedup(rows), ", ")))
	}
}

// dedup leaves one row of each id.
func dedup(rows []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(rows, func(r string) bool {
		id, _, _ := strings.Cut(r, ",")
		again := seen[id]
		seen[id] = true
		return again
	})
}

func (g *failing) run(views, rounds int) {
	t := g.t
	c := connect(t, g.w.url(), nil)
	for _, name := range []string{"t", "u"} {
		must(t, c, "CREATE TABLE "+name+" (id int PRIMARY KEY, a int, b int, s text, n numeric)")
	}
	queries := make([]string, views)
	for i := range queries {
		if i == views/2 {
			g.change(c)
		}
		policy := g.pick("null", "skip")
		queries[i] = fmt.Sprintf("WITH (on_error = '%s') AS %s", policy, g.query())
		must(t, c, fmt.Sprintf("CREATE MATERIALIZED VIEW v%d %s", i, queries[i]))
	}
	for range rounds {
		for range 6 {
			g.change(c)
		}
		if g.r.Intn(2) == 0 {
			must(t, c, "CHECKPOINT")
		}
		closeConn(c)
		switch g.r.Intn(3) {
		case 0:
			g.w.restart()
		case 1:
			g.w.crash()
		}
		c = connect(t, g.w.url(), nil)
	}
	defer closeConn(c)
	must(t, c, "SET share_views = off") // the errors are those of the view that has the rows
	all := 0
	for i, q := range queries {
		must(t, c, fmt.Sprintf("CREATE MATERIALIZED VIEW again %s", q))
		errors := func(name string) string {
			return "SELECT operator, expression, sqlstate, message, failed_row, count FROM weir_errors WHERE name = '" + name + "'"
		}
		old, again := g.lines(c, errors(fmt.Sprint("v", i))), g.lines(c, errors("again"))
		all += len(old)
		if !slices.Equal(old, again) {
			t.Errorf("view %s\n--- errors\n%s\n--- from scratch\n%s", q, strings.Join(old, "\n"), strings.Join(again, "\n"))
		}
		if d := g.lines(c, fmt.Sprintf("VERIFY MATERIALIZED VIEW v%d", i)); len(d) > 0 {
			t.Errorf("view %s\n%s", q, strings.Join(d, "\n"))
		}
		must(t, c, "DROP MATERIALIZED VIEW again")
	}
	if all == 0 {
		t.Error("nothing has failed")
	}
}

func (g *failing) lines(c *pgx.Conn, q string) []string {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	res, err := c.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		g.t.Fatalf("%s: %v", q, err)
	}
	var out []string
	for _, row := range res[0].Rows {
		out = append(out, strings.Join(texts(row), "|"))
	}
	slices.Sort(out)
	return out
}
