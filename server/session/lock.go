package session

import (
	"context"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// A table has one lock for its rows together: who locks rows with FOR UPDATE has the table as UPDATE has it, until the
// transaction ends. Readers never wait.

// lockRows takes the locks of FOR UPDATE and its kin. skip tells that with SKIP LOCKED others have the rows: there are
// none to be had. Where the clause is not the statement's own (top), SKIP LOCKED waits.
func (s *session) lockRows(ctx context.Context, t *tx, locks []planner.Lock, top bool) (skip bool, err error) {
	for _, l := range locks {
		if t.readOnly {
			return false, sqlerr.Newf(sqlerr.ReadOnlySQLTransaction, "cannot execute SELECT %s in a read-only transaction", l.Clause)
		}
		tab := t.inc.Table(l.Rel.ID)
		if tab == nil {
			continue // A connector fills it; nobody else writes to it.
		}
		if l.NoWait || l.SkipLocked && top {
			ok, err := t.writes.TryLock(tab, true)
			switch {
			case err != nil:
				return false, err
			case !ok && l.SkipLocked:
				return true, nil
			case !ok:
				return false, sqlerr.Newf(sqlerr.LockNotAvailable, "could not obtain lock on row in relation %q", l.Rel.Name)
			}
			continue
		}
		if err := t.writes.Lock(ctx, tab, true); err != nil {
			return false, err
		}
	}
	return false, nil
}

// lockTable runs LOCK TABLE. Modes that only conflict with changes of definitions take nothing: those wait for
// transactions that have written anyway, and readers have their version.
func (s *session) lockTable(ctx context.Context, t *tx, st *ast.LockTable) (pgwire.Result, error) {
	if !t.explicit {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.NoActiveSQLTransaction, "LOCK TABLE can only be used in transaction blocks")
	}
	d := &definer{ctx: ctx, s: s, t: t, cat: t.inc.Catalog()}
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
	tab := t.inc.Table(rel.ID)
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
		err := s.authorize(t.inc.Catalog())(rel, p, "")
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}
