package sim

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
)

// diskSize is that of the small file systems, in MB.
const diskSize = 48

// fullDisk is a small disk that can be filled: a file system of its own if the test may mount one, else one in memory on which
// writing fails as on a full one.
type fullDisk struct {
	t testing.TB
	// dir is where a file system is mounted; "" if it is in memory.
	dir string
	fs  vfs.FS
	// left is how much is left on the one in memory, once it is full.
	full atomic.Bool
	left atomic.Int64
}

func newFullDisk(t testing.TB) *fullDisk {
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", diskSize), "weir-test", dir).Run(); err == nil {
		t.Cleanup(func() {
			if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		return &fullDisk{t: t, dir: dir, fs: vfs.Default}
	}
	t.Log("no file system can be mounted: in memory")
	return newFullMemory(t)
}

func newFullMemory(t testing.TB) *fullDisk {
	d := &fullDisk{t: t}
	d.fs = sizedDisk{FS: noReuse{vfs.NewCrashableMem()}, d: d}
	return d
}

// take takes n bytes of what is left.
func (d *fullDisk) take(n int) error {
	if d.full.Load() && d.left.Add(-int64(n)) < 0 {
		d.left.Store(0)
		return syscall.ENOSPC
	}
	return nil
}

type sizedDisk struct {
	vfs.FS
	d *fullDisk
}

func (s sizedDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	u := vfs.DiskUsage{AvailBytes: diskSize << 20, TotalBytes: diskSize << 20}
	if s.d.full.Load() {
		u.AvailBytes = uint64(s.d.left.Load())
	}
	return u, nil
}

func (s sizedDisk) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return sizedFile{f, s.d}, nil
}

func (s sizedDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := s.d.take(1); err != nil {
		return nil, err
	}
	return s.file(s.FS.Create(name, c))
}

func (s sizedDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return s.file(s.FS.OpenReadWrite(name, c, opts...))
}

func (s sizedDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := s.d.take(1); err != nil {
		return nil, err
	}
	return s.file(s.FS.ReuseForWrite(from, to, c))
}

type sizedFile struct {
	vfs.File
	d *fullDisk
}

