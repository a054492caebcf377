package storage

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// damager makes a directory with a history, and copies of it that are damaged.
type damager struct {
	*crasher
	saved *vfs.MemFS
}

// newDamager works for a while, with retained checkpoints on the way, and stops as kill -9 would.
func newDamager(t *testing.T, seed int64, steps int) *damager {
	c := newCrasher(t, seed)
	c.off = true
	for i := range steps {
		switch n := c.d.rng.Intn(100); {
		case n < 30:
			c.d.apply()
		case n < 55:
			c.d.put()
		case n < 60:
			c.d.fold()
		case n < 72:
			c.d.seal()
		case n < 85:
			c.d.must(c.d.commit())
		case n < 98:
			c.submit()
		case i < steps/2: // the rest is in the write ahead logs
			c.d.reopen()
		}
		if i == steps/3 || i == steps*2/3 {
			for len(c.d.m.sealed) == 0 {
				c.d.seal()
			}
			c.d.must(c.d.commit())
			c.retain()
		}
	}
	w := &damager{crasher: c}
	w.saved = synced(c.disk)
	for _, sn := range c.d.snaps {
		sn.Release()
	}
	c.d.must(c.d.s.Close())
	return w
}

// copy gives the directory in a file system of its own. Links become files of their own.
func (w *damager) copy() *vfs.MemFS {
	return synced(w.saved)
}

// opened says how a damaged directory was opened.
type opened int

const (
	asIs opened = iota
	fellBack
	refused
)

// check opens a directory. It must hold a checkpoint that was committed, just as it was, and the log
// behind it every record that was acknowledged. An error must be one that names a file.
func (w *damager) check(what string, fs vfs.FS, cfg Config) opened {
	t := w.t
	t.Helper()
	cfg.FS = fs
	s, err := Open(cfg)
	if err != nil {
		t.Logf("%s: %v", what, err)
		if !strings.Contains(err.Error(), "db") {
			t.Fatalf("%s: an error that names no file: %v", what, err)
		}
		return refused
	}
	defer s.Close()
	if err := w.compare(s); err != nil {
		if s.Fallback() != nil || sqlerr.From(err).Code != sqlerr.DataCorrupted {
			t.Fatalf("%s: %v (fell back: %+v)", what, err, s.Fallback())
		}
		// The table is in the newest retained checkpoint too, so it was not verified; now it is.
		w.d.must(s.Close())
		got := w.check(what+", again", fs, cfg)
		if got == refused {
			t.Fatalf("%s: found, and the next start refuses", what)
		}
		return got // as it is if a compaction has dropped the table as a whole meanwhile
	}
	if s.Fallback() == nil {
		if got, want := s.Checkpoint().Epoch, w.commits[len(w.commits)-1].epoch; got != want {
			t.Fatalf("%s: opened at checkpoint %d without a word, the newest is %d", what, got, want)
		}
		return asIs
	}
	if what != "directory" && !slices.ContainsFunc(s.Checkpoints(), func(c StoredCheckpoint) bool {
		return c.Kind == CheckpointSetAside && c.Reason != ""
	}) {
		t.Fatalf("%s: nothing is set aside: %+v", what, s.Checkpoints())
	}
	return fellBack
}

// compare reads everything in a store, and its log, and says how it differs from what it should be.
func (w *damager) compare(s *Store) error {
	if err := w.compareState(s); err != nil {
		return err
	}
	info := s.Checkpoint()
	next := info.LogPos + 1
	if err := s.Log().Replay(info.LogPos, func(pos LogPos, rec []byte) error {
		if pos != next || string(rec) != w.submitted[pos-1] {
			return fmt.Errorf("record %d is replayed as record %d, %q", next, pos, rec)
		}
		next++
		return nil
	}); err != nil {
		return err
	}
	if int(next)-1 < w.durable {
		return fmt.Errorf("the log ends at %d, acknowledged was %d", next-1, w.durable)
	}
	return nil
}

func (w *damager) compareState(s *Store) error {
	info := s.Checkpoint()
	i := slices.IndexFunc(w.commits, func(r commitRecord) bool { return r.epoch == info.Epoch })
	if i < 0 {
		return fmt.Errorf("checkpoint %d was never committed", info.Epoch)
	}
	want := w.commits[i]
	sn, err := s.Latest()
	if err != nil {
		return err
	}
	defer sn.Release()
	for id := TableID(0); id < w.d.next; id++ {
		if _, ok := w.d.m.state[id]; ok {
			continue
		}
		it := sn.Table(id).Iterator(nil, nil, false)
		var got []string
		for it.Next() {
			got = append(got, string(it.Key())+"="+string(it.Value()))
		}
		if err := it.Close(); err != nil {
			return err
		}
		if !slices.Equal(got, want.arrs[id].sorted(nil, nil, false)) {
			return fmt.Errorf("table %d at %d:\n got %v\nwant %v", id, info.Epoch, got, want.arrs[id].sorted(nil, nil, false))
		}
	}
	for id, rows := range want.state {
		st, err := s.StateTable(id)
		if err != nil {
			return err
		}
		var got []string
		if err := st.Scan(nil, func(k, v []byte) error {
			got = append(got, string(k)+"="+string(v))
			return nil
		}); err != nil {
			return err
		}
		if !slices.Equal(got, rows.sorted(nil, nil, false)) {
			return fmt.Errorf("state %d at %d:\n got %v\nwant %v", id, info.Epoch, got, rows.sorted(nil, nil, false))
		}
	}
	return nil
}

