package sql

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sqlState gives the SQLSTATE of an error, "" if there is none.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// inTx runs f in a transaction, again as long as it fails with 40001 or 40P01.
func inTx(ctx context.Context, c *pgx.Conn, level pgx.TxIsoLevel, f func(tx pgx.Tx) error) error {
	for {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
		if err != nil {
			return err
		}
		if err = f(tx); err == nil {
			err = tx.Commit(ctx)
		}
		if err == nil {
			return nil
		}
		if err := tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			return err
		}
		if code := sqlState(err); code != "40001" && code != "40P01" {
			return err
		}
	}
}

// errGiveUp is why a worker of a test rolls back.
var errGiveUp = errors.New("given up")

// TestQueueOfWorkers: of workers that take jobs with SKIP LOCKED none waits for another one, and no job is done twice, whatever is
// rolled back.
func TestQueueOfWorkers(t *testing.T) {
	const workers, jobs = 8, 160
	for _, take := range []string{
		"DELETE FROM jobs WHERE id = (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
		"UPDATE jobs SET state = 'done' FROM (SELECT id AS n FROM jobs WHERE state = 'new' LIMIT 1 FOR UPDATE SKIP LOCKED) s WHERE id = n RETURNING id",
		"WITH j AS (SELECT id FROM jobs WHERE state = 'new' ORDER BY prio, id FOR NO KEY UPDATE SKIP LOCKED LIMIT 1) UPDATE jobs SET state = 'done' FROM j WHERE jobs.id = j.id RETURNING jobs.id",
	} {
		w := start(t, setup{parallelism: 1})
		ctx := context.Background()
		setupConn := connect(t, w.url(), nil)
		for _, s := range []string{
			"CREATE TABLE jobs (id int PRIMARY KEY, prio int, state text)", "CREATE TABLE log (id int)",
			"CREATE MATERIALIZED VIEW twice AS SELECT id FROM log GROUP BY id HAVING count(*) > 1",
			fmt.Sprintf("INSERT INTO jobs SELECT g, g %% 3, 'new' FROM generate_series(1, %d) g", jobs),
		} {
			if _, err := setupConn.Exec(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for n := range workers {
			c := connect(t, w.url(), nil)
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			wg.Go(func() {
				for {
					found := false
					err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
						var id int
						err := tx.QueryRow(ctx, take).Scan(&id)
						if errors.Is(err, pgx.ErrNoRows) {
							return nil
						}
						if err != nil {
							return err
						}
						found = true
						if _, err := tx.Exec(ctx, "INSERT INTO log VALUES ($1)", id); err != nil {
							return err
						}
						if rng.IntN(5) == 0 {
							return errGiveUp
						}
						return nil
					})
					if err != nil && !errors.Is(err, errGiveUp) {
						t.Errorf("%s: %v", take, err)
						return
					}
					if !found && err == nil {
						return
					}
				}
			})
		}
		wg.Wait()
		// What was given up when the others had looked for the last time is left.
		var done, left, twice int
		if err := setupConn.QueryRow(ctx, "SELECT count(*), (SELECT count(*) FROM jobs WHERE state = 'new'), (SELECT count(*) FROM twice) FROM log").Scan(&done, &left, &twice); err != nil {
			t.Fatal(err)
		}
		if done+left != jobs || twice != 0 {
			t.Errorf("%s: %d jobs done, %d left, %d of them twice", take, done, left, twice)
		}
	}
}

// TestNoLostUpdates: counters that many sessions raise in each of the ways in which that is right in PostgreSQL lose nothing.
func TestNoLostUpdates(t *testing.T) {
	const workers, rounds, rows = 6, 30, 3
	w := start(t, setup{parallelism: 1})
	ctx := context.Background()
	main := connect(t, w.url(), nil)
	for _, s := range []string{
		"CREATE TABLE c (id int PRIMARY KEY, n int NOT NULL, u int UNIQUE)", "CREATE TABLE h (id int, n int NOT NULL)",
		"CREATE MATERIALIZED VIEW s AS SELECT sum(n) AS n FROM c",
		fmt.Sprintf("INSERT INTO c SELECT g, 0, g FROM generate_series(1, %d) g", rows),
		fmt.Sprintf("INSERT INTO h SELECT g, 0 FROM generate_series(1, %d) g", rows),
	} {
		if _, err := main.Exec(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	ways := []func(ctx context.Context, c *pgx.Conn, id int) error{
		func(ctx context.Context, c *pgx.Conn, id int) error {
			_, err := c.Exec(ctx, "UPDATE c SET n = n + 1 WHERE id = $1", id)
			return err
		},
		func(ctx context.Context, c *pgx.Conn, id int) error {
			_, err := c.Exec(ctx, "UPDATE c SET n = n + 1 WHERE id + 0 = $1", id)
			return err
		},
		func(ctx context.Context, c *pgx.Conn, id int) error {
			_, err := c.Exec(ctx, "INSERT INTO c VALUES ($1, 1, $1) ON CONFLICT (u) DO UPDATE SET n = c.n + excluded.n", id)
			return err
		},
		func(ctx context.Context, c *pgx.Conn, id int) error {
			_, err := c.Exec(ctx, "MERGE INTO c USING (SELECT $1::int AS k) s ON c.id = k WHEN MATCHED THEN UPDATE SET n = c.n + 1", id)
			return err
		},
		func(ctx context.Context, c *pgx.Conn, id int) error {
			return inTx(ctx, c, pgx.ReadCommitted, func(tx pgx.Tx) error {
				var n int
				err := tx.QueryRow(ctx, "SELECT n FROM h WHERE id = $1 FOR UPDATE", id).Scan(&n)
				if err == nil {
					_, err = tx.Exec(ctx, "UPDATE h SET n = $2 WHERE id = $1", id, n+1)
				}
				return err
			})
		},
		func(ctx context.Context, c *pgx.Conn, id int) error {
			return inTx(ctx, c, pgx.RepeatableRead, func(tx pgx.Tx) error {
				var n int
				err := tx.QueryRow(ctx, "SELECT n FROM h WHERE id = $1", id).Scan(&n)
				if err == nil {
					_, err = tx.Exec(ctx, "UPDATE h SET n = $2 WHERE id = $1", id, n+1)
				}
				return err
			})
		},
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	added := [2]int{}
	for n := range workers {
		c := connect(t, w.url(), nil)
		rng := rand.New(rand.NewPCG(2, uint64(n)))
		wg.Go(func() {
			for range rounds {
				k := rng.IntN(len(ways))
				if err := ways[k](ctx, c, 1+rng.IntN(rows)); err != nil {
					t.Errorf("way %d: %v", k, err)
					return
				}
				mu.Lock()
				if k < 4 {
					added[0]++
				} else {
					added[1]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	var inC, inH, inView int
	if err := main.QueryRow(ctx, "SELECT sum(n), (SELECT sum(n) FROM h), (SELECT n FROM s) FROM c").Scan(&inC, &inH, &inView); err != nil {
		t.Fatal(err)
	}
	if inC != added[0] || inH != added[1] || inView != inC {
		t.Errorf("%d of %d in c, %d of %d in h, %d in the view", inC, added[0], inH, added[1], inView)
	}
}
