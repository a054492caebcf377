package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

func kinds(s *Store) string {
	var out []string
	for _, c := range s.Checkpoints() {
		out = append(out, fmt.Sprintf("%s %d", c.Kind, c.Epoch))
	}
	return strings.Join(out, ", ")
}

// TestRetainedCheckpoints: the configured number is kept, the log with them, and what is cleaned is named.
func TestRetainedCheckpoints(t *testing.T) {
	fs := vfs.NewMem()
	cfg := testConfig(fs)
	cfg.Retained = 3
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(e Epoch) {
		t.Helper()
		for range 20 {
			mustSubmit(t, s.Log(), true, strings.Repeat("x", 300))
		}
		if err := s.Commit(context.Background(), Commit{Epoch: e, LogPos: s.Log().End()}); err != nil {
			t.Fatal(err)
		}
	}
	for e := Epoch(1); e <= 6; e++ {
		commit(e)
		if e == 2 {
			continue
		}
		if err := s.RetainCheckpoint(); err != nil {
			t.Fatal(err)
		}
		if err := s.RetainCheckpoint(); err != nil { // the same again is not another one
			t.Fatal(err)
		}
	}
	commit(7)
	if got, want := kinds(s), "newest 7, retained 6, retained 5, retained 4"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	mustClose(t, s)
	if s, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	if got, want := kinds(s), "newest 7, retained 6, retained 5, retained 4"; got != want {
		t.Fatalf("opened again: %s, want %s", got, want)
	}
	for _, c := range s.Checkpoints() {
		if c.Bytes == 0 || c.Dir == "" || c.LogPos != LogPos(20*c.Epoch) || c.Kind != CheckpointNewest && c.Time.IsZero() {
			t.Errorf("%+v", c)
		}
	}
	// The log has what follows the oldest.
	segments := func() int { return s.Metrics().Log.Segments }
	all := segments()
	cleaned, err := s.CleanCheckpoints(6)
	if err != nil || len(cleaned) != 2 || cleaned[0].Epoch != 4 || cleaned[1].Epoch != 5 {
		t.Fatal(cleaned, err)
	}
	some := segments()
	if cleaned, err = s.CleanCheckpoints(^Epoch(0)); err != nil || len(cleaned) != 1 || cleaned[0].Epoch != 6 {
		t.Fatal(cleaned, err)
	}
	if none := segments(); all < some+5 || some < none+2 || none > 2 {
		t.Errorf("the log has %d segments for all retained checkpoints, %d for one, %d for none", all, some, none)
	}
	if cleaned, err = s.CleanCheckpoints(^Epoch(0)); err != nil || len(cleaned) != 0 {
		t.Fatal(cleaned, err)
	}
	mustClose(t, s)
}

// TestRetainInterval: checkpoints are retained by themselves, not more often than the interval.
func TestRetainInterval(t *testing.T) {
	cfg := testConfig(vfs.NewMem())
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	cfg.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	cfg.manualRetain, cfg.RetainInterval = false, time.Minute
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	await := func(want string) {
		t.Helper()
		for range 10000 {
			if kinds(s) == want {
				return
			}
			time.After(0)
			syncDir(cfg.FS, cfg.Dir)
		}
		t.Fatalf("%s, want %s", kinds(s), want)
	}
	for e := Epoch(1); e <= 100; e++ {
		if err := s.Commit(context.Background(), Commit{Epoch: e}); err != nil {
			t.Fatal(err)
		}
		switch e { // two come too early
		case 1, 100:
			await(fmt.Sprintf("newest %d, retained %d%s", e, e, map[bool]string{true: ", retained 1"}[e > 1]))
		}
		mu.Lock()
		now = now.Add(600 * time.Millisecond)
		if e == 99 {
			now = now.Add(time.Second)
		}
		mu.Unlock()
	}
}

// TestRetainOnFailingDisk makes the n-th operation on the files of a retained checkpoint fail, for
// every n: the error is reported, the store works on, and the next attempt succeeds.
func TestRetainOnFailingDisk(t *testing.T) {
	failed := 0
	for n := 0; ; n++ {
		var mu sync.Mutex
		left := -1
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if !strings.Contains(op.Path, checkpointsDir) || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if left < 0 {
				return nil
			}
			if left--; left < 0 {
				return syscall.ENOSPC
			}
			return nil
		}))
		s := testStore(t, fs)
		fill(t, s, 1, 1, 50)
		mu.Lock()
		left = n
		mu.Unlock()
		err := s.RetainCheckpoint()
		mu.Lock()
		done := left >= 0
		left = -1
		mu.Unlock()
		if !done {
			failed++
			if err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("operation %d: %v", n, err)
			}
		}
		fill(t, s, 2, 2, 50)
		if err := s.RetainCheckpoint(); err != nil {
			t.Fatalf("after operation %d failed: %v", n, err)
		}
		if got := kinds(s); !strings.HasPrefix(got, "newest 2, retained 2") {
			t.Fatalf("after operation %d failed: %s", n, got)
		}
		mustClose(t, s)
		if err := fs.RemoveAll("db/" + stateDir); err != nil {
			t.Fatal(err)
		}
		s = testStore(t, fs)
		sn, err := s.Latest()
		if err != nil {
			t.Fatal(err)
		}
		if s.Checkpoint().Epoch != 2 || count(t, sn.Table(1)) != 50 || count(t, sn.Table(2)) != 50 {
			t.Fatalf("after operation %d failed, it falls back to %d", n, s.Checkpoint().Epoch)
		}
		sn.Release()
		mustClose(t, s)
		if done {
			break
		}
	}
	if failed < 20 {
		t.Fatalf("only %d operations", failed)
	}
}

