package sql

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
)

// statementTimeout is far beyond what a statement of these tests takes.
const statementTimeout = 60 * time.Second

// setup says how a server works.
type setup struct {
	chunk, parallelism int
	// onDisk keeps the data in a temporary directory and not in memory.
	onDisk bool
	// checkpoint is the time between checkpoints.
	checkpoint time.Duration
	// recursion bounds the iterations of recursive views; 0: as usual.
	recursion int
	// loopMemory is how many bytes of a loop's feedback stay in memory; 0: as usual.
	loopMemory int
	// memory is the server's memory limit; 0: none.
	memory int64
	// connections is how many sessions there may be at once; 0: as usual.
	connections int
	// portion is how many rows are read at a time to fill a view; 0: as usual.
	portion int
	// at is called before an operator gets something, with its name.
	at func(operator string)
	// fault is called before an operator of a job gets something, and may panic; jobs are then never given up.
	fault func()
	// watch looks at what operators emit.
	watch func(job string, actor flow.ActorID, operator string) flow.Watcher
}

// weir is a running server.
type weir struct {
	t     testing.TB
	setup setup
	dir   string
	fs    *vfs.MemFS // nil: the disk
	srv   *server.Server
	stop  context.CancelFunc
	done  chan error
}

// start runs a server. It ends with the test.
func start(t testing.TB, s setup) *weir {
	t.Helper()
	w := &weir{t: t, setup: s, dir: "/data"}
	if s.onDisk {
		w.dir = t.TempDir()
	} else {
		w.fs = vfs.NewCrashableMem()
	}
	if w.setup.checkpoint == 0 {
		w.setup.checkpoint = time.Second
	}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *weir) open() {
	w.t.Helper()
	srv, err := server.Open(server.Config{
		DataDir: w.dir, Listen: "127.0.0.1:0", HTTP: "off", Parallelism: max(1, w.setup.parallelism),
		MaxConnections: w.setup.connections, MaxRecursion: w.setup.recursion, BarrierInterval: 20 * time.Millisecond, CheckpointInterval: w.setup.checkpoint, ShutdownGrace: 30 * time.Second,
		Logger: slog.New(slog.NewTextHandler(logWriter{}, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Tune: func(c *engine.Config) {
			c.MemoryLimit = w.setup.memory
			c.Watch, c.Portion = w.setup.watch, w.setup.portion
			c.ChunkSize, c.LoopMemory = w.setup.chunk, w.setup.loopMemory
			if w.setup.fault != nil {
				c.Fault = func(flow.JobID, flow.ActorID, string) { w.setup.fault() }
				c.Failover.Attempts, c.Failover.FirstDelay, c.Failover.MaxDelay = -1, time.Millisecond, 2*time.Millisecond
			}
			if w.setup.at != nil {
				c.Fault = func(_ flow.JobID, _ flow.ActorID, operator string) { w.setup.at(operator) }
			}
			c.Storage.CacheBytes = 4 << 20
			c.Storage.MemTableBytes = 1 << 20
			if w.fs != nil {
				c.Storage.FS = w.fs
			}
		},
	})
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.srv, w.stop, w.done = srv, cancel, make(chan error, 1)
	go func(done chan error) { done <- srv.Run(ctx) }(w.done)
}

// logWriter shows the server's log when the environment asks for it.
type logWriter struct{}

func (logWriter) Write(b []byte) (int, error) {
	if os.Getenv("WEIR_TEST_LOG") != "" {
		return os.Stderr.Write(b)
	}
	return len(b), nil
}

// close shuts the server down in order.
func (w *weir) close() {
	if w.srv == nil {
		return
	}
	w.stop()
	if err := <-w.done; err != nil && !errors.Is(err, context.Canceled) {
		w.t.Errorf("shutdown: %v", err)
	}
	w.srv = nil
}

// restart closes the server and opens it again.
func (w *weir) restart() {
	w.t.Helper()
	w.close()
	w.open()
}

// crash goes on with what had been synced at this moment.
func (w *weir) crash() {
	w.t.Helper()
	if w.fs == nil {
		w.t.Fatal("a crash needs a file system in memory")
	}
	left := w.fs.CrashClone(vfs.CrashCloneCfg{})
	w.close()
	w.fs = left
	w.open()
}

func (w *weir) url() string {
	return "postgres://weir@" + w.srv.Addr().String() + "/weir?sslmode=disable"
}

// connect opens a session; notices go to the function if it is not nil.
func connect(t testing.TB, url string, notice func(severity, message string)) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if notice != nil {
		cfg.OnNotice = func(_ *pgxNoticeConn, n *pgxNotice) { notice(n.Severity, n.Message) }
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return c
}
