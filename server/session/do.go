package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/plpgsql"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// A DO block is interpreted: package plpgsql gives its tree, doscope.go has its variables, and every expression and statement in it is
// bound as any other, where a name that is no column is a variable and stands for a parameter.
//
// A block with EXCEPTION is a savepoint: what its statements wrote is taken back when one fails. A definition outside of a
// transaction block takes effect at once, as everywhere, and is not.

// doName is what messages call the block.
const doName = "PL/pgSQL function inline_code_block"

// maxDoRows bounds the rows that a query of a block may give at a time, in bytes of their text.
const maxDoRows = 256 << 20

// runDo runs DO.
func (s *session) runDo(ctx context.Context, t *tx, e *execution, st *ast.Do) (pgwire.Result, error) {
	switch st.Language {
	case "", "plpgsql":
	case "sql", "internal", "c":
		return pgwire.Result{}, sqlerr.Newf(sqlerr.FeatureNotSupported, "language \"%s\" does not support inline code execution", st.Language)
	default:
		return pgwire.Result{}, sqlerr.Newf(sqlerr.UndefinedObject, "language \"%s\" does not exist", st.Language)
	}
	at := func(err error) error {
		var c sqlerr.Error
		if x := sqlerr.From(err); x.Code != sqlerr.InternalError {
			c = *x
			switch {
			case c.Pos >= 0 && st.BodyPos >= 0:
				c.Pos += st.BodyPos
			case c.Pos >= 0:
				c.Pos = st.Pos
			}
			return &c
		}
		return err
	}
	block, err := plpgsql.Parse(st.Body)
	if err != nil {
		return pgwire.Result{}, at(err)
	}
	d := &doing{s: s, t: t, compiled: map[string]*compiled{}}
	d.push("")
	d.declare("found", types.T(types.Bool)).set(types.DBool(false))
	if err := d.check(block); err != nil {
		return pgwire.Result{}, at(err)
	}
	next, err := d.block(ctx, block)
	if err == nil && (next.kind == goExit || next.kind == goContinue) {
		err = d.located(sqlerr.Newf(sqlerr.SyntaxError, "control reached end of function without RETURN"), nil)
	}
	return pgwire.Result{Tag: "DO"}, err
}

// doing is a DO block that runs.
type doing struct {
	s *session
	t *tx
	// scopes are the blocks and loops around the statement that runs, the innermost last.
	scopes []*doScope
	// compiled are the expressions and statements that have run, by their place and text.
	compiled map[string]*compiled
	rowCount int64
	// handled are the errors of the handlers around the statement that runs.
	handled []*sqlerr.Error
	// placed is the last error that has got the line of its statement.
	placed *sqlerr.Error
	// steps counts statements, to look at the context now and then.
	steps int
}

// where control goes after a statement.
type goKind uint8

const (
	goOn goKind = iota
	goExit
	goContinue
	goReturn
)

type going struct {
	kind  goKind
	label string
}

// located gives an error the line of a statement, unless it has one.
func (d *doing) located(err error, st plpgsql.Stmt) error {
	if err == nil || err == error(d.placed) {
		return err
	}
	e := *sqlerr.From(err)
	if e.Code == sqlerr.InternalError && e.Cause == nil {
		e.Cause = err
	}
	e.Pos = sqlerr.NoPos // it counts in a text that the client does not have
	if e.Where != "" {
		e.Where += "\n"
	}
	e.Where += doName
	if st != nil {
		e.Where += fmt.Sprintf(" line %d at %s", st.At(), st.What())
	}
	d.placed = &e
	return d.placed
}

// run runs statements.
func (d *doing) run(ctx context.Context, stmts []plpgsql.Stmt) (going, error) {
	for _, st := range stmts {
		if d.steps++; d.steps&63 == 0 {
			if err := ctx.Err(); err != nil {
				return going{}, err
			}
		}
		next, err := d.statement(ctx, st)
		if err != nil {
			if ctx.Err() != nil {
				return going{}, err
			}
			return going{}, d.located(err, st)
		}
		if next.kind != goOn {
			return next, nil
		}
	}
	return going{}, nil
}

