package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// A sink with transactions that is dropped, step by step:
//
//  1. Its job is removed with the barrier of a checkpoint, at which it prepares its last transaction and hands over its state.
//  2. When the checkpoint is durable, and the job has ended, what its state has prepared is committed, and everything else that was
//     prepared is rolled back, as after a restart.
//  3. The sink leaves the catalog, with its state.
//
// A crash before the third step leaves a sink that goes on: nobody was told that it is gone.

// transactionsOf gives the state table with the transactions of a sink; false if it has none.
func transactionsOf(r *catalog.Relation) (storage.TableID, bool) {
	for name, id := range r.StateTables {
		if r.Kind == catalog.Sink && strings.HasSuffix(name, "/transactions") {
			return storage.TableID(id), true
		}
	}
	return 0, false
}

// retireSinks does the first two steps for those of rels that are sinks with transactions. It tells whether some have stopped
// that ran before.
func (i *Incarnation) retireSinks(rels []*catalog.Relation) (stopped bool, err error) {
	var sinks []*catalog.Relation
	var running []flow.JobID
	for _, r := range rels {
		if _, ok := transactionsOf(r); !ok {
			continue
		}
		if slices.ContainsFunc(rels, func(t *catalog.Relation) bool { return t.ID == r.Into }) {
			continue // its table goes too
		}
		sinks = append(sinks, r)
		if id := flow.JobID(r.ID); i.RT.Has(id) {
			running = append(running, id)
		}
	}
	if len(running) > 0 {
		e, err := i.RT.Remove(i.Ctx, flow.Save{Keep: true}, running...)
		if err != nil {
			return false, err
		}
		if err = i.RT.WaitDurable(i.Ctx, e); err == nil {
			err = i.RT.AwaitEnd(i.Ctx, running...)
		}
		if err != nil {
			return true, err
		}
	}
	for _, r := range sinks {
		if err := i.finishSink(r); err != nil {
			// A sink whose target is gone must go too.
			i.e.cfg.Logger.Warn("a dropped sink leaves transactions that are not finished", "event", "sink_unfinished", "sink", r.Name, "error", err)
		}
	}
	return len(running) > 0, nil
}

// finishSink commits what a sink has prepared that does not run any more.
func (i *Incarnation) finishSink(r *catalog.Relation) (err error) {
	if err := i.try("finish a sink"); err != nil {
		return err
	}
	id, _ := transactionsOf(r)
	st, err := i.Store.StateTable(id)
	if err != nil {
		return err
	}
	var handles [][]byte
	err = st.Scan(nil, func(_, v []byte) error {
		handles = append(handles, bytes.Clone(v))
		return nil
	})
	if err != nil {
		return err
	}
	if r.Into != 0 {
		return i.finishInto(r, handles)
	}
	sink, err := i.sink(r)
	if err != nil {
		return err
	}
	w, err := sink.Open(i.Ctx, sourceColumns(r))
	if err != nil {
		return err
	}
	defer func() {
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}()
	two, ok := w.(exec.TwoPhaseWriter)
	if !ok {
		return fmt.Errorf("the connector of %s has no transactions any more", r.Name)
	}
	return two.Recover(handles)
}
