package runner

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// RestartConfig says how the time of a restart is measured.
type RestartConfig struct {
	// Size is how large the data directory is to be, without the log, in bytes.
	Size int64
	// Kills is how often the server is killed idle, and how often under load.
	Kills int
	// Load is how long it is under load before it is killed, Writers how many clients write then.
	Load    time.Duration
	Writers int
	Dir     string
	// Keep kills the server under load once more at the end, and leaves the data directory as it is then.
	Keep bool
	// Command makes the process of a server on a data directory, which prints its address in its first line, the last word
	// before " (" there.
	Command func(ctx context.Context, dataDir string) *exec.Cmd
	// Progress is told what is being done.
	Progress func(string)
}

// RestartResult is one restart after kill -9.
type RestartResult struct {
	// Loaded says that clients were writing when the server was killed.
	Loaded bool `json:"loaded"`
	// Bytes is the size of the data directory without the log, LogBytes that of the log.
	Bytes    int64 `json:"bytes"`
	LogBytes int64 `json:"log_bytes"`
	// Ready is when the new process served, Answer when a client that was waiting had the first answer, which was right,
	// both in seconds after it was started, which is when it was killed. CPU is what the new process had used by then.
	Ready  float64 `json:"ready_seconds"`
	Answer float64 `json:"answer_seconds"`
	CPU    float64 `json:"cpu_seconds"`
	// Point is how long after the answer a row of the largest view had been read, too.
	Point float64 `json:"point_seconds"`
}

// The schema: a table, and views with a join and an aggregate over it. A row is stored in the table, in the state of the join, and
// in the view of the join.
var restartSchema = []string{
	"CREATE TABLE owner (id bigint PRIMARY KEY, region text NOT NULL)",
	"INSERT INTO owner SELECT i, 'region ' || i % 50 FROM generate_series(0, 99999) AS g(i)",
	"CREATE TABLE account (id bigint PRIMARY KEY, owner bigint NOT NULL, balance bigint NOT NULL, note text NOT NULL)",
	"CREATE MATERIALIZED VIEW statement AS SELECT a.id, a.balance, a.note, o.region FROM account a JOIN owner o ON o.id = a.owner",
	"CREATE MATERIALIZED VIEW by_region AS SELECT region, count(*) AS n, sum(balance) AS total FROM statement GROUP BY region",
}

const (
	restartOwners = 100_000
	restartBatch  = 50_000
)

// restartRun is the server, and what it must answer.
type restartRun struct {
	cfg  RestartConfig
	dir  string
	rows int64
	// acknowledged and started are the increments of balances that were answered and that were sent.
	acknowledged, started atomic.Int64

	cmd  *exec.Cmd
	addr string
}

// Restart fills a server until it has the size, and then kills and starts it again and again, idle and under load in turn.
func Restart(ctx context.Context, cfg RestartConfig, report func(RestartResult)) (err error) {
	r := &restartRun{cfg: cfg}
	if r.dir, err = os.MkdirTemp(cfg.Dir, "weir-bench-"); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, r.kill())
		if !cfg.Keep || err != nil {
			err = errors.Join(err, os.RemoveAll(r.dir))
		}
	}()
	if err := r.serve(ctx); err != nil {
		return err
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	for range cfg.Kills {
		for _, loaded := range []bool{false, true} {
			res, err := r.restart(ctx, loaded)
			if err != nil {
				return err
			}
			report(res)
		}
	}
	if cfg.Keep {
		if err := r.killLoaded(ctx, true); err != nil {
			return err
		}
		cfg.Progress("kept in " + r.dir)
	}
	return nil
}

// serve starts the server and waits until it has an address.
func (r *restartRun) serve(ctx context.Context) error {
	r.cmd = r.cfg.Command(ctx, r.dir)
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server said nothing: %w", err)
	}
	head, _, _ := strings.Cut(line, " (")
	r.addr = head[strings.LastIndexByte(head, ' ')+1:]
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return nil
}

func (r *restartRun) kill() error {
	if r.cmd == nil {
		return nil
	}
	err := r.cmd.Process.Kill()
	_ = r.cmd.Wait() // it was killed
	r.cmd = nil
	return err
}

func (r *restartRun) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "postgres://weir@"+r.addr+"/weir?sslmode=disable")
}