func (f sizedFile) Write(p []byte) (int, error) {
	if err := f.d.take(len(p)); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f sizedFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.d.take(len(p)); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (d *fullDisk) data() string { return filepath.Join("/", d.dir, "data") }

// fill leaves only so many bytes.
func (d *fullDisk) fill(left int64) {
	d.t.Helper()
	if d.dir == "" {
		d.left.Store(left)
		d.full.Store(true)
		return
	}
	f, err := os.Create(filepath.Join(d.dir, "ballast"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for {
		u, err := d.fs.GetDiskUsage(d.dir)
		if err != nil {
			d.t.Fatal(err)
		}
		n := int64(u.AvailBytes) - left
		if n < 4096 {
			return
		}
		// The server writes too.
		if _, err := f.Write(make([]byte, min(n, 1<<20))); err != nil && !errors.Is(err, syscall.ENOSPC) {
			d.t.Fatal(err)
		}
	}
}

// free gives the room back.
func (d *fullDisk) free() {
	d.t.Helper()
	if d.dir == "" {
		d.full.Store(false)
	} else if err := os.Remove(filepath.Join(d.dir, "ballast")); err != nil {
		d.t.Fatal(err)
	}
}

// open starts a server on the disk. reserve is Storage.ReserveBytes; if it is negative, nothing looks at the room before it writes.
func (d *fullDisk) open(reserve int64, parallelism int, tune func(*engine.Config)) *node {
	d.t.Helper()
	n, err := openTuned(d.fs, parallelism, func(c *server.Config) {
		c.DataDir = d.data()
		c.ShutdownGrace = 100 * time.Millisecond
		inner := c.Tune
		c.Tune = func(e *engine.Config) {
			inner(e)
			e.Storage.ReserveBytes = reserve
			if tune != nil {
				tune(e)
			}
		}
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = n.close() }) // what a full disk has left unwritten is not this test's affair
	return n
}

// code is the SQLSTATE of an error, "" if there is none.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// writer inserts rows into t (id, k, pad), and knows which have been acknowledged.
type writer struct {
	c    *client
	next int
	rows int
	size int
}

// insert inserts n rows with one statement.
func (w *writer) insert(n int) error {
	from := w.next
	w.next += n
	_, err := w.c.Exec(w.c.t.Context(), fmt.Sprintf("INSERT INTO t SELECT i, i %% 1000, repeat('x', %d) FROM generate_series(%d, %d) AS g(i)", w.size, from, w.next-1))
	if err == nil {
		w.rows += n
	}
	return err
}

// refused inserts until there is no room.
func (w *writer) refused(n int) {
	w.c.t.Helper()
	end := time.Now().Add(patience)
	for {
		err := w.insert(n)
		if code(err) == "53100" {
			return
		}
		if err != nil || time.Now().After(end) {
			w.c.t.Fatalf("%v, want SQLSTATE 53100", err)
		}
	}
}

// works inserts until there is room again.
func (w *writer) works(n int) {
	w.c.t.Helper()
	end := time.Now().Add(patience)
	for {
		err := w.insert(n)
		if err == nil {
			return
		}
		if code(err) != "53100" || time.Now().After(end) {
			w.c.t.Fatal(err)
		}
	}
}

func (w *writer) check(c *client) {
	c.t.Helper()
	c.want("SELECT count(*) FROM t", fmt.Sprint(w.rows))
	c.want("SELECT coalesce(sum(n), 0) FROM v", fmt.Sprint(w.rows))
	if got, want := c.get("SELECT k, n, low FROM v"), c.get("SELECT k, count(*), min(id) FROM t GROUP BY k"); !reflect.DeepEqual(got, want) {
		c.t.Fatalf("the view is %v, its query %v", got, want)
	}
}

func makeTables(c *client) {
	c.must("CREATE TABLE t (id int8 PRIMARY KEY, k int8, pad text)")
	c.must("CREATE MATERIALIZED VIEW v AS SELECT k, count(*) AS n, min(id) AS low FROM t GROUP BY k")
}

// rounds is how often a disk is filled.
func rounds(t *testing.T) int { return max(1, min(10, int(soak(t, time.Second)/time.Second))) }

// TestFullDisk: on a real file system that is full, writers are told (53100) and reads go on; when there is room, work resumes by itself,
// and a server that is started again has everything that was acknowledged.
func TestFullDisk(t *testing.T) {
	for _, c := range []struct {
		name string
		// reserve as for open; left is what is left on the disk.
		reserve, left int64
		// rows and size are those of an insert.
		rows, size int
		tune       func(*engine.Config)
	}{
		// The reserve is what the log leaves to checkpoints.
		{name: "log", reserve: 8 << 20, left: 7 << 20, rows: 100, size: 5000},
		// The log finds no room when it writes.
		{name: "log write", reserve: -1, left: 40 << 10, rows: 10, size: 10_000},
		// There is room for the log, and none for a checkpoint: what views hold in memory and cannot write is what is refused.
		{name: "checkpoint", reserve: 64 << 10, left: 3 << 20, rows: 100, size: 8000, tune: func(e *engine.Config) { e.MemoryLimit = 8 << 20 }},
		// The storage engine finds no room in the middle of a checkpoint, a flush, a compaction or a fold.
		{name: "checkpoint write", reserve: -1, left: 500 << 10, rows: 500, size: 10, tune: func(e *engine.Config) { e.Storage.TailBytes = 64 << 10 }},
		// Nothing is left at all.
		{name: "nothing", reserve: -1, left: 0, rows: 500, size: 10, tune: func(e *engine.Config) { e.Storage.TailBytes = 64 << 10 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFullDisk(t)
			n := d.open(c.reserve, 1, c.tune)
			a, r := dial(t, n), dial(t, n)
			makeTables(a)
			w := &writer{c: a, size: c.size}
			for round := range rounds(t) {
				w.works(c.rows)
				w.works(1000)
				d.fill(c.left)
				w.refused(c.rows)
				w.check(r)
				if got := code(try(a, fmt.Sprintf("CREATE TABLE u%d (id int8)", round))); got != "53100" && got != "" {
					t.Fatalf("a definition: SQLSTATE %s", got)
				}
				w.check(r)
				d.free()
				w.works(c.rows)
				w.check(r)
			}
			a.want("SELECT count(*) FROM weir_jobs WHERE restarts > 0 OR state <> 'running'", "0")
			d.fill(c.left)
			w.refused(c.rows)
			_ = n.close()
			n.done <- nil
			d.free()
			n = d.open(c.reserve, 1, c.tune)
			w.c = dial(t, n)
			w.check(w.c)
			w.works(c.rows)
			w.check(w.c)
		})
	}
}

// try runs a statement.
func try(c *client, sql string) error {
	_, err := c.Exec(c.t.Context(), sql)
	return err
}

// TestDefinitionOnFullDisk: a definition that finds the disk full when its checkpoint is due fails with 53100 and leaves nothing. If the
// checkpoint is being written and waits for room, the definition can be cancelled, and is gone when there is room.
func TestDefinitionOnFullDisk(t *testing.T) {
	for _, c := range []struct {
		name    string
		reserve int64
		disk    func(testing.TB) *fullDisk
		timeout string
		want    string
	}{
		{"no room", 1 << 20, newFullDisk, "60s", "53100"},
		// What is written anew in the place of something old may find room.
		{"no room for writing", -1, newFullDisk, "500ms", "53100 57014 ok"},
		// Here it does not: the statement ends before its checkpoint does.
		{"cancelled", -1, newFullMemory, "500ms", "57014 53100"},
		{"not cancelled", -1, newFullMemory, "60s", "53100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			d := c.disk(t)
			var hold atomic.Pointer[heldFault]
			n := d.open(c.reserve, 1, func(e *engine.Config) {
				e.Fault = func(flow.JobID, flow.ActorID, string) {
					if h := hold.Swap(nil); h != nil {
						close(h.entered)
						<-h.release
					}
				}
			})
			a, b := dial(t, n), dial(t, n)
			makeTables(a)
			a.must("CREATE TABLE keep (id serial)") // there are sequences
			a.must("INSERT INTO keep VALUES (DEFAULT)")
			w := &writer{c: a, size: 10}
			w.works(2000)
			a.must("CHECKPOINT")
			before := tables(t, n)
			for _, sql := range []string{
				"CREATE MATERIALIZED VIEW w AS SELECT id, count(*) AS n FROM t GROUP BY id",
				"CREATE INDEX w ON t (pad)",
				"CREATE TABLE w AS SELECT * FROM t",
			} {
				h := &heldFault{entered: make(chan struct{}), release: make(chan struct{})}
				done := make(chan error, 1)
				hold.Store(h)
				go func() {
					_, err := b.Exec(t.Context(), "SET statement_timeout = '"+c.timeout+"'; "+sql)
					done <- err
				}()
				<-h.entered
				d.fill(0)
				close(h.release)
				got := cmp.Or(code(<-done), "ok")
				if !strings.Contains(c.want, got) {
					t.Fatalf("%s: SQLSTATE %s, want %s", sql, got, c.want)
				}
				a.want("SELECT count(*) FROM t", fmt.Sprint(w.rows))
				d.free()
				w.works(1)
				w.check(a)
				b.must("SET statement_timeout = 0")
				// It waits for what the definition has left behind.
				end := time.Now().Add(patience)
				for code(try(b, "CREATE SCHEMA s")) == "53100" {
					if time.Now().After(end) {
						t.Fatal("no room for a definition")
					}
				}
				b.must("DROP SCHEMA s")
				if got == "ok" {
					b.must("DROP " + strings.Fields(strings.TrimPrefix(sql, "CREATE "))[0] + map[bool]string{true: " VIEW"}[strings.Contains(sql, "VIEW")] + " w")
				}
				b.want("SELECT count(*) FROM pg_class WHERE relname = 'w'", "0")
				if after := tables(t, n); !reflect.DeepEqual(after, before) {
					t.Fatalf("%s: tables %v, before %v", sql, after, before)
				}
			}
			b.must("CREATE MATERIALIZED VIEW w AS SELECT id, count(*) AS n FROM t GROUP BY id")
			b.want("SELECT sum(n) FROM w", fmt.Sprint(w.rows))
		})
	}
}

type heldFault struct{ entered, release chan struct{} }

// TestSpillOnFullDisk: what arrives early at a barrier and what goes round in a loop is kept in memory, or held up, while the disk does
// not take it; nothing fails, and what is there is right.
func TestSpillOnFullDisk(t *testing.T) {
	var full atomic.Bool
	var refused, taken atomic.Int64
	fs := watched(vfs.NewMem(), func(op errorfs.Op) error {
		if !strings.Contains(op.Path, "/data/tmp/") || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRemove {
			return nil
		}
		if full.Load() {
			refused.Add(1)
			return syscall.ENOSPC
		}
		taken.Add(1)
		return nil
	})
	n, err := openTuned(fs, 3, func(c *server.Config) {
		inner := c.Tune
		c.Tune = func(e *engine.Config) {
			inner(e)
			e.EarlyMemory, e.LoopMemory, e.ChunkSize = 1, 1, 4
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.close() })
	a := dial(t, n)
	a.must("CREATE TABLE e (x int8, y int8, PRIMARY KEY (x, y))")
	a.must("CREATE MATERIALIZED VIEW pairs AS SELECT a.x, b.y FROM e a JOIN e b ON a.y = b.x")
	a.must("CREATE MATERIALIZED VIEW ends AS SELECT y, count(*) AS n FROM pairs GROUP BY y")
	reach := "WITH RECURSIVE r (x, y) AS (SELECT x, y FROM e UNION SELECT r.x, e.y FROM r JOIN e ON r.y = e.x) SELECT x, y FROM r"
	a.must("CREATE MATERIALIZED VIEW reach AS " + reach)
	a.must("SET read_freshness = 'available'")
	b := dial(t, n)
	for round := range 4 {
		full.Store(round%2 == 1)
		before := refused.Load() + taken.Load()
		for k := 0; k < 10 || refused.Load()+taken.Load() == before; k++ {
			a.must(fmt.Sprintf("INSERT INTO e SELECT i, i + 1 FROM generate_series(%d, %d) AS g(i) ON CONFLICT DO NOTHING", 1000*round+k%20*6, 1000*round+k%20*6+5))
			a.must(fmt.Sprintf("DELETE FROM e WHERE x = %d", 1000*round+k%20*6+k%5))
		}
		if got, want := b.get("SELECT x, y FROM reach"), b.get(reach); !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d: %v, want %v", round, got, want)
		}
		b.want("SELECT sum(n) FROM ends", b.get("SELECT count(*) FROM e a JOIN e b ON a.y = b.x")...)
	}
	if refused.Load() == 0 || taken.Load() == 0 {
		t.Errorf("%d writes were refused, %d not", refused.Load(), taken.Load())
	}
	b.want("SELECT count(*) FROM weir_jobs WHERE restarts > 0 OR state <> 'running'", "0")
}
