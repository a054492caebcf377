package sql

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// mirror is what a subscriber makes of the rows of a subscription.
type mirror struct {
	rows map[string]int
	// epoch is the last one that rows came of.
	epoch int64
	// whole is called when an epoch is complete.
	whole func(rows map[string]int) error
	ended bool
}

// add takes a row; vals are the columns of the relation. The row that begins with last ends the subscription.
func (m *mirror) add(epoch, diff int64, vals []string) error {
	switch {
	case epoch < m.epoch:
		return fmt.Errorf("epoch %d after %d", epoch, m.epoch)
	case epoch > m.epoch && m.epoch != 0:
		if err := m.whole(m.rows); err != nil {
			return fmt.Errorf("epoch %d: %w", m.epoch, err)
		}
	}
	m.epoch = epoch
	k := strings.Join(vals, "|")
	m.rows[k] += int(diff)
	switch n := m.rows[k]; {
	case n < 0:
		return fmt.Errorf("epoch %d: row %s was taken back and had not come", epoch, k)
	case n == 0:
		delete(m.rows, k)
	}
	m.ended = m.ended || vals[0] == "999"
	return nil
}

func texts(vs [][]byte) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = show(v)
	}
	return out
}

// parsed splits the columns in front of those of the relation.
func parsed(vals []string) (epoch, diff int64, rest []string) {
	epoch, _ = strconv.ParseInt(vals[0], 10, 64)
	diff, _ = strconv.ParseInt(vals[1], 10, 64)
	return epoch, diff, vals[2:]
}

// byStatement reads a subscription as the rows of a statement, and cancels it at the end.
func byStatement(c *pgx.Conn, what string, m *mirror) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	mrr := c.PgConn().Exec(ctx, "SUBSCRIBE "+what)
	var err error
	for mrr.NextResult() {
		rr := mrr.ResultReader()
		for rr.NextRow() {
			if err != nil || m.ended {
				continue
			}
			epoch, diff, rest := parsed(texts(rr.Values()))
			if err = m.add(epoch, diff, rest); err != nil || m.ended {
				_ = c.PgConn().CancelRequest(ctx)
			}
		}
	}
	if end := mrr.Close(); err == nil && (code(end) != "57014" || !m.ended) {
		err = end
	}
	return err
}

// byCopy reads one as the lines of a COPY.
func byCopy(c *pgx.Conn, what string, m *mirror) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	var err error
	_, end := c.PgConn().CopyTo(ctx, lineWriter(func(line string) {
		if err != nil || m.ended {
			return
		}
		epoch, diff, rest := parsed(strings.Split(line, "\t"))
		if err = m.add(epoch, diff, rest); err != nil || m.ended {
			_ = c.PgConn().CancelRequest(ctx)
		}
	}), "COPY (SUBSCRIBE "+what+") TO STDOUT")
	if err == nil && (code(end) != "57014" || !m.ended) {
		err = end
	}
	return err
}

type lineWriter func(string)

func (f lineWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		f(strings.TrimSuffix(string(line), "\n"))
	}
	return len(p), nil
}

// byCursor reads one bit by bit.
func byCursor(c *pgx.Conn, what string, m *mirror) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	for _, q := range []string{"BEGIN", "DECLARE f CURSOR FOR SUBSCRIBE " + what} {
		if _, err := c.PgConn().Exec(ctx, q).ReadAll(); err != nil {
			return err
		}
	}
	for k := 1; !m.ended; k++ {
		res, err := c.PgConn().Exec(ctx, fmt.Sprintf("FETCH %d f WITH (timeout = '20ms')", 1+k%9)).ReadAll()
		if err != nil {
			return err
		}
		for _, row := range res[0].Rows {
			epoch, diff, rest := parsed(texts(row))
			if err := m.add(epoch, diff, rest); err != nil {
				return err
			}
		}
	}
	_, err := c.PgConn().Exec(ctx, "COMMIT").ReadAll()
	return err
}

