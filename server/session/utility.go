package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// transaction runs BEGIN and its kin.
func (s *session) transaction(ctx context.Context, st *ast.Transaction) (pgwire.Result, error) {
	explicit := s.tx != nil && s.tx.explicit
	if explicit && s.tx.failed {
		switch st.Kind {
		case ast.TxCommit, ast.TxRollback, ast.TxRollbackTo:
		default:
			return pgwire.Result{}, s.allowed(st)
		}
	}
	switch st.Kind {
	case ast.TxBegin:
		tag := "BEGIN"
		if st.Start {
			tag = "START TRANSACTION"
		}
		if explicit {
			s.warn(sqlerr.ActiveSQLTransaction, "there is already a transaction in progress", "")
			return pgwire.Result{Tag: tag}, nil
		}
		t, err := s.begin(ctx)
		if err != nil {
			return pgwire.Result{}, err
		}
		t.explicit = true
		return pgwire.Result{Tag: tag}, s.setModes(t, st.Modes)
	case ast.TxCommit:
		if !explicit {
			s.warn(sqlerr.NoActiveSQLTransaction, "there is no transaction in progress", "")
			return pgwire.Result{Tag: "COMMIT"}, nil
		}
		tag := "COMMIT"
		if s.tx.failed {
			tag = "ROLLBACK"
		}
		err := s.commit(ctx)
		s.client.RemovePortals(false)
		if err != nil {
			return pgwire.Result{}, err
		}
		return pgwire.Result{Tag: tag}, s.chain(ctx, st)
	case ast.TxRollback:
		if !explicit {
			s.warn(sqlerr.NoActiveSQLTransaction, "there is no transaction in progress", "")
			return pgwire.Result{Tag: "ROLLBACK"}, nil
		}
		s.rollback()
		s.client.RemovePortals(false)
		return pgwire.Result{Tag: "ROLLBACK"}, s.chain(ctx, st)
	}
	return s.savepoints(st, explicit)
}

func (s *session) chain(ctx context.Context, st *ast.Transaction) error {
	if !st.Chain {
		return nil
	}
	t, err := s.begin(ctx)
	if err == nil {
		t.explicit = true
	}
	return err
}

// setModes applies the modes of BEGIN or SET TRANSACTION.
func (s *session) setModes(t *tx, modes []string) error {
	for _, m := range modes {
		switch {
		case m == "read only":
			t.readOnly = true
		case m == "read write":
			t.readOnly = false
		case strings.HasPrefix(m, "isolation level "):
			s.setIsolation(t, strings.TrimPrefix(m, "isolation level "))
		case strings.HasSuffix(m, "deferrable"):
		default:
			return sqlerr.Newf(sqlerr.SyntaxError, "unrecognized transaction mode %q", m)
		}
	}
	return nil
}

