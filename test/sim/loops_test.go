package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
)

// brake holds the operators of a job: while it is on, each chunk and barrier that one of them gets costs a step.
type brake struct {
	mu    sync.Mutex
	job   flow.JobID
	off   chan struct{} // closed when the brake is not on
	steps chan struct{}
}

func newBrake() *brake {
	b := &brake{off: make(chan struct{}), steps: make(chan struct{})}
	close(b.off)
	return b
}

func (b *brake) tune(c *server.Config) {
	tune := c.Tune
	c.Tune = func(e *engine.Config) {
		if tune != nil {
			tune(e)
		}
		fault := e.Fault
		e.Fault = func(job flow.JobID, actor flow.ActorID, operator string) {
			b.call(job)
			if fault != nil {
				fault(job, actor, operator)
			}
		}
	}
}

func (b *brake) call(job flow.JobID) {
	b.mu.Lock()
	off, mine := b.off, b.job == job
	b.mu.Unlock()
	if !mine {
		return
	}
	select {
	case <-off:
		return
	default:
	}
	select {
	case <-off:
	case <-b.steps:
	}
}

// hold puts the brake on.
func (b *brake) hold(job flow.JobID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.job, b.off = job, make(chan struct{})
}

// step lets one of those that wait go on, if there is one.
func (b *brake) step() {
	select {
	case b.steps <- struct{}{}:
	default:
	}
}

func (b *brake) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.off:
	default:
		close(b.off)
	}
}

// path gives the edges from..to as VALUES.
func path(from, to int) string {
	var vs []string
	for i := from; i < to; i++ {
		vs = append(vs, fmt.Sprintf("(%d, %d)", i, i+1))
	}
	return strings.Join(vs, ", ")
}

// loopNode is a server with a recursive view over a path, whose operators are held by a brake.
func loopNode(t *testing.T, disk vfs.FS, parallelism int, f *faulty, tune ...func(*server.Config)) (*node, *brake) {
	t.Helper()
	b := newBrake()
	n, err := openTuned(disk, parallelism, func(c *server.Config) {
		for _, f := range tune {
			f(c)
		}
		b.tune(c)
	}, f.register)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.release()
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	c := dial(t, n)
	c.must("CREATE TABLE start (x int8)")
	c.must("CREATE TABLE edge (a int8, b int8)")
	c.must("CREATE TABLE other (x int8)")
	c.must("CREATE MATERIALIZED VIEW reach AS " + reachFrom)
	c.must("CREATE MATERIALIZED VIEW edges AS SELECT count(*) AS n FROM edge")
	c.must("CREATE MATERIALIZED VIEW others AS SELECT count(*) AS n FROM other")
	c.must("INSERT INTO edge VALUES " + path(0, 200))
	return n, b
}

const reachFrom = "WITH RECURSIVE r(x) AS (SELECT x FROM start UNION SELECT b FROM r JOIN edge ON a = x) SELECT x FROM r"

// in runs a query in a goroutine and gives what it returned.
func in(t *testing.T, n *node, sql string) <-chan []string {
	c := dial(t, n)
	out := make(chan []string, 1)
	go func() { out <- c.get(sql) }()
	return out
}

func none(t *testing.T, what string, out <-chan []string) {
	t.Helper()
	select {
	case got := <-out:
		t.Fatalf("%s has not waited for the iteration, and gave %v", what, got)
	default:
	}
}

