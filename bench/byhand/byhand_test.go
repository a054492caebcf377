package byhand

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/weirdb/weir/bench/nexmark"
	"github.com/weirdb/weir/connector/blackhole"
	source "github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// table reads all rows of a table.
func table(t *testing.T, s source.Settings, k source.Kind) [][]types.Datum {
	t.Helper()
	src := source.NewGenerator(s).Source(k)
	var cols []int
	for i := range src.Columns() {
		cols = append(cols, i)
	}
	r, err := src.Open(context.Background(), 0, nil, cols)
	if err != nil {
		t.Fatal(err)
	}
	c := vec.NewChunk(typesOf(src.Columns()), 0)
	var rows [][]types.Datum
	for {
		c.Reset()
		n, err := r.Next(c, 1000)
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			rows = append(rows, c.Row(i, nil))
		}
	}
}

// naive answers the queries with nested loops straight from their text.
func naive(name string, people, auctions, bids [][]types.Datum) [][]types.Datum {
	var out [][]types.Datum
	windows := func(times []int64, size, slide int64) []int64 {
		var ws []int64
		for _, t := range times {
			for w := t/slide*slide - size + slide; w <= t; w += slide {
				if w+size > t && !slices.Contains(ws, w) {
					ws = append(ws, w)
				}
			}
		}
		return ws
	}
	var bidTimes []int64
	for _, b := range bids {
		bidTimes = append(bidTimes, b[source.BidDateTime].I)
	}
	switch name {
	case "q0":
		return bids
	case "q1":
		for _, b := range bids {
			price, err := types.ParseDecimal("0.908")
			if err == nil {
				price, err = price.Mul(types.NewDecimal(b[2].I, 0))
			}
			if err != nil {
				panic(err)
			}
			out = append(out, []types.Datum{b[0], b[1], types.DDec(price), b[5], b[6]})
		}
	case "q2":
		for _, b := range bids {
			if b[0].I%123 == 0 {
				out = append(out, []types.Datum{b[0], b[2]})
			}
		}
	case "q3":
		for _, a := range auctions {
			for _, p := range people {
				if a[source.AuctionSeller].I == p[0].I && a[source.AuctionCategory].I == 10 &&
					slices.Contains([]string{"OR", "ID", "CA"}, p[source.PersonState].S) {
					out = append(out, []types.Datum{p[1], p[4], p[5], a[0]})
				}
			}
		}
	case "q4":
		for category := int64(10); category < 15; category++ {
			sum, n := int64(0), int64(0)
			for _, a := range auctions {
				if a[source.AuctionCategory].I != category {
					continue
				}
				final := int64(-1)
				for _, b := range bids {
					if b[0].I == a[0].I && b[5].I >= a[5].I && b[5].I <= a[6].I {
						final = max(final, b[2].I)
					}
				}
				if final >= 0 {
					sum += final
					n++
				}
			}
			if n > 0 {
				avg, err := types.NewDecimal(sum, 0).Div(types.NewDecimal(n, 0))
				if err != nil {
					panic(err)
				}
				out = append(out, []types.Datum{types.DInt(category), types.DDec(avg)})
			}
		}
	case "q5":
		for _, w := range windows(bidTimes, 10*second, 2*second) {
			num := map[int64]int64{}
			for _, b := range bids {
				if b[5].I >= w && b[5].I < w+10*second {
					num[b[0].I]++
				}
			}
			for a, n := range num {
				best := true
				for _, m := range num {
					best = best && n >= m
				}
				if best {
					out = append(out, []types.Datum{types.DInt(a), types.DInt(n)})
				}
			}
		}
	case "q7":
		for _, w := range windows(bidTimes, 10*second, 10*second) {
			most := int64(0)
			for _, b := range bids {
				if b[5].I >= w && b[5].I < w+10*second {
					most = max(most, b[2].I)
				}
			}
			for _, b := range bids {
				if b[2].I == most && b[5].I >= w && b[5].I <= w+10*second {
					out = append(out, []types.Datum{b[0], b[2], b[1], b[5], b[6]})
				}
			}
		}
	case "q9":
		for _, a := range auctions {
			var best []types.Datum
			for _, b := range bids {
				if b[0].I == a[0].I && b[5].I >= a[5].I && b[5].I <= a[6].I &&
					(best == nil || b[2].I > best[2].I || b[2].I == best[2].I && b[5].I < best[5].I) {
					best = b
				}
			}
			if best != nil {
				out = append(out, append(slices.Clone(a), best[0], best[1], best[2], best[5], best[6]))
			}
		}
	case "q17":
		type group struct{ auction, day int64 }
		var done []group
		for _, first := range bids {
			g := group{first[0].I, first[5].I / (86400 * second)}
			if slices.Contains(done, g) {
				continue
			}
			done = append(done, g)
			n, least, most, sum := [4]int64{}, first[2].I, first[2].I, int64(0)
			for _, b := range bids {
				if b[0].I != g.auction || b[5].I/(86400*second) != g.day {
					continue
				}
				n[0]++
				switch {
				case b[2].I < 10000:
					n[1]++
				case b[2].I < 1000000:
					n[2]++
				default:
					n[3]++
				}
				least, most, sum = min(least, b[2].I), max(most, b[2].I), sum+b[2].I
			}
			avg, err := types.NewDecimal(sum, 0).Div(types.NewDecimal(n[0], 0))
			if err != nil {
				panic(err)
			}
			name := time.UnixMicro(g.day*86400*second + 946_684_800*second).UTC().Format("2006-01-02")
			out = append(out, []types.Datum{
				types.DInt(g.auction), types.DStr(name), types.DInt(n[0]), types.DInt(n[1]), types.DInt(n[2]), types.DInt(n[3]),
				types.DInt(least), types.DInt(most), types.DDec(avg), types.DDec(types.NewDecimal(sum, 0)),
			})
		}
	case "q18":
		for i, b := range bids {
			last := !slices.ContainsFunc(bids[:i], func(o []types.Datum) bool {
				return o[0].I == b[0].I && o[1].I == b[1].I && o[5].I >= b[5].I
			}) && !slices.ContainsFunc(bids[i:], func(o []types.Datum) bool {
				return o[0].I == b[0].I && o[1].I == b[1].I && o[5].I > b[5].I
			})
			if last {
				out = append(out, b)
			}
		}
	case "q8":
		for _, p := range people {
			w := p[6].I / (10 * second)
			for _, a := range auctions {
				if a[source.AuctionSeller].I == p[0].I && a[5].I/(10*second) == w {
					out = append(out, []types.Datum{p[0], p[1], types.DInt(w * 10 * second)})
					break
				}
			}
		}
	default:
		return naiveRest(name, auctions, bids)
	}
	return out
}

