package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weirdb/weir/bench/byhand"
	queries "github.com/weirdb/weir/bench/nexmark"
)

// SideConfig is what one of the two processes of a comparison does.
type SideConfig struct {
	Queries     []string
	Events      int64
	Seed        int64
	Parallelism int
	// CheckpointInterval as of the server.
	CheckpointInterval time.Duration
	MemoryLimit        int64
	View               bool
	Dir                string
	// Profile is a file for a CPU profile, with what is done after the end; "" for none.
	Profile string
}

// SideResult is what it says when it has come to the end.
type SideResult struct {
	// CPU is what the process used from the first statement to the end, in seconds, with everything in the background.
	CPU float64 `json:"cpu_seconds"`
	// Checkpoints were committed meanwhile, CheckpointBytes is what they wrote.
	Checkpoints     int64 `json:"checkpoints"`
	CheckpointBytes int64 `json:"checkpoint_bytes"`
	// StateBytes is what operators hold in memory at the end, DiskBytes the data directory, UnfoldedBytes what of it is not
	// yet in key order.
	StateBytes    int64 `json:"state_bytes"`
	DiskBytes     int64 `json:"disk_bytes"`
	UnfoldedBytes int64 `json:"unfolded_bytes"`
	// Waits counts how often input had to wait for memory.
	Waits int64 `json:"waits"`
}

// sideRest is what is used in the background after the end, until the process is idle.
type sideRest struct {
	CPU float64 `json:"cpu_seconds"`
}

// Commands to a side, a line each, and the lines that it answers with before its JSON.
const (
	sideReady = "ready"
	sideGo    = "go"
	sideRests = "rest"
)

// RunSide is the process: it starts a server, says that it is ready, runs all queries from beginning to end when it is
// told to go, and says what that took; and how much more the background uses until it is idle, when it is told to rest. It ends
// when its input does, and leaves the server running: the process is to end, and a last checkpoint is no part of what is measured.
func RunSide(ctx context.Context, cfg SideConfig, in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(cfg.Parallelism)
	srv, err := start(ctx, NexmarkConfig{
		Parallelism: cfg.Parallelism, CheckpointInterval: cfg.CheckpointInterval, Dir: cfg.Dir, MemoryLimit: cfg.MemoryLimit,
	})
	if err != nil {
		return err
	}
	if err := srv.createSources(ctx, cfg); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, sideReady); err != nil {
		return err
	}
	if cfg.Profile != "" {
		f, err := os.Create(cfg.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var answer any
		switch lines.Text() {
		case sideGo:
			answer, err = srv.run(ctx, cfg)
		case sideRests:
			answer, err = rest(ctx)
		default:
			err = fmt.Errorf("command %q", lines.Text())
		}
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// createSources gives each query a schema with sources of its own, which is read from the start together with the others.
func (in *instance) createSources(ctx context.Context, cfg SideConfig) error {
	for _, q := range cfg.Queries {
		for _, st := range slices.Concat([]string{"CREATE SCHEMA " + q, "SET search_path = " + q},
			queries.Sources(fmt.Sprintf("events = '%d', seed = '%d', splits = '%d'", cfg.Events, cfg.Seed, cfg.Parallelism)), queries.Setup(q)) {
			if _, err := in.conn.Exec(ctx, st); err != nil {
				return fmt.Errorf("%s: %w", st, err)
			}
		}
	}
	return nil
}

func (in *instance) run(ctx context.Context, cfg SideConfig) (r SideResult, err error) {
	runtime.GC()
	from := cpuSeconds()
	checkpoints := in.srv.Engine().Stats().Checkpoints
	created := make(chan error, len(cfg.Queries))
	for _, q := range cfg.Queries {
		// From connections of their own: a definition is answered when it has caught up with its sources.
		conn, err := pgx.Connect(ctx, "postgres://weir@"+in.srv.Addr().String()+"/weir?sslmode=disable")
		if err != nil {
			return r, err
		}
		go func() { created <- errors.Join(create(ctx, conn, cfg, q), conn.Close(ctx)) }()
	}
	for range cfg.Queries {
		err = errors.Join(err, <-created)
	}
	if err != nil {
		return r, err
	}
	if err := in.awaitEnd(ctx); err != nil {
		return r, err
	}
	inc, release, err := in.srv.Engine().Acquire(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	now, m := in.srv.Engine().Stats().Checkpoints, inc.Store.Metrics()
	return SideResult{
		CPU: cpuSeconds() - from, Checkpoints: now.Committed - checkpoints.Committed,
		CheckpointBytes: now.Bytes - checkpoints.Bytes, StateBytes: inc.RT.Held(), DiskBytes: m.DiskBytes,
		UnfoldedBytes: m.UnfoldedBytes, Waits: inc.RT.Waits(),
	}, nil
}

func create(ctx context.Context, conn *pgx.Conn, cfg SideConfig, q string) error {
	text, err := queries.Query(q)
	if err != nil {
		return err
	}
	st := "CREATE MATERIALIZED VIEW out AS " + text
	if !cfg.View {
		st = "CREATE SINK out AS " + text + " WITH (connector = 'blackhole')"
	}
	for _, st := range []string{"SET search_path = " + q, st} {
		if _, err := conn.Exec(ctx, st); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// Idle is less than idleShare of a core for idleFor; who is not idle after restLimit is not waited for.
const (
	idleShare = 0.05
	idleFor   = time.Second
	restLimit = time.Minute
)

// rest waits until the process is idle.
func rest(ctx context.Context) (r sideRest, err error) {
	from, begin := cpuSeconds(), time.Now()
	tick := time.NewTicker(idleFor)
	defer tick.Stop()
	for last := from; time.Since(begin) < restLimit; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return r, ctx.Err()
		}
		now := cpuSeconds()
		if now-last < idleShare*idleFor.Seconds() {
			break
		}
		last = now
	}
	return sideRest{CPU: cpuSeconds() - from}, nil
}

// cpuSeconds is what this process has used.
func cpuSeconds() float64 { return byhand.CPUTime().Seconds() }
