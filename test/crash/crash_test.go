// Package crash kills a real, loaded server with SIGKILL at random moments and checks after each restart
// that every acknowledged write is there and that every view equals its query.
package crash

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weirdb/weir/server"
)

// The test binary is the server too, when this variable has a data directory.
const serverEnv = "WEIR_CRASH_TEST_DIR"

// memoryEnv is the server's memory limit in bytes; not set: none.
const memoryEnv = "WEIR_CRASH_TEST_MEMORY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverEnv); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs a server and prints its address.
func serve(dir string) error {
	limit, err := strconv.ParseInt(cmp.Or(os.Getenv(memoryEnv), "0"), 10, 64)
	if err != nil {
		return err
	}
	s, err := server.Open(server.Config{
		MemoryLimit: limit,
		DataDir:     dir, Listen: "127.0.0.1:0", HTTP: "off", Parallelism: 2,
		BarrierInterval: 20 * time.Millisecond, CheckpointInterval: 100 * time.Millisecond,
		CheckpointRetentionInterval: 200 * time.Millisecond,
		Logger:                      slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	fmt.Println(s.Addr())
	return s.Run(context.Background())
}

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	addr string
	log  *os.File
}

func startServer(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), serverEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		text, _ := os.ReadFile(dir + ".log")
		t.Fatalf("the server did not start: %v\n%s", err, tail(string(text)))
	}
	return &process{cmd, strings.TrimSpace(line), log}
}

func tail(s string) string {
	if len(s) > 4000 {
		s = s[len(s)-4000:]
	}
	return s
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = p.log.Close()
}

func (p *process) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "postgres://weir@"+p.addr+"/weir?sslmode=disable")
}

// world is what the clients know.
type world struct {
	mu sync.Mutex
	// acked are the rows whose INSERT was acknowledged and not deleted since; unsure those whose
	// last statement was not answered.
	acked  map[int]int
	unsure map[int]bool
	next   int
	lines  int // complete lines of the file
}

type view struct{ name, query string }

// views are checked against their queries.
var views = []view{
	{"by_group", "SELECT grp, count(*) AS n, sum(val) AS total, min(val) AS lo, max(val) AS hi FROM item GROUP BY grp"},
	{"over", "SELECT n % 5 AS k, count(*) AS c, sum(total) AS s FROM (SELECT grp, count(*) AS n, sum(val) AS total FROM item GROUP BY grp) g GROUP BY n % 5"},
	{"joined", "SELECT i.id, i.val, g.label FROM item i JOIN label g ON g.grp = i.grp"},
	{"outer_joined", "SELECT g.grp, g.label, i.id FROM label g LEFT JOIN item i ON i.grp = g.grp AND i.val > 500"},
	{"events", "SELECT kind, count(*) AS n, sum(v) AS total FROM feed GROUP BY kind"},
	{"top_bids", "SELECT auction, count(*) AS n, max(price) AS hi FROM bid GROUP BY auction"},
	{"reach", "WITH RECURSIVE r(x) AS (SELECT 0 UNION SELECT i.val % 40 FROM r JOIN item i ON i.grp = r.x AND i.val % 3 = 0) SELECT x FROM r"},
	{"top3", "SELECT id, val FROM item ORDER BY val DESC, id LIMIT 3"},
	{"closure", "WITH RECURSIVE p(a, b) AS (SELECT a, b FROM road UNION SELECT p.a, r.b FROM p JOIN road r ON r.a = p.b) SELECT a, b FROM p"},
	{"trips", "SELECT c.a, count(*) AS n FROM (WITH RECURSIVE p(a, b) AS (SELECT a, b FROM road UNION SELECT p.a, r.b FROM p JOIN road r ON r.a = p.b) SELECT a, b FROM p) c GROUP BY c.a"},
}

// filled is a view that is created and dropped all the time: it may be there or not.
const filled = "SELECT k % 50 AS k, count(*) AS n, sum(v) AS total, max(k) AS hi FROM big GROUP BY k % 50"

