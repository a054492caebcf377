package planner

import (
	"fmt"

	"github.com/weirdb/weir/planner/bind"
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/physical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/planner/rule"
	"github.com/weirdb/weir/planner/sqltext"
	"github.com/weirdb/weir/planner/unnest"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Config is what statements are planned with.
type Config struct {
	Catalog catalog.Reader
	// SearchPath lists the schemas for unqualified names; pg_catalog comes first unless it is listed.
	SearchPath []string
	Registry   *fn.Registry
	// ParseQuery and ParseExpr read the SQL text of views and stored expressions.
	ParseQuery func(string) (*ast.Select, error)
	ParseExpr  func(string) (ast.Expr, error)
	// Env is what literals of dates and times depend on.
	Env *types.Env
	// Authorize refuses access to a relation that a statement names, with what it wants to do; as is the owner of the
	// view that reads it, "" for the user. Nil: everything is allowed.
	Authorize func(rel *catalog.Relation, want catalog.Privileges, as string) error
	// AuthorizeFunction refuses to call a function in SQL; as is the owner of the SECURITY DEFINER function that calls it,
	// "" for the user. Nil: all may be called.
	AuthorizeFunction func(f *catalog.Function, as string) error
	// Visible are the functions in SQL that can be called: those that a stored query was made with. Nil: all.
	Visible *[]catalog.ID
	// Of is the relation whose stored query is planned, nil if it is not one.
	Of *catalog.Relation
	// Usable tells whether a batch plan may read an index; nil: all.
	Usable func(*catalog.Relation) bool
	// Variable gives the parameter that a name stands for which is no column, and its type; nil: there are none.
	Variable func(parts []string) (n int, t types.Type, ok bool, err error)
	// Rows guesses the number of rows of a relation, for plans of queries that are run once. Nil: no plan depends on it.
	Rows func(*catalog.Relation) float64
	// QuoteIdent writes a name as SQL has it, for Shown.
	QuoteIdent func(string) string
	// Eval computes an expression without columns, for constant folding. Nil: only what needs no
	// computing is folded.
	Eval func(scalar.Expr) (types.Datum, error)
}

// Planner plans statements against one version of a catalog. It has no state of its own and may be
// used by several goroutines.
type Planner struct{ cfg Config }

// New makes a Planner.
func New(cfg Config) *Planner { return &Planner{cfg} }

// ColumnUse is a place in a text where a column of a relation is named.
type ColumnUse = bind.ColumnUse

// TableUse is a place in FROM where a relation is named.
type TableUse = bind.TableUse

// OutColumn is a result column of a statement.
type OutColumn struct {
	Name string
	Type types.Type
	// Rel and Ord say which column of which relation it is, for RowDescription; Rel is nil for a
	// computed column.
	Rel *catalog.Relation
	Ord int
}

// Bound is a statement with its meaning: names, overloads and types are resolved.
type Bound struct {
	// ParamTypes are the types of $1, $2, ...
	ParamTypes []types.Type
	// Columns describes the rows that the statement returns; nil if it returns none.
	Columns []OutColumn
	// Relations lists what is read, views that were inlined included, by ID.
	Relations []*catalog.Relation
	// Tables and Fields are the places where the text itself names relations in FROM, and columns of relations.
	Tables []bind.TableUse
	Fields []bind.ColumnUse
	// Named are the string literals that were read as regclass, by position, and the oids that they mean.
	Named map[int]uint32
	// Functions lists the functions in SQL that are called, directly, by one another or in views, by ID, and OwnFunctions those
	// of them that the statement itself calls.
	Functions, OwnFunctions []catalog.ID
	// Types are the oids of users' types that the statement names.
	Types []catalog.ID
	// Locks are the tables whose rows FOR UPDATE and its kin lock.
	Locks []Lock

	meta  *logical.Meta
	query *bind.Query
	dml   *plan.DML
	// modifying are the data-modifying statements in WITH.
	modifying []bind.Modifying
}

// Lock is a table whose rows a statement locks.
type Lock = bind.Lock

// Modifies tells whether WITH has data-modifying statements, which only DML and BatchModifying plan.
func (b *Bound) Modifies() bool { return len(b.modifying) > 0 }

// IsQuery tells whether the statement is a query rather than INSERT, UPDATE or DELETE.
func (b *Bound) IsQuery() bool { return b.dml == nil }

func (p *Planner) binder(params []types.Type) *bind.Binder {
	return bind.New(bind.Config{
		Catalog: p.cfg.Catalog, SearchPath: p.cfg.SearchPath, Registry: p.cfg.Registry,
		ParseQuery: p.cfg.ParseQuery, ParseExpr: p.cfg.ParseExpr, Env: p.cfg.Env, Authorize: p.cfg.Authorize,
		AuthorizeFunction: p.cfg.AuthorizeFunction, Visible: p.cfg.Visible,
		Of: p.cfg.Of, Variable: p.cfg.Variable,
	}, params)
}

// Bind resolves a query or a DML statement. params are the types of parameters that the client gave
// (Unknown, or fewer: inferred). Errors are *sqlerr.Error.
func (p *Planner) Bind(st ast.Statement, params []types.Type) (*Bound, error) {
	b := p.binder(params)
	out := &Bound{meta: b.Meta}
	var cols []bind.OutCol
	switch st := st.(type) {
	case *ast.Select:
		q, err := b.Query(st)
		if err != nil {
			return nil, err
		}
		out.query, cols = q, q.Cols
		if cols == nil {
			cols = []bind.OutCol{}
		}
	case *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge:
		var d *bind.DML
		var err error
		switch st := st.(type) {
		case *ast.Insert:
			d, err = b.Insert(st)
		case *ast.Update:
			d, err = b.Update(st)
		case *ast.Delete:
			d, err = b.Delete(st)
		case *ast.Merge:
			d, err = b.Merge(st)
		}
		if err != nil {
			return nil, err
		}
		out.query, out.dml, cols = d.Query, d.Plan, d.Returning
	default:
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "%T cannot be planned", st)
	}
	if cols != nil {
		out.Columns = make([]OutColumn, len(cols))
		for i, c := range cols {
			info := b.Meta.Info(c.ID)
			out.Columns[i] = OutColumn{Name: c.Name, Type: info.Type, Rel: info.Rel, Ord: info.Ord}
		}
	}
	out.modifying = b.Modifying()
	out.ParamTypes = b.Params()
	out.Tables, out.Fields = b.Uses()
	out.Relations, out.Named = b.Relations(), b.Named()
	out.Locks = b.Locks()
	out.Functions, out.OwnFunctions = b.Functions()
	out.Types = b.Types()
	return out, nil
}

