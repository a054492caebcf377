package byhand

import (
	"slices"
	"testing"

	source "github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec/vec"
)

// TestViewHoldsTheAnswer: the view of every program has the rows of the answer, all of them, each under its
// key, and its own copy of them.
func TestViewHoldsTheAnswer(t *testing.T) {
	s := source.Defaults()
	s.Events, s.EventRate, s.InFlightAuctions = 30_000, 500, 10
	for _, q := range Queries() {
		want, err := Run(q.Name, Options{Settings: s, Checksum: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Run(q.Name, Options{Settings: s, Checksum: true, View: true})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Same(want.Checksum) || got.Checksum.Rows == 0 {
			t.Errorf("%s: view %+v, answer %+v", q.Name, got.Checksum, want.Checksum)
		}
		counted, err := Run(q.Name, Options{Settings: s, View: true})
		if err != nil {
			t.Fatal(err)
		}
		if counted.Checksum.Rows != want.Checksum.Rows || counted.View.Len() != got.View.Len() {
			t.Errorf("%s: without a checksum %+v, want %+v", q.Name, counted.Checksum, want.Checksum)
		}
		// Row by row, through the keys.
		rows := vec.NewChunk(typesOf(got.Schema), 0)
		keys := got.View.Keys()
		for _, k := range keys {
			row, ok := got.View.Get(k)
			if !ok {
				t.Fatalf("%s: no row under key %v", q.Name, k)
			}
			rows.AppendRow(row, 1)
		}
		if !want.Same(ChecksumOf(rows)) {
			t.Errorf("%s: the rows under the keys are not the answer", q.Name)
		}
		slices.SortFunc(keys, func(a, b Key) int { return slices.Compare(a[:], b[:]) })
		if n := len(slices.Compact(keys)); n != int(want.Checksum.Rows) {
			t.Errorf("%s: %d keys, %d rows", q.Name, n, want.Checksum.Rows)
		}
		if _, ok := got.View.Get(Key{-1, -1}); ok {
			t.Errorf("%s: a row under a key that nothing has", q.Name)
		}
		if _, ok := got.View.Get(Key{1 << 60, 0}); ok {
			t.Errorf("%s: a row under a key that nothing has", q.Name)
		}
	}
}
