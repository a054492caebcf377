package engine

import "github.com/weirdb/weir/checkpoint"

// Stats is what the engine tells of itself.
type Stats struct {
	Marks        checkpoint.Marks
	Jobs, Actors int
	// Recoveries counts the incarnations after the first, Restarts the regions that were started again by
	// themselves.
	Recoveries, Restarts int64
}

// Stats gives the present figures; zeros while a recovery is under way.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	inc, n := e.cur, e.recoveries
	e.mu.Unlock()
	s := Stats{Recoveries: n, Restarts: e.restarts.Load()}
	if inc != nil {
		s.Marks = inc.RT.Marks()
		s.Actors, s.Jobs = inc.RT.Running()
	}
	return s
}

// Ready tells whether the engine serves; it does not while it recovers.
func (e *Engine) Ready() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cur != nil
}
