package runner

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Latency is how long a commit takes, and how long until a view over it shows it.
type Latency struct {
	Writes int `json:"writes"`
	// Commit is the time of an INSERT, Visible that of an INSERT and the SELECT from the view behind
	// it; medians and 99th percentiles, in milliseconds.
	CommitP50  float64 `json:"commit_p50_ms"`
	CommitP99  float64 `json:"commit_p99_ms"`
	VisibleP50 float64 `json:"visible_p50_ms"`
	VisibleP99 float64 `json:"visible_p99_ms"`
}

// MeasureLatency writes rows one by one into an idle server and reads each through a view over a view
// over a join.
func MeasureLatency(ctx context.Context, writes int) (l Latency, err error) {
	in, err := start(ctx, NexmarkConfig{Parallelism: 1})
	if err != nil {
		return l, err
	}
	defer func() {
		if serr := in.stop(); err == nil {
			err = serr
		}
	}()
	for _, st := range []string{
		"CREATE TABLE customer (id int PRIMARY KEY, city text)",
		"CREATE TABLE sale (id int PRIMARY KEY, customer int, amount int)",
		"INSERT INTO customer SELECT i, 'city ' || i % 10 FROM generate_series(1, 1000) AS g(i)",
		"CREATE MATERIALIZED VIEW by_city AS SELECT c.city, count(*) AS n, sum(s.amount) AS total FROM sale s JOIN customer c ON c.id = s.customer GROUP BY c.city",
		"CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n, sum(total) AS total FROM by_city",
	} {
		if _, err := in.conn.Exec(ctx, st); err != nil {
			return l, fmt.Errorf("%s: %w", st, err)
		}
	}
	l.Writes = writes
	var commits, visible []time.Duration
	for i := range writes {
		begin := time.Now()
		if _, err := in.conn.Exec(ctx, "INSERT INTO sale VALUES ($1, $2, $3)", i, i%1000+1, i); err != nil {
			return l, err
		}
		commits = append(commits, time.Since(begin))
		var n string
		if err := in.conn.QueryRow(ctx, "SELECT n::text FROM total").Scan(&n); err != nil {
			return l, err
		}
		visible = append(visible, time.Since(begin))
		if n != fmt.Sprint(i+1) {
			return l, fmt.Errorf("after %d inserts the view shows %s", i+1, n)
		}
	}
	l.CommitP50, l.CommitP99 = quantiles(commits)
	l.VisibleP50, l.VisibleP99 = quantiles(visible)
	return l, nil
}

func quantiles(ds []time.Duration) (p50, p99 float64) {
	slices.Sort(ds)
	ms := func(q float64) float64 {
		return float64(ds[min(len(ds)-1, int(q*float64(len(ds))))].Microseconds()) / 1000
	}
	return ms(0.5), ms(0.99)
}
