package plpgsql

import (
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// statement reads one statement with its semicolon.
func (p *parser) statement() Stmt {
	at := p.here()
	label := p.label()
	t := p.tok()
	if label != "" {
		at = p.here()
		switch {
		case isWord(t, "declare"), isWord(t, "begin"), isWord(t, "loop"), isWord(t, "while"), isWord(t, "for"), isWord(t, "foreach"):
		default:
			p.unexpected()
		}
	}
	if t.Kind != lex.Keyword && t.Kind != lex.Ident {
		p.unexpected()
	}
	if n := p.afterName(); is(n, ":=") || is(n, "=") || is(n, "[") {
		if is(n, "[") {
			p.unsupported(t.Pos, "assignment to a part of an array")
		}
		a := &Assign{Line: at, Target: p.variable()}
		p.next()
		a.Value = p.until(";")
		p.next()
		return a
	}
	var s Stmt
	switch {
	case t.Quoted:
		p.unexpected()
	case isWord(t, "declare"), isWord(t, "begin"):
		s = p.block(label)
	case isWord(t, "if"):
		s = p.ifStatement(at)
	case isWord(t, "case"):
		s = p.caseStatement(at)
	case isWord(t, "loop"):
		p.next()
		s = &Loop{Line: at, Label: label, Body: p.loopBody(label)}
	case isWord(t, "while"):
		p.next()
		cond := p.until("loop")
		p.next()
		s = &Loop{Line: at, Label: label, While: &cond, Body: p.loopBody(label)}
	case isWord(t, "for"):
		s = p.forStatement(at, label)
	case isWord(t, "foreach"):
		s = p.foreach(at, label)
	case isWord(t, "exit"), isWord(t, "continue"):
		p.next()
		e := &Exit{Line: at, Continue: t.Text == "continue"}
		if isName(p.tok()) && !p.is("when") {
			e.Label = p.name()
		}
		if p.accept("when") {
			c := p.until(";")
			e.When = &c
		}
		s = e
	case isWord(t, "return"):
		p.next()
		if !p.is(";") {
			if p.is("next") || p.is("query") {
				p.fail(sqlerr.DatatypeMismatch, p.tok().Pos, "cannot use RETURN %s in a non-SETOF function", strings.ToUpper(p.tok().Text))
			}
			p.fail(sqlerr.DatatypeMismatch, p.tok().Pos, "RETURN cannot have a parameter in function returning void")
		}
		s = &Return{Line: at}
	case isWord(t, "raise"):
		s = p.raise(at)
	case isWord(t, "assert"):
		p.next()
		a := &Assert{Line: at, Cond: p.until(",", ";")}
		if p.accept(",") {
			m := p.until(";")
			a.Message = &m
		}
		s = a
	case isWord(t, "perform"):
		p.next()
		e := p.until(";")
		e.Text = "SELECT " + e.Text
		e.Pos -= len("SELECT ")
		s = &Perform{Line: at, SQL: e}
	case isWord(t, "execute"):
		s = p.execute(at)
	case isWord(t, "get"):
		s = p.diagnostics(at)
	case isWord(t, "null"):
		p.next()
		s = &Null{Line: at}
	case slices.Contains([]string{"open", "fetch", "move", "close", "call", "commit", "rollback"}, t.Text):
		p.unsupported(t.Pos, strings.ToUpper(t.Text))
	case isWord(t, "end"), isWord(t, "else"), isWord(t, "elsif"), isWord(t, "elseif"), isWord(t, "when"), isWord(t, "exception"), isWord(t, "then"):
		p.unexpected()
	default:
		s = p.sql(at)
	}
	p.expect(";")
	return s
}

// afterName is the token behind the dotted name at which the parser stands.
func (p *parser) afterName() *lex.Token {
	n := 1
	for is(p.peek(n), ".") && isName(p.peek(n+1)) {
		n += 2
	}
	return p.peek(n)
}

func (p *parser) ifStatement(at Line) Stmt {
	s := &If{Line: at}
	p.next()
	for {
		a := Arm{Conds: []Expr{p.until("then")}}
		p.next()
		a.Body = p.statements("elsif", "elseif", "else", "end")
		s.Arms = append(s.Arms, a)
		if !p.accept("elsif") && !p.accept("elseif") {
			break
		}
	}
	if p.accept("else") {
		s.Else = p.statements("end")
	}
	p.expect("end")
	p.expect("if")
	return s
}

func (p *parser) caseStatement(at Line) Stmt {
	s := &Case{Line: at}
	p.next()
	if !p.is("when") {
		e := p.until("when")
		s.Operand = &e
	}
	for p.accept("when") {
		var a Arm
		for {
			a.Conds = append(a.Conds, p.caseCondition(s.Operand != nil))
			if s.Operand == nil || !p.accept(",") {
				break
			}
		}
		p.expect("then")
		a.Body = p.statements("when", "else", "end")
		s.Arms = append(s.Arms, a)
	}
	if s.Arms == nil {
		p.unexpected()
	}
	if p.accept("else") {
		s.HasElse, s.Else = true, p.statements("end")
	}
	p.expect("end")
	p.expect("case")
	return s
}

func (p *parser) caseCondition(list bool) Expr {
	if list {
		return p.until(",", "then")
	}
	return p.until("then")
}

// loopBody reads from behind LOOP to behind END LOOP and its label.
func (p *parser) loopBody(label string) []Stmt {
	body := p.statements("end")
	p.expect("end")
	p.expect("loop")
	p.endLabel(label)
	return body
}

func (p *parser) forStatement(at Line, label string) Stmt {
	p.next()
	vars := p.variables()
	p.expect("in")
	if p.accept("execute") {
		q := Query{SQL: p.until("using", "loop"), Dynamic: true}
		q.Using = p.using("loop")
		p.expect("loop")
		return &ForQuery{Line: at, Label: label, Vars: vars, Query: q, Body: p.loopBody(label)}
	}
	reverse := p.accept("reverse")
	from := p.until("..", "loop")
	if p.accept("..") {
		if len(vars) > 1 || len(vars[0].Parts) > 1 {
			p.fail(sqlerr.SyntaxError, vars[0].Pos, "integer FOR loop must have only one target variable")
		}
		s := &ForInt{Line: at, Label: label, Var: vars[0].Parts[0], From: from, Reverse: reverse}
		s.To = p.until("by", "loop")
		if p.accept("by") {
			by := p.until("loop")
			s.By = &by
		}
		p.expect("loop")
		s.Body = p.loopBody(label)
		return s
	}
	if reverse {
		p.fail(sqlerr.SyntaxError, from.Pos, "cannot specify REVERSE in query FOR loop")
	}
	p.expect("loop")
	return &ForQuery{Line: at, Label: label, Vars: vars, Query: Query{SQL: from}, Body: p.loopBody(label)}
}

func (p *parser) foreach(at Line, label string) Stmt {
	p.next()
	v := p.variable()
	if p.is("slice") {
		p.unsupported(p.tok().Pos, "FOREACH ... SLICE")
	}
	p.expect("in")
	p.expect("array")
	e := p.until("loop")
	p.next()
	e.Text = "SELECT unnest(" + e.Text + ")"
	e.Pos -= len("SELECT unnest(")
	return &ForQuery{Line: at, Label: label, Vars: []Target{v}, Query: Query{SQL: e}, Each: true, Body: p.loopBody(label)}
}

// using reads USING expression, ... up to one of the ends, if it is there.
func (p *parser) using(ends ...string) []Expr {
	if !p.accept("using") {
		return nil
	}
	var out []Expr
	for {
		out = append(out, p.until(append(ends, ",")...))
		if !p.accept(",") {
			return out
		}
	}
}

// into reads the targets behind INTO.
func (p *parser) into() *Into {
	in := &Into{Strict: p.accept("strict")}
	in.Targets = p.variables()
	return in
}

func (p *parser) execute(at Line) Stmt {
	p.next()
	s := &SQL{Line: at, Query: Query{SQL: p.until("into", "using", ";"), Dynamic: true}}
	for {
		switch {
		case p.is("into") && s.Into == nil:
			p.next()
			s.Into = p.into()
		case p.is("using") && s.Query.Using == nil:
			s.Query.Using = p.using("into", ";")
		default:
			return s
		}
	}
}

// sql reads a statement of SQL. INTO with its targets is cut out, with blanks in its place so that positions stay.
func (p *parser) sql(at Line) Stmt {
	start, depth := p.i, 0
	s := &SQL{Line: at}
	var cutFrom, cutTo int
	for {
		t := p.tok()
		switch {
		case t.Kind == lex.EOF, t.Kind == lex.Err:
			p.unexpected()
		case isSelf(t, ";") && depth <= 0:
			e := p.text(start)
			if s.Into != nil {
				lo, hi := cutFrom-e.Pos, cutTo-e.Pos
				e.Text = e.Text[:lo] + strings.Repeat(" ", hi-lo) + e.Text[hi:]
			}
			s.Query.SQL = e
			return s
		case isSelf(t, "("):
			depth++
		case isSelf(t, ")"):
			depth--
		case isWord(t, "into") && depth == 0 && p.i > start && !isWord(&p.toks[p.i-1], "insert") && !isWord(&p.toks[p.i-1], "merge") && intoOf(&p.toks[start]):
			if s.Into != nil {
				p.fail(sqlerr.SyntaxError, t.Pos, "INTO specified more than once")
			}
			p.next()
			s.Into = p.into()
			cutFrom, cutTo = t.Pos, p.toks[p.i-1].End
			continue
		}
		p.next()
	}
}

// intoOf tells whether INTO in a statement that begins with t is PL/pgSQL's.
func intoOf(t *lex.Token) bool {
	return slices.ContainsFunc([]string{"select", "insert", "update", "delete", "merge", "with", "values", "table", "show", "explain"},
		func(w string) bool { return isWord(t, w) })
}

// raise reads RAISE.
func (p *parser) raise(at Line) Stmt {
	r := &Raise{Line: at, Level: "exception", Pos: p.tok().Pos}
	p.next()
	if p.is(";") {
		return r
	}
	for _, l := range []string{"debug", "log", "info", "notice", "warning", "exception"} {
		if p.accept(l) {
			r.Level = l
			break
		}
	}
	switch t := p.tok(); {
	case p.is(";"), p.is("using"):
	case t.Kind == lex.String:
		p.next()
		format := t.Text
		r.Format = &format
		for p.accept(",") {
			r.Args = append(r.Args, p.until(",", ";", "using"))
		}
		want := strings.Count(strings.ReplaceAll(format, "%%", ""), "%")
		switch {
		case want > len(r.Args):
			p.fail(sqlerr.SyntaxError, r.Pos, "too few parameters specified for RAISE")
		case want < len(r.Args):
			p.fail(sqlerr.SyntaxError, r.Pos, "too many parameters specified for RAISE")
		}
	default:
		r.Condition = p.condition()
	}
	if p.accept("using") {
		for {
			t := p.tok()
			o := Option{Name: p.name(), Pos: t.Pos}
			if !slices.Contains([]string{"message", "detail", "hint", "errcode", "column", "constraint", "datatype", "table", "schema"}, o.Name) {
				p.fail(sqlerr.SyntaxError, t.Pos, "unrecognized RAISE statement option at or near \"%s\"", p.src[t.Pos:t.End])
			}
			if !p.accept("=") {
				p.expect(":=")
			}
			o.Value = p.until(",", ";")
			r.Options = append(r.Options, o)
			if !p.accept(",") {
				break
			}
		}
	}
	return r
}

func (p *parser) diagnostics(at Line) Stmt {
	p.next()
	d := &Diagnostics{Line: at, Stacked: p.accept("stacked")}
	if !d.Stacked {
		p.accept("current")
	}
	p.expect("diagnostics")
	for {
		d.Targets = append(d.Targets, p.variable())
		if !p.accept("=") {
			p.expect(":=")
		}
		t := p.tok()
		item := p.name()
		plain := []string{"row_count"}
		if d.Stacked {
			plain = []string{"returned_sqlstate", "message_text", "pg_exception_detail", "pg_exception_hint", "pg_exception_context", "constraint_name", "column_name", "table_name", "schema_name"}
		}
		if !slices.Contains(plain, item) {
			switch item {
			case "pg_context", "pg_datatype_name", "pg_routine_oid":
				p.unsupported(t.Pos, strings.ToUpper(item))
			}
			p.fail(sqlerr.SyntaxError, t.Pos, "unrecognized GET DIAGNOSTICS item at or near \"%s\"", p.src[t.Pos:t.End])
		}
		d.Items = append(d.Items, item)
		if !p.accept(",") {
			return d
		}
	}
}
