package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/server"
)

// TestBackup makes a backup while clients write, restores it into another directory and starts a server there:
// everything acknowledged before BACKUP is there, every view equals its query, and both directories are found
// to be well.
func TestBackup(t *testing.T) {
	base := t.TempDir()
	dir, feed, backup := filepath.Join(base, "data"), filepath.Join(base, "feed.jsonl"), filepath.Join(base, "backup")
	if err := os.WriteFile(feed, []byte(strings.Repeat(`{"id":1,"kind":"a","v":2}`+"\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	p := startServer(t, dir)
	stopped := false
	defer func() {
		if !stopped {
			p.kill()
		}
	}()
	setup(t, ctx, p, feed)
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var acked atomic.Int64
	run, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		w, err := p.connect(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		defer w.Close(ctx)
		for id := 1; run.Err() == nil; id++ {
			if _, err := w.Exec(ctx, "INSERT INTO item VALUES ($1, $2, $3)", id, id%25, id*7%1000); err != nil {
				t.Error(err)
				return
			}
			acked.Store(int64(id))
		}
	})
	for acked.Load() < 50 {
		if _, err := c.Exec(ctx, "WAIT"); err != nil {
			t.Fatal(err)
		}
	}
	before := acked.Load()
	if _, err := c.Exec(ctx, "BACKUP TO '"+backup+"'"); err != nil {
		t.Fatal(err)
	}
	for stmt, code := range map[string]string{
		"BACKUP TO '" + backup + "'":           "58P02",
		"BACKUP TO '" + base + "/no/such/dir'": "58P01",
		"BACKUP TO 'relative'":                 "42602",
		"BACKUP TO '" + feed + "'":             "58P02",
		"BACKUP TO ''":                         "42602",
		"BACKUP '" + base + "/x'":              "42601",
	} {
		_, err := c.Exec(ctx, stmt)
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || pe.Code != code {
			t.Errorf("%s: %v, want %s", stmt, err, code)
		}
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var pe *pgconn.PgError
	if _, err := tx.Exec(ctx, "BACKUP TO '"+base+"/x'"); !errors.As(err, &pe) || pe.Code != "25001" {
		t.Errorf("in a transaction: %v", err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	stop()
	wg.Wait()
	if _, err := server.Check(dir); err == nil {
		t.Error("a directory that a server has open is checked")
	}
	p.kill()
	stopped = true

	wellKept(t, dir)
	restored := filepath.Join(base, "restored")
	info, err := server.Restore(backup, restored)
	if err != nil || info.Epoch == 0 || info.Bytes == 0 {
		t.Fatal(info, err)
	}
	if _, err := server.Restore(backup, restored); err == nil {
		t.Error("a backup is restored over another directory")
	}
	wellKept(t, restored)

	p = startServer(t, restored)
	defer p.kill()
	c, err = p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	rtx, err := c.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	items, err := rows(ctx, rtx, "SELECT id FROM item")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, id := range items {
		have[id] = true
	}
	for id := int64(1); id <= before; id++ {
		if !have[fmt.Sprint(id)] {
			t.Fatalf("item %d was acknowledged before the backup and is not in it (%d of %d are)", id, len(have), before)
		}
	}
	for _, v := range views {
		got, err := rows(ctx, rtx, "SELECT * FROM "+v.name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := rows(ctx, rtx, v.query)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("view %s: %s", v.name, diff(got, want))
		}
	}
	if err := rtx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	// Life goes on there.
	if _, err := c.Exec(ctx, "INSERT INTO item VALUES (-1, 1, 1)"); err != nil {
		t.Fatal(err)
	}
}

// wellKept fails the test if a directory is not well.
func wellKept(t *testing.T, dir string) {
	t.Helper()
	r, err := server.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("%s: %s", p.Where, p.What)
	}
	t.Log(strings.Join(r.Checked, "; "))
}
