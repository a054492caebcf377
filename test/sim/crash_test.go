package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/jackc/pgx/v5"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/blackhole"
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
)

const (
	writers = 2
	// events of the Nexmark source, and how many of them are bids.
	events, bids = 3000, 3000 / 50 * 46
)

// views are compared with their queries after every crash.
var views = map[string]string{
	"v_join": "SELECT a.id, a.val, g.name FROM acct a LEFT JOIN grp g ON a.grp = g.id",
	"v_grp":  "SELECT grp, count(*) AS n, sum(val) AS total, max(val) AS top FROM acct GROUP BY grp",
	"v_over": "SELECT n, count(*) AS groups, sum(total) AS total FROM v_grp GROUP BY n",
	"v_hist": "SELECT w, count(*) AS n, max(n) AS last FROM hist GROUP BY w",
	"v_bid":  "SELECT auction % 7 AS a, count(*) AS n, sum(price) AS total FROM bid GROUP BY 1",
	"v_cat":  "SELECT a.category, count(*) AS n, max(b.price) AS top FROM bid b JOIN auction a ON b.auction = a.id GROUP BY a.category",
	"v_top":  "SELECT auction, price FROM bid ORDER BY price DESC, auction, bidder LIMIT 5",
}

// viewOrder creates what is read before what reads it.
var viewOrder = []string{"v_join", "v_grp", "v_over", "v_hist", "v_bid", "v_cat", "v_top"}

// dynamic is a view that comes and goes during the workload.
const dynamic = "SELECT grp % 2 AS odd, min(val) AS low FROM acct GROUP BY 1"

// clock is the sources' time: it stands still until it is moved.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	waits map[*wait]bool
}

type wait struct {
	at time.Time
	f  func()
}

func newClock() *clock { return &clock{now: time.Unix(1_000_000, 0), waits: map[*wait]bool{}} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &wait{c.now.Add(d), f}
	c.waits[w] = true
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		there := c.waits[w]
		delete(c.waits, w)
		return there
	}
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for w := range c.waits {
		if !w.at.After(c.now) {
			delete(c.waits, w)
			go w.f()
		}
	}
}

// watched is a disk on which f is called before every operation.
func watched(disk vfs.FS, f errorfs.InjectorFunc) vfs.FS { return noReuse{errorfs.Wrap(disk, f)} }

// noReuse makes new files in place of used ones, whose operations an errorfs does not see.
type noReuse struct{ vfs.FS }

func (fs noReuse) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.Remove(old); err != nil {
		return nil, err
	}
	return fs.Create(name, c)
}

// node is a running server on a simulated disk.
type node struct {
	srv   *server.Server
	clock *clock
	stop  context.CancelFunc
	done  chan error
}

func open(fs vfs.FS, parallelism int, add ...func(*connector.Registry)) (*node, error) {
	return openTuned(fs, parallelism, func(*server.Config) {}, add...)
}

// openTuned is open with a change of the configuration.
func openTuned(fs vfs.FS, parallelism int, tune func(*server.Config), add ...func(*connector.Registry)) (*node, error) {
	n := &node{clock: newClock(), done: make(chan error, 1)}
	reg := connector.NewRegistry()
	reg.AddSource("nexmark", func(cfg connector.Config) (exec.Source, error) {
		cfg.Clock = n.clock
		return nexmark.NewSource(cfg)
	})
	reg.AddSink("blackhole", blackhole.NewSink)
	for _, f := range add {
		f(reg)
	}
	cfg := server.Config{
		DataDir: "/data", Listen: "127.0.0.1:0", HTTP: "off", Parallelism: parallelism, Connectors: reg,
		BarrierInterval: 5 * time.Millisecond, CheckpointInterval: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(logWriter{}, nil)),
		Tune: func(c *engine.Config) {
			c.Storage.FS = fs
			c.Storage.CacheBytes, c.Storage.MemTableBytes = 1<<20, 256<<10
			c.Storage.LogSegmentBytes = 16 << 10
			c.Storage.ReserveBytes = 1 << 20
		},
	}
	tune(&cfg)
	srv, err := server.Open(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.srv, n.stop = srv, cancel
	go func() { n.done <- srv.Run(ctx) }()
	return n, nil
}

type logWriter struct{}

func (logWriter) Write(b []byte) (int, error) {
	if os.Getenv("WEIR_TEST_LOG") != "" {
		return os.Stderr.Write(b)
	}
	return len(b), nil
}

