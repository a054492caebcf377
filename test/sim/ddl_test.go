package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/file"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
)

// TestDropOfWhatFails: a view that fails all the time, and is never given up, is dropped at once; what somebody else defines, before and
// after, waits for nothing else.
func TestDropOfWhatFails(t *testing.T) {
	p := newPanics()
	n := mustOpenTuned(t, vfs.NewMem(), newFaulty(), func(c *server.Config) {
		c.RestartAttempts, c.RestartDelayMax = -1, time.Hour
		p.tune(c)
	})
	a, b := dial(t, n), dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
	for _, drop := range []string{"DROP MATERIALIZED VIEW bad", "DROP MATERIALIZED VIEW bad CASCADE", "DROP SCHEMA s CASCADE"} {
		a.must("CREATE SCHEMA IF NOT EXISTS s")
		a.must("SET search_path = s, public")
		a.must("CREATE MATERIALIZED VIEW bad AS SELECT count(*) AS n FROM t")
		a.must("CREATE MATERIALIZED VIEW good AS SELECT sum(v) AS n FROM public.t")
		if drop != "DROP MATERIALIZED VIEW bad" {
			a.must("CREATE MATERIALIZED VIEW over AS SELECT n FROM bad")
		}
		var bad failover.Status
		id := n.inc(t).Catalog().Relation("s", "bad").ID
		state := func() failover.Status {
			for _, s := range n.inc(t).Jobs() {
				if s.ID == id {
					return s.Status
				}
			}
			return failover.Status{}
		}
		fillJob := flow.JobID(id)
		p.setAlways(fillJob, true)
		a.must("DELETE FROM t")
		a.must("INSERT INTO t VALUES (1, 1)")
		// It fails again with each restart, after a pause that grows.
		for bad = state(); bad.Attempts < 3; bad = state() {
			a.want("SELECT id FROM t", "1")
		}
		waits := make(chan error, 1)
		go func() {
			_, err := b.Exec(t.Context(), "CREATE MATERIALIZED VIEW u AS SELECT id FROM t")
			waits <- err
		}()
		if drop == "DROP MATERIALIZED VIEW bad CASCADE" {
			a.fails("2BP01", "DROP MATERIALIZED VIEW bad")
		}
		a.must(drop)
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
		a.must("DROP MATERIALIZED VIEW public.u")
		if drop != "DROP SCHEMA s CASCADE" {
			a.want("SELECT n FROM good", "1")
			a.must("DROP MATERIALIZED VIEW good")
		}
		p.setAlways(fillJob, false)
	}
	if s := n.srv.Engine().Stats(); s.Recoveries != 0 {
		t.Errorf("%d recoveries", s.Recoveries)
	}
}

// TestDefinitionWaitsCanBeCancelled: who waits for a region that does not come back can give up.
func TestDefinitionWaitsCanBeCancelled(t *testing.T) {
	p := newPanics()
	n := mustOpenTuned(t, vfs.NewMem(), newFaulty(), func(c *server.Config) {
		c.RestartAttempts, c.RestartDelayMax = -1, time.Hour
		p.tune(c)
	})
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
	a.must("CREATE MATERIALIZED VIEW bad AS SELECT count(*) AS n FROM t")
	p.setAlways(jobID(t, n, "bad"), true)
	a.must("INSERT INTO t VALUES (1, 1)")
	for status(t, n, "bad").Attempts < 4 {
		a.want("SELECT id FROM t", "1")
	}
	a.must("SET statement_timeout = 50")
	a.fails("57014", "CREATE MATERIALIZED VIEW u AS SELECT id FROM t")
	a.must("SET statement_timeout = 0")
	a.must("DROP MATERIALIZED VIEW bad")
	a.must("CREATE MATERIALIZED VIEW u AS SELECT id FROM t")
}

// TestFailureDuringTheStart: a job that fails while the server starts is given up, also if it never would be later, and everything
// else runs.
func TestFailureDuringTheStart(t *testing.T) {
	for _, attempts := range []int{3, -1} {
		fs := vfs.NewMem()
		p := newPanics()
		tune := func(c *server.Config) {
			c.RestartAttempts, c.RestartDelayMax = attempts, time.Millisecond
			p.tune(c)
		}
		n := mustOpenTuned(t, fs, newFaulty(), tune)
		a := dial(t, n)
		a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
		a.must("INSERT INTO t VALUES (1, 1)")
		a.must("CREATE MATERIALIZED VIEW bad AS SELECT count(*) AS n FROM t")
		a.must("CREATE MATERIALIZED VIEW over AS SELECT n FROM bad")
		a.must("CREATE MATERIALIZED VIEW good AS SELECT sum(v) AS n FROM t")
		bad := jobID(t, n, "bad")
		if err := n.close(); err != nil {
			t.Fatal(err)
		}
		n.done <- nil
		p.setAlways(bad, true)
		n = mustOpenTuned(t, fs, newFaulty(), tune)
		a = dial(t, n)
		a.must("INSERT INTO t VALUES (2, 2)")
		a.want("SELECT n FROM good", "3")
		a.fails("55000", "SELECT n FROM bad")
		a.fails("55000", "SELECT n FROM over")
		p.setAlways(bad, false)
		a.must("ALTER MATERIALIZED VIEW bad RESUME")
		a.want("SELECT n FROM bad", "2")
	}
}

// TestDropOfSink: what a sink was given before it is dropped is in its file, once, and nothing else is left; the same if it had been given
// up before, when it has what its last checkpoint had.
func TestDropOfSink(t *testing.T) {
	p := newPanics()
	f := newFaulty()
	n, err := openTuned(vfs.NewMem(), 1, func(c *server.Config) {
		c.CheckpointInterval, c.RestartAttempts, c.RestartDelayMax = time.Hour, 2, time.Millisecond
		p.tune(c)
	}, f.register, func(r *connector.Registry) { r.AddSink("file", file.NewSink) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY)")
	for round := range 6 {
		dir := t.TempDir()
		a.must("DELETE FROM t")
		a.must("CREATE SINK s AS SELECT id FROM t WITH (connector = 'file', type = 'changes', path = '" + dir + "/out') FORMAT PLAIN ENCODE JSON")
		stalled := round%3 == 2
		var want strings.Builder
		for id := range 5 {
			fmt.Fprintf(&want, "{\"op\":\"insert\",\"id\":%d}\n", id)
			a.must(fmt.Sprintf("INSERT INTO t VALUES (%d)", id))
			if round%3 > 0 {
				// A checkpoint.
				a.must("CREATE VIEW w AS SELECT 1")
				a.must("DROP VIEW w")
			}
		}
		if stalled {
			p.setAlways(jobID(t, n, "s"), true)
			for k := 10; status(t, n, "s").State != failover.StateStalled; k++ {
				a.must(fmt.Sprintf("INSERT INTO t VALUES (%d)", k))
			}
		}
		a.want("SELECT guarantee FROM weir_sinks", "exactly once")
		a.must("DROP SINK s")
		names, err := os.ReadDir(dir)
		if err != nil || len(names) != 1 || names[0].Name() != "out" {
			t.Fatalf("round %d: %v, %v", round, names, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "out"))
		if err != nil || string(got) != want.String() {
			t.Fatalf("round %d: %v, %s", round, err, got)
		}
	}
}
