// Package byhand answers the Nexmark queries without a database: for each query the shortest honest
// Go program with loops and maps that computes the same final answer from the same events, reading only
// the columns that it needs. It is the yardstick of the benchmark: the oracle for what Weir must
// answer, and the limit for how fast.
//
// The programs know the schema (ids are unique) but not the generator: they would be right for events in
// any order. They keep nothing for later changes, handle no retractions and write nothing down.
//
// With Options.View they also keep the answer as a View: its rows stay readable in memory under their key.
// That is the yardstick for a materialized view, which promises durability on top of it.
package byhand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weirdb/weir/connector/blackhole"
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// Result is the final answer of a query.
type Result struct {
	// Schema is the columns of the query.
	Schema []exec.Column
	// Checksum describes the rows as blackhole.Sink does, so that it can be compared with a sink's, or
	// with that of a view's rows put through blackhole.Adder.
	Checksum blackhole.Checksum
	// Rows is the answer in no particular order; nil for the queries that pass most of their input on
	// (q0, q1 and q2), which have the Checksum only.
	Rows *vec.Chunk
	// View is the answer as Options.View asks for it.
	View *View

	keep bool // Options.View
	sum  bool // Options.Checksum
	keys []Key
	bids []int64 // the numbers of the bids that are passed on, where not all are
}

// Text gives the rows as sorted lines (vec.FormatRow), to show where two answers differ.
func (r *Result) Text() []string {
	if r.Rows == nil {
		return nil
	}
	lines := make([]string, r.Rows.Len())
	for i := range lines {
		lines[i] = vec.FormatRow(r.Rows, i)
	}
	slices.Sort(lines)
	return lines
}

// Options choose the history.
type Options struct {
	Settings nexmark.Settings
	// Checksum computes Result.Checksum.Sum for the queries that pass their input on as well; without
	// it they only count, as a sink without the option checksum does.
	Checksum bool
	// View asks for Result.View. The Checksum is then that of the view's rows, read from it.
	View bool
	// File is a file for the rows of the queries that pass rows on, as lines of CSV; "" for none.
	File string
	// Now is the clock of q12; nil is that of the machine.
	Now func() time.Time
}

// Query is one of the programs.
type Query struct {
	Name string
	run  func(*history) *Result
}

// Queries lists the programs.
func Queries() []Query {
	return []Query{
		{"q0", q0}, {"q1", q1}, {"q2", q2}, {"q3", q3}, {"q4", q4}, {"q5", q5}, {"q6", q6}, {"q7", q7}, {"q8", q8},
		{"q9", q9}, {"q10", q10}, {"q11", q11}, {"q12", q12}, {"q13", q13}, {"q14", q14}, {"q15", q15}, {"q16", q16},
		{"q17", q17}, {"q18", q18}, {"q19", q19}, {"q20", q20}, {"q21", q21}, {"q22", q22},
	}
}

// Run answers one query.
func Run(name string, o Options) (*Result, error) {
	for _, q := range Queries() {
		if q.Name == name {
			h := &history{gen: nexmark.NewGenerator(o.Settings), checksum: o.Checksum, view: o.View, file: o.File, now: o.Now}
			if h.now == nil {
				h.now = time.Now
			}
			return q.run(h), h.err
		}
	}
	return nil, fmt.Errorf("no program for query %q", name)
}

// history is the events, and the first error in reading them.
type history struct {
	gen      *nexmark.Generator
	checksum bool
	view     bool
	file     string
	now      func() time.Time
	err      error
}

// scan calls f with all events of a kind, some at a time, in columns; only cols are filled.
func (h *history) scan(k nexmark.Kind, f func(c *vec.Chunk), cols ...int) {
	src := h.gen.Source(k)
	r, err := src.Open(context.Background(), 0, nil, cols)
	if err != nil {
		h.err = errors.Join(h.err, err)
		return
	}
	c := vec.NewChunk(typesOf(src.Columns()), 0)
	for {
		c.Reset()
		if _, err := r.Next(c, vec.ChunkSize); err != nil {
			if err != io.EOF {
				h.err = errors.Join(h.err, err)
			}
			break
		}
		f(c)
	}
	h.err = errors.Join(h.err, r.Close())
}

func typesOf(cols []exec.Column) []types.Type {
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	return ts
}

// col makes a column of a result.
func col(name string, k types.Kind) exec.Column { return exec.Column{Name: name, Type: types.T(k)} }

// output makes the empty rows of a result.
func (h *history) output(cols ...exec.Column) *Result {
	return &Result{Schema: cols, Rows: vec.NewChunk(typesOf(cols), 0), keep: h.view, sum: h.checksum}
}

// key notes the key of the next row, if the result is to be a view.
func (r *Result) key(k Key) {
	if r.keep {
		r.keys = append(r.keys, k)
	}
}

// done completes a result with rows.
func (r *Result) done() *Result {
	if r.keep {
		r.View = newView(r.Schema)
		r.View.add(r.Rows, nil)
		r.View.index(r.keys)
		r.keys = nil
		if r.Checksum.Rows = int64(r.View.Len()); r.sum {
			r.Checksum = r.View.Checksum()
		}
		return r
	}
	var a blackhole.Adder
	a.Add(r.Rows)
	r.Checksum = a.Checksum
	return r
}

// Spans of time, in the unit of timestamps.
const (
	second = 1_000_000
	minute = 60 * second
	day    = 24 * 60 * minute
)

// timeOf gives a timestamp as a time in UTC.
func timeOf(t int64) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(t) * time.Microsecond)
}

// windowOf gives the start of the tumbling window of a size in microseconds.
func windowOf(t, size int64) int64 {
	m := t % size
	if m < 0 {
		m += size
	}
	return t - m
}