func (d *doing) statement(ctx context.Context, st plpgsql.Stmt) (going, error) {
	switch st := st.(type) {
	case *plpgsql.Block:
		return d.block(ctx, st)
	case *plpgsql.Assign:
		v, err := d.target(st.Target)
		if err != nil {
			return going{}, err
		}
		val, ty, err := d.eval(ctx, st.Value)
		if err != nil {
			return going{}, err
		}
		return going{}, d.assign(ctx, v, val, ty)
	case *plpgsql.If:
		for _, a := range st.Arms {
			ok, err := d.test(ctx, a.Conds[0])
			if err != nil {
				return going{}, err
			}
			if ok {
				return d.run(ctx, a.Body)
			}
		}
		return d.run(ctx, st.Else)
	case *plpgsql.Case:
		return d.caseOf(ctx, st)
	case *plpgsql.Loop:
		return d.loop(ctx, st)
	case *plpgsql.ForInt:
		return d.forInt(ctx, st)
	case *plpgsql.ForQuery:
		return d.forQuery(ctx, st)
	case *plpgsql.Exit:
		if st.When != nil {
			if ok, err := d.test(ctx, *st.When); err != nil || !ok {
				return going{}, err
			}
		}
		kind := goExit
		if st.Continue {
			kind = goContinue
		}
		return going{kind, st.Label}, nil
	case *plpgsql.Return:
		return going{kind: goReturn}, nil
	case *plpgsql.Raise:
		return going{}, d.raise(ctx, st)
	case *plpgsql.Assert:
		ok, err := d.test(ctx, st.Cond)
		if err != nil || ok {
			return going{}, err
		}
		msg := "assertion failed"
		if st.Message != nil {
			v, ty, err := d.eval(ctx, *st.Message)
			if err != nil {
				return going{}, err
			}
			if v.Valid {
				msg = d.text(v, ty)
			}
		}
		return going{}, sqlerr.Newf("P0004", "%s", msg)
	case *plpgsql.Perform:
		rows, err := d.query(ctx, plpgsql.Query{SQL: st.SQL}, true)
		if err != nil {
			return going{}, err
		}
		d.count(int64(len(rows.rows)))
		return going{}, nil
	case *plpgsql.SQL:
		return going{}, d.sql(ctx, st)
	case *plpgsql.Diagnostics:
		return going{}, d.diagnostics(ctx, st)
	case *plpgsql.Null:
		return going{}, nil
	}
	return going{}, fmt.Errorf("PL/pgSQL statement %T has no implementation", st)
}

// count sets what FOUND and ROW_COUNT say.
func (d *doing) count(n int64) {
	d.rowCount = n
	d.find("found").set(types.DBool(n > 0))
}

// block runs a block with its handlers.
func (d *doing) block(ctx context.Context, b *plpgsql.Block) (going, error) {
	depth := len(d.scopes)
	defer func() { d.scopes = d.scopes[:depth] }()
	d.push(b.Label)
	for i := range b.Decls {
		if err := d.declareOne(ctx, &b.Decls[i]); err != nil {
			if err == error(d.placed) {
				return going{}, err
			}
			e := *sqlerr.From(err)
			e.Pos = sqlerr.NoPos
			e.Where = strings.TrimPrefix(e.Where+"\n", "\n") + fmt.Sprintf("%s line %d during statement block local variable initialization", doName, b.Decls[i].Line)
			d.placed = &e
			return going{}, d.placed
		}
	}
	next, err := d.guarded(ctx, b)
	if err == nil && next.kind == goExit && next.label != "" && next.label == b.Label {
		next = going{}
	}
	return next, err
}

