package sql

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestRandom keeps random views under random changes: 200 with fixed seeds, and as many as a round has with a new one,
// which is the name of the last subtest. WEIR_SEED repeats one round.
func TestRandom(t *testing.T) {
	if s := os.Getenv("WEIR_SEED"); s != "" {
		seed, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		randomRound(t, seed)
		return
	}
	// Not 10, of which a view emits all of its rows for each change: minutes.
	for _, seed := range []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 11} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { t.Parallel(); randomRound(t, seed) })
	}
	seed := time.Now().UnixNano() % 1e9
	t.Run(fmt.Sprint(seed), func(t *testing.T) { t.Parallel(); randomRound(t, seed) })
}

// TestSoakRandom does so for 10,000 queries, or for WEIR_SOAK minutes if that is more than one.
func TestSoakRandom(t *testing.T) {
	s := os.Getenv("WEIR_SOAK")
	if s == "" {
		t.Log("WEIR_SOAK is not set: TestRandom is enough")
		return
	}
	minutes, _ := strconv.Atoi(s)
	end := time.Now().Add(time.Duration(minutes) * time.Minute)
	seed := time.Now().UnixNano() % 1e9
	for n := 0; minutes > 1 && time.Now().Before(end) || minutes <= 1 && n < 10_000; n += queriesPerRound {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { randomRound(t, seed) }) && os.Getenv("WEIR_KEEP_GOING") == "" {
			return
		}
		seed++
	}
}

// queriesPerRound are the queries of a round; each has two views.
const queriesPerRound = 20

// world is one round.
type world struct {
	t       *testing.T
	w       *weir
	pg      *pgx.Conn
	c       *pgx.Conn
	watcher *watcher
	// mu guards log: what was done.
	mu   sync.Mutex
	log  []string
	seed int64
	// shrunk: one history is enough.
	shrunk bool
	qs     []*randomQuery
}

// randomQuery is a query with a view that was there before the data and one that came later; "" if there is none.
type randomQuery struct {
	rel
	before, after string
	// view is the text of the views, if it is another one because something in it fails, and onError what they do then.
	view, onError string
	// dead: it is not looked at any more.
	dead bool
}

func (x *world) note(q string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.log = append(x.log, q)
}

func (x *world) noted() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.log)
}

func randomRound(t *testing.T, seed int64) {
	g := &gen{Rand: rand.New(rand.NewSource(seed))}
	set := setup{parallelism: 1 + g.Intn(2), chunk: []int{0, 1, 3}[g.Intn(3)], checkpoint: []time.Duration{time.Second, time.Hour, 30 * time.Millisecond}[g.Intn(3)]}
	x := &world{t: t, seed: seed}
	if set.parallelism == 1 {
		x.watcher = &watcher{fail: x.fail}
		set.watch = x.watcher.watch
	}
	x.w = start(t, set)
	x.c = connect(t, x.url(), nil)
	defer func() { closeConn(x.c) }()
	if base := os.Getenv("WEIR_PG"); base != "" {
		x.pg = connect(t, pgDatabase(t, base, fmt.Sprintf("weir_random_%d", seed)), nil)
		defer closeConn(x.pg)
	}
	for _, q := range g.createTables(3) {
		x.both(q)
	}
	for _, q := range g.createFunctions() {
		x.both(q)
	}
	if g.one(2) {
		x.changes(g, 4)
	}
	for _, tab := range g.tables {
		x.index(g, tab.rel)
	}
	for i := range queriesPerRound {
		q := &randomQuery{}
		if i < len(g.tables) {
			q.rel = rel{text: "SELECT * FROM " + g.tables[i].text, cols: g.tables[i].cols}
		} else if g.one(6) {
			q.rel, q.view, q.onError = g.failing(2 + g.Intn(4))
		} else {
			q.rel = g.query(3 + g.Intn(4))
		}
		x.qs = append(x.qs, q)
		x.create(x.c, q, &q.before, fmt.Sprintf("b%d", i))
		x.reuse(g, q, i)
	}
	x.check("created")
	x.changes(g, 10)
	x.check("filled")
	x.createWhileChanging(g)
	x.check("backfilled")
	steps := 5
	again := g.Perm(steps)[:2]
	for i := range steps {
		x.changes(g, 4)
		switch {
		case i == again[0]:
			x.again("-- crash")
		case i == again[1]:
			x.again("-- restart")
		case g.one(3):
			x.both("CHECKPOINT")
		}
		if g.one(2) {
			x.replace(g)
		}
		x.check(fmt.Sprintf("step %d", i))
	}
	for _, tab := range g.tables {
		if !tab.fixed {
			x.both(g.pick("DELETE FROM ", "TRUNCATE ") + tab.text)
		}
	}
	x.check("emptied")
	x.changes(g, 4)
	x.check("filled again")
}