func (p *Planner) env(m *logical.Meta, stable bool) *rule.Env {
	return &rule.Env{Meta: m, Registry: p.cfg.Registry, Eval: p.cfg.Eval, Stable: stable}
}

func outIDs(q *bind.Query) (ids []logical.ColID, names []string) {
	for _, c := range q.Cols {
		ids = append(ids, c.ID)
		names = append(names, c.Name)
	}
	return ids, names
}

// copyMeta: planning adds columns; a Bound may be planned more than once, also at the same time.
func copyMeta(b *Bound) *logical.Meta { return b.meta.Clone() }

// Batch plans a query that is run once. Stable functions such as now() are left in the plan, so
// that it can be kept.
func (p *Planner) Batch(b *Bound) (*plan.Batch, error) {
	if b.Modifies() {
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "a data-modifying statement in WITH is not supported here")
	}
	return p.batch(b, false)
}

// BatchModifying is Batch for a query that may have data-modifying statements in WITH, which it gives too.
func (p *Planner) BatchModifying(b *Bound) (*plan.Batch, []plan.Modifying, error) {
	with, err := p.modifying(b)
	if err != nil {
		return nil, nil, err
	}
	q, err := p.batch(b, false)
	return q, with, err
}

func (p *Planner) modifying(b *Bound) ([]plan.Modifying, error) {
	var out []plan.Modifying
	for _, m := range b.modifying {
		d, err := p.DML(&Bound{meta: b.meta, query: m.Query, dml: m.Plan})
		if err != nil {
			return nil, err
		}
		out = append(out, plan.Modifying{DML: d, Rel: m.Rel})
	}
	return out, nil
}

