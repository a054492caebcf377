package session

import (
	"context"
	"fmt"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// fetchable is what FETCH and MOVE work on.
type fetchable interface {
	pgwire.Portal
	fetchInto(ctx context.Context, t *tx, f *ast.Fetch, w pgwire.ResultWriter, formats []pgwire.Format) (int64, error)
}

// declare runs DECLARE.
func (s *session) declare(ctx context.Context, t *tx, e *execution, st *ast.DeclareCursor) (pgwire.Result, error) {
	if !st.Hold && !t.explicit && !e.p.several {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	}
	if st.Name == "" {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.InvalidCursorName, "invalid cursor name: must not be empty")
	}
	sub, isSub := st.Query.(*ast.Subscribe)
	if !isSub {
		if err := e.p.plan(t); err != nil {
			return pgwire.Result{}, err
		}
	}
	if _, ok := s.client.Portal(st.Name); ok {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.DuplicateCursor, "cursor %q already exists", st.Name)
	}
	if isSub {
		return s.declareFeed(ctx, t, e, st, sub)
	}
	b, err := bindParams(e.p.batch, e.params)
	if err != nil {
		return pgwire.Result{}, err
	}
	if err := checkLocks(t, e.p.bound.Locks); err != nil {
		return pgwire.Result{}, err
	}
	scroll := scrollIfNeeded
	switch {
	case st.Scroll:
		scroll = scrollAlways
	case st.NoScroll:
		scroll = scrollNever
	}
	open := s.openCursor
	if len(e.p.bound.Locks) > 0 {
		open = s.lockingCursor
	}
	c, err := open(ctx, t, e.p, b, scroll)
	if err != nil {
		return pgwire.Result{}, err
	}
	c.name, c.held, c.binary = st.Name, st.Hold, st.Binary
	c.columns = formatted(c.columns, c.formats())
	return pgwire.Result{Tag: "DECLARE CURSOR"}, s.client.AddPortal(st.Name, e.p.source, c, st.Hold)
}

// formatted gives columns their formats.
func formatted(cols []pgwire.Column, formats []pgwire.Format) []pgwire.Column {
	out := make([]pgwire.Column, len(cols))
	copy(out, cols)
	for i := range out {
		out[i].Format = pgwire.FormatOf(formats, i)
	}
	return out
}

// fetchable finds the cursor of FETCH and MOVE. A portal of the protocol becomes one.
func (s *session) fetchable(ctx context.Context, t *tx, name string) (fetchable, error) {
	p, ok := s.client.Portal(name)
	if !ok || name == "" {
		return nil, sqlerr.Newf(sqlerr.InvalidCursorName, "cursor %q does not exist", name)
	}
	switch p := p.(type) {
	case fetchable:
		return p, nil
	case *portal:
		if _, ok := p.p.ast.(*ast.Select); ok {
			return p.cursor(ctx, t)
		}
		if p.rest != nil {
			return p.rest, nil
		}
	}
	return nil, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "portal %q cannot be run", name)
}

// cursor makes a portal one that is executed bit by bit.
func (po *portal) cursor(ctx context.Context, t *tx) (fetchable, error) {
	if po.rest != nil {
		return po.rest, nil
	}
	if err := po.p.plan(t); err != nil {
		return nil, err
	}
	b, err := bindParams(po.p.batch, po.params)
	if err != nil {
		return nil, err
	}
	open := po.p.s.openCursor
	if len(po.p.bound.Locks) > 0 {
		open = po.p.s.lockingCursor
	}
	c, err := open(ctx, t, po.p, b, scrollIfNeeded)
	if err != nil {
		return nil, err
	}
	po.rest = c
	return c, nil
}

// fetch runs FETCH and MOVE.
func (s *session) fetch(ctx context.Context, t *tx, e *execution, st *ast.Fetch) (pgwire.Result, error) {
	c, err := s.fetchable(ctx, t, st.Name)
	if err != nil {
		return pgwire.Result{}, err
	}
	tag, formats := "FETCH", e.formats
	if st.Move {
		tag = "MOVE"
	} else if e.announce {
		// The simple protocol has no formats: those of the cursor hold.
		cols := c.Columns()
		if k, ok := c.(*cursor); !ok || !k.binary {
			cols = formatted(cols, nil)
		} else {
			formats = k.formats()
		}
		e.w.Columns(cols)
	}
	n, err := c.fetchInto(ctx, t, st, e.w, formats)
	return pgwire.Result{Tag: fmt.Sprintf("%s %d", tag, n)}, err
}

func (s *session) closeCursor(st *ast.CloseCursor) (pgwire.Result, error) {
	if st.Name == "" {
		s.client.RemovePortals(true)
		return pgwire.Result{Tag: "CLOSE CURSOR ALL"}, nil
	}
	return pgwire.Result{Tag: "CLOSE CURSOR"}, s.client.RemovePortal(st.Name)
}

// cursors lists the cursors for pg_cursors.
func (s *session) cursors() []syscat.Cursor {
	var out []syscat.Cursor
	for _, p := range s.client.Portals() {
		c := syscat.Cursor{Name: p.Name, Statement: p.SQL, Held: p.Held}
		switch x := p.Portal.(type) {
		case *cursor:
			c.Binary, c.Scrollable, c.Created = x.binary, x.scroll != scrollNever, x.created
		case *feed:
			c.Created = x.created
		case *portal:
			c.Scrollable, c.Created = true, x.created
		}
		out = append(out, c)
	}
	return out
}
