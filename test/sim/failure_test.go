package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/file"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// patience is how long a test waits for what must come. Machines may be slow.
const patience = 2 * time.Minute

// faulty is a connector that fails when it is told to. Its source has one column with the numbers from 0,
// of which limit are there; its sink takes anything.
type faulty struct {
	// mode is 0 to work, 1 to fail, 2 to panic.
	mode  atomic.Int32
	limit atomic.Int64
	mu    sync.Mutex
	ready map[chan struct{}]bool
}

func newFaulty() *faulty { return &faulty{ready: map[chan struct{}]bool{}} }

func (f *faulty) register(r *connector.Registry) {
	r.AddSource("faulty", func(connector.Config) (exec.Source, error) { return f, nil })
	r.AddSink("faulty", func(connector.Config) (exec.Sink, error) { return faultySink{f}, nil })
}

var errFaulty = errors.New("the faulty connector fails as it was told")

func (f *faulty) fail() error {
	switch f.mode.Load() {
	case 1:
		return errFaulty
	case 2:
		panic(errFaulty)
	}
	return nil
}

// give makes n rows available.
func (f *faulty) give(n int64) {
	f.limit.Store(n)
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.ready {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (f *faulty) Columns() []exec.Column {
	return []exec.Column{{Name: "n", Type: types.T(types.Int8)}}
}
func (f *faulty) Splits() int      { return 1 }
func (f *faulty) Replayable() bool { return true }

func (f *faulty) Open(_ context.Context, _ int, offset []byte, _ []int) (exec.Reader, error) {
	r := &faultyReader{f: f, ready: make(chan struct{}, 1)}
	if offset != nil {
		if _, err := fmt.Sscan(string(offset), &r.at); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready[r.ready] = true
	return r, nil
}

type faultyReader struct {
	f     *faulty
	at    int64
	ready chan struct{}
}

func (r *faultyReader) Next(dst *vec.Chunk, most int) (int, error) {
	limit := r.f.limit.Load()
	if r.at >= limit {
		return 0, exec.ErrNoData
	}
	if err := r.f.fail(); err != nil {
		return 0, err
	}
	n := min(int64(most), limit-r.at, 10)
	for range n {
		dst.Cols[0].AppendDatum(types.DInt(r.at))
		r.at++
	}
	return int(n), nil
}

func (r *faultyReader) Ready() <-chan struct{} { return r.ready }
func (r *faultyReader) Offset() []byte         { return fmt.Append(nil, r.at) }
func (r *faultyReader) OffsetRows() int64      { return r.at }
func (r *faultyReader) SetColumns([]int)       {}
func (r *faultyReader) Close() error {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	delete(r.f.ready, r.ready)
	return nil
}

type faultySink struct{ f *faulty }

func (s faultySink) Open(context.Context, []exec.Column) (exec.SinkWriter, error) { return s, nil }
func (s faultySink) Write(*vec.Chunk) error                                       { return s.f.fail() }
func (s faultySink) Barrier(storage.Epoch, bool) error                            { return nil }
func (s faultySink) Close() error                                                 { return nil }

// client is a connection of a test.
type client struct {
	t testing.TB
	*pgx.Conn
	notices []string
}

func dial(t testing.TB, n *node) *client {
	t.Helper()
	cfg, err := pgx.ParseConfig("postgres://weir@" + n.srv.Addr().String() + "/weir?sslmode=disable&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.notices = append(c.notices, n.Severity+": "+n.Message) }
	if c.Conn, err = pgx.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func (c *client) must(sql string) {
	c.t.Helper()
	if _, err := c.Exec(c.t.Context(), sql); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
}

// fails runs a statement that must fail with a SQLSTATE, and gives the message and hint.
func (c *client) fails(code, sql string) string {
	c.t.Helper()
	_, err := c.Exec(c.t.Context(), sql)
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code {
		c.t.Fatalf("%s: %v, want SQLSTATE %s", sql, err, code)
	}
	return e.Message + " " + e.Hint
}

// get gives the rows of a query; a read that a recovery interrupts is tried again.
func (c *client) get(sql string) []string {
	c.t.Helper()
	for {
		got, err := rows(c.t.Context(), c, sql)
		var e *pgconn.PgError
		if errors.As(err, &e) && (e.Code == "40001" || strings.Contains(e.Message, "cannot recover")) {
			continue
		}
		if err != nil {
			c.t.Fatalf("%s: %v", sql, err)
		}
		return got
	}
}

func (c *client) want(sql string, want ...string) {
	c.t.Helper()
	if got := c.get(sql); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
		c.t.Fatalf("%s: %v, want %v", sql, got, want)
	}
}

// await repeats a query until it gives want.
func (c *client) await(sql string, want ...string) {
	c.t.Helper()
	end := time.Now().Add(patience)
	for !reflect.DeepEqual(c.get(sql), want) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: %v, want %v", sql, c.get(sql), want)
		}
	}
}

func mustOpen(t *testing.T, fs vfs.FS, f *faulty) *node {
	t.Helper()
	return mustOpenTuned(t, fs, f, func(*server.Config) {})
}

func mustOpenTuned(t *testing.T, fs vfs.FS, f *faulty, tune func(*server.Config)) *node {
	t.Helper()
	n, err := openTuned(fs, 1, tune, f.register, func(r *connector.Registry) { r.AddSource("file", file.NewSource) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return n
}

// TestFailingJobs: with the strategy restart-all a job that panics or fails is started again with everything else; no acknowledged write is
// lost, open transactions are told to start again and do not hold up the recovery; a job that fails always is
// stalled, and the others go on. What its inputs do meanwhile it has missed, so it does not come back after
// a restart but has to be created again.
func TestFailingJobs(t *testing.T) {
	for _, mode := range []int32{1, 2} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			fs := vfs.NewMem()
			f := newFaulty()
			all := func(c *server.Config) { c.FailoverStrategy, c.RestartAttempts = "restart-all", 3 }
			n := mustOpenTuned(t, fs, f, all)
			a, b, r := dial(t, n), dial(t, n), dial(t, n)
			a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
			a.must("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(v) AS total FROM t")
			a.must("CREATE SINK s AS SELECT id, v FROM t WITH (connector = 'faulty')")
			a.must("INSERT INTO t VALUES (0, 0)")
			b.must("BEGIN")
			b.must("INSERT INTO t VALUES (1000000, 100)")
			r.must("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
			r.want("SELECT n FROM v", "1")

			f.mode.Store(mode)
			id := 0
			for n.srv.Engine().Stats().Recoveries == 0 {
				id++
				_, err := a.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", id, id))
				var e *pgconn.PgError
				if errors.As(err, &e) && e.Code == "40001" {
					id--
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			a.want("SELECT * FROM v", fmt.Sprintf("%d|%d", id+1, id*(id+1)/2))
			if msg := b.fails("40001", "INSERT INTO t VALUES (1000001, 101)"); !strings.Contains(msg, "can be tried again") {
				t.Error(msg)
			}
			b.must("ROLLBACK")
			r.fails("40001", "SELECT n FROM v")
			r.must("ROLLBACK")
			b.must("INSERT INTO t VALUES (1000000, 0)")
			r.want("SELECT n FROM v", fmt.Sprint(id+2))
			problem := a.get("SELECT name, state, problem FROM weir_jobs WHERE kind = 'sink'")
			if len(problem) != 1 || !strings.Contains(problem[0], errFaulty.Error()) || strings.Contains(problem[0], "goroutine") {
				t.Error(problem)
			}

			f.mode.Store(0)
			if err := n.close(); err != nil {
				t.Fatal(err)
			}
			n.done <- nil
			n = mustOpenTuned(t, fs, f, all)
			a = dial(t, n)
			a.want("SELECT n FROM v", fmt.Sprint(id+2))
			if problem := a.get("SELECT problem FROM weir_jobs WHERE name = 's'"); !strings.Contains(problem[0], "stalled") {
				t.Error(problem)
			}
			a.must("DROP SINK s")
			a.must("CREATE SINK s AS SELECT id, v FROM t WITH (connector = 'faulty')")
			a.must("INSERT INTO t VALUES (200, 0)")
			a.want("SELECT n FROM v", fmt.Sprint(id+3))
			if n := n.srv.Engine().Stats().Recoveries; n != 0 {
				t.Errorf("%d recoveries", n)
			}
		})
	}
}

// TestStalledSource: a source whose reader panics always is stalled. A view that has no other input stands
// still with it, and goes on after a restart when the cause is gone; one that has is given up.
func TestStalledSource(t *testing.T) {
	fs := vfs.NewMem()
	f := newFaulty()
	f.give(20)
	n := mustOpen(t, fs, f)
	a := dial(t, n)
	a.must("CREATE SOURCE src (n int8) WITH (connector = 'faulty')")
	a.must("CREATE TABLE t (n int8)")
	a.must("CREATE TABLE kept (n int8 PRIMARY KEY) WITH (connector = 'faulty')")
	a.must("CREATE MATERIALIZED VIEW alone AS SELECT count(*) AS c, max(n) AS m FROM src")
	a.must("CREATE MATERIALIZED VIEW pair AS SELECT t.n FROM t JOIN src ON t.n = src.n")
	a.must("INSERT INTO t VALUES (5), (35)")
	a.await("SELECT * FROM alone", "20|19")
	a.await("SELECT count(*) FROM kept", "20")
	f.mode.Store(2)
	f.give(40)
	// Before they are stalled they are restarting.
	a.await("SELECT name FROM weir_jobs WHERE state = 'stalled'", "alone", "kept", "pair")
	for _, v := range []string{"alone", "pair", "kept"} {
		if msg := a.fails("55000", "SELECT * FROM "+v); !strings.Contains(msg, "stalled") {
			t.Error(msg)
		}
	}
	if msg := a.fails("55000", "CREATE MATERIALIZED VIEW more AS SELECT n FROM src"); !strings.Contains(msg, "stalled") {
		t.Error(msg)
	}
	a.must("INSERT INTO t VALUES (36)")
	a.want("SELECT n FROM t", "35", "36", "5")
	f.mode.Store(0)
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	n.done <- nil
	n = mustOpen(t, fs, f)
	a = dial(t, n)
	a.await("SELECT * FROM alone", "40|39")
	a.await("SELECT count(*), sum(n) FROM kept", "40|780")
	if msg := a.fails("55000", "SELECT * FROM pair"); !strings.Contains(msg, "RESUME") {
		t.Error(msg)
	}
	a.must("DROP MATERIALIZED VIEW pair")
	a.must("CREATE MATERIALIZED VIEW pair AS SELECT t.n FROM t JOIN src ON t.n = src.n")
	a.want("SELECT n FROM pair", "35", "36", "5")
}

// TestFailingCreation: a view or sink whose job fails while it is made is reported with the reason, not as
// something to try again; it leaves nothing, and its id does not stay stalled for whoever gets it next.
func TestFailingCreation(t *testing.T) {
	f := newFaulty()
	n := mustOpen(t, vfs.NewMem(), f)
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY)")
	a.must("INSERT INTO t VALUES (1)")
	before := tables(t, n)
	f.mode.Store(2)
	for range 4 {
		if msg := a.fails("XX000", "CREATE SINK s AS SELECT id FROM t WITH (connector = 'faulty')"); !strings.Contains(msg, errFaulty.Error()) {
			t.Error(msg)
		}
	}
	f.mode.Store(0)
	a.want("SELECT * FROM t", "1")
	a.must("CREATE SINK s AS SELECT id FROM t WITH (connector = 'faulty')")
	a.must("DROP SINK s")
	if after := tables(t, n); !reflect.DeepEqual(after, before) {
		t.Errorf("tables %v, before %v", after, before)
	}
}

// tables lists what has keys on disk.
func tables(t *testing.T, n *node) []storage.TableID {
	t.Helper()
	inc, release, err := n.srv.Engine().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := inc.RT.WaitDurable(t.Context(), inc.RT.Open()); err != nil {
		t.Fatal(err)
	}
	ids, err := inc.Store.Tables()
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestDropLeavesNothing: what is dropped, and what was cancelled while it was filled, leaves no key behind:
// rows, unique indexes, sequences, operator state, positions of sources.
func TestDropLeavesNothing(t *testing.T) {
	f := newFaulty()
	f.give(1000)
	n := mustOpen(t, vfs.NewMem(), f)
	a, b := dial(t, n), dial(t, n)
	a.must("CREATE TABLE keep (id serial PRIMARY KEY, u int UNIQUE)")
	a.must("INSERT INTO keep (u) VALUES (1)")
	before := tables(t, n)
	for round := range 2 {
		a.must("CREATE TABLE t (id serial PRIMARY KEY, u int UNIQUE, v int GENERATED ALWAYS AS IDENTITY)")
		a.must("CREATE SOURCE src (n int8) WITH (connector = 'faulty')")
		a.must("CREATE TABLE c (n int8 PRIMARY KEY) WITH (connector = 'faulty')")
		a.must("INSERT INTO t (u) VALUES (1), (2), (3)")
		a.must("CREATE MATERIALIZED VIEW v AS SELECT u, count(*) AS n FROM t JOIN src ON u = n GROUP BY u")
		a.must("CREATE MATERIALIZED VIEW w AS SELECT n, count(*) AS c, min(u) AS m FROM v GROUP BY n")
		a.want("SELECT * FROM w", "1|3|1")
		if len(tables(t, n)) <= len(before)+4 {
			t.Fatalf("only %v", tables(t, n))
		}
		if round == 0 {
			a.must("DROP TABLE t CASCADE")
			a.must("DROP SOURCE src")
			a.must("DROP TABLE c")
		} else {
			a.must("DROP SOURCE src CASCADE")
			a.must("DROP TABLE t, c")
		}
		if after := tables(t, n); !reflect.DeepEqual(after, before) {
			t.Errorf("tables %v, before %v", after, before)
		}
	}
	inc, release, err := n.srv.Engine().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sn, err := inc.Snapshot(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	sequences := 0
	it := sn.Table(1).Iterator(nil, nil, false)
	for it.Next() {
		sequences++
	}
	if err := it.Close(); err != nil || sequences != 2 {
		t.Errorf("%d rows of sequences are left, one has 2: %v", sequences, err)
	}
	sn.Release()
	release()

	// A drop waits for a writer, and what comes after it finds nothing.
	a.must("CREATE TABLE t (id int PRIMARY KEY)")
	a.must("BEGIN")
	a.must("INSERT INTO t VALUES (1)")
	dropped := make(chan error, 1)
	go func() {
		_, err := b.Exec(t.Context(), "DROP TABLE t")
		dropped <- err
	}()
	a.must("INSERT INTO t VALUES (2)")
	a.must("COMMIT")
	if err := <-dropped; err != nil {
		t.Error(err)
	}
	a.fails("42P01", "INSERT INTO t VALUES (3)")
	if after := tables(t, n); !reflect.DeepEqual(after, before) {
		t.Errorf("tables %v, before %v", after, before)
	}
}

// TestCancelledBackfill: CREATE MATERIALIZED VIEW that is cancelled while it is filled leaves nothing.
func TestCancelledBackfill(t *testing.T) {
	f := newFaulty()
	n := mustOpen(t, vfs.NewMem(), f)
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, v int8)")
	a.must("INSERT INTO t SELECT i, i % 1000 FROM generate_series(1, 200000) AS g(i)")
	before := tables(t, n)
	cancelled := 0
	for _, d := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond} {
		a.must(fmt.Sprintf("SET statement_timeout = %d", d.Milliseconds()))
		_, err := a.Exec(t.Context(), "CREATE MATERIALIZED VIEW v AS SELECT v, count(*) AS n FROM t GROUP BY v")
		a.must("SET statement_timeout = 0")
		if err == nil {
			a.must("DROP MATERIALIZED VIEW v")
			continue
		}
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "57014" {
			t.Fatal(err)
		}
		cancelled++
		a.fails("42P01", "SELECT * FROM v")
		if after := tables(t, n); !reflect.DeepEqual(after, before) {
			t.Errorf("cancelled after %v: tables %v, before %v", d, after, before)
		}
	}
	if cancelled == 0 {
		t.Error("nothing was cancelled")
	}
	a.must("CREATE MATERIALIZED VIEW v AS SELECT v, count(*) AS n FROM t GROUP BY v")
	a.want("SELECT count(*), min(n), max(n) FROM v", "1000|200|200")
}

// TestFileShrinks: a file that shrinks or is replaced is a warning on every read of what comes from it, which
// names it; when it is put right the source goes on, without a restart.
func TestFileShrinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content := "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"
	write(content)
	n := mustOpen(t, vfs.NewMem(), newFaulty())
	a := dial(t, n)
	a.must("CREATE SOURCE src (n int8) WITH (connector = 'file', path = '" + path + "', follow = 'true') FORMAT PLAIN ENCODE JSON")
	a.must("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS c, sum(n) AS s FROM src")
	a.must("CREATE MATERIALIZED VIEW w AS SELECT c FROM v")
	a.await("SELECT * FROM v", "3|6")
	write("{\"n\":1}\n")
	end := time.Now().Add(patience)
	for a.notices = nil; len(a.notices) == 0; {
		n.clock.advance(time.Second)
		a.want("SELECT c FROM w", "3")
		if time.Now().After(end) {
			t.Fatal("no warning")
		}
	}
	if w := a.notices[0]; !strings.HasPrefix(w, "WARNING") || !strings.Contains(w, path) || !strings.Contains(w, "src") {
		t.Error(w)
	}
	write(content + "{\"n\":4}\n")
	for !reflect.DeepEqual(a.get("SELECT * FROM v"), []string{"4|10"}) {
		n.clock.advance(time.Second)
		if time.Now().After(end) {
			t.Fatal(a.get("SELECT * FROM v"), a.notices)
		}
	}
	a.notices = nil
	a.want("SELECT c FROM w", "4")
	if len(a.notices) > 0 {
		t.Error(a.notices)
	}
}

// smallDisk says how much room there is.
type smallDisk struct {
	vfs.FS
	avail atomic.Uint64
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.avail.Load(), TotalBytes: 1 << 40}, nil
}

// TestDiskFull: when the disk is full writers are told, reads go on, and writing works again when there is room,
// whether it was the log that had no room or a checkpoint; nothing acknowledged is lost.
func TestDiskFull(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var full atomic.Pointer[string] // writes to write ahead logs whose path contains it fail
	disk := &smallDisk{FS: watched(mem, func(op errorfs.Op) error {
		p := full.Load()
		if p == nil || !strings.Contains(op.Path, *p) || !strings.Contains(op.Path, ".log") {
			return nil
		}
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate:
			return syscall.ENOSPC
		case errorfs.OpFileSync, errorfs.OpFileSyncData:
			if strings.Contains(op.Path, "/data/log/") {
				return syscall.ENOSPC
			}
		}
		return nil
	})}
	disk.avail.Store(1 << 40)
	n, err := openTuned(disk, 1, func(c *server.Config) { c.ShutdownGrace = 100 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	a := dial(t, n)
	a.must("CREATE TABLE t (id int8 PRIMARY KEY, pad text)")
	a.must("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	count := 0
	size := 100_000
	insert := func() error {
		_, err := a.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d, repeat('x', %d))", count, size))
		if err == nil {
			count++
		}
		return err
	}
	for range 3 {
		if err := insert(); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		a.want("SELECT n FROM v", fmt.Sprint(count))
		a.want("SELECT count(*) FROM t", fmt.Sprint(count))
	}
	refused := func() {
		t.Helper()
		for {
			err := insert()
			if err == nil {
				continue // the room is looked at now and then
			}
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Code != "53100" {
				t.Fatalf("%v, want SQLSTATE 53100", err)
			}
			return
		}
	}
	works := func() {
		t.Helper()
		end := time.Now().Add(patience)
		for {
			err := insert()
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		check()
	}
	disk.avail.Store(100 << 10)
	refused()
	check()
	disk.avail.Store(1 << 40)
	works()

	log := "/data/log/"
	full.Store(&log)
	refused()
	check()
	full.Store(nil)
	works()

	// The storage engine waits for room for its own log, and writers are told meanwhile.
	size = 10
	tables(t, n) // a checkpoint of all that is large
	state := "/data/state/"
	full.Store(&state)
	refused()
	check()
	a.fails("53100", "CREATE TABLE u (id int8)")
	full.Store(nil)
	works()

	// A shutdown does not wait for room, and the next start has everything.
	full.Store(&state)
	refused()
	check()
	if err := n.close(); err == nil {
		t.Error("the last checkpoint had no room, and nothing was said")
	}
	full.Store(nil)
	a = dial(t, mustOpen(t, mem.CrashClone(vfs.CrashCloneCfg{}), newFaulty()))
	check()
}
