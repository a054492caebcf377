package session

import (
	"context"
	"errors"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Statements that change or lock rows read them first, in the statement's snapshot, and lock them then; see server/table/rowlock.go.
// What has changed in between is no longer what was read: in READ COMMITTED the statement runs again, with its locks, on a newer
// snapshot, and in the other levels it is an error. PostgreSQL goes on with the newest version of that row alone, beside
// others that are as old as the snapshot; here all that a statement does is right at one moment.

// errChanged is why a statement has to run again. It is a user's error where that cannot be done.
var errChanged = errors.New("a row was changed after it was read")

// concurrent is the error for a row that somebody else has changed, or deleted if it is not there.
func concurrent(there bool) error {
	what := "update"
	if !there {
		what = "delete"
	}
	e := sqlerr.Newf(sqlerr.SerializationFailure, "could not serialize access due to concurrent %s", what)
	e.Cause = errChanged
	return e
}

// maxReruns is how often a statement runs again. Each time some other transaction has committed.
const maxReruns = 10_000

// rerun calls f, and calls it again on a newer snapshot, with the transaction as it was, as long as rows have changed after f has read
// them. The locks stay, so that there are fewer of those each time.
func (s *session) rerun(ctx context.Context, t *tx, f func() error) error {
	at := t.writes.Save()
	defer func(was bool) { t.newest = was }(t.newest)
	for n := 0; ; n++ {
		err := f()
		if !errors.Is(err, errChanged) || t.snap != nil || n == maxReruns || ctx.Err() != nil {
			return err
		}
		t.writes.Restore(at)
		t.newest = true
	}
}

// checkLocks refuses to lock rows in a read-only transaction.
func checkLocks(t *tx, locks []planner.Lock) error {
	if t.readOnly && len(locks) > 0 {
		return sqlerr.Newf(sqlerr.ReadOnlySQLTransaction, "cannot execute SELECT %s in a read-only transaction", locks[0].Clause)
	}
	return nil
}

var lockModes = map[plan.LockStrength]table.Mode{
	plan.ForKeyShare: table.KeyShare, plan.ForShare: table.Share, plan.ForNoKeyUpdate: table.NoKeyUpdate, plan.ForUpdate: table.Update,
}

// Lock locks the rows that FOR UPDATE and its kin name.
func (r *reader) Lock(n *plan.Lock) (func(ctx *exec.Context, c *vec.Chunk, i int) (bool, error), error) {
	type target struct {
		plan.LockRel
		tab  *table.Table
		mode table.Mode
	}
	var ts []target
	for _, l := range n.Rels {
		// What a connector fills nobody else writes to.
		if tab := r.t.table(l.Rel.ID); tab != nil {
			if err := tab.Outdated(l.Rel); err != nil {
				return nil, err
			}
			ts = append(ts, target{l, tab, lockModes[l.Strength]})
		}
	}
	var row vec.Chunk
	var key []byte
	return func(ctx *exec.Context, c *vec.Chunk, i int) (bool, error) {
		for _, l := range ts {
			if slices.ContainsFunc(l.Rel.Key, func(k catalog.SortColumn) bool { return c.Cols[l.Cols[k.Col]].IsNull(i) }) {
				continue
			}
			row.View(c, l.Cols)
			key = l.tab.Key(key[:0], &row, i)
			wait := table.Await
			if l.NoWait || l.SkipLocked {
				wait = table.Instant
			}
			ok, err := r.t.writes.LockRow(ctx.Ctx, l.tab, key, l.mode, wait)
			switch {
			case err != nil:
				return false, err
			case !ok && l.SkipLocked:
				return false, nil
			case !ok:
				return false, sqlerr.Newf(sqlerr.LockNotAvailable, "could not obtain lock on row in relation \"%s\"", l.Rel.Name)
			}
			same, err := r.t.writes.Unchanged(l.tab, key, &row, i)
			switch {
			case err != nil:
				return false, err
			case !same && l.SkipLocked && r.t.snap == nil:
				// A moment ago somebody had it.
				return false, nil
			case !same:
				return false, concurrent(true)
			}
		}
		return true, nil
	}, nil
}

// locking runs a query that locks rows to its end, and gives its rows.
func (s *session) locking(ctx context.Context, t *tx, b *plan.Batch) ([]*vec.Chunk, error) {
	var out []*vec.Chunk
	err := s.rerun(ctx, t, func() error {
		out = nil
		emit := func(c *vec.Chunk) error {
			out = append(out, c.Clone())
			return nil
		}
		if t.isolated() || !onlyPoint(b) {
			return s.runBatch(ctx, t, b, emit)
		}
		return s.runOnHead(ctx, t, b, emit)
	})
	return out, err
}

// isolated tells whether all statements of the transaction read the same snapshot.
func (t *tx) isolated() bool { return t.snap != nil || t.explicit && t.repeatable }

// onlyPoint tells whether a plan reads one row of one table by its complete key, and nothing else.
func onlyPoint(b *plan.Batch) bool {
	if len(b.Relations) != 1 || b.Relations[0].Kind != catalog.Table {
		return false
	}
	n := b.Root
	for {
		switch x := n.(type) {
		case *plan.Project, *plan.Filter, *plan.Limit, *plan.Lock, *plan.Sort:
			n = n.Inputs()[0]
			continue
		case *plan.Scan:
			return x.Base == nil && len(x.Access.Points) == 1 && len(x.Access.Points[0]) == len(x.Rel.Key)
		}
		return false
	}
}

// runOnHead runs a plan of which onlyPoint is true on the newest state of the table instead of a snapshot, which would have to be waited for.
// The row that it finds is locked then, and looked at again.
func (s *session) runOnHead(ctx context.Context, t *tx, b *plan.Batch, emit func(*vec.Chunk) error) error {
	if err := checkStalled(t, b.Relations); err != nil {
		return err
	}
	rel := b.Relations[0]
	for _, r := range t.stored(b.Relations) {
		if err := t.inc.CheckPresent(r); err != nil {
			return err
		}
	}
	tab := t.table(rel.ID)
	if tab == nil {
		return s.runBatch(ctx, t, b, emit)
	}
	if s.vars.get("read_freshness") == "strict" {
		if err := awaitInto(ctx, t, b.Relations); err != nil {
			return err
		}
	}
	r := &reader{s: s, t: t, env: s.execEnv(t), head: tab}
	if b.Point != nil {
		r.context(ctx)
		return r.point(b.Point, emit)
	}
	root, err := build.Batch(b.Root, r, r.env)
	if err != nil {
		return err
	}
	return batch.Run(r.context(ctx), root, emit)
}

// lockingQuery runs a query with FOR UPDATE or its kin. Its rows are sent when all of them are locked.
func (s *session) lockingQuery(ctx context.Context, t *tx, e *execution, b *plan.Batch) (pgwire.Result, error) {
	p := e.p
	if e.maxRows > 0 {
		c, err := s.lockingCursor(ctx, t, p, b, scrollIfNeeded)
		if err != nil {
			return pgwire.Result{}, err
		}
		e.rest = c
		e.columns(p.columns)
		return c.send(ctx, e.w, e.formats, e.maxRows)
	}
	chunks, err := s.locking(ctx, t, b)
	if err != nil {
		return pgwire.Result{}, err
	}
	e.columns(p.columns)
	r := &result{chunks: chunks, as: appendersFor(columnTypes(p), e.formats, s.typeEnv()), tag: "SELECT"}
	return r.send(e.w)
}

// lockingCursor makes a cursor on a query that locks rows. It locks all of them when it is opened.
func (s *session) lockingCursor(ctx context.Context, t *tx, p *prepared, b *plan.Batch, scroll scrolling) (*cursor, error) {
	chunks, err := s.locking(ctx, t, b)
	if err != nil {
		return nil, err
	}
	c := &cursor{s: s, columns: p.columns, types: columnTypes(p), scroll: scroll, created: s.now(), release: func() {}}
	_, c.cancel = context.WithCancelCause(t.inc.Ctx)
	c.mem = t.inc.QueryMemory().Account()
	c.run = func(emit func(*vec.Chunk) error) error {
		for _, ch := range chunks {
			if err := emit(ch); err != nil {
				return err
			}
		}
		return nil
	}
	t.open = append(t.open, c)
	return c, nil
}

// lockTable runs LOCK TABLE. Modes that only conflict with changes of definitions take nothing: those wait for
// transactions that have written anyway, and readers have their version.
func (s *session) lockTable(ctx context.Context, t *tx, st *ast.LockTable) (pgwire.Result, error) {
	if !t.explicit {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.NoActiveSQLTransaction, "LOCK TABLE can only be used in transaction blocks")
	}
	d := &definer{ctx: ctx, s: s, t: t, cat: t.catalog()}
	for _, n := range st.Tables {
		rel, err := d.relation(n)
		if err != nil {
			return pgwire.Result{}, err
		}
		switch rel.Kind {
		case catalog.Table, catalog.View:
		case catalog.MatView, catalog.Source:
			// pg_dump locks what it reads; there is nothing to lock.
			if st.Mode == "ACCESS SHARE" {
				break
			}
			fallthrough
		default:
			return pgwire.Result{}, sqlerr.Newf(sqlerr.WrongObjectType, "%q is not a table or view", rel.Name).
				WithDetail("This operation is not supported for %ss.", kindWord(rel.Kind))
		}
		want := catalog.Update | catalog.Delete | catalog.Truncate
		switch st.Mode {
		case "ACCESS SHARE":
			want |= catalog.Select
		case "ROW SHARE", "ROW EXCLUSIVE":
			want |= catalog.Insert
		}
		if err := s.authorizeAny(t, rel, want); err != nil {
			return pgwire.Result{}, err
		}
		switch st.Mode {
		case "ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE":
			continue
		}
		if err := s.lockWhole(ctx, t, rel, st.NoWait); err != nil {
			return pgwire.Result{}, err
		}
	}
	return pgwire.Result{Tag: "LOCK TABLE"}, nil
}

