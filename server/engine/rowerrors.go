package engine

import (
	"fmt"
	"sync"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/rowerr"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// RowErrorsState is the name of the state table with the row errors of a job. It is an arrangement: it is read at an epoch.
const RowErrorsState = "row_errors"

// rowErrors has what jobs leave out or cannot compute: the logs of their row errors, and how many rows came late.
type rowErrors struct {
	mu sync.Mutex
	// logs are those of jobs that run, by the ids of their states.
	logs map[uint32]*rowerr.Log
	// lateRows counts by job since the server's start. moved are the jobs that have got the id of another one since they
	// were made.
	lateRows map[catalog.ID]int64
	moved    map[catalog.ID]catalog.ID
}

func (r *rowErrors) set(state uint32, l *rowerr.Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logs == nil {
		r.logs = map[uint32]*rowerr.Log{}
	}
	r.logs[state] = l
}

// log gives the log of the relation's job; nil: it does not run.
func (r *rowErrors) log(rel *catalog.Relation) *rowerr.Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs[rel.StateTables[RowErrorsState]]
}

// late counts rows that came too late.
func (r *rowErrors) late(job catalog.ID, rows int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now, ok := r.moved[job]; ok {
		job = now
	}
	if r.lateRows == nil {
		r.lateRows = map[catalog.ID]int64{}
	}
	r.lateRows[job] += rows
}

// move says that a job has another id from now on, under which nothing but what it did counts.
func (r *rowErrors) move(from, to catalog.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lateRows == nil {
		r.lateRows = map[catalog.ID]int64{}
	}
	r.lateRows[to] = r.lateRows[from]
	delete(r.lateRows, from)
	if r.moved == nil {
		r.moved = map[catalog.ID]catalog.ID{}
	}
	r.moved[from] = to
}

// forgetStates forgets the log of a job that is gone, or has another state now.
func (r *rowErrors) forgetStates(ids *stateIDs) {
	if id, ok := ids.all()[RowErrorsState]; ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.logs, id)
	}
}

// forget forgets a relation that was dropped.
func (r *rowErrors) forget(rel *catalog.Relation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lateRows, rel.ID)
	delete(r.logs, rel.StateTables[RowErrorsState])
}

// AddLate counts rows that a statement left out because they came later than a table's watermark.
func (i *Incarnation) AddLate(id catalog.ID, rows int64) { i.errs.late(id, rows) }

// LateRows is how many rows a job has left out since the server's start because they came later than the watermark.
func (i *Incarnation) LateRows(id catalog.ID) int64 {
	i.errs.mu.Lock()
	defer i.errs.mu.Unlock()
	return i.errs.lateRows[id]
}

// RowErrors is how many row errors the job of a relation has in the newest epoch.
func (i *Incarnation) RowErrors(rel *catalog.Relation) int64 {
	if l := i.errs.log(rel); l != nil {
		return l.Total()
	}
	return 0
}

// RowErrorsAt opens the row errors of a relation's job at a snapshot; nil: there are none.
func (i *Incarnation) RowErrorsAt(snap *storage.Snapshot, rel *catalog.Relation) *storage.Version {
	id, ok := rel.StateTables[RowErrorsState]
	if !ok {
		return nil
	}
	if l := i.errs.log(rel); l != nil && !l.Ever() {
		return nil
	}
	return snap.Table(storage.TableID(id))
}

// keepRowErrors makes the job j of r keep its row errors. Its fragments are complete. A relation that was created by a
// version without them ignores what fails.
func (i *Incarnation) keepRowErrors(j *flow.Job, r *catalog.Relation, ids *stateIDs, describe func(fragment int, op string, site int) rowerr.Site) error {
	if !ids.has(RowErrorsState) {
		j.RowErrors = func() flow.RowErrors { return ignored{} }
		return nil
	}
	id := ids.id(RowErrorsState)
	arr := i.Store.Arrangement(id)
	arr.SetWriters(1)
	cfg := rowerr.Config{Arrangement: arr, Describe: describe, Strict: r.Kind == catalog.Sink && r.OnError == catalog.OnErrorFail}
	for _, f := range j.Fragments {
		if f.Root != nil {
			cfg.Actors += f.Parallel
		}
	}
	l, err := rowerr.New(cfg)
	if err != nil {
		return fmt.Errorf("row errors of %s: %w", r.Name, err)
	}
	i.errs.set(uint32(id), l)
	j.RowErrors = func() flow.RowErrors { return l.Writer() }
	j.SkipFailed = r.OnError == catalog.OnErrorSkip
	return nil
}

// ignored ignores row errors.
type ignored struct{}

func (ignored) Failed(int, string, exec.RowFailure) error { return nil }
func (ignored) Barrier(exec.Barrier) error                { return nil }

// describePlan describes what fails in a job by the nodes of its plan.
func describePlan(stream *plan.Stream) func(fragment int, op string, site int) rowerr.Site {
	nodes := sync.OnceValue(func() map[string]plan.Node {
		out := map[string]plan.Node{}
		for n, name := range build.StateNames(stream) {
			out[name] = n
		}
		return out
	})
	return func(fragment int, op string, site int) rowerr.Site {
		n := nodes()[fmt.Sprintf("%d/%s", fragment, op)]
		if n == nil {
			return rowerr.Site{Operator: op}
		}
		var s rowerr.Site
		s.Operator, s.Expression, s.Columns = plan.Site(n, site)
		return s
	}
}

// describeTable describes what fails in a table that a connector fills: columns that must have a value and do not.
func describeTable(r *catalog.Relation) func(fragment int, op string, site int) rowerr.Site {
	var names []string
	for _, c := range r.Columns {
		if c.Hidden {
			names = append(names, "")
		} else {
			names = append(names, c.Name)
		}
	}
	return func(_ int, _ string, site int) rowerr.Site {
		return rowerr.Site{Operator: "Table", Expression: names[site], Columns: names}
	}
}