// guarded runs the body of a block, and the handler of its error.
func (d *doing) guarded(ctx context.Context, b *plpgsql.Block) (going, error) {
	if b.Handlers == nil {
		return d.run(ctx, b.Body)
	}
	depth := len(d.scopes)
	sp := d.s.save(d.t, "")
	next, err := d.run(ctx, b.Body)
	if err == nil || ctx.Err() != nil || d.t.inc.Ctx.Err() != nil {
		return next, err
	}
	if sp.commits != d.t.commits && d.t.temp != nil {
		// A definition took effect at once, and what temporary tables had before it is not kept.
		return going{}, err
	}
	e := sqlerr.From(err)
	for _, h := range b.Handlers {
		if !slices.ContainsFunc(h.Conditions, func(c string) bool { return plpgsql.Matches(c, string(e.Code)) }) {
			continue
		}
		d.s.backTo(d.t, sp)
		d.scopes = d.scopes[:depth]
		d.handled = append(d.handled, e)
		defer func() { d.handled = d.handled[:len(d.handled)-1] }()
		d.push("")
		d.declare("sqlstate", types.T(types.Text)).set(types.DStr(string(e.Code)))
		d.declare("sqlerrm", types.T(types.Text)).set(types.DStr(e.Message))
		return d.run(ctx, h.Body)
	}
	return going{}, err
}

func (d *doing) caseOf(ctx context.Context, st *plpgsql.Case) (going, error) {
	depth := len(d.scopes)
	defer func() { d.scopes = d.scopes[:depth] }()
	if st.Operand != nil {
		v, ty, err := d.eval(ctx, *st.Operand)
		if err != nil {
			return going{}, err
		}
		d.push("")
		d.declare(caseVariable, ty).set(v)
	}
	for _, a := range st.Arms {
		for _, c := range a.Conds {
			if st.Operand != nil {
				c.Text = quoteIdent(caseVariable) + " IN (" + c.Text + ")"
			}
			ok, err := d.test(ctx, c)
			if err != nil {
				return going{}, err
			}
			if ok {
				return d.run(ctx, a.Body)
			}
		}
	}
	if !st.HasElse {
		return going{}, sqlerr.Newf("20000", "case not found").WithHint("CASE statement is missing ELSE part.")
	}
	return d.run(ctx, st.Else)
}

// caseVariable holds the operand of CASE. It is no name that a user would have.
const caseVariable = "__Case__Variable__"

// iterate runs a loop's body once; stop tells that the loop ends, with next as what comes then.
func (d *doing) iterate(ctx context.Context, label string, body []plpgsql.Stmt) (next going, stop bool, err error) {
	if err := ctx.Err(); err != nil {
		return going{}, true, err
	}
	next, err = d.run(ctx, body)
	if err != nil {
		return going{}, true, err
	}
	mine := next.label == "" || next.label == label
	switch {
	case next.kind == goExit && mine:
		return going{}, true, nil
	case next.kind == goContinue && mine:
		return going{}, false, nil
	}
	return next, next.kind != goOn, nil
}

func (d *doing) loop(ctx context.Context, st *plpgsql.Loop) (going, error) {
	for {
		if st.While != nil {
			ok, err := d.test(ctx, *st.While)
			if err != nil || !ok {
				return going{}, err
			}
		}
		if next, stop, err := d.iterate(ctx, st.Label, st.Body); stop || err != nil {
			return next, err
		}
	}
}

func (d *doing) forInt(ctx context.Context, st *plpgsql.ForInt) (going, error) {
	bound := func(e plpgsql.Expr, what string) (int64, error) {
		v, err := d.evalAs(ctx, e, types.T(types.Int4))
		if err == nil && !v.Valid {
			err = sqlerr.Newf(sqlerr.NullValueNotAllowed, "%s of FOR loop cannot be null", what)
		}
		return v.I, err
	}
	i, err := bound(st.From, "lower bound")
	if err != nil {
		return going{}, err
	}
	end, err := bound(st.To, "upper bound")
	if err != nil {
		return going{}, err
	}
	step := int64(1)
	if st.By != nil {
		if step, err = bound(*st.By, "BY value"); err != nil {
			return going{}, err
		}
		if step <= 0 {
			return going{}, sqlerr.Newf(sqlerr.InvalidParameterValue, "BY value of FOR loop must be greater than zero")
		}
	}
	depth := len(d.scopes)
	defer func() { d.scopes = d.scopes[:depth] }()
	d.push(st.Label)
	v := d.declare(st.Var, types.T(types.Int4))
	found := false
	next, stop := going{}, false
	for !stop && (st.Reverse && i >= end || !st.Reverse && i <= end) {
		found = true
		v.set(types.DInt(i))
		if next, stop, err = d.iterate(ctx, st.Label, st.Body); err != nil {
			return going{}, err
		}
		if st.Reverse {
			i -= step
		} else {
			i += step
		}
	}
	d.find("found").set(types.DBool(found))
	return next, nil
}

