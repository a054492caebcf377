package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
)

// TestReadWhileReplaced: when the rows of a view's new definition are read already, and its new job is slow while the old one, which
// has not gone yet, is not, a read waits for the new one.
func TestReadWhileReplaced(t *testing.T) {
	var hold atomic.Pointer[func(flow.JobID)]
	n := mustOpenTuned(t, vfs.NewMem(), newFaulty(), func(c *server.Config) {
		tune := c.Tune
		c.Tune = func(e *engine.Config) {
			tune(e)
			e.Fault = func(job flow.JobID, _ flow.ActorID, _ string) {
				if f := hold.Load(); f != nil {
					(*f)(job)
				}
			}
		}
	})
	a, b := dial(t, n), dial(t, n)
	a.must("CREATE TABLE t (x int8)")
	a.must("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	inc, rows, held := n.inc(t), 0, 0
	for round := range 10 {
		before := inc.Catalog().Relation("public", "v").Rows()
		stopped, release := make(chan struct{}), make(chan struct{})
		stop := sync.OnceFunc(func() { close(stopped) })
		f := func(job flow.JobID) {
			cat := inc.Catalog()
			if r := cat.Relation("public", "v"); r.Rows() != before && cat.Relations[r.ID] != nil && flow.JobID(r.ID) != job && flow.JobID(cat.Relation("public", "t").ID) != job {
				stop()
				<-release
			}
		}
		hold.Store(&f)
		done := make(chan error, 1)
		go func() {
			_, err := b.Exec(context.Background(), fmt.Sprintf("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT count(*) + %d AS n FROM t", 1000*round))
			done <- err
		}()
		select {
		case <-stopped:
			held++
		case err := <-done:
			done <- err
		}
		a.must("INSERT INTO t VALUES (1)")
		rows++
		got := in(t, n, "SELECT n FROM v")
		var first []string
		select {
		case first = <-got:
		case <-time.After(50 * time.Millisecond):
		}
		hold.Store(nil)
		close(release)
		if first == nil {
			first = <-got
		}
		if want := fmt.Sprint(rows + 1000*round); len(first) != 1 || first[0] != want {
			t.Errorf("round %d: %v, want %s", round, first, want)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the new job was held %d times", held)
}

// TestReadAroundDefinitions: a view is replaced, dropped and made again all the time. Whoever reads it, by itself or first in a
// transaction with a snapshot, has its newest definition, and every row that was acknowledged; or is told.
func TestReadAroundDefinitions(t *testing.T) {
	n, err := open(vfs.NewMem(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	a := dial(t, n)
	a.must("CREATE TABLE t (x int8)")
	a.must("CREATE MATERIALIZED VIEW v AS SELECT 0 AS d, count(*) AS n FROM t")
	a.must("CREATE MATERIALIZED VIEW kept AS SELECT count(*) AS n FROM t")
	ctx, cancel := context.WithTimeout(t.Context(), soak(t, 2*time.Second))
	defer cancel()
	var definition, rowsThere, reads, defs atomic.Int64
	var wg sync.WaitGroup
	run := func(f func(c *client) error) {
		c := dial(t, n)
		wg.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				err := f(c)
				var e *pgconn.PgError
				if err != nil && (!errors.As(err, &e) || e.Code != "40001" && e.Code != "42P01") {
					t.Error(err)
				}
				if err != nil {
					_, _ = c.Exec(context.Background(), "ROLLBACK")
				}
			}
		})
	}
	run(func(c *client) error {
		_, err := c.Exec(context.Background(), "INSERT INTO t VALUES (1)")
		if err == nil {
			rowsThere.Add(1)
		}
		return err
	})
	rng := rand.New(rand.NewSource(1))
	next := int64(0)
	run(func(c *client) error {
		next++
		define := fmt.Sprintf("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT %d AS d, count(*) AS n FROM t", next)
		if rng.Intn(3) == 0 {
			if _, err := c.Exec(context.Background(), "DROP MATERIALIZED VIEW v"); err != nil {
				return err
			}
		}
		_, err := c.Exec(context.Background(), define)
		if err == nil {
			definition.Store(next)
			defs.Add(1)
		}
		return err
	})
	for k, queries := range [][]string{
		{"SELECT d, n FROM v"},
		{"SELECT v.d, v.n FROM v JOIN kept ON v.n = kept.n"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT d, n FROM v", "COMMIT"},
		{"BEGIN READ ONLY", "SELECT v.d, v.n FROM v JOIN kept ON v.n = kept.n", "COMMIT"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 0, n FROM kept", "SELECT d, n FROM v", "COMMIT"},
	} {
		run(func(c *client) error {
			d, r := definition.Load(), rowsThere.Load()
			for _, q := range queries {
				got, err := rows(context.Background(), c, q)
				if err != nil {
					return err
				}
				if !strings.HasPrefix(q, "SELECT") {
					continue
				}
				var nowD, nowN int64
				if len(got) == 1 {
					_, err = fmt.Sscanf(got[0], "%d|%d", &nowD, &nowN)
				}
				if len(got) != 1 || err != nil || nowN < r || nowD < d && !strings.Contains(q, "0, n") {
					return fmt.Errorf("client %d: %s: %v, want definition %d and %d rows, or later: %w", k, q, got, d, r, errors.Join(err, errWrong))
				}
			}
			reads.Add(1)
			return nil
		})
	}
	wg.Wait()
	t.Logf("%d definitions, %d reads, %d rows", defs.Load(), reads.Load(), rowsThere.Load())
}

var errWrong = errors.New("wrong rows")

// TestSnapshotOfNewer: what was made after a transaction's snapshot was taken is not there with no rows, or with some.
func TestSnapshotOfNewer(t *testing.T) {
	n, err := open(vfs.NewMem(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	a, r := dial(t, n), dial(t, n)
	a.must("CREATE TABLE t (x int8, y int8)")
	a.must("INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 1000) i")
	snapshot := func() {
		r.must("BEGIN ISOLATION LEVEL REPEATABLE READ")
		r.want("SELECT count(*) FROM t", "1000")
	}
	snapshot()
	a.must("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	r.fails("40001", "SELECT n FROM v")
	r.must("ROLLBACK")
	snapshot()
	r.want("SELECT n FROM v", "1000")
	a.must("CREATE INDEX by_y ON t (y)")
	if got, err := rows(t.Context(), r, "SELECT count(*) FROM t WHERE y = 3"); passing(err) {
		r.must("ROLLBACK")
	} else if err != nil || got[0] != "100" {
		t.Errorf("by an index that is newer than the snapshot: %v, %v", got, err)
	} else {
		r.must("ROLLBACK")
	}
	snapshot()
	r.want("SELECT count(*) FROM t WHERE y = 3", "100")
	a.must("DROP MATERIALIZED VIEW v")
	a.must("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	r.fails("40001", "SELECT n FROM v")
	r.must("ROLLBACK")
	r.want("SELECT n FROM v", "1000")
}
