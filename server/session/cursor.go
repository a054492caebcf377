package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// scrolling is what a cursor can do besides going forward.
type scrolling uint8

const (
	// scrollIfNeeded keeps no rows until somebody goes back: then the query runs again from its start, on the
	// same snapshot, and its rows are kept from there on.
	scrollIfNeeded scrolling = iota
	// scrollNever refuses to go back.
	scrollNever
	// scrollAlways keeps all rows from the start.
	scrollAlways
)

// cursor is a query whose rows are computed as they are fetched: one of DECLARE, or a portal of the protocol that is
// executed bit by bit. It sees what was there when it was opened.
//
// The position is that of PostgreSQL: 0 is before the first row, i on row i, and one more than there are rows
// behind the last one.
type cursor struct {
	s       *session
	name    string
	columns []pgwire.Column
	types   []types.Type
	scroll  scrolling
	binary  bool
	held    bool
	created time.Time

	// mu is held while rows are fetched, and while what the cursor holds is given back, which an idle one has
	// done to it by another goroutine when the dataflow ends.
	mu sync.Mutex
	// run runs the query again from its start; nil once what it needs is given back.
	run     func(emit func(*vec.Chunk) error) error
	release func()
	// cancel ends the query that runs.
	cancel context.CancelCauseFunc
	next   func() (*vec.Chunk, error, bool)
	stop   func()
	// chunks are rows first+1, first+2, ...; ends has the number of the last row of each.
	chunks []*vec.Chunk
	ends   []int64
	first  int64
	// done: all rows have been seen; there are total of them.
	done  bool
	total int64
	pos   int64
	// broken: an error ended it.
	broken bool
	// mem is for the rows that are kept, bytes.
	mem   *exec.Account
	bytes int64
}

var errCursorClosed = errors.New("cursor closed")

// openCursor makes a cursor on a plan without parameters.
func (s *session) openCursor(ctx context.Context, t *tx, p *prepared, b *plan.Batch, scroll scrolling) (*cursor, error) {
	if err := checkStalled(t, b.Relations); err != nil {
		return nil, err
	}
	snap, release, err := s.snapshotFor(ctx, t, b.Relations)
	if err != nil {
		return nil, err
	}
	if err := s.checkRelations(t, snap, b.Relations); err != nil {
		release()
		return nil, err
	}
	r := &reader{s: s, t: t, snap: snap, env: s.execEnv(t)}
	r.fix(b.Relations)
	point := b.Point != nil && t.writes.Empty()
	c := &cursor{s: s, columns: p.columns, types: columnTypes(p), scroll: scroll, created: s.now(), release: release}
	qctx, cancel := context.WithCancelCause(t.inc.Ctx)
	c.cancel = cancel
	c.mem = t.inc.QueryMemory().Account()
	c.run = func(emit func(*vec.Chunk) error) error {
		if point {
			return r.point(b.Point, emit)
		}
		root, err := build.Batch(b.Root, r, r.env)
		if err != nil {
			return err
		}
		return batch.Run(r.context(qctx), root, emit)
	}
	t.open = append(t.open, c)
	return c, nil
}

// fix makes the reader see what the transaction has changed so far, whatever it changes later.
func (r *reader) fix(rels []*catalog.Relation) {
	r.fixed = map[catalog.ID]*btree.Map[string, table.Row]{}
	for _, rel := range rels {
		if own := r.changed(rel); own != nil {
			r.fixed[rel.ID] = own.Copy()
		}
	}
}

// start starts the query from its first row.
func (c *cursor) start() {
	if c.stop != nil {
		c.stop()
	}
	c.chunks, c.ends, c.first, c.done, c.total, c.bytes = nil, nil, 0, false, 0, 0
	run := c.run
	c.next, c.stop = iter.Pull2(func(yield func(*vec.Chunk, error) bool) {
		err := run(func(ch *vec.Chunk) error {
			if !yield(ch, nil) {
				return errCursorClosed
			}
			return nil
		})
		if err != nil && !errors.Is(err, errCursorClosed) {
			yield(nil, err)
		}
	})
}

// keeps tells whether rows that were passed are kept.
func (c *cursor) keeps() bool { return c.scroll == scrollAlways }

// pull gets one more chunk; false if there is none.
func (c *cursor) pull() (bool, error) {
	if c.done {
		return false, nil
	}
	if c.next == nil {
		c.start()
	}
	ch, err, ok := c.next()
	if err != nil {
		c.broken = true
		return false, err
	}
	if !ok {
		c.done = true
		c.total = c.last()
		return false, nil
	}
	last := c.last()
	if c.keeps() {
		ch = ch.Clone()
	} else {
		c.first, c.chunks, c.ends = last, c.chunks[:0], c.ends[:0]
	}
	c.chunks, c.ends = append(c.chunks, ch), append(c.ends, last+int64(ch.Len()))
	if c.keeps() {
		c.bytes += int64(ch.Bytes())
		if err := c.mem.Set(c.bytes, 0); err != nil {
			c.broken = true
			return false, err
		}
	}
	return true, nil
}

