package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// prepared is a parsed statement, and for queries and DML its binding and plan, as long as the catalog and
// the search path are those that it was made with.
type prepared struct {
	s    *session
	ast  ast.Statement // nil: empty
	text string
	// source is the whole query string.
	source string
	// several: it is one of several statements of a query string, which are a transaction together.
	several bool
	// given are the parameter types that the client declared, oids what all of them are.
	given []types.Type
	oids  []uint32
	// explained are the types of the parameters of what EXPLAIN is of.
	explained []types.Type

	// What follows is the plan; valid while version, path, zone and user are the present ones.
	version uint64
	path    []string
	zone    string
	styles  string
	user    string
	bound   *planner.Bound
	// variable gives a name that is no column a meaning, as planner.Config.Variable; nil: it has none.
	variable func(parts []string) (int, types.Type, bool, error)
	batch    *plan.Batch
	dml      *plan.DML
	columns  []pgwire.Column
	// with are the data-modifying statements in WITH of a SELECT.
	with []plan.Modifying
}

// Split parses a simple query string.
func (s *session) Split(_ context.Context, sql string) ([]pgwire.Unit, error) {
	stmts, err := parse.Parse(sql)
	if err != nil {
		return nil, err
	}
	units := make([]pgwire.Unit, len(stmts))
	for i, st := range stmts {
		units[i] = &prepared{s: s, ast: st.AST, text: st.Text, source: sql, several: len(stmts) > 1}
	}
	return units, nil
}

// Run runs a unit of a simple query.
func (p *prepared) Run(ctx context.Context, w pgwire.ResultWriter) (pgwire.Result, error) {
	return p.s.run(ctx, &execution{p: p, w: w, announce: true})
}