// rewriteFile gives a file new content, in a new file, so that links of it stay as they are.
func rewriteFile(t *testing.T, fs vfs.FS, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := readFile(fs, path)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, fs, path, change(b))
}

// damages are ways in which a file can be damaged, by name.
func damages(rng *rand.Rand, size int) map[string]func([]byte) []byte {
	out := map[string]func([]byte) []byte{
		"emptied":   func([]byte) []byte { return nil },
		"last byte": func(b []byte) []byte { return b[:max(0, len(b)-1)] },
		"zeroed":    func(b []byte) []byte { return make([]byte, len(b)) },
		"longer":    func(b []byte) []byte { return append(b, 1, 2, 3) },
	}
	for range 12 {
		at := rng.Intn(max(size, 1))
		bit := byte(1) << rng.Intn(8)
		out[fmt.Sprintf("bit %x of byte %d", bit, at)] = func(b []byte) []byte {
			if len(b) > 0 {
				b[at] ^= bit
			}
			return b
		}
	}
	for range 4 {
		at := rng.Intn(max(size, 1))
		out[fmt.Sprintf("cut at %d", at)] = func(b []byte) []byte { return b[:at] }
		out[fmt.Sprintf("hole at %d", at)] = func(b []byte) []byte {
			clear(b[at:min(len(b), at+64)])
			return b
		}
	}
	return out
}

// TestDamagedNewestState damages each file of the newest state in many ways: Open either takes a retained
// checkpoint and says so, or what it opens is right.
func TestDamagedNewestState(t *testing.T) {
	counts := map[opened]int{}
	for _, seed := range seeds(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			repeat(t, seed)
			w := newDamager(t, seed, 220)
			if got := w.check("not damaged", w.copy(), testConfig(nil)); got != asIs {
				t.Fatal("it is taken for damaged")
			}
			rng := rand.New(rand.NewSource(seed))
			dir := "db/" + stateDir
			names, err := w.saved.List(dir)
			w.d.must(err)
			slices.Sort(names)
			for _, name := range names {
				path := dir + "/" + name
				st, err := w.saved.Stat(path)
				w.d.must(err)
				fs := w.copy()
				w.d.must(fs.Remove(path))
				one := w.check(name+" deleted", fs, testConfig(nil))
				if one == refused {
					t.Errorf("%s deleted: refused", name)
				}
				counts[one]++
				for what, change := range damages(rng, int(st.Size())) {
					fs := w.copy()
					rewriteFile(t, fs, path, change)
					one := w.check(name+": "+what, fs, testConfig(nil))
					if one == refused {
						t.Errorf("%s, %s: refused", name, what)
					}
					counts[one]++
				}
			}
		})
	}
	t.Logf("opened as it was %d, fell back %d", counts[asIs], counts[fellBack])
	if *seedFlag == 0 && (counts[asIs] < 20 || counts[fellBack] < 60) {
		t.Errorf("opened as it was %d, fell back %d", counts[asIs], counts[fellBack])
	}
}

// TestDamageFoundByAReader: without verification at the start, a damaged table is found when it is read. The
// error names the file, and the next Open goes back to a retained checkpoint.
func TestDamageFoundByAReader(t *testing.T) {
	found := 0
	for _, seed := range seeds(3) {
		w := newDamager(t, seed, 220)
		names, err := w.saved.List("db/" + stateDir)
		w.d.must(err)
		slices.Sort(names)
		for _, name := range names {
			if !isTable(name) {
				continue
			}
			for at := range 20 {
				fs := w.copy()
				rewriteFile(t, fs, "db/"+stateDir+"/"+name, func(b []byte) []byte {
					if len(b) > 0 {
						b[at*len(b)/20] ^= 4
					}
					return b
				})
				cfg := testConfig(fs)
				cfg.VerifyBytes = -1
				s, err := Open(cfg)
				if err != nil {
					t.Fatalf("%s, byte %d: %v", name, at, err)
				}
				err = w.compare(s)
				s.Close()
				if s.Fallback() != nil || err == nil {
					continue
				}
				e := sqlerr.From(err)
				if e.Code != sqlerr.DataCorrupted && e.Code != sqlerr.IOError || !strings.Contains(err.Error(), name) {
					t.Fatalf("%s, byte %d: %s %v", name, at, e.Code, err)
				}
				cfg.VerifyBytes = 1
				switch w.check(name+" read again", fs, cfg) {
				case fellBack:
					found++
				case refused:
					t.Fatalf("%s, byte %d: the next start refuses", name, at)
				}
				if _, err := fs.Stat("db/" + suspectFile); err == nil {
					t.Fatal("the note stays")
				}
			}
		}
	}
	if *seedFlag == 0 && found < 10 {
		t.Errorf("only %d errors were found by reading", found)
	}
}