// Subscribers see every epoch whole, once and in order, while several sessions write, and jobs fail.
func TestSubscribers(t *testing.T) {
	for _, s := range []struct {
		name  string
		setup setup
		every int64 // of so many calls of an operator one fails; 0: none
	}{
		{"plain", setup{parallelism: 1}, 0},
		{"parallel", setup{parallelism: 2, chunk: 3}, 0},
		{"failures", setup{parallelism: 2, chunk: 5}, 700},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var calls, every atomic.Int64
			if s.every > 0 {
				s.setup.fault = func() {
					if n := every.Load(); n > 0 && calls.Add(1)%n == 0 {
						panic("a fault of the test")
					}
				}
			}
			w := start(t, s.setup)
			c := connect(t, w.url(), nil)
			defer closeConn(c)
			must(t, c, "CREATE TABLE acc (id int PRIMARY KEY, grp int, bal int)")
			must(t, c, "INSERT INTO acc SELECT i, i % 7, 100 FROM generate_series(1, 60) i")
			must(t, c, "CREATE MATERIALIZED VIEW sums AS SELECT grp, sum(bal) AS bal, count(*) AS n FROM acc GROUP BY grp")
			every.Store(s.every)
			total := func(col int) func(map[string]int) error {
				return func(rows map[string]int) error {
					sum := 0
					for k, n := range rows {
						v, err := strconv.Atoi(strings.Split(k, "|")[col])
						if err != nil {
							return err
						}
						sum += n * v
					}
					if sum != 6000 {
						return fmt.Errorf("the sum is %d", sum)
					}
					return nil
				}
			}
			subs := []struct {
				what, query string
				read        func(*pgx.Conn, string, *mirror) error
				col         int
			}{
				{"sums", "SELECT * FROM sums", byStatement, 1},
				{"acc", "SELECT * FROM acc", byCopy, 2},
				{"(SELECT grp % 2 * (grp / 999 * 998 + 1) AS odd, grp, sum(bal) FROM acc GROUP BY grp)", "", byCursor, 2},
				{"(SELECT a.id, a.bal, s.n FROM acc a JOIN sums s ON s.grp = a.grp)", "SELECT a.id, a.bal, s.n FROM acc a JOIN sums s ON s.grp = a.grp", byStatement, 1},
				{"acc", "SELECT * FROM acc", byCursor, 2},
				{"sums", "SELECT * FROM sums", byCopy, 1},
			}
			var readers, writers sync.WaitGroup
			for k, sub := range subs {
				readers.Go(func() {
					for {
						m := &mirror{rows: map[string]int{}, whole: total(sub.col)}
						c := connect(t, w.url(), nil)
						err := sub.read(c, sub.what, m)
						closeConn(c)
						if code(err) == "40001" || s.every > 0 && code(err) == "XX000" {
							continue // it begins again, with a snapshot
						}
						if err != nil {
							t.Errorf("%d: %s: %v", k, sub.what, err)
							return
						}
						if sub.query == "" {
							return
						}
						c = connect(t, w.url(), nil)
						defer closeConn(c)
						want := map[string]int{}
						res, err := c.PgConn().Exec(context.Background(), sub.query).ReadAll()
						if err != nil {
							t.Errorf("%s: %v", sub.query, err)
							return
						}
						for _, row := range res[0].Rows {
							want[strings.Join(texts(row), "|")]++
						}
						if !maps.Equal(m.rows, want) {
							t.Errorf("%d: %s:\n got %v\nwant %v", k, sub.what, slices.Sorted(maps.Keys(m.rows)), slices.Sorted(maps.Keys(want)))
						}
						return
					}
				})
			}
			for k := range 2 {
				writers.Go(func() {
					r := rand.New(rand.NewSource(int64(k)))
					c := connect(t, w.url(), nil)
					defer closeConn(c)
					for n := range 80 {
						a, b, d := 1+r.Intn(60), 1+r.Intn(60), r.Intn(20)
						q := fmt.Sprintf("BEGIN; UPDATE acc SET bal = bal - %d WHERE id = %d; UPDATE acc SET bal = bal + %d WHERE id = %d; COMMIT", d, min(a, b), d, max(a, b))
						switch n % 5 {
						case 1:
							q = fmt.Sprintf("UPDATE acc SET grp = %d WHERE id = %d", r.Intn(7), a)
						case 3:
							q = fmt.Sprintf("INSERT INTO acc VALUES (%d, 1, 30), (%d, 2, -30)", 1000+2*n+k*1000, 1001+2*n+k*1000)
						case 4:
							q = fmt.Sprintf("DELETE FROM acc WHERE id IN (%d, %d)", 998+2*n+k*1000, 999+2*n+k*1000)
						}
						if a == b {
							continue
						}
						for {
							_, err := c.PgConn().Exec(context.Background(), q).ReadAll()
							if err == nil {
								break
							}
							if cd := code(err); cd != "40001" && cd != "40P01" {
								t.Errorf("%s: %v", q, err)
								return
							}
							_, _ = c.PgConn().Exec(context.Background(), "ROLLBACK").ReadAll()
						}
					}
				})
			}
			writers.Wait()
			every.Store(0)
			// The end marks itself, in an epoch of its own: its row is the last one by every key.
			must(t, c, "UPDATE acc SET id = id - 3000 WHERE id > 900")
			must(t, c, "FLUSH")
			must(t, c, "INSERT INTO acc VALUES (999, 999, 0)")
			readers.Wait()
			awaitNoSubscriptions(t, c)
		})
	}
}