// fullFS is full until the retained checkpoints are gone, but for so many.
type fullFS struct {
	vfs.FS
	spare atomic.Int64
}

func (fs *fullFS) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	names, err := fs.List("db/" + checkpointsDir)
	if err == nil && int64(len(names)) > fs.spare.Load() {
		return vfs.DiskUsage{AvailBytes: 1 << 10}, nil
	}
	return vfs.DiskUsage{AvailBytes: 1 << 30}, nil
}

// TestFullDiskTakesRetainedCheckpoints: they go, the oldest first, before a commit or a write fails.
func TestFullDiskTakesRetainedCheckpoints(t *testing.T) {
	fs := &fullFS{FS: vfs.NewMem()}
	fs.spare.Store(10)
	s := testStore(t, fs)
	for e := Epoch(1); e <= 2; e++ {
		fill(t, s, TableID(e), e, 10)
		if err := s.RetainCheckpoint(); err != nil {
			t.Fatal(err)
		}
	}
	fs.spare.Store(1)
	fill(t, s, 3, 3, 10)
	if got, want := kinds(s), "newest 3, retained 2"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	fs.spare.Store(0)
	mustSubmit(t, s.Log(), true, strings.Repeat("x", 2<<20))
	if got, want := kinds(s), "newest 3"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	fs.spare.Store(-1)
	if err := s.Commit(context.Background(), Commit{Epoch: 4}); sqlerr.From(err).Code != sqlerr.DiskFull {
		t.Fatal(err)
	}
	fs.spare.Store(10)
	fill(t, s, 4, 4, 10)
	mustClose(t, s)
}

// TestCrashDuringFallback crashes before every operation of an Open that falls back, and opens again.
func TestCrashDuringFallback(t *testing.T) {
	w := newDamager(t, 5, 250)
	for _, what := range []string{"manifest", "directory", "newest retained, too"} {
		disk := w.copy()
		switch what {
		case "directory":
			w.d.must(disk.RemoveAll("db/" + stateDir))
		default:
			names, err := disk.List("db/" + stateDir)
			w.d.must(err)
			for _, n := range names {
				if strings.HasPrefix(n, manifestName) {
					w.d.must(disk.Remove("db/" + stateDir + "/" + n))
				}
			}
		}
		if what == "newest retained, too" {
			names, err := disk.List("db/" + checkpointsDir)
			w.d.must(err)
			w.d.must(disk.Remove("db/" + checkpointsDir + "/" + slices.Max(names) + "/" + checkpointFile))
		}
		disk = synced(disk)
		var mu sync.Mutex
		var clones []*vfs.MemFS
		fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				mu.Lock()
				defer mu.Unlock()
				for percent := range 3 {
					seed := int64(len(clones))
					clones = append(clones, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50 * percent, RNG: crashRNG(seed)}))
				}
			}
			return nil
		}))
		if got := w.check(what, fs, testConfig(nil)); got != fellBack {
			t.Fatalf("%s: it does not fall back", what)
		}
		if len(clones) < 100 {
			t.Fatalf("%s: only %d crashes", what, len(clones))
		}
		for i, c := range clones {
			cfg := testConfig(c)
			s, err := Open(cfg)
			if err != nil {
				t.Fatalf("%s, crash %d: %v", what, i, err)
			}
			if err := w.compare(s); err != nil {
				t.Fatalf("%s, crash %d: %v", what, i, err)
			}
			if !strings.Contains(kinds(s), string(CheckpointSetAside)) && what != "directory" {
				t.Fatalf("%s, crash %d: nothing is set aside: %s", what, i, kinds(s))
			}
			mustClose(t, s)
		}
	}
}

// synced gives a copy of a disk as it is, as if everything on it had been synced long ago.
func synced(disk *vfs.MemFS) *vfs.MemFS {
	var walk func(dir string)
	walk = func(dir string) {
		if err := syncDir(disk, dir); err != nil {
			return // a file
		}
		names, _ := disk.List(dir)
		for _, n := range names {
			if st, err := disk.Stat(dir + "/" + n); err == nil && st.IsDir() {
				walk(dir + "/" + n)
			}
		}
	}
	walk("db")
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: crashRNG(1)})
}

// noRoomFS has no room for Pebble's tables and logs as long as there are retained checkpoints.
type noRoomFS struct {
	vfs.FS
	on atomic.Bool
}

func (fs *noRoomFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if names, err := fs.List("db/" + checkpointsDir); fs.on.Load() && err == nil && len(names) > 0 {
		return nil, syscall.ENOSPC
	}
	return fs.FS.Create(name, c)
}

func (fs *noRoomFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: 1 << 30}, nil
}

// TestWaitingWriteTakesRetainedCheckpoints: when Pebble itself finds no room, retained checkpoints go, one after the
// other, and it goes on.
func TestWaitingWriteTakesRetainedCheckpoints(t *testing.T) {
	fs := &noRoomFS{FS: vfs.NewMem()}
	cfg := testConfig(fs)
	cfg.manualRetain, cfg.RetainInterval, cfg.ingestBytes = false, time.Hour, 1<<30
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for e := Epoch(1); e <= 2; e++ {
		fill(t, s, TableID(e), e, 10)
		if err := s.RetainCheckpoint(); err != nil {
			t.Fatal(err)
		}
	}
	fs.on.Store(true)
	if err := s.db.Flush(); err != nil { // makes a log and a table
		t.Fatal(err)
	}
	if got, want := kinds(s), "newest 2"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	fill(t, s, 3, 3, 10)
	mustClose(t, s)
}
