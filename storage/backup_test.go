package storage

import (
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// TestBackupAndRestore: a restored backup has what the store had, and life goes on in it.
func TestBackupAndRestore(t *testing.T) {
	w := newDamager(t, 2, 200)
	fs := w.copy()
	s := testStore(t, fs)
	b, err := s.Backup("there")
	if err != nil {
		t.Fatal(err)
	}
	if b.CheckpointInfo != s.Checkpoint() || b.Files == 0 || b.Bytes == 0 {
		t.Fatalf("%+v", b)
	}
	for dir, code := range map[string]sqlerr.Code{
		"there": sqlerr.DuplicateFile, "no/such": sqlerr.UndefinedFile, "db/inside": sqlerr.InvalidName, "there/../db": sqlerr.InvalidName,
	} {
		if _, err := s.Backup(dir); sqlerr.From(err).Code != code {
			t.Errorf("backup to %s: %v", dir, err)
		}
	}
	mustClose(t, s)
	cfg := testConfig(fs)
	cfg.Dir = "new"
	if _, err := Restore(cfg, "db"); err == nil {
		t.Error("a data directory is taken for a backup")
	}
	r, err := Restore(cfg, "there")
	if err != nil || r != b {
		t.Fatal(r, err)
	}
	if _, err := Restore(cfg, "there"); sqlerr.From(err).Code != sqlerr.DuplicateFile {
		t.Errorf("restore over a directory: %v", err)
	}
	if s, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	w.durable = 0 // the log behind the checkpoint is not in a backup
	if err := w.compare(s); err != nil {
		t.Fatal(err)
	}
	if pos := mustSubmit(t, s.Log(), true, "x"); pos != b.LogPos+1 {
		t.Errorf("the log goes on at %d after %d", pos, b.LogPos)
	}
	mustClose(t, s)

	// A backup can be checked, and one that is damaged is not restored.
	cfg.Dir = "there"
	if rep, err := Check(cfg, Inspector{}); err != nil || len(rep.Problems) > 0 || len(rep.Checked) == 0 {
		t.Errorf("check of a backup: %v, %v", rep, err)
	}
	names, err := fs.List("there/" + backupDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		bad := synced(fs)
		rewriteFile(t, bad, "there/"+backupDir+"/"+n, func(b []byte) []byte {
			if len(b) == 0 {
				return []byte("x")
			}
			b[len(b)/2] ^= 1
			return b
		})
		c := testConfig(bad)
		c.Dir = "other"
		if _, err := Restore(c, "there"); err == nil || !strings.Contains(err.Error(), n) {
			t.Errorf("%s is damaged: %v", n, err)
		}
		if _, err := bad.Stat("other"); err == nil {
			t.Errorf("%s is damaged, and there is a data directory", n)
		}
		c.Dir = "there"
		if rep, err := Check(c, Inspector{}); err != nil || len(rep.Problems) == 0 || !strings.Contains(rep.Problems[0].What, n) {
			t.Errorf("%s is damaged: check says %v, %v", n, rep, err)
		}
	}
}

// TestBackupOnFullDisk: nothing is left of a backup that fails, and the store works on.
func TestBackupOnFullDisk(t *testing.T) {
	failed := 0
	for n := 0; ; n++ {
		var mu sync.Mutex
		left, armed := n, false
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if !armed || !strings.Contains(op.Path, "there") || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRemoveAll || op.Kind == errorfs.OpRemove {
				return nil
			}
			if left--; left == -1 {
				return syscall.ENOSPC
			}
			return nil
		}))
		s := testStore(t, fs)
		fill(t, s, 1, 1, 50)
		mu.Lock()
		armed = true
		mu.Unlock()
		_, err := s.Backup("there")
		mu.Lock()
		armed = false
		done := left >= 0
		mu.Unlock()
		if err != nil {
			failed++
		}
		if err != nil && sqlerr.From(err).Code != sqlerr.DiskFull {
			t.Fatalf("operation %d: %v", n, err)
		}
		fill(t, s, 2, 2, 50)
		if err != nil {
			if _, err := s.Backup("there"); err != nil {
				t.Fatalf("after operation %d failed: %v", n, err)
			}
		}
		mustClose(t, s)
		if done {
			break
		}
	}
	if failed < 10 { // a link that fails becomes a copy
		t.Errorf("only %d failures", failed)
	}
}

// TestCheckFindsDamage: Check has nothing to say about a directory that is well, and something about each table,
// manifest, log segment and retained checkpoint that is damaged; it changes nothing.
func TestCheckFindsDamage(t *testing.T) {
	w := newDamager(t, 1, 220)
	look := func(fs vfs.FS) *CheckReport {
		t.Helper()
		states := 0
		r, err := Check(testConfig(fs), Inspector{
			State: func(s *Store, problem func(string)) {
				if states++; states == 1 {
					if err := w.compareState(s); err != nil {
						problem(err.Error())
					}
				}
			},
			Record: func([]byte) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	fs := w.copy()
	if r := look(fs); len(r.Problems) > 0 || len(r.Checked) < 4 {
		t.Fatalf("%+v", r)
	}
	if after := synced(fs); after.String() != w.copy().String() {
		t.Errorf("Check has changed the directory:\n%s\nwas:\n%s", after, w.copy())
	}
	if got := w.check("after a check", fs, testConfig(nil)); got != asIs {
		t.Error("it is not as it was")
	}
	found := 0
	for _, dir := range []string{"db/" + stateDir, "db/log", "db/" + checkpointsDir} {
		var walk func(dir string)
		walk = func(dir string) {
			names, err := w.saved.List(dir)
			w.d.must(err)
			for _, n := range names {
				path := dir + "/" + n
				st, err := w.saved.Stat(path)
				w.d.must(err)
				if st.IsDir() {
					walk(path)
					continue
				}
				if st.Size() == 0 || strings.HasPrefix(n, "OPTIONS") && strings.HasSuffix(dir, stateDir) {
					continue
				}
				fs := w.copy()
				rewriteFile(t, fs, path, func(b []byte) []byte {
					b[len(b)/3] ^= 8
					return b
				})
				if r := look(fs); len(r.Problems) > 0 {
					found++
				} else if isTable(n) && strings.Contains(dir, checkpointsDir) {
					t.Errorf("%s is damaged, and nothing is found", path)
				}
			}
		}
		walk(dir)
	}
	if found < 8 {
		t.Errorf("only %d damaged files were found", found)
	}
}
