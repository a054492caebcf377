package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	rand2 "math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
)

// registers are numbers that only grow. Clients write them, each its own, into two tables in one transaction, and read them through
// whatever shows them. A read that began when a value was acknowledged, or had been read by anybody from anything,
// gives that value or a later one.
type registers struct {
	// issued is what writers have begun to write, floor what was acknowledged or read.
	issued, floor []atomic.Int64
	// rows is the floor of how many rows of the source are there.
	rows atomic.Int64
}

const (
	registerCount = 4
	accountCount  = 6
	accountTotal  = 600
)

// registerViews show the registers, as k and v, in an order in which they can be made.
var registerViews = []struct{ name, query string }{
	{"r_plain", "SELECT k, v FROM reg"},
	{"r_max", "SELECT k, max(v) AS v FROM reg2 GROUP BY k"},
	{"r_loop", "WITH RECURSIVE r(k, v, n) AS (SELECT k, v, 0 FROM reg UNION SELECT k, v, n + 1 FROM r WHERE n < 12) SELECT k, v, n FROM r"},
	{"r_over", "SELECT k, max(v) AS v FROM r_loop WHERE n = 12 GROUP BY k"},
	{"r_join", "SELECT a.k, a.v, b.v AS v2 FROM reg a JOIN reg2 b ON a.k = b.k"},
	{"r_deep", "SELECT a.k, a.v, b.v AS v2, c.v AS v3 FROM r_over a JOIN r_max b ON a.k = b.k JOIN r_join c ON c.k = a.k"},
	{"r_rep", "SELECT k, v + 0 AS v FROM r_max"},
	{"r_rep2", "SELECT k, max(v) AS v FROM r_rep GROUP BY k"},
	{"total", "SELECT 0 AS k, sum(bal) AS v FROM acct"},
	{"acct_v", "SELECT id, bal FROM acct WHERE bal > -1000000"},
	{"acct_join", "SELECT a.id, a.bal, b.bal AS bal2 FROM acct a JOIN acct_v b ON a.id = b.id"},
	{"src_n", "SELECT count(*) AS n FROM src"},
	{"src_reg", "SELECT src.n, r.v FROM src JOIN reg r ON r.k = src.n"},
}

// readable are the relations with registers that are not always the same.
var readable = []string{"reg", "reg2", "r_plain", "r_max", "r_over", "r_join", "r_deep", "r_rep", "r_rep2"}

// slowness holds operators up, each for as long as it pleases, now and then.
type slowness struct {
	mu  sync.Mutex
	rng *rand.Rand
	on  atomic.Bool
}

func (s *slowness) tune(c *server.Config) {
	tune := c.Tune
	c.Tune = func(e *engine.Config) {
		if tune != nil {
			tune(e)
		}
		fault := e.Fault
		e.Fault = func(job flow.JobID, a flow.ActorID, operator string) {
			s.call()
			if fault != nil {
				fault(job, a, operator)
			}
		}
	}
}

func (s *slowness) call() {
	if !s.on.Load() {
		return
	}
	s.mu.Lock()
	d := time.Duration(0)
	if s.rng.Intn(40) == 0 {
		d = time.Duration(s.rng.Intn(8000)) * time.Microsecond
	}
	s.mu.Unlock()
	if d > 0 {
		<-time.After(d)
	}
}

// serial is a run of the checker.
type serial struct {
	t   *testing.T
	r   *registers
	f   *faulty
	n   *node
	ctx context.Context
	wg  sync.WaitGroup
	// steps counts what was done, by kind.
	stepsMu sync.Mutex
	steps   map[string]int
}

func (s *serial) count(kind string) {
	s.stepsMu.Lock()
	defer s.stepsMu.Unlock()
	s.steps[kind]++
}

// passing tells whether an error is one that a client has to expect here: try again, or what a definition took away.
func passing(err error, more ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (slices.Contains([]string{"40001", "40P01"}, e.Code) || slices.Contains(more, e.Code) || strings.Contains(e.Message, "cannot recover"))
}

// tooLong is how long a statement may take here.
const tooLong = 90 * time.Second

