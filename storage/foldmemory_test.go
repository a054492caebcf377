package storage

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestFoldedDeltasGo: of a table that has been folded nothing stays in memory, whatever is kept of the others of its checkpoint.
func TestFoldedDeltasGo(t *testing.T) {
	cfg := testConfig(vfs.NewMem())
	cfg.fold = foldConfig{minEntries: 1, tableBytes: 1 << 20, tableGroups: 100, onceBytes: 1 << 20, softBytes: 64 << 20, hardBytes: 128 << 20, batchEntries: 8, share: 1, manual: true}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(e Epoch, tables ...*StateTable) (deltas []weak.Pointer[Delta]) {
		t.Helper()
		var ds []*Delta
		for _, st := range tables {
			for k := range 100 {
				st.Put(fmt.Appendf(nil, "key %d", k), fmt.Appendf(nil, "%d", e))
			}
			d := st.Seal()
			ds, deltas = append(ds, d), append(deltas, weak.Make(d))
		}
		s.SetCompleted(e)
		if err := s.Commit(t.Context(), Commit{Epoch: e, Deltas: ds}); err != nil {
			t.Fatal(err)
		}
		for _, st := range tables {
			st.Seal() // forgets what is committed
		}
		return deltas
	}
	small, err := s.StateTable(5)
	if err != nil {
		t.Fatal(err)
	}
	large, err := s.StateTable(6)
	if err != nil {
		t.Fatal(err)
	}
	deltas := commit(1, small, large)
	if err := s.fold(s.tail(6), s.rest); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	if deltas[1].Value() != nil {
		t.Error("the delta of a table that is folded is still there")
	}
	if deltas[0].Value() == nil {
		t.Error("the delta of a table that is not folded is gone, so this test shows nothing")
	}
	runtime.KeepAlive(small)
	runtime.KeepAlive(large)
	mustClose(t, s)
}
