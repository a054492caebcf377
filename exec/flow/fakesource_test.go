package flow

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/storage"
)

// testSource is a source of two int8 columns and the job that reads it. Its offsets are in the state table
// with the number of the job.
type testSource interface {
	exec.Source
	jobID() JobID
	row(split int, i int64) (a, b int64)
	failed(split int, err error)
}

func sourceJob(s testSource) *Job {
	return &Job{
		ID: s.jobID(), Name: fmt.Sprintf("s%d", s.jobID()),
		StateID:    func(string) storage.TableID { return storage.TableID(s.jobID()) },
		Fragments:  []*Fragment{{Parallel: s.Splits(), Types: SourceTypes(s), Source: &SourceSpec{Source: s, Failed: s.failed}}},
		Replayable: true,
	}
}

// nexmarkSource is the bids of nexmark, auction and price, by the clock.
type nexmarkSource struct {
	exec.Source
	t    testing.TB
	id   JobID
	rows [][][2]int64 // by split
}

func newNexmarkSource(t testing.TB, id JobID, splits, events int) *nexmarkSource {
	option := func(k, v string) connector.Option { return connector.Option{Name: k, Value: v, IsSet: true} }
	make := func(rate string) exec.Source {
		src, err := nexmark.NewSource(connector.Config{
			Options: []connector.Option{
				option("table", "bid"), option("events", fmt.Sprint(events)), option("splits", fmt.Sprint(splits)), option("rate", rate),
			},
			Columns: []exec.Column{{Name: "auction", Type: int8Type}, {Name: "price", Type: int8Type}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	s := &nexmarkSource{Source: make("20000"), t: t, id: id}
	for split := range splits {
		r, err := OpenSplit(context.Background(), make("1000000000"), split, nil, []int{0, 1})
		if err != nil {
			t.Fatal(err)
		}
		s.rows = append(s.rows, nil)
		c := vec.NewChunk(SourceTypes(s), 100)
		for err == nil || err == exec.ErrNoData {
			var n int
			n, err = r.Next(c, 100)
			for i := range n {
				s.rows[split] = append(s.rows[split], [2]int64{c.Cols[0].Int[i], c.Cols[1].Int[i]})
			}
		}
		if err != io.EOF {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *nexmarkSource) jobID() JobID { return s.id }
func (s *nexmarkSource) row(split int, i int64) (a, b int64) {
	return s.rows[split][i][0], s.rows[split][i][1]
}
func (s *nexmarkSource) failed(split int, err error) { s.t.Errorf("split %d: %v", split, err) }

// fakeSource is a source whose rows appear, and whose splits fail and end, on command.
type fakeSource struct {
	id     JobID
	splits int

	mu      sync.Mutex
	rows    []int64 // by split: how many can be read
	broken  []error
	ended   []bool
	readers map[*fakeReader]bool
	opened  int
	told    []string // what Failed was told
}

func newFakeSource(id JobID, splits int) *fakeSource {
	return &fakeSource{
		id: id, splits: splits, rows: make([]int64, splits), broken: make([]error, splits),
		ended: make([]bool, splits), readers: map[*fakeReader]bool{},
	}
}

func (s *fakeSource) row(split int, i int64) (a, b int64) {
	return (i*7 + int64(split)) % 5, i ^ int64(split)<<3
}

// change does something to a split and wakes its readers.
func (s *fakeSource) change(split int, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	for r := range s.readers {
		if r.split == split {
			select {
			case r.ready <- struct{}{}:
			default:
			}
		}
	}
}

func (s *fakeSource) add(split int, n int64) { s.change(split, func() { s.rows[split] += n }) }

func (s *fakeSource) Columns() []exec.Column {
	return []exec.Column{{Name: "a", Type: int8Type}, {Name: "b", Type: int8Type}}
}
func (s *fakeSource) Splits() int      { return s.splits }
func (s *fakeSource) Replayable() bool { return true }

func (s *fakeSource) Open(_ context.Context, split int, offset []byte, cols []int) (exec.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	if err := s.broken[split]; err != nil {
		return nil, err
	}
	r := &fakeReader{s: s, split: split, ready: make(chan struct{}, 1), cols: cols}
	if offset != nil {
		if len(offset) != 8 {
			return nil, fmt.Errorf("offset of %d bytes", len(offset))
		}
		r.pos = int64(binary.BigEndian.Uint64(offset))
	}
	s.readers[r] = true
	return r, nil
}

func (s *fakeSource) jobID() JobID { return s.id }

func (s *fakeSource) failed(split int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf("%d: %v", split, err))
}

type fakeReader struct {
	s     *fakeSource
	split int
	pos   int64
	ready chan struct{}
	cols  []int
}

func (r *fakeReader) Next(c *vec.Chunk, most int) (int, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if err := r.s.broken[r.split]; err != nil {
		return 0, err
	}
	n := min(int64(most), r.s.rows[r.split]-r.pos)
	if n <= 0 {
		if r.s.ended[r.split] {
			return 0, io.EOF
		}
		return 0, exec.ErrNoData
	}
	for i := range n {
		a, b := r.s.row(r.split, r.pos+i)
		for _, k := range r.cols {
			c.Cols[k].AppendInt([]int64{a, b}[k])
		}
	}
	r.pos += n
	c.SetLen(int(n))
	return int(n), nil
}

func (r *fakeReader) Ready() <-chan struct{} { return r.ready }
func (r *fakeReader) Offset() []byte         { return binary.BigEndian.AppendUint64(nil, uint64(r.pos)) }
func (r *fakeReader) OffsetRows() int64      { return r.pos }
func (r *fakeReader) SetColumns(cols []int)  { r.cols = cols }

func (r *fakeReader) Close() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	delete(r.s.readers, r)
	return nil
}
