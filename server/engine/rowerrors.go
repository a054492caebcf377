package engine

import (
	"sync"

	"github.com/weirdb/weir/sql/catalog"
)

// rowErrors counts the expressions of jobs that failed on a row, where NULL stands now.
type rowErrors struct {
	mu sync.Mutex
	by map[catalog.ID]*RowErrors
}

// RowErrors is what is known of the failed rows of a job since the server started.
type RowErrors struct {
	Count int64
	// First is the first of the errors.
	First error
	// Late is how many rows were left out because they came later than the watermark.
	Late int64
}

func (r *rowErrors) add(id catalog.ID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[catalog.ID]*RowErrors{}
	}
	e := r.by[id]
	if e == nil {
		e = &RowErrors{}
		r.by[id] = e
	}
	if e.Count == 0 {
		e.First = err
	}
	e.Count++
}

// late counts rows that came too late.
func (r *rowErrors) late(id catalog.ID, rows int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[catalog.ID]*RowErrors{}
	}
	if r.by[id] == nil {
		r.by[id] = &RowErrors{}
	}
	r.by[id].Late += rows
}

// AddLate counts rows that a statement left out because they came later than a table's watermark.
func (i *Incarnation) AddLate(id catalog.ID, rows int64) { i.errs.late(id, rows) }

func (r *rowErrors) forget(id catalog.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.by, id)
}

// RowErrors gives the failed rows of a job.
func (i *Incarnation) RowErrors(id catalog.ID) RowErrors {
	i.errs.mu.Lock()
	defer i.errs.mu.Unlock()
	if e := i.errs.by[id]; e != nil {
		return *e
	}
	return RowErrors{}
}
