package nexmark

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/arena"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func options(t testing.TB, words []string) []connector.Option {
	t.Helper()
	var opts []connector.Option
	for i, w := range words {
		name, value, set := strings.Cut(w, "=")
		opts = append(opts, connector.Option{Name: name, Value: strings.Trim(value, "'"), IsSet: set, Pos: i})
	}
	return opts
}

func mustSource(t testing.TB, clock connector.Clock, words ...string) exec.Source {
	t.Helper()
	src, err := NewSource(connector.Config{Options: options(t, words), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func allColumns(src exec.Source) []int {
	cols := make([]int, len(src.Columns()))
	for i := range cols {
		cols[i] = i
	}
	return cols
}

func newChunk(src exec.Source) *vec.Chunk {
	var ts []types.Type
	for _, c := range src.Columns() {
		ts = append(ts, c.Type)
	}
	return vec.NewChunk(ts, 0)
}

// readAll reads a split to its end in chunks of random sizes up to most, reopening at the offset now and
// then, and gives each row as text.
func readAll(t testing.TB, src exec.Source, split, most int, rng *rand.Rand) []string {
	t.Helper()
	cols := allColumns(src)
	r, err := src.Open(context.Background(), split, nil, cols)
	if err != nil {
		t.Fatal(err)
	}
	c := newChunk(src)
	var rows []string
	for {
		if r.OffsetRows() != int64(len(rows)) {
			t.Fatalf("OffsetRows is %d at offset %s, after %d rows", r.OffsetRows(), r.Offset(), len(rows))
		}
		if rng != nil && rng.Intn(4) == 0 {
			off := r.Offset()
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if r, err = src.Open(context.Background(), split, off, cols); err != nil {
				t.Fatal(err)
			}
		}
		n := most
		if rng != nil {
			n = 1 + rng.Intn(most)
		}
		c.Reset()
		got, err := r.Next(c, n)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got > n || got != c.Len() {
			t.Fatalf("%d rows, %d in the chunk, at most %d wanted", got, c.Len(), n)
		}
		for i := range got {
			rows = append(rows, vec.FormatRow(c, i))
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestData runs testdata: "source" with options gives the error or the first rows of a source.
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "source":
				cfg := connector.Config{Options: options(t, strings.Fields(d.Input))}
				for _, a := range d.CmdArgs {
					if a.Key == "columns" {
						for i := 0; i < len(a.Vals); i += 2 {
							k, ok := types.KindByName(a.Vals[i+1])
							if !ok {
								t.Fatalf("no type %s", a.Vals[i+1])
							}
							cfg.Columns = append(cfg.Columns, exec.Column{Name: a.Vals[i], Type: types.T(k)})
						}
					}
				}
				src, err := NewSource(cfg)
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
				var b strings.Builder
				for s := range src.Splits() {
					rows := readAll(t, src, s, 7, nil)
					fmt.Fprintf(&b, "split %d: %d rows\n", s, len(rows))
					if len(rows) > 4 {
						rows = append(rows[:3], "...", rows[len(rows)-1])
					}
					for _, row := range rows {
						b.WriteString(row + "\n")
					}
				}
				return b.String()
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// TestAnyReadingIsTheSame: chunk sizes, restarts at offsets and the choice of columns change nothing.
func TestAnyReadingIsTheSame(t *testing.T) {
	for seed := range int64(30) {
		rng := rand.New(rand.NewSource(seed))
		kind := []string{"person", "auction", "bid"}[rng.Intn(3)]
		words := []string{
			"table=" + kind, "events=" + strconv.Itoa(rng.Intn(20000)), "seed=" + strconv.Itoa(rng.Intn(3)),
			"splits=" + strconv.Itoa(1+rng.Intn(4)), "event_rate=" + []string{"1000", "7", "10000", "333333"}[rng.Intn(4)],
		}
		src := mustSource(t, nil, words...)
		for split := range src.Splits() {
			a := readAll(t, src, split, 1000, nil)
			b := readAll(t, src, split, 1+rng.Intn(2000), rng)
			if !slices.Equal(a, b) {
				t.Fatalf("seed %d: %v split %d: readings differ", seed, words, split)
			}
		}
	}
}

// TestSplitsPartition: the rows of all splits together are the rows of one.
func TestSplitsPartition(t *testing.T) {
	for _, kind := range []string{"person", "auction", "bid"} {
		one := readAll(t, mustSource(t, nil, "table="+kind, "events=54321"), 0, 5000, nil)
		var parts []string
		src := mustSource(t, nil, "table="+kind, "events=54321", "splits=3")
		for s := range 3 {
			parts = append(parts, readAll(t, src, s, 5000, nil)...)
		}
		slices.Sort(one)
		slices.Sort(parts)
		if !slices.Equal(one, parts) {
			t.Errorf("%s: %d rows in one split, %d in three", kind, len(one), len(parts))
		}
	}
}

// TestColumnsDoNotDepend: a column has the same values alone as among others, and unneeded ones stay empty.
func TestColumnsDoNotDepend(t *testing.T) {
	for _, kind := range []Kind{Person, Auction, Bid} {
		src := mustSource(t, nil, "table="+kind.String(), "events=5000", "seed=7")
		full := newChunk(src)
		r, err := src.Open(context.Background(), 0, nil, allColumns(src))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(full, 60); err != nil {
			t.Fatal(err)
		}
		for col := range src.Columns() {
			r, err := src.Open(context.Background(), 0, nil, []int{col})
			if err != nil {
				t.Fatal(err)
			}
			c := newChunk(src)
			if _, err := r.Next(c, 60); err != nil {
				t.Fatal(err)
			}
			for other := range src.Columns() {
				want := 0
				if other == col {
					want = 60
				}
				if got := c.Cols[other].Len(); got != want {
					t.Errorf("%s: column %d has %d values when only %d is needed", kind, other, got, col)
				}
			}
			for i := range 60 {
				if a, b := full.Cols[col].Datum(i), c.Cols[col].Datum(i); a != b {
					t.Fatalf("%s column %d row %d: %v and %v", kind, col, i, a, b)
				}
			}
		}
	}
}

// TestHistory checks what the queries of the benchmark rely on.
func TestHistory(t *testing.T) {
	const events = 500_000
	s := Defaults()
	s.Events = events
	g := NewGenerator(s)
	ints := func(k Kind, col int) []int64 {
		var runs []run
		n := int64(0)
		for group := int64(0); group < events/groupSize; group++ {
			runs = append(runs, run{group*groupSize + kindFirst[k], kindCount[k]})
			n += kindCount[k]
		}
		v := vec.NewVector(types.T(types.Int8), 0)
		v.Resize(int(n))
		g.fill(k, col, runs, v, &arena.Strings{})
		return v.Int
	}
	people, auctions, bids := events/50, events/50*3, events/50*46
	ids, aids := ints(Person, PersonID), ints(Auction, AuctionID)
	for i, id := range ids {
		if id != int64(firstID+i) {
			t.Fatalf("person %d has id %d", i, id)
		}
	}
	for i, id := range aids {
		if id != int64(firstID+i) {
			t.Fatalf("auction %d has id %d", i, id)
		}
	}
	if len(ids) != people || len(aids) != auctions {
		t.Fatalf("%d people, %d auctions", len(ids), len(aids))
	}
	share := func(name string, n, of int, want float64) {
		t.Helper()
		if got := float64(n) / float64(of); got < want*0.97 || got > want*1.03 {
			t.Errorf("%s: %.4f, want about %.4f", name, got, want)
		}
	}
	hot, future := 0, 0
	for i, a := range ints(Bid, BidAuction) {
		last := int64(firstID + i/46*3 + 2)
		if a == (last-firstID)/hotEvery*hotEvery+firstID {
			hot++
		}
		if a > last {
			future++
		}
		if a > last+idLead || a < last-s.InFlightAuctions && a%hotEvery != 0 {
			t.Fatalf("bid %d is for auction %d, the last was %d", i, a, last)
		}
	}
	share("hot auctions", hot, bids, 0.5+0.5/111)
	share("future auctions", future, bids, 0.5*10/111)
	hot = 0
	for i, b := range ints(Bid, BidBidder) {
		if b == int64(firstID+i/46/hotEvery*hotEvery+1) {
			hot++
		}
	}
	share("hot bidders", hot, bids, 0.75)
	low, sum := 0, 0.0
	for _, p := range ints(Bid, BidPrice) {
		if p < 100 || p > 100_000_000 {
			t.Fatalf("price %d", p)
		}
		if p < 100_000 {
			low++
		}
		sum += float64(p)
	}
	share("prices below the geometric mean", low, bids, 0.5)
	share("mean price", int(sum/float64(bids)), 1, 99_999_900/13.8155)
	cats := map[int64]int{}
	for _, c := range ints(Auction, AuctionCategory) {
		cats[c]++
	}
	for c := int64(10); c < 15; c++ {
		share("category", cats[c], auctions, 0.2)
	}
	times, expires := ints(Auction, AuctionDateTime), ints(Auction, AuctionExpires)
	total := 0.0
	for i := range times {
		if want := s.Start + (int64(i/3*50+1+i%3)*100)/1000*1000; times[i] != want {
			t.Fatalf("auction %d at %d, want %d", i, times[i], want)
		}
		if expires[i] <= times[i] || expires[i]%1000 != 0 {
			t.Fatalf("auction %d from %d to %d", i, times[i], expires[i])
		}
		total += float64(expires[i] - times[i])
	}
	share("mean duration", int(total/float64(auctions)), 1, 167_000)
}

type fakeClock struct {
	now    time.Time
	timers []*fakeTimer
}

type fakeTimer struct {
	at time.Time
	f  func()
}

func (c *fakeClock) Now() time.Time { return c.now }

func (c *fakeClock) AfterFunc(d time.Duration, f func()) func() bool {
	tm := &fakeTimer{at: c.now.Add(d), f: f}
	c.timers = append(c.timers, tm)
	return func() bool { was := tm.f != nil; tm.f = nil; return was }
}

func (c *fakeClock) advance(d time.Duration) {
	c.now = c.now.Add(d)
	due := c.timers
	c.timers = nil
	for _, tm := range due {
		if tm.f == nil {
			continue
		}
		if tm.at.After(c.now) {
			c.timers = append(c.timers, tm)
			continue
		}
		tm.f()
	}
}

// TestRate: no row before its time, none later than the next wake-up, and no long burst after a pause.
func TestRate(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1_000_000, 0)}
	src := mustSource(t, clock, "table=auction", "rate=1000", "events=100000")
	r, err := src.Open(context.Background(), 0, nil, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	c := newChunk(src)
	total := 0
	read := func() {
		for {
			c.Reset()
			n, err := r.Next(c, 64)
			if err == exec.ErrNoData {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	read()
	for ms := 1; ms <= 500; ms++ {
		clock.advance(time.Millisecond)
		select {
		case <-r.Ready():
			read()
		default:
		}
		// After ms milliseconds events 0 to ms are due; a wake-up may wait for minWait.
		due, earlier := kindBefore(Auction, int64(ms)+1), kindBefore(Auction, int64(ms)-5)
		if int64(total) > due || int64(total) < earlier {
			t.Fatalf("%d auctions after %d ms, want %d to %d", total, ms, earlier, due)
		}
	}
	before := total
	clock.advance(time.Hour)
	read()
	if got := total - before; got > 70 {
		t.Errorf("%d auctions at once after a pause", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tm := range clock.timers {
		if tm.f != nil {
			t.Error("a timer runs after Close")
		}
	}
}

// TestRateOfThePast: a second reader gets what another has read at once, and the two together are no
// faster than one.
func TestRateOfThePast(t *testing.T) {
	for _, splits := range []int{1, 3} {
		clock := &fakeClock{now: time.Unix(1_000_000, 0)}
		src := mustSource(t, clock, "table=bid", "rate=10000", fmt.Sprintf("splits=%d", splits))
		c := newChunk(src)
		read := func(r exec.Reader) (n int) {
			for {
				c.Reset()
				k, err := r.Next(c, 1000)
				n += k
				if err == exec.ErrNoData {
					return n
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		open := func(offsets [][]byte) (rs []exec.Reader) {
			for i := range splits {
				var off []byte
				if offsets != nil {
					off = offsets[i]
				}
				r, err := src.Open(context.Background(), i, off, []int{0})
				if err != nil {
					t.Fatal(err)
				}
				rs = append(rs, r)
			}
			return rs
		}
		total := func(rs []exec.Reader) (n int64) {
			for _, r := range rs {
				read(r)
				n += r.OffsetRows()
			}
			return n
		}
		first := open(nil)
		var second []exec.Reader
		for ms := range 2000 {
			due := kindBefore(Bid, int64(ms)*10+1)
			if got := total(first); got > due || got < due-int64(20*splits) {
				t.Fatalf("%d splits: %d bids after %d ms, want %d", splits, got, ms, due)
			}
			if ms == 1000 {
				second = open(nil)
			}
			if second != nil {
				if got := total(second); got > due || got < due-int64(20*splits) {
					t.Fatalf("%d splits: a second reader has %d bids after %d ms, want %d", splits, got, ms, due)
				}
			}
			clock.advance(time.Millisecond)
		}
		// After a restart elsewhere the past is what lies before the offset.
		var offsets [][]byte
		for _, r := range first {
			offsets = append(offsets, r.Offset())
		}
		was := total(first)
		src = mustSource(t, clock, "table=bid", "rate=10000", fmt.Sprintf("splits=%d", splits))
		again := open(offsets)
		fresh := open(nil)
		if got := total(fresh); got < was-20 {
			t.Errorf("%d splits: %d bids of %d are there after a restart", splits, got, was)
		}
		for _, rs := range [][]exec.Reader{first, second, again, fresh} {
			for _, r := range rs {
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func BenchmarkBid(b *testing.B) {
	src := mustSource(b, nil, "table=bid")
	for _, bm := range []struct {
		name string
		cols []int
	}{
		{"all", []int{0, 1, 2, 3, 4, 5, 6}},
		{"ints_channel", []int{BidAuction, BidBidder, BidPrice, BidDateTime, BidChannel}},
		{"price", []int{BidPrice}},
		{"auction", []int{BidAuction}},
		{"date_time", []int{BidDateTime}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			r, err := src.Open(context.Background(), 0, nil, bm.cols)
			if err != nil {
				b.Fatal(err)
			}
			c := newChunk(src)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				c.Reset()
				k, err := r.Next(c, vec.ChunkSize)
				if err != nil {
					b.Fatal(err)
				}
				n += k
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
