package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// testLog opens only a log, without a store around it.
func testLog(t *testing.T, fs vfs.FS, checkpoint LogPos, segment int64) *Log {
	t.Helper()
	l, err := tryLog(fs, checkpoint, segment)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func tryLog(fs vfs.FS, checkpoint LogPos, segment int64) (*Log, error) {
	cfg := testConfig(fs)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return openLog(logConfig{dir: "log", fs: fs, logger: cfg.Logger, segmentBytes: segment, reserveBytes: -1, zeroAhead: zeroAhead(segment), checkpoint: checkpoint})
}

// zeroAhead lets tests with small segments cover the filling with zeros, and those that look at
// the bytes of a large one do without.
func zeroAhead(segment int64) int64 {
	if segment == 200 || segment == 120 {
		return 180
	}
	return 0
}

type ack struct {
	pos LogPos
	err error
}

// submit appends records together and waits for them.
func submit(l *Log, durable bool, recs ...string) []ack {
	out := make([]ack, len(recs))
	var wg sync.WaitGroup
	wg.Add(len(recs))
	for i, r := range recs {
		l.Submit([]byte(r), durable, func(pos LogPos, err error) {
			out[i] = ack{pos, err}
			wg.Done()
		})
	}
	wg.Wait()
	return out
}

func mustSubmit(t *testing.T, l *Log, sync bool, recs ...string) LogPos {
	t.Helper()
	var last LogPos
	for _, a := range submit(l, sync, recs...) {
		if a.err != nil {
			t.Fatal(a.err)
		}
		last = a.pos
	}
	return last
}

func replay(t *testing.T, l *Log, after LogPos) []string {
	t.Helper()
	var out []string
	err := l.Replay(after, func(pos LogPos, rec []byte) error {
		out = append(out, fmt.Sprintf("%d:%s", pos, rec))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantRecords(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("replayed %v, want %v", got, want)
	}
}

func TestLogReplaysInOrderAcrossSegments(t *testing.T) {
	fs := vfs.NewMem()
	l := testLog(t, fs, 0, 200)
	var want []string
	for i := range 30 {
		pos := mustSubmit(t, l, i%3 > 0, fmt.Sprintf("record %d", i))
		want = append(want, fmt.Sprintf("%d:record %d", pos, i))
		if pos != LogPos(i+1) {
			t.Fatalf("record %d got position %d", i, pos)
		}
	}
	if n := l.metrics().Segments; n < 5 {
		t.Fatalf("%d segments, want several", n)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	for _, a := range submit(l, true, "late") {
		if !errors.Is(a.err, ErrClosed) {
			t.Fatalf("submit after close: %v", a.err)
		}
	}
	l = testLog(t, fs, 0, 200)
	wantRecords(t, replay(t, l, 0), want...)
	wantRecords(t, replay(t, l, 17), want[17:]...)
	l.truncate(20)
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	l = testLog(t, fs, 20, 200)
	wantRecords(t, replay(t, l, 20), want[20:]...)
	if pos := mustSubmit(t, l, true, "next"); pos != 31 {
		t.Fatalf("position %d after a restart, want 31", pos)
	}
	l.close()
}

func TestLogEmptyAndLargeRecords(t *testing.T) {
	fs := vfs.NewMem()
	l := testLog(t, fs, 0, 1000)
	big := strings.Repeat("x", maxBlock+100)
	mustSubmit(t, l, true, "", big, "", big, "end")
	l.close()
	l = testLog(t, fs, 0, 1000)
	wantRecords(t, replay(t, l, 0), "1:", "2:"+big, "3:", "4:"+big, "5:end")
	l.close()
}

// rewrite replaces the contents of a file.
func rewrite(t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestLogTornTail cuts the last segment at every length: recovery gives the records before the
// cut, and what is written afterwards follows them.
func TestLogTornTail(t *testing.T) {
	fs := vfs.NewMem()
	l := testLog(t, fs, 0, 1<<20)
	name := "log/" + segName(1)
	for i := range 5 {
		mustSubmit(t, l, true, fmt.Sprintf("record %d", i))
	}
	l.close()
	data, err := readFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	block := (len(data) - segHeaderLen) / 5
	for cut := segHeaderLen; cut < len(data); cut++ {
		for _, junk := range []string{"", "\x00\x00\x00", strings.Repeat("\x00", 100), strings.Repeat("Welb", 20)} {
			fs := vfs.NewMem()
			if err := fs.MkdirAll("log", 0o755); err != nil {
				t.Fatal(err)
			}
			rewrite(t, fs, name, append(slices.Clone(data[:cut]), junk...))
			l := testLog(t, fs, 0, 1<<20)
			whole := (cut - segHeaderLen) / block
			if got := len(replay(t, l, 0)); got != whole {
				t.Fatalf("cut at %d: %d records, want %d", cut, got, whole)
			}
			mustSubmit(t, l, true, "after")
			l.close()
			l = testLog(t, fs, 0, 1<<20)
			got := replay(t, l, 0)
			if len(got) != whole+1 || got[whole] != fmt.Sprintf("%d:after", whole+1) {
				t.Fatalf("cut at %d: then %v", cut, got)
			}
			l.close()
		}
	}
}

// TestLogDamageIsAnError flips every byte of a log whose records were synced one by one: the
// error names the segment, unless the damage is in the last block, which cannot be told from a
// torn one.
func TestLogDamageIsAnError(t *testing.T) {
	fs := vfs.NewMem()
	l := testLog(t, fs, 0, 110)
	for i := range 6 {
		mustSubmit(t, l, true, fmt.Sprintf("record %d", i))
	}
	l.close()
	firsts, err := listSegments(fs, "log", true)
	if err != nil || len(firsts) < 3 {
		t.Fatal(firsts, err)
	}
	for si, first := range firsts {
		name := "log/" + segName(first)
		data, err := readFile(fs, name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 0x40
			rewrite(t, fs, name, bad)
			l, err := tryLog(fs, 0, 110)
			if err == nil {
				got := replay(t, l, 0)
				l.close()
				if si < len(firsts)-1 || len(got) != 5 {
					t.Fatalf("byte %d of %s flipped: no error, %d records", i, name, len(got))
				}
				continue
			}
			if !strings.Contains(err.Error(), name) {
				t.Fatalf("byte %d of %s flipped: the error does not name the file: %v", i, name, err)
			}
			if sqlerr.From(err).Code != sqlerr.DataCorrupted {
				t.Fatalf("byte %d of %s flipped: %v", i, name, err)
			}
		}
		rewrite(t, fs, name, data)
	}
	// A missing segment in the middle.
	if err := fs.Remove("log/" + segName(firsts[1])); err != nil {
		t.Fatal(err)
	}
	if _, err := tryLog(fs, 0, 110); err == nil || !strings.Contains(err.Error(), segName(firsts[0])) {
		t.Fatalf("missing segment: %v", err)
	}
}

// diskFullOnce makes writes and syncs of the log fail while full is set.
type switchable struct{ full atomic.Bool }

func (s *switchable) inject(kinds ...errorfs.OpKind) errorfs.Injector {
	return errorfs.InjectorFunc(func(op errorfs.Op) error {
		if s.full.Load() && slices.Contains(kinds, op.Kind) {
			return syscall.ENOSPC
		}
		return nil
	})
}

// TestLogDiskFull makes each kind of operation fail in turn: everybody who waits gets 53100,
// nothing of it is ever replayed, records written without a sync survive, and the log works
// again afterwards.
func TestLogDiskFull(t *testing.T) {
	kinds := map[string][]errorfs.OpKind{
		"write":                  {errorfs.OpFileWriteAt},
		"sync":                   {errorfs.OpFileSyncData, errorfs.OpFileSync},
		"write and create":       {errorfs.OpFileWriteAt, errorfs.OpRename},
		"sync and rename":        {errorfs.OpFileSyncData, errorfs.OpRename},
		"sync data, not erasing": {errorfs.OpFileSyncData},
	}
	for name, ks := range kinds {
		for _, segment := range []int64{120, 1 << 20} {
			t.Run(fmt.Sprint(name, segment), func(t *testing.T) {
				mem := vfs.NewCrashableMem()
				var sw switchable
				fs := errorfs.Wrap(mem, sw.inject(ks...))
				l := testLog(t, fs, 0, segment)
				var want []string
				n := 0
				good := func(sync bool) {
					n++
					rec := fmt.Sprintf("good %d", n)
					want = append(want, fmt.Sprintf("%d:%s", mustSubmit(t, l, sync, rec), rec))
				}
				for range 4 {
					good(true)
					good(false)
					good(false)
					sw.full.Store(true)
					for range 3 {
						for _, a := range submit(l, true, "bad", "worse") {
							if sqlerr.From(a.err).Code != sqlerr.DiskFull {
								t.Fatalf("on a full disk: position %d, error %v", a.pos, a.err)
							}
						}
					}
					sw.full.Store(false)
					if n%2 == 0 {
						good(false)
					}
				}
				good(true)
				// The crash loses nothing that was acknowledged, and shows nothing that failed.
				crashed := mem.CrashClone(vfs.CrashCloneCfg{})
				l2 := testLog(t, crashed, 0, segment)
				wantRecords(t, replay(t, l2, 0), want...)
				l2.close()
				if err := l.close(); err != nil {
					t.Fatal(err)
				}
				l = testLog(t, mem, 0, segment)
				wantRecords(t, replay(t, l, 0), want...)
				l.close()
			})
		}
	}
}

// TestLogNothingFailedIsReplayed crashes right after a failed block, before anything else is
// written.
func TestLogNothingFailedIsReplayed(t *testing.T) {
	for percent := 0; percent <= 100; percent += 25 {
		mem := vfs.NewCrashableMem()
		var sw switchable
		l := testLog(t, errorfs.Wrap(mem, sw.inject(errorfs.OpFileSyncData)), 0, 1<<20)
		mustSubmit(t, l, true, "good")
		sw.full.Store(true)
		if a := submit(l, true, "bad"); a[0].err == nil {
			t.Fatal("no error")
		}
		crashed := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: crashRNG(int64(percent))})
		l2 := testLog(t, crashed, 0, 1<<20)
		wantRecords(t, replay(t, l2, 0), "1:good")
		l2.close()
		sw.full.Store(false)
		l.close()
	}
}

// TestLogReserve keeps the log from using the space that a checkpoint needs.
func TestLogReserve(t *testing.T) {
	fs := &sizedFS{FS: vfs.NewMem()}
	fs.avail.Store(100 << 20)
	l, err := openLog(logConfig{dir: "log", fs: fs, logger: discard(), segmentBytes: 64 << 20, reserveBytes: 50 << 20})
	if err != nil {
		t.Fatal(err)
	}
	rec := strings.Repeat("x", spaceCheckBytes)
	mustSubmit(t, l, true, rec)
	fs.avail.Store(40 << 20)
	if a := submit(l, true, rec); sqlerr.From(a[0].err).Code != sqlerr.DiskFull {
		t.Fatalf("no room but for checkpoints: %v", a[0].err)
	}
	if a := submit(l, true, "small"); sqlerr.From(a[0].err).Code != sqlerr.DiskFull {
		t.Fatalf("no room but for checkpoints: %v", a[0].err)
	}
	fs.avail.Store(60 << 20)
	mustSubmit(t, l, true, "small")
	l.close()
}

type sizedFS struct {
	vfs.FS
	avail atomic.Uint64
}

func (fs *sizedFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: fs.avail.Load()}, nil
}

// TestLogOrderOfCallbacks has many writers: positions are dense, callbacks come in their order,
// and each writer's records keep theirs.
func TestLogOrderOfCallbacks(t *testing.T) {
	l := testLog(t, vfs.NewMem(), 0, 5000)
	const writers, each = 8, 200
	var order []LogPos // appended by the log's goroutine only
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewSource(int64(w)))
			last := LogPos(0)
			for range each {
				done := make(chan LogPos, 1)
				l.Submit(binary.AppendUvarint(nil, uint64(w)), rng.Intn(2) == 0, func(pos LogPos, err error) {
					order = append(order, pos)
					done <- pos
				})
				if pos := <-done; pos <= last {
					t.Errorf("writer %d: position %d after %d", w, pos, last)
				} else {
					last = pos
				}
			}
		}()
	}
	wg.Wait()
	l.close()
	for i, pos := range order {
		if pos != LogPos(i+1) {
			t.Fatalf("callback %d is for position %d", i, pos)
		}
	}
	if len(order) != writers*each {
		t.Fatalf("%d callbacks", len(order))
	}
}

