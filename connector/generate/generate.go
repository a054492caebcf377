// Package generate is a source whose rows are functions of their numbers: what the connectors tpch and datagen
// share. A reader can start at any row, splits need nothing of each other, and a column that nobody wants costs nothing.
//
// Split s of n reads every n-th block of rows, so that the splits are at about the same place. Rows are limited to a rate by
// the clock of the configuration; what some reader has come to is the past, and is read again at any speed.
package generate

import (
	"context"
	"io"
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
)

// block is how many consecutive rows one split gets at a time.
const block = 1024

// minWait keeps a rate-limited reader from waking for single rows, and maxBurst bounds how far one that was held up may
// catch up at once.
const (
	minWait  = 5 * time.Millisecond
	maxBurst = time.Second
)

// Config is a table of numbered rows.
type Config struct {
	// Name is the connector's, for messages.
	Name    string
	Columns []exec.Column
	// Rows is how many there are; math.MaxInt64 for no end.
	Rows int64
	// Rate is rows a second by the clock, of all splits together; 0: no limit.
	Rate   int64
	Splits int
	Clock  connector.Clock
	// Fill appends column col of the rows [first, end) to dst. It may be called by several goroutines, each with
	// texts of its own.
	Fill func(col int, first, end int64, dst *vec.Vector, texts *arena.Strings)
}

// New makes the source.
func New(cfg Config) exec.Source { return &source{Config: cfg} }

type source struct {
	Config
	// frontier is the first row that no reader has come to.
	frontier atomic.Int64
}

func (s *source) Columns() []exec.Column { return s.Config.Columns }
func (s *source) Splits() int            { return s.Config.Splits }
func (s *source) Replayable() bool       { return true }

// Open makes a reader. An offset is the decimal number of the next row.
func (s *source) Open(_ context.Context, split int, offset []byte, cols []int) (exec.Reader, error) {
	r := &reader{src: s, split: int64(split), ready: make(chan struct{}, 1), baseTime: s.Clock.Now()}
	r.pos = int64(split) * block
	if offset != nil {
		n, err := strconv.ParseInt(string(offset), 10, 64)
		if err != nil || n < 0 {
			return nil, sqlerr.Newf(sqlerr.DataCorrupted, "invalid offset %q of a %s source", offset, s.Name)
		}
		r.pos, r.base = n, n
		r.passed(n)
	}
	r.align()
	r.SetColumns(cols)
	return r, nil
}

type reader struct {
	src   *source
	split int64
	cols  []int
	// pos is the next row of this split. Invariant: pos is in a block of the split.
	pos   int64
	texts arena.Strings
	ready chan struct{}
	// At baseTime the rows below base were due, if there is a rate.
	base     int64
	baseTime time.Time
	stop     func() bool
}

// align moves pos forward to the next block of the split if it is in another's.
func (r *reader) align() {
	splits := int64(r.src.Config.Splits)
	if b := r.pos / block; b%splits != r.split {
		r.pos = (b + (r.split-b%splits+splits)%splits) * block
	}
}

// limit gives the first row that may not be read yet.
func (r *reader) limit() int64 {
	if r.src.Rate == 0 {
		return r.src.Rows
	}
	now := r.src.Clock.Now()
	due := r.due(now)
	late := r.pos + int64(float64(r.src.Rate)*maxBurst.Seconds())
	switch past := r.src.frontier.Load(); {
	case past > due:
		r.base, r.baseTime, due = past, now, past
	case due > max(late, past):
		late = max(late, past)
		r.base, r.baseTime, due = late, now, late
	}
	return min(r.src.Rows, due)
}

// due gives the first row that is not due yet.
func (r *reader) due(now time.Time) int64 {
	d := max(now.Sub(r.baseTime), 0)
	sec, ns := int64(d/time.Second), int64(d%time.Second)
	return r.base + sec*r.src.Rate + ns*r.src.Rate/int64(time.Second)
}

// passed moves the frontier up to row n.
func (r *reader) passed(n int64) {
	for {
		f := r.src.frontier.Load()
		if n <= f || r.src.frontier.CompareAndSwap(f, n) {
			return
		}
	}
}

// Next makes rows of at most one block.
func (r *reader) Next(dst *vec.Chunk, maxRows int) (int, error) {
	limit := r.limit()
	end := min(limit, r.pos+int64(maxRows), (r.pos/block+1)*block)
	n := int(end - r.pos)
	if n <= 0 {
		if r.pos >= r.src.Rows {
			return 0, io.EOF
		}
		r.arm()
		return 0, exec.ErrNoData
	}
	for _, c := range r.cols {
		r.src.Fill(c, r.pos, end, dst.Cols[c], &r.texts)
	}
	dst.SetLen(n)
	r.pos = end
	if r.src.Rate > 0 {
		r.passed(end)
	}
	if r.pos%block == 0 {
		r.align()
	}
	return n, nil
}

// arm sets the timer for the next row.
func (r *reader) arm() {
	next := r.pos + 1 - r.base
	due := time.Duration(next/r.src.Rate)*time.Second +
		time.Duration((next%r.src.Rate*int64(time.Second)+r.src.Rate-1)/r.src.Rate)
	wait := max(due-r.src.Clock.Now().Sub(r.baseTime), minWait)
	if r.stop != nil {
		r.stop()
	}
	r.stop = r.src.Clock.AfterFunc(wait, func() {
		select {
		case r.ready <- struct{}{}:
		default:
		}
	})
}

func (r *reader) Ready() <-chan struct{} { return r.ready }

func (r *reader) Offset() []byte { return strconv.AppendInt(nil, r.pos, 10) }

func (r *reader) OffsetRows() int64 {
	splits, pos := int64(r.src.Config.Splits), min(r.pos, r.src.Rows)
	b := pos / block
	n := (b + splits - 1 - r.split) / splits * block // own blocks before this one
	if b%splits == r.split {
		n += pos % block
	}
	return n
}

func (r *reader) SetColumns(cols []int) { r.cols = append(r.cols[:0], cols...) }

func (r *reader) Close() error {
	if r.stop != nil {
		r.stop()
	}
	return nil
}

// Hash is a random number that depends on its arguments alone: the seed of a history, what is drawn, and the row's number.
func Hash(seed, salt uint64, row int64) uint64 {
	x := seed ^ salt*0x9e3779b97f4a7c15 ^ uint64(row)*0xbf58476d1ce4e5b9
	for range 2 {
		x ^= x >> 30
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 27
		x *= 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

// Choose gives the columns of a statement, which may leave out and reorder those of a fixed schema: their places there.
// Without a list it is all of them.
func Choose(what string, all, listed []exec.Column, fits func(listed, fixed exec.Column) bool) (cols []exec.Column, at []int, err error) {
	if len(listed) == 0 {
		for i := range all {
			at = append(at, i)
		}
		return all, at, nil
	}
	for _, c := range listed {
		i := slices.IndexFunc(all, func(a exec.Column) bool { return a.Name == c.Name })
		if i < 0 {
			names := make([]string, len(all))
			for j, a := range all {
				names[j] = a.Name
			}
			return nil, nil, sqlerr.Newf(sqlerr.UndefinedColumn, "column %q does not exist in %s", c.Name, what).
				WithHint("The columns are %s.", strings.Join(names, ", "))
		}
		if !fits(c, all[i]) {
			return nil, nil, sqlerr.Newf(sqlerr.DatatypeMismatch, "column %q of %s has type %s, not %s", c.Name, what, all[i].Type, c.Type)
		}
		cols, at = append(cols, c), append(at, i)
	}
	return cols, at, nil
}