// lockWhole keeps other writers away from a table.
func (s *session) lockWhole(ctx context.Context, t *tx, rel *catalog.Relation, noWait bool) error {
	tab := t.table(rel.ID)
	if tab == nil {
		return nil
	}
	if err := t.writable(&ast.LockTable{}); err != nil {
		return err
	}
	if !noWait {
		return t.writes.Lock(ctx, tab, true)
	}
	ok, err := t.writes.TryLock(tab, true)
	if err == nil && !ok {
		err = sqlerr.Newf(sqlerr.LockNotAvailable, "could not obtain lock on relation %q", rel.Name)
	}
	return err
}

// authorizeAny asks for one of several privileges.
func (s *session) authorizeAny(t *tx, rel *catalog.Relation, want catalog.Privileges) error {
	var first error
	for p := catalog.Privileges(1); p != 0 && p <= want; p <<= 1 {
		if p&want == 0 {
			continue
		}
		err := s.authorize(t.catalog())(rel, p, "")
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// lockWaits shows waits for locks as pg_locks does.
func lockWaits(ws []table.Waiting) []syscat.LockWait {
	names := map[table.Mode]string{table.KeyShare: "RowShareLock", table.Share: "ShareLock", table.NoKeyUpdate: "ExclusiveLock", table.Update: "AccessExclusiveLock"}
	var out []syscat.LockWait
	for _, w := range ws {
		l := syscat.LockWait{PID: w.Owner, Row: w.Row, Mode: names[w.Mode]}
		if w.Table != nil {
			l.Relation = uint32(w.Table.Rel.ID)
		}
		if !w.Row && w.Mode == table.KeyShare {
			l.Mode = "RowExclusiveLock"
		}
		out = append(out, l)
	}
	return out
}
