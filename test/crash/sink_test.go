package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
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
	deadline := time.Now().Add(60 * time.Second)
	for {
		if _, err := c.Exec(ctx, "CHECKPOINT"); err != nil {
			t.Fatal(err)
		}
		err := compareSinks(ctx, p, plain, changes)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func compareSinks(ctx context.Context, p *process, plain, changes string) error {
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
	for _, s := range []struct{ view, path string }{
		{"SELECT auction, bidder, price FROM rows", plain},
		{"SELECT k, n, total FROM totals", changes},
	} {
		want, err := rows(ctx, tx, s.view)
		if err != nil {
			return err
		}
		counts, err := readSink(s.path)
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
			return fmt.Errorf("%s has no rows", s.view)
		}
	}
	return nil
}

// readSink counts the rows of a file: an insert is one more, a delete one less.
func readSink(path string) (map[string]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	counts := map[string]int{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		var r struct {
			Op                     string
			Auction, Bidder, Price json.Number
			K, N, Total            json.Number
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, in.Text(), err)
		}
		key, d := fmt.Sprintf("%s|%s|%s", r.Auction, r.Bidder, r.Price), 1
		if r.Op != "" {
			key = fmt.Sprintf("%s|%s|%s", r.K, r.N, r.Total)
		}
		if r.Op == "delete" {
			d = -1
		}
		counts[key] += d
	}
	return counts, in.Err()
}