func (n *node) close() error {
	n.stop()
	return <-n.done
}

func (n *node) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "postgres://weir@"+n.srv.Addr().String()+"/weir?sslmode=disable")
}

// account is a row of acct.
type account struct {
	grp, val int
	tag      string
}

// transaction is what a writer does at once: statements, and the writer's rows afterwards.
type transaction struct {
	stmts []string
	after map[int]account
}

// plan makes a writer's transactions. Its rows have ids that are its number modulo writers.
func plan(seed uint64, w, count int) []transaction {
	rng := rand.New(rand.NewPCG(seed, uint64(w)))
	rows := map[int]account{}
	ids := func() []int {
		var out []int
		for id := range rows {
			out = append(out, id)
		}
		sort.Ints(out)
		return out
	}
	next := w
	txs := []transaction{{after: map[int]account{}}}
	for n := 1; n <= count; n++ {
		var tx transaction
		do := func(format string, args ...any) { tx.stmts = append(tx.stmts, fmt.Sprintf(format, args...)) }
		for range 1 + rng.IntN(3) {
			have := ids()
			switch k := rng.IntN(10); {
			case k < 5 || len(have) < 3:
				a := account{rng.IntN(6), rng.IntN(1000), fmt.Sprintf("t%d", next)}
				do("INSERT INTO acct VALUES (%d, %d, %d, '%s')", next, a.grp, a.val, a.tag)
				rows[next] = a
				next += writers
			case k < 7:
				id := have[rng.IntN(len(have))]
				a := rows[id]
				a.grp, a.val = rng.IntN(6), rng.IntN(1000)
				do("UPDATE acct SET grp = %d, val = %d WHERE id = %d", a.grp, a.val, id)
				rows[id] = a
			case k < 8:
				id := have[rng.IntN(len(have))]
				do("DELETE FROM acct WHERE id = %d", id)
				delete(rows, id)
			default:
				// Two rows exchange their unique tags in one statement.
				i := rng.IntN(len(have) - 1)
				x, y := have[i], have[i+1]
				a, b := rows[x], rows[y]
				do("UPDATE acct SET tag = CASE id WHEN %d THEN '%s' ELSE '%s' END WHERE id IN (%d, %d)", x, b.tag, a.tag, x, y)
				a.tag, b.tag = b.tag, a.tag
				rows[x], rows[y] = a, b
			}
		}
		do("INSERT INTO hist (w, n) VALUES (%d, %d)", w, n)
		do("UPDATE progress SET n = %d WHERE w = %d", n, w)
		tx.after = map[int]account{}
		for id, a := range rows {
			tx.after[id] = a
		}
		txs = append(txs, tx)
	}
	return txs
}

// world is the workload and what is known about it.
type world struct {
	t           *testing.T
	seed        uint64
	parallelism int
	disk        *vfs.MemFS
	plans       [writers][]transaction

	// begun and acked count transactions by writer; ddl changes of the dynamic view in the last place.
	begun, acked [writers + 1]atomic.Int64
	watching     atomic.Bool
	ops          atomic.Int64
	points       chan crash
	left         atomic.Int64
	taken        atomic.Int64
}

// crash is a disk after a crash, with what must be on it.
type crash struct {
	fs       *vfs.MemFS
	where    string
	no       int64
	min, max [writers + 1]int64
}

// inject is called before every operation on the disk.
func (w *world) inject(op errorfs.Op) error {
	if !w.watching.Load() {
		return nil
	}
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpRename, errorfs.OpRemove,
		errorfs.OpLink, errorfs.OpCreate, errorfs.OpReuseForWrite:
	default:
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || w.ops.Add(1)%23 != 0 {
			return nil
		}
	}
	if w.left.Add(-1) < 0 {
		return nil
	}
	c := crash{where: fmt.Sprintf("before operation %d on %s", op.Kind, op.Path), no: w.taken.Add(1)}
	for i := range c.min {
		c.min[i] = w.acked[i].Load()
	}
	percent := []int{0, 0, 50, 0, 100, 10}[c.no%6]
	c.fs = w.disk.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(w.seed, uint64(c.no))),
	})
	for i := range c.max {
		c.max[i] = w.begun[i].Load()
	}
	w.points <- c // waits when the checks do not keep up: every point is checked
	return nil
}

// rows gives a query's rows as sorted text.
func rows(ctx context.Context, q querier, sql string) ([]string, error) {
	out, err := ordered(ctx, q, sql)
	sort.Strings(out)
	return out, err
}

type querier interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}

