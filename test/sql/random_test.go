package sql

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestRandom runs random queries in several ways under random changes. WEIR_SEED repeats one round,
// WEIR_SOAK goes on for that many minutes (or 10).
func TestRandom(t *testing.T) {
	if s := os.Getenv("WEIR_SEED"); s != "" {
		seed, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		randomRound(t, seed)
		return
	}
	for seed := range int64(8) {
		t.Run(fmt.Sprint(seed+1), func(t *testing.T) { t.Parallel(); randomRound(t, seed+1) })
	}
	seed := time.Now().UnixNano() % 1e9
	t.Run("new", func(t *testing.T) { t.Parallel(); randomRound(t, seed) })
}

func TestSoakRandom(t *testing.T) {
	s := os.Getenv("WEIR_SOAK")
	if s == "" {
		t.Log("WEIR_SOAK is not set: TestRandom is enough")
		return
	}
	minutes, err := strconv.Atoi(s)
	if err != nil || minutes < 2 {
		minutes = 10
	}
	seed := time.Now().UnixNano() % 1e9
	for end := time.Now().Add(time.Duration(minutes) * time.Minute); time.Now().Before(end); seed++ {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { randomRound(t, seed) }) && t.Failed() && os.Getenv("WEIR_KEEP_GOING") == "" {
			return
		}
	}
}

// queriesPerRound are the queries of a round; each has two views.
const queriesPerRound = 20

// world is one round.
type world struct {
	t    *testing.T
	w    *weir
	pg   *pgx.Conn
	c    *pgx.Conn
	log  []string
	seed int64
	// shrunk: one history is enough.
	shrunk bool
	qs     []*randomQuery
}

type randomQuery struct {
	rel
	// before and after are the views, "" if there is none.
	before, after string
	noPG, dead    bool
}

func randomRound(t *testing.T, seed int64) {
	g := &gen{Rand: rand.New(rand.NewSource(seed))}
	set := setup{parallelism: 1 + g.Intn(2), chunk: []int{0, 1, 3}[g.Intn(3)]}
	x := &world{t: t, seed: seed, w: start(t, set)}
	x.c = connect(t, x.w.url(), nil)
	defer func() { closeConn(x.c) }()
	if base := os.Getenv("WEIR_PG"); base != "" {
		x.pg = connect(t, pgDatabase(t, base, fmt.Sprintf("weir_random_%d", seed)), nil)
		defer closeConn(x.pg)
	}
	for _, q := range g.createTables(3) {
		x.both(q)
	}
	for i := range queriesPerRound {
		q := &randomQuery{}
		if i < len(g.tables) {
			q.rel = rel{"SELECT * FROM " + g.tables[i].text, g.tables[i].cols}
		} else {
			q.rel = g.query(3 + g.Intn(4))
		}
		x.qs = append(x.qs, q)
		x.create(q, &q.before, fmt.Sprintf("b%d", i))
		if q.before != "" {
			g.views = append(g.views, rel{q.before, q.cols})
		}
		if x.pg != nil && q.before != "" {
			ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
			_, err := x.pg.PgConn().Exec(ctx, "CREATE VIEW "+q.before+" AS "+q.text).ReadAll()
			cancel()
			q.noPG = err != nil
			if err != nil && code(err) != "0A000" && code(err) != "42P01" {
				x.fail("PostgreSQL does not take %s: %v", q.text, err)
			}
		}
	}
	x.check("empty")
	x.changes(g, 10)
	x.check("filled")
	for i, q := range x.qs {
		x.create(q, &q.after, fmt.Sprintf("a%d", i))
	}
	x.check("backfilled")
	x.changes(g, 8)
	x.check("changed")
	closeConn(x.c)
	if g.Intn(2) == 0 {
		x.log = append(x.log, "-- restart")
		x.w.restart()
	} else {
		x.log = append(x.log, "-- crash")
		x.w.crash()
	}
	x.c = connect(t, x.w.url(), nil)
	x.check("restarted")
	x.changes(g, 8)
	x.check("changed again")
	for _, tab := range g.tables {
		x.both("DELETE FROM " + tab.text)
	}
	x.check("emptied")
}

