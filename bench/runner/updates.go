package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirdb/weir/bench/byhand"
)

// UpdatesResult is what a change of one row costs in a partition of many.
type UpdatesResult struct {
	// View says what kind of view there is over the table, Rows how many rows its only partition has.
	View string `json:"view"`
	Rows int    `json:"rows"`
	// Wall and CPU are microseconds for a change: its statement, and the wait until the view shows it.
	Wall float64 `json:"wall_us"`
	CPU  float64 `json:"cpu_us"`
}

// updateViews are views over a table (id, g, v) with one g. Of each only a few rows change when a row with the least v comes or goes.
var updateViews = []struct{ name, query string }{
	{"window functions", `SELECT id, row_number() OVER w AS n, sum(v) OVER w AS total, lag(v) OVER w AS before,
		avg(v) OVER (PARTITION BY g ORDER BY v DESC, id ROWS 99 PRECEDING) AS average,
		max(v) OVER (PARTITION BY g ORDER BY v DESC, id ROWS BETWEEN 999 PRECEDING AND CURRENT ROW) AS top
		FROM t WINDOW w AS (PARTITION BY g ORDER BY v DESC, id)`},
	{"min and max", "SELECT g, min(v) AS least, max(v) AS most FROM t GROUP BY g"},
	{"top 10", "SELECT * FROM (SELECT id, g, v, row_number() OVER (PARTITION BY g ORDER BY v) AS n FROM t) x WHERE n <= 10"},
}

// MeasureUpdates changes single rows of a partition: one comes that is in the result, and goes again.
func MeasureUpdates(ctx context.Context, sizes []int, changes int, report func(UpdatesResult)) error {
	for _, v := range updateViews {
		for _, n := range sizes {
			r, err := measureUpdates(ctx, v.query, n, changes)
			if err != nil {
				return fmt.Errorf("%s, %d rows: %w", v.name, n, err)
			}
			r.View = v.name
			report(r)
		}
	}
	return nil
}

func measureUpdates(ctx context.Context, query string, n, changes int) (r UpdatesResult, err error) {
	in, err := start(ctx, NexmarkConfig{Parallelism: 1, CheckpointInterval: noCheckpoints})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, in.stop()) }()
	exec := func(sts ...string) error {
		for _, st := range sts {
			if _, err := in.conn.Exec(ctx, st); err != nil {
				return fmt.Errorf("%s: %w", st, err)
			}
		}
		return nil
	}
	change := func() error {
		return exec("INSERT INTO t VALUES (-1, 7, -1)", "FLUSH", "DELETE FROM t WHERE id = -1", "FLUSH")
	}
	err = exec(
		"SET synchronous_commit = off",
		"CREATE TABLE t (id bigint PRIMARY KEY, g int, v bigint)",
		fmt.Sprintf("INSERT INTO t SELECT i, 7, i * 7919 %% %d FROM generate_series(1, %d) AS s (i)", n, n),
		"CREATE MATERIALIZED VIEW out AS "+query,
	)
	if err != nil {
		return r, err
	}
	if err := change(); err != nil { // the first one may read what the others find in memory
		return r, err
	}
	cost, err := byhand.Timed(func() error {
		for range changes / 2 {
			if err := change(); err != nil {
				return err
			}
		}
		return nil
	})
	perChange := float64(changes / 2 * 2)
	return UpdatesResult{
		Rows: n, Wall: float64(cost.Wall.Microseconds()) / perChange, CPU: float64(cost.CPU.Microseconds()) / perChange,
	}, err
}
