package engine

import (
	"context"
	"fmt"

	"github.com/weirdb/weir/exec/rowerr"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/storage"
)

// Check verifies a data directory that no server has open: what storage.Check does, and that the catalog can be
// read, that the rows of every table and materialized view are rows of it under their keys, that indexes agree
// with their tables, that no state is there that no object has, and that every log record can be decoded. The
// entries of operators' state are checked as bytes: only the operator knows what they mean.
func Check(cfg storage.Config) (*storage.CheckReport, error) {
	var lines []string
	r, err := storage.Check(cfg, storage.Inspector{
		State: func(s *storage.Store, problem func(string)) {
			lines = append(lines, checkContent(s, problem))
		},
		Record: table.CheckRecord,
	})
	if err != nil {
		return nil, err
	}
	r.Checked = append(r.Checked, lines...)
	return r, nil
}

func checkContent(s *storage.Store, problem func(string)) string {
	cat, err := checkpointCatalog(s) // a store that is only read has no log; what its records define has no rows here
	if err != nil {
		problem(err.Error())
		return "the catalog cannot be read"
	}
	sn, err := s.Latest()
	if err != nil {
		problem(err.Error())
		return "nothing can be read"
	}
	defer sn.Release()
	known := map[storage.TableID]bool{storage.TableID(table.SequencesID): true}
	relations, rows, states := 0, int64(0), 0
	for _, r := range append(cat.Sorted(), table.SequencesRelation()) {
		for _, id := range table.Tables(r) {
			known[id] = true
		}
		switch r.Kind {
		case catalog.Table, catalog.MatView, catalog.Index:
			relations++
			rows += table.New(s, table.NewLocks(), r).Check(sn, problem)
		}
	}
	for _, r := range cat.Sorted() {
		if r.Kind == catalog.Table && !r.HasConnector() {
			continue // its further tables are its indexes
		}
		for name, id := range r.StateTables {
			states++
			if name == RowErrorsState {
				err := rowerr.Each(sn.Table(storage.TableID(id)), func(rowerr.Entry) error { return nil })
				if err != nil {
					problem(fmt.Sprintf("row errors of %s %s: %s", r.Kind, r.Name, err))
				}
				continue
			}
			st, err := s.StateTable(storage.TableID(id))
			if err == nil {
				err = st.Scan(nil, func(_, _ []byte) error { return nil })
			}
			if err != nil {
				problem(fmt.Sprintf("state %s of %s %s: %s", name, r.Kind, r.Name, err))
			}
		}
	}
	ids, err := s.Tables()
	if err != nil {
		problem(err.Error())
	}
	left := 0
	for _, id := range ids {
		if !known[id] {
			left++
		}
	}
	line := fmt.Sprintf("checkpoint %d: %d relations in the catalog, %d tables and materialized views with %d rows, %d state tables",
		s.Checkpoint().Epoch, len(cat.Sorted()), relations, rows, states)
	if left > 0 {
		// An unfinished CREATE leaves some; the next start removes them.
		line += fmt.Sprintf("; %d tables belong to nothing and go at the next start", left)
	}
	return line
}

// Backup makes a backup in dir of everything that was acknowledged before the call, at one epoch.
func (i *Incarnation) Backup(ctx context.Context, dir string) (storage.BackupInfo, error) {
	if err := i.RT.WaitDurable(ctx, i.RT.Open()); err != nil {
		return storage.BackupInfo{}, i.explain(err)
	}
	return i.Store.Backup(dir)
}
