package syscat

import (
	"maps"
	"slices"
	"time"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// Job is what weir_jobs shows of a job besides its relation.
type Job struct {
	// State is running, restarting, stalled or backfilling; LastError the last failure, also of a job that runs again, and
	// Attempts how often it has failed in a row.
	State     string
	LastError string
	Attempts  int
	// Restarts counts those since the server was started.
	Restarts int64
	// Since is when it came into its state.
	Since time.Time
	// Failover names its failover strategy.
	Failover string
	// Filled is the number of rows that were read to fill it, while it is backfilling.
	Filled int64
	// New is the relation of a job that is being created, and so in no catalog yet.
	New *catalog.Relation
}

// Actor is a row of weir_actors.
type Actor struct {
	ID              uint64
	Job             catalog.ID
	JobName         string
	Fragment, Index int
	// Attempt is 1 at first, and one more after each restart of the job.
	Attempt int64
	State   string
	// Passed is the newest epoch whose barrier it has passed, 0 for none.
	Passed       uint64
	QueuedChunks int
	QueuedBytes  int64
	// WaitsFor is empty if it has something to do.
	WaitsFor string
}

// Operator is a row of weir_fragments.
type Operator struct {
	Job      catalog.ID
	JobName  string
	Fragment int
	Name     string
	// Actors is how many instances it has.
	Actors          int
	RowsIn, RowsOut int64
	Busy            time.Duration
}

// Memory is a row of weir_memory.
type Memory struct {
	Part string
	// Bytes and Limit are -1 where there is no figure.
	Bytes, Limit int64
}

// Checkpoint is a row of weir_checkpoints.
type Checkpoint struct {
	Epoch       uint64
	Kind, State string
	// Start is zero if it is not known.
	Start time.Time
	// Duration, Bytes and what follows are -1 if not known.
	Duration                            time.Duration
	Bytes, Aligned, Buffered, Spilled   int64
	SlowestActor, WaitsFor, Kept, Error string
}

func outsideRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "weir_jobs", view: true, cols: `
			id oid, schema name, name name, kind text, owner name, parallelism int4, state text, problem text,
			since timestamptz, attempts int4, restarts int8, last_error text, failover text, rows_filled int8,
			row_errors int8, late_rows int8, query text`, rows: jobRows},
		{schema: pgCatalog, name: "weir_actors", view: true, cols: `
			id int8, job oid, job_name name, fragment int4, index int4, attempt int8, state text, epoch int8,
			queued_chunks int4, queued_bytes int8, waits_for text`, rows: actorRows},
		{schema: pgCatalog, name: "weir_fragments", view: true, cols: `
			job oid, job_name name, fragment int4, operator text, actors int4, rows_in int8, rows_out int8, busy_ms float8`, rows: fragmentRows},
		{schema: pgCatalog, name: "weir_memory", view: true, cols: `part text, bytes int8, limit_bytes int8`, rows: memoryRows},
		{schema: pgCatalog, name: "weir_checkpoints", view: true, cols: `
			id int8, kind text, state text, started timestamptz, duration_ms float8, bytes int8, aligned_bytes int8,
			buffered_bytes int8, spilled_bytes int8, slowest_actor text, waits_for text, kept text, error text`, rows: checkpointRows},
	}
}

// jobRows lists what runs: materialized views, sinks, and tables that a connector fills or that have a watermark; and those
// that are being created.
func jobRows(c *content) {
	c.columns("id", "schema", "name", "kind", "owner", "parallelism", "state", "problem", "since", "attempts", "restarts",
		"last_error", "failover", "rows_filled", "row_errors", "late_rows", "query")
	jobs := map[catalog.ID]Job{}
	if c.env.Jobs != nil {
		jobs = c.env.Jobs()
	}
	add := func(r *catalog.Relation, j Job) {
		state, problem, errs, late := c.env.state(r)
		if j.State != "" && state == "running" {
			state = j.State
		}
		if j.State == "restarting" && problem == nil {
			problem = orNull(j.LastError)
		}
		var filled any
		if j.State == "backfilling" {
			filled = j.Filled
		}
		c.add(r.ID, r.Schema, r.Name, kindWords(r.Kind), ownerName(r.Owner), r.Parallelism, state, problem, timestamp(j.Since),
			j.Attempts, j.Restarts, orNull(j.LastError), orNull(j.Failover), filled, errs, late, orNull(r.Query))
	}
	for _, r := range c.cat.Sorted() {
		switch {
		case r.Kind == catalog.MatView, r.Kind == catalog.Index, r.Kind == catalog.Sink, r.Kind == catalog.Table && (r.HasConnector() || r.Watermark != nil):
			add(r, jobs[r.ID])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		if j := jobs[id]; j.New != nil && c.cat.RelationByID(id) == nil {
			add(j.New, j)
		}
	}
}

func actorRows(c *content) {
	if c.env.Actors == nil {
		return
	}
	c.columns("id", "job", "job_name", "fragment", "index", "attempt", "state", "epoch", "queued_chunks", "queued_bytes", "waits_for")
	for _, a := range c.env.Actors() {
		var epoch any
		if a.Passed > 0 {
			epoch = int64(a.Passed)
		}
		c.add(int64(a.ID), a.Job, a.JobName, a.Fragment, a.Index, a.Attempt, a.State, epoch, a.QueuedChunks, a.QueuedBytes, orNull(a.WaitsFor))
	}
}

func fragmentRows(c *content) {
	if c.env.Operators == nil {
		return
	}
	c.columns("job", "job_name", "fragment", "operator", "actors", "rows_in", "rows_out", "busy_ms")
	for _, o := range c.env.Operators() {
		c.add(o.Job, o.JobName, o.Fragment, o.Name, o.Actors, o.RowsIn, o.RowsOut, float64(o.Busy.Microseconds())/1000)
	}
}

func memoryRows(c *content) {
	if c.env.Memory == nil {
		return
	}
	c.columns("part", "bytes", "limit_bytes")
	known := func(n int64) any {
		if n < 0 {
			return nil
		}
		return n
	}
	for _, m := range c.env.Memory() {
		c.add(m.Part, known(m.Bytes), known(m.Limit))
	}
}

func checkpointRows(c *content) {
	if c.env.Checkpoints == nil {
		return
	}
	c.columns("id", "kind", "state", "started", "duration_ms", "bytes", "aligned_bytes", "buffered_bytes", "spilled_bytes",
		"slowest_actor", "waits_for", "kept", "error")
	known := func(n int64) any {
		if n < 0 {
			return nil
		}
		return n
	}
	for _, k := range c.env.Checkpoints() {
		var ms any
		if k.Duration >= 0 {
			ms = float64(k.Duration.Microseconds()) / 1000
		}
		c.add(int64(k.Epoch), k.Kind, k.State, timestamp(k.Start), ms, known(k.Bytes), known(k.Aligned), known(k.Buffered),
			known(k.Spilled), orNull(k.SlowestActor), orNull(k.WaitsFor), orNull(k.Kept), orNull(k.Error))
	}
}

// timestamp gives a timestamptz, NULL for the zero time.
func timestamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return types.DInt(types.FromGoTime(t))
}
