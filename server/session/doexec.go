package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/plpgsql"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// compiled is an expression or statement that has run.
type compiled struct {
	p *prepared
	// names are the variables that it uses, as $1, $2, ..., types those that they had.
	names [][]string
	types []types.Type
}

// prepare parses and binds a text, in which names that are no columns are variables.
func (d *doing) prepare(text string, pos int) (*compiled, error) {
	key := strconv.Itoa(pos) + "\x00" + text
	c := d.compiled[key]
	if c != nil {
		same := true
		for i, n := range c.names {
			v, err := d.resolve(n)
			if err != nil {
				return nil, err
			}
			if v == nil || v.typ != c.types[i] {
				same = false
				break
			}
		}
		if same {
			return c, nil
		}
	}
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(stmts) != 1 {
		return nil, sqlerr.Newf(sqlerr.SyntaxError, "syntax error in \"%s\"", text)
	}
	c = &compiled{p: &prepared{s: d.s, ast: stmts[0].AST, text: stmts[0].Text, source: text, several: true}}
	c.p.variable = func(parts []string) (int, types.Type, bool, error) {
		if i := slices.IndexFunc(c.names, func(n []string) bool { return slices.Equal(n, parts) }); i >= 0 {
			return i + 1, c.types[i], true, nil
		}
		v, err := d.resolve(parts)
		if err != nil || v == nil {
			return 0, types.Type{}, false, err
		}
		c.names, c.types = append(c.names, slices.Clone(parts)), append(c.types, v.typ)
		return len(c.names), v.typ, true, nil
	}
	if planned(c.p.ast) {
		if err := c.p.plan(d.t); err != nil {
			return nil, err
		}
		for _, pt := range c.p.bound.ParamTypes {
			c.p.oids = append(c.p.oids, wireType(pt).OID())
		}
	}
	d.compiled[key] = c
	return c, nil
}

// params are the values of the variables of c.
func (d *doing) params(c *compiled) ([]types.Datum, error) {
	var out []types.Datum
	for _, n := range c.names {
		v, err := d.resolve(n)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return nil, fmt.Errorf("variable %s is gone", strings.Join(n, "."))
		}
		val, _ := v.value()
		out = append(out, val)
	}
	return out, nil
}

// exec runs a statement and gives its rows.
func (d *doing) exec(ctx context.Context, c *compiled, params []types.Datum) (*doRows, error) {
	switch st := c.p.ast.(type) {
	case *ast.Transaction:
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "unsupported transaction command in PL/pgSQL")
	case *ast.Copy:
		if st.File == "" {
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot COPY to/from client in PL/pgSQL")
		}
	case *ast.Subscribe, *ast.DeclareCursor, *ast.Fetch, *ast.CloseCursor, *ast.Execute, *ast.Verify:
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "%s in PL/pgSQL is not supported", strings.ToUpper(strings.Fields(c.p.text)[0]))
	}
	if planned(c.p.ast) {
		if err := c.p.plan(d.t); err != nil {
			return nil, err
		}
	}
	rows := &doRows{columns: c.p.columns}
	_, rows.isSelect = c.p.ast.(*ast.Select)
	if c.p.bound != nil && c.p.columns != nil {
		for _, col := range c.p.bound.Columns {
			rows.types = append(rows.types, wireType(col.Type))
		}
	}
	size := 0
	e := &execution{p: c.p, params: params}
	e.collect = func(names []string, chunk *vec.Chunk) error {
		if rows.types == nil {
			for _, n := range names {
				rows.columns = append(rows.columns, textColumn(n))
				rows.types = append(rows.types, types.T(types.Text))
			}
		}
		return rows.take(chunk, &size)
	}
	res, err := d.s.dispatch(ctx, d.t, e)
	if err != nil {
		return nil, err
	}
	f := strings.Fields(res.Tag)
	if n, err := strconv.ParseInt(f[len(f)-1], 10, 64); err == nil {
		rows.count, rows.counts = n, true
	}
	return rows, nil
}