// awaitNoSubscriptions waits until all subscriptions are gone, with their jobs.
func awaitNoSubscriptions(t *testing.T, c *pgx.Conn) {
	t.Helper()
	limit := time.Now().Add(statementTimeout)
	for must(t, c, "SELECT count(*) FROM weir_subscriptions") != "0" ||
		must(t, c, "SELECT count(*) FROM weir_actors WHERE job_name LIKE 'subscri%'") != "0" {
		if time.Now().After(limit) {
			t.Fatalf("subscriptions stay: %s", must(t, c, "SELECT string_agg(statement, '; ') FROM weir_subscriptions"))
		}
	}
}

// A subscription ends with its statement, its transaction, its connection, and when its client does not take what comes;
// nothing of it stays.
func TestSubscriptionEnds(t *testing.T) {
	w := start(t, setup{parallelism: 1, memory: 64 << 20})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	must(t, c, "CREATE TABLE t (id serial PRIMARY KEY, x text)")
	must(t, c, "INSERT INTO t (x) VALUES ('a')")
	running := func(other *pgx.Conn) bool { return must(t, other, "SELECT count(*) FROM weir_subscriptions") == "1" }
	for _, q := range []string{"SUBSCRIBE t", "SUBSCRIBE (SELECT x, count(*) FROM t GROUP BY x)", "COPY (SUBSCRIBE t) TO STDOUT"} {
		cancelled(t, w, q, running)
		awaitNoSubscriptions(t, c)
	}
	// The client goes away.
	gone := connect(t, w.url(), nil)
	must(t, gone, "BEGIN")
	must(t, gone, "DECLARE c CURSOR FOR SUBSCRIBE (SELECT count(*) FROM t)")
	if !running(c) {
		t.Fatal("no subscription")
	}
	_ = gone.PgConn().Conn().Close()
	awaitNoSubscriptions(t, c)
	// A timeout ends it as any statement.
	must(t, c, "SET statement_timeout = '50ms'")
	if _, err := c.PgConn().Exec(context.Background(), "SUBSCRIBE t").ReadAll(); code(err) != "57014" {
		t.Fatalf("timeout: %v", err)
	}
	must(t, c, "RESET statement_timeout")
	awaitNoSubscriptions(t, c)
	// The client does not take what comes.
	slow := connect(t, w.url(), nil)
	defer closeConn(slow)
	must(t, slow, "BEGIN")
	must(t, slow, "DECLARE c CURSOR FOR SUBSCRIBE t")
	for range 4 {
		must(t, c, "INSERT INTO t (x) SELECT repeat('x', 1000) || i FROM generate_series(1, 1000) i")
	}
	if _, err := slow.PgConn().Exec(context.Background(), "FETCH 5 c").ReadAll(); err != nil {
		// The snapshot could have been given, but the end is known.
		if code(err) != "53400" {
			t.Fatal(err)
		}
	} else if _, err := slow.PgConn().Exec(context.Background(), "FETCH ALL c").ReadAll(); code(err) != "53400" {
		t.Fatalf("a slow client: %v", err)
	}
	must(t, slow, "ROLLBACK")
	awaitNoSubscriptions(t, c)
	// A restart of the server drops what a query's subscription kept.
	open := connect(t, w.url(), nil)
	must(t, open, "BEGIN")
	must(t, open, "DECLARE c CURSOR FOR SUBSCRIBE (SELECT x, count(*) FROM t GROUP BY x)")
	must(t, c, "CHECKPOINT")
	w.crash()
	again := connect(t, w.url(), nil)
	defer closeConn(again)
	if got := must(t, again, "SELECT count(*) FROM weir_jobs"); got != "0" {
		t.Fatalf("%s jobs after a crash", got)
	}
	must(t, again, "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	if got := must(t, again, "SELECT n FROM v"); got != "4001" {
		t.Fatalf("%s rows", got)
	}
}
