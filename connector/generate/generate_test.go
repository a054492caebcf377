package generate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/builtin"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// clock stands still until it is moved.
type clock struct {
	now    time.Time
	timers []func()
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) AfterFunc(_ time.Duration, f func()) func() bool {
	c.timers = append(c.timers, f)
	return func() bool { return true }
}

// columnTypes are those that scripts use.
var columnTypes = map[string]types.Type{
	"int2": types.T(types.Int2), "int4": types.T(types.Int4), "int8": types.T(types.Int8), "float8": types.T(types.Float8), "float4": types.T(types.Float4),
	"numeric": types.T(types.Numeric), "text": types.T(types.Text), "bool": types.T(types.Bool), "date": types.T(types.Date),
	"timestamp": types.T(types.Timestamp), "time": types.T(types.Time), "uuid": types.T(types.UUID), "bytea": types.T(types.Bytea),
	"jsonb": types.T(types.Jsonb), "varchar3": {Kind: types.Varchar, Mod: 7}, "numeric4": {Kind: types.Numeric, Mod: (4<<16 | 1) + 4},
}

// open makes a source of lines: "name type" for columns, "name=value" for options.
func open(input string, c connector.Clock) (exec.Source, error) {
	cfg := connector.Config{Clock: c}
	for i, line := range strings.Split(input, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			cfg.Options = append(cfg.Options, connector.Option{Name: name, Value: value, IsSet: true, Pos: i})
		} else if name, typ, ok := strings.Cut(line, " "); ok {
			cfg.Columns = append(cfg.Columns, exec.Column{Name: name, Type: columnTypes[typ]})
		}
	}
	return builtin.New().NewSource(cfg)
}

// read reads a split to its end or to so many rows, in chunks of random sizes, reopening now and then.
func read(t *testing.T, src exec.Source, split, rows int, rng *rand.Rand) []string {
	t.Helper()
	var cols []int
	var ts []types.Type
	for i, c := range src.Columns() {
		cols, ts = append(cols, i), append(ts, c.Type)
	}
	c := vec.NewChunk(ts, 0)
	r, err := src.Open(context.Background(), split, nil, cols)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for len(out) < rows {
		if n := r.OffsetRows(); n != int64(len(out)) {
			t.Fatalf("OffsetRows is %d after %d rows", n, len(out))
		}
		if rng.Intn(4) == 0 {
			off := r.Offset()
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if r, err = src.Open(context.Background(), split, off, cols); err != nil {
				t.Fatal(err)
			}
		}
		c.Reset()
		n, err := r.Next(c, min(1+rng.Intn(700), rows-len(out)))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			out = append(out, vec.FormatRow(c, i))
		}
	}
	return out
}

// TestScripts runs testdata: rows prints the first ones of a source, count how many there are and how often each of
// the most frequent values of the first column comes.
func TestScripts(t *testing.T) {
	for _, f := range []string{"testdata/datagen", "testdata/tpch"} {
		datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
			src, err := open(d.Input, connector.WallClock())
			if err != nil {
				e := sqlerr.From(err)
				out := fmt.Sprintf("ERROR %s at %d: %s\n", e.Code, e.Pos, e.Message)
				if e.Detail != "" {
					out += "DETAIL: " + e.Detail + "\n"
				}
				if e.Hint != "" {
					out += "HINT: " + e.Hint + "\n"
				}
				return out
			}
			limit := 5
			if d.Cmd == "count" {
				limit = 1 << 20
			}
			if d.HasArg("limit") {
				d.ScanArgs(t, "limit", &limit)
			}
			rows := read(t, src, 0, limit, rand.New(rand.NewSource(1)))
			if d.Cmd == "rows" {
				return strings.Join(rows, "\n") + "\n"
			}
			counts := map[string]int{}
			for _, r := range rows {
				first, _, _ := strings.Cut(r, " ")
				counts[first]++
			}
			var keys []string
			for k := range counts {
				keys = append(keys, k)
			}
			sort.Slice(keys, func(i, j int) bool {
				return counts[keys[i]] > counts[keys[j]] || counts[keys[i]] == counts[keys[j]] && keys[i] < keys[j]
			})
			out := fmt.Sprintf("%d rows, %d values\n", len(rows), len(keys))
			for _, k := range keys[:min(len(keys), 6)] {
				out += fmt.Sprintf("%s: %d\n", k, counts[k])
			}
			return out
		})
	}
}

// The rows are the same in any number of splits, chunks and lives of readers.
func TestSplits(t *testing.T) {
	for _, input := range []string{
		"connector=datagen\nrows=5000\nid int8\ntxt text\nfields.id.kind=sequence\nfields.txt.var_len=true",
		"connector=tpch\ntable=lineitem\nscale_factor=0.001", "connector=tpch\ntable=part\nscale_factor=0.02", "connector=tpch\ntable=nation",
	} {
		rng := rand.New(rand.NewSource(7))
		var want []string
		for splits := 1; splits <= 4; splits++ {
			src, err := open(fmt.Sprintf("%s\nsplits=%d", input, splits), connector.WallClock())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for s := range splits {
				got = append(got, read(t, src, s, 1<<20, rng)...)
			}
			sort.Strings(got)
			if want == nil {
				want = got
			} else if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%s: %d splits give %d rows, one %d, or others", input, splits, len(got), len(want))
			}
		}
	}
}

// A rate bounds what is read by the clock; what was read once is read again at once.
func TestRate(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	src, err := open("connector=datagen\nrows=10000\nrate=100\nid int8\nfields.id.kind=sequence", c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Open(context.Background(), 0, nil, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	chunk := vec.NewChunk([]types.Type{types.T(types.Int8)}, 0)
	next := func(r exec.Reader) int {
		chunk.Reset()
		n, err := r.Next(chunk, 1000)
		if err != nil && !errors.Is(err, exec.ErrNoData) {
			t.Fatal(err)
		}
		return n
	}
	if n := next(r); n != 0 || len(c.timers) != 1 {
		t.Fatalf("%d rows at the start, %d timers", n, len(c.timers))
	}
	c.now = c.now.Add(250 * time.Millisecond)
	c.timers[0]()
	select {
	case <-r.Ready():
	default:
		t.Fatal("not ready")
	}
	if n := next(r); n != 25 {
		t.Fatalf("%d rows in a quarter of a second", n)
	}
	other, err := src.Open(context.Background(), 0, nil, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	if n := next(other); n != 25 {
		t.Fatalf("%d rows of the past", n)
	}
	c.now = c.now.Add(time.Hour)
	if n := next(r); n < 90 || n > 110 {
		t.Fatalf("%d rows after a long pause", n)
	}
}