// client runs f again and again until the run ends. If f fails with what is not passing, the test fails.
func (s *serial) client(kind string, seed int64, f func(ctx context.Context, c *client, rng *rand.Rand) error) {
	c := dial(s.t, s.n)
	rng := rand.New(rand.NewSource(seed))
	s.wg.Go(func() {
		for s.ctx.Err() == nil && !s.t.Failed() {
			ctx, cancel := context.WithTimeout(context.Background(), tooLong)
			start := time.Now()
			err := f(ctx, c, rng)
			cancel()
			s.count(kind)
			if err != nil && !passing(err) {
				s.t.Errorf("%s, after %v: %v", kind, time.Since(start), err)
				return
			}
			if err != nil {
				s.count(kind + " again")
				_, _ = c.Exec(context.Background(), "ROLLBACK")
			}
		}
	})
}

func (s *serial) exec(ctx context.Context, c *client, sql string) error {
	_, err := c.Exec(ctx, sql)
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func (s *serial) floor() []int64 {
	out := make([]int64, registerCount)
	for k := range out {
		out[k] = s.r.floor[k].Load()
	}
	return out
}

func raiseTo(a *atomic.Int64, v int64) {
	for {
		old := a.Load()
		if old >= v || a.CompareAndSwap(old, v) {
			return
		}
	}
}

// check compares rows of k and values with what must be there, and notes what they show. All values of a row are of one moment.
func (s *serial) check(what string, floor []int64, rows []string) error {
	got := map[int]bool{}
	for _, row := range rows {
		fs := strings.Split(row, "|")
		k, err := strconv.Atoi(fs[0])
		if err != nil {
			return err
		}
		v, err := strconv.ParseInt(fs[1], 10, 64)
		if err != nil {
			return err
		}
		for _, f := range fs[2:] {
			if f != fs[1] {
				return fmt.Errorf("WRONG: %s: %q: values of different moments", what, row)
			}
		}
		if got[k] {
			return fmt.Errorf("WRONG: %s: register %d twice in %v", what, k, rows)
		}
		got[k] = true
		if v < floor[k] {
			return fmt.Errorf("WRONG: %s: register %d is %d, it was %d before", what, k, v, floor[k])
		}
		if issued := s.r.issued[k].Load(); v > issued {
			return fmt.Errorf("WRONG: %s: register %d is %d, nobody has written more than %d", what, k, v, issued)
		}
		raiseTo(&s.r.floor[k], v)
	}
	if len(got) != registerCount {
		return fmt.Errorf("WRONG: %s: %v", what, rows)
	}
	return nil
}

func (s *serial) writer(ctx context.Context, c *client, rng *rand.Rand, w int) error {
	k := rng.Intn(registerCount/2)*2 + w
	v := s.r.issued[k].Add(1)
	sql := fmt.Sprintf("UPDATE reg SET v = %d WHERE k = %d; UPDATE reg2 SET v = %d WHERE k = %d", v, k, v, k)
	if rng.Intn(2) == 0 {
		sql = fmt.Sprintf("UPDATE reg2 SET v = %d WHERE k = %d; DELETE FROM reg WHERE k = %d; INSERT INTO reg VALUES (%d, %d)", v, k, k, k, v)
	}
	if err := s.exec(ctx, c, sql); err != nil {
		return err
	}
	raiseTo(&s.r.floor[k], v)
	s.n.clock.advance(time.Millisecond)
	return nil
}

func (s *serial) transfer(ctx context.Context, c *client, rng *rand.Rand) error {
	a, b, x := rng.Intn(accountCount), rng.Intn(accountCount), rng.Intn(50)
	return s.exec(ctx, c, fmt.Sprintf("BEGIN; UPDATE acct SET bal = bal - %d WHERE id = %d; UPDATE acct SET bal = bal + %d WHERE id = %d; COMMIT", x, a, x, b))
}

func (s *serial) read(ctx context.Context, c *client, rng *rand.Rand) error {
	rel := readable[rng.Intn(len(readable))]
	floor := s.floor()
	got, err := rows(ctx, c, "SELECT * FROM "+rel)
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	return s.check(rel, floor, got)
}

// readTwo joins two relations, which are of one moment.
func (s *serial) readTwo(ctx context.Context, c *client, rng *rand.Rand) error {
	a, b := readable[rng.Intn(len(readable))], readable[rng.Intn(len(readable))]
	floor := s.floor()
	got, err := rows(ctx, c, fmt.Sprintf("SELECT a.k, a.v, b.v, c.v FROM %s a JOIN %s b ON a.k = b.k JOIN reg c ON c.k = a.k", a, b))
	if err != nil {
		return fmt.Errorf("%s, %s: %w", a, b, err)
	}
	return s.check(a+" and "+b, floor, got)
}

// readMany reads relations one after the other in a transaction with one snapshot.
func (s *serial) readMany(ctx context.Context, c *client, rng *rand.Rand) error {
	floor := s.floor()
	if err := s.exec(ctx, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return err
	}
	first, before := "", ""
	for range 2 + rng.Intn(4) {
		rel := readable[rng.Intn(len(readable))]
		got, err := rows(ctx, c, "SELECT k, v FROM "+rel+" ORDER BY k")
		if err != nil {
			return fmt.Errorf("%s in a transaction: %w", rel, err)
		}
		if err := s.check(rel+" in a transaction", floor, got); err != nil {
			return err
		}
		now := fmt.Sprint(got)
		if first == "" {
			first, before = now, rel
		} else if now != first {
			return fmt.Errorf("WRONG: in one transaction: %s has %s, %s had %s", rel, now, before, first)
		}
	}
	return s.exec(ctx, c, "COMMIT")
}

func (s *serial) totals(ctx context.Context, c *client, rng *rand.Rand) error {
	qs := []string{
		"SELECT v FROM total", "SELECT sum(bal) FROM acct_v", "SELECT sum(bal2) FROM acct_join",
		"SELECT sum(a.bal) FROM acct a JOIN acct_join b ON a.id = b.id AND a.bal = b.bal AND b.bal = b.bal2",
		"SELECT sum(a.bal) FROM acct_v a JOIN acct_join b ON a.id = b.id AND a.bal = b.bal2",
	}
	q := qs[rng.Intn(len(qs))]
	got, err := rows(ctx, c, q)
	if err != nil {
		return fmt.Errorf("%s: %w", q, err)
	}
	if len(got) != 1 || got[0] != strconv.Itoa(accountTotal) {
		return fmt.Errorf("WRONG: %s: %v", q, got)
	}
	return nil
}

func (s *serial) source(ctx context.Context, c *client, rng *rand.Rand) error {
	qs := []string{"SELECT n, 0 FROM src_n", "SELECT count(*), 0 FROM src", "SELECT n, (SELECT v FROM total) - 600 FROM src_n", "SELECT greatest(n, 4), (SELECT count(*) FROM src_reg) - 4 FROM src_n WHERE n >= 4"}
	q := qs[rng.Intn(len(qs))]
	floor := s.r.rows.Load()
	if floor < 4 {
		q = qs[0]
	}
	got, err := rows(ctx, c, q)
	if err != nil {
		return fmt.Errorf("%s: %w", q, err)
	}
	n, _ := strconv.ParseInt(strings.TrimSuffix(got[0], "|0"), 10, 64)
	if len(got) != 1 || !strings.HasSuffix(got[0], "|0") || n < floor {
		return fmt.Errorf("WRONG: %s: %v, there were %d rows", q, got, floor)
	}
	raiseTo(&s.r.rows, n)
	if rng.Intn(3) == 0 {
		s.f.give(s.f.limit.Load() + 1)
	}
	return nil
}

// subscriber follows a relation for a while.
func (s *serial) subscriber(ctx context.Context, c *client, rng *rand.Rand) error {
	rel := []string{"reg", "r_plain", "r_max", "r_over", "r_rep"}[rng.Intn(5)]
	for _, q := range []string{"BEGIN", "DECLARE f CURSOR FOR SUBSCRIBE " + rel} {
		if err := s.exec(ctx, c, q); err != nil {
			return err
		}
	}
	state, last := map[string]int{}, int64(0)
	for range 2 + rng.Intn(6) {
		before := s.floor()
		got, err := ordered(ctx, c, "FETCH ALL f WITH (timeout = '5ms')")
		if err != nil {
			return fmt.Errorf("changes of %s: %w", rel, err)
		}
		for _, row := range got {
			fs := strings.SplitN(row, "|", 3)
			e, _ := strconv.ParseInt(fs[0], 10, 64)
			diff, err := strconv.Atoi(fs[1])
			if err != nil {
				return fmt.Errorf("changes of %s: %q", rel, row)
			}
			if e < last {
				return fmt.Errorf("WRONG: changes of %s: %q after %d", rel, row, last)
			}
			last = e
			if state[fs[2]] += diff; state[fs[2]] == 0 {
				delete(state, fs[2])
			}
		}
		var now []string
		for row, n := range state {
			if n != 1 {
				return fmt.Errorf("WRONG: changes of %s: %q is there %d times", rel, row, n)
			}
			now = append(now, row)
		}
		// What is fetched has at least what was there when it was asked for.
		if err := s.check("changes of "+rel, before, now); err != nil {
			return err
		}
	}
	return s.exec(ctx, c, "COMMIT")
}

// define makes, drops and replaces views.
func (s *serial) define(ctx context.Context, c *client, rng *rand.Rand) error {
	floor := s.floor()
	switch rng.Intn(3) {
	case 0:
		if err := s.exec(ctx, c, "CREATE MATERIALIZED VIEW brief AS SELECT a.k, a.v, b.v AS v2 FROM reg2 a JOIN r_plain b ON a.k = b.k"); err != nil {
			return err
		}
		floor = s.floor()
		got, err := rows(ctx, c, "SELECT * FROM brief")
		if err == nil {
			err = s.check("a new view", floor, got)
		}
		if err != nil && !passing(err) {
			return err
		}
		for {
			if err := s.exec(ctx, c, "DROP MATERIALIZED VIEW brief"); !passing(err) {
				return err
			}
		}
	default:
		from := []string{"r_max", "r_plain", "reg", "r_over"}[rng.Intn(4)]
		if err := s.exec(ctx, c, fmt.Sprintf("CREATE OR REPLACE MATERIALIZED VIEW r_rep AS SELECT k, v + %d - %[1]d AS v FROM %s", rng.Intn(100), from)); err != nil {
			return err
		}
		got, err := rows(ctx, c, "SELECT * FROM r_rep")
		if err != nil {
			return err
		}
		return s.check("a replaced view", floor, got)
	}
}

// TestSerial: while views are made and replaced, operators are slow and panic, and everything begins again after crashes, no read,
// of whatever relation by whatever session, misses what was acknowledged before it, or goes back behind another
// read; all relations of a query or a snapshot are of one moment, and subscriptions show the same.
func TestSerial(t *testing.T) {
	for _, v := range []struct {
		name            string
		parallel, chunk int
		panics          bool
	}{
		{"plain", 1, 0, false}, {"rows", 2, 1, false}, {"panics", 2, 0, true},
	} {
		t.Run(v.name, func(t *testing.T) { runSerial(t, v.parallel, v.chunk, v.panics) })
	}
}

func runSerial(t *testing.T, parallel, chunk int, panicking bool) {
	seed := int64(parallel*10 + chunk)
	if os.Getenv("WEIR_SOAK") != "" {
		seed = time.Now().UnixNano()
	}
	t.Logf("seed %d", seed)
	p := newPanics()
	slow := &slowness{rng: rand.New(rand.NewSource(seed))}
	f := newFaulty()
	open := func(fs vfs.FS) *node {
		n, err := openTuned(fs, parallel, func(c *server.Config) {
			c.RestartAttempts, c.RestartDelayMax = -1, 50*time.Millisecond
			p.tune(c)
			slow.tune(c)
			tune := c.Tune
			c.Tune = func(e *engine.Config) {
				tune(e)
				e.ChunkSize = chunk
			}
		}, f.register)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	fs := vfs.NewCrashableMem()
	s := &serial{t: t, f: f, n: open(fs), steps: map[string]int{}}
	s.r = &registers{issued: make([]atomic.Int64, registerCount), floor: make([]atomic.Int64, registerCount)}
	a := dial(t, s.n)
	for _, sql := range []string{
		"CREATE TABLE reg (k int8 PRIMARY KEY, v int8)", "CREATE TABLE reg2 (k int8 PRIMARY KEY, v int8)",
		"CREATE TABLE acct (id int8 PRIMARY KEY, bal int8)",
		"CREATE SOURCE src (n int8) WITH (connector = 'faulty')",
		fmt.Sprintf("INSERT INTO reg SELECT i, 0 FROM generate_series(0, %d) i", registerCount-1),
		fmt.Sprintf("INSERT INTO reg2 SELECT i, 0 FROM generate_series(0, %d) i", registerCount-1),
		fmt.Sprintf("INSERT INTO acct SELECT i, %d FROM generate_series(0, %d) i", accountTotal/accountCount, accountCount-1),
	} {
		a.must(sql)
	}
	for _, v := range registerViews {
		a.must("CREATE MATERIALIZED VIEW " + v.name + " AS " + v.query)
	}
	rng := rand.New(rand.NewSource(seed))
	end := time.Now().Add(soak(t, 3*time.Second))
	for round := 0; (round < 2 || time.Now().Before(end)) && !t.Failed(); round++ {
		s.round(rng, p, slow, panicking)
		if t.Failed() {
			break
		}
		// What was acknowledged by now is there after a crash.
		floor := s.floor()
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.Intn(100), RNG: rand2.New(rand2.NewPCG(uint64(seed), uint64(round)))})
		if err := s.n.close(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		fs, s.n = crashed, open(crashed)
		s.r.rows.Store(0)
		for k := range floor {
			s.r.floor[k].Store(floor[k])
		}
		a = dial(t, s.n)
		for _, rel := range readable {
			if err := s.check(rel+" after a crash", floor, a.get("SELECT * FROM "+rel)); err != nil {
				t.Error(err)
			}
		}
		a.want("SELECT v FROM total", strconv.Itoa(accountTotal))
		if got := a.get("SELECT count(*) FROM weir_jobs WHERE name = 'brief'"); got[0] != "0" {
			a.must("DROP MATERIALIZED VIEW brief")
		}
	}
	t.Logf("%v; %d panics", s.steps, p.hits.Load())
	if err := s.n.close(); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// round lets all clients run for a while.
func (s *serial) round(rng *rand.Rand, p *panics, slow *slowness, panicking bool) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 1500*time.Millisecond)
	defer cancel()
	s.ctx = ctx
	slow.on.Store(true)
	defer slow.on.Store(false)
	for w := range 2 {
		s.client("write", rng.Int63(), func(ctx context.Context, c *client, rng *rand.Rand) error { return s.writer(ctx, c, rng, w) })
		s.client("read", rng.Int63(), s.read)
		s.client("read two", rng.Int63(), s.readTwo)
	}
	s.client("transfer", rng.Int63(), s.transfer)
	s.client("read many", rng.Int63(), s.readMany)
	s.client("total", rng.Int63(), s.totals)
	s.client("source", rng.Int63(), s.source)
	s.client("subscribe", rng.Int63(), s.subscriber)
	s.client("define", rng.Int63(), s.define)
	if panicking {
		var ids []flow.JobID
		for _, name := range []string{"src", "r_plain", "r_max", "r_loop", "r_over", "r_join", "r_deep", "r_rep", "total", "acct_join", "src_n", "src_reg"} {
			ids = append(ids, jobID(s.t, s.n, name))
		}
		r := rand.New(rand.NewSource(rng.Int63()))
		s.wg.Go(func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				p.arm(ids[r.Intn(len(ids))], r.Intn(40))
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	s.wg.Wait()
	p.mu.Lock()
	clear(p.left)
	p.mu.Unlock()
}
