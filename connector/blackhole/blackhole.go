// Package blackhole is the sink that forgets what it gets: for measuring, and for keeping a job running
// whose result nobody reads. It counts, and with checksum = 'true' it also sums up the hashes of the
// rows, so that two ways to compute the same rows can be compared without keeping them.
package blackhole

import (
	"context"
	"sync"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/storage"
)

// Checksum describes a multiset of rows independently of their order: two multisets with equal
// Rows and Sum are equal but for a chance of 1 in 2^64. Changes that cancel out leave no trace, so
// that it also describes what a changelog amounts to.
type Checksum struct {
	// Rows is the sum of the diffs, Changes the number of rows that came, with any diff.
	Rows, Changes int64
	// Sum is the sum of diff times hash of the row, modulo 2^64. Values that are equal in SQL (1.0 and
	// 1.00) hash equal.
	Sum uint64
}

// Adder adds chunks to a Checksum; it keeps a buffer between calls.
type Adder struct {
	Checksum
	hashes []uint64
}

// Add takes the rows of a chunk.
func (a *Adder) Add(c *vec.Chunk) {
	a.Count(c)
	a.hashes = vec.HashRows(c.Cols, c.Len(), a.hashes)
	if c.Diffs == nil {
		for _, h := range a.hashes {
			a.Sum += h
		}
		return
	}
	for i, h := range a.hashes {
		a.Sum += uint64(c.Diffs[i]) * h
	}
}

// Count takes the rows of a chunk without their values.
func (a *Adder) Count(c *vec.Chunk) {
	a.Changes += int64(c.Len())
	if c.Diffs == nil {
		a.Rows += int64(c.Len())
		return
	}
	for _, d := range c.Diffs {
		a.Rows += d
	}
}

func (c *Checksum) merge(d Checksum) {
	c.Rows += d.Rows
	c.Changes += d.Changes
	c.Sum += d.Sum
}

// Sink is the sink.
type Sink struct {
	checksum bool

	mu    sync.Mutex
	total Checksum // under mu
}

// NewSink makes a Sink. Its only option is checksum, default false.
func NewSink(cfg connector.Config) (exec.Sink, error) {
	p := connector.Parse(`connector "blackhole"`, cfg.Options)
	s := &Sink{checksum: p.Bool("checksum", false)}
	if err := p.Done(); err != nil {
		return nil, err
	}
	if err := cfg.NoFormat("blackhole"); err != nil {
		return nil, err
	}
	return s, nil
}

// Total gives what all writers have taken up to their last barriers, since the Sink was made. Sum is 0
// unless the sink has the option checksum.
func (s *Sink) Total() Checksum {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Open makes a writer.
func (s *Sink) Open(context.Context, []exec.Column) (exec.SinkWriter, error) {
	return &writer{sink: s}, nil
}

type writer struct {
	sink *Sink
	// epoch is what came since the last barrier.
	epoch Adder
}

func (w *writer) Write(c *vec.Chunk) error {
	if w.sink.checksum {
		w.epoch.Add(c)
	} else {
		w.epoch.Count(c)
	}
	return nil
}

func (w *writer) Barrier(storage.Epoch, bool) error {
	w.sink.mu.Lock()
	w.sink.total.merge(w.epoch.Checksum)
	w.sink.mu.Unlock()
	w.epoch.Checksum = Checksum{}
	return nil
}

func (w *writer) Close() error { return nil }
