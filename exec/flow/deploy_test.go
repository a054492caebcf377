package flow

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// early emits one row at its first barrier, before it passes it on.
type early struct {
	hooked
	done bool
}

func (e *early) Barrier(b exec.Barrier) error {
	if !e.done {
		e.done = true
		c := vec.NewChunk(tableTypes, 1)
		c.AppendRow([]types.Datum{types.DInt(1), types.DInt(2), types.DInt(3)}, 1)
		if err := e.out.Chunk(c); err != nil {
			return err
		}
	}
	return e.out.Barrier(b)
}

// What a job emits at its first barrier goes through all of its fragments; a job that starts to read it with
// the same barrier sees only what comes after.
func TestRowsOfTheFirstBarrier(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		w := quiet(t)
		keep := func(id JobID, from Input) *Fragment {
			arr := w.store.Arrangement(storage.TableID(id))
			return &Fragment{ID: 2, Parallel: 1, Types: tableTypes, Inputs: []Input{from}, Root: func(int) (*Node, error) {
				m, err := op.NewMaterialize(op.MaterializeConfig{In: tableTypes, Key: tableKey, Target: arr})
				return &Node{Op: m, In: []*Node{{}}}, err
			}}
		}
		state := func(string) storage.TableID { return 99 }
		first := &Job{ID: 7, Name: "first", StateID: state, Fragments: []*Fragment{
			{ID: 0, Parallel: 1, Types: tableTypes, Root: func(int) (*Node, error) { return &Node{Op: &early{}}, nil }},
			{
				ID: 1, Parallel: parallel, Types: tableTypes,
				Inputs: []Input{{Job: 7, Fragment: 0, Dist: Dist{Kind: ToHash, Cols: []int{0}}}},
			},
			keep(7, Input{Job: 7, Fragment: 1}),
		}}
		second := &Job{ID: 8, Name: "second", StateID: state, Fragments: []*Fragment{keep(8, Input{Job: 7, Fragment: -1})}}
		e, err := w.rt.Deploy(context.Background(), Save{}, first, second)
		w.must(err)
		w.await(e)
		snap, err := w.store.Latest()
		w.must(err)
		got := fmt.Sprint(fill(t, snap.Table(7), tableTypes), fill(t, snap.Table(8), tableTypes))
		snap.Release()
		if got != "[1 2 3] []" {
			t.Errorf("parallel %d: %s", parallel, got)
		}
	}
}
