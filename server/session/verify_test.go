package session

import (
	"math"
	"testing"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// Rows are compared as multisets, by value, and floats up to rounding.
func TestComparison(t *testing.T) {
	ts := []types.Type{types.T(types.Int8), types.T(types.Float8)}
	row := func(id int64, x float64) []types.Datum { return []types.Datum{types.DInt(id), types.DFloat(x)} }
	null := []types.Datum{types.DInt(9), types.Null}
	for _, c := range []struct {
		name        string
		view, query [][]types.Datum
		want        []string
	}{
		{"nothing", nil, nil, nil},
		{"equal in another order", [][]types.Datum{row(1, 2), row(3, 4), null}, [][]types.Datum{null, row(3, 4), row(1, 2)}, nil},
		{"one too many", [][]types.Datum{row(1, 2), row(1, 2)}, [][]types.Datum{row(1, 2)}, []string{"1 1 2"}},
		{"two missing", nil, [][]types.Datum{row(1, 2), row(1, 2)}, []string{"-2 1 2"}},
		{"another value", [][]types.Datum{row(1, 2)}, [][]types.Datum{row(1, 3)}, []string{"1 1 2", "-1 1 3"}},
		{"rounding", [][]types.Datum{row(1, 0.1+0.2), row(2, 1e20)}, [][]types.Datum{row(1, 0.3), row(2, 1e20+1e5)}, nil},
		{"rounding, but another key", [][]types.Datum{row(1, 0.1+0.2)}, [][]types.Datum{row(2, 0.3)}, []string{"1 1 0.3", "-1 2 0.3"}},
		{"NULL is no number", [][]types.Datum{null}, [][]types.Datum{row(9, 0)}, []string{"-1 9 0", "1 9 NULL"}},
		{"zeros", [][]types.Datum{row(1, 0)}, [][]types.Datum{row(1, math.Copysign(0, -1))}, nil},
	} {
		k := &comparison{v: &verification{types: ts}, index: map[string]int{}}
		for n, rows := range map[int64][][]types.Datum{1: c.view, -1: c.query} {
			ch := vec.NewChunk(ts, len(rows))
			for _, r := range rows {
				ch.AppendRow(r, 1)
			}
			if err := k.add(ch, n); err != nil {
				t.Fatal(err)
			}
		}
		out, err := k.differences()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range out.Len() {
			got = append(got, vec.FormatRow(out, i))
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
				break
			}
		}
	}
}
