package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// What operators of a server see: system views and metrics are made of this.

// JobInfo is how a job is.
type JobInfo struct {
	// Rel is its relation; for one that is being created, as it will be.
	Rel *catalog.Relation
	failover.Status
	// Filling: the statement that creates it waits until it has what its inputs have. Read is the number of rows that
	// were read for that so far.
	Filling bool
	Read    int64
	// Restarts is how often it was started again since the server was started.
	Restarts int64
	// Strategy names its failover strategy.
	Strategy string
}

// Restarting tells whether the job is stopped and about to run again.
func (j JobInfo) Restarting() bool { return j.State == failover.StateRestarting }

// JobInfos tells how all jobs are, by id, those that are being created included.
func (i *Incarnation) JobInfos() []JobInfo {
	cat := i.Catalog()
	byID := map[catalog.ID]JobInfo{}
	i.mu.Lock()
	for id, c := range i.creating {
		if c.rel == nil || c.rel.ID != id || cat.RelationByID(id) != nil {
			continue
		}
		info := JobInfo{Rel: c.rel, Filling: true, Status: failover.Status{Since: c.since}}
		if c.prog != nil {
			info.Read = c.prog.read()
		}
		byID[id] = info
	}
	began := maps.Clone(i.began)
	i.mu.Unlock()
	for _, s := range i.Jobs() {
		info := JobInfo{Rel: cat.RelationByID(s.ID), Status: s.Status}
		if info.Rel == nil {
			continue
		}
		if info.Since.IsZero() {
			if info.Since = began[s.ID]; info.Since.IsZero() {
				info.Since = i.started
			}
		}
		byID[s.ID] = info
	}
	i.e.foMu.Lock()
	defer i.e.foMu.Unlock()
	var out []JobInfo
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		info := byID[id]
		info.Restarts = i.e.restarted[id]
		if info.Strategy = info.Rel.Failover; info.Strategy == "" {
			info.Strategy = failover.Region
			if s := i.e.cfg.Failover.Strategy; s != nil {
				info.Strategy = s.Name()
			}
		}
		out = append(out, info)
	}
	return out
}

// Checkpoints tells of the newest checkpoints and the barriers in flight, by epoch; of the checkpoints that are on disk, the
// newest first; and of the times since the start that the newest one could not be used.
func (i *Incarnation) Checkpoints() ([]flow.CheckpointRecord, []storage.StoredCheckpoint, []storage.Fallback) {
	i.e.mu.Lock()
	fallbacks := slices.Clone(i.e.fallbacks)
	i.e.mu.Unlock()
	return i.RT.Checkpoints(), i.Store.Checkpoints(), fallbacks
}

// keptFallbacks bounds how many fallbacks are remembered.
const keptFallbacks = 100

// noteFallback remembers what opening the store had to do.
func (e *Engine) noteFallback(f *storage.Fallback) {
	if f == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fallbackCount++
	if e.fallbacks = append(e.fallbacks, *f); len(e.fallbacks) > keptFallbacks {
		e.fallbacks = slices.Delete(e.fallbacks, 0, 1)
	}
}

// noteRestartLocked counts the restart of jobs; foMu is held.
func (e *Engine) noteRestartLocked(jobs []catalog.ID) {
	for _, id := range jobs {
		e.restarted[id]++
	}
}

// show says what is being created, for system views.
func (i *Incarnation) show(c *creation, rel *catalog.Relation, prog *progress) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c.rel, c.prog, c.since = rel, prog, time.Now()
}

// beganLocked notes when a job was there; i.mu is held.
func (i *Incarnation) beganLocked(id catalog.ID) { i.began[id] = time.Now() }

func (p *progress) read() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows
}

// JobRestarts is a count of restarts.
type JobRestarts struct {
	Job      string
	Restarts int64
}

// jobStats counts jobs, for metrics.
func (e *Engine) jobStats(inc *Incarnation) (restarts []JobRestarts, stalled int) {
	for _, j := range inc.JobInfos() {
		if j.State == failover.StateStalled {
			stalled++
		}
		if j.Restarts > 0 {
			restarts = append(restarts, JobRestarts{j.Rel.Schema + "." + j.Rel.Name, j.Restarts})
		}
	}
	return restarts, stalled
}