func setup(t *testing.T, ctx context.Context, p *process, feed string) {
	t.Helper()
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	stmts := []string{
		"CREATE TABLE item (id int PRIMARY KEY, grp int, val int)",
		"CREATE TABLE label (grp int PRIMARY KEY, label text)",
		"INSERT INTO label SELECT g, 'label ' || g FROM generate_series(0, 19) AS s(g)",
		"CREATE TABLE road (a int, b int)",
		"INSERT INTO road VALUES (100, 101)",
		"CREATE TABLE big (k int PRIMARY KEY, v int)",
		"INSERT INTO big SELECT g, g % 1000 FROM generate_series(1, 20000) AS s(g)",
		"CREATE SOURCE feed (id int, kind text, v int) WITH (connector = 'file', path = '" + feed + "', follow = 'true') FORMAT PLAIN ENCODE JSON",
		"CREATE SOURCE bid WITH (connector = 'nexmark', table = 'bid', rate = '20000', seed = '7', events = '400000')",
	}
	for _, v := range views {
		q := v.query
		if v.name == "over" {
			q = "SELECT n % 5 AS k, count(*) AS c, sum(total) AS s FROM by_group GROUP BY n % 5"
		}
		if v.name == "trips" {
			q = "SELECT a, count(*) AS n FROM closure GROUP BY a"
		}
		stmts = append(stmts, "CREATE MATERIALIZED VIEW "+v.name+" AS "+q)
	}
	for _, s := range stmts {
		if _, err := c.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// write runs random statements until the server is gone.
func (w *world) write(ctx context.Context, p *process, seed int64) {
	rng := rand.New(rand.NewSource(seed))
	c, err := p.connect(ctx)
	if err != nil {
		return
	}
	defer c.Close(context.Background())
	for ctx.Err() == nil {
		switch rng.Intn(8) {
		case 6: // what is there afterwards is not known, but that the loop follows it
			if rng.Intn(3) == 0 {
				_, err = c.Exec(ctx, "DELETE FROM road WHERE a = $1", rng.Intn(30))
			} else {
				_, err = c.Exec(ctx, "INSERT INTO road VALUES ($1, $2)", rng.Intn(30), rng.Intn(30))
			}
		case 7:
			_, err = c.Exec(ctx, "UPDATE big SET v = v + 1 WHERE k = $1", 1+rng.Intn(20000))
		case 0, 1, 2:
			w.mu.Lock()
			id := w.next
			w.next += 3
			for k := range 3 {
				w.unsure[id+k] = true
			}
			w.mu.Unlock()
			val := rng.Intn(1000)
			_, err = c.Exec(ctx, "INSERT INTO item VALUES ($1, $2, $3), ($4, $2, $3), ($5, $2, $3)", id, rng.Intn(25), val, id+1, id+2)
			if err == nil {
				w.mu.Lock()
				for k := range 3 {
					w.acked[id+k] = val
					delete(w.unsure, id+k)
				}
				w.mu.Unlock()
			}
		case 3, 4:
			id, ok := w.pick(rng)
			if !ok {
				continue
			}
			val := rng.Intn(1000)
			_, err = c.Exec(ctx, "UPDATE item SET val = $2, grp = $3 WHERE id = $1", id, val, rng.Intn(25))
			if err == nil {
				w.settle(id, &val)
			}
		case 5:
			id, ok := w.pick(rng)
			if !ok {
				continue
			}
			_, err = c.Exec(ctx, "DELETE FROM item WHERE id = $1", id)
			if err == nil {
				w.settle(id, nil)
			}
		}
		if err != nil {
			return
		}
	}
}

// fill creates a view over a table with rows, and drops it, until the server is gone: some of it is always being filled.
func fill(ctx context.Context, p *process) {
	c, err := p.connect(ctx)
	if err != nil {
		return
	}
	defer c.Close(context.Background())
	for err == nil && ctx.Err() == nil {
		if _, err = c.Exec(ctx, "DROP MATERIALIZED VIEW IF EXISTS filled"); err == nil {
			_, err = c.Exec(ctx, "CREATE MATERIALIZED VIEW filled AS "+filled)
		}
	}
}

// pick takes an acknowledged row for a change; it is unsure until settle.
func (w *world) pick(rng *rand.Rand) (int, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.acked) == 0 {
		return 0, false
	}
	for range 50 {
		id := rng.Intn(w.next)
		if _, ok := w.acked[id]; ok {
			delete(w.acked, id)
			w.unsure[id] = true
			return id, true
		}
	}
	return 0, false
}

func (w *world) settle(id int, val *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.unsure, id)
	if val != nil {
		w.acked[id] = *val
	}
}

