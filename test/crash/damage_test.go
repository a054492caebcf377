package crash

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirdb/weir/server"
)

// TestDamagedDisk kills the server and then damages a file of its newest state, again and again: it starts from a
// retained checkpoint and the log, or what was damaged did not matter; every acknowledged write and definition is there,
// every view equals its query, and the directory is well again.
func TestDamagedDisk(t *testing.T) {
	total := rounds(6, 100, 3)
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
	fellBack := 0
	for round := range total {
		run, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { w.write(run, p, seed+int64(round*10+i)) })
		}
		wg.Go(func() {
			if err := w.feed(run, feed, seed+int64(round)); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Duration(300+rng.Intn(400)) * time.Millisecond)
		if err := defineLate(ctx, p, round); err != nil {
			t.Fatal(err)
		}
		p.kill()
		stop()
		wg.Wait()
		what := damageFile(t, rng, filepath.Join(dir, "state"))
		p = startServer(t, dir)
		err := w.check(ctx, p)
		if err == nil {
			err = checkLate(ctx, p, round)
		}
		if _, serr := os.Stat(filepath.Join(dir, "SUSPECT")); err != nil && serr == nil {
			// A table that is not new is not verified at the start. A read has found it: now it is.
			t.Logf("round %d, %s: %v", round, what, err)
			p.kill()
			p = startServer(t, dir)
			if err = w.check(ctx, p); err == nil {
				err = checkLate(ctx, p, round)
			}
		}
		if err != nil {
			text, _ := os.ReadFile(dir + ".log")
			p.kill()
			t.Fatalf("round %d, %s: %v\n%s", round, what, err, tail(string(text)))
		}
		aside, _ := filepath.Glob(filepath.Join(dir, "damaged", "*"))
		t.Logf("round %d, %s: %d directories set aside", round, what, len(aside))
		fellBack = len(aside)
	}
	p.kill()
	if fellBack == 0 && total > 5 {
		t.Error("the server has never fallen back")
	}
	text, err := os.ReadFile(dir + ".log")
	if err != nil || fellBack > 0 && !strings.Contains(string(text), "storage fell back to a retained checkpoint") {
		t.Errorf("the log does not say so: %v", err)
	}
	if r, err := server.Check(dir); err != nil || len(r.Problems) > 0 {
		t.Errorf("%v %+v", err, r)
	}
}

// defineLate makes a table with a row and a view over it, right before a kill.
func defineLate(ctx context.Context, p *process, round int) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, q := range []string{
		"CREATE TABLE late%[1]d (a int)", "INSERT INTO late%[1]d VALUES (%[1]d)",
		"CREATE MATERIALIZED VIEW late%[1]d_sum AS SELECT sum(a) AS s FROM late%[1]d", "INSERT INTO late%[1]d VALUES (1000)",
	} {
		if _, err := c.Exec(ctx, fmt.Sprintf(q, round)); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// checkLate looks for what defineLate has made in this round and in those before.
func checkLate(ctx context.Context, p *process, round int) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for r := range round + 1 {
		var sum int
		if err := c.QueryRow(ctx, fmt.Sprintf("SELECT s FROM late%d_sum", r)).Scan(&sum); err != nil {
			return err
		}
		if sum != r+1000 {
			return fmt.Errorf("late%d has the sum %d", r, sum)
		}
	}
	return nil
}

// damageFile replaces one of the files of a directory by a damaged copy, so that links of it stay as they are, or
// removes it.
func damageFile(t *testing.T, rng *rand.Rand, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, dir)
	}
	var choice []string
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.Size() > 0 && !strings.Contains(f, "OPTIONS") && !strings.HasSuffix(f, "HEAD") {
			choice = append(choice, f)
		}
	}
	path := choice[rng.Intn(len(choice))]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(path)
	switch rng.Intn(4) {
	case 0:
		return name + " removed"
	case 1:
		b = b[:rng.Intn(len(b))]
		name += " cut to " + strconv.Itoa(len(b)) + " bytes"
	default:
		at := rng.Intn(len(b))
		b[at] ^= 1 << rng.Intn(8)
		name += ", a bit of byte " + strconv.Itoa(at) + " of " + strconv.Itoa(len(b))
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFallbackIsShown: weir_checkpoints says from psql that an earlier checkpoint was taken and why, which one was set aside, and that a
// retained one is damaged.
func TestFallbackIsShown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	ctx := t.Context()
	p := startServer(t, dir)
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)", "CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t", "INSERT INTO t VALUES (2)",
	} {
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	p.kill()
	manifests, err := filepath.Glob(filepath.Join(dir, "state", "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(err, manifests)
	}
	for _, m := range manifests {
		flipBytes(t, m)
	}
	// Of the two retained ones the older is damaged too; it is not needed.
	retained, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*", "WEIR_CHECKPOINT"))
	if err != nil || len(retained) != 2 {
		t.Fatal(err, retained)
	}
	flipBytes(t, retained[0])
	p = startServer(t, dir)
	defer p.kill()
	if c, err = p.connect(ctx); err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, q := range []string{
		"SELECT count(*) = 1 FROM weir_checkpoints WHERE kind = 'fallback' AND state = 'committed' AND error LIKE 'taken in place of %MANIFEST%'",
		"SELECT count(*) = 1 FROM weir_checkpoints WHERE kept = 'set aside' AND state = 'damaged' AND error LIKE '%MANIFEST%'",
		"SELECT count(*) = 1 FROM weir_checkpoints WHERE kept = 'retained' AND state = 'damaged' AND error LIKE '%WEIR_CHECKPOINT%checksum%'",
		"SELECT s = 3 FROM v",
	} {
		var ok bool
		if err := c.QueryRow(ctx, q).Scan(&ok); err != nil || !ok {
			rows := "\n"
			all, qerr := c.Query(ctx, "SELECT id, kind, state, kept, error FROM weir_checkpoints ORDER BY id")
			for qerr == nil && all.Next() {
				vs, _ := all.Values()
				rows += fmt.Sprintln(vs...)
			}
			t.Fatalf("%s: %v %v%s", q, ok, err, rows)
		}
	}
}

// flipBytes replaces a file by a copy with some bytes in the middle changed, so that links of it stay as they are.
func flipBytes(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) / 2; i < min(len(b)/2+4, len(b)); i++ {
		b[i] ^= 0x55
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