// eval computes an expression.
func (d *doing) eval(ctx context.Context, e plpgsql.Expr) (types.Datum, types.Type, error) {
	if len(e.Text) < 64 {
		// A variable alone needs no query.
		if v := d.find(e.Text); v != nil && !v.record {
			return v.val, v.typ, nil
		}
	}
	c, err := d.prepare("SELECT "+e.Text, e.Pos)
	if err != nil {
		return types.Null, types.Type{}, inText(err, e.Text, len("SELECT "))
	}
	params, err := d.params(c)
	if err != nil {
		return types.Null, types.Type{}, err
	}
	rows, err := d.exec(ctx, c, params)
	if err != nil {
		return types.Null, types.Type{}, err
	}
	switch {
	case len(rows.types) != 1:
		return types.Null, types.Type{}, sqlerr.Newf(sqlerr.SyntaxError, "query \"%s\" returned %d columns", e.Text, len(rows.types))
	case len(rows.rows) > 1:
		return types.Null, types.Type{}, sqlerr.Newf(sqlerr.CardinalityViolation, "query \"%s\" returned more than one row", e.Text)
	case len(rows.rows) == 0:
		return types.Null, rows.types[0], nil
	}
	return rows.rows[0][0], rows.types[0], nil
}

func (d *doing) evalAs(ctx context.Context, e plpgsql.Expr, t types.Type) (types.Datum, error) {
	v, from, err := d.eval(ctx, e)
	if err != nil {
		return v, err
	}
	return d.coerce(ctx, v, from, t)
}

// test computes a condition; NULL is false.
func (d *doing) test(ctx context.Context, e plpgsql.Expr) (bool, error) {
	v, err := d.evalAs(ctx, e, types.T(types.Bool))
	return err == nil && v.Valid && v.Bool(), err
}

// query runs the statement of a block or of EXECUTE.
func (d *doing) query(ctx context.Context, q plpgsql.Query, _ bool) (*doRows, error) {
	if !q.Dynamic {
		c, err := d.prepare(q.SQL.Text, q.SQL.Pos)
		if err != nil {
			return nil, inText(err, q.SQL.Text, 0)
		}
		params, err := d.params(c)
		if err != nil {
			return nil, err
		}
		rows, err := d.exec(ctx, c, params)
		return rows, d.inSQL(ctx, err, q.SQL.Text)
	}
	v, t, err := d.eval(ctx, q.SQL)
	if err != nil {
		return nil, err
	}
	if !v.Valid {
		return nil, sqlerr.Newf(sqlerr.NullValueNotAllowed, "query string argument of EXECUTE is null")
	}
	text := d.text(v, t)
	var params []types.Datum
	var given []types.Type
	for _, u := range q.Using {
		val, ty, err := d.eval(ctx, u)
		if err != nil {
			return nil, err
		}
		params, given = append(params, val), append(given, ty)
	}
	rows, err := d.dynamic(ctx, text, params, given)
	return rows, d.inSQL(ctx, err, text)
}

// inText moves the position of an error to the text that it is in, which has shift bytes less before it.
func inText(err error, text string, shift int) error {
	e := *sqlerr.From(err)
	if e.Code == sqlerr.InternalError || e.Query != "" {
		return err
	}
	if e.Pos >= shift {
		e.Query, e.InternalPos = text, e.Pos-shift
	}
	e.Pos = sqlerr.NoPos
	return &e
}

// inSQL says in which statement an error happened.
func (d *doing) inSQL(ctx context.Context, err error, text string) error {
	if err == nil || ctx.Err() != nil || err == error(d.placed) {
		return err
	}
	e := *sqlerr.From(err)
	if e.Code == sqlerr.InternalError {
		return err
	}
	if e.Where != "" {
		e.Where += "\n"
	}
	e.Where += "SQL statement \"" + text + "\""
	return &e
}

// dynamic runs the statements of a text.
func (d *doing) dynamic(ctx context.Context, text string, params []types.Datum, given []types.Type) (*doRows, error) {
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	rows := &doRows{}
	for _, st := range stmts {
		c := &compiled{p: &prepared{s: d.s, ast: st.AST, text: st.Text, source: text, several: true, given: given}}
		if st.NumParams > len(params) {
			return nil, sqlerr.Newf(sqlerr.UndefinedParameter, "there is no parameter $%d", st.NumParams)
		}
		var ps []types.Datum
		if planned(st.AST) {
			if err := c.p.plan(d.t); err != nil {
				return nil, err
			}
			ps = params[:min(len(params), len(c.p.bound.ParamTypes))]
		}
		if rows, err = d.exec(ctx, c, ps); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// check parses what is SQL in a block, so that mistakes are found before anything runs.
func (d *doing) check(b *plpgsql.Block) error {
	return plpgsql.Walk(b, func(e plpgsql.Expr, statement bool) error {
		text, shift := e.Text, 0
		if !statement {
			text, shift = "SELECT "+e.Text, len("SELECT ")
		}
		_, err := parse.Parse(text)
		if err == nil {
			return nil
		}
		c := *sqlerr.From(err)
		if c.Pos >= 0 {
			c.Pos += e.Pos - shift
		}
		return &c
	})
}
