// Package runner measures Weir: a server in this process, driven over the wire as a client would,
// beside the hand-written programs of bench/byhand on the same events.
package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weirdb/weir/bench/byhand"
	queries "github.com/weirdb/weir/bench/nexmark"
	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/blackhole"
	"github.com/weirdb/weir/connector/builtin"
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// NexmarkConfig says what to run.
type NexmarkConfig struct {
	Queries []string
	// Events counts all three kinds.
	Events int64
	// View keeps the result in a materialized view instead of sending it to a blackhole. The hand-written
	// programs then keep theirs in memory, and what is compared is the contents of both.
	View bool
	// File writes the rows to a file in place of the blackhole, as lines of CSV, on both sides. That is what q10 is for; it
	// is for queries whose rows do not change. The time is that until all of them are durable.
	File        bool
	Parallelism int
	// Runs is how often each is run; the median counts.
	Runs int
	// ByHand also runs the hand-written programs and compares the answers.
	ByHand bool
	// CheckpointInterval as of the server; 0 is its default.
	CheckpointInterval time.Duration
	// MemoryLimit as of the server; 0 is its default.
	MemoryLimit int64
	// Dir is where the data directories are made; "" is the system's place for temporary files.
	Dir string
}

// NexmarkResult is the figures of one query, in events of all kinds per second.
type NexmarkResult struct {
	Query        string  `json:"query"`
	Events       int64   `json:"events"`
	Parallelism  int     `json:"parallelism"`
	Target       string  `json:"target"`
	EventsPerSec float64 `json:"events_per_second"`
	ByHandPerSec float64 `json:"by_hand_events_per_second,omitempty"`
	Ratio        float64 `json:"ratio,omitempty"`
	// EventsPerCPU and so on are events per second of CPU: on a machine that does other things, too, they say more.
	EventsPerCPU float64 `json:"events_per_cpu_second"`
	ByHandPerCPU float64 `json:"by_hand_events_per_cpu_second,omitempty"`
	CPURatio     float64 `json:"cpu_ratio,omitempty"`
	// Verified: the answer equals the hand-written program's.
	Verified bool `json:"verified,omitempty"`
}

// Nexmark runs the queries one after the other and gives the results to report as they come.
func Nexmark(ctx context.Context, cfg NexmarkConfig, report func(NexmarkResult)) error {
	if cfg.Runs < 1 {
		cfg.Runs = 1
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cfg.Parallelism))
	for _, q := range cfg.Queries {
		r, err := runQuery(ctx, cfg, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		report(r)
	}
	return nil
}