// TestEqualsNestedLoops compares every program with nested loops on small histories: slow and fast ones,
// so that there are many windows or many events a window, and ties.
func TestEqualsNestedLoops(t *testing.T) {
	for i, events := range []int64{0, 1, 50, 777, 3000, 3000} {
		s := source.Defaults()
		s.Events, s.Seed = events, int64(i)
		s.EventRate = []int64{50, 3, 7, 50, 50, 2000}[i]
		s.ActivePeople, s.InFlightAuctions = 20, 7
		people, auctions, bids := table(t, s, source.Person), table(t, s, source.Auction), table(t, s, source.Bid)
		for _, q := range Queries() {
			got, err := Run(q.Name, Options{Settings: s, Checksum: true, Now: func() time.Time { return clock }})
			if err != nil {
				t.Fatal(err)
			}
			want := &Result{Schema: got.Schema, Rows: vec.NewChunk(typesOf(got.Schema), 0)}
			for _, row := range naive(q.Name, people, auctions, bids) {
				want.Rows.AppendRow(row, 1)
			}
			want.done()
			if got.Rows != nil && !slices.Equal(got.Text(), want.Text()) {
				t.Errorf("%s, history %d: got\n%q\nwant\n%q", q.Name, i, got.Text(), want.Text())
			}
			if got.Checksum.Sum != want.Checksum.Sum || got.Checksum.Rows != want.Checksum.Rows {
				t.Errorf("%s, history %d: checksum %+v, want %+v", q.Name, i, got.Checksum, want.Checksum)
			}
			if events == 3000 && i == 4 && want.Rows.Len() == 0 {
				t.Errorf("%s: no rows, the comparison says nothing", q.Name)
			}
		}
	}
}

