package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// crashRNG makes the generator that decides what unsynced data a crash keeps.
func crashRNG(seed int64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 1)) }

// crasher runs a driver on a simulated disk, and takes copies of the disk as a crash would leave
// it: before every operation that makes something durable, wherever it is called from, and after
// every step of the driver.
type crasher struct {
	t    *testing.T
	d    *driver
	disk *vfs.MemFS
	seed int64

	mu      sync.Mutex
	off     bool
	points  int
	clones  []crashed
	commits []commitRecord // every commit that was begun, oldest first
	acked   int            // how many of them have returned
	// submitted are the log records, by position; durable of them are acknowledged with sync.
	submitted []string
	durable   int
	// retained is the newest checkpoint that is known to be retained.
	retained Epoch
}

type commitRecord struct {
	logPos LogPos
	ckpt
}

// crashed is a disk after a crash, with what is known about what must be on it: at least the
// things acknowledged before the copy was made, and nothing that was not begun after.
type crashed struct {
	fs              *vfs.MemFS
	where           string
	minCommit       int
	maxCommit       int
	durable, maxLog int
	retained        Epoch
}

func newCrasher(t *testing.T, seed int64) *crasher {
	c := &crasher{t: t, disk: vfs.NewCrashableMem(), seed: seed, off: true}
	c.commits = []commitRecord{{ckpt: ckpt{}}}
	c.acked = 1
	fs := errorfs.Wrap(c.disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpRename, errorfs.OpRemove, errorfs.OpLink:
			c.crash(fmt.Sprintf("before operation %d on %s", op.Kind, op.Path))
		}
		return nil
	}))
	c.d = newDriver(t, seed, fs)
	c.d.beforeCommit = func(cm *Commit, k ckpt) {
		c.mu.Lock()
		defer c.mu.Unlock()
		last := c.commits[len(c.commits)-1].logPos
		cm.LogPos = last + LogPos(c.d.rng.Intn(len(c.submitted)-int(last)+1))
		c.commits = append(c.commits, commitRecord{logPos: cm.LogPos, ckpt: k})
	}
	c.d.afterCommit = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.acked = len(c.commits)
	}
	c.off = false
	return c
}

// crash copies the disk.
func (c *crasher) crash(where string) {
	c.mu.Lock()
	if c.off {
		c.mu.Unlock()
		return
	}
	c.points++
	k := crashed{where: where, minCommit: c.acked - 1, durable: c.durable, retained: c.retained}
	percent := []int{0, 0, 50, 100, 10, 90}[c.points%6]
	rng := crashRNG(c.seed<<32 + int64(c.points))
	c.mu.Unlock()

	k.fs = c.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})

	c.mu.Lock()
	defer c.mu.Unlock()
	k.maxCommit, k.maxLog = len(c.commits)-1, len(c.submitted)
	c.clones = append(c.clones, k)
}

func (c *crasher) submit() {
	n := 1 + c.d.rng.Intn(4)
	durable := c.d.rng.Intn(3) > 0
	var wg sync.WaitGroup
	wg.Add(n)
	for range n {
		c.mu.Lock()
		rec := fmt.Sprintf("record %d %s", len(c.submitted)+1, strings.Repeat("x", c.d.rng.Intn(200)))
		c.submitted = append(c.submitted, rec)
		c.mu.Unlock()
		c.d.s.Log().Submit([]byte(rec), durable, func(pos LogPos, err error) {
			defer wg.Done()
			c.mu.Lock()
			defer c.mu.Unlock()
			if err != nil || c.submitted[pos-1] != rec {
				c.t.Errorf("%q got position %d, error %v", rec, pos, err)
			}
			if durable {
				c.durable = max(c.durable, int(pos))
			}
		})
	}
	wg.Wait()
}

func (c *crasher) step() {
	switch n := c.d.rng.Intn(100); {
	case n < 25:
		c.d.apply()
	case n < 37:
		c.d.put()
	case n < 40:
		c.d.fold()
	case n < 55:
		c.d.seal()
	case n < 70:
		c.d.must(c.d.commit())
	case n < 92:
		c.submit()
	case n < 97:
		c.retain()
	case n < 98:
		c.mu.Lock()
		c.retained = 0
		c.mu.Unlock()
		_, err := c.d.s.CleanCheckpoints(^Epoch(0))
		c.d.must(err)
	default:
		c.mu.Lock()
		c.off = true // what Open writes is tested below, from the copies
		c.mu.Unlock()
		c.d.reopen()
		c.mu.Lock()
		// Everything written is durable after an orderly Close.
		c.off, c.durable = false, len(c.submitted)
		c.mu.Unlock()
	}
	c.crash("after a step")
	c.verifyAll()
}

func (c *crasher) retain() {
	c.d.must(c.d.s.RetainCheckpoint())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retained = c.d.s.Checkpoint().Epoch
}

func (c *crasher) verifyAll() {
	c.mu.Lock()
	clones := c.clones
	c.clones = nil
	commits, submitted := slices.Clone(c.commits), slices.Clone(c.submitted)
	c.mu.Unlock()
	for _, k := range clones {
		c.verify(k, commits, submitted)
	}
}