// last is the number of the last row that was computed.
func (c *cursor) last() int64 {
	if len(c.ends) == 0 {
		return c.first
	}
	return c.ends[len(c.ends)-1]
}

// forward goes n rows forward, and gives the chunks with them to emit; it gives how many there were.
func (c *cursor) forward(n int64, emit func(ch *vec.Chunk, lo, hi int) error) (int64, error) {
	if n <= 0 || c.done && c.pos > c.total {
		return 0, nil
	}
	got := int64(0)
	for got < n {
		if c.pos >= c.last() {
			ok, err := c.pull()
			if err != nil {
				return got, err
			}
			if !ok {
				c.pos = c.total + 1
				return got, nil
			}
			continue
		}
		k := sort.Search(len(c.ends), func(k int) bool { return c.ends[k] > c.pos })
		ch := c.chunks[k]
		lo := ch.Len() - int(c.ends[k]-c.pos)
		hi := int(min(int64(ch.Len()), int64(lo)+min(n-got, int64(ch.Len()))))
		if err := emit(ch, lo, hi); err != nil {
			return got, err
		}
		got += int64(hi - lo)
		c.pos += int64(hi - lo)
	}
	return got, nil
}

// backward goes n rows back.
func (c *cursor) backward(n int64, emit func(ch *vec.Chunk, lo, hi int) error) (int64, error) {
	if c.scroll == scrollNever {
		return 0, c.onlyForward()
	}
	if err := c.keep(); err != nil {
		return 0, err
	}
	got := int64(0)
	for got < n && c.pos > 0 {
		c.pos--
		if c.pos == 0 {
			break
		}
		k := sort.Search(len(c.ends), func(k int) bool { return c.ends[k] >= c.pos })
		ch := c.chunks[k]
		at := ch.Len() - int(c.ends[k]-c.pos) - 1
		if err := emit(ch, at, at+1); err != nil {
			return got, err
		}
		got++
	}
	return got, nil
}

// keep makes the cursor keep its rows, and have all that it has passed.
func (c *cursor) keep() error {
	if c.scroll == scrollNever || c.keeps() {
		return nil
	}
	c.scroll = scrollAlways
	if c.last() == 0 {
		return nil
	}
	if c.run == nil {
		return fmt.Errorf("cursor %s has no query to go back in", c.name)
	}
	done := c.done
	c.start()
	for c.last() < c.pos || done && !c.done {
		if ok, err := c.pull(); err != nil || !ok {
			return err
		}
	}
	return nil
}

func (c *cursor) onlyForward() error {
	return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").
		WithHint("Declare it with SCROLL option to enable backward scan.")
}

// rewind goes before the first row.
func (c *cursor) rewind() error {
	if c.pos == 0 {
		return nil
	}
	if c.scroll == scrollNever {
		return c.onlyForward()
	}
	if err := c.keep(); err != nil {
		return err
	}
	c.pos = 0
	return nil
}

// onRow tells whether the position is that of a row.
func (c *cursor) onRow() bool { return c.pos > 0 && (!c.done || c.pos <= c.total) }

// fetch does what FETCH or MOVE says; emit gets the rows, and is nil for MOVE. It gives the number of rows.
func (c *cursor) fetch(dir ast.FetchDirection, n int64, emit func(ch *vec.Chunk, lo, hi int) error) (int64, error) {
	none := func(*vec.Chunk, int, int) error { return nil }
	out := emit
	if out == nil {
		out = none
	}
	switch dir {
	case ast.FetchAbsolute:
		switch {
		case n > 0:
			if n-1 < c.pos {
				if n-1 <= c.pos/2 || c.scroll == scrollNever {
					if err := c.rewind(); err != nil {
						return 0, err
					}
				} else if _, err := c.backward(c.pos-n+1, none); err != nil {
					return 0, err
				}
			}
			if _, err := c.forward(n-1-c.pos, none); err != nil {
				return 0, err
			}
			return c.forward(1, out)
		case n < 0:
			if _, err := c.forward(ast.FetchAll, none); err != nil {
				return 0, err
			}
			if _, err := c.backward(-n-1, none); n < -1 && err != nil {
				return 0, err
			}
			return c.backward(1, out)
		}
		return 0, c.rewind()
	case ast.FetchRelative:
		switch {
		case n > 0:
			if _, err := c.forward(n-1, none); err != nil {
				return 0, err
			}
			return c.forward(1, out)
		case n < 0:
			if n < -1 {
				if _, err := c.backward(-n-1, none); err != nil {
					return 0, err
				}
			}
			return c.backward(1, out)
		}
	case ast.FetchBackward:
		if n == ast.FetchAll && emit == nil {
			passed := max(0, c.pos-1)
			return passed, c.rewind()
		}
		if n > 0 {
			return c.backward(n, out)
		}
		n = -n
	}
	switch {
	case n < 0:
		return c.backward(-n, out)
	case n > 0:
		return c.forward(n, out)
	}
	// The present row again.
	if !c.onRow() {
		return 0, nil
	}
	if emit == nil {
		return 1, nil
	}
	if _, err := c.backward(1, none); err != nil {
		return 0, err
	}
	return c.forward(1, out)
}