// TestCountWithoutChecksum: the count does not depend on the checksum.
func TestCountWithoutChecksum(t *testing.T) {
	s := source.Defaults()
	s.Events = 100_000
	for _, q := range Queries() {
		a, err := Run(q.Name, Options{Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Run(q.Name, Options{Settings: s, Checksum: true})
		if err != nil {
			t.Fatal(err)
		}
		if a.Checksum.Rows != b.Checksum.Rows || b.Checksum.Sum == (blackhole.Checksum{}).Sum && b.Checksum.Rows > 0 {
			t.Errorf("%s: %+v and %+v", q.Name, a.Checksum, b.Checksum)
		}
	}
	if _, err := Run("q99", Options{Settings: s}); err == nil {
		t.Error("q99 has an answer")
	}
}

func TestDiff(t *testing.T) {
	s := source.Defaults()
	s.Events = 20_000
	r, d, err := Measure("q4", Options{Settings: s}, 2)
	if err != nil || d.Wall <= 0 || d.CPU <= 0 {
		t.Fatal(d, err)
	}
	if !r.Same(ChecksumOf(r.Rows)) || len(r.Diff(r.Rows)) > 0 {
		t.Errorf("%v differs from itself: %v", r.Text(), r.Diff(r.Rows))
	}
	part, rest := vec.NewChunk(typesOf(r.Schema), 0), vec.NewChunk(typesOf(r.Schema), 0)
	part.AppendRange(r.Rows, 0, 2)
	rest.AppendRange(r.Rows, 2, r.Rows.Len())
	if !r.Same(ChecksumOf(rest, part)) || len(r.Diff(rest, part)) > 0 {
		t.Error("the order matters")
	}
	rest.AppendFrom(r.Rows, 0)
	if r.Same(ChecksumOf(rest, part)) {
		t.Error("a row too many makes no difference")
	}
	if diff := r.Diff(rest, part); len(diff) != 1 || diff[0] != "+ "+vec.FormatRow(r.Rows, 0) {
		t.Errorf("%v", diff)
	}
	if diff := r.Diff(part); len(diff) != r.Rows.Len()-2 || diff[0][0] != '-' {
		t.Errorf("%v", diff)
	}
}

// TestEveryQueryHasAProgram: the two folders agree.
func TestEveryQueryHasAProgram(t *testing.T) {
	var names []string
	for _, q := range Queries() {
		names = append(names, q.Name)
		if _, err := nexmark.Query(q.Name); err != nil {
			t.Error(err)
		}
	}
	if got := nexmark.Names(); !slices.Equal(got, names) {
		t.Errorf("queries %v, programs %v", got, names)
	}
}

func BenchmarkByHand(b *testing.B) {
	s := source.Defaults()
	s.Events = 2_000_000
	for _, q := range Queries() {
		b.Run(q.Name, func(b *testing.B) {
			for b.Loop() {
				r, err := Run(q.Name, Options{Settings: s})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.Checksum.Rows), "rows")
			}
			b.ReportMetric(float64(s.Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

func ExampleRun() {
	s := source.Defaults()
	s.Events = 20_000
	r, err := Run("q4", Options{Settings: s})
	if err != nil {
		panic(err)
	}
	for _, line := range r.Text() {
		fmt.Println(line)
	}
	// Output:
	// 10 28310366.536585365854
	// 11 30626211.244897959184
	// 12 27385658.545454545455
	// 13 28351657.384615384615
	// 14 28931006.378378378378
}
