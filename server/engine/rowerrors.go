package engine

import (
	"sync"

	"github.com/weirdb/weir/sql/catalog"
)

// rowErrors counts the expressions of jobs that failed on a row, where NULL stands now.
type rowErrors struct {
	mu sync.Mutex
	by map[catalog.ID]*RowErrors
	// moved are the jobs that have got the id of another one since they were made.
	moved map[catalog.ID]catalog.ID
}

// RowErrors is what is known of the failed rows of a job since the server started.
type RowErrors struct {
	Count int64
	// First is the first of the errors.
	First error
	// Late is how many rows were left out because they came later than the watermark.
	Late int64
}

// of gives what is known of a job; mu is held.
func (r *rowErrors) of(id catalog.ID) *RowErrors {
	if now, ok := r.moved[id]; ok {
		id = now
	}
	if r.by == nil {
		r.by = map[catalog.ID]*RowErrors{}
	}
	e := r.by[id]
	if e == nil {
		e = &RowErrors{}
		r.by[id] = e
	}
	return e
}

// move says that a job has another id from now on, under which nothing but what it did counts.
func (r *rowErrors) move(from, to catalog.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.of(from)
	delete(r.by, from)
	r.by[to] = e
	if r.moved == nil {
		r.moved = map[catalog.ID]catalog.ID{}
	}
	r.moved[from] = to
}

func (r *rowErrors) add(id catalog.ID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.of(id)
	if e.Count == 0 {
		e.First = err
	}
	e.Count++
}

// late counts rows that came too late.
func (r *rowErrors) late(id catalog.ID, rows int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(id).Late += rows
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