// TestDamagedRetainedCheckpoints: with the newest state gone, the newest retained checkpoint that is well is
// taken; without any the error says so and nothing is touched.
func TestDamagedRetainedCheckpoints(t *testing.T) {
	w := newDamager(t, 3, 300)
	dirs, err := w.saved.List("db/" + checkpointsDir)
	w.d.must(err)
	slices.Sort(dirs)
	if len(dirs) != 2 {
		t.Fatalf("retained: %v", dirs)
	}
	epochOf := func(fs vfs.FS) Epoch {
		s, err := Open(testConfig(fs))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := w.compare(s); err != nil {
			t.Fatal(err)
		}
		return s.Checkpoint().Epoch
	}
	for _, file := range []string{checkpointFile, "sst", "MANIFEST"} {
		fs := w.copy()
		w.d.must(fs.RemoveAll("db/" + stateDir))
		newest := epochOf(fs)
		if checkpointName(newest) != dirs[1] {
			t.Fatalf("took checkpoint %d of %v", newest, dirs)
		}
		break1 := func(fs *vfs.MemFS, dir string) {
			names, err := fs.List("db/" + checkpointsDir + "/" + dir)
			w.d.must(err)
			slices.Sort(names)
			for _, n := range names {
				if strings.Contains(n, file) {
					rewriteFile(t, fs, "db/"+checkpointsDir+"/"+dir+"/"+n, func(b []byte) []byte {
						b[len(b)/2] ^= 1
						return b
					})
					return
				}
			}
			t.Fatalf("no %s in %v", file, names)
		}
		fs = w.copy()
		w.d.must(fs.RemoveAll("db/" + stateDir))
		break1(fs, dirs[1])
		if got := epochOf(fs); checkpointName(got) != dirs[0] {
			t.Fatalf("%s: took checkpoint %d of %v", file, got, dirs)
		}
		fs = w.copy()
		w.d.must(fs.RemoveAll("db/" + stateDir))
		break1(fs, dirs[0])
		break1(fs, dirs[1])
		_, err := Open(testConfig(fs))
		if e := sqlerr.From(err); err == nil || e.Code != sqlerr.DataCorrupted {
			t.Fatalf("%s: nothing is left, and: %v", file, err)
		}
		// Not even later a new database in its place.
		if _, err := Open(testConfig(fs)); err == nil {
			t.Fatal("a database that is lost is opened as an empty one")
		}
	}
}

// TestDamagedTableThatIsShared: a table that all retained checkpoints share, as links do, cannot be had back:
// an error that names it, not wrong rows.
func TestDamagedTableThatIsShared(t *testing.T) {
	dir := t.TempDir()
	cfg := testConfig(vfs.Default)
	cfg.Dir, cfg.MemTableBytes = dir, 64<<10
	cfg.VerifyBytes = 64 << 10 // not enough for the table that is not new
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 1, 1, 2000)
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.RetainCheckpoint(); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 2, 2, 10)
	mustClose(t, s)
	files, err := filepath.Glob(filepath.Join(dir, checkpointsDir, "*", "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	damageInPlace(t, files[0])
	s, err = Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	sn, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	it := sn.Table(1).Iterator(nil, nil, false)
	for it.Next() {
	}
	err = it.Close()
	sn.Release()
	s.Close()
	if e := sqlerr.From(err); err == nil || e.Code != sqlerr.DataCorrupted || !strings.Contains(e.Message, filepath.Base(files[0])) {
		t.Fatalf("reading a damaged table: %v", err)
	}
	if _, err = Open(cfg); err == nil || sqlerr.From(err).Code != sqlerr.DataCorrupted || !strings.Contains(err.Error(), filepath.Base(files[0])) {
		t.Fatalf("opening again: %v", err)
	}
}

func damageInPlace(t *testing.T, path string) {
	t.Helper()
	f, err := vfs.Default.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, 1000); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b, 1000); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