// fail reports a failure, with the statements that led to it if the round is repeated by its seed.
func (x *world) fail(format string, args ...any) {
	x.t.Helper()
	text := fmt.Sprintf(format, args...)
	if os.Getenv("WEIR_SEED") != "" {
		text += "\nhistory:\n"
		for _, q := range x.log {
			if !strings.HasPrefix(q, "CREATE MATERIALIZED VIEW") {
				text += q + ";\n"
			}
		}
	}
	x.t.Errorf("%s\nrepeat: WEIR_SEED=%d go test ./test/sql -run '^TestRandom$' (with WEIR_PG as it was)", text, x.seed)
}

// shrink gives a shorter history after which the view is still wrong, if the round is repeated by its seed.
func (x *world) shrink(view, query string) string {
	if os.Getenv("WEIR_SEED") == "" || x.shrunk {
		return ""
	}
	x.shrunk = true
	var log []string
	for _, q := range x.log {
		if !strings.HasPrefix(q, "CREATE MATERIALIZED VIEW a") || strings.HasPrefix(q, "CREATE MATERIALIZED VIEW "+view+" ") {
			log = append(log, q)
		}
	}
	if !x.wrong(log, view, query) {
		return "(alone, it is right)"
	}
	for size := len(log) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(log); {
			if less := append(append([]string{}, log[:i]...), log[i+size:]...); x.wrong(less, view, query) {
				log = less
			} else {
				i += size
			}
		}
	}
	return "shrunk:\n" + strings.Join(log, ";\n")
}

// wrong tells whether the statements lead to a view that differs from its query, or fails.
func (x *world) wrong(log []string, view, query string) bool {
	w := start(x.t, x.w.setup)
	defer w.close()
	c := connect(x.t, w.url(), nil)
	defer func() { closeConn(c) }()
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	for _, q := range log {
		switch {
		case q == "-- restart":
			closeConn(c)
			w.restart()
			c = connect(x.t, w.url(), nil)
		case q == "-- crash":
			closeConn(c)
			w.crash()
			c = connect(x.t, w.url(), nil)
		case strings.HasPrefix(q, "-- check"):
			if _, err := rows(c, "SELECT * FROM "+view); err != nil {
				break
			}
		default:
			_, _ = c.PgConn().Exec(ctx, q).ReadAll()
		}
	}
	want, err := rows(c, query)
	if err != nil {
		return false
	}
	got, err := rows(c, "SELECT * FROM "+view)
	if err != nil {
		var pe *pgconn.PgError
		return errors.As(err, &pe) && pe.Code == "40001"
	}
	return difference(want, got) != ""
}

// both runs a statement that must work.
func (x *world) both(q string) {
	x.t.Helper()
	x.log = append(x.log, q)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	n, err := x.c.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		x.fail("%v", err)
		x.t.FailNow()
	}
	if x.pg == nil {
		return
	}
	m, err := x.pg.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		x.fail("PostgreSQL: %v", err)
		x.t.FailNow()
	}
	for i := range n {
		if a, b := n[i].CommandTag.String(), m[i].CommandTag.String(); a != b {
			x.fail("%s: %s, PostgreSQL %s", q, a, b)
		}
	}
}

// changes runs some statements that write, some of them in transactions.
func (x *world) changes(g *gen, n int) {
	for range n {
		if g.Intn(3) > 0 {
			x.both(g.change())
			continue
		}
		x.both("BEGIN")
		for range 2 + g.Intn(4) {
			x.both(g.change())
		}
		x.both(g.pick("COMMIT", "COMMIT", "COMMIT", "ROLLBACK"))
	}
}

func unsupported(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == "0A000"
}

