package flow

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// freeSource gives the same chunk of bids again and again at no cost, by lending its columns.
type freeSource struct {
	exec.Source
	bids *vec.Chunk
	left int64
}

func (s *freeSource) Open(_ context.Context, _ int, _ []byte, cols []int) (exec.Reader, error) {
	return &freeReader{s: s, cols: cols, ready: make(chan struct{}, 1), left: s.left}, nil
}

type freeReader struct {
	s     *freeSource
	cols  []int
	ready chan struct{}
	left  int64
}

func (r *freeReader) Next(dst *vec.Chunk, most int) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	for _, c := range r.cols {
		dst.Cols[c].Int, dst.Cols[c].Str = r.s.bids.Cols[c].Int, r.s.bids.Cols[c].Str
	}
	n := r.s.bids.Len()
	r.left -= int64(n)
	dst.SetLen(n)
	return n, nil
}
func (r *freeReader) Ready() <-chan struct{} { return r.ready }
func (r *freeReader) Offset() []byte         { return []byte{1} }
func (r *freeReader) OffsetRows() int64      { return 0 }
func (r *freeReader) SetColumns(cols []int)  { r.cols = cols }
func (r *freeReader) Close() error           { return nil }

// countRows is an operator that counts rows and tells when there are enough.
type countRows struct {
	hooked
	left *atomic.Int64
	done chan struct{}
}

func (c *countRows) Chunk(_ int, ch *vec.Chunk) error {
	if n := int64(ch.Len()); c.left.Add(-n) <= 0 && c.left.Load() > -n {
		close(c.done)
	}
	return nil
}

func benchRuntime(b *testing.B) *Runtime {
	store, err := storage.Open(storage.Config{Dir: "db", FS: storage.MemFS()})
	if err != nil {
		b.Fatal(err)
	}
	rt := NewRuntime(context.Background(), Config{
		Store: store, Logger: slog.New(slog.DiscardHandler), Failed: func(f Failure) { b.Error(f.Err) },
		Checkpoint: checkpoint.Config{BarrierInterval: 100 * time.Millisecond, CheckpointInterval: time.Second},
	})
	rt.Start(checkpoint.Events{})
	b.Cleanup(func() {
		rt.Stop()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return rt
}

// BenchmarkPath measures a row on its way from a source through the exchange to a sink. Bids of nexmark
// are generated ("nexmark") or cost nothing ("free"); they go to one consumer whole ("own") or are
// partitioned by auction for two ("hash"); they are counted only ("count") or filtered and projected
// before ("filter"). Three columns are sent: auction, price and channel.
func BenchmarkPath(b *testing.B) {
	settings := nexmark.Defaults()
	bids := nexmark.NewGenerator(settings).Source(nexmark.Bid)
	ts := SourceTypes(bids)
	want := []int{nexmark.BidAuction, nexmark.BidPrice, nexmark.BidChannel}
	sent := []types.Type{ts[want[0]], ts[want[1]], ts[want[2]]}
	full := vec.NewChunk(ts, vec.ChunkSize)
	r, err := OpenSplit(context.Background(), bids, 0, nil, want)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := r.Next(full, vec.ChunkSize); err != nil {
		b.Fatal(err)
	}
	for _, gen := range []string{"free", "nexmark"} {
		for _, dist := range []string{"own", "hash"} {
			for _, work := range []string{"count", "filter"} {
				b.Run(gen+"/"+dist+"/"+work, func(b *testing.B) {
					rt := benchRuntime(b)
					var src exec.Source = bids
					if gen == "free" {
						src = &freeSource{Source: bids, bids: full, left: 1 << 60}
					}
					var left atomic.Int64
					left.Store(int64(b.N))
					done := make(chan struct{})
					in := Input{Job: 10, Cols: want}
					parallel := 1
					if dist == "hash" {
						parallel = 2
						in.Dist = Dist{Kind: ToHash, Cols: []int{nexmark.BidAuction}}
					}
					source := &Job{
						ID: 10, Name: "bid", StateID: func(string) storage.TableID { return 10 },
						Fragments: []*Fragment{{Parallel: 1, Types: ts, Source: &SourceSpec{Source: src}}},
					}
					sink := &Job{
						ID: 11, Name: "sink", StateID: func(string) storage.TableID { return 11 },
						Fragments: []*Fragment{{Parallel: parallel, Types: sent, Inputs: []Input{in}, Root: func(int) (*Node, error) {
							n := &Node{}
							if work == "filter" {
								f, err := op.NewFilter(op.FilterConfig{In: sent, Pred: less(0, 1)})
								if err != nil {
									return nil, err
								}
								p, err := op.NewProject(op.ProjectConfig{In: sent, Exprs: []scalar.Expr{col(1), col(0)}})
								if err != nil {
									return nil, err
								}
								n = &Node{Op: p, Name: "p", In: []*Node{{Op: f, Name: "f", In: []*Node{{}}}}}
							}
							return &Node{Op: &countRows{left: &left, done: done}, In: []*Node{n}}, nil
						}}},
					}
					b.ReportAllocs()
					b.ResetTimer()
					if _, err := rt.Deploy(context.Background(), Save{}, source, sink); err != nil {
						b.Fatal(err)
					}
					<-done
					b.StopTimer()
				})
			}
		}
	}
}

// BenchmarkVisible measures from a write to its visibility in an idle runtime, without the log: through the
// table alone, and through a filter view over it.
func BenchmarkVisible(b *testing.B) {
	for _, name := range []string{"table", "view"} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, worldConfig{parallel: 1, chunk: 1024, queue: 4, portion: 1000, barrier: 100 * time.Millisecond, ckpt: time.Second})
			if name == "view" {
				w.finish(w.create("filter", tableID))
			}
			ctx := context.Background()
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if err := w.rt.Write(0, []TableWrite{tableWrite(insert(int64(i)))}); err != nil {
					b.Fatal(err)
				}
				if err := w.rt.Wait(ctx, w.rt.Written()); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
		})
	}
}