func (d *doing) forQuery(ctx context.Context, st *plpgsql.ForQuery) (going, error) {
	rows, err := d.query(ctx, st.Query, true)
	if err != nil {
		return going{}, err
	}
	depth := len(d.scopes)
	defer func() { d.scopes = d.scopes[:depth] }()
	d.push(st.Label)
	next, stop := going{}, false
	for _, row := range rows.rows {
		if err := d.assignRow(ctx, st.Vars, rows, row); err != nil {
			return going{}, err
		}
		if next, stop, err = d.iterate(ctx, st.Label, st.Body); err != nil {
			return going{}, err
		}
		if stop {
			break
		}
	}
	if len(rows.rows) == 0 && !st.Each {
		if err := d.assignRow(ctx, st.Vars, rows, nil); err != nil {
			return going{}, err
		}
	}
	d.find("found").set(types.DBool(len(rows.rows) > 0))
	return next, nil
}

// sql runs a statement of SQL, or EXECUTE.
func (d *doing) sql(ctx context.Context, st *plpgsql.SQL) error {
	rows, err := d.query(ctx, st.Query, st.Into != nil)
	if err != nil {
		return err
	}
	if rows.columns != nil && st.Into == nil && !st.Query.Dynamic {
		err := sqlerr.Newf(sqlerr.SyntaxError, "query has no destination for result data")
		if rows.isSelect {
			err = err.WithHint("If you want to discard the results of a SELECT, use PERFORM instead.")
		}
		return err
	}
	if st.Into == nil {
		if st.Query.Dynamic {
			d.rowCount = rows.count // EXECUTE leaves FOUND alone
			return nil
		}
		if rows.counts {
			d.count(rows.count)
		}
		return nil
	}
	if rows.columns == nil {
		return sqlerr.Newf(sqlerr.SyntaxError, "INTO used with a command that cannot return data")
	}
	n := len(rows.rows)
	switch {
	case n == 0 && st.Into.Strict:
		return sqlerr.Newf("P0002", "query returned no rows")
	case n > 1 && (st.Into.Strict || !rows.isSelect && !st.Query.Dynamic):
		err := sqlerr.Newf("P0003", "query returned more than one row")
		return err.WithHint("Make sure the query returns a single row, or use LIMIT 1.")
	}
	var row []types.Datum
	if n > 0 {
		row = rows.rows[0]
	}
	if st.Query.Dynamic {
		d.rowCount = int64(min(n, 1))
	} else {
		d.count(int64(min(n, 1)))
	}
	return d.assignRow(ctx, st.Into.Targets, rows, row)
}

// doRows are the rows of a statement.
type doRows struct {
	columns []pgwire.Column
	types   []types.Type
	rows    [][]types.Datum
	// count is what the command tag says, counts whether it says something. isSelect: it was a query.
	count            int64
	counts, isSelect bool
}

// take adds the rows of a chunk.
func (r *doRows) take(c *vec.Chunk, size *int) error {
	for i := range c.Len() {
		row := make([]types.Datum, len(r.types))
		for k := range row {
			row[k] = c.Cols[k].Datum(i)
			*size += 48 + len(row[k].S)
		}
		if *size > maxDoRows {
			return sqlerr.Newf(sqlerr.ProgramLimitExceeded, "the rows of a query in a DO block take more than %d MB", maxDoRows>>20).
				WithHint("Let the query aggregate or filter them, or write with one statement of SQL.")
		}
		r.rows = append(r.rows, row)
	}
	return nil
}