// use calls f with the query running under ctx.
func (c *cursor) use(ctx context.Context, f func() (int64, error)) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken || c.run == nil && !c.done {
		return 0, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "portal %q cannot be run", c.name)
	}
	if c.cancel != nil {
		cancel := c.cancel
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	}
	n, err := f()
	if err != nil {
		return n, cause(ctx, err)
	}
	return n, nil
}

// fetchInto runs FETCH or MOVE.
func (c *cursor) fetchInto(ctx context.Context, _ *tx, f *ast.Fetch, w pgwire.ResultWriter, formats []pgwire.Format) (int64, error) {
	if len(f.Options) > 0 {
		return 0, sqlerr.New(sqlerr.FeatureNotSupported, f.Options[0].Pos, "FETCH ... WITH is for cursors over SUBSCRIBE")
	}
	var emit func(ch *vec.Chunk, lo, hi int) error
	if !f.Move {
		as := appendersFor(c.types, formats, c.s.typeEnv())
		emit = func(ch *vec.Chunk, lo, hi int) error { return writeRows(w.Rows(), ch, lo, hi, as) }
	}
	return c.use(ctx, func() (int64, error) { return c.fetch(f.Dir, f.Count, emit) })
}

// send writes at most maxRows rows (0: all), as the protocol's Execute does.
func (c *cursor) send(ctx context.Context, w pgwire.ResultWriter, formats []pgwire.Format, maxRows int) (pgwire.Result, error) {
	n := int64(maxRows)
	if maxRows == 0 {
		n = ast.FetchAll
	}
	as := appendersFor(c.types, formats, c.s.typeEnv())
	got, err := c.use(ctx, func() (int64, error) {
		return c.forward(n, func(ch *vec.Chunk, lo, hi int) error { return writeRows(w.Rows(), ch, lo, hi, as) })
	})
	if err != nil {
		return pgwire.Result{}, err
	}
	if maxRows > 0 && got == n {
		// As in PostgreSQL, the portal is suspended even if no row is left.
		return pgwire.Result{Suspended: true}, nil
	}
	return pgwire.Result{Tag: fmt.Sprintf("SELECT %d", got)}, nil
}

// persist computes the rows that are left, so that nothing of the transaction is needed any more.
func (c *cursor) persist(ctx context.Context) error {
	_, err := c.use(ctx, func() (int64, error) {
		never := c.scroll == scrollNever
		if never {
			c.scroll = scrollAlways // the rows that are left are kept, those that are gone are not asked for
			if len(c.chunks) > 0 {
				c.chunks[0] = c.chunks[0].Clone()
			}
		} else if err := c.keep(); err != nil {
			return 0, err
		}
		for {
			if ok, err := c.pull(); err != nil || !ok {
				if never {
					c.scroll = scrollNever
				}
				return 0, err
			}
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detach()
	return err
}

// detach gives back what belongs to the transaction. Callers hold mu.
func (c *cursor) detach() {
	if c.run == nil {
		return
	}
	c.cancel(nil)
	if c.stop != nil {
		c.stop()
		c.next, c.stop = nil, nil
	}
	c.run, c.cancel = nil, nil
	c.release()
}

// strip is detach when the transaction ends, which rows that are left do not survive.
func (c *cursor) strip() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detach()
}

// Columns describes the result.
func (c *cursor) Columns() []pgwire.Column { return c.columns }

// Execute runs the cursor as a portal of the protocol.
func (c *cursor) Execute(ctx context.Context, w pgwire.ResultWriter, maxRows int) (pgwire.Result, error) {
	return c.s.within(ctx, func(ctx context.Context, _ *tx) (pgwire.Result, error) {
		return c.send(ctx, w, c.formats(), maxRows)
	})
}

// formats are those of a cursor's own.
func (c *cursor) formats() []pgwire.Format {
	if c.binary {
		return []pgwire.Format{pgwire.Binary}
	}
	return nil
}

// Close frees the cursor.
func (c *cursor) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detach()
	if !c.broken {
		c.broken = true
		c.chunks, c.ends = nil, nil
		c.mem.Close()
	}
}
