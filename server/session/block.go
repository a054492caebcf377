package session

import (
	"context"
	"strings"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// definitions is where definitions go: to everybody at once, or to the transaction until it commits.
type definitions interface {
	Change(ctx context.Context, change func(*catalog.Catalog)) error
	AddTable(ctx context.Context, rel *catalog.Relation, src exec.Source, also ...func(*catalog.Catalog)) error
	AddQuery(ctx context.Context, rel *catalog.Relation, stream *plan.Stream, watch func(engine.Fill)) error
	EnforceUnique(ctx context.Context, cat *catalog.Catalog, ix *catalog.Relation) (end func(keep bool), err error)
	AddForeignKey(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation) error
	ValidateForeignKey(ctx context.Context, rel *catalog.Relation, id catalog.ID) error
	DropForeignKeys(ctx context.Context, rel *catalog.Relation, ids ...catalog.ID) error
	Drop(ctx context.Context, rels []*catalog.Relation, also ...func(*catalog.Catalog)) error
	Alter(ctx context.Context, rel *catalog.Relation) (*engine.Altering, error)
	Table(id catalog.ID) *table.Table
}

var (
	_ definitions = (*engine.Incarnation)(nil)
	_ definitions = (*engine.Block)(nil)
)

// to is where the definitions of a statement go.
func (d *definer) to() definitions {
	if d.temp {
		return d.t.temp
	}
	if d.t.defs != nil {
		return d.t.defs
	}
	return d.t.inc
}

// catalog is the catalog as the transaction sees it.
func (t *tx) catalog() *catalog.Catalog {
	c := t.inc.Catalog()
	if t.defs != nil {
		c = t.defs.Catalog()
	}
	if t.temp != nil {
		c = t.temp.Over(c)
	}
	return c
}

// table gives the storage side of a table as the transaction sees it, nil if there is none.
func (t *tx) table(id catalog.ID) *table.Table {
	switch {
	case t.temp != nil && t.temp.New(id):
		return t.temp.Table(id)
	case t.defs != nil:
		return t.defs.Table(id)
	}
	return t.inc.Table(id)
}

// private tells whether a relation has rows only in the transaction, or the session.
func (t *tx) private(id catalog.ID) bool {
	return t.defs != nil && t.defs.New(id) || t.temp != nil && t.temp.New(id)
}

// stored gives those of relations that others know too, as they know them.
func (t *tx) stored(rels []*catalog.Relation) []*catalog.Relation {
	if t.defs == nil && t.temp == nil {
		return rels
	}
	var out []*catalog.Relation
	for _, r := range rels {
		switch {
		case r.Kind == catalog.System:
			out = append(out, r)
		case t.private(r.ID):
		default:
			if t.defs != nil {
				if b := t.defs.Base(r.ID); b != nil {
					r = b
				}
			}
			out = append(out, r)
		}
	}
	return out
}

// endDefinitions takes back what the transaction has defined and not committed, before its locks go.
func (t *tx) endDefinitions() {
	if t.temp != nil {
		t.temp.End()
		t.temp = nil
	}
	if t.defs != nil {
		t.defs.End()
		t.defs = nil
	}
}

// restoreSequence lets a sequence stand where it stood, if the definitions of the transaction come to nothing.
func (t *tx) restoreSequence(seq *catalog.Relation, at table.Standing) {
	if t.defs != nil {
		inc := t.inc
		// On a full disk it stays where it is.
		t.defs.OnUndo(func() { _ = inc.SetSequence(seq, at.Last, at.Called) })
	}
}

// inBlock tells whether the definitions of a statement are part of a transaction. Several statements in one query string are one,
// unless one of them cannot be part of any.
func (s *session) inBlock(t *tx, e *execution) (bool, error) {
	what := outsideOnly(e.p.ast)
	switch {
	case t.explicit && what != nil:
		return true, what
	case t.explicit:
		return true, nil
	case e.p.several:
		return what == nil, nil
	}
	st, ok := e.p.ast.(*ast.CreateTable)
	return ok && st.As != nil, nil
}

// outsideOnly gives the error for a statement that cannot be part of a transaction with others, nil if it can.
func outsideOnly(st ast.Statement) error {
	never := func(what string) error {
		return sqlerr.Newf(sqlerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what)
	}
	notYet := func(what string) error {
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "%s inside a transaction block is not supported yet", what).
			WithHint("Run it outside of BEGIN and COMMIT.")
	}
	switch st := st.(type) {
	case *ast.Unsupported:
		for _, w := range []string{"CREATE DATABASE", "DROP DATABASE", "ALTER SYSTEM", "CREATE TABLESPACE", "DROP TABLESPACE", "CREATE SUBSCRIPTION", "DROP SUBSCRIPTION"} {
			if strings.HasPrefix(st.Name, w) {
				return never(w)
			}
		}
	case *ast.CreateTable:
		if hasConnector(st.Options) {
			return notYet("CREATE TABLE with a connector")
		}
	case *ast.CreateView:
		if st.Materialized {
			return notYet("CREATE MATERIALIZED VIEW")
		}
	case *ast.CreateIndex:
		if st.Concurrently {
			return never("CREATE INDEX CONCURRENTLY")
		}
	case *ast.CreateSource:
		return notYet("CREATE SOURCE")
	case *ast.CreateSink:
		return notYet("CREATE SINK")
	case *ast.Reassign:
		return notYet("DROP OWNED")
	case *ast.Drop:
		switch st.Kind {
		case ast.KindSource, ast.KindSink:
			return notYet("DROP " + string(st.Kind))
		}
	case *ast.Alter:
		switch st.Action {
		case "resume", "set_options":
			return notYet(statementName(st))
		}
		switch st.Kind {
		case ast.KindSource, ast.KindSink:
			return notYet("ALTER " + string(st.Kind))
		}
	}
	return nil
}

// defineInBlock runs a definition as part of the transaction.
func (s *session) defineInBlock(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	if t.defs == nil {
		var err error
		if t.defs, err = t.inc.Block(ctx, t.writes); err != nil {
			t.defs = nil
			return pgwire.Result{}, err
		}
	}
	d := &definer{ctx: ctx, s: s, t: t, e: e, cat: t.catalog()}
	tag, err := d.run(ctx)
	if err == nil && !t.explicit && !e.p.several {
		// It is on its own.
		err = t.commitLocked(ctx, true)
	}
	return pgwire.Result{Tag: tag}, err
}

// commitLocked makes definitions and writes durable; t.mu is held.
func (t *tx) commitLocked(ctx context.Context, sync bool) error {
	t.commits++
	var temp *engine.Temp
	if t.temp != nil {
		temp = t.temp.Keep()
	}
	var err error
	if t.defs == nil {
		err = t.inc.Commit(ctx, t.writes, sync)
	} else {
		err = t.defs.Commit(table.OnBehalf(ctx, t.writes))
		t.defs.End()
		t.defs = nil
		t.writes.Release()
	}
	if err == nil && temp != nil {
		t.temp.Kept()
		t.s.temp = temp
		t.temp, err = t.inc.Temporary(t.writes, temp)
	}
	return err
}

// releaseWrites gives the locks of the transaction back, which has written nothing but to temporary tables.
func (t *tx) releaseWrites() {
	var temp *engine.Temp
	if t.temp != nil {
		temp = t.temp.Keep()
	}
	t.writes.Release()
	if temp != nil {
		// It was there before.
		t.temp.Kept()
		t.s.temp = temp
		t.temp, _ = t.inc.Temporary(t.writes, temp)
	}
}
