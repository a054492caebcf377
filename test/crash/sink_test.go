package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestCrashKillSink kills a server that writes to file sinks: each row that was inserted is in the append-only
// file once, and what the file of changes adds up to is the view.
func TestCrashKillSink(t *testing.T) {
	kills := rounds(12, 200, 4)
	base := t.TempDir()
	dir, plain, changes := filepath.Join(base, "data"), filepath.Join(base, "rows.jsonl"), filepath.Join(base, "changes.jsonl")
	ctx := context.Background()
	p := startServer(t, dir)
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"CREATE SOURCE bid WITH (connector = 'nexmark', table = 'bid', rate = '20000', seed = '7', events = '200000')",
		"CREATE MATERIALIZED VIEW rows AS SELECT auction, bidder, price FROM bid WHERE price % 10 = 0",
		"CREATE MATERIALIZED VIEW totals AS SELECT auction % 20 AS k, count(*) AS n, sum(price) AS total FROM bid GROUP BY auction % 20",
		"CREATE SINK plain FROM rows WITH (connector = 'file', path = '" + plain + "') FORMAT PLAIN ENCODE JSON",
		"CREATE SINK changes FROM totals WITH (connector = 'file', path = '" + changes + "', type = 'changes') FORMAT PLAIN ENCODE JSON",
	} {
		if _, err := c.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	rng := rand.New(rand.NewSource(time.Now().UnixNano()))
	for range kills {
		var wg sync.WaitGroup
		run, stop := context.WithCancel(ctx)
		wg.Go(func() { // checkpoints on top of the usual ones
			c, err := p.connect(run)
			for err == nil {
				_, err = c.Exec(run, "CHECKPOINT")
			}
		})
		time.Sleep(time.Duration(20+rng.Intn(300)) * time.Millisecond)
		p.kill()
		stop()
		wg.Wait()
		p = startServer(t, dir)
	}
	defer p.kill()
	if c, err = p.connect(ctx); err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	// The source ends; what it has given is committed with the next checkpoint.
	awaitSinks(t, ctx, p, []sinkFile{
		{"SELECT auction, bidder, price FROM rows", plain, []string{"auction", "bidder", "price"}},
		{"SELECT k, n, total FROM totals", changes, []string{"k", "n", "total"}},
	})
}

// sinkFile is a file that a sink has written, and the query whose rows, of these columns, it should have.
type sinkFile struct {
	query, path string
	columns     []string
}

// awaitSinks makes checkpoints until all that was written before is in the files.
func awaitSinks(t *testing.T, ctx context.Context, p *process, files []sinkFile) {
	t.Helper()
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	deadline := time.Now().Add(60 * time.Second)
	for {
		if _, err := c.Exec(ctx, "CHECKPOINT"); err != nil {
			t.Fatal(err)
		}
		err := compareSinks(ctx, p, files)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func compareSinks(ctx context.Context, p *process, files []sinkFile) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	for _, s := range files {
		want, err := rows(ctx, tx, s.query)
		if err != nil {
			return err
		}
		counts, err := readSink(s.path, s.columns)
		if err != nil {
			return err
		}
		for _, r := range want {
			counts[r]--
		}
		for r, n := range counts {
			if n != 0 {
				return fmt.Errorf("%s: row %s is there %+d times more than in the view of %d rows", s.path, r, n, len(want))
			}
		}
		if len(want) == 0 {
			return fmt.Errorf("%s has no rows", s.query)
		}
	}
	return nil
}

// readSink counts the rows of a file, of these columns: an insert is one more, a delete one less.
func readSink(path string, columns []string) (map[string]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	counts := map[string]int{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		r := map[string]any{}
		dec := json.NewDecoder(bytes.NewReader(in.Bytes()))
		dec.UseNumber()
		if err := dec.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, in.Text(), err)
		}
		var vals []string
		for _, c := range columns {
			vals = append(vals, fmt.Sprint(r[c]))
		}
		d := 1
		if r["op"] == "delete" {
			d = -1
		}
		counts[strings.Join(vals, "|")] += d
	}
	return counts, in.Err()
}