// again lets the server go down and come back.
func (x *world) again(how string) {
	x.note(how)
	x.watcher.stop()
	closeConn(x.c)
	if how == "-- crash" {
		x.w.crash()
	} else {
		x.w.restart()
	}
	x.c = connect(x.t, x.url(), nil)
}

// reuse lets later queries read a view of a query, or a plain view.
func (x *world) reuse(g *gen, q *randomQuery, i int) {
	if q.before == "" {
		return
	}
	g.views = append(g.views, rel{text: q.before, cols: q.cols, noPG: q.noPG || len(q.text) > 5000})
	if x.pg != nil && !q.noPG {
		x.postgres("CREATE VIEW " + q.before + " AS " + q.text)
	}
	if g.one(4) {
		name := fmt.Sprintf("v%d", i)
		text := "CREATE VIEW " + name + " AS " + q.text
		if q.noPG {
			x.weir(text)
		} else {
			x.both(text)
		}
		g.views = append(g.views, rel{text: name, cols: q.cols, noPG: q.noPG})
	}
	x.index(g, rel{text: q.before, cols: q.cols})
}

// index makes an index on some column of a relation, now and then.
func (x *world) index(g *gen, r rel) {
	if c := r.cols[g.Intn(len(r.cols))]; g.one(4) && ordered(c.typ) {
		x.weir("CREATE INDEX ON " + r.text + " (" + c.name + ")")
	}
}

// createWhileChanging makes the second view of each query, half of the time while the tables change.
func (x *world) createWhileChanging(g *gen) {
	c := x.c
	var done chan struct{}
	if g.one(2) {
		c, done = connect(x.t, x.url(), nil), make(chan struct{})
		defer closeConn(c)
	}
	create := func() {
		for i, q := range x.qs {
			x.create(c, q, &q.after, fmt.Sprintf("a%d", i))
		}
	}
	if done == nil {
		create()
		return
	}
	go func() { defer close(done); create() }()
	for changing := true; changing; {
		x.changes(g, 1)
		began := time.Now()
		x.weir("FLUSH")
		select {
		case <-done:
			changing = false
		default:
			// Where a change keeps the views busy for long, the new ones would have no time beside a stream of them.
			changing = x.noted() < 400 && time.Since(began) < time.Second
		}
	}
	<-done
}

// replace gives a query, and its views, a condition more. Others may read them.
func (x *world) replace(g *gen) {
	q := x.qs[g.Intn(len(x.qs))]
	if q.dead || q.before == "" {
		return
	}
	q.rel = rel{text: "SELECT * FROM " + q.as("r") + " WHERE " + g.predicate("r", q.cols), cols: q.cols, noPG: q.noPG, from: []rel{q.rel}}
	for _, view := range []string{q.before, q.after} {
		if view != "" {
			x.weir("CREATE OR REPLACE MATERIALIZED VIEW " + view + " AS " + q.text)
		}
	}
	if x.pg != nil && !q.noPG {
		x.postgres("CREATE OR REPLACE VIEW " + q.before + " AS " + q.text)
	}
}

