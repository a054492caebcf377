package nexmark

import (
	"context"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/arena"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// blockSize is how many consecutive events one split gets at a time: whole groups.
const blockSize = 64 * groupSize

// minWait keeps a rate-limited reader from waking for single rows.
const minWait = 5 * time.Millisecond

// maxBurst is how far a rate-limited reader that was held up may catch up at once.
const maxBurst = time.Second

// NewSource makes the source of one table. Options:
//
//	table               person, auction or bid; required
//	events              number of events of all kinds; absent: endless
//	rate                events (of all kinds) a second by the clock; absent: as fast as consumed
//	seed                default 0
//	splits              number of parallel parts, default 1
//	event_rate          events a second of event time, default 10000
//	active_people, in_flight_auctions, hot_auction_ratio, hot_bidder_ratio, hot_seller_ratio
//	                    see Settings
func NewSource(cfg connector.Config) (exec.Source, error) {
	p := connector.Parse(`connector "nexmark"`, cfg.Options)
	table := p.Required("table")
	s := Defaults()
	s.Events = p.Int("events", s.Events, 0, math.MaxInt64)
	rate := p.Int("rate", 0, 1, 1_000_000_000)
	s.Seed = p.Int("seed", 0, math.MinInt64, math.MaxInt64)
	splits := p.Int("splits", 1, 1, 1024)
	s.EventRate = p.Int("event_rate", s.EventRate, 1, 1_000_000_000)
	s.ActivePeople = p.Int("active_people", s.ActivePeople, 1, 1_000_000_000)
	s.InFlightAuctions = p.Int("in_flight_auctions", s.InFlightAuctions, 1, 1_000_000_000)
	s.HotAuctionRatio = p.Int("hot_auction_ratio", s.HotAuctionRatio, 1, 1_000_000)
	s.HotBidderRatio = p.Int("hot_bidder_ratio", s.HotBidderRatio, 1, 1_000_000)
	s.HotSellerRatio = p.Int("hot_seller_ratio", s.HotSellerRatio, 1, 1_000_000)
	kind, ok := KindByName(strings.ToLower(table))
	if !ok && table != "" {
		p.Fail("table", `invalid value for option "table": %s`, table)
	}
	if err := p.Done(); err != nil {
		if e := sqlerr.From(err); !ok && table != "" && e.Hint == "" && e.Code == sqlerr.InvalidParameterValue {
			return nil, e.WithHint("The tables are person, auction and bid.")
		}
		return nil, err
	}
	if err := cfg.NoFormat("nexmark"); err != nil {
		return nil, err
	}
	src := &source{gen: NewGenerator(s), kind: kind, rate: rate, splits: int(splits), clock: cfg.ClockOrWall()}
	if err := src.setColumns(cfg.Columns); err != nil {
		return nil, err
	}
	return src, nil
}

type source struct {
	gen  *Generator
	kind Kind
	// cols is the schema that users see, from the column genCols[i] of the table.
	cols    []exec.Column
	genCols []int
	rate    int64 // events a second, 0 for no limit
	splits  int
	clock   connector.Clock
	// frontier is the first event that no reader has come to. What happened before it is the past and is
	// read again at any speed: with a rate, a new view must be able to catch up.
	frontier atomic.Int64
}

// setColumns takes the columns of the statement, which may leave out and reorder the table's.
func (s *source) setColumns(listed []exec.Column) error {
	all := Columns(s.kind)
	if len(listed) == 0 {
		s.cols = all
		for i := range all {
			s.genCols = append(s.genCols, i)
		}
		return nil
	}
	for _, c := range listed {
		i := slices.IndexFunc(all, func(a exec.Column) bool { return a.Name == c.Name })
		if i < 0 {
			names := make([]string, len(all))
			for j, a := range all {
				names[j] = a.Name
			}
			return sqlerr.Newf(sqlerr.UndefinedColumn, "column %q does not exist in Nexmark table %q", c.Name, s.kind).
				WithHint("The columns are %s.", strings.Join(names, ", "))
		}
		if !sameValues(c.Type, all[i].Type) {
			return sqlerr.Newf(sqlerr.DatatypeMismatch, "column %q of Nexmark table %q has type %s, not %s",
				c.Name, s.kind, all[i].Type, c.Type)
		}
		s.cols = append(s.cols, c)
		s.genCols = append(s.genCols, i)
	}
	return nil
}

// sameValues tells whether a column of type t can show values of the generator's type as they are.
func sameValues(t, gen types.Type) bool {
	switch gen.Kind {
	case types.Timestamp:
		return (t.Kind == types.Timestamp || t.Kind == types.Timestamptz) && (t.Mod < 0 || t.Mod >= 3)
	case types.Text:
		return t.Kind == types.Text || t.Kind == types.Varchar && t.Mod < 0
	default:
		return t.Kind == gen.Kind
	}
}

func (s *source) Columns() []exec.Column { return s.cols }
func (s *source) Splits() int            { return s.splits }

// Keys says that persons and auctions have an id of their own.
func (s *source) Keys() [][]int {
	if s.kind == Bid {
		return nil
	}
	for i, c := range s.genCols {
		if s.kind == Person && c == PersonID || s.kind == Auction && c == AuctionID {
			return [][]int{{i}}
		}
	}
	return nil
}

func (s *source) Replayable() bool { return true }

// Open makes a reader. An offset is the decimal number of the next event.
func (s *source) Open(_ context.Context, split int, offset []byte, cols []int) (exec.Reader, error) {
	r := &reader{src: s, split: int64(split), ready: make(chan struct{}, 1)}
	r.pos = int64(split) * blockSize
	if offset != nil {
		n, err := strconv.ParseInt(string(offset), 10, 64)
		if err != nil || n < 0 {
			return nil, sqlerr.Newf(sqlerr.DataCorrupted, "invalid offset %q of a nexmark source", offset)
		}
		r.pos = n
	}
	r.base, r.baseTime = r.pos+1, s.clock.Now()
	if offset == nil {
		r.base = 1 // the first event of all, which may be another split's
	} else {
		r.passed(r.pos)
	}
	r.align()
	r.SetColumns(cols)
	return r, nil
}

type reader struct {
	src   *source
	split int64
	cols  []int
	// pos is the next event of this split, of any kind. Invariant: pos is in a block of the split.
	pos   int64
	runs  []run
	texts arena.Strings
	ready chan struct{}
	// At baseTime the events below base were due (if there is a rate).
	base     int64
	baseTime time.Time
	stop     func() bool
}

// align moves pos forward to the next block of the split if it is in another's.
func (r *reader) align() {
	splits := int64(r.src.splits)
	if block := r.pos / blockSize; block%splits != r.split {
		block += (r.split - block%splits + splits) % splits
		r.pos = block * blockSize
	}
}

// nextOfKind gives the first event from pos on, in this split, that is of the reader's kind.
func (r *reader) nextOfKind() int64 {
	group, off := r.pos/groupSize, r.pos%groupSize
	first := kindFirst[r.src.kind]
	switch {
	case off < first:
		return group*groupSize + first
	case off < first+kindCount[r.src.kind]:
		return r.pos
	}
	group++
	if group*groupSize%blockSize == 0 {
		group += (int64(r.src.splits) - 1) * (blockSize / groupSize)
	}
	return group*groupSize + first
}

// limit gives the first event that may not be read yet.
func (r *reader) limit() int64 {
	end := r.src.gen.s.Events
	if r.src.rate == 0 {
		return end
	}
	now := r.src.clock.Now()
	due := r.due(now)
	late := r.pos + int64(float64(r.src.rate)*maxBurst.Seconds())
	switch past := r.src.frontier.Load(); {
	case past > due:
		r.base, r.baseTime, due = past, now, past
	case due > max(late, past):
		late = max(late, past)
		r.base, r.baseTime, due = late, now, late
	}
	return min(end, due)
}

// passed moves the frontier up to event n.
func (r *reader) passed(n int64) {
	for {
		f := r.src.frontier.Load()
		if n <= f || r.src.frontier.CompareAndSwap(f, n) {
			return
		}
	}
}

// due gives the first event that is not due yet.
func (r *reader) due(now time.Time) int64 {
	d := max(now.Sub(r.baseTime), 0)
	sec, ns := int64(d/time.Second), int64(d%time.Second)
	return r.base + sec*r.src.rate + ns*r.src.rate/int64(time.Second)
}

// Next generates rows.
func (r *reader) Next(dst *vec.Chunk, maxRows int) (int, error) {
	limit := r.limit()
	first, count := kindFirst[r.src.kind], kindCount[r.src.kind]
	r.runs = r.runs[:0]
	rows := int64(0)
	for rows < int64(maxRows) && r.pos < limit {
		group := r.pos / groupSize * groupSize
		lo := max(r.pos, group+first)
		hi := min(limit, group+first+count, lo+int64(maxRows)-rows)
		if lo < hi {
			r.runs = append(r.runs, run{first: lo, n: hi - lo})
			rows += hi - lo
			r.pos = hi
		}
		if hi == group+first+count || lo >= hi {
			r.pos = min(group+groupSize, limit)
		}
		if r.pos%blockSize == 0 {
			r.align()
		}
	}
	if r.src.rate > 0 {
		r.passed(min(r.pos, limit))
	}
	if rows == 0 {
		if r.pos >= r.src.gen.s.Events {
			return 0, io.EOF
		}
		r.arm()
		return 0, exec.ErrNoData
	}
	for _, c := range r.cols {
		dst.Cols[c].Resize(int(rows))
		r.src.gen.fill(r.src.kind, r.src.genCols[c], r.runs, dst.Cols[c], &r.texts)
	}
	dst.SetLen(int(rows))
	return int(rows), nil
}

// arm sets the timer for the next row.
func (r *reader) arm() {
	next := min(r.nextOfKind()+1, r.src.gen.s.Events) - r.base
	due := time.Duration(next/r.src.rate)*time.Second +
		time.Duration((next%r.src.rate*int64(time.Second)+r.src.rate-1)/r.src.rate)
	wait := max(due-r.src.clock.Now().Sub(r.baseTime), minWait)
	if r.stop != nil {
		r.stop()
	}
	r.stop = r.src.clock.AfterFunc(wait, func() {
		select {
		case r.ready <- struct{}{}:
		default:
		}
	})
}

func (r *reader) Ready() <-chan struct{} { return r.ready }

func (r *reader) Offset() []byte { return strconv.AppendInt(nil, r.pos, 10) }

// kindBefore gives the number of events below n that are of kind k.
func kindBefore(k Kind, n int64) int64 {
	return n/groupSize*kindCount[k] + min(max(n%groupSize-kindFirst[k], 0), kindCount[k])
}

func (r *reader) OffsetRows() int64 {
	k, splits := r.src.kind, int64(r.src.splits)
	block := r.pos / blockSize
	full := (block + splits - 1 - r.split) / splits // own blocks before this one
	return full*kindBefore(k, blockSize) + kindBefore(k, r.pos) - kindBefore(k, block*blockSize)
}

func (r *reader) SetColumns(cols []int) { r.cols = append(r.cols[:0], cols...) }

func (r *reader) Close() error {
	if r.stop != nil {
		r.stop()
	}
	return nil
}

// Source gives one table of the history as a source with one split and no rate limit.
func (g *Generator) Source(k Kind) exec.Source {
	s := &source{gen: g, kind: k, splits: 1, clock: connector.WallClock()}
	if err := s.setColumns(nil); err != nil {
		panic(err) // without a list of columns there is nothing to refuse
	}
	return s
}