// TestReadsDoNotWaitForALoop (S28): while a loop iterates, as long as it likes, strict reads of everything that does not
// depend on it see every acknowledged write, and barriers go on; what depends on it waits, and all relations of one read, and
// of one transaction, are at one epoch.
func TestReadsDoNotWaitForALoop(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		t.Run(fmt.Sprint(parallelism), func(t *testing.T) {
			n, b := loopNode(t, vfs.NewMem(), parallelism, newFaulty())
			a, r := dial(t, n), dial(t, n)
			a.want("SELECT count(*) FROM reach", "0")
			b.hold(jobID(t, n, "reach"))
			a.must("INSERT INTO start VALUES (0)")
			whole := in(t, n, "SELECT count(*) FROM reach")
			both := in(t, n, "SELECT (SELECT count(*) FROM reach), (SELECT count(*) FROM start), (SELECT n FROM others) >= 40")
			a.want("SELECT n FROM edges", "200")
			a.want("SELECT count(*) FROM start", "1")
			r.must("BEGIN READ ONLY")
			for i := range 40 {
				a.must(fmt.Sprintf("INSERT INTO other VALUES (%d)", i))
				a.want("SELECT n FROM others", fmt.Sprint(i+1))
				if i == 20 {
					r.want("SELECT n FROM others", "21")
				}
			}
			// Who writes what the loop reads waits for it once it is late; whether it is, is not known here.
			more := in(t, n, "INSERT INTO edge VALUES (5, 1000), (1000, 1001) RETURNING 1")
			none(t, "reach", whole)
			none(t, "a read of reach and of others", both)
			if m := n.inc(t).RT.Marks(); m.Injected < m.Completed+40 {
				t.Errorf("the barriers of 40 reads, and %+v", m)
			}
			late := make(chan []string, 1)
			go func() {
				late <- r.get("SELECT (SELECT count(*) FROM reach), (SELECT n FROM edges), (SELECT n FROM others)")
			}()
			a.want("SELECT n FROM others", "40")
			none(t, "a later read of a transaction", late)
			b.release()
			<-more
			for _, w := range []struct {
				what string
				out  <-chan []string
				// want are what it may have: at the epoch for which it waited, or a later one.
				want []string
			}{
				{"reach", whole, []string{"201", "203"}},
				{"reach and others", both, []string{"201|1|f", "201|1|t", "203|1|t"}},
				{"the transaction", late, []string{"201|200|21"}},
			} {
				if got := <-w.out; len(got) != 1 || !slices.Contains(w.want, got[0]) {
					t.Errorf("%s: %v, want one of %v", w.what, got, w.want)
				}
			}
			r.must("COMMIT")
			a.want("SELECT count(*) FROM reach", "203")
			a.want("SELECT n FROM others", "40")
		})
	}
}

// TestALoopDoesNotHoldUpItsInputs (S29): what a source delivers while a loop over it iterates is put aside by the loop, so that the
// other consumers of the source get it; then the loop takes it.
func TestALoopDoesNotHoldUpItsInputs(t *testing.T) {
	f := newFaulty()
	n, b := loopNode(t, vfs.NewMem(), 2, f)
	a := dial(t, n)
	const rounds = 4000
	a.must("INSERT INTO edge VALUES " + path(200, rounds))
	a.must("CREATE SOURCE src (n int8) WITH (connector = 'faulty')")
	a.must("CREATE MATERIALIZED VIEW seen AS SELECT count(*) AS n FROM src")
	const twoWays = "WITH RECURSIVE r(x) AS (SELECT x FROM start UNION SELECT b FROM r JOIN edge ON a = x UNION SELECT n + 50000 FROM r JOIN src ON n = x) SELECT x FROM r"
	a.must("CREATE MATERIALIZED VIEW two AS " + twoWays)
	b.hold(jobID(t, n, "two"))
	a.must("INSERT INTO start VALUES (0)")
	two := in(t, n, "SELECT count(*) FROM two")
	// The loop goes on slowly: so many rounds take far more steps than are needed to put aside 100 chunks.
	go func() {
		slow := time.NewTicker(time.Millisecond)
		defer slow.Stop()
		for t.Context().Err() == nil {
			<-slow.C
			b.step()
		}
	}()
	f.give(1000)
	a.await("SELECT n FROM seen", "1000")
	none(t, "a read of the loop", two)
	b.release()
	<-two
	// Those of the edges, and those of them that the source has, moved.
	a.want("SELECT count(*) FROM two", fmt.Sprint(rounds+1+1000))
}

// TestCrashInAnIteration (S30): the server dies, and so does its coordinator before that, while a loop iterates and other
// tables are written to. Every acknowledged write is there, and the view is its query.
func TestCrashInAnIteration(t *testing.T) {
	disk := vfs.NewCrashableMem()
	n, b := loopNode(t, disk, 2, newFaulty())
	a := dial(t, n)
	a.must("INSERT INTO start VALUES (100)")
	a.must("CHECKPOINT")
	a.want("SELECT count(*) FROM reach", "101")
	b.hold(jobID(t, n, "reach"))
	a.must("BEGIN; INSERT INTO start VALUES (0); DELETE FROM edge WHERE a = 150; COMMIT")
	whole := in(t, n, "SELECT count(*) FROM reach")
	for i := range 30 {
		a.must(fmt.Sprintf("INSERT INTO other VALUES (%d)", i))
		a.want("SELECT n FROM others", fmt.Sprint(i+1))
		b.step()
		if i%10 == 5 {
			n.inc(t).RT.KillCoordinator(1 + i)
		}
	}
	a.want("SELECT n FROM edges", "199")
	none(t, "reach", whole)
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	check := func(n *node) {
		c := dial(t, n)
		c.want("SELECT count(*) FROM reach", "151")
		c.want("SELECT n FROM others", "30")
		c.want("SELECT n FROM edges", "199")
		c.must("INSERT INTO edge VALUES (150, 151)")
		c.want("SELECT count(*) FROM reach", "201")
	}
	again, err := open(crashed, 2, func(r *connector.Registry) { newFaulty().register(r) })
	if err != nil {
		t.Fatal(err)
	}
	check(again)
	if err := again.close(); err != nil {
		t.Error(err)
	}
	// And who did not die goes on.
	b.release()
	<-whole
	check(n)
}