// BatchOfView is Batch for the query of a materialized view that its rows are compared with: of rows that are equal in the
// order of a LIMIT or DISTINCT ON it takes those that the view takes.
func (p *Planner) BatchOfView(b *Bound) (*plan.Batch, error) { return p.batch(b, true) }

func (p *Planner) batch(b *Bound, ofView bool) (*plan.Batch, error) {
	m := copyMeta(b)
	ids, names := outIDs(b.query)
	need := append([]logical.ColID(nil), ids...)
	for _, o := range b.query.Order {
		need = append(need, o.Col)
	}
	n, err := unnest.Plan(m, p.cfg.Registry, rule.Plain(b.query.Node))
	if err != nil {
		return nil, err
	}
	env := p.env(m, false)
	if !ofView {
		env.Rows = p.cfg.Rows
	}
	n = rule.Prune(env, prop.WindowKeys(m, rule.Optimize(env, n), ofView), logical.SetOf(need...))
	return physical.Batch(physical.Config{Meta: m, Registry: p.cfg.Registry, Indexes: p.indexes}, n, ids, names, b.query.Order)
}

// indexes lists the indexes of rel that may be read, with their expressions. One whose expressions mean
// nothing any more is left out.
func (p *Planner) indexes(rel *catalog.Relation) []physical.Index {
	var out []physical.Index
	for _, r := range p.cfg.Catalog.Indexes(rel.ID) {
		if p.cfg.Usable != nil && !p.cfg.Usable(r) {
			continue
		}
		if x, err := p.index(r, rel); err == nil {
			out = append(out, x)
		}
	}
	return out
}

func (p *Planner) index(r, rel *catalog.Relation) (physical.Index, error) {
	cfg := p.cfg
	cfg.SearchPath, cfg.Visible = r.SearchPath, &r.Functions
	p = New(cfg)
	x := physical.Index{Rel: r}
	for _, c := range r.Index.Columns {
		if c.Expr == "" {
			i := rel.ColumnIndex(c.Column)
			if i < 0 {
				return x, sqlerr.Newf(sqlerr.UndefinedColumn, "column %q does not exist", c.Column)
			}
			t := rel.Columns[i].Type
			x.Exprs = append(x.Exprs, &scalar.Column{Node: scalar.Node{T: t, Pos: -1}, Index: i, Name: c.Column})
			continue
		}
		e, err := p.storedExpr(c.Expr, rel, types.T(types.Unknown), "index expressions")
		if err != nil {
			return x, err
		}
		x.Exprs = append(x.Exprs, e)
	}
	if r.Index.Where != "" {
		e, err := p.storedExpr(r.Index.Where, rel, types.T(types.Bool), "index predicates")
		if err != nil {
			return x, err
		}
		x.Where = logical.Conjuncts(e)
	}
	return x, nil
}

func (p *Planner) storedExpr(text string, rel *catalog.Relation, want types.Type, what string) (scalar.Expr, error) {
	a, err := p.cfg.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	return p.Expr(a, rel, want, what)
}

// DML plans an INSERT, UPDATE or DELETE.
func (p *Planner) DML(b *Bound) (*plan.DML, error) {
	if b.dml == nil {
		return nil, sqlerr.Newf(sqlerr.InternalError, "the statement changes nothing")
	}
	with, err := p.modifying(b)
	if err != nil {
		return nil, err
	}
	q, err := p.batch(b, false)
	if err != nil {
		return nil, err
	}
	d := *b.dml
	d.Query, d.With = q, with
	return &d, nil
}

