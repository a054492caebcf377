package engine

import (
	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// Guesses of the rows of relations that cannot be asked, and the least guess: a plan is not to depend on the difference between small relations.
const (
	rowsOfSystem = 500
	rowsOfSource = 1_000_000
	rowsAtLeast  = 64
)

// EstimatedRows guesses the number of rows of a relation, for the order of joins.
func (i *Incarnation) EstimatedRows(rel *catalog.Relation) float64 {
	switch {
	case rel.Made():
		return rowsOfSystem
	case rel.Kind == catalog.Source:
		if n, _ := i.SourceRows(rel); n > 0 {
			return float64(n)
		}
		return rowsOfSource
	}
	snap, err := i.Store.Latest()
	if err != nil {
		return rowsAtLeast
	}
	defer snap.Release()
	n, err := snap.Table(storage.TableID(rel.Rows())).EstimateRows(nil, nil)
	if err != nil {
		return rowsAtLeast
	}
	return max(rowsAtLeast, float64(n))
}

// Stats is what the engine tells of itself.
type Stats struct {
	Marks        checkpoint.Marks
	Jobs, Actors int
	// Recoveries counts the incarnations after the first, Restarts the regions that were started again by
	// themselves.
	Recoveries, Restarts int64
	// Checkpoints counts those since the start.
	Checkpoints flow.CheckpointTotals
	// InFlight is the number of barriers in flight.
	InFlight int
	// JobRestarts has the jobs that were started again; Stalled is the number of those that stand still.
	JobRestarts []JobRestarts
	// LateRows has the relations that left out late rows.
	LateRows []LateRows
	Stalled  int
	// Queued are the bytes in the queues of all actors.
	Queued int64
	// Retained is the number of checkpoints that can be gone back to; Fallbacks counts the times since the start that
	// this was necessary.
	Retained  int
	Fallbacks int64
}

// LateRows counts the rows that a relation left out because they came later than the watermark.
type LateRows struct {
	Relation string
	Rows     int64
}

// Stats gives the present figures; those of the dataflow are zeros while a recovery is under way.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	inc, s := e.cur, Stats{Recoveries: e.recoveries, Fallbacks: e.fallbackCount}
	e.mu.Unlock()
	s.Restarts = e.restarts.Load()
	s.Checkpoints, s.InFlight = e.history.Totals()
	if inc == nil || !inc.enter() {
		return s
	}
	defer inc.leave()
	s.Marks = inc.RT.Marks()
	s.Actors, s.Jobs = inc.RT.Running()
	return s
}

// AllStats is Stats with what takes a look at every job, actor and stored checkpoint.
func (e *Engine) AllStats() Stats {
	s := e.Stats()
	e.mu.Lock()
	inc := e.cur
	e.mu.Unlock()
	if inc == nil || !inc.enter() {
		return s
	}
	defer inc.leave()
	s.JobRestarts, s.Stalled = e.jobStats(inc)
	cat := inc.Catalog()
	for _, r := range cat.Sorted() {
		if n := inc.LateRows(r.ID); n > 0 {
			s.LateRows = append(s.LateRows, LateRows{Relation: r.Name, Rows: n})
		}
	}
	for _, a := range inc.RT.Actors() {
		s.Queued += a.QueuedBytes
	}
	for _, c := range inc.Store.Checkpoints() {
		if c.Kind == storage.CheckpointRetained {
			s.Retained++
		}
	}
	return s
}

// Ready tells whether the engine serves; it does not while it recovers.
func (e *Engine) Ready() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cur != nil
}