// TestRegionRestartInAnIteration (S31): an operator in a loop's body panics in the middle of an iteration. Only the
// loop's region starts again, from the last checkpoint; everything else answers meanwhile, and is not touched.
func TestRegionRestartInAnIteration(t *testing.T) {
	p := newPanics()
	n, b := loopNode(t, vfs.NewMem(), 2, newFaulty(), p.tune)
	a := dial(t, n)
	a.must("CREATE MATERIALIZED VIEW above AS SELECT count(*) AS n FROM reach")
	before := actors(t, n, "others")
	reach := jobID(t, n, "reach")
	for round := range 3 {
		b.hold(reach)
		a.must(fmt.Sprintf("INSERT INTO start VALUES (%d)", 100-50*round))
		whole := in(t, n, "SELECT n FROM above")
		for i := range 12 {
			a.must(fmt.Sprintf("INSERT INTO other VALUES (%d)", i))
			a.want("SELECT n FROM others", fmt.Sprint(12*round+i+1))
			b.step()
		}
		none(t, "above", whole)
		p.arm(reach, 20)
		b.release()
		if got, want := <-whole, fmt.Sprint(101+50*round); len(got) != 1 || got[0] != want {
			t.Fatalf("round %d: %v, want %s", round, got, want)
		}
	}
	if p.hits.Load() == 0 {
		t.Error("nothing has failed")
	}
	a.want("SELECT count(*) FROM ("+reachFrom+") q", "201")
	a.want("SELECT count(*) FROM reach", "201")
	if after := actors(t, n, "others"); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("actors %v of a job that has not failed, now %v", before, after)
	}
}

// TestALoopThatMultipliesItsRows (S24): feedback and log are far larger than their memory, so both are on disk. Checkpoints come
// through, nothing stands still, others are read meanwhile, and a crash at any of these moments leads to the same rows.
func TestALoopThatMultipliesItsRows(t *testing.T) {
	disk := vfs.NewCrashableMem()
	n, _ := loopNode(t, disk, 2, newFaulty(), func(c *server.Config) {
		tune := c.Tune
		c.Tune = func(e *engine.Config) {
			tune(e)
			e.LoopMemory = 256
		}
	})
	a, k := dial(t, n), dial(t, n)
	a.must("CREATE TABLE dense (a int8, b int8)")
	const pairs = "WITH RECURSIVE p(a, b) AS (SELECT a, b FROM dense UNION SELECT p.a, q.b FROM p JOIN p q ON p.b = q.a) SELECT a, b FROM p"
	a.must("CREATE MATERIALIZED VIEW pairs AS " + pairs)
	a.must("INSERT INTO dense SELECT i, (i * 7 + j) % 40 FROM generate_series(0, 39) AS s(i), generate_series(1, 5) AS r(j)")
	all := in(t, n, "SELECT count(*) FROM pairs")
	saved := make(chan error, 1)
	go func() {
		_, err := k.Exec(t.Context(), "CHECKPOINT")
		saved <- err
	}()
	var crashed []*vfs.MemFS
	for i := range 20 {
		a.must(fmt.Sprintf("INSERT INTO other VALUES (%d)", i))
		a.want("SELECT n FROM others", fmt.Sprint(i+1))
		if i%7 == 3 {
			crashed = append(crashed, disk.CrashClone(vfs.CrashCloneCfg{}))
		}
	}
	if err := <-saved; err != nil {
		t.Error(err)
	}
	if got := <-all; !slices.Equal(got, []string{"1600"}) {
		t.Errorf("%v pairs, want 1600", got)
	}
	crashed = append(crashed, disk.CrashClone(vfs.CrashCloneCfg{}))
	for i, fs := range crashed {
		again, err := open(fs, 2, func(r *connector.Registry) { newFaulty().register(r) })
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, again)
		c.want("SELECT count(*) FROM pairs", "1600")
		c.must("DELETE FROM dense WHERE a % 2 = 0")
		if got, want := c.get("SELECT count(*) FROM pairs"), c.get("SELECT count(*) FROM ("+pairs+") q"); !slices.Equal(got, want) {
			t.Errorf("crash %d: %v pairs, want %v", i, got, want)
		}
		if err := again.close(); err != nil {
			t.Error(err)
		}
	}
}