func (s *session) savepoints(st *ast.Transaction, explicit bool) (pgwire.Result, error) {
	tag := map[ast.TxKind]string{ast.TxSavepoint: "SAVEPOINT", ast.TxRelease: "RELEASE", ast.TxRollbackTo: "ROLLBACK"}[st.Kind]
	if !explicit {
		what := map[ast.TxKind]string{
			ast.TxSavepoint: "SAVEPOINT", ast.TxRelease: "RELEASE SAVEPOINT", ast.TxRollbackTo: "ROLLBACK TO SAVEPOINT",
		}[st.Kind]
		return pgwire.Result{}, sqlerr.Newf(sqlerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", what)
	}
	t := s.tx
	if st.Kind == ast.TxSavepoint {
		t.saves = append(t.saves, s.save(t, st.Name))
		return pgwire.Result{Tag: tag}, nil
	}
	at := -1
	for i, sp := range t.saves {
		if sp.name == st.Name {
			at = i
		}
	}
	if at < 0 {
		return pgwire.Result{}, sqlerr.Newf("3B001", "savepoint %q does not exist", st.Name)
	}
	if st.Kind == ast.TxRelease {
		t.saves = t.saves[:at]
		return pgwire.Result{Tag: tag}, nil
	}
	s.backTo(t, t.saves[at])
	t.saves = t.saves[:at+1]
	t.failed = false
	return pgwire.Result{Tag: tag}, nil
}

// save makes a savepoint.
func (s *session) save(t *tx, name string) savepoint {
	return savepoint{name, t.writes.Save(), t.defs.Mark(), t.temp.Mark(), s.vars.snapshot(), len(t.open), len(t.listens), len(t.notes), len(s.holder.local), t.commits}
}

// backTo goes back to a savepoint.
func (s *session) backTo(t *tx, sp savepoint) {
	if sp.commits != t.commits {
		// What there was then is committed.
		sp.defs, sp.at = engine.Mark{}, table.NewTx().Save()
	} else {
		t.temp.Back(sp.temp)
	}
	t.defs.Back(sp.defs)
	t.writes.Restore(sp.at)
	s.closeCursors(t, min(sp.open, len(t.open)))
	s.unlockLocal(min(sp.local, len(s.holder.local)))
	t.listens, t.notes = t.listens[:sp.listens], t.notes[:sp.notes]
	s.vars.restore(sp.vars)
}

// textColumn describes a column of text.
func textColumn(name string) pgwire.Column {
	return pgwire.Column{Name: name, TypeOID: types.T(types.Text).OID(), TypeLen: -1, TypeMod: -1}
}

// textResult is a small result of text columns.
type textResult struct {
	names []string
	rows  [][]string
	tag   string
	// oid is the type of all columns, 0 for text.
	oid uint32
}

func (r *textResult) columns() []pgwire.Column {
	cols := make([]pgwire.Column, len(r.names))
	for i, n := range r.names {
		oid := r.oid
		if oid == 0 {
			oid = types.T(types.Text).OID()
		}
		cols[i] = pgwire.Column{Name: n, TypeOID: oid, TypeLen: -1, TypeMod: -1}
	}
	return cols
}

func (r *textResult) send(e *execution) (pgwire.Result, error) {
	if e.announce {
		e.w.Columns(r.columns())
	}
	ts := make([]types.Type, len(r.names))
	for i := range ts {
		ts[i] = types.T(types.Text)
	}
	c := vec.NewChunk(ts, len(r.rows))
	for _, row := range r.rows {
		ds := make([]types.Datum, len(row))
		for i, v := range row {
			ds[i] = types.DStr(v)
		}
		c.AppendRow(ds, 1)
	}
	var err error
	if e.collect != nil {
		err = e.collect(r.names, c)
	} else {
		err = writeRows(e.w.Rows(), c, 0, c.Len(), appendersFor(ts, e.formats, nil))
	}
	if err != nil {
		return pgwire.Result{}, err
	}
	tag := r.tag
	if tag == "" {
		tag = fmt.Sprintf("SELECT %d", len(r.rows))
	}
	return pgwire.Result{Tag: tag}, nil
}

// utilityColumns describes the result of a statement that is not planned; nil: it has none.
func (s *session) utilityColumns(ctx context.Context, text string, st ast.Statement) ([]pgwire.Column, error) {
	switch st := st.(type) {
	case *ast.Show:
		return (&textResult{names: showNames(st)}).columns(), nil
	case *ast.Explain:
		o, err := s.explainOptions(st)
		if err != nil {
			return nil, err
		}
		return (&textResult{names: []string{"QUERY PLAN"}, oid: explainOID(o.format)}).columns(), nil
	case *ast.Subscribe:
		t, err := s.begin(ctx)
		if err != nil {
			return nil, err
		}
		f, _, err := s.subscription(t, text, st)
		if err != nil {
			return nil, err
		}
		return f.columns, nil
	case *ast.Verify:
		t, err := s.begin(ctx)
		if err != nil {
			return nil, err
		}
		v, err := s.verification(t, st)
		if err != nil {
			return nil, err
		}
		return v.columns, nil
	case *ast.Fetch:
		if c, ok := s.client.Portal(st.Name); ok && !st.Move {
			return c.Columns(), nil
		}
		return nil, nil
	case *ast.Execute:
		p, ok := s.client.Statement(st.Name)
		if !ok {
			return nil, sqlerr.Newf(sqlerr.InvalidSQLStatementName, "prepared statement %q does not exist", st.Name)
		}
		return p.Columns(ctx)
	}
	return nil, nil
}

// utility runs statements that concern the session.
func (s *session) utility(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	switch st := e.p.ast.(type) {
	case *ast.Set:
		return s.set(ctx, t, st)
	case *ast.Reset:
		if st.Name == "all" {
			s.vars.resetAll()
			return pgwire.Result{Tag: "RESET"}, nil
		}
		if strings.EqualFold(st.Name, clockSetting) {
			return pgwire.Result{Tag: "RESET"}, s.setClock(ctx, t, &ast.Set{Name: st.Name})
		}
		if name := strings.ToLower(st.Name); name == settingRole || name == settingAuth {
			return pgwire.Result{Tag: "RESET"}, s.setUser(t.catalog(), name, nil)
		}
		return pgwire.Result{Tag: "RESET"}, s.vars.assign(st.Name, nil)
	case *ast.Show:
		r, err := s.show(t, st)
		if err != nil {
			return pgwire.Result{}, err
		}
		return r.send(e)
	case *ast.Explain:
		r, err := s.explain(ctx, t, st, explainParams{e.p.explained, e.params})
		if err != nil {
			return pgwire.Result{}, err
		}
		return r.send(e)
	case *ast.Prepare:
		return s.sqlPrepare(ctx, st)
	case *ast.Execute:
		return s.sqlExecute(ctx, t, e, st)
	case *ast.Deallocate:
		if st.Name == "" {
			s.client.RemoveStatements()
			return pgwire.Result{Tag: "DEALLOCATE ALL"}, nil
		}
		return pgwire.Result{Tag: "DEALLOCATE"}, s.client.RemoveStatement(st.Name)
	case *ast.Discard:
		return s.discard(ctx, t, st)
	case *ast.Simple:
		return s.simple(ctx, t, st)
	}
	return pgwire.Result{}, fmt.Errorf("statement %T has no implementation", e.p.ast)
}

func (s *session) set(ctx context.Context, t *tx, st *ast.Set) (pgwire.Result, error) {
	res := pgwire.Result{Tag: "SET"}
	if strings.EqualFold(st.Name, clockSetting) {
		return res, s.setClock(ctx, t, st)
	}
	switch st.Name {
	case "transaction_mode":
		if !t.explicit {
			s.warn(sqlerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks", "")
			return res, nil
		}
		return res, s.setModes(t, st.Values)
	case "session_characteristics":
		for _, m := range st.Values {
			switch {
			case m == "read only", m == "read write":
				v := map[bool]string{true: "on", false: "off"}[m == "read only"]
				if err := s.vars.assign("default_transaction_read_only", []string{v}); err != nil {
					return res, err
				}
			case strings.HasPrefix(m, "isolation level "):
				if err := s.vars.assign("default_transaction_isolation", []string{strings.TrimPrefix(m, "isolation level ")}); err != nil {
					return res, err
				}
			}
		}
		return res, nil
	}
	if st.Local {
		if !t.explicit {
			s.warn(sqlerr.NoActiveSQLTransaction, "SET LOCAL can only be used in transaction blocks", "")
			return res, nil
		}
		if t.local == nil {
			t.local = map[string]string{}
		}
		key := strings.ToLower(st.Name)
		if _, ok := t.local[key]; !ok {
			t.local[key] = s.vars.set[key]
		}
	}
	switch name := strings.ToLower(st.Name); name {
	case settingRole, settingAuth:
		return res, s.setUser(t.catalog(), name, st.Values)
	}
	if err := s.vars.assign(st.Name, st.Values); err != nil {
		return res, err
	}
	if strings.EqualFold(st.Name, "transaction_isolation") {
		s.setIsolation(t, s.vars.get("transaction_isolation"))
	}
	return res, nil
}

func showNames(st *ast.Show) []string {
	switch st.Name {
	case "all":
		return []string{"name", "setting", "description"}
	case "tables", "sources", "views", "materialized views", "sinks", "schemas", "indexes":
		return []string{"name"}
	}
	if d := settings[strings.ToLower(st.Name)]; d != nil {
		return []string{d.name}
	}
	return []string{st.Name}
}

func (s *session) show(t *tx, st *ast.Show) (*textResult, error) {
	r := &textResult{names: showNames(st), tag: "SHOW"}
	kinds := map[string]catalog.RelKind{
		"tables": catalog.Table, "sources": catalog.Source, "views": catalog.View,
		"materialized views": catalog.MatView, "sinks": catalog.Sink, "indexes": catalog.Index,
	}
	cat := t.catalog()
	switch kind, ok := kinds[st.Name]; {
	case ok:
		for _, rel := range cat.Relations {
			if rel.Kind == kind && slices.Contains(s.vars.searchPath(s.user()), rel.Schema) {
				r.rows = append(r.rows, []string{rel.Name})
			}
		}
	case st.Name == "schemas":
		for name := range cat.Schemas {
			r.rows = append(r.rows, []string{name})
		}
	case st.Name == "all":
		for key, d := range settings {
			r.rows = append(r.rows, []string{d.name, s.setting(key), d.help})
		}
	default:
		_, key, err := lookupSetting(st.Name)
		if err != nil {
			return nil, err
		}
		v := s.setting(key)
		switch key {
		case "transaction_isolation":
			if t.repeatable {
				v = "repeatable read"
			}
		case "transaction_read_only":
			v = map[bool]string{true: "on", false: "off"}[t.readOnly]
		}
		if settings[key] == nil && s.vars.set[key] == "" && s.vars.initial[key] == "" {
			return nil, sqlerr.Newf(sqlerr.UndefinedObject, "unrecognized configuration parameter %q", st.Name)
		}
		r.rows = [][]string{{v}}
	}
	sort.Slice(r.rows, func(i, j int) bool { return r.rows[i][0] < r.rows[j][0] })
	return r, nil
}

// sqlPrepare is PREPARE name AS statement.
func (s *session) sqlPrepare(ctx context.Context, st *ast.Prepare) (pgwire.Result, error) {
	var oids []uint32
	for _, tn := range st.Types {
		ty, err := s.valueTypeOf(ctx, "a prepared statement with parameters", tn)
		if err != nil {
			return pgwire.Result{}, err
		}
		oids = append(oids, ty.OID())
	}
	p := &prepared{s: s}
	if err := s.prepare(ctx, p, parse.Stmt{AST: st.Stmt, Text: st.Text, NumParams: 0}, oids); err != nil {
		return pgwire.Result{}, err
	}
	if !planned(st.Stmt) {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.SyntaxError, "this statement cannot be prepared")
	}
	return pgwire.Result{Tag: "PREPARE"}, s.client.AddStatement(st.Name, st.Text, p)
}

// sqlExecute is EXECUTE name (arguments).
func (s *session) sqlExecute(ctx context.Context, t *tx, e *execution, st *ast.Execute) (pgwire.Result, error) {
	named, ok := s.client.Statement(st.Name)
	if !ok {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.InvalidSQLStatementName, "prepared statement %q does not exist", st.Name)
	}
	p, ok := named.(*prepared)
	if !ok || p.ast == nil {
		return pgwire.Result{Empty: true}, nil
	}
	if planned(p.ast) {
		if err := p.plan(t); err != nil {
			return pgwire.Result{}, err
		}
	}
	want := 0
	if p.bound != nil {
		want = len(p.bound.ParamTypes)
	}
	if len(st.Args) != want {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.SyntaxError, "wrong number of parameters for prepared statement %q", st.Name).
			WithDetail("Expected %d parameters but got %d.", want, len(st.Args))
	}
	inner := &execution{p: p, w: e.w, formats: e.formats, maxRows: e.maxRows, announce: e.announce}
	pl := s.planner(t.catalog(), s.vars.searchPath(s.user()))
	for i, a := range st.Args {
		d, err := s.evalConst(t, pl, a, wireType(p.bound.ParamTypes[i]))
		if err != nil {
			return pgwire.Result{}, err
		}
		inner.params = append(inner.params, d)
	}
	r, err := s.dispatch(ctx, t, inner)
	e.rest = inner.rest
	return r, err
}