// FuzzLogSegment feeds bytes to the segment scanner: no panic, and positions without holes.
func FuzzLogSegment(f *testing.F) {
	h := newSegHeader(7)
	data := h.encode()
	for i := range 3 {
		b := appendRecord(appendRecord(beginBlock(nil), []byte("hello")), []byte{byte(i)})
		finishBlock(b, h.salt, LogPos(7+2*i), 6, 2)
		data = append(data, b...)
	}
	f.Add(data, uint64(0))
	f.Add(data[:len(data)-3], uint64(0))
	f.Add(data, uint64(11))
	f.Fuzz(func(t *testing.T, data []byte, limit uint64) {
		want := LogPos(0)
		next, err := scanSegment(data, LogPos(limit), func(b block) error {
			return b.records(func(pos LogPos, rec []byte) error {
				if want != 0 && pos != want {
					t.Fatalf("record %d after %d", pos, want-1)
				}
				want = pos + 1
				return nil
			})
		})
		if err == nil && want != 0 && next != want {
			t.Fatalf("next is %d after record %d", next, want-1)
		}
	})
}

// TestLogAfterKill: what a killed process had written without a sync, and its successor has read,
// is made durable by the successor before it builds on it.
func TestLogAfterKill(t *testing.T) {
	fs := vfs.NewCrashableMem()
	l := testLog(t, fs, 0, 1<<20)
	mustSubmit(t, l, true, "a")
	mustSubmit(t, l, false, "b")
	killed := testLog(t, fs, 0, 1<<20)
	wantRecords(t, replay(t, killed, 0), "1:a", "2:b")
	mustSubmit(t, killed, true, "c")
	l3 := testLog(t, fs.CrashClone(vfs.CrashCloneCfg{}), 0, 1<<20)
	wantRecords(t, replay(t, l3, 0), "1:a", "2:b", "3:c")
	for _, l := range []*Log{l, killed, l3} {
		l.close()
	}
}
