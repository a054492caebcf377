package blackhole

import (
	"context"
	"math/rand"
	"testing"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func sink(t *testing.T, opts ...connector.Option) *Sink {
	t.Helper()
	s, err := NewSink(connector.Config{Options: opts})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Sink)
}

var rowTypes = []types.Type{types.T(types.Int8), types.T(types.Text), types.T(types.Numeric)}

func randomRow(rng *rand.Rand) []types.Datum {
	row := []types.Datum{
		types.DInt(rng.Int63n(5)), types.DStr(string(rune('a' + rng.Intn(3)))),
		types.DDec(types.NewDecimal(rng.Int63n(3), 0)),
	}
	if rng.Intn(5) == 0 {
		row[rng.Intn(3)] = types.Null
	}
	return row
}

// TestChecksumIsOfTheMultiset: order, chunks, writers and changes that cancel out do not matter; one
// row more, less or different does.
func TestChecksumIsOfTheMultiset(t *testing.T) {
	for seed := range int64(200) {
		rng := rand.New(rand.NewSource(seed))
		var rows [][]types.Datum
		var want Adder
		for range rng.Intn(50) {
			row := randomRow(rng)
			rows = append(rows, row)
			c := vec.NewChunk(rowTypes, 1)
			c.AppendRow(row, 1)
			want.Add(c)
		}
		type change struct {
			row  []types.Datum
			diff int64
		}
		var changes []change
		for _, r := range rows {
			changes = append(changes, change{r, 1})
		}
		for range rng.Intn(10) {
			r := randomRow(rng)
			changes = append(changes, change{r, 2}, change{r, -2})
		}
		rng.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		s := sink(t, connector.Option{Name: "checksum"})
		var ws [2]exec.SinkWriter
		for i := range ws {
			w, err := s.Open(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			ws[i] = w
		}
		c := vec.NewChunk(rowTypes, 0)
		for i, ch := range changes {
			c.AppendRow(ch.row, ch.diff)
			if i == len(changes)-1 || rng.Intn(3) == 0 {
				w := ws[rng.Intn(2)]
				if err := w.Write(c); err != nil {
					t.Fatal(err)
				}
				c.Reset()
			}
		}
		for _, w := range ws {
			if err := w.Barrier(1, true); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		got := s.Total()
		if got.Rows != want.Rows || got.Sum != want.Sum || got.Changes != int64(len(changes)) {
			t.Fatalf("seed %d: %+v, want %+v", seed, got, want.Checksum)
		}
		one := vec.NewChunk(rowTypes, 1)
		one.AppendRow(randomRow(rng), 1)
		more := want
		more.Add(one)
		if more.Sum == got.Sum {
			t.Fatalf("seed %d: one more row has the same sum", seed)
		}
	}
}

func TestOptions(t *testing.T) {
	_, err := NewSink(connector.Config{Options: []connector.Option{{Name: "path", Value: "x", IsSet: true, Pos: 7}}})
	if e := sqlerr.From(err); err == nil || e.Code != sqlerr.SyntaxError || e.Pos != 7 {
		t.Errorf("unknown option: %v", err)
	}
	_, err = NewSink(connector.Config{Format: "plain", Encode: "json"})
	if err == nil {
		t.Error("FORMAT is taken")
	}
	if got := sink(t).Total(); got != (Checksum{}) {
		t.Errorf("a new sink has %+v", got)
	}
}