func (s *session) discard(ctx context.Context, t *tx, st *ast.Discard) (pgwire.Result, error) {
	what := strings.ToUpper(st.What)
	if what == "ALL" || what == "SEQUENCES" {
		s.taken = taken{}
	}
	if what == "ALL" {
		if t.explicit {
			return pgwire.Result{}, sqlerr.Newf(sqlerr.ActiveSQLTransaction, "DISCARD ALL cannot run inside a transaction block")
		}
		s.client.RemovePortals(true)
		s.client.RemoveStatements()
		s.vars.resetAll()
		if err := s.setUser(t.catalog(), settingAuth, nil); err != nil {
			return pgwire.Result{}, err
		}
		t.listens = append(t.listens, listening{})
		s.b.advisory.unlockAll(&s.holder)
	}
	if (what == "ALL" || what == "TEMP") && t.temp != nil {
		temps := t.temp.Temps()
		slices.Reverse(temps)
		if err := t.temp.Drop(ctx, temps); err != nil {
			return pgwire.Result{}, err
		}
	}
	return pgwire.Result{Tag: "DISCARD " + what}, nil
}

// simple runs CHECKPOINT, FLUSH, WAIT, BACKUP and REFRESH MATERIALIZED VIEW.
func (s *session) simple(ctx context.Context, t *tx, st *ast.Simple) (pgwire.Result, error) {
	tag := strings.ToUpper(st.What)
	var err error
	switch st.What {
	case "checkpoint":
		err = t.inc.RT.WaitDurable(ctx, t.inc.RT.Open())
	case "flush", "wait":
		err = t.inc.RT.WaitFresh(ctx)
	case "backup":
		switch {
		case !s.trusted(t.catalog(), s.user()):
			return pgwire.Result{}, sqlerr.New(sqlerr.InsufficientPrivilege, st.Pos, "must be superuser to make a backup")
		case t.explicit:
			return pgwire.Result{}, sqlerr.New(sqlerr.ActiveSQLTransaction, st.Pos, "BACKUP cannot run inside a transaction block")
		case !filepath.IsAbs(st.Text):
			return pgwire.Result{}, sqlerr.New(sqlerr.InvalidName, st.Pos, "relative path not allowed for BACKUP to a directory").
				WithHint("The directory is one of the server's machine.")
		}
		_, err = t.inc.Backup(ctx, filepath.Clean(st.Text))
	case "refresh":
		tag = "REFRESH MATERIALIZED VIEW"
		d := &definer{s: s, t: t, cat: t.catalog()}
		var rel *catalog.Relation
		if rel, err = d.find(ast.KindMatView, *st.Name, false); err == nil {
			if err = t.inc.AwaitFresh(ctx, []*catalog.Relation{rel}); err == nil {
				err = s.refreshUnique(ctx, t, rel)
			}
		}
	default:
		return pgwire.Result{}, sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "%s is not supported yet", tag)
	}
	return pgwire.Result{Tag: tag}, t.inc.Explain(err)
}