// Prepare parses and binds one statement.
func (s *session) Prepare(ctx context.Context, sql string, oids []uint32) (pgwire.Prepared, error) {
	stmts, err := parse.Parse(sql)
	if err != nil {
		return nil, err
	}
	if len(stmts) > 1 {
		return nil, sqlerr.Newf(sqlerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	p := &prepared{s: s, source: sql}
	if len(stmts) == 0 {
		return p, nil
	}
	return p, s.prepare(ctx, p, stmts[0], oids)
}

func (s *session) prepare(ctx context.Context, p *prepared, st parse.Stmt, oids []uint32) error {
	p.ast, p.text = st.AST, st.Text
	for i, o := range oids {
		t := types.Type{Mod: -1}
		if o != 0 {
			var ok bool
			if t, ok = s.typeByOID(ctx, o); !ok {
				return sqlerr.Newf(sqlerr.UndefinedObject, "type with OID %d does not exist", o).
					WithDetail("It is the type of parameter $%d.", i+1)
			}
		}
		p.given = append(p.given, t)
	}
	if x, ok := p.ast.(*ast.Explain); ok && st.NumParams > 0 && x.Stmt != nil && planned(x.Stmt) && x.Stmt == subject(x.Stmt) {
		return s.prepareExplain(ctx, p, x)
	}
	if !planned(p.ast) {
		if st.NumParams > 0 {
			return sqlerr.Newf(sqlerr.UndefinedParameter, "there is no parameter $1")
		}
		return nil
	}
	if err := s.allowed(p.ast); err != nil {
		return err
	}
	t, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if err := p.plan(t); err != nil {
		return err
	}
	for _, pt := range p.bound.ParamTypes {
		p.oids = append(p.oids, wireType(pt).OID())
	}
	return nil
}

// planned tells whether a statement goes through the planner.
func planned(st ast.Statement) bool {
	switch st.(type) {
	case *ast.Select, *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge:
		return true
	case *ast.DeclareCursor:
		return subject(st) != st
	}
	return false
}

// subject is the part of a statement that goes through the planner.
func subject(st ast.Statement) ast.Statement {
	if d, ok := st.(*ast.DeclareCursor); ok {
		if q, ok := d.Query.(*ast.Select); ok {
			return q
		}
	}
	return st
}

// ParamOIDs are the types of the parameters.
func (p *prepared) ParamOIDs() []uint32 { return p.oids }

// Columns describes the result.
func (p *prepared) Columns(ctx context.Context) ([]pgwire.Column, error) {
	if p.ast == nil {
		return nil, nil
	}
	if planned(p.ast) {
		t, err := p.s.begin(ctx)
		if err != nil {
			return nil, err
		}
		if err := p.plan(t); err != nil {
			return nil, err
		}
		if subject(p.ast) != p.ast {
			return nil, nil
		}
		return p.columns, nil
	}
	return p.s.utilityColumns(ctx, p.text, p.ast)
}

// Close forgets the statement.
func (p *prepared) Close() {}

// plan binds and plans the statement unless the plan at hand is good.
func (p *prepared) plan(t *tx) error {
	s := p.s
	cat := t.catalog()
	path := s.vars.searchPath(s.user())
	zone, styles := s.vars.get("timezone"), s.vars.styleText()
	if p.bound != nil && p.version == cat.Version && slices.Equal(p.path, path) && p.zone == zone && p.styles == styles && p.user == s.user() && !p.lostIndex(t) {
		return nil
	}
	s.variable = p.variable
	pl := s.planner(cat, path)
	s.variable = nil
	given := p.given
	if p.bound != nil {
		given = p.bound.ParamTypes
	}
	query := subject(p.ast)
	b, err := pl.Bind(query, given)
	if err != nil {
		return s.notYet(t, err)
	}
	cols := resultColumns(b)
	if p.bound != nil && !slices.Equal(cols, p.columns) {
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "cached plan must not change result type")
	}
	p.batch, p.dml, p.with = nil, nil, nil
	switch query.(type) {
	case *ast.Select:
		if p.batch, p.with, err = pl.BatchModifying(b); err == nil && len(p.with) > 0 && query != p.ast {
			err = sqlerr.Newf(sqlerr.FeatureNotSupported, "DECLARE CURSOR must not contain data-modifying statements in WITH")
		}
	default:
		p.dml, err = pl.DML(b)
	}
	if err != nil {
		return err
	}
	p.bound, p.columns, p.version, p.path, p.zone, p.styles, p.user = b, cols, cat.Version, path, zone, styles, s.user()
	return nil
}

// lostIndex tells whether the plan reads an index that has stalled since.
func (p *prepared) lostIndex(t *tx) bool {
	q := p.batch
	if p.dml != nil {
		q = p.dml.Query
	}
	return q != nil && slices.ContainsFunc(q.Relations, func(r *catalog.Relation) bool {
		return r.Kind == catalog.Index && t.inc.StalledError(r) != nil
	})
}

// planner makes a planner for the present catalog and search path.
func (s *session) planner(cat *catalog.Catalog, path []string) *planner.Planner {
	env := &exec.Env{Location: s.zone(), User: s.user(), SessionUser: s.sessionUser(), Database: Database}
	if s.tx != nil && s.tx.inc != nil {
		env = s.execEnv(s.tx)
	}
	return planner.New(planner.Config{
		Catalog: syscat.WithSystem(cat), SearchPath: path, Registry: s.b.Registry,
		ParseQuery: parse.ParseQuery, ParseExpr: parse.ParseExpr, Env: s.typeEnv(),
		Authorize: s.authorize(cat), AuthorizeFunction: s.authorizeFunction(cat),
		Variable: s.variable,
		Usable: func(ix *catalog.Relation) bool {
			return s.tx == nil || s.tx.inc == nil || !s.tx.private(ix.ID) && s.tx.inc.StalledError(ix) == nil
		},
		Rows: s.estimatedRows(),
		Eval: func(e scalar.Expr) (types.Datum, error) { return expr.FoldConst(e, env) },
	})
}

// estimatedRows gives what guesses the rows of relations for the planner, nil if there is no dataflow to ask.
func (s *session) estimatedRows() func(*catalog.Relation) float64 {
	if s.tx == nil || s.tx.inc == nil {
		return nil
	}
	return s.tx.inc.EstimatedRows
}

// resultColumns describes a bound statement's result; nil: it has none.
func resultColumns(b *planner.Bound) []pgwire.Column {
	if b.Columns == nil {
		return nil
	}
	cols := make([]pgwire.Column, len(b.Columns))
	for i, c := range b.Columns {
		t := wireType(c.Type)
		cols[i] = pgwire.Column{Name: c.Name, TypeOID: t.OID(), TypeLen: typeLen(t), TypeMod: max(t.Mod, -1)}
		if c.Rel != nil {
			cols[i].TableOID, cols[i].Number = uint32(c.Rel.ID), int16(c.Ord+1)
		}
	}
	return cols
}

// Bind makes a portal.
func (p *prepared) Bind(ctx context.Context, params []pgwire.Param, formats []pgwire.Format) (pgwire.Portal, error) {
	po := &portal{p: p, formats: slices.Clone(formats), created: p.s.now()}
	paramTypes := p.explained
	if p.bound != nil {
		paramTypes = p.bound.ParamTypes
	}
	if slices.ContainsFunc(paramTypes, typeOfCatalog) {
		// The values are read with the catalog: before the first statement of a transaction there is none at hand.
		if _, err := p.s.begin(ctx); err != nil {
			return nil, err
		}
	}
	env := p.s.typeEnv()
	if len(params) > 0 {
		for i, pt := range paramTypes {
			d, err := decodeParam(wireType(pt), params[i], env)
			if err != nil {
				return nil, err
			}
			po.params = append(po.params, d)
		}
	}
	cols, err := p.Columns(ctx)
	if err != nil {
		return nil, err
	}
	if cols != nil {
		po.columns = slices.Clone(cols)
		for i := range po.columns {
			po.columns[i].Format = pgwire.FormatOf(formats, i)
		}
		if po.columns == nil {
			po.columns = []pgwire.Column{}
		}
	}
	return po, nil
}

// portal is a statement with its parameters.
type portal struct {
	p       *prepared
	params  []types.Datum
	formats []pgwire.Format
	columns []pgwire.Column
	created time.Time
	// rest are the rows of a portal that is executed bit by bit.
	rest rest
}

// rest are rows that are sent bit by bit.
type rest interface {
	fetchable
	send(ctx context.Context, w pgwire.ResultWriter, formats []pgwire.Format, maxRows int) (pgwire.Result, error)
}

// Columns describes the result.
func (po *portal) Columns() []pgwire.Column { return po.columns }

// Execute runs the portal or goes on with it.
func (po *portal) Execute(ctx context.Context, w pgwire.ResultWriter, maxRows int) (pgwire.Result, error) {
	if po.rest != nil {
		return po.p.s.within(ctx, func(ctx context.Context, _ *tx) (pgwire.Result, error) {
			return po.rest.send(ctx, w, po.formats, maxRows)
		})
	}
	e := &execution{p: po.p, w: w, params: po.params, formats: po.formats, maxRows: maxRows}
	r, err := po.p.s.run(ctx, e)
	po.rest = e.rest
	return r, err
}

// Close forgets the portal.
func (po *portal) Close() {
	if po.rest != nil {
		po.rest.Close()
		po.rest = nil
	}
}

// execution is one run of a statement.
type execution struct {
	p       *prepared
	w       pgwire.ResultWriter
	params  []types.Datum
	formats []pgwire.Format
	maxRows int
	// announce: the result's columns must be sent first (simple protocol).
	announce bool
	// announced: they have been.
	announced bool
	// collect, if it is set, takes the rows in place of w; names are those of columns of text that nobody knew before.
	collect func(names []string, rows *vec.Chunk) error
	// rest is set if maxRows may have stopped the execution.
	rest rest
}

// columns sends the result's columns if that has not been done and is wanted.
func (e *execution) columns(cols []pgwire.Column) {
	if e.announce && !e.announced {
		e.w.Columns(cols)
		e.announced = true
	}
}

// run runs a statement inside the transaction.
func (s *session) run(ctx context.Context, e *execution) (pgwire.Result, error) {
	if e.p.ast == nil {
		return pgwire.Result{Empty: true}, nil
	}
	if st, ok := e.p.ast.(*ast.Transaction); ok {
		return s.transaction(ctx, st)
	}
	return s.within(ctx, func(ctx context.Context, t *tx) (pgwire.Result, error) { return s.dispatch(ctx, t, e) })
}

// within calls f for a statement inside of the transaction.
func (s *session) within(ctx context.Context, f func(ctx context.Context, t *tx) (pgwire.Result, error)) (pgwire.Result, error) {
	if err := s.allowed(nil); err != nil {
		return pgwire.Result{}, err
	}
	t, err := s.begin(ctx)
	if err != nil {
		return pgwire.Result{}, err
	}
	ctx, done := s.statementContext(ctx, t)
	defer done()
	t.mu.Lock()
	defer t.mu.Unlock()
	s.running = ctx
	if err := t.inc.Ctx.Err(); err != nil {
		return pgwire.Result{}, t.inc.Explain(err)
	}
	r, err := f(ctx, t)
	return r, cause(ctx, err)
}

// allowed refuses statements in a failed transaction.
func (s *session) allowed(st ast.Statement) error {
	if s.tx != nil && s.tx.explicit && s.tx.failed {
		return sqlerr.Newf(sqlerr.InFailedSQLTransaction,
			"current transaction is aborted, commands ignored until end of transaction block")
	}
	_ = st
	return nil
}

// maxReplans is how often a statement is planned again because what it reads was replaced before it had a snapshot.
const maxReplans = 100

func (s *session) dispatch(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	for n := 0; ; n++ {
		r, err := s.dispatchOnce(ctx, t, e)
		if !errors.Is(err, engine.ErrReplaced) || e.announced || n == maxReplans || ctx.Err() != nil {
			return r, err
		}
		// Nothing was sent, and nothing done.
		if e.announce {
			e.p.bound = nil
		}
	}
}

func (s *session) dispatchOnce(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	switch st := e.p.ast.(type) {
	case *ast.Select:
		if err := e.p.plan(t); err != nil {
			return pgwire.Result{}, err
		}
		if len(e.p.with) > 0 {
			if err := t.writable(e.p.ast); err != nil {
				return pgwire.Result{}, err
			}
		}
		return s.query(ctx, t, e)
	case *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge:
		if err := t.writable(e.p.ast); err != nil {
			return pgwire.Result{}, err
		}
		if err := e.p.plan(t); err != nil {
			return pgwire.Result{}, err
		}
		return s.dml(ctx, t, e)
	case *ast.Copy:
		return s.copy(ctx, t, e, st)
	case *ast.Listen, *ast.Unlisten, *ast.Notify:
		return s.listen(t, st)
	case *ast.Verify:
		return s.verify(ctx, t, e, st)
	case *ast.Subscribe:
		return s.subscribe(ctx, t, e, st)
	case *ast.DeclareCursor:
		return s.declare(ctx, t, e, st)
	case *ast.Fetch:
		return s.fetch(ctx, t, e, st)
	case *ast.CloseCursor:
		return s.closeCursor(st)
	case *ast.Truncate:
		return s.truncate(ctx, t, e, st)
	case *ast.SetConstraints:
		return s.setConstraints(ctx, t, e, st)
	case *ast.Maintain:
		return s.maintain(ctx, t, st)
	case *ast.Do:
		return s.runDo(ctx, t, e, st)
	case *ast.LockTable:
		return s.lockTable(ctx, t, st)
	case *ast.Set, *ast.Reset, *ast.Show, *ast.Explain, *ast.Prepare, *ast.Execute, *ast.Deallocate, *ast.Discard, *ast.Simple:
		return s.utility(ctx, t, e)
	}
	return s.define(ctx, t, e)
}

// writable refuses writes in a read-only transaction.
func (t *tx) writable(st ast.Statement) error {
	if !t.readOnly {
		return nil
	}
	return sqlerr.Newf(sqlerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", statementName(st))
}

func (s *session) parseExpr(text string) (ast.Expr, error)     { return parse.ParseExpr(text) }
func (s *session) parseQuery(text string) (*ast.Select, error) { return parse.ParseQuery(text) }

func quoteIdent(name string) string { return parse.QuoteIdent(name) }
