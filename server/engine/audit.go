package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// What a definition leaves behind must be there everywhere or nowhere: the catalog, the graph, the tables of the store, and what is kept in
// memory about relations. Audit compares them.

// try is where a test can let a step of a definition fail.
func (i *Incarnation) try(step string) error {
	if i.e.cfg.Step == nil {
		return nil
	}
	return i.e.cfg.Step(step)
}

// Audit lists what does not belong to the catalog, or is missing for something in it: jobs, state, and what is kept in memory. It waits for
// definitions under way and for regions that are being restarted, and makes a checkpoint. Views that are being created in the background, and
// subscriptions, must not come or go meanwhile.
func (i *Incarnation) Audit(ctx context.Context) (problems []string, err error) {
	unlock, err := i.LockDDL(ctx, false)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// What was dropped without waiting goes with this checkpoint.
	if err := i.RT.Save(ctx, flow.Save{}); err != nil {
		return nil, i.explain(err)
	}
	a := &audit{i: i, cat: i.Catalog(), rels: map[catalog.ID]bool{table.SequencesID: true}, tables: map[storage.TableID]string{}}
	a.expect()
	a.memory()
	a.graph()
	if err := a.stored(); err != nil {
		return nil, err
	}
	slices.Sort(a.problems)
	return a.problems, nil
}

// hasJob tells whether each relation of a kind has a job, unless it is stalled. Sources have one where somebody reads them.
func hasJob(k catalog.RelKind) bool {
	switch k {
	case catalog.Table, catalog.MatView, catalog.Index, catalog.Sink:
		return true
	}
	return false
}

type audit struct {
	i        *Incarnation
	cat      *catalog.Catalog
	problems []string
	// rels are the ids that something may be kept for, tables those of the store, with their owners.
	rels   map[catalog.ID]bool
	tables map[storage.TableID]string
}

func (a *audit) problem(format string, args ...any) {
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// expect finds what there may be.
func (a *audit) expect() {
	a.tables[storage.TableID(table.SequencesID)] = "sequences"
	own := func(r *catalog.Relation) {
		a.rels[r.ID] = true
		for _, id := range table.Tables(r) {
			if was := a.tables[id]; was != "" {
				a.problem("table %d belongs to %s and to %s", id, was, r.Name)
			}
			a.tables[id] = r.Name
		}
	}
	for _, r := range a.cat.Sorted() {
		own(r)
	}
	a.i.mu.Lock()
	defer a.i.mu.Unlock()
	for id := range a.i.background {
		a.rels[id] = true
	}
	for s := range a.i.subs {
		jobs, tables := s.parts()
		for _, id := range jobs {
			a.rels[catalog.ID(id)] = true
		}
		for _, id := range tables {
			a.tables[id] = "a subscription"
		}
	}
}

func extra[V any](a *audit, what string, m map[catalog.ID]V) {
	for _, id := range slices.Sorted(maps.Keys(m)) {
		if !a.rels[id] {
			a.problem("%s of relation %d, which does not exist", what, id)
		}
	}
}

func (a *audit) memory() {
	i := a.i
	i.mu.Lock()
	extra(a, "a table", i.tables)
	extra(a, "a source", i.sources)
	extra(a, "a problem", i.problems)
	extra(a, "the beginning", i.began)
	extra(a, "a stale mark", i.stale)
	extra(a, "a committer", i.committers)
	for id := range i.dropping {
		a.problem("relation %d is still being dropped", id)
	}
	for id := range i.replacing {
		a.problem("relation %d is still being replaced", id)
	}
	for id := range i.creating {
		if !a.rels[id] || a.cat.RelationByID(id) != nil {
			a.problem("relation %d is still being created", id)
		}
	}
	for _, r := range a.cat.Sorted() {
		if r.Kind == catalog.Table && i.tables[r.ID] == nil && i.e.Stalled(a.cat, r.ID) == nil {
			a.problem("table %s is not open", r.Name)
		}
	}
	for id := range a.cat.Pending {
		if i.background[id] == nil {
			a.problem("nobody fills pending view %d", id)
		}
	}
	for id, b := range i.background {
		if b.err == nil && a.cat.Pending[id] == nil {
			a.problem("view %d is filled in the background, but not pending", id)
		}
	}
	i.mu.Unlock()

	i.errs.mu.Lock()
	extra(a, "a count of late rows", i.errs.lateRows)
	for id := range i.errs.logs {
		if a.tables[storage.TableID(id)] == "" {
			a.problem("a log of row errors with state %d, which nothing has", id)
		}
	}
	i.errs.mu.Unlock()

	i.e.foMu.Lock()
	defer i.e.foMu.Unlock()
	extra(a, "a failure", i.e.stalled)
}

func (a *audit) graph() {
	i := a.i
	running := i.RT.Jobs()
	for _, id := range running {
		r := a.cat.RelationByID(catalog.ID(id))
		switch {
		case !a.rels[catalog.ID(id)]:
			a.problem("job %d runs and belongs to nothing", id)
		case r != nil && r.Kind != catalog.Source && !hasJob(r.Kind):
			a.problem("%s %s has a job", r.Kind, r.Name)
		case r != nil && i.e.Stalled(a.cat, r.ID) != nil:
			a.problem("the job of %s runs, which is stalled", r.Name)
		}
	}
	for _, r := range a.cat.Sorted() {
		want := hasJob(r.Kind) && i.e.Stalled(a.cat, r.ID) == nil || r.Kind == catalog.Source && i.needed(a.cat, r.ID)
		if want && !slices.Contains(running, flow.JobID(r.ID)) {
			a.problem("the job of %s %s does not run", r.Kind, r.Name)
		}
	}
	for _, s := range i.Jobs() {
		if s.State == failover.StateRestarting {
			a.problem("job %d is being restarted", s.ID)
		}
	}
}

func (a *audit) stored() error {
	i := a.i
	ids, err := i.Store.Tables()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if a.tables[id] == "" {
			a.problem("stored state %d belongs to nothing", id)
		}
	}
	for _, id := range i.Store.Arrangements() {
		if a.tables[id] == "" {
			a.problem("arrangement %d belongs to nothing", id)
		}
	}
	stale := map[catalog.ID]bool{}
	err = i.Store.ScanMeta([]byte(stalePrefix), func(k, _ []byte) error {
		var id catalog.ID
		if _, err := fmt.Sscan(strings.TrimPrefix(string(k), stalePrefix), &id); err != nil {
			return err
		}
		stale[id] = true
		return nil
	})
	if err != nil {
		return err
	}
	extra(a, "a durable stale mark", stale)
	i.mu.Lock()
	for id := range i.stale {
		if r := a.cat.RelationByID(id); !stale[id] && (r == nil || r.Stale == "") {
			a.problem("relation %d is stale, which a restart would not know", id)
		}
	}
	for id := range stale {
		if i.stale[id] == "" {
			a.problem("relation %d is stale only after a restart", id)
		}
	}
	i.mu.Unlock()
	return i.seqs.Each(func(id catalog.ID) {
		if !a.rels[id] {
			a.problem("a sequence of relation %d, which does not exist", id)
		}
	})
}
