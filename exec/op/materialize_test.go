package op

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// mapArrangement is an Arrangement in a map.
type mapArrangement map[string]string

func (m mapArrangement) Apply(changes []storage.Change) {
	for _, c := range changes {
		if c.Delete {
			delete(m, string(c.Key))
		} else {
			m[string(c.Key)] = string(c.Value)
		}
	}
}

func (m mapArrangement) Append(buf []byte, ends []int) { m.Apply(rowChanges(buf, ends)) }

func (m mapArrangement) Seal(storage.Epoch, bool) {}

// TestMaterializeKeepsTheLastRow plays histories in which the new row of a key may come before the
// old one goes.
func TestMaterializeKeepsTheLastRow(t *testing.T) {
	in := mustTypes("int8 text int4")
	for seed := range int64(40) {
		g := &gen{r: rand.New(rand.NewSource(seed)), in: [][]types.Type{in}, keyed: []bool{true}, appendOnly: []bool{false}, invert: seed%2 == 0}
		epochs := g.epochs(10, 12)
		arr := mapArrangement{}
		o, err := NewMaterialize(MaterializeConfig{In: in, Key: []SortKey{{Col: 0}}, Target: arr})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Open(&exec.Context{}, &discard{}); err != nil {
			t.Fatal(err)
		}
		ot := &opTest{in: g.in}
		for e, rows := range epochs {
			if err := ot.feed(&instance{op: o}, runConfig{chunk: 1 + int(seed)%7, parallel: 1}, 0, rows); err != nil {
				t.Fatal(err)
			}
			if err := o.Barrier(exec.Barrier{Epoch: storage.Epoch(e + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		var got, want []string
		for _, val := range arr {
			c := vec.NewChunk(in, 1)
			if _, err := vec.DecodeRow([]byte(val), c.Cols); err != nil {
				t.Fatal(err)
			}
			got = append(got, vec.FormatRow(c, 0))
		}
		slices.Sort(got)
		want = strings.Split(formatRows(in, g.live[0], nil), "\n")
		if len(g.live[0]) == 0 {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