func runQuery(ctx context.Context, cfg NexmarkConfig, q string) (r NexmarkResult, err error) {
	r = NexmarkResult{Query: q, Events: cfg.Events, Parallelism: cfg.Parallelism, Target: "blackhole"}
	switch {
	case cfg.View:
		r.Target = "view"
	case cfg.File:
		r.Target = "file"
	}
	dir := ""
	if cfg.File {
		if dir, err = os.MkdirTemp(cfg.Dir, "weir-bench-"); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	var costs []byhand.Cost
	for i := range cfg.Runs {
		_, c, err := runOnce(ctx, cfg, q, lines(dir, i), false)
		if err != nil {
			return r, err
		}
		costs = append(costs, c)
	}
	perSecond := func(d time.Duration) float64 { return float64(cfg.Events) / d.Seconds() }
	c := byhand.Median(costs)
	r.EventsPerSec, r.EventsPerCPU = perSecond(c.Wall), perSecond(c.CPU)
	if !cfg.ByHand {
		return r, nil
	}
	o := byhand.Options{Settings: settings(cfg.Events), View: cfg.View, File: lines(dir, -1), Now: func() time.Time { return queries.Clock }}
	_, c, err = byhand.Measure(q, o, cfg.Runs)
	if err != nil {
		return r, err
	}
	r.ByHandPerSec, r.ByHandPerCPU = perSecond(c.Wall), perSecond(c.CPU)
	r.Ratio, r.CPURatio = r.EventsPerSec/r.ByHandPerSec, r.EventsPerCPU/r.ByHandPerCPU
	if cfg.File {
		err = sameFile(lines(dir, -1), lines(dir, cfg.Runs-1))
	} else {
		err = sameAnswer(ctx, cfg, q, o)
	}
	r.Verified = err == nil
	return r, err
}

// VerifyNexmark compares the answers of the queries with those of the hand-written programs, without measuring.
func VerifyNexmark(ctx context.Context, cfg NexmarkConfig) (err error) {
	for _, q := range cfg.Queries {
		if err := verify(ctx, cfg, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

func verify(ctx context.Context, cfg NexmarkConfig, q string) (err error) {
	o := byhand.Options{Settings: settings(cfg.Events), View: cfg.View, Now: func() time.Time { return queries.Clock }}
	if !cfg.File {
		return sameAnswer(ctx, cfg, q, o)
	}
	dir, err := os.MkdirTemp(cfg.Dir, "weir-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.File = lines(dir, -1)
	if _, err := byhand.Run(q, o); err != nil {
		return err
	}
	if _, _, err := runOnce(ctx, cfg, q, lines(dir, 0), false); err != nil {
		return err
	}
	return sameFile(o.File, lines(dir, 0))
}

// lines is the file of a run, -1 for that of the hand-written program; "" without a directory.
func lines(dir string, run int) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, fmt.Sprintf("run%d.csv", run))
}

// sameFile compares the lines of files.
func sameFile(byHand, weir string) error {
	same, n, err := byhand.SameLines(byHand, weir)
	if err == nil && !same {
		err = fmt.Errorf("the file is wrong: by hand it has %d lines, and other ones", n)
	}
	return err
}

// sameAnswer runs a query and compares its answer with the one by hand.
func sameAnswer(ctx context.Context, cfg NexmarkConfig, q string, o byhand.Options) error {
	o.Checksum = true
	want, err := byhand.Run(q, o)
	if err != nil {
		return err
	}
	got, _, err := runOnce(ctx, cfg, q, "", true)
	if err != nil {
		return err
	}
	if got.Rows != want.Checksum.Rows || got.Sum != want.Checksum.Sum {
		return fmt.Errorf("the answer is wrong: %d rows with checksum %x, by hand %d rows with %x",
			got.Rows, got.Sum, want.Checksum.Rows, want.Checksum.Sum)
	}
	return nil
}

func settings(events int64) nexmark.Settings {
	s := nexmark.Defaults()
	s.Seed, s.Events = 1, events
	return s
}

// instance is a server of its own for one run.
type instance struct {
	dir   string
	srv   *server.Server
	stop  func() error
	conn  *pgx.Conn
	sinks []*blackhole.Sink
}

// shutdownGrace is how long a last checkpoint may take; on a machine that is busy it may take long.
const shutdownGrace = 2 * time.Minute

func start(ctx context.Context, cfg NexmarkConfig) (in *instance, err error) {
	in = &instance{}
	if in.dir, err = os.MkdirTemp(cfg.Dir, "weir-bench-"); err != nil {
		return nil, err
	}
	reg := builtin.New()
	reg.AddSink("blackhole", func(c connector.Config) (exec.Sink, error) {
		s, err := blackhole.NewSink(c)
		if b, ok := s.(*blackhole.Sink); ok {
			in.sinks = append(in.sinks, b)
		}
		return s, err
	})
	in.srv, err = server.Open(server.Config{
		DataDir: in.dir, Listen: "127.0.0.1:0", HTTP: "off", Parallelism: cfg.Parallelism,
		CheckpointInterval: cfg.CheckpointInterval, MemoryLimit: cfg.MemoryLimit, Connectors: reg,
		ShutdownGrace: shutdownGrace,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(in.dir))
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- in.srv.Run(run) }()
	in.stop = func() error {
		if in.conn != nil {
			_ = in.conn.Close(context.WithoutCancel(ctx))
		}
		cancel()
		return errors.Join(<-done, os.RemoveAll(in.dir))
	}
	in.conn, err = pgx.Connect(ctx, "postgres://weir@"+in.srv.Addr().String()+"/weir?sslmode=disable")
	if err != nil {
		return nil, errors.Join(err, in.stop())
	}
	return in, nil
}

// runOnce runs a query over a fresh server until the source is at its end, and gives the answer's checksum
// if verify asks for it.
func runOnce(ctx context.Context, cfg NexmarkConfig, q, file string, verify bool) (sum blackhole.Checksum, cost byhand.Cost, err error) {
	in, err := start(ctx, cfg)
	if err != nil {
		return sum, cost, err
	}
	defer func() { err = errors.Join(err, in.stop()) }()
	options := fmt.Sprintf("events = '%d', seed = '1', splits = '%d'", cfg.Events, cfg.Parallelism)
	for _, st := range append(queries.Sources(options), queries.Setup(q)...) {
		if _, err := in.conn.Exec(ctx, st); err != nil {
			return sum, cost, fmt.Errorf("%s: %w", st, err)
		}
	}
	text, err := queries.Query(q)
	if err != nil {
		return sum, cost, err
	}
	sts := []string{"CREATE SINK out AS " + text + " WITH (connector = 'blackhole')"}
	switch {
	case cfg.View:
		sts[0] = "CREATE MATERIALIZED VIEW out AS " + text
	case file != "":
		sts[0] = "CREATE SINK out AS " + text + " WITH (connector = 'file', path = '" + file + "') FORMAT PLAIN ENCODE CSV"
		sts = append(sts, "CHECKPOINT") // the rows behind the last one are not in the file yet
	case verify:
		sts[0] = "CREATE SINK out AS " + text + " WITH (connector = 'blackhole', checksum = 'true')"
	}
	runtime.GC()
	cost, err = byhand.Timed(func() error {
		if _, err := in.conn.Exec(ctx, sts[0]); err != nil {
			return err
		}
		if err := in.awaitEnd(ctx); err != nil {
			return err
		}
		for _, st := range sts[1:] {
			if _, err := in.conn.Exec(ctx, st); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !verify {
		return sum, cost, err
	}
	if !cfg.View {
		return in.sinks[len(in.sinks)-1].Total(), cost, nil
	}
	sum, err = in.viewChecksum(ctx)
	return sum, cost, err
}

// awaitEnd waits until every source that runs has been read to its end and the answer is complete, as a
// read that is issued then would.
func (in *instance) awaitEnd(ctx context.Context) error {
	inc, release, err := in.srv.Engine().Acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ended(inc) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-inc.Ctx.Done():
			return errors.New("the dataflow failed")
		}
	}
	return inc.RT.Wait(ctx, inc.RT.Open())
}

func ended(inc *engine.Incarnation) bool {
	for _, r := range inc.Catalog().Sorted() {
		if r.Kind == catalog.Source && inc.RT.Has(flow.JobID(r.ID)) && !inc.RT.SourceEnded(flow.JobID(r.ID)) {
			return false
		}
	}
	return true
}

// viewChecksum reads the view from storage, without the hidden columns.
func (in *instance) viewChecksum(ctx context.Context) (blackhole.Checksum, error) {
	inc, release, err := in.srv.Engine().Acquire(ctx)
	if err != nil {
		return blackhole.Checksum{}, err
	}
	defer release()
	rel := inc.Catalog().Relation(catalog.PublicSchema, "out")
	snap, err := inc.Snapshot(ctx, true)
	if err != nil {
		return blackhole.Checksum{}, err
	}
	defer snap.Release()
	var ts []types.Type
	var visible []int
	for i, c := range rel.Columns {
		ts = append(ts, c.Type)
		if !c.Hidden {
			visible = append(visible, i)
		}
	}
	it := snap.Table(storage.TableID(rel.Rows())).Iterator(nil, nil, false)
	defer it.Close()
	row := vec.NewChunk(ts, vec.ChunkSize)
	var view vec.Chunk
	var sum blackhole.Adder
	flush := func() {
		view.View(row, visible)
		sum.Add(&view)
		row.Reset()
	}
	for it.Next() {
		if _, err := vec.DecodeRow(it.Value(), row.Cols); err != nil {
			return sum.Checksum, err
		}
		row.PushDiff(1)
		if row.Len() == vec.ChunkSize {
			flush()
		}
	}
	flush()
	return sum.Checksum, it.Err()
}
