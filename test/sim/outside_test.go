package sim

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
)

// TestSeenFromOutside: a client reads from the system views that a job was restarted, that another one is stalled and why,
// which checkpoints there were, and what a barrier waits for that does not come through; the metrics say the same.
func TestSeenFromOutside(t *testing.T) {
	p := newPanics()
	// held is the job whose operators stop at their next call until release is closed.
	var held atomic.Uint32
	entered, release := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	f := newFaulty()
	n := mustOpenTuned(t, vfs.NewMem(), f, func(c *server.Config) {
		c.RestartAttempts, c.RestartDelayMax, c.HTTP = 3, time.Millisecond, "127.0.0.1:0"
		c.CheckpointsRetained, c.CheckpointRetentionInterval = 2, time.Millisecond
		p.tune(c)
		tune := c.Tune
		c.Tune = func(e *engine.Config) {
			tune(e)
			panics := e.Fault
			e.Fault = func(job flow.JobID, a flow.ActorID, op string) {
				if job != 0 && held.CompareAndSwap(uint32(job), 0) {
					close(entered)
					<-release
				}
				panics(job, a, op)
			}
		}
	})
	t.Cleanup(free)
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
	a.must("CREATE TABLE u (id int8 PRIMARY KEY)")
	a.must("CREATE MATERIALIZED VIEW good AS SELECT count(*) AS n FROM t")
	a.must("CREATE MATERIALIZED VIEW once AS SELECT sum(v) AS n FROM t")
	a.must("CREATE MATERIALIZED VIEW always AS SELECT max(v) AS n FROM u JOIN t USING (id)")
	a.must("INSERT INTO t VALUES (1, 1)")
	a.want("SELECT name, state, attempts, restarts, failover FROM weir_jobs",
		"always|running|0|0|restart-region", "good|running|0|0|restart-region", "once|running|0|0|restart-region")
	a.want("SELECT count(*) FROM weir_jobs WHERE since IS NULL OR since > now()", "0")
	a.want("SELECT DISTINCT attempt, a.state FROM weir_actors AS a JOIN weir_jobs AS j ON j.id = job WHERE j.name = 'once'", "1|running")

	// A job that fails once.
	p.arm(jobID(t, n, "once"), 0)
	a.must("INSERT INTO t VALUES (2, 2)")
	a.await("SELECT restarts FROM weir_jobs WHERE name = 'once'", "1")
	a.want("SELECT n FROM once", "3")
	a.want("SELECT state, problem IS NULL, last_error LIKE '%injected into%' FROM weir_jobs WHERE name = 'once'", "running|t|t")
	a.want("SELECT DISTINCT attempt FROM weir_actors WHERE job_name = 'once'", "2")
	a.want("SELECT DISTINCT attempt FROM weir_actors WHERE job_name = 'good'", "1")

	// One that fails always.
	p.setAlways(jobID(t, n, "always"), true)
	a.must("INSERT INTO u VALUES (1)")
	a.await("SELECT state FROM weir_jobs WHERE name = 'always'", "stalled")
	a.want("SELECT attempts, problem LIKE '%stalled%injected into%', last_error LIKE '%injected into%' FROM weir_jobs WHERE name = 'always'", "3|t|t")
	a.want("SELECT count(*) FROM weir_actors WHERE job_name = 'always'", "0")
	a.want("SELECT state FROM weir_jobs WHERE name = 'good'", "running")

	// Checkpoints.
	a.must("CREATE MATERIALIZED VIEW over AS SELECT n + 1 AS n FROM good")
	a.must("INSERT INTO t VALUES (3, 3)")
	a.must("CHECKPOINT")
	a.await("SELECT count(*) FROM weir_checkpoints WHERE kept LIKE 'newest%' AND kind = 'checkpoint' AND state = 'committed'", "1")
	a.want(`SELECT count(*) FROM weir_checkpoints WHERE state = 'committed' AND
		(duration_ms IS NULL OR started > now() OR (kept IS NULL AND (bytes IS NULL OR slowest_actor IS NULL)))`, "0")
	a.await("SELECT count(*) > 0 FROM weir_checkpoints WHERE kept LIKE '%retained'", "t")

	// A barrier that does not come through.
	held.Store(uint32(jobID(t, n, "good")))
	blocked := dial(t, n)
	done := make(chan error, 1)
	go func() {
		_, err := blocked.Exec(t.Context(), "INSERT INTO t VALUES (4, 4); SELECT n FROM good")
		done <- err
	}()
	<-entered
	a.await("SELECT count(*) > 0 FROM weir_checkpoints WHERE state = 'in flight' AND waits_for LIKE '%good fragment %'", "t")
	a.await("SELECT count(*) > 0 FROM weir_actors WHERE job_name = 'over' AND waits_for LIKE 'barrier % of good fragment%'", "t")
	// The barrier is in its channel a moment before the table's actor counts it as passed.
	a.await("SELECT count(*) > 0 FROM weir_actors WHERE job_name = 'good' AND waits_for IS NULL", "t")
	free()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a.want("SELECT n FROM good", "4")

	m := metrics(t, n)
	for _, line := range []string{
		`weir_job_restarts_total{job="public.once"} 1`, "weir_jobs_stalled 1", "weir_checkpoint_fallbacks_total 0",
		`weir_checkpoints_total{result="failed"} 0`, "weir_region_restarts_total",
	} {
		if !strings.Contains(m, line) {
			t.Errorf("no %s in\n%s", line, m)
		}
	}
	for _, name := range []string{
		`checkpoints_total{result="committed"}`, `checkpoints_total{result="aborted"}`, "checkpoint_seconds_total", "checkpoint_last_seconds",
		"checkpoint_bytes_total", "barriers_in_flight", "epoch_lag", "buffered_bytes", "checkpoints_retained",
	} {
		if !strings.Contains(m, "\nweir_"+name+" ") {
			t.Errorf("no %s in\n%s", name, m)
		}
	}
}

// TestSeenWhileBackfilling: a view that is being created is in weir_jobs with what it has read.
func TestSeenWhileBackfilling(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	var hold atomic.Bool
	n := mustOpenTuned(t, vfs.NewMem(), newFaulty(), func(c *server.Config) {
		tune := c.Tune
		c.Tune = func(e *engine.Config) {
			tune(e)
			e.Fault = func(flow.JobID, flow.ActorID, string) {
				if hold.CompareAndSwap(true, false) {
					close(entered)
					<-release
				}
			}
		}
	})
	t.Cleanup(free)
	a, b := dial(t, n), dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY)")
	a.must("INSERT INTO t SELECT i FROM generate_series(1, 100) AS g(i)")
	hold.Store(true)
	done := make(chan error, 1)
	go func() {
		_, err := b.Exec(t.Context(), "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
		done <- err
	}()
	<-entered
	a.want("SELECT name, kind, state, rows_filled IS NOT NULL, since <= now() FROM weir_jobs", "v|materialized view|backfilling|t|t")
	free()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a.want("SELECT name, state, rows_filled FROM weir_jobs", "v|running|null")
}

// metrics reads what Prometheus would.
func metrics(t *testing.T, n *node) string {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://%s/metrics", n.srv.HTTPAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