// create makes a materialized view of a query.
func (x *world) create(q *randomQuery, view *string, name string) {
	if q.dead {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	text := "CREATE MATERIALIZED VIEW " + name + " AS " + q.text
	x.log = append(x.log, text)
	_, err := x.c.PgConn().Exec(ctx, text).ReadAll()
	switch {
	case err == nil:
		*view = name
	case unsupported(err):
		x.t.Logf("%v: %s", err, q.text)
	default:
		q.dead = true
		x.fail("%s: %v", text, err)
	}
}

// check compares all ways of asking each query.
func (x *world) check(when string) {
	x.t.Helper()
	x.log = append(x.log, "-- check: "+when)
	for _, q := range x.qs {
		if q.dead {
			continue
		}
		want, err := rows(x.c, q.text)
		if err != nil {
			if !unsupported(err) {
				x.fail("%s: %s: %v", when, q.text, err)
			}
			q.dead = true
			continue
		}
		if x.pg != nil && !q.noPG {
			got, err := rows(x.pg, q.text)
			if err != nil {
				q.noPG = true
				var pe *pgconn.PgError
				if !errors.As(err, &pe) || pe.Code != "0A000" {
					x.fail("%s: PostgreSQL does not take %s: %v", when, q.text, err)
				}
			} else if d := difference(want, got); d != "" {
				q.dead = true
				x.fail("%s: differs from PostgreSQL (+):\n%s\n%s", when, q.text, d)
				continue
			}
		}
		for _, v := range []string{q.before, q.after} {
			if v == "" {
				continue
			}
			got, err := rows(x.c, "SELECT * FROM "+v)
			if err != nil {
				q.dead = true
				x.fail("%s: view %s: %v", when, v, err)
			} else if d := difference(want, got); d != "" {
				q.dead = true
				x.fail("%s: view %s differs (+) from its query:\n%s\n%s%s", when, v, q.text, d, x.shrink(v, q.text))
				break
			}
		}
	}
}

// rows reads a query, each row normalised to one string, sorted.
func rows(c *pgx.Conn, q string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	res, err := c.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, row := range res[0].Rows {
		vals := make([]string, len(row))
		for i, v := range row {
			vals[i] = normal(res[0].FieldDescriptions[i].DataTypeOID, v)
		}
		out = append(out, strings.Join(vals, "|"))
	}
	sort.Strings(out)
	return out, nil
}

var (
	intervalPart = regexp.MustCompile(`(-?\d+) (year|mon|day)s?`)
	intervalTime = regexp.MustCompile(`([-+]?)(\d+):(\d+):(\d+(?:\.\d+)?)`)
	jsonZeros    = regexp.MustCompile(`(\d)\.0+\b`)
)

// normal gives equal values one text: which of several equal values stands for a group is nobody's
// business.
func normal(oid uint32, v []byte) string {
	if v == nil {
		return "NULL"
	}
	s := string(v)
	switch typeName(oid) {
	case "numeric":
		if r, ok := new(big.Rat).SetString(s); ok {
			return r.RatString()
		}
	case "float8", "float4":
		if s == "-0" {
			return "0"
		}
	case "interval":
		total := 0.0
		for _, m := range intervalPart.FindAllStringSubmatch(s, -1) {
			n, _ := strconv.ParseFloat(m[1], 64)
			total += n * map[string]float64{"year": 360 * 86400, "mon": 30 * 86400, "day": 86400}[m[2]]
		}
		if m := intervalTime.FindStringSubmatch(s); m != nil {
			h, _ := strconv.ParseFloat(m[2], 64)
			mi, _ := strconv.ParseFloat(m[3], 64)
			sec, _ := strconv.ParseFloat(m[4], 64)
			d := h*3600 + mi*60 + sec
			if m[1] == "-" {
				d = -d
			}
			total += d
		}
		return fmt.Sprint(total)
	case "jsonb":
		return jsonZeros.ReplaceAllString(s, "$1")
	}
	if s == "" {
		return "''"
	}
	return s
}

// difference lists rows of which two sorted lists do not have the same number.
func difference(a, b []string) string {
	var out strings.Builder
	n := 0
	put := func(sign, s string) {
		if n++; n <= 12 {
			out.WriteString(sign + " " + s + "\n")
		}
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			put("-", a[0])
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			put("+", b[0])
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return out.String()
}