// diagnostics runs GET DIAGNOSTICS.
func (d *doing) diagnostics(ctx context.Context, st *plpgsql.Diagnostics) error {
	var e *sqlerr.Error
	if st.Stacked {
		if len(d.handled) == 0 {
			return sqlerr.Newf("0Z002", "GET STACKED DIAGNOSTICS cannot be used outside an exception handler")
		}
		e = d.handled[len(d.handled)-1]
	}
	for i, item := range st.Items {
		v, err := d.target(st.Targets[i])
		if err != nil {
			return err
		}
		val, ty := types.DInt(d.rowCount), types.T(types.Int8)
		if e != nil {
			ty = types.T(types.Text)
			val = types.DStr(map[string]string{
				"returned_sqlstate": string(e.Code), "message_text": e.Message, "pg_exception_detail": e.Detail, "pg_exception_hint": e.Hint,
				"pg_exception_context": e.Where, "constraint_name": e.Constraint, "column_name": e.Column, "table_name": e.Table, "schema_name": e.Schema,
			}[item])
		}
		if err := d.assign(ctx, v, val, ty); err != nil {
			return err
		}
	}
	return nil
}

// raise runs RAISE.
func (d *doing) raise(ctx context.Context, st *plpgsql.Raise) error {
	if st.Format == nil && st.Condition == "" && st.Options == nil {
		if len(d.handled) == 0 {
			return sqlerr.Newf("0Z002", "RAISE without parameters cannot be used outside an exception handler")
		}
		d.placed = d.handled[len(d.handled)-1]
		return d.placed
	}
	e := sqlerr.Newf("", "")
	if st.Format != nil {
		var b strings.Builder
		args := st.Args
		for i := 0; i < len(*st.Format); i++ {
			c := (*st.Format)[i]
			switch {
			case c != '%':
				b.WriteByte(c)
			case i+1 < len(*st.Format) && (*st.Format)[i+1] == '%':
				b.WriteByte('%')
				i++
			default:
				v, ty, err := d.eval(ctx, args[0])
				if err != nil {
					return err
				}
				args = args[1:]
				if !v.Valid {
					b.WriteString("<NULL>")
				} else {
					b.WriteString(d.text(v, ty))
				}
			}
		}
		e.Message = b.String()
	}
	setCode := func(c string) {
		if code, ok := strings.CutPrefix(c, "="); ok {
			e.Code = sqlerr.Code(code)
		} else {
			e.Code = sqlerr.Code(plpgsql.Codes(c)[0])
		}
	}
	if st.Condition != "" {
		if st.Condition == "others" {
			return sqlerr.Newf(sqlerr.UndefinedObject, "unrecognized exception condition \"others\"")
		}
		setCode(st.Condition)
		e.Message = strings.TrimPrefix(st.Condition, "=")
	}
	given := map[string]bool{"message": st.Format != nil, "errcode": st.Condition != ""}
	for _, o := range st.Options {
		v, ty, err := d.eval(ctx, o.Value)
		if err != nil {
			return err
		}
		if !v.Valid {
			return sqlerr.Newf(sqlerr.NullValueNotAllowed, "RAISE statement option cannot be null")
		}
		if given[o.Name] {
			return sqlerr.Newf(sqlerr.SyntaxError, "RAISE option already specified: %s", strings.ToUpper(o.Name))
		}
		given[o.Name] = true
		text := d.text(v, ty)
		switch o.Name {
		case "message":
			e.Message = text
		case "detail":
			e.Detail = text
		case "hint":
			e.Hint = text
		case "errcode":
			switch {
			case plpgsql.Codes(text) != nil:
				setCode(text)
			case len(text) == 5 && strings.Trim(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "":
				e.Code = sqlerr.Code(text)
			default:
				return sqlerr.Newf(sqlerr.UndefinedObject, "unrecognized exception condition \"%s\"", text)
			}
			if e.Message == "" {
				e.Message = text
			}
		case "column":
			e.Column = text
		case "constraint":
			e.Constraint = text
		case "table":
			e.Table = text
		case "schema":
			e.Schema = text
		}
	}
	if st.Level == "exception" {
		if e.Code == "" {
			e.Code = "P0001"
		}
		if e.Message == "" {
			e.Message = string(e.Code)
		}
		return e
	}
	if e.Code == "" && st.Level == "warning" {
		e.Code = sqlerr.Warning
	}
	if e.Message == "" {
		e.Message = string(e.Code)
	}
	d.s.tell(&pgwire.Notice{
		Severity: strings.ToUpper(st.Level), Code: e.Code, Message: e.Message, Detail: e.Detail, Hint: e.Hint,
		Where: fmt.Sprintf("%s line %d at RAISE", doName, st.At()),
	})
	return nil
}