// feed appends lines to the file, sometimes in two halves.
func (w *world) feed(ctx context.Context, path string, seed int64) error {
	rng := rand.New(rand.NewSource(seed))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for ctx.Err() == nil {
		w.mu.Lock()
		n := w.lines
		w.mu.Unlock()
		line := fmt.Sprintf("{\"id\":%d,\"kind\":\"k%d\",\"v\":%d}\n", n, n%7, n%100)
		cut := len(line)
		if rng.Intn(3) == 0 {
			cut = rng.Intn(len(line))
		}
		if _, err := f.WriteString(line[:cut]); err != nil {
			return err
		}
		if _, err := f.WriteString(line[cut:]); err != nil {
			return err
		}
		w.mu.Lock()
		w.lines++
		w.mu.Unlock()
		if n%64 == 0 {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// check compares everything, at one epoch.
func (w *world) check(ctx context.Context, p *process) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	tx, err := c.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	items, err := rows(ctx, tx, "SELECT id, val FROM item")
	if err != nil {
		return err
	}
	have := map[int]int{}
	for _, r := range items {
		a, b, _ := strings.Cut(r, "|")
		id, _ := strconv.Atoi(a)
		val, _ := strconv.Atoi(b)
		if _, dup := have[id]; dup {
			return fmt.Errorf("item %d is there twice", id)
		}
		have[id] = val
	}
	w.mu.Lock()
	for id, val := range w.acked {
		if got, ok := have[id]; !ok || got != val {
			w.mu.Unlock()
			return fmt.Errorf("acknowledged item %d = %d, the table has %d (%v)", id, val, got, ok)
		}
	}
	// The three rows of an unanswered INSERT are there together or not at all.
	for id := range have {
		if _, ok := w.acked[id]; !ok && !w.unsure[id] {
			w.mu.Unlock()
			return fmt.Errorf("item %d is there, but was deleted or never written", id)
		}
	}
	w.mu.Unlock()
	vs := views
	there, err := rows(ctx, tx, "SELECT relname FROM pg_class WHERE relname = 'filled'")
	if err != nil {
		return err
	}
	if len(there) > 0 {
		vs = append(slices.Clone(vs), view{"filled", filled})
	}
	for _, v := range vs {
		got, err := rows(ctx, tx, "SELECT * FROM "+v.name)
		if err != nil {
			return fmt.Errorf("view %s: %w", v.name, err)
		}
		want, err := rows(ctx, tx, v.query)
		if err != nil {
			return fmt.Errorf("query of %s: %w", v.name, err)
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("view %s has %d rows, its query %d:\n%s", v.name, len(got), len(want), diff(got, want))
		}
	}
	// What is known now is certain: the next round starts from it.
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.unsure {
		if val, ok := have[id]; ok {
			w.acked[id] = val
		}
	}
	w.unsure = map[int]bool{}
	return nil
}

func rows(ctx context.Context, tx pgx.Tx, q string) ([]string, error) {
	rs, err := tx.Query(ctx, q, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	defer rs.Close()
	out := []string{}
	for rs.Next() {
		var parts []string
		for _, v := range rs.RawValues() {
			if v == nil {
				parts = append(parts, "NULL")
			} else {
				parts = append(parts, string(v))
			}
		}
		out = append(out, strings.Join(parts, "|"))
	}
	sort.Strings(out)
	return out, rs.Err()
}

func diff(got, want []string) string {
	count := map[string]int{}
	for _, r := range got {
		count[r]++
	}
	for _, r := range want {
		count[r]--
	}
	var out []string
	for r, n := range count {
		if n != 0 {
			out = append(out, fmt.Sprintf("%+d %s", n, r))
		}
	}
	sort.Strings(out)
	if len(out) > 10 {
		out = out[:10]
	}
	return strings.Join(out, "\n")
}

// rounds is how often a test does what it does: usually, with WEIR_SOAK, and with -short.
func rounds(usual, soak, short int) int {
	switch {
	case os.Getenv("WEIR_SOAK") != "":
		return soak
	case testing.Short():
		return short
	}
	return usual
}

// seeded gives a seed, that of WEIR_SEED if it is set, and random numbers of it.
func seeded(t *testing.T) (int64, *rand.Rand) {
	t.Helper()
	seed := time.Now().UnixNano()
	if s := os.Getenv("WEIR_SEED"); s != "" {
		seed, _ = strconv.ParseInt(s, 10, 64)
	}
	t.Logf("repeat with WEIR_SEED=%d (the moments of the kills differ)", seed)
	return seed, rand.New(rand.NewSource(seed))
}

// TestCrashKill kills the server 50 times (500 with WEIR_SOAK), with sources, loops, transactional file sinks and a backfill
// running.
func TestCrashKill(t *testing.T) {
	kills := rounds(50, 500, 5)
	seed, rng := seeded(t)
	base := t.TempDir()
	dir, feed := filepath.Join(base, "data"), filepath.Join(base, "feed.jsonl")
	if err := os.WriteFile(feed, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	w := &world{acked: map[int]int{}, unsure: map[int]bool{}}
	p := startServer(t, dir)
	setup(t, ctx, p, feed)
	lines, pairs := filepath.Join(base, "lines.jsonl"), filepath.Join(base, "pairs.jsonl")
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"CREATE SINK lines AS SELECT id, kind FROM feed WITH (connector = 'file', path = '" + lines + "') FORMAT PLAIN ENCODE JSON",
		"CREATE SINK pairs FROM closure WITH (connector = 'file', path = '" + pairs + "', type = 'changes') FORMAT PLAIN ENCODE JSON",
	} {
		if _, err := c.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	_ = c.Close(ctx)
	for round := range kills {
		run, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { w.write(run, p, seed+int64(round*10+i)) })
		}
		wg.Go(func() { fill(run, p) })
		feedErr := make(chan error, 1)
		wg.Go(func() { feedErr <- w.feed(run, feed, seed+int64(round)) })
		time.Sleep(time.Duration(20+rng.Intn(300)) * time.Millisecond)
		p.kill()
		stop()
		wg.Wait()
		if err := <-feedErr; err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		p = startServer(t, dir)
		restart := time.Since(start)
		if err := w.check(ctx, p); err != nil {
			text, _ := os.ReadFile(dir + ".log")
			p.kill()
			t.Fatalf("after kill %d: %v\n%s", round+1, err, tail(string(text)))
		}
		if round%10 == 0 {
			t.Logf("kill %d: %d rows, restart %v", round+1, len(w.acked), restart.Round(time.Millisecond))
		}
	}
	defer p.kill()
	// In the end everything has been read, each line once.
	if err := w.awaitFeed(ctx, p); err != nil {
		t.Fatal(err)
	}
	awaitSinks(t, ctx, p, []sinkFile{
		{"SELECT id, kind FROM feed", lines, []string{"id", "kind"}},
		{"SELECT a, b FROM closure", pairs, []string{"a", "b"}},
	})
}

func (w *world) awaitFeed(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	for {
		var n int
		err := c.QueryRow(ctx, "SELECT coalesce(sum(n), 0)::int FROM events").Scan(&n)
		if err != nil {
			return err
		}
		if n == w.lines {
			return nil
		}
		if n > w.lines {
			return fmt.Errorf("%d lines were counted, there are %d", n, w.lines)
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%d of %d lines were counted", n, w.lines), ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