// verify opens a crashed disk and compares it with what was acknowledged. Every few times it goes
// on working there, and crashes again.
func (c *crasher) verify(k crashed, commits []commitRecord, submitted []string) {
	t := c.t
	t.Helper()
	d := &driver{t: t, rng: c.d.rng, fs: k.fs, next: c.d.next}
	lost := k.retained > 0 && c.d.rng.Intn(3) == 0
	if lost { // on top of the crash
		d.must(k.fs.RemoveAll("db/" + stateDir))
		k.minCommit = slices.IndexFunc(commits, func(r commitRecord) bool { return r.epoch == k.retained })
	}
	d.open()
	info := d.s.Checkpoint()
	if f := d.s.Fallback(); (f != nil) != lost {
		t.Fatalf("crash %s: fell back: %+v", k.where, f)
	}
	i := slices.IndexFunc(commits, func(r commitRecord) bool { return r.epoch == info.Epoch })
	if i < k.minCommit || i > k.maxCommit {
		t.Fatalf("crash %s: opened at checkpoint %d; commits %d to %d of %v may be there", k.where, info.Epoch, k.minCommit, k.maxCommit, epochsOf(commits))
	}
	if info.LogPos != commits[i].logPos {
		t.Fatalf("crash %s: log position %d, want %d", k.where, info.LogPos, commits[i].logPos)
	}
	want := commits[i].ckpt
	if want.arrs == nil {
		want.arrs, want.state, want.meta = map[TableID]rows{}, map[TableID]rows{}, rows{}
	}
	d.resume(want)
	next := info.LogPos + 1
	err := d.s.Log().Replay(info.LogPos, func(pos LogPos, rec []byte) error {
		if pos != next || string(rec) != submitted[pos-1] {
			t.Fatalf("crash %s: replayed record %d as %q, want record %d, %q", k.where, pos, rec, next, submitted[next-1])
		}
		next++
		return nil
	})
	d.must(err)
	if got := int(next) - 1; got < k.durable || got > k.maxLog && got > int(info.LogPos) {
		t.Fatalf("crash %s: log ends at %d, acknowledged up to %d, submitted up to %d", k.where, got, k.durable, k.maxLog)
	}
	if c.d.rng.Intn(5) > 0 {
		d.must(d.s.Close())
		return
	}
	// Life goes on, in the log and in the tables.
	rec := "after the crash"
	if pos := mustSubmit(t, d.s.Log(), true, rec); pos != next {
		t.Fatalf("crash %s: record after the crash at %d, want %d", k.where, pos, next)
	}
	d.apply()
	d.seal()
	d.m.sealed = nil
	d.epoch++
	for _, id := range d.arrs {
		d.s.Arrangement(id).Seal(d.epoch, true)
	}
	d.s.SetCompleted(d.epoch)
	d.must(d.s.Commit(context.Background(), Commit{Epoch: d.epoch, LogPos: next - 1}))
	d.must(d.s.Close())
	again := k.fs.CrashClone(vfs.CrashCloneCfg{})
	s, err := Open(testConfig(again))
	d.must(err)
	got := 0
	d.must(s.Log().Replay(s.Checkpoint().LogPos, func(pos LogPos, r []byte) error {
		got++
		if pos != next || string(r) != rec {
			t.Fatalf("crash %s: record %d is %q", k.where, pos, r)
		}
		return nil
	}))
	if s.Checkpoint().Epoch != d.epoch || got != 1 {
		t.Fatalf("crash %s: second crash lost checkpoint %d or %d records", k.where, d.epoch, got)
	}
	d.must(s.Close())
}

func epochsOf(commits []commitRecord) []Epoch {
	var out []Epoch
	for _, c := range commits {
		out = append(out, c.epoch)
	}
	return out
}

// TestCrashAtEverySyncPoint: after a crash the newest checkpoint is complete or absent, and every
// acknowledged record of the log is replayed exactly, in order.
func TestCrashAtEverySyncPoint(t *testing.T) {
	points := 0
	for _, seed := range seeds(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			repeat(t, seed)
			c := newCrasher(t, seed)
			for range min(*stepsFlag, 250) {
				c.step()
			}
			for _, sn := range c.d.snaps {
				sn.Release()
			}
			c.d.must(c.d.s.Close())
			c.verifyAll()
			points += c.points
		})
	}
	t.Logf("%d crashes", points)
}

