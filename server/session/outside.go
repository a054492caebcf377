package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// What weir_jobs, weir_actors and weir_checkpoints show.

func jobs(inc *engine.Incarnation) map[catalog.ID]syscat.Job {
	out := map[catalog.ID]syscat.Job{}
	for _, j := range inc.JobInfos() {
		s := syscat.Job{
			State: string(j.State), Attempts: j.Attempts, Restarts: j.Restarts, Since: j.Since, Failover: j.Strategy, Filled: j.Read,
		}
		if j.Err != nil {
			s.LastError = sqlerr.From(j.Err).Message
		}
		if j.Filling {
			s.State = "backfilling"
			s.New = j.Rel
		}
		out[j.Rel.ID] = s
	}
	return out
}

func actors(inc *engine.Incarnation) []syscat.Actor {
	restarts := map[catalog.ID]int64{}
	down := map[catalog.ID]bool{}
	for _, j := range inc.JobInfos() {
		restarts[j.Rel.ID] = j.Restarts
		down[j.Rel.ID] = j.Restarting()
	}
	var out []syscat.Actor
	for _, a := range inc.Actors() {
		id := catalog.ID(a.Job)
		attempt := restarts[id] + 1
		if down[id] {
			// The restart is counted when it is over.
			attempt++
		}
		out = append(out, syscat.Actor{
			ID: uint64(a.ID), Job: id, JobName: a.JobName, Fragment: a.Fragment, Index: a.Index, Attempt: attempt, State: a.State, Passed: uint64(a.Passed),
			QueuedChunks: a.QueuedChunks, QueuedBytes: a.QueuedBytes, WaitsFor: a.WaitsFor,
		})
	}
	return out
}

func operators(inc *engine.Incarnation) []syscat.Operator {
	var out []syscat.Operator
	for _, o := range inc.Operators() {
		out = append(out, syscat.Operator{
			Job: catalog.ID(o.Job), JobName: o.JobName, Fragment: o.Fragment, Name: o.Name, Actors: o.Actors, RowsIn: o.RowsIn, RowsOut: o.RowsOut,
			Busy: o.Busy,
		})
	}
	return out
}

func memory(inc *engine.Incarnation) []syscat.Memory {
	var out []syscat.Memory
	for _, m := range inc.Memory() {
		out = append(out, syscat.Memory{Part: m.Part, Bytes: m.Bytes, Limit: m.Limit})
	}
	return out
}

// checkpoints joins what is known of the newest checkpoints with what is on disk.
func checkpoints(inc *engine.Incarnation) []syscat.Checkpoint {
	recs, stored, fallbacks := inc.Checkpoints()
	var out []syscat.Checkpoint
	at := map[storage.Epoch]int{}
	for _, r := range recs {
		if r.State == flow.CheckpointCommitted {
			at[r.Epoch] = len(out)
		}
		var waiting []string
		for _, a := range r.Waiting {
			waiting = append(waiting, a.String())
		}
		k := syscat.Checkpoint{
			Epoch: uint64(r.Epoch), Kind: r.Kind.String(), State: string(r.State), Start: r.Start, Duration: r.Duration, Bytes: r.Bytes,
			Aligned: r.Aligned, Buffered: r.Buffered, Spilled: r.Spilled, SlowestActor: r.Slowest.String(),
			WaitsFor: strings.Join(waiting, ", "), Error: r.Problem,
		}
		if r.State != flow.CheckpointCommitted {
			k.Bytes = -1
		}
		if r.State == flow.CheckpointInFlight {
			k.Aligned, k.Buffered, k.Spilled = -1, -1, -1
		}
		out = append(out, k)
	}
	for _, s := range stored {
		if s.Epoch == 0 && s.Kind == storage.CheckpointNewest {
			continue // there is none yet
		}
		if i, ok := at[s.Epoch]; ok && s.Kind != storage.CheckpointSetAside {
			// The newest may be retained already.
			if out[i].Kept != "" {
				out[i].Kept += ", "
			}
			out[i].Kept += string(s.Kind)
			continue
		}
		k := syscat.Checkpoint{
			Epoch: uint64(s.Epoch), Kind: "checkpoint", State: string(flow.CheckpointCommitted), Start: s.Time, Duration: -1,
			Bytes: -1, Aligned: -1, Buffered: -1, Spilled: -1, Kept: string(s.Kind), Error: s.Reason,
		}
		if s.Reason != "" {
			k.State = "damaged"
		}
		out = append(out, k)
	}
	for _, f := range fallbacks {
		out = append(out, syscat.Checkpoint{
			Epoch: uint64(f.To), Kind: "fallback", State: string(flow.CheckpointCommitted), Duration: -1, Bytes: -1, Aligned: -1, Buffered: -1,
			Spilled: -1, Error: fallbackText(f),
		})
	}
	slices.SortStableFunc(out, func(a, b syscat.Checkpoint) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return out
}

func fallbackText(f storage.Fallback) string {
	if f.From == 0 {
		return fmt.Sprintf("taken in place of a newer one: %s", f.Reason)
	}
	return fmt.Sprintf("taken in place of %d: %s", uint64(f.From), f.Reason)
}