// ordered is rows in the order in which they come.
func ordered(ctx context.Context, q querier, sql string) ([]string, error) {
	rs, err := q.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	var out []string
	for rs.Next() {
		var parts []string
		for _, v := range rs.RawValues() {
			if v == nil {
				parts = append(parts, "null")
			} else {
				parts = append(parts, string(v))
			}
		}
		out = append(out, strings.Join(parts, "|"))
	}
	return out, rs.Err()
}

// verify opens a disk and checks what is on it.
func (w *world) verify(c crash) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	n, err := open(c.fs, w.parallelism)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, n.close()) }()
	conn, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := w.check(ctx, conn, c); err != nil {
		return err
	}
	if c.no%4 != 0 {
		return nil
	}
	// The source goes on where it was, to its end; and life goes on too.
	if err := n.atEnd(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "INSERT INTO acct VALUES (-1, 0, 1, 'after')"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "DELETE FROM acct WHERE id = -1"); err != nil {
		return err
	}
	return w.check(ctx, conn, c)
}

// atEnd awaits that the source has given every bid.
func (n *node) atEnd(ctx context.Context, conn *pgx.Conn) error {
	for {
		// Again and again: a timer that is set now is for a time in the future.
		n.clock.advance(time.Hour)
		var got int
		if err := conn.QueryRow(ctx, "SELECT coalesce(sum(n), 0)::int8 FROM v_bid").Scan(&got); err != nil {
			return err
		}
		if got == bids {
			return nil
		}
		if got > bids {
			return fmt.Errorf("%d bids, the source has %d", got, bids)
		}
	}
}

// check compares the database with what was acknowledged, and every view with its query.
func (w *world) check(ctx context.Context, conn *pgx.Conn, c crash) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	for k := range writers {
		var n int
		if err := tx.QueryRow(ctx, fmt.Sprintf("SELECT n FROM progress WHERE w = %d", k)).Scan(&n); err != nil {
			return fmt.Errorf("progress of writer %d: %w", k, err)
		}
		if int64(n) < c.min[k] || int64(n) > c.max[k] {
			return fmt.Errorf("writer %d has %d transactions; %d are acknowledged, %d were begun", k, n, c.min[k], c.max[k])
		}
		var want []string
		for id, a := range w.plans[k][n].after {
			want = append(want, fmt.Sprintf("%d|%d|%d|%s", id, a.grp, a.val, a.tag))
		}
		sort.Strings(want)
		got, err := rows(ctx, tx, fmt.Sprintf("SELECT id, grp, val, tag FROM acct WHERE id %% %d = %d", writers, k))
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("writer %d after %d transactions:\n got %v\nwant %v", k, n, got, want)
		}
		got, err = rows(ctx, tx, fmt.Sprintf("SELECT count(*), count(DISTINCT n), coalesce(max(n), 0) FROM hist WHERE w = %d", k))
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("%d|%d|%d", n, n, n); got[0] != want {
			return fmt.Errorf("history of writer %d: %s, want %s", k, got[0], want)
		}
	}
	for v, q := range views {
		if err := same(ctx, tx, v, q); err != nil {
			return err
		}
	}
	var there int64
	if err := tx.QueryRow(ctx, "SELECT count(*) FROM pg_class WHERE relname = 'v_dyn'").Scan(&there); err != nil {
		return err
	}
	// After an odd number of changes the view is there.
	if ok := c.min[writers]%2 == there || c.max[writers]%2 == there; !ok {
		return fmt.Errorf("%d dynamic views after %d to %d changes", there, c.min[writers], c.max[writers])
	}
	if there == 1 {
		return same(ctx, tx, "v_dyn", dynamic)
	}
	return nil
}

func same(ctx context.Context, tx pgx.Tx, view, query string) error {
	got, err := rows(ctx, tx, "SELECT * FROM "+view)
	if err != nil {
		return fmt.Errorf("view %s: %w", view, err)
	}
	want, err := rows(ctx, tx, query)
	if err != nil {
		return fmt.Errorf("query of %s: %w", view, err)
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("view %s is not its query:\n got %v\nwant %v", view, got, want)
	}
	return nil
}

func setting(name string, def uint64) uint64 {
	if v, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return v
	}
	return def
}