// TestCrashDuringOpen crashes before every operation that writes: of the first Open of a
// directory, and of one that recovers a checkpoint and log records.
func TestCrashDuringOpen(t *testing.T) {
	disk := vfs.NewCrashableMem()
	var mu sync.Mutex // the engine writes from goroutines of its own, too
	var clones []*vfs.MemFS
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			for percent := range 4 {
				seed := int64(len(clones))
				clones = append(clones, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 33 * percent, RNG: crashRNG(seed)}))
			}
		}
		return nil
	}))
	check := func(what string, epoch Epoch, recs ...string) {
		t.Helper()
		mu.Lock()
		clones := slices.Clone(clones)
		mu.Unlock()
		if len(clones) < 40 {
			t.Fatalf("%s: only %d crashes", what, len(clones))
		}
		for i, c := range clones {
			s, err := Open(testConfig(c))
			if err != nil {
				t.Fatalf("%s: crash %d: %v", what, i, err)
			}
			if got := s.Checkpoint().Epoch; got != epoch {
				t.Fatalf("%s: crash %d: checkpoint %d, want %d", what, i, got, epoch)
			}
			wantRecords(t, replay(t, s.Log(), s.Checkpoint().LogPos), recs...)
			mustSubmit(t, s.Log(), true, "x")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := Open(testConfig(fs))
	if err != nil {
		t.Fatal(err)
	}
	check("first open", 0)
	mustSubmit(t, s.Log(), true, "a", "b", "c")
	a := s.Arrangement(1)
	a.Apply([]Change{{Key: []byte("k"), Value: []byte("v")}})
	a.Seal(1, true)
	s.SetCompleted(1)
	if err := s.Commit(context.Background(), Commit{Epoch: 1, LogPos: 2}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	clones = nil
	mu.Unlock()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(testConfig(fs)); err != nil {
		t.Fatal(err)
	}
	check("second open", 1, "3:c")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCommitWithoutRoom: a checkpoint that does not fit is refused with 53100, nothing is lost,
// and it succeeds when there is room.
func TestCommitWithoutRoom(t *testing.T) {
	fs := &sizedFS{FS: vfs.NewMem()}
	fs.avail.Store(1 << 30)
	s, err := Open(testConfig(fs))
	if err != nil {
		t.Fatal(err)
	}
	a := s.Arrangement(1)
	a.Apply([]Change{{Key: []byte("k"), Value: []byte("v")}})
	a.Seal(1, true)
	s.SetCompleted(1)
	fs.avail.Store(1 << 20)
	c := Commit{Epoch: 1, Meta: []MetaOp{{Key: []byte("m"), Value: []byte("1")}}}
	if err := s.Commit(context.Background(), c); sqlerr.From(err).Code != sqlerr.DiskFull {
		t.Fatalf("commit without room: %v", err)
	}
	if s.Checkpoint().Epoch != 0 {
		t.Fatal("the checkpoint is there")
	}
	fs.avail.Store(1 << 30)
	if err := s.Commit(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if v, ok, err := s.Meta([]byte("m")); string(v) != "1" || !ok || err != nil {
		t.Fatal(v, ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCommitOnFailingDisk makes the n-th write or sync of Pebble fail, for every n: Commit
// reports ErrFailed, later calls too, and after opening again the checkpoint is complete or
// absent.
func TestCommitOnFailingDisk(t *testing.T) {
	failed := 0
	for n := range 12 {
		disk := vfs.NewCrashableMem()
		var mu sync.Mutex
		left := -1
		fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind != errorfs.OpFileWrite && op.Kind != errorfs.OpFileWriteAt && op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData || !strings.HasSuffix(op.Path, ".log") {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if left < 0 {
				return nil
			}
			if left--; left < 0 {
				left = 0
				return errors.New("disk failure")
			}
			return nil
		}))
		s, err := Open(testConfig(fs))
		if err != nil {
			t.Fatal(err)
		}
		commit := func(s *Store, e Epoch) error {
			a := s.Arrangement(1)
			for i := range 20 {
				a.Apply([]Change{{Key: fmt.Appendf(nil, "%d", i), Value: fmt.Appendf(nil, "epoch %d", e)}})
			}
			a.Seal(e, true)
			s.SetCompleted(e)
			return s.Commit(context.Background(), Commit{Epoch: e})
		}
		if err := commit(s, 1); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		left = n
		mu.Unlock()
		acked := Epoch(1)
		for e := Epoch(2); e < 5; e++ {
			err := commit(s, e)
			if err == nil {
				acked = e
				continue
			}
			failed++
			if !errors.Is(err, ErrFailed) {
				t.Fatalf("failure %d: %v", n, err)
			}
			if err := s.Commit(context.Background(), Commit{Epoch: e + 1}); !errors.Is(err, ErrFailed) {
				t.Fatalf("failure %d: second commit: %v", n, err)
			}
			break
		}
		crash := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: crashRNG(int64(n))})
		s.Close()
		s, err = Open(testConfig(crash))
		if err != nil {
			t.Fatal(err)
		}
		e := s.Checkpoint().Epoch
		if e != acked && e != acked+1 {
			t.Fatalf("failure %d: opened at %d, acknowledged was %d", n, e, acked)
		}
		sn, err := s.Latest()
		if err != nil {
			t.Fatal(err)
		}
		it := sn.Table(1).Iterator(nil, nil, false)
		rows := 0
		for it.Next() {
			rows++
			if string(it.Value()) != fmt.Sprintf("epoch %d", e) {
				t.Fatalf("failure %d: row %q at checkpoint %d", n, it.Value(), e)
			}
		}
		if err := it.Close(); err != nil || rows != 20 {
			t.Fatal(err, rows)
		}
		sn.Release()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if failed < 3 {
		t.Fatalf("only %d failures were injected", failed)
	}
}
