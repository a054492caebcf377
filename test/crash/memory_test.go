package crash

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestMemoryLimit has a view whose state is five times the memory limit with WEIR_SOAK, a fifth of it without: its rows are right, also
// those that come back from disk because a newer one of their group comes, and the process stays below the limit plus 20 %.
func TestMemoryLimit(t *testing.T) {
	const limit = 200 << 20
	rows := 40_000
	if os.Getenv("WEIR_SOAK") != "" {
		rows = 1_000_000
	}
	t.Setenv(memoryEnv, strconv.Itoa(limit))
	p := startServer(t, t.TempDir()+"/data")
	defer p.kill()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	run := func(q string) {
		t.Helper()
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	run("CREATE TABLE t (id int, n int, x text)")
	run("CREATE MATERIALIZED VIEW v AS SELECT DISTINCT ON (id) * FROM t ORDER BY id, n DESC, x")
	// A kilobyte a row; the second time, every third row is replaced.
	const step = 10_000
	for n := range 2 {
		for i := 1; i <= rows; i += step {
			run(fmt.Sprintf("INSERT INTO t SELECT i, %d, repeat(md5(i || ':%d'), 32) FROM generate_series(%d, %d) i WHERE %d = 0 OR i %% 3 = 0", n, n, i, i+step-1, n))
		}
	}
	var count, replaced, sum, wrong int64
	err = c.QueryRow(ctx, "SELECT count(*), sum(n), sum(id::int8), count(*) FILTER (WHERE x <> repeat(md5(id || ':' || n), 32) OR n <> (id % 3 = 0)::int) FROM v").
		Scan(&count, &replaced, &sum, &wrong)
	if err != nil {
		t.Fatal(err)
	}
	all := int64(rows)
	if count != all || replaced != all/3 || sum != all*(all+1)/2 || wrong != 0 {
		t.Errorf("%d rows, %d replaced, %d the sum of the keys, %d wrong; there are %d rows", count, replaced, sum, wrong, all)
	}
	p.within(t, limit)
}

// TestQueryMemory sorts, groups and joins ten times the memory limit with WEIR_SOAK, half of it without, which is still three times what a
// query may have in memory: the process stays below the limit plus 20 %.
func TestQueryMemory(t *testing.T) {
	const limit = 200 << 20
	rows := 100_000
	if os.Getenv("WEIR_SOAK") != "" {
		rows = 2_000_000
	}
	t.Setenv(memoryEnv, strconv.Itoa(limit))
	p := startServer(t, t.TempDir()+"/data")
	defer p.kill()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	// A kilobyte a row.
	wide := fmt.Sprintf("(SELECT i, repeat(md5(i::text), 32) AS x FROM generate_series(1, %d) i) s", rows)
	all := int64(rows)

	got, err := c.Query(ctx, "SELECT x, i FROM "+wide+" ORDER BY x")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	var last, x string
	var i, sum, n int64
	for got.Next() {
		if err := got.Scan(&x, &i); err != nil {
			t.Fatal(err)
		}
		if x < last {
			t.Fatalf("row %d is out of order", n)
		}
		last, sum, n = x, sum+i, n+1
	}
	if err := got.Err(); err != nil || n != all || sum != all*(all+1)/2 {
		t.Errorf("sorted: %d rows, %d the sum, %v; there are %d", n, sum, err, all)
	}

	ask := func(q string, want ...int64) {
		t.Helper()
		row := make([]int64, len(want))
		dst := make([]any, len(want))
		for k := range row {
			dst[k] = &row[k]
		}
		if err := c.QueryRow(ctx, q).Scan(dst...); err != nil || !slices.Equal(row, want) {
			t.Errorf("%s: %v, %v; want %v", q, row, err, want)
		}
	}
	ask("SELECT count(*), sum(n)::int8, sum(length(x)) FROM (SELECT x, count(*) AS n FROM "+wide+" GROUP BY x) g", all, all, all<<10)
	ask("SELECT count(DISTINCT x) FROM "+wide, all)
	ask("SELECT count(*), sum(a.i) FROM "+wide+" JOIN (SELECT i, repeat(md5(i::text), 32) AS y FROM "+
		"generate_series(1, "+strconv.Itoa(rows)+", 2) i) a ON a.y = s.x", (all+1)/2, (all+1)/2*((all+1)/2))
	p.within(t, limit)
}

// within checks that the process has never had more memory than a limit plus 20 %.
func (p *process) within(t *testing.T, limit int64) {
	t.Helper()
	peak, ok := p.peak(t)
	if !ok {
		return
	}
	t.Logf("at most %d MB in memory, of %d", peak>>20, limit>>20)
	if peak > limit*6/5 {
		t.Errorf("the process had %d MB, under a limit of %d MB", peak>>20, limit>>20)
	}
}

// peak is the most memory that the process ever had, in bytes; false where the system does not tell.
func (p *process) peak(t *testing.T) (int64, bool) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Logf("this system does not tell how much memory a process had: %v", err)
		return 0, false
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no VmHWM in\n%s", status)
	}
	peak, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return peak << 10, true
}