// TestCrashAtEverySyncPoint: whatever the moment of a power failure, acknowledged transactions are there and
// others are there completely or not at all, views equal their queries, no event of the source is lost or
// counted twice, and a view that was being created or dropped is there or not.
func TestCrashAtEverySyncPoint(t *testing.T) {
	seed := setting("WEIR_SIM_SEED", uint64(time.Now().UnixNano())%1e6)
	t.Logf("repeat with WEIR_SIM_SEED=%d", seed)
	w := &world{
		t: t, seed: seed, parallelism: 1 + int(seed%2), disk: vfs.NewCrashableMem(), points: make(chan crash),
	}
	w.left.Store(int64(setting("WEIR_SIM_POINTS", 300)))
	count := int(setting("WEIR_SIM_TRANSACTIONS", 60))
	for k := range w.plans {
		w.plans[k] = plan(seed, k, count)
	}
	n, err := open(watched(w.disk, w.inject), w.parallelism)
	if err != nil {
		t.Fatal(err)
	}
	var checks sync.WaitGroup
	for range 2 {
		checks.Go(func() {
			for c := range w.points {
				if err := w.verify(c); err != nil {
					t.Errorf("crash %d, %s: %v", c.no, c.where, err)
					w.left.Store(0)
				}
			}
		})
	}
	ctx := t.Context()
	w.setUp(ctx, n)
	w.watching.Store(true)
	var work sync.WaitGroup
	for k := range writers {
		work.Go(func() { w.write(ctx, n, k) })
	}
	work.Wait()
	w.watching.Store(false)
	conn, err := n.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.atEnd(ctx, conn); err != nil {
		t.Error(err)
	}
	_ = conn.Close(ctx)
	if err := n.close(); err != nil {
		t.Error(err)
	}
	close(w.points)
	checks.Wait()
	if got := w.taken.Load(); got < 50 {
		t.Errorf("only %d crashes", got)
	}
	t.Logf("%d crashes, parallelism %d", w.taken.Load(), w.parallelism)
}

func (w *world) setUp(ctx context.Context, n *node) {
	w.t.Helper()
	conn, err := n.connect(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close(ctx)
	do := func(sql string) {
		w.t.Helper()
		if _, err := conn.Exec(ctx, sql); err != nil {
			w.t.Fatalf("%s: %v", sql, err)
		}
	}
	do("CREATE TABLE acct (id int8 PRIMARY KEY, grp int, val int8, tag text UNIQUE)")
	do("CREATE TABLE grp (id int PRIMARY KEY, name text)")
	do("CREATE TABLE hist (w int, n int)")
	do("CREATE TABLE progress (w int PRIMARY KEY, n int)")
	do("INSERT INTO grp VALUES (0, 'zero'), (1, 'one'), (2, 'two'), (4, 'four')")
	for k := range writers {
		do(fmt.Sprintf("INSERT INTO progress VALUES (%d, 0)", k))
	}
	for _, kind := range []string{"bid", "auction"} {
		do(fmt.Sprintf("CREATE SOURCE %s WITH (connector = 'nexmark', table = '%s', events = '%d', rate = '1000', seed = '%d')",
			kind, kind, events, w.seed))
	}
	for _, v := range viewOrder {
		do("CREATE MATERIALIZED VIEW " + v + " AS " + views[v])
	}
}

// write runs a writer's transactions; the first writer also moves the sources' time and the dynamic view.
func (w *world) write(ctx context.Context, n *node, k int) {
	conn, err := n.connect(ctx)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer conn.Close(ctx)
	for i := 1; i < len(w.plans[k]); i++ {
		if k == 0 {
			n.clock.advance(events * time.Millisecond / time.Duration(len(w.plans[k])))
			if i%5 == 0 {
				sql := "DROP MATERIALIZED VIEW v_dyn"
				if w.begun[writers].Load()%2 == 0 {
					sql = "CREATE MATERIALIZED VIEW v_dyn AS " + dynamic
				}
				w.begun[writers].Add(1)
				if _, err := conn.Exec(ctx, sql); err != nil {
					w.t.Errorf("%s: %v", sql, err)
					return
				}
				w.acked[writers].Add(1)
			}
		}
		w.begun[k].Add(1)
		for {
			err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				for _, sql := range w.plans[k][i].stmts {
					if _, err := tx.Exec(ctx, sql); err != nil {
						return fmt.Errorf("%s: %w", sql, err)
					}
				}
				return nil
			})
			if err == nil {
				break
			}
			// Two writers that both want the table alone may meet; nothing of a transaction is left then.
			if !strings.Contains(err.Error(), "40P01") {
				w.t.Error(err)
				return
			}
		}
		w.acked[k].Add(1)
	}
}