// fill writes rows until the data directory is large enough.
func (r *restartRun) fill(ctx context.Context) error {
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, st := range restartSchema {
		if _, err := conn.Exec(ctx, st); err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	for {
		first := r.rows
		text.Reset()
		for id := first; id < first+restartBatch; id++ {
			fmt.Fprintf(&text, "%d\t%d\t0\t%s\n", id, id%restartOwners, note(rnd))
		}
		if _, err := conn.PgConn().CopyFrom(ctx, &text, "COPY account FROM STDIN"); err != nil {
			return err
		}
		r.rows += restartBatch
		state, _, err := sizes(r.dir)
		if err != nil {
			return err
		}
		if state >= r.cfg.Size {
			break
		}
		if r.rows%(20*restartBatch) == 0 {
			r.cfg.Progress(fmt.Sprintf("%d rows, %d MB", r.rows, state>>20))
		}
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return err
}

// note gives about 200 letters that do not compress well.
func note(rnd *rand.Rand) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"
	b := make([]byte, 200)
	for i := 0; i < len(b); i += 10 {
		for j, bits := 0, rnd.Uint64(); j < 10; j, bits = j+1, bits>>6 {
			b[i+j] = letters[bits&63]
		}
	}
	return string(b)
}

// sizes gives the size of a data directory, without what retained checkpoints share with it, and that of the log in it.
func sizes(dir string) (state, log int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // files come and go
			}
			return err
		}
		if d.IsDir() {
			if d.Name() == "checkpoints" {
				return fs.SkipDir
			}
			return nil
		}
		st, err := d.Info()
		if err != nil {
			return nil
		}
		if filepath.Base(filepath.Dir(path)) == "log" {
			log += st.Size()
		} else {
			state += st.Size()
		}
		return nil
	})
	return state, log, err
}

// restart kills the server and starts it again.
func (r *restartRun) restart(ctx context.Context, loaded bool) (res RestartResult, err error) {
	res.Loaded = loaded
	if err := r.killLoaded(ctx, loaded); err != nil {
		return res, err
	}
	if res.Bytes, res.LogBytes, err = sizes(r.dir); err != nil {
		return res, err
	}
	lowest, highest := r.acknowledged.Load(), r.started.Load()
	begin := time.Now()
	if err := r.serve(ctx); err != nil {
		return res, err
	}
	res.Ready = time.Since(begin).Seconds()
	conn, err := r.connect(ctx)
	if err != nil {
		return res, err
	}
	defer conn.Close(ctx)
	var n, total int64
	if err := conn.QueryRow(ctx, "SELECT sum(n)::bigint, sum(total)::bigint FROM by_region").Scan(&n, &total); err != nil {
		return res, err
	}
	res.Answer, res.CPU = time.Since(begin).Seconds(), processSeconds(r.cmd.Process.Pid)
	if n != r.rows || total < lowest || total > highest {
		return res, fmt.Errorf("the answer is wrong: %d rows of %d, total %d, which should be between %d and %d", n, r.rows, total, lowest, highest)
	}
	// What was sent without an answer is done or not, from now on.
	r.acknowledged.Store(total)
	r.started.Store(total)
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM statement WHERE id = $1", rand.Int64N(r.rows)).Scan(&n); err != nil {
		return res, err
	}
	if n != 1 {
		return res, fmt.Errorf("a row is there %d times", n)
	}
	res.Point = time.Since(begin).Seconds() - res.Answer
	return res, nil
}

// killLoaded kills the server after a while, while clients write if there is to be load.
func (r *restartRun) killLoaded(ctx context.Context, loaded bool) error {
	stop := r.load(ctx, loaded)
	defer stop()
	timer := time.NewTimer(r.cfg.Load)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return r.kill()
}

// load has clients write, if there is to be load. stop waits until they have found out that the server is gone.
func (r *restartRun) load(ctx context.Context, loaded bool) (stop func()) {
	var wg sync.WaitGroup
	if loaded {
		for range r.cfg.Writers {
			wg.Go(func() { r.write(ctx) })
		}
	}
	return wg.Wait
}

// write changes random rows, ten in a transaction, until there is an error.
func (r *restartRun) write(ctx context.Context) {
	conn, err := r.connect(ctx)
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	for {
		id := rand.Int64N(max(1, r.rows-10))
		r.started.Add(10)
		if _, err := conn.Exec(ctx, "UPDATE account SET balance = balance + 1 WHERE id >= $1 AND id < $1 + 10", id); err != nil {
			return
		}
		r.acknowledged.Add(10)
	}
}

// processSeconds is what a process has used of the processor.
func processSeconds(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	var state string
	var skip [10]int64
	var user, system int64
	args := []any{&state}
	for i := range skip {
		args = append(args, &skip[i])
	}
	if _, err := fmt.Sscan(rest, append(args, &user, &system)...); err != nil {
		return 0
	}
	return float64(user+system) / 100 // the kernel tells clock ticks of 10 ms to everybody
}