// StreamOptions says what kind of job a stream plan is for.
type StreamOptions struct {
	// Parallelism is the number of actors of a parallel fragment, at least 1.
	Parallelism int
	// Sink: the rows go to a sink instead of being kept. NeedKey: the sink wants a key.
	Sink, NeedKey bool
	// Ordered: the sink has one writer, to whom the changes of a row come in order.
	Ordered bool
	// Order are output columns that the key begins with: the rows of an index are kept in this order.
	Order []plan.SortKey
	// Zoned: the job's local time is that of a zone whose clock is changed.
	Zoned bool
	// OnClose: rows come once, when they are final (EMIT ON WINDOW CLOSE).
	OnClose bool
	// Share: which joins read a side that a relation keeps under the join key, and keep no copy of it.
	Share plan.Sharing
	// Common: equal parts of the query that keep state run once.
	Common bool
	// Views are relations whose rows may be taken for equal parts of the query; see plan.Stream.Taken.
	Views []KeptView
	// Indexes may be read by joins under Share; see plan.Stream.Taken.
	Indexes []catalog.ID
}

// Stream plans a query that is kept up to date. ORDER BY without LIMIT has no meaning there and is
// left out. Hidden columns are added where the result has no key otherwise.
func (p *Planner) Stream(b *Bound, o StreamOptions) (*plan.Stream, error) {
	if len(b.ParamTypes) > 0 {
		return nil, sqlerr.Newf(sqlerr.InvalidTableDefinition, "materialized views may not be defined using bound parameters")
	}
	if len(b.Locks) > 0 {
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "%s in a query that is kept up to date is not supported", b.Locks[0].Clause)
	}
	if b.Modifies() {
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "a data-modifying statement in WITH is not supported here")
	}
	m := copyMeta(b)
	ids, names := outIDs(b.query)
	currents := rule.Currents(b.query.Node)
	n, err := unnest.Plan(m, p.cfg.Registry, b.query.Node)
	if err != nil {
		return nil, err
	}
	if currents > 0 {
		var found int
		if n, found = rule.Lookups(n); found != currents {
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "FOR SYSTEM_TIME AS OF in a subquery that depends on an outer query, or with a subquery in its condition, is not supported in a materialized view or sink")
		}
	}
	env := p.env(m, false)
	// Keys are chosen before columns are pruned.
	n = rule.Optimize(env, n)
	env.Zoned = o.Zoned
	n, joined, bad, where := rule.NowJoin(env, n)
	if bad != nil {
		return nil, sqlerr.New(sqlerr.FeatureNotSupported, bad.Position(), "%s %s in a materialized view or sink is not supported yet", clockName(bad), where).
			WithHint("Compare a column with it in WHERE or HAVING, as in ts > now() - interval '1 hour'.")
	}
	n, taken := p.takeViews(env, n, ids, o.Views)
	var key []logical.ColID
	if o.Sink && !o.NeedKey {
		n = prop.TopNKeys(m, n)
	} else {
		n, key = prop.StreamKey(m, n, logical.SetOf(ids...))
		if key == nil {
			key = []logical.ColID{}
		}
	}
	want := logical.SetOf(append(append([]logical.ColID(nil), ids...), key...)...)
	var shared map[logical.Node]logical.ColSet
	if o.Common {
		n, shared = rule.Common(env, n, want)
	} else {
		n = rule.Prune(env, n, want)
	}
	if err := deterministic(n); err != nil {
		return nil, err
	}
	c := physical.Config{Meta: m, Registry: p.cfg.Registry, Parallelism: o.Parallelism, Zoned: o.Zoned, Share: o.Share, Common: shared, KeyIndexes: p.keyIndexes(o.Indexes)}
	s, err := physical.Stream(c, n, ids, names, physical.Terminal{Sink: o.Sink, Ordered: o.Ordered, Key: key, Order: o.Order, OnClose: o.OnClose})
	if err == nil {
		s.Functions, s.Taken = b.Functions, takenOnce(append(taken, s.Taken...))
	}
	if err == nil && joined != nil {
		s.Notices = append(s.Notices, fmt.Sprintf("the rows are computed again every second, because %s is used other than in conditions such as ts > now() - interval '1 hour'", clockName(joined)))
	}
	return s, err
}

