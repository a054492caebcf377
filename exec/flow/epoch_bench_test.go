package flow

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// passOp passes everything on.
type passOp struct{ out exec.Output }

func (p *passOp) Schema() []types.Type                        { return tableTypes }
func (p *passOp) Open(_ *exec.Context, out exec.Output) error { p.out = out; return nil }
func (p *passOp) Chunk(_ int, c *vec.Chunk) error             { return p.out.Chunk(c) }
func (p *passOp) Watermark(_ int, w exec.Watermark) error     { return p.out.Watermark(w) }
func (p *passOp) Barrier(b exec.Barrier) error                { return p.out.Barrier(b) }
func (p *passOp) Close()                                      {}

// BenchmarkEpoch measures an epoch on demand, from the demand until everybody has heard that it is complete, through a
// table and a chain of jobs.
func BenchmarkEpoch(b *testing.B) {
	for _, jobs := range []int{1, 8} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			rt := benchRuntime(b)
			w := &world{t: b, store: rt.cfg.Store, rt: rt, rows: map[int64][2]int64{}}
			js := []*Job{w.tableJob()}
			over := JobID(tableID)
			for i := range jobs {
				id := JobID(100 + i)
				js = append(js, &Job{
					ID: id, Name: fmt.Sprint(id), StateID: func(string) storage.TableID { return storage.TableID(id) },
					Fragments: []*Fragment{{Parallel: 1, Types: tableTypes, Inputs: []Input{{Job: over, Fragment: -1}}, Root: func(int) (*Node, error) {
						return &Node{Op: &passOp{}, Name: "pass", In: []*Node{{}}}, nil
					}}},
				})
				over = id
			}
			if _, err := rt.Deploy(context.Background(), Save{}, js...); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := rt.Wait(context.Background(), rt.Open()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