// fail reports a failure, with the statements that led to it if the round is repeated by its seed.
func (x *world) fail(format string, args ...any) {
	x.t.Helper()
	text := fmt.Sprintf(format, args...)
	if os.Getenv("WEIR_SEED") != "" {
		text += "\nhistory:\n"
		for _, q := range x.log {
			text += q + ";\n"
		}
	}
	x.t.Errorf("%s\nrepeat: WEIR_SEED=%d go test ./test/sql -run '^TestRandom$' (with WEIR_PG as it was)", text, x.seed)
}

// shrink gives a part of the query whose view is wrong, too, and a shorter history that leads there, if the round is
// repeated by its seed.
func (x *world) shrink(view string, q rel) string {
	if os.Getenv("WEIR_SEED") == "" || x.shrunk {
		return ""
	}
	x.shrunk = true
	var log []string
	for _, s := range x.log {
		if !strings.HasPrefix(s, "CREATE MATERIALIZED VIEW a") || strings.HasPrefix(s, "CREATE MATERIALIZED VIEW "+view+" ") {
			log = append(log, s)
		}
	}
	if !x.wrong(log, view, q.text) {
		return "(alone, it is right)"
	}
	with := func(text string) []string {
		out := append([]string{}, log...)
		for i, s := range out {
			if strings.HasPrefix(s, "CREATE MATERIALIZED VIEW "+view+" ") {
				out[i] = "CREATE MATERIALIZED VIEW " + view + " AS " + text
			}
		}
		return out
	}
	for smaller := true; smaller; {
		smaller = false
		for _, f := range q.from {
			if less := with(f.text); x.wrong(less, view, f.text) {
				log, q, smaller = less, f, true
				break
			}
		}
	}
	for size := len(log) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(log); {
			if less := append(append([]string{}, log[:i]...), log[i+size:]...); x.wrong(less, view, q.text) {
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
	set := x.w.setup
	set.watch = nil
	w := start(x.t, set)
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
	n := x.weir(q)
	if x.pg == nil || q == "CHECKPOINT" {
		return
	}
	for i, m := range x.postgres(strings.ReplaceAll(q, appendOnly, "")) {
		if a, b := n[i].CommandTag.String(), m.CommandTag.String(); a != b {
			x.fail("%s: %s, PostgreSQL %s", q, a, b)
		}
	}
}

// url is where the sessions of a round connect to: in every other one, joins look up whatever they can.
func (x *world) url() string {
	if x.seed%2 == 0 {
		return x.w.url()
	}
	return x.w.url() + "&random_page_cost=0"
}

func (x *world) weir(q string) []*pgconn.Result {
	x.t.Helper()
	x.note(q)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	n, err := x.c.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		x.fail("%s: %v", q, err)
		x.t.FailNow()
	}
	return n
}

func (x *world) postgres(q string) []*pgconn.Result {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	m, err := x.pg.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		x.fail("PostgreSQL: %s: %v", q, err)
		x.t.FailNow()
	}
	return m
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
func (x *world) create(c *pgx.Conn, q *randomQuery, view *string, name string) {
	if q.dead {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	// The joins of most views keep no copies of relations, those of the others do. Some take the rows of others.
	share := "SET share_arrangements = " + []string{"off", "auto", "on", "on"}[len(q.text)%4] +
		"; SET share_views = " + []string{"on", "off"}[len(q.text)/4%2]
	x.note(share)
	if _, err := c.PgConn().Exec(ctx, share).ReadAll(); err != nil {
		x.fail("%s: %v", share, err)
	}
	text := "CREATE MATERIALIZED VIEW " + name + " AS " + q.text
	if q.view != "" {
		text = "CREATE MATERIALIZED VIEW " + name + " WITH (on_error = '" + q.onError + "') AS " + q.view
	}
	x.note(text)
	_, err := c.PgConn().Exec(ctx, text).ReadAll()
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
	x.note("-- check: " + when)
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
				if !unsupported(err) {
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
				x.fail("%s: view %s differs (+) from its query:\n%s\n%s%s", when, v, q.text, d, x.shrink(v, q.rel))
				break
			}
		}
	}
}