// clockName is how a function of the time is written.
func clockName(x scalar.Expr) string {
	switch name := x.(*scalar.Call).Fn.Name; name {
	case "now", "transaction_timestamp", "statement_timestamp", "age":
		return name + "()"
	default:
		return name
	}
}

// deterministic refuses functions whose value is not determined by the input: what a job computes must
// be the same when it is computed again.
func deterministic(n logical.Node) error {
	var bad *scalar.Call
	var walk func(n logical.Node, timed bool)
	walk = func(n logical.Node, timed bool) {
		_, project := n.(*logical.Project)
		_, filter := n.(*logical.Filter)
		for _, e := range logical.NodeExprs(n) {
			logical.WalkExpr(e, func(x scalar.Expr) bool {
				c, ok := x.(*scalar.Call)
				if ok && bad == nil && (c.Fn.Volatility == fn.Volatile || c.Fn.Catalog) && !(timed && (project || filter) && prop.ProcTimeCall(c)) {
					bad = c
				}
				return bad == nil
			})
		}
		if r, ok := n.(*logical.Recursive); ok {
			walk(r.Base, timed)
			walk(r.Step, false)
			return
		}
		for _, in := range n.Inputs() {
			walk(in, timed)
		}
	}
	walk(n, true)
	switch {
	case bad == nil:
		return nil
	case prop.ProcTimeCall(bad):
		return sqlerr.New(sqlerr.FeatureNotSupported, bad.Pos, "PROCTIME() in this place in a materialized view or sink is not supported").
			WithHint("Make it a column of a subquery, as in FROM (SELECT *, PROCTIME() AS p FROM t) x.")
	}
	return sqlerr.New(sqlerr.FeatureNotSupported, bad.Pos, "the function %s() in a materialized view or sink is not supported yet", bad.Fn.Name)
}

// Mutable gives a call in e whose value may change while its arguments stay the same, nil if there is none.
func Mutable(e scalar.Expr) *scalar.Call {
	var bad *scalar.Call
	logical.WalkExpr(e, func(x scalar.Expr) bool {
		if c, ok := x.(*scalar.Call); ok && bad == nil && c.Fn.Volatility != fn.Immutable {
			bad = c
		}
		return bad == nil
	})
	return bad
}

// Expr binds a stand-alone expression over the columns of rel (nil: none), cast to want unless that is
// of kind Unknown. A scalar.Column's Index is the column's ordinal. what names the place as Postgres does in
// "aggregate functions are not allowed in ...": "DEFAULT expressions", "check constraints",
// "column generation expressions", "EXECUTE parameters".
func (p *Planner) Expr(e ast.Expr, rel *catalog.Relation, want types.Type, what string) (scalar.Expr, error) {
	b := p.binder(nil)
	x, err := b.Expr(e, rel, want, what)
	if err != nil {
		return nil, err
	}
	return p.env(b.Meta, false).FoldExpr(x), nil
}

// Shown writes an expression over the columns of rel as PostgreSQL's catalogs show it. A literal alone has the type want, if that is
// known. ok is false if it cannot be written so.
func (p *Planner) Shown(e ast.Expr, rel *catalog.Relation, want types.Type, pretty bool) (text string, ok bool) {
	b := p.binder(nil)
	x, err := b.Expr(e, rel, types.T(types.Unknown), "expressions")
	if err != nil {
		return "", false
	}
	if c, isConst := x.(*scalar.Const); isConst && c.T.Kind == types.Unknown && want.Kind != types.Unknown {
		if x, err = p.binder(nil).Expr(e, rel, want.WithoutMod(), "expressions"); err != nil {
			return "", false
		}
	}
	return sqltext.Canonical(x, func(c *scalar.Column) string { return p.cfg.QuoteIdent(c.Name) }, pretty)
}

