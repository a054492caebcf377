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
}

func (r *rowErrors) add(id catalog.ID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[catalog.ID]*RowErrors{}
	}
	e := r.by[id]
	if e == nil {
		e = &RowErrors{First: err}
		r.by[id] = e
	}
	e.Count++
}

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