// ShownOver is Shown for an expression whose names are all those of Config.Variable: param gives the text of one. Lines of CASE are
// indented.
func (p *Planner) ShownOver(e ast.Expr, param func(n int) string, indent int, pretty bool) (text string, ok bool) {
	x, err := p.binder(nil).Expr(e, nil, types.T(types.Unknown), "expressions")
	if err != nil {
		return "", false
	}
	if c, isConst := x.(*scalar.Const); isConst && c.T.Kind == types.Unknown {
		if x, err = p.binder(nil).Expr(e, nil, types.T(types.Text), "expressions"); err != nil {
			return "", false
		}
	}
	return sqltext.CanonicalOver(x, param, indent, pretty)
}

// FunctionsIn lists the functions in SQL that a stand-alone expression calls, by ID; nil if it cannot be bound.
func (p *Planner) FunctionsIn(e ast.Expr, rel *catalog.Relation, what string) []catalog.ID {
	b := p.binder(nil)
	if _, err := b.Expr(e, rel, types.T(types.Unknown), what); err != nil {
		return nil
	}
	_, own := b.Functions()
	return own
}

// NamedIn gives the string literals of a stand-alone expression that are read as regclass, by position, and the oids that they
// mean; nil if it cannot be bound.
func (p *Planner) NamedIn(e ast.Expr, rel *catalog.Relation, want types.Type, what string) map[int]uint32 {
	b := p.binder(nil)
	if _, err := b.Expr(e, rel, want, what); err != nil {
		return nil
	}
	return b.Named()
}

// Assign casts a bound expression to the type of a column in assignment context.
func (p *Planner) Assign(e scalar.Expr, to types.Type) (scalar.Expr, error) {
	return p.binder(nil).Assign(e, to)
}

// FieldsIn lists the places in a stand-alone expression where columns of its relation are named.
func (p *Planner) FieldsIn(e ast.Expr, rel *catalog.Relation, what string) ([]bind.ColumnUse, error) {
	b := p.binder(nil)
	if _, err := b.Expr(e, rel, types.T(types.Unknown), what); err != nil {
		return nil, err
	}
	_, cols := b.Uses()
	return cols, nil
}

// DomainCheck binds the check of a domain over a base type, for its errors.
func (p *Planner) DomainCheck(e ast.Expr, base types.Type) error {
	return p.binder(nil).DomainCheck(e, base)
}

// CheckFunction binds the body of a new function, with values of the declared types for its parameters.
func (p *Planner) CheckFunction(f *catalog.Function) error { return p.binder(nil).CheckFunction(f) }

// CheckDefault binds the default value of a parameter of type want.
func (p *Planner) CheckDefault(e ast.Expr, want types.Type) error {
	return p.binder(nil).CheckDefault(e, want)
}

// Copy binds the target of COPY table (columns) FROM.
func (p *Planner) Copy(st *ast.Copy) (*plan.CopyIn, error) { return p.binder(nil).Copy(st) }

// Columns resolves a column list as in COPY table (columns) TO; an empty list is all visible
// columns that are not generated.
func (p *Planner) Columns(rel *catalog.Relation, list []ast.ColumnTarget) ([]int, error) {
	return p.binder(nil).ColumnList(rel, list)
}

// Type resolves a type name; a domain, which is given too, is its base type.
func (p *Planner) Type(t ast.TypeName) (types.Type, *catalog.Type, error) {
	return bind.ResolveType(p.cfg.Catalog, p.cfg.SearchPath, t)
}

// Lookup finds a relation by its name as written; the error is 42P01 at the name.
func (p *Planner) Lookup(n ast.Name) (*catalog.Relation, error) {
	return bind.Lookup(p.cfg.Catalog, p.cfg.SearchPath, n)
}
